"""`sira serve`, the command: what its options become. tests/serve/http/test_processes.py runs it."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

import pytest

from sira.cli import serve
from sira.errors import InputError
from sira.serve.limits import Limits
from sira.serve.settings import HttpSettings, ServeSettings, index_folders


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    return parser.parse_args(arguments)


def test_the_defaults_are_those_of_the_settings() -> None:
    defaults = {item.name: item.default for kind in (ServeSettings, HttpSettings) for item in fields(kind)}
    assert {name: defaults[name] for name in serve.SETTINGS} == serve.SETTINGS
    text = argparse.ArgumentParser()
    serve.add_arguments(text)
    assert f"({Limits().queue})" in " ".join(text.format_help().split())


def test_options_become_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIRA_TOKEN", "a-token-of-the-tests")
    arguments = parsed("a=/x/pots", "/y/more", "--host", "0.0.0.0", "--queue", "3", "--allow-host", "search.example")
    serving, http = serve._settings(arguments)
    assert serving.indexes == {"a": Path("/x/pots"), "more": Path("/y/more")}
    assert (serving.limits.queue, serving.limits.k) == (3, Limits().k)
    assert (http.host, http.hosts, http.token) == ("0.0.0.0", ("search.example",), "a-token-of-the-tests")


def test_folders_and_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert index_folders(["."]) == {tmp_path.name: Path()}
    assert index_folders(["x/a=b"]) == {"a=b": Path("x/a=b")}
    with pytest.raises(InputError, match="two indexes are called 'b'"):
        index_folders(["a/b", "c/b"])


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    assert HttpSettings(host=host).on_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])
def test_other_addresses_need_one(host: str) -> None:
    with pytest.raises(InputError, match="other machines could reach this server"):
        HttpSettings(host=host)

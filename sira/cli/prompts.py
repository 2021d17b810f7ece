"""`sira prompts`: the prompts that come with sira, one of them in full, and the exact messages for a text."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sira.cli.options import refuse
from sira.errors import InputError

if TYPE_CHECKING:
    from sira.prompts import Prompt
    from sira.records import Message

HELP = "list the prompts, show one, or show the messages that it makes of a text"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", help="document-generic (newest version), document-generic-1, or a .toml file of your own"
    )
    parser.add_argument(
        "--render", metavar="FILE", help="show the messages for the text in this file; - reads standard input"
    )
    parser.add_argument("--no-system-role", action="store_true", help="with --render: all in one user message")
    parser.add_argument("--json", action="store_true", help="with --render: the messages as chat endpoints take them")


def run(arguments: argparse.Namespace) -> int:
    if arguments.render is None:
        refuse(arguments, {"no_system_role": False, "json": False}, "it belongs to --render, which is not given")
    elif arguments.name is None:
        raise InputError("--render: give the name or the file of a prompt too")
    if arguments.name is None:
        print(_list(), end="")
    elif arguments.render is None:
        print(_show(arguments.name), end="")
    else:
        _render(arguments)
    return 0


def _list() -> str:
    from sira.prompts import load_prompt, prompt_labels
    from sira.tables import text_table

    prompts = [load_prompt(label) for label in prompt_labels()]
    head = ["name", "version", "side", "family", "about"]
    return text_table(head, [[p.name, str(p.version), p.side, p.family, p.about] for p in prompts])


def _show(name: str) -> str:
    """The file under a comment with its digest: what is printed is a valid prompt file again."""
    from sira.prompts import load_prompt, prompt_path

    prompt = load_prompt(name)
    return f"# {prompt.label}, sha256 {prompt.digest}\n" + prompt_path(name).read_text(encoding="utf-8-sig")


def _render(arguments: argparse.Namespace) -> None:
    from sira.prompts import load_prompt

    prompt = load_prompt(arguments.name)
    messages = _messages(prompt, _text(arguments.render), system_role=not arguments.no_system_role)
    if arguments.json:
        print(json.dumps([message._asdict() for message in messages], ensure_ascii=False, indent=2))
        return
    for message in messages:
        print(f"--- {message.role} ---\n{message.content}")


def _messages(prompt: Prompt, text: str, *, system_role: bool) -> tuple[Message, ...]:
    render = prompt.render_document if prompt.side == "document" else prompt.render_query
    return render(text, system_role=system_role)


def _text(file: str) -> str:
    """The text of a file or of standard input, less the line end at its very end, which editors and shells add."""
    from sira.corpora.files import BYTE_ORDER_MARK, open_bytes

    if file == "-":
        raw = sys.stdin.buffer.read()
    else:
        with open_bytes(Path(file)) as stream:
            raw = stream.read()
    try:
        text = raw.removeprefix(BYTE_ORDER_MARK).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 ({error.reason}); convert it to UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")

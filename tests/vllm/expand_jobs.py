"""`sira expand` as a process of its own, the corpus of its tests, and what a row must say of the reply it came from."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from sira.llm.schema import phrases_schema
from tests.vllm.conftest import ENVIRONMENT

MAX_PHRASES, MAX_CHARACTERS = 4, 24
MAX_WORDS = 8  # twice those that the prompt asks for
SHARD = "shard-00000-of-00001.jsonl"
DEADLINE_S = 150

Row = dict[str, Any]
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_START = re.compile(r'\{\s*"phrases"\s*:\s*\[')  # llama.cpp writes white space, vLLM is told not to


def write_corpus(folder: Path, documents: int, **special: str) -> list[str]:
    """corpus.jsonl of documents d0, d1 ... of varied length, with these texts in place of theirs; the docids."""
    docids = [f"d{number}" for number in range(documents)]
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as corpus:
        for number, docid in enumerate(docids):
            text = special.get(docid, f"The kiln of number {number} is hot. " + "Glaze and ash fall. " * (number % 20))
            corpus.write(json.dumps({"docid": docid, "title": f"Kiln {number}" * bool(text), "text": text}) + "\n")
    return docids


def write_job(folder: Path, name: str, **model: object) -> Path:
    """NAME.toml beside corpus.jsonl. Random weights fail as they like, so nothing stops the job for that."""
    lines = [f"{key} = {_toml(value)}" for key, value in {"temperature": 1.0, **model}.items()]
    path = folder / f"{name}.toml"
    path.write_text(
        f'name = "{name}"\nkeep_raw = true\n[corpus]\nsource = "corpus.jsonl"\n'
        f'[prompt]\nname = "document-brief"\nmax_phrases = {MAX_PHRASES}\nmax_characters = {MAX_CHARACTERS}\n'
        "[limits]\ncanary = 0\nmax_failure_share = 1.0\n[model]\n" + "\n".join(lines) + "\n",
        encoding="utf-8",
    )
    return path


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(part)}" for key, part in value.items()) + "}"
    return json.dumps(value)


def environment() -> dict[str, str]:
    """Of a process with vLLM, run from any folder."""
    return {**ENVIRONMENT, **os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def begin(job: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sira", "expand", str(job), "--out", str(out), "--quiet", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())


def end(process: subprocess.Popen[str]) -> tuple[int, str, list[str]]:
    """Exit status, stdout, and what sira itself says on stderr, where vLLM and torch also write."""
    try:
        said, error = process.communicate(timeout=DEADLINE_S)
    finally:
        process.kill()  # no harm to one that has ended
    return process.returncode, said, [line for line in error.splitlines() if line.startswith("sira: ")]


def expand(job: Path, out: Path, *options: str) -> tuple[int, str, list[str]]:
    return end(begin(job, out, *options))


def lines(path: Path) -> list[bytes]:
    """The whole lines of a file that may not be there yet."""
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def wait_for_rows(out: Path, rows: int, process: subprocess.Popen[str]) -> None:
    """Until the shard that a process writes holds so many rows."""
    deadline = time.monotonic() + DEADLINE_S
    while len(lines(out / f"{SHARD}.part")) < rows:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def rows_of(out: Path) -> list[Row]:
    """The rows of a finished store, shard after shard."""
    assert not list(out.glob("*.part"))
    return [json.loads(line) for shard in sorted(out.glob("shard-*.jsonl")) for line in lines(shard)]


def by_docid(rows: Sequence[Row], *left_out: str) -> dict[str, Row]:
    """The rows less these fields; each docid must stand once."""
    found = {row["docid"]: {name: value for name, value in row.items() if name not in left_out} for row in rows}
    assert len(found) == len(rows)
    return found


def complaints_on(rows: Sequence[Row]) -> list[str]:
    """What `sira expand` must say of rows that failed: a reply cut off before its first phrase is one of them."""
    barren = sum(row["status"] == "truncated" and not row["phrases"] for row in rows)
    failed = barren + sum(row["status"] in ("runaway", "too_long") for row in rows)
    return [f"sira: {failed} documents failed; --retry STATUS redoes them"] * bool(failed)


def check_reply(row: Row) -> None:
    """Status, phrases and what was dropped must be those of the raw reply, read here without sira's own parser.

    The schema admits no escape, so a quote always opens or closes a phrase.
    """
    raw, finish, status = row["raw"], row["finish"], row["status"]
    start = _START.match(raw)
    assert start, row
    after, *items = raw[start.end() :].split('"')
    closed, half = items[::2], None
    if len(items) % 2:
        half = closed.pop()
    elif items:
        after = items[-1]
    after = "".join(after.split())
    cleaned = [" ".join(_CONTROL.sub("", item).split()) for item in closed]
    kept = [item for item in cleaned if item and len(item) <= MAX_CHARACTERS and item.count(" ") < MAX_WORDS]
    blank = sum(not item for item in cleaned)
    dropped = {"empty": blank, "over_long": len(cleaned) - blank - len(kept)}
    assert row["phrases"] == kept, row
    assert row.get("dropped", {}) == {reason: count for reason, count in dropped.items() if count}, row
    is_json = half is None and after == "]}"
    assert row.get("salvaged", False) == (bool(kept) and not is_json), row
    if is_json:
        import_module("jsonschema").validate(json.loads(raw), phrases_schema(MAX_PHRASES, MAX_CHARACTERS))
    else:
        assert finish == "length", row
    if half is not None:
        endless = len(" ".join(_CONTROL.sub("", half).split())) > MAX_CHARACTERS
        assert status == ("runaway" if endless else "truncated"), row
    elif after.startswith("]"):
        assert status == ("ok" if kept else "empty"), row
    else:
        assert status == "truncated", row

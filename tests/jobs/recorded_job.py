"""A job on recorded replies, and a command `sira` for scripts to call."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def make_job(folder: Path, documents: int) -> list[str]:
    """Write corpus.jsonl, replies.jsonl and job.toml; returns the docids."""
    docids = [f"d{number}" for number in range(documents)]
    with (folder / "corpus.jsonl").open("w") as corpus, (folder / "replies.jsonl").open("w") as replies:
        for number, docid in enumerate(docids):
            corpus.write(json.dumps({"docid": docid, "text": f"document {number} " + "word " * 50}) + "\n")
            replies.write(json.dumps({"docid": docid, "phrases": [f"phrase {number}", "another — one"]}) + "\n")
    (folder / "job.toml").write_text(
        'name = "job"\n[corpus]\nsource = "corpus.jsonl"\n[model]\nbackend = "recorded"\nreplies = "replies.jsonl"\n'
    )
    return docids


def make_command(folder: Path) -> Path:
    """A program `sira` that runs this checkout by this Python, whatever folder it is called in."""
    path = folder / "sira"
    path.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m sira "$@"\n')
    path.chmod(0o755)
    return path


def docids_of(files: Sequence[Path]) -> list[str]:
    return [json.loads(line)["docid"] for file in files for line in file.read_bytes().splitlines()]

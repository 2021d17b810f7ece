"""What the tests of the tools share: calls by name and fields, small collections, and where the large ones are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sira.agent.base import ToolResult
from sira.agent.controller import Controller
from sira.corpora.jsonl import read_documents
from sira.records import Document

DATA = Path(os.environ.get("SIRA_TEST_DATA", "absent"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="SIRA_TEST_DATA names no folder of collections")


def call(controller: Controller, name: str, **fields: Any) -> ToolResult:
    """One call as a model makes it; `reason` is given unless the call says otherwise."""
    return controller.call(name, json.dumps({"reason": "a test", **fields}))


def pots(count: int) -> list[Document]:
    """doc-1 to doc-N, each shorter and so better for `kiln` than the next, no two alike."""
    return [
        Document(f"doc-{number}", "kiln " + " ".join(f"w{number}x{place}" for place in range(number)), f"Pot {number}")
        for number in range(1, count + 1)
    ]


def stored(path: Path) -> Iterator[Document]:
    """The documents of a JSON Lines file."""
    for _, record in read_documents(path):
        assert isinstance(record, Document)
        yield record

"""Shared fixtures: small indexes built by the real engine."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sira.records import Document, Place, Record

Words = Sequence[str]
MakeIndex = Callable[..., Path]


def records(documents: Iterable[Document]) -> Callable[[], list[Record]]:
    """Documents as `build_index` and `update_index` take them; the n-th stands in line n."""
    listed: list[Record] = [(Place("corpus", number), document) for number, document in enumerate(documents, start=1)]
    return lambda: listed


@pytest.fixture(scope="session")
def make_index(tmp_path_factory: pytest.TempPathFactory) -> MakeIndex:
    """make_index(documents, {docid: (words, atoms)}, **options of build_index) -> the folder of a new index."""
    from sira.lucene.update import ExpansionTerms, attach_expansions
    from sira.lucene.writer import build_index

    folder, numbers = tmp_path_factory.mktemp("indexes"), itertools.count()

    def make(
        documents: Iterable[Document], expansions: Mapping[str, tuple[Words, Words]] | None = None, **options: Any
    ) -> Path:
        path = folder / str(next(numbers))
        build_index(records(documents), path, progress=False, **options)
        if expansions:
            rows = [
                ExpansionTerms(docid, list(words), list(atoms), Place("store", number))
                for number, (docid, (words, atoms)) in enumerate(expansions.items(), start=1)
            ]
            attach_expansions(path, rows, path, lambda counts: {"documents": counts.documents}, overwrite=True)
        return path

    return make

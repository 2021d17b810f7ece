"""df of the union of contents and expansion: counted once when an index is written, for the terms that are frequent."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sira.lucene.reader import Index
from sira.lucene.update import ExpansionTerms, attach_expansions, drop_expansions, update_index
from sira.program import Program, TermClause
from sira.records import Document, Place
from tests.conftest import records

pytestmark = pytest.mark.java

MakeIndex = Callable[..., Path]
WORDS = ["kiln", "glaze", "raku", "shelf", "wash", "ash"]
COUNT = 600


def drawn(seed: int) -> dict[str, list[str]]:
    """Some words for each docid; "ash" for a tenth of them."""
    draw = random.Random(seed)
    return {
        f"d{n}": [*draw.sample(WORDS[:-1], draw.randint(0, 4)), *["ash"][: draw.random() < 0.1]] for n in range(COUNT)
    }


def documents(texts: Mapping[str, list[str]]) -> list[Document]:
    return [Document(docid, " ".join(words)) for docid, words in texts.items()]


def attach(path: Path, expansions: Mapping[str, list[str]]) -> None:
    rows = [ExpansionTerms(docid, words, [], Place("store", 1)) for docid, words in expansions.items()]
    attach_expansions(path, rows, path, lambda counts: {"documents": counts.documents}, overwrite=True)


def expected(texts: Mapping[str, list[str]], expansions: Mapping[str, list[str]]) -> list[int]:
    return [sum(word in (*words, *expansions.get(docid, [])) for docid, words in texts.items()) for word in WORDS]


def counted(path: Path) -> dict[str, int]:
    """What the commit holds, read by Lucene's own classes."""
    from jnius import autoclass

    folder: Any = autoclass("org.apache.lucene.store.FSDirectory").open(autoclass("java.io.File")(str(path)).toPath())
    reader: Any = autoclass("org.apache.lucene.index.DirectoryReader").open(folder)
    entries: Any = reader.getIndexCommit().getUserData().entrySet().toArray()
    found = {str(entry.getKey()).removeprefix("union:"): int(str(entry.getValue())) for entry in entries}
    reader.close()
    folder.close()
    return found


def check(path: Path, texts: Mapping[str, list[str]], expansions: Mapping[str, list[str]]) -> None:
    truth = expected(texts, expansions)
    with Index(path) as index:
        assert index.df(WORDS) == truth
        assert index.df(WORDS[::-1]) == truth[::-1]
        for word, df in zip(WORDS, truth, strict=True):
            assert len(index.search(Program("q", (TermClause(word),)), COUNT)) == df


def test_counts_follow_every_change_of_an_index(make_index: MakeIndex) -> None:
    texts, first, second = drawn(1), drawn(2), drawn(3)
    path = make_index(documents(texts))
    assert counted(path) == {}
    check(path, texts, {})
    for expansions in (first, second):
        attach(path, expansions)
        held = dict(zip(WORDS, expected(texts, expansions), strict=True))
        assert counted(path) == {word: df for word, df in held.items() if word != "ash"}  # "ash": below a block
        check(path, texts, expansions)
    gone = [f"d{n}" for n in range(0, COUNT, 3)]
    update_index(path, delete=gone, progress=False)
    for docid in gone:
        del texts[docid], second[docid]
    assert len(counted(path)) == len(WORDS) - 1
    check(path, texts, second)
    replaced = {"d1": ["kiln", "ash"], "new": ["ash"]}
    update_index(path, add=records(documents(replaced)), update=True, progress=False)
    texts |= replaced
    del second["d1"]
    check(path, texts, second)
    drop_expansions(path, path, overwrite=True)
    assert counted(path) == {}
    check(path, texts, {})


def test_an_index_without_counts_gives_the_same_df(make_index: MakeIndex) -> None:
    """Those of an older sira: the counts are then made when a term is asked for."""
    from jnius import autoclass

    texts, expansions = drawn(4), drawn(5)
    path = make_index(documents(texts))
    attach(path, expansions)
    folder: Any = autoclass("org.apache.lucene.store.FSDirectory").open(autoclass("java.io.File")(str(path)).toPath())
    config: Any = autoclass("org.apache.lucene.index.IndexWriterConfig")()
    writer: Any = autoclass("org.apache.lucene.index.IndexWriter")(folder, config)
    writer.setLiveCommitData(autoclass("java.util.HashMap")().entrySet())
    writer.commit()
    writer.close()
    folder.close()
    assert counted(path) == {}
    check(path, texts, expansions)

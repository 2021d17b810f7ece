"""Phrases are windows of analysed terms: a removed stop word leaves no place behind."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from sira.analysis import windows
from sira.analysis.english import analyze
from sira.lucene.analyzers import ANALYZERS
from sira.lucene.manifest import FILE, read_manifest
from sira.lucene.reader import Index
from sira.lucene.update import ExpansionTerms, attach_expansions, drop_expansions, update_index
from sira.program import Occur, PhraseClause, Program, TermClause
from sira.records import Document, Place
from tests.conftest import records

pytestmark = pytest.mark.java

MakeIndex = Callable[..., Path]
BANK = ("bank", "america")
TEXTS = {
    "inside": "the bank of america",
    "several": "A bank of the. And of the America!",
    "without": "Bank America",
    "first": "Of the bank; the America",
    "between": "bank of south america",
    "turned": "america of the bank",
    "apart": "the bank of",
}
HOLDING = ["first", "inside", "several", "without"]
DOCUMENTS = [Document(docid, text) for docid, text in TEXTS.items()]


def found(index: Index, terms: tuple[str, ...], occur: Occur = "should", *others: str) -> list[str]:
    clauses = (PhraseClause(terms, occur=occur), *(TermClause(term) for term in others))
    return sorted(index.search(Program("q", clauses), 1000).docids)


def test_a_stop_word_inside_a_phrase_does_no_harm(make_index: MakeIndex) -> None:
    with Index(make_index(DOCUMENTS)) as index:
        assert index.manifest.closed_positions
        assert index.analyze(["Bank of America"]) == [list(BANK)]
        assert index.window_df([BANK, BANK[::-1], ("bank", "south", "america")]) == [4, 1, 1]
        assert index.contents_window_df([BANK]) == [4]
        assert found(index, BANK) == HOLDING
        assert found(index, BANK, "must", "bank") == HOLDING
        assert found(index, BANK, "must_not", "bank") == ["apart", "between", "turned"]
        assert found(index, BANK, "filter", "bank") == HOLDING


def test_df_and_hits_are_those_of_the_windows_of_the_analysed_text(make_index: MakeIndex) -> None:
    draw = random.Random(7)
    words = ["bank", "America", "kiln", "glaze", "of", "the", "and", "to", "it's", "no"]
    documents = [
        Document(
            f"d{n:03}", " ".join(draw.choices(words, k=draw.randint(0, 14))), " ".join(draw.choices(words, k=n % 3))
        )
        for n in range(400)
    ]
    held = [set(windows(terms, 4)) for terms in analyze([document.contents for document in documents])]
    asked = sorted({window for document in held for window in document if len(window) > 1})
    asked = [*draw.sample(asked, 120), ("kiln", "absent"), ("of", "bank")]
    with Index(make_index(documents)) as index:
        assert index.window_df(asked) == [sum(window in document for document in held) for window in asked]
        for window in asked[-40:]:
            holding = [item.docid for item, document in zip(documents, held, strict=True) if window in document]
            words_of_all = [item.docid for item, document in zip(documents, held, strict=True) if ("bank",) in document]
            assert found(index, window) == holding
            assert found(index, window, "must", "bank") == holding
            assert found(index, window, "must_not", "bank") == sorted({*words_of_all} - {*holding})


def test_removed_words_change_no_score_no_length_and_no_df(make_index: MakeIndex) -> None:
    """The same texts without their stop words: the same index in all that ranks."""
    draw = random.Random(8)
    bare = [draw.choices(["bank", "america", "kiln", "glaze"], k=draw.randint(1, 90)) for _ in range(150)]
    full = [[part for word in text for part in (*draw.choices(["of", "the", "and"], k=draw.randint(0, 2)), word)]
            for text in bare]  # fmt: skip
    program = Program("q", (TermClause("bank"), TermClause("kiln", 0.5), PhraseClause(BANK), PhraseClause(BANK[::-1])))
    made = [make_index([Document(f"d{n}", " ".join(text)) for n, text in enumerate(texts)]) for texts in (bare, full)]
    with Index(made[0]) as without, Index(made[1]) as stopped:
        assert stopped.average_length == without.average_length
        assert stopped.manifest.statistics == without.manifest.statistics
        assert stopped.search(program, 150) == without.search(program, 150)
        assert len(stopped.search(program, 150)) > 100


def test_expansions_and_updates_keep_closed_positions(make_index: MakeIndex, tmp_path: Path) -> None:
    base, target = make_index(DOCUMENTS[:4]), tmp_path / "expanded"
    rows = [ExpansionTerms("turned", ["shelf"], ["bank america"], Place("store", 1))]
    update_index(base, add=records(DOCUMENTS[4:]), progress=False)
    attach_expansions(base, rows, target, lambda counts: {"documents": counts.documents})
    for path, df in ((base, 4), (target, 5)):
        with Index(path) as index:
            assert index.manifest.closed_positions
            assert (index.window_df([BANK]), index.contents_window_df([BANK])) == ([df], [4])
            assert found(index, BANK) == HOLDING
    assert drop_expansions(target, target, overwrite=True).closed_positions


def test_terms_of_one_place_stay_there(make_index: MakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """An analyzer that lays a word's readings over it: each reading stands beside the next word."""
    name = "org.apache.lucene.analysis.ja.JapaneseCompletionAnalyzer"
    monkeypatch.setitem(ANALYZERS, "readings", name)
    with Index(make_index([Document("a", "東京 大学")], analyzer="readings")) as index:
        (terms,) = index.analyze(["東京 大学"])
        first, second = terms[: terms.index("大学")], terms[terms.index("大学") :]
        assert len(first) > 1
        assert len(second) > 1
        assert index.window_df([(a, b) for a in first for b in second]) == [1] * (len(first) * len(second))
        assert index.window_df([tuple(first[:2])]) == [0]


def test_an_index_of_an_older_sira_opens_and_says_what_it_is(make_index: MakeIndex) -> None:
    path = make_index(DOCUMENTS)
    manifest = json.loads((path / FILE).read_text(encoding="utf-8"))
    del manifest["closed_positions"]
    (path / FILE).write_text(json.dumps(manifest), encoding="utf-8")
    with Index(path) as index:
        assert not index.manifest.closed_positions
    update_index(path, delete=["apart"], progress=False)
    updated = read_manifest(path)
    assert updated is not None
    assert not updated.closed_positions
    with Index(path) as index:
        assert index.document_count == len(DOCUMENTS) - 1
        assert found(index, BANK) == HOLDING

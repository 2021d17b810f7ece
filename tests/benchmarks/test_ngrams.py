"""Windows of `contents` as atoms, and clauses at a share of their weight."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.ngrams import attach_windows, shared
from sira.lucene.reader import Index
from sira.program import PhraseClause, Program, TermClause
from sira.records import Document
from tests.conftest import MakeIndex


@pytest.mark.java
def test_windows_of_contents_become_atoms_and_move_no_length(make_index: MakeIndex, tmp_path: Path) -> None:
    base = make_index([Document("a", "red clay pots"), Document("b", "red clay"), Document("c", "bare")])
    store = tmp_path / "phrases.jsonl"
    rows = [{"docid": "a", "phrases": ["kiln fire"]}, {"docid": "b", "phrases": []}]
    store.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    attach_windows(base, store, tmp_path / "windowed")
    with Index(tmp_path / "windowed") as index:
        terms = dict(index.terms("expansion"))
        assert index.manifest.expansion_words == 2
    # b has no kept word in its phrases, so that its windows stay out
    assert terms == {"kiln": 1, "fire": 1, "kiln fire": 1, "red clai": 1, "clai pot": 1, "red clai pot": 1}


def test_a_share_touches_the_clauses_of_n_grams_alone() -> None:
    single = Program("t", (TermClause("red"), TermClause("clai", 0.5, source="clay pot")))
    atom = TermClause("clai pot", 0.5, source="clay pot")
    phrase = PhraseClause(("clai", "pot"), 0.5, source="clay pot")
    whole = Program("t", (*single.clauses, atom, phrase))
    assert [clause.weight for clause in shared(whole, single, 0.5).clauses] == [1.0, 0.5, 0.25, 0.25]

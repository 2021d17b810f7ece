"""From an index and a store to an expanded index, with the real engine."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sira.errors import DuplicateIdError, IndexFault, InputError
from sira.expand.gate import GateSettings
from sira.expand.indexing import document_gate, expand_index
from sira.lucene.manifest import Manifest
from sira.lucene.reader import Index
from sira.lucene.update import update_index
from sira.program import Program, Scoring, TermClause
from sira.records import Document, Place

pytestmark = pytest.mark.java

MakeIndex = Callable[..., Path]
# df on the base corpus: rare 1, bound 4, above 5, common 20; `above common` side by side in 5, `common above` in none
CORPUS = [
    Document(f"d{n:02}", f"{'rare ' if n == 0 else ''}{'bound ' if n < 4 else ''}{'above ' if n < 5 else ''}common")
    for n in range(20)
]
SETTINGS = GateSettings(max_df_ratio=0.2)


def expand(base: Path, target: Path, rows: Sequence[dict[str, Any]], **options: Any) -> Manifest:
    store = target.parent / f"{target.name}.jsonl"
    store.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return expand_index(base, store, target, options.pop("settings", SETTINGS), progress=False, **options)


def terms(path: Path) -> dict[str, int]:
    with Index(path) as index:
        return dict(index.terms("expansion"))


def test_borders_are_inclusive_and_df_is_that_of_the_base(make_index: MakeIndex, tmp_path: Path) -> None:
    """G87: df 0, 1, exactly the bound, bound + 1. Expansions of other documents do not count."""
    base = make_index(CORPUS)
    with Index(base) as index:
        gate = document_gate(index, SETTINGS)
        assert (gate.bound, dict(gate.common)) == (4, {"abov": 5, "common": 20})
    rows = [{"docid": document.docid, "phrases": ["unseen", "rare bound above common"]} for document in CORPUS]
    manifest = expand(base, tmp_path / "index", rows)
    kept = {"unseen", "rare", "bound", "rare bound", "bound abov", "rare bound abov", "bound abov common"}
    assert terms(tmp_path / "index") == dict.fromkeys(kept, 20)
    assert manifest.expansion_words == 3 * 20
    assert manifest.expansion is not None
    assert manifest.expansion["counts"]["windows_too_common"] == 3 * 20
    assert manifest.expansion["gate"] == {
        "max_df_ratio": 0.2,
        "max_n": 3,
        "max_phrases": 50,
        "bound": 4,
        "documents": 20,
    }
    again = expand(tmp_path / "index", tmp_path / "again", rows)  # on the expanded index: the gate still asks the base
    assert terms(tmp_path / "again") == terms(tmp_path / "index")
    assert replace(again, created="") == replace(manifest, created="")


def test_a_window_of_common_words_passes_where_they_seldom_stand_side_by_side(
    make_index: MakeIndex, tmp_path: Path
) -> None:
    rows = [{"docid": "d19", "phrases": ["common above", "above common", "new"]}]
    manifest = expand(make_index(CORPUS), tmp_path / "index", rows)
    assert terms(tmp_path / "index") == {"common abov": 1, "new": 1}
    assert manifest.expansion_words == 1


def test_no_atom_stands_without_a_word(make_index: MakeIndex, tmp_path: Path) -> None:
    """Such a document would count in the N and the lengths of `expansion` for its atoms alone."""
    manifest = expand(make_index(CORPUS), tmp_path / "index", [{"docid": "d19", "phrases": ["common above"]}])
    assert terms(tmp_path / "index") == {}
    assert manifest.expansion is not None
    assert manifest.expansion["counts"]["windows_without_words"] == 1


def test_phrases_of_one_normal_form_count_once(make_index: MakeIndex, tmp_path: Path) -> None:
    """G86: the fifth has another form, and the same terms."""
    phrases = ["Kiln wash", "kiln wash", " kiln  wash ", "KILN WASH", "ｋｉｌｎ wash", "kiln washes", "", "the of"]
    manifest = expand(make_index(CORPUS), tmp_path / "index", [{"docid": "d01", "phrases": phrases}])
    assert terms(tmp_path / "index") == {"kiln": 1, "wash": 1, "kiln wash": 1}
    assert manifest.expansion_words == 2
    assert manifest.expansion is not None
    counts = manifest.expansion["counts"]
    assert counts["phrases_proposed"] == len(phrases)
    assert (counts["phrases_kept"], counts["phrases_duplicate"], counts["phrases_empty"]) == (1, 5, 2)


def test_expired_rows_and_unknown_documents_are_counted(make_index: MakeIndex, tmp_path: Path) -> None:
    rows = [
        {"docid": "d01", "phrases": ["yesterday"], "expires": "2026-03-01"},
        {"docid": "d02", "phrases": ["today"], "expires": "2026-03-02"},
        {"docid": "gone", "phrases": ["nowhere"]},
        {"docid": "\ud800", "phrases": ["nowhere"]},
        {"docid": "d03", "phrases": ["lone \ud800 surrogate", "😀 界 queue"]},
    ]
    manifest = expand(make_index(CORPUS), tmp_path / "index", rows, today=dt.date(2026, 3, 2))
    assert manifest.expansion is not None
    assert manifest.expansion["unknown_docids"] == 2
    assert manifest.expansion["unknown_examples"][0] == f"{tmp_path / 'index.jsonl'}, line 3: gone"
    assert manifest.expansion["counts"]["rows_expired"] == 1
    found = terms(tmp_path / "index")
    assert {"todai", "lone", "lone surrog", "界", "界 queue"} <= set(found)
    assert not {"yesterdai", "nowher"} & set(found)


def test_the_quota_is_per_document(make_index: MakeIndex, tmp_path: Path) -> None:
    rows = [{"docid": docid, "phrases": ["one", "two", "three"]} for docid in ("d01", "d02")]
    settings = GateSettings(max_df_ratio=0.2, max_phrases=2)
    manifest = expand(make_index(CORPUS), tmp_path / "index", rows, settings=settings)
    assert terms(tmp_path / "index") == {"on": 2, "two": 2}
    assert manifest.expansion is not None
    assert manifest.expansion["counts"]["phrases_over_quota"] == 2


def test_a_docid_twice_is_refused_with_its_place_and_the_index_stays(make_index: MakeIndex, tmp_path: Path) -> None:
    base = make_index(CORPUS)
    rows = [
        {"docid": "d01", "phrases": ["first"]},
        {"docid": "d02", "phrases": []},
        {"docid": "d01", "phrases": ["second"]},
    ]
    store = tmp_path / "base.jsonl"
    store.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(DuplicateIdError, match=r"base.jsonl, line 3: docid 'd01'"):
        expand_index(base, store, base, SETTINGS, overwrite=True, progress=False)
    assert terms(base) == {}
    with pytest.raises(InputError, match=r"bad.jsonl, line 1"):
        expand(base, tmp_path / "bad", [{"docid": "d01"}])
    with pytest.raises(IndexFault, match="--overwrite"):
        expand_index(base, store, base, SETTINGS, progress=False)


def test_single_words_score_the_same_with_and_without_atoms(make_index: MakeIndex, tmp_path: Path) -> None:
    base = make_index(CORPUS)
    rows = [{"docid": f"d{n:02}", "phrases": [f"rare word{n % 3} raku", "kiln wash"]} for n in range(0, 20, 2)]
    for name, max_n in (("three", 3), ("one", 1)):
        expand(base, tmp_path / name, rows, settings=GateSettings(max_df_ratio=0.2, max_n=max_n))
    with Index(tmp_path / "three") as three, Index(tmp_path / "one") as one:
        assert three.df(["kiln wash"]) == [10]
        assert one.df(["kiln wash"]) == [0]
        for scoring in (Scoring(), Scoring("sum"), Scoring(expansion_weight=0.5)):
            program = Program("q", tuple(map(TermClause, ("kiln", "rare", "bound", "common", "word1"))), scoring)
            assert three.search(program) == one.search(program)


def test_an_updated_document_waits_for_new_expansions(make_index: MakeIndex, tmp_path: Path) -> None:
    path = tmp_path / "index"
    expand(make_index(CORPUS), path, [{"docid": f"d{n:02}", "phrases": ["kiln wash"]} for n in range(20)])
    changed = [(Place("new", 1), Document("d03", "other text")), (Place("new", 2), Document("d99", "more"))]
    manifest = update_index(path, add=lambda: changed, update=True, progress=False)
    assert (manifest.documents, manifest.expansion_words) == (21, 2 * 19)
    assert manifest.statistics["expansion"]["documents"] == 19
    assert terms(path) == {"kiln": 19, "kiln wash": 19, "wash": 19}
    with Index(path) as index:
        assert "d03" not in index.search(Program("q", (TermClause("kiln"),))).docids

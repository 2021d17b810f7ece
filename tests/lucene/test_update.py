"""Adding, replacing and deleting documents: afterwards all is as if the index had been built that way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from sira.errors import DuplicateIdError, IndexFault, NotFoundError
from sira.lucene.manifest import read_manifest
from sira.lucene.reader import Index
from sira.lucene.update import ExpansionTerms, attach_expansions, update_index
from sira.program import FacetClause, PhraseClause, Program, RangeClause, Scoring, TermClause
from sira.records import Document, Place, Record

pytestmark = pytest.mark.java

MakeIndex = Callable[..., Path]
FIELDS = {"year": "integer"}
KILN = Program("q", (TermClause("kiln"),))
SEARCHES = [
    KILN,
    Program("w", (TermClause("kiln", 2.0), TermClause("wash"), TermClause("word3"), PhraseClause(("kiln", "wash")))),
    Program("f", (FacetClause("c:1"), TermClause("wash", occur="must_not"), RangeClause("year", 1, 5))),
    Program("s", (TermClause("kiln"), TermClause("extra")), Scoring("sum")),
]


def document(number: int, text: str = "") -> Document:
    words = text or f"kiln {'wash ' * (number % 4)} word{number % 7} " + "shelf " * (number % 11)
    return Document(f"d{number:04}", words, facets=(f"c:{number % 3}",), values={"year": number % 9})


def lines(documents: Iterable[Document]) -> Callable[[], list[Record]]:
    listed: list[Record] = [(Place("more", number), each) for number, each in enumerate(documents, start=1)]
    return lambda: listed


def assert_as_fresh(path: Path, fresh: Path, terms: Sequence[str] = ("kiln", "wash", "word3", "shelf", "new")) -> None:
    changed, expected = read_manifest(path), read_manifest(fresh)
    assert changed is not None
    assert expected is not None
    assert (changed.documents, changed.statistics) == (expected.documents, expected.statistics)
    assert changed.expansion_words == expected.expansion_words
    with Index(path) as index, Index(fresh) as other:
        assert index.document_count == other.document_count
        assert index.average_length == other.average_length
        assert index.df(terms) == other.df(terms)
        assert index.facet_df(["c:0", "c:1"]) == other.facet_df(["c:0", "c:1"])
        assert list(index.terms("contents")) == list(other.terms("contents"))
        for program in SEARCHES:
            assert index.search(program, 2000) == other.search(program, 2000)


def test_changed_as_if_built_that_way(make_index: MakeIndex) -> None:
    """G16."""
    path = make_index([document(n) for n in range(40)], value_fields=FIELDS)
    update_index(path, add=lines(document(n) for n in range(40, 60)), progress=False)
    update_index(path, delete=["d0003", "d0050", "d0003"], progress=False)
    changed = [document(n, f"new text {n}") for n in (7, 8, 59, 100)]
    manifest = update_index(path, add=lines(changed), update=True, progress=False)
    final = {each.docid: each for each in [*(document(n) for n in range(60) if n not in (3, 50)), *changed]}
    assert_as_fresh(path, make_index(final.values(), value_fields=FIELDS))
    assert (manifest.read, manifest.indexed, manifest.documents) == (64, 64, 59)
    with Index(path) as index:
        assert index.document("d0007").text == "new text 7"
        assert index.documents(["d0003"]) == [None]


def test_a_replaced_document_is_no_duplicate_of_what_it_replaces(make_index: MakeIndex) -> None:
    """In a segment too large to be merged at once the deleted document keeps its posting until the commit."""
    shades = np.array(list("░▒▓█▄▀■□▪▫▬▲►▼◄◊"))  # no words, and too random to be compressed
    bulk = "".join(np.random.default_rng(0).choice(shades, 1_000_000))
    path = make_index([Document(f"d{n}", bulk[n:] if n else "kiln") for n in range(20)])
    assert sum(file.stat().st_size for file in path.iterdir()) > 17_000_000
    manifest = update_index(path, add=lines([Document("d0", "raku")]), update=True, progress=False)
    assert manifest.documents == 20
    with Index(path) as index:
        assert (index.document("d0").text, index.df(["kiln", "raku"])) == ("raku", [0, 1])


def test_everything_deleted(make_index: MakeIndex) -> None:
    path = make_index([document(n) for n in range(20)], {"d0001": (["extra"], [])}, value_fields=FIELDS)
    manifest = update_index(path, delete=[f"d{n:04}" for n in range(20)], progress=False)
    assert (manifest.documents, manifest.expansion_words) == (0, 0)
    with Index(path) as index:
        assert (index.document_count, index.average_length, index.expanded_documents) == (0, 0.0, 0)
        assert index.df(["kiln", "extra"]) == [0, 0]
        assert [len(index.search(program)) for program in SEARCHES] == [0, 0, 0, 0]
        assert index.documents(["d0001"]) == [None]
        assert list(index.terms("contents")) == []
    attach_expansions(path, [], path, lambda counts: {}, overwrite=True)
    update_index(path, add=lines([document(5)]), progress=False)
    assert_as_fresh(path, make_index([document(5)], value_fields=FIELDS))


def test_present_and_absent_docids_are_refused(make_index: MakeIndex) -> None:
    path = make_index([document(n) for n in range(5)], value_fields=FIELDS)
    before = read_manifest(path)
    for fault, options, message in (
        (DuplicateIdError, {"add": lines([document(9), document(3)])}, r"more, line 2: docid 'd0003' .*--update"),
        (
            DuplicateIdError,
            {"add": lines([document(9), document(8), document(9)])},
            r"'d0009' at more, line 1 and more, line 3",
        ),
        (DuplicateIdError, {"add": lines([document(3), document(3)]), "update": True}, r"'d0003' at more, line 1 and"),
        (NotFoundError, {"delete": ["d0001", "absent"]}, "'absent'"),
        (NotFoundError, {"delete": ["\ud800"]}, "is not in"),
    ):
        with pytest.raises(fault, match=message):
            update_index(path, progress=False, **options)  # pyright: ignore[reportArgumentType]
    assert read_manifest(path) == before
    with Index(path) as index:
        assert len(index.search(KILN)) == 5
    with pytest.raises(IndexFault, match="no such folder"):
        update_index(path / "absent", delete=["d0001"], progress=False)
    update_index(path, delete=["d0003"], add=lines([document(3, "new")]), progress=False)
    with Index(path) as index:
        assert index.document("d0003").text == "new"


def test_a_replacement_that_cannot_be_indexed_leaves_the_document(make_index: MakeIndex) -> None:
    path = make_index([document(1)], value_fields=FIELDS)
    bad = [document(1, "lone \ud800"), Document("", "no id"), document(2)]
    manifest = update_index(path, add=lines(bad), update=True, progress=False)
    assert (manifest.read, manifest.indexed, manifest.documents) == (4, 2, 2)
    assert manifest.skipped == {"invalid_unicode": 1, "missing_id": 1}
    with Index(path) as index:
        assert index.document("d0001") == document(1)


def test_what_is_left_out_of_added_documents_is_counted(make_index: MakeIndex) -> None:
    path = make_index([Document("a", "x", values={"year": "?"})], value_fields=FIELDS)
    added = Document("b", "x", facets=("f" * 40_000,), values={"year": "?"})
    manifest = update_index(path, add=lines([added]), progress=False)
    assert manifest.dropped == {"bad_value:year": 2, "facet_too_long": 1}


def test_a_replaced_document_has_no_expansion_and_the_others_keep_theirs(make_index: MakeIndex) -> None:
    expansions = {f"d{n:04}": (["extra", f"own{n}"], [f"extra own{n}"]) for n in range(0, 30, 2)}
    path = make_index([document(n) for n in range(30)], expansions, value_fields=FIELDS)
    update_index(path, add=lines([document(4), document(31)]), update=True, delete=["d0006"], progress=False)
    left = {docid: terms for docid, terms in expansions.items() if docid not in ("d0004", "d0006")}
    fresh = make_index([document(n) for n in [*range(30), 31] if n != 6], left, value_fields=FIELDS)
    assert_as_fresh(path, fresh, ["kiln", "extra", "own4", "own6", "own8", "extra own8"])
    with Index(path) as index:
        assert index.field_df("expansion", ["extra", "own4", "own6", "own8"]) == [13, 0, 0, 1]


def test_expansions_attached_again_replace_the_old_ones(make_index: MakeIndex) -> None:
    path = make_index([document(n) for n in range(30)], {"d0001": (["extra"], ["extra atom"])}, value_fields=FIELDS)
    rows = [ExpansionTerms(f"d{n:04}", ["other", "other", "kiln"], ["other kiln"], Place("s", n)) for n in (29, 2, 11)]
    attach_expansions(path, rows, path, lambda counts: {"documents": counts.documents}, overwrite=True)
    expansions = {row.docid: (row.words, row.atoms) for row in rows}
    assert_as_fresh(
        path, make_index([document(n) for n in range(30)], expansions, value_fields=FIELDS), ["other", "kiln"]
    )
    with Index(path) as index:
        assert index.df(["extra", "extra atom", "other", "other kiln"]) == [0, 0, 3, 3]
        assert index.document("d0011") == document(11)


def test_rows_without_a_document_are_counted_and_rows_given_twice_refused(make_index: MakeIndex) -> None:
    path = make_index([document(n) for n in range(5)])
    rows = [
        ExpansionTerms(docid, ["x"], [], Place("store", n)) for n, docid in enumerate(["d0001", "absent", "\ud800"], 1)
    ]
    manifest = attach_expansions(
        path, rows, path, lambda c: {"known": c.documents, "unknown": c.unknown}, overwrite=True
    )
    assert manifest.expansion == {"known": 1, "unknown": 2}
    with pytest.raises(DuplicateIdError, match=r"store, line 1: docid 'd0001' has a row already"):
        attach_expansions(path, [*rows, rows[0]], path, lambda c: {}, overwrite=True)
    with Index(path) as index:
        assert index.df(["x"]) == [1]


def test_of_two_changes_at_a_time_none_is_lost(make_index: MakeIndex) -> None:
    path = make_index([document(n) for n in range(5)], value_fields=FIELDS)

    before = read_manifest(path)

    def slowly() -> Iterator[Record]:
        if read_manifest(path) == before:
            update_index(path, delete=["d0001"], progress=False)
        yield from lines([document(7)])()

    with pytest.raises(IndexFault, match="another process changed it meanwhile"):
        update_index(path, add=slowly, update=True, progress=False)

    def rows() -> Iterator[ExpansionTerms]:
        update_index(path, delete=["d0002"], progress=False)
        yield ExpansionTerms("d0003", ["x"], [], Place("store", 1))

    with pytest.raises(IndexFault, match="another process changed it meanwhile"):
        attach_expansions(path, rows(), path, lambda counts: {}, overwrite=True)
    with Index(path) as index:
        assert index.id_df([f"d{n:04}" for n in range(8)]) == [1, 0, 0, 1, 1, 0, 0, 0]


def test_atoms_up_to_lucenes_limit(make_index: MakeIndex) -> None:
    """G95: 32,766 bytes is the longest term."""
    longest = "界" * 5461 + " " + "界" * 5460 + "xy"
    assert len(longest.encode()) == 32_766
    path = make_index([document(1)], {"d0001": ([], [longest])})
    with Index(path) as index:
        assert index.df([longest]) == [1]
        assert index.search(Program("q", (TermClause(longest),))).docids == ("d0001",)

"""The engine's scores and orders against `oracle.py`, on random corpora and programs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sira.errors import ProgramError
from sira.lucene.reader import Index
from sira.program import (
    AnyOfClause,
    Clause,
    FacetClause,
    PhraseClause,
    Program,
    RangeClause,
    Scoring,
    TermClause,
)
from sira.records import Document, Ranking
from tests.lucene.oracle import Oracle, Text, quantise

pytestmark = pytest.mark.java

TERMS = [f"t{number}" for number in range(8)]
FACETS = ["kind:a", "kind:b", "topic:c d"]
SLOW = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def index_texts(make_index: Callable[..., Path], texts: list[Text], **options: object) -> Index:
    documents = [
        Document(
            text.docid,
            " ".join(text.contents),
            facets=tuple(sorted(text.facets)),
            values={} if text.year is None else {"year": text.year},
        )
        for text in texts
    ]
    expansions = {text.docid: (text.words, text.atoms) for text in texts if text.expansion}
    return Index(make_index(documents, expansions, value_fields={"year": "integer"}, **options))


words = st.lists(st.sampled_from(TERMS), max_size=12)
atoms = st.lists(st.tuples(st.sampled_from(TERMS), st.sampled_from(TERMS)).map(" ".join), max_size=3, unique=True)


@st.composite
def corpora(draw: st.DrawFn) -> list[Text]:
    """Documents with and without expansions, empty ones, long ones, words that repeat."""
    texts: list[Text] = []
    for number in range(draw(st.integers(1, 14))):
        contents = tuple(draw(words) * draw(st.sampled_from([1, 1, 1, 9, 40])))
        expanded = draw(st.booleans())
        texts.append(
            Text(
                f"d{number:02}",
                contents,
                tuple(draw(words)) if expanded else (),
                tuple(draw(atoms)) if expanded else (),
                frozenset(draw(st.sets(st.sampled_from(FACETS)))),
                draw(st.none() | st.integers(1990, 1994)),
            )
        )
    return texts


weights = st.sampled_from([0.0, 0.004, 0.5, 1.0, 3.0]) | st.floats(1e-3, 1e3)
occurs = st.sampled_from(["should"] * 6 + ["must", "must_not", "filter"])
clauses: st.SearchStrategy[Clause] = st.one_of(
    st.builds(TermClause, st.sampled_from([*TERMS, "absent"]), weights, occurs),
    st.builds(TermClause, st.tuples(st.sampled_from(TERMS), st.sampled_from(TERMS)).map(" ".join), weights, occurs),
    st.builds(PhraseClause, st.lists(st.sampled_from(TERMS), min_size=2, max_size=3).map(tuple), weights, occurs),
    st.builds(AnyOfClause, st.lists(st.sampled_from(TERMS), min_size=1, max_size=3).map(tuple), weights, occurs),
    st.builds(FacetClause, st.sampled_from([*FACETS, "kind:none"]), weights, occurs),
    st.builds(RangeClause, st.just("year"), st.integers(1989, 1995), st.none(), weights, occurs),
)
scorings = st.builds(
    Scoring,
    st.sampled_from(["bm25f", "sum"]),
    st.sampled_from([0.0, 0.9, 25.0]) | st.floats(0, 50),
    st.floats(0, 1),
    st.sampled_from([0.0, 0.3, 1.0, 2.5]) | st.floats(1e-3, 1e3),
    st.sampled_from([1.0] * 6 + [0.0, 0.5, 2.0]) | st.floats(1e-2, 1e2),
)
programs = st.builds(Program, st.just("q"), st.lists(clauses, max_size=6).map(tuple), scorings)


def rounding(program: Program) -> float:
    """Lucene computes w - w / (1 + x) in 32 bits: below this a small score is rounding."""
    field = max(1.0, program.scoring.expansion_weight, program.scoring.contents_weight)
    return 1e-30 + 1e-6 * field * sum(clause.weight for clause in program.clauses)


def assert_ranked_as(ranking: Ranking, oracle: Oracle, program: Program, k: int) -> None:
    """Same scores to 1e-4; same order up to scores that are equal within that; the best k and no other."""
    expected, close = oracle.search(program), rounding(program)
    assert len(ranking) == min(k, len(expected))
    assert len(set(ranking.docids)) == len(ranking)
    for docid, score in zip(ranking.docids, ranking.scores, strict=True):
        assert score == pytest.approx(expected[docid], rel=1e-4, abs=close)
    for (first, high), (second, low) in itertools.pairwise(zip(ranking.docids, ranking.scores, strict=True)):
        assert (-high, first) < (-low, second)
    best = sorted(expected.values(), reverse=True)[: len(ranking)]
    assert list(ranking.scores) == pytest.approx(best, rel=1e-4, abs=close)


@SLOW
@given(texts=corpora(), searches=st.lists(programs, min_size=4, max_size=8), k=st.integers(1, 16))
def test_scores_are_those_of_the_formulas(
    make_index: Callable[..., Path], texts: list[Text], searches: list[Program], k: int
) -> None:
    oracle = Oracle(texts)
    with index_texts(make_index, texts) as index:
        for program in searches:
            assert_ranked_as(index.search(program, k), oracle, program, k)
        assert index.df([*TERMS, "absent"]) == [oracle.df(term) for term in [*TERMS, "absent"]]


@SLOW
@given(texts=corpora(), searches=st.lists(programs, min_size=3, max_size=5))
def test_explained_parts_sum_to_the_score_and_the_rank_is_that_of_the_search(
    make_index: Callable[..., Path], texts: list[Text], searches: list[Program]
) -> None:
    oracle = Oracle(texts)
    with index_texts(make_index, texts) as index:
        for program in searches:
            ranking = index.search(program, len(texts))
            ranks = {hit.docid: hit for hit in ranking}
            for text in texts:
                explained = index.explain(program, text.docid)
                hit = ranks.get(text.docid)
                assert explained.rank == (hit.rank if hit else None)
                if hit:
                    assert explained.score == hit.score
                    assert sum(explained.parts) == pytest.approx(hit.score, rel=1e-5, abs=1e-30)
                    for clause, part in zip(program.clauses, explained.parts, strict=True):
                        if clause.occur in ("should", "must"):
                            own = oracle.clause(clause, program.scoring)[0][texts.index(text)]
                            assert part == pytest.approx(own, rel=1e-4, abs=rounding(program))
                        else:
                            assert part == 0


def mixed_texts(count: int = 60) -> list[Text]:
    """A fixed corpus whose documents differ in all respects."""
    return [
        Text(
            f"d{n:03}",
            tuple(TERMS[(n * step) % (5 + n % 4)] for step in range(1, 1 + n % 17)),
            tuple(TERMS[(n + step) % 8] for step in range(n % 5)) if n % 3 else (),
            (f"{TERMS[n % 8]} {TERMS[(n + 1) % 8]}",) if n % 3 and n % 5 else (),
            frozenset(FACETS[: n % 3]),
            1990 + n % 7,
        )
        for n in range(count)
    ]


SEARCHES = [
    Program("words", tuple(TermClause(term, 1 + n) for n, term in enumerate(TERMS))),
    Program("sum", (TermClause("t1"), TermClause("t2", 0.5)), Scoring("sum", 1.2, 0.75, 0.7)),
    Program("light", (TermClause("t1"), TermClause("t6", 0.5)), Scoring(expansion_weight=0.25)),
    Program("mixed", (AnyOfClause(("t1", "t5")), PhraseClause(("t1", "t2"), 2.0), FacetClause("kind:a"))),
    Program("chosen", (TermClause("t3"), TermClause("t4", occur="must_not"), RangeClause("year", 1991, 1994))),
]


def test_expansions_dropped_or_at_weight_0_are_as_if_there_had_never_been_any(
    make_index: Callable[..., Path], tmp_path: Path
) -> None:
    from sira.lucene.update import drop_expansions

    texts = mixed_texts()
    bare = [replace(text, words=(), atoms=()) for text in texts]
    with index_texts(make_index, texts) as expanded, index_texts(make_index, bare) as base:
        manifest = drop_expansions(expanded.path, tmp_path / "dropped")
        assert (manifest.expansion, manifest.expansion_words) == (None, 0)
        with Index(tmp_path / "dropped") as dropped:
            for program in SEARCHES:
                expected = base.search(program, 100)
                assert dropped.search(program, 100) == expected
                off = replace(program.scoring, expansion_weight=0.0)
                assert expanded.search(replace(program, scoring=off), 100) == expected
            assert expanded.search(SEARCHES[0], 100) != base.search(SEARCHES[0], 100)


def test_atoms_move_no_score_of_single_words(make_index: Callable[..., Path]) -> None:
    texts = mixed_texts()
    assert any(text.atoms for text in texts)
    assert all(text.words for text in texts if text.atoms)
    words_only = [replace(text, atoms=()) for text in texts]
    with index_texts(make_index, texts) as atoms, index_texts(make_index, words_only) as words:
        for program in SEARCHES:
            assert atoms.search(program, 100) == words.search(program, 100)
        assert len(atoms.search(Program("q", (TermClause("t1 t2"),)))) > 0


def test_threads_change_nothing(make_index: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sira.lucene.writer.BATCH_DOCUMENTS", 5)
    with (
        index_texts(make_index, mixed_texts(), threads=1) as one,
        index_texts(make_index, mixed_texts(), threads=8) as many,
    ):
        for program in SEARCHES:
            assert one.search(program, 100) == many.search(program, 100)


def test_segments_change_no_score(make_index: Callable[..., Path], tmp_path: Path) -> None:
    """G93."""
    from sira.lucene.manifest import read_manifest
    from sira.lucene.writer import seal

    texts = mixed_texts()
    with index_texts(make_index, texts) as whole:
        parts: list[Path] = []
        for start in range(0, 60, 12):
            with index_texts(make_index, texts[start : start + 12]) as part:
                parts.append(part.path)
        joined = join_as_segments(parts, tmp_path / "joined")
        manifest = read_manifest(whole.path)
        assert manifest is not None
        assert seal(joined, manifest).expansion_words == manifest.expansion_words
        with Index(joined) as several:
            assert (whole.segments, several.segments) == (1, 5)
            for program in SEARCHES:
                one, five = whole.search(program, 100), several.search(program, 100)
                assert one.docids == five.docids
                assert one.scores == pytest.approx(five.scores, rel=1e-6)
                assert several.explain(program, one.docids[3]).rank == 4
            assert whole.df(TERMS) == several.df(TERMS)
            assert whole.documents([text.docid for text in texts]) == several.documents([text.docid for text in texts])


def join_as_segments(parts: list[Path], target: Path) -> Path:
    """An index of several segments, by Lucene's own classes: sira merges small ones."""
    from jnius import autoclass

    open_folder = autoclass("org.apache.lucene.store.FSDirectory").open
    config = autoclass("org.apache.lucene.index.IndexWriterConfig")()
    config.setMergePolicy(autoclass("org.apache.lucene.index.NoMergePolicy").INSTANCE)
    file = autoclass("java.io.File")
    writer = autoclass("org.apache.lucene.index.IndexWriter")(open_folder(file(str(target)).toPath()), config)
    for part in parts:
        writer.addIndexes(open_folder(file(str(part)).toPath()))
    writer.commit()
    writer.close()
    return target


@pytest.mark.parametrize("combine", ["bm25f", "sum"])
@pytest.mark.parametrize(
    "clause",
    [TermClause("t1"), TermClause("t1 t2"), PhraseClause(("t1", "t2")), FacetClause("kind:a"), AnyOfClause(("t1",))],
)
def test_a_weight_multiplies_the_score(make_index: Callable[..., Path], clause: Clause, combine: str) -> None:
    """G98, G88: weights stay floats."""
    scoring = Scoring(combine)  # pyright: ignore[reportArgumentType]
    with index_texts(make_index, mixed_texts()) as index:
        one = index.search(Program("q", (clause,), scoring))
        assert len(one) > 0
        for factor in (0.004, 10.0):
            other = index.search(Program("q", (replace(clause, weight=factor),), scoring))
            assert other.docids == one.docids
            assert other.scores == pytest.approx([factor * score for score in one.scores], rel=1e-5)


def test_a_phrase_on_contents_scores_the_same_whatever_expansions_weigh(make_index: Callable[..., Path]) -> None:
    """Below 1 the engine scales the fields and k1 of combined terms; a phrase must not follow."""
    with index_texts(make_index, mixed_texts()) as index:
        rankings = [
            index.search(Program("q", (PhraseClause(("t1", "t2")),), Scoring(expansion_weight=weight)))
            for weight in (1.0, 0.25, 4.0)
        ]
        assert len(rankings[0]) > 0
        assert rankings[0] == rankings[1] == rankings[2]


def test_field_weights_of_sum_add_the_scores_of_both_fields(make_index: Callable[..., Path]) -> None:
    """G14."""
    with index_texts(make_index, mixed_texts()) as index:
        none, single, double = (
            dict(zip(ranking.docids, ranking.scores, strict=True))
            for ranking in (
                index.search(Program("q", (TermClause("t6"),), Scoring("sum", expansion_weight=weight)))
                for weight in (0.0, 1.0, 2.0)
            )
        )
        assert len(none) < len(single)
        dropped = Scoring("sum", contents_weight=0.0)
        alone = index.search(Program("q", (TermClause("t6"),), dropped))
        expansion_only = dict(zip(alone.docids, alone.scores, strict=True))
        for docid, score in single.items():
            of_contents, of_expansion = none.get(docid, 0.0), expansion_only.get(docid, 0.0)
            assert score == pytest.approx(of_contents + of_expansion, rel=1e-5)
            assert double[docid] == pytest.approx(of_contents + 2 * of_expansion, rel=1e-5)


def test_a_facet_scores_weight_times_idf(make_index: Callable[..., Path]) -> None:
    documents = [Document(f"d{n}", "word " * n, facets=("kind:a",) if n < 3 else ("kind:b",)) for n in range(10)]
    with Index(make_index(documents)) as index:
        ranking = index.search(Program("q", (FacetClause("kind:a", 2.0),)))
        assert ranking.docids == ("d0", "d1", "d2")
        assert ranking.scores == pytest.approx([2 * math.log(1 + 7.5 / 3.5)] * 3, rel=1e-6)
        assert index.facet_df(["kind:a", "kind:b", "kind:c"]) == [3, 7, 0]


def test_a_df_above_the_documents_with_contents_is_no_negative_idf(make_index: Callable[..., Path]) -> None:
    """An empty document may have an expansion, so that more documents hold a term than hold any contents."""
    texts = [Text("a", ("t1",)), Text("b", (), ("t1",)), Text("c", (), ("t1", "t2"))]
    program = Program("q", (TermClause("t1"), TermClause("t2")))
    with index_texts(make_index, texts) as index:
        assert_ranked_as(index.search(program, 10), Oracle(texts), program, 10)
        assert index.df(["t1"]) == [3]


@pytest.mark.parametrize("weight", [1e-4, 1e4])
def test_extreme_field_weights_keep_the_formula(make_index: Callable[..., Path], weight: float) -> None:
    texts = [Text("a", ("t1", "t2") * 40_000, ("t3",)), Text("b", ("t1",) * 300, ("t1",)), Text("c", (), ("t1",) * 3)]
    program = Program("q", (TermClause("t1"), TermClause("t3")), Scoring(expansion_weight=weight))
    with index_texts(make_index, texts) as index:
        assert_ranked_as(index.search(program, 10), Oracle(texts), program, 10)


@pytest.mark.parametrize(
    ("scoring", "named"),
    [
        (Scoring(expansion_weight=1e-9), "expansion_weight"),
        (Scoring(expansion_weight=1e9), "expansion_weight"),
        (Scoring("sum", expansion_weight=1e300), "expansion_weight"),
        (Scoring(k1=1e300), "k1"),
    ],
)
def test_parameters_beyond_32_bits_are_refused(make_index: Callable[..., Path], scoring: Scoring, named: str) -> None:
    with index_texts(make_index, mixed_texts(3)) as index, pytest.raises(ProgramError, match=named):
        index.search(Program("q", (TermClause("t1"),), scoring))


def test_lengths_are_quantised_as_published() -> None:
    """Values of Lucene's SmallFloat.byte4ToInt(intToByte4(n))."""
    known = {0: 0, 39: 39, 40: 40, 41: 40, 42: 42, 55: 54, 56: 56, 57: 56, 60: 60, 100: 96, 1000: 984, 100_000: 98328}
    assert {length: quantise(length) for length in known} == known

"""The gate, the weights and the verdicts, on statistics from a dictionary."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sira.compile import CompileSettings, TableStatistics, compile_sketch
from sira.errors import InputError
from sira.program import FacetClause, PhraseClause, Program, TermClause, program_from_json, program_to_json
from sira.records import Outcome, Sketch, SketchPhrase, Topic

KEPT, EMPTY, PRESENT = Outcome.KEPT, Outcome.EMPTY, Outcome.ALREADY_PRESENT
UNSEEN, COMMON, DUPLICATE, QUOTA = Outcome.UNSEEN, Outcome.TOO_COMMON, Outcome.DUPLICATE, Outcome.OVER_QUOTA

TABLE = {
    "kiln": 4, "glaze": 5, "raku": 6, "clay": 90, "wash": 1,
    "raku kiln": 2, "clay kiln": 3, "clay wash": 0, "raku clay": 7,
}  # fmt: skip
STATISTICS = TableStatistics(100, TABLE, facets={"year:1927": 3})


def sketch(*phrases: str | SketchPhrase, facets: tuple[str, ...] = ()) -> Sketch:
    made = tuple(SketchPhrase(item) if isinstance(item, str) else item for item in phrases)
    return Sketch("q1", made, facets)


def compiled(query: str, *phrases: str | SketchPhrase, facets: tuple[str, ...] = (), **settings: object) -> Program:
    chosen = CompileSettings(**settings)  # pyright: ignore[reportArgumentType]
    return compile_sketch(Topic("q1", query), sketch(*phrases, facets=facets), STATISTICS, chosen)


def outcomes(program: Program) -> list[tuple[str, Outcome]]:
    return [(item.term, item.outcome) for item in program.verdicts]


def weights(program: Program) -> dict[str, float]:
    return {clause.label: clause.weight for clause in program.clauses}


def test_query_words_weigh_their_frequency_and_are_never_filtered() -> None:
    program = compiled("clay kiln clay nothing")
    assert weights(program) == {"clay": 2.0, "kiln": 1.0, "nothing": 1.0}
    assert [clause.df for clause in program.clauses] == [90, 4, 0]
    assert program.verdicts == ()


def test_borders_of_the_gate_are_inclusive() -> None:
    """G87: N = 100 and tau = 0.05 make the bound 5: df 0, 1, 5 and 6."""
    program = compiled("query", "wash glaze raku unknown")
    assert outcomes(program) == [("wash", KEPT), ("glaze", KEPT), ("raku", COMMON), ("unknown", UNSEEN)]
    assert [item.df for item in program.verdicts] == [1, 5, 6, 0]
    assert weights(program) == {"query": 1.0, "wash": 0.5, "glaze": 0.5}


def test_each_window_is_gated_on_its_own() -> None:
    """A rare window saves neither its neighbours nor the words it is made of."""
    program = compiled("query", "raku kiln", "clay kiln", ngrams="atoms", max_n=2)
    assert outcomes(program) == [
        ("raku", COMMON),
        ("kiln", KEPT),
        ("raku kiln", KEPT),
        ("clay", COMMON),
        ("kiln", DUPLICATE),
        ("clay kiln", KEPT),
    ]


def test_no_window_crosses_two_phrases() -> None:
    program = compiled("query", "raku", "kiln", ngrams="atoms")
    assert "raku kiln" not in {item.term for item in program.verdicts}


def test_nothing_counts_twice() -> None:
    program = compiled("kiln", "kiln glaze", "glaze", "wash wash")
    assert outcomes(program) == [
        ("kiln", PRESENT),
        ("glaze", KEPT),
        ("glaze", DUPLICATE),
        ("wash", KEPT),
        ("wash", DUPLICATE),
    ]
    assert weights(program) == {"kiln": 1.0, "glaze": 0.5, "wash": 0.5}


def test_phrases_in_contents_are_an_option() -> None:
    program = compiled("query", "raku kiln", ngrams="atoms+phrases")
    assert TermClause("raku kiln", 0.5, "should", "raku kiln", 2) in program.clauses
    assert PhraseClause(("raku", "kiln"), 0.5, "should", "raku kiln", 2) in program.clauses


def test_single_words_alone_by_default() -> None:
    assert all(" " not in item.term for item in compiled("query", "raku kiln wash").verdicts)


@pytest.mark.parametrize(("documents", "bound"), [(0, 1), (1, 1), (3, 1), (19, 1), (20, 1), (40, 2), (60, 3)])
def test_the_bound_stays_usable_on_a_handful_of_documents(documents: int, bound: int) -> None:
    table = {"at": bound, "above": bound + 1}
    program = compile_sketch(Topic("q1", ""), sketch("at above"), TableStatistics(documents, table), CompileSettings())
    assert outcomes(program) == [("at", KEPT), ("above", COMMON)]


def test_weights_of_a_sketch() -> None:
    """G92: 0 adds nothing, and a weight multiplies lambda."""
    program = compiled("q", SketchPhrase("kiln", weight=0), SketchPhrase("glaze", weight=2), "wash")
    assert weights(program) == {"q": 1.0, "glaze": 1.0, "wash": 0.5}
    assert outcomes(program) == [("kiln", KEPT), ("glaze", KEPT), ("wash", KEPT)]


@pytest.mark.parametrize("weight", [-1, -1e-9, float("nan"), float("inf"), float("-inf")])
def test_weights_that_cannot_be_are_refused_by_name(weight: float) -> None:
    with pytest.raises(InputError, match="kiln"):
        SketchPhrase("kiln", weight=weight)
    with pytest.raises(InputError, match=r"sketch_weight"):
        CompileSettings(sketch_weight=weight)
    with pytest.raises(InputError, match="kiln"):
        TermClause("kiln", weight)


@pytest.mark.parametrize("ratio", [0, -0.1, 1.01, float("nan")])
def test_a_ratio_outside_its_range_is_refused(ratio: float) -> None:
    with pytest.raises(InputError, match="max_df_ratio"):
        CompileSettings(max_df_ratio=ratio)


def test_constraints() -> None:
    """Of a must phrase every word must be there, however common; a must_not phrase excludes as a whole."""
    program = compiled("q", SketchPhrase("clay kiln", "must"), SketchPhrase("raku clay", "must_not"))
    assert [(clause.label, clause.occur) for clause in program.clauses] == [
        ("q", "should"),
        ("clay", "must"),
        ("kiln", "must"),
        ('"raku clay"', "must_not"),
    ]


def test_a_required_word_that_no_document_holds_stays() -> None:
    """The constraint cannot be met: finding nothing is right, finding the rest would not be."""
    program = compiled("q", SketchPhrase("kiln absent", "must"))
    assert [(clause.label, clause.occur, clause.df) for clause in program.clauses[1:]] == [
        ("kiln", "must", 4),
        ("absent", "must", 0),
    ]
    assert outcomes(program) == [("kiln", KEPT), ("absent", UNSEEN)]


@pytest.mark.parametrize("first", ["should", "must"])
def test_a_constraint_is_not_lost_to_a_wish_for_the_same_word(first: str) -> None:
    phrases = [SketchPhrase("glaze"), SketchPhrase("glaze", "must")]
    program = compiled("q", *(phrases if first == "should" else reversed(phrases)))
    assert [(clause.label, clause.occur) for clause in program.clauses] == [("q", "should"), ("glaze", "must")]
    assert sorted(outcome for _, outcome in outcomes(program)) == [DUPLICATE, KEPT]


def test_a_required_word_of_the_query_counts_once() -> None:
    program = compiled("kiln kiln", SketchPhrase("kiln", "must"))
    assert [(clause.label, clause.occur, clause.weight) for clause in program.clauses] == [("kiln", "must", 2.0)]
    assert outcomes(program) == [("kiln", PRESENT)]


def test_an_excluded_word_may_stand_in_the_query() -> None:
    program = compiled("kiln", SketchPhrase("kiln", "must_not"))
    assert [clause.occur for clause in program.clauses] == ["should", "must_not"]


def test_a_word_without_weight_does_not_shadow_a_later_one() -> None:
    program = compiled("q", SketchPhrase("kiln", weight=0), SketchPhrase("kiln wash", weight=2))
    assert weights(program) == {"q": 1.0, "kiln": 1.0, "wash": 1.0}


def test_facets_are_atomic_and_checked() -> None:
    program = compiled("q", facets=("year:1927", "year:1928", " ", "year:1927"))
    assert program.clauses[-1] == FacetClause("year:1927", 0.5, "should", "year:1927", 3)
    assert outcomes(program) == [("year:1927", KEPT), ("year:1928", UNSEEN), ("", EMPTY), ("year:1927", DUPLICATE)]


def test_a_limit_keeps_the_heaviest_and_says_what_it_dropped() -> None:
    program = compiled("q", SketchPhrase("kiln", weight=0.1), "glaze", "wash", max_terms=2)
    assert weights(program) == {"q": 1.0, "glaze": 0.5, "wash": 0.5}
    assert ("kiln", QUOTA) in outcomes(program)


def test_a_limit_on_windows_of_several_words_leaves_the_words() -> None:
    phrases = ("raku kiln", SketchPhrase("clay kiln", weight=3), "raku clay")
    program = compiled("q", *phrases, ngrams="atoms", max_n=2, max_phrases=1)
    assert [term for term, outcome in outcomes(program) if outcome is QUOTA] == ["raku kiln"]
    assert weights(program) == {"q": 1.0, "kiln": 0.5, "clay kiln": 1.5}


def test_empty_phrases_and_empty_topics() -> None:
    program = compiled("", "", "   ")
    assert program.clauses == ()
    assert outcomes(program) == [("", EMPTY), ("", EMPTY)]


def test_a_sketch_of_another_topic_is_refused() -> None:
    with pytest.raises(InputError, match="q2"):
        compile_sketch(Topic("q1", "kiln"), Sketch("q2"), STATISTICS)


WORDS = st.lists(st.sampled_from(["kiln", "glaze", "raku", "clay", "wash", "x", "\U0001f61e"]), max_size=6).map(
    " ".join
)
PHRASES = st.builds(
    SketchPhrase,
    WORDS | st.text(max_size=20),
    st.sampled_from(["should", "must", "must_not"]),
    st.none() | st.floats(0, 1e30),
)


@settings(deadline=None)
@given(WORDS, st.lists(PHRASES, max_size=8), st.sampled_from(["off", "atoms", "atoms+phrases"]), st.floats(0, 1e30))
def test_total_deterministic_and_without_loss(
    query: str, phrases: list[SketchPhrase], ngrams: str, weight: float
) -> None:
    settings = CompileSettings(sketch_weight=weight, ngrams=ngrams)  # pyright: ignore[reportArgumentType]
    topic, proposed = Topic("q1", query), Sketch("q1", tuple(phrases))
    program = compile_sketch(topic, proposed, STATISTICS, settings)
    assert program == compile_sketch(topic, proposed, STATISTICS, settings)
    assert program_from_json(program_to_json(program)) == program
    assert {item.phrase for item in program.verdicts} == {phrase.text for phrase in phrases}
    own = [clause for clause in program.clauses if clause.source is None]
    assert {clause.label for clause in own} == set(query.lower().split())
    added = [clause for clause in program.clauses if clause.source is not None]
    scored = [clause.label for clause in program.clauses if clause.occur in ("should", "must")]
    assert len(set(scored)) == len(scored)
    assert all(clause.df is not None and (clause.df > 0 or clause.occur == "must") for clause in added)
    required = {word for phrase in phrases if phrase.role == "must" for word in phrase.text.lower().split()}
    assert {clause.label for clause in program.clauses if clause.occur == "must"} == required

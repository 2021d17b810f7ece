"""What df decides: each gate on the same sketch, with exact verdicts and weights."""

from __future__ import annotations

import itertools
import math

import pytest

from sira.compile import CompileSettings, TableStatistics, compile_sketch
from sira.compile.gates import DfGate, idf
from sira.errors import InputError
from sira.program import Program
from sira.records import Outcome, Sketch, SketchPhrase, Topic

# N = 100: the bound of tau = 0.05 is 5.
TABLE = {"kiln": 4, "clay": 90, "body": 40, "raku": 6, "clay body": 3, "raku clay": 7, "clay raku": 0}
STATISTICS = TableStatistics(100, TABLE)
KEPT, COMMON, UNSEEN, RARE = Outcome.KEPT, Outcome.TOO_COMMON, Outcome.UNSEEN, Outcome.TOO_RARE


def compiled(*phrases: str, **settings: object) -> Program:
    sketch = Sketch("q", tuple(map(SketchPhrase, phrases)))
    return compile_sketch(Topic("q", "query"), sketch, STATISTICS, CompileSettings(**settings))  # pyright: ignore[reportArgumentType]


def outcomes(program: Program) -> dict[str, Outcome]:
    return {item.term: item.outcome for item in program.verdicts}


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ("window", {"clay": COMMON, "body": COMMON, "raku": COMMON, "kiln": KEPT, "new": UNSEEN}),
        # `clay body` stands in 3 documents: the paper's code then lets all words of its phrase through
        ("any", {"clay": KEPT, "body": KEPT, "raku": COMMON, "kiln": KEPT, "new": UNSEEN}),
        ("phrase", {"clay": KEPT, "body": KEPT, "raku": COMMON, "kiln": KEPT, "new": UNSEEN}),
        ("auto", {"clay": COMMON, "body": COMMON, "raku": COMMON, "kiln": KEPT, "new": UNSEEN}),
        ("soft", {"clay": KEPT, "body": KEPT, "raku": KEPT, "kiln": KEPT, "new": UNSEEN}),
        ("off", {"clay": KEPT, "body": KEPT, "raku": KEPT, "kiln": KEPT, "new": UNSEEN}),
    ],
)
def test_each_gate_on_the_same_sketch(gate: str, expected: dict[str, Outcome]) -> None:
    assert outcomes(compiled("clay body", "raku", "kiln", "new", gate=gate)) == expected


def test_a_rare_window_saves_its_phrase_with_any_but_not_with_phrase() -> None:
    """`kiln` is rare, `clay kiln` unseen as a whole."""
    assert outcomes(compiled("clay kiln", gate="any")) == {"clay": KEPT, "kiln": KEPT}
    assert outcomes(compiled("clay kiln", gate="phrase")) == {"clay": UNSEEN, "kiln": UNSEEN}


@pytest.mark.parametrize("gate", ["auto", "window", "any", "phrase", "soft", "off"])
def test_a_phrase_of_no_term_is_empty_under_each_gate(gate: str) -> None:
    program = compiled(" ", "kiln", gate=gate)
    assert [item.outcome for item in program.verdicts] == [Outcome.EMPTY, KEPT]


def test_the_soft_gate_weighs_a_common_word_by_its_idf_over_that_of_the_bound() -> None:
    weights = {clause.label: clause.weight for clause in compiled("clay raku kiln", gate="soft").clauses}
    assert weights["kiln"] == 0.5
    assert weights["raku"] == pytest.approx(0.5 * (idf(6, 100) / idf(5, 100)) ** 3)
    assert weights["clay"] == pytest.approx(0.5 * (math.log(1 + 10.5 / 90.5) / math.log(1 + 95.5 / 5.5)) ** 3)
    mild = {clause.label: clause.weight for clause in compiled("raku", gate="soft", gate_power=1.0).clauses}
    assert mild["raku"] == pytest.approx(0.5 * idf(6, 100) / idf(5, 100))


def test_the_soft_gate_is_continuous_at_its_bound_and_never_rises() -> None:
    gate = DfGate.of(CompileSettings(gate="soft"), 1000)
    shares = [gate.share(df) for df in range(1, 1001)]
    assert shares[:50] == [1.0] * 50
    assert shares[50] > 0.98
    assert all(later <= earlier for earlier, later in itertools.pairwise(shares))
    assert 0 <= shares[-1] < 0.001


@pytest.mark.parametrize("documents", [1, 100, 299, 5_000, 5_183, 20_000, 1_000_000])
def test_the_default_gate_is_hard_in_tiny_collections_and_from_5000_documents_on(documents: int) -> None:
    gate, hard = (DfGate.of(CompileSettings(gate=mode), documents) for mode in ("auto", "window"))
    dfs = [1, 5, 6, 249, 250, 251, documents // 20, documents // 20 + 1, documents // 2, documents]
    assert [gate.judge(df) for df in dfs] == [hard.judge(df) for df in dfs]
    assert {gate.share(df) for df in dfs if gate.judge(df) is KEPT} == {1.0}


@pytest.mark.parametrize(("documents", "bound"), [(300, 15), (1_616, 80), (4_999, 249)])
def test_the_default_gate_is_soft_in_small_collections(documents: int, bound: int) -> None:
    gate, hard = (DfGate.of(CompileSettings(gate=mode), documents) for mode in ("auto", "window"))
    assert (gate.judge(bound), gate.judge(bound + 1), gate.judge(250), gate.judge(251)) == (KEPT, KEPT, KEPT, COMMON)
    assert hard.judge(bound + 1) is COMMON
    assert 1.0 == gate.share(bound) > gate.share(bound + 1) >= gate.share(250)


def test_the_default_gate_drops_in_a_small_collection_what_is_above_the_bound_of_a_larger_one() -> None:
    statistics = TableStatistics(1_616, {"kiln": 80, "clay": 81, "body": 250, "raku": 251})
    sketch = Sketch("q", (SketchPhrase("kiln clay body raku"),))
    program = compile_sketch(Topic("q", "query"), sketch, statistics)
    weights = {clause.label: clause.weight for clause in program.clauses}
    assert outcomes(program) == {"kiln": KEPT, "clay": KEPT, "body": KEPT, "raku": COMMON}
    assert weights["kiln"] == 0.5
    assert weights["clay"] == pytest.approx(0.5 * (idf(81, 1616) / idf(80, 1616)) ** 3)
    assert weights["body"] == pytest.approx(0.5 * (idf(250, 1616) / idf(80, 1616)) ** 3)
    lower = compile_sketch(Topic("q", "query"), sketch, statistics, CompileSettings(max_df_ratio=0.02))
    assert outcomes(lower) == {"kiln": KEPT, "clay": KEPT, "body": COMMON, "raku": COMMON}


def test_a_bound_in_documents_is_as_hard_as_it_says() -> None:
    assert outcomes(compiled("clay raku kiln", max_df=6)) == {"clay": COMMON, "raku": KEPT, "kiln": KEPT}


def test_bounds_in_documents_and_a_lower_bound() -> None:
    assert outcomes(compiled("raku", "kiln", max_df=6)) == {"raku": KEPT, "kiln": KEPT}
    assert outcomes(compiled("raku", "kiln", min_df=5, max_df=6)) == {"raku": KEPT, "kiln": RARE}


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"gate": "hard"}, "gate = 'hard'"), ({"weights": "tfidf"}, "weights = 'tfidf'"), ({"min_df": 0}, "min_df = 0"),
     ({"gate_power": 0.0}, "gate_power = 0"), ({"gate_power": float("nan")}, "gate_power = nan"),
     ({"min_df": 3, "max_df": 2}, "max_df = 2"), ({"small_collection": -1}, "small_collection = -1")],
)  # fmt: skip
def test_settings_that_cannot_be(settings: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        CompileSettings(**settings)  # pyright: ignore[reportArgumentType]

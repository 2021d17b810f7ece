"""Weightings beside lambda: exact factors, shown in the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sira.compile import CompileSettings, TableStatistics, compile_sketch
from sira.compile.gates import idf
from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import Program
from sira.records import Document, Sketch, SketchPhrase, Topic

TABLE = {"kiln": 4, "glaze": 5, "wash": 1}


def weights(program: Program) -> dict[str, float]:
    return {clause.label: clause.weight for clause in program.clauses if clause.source is not None}


def compiled(*phrases: SketchPhrase, samples: int = 1, **settings: object) -> dict[str, float]:
    chosen = CompileSettings(**settings)  # pyright: ignore[reportArgumentType]
    sketch = Sketch("q", phrases, samples=samples)
    return weights(compile_sketch(Topic("q", "query"), sketch, TableStatistics(100, TABLE), chosen))


PHRASES = (SketchPhrase("kiln"), SketchPhrase("glaze"), SketchPhrase("wash", weight=2.0))


def test_uniform_by_default() -> None:
    assert compiled(*PHRASES) == {"kiln": 0.5, "glaze": 0.5, "wash": 1.0}


def test_by_rank_of_the_phrase() -> None:
    expected = {"kiln": 0.5, "glaze": 0.5 / 1.584962500721156, "wash": 0.5}  # over log2 of 2, 3 and 4
    assert compiled(*PHRASES, weights="rank") == pytest.approx(expected)


def test_by_idf_over_that_of_one_document() -> None:
    found = compiled(*PHRASES, weights="idf")
    assert found["wash"] == 1.0
    assert found["kiln"] == pytest.approx(0.5 * idf(4, 100) / idf(1, 100))


def test_by_agreement_of_the_samples() -> None:
    phrases = (
        SketchPhrase("kiln", sample=0), SketchPhrase("glaze", sample=0),
        SketchPhrase("kiln", sample=1), SketchPhrase("kiln wash", sample=2),
    )  # fmt: skip
    assert compiled(*phrases, samples=4, weights="agreement") == {"kiln": 0.375, "glaze": 0.125, "wash": 0.125}


def test_more_samples_than_a_sketch_says_agree_wholly() -> None:
    phrases = [SketchPhrase("kiln", weight=1e308, sample=number) for number in range(3)]
    assert compiled(*phrases, samples=1, weights="agreement", sketch_weight=1e-308) == {"kiln": pytest.approx(1.0)}


@dataclass(frozen=True)
class Separating(TableStatistics):
    """Statistics that know postings."""

    def separation(self, plain: Program, terms: Sequence[str]) -> list[float]:
        assert [clause.label for clause in plain.clauses] == ["query"]
        return [{"kiln": 1.0, "glaze": 0.25}.get(term, 0.0) for term in terms]


def test_by_margin_and_a_term_that_separates_nothing_has_no_clause() -> None:
    sketch = Sketch("q", PHRASES)
    settings = CompileSettings(weights="margin")
    program = compile_sketch(Topic("q", "query"), sketch, Separating(100, TABLE), settings)
    assert weights(program) == {"kiln": 0.5, "glaze": 0.125}


def test_margin_without_postings_is_refused() -> None:
    with pytest.raises(InputError, match="an open index has"):
        compiled(*PHRASES, weights="margin")


@pytest.mark.java
def test_separation_read_from_a_real_index(make_index: Callable[..., Path]) -> None:
    """10 first hits hold `good` and `both`; of the 20 behind them all hold `both` and 5 hold `late`."""
    documents = [Document(f"a{n}", "query query query good both") for n in range(10)]
    documents += [Document(f"b{n}", "query both filler filler" + (" late" if n < 5 else "")) for n in range(20)]
    with Index(make_index(documents)) as index:
        plain = compile_sketch(Topic("q", "query"), None, index)
        assert index.separation(plain, ["good", "both", "late", "absent"]) == [1.0, 0.0, 0.0, 0.0]
        assert index.separation(plain, ["both", "absent"]) == [1.0, 1.0]  # nothing separates

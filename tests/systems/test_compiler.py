"""What of a sketch is dropped, by the files that a user names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sira.categories.build import build_graph
from sira.compile import CompileSettings, TableStatistics
from sira.errors import InputError
from sira.records import Outcome, Sketch, SketchPhrase, Topic
from sira.systems import Compiler, compiler_of
from tests.categories.wiki import WIKI, sql_dumps

STATISTICS = TableStatistics(100, {"kiln": 3, "raku": 4}, {"category:Physics": 5, "category:Fysics": 5})
SKETCH = Sketch(
    "q",
    (SketchPhrase("raku"), SketchPhrase("Newton")),
    ("category:Fysics", "category:physics"),
    searches=(Sketch("q", (SketchPhrase("kiln"),), ("category:Fysics",)),),
)


def outcomes(compiler: Compiler, topic: str = "kiln") -> list[dict[str, Outcome]]:
    programs = compiler.searches(Topic("q", topic), SKETCH, STATISTICS)
    assert programs[0] == compiler.program(Topic("q", topic), SKETCH, STATISTICS)
    return [{verdict.phrase: verdict.outcome for verdict in program.verdicts} for program in programs]


def test_facets_are_checked_by_a_category_graph_in_every_search(tmp_path: Path) -> None:
    build_graph(sql_dumps(WIKI, tmp_path), tmp_path / "graph")
    first, second = outcomes(compiler_of(CompileSettings(gate="off"), categories=tmp_path / "graph"))
    assert first["category:Fysics"] is second["category:Fysics"] is Outcome.INVALID
    assert first["category:physics"] is Outcome.KEPT  # as the graph spells it
    unchecked = outcomes(compiler_of(CompileSettings(gate="off")))[0]
    assert (unchecked["category:Fysics"], unchecked["category:physics"]) == (Outcome.KEPT, Outcome.UNSEEN)


def test_a_policy_and_guesses(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('[class.none]\nabout = "no raku"\nwords = ["raku"]\n', encoding="utf-8")
    policy = str(tmp_path / "policy.toml")
    assert outcomes(compiler_of(CompileSettings(), policy))[0]["raku"] is Outcome.FORBIDDEN
    assert outcomes(compiler_of(CompileSettings(), drop_guesses=True))[0]["Newton"] is Outcome.ANSWER_GUESS
    assert outcomes(compiler_of(CompileSettings(), "default"))[0]["raku"] is Outcome.KEPT
    with pytest.raises(InputError, match="there is no such file"):
        compiler_of(CompileSettings(), str(tmp_path / "nowhere.toml"))


def test_without_a_sketch_or_searches_there_is_one_program() -> None:
    topic = Topic("q", "kiln raku")
    assert Compiler().searches(topic, None, STATISTICS) == (Compiler().program(topic, None, STATISTICS),)
    assert len(Compiler().searches(topic, Sketch("q", (SketchPhrase("raku"),)), STATISTICS)) == 1

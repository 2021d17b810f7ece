"""The table of systems."""

from __future__ import annotations

import pytest

from sira.compile import CompileSettings, TableStatistics
from sira.errors import InputError
from sira.records import Sketch, SketchPhrase, Topic
from sira.systems import KINDS, SystemOptions, make_system
from sira.systems.sira import shuffled

STATISTICS = TableStatistics(100, {"kiln": 3, "raku": 4})
SKETCHES = {qid: Sketch(qid, (SketchPhrase(f"phrase {qid}"),)) for qid in ("1", "2", "3", "4")}


def test_bm25_is_the_query_alone() -> None:
    system = make_system("bm25", SystemOptions(CompileSettings()))
    assert [clause.label for clause in system.program(Topic("1", "kiln raku kiln"), STATISTICS).clauses] == [
        "kiln",
        "raku",
    ]
    assert system.llm_calls == 0


def test_sira_adds_the_sketch_of_its_topic() -> None:
    sketches = {"1": Sketch("1", (SketchPhrase("raku"),))}
    system = make_system("sira", SystemOptions(CompileSettings(), sketches))
    assert [clause.label for clause in system.program(Topic("1", "kiln"), STATISTICS).clauses] == ["kiln", "raku"]
    assert [clause.label for clause in system.program(Topic("2", "kiln"), STATISTICS).clauses] == ["kiln"]
    assert system.llm_calls == 1


def test_the_control_gives_every_topic_the_sketch_of_another() -> None:
    mixed = shuffled(SKETCHES)
    assert mixed.keys() == SKETCHES.keys()
    assert all(sketch.qid == qid and sketch.phrases != SKETCHES[qid].phrases for qid, sketch in mixed.items())
    assert mixed == shuffled(SKETCHES)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match=", ".join(KINDS)):
        make_system("oracle", SystemOptions(CompileSettings()))
    with pytest.raises(InputError, match="takes no sketches"):
        make_system("bm25", SystemOptions(CompileSettings(), SKETCHES))
    with pytest.raises(InputError, match="needs sketches"):
        make_system("sira", SystemOptions(CompileSettings()))

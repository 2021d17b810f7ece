"""The table of systems, and what each kind answers on a real index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sira.compile import CompileSettings
from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import program_from_json, program_to_json
from sira.records import Document, Ranking, Run, Sketch, SketchPhrase, Topic
from sira.search.relax import RelaxSettings
from sira.search.routing import Thresholds
from sira.search.several import Budget
from sira.systems import Answer, Compiler, SearchSettings, Sira
from sira.systems.sira import shuffled
from sira.systems.table import KINDS, SystemOptions, make_system
from tests.conftest import MakeIndex

pytestmark = pytest.mark.java

SKETCHES = {qid: Sketch(qid, (SketchPhrase(f"phrase {qid}"),)) for qid in ("1", "2", "3", "4")}
ANY_DF = Compiler(CompileSettings(gate="off"))
TEXTS = ("raku kiln", "raku glaze", "kiln glaze", "celadon kiln", "slip casting", "clay body")


@pytest.fixture(scope="module")
def index(make_index: MakeIndex) -> Iterator[Index]:
    filler = [Document(f"f{n:02}", "kiln shelf") for n in range(20)]
    with Index(make_index([*(Document(f"d{n}", text) for n, text in enumerate(TEXTS, 1)), *filler])) as opened:
        yield opened


def labels(answer: Answer) -> list[list[str]]:
    return [[clause.label for clause in program.clauses] for program in answer.programs]


def sketch(*phrases: str, qid: str = "q", searches: tuple[str, ...] = (), role: Any = "should") -> Sketch:
    further = tuple(Sketch(qid, (SketchPhrase(text),)) for text in searches)
    return Sketch(qid, tuple(SketchPhrase(text, role) for text in phrases), searches=further)


def replayed(answer: Answer, index: Index, k: int) -> Ranking:
    """The ranking of the last program of an answer, after a way through JSON."""
    return index.search(program_from_json(program_to_json(answer.programs[-1])), k)


def test_bm25_is_the_query_alone(index: Index) -> None:
    answer = make_system("bm25", SystemOptions()).answer(Topic("1", "kiln raku kiln"), index, 3)
    assert labels(answer) == [["kiln", "raku"]]
    assert (len(answer.ranking), answer.llm_calls, answer.searches, answer.note) == (3, 0, 1, {})
    assert answer.ranking == replayed(answer, index, 3)
    assert answer.compile_ms > 0 < answer.search_ms


def test_sira_adds_the_sketch_of_its_topic(index: Index) -> None:
    sketches = {"1": Sketch("1", (SketchPhrase("raku"),), samples=3)}
    system = make_system("sira", SystemOptions(ANY_DF, sketches=sketches))
    with_sketch, without = system.answer(Topic("1", "kiln"), index, 5), system.answer(Topic("2", "kiln"), index, 5)
    assert (labels(with_sketch), with_sketch.llm_calls) == ([["kiln", "raku"]], 3)
    assert (labels(without), without.llm_calls) == ([["kiln"]], 0)


def test_the_control_gives_every_topic_the_sketch_of_another() -> None:
    mixed = shuffled(SKETCHES)
    assert mixed.keys() == SKETCHES.keys()
    assert all(sketch.qid == qid and sketch.phrases != SKETCHES[qid].phrases for qid, sketch in mixed.items())
    assert mixed == shuffled(SKETCHES)


def test_several_searches_are_fused_within_their_budget_and_each_is_told(index: Index) -> None:
    settings = SearchSettings("several", budget=Budget(max_pages=4))
    system = Sira({"q": sketch("raku", searches=("slip", "clay"))}, ANY_DF, settings)
    answer = system.answer(Topic("q", "celadon"), index, 100)
    assert labels(answer) == [["celadon", "raku"], ["celadon", "slip"], ["celadon", "clai"]]
    told = answer.note["several"]
    assert [search["new"] for search in told["searches"]] == [3, 1, 1]
    assert (told["unique"], told["pages"], len(answer.ranking), answer.searches) == (5, 4, 4, 3)
    assert answer.llm_calls == 1
    assert system.answer(Topic("q", "celadon"), index, 2).ranking == answer.ranking.top(2)


def test_a_head_query_goes_to_plain_bm25_and_costs_no_call(index: Index) -> None:
    thresholds = Thresholds(score_depth=2)
    system = Sira({"q": sketch("slip")}, ANY_DF, SearchSettings("auto", thresholds))
    head = system.answer(Topic("q", "celadon kiln"), index, 5)
    assert (labels(head), head.llm_calls, head.searches) == ([["celadon", "kiln"]], 0, 1)
    assert (head.note["route"]["action"], head.note["route"]["fallback"]) == ("plain", False)
    other = system.answer(Topic("q", "kiln shelf"), index, 5)
    assert (labels(other), other.llm_calls, other.searches) == ([["kiln", "shelf", "slip"]], 1, 2)
    assert other.note["route"]["action"] == "compiled"
    assert (system.decide(Topic("q", "celadon kiln"), index)[0].action) == "plain"


def test_the_document_that_is_the_topic_teaches_nothing_where_it_is_no_hit(index: Index) -> None:
    for own, learned in ((True, {"cast"}), (False, set[str]())):
        for kind in ("rm3", "rocchio"):
            found = make_system(kind, SystemOptions(own=own)).answer(Topic("d5", "slip"), index, 5)
            assert set(*labels(found)) - {"slip"} == learned
    settings = SearchSettings("auto", Thresholds(score_depth=2))
    ways = [Sira({}, ANY_DF, settings, own=own).decide(Topic("d4", "celadon kiln"), index)[0] for own in (True, False)]
    assert [way.action for way in ways] == ["plain", "compiled"]


def test_a_long_question_goes_to_several_and_low_confidence_to_the_fallback(index: Index) -> None:
    sketches = {"q": sketch("slip", searches=("clay",))}
    several = Sira(sketches, ANY_DF, SearchSettings("auto", Thresholds(head_words=2, several_words=3, clear_ratio=99)))
    answer = several.answer(Topic("q", "raku kiln glaze"), index, 5)
    assert (answer.note["route"]["action"], len(answer.programs), answer.searches) == ("several", 2, 3)
    doubt = several.answer(Topic("q", "unheard words"), index, 5)
    assert (doubt.note["route"]["action"], doubt.note["route"]["fallback"]) == ("compiled", True)
    assert doubt.ranking.docids == ("d5",)


def test_a_program_that_finds_nothing_is_loosened_only_where_that_is_asked_for(index: Index) -> None:
    sketches = {"q": sketch("porcelain", role="must")}
    as_it_is = Sira(sketches, ANY_DF).answer(Topic("q", "celadon"), index, 5)
    assert (len(as_it_is.ranking), as_it_is.note) == (0, {})
    answer = Sira(sketches, ANY_DF, SearchSettings(relax=RelaxSettings())).answer(Topic("q", "celadon"), index, 5)
    assert answer.compile_ms > 0 < answer.search_ms
    (step,) = answer.note["relax"]["steps"]
    assert (step["clauses"], step["became"], step["hits"]) == (["porcelain"], "should", 1)
    assert answer.ranking.docids == ("d4",)
    assert answer.ranking == replayed(answer, index, 5)
    assert answer.searches == 2


def test_relaxation_leaves_an_answer_that_has_hits_as_it_is(index: Index) -> None:
    loose = Sira({}, ANY_DF, SearchSettings(relax=RelaxSettings())).answer(Topic("q", "kiln"), index, 5)
    strict = Sira({}, ANY_DF).answer(Topic("q", "kiln"), index, 5)
    assert (loose.ranking, loose.programs, loose.note) == (strict.ranking, strict.programs, {})


def test_of_several_searches_that_find_nothing_the_first_is_loosened(index: Index) -> None:
    must = Sketch("q", (SketchPhrase("porcelain", "must"),), searches=(sketch("unheard", role="must"),))
    settings = SearchSettings("several", relax=RelaxSettings())
    answer = Sira({"q": must}, ANY_DF, settings).answer(Topic("q", "celadon"), index, 5)
    assert answer.ranking.docids == ("d4",)
    assert [search["hits"] for search in answer.note["several"]["searches"]] == [0, 0]
    assert (answer.note["relax"]["hits"], answer.ranking) == (1, replayed(answer, index, 5))


def test_a_recorded_run_answers_with_its_rankings_and_says_what_it_lacks(index: Index) -> None:
    run = Run("dense", {"1": Ranking(("d2", "d1"), (2.0, 1.0))})
    system = make_system("run", SystemOptions(run=run))
    found, absent = system.answer(Topic("1", "x"), index, 1), system.answer(Topic("2", "x"), index, 1)
    assert (found.ranking.docids, found.note, found.searches, found.programs) == (("d2",), {}, 0, ())
    assert (len(absent.ranking), absent.note) == (0, {"run": {"missing": True}})


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match=", ".join(KINDS)):
        make_system("oracle", SystemOptions())
    with pytest.raises(InputError, match="takes no sketches"):
        make_system("bm25", SystemOptions(sketches=SKETCHES))
    with pytest.raises(InputError, match="needs sketches"):
        make_system("sira", SystemOptions())
    with pytest.raises(InputError, match="needs its run"):
        make_system("run", SystemOptions())
    with pytest.raises(InputError, match="there is no agent here"):
        SearchSettings("auto", Thresholds(fallback="agent"))
    with pytest.raises(InputError, match="mode = 'both'"):
        SearchSettings("both")  # pyright: ignore[reportArgumentType]


def test_routing_to_several_without_further_searches_is_one_search_as_deep_as_asked(index: Index) -> None:
    settings = SearchSettings("auto", Thresholds(head_words=2, several_words=3, clear_ratio=99), Budget(max_pages=1))
    answer = Sira({"q": sketch("slip")}, ANY_DF, settings).answer(Topic("q", "raku kiln glaze"), index, 5)
    assert answer.note["route"]["action"] == "several"
    assert "several" not in answer.note
    assert (len(answer.programs), len(answer.ranking) > 1) == (1, True)

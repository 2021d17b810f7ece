"""A whole search explained, on real indexes: sums, moves, what was lost, missed and dropped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sira.compile import CompileSettings, compile_sketch
from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import (
    AnyOfClause,
    FacetClause,
    PhraseClause,
    Program,
    Scoring,
    TermClause,
    program_from_json,
)
from sira.programtext import bind, parse_query
from sira.records import Document, Outcome, Sketch, SketchPhrase, SketchRange, Topic
from sira.search import explain, explain_search
from sira.search.explanation import plain
from sira.search.explanation.passages import PASSAGE_CHARACTERS, Marker
from sira.search.explanation.probing import Standings

pytestmark = pytest.mark.java

DOCUMENTS = [
    Document("d1", "A coating for kiln shelves. It keeps glaze from sticking.", "Kiln wash", ("craft:pottery",)),
    Document("d2", "Low fired ware, taken from the kiln while hot.", "Raku", ("craft:pottery",), values={"year": 1990}),
    Document("d3", "Celadon is a pale green glaze.", values={"year": 2010}),
    Document("d4", "Liquid clay for casting.", "Slip"),
    Document("d5", "Pots and more pots in a kiln, then pots again and stop.", "Pots"),
    *(Document(f"x{n}", f"filler about wood and ware number{n}") for n in range(15)),
]
EXPANSIONS = {"d1": (["releas", "agent", "pot"], ["releas agent"]), "d3": (["jade"], [])}
TOPIC = Topic("t1", "stop pots sticking in the kiln")
SKETCH = Sketch(
    "t1",
    (
        SketchPhrase("release agent"),
        SketchPhrase("ware"),
        SketchPhrase("shelves", weight=2),
        SketchPhrase("raku", weight=5),
        SketchPhrase("celadon", "must_not"),
    ),
    ("craft:pottery",),
)


@pytest.fixture(scope="module")
def index(make_index: Callable[..., Path]) -> Iterator[Index]:
    with Index(make_index(DOCUMENTS, EXPANSIONS, value_fields={"year": "integer"})) as opened:
        yield opened


PROGRAMS = {
    "compiled": lambda index: compile_sketch(TOPIC, SKETCH, index, CompileSettings(max_df_ratio=0.5)),
    "atoms": lambda index: compile_sketch(
        TOPIC, SKETCH, index, CompileSettings(max_df_ratio=0.5, ngrams="atoms+phrases")
    ),
    "sum": lambda index: compile_sketch(
        TOPIC, SKETCH, index, CompileSettings(max_df_ratio=0.5, scoring=Scoring("sum", k1=1.5, expansion_weight=0.3))
    ),
    "written": lambda index: bind(
        parse_query('+kiln "kiln shelves"^2 (glaze | ware) ?year:[1980 TO 2000]^0.5 craft:pottery -celadon'), index
    ),
    "written sum": lambda index: bind(
        parse_query("+kiln^2 +(glaze | ware) (pot releas)^0.5"), index, Scoring("sum", expansion_weight=2)
    ),
    "filters": lambda index: Program(
        "f", (FacetClause("craft:pottery", occur="filter"), TermClause("kiln"), TermClause("pot", 0.0))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_parts_of_each_hit_sum_to_the_score_of_the_search(index: Index, name: str) -> None:
    program = PROGRAMS[name](index)
    found = explain_search(index, program, 5)
    ranking = index.search(program, 5)
    assert [(hit.docid, hit.score, hit.rank) for hit in found.hits] == [tuple(hit) for hit in ranking]
    assert found.hits
    for hit in found.hits:
        assert sum(part.score for part in hit.parts) == pytest.approx(hit.score, rel=1e-6)
        one = explain(index, program, hit.docid)
        assert hit.plain == (one.plain_rank, one.plain_score)
        assert [found.program.clauses[part.clause].label for part in hit.parts] == [
            clause.label for clause, _ in one.contributions
        ]


def test_parts_say_where_the_document_holds_them(index: Index) -> None:
    program = PROGRAMS["compiled"](index)
    (hit,) = [hit for hit in explain_search(index, program, 5).hits if hit.docid == "d1"]
    held = {program.clauses[part.clause].label: part.held for part in hit.parts}
    assert held == {
        "pot": "expansion",
        "stick": "contents",
        "kiln": "contents",
        "releas": "expansion",
        "agent": "expansion",
        "shelv": "contents",
        "craft:pottery": "facet",
    }


def test_moves_against_plain_bm25(index: Index) -> None:
    found = explain_search(index, PROGRAMS["compiled"](index), 2)
    moves = {hit.docid: (hit.rank, hit.move, hit.plain.rank) for hit in found.hits}
    assert moves == {"d1": (1, "up", 2), "d2": (2, "new", 3)}
    assert [(item.docid, item.plain.rank, item.standing.rank) for item in found.lost] == [("d5", 1, 3)]
    assert found.lost[0].title == "Pots"
    down = explain_search(index, PROGRAMS["compiled"](index), 5)
    assert {hit.docid: hit.move for hit in down.hits}["d5"] == "down"
    assert down.lost == ()


def test_a_search_without_a_sketch_moves_nothing(index: Index) -> None:
    program = Program("q", tuple(TermClause(term) for term in ("glaze", "kiln")), Scoring(expansion_weight=0))
    assert {hit.move for hit in explain_search(index, program, 3).hits} == {"same"}


def test_missed_documents_say_what_they_have_and_lack(index: Index) -> None:
    program = PROGRAMS["compiled"](index)
    found = explain_search(index, program, 1, grades={"d1": 1, "d2": 2, "d3": 1, "d4": 0, "d9": 1})
    assert [item.docid for item in found.missed] == ["d2", "d3", "d9"]
    second, kept_out, absent = found.missed
    assert second.standing == (2, index.search(program, 3).scores[1])
    assert second.gap == pytest.approx(found.hits[0].score - second.score)
    assert sum(part.score for part in second.parts) == pytest.approx(second.score, rel=1e-6)
    # by weight x idf: weight 1 and df 1 or 2, then weight 0.5; the earlier of equals first
    lacks = [program.clauses[place].label for place in second.lacks]
    assert lacks == ["stop", "stick", "shelv", "pot", "releas", "agent"]
    assert kept_out.standing.rank is None
    assert [program.clauses[place].label for place in kept_out.kept_out_by] == ["celadon"]
    assert not absent.found
    assert found.hits[0].grade == 1


def test_what_a_document_would_score_without_its_obstacle(index: Index) -> None:
    program = bind(parse_query("glaze +kiln #craft:pottery"), index)
    (item,) = explain_search(index, program, 10, missed=["d3"]).missed
    assert [program.clauses[place].label for place in item.kept_out_by] == ["kiln", "craft:pottery"]
    assert item.score == pytest.approx(index.search(Program("", program.clauses[:1]), 1).scores[0])


def test_what_the_gate_cost_a_missed_document(index: Index) -> None:
    program = compile_sketch(TOPIC, SKETCH, index, CompileSettings(gate="window", max_df=2))
    ware = next(verdict for verdict in program.verdicts if verdict.term == "ware")
    assert ware.outcome is Outcome.TOO_COMMON
    (item,) = explain_search(index, program, 3, missed=["x3"]).missed
    (window,) = item.dropped
    assert (window.verdict, window.held) == (ware, ("ware",))
    alone = Program("", (TermClause("ware", 0.5),))
    assert window.score == pytest.approx(dict(zip(*_pairs(index, alone), strict=True))["x3"], rel=1e-6)
    assert explain_search(index, program, 3, missed=["d4"]).missed[0].dropped == ()


def _pairs(index: Index, program: Program) -> tuple[tuple[str, ...], tuple[float, ...]]:
    ranking = index.search(program, 100)
    return ranking.docids, ranking.scores


def test_a_phrase_refused_whole_is_held_by_its_words(index: Index) -> None:
    from sira.compile import Safety

    sketch = Sketch("t1", (SketchPhrase("Celadon Wood"),))
    program = compile_sketch(TOPIC, sketch, index, safety=Safety(answer_guesses=True))
    assert [verdict.outcome for verdict in program.verdicts] == [Outcome.ANSWER_GUESS]
    (item,) = explain_search(index, program, 3, missed=["d3"]).missed
    assert [window.held for window in item.dropped] == [("celadon",)]


def test_facets_and_ranges_over_a_quota_are_held_too(index: Index) -> None:
    sketch = Sketch("t1", (), ("craft:pottery",), ranges=(SketchRange("year", 1980, 2000, "should"),))
    program = compile_sketch(TOPIC, sketch, index, CompileSettings(max_facets=0, max_ranges=0))
    assert [verdict.outcome for verdict in program.verdicts] == [Outcome.OVER_QUOTA] * 2
    (item,) = explain_search(index, program, 1, sketch=sketch, missed=["d2"]).missed
    assert {(window.verdict.phrase, window.held) for window in item.dropped} == {
        (label, (label,)) for label in ("craft:pottery", "year:[1980 TO 2000]")
    }
    assert [window.score for window in item.dropped if window.verdict.phrase.startswith("year")] == [1.0]


def test_a_phrase_that_is_refused_and_has_no_term_is_held_by_no_document(index: Index) -> None:
    from sira.compile import Safety

    program = compile_sketch(TOPIC, Sketch("t1", (SketchPhrase("This"),)), index, safety=Safety(answer_guesses=True))
    assert [(verdict.outcome, verdict.term) for verdict in program.verdicts] == [(Outcome.ANSWER_GUESS, "")]
    (item,) = explain_search(index, program, 3, missed=["d3"]).missed
    assert item.dropped == ()


def test_relevant_documents_beyond_the_bound_are_counted(index: Index) -> None:
    grades = {f"x{n}": 1 for n in range(15)}
    found = explain_search(index, PROGRAMS["written"](index), 3, grades=grades, missed=["x9"], max_missed=4)
    assert [item.docid for item in found.missed] == ["x9", "x0", "x1", "x10", "x11"]
    assert found.more_missed == 10


@pytest.mark.parametrize("depth", [1, 2, 100])
def test_ranks_below_the_first_search_are_those_of_a_deeper_one(index: Index, depth: int) -> None:
    program = PROGRAMS["written"](index)
    standings = Standings(index, program, depth)
    deep = {hit.docid: (hit.rank, hit.score) for hit in index.search(program, 100)}
    assert len(deep) > 1
    for document in DOCUMENTS:
        assert standings.of(document.docid) == deep.get(document.docid, (None, 0.0))


def test_documents_are_explained_without_a_pass_for_each(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS["compiled"](index)
    asked: list[Program] = []
    search, one = Index.search, Index.explain

    def counted_search(self: Index, program: Program, k: int = 1000) -> object:
        asked.append(program)
        return search(self, program, k)

    def no_ranking(self: Index, program: Program, docid: str) -> object:
        assert program.clauses[-1].occur == "filter"  # which no document passes
        found = one(self, program, docid)
        assert found.rank is None
        return found

    monkeypatch.setattr(Index, "search", counted_search)
    monkeypatch.setattr(Index, "explain", no_ranking)
    found = explain_search(index, program, 3, missed=[f"x{n}" for n in range(15)])
    assert len(found.missed) == 15
    assert len(asked) == 2


def test_plain_bm25_is_the_querys_own_words_alone() -> None:
    program = Program(
        "q",
        (
            TermClause("kiln", 2, "must"),
            TermClause("raku", occur="must_not"),
            FacetClause("a:b", occur="filter"),
            TermClause("wash", 0.5, source="kiln wash"),
        ),
        Scoring(k1=1.5, contents_weight=0.5, expansion_weight=2),
    )
    assert plain(program) == Program("q", (TermClause("kiln", 2),), Scoring(k1=1.5, expansion_weight=0))


def test_k_counts_from_1(index: Index) -> None:
    with pytest.raises(InputError, match="k = 0"):
        explain_search(index, PROGRAMS["written"](index), 0)


def test_nothing_found_explains_the_emptiness(index: Index) -> None:
    found = explain_search(index, Program("q", (TermClause("porcelain", occur="must", df=0),)), missed=["d1"])
    assert found.hits == ()
    (item,) = found.missed
    assert (item.gap, item.kept_out_by, item.parts) == (None, (0,), ())
    assert explain_search(index, Program("q")).hits == ()


def test_json_holds_all_of_it_and_its_program_runs(index: Index) -> None:
    program = PROGRAMS["compiled"](index)
    found = explain_search(index, program, 2, sketch=SKETCH, grades={"d3": 1}, missed=["d9", "d4"])
    data = json.loads(json.dumps(found.to_json()))
    assert program_from_json(data["program"]) == program
    assert [hit["docid"] for hit in data["hits"]] == ["d1", "d2"]
    first = data["hits"][0]
    assert sum(part["score"] for part in first["contributions"]) == pytest.approx(first["score"], rel=1e-6)
    assert first["plain_bm25"]["rank"] == 2
    assert data["lost"][0]["docid"] == "d5"
    assert [(item["docid"], item["found"]) for item in data["missed"]] == [("d9", False), ("d4", True), ("d3", True)]
    assert data["missed"][2]["kept_out_by"] == [
        {"place": 8, "clause": "celadon", "occur": "must_not", "weight": 0.5, "df": 1}
    ]
    assert data["sketch"]["facets"] == ["craft:pottery"]


def test_words_are_marked_by_the_indexs_own_analysis(index: Index) -> None:
    program = PROGRAMS["compiled"](index)
    (hit,) = [hit for hit in explain_search(index, program, 2).hits if hit.docid == "d1"]
    assert [piece.text for piece in hit.title if piece.clauses] == ["Kiln"]
    (passage,) = hit.passages
    marked = {
        piece.text: [program.clauses[place].label for place in piece.clauses] for piece in passage if piece.clauses
    }
    assert marked == {"kiln": ["kiln"], "shelves": ["shelv"], "sticking": ["stick"]}
    assert "".join(piece.text for piece in passage) == "A coating for kiln shelves. It keeps glaze from sticking."


def test_long_texts_are_cut_around_the_heaviest_words(make_index: Callable[..., Path]) -> None:
    filler = "wood and more wood " * 400
    text = f"{filler}the raku\n\tkiln {filler}a celadon {filler}"
    with Index(make_index([Document("d1", text, "title " * 200), Document("d2", "kiln")])) as index:
        program = Program("q", (TermClause("kiln"), TermClause("raku", 3), TermClause("celadon")))
        (hit,) = [hit for hit in explain_search(index, program).hits if hit.docid == "d1"]
    passages = hit.passages
    assert "".join(piece.text for piece in hit.title).endswith("title …")
    assert len(passages) == 2
    for passage in passages:
        shown = "".join(piece.text for piece in passage)
        assert shown.startswith("… ")
        assert shown.endswith(" …")
        assert len(shown) <= PASSAGE_CHARACTERS + 4
        assert all(
            word in ("…", "wood", "and", "more", "the", "a", "raku", "kiln", "celadon") for word in shown.split()
        )
    assert "the raku kiln wood" in "".join(piece.text for piece in passages[0])
    assert [piece.text for passage in passages for piece in passage if piece.clauses] == ["raku", "kiln", "celadon"]


def test_a_phrase_is_marked_where_its_words_stand_together(index: Index) -> None:
    clauses = (PhraseClause(("heart", "attack")), AnyOfClause(("raku", "kiln")), TermClause("glaze", occur="must_not"))
    marker = Marker(clauses, index.analyze)
    text = "An attack. Heart attacks, and heart-attack; an attack of the heart on raku glaze."
    marker.learn([text])
    assert [(text[mark.start : mark.end], mark.clauses) for mark in marker.marks(text)] == [
        ("Heart", (0,)),
        ("attacks", (0,)),
        ("heart", (0,)),
        ("attack", (0,)),
        ("raku", (1,)),
    ]


@pytest.mark.parametrize(("closed", "marked"), [(True, ["bank", "America"]), (False, [])])
def test_a_stop_word_parts_a_phrase_where_the_index_keeps_its_place(
    index: Index, closed: bool, marked: list[str]
) -> None:
    marker = Marker((PhraseClause(("bank", "america")),), index.analyze, closed=closed)
    text = "The bank of America"
    marker.learn([text])
    assert [text[mark.start : mark.end] for mark in marker.marks(text)] == marked


@pytest.mark.parametrize(
    ("analyzer", "text", "query", "marked"),
    [
        ("cjk", "窯で焼いた釉薬の色", "釉薬", ["釉薬"]),
        ("cjk", "窯で焼いた釉薬の色", "焼いた", ["焼いた"]),
        ("japanese", "東京で釉薬を買う", "東京", ["東京"]),
        ("german", "Die Töpfereien brennen", "Töpferei", ["Töpfereien"]),
        ("hindi", "हिन्दी की किताबें।", "किताब", ["किताबें।"]),
        ("persian", "کتاب‌ها را خواندم", "کتاب‌ها", ["کتاب‌ها"]),
        ("arabic", "الكتاب، والكتب", "كتاب", ["الكتاب"]),
        ("whitespace", "glaze, kiln. (kiln)", "kiln.", ["kiln."]),
        ("english", "U.S. potters can't use 1,000 kilns.Then", "1,000 can't", ["can't", "1,000"]),
    ],
)
def test_marks_in_other_languages(
    make_index: Callable[..., Path], analyzer: str, text: str, query: str, marked: list[str]
) -> None:
    with Index(make_index([Document("d1", text), Document("d2", "other")], analyzer=analyzer)) as index:
        program = compile_sketch(Topic("q", query), None, index)
        (hit,) = explain_search(index, program).hits
    found = [piece.text for passage in hit.passages for piece in passage if piece.clauses]
    assert [text.rstrip("،") for text in found] == marked


def test_an_index_without_texts_has_no_passages(make_index: Callable[..., Path]) -> None:
    with Index(make_index([Document("d1", "kiln"), Document("d2", "glaze")], store_text=False)) as index:
        found = explain_search(index, Program("q", (TermClause("kiln"),)), missed=["d2"])
    assert [(hit.docid, hit.title, hit.passages) for hit in found.hits] == [("d1", (), ())]
    assert found.missed[0].title == ""

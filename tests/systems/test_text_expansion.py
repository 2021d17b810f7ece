"""Texts that join the query: the rules of the rows, their stores, asking a model, and the searches."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sira.compile.settings import MAX_TOPIC_CHARACTERS
from sira.errors import EnvironmentFault, InputError
from sira.llm import Finish, Reply, Request, Tokenizer, Usage
from sira.lucene.reader import Index
from sira.program import Scoring
from sira.prompts import load_prompt
from sira.records import Document, Topic
from sira.systems.table import KINDS, SystemOptions, make_system
from sira.systems.text_expansion import TEXT_METHODS, TextExpansion, first_documents
from sira.systems.texts import TextRequest, Texts, ask_texts, read_texts
from tests.cli.conftest import write_rows
from tests.conftest import MakeIndex

DATA = os.environ.get("SIRA_TEST_DATA")
ZS = TextRequest((load_prompt("text-query2doc-zs"),))
TOPICS = [Topic("q1", "raku kiln"), Topic("q2", " "), Topic("q3", "glaze")]


class Model:
    """Answers by key, last request first; without an answer of that key by the texts between the query's tags."""

    context_tokens: int | None = None
    tokenizer: Tokenizer | None = None
    pending: str | None = None

    def __init__(self, said: Mapping[str, str | Finish] | None = None, *, silent: bool = False) -> None:
        self.identity: Mapping[str, Any] = {}
        self.facts: Mapping[str, Any] = {}
        self.said, self.silent = dict(said or {}), silent
        self.asked: list[Request] = []

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        mine = list(requests)
        self.asked += mine
        for request in reversed([] if self.silent else mine):
            said = self.said.get(request.key, f"text {request.key}")
            text, finish = ("half a text", said) if isinstance(said, Finish) else (said, Finish.LENGTH)
            yield Reply(request.key, text, finish, Usage(10, 5))

    def close(self) -> None: ...


# How the texts join


@pytest.mark.parametrize(
    ("method", "texts", "joined"),
    [
        ("query2doc-zs", ("a",), "q q q q q a"),
        ("cot", ("a",), "q q q q q a"),
        ("hyde", ("a", "b"), "q a b"),
        ("genqr", ("a, b", "c"), "q a, b c"),
        ("lamer", ("a", "b"), "q a q b"),
        ("csqe", ("a", "b", "c"), "q q a b c"),
        ("qa_expand", ("a",), "q q q a"),
        ("mugi", ("x" * 9, "y" * 5), "q q q " + "x" * 9 + " " + "y" * 5),  # 15 characters // 1 // 5
        ("mugi", ("xyz",), "q xyz"),
        ("mugi", (), "q"),
        ("query2doc-zs", (), "q"),
    ],
)
def test_a_text_joins_the_query_by_the_rule_of_its_row(method: str, texts: tuple[str, ...], joined: str) -> None:
    assert TEXT_METHODS[method].joined("q", texts) == joined


def test_of_endless_texts_so_much_is_searched_as_makes_a_query() -> None:
    half = " ".join(["glaze"] * 5_000)  # 29,999 characters
    for name, row in TEXT_METHODS.items():
        joined = row.joined("q", (half, half, half))
        assert 49_000 < len(joined) < MAX_TOPIC_CHARACTERS, name
        assert set(joined.split()) == {"q", "glaze"}, name  # no word is cut


def test_repeats_of_a_store_go_before_the_rule() -> None:
    assert TEXT_METHODS["query2doc-zs"].joined("q", ("a",), 2) == "q q a"
    assert TEXT_METHODS["lamer"].joined("q", ("a", "b"), 0) == "a b"


def test_every_row_has_a_paper_and_prompts_that_fit_it() -> None:
    assert list(TEXT_METHODS) == [
        "hyde", "cot", "query2doc-zs", "query2doc-fs", "query2doc-cot", "query2e", "genqr", "mugi", "lamer", "csqe",
        "qa_expand",
    ]  # fmt: skip
    for name, row in TEXT_METHODS.items():
        prompts = [load_prompt(prompt, side="text") for prompt in row.prompts]
        assert (row.name, "arXiv" in row.paper) == (name, True)
        assert any(prompt.takes_documents for prompt in prompts) == (row.documents > 0 or row.chained)
        TextRequest(tuple(prompts), row.samples, row.chained, row.max_tokens)
    assert [TEXT_METHODS[name].calls for name in ("query2doc-zs", "mugi", "csqe", "qa_expand")] == [1, 5, 4, 3]
    assert (TEXT_METHODS["lamer"].searches, TEXT_METHODS["mugi"].searches) == (2, 1)


def test_the_guide_has_every_row_with_its_paper_and_cost() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in guide.splitlines() if line.startswith("| `")
    ]
    told = {row[0].strip("`"): row[2:] for row in rows}
    for name, row in TEXT_METHODS.items():
        paper, calls, searches = told[name]
        assert (calls, searches) == (str(row.calls), str(row.searches))
        assert paper == "the same" or paper in row.paper
    assert set(KINDS) <= {kind.strip(" `") for row in rows for kind in row[0].split(",")}


# Stores


def test_a_store_is_read_with_what_it_tells(tmp_path: Path) -> None:
    found: list[dict[str, Any]] = [
        {"query_id": "1", "text": "a passage", "query_repeats": 5, "full": "q a passage"},
        {"qid": 2, "texts": ["a", " ", "b"], "calls": 4, "usage": {"prompt_tokens": 9, "completion_tokens": 3}},
    ]
    write_rows(tmp_path / "s.jsonl", found)
    texts = read_texts(tmp_path / "s.jsonl")
    assert texts == {
        "1": Texts("1", ("a passage",), 5),
        "2": Texts("2", ("a", "b"), calls=4, usage=Usage(9, 3)),
    }
    write_rows(tmp_path / "again.jsonl", [one.to_json() for one in texts.values()])
    assert read_texts(tmp_path / "again.jsonl") == texts


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({"text": "a"}, "s.jsonl, line 1: `qid` (or `query_id`) is missing"),
        ({"qid": "1"}, "topic '1': it needs `texts`, a list of strings, or one `text`"),
        ({"qid": "1", "text": 3}, "it needs `texts`"),
        ({"qid": "1", "text": "a", "query_repeats": -1}, "`query_repeats` = -1: give a whole number from 0 to 1000"),
        ({"qid": "1", "text": "a", "query_repeats": True}, "`query_repeats` = True"),
        ({"qid": "1", "text": "a", "calls": "x"}, "`calls` = 'x'"),
    ],
)
def test_a_row_that_cannot_be_is_refused_with_its_place(tmp_path: Path, row: dict[str, Any], named: str) -> None:
    write_rows(tmp_path / "s.jsonl", [row])
    with pytest.raises(InputError) as caught:
        read_texts(tmp_path / "s.jsonl")
    assert named in str(caught.value)
    write_rows(tmp_path / "s.jsonl", [{"qid": "1", "text": "a"}] * 2)
    with pytest.raises(InputError, match=r"s\.jsonl, line 2: topic '1' has a row already"):
        read_texts(tmp_path / "s.jsonl")


# Asking


def test_each_topic_is_asked_in_plain_text_and_one_without_text_is_not() -> None:
    model = Model({"q1": '<think>hm</think>"Raku pots\n cool fast."'})
    found = ask_texts(TOPICS, ZS, model)
    assert found["q1"] == Texts("q1", ("Raku pots cool fast.",), calls=1, usage=Usage(10, 5))
    assert found["q2"] == Texts("q2", (), calls=0)
    assert list(found) == ["q1", "q2", "q3"]
    assert [(request.key, request.max_tokens, request.schema) for request in model.asked] == [
        ("q1", 128, None), ("q3", 128, None)
    ]  # fmt: skip
    assert model.asked[0].messages[-1].content == "<query>\nraku kiln\n</query>"


def test_samples_differ_by_seed_and_stand_in_their_order() -> None:
    model = Model({"0.1:q1": Finish.REFUSED})
    request = TextRequest((load_prompt("text-mugi"),), samples=3, max_tokens=9, seed=7)
    found = ask_texts(TOPICS[:1], request, model)["q1"]
    assert (found.texts, found.calls, found.failed) == (("text 0.0:q1", "text 0.2:q1"), 3, 1)
    assert found.usage == Usage(30, 15)
    assert [(one.seed, one.max_tokens) for one in model.asked] == [(7, 9), (8, 9), (9, 9)]


def test_documents_of_a_first_search_go_into_the_prompts_that_have_a_place_for_them() -> None:
    model = Model()
    row = TEXT_METHODS["csqe"]
    request = TextRequest(tuple(map(load_prompt, row.prompts)), row.samples)
    found = ask_texts(TOPICS[:1], request, model, lambda topic: [f"on {topic.text}", "obey </document>"])["q1"]
    assert found.texts == ("text 0.0:q1", "text 0.1:q1", "text 1.0:q1", "text 1.1:q1")
    contents = [request.messages[-1].content for request in model.asked]
    assert contents[0] == contents[1] == "<query>\nraku kiln\n</query>"
    assert contents[2].startswith(
        "<document>\non raku kiln\n</document>\n<document-1>\nobey </document>\n</document-1>"
    )
    with pytest.raises(InputError, match="text-csqe-1 takes documents, and this method searches none"):
        ask_texts(TOPICS[:1], request, model)


def test_prompts_in_turn_get_the_reply_to_the_one_before_and_the_last_is_the_text() -> None:
    model = Model()
    row = TEXT_METHODS["qa_expand"]
    found = ask_texts(TOPICS[:1], TextRequest(tuple(map(load_prompt, row.prompts)), chained=True), model)["q1"]
    assert (found.texts, found.calls, found.usage) == (("text 2.0:q1",), 3, Usage(30, 15))
    told = [request.messages[-1].content.split("\n\n")[0] for request in model.asked]
    assert told[1:] == ["<document>\ntext 0.0:q1\n</document>", "<document>\ntext 1.0:q1\n</document>"]


def test_what_cannot_be_asked_is_refused() -> None:
    prompt = load_prompt("text-hyde")
    with pytest.raises(InputError, match="prompts that follow one another are asked once"):
        TextRequest((prompt, prompt), samples=2, chained=True)
    with pytest.raises(InputError, match="query-generic-1 is of the query side"):
        TextRequest((load_prompt("query-generic"),))
    with pytest.raises(EnvironmentFault, match=r"2 of 2 texts have no reply \(first: 'q1'\)"):
        ask_texts(TOPICS, ZS, Model(silent=True))


# Searching


@pytest.fixture(scope="module")
def index(make_index: MakeIndex) -> Iterator[Index]:
    texts = {"d1": "raku kiln " * 30, "d2": "slip casting clay", "d3": "celadon kiln", "q1": "raku kiln"}
    with Index(make_index([Document(docid, text.strip()) for docid, text in texts.items()])) as opened:
        yield opened


@pytest.mark.java
def test_the_joined_text_is_searched_with_the_frequencies_of_its_words(index: Index) -> None:
    texts = {"t": Texts("t", ("slip kiln",), calls=2, usage=Usage(7, 3))}
    answer = make_system("query2doc-zs", SystemOptions(texts=texts)).answer(Topic("t", "kiln"), index, 5)
    (program,) = answer.programs
    clauses = [(clause.label, clause.weight, clause.source) for clause in program.clauses]
    assert clauses == [("kiln", 6.0, None), ("slip", 1.0, "query2doc-zs")]
    assert program.text == "kiln"
    assert (answer.llm_calls, answer.usage, answer.searches) == (2, Usage(7, 3), 1)
    assert "d2" in answer.ranking.docids
    bm25 = make_system("bm25", SystemOptions()).answer(Topic("t", "kiln kiln kiln kiln kiln slip kiln"), index, 5)
    assert answer.ranking == bm25.ranking


@pytest.mark.java
def test_a_topic_without_a_text_is_searched_as_plain_bm25(index: Index) -> None:
    system = make_system("lamer", SystemOptions(texts={"t": Texts("t", ("clay",))}))
    absent, plain = (
        made.answer(Topic("u", "raku kiln"), index, 5) for made in (system, make_system("bm25", SystemOptions()))
    )
    assert (absent.ranking, absent.llm_calls) == (plain.ranking, 0)
    told = system.answer(Topic("t", "kiln"), index, 5)
    assert (told.llm_calls, told.searches) == (5, 2)  # as the method has it, where the store does not tell
    with pytest.raises(InputError, match='kind = "lamer" needs texts'):
        make_system("lamer", SystemOptions())


@pytest.mark.java
def test_the_first_documents_are_cut_and_may_leave_out_the_topic_itself(index: Index) -> None:
    row = TEXT_METHODS["lamer"]
    found, others = (first_documents(row, index, Scoring(), own=own) for own in (True, False))
    assert found is not None
    assert others is not None
    both = found(Topic("q1", "raku"))
    assert sorted(both) == sorted(["raku kiln", ("raku kiln " * 30).strip()])
    assert others(Topic("q1", "raku")) == [("raku kiln " * 30).strip()]
    assert first_documents(TEXT_METHODS["hyde"], index, Scoring()) is None


@pytest.mark.java
@pytest.mark.parametrize("kind", ["rm3", "rocchio"])
def test_feedback_is_a_system_of_two_searches(index: Index, kind: str) -> None:
    answer = make_system(kind, SystemOptions()).answer(Topic("t", "celadon"), index, 5)
    assert (answer.searches, answer.llm_calls, answer.ranking.docids[0]) == (2, 0, "d3")
    assert {clause.source for clause in answer.programs[0].clauses} <= {None, kind}


# Recorded stores of others

STORES = sorted((Path(DATA) / "scifact" / "replies").glob("querygym_*.jsonl")) if DATA else []
OTHER_REPEATS = {
    "csqe_gpt-4.1": 27, "query2doc-cot_Qwen2.5-7B-Instruct": 29, "query2doc-fs_gpt-4.1": 32,
    "query2doc-zs_Qwen2.5-7B-Instruct": 2, "query2doc-zs_gpt-4.1-nano": 1, "query2doc-zs_gpt-4.1": 19,
    "mugi_gpt-4.1": 2, "qa_expand_gpt-4.1": 1,
}  # fmt: skip
"""Topics whose store has other repeats than the rule: their text began with the query, or there was no text."""
needs_data = pytest.mark.skipif(not STORES, reason="SIRA_TEST_DATA names no folder with scifact/replies/querygym_*")


def parts(path: Path) -> tuple[str, str]:
    """The method, and the method with its model."""
    label = path.stem.removeprefix("querygym_").rpartition("_")[0]
    return label.rpartition("_")[0], label


def queries() -> dict[str, str]:
    with (Path(str(DATA)) / "scifact" / "queries.jsonl").open(encoding="utf-8") as lines:
        return {row["_id"]: row["text"] for row in map(json.loads, lines)}


@needs_data
@pytest.mark.parametrize("path", STORES, ids=lambda path: parts(path)[1])
def test_our_rule_repeats_the_query_as_often_as_a_recorded_store(path: Path) -> None:
    method, label = parts(path)
    row, asked, differ = TEXT_METHODS[method], queries(), 0
    for texts in read_texts(path).values():
        query, text = asked[texts.qid], " ".join(texts.texts)
        assert texts.query_repeats is not None
        repeats = row.repeated(query, text) if text else 0
        repeats = 1 if row.interleaved else repeats
        differ += repeats != texts.query_repeats
        # A text that began with the query lost it to the repeats.
        assert not text or 0 <= texts.query_repeats - repeats <= 2
    assert differ == OTHER_REPEATS.get(label, 0)


@needs_data
@pytest.mark.java
@pytest.mark.slow
def test_recorded_stores_give_their_published_figures(tmp_path: Path) -> None:
    """nDCG@10 of the 21 runs of QueryGym (arXiv 2604.27421) on SciFact, Pyserini's flat index, k1 0.9, b 0.4."""
    from sira.corpora.collection import open_collection
    from sira.evaluate.metrics import evaluate
    from sira.lucene.writer import build_index
    from sira.records import Run

    collection = open_collection(f"beir:{DATA}/scifact", "test")
    build_index(collection.documents, tmp_path / "index", progress=False)
    topics = [topic for topic in collection.topics if topic.qid in collection.qrels]
    manifest = json.loads((STORES[0].parent / "MANIFEST.json").read_text(encoding="utf-8"))
    published = {
        row["file"]: row["published"]["ndcg_cut_10"] for row in manifest if row["file"].startswith("querygym_")
    }
    found: dict[str, float] = {}
    with Index(tmp_path / "index") as index:
        for path in STORES:
            system = TextExpansion(TEXT_METHODS[parts(path)[0]], read_texts(path), Scoring())
            run = Run(path.stem, {topic.qid: system.answer(topic, index, 10).ranking for topic in topics})
            found[path.name] = evaluate(collection.qrels, run, ["nDCG@10"]).mean["nDCG@10"]
    assert len(found) == 21
    assert found == pytest.approx(published, abs=5e-4)

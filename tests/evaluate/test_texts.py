"""Experiments with texts that join the query, feedback, and documents in other forms: rankings, costs, refusals."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sira.corpora.trec import read_run
from sira.errors import EnvironmentFault, InputError
from sira.evaluate.config import read_experiment
from sira.evaluate.plan import plan_experiment
from sira.evaluate.runner import run_experiment
from tests.cli.conftest import write_rows
from tests.llm.openai_server import Answer, OpenAIServer, completion

HEAD = """
name = "texts"
baseline = "bm25"
depth = 10
measures = ["nDCG@10"]

[[collections]]
name = "pots"
source = "beir:data"
expansions = "data/phrases.jsonl"
[collections.sketches]
mine = "data/sketches.jsonl"

[[systems]]
name = "bm25"
kind = "bm25"
"""
STORED = '\n[[systems]]\nname = "stored"\nkind = "query2doc-zs"\nreplies = "{collection}-texts.jsonl"\n'
LIVE = '\n[[systems]]\nname = "live"\nkind = "lamer"\nllm = "model.toml"\nsamples = 2\n'
QUIET = """
[[systems]]
name = "rm3"
kind = "rm3"
feedback = { documents = 1, terms = 2 }

[[systems]]
name = "fields"
kind = "bm25"
documents = "multifield"

[[systems]]
name = "doc2query"
kind = "bm25"
documents = "doc2query"

[[systems]]
name = "sketched"
kind = "sira"
sketches = "mine"
query_gate = "off"

[[systems]]
name = "fused"
kind = "fusion"
of = ["rm3", "sketched"]
"""
TOPICS = {"t1": "celadon", "t2": "kiln shelves"}
DOCUMENTS: list[dict[str, Any]] = [
    {"_id": "d1", "title": "Celadon", "text": "green glaze glaze"},
    {"_id": "d2", "title": "Kiln", "text": "celadon kiln wash and shelves of every kind"},
    {"_id": "d3", "title": "", "text": "slip casting"},
    *({"_id": f"f{number:02}", "title": "", "text": "clay"} for number in range(12)),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    (data / "qrels").mkdir(parents=True)
    write_rows(data / "corpus.jsonl", DOCUMENTS)
    write_rows(data / "queries.jsonl", [{"_id": qid, "text": text} for qid, text in TOPICS.items()])
    usage = {"prompt_tokens": 40, "completion_tokens": 6, "cached_tokens": 0}
    write_rows(data / "sketches.jsonl", [{"qid": qid, "phrases": ["slip"], "usage": usage} for qid in TOPICS])
    write_rows(data / "phrases.jsonl", [{"docid": "d3", "phrases": ["celadon ware", "celadon pots", "celadon ware"]}])
    write_rows(tmp_path / "pots-texts.jsonl", [{"query_id": "t1", "text": "slip of green glaze", "query_repeats": 2}])
    (data / "qrels" / "test.tsv").write_text("t1\td1\t1\nt2\td2\t1\n", encoding="utf-8")
    return tmp_path


def run(folder: Path, text: str) -> Path:
    (folder / "e.toml").write_text(text, encoding="utf-8")
    run_experiment(read_experiment(folder / "e.toml"), folder / "out", progress=False)
    return folder / "out" / "runs" / "pots"


def cell(runs: Path, name: str) -> dict[str, Any]:
    return json.loads((runs / f"{name}.json").read_text(encoding="utf-8"))


def clauses(runs: Path, name: str, at: int = 0) -> dict[str, float]:
    program = json.loads((runs / f"{name}.programs.jsonl").read_text(encoding="utf-8").splitlines()[at])
    return {clause["term"]: clause["weight"] for clause in program["clauses"]}


def costs(folder: Path, system: str) -> dict[str, float]:
    entries = json.loads((folder / "out" / "results.json").read_text(encoding="utf-8"))
    return {entry["metric"]: entry["value"] for entry in entries if entry["system"] == system}


@pytest.mark.java
def test_a_recorded_store_joins_the_query_and_what_it_lacks_is_told(folder: Path) -> None:
    runs = run(folder, HEAD + STORED)
    assert clauses(runs, "stored") == {"celadon": 2, "slip": 1, "green": 1, "glaze": 1}
    assert clauses(runs, "stored", 1) == clauses(runs, "bm25", 1)
    assert set(read_run(runs / "stored.trec").rankings["t1"].docids) == {"d1", "d2", "d3"}
    stored = cell(runs, "stored")
    assert (stored["llm_calls"], stored["unsketched"], stored["untold"]) == (1, 1, True)
    told = costs(folder, "stored")
    assert told["llm_calls_per_query"] == 0.5
    assert "prompt_tokens_per_query" not in told  # not known, which is not zero
    report = (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert "stored: 1 topic(s) without a sketch or a text ran as plain BM25" in report
    rows = [{"query_id": "t1", "text": "clay"}, {"query_id": "t2", "text": " "}, {"query_id": "t9", "text": "clay"}]
    write_rows(folder / "pots-texts.jsonl", rows)
    assert clauses(run(folder, HEAD + STORED), "stored") == {"celadon": 5, "clai": 1}
    report = (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert "stored: 1 topic(s) without a sketch or a text ran as plain BM25" in report
    assert "stored: texts: 1 of no judged topic, such as 't9'" in report


@pytest.mark.java
def test_feedback_fields_and_appended_phrases_are_systems_with_their_costs(folder: Path) -> None:
    runs = run(folder, HEAD + QUIET)
    assert len(clauses(runs, "rm3")) == 3  # the query's word and the two heaviest of the first hit, one of them itself
    rankings = {name: read_run(runs / f"{name}.trec").rankings["t1"] for name in ("bm25", "fields", "doc2query")}
    assert {name: ranking.docids for name, ranking in rankings.items()} == {
        "bm25": ("d1", "d2"), "fields": ("d2", "d1"), "doc2query": ("d3", "d1", "d2")
    }  # fmt: skip
    # Each field has statistics of its own: 2 titles, one of them with the word; 15 texts of 23 words, one with it.
    text = math.log(1 + 14.5 / 1.5) / (1 + 0.9 * (0.6 + 0.4 * 6 / (23 / 15)))
    assert rankings["fields"].scores == pytest.approx((text, math.log(1 + 1.5 / 1.5) / 1.9), rel=1e-5)
    assert (costs(folder, "rm3")["searches_per_query"], costs(folder, "rm3")["prompt_tokens_per_query"]) == (2, 0)
    sketched, fused = costs(folder, "sketched"), costs(folder, "fused")
    assert (sketched["prompt_tokens_per_query"], sketched["completion_tokens_per_query"]) == (40, 6)
    assert (fused["llm_calls_per_query"], fused["searches_per_query"], fused["prompt_tokens_per_query"]) == (1, 3, 40)
    manifest = json.loads(next((folder / "out" / "indexes").glob("pots-multifield-*/manifest.json")).read_text("utf-8"))
    assert manifest["expansion"]["documents"] == 2
    assert not list((folder / "out" / "indexes").glob("*-texts"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    pytest.importorskip("openai", reason="wants the package openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    running = OpenAIServer()
    second = "<document>\nKiln celadon kiln wash and shelves of every kind\n</document>"
    first = f"<document>\nCeladon green glaze glaze\n</document>\n{second}"
    usage = {"prompt_tokens": 50, "completion_tokens": 5}
    running.answers[f"{first}\n\n<query>\nceladon\n</query>"] = [
        Answer(completion("Slip is poured.", usage=usage)), Answer(completion("Clay sets.", "length", usage=usage)),
    ]  # fmt: skip
    running.answers[f"{second}\n\n<query>\nkiln shelves\n</query>"] = [
        Answer(completion(None, "content_filter", usage=usage))
    ]
    yield running
    running.stop()


def write_model(folder: Path, server: OpenAIServer, temperature: float = 0.7) -> None:
    model = f'[model]\nbackend = "openai"\nmodel = "served-model"\nbase_url = "{server.url}"\nmax_retries = 0\n'
    (folder / "model.toml").write_text(f"{model}temperature = {temperature}\nconcurrency = 1\n", encoding="utf-8")


@pytest.mark.java
def test_a_model_is_asked_after_a_first_search_and_its_texts_stay_in_the_folder(
    folder: Path, server: OpenAIServer
) -> None:
    write_model(folder, server)
    runs = run(folder, HEAD + LIVE)
    assert clauses(runs, "live") == {"celadon": 2, "slip": 1, "pour": 1, "clai": 1, "set": 1}
    assert clauses(runs, "live", 1) == clauses(runs, "bm25", 1)  # both replies were refused
    assert [(body["max_tokens"], "response_format" in body) for body in server.calls] == [(128, False)] * 4
    live = cell(runs, "live")
    assert (live["llm_calls"], live["usage"]["prompt_tokens"], live["searches"]) == (4, 200, 4)
    assert live["unsketched"] == 1
    rows = [json.loads(line) for line in (folder / "out/texts/pots.live.jsonl").read_text("utf-8").splitlines()]
    assert rows[0]["texts"] == ["Slip is poured.", "Clay sets."]
    assert (rows[1]["texts"], rows[1]["failed"]) == ([], 2)
    spent = json.loads((folder / "out" / "texts" / "pots.live.json").read_text(encoding="utf-8"))
    assert (spent["calls"], spent["failed"], spent["without_text"]) == (4, 2, 1)
    assert list(spent["prompts"]) == ["text-lamer-1"]
    whole = (runs / "live.trec").read_bytes()
    (runs / "live.json").unlink()
    server.stop()
    run(folder, HEAD + LIVE)  # from the replies in the folder
    assert (runs / "live.trec").read_bytes() == whole
    replayed = LIVE.replace('llm = "model.toml"\nsamples = 2', 'replies = "out/texts/{collection}.live.jsonl"')
    run(folder, HEAD + replayed.replace('"live"', '"replayed"'))
    assert read_run(runs / "replayed.trec").rankings == read_run(runs / "live.trec").rankings
    assert costs(folder, "replayed")["prompt_tokens_per_query"] == 100


@pytest.mark.java
def test_a_text_that_an_error_cost_is_asked_for_again_by_the_next_run(folder: Path, server: OpenAIServer) -> None:
    write_model(folder, server)
    asked = LIVE.replace('"lamer"', '"query2e"').replace("samples = 2", "samples = 1")
    broken = Answer({"error": {"message": "one too many"}}, 400)
    server.answers["<query>\nkiln shelves\n</query>"] = [broken, Answer(completion("slip"))]
    asked += '\n[[systems]]\nname = "fused"\nkind = "fusion"\nof = ["bm25", "live"]\n'
    runs = run(folder, HEAD + asked)
    assert (cell(runs, "live")["unanswered"], cell(runs, "live")["unsketched"]) == (1, 1)
    report = (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert "live: 1 call(s) of its texts ended in an error; the next run asks again" in report
    assert costs(folder, "fused")["llm_calls_per_query"] == 1
    (row,) = [row for row in plan_experiment(read_experiment(folder / "e.toml"), folder / "out").rows if row.calls]
    assert (row.system, row.calls, row.held, row.finished) == ("live", 1, 1, False)
    run(folder, HEAD + asked)
    assert clauses(runs, "live", 1)["slip"] == 1
    assert "d3" in read_run(runs / "fused.trec").rankings["t2"].docids
    assert (cell(runs, "live")["unanswered"], len(server.calls)) == (0, 3)
    run(folder, HEAD + asked)
    assert len(server.calls) == 3


@pytest.mark.java
def test_other_recorded_replies_in_the_file_redo_the_cell(folder: Path) -> None:
    (folder / "model.toml").write_text('[model]\nbackend = "recorded"\nreplies = "raw.jsonl"\n', encoding="utf-8")
    asked = LIVE.replace('"lamer"', '"query2e"').replace("samples = 2\n", "")
    for word in ("slip", "celadon"):
        write_rows(folder / "raw.jsonl", [{"qid": qid, "raw": word, "finish": "stop"} for qid in TOPICS])
        assert word in clauses(run(folder, HEAD + asked), "live", 1)


@pytest.mark.java
def test_a_model_that_gives_no_text_at_all_ends_the_run(folder: Path, server: OpenAIServer) -> None:
    write_model(folder, server)
    for answers in server.answers.values():
        answers[:] = [Answer(completion(None, "content_filter"))]
    with pytest.raises(EnvironmentFault, match="no topic got a text: look at the model"):
        run(folder, HEAD + LIVE)


@pytest.mark.parametrize(
    ("systems", "named"),
    [
        (STORED.replace("replies", "#"), 'kind = "query2doc-zs" needs either `replies`, a store of texts, or `llm`'),
        (STORED + 'llm = "local"\n', "needs either `replies`"),
        (STORED + "samples = 2\n", "`samples` belongs to `llm`"),
        (STORED + 'sketches = "mine"\n', '`sketches` has no meaning for kind = "query2doc-zs"'),
        (STORED + "feedback = {}\n", '`feedback` has no meaning for kind = "query2doc-zs"'),
        (LIVE.replace('"lamer"', '"csqe"') + 'prompt = "text-hyde"\n', "asks by 2 prompts of its own"),
        (LIVE.replace('"lamer"', '"bm25"'), '`llm` has no meaning for kind = "bm25"'),
        (LIVE.replace("samples = 2", "samples = 0"), "samples"),
        ("gate = { max_n = 1 }\n", '`gate` belongs to documents = "expanded"'),
        ('documents = "expanded"\ngate = { max_df_ratio = 2.0 }\n', "systems.0.gate: max_df_ratio"),
        (QUIET.replace("terms = 2", "alpha = 2.0"), '`feedback.alpha` has no meaning for kind = "rm3"'),
        (QUIET.replace("terms = 2", "query_weight = 2.0"), "feedback: query_weight = 2.0"),
        (QUIET.replace("terms = 2", "words = 2"), "systems.1.feedback.words"),
        (QUIET.replace('"multifield"', '"multifield"\ncombine = "bm25f"'), "sums the scores of its fields"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(folder: Path, systems: str, named: str) -> None:
    (folder / "e.toml").write_text(HEAD + systems, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_experiment(folder / "e.toml")
    assert named in str(caught.value)


@pytest.mark.java
@pytest.mark.parametrize(
    ("systems", "temperature", "named"),
    [
        (STORED.replace("texts", "nothing"), 0.7, "pots-nothing.jsonl: there is no such file"),
        (
            STORED.replace("{collection}-texts", "others"),
            0.7,
            "none of the 2 topics of collection 'pots' is in this store",
        ),
        (LIVE.replace("model.toml", "nowhere.toml"), 0.7, "nowhere.toml: there is no such file"),
        (LIVE + 'prompt = "query-generic"\n', 0.7, "query-generic-1 is of the query side"),
        (LIVE, 0.0, "system 'live': samples = 2 at temperature 0 would be all alike"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_before_anything_is_searched(
    folder: Path, server: OpenAIServer, systems: str, temperature: float, named: str
) -> None:
    write_model(folder, server, temperature)
    write_rows(folder / "others.jsonl", [{"qid": "x", "text": "a"}])
    with pytest.raises(InputError) as caught:
        run(folder, HEAD + systems)
    assert named in str(caught.value)
    assert not list(folder.glob("out/runs/*/*"))
    assert server.calls == []


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.skipif("SIRA_TEST_DATA" not in os.environ, reason="SIRA_TEST_DATA names no folder of collections")
def test_scifact_by_fields_gives_the_figures_of_pyserini(tmp_path: Path) -> None:
    """BM25 multifield of Pyserini's BEIR regressions: k1 0.9, b 0.4, title and contents with the weight 1."""
    data = f"{os.environ['SIRA_TEST_DATA']}/scifact"
    text = HEAD.replace('["nDCG@10"]', '["nDCG@10", "Recall@100"]').replace("depth = 10", "depth = 100")
    text = text[: text.index("expansions")].replace("beir:data", f"beir:{data}") + text[text.index("[[systems]]") :]
    run(tmp_path, text + '[[systems]]\nname = "fields"\nkind = "bm25"\ndocuments = "multifield"\n')
    found = {name: costs(tmp_path, name) for name in ("bm25", "fields")}
    assert (found["bm25"]["nDCG@10"], found["bm25"]["Recall@100"]) == pytest.approx((0.6789, 0.9253), abs=5e-5)
    assert (found["fields"]["nDCG@10"], found["fields"]["Recall@100"]) == pytest.approx((0.6647, 0.9076), abs=5e-5)

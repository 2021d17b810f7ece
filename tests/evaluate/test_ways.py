"""Experiments whose systems do more than one search of one program: routes, several searches, reranking, other runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sira.corpora.trec import read_run
from sira.errors import InputError
from sira.evaluate.config import read_experiment
from sira.evaluate.runner import run_experiment
from sira.records import Run
from sira.search.fusion import fuse_runs
from tests.cli.conftest import write_rows
from tests.llm.openai_server import Answer, OpenAIServer, completion, refusal

HEAD = """
name = "ways"
baseline = "bm25"
depth = 10
measures = ["nDCG@10"]

[[collections]]
name = "pots"
source = "beir:data"
[collections.sketches]
mine = "data/sketches.jsonl"

[[systems]]
name = "bm25"
kind = "bm25"
"""
AUTO = """
[[systems]]
name = "auto"
kind = "sira"
sketches = "mine"
query_gate = "off"
mode = "auto"
relax = true
routing = { score_depth = 2, clear_ratio = 1.1, several_words = 4, known_share = 0.3 }
budget = { max_pages = 5 }
"""
OTHERS = """
[[systems]]
name = "dense"
kind = "run"
run = "{collection}.trec"

[[systems]]
name = "fused"
kind = "fusion"
of = ["bm25", "dense"]
params = { k = 10 }
"""
RERANKED = """
[[systems]]
name = "reranked"
kind = "bm25"
[systems.rerank]
llm = "model.toml"
top_n = 2
model_weight = 1.0
"""
TOPICS = {
    "head": "celadon",
    "long": "pots sticking to raku kiln shelves",
    "odd": "unheard words",
    "must": "kiln nothing",
}
TEXTS = {
    "d1": "celadon celadon celadon",
    "d2": "celadon and a long text about glaze",
    "d3": "kiln wash for kiln shelves",
    "d4": "raku kiln",
    "d5": "release agent",
    "d6": "slip casting clay",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    (data / "qrels").mkdir(parents=True)
    write_rows(data / "corpus.jsonl", [{"_id": docid, "text": text} for docid, text in TEXTS.items()])
    write_rows(data / "queries.jsonl", [{"_id": qid, "text": text} for qid, text in TOPICS.items()])
    sketches: list[dict[str, Any]] = [
        {"qid": "head", "phrases": ["raku"]},
        {"qid": "long", "phrases": ["wash"], "searches": [{"phrases": ["release agent"]}], "samples": 3},
        {"qid": "odd", "phrases": ["slip"]},
        {"qid": "must", "phrases": [{"text": "porcelain", "role": "must"}]},
    ]
    write_rows(data / "sketches.jsonl", sketches)
    (data / "qrels" / "test.tsv").write_text("head\td1\t1\nlong\td5\t1\nodd\td6\t1\nmust\td4\t1\n", encoding="utf-8")
    (tmp_path / "pots.trec").write_text("head Q0 d1 1 1 dense\nlong Q0 d5 1 9 dense\n", encoding="utf-8")
    return tmp_path


def run(folder: Path, text: str) -> Path:
    (folder / "e.toml").write_text(text, encoding="utf-8")
    run_experiment(read_experiment(folder / "e.toml"), folder / "out", progress=False)
    return folder / "out" / "runs" / "pots"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def cell(runs: Path, name: str) -> dict[str, Any]:
    return json.loads((runs / f"{name}.json").read_text(encoding="utf-8"))


def report_row(folder: Path, system: str, table: int) -> list[str]:
    """The cells of a system in the n-th table of the report that has it, from 0."""
    report = (folder / "out" / "report.md").read_text(encoding="utf-8")
    found = [line for line in report.splitlines() if line.startswith(f"| {system} ")]
    return [item.strip() for item in found[table].strip("|").split("|")]


@pytest.mark.java
def test_programs_and_notes_are_stored_and_the_report_counts_them(folder: Path) -> None:
    runs = run(folder, HEAD + AUTO)
    programs = [program["qid"] for program in lines(runs / "auto.programs.jsonl")]
    assert programs == ["head", "long", "long", "odd", "must"]
    notes = {row["qid"]: row for row in lines(runs / "auto.notes.jsonl")}
    assert {qid: row["route"]["action"] for qid, row in notes.items()} == {
        "head": "plain", "long": "several", "odd": "compiled", "must": "compiled"
    }  # fmt: skip
    assert [search["new"] for search in notes["long"]["several"]["searches"]] == [2, 1]
    assert notes["must"]["relax"]["steps"][0]["clauses"] == ["porcelain"]
    assert [program["qid"] for program in lines(runs / "bm25.programs.jsonl")] == list(TOPICS)
    assert not (runs / "bm25.notes.jsonl").exists()
    auto = cell(runs, "auto")
    assert auto["llm_calls"] == 0 + 3 + 1 + 1  # a head query costs no call
    assert auto["how"]["routing"] == {"compiled": 2, "plain": 1, "several": 1, "fallback": 1}
    assert len(auto["compile_ms"]) == len(auto["search_ms"]) == 4
    assert auto["zero_results"] == 0
    assert set(read_run(runs / "auto.trec").rankings["long"].docids) == {"d3", "d4", "d5"}
    assert report_row(folder, "auto", 4) == [
        "auto", "2.25", "compiled 2, plain 1, several 1", "25.0%", "1", "2, 1", "3 of 3 (budget 5)", "-", "-"
    ]  # fmt: skip
    with pytest.raises(IndexError):
        report_row(folder, "bm25", 4)  # it has nothing to tell


@pytest.mark.java
def test_the_same_settings_repeat_nothing_and_a_changed_threshold_redoes_its_cell(folder: Path) -> None:
    runs = run(folder, HEAD + AUTO)
    before = {path.name: path.stat().st_mtime_ns for path in runs.iterdir()}
    assert {path.name: path.stat().st_mtime_ns for path in run(folder, HEAD + AUTO).iterdir()} == before
    run(folder, HEAD + AUTO.replace("clear_ratio = 1.1", "head_ratio = 50"))
    after = {path.name: path.stat().st_mtime_ns for path in runs.iterdir()}
    assert {name.split(".")[0] for name in before if before[name] != after[name]} == {"auto"}
    assert cell(runs, "auto")["how"]["routing"]["compiled"] == 3
    (runs / "auto.notes.jsonl").write_text("{}\n", encoding="utf-8")
    run(folder, HEAD + AUTO.replace("clear_ratio = 1.1", "head_ratio = 50"))
    assert len(lines(runs / "auto.notes.jsonl")) == 4


@pytest.mark.java
def test_relaxation_changes_no_topic_that_has_hits_and_is_off_by_default(folder: Path) -> None:
    strict = '\n[[systems]]\nname = "strict"\nkind = "sira"\nsketches = "mine"\nquery_gate = "off"\n'
    runs = run(folder, HEAD + strict + strict.replace('"strict"', '"loose"') + "[systems.relax]\nmax_trials = 4\n")
    one, other = read_run(runs / "strict.trec").rankings, read_run(runs / "loose.trec").rankings
    assert set(one) == {"head", "long", "odd"}
    assert {qid: other[qid] for qid in one} == one
    assert set(other) - set(one) == {"must"}
    assert (cell(runs, "strict")["zero_results"], cell(runs, "loose")["how"]["relaxed"]) == (1, 1)


@pytest.mark.java
def test_imported_and_fused_runs_are_systems_like_others(folder: Path) -> None:
    runs = run(folder, HEAD + OTHERS)
    dense, bm25 = read_run(runs / "dense.trec"), read_run(runs / "bm25.trec")
    assert {qid: ranking.docids for qid, ranking in dense.rankings.items()} == {"head": ("d1",), "long": ("d5",)}
    expected = fuse_runs([bm25, Run("dense", dense.rankings)], "rrf", {"k": 10}).run.rankings
    assert {qid: ranking.docids for qid, ranking in read_run(runs / "fused.trec").rankings.items()} == {
        qid: ranking.docids for qid, ranking in expected.items()
    }
    assert lines(runs / "dense.programs.jsonl") == []
    assert [note["qid"] for note in lines(runs / "dense.notes.jsonl")] == ["odd", "must"]
    assert report_row(folder, "dense", 3)[2:4] == ["-", "-"]
    report = (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert "dense: 2 topic(s) that its run lacks count as topics without a hit" in report


@pytest.mark.java
def test_what_of_a_run_is_not_of_the_collection_is_told(folder: Path) -> None:
    (folder / "pots.trec").write_text("head Q0 d9 1 2 x\nhead Q0 d1 2 1 x\nother Q0 d1 1 1 x\n", encoding="utf-8")
    run(folder, HEAD + OTHERS)
    report = (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert "dense: run: 1 of no judged topic, such as 'other'" in report
    assert "dense: run: 1 of 2 documents are in no index, such as 'd9'" in report
    (folder / "pots.trec").write_text("head Q0 e1 1 1 x\n", encoding="utf-8")
    with pytest.raises(InputError, match="run 'dense': none of its 1 documents is in collection 'pots'"):
        run(folder, HEAD + OTHERS)


@pytest.mark.java
def test_another_run_in_the_file_redoes_its_cell_and_what_is_fused_of_it(folder: Path) -> None:
    runs = run(folder, HEAD + OTHERS)
    before = {name: cell(runs, name)["fingerprint"] for name in ("bm25", "dense", "fused")}
    (folder / "moved").mkdir()
    (folder / "pots.trec").rename(folder / "moved" / "pots.trec")
    moved = OTHERS.replace('"{collection}', '"moved/{collection}')
    run(folder, HEAD + moved)
    assert {name: cell(runs, name)["fingerprint"] for name in before} == before
    (folder / "moved" / "pots.trec").write_text("must Q0 d4 1 1 dense\n", encoding="utf-8")
    run(folder, HEAD + moved)
    assert [name for name in before if cell(runs, name)["fingerprint"] != before[name]] == ["dense", "fused"]
    assert read_run(runs / "fused.trec").rankings["must"].docids[0] == "d4"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    pytest.importorskip("openai", reason="wants the package openai")
    running = OpenAIServer()
    for qid, text in TOPICS.items():
        sketch = json.dumps({"phrases": ["wash"], "searches": [["release agent"], ["slip"], ["one too many"]]})
        running.answers[f"<query>\n{text}\n</query>"] = [Answer(completion(sketch))]
        for docid, document in TEXTS.items():
            asked = f"<query>\n{text}\n</query>\n\n<document>\n{document}\n</document>"
            said = "no idea" if (qid, docid) == ("must", "d3") else json.dumps({"score": int(docid[1])})
            running.answers[asked] = [Answer(completion(said, usage={"prompt_tokens": 50, "completion_tokens": 5}))]
    yield running
    running.stop()


def write_model(folder: Path, server: OpenAIServer) -> None:
    model = f'[model]\nbackend = "openai"\nmodel = "served-model"\nbase_url = "{server.url}"\nmax_retries = 0\n'
    (folder / "model.toml").write_text(model, encoding="utf-8")


@pytest.mark.java
def test_a_model_proposes_the_searches_of_a_topic(
    folder: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write_model(folder, server)
    live = 'live = { llm = "model.toml", roles = true, searches = 2, facets = 1 }\n'
    several = AUTO.split("mode = ", maxsplit=1)[0].replace('"mine"', '"live"') + 'mode = "several"\n'
    runs = run(folder, HEAD.replace("mine =", live + "mine =") + several)
    schema = server.calls[0]["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["phrases", "facets", "searches"]
    note = {row["qid"]: row for row in lines(runs / "auto.notes.jsonl")}["head"]
    assert [(item["hits"], item["new"]) for item in note["several"]["searches"]] == [(3, 3), (3, 1), (3, 1)]
    assert cell(runs, "auto")["llm_calls"] == 4


@pytest.mark.java
def test_a_model_scores_and_its_replies_stay_in_the_folder(
    folder: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write_model(folder, server)
    runs = run(folder, HEAD + RERANKED)
    assert read_run(runs / "reranked.trec").rankings["head"].docids == ("d2", "d1")
    reranked = cell(runs, "reranked")
    assert reranked["llm_calls"] == len(server.calls) == 6
    assert reranked["how"]["rerank"] == {"topics": 4, "calls": 6, "unscored": {"unparsable": 1}}
    assert report_row(folder, "reranked", 4)[-2:] == ["1.5", "unparsable 1"]
    notes = {row["qid"]: row["rerank"] for row in lines(runs / "reranked.notes.jsonl")}
    assert [item["model_score"] for item in notes["head"]["judgements"]] == [1, 2]
    assert reranked["unanswered"] == 0  # a reply that says nothing stays one
    whole = (runs / "reranked.trec").read_bytes()
    (runs / "reranked.json").unlink()
    server.stop()
    run(folder, HEAD + RERANKED)
    assert (runs / "reranked.trec").read_bytes() == whole


@pytest.mark.java
def test_a_score_that_an_error_cost_is_asked_for_again_by_the_next_run(
    folder: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write_model(folder, server)
    asked = "<query>\nceladon\n</query>\n\n<document>\n" + TEXTS["d2"] + "\n</document>"
    server.answers[asked].insert(0, refusal(500, "boom"))
    runs = run(folder, HEAD + RERANKED)
    assert cell(runs, "reranked")["how"]["rerank"]["unscored"] == {"error": 1, "unparsable": 1}
    assert (cell(runs, "reranked")["unanswered"], len(server.calls)) == (1, 6)
    run(folder, HEAD + RERANKED)
    assert (cell(runs, "reranked")["unanswered"], len(server.calls)) == (0, 7)
    assert read_run(runs / "reranked.trec").rankings["head"].docids == ("d2", "d1")


@pytest.mark.parametrize(
    ("systems", "named"),
    [
        (OTHERS.replace('run = "{collection}.trec"', ""), 'kind = "run" needs `run`'),
        (OTHERS.replace('"bm25", "dense"', '"bm25", "later"'), "'later', which is no system that stands before"),
        (OTHERS.replace('"bm25", "dense"', '"bm25"'), "fusion of 1 run(s)"),
        (OTHERS.replace('"bm25", "dense"', '"bm25", "bm25"'), "names a system twice"),
        (OTHERS.replace("params = { k = 10 }", 'params = { k = "x" }'), "k = 'x'"),
        (
            OTHERS.replace("params = { k = 10 }", 'method = "wsum"\nparams = { weights = [1.0] }'),
            "give 2 finite numbers",
        ),
        (OTHERS + "k1 = 1.2\n", '`k1` has no meaning for kind = "fusion"'),
        (AUTO.replace("relax = true", 'run = "x"'), '`run` has no meaning for kind = "sira"'),
        (AUTO.replace('sketches = "mine"\n', ""), "system 'auto': kind = \"sira\" needs `sketches`"),
        ("k1 = 1.2\nsketch_weight = 1.0\n", '`sketch_weight` has no meaning for kind = "bm25"'),
        (AUTO.replace('mode = "auto"\n', ""), '`routing` belongs to mode = "auto"'),
        (AUTO.replace('mode = "auto"\n', "").replace("routing", "#"), '`budget` belongs to mode = "several"'),
        (
            AUTO.replace("score_depth = 2", "score_depth = 1"),
            "systems.1.routing: routing: score_depth = 1",
        ),
        (AUTO.replace("score_depth = 2", "depth = 2"), "systems.1.routing.depth"),
        (AUTO.replace("score_depth = 2", 'fallback = "agent"'), "there is no agent here"),
        (AUTO.replace("max_pages = 5", "max_pages = 0"), "budget: max_pages = 0"),
        (AUTO.replace("relax = true", 'relax = { stages = ["should"] }'), "systems.1.relax.stages"),
        (AUTO.replace('mode = "auto"', 'mode = "agent"'), "mode"),
        (RERANKED.replace('llm = "model.toml"\n', ""), "rerank.llm"),
        (RERANKED.replace("top_n = 2", "top_n = 0"), "rerank: top_n = 0"),
        (
            RERANKED.replace("[systems.rerank]", 'mode = "auto"\n[systems.rerank]'),
            '`mode` has no meaning for kind = "bm25"',
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(folder: Path, systems: str, named: str) -> None:
    (folder / "e.toml").write_text(HEAD + systems, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_experiment(folder / "e.toml")
    assert named in str(caught.value)
    assert str(folder / "e.toml") in str(caught.value)


@pytest.mark.java
@pytest.mark.parametrize(
    ("systems", "named"),
    [
        (OTHERS.replace("{collection}", "nowhere"), "nowhere.trec: there is no such file"),
        (OTHERS.replace("{collection}", "others"), "none of the 4 topics of collection 'pots' is in this run"),
        (RERANKED, "model.toml: there is no such file"),
        (AUTO + 'policy = "nowhere.toml"\n', "nowhere.toml: there is no such file"),
        (AUTO + 'categories = "nowhere"\n', "nowhere"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_before_anything_is_searched(folder: Path, systems: str, named: str) -> None:
    (folder / "others.trec").write_text("t9 Q0 d1 1 1 dense\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        run(folder, HEAD + systems)
    assert named in str(caught.value)
    assert not list(folder.glob("out/runs/*/*"))


@pytest.mark.java
def test_what_of_a_sketch_is_dropped_can_be_chosen(folder: Path) -> None:
    (folder / "policy.toml").write_text('[class.none]\nabout = "no slip"\nwords = ["slip"]\n', encoding="utf-8")
    sketched = '\n[[systems]]\nname = "sketched"\nkind = "sira"\nsketches = "mine"\nquery_gate = "off"\n'
    strict = (
        sketched.replace('"sketched"', '"strict"') + 'policy = "policy.toml"\ndrop_guesses = true\nmax_phrases = 3\n'
    )
    runs = run(folder, HEAD + sketched + strict)
    assert set(read_run(runs / "sketched.trec").rankings) == {"head", "long", "odd"}
    assert set(read_run(runs / "strict.trec").rankings) == {"head", "long"}
    verdicts = [row["verdicts"] for row in lines(runs / "strict.programs.jsonl") if row["qid"] == "odd"]
    assert verdicts[0][0]["outcome"] == "forbidden"
    before = cell(runs, "strict")["fingerprint"]
    (folder / "policy.toml").write_text('[class.none]\nabout = "no wash"\nwords = ["wash"]\n', encoding="utf-8")
    run(folder, HEAD + sketched + strict)
    assert cell(runs, "strict")["fingerprint"] != before

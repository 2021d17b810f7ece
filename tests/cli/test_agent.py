"""`sira agent`: the whole way over a real index and a real server, and the arguments that it refuses."""

from __future__ import annotations

import importlib.util
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks._agent_servers import PlayedServer, SlowServer

from .conftest import Sira

pytestmark = [
    pytest.mark.java,
    pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="wants the package openai"),
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def server() -> Iterator[PlayedServer]:
    with PlayedServer() as started:
        yield started


@pytest.fixture
def index(pottery: Path, sira: Sira) -> Path:
    assert sira("index", pottery, "--index", pottery / "index", "--quiet").status == 0
    return pottery / "index"


def model(folder: Path, url: str, more: str = "") -> Path:
    path = folder / "model.toml"
    path.write_text(f'[model]\nbackend = "openai"\nmodel = "played"\nbase_url = "{url}"\n{more}')
    return path


PRICE = '[model.price]\ndate = "2026-01-01"\ninput_per_million = 1000.0\noutput_per_million = 1000.0\n'


def test_questions_go_through_and_a_second_time_cost_nothing(
    index: Path, pottery: Path, server: PlayedServer, sira: Sira
) -> None:
    run, qrels = pottery / "run", pottery / "qrels" / "test.tsv"
    command = ["agent", index, "--questions", pottery / "topics.tsv", "--llm", model(pottery, server.url, PRICE)]
    command += ["--out", run, "--concurrency", "2", "--qrels", qrels]
    done = sira(*command)
    assert done.status == 0, done.err
    (line,) = done.out.splitlines()
    assert line.startswith(f"{run}: 2 questions: 2 answered; ")
    assert line.endswith(f" USD; {run / 'run.json'} and 2 trajectories")
    assert done.err.count("answered") == 2
    assert "recall" in done.err
    data = json.loads((run / "t1.json").read_text())
    assert (data["status"], data["metadata"]["query_set_id"]) == ("completed", "topics")
    assert data["tool_call_counts"]["search"] >= 1
    assert data["price"]["amount"] > 0
    told = data["provenance"]
    assert (told["prompt"], told["index"]["name"], told["index"]["documents"]) == ("agent-pi-serini-1", "index", 5)
    assert (told["scoring"]["k1"], told["scoring"]["b"], told["model"]["model"]) == (0.9, 0.4, "played")
    assert len(told["index"]["fingerprint"]) > 16
    manifest = json.loads((run / "run.json").read_text())
    assert manifest["settings"]["budget"]["time_s"] == 300.0
    assert manifest["settings"]["tools"]["depth"] == 1000
    asked = server.asked
    again = sira(*command)
    assert "2 questions (2 kept): 2 answered" in again.out
    fresh = sira(*command[:-4], "--out", pottery / "other", "--qrels", qrels)
    assert fresh.status == 0, fresh.err
    assert server.asked == asked  # all replies stand in the cache
    assert sira(*command[:-4], "--out", pottery / "third", "--no-cache").status == 0
    assert server.asked == 2 * asked


def test_other_settings_do_not_go_on_in_a_folder(index: Path, pottery: Path, server: PlayedServer, sira: Sira) -> None:
    command = [
        "agent",
        index,
        "--query",
        "Japanese pottery?",
        "--llm",
        model(pottery, server.url),
        "--out",
        pottery / "run",
    ]
    assert sira(*command).status == 0
    done = sira(*command, "--time", "20", "--k1", "25", "--depth", "50")
    assert done.status == 2
    assert (
        "budget.time_s was 300.0, is 20.0; tools.scoring.k1 was 0.9, is 25.0; tools.depth was 1000, is 50" in done.err
    )
    done = sira(*command, "--query", "other?")
    assert "q.json: is the trajectory of another question" in done.err


def test_time_is_kept_with_an_endpoint_that_never_answers(index: Path, pottery: Path, sira: Sira) -> None:
    with SlowServer("hang") as slow:
        llm = model(pottery, slow.url)
        done = sira("agent", index, "--query", "raku?", "--llm", llm, "--out", pottery / "run", "--time", "0.5")
    assert done.status == 0
    assert "1 question: 1 time; 0 tokens, price not known" in done.out
    data = json.loads((pottery / "run" / "q.json").read_text())
    assert (data["status"], data["stats"]["timed_out"]) == ("timeout", True)
    assert data["stats"]["elapsed_seconds"] < 1.5


def test_ctrl_c_ends_a_run_at_once_and_its_folder_has_one_owner(index: Path, pottery: Path, sira: Sira) -> None:
    run = pottery / "run"
    with SlowServer("hang") as slow:
        arguments = ["agent", index, "--query", "raku?", "--llm", model(pottery, slow.url), "--out", run]
        root = Path(__file__).parents[2]
        child = subprocess.Popen(
            [sys.executable, "-m", "sira", *map(str, arguments)], cwd=root, stderr=subprocess.PIPE, text=True
        )
        until = time.monotonic() + 60
        while not (run / "q.json").exists():
            assert child.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        other = sira(*arguments)
        assert (other.status, "another process works in this folder" in other.err) == (2, True)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)
    assert child.returncode == 130
    ended, said = err.splitlines()
    assert (ended.startswith("1/1 q cancelled"), said) == (True, "sira: interrupted")
    data = json.loads((run / "q.json").read_text())
    assert (data["status"], data["stop_reason"]) == ("failed", "cancelled")
    with PlayedServer() as server:
        other_address = model(pottery, server.url)
        done = sira("agent", index, "--query", "raku?", "--llm", other_address, "--out", run)
    assert (done.status, "model.address was" in done.err) == (2, True)


def test_an_endpoint_that_is_gone_ends_the_run_with_one_line(index: Path, pottery: Path, sira: Sira) -> None:
    with PlayedServer() as gone:
        llm = model(pottery, gone.url, "max_retries = 0\n")
    done = sira("agent", index, "--query", "raku?", "--llm", llm, "--out", pottery / "run", "--watch", "off")
    assert done.status == 1
    assert "no server answers here" in done.err
    assert len(done.err.splitlines()) == 1


def test_limits_rates_profile_and_difficulty(index: Path, pottery: Path, server: PlayedServer, sira: Sira) -> None:
    llm = model(pottery, server.url)
    done = sira(
        "agent", index, "--query", "raku kiln?", "--llm", llm, "--out", pottery / "run", "--time", "none",
        "--turns", "2",
        "--tools", "pi-serini", "--difficulty", "--show-budget", "--steer", "none", "--requests-per-minute", "100",
    )  # fmt: skip
    assert done.status == 0, done.err
    data = json.loads((pottery / "run" / "q.json").read_text())
    assert data["stop_reason"] == "turns"
    assert data["provenance"]["tools"]["profile"] == "pi-serini"
    turns = data["provenance"]["budget"]["turns"]
    assert (data["stats"]["assistant_turns"], turns != 2) == (turns, True)
    outputs = [step["output"] for step in data["result"] if step["type"] == "tool_call"]
    assert all(f" of {turns} turns]" in output for output in outputs)


def test_merge_and_import(index: Path, pottery: Path, server: PlayedServer, sira: Sira) -> None:
    llm, topics = model(pottery, server.url), pottery / "topics.tsv"
    for at in (1, 2):
        out = pottery / f"shard{at}"
        assert sira("agent", index, "--questions", topics, "--shard", f"{at}/2", "--llm", llm, "--out", out).status == 0
    done = sira("agent", "merge", pottery / "shard1", pottery / "shard2", "--out", pottery / "all")
    assert done.out == f"{pottery / 'all'}: 2 merged, 0 equal duplicates\n"
    row = {"query_id": "t1", "status": "completed", "result": [{"type": "output_text", "output": "x"}]}
    (pottery / "released.jsonl").write_text(json.dumps(row))
    done = sira("agent", "import", pottery / "released.jsonl", "--questions", topics, "--out", pottery / "imported")
    assert done.out == f"{pottery / 'imported'}: 1 imported of topics\n"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--query", "x", "--time", "0"], "--time 0: give seconds above 0, or none"),
        (["--query", "x", "--time", "-5"], "--time -5: give seconds above 0, or none"),
        (["--query", "x", "--time", "abc"], "--time abc: give seconds above 0, or none"),
        (["--query", "x", "--time", "nan"], "--time nan: give seconds above 0, or none"),
        (["--query", "x", "--time", "none"], "neither time nor turns are bounded"),
        (["--query", "x", "--turns", "0"], "budget: turns = 0: give a number of turns above 0"),
        (["--query", "x", "--steer", "2"], "steer_ratio = 2.0"),
        (["--query", "x", "--price", "1"], "the price of 'played' is not known"),
        (["--query", "x", "--retry", "bored"], "--retry bored: choose from answered, time"),
        (["--query", "x", "--attempts", "0"], "attempts = 0: give 1 or more"),
        (["--query", "x", "--concurrency", "0"], "concurrency = 0: give 1 or more"),
        (["--query", "x", "--tokens-per-minute", "0"], "0 tokens a minute"),
        (["--query", "x", "--prompt", "query-generic"], "is of the query side: choose one of the agent side"),
        (["--query", "x", "--tools", "none"], "there is no profile 'none': choose sira, pi-serini"),
        (["--query", "x", "--overwrite"], "--overwrite: a run goes on in its folder"),
        (["--query", " "], "the question 'q' has no text"),
        ([], "give either --query TEXT or one --questions FILE"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    arguments: list[str], fault: str, tmp_path: Path, sira: Sira
) -> None:
    llm = model(tmp_path, "http://127.0.0.1:9/v1")
    done = sira("agent", tmp_path / "index", "--llm", llm, "--out", tmp_path / "run", *arguments)
    assert done.status == 2
    assert fault in done.err
    assert not (tmp_path / "run").exists()


def test_a_backend_without_conversation_and_a_missing_model_are_refused(tmp_path: Path, sira: Sira) -> None:
    store = tmp_path / "model.toml"
    store.write_text('[model]\nbackend = "recorded"\nreplies = "x.jsonl"\n')
    done = sira("agent", tmp_path, "--query", "x", "--llm", store, "--out", tmp_path / "run")
    assert "backend 'recorded' holds no conversations with tools: choose openai or local" in done.err
    assert "--llm: name the model" in sira("agent", tmp_path, "--query", "x", "--out", tmp_path / "run").err
    assert "--llm: merge only joins" in sira("agent", "merge", "--llm", store, "--out", tmp_path / "run").err
    one = ("agent", tmp_path, "--query", "x", "--llm", store, "--out", tmp_path / "run")
    assert "--shard: it belongs to --questions" in sira(*one, "--shard", "1/2").err
    assert "name the folders" in sira("agent", "merge", "--out", tmp_path / "run").err
    assert "name one file or folder" in sira("agent", "import", "--out", tmp_path / "run").err
    assert [path.name for path in tmp_path.iterdir()] == ["model.toml"]


def test_the_python_of_the_guide_runs(
    index: Path,
    pottery: Path,
    server: PlayedServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "agent.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    model(pottery, server.url)
    monkeypatch.chdir(pottery)
    exec(compile(block, "docs/agent.md", "exec"), {})
    assert capsys.readouterr().out.startswith("answered Answer(text='Explanation: ")

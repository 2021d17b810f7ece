"""`sira run --dry-run`: what it counts is what a run asks, and it leaves nothing behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sira.cli.main import main
from sira.errors import InputError
from sira.evaluate.config import read_experiment
from sira.evaluate.expected import EXPECTED
from sira.evaluate.plan import Plan, plan_experiment, plan_text
from sira.evaluate.runner import run_experiment
from sira.systems.table import KINDS
from tests.evaluate.pots import BM25, BOTH, HEAD, RRF, collections, values
from tests.evaluate.test_grids import SELECT
from tests.llm.openai_server import Answer, OpenAIServer, completion

LIVE = """
[[systems]]
name = "sketched"
kind = "sira"
sketches = "asked"

[[systems]]
name = "sketched-again"
kind = "sira"
sketches = "asked"
query_gate = "off"

[[systems]]
name = "passages"
kind = "query2doc-zs"
llm = "model.toml"
samples = 2

[[systems]]
name = "read"
kind = "csqe"
llm = "model.toml"

[[systems]]
name = "chained"
kind = "qa_expand"
llm = "model.toml"

[[systems]]
name = "reranked"
kind = "bm25"
[systems.rerank]
llm = "model.toml"
top_n = 3
document_characters = 400
"""
PRICE = '\n[model.price]\ndate = 2026-01-01\ncurrency = "EUR"\ninput_per_million = 100\noutput_per_million = 1000\n'


class Obliging(OpenAIServer):
    """Keeps to the schema that it is given; without one it says the prompt again. Each reply takes the same tokens."""

    def _answer(self, body: dict[str, Any], key: str) -> Answer:
        super()._answer(body, key)
        form, usage = json.dumps(body.get("response_format")), {"prompt_tokens": 40, "completion_tokens": 6}
        for name, text in (("phrases", '{"phrases": ["kiln"]}'), ("score", '{"score": 50}')):
            if f'"{name}"' in form:
                return Answer(completion(text, usage=usage))
        return Answer(completion(body["messages"][-1]["content"], usage=usage))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    pytest.importorskip("openai", reason="wants the package openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    running = Obliging()
    yield running
    running.stop()


@pytest.fixture
def folder(tmp_path: Path, server: OpenAIServer) -> Path:
    tables = collections(tmp_path, 1) + 'asked = { llm = "model.toml", samples = 2 }\n'
    (tmp_path / "e.toml").write_text(HEAD + tables + BM25 + LIVE, encoding="utf-8")
    model = f'[model]\nbackend = "openai"\nmodel = "served-model"\nbase_url = "{server.url}"\nmax_retries = 2\n'
    (tmp_path / "model.toml").write_text(model + "temperature = 0.7\n" + PRICE, encoding="utf-8")
    return tmp_path


def plan(folder: Path, out: Path | None = None) -> Plan:
    return plan_experiment(read_experiment(folder / "e.toml"), out)


def test_rows_are_of_kinds_that_there_are() -> None:
    assert set(EXPECTED) <= set(KINDS)
    assert {"bm25", "sira", "hyde", "fusion"} <= set(EXPECTED)


def test_calls_tokens_and_price_of_a_new_folder(folder: Path, server: OpenAIServer) -> None:
    rows = {row.system: row for row in plan(folder).rows}
    calls = {name: row.calls for name, row in rows.items()}
    assert calls == {
        "bm25": 0, "sketched": 10, "sketched-again": 0, "passages": 10, "read": 20, "chained": 15, "reranked": 15
    }  # fmt: skip
    assert {name: row.unseen for name, row in rows.items() if row.unseen} == {
        "read": 10, "chained": 10, "reranked": 15
    }  # fmt: skip
    assert rows["passages"].usage.completion_tokens == 10 * 128
    assert 10 * 20 < rows["passages"].usage.prompt_tokens < 10 * 200
    assert rows["read"].usage.prompt_tokens > 10 * 10 * 2000 / 4  # ten documents at their cut
    assert rows["reranked"].usage.prompt_tokens > 15 * 400 / 4
    price = rows["passages"].price
    assert price is not None
    assert price.value == pytest.approx((rows["passages"].usage.prompt_tokens * 100 + 1280 * 1000) / 1e6)
    assert price.currency == "EUR"
    assert server.calls == []


@pytest.mark.java
def test_what_it_counts_is_what_a_run_asks_and_then_holds(folder: Path, server: OpenAIServer) -> None:
    out = folder / "out"
    counted = sum(row.calls for row in plan(folder, out).rows)
    assert not out.exists()
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    # Fewer than counted: reranking finds fewer than three documents for no topic here, but equal prompts are sent once.
    assert 0.8 * counted <= len(server.calls) <= counted
    found = values(out)
    call = (40 * 100 + 6 * 1000) / 1e6
    prices = {name: found["c0", name, "price_per_query"] / call for name in ("bm25", "sketched", "passages", "chained")}
    assert prices == pytest.approx({"bm25": 0, "sketched": 2, "passages": 2, "chained": 3})
    assert found["c0", "reranked", "price_per_query"] == pytest.approx(
        call * found["c0", "reranked", "llm_calls_per_query"]
    )
    told = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    after = plan(folder, out)
    assert [row.finished for row in after.rows] == [True] * 7
    assert sum(row.calls for row in after.rows) == 0
    assert {row.system: row.held for row in after.rows if row.held} == {"sketched": 10}
    for name in ("passages", "read", "chained", "reranked"):
        (out / "runs" / "c0" / f"{name}.json").unlink()
    again = {row.system: row for row in plan(folder, out).rows}
    assert (again["passages"].calls, again["passages"].held) == (0, 10)
    assert (again["read"].calls, again["read"].held) == (10, 10)  # two prompts need no document
    assert (again["chained"].calls, again["chained"].held) == (10, 5)
    assert (again["reranked"].calls, again["reranked"].held) == (15, 0)
    assert not again["read"].finished
    now = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    assert now.items() <= told.items() | {(path, stamp) for path, stamp in now.items() if path.name == "c0"}


def test_a_model_without_a_price_and_one_that_is_recorded(folder: Path) -> None:
    text = (folder / "model.toml").read_text(encoding="utf-8")
    (folder / "model.toml").write_text(text.replace(PRICE, ""), encoding="utf-8")
    told = plan(folder)
    assert {row.system for row in told.rows if row.price is None} == {
        "sketched", "passages", "read", "chained", "reranked"
    }  # fmt: skip
    printed = plan_text(told)
    assert "the price of the model is not known" in printed
    assert printed.splitlines()[2].split() == ["c0", "bm25", "5", "to", "run", "0", "0", "0", "0", "0"]
    (folder / "raw.jsonl").write_text('{"qid": "t1", "raw": "slip", "finish": "stop"}\n', encoding="utf-8")
    (folder / "model.toml").write_text('[model]\nbackend = "recorded"\nreplies = "raw.jsonl"\n', encoding="utf-8")
    text = (folder / "e.toml").read_text(encoding="utf-8")
    start, end = text.index('\n[[systems]]\nname = "read"'), text.index('\n[[systems]]\nname = "reranked"')
    text = text.replace(text[start:end], "").replace("samples = 2\n", "samples = 1\n").replace(", samples = 2", "")
    (folder / "e.toml").write_text(text, encoding="utf-8")
    rows = {row.system: (row.calls, row.held) for row in plan(folder).rows}
    assert rows["passages"] == rows["sketched"] == (0, 5)


@pytest.mark.java
def test_the_command_prints_the_plan_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def sira(*arguments: str | Path) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    tables = collections(tmp_path, 2, 1)
    (tmp_path / "e.toml").write_text(HEAD + tables + BM25 + BOTH + RRF + SELECT, encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    status, out, _ = sira("run", tmp_path / "e.toml", "--dry-run", "--systems", "rrf", "--collections", "c1")
    assert status == 0
    assert [line.split()[:2] for line in out.splitlines()[2:10]] == [
        *(["c0", row] for row in read_experiment(tmp_path / "e.toml").selecting[0].rows()),
        ["c1", "bm25"], ["c1", "both"], ["c1", "rrf"], ["total", "7"],
    ]  # fmt: skip
    assert "both: one row is selected" in out
    assert sorted(tmp_path.rglob("*")) == before
    assert sira("run", tmp_path / "e.toml", "--systems", "rrf")[2].startswith("sira: error: name the results folder")
    status, out, told = sira("run", tmp_path / "e.toml", "--dry-run", "--systems", "none")
    assert (status, out) == (2, "")
    assert "the experiment has the systems bm25, both, " in told
    part = ["--systems", "bm25", "--collections", "c1", "--out", tmp_path / "o"]
    assert sira("run", tmp_path / "e.toml", *part, "--quiet")[0] == 0
    _, out, _ = sira("run", tmp_path / "e.toml", "--dry-run", "--collections", "c1", "--out", tmp_path / "o")
    assert [line.split()[1] for line in out.splitlines() if line.split()[3:4] == ["finished"]] == ["bm25"]


@pytest.mark.java
def test_a_selection_that_is_made_is_known_to_the_plan(tmp_path: Path) -> None:
    tables = collections(tmp_path, 2, 1)
    (tmp_path / "e.toml").write_text(HEAD + tables + BM25 + BOTH + SELECT, encoding="utf-8")
    experiment = read_experiment(tmp_path / "e.toml")
    run_experiment(experiment, tmp_path / "out", progress=False)
    told = plan_experiment(experiment, tmp_path / "out")
    assert all(row.finished for row in told.rows)
    assert told.notes == ()
    assert json.loads((tmp_path / "out" / "selection.json").read_text(encoding="utf-8"))


def test_what_cannot_be_run_cannot_be_planned(tmp_path: Path) -> None:
    text = HEAD + collections(tmp_path, 1) + BM25 + '\n[[systems]]\nname = "x"\nkind = "hyde"\nllm = "none.toml"\n'
    (tmp_path / "e.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"none\.toml: there is no such file"):
        plan(tmp_path)

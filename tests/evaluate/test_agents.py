"""Agents as rows of an experiment, against a scripted endpoint: rankings, costs, replies that are kept, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sira.corpora.trec import read_run
from sira.errors import InputError
from sira.evaluate.config import read_experiment
from sira.evaluate.plan import plan_experiment, plan_text
from sira.evaluate.runner import run_experiment
from tests.evaluate import pots
from tests.llm.openai_server import Answer, OpenAIServer, completion

pytest.importorskip("openai", reason="wants the package openai")
pytestmark = pytest.mark.java

KINDS = ("react", "ircot", "search-r1", "grep-rag", "shell-agent", "pi-serini", "sira-agent")
TWO_CALLS = {"react", "search-r1", "shell-agent", "pi-serini", "sira-agent"}
USAGE = {"prompt_tokens": 100, "completion_tokens": 7}


class Model(OpenAIServer):
    """Knows the protocol of each agent: looks for `kiln` once, then answers. `broken`: HTTP 400 to all."""

    broken = False

    def _answer(self, body: dict[str, Any], key: str) -> Answer:
        self.calls.append(body)
        if self.broken:
            return Answer({"error": {"message": "out of order"}}, 418)
        system, later = body["messages"][0]["content"], len(body["messages"]) > 2
        if "tools" in body:
            paged = any(tool["function"]["name"] == "read_search_results" for tool in body["tools"])
            arguments = {"query": "kiln", **({"reason": "to find it"} if paged else {})}
            call = {"id": "a", "function": {"name": "search", "arguments": json.dumps(arguments)}}
            found = completion("Explanation: it is. [d0]\nExact Answer: kiln\nConfidence: 90%", usage=USAGE)
            return Answer(found if later else completion(None, usage=USAGE, tool_calls=[call]))
        if "<search>" in system:
            return Answer(completion("<answer>kiln</answer>" if later else "<search>kiln</search>", usage=USAGE))
        if "Command:" in system:
            return Answer(completion("Done: kiln" if later else "Command: grep -r -i -n kiln .", usage=USAGE))
        if "pattern" in system:
            return Answer(completion('["kiln"]', usage=USAGE))
        return Answer(completion("So the answer is kiln.", usage=USAGE))


@pytest.fixture
def model() -> Iterator[Model]:
    running = Model()
    yield running
    running.stop()


def written(folder: Path, server: Model, kinds: tuple[str, ...] = KINDS, more: str = "") -> Path:
    rows = "".join(f'\n[[systems]]\nname = "{kind}"\nkind = "{kind}"\nllm = "model.toml"\n{more}' for kind in kinds)
    (folder / "model.toml").write_text(
        f'[model]\nbackend = "openai"\nmodel = "served-model"\nbase_url = "{server.url}"\nmax_retries = 0\n'
        "concurrency = 3\n[model.price]\ndate = 2026-01-01\ninput_per_million = 10.0\noutput_per_million = 100.0\n",
        encoding="utf-8",
    )
    path = folder / "experiment.toml"
    path.write_text(pots.HEAD + pots.collections(folder, 1) + pots.BM25 + rows, encoding="utf-8")
    return path


def notes(out: Path, system: str) -> list[dict[str, Any]]:
    lines = (out / "runs" / "c0" / f"{system}.notes.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["agent"] for line in lines]


def test_every_agent_is_a_row_with_its_ranking_and_its_costs(
    tmp_path: Path, model: Model, capfd: pytest.CaptureFixture[str]
) -> None:
    experiment, out = read_experiment(written(tmp_path, model)), tmp_path / "out"
    run_experiment(experiment, out, progress=False)
    assert "%|" not in capfd.readouterr().err  # no bar, not while documents are written as files either
    asked = len(model.calls)
    values = pots.values(out)
    for kind in KINDS:
        run = read_run(out / "runs" / "c0" / f"{kind}.trec", kind)
        assert set(run.rankings) == {"t0", "t1", "t2", "t3", "t4"}, kind
        assert all("d0" in ranking.docids for ranking in run.rankings.values()), kind  # the one about kilns
        calls = 1 + (kind in TWO_CALLS)
        assert values["c0", kind, "llm_calls_per_query"] == calls
        assert values["c0", kind, "price_per_query"] == pytest.approx(calls * (100 * 10 + 7 * 100) / 1e6)
        assert {note["stop"] for note in notes(out, kind)} == {"answered"}, kind
    assert asked == 5 * sum(1 + (kind in TWO_CALLS) for kind in KINDS)
    report = (out / "report.md").read_text(encoding="utf-8")
    assert ["search-r1", "2", "1", "1", "answered 5"] in [
        [cell.strip() for cell in line.strip("|").split("|")] for line in report.splitlines()
    ]
    stamps = pots.stamps(out)
    run_experiment(experiment, out, progress=False)
    assert len(model.calls) == asked
    assert pots.stamps(out) == stamps != {}


def test_agent_mode_tells_what_it_opened_and_cited(tmp_path: Path, model: Model) -> None:
    out = tmp_path / "out"
    run_experiment(read_experiment(written(tmp_path, model, ("pi-serini",))), out, progress=False)
    for note in notes(out, "pi-serini"):
        assert (note["queries"], note["tool_calls"], note["cited"]) == (["kiln"], {"search": 1}, ["d0"])
        assert note["shown"][0] == "d0"
        assert note["answer"].endswith("Confidence: 90%")


def test_a_cell_that_is_redone_asks_for_nothing_that_is_kept(tmp_path: Path, model: Model) -> None:
    path, out = written(tmp_path, model), tmp_path / "out"
    run_experiment(read_experiment(path), out, progress=False)
    asked, run = len(model.calls), (out / "runs" / "c0" / "search-r1.trec").read_bytes()
    (out / "runs" / "c0" / "search-r1.json").unlink()
    run_experiment(read_experiment(path), out, progress=False)
    assert len(model.calls) == asked
    assert (out / "runs" / "c0" / "search-r1.trec").read_bytes() == run


def test_calls_that_failed_are_made_again_by_the_next_run(tmp_path: Path, model: Model) -> None:
    path, out = written(tmp_path, model, ("search-r1",)), tmp_path / "out"
    model.broken = True
    run_experiment(read_experiment(path), out, progress=False)
    assert {note["stop"] for note in notes(out, "search-r1")} == {"error"}
    assert pots.values(out)["c0", "search-r1", "zero_result_rate"] == 1
    model.broken = False
    run_experiment(read_experiment(path), out, progress=False)
    assert {note["stop"] for note in notes(out, "search-r1")} == {"answered"}


def test_a_plan_counts_the_rounds_that_an_agent_may_take(tmp_path: Path, model: Model) -> None:
    path = written(tmp_path, model, ("search-r1",), "agent = { rounds = 3, max_tokens = 50 }\n")
    plan = plan_text(plan_experiment(read_experiment(path)))
    assert model.calls == []
    assert "search-r1" in plan
    assert " 15" in plan  # five topics of three rounds
    assert " 750" in plan  # at fifty tokens each


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ('kind = "react"', 'kind = "react" needs `llm`, a model'),
        ('kind = "react"\nllm = "model.toml"\nsamples = 2', '`samples` has no meaning for kind = "react"'),
        ('kind = "bm25"\nagent = { rounds = 2 }', '`agent` has no meaning for kind = "bm25"'),
        ('kind = "react"\nllm = "model.toml"\nagent = { rounds = 0 }', "greater than or equal to 1"),
        ('kind = "react"\nllm = "local"', 'wants a model that makes tool calls: serve one and use backend = "openai"'),
        ('kind = "ircot"\nllm = "model.toml"\nprompt = "text-hyde"', "is of the text side"),
    ],
)
def test_what_does_not_fit_an_agent_is_refused(tmp_path: Path, model: Model, row: str, fault: str) -> None:
    path = written(tmp_path, model, ())
    path.write_text(f'{path.read_text(encoding="utf-8")}\n[[systems]]\nname = "x"\n{row}\n', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        run_experiment(read_experiment(path), tmp_path / "out", progress=False)
    assert fault in str(caught.value)
    assert not list(tmp_path.rglob("*.trec"))

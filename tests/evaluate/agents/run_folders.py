"""Run folders for tests: trajectories in sira's form and in Pi-Serini's, made by hand or at random."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def final(answer: str, confidence: int | None = 80, cited: Sequence[str] = ()) -> str:
    """A final text in the usual form."""
    marks = "".join(f" [{docid}]" for docid in cited)
    line = "" if confidence is None else f"\nConfidence: {confidence}%"
    return f"Explanation: it says so{marks}.\nExact Answer: {answer}{line}"


def trajectory(
    qid: str,
    answer: str | None = "Oslo",
    *,
    surfaced: Sequence[str] = (),
    previewed: Sequence[str] = (),
    opened: Sequence[str] = (),
    cited: Sequence[str] = (),
    confidence: int | None = 80,
    query: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """One trajectory of sira's; without an answer it ran out of time."""
    text = None if answer is None else final(answer, confidence, cited)
    steps: list[dict[str, Any]] = [
        {"type": "tool_call", "tool_name": "search", "arguments": {"query": "x"}, "output": "...", "failure": None}
    ]
    if text is not None:
        steps.append({"type": "output_text", "output": text})
    row: dict[str, Any] = {
        "metadata": {"benchmark_id": "test", "model": "agent-model", "query": query or f"Question {qid}?"},
        "query_id": qid,
        "tool_call_counts": {"search": 2, "read_search_results": 1, "read_document": len(opened)},
        "status": "timeout" if text is None else "completed",
        "stop_reason": "time" if text is None else "answered",
        "surfaced_docids": list(surfaced),
        "previewed_docids": list(previewed),
        "opened_docids": list(opened),
        "cited_docids": list(cited),
        "stats": {"elapsed_seconds": 12.5, "assistant_turns": 4},
        "result": steps,
        "usage": {"input_tokens": 1000, "input_tokens_cached": 400, "output_tokens": 200, "total_tokens": 1200},
        "price": {"amount": 0.02, "currency": "USD", "date": "2026-01-01"},
        "answer": None if text is None else {"text": text, "exact_answer": answer, "confidence": confidence},
        "errors": [],
        "provenance": {"sira": "0.1.0", "prompt_sha256": "ab" * 32, "index": {"name": "test", "documents": 9}},
    }
    return row | more


def pi_serini(qid: str, answer: str | None = "Oslo", **docids: Sequence[str]) -> dict[str, Any]:
    """One trajectory in Pi-Serini's own form: neither usage nor price nor stop reason."""
    text = None if answer is None else final(answer)
    steps: list[dict[str, Any]] = [
        {"type": "tool_call", "tool_name": "search", "arguments": {"query": "x"}, "output": "..."},
        {
            "type": "output_text",
            "tool_name": None,
            "arguments": None,
            "output": "pi-search extension failure (search): x",
        },
    ]
    if text is not None:
        steps.append({"type": "output_text", "tool_name": None, "arguments": None, "output": text})
    if text is None:
        steps.append({"type": "output_text", "tool_name": None, "arguments": None, "output": "pi stderr: killed"})
    names = ("surfaced_docids", "previewed_docids", "opened_docids", "cited_docids")
    return {
        "metadata": {"benchmark_id": "browsecomp-plus", "query_set_id": "q9", "model": "m", "query": f"Question {qid}?",
                     "prompt_variant": "plain_minimal"},
        "query_id": qid,
        "tool_call_counts": {"search": 1},
        "status": "timeout" if text is None else "completed",
        "completion_source": None if text is None else "assistant_text",
        **{name: list(docids.get(name.removesuffix("_docids"), ())) for name in names},
        "agent_docids": list({*docids.get("opened", ()), *docids.get("cited", ())}),
        "stats": {"elapsed_seconds": 30.0, "assistant_turns": 3, "pi_search_failures": 1, "timed_out": text is None},
        "result": steps,
    }  # fmt: skip


def write_run(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """One file a row; those beside them that every run has."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, row in enumerate(rows):
        (folder / f"{row['query_id'] if str(row['query_id']).isalnum() else number}.json").write_text(json.dumps(row))
    (folder / "run_setup.json").write_text('{"model": "m", "totalQueries": "2"}')
    (folder / "benchmark_manifest_snapshot.json").write_text('{"benchmark_id": "test"}')
    return folder


def random_run(
    questions: int, seed: int, *, skill: float = 0.5, price: float = 0.05
) -> tuple[list[dict[str, Any]], dict[str, dict[str, int]], dict[str, str]]:
    """Trajectories, qrels of evidence, and answers; a run of more `skill` finds and answers more."""
    labels, chance = random.Random(7), random.Random(seed)
    rows: list[dict[str, Any]] = []
    qrels: dict[str, dict[str, int]] = {}
    answers: dict[str, str] = {}
    for number in range(questions):
        qid = f"q{number}"
        wanted = [f"e{number}-{at}" for at in range(labels.randint(1, 9))]
        qrels[qid], answers[qid] = dict.fromkeys(wanted, 1), f"Answer {number}"
        found = [docid for docid in wanted if chance.random() < 0.6 + 0.4 * skill]
        noise = [f"n{number}-{at}" for at in range(chance.randint(30, 900))]
        surfaced = found + noise
        chance.shuffle(surfaced)
        surfaced.sort(key=lambda docid: chance.random() * (0.3 if docid in qrels[qid] else 1))
        previewed = [docid for docid in surfaced[:40] if chance.random() < 0.7]
        opened = [docid for docid in previewed if chance.random() < (0.7 if docid in qrels[qid] else 0.1)]
        cited = [docid for docid in opened if chance.random() < (0.8 if docid in qrels[qid] else 0.1)]
        right = chance.random() < skill
        said = None if chance.random() < 0.08 else answers[qid] if right else "something else"
        row = trajectory(
            qid, said, surfaced=surfaced, previewed=previewed, opened=opened, cited=cited,
            confidence=min(100, int(chance.gauss(80 if right else 55, 12))),
        )  # fmt: skip
        searches = chance.randint(1, 30)
        row["tool_call_counts"] |= {"search": searches, "read_search_results": chance.randint(0, 6)}
        row["stats"]["elapsed_seconds"] = round(chance.lognormvariate(4, 0.6), 1)
        row["price"]["amount"] = round(price * searches / 10, 4)
        rows.append(row)
    return rows, qrels, answers

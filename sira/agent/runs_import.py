"""Runs of other systems as a run folder: BrowseComp-Plus's released files, and Pi-Serini's own.

BrowseComp-Plus has one JSON object a question (a line, or a file `run_*.json`): `query_id`, `status`,
`retrieved_docids`, and in `result` the calls of tools with their outputs as JSON text. Docids are read from those
outputs, never from prose.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sira import __version__
from sira.agent.answer import parse_answer
from sira.agent.base import StopReason
from sira.agent.citations import check_citations
from sira.agent.ledger import Ledger, Seen
from sira.agent.questions import read_questions
from sira.agent.run_folder import MANIFEST, SCHEMA, file_name, questions_facts, write_json
from sira.agent.runs_merge import RUN_KIND
from sira.agent.trajectory import status_of
from sira.agent.trajectory_parts import written
from sira.corpora.rows import json_rows
from sira.errors import InputError
from sira.folders import staging
from sira.records import Topic

_TAKEN_OVER = ("metadata", "tool_call_counts", "stats", "usage", "result")


@dataclass(frozen=True, slots=True)
class ImportReport:
    """How many trajectories; which question set they are of, where one of those given holds them all."""

    trajectories: int
    query_set: str | None


def import_run(source: Path, out: Path, query_sets: Sequence[Path] = (), *, overwrite: bool = False) -> ImportReport:
    """Write a run folder of released files: one JSON Lines file, or a folder of JSON files.

    The question set is the smallest of `query_sets` that holds every question; its texts stand in where a record has
    none. Raises InputError for a record without `query_id` or `result`, a question that stands twice, and where no set
    holds all questions.
    """
    with staging(out, RUN_KIND, overwrite=overwrite) as folder:
        found: dict[str, str] = {}
        for place, record in _records(source):
            qid = _id(record.get("query_id"))
            if qid is None:
                raise InputError(f"{place}: has no query_id: give the files of a run, one JSON object a question")
            if qid in found:
                raise InputError(f"{place}: the question {qid!r} stands twice (also in {found[qid]}): keep one")
            found[qid] = place
            data = imported(qid, record, place)
            (folder / file_name(qid)).write_text(written(data) + "\n", encoding="utf-8", errors="backslashreplace")
        if not found:
            raise InputError(f"{source}: holds no record of a run: check that it is the right file")
        name, questions = _query_set(query_sets, list(found))
        asked = _with_questions(folder, list(found), name, questions)
        write_json(
            folder / MANIFEST,
            {
                "schema": SCHEMA, "sira": __version__, "imported_from": source.name, "query_set_id": name,
                "questions": questions_facts(asked), "settings": {"imported_from": source.name},
            },
        )  # fmt: skip
    return ImportReport(len(found), name)


def imported(qid: str, record: Mapping[str, Any], place: str) -> dict[str, Any]:
    """One released record as a trajectory. Raises InputError where it has no `result`."""
    result: Any = record.get("result")
    if not isinstance(result, list):
        raise InputError(f"{place}: has no list `result`: this is no record of a run")
    steps = [cast("dict[str, Any]", step) for step in cast("list[Any]", result) if isinstance(step, dict)]
    surfaced, opened, counts = _docids(steps)
    own = record.get("surfaced_docids")
    for docid in _ids(own if own is not None else record.get("retrieved_docids")):
        surfaced[docid] = None
    previewed = _ids(record["previewed_docids"]) if "previewed_docids" in record else tuple(surfaced)
    opened |= dict.fromkeys(_ids(record.get("opened_docids")))
    texts = [str(step.get("output") or "") for step in steps if step.get("type") == "output_text"]
    stop, said = _stop(record.get("status")), next((text for text in reversed(texts) if text.strip()), "")
    if stop is StopReason.ANSWERED and not said:
        stop = StopReason.EMPTY
    answered = stop is StopReason.ANSWERED
    known = Ledger(surfaced, dict.fromkeys(previewed, Seen("", 0)), {docid: [] for docid in opened})
    citations = check_citations(said, known) if answered else None
    cited = () if citations is None else citations.cited
    data: dict[str, Any] = {name: record[name] for name in _TAKEN_OVER if name in record}
    metadata: Any = data.get("metadata")
    calls = {name: count for name, count in Counter(step.get("tool_name") for step in steps).items() if name}
    return {
        **data,
        "metadata": {"query": record.get("query"), **(cast("dict[str, Any]", metadata) if metadata else {})},
        "query_id": qid,
        "tool_call_counts": data.get("tool_call_counts") or calls,
        "status": status_of(stop),
        "completion_source": "assistant_text" if answered else None,
        "stop_reason": stop,
        "surfaced_docids": list(surfaced),
        "previewed_docids": list(previewed),
        "opened_docids": list(opened),
        "cited_docids": list(cited),
        "agent_docids": list(dict.fromkeys((*opened, *cited))),
        "stats": data.get("stats") or _stats(steps, counts, stop),
        "result": steps,
        "usage": data.get("usage"),
        "price": None,
        "answer": parse_answer(said).to_json() if answered else None,
        "citations": None if citations is None else citations.to_json(),
        "errors": [] if answered else [f"status {record.get('status')!r}"],
        "provenance": {"sira": __version__, "imported_from": place},
    }


def _records(source: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, record) for each question of a file or folder."""
    if not source.is_dir():
        yield from ((str(place), row) for place, row in _lines_or_one(source))
        return
    for path in sorted(source.glob("*.json")):
        try:
            data: Any = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: not JSON ({error}): repair or remove the file") from None
        if isinstance(data, dict) and "query_id" in data:  # summaries and settings lie beside them
            yield path.name, cast("dict[str, Any]", data)


def _lines_or_one(source: Path) -> Iterator[tuple[object, dict[str, Any]]]:
    if source.suffix == ".json":
        try:
            data: Any = json.loads(source.read_bytes())
        except OSError as error:
            raise InputError(f"{source}: cannot be read ({error.strerror})") from None
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict):
            yield source.name, cast("dict[str, Any]", data)
            return
    for place, row in json_rows(source):
        yield f"{Path(place.path).name}, line {place.line_number}", row


def _docids(steps: Sequence[Mapping[str, Any]]) -> tuple[dict[str, None], dict[str, None], Counter[str]]:
    """(docids of lists of hits, docids of documents read, how many calls gave which) by the shape of the outputs."""
    surfaced: dict[str, None] = {}
    opened: dict[str, None] = {}
    counts: Counter[str] = Counter()
    for step in steps:
        if step.get("type") != "tool_call":
            continue
        output: Any = step.get("output")
        if isinstance(output, str):
            try:
                output = json.loads(output)
            except (ValueError, RecursionError):
                continue
        if isinstance(output, dict):
            fields = cast("dict[str, Any]", output)
            docid = _id(fields.get("docid"))
            if docid is not None and "text" in fields:
                opened[docid] = None
                counts["read"] += 1
            output = fields.get("results", fields.get("hits"))
        if isinstance(output, list):
            hits = [cast("dict[str, Any]", hit) for hit in cast("list[Any]", output) if isinstance(hit, dict)]
            surfaced |= dict.fromkeys(docid for hit in hits if (docid := _id(hit.get("docid"))) is not None)
            counts["search"] += 1
    return surfaced, opened, counts


def _stats(steps: Sequence[Mapping[str, Any]], counts: Counter[str], stop: StopReason) -> dict[str, Any]:
    """What the steps tell; times are not in them."""
    return {
        "elapsed_seconds": None,
        "assistant_turns": None,
        "tool_calls_total": sum(step.get("type") == "tool_call" for step in steps),
        "search_calls": counts["search"],
        "read_document_calls": counts["read"],
        "timed_out": stop is StopReason.TIME,
    }


def _stop(status: object) -> StopReason:
    """The reason by the word of the other system."""
    word = str(status).lower()
    if word in ("completed", "complete", "success"):
        return StopReason.ANSWERED
    if "timeout" in word or "timed" in word:
        return StopReason.TIME
    if "iteration" in word or "turn" in word:
        return StopReason.TURNS
    if "token" in word or "length" in word:
        return StopReason.TOKENS
    return StopReason.ERROR


def _id(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def _ids(value: object) -> tuple[str, ...]:
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    return tuple(docid for item in listed if (docid := _id(item)) is not None)


def _query_set(paths: Sequence[Path], qids: Sequence[str]) -> tuple[str | None, list[Topic]]:
    """Name and questions of the smallest set that holds all of these; (None, []) where no set was given."""
    if not paths:
        return None, []
    sets = sorted(((len(topics), path.stem, topics) for path in paths for topics in [read_questions(path)]), key=_size)
    for _, name, topics in sets:
        if set(qids) <= {topic.qid for topic in topics}:
            return name, topics
    absent = next(qid for qid in qids if qid not in {topic.qid for topic in sets[-1][2]})
    raise InputError(f"no question set holds all questions: {absent!r} is not in {sets[-1][1]}, the largest")


def _size(item: tuple[int, str, list[Topic]]) -> tuple[int, str]:
    return item[0], item[1]


def _with_questions(folder: Path, qids: Sequence[str], name: str | None, questions: Sequence[Topic]) -> list[Topic]:
    """The questions as the records tell them, or else the set, whose texts and name go into the records."""
    texts = {topic.qid: topic.text for topic in questions}
    asked: list[Topic] = []
    for qid in qids:
        path = folder / file_name(qid)
        data: dict[str, Any] = json.loads(path.read_bytes())
        metadata = data["metadata"]
        metadata["query"] = metadata.get("query") or texts.get(qid)
        metadata["query_set_id"] = metadata.get("query_set_id") or name
        path.write_text(written(data) + "\n", encoding="utf-8", errors="backslashreplace")
        asked.append(Topic(qid, metadata["query"] or ""))
    return asked

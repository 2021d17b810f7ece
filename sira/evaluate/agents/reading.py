"""Reading the folder of an agent run: one trajectory a question, sira's or Pi-Serini's, with docids of any form.

A file that cannot be read is named and costs only its own question; a JSON file that is no trajectory (manifests,
summaries of a judge, other tools' notes) is left aside.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from sira.errors import DuplicateIdError, InputError
from sira.evaluate.agents.episodes import MISSING, Episode, distinct
from sira.evaluate.pricing import Amount
from sira.llm.base import Usage
from sira.llm.openai_body import token_count
from sira.records import Topic

MERGED = "merged"
"""Where Pi-Serini puts the files of a run that was made in shards."""
_NO_ANSWER = ("pi stderr:", "pi-search extension failure")
"""How texts begin that Pi-Serini puts among those of the model."""
_MOST = 2**53
_FACTS = ("benchmark_id", "query_set_id", "prompt_variant")


@dataclass(frozen=True, slots=True)
class AgentRun:
    """The episodes by qid in the order of the names of their files; `broken` are files that could not be read, with the
    fault; `ignored` JSON files that are no trajectories; `extra` questions that were not asked for, left out."""

    name: str
    folder: Path
    episodes: Mapping[str, Episode]
    broken: tuple[tuple[str, str], ...] = ()
    ignored: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def facts(self) -> dict[str, list[str]]:
        """What the files say of how they were made: the values of each fact, in order; several where files differ."""
        found: dict[str, dict[str, None]] = {}
        for episode in self.episodes.values():
            for name, value in episode.facts.items():
                found.setdefault(name, {})[value] = None
        return {name: list(values) for name, values in found.items()}


def read_agent_run(folder: str | Path, questions: Sequence[Topic] | None = None) -> AgentRun:
    """The run in a folder, or in its folder `merged` where only that holds trajectories.

    With `questions` these are the run's questions: one without a file is an episode of status `missing`. Raises
    InputError where there is no folder or no trajectory, DuplicateIdError where two files are of one question.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder; give that of an agent run, with one JSON file a question")
    episodes, broken, ignored = _episodes(folder)
    if not episodes and (folder / MERGED).is_dir():
        folder = folder / MERGED
        episodes, broken, ignored = _episodes(folder)
    if not episodes:
        cause = f": {broken[0][0]} cannot be read ({broken[0][1]})" if broken else ""
        raise InputError(f"{folder}: no trajectory in this folder{cause}; check that it is that of an agent run")
    name = (folder.resolve().parent if folder.name == MERGED else folder.resolve()).name
    run = AgentRun(name, folder, episodes, tuple(broken), tuple(ignored))
    return run if questions is None else _asked(run, questions)


def _asked(run: AgentRun, questions: Iterable[Topic]) -> AgentRun:
    asked = {topic.qid: topic.text for topic in questions}
    if not asked.keys() & run.episodes.keys():
        raise InputError(f"{run.folder}: none of its questions is among the {len(asked)} given; check that file")
    episodes = {qid: run.episodes.get(qid) or Episode(qid, text, status=MISSING) for qid, text in asked.items()}
    return replace(run, episodes=episodes, extra=tuple(qid for qid in run.episodes if qid not in asked))


def _episodes(folder: Path) -> tuple[dict[str, Episode], list[tuple[str, str]], list[str]]:
    episodes: dict[str, Episode] = {}
    broken: list[tuple[str, str]] = []
    ignored: list[str] = []
    for path in sorted(folder.glob("*.json")):
        if path.name.startswith(".") or not path.is_file():
            continue
        try:
            row: object = json.loads(path.read_bytes())
            if not _is_trajectory(row):
                ignored.append(path.name)
                continue
            episode = read_episode(cast("dict[str, Any]", row), path.name)
        except (OSError, ValueError, RecursionError) as error:
            broken.append((path.name, str(error) or type(error).__name__))
            continue
        if episode.qid in episodes:
            raise DuplicateIdError(
                f"{folder}: {episodes[episode.qid].file} and {path.name} are both of the question {episode.qid!r}; "
                "remove one of them"
            )
        episodes[episode.qid] = episode
    return episodes, broken, ignored


def _is_trajectory(row: object) -> bool:
    if not isinstance(row, dict):
        return False
    return "query_id" in row and ("result" in row or "surfaced_docids" in row or "retrieved_docids" in row)


def read_episode(row: Mapping[str, Any], file: str = "") -> Episode:
    """One trajectory. Raises ValueError, naming the field, where it is not of its form."""
    qid = row["query_id"]
    if type(qid) is int:
        qid = str(qid)
    if not isinstance(qid, str) or not qid:
        raise ValueError(f"query_id: {qid!r} is no qid")
    metadata, stats = _object(row, "metadata"), _object(row, "stats")
    status = row.get("status")
    answer = _object(row, "answer")
    steps = _list(row, "result")
    surfaced = _docids(row, "surfaced_docids")
    return Episode(
        qid=qid,
        query=_text(metadata.get("query")),
        file=file,
        status=status if isinstance(status, str) and status else "unknown",
        stop_reason=_text(row.get("stop_reason")) or None,
        answer=_text(answer.get("text")) or _last_text(steps),
        surfaced=_docids(row, "retrieved_docids") if surfaced is None else surfaced,
        previewed=_docids(row, "previewed_docids"),
        opened=_docids(row, "opened_docids"),
        cited=_docids(row, "cited_docids"),
        calls=_counts(row, "tool_call_counts"),
        failures=_failures(steps, stats),
        errors=tuple(_shown(item) for item in _list(row, "errors")),
        seconds=_number(stats.get("elapsed_seconds")),
        turns=None if (turns := _number(stats.get("assistant_turns"))) is None else int(turns),
        usage=_usage(row),
        price=_price(row),
        facts=_facts(row, metadata),
    )


def _object(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object under a name; {} where it is absent or null."""
    value = row.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{name}: an object is expected")
    return cast("dict[str, Any]", value)


def _list(row: Mapping[str, Any], name: str) -> list[Any]:
    value = row.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{name}: a list is expected")
    return cast("list[Any]", value)


def _docids(row: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    if row.get(name) is None:
        return None
    docids: list[str] = []
    for item in _list(row, name):
        if not isinstance(item, str) and type(item) is not int:
            raise ValueError(f"{name}: {item!r} is no docid")
        docids.append(str(item))
    return distinct(docids)


def _counts(row: Mapping[str, Any], name: str) -> dict[str, int]:
    return {tool: count for tool, told in _object(row, name).items() if (count := token_count(told)) or told == 0}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(value: object) -> float | None:
    """None for what is no number, below 0, or beyond what anything can take."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _MOST:
        return None
    return float(value)


def _last_text(steps: Sequence[object]) -> str:
    """The last text of the model; Pi-Serini's own words among the texts are none."""
    for step in reversed(steps):
        if isinstance(step, dict):
            fields = cast("dict[str, object]", step)
            text = _text(fields.get("output"))
            if fields.get("type") == "output_text" and text.strip() and not text.startswith(_NO_ANSWER):
                return text
    return ""


def _failures(steps: Sequence[object], stats: Mapping[str, Any]) -> dict[str, int]:
    """By kind where the steps tell, else Pi-Serini's count of all."""
    kinds: Counter[str] = Counter()
    for step in steps:
        fields = cast("dict[str, object]", step) if isinstance(step, dict) else {}
        kind = fields.get("failure")
        if fields.get("type") == "tool_call" and isinstance(kind, str) and kind:
            kinds[kind] += 1
    if kinds:
        return dict(kinds)
    count = _number(stats.get("pi_search_failures"))
    return {"failed": int(count)} if count else {}


def _usage(row: Mapping[str, Any]) -> Usage | None:
    """sira's and BrowseComp-Plus's names of tokens are the same. None without counts."""
    told = _object(row, "usage")
    names = ("input_tokens", "output_tokens", "input_tokens_cached")
    counts = [_number(told.get(name)) for name in names]
    if counts[0] is None or counts[1] is None:
        return None
    return Usage(*(int(count or 0) for count in counts))


def _price(row: Mapping[str, Any]) -> Amount | None:
    told = _object(row, "price")
    amount, currency = _number(told.get("amount")), told.get("currency")
    return None if amount is None else Amount(amount, currency if isinstance(currency, str) and currency else None)


def _facts(row: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, str]:
    """What tells runs apart, flat: objects as JSON."""
    provenance = _object(row, "provenance")
    told = {"model": metadata.get("model")} | {name: metadata.get(name) for name in _FACTS} | dict(provenance)
    return {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
        for name, value in told.items()
        if value is not None and value != ""
    }

"""`sira status`: how far an expansion job is, shard by shard, on all machines that work on its folder."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.tables import printable, text_table

if TYPE_CHECKING:
    import datetime as dt

    from sira.expand.status import JobStatus, ShardStatus

HELP = "show how far an expansion job is, by shard, and how long it will take"
FAILED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{HELP}. Reads the small files beside the shards only, from any machine that sees the folder. Shards count "
        "from 1, as `sira expand --shard` takes them; from 0 in --json, as in the names of the files. Exit status: 0 "
        "when the job is complete or nothing is amiss, 1 when a shard failed or its process gives no sign of life."
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of the job: --out of `sira expand`")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")


def run(arguments: argparse.Namespace) -> int:
    import datetime as dt

    from sira.expand.status import read_status

    now = dt.datetime.now(dt.UTC)
    job = read_status(arguments.folder, now)
    print(json.dumps(to_json(job), ensure_ascii=False, indent=1) if arguments.json else render(job, now))
    return FAILED if job.needs_help else 0


def render(job: JobStatus, now: dt.datetime) -> str:
    """The report as text: the shards that have begun, those that have not, what is amiss, and the totals."""
    from sira.expand.status import State

    begun = [shard for shard in job.shards if shard.state is not State.MISSING]
    missing = [shard.shard + 1 for shard in job.shards if shard.state is State.MISSING]
    head = ["shard", "state", "done", "of", "%", "docs/s", "tokens/s in", "out", "failures", "last seen", "host"]
    lines = [f"{job.folder}: {job.name}" if job.name else job.folder]
    parts = [text_table(head, [_row(shard, now) for shard in begun])] if begun else []
    if missing:
        lines.append(f"{len(missing)} of {len(job.shards)} shards not started: {ranges(missing)}")
    for shard in job.shards:
        if shard.state is State.FAILED:
            lines.append(f"shard {shard.shard + 1}: {_why(shard)}")
        elif shard.state is State.STALE and shard.last_seen:
            lines.append(
                f"shard {shard.shard + 1}: no sign of life since {shard.last_seen:%Y-%m-%d %H:%M:%S} UTC on "
                f"{shard.host or 'an unnamed host'}: where its process is gone, start it again with "
                f"--shard {shard.shard + 1}/{len(job.shards)}"
            )
    lines += [f"note: {note}" for note in job.notes]
    lines += _totals(job)
    return "\n".join([*parts, *(printable(line) for line in lines)])


def _why(shard: ShardStatus) -> str:
    if shard.stopped and shard.stopped.startswith("failed"):
        return shard.stopped
    return "failed: its file is gone"


def _row(shard: ShardStatus, now: dt.datetime) -> list[str]:
    stopped = shard.stopped if shard.state == "stopped" and shard.stopped not in (None, "finished") else None
    return [
        str(shard.shard + 1),
        stopped or shard.state.value,
        f"{shard.done:,}",
        "-" if shard.documents is None else f"{shard.documents:,}",
        percent(shard.done, shard.documents),
        _figure(shard.documents_per_second),
        _figure(shard.prompt_tokens_per_second),
        _figure(shard.completion_tokens_per_second),
        "-" if shard.statuses is None else f"{shard.failures:,}",
        "-" if shard.last_seen is None else f"{duration((now - shard.last_seen).total_seconds())} ago",
        shard.host or "-",
    ]


def _totals(job: JobStatus) -> list[str]:
    from sira.expand.status import State

    states = [shard.state for shard in job.shards]
    running = [shard for shard in job.shards if shard.state is State.RUNNING]
    of = "an unknown number of" if job.documents is None else f"{'about ' if job.estimated else ''}{job.documents:,}"
    lines = [
        f"{job.done:,} of {of} documents ({percent(job.done, job.documents)} %), "
        f"{states.count(State.FINISHED)} of {len(states)} shards finished"
    ]
    if job.statuses:
        lines.append("rows: " + ", ".join(f"{rows:,} {status}" for status, rows in job.statuses.items()))
    skipped = sum(shard.skipped for shard in job.shards)
    if skipped:
        lines.append(f"{skipped:,} records of the corpus are no documents or come twice, and have no row")
    tokens = {
        name: sum(getattr(shard.usage, name) for shard in job.shards)
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens")
    }
    if any(tokens.values()):
        lines.append(
            f"tokens: {tokens['prompt_tokens']:,} in ({tokens['cached_tokens']:,} of them from the prefix cache), "
            f"{tokens['completion_tokens']:,} out"
        )
    hours = sum(shard.gpu_seconds for shard in job.shards) / 3600
    if hours:
        lines.append(f"GPU hours: {hours:.2f}")
    if job.complete:
        lines.append("complete")
    elif not running:
        lines.append("nothing runs")
    else:
        hosts, gpus = len({shard.host for shard in running}), sum(shard.gpus for shard in running)
        lines.append(
            f"{len(running)} running on {hosts} {'machine' if hosts == 1 else 'machines'}"
            f"{f' with {gpus} GPUs' if gpus else ''}: {_figure(job.documents_per_second or None)} docs/s; "
            + ("no rate yet" if job.seconds_left is None else f"{duration(job.seconds_left)} left at this rate")
        )
    return lines


def percent(part: int, whole: int | None) -> str:
    """Rounded down, so that 100 means all; `-` where the whole is not known."""
    if whole is None:
        return "-"
    return f"{part * 1000 // whole / 10:.1f}" if whole else "100.0"


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """In the two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes < 60:
        return f"{minutes} min {whole % 60:02} s"
    return f"{hours} h {minutes % 60:02} min" if hours < 24 else f"{days} d {hours % 24:02} h"


def ranges(numbers: list[int]) -> str:
    """Ascending numbers with their runs joined: 1, 3-5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def to_json(job: JobStatus) -> dict[str, Any]:
    """The same as JSON-ready values; times in ISO 8601, UTC."""
    data: dict[str, Any] = {
        "folder": job.folder,
        "name": job.name,
        "fingerprint": job.fingerprint,
        "complete": job.complete,
        "needs_help": job.needs_help,
        "documents": job.documents,
        "documents_estimated": job.estimated,
        "done": job.done,
        "statuses": dict(job.statuses),
        "documents_per_second": job.documents_per_second,
        "seconds_left": job.seconds_left,
        "notes": list(job.notes),
        "shards": [],
    }
    for shard in job.shards:
        row = asdict(shard) | {"state": shard.state.value}
        row["last_seen"] = shard.last_seen.isoformat(timespec="seconds") if shard.last_seen else None
        data["shards"].append(row)
    return data

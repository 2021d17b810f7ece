"""How far an expansion job is, from the small files beside its shards; the shards themselves are never read.

Machines work on one folder, each with a clock of its own. A session is alive where its progress file was written
within the last two minutes, by the clock of its machine or by the time that the file system gave the file.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sira.errors import InputError
from sira.expand.progress import progress_path, read_progress
from sira.expand.shard import shard_name
from sira.llm.base import Usage

STALE_SECONDS = 120.0
_PROGRESS = re.compile(r"shard-(\d{5,})-of-(\d{5,})\.progress\.json")
_MOST_SHARDS = 100_000


class State(StrEnum):
    """What one shard is doing."""

    FINISHED = "finished"
    RUNNING = "running"
    STALE = "no sign of life"
    FAILED = "failed"
    STOPPED = "stopped"
    """Interrupted by its user, or it waits for a batch file."""
    UNREADABLE = "unreadable"
    """Work began, but the progress file is absent or half-written."""
    MISSING = "not started"


NEEDS_HELP = frozenset({State.STALE, State.FAILED})
"""The states that nobody but the user ends."""


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Session(_File):
    """One process's work on a shard: `done` documents and `usage` tokens in `seconds`. `stopped` is None as long as it
    works; otherwise `finished`, `interrupted`, `pending` or `failed: ...`."""

    host: str = ""
    pid: int | None = None
    updated: dt.datetime
    seconds: float = Field(0.0, ge=0)
    done: int = 0
    usage: Usage = Usage()
    gpus: int = 0
    stopped: str | None = None

    @property
    def updated_utc(self) -> dt.datetime:
        """`updated` with its time zone; UTC where it names none."""
        return self.updated if self.updated.tzinfo else self.updated.replace(tzinfo=dt.UTC)


class ProgressFile(_File):
    """What is needed of a shard's progress file."""

    documents: int = Field(ge=0)
    done: int = Field(0, ge=0)
    skipped: int = 0
    statuses: Mapping[str, int] = {}
    failures: int = 0
    usage: Usage = Usage()
    finished: bool = False
    sessions: tuple[Session, ...] = ()


class JobFile(_File):
    """What is needed of job.json."""

    name: str = ""
    fingerprint: str = ""
    shards: int = Field(ge=1, le=_MOST_SHARDS)


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """One shard, counted from 0. Rates are those of its session that runs now, None where none does.

    `documents` and `last_seen` are None where no file tells; `stopped` is how the last session ended.
    """

    shard: int
    state: State
    documents: int | None = None
    done: int = 0
    skipped: int = 0
    statuses: Mapping[str, int] | None = None
    failures: int = 0
    usage: Usage = field(default_factory=Usage)
    gpu_seconds: float = 0.0
    host: str | None = None
    last_seen: dt.datetime | None = None
    stopped: str | None = None
    documents_per_second: float | None = None
    prompt_tokens_per_second: float | None = None
    completion_tokens_per_second: float | None = None
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class JobStatus:
    """All shards in order. `notes` tell what could not be read or looks odd, a line each."""

    folder: str
    name: str
    fingerprint: str
    shards: tuple[ShardStatus, ...]
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return all(shard.state is State.FINISHED for shard in self.shards)

    @property
    def needs_help(self) -> bool:
        """Whether a shard failed or went silent."""
        return any(shard.state in NEEDS_HELP for shard in self.shards)

    @property
    def done(self) -> int:
        return sum(shard.done for shard in self.shards)

    @property
    def estimated(self) -> bool:
        """Whether `documents` is partly a guess: a shard that has not begun counts as the mean of the others."""
        return any(shard.documents is None for shard in self.shards)

    @property
    def documents(self) -> int | None:
        """None where no shard tells."""
        known = [shard.documents for shard in self.shards if shard.documents is not None]
        return round(sum(known) * len(self.shards) / len(known)) if known else None

    @property
    def statuses(self) -> Mapping[str, int]:
        total: Counter[str] = Counter()
        for shard in self.shards:
            total.update(shard.statuses or {})
        return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))

    @property
    def documents_per_second(self) -> float:
        """The sum over the sessions that run now."""
        return sum(shard.documents_per_second or 0.0 for shard in self.shards)

    @property
    def seconds_left(self) -> float | None:
        """At the present rate of all machines together; None where nothing runs or nothing is done yet."""
        if self.complete:
            return 0.0
        rate = self.documents_per_second
        return max(self.documents - self.done, 0) / rate if self.documents is not None and rate > 0 else None


class Sign(NamedTuple):
    """The last sign of life: how long ago, and how far the machine's clock is ahead of this one (0: not notably)."""

    age_seconds: float
    ahead_seconds: float


def last_sign(updated: dt.datetime, written: float, now: dt.datetime) -> Sign:
    """From what the session wrote and from the time of the file (seconds since 1970), the later one.

    A time that lies in the future by more than STALE_SECONDS comes from a wrong clock and says nothing.
    """
    ages = [(now - updated).total_seconds(), now.timestamp() - written]
    possible = [age for age in ages if age >= -STALE_SECONDS]
    return Sign(max(min(possible, default=0.0), 0.0), -ages[0] if ages[0] < -STALE_SECONDS else 0.0)


def read_status(folder: Path, now: dt.datetime | None = None) -> JobStatus:
    """The job in a folder, as of `now` (with a time zone). Raises InputError where there is none."""
    now = now or dt.datetime.now(dt.UTC)
    names = {file.name for file in folder.iterdir()} if folder.is_dir() else set[str]()
    found = {name: match for name in names if (match := _PROGRESS.fullmatch(name))}
    if "job.json" not in names and not found:
        raise InputError(f"{folder}: no expansion job: there is neither job.json nor a progress file; check the path")
    notes: list[str] = []
    job = _job(folder, notes)
    shards = job.shards if job else max((int(match[2]) for match in found.values()), default=0)
    if not 0 < shards <= _MOST_SHARDS:
        raise InputError(f"{folder / 'job.json'}: cannot be read, and no progress file tells the number of shards")
    other = sorted(name for name, match in found.items() if int(match[2]) != shards or int(match[1]) >= shards)
    if other:
        notes.append(f"{len(other)} progress files of another number of shards than {shards} are left out: {other[0]}")
    statuses = tuple(_shard(folder, names, shard, shards, now=now, notes=notes) for shard in range(shards))
    return JobStatus(str(folder), job.name if job else "", job.fingerprint if job else "", statuses, tuple(notes))


def _job(folder: Path, notes: list[str]) -> JobFile | None:
    try:
        return JobFile.model_validate_json((folder / "job.json").read_bytes())
    except (OSError, ValidationError):
        notes.append("job.json is absent, half-written or damaged: the number of shards is that of the file names")
        return None


def _shard(
    folder: Path, names: set[str], shard: int, shards: int, *, now: dt.datetime, notes: list[str]
) -> ShardStatus:
    final = folder / shard_name(shard, shards)
    whole, part = names & {final.name, f"{final.name}.gz"}, f"{final.name}.part" in names
    file = progress_path(final)
    try:
        progress = ProgressFile.model_validate(read_progress(file))
        written = file.stat().st_mtime
    except (OSError, ValidationError):
        if file.name in names:
            notes.append(f"{file.name} is half-written or damaged: what it told is left out")
        if whole and not part:
            return ShardStatus(shard, State.FINISHED)
        return ShardStatus(shard, State.UNREADABLE if part or file.name in names else State.MISSING)
    session = progress.sessions[-1] if progress.sessions else None
    sign = None if session is None else last_sign(session.updated_utc, written, now)
    if session and sign and sign.ahead_seconds:
        notes.append(f"the clock of {session.host or 'a machine'} is {sign.ahead_seconds:.0f} s ahead of this one's")
    if progress.finished and not whole and not part:
        notes.append(f"{file.name} says finished, but {final.name} is not there: put it back, or run the shard again")
    state = _state(progress, sign, whole=bool(whole), part=part)
    documents = progress.documents
    found = ShardStatus(
        shard=shard,
        state=state,
        documents=documents,
        done=documents if state is State.FINISHED else progress.done,
        skipped=progress.skipped,
        statuses=progress.statuses,
        failures=progress.failures,
        usage=progress.usage,
        gpu_seconds=sum(item.seconds * item.gpus for item in progress.sessions),
    )
    if session is None or sign is None:
        return found
    found = replace(
        found,
        host=session.host or None,
        last_seen=now - dt.timedelta(seconds=sign.age_seconds),
        stopped=session.stopped,
    )
    if state is not State.RUNNING:
        return found
    return replace(
        found,
        gpus=session.gpus,
        documents_per_second=_rate(session.done, session.seconds),
        prompt_tokens_per_second=_rate(session.usage.prompt_tokens, session.seconds),
        completion_tokens_per_second=_rate(session.usage.completion_tokens, session.seconds),
    )


def _state(progress: ProgressFile, sign: Sign | None, *, whole: bool, part: bool) -> State:
    """`whole`: the finished file is there; `part`: the file of a shard at work is there."""
    if whole and not part:
        return State.FINISHED
    if progress.finished and not part:
        return State.FAILED
    if sign is None:
        return State.STOPPED
    stopped = progress.sessions[-1].stopped
    if stopped is None:
        return State.RUNNING if sign.age_seconds <= STALE_SECONDS else State.STALE
    return State.FAILED if stopped.startswith("failed") else State.STOPPED


def _rate(amount: int, seconds: float) -> float | None:
    return amount / seconds if amount > 0 and seconds > 0 else None

"""The files of judgments: RUN/judgments/JUDGE/judge.json says who judged and how, and each question has a file in the
folder `verdicts` beside it.

Every file is written whole or not at all, so that a run of judging that was killed goes on with what it lacks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from sira.agent.run_folder import file_name
from sira.corpora.files import replacing
from sira.errors import InputError, NotFoundError
from sira.evaluate.agents.judge_prompt import LABELS, MODES, Mode, prompt_digest
from sira.evaluate.agents.verdicts import Unjudged, Verdict
from sira.evaluate.fingerprint import digest
from sira.llm.base import Usage
from sira.llm.openai_body import token_count
from sira.llm.settings import ModelSettings

FOLDER, MANIFEST, VERDICTS = "judgments", "judge.json", "verdicts"
MAX_TOKENS, ATTEMPTS = 1024, 3


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judges and how: all that decides a verdict beside the question, its answers and the response."""

    mode: Mode
    model: Mapping[str, Any]
    sampling: Mapping[str, Any]
    max_tokens: int = MAX_TOKENS
    seed: int = 0
    attempts: int = ATTEMPTS
    """Replies that are read of one answer at most, where they cannot be understood."""
    prompt: str = ""
    prompt_sha256: str = ""

    @classmethod
    def of(cls, mode: Mode, model: Mapping[str, Any], settings: ModelSettings, *, attempts: int = ATTEMPTS) -> Judge:
        """A judge with the prompt of today; `model` is what the model is known by. Raises InputError for a wrong mode
        or bound."""
        if mode not in MODES:
            raise InputError(f"mode {mode!r}: choose {' or '.join(MODES)}")
        if attempts < 1:
            raise InputError(f"attempts = {attempts}: give 1 or more")
        sampling = {name: value for name, value in settings.sampling().items() if name != "seed"}
        most = settings.max_tokens or MAX_TOKENS
        return cls(mode, model, sampling, most, settings.seed, attempts, LABELS[mode], prompt_digest(mode))

    @property
    def fingerprint(self) -> str:
        """64 hex digits; the prompt's name and the bound of attempts are none of it, its digest is."""
        return digest({name: value for name, value in asdict(self).items() if name not in ("prompt", "attempts")})

    @property
    def name(self) -> str:
        """The name of its folder: model, mode, and enough of the fingerprint to tell two settings apart."""
        model = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(str(self.model.get("model") or "model")).name).strip("-.")
        return f"{model[:60] or 'model'}-{self.mode}-{self.fingerprint[:8]}"

    def asked(self, question: str, response: str, answers: tuple[str, ...]) -> str:
        """The hash of one judgment; a verdict of another one does not stand for it."""
        return digest([self.fingerprint, question, response, list(answers)])


@dataclass(frozen=True, slots=True)
class Judged:
    """The judgments of one judge. `manifest` is judge.json; `broken` are files that could not be read."""

    name: str
    manifest: Mapping[str, Any]
    verdicts: Mapping[str, Verdict]
    broken: tuple[tuple[str, str], ...] = ()

    @property
    def fingerprint(self) -> str:
        return str(self.manifest.get("fingerprint", ""))

    @property
    def mode(self) -> str:
        return str(self.manifest.get("mode", ""))

    @property
    def label(self) -> str:
        """As reports name it."""
        model = cast("dict[str, Any]", self.manifest.get("model") or {})
        return f"{self.name} ({self.mode} judge, model {model.get('model') or '?'})"


def response_hash(response: str) -> str:
    """16 hex digits, by which a verdict is known to be of this response."""
    return digest(response)[:16]


def write_manifest(folder: Path, judge: Judge, facts: Mapping[str, Any]) -> None:
    """Make the folder of a judge, which the caller holds (`sira.folders.owned`); of one that is there `facts` are
    renewed. Raises InputError where it is of another judge."""
    path = folder / MANIFEST
    if path.exists():
        known = _read(path).get("fingerprint")
        if known != judge.fingerprint:
            raise InputError(
                f"{folder}: holds the judgments of another judge (model, sampling, mode or prompt differ); "
                "give another --name"
            )
    (folder / VERDICTS).mkdir(parents=True, exist_ok=True)
    for left in (*folder.glob(".*.tmp"), *(folder / VERDICTS).glob(".*.tmp")):  # of a process that was killed
        left.unlink(missing_ok=True)
    _write(path, {"form": 1, **asdict(judge), "fingerprint": judge.fingerprint, **facts})


def write_verdict(folder: Path, verdict: Verdict) -> None:
    row = asdict(verdict)
    _write(folder / VERDICTS / file_name(verdict.qid), {"query_id": row.pop("qid"), **row})


def read_judged(folder: Path) -> Judged:
    """The judgments in the folder of a judge. Raises InputError where judge.json is absent or damaged."""
    manifest = _read(folder / MANIFEST)
    if manifest.get("mode") not in MODES:
        raise InputError(f"{folder / MANIFEST}: no file of `sira judge`; remove the folder or judge again")
    verdicts: dict[str, Verdict] = {}
    broken: list[tuple[str, str]] = []
    for path in sorted((folder / VERDICTS).glob("*.json")):
        if path.name.startswith("."):
            continue
        try:
            row: object = json.loads(path.read_bytes())
            if isinstance(row, dict) and "query_id" in row and "asked" in row:
                verdict = _verdict(cast("dict[str, Any]", row))
                verdicts[verdict.qid] = verdict
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            broken.append((path.name, str(error)))
    return Judged(folder.name, manifest, verdicts, tuple(broken))


def read_judges(run: Path, only: str | None = None) -> tuple[Judged, ...]:
    """All judges of a run by name, `only` first where it is given. Raises NotFoundError where it is not there."""
    folder = run / FOLDER
    found = [path for path in sorted(folder.iterdir()) if (path / MANIFEST).exists()] if folder.is_dir() else []
    if only is not None:
        names = [path.name for path in found]
        if only not in names:
            there = f"there are {', '.join(names)}" if names else "`sira judge` makes one"
            raise NotFoundError(f"{run}: no judge {only!r}; {there}")
        found.sort(key=lambda path: path.name != only)
    return tuple(read_judged(path) for path in found)


def _verdict(row: Mapping[str, Any]) -> Verdict:
    correct, reason, usage = row["correct"], row["unjudged"], row["usage"]
    if not (correct is None or isinstance(correct, bool)) or (correct is None) == (reason is None):
        raise ValueError("correct: true, false, or null with a reason under `unjudged`")
    names = ("prompt_tokens", "completion_tokens", "cached_tokens")
    return Verdict(
        qid=str(row["query_id"]),
        correct=correct,
        unjudged=None if reason is None else Unjudged(reason),
        detail=row.get("detail"),
        extracted=None if row.get("extracted") is None else str(row["extracted"]),
        reasoning=str(row.get("reasoning") or ""),
        confidence=None if row.get("confidence") is None else float(row["confidence"]),
        salvaged=bool(row.get("salvaged")),
        attempts=int(row.get("attempts") or 0),
        usage=Usage(*(token_count(usage.get(name)) for name in names)),
        asked=str(row["asked"]),
        response=str(row.get("response") or ""),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        row: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; judge the run by `sira judge`") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read ({error}); remove it and judge again") from None
    if not isinstance(row, dict):
        raise InputError(f"{path}: no file of `sira judge`; remove the folder or judge again")
    return cast("dict[str, Any]", row)


def _write(path: Path, row: Mapping[str, Any]) -> None:
    with replacing(path) as stream:
        json.dump(row, stream, indent=1, default=str)  # in ASCII, lest half a surrogate pair stop it
        stream.write("\n")

"""What a judge said of one answer, read from its reply: strict JSON first, then salvage of what is plain.

A reply that cannot be read is `unjudged` with the reason, and never a wrong answer. Salvage takes a fenced object, one
inside prose, `yes` and `no` for booleans, `85%` for a number, and lines of the form `correct: yes`; never half an
object, and nothing where two places of a reply disagree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import Any, cast

from sira.llm.base import Finish, Usage
from sira.llm.salvage import MAX_STARTS
from sira.llm.thinking import answer


class Unjudged(StrEnum):
    """Why an answer has no verdict."""

    NOT_ANSWERED = "not_answered"
    """The episode has no final answer; no judge was asked."""
    NO_GOLD_ANSWER = "no_gold_answer"
    """The file of answers lacks the question; no judge was asked."""
    UNPARSABLE = "unparsable"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    TOO_LONG = "too_long"
    ERROR = "error"
    NO_REPLY = "no_reply"


@dataclass(frozen=True, slots=True)
class Said:
    """What a reply says. `confidence` (0 to 100) is what the judge read in the answer, None where it says nothing;
    `salvaged`: not in the strict form."""

    correct: bool
    reasoning: str
    extracted: str | None = None
    confidence: float | None = None
    salvaged: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """One answer before one judge: `correct`, or None and then `unjudged` says why (`detail`: in whose words).

    `asked` is the hash of all that was judged and by whom, `response` that of the response alone; `attempts` counts the
    replies that were read, `usage` is of all of them.
    """

    qid: str
    correct: bool | None
    unjudged: Unjudged | None = None
    detail: str | None = None
    extracted: str | None = None
    reasoning: str = ""
    confidence: float | None = None
    salvaged: bool = False
    attempts: int = 0
    usage: Usage = field(default_factory=Usage)
    asked: str = ""
    response: str = ""


_LINE = r"^[ \t>*_#-]*{}[ \t*_]*[:=][ \t*_\"']*"
_CORRECT = re.compile(_LINE.format("correct") + r"(yes|no|true|false)[ \t.*_\"']*$", re.IGNORECASE | re.MULTILINE)
_FIELDS = {
    name: re.compile(_LINE.format(label) + r"(.*?)[ \t*_]*$", re.IGNORECASE | re.MULTILINE)
    for name, label in (
        ("reasoning", "reasoning"),
        ("extracted_final_answer", r"extracted[ _]final[ _]answer"),
        ("confidence", "confidence"),
    )
}
_NUMBER = re.compile(r"\s*(\d{1,3}(?:\.\d+)?)\s*%?\s*")
_BOOLEANS = {"yes": True, "true": True, "no": False, "false": False}


def parse_verdict(text: str, finish: Finish = Finish.STOP) -> Said | Unjudged:
    """What a reply says, or why nothing can be read in it. `correct` and `reasoning` must be there. Nothing is raised.

    A reply at its limit of tokens counts where its object is whole.
    """
    match finish:
        case Finish.STOP | Finish.LENGTH:
            said = _strict(text) or _salvaged(text, finish)
            return said or (Unjudged.TRUNCATED if finish is Finish.LENGTH else Unjudged.UNPARSABLE)
        case Finish.PENDING:
            return Unjudged.NO_REPLY
        case _:
            return Unjudged(finish.value)


def _strict(text: str) -> Said | None:
    try:
        value: object = json.loads(text.strip().removeprefix("\ufeff"), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    row = cast("dict[str, object]", value)
    said = _said(row)
    if said is None or not isinstance(row["correct"], bool):
        return said and _marked(said)
    return said


def _salvaged(text: str, finish: Finish) -> Said | None:
    rest = answer(text)
    if rest is None or not rest.strip():
        return None
    objects, broken = _objects(rest)
    found = [said for row in objects if "correct" in row for said in [_said(row)]]
    if not found and not broken and finish is Finish.STOP:
        found = [_lines(rest)]
    if not found or found[0] is None or any(said is None or said.correct != found[0].correct for said in found):
        return None
    return _marked(found[0])


def _marked(said: Said) -> Said:
    return Said(said.correct, said.reasoning, said.extracted, said.confidence, salvaged=True)


def _objects(text: str) -> tuple[list[dict[str, Any]], bool]:
    """The JSON objects that stand in a text, and whether one begins that cannot be read: what follows may be part of
    it, so that nothing at all counts."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_once)
    objects: list[dict[str, Any]] = []
    at = 0
    for _ in range(MAX_STARTS):
        at = text.find("{", at)
        if at < 0:
            break
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            if text[at + 1 :].lstrip()[:1] in ('"', ""):
                return [], True
            at += 1  # a brace of prose
        else:
            objects.append(value)
    return objects, False


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object; ValueError where a member stands twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member stands twice")
    return members


def _said(row: Mapping[str, object]) -> Said | None:
    correct, reasoning = _boolean(row.get("correct")), row.get("reasoning")
    if correct is None or not isinstance(reasoning, str) or not reasoning.strip():
        return None
    extracted = row.get("extracted_final_answer")
    return Said(
        correct, reasoning.strip(), extracted if isinstance(extracted, str) else None, _percent(row.get("confidence"))
    )


def _lines(text: str) -> Said | None:
    """Lines `correct: yes`, all alike, beside one of `reasoning`."""
    correct = {_BOOLEANS[found[1].lower()] for found in _CORRECT.finditer(text)}
    fields = {name: found[1] for name, pattern in _FIELDS.items() if (found := pattern.search(text))}
    return _said(fields | {"correct": correct.pop()}) if len(correct) == 1 else None


def _boolean(value: object) -> bool | None:
    if isinstance(value, str):
        return _BOOLEANS.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _percent(value: object) -> float | None:
    """Cut to 0 and 100; None for what is no number."""
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value)
        value = float(found[1]) if found else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        return None
    return min(100.0, max(0.0, float(value)))

"""The final text of an episode, taken apart: Explanation, Exact Answer, Confidence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_LEAD = r"[ \t>*_#`-]*"
"""Of Markdown, before a label."""
_MARKS = r"[ \t*_`]*"
"""The same behind it."""
_EXACT = re.compile(rf"^{_LEAD}exact[ _-]answer{_MARKS}[:：]{_MARKS}", re.IGNORECASE | re.MULTILINE)
_CONFIDENCE = re.compile(
    rf"^{_LEAD}confidence{_MARKS}[:：]{_MARKS}[~≈]?[ \t]*([+-]?\d+(?:[.,]\d+)?)[ \t*_]*(%?)",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL = re.compile(rf"^{_LEAD}(?:confidence|explanation|exact[ _-]answer){_MARKS}[:：]", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """`text` is all of it; `exact_answer` what its last line of this name says; `confidence` is 0 to 100, None where
    none is stated, which is not 0."""

    text: str
    exact_answer: str | None = None
    confidence: float | None = None

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "exact_answer": self.exact_answer, "confidence": self.confidence}


def parse_answer(text: str) -> Answer:
    """The parts of a final text; the last line of each name counts, bold or not. `Confidence: 0.9` is 0.9 of 100, as
    in Pi-Serini; numbers beyond 0 and 100 are cut. Nothing is raised."""
    found = _last_exact(text)
    numbers = list(_CONFIDENCE.finditer(text))
    confidence = None
    if numbers:
        confidence = min(100.0, max(0.0, float(numbers[-1][1].replace(",", "."))))
    return Answer(text, found[0] if found else None, confidence)


def is_whole(text: str) -> bool:
    """Whether a text that may be cut at its end holds a whole answer in the format that is asked for: an exact answer,
    and behind it a confidence that more follows, lest `8` be the beginning of `85%`."""
    found = _last_exact(text)
    if not found:
        return False
    number = next(_CONFIDENCE.finditer(text, found[1]), None)
    return number is not None and (bool(number[2]) or number.end() < len(text))


def _last_exact(text: str) -> tuple[str, int] | None:
    """The last exact answer that is not empty, and where its label ends; None where there is none."""
    for label in reversed(list(_EXACT.finditer(text))):
        rest = text[label.end() :]
        end = _LABEL.search(rest)
        said = _plain((rest[: end.start()] if end else rest).strip())
        if said:
            return said, label.end()
    return None


def _plain(text: str) -> str:
    """The text without emphasis around all of it, or the end of one that began before the label."""
    for mark in ("**", "__", "`", "*", "_"):
        inside = text[len(mark) : -len(mark)]
        if inside and text.startswith(mark) and text.endswith(mark) and mark not in inside:
            text = inside.strip()
        elif len(mark) == 2 and text.endswith(mark) and text.count(mark) == 1:
            text = text[: -len(mark)].rstrip()
    return text

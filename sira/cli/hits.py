"""Hits on the terminal or as JSON Lines, and what is said on stderr about how they were found."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sira.tables import printable

if TYPE_CHECKING:
    from sira.lucene.reader import Index
    from sira.records import Hit
    from sira.systems import Answer


def titles(docids: Sequence[str], index: Index) -> list[str]:
    """What stands beside each hit: the title of the document, or the begin of its text."""
    if not index.manifest.stored_text:
        return [""] * len(docids)
    return [line(document.title or document.text) if document else "" for document in index.documents(docids)]


def show(answer: Answer, text: str, titles: Sequence[str], *, as_json: bool, named: bool) -> None:
    """Print the hits of one topic with their titles; `named`: under its qid and text."""
    judged = {item["docid"]: item for item in answer.note.get("rerank", {}).get("judgements", [])}
    if as_json:
        hits = [
            {"docid": hit.docid, "rank": hit.rank, "score": hit.score, "title": title, **_before(judged.get(hit.docid))}
            for hit, title in zip(answer.ranking, titles, strict=True)
        ]
        print(json.dumps({"qid": answer.qid, "hits": hits, **_told(answer.note)}, ensure_ascii=False))
        return
    if named:
        print(f"topic {answer.qid}: {line(text)}")
    for hit, title in zip(answer.ranking, titles, strict=True):
        score = _model_score(hit, judged) if judged else f"{hit.score:9.4f}"
        print(f"{hit.rank:>4}  {score}  {printable(hit.docid)}  {title}".rstrip())


def _before(judgement: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a reranked hit was before: its rank and score, and the model's score (None: it has none)."""
    if judgement is None:
        return {}
    before = {"rank": judgement["rank"], "score": judgement["score"]}
    return {"before": before, "model_score": judgement["model_score"], "fused": judgement["fused"]}


def _model_score(hit: Hit, judged: Mapping[str, Any]) -> str:
    """The model's score in place of 1 / rank; `-` for a document without one."""
    score = judged[hit.docid]["model_score"] if hit.docid in judged else None
    return f"{'-' if score is None else score:>9}"


def _told(note: Mapping[str, Any]) -> dict[str, Any]:
    """The note without what stands at the hits."""
    if "rerank" not in note:
        return dict(note)
    return {**note, "rerank": {name: value for name, value in note["rerank"].items() if name != "judgements"}}


def remarks(answer: Answer) -> Iterator[str]:
    """What must be known of an answer, a line each: every constraint that was loosened, and why nothing was found."""
    relax = answer.note.get("relax", {})
    for step in relax.get("steps", []):
        became = "made optional" if step["became"] == "should" else "taken out"
        yield f"topic {answer.qid!r}{_why_loosened(step)}: {became}: {step['hits']} hits"
    if not answer.ranking:
        why = f": {relax['why_empty']}" if relax.get("why_empty") else f" {_why_empty(answer)}"
        yield f"topic {answer.qid!r}{why}: 0 hits"


def warn(answer: Answer) -> None:
    for remark in remarks(answer):
        print(f"sira: warning: {remark}", file=sys.stderr)


def _why_loosened(step: Mapping[str, Any]) -> str:
    if step["became"] == "should" and step["reason"] == "no document holds it":
        return f" requires {' and '.join(map(repr, step['clauses']))}, which no document holds"
    return f": {' and '.join(map(repr, step['clauses']))} ({step['was'][0]}): {step['reason']}"


def _why_empty(answer: Answer) -> str:
    from sira.search.explanation.lines import absent

    program = answer.programs[0] if answer.programs else None
    if program is None:
        return "has no ranking"
    if not program.clauses:
        return "has no term that the analyzer keeps" if program.text else "has no clause"
    if required := absent(program):
        return f"requires {' and '.join(map(repr, required))}, which no document holds"
    if all(clause.occur == "must_not" for clause in program.clauses):
        return "only excludes documents and asks for none"
    if any(clause.occur in ("must", "filter", "must_not") for clause in program.clauses):
        return "found nothing that meets its constraints (--relax loosens them)"
    return "found nothing"


LINE_CHARACTERS = 360
"""What `line` looks at."""


def line(text: str, columns: int = 90) -> str:
    """A text in one line of at most so many characters."""
    text = printable(" ".join(text[:LINE_CHARACTERS].split()))
    return text if len(text) <= columns else text[: columns - 1] + "…"

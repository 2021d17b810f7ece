"""The known answers of questions, from JSON Lines or tab-separated lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from sira.corpora.files import text_lines
from sira.corpora.rows import json_rows
from sira.corpora.trec import QID_FIELDS
from sira.errors import DuplicateIdError, InputError

ANSWER_FIELDS = ("answer", "answers")


def read_answers(path: str | Path) -> dict[str, tuple[str, ...]]:
    """qid -> the answers of which each is right, in the order of the file.

    A name that ends in .tsv is qid<TAB>answer; else a line is a JSON object with a qid (query_id, qid, _id or id) and
    `answer`, a text, a number or a list of them. Raises InputError naming the line for another form,
    DuplicateIdError for a question that stands twice.
    """
    path = Path(path)
    found: dict[str, tuple[str, ...]] = {}
    for place, qid, answers in _tsv(path) if path.name.endswith((".tsv", ".tsv.gz")) else _jsonl(path):
        if qid in found:
            raise DuplicateIdError(f"{place}: the question {qid!r} stands twice; keep one of its lines")
        found[qid] = answers
    if not found:
        raise InputError(f"{path}: no answer in this file; check that it is the right one")
    return found


def _tsv(path: Path) -> list[tuple[str, str, tuple[str, ...]]]:
    rows: list[tuple[str, str, tuple[str, ...]]] = []
    for number, line in text_lines(path):
        qid, _, answer = line.partition("\t")
        if not qid.strip() or not answer.strip():
            raise InputError(f"{path}, line {number}: a line of answers is qid<TAB>answer")
        rows.append((f"{path}, line {number}", qid, (answer,)))
    return rows


def _jsonl(path: Path) -> list[tuple[str, str, tuple[str, ...]]]:
    rows: list[tuple[str, str, tuple[str, ...]]] = []
    for place, row in json_rows(path):
        qid = next((row[name] for name in QID_FIELDS if row.get(name) is not None), None)
        if not isinstance(qid, str) and type(qid) is not int:
            raise InputError(f"{place}: no qid; give one of the fields {', '.join(QID_FIELDS)}")
        answers = _answers(row)
        if not answers:
            raise InputError(f"{place}: question {str(qid)!r} has no `answer`; give a text or a list of texts")
        rows.append((str(place), str(qid), answers))
    return rows


def _answers(row: Mapping[str, Any]) -> tuple[str, ...]:
    told: object = next((row[name] for name in ANSWER_FIELDS if row.get(name) is not None), None)
    listed = cast("list[object]", told) if isinstance(told, list) else [told]
    texts = [str(item) if isinstance(item, int | float) and not isinstance(item, bool) else item for item in listed]
    return tuple(text for text in texts if isinstance(text, str) and text.strip())

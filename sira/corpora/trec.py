"""Reading TREC's files: qrels, runs and topics, in all the variants that circulate.

Columns are separated by tabs or blanks, one or more; lines end in LF or CRLF; a byte-order mark is removed; files
whose names end in .gz are unpacked. Every fault is a TrecFormatError with file and line.
"""

from __future__ import annotations

import re
from math import isfinite, nan
from operator import gt
from pathlib import Path
from typing import Any, cast

from sira.corpora.files import byte_lines, text_lines
from sira.corpora.jsonl import is_valid_id
from sira.errors import InputError, TrecFormatError
from sira.records import Ranking, Run, Topic

QID_FIELDS = ("qid", "_id", "query_id", "id")
QUERY_FIELDS = ("text", "query")

# The header line of a BEIR qrels file, known by its words and not by its place.
_HEADER_QUERY = {"query-id", "query_id", "queryid", "qid", "query", "topic"}
_HEADER_GRADE = {"score", "relevance", "rel", "label", "grade", "judgment"}
# Other spaces of Unicode may stand inside an id, as they may for trec_eval.
_SEPARATOR = re.compile(r"[ \t\r\f\v]+")
_UNDERSCORE = ord("_")  # Python alone reads 1_000; a number is found in bytes far sooner than bytes


def read_qrels(path: str | Path) -> dict[str, dict[str, int]]:
    """qid -> docid -> grade, in the order of the file, from TREC qrels or from BEIR's tsv.

    TREC has four columns (qid, an unused one such as 0 or Q0, docid, grade); BEIR three (qid, docid, grade), with or
    without a header. A grade is an integer; `1.0` is 1. The same judgment twice is one.
    Raises TrecFormatError for another number of columns, a grade such as 0.5, or two grades for one document;
    InputError if the file has no judgment.
    """
    path = Path(path)
    qrels: dict[str, dict[str, int]] = {}
    columns = 0
    for number, line in text_lines(path):
        parts = _split(line)
        if not columns:
            if len(parts) not in (3, 4):
                raise TrecFormatError(str(path), number, f"{len(parts)} columns; qrels have 4 (TREC) or 3 (BEIR)")
            columns = len(parts)
            if parts[0].lower() in _HEADER_QUERY and parts[-1].lower() in _HEADER_GRADE:
                continue
        if len(parts) != columns:
            reason = f"{len(parts)} columns where the lines before have {columns}; ids must not contain blanks"
            raise TrecFormatError(str(path), number, reason)
        qid, docid, grade = parts[0], parts[-2], _grade(path, number, parts[-1])
        judged = qrels.setdefault(qid, {})
        if judged.setdefault(docid, grade) != grade:
            reason = f"document {docid!r} has the grades {judged[docid]} and {grade} for topic {qid!r}; keep one"
            raise TrecFormatError(str(path), number, reason)
    if not qrels:
        raise InputError(f"{path}: no judgment in this file; check that it is the right one")
    return qrels


def _grade(path: Path, number: int, text: str) -> int:
    try:
        value = float("nan" if "_" in text else text)  # Python reads 1_0 as 10
    except ValueError:
        value = float("nan")
    if not isfinite(value) or value != int(value):
        raise TrecFormatError(str(path), number, f"the grade {text!r} is no integer; write 0, 1, 2, ...")
    return int(value)


def read_run(path: str | Path, name: str | None = None) -> Run:
    """A TREC run of six columns: qid, Q0, docid, rank, score, tag. Topics keep the order of the file.

    The order of each ranking is that of `Ranking`, score descending, then docid ascending; the rank column is not
    looked at, as in trec_eval. The run's name is `name`, or else the tag of the first line.
    Raises TrecFormatError for another number of columns, a score that is not a finite number, or a document that
    stands twice for one topic. An empty file is a run without hits: the format has no line for a topic that found
    nothing.
    """
    path = Path(path)
    found: dict[str, dict[str, float]] = {}
    current, scores, number = b"", dict[str, float](), 0
    try:
        for number, raw in byte_lines(path):
            parts = raw.split()  # bytes split at ASCII white space alone
            if len(parts) != 6:
                if not parts:
                    continue
                reason = f"{len(parts)} columns; a run has 6: qid Q0 docid rank score tag, and no blank inside them"
                raise TrecFormatError(str(path), number, reason)
            qid, _, raw_docid, _, text, tag = parts
            try:
                score = float(text)
            except ValueError:
                score = nan
            if not isfinite(score) or _UNDERSCORE in text:
                shown = text.decode(errors="backslashreplace")
                raise TrecFormatError(str(path), number, f"the score {shown!r} is no finite number; correct the run")
            if qid != current:  # seldom: the lines of a topic stand together
                current, scores = qid, found.setdefault(qid.decode(), {})
            docid = raw_docid.decode()
            if docid in scores:
                reason = f"document {docid!r} stands twice for topic {qid.decode()!r}; keep one of the lines"
                raise TrecFormatError(str(path), number, reason)
            scores[docid] = score
            if name is None:
                name = tag.decode()
    except UnicodeDecodeError as error:
        raise TrecFormatError(str(path), number, f"not UTF-8 ({error.reason}); convert the file to UTF-8") from None
    return Run(name or path.stem, {qid: _ranking(scores) for qid, scores in found.items()})


def _ranking(scores: dict[str, float]) -> Ranking:
    """As `Ranking.from_scores`, which is not needed where the lines stand in their order, as in most files."""
    values = tuple(scores.values())
    if all(map(gt, values, values[1:])):
        return Ranking(tuple(scores), values)
    return Ranking.from_scores(scores)


def read_topics(path: str | Path) -> tuple[Topic, ...]:
    """Topics in the order of the file: JSON Lines if the name says so (.jsonl, .jsonl.gz), else qid<TAB>text.

    TSV is read as TREC tools read it: quotes are literal text, there are no escapes, a second tab belongs to the
    text. An empty text is kept, and `NaN` and `null` are words like others. A qid that comes twice is kept
    twice: `sira.corpora.audit` reports it. Raises TrecFormatError for a line without a tab, a qid that is empty or
    contains white space, or JSON without id or text.
    """
    path = Path(path)
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        topics = tuple(_json_topic(path, number, line) for number, line in text_lines(path))
    else:
        topics = tuple(_tsv_topic(path, number, line) for number, line in text_lines(path))
    if not topics:
        raise InputError(f"{path}: no topic in this file; check that it is the right one")
    return topics


def _tsv_topic(path: Path, number: int, line: str) -> Topic:
    qid, tab, text = line.partition("\t")
    if not tab:
        raise TrecFormatError(str(path), number, "no tab; a line of topics is qid<TAB>text")
    return Topic(_qid(path, number, qid), text)


def _json_topic(path: Path, number: int, line: str) -> Topic:
    import json

    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TrecFormatError(str(path), number, f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise TrecFormatError(str(path), number, "a JSON object is expected, such as {'_id': '1', 'text': '...'}")
    fields = cast("dict[str, Any]", record)
    qid = next((fields[name] for name in QID_FIELDS if fields.get(name) is not None), None)
    if type(qid) is int:
        qid = str(qid)
    if not isinstance(qid, str):
        raise TrecFormatError(str(path), number, f"no id; give one of the fields {', '.join(QID_FIELDS)}")
    text = next((fields[name] for name in QUERY_FIELDS if fields.get(name) is not None), None)
    if not isinstance(text, str):
        raise TrecFormatError(str(path), number, f"topic {qid!r} has no text; give the field 'text' ('' if empty)")
    return Topic(_qid(path, number, qid), text)


def _qid(path: Path, number: int, qid: str) -> str:
    if not is_valid_id(qid):
        raise TrecFormatError(str(path), number, f"the qid {qid!r} is empty or contains white space; rename it")
    return qid


def _split(line: str) -> list[str]:
    return line.split() if line.isascii() else _SEPARATOR.split(line.strip(" \t\r\f\v"))

"""The questions of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sira.corpora.trec import read_topics
from sira.errors import InputError
from sira.records import Topic


def read_questions(path: Path) -> list[Topic]:
    """Questions of a TSV or JSON Lines file. Raises InputError as `read_topics` does, and for a qid that stands twice
    and a question without text."""
    questions = list(read_topics(path))
    check_questions(questions, str(path))
    return questions


def check_questions(questions: Sequence[Topic], place: str) -> None:
    twice = [qid for qid, times in Counter(question.qid for question in questions).items() if times > 1]
    if twice:
        raise InputError(f"{place}: the qid {twice[0]!r} stands twice: make the qids unique")
    empty = next((question.qid for question in questions if not question.text.strip()), None)
    if empty is not None:
        raise InputError(f"{place}: the question {empty!r} has no text: write it, or leave the line out")


def chosen(questions: Sequence[Topic], qids: Sequence[str], place: str) -> list[Topic]:
    """The questions of these qids, in the order of the file; all where none is named. Raises InputError for one that
    is not there."""
    if not qids:
        return list(questions)
    known, wanted = {question.qid for question in questions}, set(qids)
    absent = next((qid for qid in qids if qid not in known), None)
    if absent is not None:
        raise InputError(f"{place}: there is no question {absent!r} among its {len(known)}")
    return [question for question in questions if question.qid in wanted]


def shard(questions: Sequence[Topic], number: int, count: int) -> list[Topic]:
    """Every `count`-th question from the `number`-th on, both from 1. Raises InputError for a shard that is none."""
    if not 1 <= number <= count:
        raise InputError(f"shard {number}/{count}: give I/N with 1 <= I <= N")
    return list(questions[number - 1 :: count])

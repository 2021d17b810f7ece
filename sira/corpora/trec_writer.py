"""Writing TREC's run and qrels files: the same values give the same bytes, and every tool reads the same order.

Tools differ in how they break ties and in the precision at which they see them: trec_eval reads scores as 32-bit
floats. So the writer prints strictly decreasing scores. Each score is rounded to the nearest 32-bit float; where that
is not below the one printed before it, the next 32-bit float below that one is printed instead. Nine significant
digits tell all 32-bit floats apart, so the printed numbers decrease strictly for 32-bit and for 64-bit readers.
Nothing is reordered: the order is the ranking's.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from math import isfinite
from pathlib import Path
from types import TracebackType

from sira.corpora.files import replacing
from sira.corpora.jsonl import is_valid_id
from sira.errors import DuplicateIdError, InputError
from sira.records import Qrels, Ranking, Run


class RunWriter:
    """Write a run topic by topic, so that a large batch never stands in memory.

        with RunWriter(path, "bm25") as writer:
            for topic in topics:
                writer.write(topic.qid, search(topic))

    The lines go to a temporary file, flushed after each topic; it takes the name `path` when the block ends without
    an error. A topic without hits has no line: evaluation counts it as missing, that is as 0.
    """

    def __init__(self, path: str | Path, name: str) -> None:
        """`name` is the run tag. Raises InputError if it is empty or contains white space."""
        _check_id("run tag", name)
        self._path, self._name = Path(path), name
        self._written: set[str] = set()
        self._stack = ExitStack()

    def __enter__(self) -> RunWriter:
        self._stream = self._stack.enter_context(replacing(self._path))
        return self

    def write(self, qid: str, ranking: Ranking) -> None:
        """Append the ranking of one topic.

        Raises DuplicateIdError for a qid that was written before; InputError for an id with white space, a document
        that stands twice, scores that are not finite in 32 bits or not in descending order.
        """
        _check_id("qid", qid)
        if qid in self._written:
            raise DuplicateIdError(f"topic {qid!r} was already written to {self._path}; write each topic once")
        if len(set(ranking.docids)) != len(ranking.docids):
            raise InputError(f"topic {qid!r}: a document stands twice in its ranking; make it by Ranking.from_scores")
        lines: list[str] = []
        rows = zip(ranking.docids, decreasing_scores(ranking.scores, f"topic {qid!r}"), strict=True)
        for rank, (docid, score) in enumerate(rows, start=1):
            _check_id("docid", docid)
            lines.append(f"{qid} Q0 {docid} {rank} {score:.9g} {self._name}\n")
        self._stream.writelines(lines)
        self._stream.flush()
        self._written.add(qid)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


def write_run(path: str | Path, run: Run) -> None:
    """Write a whole run, its topics in their order. Raises as `RunWriter`."""
    with RunWriter(path, run.name) as writer:
        for qid, ranking in run.rankings.items():
            writer.write(qid, ranking)


def write_qrels(path: str | Path, qrels: Qrels) -> None:
    """Write TREC qrels (qid 0 docid grade) in the order given. Raises InputError for an id with white space."""
    with replacing(Path(path)) as stream:
        for qid, judged in qrels.items():
            _check_id("qid", qid)
            for docid, grade in judged.items():
                _check_id("docid", docid)
                stream.write(f"{qid} 0 {docid} {grade}\n")


def decreasing_scores(scores: Sequence[float], place: str = "ranking") -> Iterator[float]:
    """The scores as strictly decreasing 32-bit floats (see the module), each as close as may be to its own.

    Raises InputError naming `place` if the scores ascend somewhere or leave the range of 32-bit floats.
    """
    previous, printed = float("inf"), float("inf")
    for rank, (exact, rounded) in enumerate(zip(scores, array("f", scores), strict=True), start=1):
        if exact > previous:
            raise InputError(f"{place}: the score at rank {rank} is above that before it; use Ranking.from_scores")
        previous = exact
        printed = rounded if rounded < printed else _next_below(printed)
        if not (isfinite(rounded) and isfinite(printed)):
            raise InputError(f"{place}: the score {exact} at rank {rank} does not fit a 32-bit float; rescale them")
        yield printed


def _next_below(value: float) -> float:
    """The largest 32-bit float below a 32-bit float, by its bits (IEEE 754: they count up with the magnitude)."""
    bits = array("I", array("f", [value]).tobytes())[0]
    below = 0x80000001 if value == 0 else bits - 1 if value > 0 else bits + 1  # 0x80000001: the smallest negative one
    return array("f", array("I", [below]).tobytes())[0]


def _check_id(kind: str, text: str) -> None:
    if not is_valid_id(text):
        fault = "contains white space or a control character" if text else "is empty"
        raise InputError(f"the {kind} {text!r} {fault}, which a TREC file cannot carry; rename it")

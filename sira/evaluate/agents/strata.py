"""Questions by how hard they are for a plain ranking, and by how many labels they have (Pi-Serini's strata)."""

from __future__ import annotations

from collections.abc import Mapping

from sira.evaluate.agents.recall import relevant
from sira.records import Qrels, Ranking, Run

DIFFICULTIES = (("zero", 0.0), ("tiny", 0.1), ("low", 0.25), ("medium", 0.5), ("high", 1.0))
"""Up to which recall of the plain ranking."""
SMALL = 5
"""Most labels of a small question."""


def difficulty(recall: float) -> str:
    """The bucket of a recall between 0 and 1."""
    return next(name for name, most in DIFFICULTIES if recall <= most)


def size(labels: int) -> str:
    """`small` or `large`."""
    return "small" if labels <= SMALL else "large"


def strata(run: Run, qrels: Qrels, cutoff: int = 1000, level: int = 1) -> Mapping[str, str]:
    """qid -> such as `zero_small`, for the questions that have a label of at least this grade, by the recall of the
    first `cutoff` documents of a plain ranking."""
    found: dict[str, str] = {}
    for qid in qrels:
        wanted = relevant(qrels, qid, level)
        if wanted:
            hits = len(set(run.rankings.get(qid, Ranking()).docids[:cutoff]).intersection(wanted))
            found[qid] = f"{difficulty(hits / len(wanted))}_{size(len(wanted))}"
    return found

"""Effectiveness measures of a run against qrels, computed by ranx in an order that is ours to state.

The order of a ranking decides its values, and tools disagree on ties. Here it is the Run's order (score descending,
then docid ascending), or with `ties="trec"` that of trec_eval (score as 32-bit float descending, then docid
descending). ranx gets ranks, never scores, so it has no tie to break.

Gain is linear and the discount 1 / log2(rank + 1), as in trec_eval's ndcg_cut; a grade >= 1 is relevant to the other
measures; every judged relevant document counts in the ideal ranking and in recall's denominator, found or not.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

import numpy as np

from sira.errors import InputError
from sira.evaluate import kernels
from sira.records import Qrels, Ranking, Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ties = Literal["run", "trec"]

DEFAULT_MEASURES = ("nDCG@10", "Recall@10", "Recall@100", "Recall@1000", "MRR@10", "MAP")
GAIN = "linear (trec_eval)"
TIE_RULES: Mapping[Ties, str] = {
    "run": "score descending, then docid ascending (the run's order)",
    "trec": "score as 32-bit float descending, then docid descending (trec_eval)",
}

_NAMES = {
    "ndcg": "nDCG", "recall": "Recall", "r": "Recall", "mrr": "MRR", "rr": "MRR", "recip_rank": "MRR",
    "map": "MAP", "ap": "MAP",
}  # fmt: skip
_KERNELS = {"nDCG": "ndcg", "Recall": "recall", "MRR": "reciprocal_rank", "MAP": "average_precision"}
_TOPICS_AT_ONCE = 256  # bounds the padded arrays: 4 MB at 1,000 ranks


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure and its cut: ranks 1 to `k` count, all of them if None."""

    name: Literal["nDCG", "Recall", "MRR", "MAP"]
    k: int | None = None

    @classmethod
    def parse(cls, text: str) -> Measure:
        """Read `nDCG@10`, `Recall@100`, `R@100`, `MRR@10`, `MRR`, `MAP`, in any case.

        Raises InputError for another name (listing these), for k = 0, and for recall without a cut.
        """
        head, at, cut = text.strip().partition("@")
        name = _NAMES.get(head.lower())
        if name is None or (at and not (cut.isascii() and cut.isdigit())):
            raise InputError(f"measure {text!r} is unknown; choose nDCG@k, Recall@k (R@k), MRR@k, MRR, MAP@k or MAP")
        k = int(cut) if at else None
        if k == 0:
            raise InputError(f"measure {text!r} has the cut 0, at which nothing is retrieved; k counts from 1")
        if name == "Recall" and k is None:
            raise InputError(f"measure {text!r} needs a cut, such as Recall@100")
        return cls(name, k)  # pyright: ignore[reportArgumentType]

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The values of one run. Means are over all judged topics; a topic that the run lacks counts as 0.

    `per_topic` maps measure -> qid -> value in [0, 1], qids in the order of the qrels; `missing` are judged topics
    that the run lacks, `extra` those of the run that nobody judged: they are left out.
    """

    run: str
    per_topic: Mapping[str, Mapping[str, float]]
    mean: Mapping[str, float]
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    tie_rule: str
    ignore_self_hits: bool
    relevance_level: int = 1
    gain: str = GAIN

    @property
    def topics(self) -> int:
        """The number of judged topics: the denominator of the means."""
        return len(next(iter(self.per_topic.values())))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the means must know, one line each; empty if there is nothing."""
        kinds = (
            ("judged topic(s) missing from the run (a run file lacks those without hits), counted as 0", self.missing),
            ("topic(s) of the run without judgments, left out", self.extra),
        )
        return tuple(f"{len(qids)} {what}: {_some(qids)}" for what, qids in kinds if qids)


def evaluate(
    qrels: Qrels,
    run: Run,
    measures: Iterable[str] = DEFAULT_MEASURES,
    *,
    ties: Ties = "run",
    ignore_self_hits: bool = False,
    relevance_level: int = 1,
) -> Evaluation:
    """Compute measures for every judged topic, and their means.

    `ignore_self_hits` removes the document whose id is the qid before the cut: whoever searches for k documents of
    such a collection fetches k + 1, or the last rank is lost. A topic judged with grade 0 only has the value 0.
    `relevance_level` (>= 1) is the least grade that counts as relevant for recall, MRR and MAP, as trec_eval's -l;
    nDCG takes the grades as they are.
    Raises InputError for an unknown measure, empty qrels, and a ranking that holds a document twice, a score that is
    not finite, or scores that ascend; EnvironmentFault without ranx.
    """
    wanted = tuple(dict.fromkeys(Measure.parse(text) for text in measures))
    if not wanted:
        raise InputError("no measure was asked for; give one, such as nDCG@10")
    if ties not in TIE_RULES:
        raise InputError(f"ties = {ties!r}: choose 'run' or 'trec'")
    if relevance_level < 1:
        raise InputError(f"relevance_level = {relevance_level}: the least relevant grade is 1 or more")
    if not qrels:
        raise InputError("the qrels hold no topic; there is nothing to evaluate against")
    cuts = [measure.k for measure in wanted]
    depth = None if None in cuts else max(k for k in cuts if k is not None)
    kernels.prepare(_KERNELS[measure.name] for measure in wanted)
    qids = list(qrels)
    values: dict[str, dict[str, float]] = {str(measure): {} for measure in wanted}
    for start in range(0, len(qids), _TOPICS_AT_ONCE):
        batch = qids[start : start + _TOPICS_AT_ONCE]
        rankings = [
            ordered_docids(qid, run.rankings.get(qid, Ranking()), ties, ignore_self_hits)[:depth] for qid in batch
        ]
        judged, ranked = _arrays([qrels[qid] for qid in batch], rankings)
        for measure in wanted:
            level = 1 if measure.name == "nDCG" else relevance_level
            scores = kernels.score(_KERNELS[measure.name], judged, ranked, measure.k or 0, level)
            values[str(measure)].update(zip(batch, scores.tolist(), strict=True))
    return Evaluation(
        run=run.name,
        per_topic=values,
        mean={name: sum(by_topic.values()) / len(qids) for name, by_topic in values.items()},
        missing=tuple(qid for qid in qids if qid not in run.rankings),
        extra=tuple(qid for qid in run.rankings if qid not in qrels),
        tie_rule=TIE_RULES[ties],
        ignore_self_hits=ignore_self_hits,
        relevance_level=relevance_level,
    )


def ordered_docids(qid: str, ranking: Ranking, ties: Ties, ignore_self_hits: bool) -> Sequence[str]:
    """The docids of one topic, best first, as `evaluate` takes them, after all its checks."""
    _check(qid, ranking)
    docids = _as_trec_eval(ranking) if ties == "trec" else ranking.docids
    return [docid for docid in docids if docid != qid] if ignore_self_hits else docids


def _as_trec_eval(ranking: Ranking) -> Sequence[str]:
    """The docids with those of one 32-bit score, which stand together, in descending order."""
    scores = array("f", ranking.scores)
    if len(set(scores)) == len(scores):
        return ranking.docids
    equals = groupby(zip(scores, ranking.docids, strict=True), key=itemgetter(0))
    return [docid for _, group in equals for docid in sorted((pair[1] for pair in group), reverse=True)]


def _check(qid: str, ranking: Ranking) -> None:
    scores = np.array(ranking.scores)
    if not np.isfinite(scores).all():
        at = int(np.isfinite(scores).argmin())
        raise InputError(
            f"topic {qid!r}: document {ranking.docids[at]!r} has the score {ranking.scores[at]}; "
            "scores must be finite numbers"
        )
    if len(set(ranking.docids)) != len(ranking.docids):
        raise InputError(f"topic {qid!r}: a document stands twice in the ranking; make it by Ranking.from_scores")
    if (scores[1:] > scores[:-1]).any():
        raise InputError(f"topic {qid!r}: the scores are not in descending order; make it by Ranking.from_scores")


def _arrays(
    judgments: Sequence[Mapping[str, int]], rankings: Sequence[Sequence[str]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The arrays that `kernels.score` takes. Relevant documents are numbered from 1 in each topic, others are 0."""
    relevant = [sorted(((g, docid) for docid, g in judged.items() if g >= 1), reverse=True) for judged in judgments]
    qrels = np.zeros((len(relevant), max(1, *map(len, relevant)), 2))
    run = np.zeros((len(rankings), max(1, *map(len, rankings)), 2))
    for topic, (grades, docids) in enumerate(zip(relevant, rankings, strict=True)):
        numbers = {docid: number for number, (_, docid) in enumerate(grades, start=1)}
        qrels[topic, : len(grades), 0] = range(1, len(grades) + 1)
        qrels[topic, : len(grades), 1] = [grade for grade, _ in grades]
        run[topic, : len(docids), 1] = np.arange(len(docids), 0, -1)
        for rank, docid in enumerate(docids):
            if docid in numbers:
                run[topic, rank, 0] = numbers[docid]
    return qrels, run


def _some(items: Sequence[str], most: int = 5) -> str:
    return ", ".join(items[:most]) + (", ..." if len(items) > most else "")

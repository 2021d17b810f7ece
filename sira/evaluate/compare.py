"""Runs of any origin side by side: means with their coverage, paired tests against the first, and where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sira.errors import InputError
from sira.evaluate.metrics import DEFAULT_MEASURES, Evaluation, Ties, evaluate, ordered_docids
from sira.evaluate.overlap import jaccard, judged_share, rank_biased_overlap
from sira.evaluate.significance import EPSILON, Comparison, compare_family
from sira.records import Qrels, Ranking, Run


@dataclass(frozen=True, slots=True)
class CompareSettings:
    """`k` is the cut of judged@k and of Jaccard's index, `extremes` the number of topics of the largest gain and of the
    largest loss; the rest is as in `sira.evaluate.metrics.evaluate`."""

    measures: tuple[str, ...] = DEFAULT_MEASURES
    k: int = 10
    extremes: int = 5
    ties: Ties = "run"
    ignore_self_hits: bool = False
    relevance_level: int = 1

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k = {self.k}: it counts ranks from 1")
        if self.extremes < 0:
            raise InputError(f"extremes = {self.extremes}: it counts topics from 0")


@dataclass(frozen=True, slots=True)
class Covered:
    """One run with what its means stand on. Of the judged topics, `without_hits` are those of an empty ranking (a run
    file has no line for these: there they are missing); both these and the missing ones count as 0.

    `judged` is the mean over topics of the share of their first k documents that have a judgment (None: no hit at all).
    """

    evaluation: Evaluation
    without_hits: tuple[str, ...]
    judged: float | None

    @property
    def name(self) -> str:
        return self.evaluation.run

    @property
    def topics_with_hits(self) -> int:
        return self.evaluation.topics - len(self.without_hits) - len(self.evaluation.missing)

    def to_json(self) -> dict[str, Any]:
        found = self.evaluation
        return {
            "run": self.name,
            "mean": dict(found.mean),
            "judged_topics": found.topics,
            "topics_with_hits": self.topics_with_hits,
            "without_hits": list(self.without_hits),
            "missing": list(found.missing),
            "not_judged": list(found.extra),
            "judged_at_k": self.judged,
            "per_topic": {measure: dict(values) for measure, values in found.per_topic.items()},
        }


@dataclass(frozen=True, slots=True)
class Overlap:
    """How alike the rankings of a run and of the baseline are: means over the `topics` where one of them has a hit."""

    run: str
    topics: int
    rbo: float | None
    jaccard: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """A judged topic on which a run differs from the baseline, by the first measure."""

    qid: str
    baseline: float
    value: float

    @property
    def difference(self) -> float:
        return self.value - self.baseline


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Everything that `sira compare` shows. The first of `runs` is the baseline; `comparisons` hold, for each measure,
    each other run against it (Holm over these runs); `gains` and `losses` are by run, the largest first."""

    settings: CompareSettings
    runs: tuple[Covered, ...]
    comparisons: Mapping[tuple[str, str], Comparison]
    overlaps: Mapping[str, Overlap]
    gains: Mapping[str, tuple[Change, ...]]
    losses: Mapping[str, tuple[Change, ...]]

    @property
    def baseline(self) -> Covered:
        return self.runs[0]

    @property
    def measures(self) -> tuple[str, ...]:
        """As they are written, such as nDCG@10, in the order asked for."""
        return tuple(self.baseline.evaluation.mean)

    def to_json(self, texts: Mapping[str, str] | None = None) -> dict[str, Any]:
        """All of it, ready for JSON; `texts` (qid -> query) stand beside gains and losses."""

        def listed(changes: Sequence[Change]) -> list[dict[str, Any]]:
            return [
                {"qid": item.qid, "baseline": item.baseline, "value": item.value, "difference": item.difference}
                | ({"text": texts.get(item.qid)} if texts is not None else {})
                for item in changes
            ]

        first = self.baseline.evaluation
        return {
            "baseline": self.baseline.name,
            "judged_topics": first.topics,
            "ties": first.tie_rule,
            "gain": first.gain,
            "relevance_level": first.relevance_level,
            "ignore_self_hits": first.ignore_self_hits,
            "k": self.settings.k,
            "runs": [item.to_json() for item in self.runs],
            "comparisons": [item.to_dict() for item in self.comparisons.values()],
            "overlap": [
                {"run": item.run, "topics": item.topics, "rbo": item.rbo, "jaccard_at_k": item.jaccard}
                for item in self.overlaps.values()
            ],
            "gains": {name: listed(changes) for name, changes in self.gains.items()},
            "losses": {name: listed(changes) for name, changes in self.losses.items()},
        }


def compare_runs(qrels: Qrels, runs: Sequence[Run], settings: CompareSettings | None = None) -> RunComparison:
    """Compare two or more runs on all judged topics; the first is the baseline. Deterministic.

    Raises InputError for fewer than two runs, two of one name, a run of which no topic is judged, and as `evaluate`.
    """
    settings = settings or CompareSettings()
    names = [run.name for run in runs]
    if len(runs) < 2:
        raise InputError("a comparison needs two or more runs")
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"two runs have the name {twice[0]!r}: give each a name of its own")
    for run in runs:
        if run.rankings and not any(qid in qrels for qid in run.rankings):
            raise InputError(
                f"run {run.name!r}: none of its {len(run)} topics is judged (such as {next(iter(run.rankings))!r}; "
                f"the qrels have topics such as {next(iter(qrels), '')!r}): check that they belong together"
            )
    covered = tuple(_covered(qrels, run, settings) for run in runs)
    baseline = covered[0].evaluation
    comparisons: dict[tuple[str, str], Comparison] = {}
    for measure, values in baseline.per_topic.items():
        others = {item.name: item.evaluation.per_topic[measure] for item in covered[1:]}
        family = compare_family(others, values, measure=measure, baseline_name=baseline.run)
        comparisons |= {(item.system, measure): item for item in family}
    changes = {item.name: _changes(item.evaluation, baseline) for item in covered[1:]}
    most = settings.extremes
    return RunComparison(
        settings,
        covered,
        comparisons,
        {run.name: _overlap(qrels, run, runs[0], settings) for run in runs[1:]},
        {name: tuple([item for item in found if item.difference > EPSILON][:most]) for name, found in changes.items()},
        {
            name: tuple([item for item in reversed(found) if item.difference < -EPSILON][:most])
            for name, found in changes.items()
        },
    )


def _covered(qrels: Qrels, run: Run, settings: CompareSettings) -> Covered:
    evaluation = evaluate(
        qrels,
        run,
        settings.measures,
        ties=settings.ties,
        ignore_self_hits=settings.ignore_self_hits,
        relevance_level=settings.relevance_level,
    )
    docids = {qid: _docids(run, qid, settings) for qid in qrels}
    return Covered(
        evaluation,
        tuple(qid for qid, found in docids.items() if qid in run.rankings and not found),
        _mean(judged_share(found, qrels[qid], settings.k) for qid, found in docids.items()),
    )


def _docids(run: Run, qid: str, settings: CompareSettings) -> Sequence[str]:
    return ordered_docids(qid, run.rankings.get(qid, Ranking()), settings.ties, settings.ignore_self_hits)


def _overlap(qrels: Qrels, run: Run, baseline: Run, settings: CompareSettings) -> Overlap:
    pairs = [(_docids(run, qid, settings), _docids(baseline, qid, settings)) for qid in qrels]
    pairs = [(one, other) for one, other in pairs if one or other]
    return Overlap(
        run.name,
        len(pairs),
        _mean(rank_biased_overlap(one, other) for one, other in pairs),
        _mean(jaccard(one, other, settings.k) for one, other in pairs),
    )


def _changes(run: Evaluation, baseline: Evaluation) -> list[Change]:
    """The topics by their difference in the first measure, the largest first; equal ones in the order of the qrels."""
    measure = next(iter(baseline.per_topic))
    values = baseline.per_topic[measure]
    found = [Change(qid, values[qid], value) for qid, value in run.per_topic[measure].items()]
    return sorted(found, key=lambda item: -item.difference)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None

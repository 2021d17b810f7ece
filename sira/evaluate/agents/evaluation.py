"""Everything that is known of one run: layers, ranks, fates and citations for each set of labels; judges; costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sira.evaluate.agents.accuracy import Accuracy, accuracy
from sira.evaluate.agents.agreement import Agreement, agreement
from sira.evaluate.agents.citations import Citations, citation_quality
from sira.evaluate.agents.episodes import Episode, Layer
from sira.evaluate.agents.fates import LabelFate, label_fates
from sira.evaluate.agents.intervals import Interval, interval
from sira.evaluate.agents.judgments import Judged
from sira.evaluate.agents.prefix import MEASURES, Gain, prefix_metrics, surfaced_run
from sira.evaluate.agents.reading import AgentRun
from sira.evaluate.agents.recall import LayerRecall, ZeroLabels, layered_recall, relevant
from sira.evaluate.agents.spending import Costs, HitDepth, Spread, costs, hit_depth, measured, spreads
from sira.records import Qrels


@dataclass(frozen=True, slots=True)
class EvaluateSettings:
    """`level` is the least grade of a label (for recall, fates, citations); `gain` that of nDCG; `zero_labels` what a
    question without a label counts."""

    level: int = 1
    gain: Gain = "exponential"
    zero_labels: ZeroLabels = "skip"
    measures: tuple[str, ...] = MEASURES


@dataclass(frozen=True, slots=True)
class LabelEvaluation:
    """One set of labels (evidence, gold). `unlabelled` are questions of the run without a label, `absent` labelled
    ones that the run lacks: they have no part in any figure. Intervals are of the macro recalls."""

    name: str
    recall: Mapping[Layer, LayerRecall]
    intervals: Mapping[Layer, Interval | None]
    prefix: Mapping[str, Mapping[str, float]]
    fates: tuple[LabelFate, ...]
    depth: HitDepth
    citations: Citations
    unlabelled: tuple[str, ...]
    absent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunEvaluation:
    """`judges` in order: the first one's figures stand in tables of one judge. `agreement` is None for fewer than two
    judges of one mode."""

    run: AgentRun
    settings: EvaluateSettings
    labels: Mapping[str, LabelEvaluation]
    judges: tuple[Accuracy, ...]
    agreement: Agreement | None
    costs: Costs
    measured: Mapping[str, Mapping[str, float]]
    spreads: Mapping[str, Spread]
    statuses: Mapping[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """(status, stop reason) -> episodes."""
    strata: Mapping[str, str] = field(default_factory=dict[str, str])
    """qid -> stratum, where questions were put into strata."""

    @property
    def episodes(self) -> Mapping[str, Episode]:
        return self.run.episodes

    @property
    def judge(self) -> Accuracy | None:
        return self.judges[0] if self.judges else None


def evaluate_run(
    run: AgentRun,
    labels: Mapping[str, Qrels],
    judges: Sequence[Judged] = (),
    settings: EvaluateSettings | None = None,
    *,
    strata: Mapping[str, str] | None = None,
) -> RunEvaluation:
    """Evaluate a run against sets of labels by name, the primary first; `strata` (qid -> name) are shown apart.

    Raises InputError for wrong settings; EnvironmentFault without ranx, where there are labels.
    """
    settings = settings or EvaluateSettings()
    episodes = list(run.episodes.values())
    accuracies = tuple(accuracy(episodes, judged) for judged in judges)
    first = accuracies[0] if accuracies else None
    alike = [item for item in accuracies if first is not None and item.mode == first.mode]
    values = measured(episodes)
    return RunEvaluation(
        run=run,
        settings=settings,
        labels={name: _labels(name, run, qrels, settings) for name, qrels in labels.items()},
        judges=accuracies,
        agreement=agreement({item.judge: _said(item) for item in alike}) if len(alike) > 1 else None,
        costs=costs(episodes, None if first is None else first.correct),
        measured=values,
        spreads=spreads(values),
        statuses=dict(Counter((episode.status, episode.stop_reason or "") for episode in episodes).most_common()),
        strata=strata or {},
    )


def _said(item: Accuracy) -> dict[str, bool]:
    return {qid: verdict.correct is True for qid, verdict in item.verdicts.items()}


def _labels(name: str, run: AgentRun, qrels: Qrels, settings: EvaluateSettings) -> LabelEvaluation:
    episodes = list(run.episodes.values())
    recall = layered_recall(episodes, qrels, level=settings.level, zero_labels=settings.zero_labels)
    fates = label_fates(episodes, qrels, level=settings.level)
    ranks: dict[str, list[int | None]] = {}
    for item in fates:
        ranks.setdefault(item.qid, []).append(item.rank)
    recorded = [episode for episode in episodes if episode.surfaced is not None]
    return LabelEvaluation(
        name=name,
        recall=recall,
        intervals={layer: interval(item.per_question) for layer, item in recall.items()},
        prefix=prefix_metrics(
            surfaced_run(recorded, run.name),
            qrels,
            settings.measures,
            gain=settings.gain,
            recall_level=settings.level,
        ),
        fates=fates,
        depth=hit_depth(ranks),
        citations=citation_quality(episodes, qrels, level=settings.level),
        unlabelled=tuple(qid for qid in run.episodes if not relevant(qrels, qid, settings.level)),
        absent=tuple(qid for qid in qrels if qid not in run.episodes),
    )

"""Citations of final answers against the labels: how many cited documents are labels, how many labels are cited."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sira.evaluate.agents.episodes import Episode
from sira.evaluate.agents.intervals import Interval, interval
from sira.evaluate.agents.recall import relevant
from sira.records import Qrels


@dataclass(frozen=True, slots=True)
class Citations:
    """Over answered questions with a label. `precision` is the mean over the answers that cite at all, `recall` over
    all (an answer without a citation has recall 0); the micro ones divide sums. `unopened` counts citations of
    documents that were never opened. Intervals are of the means. None: nothing to divide by."""

    answers: int
    citing: int
    mean_citations: float | None
    precision: float | None
    recall: float | None
    precision_interval: Interval | None
    recall_interval: Interval | None
    micro_precision: float | None
    micro_recall: float | None
    unopened: int


def citation_quality(episodes: Iterable[Episode], qrels: Qrels, *, level: int = 1) -> Citations:
    """An episode that recorded no citations, not even none, is left out."""
    precisions: dict[str, float] = {}
    recalls: dict[str, float] = {}
    cited = hits = labels = unopened = 0
    for episode in episodes:
        wanted = relevant(qrels, episode.qid, level)
        if not (episode.answered and wanted) or episode.cited is None:
            continue
        found = len(set(episode.cited).intersection(wanted))
        cited, hits, labels = cited + len(episode.cited), hits + found, labels + len(wanted)
        recalls[episode.qid] = found / len(wanted)
        if episode.cited:
            precisions[episode.qid] = found / len(episode.cited)
        unopened += len(set(episode.cited).difference(episode.opened or ()))
    return Citations(
        answers=len(recalls),
        citing=len(precisions),
        mean_citations=cited / len(recalls) if recalls else None,
        precision=sum(precisions.values()) / len(precisions) if precisions else None,
        recall=sum(recalls.values()) / len(recalls) if recalls else None,
        precision_interval=interval(precisions),
        recall_interval=interval(recalls),
        micro_precision=hits / cited if cited else None,
        micro_recall=hits / labels if labels else None,
        unopened=unopened,
    )

"""Layered recall: how many of a question's labels the agent surfaced, previewed, opened, cited (Pi-Serini's tiers).

A set grows at no cost to its recall: a search to depth 1000 surfaces a thousand documents. So the mean size of each set
stands beside its recall.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sira.errors import InputError
from sira.evaluate.agents.episodes import LAYERS, Episode, Layer
from sira.records import Qrels

ZeroLabels = Literal["skip", "pi-serini"]
"""What becomes of a question without a label in the mean over questions: left out, as in Pi-Serini's summary of the
judge, or counted as 0, as in its summary and report of a run."""
ZERO_LABELS: tuple[ZeroLabels, ...] = get_args(ZeroLabels)


@dataclass(frozen=True, slots=True)
class LayerRecall:
    """One layer against one set of labels.

    `macro` is the mean of `per_question` (a question of no label: see ZeroLabels), `micro` is `hits` / `labels`; None
    where there is nothing to divide by. `size` is the mean number of documents of the layer over `recorded` episodes.
    """

    layer: Layer
    macro: float | None
    micro: float | None
    hits: int
    labels: int
    size: float | None
    recorded: int
    per_question: Mapping[str, float]


def relevant(qrels: Qrels, qid: str, level: int = 1) -> tuple[str, ...]:
    """The labels of a question: documents of at least this grade, in the order of the file."""
    return tuple(docid for docid, grade in qrels.get(qid, {}).items() if grade >= level)


def layered_recall(
    episodes: Iterable[Episode], qrels: Qrels, *, level: int = 1, zero_labels: ZeroLabels = "skip"
) -> dict[Layer, LayerRecall]:
    """All layers. An episode that did not record a layer has no part in it. Raises InputError for a wrong option."""
    if zero_labels not in ZERO_LABELS:
        raise InputError(f"zero labels = {zero_labels!r}: choose {' or '.join(ZERO_LABELS)}")
    listed = list(episodes)
    return {layer: _recall(layer, listed, qrels, level, zero_labels) for layer in LAYERS}


def _recall(
    layer: Layer, episodes: Sequence[Episode], qrels: Qrels, level: int, zero_labels: ZeroLabels
) -> LayerRecall:
    values: dict[str, float] = {}
    hits = labels = documents = recorded = 0
    for episode in episodes:
        docids = episode.docids(layer)
        if docids is None:
            continue
        recorded += 1
        documents += len(docids)
        wanted = relevant(qrels, episode.qid, level)
        if wanted:
            found = len(set(docids).intersection(wanted))
            hits, labels = hits + found, labels + len(wanted)
            values[episode.qid] = found / len(wanted)
        elif zero_labels == "pi-serini":
            values[episode.qid] = 0.0
    return LayerRecall(
        layer=layer,
        macro=sum(values.values()) / len(values) if values else None,
        micro=hits / labels if labels else None,
        hits=hits,
        labels=labels,
        size=documents / recorded if recorded else None,
        recorded=recorded,
        per_question=values,
    )

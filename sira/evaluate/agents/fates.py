"""Where each label was lost: the furthest that a relevant document came on its way into the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sira.evaluate.agents.episodes import Episode
from sira.evaluate.agents.recall import relevant
from sira.records import Qrels


class Fate(StrEnum):
    """In the order of the way; a later one counts, whatever came before (a document may be cited from its preview)."""

    NOT_RETRIEVED = "not retrieved"
    NOT_PREVIEWED = "retrieved, not previewed"
    NOT_OPENED = "previewed, not opened"
    NOT_CITED = "opened, not cited"
    CITED = "cited"


@dataclass(frozen=True, slots=True)
class LabelFate:
    """One label; `rank` is its place (from 1) in the order in which documents surfaced, None where it did not."""

    qid: str
    docid: str
    grade: int
    fate: Fate
    rank: int | None


def label_fates(episodes: Iterable[Episode], qrels: Qrels, *, level: int = 1) -> tuple[LabelFate, ...]:
    """The fate of each label, by question. Of an episode that lacks a layer nothing can be said: it is left out."""
    fates: list[LabelFate] = []
    for episode in episodes:
        surfaced, previewed = episode.surfaced, episode.previewed
        opened, cited = episode.opened, episode.cited
        if surfaced is None or previewed is None or opened is None or cited is None:
            continue
        ranks = {docid: rank for rank, docid in enumerate(surfaced, start=1)}
        way = (
            (Fate.CITED, frozenset(cited)),
            (Fate.NOT_CITED, frozenset(opened)),
            (Fate.NOT_OPENED, frozenset(previewed)),
            (Fate.NOT_PREVIEWED, frozenset(surfaced)),
        )
        for docid in relevant(qrels, episode.qid, level):
            fate = next((fate for fate, docids in way if docid in docids), Fate.NOT_RETRIEVED)
            fates.append(LabelFate(episode.qid, docid, qrels[episode.qid][docid], fate, ranks.get(docid)))
    return tuple(fates)


def fate_counts(fates: Iterable[LabelFate]) -> Mapping[Fate, int]:
    """Labels of each fate, all fates in order."""
    counts = dict.fromkeys(Fate, 0)
    for item in fates:
        counts[item.fate] += 1
    return counts

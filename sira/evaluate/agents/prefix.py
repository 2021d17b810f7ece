"""The order in which documents surfaced as a ranking: its TREC run, and rank measures on its prefixes.

The measures are those of `sira.evaluate.metrics`, equal to trec_eval's, so that no Java tool is called. Pi-Serini's
nDCG has the gain 2**grade - 1 unless the benchmark is MS MARCO's, whose is linear, as trec_eval's; its recall may want
a higher grade, while MRR and MAP take a grade of 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from sira.corpora.jsonl import is_valid_id
from sira.errors import InputError
from sira.evaluate.agents.episodes import Episode
from sira.evaluate.agents.recall import relevant
from sira.records import Qrels, Ranking, Run

Gain = Literal["exponential", "linear"]
GAINS: tuple[Gain, ...] = get_args(Gain)
MEASURES = ("Recall@100", "Recall@1000", "nDCG@10", "MRR@10", "MAP")
_HIGHEST_GRADE = 50
"""Above it 2**grade leaves the integers that a float holds."""


def surfaced_run(episodes: Iterable[Episode], name: str) -> Run:
    """The documents of each question in the order in which they surfaced; the n-th of N scores N + 1 - n."""
    rankings: dict[str, Ranking] = {}
    for episode in episodes:
        docids = episode.surfaced or ()
        rankings[episode.qid] = Ranking(docids, tuple(float(score) for score in range(len(docids), 0, -1)))
    return Run(name, rankings)


def writable(run: Run) -> tuple[Run, tuple[str, ...]]:
    """The run without what a TREC file cannot carry (ids with white space, half a surrogate pair), and the qids that
    lost something by it."""
    kept: dict[str, Ranking] = {}
    lost: list[str] = []
    for qid, ranking in run.rankings.items():
        pairs = [pair for pair in zip(ranking.docids, ranking.scores, strict=True) if _fits(pair[0])]
        if not _fits(qid):
            lost.append(qid)
            continue
        if len(pairs) < len(ranking.docids):
            lost.append(qid)
        kept[qid] = Ranking(tuple(docid for docid, _ in pairs), tuple(score for _, score in pairs))
    return Run(run.name, kept), tuple(lost)


def _fits(text: str) -> bool:
    """Whether a TREC file in UTF-8 can carry an id."""
    return is_valid_id(text) and not any("\ud800" <= letter <= "\udfff" for letter in text)


def prefix_metrics(
    run: Run,
    qrels: Qrels,
    measures: Iterable[str] = MEASURES,
    *,
    gain: Gain = "exponential",
    recall_level: int = 1,
) -> dict[str, Mapping[str, float]]:
    """measure -> qid -> value, for the questions of the run that have a label.

    `gain` is that of nDCG; `recall_level` the least grade that counts for recall. Raises InputError as
    `sira.evaluate.metrics.evaluate`; EnvironmentFault without ranx.
    """
    from sira.evaluate.metrics import Measure, evaluate

    if gain not in GAINS:
        raise InputError(f"gain = {gain!r}: choose {' or '.join(GAINS)}")
    wanted = [Measure.parse(measure) for measure in measures]
    judged = {qid: qrels[qid] for qid in run.rankings if relevant(qrels, qid)}
    if not judged:
        return {str(measure): {} for measure in wanted}
    gains = judged if gain == "linear" else {qid: _exponential(qid, grades) for qid, grades in judged.items()}
    found: dict[str, Mapping[str, float]] = {}
    for names, labels, level in (
        ([str(m) for m in wanted if m.name == "nDCG"], gains, 1),
        ([str(m) for m in wanted if m.name == "Recall"], judged, recall_level),
        ([str(m) for m in wanted if m.name in ("MRR", "MAP")], judged, 1),
    ):
        if names:
            found |= evaluate(labels, run, names, relevance_level=level).per_topic
    return {str(measure): found[str(measure)] for measure in wanted}


def _exponential(qid: str, grades: Mapping[str, int]) -> dict[str, int]:
    if max(grades.values()) > _HIGHEST_GRADE:
        raise InputError(f"topic {qid!r}: a grade above {_HIGHEST_GRADE} has no exponential gain; take the linear one")
    return {docid: 2**grade - 1 if grade > 0 else 0 for docid, grade in grades.items()}

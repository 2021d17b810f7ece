"""The questions of a run one by one: the best, the worst, the wrong ones; and all of them for a spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence

from sira.evaluate.agents.episodes import Episode
from sira.evaluate.agents.evaluation import LabelEvaluation, RunEvaluation
from sira.evaluate.agents.reporting.texts import UNKNOWN, figures, percent
from sira.evaluate.reporting.tables import Table

SHOWN, TEXT_LETTERS = 10, 120


def question_tables(found: RunEvaluation) -> list[Table]:
    """Best and worst by recall of the primary labels (behaviour, then surfaced), and judged wrong with least recall."""
    label = next(iter(found.labels.values()), None)
    if label is None:
        return []
    ordered = sorted(_labelled(found, label), key=lambda item: _order(label, item.qid), reverse=True)
    wrong = [] if found.judge is None else [
        item for item in reversed(ordered)
        if (verdict := found.judge.verdicts.get(item.qid)) is not None and not verdict.correct
    ]  # fmt: skip
    many = len(ordered) > SHOWN
    worst = list(reversed(ordered))[: SHOWN if many else 0]
    tables = [
        _table("Best questions" if many else "Questions, best first", ordered[:SHOWN], found, label),
        _table("Worst questions", worst, found, label),
        _table("Judged wrong, least recall first", wrong[:SHOWN], found, label),
    ]
    return [table for table in tables if table.rows]


def _labelled(found: RunEvaluation, label: LabelEvaluation) -> list[Episode]:
    return [episode for qid, episode in found.episodes.items() if qid in label.recall["surfaced"].per_question]


def _order(label: LabelEvaluation, qid: str) -> tuple[float, float]:
    return _recall(label, "behaviour", qid) or 0.0, _recall(label, "surfaced", qid) or 0.0


def _recall(label: LabelEvaluation, layer: str, qid: str) -> float | None:
    return next((item.per_question.get(qid) for name, item in label.recall.items() if name == layer), None)


def _table(title: str, episodes: Sequence[Episode], found: RunEvaluation, label: LabelEvaluation) -> Table:
    rows = tuple(
        (
            episode.qid,
            *(percent(_recall(label, layer, episode.qid)) for layer in label.recall),
            _verdict(found, episode),
            str(episode.total_calls),
            figures(episode.seconds),
            figures(None if episode.price is None else episode.price.value),
            clipped(episode.query),
        )
        for episode in episodes
    )
    head = ("question", *(str(layer) for layer in label.recall), "answer", "calls", "seconds", "price", "text")
    after = f"Recall of {label.name}; by behaviour, then surfaced."
    return Table(title, head, rows, after=after, texts=(0, len(label.recall) + 1, len(head) - 1))


def _verdict(found: RunEvaluation, episode: Episode) -> str:
    if not episode.answered:
        return episode.stop_reason or episode.status
    if found.judge is None:
        return UNKNOWN
    verdict = found.judge.verdicts.get(episode.qid)
    return "unjudged" if verdict is None else "correct" if verdict.correct else "wrong"


def clipped(words: str) -> str:
    """One line, without what is too long for a table."""
    line = " ".join(words.split())
    return line if len(line) <= TEXT_LETTERS else line[: TEXT_LETTERS - 1] + "…"


def question_head(found: RunEvaluation) -> list[str]:
    """The columns of questions.csv."""
    layers = [f"{layer} {name}" for name, label in found.labels.items() for layer in label.recall]
    prefix = [f"{measure} {name}" for name, label in found.labels.items() for measure in label.prefix]
    judges = [f"{what} {item.judge}" for item in found.judges for what in ("correct", "unjudged", "confidence")]
    fixed = ["run", "qid", "file", "status", "stop_reason", "answered", "cited", "failures"]
    return [*fixed, *found.measured, "currency", *layers, *prefix, *judges, "text"]


def question_rows(found: RunEvaluation) -> list[list[object]]:
    """One row a question, in full precision; empty where not known."""
    rows: list[list[object]] = []
    for qid, episode in found.episodes.items():
        row: list[object] = [
            found.run.name, qid, episode.file, episode.status, episode.stop_reason or "", int(episode.answered),
            "" if episode.cited is None else len(episode.cited), sum(episode.failures.values()),
        ]  # fmt: skip
        row += [_known(values.get(qid)) for values in found.measured.values()]
        row.append("" if episode.price is None else episode.price.currency or "")
        for label in found.labels.values():
            row += [_known(item.per_question.get(qid)) for item in label.recall.values()]
        for label in found.labels.values():
            row += [_known(values.get(qid)) for values in label.prefix.values()]
        for item in found.judges:
            verdict = item.verdicts.get(qid)
            row += [
                "" if verdict is None else int(verdict.correct is True),
                item.reasons.get(qid, "" if episode.answered else "not_answered"),
                _known(None if verdict is None else verdict.confidence),
            ]
        rows.append([*row, " ".join(episode.query.split())])
    return rows


def _known(value: float | None) -> str:
    return "" if value is None else repr(value)

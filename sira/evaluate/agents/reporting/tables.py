"""The tables of one run as texts, made once: report.md and report.html print the same ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sira.evaluate.agents.calibration import DEFINITIONS
from sira.evaluate.agents.episodes import COMPLETED
from sira.evaluate.agents.evaluation import LabelEvaluation, RunEvaluation
from sira.evaluate.agents.fates import Fate, fate_counts
from sira.evaluate.agents.reporting.texts import UNKNOWN, figures, four, number, percent, with_interval
from sira.evaluate.agents.spending import SPREAD, Spread
from sira.evaluate.agents.strata import DIFFICULTIES
from sira.evaluate.reporting.tables import Table

LAYER_NOTE = (
    "surfaced: in a ranking that a search gave, however deep; previewed: on a page that the model read; opened: read "
    "by itself; cited: named in the final answer; behaviour: opened or cited. Recall of a set says little without its "
    "size."
)


def run_tables(found: RunEvaluation) -> list[Table]:
    """All tables of one run, but for its questions."""
    tables = [layers(found), prefix(found), lost(found), citations(found)] if found.labels else []
    tables += [
        strata(found),
        judges(found),
        agreement(found),
        stops(found),
        failures(found),
        costs(found),
        distributions(found),
    ]
    if found.labels:
        tables.append(depth(found))
    return [table for table in tables if table.rows]


def layers(found: RunEvaluation) -> Table:
    zero = "counts as 0" if found.settings.zero_labels == "pi-serini" else "is left out of macro"
    rows = tuple(
        (
            label.name,
            layer,
            with_interval(item.macro, label.intervals[layer]),
            percent(item.micro),
            f"{item.hits}/{item.labels}",
            number(item.size),
            str(len(item.per_question)),
        )
        for label in found.labels.values()
        for layer, item in label.recall.items()
    )
    return Table(
        "Recall by layer",
        ("labels", "layer", "macro [95 %]", "micro", "hits/labels", "mean set size", "questions"),
        rows,
        after=f"{LAYER_NOTE} macro: mean over questions, percentile bootstrap; micro: all hits by all labels. "
        f"A question without a label {zero}; a label has a grade of at least {found.settings.level}.",
        texts=(0, 1),
    )


def prefix(found: RunEvaluation) -> Table:
    measures = list(dict.fromkeys(name for label in found.labels.values() for name in label.prefix))
    rows = tuple(
        (label.name, *(four(_mean(label.prefix[name].values())) for name in measures), str(_labelled(label)))
        for label in found.labels.values()
    )
    gain = "2^grade - 1" if found.settings.gain == "exponential" else "the grade, as trec_eval"
    return Table(
        "Surfaced order as a ranking",
        ("labels", *measures, "questions"),
        rows,
        after=f"Over questions with a label, documents in the order in which they surfaced. Gain of nDCG: {gain}; "
        f"recall counts grades from {found.settings.level}, MRR and MAP from 1. Computed by sira, equal to trec_eval's "
        "with the linear gain.",
    )


def lost(found: RunEvaluation) -> Table:
    rows: list[tuple[str, ...]] = []
    for label in found.labels.values():
        counts = fate_counts(label.fates)
        total = sum(counts.values())
        rows.append(
            (label.name, str(total), *(f"{n} ({percent(n / total if total else None)})" for n in counts.values()))
        )
    return Table(
        "Where labels were lost",
        ("labels", "in all", *(fate.value for fate in Fate)),
        tuple(rows),
        after="Each label counts once, at the furthest point that it reached.",
    )


def citations(found: RunEvaluation) -> Table:
    rows = tuple(
        (
            label.name,
            f"{item.citing}/{item.answers}",
            number(item.mean_citations, 2),
            with_interval(item.precision, item.precision_interval),
            with_interval(item.recall, item.recall_interval),
            percent(item.micro_precision),
            percent(item.micro_recall),
            str(item.unopened),
        )
        for label in found.labels.values()
        for item in (label.citations,)
        if item.answers
    )
    head = (
        "labels",
        "answers that cite",
        "citations",
        "precision [95 %]",
        "recall [95 %]",
        "micro precision",
        "micro recall",
        "not opened",
    )
    return Table(
        "Citations of the final answers",
        head,
        rows,
        after="Precision: mean over answers that cite; recall: over all answered questions with a label. Not opened: "
        "cited documents that were never opened.",
    )


def judges(found: RunEvaluation) -> Table:
    rows = tuple(
        (
            item.judge,
            item.mode,
            f"{item.correct}/{item.judged}",
            with_interval(item.over_completed, item.interval_completed),
            with_interval(item.over_all, item.interval),
            _reasons(item.unjudged),
            ""
            if item.bounds is None or not item.unjudged
            else f"{percent(item.bounds[0])} to {percent(item.bounds[1])}",
            *(UNKNOWN if (value := item.calibration[name]) is None else f"{value:.2f}" for name in DEFINITIONS),
            f"{item.stating}/{item.judged}",
            UNKNOWN if item.price is None else str(item.price),
        )
        for item in found.judges
    )
    head = ("judge", "mode", "correct/judged", "over completed [95 %]", "over all [95 %]", "unjudged", "bounds",
            *(f"CE {name}" for name in DEFINITIONS), "confidence stated", "judge's price")  # fmt: skip
    free = any(item.mode == "reference-free" for item in found.judges)
    return Table(
        "Answers",
        head,
        rows,
        after="Over all: questions without an answer count as wrong, unjudged answers are left out; bounds: over all, "
        "if all unjudged are wrong, or right. CE: calibration error from 0 to 100 over bins of 100 answers; pi-serini: "
        "the answer's own confidence line, all bins; hle: what the judge read, the last bin left out; neither for "
        "fewer than 100 answers."
        + (" Reference-free: no known answer was compared, the judge gives its own opinion." if free else ""),
        texts=(0, 1, 5),
    )


def strata(found: RunEvaluation) -> Table:
    """By stratum, the primary labels' recall and the first judge's accuracy."""
    rows: list[tuple[str, ...]] = []
    label = next(iter(found.labels.values()), None)
    for name in sorted(set(found.strata.values()), key=_hardest_first):
        qids = [qid for qid, stratum in found.strata.items() if stratum == name and qid in found.episodes]
        if not qids:
            continue
        layers_of = [] if label is None else [item.per_question for item in label.recall.values()]
        recalls = [percent(_mean(one[qid] for qid in qids if qid in one)) for one in layers_of]
        values: Mapping[str, float] = found.judge.values if found.judge is not None else {}
        accuracy = percent(_mean(values[qid] for qid in qids if qid in values))
        rows.append((name, str(len(qids)), accuracy if values else UNKNOWN, *recalls))
    head = ("stratum", "questions", "accuracy over all", *(str(layer) for layer in (label.recall if label else ())))
    return Table(
        "By difficulty and number of labels",
        head,
        tuple(rows),
        after="Difficulty by recall of the plain ranking: zero, tiny (to 0.1), low (to 0.25), medium (to 0.5), high; "
        "small: at most 5 labels. Recall: macro, of the primary labels.",
    )


def _hardest_first(stratum: str) -> tuple[int, str]:
    names = [name for name, _ in DIFFICULTIES]
    head = stratum.partition("_")[0]
    return names.index(head) if head in names else len(names), stratum


def agreement(found: RunEvaluation) -> Table:
    agreed = found.agreement
    rows = tuple(
        (*item.judges, str(item.n), percent(item.agreement), four(item.kappa), str(len(item.differ)))
        for item in (agreed.pairs if agreed else ())
    )
    alpha = "" if agreed is None else f" Krippendorff's alpha of all: {four(agreed.alpha)}, over {agreed.n} questions."
    return Table(
        "Agreement of judges",
        ("judge", "judge", "both judged", "agree", "Cohen's kappa", "differ on"),
        rows,
        after=f"A dash where kappa or alpha is not defined.{alpha}",
        texts=(0, 1),
    )


def stops(found: RunEvaluation) -> Table:
    total = len(found.episodes)
    correct: Counter[tuple[str, str]] = Counter()
    if found.judge is not None:
        for qid, verdict in found.judge.verdicts.items():
            episode = found.episodes[qid]
            correct[episode.status, episode.stop_reason or ""] += verdict.correct is True
    rows = tuple(
        (status, reason or UNKNOWN, str(n), percent(n / total),
         str(correct[status, reason]) if found.judge is not None and status == COMPLETED else UNKNOWN)
        for (status, reason), n in found.statuses.items()
    )  # fmt: skip
    return Table("How questions ended", ("status", "stop reason", "questions", "share", "correct"), rows, texts=(0, 1))


def failures(found: RunEvaluation) -> Table:
    calls: Counter[str] = Counter()
    questions: Counter[str] = Counter()
    for episode in found.episodes.values():
        calls.update(episode.failures)
        questions.update(kind for kind, n in episode.failures.items() if n)
        if episode.errors:
            calls["errors of the run"] += len(episode.errors)
            questions["errors of the run"] += 1
    rows = tuple((kind, str(n), str(questions[kind])) for kind, n in calls.most_common())
    return Table("Failures", ("kind", "calls", "questions"), rows)


def costs(found: RunEvaluation) -> Table:
    item = found.costs
    row = (
        f"{item.priced}/{item.questions}",
        UNKNOWN if item.total is None else str(item.total),
        figures(item.per_question, item.currency),
        figures(item.per_correct, item.currency),
    )
    rows = (row,) if item.priced else ()
    return Table(
        "Price of the agent's model",
        ("questions priced", "in all", "a question", "a correct answer"),
        rows,
        after="Known only where the price of every question is. A correct answer: by the first judge; the judge's own "
        "calls are not in it.",
    )


def distributions(found: RunEvaluation) -> Table:
    rows = tuple((name, *_spread(item)) for name, item in found.spreads.items())
    return Table("A question takes", ("", *SPREAD), rows, after="Percentiles are interpolated linearly.")


def depth(found: RunEvaluation) -> Table:
    rows = tuple(
        (label.name, what, str(label.depth.with_hits), str(label.depth.without_hits), *_spread(item))
        for label in found.labels.values()
        for what, item in (("first of a question", label.depth.first), ("every label", label.depth.every))
        if item is not None
    )
    return Table(
        "Ranks of labels in the surfaced order",
        ("labels", "ranks of", "questions with", "without", *SPREAD),
        rows,
        texts=(0, 1),
    )


def _spread(item: Spread) -> list[str]:
    return [number(value) if abs(value) >= 1 or value == 0 else figures(value) for value in item.row().values()]


def _reasons(unjudged: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in unjudged.items())


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def _labelled(label: LabelEvaluation) -> int:
    return max((len(values) for values in label.prefix.values()), default=0)

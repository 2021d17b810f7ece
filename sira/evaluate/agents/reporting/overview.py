"""What stands above the tables of single runs: all runs in one table, how they differ, and where everything is from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sira import __version__
from sira.evaluate.agents.evaluation import RunEvaluation
from sira.evaluate.agents.pairing import Pairing
from sira.evaluate.agents.reporting.texts import UNKNOWN, figures, number, percent, some, with_interval
from sira.evaluate.reporting.tables import Table, short
from sira.evaluate.significance import p_text

_FACT_CHARACTERS, _FACT_VALUES = 160, 3


@dataclass(frozen=True, slots=True)
class Source:
    """A file that a report stands on: what it is, its name, and the SHA-256 of its bytes."""

    what: str
    name: str
    sha256: str


def overview(runs: Sequence[RunEvaluation]) -> Table:
    """One row a run."""
    names = list(dict.fromkeys(name for found in runs for name in found.labels))
    rows: list[tuple[str, ...]] = []
    for found in runs:
        judge, calls = found.judge, found.spreads.get("calls: all tools")
        seconds = found.spreads.get("seconds")
        recalls = [
            percent(found.labels[name].recall[layer].macro) if name in found.labels else UNKNOWN
            for name in names
            for layer in ("surfaced", "previewed", "behaviour")
        ]
        rows.append(
            (
                found.run.name,
                str(len(found.episodes)),
                str(sum(episode.answered for episode in found.episodes.values())),
                UNKNOWN if judge is None else with_interval(judge.over_all, judge.interval),
                UNKNOWN if judge is None else percent(judge.over_completed),
                figures(found.costs.per_question, found.costs.currency),
                figures(found.costs.per_correct, found.costs.currency),
                number(None if calls is None else calls.mean),
                number(None if seconds is None else seconds.mean),
                *recalls,
            )
        )
    recall_heads = [f"{layer}, {name}" for name in names for layer in ("surfaced", "previewed", "behaviour")]
    head = ("run", "questions", "answered", "accuracy over all [95 %]", "over completed", "price a question",
            "a correct answer", "calls", "seconds", *recall_heads)  # fmt: skip
    return Table("Runs", head, tuple(rows), after="Recall: macro. Calls and seconds: means over questions.")


def comparison(item: Pairing) -> Table:
    """The paired tests of one run against the baseline."""
    rows = tuple(
        (
            found.measure,
            str(found.n),
            f"{100 * found.difference:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]",
            f"{found.wins} / {found.ties} / {found.losses}",
            p_text(found.randomisation.p),
            p_text(found.randomisation.p_corrected),
        )
        for found in item.comparisons
    )
    notes = [
        f"{item.common} questions in common; differences in points of per cent with 95 % bootstrap intervals, p by the "
        f"two-sided paired randomisation test, Holm over all {_family(item)} tests of this report."
    ]
    if item.mcnemar is not None:
        found = item.mcnemar
        notes.append(
            f"Accuracy over all, judge {item.judge}: {found.gained} correct here only, {found.lost} in the baseline "
            f"only; McNemar's exact test p {_equals(found.p)}, n = {found.n}."
        )
    if item.note:
        notes.append(item.note[0].upper() + item.note[1:] + ".")
    for name, qids in ((item.run, item.only_run), (item.baseline, item.only_baseline)):
        if qids:
            notes.append(f"Only in {name}, not compared: {some(qids)}.")
    return Table(
        f"{item.run} against {item.baseline}",
        ("measure", "n", "difference [95 %]", "win / tie / loss", "p", "p, Holm"),
        rows,
        after=" ".join(notes),
    )


def _equals(p: float) -> str:
    return text if (text := p_text(p)).startswith("<") else f"= {text}"


def _family(item: Pairing) -> int:
    return max((found.randomisation.family for found in item.comparisons), default=0)


def provenance(found: RunEvaluation, judged: Mapping[str, Mapping[str, Any]], sources: Sequence[Source]) -> Table:
    """What made the run and the judgments, and the files that labels are from; `judged` are the judge.json by judge."""
    rows = [("sira", __version__)]
    for name, values in found.run.facts().items():
        rows.append((name, "; ".join(_cut(value) for value in values[:_FACT_VALUES]) + _more(len(values))))
    for item in found.judges:
        manifest = judged.get(item.judge, {})
        rows.append((f"judge {item.judge}", ", ".join(_judge(manifest))))
    rows += [(source.what, f"{source.name}, sha256 {short(source.sha256)}") for source in sources]
    return Table("Where it is from", ("", ""), tuple(rows), texts=(0, 1))


def _judge(manifest: Mapping[str, Any]) -> Iterator[str]:
    for name in ("mode", "model", "sampling", "seed", "prompt"):
        value = manifest.get(name)
        if isinstance(value, dict):
            parts = cast("dict[str, Any]", value)
            yield from (f"{key} {part}" for key, part in parts.items() if part is not None)
        elif value is not None:
            yield f"{name} {value}"
    yield f"prompt sha256 {short(str(manifest.get('prompt_sha256', '')))}"
    yield f"fingerprint {short(str(manifest.get('fingerprint', '')))}"
    answers = manifest.get("answers")
    if isinstance(answers, dict):
        answers = cast("dict[str, Any]", answers)
        yield f"answers {answers.get('name')}, sha256 {short(str(answers.get('sha256', '')))}"


def _cut(value: str) -> str:
    return value if len(value) <= _FACT_CHARACTERS else value[: _FACT_CHARACTERS - 1] + "…"


def _more(values: int) -> str:
    return f"; {values - _FACT_VALUES} more" if values > _FACT_VALUES else ""


def caveats(found: RunEvaluation) -> list[str]:
    """What a reader of the figures must know, one line each."""
    run, lines = found.run, list[str]()
    if run.broken:
        told = some([f"{name} ({fault})" for name, fault in run.broken])
        lines.append(f"{len(run.broken)} file(s) could not be read and are in no figure: {told}.")
    missing = [qid for qid, episode in run.episodes.items() if not episode.file]
    if missing:
        lines.append(f"{len(missing)} question(s) have no file in the run and count as not answered: {some(missing)}.")
    if run.extra:
        lines.append(f"{len(run.extra)} question(s) of the run were not asked for, left out: {some(run.extra)}.")
    running = [qid for qid, episode in run.episodes.items() if episode.status == "running"]
    if running:
        lines.append(f"{len(running)} question(s) are not finished: {some(running)}.")
    for label in found.labels.values():
        if label.unlabelled:
            lines.append(f"{label.name}: {len(label.unlabelled)} question(s) have no label: {some(label.unlabelled)}.")
        if label.absent:
            lines.append(f"{label.name}: {len(label.absent)} labelled question(s) are not in the run.")
    for item in found.judges:
        if item.mode == "reference-free":
            lines.append(
                f"{item.judge}: reference-free; no known answer was compared, and its figures are not comparable to "
                "those of a judge that had one."
            )
    return lines

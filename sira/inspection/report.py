"""What `sira inspect` found, as text for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from sira.analysis import df_bound
from sira.expand.gate import DEFAULT_DOCUMENT_MAX_DF_RATIO
from sira.inspection.bins import Bin, even_bins, log_bins
from sira.inspection.counts import Distribution
from sira.inspection.rows import StoredRow
from sira.inspection.statistics import Inspection, RarestWords
from sira.tables import printable, text_table

BAR_COLUMNS = 40
SHOWN_PHRASES, SHOWN_CHARACTERS = 8, 300
TOKEN_NAMES = {"prompt_tokens": "prompt", "completion_tokens": "generated", "cached_tokens": "from the prefix cache"}


def share(part: int, whole: int) -> str:
    """A share in per cent; `-` of nothing. Never 0.0 % for something, nor 100.0 % for less than all."""
    if not whole:
        return "-"
    if 0 < part < 0.0005 * whole:
        return "<0.1 %"
    if 0.9995 * whole < part < whole:
        return ">99.9 %"
    return f"{100 * part / whole:.1f} %"


def clipped(text: str, characters: int) -> str:
    """The beginning of a text, saying how much was left out."""
    left_out = len(text) - characters
    return text if left_out <= 0 else f"{text[:characters]} [... {left_out:,} more characters]"


def summary(distribution: Distribution) -> str:
    """Mean and percentiles (nearest rank) in one line."""
    if distribution.mean is None:
        return "none"
    p5, median, p95 = (distribution.percentile(percent) for percent in (5, 50, 95))
    return f"mean {distribution.mean:.1f}, median {median}, p5 {p5}, p95 {p95}, largest {max(distribution.counts)}"


def head_lines(found: Inspection) -> list[str]:
    """What the store is, and what is not as it should be; the texts are not yet made printable."""
    files = f"{found.files} {'file' if found.files == 1 else 'files'}"
    if found.unfinished:
        files += f", {found.unfinished} of them unfinished"
    lines = [f"{found.store}: {found.name}" if found.name else found.store, f"{found.documents:,} rows in {files}"]
    if found.damaged:
        lines.append(
            f"{found.damaged:,} lines of unfinished files are torn or damaged: left out, and redone by the job"
        )
    if found.docids < found.documents:
        lines.append(
            f"{found.documents - found.docids:,} rows are of a docid that has another row: index takes one each"
        )
    if len(found.jobs) > 1:
        jobs = ", ".join(f"{job} ({rows:,})" for job, rows in list(found.jobs.items())[:5])
        lines.append(f"the rows are of {len(found.jobs)} jobs, made with different settings: {jobs}")
    if found.cut:
        lines.append(
            f"{found.cut:,} documents ({share(found.cut, found.documents)}) were cut "
            "(document_characters or the model's context)"
        )
    if found.retried:
        lines.append(f"{found.retried:,} documents were asked for more than once")
    return lines


def phrase_lines(found: Inspection) -> list[str]:
    """Proposed, blank, repeated, distinct; hubs."""
    proposed = found.phrases.sum
    within = proposed - found.blank - found.pairs
    lines = [f"{proposed:,} phrases proposed"]
    if found.blank:
        lines.append(f"{found.blank:,} of them are blank")
    if within:
        lines.append(f"{within:,} ({share(within, proposed)}) repeat a phrase of the same document")
    if found.pairs:
        lines.append(
            f"{found.distinct:,} distinct phrases (normal forms), each in {found.pairs / found.distinct:.2f} documents "
            f"on average; {share(found.pairs - found.distinct, found.pairs)} repeat a phrase of another document"
        )
    lines.append(
        f"{found.hubs:,} hub phrases, each in more than {found.hub_bound:,} documents: "
        f"{share(found.hub_pairs, found.pairs)} of all phrases"
    )
    return lines


def rarest_lines(rarest: RarestWords) -> list[str]:
    """What the df of the rarest words says about the gate."""
    phrases = rarest.df.items + rarest.no_word
    bound = df_bound(rarest.documents, DEFAULT_DOCUMENT_MAX_DF_RATIO)
    above = sum(items for df, items in rarest.df.counts.items() if df > bound)
    unseen = rarest.df.counts.get(0, 0)
    return [
        f"{share(unseen, phrases)} hold a word that none of the {rarest.documents:,} documents has; "
        f"{share(above, phrases)} hold only words above the gate's bound (df above {bound:,}); "
        f"{share(rarest.no_word, phrases)} hold stop words alone or no word"
    ]


def common_rows(found: Inspection) -> list[list[str]]:
    return [
        [item.phrase, f"{item.documents:,}", share(item.documents, found.documents), "hub" if item.hub else ""]
        for item in found.common
    ]


def report(found: Inspection) -> str:
    """The whole report; ends with a newline. Texts of the store are printable."""
    parts = [_lines(head_lines(found))]
    if not found.documents:
        return parts[0]
    rows = [[status, f"{n:,}", share(n, found.documents)] for status, n in found.statuses.items()]
    parts.append(text_table(["status", "rows", "share"], rows))
    if found.dropped:
        parts.append(text_table(["left out of replies", "items"], [[k, f"{n:,}"] for k, n in found.dropped.items()]))
    without = found.phrases.counts.get(0, 0)
    parts.append(
        f"phrases a document: {summary(found.phrases)}\n"
        f"{without:,} documents ({share(without, found.documents)}) have none\n"
        + _histogram(even_bins(found.phrases), found.documents)
    )
    if found.pairs:
        parts.append(f"words a phrase: {summary(found.words)}\n" + _histogram(even_bins(found.words), found.pairs))
    parts.append(_lines(phrase_lines(found)))
    if found.common:
        parts.append(text_table(["most common phrases", "documents", "share", ""], common_rows(found)))
    if found.verdicts:
        total = sum(found.verdicts.values())
        rows = [[outcome, f"{n:,}", share(n, total)] for outcome, n in found.verdicts.items()]
        parts.append(text_table(["verdict", "phrases", "share"], rows))
    if found.rarest:
        parts.append(
            "df of each phrase's rarest word\n"
            + _histogram(log_bins(found.rarest.df), found.pairs)
            + _lines(rarest_lines(found.rarest))
        )
    if found.tokens:
        parts.append(
            _lines(
                f"tokens a document, {TOKEN_NAMES[name]}: {summary(values)}; {values.sum:,} in all"
                for name, values in found.tokens.items()
            )
        )
    parts += [_sample(status, row) for status, samples in found.samples.items() for row in samples]
    return "\n".join(parts)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{printable(line)}\n" for line in lines)


def _histogram(bins: Sequence[Bin], total: int) -> str:
    """A line a bin: its label, its share of `total`, and a bar; the longest bar fills BAR_COLUMNS."""
    most = max((item.items for item in bins), default=0)
    margin = max((len(item.label) for item in bins), default=0)
    lines: list[str] = []
    for item in bins:
        bar = "#" * -(-item.items * BAR_COLUMNS // most)  # rounded up: something is never nothing
        lines.append(f"  {item.label:>{margin}}  {share(item.items, total):>7}  {bar}".rstrip() + "\n")
    return "".join(lines)


def _sample(status: str, row: StoredRow) -> str:
    lines = [f"[{status}] {row.docid}"]
    shown = [clipped(phrase, SHOWN_CHARACTERS) for phrase in row.phrases[:SHOWN_PHRASES]]
    if len(row.phrases) > SHOWN_PHRASES:
        shown.append(f"... {len(row.phrases) - SHOWN_PHRASES} more")
    lines.append(f"  {' | '.join(shown) or 'no phrases'}")
    lines += [f"  {name}: {clipped(text, SHOWN_CHARACTERS)}" for name, text in sample_notes(row)]
    return _lines(lines)


def sample_notes(row: StoredRow) -> list[tuple[str, str]]:
    """What else a row tells about its reply: (name, text)."""
    named = [("finish", row.finish), ("detail", row.detail), ("raw", row.raw)]
    if row.dropped:
        named.insert(0, ("left out", ", ".join(f"{reason} {items}" for reason, items in row.dropped.items())))
    return [(name, text) for name, text in named if text]


def to_json(found: Inspection) -> dict[str, Any]:
    """The same as JSON-ready values; distributions with their percentiles and exact counts."""
    data = asdict(found)
    data["phrases"], data["words"] = _distribution(found.phrases), _distribution(found.words)
    data["tokens"] = {name: _distribution(values) for name, values in found.tokens.items()}
    if found.rarest:
        data["rarest"] = {
            "documents": found.rarest.documents,
            "no_word": found.rarest.no_word,
            "df": _distribution(found.rarest.df),
        }
    return data


def _distribution(values: Distribution) -> dict[str, Any]:
    percentiles = {name: values.percentile(p) for name, p in (("p5", 5), ("median", 50), ("p95", 95))}
    return {"items": values.items, "sum": values.sum, "mean": values.mean, **percentiles, "counts": dict(values.counts)}

"""Statistics of an expansion store in bounded memory, however large the store.

Two passes over the rows: the first counts everything, phrases by the digests of their normal forms; the second, which
ends as soon as it can, finds the texts of the most common ones.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from tqdm import tqdm

from sira.analysis import normal_form
from sira.errors import InputError
from sira.inspection.counts import DigestCounts, Distribution, digest, tally
from sira.inspection.rows import (
    TOKENS,
    StoredRow,
    StoredRows,
    inspected_files,
    is_unfinished,
    small_json,
)
from sira.records import Outcome, Status

DEFAULT_TOP, DEFAULT_SAMPLES, DEFAULT_HUB_SHARE = 20, 3, 0.001
LEAST_HUB_BOUND = 20
NOT_RECORDED = "not recorded"
_PIECES = 200_000


class Frequencies(NamedTuple):
    """The corpus as judge of the phrases: N, the df of each index term (absent: 0), and the index terms of texts."""

    documents: int
    df: Mapping[str, int]
    analyze: Callable[[Sequence[str]], Sequence[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class CommonPhrase:
    """A phrase in its normal form and the number of documents it was proposed for; `hub` where those are too many."""

    phrase: str
    documents: int
    share: float
    hub: bool


@dataclass(frozen=True, slots=True)
class RarestWords:
    """The df of each phrase's rarest word, in a corpus of `documents`; `no_word` phrases have none after analysis."""

    documents: int
    df: Distribution
    no_word: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What stands in a store.

    documents: rows. docids: distinct ones. damaged: lines of unfinished shards that are no row.
    statuses: status -> rows, in the order of `Status`, then foreign ones.
    phrases: phrases a document, as proposed. words: words a phrase (between blanks).
    pairs: (document, phrase) with the phrases of a document that share a normal form counted once; `blank` ones left
    out. distinct: normal forms. hubs: those proposed for more than `hub_bound` documents; `hub_pairs` of all pairs.
    tokens: per document, of the rows that state them; a kind of which no row has any is absent. verdicts: outcome ->
    phrases, from filter.json or else from the rows; None where neither says.
    dropped: items that the parser left out, by reason. jobs: fingerprint -> rows, where the rows name one.
    """

    store: str
    name: str | None
    files: int
    unfinished: int
    damaged: int
    documents: int
    docids: int
    statuses: Mapping[str, int]
    phrases: Distribution
    words: Distribution
    blank: int
    pairs: int
    distinct: int
    common: tuple[CommonPhrase, ...]
    hub_bound: int
    hubs: int
    hub_pairs: int
    tokens: Mapping[str, Distribution]
    verdicts: Mapping[str, int] | None
    rarest: RarestWords | None
    dropped: Mapping[str, int]
    finishes: Mapping[str, int]
    jobs: Mapping[str, int]
    cut: int
    retried: int
    samples: Mapping[str, tuple[StoredRow, ...]]


@dataclass(slots=True)
class _RarestWord:
    """The df of the rarest word of a phrase: the analysis never crosses a blank, so that pieces can be remembered."""

    frequencies: Frequencies
    df: Counter[int] = field(default_factory=Counter[int])
    no_word: int = 0
    _known: dict[str, int | None] = field(default_factory=dict[str, int | None])

    def count(self, phrase: str) -> None:
        found = [df for piece in phrase.split() if (df := self._rarest(piece)) is not None]
        if found:
            self.df[min(found)] += 1
        else:
            self.no_word += 1

    def _rarest(self, piece: str) -> int | None:
        if piece in self._known:
            return self._known[piece]
        (terms,) = self.frequencies.analyze([piece])
        df = min((self.frequencies.df.get(term, 0) for term in terms), default=None)
        if len(self._known) < _PIECES:
            self._known[piece] = df
        return df


@dataclass(slots=True)
class _Tally:
    """What the first pass counts beside the digests."""

    samples_wanted: int
    rarest: _RarestWord | None
    documents: int = 0
    blank: int = 0
    cut: int = 0
    retried: int = 0
    statuses: Counter[str] = field(default_factory=Counter[str])
    phrases: Counter[int] = field(default_factory=Counter[int])
    words: Counter[int] = field(default_factory=Counter[int])
    tokens: dict[str, Counter[int]] = field(default_factory=lambda: {name: Counter[int]() for name in TOKENS})
    verdicts: Counter[str] = field(default_factory=Counter[str])
    dropped: Counter[str] = field(default_factory=Counter[str])
    finishes: Counter[str] = field(default_factory=Counter[str])
    jobs: Counter[str] = field(default_factory=Counter[str])
    samples: dict[str, list[StoredRow]] = field(default_factory=dict[str, list[StoredRow]])

    def count(self, row: StoredRow, forms: Mapping[str, str]) -> None:
        status = row.status or NOT_RECORDED
        self.documents += 1
        self.statuses[status] += 1
        self.phrases[len(row.phrases)] += 1
        for form in forms:
            self.words[form.count(" ") + 1] += 1
        self.cut += row.cut
        self.retried += row.attempts > 1
        if row.usage is not None:
            for name in TOKENS:
                if name in row.usage:
                    self.tokens[name][row.usage[name]] += 1
        if row.verdicts is not None:
            self.verdicts.update(row.verdicts)
            self.verdicts[Outcome.KEPT.value] += len(row.phrases)
        if row.dropped:
            self.dropped.update(row.dropped)
        if row.finish:
            self.finishes[row.finish] += 1
        if row.job:
            self.jobs[row.job] += 1
        if self.rarest:
            for phrase in forms.values():
                self.rarest.count(phrase)
        shown = self.samples.setdefault(status, [])
        if len(shown) < self.samples_wanted:
            shown.append(row)


def inspect_store(
    path: Path,
    *,
    frequencies: Frequencies | None = None,
    top: int = DEFAULT_TOP,
    samples: int = DEFAULT_SAMPLES,
    hub_share: float = DEFAULT_HUB_SHARE,
    progress: bool = False,
) -> Inspection:
    """Statistics of the store at `path`, with the `top` most common phrases and the first `samples` rows a status.

    A phrase is a hub where it was proposed for more than max(20, floor(hub_share * documents)) documents. Digests of
    large stores go to the folder for temporary files, 8 bytes a phrase. Raises InputError naming file and line.
    """
    if top < 0 or samples < 0:
        raise InputError(f"top = {top}, samples = {samples}: both count from 0")
    if not 0 <= hub_share <= 1:
        raise InputError(f"hub_share = {hub_share}: give a share of the documents, from 0 to 1")
    files = inspected_files(path)
    rows = StoredRows(files)
    counts = _Tally(samples, _RarestWord(frequencies) if frequencies else None)
    with tempfile.TemporaryDirectory(prefix="sira-inspect-") as scratch:
        (of_docids := Path(scratch) / "docids").mkdir()
        (of_phrases := Path(scratch) / "phrases").mkdir()
        docids, phrases = DigestCounts(of_docids), DigestCounts(of_phrases)
        for row in _shown(rows, "rows", progress=progress):
            forms = {normal_form(phrase): phrase for phrase in row.phrases}
            if forms.pop("", None) is not None:
                counts.blank += sum(not normal_form(phrase) for phrase in row.phrases)
            counts.count(row, forms)
            docids.add((row.docid,))
            phrases.add(forms)
        bound = max(LEAST_HUB_BOUND, int(round(hub_share * counts.documents, 9)))
        repetition = phrases.repetition(top, bound)
        distinct_docids = docids.repetition(0, 1).distinct
    damaged = rows.damaged
    texts = _texts(_shown(rows, "texts", progress=progress), set(repetition.common))
    common = sorted((-repetition.common[key], text) for key, text in texts.items())[:top]
    return Inspection(
        store=str(path),
        name=_job_name(path),
        files=len(files),
        unfinished=sum(map(is_unfinished, files)),
        damaged=damaged,
        documents=counts.documents,
        docids=distinct_docids,
        statuses=_by_status(counts.statuses),
        phrases=Distribution.of(counts.phrases),
        words=Distribution.of(counts.words),
        blank=counts.blank,
        pairs=repetition.occurrences,
        distinct=repetition.distinct,
        common=tuple(CommonPhrase(text, -n, -n / counts.documents, -n > bound) for n, text in common),
        hub_bound=bound,
        hubs=repetition.over,
        hub_pairs=repetition.over_occurrences,
        tokens={name: Distribution.of(counter) for name, counter in counts.tokens.items() if any(counter)},
        verdicts=_filter_counts(path) or tally(+counts.verdicts) or None,
        rarest=_rarest(counts.rarest),
        dropped=tally(counts.dropped),
        finishes=tally(counts.finishes),
        jobs=tally(counts.jobs),
        cut=counts.cut,
        retried=counts.retried,
        samples={status: tuple(counts.samples[status]) for status in _by_status(counts.statuses)},
    )


def _shown(rows: StoredRows, what: str, *, progress: bool) -> Iterable[StoredRow]:
    # disable=None: silent where stderr is no terminal
    return tqdm(rows, desc=what, unit=" rows", disable=None if progress else True, mininterval=0.5)


def _texts(rows: Iterable[StoredRow], wanted: set[bytes]) -> dict[bytes, str]:
    """The normal forms of these digests."""
    found: dict[bytes, str] = {}
    if not wanted:
        return found
    for row in rows:
        for phrase in row.phrases:
            form = normal_form(phrase)
            key = digest(form)
            if key in wanted and form:
                found[key] = form
        if len(found) == len(wanted):
            break
    return found


def _by_status(statuses: Mapping[str, int]) -> dict[str, int]:
    known = {status.value: statuses[status.value] for status in Status if status.value in statuses}
    return known | {status: statuses[status] for status in sorted(statuses) if status not in known}


def _rarest(counts: _RarestWord | None) -> RarestWords | None:
    if counts is None:
        return None
    return RarestWords(counts.frequencies.documents, Distribution.of(counts.df), counts.no_word)


def _job_name(path: Path) -> str | None:
    job = small_json(path / "job.json") if path.is_dir() else None
    name = job.get("name") if job else None
    return name if isinstance(name, str) else None


def _filter_counts(path: Path) -> dict[str, int] | None:
    """The verdicts that the filter summed up for the whole store; None where it is none."""
    summary = small_json(path / "filter.json") if path.is_dir() else None
    counts: Any = summary.get("verdicts") if summary else None
    if not isinstance(counts, dict):
        return None
    return tally(Counter({k: v for k, v in cast(dict[str, Any], counts).items() if type(v) is int and v > 0}))

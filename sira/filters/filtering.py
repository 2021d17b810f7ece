"""From a raw expansion store to a filtered one: the files around the rules of sira.filters.rules.

The result is a folder of `phrases.jsonl`, a store like any other, and `filter.json`, which says how it came about. It
depends on the inputs only, byte for byte. The raw store is read and never changed.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from tqdm import tqdm

import sira
from sira.analysis import df_bound
from sira.analysis.english import Analyze
from sira.errors import InputError
from sira.expand.store import expansion_rows, store_files, store_fingerprint
from sira.filters.joining import DocumentTexts
from sira.filters.rules import (
    ORDER,
    FilterSettings,
    Holds,
    PhraseVerdict,
    Rules,
    holder_of_terms,
    holder_of_text,
    judge,
)
from sira.filters.vocabulary import Vocabulary
from sira.folders import FolderKind, staging
from sira.policy import Policy
from sira.records import Expansion, Outcome, Place, Record

PHRASES, MANIFEST = "phrases.jsonl", "filter.json"
BATCH = 200
ANALYSIS_CHARACTERS = 4_000_000
"""The texts that are analysed at one go hold about so many characters."""

Row = tuple[Place, Expansion, Any]
"""Where a row of the raw store stands, the row, and its provenance (None where it has none)."""


@dataclass(slots=True)
class Tally:
    """What became of rows and phrases. Phrases: proposed = expired + the sum of `outcomes`.

    `forbidden` counts phrases by the class of the policy that names them; `texts` hashes the documents read.
    """

    outcomes: Counter[str] = field(default_factory=Counter[str])
    forbidden: Counter[str] = field(default_factory=Counter[str])
    rows: int = 0
    rows_emptied: int = 0
    rows_expired: int = 0
    rows_without_document: int = 0
    without_document: list[str] = field(default_factory=list[str])
    phrases: int = 0
    phrases_expired: int = 0
    dated: bool = False
    texts: Any = field(default_factory=hashlib.sha256)


@dataclass(frozen=True, slots=True)
class Filter:
    """Everything that decides. `documents` streams the corpus for novelty; None leaves novelty out."""

    settings: FilterSettings
    vocabulary: Vocabulary
    today: dt.date
    documents: Callable[[], Iterable[Record]] | None = None
    policy: Policy | None = None
    keep_verdicts: bool = False

    def __post_init__(self) -> None:
        try:
            _ = self.today + dt.timedelta(days=self.settings.expires_days or 0)
        except OverflowError:
            raise InputError(f"{self.settings.expires_days} days from {self.today}: beyond the year 9999") from None

    @property
    def bound(self) -> int | None:
        if self.vocabulary.df is None:
            return None
        return df_bound(self.vocabulary.documents, self.settings.max_df_ratio)


def filter_store(
    store: Path, target: Path, how: Filter, *, overwrite: bool = False, progress: bool = True
) -> dict[str, Any]:
    """Write the filtered store to the folder `target`, whole or not at all, and return what `filter.json` says.

    Rows keep docid, status, expires and provenance. Raises InputError for an unfinished store, and for a row
    or a target that cannot be used.
    """
    store_files(store)
    _check_apart(store, target)
    tally = Tally()
    with staging(target, FILTERED, overwrite=overwrite) as folder:
        texts = DocumentTexts(how.documents, folder) if how.documents else None
        try:
            with (folder / PHRASES).open("w", encoding="utf-8", newline="\n") as out:
                rows = tqdm(_rows(store), desc="rows", unit=" rows", disable=not progress, mininterval=0.5)
                _write_rows(rows, how, texts, tally, out)
        finally:
            if texts is not None:
                texts.close()
        manifest = _manifest(store, how, tally)
        text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        (folder / MANIFEST).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    return manifest


def _rows(store: Path) -> Iterator[Row]:
    return ((place, row, fields.get("provenance")) for place, fields, row in expansion_rows(store))


def _write_rows(rows: Iterable[Row], how: Filter, texts: DocumentTexts | None, tally: Tally, out: TextIO) -> None:
    rules = Rules(how.settings, how.bound, how.policy.forbids if how.policy else None)
    vocabulary = how.vocabulary
    rows = iter(rows)
    while batch := list(islice(rows, BATCH)):
        proposed = [() if _expired(row, how.today) else row.phrases for _, row, _ in batch]
        analysed = _analysed(proposed, vocabulary.analyze)
        holders = _holders(batch, proposed, texts, vocabulary.analyze, tally)
        df: Mapping[str, int] | None = None
        if vocabulary.df is not None:
            df = vocabulary.df({term for row in analysed or () for terms in row for term in terms})
        for number, (row, phrases) in enumerate(zip(batch, proposed, strict=True)):
            terms = None if analysed is None else analysed[number]
            verdicts = judge(phrases, rules, analysed=terms, holds=holders[number], df=df)
            out.write(_line(row, verdicts, how, tally))


def _analysed(proposed: Sequence[Sequence[str]], analyze: Analyze | None) -> list[list[list[str]]] | None:
    if analyze is None:
        return None
    terms = iter(analyze([phrase for phrases in proposed for phrase in phrases]))
    return [list(islice(terms, len(phrases))) for phrases in proposed]


def _holders(
    batch: Sequence[Row],
    proposed: Sequence[Sequence[str]],
    texts: DocumentTexts | None,
    analyze: Analyze | None,
    tally: Tally,
) -> list[Holds | None]:
    """What each document holds; None for those without proposed phrases, without a document, or without a corpus."""
    found: list[Holds | None] = [None] * len(batch)
    if texts is None:
        return found
    waiting: list[tuple[int, str]] = []
    characters = 0
    for number, ((place, row, _), phrases) in enumerate(zip(batch, proposed, strict=True)):
        if not phrases:
            continue
        contents = texts.get(row.docid)
        if contents is None:
            tally.rows_without_document += 1
            if len(tally.without_document) < 3:
                tally.without_document.append(f"{Path(place.path).name}, line {place.line_number}: {row.docid}")
            continue
        for text in (row.docid, contents):
            data = text.encode("utf-8", "surrogatepass")
            tally.texts.update(len(data).to_bytes(8, "big") + data)
        waiting.append((number, contents))
        characters += len(contents)
        if characters > ANALYSIS_CHARACTERS:
            _hold(waiting, analyze, found)
            characters = 0
    _hold(waiting, analyze, found)
    return found


def _hold(waiting: list[tuple[int, str]], analyze: Analyze | None, found: list[Holds | None]) -> None:
    if analyze is None:
        for number, contents in waiting:
            found[number] = holder_of_text(contents)
    else:
        for (number, _), terms in zip(waiting, analyze([contents for _, contents in waiting]), strict=True):
            found[number] = holder_of_terms(terms)
    waiting.clear()


def _line(row: Row, verdicts: Sequence[PhraseVerdict], how: Filter, tally: Tally) -> str:
    """The row of the new store, as a line; and its part of the counts."""
    _, old, provenance = row
    kept = [verdict.phrase for verdict in verdicts if verdict.outcome is Outcome.KEPT]
    tally.rows += 1
    tally.phrases += len(old.phrases)
    tally.outcomes.update([verdict.outcome for verdict in verdicts])
    tally.forbidden.update([verdict.policy_class for verdict in verdicts if verdict.policy_class is not None])
    expires = old.expires
    tally.dated |= expires is not None
    if _expired(old, how.today):
        tally.rows_expired += 1
        tally.phrases_expired += len(old.phrases)
    elif old.phrases and not kept:
        tally.rows_emptied += 1
    if expires is None and kept and how.settings.expires_days is not None:
        expires = (how.today + dt.timedelta(days=how.settings.expires_days)).isoformat()
    fields: dict[str, Any] = {"docid": old.docid, "status": old.status, "phrases": kept}
    if expires is not None:
        fields["expires"] = expires
    if provenance is not None:
        fields["provenance"] = provenance
    if how.keep_verdicts:
        dropped = [verdict for verdict in verdicts if verdict.outcome is not Outcome.KEPT]
        fields["verdicts"] = [[verdict.phrase, verdict.outcome.value, verdict.df] for verdict in dropped]
    line = json.dumps(fields, ensure_ascii=False)
    if not line.isascii():
        try:
            line.encode()
        except UnicodeEncodeError:  # half a character, which only an escape can carry
            line = json.dumps(fields)
    return line + "\n"


def _expired(row: Expansion, today: dt.date) -> bool:
    """The day of expiry itself still counts, as it does in the index."""
    return row.expires is not None and dt.date.fromisoformat(row.expires) < today


def _manifest(store: Path, how: Filter, tally: Tally) -> dict[str, Any]:
    vocabulary, counted = how.vocabulary, how.vocabulary.df is not None
    settings = asdict(how.settings) | {"keep_verdicts": how.keep_verdicts}
    if not counted:
        settings |= {"max_df_ratio": None, "min_df": None}
    return {
        "format": "sira-filter",
        "version": 1,
        "sira_version": sira.__version__,
        "settings": settings,
        # a day that decided nothing would only make equal results differ
        "today": how.today.isoformat() if tally.dated or how.settings.expires_days is not None else None,
        "analyzer": vocabulary.analyzer,
        "forms": "normal" if vocabulary.analyze is None else "analysed",
        "novelty": "skipped: no corpus was given" if how.documents is None else "tested",
        "df": {"documents": vocabulary.documents, "bound": how.bound} if counted else "skipped: no df was given",
        "policy": list(how.policy.classes) if how.policy else "skipped: no policy",
        "fingerprints": {
            "store": store_fingerprint(store),
            "df": vocabulary.fingerprint if counted else None,
            "policy": how.policy.fingerprint if how.policy else None,
            "texts": tally.texts.hexdigest() if how.documents else None,
        },
        "rows": {
            "read": tally.rows,
            "expired": tally.rows_expired,
            "emptied": tally.rows_emptied,
            "without_document": tally.rows_without_document,
            "without_document_examples": tally.without_document,
        },
        "phrases": {"proposed": tally.phrases, "expired": tally.phrases_expired},
        "verdicts": {outcome.value: tally.outcomes[outcome] for outcome in (Outcome.KEPT, *ORDER)},
        "forbidden": dict(sorted(tally.forbidden.items())),
    }


def _check_apart(store: Path, target: Path) -> None:
    source, place = store.resolve(), target.resolve()
    if place == source or place in source.parents or source in place.parents:
        raise InputError(f"{target}: holds, or lies in, the store that is read and never changed: give another folder")


def _is_filtered(folder: Path) -> bool:
    return {entry.name for entry in folder.iterdir()} - {".lock"} == {PHRASES, MANIFEST}


FILTERED = FolderKind("a filtered store", _is_filtered, InputError)

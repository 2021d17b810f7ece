"""From an index and an expansion store to an expanded index."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from sira.analysis import df_bound, normal_form
from sira.expand.gate import DocumentGate, GateSettings
from sira.expand.store import read_expansions, store_fingerprint
from sira.folders import staging
from sira.lucene.folders import INDEX
from sira.lucene.manifest import Manifest
from sira.lucene.reader import Index
from sira.lucene.update import AttachCounts, ExpansionTerms, attach_expansions
from sira.records import Expansion, Place

BATCH = 500


def document_gate(index: Index, settings: GateSettings) -> DocumentGate:
    """The gate on the base corpus of an index, which is its field `contents`."""
    bound = df_bound(index.document_count, settings.max_df_ratio)
    return DocumentGate(
        bound=bound,
        settings=settings,
        common=dict(index.terms("contents", least_df=bound + 1)),
        window_df=index.contents_window_df,
    )


def expand_index(
    base: Path,
    store: Path,
    target: Path,
    settings: GateSettings | None = None,
    *,
    today: dt.date | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> Manifest:
    """Write to `target` the index `base` with the phrases of `store` that pass the gate (replacing any it had).

    Rows past their expiry date are left out. Raises InputError (the store), IndexFault, DuplicateIdError.
    """
    settings = settings or GateSettings()
    day = today or dt.datetime.now(dt.UTC).date()
    with Index(base) as index:
        gate = document_gate(index, settings)
        rows = tqdm(read_expansions(store), desc="expansions", unit=" rows", disable=not progress, mininterval=0.5)
        terms = expansion_terms(index, rows, gate, day)

        def describe(counts: AttachCounts) -> dict[str, Any]:
            return {
                "store_fingerprint": store_fingerprint(store),
                "gate": {**asdict(settings), "bound": gate.bound, "documents": index.document_count},
                "documents": counts.documents,
                "unknown_docids": counts.unknown,
                "unknown_examples": counts.unknown_examples,
                "counts": dict(sorted(gate.counts.items())),
            }

        return attach_expansions(base, terms, target, describe, overwrite=overwrite)


def build_expanded_index(
    build_base: Callable[[Path], Manifest],
    store: Path,
    target: Path,
    settings: GateSettings | None = None,
    *,
    overwrite: bool = False,
    progress: bool = True,
) -> Manifest:
    """Build an index and expand it in one go; `target` gets the expanded one, and the base vanishes.

    `build_base` writes the index without expansions to the folder it is given. Raises as that and as `expand_index`.
    """
    with staging(target, INDEX, overwrite=overwrite) as folder:
        base, expanded = folder / "base", folder / "expanded"
        build_base(base)
        manifest = expand_index(base, store, expanded, settings, progress=progress)
        shutil.rmtree(base)
        for file in expanded.iterdir():
            file.rename(folder / file.name)
        expanded.rmdir()
        return manifest


def expansion_terms(
    index: Index, rows: Iterable[tuple[Place, Expansion]], gate: DocumentGate, today: dt.date
) -> Iterator[ExpansionTerms]:
    """Analyse, gate and count the phrases of each row; phrases of one normal form count once."""
    rows = iter(rows)
    while batch := list(islice(rows, BATCH)):
        phrases = [[] if _expired(row, today) else _distinct(row.phrases) for _, row in batch]
        gate.counts["rows_expired"] += sum(_expired(row, today) for _, row in batch)
        gate.counts["phrases_proposed"] += sum(len(row.phrases) for _, row in batch)
        gate.counts["phrases_duplicate"] += sum(
            len(row.phrases) - len(kept)
            for (_, row), kept in zip(batch, phrases, strict=True)
            if not _expired(row, today)
        )
        analysed = iter(index.analyze([phrase for group in phrases for phrase in group]))
        for (place, row), group in zip(batch, phrases, strict=True):
            words, atoms = gate.filter([next(analysed) for _ in group])
            yield ExpansionTerms(row.docid, words, atoms, place)


def _expired(row: Expansion, today: dt.date) -> bool:
    return row.expires is not None and dt.date.fromisoformat(row.expires) < today


def _distinct(phrases: tuple[str, ...]) -> list[str]:
    return list({normal_form(phrase): phrase for phrase in reversed(phrases)}.values())[::-1]

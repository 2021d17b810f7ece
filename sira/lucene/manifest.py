"""manifest.json: what an index is made of. Written last, so that a folder with a manifest is a whole index."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from sira.errors import IndexFault

SCHEMA_VERSION = 1
FILE = "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The facts of one index.

    `read` = `indexed` + the sum of `skipped`; `documents` are those searchable now (after additions and deletions).
    `expansion_words` is the sum of the lengths of all expansions, in words.
    `dropped` counts parts of indexed documents that could not be kept (facets above Lucene's term limit, values that
    are no number or date). `expansion` says where the expansions came from and how they were gated
    when they were attached (`statistics` has what is there now); None without.
    `closed_positions`: removed stop words leave no place in any document, so that phrases are windows of analysed
    terms. False for a foreign index, and for one of an older sira until it is built again: there a phrase misses texts
    that have a stop word inside it.
    """

    analyzer: str = "english"
    documents: int = 0
    read: int = 0
    indexed: int = 0
    empty: int = 0
    skipped: dict[str, int] = field(default_factory=dict[str, int])
    skipped_examples: list[str] = field(default_factory=list[str])
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    duplicates: str = "refuse"
    value_fields: dict[str, str] = field(default_factory=dict[str, str])
    facet_words: bool = False
    stored_text: bool = True
    closed_positions: bool = False
    corpus_fingerprint: str | None = None
    expansion: dict[str, Any] | None = None
    expansion_words: int = 0
    statistics: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    sira_version: str = ""
    lucene_version: str = ""
    created: str = ""
    foreign: bool = False
    schema_version: int = SCHEMA_VERSION

    def write(self, folder: Path) -> None:
        temporary = folder / f".{FILE}.{os.getpid()}"
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"
        # a file name that is no UTF-8 stands in the examples with lone surrogates, which become JSON's \udcxx
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
        temporary.replace(folder / FILE)


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of an index; None where the folder has none (an index of Pyserini's or Anserini's).

    Raises IndexFault for a damaged manifest, or one of a newer schema.
    """
    path = folder / FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        version = data["schema_version"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexFault(f"{path}: cannot be read ({error}): build the index again") from None
    if version != SCHEMA_VERSION:
        raise IndexFault(f"{path}: schema version {version}; this sira reads {SCHEMA_VERSION}: build the index again")
    known = {item.name for item in fields(Manifest)}
    return Manifest(**{key: value for key, value in data.items() if key in known})

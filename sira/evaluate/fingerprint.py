"""What decides a ranking, as hashes: files by their bytes, and the code that indexes, compiles and searches."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

import sira
from sira.corpora.jsonl import document_files

_DECIDES = ("analysis", "compile", "expand", "lucene", "search", "systems")


def digest(facts: object) -> str:
    """SHA-256 over JSON with sorted keys."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def file_digest(path: Path) -> str:
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


@cache
def code_digest() -> str:
    """Over the source of the packages that decide rankings, and the engine's jar."""
    root = Path(sira.__file__).parent
    files = [file for package in _DECIDES for file in sorted((root / package).rglob("*")) if file.is_file()]
    chosen = [file for file in files if file.suffix in (".py", ".jar")]
    return digest([(str(file.relative_to(root)), file_digest(file)) for file in chosen])


def source_digest(source: str) -> str:
    """Over the corpus files of a local source; of an ir_datasets id its name, since those are immutable downloads."""
    scheme, _, rest = source.partition(":")
    path = Path(rest if scheme in ("beir", "jsonl") else source)
    if not path.exists():
        return source
    folder = sorted(path.glob("corpus.jsonl*")) if path.is_dir() else []
    return digest([file_digest(file) for file in folder or document_files(path)])

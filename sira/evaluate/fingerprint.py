"""What decides a ranking, as hashes: files by their bytes, and the code that indexes, compiles and searches."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

import sira
from sira.corpora.collection import corpus_files

_DECIDES = (
    "analysis", "categories", "compile", "corpora/beir.py", "corpora/hub.py", "corpora/hub_tables.py",
    "corpora/irds.py", "corpora/jsonl.py", "corpora/wikipedia", "evaluate/indexes.py", "evaluate/searching.py",
    "expand", "llm/thinking.py", "lucene", "policy.py", "program.py", "records.py", "search", "systems",
)  # fmt: skip


def digest(facts: object) -> str:
    """SHA-256 over JSON with sorted keys."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def file_digest(path: Path) -> str:
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


@cache
def code_digest() -> str:
    """Over the source that decides rankings, and the engine's jar."""
    root = Path(sira.__file__).parent
    found = [root / name for name in _DECIDES]
    files = [file for path in found for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    chosen = [file for file in files if file.suffix in (".py", ".jar")]
    return digest([(str(file.relative_to(root)), file_digest(file)) for file in chosen])


def source_digest(source: str) -> str:
    """Over the corpus files of a local source; of an ir_datasets id its name, since those are immutable downloads."""
    files = corpus_files(source)
    return digest([file_digest(file) for file in files]) if files else source

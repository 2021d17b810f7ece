"""Files of benchmarks: read, found by name, and the paths in them.

Paths are relative to the file and may hold ${VARIABLES} of the environment, which are looked up when a path is used.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sira.agent.benchmark import Benchmark
from sira.agent.tables import BackendTable
from sira.config import filled, located, located_source, read_toml
from sira.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class BenchmarkFile:
    """A benchmark and the file that it was read from."""

    path: Path
    table: Benchmark

    def place(self, text: str) -> Path:
        """Raises InputError for a variable that is not set."""
        return Path(located(text, self.path.parent))

    def placed(self, text: str | None) -> Path | None:
        return None if text is None else self.place(text)

    def source(self) -> str | None:
        """The source of the corpus, its paths in place."""
        corpus = self.table.corpus
        return None if corpus is None or corpus.source is None else located_source(corpus.source, self.path.parent)

    def prompt(self, name: str) -> str:
        """The name of a prompt, or its file."""
        return str(self.place(name)) if name.endswith(".toml") else name


def server_of(table: BackendTable) -> BackendTable:
    """The same with the variables of its addresses in place. Raises InputError for one that is not set."""
    addresses = {name: filled(getattr(table, name)) for name in ("search_url", "read_document_url")}
    return table.model_copy(update=addresses)


def read_benchmark(path: Path) -> BenchmarkFile:
    """Raises InputError naming the file, the key and the fault."""
    return BenchmarkFile(path, read_toml(path, Benchmark))


def find_benchmark(text: str, folder: Path) -> BenchmarkFile:
    """A benchmark by its file, or by id or alias among the TOML files of a folder.

    Raises NotFoundError listing the benchmarks of the folder.
    """
    if text.endswith(".toml") or Path(text).is_file():
        return read_benchmark(Path(text))
    known: list[str] = []
    for path, name, aliases in _listed(folder):
        if text in (name, *aliases):
            return read_benchmark(path)
        known.append(name)
    listed = f"{folder} has {', '.join(known)}" if known else f"{folder} has none"
    raise NotFoundError(f"there is no benchmark {text!r}: {listed}; or give a TOML file")


def _listed(folder: Path) -> Iterator[tuple[Path, str, Sequence[str]]]:
    """(file, id, aliases); a file that is no benchmark is left out."""
    for path in sorted(folder.glob("*.toml")):
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError):
            continue
        name, aliases = data.get("id"), data.get("aliases", [])
        if isinstance(name, str) and isinstance(aliases, list):
            yield path, name, aliases

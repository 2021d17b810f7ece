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
    from sira.compile import CompileSettings, compile_sketch
    from sira.errors import SiraError
    from sira.expand.indexing import expand_index
    from sira.lucene.reader import Index
    from sira.lucene.writer import build_index
    from sira.program import Program, Scoring, program_from_json, program_to_json
    from sira.records import Document, Ranking, Run, Sketch, SketchPhrase, Topic
    from sira.search import explain, search_programs

__version__ = "0.1.0"

_HOMES = {
    "CompileSettings": "sira.compile",
    "Document": "sira.records",
    "Index": "sira.lucene.reader",
    "Program": "sira.program",
    "Ranking": "sira.records",
    "Run": "sira.records",
    "Scoring": "sira.program",
    "SiraError": "sira.errors",
    "Sketch": "sira.records",
    "SketchPhrase": "sira.records",
    "Topic": "sira.records",
    "build_index": "sira.lucene.writer",
    "compile_sketch": "sira.compile",
    "expand_index": "sira.expand.indexing",
    "explain": "sira.search",
    "program_from_json": "sira.program",
    "program_to_json": "sira.program",
    "search_programs": "sira.search",
}

__all__ = [
    "CompileSettings",
    "Document",
    "Index",
    "Program",
    "Ranking",
    "Run",
    "Scoring",
    "SiraError",
    "Sketch",
    "SketchPhrase",
    "Topic",
    "__version__",
    "build_index",
    "compile_sketch",
    "expand_index",
    "explain",
    "program_from_json",
    "program_to_json",
    "search_programs",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sira' has no attribute {name!r}")

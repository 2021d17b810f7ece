"""From a cold start to the first result, and memory after 1,000 searches, on an index of SciFact's size.

    python -m benchmarks.startup [--json]

The index holds 5,183 documents of three package descriptions each. Whole processes are timed. Pyserini's process has
the same Java and heap, and leaves out torch where it is not installed: it then starts sooner than an ordinary install.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks._measure import (
    Goal,
    Report,
    Row,
    alternate,
    median,
    options,
    p95,
    run_process,
    say,
)
from benchmarks.corpus import Corpus, prepare
from sira.corpora.files import replacing
from sira.corpora.jsonl import read_documents
from sira.lucene.jvm import engine_jar_hash
from sira.lucene.writer import build_index

DOCUMENTS, TEXTS_A_DOCUMENT, SEARCHES = 5_183, 3, 1_000
MEMORY = """
def resident():
    for line in open("/proc/self/status", encoding="utf-8"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
import json
queries = json.load(open(sys.argv[2], encoding="utf-8"))[:int(sys.argv[3])]
"""
SIRA = (
    "import sys\n"
    + MEMORY
    + """
from sira.lucene.reader import Index
from sira.program import Program, TermClause
index = Index(sys.argv[1])
for query in queries:
    (terms,) = index.analyze([query])
    ranking = index.search(Program("q", tuple(TermClause(term) for term in dict.fromkeys(terms))), 1000)
print(len(ranking), resident())
"""
)
PYSERINI = (
    "import sys\n"
    + MEMORY
    + """
from benchmarks._peers import join_java
join_java()
from pyserini.search.lucene import LuceneSearcher
searcher = LuceneSearcher(sys.argv[1])
for query in queries:
    hits = [(hit.docid, hit.score) for hit in searcher.search(query, k=1000)]
print(len(hits), resident())
"""
)


def small_index(corpus: Corpus, *, fresh: bool) -> tuple[Path, Path]:
    """The index, and a file with the queries: the first eight words of a thousand texts."""
    version = (engine_jar_hash() or "")[:12]
    index, queries, texts = (corpus.folder / f"small-{version}{suffix}" for suffix in ("", "-queries.json", ".jsonl"))
    if fresh or not queries.is_file():
        say("indexing")
        lines = corpus.texts.read_text(encoding="utf-8").splitlines()
        contents = [json.loads(line)["contents"] for line in lines[: DOCUMENTS * TEXTS_A_DOCUMENT]]
        with replacing(texts) as out:
            for at in range(0, len(contents), TEXTS_A_DOCUMENT):
                text = " ".join(contents[at : at + TEXTS_A_DOCUMENT])
                out.write(json.dumps({"id": str(at), "contents": text}) + "\n")
        build_index(lambda: read_documents(texts), index, overwrite=True, progress=False)
        with replacing(queries) as out:
            json.dump([" ".join(text.split()[:8]) for text in contents[:SEARCHES]], out)
    return index, queries


def measure(corpus: Corpus, *, rounds: int, fresh: bool) -> Report:
    index, queries = small_index(corpus, fresh=fresh)
    report = Report("startup", {"documents": DOCUMENTS, "searches": SEARCHES, "rounds": rounds})
    resident: dict[str, float] = {}

    def process(name: str, script: str, searches: int) -> Callable[[], list[float]]:
        def run() -> list[float]:
            finished = run_process([sys.executable, "-c", script, str(index), str(queries), str(searches)])
            resident[name] = max(resident.get(name, 0), float(finished.stdout.split()[-1]))
            return [finished.seconds]

        return run

    names = {"sira": SIRA, "pyserini": PYSERINI}
    first = {f"{who}, first result": process(f"{who}, first result", script, 1) for who, script in names.items()}
    first["sira --help"] = lambda: [run_process([sys.executable, "-m", "sira.cli.main", "--help"]).seconds]
    measured = alternate(first, rounds)
    for who, script in names.items():
        say(f"  {SEARCHES:,} searches, {who}")
        name = f"{who}, {SEARCHES:,} searches"
        measured[name] = [process(name, script, SEARCHES)()]
    for name, values in measured.items():
        row: Row = {"process": name, "p50 s": median(values), "p95 s": p95(values), "resident MB": resident.get(name)}
        report.rows.append(row)
    report.goals = [
        Goal("first result, s", median(measured["sira, first result"]), "<=", 1.5),
        Goal(f"resident MB after {SEARCHES:,} searches", resident[f"sira, {SEARCHES:,} searches"], "<=", 400),
        Goal("sira --help, s", median(measured["sira --help"]), "<=", 0.4),
    ]
    return report


def main() -> None:
    arguments = options(str(__doc__).splitlines()[0]).parse_args()
    corpus = prepare(arguments.work, arguments.texts)
    measure(corpus, rounds=arguments.rounds, fresh=arguments.fresh).print(as_json=arguments.json)


if __name__ == "__main__":
    main()

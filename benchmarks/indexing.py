"""From JSON Lines to a finished index, whole processes: sira against Anserini's IndexCollection.

    python -m benchmarks.indexing [--threads 1 2] [--json]

Both store the text and index positions; both get the texts in as many files as they have threads. sira's index holds
the documents' contents (expansions are attached later), as Anserini's does. Each process starts cold; Java's heap is
each one's default (sira 1 GB, Anserini a quarter of the memory).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks._measure import (
    Finished,
    Goal,
    Report,
    alternate,
    median,
    options,
    ratio,
    run_process,
)
from benchmarks.corpus import prepare
from sira.lucene.jvm import find_anserini, find_java
from sira.lucene.reader import Index

BUILD = """
import sys
from pathlib import Path
from sira.corpora.jsonl import read_documents
from sira.lucene.writer import build_index
build_index(lambda: read_documents(sys.argv[1]), Path(sys.argv[2]), threads=int(sys.argv[3]), progress=False)
"""
GOAL = 0.85


def sira(source: Path, target: Path, threads: int) -> Finished:
    return run_process([sys.executable, "-c", BUILD, str(source), str(target), str(threads)])


def anserini(source: Path, target: Path, threads: int) -> Finished:
    command = [str(find_java().path / "bin" / "java"), "-cp", str(find_anserini()), "io.anserini.index.IndexCollection"]
    command += ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator"]
    command += ["-input", str(source), "-index", str(target), "-threads", str(threads), "-storePositions", "-storeRaw"]
    return run_process(command)


def measure(folder: Path, sources: dict[int, Path], documents: int, rounds: int) -> Report:
    report = Report("indexing", {"documents": documents, "rounds": rounds})
    peak: dict[str, float] = {}

    def peer(name: str, build: Callable[[Path, Path, int], Finished], threads: int) -> Callable[[], list[float]]:
        def run() -> list[float]:
            target = folder / name.replace(" ", "-")
            shutil.rmtree(target, ignore_errors=True)
            finished = build(sources[threads], target, threads)
            peak[name] = max(peak.get(name, 0), finished.peak_mb)
            with Index(target) as index:  # IndexCollection ends well on bad input too
                if index.document_count != documents:
                    raise SystemExit(f"{name} indexed {index.document_count:,} of {documents:,} documents")
            return [finished.seconds]

        return run

    for threads in sources:
        ours, theirs = f"sira, {threads} threads", f"anserini, {threads} threads"
        peers = {ours: peer(ours, sira, threads), theirs: peer(theirs, anserini, threads)}
        measured = alternate(peers, rounds)
        for name, values in measured.items():
            size = sum(file.stat().st_size for file in (folder / name.replace(" ", "-")).iterdir()) / 1e6
            seconds = median(values)
            report.rows.append(
                {"build": name, "s": seconds, "docs/s": documents / seconds, "peak MB": peak[name], "index MB": size}
            )
        report.goals.append(
            Goal(f"docs/s of sira / anserini, {threads} threads", ratio(measured[theirs], measured[ours]), ">=", GOAL)
        )
    return report


def main() -> None:
    parser = options(str(__doc__).splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads (1 2)")
    parser.set_defaults(rounds=3)
    arguments = parser.parse_args()
    corpus = prepare(arguments.work, arguments.texts)
    with corpus.texts.open(encoding="utf-8") as lines:
        documents = sum(1 for _ in lines)
    sources = {threads: corpus.parts(threads) for threads in arguments.threads}
    with tempfile.TemporaryDirectory(dir=corpus.folder) as folder:
        measure(Path(folder), sources, documents, arguments.rounds).print(as_json=arguments.json)


if __name__ == "__main__":
    main()

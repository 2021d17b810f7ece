"""`sira expand` with a model that answers at once: documents a second, and memory by the size of the corpus.

    python -m benchmarks.expanding [--sizes 100000 1000000] [--work FOLDER] [--json]

Each row is a whole process: the corpus is read twice, prompts are rendered, replies parsed, rows written, the finished
shard put in order. The peer is reading the same corpus once and doing nothing. What a model adds comes on top.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks._measure import Goal, Report, run_process, say

SIZES = (100_000, 1_000_000)
TEXT = "The kiln shelf is washed with alumina and kaolin so that glaze which runs does not stick to it. " * 8

READ = """
import sys
from sira.corpora.collection import open_collection
sum(1 for _ in open_collection(sys.argv[1]).documents())
"""

EXPAND = """
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from sira.expand.config import read_expand_config
from sira.expand.job import run_shard
from sira.llm import Finish, Reply, Request, Usage

class Instant:
    identity, facts, context_tokens, tokenizer, pending = {"model": "instant"}, {}, None, None, None

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        phrases = ", ".join(f'"phrase number {number}"' for number in range(10))
        for request in requests:
            yield Reply(request.key, f'{{"phrases": [{phrases}]}}', Finish.STOP, Usage(500, 60))

    def close(self) -> None:
        pass

config = read_expand_config(sys.argv[2], sys.argv[1])
run_shard(config, Path(sys.argv[3]), progress=False, open_model=lambda _: Instant())
"""

JOB = 'name = "benchmark"\n[corpus]\nsource = "given"\n[model]\nbackend = "openai"\nmodel = "instant"\n'


def main() -> None:
    parser = argparse.ArgumentParser(description="sira expand with a model that answers at once")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="documents")
    parser.add_argument("--work", type=Path, help="where corpora and stores go (a temporary folder)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    report = Report("expanding", {"characters a document": len(TEXT), "phrases a document": 10})
    work = Path(tempfile.mkdtemp(dir=arguments.work))
    try:
        (work / "job.toml").write_text(JOB, encoding="utf-8")
        for size in arguments.sizes:
            say(f"{size:,} documents")
            corpus = work / "corpus.jsonl"
            with corpus.open("w", encoding="utf-8") as stream:
                for number in range(size):
                    stream.write(json.dumps({"docid": f"d{number}", "title": f"title {number}", "text": TEXT}) + "\n")
            source = f"jsonl:{corpus}"
            read = run_process([sys.executable, "-c", READ, source])
            expanded = run_process([sys.executable, "-c", EXPAND, source, str(work / "job.toml"), str(work / "store")])
            shutil.rmtree(work / "store")
            report.rows.append(
                {
                    "documents": size,
                    "documents/s": size / expanded.seconds,
                    "seconds": expanded.seconds,
                    "of them reading once": read.seconds,
                    "times reading": expanded.seconds / read.seconds,
                    "peak MB": expanded.peak_mb,
                }
            )
            report.goals.append(Goal(f"documents/s at {size:,}", size / expanded.seconds, ">=", 3000))
            report.goals.append(Goal(f"peak MB at {size:,}", expanded.peak_mb, "<=", 400))
    finally:
        shutil.rmtree(work)
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()

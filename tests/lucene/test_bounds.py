"""Memory and time that do not grow with what is asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.java, pytest.mark.slow]

CODE = """
import resource, sys, time
from pathlib import Path
from sira.corpora.trec_writer import RunWriter
from sira.lucene.reader import Index
from sira.lucene.writer import build_index
from sira.program import Program, TermClause
from sira.records import Document, Place
from sira.search import search_programs

folder = Path(sys.argv[1])

def records():
    for number in range(200_000):
        yield Place("here", number + 1), Document(f"d{number}", "kiln" if number % 20 else "kiln glaze")

build_index(records, folder / "ix", progress=False)
with Index(folder / "ix") as index:
    assert index.df(["kiln", "glaze"]) == [200_000, 10_000]
    memory = []
    programs = (Program(f"q{n}", (TermClause("glaze"),)) for n in range(300))
    with RunWriter(folder / "run", "sira") as writer:
        for number, item in enumerate(search_programs(index, programs, 200_000)):
            assert len(item.ranking) == 10_000
            if number < 100:
                writer.write(item.program.qid, item.ranking)
            if number in (50, 299):
                with open("/proc/self/statm") as statm:
                    memory.append(int(statm.read().split()[1]) * resource.getpagesize() // 2**20)
print(*memory)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads memory from /proc")
def test_g07_g15_a_common_term_and_deep_batches_at_a_small_heap(tmp_path: Path) -> None:
    """df of a term in 200,000 documents, then 300 rankings of 10,000 documents, at 128 MB."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)],
        env={"SIRA_JAVA_HEAP": "128m"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    early, late = map(int, done.stdout.split())
    assert late < early + 64

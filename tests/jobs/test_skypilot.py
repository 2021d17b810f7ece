"""The SkyPilot task: its YAML, and its `run` section as a node would run it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .recorded_job import ROOT, docids_of, make_command, make_job

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")


@pytest.fixture(scope="module")
def task() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "jobs" / "skypilot-expand.yaml").read_text(encoding="utf-8"))


def run_node(task: dict[str, Any], folder: Path, rank: int, nodes: int) -> subprocess.CompletedProcess[str]:
    """The `run` section in bash, with the variables that SkyPilot sets on a node."""
    make_command(folder)
    environment = os.environ | task["envs"] | {
        "PATH": f"{folder}:{os.environ['PATH']}", "BUCKET": "some", "STORE": str(folder / "store"),
        "SKYPILOT_NODE_RANK": str(rank), "SKYPILOT_NUM_NODES": str(nodes),
    }  # fmt: skip
    return subprocess.run(
        ["bash", "-c", task["run"]],
        check=False,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_task_has_a_shard_a_node_and_keeps_its_store_on_a_mount_that_takes_appends(task: dict[str, Any]) -> None:
    assert task["num_nodes"] > 1
    assert set(task) == {"name", "num_nodes", "resources", "workdir", "envs", "file_mounts", "setup", "run"}
    (mount,) = task["file_mounts"]
    assert task["envs"]["STORE"].startswith(mount + "/")
    assert task["file_mounts"][mount] == {"name": "${BUCKET}", "mode": "MOUNT_CACHED"}


def test_the_run_section_does_the_shard_of_its_node_and_the_nodes_make_the_store_whole(
    task: dict[str, Any], tmp_path: Path
) -> None:
    docids, store = make_job(tmp_path, 300), tmp_path / "store"
    done = run_node(task, tmp_path, rank=1, nodes=2)
    assert done.returncode == 0, done.stderr
    assert [file.name for file in store.glob("*.jsonl")] == ["shard-00001-of-00002.jsonl"]
    assert not (store / "manifest.json").exists()
    assert run_node(task, tmp_path, rank=0, nodes=2).returncode == 0
    assert sorted(docids_of(sorted(store.glob("*.jsonl")))) == sorted(docids)
    assert json.loads((store / "manifest.json").read_text())["documents"] == 300


def test_failed_documents_do_not_end_the_other_nodes_and_a_wrong_input_does(
    task: dict[str, Any], tmp_path: Path
) -> None:
    make_job(tmp_path, 3)
    with (tmp_path / "corpus.jsonl").open("a") as corpus:
        corpus.write('{"docid": "no-document", "text": 5}\n')
    assert run_node(task, tmp_path, rank=0, nodes=1).returncode == 0
    (tmp_path / "job.toml").write_text("name = 5\n")
    assert run_node(task, tmp_path, rank=0, nodes=1).returncode == 2

"""The engine in a process of its own, as on a GPU, killed as the system kills where memory runs out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.vllm.conftest import ENVIRONMENT, needs_vllm

pytestmark = [needs_vllm, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

# A process of its own: the engine's is started by spawning, which imports the main module again.
SCRIPT = """
import os, signal, sys
from sira.errors import EnvironmentFault
from sira.llm import Request
from sira.records import Message
from tests.vllm.conftest import start


def requests(count):
    for number in range(count):
        yield Request(f"d{number}", (Message("user", f"kiln {number}"),), 40, seed=number)


if __name__ == "__main__":
    model = start(sys.argv[1])
    replies = list(model.generate(requests(50)))
    assert len({reply.key for reply in replies}) == 50
    stream = model.generate(requests(10_000))
    yielded = [next(stream) for _ in range(5)]
    for process in model._llm.llm_engine.engine_core.resources.engine_manager.processes:
        os.kill(process.pid, signal.SIGKILL)
    try:
        yielded += stream
    except EnvironmentFault as fault:
        print(fault)
    assert 5 <= len(yielded) < 10_000
    model.close()
"""


def test_a_killed_engine_ends_the_stream_with_one_line(tiny_model: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = os.environ | ENVIRONMENT | {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    command = [sys.executable, str(script), str(tiny_model)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("vLLM's engine has died (RuntimeError: its process has ended); ")

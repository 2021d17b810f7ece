"""One engine for all tests here: starting it is most of their time."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sira.llm.vllm_engine import VllmGenerator

needs_vllm = pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None, reason="vllm is not installed here: scripts/set-up-llm makes .venv-llm"
)

ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the engine in this process starts in seconds instead of half a minute
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_NUM_OF_RESERVED_CPU": "0",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # threads bound to busy cores wait for each other
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
}


@pytest.fixture(scope="session")
def engine_environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            if name not in os.environ:
                patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.vllm.tiny_model import make_tiny_qwen3

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of torch and transformers
        return make_tiny_qwen3(tmp_path_factory.mktemp("tiny-qwen3"))


@pytest.fixture(scope="session")
def engine(engine_environment: None, tiny_model: Path) -> Iterator[VllmGenerator]:
    generator = start(tiny_model)
    yield generator
    generator.close()


def start(model: Path, **options: object) -> VllmGenerator:
    """A new engine, eager and in full precision."""
    from sira.llm import ModelSettings
    from sira.llm.vllm_engine import VllmGenerator

    engine = {"dtype": "float32", "enforce_eager": True, "max_num_seqs": 100, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of torch and vLLM
        return VllmGenerator(
            ModelSettings.model_validate({"backend": "vllm", "model": str(model), "temperature": 1.0, "engine": engine})
        )

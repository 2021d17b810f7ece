"""Language models behind one Protocol: vLLM in process, OpenAI-compatible endpoints, batch files, recorded replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sira.llm.base import Finish, Generator, Reply, Request, Tokenizer, Tool, Usage

if TYPE_CHECKING:
    from sira.llm.settings import ModelSettings

__all__ = ["Finish", "Generator", "ModelSettings", "Reply", "Request", "Tokenizer", "Tool", "Usage", "open_generator"]


def __getattr__(name: str) -> Any:
    """ModelSettings at its first use: pydantic is not to be waited for by a search that asks no model."""
    if name == "ModelSettings":
        from sira.llm.settings import ModelSettings

        return ModelSettings
    raise AttributeError(f"module 'sira.llm' has no attribute {name!r}")


def open_generator(settings: ModelSettings) -> Generator:
    """The model that the settings name, ready to answer.

    Raises InputError for settings that do not fit the backend, EnvironmentFault where its package or server lacks.
    """
    match settings.backend:
        case "vllm":
            from sira.llm.vllm_engine import VllmGenerator

            return VllmGenerator(settings)
        case "openai":
            from sira.llm.endpoint import EndpointGenerator

            return EndpointGenerator(settings)
        case "local":
            from sira.llm.local import LocalGenerator

            return LocalGenerator(settings)
        case "batch-file":
            from sira.llm.batch_file import BatchFileGenerator

            return BatchFileGenerator(settings)
        case "recorded":
            from sira.llm.recorded import RecordedGenerator

            return RecordedGenerator(settings)

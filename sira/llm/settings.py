"""The `[model]` table of a TOML file: which model, where it runs, how it samples."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sira.config import filled, located, read_toml

Backend = Literal["vllm", "openai", "local", "batch-file", "recorded"]

THROUGHPUT_OPTIONS = frozenset(
    {
        "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel",
        "gpu_memory_utilization", "swap_space", "cpu_offload_gb", "max_num_seqs", "max_num_batched_tokens",
        "enforce_eager", "enable_prefix_caching", "enable_chunked_prefill", "block_size", "disable_log_stats",
        "distributed_executor_backend", "load_format", "download_dir", "compilation_config", "speculative_config",
        "attention_backend", "seed", "spec_method", "spec_model", "spec_tokens", "kv_cache_memory_bytes",
    }
)  # fmt: skip
"""Engine options that change the speed and not what the replies mean; every other one belongs to a job's identity."""


class Price(BaseModel):
    """What calls cost, from a dated table. Amounts in `currency` per million tokens, or per GPU and hour."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    date: dt.date
    """Of the price list: a TOML date, or YYYY-MM-DD."""
    currency: str = "USD"
    input_per_million: float = Field(0.0, ge=0)
    cached_input_per_million: float | None = Field(None, ge=0)
    output_per_million: float = Field(0.0, ge=0)
    gpu_hour: float = Field(0.0, ge=0)


class ModelSettings(BaseModel):
    """One model and its sampling; temperature and seed by default as in the SIRA paper's release.

    `engine` goes to vLLM's LLM class unchanged, `extra_body` into the body of each call to an endpoint. `replies` is
    the store of `recorded`, or the folder of `batch-file`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    backend: Backend
    model: str = ""
    revision: str | None = None

    temperature: float = Field(0.4, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=1)
    min_p: float | None = Field(None, ge=0, le=1)
    repetition_penalty: float | None = Field(None, gt=0)
    seed: int = Field(42, ge=0, lt=2**31)
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    """None: above the schema's worst case, computed from it."""
    thinking: bool = False

    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: int = Field(64, ge=1)
    timeout_s: float = Field(120.0, gt=0)
    max_retries: int = Field(5, ge=0)
    structured: Literal["json_schema", "json_object", "off"] = "json_schema"
    extra_body: dict[str, Any] = {}
    tokenizer: str | None = None
    context_tokens: int | None = Field(None, ge=1)

    engine: dict[str, Any] = {}
    replies: Path | None = None
    price: Price | None = None

    def sampling(self) -> dict[str, Any]:
        """The sampling as it decides the replies, without what is left at the model's default."""
        names = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "seed", "thinking", "structured")
        found = {name: value for name in names if (value := getattr(self, name)) is not None}
        return found | ({"extra_body": self.extra_body} if self.extra_body else {})


class _ModelFile(BaseModel):
    """Any TOML file with a `[model]` table, that of an expansion job among them."""

    model: ModelSettings


def read_model(spec: str) -> ModelSettings:
    """`local`, or a TOML file with a `[model]` table; its paths are relative to the file.

    Raises InputError naming the file, the key and the fault.
    """
    if spec == "local":
        return ModelSettings(backend="local")  # pyright: ignore[reportCallIssue]
    path = Path(spec)
    return located_model(read_toml(path, _ModelFile).model, path.parent)


def located_model(settings: ModelSettings, folder: Path) -> ModelSettings:
    """The settings with the paths of a TOML file's folder. A `model` or `tokenizer` that is no file stays a name."""

    def place(name: str) -> str:
        name = filled(name)
        return str(folder / name) if name and (folder / name).exists() else name

    return settings.model_copy(
        update={
            "model": place(settings.model),
            "tokenizer": None if settings.tokenizer is None else place(settings.tokenizer),
            "replies": None if settings.replies is None else Path(located(str(settings.replies), folder)),
        }
    )

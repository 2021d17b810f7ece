"""An expansion job as TOML: which corpus, which prompt, which model, and when to stop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sira.config import located, located_source, read_toml
from sira.errors import InputError
from sira.llm.schema import DEFAULT_MAX_CHARACTERS
from sira.llm.settings import ModelSettings, located_model
from sira.prompts import MOST_PHRASES, MOST_WORDS


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class CorpusConfig(_Strict):
    """Where the documents come from: a BEIR folder, JSON Lines, or an ir_datasets id."""

    source: str
    duplicates: Literal["refuse", "keep-first"] = "refuse"


class PromptConfig(_Strict):
    """Which prompt: a name of `sira prompts`, or the path of a file of one's own; and what replies may hold.

    `document_characters`: a longer document is cut there, at a blank, before the model reads it (4,000 as in the SIRA
    paper's release). `system_role = false` is for models whose chat template knows no system message.
    """

    name: str = "document-generic"
    max_phrases: int | None = Field(None, ge=1, le=MOST_PHRASES)
    max_words: int | None = Field(None, ge=1, le=MOST_WORDS)
    max_characters: int = Field(DEFAULT_MAX_CHARACTERS, ge=4, le=500)
    document_characters: int = Field(4000, ge=1, le=10_000_000)
    system_role: bool = True


class LimitsConfig(_Strict):
    """When a job stops by itself.

    The first `canary` documents must all parse. Once `failures_after` rows are done, a share of failures (runaway,
    refused, unparsable, too_long, error) above `max_failure_share` ends the job.
    """

    canary: int = Field(8, ge=0, le=10_000)
    max_failure_share: float = Field(0.1, ge=0, le=1)
    failures_after: int = Field(200, ge=1)


class ExpandConfig(_Strict):
    """The whole file."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")
    about: str = ""
    corpus: CorpusConfig
    prompt: PromptConfig = Field(default_factory=lambda: PromptConfig.model_validate({}))
    model: ModelSettings
    limits: LimitsConfig = Field(default_factory=lambda: LimitsConfig.model_validate({}))
    keep_raw: bool = False
    """Each row also holds the reply as the model gave it."""


def read_expand_config(path: str | Path, corpus: str | None = None, changes: Sequence[str] = ()) -> ExpandConfig:
    """Read and check a TOML file; `corpus` replaces its source, `changes` are lines of TOML that go before it.

    Paths are relative to the file, with ${VARIABLES}; those of `corpus` to the working folder.

    Raises InputError naming the file, the key and the fault.
    """
    path = Path(path)
    config = read_toml(path, ExpandConfig, changes)
    folder, prompt = path.parent, config.prompt
    try:
        updates = {
            "corpus": config.corpus.model_copy(
                update={"source": corpus or located_source(config.corpus.source, folder)}
            ),
            "prompt": prompt.model_copy(update={"name": _prompt(prompt.name, folder)}),
            "model": located_model(config.model, folder),
        }
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return config.model_copy(update=updates)


def _prompt(name: str, folder: Path) -> str:
    return located(name, folder) if name.endswith(".toml") else name

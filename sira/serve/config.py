"""The TOML file of a server: `[indexes]`, `[serve]` and `[limits]`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from sira.config import located, read_toml
from sira.serve.limits import Limits
from sira.serve.settings import HttpSettings, ServeSettings, read_token


class ServeTable(BaseModel):
    """[serve]."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    host: str | None = None
    port: int | None = None
    workers: int | None = None
    token_file: str | None = None
    hosts: list[str] = []
    origins: list[str] = []
    log: str | None = None
    log_texts: bool = False
    text_only: bool = False
    llm: str | None = None
    prompt: str | None = None
    policy: str | None = None
    categories: str | None = None
    preload: bool = False
    warm_up: str | None = None
    refresh_s: float | None = None
    heap: str | None = None


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


_TYPES: dict[str, Any] = {"int": int | None, "float": float | None}
_FIELDS: dict[str, Any] = {item.name: (_TYPES[str(item.type)], None) for item in fields(Limits)}
LimitsTable: type[_Table] = create_model("LimitsTable", __base__=_Table, **_FIELDS)
"""[limits]: each by its name."""


class _File(_Table):
    """[indexes] has the folders by name."""

    indexes: dict[str, str] = Field(min_length=1)
    serve: ServeTable = ServeTable()
    limits: LimitsTable = Field(default_factory=LimitsTable)  # pyright: ignore[reportInvalidTypeForm]


def read_config(path: Path) -> tuple[ServeSettings, HttpSettings]:
    """Raises InputError naming the file, the key and the fault. Paths are relative to the file."""
    read: Any = read_toml(path, _File)
    table: ServeTable = read.serve
    folder = path.parent

    def beside(text: str | None) -> Path | None:
        return None if text is None else Path(located(text, folder))

    limits = Limits(**read.limits.model_dump(exclude_none=True))
    serving: dict[str, Any] = {
        "llm": _model(table.llm, folder),
        "prompt": table.prompt,
        "policy": table.policy if table.policy in (None, "default") else located(table.policy, folder),
        "categories": beside(table.categories),
        "preload": table.preload,
        "warm_up": beside(table.warm_up),
        "refresh_s": table.refresh_s,
        "heap": table.heap,
    }
    http: dict[str, Any] = {
        "host": table.host,
        "port": table.port,
        "workers": table.workers,
        "token": read_token(beside(table.token_file)),
        "hosts": tuple(table.hosts),
        "origins": tuple(table.origins),
        "log": beside(table.log),
        "log_texts": table.log_texts,
        "text_only": table.text_only,
    }
    indexes = {name: Path(located(text, folder)) for name, text in read.indexes.items()}
    return (
        ServeSettings(indexes, limits=limits, **_given(serving)),
        HttpSettings(**_given(http)),
    )


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _model(text: str | None, folder: Path) -> str | None:
    return text if text is None or text == "local" else located(text, folder)

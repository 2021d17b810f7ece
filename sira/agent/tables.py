"""The tables of a TOML file about tools: [tools] and [backend]."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from sira.agent.settings import SIRA, ToolSettings, named_scoring, tool_profile
from sira.config import read_toml
from sira.errors import InputError
from sira.program import Combine

if TYPE_CHECKING:
    from sira.agent.http_backend import HttpBackend

_OWN = {"profile", "scoring"}
_TYPES: dict[str, Any] = {"int": int, "int | None": int | Literal["all"], "bool": bool, "float": float}


class _Scoring(BaseModel):
    """`bm25` names k1 and b; each can also be given."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    profile: str = "sira"
    bm25: str | None = None
    k1: float | None = None
    b: float | None = None
    combine: Combine | None = None
    contents_weight: float | None = None
    expansion_weight: float | None = None

    @model_validator(mode="after")
    def _checked(self) -> _Scoring:
        try:
            self.settings()
        except InputError as error:  # pydantic names the place of a ValueError only
            raise ValueError(str(error)) from None
        return self

    def settings(self) -> ToolSettings:
        """The profile, with what the table says in its place."""
        given = self.model_dump(exclude_none=True)
        base = tool_profile(given.pop("profile", SIRA.profile))
        scoring = base.scoring if self.bm25 is None else named_scoring(self.bm25)
        parts = {item.name: given.pop(item.name) for item in fields(scoring) if item.name in given}
        given.pop("bm25", None)
        if given.get("excerpt_ranks") == "all":
            given["excerpt_ranks"] = None
        return replace(base, scoring=replace(scoring, **parts), **given)


_FIELDS: dict[str, Any] = {
    item.name: (_TYPES[str(item.type)] | None, None) for item in fields(ToolSettings) if item.name not in _OWN
}
ToolsTable: type[_Scoring] = create_model("ToolsTable", __base__=_Scoring, **_FIELDS)
"""[tools]: `profile`, then each setting by its name; BM25 by `bm25` (anserini, sira, long), `k1`, `b` and the rest."""


class BackendTable(BaseModel):
    """[backend]: a server of Pi-Serini's http-json contract in place of an index of this machine."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    search_url: str
    read_document_url: str
    max_page_size: int = Field(default=1000, ge=1)
    timeout_s: float = Field(default=30.0, gt=0)

    def open(self) -> HttpBackend:
        """Raises InputError for addresses that are none."""
        from sira.agent.http_backend import HttpBackend

        return HttpBackend(
            self.search_url, self.read_document_url, max_page_size=self.max_page_size, timeout_s=self.timeout_s
        )


class _ToolsFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    tools: ToolsTable = Field(default_factory=ToolsTable)  # pyright: ignore[reportInvalidTypeForm]
    backend: BackendTable | None = None


def read_tools(path: Path) -> tuple[ToolSettings, BackendTable | None]:
    """The [tools] and [backend] tables of a TOML file. Raises InputError naming the file, the key and the fault."""
    read: Any = read_toml(path, _ToolsFile)
    return read.tools.settings(), read.backend

"""The settings of this package as tables of a TOML file: [routing], [budget], [relax], [rerank]."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidatorFunctionWrapHandler, WrapValidator

from sira.config import read_toml
from sira.errors import InputError
from sira.search.relax import RelaxSettings
from sira.search.rerank import RerankSettings
from sira.search.routing import Thresholds
from sira.search.several import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRerank(RerankSettings):
    """Reranking by the model `llm`: `local`, or a TOML file with a [model] table."""

    llm: str


def _checked(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """pydantic names the place of a ValueError only."""
    try:
        return read(value)
    except InputError as error:
        raise ValueError(str(error)) from None


def _switched(value: Any) -> Any:
    return {} if value is True else None if value is False else value


RoutingTable = Annotated[Thresholds, WrapValidator(_checked)]
BudgetTable = Annotated[Budget, WrapValidator(_checked)]
RelaxTable = Annotated[RelaxSettings | None, BeforeValidator(_switched), WrapValidator(_checked)]
"""`true`: the defaults; `false`: off."""
RerankTable = Annotated[ModelRerank, WrapValidator(_checked)]


class _RoutingFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    routing: RoutingTable


def read_thresholds(path: Path) -> Thresholds:
    """The [routing] table of a TOML file. Raises InputError naming the file, the key and the fault."""
    return read_toml(path, _RoutingFile).routing

"""What an OpenAI-compatible server says of its models at /v1/models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, cast

from sira.errors import InputError


@dataclass(frozen=True, slots=True)
class ServedModel:
    """The model that calls name (`name`), what replies depend on (`identity`), and its context in tokens.

    The context is None where the server does not tell.
    """

    name: str
    identity: Mapping[str, Any] = field(default_factory=dict[str, Any])
    context_tokens: int | None = None


def listed_models(body: object) -> list[dict[str, Any]]:
    """The entries of a /v1/models reply; none for any other body."""
    data: Any = cast("dict[str, Any]", body).get("data") if isinstance(body, dict) else None
    if not isinstance(data, list):
        return []
    entries = [cast("dict[str, Any]", entry) for entry in cast("list[Any]", data) if isinstance(entry, dict)]
    return [entry for entry in entries if isinstance(entry.get("id"), str)]


def served_model(wanted: str, entries: Sequence[Mapping[str, Any]], address: str) -> ServedModel:
    """The entry of the model wanted; a server with one model needs no name.

    A name that is not in the list is taken at its word, since gateways list what they like; where the server has but
    one model, that one answers (llama.cpp asks for no name). Raises InputError where it is not clear which is meant.
    """
    found = next((entry for entry in entries if entry["id"] == wanted), None)
    if found is None and len(entries) == 1:
        found = entries[0]
    if found is None:
        if not wanted:
            offered = ", ".join(str(entry["id"]) for entry in entries[:8]) or "it lists none"
            raise InputError(f'{address}: which model? Set model = "..." in [model] (served: {offered})')
        return ServedModel(wanted, {"model": wanted})
    meta: Any = found.get("meta")
    details = cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}
    identity: dict[str, Any] = {"model": _last_part(found["id"])}
    root = found.get("root")
    if isinstance(root, str) and _last_part(root) != identity["model"]:
        identity["root"] = _last_part(root)
    # llama.cpp lists any file under any alias: its size tells two of them apart.
    told = {name: details.get(name) for name in ("n_params", "size", "ftype")}
    identity |= {name: value for name, value in told.items() if isinstance(value, str | int | float)}
    lengths: list[Any] = [found.get("max_model_len"), details.get("n_ctx")]
    context = next((length for length in lengths if type(length) is int and length > 0), None)
    return ServedModel(wanted or str(found["id"]), identity, context)


def _last_part(name: str) -> str:
    """A model's name without the folder, which differs from machine to machine; `owner/name` stays whole."""
    if PurePosixPath(name).is_absolute():
        return PurePosixPath(name).name
    return PureWindowsPath(name).name if PureWindowsPath(name).is_absolute() else name

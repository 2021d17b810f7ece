"""Reading TOML files: every key checked, every fault named with its place; paths relative to the file."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from sira.errors import InputError

Model = TypeVar("Model", bound=BaseModel)

PATH_SCHEMES = ("beir", "jsonl", "wikipedia", "browsecomp-plus")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


_SAID = {"extra_forbidden": "there is no such key here: check its spelling", "missing": "is missing: give it"}


def read_toml(path: Path, model: type[Model], changes: Sequence[str] = ()) -> Model:
    """Read and check a TOML file, after `changes`: lines of TOML such as `model.temperature = 0`.

    Raises InputError naming the file, the key and the fault.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    for change in changes:
        _merge(data, _change(change))
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        said = _SAID.get(first["type"]) or first["msg"].removeprefix("Value error, ")
        raise InputError(f"{path}: {place + ': ' if place else ''}{said}") from None


def _change(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        key, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{text!r}: write KEY=VALUE, such as model.temperature=0") from None
    try:
        return tomllib.loads(f"{key} = {json.dumps(value.strip())}")  # a bare word is a string
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{text!r}: not KEY=VALUE in TOML ({error})") from None


def _merge(data: dict[str, Any], changes: dict[str, Any]) -> None:
    for key, value in changes.items():
        inner = data.get(key)
        if isinstance(value, dict) and isinstance(inner, dict):
            _merge(cast(dict[str, Any], inner), cast(dict[str, Any], value))
        else:
            data[key] = value


def filled(text: str) -> str:
    """The text with each ${VARIABLE} of the environment in its place. Raises InputError for one that is not set."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise InputError(
                f"{text}: the environment variable {match[1]} is not set: set it to the folder it stands for"
            )
        return found

    return _VARIABLE.sub(value, text)


def located(text: str, folder: Path) -> str:
    """A path of a TOML file, which is relative to the file's folder."""
    return str(folder / filled(text))


def located_source(text: str, folder: Path) -> str:
    """A collection's source: one path or two behind a scheme such as `beir:`, a bare path, or an id, which
    stays."""
    scheme, colon, rest = filled(text).partition(":")
    if colon and scheme in PATH_SCHEMES:
        return f"{scheme}:{folder / rest}"
    if scheme == "browsecomp-wikipedia" and ":" in rest:
        questions, _, corpus = rest.rpartition(":")
        return f"{scheme}:{folder / questions}:{folder / corpus}"
    if colon and scheme == "datasets" and (folder / rest).is_dir():
        return f"{scheme}:{folder / rest}"
    beside = folder / filled(text)
    return str(beside) if beside.exists() else filled(text)

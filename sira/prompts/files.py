"""The files of prompts: those that come with sira, by name and version, and files of one's own."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from sira.errors import EnvironmentFault, InputError, NotFoundError
from sira.prompts.prompt import LIMITS, Prompt, Side, require_side

_SIDES: tuple[str, ...] = get_args(Side)
_LABEL = re.compile(r"(?P<name>.+)-(?P<version>[1-9][0-9]*)")


def load_prompt(name_or_path: str | Path, *, side: str | None = None) -> Prompt:
    """A prompt by name (the newest version), by name and version (`document-generic-1`), or from a file of one's own
    (a path with a separator, or ending in .toml).

    Raises NotFoundError for an unknown name, InputError for a file that is no prompt, or a prompt not of `side`.
    """
    prompt = _read(prompt_path(name_or_path))
    if side is not None:
        if side not in _SIDES:
            raise InputError(f"side {side!r}: choose {', '.join(_SIDES[:-1])} or {_SIDES[-1]}")
        require_side(prompt, side)
    return prompt


def prompt_path(name_or_path: str | Path) -> Path:
    """The file that `load_prompt` reads. Raises NotFoundError for an unknown name; a path is not looked at."""
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or text.endswith(".toml") or "/" in text or "\\" in text:
        return Path(text)
    known: dict[str, Path] = {}
    for name, versions in _shipped().items():
        known |= {f"{name}-{version}": path for version, path in versions.items()}
        known[name] = versions[max(versions)]
    if text in known:
        return known[text]
    near = get_close_matches(text, prompt_names(), n=3)
    hint = f"; near ones: {', '.join(near)}" if near else ""
    raise NotFoundError(
        f"prompt {text!r}: there is none of this name{hint}; `sira prompts` lists all, a file of your own ends in .toml"
    )


def prompt_names() -> tuple[str, ...]:
    """The names of the prompts that come with sira, in order."""
    return tuple(_shipped())


def prompt_labels() -> tuple[str, ...]:
    """Every version of every prompt that comes with sira, by name, then version."""
    return tuple(f"{name}-{version}" for name, versions in _shipped().items() for version in versions)


def _folder() -> Path:
    """Where the prompts lie: inside the package in a wheel, beside it in a checkout."""
    here = Path(__file__).resolve().parents[1]
    for folder in (here / "_prompts", here.parent / "prompts"):
        if folder.is_dir():
            return folder
    raise EnvironmentFault(f"{here / '_prompts'}: the prompts of sira are gone: install sira again")


def _shipped() -> dict[str, dict[int, Path]]:
    """The files by name and version, both in order."""
    found = sorted(
        (match["name"], int(match["version"]), path)
        for path in _folder().glob("*.toml")
        if (match := _LABEL.fullmatch(path.stem))
    )
    files: dict[str, dict[int, Path]] = {}
    for name, version, path in found:
        files.setdefault(name, {})[version] = path
    return files


_Line = Annotated[str, StringConstraints(pattern=r"^[^\n]+$")]


class _File(BaseModel):
    """The TOML file as it must be."""

    model_config = ConfigDict(extra="forbid", strict=True)

    # No part of a name is a number, so that a label names one version of one prompt.
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*(-[A-Za-z][A-Za-z0-9_]*)*$")]
    version: int
    side: Side
    family: _Line
    about: _Line
    max_phrases: int
    max_words: int
    system: str
    user: str


def _read(path: Path) -> Prompt:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason}); convert the file to UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    try:
        file = _File.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{path}: {_fault(error.errors()[0])}") from None
    try:
        return Prompt(**file.model_dump(exclude={"system", "user"}), system=file.system.strip(), user=file.user.strip())
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _fault(error: Mapping[str, Any]) -> str:
    key = ".".join(str(part) for part in error["loc"])
    if error["type"] == "missing":
        what = f"the key is missing, and ${key} has no value" if key in LIMITS else "the key is missing"
        return f"{key}: {what}: write it into the file"
    if error["type"] == "extra_forbidden":
        return f"{key}: no key of a prompt: it has {', '.join(_File.model_fields)}"
    return f"{key}: {error['msg']}"

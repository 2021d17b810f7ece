"""Where the files of an embedding model lie: a folder, an installed package, or the cache of a model hub."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from sira.errors import EnvironmentFault, InputError

PACKAGE = "package:"
INSTALL = "`scripts/set-up-dense` makes an environment that has it, `pip install 'sira[dense]'` adds it to this one"

_MARKS = ("modules.json", "config.json")
_NOT_READ = ("onnx/*", "openvino/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model in a folder. `name` is a hub's id, a package's name, or the folder's own; `revision` a commit or a
    version where there is one; `hashes` are SHA-256 by file, of files that no revision fixes."""

    name: str
    folder: Path
    revision: str | None
    hashes: Mapping[str, str]


def find_model(model: str, revision: str | None = None) -> ModelFiles:
    """The files of `package:NAME`, of a folder, or of a hub's id, which is downloaded unless its cache has it.

    Of a package, its list of files is read; none of its code is run. Raises InputError for what is no model or takes
    no revision, EnvironmentFault for a package that is not installed and a model that cannot be had here.
    """
    if model.startswith(PACKAGE):
        _no_revision(model, revision)
        return _packaged(model.removeprefix(PACKAGE))
    path = Path(model).expanduser()
    if path.is_dir():
        _no_revision(model, revision)
        _check_folder(path)
        return ModelFiles(Path(os.path.abspath(path)).name, path, None, _hashes(path))
    if path.exists() or model.count("/") != 1 or model.startswith((".", "/", "~")):
        raise InputError(
            f"{model}: is no folder of a model: give a folder, {PACKAGE}NAME, or a hub's id such as intfloat/e5-base-v2"
        )
    return _from_hub(model, revision)


def _no_revision(model: str, revision: str | None) -> None:
    if revision is not None:
        raise InputError(f"{model}: --revision {revision} belongs to a hub's id: a folder or a package has one state")


def _check_folder(path: Path) -> None:
    if not any((path / name).is_file() for name in _MARKS):
        raise InputError(f"{path}: holds no model: neither {' nor '.join(_MARKS)} is there")


def _packaged(package: str) -> ModelFiles:
    try:
        distribution = importlib.metadata.distribution(package)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        raise EnvironmentFault(f"the package {package!r} is not installed here: `pip install {package}`") from None
    listed = distribution.files or []
    folders = {Path(str(distribution.locate_file(file))).parent for file in listed if file.name == _MARKS[0]}
    if len(folders) != 1:
        raise InputError(
            f"{PACKAGE}{package}: holds {len(folders) or 'no'} models of sentence-transformers ({_MARKS[0]}): "
            "give the folder of one"
        )
    folder = folders.pop()
    return ModelFiles(package, folder, distribution.version, _hashes(folder))


def _hashes(folder: Path) -> dict[str, str]:
    """Of the files that a model is loaded from: no hidden ones, no cards, no copies for other engines."""
    found: dict[str, str] = {}
    for file in sorted(folder.rglob("*")):
        place = file.relative_to(folder)
        hidden = any(part.startswith((".", "__")) for part in place.parts)
        if hidden or file.suffix == ".md" or not file.is_file() or any(place.match(pattern) for pattern in _NOT_READ):
            continue
        with file.open("rb") as stream:
            found[place.as_posix()] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found


def _from_hub(model: str, revision: str | None) -> ModelFiles:
    try:
        hub: Any = import_module("huggingface_hub")
    except ModuleNotFoundError:
        raise EnvironmentFault(f"sentence-transformers is not installed here: {INSTALL}") from None

    def fetch(*, local: bool) -> Path:
        return Path(hub.snapshot_download(model, revision=revision, local_files_only=local, ignore_patterns=_NOT_READ))

    try:
        folder = fetch(local=True)
        if not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
            folder = fetch(local=False)  # an earlier download that was stopped
    except Exception:  # noqa: BLE001 - the hub's errors differ by version; the second try says what is wrong
        try:
            folder = fetch(local=False)
        except Exception as error:  # noqa: BLE001
            reason = " ".join(str(error).split())[:200]
            raise EnvironmentFault(
                f"{model}: this model is not on this machine and cannot be downloaded ({type(error).__name__}: "
                f"{reason}): copy its folder here and give --model FOLDER, or set HF_HOME to a cache that has it"
            ) from None
    return ModelFiles(model, folder, folder.name, {})  # a hub's cache names the folder of a snapshot by its commit

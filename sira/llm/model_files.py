"""What a model in local files is known by, wherever its folder lies: its name, and a fingerprint of what it holds."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

END_BYTES = 64 * 1024
"""Of each end of a weight file so much goes into the fingerprint: gigabytes are not read for it."""
MOST_HEADER_BYTES = 16 * 1024 * 1024
"""The longest header of a safetensors file that goes in; those of the largest models are below 1 MB."""

_READ_WHOLE = frozenset({".json", ".jinja", ".txt", ".model", ".py"})
_NOT_READ_BY_A_MODEL = frozenset({".md"})


def local_files(model: str) -> Path | None:
    """The folder or file that `model` names; None where it is a hub's id."""
    path = Path(model).expanduser()
    return path if path.exists() else None


def name_of(model: str) -> str:
    """The last part of the path of local files, the same from every working folder; a hub's id as it stands."""
    path = local_files(model)
    return model if path is None else Path(os.path.abspath(path)).name  # not resolve(): a link goes by its own name


def fingerprint_of(model: str) -> str | None:
    """16 hex digits over the files of a local model, None for a hub's id. File times and the folder do not matter.

    Configuration, template and vocabulary files go in whole. Weight files go in by their size, both ends of END_BYTES
    and the header of a safetensors file, which names every tensor: other weights of the same shapes differ at the ends.
    Folders, hidden files and .md files are left out.
    """
    path = local_files(model)
    if path is None:
        return None
    digest = hashlib.sha256()
    files = sorted(file for file in (path.iterdir() if path.is_dir() else [path]) if file.is_file())
    for file in files:
        if file.name.startswith(".") or file.suffix.lower() in _NOT_READ_BY_A_MODEL:
            continue
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode("utf-8", "surrogateescape"))
        if file.suffix in _READ_WHOLE:
            digest.update(file.read_bytes())
        else:
            for part in _parts_of_weights(file):
                digest.update(part)
    return digest.hexdigest()[:16]


def _parts_of_weights(file: Path) -> Iterator[bytes]:
    """Of a safetensors file the header (8 bytes of its length, little-endian, then JSON); then both ends."""
    with file.open("rb") as stream:
        if file.suffix == ".safetensors":
            length = stream.read(8)
            yield length
            yield stream.read(min(int.from_bytes(length, "little"), MOST_HEADER_BYTES))
            stream.seek(0)
        yield stream.read(END_BYTES)
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - END_BYTES))
        yield stream.read(END_BYTES)

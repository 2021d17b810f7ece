"""A local model is known by what it holds, not by where it lies."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from sira.llm.model_files import END_BYTES, fingerprint_of, name_of

TENSORS = {"a": [0, 150_000], "b": [150_000, 400_000]}
OTHER_NAMES = {"a": [0, 150_000], "c": [150_000, 400_000]}


def safetensors(tensors: dict[str, list[int]], data: bytes) -> bytes:
    shapes = {name: {"dtype": "U8", "data_offsets": offsets} for name, offsets in tensors.items()}
    header = json.dumps({"__metadata__": {"pad": "x" * 2 * END_BYTES}, **shapes}).encode()
    return len(header).to_bytes(8, "little") + header + data


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "here" / "tiny"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "qwen3"}', encoding="utf-8")
    (folder / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    (folder / "merges.txt").write_text("a b\n" * END_BYTES, encoding="utf-8")
    (folder / "model.safetensors").write_bytes(safetensors(TENSORS, bytes(400_000)))
    (folder / "old.bin").write_bytes(bytes(3 * END_BYTES))
    return folder


def test_the_same_files_elsewhere_are_the_same_model(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(model, tmp_path / "there" / "tiny"))
    os.utime(copy / "config.json", (0, 0))
    (copy / "README.md").write_text("about", encoding="utf-8")
    (copy / ".gitattributes").touch()
    (copy / ".cache").mkdir()
    monkeypatch.chdir(model.parent)
    monkeypatch.setenv("HOME", str(tmp_path / "there"))
    names = [str(copy), f"{copy}/", "tiny", "./tiny", "../there/tiny", "tiny/../tiny", "~/tiny"]
    assert {(name_of(name), fingerprint_of(name)) for name in names} == {("tiny", fingerprint_of(str(model)))}
    monkeypatch.chdir(model)
    assert name_of(".") == "tiny"


def test_a_link_goes_by_its_own_name(model: Path) -> None:
    link = model.with_name("chosen")
    link.symlink_to(model)
    assert (name_of(str(link)), fingerprint_of(str(link))) == ("chosen", fingerprint_of(str(model)))


def test_an_id_of_a_hub_stands_as_it_is() -> None:
    assert (name_of("owner/name"), fingerprint_of("owner/name")) == ("owner/name", None)


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        *[("config.json", 3), ("chat_template.jinja", 4), ("merges.txt", 2 * END_BYTES)],
        # the last byte of the header's text, which begins after the first end; then data
        *[("model.safetensors", 20), ("model.safetensors", -400_002), ("model.safetensors", -1)],
        *[("old.bin", 0), ("old.bin", END_BYTES - 1), ("old.bin", -END_BYTES), ("old.bin", -1)],
    ],
)
def test_a_changed_byte_makes_another_model(model: Path, name: str, offset: int) -> None:
    before = fingerprint_of(str(model))
    content = bytearray((model / name).read_bytes())
    content[offset] ^= 1
    (model / name).write_bytes(content)
    assert fingerprint_of(str(model)) != before


def test_other_tensors_files_or_sizes_make_another_model(model: Path) -> None:
    found = [fingerprint_of(str(model))]
    (model / "model.safetensors").write_bytes(safetensors(OTHER_NAMES, bytes(400_000)))
    found.append(fingerprint_of(str(model)))
    (model / "old.bin").write_bytes(bytes(3 * END_BYTES + 1))
    found.append(fingerprint_of(str(model)))
    (model / "old.bin").rename(model / "new.bin")
    found.append(fingerprint_of(str(model)))
    assert len(set(found)) == 4
    assert all(isinstance(one, str) and len(one) == 16 for one in found)


def test_the_middle_of_large_weights_is_not_read(model: Path) -> None:
    before = fingerprint_of(str(model))
    content = bytearray((model / "old.bin").read_bytes())
    content[END_BYTES] ^= 1
    content[-END_BYTES - 1] ^= 1
    (model / "old.bin").write_bytes(content)
    assert fingerprint_of(str(model)) == before


@pytest.mark.parametrize("content", [b"", b"\x01", b"\xff" * 8, b"\xff" * 8 + b"{}"])
def test_a_damaged_header_is_read_within_bounds(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(content)
    assert len(fingerprint_of(str(file)) or "") == 16
    assert name_of(str(file)) == "model.safetensors"

"""Exports of an index: names and back, lines, shards, whole or absent when the writer is killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sira.errors import IndexFault, InputError
from sira.lucene.reader import Index
from sira.records import Document
from sira.systems.agents import files
from sira.systems.agents.files import PASSAGE, export, fingerprint, folded, name_of, passages
from tests.conftest import MakeIndex

pytestmark = pytest.mark.java

ODD = [
    "a/b", "..", ".", "/etc/passwd", "A", "a", "ä", "ae", "日本", "a b", "%2F", "%", "@x", "-rf", "a:b", "x|y", "[x]",
    "it's", '"q"', "http://a.b/c?d=e#f", "x" * 300, "x" * 299 + "y", "é" * 80, "e\u0301", "a\u200bb", "con", "a.txt:1:",
]  # fmt: skip


@pytest.fixture(scope="module")
def odd(make_index: MakeIndex) -> Path:
    return make_index(Document(docid, f"text of number {n}", "T") for n, docid in enumerate(ODD))


def lines_of(folder: Path) -> list[str]:
    return [line for path in sorted(folder.rglob("*.txt")) for line in path.read_text(encoding="utf-8").splitlines()]


def test_names_are_printable_short_and_differ() -> None:
    names = [name_of(docid) for docid in [*ODD, "tab\tid", "\n", "\u2028"]]
    assert len(set(names)) == len(names)
    for name in names:
        assert name.isprintable()
        assert not set(" @\t\n") & set(name)
        assert 0 < len(name.encode()) <= 100


def test_docids_of_any_form_come_back(odd: Path, tmp_path: Path) -> None:
    with Index(odd) as index:
        whole = export(index, tmp_path, "passages", progress=False)
        assert export(index, tmp_path, "passages", progress=False) == whole
    assert whole.documents == len(ODD)
    found = [whole.docid(line.split("\t")[0].strip("@")) for line in lines_of(whole.folder)]
    assert found == [docid for docid in sorted(ODD, key=str.encode) for _ in range(2)]
    assert sorted(whole.names.values()) == sorted(docid for docid in ODD if len(docid) > 99 or docid == "é" * 80)
    # No file has the name of a document.
    assert [path.name for path in whole.folder.rglob("*") if path.is_file()] == ["000.txt"]


def test_a_document_is_its_title_and_its_lines_broken_at_blanks() -> None:
    long = " ".join(["word"] * 200)
    document = Document("d", f"first\tline\r\n\n  second \x00 line\u2028{long}\n{'x' * 900}", "The  title")
    lines = [line.removeprefix("@d@\t") for line in passages(document, "d")]
    assert lines[:3] == ["The title", "first line", "second line"]
    assert " ".join(lines[3:6]) == long
    assert max(len(line) for line in lines) == PASSAGE
    assert [len(line) for line in lines[6:]] == [400, 400, 100]
    assert passages(Document("d", ""), "d") == ["@d@\t"]


@pytest.mark.parametrize("text", ["x" * 400, "x" * 401, "a " * 300, f"{'x' * 400} y", f"{'x' * 399} y z", "日" * 801])
def test_broken_lines_joined_are_the_text(text: str) -> None:
    parts = [line.removeprefix("@d@\t") for line in passages(Document("d", text), "d")]
    assert all(0 < len(part) <= PASSAGE for part in parts)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")


def test_folded_lines_stand_beside_names_and_terms(make_index: MakeIndex, tmp_path: Path) -> None:
    documents = [
        Document("b", "STRASSE\n straße  İ", "Kilns"),
        Document("a/1", "the the"),
        Document("c", "glow glowing"),
    ]
    with Index(make_index(documents)) as index:
        whole = export(index, tmp_path, "folded", progress=False)
    assert lines_of(whole.folder) == ["the the", f"kilns strasse strasse {folded('İ')}", "glow glowing"]
    rows = (whole.folder / "000/000.words").read_text(encoding="utf-8").splitlines()
    assert [row.split("\t")[0] for row in rows] == ["a/1", "b", "c"]
    assert rows[0].split("\t")[1:] == []
    assert rows[2].split("\t")[1:] == ["glow"]


def test_many_documents_go_into_shards_and_folders(
    make_index: MakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_SHARD_BYTES", 60)
    monkeypatch.setattr(files, "_SHARDS", 3)
    with Index(make_index(Document(f"{n:03}", "some words") for n in range(40))) as index:
        whole = export(index, tmp_path, "passages", progress=False)
    assert len(whole.files) == 10
    assert whole.files[:4] == ("000/000.txt", "000/001.txt", "000/002.txt", "001/000.txt")
    assert [line.split("\t")[0] for line in lines_of(whole.folder)] == [f"@{n:03}@" for n in range(40)]


def test_an_export_belongs_to_the_contents_of_its_index(make_index: MakeIndex, tmp_path: Path) -> None:
    with Index(make_index([Document("a", "one")])) as first, Index(make_index([Document("a", "two")])) as second:
        assert fingerprint(first) != fingerprint(second)
        folders = {export(index, tmp_path, "passages", progress=False).folder for index in (first, second, first)}
    assert len(folders) == 2


def test_an_index_without_text_is_refused(make_index: MakeIndex, tmp_path: Path) -> None:
    with (
        Index(make_index([Document("a", "one")], store_text=False)) as index,
        pytest.raises(IndexFault, match="does not store its documents' text"),
    ):
        export(index, tmp_path, "passages", progress=False)
    assert [path for path in tmp_path.iterdir() if not path.name.startswith(".")] == []


def test_a_place_that_cannot_be_written_and_a_damaged_export_are_told(odd: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Index(odd) as index:
        with pytest.raises(InputError, match="cannot be written"):
            export(index, tmp_path / "file", "passages", progress=False)
        whole = export(index, tmp_path, "passages", progress=False)
        (whole.folder.parent / "names.json").write_text("{")
        with pytest.raises(InputError, match=r"a damaged export .*: remove the folder"):
            export(index, tmp_path, "passages", progress=False)


def test_threads_write_one_export(odd: Path, tmp_path: Path) -> None:
    found: list[files.Export] = []
    with Index(odd) as index:
        workers = [
            threading.Thread(target=lambda: found.append(export(index, tmp_path, "passages", progress=False)))
            for _ in range(8)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert len(found) == 8
    assert len({one.folder for one in found}) == 1
    assert len(list(tmp_path.iterdir())) == 1


WRITER = """
import os, signal, sys
from pathlib import Path
from sira.lucene.reader import Index
from sira.systems.agents import files
files._SHARD_BYTES = 2000
writing, left = files._write_shard, int(sys.argv[3])
def write(*arguments):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return writing(*arguments)
files._write_shard = write
with Index(sys.argv[1]) as index:
    print(files.export(index, Path(sys.argv[2]), "passages", progress=False).folder)
"""


@pytest.mark.slow
def test_a_killed_writer_leaves_nothing_that_counts(make_index: MakeIndex, tmp_path: Path) -> None:
    path = make_index(Document(f"{n:04}", "some words of a text " * 5) for n in range(300))

    def write(shards: int) -> int:
        command = [sys.executable, "-c", WRITER, str(path), str(tmp_path / "exports"), str(shards)]
        return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode

    for shards in (0, 1, 5):
        assert write(shards) == -signal.SIGKILL
        assert [one.name for one in (tmp_path / "exports").iterdir() if not one.name.startswith(".")] == []
    assert write(-1) == 0
    assert len(list((tmp_path / "exports").iterdir())) == 1  # what the killed ones left is gone
    with Index(path) as index:
        whole = export(index, tmp_path / "exports", "passages", progress=False)
        assert len(lines_of(whole.folder)) == 300
        assert json.loads((whole.folder.parent / "export.json").read_text())["documents"] == 300


@pytest.mark.slow
def test_two_processes_at_once_end_with_one_export(make_index: MakeIndex, tmp_path: Path) -> None:
    path = make_index(Document(f"{n:04}", "some words of a text " * 5) for n in range(300))
    command = [sys.executable, "-c", WRITER, str(path), str(tmp_path), "-1"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    told = {process.communicate(timeout=60)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(told) == 1
    assert [one.name for one in tmp_path.iterdir()] == [Path(told.pop().strip()).parent.name]

"""The demo corpus is what this interpreter documents: complete enough, without doubles, the same at each reading."""

from __future__ import annotations

import builtins
import inspect
import json
import os.path
import shutil
import subprocess
import sys
import time

import pytest

from sira.demo.stdlib_docs import CLASSES, CORE, MODULES, NAMES, StdlibDocs, fingerprint, read_stdlib_docs
from sira.records import Document


@pytest.fixture(scope="module")
def docs() -> StdlibDocs:
    return read_stdlib_docs()


@pytest.fixture(scope="module")
def by_docid(docs: StdlibDocs) -> dict[str, Document]:
    return {document.docid: document for document in docs.documents}


def test_lists_are_sorted_and_consistent() -> None:
    assert list(MODULES) == sorted(set(MODULES))
    assert set(MODULES) >= set(CORE)
    assert set(MODULES) >= set(NAMES)
    assert set(MODULES) >= {name.rpartition(".")[0] for name in CLASSES}


def test_enough_documents_in_docid_order_without_doubles(docs: StdlibDocs) -> None:
    docids = [document.docid for document in docs.documents]
    assert len(docids) >= 1200
    assert docids == sorted(set(docids))
    texts = [(document.docid.rpartition(".")[2], document.text) for document in docs.documents]
    assert len(texts) == len(set(texts))


def test_every_listed_class_yields_a_member(by_docid: dict[str, Document]) -> None:
    scopes = {docid.rpartition(".")[0] for docid in by_docid}
    assert set(CLASSES) - scopes == set()


def test_texts_are_the_docstrings(by_docid: dict[str, Document]) -> None:
    for docid, value in {
        "shutil.copytree": shutil.copytree,
        "time.sleep": time.sleep,
        "os.path.join": os.path.join,
        "builtins.str.split": str.split,
        "builtins.open": builtins.open,
        "json": json,
    }.items():
        assert by_docid[docid].text == inspect.getdoc(value)


@pytest.mark.parametrize(
    ("docid", "title"),
    [
        ("shutil", "shutil: module"),
        ("os.path", "os.path: module path"),
        ("shutil.copytree", "shutil.copytree: function copytree, module shutil"),
        ("pathlib.Path.mkdir", "pathlib.Path.mkdir: method mkdir, class Path, module pathlib"),
        ("pathlib.Path.cwd", "pathlib.Path.cwd: class method cwd, class Path, module pathlib"),
        ("pathlib.PurePath.suffix", "pathlib.PurePath.suffix: property suffix, class PurePath, module pathlib"),
        ("builtins.KeyError", "builtins.KeyError: exception KeyError, module builtins"),
        ("itertools.chain", "itertools.chain: class chain, module itertools"),
    ],
)
def test_title_tells_name_and_kind(by_docid: dict[str, Document], docid: str, title: str) -> None:
    assert by_docid[docid].title == title


@pytest.mark.parametrize(
    "docid",
    [
        "io.open",  # is builtins.open
        "os.path.posixpath",  # another name of the module
        "os.error",  # is builtins.OSError
        "random.Random.choice",  # its function is random.choice
        "pathlib.Path.suffix",  # belongs to PurePath
        "typing.List",  # says only that it is an alias
        "collections.Counter.keys",  # inherited from dict
        "os.fork",  # not on every system
        "http.HTTPStatus.name",  # no documentation of its own
    ],
)
def test_left_out(by_docid: dict[str, Document], docid: str) -> None:
    assert docid not in by_docid


def test_no_private_names(by_docid: dict[str, Document]) -> None:
    assert [docid for docid in by_docid if any(part.startswith("_") for part in docid.split("."))] == []


def test_a_missing_module_is_counted_and_the_rest_read() -> None:
    docs = read_stdlib_docs(["shutil", "no_such_module_here"])
    assert docs.missing_modules == ("no_such_module_here",)
    assert "shutil.copytree" in {document.docid for document in docs.documents}


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, encoding="utf-8", check=False)


_DUMP = (
    "import json; from sira.demo.stdlib_docs import fingerprint, read_stdlib_docs; "
    "print(json.dumps(fingerprint(read_stdlib_docs().documents)))"
)


def test_a_fresh_process_reads_the_same_and_prints_nothing_else(docs: StdlibDocs) -> None:
    process = _python("-W", "always", "-c", _DUMP)
    assert process.stderr == ""
    assert json.loads(process.stdout) == fingerprint(docs.documents)


def test_without_docstrings_one_line_says_why() -> None:
    process = _python("-OO", "-c", _DUMP)
    assert process.returncode != 0
    assert "PYTHONOPTIMIZE" in process.stderr.splitlines()[-1]


def test_fingerprint_follows_the_text_alone() -> None:
    one, other = Document("d", "text", title="a"), Document("d", "text.", title="a")
    assert fingerprint([one]) == fingerprint([Document("d", "text", title="b")])
    assert fingerprint([one]) != fingerprint([other])
    assert list(fingerprint([one]).values()) == ["982d9e3eb996f559"]

"""ir_datasets, for real: it fixes its folder at import, so each case runs in a process of its own.

Collections are put where ir_datasets keeps a finished download, in the format of the download, so nothing is fetched;
the failing download is made to fail by a proxy that nobody answers at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("ir_datasets")


def place(home: Path, name: str, split: str, corpus: list[dict[str, object]]) -> None:
    path = home / "beir" / name / "source.zip"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/corpus.jsonl", "".join(json.dumps(row) + "\n" for row in corpus))
        queries = [{"_id": "1", "text": "heat"}, {"_id": "2", "text": "ash"}]
        archive.writestr(f"{name}/queries.jsonl", "".join(json.dumps(row) + "\n" for row in queries))
        archive.writestr(f"{name}/qrels/{split}.tsv", "query-id\tcorpus-id\tscore\n1\td1\t1\n1\td9\t2\n")


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONWARNINGS": "error", "PYTHONIOENCODING": "utf-8"} | variables
    command = [sys.executable, "-c", "from sira.corpora import open_collection\n" + code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def fault(done: subprocess.CompletedProcess[str]) -> str:
    """The last line of stderr, which is the message of the error that ended the process."""
    assert done.returncode == 1
    return done.stderr.strip().splitlines()[-1]


SHOW = """
import json, sys
c = open_collection(sys.argv[1] if len(sys.argv) > 1 else SOURCE)
docs = [d for _, d in c.documents()]
print(json.dumps([[[d.docid, d.title, d.contents] for d in docs], [[t.qid, t.text] for t in c.topics], c.qrels,
                  c.ignore_self_hits, c.text_rule]))
"""


@pytest.mark.parametrize("source", ["irds:beir/scifact/test", "beir/scifact/test"])
def test_documents_topics_and_qrels_by_id(tmp_path: Path, source: str) -> None:
    corpus: list[dict[str, object]] = [
        {"_id": "d1", "title": "Kiln", "text": "hot", "metadata": {}},
        {"_id": "d2", "title": "", "text": "raku", "metadata": {}},
    ]
    place(tmp_path, "scifact", "test", corpus)
    done = run(f"SOURCE = {source!r}{SHOW}", IR_DATASETS_HOME=str(tmp_path))
    documents, topics, qrels, self_hits, rule = json.loads(done.stdout)
    assert documents == [["d1", "Kiln", "Kiln hot"], ["d2", "", "raku"]]
    assert topics == [["1", "heat"]]  # those that the split judges
    assert qrels == {"1": {"d1": 1, "d9": 2}}
    assert not self_hits
    assert "one blank" in rule


def test_documents_without_title_give_their_default_text(tmp_path: Path) -> None:
    place(tmp_path, "quora", "test", [{"_id": "d1", "title": "", "text": "raku"}])
    done = run(f"SOURCE = 'irds:beir/quora/test'{SHOW}", IR_DATASETS_HOME=str(tmp_path))
    documents, _, _, self_hits, _ = json.loads(done.stdout)
    assert documents == [["d1", "", "raku"]]
    assert self_hits


def test_g36_one_text_rule_for_every_kind_of_record(tmp_path: Path) -> None:
    code = """
import json
from collections import namedtuple
from ir_datasets.formats import GenericDoc
from ir_datasets.datasets.beir import BeirTitleDoc
from ir_datasets.datasets.msmarco_document import MsMarcoDocument
from sira.corpora.irds import IrDataset
class Dataset:
    def __init__(self, *docs): self.docs = docs
    def has_docs(self): return True
    def docs_iter(self): return iter(self.docs)
docs = GenericDoc("a", "body"), BeirTitleDoc("b", "body", "head"), MsMarcoDocument("c", "http://x", "head", "body")
found = [d for _, d in IrDataset("x", Dataset(*docs)).documents()]
print(json.dumps([[d.contents, d.url] for d in found]))
list(IrDataset("odd/set", Dataset(namedtuple("Odd", "doc_id abstract claims")("d", "x", "y"))).documents())
"""
    done = run(code, IR_DATASETS_HOME=str(tmp_path))
    found = json.loads(done.stdout)
    assert found[:2] == [["body", None], ["head body", None]]
    assert found[2][1] == "http://x"
    assert found[2][0].split() == ["head", "body"]
    message = fault(done)
    assert "odd/set" in message
    assert "doc_id, abstract, claims" in message
    assert "jsonl:PATH" in message


def test_a_failed_download_says_which_file_to_put_where_and_again_the_second_time(tmp_path: Path) -> None:
    code = """
from sira.errors import EnvironmentFault
c = open_collection("irds:beir/scifact/test")
for read in (lambda: list(c.documents()), lambda: list(c.documents()), lambda: c.topics, lambda: c.qrels):
    try:
        print("read", len(read()))
    except EnvironmentFault as error:
        print(error)
"""
    nobody = "http://127.0.0.1:9"
    done = run(
        code,
        IR_DATASETS_HOME=str(tmp_path),
        IR_DATASETS_DL_TRIES="1",
        HTTPS_PROXY=nobody,
        https_proxy=nobody,
        NO_PROXY="",
    )
    lines = done.stdout.strip().splitlines()
    assert len(lines) == 4, done
    for line in lines:  # G34: nothing half built counts as complete
        assert line.startswith("beir/scifact/test: ir_datasets failed")
        assert "scifact.zip" in line
        assert str(tmp_path / "beir" / "scifact" / "source.zip") in line
        assert "beir:FOLDER" in line


def test_the_file_put_there_is_then_used(tmp_path: Path) -> None:
    test_a_failed_download_says_which_file_to_put_where_and_again_the_second_time(tmp_path)
    (tmp_path / "beir" / "scifact").rename(tmp_path / "failed")
    place(tmp_path, "scifact", "test", [{"_id": "d1", "title": "Kiln", "text": "hot"}])
    (tmp_path / "beir" / "scifact" / "source.zip").replace(tmp_path / "failed" / "source.zip")
    (tmp_path / "beir" / "scifact").rmdir()
    (tmp_path / "failed").rename(tmp_path / "beir" / "scifact")
    done = run(f"SOURCE = 'irds:beir/scifact/test'{SHOW}", IR_DATASETS_HOME=str(tmp_path))
    assert json.loads(done.stdout)[0] == [["d1", "Kiln", "Kiln hot"]]


def test_an_unknown_id_names_its_neighbours(tmp_path: Path) -> None:
    message = fault(run("open_collection('irds:beir/scifacts')", IR_DATASETS_HOME=str(tmp_path)))
    assert "'beir/scifacts'" in message
    assert "beir/arguana" in message
    message = fault(run("open_collection('irds:beir/scifact', 'dev')", IR_DATASETS_HOME=str(tmp_path)))
    assert "'beir/scifact/dev'" in message


def test_g35_a_folder_that_cannot_be_used_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    message = fault(run("open_collection('irds:beir/scifact')", IR_DATASETS_HOME=str(tmp_path / "file" / "home")))
    assert str(tmp_path / "file") in message
    assert "IR_DATASETS_HOME" in message


def test_without_ir_datasets_the_command_to_install_it_is_named() -> None:
    code = "import sys; sys.modules['ir_datasets'] = None; open_collection('irds:beir/scifact')"
    assert "sira doctor" in fault(run(code))

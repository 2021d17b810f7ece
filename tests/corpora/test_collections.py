"""BEIR folders, the audit, and the one way to open any collection."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from sira.corpora import BeirFolder, audit, open_collection
from sira.errors import InputError, NotFoundError
from sira.records import Document, Topic


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "kilns"
    (path / "qrels").mkdir(parents=True)
    (path / "corpus.jsonl").write_text(
        '{"_id":"d1","title":"Kiln","text":"hot","metadata":{}}\n{"_id":"d2","title":"","text":"raku"}\n', "utf-8"
    )
    (path / "queries.jsonl").write_text(
        '{"_id":"q1","text":"heat"}\n{"_id":"q2","text":"ash"}\n{"_id":"q3","text":""}\n', "utf-8"
    )
    (path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td1\t1\nq1\td2\t2\n", "utf-8")
    (path / "qrels" / "train.tsv").write_text("q3\td2\t1\n", "utf-8")
    (path / "qrels" / "test.tsv~").write_text("an editor's copy", "utf-8")
    return path


def test_a_beir_folder_has_documents_topics_and_qrels(folder: Path) -> None:
    beir = BeirFolder.open(folder)
    assert [result for _, result in beir.documents()] == [Document("d1", "hot", "Kiln"), Document("d2", "raku")]
    assert beir.splits() == ("test", "train")
    assert beir.topics("test") == (Topic("q1", "heat"), Topic("q2", "ash"))
    assert beir.topics("train") == (Topic("q3", ""),)
    assert len(beir.topics()) == 3
    assert beir.qrels("test") == {"q2": {"d1": 1}, "q1": {"d2": 2}}
    assert beir.qrels("train") == {"q3": {"d2": 1}}


def test_packed_files_read_the_same(folder: Path) -> None:
    plain = BeirFolder.open(folder)
    wanted = ([result for _, result in plain.documents()], plain.topics("test"), plain.qrels("test"))
    for file in (folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / "test.tsv"):
        file.with_name(file.name + ".gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    packed = BeirFolder.open(folder)
    assert packed.splits() == ("test", "train")
    assert ([result for _, result in packed.documents()], packed.topics("test"), packed.qrels("test")) == wanted


def test_a_missing_split_lists_those_that_are_there(folder: Path) -> None:
    with pytest.raises(NotFoundError, match=r"'dev'.*test, train"):
        open_collection(f"beir:{folder}", "dev")
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "dev.tsv")
    with pytest.raises(NotFoundError, match=r"'test'.*dev, train"):
        open_collection(str(folder))


def test_a_folder_without_corpus_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"corpus\.jsonl"):
        BeirFolder.open(tmp_path)
    with pytest.raises(InputError, match="no folder"):
        open_collection(f"beir:{tmp_path / 'absent'}")


def test_g34_an_iterator_stopped_half_way_leaves_the_next_one_whole(folder: Path) -> None:
    collection = open_collection(str(folder))
    first = collection.documents()
    next(first)
    assert len(list(collection.documents())) == 2
    assert len(list(first)) == 1


@pytest.mark.parametrize("prefix", ["", "beir:"])
def test_opening_a_beir_folder(folder: Path, prefix: str) -> None:
    collection = open_collection(f"{prefix}{folder}")
    assert (collection.name, collection.split, collection.ignore_self_hits) == ("kilns", "test", False)
    assert [topic.qid for topic in collection.topics] == ["q1", "q2"]
    assert collection.qrels == {"q2": {"d1": 1}, "q1": {"d2": 2}}
    assert "one blank" in collection.text_rule


def test_a_folder_without_judgments_still_has_documents_and_topics(folder: Path) -> None:
    for file in (folder / "qrels").iterdir():
        file.unlink()
    collection = open_collection(str(folder))
    assert (collection.split, collection.qrels, len(collection.topics)) == (None, {}, 3)


@pytest.mark.parametrize("prefix", ["", "jsonl:"])
def test_opening_json_lines(folder: Path, prefix: str) -> None:
    collection = open_collection(f"{prefix}{folder / 'corpus.jsonl'}")
    assert [place.line_number for place, _ in collection.documents()] == [1, 2]
    assert (collection.name, collection.topics, collection.qrels) == ("corpus", (), {})
    with pytest.raises(NotFoundError, match="no splits"):
        open_collection(f"{prefix}{folder / 'corpus.jsonl'}", "test")


def test_value_fields_reach_the_documents(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": "a", "text": "", "year": 1901}), "utf-8")
    [(_, document)] = open_collection(str(tmp_path / "c.jsonl"), value_fields=["year"]).documents()
    assert isinstance(document, Document)
    assert document.values == {"year": 1901}


@pytest.mark.parametrize("source", ["nowhere.jsonl", "no/such/file.jsonl", "./nowhere", "zip:x", "", "beir:", "irds:"])
def test_a_source_that_cannot_be_made_out_says_what_to_write(source: str) -> None:
    with pytest.raises(InputError, match="beir:FOLDER, jsonl:PATH, irds:ID or datasets:NAME"):
        open_collection(source)


@pytest.mark.parametrize("name", ["arguana", "quora", "my-Quora-copy"])
def test_g28_collections_whose_queries_are_documents_ignore_self_hits(folder: Path, name: str) -> None:
    path = folder.rename(folder.with_name(name))
    assert open_collection(str(path)).ignore_self_hits


def test_g37_dangling_references_are_counted_and_stop_nothing() -> None:
    report = audit(["d1"], [Topic("q1", "kiln")], {"q1": {"d404": 1}, "q404": {"d1": 1}})
    assert (report.dangling_docids.count, report.dangling_docids.examples) == (1, ("d404",))
    assert (report.dangling_qids.count, report.dangling_qids.examples) == (1, ("q404",))
    assert not report.is_clean
    text = "\n".join(report.lines())
    assert "d404" in text
    assert "q404" in text


def test_g38_the_audit_names_topics_without_text() -> None:
    topics = [Topic("3", ""), Topic("4", "NaN"), Topic("5", "null"), Topic("6", " ")]
    report = audit([], topics, {"3": {}, "4": {}, "5": {}})
    assert report.empty_topics.examples == ("3", "6")
    assert report.unjudged_topics.examples == ("6",)
    assert report.topics == 4


def test_the_audit_counts_everything_else() -> None:
    topics = [Topic(f"q{n}", "x") for n in range(9)] + [Topic("q1", "again")]
    qrels = {"q1": {f"d{n}": n % 3 for n in range(10)}, "q2": {"d1": 0}}
    report = audit((f"d{n}" for n in range(4)), topics, qrels)
    assert (report.documents, report.topics, report.judgments, report.relevant) == (4, 10, 11, 6)
    assert report.grades == {0: 5, 1: 3, 2: 3}
    assert report.duplicate_topics.examples == ("q1",)
    assert report.topics_without_relevant.examples == ("q2",)
    assert (report.dangling_docids.count, report.dangling_docids.examples) == (6, ("d4", "d5", "d6", "d7", "d8"))
    assert str(report.dangling_docids) == "6 (d4, d5, d6, d7, d8, ...)"
    clean = audit(["d1"], [Topic("q1", "x")], {"q1": {"d1": 1}})
    assert clean.is_clean
    assert len(clean.lines()) == 2


@pytest.mark.data
def test_scifact_is_whole() -> None:
    data = os.environ.get("SIRA_TEST_DATA")
    if not data:
        pytest.skip("SIRA_TEST_DATA does not name the folder of test collections")
    collection = open_collection(f"beir:{data}/scifact")
    documents = [result for _, result in collection.documents()]
    assert all(isinstance(document, Document) for document in documents)
    report = audit((document.docid or "" for document in documents), collection.topics, collection.qrels)
    assert report.is_clean, report.lines()
    assert (report.documents, report.topics, report.judgments) == (5183, 300, 339)

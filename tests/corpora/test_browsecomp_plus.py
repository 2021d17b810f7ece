"""BrowseComp-Plus, retrieval only: invented questions in the published forms."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from sira.corpora import audit, open_collection
from sira.errors import InputError, NotFoundError
from sira.records import Document, Topic

CORPUS = [
    {"docid": "5411", "text": "A page on kilns.", "url": "https://e.org/kilns"},
    {"docid": "90", "text": "A page on glaze.", "url": "https://e.org/glaze"},
    {"docid": "7", "text": "A page on moths.", "url": "https://e.org/moths"},
]
QUERIES = "1\tWhat burns pots?\n23\tWhat coats pots?\n"


def rows(path: Path, items: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As the repository has it."""
    rows(tmp_path / "corpus.jsonl", CORPUS)
    (tmp_path / "topics-qrels").mkdir()
    (tmp_path / "topics-qrels" / "queries.tsv").write_text(QUERIES)
    (tmp_path / "topics-qrels" / "qrel_evidence.txt").write_text("1 Q0 5411 1\n1 Q0 7 1\n23 Q0 90 1\n")
    (tmp_path / "topics-qrels" / "qrel_golds.txt").write_text("1 Q0 5411 1\n23 Q0 404 1\n")
    return tmp_path


def test_evidence_is_the_default_and_gold_the_other_split(folder: Path) -> None:
    evidence, gold = open_collection(f"browsecomp-plus:{folder}"), open_collection(f"browsecomp-plus:{folder}", "gold")
    assert (evidence.name, evidence.split, gold.split) == ("browsecomp-plus", "evidence", "gold")
    assert evidence.topics == (Topic("1", "What burns pots?"), Topic("23", "What coats pots?"))
    assert evidence.qrels == {"1": {"5411": 1, "7": 1}, "23": {"90": 1}}
    assert gold.qrels == {"1": {"5411": 1}, "23": {"404": 1}}
    documents = [found for _, found in gold.documents() if isinstance(found, Document)]
    assert documents[0] == Document("5411", "A page on kilns.", url="https://e.org/kilns")
    found = audit([document.docid for document in documents], gold.topics, gold.qrels)
    assert (found.documents, found.topics, found.judgments) == (3, 2, 2)
    assert found.dangling_docids.examples == ("404",)


def test_files_may_lie_in_the_root_and_the_corpus_in_a_folder(tmp_path: Path) -> None:
    rows(tmp_path / "corpus" / "part-0.jsonl", CORPUS[:2])
    rows(tmp_path / "corpus" / "part-1.jsonl", CORPUS[2:])
    (tmp_path / "queries.tsv").write_text(QUERIES)
    (tmp_path / "qrel_gold.txt").write_text("1 0 90 1\n")
    collection = open_collection(f"browsecomp-plus:{tmp_path}", "gold")
    assert len(list(collection.documents())) == 3
    assert collection.qrels == {"1": {"90": 1}}


def test_decrypted_questions_bring_their_judgments(tmp_path: Path) -> None:
    rows(tmp_path / "corpus.jsonl", CORPUS)
    row = {
        "query_id": "1",
        "query": "What burns pots?",
        "answer": "a kiln",
        "gold_docs": [{"docid": "5411", "text": "", "url": ""}],
        "evidence_docs": [{"docid": "5411"}, {"docid": 7}],
        "negative_docs": [{"docid": "90"}],
    }
    rows(tmp_path / "data" / "browsecomp_plus_decrypted.jsonl", [row])
    assert open_collection(f"browsecomp-plus:{tmp_path}").qrels == {"1": {"5411": 1, "7": 1}}
    assert open_collection(f"browsecomp-plus:{tmp_path}", "gold").qrels == {"1": {"5411": 1}}
    assert open_collection(f"browsecomp-plus:{tmp_path}").topics == (Topic("1", "What burns pots?"),)
    rows(tmp_path / "data" / "browsecomp_plus_decrypted.jsonl", [{"query_id": "1", "query": "x", "gold_docs": [{}]}])
    with pytest.raises(InputError, match="line 1: `gold_docs` holds something without a `docid`"):
        _ = open_collection(f"browsecomp-plus:{tmp_path}", "gold").qrels
    with pytest.raises(InputError, match="line 1: give `query_id` and the list `evidence_docs`"):
        _ = open_collection(f"browsecomp-plus:{tmp_path}").qrels


def test_judgments_by_address_get_the_docids_of_the_corpus(folder: Path) -> None:
    (folder / "topics-qrels" / "qrel_golds.txt").write_text("1 0 https://e.org/kilns 1\n1 0 https://e.org/gone 1\n")
    assert open_collection(f"browsecomp-plus:{folder}", "gold").qrels == {"1": {"5411": 1, "https://e.org/gone": 1}}


def test_questions_that_are_still_encrypted_are_refused(folder: Path) -> None:
    hidden = base64.b64encode(bytes(range(90))).decode()
    (folder / "topics-qrels" / "queries.tsv").write_text(f"1\t{hidden}\n")
    with pytest.raises(InputError, match=r"queries\.tsv: topic '1' is still encrypted; decrypt the file by") as caught:
        _ = open_collection(f"browsecomp-plus:{folder}").topics
    assert hidden not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        (
            "corpus.jsonl",
            "has no corpus of BrowseComp-Plus; write the rows of the data set Tevatron/browsecomp-plus-corpus",
        ),
        ("topics-qrels/queries.tsv", r"has no questions of BrowseComp-Plus; put queries\.tsv"),
        (
            "topics-qrels/qrel_evidence.txt",
            "has no judgments of the split 'evidence' of BrowseComp-Plus; put topics-qrels/",
        ),
    ],
)
def test_what_is_absent_is_named_with_what_to_put_where(folder: Path, name: str, fault: str) -> None:
    (folder / name).unlink()

    def read() -> None:
        collection = open_collection(f"browsecomp-plus:{folder}")
        _ = (collection.topics, collection.qrels)

    with pytest.raises(InputError, match=fault) as caught:
        read()
    assert str(caught.value).startswith(str(folder))


def test_an_unknown_split_is_refused(folder: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no split 'test'; choose evidence or gold"):
        open_collection(f"browsecomp-plus:{folder}", "test")

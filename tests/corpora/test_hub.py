"""Collections in the Hub's layout: the same one as a BEIR folder and in every form that `datasets` leaves.

Bare folders of JSON Lines need no package; the rest skips where `datasets` is absent (pip install 'datasets>=4'). The
Hub itself is played by a server on loopback, each time from a process of its own, since `datasets` fixes its settings
at import.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sira.corpora import open_collection
from sira.corpora.collection import corpus_files
from sira.errors import EnvironmentFault, InputError, NotFoundError
from sira.evaluate.config import read_experiment
from sira.evaluate.runner import run_experiment
from sira.records import Document, Skip
from tests.corpora.hub_server import SHA, hub

CORPUS = [
    {"_id": "d1", "title": "Kiln", "text": "hot  as\nfire"},
    {"_id": "d2", "title": "", "text": "raku"},
    {"_id": "7", "title": "NaN", "text": "2020-01-01"},
    {"_id": "e9", "title": "", "text": ""},
]
QUERIES = [
    {"_id": "q1", "text": "heat"},
    {"_id": "q2", "text": "null"},
    {"_id": "q3", "text": "of the train split"},
]
JUDGMENTS = {"test": [("q2", "d1", 1), ("q1", "d2", 2), ("q1", "d404", 1)], "train": [("q3", "d2", 1)]}
README = """---
language: en
configs:
- config_name: corpus
  data_files: [{split: corpus, path: corpus/*}]
- config_name: queries
  data_files: [{split: queries, path: queries/*}]
- config_name: default
  data_files: [{split: test, path: data/test*}, {split: train, path: data/train*}]
---
# A data set
"""

Rows = list[dict[str, Any]]


def judgments(split: str, score: type = int) -> Rows:
    return [{"query-id": qid, "corpus-id": docid, "score": score(grade)} for qid, docid, grade in JUDGMENTS[split]]


def write_lines(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_parquet(path: Path, rows: Rows) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the package datasets")
    path.parent.mkdir(parents=True, exist_ok=True)
    datasets.Dataset.from_list(rows).to_parquet(path)


def beir(folder: Path) -> None:
    write_lines(folder / "corpus.jsonl", CORPUS)
    write_lines(folder / "queries.jsonl", QUERIES)
    for split, judged in JUDGMENTS.items():
        rows = [f"{qid}\t{docid}\t{grade}\n" for qid, docid, grade in judged]
        (folder / "qrels").mkdir(exist_ok=True)
        (folder / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows), "utf-8")


def bare_lines(folder: Path) -> None:
    """What mteb's first uploads look like."""
    write_lines(folder / "corpus.jsonl", CORPUS)
    write_lines(folder / "queries.jsonl", QUERIES)
    for split in JUDGMENTS:
        write_lines(folder / "qrels" / f"{split}.jsonl", judgments(split, float))


def bare_parquet(folder: Path) -> None:
    write_parquet(folder / "corpus" / "corpus-00000-of-00002.parquet", CORPUS[:2])
    write_parquet(folder / "corpus" / "corpus-00001-of-00002.parquet", CORPUS[2:])
    write_parquet(folder / "queries" / "queries-00000-of-00001.parquet", QUERIES)
    for split in JUDGMENTS:
        write_parquet(folder / "data" / f"{split}-00000-of-00001.parquet", judgments(split, float))


def snapshot(folder: Path) -> None:
    bare_parquet(folder)
    (folder / "README.md").write_text(README, "utf-8")


def lines_with_readme(folder: Path) -> None:
    pytest.importorskip("datasets", reason="needs the package datasets")
    write_lines(folder / "corpus" / "c.jsonl", CORPUS)
    write_lines(folder / "queries" / "q.jsonl", QUERIES)
    for split in JUDGMENTS:
        write_lines(folder / "data" / f"{split}.jsonl", judgments(split))
    (folder / "README.md").write_text(README, "utf-8")


def saved(folder: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the package datasets")
    datasets.Dataset.from_list(CORPUS).save_to_disk(folder / "corpus")
    datasets.DatasetDict({"queries": datasets.Dataset.from_list(QUERIES)}).save_to_disk(folder / "queries")
    parts = {split: datasets.Dataset.from_list(judgments(split)) for split in JUDGMENTS}
    datasets.DatasetDict(parts).save_to_disk(folder / "default")


def bare_arrow(folder: Path) -> None:
    """The files that `save_to_disk` writes, without what it writes beside them."""
    saved(folder / "whole")
    for file in (folder / "whole").rglob("*.arrow"):
        config, *split = file.relative_to(folder / "whole").parts[:-1]
        target = folder / config / f"{(split or [config])[0]}.arrow"
        target.parent.mkdir(exist_ok=True)
        file.rename(target)


def content(source: str, split: str | None = None) -> tuple[object, ...]:
    collection = open_collection(source, split)
    documents = [record for _, record in collection.documents()]
    assert documents == [record for _, record in collection.documents()]
    return documents, collection.topics, collection.qrels, collection.split, collection.text_rule


FORMS = [bare_lines, bare_parquet, bare_arrow, snapshot, lines_with_readme, saved]


@pytest.mark.parametrize("write", FORMS, ids=lambda write: write.__name__)
@pytest.mark.parametrize("split", [None, "train"])
def test_every_form_gives_what_the_beir_folder_gives(
    tmp_path: Path, write: Callable[[Path], None], split: str | None
) -> None:
    beir(tmp_path / "kilns")
    write(tmp_path / "hub")
    wanted = content(f"beir:{tmp_path / 'kilns'}", split)
    assert content(f"datasets:{tmp_path / 'hub'}", split) == wanted
    documents = wanted[0]
    assert isinstance(documents, list)
    assert documents[2] == Document("7", "2020-01-01", "NaN")


@pytest.mark.parametrize("write", FORMS, ids=lambda write: write.__name__)
def test_the_files_that_decide_the_documents_are_those_of_the_corpus(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    write(tmp_path)
    files = corpus_files(f"datasets:{tmp_path}")
    assert files
    assert all(file.is_file() and "corpus" in str(file.relative_to(tmp_path)) for file in files)


@pytest.mark.parametrize("name", ["arguana", "mteb--quora"])
def test_g28_the_name_says_whether_self_hits_are_ignored(tmp_path: Path, name: str) -> None:
    folder = tmp_path / f"datasets--{name}" / "snapshots" / SHA
    bare_lines(folder)
    assert open_collection(f"datasets:{folder}").ignore_self_hits
    bare_lines(tmp_path / "kilns")
    assert not open_collection(f"datasets:{tmp_path / 'kilns'}").ignore_self_hits


def test_ids_that_are_numbers_become_strings_and_records_that_are_no_documents_are_skipped(tmp_path: Path) -> None:
    write_lines(tmp_path / "corpus.jsonl", [{"id": 5, "text": "a", "title": None}, {"id": "x y", "text": "b"}])
    write_lines(tmp_path / "queries.jsonl", [{"id": 1, "text": "a"}])
    write_lines(tmp_path / "qrels" / "dev.jsonl", [{"query-id": 1, "corpus-id": 5, "score": 1}])
    collection = open_collection(f"datasets:{tmp_path}")
    (_, first), (place, second) = collection.documents()
    assert first == Document("5", "a")
    assert isinstance(second, Skip)
    assert place.line_number == 2
    assert (collection.split, collection.qrels) == ("dev", {"1": {"5": 1}})
    assert [topic.qid for topic in collection.topics] == ["1"]


def test_value_fields_reach_the_documents(tmp_path: Path) -> None:
    bare_lines(tmp_path)
    write_lines(tmp_path / "corpus.jsonl", [{"_id": "a", "text": "", "year": 1901}])
    [(_, document)] = open_collection(f"datasets:{tmp_path}", value_fields=["year"]).documents()
    assert isinstance(document, Document)
    assert document.values == {"year": 1901}


def test_a_corpus_alone_has_documents_and_no_topics_to_judge(tmp_path: Path) -> None:
    write_lines(tmp_path / "corpus.jsonl", CORPUS)
    collection = open_collection(f"datasets:{tmp_path}")
    assert (collection.split, collection.qrels, len(list(collection.documents()))) == (None, {}, 4)
    with pytest.raises(InputError, match="'queries'"):
        collection.topics  # noqa: B018


def test_a_split_that_lacks_lists_those_that_are_there(tmp_path: Path) -> None:
    bare_lines(tmp_path)
    with pytest.raises(NotFoundError, match=r"'dev'.*test, train"):
        open_collection(f"datasets:{tmp_path}", "dev")
    (tmp_path / "qrels" / "test.jsonl").rename(tmp_path / "qrels" / "dev.jsonl")
    with pytest.raises(NotFoundError, match=r"'test'.*dev, train"):
        open_collection(f"datasets:{tmp_path}")


@pytest.mark.parametrize(
    ("file", "row", "words"),
    [
        ("corpus.jsonl", {"docno": "d1", "text": "x"}, ["corpus.jsonl, line 1", "'_id'", "docno, text"]),
        ("corpus.jsonl", {"_id": "d1", "abstract": "x"}, ["'text'", "_id, abstract"]),
        ("queries.jsonl", {"_id": "q1", "question": "x"}, ["'text'", "_id, question"]),
        ("queries.jsonl", {"_id": "q 1", "text": "x"}, ["'q 1'", "white space"]),
        ("queries.jsonl", {"_id": "q1", "text": None}, ["'q1'", "no text"]),
        ("qrels/test.jsonl", {"query-id": "q1", "score": 1}, ["'corpus-id'", "query-id, score"]),
        ("qrels/test.jsonl", {"query-id": "q1", "corpus-id": "d1", "score": 0.5}, ["0.5", "integer"]),
        ("qrels/test.jsonl", {"query-id": "q1", "corpus-id": "d1", "score": "1"}, ["'1'", "integer"]),
    ],
)
def test_a_column_or_value_that_lacks_names_its_place(
    tmp_path: Path, file: str, row: dict[str, Any], words: list[str]
) -> None:
    bare_lines(tmp_path)
    write_lines(tmp_path / file, [row])
    with pytest.raises(InputError) as caught:
        content(f"datasets:{tmp_path}")
    assert all(word in str(caught.value) for word in words), caught.value


def test_two_grades_for_one_document_are_refused(tmp_path: Path) -> None:
    bare_lines(tmp_path)
    row = {"query-id": "q1", "corpus-id": "d1"}
    write_lines(tmp_path / "qrels" / "test.jsonl", [row | {"score": 1}, row | {"score": 1}, row | {"score": 2}])
    with pytest.raises(InputError, match=r"line 3: document 'd1' has the grades 1 and 2"):
        open_collection(f"datasets:{tmp_path}").qrels  # noqa: B018


@pytest.mark.parametrize("text", ["./nowhere", "/no/such/folder", "a/b/c", "mteb/scifact@", "x y"])
def test_what_is_neither_a_folder_nor_a_name_says_what_to_write(text: str) -> None:
    with pytest.raises(InputError, match="datasets:NAME@REVISION"):
        open_collection(f"datasets:{text}")


def test_a_folder_of_other_files_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("", "utf-8")
    with pytest.raises(InputError, match=r"config 'corpus'; the folder holds notes\.txt"):
        open_collection(f"datasets:{tmp_path}")


def test_a_config_that_lacks_in_a_snapshot_or_among_saved_ones_lists_those_that_are_there(tmp_path: Path) -> None:
    snapshot(tmp_path / "a")
    (tmp_path / "a" / "README.md").write_text(README.replace("config_name: corpus", "config_name: texts"), "utf-8")
    with pytest.raises(InputError, match=r"'corpus'.*texts"):
        open_collection(f"datasets:{tmp_path / 'a'}")
    saved(tmp_path / "b")
    (tmp_path / "b" / "corpus").rename(tmp_path / "b" / "texts")
    with pytest.raises(InputError, match=r"'corpus'.*default, queries, texts"):
        open_collection(f"datasets:{tmp_path / 'b'}")


def test_a_damaged_file_is_named_in_one_line(tmp_path: Path) -> None:
    bare_parquet(tmp_path)
    file = tmp_path / "corpus" / "corpus-00001-of-00002.parquet"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(InputError, match="cannot be read"):
        content(f"datasets:{tmp_path}")


def test_files_that_a_readme_names_and_that_are_absent_are_a_fault(tmp_path: Path) -> None:
    snapshot(tmp_path)
    for file in (tmp_path / "corpus").iterdir():
        file.unlink()
    with pytest.raises(InputError, match="'corpus' cannot be read"):
        content(f"datasets:{tmp_path}")


@pytest.mark.java
@pytest.mark.java
def test_an_experiment_is_resumed_on_a_folder_and_begun_anew_when_its_corpus_changes(tmp_path: Path) -> None:
    bare_lines(tmp_path / "data")
    config = tmp_path / "x.toml"
    config.write_text(
        f"""
name = "x"
baseline = "bm25"
depth = 10
measures = ["nDCG@10"]
collections = [{{ name = "kilns", source = "datasets:{tmp_path / "data"}", split = "train" }}]
systems = [{{ name = "bm25", kind = "bm25" }}]
""",
        encoding="utf-8",
    )
    write_lines(tmp_path / "data" / "queries.jsonl", [{"_id": "q3", "text": "raku"}])

    def indexes() -> dict[str, int]:
        [results] = run_experiment(read_experiment(config), tmp_path / "out", progress=False)
        assert results.rows[0].evaluation.mean["nDCG@10"] == 1
        return {
            path.parent.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("indexes/*/manifest.json")
        }

    first = indexes()
    assert len(first) == 1
    assert indexes() == first
    write_lines(tmp_path / "data" / "corpus.jsonl", [*CORPUS, {"_id": "new", "title": "", "text": "slip"}])
    assert len(indexes()) == 2


def test_without_the_package_the_command_that_installs_it_is_named() -> None:
    code = "import sys; sys.modules['datasets'] = None\nfrom sira.corpora import open_collection\n"
    done = run(code + "open_collection('datasets:mteb/scifact')")
    assert "pip install 'datasets>=4'" in fault(done)


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # Other tests of the process may have set the hub's variables, such as the one that keeps it offline.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    environment = kept | {"PYTHONWARNINGS": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"} | variables
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def fault(done: subprocess.CompletedProcess[str]) -> str:
    """The last line of stderr, which is the message of the error that ended the process."""
    assert done.returncode == 1, done
    return done.stderr.strip().splitlines()[-1]


SHOW = """
import json, sys
from sira.corpora import open_collection
c = open_collection(SOURCE)
docs = [[d.docid, d.contents] for _, d in c.documents()]
print(json.dumps([c.name, c.split, docs, [t.qid for t in c.topics], c.qrels]))
"""


def test_a_name_is_fetched_once_pinned_and_read_again_without_network(tmp_path: Path) -> None:
    snapshot(tmp_path / "served")
    home = {"HF_HOME": str(tmp_path / "home")}
    with hub("mteb/kilns", tmp_path / "served") as (address, log):
        online = {**home, "HF_ENDPOINT": address}
        first = run(f"SOURCE = 'datasets:mteb/kilns'{SHOW}", **online)
        name, split, documents, topics, qrels = json.loads(first.stdout)
        assert (name, split, topics) == ("mteb/kilns", "test", ["q1", "q2"])
        assert [docid for docid, _ in documents] == ["d1", "d2", "7", "e9"]
        assert documents[0][1] == "Kiln hot  as\nfire"
        assert qrels["q1"] == {"d2": 2, "d404": 1}
        fetched = [line for line in log if line.startswith("GET") and line.endswith(".parquet")]
        assert len(fetched) == len(set(fetched)) >= 4
        log.clear()
        again = run(f"SOURCE = 'datasets:mteb/kilns@{SHA}'{SHOW}", **online)
        assert again.stdout == first.stdout
        assert not [line for line in log if line.startswith("GET") and line.endswith(".parquet")]
        assert "doesn't exist" in fault(run(f"SOURCE = 'datasets:mteb/kilns@nope'{SHOW}", **online))
        assert "mteb/other" in fault(run(f"SOURCE = 'datasets:mteb/other'{SHOW}", **online))
    offline = {**home, "HF_HUB_OFFLINE": "1"}
    assert run(f"SOURCE = 'datasets:mteb/kilns@{SHA}'{SHOW}", **offline).stdout == first.stdout
    other = fault(run(f"SOURCE = 'datasets:mteb/kilns@{'f' * 40}'{SHOW}", **offline))
    assert f"the cache holds revision {SHA} alone" in other


def test_g34_what_broke_off_while_it_was_fetched_does_not_count_as_fetched(tmp_path: Path) -> None:
    snapshot(tmp_path / "served")
    home = {"HF_HOME": str(tmp_path / "home")}
    with hub("mteb/kilns", tmp_path / "served", cut="corpus-00001-of-00002.parquet") as (address, _):
        message = fault(run(f"SOURCE = 'datasets:mteb/kilns'{SHOW}", HF_ENDPOINT=address, **home))
    assert "hf download mteb/kilns" in message
    assert EnvironmentFault.__name__ in message
    with hub("mteb/kilns", tmp_path / "served") as (address, _):
        done = run(f"SOURCE = 'datasets:mteb/kilns'{SHOW}", HF_ENDPOINT=address, **home)
    assert [docid for docid, _ in json.loads(done.stdout)[2]] == ["d1", "d2", "7", "e9"]


def test_without_network_it_says_what_to_put_where(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="needs the package datasets")
    message = fault(run(f"SOURCE = 'datasets:mteb/kilns'{SHOW}", HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1"))
    for words in ("mteb/kilns", "hf download mteb/kilns --repo-type dataset", "datasets:FOLDER", "HF_HOME"):
        assert words in message
    assert EnvironmentFault.__name__ in message

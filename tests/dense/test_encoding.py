"""The store of vectors: shards, what it refuses, and going on after a kill at any instant."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sira.corpora.collection import Collection, open_collection
from sira.dense.encoder import Vectors
from sira.dense.encoding import VectorSettings, encode_documents
from sira.dense.job import Places, SearchSettings, run_dense
from sira.dense.vectors import VectorStore
from sira.errors import DuplicateIdError, EnvironmentFault, InputError
from sira.records import Record
from tests.dense.stand_in import WordEncoder, write_collection

ROOT = Path(__file__).parents[2]


@pytest.fixture
def pots(tmp_path: Path) -> Path:
    return write_collection(tmp_path / "pots", 50)


def opened(folder: Path) -> Collection:
    return open_collection(f"beir:{folder}")


def encode(folder: Path, out: Path, encoder: WordEncoder | None = None, settings: VectorSettings | None = None) -> int:
    settings = settings or VectorSettings(20)
    return encode_documents(opened(folder), encoder or WordEncoder(), out, settings, progress=False).documents


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every vector file and sidecar."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("shard-*"))}


def test_the_store_holds_each_document_in_the_order_of_the_corpus(pots: Path, tmp_path: Path) -> None:
    assert encode(pots, tmp_path / "v") == 50
    store = VectorStore(tmp_path / "v")
    assert store.docids == tuple(f"d{number}" for number in range(50))
    assert [shard.shape for shard in store.shards()] == [(20, 16), (20, 16), (10, 16)]
    texts = [json.loads(line)["text"] for line in (pots / "corpus.jsonl").read_text().splitlines()]
    assert np.array_equal(np.concatenate(list(store.shards())), WordEncoder().documents(texts))
    assert store.manifest["counts"] == {
        "documents": 50, "dimension": 16, "shards": 3, "empty": 0, "skipped": 0, "duplicates": 0,
    }  # fmt: skip
    assert store.bytes == sum(path.stat().st_size for path in (tmp_path / "v").glob("*.npy"))


def test_a_whole_store_is_left_as_it_is(pots: Path, tmp_path: Path) -> None:
    encode(pots, tmp_path / "v")
    again = WordEncoder()
    assert encode(pots, tmp_path / "v", again) == 0
    assert again.calls == []


def test_a_moved_corpus_is_the_same(pots: Path, tmp_path: Path) -> None:
    encode(pots, tmp_path / "v")
    (tmp_path / "elsewhere").mkdir()
    moved = pots.rename(tmp_path / "elsewhere" / "renamed")
    assert encode(moved, tmp_path / "v") == 0


def test_what_changed_is_named_and_nothing_is_touched(pots: Path, tmp_path: Path) -> None:
    encode(pots, tmp_path / "v")
    before = contents(tmp_path / "v")
    with pytest.raises(InputError) as caught:
        encode(pots, tmp_path / "v", WordEncoder(prompt="passage: "), VectorSettings(20, "float16"))
    said = str(caught.value)
    assert 'dtype was "float32", now "float16"' in said
    assert 'model.document_prompt was "", now "passage: "' in said
    assert "--vectors" in said
    with (pots / "corpus.jsonl").open("a") as corpus:
        corpus.write(json.dumps({"_id": "new", "text": "a new one"}) + "\n")
    with pytest.raises(InputError, match=r"made otherwise: corpus\.corpus\.jsonl was"):
        encode(pots, tmp_path / "v")
    assert contents(tmp_path / "v") == before


def test_texts_that_changed_where_no_file_tells_are_found_out(pots: Path, tmp_path: Path) -> None:
    """A downloaded collection has no files to fingerprint; the texts of each shard have."""
    documents = list(opened(pots).documents())

    def downloaded(records: Sequence[Record]) -> Collection:
        return Collection("x", "irds:x/y", None, lambda: iter(records), lambda: (), dict, ignore_self_hits=False)

    (tmp_path / "v").mkdir()
    encoder = WordEncoder()
    encode_documents(downloaded(documents), encoder, tmp_path / "v", VectorSettings(20), progress=False)
    unfinish(tmp_path / "v", last=2)
    with pytest.raises(InputError, match="shard 0 is of other docids than the corpus has now"):
        encode_documents(downloaded(documents[1:]), encoder, tmp_path / "v", VectorSettings(20), progress=False)


def unfinish(folder: Path, last: int) -> None:
    """The state before the last shard was written."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "counts": None}))
    (folder / f"shard-{last:05d}.npy").unlink()


def test_a_store_that_is_not_whole_is_not_searched(pots: Path, tmp_path: Path) -> None:
    encode(pots, tmp_path / "v")
    unfinish(tmp_path / "v", last=2)
    with pytest.raises(InputError, match="not all vectors are there"):
        _ = VectorStore(tmp_path / "v").docids
    encoder = WordEncoder()
    assert encode(pots, tmp_path / "v", encoder) == 10
    assert encoder.calls == [10]  # the two shards that were there were not done again


def test_a_folder_of_other_files_is_left_alone(pots: Path, tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "letters.txt").write_text("dear")
    with pytest.raises(InputError, match=r"holds other files \(letters\.txt\)"):
        encode(pots, tmp_path / "v")
    assert [path.name for path in (tmp_path / "v").iterdir() if path.name != ".lock"] == ["letters.txt"]


def test_two_processes_do_not_write_one_store(pots: Path, tmp_path: Path) -> None:
    from sira.folders import owned

    with owned(tmp_path / "v"), pytest.raises(InputError, match="another process works in this folder"):
        encode(pots, tmp_path / "v")


def test_docids_that_come_twice(pots: Path, tmp_path: Path) -> None:
    line = json.dumps({"_id": "d3", "text": "another text"})
    with (pots / "corpus.jsonl").open("a") as corpus:
        corpus.write(line + "\nno JSON\n" + json.dumps({"_id": "blank", "text": " "}) + "\n")
    with pytest.raises(DuplicateIdError, match="'d3' stood there before"):
        encode(pots, tmp_path / "v")
    encode(pots, tmp_path / "w", settings=VectorSettings(20, duplicates="keep-first"))
    counts = VectorStore(tmp_path / "w").manifest["counts"]
    assert (counts["documents"], counts["duplicates"], counts["skipped"], counts["empty"]) == (51, 1, 1, 1)


def test_a_corpus_without_documents(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "none", 0, topics=1)
    with pytest.raises(InputError, match="has no documents"):
        encode(folder, tmp_path / "v")


class Broken(WordEncoder):
    """Vectors of an overflow, as half precision gives them."""

    def documents(self, texts: list[str]) -> Vectors:  # pyright: ignore[reportIncompatibleMethodOverride]
        found = super().documents(texts)
        found[3, 2] = np.nan
        return found


def test_vectors_that_are_not_finite_are_refused_with_their_docid(pots: Path, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="docid 'd3': its vector holds numbers that are not finite"):
        encode(pots, tmp_path / "v", Broken())
    assert contents(tmp_path / "v") == {}


def places(folder: Path) -> Places:
    return Places(folder / "words.trec", "words", folder / "words.vectors")


def start(pots: Path, run: Path, pause: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.dense.stand_in", str(pots), str(run), str(pause)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    )


def test_killed_while_encoding_it_goes_on_to_the_same_vectors_and_run(tmp_path: Path) -> None:
    pots = write_collection(tmp_path / "pots", 130)
    whole = places(tmp_path)
    run_dense(opened(pots), opened(pots).topics, WordEncoder(), whole, vectors=VectorSettings(20), progress=False)

    run = tmp_path / "killed" / "words.trec"
    run.parent.mkdir()
    vectors = run.with_suffix(".vectors")
    kept: dict[str, bytes] = {}
    for shards in (1, 3, 5):  # killed in the midst of a shard, thrice
        process = start(pots, run, pause=0.3)
        deadline = time.monotonic() + 60
        while len(list(vectors.glob("shard-*.npy"))) < shards:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        now = contents(vectors)
        assert {name: now[name] for name in kept if name.endswith(".npy")} == {
            name: data for name, data in kept.items() if name.endswith(".npy")
        }
        assert not run.exists()
        kept = now
    done = len(list(vectors.glob("shard-*.npy")))
    process = start(pots, run, pause=0)
    said, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    assert len(json.loads(said)) == 7 - done  # a call a shard: none was done twice
    assert contents(vectors) == contents(whole.vectors)
    assert run.read_bytes() == whole.run.read_bytes()
    assert not [path.name for path in vectors.iterdir() if path.name.endswith(".tmp")]


def test_a_torn_shard_of_a_kill_between_write_and_rename_is_made_anew(pots: Path, tmp_path: Path) -> None:
    encode(pots, tmp_path / "v")
    before = contents(tmp_path / "v")
    unfinish(tmp_path / "v", last=2)
    (tmp_path / "v" / ".shard-00002.npy.tmp").write_bytes(b"\x93NUMPY torn")
    encode(pots, tmp_path / "v")
    assert contents(tmp_path / "v") == before


def test_a_run_holds_one_more_where_a_document_that_is_the_topic_is_no_hit(tmp_path: Path) -> None:
    """As an experiment reads it: it takes the topic's own document out and cuts at k."""
    from sira.corpora.trec import read_run

    pots = write_collection(tmp_path / "arguana", 30)
    with (pots / "queries.jsonl").open("a") as queries:
        queries.write(json.dumps({"_id": "d4", "text": " ".join(["word3"] * 3)}) + "\n")
    with (pots / "qrels" / "test.tsv").open("a") as qrels:
        qrels.write("d4\td1\t1\n")
    facts = run_dense(
        opened(pots), opened(pots).topics, WordEncoder(), places(tmp_path), search=SearchSettings(30), progress=False
    )
    assert facts["run"]["depth"] == 31
    ranking = read_run(places(tmp_path).run).rankings["d4"]
    assert "d4" in ranking.docids
    assert len(ranking.without("d4")) == 29


def test_topics_that_cannot_make_a_run(pots: Path, tmp_path: Path) -> None:
    topics = opened(pots).topics
    with pytest.raises(DuplicateIdError, match="'q0' stands twice"):
        run_dense(opened(pots), (*topics, topics[0]), WordEncoder(), places(tmp_path), progress=False)
    with pytest.raises(InputError, match="give --topics"):
        run_dense(opened(pots), (), WordEncoder(), places(tmp_path), progress=False)
    assert not (tmp_path / "words.vectors").exists()  # before the first document is encoded


def test_the_facts_beside_the_run_hold_every_setting(pots: Path, tmp_path: Path) -> None:
    run_dense(opened(pots), opened(pots).topics, WordEncoder(), places(tmp_path), progress=False)
    facts = json.loads((tmp_path / "words.json").read_text())
    assert facts["search"] == {"k": 1000, "index": "exact", "factory": "Flat", "parameters": None}
    assert facts["run"]["topics"] == 5
    assert facts["run"]["hits"] == 5 * 50
    assert facts["vectors"]["counts"]["documents"] == 50
    assert facts["vectors"]["settings"] == {"shard_documents": 1000, "dtype": "float32", "duplicates": "refuse"}
    assert facts["vectors"]["encoded_now"] == 50
    assert facts["vectors"]["documents_per_second"] > 0
    assert facts["model"]["name"] == "words"

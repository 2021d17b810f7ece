"""A dense run in an experiment: imported as a system, and fused with BM25."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sira.corpora.collection import open_collection
from sira.corpora.trec import read_run
from sira.dense.job import Places, SearchSettings, run_dense
from sira.search.fusion import fuse_runs
from tests.dense.stand_in import WordEncoder, write_collection

CONFIG = """
name = "dense"
baseline = "bm25"
depth = 20
measures = ["nDCG@10", "Recall@20"]

[[collections]]
name = "arguana"
source = "beir:arguana"

[[systems]]
name = "bm25"
kind = "bm25"

[[systems]]
name = "dense"
kind = "run"
run = "{collection}-dense.trec"

[[systems]]
name = "rrf"
kind = "fusion"
of = ["dense", "bm25"]
"""


@pytest.mark.java
def test_the_run_joins_an_experiment_and_the_topic_itself_is_taken_out(tmp_path: Path) -> None:
    from sira.evaluate.config import read_experiment
    from sira.evaluate.runner import run_experiment

    pots = write_collection(tmp_path / "arguana", 60, same=0)
    corpus = [json.loads(line) for line in (pots / "corpus.jsonl").read_text().splitlines()]
    (pots / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": f"d{number}", "text": corpus[number]["text"]}) + "\n" for number in range(5))
    )
    judgments = "".join(f"d{number}\td{number + 20}\t1\n" for number in range(5))
    (pots / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judgments)
    collection = open_collection(f"beir:{pots}")
    places = Places(tmp_path / "arguana-dense.trec", "words", tmp_path / "vectors")
    run_dense(collection, collection.topics, WordEncoder(), places, search=SearchSettings(20), progress=False)
    (tmp_path / "e.toml").write_text(CONFIG)
    run_experiment(read_experiment(tmp_path / "e.toml"), tmp_path / "out", progress=False)

    runs = {name: read_run(tmp_path / "out" / "runs" / "arguana" / f"{name}.trec") for name in ("bm25", "dense", "rrf")}
    made = read_run(places.run)
    for qid, ranking in runs["dense"].rankings.items():
        assert made.rankings[qid].docids[0] == qid  # its own text is the nearest
        assert ranking.docids == made.rankings[qid].without(qid).docids
        assert len(ranking) == 20
    fused = fuse_runs([runs["dense"], runs["bm25"]], k=20).run
    assert {qid: ranking.docids for qid, ranking in runs["rrf"].rankings.items()} == {
        qid: ranking.docids for qid, ranking in fused.rankings.items()
    }

"""`sira dense` where nothing is loaded yet: what it refuses, in one line, before the model is asked for."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from sira.cli import dense
from sira.cli.main import main
from sira.dense.encoding import VectorSettings
from sira.dense.job import SearchSettings
from sira.dense.transformer import ModelSettings
from tests.dense.stand_in import write_collection


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["-k", "0"], "k = 0: give 1 or more"),
        (["--shard-documents", "0"], "0 documents a shard: give 1 or more"),
        (["--batch-size", "0"], "batch size 0, max length None: both count from 1"),
        (["--faiss-factory", "HNSW32"], "--faiss-factory and --faiss-parameters belong to --index faiss"),
        (["--faiss-parameters", "nprobe=3"], "--faiss-factory and --faiss-parameters belong to --index faiss"),
        (["--split", "train"], "there is no split 'train'"),
        (["--out", "here/run.trec"], "here/run.trec: give the name of a file in a folder that is there"),
        (["--out", "run.json"], "run.json: run.json is the name of the facts beside it: call the run .trec"),
    ],
)
def test_what_cannot_be_is_refused_at_once(
    options: list[str], fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_collection(tmp_path / "pots", 3)
    assert main(["dense", "beir:pots", "--model", "package:none", "--out", "run.trec", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert fault in err
    assert [path.name for path in tmp_path.iterdir()] == ["pots"]


def test_documents_alone_want_topics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pots = write_collection(tmp_path / "pots", 3)
    source = f"jsonl:{pots / 'corpus.jsonl'}"
    assert main(["dense", source, "--model", "package:none", "--out", str(tmp_path / "run.trec")]) == 2
    assert "has no topics: give --topics FILE" in capsys.readouterr().err


def test_the_defaults_are_those_of_the_settings() -> None:
    import argparse

    parser = argparse.ArgumentParser()
    dense.add_arguments(parser)
    given = parser.parse_args(["pots", "--model", "m", "--out", "run.trec"])
    assert SearchSettings(given.k, given.index, given.faiss_factory, given.faiss_parameters) == SearchSettings()
    assert VectorSettings(given.shard_documents, given.dtype, given.duplicates) == VectorSettings()
    assert given.batch_size == inspect.signature(ModelSettings).parameters["batch_size"].default
    assert (given.max_length, given.similarity, given.device, given.revision) == (None, None, None, None)

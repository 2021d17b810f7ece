"""The benchmarks of sira over data in the published forms: obfuscated questions to a run, and a small Wikipedia."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

from benchmarks._agent_servers import PlayedServer
from sira.cli.main import main
from tests.agent.test_benchmark_canary import CANARY, hidden

pytestmark = pytest.mark.java

DATA = Path(os.environ.get("SIRA_TEST_DATA", "")) / "wikipedia-sample"
QIDS = ("25", "30", "244", "549", "655", "1019", "1032", "1127", "1219")
SECRET = "unrepeatable riddle about potters number"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))


@pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="wants the package openai")
def test_browsecomp_plus_from_its_published_form_to_a_run_without_a_word_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "plus"
    (folder / "published").mkdir(parents=True)
    monkeypatch.setenv("BROWSECOMP_PLUS", str(folder))
    monkeypatch.setenv("BROWSECOMP_PLUS_CANARY", CANARY)
    rows = [
        {
            "query_id": qid,
            "query": hidden(f"{SECRET} {qid}?"),
            "answer": hidden(f"answer {qid}"),
            "gold_docs": [{"docid": hidden(f"9{qid}")}],
            "evidence_docs": [{"docid": hidden(f"9{qid}")}, {"docid": hidden("90")}],
        }
        for qid in (*QIDS, "2000")
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "published" / "test.jsonl").write_text(lines)
    pages = [{"docid": f"9{qid}", "text": f"potters and riddles {qid}"} for qid in QIDS]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    assert main(["index", f"jsonl:{tmp_path / 'corpus.jsonl'}", "--index", str(folder / "index"), "--quiet"]) == 0
    assert main(["benchmark", "browsecomp_plus", "--prepare", str(folder)]) == 0
    run = tmp_path / "run"
    with PlayedServer() as server:
        llm = tmp_path / "model.toml"
        llm.write_text(f'[model]\nbackend = "openai"\nmodel = "played"\nbase_url = "{server.url}"\n')
        command = ["benchmark", "browsecomp-plus", "--llm", str(llm), "--out", str(run), "--watch", "lines"]
        assert main(command) == 0
    assert {path.stem for path in run.glob("*.json")} == {*QIDS, "run"}
    manifest = json.loads((run / "run.json").read_text())
    assert manifest["ground_truth_path"] == str(folder / "browsecomp_plus_decrypted.jsonl")
    assert manifest["secondary_qrels_path"] == str(folder / "qrel_golds.txt")
    assert SECRET not in (run / "run.json").read_text()
    assert any((run / "replies").rglob("*"))
    assert not any(path.is_file() for path in (tmp_path / "cache").rglob("*"))  # replies may repeat a question
    told = capfd.readouterr()
    assert "riddle" not in told.out + told.err
    assert "answer 25" not in told.out + told.err


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("SIRA_TEST_DATA") or not DATA.is_dir(), reason="wants SIRA_TEST_DATA")
def test_browsecomp_wikipedia_over_a_prepared_wikipedia(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ranx")
    monkeypatch.setenv("BROWSECOMP_WIKIPEDIA", str(tmp_path))
    dump = next(DATA.glob("*.xml.bz2"))
    assert main(["wikipedia", "prepare", str(dump), "--out", str(tmp_path / "wiki"), "--quiet"]) == 0
    question = {
        "query_id": 1,
        "problem": "Which political philosophy rejects the state and involuntary hierarchy?",
        "answer": "anarchism",
        "wiki_gold_titles": {"1": "Anarchism"},
        "wiki_gold_urls": {"1": "https://en.wikipedia.org/wiki/Anarchism"},
        "wiki_gold_categories": {"1": ["Anarchism"]},
    }
    (tmp_path / "questions.jsonl").write_text(json.dumps(question) + "\n")
    capsys.readouterr()
    out = tmp_path / "plain"
    command = ["benchmark", "browsecomp-wikipedia", "--retrieval-only", "--out", str(out), "--watch", "off"]
    assert main(command) == 0
    figures = dict(line.split("\tall\t") for line in capsys.readouterr().out.splitlines())
    assert figures["recall_100"] == "1.0000"
    assert json.loads((out / "retrieval.json").read_text())["searched"]["scoring"]["k1"] == 1.5

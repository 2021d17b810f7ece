"""Experiments from TOML: results, refusals, and resuming after a kill."""

from __future__ import annotations

import fcntl
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from sira.corpora.trec import read_run
from sira.errors import InputError
from sira.evaluate.config import read_experiment
from sira.evaluate.runner import run_experiment

CONFIG = """
name = "pots"
baseline = "bm25"
depth = 20
measures = ["nDCG@10", "Recall@10"]

[[collections]]
name = "pots"
source = "beir:data"
expansions = "data/phrases.jsonl"
gate = { max_df_ratio = 1.0 }
[collections.sketches]
mine = "data/sketches.jsonl"

[[systems]]
name = "bm25"
kind = "bm25"

[[systems]]
name = "documents"
kind = "bm25"
documents = "expanded"

[[systems]]
name = "both"
kind = "sira"
documents = "expanded"
sketches = "mine"
max_df_ratio = 1.0

[[systems]]
name = "control"
kind = "sira"
documents = "shuffled"
sketches = "mine"
shuffle_sketches = true
"""
SUBJECTS = ("kiln", "glaze", "clay", "raku", "slip", "celadon")


def rows(path: Path, items: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    (data / "qrels").mkdir(parents=True)
    rows(data / "corpus.jsonl", [{"_id": f"d{i}", "text": f"{word} number {i}"} for i, word in enumerate(SUBJECTS)])
    rows(data / "queries.jsonl", [{"_id": f"t{i}", "text": f"number of hidden{i}"} for i in range(len(SUBJECTS))])
    rows(data / "phrases.jsonl", [{"docid": f"d{i}", "phrases": [f"hidden{i}"]} for i in range(len(SUBJECTS))])
    rows(data / "sketches.jsonl", [{"qid": f"t{i}", "phrases": [word]} for i, word in enumerate(SUBJECTS)])
    judged = "".join(f"t{i}\td{i}\t1\n" for i in range(len(SUBJECTS)))
    (data / "qrels" / "test.tsv").write_text(judged, encoding="utf-8")
    (tmp_path / "e.toml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def values(out: Path) -> dict[tuple[str, str], float]:
    entries = json.loads((out / "results.json").read_text(encoding="utf-8"))
    keys = {"collection", "system", "metric", "value", "topics"}
    assert all(set(entry) - {"currency"} == keys for entry in entries)
    assert {entry["metric"] for entry in entries if "currency" in entry} <= {"price_per_query"}
    return {(entry["system"], entry["metric"]): entry["value"] for entry in entries}


@pytest.mark.java
def test_results_folder(folder: Path) -> None:
    out = folder / "out"
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    found = values(out)
    assert found["documents", "nDCG@10"] == found["both", "nDCG@10"] == 1.0
    assert found["control", "nDCG@10"] < found["bm25", "nDCG@10"] < 1.0
    assert found["bm25", "Recall@10"] == 1.0
    assert found["bm25", "index_growth"] == 0 < found["both", "index_growth"]
    assert (found["bm25", "llm_calls_per_query"], found["both", "llm_calls_per_query"]) == (0, 1)
    assert found["both", "zero_result_rate"] == 0
    assert found["both", "ms_per_query_p95"] >= found["both", "ms_per_query_p50"] > 0
    report = (out / "report.md").read_text(encoding="utf-8")
    assert "docid ascending" in report
    assert "randomisation" in report
    assert json.loads((out / "config.json").read_text(encoding="utf-8"))["systems"]["bm25"]["sketch_weight"] == 0.5
    assert set(read_run(out / "runs" / "pots" / "both.trec").rankings) == {f"t{i}" for i in range(len(SUBJECTS))}
    assert (out / "per_query.csv").read_text(encoding="utf-8").count("\n") == 1 + 4 * 2 * len(SUBJECTS)


@pytest.mark.java
def test_a_second_run_repeats_nothing_and_a_changed_setting_redoes_its_cell_alone(folder: Path) -> None:
    out = folder / "out"
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    runs = {path.name: path for path in (out / "runs" / "pots").glob("*.trec")}
    before = {name: path.stat().st_mtime_ns for name, path in runs.items()}
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    assert {name: path.stat().st_mtime_ns for name, path in runs.items()} == before
    changed = CONFIG.replace('sketches = "mine"\nmax_df_ratio = 1.0', 'sketches = "mine"\nmax_df_ratio = 0.9')
    (folder / "e.toml").write_text(changed, encoding="utf-8")
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    after = {name: path.stat().st_mtime_ns for name, path in runs.items()}
    assert [name for name in before if before[name] != after[name]] == ["both.trec"]


@pytest.mark.java
@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_results(folder: Path) -> None:
    whole = folder / "whole"
    run_experiment(read_experiment(folder / "e.toml"), whole, progress=False)
    out = folder / "killed"
    child = subprocess.Popen(
        [sys.executable, "-m", "sira", "run", str(folder / "e.toml"), "--out", str(out), "--quiet"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not (out / "runs" / "pots" / "bm25.json").exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert not (out / "results.json").exists()
    (out / "runs" / "pots" / ".both.trec.123-0a.tmp").write_text("half a li")
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    for run in (whole / "runs" / "pots").glob("*.trec"):
        assert (out / "runs" / "pots" / run.name).read_bytes() == run.read_bytes()
    assert not list(out.rglob("*.tmp"))
    timeless = [key for key in values(whole) if not key[1].startswith("ms_")]
    assert {key: values(whole)[key] for key in timeless} == {key: values(out)[key] for key in timeless}


@pytest.mark.java
def test_a_damaged_file_is_not_taken_for_a_result(folder: Path) -> None:
    out = folder / "out"
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    before = values(out)
    run = out / "runs" / "pots" / "both.trec"
    whole = run.read_bytes()
    run.write_bytes(whole[: len(whole) // 2])
    (out / "runs" / "pots" / "bm25.programs.jsonl").unlink()
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    assert run.read_bytes() == whole
    assert {key: value for key, value in values(out).items() if "ms_" not in key[1]} == {
        key: value for key, value in before.items() if "ms_" not in key[1]
    }


@pytest.mark.java
def test_a_changed_corpus_of_the_same_size_and_time_is_indexed_again(folder: Path) -> None:
    out = folder / "out"
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    corpus = folder / "data" / "corpus.jsonl"
    stat = corpus.stat()
    corpus.write_text(corpus.read_text(encoding="utf-8").replace("number 5", "nimbus 5"), encoding="utf-8")
    os.utime(corpus, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    assert values(out)["bm25", "Recall@10"] < 1.0


@pytest.mark.java
def test_ties_by_trec_evals_rule(folder: Path) -> None:
    """G23 through the runner: six equal scores, d0 is relevant to t0: first by docid ascending, last descending."""
    found = {}
    for ties in ("run", "trec"):
        (folder / "e.toml").write_text(CONFIG.replace("depth = 20", f'depth = 20\nties = "{ties}"'), encoding="utf-8")
        run_experiment(read_experiment(folder / "e.toml"), folder / "out", progress=False)
        found[ties] = values(folder / "out")["bm25", "nDCG@10"]
        lines = (folder / "out" / "per_query.csv").read_text(encoding="utf-8").splitlines()
        (row,) = [line for line in lines if line.startswith("pots,bm25,nDCG@10,t0,")]
        assert float(row.rsplit(",", 1)[1]) == pytest.approx(1.0 if ties == "run" else 1 / math.log2(7))
        report = (folder / "out" / "report.md").read_text(encoding="utf-8")
        assert ("docid descending (trec_eval)" in report) == (ties == "trec")
    assert found["run"] == pytest.approx(found["trec"])  # the same ranks, turned round


@pytest.mark.java
def test_self_hits_are_removed_before_the_cut_and_reported(folder: Path) -> None:
    """G28 through the runner: each topic is a document too, and its own text finds it first."""
    data = folder / "data"
    documents = [{"_id": f"t{i}", "text": f"{word} number"} for i, word in enumerate(SUBJECTS)]
    documents += [{"_id": f"d{i}", "text": word} for i, word in enumerate(SUBJECTS)]
    rows(data / "corpus.jsonl", documents)
    rows(data / "queries.jsonl", [{"_id": f"t{i}", "text": f"{word} number"} for i, word in enumerate(SUBJECTS)])
    config = CONFIG.replace("depth = 20", "depth = 1").replace('["nDCG@10", "Recall@10"]', '["MRR@1"]')
    for ignore, expected in (("true", 1.0), ("false", 0.0)):
        text = config.replace("[collections.sketches]", f"ignore_self_hits = {ignore}\n[collections.sketches]")
        text = text[: text.index('[[systems]]\nname = "documents"')]
        (folder / "e.toml").write_text(text, encoding="utf-8")
        run_experiment(read_experiment(folder / "e.toml"), folder / "out", progress=False)
        assert values(folder / "out")["bm25", "MRR@1"] == expected
        assert ("ignore_self_hits" in (folder / "out" / "report.md").read_text(encoding="utf-8")) == (ignore == "true")


@pytest.mark.java
def test_json_lines_with_topics_and_judgments_of_their_own(folder: Path) -> None:
    data = folder / "data"
    (folder / "topics.tsv").write_text("t0\tnumber of hidden0\nt1\tkiln\nt9\tunjudged\n", encoding="utf-8")
    (folder / "judged.txt").write_text("t0 0 d0 1\nt1 0 d0 1\nt7 0 d1 1\n", encoding="utf-8")
    text = CONFIG.replace(
        '"beir:data"', f'"jsonl:{data / "corpus.jsonl"}"\ntopics = "topics.tsv"\nqrels = "judged.txt"'
    )
    (folder / "e.toml").write_text(text, encoding="utf-8")
    run_experiment(read_experiment(folder / "e.toml"), folder / "out", progress=False)
    assert values(folder / "out")["documents", "nDCG@10"] == pytest.approx(2 / 3)  # G18: t7 was judged and not searched
    assert "t7" in (folder / "out" / "report.md").read_text(encoding="utf-8")


def test_a_qid_that_stands_twice_names_its_source(folder: Path) -> None:
    with (folder / "data" / "queries.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"_id": "t0", "text": "again"}\n')
    with pytest.raises(InputError, match=r"pots.*'t0' stands twice"):
        run_experiment(read_experiment(folder / "e.toml"), folder / "out", progress=False)


@pytest.mark.java
def test_two_processes_do_not_share_a_folder(folder: Path) -> None:
    (folder / "out").mkdir()
    with (folder / "out" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process"):
            run_experiment(read_experiment(folder / "e.toml"), folder / "out", progress=False)


@pytest.mark.java
def test_the_test_split_of_another_copy_by_name(folder: Path) -> None:
    text = CONFIG.replace("beir:data", "irds:beir/nowhere/test")
    (folder / "e.toml").write_text(text, encoding="utf-8")
    experiment = read_experiment(folder / "e.toml", {"pots": f"beir:{folder / 'data'}"})
    run_experiment(experiment, folder / "out", progress=False)
    assert values(folder / "out")["documents", "nDCG@10"] == 1.0


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('name = "pots"\nbaseline', 'name = "pots"\ncolour = 1\nbaseline', "colour"),
        ('baseline = "bm25"', 'baseline = "best"', "best"),
        ("depth = 20", "depth = 0", "depth"),
        ("depth = 20", "depth = 5", "nDCG@10"),
        ('["nDCG@10", "Recall@10"]', '["nGCD@10"]', "nGCD@10"),
        ('["nDCG@10", "Recall@10"]', "[]", "measures"),
        ('name = "documents"', 'name = "bm25"', "'bm25' stands twice"),
        ('sketches = "mine"\nmax', 'sketches = "yours"\nmax', "yours"),
        (
            'max_df_ratio = 1.0\n\n[[systems]]\nname = "control"',
            'max_df_ratio = 7\n\n[[systems]]\nname = "control"',
            "7",
        ),
        ("[[systems]]", "[[systems", "TOML"),
        ("data/phrases.jsonl", "${SIRA_NO_SUCH_VARIABLE}/p.jsonl", "SIRA_NO_SUCH_VARIABLE"),
    ],
)
def test_refusals_name_the_key(folder: Path, old: str, new: str, named: str) -> None:
    assert old in CONFIG
    (folder / "e.toml").write_text(CONFIG.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_experiment(folder / "e.toml")
    assert named in str(caught.value)
    assert str(folder / "e.toml") in str(caught.value) or "VARIABLE" in named


def test_an_unknown_collection_on_the_command_line(folder: Path) -> None:
    with pytest.raises(InputError, match="bowls"):
        read_experiment(folder / "e.toml", {"bowls": "beir:x"})


def test_kind_and_sketches_must_fit(folder: Path) -> None:
    (folder / "e.toml").write_text(CONFIG.replace('kind = "sira"', 'kind = "bm25"', 1), encoding="utf-8")
    with pytest.raises(InputError, match="system 'both': `max_df_ratio` has no meaning for kind = \"bm25\""):
        read_experiment(folder / "e.toml")

"""`sira fuse`: runs of any origin, what is reported of them, and what is refused."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import get_args

import pytest

from sira.cli import fuse
from sira.corpora.trec import read_run
from sira.search.fusion import Method, Norm, fuse_runs
from tests.cli.conftest import Sira

FIRST = "t1 Q0 d1 1 9.5 bm25\nt1 Q0 d2 2 8.5 bm25\nt2 Q0 d3 1 7 bm25\n"
SECOND = "t1\tQ0\td2\t1\t0.91\tdense\r\nt1\tQ0\td4\t2\t0.9\tdense\r\n"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.chdir(tmp_path)
    first, second = tmp_path / "first.trec", tmp_path / "second.trec"
    first.write_text(FIRST, encoding="utf-8")
    second.write_bytes(SECOND.encode())
    return first, second


def test_ranks_are_fused_and_the_topics_that_a_run_lacks_are_told(
    sira: Sira, runs: tuple[Path, Path], tmp_path: Path
) -> None:
    done = sira("fuse", *runs, "--out", tmp_path / "out.trec")
    assert done.status == 0
    run = read_run(tmp_path / "out.trec")
    assert run.name == "rrf"
    assert {qid: ranking.docids for qid, ranking in run.rankings.items()} == {"t1": ("d2", "d1", "d4"), "t2": ("d3",)}
    assert run.rankings["t1"].scores[0] == pytest.approx(1 / 62 + 1 / 61)
    assert done.err == (
        f"sira: warning: {runs[1]}: lacks 1 of 2 topics: fused from the others\n"
        f"sira: {tmp_path / 'out.trec'}: 2 topics, 4 hits, of 2 runs\n"
    )


def test_the_constant_of_rrf_depth_and_tag(sira: Sira, runs: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.trec"
    assert sira("fuse", *runs, "--out", out, "--rrf-k", "0", "-k", "1", "--name", "mine").status == 0
    run = read_run(out)
    assert (run.name, run.rankings["t1"].docids, run.rankings["t1"].scores) == ("mine", ("d2",), (1.5,))


def test_scores_are_fused_by_weights(sira: Sira, runs: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("ranx", reason="wants ranx")
    out = tmp_path / "out.trec"
    done = sira("fuse", *runs, "--method", "wsum", "--weights", "0.2", "0.8", "--norm", "max", "--out", out)
    assert done.status == 0, done.err
    expected = fuse_runs([read_run(path) for path in runs], "wsum", {"weights": [0.2, 0.8]}, norm="max").run
    assert {qid: ranking.docids for qid, ranking in read_run(out).rankings.items()} == {
        qid: ranking.docids for qid, ranking in expected.rankings.items()
    }


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("--weights", "1", "2"), "--weights: it belongs to --method wsum"),
        (("--phi", "0.5"), "--phi: it belongs to --method rbc"),
        (("--method", "rbc", "--phi", "2"), "phi = 2.0"),
        (("--method", "wsum", "--weights", "1"), "give 2 finite numbers"),
        (("--method", "sum", "--rrf-k", "9"), "--rrf-k: it belongs to --method rrf"),
        (("--norm", "max"), "reads ranks"),
        (("--rrf-k", "-1"), "k = -1"),
        (("-k", "0"), "-k 0"),
        (("--name", "two words"), "run tag"),
        (("--out", "first.trec"), "one of the runs that are fused"),
    ],
)
def test_wrong_usage_is_one_line_that_names_it(
    sira: Sira,
    runs: tuple[Path, Path],
    tmp_path: Path,
    more: tuple[str, ...],
    named: str,
) -> None:
    done = sira("fuse", *runs, *(() if "--out" in more else ("--out", "out.trec")), *more)
    assert done.status == 2
    assert named in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "out.trec").exists()
    assert runs[0].read_text(encoding="utf-8") == FIRST


def test_one_run_and_a_damaged_run_are_refused(sira: Sira, runs: tuple[Path, Path], tmp_path: Path) -> None:
    alone = sira("fuse", runs[0], "--out", tmp_path / "out.trec")
    assert (alone.status, "fusion of 1 run(s): give two or more" in alone.err) == (2, True)
    runs[1].write_text("t1 Q0 d1 1 high dense\n", encoding="utf-8")
    damaged = sira("fuse", *runs, "--out", tmp_path / "out.trec")
    assert (damaged.status, f"{runs[1]}, line 1: the score 'high' is no finite number" in damaged.err) == (2, True)


def test_the_choices_are_those_of_the_library() -> None:
    assert get_args(Method) == fuse.METHODS
    assert get_args(Norm) == fuse.NORMS
    assert inspect.signature(fuse_runs).parameters["method"].default == "rrf"

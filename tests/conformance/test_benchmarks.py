"""Pi-Serini's cases on benchmarks and tuning (49, 51, 52, 54, 55), and where ours is another on purpose."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from sira.agent.benchmark_files import find_benchmark, read_benchmark
from sira.agent.benchmark_inputs import Inputs, Labels
from sira.cli.benchmark_retrieval import trec_name
from sira.cli.main import main
from sira.errors import InputError, NotFoundError
from sira.evaluate.tune_space import Space, parse_parameter

SHIPPED = Path(__file__).parents[2] / "eval_configs" / "agent"
EXAMPLE = SHIPPED / "own.toml"


@pytest.mark.java
def test_49_a_line_of_figures_is_metric_scope_and_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours calls no Java tool for figures, so there is no command line to order; the lines are trec_eval's."""
    pytest.importorskip("ranx")
    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))
    assert main(["benchmark", str(EXAMPLE), "--retrieval-only", "--watch", "off", "--out", str(tmp_path / "run")]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(metric, scope) for metric, scope, _ in rows] == [
        ("ndcg_cut_10", "all"),
        ("recall_10", "all"),
        ("recall_100", "all"),
    ]
    assert all(len(value.split(".")[1]) == 4 and 0 <= float(value) <= 1 for _, _, value in rows)
    assert (trec_name("MRR@10"), trec_name("MAP")) == ("recip_rank_10", "map")
    summary = json.loads((tmp_path / "run" / "retrieval.json").read_text())
    assert [(row["metric"], row["scope"], f"{row['value']:.4f}") for row in summary["metrics"]] == [
        tuple(row) for row in rows
    ]


@pytest.mark.parametrize("name", ["browsecomp-plus", "browsecomp_plus", "browsecompplus"])
def test_51_aliases_name_the_benchmark(name: str) -> None:
    assert find_benchmark(name, SHIPPED).table.id == "browsecomp-plus"


def test_51_an_unknown_benchmark_lists_those_that_there_are() -> None:
    with pytest.raises(NotFoundError) as error:
        find_benchmark("browsecomp", SHIPPED)
    for path in SHIPPED.glob("*.toml"):
        assert path.stem in str(error.value)


def test_52_the_manifest_has_sha256_and_bytes_and_tells_of_an_absent_file(tmp_path: Path) -> None:
    inputs = Inputs.of(read_benchmark(EXAMPLE), None)
    labels = inputs.labels(Labels(secondary_qrels=tmp_path / "gone.txt"))
    hashes = inputs.manifest(labels, inputs.file.table.setup(), "index", tmp_path)["input_hashes"]
    assert set(hashes) == {"query", "qrels", "secondary_qrels", "ground_truth"}
    queries = inputs.query_path
    assert queries is not None
    wanted = {"sha256": hashlib.sha256(queries.read_bytes()).hexdigest(), "bytes": queries.stat().st_size}
    assert hashes["query"] == {"exists": True, "algorithm": "sha256", **wanted}
    assert hashes["secondary_qrels"] == {"exists": False, "algorithm": "sha256"}


def test_54_a_grid_is_listed_up_to_100() -> None:
    k1 = parse_parameter("k1=0.9,2,5,12,25,50,100")
    assert k1.values == (0.9, 2.0, 5.0, 12.0, 25.0, 50.0, 100.0)
    space = Space((k1, parse_parameter("b=1,0.5")), (0.9, 0.4))
    assert space.parameters[1].values == (0.5, 1.0)
    axes, points = space.finer(space.axes(), (25.0, 1.0))
    assert all(12 < value < 50 for value in axes[0])
    assert all(0.5 < point[1] <= 1 for point in points)
    assert space.at_border((100.0, 0.5)) == ("k1",)


def test_54_ranges_have_both_ends_and_a_value_counts_once() -> None:
    assert parse_parameter("b=0.3:0.5:0.1").values == (0.3, 0.4, 0.5)
    assert parse_parameter("b=1,1,0.5").values == (0.5, 1.0)
    assert parse_parameter("k1=5:5:1").values == (5.0,)


@pytest.mark.parametrize(
    "text", ["k1=0.5:0.3:0.1", "k1=1:2:0", "k1=1:2:-1", "k1=1:2", "k1=0:1e9:0.001", "k1=nan", "k1=inf", "k1=x", "k1="]
)
def test_54_what_is_no_grid_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="k1"):
        parse_parameter(text)


def test_55_without_the_canary_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BROWSECOMP_PLUS", str(tmp_path / "data"))
    monkeypatch.delenv("BROWSECOMP_PLUS_CANARY", raising=False)
    for value in (None, "", "  "):
        if value is not None:
            monkeypatch.setenv("BROWSECOMP_PLUS_CANARY", value)
        assert main(["benchmark", str(SHIPPED / "browsecomp-plus.toml"), "--prepare", str(tmp_path / "clear")]) == 2
        said = capsys.readouterr()
        assert "BROWSECOMP_PLUS_CANARY is not set: put the public canary" in said.err
        assert said.out == ""
    assert list(tmp_path.iterdir()) == []

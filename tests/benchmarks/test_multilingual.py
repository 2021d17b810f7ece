"""Analyzers side by side, on values that are known."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from benchmarks.multilingual import read_results
from sira.errors import InputError

VALUES = {"zh-chinese": (1.0, 1.0, 0.5), "zh-standard": (0.5, 1.0, 0.5), "en": (1.0, 1.0, 1.0)}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    collections = [
        {"name": "zh-chinese", "source": "beir:data/zh", "analyzer": "chinese"},
        {"name": "en", "source": "beir:data/en", "analyzer": "english"},
        {"name": "zh-standard", "source": "beir:data/zh", "analyzer": "standard"},
    ]
    (tmp_path / "config.json").write_text(json.dumps({"experiment": {"collections": collections}}), "utf-8")
    with (tmp_path / "per_query.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["collection", "system", "measure", "qid", "value"])
        for name, values in VALUES.items():
            for number, value in enumerate(values):
                writer.writerow([name, "bm25", "nDCG@10", f"q{number}", value])
                writer.writerow([name, "rm3", "nDCG@10", f"q{number}", 0.0])
    return tmp_path


def test_analyzers_of_one_source_are_compared_with_the_first(results: Path) -> None:
    (source,) = read_results(results, "nDCG@10", "bm25")  # the source that stands once has nothing to compare
    assert source.name == "zh"
    first, second = source.rows("nDCG@10")
    assert (first["analyzer"], second["analyzer"]) == ("chinese", "standard")
    assert str(first["nDCG@10"]).startswith("0.8333 ")
    assert str(second["against the first, nDCG@10"]).startswith("-0.167 ")
    assert second["win / tie / loss"] == "0 / 2 / 1"


def test_what_is_not_there_is_named(results: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'both'"):
        read_results(results, "nDCG@10", "both")
    with pytest.raises(InputError, match="Recall@10"):
        read_results(results, "Recall@10", "bm25")
    with pytest.raises(InputError, match="sira run"):
        read_results(tmp_path / "absent", "nDCG@10", "bm25")

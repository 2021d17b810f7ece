"""Main effects of a factorial, on cells whose effects are known."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ablation import Factorial, Levels, effects, read_results
from sira.errors import InputError

GAINS = {"expanded": 0.1, "yes": 0.2, "soft": 0.03, "1": -0.04, "sum": -0.05}


def cells() -> dict[Levels, dict[str, float]]:
    """Every combination that differs; each level adds its gain, on topic t2 after a start of 0.3."""
    found: dict[Levels, dict[str, float]] = {}
    for levels in product(("plain", "expanded"), ("no", "yes"), ("window", "soft"), ("0.5", "1"), ("bm25f", "sum")):
        documents, sketches, gate, share, combine = levels
        key = (
            documents,
            sketches,
            gate if sketches == "yes" else "-",
            share if sketches == "yes" else "-",
            combine if documents == "expanded" else "-",
        )
        gain = sum(GAINS.get(level, 0.0) for level in key)
        found[key] = {"t1": gain, "t2": 0.3 + gain}
    return found


def test_an_effect_is_the_gain_of_its_level_over_all_combinations_in_which_it_counts() -> None:
    factorial = Factorial("toy", cells())
    for factor, level, against, expected in (
        ("gate", "soft", "window", 0.03),
        ("lambda", "1", "0.5", -0.04),
        ("combine", "sum", "bm25f", -0.05),
        ("documents", "expanded", "plain", 0.1 - 0.05 / 2),  # half of the expanded systems use sum
        ("sketches", "yes", "no", 0.2 + 0.03 / 2 - 0.04 / 2),
    ):
        high, low = factorial.effect(factor, level, against)
        assert [high[qid] - low[qid] for qid in ("t1", "t2")] == pytest.approx([expected, expected])


def test_the_rows_name_every_pair_of_levels_and_both_sides_of_documents_and_sketches() -> None:
    named = {str(row["effect"]): str(row["difference"]) for row in effects(Factorial("toy", cells()))}
    assert list(named) == [
        "documents: expanded against plain",
        "sketches: yes against no",
        "gate: soft against window",
        "lambda: 1 against 0.5",
        "combine: sum against bm25f",
        "documents: expanded against plain, where sketches = no",
        "documents: expanded against plain, where sketches = yes",
        "sketches: yes against no, where documents = plain",
        "sketches: yes against no, where documents = expanded",
    ]
    assert named["gate: soft against window"] == "+0.0300 [+0.0300, +0.0300]"


def test_a_combination_that_was_not_run_is_named() -> None:
    incomplete = cells()
    del incomplete["plain", "yes", "soft", "1", "-"]
    with pytest.raises(InputError, match="toy: no system has documents plain, sketches yes, gate soft, lambda 1"):
        Factorial("toy", incomplete).effect("gate", "soft", "window")


def results(folder: Path, systems: list[dict[str, Any]]) -> Path:
    (folder / "config.json").write_text(json.dumps({"experiment": {"systems": systems}}), encoding="utf-8")
    lines = ["collection,system,measure,qid,value"]
    lines += [f"toy,{system['name']},nDCG@10,t1,0.5" for system in systems]
    (folder / "per_query.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def system(name: str, **settings: Any) -> dict[str, Any]:
    usual = {"documents": "plain", "sketches": None, "query_gate": "window", "sketch_weight": 0.5, "combine": "bm25f"}
    return {"name": name, **usual, **settings}


def test_levels_are_read_from_the_settings_of_a_results_folder(tmp_path: Path) -> None:
    folder = results(tmp_path, [system("a"), system("b", documents="expanded", sketches="recorded", combine="sum")])
    (factorial,) = read_results(folder, "nDCG@10")
    assert factorial.cells == {
        ("plain", "no", "-", "-", "-"): {"t1": 0.5},
        ("expanded", "yes", "window", "0.5", "sum"): {"t1": 0.5},
    }
    with pytest.raises(InputError, match="has no values of MAP"):
        read_results(folder, "MAP")


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"config\.json: is missing"):
        read_results(tmp_path, "nDCG@10")

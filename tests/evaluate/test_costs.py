"""Price, expansion hit rate and pages beside the quality."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from sira.evaluate.config import read_experiment
from sira.evaluate.pricing import Amount, added, spent_at
from sira.evaluate.runner import run_experiment
from sira.llm import Usage
from sira.llm.settings import Price
from tests.cli.conftest import write_rows
from tests.evaluate.pots import BM25, BOTH, HEAD, RRF, cell, collections, stamps

TEXTS = '\n[[systems]]\nname = "texts"\nkind = "query2doc-zs"\nreplies = "texts.jsonl"\n'
SEVERAL = BOTH.replace('"both"', '"several"') + 'mode = "several"\nbudget = { max_pages = 3, max_searches = 2 }\n'


def price(**told: float) -> Price:
    return Price.model_validate({"date": "2026-01-01", **told})


def costs(out: Path, system: str) -> dict[str, str]:
    with (out / "tables" / "costs.csv").open(encoding="utf-8", newline="") as stream:
        return next(row for row in csv.DictReader(stream) if row["system"] == system)


def test_amounts_add_up_as_far_as_they_are_known() -> None:
    assert added([]) == Amount()
    assert added([Amount(1.0, "USD"), Amount(), Amount(2.0, "USD")]) == Amount(3.0, "USD")
    assert added([Amount(1.0, "USD"), None]) is None
    assert added([Amount(1.0, "USD"), Amount(1.0, "EUR")]) is None
    usage = Usage(1000, 100, 500)
    assert spent_at(usage, price(input_per_million=10, output_per_million=100)) == Amount(0.02, "USD")
    assert spent_at(usage, price(input_per_million=10, cached_input_per_million=1)) == Amount(0.0055, "USD")
    assert spent_at(usage, price(gpu_hour=2)) is None  # what a call costs of an hour is not known
    assert spent_at(usage, None) is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tables = collections(tmp_path, 1)
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    model = {"backend": "openai", "model": "gpt-4.1"}
    data = tmp_path / "c0" / "sketches.jsonl"
    rows = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    told = [{**row, "usage": usage, "provenance": {"model": model}} for row in rows]
    told[0]["searches"] = [{"phrases": ["celadon"]}, {"phrases": ["raku"]}]
    write_rows(data, told)
    write_rows(tmp_path / "texts.jsonl", [{"qid": "t0", "text": "kiln", "usage": usage, "model": "gpt-4.1-mini"}])
    (tmp_path / "e.toml").write_text(HEAD + tables + BM25 + BOTH + RRF + TEXTS, encoding="utf-8")
    return tmp_path


@pytest.mark.java
def test_the_price_is_that_of_the_model_the_replies_name(folder: Path) -> None:
    out = folder / "out"
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    # gpt-4.1: 2 and 8 USD a million tokens; of gpt-4.1-mini a fifth, for one topic of five.
    both = 1000 * 2e-6 + 100 * 8e-6
    found = {name: costs(out, name) for name in ("bm25", "both", "rrf", "texts")}
    prices = {name: float(row["price_per_query"]) for name, row in found.items()}
    assert prices == pytest.approx({"bm25": 0, "both": both, "rrf": both, "texts": both / 25})
    assert {name: row["currency"] for name, row in found.items()} == {
        "bm25": "", "both": "USD", "rrf": "USD", "texts": "USD"
    }  # fmt: skip
    entries = json.loads((out / "results.json").read_text(encoding="utf-8"))
    priced = [entry for entry in entries if entry["metric"] == "price_per_query"]
    assert {entry["system"]: entry["currency"] for entry in priced}["both"] == "USD"
    assert cell(out, "c0", "both")["spent"]["own"]["prompt_tokens"] == 5000
    assert cell(out, "c0", "rrf")["spent"] == {}
    assert "price a query (USD)" in (out / "report.md").read_text(encoding="utf-8")
    lines = (out / "tables" / "costs.tex").read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.endswith(f"% runs/c0/both.trec {found['both']['cell'][:12]}")]
    head = next(line for line in lines if line.startswith("system & "))
    cells = dict(zip(head.split(" & "), row.split(" & "), strict=False))
    assert (cells["tokens in"], cells["price a query (USD)"]) == ("1000", "0.0028")
    assert "nDCG@10 against USD a query" in (out / "report.html").read_text(encoding="utf-8")
    # Another price, or none, redoes no cell; it is no part of the fingerprint.
    before = stamps(out)
    (folder / "e.toml").write_text((folder / "e.toml").read_text("utf-8").replace(TEXTS, ""), encoding="utf-8")
    rows = (folder / "c0" / "sketches.jsonl").read_text(encoding="utf-8")
    (folder / "c0" / "sketches.jsonl").write_text(rows.replace("gpt-4.1", "nobody's"), encoding="utf-8")
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    assert {name: stamps(out)[name] for name in before} == before
    assert (costs(out, "both")["price_per_query"], costs(out, "rrf")["price_per_query"]) == ("", "")
    assert "USD a query" not in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.java
def test_the_hit_rate_counts_proposed_clauses_that_a_relevant_document_holds(folder: Path) -> None:
    out = folder / "out"
    gate = 'query_gate = "off"\n'
    text = (folder / "e.toml").read_text(encoding="utf-8").replace(BOTH, BOTH + gate)
    (folder / "e.toml").write_text(text, encoding="utf-8")
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    told = {}
    for system in ("bm25", "both", "texts", "rrf"):
        told[system] = json.loads((out / "runs" / "c0" / f"{system}.hits.json").read_text(encoding="utf-8"))
    # A sketch has the word of the relevant document, one of another, and one of none, of which no clause is made.
    programs = [json.loads(line) for line in (out / "runs/c0/both.programs.jsonl").read_text("utf-8").splitlines()]
    proposed = [(p["qid"], c["term"]) for p in programs for c in p["clauses"] if c["source"] is not None]
    held = [(qid, term) for qid, term in proposed if qid[1:] in "01234" and term == stem(folder, qid)]
    assert (told["both"]["proposed"], told["both"]["held"]) == (len(proposed), len(held))
    assert 0 < len(held) < len(proposed)
    assert (told["bm25"]["proposed"], told["rrf"]["proposed"]) == (0, 0)
    assert (told["texts"]["proposed"], told["texts"]["held"]) == (1, 1)
    assert float(costs(out, "both")["expansion_hit_rate"]) == len(held) / len(proposed)
    assert costs(out, "bm25")["expansion_hit_rate"] == ""
    assert "expansion hit rate" in (out / "report.md").read_text(encoding="utf-8")
    # Other judgments count anew and search nothing again.
    before = stamps(out)
    (folder / "c0" / "qrels" / "test.tsv").write_text("".join(f"t{i}\td7\t1\n" for i in range(5)), encoding="utf-8")
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    assert stamps(out) == before
    assert costs(out, "texts")["expansion_hit_rate"] == "0.0"


def stem(folder: Path, qid: str) -> str:
    """The word of the relevant document of a topic, as the index has it."""
    rows = (json.loads(line) for line in (folder / "c0" / "sketches.jsonl").read_text("utf-8").splitlines())
    word = next(row["phrases"][0] for row in rows if row["qid"] == qid)
    return "clai" if word == "clay" else str(word)


@pytest.mark.java
def test_pages_are_counted_with_their_budget(folder: Path) -> None:
    out = folder / "out"
    text = (folder / "e.toml").read_text(encoding="utf-8") + SEVERAL + 'query_gate = "off"\n'
    (folder / "e.toml").write_text(text, encoding="utf-8")
    run_experiment(read_experiment(folder / "e.toml"), out, progress=False)
    pages = cell(out, "c0", "several")["how"]["pages"]
    assert (pages["topics"], pages["over_budget"]) == (5, 1)  # the first topic proposes one search too many
    row = costs(out, "several")
    assert float(row["pages_delivered_per_query"]) == pages["delivered"] / 5 <= 3
    assert float(row["pages_found_per_query"]) == pages["found"] / 5
    assert pages["found"] > pages["delivered"]
    assert costs(out, "both")["pages_found_per_query"] == ""
    report = (out / "report.md").read_text(encoding="utf-8")
    assert f"3 of {pages['found'] / 5:.4g} (budget 3, 1 searches not run)" in report

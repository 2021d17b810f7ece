"""Small collections about pots for whole experiments: a topic's sketch names the document that is right."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cli.conftest import write_rows

WORDS = ("kiln", "glaze", "clay", "raku", "slip", "celadon", "ash", "cone")
HEAD = 'name = "pots"\nbaseline = "bm25"\ndepth = 20\nmeasures = ["nDCG@10", "MRR@10"]\n'
BM25 = '\n[[systems]]\nname = "bm25"\nkind = "bm25"\n'
BOTH = '\n[[systems]]\nname = "both"\nkind = "sira"\ndocuments = "expanded"\nsketches = "mine"\n'
RRF = '\n[[systems]]\nname = "rrf"\nkind = "fusion"\nof = ["bm25", "both"]\n'


def collections(folder: Path, count: int = 2, development: int = 0) -> str:
    """Writes c0, c1 ... with 5, 6 ... topics, and returns their tables; so many of the first are for development."""
    return "".join(_collection(folder, number, number < development) for number in range(count))


def _collection(folder: Path, number: int, development: bool) -> str:
    data = folder / f"c{number}"
    (data / "qrels").mkdir(parents=True)
    documents = [
        {"_id": f"d{i}", "text": f"{word} number {i} of {WORDS[(i + number) % 8]}"} for i, word in enumerate(WORDS)
    ]
    qids = range(5 + number)
    write_rows(data / "corpus.jsonl", documents)
    write_rows(
        data / "queries.jsonl",
        [{"_id": f"t{i}", "text": f"number of hidden{i} {WORDS[(i + 2) % 8]}"} for i in qids],
    )
    write_rows(
        data / "sketches.jsonl",
        [{"qid": f"t{i}", "phrases": [WORDS[i], WORDS[(i + 3) % 8], "unheard"]} for i in qids],
    )
    write_rows(data / "phrases.jsonl", [{"docid": f"d{i}", "phrases": [f"hidden{i}"]} for i in range(8)])
    split = "dev" if development else "test"
    (data / "qrels" / f"{split}.tsv").write_text("".join(f"t{i}\td{i}\t1\n" for i in qids), encoding="utf-8")
    mark = "development = true\n" if development else ""
    return (
        f'\n[[collections]]\nname = "c{number}"\nsource = "beir:c{number}"\nexpansions = "c{number}/phrases.jsonl"\n'
        f'{mark}[collections.sketches]\nmine = "c{number}/sketches.jsonl"\n'
    )


def values(out: Path) -> dict[tuple[str, str, str], float]:
    """The figures of results.json by collection, system and metric, without times."""
    entries = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return {
        (entry["collection"], entry["system"], entry["metric"]): entry["value"]
        for entry in entries
        if not entry["metric"].startswith("ms_")
    }


def stamps(out: Path) -> dict[str, int]:
    """When the run of each cell was written."""
    return {str(path.relative_to(out / "runs")): path.stat().st_mtime_ns for path in out.glob("runs/*/*.trec")}


def cell(out: Path, collection: str, system: str) -> Mapping[str, Any]:
    return json.loads((out / "runs" / collection / f"{system}.json").read_text(encoding="utf-8"))

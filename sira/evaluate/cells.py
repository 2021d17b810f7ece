"""The cells of an experiment: one collection under one system, finished on disk before the next begins.

A cell is done when its JSON file is there. It carries the fingerprint of everything that decides its ranking, and the
hashes of the files it wrote. So a killed run goes on with the first cell that is missing, a changed setting redoes just
the cells it touches, and a damaged file is not taken for a result.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sira.corpora.files import replacing
from sira.corpora.trec import read_run
from sira.evaluate.fingerprint import file_digest
from sira.evaluate.inputs import Inputs
from sira.records import Ranking, Run

SUFFIXES = (".trec", ".scores.f32", ".programs.jsonl", ".notes.jsonl")
"""The files of a cell, beside its JSON; that of notes only where there is something to tell."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What is stored of one cell beside its run. Times in milliseconds a topic, taken in `session` while `jobs`
    collections were at work; `how` counts how the topics were answered (sira.systems.Tally). Calls, tokens (`usage`)
    and searches of a fused system are those of its parts, `index_bytes` those of the largest index of them; `untold`
    says that some of its calls have no known tokens.
    `spent` has calls and tokens by what they were for, those of parts not among them: `own`, the system's sketches or
    texts, and `rerank`. `unsketched` topics have no sketch or text, or one that holds nothing; `left_out` tells of what
    its run or store has that is not of the collection. A cell with `unanswered` calls, which asking the model again may
    mend, is done anew by the next run."""

    collection: str
    system: str
    fingerprint: str
    files: dict[str, str]
    topics: int
    zero_results: int
    unsketched: int
    self_hits: int
    llm_calls: int
    usage: dict[str, int]
    untold: bool
    spent: dict[str, dict[str, int]]
    searches: int
    compile_ms: list[float]
    search_ms: list[float]
    index: str
    index_bytes: int
    plain_bytes: int
    session: str
    jobs: int
    how: dict[str, Any]
    left_out: list[str]
    unanswered: int


def write_cell(cell: Cell, out: Path) -> None:
    """Makes the cell a finished one."""
    with replacing(marker_of(out, cell.collection, cell.system)) as stream:
        json.dump(asdict(cell), stream)


def known_cell(out: Path, collection: str, system: str, fingerprint: str) -> Cell | None:
    """The finished cell, if it is of this fingerprint and its files are as they were written; one with unanswered calls
    among them."""
    marker = marker_of(out, collection, system)
    try:
        data = json.loads(marker.read_text(encoding="utf-8"))
        cell = Cell(**data)
        if cell.fingerprint != fingerprint:
            return None
        whole = all(file_digest(marker.with_name(name)) == known for name, known in cell.files.items())
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return cell if whole else None


def marker_of(out: Path, collection: str, system: str) -> Path:
    """The file that makes a cell a finished one."""
    return out / "runs" / collection / f"{system}.json"


def stored_run(out: Path, cell: Cell, inputs: Inputs) -> Run:
    """The run of a finished cell with its true scores: in a run file's strictly decreasing ones no tie is left.

    A judged topic without hits has an empty ranking: it was searched, not forgotten.
    """
    folder = out / "runs" / cell.collection
    run = read_run(folder / f"{cell.system}.trec", cell.system)
    scores = np.fromfile(folder / f"{cell.system}.scores.f32", np.float32).tolist()
    rankings: dict[str, Ranking] = {}
    at = 0
    for qid, ranking in run.rankings.items():
        rankings[qid] = Ranking(ranking.docids, tuple(scores[at : at + len(ranking)]))
        at += len(ranking)
    return Run(run.name, {topic.qid: rankings.get(topic.qid, Ranking()) for topic in inputs.topics})

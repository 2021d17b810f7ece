"""The expansion hit rate: of the clauses that a model or a first search proposed and that were searched, the share that
some relevant document of the topic holds.

A word that no relevant document holds can only have found others. It is counted after the search, on the index that was
searched, from the programs that are stored, and kept beside the cell with what it was counted from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

from sira.corpora.files import replacing
from sira.evaluate.cells import Cell
from sira.evaluate.fingerprint import digest
from sira.lucene.reader import Index
from sira.program import Clause, Program, Scoring, program_from_json
from sira.records import Qrels
from sira.search.explanation.probing import scores, scores_of


@dataclass(frozen=True, slots=True)
class Hits:
    """Over all topics that have a relevant document in the index: proposed clauses that were searched, and of them
    those that a relevant document holds, in `contents` or in `expansion`."""

    proposed: int
    held: int

    @property
    def rate(self) -> float | None:
        return self.held / self.proposed if self.proposed else None


def count_hits(cell: Cell, qrels: Qrels, out: Path, *, progress: bool = True) -> Hits:
    """The hits of a finished cell: those that are kept if they were counted from the same, else counted and kept.

    Raises IndexFault where the index is gone.
    """
    if (known := stored_hits(cell, qrels, out)) is not None:
        return known
    programs = [program for program in _programs(cell, out) if any(map(_proposed, program.clauses))]
    found = Hits(0, 0)
    if programs:
        with Index(out / "indexes" / cell.index) as index:
            found = _count(index, tqdm(programs, f"hits of {cell.system}", disable=not progress, leave=False), qrels)
    with replacing(_path(cell, out)) as stream:
        json.dump({"key": _key(cell, qrels), **asdict(found)}, stream)
    return found


def stored_hits(cell: Cell, qrels: Qrels, out: Path) -> Hits | None:
    """The hits that are kept; None where there are none, or of another run or other judgments."""
    try:
        data = json.loads(_path(cell, out).read_text(encoding="utf-8"))
        return Hits(data["proposed"], data["held"]) if data["key"] == _key(cell, qrels) else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _count(index: Index, programs: Iterable[Program], qrels: Qrels) -> Hits:
    relevant = {qid: [docid for docid, grade in judged.items() if grade >= 1] for qid, judged in qrels.items()}
    docids = list(dict.fromkeys(docid for found in relevant.values() for docid in found))
    there = {docid for docid, found in zip(docids, index.id_df(docids), strict=True) if found}
    proposed = held = 0
    for program in programs:
        known = [docid for docid in relevant.get(program.qid, ()) if docid in there]
        waiting = [clause for clause in program.clauses if _proposed(clause)]
        if not known:
            continue
        proposed += len(waiting)
        for docid in known:
            parts = scores_of(index, Scoring(), waiting, docid)
            missed = [clause for clause, score in zip(waiting, parts, strict=True) if score <= 0]
            held += len(waiting) - len(missed)
            waiting = missed
            if not waiting:
                break
    return Hits(proposed, held)


def _proposed(clause: Clause) -> bool:
    """Whether it may add to a score and is not of the topic's own words."""
    return clause.source is not None and scores(clause)


def _programs(cell: Cell, out: Path) -> Iterator[Program]:
    path = _path(cell, out).with_name(f"{cell.system}.programs.jsonl")
    with path.open(encoding="utf-8") as lines:
        yield from (program_from_json(json.loads(line)) for line in lines)


def _path(cell: Cell, out: Path) -> Path:
    return out / "runs" / cell.collection / f"{cell.system}.hits.json"


def _key(cell: Cell, qrels: Mapping[str, Mapping[str, int]]) -> str:
    relevant = {qid: sorted(docid for docid, grade in judged.items() if grade >= 1) for qid, judged in qrels.items()}
    return digest([cell.files.get(f"{cell.system}.programs.jsonl"), cell.index, relevant])

"""What is left to do of a shard: its documents against the rows that are there, joined by docid."""

from __future__ import annotations

from dataclasses import dataclass

from sira.errors import InputError
from sira.expand.arrays import Mask, count, find, first_true, where
from sira.expand.shard import Scan, ShardFile
from sira.expand.survey import Survey

MANY_REMOVED = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """`todo` marks the records of the survey without a row; `scan` holds the rows that stay."""

    todo: Mask
    scan: Scan
    removed: int
    changed: int
    damaged: int


def plan_shard(found: Survey, scan: Scan, file: ShardFile, *, update: bool) -> Plan:
    """Join documents and rows.

    Raises InputError for rows whose document has changed, and where more than half of the rows (and over ten)
    have no document any more, which looks like a wrong corpus; `update` accepts both.
    """
    firsts = where(found.first)
    place = find(scan.hashes, found.order)
    gone = place < 0
    position = firsts[place] if len(firsts) else place  # -1 gives a wrong one, which `gone` hides
    changed = ~gone
    changed[changed] = found.documents[position[changed]] != scan.documents[changed]
    removed, altered = count(gone), count(changed)
    if altered and not update:
        raise InputError(
            f"{file.final.parent}: the text of {altered} documents has changed since their rows were written "
            f"(first: {file.docid(scan, first_true(changed))!r}): --update redoes them"
        )
    if removed > max(MANY_REMOVED, len(scan.hashes) // 2) and not update:
        raise InputError(
            f"{file.final.parent}: {removed} of {len(scan.hashes)} rows are of documents that the corpus does not hold "
            f"(first: {file.docid(scan, first_true(gone))!r}): is it the right corpus? --update removes them"
        )
    todo = found.first.copy()
    todo[position[~gone & ~changed]] = False
    return Plan(todo, scan.without(gone | changed), removed, altered, scan.damaged)

"""What compile_sketch and explain answer: texts for a model, and the numbers beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sira.agent.arguments import shown
from sira.agent.base import ToolResult
from sira.agent.rendering import call_text, safe_docid
from sira.agent.settings import ToolSettings
from sira.program import Program
from sira.programtext import program_to_text
from sira.records import Verdict
from sira.search.explanation import SearchExplanation
from sira.search.explanation.lines import (
    clipped,
    counted,
    df_cells,
    kept_out_lines,
    move_text,
    outcome_text,
    scoring_line,
    standing_text,
    verdicts_line,
    why_empty,
)
from sira.search.explanation.values import ExplainedHit, MissedDocument, Part
from sira.serve.mcp.paging import LinePage, line_page

COMPILE, EXPLAIN = "compile_sketch", "explain"
SHOWN_PARTS = 8
"""Contributions of a hit that stand in its line; the rest is added up."""
NAME_CHARACTERS = 80
HEAD_BYTES = 4_000
"""Of a page, for its head and its hint."""


class Wanted(NamedTuple):
    """A page: `limit` lines or ranks from `offset`; `call` is what to write again for the next one."""

    offset: int
    limit: int
    call: dict[str, Any]


def compiled(program: Program, documents: int, settings: ToolSettings, wanted: Wanted) -> ToolResult:
    """The program, and a page of its clauses and of the verdicts."""
    text = program_line(program, settings)
    lines = [*_clause_lines(program, documents), "", *_verdict_lines(program, documents)]
    head = [f"Program: {text}", f"{counted(len(program.clauses), 'clause')}; {verdicts_line(program)}", ""]
    room = settings.max_bytes - HEAD_BYTES - len("\n".join(head).encode())
    page = line_page(lines, wanted.offset, wanted.limit, max(room, 1))
    again = {**wanted.call, "offset": page.next_offset, "limit": wanted.limit}
    details = {
        "program": text,
        "clauses": len(program.clauses),
        "proposed": len(program.verdicts),
        "verdicts": dict(_counts(program.verdicts)),
        "totalLines": page.total,
        "returnedOffsetStart": page.first,
        "returnedOffsetEnd": page.last,
        "nextOffset": page.next_offset,
    }
    return ToolResult("\n".join([*head, *_with_hint(page, wanted.offset, COMPILE, again)]), details)


def explained(found: SearchExplanation, settings: ToolSettings, wanted: Wanted, deepest: int) -> ToolResult:
    """The hits of a page down to rank `deepest`, and on the first page what was lost; what was asked for on each."""
    offset, limit, call = wanted
    text = program_line(found.program, settings)
    head = [f"Program: {text}", f"{counted(found.documents, 'document')}; {scoring_line(found.program)}", ""]
    size, room = len("\n".join(head).encode()), max(settings.max_bytes - HEAD_BYTES, 1)
    lines: list[str] = []
    last = 0
    for hit in found.hits[offset - 1 :]:
        block = _hit_lines(hit, found)
        size += sum(len(line.encode()) + 1 for line in block)
        if lines and size > room:
            break
        lines += block
        last = hit.rank
    if not found.hits:
        lines.append(why_empty(found.program))
    elif not last:
        lines.append(f"There is no hit of rank {offset}: begin at 1 to {len(found.hits)}.")
    deeper = last == offset + limit - 1 and len(found.hits) == found.k
    next_offset = last + 1 if last and (last < len(found.hits) or deeper) and last < deepest else None
    if last and last == deepest:
        lines.append(f"[Rank {deepest} is the last one that is explained]")
    left_out: list[str] = []
    for block in _beside(found, first=offset == 1):
        size += sum(len(line.encode()) + 1 for line in block)
        if size > settings.max_bytes:
            left_out = ["[No room for what else was asked: name fewer docids, or a smaller limit]"]
            break
        lines += block
    lines += left_out
    if next_offset is not None:
        again = {**call, "offset": next_offset, "limit": limit}
        lines.append(f"[Continue with {call_text(EXPLAIN, again)}]")
    hits = [hit for hit in found.hits if offset <= hit.rank <= last]
    details = {
        "program": text,
        "documents": found.documents,
        "hits": [
            {"docid": hit.docid, "rank": hit.rank, "score": hit.score, "plain_rank": hit.plain.rank, "move": hit.move}
            for hit in hits
        ],
        "lost": [{"docid": item.docid, "plain_rank": item.plain.rank} for item in found.lost] if offset == 1 else [],
        "missed": [
            {"docid": item.docid, "found": item.found, "rank": item.standing.rank, "score": item.score}
            for item in found.missed
        ],
        "nextOffset": next_offset,
    }
    return ToolResult("\n".join([*head, *lines]), details)


def program_line(program: Program, settings: ToolSettings) -> str:
    """The program in one line, as search takes it; with its scoring, unless that is the session's."""
    lines = program_to_text(Program("", program.clauses, program.scoring)).splitlines()
    usual = program.scoring == settings.scoring
    kept = [line for line in lines if not line.startswith("@") or (line.startswith("@scoring") and not usual)]
    # A directive ends with its line.
    return " ".join(kept) if usual else "\n".join(["@program 1", *kept])


def _clause_lines(program: Program, documents: int) -> list[str]:
    lines = ["Clauses:"]
    for clause in program.clauses:
        df = ", ".join(part for part in df_cells(clause.df, documents) if part)
        source = "query" if clause.source is None else f"from {shown(clause.source)}"
        lines.append(f"  {clause.label}  {clause.occur}, weight {clause.weight:g}, df {df or 'not known'}, {source}")
    return lines if program.clauses else ["No clause: the program finds nothing."]


def _verdict_lines(program: Program, documents: int) -> list[str]:
    if not program.verdicts:
        return ["No sketch: nothing was proposed."]
    lines = ["Verdicts:"]
    for item in program.verdicts:
        df = "" if item.df is None else f", df {', '.join(part for part in df_cells(item.df, documents) if part)}"
        lines.append(f"  {outcome_text(item)}: {shown(item.phrase)} as {shown(item.term)}{df}")
    return lines


def _counts(verdicts: Sequence[Verdict]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for item in verdicts:
        counts[item.outcome.value] = counts.get(item.outcome.value, 0) + 1
    return sorted(counts.items())


def _with_hint(page: LinePage, offset: int, tool: str, again: dict[str, Any]) -> list[str]:
    if page.next_offset is not None:
        return [page.text, "", f"[Continue with {call_text(tool, again)}]"]
    return [page.text] if page.first else [f"There is no line {offset}: begin at 1 to {page.total}."]


def _hit_lines(hit: ExplainedHit, found: SearchExplanation) -> list[str]:
    title = clipped("".join(piece.text for piece in hit.title), NAME_CHARACTERS)
    lines = [f"{hit.rank}. docid={safe_docid(hit.docid)} score={hit.score:.4f}, plain BM25: {move_text(hit)}"]
    lines += [f"   Title: {title}"] if title else []
    lines += [f"   Parts: {_sum(hit.parts, found)}"] if hit.parts else []
    for passage in hit.passages:
        marked = "".join(f"**{piece.text}**" if piece.clauses else piece.text for piece in passage)
        lines.append(f"   Passage: {marked}")
    return [*lines, ""]


def _sum(parts: Sequence[Part], found: SearchExplanation) -> str:
    clauses = found.program.clauses
    told = [f"{part.score:.4f} {clauses[part.clause].label} ({part.held})" for part in parts[:SHOWN_PARTS]]
    if rest := parts[SHOWN_PARTS:]:
        told.append(f"{sum(part.score for part in rest):.4f} of {len(rest)} more")
    return " + ".join(told)


def _beside(found: SearchExplanation, *, first: bool) -> list[list[str]]:
    """Blocks of lines: what plain BM25 had among its first hits and the program has not, then what was asked for."""
    blocks: list[list[str]] = []
    if found.lost and first:
        blocks.append(
            [
                f"Lost: in plain BM25's first {found.k} and no more:",
                *(
                    f"  docid={safe_docid(item.docid)} was {item.plain.rank}, now {standing_text(item.standing)}"
                    for item in found.lost
                ),
                "",
            ]
        )
    return [*blocks, *(_missed_lines(item, found) for item in found.missed)]


def _missed_lines(item: MissedDocument, found: SearchExplanation) -> list[str]:
    if not item.found:
        return [f"Missed: docid={safe_docid(item.docid)}: the index has no such document", ""]
    clauses = found.program.clauses
    lines = [
        f"Missed: docid={safe_docid(item.docid)}: {standing_text(item.standing)}, score {item.score:.4f}; "
        f"plain BM25: {standing_text(item.plain)}",
        *(f"   {line}" for line in kept_out_lines(item, clauses)),
    ]
    lines += [f"   Parts: {_sum(item.parts, found)}"] if item.parts else []
    lacks = [clauses[place].label for place in item.lacks]
    lines += [f"   Lacks: {', '.join(lacks[:20])}{', ...' if len(lacks) > 20 else ''}"] if lacks else []
    for window in item.dropped[:10]:
        lines.append(f"   Dropped, though it holds it: {shown(window.verdict.phrase)}, {outcome_text(window.verdict)}")
    return [*lines, ""]

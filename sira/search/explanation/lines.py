"""What the terminal and the page say in the same words: short texts and the cells of tables, not yet made safe."""

from __future__ import annotations

from collections.abc import Sequence

from sira.program import Clause, FacetClause, PhraseClause, Program, RangeClause
from sira.records import Outcome, Sketch, Verdict
from sira.search.explanation.values import ExplainedHit, MissedDocument, Standing

SKETCH_HEAD = ("phrase", "role", "weight", "further search")
DROPPED_HEAD = ("dropped phrase", "it holds", "verdict", "df", "share", "would add")
CLAUSE_HEAD = ("clause", "occur", "in", "weight", "df", "share", "from")


def clipped(text: str, characters: int) -> str:
    """One line of at most so many characters, with an ellipsis where more was."""
    line = " ".join(text[: 4 * characters].split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def outcome_text(verdict: Verdict) -> str:
    """The outcome, with what decided it and what would pass."""
    notes = [verdict.reason, verdict.suggestion and f"rather {verdict.suggestion}"]
    told = "; ".join(note for note in notes if note)
    return f"{verdict.outcome.value} ({told})" if told else verdict.outcome.value


def df_cells(df: int | None, documents: int) -> list[str]:
    """df, and its share of all documents."""
    return ["" if df is None else str(df), "" if df is None or not documents else f"{df / documents:.2%}"]


def field_of(clause: Clause) -> str:
    """Where a clause looks."""
    match clause:
        case FacetClause():
            return "facet"
        case RangeClause():
            return clause.field
        case PhraseClause():
            return "contents"
        case _:
            return "contents and expansion"


def clause_cells(clause: Clause, documents: int) -> list[str]:
    where = field_of(clause)
    return [
        clause.label,
        clause.occur,
        "words" if where == "contents and expansion" else where,
        f"{clause.weight:g}",
        *df_cells(clause.df, documents),
        origin(clause),
    ]


def origin(clause: Clause) -> str:
    """The phrase that brought the clause, or `query`."""
    return "query" if clause.source is None else clause.source


def scoring_line(program: Program) -> str:
    scoring = program.scoring
    return (
        f"{scoring.combine}, k1 = {scoring.k1:g}, b = {scoring.b:g}, "
        f"weights of contents {scoring.contents_weight:g}, expansion {scoring.expansion_weight:g}"
    )


def absent(program: Program) -> list[str]:
    """The required clauses that no document holds, with which a program finds nothing."""
    return [clause.label for clause in program.clauses if clause.occur == "must" and clause.df == 0]


def why_empty(program: Program) -> str:
    """Why a search has no hit."""
    if not program.clauses:
        return "no hits: the program has no clause"
    if required := absent(program):
        return f"no hits: it requires {', '.join(required)}, which no document holds"
    return "no hits: no document matches"


def verdicts_line(program: Program) -> str:
    """How many proposals are kept; one of weight 0 adds nothing."""
    kept = sum(item.outcome is Outcome.KEPT and item.weight != 0 for item in program.verdicts)
    return f"{kept} of {counted(len(program.verdicts), 'window')} kept"


def sketch_rows(sketch: Sketch) -> list[list[str]]:
    """A row for each phrase, facet and range of the sketch, then for those of its further searches."""
    rows: list[list[str]] = []
    for number, part in enumerate((sketch, *sketch.searches)):
        of = str(number) if number else ""
        rows += [[item.text, item.role, "" if item.weight is None else f"{item.weight:g}", of] for item in part.phrases]
        rows += [[facet, "facet", "", of] for facet in part.facets]
        rows += [[item.label, f"range, {item.role}", "", of] for item in part.ranges]
    return rows


def sketch_line(sketch: Sketch) -> str:
    counts = [counted(len(sketch.phrases), "phrase"), counted(len(sketch.facets), "facet")]
    if sketch.ranges:
        counts.append(counted(len(sketch.ranges), "range"))
    if sketch.searches:
        counts.append(f"further searches, not part of this program: {len(sketch.searches)}")
    return ", ".join(counts)


def standing_text(standing: Standing) -> str:
    return "no hit" if standing.rank is None else f"rank {standing.rank}"


def move_text(hit: ExplainedHit) -> str:
    """Which way a hit went, and its rank under plain BM25."""
    if hit.move == "same":
        return "same rank"
    before = "no hit" if hit.plain.rank is None else f"rank {hit.plain.rank}"
    return f"new, {before}" if hit.move == "new" else f"{hit.move} from {hit.plain.rank}"


def gap_text(gap: float, last_rank: int) -> str:
    """How far a score is from that of the last hit."""
    side = "below" if gap >= 0 else "above"
    return f"{abs(gap):.4f} {side} rank {last_rank}"


def kept_out_lines(item: MissedDocument, clauses: Sequence[Clause]) -> list[str]:
    """A line for each clause that keeps a document out."""
    lines: list[str] = []
    for place in item.kept_out_by:
        clause = clauses[place]
        why = "holds the excluded" if clause.occur == "must_not" else "lacks the required"
        source = "" if clause.source is None else f", from {clause.source!r}"
        lines.append(f"kept out: it {why} {clause.label}{source}")
    return lines


def dropped_line(item: MissedDocument) -> str:
    """What the gate cost this document."""
    total = sum(window.score for window in item.dropped)
    return f"It holds {counted(len(item.dropped), 'window')} that the compiler dropped, together {total:.4f}"

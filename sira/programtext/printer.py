"""A program as exact text, and back without loss: `program_from_text(program_to_text(program)) == program`."""

from __future__ import annotations

from sira.errors import ProgramError
from sira.program import (
    SCHEMA_VERSION,
    AnyOfClause,
    Clause,
    FacetClause,
    PhraseClause,
    Program,
    RangeClause,
    TermClause,
)
from sira.programtext.lexicon import (
    NAME,
    SIGNS,
    bare_or_quoted,
    bound_text,
    number_text,
    quoted,
    range_fault,
    weight_text,
)
from sira.programtext.query import EXACT_MAX_CHARACTERS, EXACT_MAX_CLAUSES
from sira.records import Verdict

_SIGN_OF = {occur: sign for sign, occur in SIGNS.items()}


def program_to_text(program: Program, *, verdicts: bool = True) -> str:
    """One line for each clause and verdict, after those for the topic and the scoring; ends with a line break.

    Weights and bounds have all their digits. Raises ProgramError for what JSON cannot hold either (lone surrogates,
    numbers that are not finite, another schema version) and for a program beyond the limits of a text.
    """
    if program.schema_version != SCHEMA_VERSION:
        raise ProgramError(f"a program of schema_version {program.schema_version!r}: only {SCHEMA_VERSION} has a text")
    if max(len(program.clauses), len(program.verdicts)) > EXACT_MAX_CLAUSES:
        raise ProgramError(f"program {program.qid!r} has more than {EXACT_MAX_CLAUSES:,} clauses or verdicts")
    scoring = program.scoring
    values = {
        "k1": scoring.k1,
        "b": scoring.b,
        "contents_weight": scoring.contents_weight,
        "expansion_weight": scoring.expansion_weight,
    }
    lines = [
        f"@program {SCHEMA_VERSION}",
        f"@qid {bare_or_quoted(program.qid)}",
        f"@scoring {scoring.combine} {' '.join(f'{key}={weight_text(value)}' for key, value in values.items())}",
        *([f"@text {quoted(program.text)}"] if program.text else ()),
        *map(clause_to_text, program.clauses),
        *(map(_verdict, program.verdicts) if verdicts else ()),
        "",
    ]
    text = "\n".join(lines)
    if len(text) > EXACT_MAX_CHARACTERS:
        raise ProgramError(
            f"program {program.qid!r} is a text of {len(text):,} characters: the limit is {EXACT_MAX_CHARACTERS:,}"
        )
    return text


def clause_to_text(clause: Clause) -> str:
    """One clause as it stands in a text. Raises ProgramError for lone surrogates and bounds that are not finite."""
    usual = "filter" if isinstance(clause, RangeClause) else "should"
    sign = "" if clause.occur == usual else _SIGN_OF[clause.occur]
    weight = "" if clause.weight == 1 else f"^{weight_text(clause.weight)}"
    notes = [
        *([f"df={number_text(clause.df)}"] if clause.df is not None else ()),
        *([f"from={quoted(clause.source)}"] if clause.source is not None else ()),
    ]
    return sign + _body(clause) + weight + (f" {{{' '.join(notes)}}}" if notes else "")


def _body(clause: Clause) -> str:
    match clause:
        case TermClause():
            return f"={bare_or_quoted(clause.term)}"
        case PhraseClause():
            return f"=[{' '.join(map(bare_or_quoted, clause.terms))}]"
        case AnyOfClause():
            return f"=({' | '.join(map(bare_or_quoted, clause.terms))})"
        case FacetClause():
            name, _, value = clause.facet.partition(":")
            if value and NAME.fullmatch(name):
                return f"{name}:{bare_or_quoted(value)}"
            return f"=:{quoted(clause.facet)}"
        case RangeClause():
            name = clause.field if NAME.fullmatch(clause.field) else quoted(clause.field)
            exact = "=" if range_fault(clause.gte, clause.lte) else ""
            return f"{exact}{name}:[{bound_text(clause.gte)} TO {bound_text(clause.lte)}]"


def _verdict(verdict: Verdict) -> str:
    notes = [
        *([f"df={number_text(verdict.df)}"] if verdict.df is not None else ()),
        *([f"weight={weight_text(verdict.weight)}"] if verdict.weight is not None else ()),
        *([f"reason={quoted(verdict.reason)}"] if verdict.reason is not None else ()),
        *([f"suggestion={quoted(verdict.suggestion)}"] if verdict.suggestion is not None else ()),
    ]
    annotation = f" {{{' '.join(notes)}}}" if notes else ""
    return f"@verdict {verdict.outcome} {quoted(verdict.phrase)} {quoted(verdict.term)}{annotation}"

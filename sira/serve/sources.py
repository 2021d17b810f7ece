"""What a request searches for, as values of sira: topic, sketch, settings and programs, within the server's limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sira.compile import CompileSettings
from sira.compile.sketches import sketch_from_json
from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import Program, Scoring, longest_clause, program_from_json, scoring_of
from sira.programtext import bind, parse_query
from sira.records import Sketch, Topic
from sira.serve.limits import Limits
from sira.serve.requests import SettingsIn, Source

QID = "q"
"""The qid of what a request asks for."""


@dataclass(frozen=True, slots=True)
class Written:
    """A program as someone wrote it, not yet bound to an index."""

    json: dict[str, Any] | None
    text: str | None
    scoring: Scoring

    def program(self, index: Index) -> Program:
        """Raises ProgramError."""
        if self.text is not None:
            return bind(parse_query(self.text), index, self.scoring, qid=QID)
        data = {"qid": QID, **(self.json or {})}
        program = program_from_json(data)
        if "scoring" in data:
            return program
        return Program(program.qid, program.clauses, self.scoring, program.verdicts, program.text)


def checked(source: Source, limits: Limits) -> None:
    """Raises InputError for what is larger than the server takes, naming the field and the bound."""
    for name in ("topic", "query"):
        _length(name, getattr(source, name), limits.query_characters)
    _length("program_text", source.program_text, limits.program_characters)
    if source.sketch is not None:
        parts = [source.sketch, *source.sketch.searches]
        number = sum(len(part.phrases) + len(part.facets) + len(part.ranges) for part in parts)
        if number > limits.phrases:
            raise InputError(f"sketch: it has {number:,} phrases, facets and ranges: give at most {limits.phrases:,}")
        for part in parts:
            for phrase in part.phrases:
                text = phrase if isinstance(phrase, str) else phrase.text
                _length("sketch.phrases", text, limits.phrase_characters)
            for facet in part.facets:
                _length("sketch.facets", facet, limits.phrase_characters)


def _length(name: str, text: str | None, most: int) -> None:
    if text is not None and len(text) > most:
        raise InputError(f"{name}: it has {len(text):,} characters: give at most {most:,}")


def within(program: Program, limits: Limits) -> Program:
    """The program. Raises InputError where it has more clauses than the server runs, or a longer one."""
    if (longest := longest_clause(program)) > limits.clause_words:
        raise InputError(
            f"program: a clause has {longest:,} words: this server runs {limits.clause_words:,} in one; "
            "split it, or leave words out"
        )
    if len(program.clauses) > limits.clauses:
        raise InputError(
            f"program: {len(program.clauses):,} clauses: this server runs {limits.clauses:,} in one search; "
            "set max_terms, or leave clauses out"
        )
    return program


def depth(k: int, most: int) -> int:
    if k > most:
        raise InputError(f"k: {k:,} is deeper than this server searches here: give at most {most:,}")
    return k


def topic_of(source: Source) -> Topic | None:
    """The topic, plain words counting as one; None for a program."""
    text = source.topic if source.topic is not None else source.query
    return None if text is None else Topic(QID, text)


def sketch_of(source: Source) -> Sketch | None:
    """The sketch of the request itself. Raises InputError."""
    if source.sketch is None:
        return None
    return sketch_from_json({"qid": QID, **source.sketch.model_dump(exclude_none=True)}, "sketch")


def settings_of(given: SettingsIn) -> CompileSettings:
    """Raises InputError for values that do not fit."""
    fields = given.model_dump(
        exclude_none=True,
        exclude={"profile", "k1", "b", "combine", "contents_weight", "expansion_weight"},
    )
    return CompileSettings(**fields, scoring=scoring(given))


def scoring(given: SettingsIn) -> Scoring:
    return scoring_of(
        given.profile,
        combine=given.combine,
        k1=given.k1,
        b=given.b,
        contents_weight=given.contents_weight,
        expansion_weight=given.expansion_weight,
    )


def written_of(source: Source) -> Written:
    return Written(source.program, source.program_text, scoring(source.settings))

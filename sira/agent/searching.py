"""The tools search, read_search_results and fuse_searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from sira.agent.arguments import Arguments, CallFault, shown
from sira.agent.backend import Found, IndexBackend
from sira.agent.base import ToolResult
from sira.agent.cache import CachedRanking, Mode
from sira.agent.pages import Wanted, ranking_page
from sira.agent.session import REASON, Session, ToolSpec, object_schema, string, whole
from sira.agent.settings import ToolSettings
from sira.errors import InputError
from sira.llm.base import Tool
from sira.program import Program, longest_clause, program_from_json
from sira.programtext import bind, parse_query, program_to_text
from sira.records import Ranking
from sira.search.fusion import reciprocal_rank_fusion

MAX_FUSED = 20
_SEARCH, _BROWSE, _FUSE = "search", "read_search_results", "fuse_searches"


def _describe_search(settings: ToolSettings) -> Tool:
    properties: dict[str, Any] = {
        "reason": REASON,
        "query": string("A few words as a document would use them. Plain words, no operators."),
    }
    text = (
        f"Search the collection by words (BM25). Keeps up to {settings.depth} ranked hits under a search_id and shows "
        f"the first {settings.search_page}. Begin with a short query in the words of the question; look further down "
        "the ranking with read_search_results before you write another query."
    )
    if settings.programs:
        properties["program"] = {
            "description": "In place of query: weighted clauses. As text: words add to the score, +word must be there, "
            '-word must not, "two words" stand side by side, word^2 weighs double, (one | other) are alternatives. '
            "Or the JSON of a compiled program.",
            "anyOf": [{"type": "string"}, {"type": "object"}],
        }
        text += " Give either query or program."
    required = ("reason",) if settings.programs else ("reason", "query")
    return Tool(_SEARCH, text, object_schema(required, properties, strict=settings.strict_fields))


def _search(session: Session, arguments: Arguments) -> ToolResult:
    arguments.text("reason", blank=True)
    settings = session.settings
    if settings.programs and "program" in arguments:
        if not isinstance(session.backend, IndexBackend):
            raise arguments.fault("program", "this backend searches plain words only: give query.")
        if "query" in arguments:
            raise arguments.fault("program", "both query and program are given: give one of them.")
        label, program = _program(session, arguments)
        return _answer(
            session, "program", label, lambda: cast(IndexBackend, session.backend).run(program, settings.depth)
        )
    query = arguments.text("query").strip()
    if len(query) > settings.query_characters:
        raise arguments.fault(
            "query", f"query has {len(query):,} characters: give at most {settings.query_characters:,}."
        )
    return _answer(session, "plain", query, lambda: session.backend.search(query, settings.depth))


def _answer(session: Session, mode: Mode, label: str, search: Any) -> ToolResult:
    """The first page of a search, which is asked for unless its ranking is still here."""
    same = session.cache.same(label, mode) if session.settings.reuse_searches else None
    if same is not None:
        note = f"Same search as {same.search_id}: answered from the cache, no new search_id."
        return _first_page(session, same, (note,), {"sameAs": same.search_id})
    try:
        found: Found = search()
    except InputError as error:
        raise CallFault(
            f"Invalid search arguments: {error}.", field="query" if mode == "plain" else "program"
        ) from None
    ranking = session.cache.add(label, mode, found)
    session.ledger.surface(found.docids)
    return _first_page(session, ranking, _unknown_words(session, found), {})


def _first_page(session: Session, ranking: CachedRanking, notes: tuple[str, ...], more: dict[str, Any]) -> ToolResult:
    wanted = Wanted(1, session.settings.search_page, notes=notes)
    result = ranking_page(session, ranking, wanted, all_retrieved=True)
    return ToolResult(result.text, {**result.details, "k": session.settings.depth, **more})


def _unknown_words(session: Session, found: Found) -> tuple[str, ...]:
    """Ours: which words of the search no document holds."""
    if not session.settings.term_statistics or not found.programs:
        return ()
    unknown = [clause.label for clause in found.programs[0].clauses if clause.df == 0]
    if not unknown:
        return () if found.programs[0].clauses else ("The search has no word that is indexed.",)
    return (f"No document holds: {', '.join(map(shown, unknown[:20]))}{', ...' if len(unknown) > 20 else ''}",)


def _program(session: Session, arguments: Arguments) -> tuple[str, Program]:
    """The program of a call and how it is told: as it was written, or as text."""
    given: Any = arguments.raw("program")
    backend, scoring = cast(IndexBackend, session.backend), session.settings.scoring
    try:
        if isinstance(given, str):
            text = arguments.text("program").strip()
            return text, _bounded(bind(parse_query(text), backend.index, scoring), session.settings)
        if not isinstance(given, dict):
            raise arguments.fault("program", "program must be a text or an object: the JSON of a compiled program.")
        data = {"qid": "", **cast("dict[str, Any]", given)}
        program = program_from_json(data)
        if "scoring" not in data:
            program = Program(program.qid, program.clauses, scoring, program.verdicts, program.text)
        return _one_line(program, plain=program.scoring == scoring), _bounded(program, session.settings)
    except InputError as error:
        raise CallFault(f"Invalid search arguments: {error}.", field="program") from None


def _bounded(program: Program, settings: ToolSettings) -> Program:
    """Raises InputError for a program that would take Lucene minutes."""
    if (longest := longest_clause(program)) > settings.clause_words:
        raise InputError(f"a clause has {longest:,} words: give at most {settings.clause_words:,}")
    if (clauses := len(program.clauses)) > settings.clauses:
        raise InputError(f"it has {clauses:,} clauses: give at most {settings.clauses:,}")
    return program


def _one_line(program: Program, *, plain: bool) -> str:
    """A program as the clauses of its text form, in one line; with its scoring, unless that is the plain one."""
    lines = program_to_text(Program("", program.clauses, program.scoring)).splitlines()
    left_out = ("@program", "@qid", "@scoring") if plain else ("@program", "@qid")
    return " ".join(line for line in lines if not line.startswith(left_out))


def _describe_browse(settings: ToolSettings) -> Tool:
    properties: dict[str, Any] = {
        "reason": REASON,
        "search_id": string("The search_id of a ranking, such as s1."),
        "offset": whole(f"The first rank to show, from 1. Default {settings.browse_offset}."),
        "limit": whole(f"How many hits to show. Default {settings.browse_limit}."),
    }
    text = "Show more hits of a ranking that search returned, without searching again."
    if settings.marks:
        properties["only_new"] = {"type": "boolean", "description": "Pass over hits that were shown before."}
        text += " Hits that you have met before say so."
    if settings.fold_duplicates:
        properties["show_folded"] = {"type": "boolean", "description": "Show near-duplicates of better hits, too."}
    schema = object_schema(("reason", "search_id"), properties, strict=settings.strict_fields)
    return Tool(_BROWSE, text, schema)


def _browse(session: Session, arguments: Arguments) -> ToolResult:
    arguments.text("reason", blank=True)
    settings = session.settings
    ranking = session.ranking(_BROWSE, arguments.text("search_id").strip())
    wanted = Wanted(
        arguments.number("offset", settings.browse_offset),
        arguments.number("limit", settings.browse_limit),
        only_new=settings.marks and arguments.flag("only_new"),
        show_folded=settings.fold_duplicates and arguments.flag("show_folded"),
    )
    return ranking_page(session, ranking, wanted)


def _describe_fuse(settings: ToolSettings) -> Tool:
    properties = {
        "reason": REASON,
        "search_ids": {
            "type": "array",
            "items": {"type": "string"},
            "description": f"2 to {MAX_FUSED} search_ids, such as s1, s3.",
        },
    }
    text = (
        "Join several rankings into one (reciprocal rank fusion): documents that stand high in many of them come "
        f"first. The result has a search_id of its own; its first {settings.search_page} hits are shown."
    )
    schema = object_schema(("reason", "search_ids"), properties, strict=settings.strict_fields)
    return Tool(_FUSE, text, schema)


def _fuse(session: Session, arguments: Arguments) -> ToolResult:
    arguments.text("reason", blank=True)
    names = list(dict.fromkeys(name.strip() for name in arguments.texts("search_ids", MAX_FUSED)))
    if len(names) < 2:
        raise arguments.fault("search_ids", "one ranking alone cannot be fused: give two or more search_ids.")
    rankings = [session.ranking(_FUSE, name) for name in names]
    label = ", ".join(names)
    return _answer(session, "fused", label, lambda: fused(rankings, session.settings.depth))


def fused(rankings: Sequence[CachedRanking], depth: int) -> Found:
    """Cached rankings by their ranks, cut to `depth`."""
    ranked = [Ranking(item.found.docids, tuple(map(float, range(len(item), 0, -1)))) for item in rankings]
    ranking = reciprocal_rank_fusion(ranked).top(depth)
    cards = {docid: card for item in reversed(rankings) for docid, card in item.found.cards.items()}
    kept = {docid: cards[docid] for docid in ranking.docids if docid in cards}
    programs = tuple(dict.fromkeys(program for item in rankings for program in item.found.programs))
    return Found(ranking.docids, ranking.scores, programs, kept)


SEARCH_TOOLS = (
    ToolSpec(_SEARCH, _describe_search, lambda _, __: True, _search),
    ToolSpec(_BROWSE, _describe_browse, lambda _, __: True, _browse),
    ToolSpec(_FUSE, _describe_fuse, lambda settings, _: settings.fuse_searches, _fuse),
)

"""The tool term_statistics: how many documents hold words and phrases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sira.agent.arguments import Arguments, shown
from sira.agent.base import ToolResult
from sira.agent.session import REASON, Session, ToolSpec, object_schema
from sira.agent.settings import ToolSettings
from sira.compile.gates import idf
from sira.llm.base import Tool
from sira.lucene.reader import Index

MOST_TERMS = 50
_TERMS = "term_statistics"


def _describe_terms(settings: ToolSettings) -> Tool:
    properties = {
        "reason": REASON,
        "terms": {
            "type": "array",
            "items": {"type": "string"},
            "description": f"Words or phrases, up to {MOST_TERMS}.",
        },
    }
    text = (
        "How many documents hold each word or phrase. A rare one tells documents apart; one that no document holds "
        "finds nothing. It helps to choose the words of the next search."
    )
    return Tool(_TERMS, text, object_schema(("reason", "terms"), properties, strict=settings.strict_fields))


def _terms(session: Session, arguments: Arguments) -> ToolResult:
    arguments.text("reason", blank=True)
    index = session.backend.index
    assert index is not None
    texts = arguments.texts("terms", MOST_TERMS)
    rows = [_row(text, terms, df, index) for text, terms, df in _frequencies(index, texts)]
    lines = [f"{index.document_count} documents", *(_line(row, index.document_count) for row in rows)]
    return ToolResult("\n".join(lines), {"documents": index.document_count, "terms": rows})


def _frequencies(index: Index, texts: Sequence[str]) -> Iterator[tuple[str, list[str], int | None]]:
    """df of each text; None where it has no word, or is a phrase and the index has no positions."""
    analysed = index.analyze(texts)
    words = list(dict.fromkeys(terms[0] for terms in analysed if len(terms) == 1))
    phrases = list(dict.fromkeys(tuple(terms) for terms in analysed if len(terms) > 1)) if index.has_positions else []
    df: dict[tuple[str, ...], int] = dict(zip(((word,) for word in words), index.df(words), strict=True))
    df |= zip(phrases, index.window_df(phrases), strict=True)
    for text, terms in zip(texts, analysed, strict=True):
        yield text, terms, df.get(tuple(terms))


def _row(text: str, terms: list[str], df: int | None, index: Index) -> dict[str, Any]:
    documents = index.document_count
    row: dict[str, Any] = {"term": text, "analysed": terms, "df": df, "idf": None, "share": None}
    if df is not None and documents:
        row |= {"idf": round(idf(df, documents), 4), "share": round(df / documents, 6)}
    return row


def _line(row: dict[str, Any], documents: int) -> str:
    name = shown(row["term"])
    if not row["analysed"]:
        return f"{name}: no word that is indexed (a stop word or signs)"
    if row["df"] is None:
        return f"{name}: not known, since this index has no positions: ask for its words"
    form = " ".join(row["analysed"])
    share = f", {row['share']:.2%} of the documents, idf {row['idf']:.2f}" if documents else ""
    return f"{name}: df {row['df']}{share} (indexed as {shown(form)})"


TERM_TOOLS = (
    ToolSpec(
        _TERMS,
        _describe_terms,
        lambda settings, backend: settings.term_statistics and backend.index is not None,
        _terms,
    ),
)

"""A query that a model wrote, searched if it can be; else one line that tells the model why not."""

from __future__ import annotations

from dataclasses import dataclass

from sira.systems.agents.base import Episode

MAX_QUERY_CHARACTERS = 10_000
"""Of a query that a model writes. A long topic fits; what is longer was not meant as a query."""
MAX_TURN_CHARACTERS = 20_000
"""Of a model's turn as the conversation keeps it, where an endpoint does not keep to `max_tokens`."""


@dataclass(frozen=True, slots=True)
class Found:
    """The first hits of a search, best first, with their scores; `trouble` is the line for the model where there are
    none."""

    docids: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    trouble: str = ""


def look_up(episode: Episode, query: str) -> Found:
    """The first `documents` hits of a query, once: an empty one, one that is too long, or one that was searched before
    costs no search. Troubles are counted."""
    text = query.encode("utf-8", "replace").decode().strip()  # JSON can hold half a surrogate pair
    if not text:
        return _trouble(episode, "empty_query", "The query is empty: write the words to search for.")
    if len(text) > MAX_QUERY_CHARACTERS:
        line = f"The query has {len(text):,} characters, which is too long: write a few words."
        return _trouble(episode, "long_query", line)
    if _folded(text) in map(_folded, episode.queries):
        line = "This query was searched before and finds the same documents: use other words."
        return _trouble(episode, "repeated_query", line)
    hits = episode.search(text).top(episode.settings.documents)
    if not hits:
        return _trouble(episode, "nothing_found", "No document holds a word of this query: use other words.")
    return Found(hits.docids, hits.scores)


def _trouble(episode: Episode, kind: str, line: str) -> Found:
    episode.troubles[kind] += 1
    return Found(trouble=line)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())

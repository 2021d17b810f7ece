"""The settings of a session's tools, within what a server allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from sira.agent.settings import SIRA, ToolSettings, tool_profile
from sira.errors import InputError
from sira.serve.limits import Limits
from sira.serve.requests import SessionRequest
from sira.serve.sources import depth

_MOST: Mapping[str, float] = {
    "search_page": 100,
    "browse_limit": 100,
    "read_limit": 2_000,
    "cached_rankings": 64,
    "excerpt_characters": 2_000,
    "excerpt_passages": 10,
    "wrap_characters": 10_000,
    "max_lines": 10_000,
    "max_bytes": 1 << 20,
    "pattern_seconds": 5.0,
}


def tool_settings(asked: SessionRequest, limits: Limits) -> ToolSettings:
    """Raises InputError for what does not fit together, or is beyond the server's bounds."""
    given: Any = getattr(asked, "settings")  # noqa: B009 - its type is made at run time
    if given is None:
        settings = tool_profile(asked.profile or SIRA.profile)
    else:
        if asked.profile is not None and "profile" in given.model_fields_set and given.profile != asked.profile:
            raise InputError("profile: it stands in settings, too, and differs: give it once")
        if given.full_paging is False:
            raise InputError(
                "settings.full_paging: it is always on here, since no client reads a file of the server: leave it out"
            )
        changed: dict[str, Any] = {"full_paging": True}
        changed |= {"profile": asked.profile} if asked.profile is not None else {}
        settings = cast(ToolSettings, given.model_copy(update=changed).settings())
    depth(settings.depth, limits.k)
    for name, most in _MOST.items():
        if getattr(settings, name) > most:
            raise InputError(f"settings.{name}: {getattr(settings, name)}: this server allows at most {most:g}")
    return bounded(settings, limits)


def bounded(settings: ToolSettings, limits: Limits) -> ToolSettings:
    """No further than the server's own searches go, and without files, which no client reads."""
    return replace(
        settings,
        full_paging=True,
        query_characters=min(settings.query_characters, limits.query_characters),
        clauses=min(settings.clauses, limits.clauses),
        clause_words=min(settings.clause_words, limits.clause_words),
    )

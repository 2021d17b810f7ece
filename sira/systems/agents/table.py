"""The table of agents: a kind in the TOML, its bounds, and its way of talking with the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sira.agent.settings import PI_SERINI, SIRA
from sira.systems.agents.base import AgentMethod, Conversation
from sira.systems.agents.grep_rag import GREP_RAG, GrepRag
from sira.systems.agents.ircot import IRCOT, ircot
from sira.systems.agents.paged import PI_SERINI_AGENT, SIRA_AGENT, Paged
from sira.systems.agents.react import REACT, REACT_DOCUMENTS, React
from sira.systems.agents.search_r1 import SEARCH_R1, search_r1
from sira.systems.agents.shell_agent import SHELL_AGENT, ShellAgent

AGENTS: Mapping[str, tuple[AgentMethod, Conversation]] = {
    method.name: (method, converse)
    for method, converse in (
        (REACT, React()),
        (REACT_DOCUMENTS, React(reads=True)),
        (IRCOT, ircot),
        (SEARCH_R1, search_r1),
        (GREP_RAG, GrepRag()),
        (SHELL_AGENT, ShellAgent()),
        (PI_SERINI_AGENT, Paged(PI_SERINI)),
        (SIRA_AGENT, Paged(SIRA)),
    )
}
"""By kind."""


def conversation(kind: str, exports: Path | None = None, *, progress: bool = True) -> Conversation:
    """Of a kind of the table; agents that read documents as files keep these in `exports`, and write them with a bar
    where `progress` says so."""
    _, converse = AGENTS[kind]
    if isinstance(converse, GrepRag | ShellAgent):
        return replace(converse, folder=exports, progress=progress)
    return converse

"""The table of agents: a kind in the TOML, its bounds, and its way of talking with the model."""

from __future__ import annotations

from collections.abc import Mapping

from sira.systems.agents.base import AgentMethod, Conversation

AGENTS: Mapping[str, tuple[AgentMethod, Conversation]] = {}
"""By kind."""

"""An agent as a system of an experiment: its bounds, its model, and what decides its rankings."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from sira.errors import InputError, SiraError
from sira.evaluate.asking import identity_of
from sira.evaluate.system_config import SystemConfig
from sira.llm import ModelSettings
from sira.llm.cache import CachedGenerator, open_cached
from sira.llm.settings import read_model
from sira.prompts import load_prompt
from sira.systems.agents.base import AgentMethod, AgentSettings
from sira.systems.agents.table import AGENTS

EXPORTS = "exports"
"""In the results folder: the documents as files, for the agents that read files."""


@dataclass(frozen=True, slots=True)
class AgentJob:
    """One agent with its model; `settings` has every bound with its value."""

    method: AgentMethod
    model: ModelSettings
    settings: AgentSettings

    @classmethod
    def of(cls, system: SystemConfig, *, own: bool = True) -> AgentJob:
        """Raises InputError for a model's file or a prompt that cannot be used, or a model that the method cannot
        talk to."""
        method, _ = AGENTS[system.kind]
        where = f"system {system.name!r}"
        try:
            model = read_model(system.llm or "")
            prompt = load_prompt(system.prompt or method.prompt, side="agent")
        except SiraError as error:
            raise InputError(f"{where}: {error}") from None
        if model.backend == "batch-file":
            raise InputError(f'{where}: an agent waits for each reply, and backend = "batch-file" gives them later')
        if method.tools and model.backend != "openai":
            raise InputError(
                f'{where}: kind = "{method.name}" wants a model that makes tool calls: serve one and use '
                'backend = "openai"'
            )
        given = system.agent
        settings = AgentSettings(
            prompt,
            given.rounds or method.rounds,
            given.documents or method.documents,
            given.characters or method.characters,
            given.max_tokens or model.max_tokens or method.max_tokens,
            given.ranking or method.ranking,
            system.settings().scoring,
            model.seed,
            own=own,
            timeout_s=given.timeout_s,
        )
        return cls(method, model, settings)

    def facts(self) -> dict[str, object]:
        """What decides the rankings beside index and topics. Raises EnvironmentFault for a local model that is not
        there."""
        settings = asdict(self.settings)
        return {
            "model": identity_of(self.model),
            "sampling": self.model.sampling(),
            "prompt": self.settings.prompt.digest,
            "settings": {name: settings[name] for name in settings if name not in ("prompt", "timeout_s")},
        }

    def open(self, out: Path) -> CachedGenerator:
        """The model, its replies kept in the results folder."""
        return open_cached(self.model, out / "replies")

"""Agent mode as a system: the paged tools of `sira.agent` over one topic, with turns as the only bound.

`pi-serini` has the tools of Pi-Serini (Hsu, Yang and Lin 2026), `sira-agent` those and ours. An experiment bounds turns
and not time, so that an episode whose replies are kept goes the same way again; `sira agent` has the budget of time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from sira.agent.base import StopReason
from sira.agent.budget import Limits
from sira.agent.controller import Controller
from sira.agent.loop import run_episode
from sira.agent.loop_settings import BLOCKED_TURNS, EpisodeSettings
from sira.agent.settings import PI_SERINI, ToolSettings
from sira.llm import Reply, Request, Tokenizer
from sira.records import Ranking
from sira.systems.agents.base import AgentMethod, Episode, Stop, in_order

PI_SERINI_AGENT = AgentMethod(
    "pi-serini",
    "Hsu, Yang and Lin 2026, arXiv 2605.10848",
    "agent-pi-serini",
    rounds=100,
    documents=5,
    characters=220,
    max_tokens=8192,
    searches=100,
    tools=True,
    ranking="surfaced",
)
"""`documents` are the hits that a search shows, `characters` those of an excerpt; the model may page on and read."""
SIRA_AGENT = replace(PI_SERINI_AGENT, name="sira-agent", paper=f"{PI_SERINI_AGENT.paper}, with tools of ours")


@dataclass(frozen=True, slots=True)
class Paged:
    """A Conversation by the tools of one profile."""

    profile: ToolSettings

    def __call__(self, episode: Episode) -> str | None:
        """One topic; the final text. Raises Stop with the reason of the loop, but for an answer."""
        settings = episode.settings
        tools = replace(
            self.profile,
            scoring=settings.scoring,
            depth=episode.depth,
            search_page=settings.documents,
            browse_offset=settings.documents + 1,
            excerpt_characters=settings.characters,
        )
        asked = EpisodeSettings(
            settings.prompt,
            Limits(time_s=None, turns=settings.rounds),
            settings.max_tokens,
            settings.seed,
            on_overflow="drop",
            blocked_turns=None if self.profile.profile == PI_SERINI.profile else BLOCKED_TURNS,
        )
        with Controller(episode.index, tools) as controller:
            trajectory = run_episode(episode.topic, controller, _Counted(episode), asked)
            ledger = controller.ledger
            episode.shown |= dict.fromkeys((*ledger.seen, *ledger.opened))
            if settings.ranking != "fused":
                episode.found = self._ranking(episode, list(ledger.surfaced))
        for search in trajectory.data["searches"].values():
            if search["mode"] == "plain":
                episode.search(search["query"])  # for the record: what was searched, and the rankings to fuse
        episode.told |= {
            "tool_calls": trajectory.data["tool_call_counts"],
            "opened": trajectory.data["opened_docids"],
            "cited": trajectory.data["cited_docids"],
        }
        if trajectory.fault is not None:
            raise trajectory.fault
        if trajectory.stop_reason is not StopReason.ANSWERED:
            raise Stop(trajectory.stop_reason.value)
        return None if trajectory.answer is None else trajectory.answer.text

    @staticmethod
    def _ranking(episode: Episode, surfaced: list[str]) -> Ranking:
        kept = list(episode.shown) if episode.settings.ranking == "shown" else surfaced
        return in_order([docid for docid in kept if episode.settings.own or docid != episode.topic.qid])


class _Counted:
    """The model of an episode, with its calls counted there."""

    def __init__(self, episode: Episode) -> None:
        self._episode, self._model = episode, episode.generator

    @property
    def identity(self) -> Mapping[str, object]:
        return self._model.identity

    @property
    def facts(self) -> Mapping[str, object]:
        return self._model.facts

    @property
    def context_tokens(self) -> int | None:
        return self._model.context_tokens

    @property
    def tokenizer(self) -> Tokenizer | None:
        return self._model.tokenizer

    @property
    def pending(self) -> str | None:
        return self._model.pending

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        for reply in self._model.generate(requests):
            self._episode.count(reply)
            yield reply

    def close(self) -> None:
        """The model belongs to the experiment."""

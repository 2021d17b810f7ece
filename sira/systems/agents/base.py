"""What agents have in common: a model that searches the index as it likes, within bounds, and the ranking of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator as Yields
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from sira.compile import CompileSettings, compile_sketch
from sira.errors import InputError
from sira.llm import Finish, Generator, Reply, Request, Tool, Usage
from sira.lucene.reader import Index
from sira.program import Program, Scoring
from sira.prompts import Prompt
from sira.records import Ranking, Topic, Turn
from sira.search.fusion import reciprocal_rank_fusion
from sira.systems.base import Answer, Stopwatch
from sira.systems.modes import search_program

RankingRule = Literal["fused", "shown", "surfaced"]
"""What an agent's ranking is made of: `fused`, all rankings of its searches by reciprocal ranks (k = 60); `shown`, the
documents in the order in which the model first saw them; `surfaced`, every document of its rankings in the order in
which they came, as Pi-Serini counts them."""


@dataclass(frozen=True, slots=True)
class AgentMethod:
    """One row of the table of agents, with its bounds as the paper or its released code has them.

    At most `rounds` calls of the model a topic, `max_tokens` a reply; `documents` are shown after a search, cut to
    `characters` each. `prompt` names one of sira's, in words of our own. `searches` is the most a topic can take.
    `tools`: whether the model must know tool calls; else the protocol is plain text.
    """

    name: str
    paper: str
    prompt: str
    rounds: int
    documents: int
    characters: int
    max_tokens: int
    searches: int
    tools: bool = False
    ranking: RankingRule = "fused"


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """How an agent goes about a topic; see AgentMethod for the bounds. `own`: whether the document whose docid is the
    qid may be shown. `timeout_s` bounds one call of the model, None: as the model's settings say."""

    prompt: Prompt
    rounds: int
    documents: int
    characters: int
    max_tokens: int
    ranking: RankingRule = "fused"
    scoring: Scoring = field(default_factory=Scoring)
    seed: int = 42
    own: bool = True
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("rounds", "documents", "characters", "max_tokens"):
            if getattr(self, name) < 1:
                raise InputError(f"agent: {name} = {getattr(self, name)}: give 1 or more")
        if self.ranking not in get_args(RankingRule):
            raise InputError(f"agent: ranking = {self.ranking!r}: choose {', '.join(get_args(RankingRule))}")


MOST_CORRECTIONS = 2
"""A model that gets its protocol wrong more often in one topic will not learn it."""


class Stop(Exception):
    """Raised inside an episode to end it; the reason goes into the note."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Conversation(Protocol):
    """One agent's way of talking with the model."""

    def __call__(self, episode: Episode) -> str | None:
        """Go about one topic; the final answer of the model, None where it gave none. May raise Stop."""
        ...


class Episode:
    """One topic under one agent: asks the model, searches, shows documents, and keeps count of all three."""

    def __init__(self, topic: Topic, index: Index, depth: int, settings: AgentSettings, generator: Generator) -> None:
        self.topic, self.index, self.settings = topic, index, settings
        self.depth, self.generator = depth, generator
        self.rankings: list[Ranking] = []
        self.programs: list[Program] = []
        self.queries: list[str] = []
        self.shown: dict[str, None] = {}
        self.calls = self.errors = self.corrections = self.scans = 0
        self.usage = Usage()
        self.troubles: Counter[str] = Counter()
        """What went wrong and was told to the model, by kind."""
        self.told: dict[str, Any] = {}
        """What an agent adds to the note; JSON-ready."""
        self.found: Ranking | None = None
        """Set by an agent that ranks by itself, in place of the rule of the settings."""
        self._watch = Stopwatch()

    def ask(self, messages: Sequence[Turn], *, stop: Sequence[str] = (), tools: Sequence[Tool] = ()) -> Reply:
        """One reply. Raises Stop: `rounds` where no call is left, `error` or `too_long` or `refused` where none came.

        A reply of `LENGTH` is as good as any: protocols read what is whole of it.
        """
        if self.calls == self.settings.rounds:
            raise Stop("rounds")
        request = Request(
            f"{self.topic.qid}.{self.calls + 1}",
            tuple(messages),
            self.settings.max_tokens,
            self.settings.seed,
            stop=tuple(stop),
            tools=tuple(tools),
            timeout_s=self.settings.timeout_s,
        )
        reply = next(iter(self.generator.generate([request])))
        self.count(reply)
        if reply.finish not in (Finish.STOP, Finish.LENGTH):
            raise Stop(reply.finish.value)
        return reply

    def count(self, reply: Reply) -> None:
        """One call of the model, whatever it gave."""
        self.calls += 1
        self.usage += reply.usage
        self.errors += reply.finish is Finish.ERROR

    @property
    def spent(self) -> bool:
        """No call of the model is left: what is searched now, the model will not see."""
        return self.calls >= self.settings.rounds

    def correct(self, kind: str, line: str) -> str:
        """The line that tells the model what was wrong with its turn. Raises Stop (`malformed`) when it was told
        MOST_CORRECTIONS times before."""
        self.troubles[kind] += 1
        self.corrections += 1
        if self.corrections > MOST_CORRECTIONS:
            raise Stop("malformed")
        return line

    def search(self, text: str) -> Ranking:
        """Plain BM25 of the text to the depth of the topic; without words that the index knows: nothing."""
        settings = CompileSettings(scoring=self.settings.scoring)
        with self._watch.timing("compile"):
            program = compile_sketch(Topic(self.topic.qid, text), None, self.index, settings)
        ranking = search_program(self.index, program, self.depth + (not self.settings.own), watch=self._watch).ranking
        if not self.settings.own:
            ranking = ranking.without(self.topic.qid).top(self.depth)
        self.queries.append(text)
        self.programs.append(program)
        self.rankings.append(ranking)
        return ranking

    @contextmanager
    def scanning(self) -> Yields[None]:
        """One pass over files in place of a search of the index; it counts and takes time as one."""
        self.scans += 1
        with self._watch.timing("search"):
            yield

    def show(self, docids: Sequence[str]) -> list[str]:
        """The texts of documents, cut to `characters` each; they count as shown."""
        self.shown |= dict.fromkeys(docids)
        found = self.index.documents(docids)
        return ["" if item is None else item.contents[: self.settings.characters] for item in found]

    def ranking(self) -> Ranking:
        """What the agent found itself, or by the rule of the settings."""
        if self.found is not None:
            return self.found
        match self.settings.ranking:
            case "fused":
                return reciprocal_rank_fusion(self.rankings)
            case "shown":
                return in_order(list(self.shown))
            case "surfaced":
                return in_order(list(dict.fromkeys(docid for ranking in self.rankings for docid in ranking.docids)))

    def answer(self, reason: str, said: str | None) -> Answer:
        """All there is to tell."""
        note: dict[str, Any] = {
            "stop": reason,
            "calls": self.calls,
            "errors": self.errors,
            "queries": self.queries,
            "shown": list(self.shown),
            "answer": said,
            **self.told,
        }
        if self.troubles:
            note["troubles"] = dict(sorted(self.troubles.items()))
        return Answer(
            self.topic.qid,
            self.ranking().top(self.depth),
            tuple(self.programs),
            {"agent": note},
            llm_calls=self.calls,
            usage=self.usage,
            searches=len(self.programs) + self.scans,
            compile_ms=self._watch.compile_ms,
            search_ms=self._watch.search_ms,
        )


@dataclass(frozen=True, slots=True)
class Agent:
    """A System: one episode a topic. Its calls of the model are as many as it takes, so that nothing is searched twice
    to warm up."""

    converse: Conversation
    settings: AgentSettings
    generator: Generator

    def answer(self, topic: Topic, index: Index, k: int) -> Answer:
        """The note's `stop` is `answered`, `no_answer`, `no_topic` (a topic without text, of which the model is not
        asked), or why the episode ended before."""
        episode = Episode(topic, index, k, self.settings, self.generator)
        if not topic.text.strip():
            return episode.answer("no_topic", None)
        try:
            said = self.converse(episode)
        except Stop as stop:
            return episode.answer(stop.reason, None)
        return episode.answer("answered" if said else "no_answer", said or None)


def in_order(docids: Sequence[str]) -> Ranking:
    """A ranking of documents in this order; the scores say no more than the order."""
    return Ranking(tuple(docids), tuple(float(len(docids) - place) for place in range(len(docids))))

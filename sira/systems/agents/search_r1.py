"""search-r1: the tag protocol of Jin et al. (2025, arXiv 2503.09516) with any model.

The model thinks, writes a query between <search> tags or the answer between <answer> tags, and stops there. What a
search finds comes back between <information> tags. Bounds are those of the paper and its released code: three documents
a search, four turns that may search, one more for the answer, 500 tokens a turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sira.llm import Finish, Reply
from sira.prompts import enclosed
from sira.records import Message, Turn
from sira.systems.agents.base import AgentMethod, Episode, Stop
from sira.systems.agents.looking import MAX_TURN_CHARACTERS, look_up

SEARCH_R1 = AgentMethod(
    "search-r1",
    "Jin et al. 2025, arXiv 2503.09516",
    "agent-search-r1",
    rounds=5,
    documents=3,
    characters=2000,
    max_tokens=500,
    searches=4,
)
STOPS = ("</search>", "</answer>")

_TAG = re.compile(r"<\s{0,3}(/?)\s{0,3}(search|answer|information)\s{0,3}>", re.IGNORECASE)
_CORRECTION = (
    "That turn held no step. To search, write the query between <search> and </search>; to finish, write the answer "
    "between <answer> and </answer>. Try again."
)
_LAST = "No search is left: write the answer between <answer> and </answer> now."


@dataclass(frozen=True, slots=True)
class Step:
    """What one turn of the model asks for; `text` is the turn as it counts, its end cut away. `content` is the query or
    the answer; empty where the turn asks for nothing."""

    text: str
    kind: Literal["search", "answer", "nothing"] = "nothing"
    content: str = ""


def search_r1(episode: Episode) -> str | None:
    """The answer between its tags. Raises Stop: `rounds`, `malformed` after the turns that the model was told of."""
    messages: list[Turn] = list(episode.settings.prompt.render_query(episode.topic.text))
    while True:
        step = step_of(episode.ask(messages, stop=STOPS))
        if step.kind == "answer":
            return step.content[:MAX_TURN_CHARACTERS]
        if step.kind == "search":
            if episode.spent:
                raise Stop("rounds")
            line = _information(episode, step.content)
        else:
            line = episode.correct("malformed_turn", _CORRECTION)
        if episode.calls + 1 == episode.settings.rounds:
            line = f"{line}\n{_LAST}"
        # The end of a turn is what the next one goes on from.
        messages.append(Message("assistant", step.text[-MAX_TURN_CHARACTERS:] or "(nothing)"))
        messages.append(Message("user", line))


def step_of(reply: Reply) -> Step:
    """The step of a reply: of what the endpoint took for reasoning where the text is empty, for a think block that
    stays open takes the tags with it."""
    whole = reply.finish is not Finish.LENGTH
    return read_turn(reply.text if reply.text.strip() else reply.reasoning, whole=whole)


def read_turn(text: str, *, whole: bool = True) -> Step:
    """The step up to the first closing tag, where generation ends; its query or answer begins at the last opening tag.

    Whatever follows is not believed, nor a block of information that the model wrote itself. A `whole` turn without a
    closing tag was ended by it (endpoints leave out the text that they stop at); half a turn asks for nothing.
    """
    opening: re.Match[str] | None = None
    told: int | None = None
    for tag in _TAG.finditer(text):
        closes, name = bool(tag[1]), tag[2].lower()
        if name == "information":
            if not closes:
                told = tag.start() if told is None else told
            elif told is not None:
                return _ended(text[:told], opening, whole=whole)
        elif not closes:
            opening = tag
        elif opening is not None and opening[2].lower() == name:
            return _ended(text[: tag.start()], opening, whole=True)
        else:
            return Step(text[: tag.end()])
    if told is not None and opening is not None and opening.start() < told:
        text = text[:told]
    return _ended(text, opening, whole=whole)


def _ended(text: str, opening: re.Match[str] | None, *, whole: bool) -> Step:
    """The step of a text that ends before its closing tag."""
    if opening is None or opening.end() > len(text) or not whole:
        return Step(text)
    content = text[opening.end() :]
    if opening[2].lower() == "answer":
        return Step(f"{text}</answer>", "answer", content.strip())
    return Step(f"{text}</search>", "search", content.strip())


def _information(episode: Episode, query: str) -> str:
    found = look_up(episode, query)
    if found.trouble:
        return found.trouble
    texts = episode.show(found.docids)
    return enclosed("information", "\n".join(f"Doc {number}: {text}" for number, text in enumerate(texts, start=1)))

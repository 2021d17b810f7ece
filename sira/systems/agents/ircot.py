"""ircot: retrieval interleaved with the sentences of a chain of thought (Trivedi et al. 2022, arXiv 2212.10509).

The topic is searched, then each sentence that the model writes, until one says what the answer is. The documents of all
searches stand before the model, at most 15. The paper's second model, which reads these documents and answers, is left
out: the answer is that of the chain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sira.llm import Finish, Reply
from sira.llm.thinking import answer as without_thinking
from sira.prompts import enclosed
from sira.records import Message
from sira.systems.agents.base import AgentMethod, Episode, Stop
from sira.systems.agents.looking import MAX_QUERY_CHARACTERS, MAX_TURN_CHARACTERS, look_up

IRCOT = AgentMethod(
    "ircot",
    "Trivedi et al. 2022, arXiv 2212.10509",
    "agent-ircot",
    rounds=8,
    documents=6,
    characters=2000,
    max_tokens=256,
    searches=8,
)
MOST_DOCUMENTS = 15

_ANSWER = re.compile(r"\banswer\s{1,9}is\b[:\s]{0,9}", re.IGNORECASE)
_CONCLUSION = re.compile(r"(?:thus|so|that is|therefore|hence)\b", re.IGNORECASE)
"""How a sentence begins that states no new fact; the released code does not search with one."""
_LEAD = re.compile(r"(?:[-*\u2022]|\d{1,3}[.)]|(?:next )?sentence:|a:)\s+", re.IGNORECASE)
_END = re.compile(
    "[.!?]{1,9}[\"'\u201d\u2019)\\]*]{0,9}(?=\\s|$)|[\u3002\uff01\uff1f]+[\u201d\u2019\u300d\u300f\uff09]{0,9}|\n"
)
_SHORTENED = re.compile(
    r"(?:\b(?:[a-z]|(?:[a-z]\.){1,9}[a-z]|mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|fig|mt|gen|col|lt|capt|sgt|rev|hon|gov|sen"
    r"|cf|al|ca|inc|ltd|co|corp|dept|approx))\.$",
    re.IGNORECASE,
)
_WINDOW = 24  # characters before a full stop that tell whether it ends a short form


def ircot(episode: Episode) -> str | None:
    """What the chain says the answer is. Raises Stop: `rounds`, `malformed` after the replies that the model was told
    of."""
    shown: dict[str, str] = {}
    chain: list[str] = []
    line = ""
    _show(episode, episode.search(episode.topic.text).docids, shown)
    while True:
        reply = episode.ask(_messages(episode, list(shown.values()), chain, line))
        sentence, whole = first_sentence((without_thinking(reply.text) or "")[:MAX_TURN_CHARACTERS])
        line = _fault(episode, reply, sentence, chain, whole=whole)
        if line:
            continue
        chain.append(sentence)
        if (said := answer_of(sentence)) is not None:
            return said
        if episode.spent:
            raise Stop("rounds")
        if _CONCLUSION.match(sentence) is None:
            found = look_up(episode, sentence)
            line = found.trouble
            _show(episode, found.docids, shown)


def first_sentence(text: str) -> tuple[str, bool]:
    """The first sentence of a text, and whether its end was seen. A line ends one, but for a line that ends with a
    colon; marks of lists before it are left out; the stop of a short form or an initial ends none."""
    text = re.sub(r":[ \t]{0,9}\n\s*", ": ", text.strip())
    if lead := _LEAD.match(text):
        text = text[lead.end() :]
    for end in _END.finditer(text):
        at = end.end()
        short = end[0] == "." and _SHORTENED.search(text[max(0, at - _WINDOW) : at]) is not None
        if not short or at == len(text):
            return " ".join(text[:at].split()), True
    return " ".join(text.split()), False


def answer_of(sentence: str) -> str | None:
    """What follows the last "answer is"; None where it does not stand there."""
    places = list(_ANSWER.finditer(sentence))
    return sentence[places[-1].end() :].strip(" *\"'").removesuffix(".").strip(" *\"'") if places else None


def _fault(episode: Episode, reply: Reply, sentence: str, chain: Sequence[str], *, whole: bool) -> str:
    """The line for a sentence that does not go on from the chain; empty where it does."""
    if not sentence:
        return episode.correct("empty_sentence", "Your last reply held no sentence: write the next one.")
    if len(sentence) > MAX_QUERY_CHARACTERS:
        return episode.correct("long_sentence", "Your last reply was too long: write one sentence.")
    if sentence.casefold() in (before.casefold() for before in chain):
        line = "Your last reply stands in the reasoning already: write the sentence that follows it."
        return episode.correct("repeated_sentence", line)
    said = answer_of(sentence)
    if said == "" or (said is not None and not whole and reply.finish is Finish.LENGTH):
        return episode.correct("half_answer", "Your last reply held no whole answer: write it in fewer words.")
    return ""


def _show(episode: Episode, docids: Sequence[str], shown: dict[str, str]) -> None:
    """Adds the new ones of the first documents while there is room: those that came first stay, as in the paper."""
    new = [docid for docid in docids[: episode.settings.documents] if docid not in shown]
    new = new[: MOST_DOCUMENTS - len(shown)]
    shown |= zip(new, episode.show(new), strict=True)


def _messages(episode: Episode, texts: Sequence[str], chain: Sequence[str], line: str) -> list[Message]:
    """One turn of the user: the query, the documents in the order in which they came, the chain, and the line about the
    reply before; what was there already stands first, for the prefix cache."""
    *before, user = episode.settings.prompt.render_query(episode.topic.text)
    blocks = [enclosed("document", text) for text in texts]
    if chain:
        blocks.append(enclosed("reasoning", " ".join(chain)))
    content = "\n\n".join([user.content, *blocks, *([line] if line else [])])
    return [*before, user._replace(content=content)]

"""One prompt and its strict rendering to messages.

A text goes in as it is, but for the control tokens of chat templates, which are broken up; last, between tags that it
does not hold itself; and is never rendered again: a document with `$query`, `${x}`, orders or closing tags stays as
it is. All before it is the same for every text of a job, so that engines with a prefix cache read it once.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from string import Template
from typing import Literal

from sira.errors import InputError
from sira.records import Message

Side = Literal["document", "query", "text", "agent"]
"""What is asked for: phrases of a document, the sketch of a query, plain text that joins a query, turns of an agent."""

_USUAL = {"document": "document-generic", "query": "query-generic", "text": "text-hyde", "agent": "agent-react"}
MOST_PHRASES, MOST_WORDS, MOST_TEXT_WORDS = 100, 10, 500
LIMITS = ("max_phrases", "max_words")
_CONTROL = re.compile(
    r"<\|[^<>|\s]{1,40}\|>|<｜[^<>｜\s]{1,40}｜>|</?(?:s|think|start_of_turn|end_of_turn|bos|eos|pad)>|\[/?(?:INST|SYS|THINK)\]|<</?SYS>>",
    re.IGNORECASE,
)
"""The control tokens of chat templates in use. A tokenizer would read one inside a document as the end of the turn."""
_HERE, _DOCUMENTS = "\0", "\1"
_LESS_THAN = "<\N{FULLWIDTH LESS-THAN SIGN}\N{SMALL LESS-THAN SIGN}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of one prompt. `system` and `user` are templates in the notation of string.Template.

    `user` ends with `$document` on the document side, else with `$query`; `$max_phrases` and `$max_words` may stand in
    both. On the side `text` the limits count the texts (or keywords) and the words of each, and `$documents` may stand
    in `user` once, before the query. Raises InputError naming the prompt and the placeholder where that does not hold.
    """

    name: str
    version: int
    side: Side
    family: str
    about: str
    max_phrases: int
    max_words: int
    system: str
    user: str
    digest: str = field(init=False, compare=False)
    """sha256, in hex, of all that a model reads beside the text: limits and tags included, name and version not."""

    def __post_init__(self) -> None:
        words = MOST_TEXT_WORDS if self.side in ("text", "agent") else MOST_WORDS
        for count, most in (("version", None), ("max_phrases", MOST_PHRASES), ("max_words", words)):
            value = getattr(self, count)
            if value < 1 or (most is not None and value > most):
                raise InputError(
                    f"prompt {self.label}: {count} = {value}: give 1 {'or more' if most is None else f'to {most}'}"
                )
        _check(self)
        read = json.dumps(self._render("", ("",) if self.takes_documents else (), system_role=True))
        object.__setattr__(self, "digest", hashlib.sha256(read.encode()).hexdigest())

    @property
    def label(self) -> str:
        """Name and version, such as document-generic-1."""
        return f"{self.name}-{self.version}"

    @property
    def word(self) -> str:
        """What the tags around the text say: `document` or `query`."""
        return "document" if self.side == "document" else "query"

    @property
    def takes_documents(self) -> bool:
        """Whether documents go before the query."""
        return "documents" in Template(self.user).get_identifiers()

    def with_limits(self, max_phrases: int | None = None, max_words: int | None = None) -> Prompt:
        """The same prompt with other limits; None leaves a limit as it is.

        Raises InputError for a changed limit that no template states, since the model would never learn of it.
        """
        changed = {
            limit: value
            for limit, value in zip(LIMITS, (max_phrases, max_words), strict=True)
            if value is not None and value != getattr(self, limit)
        }
        for limit, value in changed.items():
            if limit not in {*Template(self.system).get_identifiers(), *Template(self.user).get_identifiers()}:
                raise InputError(
                    f"prompt {self.label}: {limit} = {value} would not reach the model, "
                    f"for neither system nor user holds ${limit}: write it there"
                )
        return replace(self, **changed)

    def render_document(self, text: str, *, system_role: bool = True) -> tuple[Message, ...]:
        """The messages that ask for the phrases of one document.

        Without `system_role` (chat templates that know none) the system's text opens the user's message.
        Raises InputError for a prompt of the query side.
        """
        require_side(self, "document")
        return self._render(text, (), system_role=system_role)

    def render_query(
        self, text: str, documents: Sequence[str] = (), *, system_role: bool = True
    ) -> tuple[Message, ...]:
        """The messages that ask for the sketch of one query, or for a text that joins it; else as `render_document`.

        Each of `documents` stands between tags of its own where `$documents` does. Raises InputError for a prompt of
        the document side, or for documents that it has no place for.
        """
        if self.side not in ("text", "agent"):
            require_side(self, "query")
        if documents and not self.takes_documents:
            raise InputError(f"prompt {self.label}: user has no place for documents: put $documents before $query")
        return self._render(text, documents, system_role=system_role)

    def _render(self, text: str, documents: Sequence[str], *, system_role: bool) -> tuple[Message, ...]:
        system, before, after = _frame(self)
        before = before.replace(_DOCUMENTS, "\n".join(enclosed("document", document) for document in documents))
        user = f"{before}{enclosed(self.word, text)}{after}"
        if not system:
            return (Message("user", user),)
        if not system_role:
            return (Message("user", f"{system}\n\n{user}"),)
        return (Message("system", system), Message("user", user))


@lru_cache(maxsize=32)
def _frame(prompt: Prompt) -> tuple[str, str, str]:
    """The system's text, and the user's before and after the text: the same for every text of a job."""
    values = {limit: str(getattr(prompt, limit)) for limit in LIMITS}
    places = {prompt.word: _HERE, "documents": _DOCUMENTS}
    before, after = Template(prompt.user).substitute(values | places).split(_HERE)
    return Template(prompt.system).substitute(values), before, after


def enclosed(word: str, text: str) -> str:
    """The text between tags of this word; with the first number that the text itself does not use where it holds such a
    tag, so that nothing inside it ends the block. Control tokens of chat templates are broken up."""
    tag = word
    if any(sign in text for sign in _LESS_THAN):
        plain = unicodedata.normalize("NFKC", text)
        if re.search(rf"<[\s/\\]*{word}", plain, re.IGNORECASE):
            used = set(re.findall(rf"{word}-([0-9]+)", plain, re.IGNORECASE))
            tag = next(f"{word}-{number}" for number in itertools.count(1) if str(number) not in used)
    return f"<{tag}>\n{_CONTROL.sub(_apart, text)}\n</{tag}>"


def _apart(match: re.Match[str]) -> str:
    """A control token with a blank behind its first sign, so that no tokenizer takes it for one."""
    return f"{match.group()[0]} {match.group()[1:]}"


def _check(prompt: Prompt) -> None:
    """Raises InputError for a placeholder that is unknown, missing, in the wrong template or not at the end."""
    place = f"prompt {prompt.label}"
    for part, template in (("system", prompt.system), ("user", prompt.user)):
        known = list(LIMITS)
        if part == "user":
            known += [prompt.word, "documents"] if prompt.side == "text" else [prompt.word]
        for match in Template.pattern.finditer(template):
            if match["invalid"] is not None:
                line = template.count("\n", 0, match.start()) + 1
                raise InputError(
                    f"{place}: {part}, line {line}: a lone $ is no placeholder: write $$ for a dollar sign"
                )
            name = match["named"] or match["braced"]
            if name is None or name in known:
                continue
            if name == prompt.word:
                raise InputError(f"{place}: system: ${name} belongs at the end of user: put it there")
            raise InputError(f"{place}: {part}: ${name} is no placeholder here: use ${', $'.join(known)}")
    found = [
        match for match in Template.pattern.finditer(prompt.user) if prompt.word in (match["named"], match["braced"])
    ]
    if len(found) != 1:
        raise InputError(
            f"{place}: user: ${prompt.word} stands {len(found)} times in it: it must stand once, at the end"
        )
    if prompt.user[found[0].end() :].strip():
        raise InputError(f"{place}: user: text follows ${prompt.word}: it must come last, so put the text before it")
    named = [match["named"] or match["braced"] for match in Template.pattern.finditer(prompt.user)]
    if named.count("documents") > 1:
        raise InputError(f"{place}: user: $documents stands {named.count('documents')} times in it: it may stand once")


def require_side(prompt: Prompt, side: str) -> None:
    if prompt.side != side:
        raise InputError(
            f"prompt {prompt.label} is of the {prompt.side} side: choose one of the {side} side, such as {_USUAL[side]}"
        )

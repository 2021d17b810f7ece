"""What phrases may never say: classes of words and patterns, read from a TOML file.

A policy is asked about proposed phrases only, never about the text of a document: those of an expansion store
(sira.filters) and those of a sketch (sira.compile). Words and patterns are matched in the normal form of a phrase
(NFKC, case folded, single blanks).
"""

from __future__ import annotations

import hashlib
import json
import re
import signal
import threading
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from sira.analysis import normal_form
from sira.config import read_toml
from sira.errors import InputError

DEFAULT_POLICY = Path(__file__).with_name("policy.toml")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PolicyClass(_Strict):
    """One kind of phrase: `words` are matched whole (a word or several), `patterns` are regular expressions.

    `needs`, a pattern too, only saves time: a phrase in which it is not found is not looked at further.
    """

    about: str
    enabled: bool = True
    needs: str | None = None
    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


PATTERN_SECONDS = 2.0
"""For all trials of one pattern together; a sound one takes microseconds."""


class Allowed(_Strict):
    """`phrases` are no guessed answers, whoever proposes them."""

    phrases: tuple[str, ...] = ()


class PolicyFile(_Strict):
    """The whole file: `[class.NAME]` tables, in the order in which they are asked, and `[allow]`."""

    classes: dict[str, PolicyClass] = Field(default_factory=dict[str, PolicyClass], alias="class")
    allow: Allowed = Allowed()


@dataclass(frozen=True, slots=True)
class Rule:
    """One class, compiled: what a phrase must hold to be looked at (None: anything), and what it must not hold."""

    name: str
    needs: re.Pattern[str] | None
    patterns: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """The enabled classes, compiled. `fingerprint` is SHA-256 over what they forbid, not over comments.

    `allowed`: normal forms that the detection of guessed answers lets pass. What a class forbids stays forbidden.
    """

    rules: tuple[Rule, ...]
    fingerprint: str
    allowed: frozenset[str] = frozenset()

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(rule.name for rule in self.rules)

    def forbids(self, text: str) -> str | None:
        """The first class that a phrase, given in its normal form, belongs to, or None."""
        for rule in self.rules:
            if rule.needs is None or rule.needs.search(text):
                for pattern in rule.patterns:
                    if pattern.search(text):
                        return rule.name
        return None


def read_policy(path: str | Path = DEFAULT_POLICY) -> Policy:
    """Read and compile a policy file; by default the one that comes with sira.

    Raises InputError naming the file, the class and the word or pattern that cannot be used.
    """
    path = Path(path)
    file = read_toml(path, PolicyFile)
    classes, allowed = file.classes, frozenset(map(normal_form, file.allow.phrases))
    if "" in allowed:
        raise InputError(f"{path}: [allow] holds an empty phrase: remove it")
    enabled = {name: item for name, item in classes.items() if item.enabled}
    rules = [_rule(f"{path}: class {name!r}", name, item) for name, item in classes.items()]
    facts = [
        [name, item.needs, sorted(map(normal_form, item.words)), sorted(item.patterns)]
        for name, item in enabled.items()
    ]
    fingerprint = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return Policy(tuple(rule for rule in rules if rule.name in enabled), fingerprint, allowed)


def _rule(where: str, name: str, item: PolicyClass) -> Rule:
    """A class compiled; one that is switched off too, since it is to be mended as well."""
    found: list[re.Pattern[str]] = []
    words = [normal_form(word) for word in item.words]
    if "" in words:
        raise InputError(f"{where}: holds an empty word, which would forbid every phrase: remove it")
    if words:
        found.append(re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)"))
    for pattern in item.patterns:
        compiled = _compiled(where, pattern)
        if compiled.search(""):
            raise InputError(f"{where}: pattern {pattern!r} matches the empty text, so every phrase: make it narrower")
        _check_time(where, pattern, compiled)
        found.append(compiled)
    return Rule(name, None if item.needs is None else _compiled(where, item.needs), tuple(found))


def _check_time(where: str, pattern: str, compiled: re.Pattern[str]) -> None:
    """Raises InputError for a pattern that takes for ever on short texts, as `(a+)+$` does: it is tried on repeats of
    the letters that it names. Python notices an alarm inside a search, in the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        return

    def late(*_: object) -> None:
        raise InputError(
            f"{where}: pattern {pattern!r} takes for ever on some texts: it repeats what repeats; make it simpler"
        )

    before = signal.signal(signal.SIGALRM, late)
    try:
        signal.setitimer(signal.ITIMER_REAL, PATTERN_SECONDS)
        for letter in dict.fromkeys([*filter(str.isalnum, pattern.lower()), "a", "0", " "]):
            compiled.search(letter * 64 + "\0")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _compiled(where: str, pattern: str) -> re.Pattern[str]:
    try:
        # in case folded phrases a capital letter could never match; ignoring case takes time where there is none
        return re.compile(pattern, 0 if pattern == pattern.lower() else re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"{where}: pattern {pattern!r} is no regular expression ({error}): mend it") from None

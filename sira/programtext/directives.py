"""What a text says about the whole program, and notes behind clauses: `@qid q1`, `{df=3}`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sira.errors import ProgramError
from sira.program import SCHEMA_VERSION, Scoring
from sira.programtext.query import EXACT_MAX_CLAUSES
from sira.programtext.scanner import Scanner
from sira.records import Outcome, Verdict

_SETTINGS = ("k1", "b", "contents_weight", "expansion_weight")
_DIRECTIVES = ("@program", "@qid", "@scoring", "@text", "@verdict")


class Directives:
    """Reads them where they stand, and holds what they said."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.said: dict[str, Any] = {}
        self.verdicts: list[Verdict] = []

    def read(self) -> None:
        """Read one setting or verdict."""
        scanner, start = self.scanner, self.scanner.at
        name = scanner.word()
        if name not in _DIRECTIVES:
            scanner.fail(f"expected {', '.join(_DIRECTIVES)}; a word that begins with '@' stands in quotes", start)
        if name in self.said:
            scanner.fail(f"expected {name} once", start)
        scanner.skip_blanks()
        if name == "@scoring":
            self.said[name] = _scoring(scanner)
            return
        if name == "@verdict":
            self.verdicts.append(_verdict(scanner))
            if len(self.verdicts) > EXACT_MAX_CLAUSES:
                scanner.fail(f"expected at most {EXACT_MAX_CLAUSES:,} verdicts", start)
            return
        if name == "@program":
            start, version = scanner.at, scanner.word()
            if version != str(SCHEMA_VERSION):
                scanner.fail(f"expected {SCHEMA_VERSION}, the version that this sira reads", start)
            self.said[name] = version
        elif name == "@qid":
            start = scanner.at
            self.said[name] = scanner.string() if scanner.next == '"' else scanner.word()
            if scanner.at == start:
                scanner.fail("expected the id of the topic after @qid")
        else:
            self.said[name] = scanner.string()
        if not scanner.ends_item():
            scanner.fail(f"expected a blank after the value of {name}")
        scanner.skip_blanks()


def _scoring(scanner: Scanner) -> Scoring:
    """`bm25f k1=0.9 b=0.4 contents_weight=1 expansion_weight=1`; what is left out has its default."""
    start = scanner.at
    combine = scanner.word()
    if combine != "bm25f" and combine != "sum":  # noqa: PLR1714 (so that the type narrows)
        scanner.fail("expected bm25f or sum after @scoring", start)
    values: dict[str, float] = {}
    while True:
        if not scanner.ends_item():
            scanner.fail("expected a blank")
        scanner.skip_blanks()
        start = scanner.at
        key = next((key for key in _SETTINGS if scanner.take(f"{key}=")), None)
        if key is None:
            return replace(Scoring(combine=combine), **values)
        if key in values:
            scanner.fail(f"expected {key}= once", start)
        values[key] = scanner.real(f"expected a number after '{key}='")
        try:
            replace(Scoring(), **values)
        except ProgramError as fault:
            scanner.fail(f"expected another value: {fault}", start)


def _verdict(scanner: Scanner) -> Verdict:
    """`@verdict too_common "phrase" "term" {df=60}`."""
    start = scanner.at
    outcome = scanner.word()
    if outcome not in set(Outcome):
        scanner.fail(f"expected an outcome: {', '.join(Outcome)}", start)
    scanner.skip_blanks()
    phrase = scanner.string("expected the proposed phrase in quotes")
    scanner.skip_blanks()
    term = scanner.string("expected its analysed form in quotes")
    notes = read_notes(scanner, ("df", "weight", "reason", "suggestion"))
    return Verdict(phrase, term, Outcome(outcome), **notes)


def read_notes(scanner: Scanner, keys: tuple[str, ...]) -> dict[str, Any]:
    """`{df=3 from="the phrase"}` where it is next: at least one of these keys, each once, in any order."""
    notes: dict[str, Any] = {}
    if not (scanner.ends_item() or scanner.next == "{"):
        scanner.fail("expected a blank")
    scanner.skip_blanks()
    if not scanner.take("{"):
        return notes
    expected = f"expected {', '.join(f'{key}=' for key in keys)} or '}}'"
    while True:
        scanner.skip_blanks()
        if notes and scanner.take("}"):
            if not scanner.ends_item():
                scanner.fail("expected a blank after '}'")
            scanner.skip_blanks()
            return notes
        start = scanner.at
        key = next((key for key in keys if key not in notes and scanner.take(f"{key}=")), None)
        if key is None:
            scanner.fail(expected + " (each once)" if notes else expected, start)
        if key in ("from", "reason", "suggestion"):
            notes[key] = scanner.string()
        elif key == "weight":
            notes[key] = scanner.real("expected a number after 'weight='")
        else:
            notes[key] = scanner.number("expected a whole number after 'df='")
            if not isinstance(notes[key], int):
                scanner.fail("expected a whole number after 'df='", start)
        if not (scanner.next == "}" or scanner.ends_item()):
            scanner.fail(expected)

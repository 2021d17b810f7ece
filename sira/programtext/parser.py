"""The grammar of program texts (docs/program-text.md), read in one pass and without recursion."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from sira.program import MAX_WEIGHT, Occur, Program, Scoring
from sira.programtext.clauses import read_exact, read_field, read_range
from sira.programtext.directives import Directives, read_notes
from sira.programtext.lexicon import NAME, SIGNS
from sira.programtext.query import (
    EXACT_MAX_CHARACTERS,
    EXACT_MAX_CLAUSES,
    MAX_CHARACTERS,
    MAX_CLAUSES,
    Exact,
    Position,
    Query,
    Raw,
)
from sira.programtext.scanner import Scanner

_ITEM = 'expected a word, "a phrase", (one | other), field:value or field:[low TO high]'
_OPERATORS = {
    "AND": "expected '+' directly before each word that must be there, no AND",
    "OR": "expected alternatives as (one | other), no OR",
    "NOT": "expected '-' directly before what is excluded, no NOT",
}
_MISPLACED = {
    "(": "expected ')' first: parentheses do not nest",
    ")": "expected '(' before ')'",
    "|": "expected '|' inside parentheses only: (one | other)",
    "^": "expected an item directly before '^'",
    "{": "expected no annotation: only exact items (=term, field:value) have one",
}
_LOOKALIKES = dict.fromkeys("‐‑‒–—−－", "-") | {"＋": "+"} | dict.fromkeys("“”„‟＂", '"')


def parse_query(text: str) -> Query:
    """Read a text as someone writes it. It takes no index: raw words stay raw until `bind`.

    Raises ProgramTextError with the position, what stands there and what was expected.
    """
    return _Parser(text, MAX_CHARACTERS, MAX_CLAUSES).query()


def program_from_text(text: str) -> Program:
    """Read an exact text, as `program_to_text` prints it, back to an equal program.

    Raises ProgramTextError as `parse_query` does, and for a raw word, which needs an index, or a missing `@qid`.
    """
    parser = _Parser(text, EXACT_MAX_CHARACTERS, EXACT_MAX_CLAUSES, exact=True)
    query = parser.query()
    if query.qid is None:
        parser.scanner.fail("expected @qid and the id of the topic")
    clauses = tuple(item.clause for item in query.items if isinstance(item, Exact))
    return Program(query.qid, clauses, query.scoring or Scoring(), query.verdicts, query.program_text or "")


class _Parser:
    """`exact` refuses raw words: a program holds analysed terms only."""

    def __init__(self, text: str, max_characters: int, max_clauses: int, *, exact: bool = False) -> None:
        self.scanner = Scanner(text, max_characters)
        self.max_clauses, self.exact, self.count = max_clauses, exact, 0

    def query(self) -> Query:
        scanner, items = self.scanner, list[Raw | Exact]()
        directives = Directives(scanner)
        scanner.skip_blanks()
        while scanner.next:
            if scanner.next == "@":
                directives.read()
            else:
                items += self._signed()
        return Query(
            scanner.text,
            tuple(items),
            directives.said.get("@qid"),
            directives.said.get("@scoring"),
            directives.said.get("@text"),
            tuple(directives.verdicts),
        )

    def _signed(self) -> list[Raw | Exact]:
        """One item or group of the top level, with its sign."""
        scanner, start, position = self.scanner, self.scanner.at, self.scanner.position()
        sign = scanner.next if scanner.next in SIGNS else None
        if sign:
            scanner.at += 1
            scanner.skip_invisible()
            if scanner.next in SIGNS:
                scanner.fail(f"expected no second sign after '{sign}'")
            if scanner.ends_item():
                scanner.fail(f"expected an item directly after '{sign}'", start)
        occur = SIGNS[sign] if sign else None
        if scanner.next == "(":
            return self._group(occur, position)
        item = self._item(position)
        return [_with(item, occur, 1.0)]

    def _item(self, position: Position) -> Raw | Exact:
        """One item without its sign, with its weight and annotation."""
        scanner, start = self.scanner, self.scanner.at
        self.count += 1
        if self.count > self.max_clauses:
            scanner.fail(f"expected at most {self.max_clauses:,} items")
        if scanner.next == "=":
            item: Raw | Exact = Exact(read_exact(scanner), position)
        elif scanner.next == '"':
            item = self._quoted(position)
        else:
            item = self._word(position)
        if self.exact and isinstance(item, Raw):
            scanner.fail("expected an exact item: mark an analysed term with '=', or bind the text to an index", start)
        if scanner.take("^"):
            item = _with(item, None, scanner.weight())
        if not (scanner.ends_item() or scanner.next == "{"):
            scanner.fail("expected a blank, or ^ and a weight, after the item")
        if isinstance(item, Raw):
            scanner.skip_blanks()
            return item
        notes = read_notes(scanner, ("df", "from"))
        return Exact(replace(item.clause, source=notes.get("from"), df=notes.get("df")), position)

    def _word(self, position: Position) -> Raw | Exact:
        scanner, start = self.scanner, self.scanner.at
        if scanner.next in _LOOKALIKES and scanner.next:
            scanner.fail(f"expected {_LOOKALIKES[scanner.next]!r} (this one looks alike), or a word")
        word = scanner.word()
        if not word:
            scanner.fail(_MISPLACED.get(scanner.next, _ITEM))
        name, colon, value = word.partition(":")
        if colon and not name:
            scanner.fail("expected a field before ':', as in field:value", start)
        if colon and NAME.fullmatch(name):
            scanner.at = start + len(name) + 1
            return Exact(read_field(scanner, name, value), position)
        if word in _OPERATORS:
            scanner.fail(_OPERATORS[word] + "; a word in capitals stands in quotes", start)
        if "*" in (word[0], word[-1]):
            scanner.fail("expected a whole word: there are no wildcards (the analyzer joins forms of a word)", start)
        if "~" in word:
            scanner.fail("expected a word without '~': there is no fuzzy or near search", start)
        return Raw("word", (word,), position)

    def _quoted(self, position: Position) -> Raw | Exact:
        scanner, start = self.scanner, self.scanner.at
        text = scanner.string()
        if scanner.take(":"):
            if scanner.next != "[":
                scanner.fail("expected '[' (the name of a facet's field stands without quotes)")
            return Exact(read_range(scanner, text), position)
        if not text.strip():
            scanner.fail("expected at least one word between the quotes", start)
        return Raw("phrase", (text,), position)

    def _group(self, occur: Occur | None, position: Position) -> list[Raw | Exact]:
        """`(one | other)` is one item of alternatives; `(one other)` gives each item its sign and weight."""
        scanner = self.scanner
        scanner.at += 1
        opened = f"the parenthesis opened at {scanner.place()}"
        parts: list[list[Raw | Exact]] = [[]]
        no_alternative: int | None = None
        while True:
            scanner.skip_blanks()
            if scanner.next in (")", "|") and scanner.next:
                if not parts[-1]:
                    scanner.fail(f"expected a word ({opened})")
                if scanner.take(")"):
                    break
                scanner.at += 1
                parts.append([])
                self._check_alternative(no_alternative)
            elif not scanner.next:
                scanner.fail(f"expected ')' ({opened})")
            elif scanner.next in SIGNS:
                scanner.fail("expected no sign inside parentheses: it stands before '('")
            else:
                start, item = scanner.at, self._item(scanner.position())
                parts[-1].append(item)
                if isinstance(item, Exact) or item.weight != 1:
                    no_alternative = start
                if len(parts) > 1:
                    self._check_alternative(no_alternative)
        weight = scanner.weight() if scanner.take("^") else 1.0
        if not scanner.ends_item():
            scanner.fail("expected a blank, or ^ and a weight, after ')'")
        scanner.skip_blanks()
        if len(parts) > 1:
            texts = tuple(" ".join(text for item in part for text in cast("Raw", item).texts) for part in parts)
            return [Raw("any_of", texts, position, weight, occur or "should")]
        if any(_weight(item) * weight > MAX_WEIGHT for item in parts[0]):
            scanner.fail(f"expected weights whose product is at most {MAX_WEIGHT:g}", found="a weighted group")
        return [_with(item, occur, weight) for item in parts[0]]

    def _check_alternative(self, start: int | None) -> None:
        if start is not None:
            self.scanner.fail(
                "expected alternatives of raw words without weights; exact ones are written =(one | other)", start
            )


def _weight(item: Raw | Exact) -> float:
    return item.weight if isinstance(item, Raw) else item.clause.weight


def _with(item: Raw | Exact, occur: Occur | None, factor: float) -> Raw | Exact:
    """The item with this sign, where one was written, and its weight times the factor."""
    if isinstance(item, Raw):
        return replace(item, occur=occur or item.occur, weight=item.weight * factor)
    clause = replace(item.clause, occur=occur or item.clause.occur, weight=item.clause.weight * factor)
    return Exact(clause, item.position)

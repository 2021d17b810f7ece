"""Clauses that need no analyzer: what stands behind `=`, facets and ranges."""

from __future__ import annotations

from sira.program import AnyOfClause, Clause, FacetClause, PhraseClause, RangeClause, TermClause
from sira.programtext.lexicon import NAME, Bound, moment, number, range_fault
from sira.programtext.scanner import Scanner


def read_exact(scanner: Scanner) -> Clause:
    """What stands behind `=`: never analysed, never checked against good sense."""
    scanner.at += 1
    if scanner.take("["):
        terms = _terms(scanner, "]", "")
        if len(terms) < 2:
            scanner.fail("expected two or more terms in =[...]: one stands alone, as =term", scanner.at - 1)
        return PhraseClause(terms)
    if scanner.take("("):
        return AnyOfClause(_terms(scanner, ")", "|"))
    if scanner.take(":"):
        start = scanner.at
        facet = scanner.string('expected a facet in quotes after "=:"')
        if not facet:
            scanner.fail("expected a facet that is not empty", start)
        return FacetClause(facet)
    start = scanner.at
    if scanner.next == '"':
        term = scanner.string()
        if scanner.take(":"):
            return read_range(scanner, term, checked=False)
        if not term:
            scanner.fail("expected a term that is not empty", start)
        return TermClause(term)
    word = scanner.word()
    if not word:
        scanner.fail("expected an analysed term directly after '=': =term, =[two terms] or =(one | other)")
    if word.endswith(":") and scanner.next == "[" and NAME.fullmatch(word[:-1]):
        return read_range(scanner, word[:-1], checked=False)
    if ":" in word:
        scanner.fail("expected a term with ':' in quotes, as in =\"a:b\", or a facet without '='", start)
    return TermClause(word)


def _terms(scanner: Scanner, close: str, between: str) -> tuple[str, ...]:
    """Exact terms up to the closing mark, each bare or in quotes."""
    opened, terms = f"the list opened at {scanner.place()}", list[str]()
    while True:
        scanner.skip_blanks()
        start = scanner.at
        term = scanner.string() if scanner.next == '"' else scanner.word()
        if not term:
            scanner.fail(f"expected an analysed term ({opened})", start)
        terms.append(term)
        if scanner.next == "^":
            scanner.fail(f"expected the weight after '{close}'")
        end = scanner.at
        scanner.skip_blanks()
        if scanner.take(close):
            return tuple(terms)
        if not (scanner.take(between) if between else scanner.at > end):
            scanner.fail(f"expected {repr(between) if between else 'a blank'} or '{close}' ({opened})")


def read_field(scanner: Scanner, name: str, value: str) -> Clause:
    """What follows `name:`, a range or a facet."""
    if scanner.next == "[":
        return read_range(scanner, name)
    if scanner.next == '"':
        start = scanner.at
        value = scanner.string()
        if not value:
            scanner.fail("expected a value that is not empty after ':'", start)
    elif not value:
        scanner.fail("expected a value directly after ':' (field:value or field:[low TO high])")
    else:
        scanner.at += len(value)
    return FacetClause(f"{name}:{value}")


def read_range(scanner: Scanner, field: str, *, checked: bool = True) -> RangeClause:
    """`[low TO high]`; `checked` refuses bounds in the wrong order or of two types."""
    start = scanner.at
    scanner.expect("[", "expected '[' and the bounds of a range: [low TO high]")
    scanner.skip_blanks()
    low = _bound(scanner, "low")
    scanner.skip_blanks()
    start_of_to = scanner.at
    if not (scanner.take("TO") and scanner.ends_item()):
        scanner.fail("expected TO between the bounds: [low TO high]", start_of_to)
    scanner.skip_blanks()
    high = _bound(scanner, "high")
    scanner.skip_blanks()
    scanner.expect("]", "expected ']' after the bounds (both belong to the range)")
    if low is None and high is None:
        scanner.fail("expected at least one bound that is not '*'", scanner.at - 1, found="two open sides")
    if checked and (fault := range_fault(low, high)):
        scanner.fail(fault, start)
    return RangeClause(field, low, high)


def _bound(scanner: Scanner, side: str) -> Bound:
    start = scanner.at
    if scanner.next == '"':
        return scanner.string()
    value = scanner.value()
    if value == "*":
        return None
    if (read := number(value)) is not None:
        return read
    if moment(value) is None:
        scanner.fail(f"expected the {side} bound: a finite number, a date such as 2020-01-31, or *", start)
    return value

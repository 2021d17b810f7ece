"""What a page shows of a hit's text: passages chosen by the query's clauses, or Pi-Serini's window."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sira.agent.lines import Lines, cut_before
from sira.agent.marking import QuickMarker
from sira.compile.gates import idf
from sira.lucene.reader import Index
from sira.program import AnyOfClause, Clause, PhraseClause, Program, TermClause
from sira.search.explanation.passages import READ_CHARACTERS, Mark

MOST_CHARACTERS = 5 * READ_CHARACTERS
"""Of a longer text the beginning is looked at."""
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._-]*")
_COMMON = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "how", "in",
     "is", "of", "on", "or", "that", "the", "to", "was", "what", "when", "who", "with")
)  # fmt: skip
_BLANKS = re.compile(r"\s+")


class Excerpt(NamedTuple):
    """A passage in one line; `line` is the number of the line that holds its first word of the query (None: not
    known), `truncated`: the text goes on."""

    text: str
    line: int | None = None
    truncated: bool = False


def first_window(query: str, title: str, text: str, characters: int) -> Excerpt:
    """Pi-Serini's: the text around the first place where any word of the query stands, as part of a word too; the
    beginning where none does. Words are those of ASCII letters."""
    tokens = {token.lower() for token in _TOKEN.findall(query)}
    wanted = {token for token in tokens if len(token) > 1 and token not in _COMMON}
    lowered = f"{title}\n{text}".lower()
    places = [place for token in wanted if (place := lowered.find(token)) >= 0]
    shift = len(title) + 1 if len(lowered) == len(title) + 1 + len(text) else 0
    start = max(0, min(places) - shift - max(20, characters // 4)) if places else 0
    end = min(len(text), start + characters)
    window = text[start:end].strip()
    told = ("..." if start else "") + window + ("..." if end < len(text) else "")
    return Excerpt(told, None, len(window) < len(text))


class PassageFinder:
    """The best passages of documents for the programs of one ranking.

    A passage is worth the sum of weight x idf of the distinct clauses it holds. The next one is chosen by the clauses
    that are not shown yet. Words are matched as the index analyses them, in any script.
    """

    def __init__(self, index: Index, programs: Sequence[Program]) -> None:
        clauses = [clause for program in programs for clause in program.clauses]
        self._worth = _worth(clauses, index)
        self._marker = QuickMarker(clauses, index)
        self._words: dict[str, list[tuple[int, str, list[str]]]] = {}

    def learn(self, texts: Mapping[str, str]) -> None:
        """Part these texts, by docid, into words and have them analysed in one batch; the texts before are dropped."""
        self._words = {
            docid: [(start, part, self._marker.words(part)) for start, part in _parts(text)]
            for docid, text in texts.items()
        }
        self._marker.know(words for parts in self._words.values() for _, _, words in parts)

    def keys(self, docid: str, words: int) -> list[int]:
        """A number for what each of the first words of a text that was learned analyses to; stop words have none."""
        return self._marker.keys(self._words[docid][0][2][:words]) if self._words[docid] else []

    def passages(self, docid: str, lines: Lines, characters: int, most: int) -> list[Excerpt]:
        """Up to `most` passages of at most `characters` of a text that was learned, in its order, those that overlap
        as one; else its beginning."""
        text = lines.text
        marks = [
            Mark(start + mark.start, start + mark.end, mark.clauses) if start else mark
            for start, part, words in self._words[docid]
            for mark in self._marker.marks_of(part, words)
        ]
        spans: list[tuple[int, int, int]] = []
        shown: set[int] = set()
        for _ in range(most):
            worth = {place: value for place, value in self._worth.items() if place not in shown}
            best = _best(marks, worth, characters)
            if best is None:
                break
            start, end = _widened(text, *best, characters)
            spans.append((start, end, best[0]))
            shown |= {place for mark in marks if start <= mark.start < end for place in mark.clauses}
        found = [excerpt(lines, *span) for span in _joined(spans)]
        return found or beginning(lines, characters)


def beginning(lines: Lines, characters: int) -> list[Excerpt]:
    """The first words of a text; nothing of an empty one."""
    text = lines.text
    start = len(text) - len(text.lstrip())
    return [excerpt(lines, start, cut_before(text, start, start + characters), start)] if text.strip() else []


def excerpt(lines: Lines, start: int, end: int, first_word: int) -> Excerpt:
    """A stretch of a text in one line, with signs where the text goes on."""
    text = lines.text
    told = ("… " if text[max(0, start - 1000) : start].strip() else "") + _BLANKS.sub(" ", text[start:end]).strip()
    more = bool(text[end : end + 1000].strip())
    return Excerpt(told + (" …" if more else ""), lines.number_at(first_word), more)


def around(lines: Lines, start: int, end: int, before: int, after: int) -> Excerpt:
    """A match with so many characters before and after it, no letter cut."""
    text = lines.text
    left = cut_before(text, 0, start - before) if start > before else 0
    return excerpt(lines, left, cut_before(text, end, end + after) if after else end, start)


def _worth(clauses: Sequence[Clause], index: Index) -> dict[int, float]:
    """weight x idf of each clause that a text can hold, by its place. What must not be there is worth nothing."""
    worth: dict[int, float] = {}
    for place, clause in enumerate(clauses):
        if clause.occur == "must_not" or clause.kind in ("facet", "range"):
            continue
        df = clause.df
        if df is None:  # of alternatives, and of programs from elsewhere
            df = max(_frequencies(clause, index), default=1)
        worth[place] = (clause.weight or 1e-9) * idf(max(1, df), max(1, index.document_count))
    return worth


def _frequencies(clause: Clause, index: Index) -> list[int]:
    match clause:
        case TermClause():
            return index.df([clause.term])
        case PhraseClause() if index.has_positions:
            return index.window_df([clause.terms])
        case PhraseClause() | AnyOfClause():
            return index.df(clause.terms)
        case _:
            return []


def _parts(text: str) -> Iterable[tuple[int, str]]:
    """A long text in parts that a Marker reads whole, cut at line ends or blanks."""
    end = min(len(text), MOST_CHARACTERS)
    if end <= READ_CHARACTERS:
        return [(0, text[:end])]
    parts: list[tuple[int, str]] = []
    start = 0
    while start < end:
        stop = min(end, start + READ_CHARACTERS)
        if stop < end:
            stop = max(text.rfind("\n", start, stop), text.rfind(" ", start, stop), start) + 1
            stop = stop if stop > start + 1 else start + READ_CHARACTERS
        parts.append((start, text[start:stop]))
        start = stop
    return parts


def _best(marks: Sequence[Mark], worth: Mapping[int, float], characters: int) -> tuple[int, int] | None:
    """The stretch of marks, at most `characters` long, whose distinct clauses are worth most; of equals the shortest,
    whose words stand together, then the first."""
    best, length, found = 0.0, 0, None
    useful = [mark for mark in marks if not worth.keys().isdisjoint(mark.clauses)]
    counts: dict[int, int] = {}
    value = 0.0
    first = 0
    for mark in useful:
        for place in mark.clauses:
            counts[place] = counts.get(place, 0) + 1
            if counts[place] == 1:
                value += worth.get(place, 0.0)
        while useful[first] is not mark and (
            mark.end - useful[first].start > characters
            or all(counts[place] > 1 or place not in worth for place in useful[first].clauses)
        ):
            for place in useful[first].clauses:
                counts[place] -= 1
                if counts[place] == 0:
                    value -= worth.get(place, 0.0)
            first += 1
        own = mark.end - useful[first].start
        if value > best * (1 + 1e-9) or (found and value >= best * (1 - 1e-9) and own < length):
            best, length, found = value, own, (useful[first].start, mark.end)
    return found


def _joined(spans: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Stretches in the order of the text, those that overlap as one; the last number is the first word's place."""
    joined: list[tuple[int, int, int]] = []
    for start, end, word in sorted(spans):
        if joined and start < joined[-1][1]:
            before, other_end, other_word = joined.pop()
            joined.append((before, max(end, other_end), min(word, other_word)))
        else:
            joined.append((start, end, word))
    return joined


def _widened(text: str, start: int, end: int, characters: int) -> tuple[int, int]:
    """Around a stretch, up to the length of a passage; neither words of blanks nor letters are cut."""
    room = max(0, characters - (end - start))
    left = max(0, start - room // 2)
    right = min(len(text), left + max(characters, end - left))
    left = max(0, min(left, right - characters)) if end - start < characters else start
    if left:
        blank = _BLANKS.search(text, left, start)
        left = blank.end() if blank else _border(text, left, start)
    return left, max(end, cut_before(text, start, right)) if right < len(text) else right


def _border(text: str, left: int, start: int) -> int:
    cut = cut_before(text, 0, left)
    return cut if cut <= start else left

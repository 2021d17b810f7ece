"""BrowseComp-Wikipedia: questions whose gold pages are Wikipedia's, over a corpus made by `sira wikipedia prepare`.

Source of the format: facebookresearch/sira, browsecomp-wiki. One JSON object a line: `query_id`, `problem`, `answer`,
and three objects keyed "1", "2", ...: `wiki_gold_titles`, `wiki_gold_urls`, `wiki_gold_categories`. The questions must
not be published in the clear, so no message here holds their text.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from sira.corpora.jsonl import is_valid_id
from sira.corpora.rows import json_rows
from sira.corpora.wikipedia.names import page_name, page_of_url
from sira.corpora.wikipedia.pages import Landing, Pages
from sira.errors import InputError
from sira.records import Place, Ranking, Run, Topic

log = logging.getLogger("sira.browsecomp")

SHOWN = 10


@dataclass(frozen=True, slots=True)
class GoldEntry:
    """A gold page as published; either may be ""."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Question:
    """One row of the file. `categories` are those of all its gold pages, each once."""

    qid: str
    problem: str
    gold: tuple[GoldEntry, ...]
    categories: tuple[str, ...] = ()


class Outcome(StrEnum):
    """What became of a gold page."""

    FOUND = "found"
    REDIRECTED = "redirected"
    ABSENT = "absent"
    OTHER_SITE = "other_site"
    """Its address is of another wiki than the corpus."""


@dataclass(frozen=True, slots=True)
class GoldPage:
    """A gold page and where it leads. `docid` is that of the corpus, or the page's own name where the corpus lacks it.

    `other` is the page that the title leads to where that is another one than the address leads to, which counts.
    """

    qid: str
    entry: GoldEntry
    docid: str
    outcome: Outcome
    other: str | None = None


def read_questions(path: str | Path) -> tuple[Question, ...]:
    """The questions in their order. Raises InputError naming file, line and field for a row in another form."""
    path = Path(path)
    questions: dict[str, Question] = {}
    for place, row in json_rows(path):
        question = _question(place, row)
        if question.qid in questions:
            raise InputError(f"{place}: the query_id {question.qid!r} stands twice; remove one of the rows")
        questions[question.qid] = question
    if not questions:
        raise InputError(f"{path}: no question in this file; check that it is the right one")
    return tuple(questions.values())


def topics(questions: Iterable[Question]) -> tuple[Topic, ...]:
    return tuple(Topic(question.qid, question.problem) for question in questions)


def gold_pages(questions: Iterable[Question], pages: Pages) -> tuple[GoldPage, ...]:
    """Each gold page, by its address and else by its title, over redirects. Reads the corpus's titles and redirects."""
    entries = [(question.qid, entry) for question in questions for entry in question.gold]
    names = (name for _, entry in entries for name in (_by_url(entry)[1], page_name(entry.title)))
    found = pages.find(filter(None, names))
    return tuple(_gold_page(qid, entry, found, pages.site) for qid, entry in entries)


def qrels(questions: Sequence[Question], pages: Pages) -> dict[str, dict[str, int]]:
    """Grade 1 for each gold page, once however many addresses lead to it.

    Pages that the corpus lacks stay, so that they count in recall's denominator; the log names the first few of them
    with the titles nearest to theirs.
    """
    gold = gold_pages(questions, pages)
    for line in report(gold, pages)[1 : SHOWN + 1]:
        log.warning("%s", line)
    return judged(gold)


def judged(gold: Iterable[GoldPage]) -> dict[str, dict[str, int]]:
    """qid -> docid -> 1."""
    result: dict[str, dict[str, int]] = {}
    for page in gold:
        result.setdefault(page.qid, {})[page.docid] = 1
    return result


def report(gold: Sequence[GoldPage], pages: Pages) -> list[str]:
    """A line of counts, then a line for each gold page that is not in the corpus or whose title says another page."""
    outcomes = Counter(page.outcome for page in gold)
    unique = {(page.qid, page.docid) for page in gold}
    counts = ", ".join(f"{outcome} {outcomes[outcome]}" for outcome in Outcome)
    lines = [f"{len(gold)} gold pages, {len(unique)} unique by question: {counts}"]
    absent = [page for page in gold if page.outcome is Outcome.ABSENT]
    near = pages.nearest(page.docid for page in absent)
    for page in gold:
        if page.outcome is Outcome.ABSENT:
            hint = ", ".join(near[page.docid]) or "no title is"
            lines.append(f"question {page.qid}: the gold page {page.docid!r} is not in the corpus; near it: {hint}")
        elif page.outcome is Outcome.OTHER_SITE:
            lines.append(f"question {page.qid}: the gold page {page.docid!r} is of another wiki than {pages.site}")
        elif page.other is not None:
            lines.append(
                f"question {page.qid}: the title leads to {page.other!r}, the address to {page.docid!r}, which counts"
            )
    return lines


def page_run(run: Run, pages: Pages) -> Run:
    """A run whose docids are addresses, titles or redirects, by the pages that they lead to.

    Of several that lead to one page the first counts, so that ranks count pages. What leads to no page of the corpus
    keeps its own docid.
    """
    names = {
        docid: (page_of_url(docid) or ("", ""))[1] if "/wiki/" in docid or "://" in docid else page_name(docid)
        for ranking in run.rankings.values()
        for docid in ranking.docids
    }
    found = pages.find(filter(None, names.values()))

    def unique(ranking: Ranking) -> Ranking:
        best: dict[str, float] = {}
        for docid, score in zip(ranking.docids, ranking.scores, strict=True):
            end = found.get(names[docid])
            best.setdefault(end.name if end is not None and end.there else docid, score)
        return Ranking(tuple(best), tuple(best.values()))

    return Run(run.name, {qid: unique(ranking) for qid, ranking in run.rankings.items()})


def _gold_page(qid: str, entry: GoldEntry, found: Mapping[str, Landing], site: str) -> GoldPage:
    (host, name), by_title = _by_url(entry), page_name(entry.title)
    if name and site and host != site:
        return GoldPage(qid, entry, f"{host}/{name}", Outcome.OTHER_SITE)
    ends = [(start, found[start]) for start in (name, by_title) if start]
    there = [(start, end.name) for start, end in ends if end.there]
    if not there:
        return GoldPage(qid, entry, ends[0][1].name, Outcome.ABSENT)
    (start, docid), other = there[0], there[-1][1]
    outcome = Outcome.FOUND if docid == start else Outcome.REDIRECTED
    return GoldPage(qid, entry, docid, outcome, other if other != docid else None)


def _by_url(entry: GoldEntry) -> tuple[str, str]:
    """(site, name) by the address, ("", "") where it names no page."""
    return page_of_url(entry.url) or ("", "")


def _question(place: Place, row: Mapping[str, Any]) -> Question:
    qid = row.get("query_id")
    qid = str(qid) if type(qid) is int else qid
    if not isinstance(qid, str) or not is_valid_id(qid):
        raise InputError(f"{place}: `query_id` must be a string without white space, or a number")
    if not isinstance(problem := row.get("problem"), str):
        raise InputError(f"{place}: `problem` must be a string (the question in the clear)")
    titles, urls = _texts(place, row, "wiki_gold_titles"), _texts(place, row, "wiki_gold_urls")
    gold = {key: GoldEntry(titles.get(key, ""), urls.get(key, "")) for key in (*titles, *urls)}
    for key, entry in gold.items():
        if not (_by_url(entry)[1] or page_name(entry.title)):
            raise InputError(f"{place}: the gold page {key!r} has neither a title nor the address of a page")
    if not gold:
        raise InputError(f"{place}: no gold page: give `wiki_gold_titles` or `wiki_gold_urls`")
    categories = _table(place, row, "wiki_gold_categories").values()
    names = (name for found in categories if isinstance(found, list) for name in cast("list[object]", found))
    return Question(
        qid, problem, tuple(gold.values()), tuple(dict.fromkeys(name for name in names if isinstance(name, str)))
    )


def _texts(place: Place, row: Mapping[str, Any], field: str) -> dict[str, str]:
    table = _table(place, row, field)
    for key, value in table.items():
        if not isinstance(value, str):
            raise InputError(f"{place}: `{field}` has no string under {key!r}")
    return cast("dict[str, str]", table)


def _table(place: Place, row: Mapping[str, Any], field: str) -> dict[str, object]:
    table: object = row.get(field) or {}
    if not isinstance(table, dict):
        raise InputError(f'{place}: `{field}` must be an object such as {{"1": ...}}')
    return cast("dict[str, object]", table)

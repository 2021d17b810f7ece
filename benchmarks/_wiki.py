"""A Wikipedia that never was: its dump in MediaWiki's own XML, questions in BrowseComp-Wikipedia's format, sketches.

Pages are mixed as in the English Wikipedia's pages-articles: three in ten are articles, nearly half redirects, the rest
categories, templates and project pages. People and museums share professions, places, years and pastimes, so that each
fact fits many pages. The same number of pages gives the same bytes.
"""

from __future__ import annotations

import bz2
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, islice
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

_PROFESSIONS = ("ceramicist", "botanist", "surveyor", "composer", "glaciologist", "printer", "cartographer", "weaver")
_PASTIMES = ("moths", "door knockers", "tide tables", "bell ropes", "seed packets", "tram tickets", "snow globes")
_PLACES = "Kenya Norway Peru Wales Québec Bavaria Ghana Chile Estonia Malta Nepal Oman".split()  # noqa: SIM905
_LATIN = "an bel cor dan el fer gal hon il jor kas lem mar nor os pel qui ros sam tor ul ven wes yor zan".split()  # noqa: SIM905
_SYLLABLES = (*_LATIN, "שלום", "مكتبة", "Žižek", "O'Br", "d'A")
_NAMESPACES = {0: "", 1: "Talk", 4: "Wikipedia", 6: "File", 10: "Template", 14: "Category"}
_PER_STREAM = 100

SITE = "https://en.wikipedia.org/wiki/"


@dataclass(frozen=True, slots=True)
class Person:
    number: int
    title: str
    profession: str
    place: str
    year: int
    pastime: str
    museum: str

    @property
    def categories(self) -> list[str]:
        return [
            f"{self.year} births",
            f"{self.profession.title()}s from {self.place}",
            f"Collectors of {self.pastime}",
            "All stub articles",
        ]


@dataclass(slots=True)
class Wiki:
    """The pages of a wiki of about `size` pages. `redirects`: title to title, some over another, a few in a circle."""

    size: int
    people: list[Person] = field(default_factory=list[Person])
    museums: dict[str, str] = field(default_factory=dict[str, str])
    redirects: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        draw = random.Random(23)
        articles = max(20, self.size * 3 // 10)
        names = _names(draw)
        for place in _PLACES:
            for title in islice(names, max(1, articles // 20 // len(_PLACES))):
                self.museums[f"{title} Museum"] = place
        museums = list(self.museums)
        for number in range(articles - len(museums)):
            self.people.append(
                Person(
                    number,
                    next(names),
                    draw.choice(_PROFESSIONS),
                    draw.choice(_PLACES),
                    draw.randrange(1850, 1990),
                    draw.choice(_PASTIMES),
                    draw.choice(museums),
                )
            )
        titles = [*museums, *(person.title for person in self.people)]
        for number in range(self.size * 45 // 100):
            to = titles[number % len(titles)]
            alias = f"{to.split()[-1]}, {to.split()[0]} ({number})"
            self.redirects[alias] = f"{titles[number % len(titles) - 1]} redirect" if number % 500 == 7 else to
        for number in range(self.size // 1000 + 1):
            self.redirects |= {f"Circle {number}a": f"Circle {number}b", f"Circle {number}b": f"Circle {number}a"}


def write_wiki(folder: Path, pages: int, *, questions: int = 50, shards: int = 2) -> Wiki:
    """Write dump-1.xml.bz2, ... (multistream), questions.jsonl and sketches.jsonl."""
    folder.mkdir(parents=True, exist_ok=True)
    wiki = Wiki(pages)
    rendered = list(_pages(wiki))
    size = -(-len(rendered) // shards)
    for shard in range(shards):
        part = rendered[shard * size : (shard + 1) * size]
        with (folder / f"dump-{shard + 1}.xml.bz2").open("wb") as stream:
            stream.write(bz2.compress(_head().encode()))
            for at in range(0, len(part), _PER_STREAM):
                stream.write(bz2.compress("".join(part[at : at + _PER_STREAM]).encode()))
            stream.write(bz2.compress(b"</mediawiki>\n"))
    asked = _asked(wiki, questions)
    _write_rows(folder / "questions.jsonl", (_question(wiki, qid, person) for qid, person in asked))
    _write_rows(folder / "sketches.jsonl", (_sketch(wiki, qid, person) for qid, person in asked))
    return wiki


def _write_rows(path: Path, rows: Iterable[object]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def _names(draw: random.Random) -> Iterator[str]:
    seen: set[str] = set()
    while True:
        words = ["".join(draw.choices(_SYLLABLES, k=draw.randint(2, 3))) for _ in range(2)]
        title = " ".join(word[:1].upper() + word[1:] for word in words)
        if title not in seen:
            seen.add(title)
            yield title


def _asked(wiki: Wiki, count: int) -> list[tuple[str, Person]]:
    draw = random.Random(31)
    return [(str(100 + n), person) for n, person in enumerate(draw.sample(wiki.people, min(count, len(wiki.people))))]


def _question(wiki: Wiki, qid: str, person: Person) -> dict[str, object]:
    """Two gold pages, and a third address that redirects to the first."""
    decade = person.year // 10 * 10
    alias = next((alias for alias, to in wiki.redirects.items() if to == person.title), person.title)
    gold = [person.title, person.museum, alias]
    urls = [SITE + quote(title.replace(" ", "_"), safe="") for title in gold]
    urls[1] = urls[1].replace("https://en.", "https://en.m.") + "?action=view#History"
    place = wiki.museums[person.museum]
    return {
        "query_id": qid,
        "problem": f"A {person.profession} from {person.place} who was born in the {decade}s kept {person.pastime} all "
        f"through life. They now lie in a museum of {place}. Who was it, and which museum is it?",
        "answer": f"{person.title}; {person.museum}",
        "wiki_gold_titles": {str(n): title for n, title in enumerate(gold, start=1)},
        "wiki_gold_urls": {str(n): url for n, url in enumerate(urls, start=1)},
        "wiki_gold_categories": {
            str(n): [name.replace(" ", "_") for name in (person.categories if n != 2 else [f"Museums in {place}"])]
            for n in (1, 2, 3)
        },
    }


def _sketch(wiki: Wiki, qid: str, person: Person) -> dict[str, object]:
    """What a model would propose that reads the question well: no names, categories as facets; the searches take the
    question apart, one for each constraint and one for the other page."""
    decade = person.year // 10 * 10
    collectors = f"category:Collectors_of_{person.pastime.replace(' ', '_')}"
    profession = f"category:{person.profession.title()}s_from_{person.place.replace(' ', '_')}"
    births = [f"category:{year}_births" for year in range(decade, decade + 10)]
    place = wiki.museums[person.museum]
    return {
        "qid": qid,
        "phrases": [f"collector of {person.pastime}", "bequeathed to the museum", f"{person.profession}s"],
        "facets": [profession, collectors, *births],
        "searches": [
            {"phrases": [f"collector of {person.pastime}"], "facets": [collectors]},
            {"phrases": [f"{person.profession}s", person.place], "facets": [profession]},
            {"phrases": [], "facets": births},
            {"phrases": ["museum", place], "facets": [f"category:Museums_in_{place.replace(' ', '_')}"]},
        ],
    }


def _head() -> str:
    spaces = "".join(
        f'      <namespace key="{key}" case="first-letter"' + (f">{name}</namespace>\n" if name else " />\n")
        for key, name in _NAMESPACES.items()
    )
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.mediawiki.org/xml/'
        'export-0.11/ http://www.mediawiki.org/xml/export-0.11.xsd" version="0.11" xml:lang="en">\n  <siteinfo>\n'
        f"    <sitename>Wikipedia</sitename>\n    <dbname>enwiki</dbname>\n    <base>{SITE}Main_Page</base>\n"
        "    <generator>MediaWiki 1.46.0-wmf.10</generator>\n    <case>first-letter</case>\n"
        f"    <namespaces>\n{spaces}    </namespaces>\n  </siteinfo>\n"
    )


def _page(number: int, namespace: int, title: str, text: str, redirect: str | None = None) -> str:
    prefix = f"{_NAMESPACES[namespace]}:" if namespace else ""
    target = f"    <redirect title={quoteattr(redirect)} />\n" if redirect else ""
    size = len(text.encode())
    return (
        f"  <page>\n    <title>{escape(prefix + title)}</title>\n    <ns>{namespace}</ns>\n    <id>{number}</id>\n"
        f"{target}"
        f"    <revision>\n      <id>{number + 1_000_000}</id>\n      <parentid>{number + 900_000}</parentid>\n"
        "      <timestamp>2026-05-01T00:00:00Z</timestamp>\n      <contributor>\n        <username>Nobody</username>\n"
        f"        <id>{number % 997}</id>\n      </contributor>\n      <comment>/* Life */ link</comment>\n"
        f"      <origin>{number + 1_000_000}</origin>\n      <model>wikitext</model>\n"
        "      <format>text/x-wiki</format>\n"
        f'      <text bytes="{size}" sha1="{number:031x}" xml:space="preserve">{escape(text)}</text>\n'
        f"      <sha1>{number:031x}</sha1>\n    </revision>\n  </page>\n"
    )


def _pages(wiki: Wiki) -> Iterator[str]:
    """The pages in an order that mixes namespaces, as page ids do."""
    draw = random.Random(41)
    filler = _Filler(draw)
    bodies: list[tuple[int, str, str, str | None]] = [
        (0, title, _museum(title, place, filler), None) for title, place in wiki.museums.items()
    ]
    bodies += [(0, person.title, _person(person, filler, wiki.museums[person.museum]), None) for person in wiki.people]
    redirects = wiki.redirects.items()
    bodies += [(0, alias, f"#REDIRECT [[{to}]]\n\n{{{{R from move}}}}", to) for alias, to in redirects]
    names = list(dict.fromkeys(name for person in wiki.people for name in person.categories))
    names += [f"Museums in {place}" for place in _PLACES]
    for number in range(wiki.size // 10):
        name = names[number] if number < len(names) else f"{filler.words(2).title()} {number}"
        bodies.append((14, name, f"{{{{Cat main}}}}\n[[Category:{names[number % 7]}|{{{{PAGENAME}}}}]]", None))
    while len(bodies) < wiki.size:
        namespace = (10, 10, 4, 6)[len(bodies) % 4]
        bodies.append(
            (namespace, f"{filler.words(2)} {len(bodies)}", f"{{{{#if:{{{{{{1|}}}}}}|{filler.words(60)}}}}}", None)
        )
    draw.shuffle(bodies)
    for number, (namespace, title, text, redirect) in enumerate(bodies[: wiki.size], start=1):
        yield _page(number, namespace, title, text, redirect)


class _Filler:
    """Running text of invented words, the frequent ones often."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._words = ["".join(draw.choices(_LATIN, k=draw.randint(1, 4))) for _ in range(5000)]
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(len(self._words))))

    def words(self, count: int) -> str:
        return " ".join(self._draw.choices(self._words, cum_weights=self._weights, k=count))

    def paragraphs(self, count: int) -> str:
        return "\n\n".join(
            f"{self.words(40)} '''{self.words(2)}''' [[{self.words(2)}|{self.words(1)}]] {self.words(30)}."
            f'<ref name="n{n}">'
            f"{{{{cite book|last={self.words(1)}|title={self.words(4)}|year=1999|page=[[{self.words(1)}]]}}}}</ref>"
            for n in range(count)
        )


def _person(person: Person, filler: _Filler, place: str) -> str:
    links = "\n".join(f"[[Category:{name}|{person.title}]]" for name in person.categories)
    return (
        f"{{{{Use dmy dates|date=May 2026}}}}\n{{{{Infobox person\n| name = {person.title}\n| birth_date = "
        f"{{{{birth date|{person.year}|3|14}}}}\n| birth_place = [[{person.place}]]\n}}}}\n"
        f"'''{person.title}''' (born 14 March {person.year}) was a [[{person.profession}]] from [[{person.place}]]."
        f"<ref>{{{{cite web|url=https://example.org/{person.number}|title=Obituary}}}}</ref>\n\n"
        f"== Life ==\n{filler.paragraphs(4)}\n\nThe {person.pastime} went to the [[{person.museum}]] in {place}.\n\n"
        f"== Works ==\n{{| class=\"wikitable\"\n! Year !! Title\n|-\n| {person.year + 30} || ''{filler.words(3)}''\n"
        f'|-\n| {person.year + 40} || style="x" | {filler.words(2)}\n|}}\n\n'
        f"== References ==\n{{{{reflist}}}}\n\n{links}"
    )


def _museum(title: str, place: str, filler: _Filler) -> str:
    return (
        f"{{{{Infobox museum|name={title}}}}}\nThe '''{title}''' is a museum in [[{place}]].\n\n"
        f"{filler.paragraphs(5)}\n\n"
        f"{{{{Authority control}}}}\n[[Category:Museums in {place}]]\n[[Category:All stub articles]]"
    )

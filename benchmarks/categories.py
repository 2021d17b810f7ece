"""The category graph: build time, peak memory and look-ups a second, from SQL dumps of the real shape or an export.

    python -m benchmarks.categories [--pages 1000000] [--older] [--xml FILE] [--fresh] [--json]

The dumps are generated, the same for the same number of pages: an eighth of the pages are categories, in a tree about
eight levels deep with second parents and some cycles; one in ten is hidden; memberships follow a power law; one page in
eight is of another namespace. `--xml` measures an export in their place. Look-ups run in one thread, in this process;
names are drawn evenly from all, and "given" ones come as people write them (`Category:1927 births`).
"""

from __future__ import annotations

import random
import resource
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time

from benchmarks._measure import Goal, Report, Row, options, p95, run_process, say, timed
from sira.categories import CategoryGraph

_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\0": "\\0"})
# fmt: off
_TOPICS = (
    "People", "Scientists", "Rivers", "Mountains", "Villages", "Films", "Albums", "Novels", "Painters",
    "Politicians", "Battles", "Companies", "Schools", "Stations", "Species", "Islands", "Bridges", "Museums",
    "Footballers", "Songs", "Ships", "Castles", "Churches", "Newspapers", "Languages", "Lakes", "Laws",
)
_PLACES = (
    "Kenya", "Norway", "Peru", "Japan", "Wales", "Québec", "O'Brien_County", "Bavaria", "Texas", "Ghana", "Chile",
    "Estonia", "Malta", "Nepal", "Oman", "Samoa", "Tuva", "Ukraine", "Vermont", "Yemen", "Zürich", "Ålesund",
    "Brazil", "Cuba", "Egypt", "Fiji", "Greece", "Haiti", "India", "Jamaica",
)
# fmt: on
_PAGE = """CREATE TABLE `page` (
  `page_id` int(8) unsigned NOT NULL AUTO_INCREMENT,
  `page_namespace` int(11) NOT NULL DEFAULT 0,
  `page_title` varbinary(255) NOT NULL DEFAULT '',
  `page_is_redirect` tinyint(1) unsigned NOT NULL DEFAULT 0,
  `page_is_new` tinyint(1) unsigned NOT NULL DEFAULT 0,
  `page_random` double unsigned NOT NULL DEFAULT 0,
  `page_touched` binary(14) NOT NULL,
  `page_links_updated` varbinary(14) DEFAULT NULL,
  `page_latest` int(8) unsigned NOT NULL DEFAULT 0,
  `page_len` int(8) unsigned NOT NULL DEFAULT 0,
  `page_content_model` varbinary(32) DEFAULT NULL,
  `page_lang` varbinary(35) DEFAULT NULL,
  PRIMARY KEY (`page_id`),
  UNIQUE KEY `page_name_title` (`page_namespace`,`page_title`)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
"""
_LINKS = """CREATE TABLE `categorylinks` (
  `cl_from` int(8) unsigned NOT NULL DEFAULT 0,
{older}  `cl_sortkey` varbinary(230) NOT NULL DEFAULT '',
  `cl_timestamp` timestamp NOT NULL,
  `cl_sortkey_prefix` varbinary(255) NOT NULL DEFAULT '',
{collation}  `cl_type` enum('page','subcat','file') NOT NULL DEFAULT 'page',
{newer}  PRIMARY KEY (`cl_from`)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
"""
_TARGET = """CREATE TABLE `linktarget` (
  `lt_id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  `lt_namespace` int(11) NOT NULL,
  `lt_title` varbinary(255) NOT NULL,
  PRIMARY KEY (`lt_id`)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
"""
ROOTS = ("Main_topic_classifications", "Fundamental_categories", "Articles")


def quoted(text: str) -> str:
    return "'" + text.translate(_ESCAPES) + "'"


def write_dump(path: Path, table: str, create: str, rows: Iterable[str]) -> None:
    """A dump as mysqldump writes it: statements of about 1 MB, one a line."""
    rows = iter(rows)
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write("-- MySQL dump 10.19  Distrib 10.11.6-MariaDB\n--\n")
        stream.write(f"{create}/*!40000 ALTER TABLE `{table}` DISABLE KEYS */;\n")
        while statement := list(islice(rows, 8000)):
            stream.write(f"INSERT INTO `{table}` VALUES " + ",".join(statement) + ";\n")
        stream.write(f"/*!40000 ALTER TABLE `{table}` ENABLE KEYS */;\n-- Dump completed on 2026-05-01 00:00:00\n")


def category_names(count: int) -> list[str]:
    """Roots and `Hidden_categories` first, then names for readers and, one in ten, maintenance."""
    names = [*ROOTS, "Hidden_categories"]
    for number in range(count - len(names)):
        topic, place = _TOPICS[number % len(_TOPICS)], _PLACES[number // len(_TOPICS) % len(_PLACES)]
        serial = 1000 + number // 10
        if number % 10 == 9:
            names.append(f"Articles_with_{topic.lower()}_statements_of_{place}_{serial}")
        else:
            names.append(f"{serial}_{topic.lower()}_of_{place}_({number % 10})")
    return names


def parents_of(number: int, draw: random.Random) -> list[int]:
    """Of a category, by number: its place in a tree of about eight levels, a second parent, now and then a cycle."""
    if number < 4:
        return []
    if number % 10 == 3:  # the ninth of ten after the four first: maintenance
        return [3]
    first = 0 if number < 12 else number // 5
    parents = [first if first % 10 != 3 else first - 1]
    if draw.random() < 0.4:
        parents.append(draw.randrange(4, number))
    if draw.random() < 0.01:
        parents.append(number + 1)
    return parents


def generate(folder: Path, pages: int, *, older: bool) -> None:
    """Write page.sql, categorylinks.sql and linktarget.sql of that many pages; the same each time."""
    folder.mkdir(parents=True, exist_ok=True)
    categories = pages // 8
    names = category_names(categories)

    def page_rows() -> Iterator[str]:
        for page in range(1, pages + 1):
            if page <= categories:
                namespace, title = 14, names[page - 1]
            else:
                namespace, title = (1 if page % 8 == 0 else 0), f"{_TOPICS[page % 27]}_d'{_PLACES[page % 30]}_{page}"
            tail = f"0,0,0.{page},'20260501000000',NULL,{page * 7},1234,'wikitext',NULL"
            yield f"({page},{namespace},{quoted(title)},{tail})"

    def link_rows() -> Iterator[str]:
        draw = random.Random(17)
        for page in range(1, pages + 1):
            if page <= categories:
                kind, chosen = "subcat", [n for n in parents_of(page - 1, draw) if n < categories]
            else:
                kind = "page"
                chosen = [4 + int((categories - 4) * draw.random() ** 2.5) for _ in range(draw.randint(2, 8))]
            for to in dict.fromkeys(chosen):
                key = quoted(f"D'\\,\x01Ü{page:x}\n{to:x}'),(")
                tail = f"{quoted(names[to])},{key},'2026-05-01 00:00:00','','uca-default-u-kn','{kind}'"
                yield (
                    f"({page},{tail})" if older else f"({page},{key},'2026-05-01 00:00:00','','{kind}',7,{to + 1001})"
                )

    def target_rows() -> Iterator[str]:
        for number in range(pages // 2):
            yield (
                f"({number + 1},10,{quoted(f'Template_{number}')})"
                if number < 1000
                else (
                    f"({number + 1},14,{quoted(names[number - 1000])})"
                    if number - 1000 < categories
                    else f"({number + 1},0,{quoted(f'Page_{number}')})"
                )
            )

    columns = {
        "older": "  `cl_to` varbinary(255) NOT NULL DEFAULT '',\n" if older else "",
        "collation": "  `cl_collation` varbinary(32) NOT NULL DEFAULT '',\n" if older else "",
        "newer": "" if older else "  `cl_collation_id` smallint(5) NOT NULL,\n  `cl_target_id` bigint(20) NOT NULL,\n",
    }
    write_dump(folder / "page.sql", "page", _PAGE, page_rows())
    write_dump(folder / "categorylinks.sql", "categorylinks", _LINKS.format(**columns), link_rows())
    write_dump(folder / "linktarget.sql", "linktarget", _TARGET, target_rows())


def misspelt(name: str, draw: random.Random) -> str:
    """A name with one letter left out and two exchanged; a short one with a letter added."""
    if len(name) < 8:
        return f"{name}q"
    at = draw.randrange(1, len(name) - 3)
    return name[:at] + name[at + 1] + name[at] + name[at + 3 :]


def look_up(graph: CategoryGraph, count: int) -> list[Row]:
    """Rates and times of each look-up."""
    draw = random.Random(5)
    known = [graph.name(draw.randrange(len(graph))) for _ in range(count)]
    given = [f"Category:{name.replace('_', ' ')}" for name in known]
    absent = [misspelt(name, draw) for name in known]
    rows: list[Row] = []

    def row(what: str, work: Callable[[str], object], names: Sequence[str]) -> None:
        for name in names[:1000]:
            work(name)
        start, busy = perf_counter(), process_time()
        for name in names:
            work(name)
        rate, of_cpu = len(names) / (perf_counter() - start), len(names) / (process_time() - busy)
        slow = p95([timed(work, names[:5000])]) * 1e6
        rows.append({"what": what, "per second": rate, "per CPU second": of_cpu, "p95 µs": slow})

    row("exists", graph.exists, known)
    row("exists, as given", graph.exists, given)
    row("exists, absent", graph.exists, absent)
    row("level", graph.level, known)
    row("is_hidden", graph.is_hidden, known)
    row("parents", graph.parents, known)
    row("children", graph.children, known)
    row("first 10 members", lambda name: graph.members(name, 10), known)
    row("nearest", graph.nearest, absent[:1000])
    found = sum(name in graph.nearest(wrong) for name, wrong in zip(known[:1000], absent, strict=False))
    rows.append({"what": "nearest: the right name among three, %", "value": found / min(1000, count) * 100})
    return rows


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--pages", type=int, default=1_000_000, help="pages of the generated dump (%(default)s)")
    parser.add_argument("--older", action="store_true", help="categorylinks in the older schema, with cl_to")
    parser.add_argument("--xml", type=Path, help="an export, in place of the generated dump")
    parser.add_argument("--lookups", type=int, default=100_000, help="names looked up (%(default)s)")
    arguments = parser.parse_args()
    folder: Path = arguments.work / f"categories-{arguments.pages}{'-older' if arguments.older else ''}"
    out = arguments.work / "categories-graph"
    if arguments.xml:
        inputs = ["--xml", str(arguments.xml)]
    else:
        if arguments.fresh or not (folder / "linktarget.sql").exists():
            say("generating")
            generate(folder, arguments.pages, older=arguments.older)
        inputs = [
            word
            for table in ("page", "categorylinks", "linktarget")
            for word in (f"--{table}", f"{folder / table}.sql")
        ]
    for file in sorted(out.rglob("*"), reverse=True):
        if file.is_dir():
            file.rmdir()
        else:
            file.unlink()
    say("building")
    command = [sys.executable, "-m", "sira", "categories", "build", "--out", str(out), "--quiet", *inputs]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    built = run_process(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    again = run_process(command)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file()) / 1e6
    report = Report("categories", {"input": arguments.xml.name if arguments.xml else f"{arguments.pages} pages"})
    report.notes.append(built.stdout.strip())
    start = perf_counter()
    graph = CategoryGraph.open(out)
    opened = (perf_counter() - start) * 1e3
    report.rows += [
        {"what": "build, s", "value": built.seconds},
        {"what": "build, CPU s", "value": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime},
        {"what": "build, peak MB", "value": built.peak_mb},
        {"what": "build again, nothing to do, s", "value": again.seconds},
        {"what": "folder, MB", "value": size},
        {"what": "open, ms", "value": opened},
        *look_up(graph, arguments.lookups),
    ]
    exists = next(row["per second"] for row in report.rows if row["what"] == "exists")
    assert isinstance(exists, float)
    report.goals.append(Goal("exists a second", exists, ">=", 50_000))
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()

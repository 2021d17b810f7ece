"""`sira search`: plain BM25, with a sketch, or a program from a file; hits on the terminal or a TREC run."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sira.cli.options import (
    SETTINGS,
    SKETCH,
    add_index,
    add_settings,
    add_sketch,
    open_index,
    programs,
    read_program,
    refuse,
    topics_and_sketches,
)
from sira.errors import InputError
from sira.tables import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sira.lucene.reader import Index
    from sira.program import Program
    from sira.search import Searched

HELP = "search an index: plain BM25, or with sketches"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="?", help="a query; or --topics, or --program")
    add_index(parser)
    parser.add_argument("-k", type=int, metavar="N", help="hits a query (10; 1000 with --run)")
    parser.add_argument("--run", type=Path, metavar="FILE", help="write a TREC run in place of hits on the terminal")
    parser.add_argument("--name", metavar="TAG", help="the run tag, with --run (sira)")
    parser.add_argument("--program", type=Path, metavar="FILE", help="run a program that `sira compile --json` wrote")
    parser.add_argument("--threads", type=int, default=1, help="searches at a time (1)")
    parser.add_argument("--json", action="store_true", help="hits as JSON Lines")
    add_sketch(parser)
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    from sira.search import search_programs

    k = arguments.k if arguments.k is not None else 1000 if arguments.run else 10
    if k < 1 or arguments.threads < 1:
        raise InputError(f"-k {k} --threads {arguments.threads}: both count from 1")
    if arguments.run:
        refuse(arguments, {"json": False}, "a run has its own format: leave out --run")
    else:
        refuse(arguments, {"name": None}, "it names a run: add --run FILE")
    with open_index(arguments) as index:
        found = search_programs(index, _programs(arguments, index), k, arguments.threads)
        if arguments.run:
            _write_run(found, arguments.run, arguments.name or "sira")
        else:
            for item in found:
                _show(item, index, as_json=arguments.json, named=arguments.topics is not None)
    return 0


def _programs(arguments: argparse.Namespace, index: Index) -> Iterable[Program]:
    if arguments.program:
        if arguments.query:
            raise InputError("--program says all of a search: give no query with it")
        refuse(arguments, {**SKETCH, **SETTINGS}, "--program says all of a search: leave this out")
        return [read_program(arguments.program)]
    topics, sketches = topics_and_sketches(arguments, arguments.query)
    if sketches is not None and (without := sum(topic.qid not in sketches for topic in topics)):
        print(f"sira: warning: {without} of {len(topics)} topics have no sketch: plain BM25", file=sys.stderr)
    return programs(topics, sketches, index, arguments)


def _warn_empty(item: Searched) -> None:
    if item.ranking:
        return
    absent = [clause.label for clause in item.program.clauses if clause.occur == "must" and clause.df == 0]
    if not item.program.clauses:
        why = "has no term that the analyzer keeps" if item.program.text else "has no clause"
    elif absent:
        why = f"requires {' and '.join(map(repr, absent))}, which no document holds"
    else:
        why = "found nothing"
    print(f"sira: warning: topic {item.program.qid!r} {why}: 0 hits", file=sys.stderr)


def _write_run(found: Iterable[Searched], path: Path, name: str) -> None:
    from sira.corpora.trec_writer import RunWriter

    topics = hits = 0
    with RunWriter(path, name) as writer:
        for item in found:
            _warn_empty(item)
            writer.write(item.program.qid, item.ranking)
            topics += 1
            hits += len(item.ranking)
    print(f"sira: {path}: {topics} topics, {hits} hits", file=sys.stderr)


def _show(item: Searched, index: Index, *, as_json: bool, named: bool) -> None:
    _warn_empty(item)
    titles = [""] * len(item.ranking)
    if index.manifest.stored_text:
        found = index.documents(item.ranking.docids)
        titles = [_line(document.title or document.text) if document else "" for document in found]
    if as_json:
        hits = [
            {"docid": hit.docid, "rank": hit.rank, "score": hit.score, "title": title}
            for hit, title in zip(item.ranking, titles, strict=True)
        ]
        print(json.dumps({"qid": item.program.qid, "hits": hits}, ensure_ascii=False))
        return
    if named:
        print(f"topic {item.program.qid}: {_line(item.program.text)}")
    for hit, title in zip(item.ranking, titles, strict=True):
        print(f"{hit.rank:>4}  {hit.score:9.4f}  {printable(hit.docid)}  {title}".rstrip())


def _line(text: str, columns: int = 90) -> str:
    text = printable(" ".join(text[: 4 * columns].split()))
    return text if len(text) <= columns else text[: columns - 1] + "…"

"""`sira explain`: a whole search, or what each clause adds to one document's score."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.cli.options import (
    AD_HOC,
    add_index,
    add_settings,
    add_sketch,
    one_topic,
    open_index,
    programs,
    refuse,
    topics_and_sketches,
)
from sira.cli.programs import (
    PROGRAM_HELP,
    add_syntax,
    one_program,
    read_programs,
    refuse_settings,
    refuse_sketch,
    written_programs,
)
from sira.errors import InputError, NotFoundError

if TYPE_CHECKING:
    from sira.lucene.reader import Index
    from sira.program import Program
    from sira.records import Sketch
    from sira.search import SearchExplanation

HELP = "explain a search, or what each clause gave to the score of one document"

_WHOLE: Mapping[str, Any] = {"k": 10, "qrels": None, "missed": [], "html": None}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("qid", help=f"a topic of --topics, {AD_HOC} with --query, or the qid of --program")
    parser.add_argument("docid", nargs="?", help="one document; without it the whole search is explained")
    parser.add_argument("--query", help="a query in place of --topics")
    parser.add_argument("--program", type=Path, metavar="FILE", help=PROGRAM_HELP)
    add_syntax(parser)
    add_index(parser)
    add = parser.add_argument_group("the whole search").add_argument
    add("-k", type=int, default=10, metavar="N", help="hits (10)")
    add("--qrels", type=Path, metavar="FILE", help="judgements: also explain relevant documents that are no hits")
    add(
        "--missed",
        nargs="+",
        action="extend",
        default=[],
        metavar="DOCID",
        help="also explain these where they are no hits",
    )
    add("--html", type=Path, metavar="FILE", help="also write a page, whole in itself")
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_sketch(parser)
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    from sira.cli.show import explanation_table, search_explanation
    from sira.corpora.files import replacing
    from sira.search import explain

    if arguments.docid is not None:
        refuse(arguments, _WHOLE, "it belongs to a whole search: leave out the document")
        with open_index(arguments) as index:
            program, _ = _program(arguments, index)
            one = explain(index, program, arguments.docid)
        print(_json(one.to_json()) if arguments.json else explanation_table(one), end="")
        return 0
    grades = _grades(arguments)
    # Opened first: a page that cannot be written is no news to hear after the search.
    with replacing(arguments.html) if arguments.html else nullcontext() as stream:
        found = _search(arguments, grades)
        if stream:
            from sira.search.explanation.page import page

            stream.write(page(found))
    if arguments.html:
        print(f"sira: page in {arguments.html}", file=sys.stderr)
    print(_json(found.to_json()) if arguments.json else search_explanation(found), end="")
    return 0


def _json(data: Mapping[str, object]) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _search(arguments: argparse.Namespace, grades: Mapping[str, int]) -> SearchExplanation:
    from sira.search import explain_search

    with open_index(arguments) as index:
        program, sketch = _program(arguments, index)
        found = explain_search(index, program, arguments.k, sketch=sketch, grades=grades, missed=arguments.missed)
    named = set(arguments.missed)
    for hit in found.hits:
        if hit.docid in named:
            print(f"sira: {hit.docid} is not missed: it has rank {hit.rank}", file=sys.stderr)
    return found


def _grades(arguments: argparse.Namespace) -> Mapping[str, int]:
    if arguments.k < 1:
        raise InputError(f"-k {arguments.k}: it counts from 1")
    if arguments.qrels is None:
        return {}
    from sira.corpora.trec import read_qrels

    qrels = read_qrels(arguments.qrels)
    if arguments.qid not in qrels:
        raise NotFoundError(f"{arguments.qrels}: judges no document for qid {arguments.qid!r}")
    return qrels[arguments.qid]


def _program(arguments: argparse.Namespace, index: Index) -> tuple[Program, Sketch | None]:
    """The program to explain, and the sketch it was compiled from, if one is at hand."""
    if arguments.program:
        refuse(arguments, {"query": None}, "--program says all of a search: leave this out")
        refuse_settings(arguments)
        return one_program(
            read_programs(arguments.program, index, arguments.qid), arguments.qid, arguments.program
        ), None
    refuse_sketch(arguments)
    topics, sketches = topics_and_sketches(
        arguments, arguments.query, lambda topics: [one_topic(topics, arguments.qid)]
    )
    topic = one_topic(topics, arguments.qid)
    if arguments.syntax == "program":
        (program,) = written_programs([topic], index, arguments)
        return program, None
    (program,) = programs([topic], sketches, index, arguments)
    return program, (sketches or {}).get(topic.qid)

"""`sira explain`: what each clause adds to a document's score, and its rank with and without the sketch."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from sira.cli.options import (
    AD_HOC,
    SETTINGS,
    SKETCH,
    add_index,
    add_settings,
    add_sketch,
    one_topic,
    open_index,
    programs,
    read_program,
    refuse,
    topics_and_sketches,
)
from sira.cli.show import explanation_table
from sira.errors import NotFoundError

if TYPE_CHECKING:
    from sira.lucene.reader import Index
    from sira.program import Program

HELP = "show what each clause gave to the score of one document"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("qid", help=f"a topic of --topics, {AD_HOC} with --query, or the qid of --program")
    parser.add_argument("docid", help="the document")
    parser.add_argument("--query", help="a query in place of --topics")
    parser.add_argument("--program", type=Path, metavar="FILE", help="a program in place of --topics")
    add_index(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_sketch(parser)
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    from sira.search import explain

    with open_index(arguments) as index:
        explanation = explain(index, _program(arguments, index), arguments.docid)
    if arguments.json:
        print(json.dumps(explanation.to_json(), ensure_ascii=False, indent=1))
    else:
        print(explanation_table(explanation), end="")
    return 0


def _program(arguments: argparse.Namespace, index: Index) -> Program:
    if arguments.program:
        refuse(arguments, {"query": None, **SKETCH, **SETTINGS}, "--program says all of a search: leave this out")
        program = read_program(arguments.program)
        if program.qid != arguments.qid:
            raise NotFoundError(f"qid {arguments.qid!r}: the program is that of {program.qid!r}")
        return program
    topics, sketches = topics_and_sketches(arguments, arguments.query)
    (program,) = programs([one_topic(topics, arguments.qid)], sketches, index, arguments)
    return program

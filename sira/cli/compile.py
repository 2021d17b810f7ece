"""`sira compile`: the program of a topic, and the verdict on every proposed window."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from sira.cli.options import (
    add_index,
    add_settings,
    add_sketch,
    one_topic,
    open_index,
    programs,
    refuse,
    topics_and_sketches,
)
from sira.cli.programs import add_syntax, refuse_sketch, written_programs

if TYPE_CHECKING:
    from sira.records import Topic

HELP = "turn a sketch into a program and show the verdict on each phrase"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="?", help="a query (one that begins with - behind --); or --topics")
    add_syntax(parser)
    add_index(parser)
    parser.add_argument("--qid", help="one topic of --topics")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="programs as JSON Lines, of all topics without --qid")
    form.add_argument("--text", action="store_true", help="the same in the exact text form (docs/program-text.md)")
    parser.add_argument(
        "--further",
        action="store_true",
        help="also the programs of the searches that a sketch proposes (--mode several)",
    )
    add_sketch(parser)
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    from sira.cli.show import program_table, verdict_table
    from sira.program import program_to_json
    from sira.programtext import program_to_text

    refuse_sketch(arguments)

    def wanted(topics: list[Topic]) -> list[Topic]:
        every = arguments.qid is None and (arguments.json or arguments.text)
        return topics if every else [one_topic(topics, arguments.qid)]

    if arguments.syntax == "program":
        refuse(arguments, {"further": False}, "it belongs to a sketch: --syntax program takes the query as written")
    topics, sketches = topics_and_sketches(arguments, arguments.query, wanted)
    topics = wanted(topics)
    with open_index(arguments) as index:
        documents = index.document_count
        written = arguments.syntax == "program"
        found = (
            written_programs(topics, index, arguments)
            if written
            else programs(topics, sketches, index, arguments, further=arguments.further)
        )
        for program in found:
            if arguments.json:
                print(json.dumps(program_to_json(program), ensure_ascii=False))
            elif arguments.text:
                print(program_to_text(program), end="")
            else:
                print(f"topic {program.qid}: {program.text}\n")
                print(program_table(program, documents))
                print(verdict_table(program, documents), end="")
    return 0

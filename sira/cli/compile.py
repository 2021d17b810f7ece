"""`sira compile`: the program of a topic, and the verdict on every proposed window."""

from __future__ import annotations

import argparse
import json

from sira.cli.options import add_index, add_settings, add_sketch, one_topic, open_index, programs, topics_and_sketches
from sira.cli.show import program_table, verdict_table

HELP = "turn a sketch into a program and show the verdict on each phrase"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="?", help="a query; or --topics")
    add_index(parser)
    parser.add_argument("--qid", help="one topic of --topics")
    parser.add_argument("--json", action="store_true", help="programs as JSON Lines, of all topics without --qid")
    add_sketch(parser)
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    from sira.program import program_to_json

    topics, sketches = topics_and_sketches(arguments, arguments.query)
    if arguments.qid is not None or not arguments.json:
        topics = [one_topic(topics, arguments.qid)]
    with open_index(arguments) as index:
        documents = index.document_count
        for program in programs(topics, sketches, index, arguments):
            if arguments.json:
                print(json.dumps(program_to_json(program), ensure_ascii=False))
            else:
                print(f"topic {program.qid}: {program.text}\n")
                print(program_table(program, documents))
                print(verdict_table(program, documents), end="")
    return 0

"""`sira explain`: what each clause adds to a document's score, and its rank with and without the sketch."""

from __future__ import annotations

import argparse
import json

from sira.cli.options import (
    AD_HOC,
    add_index,
    add_settings,
    add_sketch,
    one_topic,
    open_index,
    programs,
    topics_and_sketches,
)
from sira.cli.show import explanation_table

HELP = "show what each clause gave to the score of one document"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("qid", help=f"a topic of --topics, or {AD_HOC} with --query")
    parser.add_argument("docid", help="the document")
    parser.add_argument("--query", help="a query in place of --topics")
    add_index(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_sketch(parser)
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    from sira.search import explain

    topics, sketches = topics_and_sketches(arguments, arguments.query)
    topic = one_topic(topics, arguments.qid)
    with open_index(arguments) as index:
        (program,) = programs([topic], sketches, index, arguments)
        explanation = explain(index, program, arguments.docid)
    if arguments.json:
        print(json.dumps(explanation.to_json(), ensure_ascii=False, indent=1))
    else:
        print(explanation_table(explanation), end="")
    return 0

"""`sira wikipedia`: make a corpus of a Wikipedia's dump files, and check BrowseComp-Wikipedia questions against it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sira.errors import InputError
from sira.tables import printable

if TYPE_CHECKING:
    from sira.corpora.wikipedia.prepare import Manifest

HELP = "make a corpus of Wikipedia's dumps, and check questions against it"
ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
    make = actions.add_parser("prepare", help="make a corpus, or finish one that was stopped", allow_abbrev=False)
    make.description = (
        "Read pages-articles dumps (.xml, .bz2, .gz; several files) and write documents in plain text with their "
        "categories as facets, and the redirects beside them. Stopped at any moment and started again, it goes on "
        "where it was. `sira index wikipedia:DIR` indexes the result."
    )
    make.add_argument("dumps", type=Path, nargs="+", metavar="DUMP", help="XML exports: .xml, .bz2, .gz")
    make.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the corpus")
    make.add_argument("--namespaces", nargs="+", default=["0"], metavar="N", help="by number, or `all` (0: articles)")
    make.add_argument(
        "--redirects",
        choices=("aside", "documents"),
        default="aside",
        help="out of the corpus, or each a document without text too (aside)",
    )
    make.add_argument(
        "--templates", choices=("drop", "values"), default="drop", help="drop them, or keep their values (drop)"
    )
    make.add_argument("--processes", type=int, default=1, metavar="N", help="dump files converted at once (1)")
    make.add_argument("--quiet", action="store_true", help="no progress bar")
    check = actions.add_parser("questions", help="find the gold pages of questions in a corpus", allow_abbrev=False)
    check.description = (
        "Say which gold pages of BrowseComp-Wikipedia questions are in the corpus, by address or title and over "
        "redirects, and which titles are nearest to those that are not."
    )
    check.add_argument("questions", type=Path, metavar="QUESTIONS", help="JSON Lines as published")
    check.add_argument("--corpus", type=Path, required=True, metavar="DIR", help="folder of `sira wikipedia prepare`")
    check.add_argument("--topics", type=Path, metavar="FILE", help="write qid<TAB>question, in the clear")
    check.add_argument("--qrels", type=Path, metavar="FILE", help="write TREC qrels")
    for action in (make, check):
        action.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    return _prepare(arguments) if arguments.action == "prepare" else _questions(arguments)


def _prepare(arguments: argparse.Namespace) -> int:
    from sira.corpora.wikipedia.documents import Settings
    from sira.corpora.wikipedia.prepare import prepare

    names: list[str] = arguments.namespaces
    if names != [ALL] and (wrong := [name for name in names if not name.lstrip("-").isdecimal()]):
        raise InputError(f"--namespaces {wrong[0]!r}: give numbers, such as 0 14, or all")
    settings = Settings(() if names == [ALL] else tuple(dict.fromkeys(names)), arguments.redirects, arguments.templates)
    manifest = prepare(
        arguments.dumps, arguments.out, settings, processes=arguments.processes, progress=not arguments.quiet
    )
    _say(manifest, arguments.out)
    return 0


def _say(manifest: Manifest, out: Path) -> None:
    counts = manifest["counts"]
    print(
        f"{out}: {counts.get('documents', 0):,} documents ({counts.get('without_text', 0):,} without text), "
        f"{counts.get('redirects', 0):,} redirects, of {manifest['pages']:,} pages"
    )
    skipped = ", ".join(f"{reason} {count:,}" for reason, count in manifest["skipped"].items()) or "none"
    print(f"left out: {skipped}")
    print("pages by namespace: " + ", ".join(f"{name}: {count:,}" for name, count in manifest["namespaces"].items()))
    for example in manifest["examples"]:
        print(f"sira: bad title: {printable(example)}", file=sys.stderr)


def _questions(arguments: argparse.Namespace) -> int:
    from sira.corpora import browsecomp
    from sira.corpora.files import replacing
    from sira.corpora.trec_writer import write_qrels
    from sira.corpora.wikipedia.pages import Pages

    pages = Pages.open(arguments.corpus)
    questions = browsecomp.read_questions(arguments.questions)
    gold = browsecomp.gold_pages(questions, pages)
    for line in browsecomp.report(gold, pages):
        print(printable(line))
    if arguments.qrels:
        write_qrels(arguments.qrels, browsecomp.judged(gold))
    if arguments.topics:
        with replacing(arguments.topics) as stream:
            for topic in browsecomp.topics(questions):
                stream.write(f"{topic.qid}\t{' '.join(topic.text.split())}\n")
    return 0

"""Arguments that several commands share, and what they open."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sira.errors import InputError, NotFoundError

if TYPE_CHECKING:
    from sira.compile import CompileSettings
    from sira.lucene.reader import Index
    from sira.program import Program
    from sira.records import Sketch, Topic

AD_HOC = "q"
"""The qid of a query given on the command line."""


def add_index(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--index", type=Path, required=True, metavar="DIR", help="the index folder")
    parser.add_argument(
        "--heap", metavar="SIZE", help="Java's heap, such as 512m or 4g (default: $SIRA_JAVA_HEAP or 1g)"
    )


def add_sketch(parser: argparse.ArgumentParser) -> None:
    """Where the phrases come from: files by topic, or the command line for one query."""
    group = parser.add_argument_group("sketch")
    group.add_argument("--topics", type=Path, metavar="FILE", help="topics: TSV (qid, text) or JSON Lines")
    group.add_argument(
        "--sketches", type=Path, metavar="FILE", help="sketches of the topics: JSON Lines {qid, phrases}"
    )
    group.add_argument(
        "--phrase", action="append", default=[], metavar="TEXT", help="a proposed phrase for the query; may be repeated"
    )


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Gate, weights and scoring; defaults as in CompileSettings and Scoring, written out to import neither."""
    group = parser.add_argument_group("compiling and scoring")
    group.add_argument(
        "--lambda", dest="expansion_weight", type=float, default=0.5, help="weight of proposed terms (0.5)"
    )
    group.add_argument("--max-df-ratio", type=float, default=0.05, help="tau: the gate's df bound as a share (0.05)")
    group.add_argument(
        "--ngrams",
        choices=("off", "atoms", "atoms+phrases"),
        default="off",
        help="score windows of several words (off)",
    )
    group.add_argument(
        "--profile",
        choices=("anserini", "sira", "long"),
        default="anserini",
        help="k1 and b: 0.9/0.4, 1.5/0.75 or 25/1",
    )
    group.add_argument("--k1", type=float, help="BM25's k1, in place of the profile's")
    group.add_argument("--b", type=float, help="BM25's b, in place of the profile's")
    group.add_argument(
        "--combine", choices=("bm25f", "sum"), default="bm25f", help="how contents and expansion join (bm25f)"
    )
    group.add_argument(
        "--document-weight", type=float, default=1.0, help="w_e: weight of the field expansion; 0 ignores it (1)"
    )


def settings(arguments: argparse.Namespace) -> CompileSettings:
    from sira.compile import CompileSettings
    from sira.program import PROFILES, Scoring

    profile = PROFILES[arguments.profile]
    scoring = Scoring(
        arguments.combine,
        profile.k1 if arguments.k1 is None else arguments.k1,
        profile.b if arguments.b is None else arguments.b,
        arguments.document_weight,
    )
    return CompileSettings(arguments.expansion_weight, arguments.max_df_ratio, arguments.ngrams, scoring=scoring)


def open_index(arguments: argparse.Namespace) -> Index:
    from sira.lucene.jvm import configure_heap
    from sira.lucene.reader import Index

    if arguments.heap:
        configure_heap(arguments.heap)
    return Index(arguments.index)


def topics_and_sketches(arguments: argparse.Namespace, query: str | None) -> tuple[list[Topic], Mapping[str, Sketch]]:
    """The query of the command line, or the topics of a file; and the sketches that go with them.

    Raises InputError where both or neither is given, or where `--phrase` comes with a file of topics.
    """
    from sira.compile.sketches import read_sketches
    from sira.corpora.trec import read_topics
    from sira.records import Sketch, SketchPhrase, Topic

    if (query is None) == (arguments.topics is None):
        raise InputError("give either a query or --topics FILE")
    sketches = dict(read_sketches(arguments.sketches)) if arguments.sketches else {}
    if query is not None:
        if arguments.phrase:
            sketches[AD_HOC] = Sketch(AD_HOC, tuple(SketchPhrase(text) for text in arguments.phrase))
        elif sketches and AD_HOC not in sketches:
            raise InputError(
                f"--sketches has no sketch with the qid {AD_HOC!r}, which is the query's: use --topics or --phrase"
            )
        return [Topic(AD_HOC, query)], sketches
    if arguments.phrase:
        raise InputError("--phrase goes with one query: for --topics give --sketches FILE")
    return list(read_topics(arguments.topics)), sketches


def one_topic(topics: list[Topic], qid: str | None) -> Topic:
    """The only topic, or the one named. Raises InputError, NotFoundError."""
    if qid is None:
        if len(topics) != 1:
            raise InputError(f"there are {len(topics)} topics: choose one by --qid")
        return topics[0]
    for topic in topics:
        if topic.qid == qid:
            return topic
    raise NotFoundError(f"qid {qid!r} is not among the {len(topics)} topics")


def programs(
    topics: list[Topic], sketches: Mapping[str, Sketch], index: Index, arguments: argparse.Namespace
) -> Iterator[Program]:
    from sira.compile import compile_sketch

    chosen = settings(arguments)
    for topic in topics:
        yield compile_sketch(topic, sketches.get(topic.qid), index, chosen)


def read_program(path: Path) -> Program:
    """A program from a JSON file. Raises InputError, ProgramError."""
    import json

    from sira.program import program_from_json

    try:
        return program_from_json(json.loads(path.read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from None

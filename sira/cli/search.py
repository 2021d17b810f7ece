"""`sira search`: plain BM25, with sketches, or a program from a file; hits on the terminal or a TREC run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.cli.hits import show, titles, warn
from sira.cli.options import (
    add_heap,
    add_settings,
    add_sketch,
    compiler,
    open_index,
    refuse,
    topics_and_sketches,
)
from sira.cli.programs import (
    PROGRAM_HELP,
    add_syntax,
    read_programs,
    refuse_settings,
    refuse_sketch,
    written_programs,
)
from sira.errors import InputError

if TYPE_CHECKING:
    from sira.llm import ModelSettings
    from sira.lucene.reader import Index
    from sira.program import Program
    from sira.records import Sketch, Topic
    from sira.search.rerank import RerankSettings
    from sira.systems import Answer, SearchSettings, Sira

HELP = "search an index: plain BM25, or with sketches"

# The defaults of Budget and RerankSettings, written out so that `--help` imports neither (a test compares them).
BUDGET: Mapping[str, Any] = {"max_pages": 100, "max_searches": 20}
MODE: Mapping[str, Any] = {"mode": "compiled", "routing": None, **BUDGET}
RERANK: Mapping[str, Any] = {"rerank_top": 100, "rerank_weight": 0.5, "rerank_combine": "weighted"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query", nargs="?", help="a query (one that begins with - behind --); or --topics, or --program"
    )
    parser.add_argument(
        "--index", type=Path, metavar="DIR", help="the index folder; of a --server, the name of an index"
    )
    add_heap(parser)
    _add_server(parser)
    parser.add_argument("-k", type=int, metavar="N", help="hits a query (10; 1000 with --run)")
    parser.add_argument("--run", type=Path, metavar="FILE", help="write a TREC run in place of hits on the terminal")
    parser.add_argument("--name", metavar="TAG", help="the run tag, with --run (sira)")
    parser.add_argument("--program", type=Path, metavar="FILE", help=PROGRAM_HELP)
    add_syntax(parser)
    parser.add_argument("--threads", type=int, default=1, help="searches at a time (1)")
    parser.add_argument("--json", action="store_true", help="hits as JSON Lines")
    _add_mode(parser)
    _add_rerank(parser)
    add_sketch(parser)
    add_settings(parser)


def _add_server(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--server", metavar="URL", help="let a `sira serve` search: http://HOST:PORT; with its model: --llm server")
    add("--token-file", type=Path, metavar="FILE", help="a file with the server's token (or $SIRA_TOKEN)")


def _add_mode(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how a topic is searched")
    add = group.add_argument
    add("--mode", choices=("compiled", "auto", "several"), default=MODE["mode"],
        help="one program; as index statistics advise; or one program and one for each search of a sketch (compiled)",
        )  # fmt: skip
    add("--routing", type=Path, metavar="FILE", help="thresholds of --mode auto: a TOML file with a [routing] table")
    add("--max-pages", type=int, default=BUDGET["max_pages"], metavar="N", help="documents of several searches (100)")
    add("--max-searches", type=int, default=BUDGET["max_searches"], metavar="N", help="searches of a topic (20)")
    add("--relax", action=argparse.BooleanOptionalAction,
        help="loosen a program that finds nothing, step by step (on; off for programs as written)")  # fmt: skip


def _add_rerank(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reranking")
    add = group.add_argument
    add("--rerank", metavar="MODEL",
        help="let a model score the first documents: `local`, or a TOML file with a [model] table")  # fmt: skip
    add("--rerank-top", type=int, default=RERANK["rerank_top"], metavar="N", help="documents scored, a call each (100)")
    add("--rerank-weight", type=float, default=RERANK["rerank_weight"], metavar="W",
        help="the model's share of the score, BM25 has the rest (0.5)")  # fmt: skip
    add("--rerank-combine", choices=("weighted", "rrf"), default=RERANK["rerank_combine"],
        help="of scores, or of ranks by reciprocal rank fusion (weighted)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    from sira.systems import Tally, rerank_answers, topics_together

    k = arguments.k if arguments.k is not None else 1000 if arguments.run else 10
    if k < 1 or arguments.threads < 1:
        raise InputError(f"-k {k} --threads {arguments.threads}: both count from 1")
    if arguments.run:
        refuse(arguments, {"json": False}, "a run has its own format: leave out --run")
    else:
        refuse(arguments, {"name": None}, "it names a run: add --run FILE")
    if arguments.server is not None:
        from sira.cli.remote import search

        return search(arguments, k)
    refuse(arguments, {"token_file": None}, "it belongs to --server URL")
    if arguments.index is None:
        raise InputError("give --index DIR, or --server URL")
    rerank = _rerank_settings(arguments)
    depth = k if rerank is None else max(k, rerank.top_n)
    tally = Tally()
    with ExitStack() as stack:
        index = stack.enter_context(open_index(arguments))
        written = arguments.program or arguments.syntax == "program"
        topics, answers = _written(arguments, index, depth) if written else _topics(arguments, index, depth)
        texts = {topic.qid: topic.text for topic in topics}
        if rerank is not None:
            from sira.llm.cache import open_cached

            model = _model(arguments.rerank, texts)
            generator = stack.enter_context(closing(open_cached(model)))
            together = topics_together(model)
            answers = rerank_answers(answers, texts, index.documents, generator, rerank, together=together)
        found = (replace(answer, ranking=answer.ranking.top(k)) for answer in map(tally.add, answers))
        if arguments.run:
            write_run(found, arguments.run, arguments.name or "sira")
        else:
            show_all(((answer, titles(answer.ranking.docids, index)) for answer in found), texts, arguments)
    for line in tally.lines():
        print(f"sira: {line}", file=sys.stderr)
    return 0


def show_all(
    found: Iterable[tuple[Answer, Sequence[str]]], texts: Mapping[str, str], arguments: argparse.Namespace
) -> None:
    """Print the answers, each with the titles of its hits; `texts` has the text of every topic."""
    named = arguments.topics is not None or len(texts) > 1
    for answer, shown in found:
        warn(answer)
        show(answer, texts[answer.qid], shown, as_json=arguments.json, named=named)
        if len(texts) == 1 and (route := answer.note.get("route")):
            print(f"sira: topic {answer.qid!r} goes to {route['action']}: {route['reason']}", file=sys.stderr)


def _written(arguments: argparse.Namespace, index: Index, depth: int) -> tuple[list[Topic], Iterable[Answer]]:
    """Programs as they stand: the same program gives the same run, unless --relax is given."""
    from sira.records import Topic
    from sira.search.batch import in_order, naming_topic
    from sira.search.relax import RelaxSettings
    from sira.systems import search_program

    refuse(arguments, MODE, "programs as written are searched one by one: leave this out")
    if arguments.program:
        if arguments.query:
            raise InputError("--program says all of a search: give no query with it")
        refuse_settings(arguments)
        programs = read_programs(arguments.program, index)
    else:
        refuse_sketch(arguments)
        programs = list(written_programs(topics_and_sketches(arguments, arguments.query)[0], index, arguments))
    relax = RelaxSettings() if arguments.relax else None

    def search(program: Program) -> Answer:
        with naming_topic(program.qid):
            return search_program(index, program, depth, relax)

    return [Topic(item.qid, item.text) for item in programs], in_order(search, programs, arguments.threads)


def _topics(arguments: argparse.Namespace, index: Index, depth: int) -> tuple[list[Topic], Iterable[Answer]]:
    from sira.systems import Sira, answer_topics

    searching = _search_settings(arguments)
    plain = Sira({}, compiler(arguments), searching)

    def wanted(topics: list[Topic]) -> list[Topic]:
        return list(_not_plain(plain, topics, index, arguments.threads))

    topics, sketches = topics_and_sketches(arguments, arguments.query, wanted if arguments.mode == "auto" else None)
    check_sketches(topics, sketches, arguments)
    return topics, answer_topics(replace(plain, sketches=sketches or {}), topics, index, depth, arguments.threads)


def _not_plain(system: Sira, topics: Sequence[Topic], index: Index, threads: int) -> Iterator[Topic]:
    """The topics that routing gives a sketch: a model is asked for no other."""
    from sira.search.batch import in_order

    decisions = in_order(lambda topic: system.decide(topic, index)[0], topics, threads)
    return (topic for topic, decision in zip(topics, decisions, strict=True) if decision.action != "plain")


def check_sketches(
    topics: Sequence[Topic], sketches: Mapping[str, Sketch] | None, arguments: argparse.Namespace
) -> None:
    """Tell of topics without a sketch. Raises InputError where the mode needs sketches."""
    if sketches is None:
        if arguments.mode == "several":
            raise InputError("--mode several runs the searches of sketches: give --sketches, or --llm with --searches")
        return
    without = sum(topic.qid not in sketches for topic in topics)
    if without and not (arguments.mode == "auto" and arguments.llm):
        print(f"sira: warning: {without} of {len(topics)} topics have no sketch: plain BM25", file=sys.stderr)
    if arguments.mode == "several" and not any(sketch.searches for sketch in sketches.values()):
        print("sira: warning: no sketch proposes further searches: one search a topic", file=sys.stderr)


def _search_settings(arguments: argparse.Namespace) -> SearchSettings:
    from sira.search.relax import RelaxSettings
    from sira.search.routing import Thresholds
    from sira.search.several import Budget
    from sira.systems import SearchSettings

    if arguments.mode != "auto":
        refuse(arguments, {"routing": None}, "it belongs to --mode auto")
    if arguments.mode == "compiled":
        refuse(arguments, BUDGET, "it belongs to --mode several and auto")
    thresholds = Thresholds()
    if arguments.routing:
        from sira.search.tables import read_thresholds

        thresholds = read_thresholds(arguments.routing)
    relax = None if arguments.relax is False else RelaxSettings()
    return SearchSettings(arguments.mode, thresholds, Budget(arguments.max_pages, arguments.max_searches), relax)


def _rerank_settings(arguments: argparse.Namespace) -> RerankSettings | None:
    if arguments.rerank is None:
        refuse(arguments, RERANK, "it belongs to --rerank MODEL")
        return None
    from sira.search.rerank import RerankSettings

    if arguments.rerank_combine == "rrf":
        refuse(arguments, {"rerank_weight": RERANK["rerank_weight"]}, "fusion by ranks weighs nothing: leave it out")
    return RerankSettings(arguments.rerank_top, arguments.rerank_combine, arguments.rerank_weight)


def _model(spec: str, texts: Mapping[str, str]) -> ModelSettings:
    """The model that scores documents. Raises InputError where there is nothing to score them by."""
    from sira.llm.settings import read_model

    for qid, text in texts.items():
        if not text.strip():
            raise InputError(f"topic {qid!r} has no text to score documents by: leave out --rerank")
    return read_model(spec)


def write_run(found: Iterable[Answer], path: Path, name: str) -> None:
    """Write the rankings as a TREC run; one that cannot be finished is not there."""
    from sira.corpora.trec_writer import RunWriter

    topics = hits = 0
    with RunWriter(path, name) as writer:
        for answer in found:
            warn(answer)
            writer.write(answer.qid, answer.ranking)
            topics += 1
            hits += len(answer.ranking)
    print(f"sira: {path}: {topics} topics, {hits} hits", file=sys.stderr)

"""Arguments that several commands share, and what they open."""

from __future__ import annotations

import argparse
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.errors import InputError, NotFoundError

if TYPE_CHECKING:
    from sira.compile import CompileSettings
    from sira.lucene.reader import Index
    from sira.program import Program
    from sira.records import Sketch, Topic
    from sira.systems import Compiler

log = logging.getLogger("sira.cli")

AD_HOC = "q"
"""The qid of a query given on the command line."""

# The defaults of CompileSettings and Scoring, written out so that `--help` imports neither (a test compares them).
SETTINGS: Mapping[str, Any] = {
    "sketch_weight": 0.5,
    "gate": "auto",
    "gate_power": 3.0,
    "small_collection": 5000,
    "max_df_ratio": 0.05,
    "max_df": None,
    "min_df": 1,
    "weights": "uniform",
    "ngrams": "off",
    "max_n": 3,
    "max_terms": None,
    "max_phrases": None,
    "max_facets": None,
    "max_ranges": None,
    "profile": "anserini",
    "k1": None,
    "b": None,
    "combine": "bm25f",
    "contents_weight": 1.0,
    "expansion_weight": 1.0,
}
ASKING: Mapping[str, Any] = {"prompt": None, "samples": 1, "roles": False, "facets": 0, "searches": 0}
CHECKING: Mapping[str, Any] = {"policy": None, "drop_guesses": False, "categories": None}
SKETCH: Mapping[str, Any] = {"topics": None, "sketches": None, "phrase": [], "llm": None, **ASKING, **CHECKING}


def add_heap(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--heap", metavar="SIZE", help="Java's heap, such as 512m or 4g (default: $SIRA_JAVA_HEAP or 1g)"
    )


def add_index(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--index", type=Path, required=True, metavar="DIR", help="the index folder")
    add_heap(parser)


def add_sketch(parser: argparse.ArgumentParser) -> None:
    """Where the phrases come from: files by topic, or the command line for one query."""
    group = parser.add_argument_group("sketch")
    group.add_argument("--topics", type=Path, metavar="FILE", help="topics: TSV (qid, text) or JSON Lines")
    group.add_argument("--sketches", type=Path, metavar="FILE", help="sketches of the topics: JSON Lines")
    group.add_argument(
        "--phrase", action="append", default=[], metavar="TEXT", help="a proposed phrase for the query; may be repeated"
    )
    group.add_argument(
        "--llm", metavar="MODEL", help="let a model sketch: `local`, or a TOML file with a [model] table"
    )
    add_asking(group)
    group.add_argument("--facets", type=int, default=0, metavar="N", help="with --roles: ask for at most N facets (0)")
    group.add_argument(
        "--searches", type=int, default=0, metavar="N", help="with --roles: ask for at most N more searches (0)"
    )
    group.add_argument(
        "--policy", metavar="FILE", help="drop forbidden phrases: a policy file, or `default`, which comes with sira"
    )
    group.add_argument(
        "--drop-guesses", action="store_true", help="drop names, years and numbers that the topic does not hold"
    )
    group.add_argument(
        "--categories", type=Path, metavar="DIR", help="check category facets by a graph of `sira categories build`"
    )


def add_asking(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage] - it has no other name
    """How a model is asked for sketches; the defaults are those of ASKING."""
    group.add_argument(
        "--prompt",
        metavar="NAME",
        help="its prompt (query-generic; query-brief for local, query-constraints by --roles)",
    )
    group.add_argument(
        "--samples", type=int, default=1, metavar="N", help="ask N times with different seeds, into one sketch (1)"
    )
    group.add_argument(
        "--roles",
        action="store_true",
        help="ask which phrases the query requires or rules out; what it does not state falls",
    )


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Gate, weights and scoring."""
    parser.set_defaults(**SETTINGS)
    group = parser.add_argument_group("compiling and scoring")
    add = group.add_argument
    add("--lambda", dest="sketch_weight", type=float, metavar="W", help="weight of proposed terms (0.5)")
    add("--gate", choices=("auto", "window", "any", "phrase", "soft", "off"), help="what df decides, of what (auto)")
    add("--gate-power", type=float, metavar="P", help="how fast words above the bound lose weight, auto and soft (3)")
    add("--small-collection", type=int, metavar="N", help="auto is soft in collections of 300 to N documents (5000)")
    add("--max-df-ratio", type=float, metavar="TAU", help="tau: the gate's df bound as a share of N (0.05)")
    add("--max-df", type=int, metavar="N", help="the same bound in documents, in place of the share")
    add("--min-df", type=int, metavar="N", help="windows in fewer documents are dropped (1)")
    add("--weights", choices=("uniform", "rank", "idf", "agreement", "margin"), help="weighting of phrases (uniform)")
    add("--ngrams", choices=("off", "atoms", "atoms+phrases"), help="windows of several words score too (off)")
    add("--max-n", type=int, metavar="N", help="longest window in words, with --ngrams or --gate any (3)")
    add("--max-terms", type=int, metavar="N", help="keep the heaviest N proposals only, constraints apart (all)")
    add("--max-phrases", type=int, metavar="N", help="of them, windows of several words and identifiers (all)")
    add("--max-facets", type=int, metavar="N", help="of them, facets (all)")
    add("--max-ranges", type=int, metavar="N", help="of them, ranges (all)")
    add("--profile", choices=("anserini", "sira", "long"), help="k1 and b: 0.9/0.4, 1.5/0.75 or 25/1 (anserini)")
    add("--k1", type=float, help="BM25's k1, in place of the profile's")
    add("--b", type=float, help="BM25's b, in place of the profile's")
    add("--combine", choices=("bm25f", "sum"), help="how contents and expansion join (bm25f)")
    add("--contents-weight", type=float, metavar="W", help="weight of the field contents; 0 ignores it (1)")
    add("--expansion-weight", type=float, metavar="W", help="w_e: weight of the field expansion; 0 ignores it (1)")


def refuse(arguments: argparse.Namespace, options: Mapping[str, Any], why: str) -> None:
    """Raise InputError for the first option that was given although it has no meaning here."""
    for name, default in options.items():
        if getattr(arguments, name) != default:
            shown = {"sketch_weight": "--lambda", "k": "-k"}.get(name, f"--{name.replace('_', '-')}")
            raise InputError(f"{shown}: {why}")


def settings(arguments: argparse.Namespace) -> CompileSettings:
    from sira.compile import CompileSettings
    from sira.program import scoring_of

    if arguments.ngrams == "off" and arguments.gate != "any":
        refuse(arguments, {"max_n": SETTINGS["max_n"]}, "it belongs to --ngrams, which is off, and to --gate any")
    if arguments.gate not in ("auto", "soft"):
        refuse(arguments, {"gate_power": SETTINGS["gate_power"]}, "it belongs to --gate auto and soft")
    if arguments.gate != "auto":
        refuse(arguments, {"small_collection": SETTINGS["small_collection"]}, "it belongs to --gate auto")
    return CompileSettings(
        sketch_weight=arguments.sketch_weight,
        gate=arguments.gate,
        gate_power=arguments.gate_power,
        small_collection=arguments.small_collection,
        max_df_ratio=arguments.max_df_ratio,
        max_df=arguments.max_df,
        min_df=arguments.min_df,
        weights=arguments.weights,
        ngrams=arguments.ngrams,
        max_n=arguments.max_n,
        max_terms=arguments.max_terms,
        max_phrases=arguments.max_phrases,
        max_facets=arguments.max_facets,
        max_ranges=arguments.max_ranges,
        scoring=scoring_of(
            arguments.profile,
            combine=arguments.combine,
            k1=arguments.k1,
            b=arguments.b,
            contents_weight=arguments.contents_weight,
            expansion_weight=arguments.expansion_weight,
        ),
    )


def compiler(arguments: argparse.Namespace) -> Compiler:
    """What sketches are compiled by."""
    from sira.systems import compiler_of

    return compiler_of(
        settings(arguments), arguments.policy, drop_guesses=arguments.drop_guesses, categories=arguments.categories
    )


def use_heap(arguments: argparse.Namespace) -> None:
    if arguments.heap:
        from sira.lucene.jvm import configure_heap

        configure_heap(arguments.heap)


def open_index(arguments: argparse.Namespace) -> Index:
    from sira.lucene.reader import Index

    use_heap(arguments)
    return Index(arguments.index)


def topics_and_sketches(
    arguments: argparse.Namespace, query: str | None, wanted: Callable[[list[Topic]], list[Topic]] | None = None
) -> tuple[list[Topic], Mapping[str, Sketch] | None]:
    """The query of the command line, or the topics of a file; and their sketches (None: none were asked for).

    A model is asked for the sketches of the topics that `wanted` picks (None: of all). Raises
    InputError where both or neither is given, or where sketches and topics do not belong together.
    """
    from sira.compile.sketches import read_sketches
    from sira.records import Sketch, SketchPhrase, Topic

    if (query is None) == (arguments.topics is None):
        raise InputError("give either a query or --topics FILE")
    if arguments.llm is None:
        refuse(arguments, ASKING, "it belongs to --llm")
    if query is not None:
        topics = [Topic(AD_HOC, query)]
        if arguments.phrase and arguments.sketches:
            raise InputError("give either --phrase or --sketches")
        if arguments.phrase and arguments.llm is None:
            return topics, {AD_HOC: Sketch(AD_HOC, tuple(SketchPhrase(text) for text in arguments.phrase))}
    else:
        if arguments.phrase:
            raise InputError("--phrase goes with one query: for --topics give --sketches FILE")
        topics = unique_topics(arguments.topics)
    if arguments.llm is not None:
        if arguments.sketches or arguments.phrase:
            raise InputError("--llm asks a model for the sketches: leave out --sketches and --phrase")
        return topics, live_sketches(topics if wanted is None else wanted(topics), arguments)
    if arguments.sketches is None:
        return topics, None
    sketches = read_sketches(arguments.sketches)
    if not any(topic.qid in sketches for topic in topics):
        asked = f"{AD_HOC!r}, the qid of a query" if query is not None else f"any of the {len(topics)} topics"
        raise InputError(f"{arguments.sketches}: has no sketch of {asked}")
    return topics, sketches


def unique_topics(path: Path) -> list[Topic]:
    """The topics of a file. Raises InputError for one without topics, or where a qid stands twice."""
    from sira.corpora.trec import read_topics

    topics = list(read_topics(path))
    twice = [qid for qid, times in Counter(topic.qid for topic in topics).items() if times > 1]
    if twice:
        raise InputError(f"{path}: the qid {twice[0]!r} stands twice: make the qids unique")
    return topics


def live_sketches(topics: Sequence[Topic], arguments: argparse.Namespace) -> dict[str, Sketch]:
    """Ask a model for the sketch of each topic, but for those whose replies are in the cache already.

    What went wrong with a reply is logged, and its sketch holds what could be used.
    """
    from sira.compile.sketch_job import SketchJob, ask
    from sira.llm.settings import read_model
    from sira.llm.sketches import SketchForm

    form = SketchForm(roles=arguments.roles, facets=arguments.facets, searches=arguments.searches)
    job = SketchJob.of(read_model(arguments.llm), arguments.prompt, form, arguments.samples)
    if not topics:
        return {}
    done, counts = ask(topics, job)
    if counts.hits:
        log.info("sketches: %d of %d replies from the cache", counts.hits, counts.hits + counts.misses)
    return {qid: one.sketch for qid, one in done.items()}


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
    topics: Iterable[Topic],
    sketches: Mapping[str, Sketch] | None,
    index: Index,
    arguments: argparse.Namespace,
    *,
    further: bool = False,
) -> Iterator[Program]:
    """One program a topic; with `further` also those of the searches that its sketch proposes."""
    chosen = compiler(arguments)
    for topic in topics:
        sketch = (sketches or {}).get(topic.qid)
        yield from chosen.searches(topic, sketch, index) if further else (chosen.program(topic, sketch, index),)

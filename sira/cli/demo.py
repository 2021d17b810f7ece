"""`sira demo`: what the method does, on the documentation of the Python that runs it."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sira.cli.show import explanation_table, verdict_table
from sira.errors import InputError
from sira.tables import text_table

if TYPE_CHECKING:
    from sira.demo.compare import DemoSystem, Measured
    from sira.demo.data import DemoCollection
    from sira.lucene.reader import Index
    from sira.records import Ranking, Topic

LIVE_QUESTION = "copy a folder with everything in it"

HELP = "search Python's own documentation by meaning, on recorded replies"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", nargs="?", help="a question of your own; without one, the measured comparison")
    parser.add_argument(
        "--phrase", action="append", default=[], metavar="TEXT", help="a phrase the answer may contain; may be repeated"
    )
    parser.add_argument(
        "--live", action="store_true", help="ask a small genuine model on this CPU (`make local` installs it)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(arguments: argparse.Namespace) -> int:
    if arguments.phrase and not arguments.question:
        raise InputError("--phrase goes with a question of your own")
    if arguments.live and arguments.phrase:
        raise InputError("--live asks a model for the phrases: leave out --phrase")
    from sira.demo.compare import demo_systems
    from sira.demo.data import demo_indexes, load_demo
    from sira.lucene.reader import Index
    from sira.paths import cache_folder

    say = _Progress(quiet=arguments.quiet)
    say("reading the documentation of Python " + platform.python_version())
    collection = load_demo()
    say(f"{len(collection.documents)} documents; indexing them, and their phrases (only the first time)")
    plain, expanded = demo_indexes(collection, cache_folder() / "demo", progress=not arguments.quiet)
    with Index(plain) as first, Index(expanded) as second:
        systems = demo_systems(first, second, collection.sketches)
        if arguments.live:
            _live(arguments.question or LIVE_QUESTION, first, say)
        elif arguments.question:
            _own_question(arguments.question, arguments.phrase, collection, systems)
        else:
            _comparison(collection, systems, say)
    return 0


def _live(question: str, index: Index, say: _Progress) -> None:
    from sira.demo.live import live

    found = live(index, question, say)
    print(f"{question!r}, with phrases that a model of 135 million parameters proposed just now.")
    print("It is a weak model: this shows how the parts work together, not how good they are.\n")
    print(f"The model's sketch of the question ({found.sketched.status.value}):")
    print(verdict_table(found.program, index.document_count))
    rows = [
        [
            str(rank + 1),
            *(ranking.docids[rank] if rank < len(ranking) else "" for ranking in (found.before, found.after)),
        ]
        for rank in range(min(5, max(len(found.before), len(found.after))))
    ]
    print(text_table(["rank", "BM25", "with the sketch"], rows))
    rows = [
        [document.docid, verdict.phrase, verdict.outcome.value]
        for document in found.documents
        for verdict in document.verdicts
    ]
    print("The model's phrases for the first documents:")
    print(text_table(["document", "phrase", "verdict"], rows) if rows else "none\n", end="")


class _Progress:
    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet

    def __call__(self, text: str) -> None:
        if not self.quiet:
            print(f"sira: {text}", file=sys.stderr)


def _comparison(collection: DemoCollection, systems: tuple[DemoSystem, ...], say: _Progress) -> None:
    from sira.demo.compare import largest_change, measure

    say(f"searching {len(collection.topics)} questions with {len(systems)} systems")
    measured = list(measure(systems, collection, progress=not say.quiet))
    print("Search in Python's documentation by what one means")
    print(f"{len(collection.documents)} documents, {len(collection.topics)} questions\n")
    rows = [
        [
            item.system.label,
            f"{item.evaluation.mean['nDCG@10']:.3f}",
            f"{item.evaluation.mean['Recall@10']:.3f}",
            f"{item.milliseconds:.2f}",
        ]
        for item in measured
    ]
    print(text_table(["system", "nDCG@10", "Recall@10", "ms per query"], rows), end="")
    print(f"ties: {measured[0].evaluation.tie_rule}; gain: {measured[0].evaluation.gain}\n")
    print(_honesty(collection))
    topic = largest_change(measured, collection, gain=True)
    if topic is not None:
        _side_by_side(topic, measured, collection)
    worst = largest_change(measured, collection, gain=False)
    if worst is not None:
        before, after = (item.evaluation.per_topic["nDCG@10"][worst.qid] for item in (measured[0], measured[-1]))
        print(f"The largest loss: {worst.text!r}, nDCG@10 {before:.3f} -> {after:.3f}\n")
    sira = _command()
    print(
        "What to do next\n"
        f'  {sira} demo "stop a program for a while"   ask a question of your own\n'
        f"  {sira} index CORPUS --index DIR   index your own documents\n"
        f"  {sira} run eval_configs/scifact.toml --out runs/scifact   measure on a public collection\n"
        f"  {sira} doctor   what this machine has and lacks"
    )


def _command() -> str:
    """How to call sira from here: by its name if the shell finds it, else by where it lies."""
    if shutil.which("sira"):
        return "sira"
    here = Path(sys.argv[0])
    return os.path.relpath(here) if here.name == "sira" and here.exists() else "python -m sira"


def _honesty(collection: DemoCollection) -> str:
    lines = [
        "The questions were written for this demonstration. A large language model wrote the phrases (without seeing",
        "the questions) and the sketches (without seeing the documents) beforehand. The measured claims are those on",
        "public collections: docs/benchmarks.md. One default (the document-side gate) was chosen with these questions",
        "among others: docs/decisions/0003.",
    ]
    if collection.changed or collection.unrecorded or collection.absent:
        lines.append(
            f"Against the Python the phrases were recorded with: {collection.changed} texts differ, "
            f"{collection.unrecorded} documents have no phrases, {collection.absent} judged documents are absent."
        )
    return "\n".join(lines) + "\n"


def _side_by_side(topic: Topic, measured: list[Measured], collection: DemoCollection) -> None:
    from sira.search import explain

    best = measured[-1]
    print(f"One question explained: {topic.text!r}\n")
    _rankings(measured[0], best, topic.qid, collection)
    program = best.system.program(topic)
    print(verdict_table(program, best.system.index.document_count))
    relevant = [docid for docid in best.run.rankings[topic.qid].docids if collection.qrels[topic.qid].get(docid, 0) > 0]
    print(explanation_table(explain(best.system.index, program, relevant[0])))


def _rankings(first: Measured, last: Measured, qid: str, collection: DemoCollection) -> None:
    judged = collection.qrels[qid]

    def cell(ranking: Ranking, rank: int) -> str:
        if rank >= len(ranking):
            return ""
        docid = ranking.docids[rank]
        return f"{'*' if judged.get(docid, 0) > 0 else ' '} {docid}"

    rows = [
        [str(rank + 1), cell(first.run.rankings[qid], rank), cell(last.run.rankings[qid], rank)] for rank in range(5)
    ]
    print(text_table(["rank", first.system.label, f"{last.system.label} (* judged relevant)"], rows))


def _own_question(
    question: str, phrases: list[str], collection: DemoCollection, systems: tuple[DemoSystem, ...]
) -> None:
    from dataclasses import replace

    from sira.cli.options import AD_HOC
    from sira.compile import CompileSettings, compile_sketch
    from sira.records import Sketch, SketchPhrase, Topic

    topic = Topic(AD_HOC, question)
    recorded = None if phrases else collection.recorded_sketch(question)
    sketch = replace(recorded, qid=AD_HOC) if recorded else Sketch(AD_HOC, tuple(map(SketchPhrase, phrases)))
    plain, expanded = systems[0], systems[-1]
    program = compile_sketch(topic, sketch, expanded.index, CompileSettings())
    before, after = plain.search(topic, 10), expanded.index.search(program, 10)
    label = "+ document phrases" + (" + recorded sketch" if recorded else " + your phrases" if phrases else "")
    titles = expanded.index.documents(after.docids)
    rows = [
        [
            str(rank + 1),
            before.docids[rank] if rank < len(before) else "",
            after.docids[rank] if rank < len(after) else "",
            _first_line(document.text) if (document := titles[rank] if rank < len(after) else None) else "",
        ]
        for rank in range(max(len(before), len(after)))
    ]
    if not rows:
        print("nothing found: no word of the question stands in the documents or their phrases", file=sys.stderr)
        return
    print(text_table(["rank", "BM25", label, ""], rows))
    if program.verdicts:
        print(verdict_table(program, expanded.index.document_count))
    else:
        print("There is no recorded sketch for a question of your own; --phrase TEXT adds what the answer may say.")


def _first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= 60 else line[:59] + "…"

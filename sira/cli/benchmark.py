"""`sira benchmark`: a benchmark from one TOML file: its index, its questions, a run that `sira judge` and `sira report`
understand, or plain BM25 alone."""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.cli.agent_options import add_replies, add_run, manner_of, named_model, sharded
from sira.cli.options import add_heap, use_heap
from sira.errors import InputError

if TYPE_CHECKING:
    from sira.agent.benchmark import Change, Setup
    from sira.agent.benchmark_files import BenchmarkFile
    from sira.agent.benchmark_inputs import Inputs, Labels
    from sira.agent.runs import Watcher
    from sira.records import Qrels, Topic

HELP = "run a benchmark of agent mode from a TOML file"
FOLDER = Path("eval_configs") / "agent"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{HELP}; one trajectory a question in --out, as `sira agent`, and a manifest that tells `sira judge` and "
        "`sira report` where answers and judgments are. The index is built once, or opened as the benchmark says. "
        "Stopped and started again, it goes on. Exit status: 0 when no question ended in an error, else 3."
    )
    add = parser.add_argument
    add("benchmark", metavar="BENCHMARK", help="a TOML file, or the id or an alias of one in --benchmarks")
    add("--benchmarks", type=Path, metavar="DIR", help="where benchmarks are looked up by name (eval_configs/agent)")
    add("--set", dest="query_set", metavar="NAME", help="the set of questions (the benchmark's default)")
    add("--variant", metavar="NAME", help="one of the benchmark's variants")
    add("--qid", action="append", default=[], metavar="QID", help="only this question of the set; may be repeated")
    add("--shard", metavar="I/N", help="every N-th question from the I-th on")
    add("--out", type=Path, metavar="DIR", help="folder of the run")
    add("--indexes", type=Path, metavar="DIR", help="where indexes are built and found again (the cache's folder)")
    add("--llm", metavar="MODEL", help="`local`, or a TOML file with a [model] table")
    add_heap(parser)
    what = parser.add_argument_group("in place of a run").add_argument
    what("--dry-run", action="store_true", help="print what would be run, and the most that it can take")
    what(
        "--retrieval-only", action="store_true", help="search each question as plain BM25: a TREC run and its measures"
    )
    what("--prepare", type=Path, metavar="DIR", help="put obfuscated questions into the clear, into this folder")
    _add_changes(parser)
    run = parser.add_argument_group("the run")
    add_replies(run)
    add_run(run)
    run.add_argument("--judge", metavar="MODEL", help="then judge the answers by this model, as `sira judge`")
    run.add_argument("--judge-mode", choices=("gold", "reference-free"), help="how (the benchmark's first way)")


def _add_changes(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("in place of the benchmark's settings").add_argument
    add("--profile", metavar="NAME", help="profile of the tools: sira, pi-serini")
    add("--depth", type=int, metavar="N", help="hits that a search caches")
    add("--k1", type=float, help="BM25's k1")
    add("--b", type=float, help="BM25's b")
    add("--prompt", metavar="NAME", help="the prompt")
    add("--time", metavar="S", help="seconds of wall clock for a question, or none")
    add("--turns", type=int, metavar="N", help="turns of the model")
    add("--tokens", type=int, metavar="N", help="tokens of all its calls")
    add("--price", type=float, metavar="AMOUNT", help="in the currency of the model's price")
    add("--steer", metavar="SHARE", help="of the budget: then tools are blocked; or none")
    add("--qrels", type=Path, metavar="FILE", help="the judgments")
    add("--secondary-qrels", type=Path, metavar="FILE", help="a second set of judgments, such as gold documents")
    add("--answers", type=Path, metavar="FILE", help="the known answers")


def run(arguments: argparse.Namespace) -> int:
    from sira.agent.benchmark_files import find_benchmark
    from sira.agent.benchmark_inputs import Inputs, Labels

    file = find_benchmark(arguments.benchmark, arguments.benchmarks or _folder())
    if arguments.prepare is not None:
        return _prepare(file, arguments.prepare)
    inputs = Inputs.of(file, arguments.query_set)
    setup = file.table.setup(arguments.variant, _change(arguments))
    explicit = Labels(arguments.qrels, arguments.secondary_qrels, arguments.answers)
    questions = _questions(inputs, arguments)
    if arguments.dry_run:
        return _dry_run(inputs, setup, explicit, questions, arguments)
    if arguments.out is None:
        raise InputError("--out: name the folder of the run")
    use_heap(arguments)
    if arguments.retrieval_only:
        from sira.cli.benchmark_retrieval import retrieve

        return retrieve(inputs, setup, explicit, questions, arguments)
    return _run(inputs, setup, explicit, questions, arguments)


def _folder() -> Path:
    """In the working folder, else in the checkout that this file is of."""
    return FOLDER if FOLDER.is_dir() else Path(__file__).resolve().parents[2] / FOLDER


def _prepare(file: BenchmarkFile, target: Path) -> int:
    from sira.agent.benchmark_canary import prepare

    hidden = file.table.obfuscated
    if hidden is None:
        raise InputError(f"--prepare: the benchmark {file.table.id} has nothing that is obfuscated")
    count, written = prepare(file.place(hidden.file), hidden.canary_env, target)
    print(f"{target}: {count} questions; {', '.join(path.name for path in written)}")
    return 0


def _change(arguments: argparse.Namespace) -> Change:
    """The settings of the command line."""
    from pydantic import ValidationError

    from sira.agent.benchmark import Change

    def given(**named: str) -> dict[str, Any]:
        return {key: value for key, name in named.items() if (value := getattr(arguments, name)) is not None}

    try:
        return Change.model_validate(
            {
                "tools": given(profile="profile", depth="depth", k1="k1", b="b"),
                "budget": given(time_s="time", turns="turns", tokens="tokens", price="price", steer_ratio="steer"),
                **given(prompt="prompt"),
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{'.'.join(map(str, first['loc'][:2]))} on the command line: {first['msg']}") from None


def _questions(inputs: Inputs, arguments: argparse.Namespace) -> tuple[Topic, ...]:
    from sira.agent.questions import chosen

    return tuple(sharded(chosen(inputs.questions, arguments.qid, f"set {inputs.set_name}"), arguments.shard))


def _dry_run(
    inputs: Inputs, setup: Setup, explicit: Labels, questions: tuple[Topic, ...], arguments: argparse.Namespace
) -> int:
    from sira.agent.benchmark_plan import plan_lines
    from sira.agent.runs_open import agent_model
    from sira.cli.benchmark_retrieval import index_place

    lines = plan_lines(
        inputs,
        setup,
        inputs.labels(explicit),
        questions=len(questions),
        index=index_place(inputs, setup, arguments.indexes),
        model=None if arguments.llm is None else agent_model(arguments.llm, setup.limits),
        at_once=manner_of(arguments).options.concurrency,
    )
    print("\n".join(lines))
    return 0


def _run(
    inputs: Inputs, setup: Setup, explicit: Labels, questions: tuple[Topic, ...], arguments: argparse.Namespace
) -> int:
    from sira.agent.benchmark_run import ModelUse, open_source, run_benchmark
    from sira.agent.runs_open import agent_model
    from sira.agent.watch import watched
    from sira.cli.agent import DONE_IN_PART, said
    from sira.cli.benchmark_retrieval import prepared_index

    settings = agent_model(named_model(arguments), setup.limits)
    model = ModelUse(settings, arguments.calls, arguments.max_tokens, arguments.on_overflow)
    manner = manner_of(arguments)
    if arguments.judge is not None:
        _judge_mode(inputs, explicit, arguments)  # refused now, not after the run

    def watch(count: int, qrels: Qrels | None) -> AbstractContextManager[Watcher | None]:
        return watched(count, arguments.watch, sys.stderr, qrels)

    index = prepared_index(inputs, setup, arguments.indexes, progress=arguments.watch != "off")
    with open_source(inputs, setup, index) as source:
        report = run_benchmark(
            inputs,
            setup,
            model,
            source,
            arguments.out,
            questions=questions,
            explicit=explicit,
            manner=manner,
            watch=watch,
        )
    print(f"{arguments.out}: {said(report)}")
    status = DONE_IN_PART if report.stops["error"] else 0
    if arguments.judge is not None:
        status = max(status, _judge(_judge_mode(inputs, explicit, arguments), arguments))
    print(f"sira: figures: sira report {arguments.out}", file=sys.stderr)
    return status


def _judge_mode(inputs: Inputs, explicit: Labels, arguments: argparse.Namespace) -> str:
    """Raises InputError for a way that the benchmark does not have, and for known answers that are not there."""
    from sira.agent.run_folder import RunFolder

    table = inputs.file.table
    mode: str = arguments.judge_mode or table.judge[0]
    answers = inputs.labels(explicit, RunFolder(arguments.out).manifest(), arguments.out).answers
    if mode == "gold" and answers is None:
        raise InputError(f"--judge-mode gold: the benchmark {table.id} has no known answers: take reference-free")
    if mode not in table.judge and answers is None:
        raise InputError(f"--judge-mode {mode}: the benchmark {table.id} is judged {' or '.join(table.judge)}")
    if mode == "gold" and answers is not None and not answers.is_file():
        raise InputError(f"{answers}: there is no such file of known answers: put it there, or take reference-free")
    return mode


def _judge(mode: str, arguments: argparse.Namespace) -> int:
    from sira.cli import judge

    parser = argparse.ArgumentParser(prog="sira judge")
    judge.add_arguments(parser)
    quiet = ["--quiet"] if arguments.watch == "off" else []
    return judge.run(parser.parse_args([str(arguments.out), "--llm", arguments.judge, "--mode", mode, *quiet]))

"""The arguments of `sira agent`, and what they stand for."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sira.cli.options import AD_HOC, refuse, use_heap
from sira.errors import InputError

if TYPE_CHECKING:
    from sira.agent.backend import Backend
    from sira.agent.budget import Limits
    from sira.agent.runs_job import AgentJob
    from sira.agent.runs_open import Manner
    from sira.agent.settings import ToolSettings
    from sira.lucene.reader import Index
    from sira.records import Topic

PROMPT = "agent-pi-serini"


def add_model(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage] - it has no other name
    add = group.add_argument
    add("--llm", metavar="MODEL", help="`local`, or a TOML file with a [model] table")
    add("--prompt", default=PROMPT, metavar="NAME", help=f"its prompt ({PROMPT})")
    add_replies(group)
    add("--tools", default="sira", metavar="NAME", help="sira, pi-serini, or a TOML file with a [tools] table (sira)")
    add("--depth", type=int, metavar="N", help="hits that a search caches, in place of the tools' 1000")
    add("--k1", type=float, help="BM25's k1, in place of the tools'")
    add("--b", type=float, help="BM25's b, in place of the tools'")


def add_replies(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    """How the model is spoken to; of `sira benchmark` too."""
    add = group.add_argument
    add(
        "--max-tokens",
        type=int,
        metavar="N",
        help="of one reply (the model's, else 8192; at most a quarter of context)",
    )
    add(
        "--calls",
        choices=("native", "tagged", "fenced", "any", "schema"),
        default="native",
        help="how the model writes calls (native)",
    )
    add("--on-overflow", choices=("stop", "drop"), default="stop", help="conversation too long: stop, or drop outputs")


def add_budget(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    add = group.add_argument
    add("--time", default="300", metavar="S", help="seconds of wall clock, or none, with --turns (300)")
    add("--turns", type=int, metavar="N", help="turns of the model")
    add("--tokens", type=int, metavar="N", help="tokens of all its calls")
    add("--price", type=float, metavar="AMOUNT", help="in the currency of the model's price")
    add("--steer", default="0.7", metavar="SHARE", help="of the budget: then tools are blocked; or none (0.7)")
    add("--steer-time-only", action="store_true", help="the other bounds end a question without a word before")
    add("--tool-time", default="60", metavar="S", help="seconds of one call of a tool, or none (60)")
    add("--show-budget", action="store_true", help="tell the model what is left, below each output")
    add("--difficulty", action="store_true", help="half the time and turns for easy questions, twice for hard ones")


def add_run(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    """How the questions are worked on; of `sira benchmark` too."""
    add = group.add_argument
    add("--concurrency", type=int, default=8, metavar="N", help="questions at once (8)")
    add("--requests-per-minute", type=int, metavar="N", help="of the model, all questions together")
    add("--tokens-per-minute", type=int, metavar="N", help="the same in tokens")
    add("--retry", default="error", metavar="REASONS", help="stop reasons to begin anew, a comma between (error)")
    add("--attempts", type=int, default=2, metavar="N", help="most times that a question is begun (2)")
    add("--no-cache", action="store_true", help="ask the model anew, whatever was asked before")
    add("--watch", choices=("auto", "live", "lines", "off"), default="auto", help="how progress is shown (auto)")


def questions_of(arguments: argparse.Namespace) -> tuple[list[Topic], str | None]:
    """The questions asked for, and the name of their set."""
    from sira.agent.questions import check_questions, chosen, read_questions
    from sira.records import Topic

    if (arguments.query is None) == (not arguments.questions) or len(arguments.questions) > 1:
        raise InputError("give either --query TEXT or one --questions FILE")
    if arguments.query is not None:
        refuse(arguments, {"qid": [], "shard": None}, "it belongs to --questions")
        questions = [Topic(AD_HOC, arguments.query)]
        check_questions(questions, "--query")
        return questions, arguments.query_set
    (path,) = arguments.questions
    questions = chosen(read_questions(path), arguments.qid, str(path))
    return sharded(questions, arguments.shard), arguments.query_set or path.stem


def sharded(questions: Sequence[Topic], text: str | None) -> list[Topic]:
    """Those of `--shard I/N`; all where it is not given."""
    from sira.agent.questions import shard

    if text is None:
        return list(questions)
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal()):
        raise InputError(f"--shard {text}: give I/N, such as 1/4")
    return shard(questions, int(number), int(count))


def job_of(arguments: argparse.Namespace, query_set: str | None) -> AgentJob:
    from sira.agent.budget import Difficulty
    from sira.agent.runs_job import AgentJob
    from sira.agent.runs_open import agent_model
    from sira.prompts import load_prompt

    limits = _limits(arguments)
    return AgentJob(
        agent_model(named_model(arguments), limits),
        load_prompt(arguments.prompt, side="agent"),
        _tools(arguments),
        limits,
        Difficulty() if arguments.difficulty else None,
        arguments.max_tokens,
        arguments.calls,
        arguments.on_overflow,
        arguments.show_budget,
        _seconds("--tool-time", arguments.tool_time),
        arguments.benchmark,
        query_set,
    )


def named_model(arguments: argparse.Namespace) -> str:
    if arguments.llm is None:
        raise InputError("--llm: name the model: `local`, or a TOML file with a [model] table")
    return arguments.llm


def _limits(arguments: argparse.Namespace) -> Limits:
    from sira.agent.budget import Limits

    return Limits(
        _seconds("--time", arguments.time),
        arguments.turns,
        arguments.tokens,
        arguments.price,
        _seconds("--steer", arguments.steer, "a share"),
        not arguments.steer_time_only,
    )


def _seconds(option: str, text: str, what: str = "seconds") -> float | None:
    """A number above 0, or None for `none`."""
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{option} {text}: give {what} above 0, or none")
    return value


def _tools(arguments: argparse.Namespace) -> ToolSettings:
    from sira.agent.settings import tool_profile
    from sira.agent.tables import read_tools

    name: str = arguments.tools
    tools = read_tools(Path(name))[0] if name.endswith(".toml") else tool_profile(name)
    scoring = {key: value for key in ("k1", "b") if (value := getattr(arguments, key)) is not None}
    depth = {} if arguments.depth is None else {"depth": arguments.depth}
    return replace(tools, scoring=replace(tools.scoring, **scoring), **depth)


def manner_of(arguments: argparse.Namespace) -> Manner:
    from sira.agent.base import StopReason
    from sira.agent.runs import RunOptions
    from sira.agent.runs_open import Manner

    reasons = [name.strip() for name in arguments.retry.split(",") if name.strip() not in ("", "none")]
    known = [reason.value for reason in StopReason]
    unknown = next((name for name in reasons if name not in known), None)
    if unknown is not None:
        raise InputError(f"--retry {unknown}: choose from {', '.join(known)}")
    options = RunOptions(arguments.concurrency, arguments.attempts, frozenset(map(StopReason, reasons)))
    return Manner(options, arguments.requests_per_minute, arguments.tokens_per_minute, cached=not arguments.no_cache)


def source_of(arguments: argparse.Namespace) -> AbstractContextManager[Index | Backend]:
    """The index of this machine, or the server that the tools' file names in its [backend]."""
    from contextlib import nullcontext

    from sira.agent.tables import read_tools

    server = read_tools(Path(arguments.tools))[1] if arguments.tools.endswith(".toml") else None
    if (server is None) != (arguments.index != "-"):
        raise InputError(
            "INDEX: give an index folder"
            if server is None
            else f"{arguments.tools}: has a [backend], a server in place of an index: give - for INDEX"
        )
    if server is not None:
        return nullcontext(server.open())
    from sira.lucene.reader import Index

    use_heap(arguments)
    return Index(Path(arguments.index))

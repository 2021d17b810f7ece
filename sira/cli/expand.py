"""`sira expand`: a language model reads each document of a corpus once and proposes search phrases."""

from __future__ import annotations

import argparse
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sira.errors import InputError

if TYPE_CHECKING:
    from sira.expand.config import ExpandConfig
    from sira.expand.job import ShardResult

HELP = "let a language model propose search phrases for each document of a corpus"

DONE_IN_PART = 3  # as in sira.expand.launch, which --help does not import (a test compares them)
"""Exit status where some documents failed or wait for a batch to be run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", type=Path, metavar="TOML", help="the job: corpus, prompt, model")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the expansion store (runs/NAME of the job)")
    parser.add_argument("--corpus", metavar="SOURCE", help="the corpus, in place of the one that the TOML names")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a key of the TOML; paths are relative to it",
    )
    parser.add_argument("--dry-run", action="store_true", help="estimate tokens and price from 200 documents, and end")
    parser.add_argument("--keep-raw", action="store_true", help="rows also hold the replies as the model gave them")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    share = parser.add_argument_group("sharing the work").add_argument
    share("--shard", metavar="I/N", help="do shard I of N, counted from 1 (1/1); the store is whole when all N are")
    share("--processes", type=int, metavar="N", help="N processes here, a shard each; GPUs are dealt out among them")
    again = parser.add_argument_group("going on with a store that is there").add_argument
    again("--update", action="store_true", help="redo documents whose text has changed")
    again("--retry", default="", metavar="STATUS,...", help="redo rows of these statuses, such as error,too_long")
    again("--force-new", action="store_true", help="leave the store that is there and start DIR-2 beside it")


def run(arguments: argparse.Namespace) -> int:
    from sira.expand.config import read_expand_config
    from sira.expand.launch import end_with_parent

    retry = _statuses(arguments.retry)
    changes = [*arguments.set, *(["keep_raw=true"] if arguments.keep_raw else [])]
    config = read_expand_config(arguments.config, arguments.corpus, changes)
    if arguments.dry_run:
        return _estimate(config, arguments)
    if arguments.shard and arguments.processes is not None:
        raise InputError("give either --shard or --processes")
    out: Path = Path("runs") / config.name if arguments.out is None else arguments.out
    if arguments.force_new and out.exists():
        from sira.expand.identity import beside

        if arguments.shard:
            raise InputError("--force-new starts a whole store: give its new --out to every shard")
        out = beside(out)
        print(f"sira: a new store: {out}", file=sys.stderr)
    end_with_parent()
    # A scheduler ends jobs by SIGTERM: leave as by Ctrl-C, with the progress file saying so.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if arguments.processes is not None:
        from sira.expand.launch import launch

        status = launch(config, out, arguments.processes, _command(arguments), progress=not arguments.quiet)
        _say_cost(out)
        return status
    from sira.expand.job import run_shard

    shard, shards = _shard(arguments.shard)
    result = run_shard(config, out, shard, shards, update=arguments.update, retry=retry, progress=not arguments.quiet)
    return _say(result, out)


def _command(arguments: argparse.Namespace) -> list[str]:
    """This command for one shard; --shard and --out are added."""
    command = [sys.executable, "-m", "sira", "expand", str(arguments.config)]
    command += ["--corpus", arguments.corpus] if arguments.corpus else []
    command += [f"--set={change}" for change in arguments.set]
    command += [f"--retry={arguments.retry}"] if arguments.retry else []
    return command + ["--keep-raw"] * arguments.keep_raw + ["--update"] * arguments.update


def _shard(text: str | None) -> tuple[int, int]:
    """Shard from 0 and number of shards."""
    if text is None:
        return 0, 1
    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if not found or len(text) > 20 or not 1 <= int(found[1]) <= int(found[2]):
        raise InputError(f"--shard {text!r}: write I/N with I from 1 to N, such as 3/8")
    return int(found[1]) - 1, int(found[2])


def _statuses(text: str) -> frozenset[str]:
    from sira.records import Status

    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    unknown = sorted(names - {status.value for status in Status})
    if unknown:
        raise InputError(f"--retry {unknown[0]!r}: no status; there are {', '.join(Status)}")
    return names


def _say(result: ShardResult, out: Path) -> int:
    """What came out on stdout, what is wrong on stderr."""
    tally = result.tally
    shares = ", ".join(f"{count} {status}" for status, count in tally.statuses.most_common())
    shard = "" if result.shards == 1 else f" shard {result.shard + 1} of {result.shards}:"
    print(f"{out}:{shard} {tally.rows} of {result.documents} documents ({shares}), {tally.phrases} phrases")
    rate = f", {result.done_now / result.seconds:.1f} documents/s" if result.done_now else ""
    print(f"now {result.done_now} in {result.seconds:.1f} s{rate}; {tally.usage.prompt_tokens} prompt tokens, "
          f"{tally.usage.completion_tokens} completion tokens")  # fmt: skip
    _say_cost(out)
    if result.skipped:
        print(f"sira: {result.skipped} records are no documents or came before: left out", file=sys.stderr)
        for example in result.examples:
            print(f"sira:   {example}", file=sys.stderr)
    if result.damaged:
        print(f"sira: {result.damaged} damaged lines were left out, and their documents done again", file=sys.stderr)
    if result.removed:
        print(f"sira: {result.removed} rows were of documents that are gone, and went", file=sys.stderr)
    if result.failures:
        print(f"sira: {result.failures} documents failed; --retry STATUS redoes them", file=sys.stderr)
    if result.pending:
        print(f"sira: {result.pending}", file=sys.stderr)
    return DONE_IN_PART if result.failures or result.pending else 0


def _say_cost(out: Path) -> None:
    """Where the store is whole: what it cost, and what more documents would."""
    from sira.expand.manifest import read_manifest

    manifest = read_manifest(out)
    if manifest is None or not manifest["seconds"]:
        return
    currency = "" if manifest["price"] is None else f" {manifest['price']['currency']} ({manifest['price']['date']})"

    def cost(value: float | None) -> str:
        return "price not known" if value is None else f"{value:,.2f}{currency}"

    print(f"in all {manifest['seconds']:,.0f} s, {manifest['gpu_seconds']:,.0f} GPU seconds, {cost(manifest['cost'])}")
    for line in manifest["projections"]:
        print(
            f"{line['documents']:,} documents at this rate: {line['hours']:,.1f} hours on one such process, "
            f"{line['gpu_hours']:,.1f} GPU hours, {cost(line['cost'])}"
        )


def _estimate(config: ExpandConfig, arguments: argparse.Namespace) -> int:
    from sira.expand.estimate import estimate, estimate_table

    store: Path = arguments.out or Path("runs") / config.name
    print(estimate_table(estimate(config, store, progress=not arguments.quiet)), end="")
    return 0

#!/usr/bin/env python3
"""`sira expand` on a Ray cluster: jobs/ray_expand.py TOML --out DIR [--workers N]. See jobs/README.md.

Leaves as `sira expand` does: 0 all done, 3 done with documents that failed, 2 wrong input, 1 something lacks, 130 ended
by Ctrl-C or SIGTERM. The same command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sira.cli.main import FAILED, INTERRUPTED, MISUSED, report
from sira.cluster.ray_cluster import Pool
from sira.cluster.ray_job import expand_on_ray
from sira.errors import InputError, SiraError
from sira.expand.config import read_expand_config
from sira.expand.job import ShardResult
from sira.records import Status

DONE_IN_PART = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run with these arguments (by default those of the process); returns the exit status."""
    arguments = parser().parse_args(argv)
    # A scheduler ends jobs by SIGTERM: leave as by Ctrl-C, with the progress files saying so.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run(arguments)
    except KeyboardInterrupt:
        print("sira: interrupted", file=sys.stderr)
        return INTERRUPTED
    except SiraError as error:
        report(error, debug=arguments.debug)
        return MISUSED if isinstance(error, InputError) else FAILED


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description="sira expand on a Ray cluster, into the same store")
    made.add_argument("config", type=Path, metavar="TOML", help="the job: corpus, prompt, model")
    made.add_argument("--out", type=Path, metavar="DIR", help="the expansion store (runs/NAME of the job)")
    made.add_argument("--corpus", metavar="SOURCE", help="the corpus, in place of the one that the TOML names")
    made.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of the TOML")
    made.add_argument("--update", action="store_true", help="redo documents whose text has changed")
    made.add_argument("--retry", default="", metavar="STATUS,...", help="redo rows of these statuses")
    made.add_argument("--shards", type=int, metavar="N", help="shards of a new store (1)")
    made.add_argument("--quiet", action="store_true", help="no progress bar")
    made.add_argument("--debug", action="store_true", help="show where an error was raised")
    ray = made.add_argument_group("Ray").add_argument
    ray("--address", metavar="ADDRESS", help="the cluster: auto, or HOST:PORT (RAY_ADDRESS; else one made here)")
    ray("--workers", type=int, default=1, metavar="N", help="at most so many actors with the model (1)")
    ray("--worker-cpus", type=float, default=1.0, metavar="N", help="CPUs of each (1)")
    ray("--worker-gpus", type=float, metavar="N", help="GPUs of each (of a vllm engine its parallel sizes, else 0)")
    ray("--block", type=int, default=512, metavar="N", help="documents of one call: what a killed worker loses (512)")
    ray(
        "--engine",
        choices=("auto", "generator", "ray.data.llm"),
        default="auto",
        help="ray.data.llm: Ray's own vLLM stage (auto: for backend vllm); generator: sira's backends in actors",
    )
    ray("--stall", type=float, default=3600.0, metavar="SECONDS", help="without a row for so long, give up (3600)")
    return made


def run(arguments: argparse.Namespace) -> int:
    config = read_expand_config(arguments.config, arguments.corpus, arguments.set)
    engine = config.model.engine
    gpus = arguments.worker_gpus
    if gpus is None:
        sizes = int(engine.get("tensor_parallel_size", 1)) * int(engine.get("pipeline_parallel_size", 1))
        gpus = sizes if config.model.backend == "vllm" else 0
    if arguments.workers < 1:
        raise InputError(f"--workers {arguments.workers}: it counts from 1")
    retry = frozenset(name.strip() for name in arguments.retry.split(",") if name.strip())
    if unknown := sorted(retry - {status.value for status in Status}):
        raise InputError(f"--retry {unknown[0]!r}: no status; there are {', '.join(Status)}")
    out: Path = arguments.out or Path("runs") / config.name
    results = expand_on_ray(
        config,
        out,
        Pool(arguments.workers, arguments.worker_cpus, gpus),
        address=arguments.address,
        engine=arguments.engine,
        stall_seconds=arguments.stall,
        shards=arguments.shards,
        block=arguments.block,
        update=arguments.update,
        retry=retry,
        progress=not arguments.quiet,
    )
    return say(results, out)


def say(results: Sequence[ShardResult], out: Path) -> int:
    """What came out on stdout, what is wrong on stderr."""
    statuses = sum((result.tally.statuses for result in results), Counter[str]())
    shares = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    documents = sum(result.documents for result in results)
    print(f"{out}: {sum(result.tally.rows for result in results)} of {documents} documents ({shares})")
    print(f"now {sum(result.done_now for result in results)}")
    failed = sum(result.failures for result in results)
    if failed:
        print(f"sira: {failed} documents failed; --retry STATUS redoes them", file=sys.stderr)
    return DONE_IN_PART if failed else 0


if __name__ == "__main__":
    sys.exit(main())

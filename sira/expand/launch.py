"""Several processes on one machine, a shard and its own GPUs for each: one engine a process, which vLLM wants so."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from sira.errors import InputError
from sira.expand.config import ExpandConfig
from sira.expand.progress import progress_path, read_progress
from sira.expand.shard import shard_name

LAUNCHED = "SIRA_EXPAND_LAUNCHED"
_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>
POLL_SECONDS = 0.5
MOST_PROCESSES = 64
DONE_IN_PART = 3
"""Exit status of a process whose shard is done but for documents that failed or wait."""


def launch(config: ExpandConfig, out: Path, processes: int, command: Sequence[str], *, progress: bool) -> int:
    """Run `command` (without --shard and --out) once a shard and wait for all; returns its exit status: of the
    first that failed (128 + the signal's number where one ended it), else 3 where a shard is done in part, else 0.

    A process that fails does not stop the others: their rows count, and the same command goes on with what is missing.
    Raises InputError where the GPUs do not suffice.
    """
    if not 1 <= processes <= MOST_PROCESSES:
        raise InputError(f"--processes {processes}: give 1 to {MOST_PROCESSES}")
    environments = _environments(config, processes)
    children: list[subprocess.Popen[bytes]] = []
    try:
        for shard, environment in enumerate(environments):
            arguments = [*command, "--out", str(out), "--shard", f"{shard + 1}/{processes}", "--quiet"]
            # A process group of its own: Ctrl-C reaches it once, from here.
            environment = environment | {LAUNCHED: "1"}
            children.append(subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, process_group=0))
        _watch(children, [out / shard_name(shard, processes) for shard in range(processes)], progress=progress)
    except BaseException:
        for child in children:
            child.send_signal(signal.SIGINT)
        for child in children:
            child.wait()
        raise
    statuses = [child.returncode for child in children]
    for shard, status in enumerate(statuses):
        if status:
            print(f"sira: shard {shard + 1}/{processes} ended with status {status}", file=sys.stderr)
    codes = [128 - status if status < 0 else status for status in statuses]
    return next((code for code in codes if code not in (0, DONE_IN_PART)), max(codes))


def end_with_parent() -> None:
    """In a process that `launch` started: be told to stop when the parent dies, even by SIGKILL (Linux)."""
    if os.environ.get(LAUNCHED) is None:
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _watch(children: Sequence[subprocess.Popen[bytes]], files: Sequence[Path], *, progress: bool) -> None:
    with tqdm(desc=f"{len(files)} shards", unit=" docs", disable=not progress, mininterval=0.5) as bar:
        running = True
        while running:
            running = any(child.poll() is None for child in children)
            found = [part for file in files if (part := read_progress(progress_path(file))) is not None]
            bar.total = sum(part["documents"] for part in found) or None
            bar.update(sum(part["done"] for part in found) - bar.n)
            if running:
                time.sleep(POLL_SECONDS)


def _environments(config: ExpandConfig, processes: int) -> list[dict[str, str]]:
    """One environment a process, with its share of the GPUs."""
    base = dict(os.environ)
    devices = _devices()
    if config.model.backend != "vllm" or not devices:
        return [base] * processes
    engine = config.model.engine
    each = int(engine.get("tensor_parallel_size", 1)) * int(engine.get("pipeline_parallel_size", 1))
    if each * processes > len(devices):
        raise InputError(
            f"--processes {processes}: each takes {each} GPUs (tensor_parallel_size x pipeline_parallel_size), "
            f"and there are {len(devices)}: give at most --processes {len(devices) // each}"
        )
    shares = [devices[number * each : (number + 1) * each] for number in range(processes)]
    return [base | {"CUDA_VISIBLE_DEVICES": ",".join(share)} for share in shares]


def _devices() -> list[str]:
    """The GPUs that this process may use, by the names that CUDA_VISIBLE_DEVICES takes."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name.strip() for name in visible.split(",") if name.strip()]
    if shutil.which("nvidia-smi") is None:
        return []
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    return [str(number) for number in range(sum(line.startswith("GPU ") for line in listed.splitlines()))]

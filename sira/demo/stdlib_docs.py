"""The demo's corpus: the docstrings of the running interpreter's standard library, one document an entry.

Nothing is downloaded and nothing is written by us: a text is the docstring as `inspect.cleandoc` gives it. An entry is
a module, class, exception, function, method or property under its public name (`os.path.join`, though the interpreter
defines it in `posixpath`); `docid` is that name. Recorded phrases are keyed by docid, and `fingerprint` shows which
texts another Python version words differently.

Each document was recorded, so the lists below hold the corpus to about 1,600 entries that somebody may look for.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from types import MethodType, ModuleType
from typing import Any, Literal

from sira.errors import EnvironmentFault
from sira.records import Document

Kind = Literal[
    "module", "class", "exception", "function", "method", "class method", "static method", "property", "special form"
]


def _words(text: str) -> tuple[str, ...]:
    return tuple(sorted(text.split()))


MODULES = _words(
    """
    abc argparse ast asyncio atexit base64 bisect builtins bz2 cProfile calendar collections collections.abc
    concurrent.futures configparser contextlib contextvars copy csv dataclasses datetime decimal difflib dis email
    email.message email.utils enum filecmp fileinput fnmatch fractions ftplib functools gc getopt getpass gettext
    glob graphlib gzip hashlib heapq hmac html html.parser http http.client http.server importlib importlib.metadata
    inspect io ipaddress itertools json locale logging logging.handlers lzma math mimetypes multiprocessing
    multiprocessing.shared_memory operator os os.path pathlib pickle pkgutil platform pprint pstats queue random re
    sched secrets shelve shlex shutil signal smtplib socket sqlite3 ssl statistics string struct subprocess sys
    tarfile tempfile textwrap threading time timeit tomllib traceback tracemalloc types typing unicodedata unittest
    unittest.mock urllib urllib.error urllib.parse urllib.request uuid venv warnings weakref webbrowser
    xml.etree.ElementTree zipfile zlib zoneinfo
    """
)
"""What is read. Left out: what only some systems have, what is being removed, what acts on import."""

CORE = _words(
    """
    atexit base64 bisect builtins calendar collections contextlib copy csv datetime fnmatch functools getpass glob
    gzip hashlib heapq html itertools json math os os.path pathlib pickle platform pprint queue random re secrets
    shlex shutil signal sqlite3 statistics string struct subprocess sys tempfile textwrap threading time timeit
    tomllib traceback uuid weakref webbrowser zipfile zlib
    """
)
"""Modules that everyone uses: of these, short docstrings are documents too."""

CLASSES = _words(
    """
    argparse.ArgumentParser asyncio.Event asyncio.Queue builtins.dict builtins.float builtins.int builtins.list
    builtins.set builtins.str collections.Counter collections.deque concurrent.futures.Executor
    concurrent.futures.Future configparser.ConfigParser datetime.date datetime.datetime logging.Logger os.DirEntry
    pathlib.Path pathlib.PurePath queue.Queue sqlite3.Connection sqlite3.Cursor subprocess.Popen tarfile.TarFile
    threading.Condition threading.Event threading.Semaphore threading.Thread timeit.Timer unittest.TestCase
    xml.etree.ElementTree.ElementTree zipfile.ZipFile
    """
)
"""The classes whose methods and properties are documents of their own (those of `bytes` would repeat `str`)."""

NAMES = {
    "asyncio": _words(
        """
        Barrier BoundedSemaphore Condition Event Future Lock PriorityQueue Protocol Queue Runner Semaphore Server
        StreamReader StreamWriter Task TaskGroup Timeout all_tasks as_completed create_subprocess_exec
        create_subprocess_shell create_task current_task gather get_event_loop get_running_loop iscoroutine isfuture
        new_event_loop open_connection run run_coroutine_threadsafe set_event_loop shield sleep start_server timeout
        timeout_at to_thread wait wait_for wrap_future
        """
    ),
    "gc": _words("collect disable enable freeze get_objects get_referrers get_stats isenabled"),
    "inspect": _words(
        """
        Parameter Signature cleandoc currentframe getattr_static getcallargs getclasstree getcomments getdoc getfile
        getfullargspec getmembers getmodule getmro getsource getsourcefile getsourcelines isabstract isbuiltin
        isclass iscoroutinefunction isfunction isgenerator isgeneratorfunction ismethod ismodule signature stack
        trace unwrap
        """
    ),
    "locale": _words("currency format_string getlocale localeconv setlocale"),
    "operator": _words("attrgetter itemgetter methodcaller"),
    "os": _words(
        """
        DirEntry PathLike abort access chdir chmod close cpu_count dup dup2 fdopen fsdecode fsencode fspath fstat
        fsync ftruncate get_exec_path get_inheritable get_terminal_size getcwd getcwdb getenv getlogin getpid
        getppid isatty kill link listdir lseek lstat makedirs mkdir open pipe popen putenv read readlink remove
        removedirs rename renames replace rmdir scandir set_inheritable stat stat_result strerror symlink system
        terminal_size times truncate umask unlink unsetenv urandom utime waitpid walk write
        """
    ),
    "socket": _words(
        """
        create_connection create_server getaddrinfo getdefaulttimeout getfqdn gethostbyaddr gethostbyname
        gethostbyname_ex gethostname getservbyname getservbyport has_dualstack_ipv6 htons inet_aton inet_ntoa
        inet_ntop inet_pton ntohs setdefaulttimeout socket socketpair
        """
    ),
    "ssl": _words(
        """
        SSLContext SSLSocket cert_time_to_seconds create_default_context get_default_verify_paths
        get_server_certificate match_hostname
        """
    ),
    "sys": _words(
        """
        addaudithook call_tracing exc_info exception exit getallocatedblocks getdefaultencoding
        getfilesystemencoding getprofile getrecursionlimit getrefcount getsizeof getswitchinterval gettrace intern
        is_finalizing set_int_max_str_digits setprofile setrecursionlimit setswitchinterval settrace
        """
    ),
    "threading": _words(
        """
        Barrier BoundedSemaphore Condition Event Lock RLock Semaphore Thread Timer active_count current_thread
        enumerate get_ident get_native_id local main_thread setprofile setprofile_all_threads settrace
        settrace_all_threads stack_size
        """
    ),
    "tracemalloc": _words("Snapshot Statistic Trace Traceback get_traced_memory is_tracing start stop take_snapshot"),
    "typing": _words(
        """
        Annotated Any ClassVar Final Generic Literal NamedTuple Never NewType NoReturn NotRequired Optional Protocol
        Required Self TypeAlias TypeVar TypedDict Union assert_never assert_type cast final get_args get_origin
        get_type_hints overload override reveal_type runtime_checkable
        """
    ),
    "uuid": _words("UUID getnode uuid1 uuid3 uuid4 uuid5"),
}
"""What is read of large modules. Left out: what is for one system or few programs, and hooks that programs replace."""

MIN_CHARS_BUILTINS, MIN_CHARS_KNOWN, MIN_CHARS = 15, 20, 350
"""The shortest docstring that is a document, in characters: in `builtins`; in `CORE`, `CLASSES`, `NAMES`; else."""

_NO_DESCRIPTION = re.compile(
    r"[\w. =]+\([\w\s,*?=.|()]*\)"  # a bare signature: the grammar of syntax tree nodes, the fields of named tuples
    r"|(?:Alias for field number|An enumeration|A generic version of|Deprecated alias|This function is deprecated).*",
    re.DOTALL,
)
"""Docstrings that say nothing of what the thing does; most are made by the interpreter."""


@dataclass(frozen=True, slots=True)
class StdlibDocs:
    """The documents by docid ascending, and the modules of `MODULES` that this interpreter could not import."""

    documents: tuple[Document, ...]
    missing_modules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    scope: str
    """What the entry stands in: a module, a class; its own name where it is a module."""
    module: str
    kind: Kind
    value: Any


def read_stdlib_docs(modules: Iterable[str] = MODULES) -> StdlibDocs:
    """Read the documentation of `modules`, importing what is not yet imported (warnings are not shown).

    Each object stands once, under the name that sorts first among its public names, the name it bears itself preferred.
    Titles are `<qualified name>: <kind> <name>, <scope>`, without a signature: those change between Python versions.
    Raises EnvironmentFault where Python was told to drop its docstrings (-OO).
    """
    if sys.flags.optimize >= 2:
        raise EnvironmentFault("Python runs without docstrings (-OO or PYTHONOPTIMIZE=2): run it without that option")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        imported, missing = _import(modules)
        documents = tuple(_documents(_entries(imported)))
    return StdlibDocs(tuple(sorted(documents, key=lambda document: document.docid)), missing)


def fingerprint(documents: Iterable[Document]) -> dict[str, str]:
    """docid -> first 16 hexadecimal digits of the SHA-256 of the document's text (UTF-8), in the order given."""
    return {document.docid: sha256(document.text.encode()).hexdigest()[:16] for document in documents}


def _import(names: Iterable[str]) -> tuple[dict[str, ModuleType], tuple[str, ...]]:
    imported: dict[str, ModuleType] = {}
    missing: list[str] = []
    for name in sorted(set(names)):
        try:
            imported[name] = importlib.import_module(name)
        except ImportError:  # a Python built without sqlite3, ssl, lzma, ...
            missing.append(name)
    return imported, tuple(missing)


def _entries(modules: Mapping[str, ModuleType]) -> Iterator[_Entry]:
    """Modules, then what stands in them, then the members of classes, base classes first.

    In this order the first of several names of one object is the one to keep: `PurePath.suffix`, not `Path.suffix`.
    """
    for name, module in modules.items():
        yield _Entry(name, name, name, "module", module)
    classes: list[_Entry] = []
    for name, module in modules.items():
        for attribute, value in _public(name, module, modules):
            entry = _Entry(f"{name}.{attribute}", name, name, _kind(value), value)
            yield entry
            if entry.name in CLASSES and isinstance(value, type):
                classes.append(entry)
    apart = {id(entry.value) for entry in classes} | {id(object)}
    for entry in sorted(classes, key=lambda entry: (len(entry.value.__mro__), entry.name)):
        for member, kind, value in _members(entry.value, apart):
            yield _Entry(f"{entry.name}.{member}", entry.name, entry.module, kind, value)


def _documents(entries: Iterable[_Entry]) -> Iterator[Document]:
    """Keep what has a description of its own, and of equals (same object, or same short name and text) the first."""
    objects: dict[int, Any] = {}  # holds what it has seen, so that no id comes twice
    texts: set[tuple[str, str]] = set()
    for entry in entries:
        value: Any = entry.value.__func__ if isinstance(entry.value, MethodType) else entry.value
        short, text = entry.name.rpartition(".")[2], _own_text(value)
        if len(text) < _min_chars(entry) or _NO_DESCRIPTION.fullmatch(text):
            continue
        if id(value) not in objects and (short, text) not in texts:
            objects[id(value)] = value
            texts.add((short, text))
            yield Document(docid=entry.name, title=_title(entry, short), text=text)


def _min_chars(entry: _Entry) -> int:
    if entry.module == "builtins":
        return MIN_CHARS_BUILTINS
    chosen = entry.module in CORE or entry.module in NAMES or entry.scope in CLASSES or entry.name in CLASSES
    return MIN_CHARS_KNOWN if chosen or entry.kind == "module" else MIN_CHARS


def _title(entry: _Entry, short: str) -> str:
    """The words of a dotted name again, apart: the analyzer keeps `shutil.copytree` as one word."""
    if entry.kind == "module":
        return f"{entry.name}: module {short}" if short != entry.name else f"{entry.name}: module"
    scope = f"module {entry.module}"
    if entry.scope != entry.module:
        scope = f"class {entry.scope.rpartition('.')[2]}, {scope}"
    return f"{entry.name}: {entry.kind} {short}, {scope}"


def _public(name: str, module: ModuleType, modules: Mapping[str, ModuleType]) -> list[tuple[str, Any]]:
    """(attribute, object) of a module's own public objects; first those under the name that they bear themselves."""
    exported: Iterable[str] | None = getattr(module, "__all__", None)
    found: list[tuple[str, Any]] = []
    for attribute in sorted(set(vars(module) if exported is None else exported)):
        value = getattr(module, attribute, None)
        if attribute.startswith("_") or value is None or isinstance(value, ModuleType):
            continue
        if name in NAMES and attribute not in NAMES[name]:
            continue
        if _kind(value) == "exception" and name != "builtins":
            continue
        if _belongs(value, attribute, name, modules, listed=exported is not None):
            found.append((attribute, value))
    return sorted(found, key=lambda pair: (getattr(pair[1], "__name__", pair[0]) != pair[0], pair[0]))


def _belongs(value: object, attribute: str, module: str, modules: Mapping[str, ModuleType], *, listed: bool) -> bool:
    """Whether the object is the module's own, not one that it imported or passes on from another module read here."""
    home = getattr(value, "__module__", None)
    if module == "builtins":  # interactive shells add names of their own; `open` comes from io
        return home in ("builtins", "io", "_io")
    if not isinstance(home, str) or home == module:
        return True
    if home in modules:
        own_name = getattr(value, "__name__", attribute)
        return getattr(modules[home], own_name, None) is not value
    return listed or home.lstrip("_").partition(".")[0] == module.partition(".")[0]


def _members(cls: type, apart: set[int]) -> list[tuple[str, Kind, Any]]:
    """(name, kind, descriptor) of a class's public methods and properties, and of its bases' that are not `apart`."""
    found: dict[str, tuple[str, Kind, Any]] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            found.pop(name, None)
            kind = _member_kind(value)
            if kind is not None and not name.startswith("_") and (base is cls or id(base) not in apart):
                found[name] = name, kind, value
    return sorted(found.values(), key=lambda member: member[0])


def _member_kind(value: object) -> Kind | None:
    if isinstance(value, classmethod) or inspect.isbuiltin(value) or type(value).__name__ == "classmethod_descriptor":
        return "class method"
    if isinstance(value, staticmethod):
        return "static method"
    if isinstance(value, property | cached_property) or inspect.isdatadescriptor(value):
        return "property"
    return "method" if inspect.isroutine(value) else None


def _kind(value: object) -> Kind:
    if isinstance(value, type):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isroutine(value) or hasattr(value, "__wrapped__") else "special form"


def _own_text(value: object) -> str:
    """The object's own docstring, cleaned; "" where it has none or shows that of its class or of a base class."""
    text: object = getattr(value, "__doc__", None)
    bases = value.__mro__[1:] if isinstance(value, type) else (type(value),)
    if not isinstance(text, str) or any(text == base.__doc__ for base in bases):
        return ""
    return inspect.cleandoc(text).strip()

"""`sira serve` and Pyserini's servers as processes on the loopback address, each with its own way to ask."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import urlencode

from benchmarks._http_load import Load, Spec, load
from benchmarks._measure import run_process
from benchmarks._serving_peers_load import load_by_get
from benchmarks.serving import NAME, Server
from sira.lucene.jvm import DEFAULT_HEAP, find_anserini, find_java

Fields = Literal["the same", "its own"]
Hits = list[tuple[str, float]]

PATIENCE_S = 300.0
_VERSIONS = """
import importlib.metadata as installed, json, sys
found = {"python": sys.version.split()[0]}
for name in ("pyserini", "fastapi", "uvicorn", "fastmcp", "torch"):
    try:
        found[name] = installed.version(name)
    except installed.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


class Peer(Protocol):
    """A server of one index. The answer has docid, score and rank of each hit and, with the fields `the same`, its
    title; with `its own` what the server gives to who asks for nothing in particular."""

    @property
    def name(self) -> str: ...
    @property
    def environment(self) -> Mapping[str, str]: ...
    def command(self, port: int, folder: Path) -> list[str]: ...
    def search(self, address: str, query: str, k: int) -> Hits: ...
    def load(self, address: str, queries: Sequence[str], k: int, fields: Fields, spec: Spec) -> Load: ...


def _answer(request: urllib.request.Request | str) -> dict[str, object]:
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def _hits(rows: object) -> Hits:
    assert isinstance(rows, list)
    return [(row["docid"], row["score"]) for row in rows]


@dataclass(frozen=True, slots=True)
class Sira:
    index: Path
    name: str = "sira serve"
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def command(self, port: int, folder: Path) -> list[str]:
        command = [sys.executable, "-m", "sira", "serve", f"{NAME}={self.index}", "--port", str(port)]
        return [*command, "--log", str(folder / "access.log")]

    def search(self, address: str, query: str, k: int) -> Hits:
        body = json.dumps({"query": query, "k": k}).encode()
        kind = {"Content-Type": "application/json"}
        return _hits(_answer(urllib.request.Request(_url(address), body, kind))["hits"])

    def load(self, address: str, queries: Sequence[str], k: int, fields: Fields, spec: Spec) -> Load:
        titles = fields == "the same"
        bodies = [json.dumps({"query": query, "k": k, "titles": titles}) for query in queries]
        return load(Spec(_url(address), bodies, spec.clients, seconds=spec.seconds, requests=spec.requests))


def _url(address: str) -> str:
    return f"{address}/v1/indexes/{NAME}/search"


@dataclass(frozen=True, slots=True)
class Pyserini:
    """`python`: of an environment with all that Pyserini requires, and started as its documentation says, with the
    Java that JAVA_HOME names; without it Pyserini as it is installed here (see _serving_peers_start.py)."""

    index: Path
    python: Path | None
    transport: Literal["rest", "mcp"] = "rest"

    @property
    def name(self) -> str:
        return f"Pyserini {self.transport.upper()}"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"JAVA_TOOL_OPTIONS": f"-Xmx{DEFAULT_HEAP}"} if self.python else {}

    def command(self, port: int, folder: Path) -> list[str]:
        config = folder / "indexes.yaml"
        config.write_text(f"indexes:\n  {NAME}: {json.dumps(str(self.index))}\n", encoding="utf-8")
        start = [str(self.python), "-m"] if self.python else [sys.executable, "-m", "benchmarks._serving_peers_start"]
        listen = ["--host", "127.0.0.1"] if self.transport == "rest" else ["--transport", "http"]
        return [*start, f"pyserini.server.{self.transport}", *listen, "--port", str(port), "--config", str(config)]

    def search(self, address: str, query: str, k: int) -> Hits:
        # No load asks for unparsed documents, so none finds these answers in the cache.
        path = _path(query, k, "its own") + "&parse=false"
        return _hits(_answer(address + path)["candidates"])

    def load(self, address: str, queries: Sequence[str], k: int, fields: Fields, spec: Spec) -> Load:
        paths = [_path(query, k, fields) for query in queries]
        return load_by_get(Spec(address, paths, spec.clients, seconds=spec.seconds, requests=spec.requests))

    def versions(self) -> dict[str, str]:
        """Of what its servers run on."""
        found = run_process([str(self.python or sys.executable), "-c", _VERSIONS]).stdout
        return json.loads(found)

    @property
    def java(self) -> str:
        """The version of its Java."""
        home = Path(os.environ.get("JAVA_HOME", "")) if self.python else find_java().path
        release = home / "release"
        lines = release.read_text(encoding="utf-8").splitlines() if release.is_file() else []
        return next((line.split('"')[1] for line in lines if line.startswith("JAVA_VERSION=")), "unknown")


def _path(query: str, k: int, fields: Fields) -> str:
    """Its documents hold a title and a text; cut to one character the text is as good as left out."""
    asked = {"query": query, "hits": k, **({"max_doc_length": 1} if fields == "the same" else {})}
    return f"/v1/{NAME}/search?{urlencode(asked)}"


def anserini_index(collection: Path, work: Path, *, fresh: bool) -> Path:
    """The index of a BEIR folder by Anserini's IndexCollection, which `python -m pyserini.index.lucene` calls."""
    target = work / f"peers-{collection.name}-anserini"
    if target.exists() and not fresh:
        return target
    java, jar = find_java().path / "bin" / "java", find_anserini()
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work) as folder:
        source, built = Path(folder) / "source", Path(folder) / "index"
        source.mkdir()
        (source / "corpus.jsonl").symlink_to((collection / "corpus.jsonl").resolve())
        command = [str(java), "-cp", str(jar), "io.anserini.index.IndexCollection", "-collection", "BeirFlatCollection"]
        command += ["-generator", "DefaultLuceneDocumentGenerator", "-input", str(source), "-index", str(built)]
        run_process([*command, "-threads", "1", "-storePositions", "-storeDocvectors", "-storeRaw"])
        if target.exists():
            target.rename(Path(folder) / "old")
        built.rename(target)
    return target


@dataclass(frozen=True, slots=True)
class Started:
    """A peer that has answered; `first_s` from the start of its process to the end of its first answer."""

    peer: Peer
    server: Server
    first_s: float


@contextmanager
def running(peer: Peer, query: str | None) -> Generator[Started]:
    """The server until the block ends, when it has answered `query`; without one, when it takes connections.

    Raises RuntimeError with the end of its output if it ends before that.
    """
    with tempfile.TemporaryDirectory() as name, (Path(name) / "output").open("w+") as output:
        port = _free_port()
        command = peer.command(port, Path(name))
        start = time.perf_counter()
        environment = {**os.environ, **peer.environment}
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        try:
            while not _answers(peer, port, query):
                if process.poll() is not None or time.perf_counter() - start > PATIENCE_S:
                    output.seek(0)
                    raise RuntimeError(f"{peer.name} does not start ({' '.join(command)}): {output.read()[-2000:]}")
                time.sleep(0.02)
            server = Server(f"http://127.0.0.1:{port}", process.pid)
            yield Started(peer, server, time.perf_counter() - start)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(peer: Peer, port: int, query: str | None) -> bool:
    try:
        if query is None:
            socket.create_connection(("127.0.0.1", port), 1).close()
        else:
            peer.search(f"http://127.0.0.1:{port}", query, 10)
    except urllib.error.HTTPError as error:
        if error.code != 503:
            raise RuntimeError(f"{peer.name} answers {error.code}: {error.read()[:2000]!r}") from error
        return False
    except OSError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]

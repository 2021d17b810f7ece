"""Faults under load, on real processes: nothing is lost, no answer is wrong, nothing hangs."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sira.client import AsyncSiraClient, SearchPage, SiraClient
from sira.lucene.writer import build_index
from sira.records import Document
from tests.client.support import Served, serving
from tests.conftest import MakeIndex, records

pytestmark = [pytest.mark.java, pytest.mark.slow]

QUERIES = ("glaze", "kiln shelves", "green celadon", "iron glaze of the kiln", "nothing")
Docids = Mapping[str, tuple[str, ...]]


def documents(build: int, number: int = 400) -> list[Document]:
    """Two builds share docids and differ in what each document says."""
    words = ("glaze", "kiln", "shelves", "green", "celadon", "iron", "clay")
    return [
        Document(f"d{at:03}", " ".join(words[(at * step + build) % 7] for step in range(1, 4 + at % 5)), f"Title {at}")
        for at in range(number)
    ]


def expected(url: str) -> Docids:
    with SiraClient(url) as client:
        return {query: client.search(query=query, k=50).ranking.docids for query in QUERIES}


async def crowd(
    url: str, meanwhile: Callable[[], Awaitable[Any]], *, tasks: int = 12, retries: int = 8
) -> list[tuple[str, SearchPage]]:
    """Every task searches until `meanwhile` has ended and a little longer; an error of any is raised."""
    found: list[tuple[str, SearchPage]] = []
    over = asyncio.Event()

    async def one(client: AsyncSiraClient, number: int) -> None:
        at = number
        while not over.is_set():
            query = QUERIES[at % len(QUERIES)]
            found.append((query, await client.search(query=query, k=50)))
            at += 1

    async with AsyncSiraClient(url, retries=retries, timeout_s=20) as client, asyncio.TaskGroup() as group:
        for number in range(tasks):
            group.create_task(one(client, number))
        await asyncio.sleep(0.5)
        await meanwhile()
        await asyncio.sleep(1.0)
        over.set()
    return found


def workers(served: Served) -> set[int]:
    """The processes that serve, as Python's multiprocessing starts them."""
    lists = Path(f"/proc/{served.process.pid}/task").glob("*/children")
    pids = {int(pid) for listed in lists for pid in listed.read_text().split()}
    return {pid for pid in pids if b"spawn_main" in _command(pid)}


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it is gone
        return b""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are listed by /proc")
def test_workers_are_killed_under_load(make_index: MakeIndex, tmp_path: Path) -> None:
    index = make_index(documents(1))
    with serving(tmp_path, f"x={index}", "--workers", "2", "--preload") as served:
        right = expected(served.url)

        async def kill() -> None:
            before = workers(served)
            assert len(before) == 2
            os.kill(min(before), signal.SIGKILL)
            end = time.monotonic() + 40
            while len(now := workers(served)) < 2 or not now - before:
                assert time.monotonic() < end, "no process took its place"
                await asyncio.sleep(0.1)
            await asyncio.sleep(5)  # it starts

        found = asyncio.run(asyncio.wait_for(crowd(served.url, kill), 150))
        assert len(found) > 50  # the other one went on
        assert not [query for query, page in found if page.ranking.docids != right[query]]
        assert expected(served.url) == right


def test_an_index_is_swapped_under_load(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build_index(records(documents(1)), folder, progress=False)
    with serving(tmp_path, f"x={folder}", "--workers", "2", "--preload", "--refresh", "0.2") as served:
        old = expected(served.url)

        async def swap() -> None:
            await asyncio.to_thread(build_index, records(documents(2)), folder, progress=False, overwrite=True)
            end = time.monotonic() + 30
            while True:  # until both processes have it
                pages = [await asyncio.to_thread(expected, served.url) for _ in range(5)]
                if all(page != old for page in pages):
                    return
                assert time.monotonic() < end, "the new build was not taken"

        found = asyncio.run(asyncio.wait_for(crowd(served.url, swap, retries=0), 150))
        new = expected(served.url)
        assert new != old
        assert not [page for query, page in found if page.ranking.docids not in (old[query], new[query])]
        told = {(query, page.generation): page.ranking.docids for query, page in found}
        assert all(docids == (old if generation == 1 else new)[query] for (query, generation), docids in told.items())
        assert {generation for _, generation in told} == {1, 2}
        assert "fault" not in served.stderr.read_text()


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="bounds of another process are set on Linux alone")
def test_the_disk_is_full(make_index: MakeIndex, tmp_path: Path) -> None:
    """No file of the server can grow any more: its log loses lines; searches and sessions go on, long pages too."""
    index = make_index(documents(1, 3000))
    with serving(tmp_path, f"x={index}", "--preload") as served:
        right = expected(served.url)
        with SiraClient(served.url) as client:
            page = client.search(query="glaze", k=1000)
            resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (0, 0))
            size = (tmp_path / "access.log").stat().st_size
            assert expected(served.url) == right
            assert client.search(query="glaze", k=1000).hits == page.hits
            session = client.open_session("pi-serini", {"browse_limit": 100, "max_lines": 50, "full_paging": True})

            def call(tool: str, asked: dict[str, Any]) -> Any:
                return client.call_tool(session.session, tool, asked)

            assert call("search", {"reason": "a test", "query": "glaze"}).failure is None
            offset: int | None = 1
            shown: list[str] = []
            while offset is not None and offset <= 300:
                asked = {"reason": "a test", "search_id": "s1", "offset": offset, "limit": 100}
                result = call("read_search_results", asked)
                assert result.failure is None, result.text
                shown += result.details["retrievedDocids"]
                offset = result.details["nextOffset"]
            assert tuple(shown) == page.ranking.docids[: len(shown)]
            assert len(shown) >= 300
        assert (tmp_path / "access.log").stat().st_size == size
        assert served.process.poll() is None


def test_slow_clients_and_clients_that_vanish(make_index: MakeIndex, tmp_path: Path) -> None:
    """Hundreds that send half a request, or a whole one and leave, or take no answer; the others notice nothing."""
    index = make_index(documents(1, 3000))
    config = tmp_path / "serve.toml"
    bounds = "[limits]\nbody_s = 3.0\nwrite_s = 3.0\n"
    config.write_text(f'[indexes]\nx = "{index}"\n[serve]\nport = 0\nlog = "access.log"\npreload = true\n{bounds}')
    with serving(tmp_path, "--config", config) as served:
        right = expected(served.url)
        host, port = served.url.removeprefix("http://").split(":")
        body = b'{"query": "glaze", "k": 1000}'
        head = f"POST /v1/indexes/x/search HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        whole = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

        def connections(sent: bytes, number: int) -> list[socket.socket]:
            made = [socket.create_connection((host, int(port)), timeout=20) for _ in range(number)]
            for connection in made:
                connection.sendall(sent)
            return made

        async def trouble() -> None:
            slow = connections(whole[:-5], 100)
            for connection in connections(whole, 100):
                connection.close()  # it vanishes
            deaf = connections(whole * 40, 20)  # answers of a megabyte and more that nobody reads
            await asyncio.sleep(6)
            heard = await asyncio.to_thread(lambda: [connection.recv(1000) for connection in slow])
            assert all(b" 408 " in answer.split(b"\r\n")[0] for answer in heard)
            for connection in (*slow, *deaf):
                connection.close()

        found = asyncio.run(asyncio.wait_for(crowd(served.url, trouble), 120))
        assert len(found) > 50
        assert not [query for query, page in found if page.ranking.docids != right[query]]
        end = time.monotonic() + 10
        while (left := _busy(served.url)) != (0, 0, 0):
            assert time.monotonic() < end, left
            time.sleep(0.2)
        assert "Traceback" not in served.stderr.read_text()


def _busy(url: str) -> Sequence[float]:
    """Searches that run and wait, and requests that are being answered beside the one for this."""
    with SiraClient(url) as client:
        lines = [line.rpartition(" ") for line in client.metrics().splitlines() if line.startswith("sira_")]
    told = {name.partition("{")[0]: float(value) for name, _, value in lines}
    names = ("sira_searches_running", "sira_searches_waiting", "sira_requests_in_flight")
    running, waiting, answering = (told[name] for name in names)
    return (running, waiting, answering - 1)

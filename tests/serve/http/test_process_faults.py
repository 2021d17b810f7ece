"""`sira serve` where something goes wrong: a process is killed, a build exchanged or the server stopped under load, the
disk is full. Nothing that was promised is lost, no answer is wrong, and nothing hangs."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sira.client import AbsentError, SiraClient, UnreachableError
from sira.lucene.writer import build_index
from sira.records import Document
from tests.conftest import MakeIndex, records
from tests.serve.http.processes import Process, serving
from tests.serve.http.support import DOCUMENTS, soon

pytestmark = [pytest.mark.java, pytest.mark.slow]

SEARCH = "/v1/indexes/pots/search"
SLOW = {"docid": "slow", "pattern": "(a|aa)+$", "mode": "regex"}
"""A request that runs for two seconds, and then is refused: the pattern takes too long."""
WITH_SLOW = (*DOCUMENTS, Document("slow", "a" * 40 + "b"))


@contextlib.contextmanager
def under_load(work: Callable[[], object], threads: int = 4) -> Iterator[Counter[str]]:
    """Call it all the time from many threads, and count the names of what it gives or raises."""
    counted, lock, stop = Counter[str](), threading.Lock(), threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            try:
                name = str(work())
            except Exception as error:
                name = type(error).__name__
                time.sleep(0.05)  # a server that is gone refuses fast
            with lock:
                counted[name] += 1

    every = [threading.Thread(target=go_on) for _ in range(threads)]
    for thread in every:
        thread.start()
    try:
        assert soon(lambda: sum(counted.values()) > 20)
        yield counted
    finally:
        stop.set()
        for thread in every:
            thread.join(60)
    assert not any(thread.is_alive() for thread in every)


def asking(server: Process, expected: Any) -> Callable[[], str]:
    """One search over a connection of its own: `right`, `wrong`, or the status."""

    def ask() -> str:
        answer = httpx2.post(server.url + SEARCH, json={"query": "kiln glaze"}, timeout=20, trust_env=False)
        if answer.status_code != 200:
            return str(answer.status_code)
        return "right" if answer.json()["hits"] == expected else "wrong"

    return ask


def at_work(server: Process) -> bool:
    lines = server.client.get("/metrics").text.splitlines()
    return any(line.startswith("sira_searches_running") and line.endswith(" 1") for line in lines)


def running(server: Process) -> Future[httpx2.Response]:
    """A slow request that the server is at work on."""
    url = server.url + "/v1/indexes/pots/find"
    future = ThreadPoolExecutor(1).submit(httpx2.post, url, json=SLOW, timeout=20, trust_env=False)
    assert soon(lambda: at_work(server))
    return future


def test_a_process_is_killed_under_load(make_index: MakeIndex, tmp_path: Path) -> None:
    with serving(tmp_path, f"pots={make_index(DOCUMENTS)}", "--workers", "2", "--preload") as server:
        expected = server.client.post(SEARCH, json={"query": "kiln glaze"}).json()["hits"]
        before = server.workers
        assert len(before) == 2
        sessions: list[str] = []
        while len({session.partition(".")[0] for session in sessions}) < 2:
            with SiraClient(server.url, index="pots") as one:
                sessions.append(one.open_session().session)

        with (
            SiraClient(server.url, index="pots", retries=5) as patient,
            under_load(lambda: len(patient.search(query="kiln glaze").hits), 2) as waited,
            under_load(asking(server, expected), 2) as counted,
        ):
            os.kill(before[0], signal.SIGKILL)
            counted.clear()
            assert soon(lambda: len(server.workers) == 2 and before[0] not in server.workers, 60)
            assert soon(lambda: counted["right"] > 20)
        assert counted["wrong"] == 0
        assert not any(name.isdigit() for name in counted)
        assert sum(counted.values()) - counted["right"] <= 4  # what the killed one had taken breaks off
        assert set(waited) == {str(len(expected))}  # a client that asks again sees nothing of it

        with SiraClient(server.url) as client:
            kinds: set[str | None] = set()
            for session in sessions:
                try:
                    client.call_tool(session, "search", {"reason": "", "query": "kiln"})
                    kinds.add("alive")
                except AbsentError as error:
                    kinds.add(error.kind)
            assert kinds == {"alive", "no-such-session"}


def test_what_the_client_of_a_killed_process_sees(make_index: MakeIndex, tmp_path: Path) -> None:
    with serving(tmp_path, f"pots={make_index(WITH_SLOW)}") as server, SiraClient(server.url, index="pots") as client:
        pool = ThreadPoolExecutor(1)
        future = pool.submit(client.find, "slow", SLOW["pattern"], mode="regex")
        assert soon(lambda: at_work(server))
        server.process.kill()
        with pytest.raises(UnreachableError, match="check that `sira serve` runs there"):
            future.result(20)


def test_builds_are_exchanged_under_load_in_every_process(tmp_path: Path) -> None:
    folder = tmp_path / "pots"

    def build(letter: str) -> None:
        documents = [Document(f"{letter}{number}", f"glaze {letter} {'word ' * number}") for number in range(5)]
        build_index(records(documents), folder, progress=False, overwrite=True)

    build("a")
    with serving(tmp_path, f"pots={folder}", "--workers", "2", "--refresh", "0.05") as server:

        def ask() -> str:
            """The letters of a batch, whose searches are all on one build."""
            body = {"searches": [{"query": "glaze", "titles": True}] * 3}
            answer = httpx2.post(f"{server.url}{SEARCH}/batch", json=body, timeout=20, trust_env=False)
            hits = [result["hits"] for result in answer.json()["results"]]
            assert [len(found) for found in hits] == [5, 5, 5]
            return "".join(sorted({hit["docid"][0] for found in hits for hit in found}))

        with under_load(ask) as counted:
            for letter in "bcd":
                build(letter)
                assert soon(lambda letter=letter: counted[letter] > 5)
            assert soon(lambda: {ask() for _ in range(8)} == {"d"})
        assert set(counted) <= set("abcd"), counted


def test_sigterm_under_load(make_index: MakeIndex, tmp_path: Path) -> None:
    with serving(tmp_path, f"pots={make_index(WITH_SLOW)}", "--workers", "2", "--preload") as server:
        expected = server.client.post(SEARCH, json={"query": "kiln glaze"}).json()["hits"]
        slow = running(server)
        with under_load(asking(server, expected)) as counted:
            server.process.send_signal(signal.SIGTERM)
            assert soon(lambda: server.process.poll() is not None, 30)
        assert slow.result().status_code == 422  # it ran to its end
        assert server.process.returncode in (0, -signal.SIGTERM)
        assert set(counted) <= {"right", "503", "ConnectError", "ReadError", "RemoteProtocolError"}, counted
        assert "Traceback" not in server.errors.read_text()


def test_ctrl_c_lets_a_request_end_and_twice_does_not(make_index: MakeIndex, tmp_path: Path) -> None:
    with serving(tmp_path, f"pots={make_index(WITH_SLOW)}") as server:
        slow = running(server)
        server.process.send_signal(signal.SIGINT)
        assert soon(lambda: not accepts(server))
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 130
        assert server.errors.read_text().endswith("sira: interrupted\n")
        assert isinstance(slow.exception(20), httpx2.HTTPError)


def accepts(server: Process) -> bool:
    try:
        socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=1).close()
    except OSError:
        return False
    return True


def test_a_hang_up_restarts_the_processes_one_by_one(make_index: MakeIndex, tmp_path: Path) -> None:
    with serving(tmp_path, f"pots={make_index(DOCUMENTS)}", "--workers", "2") as server:
        before = server.workers
        ask = asking(server, server.client.post(SEARCH, json={"query": "kiln glaze"}).json()["hits"])
        server.process.send_signal(signal.SIGHUP)
        with under_load(ask, 1) as counted:
            assert soon(lambda: len(server.workers) == 2 and not set(before) & set(server.workers), 150)
        assert set(counted) <= {"right", "ReadError", "RemoteProtocolError"}, counted


def test_an_access_log_on_a_full_disk_costs_its_lines_alone(make_index: MakeIndex, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with serving(tmp_path, f"pots={make_index(DOCUMENTS)}", "--log", "/dev/full") as server:
        for number in range(200):
            assert server.client.post(SEARCH, json={"query": f"kiln {number}"}).status_code == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) in (0, -signal.SIGTERM)
        assert "Traceback" not in server.errors.read_text()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_index_to_preload_that_is_not_there(workers: str, make_index: MakeIndex, tmp_path: Path) -> None:
    indexes = (f"pots={make_index(DOCUMENTS)}", f"gone={tmp_path}/gone")
    done = subprocess.run(
        [sys.executable, "-m", "sira", "serve", *indexes, "--preload", "--workers", workers, "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert f"sira: warning: {tmp_path}/gone: there is no such folder: " in done.stderr
    assert "sira: error: index gone: there is no such folder: " in done.stderr
    assert "Traceback" not in done.stderr
    assert workers == "1" or "could not begin: it says above why" in done.stderr


def test_a_process_that_cannot_begin_again_leaves_the_others(make_index: MakeIndex, tmp_path: Path) -> None:
    folder = tmp_path / "pots"
    shutil.copytree(make_index(DOCUMENTS), folder)
    with serving(tmp_path, f"pots={folder}", "--workers", "2", "--preload", "--refresh", "3600") as server:
        expected = server.client.post(SEARCH, json={"query": "kiln glaze"}).json()["hits"]
        folder.rename(tmp_path / "away")
        killed, other = server.workers
        os.kill(killed, signal.SIGKILL)
        assert soon(lambda: "sira: error: index pots" in server.errors.read_text(), 60)
        ask = asking(server, expected)
        with under_load(ask, 1) as counted:
            assert soon(lambda: counted["right"] > 20)
        assert counted["wrong"] == 0
        assert other in server.workers
        (tmp_path / "away").rename(folder)
        assert soon(lambda: len(server.workers) == 2 and server.is_ready(), 60)


@pytest.mark.parametrize("folder", ["x" * 100, "nowhere"])
def test_a_folder_that_sockets_cannot_lie_in(folder: str, make_index: MakeIndex, tmp_path: Path) -> None:
    (tmp_path / ("x" * 100)).mkdir()
    code = "import sys, tempfile; from sira.cli.main import main; tempfile.tempdir = sys.argv.pop(1); sys.exit(main())"
    pots = f"pots={make_index(DOCUMENTS)}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / folder), "serve", pots, "--workers", "2", "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "set TMPDIR to" in done.stderr

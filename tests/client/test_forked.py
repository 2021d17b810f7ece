"""A client that a process had before it was forked: each process gets the answers to its own calls."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.client.support import Scripted, scripted

pytest.importorskip("httpx2", reason="the client needs httpx2")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")

FORKING = """
import os, sys
from sira.client import ClosedError, SiraClient

def forked(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0

def ask_and_close():
    client.health()
    client.close()

def is_closed():
    try:
        client.health()
    except ClosedError:
        return
    raise AssertionError("it is open")

with SiraClient(sys.argv[1]) as client:
    client.health()
    forked(ask_and_close)
    client.health()
    forked(lambda: forked(client.health))
    forked(client.close)
    client.health()
forked(is_closed)
"""


def test_forked_processes_do_not_share_connections() -> None:
    with scripted(Scripted(200, {"status": "ok"})) as server:
        command = [sys.executable, "-W", "error", "-c", FORKING, server.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    first, child, again, grandchild, last = (asked.port for asked in server.asked)
    assert first == again == last  # what the others close is not the parent's
    assert len({first, child, grandchild}) == 3

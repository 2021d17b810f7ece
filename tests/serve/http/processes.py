"""`sira serve` as a process of its own, for tests."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2

from tests.serve.http.support import soon


class Process:
    def __init__(self, process: subprocess.Popen[str], url: str, errors: Path) -> None:
        self.process, self.url, self.errors = process, url, errors
        self.client = httpx2.Client(base_url=url, timeout=20, trust_env=False)

    @property
    def workers(self) -> list[int]:
        """The processes that answer."""
        found: list[int] = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                own = int(fields[1]) == self.process.pid and fields[0] != "Z"
                if own and b"spawn_main" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return sorted(found)

    def is_ready(self) -> bool:
        """Asked over a new connection each time, so that any of the processes may answer."""
        try:
            return httpx2.get(f"{self.url}/ready", timeout=5, trust_env=False).status_code == 200
        except httpx2.HTTPError:
            return False


@contextlib.contextmanager
def serving(tmp_path: Path, *arguments: str, environment: dict[str, str] | None = None) -> Iterator[Process]:
    """On a free port; ready."""
    errors = tmp_path / "stderr"
    port = () if "--config" in arguments else ("--port", "0")
    command = [sys.executable, "-m", "sira", "serve", *port, *arguments]
    given = {**os.environ, "TMPDIR": str(tmp_path), **(environment or {})}
    with errors.open("w") as stream:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stream, text=True, env=given)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), errors.read_text()
        found = Process(process, url, errors)
        with found.client:
            assert soon(found.is_ready, 60), errors.read_text()
            yield found
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(30)
        process.stdout.close()

"""The load of benchmarks/_http_load.py with GET in place of POST: the texts of the Spec are paths with their query."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import asdict
from itertools import cycle
from urllib.parse import urlsplit

from benchmarks._http_load import Load, Run, Spec


class Gets(Run):
    """Counts and sends as Run does."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        host = urlsplit(spec.url).netloc
        self._requests = cycle([f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode() for path in spec.bodies])


def load_by_get(spec: Spec) -> Load:
    """The closed load, in a process of its own. Raises RuntimeError with the end of its stderr."""
    command = [sys.executable, "-m", "benchmarks._serving_peers_load"]
    done = subprocess.run(command, input=json.dumps(asdict(spec)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the load ended with {done.returncode}: {done.stderr[-2000:]}")
    return Load(**json.loads(done.stdout))


async def _carried_out(spec: Spec) -> Load:
    run = Gets(spec)
    start, cpu = time.perf_counter(), time.process_time()
    await run.closed()
    return run.load(time.perf_counter() - start, time.process_time() - cpu)


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(_carried_out(Spec(**json.load(sys.stdin)))))))

"""A driver for test_ray.py: `expand_on_ray` with recorded replies, and a generator that can be slow or die.

What stands here is pickled by value (this is `__main__`), so that workers need no path to it.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from sira.cluster.ray_cluster import Pool
from sira.cluster.ray_job import expand_on_ray
from sira.expand.config import read_expand_config
from sira.llm import ModelSettings, Reply, Request, open_generator


class Watched:
    """Recorded replies. Each request leaves `pid docid` in the file `calls`; that of `poison` ends the process."""

    def __init__(self, settings: ModelSettings, calls: Path, poison: str, seconds: float) -> None:
        self._inner = open_generator(settings)
        self._calls, self._poison, self._seconds = calls, poison, seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        return self._inner.generate(map(self._noted, requests))

    def _noted(self, request: Request) -> Request:
        with self._calls.open("a") as file:
            file.write(f"{os.getpid()} {request.key}\n")
        if request.key == self._poison:
            os._exit(1)
        time.sleep(self._seconds)
        return request


def cluster_of_three(calls: Path, after: int) -> Callable[[], None]:
    """Start a head and two nodes, and remove one of these once so many documents were asked for."""
    ray, cluster_utils = import_module("ray"), import_module("ray.cluster_utils")
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False)
    left = threading.Event()

    def remove() -> None:
        """The node that asked last, so that it dies at work."""
        asked: list[str] = []
        while len(asked) < after or not any(node_of(pid) for pid in pids(asked)):
            if left.wait(0.05):
                return
            asked = calls.read_text().splitlines() if calls.exists() else []
        node = next(node for pid in pids(asked) if (node := node_of(pid)))
        cluster.remove_node(node, allow_graceful=False)
        (calls.parent / "removed").touch()

    def pids(asked: list[str]) -> list[int]:
        return list(dict.fromkeys(int(line.split()[0]) for line in reversed(asked[:-1])))

    def node_of(pid: int) -> Any:
        """The removable node whose raylet is the parent of a worker."""
        try:
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return None
        raylets = {process.process.pid: node for node in nodes for process in node.all_processes["raylet"]}
        return raylets.get(parent)

    threading.Thread(target=remove, daemon=True).start()

    def close() -> None:
        left.set()
        ray.shutdown()
        cluster.shutdown()

    return close


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("out", type=Path)
    parser.add_argument("calls", type=Path)
    parser.add_argument("--poison", default="")
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--block", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--remove-a-node-after", type=int, default=0)
    given = parser.parse_args()
    close = cluster_of_three(given.calls, given.remove_a_node_after) if given.remove_a_node_after else None

    def open_model(settings: ModelSettings) -> Any:
        return Watched(settings, given.calls, given.poison, given.seconds)

    try:
        results = expand_on_ray(
            read_expand_config(given.config), given.out, Pool(given.workers), open_model=open_model, stall_seconds=60,
            shards=2, block=given.block, progress=False,
        )  # fmt: skip
    finally:
        if close:
            close()
    print("now", sum(result.done_now for result in results))


if __name__ == "__main__":
    sys.exit(main())

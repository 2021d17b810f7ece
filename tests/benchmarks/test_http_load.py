"""The load of benchmarks/serving.py counts what came back, and its quantiles are known values."""

from __future__ import annotations

import asyncio
import time

import pytest

from benchmarks._http_load import Load, Spec, carried_out, quantiles
from tests.client.support import Scripted, problem, scripted


def test_quantiles() -> None:
    assert quantiles([3.0, 1.0, 2.0, 4.0]) == {"p50": 2.0, "p95": 4.0, "p99": 4.0, "max": 4.0}
    assert quantiles([float(value) for value in range(1, 101)])["p95"] == 95.0
    assert quantiles([]) == {}


def run(spec: Spec) -> Load:
    return asyncio.run(carried_out(spec))


def test_a_number_of_requests_by_several_clients() -> None:
    with scripted(Scripted(200, {"hits": []})) as server:
        found = run(Spec(f"{server.url}/search", ['{"query": "a"}', '{"query": "b"}'], clients=3, requests=20))
        assert 20 <= found.statuses["200"] <= 22  # each client may have begun one when the last was counted
        assert found.broken == 0
        assert found.mean_bytes > len('{"hits": []}')
        assert {asked.body["query"] for asked in server.asked} == {"a", "b"}
        assert {(asked.method, asked.path) for asked in server.asked} == {("POST", "/search")}


def test_refusals_are_counted_apart_and_their_times_are_not_those_of_good_answers() -> None:
    with scripted(problem(429), problem(429), Scripted(200, hang_s=0.2)) as server:
        found = run(Spec(server.url, ["{}"], requests=3))
    assert found.statuses == {"429": 2, "200": 1}
    assert found.good["p50"] >= 200


def test_an_open_load_does_not_wait_for_answers() -> None:
    with scripted(Scripted(200, hang_s=0.5)) as server:
        start = time.monotonic()
        found = run(Spec(server.url, ["{}"], rate=50, seconds=1.0))
        assert time.monotonic() - start < 10
    assert 20 <= found.statuses["200"] <= 51
    assert found.good["p50"] >= 500
    assert found.unsent == 0


def test_broken_connections_are_counted() -> None:
    with scripted(Scripted(200, {"text": "x" * 1000}, cut=True)) as server:
        found = run(Spec(server.url, ["{}"], requests=3))
    assert (found.broken, found.statuses) == (3, {})
    assert found.good == {}


def test_no_server() -> None:
    with pytest.raises(ConnectionError):
        run(Spec("http://127.0.0.1:9/", ["{}"], requests=1))

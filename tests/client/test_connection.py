"""What a client makes of bad connections, busy servers and foreign answers; the server here answers by a script."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from sira.client import (
    AsyncSiraClient,
    BusyError,
    ClosedError,
    ForeignAnswerError,
    Problem,
    ServerFaultError,
    SiraClient,
    SlowError,
    UnavailableError,
    UnreachableError,
)
from sira.errors import EnvironmentFault, InputError
from tests.client.support import Scripted, in_thread, problem, scripted

pytest.importorskip("httpx2", reason="the client needs httpx2")

OK = Scripted(200, {"status": "ok"})


@pytest.mark.parametrize(("retries", "tries"), [(0, 1), (1, 2), (2, 3), (9, 3)])
def test_a_busy_server_is_asked_again_as_often_as_wanted(retries: int, tries: int) -> None:
    with scripted(problem(429, Retry_After="0"), problem(503, "closing", Retry_After="0"), OK) as server:
        with SiraClient(server.url, retries=retries) as client:
            if retries < 2:
                with pytest.raises((BusyError, UnavailableError)) as caught:
                    client.health()
                assert caught.value.retry_after_s == 0
            else:
                assert client.health() == {"status": "ok"}
        assert len(server.asked) == tries


def test_the_wait_is_that_of_the_server() -> None:
    with scripted(problem(429, Retry_After="1"), OK) as server, SiraClient(server.url, retries=1) as client:
        start = time.monotonic()
        client.health()
        assert 1 <= time.monotonic() - start < 10


@pytest.mark.parametrize(
    "answer",
    [problem(429, Retry_After="3600"), problem(503, "index-unavailable"), problem(500, "internal"), problem(422)],
    ids=["a long wait", "an index that is not there", "a fault", "a bad value"],
)
def test_what_waiting_does_not_mend_is_not_asked_again(answer: Scripted) -> None:
    with scripted(answer) as server, SiraClient(server.url, retries=5) as client:
        with pytest.raises(Problem) as caught:
            client.health()
        assert len(server.asked) == 1
        assert (caught.value.status, caught.value.item, caught.value.request_id) == (answer.status, "field", "r1")


def test_what_a_balancer_answers_for_a_server_that_is_gone_is_tried_again() -> None:
    none_left = Scripted(503, "<html>", kind="text/html")
    gone = Scripted(502, "<html>", {"Retry-After": "0"}, kind="text/html")
    with scripted(none_left, gone, OK) as server, SiraClient(server.url, retries=3) as client:
        assert client.health() == {"status": "ok"}
    with scripted(gone) as server, SiraClient(server.url, retries=3) as client:
        with pytest.raises(UnreachableError) as caught:
            client.call_tool("s", "search", {})  # it may have been carried out
        assert (len(server.asked), caught.value.status, caught.value.sent) == (1, 502, True)


@pytest.mark.parametrize("retries", [0, 5])
def test_a_server_that_starts_is_waited_for_as_often_as_wanted(retries: int) -> None:
    """Also for calls that do harm twice: nothing was sent."""
    with scripted(OK) as server:
        pass
    with SiraClient(server.url, retries=retries) as client:
        if not retries:
            with pytest.raises(UnreachableError) as caught:
                client.call_tool("s", "search", {})
            assert caught.value.sent is False
            return
        thread, found = in_thread(lambda: client.call_tool("s", "search", {}))
        time.sleep(0.3)  # it is refused once
        with scripted(Scripted(200, {"text": "back", "details": {}, "failure": None}), port=server.port):
            thread.join(30)
        assert found[0].text == "back"


def test_a_broken_connection_is_tried_again_for_what_may_be_repeated() -> None:
    cut = Scripted(200, {"text": "x" * 100}, cut=True)
    with scripted(cut, OK) as server, SiraClient(server.url, retries=1) as client:
        assert client.health() == {"status": "ok"}
    with scripted(cut) as server, SiraClient(server.url, retries=1) as client:
        with pytest.raises(UnreachableError):
            client.call_tool("s", "search", {})
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (Scripted(200, "<html>", kind="text/html"), ForeignAnswerError, "same version"),
        (Scripted(200, ["a list"]), ForeignAnswerError, "same version"),
        (Scripted(404, "<html>", kind="text/html"), ForeignAnswerError, "check the address"),
        (Scripted(302, "", {"Location": "http://127.0.0.1:9/"}), ForeignAnswerError, "sends elsewhere"),
        (Scripted(502, "<html>", kind="text/html"), UnreachableError, "502"),
        (Scripted(503, "", {"Retry-After": "Mon, 01 Jan 2035 00:00:00 GMT"}), UnavailableError, "503"),
        (Scripted(429, "{", kind="application/problem+json"), BusyError, "429"),
        (problem(504, "timed-out"), SlowError, "mend it"),
        (problem(500, "internal"), ServerFaultError, "mend it"),
    ],
)
def test_answers_that_are_no_results(answer: Scripted, kind: type[Problem], says: str) -> None:
    with scripted(answer) as server, SiraClient(server.url) as client:
        with pytest.raises(kind, match=says) as caught:
            client.indexes()
        assert "\n" not in str(caught.value)


def test_no_answer_in_time() -> None:
    with scripted(Scripted(hang_s=20)) as server, SiraClient(server.url, timeout_s=0.2) as client:
        start = time.monotonic()
        with pytest.raises(SlowError, match=r"0\.2 s"):
            client.health()
        assert time.monotonic() - start < 10


@pytest.mark.parametrize("answer", [Scripted(hang_s=20), problem(429, Retry_After="9")], ids=["reading", "waiting"])
def test_closing_ends_the_calls_of_other_threads(answer: Scripted) -> None:
    with scripted(answer) as server:
        client = SiraClient(server.url, retries=3)
        thread, found = in_thread(client.health)
        _until(lambda: bool(server.asked))
        start = time.monotonic()
        time.sleep(0.1)
        client.close()
        thread.join(5)
        assert not thread.is_alive()
        assert time.monotonic() - start < 10
        assert isinstance(found[0], ClosedError)
        with pytest.raises(ClosedError):
            client.health()


@pytest.mark.parametrize("answer", [Scripted(hang_s=20), problem(429, Retry_After="9")], ids=["reading", "waiting"])
def test_closing_ends_the_calls_of_other_tasks(answer: Scripted) -> None:
    async def go(url: str) -> None:
        client = AsyncSiraClient(url, retries=3)
        task = asyncio.create_task(client.health())
        await asyncio.sleep(0.3)
        await client.aclose()
        start = time.monotonic()
        with pytest.raises(ClosedError):
            await task
        assert time.monotonic() - start < 5
        with pytest.raises(ClosedError):
            await client.health()

    with scripted(answer) as server:
        asyncio.run(go(server.url))


def test_a_cancelled_task_frees_its_connection() -> None:
    async def go(url: str) -> None:
        async with AsyncSiraClient(url) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await client.health()
            assert await client.health() == {"status": "ok"}

    with scripted(Scripted(hang_s=20), OK) as server:
        asyncio.run(go(server.url))


def test_an_async_client_is_of_one_event_loop() -> None:
    with scripted(OK) as server:

        async def ask() -> AsyncSiraClient:
            async with AsyncSiraClient(server.url) as client:
                await client.health()
                with pytest.raises(InputError, match="another event loop"):
                    await asyncio.to_thread(asyncio.run, client.health())
                assert await client.health() == {"status": "ok"}
            return client

        client = asyncio.run(ask())
        with pytest.raises(InputError, match="another event loop"):
            asyncio.run(client.health())
        asyncio.run(client.aclose())  # the loop that it had is closed, and with it the connections


def test_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nothing of this machine goes through a proxy
    page: dict[str, Any] = {"hits": [], "total": 0, "next_offset": None, "generation": 1, "took_ms": 0.1, "note": {}}
    with scripted(Scripted(200, page)) as server:
        with SiraClient(server.url + "/behind/", "token-ü".replace("ü", "u"), index="a b/c") as client:
            client.search(query="ü", k=3, llm={"facets": 2})
        with SiraClient(server.url, index="x") as client:
            client.search(query="x")
    first, second = server.asked
    assert first.path == "/behind/v1/indexes/a%20b%2Fc/search"
    assert first.body == {"query": "ü", "k": 3, "llm": {"facets": 2}}
    assert first.headers["authorization"] == "Bearer token-u"
    assert first.headers["content-type"] == "application/json"
    assert "authorization" not in second.headers


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8321",
        "ftp://host",
        "http://",
        "http://[::1",
        "http://host:99999",
        "http://a b",
        "http://host/?q=1",
    ],
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(InputError, match="address"):
        SiraClient(url)


@pytest.mark.parametrize("variable", ["ALL_PROXY=ftp://x", "SSL_CERT_FILE=/nowhere"])
@pytest.mark.parametrize("kind", [SiraClient, AsyncSiraClient])
def test_an_environment_that_cannot_be_used(kind: Any, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(*variable.split("="))
    with pytest.raises(EnvironmentFault, match="mend ALL_PROXY"):
        kind("http://search.example.org")
    kind("http://127.0.0.1:8321")  # on one machine neither is used


def test_settings_that_cannot_be() -> None:
    with pytest.raises(InputError, match="the token by itself") as caught:
        SiraClient("http://user:secret@host")
    assert "secret" not in str(caught.value)
    for given in ({"token": "a\nb"}, {"token": ""}, {"timeout_s": 0}, {"retries": -1}, {"longest_wait_s": 0}):
        with pytest.raises(InputError):
            SiraClient("http://127.0.0.1:8321", **given)  # pyright: ignore[reportArgumentType]


def _until(true: Any, seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)

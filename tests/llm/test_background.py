"""The loop in a thread: what comes out of it when a call or the source of the items fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from sira.errors import EnvironmentFault, InputError
from sira.llm.background import BackgroundLoop


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    running = BackgroundLoop("test-background")
    yield running
    running.close()


def at_once(count: int) -> Callable[[str], Coroutine[Any, Any, str]]:
    """Calls that finish in one turn of the loop, when `count` have begun; `bad` fails, `slow` goes on for ever."""
    begun: list[str] = []
    all_begun = asyncio.Event()

    async def call(item: str) -> str:
        begun.append(item)
        if len(begun) == count:
            all_begun.set()
        await all_begun.wait()
        if item == "slow":
            await asyncio.Event().wait()
        if item == "bad":
            raise EnvironmentFault("gone")
        return item

    return call


def test_what_has_finished_is_yielded_before_the_error_of_a_call(loop: BackgroundLoop) -> None:
    got: list[str] = []
    with pytest.raises(EnvironmentFault, match="gone"):
        got.extend(loop.map(at_once(5), ["bad", "a", "slow", "b", "c"], 5))
    assert sorted(got) == ["a", "b", "c"]


def test_what_has_finished_is_yielded_before_an_error_of_the_source(loop: BackgroundLoop) -> None:
    def source() -> Iterator[str]:
        yield from ["a", "slow", "b"]
        raise InputError("line 4 is bad")

    async def soon(item: str) -> str:
        if item == "slow":
            await asyncio.Event().wait()
        return item

    got: list[str] = []
    with pytest.raises(InputError, match="line 4 is bad"):
        got.extend(loop.map(soon, source(), 9))
    assert sorted(got) == ["a", "b"]


def test_only_the_first_of_several_errors_is_raised(loop: BackgroundLoop) -> None:
    with pytest.raises(EnvironmentFault):
        list(loop.map(at_once(3), ["bad", "bad", "bad"], 3))
    assert sorted(loop.map(at_once(2), ["a", "b"], 2)) == ["a", "b"]

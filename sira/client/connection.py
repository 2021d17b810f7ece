"""How a client reaches its server, sync and async: httpx2, imported with the first client."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
import weakref
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from sira.client.calls import Call, Reply, base_url, checked_token, on_loopback, result
from sira.client.errors import ClosedError, Problem, SlowError, UnreachableError
from sira.client.retries import Retries
from sira.errors import EnvironmentFault, InputError

if TYPE_CHECKING:
    import httpx2

Result = TypeVar("Result")
CONNECT_S = 5.0
CONNECTIONS = 256


@dataclass(frozen=True, slots=True)
class Way:
    """Where a server is, and how it is spoken to."""

    url: str
    token: str | None
    timeout_s: float
    retries: Retries

    @classmethod
    def to(cls, url: str, token: str | None, timeout_s: float, retries: Retries) -> Way:
        """Raises InputError for an address or token that cannot be one."""
        if not 0 < timeout_s <= 86_400:
            raise InputError(f"timeout_s = {timeout_s}: give seconds, above 0")
        return cls(base_url(url), checked_token(token), timeout_s, retries)

    @property
    def settings(self) -> dict[str, Any]:
        """What both clients of httpx2 are made with."""
        http = _httpx2()
        local = on_loopback(self.url)
        headers = {"Accept": "application/json", "User-Agent": "sira"}
        if local:  # on one machine, packing takes longer than sending
            headers["Accept-Encoding"] = "identity"
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        return {
            "headers": headers,
            "timeout": http.Timeout(self.timeout_s, connect=min(CONNECT_S, self.timeout_s)),
            "limits": http.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            "follow_redirects": False,  # the token is for this server alone
            "verify": not local or self.url.startswith("https"),  # reading certificates takes longer than a search
            "trust_env": not local,  # proxies
        }

    @contextlib.contextmanager
    def opening(self) -> Generator[None]:
        """Raises EnvironmentFault for proxies and certificates that the environment names and that cannot be used."""
        try:
            yield
        except (ImportError, ValueError, OSError) as error:
            raise EnvironmentFault(
                f"the proxies or certificates that the environment names cannot be used ({error}): mend ALL_PROXY, "
                "HTTP_PROXY, HTTPS_PROXY or SSL_CERT_FILE"
            ) from None

    def request(self, call: Call[Any]) -> dict[str, Any]:
        content = call.content()
        return {
            "method": call.method,
            "url": self.url + call.path,
            "params": dict(call.query) or None,
            "content": content,
            "headers": None if content is None else {"Content-Type": "application/json"},
        }

    @contextlib.contextmanager
    def faults(self, closed: threading.Event) -> Generator[None]:
        """Raises what goes wrong on the way as errors of this package."""
        http = _httpx2()
        try:
            yield
        except http.TimeoutException as error:
            if closed.is_set():
                raise _closed() from None
            if isinstance(error, http.ConnectTimeout):
                raise self._unreachable("no connection in time", sent=False) from None
            raise SlowError(
                f"{self.url}: no answer within {self.timeout_s:g} s: ask for less, or give a longer timeout_s"
            ) from None
        except (http.InvalidURL, UnicodeEncodeError) as error:
            raise InputError(
                f"{self.url}: a name or docid cannot stand in an address ({error}): give another"
            ) from None
        except (http.HTTPError, OSError) as error:
            if closed.is_set():
                raise _closed() from None
            why = " ".join(str(error).split()) or "the connection broke"
            raise self._unreachable(why, sent=not isinstance(error, http.ConnectError)) from None
        except RuntimeError:  # httpx2's own word for a closed client
            if closed.is_set():
                raise _closed() from None
            raise

    def _unreachable(self, why: str, *, sent: bool) -> UnreachableError:
        remedy = "check that `sira serve` runs there" + ("" if on_loopback(self.url) else ", and what is in between")
        error = UnreachableError(f"{self.url}: it cannot be reached ({why}): {remedy}")
        error.sent = sent
        return error


def _closed() -> ClosedError:
    return ClosedError("the client is closed: open another one")


def _reply(response: httpx2.Response) -> Reply:
    headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, headers, response.content)


class Connection:
    """Kept-alive connections to one server; any number of threads may call at once."""

    def __init__(self, way: Way) -> None:
        self._way, self._closed = way, threading.Event()
        self._open()

    def _open(self) -> None:
        with self._way.opening():
            self._http = _httpx2().Client(**self._way.settings)
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._process = os.getpid()  # the last: other threads go by it

    def _reopen(self) -> None:
        """Connections of its own for a process that was forked: by those of its parent it would get the parent's
        answers. Those are left as they are, neither used nor ended."""
        self._parents = self._http
        self._open()

    def run(self, call: Call[Result]) -> Result:
        """Raises Problem by its kind, and InputError for what cannot be sent."""
        if self._process != os.getpid():
            self._reopen()
        request = self._way.request(call)
        tried = 0
        while True:
            tried += 1
            try:
                if self._closed.is_set():
                    raise _closed()
                with self._way.faults(self._closed):
                    response = self._http.request(**request, extensions={"trace": self._traced})
                return result(call, _reply(response), self._way.url)
            except Problem as error:
                wait = self._way.retries.wait_s(error, tried, repeatable=call.repeatable)
                if wait is None:
                    raise
            if self._closed.wait(wait):
                raise _closed()

    def close(self) -> None:
        """Also ends the calls that other threads wait for: they raise ClosedError."""
        if self._process != os.getpid():
            self._reopen()
        with self._lock:
            self._closed.set()
            for item in self._sockets:
                _shut(item)
        self._http.close()

    def _traced(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            opened: Any = info["return_value"].get_extra_info("socket")
            if isinstance(opened, socket.socket):
                with self._lock:
                    self._sockets.add(opened)
                    if self._closed.is_set():  # in between
                        _shut(opened)


def _shut(opened: socket.socket) -> None:
    """A thread that reads does not notice that its socket is closed, but this it does."""
    with contextlib.suppress(OSError):
        opened.shutdown(socket.SHUT_RDWR)


class AsyncConnection:
    """The same for asyncio; all calls in one event loop, that of the first. A call that is cancelled ends its
    connection, by which the server knows that nobody waits any more."""

    def __init__(self, way: Way) -> None:
        self._way, self._closed = way, threading.Event()
        with way.opening():
            self._http = _httpx2().AsyncClient(**way.settings)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, call: Call[Result]) -> Result:
        """Raises as `Connection.run`, and InputError in another event loop."""
        self._bind()
        request = self._way.request(call)
        tried = 0
        while True:
            tried += 1
            try:
                if self._closed.is_set():
                    raise _closed()
                with self._way.faults(self._closed):
                    response = await self._http.request(**request)
                return result(call, _reply(response), self._way.url)
            except Problem as error:
                wait = self._way.retries.wait_s(error, tried, repeatable=call.repeatable)
                if wait is None:
                    raise
            end = time.monotonic() + wait
            while not self._closed.is_set() and (left := end - time.monotonic()) > 0:
                await asyncio.sleep(min(left, 0.1))

    def _bind(self) -> None:
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise InputError("this client belongs to another event loop: open one in each (`async with`)")

    async def close(self) -> None:
        """Also ends the calls that other tasks wait for: they raise ClosedError."""
        self._closed.set()
        if self._loop is None or not self._loop.is_closed():  # connections end with their loop
            self._bind()
            await self._http.aclose()


def _httpx2() -> Any:
    try:
        import httpx2
    except ModuleNotFoundError:
        raise EnvironmentFault("the client needs the package httpx2: python -m pip install 'httpx2>=2.10'") from None
    return httpx2

"""One call of the HTTP API as a value: what is sent, and how the answer is read. No network here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlsplit

from sira.client.errors import ForeignAnswerError, problem_of
from sira.errors import InputError

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    """`path` is relative to the server's address and quoted. `repeatable`: asked twice, it does no harm."""

    method: str
    path: str
    read: Callable[[Any], Result]
    body: Any = None
    query: Mapping[str, str | int] = field(default_factory=dict[str, "str | int"])
    repeatable: bool = True
    as_text: bool = False

    def content(self) -> bytes | None:
        """The body as JSON in UTF-8. Raises InputError for what JSON does not have."""
        if self.body is None:
            return None
        try:
            text = json.dumps(self.body, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
            return text.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError("the request holds half a character (a lone surrogate): give whole texts") from None
        except (ValueError, TypeError, RecursionError) as error:
            raise InputError(
                f"the request cannot be written as JSON ({error}): give finite numbers and texts"
            ) from None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back; `headers` by names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def result(call: Call[Result], reply: Reply, url: str) -> Result:
    """What the reply says. Raises Problem, by its kind."""
    if reply.status >= 400:
        raise problem_of(reply.status, reply.headers, reply.body, url)
    if reply.status >= 300:
        raise ForeignAnswerError(f"{url}: it sends elsewhere ({reply.status}): give the address of the server itself")
    try:
        if call.as_text:
            return call.read(reply.body.decode("utf-8"))
        return call.read(json.loads(reply.body) if reply.body else None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ForeignAnswerError(
            f"{url}: the answer to {call.method} {call.path} is not what this client reads "
            f"({type(error).__name__}: {error}): use the same version of sira on both sides"
        ) from None


def quoted(part: str) -> str:
    """One part of a path. Raises InputError for what cannot be one."""
    if part in ("", ".", ".."):
        raise InputError(f"{part!r} is no name that can stand in an address: give the name of an index or a session")
    try:
        return quote(part, safe="")
    except (UnicodeEncodeError, TypeError):
        raise InputError(f"{part!r} is no whole text: give the name of an index, a session or a tool") from None


def base_url(url: str) -> str:
    """The address without a slash at its end. Raises InputError for anything but http(s)://host[:port][/path]."""
    remedy = "give http://HOST:PORT as `sira serve` prints it"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise InputError(f"{url!r} is no address of a server ({error}): {remedy}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(f"{url!r} is no address of a server: {remedy}")
    if parts.username is not None or parts.password is not None:
        raise InputError(f"the address of {host} holds a password: give the token by itself, not in the address")
    if parts.query or parts.fragment or any(character.isspace() or ord(character) < 32 for character in url):
        raise InputError(f"{url!r}: an address has no blanks and nothing behind ? or #: {remedy}")
    return url.rstrip("/")


def checked_token(token: str | None) -> str | None:
    """Raises InputError for what cannot stand in a header."""
    if token is not None and (not token or not token.isascii() or not token.isprintable() or " " in token):
        raise InputError("the token is blank or holds characters that no token has: give it as the server has it")
    return token


def on_loopback(url: str) -> bool:
    return urlsplit(url).hostname in ("127.0.0.1", "::1", "localhost")

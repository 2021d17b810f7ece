"""Replies kept by what was asked: the same call of the same model is made once, by whatever command.

A reply lies in one small file, under the SHA-256 of all that decides it: model, sampling, messages, bound of tokens,
seed and schema. It is written under a name of its own and renamed, so that processes may share a folder; a file that is
damaged is asked for again. Failures are not kept.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import os
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from sira.errors import SiraError
from sira.llm import Generator, ModelSettings, open_generator
from sira.llm.address import public_address
from sira.llm.base import Finish, Reply, Request, Tokenizer, Usage
from sira.llm.model_files import fingerprint_of, name_of
from sira.llm.openai_body import token_count
from sira.llm.settings import THROUGHPUT_OPTIONS
from sira.paths import cache_folder
from sira.records import ToolCall

KEPT = frozenset({Finish.STOP, Finish.LENGTH, Finish.REFUSED})
_FORM = 1  # of the address and the file: another number makes every file of before a miss

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Counts:
    """Of one CachedGenerator since it was made: requests answered from the folder (`hits`, or together with an equal
    one), those that the model was asked (`misses`), and what these took."""

    hits: int = 0
    misses: int = 0
    usage: Usage = field(default_factory=Usage)


class CachedGenerator:
    """A `sira.llm.Generator` that asks the model behind it only for what `folder` does not hold.

    `open_inner` is called for the first such request. `identity` is what the model is known by before it is opened;
    None: it has to be opened to know it. Without a folder nothing is kept. A folder that cannot be written is logged
    once, and the replies come all the same.
    """

    def __init__(
        self,
        open_inner: Callable[[], Generator],
        identity: Mapping[str, Any] | None,
        sampling: Mapping[str, Any],
        folder: Path | None,
    ) -> None:
        self._open, self._known, self._folder = open_inner, identity, folder
        # Each request has a seed of its own.
        self._sampling = {name: value for name, value in sampling.items() if name != "seed"}
        self._inner: Generator | None = None
        self._unwritable = False
        self._opening = threading.Lock()
        self.counts = Counts()

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._known if self._known is not None else self._opened().identity

    @property
    def facts(self) -> Mapping[str, Any]:
        """Those of the model, where it was opened."""
        return {} if self._inner is None else self._inner.facts

    @property
    def context_tokens(self) -> int | None:
        """Opens the model."""
        return self._opened().context_tokens

    @property
    def tokenizer(self) -> Tokenizer | None:
        """Opens the model."""
        return self._opened().tokenizer

    @property
    def pending(self) -> str | None:
        return None if self._inner is None else self._inner.pending

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        """The kept replies as they are drawn, the others as the model gives them; equal requests are sent once.

        A reply has the usage of the call that made it, whenever that was.
        """
        waiting: dict[str, list[str]] = {}  # address -> the keys that its reply is for, that of the call first
        addresses: dict[str, str] = {}  # key of the call -> address
        drawn = self._drawn(requests, waiting, addresses)
        first: Request | None = None
        for item in drawn:
            if isinstance(item, Request):
                first = item
                break
            yield item
        if first is None:
            return
        found: deque[Reply] = deque()
        sent = itertools.chain([first], _requests(drawn, found))
        try:
            for reply in self._opened().generate(sent):
                self._count(reply)
                address = addresses.pop(reply.key, None)
                keys = [reply.key] if address is None else waiting.pop(address)
                if address is not None and reply.finish in KEPT:
                    reply = self._keep(address, reply)
                self.counts.hits += len(keys) - 1
                yield from (replace(reply, key=key) for key in keys)
                yield from _drained(found)
        except SiraError:
            yield from _drained(found)
            raise
        yield from _drained(found)

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()

    def _opened(self) -> Generator:
        with self._opening:
            if self._inner is None:
                self._inner = self._open()
            return self._inner

    def _drawn(
        self, requests: Iterable[Request], waiting: dict[str, list[str]], addresses: dict[str, str]
    ) -> Iterator[Request | Reply]:
        """The requests to send, and the replies to those that the folder answers; none for one that waits for an
        equal one."""
        for request in requests:
            if self._folder is None:
                yield request
                continue
            address = address_of(self.identity, self._sampling, request)
            kept = read_reply(self._path(address), address)
            if kept is not None:
                self.counts.hits += 1
                yield replace(kept, key=request.key)
            elif address in waiting:
                waiting[address].append(request.key)
            else:
                waiting[address], addresses[request.key] = [request.key], address
                yield request

    def _count(self, reply: Reply) -> None:
        if reply.finish is not Finish.PENDING:
            self.counts.misses += 1
            self.counts.usage += reply.usage

    def _path(self, address: str) -> Path:
        assert self._folder is not None
        return self._folder / address[:2] / f"{address}.json"

    def _keep(self, address: str, reply: Reply) -> Reply:
        """The reply that the folder holds from now on: that of another process, where it came first."""
        path = self._path(address)
        other = read_reply(path, address)
        if other is not None:
            return replace(other, key=reply.key)
        try:
            write_reply(path, address, reply)
        except OSError as error:
            if not self._unwritable:
                _log.warning("%s: replies are not kept (%s)", self._folder, error.strerror)
            self._unwritable = True
        return reply


def open_cached(settings: ModelSettings, folder: Path | None = None) -> CachedGenerator:
    """The model of the settings behind the replies in `folder` (by default `replies` in sira's cache folder).

    Nothing is kept of `recorded` and `batch-file`: they have their own stores, where the prompt plays no part.
    Raises InputError, EnvironmentFault for a local model that is not there; other models are opened later.
    """
    stores = settings.backend in ("recorded", "batch-file")
    chosen = None if stores else folder or cache_folder() / "replies"
    return CachedGenerator(lambda: open_generator(settings), known_identity(settings), settings.sampling(), chosen)


def known_identity(settings: ModelSettings) -> dict[str, Any] | None:
    """What the settings say of the model before it is opened; None where only opening it tells.

    For an endpoint that is the name asked for and the address: the same name may stand for another model elsewhere.
    """
    found: dict[str, Any] = {"backend": settings.backend, "model": settings.model, "revision": settings.revision}
    match settings.backend:
        case "local":
            from sira.llm.local import identity_of, model_file

            return {"backend": "local", **identity_of(model_file(settings))}
        case "vllm":
            model = str(settings.engine.get("model", settings.model))
            tokenizer = str(settings.engine.get("tokenizer", settings.tokenizer or model))
            options = {name: value for name, value in settings.engine.items() if name not in THROUGHPUT_OPTIONS}
            return found | {
                "model": name_of(model),
                "files": fingerprint_of(model),
                "tokenizer": name_of(tokenizer),
                "tokenizer_files": fingerprint_of(tokenizer),
                "engine": {name: options[name] for name in sorted(options) if name not in ("model", "tokenizer")},
            }
        case "openai":
            from sira.llm.endpoint import DEFAULT_BASE_URL

            address = settings.base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
            return found | {"address": public_address(address)} if settings.model else None
        case _:
            return None


def address_of(identity: Mapping[str, Any], sampling: Mapping[str, Any], request: Request) -> str:
    """64 hex digits over all that decides a reply; the request's key does not."""
    settings = json.dumps([_FORM, identity, sampling, request.max_tokens, request.seed], sort_keys=True, default=str)
    asked = json.dumps([request.messages, request.schema])  # in its order, in which a decoder writes the fields
    if request.stop or request.tools:
        asked += json.dumps([request.stop, [astuple(tool) for tool in request.tools]])
    return hashlib.sha256(f"{settings}\n{asked}".encode()).hexdigest()


def read_reply(path: Path, address: str) -> Reply | None:
    """The reply in a file, without a key; None where it is absent, damaged, or that of another address."""
    try:
        row: Any = json.loads(path.read_bytes())
        body: Any = row["reply"]
        if row["check"] != _check(address, body):
            return None
        text, finish, detail = body["text"], Finish(body["finish"]), body["detail"]
        usage = cast("dict[str, Any]", body["usage"])
        tool_calls, reasoning = body.get("tool_calls", ()), body.get("reasoning", "")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    names = ("prompt_tokens", "completion_tokens", "cached_tokens")
    tokens = Usage(*(token_count(usage.get(name)) for name in names))
    return Reply("", text, finish, tokens, detail, tuple(ToolCall(*call) for call in tool_calls), reasoning)


def write_reply(path: Path, address: str, reply: Reply) -> None:
    """Write one reply, whole or not at all. Raises OSError."""
    body = {"text": reply.text, "finish": reply.finish.value, "usage": asdict(reply.usage), "detail": reply.detail}
    more = {"tool_calls": reply.tool_calls, "reasoning": reply.reasoning}
    body |= {name: value for name, value in more.items() if value}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        temporary.write_text(json.dumps({"check": _check(address, body), "reply": body}) + "\n", encoding="ascii")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _check(address: str, body: object) -> str:
    return hashlib.sha256(f"{address}\n{json.dumps(body, sort_keys=True)}".encode()).hexdigest()[:16]


def _requests(drawn: Iterable[Request | Reply], found: deque[Reply]) -> Iterator[Request]:
    """The requests among what is drawn; the replies are put into `found` on the way."""
    for item in drawn:
        if isinstance(item, Request):
            yield item
        else:
            found.append(item)


def _drained(found: deque[Reply]) -> Iterator[Reply]:
    while found:
        yield found.popleft()

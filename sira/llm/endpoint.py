"""Any OpenAI-compatible endpoint: a server of vLLM or llama.cpp, or a hosted service."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

from sira.errors import EnvironmentFault
from sira.llm.address import is_hosted, is_loopback, public_address
from sira.llm.background import BackgroundLoop
from sira.llm.base import Finish, Reply, Request, Tokenizer
from sira.llm.openai_body import NoJson, answerer, chat_body, check_extra_body, completion_reply, parsed_body, without
from sira.llm.served_model import ServedModel, listed_models, served_model
from sira.llm.server_error import (
    ends_the_job,
    error_message,
    failed_reply,
    may_end_the_job,
    passes,
    refused_field,
    remedy_of,
)
from sira.llm.settings import ModelSettings
from sira.llm.tokenizer_file import TokenizerFile
from sira.llm.waiting import wait_s
from sira.records import Message

DEFAULT_BASE_URL = "https://api.openai.com/v1"
MAX_CONNECTIONS = 1024
_CONNECTIONS_OF_A_CLIENT = 64  # its pool looks at each of them at each call: 256 in one cost twice the time of 4 x 64
DEAD_AFTER = 20
"""A job ends when so many requests in a row have failed for good and none was answered; none of them gets a reply."""

_PROBE_TIMEOUT_S, _PROBE_RETRIES = 30.0, 2
_ANSWERERS = 8
_SHORT = Request("", (Message("user", "Hello"),), 1)

_log = logging.getLogger(__name__)


class _GaveUp(Exception):
    """All retries of one call have failed."""


class _Doubtful(Exception):
    """A request without an answer, for want of an endpoint or by its own fault; `fault`: what it is in the first case,
    where the server told."""

    def __init__(self, reply: Reply, fault: EnvironmentFault | None = None) -> None:
        super().__init__(reply.detail)
        self.reply, self.fault = reply, fault


class EndpointGenerator:
    """Calls an endpoint, `concurrency` requests at a time, from a loop in a thread of its own.

    Asks the server for its models first. Raises EnvironmentFault where the package `openai` or a key is missing, the
    server does not answer, or refuses the key; InputError where it is not clear which model is meant.
    """

    def __init__(self, settings: ModelSettings, *, key: str | None = None) -> None:
        """`key` stands in place of the one in the environment."""
        check_extra_body(settings)
        self._settings = settings
        self._tokenizer = None if settings.tokenizer is None else TokenizerFile(settings.tokenizer)
        base_url = settings.base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
        self._address, self._hosted = public_address(base_url), is_hosted(base_url)
        self._key = os.environ.get(settings.api_key_env, "") if key is None else key
        if not self._key and base_url.startswith("https:") and not is_loopback(base_url):
            raise EnvironmentFault(
                f"{self._address}: no key: set the environment variable {settings.api_key_env} to it"
            )
        self._openai = _import_openai()
        self._left_out: list[str] = []
        self._answered_by: list[str] = []
        self._failed_in_a_row, self._completed = 0, False
        self._server = ""
        self._probing = min(_PROBE_RETRIES, settings.max_retries), min(_PROBE_TIMEOUT_S, settings.timeout_s)
        self._at_most = min(settings.concurrency, MAX_CONNECTIONS)
        self._clients = [self._client(base_url) for _ in range(0, self._at_most, _CONNECTIONS_OF_A_CLIENT)]
        self._turns = itertools.cycle(self._clients)
        self._loop = BackgroundLoop("sira-endpoint")
        try:
            self._model = self._loop.call(self._probe())
        except BaseException:
            self.close()
            raise

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model as the server lists it. The address is none of it: a job may go on at another one."""
        revision = {} if self._settings.revision is None else {"revision": self._settings.revision}
        return {**self._model.identity, **revision}

    @property
    def facts(self) -> Mapping[str, Any]:
        """Where the server is and what it calls itself; which model names and fingerprints its replies bore; which
        fields of the body it refused and we then left out."""
        return {
            "backend": self._settings.backend,
            "address": self._address,
            "server": self._server,
            "openai": str(self._openai.__version__),
            "answered_by": sorted(self._answered_by),
            "left_out": sorted(self._left_out),
        }

    @property
    def context_tokens(self) -> int | None:
        return self._settings.context_tokens or self._model.context_tokens

    @property
    def tokenizer(self) -> Tokenizer | None:
        return self._tokenizer

    @property
    def pending(self) -> None:
        return None

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        """Replies in the order they finish, but failures that may be the endpoint's only after the next answer.

        Raises EnvironmentFault where the key or the model is refused, or where the endpoint is gone: `DEAD_AFTER`
        requests in a row got no answer, or the last ones and then a short one too. These requests get no reply.
        """
        held: list[Reply] = []
        with closing(self._loop.map(lambda request: self._answer(request, held), requests, self._at_most)) as answers:
            for replies in answers:
                yield from replies
        if held:
            yield from self._loop.call(self._last(held))

    def close(self) -> None:
        """Cancel what is in flight and close the connections."""
        if not self._loop.closed:
            for client in self._clients:
                self._loop.call(client.close())
            self._loop.close()

    def _client(self, base_url: str) -> Any:
        # A proxy of the environment is no way to this machine itself.
        own = self._openai.DefaultAsyncHttpxClient(trust_env=False) if is_loopback(base_url) else None
        return self._openai.AsyncOpenAI(
            base_url=base_url, api_key=self._key or "none", max_retries=0, timeout=None, http_client=own
        )

    async def _probe(self) -> ServedModel:
        try:
            headers, body = await self._persist(self._clients[0].models.with_raw_response.list, *self._probing)
        except _GaveUp as error:
            raise EnvironmentFault(
                f"{self._address}: no server answers here ({error}); start it, or set base_url in [model]"
            ) from None
        except self._openai.APIStatusError as error:
            self._server = error.response.headers.get("server", "")
            if error.status_code == 401:
                raise self._fault(error) from None
            body = None  # many gateways have no list of models; 403 where a key is for chat alone
        else:
            self._server = headers.get("server", "")
        return served_model(self._settings.model, listed_models(body), self._address)

    async def _answer(self, request: Request, held: list[Reply]) -> list[Reply]:
        """The replies that are certain by now: this one and those held back before it; none where it is in doubt."""
        try:
            async with asyncio.timeout(request.timeout_s):
                reply = await self._reply(request, self._settings.max_retries, self._settings.timeout_s)
        except UnicodeEncodeError:
            return [Reply(request.key, "", Finish.ERROR, detail="the prompt holds half a surrogate pair")]
        except TimeoutError:
            return [Reply(request.key, "", Finish.ERROR, detail=f"no reply within {request.timeout_s:g} s")]
        except _Doubtful as doubt:
            self._failed_in_a_row += 1
            if self._failed_in_a_row < DEAD_AFTER:
                if request.timeout_s is not None:  # whoever is short of time waits for no other request
                    return [doubt.reply]
                held.append(doubt.reply)
                return []
            held.clear()
            raise doubt.fault or self._dead(
                f"{DEAD_AFTER} requests in a row got no answer (the last: {doubt})"
            ) from None
        self._failed_in_a_row = 0
        certain = [*held, reply]
        held.clear()
        return certain

    async def _last(self, held: list[Reply]) -> list[Reply]:
        """What is still held back at the end, where the endpoint answers a short request."""
        try:
            await self._reply(_SHORT, *self._probing)
        except _Doubtful as doubt:
            said = f"the last requests ({len(held)}) got no answer, nor did a short one ({doubt})"
            raise doubt.fault or self._dead(said) from None
        self._failed_in_a_row = 0
        return held

    async def _reply(self, request: Request, retries: int, timeout_s: float) -> Reply:
        """Raises _Doubtful, or EnvironmentFault for an answer that awaits every request."""
        while True:
            body = without(chat_body(self._settings, request, self._model.name, hosted=self._hosted), self._left_out)
            known = {name: body.pop(name) for name in ("model", "messages")}
            create = next(self._turns).chat.completions.with_raw_response.create
            try:
                _, completion = await self._persist(
                    lambda: create(**known, extra_body=body),  # noqa: B023 - awaited in this turn of the loop
                    retries,
                    timeout_s,
                )
            except _GaveUp as error:
                raise _Doubtful(Reply(request.key, "", Finish.ERROR, detail=str(error))) from None
            except self._openai.APIStatusError as error:
                status, text = error.status_code, self._clean(error.response.text)
                if ends_the_job(status, text):
                    raise self._fault(error) from None
                if status in (400, 422) and self._gives_way(body, error):
                    continue
                reply = failed_reply(request.key, status, text)
                if may_end_the_job(status, text):
                    raise _Doubtful(reply, self._fault(error)) from None
                return reply
            reply = completion_reply(request.key, completion)
            if reply.finish is Finish.ERROR:
                raise _Doubtful(reply)
            self._completed = True
            self._note_answerer(answerer(completion))
            return reply

    async def _persist(
        self, send: Callable[[], Awaitable[Any]], retries: int, timeout_s: float
    ) -> tuple[Mapping[str, str], Any]:
        """(headers, JSON body) of a call, tried again while that may help. Raises _GaveUp, or APIStatusError for an
        answer that trying again would not change."""
        for attempt in itertools.count():
            headers: Mapping[str, str] = {}
            try:
                async with asyncio.timeout(timeout_s):
                    response = await send()
                return response.headers, parsed_body(response.text)
            except TimeoutError:
                trouble = f"no reply within {timeout_s:g} s"
            except self._openai.APIStatusError as error:
                status, text = error.status_code, error.response.text
                if not passes(status) or ends_the_job(status, text):
                    raise
                trouble = f"HTTP {status}: {error_message(self._clean(text))}"
                headers = error.response.headers
            except self._openai.APIConnectionError as error:
                trouble = f"connection failed: {error.__cause__ or error}"
            except NoJson:
                trouble = "the body of the reply is no JSON"
            if attempt == retries:
                raise _GaveUp(self._clean(trouble))
            await asyncio.sleep(wait_s(attempt, headers))
        raise AssertionError

    def _dead(self, said: str) -> EnvironmentFault:
        return EnvironmentFault(f"{self._address}: {said}; see to the server, then run the same command again")

    def _gives_way(self, body: Mapping[str, Any], error: Any) -> bool:
        """Whether to ask again without the field that the server refuses. What the user set by hand stays, and what
        an endpoint took once it does not refuse: then a message quotes the prompt."""
        field = refused_field(body, error.response.text)
        if field is None or field in self._settings.extra_body or (self._completed and field not in self._left_out):
            return False
        if field == "response_format":
            raise self._fault(error, 'set structured = "json_object" or "off" in [model]')
        if field not in self._left_out:
            self._left_out.append(field)
            _log.warning("%s refuses the field %r: calls go on without it", self._address, field)
        return True

    def _note_answerer(self, name: str) -> None:
        if name and name not in self._answered_by and len(self._answered_by) < _ANSWERERS:
            self._answered_by.append(name)

    def _fault(self, error: Any, remedy: str | None = None) -> EnvironmentFault:
        """The endpoint as a whole refuses: one line with the address, the model and what to do."""
        said = error_message(self._clean(error.response.text))
        model = self._settings.model
        return EnvironmentFault(
            f"{self._address}, model {model!r}: HTTP {error.status_code}: {said}; "
            f"{remedy or remedy_of(error.status_code, self._settings.api_key_env)}"
        )

    def _clean(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _import_openai() -> Any:
    try:
        return importlib.import_module("openai")
    except ImportError:
        raise EnvironmentFault(
            "the package openai is missing, which calls endpoints; `sira doctor` says how to install it"
        ) from None

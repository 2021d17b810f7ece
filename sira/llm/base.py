"""What the backends have in common: a stream of requests in, a stream of replies out, joined by key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from sira.records import ToolCall, Turn


class Finish(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    LENGTH = "length"
    """At `max_tokens`."""
    REFUSED = "refused"
    """By a content filter, or with a refusal that the endpoint marks as one."""
    TOO_LONG = "too_long"
    """The prompt and `max_tokens` do not fit the context; nothing was generated."""
    ERROR = "error"
    """This request failed for good; `detail` says how."""
    PENDING = "pending"
    """Nothing was answered yet: the request waits in a file, and `Generator.pending` says what to do."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply. `cached_tokens` of the prompt came from the prefix cache, where the backend tells."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may ask to be called; `parameters` is the JSON Schema of its arguments, an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One chat call. `key` (a docid or qid) is what the reply is joined by; `schema` is the JSON Schema that the reply
    must satisfy (None: free text); `seed` is the sampling seed, below 2**31.

    The reply ends before the first of the texts `stop`, and may ask for calls of `tools`: an endpoint and the local
    model know both, vLLM in process knows `stop`, stores of replies neither. `timeout_s` bounds the whole call, retries
    included, where an endpoint is asked; a call that it ends is an `ERROR`. It decides no reply.
    """

    key: str
    messages: tuple[Turn, ...]
    max_tokens: int
    seed: int = 0
    schema: Mapping[str, Any] | None = None
    stop: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to the request of the same key. `reasoning` is what the endpoint tells of it beside the text."""

    key: str
    text: str
    finish: Finish = Finish.STOP
    usage: Usage = field(default_factory=Usage)
    detail: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""


class Tokenizer(Protocol):
    """Counts and cuts as the model does. A token takes at least one byte of UTF-8 (as in byte-level BPE)."""

    def count(self, messages: tuple[Turn, ...]) -> int:
        """Tokens of the whole prompt, chat template and assistant header included."""
        ...

    def cut(self, text: str, tokens: int) -> str:
        """The longest prefix of at most `tokens` tokens that ends on a token border and inside no letter."""
        ...


class Generator(Protocol):
    """A model that answers requests. Closing it twice does no harm."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What replies depend on beside prompt and sampling: model, revision, quantization ... JSON-ready and small.

        A job refuses to go on when it changes.
        """
        ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """What a manifest also tells: backend, versions of the engine, device, address. May change from run to run."""
        ...

    @property
    def context_tokens(self) -> int | None:
        """The model's context in tokens; None where the backend does not tell."""
        ...

    @property
    def tokenizer(self) -> Tokenizer | None:
        """None where the backend has none: then nothing is cut by tokens, and a too long prompt ends as `too_long`."""
        ...

    @property
    def pending(self) -> str | None:
        """After `generate`: None where every request was answered; else one line that says what to do about the
        `PENDING` ones (a batch file that waits to be run)."""
        ...

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        """Reply to each request once, in whatever order they finish; requests are drawn as there is room for them.

        A request that fails costs only its own reply (`ERROR`, `TOO_LONG`). Raises EnvironmentFault where the engine
        or the endpoint as a whole is gone (wrong key, unknown model, engine dead): what was yielded stands.
        """
        ...

    def close(self) -> None:
        """Stop the engine or the connections."""
        ...

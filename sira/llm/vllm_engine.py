"""vLLM in this process: one engine, a stream of requests in, replies as they finish.

The chat template is rendered and tokenised here and token ids go to the engine, so every count is exact and the
engine's own truncation (which eats the system prompt or the assistant header) is never used. The engine holds a bounded
window of requests, so a corpus of any size streams through in constant memory.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple, cast

from sira.errors import EnvironmentFault, InputError
from sira.llm.base import Finish, Reply, Request, Tokenizer, Usage
from sira.llm.chat_tokenizer import ChatTokenizer
from sira.llm.model_files import fingerprint_of, name_of
from sira.llm.settings import THROUGHPUT_OPTIONS, ModelSettings
from sira.llm.vllm_api import check_path, engine_options, load_vllm, one_line, start_engine, wait_for_output
from sira.records import Message

WINDOW_OF_BATCHES = 2
"""Requests in the engine, in multiples of `max_num_seqs`: one batch that runs and one that waits, so no slot idles."""

_NOT_OPTIONS = frozenset({"model", "revision", "dtype", "quantization", "tokenizer", "hf_token"})
_FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH}


class _Waiting(NamedTuple):
    """A request that the engine holds."""

    request: Request
    prompt_tokens: int


class VllmGenerator:
    """A `sira.llm.Generator` over vllm.LLM; `settings.engine` goes to it unchanged, over our defaults.

    One `generate` at a time.
    """

    def __init__(self, settings: ModelSettings) -> None:
        """Load the model and start the engine: seconds to minutes.

        Raises InputError for a model or an option that vLLM refuses, EnvironmentFault where vLLM is not installed or
        the machine cannot hold the model.
        """
        if not settings.model and "model" not in settings.engine:
            raise InputError("backend vllm needs `model`: a Hugging Face id or the path of a folder")
        self._settings = settings
        self._api = load_vllm()
        self._options = engine_options(settings, self._api)
        check_path(self._options["model"])
        self._llm: Any = start_engine(self._api, self._options)
        engine = self._llm.llm_engine
        self._model_config: Any = engine.model_config
        self._scheduler_config: Any = engine.vllm_config.scheduler_config
        self._gone: str | None = None
        self._streaming = False
        self._numbers = itertools.count()
        self._sampling = self._defaults_of_the_model | _sampling(settings)
        try:
            template = getattr(self._llm, "chat_template", None)
            self._tokenizer = ChatTokenizer(self._llm.get_tokenizer(), settings.thinking, template)
            self._tokenizer.count((Message("user", "probe"),))
        except Exception as error:
            self.close()
            raise InputError(
                f"model {self._options['model']}: its chat template or tokenizer cannot be used ({one_line(error)}); "
                "choose an instruct model with a fast tokenizer"
            ) from error

    @cached_property
    def _defaults_of_the_model(self) -> dict[str, Any]:
        """What the model's generation_config.json says on sampling, less its limit of tokens."""
        defaults = cast("dict[str, Any]", self._model_config.get_diff_sampling_param())
        return {name: value for name, value in defaults.items() if name != "max_tokens"}

    @property
    def options(self) -> Mapping[str, Any]:
        """What the engine was started with: the arguments of vllm.LLM, for others that start the same engine."""
        return dict(self._options)

    @property
    def sampling(self) -> Mapping[str, Any]:
        """What the SamplingParams of every request hold beside its own seed, bound on tokens and schema."""
        return dict(self._sampling)

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity

    @cached_property
    def _identity(self) -> Mapping[str, Any]:
        """Model, revision (and the commit it stood for), dtype and quantization as resolved, options beside speed.

        A local folder is known by its name and its files, so that it may lie elsewhere on another machine.
        """
        model, tokenizer = self._options["model"], self._options.get("tokenizer")
        found: dict[str, Any] = {
            "model": name_of(model),
            "revision": self._options.get("revision"),
            "commit": getattr(self._model_config.hf_config, "_commit_hash", None),
            "files": fingerprint_of(model),
            "dtype": str(self._model_config.dtype).removeprefix("torch."),
            "quantization": self._model_config.quantization,
            "tokenizer": None if tokenizer is None else name_of(tokenizer),
            "tokenizer_files": None if tokenizer is None else fingerprint_of(tokenizer),
            "sampling_defaults": self._defaults_of_the_model or None,
        }
        named = {name: value for name, value in found.items() if value is not None}
        unnamed = self._options.keys() - THROUGHPUT_OPTIONS - _NOT_OPTIONS
        named["engine"] = {name: _jsonable(self._options[name]) for name in sorted(unnamed)}
        return named

    @property
    def facts(self) -> Mapping[str, Any]:
        return self._facts

    @cached_property
    def _facts(self) -> Mapping[str, Any]:
        """Versions, device, limits of the engine, and the GPU where there is one."""
        platform = import_module("vllm.platforms").current_platform
        facts = {
            "backend": "vllm",
            "vllm": self._api.version,
            "torch": str(import_module("torch").__version__),
            "device": str(platform.device_type),
            "max_model_len": self.context_tokens,
            "max_num_seqs": int(self._scheduler_config.max_num_seqs),
        }
        if platform.device_type != "cpu":
            world = self._llm.llm_engine.vllm_config.parallel_config.world_size
            facts |= {"gpu": str(platform.get_device_name()), "gpus": int(world)}
        return facts

    @property
    def context_tokens(self) -> int:
        """The longest prompt and reply together, in tokens."""
        return int(self._model_config.max_model_len)

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    @property
    def pending(self) -> str | None:
        """None: every request has its reply."""
        return None

    def generate(self, requests: Iterable[Request]) -> Generator[Reply]:
        """See the Protocol. Closing the iterator early aborts what the engine still holds."""
        if self._gone is not None:
            raise EnvironmentFault(self._gone)
        if self._streaming:
            raise InputError("this engine already answers another stream: read that one to its end or close it first")
        self._streaming = True
        waiting: dict[str, _Waiting] = {}
        try:
            yield from self._stream(iter(requests), waiting)
        finally:
            self._streaming = False
            if waiting and self._gone is None:
                self._llm.llm_engine.abort_request(list(waiting))

    def _stream(self, requests: Iterator[Request], waiting: dict[str, _Waiting]) -> Iterator[Reply]:
        window = WINDOW_OF_BATCHES * int(self._scheduler_config.max_num_seqs)
        more = True
        while more or waiting:
            while more and len(waiting) < window:
                request = next(requests, None)
                if request is None:
                    more = False
                elif (refused := self._add(request, waiting)) is not None:
                    yield refused
            if not waiting:
                continue
            for output in self._step():
                if output.finished and (done := waiting.pop(output.request_id, None)) is not None:
                    yield _reply(done, output)

    def _add(self, request: Request, waiting: dict[str, _Waiting]) -> Reply | None:
        """Hand the request to the engine; the reply at once where it cannot be."""
        if request.tools:
            detail = 'vLLM in process makes no tool calls: serve the model and use backend = "openai"'
            return Reply(request.key, "", Finish.ERROR, detail=detail)
        try:
            ids = self._tokenizer.encode(request.messages)
        except Exception as error:  # noqa: BLE001 - a template is a program of the model's author and raises what it likes
            return Reply(request.key, "", Finish.ERROR, detail=f"the prompt cannot be rendered: {one_line(error)}")
        if len(ids) + request.max_tokens > self.context_tokens:
            detail = (
                f"{len(ids)} tokens of the prompt and {request.max_tokens} of the reply "
                f"exceed the context of {self.context_tokens}"
            )
            return Reply(request.key, "", Finish.TOO_LONG, detail=detail)
        number = str(next(self._numbers))
        # "type" marks a prompt that needs no rendering; versions that do not know it go by the other key.
        prompt = {"type": "token", "prompt_token_ids": ids}
        try:
            self._llm.llm_engine.add_request(number, prompt, self._params(request))
        except self._api.row_errors as error:
            return Reply(request.key, "", Finish.ERROR, detail=f"vLLM refuses the request: {one_line(error)}")
        except Exception as error:
            raise self._lost(error) from error
        waiting[number] = _Waiting(request, len(ids))
        return None

    def _params(self, request: Request) -> Any:
        api, constraint = self._api, None
        if self._settings.structured == "json_object":
            constraint = api.constraint(json_object=True)
        elif self._settings.structured == "json_schema" and request.schema is not None:
            constraint = api.constraint(json=json.dumps(request.schema))
        return api.sampling_params(
            **self._sampling,
            seed=request.seed,
            max_tokens=request.max_tokens,
            stop=list(request.stop) or None,
            output_kind=api.final_only,
            **{api.constraint_argument: constraint},
        )

    def _step(self) -> list[Any]:
        """Let the engine go on until something happens; the finished ones of its outputs are whole replies."""
        engine = self._llm.llm_engine
        try:
            if not engine.has_unfinished_requests():
                raise RuntimeError("it has lost requests")
            wait_for_output(engine.engine_core)
            return engine.step()
        except Exception as error:
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> EnvironmentFault:
        """The engine is beyond use: say so now and at every later call."""
        self._gone = (
            f"vLLM's engine has died ({type(error).__name__}: {one_line(error)}); its log above says why, what it "
            "answered stands: start it again, with a smaller max_num_seqs or max_model_len if memory ran out"
        )
        return EnvironmentFault(self._gone)

    def close(self) -> None:
        """Stop the engine; replies not yet read are lost."""
        llm, self._llm = self._llm, None
        if llm is not None:
            self._gone = self._gone or "this model was closed: open it again"
            llm.llm_engine.engine_core.shutdown()


def _reply(waiting: _Waiting, output: Any) -> Reply:
    completion = output.outputs[0]
    usage = Usage(waiting.prompt_tokens, len(completion.token_ids), output.num_cached_tokens or 0)
    finish = _FINISHES.get(completion.finish_reason, Finish.ERROR)
    detail = f"the engine ended the request: {completion.finish_reason}" if finish is Finish.ERROR else None
    return Reply(waiting.request.key, completion.text, finish, usage, detail)


def _sampling(settings: ModelSettings) -> dict[str, Any]:
    names = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")
    return {name: value for name in names if (value := getattr(settings, name)) is not None}


def _jsonable(value: Any) -> Any:
    """The option as JSON would give it back."""
    return json.loads(json.dumps(value, default=str, sort_keys=True))

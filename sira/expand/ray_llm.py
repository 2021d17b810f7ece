"""Workers on a Ray cluster by `ray.data.llm`: Ray's own vLLM stage, asked for the same token ids as `sira expand` asks.

Prompts are cut and tokenised here, so that every count is exact, and every seed, schema and sampling is that of the
in-process backend. Rows are made from the replies by the driver. A reply that was cut off is not asked for again with
more tokens; `max_tokens` left alone cannot be too few.
"""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, cast

from sira.errors import EnvironmentFault
from sira.expand.arrays import Hashes
from sira.expand.distributed import Round
from sira.expand.ray_cluster import TRIES_AGAIN, RayCluster
from sira.expand.ray_reading import fault_of, read_documents
from sira.expand.survey import Entry
from sira.expand.task import Fit, Prepared, Task
from sira.expand.work import Row
from sira.llm.base import Finish, Reply, Usage
from sira.llm.settings import ModelSettings
from sira.records import Skip

BLOCK_BYTES = 256 * 1024
"""Of Ray's blocks on the way to the stage: some dozens of documents."""
ERROR = "__inference_error__"
_NOTHING = [0]
"""What the stage reads for a document that the model is not asked about: a row cannot go round it."""


class RayLLMCluster(RayCluster):
    """A `Cluster` for backend vllm. One worker loads the model before the others, for the identity and the canary."""

    def rows(self, task: Task, todo: Hashes, how: Round) -> Iterator[list[Row]]:
        engine = dict(self.tell("options"))
        sampling, context = dict(self.tell("sampling")), int(self.tell("context_tokens"))
        device = dict(self.tell("facts"))["device"]
        self.release()
        alone = how.alone
        self.set_context(1 if alone else BLOCK_BYTES)
        frozen = pickle.dumps((task, self._config.model, sampling, context, dict(engine)))
        processor = self._processor(engine, device, frozen, how)
        documents = self.documents(todo, how.size, read_documents)
        with warnings.catch_warnings():  # Ray warns of the options that it sets itself
            warnings.simplefilter("ignore")
            data = processor(documents)
        for batch in self.batches(data):
            columns = {name: list(batch[name]) for name in batch}
            yield [
                _row(task, context, {name: columns[name][at] for name in columns})
                for at in range(len(columns["entry"]))
            ]

    def _processor(self, engine: dict[str, Any], device: str, frozen: bytes, how: Round) -> Any:
        api = _api()
        model = engine.pop("model")
        placed: dict[str, Any] = {}
        if device == "cpu":
            placed["placement_group_config"] = {"bundles": [{"CPU": self._pool.cpus}]}
        config = api.vLLMEngineProcessorConfig(
            model_source=model,
            engine_kwargs=engine,
            concurrency=(1, self._pool.workers),
            batch_size=how.size if how.alone else min(how.size, 64),
            max_concurrent_batches=1 if how.alone else 8,
            max_tasks_in_flight_per_actor=1 if how.alone else None,
            should_continue_on_error=True,
            log_engine_metrics=False,
            chat_template_stage=False,
            tokenize_stage=False,
            detokenize_stage=False,
            **placed,
        )

        def preprocess(row: dict[str, Any]) -> dict[str, Any]:
            return request_of(frozen, row["entry"])

        def postprocess(row: dict[str, Any]) -> dict[str, Any]:
            return {name: row[name] for name in _COLUMNS}

        # No CPU is asked for beside the engines, which may have taken all.
        free = {"num_cpus": 0}
        processor = api.build_processor(
            config,
            preprocess=preprocess,
            postprocess=postprocess,
            preprocess_map_kwargs=free,
            postprocess_map_kwargs=free,
        )
        options = processor.get_stage_by_name("vLLMEngineStage").map_batches_kwargs
        options.update(max_restarts=-1, max_task_retries=TRIES_AGAIN)  # in place: an assignment would place it anew
        return processor


_COLUMNS = ("entry", "prepared", "prompt_tokens", "generated_text", "num_generated_tokens")


def _api() -> Any:
    try:
        return import_module("ray.data.llm")
    except ImportError as error:
        raise EnvironmentFault(f"ray.data.llm cannot be imported ({error}): pip install 'ray[llm]'") from error


@lru_cache(maxsize=2)
def _tools(frozen: bytes) -> tuple[Task, Fit, Any, ModelSettings, dict[str, Any], int]:
    """What a worker needs for requests; loaded once a process."""
    task, settings, sampling, context, engine = pickle.loads(frozen)
    transformers, chat_tokenizer = import_module("transformers"), import_module("sira.llm.chat_tokenizer")
    options = {name: engine[name] for name in ("revision", "trust_remote_code") if name in engine}
    loaded = transformers.AutoTokenizer.from_pretrained(engine.get("tokenizer") or engine["model"], **options)
    tokenizer = chat_tokenizer.ChatTokenizer(loaded, settings.thinking, None)
    return task, Fit(task, tokenizer, context), tokenizer, settings, sampling, context


def request_of(frozen: bytes, entry: bytes) -> dict[str, Any]:
    """The columns that the stage reads for one document, and those that the driver makes its row from."""
    ids, max_tokens, seed, prepared = _NOTHING, 1, 0, None
    schema: dict[str, str] = {}
    try:
        task, fit, tokenizer, settings, sampling, context = _tools(frozen)
        _, _, item = cast(Entry, pickle.loads(entry))
        prepared = None if isinstance(item, Skip) else task.prepare(item, fit)
        tokens = 0
        if prepared is not None:
            encoded = tokenizer.encode(prepared.request.messages)
            tokens, seed = len(encoded), prepared.request.seed
            if tokens + prepared.request.max_tokens <= context:
                ids, max_tokens = encoded, prepared.request.max_tokens
                if settings.structured == "json_schema":
                    schema = {"json": json.dumps(prepared.request.schema)}
        parameters = sampling | {"seed": seed, "max_tokens": max_tokens}
        if settings.structured == "json_object" and ids is not _NOTHING:
            schema = {"json_object": cast(Any, True)}
        if schema:
            parameters["structured_outputs"] = schema
    except Exception as error:  # noqa: BLE001 - Ray would drop it as it drops a block
        return {"prepared": pickle.dumps(fault_of(error)), "prompt_tokens": 0, "prompt": "",
                "tokenized_prompt": _NOTHING, "sampling_params": {"max_tokens": 1}}  # fmt: skip
    return {
        "prepared": pickle.dumps(prepared),
        "prompt_tokens": tokens,
        "prompt": "",
        "tokenized_prompt": ids,
        "sampling_params": parameters,
    }


def _row(task: Task, context: int, answer: Mapping[str, Any]) -> Row:
    """The row of one document. Raises what the reader or the preparation raised."""
    entry = pickle.loads(answer["entry"])
    prepared: Any = pickle.loads(answer["prepared"])
    for found in (entry, prepared):
        if isinstance(found, Exception):
            raise found
    _, docid, item = cast(Entry, entry)
    if isinstance(item, Skip):
        return task.error_row(docid, item.detail)
    if prepared is None:
        return task.empty_row(item)
    return task.row(prepared, [reply_of(prepared, context, answer)])


def reply_of(prepared: Prepared, context: int, answer: Mapping[str, Any]) -> Reply:
    """What the stage says, as our own backend would have said it. The stage does not tell why the model stopped."""
    key, most, tokens = prepared.request.key, prepared.request.max_tokens, int(answer["prompt_tokens"])
    if tokens + most > context:
        detail = f"{tokens} tokens of the prompt and {most} of the reply exceed the context of {context}"
        return Reply(key, "", Finish.TOO_LONG, detail=detail)
    if answer.get(ERROR):
        return Reply(key, "", Finish.ERROR, detail=f"vLLM refuses the request: {' '.join(answer[ERROR].split())[:400]}")
    generated = int(answer["num_generated_tokens"])
    finish = Finish.LENGTH if generated >= most else Finish.STOP
    return Reply(key, str(answer["generated_text"]), finish, Usage(tokens, generated))

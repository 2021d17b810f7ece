"""The recorded backend, and that the backends give the same reply for the same answer of a model."""

from __future__ import annotations

import gzip
import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from sira.errors import InputError
from sira.llm import open_generator
from sira.llm.base import Finish, Reply, Request, Usage
from sira.llm.parsing import ReplyLimits, parse_phrases
from sira.llm.recorded import RecordedGenerator
from sira.llm.reply_index import ReplyIndex
from sira.llm.settings import ModelSettings
from sira.records import Message, Status
from tests.llm.openai_server import Answer, OpenAIServer, completion, refusal


def settings(**fields: Any) -> ModelSettings:
    return ModelSettings(**fields)


def recorded(store: Path) -> RecordedGenerator:
    return RecordedGenerator(settings(backend="recorded", replies=store))


def request(key: str) -> Request:
    return Request(key, (Message("user", key),), 64)


def replies(store: Path, *keys: str) -> list[Reply]:
    generator = recorded(store)
    found = list(generator.generate(map(request, keys)))
    generator.close()
    return found


def write(path: Path, *rows: Any) -> Path:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_rows_of_phrases_and_of_raw_replies(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "cached_tokens": 3}
    store = write(
        tmp_path / "store.jsonl",
        {"docid": "phrases", "phrases": ["kiln wash", "é 界"], "status": "ok"},
        {"qid": "sketch", "phrases": ["a", {"text": "b", "role": "must"}]},
        {"docid": 7, "phrases": []},
        {"docid": "raw", "raw": '{"phrases": ["a', "finish": "length", "usage": usage, "phrases": []},
        {"docid": "plain", "raw": "text"},
        {"docid": "failed", "raw": "", "finish": "error", "detail": "HTTP 500: gone", "phrases": []},
        {"docid": "odd", "raw": "x", "finish": "eos", "usage": {"prompt_tokens": -3, "completion_tokens": "5"}},
        {"docid": "odder", "raw": "x", "finish": ["stop"], "usage": [1], "detail": 7},
        {"docid": "waits", "raw": "", "finish": "pending"},
        {"docid": "refused", "phrases": [], "status": "refused"},
        {"docid": "long", "phrases": [], "status": "too_long", "detail": "9000 tokens"},
    )
    keys = ("odd", "odder", "waits", "phrases", "sketch", "7", "raw", "plain", "failed", "refused", "long", "absent")
    assert replies(store, *keys) == [
        Reply("odd", "x", Finish.ERROR, detail="the recorded finish is 'eos'"),
        Reply("odder", "x", Finish.ERROR, detail="the recorded finish is ['stop']"),
        Reply("waits", "", Finish.ERROR, detail="the recorded finish is 'pending'"),
        Reply("phrases", json.dumps({"phrases": ["kiln wash", "é 界"]})),
        Reply("sketch", '{"phrases": ["a", {"text": "b", "role": "must"}]}'),
        Reply("7", '{"phrases": []}'),
        Reply("raw", '{"phrases": ["a', Finish.LENGTH, Usage(9, 5, 3)),
        Reply("plain", "text"),
        Reply("failed", "", Finish.ERROR, detail="HTTP 500: gone"),
        Reply("refused", "", Finish.REFUSED),
        Reply("long", "", Finish.TOO_LONG, detail="9000 tokens"),
        Reply("absent", "", Finish.ERROR, detail="no recorded reply"),
    ]


NASTY = [
    "kiln wash", "é 界 😀", 'the "raku" glaze', "back\\slash", "a, b", "it's", "raku [western] kiln", "[]", '", "', "}",
    "<think>", "</think> x", "◁think▷", "[THINK]", "analysis", "kiln kiln kiln kiln kiln kiln kiln kiln kiln kiln", ":",
]  # fmt: skip
KEPT = [[], ["kiln wash"], NASTY, ["kiln wash"] * 9]
NO_PHRASES = (Status.EMPTY, Status.REFUSED, Status.UNPARSABLE, Status.TOO_LONG, Status.ERROR)


@pytest.mark.parametrize("phrases", KEPT)
@pytest.mark.parametrize("status", Status)
def test_a_row_without_its_raw_text_replays_to_its_status_and_phrases(
    tmp_path: Path, status: Status, phrases: list[str]
) -> None:
    if bool(phrases) != (status is Status.OK) and status not in (Status.TRUNCATED, Status.RUNAWAY):
        phrases = [] if status in NO_PHRASES else NASTY
    usage = {"prompt_tokens": 9, "completion_tokens": 5}
    row = {"docid": "d", "status": status.value, "phrases": phrases, "usage": usage, "detail": "why"}
    (reply,) = replies(write(tmp_path / "store.jsonl", row), "d")
    assert (reply.usage, reply.detail) == (Usage(9, 5), "why")
    parsed = parse_phrases(reply.text, reply.finish, ReplyLimits(20, 64, 12))
    assert (parsed.status, list(parsed.phrases), dict(parsed.dropped)) == (status, phrases, {})


def test_the_first_reply_that_is_no_error_counts(tmp_path: Path) -> None:
    store = write(
        tmp_path / "store.jsonl",
        {"docid": "d", "raw": "", "finish": "error", "detail": "first"},
        {"docid": "d", "raw": "good", "finish": "stop"},
        {"docid": "d", "raw": "late", "finish": "stop"},
        {"docid": "e", "raw": "", "finish": "error", "detail": "first"},
        {"docid": "e", "raw": "", "finish": "error", "detail": "second"},
    )
    assert replies(store, "d", "e") == [Reply("d", "good"), Reply("e", "", Finish.ERROR, detail="first")]


def test_a_folder_of_plain_and_packed_files(tmp_path: Path) -> None:
    write(tmp_path / "b.jsonl.gz", {"docid": "b", "raw": "1"}, {"docid": "d", "raw": "late"})
    write(tmp_path / "a.jsonl", {"docid": "d", "raw": "first"})
    write(tmp_path / "c.jsonl.gz", {"docid": "c", "raw": "2"})
    (tmp_path / "manifest.json").write_text("{}")
    assert [reply.text for reply in replies(tmp_path, "c", "d", "b", "d", "c")] == ["2", "first", "1", "first", "2"]


def test_identity_is_the_store_and_the_model_that_its_rows_name(tmp_path: Path) -> None:
    store = write(tmp_path / "a.jsonl", {"docid": "d", "phrases": [], "provenance": {"model": "m"}})
    digest = hashlib.sha256(store.read_bytes()).hexdigest()[:16]
    first, second = recorded(store), recorded(tmp_path)
    assert first.identity == second.identity == {"store": digest, "model": "m"}
    assert (first.pending, first.tokenizer, first.context_tokens) == (None, None, None)
    write(tmp_path / "b.jsonl", {"docid": "e", "phrases": [], "model": "k"}, {"docid": "f", "phrases": []})
    both = recorded(tmp_path)
    assert both.identity["model"] == ["k", "m"]
    assert both.identity["store"] != digest
    for generator in (first, second, both, both):
        generator.close()


@pytest.mark.parametrize("line", ["no JSON", "[1]", '{"phrases": []}', '{"docid": "e"}', '{"docid": true, "raw": ""}'])
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: str) -> None:
    store = tmp_path / "store.jsonl"
    store.write_text(f'{{"docid": "d", "raw": "x"}}\n\n{line}\n')
    with pytest.raises(InputError, match=f"^{store}, line 3: no recorded reply: a row has"):
        recorded(store)


def test_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    store = tmp_path / "store.jsonl"
    store.write_text('{"docid": "d", "raw": "x"}\n{"docid": "e", "ra')
    assert [reply.finish for reply in replies(store, "d", "e")] == [Finish.STOP, Finish.ERROR]


def test_stores_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="set `replies`"):
        RecordedGenerator(settings(backend="recorded"))
    for absent in (tmp_path, tmp_path / "absent.jsonl"):
        with pytest.raises(InputError, match=f"^{absent}: no recorded replies"):
            recorded(absent)


def test_the_index_holds_no_texts(tmp_path: Path) -> None:
    store = tmp_path / "store.jsonl"
    with store.open("w") as stream:
        for number in range(20_000):
            stream.write(json.dumps({"docid": f"d{number}", "raw": "x" * 500}) + "\n")
    tracemalloc.start()
    index = ReplyIndex([store], lambda row: row["docid"])
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(index) == 20_000
    assert held < 20_000 * 24
    assert peak < 20_000 * 100
    assert [row["docid"] for row in index.rows("d19999")] == ["d19999"]
    assert list(index.rows("d20000")) == []
    index.close()


MODEL_ANSWERS = {
    "stop": Answer(
        completion('{"phrases": ["kiln wash", "é 界"]}', usage={"prompt_tokens": 9, "completion_tokens": 5})
    ),
    "length": Answer(completion('{"phrases": ["a", "b', "length")),
    "none": Answer(completion(None)),
    "refused": Answer(completion(None, refusal="I cannot")),
    "filtered": Answer(completion("half", "content_filter")),
    "too long": refusal(400, "This model's maximum context length is 4096 tokens.", code="context_length_exceeded"),
    "error": refusal(400, "something else"),
    "no choices": Answer(completion("a") | {"choices": []}),
}


def test_endpoint_batch_file_and_recorded_give_the_same_replies(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="wants the package openai")
    requests = [request(key) for key in MODEL_ANSWERS]
    server = OpenAIServer()
    server.answers = {key: [answer] for key, answer in MODEL_ANSWERS.items()}
    endpoint = open_generator(settings(backend="openai", model="served-model", base_url=server.url))
    from_endpoint = {reply.key: reply for reply in endpoint.generate(requests)}
    endpoint.close()
    server.stop()

    batch_settings = settings(backend="batch-file", model="served-model", replies=tmp_path)
    for _ in range(2):
        batch = open_generator(batch_settings)
        from_batch = {reply.key: reply for reply in batch.generate(requests) if reply.finish is not Finish.PENDING}
        batch.close()
        if not from_batch:
            rows = [json.loads(line) for line in (tmp_path / "requests-00000.jsonl").read_bytes().splitlines()]
            assert [row["body"] for row in rows] == [
                next(call for call in server.calls if call["messages"] == row["body"]["messages"]) for row in rows
            ]
            answers = [MODEL_ANSWERS[row["body"]["messages"][0]["content"]] for row in rows]
            write(
                tmp_path / "replies-0.jsonl",
                *(
                    {"custom_id": row["custom_id"], "response": {"status_code": answer.status, "body": answer.body}}
                    for row, answer in zip(rows, answers, strict=True)
                ),
            )

    rows = [
        {
            "docid": reply.key,
            "raw": reply.text,
            "finish": reply.finish.value,
            "detail": reply.detail,
            "usage": {
                "prompt_tokens": reply.usage.prompt_tokens,
                "completion_tokens": reply.usage.completion_tokens,
            },
        }
        for reply in from_endpoint.values()
    ]
    from_store = {reply.key: reply for reply in replies_of(write(tmp_path / "store.jsonl", *rows), requests)}
    # A body that is no completion may be one another time: the batch file asks for it anew.
    assert from_batch == {key: reply for key, reply in from_endpoint.items() if key != "no choices"}
    assert from_store == from_endpoint
    assert {key: reply.finish.value for key, reply in from_endpoint.items()} == {
        "stop": "stop",
        "length": "length",
        "none": "stop",
        "refused": "refused",
        "filtered": "refused",
        "too long": "too_long",
        "error": "error",
        "no choices": "error",
    }


def replies_of(store: Path, requests: list[Request]) -> list[Reply]:
    generator = open_generator(settings(backend="recorded", replies=store))
    found = list(generator.generate(requests))
    generator.close()
    return found

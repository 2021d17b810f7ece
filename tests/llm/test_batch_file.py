"""The batch-file backend: what is written, what is taken back, and what is not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sira.errors import InputError
from sira.llm import batch_file
from sira.llm.base import Finish, Reply, Request, Usage
from sira.llm.batch_file import BatchFileGenerator, custom_id
from sira.llm.schema import phrases_schema
from sira.llm.settings import ModelSettings
from sira.records import Message


def settings(folder: Path | None, **changes: Any) -> ModelSettings:
    return ModelSettings(**{"backend": "batch-file", "model": "m", "replies": folder, **changes})


def request(key: str, text: str | None = None, **fields: Any) -> Request:
    return Request(key, (Message("user", text or f"text of {key}"),), **{"max_tokens": 64, **fields})


def run(folder: Path, requests: Iterable[Request], **changes: Any) -> tuple[list[Reply], str | None]:
    """The replies that the folder gives, and what is pending then; every request is answered or waits."""
    generator = BatchFileGenerator(settings(folder, **changes))
    asked = list(requests)
    replies = list(generator.generate(asked))
    assert [reply.key for reply in replies] == [request.key for request in asked]
    pending = generator.pending
    generator.close()
    return answered_of(replies), pending


def answered_of(replies: Iterable[Reply]) -> list[Reply]:
    return [reply for reply in replies if reply.finish is not Finish.PENDING]


def written(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(folder.glob("requests-*")) for line in file.read_bytes().splitlines()]


def answered(row: dict[str, Any], text: str, status: int = 200, error: Any = None, **body: Any) -> str:
    """A line of output as `vllm run-batch` and OpenAI write it."""
    message = {"role": "assistant", "content": text}
    full = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **body}
    response = {"status_code": status, "request_id": "r", "body": None if error else full}
    return json.dumps({"id": "1", "custom_id": row["custom_id"], "response": response, "error": error}) + "\n"


def test_requests_are_written_as_the_batch_format_has_them(tmp_path: Path) -> None:
    schema = phrases_schema(2)
    folder = tmp_path / "new" / "batch"
    replies, pending = run(folder, [request("d1", "é 界", seed=7, schema=schema)], temperature=0.25)
    assert replies == []
    (row,) = written(folder)
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "é 界"}],
        "max_tokens": 64,
        "temperature": 0.25,
        "seed": 7,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "phrases", "strict": True, "schema": schema},
        },
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert row == {"custom_id": custom_id("d1", body), "method": "POST", "url": "/v1/chat/completions", "body": body}
    assert [file.name for file in folder.iterdir()] == ["requests-00000.jsonl"]
    assert pending == (
        f"requests without a reply: 1, in {folder}/requests-00000.jsonl; "
        f"run `python -m vllm.entrypoints.openai.run_batch -i {folder}/requests-00000.jsonl "
        f"-o {folder}/replies-00000.jsonl --model m "
        """--structured-outputs-config '{"backend":"guidance","disable_any_whitespace":true}'` """
        "and then the same sira command again"
    )


def test_replies_are_joined_by_id_in_whatever_order_they_stand(tmp_path: Path) -> None:
    requests = [request(f"d{number}") for number in range(6)]
    run(tmp_path, requests)
    rows = written(tmp_path)
    lines = [answered(row, f"reply to {row['custom_id'][17:]}") for row in rows]
    (tmp_path / "replies-00000.jsonl").write_text("".join(reversed(lines[:3])))
    (tmp_path / "replies_errors.jsonl.gz").write_bytes(gzip.compress("".join(lines[3:5]).encode()))
    replies, pending = run(tmp_path, requests)
    assert replies == [Reply(f"d{number}", f"reply to d{number}") for number in range(5)]
    assert [row["custom_id"] for row in written(tmp_path)] == [rows[5]["custom_id"]]
    assert pending is not None
    assert pending.startswith("requests without a reply: 1, in ")
    assert "-o " + str(tmp_path / "replies-00001.jsonl") in pending
    (tmp_path / "replies-00001.jsonl").write_text(lines[5])
    replies, pending = run(tmp_path, requests)
    assert ([reply.key for reply in replies], pending) == (["d0", "d1", "d2", "d3", "d4", "d5"], None)
    assert list(tmp_path.glob("requests-*")) == []


def test_replies_with_usage_and_thinking(tmp_path: Path) -> None:
    run(tmp_path, [request("d")])
    usage = {"prompt_tokens": 30, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 16}}
    (tmp_path / "replies.jsonl").write_text(answered(written(tmp_path)[0], "x", usage=usage))
    assert run(tmp_path, [request("d")]) == ([Reply("d", "x", usage=Usage(30, 4, 16))], None)


@pytest.mark.parametrize(
    "changed",
    [
        (request("d", "other text"), {}),
        (request("d", seed=1), {}),
        (request("d", max_tokens=65), {}),
        (request("d", schema=phrases_schema(3)), {}),
        (request("e", "text of d"), {}),
        (request("d"), {"model": "n"}),
        (request("d"), {"temperature": 0.0}),
        (request("d"), {"thinking": True}),
        (request("d"), {"extra_body": {"priority": 1}}),
    ],
)
def test_a_stale_reply_is_not_taken(tmp_path: Path, changed: tuple[Request, dict[str, Any]]) -> None:
    run(tmp_path, [request("d")])
    (tmp_path / "replies.jsonl").write_text(answered(written(tmp_path)[0], "x"))
    assert run(tmp_path, [request("d")])[1] is None
    replies, pending = run(tmp_path, [changed[0]], **changed[1])
    assert replies == []
    assert pending is not None


def test_ids_are_safe_and_distinct_for_any_key(tmp_path: Path) -> None:
    keys = ["a/b", "a_b", "界", "x" * 200, "x" * 201, 'q"\n', "", "http://e.org/?q=1"]
    requests = [request(key, "one text") for key in keys]
    run(tmp_path, requests)
    rows = written(tmp_path)
    ids = [row["custom_id"] for row in rows]
    assert len(set(ids)) == len(keys)
    assert all(len(row_id) <= 64 and set(row_id) < set(map(chr, range(33, 127))) - set("/\\\"'") for row_id in ids)
    assert ids[0][16:] == "-a_b"
    (tmp_path / "replies.jsonl").write_text("".join(answered(row, str(at)) for at, row in enumerate(rows)))
    assert [(reply.key, reply.text) for reply in run(tmp_path, requests)[0]] == [
        (key, str(at)) for at, key in enumerate(keys)
    ]


def test_the_first_good_reply_of_an_id_counts(tmp_path: Path) -> None:
    run(tmp_path, [request("d")])
    (row,) = written(tmp_path)
    bad = answered(row, "", 400, error={"message": "bad grammar"})
    (tmp_path / "replies-00000.jsonl").write_text(bad)
    error = Reply("d", "", Finish.ERROR, detail="HTTP 400: bad grammar")
    assert run(tmp_path, [request("d")]) == ([error], None)
    died = answered(row, "", 500, error={"message": "engine died"})
    (tmp_path / "replies-00001.jsonl").write_text(died)
    assert run(tmp_path, [request("d")]) == ([error], None)
    (tmp_path / "replies-00002.jsonl").write_text(bad + answered(row, "good") + answered(row, "late"))
    assert run(tmp_path, [request("d")]) == ([Reply("d", "good")], None)


DEEP: Any = []
for _ in range(200):
    DEEP = [DEEP]
TOO_LONG = {"error": {"message": "This model's maximum context length is 4096 tokens.", "code": 400}}

REFUSED: dict[str, tuple[dict[str, Any], Finish, str]] = {
    "vllm": (
        {"response": {"status_code": 400}, "error": {"error": {"message": "bad grammar", "code": 400}}},
        Finish.ERROR,
        "HTTP 400: bad grammar",
    ),
    "hosted": (
        {"response": {"status_code": 422, "body": {"error": {"message": "bad value"}}}, "error": None},
        Finish.ERROR,
        "HTTP 422: bad value",
    ),
    "firewall": ({"response": {"status_code": 403}, "error": "blocked"}, Finish.ERROR, "HTTP 403: blocked"),
    "long": (
        {"response": {"status_code": 400, "body": None}, "error": TOO_LONG},
        Finish.TOO_LONG,
        "HTTP 400: This model's maximum context length is 4096 tokens.",
    ),
    "long without status": (
        {"response": None, "error": {"code": "context_length_exceeded", "message": "9000 tokens"}},
        Finish.TOO_LONG,
        "9000 tokens",
    ),
    "filtered": (
        {"response": {"status_code": 400}, "error": {"message": "no", "code": "content_filter"}},
        Finish.REFUSED,
        "HTTP 400: no",
    ),
}


def write_lines(folder: Path, lines: dict[str, dict[str, Any]]) -> None:
    rows = {row["custom_id"][17:]: row["custom_id"] for row in written(folder)}
    (folder / "replies.jsonl").write_text(
        "".join(json.dumps({"custom_id": rows[key.replace(" ", "_")], **line}) + "\n" for key, line in lines.items())
    )


def test_a_refusal_of_the_request_is_its_reply(tmp_path: Path) -> None:
    requests = [request(key) for key in REFUSED]
    run(tmp_path, requests)
    write_lines(tmp_path, {key: line for key, (line, _, _) in REFUSED.items()})
    replies, pending = run(tmp_path, requests)
    assert pending is None
    assert replies == [Reply(key, "", finish, detail=detail) for key, (_, finish, detail) in REFUSED.items()]


GOOD_BODY = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
FAILED: dict[str, tuple[dict[str, Any], str]] = {
    "expired": (
        {"response": None, "error": {"code": "batch_expired", "message": "not executed in time"}},
        "not executed in time",
    ),
    "empty": ({"response": None, "error": None}, "the line holds no response"),
    "no body": ({"response": {"status_code": 200, "body": None}, "error": None}, "the line holds no response"),
    "error beside a body": (
        {"response": {"status_code": 200, "body": GOOD_BODY}, "error": {"message": "connection reset"}},
        "connection reset",
    ),
    **{
        f"status {status}": ({"response": {"status_code": status}, "error": {"message": "m"}}, f"HTTP {status}: m")
        for status in (401, 402, 404, 408, 409, 429, 500, 502, 503, 529)
    },
    "status in the response alone": (
        {"response": {"status_code": 500, "body": {"error": {"message": "server error"}}}, "error": None},
        "HTTP 500: server error",
    ),
    "error in a good response": (
        {"response": {"status_code": 200, "body": {"error": {"message": "upstream gone"}}}},
        "upstream gone",
    ),
    "aborted": (
        {"response": {"body": {"choices": [{"message": {"content": "ha"}, "finish_reason": "abort"}]}}},
        "the endpoint broke off: finish_reason 'abort'",
    ),
    "wrong types": ({"response": [1], "error": [[1]]}, "[[1]]"),
    "body of another type": (
        {"response": {"status_code": "200", "body": {"choices": {}}}},
        "the reply is no chat completion: it has no `choices`",
    ),
    "deep": ({"response": {"status_code": 200, "body": DEEP}}, "[" * 201 + "]" * 99),
}


@pytest.mark.parametrize("name", FAILED)
def test_a_failure_that_may_pass_is_no_reply_and_its_request_is_written_anew(tmp_path: Path, name: str) -> None:
    line, detail = FAILED[name]
    requests = [request(name), request("new")]
    run(tmp_path, requests)
    before = written(tmp_path)
    write_lines(tmp_path, {name: line})
    replies, pending = run(tmp_path, requests)
    assert replies == []
    assert written(tmp_path) == before
    assert pending is not None
    assert pending.startswith(f"requests without a reply: 2 (1 failed before, the first: {detail}), in {tmp_path}")
    (tmp_path / "replies-1.jsonl").write_text("".join(answered(row, "good") for row in before))
    assert run(tmp_path, requests) == ([Reply(name, "good"), Reply("new", "good")], None)


def test_lines_that_are_no_replies_are_counted(tmp_path: Path) -> None:
    requests = [request("a"), request("b")]
    run(tmp_path, requests)
    first, second = (answered(row, "x") for row in written(tmp_path))
    (tmp_path / "replies-0.jsonl").write_text(f"\ufeff{first}\nno JSON\n[1]\n{{}}\n{second[:-9]}", encoding="utf-8")
    (tmp_path / "replies-1.jsonl").write_text("")
    (tmp_path / "replies-2.jsonl").write_text('{"custom_id": "torn')
    generator = BatchFileGenerator(settings(tmp_path))
    assert [reply.key for reply in answered_of(generator.generate(requests))] == ["a"]
    facts = generator.facts
    assert (facts["replies"], facts["skipped_lines"], facts["torn"]) == (1, 3, 2)
    assert facts["first_skipped"] == f"{tmp_path / 'replies-0.jsonl'}, line 3"
    generator.close()


def test_a_torn_packed_file_gives_what_is_whole(tmp_path: Path) -> None:
    requests = [request(f"d{number}") for number in range(500)]
    run(tmp_path, requests)
    lines = [answered(row, f"reply to {row['custom_id'][17:]}") for row in written(tmp_path)]
    packed = gzip.compress("".join(lines[:400]).encode())
    (tmp_path / "replies-0.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "replies-1.jsonl.gz").write_bytes(gzip.compress("".join(lines[400:]).rstrip().encode()))
    (tmp_path / "replies-2.jsonl.gz").write_bytes(gzip.compress(b""))
    replies, _ = run(tmp_path, requests)
    assert 100 < len(replies) - 100 < 400
    assert all(reply == Reply(reply.key, f"reply to {reply.key}") for reply in replies)
    assert {reply.key for reply in replies} > {f"d{number}" for number in range(400, 500)}


def test_files_that_hold_no_replies_at_all_are_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "replies-0.jsonl"
    wrong.write_text('{"docid": "d1", "phrases": []}\n')
    with pytest.raises(InputError, match=f"^{wrong}: not one line is a row of replies"):
        run(tmp_path, [])
    wrong.unlink()
    (tmp_path / "replies-0.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(InputError, match="damaged gzip file"):
        run(tmp_path, [])


def test_files_of_requests_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_file, "MAX_REQUESTS", 4)
    _, pending = run(tmp_path, [request(str(number)) for number in range(10)])
    files = sorted(tmp_path.glob("requests-*"))
    assert [len(file.read_bytes().splitlines()) for file in files] == [4, 4, 2]
    assert [row["custom_id"][17:] for row in written(tmp_path)] == [str(number) for number in range(10)]
    assert pending is not None
    assert pending.startswith(
        f"requests without a reply: 10, in {tmp_path}/requests-00000.jsonl to requests-00002.jsonl; run "
    )
    assert "for each of the 3 files" in pending
    monkeypatch.setattr(batch_file, "MAX_REQUESTS", 50_000)
    monkeypatch.setattr(batch_file, "MAX_BYTES", 1000)
    run(tmp_path, [request(str(number), "x" * (2000 if number == 1 else 200)) for number in range(6)])
    files = sorted(tmp_path.glob("requests-*"))
    assert [len(file.read_bytes().splitlines()) for file in files] == [1, 1, 2, 2]


def test_requests_of_an_older_job_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_file, "MAX_REQUESTS", 2)
    run(tmp_path, [request(str(number)) for number in range(9)])
    first = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    run(tmp_path, [request(str(number)) for number in range(9)])
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == first
    run(tmp_path, [request("other")])
    assert [file.name for file in tmp_path.iterdir()] == ["requests-00000.jsonl"]
    assert [row["custom_id"][17:] for row in written(tmp_path)] == ["other"]


def test_several_calls_of_one_job_go_on_where_the_last_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_file, "MAX_REQUESTS", 3)
    generator = BatchFileGenerator(settings(tmp_path))
    for keys in ("ab", "", "cde", "f"):
        list(generator.generate(map(request, keys)))
    assert generator.pending is not None
    assert generator.pending.startswith("requests without a reply: 6, ")
    assert [row["custom_id"][17:] for row in written(tmp_path)] == list("abcdef")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["requests-00000.jsonl", "requests-00001.jsonl"]
    generator.close()


def test_an_iteration_that_ends_early_leaves_whole_files(tmp_path: Path) -> None:
    run(tmp_path, [request("done")])
    (tmp_path / "replies.jsonl").write_text(answered(written(tmp_path)[0], "x"))
    generator = BatchFileGenerator(settings(tmp_path))
    replies = generator.generate(map(request, ["new", "done", "never"]))
    assert (next(replies).finish, next(replies).key) == (Finish.PENDING, "done")
    replies.close()  # type: ignore[attr-defined]
    assert [row["custom_id"][17:] for row in written(tmp_path)] == ["new"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["replies.jsonl", "requests-00000.jsonl"]
    generator.close()
    generator.close()


def test_settings_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="set `replies`"):
        BatchFileGenerator(settings(None))
    with pytest.raises(InputError, match="set `model`"):
        BatchFileGenerator(settings(tmp_path, model=""))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a folder"):
        BatchFileGenerator(settings(tmp_path / "file"))
    with pytest.raises(InputError, match="'n' is set by sira"):
        BatchFileGenerator(settings(tmp_path, extra_body={"n": 2}))
    generator = BatchFileGenerator(settings(tmp_path, revision="r", context_tokens=99))
    assert (generator.identity, generator.context_tokens) == ({"model": "m", "revision": "r"}, 99)
    assert (generator.tokenizer, generator.pending) == (None, None)
    generator.close()

"""Replies kept by what was asked: what is a hit, what is kept, and what damage or other processes cannot do."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sira.errors import EnvironmentFault
from sira.llm import Finish, Reply, Request, Tokenizer, Tool, Usage
from sira.llm.cache import CachedGenerator, address_of, known_identity, open_cached, read_reply, write_reply
from sira.llm.schema import phrases_schema
from sira.llm.settings import ModelSettings
from sira.records import Message, ToolCall, ToolTurn

IDENTITY = {"model": "m"}
SAMPLING = {"temperature": 0.4, "seed": 42}


class Model:
    """Numbers its replies; answers a text of `finishes` with that finish."""

    context_tokens: int | None = 512
    tokenizer: Tokenizer | None = None
    pending: str | None = None
    facts: Mapping[str, Any] = {"backend": "model"}
    identity: Mapping[str, Any] = {"model": "as opened"}

    def __init__(self, **finishes: Finish) -> None:
        self.finishes = finishes
        self.asked: list[str] = []
        self.closed = 0
        self.dies_at: int | None = None

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        for request in requests:
            text = request.messages[-1].content
            self.asked.append(text)
            if len(self.asked) == self.dies_at:
                raise EnvironmentFault("the model is gone")
            finish = self.finishes.get(text, Finish.STOP)
            yield Reply(
                request.key, f"{text} {len(self.asked)}", finish, Usage(7, 3, 2), "said" if text == "d" else None
            )

    def close(self) -> None:
        self.closed += 1


def never() -> Any:
    raise AssertionError("the model was opened")


def request(text: str, key: str = "", **fields: Any) -> Request:
    given: dict[str, Any] = {"max_tokens": 64, "seed": 1, "schema": phrases_schema(3), **fields}
    return Request(key or text, (Message("system", "s"), Message("user", text)), **given)


def cached(
    folder: Path | None, model: Callable[[], Any], identity: Mapping[str, Any] | None = IDENTITY
) -> CachedGenerator:
    return CachedGenerator(model, identity, SAMPLING, folder)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_second_process_is_answered_without_a_model_whatever_the_key(tmp_path: Path) -> None:
    model = Model()
    first = cached(tmp_path, lambda: model)
    assert list(first.generate([request("a", "1"), request("d", "2")])) == [
        Reply("1", "a 1", Finish.STOP, Usage(7, 3, 2)),
        Reply("2", "d 2", Finish.STOP, Usage(7, 3, 2), "said"),
    ]
    assert (first.counts.hits, first.counts.misses, first.counts.usage) == (0, 2, Usage(14, 6, 4))
    second = cached(tmp_path, never)
    assert list(second.generate([request("d", "x")])) == [Reply("x", "d 2", Finish.STOP, Usage(7, 3, 2), "said")]
    assert (second.counts.hits, second.counts.misses, second.counts.usage) == (1, 0, Usage())
    assert (second.identity, second.facts, second.pending) == (IDENTITY, {}, None)
    second.close()
    first.close()
    assert model.closed == 1


@pytest.mark.parametrize(
    "change",
    [
        {"max_tokens": 65},
        {"seed": 2},
        {"schema": phrases_schema(4)},
        {"schema": None},
        {"messages": (Message("system", "s"), Message("user", "a "))},
        {"messages": (Message("user", "s"), Message("user", "a"))},
        {"messages": (Message("user", "a"),)},
    ],
)
def test_all_that_decides_a_reply_is_in_its_address(change: dict[str, Any]) -> None:
    plain = request("a")
    assert address_of(IDENTITY, SAMPLING, replace(plain, **change)) != address_of(IDENTITY, SAMPLING, plain)
    assert address_of(IDENTITY, SAMPLING, replace(plain, key="other")) == address_of(IDENTITY, SAMPLING, plain)


def test_model_and_sampling_are_in_the_address_and_the_order_of_their_names_is_not() -> None:
    plain = address_of({"a": 1, "b": 2}, {"c": 3, "d": 4}, request("a"))
    assert address_of({"b": 2, "a": 1}, {"d": 4, "c": 3}, request("a")) == plain
    assert address_of({"a": 1, "b": 3}, {"c": 3, "d": 4}, request("a")) != plain
    assert address_of({"a": 1, "b": 2}, {"c": 3, "d": 5}, request("a")) != plain


def test_the_order_of_a_schemas_fields_is_in_the_address() -> None:
    one, two = {"properties": {"text": 1, "role": 2}}, {"properties": {"role": 2, "text": 1}}
    addresses = {address_of(IDENTITY, SAMPLING, request("a", schema=schema)) for schema in (one, two)}
    assert len(addresses) == 2


def test_the_seed_of_the_settings_plays_no_part_since_each_request_has_its_own(tmp_path: Path) -> None:
    list(cached(tmp_path, Model).generate([request("a")]))
    other = CachedGenerator(never, IDENTITY, {**SAMPLING, "seed": 7}, tmp_path)
    assert [reply.text for reply in other.generate([request("a")])] == ["a 1"]


def test_failures_are_asked_again_and_replies_of_any_length_are_not(tmp_path: Path) -> None:
    ends = {finish.name.lower(): finish for finish in Finish}
    texts = list(ends)
    list(cached(tmp_path, lambda: Model(**ends)).generate([request(text) for text in texts]))
    model = Model()
    again = cached(tmp_path, lambda: model)
    found = {reply.key: reply.finish for reply in again.generate([request(text) for text in texts])}
    assert sorted(model.asked) == ["error", "pending", "too_long"]
    assert {key for key, finish in found.items() if finish is not Finish.STOP} == {"length", "refused"}
    assert (again.counts.hits, again.counts.misses) == (3, 3)


def test_what_waits_in_a_file_is_no_call() -> None:
    waiting = cached(None, lambda: Model(a=Finish.PENDING))
    assert [reply.finish for reply in waiting.generate([request("a")])] == [Finish.PENDING]
    assert waiting.counts.misses == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"\0" * len(data),
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"a 1", b"a 2"),
        lambda data: data.replace(b'"stop"', b'"halt"'),
        lambda data: b"[" * 100_000,
        lambda data: b"null",
        lambda data: b'{"check": "0", "reply": null}',
        lambda data: b"\xff\xfe",
    ],
)
def test_a_damaged_file_is_asked_for_again_and_mended(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    list(cached(tmp_path, Model).generate([request("a")]))
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    model = Model()
    assert [reply.text for reply in cached(tmp_path, lambda: model).generate([request("a")])] == ["a 1"]
    assert model.asked == ["a"]
    assert file.read_bytes() == whole


def test_a_file_under_the_name_of_another_is_not_taken_for_it(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_reply(path, "1" * 64, Reply("a", "text"))
    assert read_reply(path, "1" * 64) == Reply("", "text")
    assert read_reply(path, "2" * 64) is None


def test_text_that_utf_8_cannot_hold_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_reply(path, "1" * 64, Reply("a", "\ud800 \0 é"))
    assert read_reply(path, "1" * 64) == Reply("", "\ud800 \0 é")


def test_tool_calls_and_reasoning_are_kept_and_asked_for_by_their_tools(tmp_path: Path) -> None:
    reply = Reply("", "", tool_calls=(ToolCall("a", "search", '{"query": "x"}'),), reasoning="why")
    write_reply(tmp_path / "r.json", "a" * 64, reply)
    assert read_reply(tmp_path / "r.json", "a" * 64) == reply
    plain = Request("k", (Message("user", "t"),), 9)
    tool = Tool("search", "Searches.", {"type": "object"})
    answered = (ToolTurn("assistant", "", reply.tool_calls), ToolTurn("tool", "found", tool_call_id="a"))
    variants = [
        plain,
        replace(plain, tools=(tool,)),
        replace(plain, tools=(replace(tool, description="Other."),)),
        replace(plain, stop=("x",)),
        replace(plain, messages=answered),
        replace(plain, messages=(answered[0], answered[1]._replace(tool_call_id="b"))),
    ]
    assert len({address_of(IDENTITY, SAMPLING, request) for request in variants}) == len(variants)
    assert address_of(IDENTITY, SAMPLING, replace(plain, timeout_s=3)) == address_of(IDENTITY, SAMPLING, plain)


def test_equal_requests_are_sent_once_and_each_gets_the_reply(tmp_path: Path) -> None:
    class Together(Model):
        """Draws all requests before it answers, as an engine that batches does."""

        def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
            return super().generate(list(requests))

    model = Together(e=Finish.ERROR)
    generator = cached(tmp_path, lambda: model)
    texts = ["a", "e", "a", "e", "b", "a"]
    replies = list(generator.generate([request(text, f"{text}{at}") for at, text in enumerate(texts)]))
    assert model.asked == ["a", "e", "b"]
    assert {reply.key: reply.text for reply in replies} == {
        "a0": "a 1", "a2": "a 1", "a5": "a 1", "e1": "e 2", "e3": "e 2", "b4": "b 3"
    }  # fmt: skip
    assert len(replies) == 6
    assert (generator.counts.hits, generator.counts.misses) == (3, 3)


def test_kept_replies_come_as_they_are_drawn(tmp_path: Path) -> None:
    list(cached(tmp_path, Model).generate([request("a"), request("b")]))
    drawn: list[str] = []

    def requests() -> Iterator[Request]:
        for text in ("a", "b", "c"):
            drawn.append(text)
            yield request(text)

    replies = cached(tmp_path, Model).generate(requests())
    assert next(replies).text == "a 1"
    assert drawn == ["a"]
    assert [reply.text for reply in replies] == ["b 2", "c 1"]


def test_when_the_model_dies_what_was_answered_is_kept(tmp_path: Path) -> None:
    model = Model()
    model.dies_at = 3
    got: list[str] = []
    generator = cached(tmp_path, lambda: model)
    with pytest.raises(EnvironmentFault, match="is gone"):
        got.extend(reply.key for reply in generator.generate(request(text) for text in "abcd"))
    again = Model()
    list(cached(tmp_path, lambda: again).generate(request(text) for text in "abcd"))
    assert again.asked == ["c", "d"]


def test_a_folder_that_cannot_be_written_costs_only_the_keeping(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "replies").write_text("a file", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        replies = list(cached(tmp_path / "replies", Model).generate([request("a"), request("b")]))
    assert [reply.text for reply in replies] == ["a 1", "b 2"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "replies are not kept" in caplog.text


def test_a_model_known_only_by_opening_it_is_opened(tmp_path: Path) -> None:
    list(cached(tmp_path, Model, None).generate([request("a")]))
    opened = Model()
    again = cached(tmp_path, lambda: opened, None)
    assert [reply.text for reply in again.generate([request("a")])] == ["a 1"]
    assert (again.identity, opened.asked, again.context_tokens, again.tokenizer) == (Model.identity, [], 512, None)
    assert again.facts == {"backend": "model"}


PROCESS = """
import sys
from pathlib import Path
from tests.llm.test_cache import Model, cached, request
model = Model()
generator = cached(Path(sys.argv[1]), lambda: model)
print(sys.argv[2], flush=True)
sys.stdin.readline()
print(sum(1 for _ in generator.generate(request(str(number)) for number in range(int(sys.argv[3])))))
"""


def test_processes_share_a_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROCESS, str(tmp_path)]
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen([*command, name, "150"], cwd=root, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for name in "ab"
    ]
    for process in running:
        assert process.stdout is not None
        process.stdout.readline()
    for process in running:  # both are ready: go
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=50)[0] for process in running]
    assert [answer.strip() for answer in answers] == ["150", "150"]
    kept = files(tmp_path)
    assert len(kept) == 150
    replies = {reply.key: reply.text for reply in cached(tmp_path, never).generate(request(str(n)) for n in range(150))}
    assert all(text.startswith(f"{key} ") for key, text in replies.items())
    assert len(replies) == 150


# Of the settings


def settings(**fields: Any) -> ModelSettings:
    return ModelSettings.model_validate(fields)


def test_an_endpoint_is_known_by_name_revision_and_address_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    named = settings(backend="openai", model="m", revision="r", base_url="https://me:secret@host.example/v1")
    assert known_identity(named) == {
        "backend": "openai", "model": "m", "revision": "r", "address": "https://host.example/v1"
    }  # fmt: skip
    assert known_identity(settings(backend="openai", base_url="http://127.0.0.1:1/v1")) is None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:2/v1")
    elsewhere = known_identity(settings(backend="openai", model="m"))
    assert elsewhere is not None
    assert elsewhere["address"] == "http://127.0.0.1:2/v1"


def test_a_local_model_is_known_by_the_bytes_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF one")
    one = known_identity(settings(backend="local", model=str(file)))
    file.write_bytes(b"GGUF two!")
    two = known_identity(settings(backend="local", model=str(file)))
    assert one is not None
    assert two is not None
    assert one["model"] == two["model"] == "m.gguf"
    assert one["sha256"] != two["sha256"]


def test_options_of_vllm_that_change_replies_are_known_and_those_of_speed_are_not() -> None:
    plain = known_identity(settings(backend="vllm", model="org/m"))
    assert known_identity(settings(backend="vllm", model="org/m", engine={"max_num_seqs": 3})) == plain
    assert known_identity(settings(backend="vllm", model="org/m", engine={"quantization": "fp8"})) != plain
    assert known_identity(settings(backend="vllm", model="org/n")) != plain


def test_recorded_replies_go_by_key_and_are_not_kept_again(tmp_path: Path) -> None:
    store = tmp_path / "store.jsonl"
    rows = [{"qid": qid, "phrases": [phrase]} for qid, phrase in (("1", "kiln"), ("2", "raku"))]
    store.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    generator = open_cached(settings(backend="recorded", replies=str(store)), tmp_path / "replies")
    replies = list(generator.generate([request("same", "1"), request("same", "2")]))
    assert [json.loads(reply.text)["phrases"] for reply in replies] == [["kiln"], ["raku"]]
    assert not (tmp_path / "replies").exists()
    generator.close()

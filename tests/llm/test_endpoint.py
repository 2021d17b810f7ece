"""The endpoint backend with the real client: against a scripted server over real sockets."""

from __future__ import annotations

import datetime as dt
import email.utils
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sira.errors import EnvironmentFault, InputError
from sira.llm import waiting
from sira.llm.base import Finish, Reply, Request, Tool, Usage
from sira.llm.endpoint import DEAD_AFTER, EndpointGenerator
from sira.llm.schema import phrases_schema
from sira.llm.settings import ModelSettings
from sira.llm.waiting import wait_s
from sira.records import Message, ToolCall, ToolTurn
from tests.llm.openai_server import DROP, HANG, Answer, OpenAIServer, completion, refusal

pytest.importorskip("openai", reason="wants the package openai")

Open = Callable[..., EndpointGenerator]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    running = OpenAIServer()
    yield running
    running.stop()


@pytest.fixture
def open_endpoint(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens endpoints of the server; afterwards no thread of theirs is left."""
    monkeypatch.setattr(waiting, "_FIRST_WAIT_S", 0.001)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    opened: list[EndpointGenerator] = []

    def open_(**settings: Any) -> EndpointGenerator:
        given = {"backend": "openai", "model": "served-model", "base_url": server.url, "max_retries": 2, **settings}
        opened.append(EndpointGenerator(ModelSettings(**given)))
        return opened[-1]

    yield open_
    for generator in opened:
        generator.close()
        generator.close()
    assert "sira-endpoint" not in {thread.name for thread in threading.enumerate()}


def settings(**fields: Any) -> ModelSettings:
    return ModelSettings(**fields)


def request(text: str, **fields: Any) -> Request:
    return Request(text, (Message("system", "s"), Message("user", text)), 64, **fields)


def ask(generator: EndpointGenerator, *texts: str) -> dict[str, Reply]:
    replies = list(generator.generate(request(text) for text in texts))
    assert len(replies) == len(texts)
    return {reply.key: reply for reply in replies}


def calls_of(server: OpenAIServer, text: str) -> int:
    return sum(call["messages"][-1]["content"] == text for call in server.calls)


def test_each_request_gets_the_reply_to_its_own_text(server: OpenAIServer, open_endpoint: Open) -> None:
    texts = [f"text {number}" for number in range(200)]
    replies = ask(open_endpoint(concurrency=7), *texts)
    assert {key: reply.text for key, reply in replies.items()} == {text: text for text in texts}
    assert sorted(call["messages"][1]["content"] for call in server.calls) == sorted(texts)


def test_no_more_calls_in_flight_than_the_settings_allow(server: OpenAIServer, open_endpoint: Open) -> None:
    server.together = threading.Barrier(4)  # no call is answered before four are open
    replies = ask(open_endpoint(concurrency=4), *map(str, range(16)))
    assert {reply.finish for reply in replies.values()} == {Finish.STOP}
    assert server.most_open == 4


def test_requests_are_drawn_as_there_is_room(server: OpenAIServer, open_endpoint: Open) -> None:
    drawn: list[int] = []

    def endless() -> Iterator[Request]:
        for number in range(10_000):
            drawn.append(number)
            yield request(str(number))

    replies = open_endpoint(concurrency=3).generate(endless())
    assert drawn == []
    for _ in range(10):
        next(replies)
    assert len(drawn) <= 13
    replies.close()  # type: ignore[attr-defined]
    assert len(server.calls) <= 13


def test_an_error_of_the_source_reaches_the_caller(open_endpoint: Open) -> None:
    def source() -> Iterator[Request]:
        yield request("a")
        raise InputError("line 2 is bad")

    with pytest.raises(InputError, match="line 2 is bad"):
        list(open_endpoint().generate(source()))


def test_closing_early_cancels_what_is_in_flight(server: OpenAIServer, open_endpoint: Open) -> None:
    server.answers = {str(number): [HANG] for number in range(1, 8)}
    generator = open_endpoint(concurrency=8)
    replies = generator.generate(request(str(number)) for number in range(8))
    assert next(replies).key == "0"
    replies.close()  # type: ignore[attr-defined]
    assert ask(generator, "after")["after"].text == "after"


def test_closing_the_endpoint_ends_an_open_iteration(server: OpenAIServer, open_endpoint: Open) -> None:
    server.answers["1"] = [HANG]
    generator = open_endpoint(concurrency=2)
    replies = generator.generate(map(request, "01"))
    assert next(replies).key == "0"
    generator.close()
    with pytest.raises(Exception, match="closed"):
        next(replies)
    with pytest.raises(Exception, match="closed"):
        list(generator.generate([request("a")]))


def test_the_body_of_a_call(server: OpenAIServer, open_endpoint: Open) -> None:
    generator = open_endpoint(
        temperature=0.25, top_p=0.9, top_k=20, min_p=0.1, repetition_penalty=1.1, extra_body={"priority": 3}
    )
    schema = phrases_schema(2)
    list(generator.generate([request("a", seed=7, schema=schema)]))
    assert server.calls == [
        {
            "model": "served-model",
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}],
            "max_tokens": 64,
            "temperature": 0.25,
            "seed": 7,
            "top_p": 0.9,
            "top_k": 20,
            "min_p": 0.1,
            "repetition_penalty": 1.1,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "phrases", "strict": True, "schema": schema},
            },
            "chat_template_kwargs": {"enable_thinking": False},
            "priority": 3,
        }
    ]
    assert server.keys == {"Bearer none"}


@pytest.mark.parametrize(("structured", "expected"), [("json_object", {"type": "json_object"}), ("off", None)])
def test_less_than_a_schema(server: OpenAIServer, open_endpoint: Open, structured: str, expected: Any) -> None:
    list(open_endpoint(structured=structured).generate([request("a", schema=phrases_schema(2))]))
    assert server.calls[0].get("response_format") == expected


def test_the_extra_body_stands_in_place_of_ours(server: OpenAIServer, open_endpoint: Open) -> None:
    ask(open_endpoint(extra_body={"chat_template_kwargs": {"thinking": False}, "max_completion_tokens": 9}), "a")
    body = server.calls[0]
    assert (body["chat_template_kwargs"], body["max_completion_tokens"]) == ({"thinking": False}, 9)
    assert "max_tokens" not in body
    with pytest.raises(InputError, match="'stream' is set by sira"):
        open_endpoint(extra_body={"stream": True})


def test_tools_go_out_and_their_calls_come_back(server: OpenAIServer, open_endpoint: Open) -> None:
    tool = Tool("search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}})
    calls = [
        {"id": "a", "type": "function", "function": {"name": "search", "arguments": '{"query": "x"}'}},
        {"type": "function", "function": {"name": "search", "arguments": {"query": "é"}}},  # no id, no text
        {"id": "a", "function": {"name": "search", "arguments": None}},  # an id that stands twice
        {"id": "call_4", "function": {"name": "search", "arguments": "{}"}},
        {"id": "call_4", "function": {"name": "search", "arguments": "{}"}},  # whose number is taken
        {"id": "b", "function": {"arguments": "{}"}},
        "nonsense",
    ]
    server.answers = {"ask": [Answer(completion(None, "tool_calls", tool_calls=calls, reasoning="why"))]}
    endpoint = open_endpoint()
    (reply,) = endpoint.generate([request("ask", tools=(tool,), stop=("END",))])
    assert reply == Reply(
        "ask",
        "",
        tool_calls=(
            ToolCall("a", "search", '{"query": "x"}'),
            ToolCall("call_1", "search", '{"query": "é"}'),
            ToolCall("call_2", "search", ""),
            ToolCall("call_4", "search", "{}"),
            ToolCall("call_5", "search", "{}"),
        ),
        reasoning="why",
    )
    assert server.calls[0]["stop"] == ["END"]
    assert [one["function"]["name"] for one in server.calls[0]["tools"]] == ["search"]
    turns = (ToolTurn("assistant", "", reply.tool_calls[:1]), ToolTurn("tool", "found", tool_call_id="a"))
    list(endpoint.generate([Request("next", turns, 8, tools=(tool,))]))
    assert server.calls[1]["messages"] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "search", "arguments": '{"query": "x"}'}}
            ],
        },
        {"role": "tool", "content": "found", "tool_call_id": "a"},
    ]


def test_a_call_that_is_short_of_time_ends_in_time(server: OpenAIServer, open_endpoint: Open) -> None:
    server.answers = {"slow": [HANG], "broken": [Answer("", 500)]}
    endpoint = open_endpoint(max_retries=50)
    start = time.monotonic()
    (slow,) = endpoint.generate([request("slow", timeout_s=0.3)])
    (broken,) = endpoint.generate([request("broken", timeout_s=0.3)])
    (good,) = endpoint.generate([request("good", timeout_s=5)])
    assert time.monotonic() - start < 5
    assert (slow.finish, slow.detail) == (Finish.ERROR, "no reply within 0.3 s")
    assert broken.finish is Finish.ERROR
    assert good.text == "good"


def test_usage_and_the_reasons_to_stop(server: OpenAIServer, open_endpoint: Open) -> None:
    usage = {"prompt_tokens": 30, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 16}}
    server.answers = {
        "usage": [Answer(completion("x", usage=usage))],
        "wrong counts": [Answer(completion("x", usage={"prompt_tokens": -1, "completion_tokens": True}))],
        "thought": [Answer(completion("x", reasoning_content="hm"))],
        "length": [Answer(completion('{"phrases": ["a', "length"))],
        "filtered": [Answer(completion(None, "content_filter"))],
        "refused": [Answer(completion(None, refusal="I\ncannot"))],
        "parts": [Answer(completion([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))],  # type: ignore[arg-type]
        "surrogate": [Answer('{"choices": [{"message": {"content": "a\\ud800b"}, "finish_reason": "stop"}]}')],
        "aborted": [Answer(completion("half", "abort"))],
    }
    replies = ask(open_endpoint(), *server.answers)
    assert replies == {
        "usage": Reply("usage", "x", usage=Usage(30, 4, 16)),
        "wrong counts": Reply("wrong counts", "x"),
        "thought": Reply("thought", "x", reasoning="hm"),
        "length": Reply("length", '{"phrases": ["a', Finish.LENGTH),
        "filtered": Reply("filtered", "", Finish.REFUSED, detail="stopped by the endpoint's content filter"),
        "refused": Reply("refused", "", Finish.REFUSED, detail="I\\ncannot"),
        "parts": Reply("parts", "ab"),
        "surrogate": Reply("surrogate", "a\ufffdb"),
        "aborted": Reply("aborted", "half", Finish.ERROR, detail="the endpoint broke off: finish_reason 'abort'"),
    }


TOO_LONG = {
    "openai": refusal(400, "This model's maximum context length is 4096 tokens.", code="context_length_exceeded"),
    "vllm": refusal(400, "You passed 9000 input tokens", type="BadRequestError", param="input_tokens", code=400),
    "vllm max_tokens": refusal(
        400,
        "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 "
        "tokens, which is not supported",
    ),
    "llama.cpp": refusal(400, "request (9031 tokens) exceeds the size", type="exceed_context_size_error", n_ctx=4096),
    "gateway": Answer("Request Entity Too Large", 413),
}


def test_a_row_that_fails_costs_only_itself(server: OpenAIServer, open_endpoint: Open) -> None:
    wrong = completion("a")
    wrong["choices"] *= 2
    good = [str(number) for number in range(5)]
    bad = {
        "odd": refusal(400, "something else"),
        "two choices": Answer(wrong),
        "no choices": Answer(completion("a") | {"choices": []}),
        "no completion": Answer({"object": "list"}),
        "a list": Answer([1]),
        "a number": Answer(7),
        "choices of another type": Answer({"choices": "none"}),
        "a choice of another type": Answer({"choices": [[]]}),
        "a message of another type": Answer({"choices": [{"message": ["x"]}]}),
        "an error of another type": Answer({"error": [[1]]}),
        "an error nested deeply": Answer('{"error": ' + "[" * 100_000, 400),
        "an error in a good response": Answer({"error": {"message": "upstream gone", "code": 502}}),
    }
    server.answers = {name: [answer] for name, answer in (bad | TOO_LONG).items()}
    replies = ask(open_endpoint(), *good, *server.answers)
    assert {key: replies[key].finish for key in good} == dict.fromkeys(good, Finish.STOP)
    assert {replies[key].finish for key in TOO_LONG} == {Finish.TOO_LONG}
    assert {key: (replies[key].finish, replies[key].detail) for key in bad} == {
        "odd": (Finish.ERROR, "HTTP 400: something else"),
        "two choices": (Finish.ERROR, "the reply has 2 choices where 1 was asked for"),
        "no choices": (Finish.ERROR, "the reply has 0 choices where 1 was asked for"),
        "no completion": (Finish.ERROR, "the reply is no chat completion: it has no `choices`"),
        "a list": (Finish.ERROR, "the reply is no chat completion: no JSON object"),
        "a number": (Finish.ERROR, "the reply is no chat completion: no JSON object"),
        "choices of another type": (Finish.ERROR, "the reply is no chat completion: it has no `choices`"),
        "a choice of another type": (Finish.ERROR, "the reply is no chat completion: its choice has no `message`"),
        "a message of another type": (Finish.ERROR, "the reply is no chat completion: its choice has no `message`"),
        "an error of another type": (Finish.ERROR, "[[1]]"),
        "an error nested deeply": (Finish.ERROR, 'HTTP 400: {"error": ' + "[" * 290),
        "an error in a good response": (Finish.ERROR, "upstream gone"),
    }
    assert len(server.calls) - calls_of(server, "Hello") == len(good) + len(bad) + len(TOO_LONG)


def test_wrong_types_in_a_completion_are_passed_over(server: OpenAIServer, open_endpoint: Open) -> None:
    odd = {
        "finish": completion("a", finish={"reason": "stop"}),  # type: ignore[arg-type]
        "usage": completion("a", usage=[1]),
        "details": completion("a", usage={"prompt_tokens": "9", "prompt_tokens_details": "none"}),
        "parts": completion([7, {"text": 8}, {"text": "a"}]),  # type: ignore[arg-type]
        "model": completion("a") | {"model": {"name": "m"}, "system_fingerprint": 7},
    }
    server.answers = {key: [Answer(body)] for key, body in odd.items()}
    server.answers["content"] = [Answer(completion({"text": "a"}))]  # type: ignore[arg-type]
    server.answers["refusal"] = [Answer(completion(None, refusal=[["no"]]))]
    replies = ask(open_endpoint(), *server.answers)
    assert replies.pop("content") == Reply("content", "")
    assert replies.pop("refusal") == Reply("refusal", "", Finish.REFUSED, detail='[["no"]]')
    assert replies == {key: Reply(key, "a") for key in odd}


@pytest.mark.parametrize(
    "body",
    [7, [], {"data": {}}, {"data": [7, {"id": 7}]}, "[" * 100_000,
     {"data": [{"id": "m", "max_model_len": "4096", "meta": [], "root": 7}]},
     {"data": [{"id": "m", "max_model_len": True, "meta": {"n_ctx": -1, "size": [1]}}]}],
)  # fmt: skip
def test_a_list_of_models_of_wrong_types_tells_nothing(server: OpenAIServer, open_endpoint: Open, body: Any) -> None:
    server.models = Answer(body)
    if isinstance(body, str):
        with pytest.raises(EnvironmentFault, match=r"no server answers here \(the body of the reply is no JSON\)"):
            open_endpoint(model="m")
    else:
        generator = open_endpoint(model="m")
        assert (generator.identity, generator.context_tokens) == ({"model": "m"}, None)


def test_half_a_surrogate_pair_in_a_prompt_costs_only_its_row(open_endpoint: Open) -> None:
    requests = [request("a"), Request("bad", (Message("user", "x\ud800"),), 8)]
    replies = {reply.key: reply for reply in open_endpoint().generate(requests)}
    assert replies["a"].text == "a"
    assert (replies["bad"].finish, replies["bad"].detail) == (Finish.ERROR, "the prompt holds half a surrogate pair")


ONCE = {
    "429": Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "0"}),
    "503": Answer("loading", 503),
    "409": refusal(409, "conflict"),
    "408": refusal(408, "timeout"),
    "dropped": DROP,
    "cut JSON": Answer('{"choices": [{"mess'),
    "nested deeply": Answer('{"choices": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    "hang": HANG,
}


def test_passing_faults_are_tried_again(server: OpenAIServer, open_endpoint: Open) -> None:
    server.answers = {name: [answer, Answer(completion("at last"))] for name, answer in ONCE.items()}
    replies = ask(open_endpoint(timeout_s=1), *ONCE)
    assert {(reply.text, reply.finish) for reply in replies.values()} == {("at last", Finish.STOP)}
    assert sorted(call["messages"][1]["content"] for call in server.calls) == sorted([*ONCE, *ONCE])


def test_after_the_last_try_the_row_is_an_error(server: OpenAIServer, open_endpoint: Open) -> None:
    server.answers = {name: [answer] for name, answer in ONCE.items()}
    replies = ask(open_endpoint(timeout_s=2), *ONCE, "good")
    assert {key: reply.detail for key, reply in replies.items() if key != "dropped"} == {
        "429": "HTTP 429: slow down",
        "503": "HTTP 503: loading",
        "409": "HTTP 409: conflict",
        "408": "HTTP 408: timeout",
        "cut JSON": "the body of the reply is no JSON",
        "nested deeply": "the body of the reply is no JSON",
        "hang": "no reply within 2 s",
        "good": None,
    }
    assert replies["dropped"].detail is not None
    assert replies["dropped"].detail.startswith("connection failed: ")
    assert {key for key, reply in replies.items() if reply.finish is Finish.ERROR} == set(ONCE)
    # The others may end before the server has read them.
    told = ("429", "503", "409", "408", "cut JSON", "nested deeply")
    assert {key: calls_of(server, key) for key in told} == dict.fromkeys(told, 3)
    assert calls_of(server, "good") == 1


def test_retry_after_decides_the_wait(
    server: OpenAIServer, open_endpoint: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = open_endpoint()
    monkeypatch.setattr(waiting, "_FIRST_WAIT_S", 1e6)
    monkeypatch.setattr(waiting, "_LONGEST_BACKOFF_S", 1e6)
    server.answers["a"] = [ONCE["429"], Answer(completion("at last"))]
    assert ask(generator, "a")["a"].text == "at last"


def test_the_wait_before_the_next_try() -> None:
    assert wait_s(0, {"retry-after": "7"}) == 7.0
    assert wait_s(3, {"retry-after": "0.5"}) == 0.5
    assert wait_s(0, {"retry-after": "-1"}) == 0.0
    assert wait_s(0, {"retry-after": "3600"}) == 120.0
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=60)
    assert 50 < wait_s(0, {"retry-after": email.utils.format_datetime(soon)}) <= 60
    assert 0.375 <= wait_s(0, {}) <= 0.5
    assert 3 <= wait_s(3, {"retry-after": "soon"}) <= 4
    assert wait_s(5000, {}) <= 8
    assert wait_s(0, {"retry-after": "nan"}) == 0.0
    assert wait_s(5000, {"retry-after": "Mon, 01 Jan 0001 00:00:00 -0000"}) <= 8


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        (refusal(401, "Incorrect API key provided: sk-secret."), "set the environment variable SIRA_TEST_KEY to a key"),
        (refusal(404, "The model `m` does not exist."), "check `model` and `base_url`"),
        (refusal(402, "Insufficient Balance"), "no credit left"),
        (refusal(429, "You exceeded your current quota", code="insufficient_quota"), "no credit left"),
    ],
)
def test_what_ends_the_job(
    server: OpenAIServer, open_endpoint: Open, monkeypatch: pytest.MonkeyPatch, answer: Answer, remedy: str
) -> None:
    monkeypatch.setenv("SIRA_TEST_KEY", "sk-secret")
    server.answers["b"] = [answer]
    replies = open_endpoint(api_key_env="SIRA_TEST_KEY", concurrency=1).generate(map(request, "abc"))
    assert next(replies).text == "a"
    with pytest.raises(EnvironmentFault) as caught:
        next(replies)
    message = str(caught.value)
    assert message.startswith(f"{server.url}, model 'served-model': HTTP {answer.status}: ")
    assert remedy in message
    assert "secret" not in message
    assert "\n" not in message
    assert server.keys == {"Bearer sk-secret"}
    assert [call["messages"][1]["content"] for call in server.calls] == ["a", "b"]


@pytest.mark.parametrize("firewall", [Answer("Request blocked by policy", 403), Answer("Not Found", 404)])
def test_a_firewall_that_blocks_one_document_costs_only_its_row(
    server: OpenAIServer, open_endpoint: Open, firewall: Answer
) -> None:
    server.answers["bad"] = [firewall]
    for texts in (["bad", "a", "b"], ["a", "bad", "b"], ["a", "b", "bad"], ["bad"]):
        generator = open_endpoint(concurrency=1)
        replies = ask(generator, *texts)
        assert replies.pop("bad") == Reply("bad", "", Finish.ERROR, detail=f"HTTP {firewall.status}: {firewall.body}")
        assert {reply.text for reply in replies.values()} == set(texts) - {"bad"}


@pytest.mark.parametrize("count", [1, DEAD_AFTER, DEAD_AFTER + 5])
def test_a_key_without_access_ends_the_job_without_a_row(server: OpenAIServer, open_endpoint: Open, count: int) -> None:
    texts = [str(number) for number in range(count)]
    server.answers = {text: [refusal(403, "no access")] for text in [*texts, "Hello"]}
    failed: list[Reply] = []
    with pytest.raises(EnvironmentFault, match="HTTP 403: no access; set the environment variable OPENAI_API_KEY"):
        failed.extend(open_endpoint(concurrency=1).generate(map(request, texts)))
    assert failed == []
    assert len(server.calls) == min(count + 1, DEAD_AFTER)


def test_a_key_that_loses_access_ends_the_job(server: OpenAIServer, open_endpoint: Open) -> None:
    texts = [str(number) for number in range(40)]
    server.answers = {text: [refusal(403, "no access")] for text in texts[5:]}
    got: list[Reply] = []
    with pytest.raises(EnvironmentFault, match="HTTP 403: no access"):
        got.extend(open_endpoint(concurrency=1).generate(map(request, texts)))
    assert [reply.text for reply in got] == texts[:5]
    assert len(server.calls) == 5 + DEAD_AFTER


def test_a_document_that_a_message_quotes_does_not_end_the_job(server: OpenAIServer, open_endpoint: Open) -> None:
    said = 'cannot read "insufficient_quota", an error whose code is insufficient_quota'
    server.answers["bad"] = [refusal(400, said, code="bad_request")]
    assert ask(open_endpoint(), "bad")["bad"].detail == f"HTTP 400: {said}"


def test_a_job_stops_when_the_server_has_gone(server: OpenAIServer, open_endpoint: Open) -> None:
    replies = open_endpoint(max_retries=0, concurrency=1).generate(request(str(number)) for number in range(1000))
    assert next(replies).text == "0"
    server.stop()
    failed: list[Reply] = []
    with pytest.raises(EnvironmentFault, match=r"20 requests in a row got no answer .*run the same command again"):
        failed.extend(replies)
    assert failed == []


DYING = [Answer("busy", 503), DROP, Answer("no JSON"), Answer({"error": {"message": "gone"}})]


@pytest.mark.parametrize("dying", DYING)
def test_a_server_that_goes_at_the_end_leaves_no_rows_of_errors(
    server: OpenAIServer, open_endpoint: Open, dying: Answer
) -> None:
    server.answers = {text: [dying] for text in ("bad 1", "bad 2", "Hello")}
    got: list[Reply] = []
    with pytest.raises(EnvironmentFault, match=r"the last requests \(2\) got no answer, nor did a short one \(.*again"):
        got.extend(open_endpoint(max_retries=0, concurrency=1).generate(map(request, ["good", "bad 1", "bad 2"])))
    assert [reply.text for reply in got] == ["good"]


@pytest.mark.parametrize("failing", DYING)
def test_a_failure_is_told_once_the_server_has_answered(
    server: OpenAIServer, open_endpoint: Open, failing: Answer
) -> None:
    server.answers = {text: [failing] for text in ("bad 1", "bad 2")}
    order = ["a", "bad 1", "bad 2", "b", "c"]
    replies = list(open_endpoint(max_retries=0, concurrency=1).generate(map(request, order)))
    assert [reply.key for reply in replies] == order
    assert [reply.finish is Finish.ERROR for reply in replies] == [False, True, True, False, False]
    assert calls_of(server, "Hello") == 0


def test_calls_of_one_request_do_not_add_up_while_the_server_lives(server: OpenAIServer, open_endpoint: Open) -> None:
    server.answers["bad"] = [Answer("busy", 503)]
    generator = open_endpoint(max_retries=0)
    for _ in range(DEAD_AFTER + 1):
        assert ask(generator, "bad")["bad"].detail == "HTTP 503: busy"
    assert server.calls[-1]["max_tokens"] == 1


def test_single_failures_do_not_add_up(server: OpenAIServer, open_endpoint: Open) -> None:
    texts = [f"{'bad' if number % 20 else 'good'} {number}" for number in range(100)]
    server.answers = {text: [Answer("busy", 503)] for text in texts if text.startswith("bad")}
    replies = ask(open_endpoint(max_retries=0, concurrency=1), *texts)
    assert sum(reply.finish is Finish.ERROR for reply in replies.values()) == 95


def test_no_server_at_the_address(server: OpenAIServer, open_endpoint: Open) -> None:
    server.stop()
    with pytest.raises(
        EnvironmentFault, match=rf"{server.url}: no server answers here \(connection failed: .*start it"
    ):
        open_endpoint()


def test_a_wrong_key_is_told_before_the_first_call(server: OpenAIServer, open_endpoint: Open) -> None:
    server.models = refusal(401, "bad key")
    with pytest.raises(EnvironmentFault, match="HTTP 401: bad key; set the environment variable OPENAI_API_KEY"):
        open_endpoint()


def test_a_key_is_wanted_for_hosted_services(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(EnvironmentFault, match=r"^https://api\.openai\.com/v1: no key: set .* OPENAI_API_KEY"):
        EndpointGenerator(settings(backend="openai", model="m"))


def test_a_field_that_the_server_does_not_know_is_left_out_from_then_on(
    server: OpenAIServer, open_endpoint: Open, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers["a"] = [
        refusal(400, "Unrecognized request argument supplied: chat_template_kwargs"),
        Answer({"detail": [{"type": "extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra inputs"}]}, 422),
        refusal(400, "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
        refusal(400, "Unsupported value: 'temperature' does not support 0.4 with this model.", param="temperature"),
        Answer(completion("at last")),
    ]
    generator = open_endpoint(top_k=5, concurrency=1, max_retries=0)
    with caplog.at_level(logging.WARNING, "sira"):
        assert [reply.text for reply in generator.generate(map(request, "ab"))] == ["at last", "b"]
    assert len(server.calls) == 6
    assert sorted(server.calls[-1]) == ["max_completion_tokens", "messages", "model", "seed"]
    assert server.calls[-1]["max_completion_tokens"] == 64
    assert generator.facts["left_out"] == ["chat_template_kwargs", "max_tokens", "temperature", "top_k"]
    assert len(caplog.records) == 4


ECHO = "the text 'extra low temperature firing, seed unknown' is refused: not supported"


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (ECHO, {}),
        ("unsupported text: glaze at 'max temperature'", {}),
        ("unsupported content: temperature", {}),
        ("The word 'temperature' is not allowed here", {"param": "messages[0].content"}),
    ],
)
def test_words_of_the_document_in_a_message_leave_no_field_out(
    server: OpenAIServer, open_endpoint: Open, message: str, fields: dict[str, str]
) -> None:
    server.answers["bad"] = [refusal(400, message, **fields)]
    generator = open_endpoint()
    assert ask(generator, "bad")["bad"].detail == f"HTTP 400: {message}"
    assert generator.facts["left_out"] == []


def test_what_the_server_took_once_is_not_left_out(server: OpenAIServer, open_endpoint: Open) -> None:
    said = "unsupported text: set 'temperature' to 0"
    server.answers["bad"] = [refusal(400, said)]
    server.answers["schema"] = [refusal(400, "unsupported text: `response_format`")]
    generator = open_endpoint(concurrency=1)
    replies = [request("a"), request("bad"), request("schema", schema=phrases_schema(2)), request("b")]
    assert [reply.finish for reply in generator.generate(replies)] == [
        Finish.STOP, Finish.ERROR, Finish.ERROR, Finish.STOP
    ]  # fmt: skip
    assert generator.facts["left_out"] == []
    assert server.calls[-1]["temperature"] == 0.4


@pytest.mark.parametrize(
    "answer",
    [
        refusal(400, "property 'top_k' is unsupported"),
        refusal(400, 'Invalid JSON payload received. Unknown name "top_k": Cannot find field.'),
        refusal(400, "Unknown parameter: `top_k`"),
        refusal(400, "this one is not supported", param="top_k"),
        Answer({"error": {"error": {"message": "not permitted", "param": "body.top_k"}}}, 400),
        Answer({"detail": [{"type": "extra_forbidden", "loc": ["body", "top_k"]}]}, 422),
    ],
)
def test_the_ways_in_which_servers_name_a_field(server: OpenAIServer, open_endpoint: Open, answer: Answer) -> None:
    server.answers["a"] = [answer, Answer(completion("at last"))]
    generator = open_endpoint(top_k=5)
    assert ask(generator, "a")["a"].text == "at last"
    assert generator.facts["left_out"] == ["top_k"]


def test_a_field_that_the_user_set_is_not_left_out(server: OpenAIServer, open_endpoint: Open) -> None:
    server.answers["a"] = [refusal(400, "Unknown parameter: 'top_k'")]
    reply = ask(open_endpoint(extra_body={"top_k": 5}), "a")["a"]
    assert (reply.finish, reply.detail) == (Finish.ERROR, "HTTP 400: Unknown parameter: 'top_k'")


def test_a_bad_value_is_no_unknown_field(server: OpenAIServer, open_endpoint: Open) -> None:
    server.answers["a"] = [refusal(400, "temperature must be at most 2", param="temperature")]
    generator = open_endpoint(temperature=3)
    assert ask(generator, "a")["a"].detail == "HTTP 400: temperature must be at most 2"
    assert generator.facts["left_out"] == []


def test_a_server_without_schemas_ends_the_job_with_the_choice(server: OpenAIServer, open_endpoint: Open) -> None:
    server.answers["a"] = [refusal(400, "This response_format type is unsupported")]
    with pytest.raises(EnvironmentFault, match=r'set structured = "json_object" or "off" in \[model\]'):
        list(open_endpoint().generate([request("a", schema=phrases_schema(2))]))


def test_identity_is_the_model_and_facts_tell_the_place(server: OpenAIServer, open_endpoint: Open) -> None:
    generator = open_endpoint(revision="r1", base_url=server.url.replace("//", "//user:word@"))
    ask(generator, "a")
    assert generator.identity == {"model": "served-model", "revision": "r1"}
    assert (generator.facts["backend"], generator.facts["address"]) == ("openai", server.url)
    assert (generator.facts["server"], generator.facts["answered_by"]) == ("test-server", ["served-model"])
    assert (generator.context_tokens, generator.tokenizer, generator.pending) == (4096, None, None)
    assert open_endpoint(context_tokens=100).context_tokens == 100


def test_the_models_that_servers_list(server: OpenAIServer, open_endpoint: Open) -> None:
    meta = {"n_ctx": 2048, "n_params": 134515008, "size": 96576768, "ftype": "Q4_1", "n_vocab": 49152}
    server.models = Answer({"data": [{"id": "/srv/models/small.gguf", "meta": meta}]})
    llama = open_endpoint(model="")
    assert llama.identity == {"model": "small.gguf", "n_params": 134515008, "size": 96576768, "ftype": "Q4_1"}
    assert llama.context_tokens == 2048
    ask(llama, "a")
    assert server.calls[-1]["model"] == "/srv/models/small.gguf"
    server.models = Answer({"data": [{"id": "alias", "root": "/scratch/7/Qwen3-8B", "max_model_len": 32768}]})
    assert open_endpoint(model="alias").identity == {"model": "alias", "root": "Qwen3-8B"}
    server.models = Answer({"data": [{"id": "a"}, {"id": "b"}]})
    assert open_endpoint(model="c").identity == {"model": "c"}
    with pytest.raises(InputError, match=r"which model\? .*\(served: a, b\)"):
        open_endpoint(model="")
    server.models = Answer("Not Found", 404)
    assert open_endpoint(model="c").identity == {"model": "c"}
    with pytest.raises(InputError, match=r"which model\? .*lists none"):
        open_endpoint(model="")


def test_a_tokenizer_file_counts_and_cuts(open_endpoint: Open, tmp_path: Any) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="wants the package tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=260, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator(["kiln kiln"], trainer)
    made.save(str(tmp_path / "tokenizer.json"))
    tokenizer = open_endpoint(tokenizer=str(tmp_path)).tokenizer
    assert tokenizer is not None
    one, three = (Message("user", "z"),), (Message("user", "zzz"),)
    assert tokenizer.count(three) - tokenizer.count(one) == 2
    assert tokenizer.cut("kiln", 100) == "kiln"
    assert [tokenizer.cut("z界z", tokens) for tokens in range(6)] == ["", "z", "z", "z", "z界", "z界z"]
    with pytest.raises(InputError, match="there is no such file"):
        open_endpoint(tokenizer=str(tmp_path / "absent.json"))
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InputError, match="no tokenizer"):
        open_endpoint(tokenizer=str(tmp_path / "bad.json"))

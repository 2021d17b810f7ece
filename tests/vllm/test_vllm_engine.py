"""The real vLLM, on a CPU, with a tiny model of random weights: whatever it says, it must say it in the right form."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sira.errors import EnvironmentFault, InputError
from sira.llm import Finish, ModelSettings, Reply, Request
from sira.llm.model_files import fingerprint_of
from sira.llm.schema import phrases_schema, worst_case_tokens
from sira.llm.vllm_engine import WINDOW_OF_BATCHES, VllmGenerator
from sira.records import Message
from tests.vllm.conftest import needs_vllm, start
from tests.vllm.tiny_model import CONTEXT

pytestmark = [needs_vllm, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # torch and vLLM warn of themselves

SYSTEM = Message("system", "Propose search phrases that the document lacks.")
SHORT = phrases_schema(3, 12)


def request(key: str, text: str = "kiln", max_tokens: int = 8, **more: Any) -> Request:
    return Request(key, (SYSTEM, Message("user", text)), max_tokens, **more)


def answers(engine: VllmGenerator, requests: list[Request]) -> dict[str, Reply]:
    """The replies by key; each request must have exactly one."""
    replies = list(engine.generate(iter(requests)))
    assert sorted(reply.key for reply in replies) == sorted(request.key for request in requests)
    return {reply.key: reply for reply in replies}


def prompt_of(engine: VllmGenerator, tokens: int) -> str:
    """A text that makes the whole prompt exactly so long: one letter more is at most one token more."""
    text = ""
    while (count := engine.tokenizer.count((SYSTEM, Message("user", text)))) < tokens:
        text += " kiln" * max(1, (tokens - count) // 8)
    while engine.tokenizer.count((SYSTEM, Message("user", text))) > tokens:
        text = text[:-1]
    assert engine.tokenizer.count((SYSTEM, Message("user", text))) == tokens
    return text


def test_a_hundred_structured_requests_give_a_hundred_valid_replies(engine: VllmGenerator) -> None:
    schema, bound = phrases_schema(10), 400
    requests = [request(f"d{n}", f"kiln {n}", bound, seed=n, schema=schema) for n in range(100)]
    replies = answers(engine, requests)
    validate = import_module("jsonschema").validate
    for reply in replies.values():
        assert reply.finish is Finish.STOP, reply
        validate(json.loads(reply.text), schema)
        assert 0 < reply.usage.completion_tokens <= bound
    assert len({reply.text for reply in replies.values()}) > 1


def test_worst_case_tokens_bound_every_reply(engine: VllmGenerator) -> None:
    bound = worst_case_tokens(3, 12)
    requests = [request(f"d{n}", max_tokens=bound, seed=n, schema=SHORT) for n in range(20)]
    assert {reply.finish for reply in answers(engine, requests).values()} == {Finish.STOP}


def test_without_a_schema_text_is_free_and_ends_at_max_tokens(engine: VllmGenerator) -> None:
    reply = answers(engine, [request("d1", max_tokens=5, seed=3)])["d1"]
    assert (reply.finish, reply.usage.completion_tokens) == (Finish.LENGTH, 5)
    assert not reply.text.startswith("{")


@pytest.mark.parametrize(
    ("tokens", "max_tokens", "finish"),
    [
        (CONTEXT - 8, 8, Finish.LENGTH),
        (CONTEXT - 8 + 1, 8, Finish.TOO_LONG),
        (CONTEXT - 1, 1, Finish.LENGTH),
        (CONTEXT - 1, 2, Finish.TOO_LONG),
        (CONTEXT, 1, Finish.TOO_LONG),
    ],
)
def test_prompt_and_reply_together_fill_the_context_and_no_more(
    engine: VllmGenerator, tokens: int, max_tokens: int, finish: Finish
) -> None:
    long = request("long", prompt_of(engine, tokens), max_tokens, seed=1)
    reply = answers(engine, [request("short", seed=1), long, request("after", seed=1)])["long"]
    assert reply.finish is finish
    if finish is Finish.TOO_LONG:
        assert reply.detail == (
            f"{tokens} tokens of the prompt and {max_tokens} of the reply exceed the context of {CONTEXT}"
        )
    else:
        assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (tokens, max_tokens)


def test_a_prompt_of_50000_tokens_costs_only_its_own_row(engine: VllmGenerator) -> None:
    requests = [request("d1"), request("d2", "kiln " * 50_000), request("d3")]
    replies = answers(engine, requests)
    assert [replies[key].finish for key in ("d1", "d2", "d3")] == [Finish.LENGTH, Finish.TOO_LONG, Finish.LENGTH]


def test_what_the_engine_or_the_tokenizer_refuses_costs_only_its_own_row(engine: VllmGenerator) -> None:
    unknown_schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    requests = [
        request("good"),
        request("no tokens", max_tokens=0),
        request("schema", schema=unknown_schema),
        request("surrogate", "\ud800"),
        request("good too"),
    ]
    replies = answers(engine, requests)
    assert {key: reply.finish for key, reply in replies.items()} == {
        "good": Finish.LENGTH,
        "no tokens": Finish.ERROR,
        "schema": Finish.ERROR,
        "surrogate": Finish.ERROR,
        "good too": Finish.LENGTH,
    }
    details = {key: reply.detail or "" for key, reply in replies.items()}
    assert details["no tokens"].startswith("vLLM refuses the request: max_tokens must be at least 1")
    assert "uniqueItems" in details["schema"]
    assert details["surrogate"].startswith("the prompt cannot be rendered: ")
    assert not any("\n" in detail for detail in details.values())


def test_seeded_prompts_that_fill_more_than_one_batch_are_answered(engine: VllmGenerator) -> None:
    # On a CPU a prompt taken in two pieces would end the engine.
    text, batch = prompt_of(engine, CONTEXT - 8), engine._scheduler_config.max_num_batched_tokens
    requests = [request(f"d{n}", f"{n} {text}"[: len(text)], 4, seed=n) for n in range(batch // CONTEXT + 4)]
    assert {reply.finish for reply in answers(engine, requests).values()} == {Finish.LENGTH}


def test_one_seed_gives_one_text_and_another_seed_another(engine: VllmGenerator) -> None:
    requests = [request(f"{seed} {copy}", seed=seed, max_tokens=20) for copy in "ab" for seed in range(4)]
    texts = {key: reply.text for key, reply in answers(engine, requests).items()}
    assert all(texts[f"{seed} a"] == texts[f"{seed} b"] for seed in range(4))
    assert len({texts[f"{seed} a"] for seed in range(4)}) == 4
    again = {key: reply.text for key, reply in answers(engine, requests[::-1]).items()}
    assert again == texts


def test_thinking_off_stands_in_the_rendered_prompt(engine: VllmGenerator, tiny_model: Path) -> None:
    from sira.llm.chat_tokenizer import ChatTokenizer

    messages = (SYSTEM, Message("user", "kiln"))
    expected = (
        f"<|im_start|>system\n{SYSTEM.content}<|im_end|>\n<|im_start|>user\nkiln<|im_end|>\n<|im_start|>assistant\n"
    )
    raw = import_module("transformers").AutoTokenizer.from_pretrained(tiny_model)
    off, on = ChatTokenizer(raw, thinking=False), ChatTokenizer(raw, thinking=True)
    assert off.render(messages) == expected + "<think>\n\n</think>\n\n"
    assert on.render(messages) == expected
    assert off.encode(messages) == raw(expected + "<think>\n\n</think>\n\n", add_special_tokens=False)["input_ids"]
    assert engine.tokenizer.count(messages) == off.count(messages) > on.count(messages)
    without_switch = ChatTokenizer(raw, thinking=False, template="{{ messages[-1].content }}")
    assert without_switch.render(messages) == "kiln"


def test_the_prefix_that_prompts_share_comes_from_the_cache(engine: VllmGenerator) -> None:
    system = Message("system", "On phrases. " * 60)
    requests = [Request(f"d{n}", (system, Message("user", f"kiln {n}")), 4) for n in range(3)]
    first = answers(engine, requests[:1])["d0"].usage
    later = answers(engine, requests[1:])
    assert first.cached_tokens == 0
    assert first.prompt_tokens == engine.tokenizer.count(requests[0].messages) > 128
    for reply in later.values():
        assert 128 <= reply.usage.cached_tokens < reply.usage.prompt_tokens
        assert reply.usage.cached_tokens % 128 == 0  # vLLM's block on a CPU


def test_requests_are_drawn_as_there_is_room(engine: VllmGenerator) -> None:
    drawn = 0

    def source() -> Iterator[Request]:
        nonlocal drawn
        for number in range(500):
            drawn += 1
            yield request(str(number), max_tokens=2)

    window = WINDOW_OF_BATCHES * engine.facts["max_num_seqs"]
    replies = 0
    for _ in engine.generate(source()):
        replies += 1
        assert drawn - replies <= window
    assert (drawn, replies) == (500, 500)


def test_a_stream_closed_early_leaves_the_engine_usable(engine: VllmGenerator) -> None:
    held = engine._llm.llm_engine
    stream = engine.generate(request(str(n), max_tokens=4 + 50 * (n > 0)) for n in range(30))
    assert next(stream).key == "0"
    assert held.has_unfinished_requests()
    stream.close()
    assert not held.has_unfinished_requests()
    assert list(answers(engine, [request("after")])) == ["after"]


def test_a_second_stream_beside_the_first_is_refused(engine: VllmGenerator) -> None:
    first = engine.generate([request("a"), request("b", max_tokens=30)])
    next(first)
    with pytest.raises(InputError, match="already answers another stream"):
        next(engine.generate([request("c")]))
    assert [reply.key for reply in first] == ["b"]


def test_an_empty_stream_and_two_requests_of_one_key(engine: VllmGenerator) -> None:
    assert list(engine.generate([])) == []
    assert [reply.key for reply in engine.generate([request("d"), request("d")])] == ["d", "d"]
    assert engine.pending is None


def test_identity_and_facts(engine: VllmGenerator, tiny_model: Path) -> None:
    identity = engine.identity
    files = identity["files"]
    assert identity == {
        "model": tiny_model.name,
        "files": files,
        "dtype": "float32",
        "engine": {"structured_outputs_config": {"backend": "guidance", "disable_any_whitespace": True}},
    }
    assert files == fingerprint_of(str(tiny_model))
    facts = engine.facts
    assert facts["max_model_len"] == engine.context_tokens == CONTEXT
    assert (facts["backend"], facts["device"], facts["max_num_seqs"]) == ("vllm", "cpu", 100)
    assert facts["vllm"] == import_module("vllm").__version__
    assert json.loads(json.dumps([identity, facts])) == [identity, facts]


def test_xgrammar_holds_to_the_same_schema_and_a_closed_model_says_so(
    tiny_model: Path, engine_environment: None
) -> None:
    with_xgrammar = start(
        tiny_model, structured_outputs_config={"backend": "xgrammar", "disable_any_whitespace": True}, max_model_len=400
    )
    assert with_xgrammar.context_tokens == 400
    assert with_xgrammar.identity["engine"] == {
        "max_model_len": 400,
        "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
    }
    requests = [request(f"d{n}", max_tokens=200, seed=n, schema=SHORT) for n in range(30)]
    replies = answers(with_xgrammar, requests)
    validate = import_module("jsonschema").validate
    for reply in replies.values():
        assert reply.finish is Finish.STOP
        # It takes any bytes of the form of UTF-8 for one character, surrogates too; decoded, each byte becomes U+FFFD.
        validate(json.loads(re.sub("\ufffd+", "?", reply.text)), SHORT)
    with_xgrammar.close()
    with_xgrammar.close()
    with pytest.raises(EnvironmentFault, match="was closed"):
        next(with_xgrammar.generate([request("d1")]))


def test_an_engine_that_dies_ends_the_stream_and_what_was_yielded_stands(
    tiny_model: Path, engine_environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = start(tiny_model)
    stream = dying.generate([request("d1", max_tokens=2), request("d2", max_tokens=50)])
    assert next(stream).key == "d1"

    def out_of_memory(*_: object, **__: object) -> None:
        raise RuntimeError("CUDA out of memory.\nTried to allocate 2 GiB")

    monkeypatch.setattr(dying._llm.llm_engine.engine_core.engine_core.model_executor, "execute_model", out_of_memory)
    with pytest.raises(EnvironmentFault) as caught:
        next(stream)
    message = str(caught.value)
    assert message.startswith("vLLM's engine has died (RuntimeError: CUDA out of memory. Tried to allocate 2 GiB); ")
    assert "\n" not in message
    with pytest.raises(EnvironmentFault, match="has died"):
        next(dying.generate([request("d3")]))
    dying.close()
    dying.close()


def test_what_vllm_cannot_start_is_said_in_one_line(tiny_model: Path, engine_environment: None, tmp_path: Path) -> None:
    def fault(model: str, **engine: object) -> str:
        with pytest.raises((InputError, EnvironmentFault)) as caught:
            VllmGenerator(
                ModelSettings.model_validate(
                    {"backend": "vllm", "model": model, "engine": {"enforce_eager": True, **engine}}
                )
            )
        assert "\n" not in str(caught.value)
        return f"{type(caught.value).__name__}: {caught.value}"

    assert fault("") == "InputError: backend vllm needs `model`: a Hugging Face id or the path of a folder"
    absent = str(tmp_path / "absent")
    assert fault(absent).startswith(f"InputError: model {absent}: there is no such folder; ")
    assert "vLLM refuses these settings: " in fault(str(tiny_model), no_such_option=1)
    assert "vLLM refuses these settings: " in fault(str(tiny_model), quantization="no-such-method")
    assert fault("nobody/no-such-model").startswith("EnvironmentFault: model nobody/no-such-model cannot be loaded: ")


LETTERS = st.text(alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from("ab \n\té漢🙂e\u0301\u200d👩‍🚒")))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=LETTERS, tokens=st.integers(0, 40))
def test_cut_is_the_longest_prefix_on_a_token_border(engine: VllmGenerator, text: str, tokens: int) -> None:
    tokenizer = engine._tokenizer

    def ids(part: str) -> list[int]:
        return tokenizer._encode(part)["input_ids"]

    cut = tokenizer.cut(text, tokens)
    assert text.startswith(cut)
    assert len(ids(cut)) <= tokens
    if cut == text:
        return
    offsets = tokenizer._offsets(text)
    assert len(offsets) > tokens
    ends = {end for (_, end), (start, _) in itertools.pairwise(offsets) if end <= start} | {0}
    assert len(cut) in ends
    longer = [end for end in ends if end > len(cut) and sum(stop <= end for _, stop in offsets) <= tokens]
    assert not [end for end in longer if len(ids(text[:end])) <= tokens]


def test_cut_never_divides_a_letter(engine: VllmGenerator) -> None:
    assert len(engine._tokenizer._encode("🙂")["input_ids"]) == 4
    cuts = [engine.tokenizer.cut("🙂🙂a", tokens) for tokens in range(10)]
    assert cuts == ["", "", "", "", "🙂", "🙂", "🙂", "🙂", "🙂🙂", "🙂🙂a"]


def test_cut_of_a_very_long_text_is_that_of_its_beginning(engine: VllmGenerator) -> None:
    text = "the kiln is hot and the ash falls " * 20_000
    cut = engine.tokenizer.cut(text, 100)
    assert cut == engine.tokenizer.cut(text[:5000], 100)
    assert engine.tokenizer.cut(text[:300], 10**9) == text[:300]


def test_settings_of_sampling_reach_the_engine(engine: VllmGenerator) -> None:
    greedy = dataclasses.replace(request("d1", max_tokens=12), seed=1)
    other = ModelSettings.model_validate(
        {"backend": "vllm", "temperature": 0, "top_p": 0.9, "top_k": 5, "repetition_penalty": 1.1}
    )
    from sira.llm.vllm_engine import _sampling

    assert _sampling(other) == {"temperature": 0, "top_p": 0.9, "top_k": 5, "repetition_penalty": 1.1}
    params = engine._params(greedy)
    assert (params.temperature, params.seed, params.max_tokens, params.structured_outputs) == (1.0, 1, 12, None)
    assert engine._params(request("d2", schema=SHORT)).structured_outputs.json == json.dumps(SHORT)

"""One episode: a model asks for tools until it answers, under a budget, on the record."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sira.agent.answer import is_whole
from sira.agent.base import Failure, StopReason, ToolBox, ToolResult
from sira.agent.budget import Budget
from sira.agent.budget_rates import Rates, estimated_tokens
from sira.agent.clock import Cancelled, Clock, Overdue, SystemClock, Worker, in_time
from sira.agent.conversation import Conversation
from sira.agent.loop_calls import left_out_note, taken
from sira.agent.loop_settings import EpisodeSettings, Sink
from sira.agent.loop_tools import ToolCaller
from sira.agent.prompting import ASK_AGAIN, BLOCKED, STEER, harmless, opening, split_calls, split_thinking
from sira.agent.prompting_schema import turn_schema
from sira.agent.trajectory import Recorder, Span, Trajectory
from sira.errors import EnvironmentFault, IndexFault, InputError, SiraError
from sira.llm.base import Finish, Generator, Reply, Request
from sira.records import ToolCall, Topic

_LATE_S = 0.05
"""A call that failed within this time of the deadline failed by it."""

_log = logging.getLogger(__name__)


def run_episode(
    question: Topic,
    tools: ToolBox,
    generator: Generator,
    settings: EpisodeSettings,
    *,
    clock: Clock | None = None,
    sink: Sink | None = None,
    cancelled: Callable[[], bool] | None = None,
    rates: Rates | None = None,
) -> Trajectory:
    """Work on one question until an answer or the end of its budget. Blocks, and always ends in time.

    The model and the tools are called from threads of their own, which are left behind when the time is up. `sink` is
    told after each step, `cancelled` asked several times a second. Raises InputError for settings that do not fit the
    model, and what `sink` raises. What goes wrong on the way ends the episode as `ERROR`, with the words in its record;
    where that is the endpoint or the index as a whole, it is the trajectory's `fault`.
    """
    chosen = clock or SystemClock()
    budget = Budget(settings.limits, chosen, settings.price)
    episode = _Episode(
        question,
        tools,
        generator,
        settings,
        budget,
        chosen,
        sink or (lambda _: None),
        cancelled or (lambda: False),
        rates or Rates(),
    )
    return episode.run()


class _SinkFailed(Exception):
    """Whoever takes the record down cannot, such as on a full disk: nobody would know of what follows."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(slots=True)
class _Episode:
    """The state of one episode."""

    question: Topic
    tools: ToolBox
    generator: Generator
    settings: EpisodeSettings
    budget: Budget
    clock: Clock
    sink: Sink
    cancelled: Callable[[], bool]
    rates: Rates

    conversation: Conversation = field(default_factory=Conversation)
    recorder: Recorder = field(init=False)
    model_thread: Worker = field(init=False)
    caller: ToolCaller = field(init=False)
    span: Span = field(init=False)
    """Of the last call of the model."""
    steered: StopReason | None = None
    """The bound for which the model was told to answer."""
    blocked: bool = False
    blocked_turns: int = 0

    def __post_init__(self) -> None:
        provenance = {**self.settings.provenance, "budget": self.settings.limits.to_json()}
        self.recorder = Recorder(self.question, self.settings.metadata, provenance)
        self.model_thread = Worker()
        self.caller = ToolCaller(self.tools, self.clock, self.settings.tool_timeout_s)
        self.span = Span(0.0, 0.0)

    def run(self) -> Trajectory:
        text: str | None = None
        fault: Exception | None = None
        try:
            began = opening(self.settings.prompt, self.question.text, self.tools.tools, self.settings.calls)
            self.conversation = Conversation(began)
            self.note()
            stop, text = self.converse()
        except Overdue:
            stop = StopReason.TIME
        except Cancelled:
            stop = StopReason.CANCELLED
        except (EnvironmentFault, IndexFault) as error:
            stop, fault = StopReason.ERROR, error
            self.recorder.error(str(error))
        except _SinkFailed as failed:
            raise failed.error from None
        except SiraError as error:
            stop = StopReason.ERROR
            self.recorder.error(str(error))
        except Exception as error:  # noqa: BLE001 - a fault of ours or of a library costs this question alone
            _log.debug("question %s failed", self.question.qid, exc_info=error)
            stop = StopReason.ERROR
            self.recorder.error(f"{type(error).__name__}: {error}")
        finally:
            self.model_thread.leave()
            self.caller.leave()
        self.recorder.at(self.budget)
        self.recorder.finish(stop, text)
        self.sink(self.recorder)
        return self.recorder.trajectory(fault)

    def note(self) -> None:
        """A step is done."""
        self.recorder.at(self.budget)
        try:
            self.sink(self.recorder)
        except Exception as error:  # noqa: BLE001 - raised again by `run`
            raise _SinkFailed(error) from None

    def converse(self) -> tuple[StopReason, str | None]:
        """Why it ended, and the final text where there is one."""
        asked_again = False
        while True:
            if (exhausted := self.budget.exhausted()) is not None:
                return exhausted, None
            if self.steered is None and (cause := self.budget.to_steer()) is not None:
                self.steer(cause)
            reply = self.ask()
            if reply.finish is Finish.TOO_LONG:
                if self.settings.on_overflow == "drop" and self.drop_outputs():
                    continue
                self.recorder.error(reply.detail or "the conversation does not fit the model's context")
                return StopReason.CONTEXT, None
            if reply.finish is Finish.ERROR:
                if self.is_late():
                    return StopReason.TIME, None
                self.recorder.error(reply.detail or "the endpoint gave no reply")
                return StopReason.ERROR, None
            text, calls = self.take(reply)
            if reply.finish is Finish.REFUSED:
                self.recorder.error(reply.detail or "the model refused")
                return StopReason.REFUSED, None
            if calls:
                if self.steered is not None and is_whole(text):  # its calls would be blocked
                    return StopReason.ANSWERED, text
                self.carry_out(calls, text, reply)
                asked_again = False
                if self.steered is not None and self.is_deaf():
                    return self.steered, None
            elif reply.finish is Finish.LENGTH:
                if is_whole(text):
                    return StopReason.ANSWERED, text
                return StopReason.TRUNCATED, None
            elif text.strip():
                return StopReason.ANSWERED, text
            elif asked_again:
                return StopReason.EMPTY, None
            else:
                asked_again = True
                self.tell("ask_again", ASK_AGAIN)
            self.note()

    # The model

    def ask(self) -> Reply:
        """The model's reply to the conversation so far. Raises Overdue, Cancelled, and what the model raises."""
        begun, deadline = self.budget.elapsed_s, self.budget.deadline
        admission = self.rates.admit(estimated_tokens(self.conversation.turns), deadline, self.cancelled)
        waiting_s = self.budget.elapsed_s - begun
        left = self.budget.remaining_s
        if left is not None and left <= 0:
            raise Overdue
        form = self.settings.calls
        request = Request(
            self.question.qid,
            tuple(self.conversation.turns),
            self.settings.max_tokens,
            self.settings.seed,
            turn_schema(self.tools.tools, answer_only=self.steered is not None) if form == "schema" else None,
            tools=self.tools.tools if form in ("native", "any") else (),
            timeout_s=left,
        )
        replies = in_time(
            self.model_thread.start(lambda: list(self.generator.generate([request]))),
            self.clock,
            deadline,
            self.cancelled,
        )
        if not replies:
            raise InputError("the model gave no reply at all: agents want one that answers at once")
        (reply,) = replies
        tokens = reply.usage.prompt_tokens + reply.usage.completion_tokens
        self.rates.settle(admission, tokens)
        if reply.finish is Finish.PENDING:
            raise InputError("the model answers later (a batch file): agents want one that answers at once")
        self.budget.spend(reply.usage, turn=reply.finish not in (Finish.TOO_LONG, Finish.ERROR))
        span = Span(begun, self.budget.elapsed_s - begun)
        self.recorder.turn(span, reply.usage, reply.finish.value, waiting_s=waiting_s)
        self.span = span
        return reply

    def take(self, reply: Reply) -> tuple[str, tuple[ToolCall, ...]]:
        """The text and the calls of a reply; thoughts and text go into the record."""
        thoughts, text = split_thinking(reply.text)
        calls = reply.tool_calls
        if self.settings.calls != "native" and not calls:
            text, calls = split_calls(text, self.settings.calls)
        for thought in (reply.reasoning, thoughts):
            if thought.strip():
                self.recorder.reasoning(thought)
        if text.strip():
            self.recorder.text(text, self.span, reply.usage)
        return text, calls

    def check(self) -> None:
        """Raises Overdue and Cancelled: what needs no waiting has an end, too."""
        if self.cancelled():
            raise Cancelled
        if self.budget.deadline is not None and self.clock.now() >= self.budget.deadline:
            raise Overdue

    def is_late(self) -> bool:
        left = self.budget.remaining_s
        return left is not None and left <= _LATE_S

    def tell(self, kind: str, text: str, **more: Any) -> None:
        """A user turn of ours, into the conversation and the record."""
        self.conversation.tell(text)
        self.recorder.told(kind, text, self.budget.elapsed_s, **more)

    def steer(self, cause: StopReason) -> None:
        self.steered, self.blocked = cause, True
        self.tell("steer", STEER, cause=cause.value)
        self.note()

    def is_deaf(self) -> bool:
        """Whether the model has called tools that are blocked as many turns as it may; counts this one."""
        self.blocked_turns += 1
        most = self.settings.blocked_turns
        return most is not None and self.blocked_turns >= most

    def drop_outputs(self) -> bool:
        """Whether outputs were left to drop: the older half of them is gone now."""
        gone = self.conversation.drop_outputs()
        if gone:
            said = f"Outputs of tools removed from the conversation, which did not fit the context: {gone}"
            self.recorder.told("note", said, self.budget.elapsed_s)
            self.note()
        return gone > 0

    # The tools

    def carry_out(self, calls: tuple[ToolCall, ...], text: str, reply: Reply) -> None:
        """Carry the calls out in order, and put them and their outputs into the conversation.

        Raises Overdue and Cancelled between any two of them.
        """
        native = bool(reply.tool_calls)
        carried, outputs = taken(calls), list[str]()
        if native:
            self.conversation.asked(text, carried)
        for call in carried:
            self.check()
            if not self.blocked and self.budget.to_steer(time_alone=True) is not None:
                self.blocked = True
            started = self.budget.elapsed_s
            if self.blocked:
                result = ToolResult(BLOCKED, failure=Failure.BLOCKED)
            else:
                result = self.caller.call(call, self.budget.deadline, self.cancelled, self.recorder.error)
            output = harmless(result.text)
            if call is carried[-1] and len(calls) > len(carried):
                output = f"{output}\n\n{left_out_note(len(calls) - len(carried))}"
            if self.settings.show_budget and (line := self.budget.status_line()):
                output = f"{output}\n\n{line}"
            self.recorder.tool(call, result, output, Span(started, self.budget.elapsed_s - started))
            if native:
                self.conversation.answer(output, call)
            outputs.append(output)
            self.note()
        if not native:
            self.conversation.asked_in_text(split_thinking(reply.text)[1], outputs)

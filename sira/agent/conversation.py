"""What is sent to the model: the turns of an episode, and which of them are outputs of tools."""

from __future__ import annotations

from collections.abc import Sequence

from sira.agent.loop_calls import for_conversation
from sira.agent.prompting import DROPPED, tool_results
from sira.records import Message, ToolCall, ToolTurn, Turn


class Conversation:
    """Turns in the form that chat templates take."""

    def __init__(self, opening: Sequence[Turn] = ()) -> None:
        self.turns = list(opening)
        self._outputs: list[int] = []
        """Where outputs of tools stand that were not dropped."""

    def tell(self, text: str) -> None:
        """A user turn of ours; behind another one it joins it, since many chat templates refuse two in a row."""
        last = self.turns[-1]
        if last.role == "user" and len(self.turns) - 1 not in self._outputs:
            self.turns[-1] = last._replace(content=f"{last.content}\n\n{text}")
        else:
            self.turns.append(Message("user", text))

    def asked(self, text: str, calls: Sequence[ToolCall]) -> None:
        """The model's turn with calls of their own fields."""
        self.turns.append(ToolTurn("assistant", text, tuple(map(for_conversation, calls))))

    def answer(self, output: str, call: ToolCall) -> None:
        """The output of one of those calls."""
        self._outputs.append(len(self.turns))
        self.turns.append(ToolTurn("tool", output, tool_call_id=call.id))

    def asked_in_text(self, text: str, outputs: Sequence[str]) -> None:
        """The model's turn with calls in its text, and the user's turn with all their outputs."""
        self.turns.append(Message("assistant", text))
        self._outputs.append(len(self.turns))
        self.turns.append(Message("user", tool_results(outputs)))

    def drop_outputs(self) -> int:
        """Put a note in the place of the older half of the outputs. How many; 0 where none was left."""
        gone = self._outputs[: (len(self._outputs) + 1) // 2]
        self._outputs = self._outputs[len(gone) :]
        for at in gone:
            self.turns[at] = self.turns[at]._replace(content=DROPPED)
        return len(gone)

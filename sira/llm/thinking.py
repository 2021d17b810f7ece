"""What a model thought before it answered, cut from the text of a reply.

Thinking may hold drafts of an answer, and none of these may come out. Engines that know a model's marks take its
thinking away themselves; here it is what leaked.
"""

from __future__ import annotations

import re

_BEGINS = (
    "<think>", "<thinking>", "<thought>", "<reasoning>", "<seed:think>", "[think]", "◁think▷", "<|start_thinking|>",
    "<|channel|>analysis", "<|channel|>commentary",
)  # fmt: skip
_ENDS = (
    "</think>", "</thinking>", "</thought>", "</reasoning>", "</seed:think>", "[/think]", "◁/think▷",
    "<|end_thinking|>", "<|channel|>final",
)  # fmt: skip
"""In lower case: Qwen and DeepSeek, others by prompt, Seed, Mistral, Kimi, Command, gpt-oss (harmony)."""
_FINAL_HEADER = re.compile(r"[^{\[]{0,60}?<\|message\|>")
_BARE_HARMONY = re.compile(r'\s*+analysis(?=[A-Z"{\[*])')  # as it reads where special tokens are left out
_BARE_BEGIN, _BARE_FINAL = "analysis", "assistantfinal"


def answer(text: str) -> str | None:
    """What follows the last end of a think block, the text itself where there is none; None where a block stays open.

    A text that only quotes a mark is believed to think. Running time is linear, and nothing is raised.
    """
    lowered = text.replace("İ", "i").lower()  # the one letter whose lower case is longer
    begins, ends = _BEGINS, _ENDS
    if _BARE_HARMONY.match(text):
        begins, ends = (*begins, _BARE_BEGIN), (*ends, _BARE_FINAL)
    end = max(at + len(mark) if (at := lowered.rfind(mark)) >= 0 else 0 for mark in ends)
    if any(lowered.find(mark, end) >= 0 for mark in begins):
        return None
    header = _FINAL_HEADER.match(text, end) if end else None
    return text[header.end() if header else end :]

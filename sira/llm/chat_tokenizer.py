"""A fast tokenizer of Hugging Face with its chat template: exact counts of prompts, cuts on token borders."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sira.records import Turn


class ChatTokenizer:
    """A fast tokenizer of Hugging Face with its chat template, thinking on or off."""

    def __init__(self, tokenizer: Any, thinking: bool, template: str | None = None) -> None:
        """`template` replaces the tokenizer's own. Raises ValueError for a tokenizer that cannot tell offsets."""
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError("the tokenizer is no fast one, which alone tells where in the text a token ends")
        self._tokenizer, self._thinking, self._template = tokenizer, thinking, template

    def render(self, messages: tuple[Turn, ...]) -> str:
        """The prompt as text, with the header of the assistant's turn."""
        return self._tokenizer.apply_chat_template(
            [{"role": message.role, "content": message.content} for message in messages],
            tokenize=False,
            add_generation_prompt=True,
            chat_template=self._template,
            enable_thinking=self._thinking,  # a template without the switch ignores it
        )

    def encode(self, messages: tuple[Turn, ...]) -> list[int]:
        """The token ids of the rendered prompt; what the template does not write (BOS) is not added."""
        return self._encode(self.render(messages))["input_ids"]

    def count(self, messages: tuple[Turn, ...]) -> int:
        """See `Tokenizer.count`."""
        return len(self.encode(messages))

    def cut(self, text: str, tokens: int) -> str:
        """See `Tokenizer.cut`. The prefix encoded by itself has at most `tokens` tokens."""
        if tokens < 1:
            return ""
        # A token has a longest text, so a long document need not be encoded whole.
        head = text[: (tokens + 16) * self._longest]
        offsets = self._offsets(head)
        if len(offsets) <= tokens and len(head) < len(text):  # a normalizer that shortens
            head, offsets = text, self._offsets(text)
        if len(offsets) <= tokens:
            return text
        for kept in range(tokens, 0, -1):
            end, start = offsets[kept - 1][1], offsets[kept][0]
            # Where they overlap, the two tokens hold bytes of one letter.
            if end <= start and len(self._encode(text[:end])["input_ids"]) <= tokens:
                return text[:end]
        return ""

    @cached_property
    def _longest(self) -> int:
        """Characters of the longest token; those of byte-level vocabularies stand for one byte each."""
        return max(map(len, self._tokenizer.get_vocab()))

    def _offsets(self, text: str) -> list[tuple[int, int]]:
        return self._encode(text, return_offsets_mapping=True)["offset_mapping"]

    def _encode(self, text: str, **more: bool) -> Any:
        return self._tokenizer(text, add_special_tokens=False, return_attention_mask=False, verbose=False, **more)

"""A tokenizer from a `tokenizer.json`, by the package `tokenizers`: for endpoints, which do not count for us."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from sira.errors import EnvironmentFault, InputError
from sira.records import Turn

_TOKENS_OF_FRAME = 16
"""Allowed for the role and the marks around each message, and once more for the assistant's header."""


class TokenizerFile:
    """Counts by the file's vocabulary. The chat template, which only the server knows, is allowed for, not rendered."""

    def __init__(self, path: str) -> None:
        """`path` names a tokenizer.json, or the folder that holds it.

        Raises InputError for a file that is none, EnvironmentFault without the package.
        """
        file = Path(path) / "tokenizer.json" if Path(path).is_dir() else Path(path)
        if not file.is_file():
            raise InputError(f"{file}: there is no such file; set tokenizer to a tokenizer.json or to its folder")
        try:
            tokenizers: Any = importlib.import_module("tokenizers")
        except ImportError:
            raise EnvironmentFault(
                "the package tokenizers is missing, which reads `tokenizer`; `sira doctor` says how to install it"
            ) from None
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # noqa: BLE001 - the package raises plain Exception
            raise InputError(f"{file}: no tokenizer ({error}); give a model's tokenizer.json") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, messages: tuple[Turn, ...]) -> int:
        """Tokens of the messages, and an allowance for the chat template."""
        texts = sum(len(self._encode(message.content).ids) for message in messages)
        return texts + _TOKENS_OF_FRAME * (len(messages) + 1)

    def cut(self, text: str, tokens: int) -> str:
        """The longest prefix of at most `tokens` tokens that ends on a token border and inside no letter."""
        while True:
            offsets: list[tuple[int, int]] = self._encode(text).offsets
            if len(offsets) <= tokens:
                return text
            if tokens <= 0:
                return ""
            # A letter of several tokens has the same offsets in each: where the next token begins, no letter is open.
            shorter = text[: min(offsets[tokens - 1][1], offsets[tokens][0])]
            text = shorter if len(shorter) < len(text) else text[:-1]

    def _encode(self, text: str) -> Any:
        return self._tokenizer.encode(text, add_special_tokens=False)

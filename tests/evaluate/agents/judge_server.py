"""A judge behind real HTTP: finds the verdict in the messages that it is sent, as a model would."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.llm.openai_server import Answer, OpenAIServer, completion

_BLOCK = re.compile(r"(Question|Correct answer|Response to judge):\n<(\w+)>\n(.*?)\n</\2>", re.DOTALL)
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def verdict(correct: object = True, **fields: object) -> str:
    """A reply in the strict form."""
    row = {"extracted_final_answer": "Oslo", "reasoning": "the same place", "correct": correct, "confidence": 80}
    return json.dumps(row | fields)


class JudgeServer(OpenAIServer):
    """Says that an answer is correct where a correct answer stands in the response, unless `script` says otherwise.

    `script` gets the question, the response and the number of times (from 1) that this was asked, and returns the text
    of the reply, an Answer, or None. `asked` are the questions in the order in which they came.
    """

    def __init__(
        self, script: Callable[[str, str, int], str | Answer | None] | None = None, delay_s: float = 0
    ) -> None:
        self.script, self.delay_s = script, delay_s
        self.asked: list[str] = []
        self._times: Counter[str] = Counter()
        super().__init__()

    def _answer(self, body: dict[str, Any], key: str) -> Answer:
        parts = [(name, text) for name, _, text in _BLOCK.findall(body["messages"][-1]["content"])]
        if not parts:  # a short request, by which the client asks whether anybody is there
            return Answer(completion("Hello"))
        question, response = parts[0][1], parts[-1][1]
        with self._lock:
            self.calls.append(body)
            self.asked.append(question)
            self._times[question] += 1
            times = self._times[question]
        if self.delay_s:
            time.sleep(self.delay_s)
        said = self.script(question, response, times) if self.script else None
        if isinstance(said, Answer):
            return said
        known = [text for name, text in parts if name == "Correct answer"]
        text = verdict(any(answer in response for answer in known)) if said is None else said
        return Answer(completion(text, usage=USAGE))


def model_file(path: Path, url: str, model: str = "judge-model", more: str = "") -> Path:
    """A TOML file with the [model] table of this server."""
    path.write_text(
        f'[model]\nbackend = "openai"\nmodel = "{model}"\nbase_url = "{url}"\nmax_retries = 0\nconcurrency = 2\n'
        f"{more}\n"
    )
    return path

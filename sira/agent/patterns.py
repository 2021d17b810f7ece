"""Texts and regular expressions in documents.

A regular expression of a model's may take for ever: it runs in a process of its own, which the kernel ends in time.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence

from sira.agent.arguments import CallFault, shown

MODES = ("literal", "regex")
PATTERN_CHARACTERS = 1_000
MOST_MATCHES = 10_000
"""Of one text; later ones are not counted."""

Spans = list[tuple[int, int]]
"""Places of the first character and behind the last one."""

_CHILD = """
import json, re, sys, warnings
asked = json.load(sys.stdin.buffer)
try:  # the kernel ends this process, whatever the pattern does
    import signal
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, asked["seconds"])
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
except (ImportError, AttributeError, ValueError, OSError):
    pass
warnings.simplefilter("ignore")
try:
    pattern = re.compile(asked["pattern"], re.IGNORECASE | re.MULTILINE)
except (re.error, OverflowError, RecursionError) as error:
    print(json.dumps({"fault": str(error)}))
    sys.exit()
found = []
for text in asked["texts"]:
    spans = []
    for match in pattern.finditer(text):
        if match.end() > match.start():
            spans.append(match.span())
            if len(spans) == asked["most"]:
                break
    found.append(spans)
print(json.dumps({"found": found}))
"""


def occurrences(
    tool: str, pattern: str, mode: str, texts: Sequence[str], *, seconds: float, most: int = MOST_MATCHES
) -> list[Spans]:
    """Where a pattern stands in each text, without overlaps; at most `most` places a text.

    `literal`: letter for letter, but case does not matter and a blank stands for any white space, since lines are
    broken anywhere. `regex`: Python's syntax; empty matches do not count; `seconds` for all texts together. Raises
    CallFault for a pattern that cannot be read, or that takes longer.
    """
    if len(pattern) > PATTERN_CHARACTERS:
        raise CallFault(
            f"Invalid {tool} arguments: pattern has {len(pattern):,} characters: at most {PATTERN_CHARACTERS:,}.",
            field="pattern",
        )
    if mode == "literal":
        compiled = re.compile(r"\s++".join(map(re.escape, pattern.split())), re.IGNORECASE)
        return [_literal(compiled, text, most) for text in texts]
    return _regex(tool, pattern, texts, seconds, most)


def _literal(compiled: re.Pattern[str], text: str, most: int) -> Spans:
    spans: Spans = []
    for match in compiled.finditer(text):
        spans.append(match.span())
        if len(spans) == most:
            break
    return spans


def _regex(tool: str, pattern: str, texts: Sequence[str], seconds: float, most: int) -> list[Spans]:
    asked = json.dumps({"pattern": pattern, "texts": texts, "seconds": seconds, "most": most})
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CHILD],
            input=asked.encode(),
            capture_output=True,
            timeout=seconds + 5,
            check=False,
        )
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode:
        raise CallFault(
            f"Invalid {tool} arguments: the pattern {shown(pattern)} takes more than {seconds:g} s or too much memory: "
            "leave out nested repetitions such as (a+)+, or use mode literal.",
            field="pattern",
        )
    reply = json.loads(done.stdout)
    if "fault" in reply:
        raise CallFault(
            f"Invalid {tool} arguments: the pattern {shown(pattern)} is no regular expression ({reply['fault']}): "
            "write it in Python's syntax, or use mode literal.",
            field="pattern",
        )
    return [[(start, end) for start, end in spans] for spans in reply["found"]]

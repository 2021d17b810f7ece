"""A shell agent: the model looks through the documents as files, one command a round (SIRA, arXiv 2605.06647, its
ShellAgent).

The protocol is plain text, so that any model can follow it: `Command: ...` asks for one, `Done: ...` ends. At most five
rounds; a command shows its first 20 lines, 500 characters each. A document scores 1 / (1 + its best rank, from 0, in
any output), the first seen first among equals; only documents that a shown line names count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sira.llm.thinking import answer as without_thinking
from sira.paths import cache_folder
from sira.prompts import enclosed
from sira.records import Message, Ranking, Turn
from sira.systems.agents.base import AgentMethod, Episode
from sira.systems.agents.commands import read_command
from sira.systems.agents.files import Export, export
from sira.systems.agents.programs import Refused
from sira.systems.agents.sandbox import PROGRAMS, Limits, Output, Toolbox, run_pipeline, toolbox

SHELL_AGENT = AgentMethod(
    "shell-agent",
    "Yang et al. 2026, arXiv 2605.06647 (its baseline ShellAgent)",
    "agent-shell",
    rounds=5,
    documents=20,
    characters=500,
    max_tokens=400,
    searches=5,
)
"""`documents` are the lines of an output, `characters` those of a line, `searches` commands."""
_STOP = ("\nOutput:", "<output")
_ASKED = re.compile(r"^[ \t>*_`#-]*(command|done)[ \t*_`]*:[ \t*_]*(.*)$", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"(?:```[a-z]*)?", re.IGNORECASE)
_BELOW = re.compile(r"\s*(?:```[a-z]*\s*\n)?\s*([^\n]+)", re.IGNORECASE)
_NAMED = re.compile(r"(?:\s*[0-9]+[\s:-])?(?:(?:\./)?[0-9]{3}/[0-9]{3}\.txt[:-])?(?:[0-9]+[:-]){0,2}@([^\s@]+)@")
_TICKS = re.compile(r"(?<!`)`{1,3}\Z")
_CUT = "…"
_NO_COMMAND = "This is no command. Write one line that begins with `Command: `, or one that begins with `Done: `."


@dataclass(frozen=True, slots=True)
class ShellAgent:
    """A Conversation. `folder` has the exports of the indexes, by default in sira's cache; `tools` are the programs of
    this machine unless some are given. `progress`: a bar while an export is written."""

    folder: Path | None = None
    tools: Toolbox | None = None
    limits: Limits = field(default_factory=Limits)
    progress: bool = True

    def __call__(self, episode: Episode) -> str | None:
        """One topic; what the model says when it is done. Raises Stop, with what was found until then."""
        files = export(episode.index, self.folder or cache_folder() / "exports", "passages", progress=self.progress)
        tools = self.tools or toolbox()
        found = Found(episode, files)
        episode.found = Ranking()
        episode.told |= {"programs": list(tools.programs), "commands": []}
        messages: list[Turn] = [*_opening(episode, files, tools)]
        for _ in range(episode.settings.rounds):
            reply = episode.ask(messages, stop=_STOP)
            said, kind, text = asked(reply.text, tools)
            if kind == "done":
                return text or None
            if kind == "command":
                output = found.run(text, tools, self.limits)
                episode.found = found.ranking()
            else:
                output = episode.correct("no_command", _NO_COMMAND)
            messages += [Message("assistant", said or "-"), Message("user", enclosed("output", output))]
        return None


def _opening(episode: Episode, files: Export, tools: Toolbox) -> list[Message]:
    """The prompt, and behind the system's text what is here: the model knows no other program."""
    first, last = (files.files[0], files.files[-1]) if files.files else ("none", "none")
    here = (
        f"Programs: {', '.join(name for name in PROGRAMS if name in tools.programs)}"
        + ("" if "rg" in tools.programs else " (there is no rg: use grep -r -n -i -E PATTERN .)")
        + f"\nFiles: {len(files.files)}, {first} to {last}, with {files.documents} documents"
    )
    opening = episode.settings.prompt.render_query(episode.topic.text)
    if opening[0].role != "system":
        return [Message("system", here), *opening]
    return [Message("system", f"{opening[0].content}\n\n{here}"), *opening[1:]]


def asked(text: str, tools: Toolbox) -> tuple[str, str, str]:
    """What a reply asks for: the reply up to that, `command` or `done` or `nothing`, and the command or the last words.

    The first line that begins with `Command:` or `Done:` counts, whatever stands around the word; where there is none
    a command alone between fences, or in a line that begins with one of the programs. What follows it is not kept:
    models write outputs of their own.
    """
    text = without_thinking(text) or ""
    found = _ASKED.search(text)
    if found is not None:
        kind, rest, end = found[1].lower(), found[2].strip(), found.end()
        if kind == "command" and _FENCE.fullmatch(rest) and (below := _BELOW.match(text, end)):
            rest, end = below[1].strip(), below.end(1)
        return text[:end], kind, _bare(rest) if kind == "command" else rest
    for line in re.finditer(r"^(?:\$ |`{1,3})?([^\n]+)$", text, re.MULTILINE):
        command = _TICKS.sub("", line[1].strip())
        if " " in command and command.split(maxsplit=1)[0] in tools.programs:
            return text[: line.end()], "command", command
    return text, "nothing", ""


def _bare(command: str) -> str:
    """Without the marks of code around it."""
    if len(command) > 1 and command[0] == command[-1] == "`":
        command = command.strip("`").strip()
    return command.removeprefix("$ ")


class Found:
    """The documents that outputs showed, with the best rank of each."""

    def __init__(self, episode: Episode, files: Export) -> None:
        self._episode, self._files = episode, files
        self._best: dict[str, int] = {}

    def run(self, command: str, tools: Toolbox, limits: Limits) -> str:
        """Run a command, note what it shows, and return that."""
        told = {"command": command}
        self._episode.told["commands"].append(told)
        try:
            pipeline = read_command(command, self._files.folder, tools.programs)
        except Refused as refusal:
            told["refused"] = str(refusal)
            return f"This command was not run: {refusal}"
        self._episode.queries.append(command)
        with self._episode.scanning():
            output = run_pipeline(pipeline, self._files.folder, tools, limits)
        self._episode.told["walls"] = list(output.walls)
        if output.stopped:
            told["stopped"] = output.stopped
        lines, more = self._shown(output)
        docids = self._note(lines)
        self._episode.shown |= dict.fromkeys(docids)
        return _told(lines, more, output, limits)

    def ranking(self) -> Ranking:
        """1 / (1 + best rank), ranks from 0; among equals the first seen first, which the scores tell by a hair."""
        order = sorted(self._best, key=lambda docid: self._best[docid])  # stable: equals stay in the order of seeing
        step = 1e-9
        return Ranking(
            tuple(order), tuple(1 / (1 + self._best[docid]) - step * place for place, docid in enumerate(order))
        )

    def _shown(self, output: Output) -> tuple[list[str], bool]:
        """The lines to show, and whether there are more; a last line that was cut off is none."""
        lines = output.text.decode(errors="replace").split("\n")
        whole = lines[:-1]
        if lines[-1] and output.stopped is None:
            whole.append(lines[-1])
        if not self._episode.settings.own:
            whole = [line for line in whole if self._docid(line) != self._episode.topic.qid]
        settings = self._episode.settings
        cut = [
            line if len(line) <= settings.characters else line[: settings.characters - 1] + _CUT
            for line in whole[: settings.documents]
        ]
        return cut, len(whole) > settings.documents

    def _docid(self, line: str) -> str | None:
        named = _NAMED.match(line)
        return None if named is None else self._files.docid(named[1])

    def _note(self, lines: Sequence[str]) -> list[str]:
        """The documents of the index that the lines name, in order; their ranks are noted."""
        named = list(dict.fromkeys(docid for line in lines if (docid := self._docid(line)) is not None))
        known = [docid for docid, df in zip(named, self._episode.index.id_df(named), strict=True) if df]
        for rank, docid in enumerate(known):
            self._best[docid] = min(rank, self._best.get(docid, rank))
        return known


def _told(lines: Sequence[str], more: bool, output: Output, limits: Limits) -> str:
    """What the model reads of an output."""
    parts = ["\n".join(lines)] if lines else []
    if more:
        parts.append("(more lines are not shown: a narrower pattern, or head, chooses among them)")
    if output.stopped == "seconds":
        parts.append(f"(stopped after {limits.wall_s:g} seconds)")
    elif output.stopped == "bytes":
        parts.append(f"(stopped after {limits.output_bytes} bytes)")
    errors = " ".join(output.errors.split())[:300]
    if errors:
        parts.append(f"({errors})")
    return "\n".join(parts) or "(nothing)"

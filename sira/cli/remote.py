"""`sira search --server`: the same searches by a `sira serve`, and the same output; no Java here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from sira.cli.hits import LINE_CHARACTERS, line
from sira.cli.options import ASKING, SETTINGS, refuse, settings, topics_and_sketches
from sira.cli.programs import read_programs, refuse_settings, refuse_sketch
from sira.cli.search import BUDGET, MODE, RERANK, check_sketches, show_all, write_run
from sira.errors import InputError, ProgramError

if TYPE_CHECKING:
    from sira.client import AskingOptions, SearchOptions, SettingsOptions, SiraClient
    from sira.program import Program
    from sira.records import Sketch, Topic
    from sira.systems import Answer

OWN_MODEL = "server"
"""What --llm is called: the server alone says which model it has."""
RETRIES = 3
_LOCAL: Mapping[str, Any] = {
    "heap": None,
    "rerank": None,
    **RERANK,
    "routing": None,
    **BUDGET,
    "policy": None,
    "categories": None,
    "prompt": None,
}
"""Options of this machine, which no request can carry."""


def search(arguments: argparse.Namespace, k: int) -> int:
    """Search and print as `sira search` does. Raises InputError for options that a server does not take."""
    from sira.client import SiraClient
    from sira.serve.settings import read_token

    refuse(arguments, _LOCAL, "a server has its own settings for this: leave it out with --server")
    if arguments.llm not in (None, OWN_MODEL):
        raise InputError(f"--llm {arguments.llm}: with --server it is `--llm {OWN_MODEL}`, the model of the server")
    index = None if arguments.index is None else str(arguments.index)
    if index is not None and "/" in index:
        raise InputError(f"--index {index}: with --server it is the name of one of its indexes, no folder")
    token = read_token(arguments.token_file)
    with SiraClient(arguments.server, token) as client:
        client.health()  # an address where nothing is need not be waited for
    with SiraClient(arguments.server, token, index=index, retries=RETRIES) as client:
        served = Served(client, bool(client.manifest().manifest.get("stored_text")))
        return served.search(arguments, k)


@dataclass(frozen=True, slots=True)
class Served:
    """One index of a server, reached once already."""

    client: SiraClient
    stored_text: bool

    def search(self, arguments: argparse.Namespace, k: int) -> int:
        from sira.search.batch import in_order
        from sira.systems import Tally

        tally = Tally()
        written = arguments.program or arguments.syntax == "program"
        topics, asked = self._written(arguments, k) if written else _topics(arguments, k)
        more: SearchOptions = {"with_program": True, "titles": self.stored_text and not arguments.run}
        full: list[SearchOptions] = [{**one, **more} for one in asked]
        found = in_order(self._answer, list(zip(topics, full, strict=True)), arguments.threads)
        counted = ((tally.add(answer), shown) for answer, shown in found)
        if arguments.run:
            write_run((answer for answer, _ in counted), arguments.run, arguments.name or "sira")
        else:
            show_all(counted, {topic.qid: topic.text for topic in topics}, arguments)
        for told in tally.lines():
            print(f"sira: {told}", file=sys.stderr)
        return 0

    def _answer(self, asked: tuple[Topic, SearchOptions]) -> tuple[Answer, list[str]]:
        """The answer to one topic, and what stands beside its hits."""
        from sira.search.batch import naming_topic
        from sira.systems import Answer

        topic, options = asked
        with naming_topic(topic.qid):
            page = self.client.search(**options)
        programs = tuple(replace(program, qid=topic.qid) for program in page.programs or ())
        answer = Answer(topic.qid, page.ranking, programs, page.note or {})
        if page.titles is None:
            return answer, [""] * len(page.hits)
        titles = page.titles
        return answer, [line(titles[hit.docid] or self._begin(hit.docid)) for hit in page.hits]

    def _begin(self, docid: str) -> str:
        """The begin of a text without a title, as far as a line shows it; a line of a text has a character at least."""
        return self.client.document(docid, limit=LINE_CHARACTERS).text

    def _written(self, arguments: argparse.Namespace, k: int) -> tuple[list[Topic], list[SearchOptions]]:
        """Programs as they stand; texts are bound to the server's index by the server."""
        from sira.records import Topic

        refuse(arguments, MODE, "programs as written are searched one by one: leave this out")
        if arguments.program:
            if arguments.query:
                raise InputError("--program says all of a search: give no query with it")
            refuse_settings(arguments)
            programs = read_programs(arguments.program, self._bind({}))
        else:
            refuse_sketch(arguments)
            bound = self._bind(_settings(arguments))
            topics = topics_and_sketches(arguments, arguments.query)[0]
            programs = [_bound(topic, bound, named=arguments.topics is not None) for topic in topics]
        relax: SearchOptions = {} if arguments.relax is None else {"relax": arguments.relax}
        asked: list[SearchOptions] = [{"program": program, "k": k, **relax} for program in programs]
        return [Topic(program.qid, program.text) for program in programs], asked

    def _bind(self, given: SettingsOptions) -> Callable[[str, str], Program]:
        from sira.programtext import parse_query

        def bind(text: str, qid: str) -> Program:
            parse_query(text)  # its faults with their places, as in a local search
            return replace(self.client.compile(program_text=text, settings=given).program, qid=qid)

        return bind


def _bound(topic: Topic, bound: Callable[[str, str], Program], *, named: bool) -> Program:
    """The program that a topic spells; `named`: its faults name the topic, of which there are several."""
    try:
        return bound(topic.text, topic.qid)
    except ProgramError as error:
        if not named:
            raise
        raise ProgramError(f"topic {topic.qid!r}: {error}") from None


def _topics(arguments: argparse.Namespace, k: int) -> tuple[list[Topic], list[SearchOptions]]:
    topics, sketches = _sketches(arguments)
    given: SearchOptions = {"k": k, "mode": arguments.mode, "settings": _settings(arguments)}
    if arguments.relax is not None:
        given["relax"] = arguments.relax
    if arguments.drop_guesses:
        given["drop_guesses"] = True
    if arguments.llm is not None:
        asking = {name: getattr(arguments, name) for name in ("roles", "facets", "searches", "samples")}
        changed = {name: value for name, value in asking.items() if value != ASKING[name]}
        given["llm"] = cast("AskingOptions", changed) if changed else True
    return topics, [{"topic": topic.text, **given, **_sketch((sketches or {}).get(topic.qid))} for topic in topics]


def _sketches(arguments: argparse.Namespace) -> tuple[list[Topic], Mapping[str, Sketch] | None]:
    """The topics, and the sketches that are at hand; where the server's model makes them, none."""
    if arguments.llm is None:
        topics, sketches = topics_and_sketches(arguments, arguments.query)
        check_sketches(topics, sketches, arguments)
        return topics, sketches
    if arguments.sketches or arguments.phrase:
        raise InputError("--llm asks a model for the sketches: leave out --sketches and --phrase")
    plain = argparse.Namespace(**{**vars(arguments), "llm": None, **ASKING})
    return topics_and_sketches(plain, arguments.query)[0], None


def _sketch(sketch: Sketch | None) -> SearchOptions:
    from sira.compile.sketches import sketch_to_json

    if sketch is None:
        return {}
    row = {name: value for name, value in sketch_to_json(sketch).items() if name != "qid"}
    return {"sketch": {**row, "provenance": {"model": "unnamed"}} if sketch.by_model else row}


def _settings(arguments: argparse.Namespace) -> SettingsOptions:
    """The settings that differ from the defaults, which both sides share. Raises InputError as a local search."""
    settings(arguments)
    changed = {name: getattr(arguments, name) for name, value in SETTINGS.items() if getattr(arguments, name) != value}
    return cast("SettingsOptions", changed)

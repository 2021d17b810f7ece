"""Searches that a build of an index answers before anybody asks it, so that its files are in memory by then."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from sira.compile import compile_sketch
from sira.corpora.trec import read_topics
from sira.errors import IndexFault, InputError, SiraError
from sira.lucene.reader import Index
from sira.program import Program
from sira.records import Topic

MOST_TOPICS = 1_000
LAST_SEARCHES = 16
"""Of an index, which its next build answers."""
DEPTH = 100


def warm_up_topics(path: Path | None, most_characters: int) -> tuple[Topic, ...]:
    """Raises InputError for a file that cannot be read, more than MOST_TOPICS, and a topic that is too long."""
    if path is None:
        return ()
    topics = read_topics(path)
    if len(topics) > MOST_TOPICS:
        raise InputError(f"{path}: {len(topics):,} topics to warm up by: give at most {MOST_TOPICS:,}")
    for topic in topics:
        if (length := len(topic.text)) > most_characters:
            raise InputError(f"{path}: topic {topic.qid!r} has {length:,} characters: give at most {most_characters:,}")
    return topics


def warm_up(index: Index, topics: Sequence[Topic], programs: Iterable[Program]) -> None:
    """Plain searches of the topics, and the programs as they stand. Raises IndexFault where Lucene fails at one: the
    index is damaged."""
    try:
        for item in (*topics, *programs):
            with contextlib.suppress(InputError):  # a range on a field that this build does not have
                program = compile_sketch(item, None, index) if isinstance(item, Topic) else item
                index.search(program, DEPTH)
    except SiraError as error:
        raise IndexFault(f"{index.path}: it cannot be searched ({error}): build the index again") from None

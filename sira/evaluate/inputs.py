"""What an experiment reads: an opened collection with its replies, checked before anything is searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sira.compile.sketches import read_sketches
from sira.corpora.audit import Audit, audit
from sira.corpora.collection import Collection, open_collection
from sira.corpora.rows import json_rows
from sira.corpora.trec import read_qrels, read_run, read_topics
from sira.errors import InputError
from sira.evaluate.config import CollectionConfig
from sira.llm.base import Usage
from sira.llm.openai_body import token_count
from sira.records import Document, Qrels, Run, Sketch, Topic
from sira.systems import Texts, read_texts


@dataclass(frozen=True, slots=True)
class Inputs:
    """An opened collection. `topics` are the judged ones, which are searched; the audit speaks of the rest. `sketches`
    are those in files; sira.evaluate.asking adds those by a model."""

    config: CollectionConfig
    collection: Collection
    topics: tuple[Topic, ...]
    sketches: Mapping[str, Mapping[str, Sketch]]
    ignore_self_hits: bool

    @property
    def qrels(self) -> Qrels:
        return self.collection.qrels


def open_inputs(config: CollectionConfig) -> Inputs:
    """Open a collection of an experiment.

    Raises InputError where it has no topics, no judgments, no topic that is judged, or a qid twice.
    """
    collection = open_collection(config.source, config.split)
    if config.topics is not None:
        topics = read_topics(config.topics)
        collection = replace(collection, read_topics=lambda: topics)
    if config.qrels is not None:
        qrels = read_qrels(config.qrels)
        collection = replace(collection, read_qrels=lambda: qrels)
    where = f"collection {config.name!r}: {config.topics or config.source}"
    if not collection.topics:
        raise InputError(f"{where}: has no topics: name a source that has some, or a file under `topics`")
    if not collection.qrels:
        raise InputError(f"{where}: has no judgments: name a source that has some, or a file under `qrels`")
    twice = [qid for qid, times in Counter(topic.qid for topic in collection.topics).items() if times > 1]
    if twice:
        raise InputError(f"{where}: the qid {twice[0]!r} stands twice ({len(twice)} such qids): make them unique")
    topics = tuple(topic for topic in collection.topics if topic.qid in collection.qrels)
    if not topics:
        raise InputError(
            f"{where}: none of its {len(collection.topics)} topics is judged: check that they belong together"
        )
    sketches = {name: read_sketches(path) for name, path in config.sketch_files().items()}
    for name, replies in sketches.items():
        if not any(topic.qid in replies for topic in topics):
            raise InputError(
                f"{where}: the sketches {name!r} are of none of its topics: check that they belong together"
            )
    self_hits = collection.ignore_self_hits if config.ignore_self_hits is None else config.ignore_self_hits
    return Inputs(config, collection, topics, sketches, self_hits)


def imported_run(place: str, name: str, inputs: Inputs) -> tuple[Path, Run]:
    """The TREC run at `place`, in which {collection} stands for the collection's name, and where it lies.

    Raises InputError where it cannot be read or holds none of the topics.
    """
    path = _of_collection(place, inputs)
    run = read_run(path, name)
    _check_topics(path, run.rankings, "run", inputs)
    return path, run


def recorded_texts(place: str, inputs: Inputs) -> tuple[Path, dict[str, Texts]]:
    """The store of texts at `place`; else as `imported_run`."""
    path = _of_collection(place, inputs)
    texts = read_texts(path)
    _check_topics(path, texts, "store", inputs)
    return path, texts


def sketch_usage(path: str | Path) -> dict[str, Usage]:
    """The tokens that the sketches of a file took, by qid, for the rows that tell."""
    names = ("prompt_tokens", "completion_tokens", "cached_tokens")
    return {
        str(row.get("qid", row.get("query_id"))): Usage(*(token_count(row["usage"].get(name)) for name in names))
        for _, row in json_rows(Path(path))
        if isinstance(row.get("usage"), dict)
    }


def _of_collection(place: str, inputs: Inputs) -> Path:
    return Path(place.replace("{collection}", inputs.config.name))


def _check_topics(path: Path, held: Container[str], what: str, inputs: Inputs) -> None:
    if not any(topic.qid in held for topic in inputs.topics):
        raise InputError(
            f"{path}: none of the {len(inputs.topics)} topics of collection {inputs.config.name!r} is in this {what}: "
            "check that they belong together; {collection} in its name stands for that of the collection"
        )


def audit_inputs(inputs: Inputs) -> Audit:
    """Reads the whole corpus."""
    docids = (record.docid for _, record in inputs.collection.documents() if isinstance(record, Document))
    return audit(docids, inputs.collection.topics, inputs.qrels)

"""What an experiment reads: an opened collection with its replies, checked before anything is searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sira.compile.sketches import read_sketches
from sira.corpora.audit import Audit, audit
from sira.corpora.collection import Collection, open_collection
from sira.corpora.trec import read_qrels, read_topics
from sira.errors import InputError
from sira.evaluate.config import CollectionConfig
from sira.records import Document, Qrels, Sketch, Topic


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


def audit_inputs(inputs: Inputs) -> Audit:
    """Reads the whole corpus."""
    docids = (record.docid for _, record in inputs.collection.documents() if isinstance(record, Document))
    return audit(docids, inputs.collection.topics, inputs.qrels)

"""What an experiment reads: an opened collection with its replies, checked before anything is searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sira.compile.sketches import read_sketches
from sira.corpora.audit import Audit, audit
from sira.corpora.collection import Collection, open_collection
from sira.corpora.rows import json_rows
from sira.corpora.trec import read_qrels, read_run, read_topics
from sira.errors import InputError
from sira.evaluate.config import CollectionConfig
from sira.evaluate.system_config import SystemConfig
from sira.expand.store import store_files
from sira.llm.base import Usage
from sira.lucene.reader import Index
from sira.records import Document, Qrels, Ranking, Run, Sketch, Topic
from sira.systems.texts import Texts, read_texts, told_usage


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


def check_places(systems: Iterable[SystemConfig], inputs: Inputs) -> None:
    """Raises InputError for a run, or a store of texts or phrases, that is not there, before the first collection is
    searched."""
    for system in systems:
        if system.documents not in ("plain", "multifield"):
            assert inputs.config.expansions is not None  # checked by Experiment
            store_files(Path(inputs.config.expansions))
        place = system.run or system.replies
        if place and not (path := of_collection(place, inputs.config.name)).exists():
            raise InputError(
                f"{path}: there is no such file; system {system.name!r} asks for it in collection "
                f"{inputs.config.name!r}: check the path"
            )


def imported_run(place: str, name: str, inputs: Inputs) -> tuple[Path, Run]:
    """The TREC run at `place`, in which {collection} stands for the collection's name, and where it lies.

    Raises InputError where it cannot be read or holds none of the topics.
    """
    path = of_collection(place, inputs.config.name)
    run = read_run(path, name)
    _check_topics(path, run.rankings, "run", inputs)
    return path, run


def recorded_texts(place: str, inputs: Inputs) -> tuple[Path, dict[str, Texts]]:
    """The store of texts at `place`; else as `imported_run`."""
    path = of_collection(place, inputs.config.name)
    texts = read_texts(path)
    _check_topics(path, texts, "store", inputs)
    return path, texts


def sketch_usage(path: str | Path) -> dict[str, Usage]:
    """The tokens that the sketches of a file took, by qid, for the rows that tell."""
    return {
        str(row.get("qid", row.get("query_id"))): usage
        for _, row in json_rows(Path(path))
        if (usage := told_usage(row)) is not None
    }


def of_no_topic(held: Iterable[str], what: str, inputs: Inputs) -> list[str]:
    """A line for the report where `held` has qids that are not searched; else none."""
    qids = {topic.qid for topic in inputs.topics}
    others = [qid for qid in held if qid not in qids]
    return [f"{what}: {len(others)} of no judged topic, such as {others[0]!r}"] if others else []


def of_no_document(run: Run, inputs: Inputs, index: Index) -> list[str]:
    """A line for the report where documents of a run are not in the index: they take ranks all the same; else none.

    Raises InputError where none is there.
    """
    rankings = (run.rankings.get(topic.qid, Ranking()) for topic in inputs.topics)
    docids = list(dict.fromkeys(docid for ranking in rankings for docid in ranking.docids))
    others = [docid for docid, there in zip(docids, index.id_df(docids), strict=True) if not there]
    if docids and len(others) == len(docids):
        raise InputError(
            f"run {run.name!r}: none of its {len(docids)} documents is in collection {inputs.config.name!r} (such as "
            f"{docids[0]!r}): check that they belong together"
        )
    return [f"run: {len(others)} of {len(docids)} documents are in no index, such as {others[0]!r}"] if others else []


def of_collection(place: str, name: str) -> Path:
    """A path of a system, in which {collection} stands for the collection's name."""
    return Path(place.replace("{collection}", name))


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

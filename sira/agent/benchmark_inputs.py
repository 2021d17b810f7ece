"""The questions and labels of a benchmark, and what the manifest of a run tells of them (Pi-Serini's names)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from sira.agent.benchmark import QuerySet, Setup
from sira.agent.benchmark_files import BenchmarkFile
from sira.agent.questions import check_questions, chosen, read_questions
from sira.corpora.collection import Collection, open_collection
from sira.corpora.files import text_lines
from sira.corpora.trec import read_qrels
from sira.corpora.trec_writer import write_qrels
from sira.errors import InputError
from sira.records import Qrels, Topic

COPIES = "benchmark"
"""The folder of a run for judgments that stand in no file."""
_KEYS = {"qrels": "qrels_path", "secondary_qrels": "secondary_qrels_path", "answers": "ground_truth_path"}
_HASHED = {"answers": "ground_truth"}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Labels:
    """Files of judgments and of answers, None where there are none of the kind; a file need not exist."""

    qrels: Path | None = None
    secondary_qrels: Path | None = None
    answers: Path | None = None


@dataclass(frozen=True)
class Inputs:
    """A benchmark with what it reads, each part when it is first asked for."""

    file: BenchmarkFile
    set_name: str
    query_set: QuerySet

    @classmethod
    def of(cls, file: BenchmarkFile, set_name: str | None) -> Inputs:
        """Raises NotFoundError for a set that is not there."""
        return cls(file, *file.table.questions.named(set_name))

    @cached_property
    def collection(self) -> Collection | None:
        """The collection of the corpus's source. Raises as `open_collection`."""
        source, corpus = self.file.source(), self.file.table.corpus
        return None if source is None or corpus is None else open_collection(source, corpus.split)

    @property
    def query_path(self) -> Path | None:
        return self.file.placed(self.file.table.questions.file)

    @cached_property
    def questions(self) -> tuple[Topic, ...]:
        """The questions of the set, in the order of their file. Raises InputError for a qid that is not there."""
        path = self.query_path
        if path is not None:
            place, found = str(path), read_questions(path)
        else:
            assert self.collection is not None  # checked by Benchmark
            place, found = self.collection.source, list(self.collection.topics)
            if not found:
                raise InputError(f"{place}: has no topics: name a file under questions.file")
            check_questions(found, place)
        return tuple(_of_set(found, self.query_set, self.file, place))

    def labels(self, explicit: Labels, manifest: Mapping[str, Any] | None = None, folder: Path = Path()) -> Labels:
        """Each file as the command line gives it, else as the manifest of an earlier run in the folder, if it is still
        there, else as the benchmark says."""
        table = self.file.table.labels
        found: dict[str, Path | None] = {}
        for name in (item.name for item in fields(Labels)):
            told = (manifest or {}).get(_KEYS[name])
            before = folder / told if isinstance(told, str) and (folder / told).is_file() else None
            found[name] = getattr(explicit, name) or before or self.file.placed(getattr(table, name))
        return Labels(**found)

    def judgments(self, labels: Labels) -> dict[str, Qrels]:
        """name -> judgments, primary first: of files that are there, the first else of the source."""
        found: dict[str, Qrels] = {}
        for name in ("qrels", "secondary_qrels"):
            path: Path | None = getattr(labels, name)
            if path is not None and path.is_file():
                found[name] = read_qrels(path)
        if labels.qrels is None and (qrels := self._of_source()):
            found = {"qrels": qrels, **found}
        return found

    def kept(self, labels: Labels, folder: Path) -> Labels:
        """The same with the judgments of a source in a file of the run's folder, that of the asked questions alone."""
        if labels.qrels is not None or not (qrels := self._of_source()):
            return labels
        place = folder / COPIES
        place.mkdir(parents=True, exist_ok=True)
        wanted = [question.qid for question in self.questions]
        write_qrels(place / "qrels.txt", {qid: qrels[qid] for qid in wanted if qid in qrels})
        return Labels(place / "qrels.txt", labels.secondary_qrels, labels.answers)

    def _of_source(self) -> Qrels:
        return {} if self.collection is None else self.collection.qrels

    def manifest(self, labels: Labels, setup: Setup, index: str, folder: Path) -> dict[str, Any]:
        """What `run.json` tells beside the settings. A file in the run's folder is told relative to it."""
        table, metrics = self.file.table, self.file.table.metrics
        query = self.query_path
        hashes = {} if query is None else {"query": file_facts(query)}
        paths: dict[str, str] = {}
        for name, key in _KEYS.items():
            path: Path | None = getattr(labels, name)
            if path is None:
                continue
            inside = path.is_relative_to(folder)
            paths[key] = str(path.relative_to(folder) if inside else path.resolve())
            hashes[_HASHED.get(name, name)] = file_facts(path)
            if not path.is_file():
                _log.warning("%s: there is no such file: the run goes on without it", path)
        return {
            "benchmark_id": table.id,
            "benchmark_display_name": table.name,
            "dataset_id": table.dataset or table.id,
            "query_set_id": self.set_name,
            "variant": setup.variant,
            "prompt_variant": setup.prompt,
            "query_path": self.file.source() if query is None else str(query.resolve()),
            **paths,
            "index_path": index,
            "input_hashes": hashes,
            "metric_semantics": {"gain": metrics.gain, "recall_level": metrics.level},
            "judge_modes": list(table.judge),
        }


def file_facts(path: Path) -> dict[str, Any]:
    """Whether a file exists, and its SHA-256 and size if it does."""
    if not path.is_file():
        return {"exists": False, "algorithm": "sha256"}
    with path.open("rb") as data:
        digest = hashlib.file_digest(data, "sha256").hexdigest()
    return {"exists": True, "algorithm": "sha256", "sha256": digest, "bytes": path.stat().st_size}


def _of_set(questions: Sequence[Topic], query_set: QuerySet, file: BenchmarkFile, place: str) -> Sequence[Topic]:
    if query_set.first is not None:
        return questions[: query_set.first]
    if query_set.file is not None:
        path = file.place(query_set.file)
        qids = [line.split()[0] for _, line in text_lines(path)]
        if not qids:
            raise InputError(f"{path}: no qid in this file; write one a line")
        return chosen(questions, qids, place)
    return chosen(questions, query_set.qids or (), place)

"""The index of a benchmark, built once; and its questions as plain BM25, each as it stands, with the benchmark's
measures."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sira.agent.backend import Backend
    from sira.agent.benchmark import Setup
    from sira.agent.benchmark_inputs import Inputs, Labels
    from sira.evaluate.indexes import IndexStore, Variant
    from sira.records import Ranking, Run, Topic

DEPTH = 1000
RUN, SUMMARY = "bm25.trec", "retrieval.json"
_TREC_NAMES = {"nDCG": "ndcg_cut", "Recall": "recall", "MRR": "recip_rank", "MAP": "map"}


def prepared_index(inputs: Inputs, setup: Setup, folder: Path | None, *, progress: bool) -> Path | None:
    """The index folder: as named, or found in the folder of indexes, or built there now; None where a server searches.

    Raises InputError where another process builds it now, and as indexing does.
    """
    from sira.folders import owned

    found = _named(inputs, setup)
    if found is not None or setup.server is not None:
        return found
    store, variant = _store(inputs, folder, progress=progress)
    path = store.path(variant)
    if not (path / "manifest.json").is_file():
        with owned(path.parent):
            print(f"sira: {path}: is built now, once", file=sys.stderr)
            store.get(variant)
    return path


def index_place(inputs: Inputs, setup: Setup, folder: Path | None) -> str:
    """Where the index is or will be, in words; nothing is built."""
    if setup.server is not None:
        return f"server {setup.server.search_url}"
    found = _named(inputs, setup)
    if found is not None:
        return f"{found}" + ("" if found.is_dir() else " (is not there)")
    store, variant = _store(inputs, folder, progress=False)
    path = store.path(variant)
    return f"{path}" + ("" if (path / "manifest.json").is_file() else " (to be built)")


def _named(inputs: Inputs, setup: Setup) -> Path | None:
    corpus = inputs.file.table.corpus
    return None if setup.server is not None or corpus is None else inputs.file.placed(corpus.index)


def _store(inputs: Inputs, folder: Path | None, *, progress: bool) -> tuple[IndexStore, Variant]:
    from sira.evaluate.config import CollectionConfig
    from sira.evaluate.indexes import IndexStore, Variant
    from sira.paths import cache_folder

    table, corpus, source = inputs.file.table, inputs.file.table.corpus, inputs.file.source()
    assert corpus is not None, "checked by Benchmark"
    assert source is not None, "checked by Benchmark"
    assert inputs.collection is not None, "a source is a collection"
    facts = {"name": table.id, "source": source, "analyzer": corpus.analyzer or "english"}
    facts |= {"duplicates": corpus.duplicates, "facet_words": corpus.facet_words}
    config = CollectionConfig.model_validate(facts)
    place = (folder or cache_folder() / "indexes") / table.id
    return IndexStore(place, config, inputs.collection, progress=progress), Variant("plain", config.gate)


def retrieve(
    inputs: Inputs, setup: Setup, explicit: Labels, questions: tuple[Topic, ...], arguments: argparse.Namespace
) -> int:
    """Write the run and its summary into --out, and print `measure, scope, value` as trec_eval names them."""
    from sira.agent.backend import IndexBackend
    from sira.agent.benchmark_run import open_source
    from sira.corpora.trec_writer import write_run
    from sira.evaluate.agents.prefix import prefix_metrics
    from sira.folders import owned
    from sira.lucene.reader import Index

    out: Path = arguments.out
    labels = inputs.labels(explicit)
    judged = inputs.judgments(labels)
    metrics = inputs.file.table.metrics
    quiet = arguments.watch == "off"
    index = prepared_index(inputs, setup, arguments.indexes, progress=not quiet)
    with open_source(inputs, setup, index) as source, owned(out):
        backend = IndexBackend(source, setup.tools.scoring) if isinstance(source, Index) else source
        found = _searched(backend, questions, own=_own(inputs), quiet=quiet)
        write_run(out / RUN, found)
        facts = dict(backend.facts)
    rows: list[dict[str, Any]] = []
    for name, qrels in judged.items():
        values = prefix_metrics(found, qrels, metrics.measures, gain=metrics.gain, recall_level=metrics.level)
        for measure, by_question in values.items():
            if not by_question:
                raise InputError(f"{name}: none of the {len(questions)} questions is judged: check the file")
            value = sum(by_question.values()) / len(by_question)
            rows.append(
                {
                    "labels": name,
                    "metric": trec_name(measure),
                    "scope": "all",
                    "value": value,
                    "questions": len(by_question),
                }
            )
    summary = {
        "benchmarkId": inputs.file.table.id,
        "querySetId": inputs.set_name,
        "backend": "internal",
        "sourceType": "run-file",
        "sourcePath": RUN,
        "qrelsPath": None if labels.qrels is None else str(labels.qrels.absolute()),
        "secondaryQrelsPath": None if labels.secondary_qrels is None else str(labels.secondary_qrels.absolute()),
        "queryCount": len(questions),
        "metricSemantics": {"ndcgGain": metrics.gain, "recallLevel": metrics.level},
        "searched": facts,
        "metrics": rows,
    }
    _write(out / SUMMARY, summary)
    for row in rows:
        head = "" if len(judged) == 1 else f"{row['labels']}\t"
        print(f"{head}{row['metric']}\t{row['scope']}\t{row['value']:.4f}")
    print(f"sira: {out}: {RUN}, {SUMMARY}; {len(questions)} questions", file=sys.stderr)
    return 0


def trec_name(measure: str) -> str:
    """trec_eval's name of a measure: `nDCG@10` is ndcg_cut_10."""
    name, _, cut = measure.partition("@")
    return f"{_TREC_NAMES[name]}_{cut}" if cut else _TREC_NAMES[name]


def _own(inputs: Inputs) -> bool:
    """Whether a document of the question's own id counts as a hit."""
    return inputs.file.source() is None or inputs.collection is None or not inputs.collection.ignore_self_hits


def _searched(backend: Backend, questions: tuple[Topic, ...], *, own: bool, quiet: bool) -> Run:
    from tqdm import tqdm

    from sira.records import Run

    rankings: dict[str, Ranking] = {}
    for question in tqdm(questions, unit=" questions", disable=quiet, leave=False):
        ranking = _ranking(backend, question, DEPTH + (not own))
        rankings[question.qid] = (ranking if own else ranking.without(question.qid)).top(DEPTH)
    return Run("bm25", rankings)


def _ranking(backend: Backend, question: Topic, depth: int) -> Ranking:
    """By its scores, or where a server tells none by its ranks."""
    from sira.records import Ranking

    found = backend.search(question.text, depth)
    scores = [score for score in found.scores if score is not None]
    if backend.index is not None and len(scores) == len(found.docids):
        return Ranking(found.docids, tuple(scores))
    return Ranking(found.docids, tuple(map(float, range(len(found.docids), 0, -1))))


def _write(path: Path, data: Mapping[str, Any]) -> None:
    from sira.corpora.files import replacing

    with replacing(path) as stream:
        json.dump(data, stream, ensure_ascii=False, indent=1)
        stream.write("\n")

"""`sira dense`: rank a collection by an embedding model, and write the TREC run for experiments and fusion."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.errors import InputError

if TYPE_CHECKING:
    from sira.dense.job import Places

HELP = "rank a collection by an embedding model, into a TREC run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Encode the documents and topics of a collection by a model of sentence-transformers, and write the topics' "
        'nearest documents as a TREC run, which experiments import (kind = "run") and `sira fuse` takes. Vectors are '
        "kept: stopped at any moment and started again, it goes on where it was. Needs no Java."
    )
    add = parser.add_argument
    add("source", help="the collection: a BEIR folder, a .jsonl(.gz) file or folder, irds:ID")
    add("--model", required=True, metavar="MODEL", help="package:NAME, a folder, or a hub's id")
    add("--out", type=Path, required=True, metavar="RUN.trec", help="the run; its facts go into RUN.json beside it")
    add("--split", help="of the collection")
    add(
        "--topics", type=Path, metavar="FILE", help="topics in place of the collection's: TSV (qid, text) or JSON Lines"
    )
    add("-k", "--k", type=int, default=1000, metavar="N", help="hits a topic (1000)")
    add("--name", metavar="TAG", help="the run tag (the model's name)")
    add("--quiet", action="store_true", help="no progress bar")
    _add_model(parser)
    _add_vectors(parser)
    _add_search(parser)


def _add_model(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("model").add_argument
    add("--revision", help="commit, tag or branch, of a hub's model")
    add("--query-prompt", metavar="TEXT", help="stands before each topic (as the model is known, or says)")
    add("--document-prompt", metavar="TEXT", help="stands before each document (the same)")
    add("--max-length", type=int, metavar="N", help="tokens after which a text is cut (as the model says)")
    add("--similarity", choices=("cosine", "dot"), help="how vectors are compared (as the model says)")
    add("--batch-size", type=int, default=32, metavar="N", help="texts encoded at once (32)")
    add("--device", help="such as cpu, cuda, mps (the fastest there is)")


def _add_vectors(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("vectors").add_argument
    add("--vectors", type=Path, metavar="DIR", help="where they are kept (RUN.vectors beside the run)")
    add("--shard-documents", type=int, default=1000, metavar="N", help="a kill costs the work on so many (1000)")
    add("--dtype", choices=("float32", "float16"), default="float32", help="how they are stored (float32)")
    add("--duplicates", choices=("refuse", "keep-first"), default="refuse", help="docids that come twice (refuse)")


def _add_search(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("search").add_argument
    add("--index", choices=("exact", "faiss"), default="exact", help="every document, or an index of faiss (exact)")
    add("--faiss-factory", default="Flat", metavar="STRING", help="such as HNSW32 or IVF1024,Flat (Flat)")
    add("--faiss-parameters", metavar="STRING", help="of its search, such as nprobe=32 or efSearch=128")


def run(arguments: argparse.Namespace) -> int:
    from sira.cli.options import unique_topics
    from sira.corpora.collection import open_collection
    from sira.dense.encoding import VectorSettings
    from sira.dense.job import SearchSettings, run_dense
    from sira.dense.transformer import ModelSettings, TransformerEncoder

    vectors = VectorSettings(arguments.shard_documents, arguments.dtype, arguments.duplicates)
    search = SearchSettings(arguments.k, arguments.index, arguments.faiss_factory, arguments.faiss_parameters)
    model = ModelSettings(
        arguments.model,
        revision=arguments.revision,
        topic_prompt=arguments.query_prompt,
        document_prompt=arguments.document_prompt,
        max_length=arguments.max_length,
        batch_size=arguments.batch_size,
        device=arguments.device,
        similarity=arguments.similarity,
    )
    places = _places(arguments)
    places.check()
    collection = open_collection(arguments.source, arguments.split)
    topics = unique_topics(arguments.topics) if arguments.topics else collection.topics
    if not topics:
        raise InputError(f"{arguments.source}: has no topics: give --topics FILE")
    encoder = TransformerEncoder(model)
    _say(
        run_dense(collection, topics, encoder, places, vectors=vectors, search=search, progress=not arguments.quiet),
        places,
    )
    return 0


def _places(arguments: argparse.Namespace) -> Places:
    from sira.dense.job import Places

    out: Path = arguments.out
    tag = arguments.name or re.sub(r"\s+", "-", Path(arguments.model.partition(":")[2] or arguments.model).name)
    return Places(out, tag, arguments.vectors or out.with_suffix(".vectors"))


def _say(facts: dict[str, Any], places: Places) -> None:
    run, model, vectors, seconds = facts["run"], facts["model"], facts["vectors"], facts["seconds"]
    counts = vectors["counts"]
    print(f"{places.run}: {run['topics']:,} topics, {run['hits']:,} hits, at most {run['depth']:,} a topic")
    if run["blank_topics"]:
        print(f"blank topics, without a ranking: {run['blank_topics']:,}")
    cut = f"cut at {model['max_length']:,} tokens" if model.get("max_length") else "uncut"
    print(f"model: {model['name']}, {counts['dimension']} numbers a vector, {model['similarity']}, texts {cut}")
    print(
        f"prompts ({model['prompts_from']}): topics {model['topic_prompt']!r}, documents {model['document_prompt']!r}"
    )
    print(
        f"vectors: {counts['documents']:,} documents in {places.vectors}, {vectors['bytes']:,} bytes "
        f"(empty: {counts['empty']:,}; left out: {counts['skipped']:,} unreadable, {counts['duplicates']:,} twice)"
    )
    speed = vectors["documents_per_second"]
    now = f"{vectors['encoded_now']:,} documents, {speed:,.1f} a second" if speed else "none, all were there"
    print(f"encoded now: {now}; topics {seconds['topics']:.1f} s, search {seconds['search']:.1f} s")
    if run["self_hits_to_be_removed"]:
        print("a document whose docid is the qid is no hit in this collection: the run is one deeper, remove it there")

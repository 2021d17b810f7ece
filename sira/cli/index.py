"""`sira index`: build an index, change its expansions, add, replace and delete documents."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.cli.options import add_heap, refuse, use_heap
from sira.errors import InputError

if TYPE_CHECKING:
    from sira.expand.gate import GateSettings
    from sira.lucene.manifest import Manifest

HELP = "build an index from a corpus and its expansions"

# The defaults of build_index and GateSettings, written out so that `--help` imports neither (a test compares them).
BUILDING: Mapping[str, Any] = {
    "analyzer": "english",
    "duplicates": "refuse",
    "field": [],
    "facet_words": False,
    "no_text": False,
    "overwrite": False,
}
GATE: Mapping[str, Any] = {"max_df_ratio": 0.2, "max_n": 3, "max_phrases": 50}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", nargs="?", help="the corpus: a BEIR folder, a .jsonl(.gz) file or folder, irds:ID, datasets:NAME"
    )
    parser.add_argument("--input", metavar="SOURCE", help="the same as the first argument")
    parser.add_argument("--index", type=Path, required=True, metavar="DIR", help="the index folder")
    parser.add_argument("--expansions", type=Path, metavar="STORE", help="phrases by document: JSON Lines")
    parser.add_argument("--threads", type=int, default=2, help="threads that write (2)")
    parser.add_argument(
        "--export-df", type=Path, metavar="FILE", help="write the df of every term to a file that needs no Java"
    )
    add_heap(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    parser.set_defaults(**GATE)
    build = parser.add_argument_group("building").add_argument
    build("--analyzer", default="english", help="analyzer or language, such as english, de, zh (english)")
    build("--duplicates", choices=("refuse", "keep-first"), default="refuse", help="docids that come twice (refuse)")
    build("--field", action="append", default=[], metavar="NAME:TYPE", help="for ranges: integer, number or date")
    build("--facet-words", action="store_true", help="the words of facets also go into contents")
    build("--no-text", action="store_true", help="do not store the text: smaller, documents cannot be read back")
    build("--overwrite", action="store_true", help="replace an index that is there")
    gate = parser.add_argument_group("document-side gate, with --expansions").add_argument
    gate("--max-df-ratio", type=float, metavar="TAU", help="windows above this share of the corpus are dropped (0.2)")
    gate("--max-n", type=int, metavar="N", help="longest window in words (3)")
    gate("--max-phrases", type=int, metavar="N", help="most phrases of one document (50)")
    change = parser.add_argument_group("changing an index").add_argument
    change("--add", metavar="SOURCE", help="add documents; their docids must be new")
    change("--update", metavar="SOURCE", help="add documents, replacing those of the same docid")
    change(
        "--delete", type=Path, metavar="FILE", help="delete the documents whose docids stand in the file, one a line"
    )
    change("--drop-expansions", action="store_true", help="remove all expansions from the index")


def run(arguments: argparse.Namespace) -> int:
    if arguments.source and arguments.input:
        raise InputError("the corpus is given twice: as the first argument and by --input")
    source = arguments.source or arguments.input
    changes = [arguments.add, arguments.update, arguments.delete, arguments.drop_expansions or None]
    change = any(changes) or bool(arguments.expansions)
    if not source and not change and not arguments.export_df:
        raise InputError(
            "nothing to do: give a corpus, or --expansions, --add, --update, --delete, --drop-expansions or --export-df"
        )
    if source and any(changes):
        raise InputError("a corpus to build from and a change of an index cannot go together: run two commands")
    if arguments.add and arguments.update:
        raise InputError("--add and --update cannot go together: run two commands")
    if not source:
        refuse(arguments, BUILDING, "it belongs to building an index: the index has its own already")
    if not arguments.expansions:
        refuse(arguments, GATE, "it belongs to --expansions, which is not given")
    use_heap(arguments)
    if source or change:
        if source:
            manifest = _build(source, arguments)
        elif any(changes):
            manifest = _change(arguments)
        else:
            manifest = _expand(arguments)
        _say(manifest, arguments.index)
    if arguments.export_df:
        _export_df(arguments.index, arguments.export_df)
    return 0


def _gate(arguments: argparse.Namespace) -> GateSettings:
    from sira.expand.gate import GateSettings

    return GateSettings(arguments.max_df_ratio, arguments.max_n, arguments.max_phrases)


def _build(source: str, arguments: argparse.Namespace) -> Manifest:
    from sira.corpora.collection import open_collection
    from sira.expand.indexing import build_expanded_index
    from sira.lucene.values import parse_value_fields
    from sira.lucene.writer import build_index

    fields = parse_value_fields(arguments.field)
    collection = open_collection(source, value_fields=tuple(fields))
    progress = not arguments.quiet

    def build(target: Path, *, overwrite: bool = False) -> Manifest:
        return build_index(
            collection.documents,
            target,
            analyzer=arguments.analyzer,
            duplicates=arguments.duplicates,
            value_fields=fields,
            facet_words=arguments.facet_words,
            store_text=not arguments.no_text,
            threads=arguments.threads,
            overwrite=overwrite,
            progress=progress,
        )

    if not arguments.expansions:
        return build(arguments.index, overwrite=arguments.overwrite)
    gate = _gate(arguments)
    return build_expanded_index(
        build, arguments.expansions, arguments.index, gate, overwrite=arguments.overwrite, progress=progress
    )


def _expand(arguments: argparse.Namespace) -> Manifest:
    from sira.expand.indexing import expand_index

    path: Path = arguments.index
    return expand_index(
        path, arguments.expansions, path, _gate(arguments), overwrite=True, progress=not arguments.quiet
    )


def _change(arguments: argparse.Namespace) -> Manifest:
    from sira.corpora.collection import open_collection
    from sira.corpora.files import text_lines
    from sira.lucene.reader import Index
    from sira.lucene.update import drop_expansions, update_index

    path: Path = arguments.index
    if arguments.drop_expansions:
        if arguments.expansions or arguments.add or arguments.update or arguments.delete:
            raise InputError("--drop-expansions stands alone: run two commands")
        return drop_expansions(path, path, overwrite=True)
    with Index(path) as index:
        fields = tuple(index.manifest.value_fields)
        expanded = index.expanded_documents
    source = arguments.add or arguments.update
    manifest = update_index(
        path,
        add=open_collection(source, value_fields=fields).documents if source else None,
        update=bool(arguments.update),
        delete=[line.strip() for _, line in text_lines(arguments.delete)] if arguments.delete else (),
        threads=arguments.threads,
        progress=not arguments.quiet,
    )
    if arguments.expansions:
        return _expand(arguments)
    left = manifest.statistics.get("expansion", {}).get("documents", 0)
    if expanded and (source or left < expanded):
        print(
            f"sira: expansions: {expanded} documents had some, {left} have some now; "
            "added and replaced documents have none until --expansions attaches them again",
            file=sys.stderr,
        )
    return manifest


def _export_df(path: Path, file: Path) -> None:
    """df of `contents`, that is of the base corpus: the same with expansions and without."""
    from sira.corpora.df_table import write_df_table
    from sira.lucene.reader import Index

    with Index(path) as index:
        count = write_df_table(
            file,
            lambda: index.terms("contents"),
            documents=index.document_count,
            analyzer=index.manifest.analyzer,
            fingerprint=index.contents_fingerprint,
        )
    print(f"{file}: df of {count} terms")


def _say(manifest: Manifest, path: Path) -> None:
    """What is in the index now on stdout, what was left out on stderr."""
    skipped = sum(manifest.skipped.values())
    print(f"{path}: {manifest.documents} documents, analyzer {manifest.analyzer}")
    print(f"read {manifest.read} = indexed {manifest.indexed} (of them empty: {manifest.empty}) + skipped {skipped}")
    for reason, count in manifest.skipped.items():
        print(f"sira: skipped {count} records: {reason}", file=sys.stderr)
    for example in manifest.skipped_examples[:5]:
        print(f"sira:   {example}", file=sys.stderr)
    if skipped > 5:
        print(f"sira:   and {skipped - 5} more; manifest.json names the first 20", file=sys.stderr)
    for what, count in manifest.dropped.items():
        print(f"sira: dropped from indexed documents: {what}: {count}", file=sys.stderr)
    if not manifest.expansion:
        return
    facts, counts = manifest.statistics.get("expansion", {}), manifest.expansion["counts"]
    print(f"expansions of {facts.get('documents', 0)} documents: {facts.get('sum_doc_freq', 0)} postings")
    print(
        f"as attached: {counts.get('phrases_kept', 0)} of {counts.get('phrases_proposed', 0)} phrases kept, "
        f"{counts.get('windows_too_common', 0)} windows too common (df above {manifest.expansion['gate']['bound']})"
    )
    if counts.get("rows_expired"):
        print(f"sira: {counts['rows_expired']} rows had expired and were left out", file=sys.stderr)
    if manifest.expansion["unknown_docids"]:
        examples = ", ".join(manifest.expansion["unknown_examples"])
        print(f"sira: {manifest.expansion['unknown_docids']} rows are of no document here: {examples}", file=sys.stderr)

"""`sira index`: build an index, change its expansions, add, replace and delete documents."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sira.errors import InputError

if TYPE_CHECKING:
    from sira.lucene.manifest import Manifest

HELP = "build an index from a corpus and its expansions"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", nargs="?", help="the corpus: a BEIR folder, a .jsonl(.gz) file or folder, irds:ID")
    parser.add_argument("--input", metavar="SOURCE", help="the same as the first argument")
    parser.add_argument("--index", type=Path, required=True, metavar="DIR", help="the index folder")
    parser.add_argument(
        "--expansions", type=Path, metavar="STORE", help="phrases by document: JSON Lines {docid, phrases}"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an index that is there")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    build = parser.add_argument_group("building")
    build.add_argument("--analyzer", default="english", help="analyzer or language, such as english, de, zh (english)")
    build.add_argument(
        "--duplicates", choices=("refuse", "keep-first"), default="refuse", help="docids that come twice (refuse)"
    )
    build.add_argument(
        "--field", action="append", default=[], metavar="NAME:TYPE", help="a field for ranges: integer, number or date"
    )
    build.add_argument("--facet-words", action="store_true", help="the words of facets also go into contents")
    build.add_argument(
        "--no-text", action="store_true", help="do not store the text: smaller, but documents cannot be read back"
    )
    build.add_argument("--threads", type=int, default=2, help="threads that write (2)")
    build.add_argument(
        "--heap", metavar="SIZE", help="Java's heap, such as 512m or 4g (default: $SIRA_JAVA_HEAP or 1g)"
    )
    gate = parser.add_argument_group("document-side gate")
    gate.add_argument(
        "--max-df-ratio",
        type=float,
        default=0.2,
        help="tau: windows above this share of the corpus are dropped (0.2)",
    )
    gate.add_argument("--max-n", type=int, default=3, help="longest window in words (3)")
    gate.add_argument("--max-phrases", type=int, default=50, help="most phrases of one document (50)")
    change = parser.add_argument_group("changing an index")
    change.add_argument("--add", metavar="SOURCE", help="add documents; their docids must be new")
    change.add_argument("--update", metavar="SOURCE", help="add documents, replacing those of the same docid")
    change.add_argument(
        "--delete", type=Path, metavar="FILE", help="delete the documents whose docids stand in the file, one a line"
    )
    change.add_argument("--drop-expansions", action="store_true", help="remove all expansions from the index")


def run(arguments: argparse.Namespace) -> int:
    from sira.lucene.jvm import configure_heap

    if arguments.source and arguments.input:
        raise InputError("the corpus is given twice: as the first argument and by --input")
    if arguments.heap:
        configure_heap(arguments.heap)
    source = arguments.source or arguments.input
    changes = [arguments.add, arguments.update, arguments.delete, arguments.drop_expansions or None]
    if source and any(changes):
        raise InputError("a corpus to build from and a change of an index cannot go together: run two commands")
    if not source and not any(changes) and not arguments.expansions:
        raise InputError(
            "nothing to do: give a corpus, or --expansions, --add, --update, --delete or --drop-expansions"
        )
    if arguments.add and arguments.update:
        raise InputError("--add and --update cannot go together: run two commands")
    if source:
        manifest = _build(source, arguments)
    elif any(changes):
        manifest = _change(arguments)
    else:
        manifest = _expand(arguments.index, arguments.index, arguments, overwrite=True)
    _say(manifest, arguments.index)
    return 0


def _build(source: str, arguments: argparse.Namespace) -> Manifest:
    from sira.corpora.collection import open_collection
    from sira.lucene.folders import staging
    from sira.lucene.values import parse_value_fields
    from sira.lucene.writer import build_index

    fields = parse_value_fields(arguments.field)
    collection = open_collection(source, value_fields=tuple(fields))

    def build(target: Path, *, overwrite: bool) -> Manifest:
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
            progress=not arguments.quiet,
        )

    if not arguments.expansions:
        return build(arguments.index, overwrite=arguments.overwrite)
    with staging(arguments.index, overwrite=arguments.overwrite) as folder:
        build(folder / "base", overwrite=False)
        _expand(folder / "base", folder / "expanded", arguments, overwrite=False)
        return _promote(folder)


def _promote(folder: Path) -> Manifest:
    """Make the expanded index in a staging folder the folder's own content."""
    import shutil

    from sira.lucene.manifest import read_manifest

    shutil.rmtree(folder / "base")
    for file in (folder / "expanded").iterdir():
        file.rename(folder / file.name)
    (folder / "expanded").rmdir()
    manifest = read_manifest(folder)
    assert manifest is not None
    return manifest


def _expand(base: Path, target: Path, arguments: argparse.Namespace, *, overwrite: bool) -> Manifest:
    from sira.expand.gate import GateSettings
    from sira.expand.indexing import expand_index

    settings = GateSettings(arguments.max_df_ratio, arguments.max_n, arguments.max_phrases)
    return expand_index(base, arguments.expansions, target, settings, overwrite=overwrite, progress=not arguments.quiet)


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
    source = arguments.add or arguments.update
    documents = open_collection(source, value_fields=fields).documents if source else None
    manifest = update_index(
        path,
        add=documents,
        update=bool(arguments.update),
        delete=[line.strip() for _, line in text_lines(arguments.delete)] if arguments.delete else (),
        threads=arguments.threads,
        progress=not arguments.quiet,
    )
    return _expand(path, path, arguments, overwrite=True) if arguments.expansions else manifest


def _say(manifest: Manifest, path: Path) -> None:
    """What is in the index now on stdout, what was left out on stderr."""
    skipped = sum(manifest.skipped.values())
    print(f"{path}: {manifest.documents} documents, analyzer {manifest.analyzer}")
    print(f"read {manifest.read} = indexed {manifest.indexed} (of them empty: {manifest.empty}) + skipped {skipped}")
    for reason, count in manifest.skipped.items():
        print(f"sira: skipped {count} records: {reason}", file=sys.stderr)
    for example in manifest.skipped_examples[:5]:
        print(f"sira:   {example}", file=sys.stderr)
    for what, count in manifest.dropped.items():
        print(f"sira: dropped from indexed documents: {what}: {count}", file=sys.stderr)
    if manifest.expansion:
        counts = manifest.expansion["counts"]
        print(
            f"expansions of {manifest.expansion['documents']} documents: {counts.get('phrases_kept', 0)} phrases, "
            f"{counts.get('windows_kept', 0)} postings kept, {counts.get('windows_too_common', 0)} too common "
            f"(df above {manifest.expansion['gate']['bound']})"
        )
        if manifest.expansion["unknown_docids"]:
            examples = ", ".join(manifest.expansion["unknown_examples"])
            print(
                f"sira: {manifest.expansion['unknown_docids']} rows are of no document here: {examples}",
                file=sys.stderr,
            )

"""`sira filter`: from the phrases that a model proposed to those worth indexing, with the reason for every other."""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.cli.options import add_heap, refuse, use_heap
from sira.errors import InputError

if TYPE_CHECKING:
    from sira.filters.vocabulary import Vocabulary
    from sira.policy import Policy

HELP = "drop the proposed phrases that are known, common or forbidden"

# The defaults of FilterSettings, written out so that `--help` does not import it (a test compares them).
SETTINGS: dict[str, Any] = {
    "max_df_ratio": 0.2,
    "min_df": 0,
    "max_phrases": 50,
    "max_words": None,
    "expires_days": None,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, help="the expansion store: a .jsonl(.gz) file or a folder of them")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder of the filtered store")
    parser.add_argument("--corpus", metavar="SOURCE", help="drop what the documents say already: their corpus")
    words = parser.add_mutually_exclusive_group().add_argument
    words("--df", type=Path, metavar="FILE", help="drop what is common: a df table of `sira index --export-df`")
    words("--index", type=Path, metavar="DIR", help="the same from an index, of any analyzer (needs Java)")
    words("--analyzer", metavar="NAME", help="without either: the analyzer of the index that is to be (english)")
    rules = parser.add_mutually_exclusive_group().add_argument
    rules("--policy", type=Path, metavar="FILE", help="forbidden words and patterns (those that come with sira)")
    rules("--no-policy", action="store_true", help="forbid nothing")
    parser.set_defaults(**SETTINGS)
    add = parser.add_argument
    add("--max-df-ratio", type=float, metavar="TAU", help="phrases of words above this share of the corpus go (0.2)")
    add(
        "--min-df", type=int, metavar="N", help="phrases whose rarest word is in fewer documents go (0: new words stay)"
    )
    add("--max-phrases", type=int, metavar="N", help="most phrases of one document (50)")
    add("--max-words", type=int, metavar="N", help="longest phrase in words (any)")
    add("--expires-days", type=int, metavar="N", help="rows without a date expire N days from today (never)")
    add("--today", metavar="DATE", help="the day that counts for expiry, YYYY-MM-DD (today in UTC)")
    add("--keep-verdicts", action="store_true", help="rows also list what was dropped and why, forbidden phrases too")
    add("--overwrite", action="store_true", help="replace a filtered store that is there")
    add("--quiet", action="store_true", help="no progress bar")
    add_heap(parser)


def run(arguments: argparse.Namespace) -> int:
    from sira.corpora.collection import open_collection
    from sira.filters.filtering import Filter, filter_store
    from sira.filters.rules import FilterSettings

    if not arguments.df and not arguments.index:
        unused = {name: SETTINGS[name] for name in ("max_df_ratio", "min_df")}
        refuse(arguments, unused, "it needs document frequencies: add --df FILE or --index DIR")
    settings = FilterSettings(**{name: getattr(arguments, name) for name in SETTINGS})
    today = _day(arguments.today)
    policy = _policy(arguments)
    documents = open_collection(arguments.corpus).documents if arguments.corpus else None
    with contextlib.ExitStack() as stack:
        how = Filter(settings, _vocabulary(arguments, stack), today, documents, policy, arguments.keep_verdicts)
        manifest = filter_store(
            arguments.store, arguments.out, how, overwrite=arguments.overwrite, progress=not arguments.quiet
        )
    _say(manifest, arguments.out)
    return 0


def _day(given: str | None) -> dt.date:
    if given is None:
        return dt.datetime.now(dt.UTC).date()
    try:
        return dt.date.fromisoformat(given)
    except ValueError:
        raise InputError(f"--today {given!r}: give a date, YYYY-MM-DD") from None


def _policy(arguments: argparse.Namespace) -> Policy | None:
    from sira.policy import DEFAULT_POLICY, read_policy

    return None if arguments.no_policy else read_policy(arguments.policy or DEFAULT_POLICY)


def _vocabulary(arguments: argparse.Namespace, stack: contextlib.ExitStack) -> Vocabulary:
    from sira.filters.vocabulary import index_vocabulary, plain_vocabulary, table_vocabulary

    if arguments.index:
        from sira.lucene.reader import Index

        use_heap(arguments)
        return index_vocabulary(stack.enter_context(Index(arguments.index)))
    refuse(arguments, {"heap": None}, "it belongs to --index, which is not given")
    if arguments.df:
        from sira.corpora.df_table import read_df_table

        return table_vocabulary(read_df_table(arguments.df))
    return plain_vocabulary(arguments.analyzer or "english")


def _say(manifest: dict[str, Any], path: Path) -> None:
    """The verdicts on stdout, what was left undone on stderr."""
    from sira.tables import text_table

    verdicts, rows, phrases = manifest["verdicts"], manifest["rows"], manifest["phrases"]
    listed = {**verdicts, "expired": phrases["expired"]}
    total = phrases["proposed"]
    print(f"{path}: {verdicts['kept']} of {total} phrases kept, {rows['read']} rows\n")
    shown = [[name, str(count), f"{count / total:.1%}"] for name, count in listed.items() if count]
    print(text_table(["verdict", "phrases", "share"], shown), end="")
    if manifest["forbidden"]:
        classes = ", ".join(f"{name} {count}" for name, count in manifest["forbidden"].items())
        print(f"\nforbidden: {classes}")
    for name, remedy in (("novelty", "--corpus SOURCE"), ("df", "--df FILE or --index DIR")):
        if str(manifest[name]).startswith("skipped"):
            print(f"sira: {name} was not tested: add {remedy}", file=sys.stderr)
    if rows["expired"]:
        print(f"sira: {rows['expired']} rows had expired: their phrases were dropped", file=sys.stderr)
    if rows["without_document"]:
        examples = "; ".join(rows["without_document_examples"])
        print(f"sira: {rows['without_document']} rows are of no document of the corpus: {examples}", file=sys.stderr)

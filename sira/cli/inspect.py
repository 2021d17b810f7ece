"""`sira inspect`: statistics and samples of an expansion store, as text, as JSON, as a page of HTML."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from sira.errors import InputError

if TYPE_CHECKING:
    from sira.inspection.statistics import Frequencies

HELP = "show what an expansion store holds: statuses, phrases, samples"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{HELP}. Works on a store that is still being written, on a filtered one, and on any .jsonl(.gz) file or "
        "folder of rows with docid and phrases."
    )
    parser.add_argument("store", type=Path, help="the store: a folder, or one file")
    parser.add_argument("--df", type=Path, metavar="FILE", help="a df table: adds the df of each phrase's rarest word")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a page with charts, whole in itself")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="the most common phrases shown (20)")
    parser.add_argument("--samples", type=int, default=3, metavar="N", help="rows shown of each status (3)")
    parser.add_argument(
        "--hub-share",
        type=float,
        default=0.001,
        metavar="S",
        help="a phrase is a hub in more than max(20, S of all) documents (0.001)",
    )
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


def run(arguments: argparse.Namespace) -> int:
    from sira.corpora.files import replacing
    from sira.inspection.html import page
    from sira.inspection.report import report, to_json
    from sira.inspection.statistics import inspect_store

    frequencies = _frequencies(arguments.df) if arguments.df else None
    # Opened first: a page that cannot be written is no news to hear after a long reading.
    with replacing(arguments.html) if arguments.html else nullcontext() as stream:
        found = inspect_store(
            arguments.store,
            frequencies=frequencies,
            top=arguments.top,
            samples=arguments.samples,
            hub_share=arguments.hub_share,
            progress=not arguments.quiet,
        )
        if stream:
            stream.write(page(found))
    if arguments.html:
        print(f"sira: page in {arguments.html}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(to_json(found), ensure_ascii=False, indent=1))
    else:
        print(report(found), end="")
    return 0


def _frequencies(path: Path) -> Frequencies:
    from sira.analysis.english import analyzer_for
    from sira.corpora.df_table import read_df_table
    from sira.inspection.statistics import Frequencies

    table = read_df_table(path)
    analyze = analyzer_for(table.analyzer)
    if analyze is None:
        raise InputError(
            f"{path}: counts the terms of the analyzer {table.analyzer!r}, which only Java computes: leave out --df"
        )
    return Frequencies(table.documents, table.df, analyze)

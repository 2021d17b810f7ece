"""Parts out of MediaWiki's SQL tables: page, categorylinks (both schemas) with linktarget, page_props, redirect."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from sira.categories.arrays import Array
from sira.categories.parts import HAS_PAGE, HIDDEN, NOBODY, Part, PartWriter, members_of
from sira.categories.sql import Block, SqlTable, unescape
from sira.corpora.wikipedia.dumps import Dump, open_dump
from sira.errors import InputError

ARTICLES, CATEGORIES = b"0", b"14"
"""Namespaces."""

Watch = Callable[[int], object]
"""Told how many bytes of the file have been read."""


def page_part(path: Path, folder: Path, watch: Watch) -> dict[str, int]:
    """The pages of the article and category namespaces; others are left out."""
    with PartWriter(folder) as writer:
        for block in _blocks(path, "page", ("page_id", "page_namespace", "page_title"), watch):
            page, namespace, title = (block.at[name] for name in ("page_id", "page_namespace", "page_title"))
            articles = [row for row in block.rows if row[namespace] == ARTICLES]
            writer.articles(_integers(path, block, articles, page), _strings(path, block, articles, title))
            found = [row for row in block.rows if row[namespace] == CATEGORIES]
            names = writer.numbers(_strings(path, block, found, title))
            writer.categories(
                _integers(path, block, found, page), names, [HAS_PAGE] * len(found), [NOBODY] * len(found)
            )
    return writer.counts


def links_part(path: Path, linktarget: Path | None, pages: Path, folder: Path, watch: Watch) -> dict[str, int]:
    """The edges of the pages that the part in the folder `pages` holds.

    In the older schema categorylinks names the category; in the newer one it points to linktarget.
    """
    known = np.unique(np.concatenate([(part := Part(pages)).page_id, part.category_page]))
    with PartWriter(folder) as writer:
        targets = None
        if names_its_target(path):
            column = "cl_to"
        elif linktarget is None:
            raise InputError(
                f"{path}: has the newer schema, which points to the table linktarget: give --linktarget FILE"
            )
        else:
            column, targets = "cl_target_id", _targets(linktarget, writer, watch)
        for block in _blocks(path, "categorylinks", ("cl_from", column), watch):
            page, to = block.at["cl_from"], block.at[column]
            members = _integers(path, block, block.rows, page)
            kept = members_of(members, known)
            if targets is None:
                rows = [row for row, keep in zip(block.rows, kept.tolist(), strict=True) if keep]
                writer.edges(members[kept], writer.numbers(_strings(path, block, rows, to)))
            else:
                numbers = _integers(path, block, block.rows, to)
                kept &= members_of(numbers, targets[0])
                writer.edges(members[kept], targets[1][np.searchsorted(targets[0], numbers[kept])])
    return writer.counts


def names_its_target(path: Path) -> bool:
    """Whether a dump of categorylinks is of the older schema, with the column cl_to."""
    with open_dump(path) as dump:
        return "cl_to" in SqlTable(dump, "categorylinks").columns


def hidden_part(path: Path, folder: Path, watch: Watch) -> dict[str, int]:
    """The mark of each category with the property `hiddencat` in the table page_props."""
    with PartWriter(folder) as writer:
        for block in _blocks(path, "page_props", ("pp_page", "pp_propname"), watch):
            page, name = block.at["pp_page"], block.at["pp_propname"]
            rows = [row for row in block.rows if row[name].endswith(b"'hiddencat'")]
            nobody = [NOBODY] * len(rows)
            writer.categories(_integers(path, block, rows, page), nobody, [HIDDEN] * len(rows), nobody)
    return writer.counts


def redirect_part(path: Path, folder: Path, watch: Watch) -> dict[str, int]:
    """The target of each redirect to a category, from the table redirect."""
    with PartWriter(folder) as writer:
        for block in _blocks(path, "redirect", ("rd_from", "rd_namespace", "rd_title"), watch):
            page, namespace, title = (block.at[name] for name in ("rd_from", "rd_namespace", "rd_title"))
            rows = [row for row in block.rows if row[namespace] == CATEGORIES]
            targets = writer.numbers(_strings(path, block, rows, title))
            writer.categories(_integers(path, block, rows, page), [NOBODY] * len(rows), [0] * len(rows), targets)
    return writer.counts


def _targets(path: Path, writer: PartWriter, watch: Watch) -> tuple[Array, Array]:
    """(ids of the link targets that are categories, ascending; the number of each one's name)."""
    ids: list[Array] = []
    numbers: list[int] = []
    for block in _blocks(path, "linktarget", ("lt_id", "lt_namespace", "lt_title"), watch):
        number, namespace, title = (block.at[name] for name in ("lt_id", "lt_namespace", "lt_title"))
        rows = [row for row in block.rows if row[namespace] == CATEGORIES]
        ids.append(_integers(path, block, rows, number))
        numbers += writer.numbers(_strings(path, block, rows, title))
    joined = np.concatenate(ids) if ids else np.empty(0, np.int64)
    order = np.argsort(joined, kind="stable")
    return joined[order], np.array(numbers, np.int64)[order]


def _blocks(path: Path, table: str, wanted: Sequence[str], watch: Watch) -> Iterator[Block]:
    with open_dump(path) as dump:
        yield from _watched(dump, SqlTable(dump, table).blocks(wanted), watch)


def _watched(dump: Dump, blocks: Iterator[Block], watch: Watch) -> Iterator[Block]:
    before = 0
    for block in blocks:
        yield block
        watch((now := dump.offset()) - before)
        before = now


def _integers(path: Path, block: Block, rows: Sequence[tuple[bytes, ...]], place: int) -> Array:
    try:
        return np.fromiter((int(row[place]) for row in rows), np.int64, len(rows))
    except (ValueError, OverflowError):
        bad = next((row[place] for row in rows if not row[place].isdigit() or len(row[place]) > 18), b"?")
        raise InputError(
            f"{path}, in the rows from line {block.line}: {bad[:40].decode(errors='backslashreplace')!r} where a "
            "number is expected; the dump is damaged: fetch it again"
        ) from None


def _strings(path: Path, block: Block, rows: Sequence[tuple[bytes, ...]], place: int) -> list[bytes]:
    """Unescaped, and all of them UTF-8."""
    try:
        names = [unescape(row[place]) for row in rows]
        b"\n".join(names).decode()
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}, in the rows from line {block.line}: a title that is no UTF-8 string ({error}); the dump is "
            "damaged: fetch it again"
        ) from None
    return names

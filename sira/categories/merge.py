"""Parts into the graph: categories numbered by name, edges by number, members by page id.

The same pages and links give the same files, byte for byte, whichever dumps they came from. Memory grows with the
number of categories, not with that of links.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sira.categories.arrays import Array, ArrayWriter, StringsWriter, chunks, save, save_strings
from sira.categories.parts import NOBODY, Part, members_of

EDGES_AT_ONCE = 1 << 21
_TITLES_AT_ONCE = 1 << 14


def merge(parts: Sequence[Part], folder: Path) -> dict[str, int]:
    """Write the graph's files into the folder; what they hold, by kind."""
    names, numbers = _names(parts)
    save_strings(folder / "names", names)
    _hash_table(names, folder)
    count = len(names)
    del names
    pages, page_number, marks, targets = _category_pages(parts, numbers, count)
    children = _category_edges(parts, numbers, pages, page_number)
    _save_edges(folder, "children", children, count)
    _save_edges(folder, "parents", children[:, ::-1], count)
    articles = _save_articles(parts, folder)
    sizes = _save_members(parts, numbers, articles, folder, count)
    # A redirect that holds something itself is a category: what it holds must stay within reach.
    holds = np.bincount(children[:, 0], minlength=count) + sizes > 0 if count else np.zeros(0, np.bool_)
    targets[holds] = NOBODY
    save(folder / "marks.u1", marks)
    save(folder / "target.i4", targets)
    return {
        "categories": count,
        "edges": len(children),
        "articles": len(articles),
        "memberships": int(sizes.sum()),
        "redirects": int(np.count_nonzero(targets >= 0)),
    }


def _names(parts: Sequence[Part]) -> tuple[list[bytes], list[Array]]:
    """All names that have a page or a member, sorted; and of each part the final number of each of its names, or -1."""
    used: list[Array] = []
    for part in parts:
        mask = np.zeros(len(part.names), np.bool_)
        for edges in chunks(part.edge_name):
            mask[edges] = True
        named = np.array(part.category_name)
        mask[named[named >= 0]] = True
        used.append(mask)
    everything = {
        name for part, mask in zip(parts, used, strict=True) for name in part.names.take(np.flatnonzero(mask))
    }
    names = sorted(everything)
    del everything
    index = {name: number for number, name in enumerate(names)}
    # Redirect targets are looked up too, though they do not make a name known.
    return names, [
        np.fromiter((index.get(name, NOBODY) for name in part.names), np.int64, len(part.names)) for part in parts
    ]


def _hash_table(names: Sequence[bytes], folder: Path) -> None:
    """Buckets by CRC-32: those of bucket h are `bucket_names[bucket_starts[h]:bucket_starts[h + 1]]`."""
    size = 1 << max(1, (len(names) - 1).bit_length())
    hashes = np.fromiter(map(zlib.crc32, names), np.int64, len(names)) & (size - 1)
    order = np.argsort(hashes, kind="stable")
    save(folder / "bucket_starts.i4", np.searchsorted(hashes[order], np.arange(size + 1)))
    save(folder / "bucket_names.i4", order)


def _category_pages(parts: Sequence[Part], numbers: Sequence[Array], count: int) -> tuple[Array, Array, Array, Array]:
    """(page ids ascending, the category of each; marks and redirect target of each category)."""
    ids = [np.array(part.category_page)[part.category_name >= 0] for part in parts]
    named = [local[part.category_name[part.category_name >= 0]] for part, local in zip(parts, numbers, strict=True)]
    pages, first = np.unique(np.concatenate([*ids, np.empty(0, np.int64)]), return_index=True)
    of_page = np.concatenate([*named, np.empty(0, np.int64)])[first]
    marks, targets = np.zeros(count, np.uint8), np.full(count, NOBODY, np.int64)
    for part, local in zip(parts, numbers, strict=True):
        known = members_of(part.category_page, pages)
        which = of_page[np.searchsorted(pages, part.category_page[known])] if len(pages) else np.empty(0, np.int64)
        np.bitwise_or.at(marks, which, part.category_marks[known])
        target = np.array(part.category_target[known])
        there = target >= 0
        targets[which[there]] = local[target[there]]
    targets[targets == np.arange(count)] = NOBODY
    return pages, of_page, marks, targets


def _category_edges(parts: Sequence[Part], numbers: Sequence[Array], pages: Array, of_page: Array) -> Array:
    """(category, member category), each pair once, in ascending order."""
    keys = [np.empty(0, np.int64)]
    for page, name in _edges(parts, numbers):
        inside = members_of(page, pages)
        if inside.any():
            keys.append(np.unique(name[inside] << 32 | of_page[np.searchsorted(pages, page[inside])]))
    key = np.unique(np.concatenate(keys))
    return np.stack([key >> 32, key & 0xFFFFFFFF], axis=1)


def _edges(parts: Sequence[Part], numbers: Sequence[Array]) -> Iterator[tuple[Array, Array]]:
    """(page ids, final category numbers) of the edges, in pieces."""
    for part, local in zip(parts, numbers, strict=True):
        for page, name in zip(chunks(part.edge_page), chunks(part.edge_name), strict=True):
            yield page.astype(np.int64), local[name]


def _save_edges(folder: Path, name: str, pairs: Array, count: int) -> None:
    """Pairs (from, to) as lists by `from`, each ascending: NAME.i4 holds them, NAME_starts.i8 where each begins."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    save(folder / f"{name}.i4", pairs[order, 1])
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(pairs[:, 0], minlength=count)[:count], out=starts[1:])
    save(folder / f"{name}_starts.i8", starts)


def _save_articles(parts: Sequence[Part], folder: Path) -> Array:
    """The ids, ascending, of the articles that are in a category; their titles go into a file."""
    ids, first = np.unique(
        np.concatenate([*(part.page_id for part in parts), np.empty(0, np.int64)]), return_index=True
    )
    member = np.zeros(len(ids), np.bool_)
    for part in parts:
        for page in chunks(part.edge_page):
            page = page.astype(np.int64)
            page = page[members_of(page, ids)]
            member[np.searchsorted(ids, page)] = True
    ids, first = ids[member], first[member]
    begins = np.cumsum([0, *(len(part.page_id) for part in parts)])
    save(folder / "article_page.i8", ids)
    with StringsWriter(folder / "titles") as writer:
        for at in range(0, len(first), _TITLES_AT_ONCE):
            places = first[at : at + _TITLES_AT_ONCE]
            owners = np.searchsorted(begins, places, side="right") - 1
            rows = zip(owners.tolist(), (places - begins[owners]).tolist(), strict=True)
            writer.extend([parts[owner].titles[place] for owner, place in rows])
    return ids


def _save_members(parts: Sequence[Part], numbers: Sequence[Array], articles: Array, folder: Path, count: int) -> Array:
    """The articles of each category, ascending, in as many passes over the edges as memory asks for; their counts."""
    most = np.zeros(count, np.int64)
    for page, name in _edges(parts, numbers):
        most += np.bincount(name[members_of(page, articles)], minlength=count)
    sizes, low, ends = np.zeros(count, np.int64), 0, np.cumsum(most)
    with ArrayWriter(folder / "members.i4") as writer:
        while low < count:
            before = int(ends[low - 1]) if low else 0
            high = max(low + 1, int(np.searchsorted(ends, before + EDGES_AT_ONCE, side="right")))
            keys = [np.empty(0, np.int64)]
            for page, name in _edges(parts, numbers):
                inside = (name >= low) & (name < high)
                page, name = page[inside], name[inside]
                inside = members_of(page, articles)
                keys.append(name[inside] << 32 | np.searchsorted(articles, page[inside]))
            key = np.unique(np.concatenate(keys))
            writer.extend(key & 0xFFFFFFFF)
            sizes += np.bincount(key >> 32, minlength=count)
            low = high
    save(folder / "members_starts.i8", np.concatenate([[0], np.cumsum(sizes)]))
    return sizes

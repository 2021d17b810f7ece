"""Tables of document frequencies: one text file that is read without Java.

The first line is a JSON object, the header; then one `term<TAB>df` a line, in the order of the UTF-8 bytes of the
terms as Lucene gives them. A backslash, tab, line feed or carriage return within a term is written as `\\\\`, `\\t`,
`\\n`, `\\r`. A name that ends in .gz is packed.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from sira.corpora.files import BYTE_ORDER_MARK, open_bytes, replacing
from sira.errors import InputError

FORMAT = "sira-df"
VERSION = 1
REMEDY = "write one with `sira index --index DIR --export-df FILE`"

_HEADER_BYTES = 1 << 16
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_LETTERS = {escape: letter for letter, escape in _ESCAPES.items()}
_SPECIAL = re.compile(r"[\\\t\n\r]")
_ESCAPED = re.compile(r"\\[\\tnr]")


@dataclass(frozen=True, slots=True)
class DfTable:
    """The df of every term of one field of an index, and the analyzer under which the terms came to be.

    `documents` is N; df counts distinct documents; a term that is not in `df` has df 0. `fingerprint` is that of the
    index which was exported.
    """

    documents: int
    analyzer: str
    df: Mapping[str, int]
    fingerprint: str


def write_df_table(
    path: Path,
    terms: Callable[[], Iterable[tuple[str, int]]],
    *,
    documents: int,
    analyzer: str,
    fingerprint: str,
    field: str = "contents",
) -> int:
    """Write a table whole or not at all, and return the number of its terms.

    `terms` is called twice, first to count: the terms are never held. Raises InputError where the file cannot be
    written.
    """
    count = sum(1 for _ in terms())
    header = {
        "format": FORMAT,
        "version": VERSION,
        "analyzer": analyzer,
        "documents": documents,
        "field": field,
        "terms": count,
        "fingerprint": fingerprint,
    }
    with replacing(path) as text:
        if path.suffix == ".gz":  # neither name nor time in the packed file, so that equal tables are equal bytes
            with gzip.GzipFile(filename="", mode="wb", fileobj=text.buffer, mtime=0, compresslevel=6) as packed:
                _write(cast(BinaryIO, packed), header, terms())
        else:
            _write(text.buffer, header, terms())
    return count


def _write(stream: BinaryIO, header: Mapping[str, Any], terms: Iterable[tuple[str, int]]) -> None:
    stream.write(json.dumps(header, ensure_ascii=False).encode() + b"\n")
    lines: list[str] = []
    for term, df in terms:
        if _SPECIAL.search(term):
            term = _SPECIAL.sub(lambda match: _ESCAPES[match[0]], term)
        lines.append(f"{term}\t{df}\n")
        if len(lines) == 10_000:
            stream.write("".join(lines).encode())
            lines.clear()
    stream.write("".join(lines).encode())


def read_df_table(path: str | Path) -> DfTable:
    """Read a table into memory (about 110 MB and a second for a million terms).

    Raises InputError naming file and line for a file that is no such table, or not a whole one.
    """
    path = Path(path)
    number = 1
    with open_bytes(path) as stream:
        try:
            header = _header(path, stream.readline(_HEADER_BYTES))
            documents, df, raw = header["documents"], dict[str, int](), b"\n"
            for number, raw in enumerate(stream, start=2):
                try:
                    name, count = raw.split(b"\t")
                    term, value = name.decode(), int(count)
                except ValueError:  # also what is not UTF-8
                    raise InputError(f"{path}, line {number}: not `term<TAB>df`: {REMEDY} again") from None
                if "\\" in term:
                    term = _ESCAPED.sub(lambda match: _LETTERS[match[0]], term)
                if not 0 < value <= documents:
                    raise InputError(f"{path}, line {number}: df {value} of {documents} documents: {REMEDY} again")
                df[term] = value
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{path}, line {number}: damaged gzip file ({error}): {REMEDY} again") from None
    if not raw.endswith(b"\n") or len(df) != header["terms"]:
        raise InputError(f"{path}, line {number}: ends with {len(df)} terms of {header['terms']}: {REMEDY} again")
    return DfTable(documents, header["analyzer"], df, header["fingerprint"])


def _header(path: Path, line: bytes) -> dict[str, Any]:
    try:
        header: object = json.loads(line.removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or cast(dict[str, Any], header).get("format") != FORMAT:
        raise InputError(f"{path}, line 1: no df table of sira's: {REMEDY}")
    fields = cast(dict[str, Any], header)
    if fields.get("version") != VERSION:
        raise InputError(
            f"{path}, line 1: df table of version {fields.get('version')}; this sira reads {VERSION}: {REMEDY} again"
        )
    kinds: dict[str, type] = {"analyzer": str, "documents": int, "terms": int, "fingerprint": str}
    for name, kind in kinds.items():
        if type(fields.get(name)) is not kind:
            raise InputError(f"{path}, line 1: `{name}` is missing or wrong: {REMEDY} again")
    return fields

"""Documents from JSON Lines: one JSON object a line, in one file or in a folder of files, plain or gzip.

A record that cannot be used does not stop the reader: it comes back as a `Skip` with its reason, so that whoever
reads can count: documents + skips = lines that are not blank.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, cast

from sira.corpora.files import byte_lines
from sira.errors import InputError
from sira.records import Document, Place, Record, Skip, SkipReason

ID_FIELDS = ("docid", "_id", "id")
TEXT_FIELDS = ("text", "contents")
SUFFIXES = (".jsonl", ".jsonl.gz")

# White space and control characters: a TREC run file separates its columns by the former and cannot carry the latter.
_FORBIDDEN_IN_ID = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")


def is_valid_id(docid: str) -> bool:
    """Whether a TREC file can carry this id: not empty, no white space, no control character."""
    # The first test is the fast one and holds for nearly all ids; it is too strict for some letters (joiners).
    return bool(docid) and ((docid.isprintable() and " " not in docid) or not _FORBIDDEN_IN_ID.search(docid))


def document_files(source: str | Path) -> tuple[Path, ...]:
    """The file itself, or the .jsonl and .jsonl.gz files of a folder, sorted by name.

    Raises InputError if there is nothing at `source`, no such file in the folder, or the folder is a BEIR folder,
    whose queries would be taken for documents.
    """
    path = Path(source)
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder; check the path")
    if not path.is_dir():
        return (path,)
    files = tuple(sorted((p for p in path.iterdir() if p.name.endswith(SUFFIXES)), key=lambda p: p.name))
    if not files:
        raise InputError(f"{path}: this folder holds no .jsonl or .jsonl.gz file; name the folder or file that does")
    names = {file.name.removesuffix(".gz") for file in files}
    if {"corpus.jsonl", "queries.jsonl"} <= names:
        raise InputError(f"{path}: this is a BEIR folder; use beir:{path}, or name its corpus.jsonl alone")
    return files


def read_documents(source: str | Path, value_fields: Sequence[str] = ()) -> Iterator[Record]:
    """Stream the records of a file or folder in order; memory does not grow with the corpus.

    A record is an object with an id (`docid`, `_id` or `id`: a string without white space, or an integer), a text
    (`text` or `contents`, a string, which may be empty), and optionally `title` (null is ''), `url`, `facets` (a list
    of strings) and the numbers and strings named in `value_fields`. Blank lines are not counted.
    Raises InputError as `document_files` (at once) and for a file that cannot be read (while iterating).
    """
    return _read(document_files(source), tuple(value_fields))


def _read(files: Iterable[Path], value_fields: tuple[str, ...]) -> Iterator[Record]:
    decode_json = JSONDecoder().raw_decode  # less overhead a line than json.loads, the same grammar
    for file in files:
        name = str(file)
        for number, raw in byte_lines(file):
            place = Place(name, number)
            try:
                line = raw.decode("utf-8").strip()
            except UnicodeDecodeError as error:
                yield place, Skip(SkipReason.INVALID_UNICODE, f"not UTF-8 ({error.reason}); convert the file to UTF-8")
                continue
            if not line:
                continue
            try:
                record, end = decode_json(line)
            except JSONDecodeError as error:
                yield place, Skip(SkipReason.BAD_JSON, f"not JSON: {error.msg} at column {error.colno}")
                continue
            except (ValueError, RecursionError) as error:  # a number of thousands of digits; endless brackets
                yield place, Skip(SkipReason.BAD_JSON, f"JSON that Python does not read: {error}")
                continue
            if end != len(line):
                detail = f"not JSON: more text after the object, at column {end + 1}"
                yield place, Skip(SkipReason.BAD_JSON, detail)
                continue
            result = document_from_record(record, value_fields)
            # In decoded UTF-8 only an escape can make a lone surrogate, so most lines need no further look.
            if "\\u" in line and type(result) is Document:
                result = _without_surrogates(result)
            yield place, result


def document_from_record(record: object, value_fields: Sequence[str] = ()) -> Document | Skip:
    """A decoded JSON value as a Document, or the reason why it is none. Does not look for lone surrogates."""
    if type(record) is not dict:
        return Skip(SkipReason.NOT_AN_OBJECT, f"a JSON {_kind(record)} where an object is expected")
    fields = cast("dict[str, Any]", record)
    docid = fields.get("docid")
    if docid is None:
        docid = fields.get("_id")
        if docid is None:
            docid = fields.get("id")
    if type(docid) is not str:
        if docid is None:
            return Skip(SkipReason.MISSING_ID, f"no id: give one of the fields {', '.join(ID_FIELDS)}")
        if type(docid) is not int:
            return Skip(SkipReason.INVALID_ID, f"the id is a {_kind(docid)}: give a string or an integer")
        docid = str(docid)
    elif not is_valid_id(docid):
        fault = "contains white space or a control character, which run files cannot carry" if docid else "is empty"
        return Skip(SkipReason.INVALID_ID, f"the id {docid[:60]!r} {fault}: rename it", docid)
    text = fields.get("text")
    if type(text) is not str:
        text = fields.get("contents")
        if type(text) is not str:
            return Skip(SkipReason.MISSING_TEXT, _text_fault(fields), docid)
    title = fields.get("title")
    if type(title) is not str:
        if title is not None:
            return _bad_field(docid, "title", title, "a string or null")
        title = ""
    url = fields.get("url")
    if url is not None and type(url) is not str:
        return _bad_field(docid, "url", url, "a string or null")
    facets = fields.get("facets")
    if facets is not None:
        if type(facets) is not list or not all(type(facet) is str for facet in cast("list[Any]", facets)):
            return _bad_field(docid, "facets", cast(object, facets), "a list of strings")
        facets = tuple(cast("list[str]", facets))
    values: dict[str, int | float | str] = {}
    for name in value_fields:
        value = fields.get(name)
        if value is not None:
            if type(value) not in (int, float, str):
                return _bad_field(docid, name, value, "a number or a date string")
            values[name] = value
    return Document(docid, text, title, facets or (), url, values)


def _without_surrogates(document: Document) -> Document | Skip:
    strings = [document.docid, document.title, document.text, document.url or "", *document.facets]
    strings += [value for value in document.values.values() if isinstance(value, str)]
    for string in strings:
        if not string.isascii():
            try:
                string.encode("utf-8")
            except UnicodeEncodeError as error:
                unit = string[error.start]
                detail = f"a lone surrogate (\\u{ord(unit):04x}), half of a character: repair the escapes of this line"
                docid = None if string is document.docid else document.docid
                return Skip(SkipReason.INVALID_UNICODE, detail, docid)
    return document


def _text_fault(fields: Mapping[str, Any]) -> str:
    for name in TEXT_FIELDS:
        if name in fields:
            return f"the field {name!r} is {_kind(fields[name])}: give a string ('' for an empty document)"
    return "the field 'text' (or 'contents') is missing: give a string ('' for an empty document)"


def _bad_field(docid: str, name: str, value: object, wanted: str) -> Skip:
    return Skip(SkipReason.INVALID_FIELD, f"the field {name!r} is {_kind(value)}: give {wanted}", docid)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    name = type(value).__name__
    return {"dict": "object", "str": "string", "bool": "boolean", "int": "number", "float": "number"}.get(name, name)

"""The documents of an index as plain text files, for programs that know files alone.

An export is a folder `NNN/NNN.txt` of at most some 8 MB a file, with the documents in the order of their docids (by
UTF-8 bytes): of five million documents thousands of files and not millions, which a program searches at the speed of
the disk. Two layouts:

* `passages`: every line is `@name@`, a tab, and at most 400 characters of the document. Its title comes first, then its
  own lines, each broken at blanks where it is longer. So each line that a program prints says of which document it
  is, and the lines around it are those before and after. Words on both sides of a break are in two lines.
* `folded`: one document a line, title and text case-folded with white space as single blanks. A text holds a folded
  pattern where its line does, byte by byte, so that all programs find the same. The n-th line of `NNN/NNN.words` is the
  name of the n-th document and its different analysed terms, parted by tabs.

A name is the docid with all that could part a line as %XX of UTF-8; of a docid longer than 100 bytes in this form it is
`%%` and the start of its SHA-256, and `names.json` has the docid. An export is as large as the texts, and is written
once for an index. Every pass over it reads all of it: that, and the disk, is the limit.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from tqdm import tqdm

from sira.errors import IndexFault, InputError
from sira.folders import FolderKind, staging
from sira.lucene.reader import Index
from sira.records import Document

Layout = Literal["passages", "folded"]
PASSAGE = 400
"""Most characters of a document in one line."""
_VERSION = 1
_MANIFEST, _NAMES = "export.json", "names.json"
_SHARD_BYTES = 8_000_000
_SHARDS = 1000
"""Files of one folder."""
_LONGEST_NAME = 100
_BATCH = 1000
_UNSAFE = re.compile(r"[^\w.:/,;=()+\-]|[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LINE_END = re.compile("\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Export:
    """A whole export. `names` are the docids of the names that do not spell them."""

    folder: Path
    layout: Layout
    documents: int
    files: tuple[str, ...]
    names: dict[str, str]

    def docid(self, name: str) -> str:
        """Of a name in its files; of another text something that no document is called, or itself."""
        return self.names.get(name) or unquote(name)


def name_of(docid: str) -> str:
    """The name of a document in an export: printable, without blanks, at most 100 bytes."""
    name = _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), docid)
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    return f"%%{hashlib.sha256(docid.encode()).hexdigest()[:32]}"


def fingerprint(index: Index) -> str:
    """Of the documents of an index: their corpus and counts; of a foreign index, which tells no corpus, its place and
    the state of its files."""
    facts = [index.contents_fingerprint]
    if index.manifest.corpus_fingerprint is None:
        facts.append(os.path.realpath(index.path))
        facts += [f"{path.name} {path.stat().st_mtime_ns}" for path in sorted(index.path.glob("segments_*"))]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def export(index: Index, root: Path, layout: Layout, *, progress: bool = True) -> Export:
    """The export of the index under `root`, written now if it is not there.

    Whole or absent: a writer that is killed leaves a hidden folder, which the next one removes before it begins again.
    Raises InputError where `root` cannot be written, IndexFault where the index stores no text.
    """
    folder = root / f"{layout}-{_VERSION}-{fingerprint(index)[:24]}"
    with _lock:  # of the threads of this process; another process that was faster is found below
        if not (folder / _MANIFEST).is_file():
            kind = FolderKind("an export", lambda path: (path / _MANIFEST).is_file(), InputError)
            try:
                with staging(folder, kind) as building:
                    _write(index, building, layout, progress=progress)
            except InputError:
                if not (folder / _MANIFEST).is_file():
                    raise
    try:
        facts = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        names = json.loads((folder / _NAMES).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: a damaged export ({error}): remove the folder") from None
    return Export(folder / "files", layout, facts["documents"], tuple(facts["files"]), names)


def _write(index: Index, folder: Path, layout: Layout, *, progress: bool) -> None:
    names: dict[str, str] = {}
    files: list[str] = []
    count = 0
    (folder / "files").mkdir()
    shard: dict[str, list[str]] = {".txt": []} if layout == "passages" else {".txt": [], ".words": []}
    size = 0
    for document, terms in _documents(index, analysed=layout == "folded", progress=progress):
        name = name_of(document.docid)
        if name.startswith("%%"):
            names[name] = document.docid
        lines = passages(document, name) if layout == "passages" else [folded(document.contents)]
        shard[".txt"] += lines
        if layout == "folded":
            shard[".words"].append("\t".join([name, *sorted(set(terms))]))
        size += sum(len(line) for line in lines)
        count += 1
        if size >= _SHARD_BYTES:
            files.append(_write_shard(folder / "files", len(files), shard))
            size = 0
    if shard[".txt"]:
        files.append(_write_shard(folder / "files", len(files), shard))
    facts = {"version": _VERSION, "layout": layout, "documents": count, "files": files}
    (folder / _NAMES).write_text(json.dumps(names), encoding="utf-8")
    (folder / _MANIFEST).write_text(json.dumps(facts, indent=1), encoding="utf-8")


def _write_shard(folder: Path, number: int, shard: Mapping[str, list[str]]) -> str:
    """The files of one shard by their suffix, on the disk when this returns, and the lines gone; its path below the
    folder."""
    place = f"{number // _SHARDS:03}/{number % _SHARDS:03}"
    for suffix, lines in shard.items():
        path = folder / f"{place}{suffix}"
        path.parent.mkdir(exist_ok=True)
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{line}\n" for line in lines)
            stream.flush()
            os.fsync(stream.fileno())
        lines.clear()
    return f"{place}.txt"


def _documents(index: Index, *, analysed: bool, progress: bool) -> Iterator[tuple[Document, list[str]]]:
    """All living documents by docid, with their terms if they are `analysed`; docids of deleted ones that no merge has
    taken away give none."""
    if not index.manifest.stored_text:
        raise IndexFault(f"{index.path}: does not store its documents' text: index with the text stored to export it")
    docids = (docid for docid, _ in index.terms("id"))
    with tqdm(total=index.document_count, desc="files", unit="doc", disable=not progress, leave=False) as bar:
        while batch := list(islice(docids, _BATCH)):
            found = [document for document in index.documents(batch) if document is not None]
            terms: list[list[str]] = [[] for _ in found]
            if analysed:
                terms = index.analyze([document.contents for document in found])
            yield from zip(found, terms, strict=True)
            bar.update(len(found))


def passages(document: Document, name: str) -> list[str]:
    """The lines of a document in the layout of passages; at least one."""
    texts = [document.title, *_LINE_END.split(document.text)]
    parts = [part for text in texts for part in _broken(" ".join(_CONTROL.sub(" ", text).split()))]
    return [f"@{name}@\t{part}" for part in parts or [""]]


def _broken(text: str) -> list[str]:
    """Parts of a text with single blanks, each as long as fits; a longer word is cut."""
    parts: list[str] = []
    at = 0
    while len(text) - at > PASSAGE:
        blank = text.rfind(" ", at, at + PASSAGE + 1)
        end = blank if blank > at else at + PASSAGE
        parts.append(text[at:end])
        at = end + (end == blank)
    return [*parts, text[at:]] if text[at:] else parts


def folded(text: str) -> str:
    """A text or a pattern as matching sees it: case-folded, white space as single blanks."""
    return " ".join(_CONTROL.sub(" ", text).casefold().split())

"""BrowseComp-Plus as it is published, put into the clear by the canary that the user gives.

Source of the form: Tevatron/browsecomp-plus and texttron/BrowseComp-Plus, scripts_build_index/decrypt_dataset.py: each
string but `query_id` is base64 of its UTF-8 bytes, XOR the SHA-256 of the canary, repeated. Questions and answers must
not be published in the clear: no message here holds any of their text, and they are written where the user says alone.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from sira.corpora.files import replacing
from sira.corpora.rows import json_rows
from sira.corpora.trec_writer import write_qrels
from sira.errors import InputError

QUESTIONS = "browsecomp_plus_decrypted.jsonl"
QRELS = {"evidence_docs": "qrel_evidence.txt", "gold_docs": "qrel_golds.txt"}
"""Names that `browsecomp-plus:FOLDER` knows."""
_BATCH = 16


def canary_of(variable: str) -> str:
    """Raises InputError where the variable is not set or empty."""
    found = os.environ.get(variable, "")
    if not found.strip():
        raise InputError(
            f"the environment variable {variable} is not set: put the public canary of the data set into it (it stands "
            "in scripts_build_index/decrypt_dataset.py of texttron/BrowseComp-Plus); nothing was written"
        )
    return found


def prepare(published: Path, variable: str, target: Path) -> tuple[int, tuple[Path, ...]]:
    """Write questions with their answers and docids, and the judgments of both kinds, into the folder `target`.

    Texts of documents are not read. Files of judgments that are there stay. Gives the number of questions and the files
    written. Raises InputError, before anything is written, where the canary is absent or another one, the data cannot
    be read, or the folder belongs to a Git repository.
    """
    canary = canary_of(variable)
    key = hashlib.sha256(canary.encode()).digest()
    _outside_git(target)
    rows = [_clear(place, row, key, variable) for place, row in _rows(published)]
    if not rows:
        raise InputError(f"{published}: no question in this file; check that it is the right one")
    target.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for field, name in QRELS.items():
        if not (target / name).exists():
            write_qrels(target / name, {row["query_id"]: dict.fromkeys(row[field], 1) for row in rows})
            written.append(target / name)
    with replacing(target / QUESTIONS) as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return len(rows), (target / QUESTIONS, *written)


def clear_text(text: str, key: bytes) -> str:
    """One string in the clear. Raises ValueError where it is not of this form or the key is another one."""
    data = base64.b64decode(text, validate=True)
    stream = (key * (len(data) // len(key) + 1))[: len(data)]
    return (int.from_bytes(data) ^ int.from_bytes(stream)).to_bytes(len(data)).decode()


def _clear(place: object, row: Mapping[str, Any], key: bytes, variable: str) -> dict[str, Any]:
    qid = row.get("query_id")
    if not isinstance(qid, (str, int)) or not all(isinstance(row.get(name), str) for name in ("query", "answer")):
        raise InputError(f"{place}: give query_id, query and answer, as the published data set has them")
    try:
        return {
            "query_id": str(qid),
            "query": clear_text(row["query"], key),
            "answer": clear_text(row["answer"], key),
            **{name: [clear_text(docid, key) for docid in _docids(row.get(name))] for name in QRELS},
        }
    except (ValueError, binascii.Error):
        raise InputError(
            f"{place}: cannot be put into the clear: {variable} holds another canary than the data set's, or the file "
            "is in the clear already; nothing was written"
        ) from None


def _docids(listed: object) -> list[str]:
    items = cast("Sequence[Any]", listed) if isinstance(listed, list) else ()
    docids = [cast("dict[str, Any]", item).get("docid") if isinstance(item, dict) else item for item in items]
    return [docid for docid in docids if isinstance(docid, str)]


def _rows(path: Path) -> Iterator[tuple[object, Mapping[str, Any]]]:
    files = sorted([*path.rglob("*.parquet"), *path.rglob("*.jsonl")]) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: holds neither Parquet nor JSON Lines: put the data set's files there")
    for file in files:
        yield from _parquet_rows(file) if file.suffix == ".parquet" else json_rows(file)


def _parquet_rows(path: Path) -> Iterator[tuple[object, Mapping[str, Any]]]:
    """The columns that are needed: documents by their docid alone, since their texts are a hundred times as large."""
    from importlib import import_module

    if not path.is_file():
        raise InputError(f"{path}: there is no such file; check the path")
    parquet, arrow = import_module("pyarrow.parquet"), import_module("pyarrow")
    try:
        file: Any = parquet.ParquetFile(path)
        paths = [str(file.schema.column(number).path) for number in range(len(file.schema))]
        wanted = [
            name
            for name in paths
            if name in ("query_id", "query", "answer")
            or (name.split(".")[0] in QRELS and (name.endswith(".docid") or name.count(".") == 2))
        ]
        number = 0
        for batch in file.iter_batches(batch_size=_BATCH, columns=wanted):
            for row in batch.to_pylist():
                number += 1
                yield f"{path}, row {number}", row
    except arrow.ArrowException as error:
        raise InputError(f"{path}: not Parquet ({type(error).__name__}): fetch the file again") from None


def _outside_git(target: Path) -> None:
    place = target.absolute()
    inside = next((folder for folder in (place, *place.parents) if (folder / ".git").exists()), None)
    if inside is not None:
        raise InputError(
            f"{target}: lies in the Git repository {inside}, where questions in the clear do not belong: choose a "
            "folder outside of it; nothing was written"
        )

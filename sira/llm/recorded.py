"""Replies from a store, no model: to repeat a job, and to try what follows it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from sira.errors import InputError
from sira.llm.base import Finish, Reply, Request, Usage
from sira.llm.openai_body import token_count
from sira.llm.reply_index import ReplyIndex, Row
from sira.llm.settings import ModelSettings

SUFFIXES = (".jsonl", ".jsonl.gz")
NO_REPLY = "no recorded reply"

_FINISHES = frozenset(Finish) - {Finish.PENDING}
_ENDLESS = " " * 1000
_ESCAPES = str.maketrans({"<": r"\u003c", "[": r"\u005b"})
_MODELS = 8


class RecordedGenerator:
    """Answers by key from rows `{docid or qid, phrases, status}`, or `{docid or qid, raw, finish, usage}` of a job.

    The prompt plays no part. A row without `raw` gets a text that parses to its phrases and its status. Of several
    rows of a key the first counts that is no error. Raises InputError for a store that is not there or has a line that
    is no row; a torn last line is passed over.
    """

    def __init__(self, settings: ModelSettings) -> None:
        if settings.replies is None:
            raise InputError(
                '[model]: backend = "recorded" wants a store of replies: set `replies` to a file or folder'
            )
        self._settings = settings
        files = _store_files(settings.replies)
        self._models: list[str] = []
        self._index = ReplyIndex(files, _row_key, self._note_model)
        if self._index.skipped:
            self._index.close()
            raise InputError(
                f"{self._index.first_skipped}: no recorded reply: a row has `docid` or `qid`, and `phrases` or `raw`"
            )
        self._identity: dict[str, Any] = {"store": _fingerprint(files)}
        if self._models:
            self._identity["model"] = self._models[0] if len(self._models) == 1 else sorted(self._models)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The first 16 hex digits of the SHA-256 of the store's files in name order, and the model its rows name."""
        return self._identity

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"backend": self._settings.backend, "replies": len(self._index), "torn": self._index.torn}

    @property
    def context_tokens(self) -> int | None:
        return self._settings.context_tokens

    @property
    def tokenizer(self) -> None:
        return None

    @property
    def pending(self) -> None:
        return None

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        """The recorded replies in the order of the requests; `ERROR` with the detail `NO_REPLY` for a key without."""
        for request in requests:
            replies = (_row_reply(request.key, row) for row in self._index.rows(request.key))
            failed = Reply(request.key, "", Finish.ERROR, detail=NO_REPLY)
            for number, reply in enumerate(replies):
                if reply.finish is not Finish.ERROR:
                    yield reply
                    break
                failed = reply if number == 0 else failed
            else:
                yield failed

    def close(self) -> None:
        self._index.close()

    def _note_model(self, row: Row) -> None:
        provenance: Any = row.get("provenance")
        model: Any = row.get("model")
        if model is None and isinstance(provenance, dict):
            model = cast("dict[str, Any]", provenance).get("model")
        if isinstance(model, str) and model not in self._models and len(self._models) < _MODELS:
            self._models.append(model)


def _store_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = sorted(file for file in path.glob("*") if file.name.endswith(SUFFIXES)) if path.is_dir() else []
    if not files:
        raise InputError(f"{path}: no recorded replies: give a .jsonl or .jsonl.gz file, or a folder of them")
    return files


def _fingerprint(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()[:16]


def _row_key(row: Row) -> str | None:
    key: Any = row.get("docid", row.get("qid"))
    if isinstance(key, bool) or not isinstance(key, str | int) or key == "":
        return None
    return str(key) if isinstance(row.get("raw"), str) or isinstance(row.get("phrases"), list) else None


def _row_reply(key: str, row: Row) -> Reply:
    detail: Any = row.get("detail")
    detail = detail if isinstance(detail, str) else None
    raw: Any = row.get("raw")
    if isinstance(raw, str):
        finish: Any = row.get("finish", "stop")
        if not isinstance(finish, str) or finish not in _FINISHES:
            finish, detail = Finish.ERROR, f"the recorded finish is {finish!r}"
        return Reply(key, raw, Finish(finish), _usage(row.get("usage")), detail)
    text, finish = _text(row["phrases"], row.get("status"))
    return Reply(key, text, finish, _usage(row.get("usage")), detail)


def _text(phrases: list[Any], status: object) -> tuple[str, Finish]:
    """A text that parses to these phrases and this status, and how it finished."""
    match status:
        case "error" | "too_long" | "refused":
            return "", Finish(status)
        case "unparsable":
            return "", Finish.STOP
        case "truncated":
            return _begun(phrases) + '"\u2026', Finish.LENGTH
        case "runaway":
            return _begun(phrases) + _ENDLESS, Finish.LENGTH
        case _:
            return json.dumps({"phrases": phrases}), Finish.STOP


def _begun(phrases: list[Any]) -> str:
    """A list that stays open, with signs as escapes that could be taken for a model's thinking."""
    items = (json.dumps(phrase) for phrase in phrases if isinstance(phrase, str))
    return '{"phrases":[' + "".join(f"{item.translate(_ESCAPES)}," for item in items)


def _usage(usage: object) -> Usage:
    fields = cast("dict[str, Any]", usage) if isinstance(usage, dict) else {}
    return Usage(*(token_count(fields.get(name)) for name in ("prompt_tokens", "completion_tokens", "cached_tokens")))

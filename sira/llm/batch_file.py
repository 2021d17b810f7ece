"""Batch files: requests are written to a folder, run by any tool that takes OpenAI's batch format, and read back.

FOLDER/requests-00000.jsonl ...   what has no reply yet; written anew by each job
FOLDER/replies*.jsonl(.gz)        what the tool wrote, under any such name

A line of replies counts as the reply where it holds a completion, or where the request itself was refused (too long, a
content filter, HTTP 400 and the like). A line of any other failure (expired, not executed, HTTP 408, 409, 429 or 5xx, a
wrong key, an unknown model, a body that is no completion) is none: the request is written anew. One that was refused is
not: where the request was not the cause, take the line out of the replies.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from sira.errors import InputError
from sira.llm.address import is_hosted
from sira.llm.base import Finish, Reply, Request, Tokenizer
from sira.llm.openai_body import CALL_PATH, chat_body, check_extra_body, completion_reply
from sira.llm.reply_index import ReplyIndex, Row
from sira.llm.server_error import failed_reply, passes, written
from sira.llm.settings import ModelSettings
from sira.llm.tokenizer_file import TokenizerFile

MAX_REQUESTS, MAX_BYTES = 50_000, 100_000_000
"""Of one file of requests; OpenAI takes twice the bytes, others less."""
MAX_ID_CHARACTERS = 64
RUNNER = ("python", "-m", "vllm.entrypoints.openai.run_batch")
# Without it a model may fill its tokens with white space, and another decoder lets raw tabs into strings.
_COMPACT = ("--structured-outputs-config", '{"backend":"guidance","disable_any_whitespace":true}')

_OF_ALL_REQUESTS = (401, 402, 404)
"""Statuses of a wrong key, no credit, an unknown model."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


def custom_id(key: str, body: Mapping[str, Any]) -> str:
    """The id of one call: 16 hex digits that depend on the key and on every field of the body, and the key, readable.

    A reply to another prompt, model or sampling has another id, and so is not taken.
    """
    canonical = json.dumps([key, body], sort_keys=True, separators=(",", ":"))
    fingerprint = hashlib.sha256(canonical.encode()).hexdigest()[:16]
    return f"{fingerprint}-{_UNSAFE.sub('_', key)}"[:MAX_ID_CHARACTERS]


class BatchFileGenerator:
    """Yields the replies that the folder holds and writes the other requests into it.

    `generate` may be called several times: the files go on where they stopped. One job at a time uses a folder.
    Raises InputError where the settings lack the folder or the model, or a file of replies is none.
    """

    def __init__(self, settings: ModelSettings) -> None:
        check_extra_body(settings)
        if settings.replies is None:
            raise InputError('[model]: backend = "batch-file" wants a folder for requests and replies: set `replies`')
        if not settings.model:
            raise InputError(
                '[model]: backend = "batch-file" wants the name that the requests give the model: set `model`'
            )
        if settings.replies.is_file():
            raise InputError(f"{settings.replies}: is a file; `replies` of batch-file is a folder")
        self._settings, self._folder = settings, settings.replies
        self._tokenizer = None if settings.tokenizer is None else TokenizerFile(settings.tokenizer)
        self._hosted = is_hosted(settings.base_url or "")
        files = sorted(
            file
            for file in (self._folder.glob("replies*") if self._folder.is_dir() else ())
            if file.name.endswith((".jsonl", ".jsonl.gz"))
        )
        self._index = ReplyIndex(files, _row_id)
        self._writer = _RequestFiles(self._folder)
        self._failed, self._first_failure = 0, ""

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model as the requests name it."""
        revision = {} if self._settings.revision is None else {"revision": self._settings.revision}
        return {"model": self._settings.model, **revision}

    @property
    def facts(self) -> Mapping[str, Any]:
        """The folder, the replies in it, and its lines that are none (`torn`: files that end in half a line)."""
        index = self._index
        return {
            "backend": self._settings.backend,
            "replies": len(index),
            "skipped_lines": index.skipped,
            "first_skipped": index.first_skipped,
            "torn": index.torn,
        }

    @property
    def context_tokens(self) -> int | None:
        return self._settings.context_tokens

    @property
    def tokenizer(self) -> Tokenizer | None:
        return self._tokenizer

    @property
    def pending(self) -> str | None:
        """How many requests wait in which files and how many of them failed before, the command that runs the first of
        the files, and what comes after."""
        count, files = self._writer.count, self._writer.files
        if not count:
            return None
        where = str(files[0]) if len(files) == 1 else f"{files[0]} to {files[-1].name}"
        paths = ["-i", str(files[0]), "-o", str(self._new_replies())]
        compact = _COMPACT if self._settings.structured == "json_schema" else ()
        command = shlex.join([*RUNNER, *paths, "--model", self._settings.model, *compact])
        each = "" if len(files) == 1 else f" for each of the {len(files)} files, with a new replies-*.jsonl each time,"
        todo = f"run `{command}`{each} and then the same sira command again"
        failed = f" ({self._failed:,} failed before, the first: {self._first_failure})" if self._failed else ""
        return f"requests without a reply: {count:,}{failed}, in {where}; {todo}"

    def generate(self, requests: Iterable[Request]) -> Iterator[Reply]:
        """The replies that are there, in the order of the requests; a request without one is `PENDING`."""
        try:
            for request in requests:
                body = chat_body(self._settings, request, self._settings.model, hosted=self._hosted)
                row_id = custom_id(request.key, body)
                reply = self._found(request.key, row_id)
                if reply is None:
                    self._writer.write({"custom_id": row_id, "method": "POST", "url": CALL_PATH, "body": body})
                    reply = Reply(request.key, "", Finish.PENDING)
                yield reply
        finally:
            self._writer.finish()

    def close(self) -> None:
        self._index.close()

    def _found(self, key: str, row_id: str) -> Reply | None:
        """The first good reply of this id, or else the first refusal of its request."""
        refusal: Reply | None = None
        failure: Reply | None = None
        for row in self._index.rows(row_id):
            reply, final = _row_reply(key, row)
            if not final:
                failure = failure or reply
            elif reply.finish not in (Finish.ERROR, Finish.TOO_LONG):
                return reply
            else:
                refusal = refusal or reply
        if refusal is None and failure is not None:
            self._failed += 1
            self._first_failure = self._first_failure or str(failure.detail)
        return refusal

    def _new_replies(self) -> Path:
        """A name of replies that is not taken, so that no command overwrites the replies of an earlier one."""
        numbers = [
            int(match[1]) for file in self._folder.iterdir() if (match := re.match(r"replies-(\d+)\.", file.name))
        ]
        return self._folder / f"replies-{max(numbers, default=-1) + 1:05d}.jsonl"


class _RequestFiles:
    """Writes requests-00000.jsonl and so on, each under a temporary name first; then removes what older jobs left."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stream = folder, None
        self._lines, self._bytes = 0, 0
        self.files: list[Path] = []
        self.count = 0

    _stream: IO[bytes] | None

    def write(self, row: Row) -> None:
        line = json.dumps(row).encode() + b"\n"
        if self._lines == MAX_REQUESTS or (self._lines and self._bytes + len(line) > MAX_BYTES):
            self._close()
            self._lines, self._bytes = 0, 0
        if self._stream is None:
            self._open()
        cast(IO[bytes], self._stream).write(line)
        self._lines, self._bytes, self.count = self._lines + 1, self._bytes + len(line), self.count + 1

    def finish(self) -> None:
        """Give the files their names; the requests of older jobs go."""
        self._close()
        own = set(self.files)
        for file in self._folder.glob("requests-*.jsonl"):
            if file not in own:
                file.unlink()

    def _open(self) -> None:
        if self._lines == 0:
            self._folder.mkdir(parents=True, exist_ok=True)
            self.files.append(self._folder / f"requests-{len(self.files):05d}.jsonl")
            self._stream = self._temporary.open("wb")
        else:  # a further call of `generate` fills the last file up
            self.files[-1].replace(self._temporary)
            self._stream = self._temporary.open("ab")

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None
            self._temporary.replace(self.files[-1])

    @property
    def _temporary(self) -> Path:
        return self.files[-1].with_name(f".{self.files[-1].name}.tmp")


def _row_id(row: Row) -> str | None:
    row_id = row.get("custom_id")
    return row_id if isinstance(row_id, str) and ("response" in row or "error" in row) else None


def _row_reply(key: str, row: Row) -> tuple[Reply, bool]:
    """What a line says, and whether it is the reply: not where the request might be answered another time."""
    response: Any = row.get("response")
    status: Any = None
    body: Any = None
    if isinstance(response, dict):
        fields = cast("dict[str, Any]", response)
        status, body = fields.get("status_code"), fields.get("body")
    status = status if type(status) is int and status != 200 else None
    error: Any = row.get("error")
    if error or status is not None or not isinstance(body, dict):
        reply = failed_reply(key, status, written(error or body or "the line holds no response"))
    else:
        reply = completion_reply(key, cast("dict[str, Any]", body))
    if status is None:
        return reply, reply.finish is not Finish.ERROR
    return reply, 400 <= status < 500 and status not in _OF_ALL_REQUESTS and not passes(status)

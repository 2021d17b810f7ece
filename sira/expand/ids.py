"""Hashes that decide shard, seed and change of a document: by its docid or text, never by its position."""

from __future__ import annotations

import hashlib
import json
from typing import Any

MAX_SEED = 2**31 - 1


def hash64(text: str) -> int:
    """BLAKE2b in 64 bits. Among a million docids of one shard two collide with a chance of 3 in 100 million; a job
    that meets such a pair reports a duplicate."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def shard_of(docid_hash: int, shards: int) -> int:
    """The shard of a document, from 0: it does not move when other documents come or go."""
    return docid_hash % shards


def seed_of(job_seed: int, docid: str) -> int:
    """The sampling seed of one document: the same whatever the number of shards."""
    return hash64(f"{job_seed}:{docid}") % MAX_SEED


def fingerprint(value: Any) -> str:
    """16 hex digits of a JSON-ready value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return f"{hash64(text):016x}"

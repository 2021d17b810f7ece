"""`manifest.json`: the totals of a finished store, with what it cost and what more documents would cost."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from sira import __version__
from sira.corpora.files import replacing
from sira.expand.config import ExpandConfig
from sira.expand.identity import read_job
from sira.expand.progress import now, progress_path, read_progress
from sira.expand.shard import shard_name
from sira.llm.base import Usage
from sira.llm.prices import cost, price_of

FILE = "manifest.json"
PROJECTIONS = (1_000_000, 25_000_000)


def write_manifest(out: Path, config: ExpandConfig, shards: int) -> dict[str, Any] | None:
    """Write the manifest where every shard is finished; otherwise None. The last process to finish does it, and doing
    it twice gives the same totals."""
    found = [read_progress(progress_path(out / shard_name(shard, shards))) for shard in range(shards)]
    parts = [part for part in found if part is not None and part["finished"]]
    if len(parts) < shards:
        return None
    job = read_job(out)
    assert job is not None  # written before any shard
    manifest = _manifest(parts, job, config)
    with replacing(out / FILE) as stream:
        json.dump(manifest, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
    return manifest


def read_manifest(out: Path) -> dict[str, Any] | None:
    """The manifest of a store; None where it is not whole yet."""
    try:
        return json.loads((out / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def _manifest(parts: list[dict[str, Any]], job: dict[str, Any], config: ExpandConfig) -> dict[str, Any]:
    sessions = [session for part in parts for session in part["sessions"]]
    usage = sum((Usage(**session["usage"]) for session in sessions), Usage())
    seconds = sum(session["seconds"] for session in sessions)
    gpu_seconds = sum(session["seconds"] * session["gpus"] for session in sessions)
    done = sum(session["done"] for session in sessions)
    price = price_of(config.model)
    total = None if price is None else cost(usage, gpu_seconds, price)
    documents = sum(part["done"] for part in parts)
    return {
        "schema_version": 1,
        "name": job["name"],
        "fingerprint": job["fingerprint"],
        "identity": job["identity"],
        "documents": documents,
        "phrases": sum(part["phrases"] for part in parts),
        "statuses": _summed(parts, "statuses"),
        "dropped": _summed(parts, "dropped"),
        "cut": sum(part["cut"] for part in parts),
        "retried": sum(part["retried"] for part in parts),
        "skipped": sum(part["skipped"] for part in parts),
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cached_tokens": usage.cached_tokens,
        },
        "engines": _distinct([session["facts"] for session in sessions if session["facts"]]),
        "seconds": round(seconds, 3),
        "gpu_seconds": round(gpu_seconds, 3),
        "price": None if price is None else price.model_dump(mode="json"),
        "cost": None if total is None else round(total, 6),
        "projections": [
            project(count, done=done, seconds=seconds, gpu_seconds=gpu_seconds, usage=usage, total=total)
            for count in PROJECTIONS
        ],
        "written": now(),
        "sira": __version__,
    }


def project(
    count: int, *, done: int, seconds: float, gpu_seconds: float, usage: Usage, total: float | None
) -> dict[str, Any]:
    """What `count` documents would take at the rate of those done, on machines as they were, one after the other."""
    share = count / done if done else 0.0
    return {
        "documents": count,
        "hours": round(share * seconds / 3600, 3),
        "gpu_hours": round(share * gpu_seconds / 3600, 3),
        "prompt_tokens": round(share * usage.prompt_tokens),
        "completion_tokens": round(share * usage.completion_tokens),
        "cost": None if total is None else round(share * total, 2),
    }


def _distinct(facts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the sessions ran on, each once: versions decide what a model says (no engine promises equal text)."""
    return list({json.dumps(one, sort_keys=True): one for one in facts}.values())


def _summed(parts: list[dict[str, Any]], key: str) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part[key])
    return dict(sorted(total.items()))

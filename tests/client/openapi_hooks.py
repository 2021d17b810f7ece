"""Hooks of schemathesis: half of what it makes is led past the rule that a search has exactly one source, and to
docids, terms and tools that exist, so that the code behind the checks is reached. The other half is left as it is.

    SCHEMATHESIS_HOOKS=openapi_hooks PYTHONPATH=tests/client schemathesis run http://127.0.0.1:8321/openapi.json
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import schemathesis  # pyright: ignore[reportMissingImports]

SOURCES = ("topic", "query", "program_text", "program")
WORDS = ("celadon", "kiln fire", "+glaze -iron", '"wood ash"^2', "celadon~2", "(a OR b) AND c", "*", "term:", "", "釉")
DOCIDS = ("celadon", "raku", "nowhere", "../celadon", "")
INDEX = "pottery"


@schemathesis.hook  # pyright: ignore[reportUntypedFunctionDecorator]
def map_body(context: Any, body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    dice = zlib.crc32(json.dumps(body, default=str, sort_keys=True).encode("utf-8", "replace"))
    if dice % 2:
        return body
    path = context.operation.path
    if path.endswith(("/search", "/compile", "/explain")) and "/pi" not in path:
        return one_source(body, dice)
    if path.endswith("/batch") and isinstance(body.get("searches"), list):
        made = (
            one_source(item, dice + at) if isinstance(item, dict) else item for at, item in enumerate(body["searches"])
        )
        return {**body, "searches": list(made)}
    if path.endswith(("/find", "/read-document")):
        return {**body, "docid": DOCIDS[dice // 2 % len(DOCIDS)]}
    if path.endswith("/sessions"):
        return {**body, "index": INDEX}
    if "/tools/" in path:
        return {"arguments": {"reason": "x", "query": WORDS[dice // 2 % len(WORDS)], **_dict(body.get("arguments"))}}
    return body


def one_source(body: dict[str, Any], dice: int) -> dict[str, Any]:
    """The body with one of the four, and a depth that the server takes."""
    chosen = SOURCES[dice // 2 % 4]
    made = {name: value for name, value in body.items() if name not in SOURCES}
    given = body.get(chosen)
    made[chosen] = WORDS[dice // 8 % len(WORDS)] if given is None and chosen != "program" else given or {"clauses": []}
    if chosen != "topic":
        made = {name: value for name, value in made.items() if name not in ("sketch", "llm", "mode")}
    elif made.get("sketch") is not None:
        made.pop("llm", None)
    if isinstance(made.get("k"), int):
        made["k"] = 1 + made["k"] % 100
    return made


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

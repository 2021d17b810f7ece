"""The page at `/`: static files, no build step, nothing from outside. docs/serving-page.md says what it shows.

The page asks the HTTP API of its own server alone. A server sends the files with `HEADERS`; it serves the names of
`page_files()` and no other, so that no path leads anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
INDEX = "index.html"
"""What stands at `/`; the other files stand at `/static/` and their names."""

CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
"""Scripts and styles from this server alone, none inline; no text ever becomes markup (trusted types)."""

HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-cache",
    }
)


class StaticFile(NamedTuple):
    """A file of the page."""

    content: bytes
    media_type: str


@cache
def page_files() -> Mapping[str, StaticFile]:
    """The files by name, read once."""
    folder = files(__name__) / "static"
    found = {
        item.name: StaticFile(item.read_bytes(), _MEDIA_TYPES[suffix])
        for item in sorted(folder.iterdir(), key=lambda item: item.name)
        if (suffix := "." + item.name.rpartition(".")[2]) in _MEDIA_TYPES
    }
    return MappingProxyType(found)

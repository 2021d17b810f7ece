"""What one server serves, and how: from the command line or a TOML file."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sira.errors import InputError
from sira.serve.limits import Limits

TOKEN_VARIABLE = "SIRA_TOKEN"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
LEAST_TOKEN = 16
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?")
_ORIGIN = re.compile(r"https?://[^/\s*]+")


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """`indexes`: folders by name; the first is the one of routes that name none. `llm`, `prompt`: the model that
    sketches, as `sira search --llm` names it. `policy`, `categories`: as for `sira compile`. `preload`: open the
    indexes before the server is ready. `warm_up`: topics that every build answers before it is used. `refresh_s`: how
    often folders are looked at for a new build. `heap` is Java's, of each process."""

    indexes: Mapping[str, Path]
    llm: str | None = None
    prompt: str | None = None
    policy: str | None = None
    categories: Path | None = None
    preload: bool = False
    warm_up: Path | None = None
    refresh_s: float = 2.0
    heap: str | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not 0.05 <= self.refresh_s <= 86_400:
            raise InputError(f"refresh_s = {self.refresh_s}: give seconds from 0.05")
        if self.prompt is not None and self.llm is None:
            raise InputError(f"prompt {self.prompt}: it is for a model: give one by --llm")


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """`hosts`: names by which the server may be called beside those of the loopback address; `origins`: of pages that
    may call it from a browser. `token` None: nobody is asked for one, on the loopback address alone. `log`: a file for
    the access log (None: stderr); `log_texts`: queries and docids stand in it. `text_only`: results of MCP without
    their records. `run_folder`: where the processes of one server find each other; None for a single one."""

    host: str = "127.0.0.1"
    port: int = 8321
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    log: Path | None = None
    log_texts: bool = False
    text_only: bool = False
    workers: int = 1
    run_folder: Path | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise InputError(f"port = {self.port}: give one from 1 to 65535, or 0 for any that is free")
        if not 1 <= self.workers <= 256:
            raise InputError(f"workers = {self.workers}: give 1 to 256")
        for host in self.hosts:
            if not _HOST.fullmatch(host):
                raise InputError(f"allowed host {host!r}: give a name without scheme, port and path")
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                raise InputError(f"allowed origin {origin!r}: give one such as https://example.org, without a path")
        if not self.on_loopback and self.token is None:
            raise InputError(
                f"host {self.host}: other machines could reach this server: set {TOKEN_VARIABLE} or give --token-file, "
                "or leave out --host to serve this machine alone"
            )

    @property
    def on_loopback(self) -> bool:
        """Whether no other machine reaches the address."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def read_token(path: Path | None) -> str | None:
    """The token of a file, or of SIRA_TOKEN. Raises InputError for one that is too short to be a secret."""
    if path is not None:
        try:
            token, place = path.read_text(encoding="utf-8").strip(), str(path)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: the token cannot be read ({error}): give a file with one line") from None
    else:
        token, place = os.environ.get(TOKEN_VARIABLE, "").strip(), TOKEN_VARIABLE
        if not token:
            return None
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"{place}: a token has {LEAST_TOKEN} or more ASCII letters, digits or signs and no blank: "
            "`python -c 'import secrets; print(secrets.token_urlsafe(32))'` makes one"
        )
    return token


def index_folders(given: list[str]) -> dict[str, Path]:
    """FOLDER or NAME=FOLDER, in order; a folder without a name is called by its own. Raises InputError."""
    folders: dict[str, Path] = {}
    for text in given:
        name, equals, folder = text.partition("=")
        path = Path(folder if equals and "/" not in name else text)
        if not (equals and "/" not in name):
            name = path.absolute().name
        if name in folders:
            raise InputError(f"two indexes are called {name!r}: give one as NAME=FOLDER")
        folders[name] = path
    return folders


def without_index(folders: Collection[Path]) -> list[str]:
    """What to say of each folder that holds no index; one may come while the server runs. Raises InputError where none
    holds one."""
    told = [
        f"{folder}: {'holds no index' if folder.is_dir() else 'there is no such folder'}: "
        f"`sira index SOURCE --index {folder}` builds one"
        for folder in folders
        if not any(folder.glob("segments_*"))
    ]
    if len(told) == len(folders):
        raise InputError(told[0])
    return told


def told(serving: ServeSettings, http: HttpSettings | None = None) -> Mapping[str, Any]:
    """The settings that a client may know: no path, no token, no address of a model."""
    facts: dict[str, Any] = {
        "indexes": list(serving.indexes),
        "model": serving.llm is not None,
        "policy": serving.policy is not None,
        "categories": serving.categories is not None,
        "preload": serving.preload,
        "warm_up": serving.warm_up is not None,
        "refresh_s": serving.refresh_s,
        "limits": dict(serving.limits.to_json()),
    }
    if http is not None:
        facts |= {
            "workers": http.workers,
            "token": http.token is not None,
            "log_texts": http.log_texts,
            "text_only": http.text_only,
        }
    return facts

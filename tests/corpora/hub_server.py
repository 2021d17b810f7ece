"""A server on loopback that speaks as much of the Hugging Face Hub's protocol as reading one data set takes."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

SHA = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def hub(name: str, folder: Path, cut: str = "") -> Generator[tuple[str, list[str]]]:
    """(address, log of "METHOD path") of a server that has the data set `name` at revisions `main` and SHA.

    The connection breaks half-way through the file `cut`, each time.
    """
    log: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: object) -> None:
            pass

        def _send(self, status: int, body: bytes, **headers: str) -> None:
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "HEAD":
                return
            if cut and self.path.endswith(cut):
                self.wfile.write(body[: len(body) // 2])
                self.close_connection = True
                return
            self.wfile.write(body)

        def _json(self, found: object) -> None:
            self._send(200, json.dumps(found).encode(), Content_Type="application/json")

        def _lacks(self, code: str) -> None:
            self._send(404, b"", X_Error_Code=code, X_Error_Message=code)

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            log.append(f"{self.command} {path}")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            api, resolve = f"/api/datasets/{name}", f"/datasets/{name}/resolve/"
            if path == api or path in (f"{api}/revision/main", f"{api}/revision/{SHA}"):
                self._json({"id": name, "sha": SHA, "siblings": [{"rfilename": file} for file in _files(folder)]})
            elif path.startswith(f"{api}/tree/"):
                under = path.removeprefix(f"{api}/tree/").partition("/")[2]
                recursive = "recursive=true" in urlsplit(self.path).query.lower()
                if (folder / under).is_dir():
                    found = sorted((folder / under).rglob("*") if recursive else (folder / under).iterdir())
                    self._json([_entry(folder, str(item.relative_to(folder))) for item in found])
                else:
                    self._lacks("EntryNotFound")
            elif path.startswith(f"{api}/paths-info/"):
                asked = json.loads(body)["paths"]
                self._json([_entry(folder, file) for file in asked if (folder / file).is_file()])
            elif path.startswith(resolve):
                revision, _, file = path.removeprefix(resolve).partition("/")
                if revision not in ("main", SHA):
                    self._lacks("RevisionNotFound")
                elif (folder / file).is_file():
                    data = (folder / file).read_bytes()
                    etag = f'"{hashlib.sha1(data).hexdigest()}"'
                    self._send(200, data, ETag=etag, X_Repo_Commit=SHA, Accept_Ranges="bytes")
                else:
                    self._lacks("EntryNotFound")
            elif path.startswith((api, f"/datasets/{name}/")):
                self._lacks("RevisionNotFound")
            else:
                self._lacks("RepoNotFound")

        do_HEAD = do_POST = do_GET

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", log
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _files(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def _entry(folder: Path, file: str) -> dict[str, object]:
    if (folder / file).is_dir():
        return {"type": "directory", "path": file, "oid": hashlib.sha1(file.encode()).hexdigest()}
    data = (folder / file).read_bytes()
    return {"type": "file", "path": file, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}

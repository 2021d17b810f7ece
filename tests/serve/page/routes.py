"""The routes that the page uses, answered from the service inside the browser driver: no port, no waiting."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from playwright.sync_api import Error, Page, Route
from pydantic import ValidationError

from sira.errors import NotFoundError, SiraError
from sira.serve.page import HEADERS, INDEX, page_files
from sira.serve.requests import CompileRequest, DocumentRequest, ExplainRequest, FindRequest
from sira.serve.service import Service

ORIGIN = "http://page.test"


class Routes:
    """Answers the requests of one browser page and keeps them. `before` may take one first: it answers it, or leaves
    it for later, and says True."""

    def __init__(self, service: Service, *, model: bool = False) -> None:
        self.service, self.model = service, model
        self.asked: list[tuple[str, str, Any]] = []
        self.outside: list[str] = []
        self.before: Callable[[Route, str], bool] = lambda route, path: False
        self.held: list[Route] = []

    def attach(self, page: Page) -> None:
        page.route("**/*", self.answer)

    @property
    def explained(self) -> list[dict[str, Any]]:
        """The bodies of the searches that were asked for."""
        return [body for _, path, body in self.asked if path.endswith("/explain")]

    def hold(self) -> None:
        """Keep searches waiting from now on; they stand in `held`."""

        def before(route: Route, path: str) -> bool:
            if not path.endswith("/explain"):
                return False
            self.held.append(route)
            return True

        self.before = before

    def let_go(self) -> None:
        """End what waits."""
        for route in self.held:
            with contextlib.suppress(Error):  # the page gave it up
                route.abort()

    def answer(self, route: Route) -> None:
        parts = urlsplit(route.request.url)
        path = parts.path.removeprefix("/")
        if f"{parts.scheme}://{parts.netloc}" != ORIGIN:
            self.outside.append(route.request.url)
            route.abort()
        elif path.startswith(("v1/", "version")):
            sent = route.request.post_data
            body = json.loads(sent) if sent else None
            self.asked.append((route.request.method, path, body))
            if not self.before(route, path):
                self.api(route, path, parse_qs(parts.query), body)
        else:
            found = page_files().get(path.removeprefix("static/") or INDEX)
            if found is None:
                route.fulfill(status=404)
            else:
                route.fulfill(body=found.content, headers={**HEADERS, "Content-Type": found.media_type})

    def api(self, route: Route, path: str, query: dict[str, list[str]], body: Any) -> None:
        try:
            data = self._answered(path, query, body)
        except (SiraError, ValidationError) as error:
            status = 404 if isinstance(error, NotFoundError) else 422
            title = "Not found" if status == 404 else "This cannot be carried out"
            fulfil(route, status, {"title": title, "status": status, "detail": str(error)})
        else:
            fulfil(route, 200, data)

    def _answered(self, path: str, query: dict[str, list[str]], body: Any) -> Any:
        if path == "version":
            return {"settings": {**self.service.facts(), "model": self.model}}
        if path == "v1/indexes":
            return self.service.indexes()
        _, _, name, asked = path.split("/")
        index = unquote(name)
        match asked:
            case "explain":
                return self.service.explain(index, ExplainRequest.model_validate(body))
            case "compile":
                return self.service.compile(index, CompileRequest.model_validate(body))
            case "find":
                return self.service.find(index, FindRequest.model_validate(body))
            case _:
                offset, limit = int(query["offset"][0]), int(query["limit"][0])
                return self.service.document(
                    index, DocumentRequest(docid=query["docid"][0], offset=offset, limit=limit)
                )


def fulfil(route: Route, status: int, data: Any, **headers: str) -> None:
    """Answer with JSON; `Retry_After="2"` is a header."""
    kind = "application/json" if status < 400 else "application/problem+json"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    route.fulfill(status=status, body=json.dumps(data), headers={"Content-Type": kind, **named})

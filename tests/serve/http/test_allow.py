"""What a path answers to a method that it does not take."""

from __future__ import annotations

import pytest

from tests.conftest import MakeIndex
from tests.serve.http.support import DOCUMENTS, is_problem, running

pytestmark = pytest.mark.java


def test_a_method_that_is_not_taken_is_told_which_are(make_index: MakeIndex) -> None:
    with running({"pots": make_index(DOCUMENTS)}) as server:
        for method, path, allowed in (
            ("OPTIONS", "/v1/sessions/x", "DELETE, GET"),
            ("PUT", "/v1/sessions/x", "DELETE, GET"),
            ("GET", "/v1/sessions", "POST"),
            ("GET", "/v1/indexes/pots/search", "POST"),
            ("DELETE", "/v1/indexes", "GET"),
            ("PUT", "/pi/search", "POST"),
            ("POST", "/health", "GET, HEAD"),
            ("POST", "/", "GET, HEAD"),
        ):
            answer = server.client.request(method, path)
            is_problem(answer, 405, "method-not-allowed")
            assert answer.headers["allow"] == allowed, path

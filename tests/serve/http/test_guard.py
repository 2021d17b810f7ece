"""Who may ask: token, host, origin; request ids and the access log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sira.errors import InputError
from sira.serve.settings import HttpSettings, read_token
from tests.conftest import MakeIndex
from tests.serve.http.support import DOCUMENTS, is_problem, raw, running, soon

pytestmark = pytest.mark.java
TOKEN = "one-token-of-the-tests"
SEARCH = "/v1/indexes/pots/search"


def test_an_address_that_others_reach_needs_a_token() -> None:
    with pytest.raises(InputError, match=r"0\.0\.0\.0: other machines could reach this server: set SIRA_TOKEN"):
        HttpSettings(host="0.0.0.0")
    assert HttpSettings(host="0.0.0.0", token=TOKEN).token == TOKEN
    assert TOKEN not in repr(HttpSettings(token=TOKEN))


def test_tokens_are_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIRA_TOKEN", raising=False)
    assert read_token(None) is None
    monkeypatch.setenv("SIRA_TOKEN", "short")
    with pytest.raises(InputError, match="a token has 16 or more"):
        read_token(None)
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert read_token(file) == TOKEN


def test_a_token_is_asked_for_everywhere_but_for_health(make_index: MakeIndex) -> None:
    http = HttpSettings(token=TOKEN, log=Path("/dev/null"))
    with running({"pots": make_index(DOCUMENTS)}, http=http) as server:
        for path in ("/health", "/ready", "/", "/static/main.js"):
            assert server.get(path).status_code == 200, path
        for path in ("/version", "/metrics", "/v1/indexes", "/openapi.json", "/nowhere", "/v1/sessions/x"):
            refused = server.get(path)
            is_problem(refused, 401, "no-token")
            assert refused.headers["www-authenticate"] == "Bearer"
        for given in ("Bearer wrong", "Basic " + TOKEN, TOKEN, f"Bearer {TOKEN}x", "Bearer", "Bearer é"):
            answer = server.client.get("/version", headers=[(b"authorization", given.encode("latin-1"))])
            is_problem(answer, 401, "wrong-token")
        allowed = server.post(SEARCH, {"query": "kiln"}, headers={"authorization": f"bearer {TOKEN}"})
        assert allowed.status_code == 200


def test_other_names_of_the_host_are_refused(make_index: MakeIndex) -> None:
    http = HttpSettings(hosts=("search.example",), log=Path("/dev/null"))
    with running({"pots": make_index(DOCUMENTS)}, http=http) as server:
        for name in ("localhost", "localhost:8080", "127.0.0.1", "[::1]:80", "search.example", "LOCALHOST."):
            assert server.get("/version", headers={"host": name}).status_code == 200, name
        for name in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "[::2]", "", ":80"):
            is_problem(server.get("/version", headers={"host": name}), 421, "wrong-host")
        assert raw(server.port, b"GET /version HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 421")
        for path in (b"/health", b"/ready"):  # a balancer's checks have no name, or another
            assert raw(server.port, b"GET %b HTTP/1.0\r\n\r\n" % path).startswith(b"HTTP/1.1 200")


def test_pages_of_other_origins_are_refused(make_index: MakeIndex) -> None:
    http = HttpSettings(origins=("https://friend.example",), token=TOKEN, log=Path("/dev/null"))
    with running({"pots": make_index(DOCUMENTS)}, http=http) as server:
        own = {"origin": server.url, "authorization": f"Bearer {TOKEN}"}
        assert server.post(SEARCH, {"query": "kiln"}, headers=own).status_code == 200
        for origin in ("https://evil.example", "null", "http://localhost:1", "http://[", "https://friend.example.evil"):
            is_problem(server.post(SEARCH, {"query": "a"}, headers={**own, "origin": origin}), 403, "foreign-origin")
        friend = {"origin": "https://friend.example"}
        unknown = server.post(SEARCH, {"query": "a"}, headers=friend)
        is_problem(unknown, 401, "no-token")
        assert unknown.headers["access-control-allow-origin"] == friend["origin"]
        assert "retry-after" in unknown.headers["access-control-expose-headers"]
        asked = {**friend, "access-control-request-method": "POST", "access-control-request-headers": "authorization"}
        preflight = server.client.options(SEARCH, headers=asked)
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == "https://friend.example"
        answer = server.post(SEARCH, {"query": "kiln"}, headers={**own, **friend})
        assert answer.headers["access-control-allow-origin"] == "https://friend.example"


def test_without_origins_no_page_elsewhere_is_let_in(make_index: MakeIndex) -> None:
    with running({"pots": make_index(DOCUMENTS)}) as server:
        answer = server.get("/health", headers={"origin": "https://friend.example"})
        is_problem(answer, 403)
        assert "access-control-allow-origin" not in server.get("/health").headers


def test_request_ids_are_taken_or_made(make_index: MakeIndex, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with running({"pots": make_index(DOCUMENTS)}, http=HttpSettings(log=log)) as server:
        assert server.get("/health", headers={"x-request-id": "mine-1"}).headers["x-request-id"] == "mine-1"
        for bad in ("a" * 65, "a b", 'a"b'):
            made = server.get("/health", headers={"x-request-id": bad}).headers["x-request-id"]
            assert made != bad
            assert len(made) == 16
        server.post(SEARCH, {"query": "a secret word"}, headers={"x-request-id": "mine-2"})
        session = server.post("/v1/sessions", {"index": "pots"}).json()["session"]
        server.get(f"/v1/sessions/{session}")
        server.post("/v1/indexes/a%0Ab/search", {"query": "x"})
        assert soon(lambda: log.read_text().count("\n") == 8)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["request_id"] for line in lines].count("mine-1") == 1
    (line,) = (line for line in lines if line["request_id"] == "mine-2")
    assert line["route"] == "/v1/indexes/{index}/search"
    assert (line["method"], line["status"], line["index"], line["client"]) == ("POST", 200, "pots", "127.0.0.1")
    assert line["ms"] > 0
    assert "secret" not in log.read_text()
    assert session not in log.read_text()


def test_texts_are_logged_if_asked_for(make_index: MakeIndex, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with running({"pots": make_index(DOCUMENTS)}, http=HttpSettings(log=log, log_texts=True)) as server:
        server.post(SEARCH, {"query": "a plain word"})
        assert soon(lambda: log.exists() and "a plain word" in log.read_text())


def test_the_log_may_be_moved_away(make_index: MakeIndex, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with running({"pots": make_index(DOCUMENTS)}, http=HttpSettings(log=log)) as server:
        server.get("/health")
        log.rename(tmp_path / "access.log.1")
        server.get("/health")
        assert soon(log.exists)


def test_a_log_that_cannot_be_written_loses_lines_only(make_index: MakeIndex) -> None:
    with running({"pots": make_index(DOCUMENTS)}, http=HttpSettings(log=Path("/dev/full"))) as server:
        assert server.get("/health").status_code == 200
        assert server.post(SEARCH, {"query": "kiln"}).status_code == 200

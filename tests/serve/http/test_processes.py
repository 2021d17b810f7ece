"""`sira serve` as processes: what it prints, signals, and several processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sira.compile import compile_sketch
from sira.lucene.reader import Index
from sira.records import Topic
from tests.conftest import MakeIndex
from tests.serve.http.processes import Process, serving
from tests.serve.http.support import DOCUMENTS, soon

pytestmark = [pytest.mark.java, pytest.mark.slow]
__all__ = ["Process", "serving"]


def test_one_process_serves_and_leaves(make_index: MakeIndex, tmp_path: Path) -> None:
    folder = make_index(DOCUMENTS)
    log = tmp_path / "access.log"
    with serving(tmp_path, f"pots={folder}", "--threads", "1", "--queue", "7", "--log", str(log)) as server:
        with Index(folder) as index:
            ranking = index.search(compile_sketch(Topic("q", "kiln glaze"), None, index), 10)
        hits = server.client.post("/v1/indexes/pots/search", json={"query": "kiln glaze"}).json()["hits"]
        assert [(hit["docid"], hit["score"]) for hit in hits] == list(zip(ranking.docids, ranking.scores, strict=True))
        settings = server.client.get("/version").json()["settings"]
        assert (settings["limits"]["threads"], settings["limits"]["queue"]) == (1, 7)
        assert 'sira: indexes = ["pots"]' in server.errors.read_text()
        assert '"queue": 7' in server.errors.read_text()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) in (0, -signal.SIGTERM)
        assert "Traceback" not in server.errors.read_text()
    assert [json.loads(line)["status"] for line in log.read_text().splitlines()].count(200) >= 2


def test_ctrl_c_ends_it(make_index: MakeIndex, tmp_path: Path) -> None:
    with serving(tmp_path, f"pots={make_index(DOCUMENTS)}", "--preload") as server:
        assert server.client.post("/v1/indexes/pots/search", json={"query": "kiln"}).status_code == 200
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 130
        assert server.errors.read_text().endswith("sira: interrupted\n")


def test_a_folder_gives_its_name_and_mcp_is_there(make_index: MakeIndex, tmp_path: Path) -> None:
    folder = make_index(DOCUMENTS)
    with serving(tmp_path, str(folder)) as server:
        assert server.client.get("/v1/indexes").json()["default"] == folder.name
        hello = {
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
            },
        }  # fmt: skip
        answer = server.client.post(
            "/mcp", json=hello, headers={"accept": "application/json, text/event-stream"}, follow_redirects=False
        )
        assert answer.status_code == 200


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name an index folder to serve"),
        (["a=x", "a=y"], "two indexes are called 'a'"),
        (["a b=x"], "cannot be the name of an index"),
        (["nowhere"], "nowhere: there is no such folder: `sira index SOURCE --index nowhere` builds one"),
        (["a=.", "b=nowhere"], ".: holds no index"),
        (["x", "--config", "x.toml"], "name none beside it"),
        (["--config", "x.toml", "--host", "0.0.0.0"], "--host: with --config it stands in that file"),
        (["x", "--prompt", "short"], "it is for a model"),
        (["x", "--allow-host", "http://x"], "give a name without scheme"),
        (["x", "--allow-origin", "*"], "give one such as https://example.org"),
        (["x", "--host", "0.0.0.0"], "other machines could reach this server"),
        (["x", "--host", "no.such.host.invalid", "--token-file", "token"], "give an address of this machine"),
        (["x", "--port", "70000"], "port = 70000"),
        (["x", "--workers", "0"], "workers = 0"),
        (["x", "--queue", "-1"], "queue = -1"),
        (["x", "--policy", "nowhere.toml"], "nowhere.toml"),
        (["x", "--llm", "nowhere.toml"], "nowhere.toml"),
        (["x", "--warm-up", "nowhere.tsv"], "nowhere.tsv"),
        (["x", "--warm-up", "token"], "token, line 1: no tab"),
        (["x", "--log", "/nowhere/access.log"], "the access log cannot be written"),
    ],
)
def test_settings_that_cannot_be_used(arguments: list[str], told: str, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SIRA_TOKEN"}
    (tmp_path / "token").write_text("a-token-of-the-tests")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "segments_1").touch()
    command = [sys.executable, "-m", "sira", "serve", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken(make_index: MakeIndex, tmp_path: Path) -> None:
    folder = make_index(DOCUMENTS)
    with serving(tmp_path, f"pots={folder}") as server:
        port = server.url.rpartition(":")[2]
        done = subprocess.run(
            [sys.executable, "-m", "sira", "serve", str(folder), "--port", port],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "cannot be bound" in done.stderr


def test_a_file_of_settings(make_index: MakeIndex, tmp_path: Path) -> None:
    folder = make_index(DOCUMENTS)
    (tmp_path / "token").write_text("a-token-of-the-tests\n")
    (tmp_path / "topics.tsv").write_text("1\tkiln glaze\n")
    config = tmp_path / "serve.toml"
    config.write_text(
        f'[indexes]\npots = "{folder}"\nmore = "{folder}"\n[serve]\nport = 0\ntoken_file = "token"\npreload = true\n'
        'warm_up = "topics.tsv"\n'
        "[limits]\nk = 7\nsearch_s = 3.5\n"
    )
    with serving(tmp_path, "--config", str(config)) as server:
        assert server.client.get("/version").status_code == 401
        server.client.headers["authorization"] = "Bearer a-token-of-the-tests"
        settings = server.client.get("/version").json()["settings"]
        assert (settings["limits"]["k"], settings["limits"]["search_s"], settings["token"]) == (7, 3.5, True)
        assert settings["warm_up"] is True
        assert [item["loaded"] for item in server.client.get("/v1/indexes").json()["indexes"]] == [True, True]
        assert "a-token-of-the-tests" not in server.errors.read_text()
    config.write_text('[indexes]\npots = "x"\n[limits]\nkk = 7\n')
    done = subprocess.run(
        [sys.executable, "-m", "sira", "serve", "--config", str(config)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "limits.kk" in done.stderr


def test_several_processes_are_one_server(make_index: MakeIndex, tmp_path: Path) -> None:
    folder = make_index(DOCUMENTS)
    token = "a-token-of-the-tests"
    with serving(tmp_path, f"pots={folder}", "--workers", "3", environment={"SIRA_TOKEN": token}) as server:
        headers = {"authorization": f"Bearer {token}"}
        assert len(server.workers) == 3

        def ask(method: str, path: str, body: Any = None) -> httpx2.Response:
            return httpx2.request(method, server.url + path, json=body, headers=headers, timeout=20, trust_env=False)

        session = ask("POST", "/v1/sessions", {"index": "pots"}).json()["session"]
        tag = session.partition(".")[0]
        search = {"arguments": {"reason": "", "query": "kiln"}}
        seen: set[str] = set()
        for _ in range(60):  # each over a connection of its own, so that other processes answer, too
            answer = ask("POST", f"/v1/sessions/{session}/tools/search", search)
            assert answer.status_code == 200
            assert "search_id=s1" in answer.json()["text"]
        for line in ask("GET", "/metrics").text.splitlines():
            if line.startswith("sira_requests_total") and 'route="passed on"' in line:
                seen.add(line.partition('worker="')[2][:8])
        assert tag not in seen
        assert len({line for line in ask("GET", "/metrics").text.splitlines() if line.startswith("sira_sessions")}) == 3
        foreign = "0123abcd." + session.partition(".")[2]
        assert ask("GET", f"/v1/sessions/{foreign}").status_code == 404
        assert httpx2.get(f"{server.url}/v1/sessions/{session}", trust_env=False).status_code == 401
        assert ask("DELETE", f"/v1/sessions/{session}").status_code == 204
        assert ask("GET", f"/v1/sessions/{session}").status_code == 404
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(30)
        assert not list(tmp_path.glob("sira-serve-*"))
        assert "Traceback" not in server.errors.read_text()


def test_a_supervisor_that_is_killed_leaves_nobody_behind(make_index: MakeIndex, tmp_path: Path) -> None:
    folder = make_index(DOCUMENTS)
    with serving(tmp_path, f"pots={folder}", "--workers", "2") as server:
        workers = server.workers
        assert len(workers) == 2
        server.process.kill()
        assert soon(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), 30)


def test_the_temporary_folder_is_private(make_index: MakeIndex, tmp_path: Path) -> None:
    assert tempfile.gettempdir()
    with serving(tmp_path, f"pots={make_index(DOCUMENTS)}", "--workers", "2"):
        (folder,) = tmp_path.glob("sira-serve-*")
        assert folder.stat().st_mode & 0o777 == 0o700

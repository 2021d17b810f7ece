"""The service without a transport: builds, sessions, batches, and the server's own model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sira.errors import EnvironmentFault, IndexFault, InputError, NotFoundError, SiraError
from sira.lucene.writer import build_index
from sira.records import Document
from sira.serve.faults import Busy, Gone, SessionGone, hidden, without_any_path
from sira.serve.limits import Limits
from sira.serve.pool import IndexPool
from sira.serve.requests import (
    CompileRequest,
    DocumentRequest,
    PiSearchRequest,
    SearchRequest,
    SessionRequest,
    Source,
    TermsRequest,
)
from sira.serve.service import Service
from sira.serve.settings import ServeSettings
from tests.conftest import records
from tests.llm.openai_server import OpenAIServer, completion, refusal

pytestmark = pytest.mark.java
POTS = (
    Document("kiln-wash", "A coating for kiln shelves. Alumina and kaolin.", "Kiln wash"),
    Document("raku", "The glaze crackles in sawdust.", "Raku"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build_index(records(POTS), tmp_path / "pots", progress=False)
    return tmp_path / "pots"


@pytest.fixture
def service(folder: Path) -> Iterator[Service]:
    settings = ServeSettings({"pots": folder}, refresh_s=60, limits=Limits(sessions=2, batch=3))
    with Service(settings) as opened:
        yield opened


def ask(**fields: object) -> SearchRequest:
    return SearchRequest.model_validate(fields)


def test_an_old_build_is_closed_with_its_last_user(folder: Path) -> None:
    pool = IndexPool({"pots": folder})
    with pool.lease("pots") as old:
        build_index(records((*POTS, Document("new", "kiln"))), folder, progress=False, overwrite=True)
        assert pool.refresh("pots") is True
        assert pool.refresh("pots") is False
        with pool.lease("pots") as new:
            assert (old.index.document_count, new.index.document_count) == (2, 3)
            assert (old.generation, new.generation) == (1, 2)
        assert old.index.documents(["raku"])[0] is not None
    with pytest.raises(IndexFault, match="was closed"):
        old.index.documents(["raku"])
    pool.close()


def test_an_index_is_opened_once_by_many_at_a_time(folder: Path) -> None:
    pool, seen = IndexPool({"pots": folder}), set[int]()

    def use() -> None:
        with pool.lease("pots") as opened:
            seen.add(id(opened))

    threads = [threading.Thread(target=use) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1
    assert pool.states()[0].generation == 1
    pool.close()
    with pytest.raises(IndexFault):
        pool.open("pots")


def test_names_that_are_none() -> None:
    for name in ("", ".", "..", "a/b", "-a", "a" * 65, "a\n"):
        with pytest.raises(InputError, match="name of an index"):
            IndexPool({name: Path("x")})
    with pytest.raises(InputError, match="no index to serve"):
        IndexPool({})


def test_a_fault_names_the_index_and_not_its_folder(service: Service, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match='docid: "x" is not in index pots'):
        service.document("pots", DocumentRequest(docid="x"))
    with pytest.raises(NotFoundError, match='index "nope" is not served here: choose pots'):
        service.search("nope", ask(query="kiln"))
    gone = Service(ServeSettings({"gone": tmp_path / "gone"}))
    with pytest.raises(IndexFault) as fault:
        gone.search("gone", ask(query="kiln"))
    assert str(tmp_path) not in str(fault.value)
    assert "index gone" in str(fault.value)
    gone.close()


def test_paths_are_cut_out_of_faults(tmp_path: Path) -> None:
    assert hidden(f"{tmp_path}/x: gone", tmp_path, "pots") == "index pots/x: gone"
    assert hidden(f'path="{tmp_path}"', tmp_path, "pots") == 'path="index pots"'
    assert hidden(f"`sira index --index {tmp_path}`", tmp_path, "pots") == "`sira index --index DIR`"
    assert hidden("docid: x/and is not in /and: search", Path("/and"), "pots") == (
        "docid: x/and is not in index pots: search"
    )
    assert without_any_path("cannot map /var/lib/x/_0.cfs: no memory") == "cannot map …: no memory"
    assert without_any_path("see docs/serving.md or http://host/a/b") == "see docs/serving.md or http://host/a/b"


def test_a_relative_folder_stands_in_no_word(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    with Service(ServeSettings({"pots": Path("pots"), "gone": Path("x")})) as service:
        with pytest.raises(NotFoundError, match=r'^docid: "spots" is not in index pots: choose one from a search$'):
            service.document("pots", DocumentRequest(docid="spots"))
        with pytest.raises(IndexFault, match=r"^index gone: there is no such folder: build an index with"):
            service.search("gone", ask(query="exit"))
        monkeypatch.chdir("/")  # the folder is where it was when the server started
        assert service.search("pots", ask(query="kiln"))["total"] == 1


def test_texts_that_an_index_does_not_store_cannot_be_asked_for(tmp_path: Path) -> None:
    build_index(records(POTS), tmp_path / "bare", progress=False, store_text=False)
    with Service(ServeSettings({"bare": tmp_path / "bare"})) as service:
        assert service.search("bare", ask(query="kiln"))["total"] == 1
        for refused in (
            lambda: service.search("bare", ask(query="kiln", titles=True)),
            lambda: service.document("bare", DocumentRequest(docid="raku")),
        ):
            with pytest.raises(InputError, match="index bare: it stores no texts"):
                refused()
        assert service.pi_search("bare", PiSearchRequest(query="kiln", limit=5))["hits"][0]["docid"] == "kiln-wash"


def test_a_batch_stops_when_nobody_waits(service: Service) -> None:
    found = service.batch("pots", [(ask(query="kiln"), None), (ask(query="glaze"), None)], iter([False, True]).__next__)
    assert len(found) == 1
    with pytest.raises(InputError, match="searches: 4"):
        service.batch("pots", [(ask(query="kiln"), None)] * 4)
    mixed = service.batch("pots", [(ask(query="kiln", k=5000), None), (ask(query="kiln"), None)])
    assert isinstance(mixed[0], SiraError)
    assert isinstance(mixed[1], dict)


def test_sessions_hold_their_build_and_give_it_back(service: Service) -> None:
    opened = service.pool.acquire("pots")
    service.pool.release(opened)
    one = service.open_session(SessionRequest(index="pots"))
    two = service.open_session(SessionRequest(index="pots", profile="pi-serini"))
    assert opened.users == 2
    with pytest.raises(Busy):
        service.open_session(SessionRequest(index="pots"))
    assert opened.users == 2
    result = service.call(one.id, "search", {"reason": "", "query": "kiln"})
    assert result.failure is None
    assert service.call(one.id, "search", json.dumps({"reason": "", "query": ""})).failure is not None
    for session in (one, two):
        service.close_session(session.id)
        with pytest.raises(SessionGone):
            service.call(session.id, "search", {"reason": "", "query": "kiln"})
    assert opened.users == 0


def test_calls_of_one_session_take_turns(service: Service) -> None:
    session = service.open_session(SessionRequest(index="pots"))
    texts = list[str]()

    def call(number: int) -> None:
        texts.append(service.call(session.id, "search", {"reason": "", "query": f"kiln w{number}"}).text)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {text.partition("search_id=")[2][:2] for text in texts} == {"s1", "s2", "s3", "s4"}


def test_a_call_that_nobody_waits_for_loses_its_turn(tmp_path: Path) -> None:
    build_index(records((*POTS, Document("slow", "a" * 40 + "b"))), tmp_path / "pots", progress=False)
    with Service(ServeSettings({"pots": tmp_path / "pots"})) as service, ThreadPoolExecutor(1) as pool:
        session = service.open_session(SessionRequest(index="pots")).id
        slow = {"reason": "", "docid": "slow", "pattern": "(a|aa)+$", "mode": "regex"}  # for two seconds
        running = pool.submit(service.call, session, "find_in_document", slow)
        opened = service.sessions.get(session)
        while not opened.lock.locked():
            threading.Event().wait(0.01)
        with pytest.raises(Gone):
            service.call(session, "search", {"reason": "", "query": "kiln"}, lambda: True)
        assert not running.done()
        service.close_session(session)  # while it works
        assert running.result(20).failure is not None
        assert opened.opened.users == 0  # given back once, and not twice


def test_a_session_that_is_used_does_not_expire(folder: Path) -> None:
    with Service(ServeSettings({"pots": folder}, refresh_s=0.05, limits=Limits(session_s=0.4))) as service:
        session = service.open_session(SessionRequest(index="pots"))
        first = session.expires_at
        threading.Event().wait(0.25)
        service.call(session.id, "search", {"reason": "", "query": "kiln"})
        assert service.session(session.id).expires_at > first
        threading.Event().wait(0.25)
        service.session(session.id)
        threading.Event().wait(0.4)
        with pytest.raises(SessionGone):
            service.session(session.id)
        assert len(service.sessions) == 0


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    pytest.importorskip("openai", reason="wants the package openai")
    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    running = OpenAIServer()
    (tmp_path / "model.toml").write_text(
        f'[model]\nbackend = "openai"\nmodel = "served-model"\nbase_url = "{running.url}"\nmax_retries = 0\n'
    )
    yield running
    running.stop()


def test_the_servers_own_model_sketches(folder: Path, tmp_path: Path, model: OpenAIServer) -> None:
    said = completion(json.dumps({"phrases": ["alumina", "porcelain"]}))
    model.answers = {"<query>\npots stick\n</query>": [_answer(said)]}
    with Service(ServeSettings({"pots": folder}, llm=str(tmp_path / "model.toml"))) as service:
        found = service.search("pots", ask(topic="pots stick", llm=True))
        assert [hit["docid"] for hit in found["hits"]] == ["kiln-wash"]
        assert found["sketch"]["phrases"] == ["alumina", "porcelain"]
        assert found["sketch_note"]["status"] == "ok"
        compiled = service.compile(
            "pots", CompileRequest.model_validate({"topic": "pots stick", "llm": {"roles": False}})
        )
        assert [item["outcome"] for item in compiled["verdicts"]] == ["kept", "unseen"]
        assert len(model.calls) == 1  # the second sketch is the reply that was kept
        with pytest.raises(InputError, match="topic: it is blank"):
            service.resolve(ask(topic=" ", llm=True))


def test_a_disk_that_takes_no_reply_costs_its_reuse_alone(
    folder: Path, tmp_path: Path, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIRA_CACHE", "/dev/null/cache")
    model.answers = {"<query>\npots stick\n</query>": [_answer(completion(json.dumps({"phrases": ["alumina"]})))]}
    with Service(ServeSettings({"pots": folder}, llm=str(tmp_path / "model.toml"))) as service:
        for _ in range(2):
            found = service.search("pots", ask(topic="pots stick", llm=True))
            assert [hit["docid"] for hit in found["hits"]] == ["kiln-wash"]
    assert len(model.calls) == 2


def test_faults_of_the_model_tell_no_address(folder: Path, tmp_path: Path, model: OpenAIServer) -> None:
    model.answers = {"<query>\npots\n</query>": [refusal(401, "bad key sk-secret")]}
    with Service(ServeSettings({"pots": folder}, llm=str(tmp_path / "model.toml"))) as service:
        with pytest.raises(EnvironmentFault) as fault:
            service.search("pots", ask(topic="pots", llm=True))
        assert "127.0.0.1" not in str(fault.value)
        assert "secret" not in str(fault.value)
        assert service.search("pots", ask(topic="kiln"))["total"] == 1


def test_without_a_model_llm_is_refused(service: Service) -> None:
    with pytest.raises(InputError, match="llm: this server has no model"):
        service.search("pots", ask(topic="kiln", llm=True))


def test_a_request_names_one_source() -> None:
    for fields in ({}, {"query": "a", "topic": "b"}, {"query": "a", "llm": True}, {"program_text": "a", "sketch": {}}):
        with pytest.raises(ValueError, match="give"):
            Source.model_validate(fields)
    assert TermsRequest(terms=["a"]).terms == ["a"]


def _answer(body: object):
    from tests.llm.openai_server import Answer

    return Answer(body)

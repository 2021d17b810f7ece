"""Every route of a real server, each answer beside that of the library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sira.agent.controller import Controller
from sira.compile import CompileSettings, compile_sketch
from sira.lucene.reader import Index
from sira.program import Program, Scoring, program_to_json
from sira.programtext import bind, parse_query, program_to_text
from sira.records import Sketch, SketchPhrase, Topic
from sira.search import explain_search
from tests.conftest import MakeIndex
from tests.serve.http.support import DOCUMENTS, LONG, Running, is_problem, running

pytestmark = pytest.mark.java
SEARCH = "/v1/indexes/pots/search"


@pytest.fixture(scope="module")
def folder(make_index: MakeIndex) -> Path:
    return make_index(DOCUMENTS, {"kiln-wash": (["releas", "agent"], ["releas agent"])})


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Running]:
    with running({"pots": folder}) as found:
        yield found


@pytest.fixture(scope="module")
def index(folder: Path) -> Iterator[Index]:
    with Index(folder) as found:
        yield found


def hits(answer: Any) -> list[tuple[str, float]]:
    assert answer.status_code == 200, answer.text
    return [(hit["docid"], hit["score"]) for hit in answer.json()["hits"]]


def as_json(program: Program) -> Any:
    return json.loads(json.dumps(program_to_json(program)))


def test_health_readiness_and_version_tell_no_path(server: Running, folder: Path) -> None:
    assert server.get("/health").json() == {"status": "ok"}
    assert server.client.head("/health").status_code == 200
    assert server.get("/ready").json() == {"status": "ready"}
    version = server.get("/version")
    assert version.json()["settings"]["limits"]["k"] == 1000
    assert version.json()["settings"]["workers"] == 1
    assert str(folder) not in version.text


def test_indexes_and_manifest(server: Running, index: Index, folder: Path) -> None:
    listed = server.get("/v1/indexes").json()
    assert [item["name"] for item in listed["indexes"]] == ["pots"]
    assert listed["default"] == "pots"
    answer = server.get("/v1/indexes/pots")
    facts = answer.json()
    assert facts["documents"] == len(DOCUMENTS) == index.document_count
    assert facts["expanded_documents"] == 1
    assert facts["contents_fingerprint"] == index.contents_fingerprint
    assert str(folder) not in answer.text


def test_plain_words_are_the_librarys_bm25(server: Running, index: Index) -> None:
    ranking = index.search(compile_sketch(Topic("q", "kiln glaze"), None, index), 10)
    answer = server.post(SEARCH, {"query": "kiln glaze"})
    assert hits(answer) == list(zip(ranking.docids, ranking.scores, strict=True))
    assert answer.json()["total"] == len(ranking)
    assert answer.json()["next_offset"] is None
    assert [hit["rank"] for hit in answer.json()["hits"]] == list(range(1, len(ranking) + 1))


def test_settings_reach_the_compiler(server: Running, index: Index) -> None:
    settings = CompileSettings(scoring=Scoring(k1=1.5, b=0.75, expansion_weight=0.0))
    ranking = index.search(compile_sketch(Topic("q", "kiln glaze"), None, index, settings), 10)
    given = {"profile": "sira", "expansion_weight": 0}
    assert hits(server.post(SEARCH, {"query": "kiln glaze", "settings": given})) == list(
        zip(ranking.docids, ranking.scores, strict=True)
    )


def test_a_topic_with_a_sketch(server: Running, index: Index) -> None:
    sketch = Sketch("q", (SketchPhrase("release agent"), SketchPhrase("alumina", weight=2.0)), ("category:glazes",))
    program = compile_sketch(Topic("q", "kiln"), sketch, index)
    ranking = index.search(program, 3)
    given = {"phrases": ["release agent", {"text": "alumina", "weight": 2.0}], "facets": ["category:glazes"]}
    answer = server.post(SEARCH, {"topic": "kiln", "sketch": given, "k": 3, "titles": True, "with_program": True})
    assert hits(answer) == list(zip(ranking.docids, ranking.scores, strict=True))
    assert answer.json()["programs"] == [as_json(program)]
    assert answer.json()["hits"][0]["title"] == "Kiln wash"


@pytest.mark.parametrize("mode", ["several", "auto"])
def test_modes_of_a_topic(server: Running, mode: str) -> None:
    sketch = {"phrases": ["alumina"], "searches": [{"phrases": ["sawdust"]}]}
    answer = server.post(SEARCH, {"topic": "kiln", "sketch": sketch, "mode": mode})
    assert hits(answer)
    assert ("several" if mode == "several" else "route") in answer.json()["note"]


def test_programs_as_json_and_text(server: Running, index: Index) -> None:
    program = bind(parse_query("+glaze^2 -kiln"), index, qid="q")
    ranking = index.search(program, 10)
    expected = list(zip(ranking.docids, ranking.scores, strict=True))
    assert "raku" not in ranking.docids
    assert hits(server.post(SEARCH, {"program_text": "+glaze^2 -kiln"})) == expected
    assert hits(server.post(SEARCH, {"program": as_json(program)})) == expected
    assert hits(server.post(SEARCH, {"program_text": program_to_text(program)})) == expected


def test_pages_of_a_ranking_join_to_it(server: Running) -> None:
    whole = hits(server.post(SEARCH, {"query": "glaze"}))
    found: list[tuple[str, float]] = []
    offset: int | None = 1
    while offset is not None:
        answer = server.post(SEARCH, {"query": "glaze", "offset": offset, "limit": 3})
        found += hits(answer)
        offset = answer.json()["next_offset"]
    assert found == whole
    assert len(whole) > 3
    assert hits(server.post(SEARCH, {"query": "glaze", "offset": 999})) == []


def test_a_program_that_finds_nothing_is_loosened_if_asked(server: Running) -> None:
    assert hits(server.post(SEARCH, {"program_text": "+kiln +iron"})) == []
    loose = server.post(SEARCH, {"program_text": "+kiln +iron", "relax": True})
    assert hits(loose)
    assert loose.json()["note"]["relax"]["steps"]


def test_a_batch_answers_in_order_and_each_for_itself(server: Running) -> None:
    searches = [{"query": "kiln"}, {"program_text": "+kiln AND"}, {"query": "glaze", "k": 2}]
    results = server.post(f"{SEARCH}/batch", {"searches": searches}).json()["results"]
    assert results[0]["hits"] == server.post(SEARCH, searches[0]).json()["hits"]
    assert results[1]["problem"]["type"] == "urn:sira:problem:invalid-program"
    assert len(results[2]["hits"]) == 2


def test_compile_gives_program_text_clauses_and_verdicts(server: Running, index: Index) -> None:
    sketch = Sketch("q", (SketchPhrase("alumina"), SketchPhrase("porcelain")))
    program = compile_sketch(Topic("q", "kiln"), sketch, index)
    answer = server.post(
        "/v1/indexes/pots/compile", {"topic": "kiln", "sketch": {"phrases": ["alumina", "porcelain"]}}
    ).json()
    assert answer["program"] == as_json(program)
    assert answer["text"] == program_to_text(program)
    assert [(item["term"], item["outcome"], item["df"]) for item in answer["verdicts"]] == [
        ("alumina", "kept", 1),
        ("porcelain", "unseen", 0),
    ]
    assert answer["clauses"][0]["share"] == answer["clauses"][0]["df"] / len(DOCUMENTS)


def test_explain_is_the_librarys_explanation(server: Running, index: Index) -> None:
    program = bind(parse_query("glaze kiln^2"), index, qid="q")
    expected = json.loads(json.dumps(explain_search(index, program, 3, missed=["raku", "nowhere"]).to_json()))
    answer = server.post(
        "/v1/indexes/pots/explain", {"program_text": "glaze kiln^2", "k": 3, "docids": ["raku", "nowhere"]}
    ).json()
    for name in ("hits", "lost", "missed", "program", "documents"):
        assert answer[name] == expected[name]


@pytest.mark.parametrize("docid", [document.docid for document in DOCUMENTS])
def test_documents_of_any_docid(server: Running, docid: str) -> None:
    expected = next(document for document in DOCUMENTS if document.docid == docid)
    parts: list[str] = []
    offset: int | None = 1
    while offset is not None:
        answer = server.get("/v1/indexes/pots/documents", params={"docid": docid, "offset": offset, "limit": 700})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        parts.append(page["text"])
        offset = page["next_offset"]
    assert "".join(parts) == expected.text
    assert page["title"] == expected.title
    assert page["facets"] == list(expected.facets)


def test_a_docid_that_is_a_path_reads_no_file(server: Running) -> None:
    text = server.get("/v1/indexes/pots/documents", params={"docid": "../../etc/passwd"}).json()["text"]
    assert text == "A glaze with the docid of a path."
    is_problem(server.get("/v1/indexes/pots/documents", params={"docid": "/etc/passwd"}), 404, "not-found")
    is_problem(server.get("/v1/indexes/pots/documents/..%2f..%2fmanifest.json"), 404)
    is_problem(server.get("/static/..%2f__init__.py"), 404)


def test_lines_behind_the_end_are_none(server: Running) -> None:
    page = server.get("/v1/indexes/pots/documents", params={"docid": "raku", "offset": 99}).json()
    assert (page["first"], page["last"], page["text"], page["next_offset"]) == (0, 0, "", None)


def test_find_and_terms(server: Running, index: Index) -> None:
    found = server.post("/v1/indexes/pots/find", {"docid": "long", "pattern": "LINE 7 tells", "before": 1}).json()
    assert found["total"] == 1
    assert found["matches"][0]["line"] == 7
    first = server.post("/v1/indexes/pots/find", {"docid": "long", "pattern": r"Line \d+", "mode": "regex"}).json()
    assert first["total"] == LONG.count("Line ")
    assert first["next_offset"] == 21
    counted = server.post("/v1/indexes/pots/terms", {"terms": ["glazes", "kiln shelves", "of"]}).json()
    assert [item["df"] for item in counted["terms"]] == [index.df(["glaze"])[0], 1, None]


def test_a_session_is_a_controller(server: Running, index: Index) -> None:
    opened = server.post("/v1/sessions", {"index": "pots"})
    assert opened.status_code == 201
    session = opened.json()["session"]
    with Controller(index) as controller:
        assert [tool["name"] for tool in opened.json()["tools"]] == [tool.name for tool in controller.tools]
        for tool, arguments in (
            ("search", {"reason": "", "query": "kiln glaze"}),
            ("read_search_results", {"reason": "", "search_id": "s1", "offset": 2}),
            ("read_document", {"reason": "", "docid": "long"}),
            ("read_document", {"reason": "", "docid": "nowhere"}),
        ):
            expected = controller.call(tool, json.dumps(arguments))
            as_object = server.post(f"/v1/sessions/{session}/tools/{tool}", {"arguments": arguments}).json()
            assert as_object["text"] == expected.text
            assert as_object["details"] == json.loads(json.dumps(dict(expected.details)))
            assert as_object["failure"] == (None if expected.failure is None else expected.failure.value)
    broken = server.post(f"/v1/sessions/{session}/tools/search", {"arguments": '{"query": "ki'}).json()
    assert broken["failure"] == "invalid_tool_arguments"
    half = server.post(f"/v1/sessions/{session}/tools/search", {"arguments": '{"\\ud800": 1}'})
    assert half.json()["failure"] == "invalid_tool_arguments"
    is_problem(server.post(f"/v1/sessions/{session}/tools/rm", {"arguments": {}}), 404, "no-such-tool")
    assert server.get(f"/v1/sessions/{session}").json()["session"] == session
    assert server.client.delete(f"/v1/sessions/{session}").status_code == 204
    is_problem(server.get(f"/v1/sessions/{session}"), 404, "no-such-session")
    is_problem(server.client.delete(f"/v1/sessions/{session}"), 404, "no-such-session")


def test_sessions_do_not_know_of_each_other(server: Running) -> None:
    one, two = (server.post("/v1/sessions", {"index": "pots"}).json()["session"] for _ in range(2))
    assert one != two
    assert server.post(f"/v1/sessions/{one}/tools/search", {"arguments": {"reason": "", "query": "kiln"}}).json()
    answer = server.post(
        f"/v1/sessions/{two}/tools/read_search_results", {"arguments": {"reason": "", "search_id": "s1"}}
    ).json()
    assert answer["failure"] == "invalid_tool_arguments"
    assert "kiln" not in answer["text"]


def test_a_session_of_pi_serini_writes_no_file_of_the_server(server: Running) -> None:
    opened = server.post("/v1/sessions", {"index": "pots", "profile": "pi-serini", "settings": {"depth": 50}}).json()
    assert {tool["name"] for tool in opened["tools"]} == {"search", "read_search_results", "read_document"}
    answer = server.post(
        f"/v1/sessions/{opened['session']}/tools/read_document",
        {"arguments": {"reason": "", "docid": "long", "limit": 5000}},
    ).json()
    assert answer["details"]["nextOffset"]
    assert "Full output saved" not in answer["text"]
    assert "fullOutputPath" not in answer["details"]
    refused = server.post("/v1/sessions", {"index": "pots", "settings": {"full_paging": False}})
    assert is_problem(refused, 422)["item"] == "settings.full_paging"


def test_the_openapi_document_names_every_route(server: Running) -> None:
    document = server.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert {
        "/health", "/ready", "/version", "/metrics",
        "/v1/indexes", "/v1/indexes/{index}", "/v1/indexes/{index}/compile", "/v1/indexes/{index}/search",
        "/v1/indexes/{index}/search/batch", "/v1/indexes/{index}/explain", "/v1/indexes/{index}/documents",
        "/v1/indexes/{index}/find", "/v1/indexes/{index}/terms",
        "/v1/sessions", "/v1/sessions/{session}", "/v1/sessions/{session}/tools/{tool}",
        "/pi/search", "/pi/read-document", "/pi/{index}/search", "/pi/{index}/read-document",
    } == set(document["paths"])  # fmt: skip
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["responses"]["422"]["content"].keys() == {"application/problem+json"}
    assert "Problem" in document["components"]["schemas"]
    names = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(set(names)) == len(names)


def test_metrics_count_what_was_asked(server: Running) -> None:
    before = counted(server, 'route="/v1/indexes/{index}/search",method="POST",status="200"')
    server.post(SEARCH, {"query": "kiln"})
    assert counted(server, 'route="/v1/indexes/{index}/search",method="POST",status="200"') == before + 1
    text = server.get("/metrics").text
    assert 'sira_index_generation{index="pots"} 1' in text
    assert 'sira_request_seconds_bucket{route="/v1/indexes/{index}/search",le="+Inf"}' in text
    assert "\nsira_resident_bytes " in text


def counted(server: Running, labels: str) -> float:
    line = next((line for line in server.get("/metrics").text.splitlines() if labels in line and "_total" in line), "0")
    return float(line.rpartition(" ")[2])


def test_the_page_and_its_files(server: Running) -> None:
    page = server.get("/")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert server.get("/static/main.js").headers["content-type"].startswith("text/javascript")
    is_problem(server.get("/static/nothing.js"), 404)


def test_large_answers_are_packed(server: Running) -> None:
    params = {"docid": "long", "limit": "2000"}
    assert server.get("/v1/indexes/pots/documents", params=params).headers["content-encoding"] == "gzip"
    small = server.get("/v1/indexes/pots/documents", params={"docid": "raku"})
    assert "content-encoding" not in small.headers

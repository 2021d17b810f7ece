"""Whatever is sent: an answer in JSON, never a fault of the server's, and every refusal a whole problem."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sira.serve.limits import Limits
from tests.conftest import MakeIndex
from tests.serve.http.support import DOCUMENTS, Running, running

pytestmark = [pytest.mark.java, pytest.mark.slow]
JSON = {"content-type": "application/json"}
FUZZ = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)

ODD = st.sampled_from(
    [
        "",
        " ",
        "kiln",
        "glaze",
        "\x00",
        "\ud800",
        "../../etc/passwd",
        "%00",
        "a" * 3000,
        "\u202e",
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "+glaze^2 -kiln",
        '"',
        "(a | b",
        "=x{df=1}",
        "year:[1 TO 2]",
        "category:glazes",
        "@scoring bm25f k1=1e999",
        "kiln^1e999",
        "\n\n",
        "ünïcode",
        "\\",
        "{}",
        "null",
    ]
)
TEXTS = ODD | st.text(max_size=30)
NUMBERS = (
    st.integers(-3, 60)
    | st.sampled_from([2**31, 2**63, 10**400, -(10**30), 0.0, -0.0, 1e308, 1e-320, 0.5])
    | st.floats()
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
CLAUSES = st.fixed_dictionaries(
    {"kind": st.sampled_from(["term", "phrase", "any_of", "facet", "range", "nothing"])},
    optional={
        "term": TEXTS,
        "terms": st.lists(TEXTS, max_size=3),
        "facet": TEXTS,
        "field": TEXTS,
        "gte": VALUES,
        "lte": VALUES,
        "weight": NUMBERS,
        "occur": st.sampled_from(["should", "must", "must_not", "filter", "x"]),
        "df": NUMBERS,
        "source": TEXTS,
    },
)
SCORINGS = st.fixed_dictionaries(
    {}, optional={"k1": NUMBERS, "b": NUMBERS, "combine": TEXTS, "expansion_weight": NUMBERS}
)
PROGRAMS = st.fixed_dictionaries(
    {},
    optional={"clauses": st.lists(CLAUSES, max_size=4), "scoring": SCORINGS, "qid": TEXTS, "text": TEXTS, "x": VALUES},
)
SKETCHES = st.fixed_dictionaries(
    {},
    optional={
        "phrases": st.lists(
            TEXTS | st.fixed_dictionaries({"text": TEXTS}, optional={"role": TEXTS, "weight": NUMBERS}), max_size=4
        ),
        "facets": st.lists(TEXTS, max_size=3),
        "ranges": st.lists(
            st.fixed_dictionaries({"field": TEXTS}, optional={"gte": VALUES, "lte": VALUES}), max_size=2
        ),
        "searches": st.lists(st.fixed_dictionaries({"phrases": st.lists(TEXTS, max_size=2)}), max_size=2),
        "samples": NUMBERS,
        "provenance": VALUES,
    },
)
COMPILE_SETTINGS = st.dictionaries(
    st.sampled_from(
        [
            "sketch_weight",
            "gate",
            "gate_power",
            "small_collection",
            "max_df_ratio",
            "max_df",
            "min_df",
            "weights",
            "ngrams",
            "max_n",
            "max_terms",
            "max_phrases",
            "profile",
            "k1",
            "b",
            "combine",
            "contents_weight",
            "expansion_weight",
            "x",
        ]
    ),
    NUMBERS
    | st.sampled_from(
        ["auto", "off", "any", "phrase", "soft", "window", "idf", "margin", "atoms", "sum", "bm25f", "long"]
    ),
    max_size=3,
)
SOURCES: dict[str, Any] = {
    "topic": TEXTS,
    "query": TEXTS,
    "program": PROGRAMS,
    "program_text": TEXTS,
    "sketch": SKETCHES,
    "llm": st.booleans() | VALUES,
    "settings": COMPILE_SETTINGS,
    "drop_guesses": st.booleans(),
}
PAGES: dict[str, Any] = {
    "k": NUMBERS,
    "offset": NUMBERS,
    "limit": NUMBERS,
    "titles": st.booleans(),
    "with_program": st.booleans(),
}
SEARCHES = st.fixed_dictionaries(
    {},
    optional={
        **SOURCES,
        **PAGES,
        "mode": st.sampled_from(["compiled", "auto", "several", "x"]),
        "relax": st.booleans(),
    },
)
ONE_SOURCE = st.one_of(
    st.fixed_dictionaries({"query": TEXTS}, optional=PAGES),
    st.fixed_dictionaries({"program": PROGRAMS}, optional={**PAGES, "relax": st.booleans()}),
    st.fixed_dictionaries({"program_text": TEXTS}, optional={**PAGES, "relax": st.booleans()}),
    st.fixed_dictionaries(
        {"topic": TEXTS},
        optional={
            "sketch": SKETCHES,
            "settings": COMPILE_SETTINGS,
            "mode": st.sampled_from(["compiled", "auto", "several"]),
        },
    ),
)
TOOL_SETTINGS = TEXTS | st.sampled_from(["depth", "marks", "bm25", "k1", "max_bytes"])
REQUESTS = st.one_of(
    st.tuples(st.just("/v1/indexes/pots/search"), SEARCHES | ONE_SOURCE | VALUES),
    st.tuples(st.just("/v1/indexes/pots/search"), ONE_SOURCE),
    st.tuples(
        st.just("/v1/indexes/pots/search/batch"), st.fixed_dictionaries({"searches": st.lists(ONE_SOURCE, max_size=3)})
    ),
    st.tuples(
        st.just("/v1/indexes/pots/compile"), st.fixed_dictionaries({}, optional={**SOURCES, "further": st.booleans()})
    ),
    st.tuples(
        st.just("/v1/indexes/pots/explain"),
        st.fixed_dictionaries({}, optional={**SOURCES, "k": NUMBERS, "docids": st.lists(TEXTS, max_size=3)}),
    ),
    st.tuples(
        st.just("/v1/indexes/pots/find"),
        st.fixed_dictionaries(
            {"docid": st.sampled_from(["raku", "long", "x"]) | TEXTS, "pattern": TEXTS},
            optional={"before": NUMBERS, "after": NUMBERS, "offset": NUMBERS, "limit": NUMBERS},
        ),
    ),
    st.tuples(
        st.just("/v1/indexes/pots/terms"), st.fixed_dictionaries({"terms": st.lists(TEXTS, max_size=4) | VALUES})
    ),
    st.tuples(
        st.just("/v1/sessions"),
        st.fixed_dictionaries(
            {"index": st.just("pots") | TEXTS},
            optional={"profile": TEXTS, "settings": st.dictionaries(TOOL_SETTINGS, VALUES, max_size=3)},
        ),
    ),
    st.tuples(
        st.just("/pi/search"), st.fixed_dictionaries({}, optional={"query": TEXTS, "limit": NUMBERS, "offset": NUMBERS})
    ),
    st.tuples(
        st.just("/pi/read-document"),
        st.fixed_dictionaries({"docid": TEXTS}, optional={"limit": NUMBERS, "offset": NUMBERS}),
    ),
)


@pytest.fixture(scope="module")
def server(make_index: MakeIndex) -> Iterator[Running]:
    limits = Limits(threads=2, k=50, explain_k=20, sessions=10_000)
    with running({"pots": make_index(DOCUMENTS)}, limits) as found:
        yield found


def check(answer: httpx2.Response, sent: Any) -> None:
    """The invariant."""
    assert answer.status_code < 500 or answer.status_code in (503, 504), (answer.status_code, answer.text, sent)
    assert answer.status_code != 503, (answer.text, sent)  # nothing that is sent makes the engine itself fail
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert {"type", "title", "status", "detail", "request_id"} <= problem.keys()
        assert len(answer.content) < 20_000
        assert "Traceback" not in answer.text
        assert "site-packages" not in answer.text
    elif answer.status_code != 204:
        json.loads(answer.content, parse_constant=lambda name: pytest.fail(f"{name} in {answer.text}"))


@FUZZ
@given(sent=REQUESTS)
def test_bodies_of_every_route(server: Running, sent: tuple[str, Any]) -> None:
    path, body = sent
    check(server.client.post(path, content=json.dumps(body).encode(), headers=JSON), sent)


@FUZZ
@given(
    body=st.binary(max_size=200)
    | st.text(max_size=100).map(lambda text: ('{"query": "' + text).encode("utf-8", "replace"))
)
def test_bytes_as_bodies(server: Running, body: bytes) -> None:
    check(server.client.post("/v1/indexes/pots/search", content=body, headers=JSON), body)


@FUZZ
@given(docid=TEXTS, offset=NUMBERS | TEXTS, limit=NUMBERS | TEXTS, name=st.just("pots") | TEXTS)
def test_query_strings_and_names(server: Running, docid: str, offset: Any, limit: Any, name: str) -> None:
    parts = [quote(str(part), safe="", errors="surrogatepass") for part in (name, docid, offset, limit)]
    path = (
        f"/v1/indexes/{parts[0][:200]}/documents?docid={parts[1][:3000]}&offset={parts[2][:400]}&limit={parts[3][:400]}"
    )
    check(server.client.get(path), path)


@FUZZ
@given(session=TEXTS, tool=TEXTS, body=VALUES, method=st.sampled_from(["GET", "POST", "DELETE", "PUT", "HEAD"]))
def test_sessions_that_are_none(server: Running, session: str, tool: str, body: Any, method: str) -> None:
    path = "/v1/sessions/" + quote(session[:100], safe="", errors="surrogatepass")
    for place in (path, f"{path}/tools/{quote(tool[:100], safe='', errors='surrogatepass')}"):
        answer = server.client.request(method, place, content=json.dumps(body).encode(), headers=JSON)
        if method != "HEAD":
            check(answer, place)
        assert answer.status_code in (204, 400, 404, 405, 422), place


@FUZZ
@given(
    tool=st.sampled_from(
        ["search", "read_search_results", "read_document", "find_in_document", "find_in_results", "term_statistics"]
    ),
    arguments=VALUES
    | st.fixed_dictionaries(
        {"reason": TEXTS},
        optional={
            "query": TEXTS,
            "program": PROGRAMS | TEXTS,
            "docid": TEXTS,
            "search_id": st.just("s1") | TEXTS,
            "pattern": TEXTS,
            "terms": st.lists(TEXTS, max_size=3),
            "offset": NUMBERS,
            "limit": NUMBERS,
        },
    ),
)
def test_tools_of_a_session(server: Running, tool: str, arguments: Any) -> None:
    session = server.post("/v1/sessions", {"index": "pots", "settings": {"depth": 20}}).json()["session"]
    path = f"/v1/sessions/{session}/tools/{tool}"
    for given_as in ({"arguments": arguments}, {"arguments": json.dumps(arguments)}):
        check(server.client.post(path, content=json.dumps(given_as).encode(), headers=JSON), given_as)
    server.client.delete(f"/v1/sessions/{session}")

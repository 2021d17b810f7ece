"""`sira search` beyond one program a topic: modes, relaxation, reranking; against a scripted server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from sira.cli import search
from sira.corpora.trec import read_run
from sira.search.rerank import RerankSettings
from sira.search.several import Budget
from tests.cli.conftest import Sira, write_rows
from tests.llm.openai_server import Answer, OpenAIServer, completion, refusal

pytestmark = pytest.mark.java
pytest.importorskip("openai", reason="wants the package openai")

HEAD, LONG, ODD = "celadon", "pots sticking to raku kiln shelves", "unheard words"
TOPICS = {"head": HEAD, "long": LONG, "odd": ODD}
ROUTING = "[routing]\nscore_depth = 2\nclear_ratio = 1.1\nseveral_words = 4\nknown_share = 0.3\n"


def said(*phrases: Any, **more: Any) -> Answer:
    return Answer(
        completion(json.dumps({"phrases": phrases, **more}), usage={"prompt_tokens": 9, "completion_tokens": 3})
    )


def scored(score: object) -> Answer:
    return Answer(completion(json.dumps({"score": score}), usage={"prompt_tokens": 50, "completion_tokens": 5}))


def block(text: str) -> str:
    return f"<query>\n{text}\n</query>"


def pair(query: str, document: str) -> str:
    return f"<query>\n{query}\n</query>\n\n<document>\n{document}\n</document>"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    running = OpenAIServer()
    yield running
    running.stop()


@pytest.fixture
def folder(tmp_path: Path, server: OpenAIServer, sira: Sira, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index `ix` of ten documents, topics.tsv, routing.toml, model.toml; an empty cache."""
    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    texts = [
        "celadon celadon celadon",
        "celadon and a long text about glaze",
        "kiln wash for kiln shelves",
        "raku kiln",
    ]
    texts += ["release agent", "slip casting clay", *[f"kiln number {n}" for n in range(4)]]
    write_rows(tmp_path / "corpus.jsonl", [{"id": f"d{n}", "text": text} for n, text in enumerate(texts, 1)])
    assert sira("index", tmp_path / "corpus.jsonl", "--index", tmp_path / "ix", "--quiet").status == 0
    (tmp_path / "topics.tsv").write_text("".join(f"{qid}\t{text}\n" for qid, text in TOPICS.items()), encoding="utf-8")
    (tmp_path / "routing.toml").write_text(ROUTING, encoding="utf-8")
    (tmp_path / "model.toml").write_text(
        f'[model]\nbackend = "openai"\nmodel = "served-model"\nbase_url = "{server.url}"\nmax_retries = 0\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def find(folder: Path, sira: Sira) -> Sira:
    """`sira search` on the index of the folder."""
    return lambda *arguments: sira("search", *arguments, "--index", folder / "ix")


def rows(out: str) -> dict[str, dict[str, Any]]:
    return {row["qid"]: row for row in map(json.loads, out.splitlines())}


def docids(row: dict[str, Any]) -> list[str]:
    return [hit["docid"] for hit in row["hits"]]


def asked(server: OpenAIServer) -> list[str]:
    return sorted(
        qid for call in server.calls for qid in TOPICS if call["messages"][-1]["content"] == block(TOPICS[qid])
    )


def written(folder: Path) -> list[dict[str, Any]]:
    """Sketches of the three topics, that of `long` with two further searches."""
    rows: list[dict[str, Any]] = [
        {"qid": "head", "phrases": ["raku"]},
        {"qid": "long", "phrases": ["wash"], "searches": [{"phrases": ["release agent"]}, {"phrases": ["clay"]}]},
        {"qid": "odd", "phrases": ["slip"]},
    ]
    write_rows(folder / "sketches.jsonl", rows)
    return rows


AUTO = ("--topics", "topics.tsv", "--mode", "auto", "--routing", "routing.toml")


# ------------------------------------------------------------------------------------------------------------ routing


def test_a_head_query_costs_no_call_and_the_others_are_asked_together(
    folder: Path, server: OpenAIServer, find: Sira
) -> None:
    server.answers = {block(LONG): [said("release agent", searches=[["clay"]])], block(ODD): [said("slip")]}
    done = find(*AUTO, "--llm", "model.toml", "--roles", "--searches", "2", "--json", "--gate", "off")
    assert done.status == 0, done.err
    assert asked(server) == ["long", "odd"]
    found = rows(done.out)
    assert {qid: row["route"]["action"] for qid, row in found.items()} == {
        "head": "plain", "long": "several", "odd": "compiled"
    }  # fmt: skip
    assert (found["odd"]["route"]["fallback"], found["odd"]["route"]["reason"]) == (
        True, "low confidence: no word of the query is in the index"
    )  # fmt: skip
    assert docids(found["odd"]) == ["d6"]
    assert [item["new"] for item in found["long"]["several"]["searches"]] == [7, 1]
    assert "1 of 3 topics fell back for low confidence (fallback rate 33.3%)" in done.err
    assert "no sketch" not in done.err


def test_where_no_topic_needs_a_sketch_no_model_is_asked(folder: Path, server: OpenAIServer, find: Sira) -> None:
    server.stop()
    done = find(HEAD, "--mode", "auto", "--routing", "routing.toml", "--llm", "model.toml")
    assert (done.status, server.calls) == (0, [])
    assert "d1" in done.out
    assert "topic 'q' goes to plain: head query" in done.err


def test_routing_without_sketches_tells_what_it_would_do(folder: Path, find: Sira) -> None:
    done = find(*AUTO, "--run", "out.trec")
    assert done.status == 0
    assert "routing: 1 compiled, 1 plain, 1 several; 1 of 3" in done.err
    assert list(read_run("out.trec").rankings) == ["head", "long"]


def test_a_plain_topic_has_the_ranking_of_plain_bm25_whatever_the_threads(folder: Path, find: Sira) -> None:
    written(folder)
    plain = rows(find("--topics", "topics.tsv", "--json").out)
    auto = rows(find(*AUTO, "--sketches", "sketches.jsonl", "--json", "--threads", "3").out)
    assert auto["head"]["hits"] == plain["head"]["hits"]
    assert list(auto) == list(TOPICS)


# --------------------------------------------------------------------------------------------------- several searches


def test_several_searches_deliver_at_most_the_pages_of_the_budget(folder: Path, find: Sira) -> None:
    written(folder)
    base = ("--topics", "topics.tsv", "--sketches", "sketches.jsonl", "--gate", "off")
    compiled = rows(find(*base, "--json").out)["long"]
    done = find(*base, "--mode", "several", "--json", "-k", "50")
    several = rows(done.out)["long"]
    assert {"d5", "d6"} & set(docids(compiled)) == set()
    assert {"d5", "d6"} <= set(docids(several))
    told = several["several"]
    assert [(item["number"], item["new"]) for item in told["searches"]] == [(1, 6), (2, 1), (3, 1)]
    assert (told["unique"], told["pages"], len(several["hits"])) == (8, 8, 8)
    assert "several searches: new pages by search, means: " in done.err
    fewer = rows(find(*base, "--mode", "several", "--json", "--max-pages", "2", "--max-searches", "1").out)["long"]
    assert (len(fewer["hits"]), len(fewer["several"]["searches"]), fewer["several"]["over_budget"]) == (2, 1, 2)


def test_compile_shows_the_program_of_each_further_search_with_its_verdicts(folder: Path, sira: Sira) -> None:
    written(folder)
    base = (
        "--topics",
        "topics.tsv",
        "--sketches",
        "sketches.jsonl",
        "--index",
        folder / "ix",
        "--gate",
        "off",
        "--json",
    )
    found = [json.loads(line) for line in sira("compile", *base, "--qid", "long", "--further").out.splitlines()]
    assert [[item["phrase"] for item in program["verdicts"]] for program in found] == [
        ["wash"],
        ["release agent", "release agent"],
        ["clay"],
    ]
    assert len(sira("compile", *base, "--qid", "long").out.splitlines()) == 1


def test_sketches_without_searches_are_said_to_have_none(folder: Path, find: Sira) -> None:
    done = find("kiln", "--mode", "several", "--phrase", "raku")
    assert done.status == 0
    assert "no sketch proposes further searches: one search a topic" in done.err


# ---------------------------------------------------------------------------------------------------------- relaxation


def must(folder: Path, *texts: str) -> tuple[str, ...]:
    write_rows(folder / "must.jsonl", [{"qid": "long", "phrases": [{"text": text, "role": "must"} for text in texts]}])
    (folder / "one.tsv").write_text(f"long\t{LONG}\n", encoding="utf-8")
    return ("--topics", "one.tsv", "--sketches", "must.jsonl")


def test_each_step_of_a_relaxation_is_told(folder: Path, find: Sira) -> None:
    done = find(*must(folder, "porcelain", "celadon", "raku"), "--json")
    row = rows(done.out)["long"]
    first, second = row["relax"]["steps"]
    assert (first["clauses"], first["became"], first["reason"]) == (["porcelain"], "should", "no document holds it")
    assert (second["became"], second["hits"] > 0, bool(row["hits"])) == ("should", True, True)
    lines = done.err.splitlines()
    assert lines[0] == (
        "sira: warning: topic 'long' requires 'porcelain', which no document holds: made optional: 0 hits"
    )
    assert lines[1].startswith(f"sira: warning: topic 'long': '{second['clauses'][0]}' (must): no document holds all")
    assert len(lines) == 2


def test_without_relaxation_nothing_is_found_and_that_is_said(folder: Path, find: Sira) -> None:
    done = find(*must(folder, "porcelain"), "--no-relax", "--json")
    assert rows(done.out) == {"long": {"qid": "long", "hits": []}}
    assert "requires 'porcelain', which no document holds: 0 hits" in done.err


def test_a_program_as_written_is_loosened_only_where_that_is_asked_for(folder: Path, find: Sira) -> None:
    (folder / "p.txt").write_text("+porcelain kiln", encoding="utf-8")
    for given in (("--program", "p.txt"), ("+porcelain kiln", "--syntax", "program")):
        exact = find(*given)
        assert (exact.status, exact.out) == (0, "")
        loose = find(*given, "--relax", "--json")
        assert docids(rows(loose.out)["q"])[0] == "d3"
        assert "made optional" in loose.err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("-celadon", "only excludes documents and asks for none"),
        ("kiln +celadon -glaze #raku", "found nothing that meets its constraints (--relax loosens them)"),
        ("unheard", "found nothing: 0 hits"),
    ],
)
def test_a_written_program_without_a_hit_has_a_reason(folder: Path, sira: Sira, text: str, reason: str) -> None:
    done = sira("search", "--syntax", "program", "--index", folder / "ix", "--", text)
    assert (done.status, done.out) == (0, "")
    assert reason in done.err


def test_what_nothing_can_find_has_a_reason(folder: Path, find: Sira) -> None:
    done = find("unheard", "--json")
    why = "no document holds any word, phrase or facet that the program asks for"
    assert rows(done.out)["q"]["relax"]["why_empty"] == why
    assert done.err == f"sira: warning: topic 'q': {why}: 0 hits\n"


# -------------------------------------------------------------------------------------------------------------- rerank


def test_a_model_orders_the_first_documents_and_what_it_did_not_score_is_told(
    folder: Path, server: OpenAIServer, find: Sira
) -> None:
    plain = rows(find("raku kiln", "--json", "-k", "5").out)["q"]["hits"]
    texts = [f"kiln number {n}" for n in range(4)]
    assert [hit["docid"] for hit in plain] == ["d4", "d3", "d10", "d7", "d8"]
    server.answers = {
        pair("raku kiln", "raku kiln"): [scored(10)],
        pair("raku kiln", "kiln wash for kiln shelves"): [scored(90)],
        pair("raku kiln", texts[3]): [refusal(400, "no")],
    }
    rerank = ("raku kiln", "--rerank", "model.toml", "--rerank-top", "3")
    done = find(*rerank, "--rerank-weight", "1", "--json", "-k", "4")
    assert done.status == 0, done.err
    row = rows(done.out)["q"]
    assert docids(row) == ["d3", "d4", "d10", "d7"]
    first, _, third, fourth = row["hits"]
    assert (first["model_score"], first["before"]) == (90, {"rank": 2, "score": plain[1]["score"]})
    assert (third["model_score"], third["before"]["rank"], "before" in fourth) == (None, 3, False)
    assert row["rerank"] == {"calls": 3, "prompt_tokens": 100, "completion_tokens": 10, "unscored": {"error": 1}}
    assert "rerank: 3 calls; documents without a score: 1 error" in done.err
    server.answers[pair("raku kiln", texts[3])] = [scored(50)]
    calls = len(server.calls)
    table = find(*rerank, "--rerank-weight", "1", "-k", "2")
    assert [line.split()[:3] for line in table.out.splitlines()] == [["1", "90", "d3"], ["2", "50", "d10"]]
    assert len(server.calls) == calls + 1  # the other replies are kept


def test_a_reranked_run_holds_what_was_not_scored_behind_it(folder: Path, server: OpenAIServer, find: Sira) -> None:
    server.answers = {pair(HEAD, "celadon celadon celadon"): [scored(0)],
                      pair(HEAD, "celadon and a long text about glaze"): [scored(100)]}  # fmt: skip
    (folder / "topics.tsv").write_text(f"head\t{HEAD}\n", encoding="utf-8")
    base = ("--topics", "topics.tsv", "--run", "out.trec", "--rerank", "model.toml")
    assert find(*base, "--rerank-combine", "rrf").status == 0
    assert read_run("out.trec").rankings["head"].docids == ("d1", "d2")  # ranks 1 and 2, 2 and 1: the old order
    assert find(*base, "--rerank-weight", "0.9").status == 0
    assert read_run("out.trec").rankings["head"].docids == ("d2", "d1")


# -------------------------------------------------------------------------------------------------- what is not taken


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("kiln", "--routing", "routing.toml"), "--routing: it belongs to --mode auto"),
        (("kiln", "--max-pages", "9"), "--max-pages: it belongs to --mode several and auto"),
        (("kiln", "--mode", "several"), "--mode several runs the searches of sketches"),
        (("kiln", "--mode", "auto", "--max-pages", "0"), "max_pages = 0"),
        (("kiln", "--mode", "auto", "--routing", "model.toml"), "model.toml: "),
        (("kiln", "--mode", "auto", "--routing", "bad.toml"), "bad.toml: routing: "),
        (("kiln", "--mode", "auto", "--routing", "agent.toml"), "there is no agent here"),
        (("kiln", "--rerank-top", "5"), "--rerank-top: it belongs to --rerank MODEL"),
        (("kiln", "--rerank", "model.toml", "--rerank-weight", "2"), "model_weight = 2.0"),
        (("kiln", "--rerank", "model.toml", "--rerank-combine", "rrf", "--rerank-weight", "1"), "--rerank-weight: "),
        (("kiln", "--rerank", "nowhere.toml"), "nowhere.toml: there is no such file"),
        (("", "--rerank", "model.toml"), "'q' has no text to score documents by"),
        (("kiln", "--searches", "2"), "--searches: it belongs to --llm"),
        (("kiln", "--phrase", "raku", "--samples", "3"), "--samples: it belongs to --llm"),
        (("kiln", "--gate", "window", "--gate-power", "2"), "--gate-power: it belongs to --gate auto and soft"),
        (("kiln", "--gate", "soft", "--small-collection", "0"), "--small-collection: it belongs to --gate auto"),
        (("kiln", "--max-n", "2"), "--max-n: it belongs to --ngrams"),
        (("kiln", "--llm", "model.toml", "--searches", "2"), "ask for roles too"),
        (("+kiln", "--syntax", "program", "--mode", "auto"), "--mode: programs as written"),
        (("kiln", "--policy", "nowhere.toml"), "nowhere.toml: there is no such file"),
        (("kiln", "--categories", "nowhere"), "nowhere"),
    ],
)
def test_what_does_not_fit_is_one_line(folder: Path, find: Sira, arguments: tuple[str, ...], named: str) -> None:
    (folder / "bad.toml").write_text("[routing]\nhead_words = -1\n", encoding="utf-8")
    (folder / "agent.toml").write_text('[routing]\nfallback = "agent"\n', encoding="utf-8")
    done = find(*arguments)
    assert done.status == 2
    assert named in done.err
    assert done.err.count("\n") == 1


def test_an_unknown_threshold_is_refused_by_name(folder: Path, find: Sira) -> None:
    (folder / "bad.toml").write_text("[routing]\ncolour = 1\n", encoding="utf-8")
    done = find("kiln", "--mode", "auto", "--routing", "bad.toml")
    assert (done.status, "bad.toml: routing.colour: " in done.err) == (2, True)


def test_guesses_and_forbidden_phrases_are_dropped_where_that_is_asked_for(folder: Path, find: Sira) -> None:
    (folder / "policy.toml").write_text('[class.none]\nabout = "no raku"\nwords = ["raku"]\n', encoding="utf-8")
    base = ("casting", "--gate", "off", "--json", "--phrase", "raku", "--phrase", "Celadon")
    assert set(docids(rows(find(*base).out)["q"])) == {"d1", "d2", "d4", "d6"}
    assert set(docids(rows(find(*base, "--policy", "policy.toml").out)["q"])) == {"d1", "d2", "d6"}
    assert set(docids(rows(find(*base, "--drop-guesses").out)["q"])) == {"d4", "d6"}
    assert find(*base, "--policy", "default").status == 0


def test_the_defaults_of_the_options_are_those_of_the_library() -> None:
    budget = {item.name: item.default for item in fields(Budget)}
    assert {name: budget[name] for name in search.BUDGET} == search.BUDGET
    rerank = RerankSettings()
    assert {
        "rerank_top": rerank.top_n, "rerank_weight": rerank.model_weight, "rerank_combine": rerank.combine
    } == search.RERANK  # fmt: skip

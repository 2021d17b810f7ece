"""GrepRAG: patterns of a reply, documents that hold them (ripgrep and Python alike), Jaccard, and whole topics."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sira.errors import EnvironmentFault
from sira.llm import Finish, Generator
from sira.lucene.reader import Index
from sira.records import Document, Topic
from sira.systems.agents import grep_rag
from sira.systems.agents.base import Agent
from sira.systems.agents.files import Export, export, folded
from sira.systems.agents.grep_rag import GrepRag, by_jaccard, jaccard, matching, read_patterns
from tests.conftest import MakeIndex
from tests.systems.agents.scripted import ScriptedServer, agent_of, note_of, says

pytestmark = pytest.mark.java

RG = shutil.which("rg")
needs_rg = pytest.mark.skipif(RG is None, reason="wants ripgrep (apt-get install ripgrep)")
TOPIC = Topic("q1", "At what heat is raku fired?")


@pytest.fixture
def grep(generator: Generator, tmp_path: Path) -> Agent:
    agent = agent_of("grep-rag", generator)
    return Agent(GrepRag(tmp_path / "exports"), agent.settings, generator)


# Patterns


@pytest.mark.parametrize(
    ("text", "finish", "kept", "dropped", "salvaged"),
    [
        ('["Raku kiln", "1000 degrees"]', Finish.STOP, ("raku kiln", "1000 degrees"), {}, False),
        ('{"patterns": ["raku"]}', Finish.STOP, ("raku",), {}, False),
        ('Here:\n```json\n["raku", "kiln"]\n```', Finish.STOP, ("raku", "kiln"), {}, False),
        ('<think>["no"]</think>["yes"]', Finish.STOP, ("yes",), {}, False),
        ('["raku", "kiln", "gla', Finish.LENGTH, ("raku", "kiln"), {}, True),
        ('["gla', Finish.LENGTH, (), {}, False),
        ("Patterns:\n1. raku kiln\n- 'celadon'\n* `slip`\n\nglaze", Finish.STOP,
         ("raku kiln", "celadon", "slip", "glaze"), {}, True),
        ("raku\nkiln\ngla", Finish.LENGTH, ("raku", "kiln"), {}, True),
        ('["", " ", "...", "a", "β", "ab"]', Finish.STOP, ("ab",), {"empty": 3, "one_letter": 2}, False),
        ('["Raku", "raku", " RAKU "]', Finish.STOP, ("raku",), {"duplicate": 2}, False),
        ('["' + "x" * 101 + '", "ok"]', Finish.STOP, ("ok",), {"endless": 1}, False),
        (str([f"p{n}" for n in range(13)]).replace("'", '"'), Finish.STOP, tuple(f"p{n}" for n in range(10)),
         {"over_quota": 3}, False),
        ('["a\\tb  c\\nd"]', Finish.STOP, ("a b c d",), {}, False),
        ('[1, null, "raku"]', Finish.STOP, ("raku",), {"not_text": 2}, False),
        ('["STRASSE", "straße"]', Finish.STOP, ("strasse",), {"duplicate": 1}, False),
        ("I'm sorry, I cannot help with that.", Finish.STOP, (), {}, False),
        ("", Finish.STOP, (), {}, False),
        ("[]", Finish.STOP, (), {}, False),
    ],
)  # fmt: skip
def test_patterns_of_a_reply(
    text: str, finish: Finish, kept: tuple[str, ...], dropped: dict[str, int], salvaged: bool
) -> None:
    found = read_patterns(text, finish, 100)
    assert (found.kept, found.dropped, found.salvaged) == (kept, dropped, salvaged)


@given(st.text(max_size=300), st.sampled_from([Finish.STOP, Finish.LENGTH]))
def test_any_reply_gives_few_short_patterns(text: str, finish: Finish) -> None:
    found = read_patterns(text, finish, 100)
    assert len(found.kept) <= 10
    assert len(set(found.kept)) == len(found.kept)
    for pattern in found.kept:
        assert 2 <= len(pattern) <= 100
        assert pattern == folded(pattern)


# Matching


ALPHABET = st.sampled_from(["a", "A", "b", "ß", "ss", "İ", "ı", "K", "σ", "ς", "é", "e\u0301", "日", " ", "  ", "\t",
                            "\n", "\x00", ".", "*", "\\", "-", "[", "(", "$", "^", "'", '"', "\ufeff",
                            "\U0001f600"])  # fmt: skip
WORDS = st.lists(ALPHABET, max_size=12).map("".join)


@pytest.fixture(scope="module")
def letters(make_index: MakeIndex, tmp_path_factory: pytest.TempPathFactory) -> Export:
    texts = ["Straße", "STRASSE", "strasse\nnr", "İstanbul", "istanbul", "\ufeffraku", "a.b", "aXb", "K\u212a", "-e x",
             "ΣΊΣΥΦΟΣ σίσυφος", "two  \n blanks", "日本語", "[x]", "a\x00b", "'q'", "\\d", "^a$", ""]  # fmt: skip
    with Index(make_index(Document(f"t{n}", text) for n, text in enumerate(texts))) as index:
        return export(index, tmp_path_factory.mktemp("exports"), "folded", progress=False)


@needs_rg
@pytest.mark.parametrize(
    "pattern",
    ["strasse", "STRASSE NR", "İ", "raku", "a.b", "kk", "-e", "--pre", "σίσυφοσ", "two blanks", "日", "[x]", "a b",
     "'q", "\\d", "^a$", "t1", "nothing", ".*"],
)  # fmt: skip
def test_ripgrep_and_python_find_the_same(letters: Export, pattern: str) -> None:
    asked = [folded(pattern)]
    found = [docid for docid, _ in matching(letters, asked, None)]
    assert [docid for docid, _ in matching(letters, asked, RG)] == found
    assert bool(found) == (pattern not in ("t1", "nothing", ".*", "--pre"))  # names are no text, signs mean themselves


@needs_rg
@settings(deadline=None)  # it starts a program
@given(st.lists(WORDS, min_size=1, max_size=30), st.lists(WORDS, min_size=1, max_size=10))
def test_ripgrep_and_python_find_the_same_in_any_text(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], patterns: list[str]
) -> None:
    asked = [pattern for text in patterns if len(pattern := folded(text)) >= 2]
    folder = tmp_path_factory.mktemp("folded")
    (folder / "000").mkdir()
    (folder / "000/000.txt").write_text("".join(f"{folded(text)}\n" for text in texts), encoding="utf-8", newline="\n")
    (folder / "000/000.words").write_text("".join(f"n{n}\n" for n in range(len(texts))), encoding="utf-8")
    files = Export(folder, "folded", len(texts), ("000/000.txt",), {})
    if not asked:
        return
    expected = [f"n{n}" for n, text in enumerate(texts) if any(pattern in folded(text) for pattern in asked)]
    assert [docid for docid, _ in matching(files, asked, None)] == expected
    assert [docid for docid, _ in matching(files, asked, RG)] == expected


def test_a_program_that_is_no_ripgrep_is_told(letters: Export, tmp_path: Path) -> None:
    for script, why in (("echo odd", "wrote b'odd"), ("echo bad >&2; exit 2", "bad"), ("kill -9 $$", "was killed")):
        (tmp_path / "rg").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "rg").chmod(0o755)
        with pytest.raises(EnvironmentFault, match=f"{why}.*install ripgrep 13 or later"):
            list(matching(letters, ["raku"], str(tmp_path / "rg")))


# Ranking


@pytest.mark.parametrize("text", [" " * 200_000, "\t" * 200_000 + "y", "-" * 200_000, "1" + " " * 200_000])
def test_an_endless_reply_is_read_at_once(text: str) -> None:
    began = time.perf_counter()
    read_patterns(text, Finish.STOP, 100)
    assert time.perf_counter() - began < 5  # growing with the square it takes an hour


def test_only_the_mark_before_a_pattern_is_taken_off() -> None:
    reply = "- kiln - wash\n2. carbon 14 - dated\nslip * cast"
    assert read_patterns(reply, Finish.STOP, 100).kept == ("kiln - wash", "carbon 14 - dated", "slip * cast")


def test_jaccard_is_of_the_sets() -> None:
    assert jaccard(frozenset("ab"), frozenset("bcd")) == 0.25
    assert jaccard(frozenset("ab"), frozenset("ab")) == 1.0
    assert jaccard(frozenset("ab"), frozenset("c")) == jaccard(frozenset(), frozenset()) == 0.0


def test_equals_are_ranked_by_docid_and_the_best_are_kept() -> None:
    documents = [("d2", "a b"), ("d10", "a b"), ("d3", "c"), ("d1", "a b c"), ("d4", "a")]
    count, ranking = by_jaccard(["a", "b", "a"], [(docid, terms.split()) for docid, terms in documents], 4)
    assert count == 5
    assert ranking.docids == ("d10", "d2", "d1", "d4")
    assert ranking.scores == pytest.approx((1.0, 1.0, 2 / 3, 0.5))
    assert by_jaccard(["a"], [], 4)[0] == 0


# Whole topics


@pytest.mark.parametrize("python", [True, pytest.param(False, marks=needs_rg)])
def test_documents_that_hold_a_pattern_are_ranked_by_their_words(
    server: ScriptedServer, generator: Generator, index: Index, tmp_path: Path, python: bool
) -> None:
    server.script = [says('["KILN", "1000 deg", "celadon", "x"]')]
    agent = Agent(GrepRag(tmp_path, python=python), agent_of("grep-rag", generator).settings, generator)
    answer = agent.answer(Topic("q1", "raku kiln heated"), index, 10)
    # d2: kiln, raku, heat, 1000, degre (Q: raku, kiln, heat): 3 of 5; d1: raku, kiln of 7; d4: kiln of 6; d3: none.
    assert answer.ranking.docids == ("d2", "d1", "d4", "d3")
    assert answer.ranking.scores[0] == pytest.approx(3 / 5)
    assert answer.ranking.scores[3] == 0.0
    note = note_of(answer)
    assert note["patterns"] == note["queries"] == ["kiln", "1000 deg", "celadon"]
    assert (note["dropped"], note["pooled"], note["salvaged"]) == ({"one_letter": 1}, 4, False)
    assert note["program"] == ("python" if python else "rg")
    assert (note["stop"], note["answer"]) == ("answered", "kiln\n1000 deg\nceladon")
    assert (answer.llm_calls, answer.searches, answer.programs, answer.usage.prompt_tokens) == (1, 1, (), 10)
    assert answer.search_ms > 0
    assert len(server.calls) == 1
    assert server.last_message(0) == "<query>\nraku kiln heated\n</query>"
    assert server.calls[0]["max_tokens"] == 400


def test_a_reply_without_a_pattern_finds_nothing(server: ScriptedServer, grep: Agent, index: Index) -> None:
    for text, dropped in (("[]", {}), ('["a", ""]', {"empty": 1, "one_letter": 1}), ("I cannot help with that.", None)):
        server.script = [says(text)]
        answer = grep.answer(TOPIC, index, 10)
        note = note_of(answer)
        assert (len(answer.ranking), answer.searches, note["stop"]) == (0, 0, "no_answer")
        if dropped is not None:
            assert note["dropped"] == dropped


def test_a_pattern_that_nothing_holds_finds_nothing(server: ScriptedServer, grep: Agent, index: Index) -> None:
    server.script = [says('["zebra"]')]
    answer = grep.answer(TOPIC, index, 10)
    assert (len(answer.ranking), answer.searches, note_of(answer)["pooled"]) == (0, 1, 0)


def test_an_endpoint_that_fails_ends_the_topic(server: ScriptedServer, grep: Agent, index: Index) -> None:
    answer = grep.answer(TOPIC, index, 10)  # the script is empty
    assert (note_of(answer)["stop"], note_of(answer)["errors"], len(answer.ranking)) == ("error", 1, 0)


def test_the_document_of_the_topic_can_be_left_out(
    server: ScriptedServer, generator: Generator, index: Index, tmp_path: Path
) -> None:
    agent = Agent(GrepRag(tmp_path), agent_of("grep-rag", generator, own=False).settings, generator)
    server.script = [says('["kiln"]')]
    assert set(agent.answer(Topic("d2", "raku"), index, 10).ranking.docids) == {"d1", "d4"}


def test_two_hundred_at_most(
    server: ScriptedServer, generator: Generator, make_index: MakeIndex, tmp_path: Path
) -> None:
    server.script = [says('["shelf"]')] * 2
    settings = agent_of("grep-rag", generator).settings
    with Index(make_index(Document(f"{n:03}", f"shelf {n}") for n in range(250))) as many:
        agent = Agent(GrepRag(tmp_path), settings, generator)
        answer = agent.answer(Topic("q1", "shelf 7"), many, 1000)
        assert (len(answer.ranking), note_of(answer)["pooled"], answer.ranking.docids[0]) == (200, 250, "007")
        assert len(agent.answer(Topic("q1", "shelf 7"), many, 5).ranking) == 5


def test_the_row_is_that_of_the_release() -> None:
    method = grep_rag.GREP_RAG
    assert (method.rounds, method.documents, grep_rag.PATTERNS, method.searches, method.tools) == (1, 200, 10, 1, False)

"""Marks made quickly are those of a Marker, in any script and from many threads."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sira import Index, Topic, compile_sketch
from sira.agent.controller import Controller
from sira.agent.marking import QuickMarker
from sira.agent.settings import PI_SERINI, SIRA
from sira.programtext import bind, parse_query
from sira.records import Document
from sira.search.explanation.passages import _LETTER, Marker  # pyright: ignore[reportPrivateUsage]
from tests.agent.calls import DATA, call, needs_data, pots, stored

pytestmark = pytest.mark.java

ODD = [
    "U.S.A.",
    "don’t",
    "1,000",
    "x-ray",
    "e\u0301tat",
    "C++",
    "a_b",
    "你好世界",
    "مفتاح",
    "\U0001f600",
    "ﬁre",
    "İ",
    "ß",
    "kiln",
    "kilns",
]


def same(index: Index, query: str, texts: list[str], *, program: bool = False) -> int:
    """The number of marks, which are the same both ways."""
    clauses = (bind(parse_query(query), index) if program else compile_sketch(Topic("", query), None, index)).clauses
    quick = QuickMarker(clauses, index)
    slow = Marker(
        clauses,
        index.analyze,
        whitespace=index.manifest.analyzer == "whitespace",
        closed=index.manifest.closed_positions,
    )
    words = [quick.words(text) for text in texts]
    quick.know(words)
    slow.learn(texts)
    found = [quick.marks_of(text, own) for text, own in zip(texts, words, strict=True)]
    assert found == [slow.marks(text) for text in texts]
    return sum(map(len, found))


@needs_data
@pytest.mark.parametrize(("name", "analyzer"), [("xquad-en", "english"), ("xquad-zh", "zh"), ("xquad-ar", "ar")])
def test_marks_of_real_texts(make_index: Callable[..., Path], name: str, analyzer: str) -> None:
    folder = DATA / "multilingual" / name
    queries = [json.loads(line)["text"] for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    documents = list(stored(folder / "corpus.jsonl"))
    texts = [document.text for document in documents][:40]
    with Index(make_index(documents, analyzer=analyzer)) as index:
        assert sum(same(index, query, texts) for query in queries[::100]) > 100


@pytest.mark.parametrize("analyzer", ["english", "whitespace"])
def test_marks_of_odd_words(make_index: Callable[..., Path], analyzer: str) -> None:
    draw = random.Random(3)
    texts = [
        "".join(word + draw.choice([" ", "", ", ", "\n", "…"]) for word in draw.choices(ODD, k=60)) for _ in range(40)
    ]
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
    with Index(make_index(documents, analyzer=analyzer)) as index:
        assert same(index, " ".join(ODD), texts)
        assert same(index, '"kiln kilns" (1,000 | x-ray) -ß', texts, program=True) or analyzer == "whitespace"


def test_64_controllers_on_one_index_answer_as_one_does(make_index: Callable[..., Path]) -> None:
    with Index(make_index(pots(80))) as index:
        queries = [f"kiln w{60 + number}x{number}" for number in range(16)]

        def episode(number: int) -> list[str]:
            settings = PI_SERINI if number % 2 else SIRA
            with Controller(index, settings) as controller:
                query = queries[number % len(queries)]
                first = call(controller, "search", query=query)
                page = call(controller, "read_search_results", search_id="s1")
                read = call(controller, "read_document", docid=first.details["previewedDocids"][0])
                return [first.text, page.text, read.text]

        alone = [episode(number) for number in range(32)]
        with ThreadPoolExecutor(64) as pool:
            together = list(pool.map(episode, [number % 32 for number in range(256)]))
        assert all(found == alone[number % 32] for number, found in enumerate(together))
        assert re.search(r"1\. docid=doc-60 ", alone[0][0])


def test_words_inside_words_are_passed_over(make_index: Callable[..., Path]) -> None:
    draw = random.Random(5)
    parts = ["kiln", "kilns", "akiln", "kilnx", "kilnkiln", "a.kiln", "kiln.b", "kiln’s", "1,kiln", "i", "kil", "KILN"]
    texts = ["".join(part + draw.choice([" ", ". ", ".", ",", ""]) for part in draw.choices(parts, k=40))
             for _ in range(60)]  # fmt: skip
    with Index(make_index([Document(f"d{number}", text) for number, text in enumerate(texts)])) as index:
        assert same(index, "kiln a.kiln kil", texts) > 60


def test_letters_are_what_is_a_word_character_or_no_punctuation() -> None:
    punctuation = r"\x00-\xbf\u2000-\u200b\u200e-\u206f\u2e00-\u2e7f\u3000-\u303f"
    punctuation += r"\ufe10-\ufe1f\ufe30-\ufe6f\uff00-\uff0f\uff1a-\uff20"
    plain, ours = re.compile(rf"\w|[^{punctuation}\s]"), re.compile(_LETTER)
    every = [chr(code) for code in range(0x110000)]
    assert [sign for sign in every if bool(plain.match(sign)) != bool(ours.match(sign))] == []

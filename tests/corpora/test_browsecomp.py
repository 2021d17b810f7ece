"""BrowseComp-Wikipedia: invented questions in the published format, over a small prepared corpus."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sira.config import located_source
from sira.corpora import audit, open_collection
from sira.corpora.browsecomp import (
    GoldEntry,
    Outcome,
    gold_pages,
    judged,
    page_run,
    read_questions,
    report,
    topics,
)
from sira.corpora.wikipedia.pages import Pages
from sira.corpora.wikipedia.prepare import prepare
from sira.errors import InputError, NotFoundError
from sira.records import Document, Ranking, Run, Topic

from .wiki import BASE, PAGES, write_export

ROWS: list[dict[str, Any]] = [
    {
        "query_id": 12,
        "problem": "Which coat keeps pots from sticking?",
        "answer": "kiln wash",
        "wiki_gold_titles": {"1": "Kiln wash", "2": "Kiln coating", "3": "glaze"},
        "wiki_gold_urls": {
            "1": f"{BASE}Kiln_wash",
            "2": "https://en.m.wikipedia.org/wiki/Shelf%20wash?action=raw#Use",
            "3": f"{BASE}Glaze",
        },
        "wiki_gold_categories": {"1": ["Kiln_furniture"], "3": ["Ceramic_glazes", "All_stub_articles"]},
    },
    {
        "query_id": "q-2",
        "problem": "Who had a name full of signs?",
        "answer": "O'Brien",
        "wiki_gold_titles": {"1": "O'Brien's \"AC/DC\" & Co. (100%)?"},
        "wiki_gold_urls": {"1": f"{BASE}O%27Brien%27s_%22AC%2FDC%22_%26_Co._%28100%25%29%3F", "2": f"{BASE}Kiln_wosh"},
        "wiki_gold_categories": {},
    },
    {
        "query_id": "q-3",
        "problem": "What goes in a circle?",
        "answer": "-",
        "wiki_gold_titles": {"1": "Loop A", "2": "Glaze", "3": "Only a title"},
        "wiki_gold_urls": {"1": f"{BASE}Loop_A", "2": f"{BASE}Kiln_wash", "4": "https://fr.wikipedia.org/wiki/Four"},
    },
]


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wiki")
    prepare([write_export(folder / "dump.xml.bz2", PAGES)], folder / "out")
    return folder / "out"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write(tmp_path / "questions.jsonl", ROWS)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_questions_are_read_as_published(questions: Path) -> None:
    first, second, third = read_questions(questions)
    assert topics([first, second])[0] == Topic("12", "Which coat keeps pots from sticking?")
    assert first.categories == ("Kiln_furniture", "Ceramic_glazes", "All_stub_articles")
    assert second.gold[1] == GoldEntry("", f"{BASE}Kiln_wosh")
    assert len(third.gold) == 4


def test_gold_pages_are_found_by_address_and_title_over_redirects(questions: Path, wiki: Path) -> None:
    gold = gold_pages(read_questions(questions), Pages.open(wiki))
    assert [(page.qid, page.docid, page.outcome) for page in gold] == [
        ("12", "Kiln_wash", Outcome.FOUND),
        ("12", "Kiln_wash", Outcome.REDIRECTED),
        ("12", "Glaze", Outcome.FOUND),
        ("q-2", "O'Brien's_\"AC/DC\"_&_Co._(100%)?", Outcome.FOUND),
        ("q-2", "Kiln_wosh", Outcome.ABSENT),
        ("q-3", "Loop_A", Outcome.ABSENT),
        ("q-3", "Kiln_wash", Outcome.FOUND),
        ("q-3", "Only_a_title", Outcome.ABSENT),
        ("q-3", "fr.wikipedia.org/Four", Outcome.OTHER_SITE),
    ]
    assert [page.other for page in gold if page.other] == ["Glaze"]


def test_several_addresses_of_one_page_count_once(questions: Path, wiki: Path) -> None:
    qrels = judged(gold_pages(read_questions(questions), Pages.open(wiki)))
    assert qrels["12"] == {"Kiln_wash": 1, "Glaze": 1}
    assert set(qrels["q-3"]) == {"Loop_A", "Kiln_wash", "Only_a_title", "fr.wikipedia.org/Four"}


def test_the_report_names_what_is_missing_with_the_nearest_titles(questions: Path, wiki: Path) -> None:
    pages = Pages.open(wiki)
    lines = report(gold_pages(read_questions(questions), pages), pages)
    assert lines == [
        "9 gold pages, 8 unique by question: found 4, redirected 1, absent 3, other_site 1",
        "question q-2: the gold page 'Kiln_wosh' is not in the corpus; near it: Kiln_wash",
        "question q-3: the gold page 'Loop_A' is not in the corpus; near it: no title is",
        "question q-3: the title leads to 'Glaze', the address to 'Kiln_wash', which counts",
        "question q-3: the gold page 'Only_a_title' is not in the corpus; near it: Only_templates",
        "question q-3: the gold page 'fr.wikipedia.org/Four' is of another wiki than en.wikipedia.org",
    ]


def test_a_collection_brings_documents_topics_and_judgments(
    questions: Path, wiki: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "sira"):
        collection = open_collection(f"browsecomp-wikipedia:{questions}:{wiki}")
        docids = [found.docid for _, found in collection.documents() if isinstance(found, Document)]
        found = audit(docids, collection.topics, collection.qrels)
    assert collection.name == "browsecomp-wikipedia"
    assert (found.documents, found.topics, found.relevant) == (5, 3, 8)
    assert found.dangling_docids.count == 4
    assert "question q-2: the gold page 'Kiln_wosh' is not in the corpus; near it: Kiln_wash" in caplog.messages
    assert not any(row["problem"] in caplog.text for row in ROWS)


def test_a_source_in_a_toml_file_is_found_beside_it(
    questions: Path, wiki: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKI", str(wiki))
    source = located_source("browsecomp-wikipedia:questions.jsonl:${WIKI}", questions.parent)
    assert source == f"browsecomp-wikipedia:{questions}:{wiki}"
    assert len(open_collection(source).topics) == 3
    assert located_source("wikipedia:wiki", Path("there")) == "wikipedia:there/wiki"
    assert located_source("browsecomp-plus:data", Path("there")) == "browsecomp-plus:there/data"


def test_a_source_that_lacks_a_part_or_has_a_split_is_refused(questions: Path, wiki: Path) -> None:
    with pytest.raises(InputError, match=r"write browsecomp-wikipedia:QUESTIONS\.jsonl:FOLDER"):
        open_collection(f"browsecomp-wikipedia:{wiki}")
    with pytest.raises(NotFoundError, match="has no splits; leave out the split 'test'"):
        open_collection(f"browsecomp-wikipedia:{questions}:{wiki}", "test")
    with pytest.raises(InputError, match="there is no such file"):
        _ = open_collection(f"browsecomp-wikipedia:{questions}x:{wiki}").topics


def changed(**fields: Any) -> dict[str, Any]:
    return ROWS[0] | fields


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (changed(query_id="a b"), "`query_id` must be a string without white space"),
        (changed(query_id=None), "`query_id` must be"),
        (changed(problem=None), "`problem` must be a string"),
        (changed(wiki_gold_titles=["Kiln wash"]), r'`wiki_gold_titles` must be an object such as {"1": ...}'),
        (changed(wiki_gold_urls={"1": 7}), "`wiki_gold_urls` has no string under '1'"),
        (changed(wiki_gold_titles={}, wiki_gold_urls=None), "no gold page: give `wiki_gold_titles`"),
        (changed(wiki_gold_titles={"1": "_"}, wiki_gold_urls={"1": "https://e.org"}), "the gold page '1' has neither"),
    ],
)
def test_a_row_in_another_form_is_named_without_its_question(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    path = write(tmp_path / "questions.jsonl", [ROWS[1], row])
    with pytest.raises(InputError, match=fault) as caught:
        read_questions(path)
    assert str(caught.value).startswith(f"{path}, line 2: ")
    assert str(ROWS[0]["problem"]) not in str(caught.value)


def test_a_question_that_stands_twice_and_an_empty_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2: the query_id '12' stands twice"):
        read_questions(write(tmp_path / "twice.jsonl", [ROWS[0], ROWS[0]]))
    with pytest.raises(InputError, match="no question in this file"):
        read_questions(write(tmp_path / "none.jsonl", []))


def test_a_run_of_addresses_counts_pages(wiki: Path) -> None:
    docids = (
        f"{BASE}Shelf_wash",
        "https://en.wikipedia.org/wiki/Kiln_wash#Use",
        "kiln coating",
        "https://example.org/x",
        "Glaze",
        f"{BASE}Absent",
    )
    run = Run("agent", {"12": Ranking(docids, (6.0, 5.0, 4.0, 3.0, 2.0, 1.0)), "13": Ranking()})
    folded = page_run(run, Pages.open(wiki))
    assert folded.rankings["12"] == Ranking(
        ("Kiln_wash", "https://example.org/x", "Glaze", f"{BASE}Absent"), (6.0, 3.0, 2.0, 1.0)
    )
    assert folded.rankings["13"] == Ranking()


@pytest.fixture
def make_wiki(tmp_path: Path) -> Callable[..., Path]:
    def make(**settings: Any) -> Path:
        from sira.corpora.wikipedia.documents import Settings

        prepare([write_export(tmp_path / "dump.xml", PAGES)], tmp_path / "made", Settings(**settings))
        return tmp_path / "made"

    return make


def test_where_redirects_are_documents_the_gold_page_is_their_target(
    questions: Path, make_wiki: Callable[..., Path]
) -> None:
    pages = Pages.open(make_wiki(redirects="documents"))
    qrels = judged(gold_pages(read_questions(questions), pages))
    assert qrels["12"] == {"Kiln_wash": 1, "Glaze": 1}

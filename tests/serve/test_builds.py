"""Builds of an index: damaged ones, folders that vanish and come back, and what warms a build up."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sira.compile import compile_sketch
from sira.errors import IndexFault, InputError
from sira.lucene.reader import Index
from sira.lucene.writer import build_index
from sira.program import Program
from sira.records import Document, Topic
from sira.serve.limits import Limits
from sira.serve.pool import IndexPool
from sira.serve.requests import SearchRequest
from sira.serve.service import Service
from sira.serve.settings import ServeSettings
from tests.conftest import records

pytestmark = pytest.mark.java

POTS = (Document("wash", "A coating for kiln shelves."), Document("raku", "The glaze crackles in sawdust."))


def build(folder: Path, *more: Document) -> None:
    build_index(records((*POTS, *more)), folder, progress=False, overwrite=True)


def build_damaged(folder: Path) -> None:
    """It opens, but its postings are nonsense: Lucene finds that out in a search."""
    choice = random.Random(1).choice
    words = ["kiln", "glaze", *(f"w{number}" for number in range(500))]
    documents = [Document(f"d{number}", " ".join(choice(words) for _ in range(30))) for number in range(2_000)]
    build_index(records(documents), folder.with_name("new"), progress=False)
    for postings in folder.with_name("new").glob("*.doc"):
        data = postings.read_bytes()
        postings.write_bytes(data[:100] + bytes(255 - byte for byte in data[100:-16]) + data[-16:])
    folder.rename(folder.with_name("old"))
    folder.with_name("new").rename(folder)


def search(service: Service, query: str = "kiln glaze") -> list[str]:
    return [hit["docid"] for hit in service.search("pots", SearchRequest.model_validate({"query": query}))["hits"]]


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """Every search of an index: its documents, and the text of the program."""
    found: list[tuple[int, str]] = []
    real = Index.search

    def spied(self: Index, program: Program, k: int = 1000):
        found.append((self.document_count, program.text))
        return real(self, program, k)

    monkeypatch.setattr(Index, "search", spied)
    return found


def test_a_damaged_build_is_never_used(tmp_path: Path) -> None:
    folder = tmp_path / "pots"
    build(folder)
    with Service(ServeSettings({"pots": folder}, refresh_s=60)) as service:
        before = search(service)
        build_damaged(folder)
        assert service.pool.refresh("pots") is False
        (state,) = service.pool.states()
        assert state.generation == 1
        assert state.fault is not None
        assert state.fault.startswith("index pots: it cannot be searched (Lucene: ")
        assert search(service) == before
        build(folder, Document("new", "kiln kiln"))  # over the damaged one
        assert service.pool.refresh("pots") is True
        (state,) = service.pool.states()
        assert (state.generation, state.fault) == (2, None)
        assert "new" in search(service)


def test_topics_find_a_damaged_index_out_when_it_is_opened(tmp_path: Path) -> None:
    folder, topics = tmp_path / "pots", tmp_path / "topics.tsv"
    topics.write_text("1\tkiln glaze\n")
    build(folder)
    build_damaged(folder)
    with Service(ServeSettings({"pots": folder}, warm_up=topics, preload=True, refresh_s=60)) as service:
        with pytest.raises(IndexFault, match=r"index pots: it cannot be searched .*: build the index again$"):
            service.ready()
        build(folder)
        assert service.ready()
        assert sorted(search(service)) == ["raku", "wash"]


def test_a_folder_that_vanishes_and_comes_back(tmp_path: Path) -> None:
    folder, aside = tmp_path / "pots", tmp_path / "aside"
    build(folder)
    with Service(ServeSettings({"pots": folder}, refresh_s=60)) as service:
        before = search(service)
        folder.rename(aside)
        assert service.pool.refresh("pots") is False
        (state,) = service.pool.states()
        assert (state.generation, state.fault) == (
            1,
            "index pots: cannot be read (No such file or directory): put the index back",
        )
        assert search(service) == before
        aside.rename(folder)
        assert service.pool.refresh("pots") is False
        assert service.pool.states()[0].fault is None
        folder.rename(aside)
        build(folder, Document("new", "kiln kiln"))  # another comes in its place
        assert service.pool.refresh("pots") is True
        assert "new" in search(service)


def test_topics_are_answered_before_a_build_is_used(tmp_path: Path, searched: list[tuple[int, str]]) -> None:
    folder, topics = tmp_path / "pots", tmp_path / "topics.jsonl"
    topics.write_text(
        '{"_id": "1", "text": "kiln glaze"}\n{"_id": "2", "text": "of the"}\n{"_id": "3", "text": "sawdust"}\n'
    )
    build(folder)
    settings = ServeSettings({"pots": folder}, warm_up=topics, preload=True, refresh_s=60)
    with Service(settings) as service:
        assert searched == []
        assert service.ready()
        texts = ["kiln glaze", "of the", "sawdust"]
        assert searched == [(2, text) for text in texts]
        search(service, "shelves")
        searched.clear()
        build(folder, Document("new", "kiln kiln"))
        assert service.pool.refresh("pots") is True
        assert searched == [(3, text) for text in [*texts, "shelves"]]  # the last searches, too


def test_a_search_that_a_build_cannot_run_does_not_keep_it_out(tmp_path: Path) -> None:
    folder = tmp_path / "pots"
    dated = Document("dated", "kiln", values={"year": 1912})
    build_index(records((*POTS, dated)), folder, progress=False, value_fields={"year": "integer"})
    with Service(ServeSettings({"pots": folder}, refresh_s=60)) as service:
        asked = SearchRequest.model_validate({"program_text": "kiln year:[1900 TO 1950]"})
        assert [hit["docid"] for hit in service.search("pots", asked)["hits"]] == ["dated"]
        build(folder)
        assert service.pool.refresh("pots") is True


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "topics.tsv"),
        ("", "no topic in this file"),
        ("no tab\n", "topics.tsv, line 1: no tab"),
        ("".join(f"{number}\tkiln\n" for number in range(1_001)), "1,001 topics to warm up by: give at most 1,000"),
        ("1\t" + "x" * 11 + "\n", "topic '1' has 11 characters: give at most 10"),
    ],
)
def test_topics_that_cannot_be_used(text: str | None, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "topics.tsv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=fault) as raised:
        Service(ServeSettings({"pots": tmp_path}, warm_up=path, limits=Limits(query_characters=10)))
    assert "\n" not in str(raised.value)


def test_a_build_that_is_not_used_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "pots"
    build(folder)
    pool = IndexPool({"pots": folder})
    with pool.lease("pots") as opened:
        opened.remember(compile_sketch(Topic("q", "kiln"), None, opened.index))
    build_damaged(folder)

    def mapped() -> int:
        return Path("/proc/self/maps").read_text().count(str(folder))

    pool.refresh("pots")
    before = mapped()
    for _ in range(20):
        assert pool.refresh("pots") is False
    assert mapped() <= before
    pool.close()


def test_a_pool_that_is_closed_while_it_opens_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path / "pots")
    pool, opened = IndexPool({"pots": tmp_path / "pots"}), list[Index]()

    def warm_up(index: Index, *_: object) -> None:
        opened.append(index)
        pool.close()

    monkeypatch.setattr("sira.serve.pool.warm_up", warm_up)
    with pytest.raises(IndexFault, match="the server is closed"):
        pool.open("pots")
    with pytest.raises(IndexFault, match="was closed"):
        opened[0].documents(["raku"])

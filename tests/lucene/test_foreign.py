"""Indexes made by Anserini's own command, read only."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sira.errors import IndexFault, ProgramError
from sira.lucene.jvm import find_anserini, find_java
from sira.lucene.reader import Index
from sira.lucene.update import drop_expansions, update_index
from sira.lucene.writer import build_index
from sira.program import PhraseClause, Program, Scoring, TermClause
from sira.records import Document, Place

pytestmark = pytest.mark.java

MakeIndex = Callable[..., Path]
DOCUMENTS = [
    Document(f"d{n}", f"kilns {'washing ' * (n % 4)} of the shelf {n % 13}\nraku line é😀" + " glaze" * (n * n % 60))
    for n in range(120)
]
SEARCHES = [
    Program("q", tuple(TermClause(term, 1.0 + n) for n, term in enumerate(["kiln", "wash", "glaze", "7"]))),
    Program("q", (TermClause("glaze"), TermClause("wash", occur="must_not")), Scoring("sum", 1.2, 0.75)),
]


@pytest.fixture(scope="module", params=["-storeRaw -storePositions", "-storeContents"])
def anserini(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("anserini")
    (folder / "corpus").mkdir()
    rows = [json.dumps({"id": document.docid, "contents": document.text}) for document in DOCUMENTS]
    (folder / "corpus" / "docs.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    command = [
        *(str(find_java().path / "bin" / "java"), "-Xmx256m", "-cp", str(find_anserini())),
        *("io.anserini.index.IndexCollection", "-collection", "JsonCollection"),
        *("-generator", "DefaultLuceneDocumentGenerator", "-threads", "2"),
        *("-input", str(folder / "corpus"), "-index", str(folder / "index"), *request.param.split()),
    ]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "index", request.param


def test_an_index_of_anserinis_is_searched_like_our_own(anserini: tuple[Path, str], make_index: MakeIndex) -> None:
    path, _ = anserini
    with Index(path) as foreign, Index(make_index(DOCUMENTS)) as own:
        assert foreign.manifest.foreign
        assert foreign.expanded_documents == 0
        assert foreign.document_count == len(DOCUMENTS)
        assert foreign.average_length == own.average_length
        assert foreign.df(["kiln", "glaze", "absent"]) == own.df(["kiln", "glaze", "absent"])
        for program in SEARCHES:
            for k in (7, 1000):
                assert foreign.search(program, k) == own.search(program, k)
        hit = own.search(SEARCHES[0]).docids[4]
        assert foreign.explain(SEARCHES[0], hit) == own.explain(SEARCHES[0], hit)


def test_its_documents_are_read(anserini: tuple[Path, str]) -> None:
    path, _ = anserini
    with Index(path) as index:
        for document in DOCUMENTS[:10]:
            assert index.document(document.docid) == document
            assert index.lines(document.docid, 2).text == document.text.split("\n")[1]


def test_phrases_where_it_has_positions_and_a_clear_word_where_not(anserini: tuple[Path, str]) -> None:
    path, options = anserini
    program = Program("q", (PhraseClause(("shelf", "7")),))
    with Index(path) as index:
        assert index.has_positions == ("-storePositions" in options)
        if index.has_positions:
            assert set(index.search(program).docids) == {f"d{n}" for n in range(7, 120, 13)}
        else:
            with pytest.raises(ProgramError, match="positions"):
                index.search(program)
            with pytest.raises(ProgramError, match="positions"):
                index.explain(program, "d7")


def test_its_phrases_miss_texts_with_a_stop_word_inside(anserini: tuple[Path, str], make_index: MakeIndex) -> None:
    """Anserini keeps the places of "of the": nothing in the index tells them from the places of words."""
    path, options = anserini
    window = ("kiln", "shelf")
    with Index(path) as foreign, Index(make_index(DOCUMENTS)) as own:
        assert (foreign.manifest.closed_positions, own.manifest.closed_positions) == (False, True)
        assert own.window_df([window]) == [30]
        assert foreign.window_df([window]) == [0]
        if "-storePositions" in options:
            assert len(foreign.search(Program("q", (PhraseClause(window),)))) == 0
        assert len(own.search(Program("q", (PhraseClause(window),)))) == 30


def test_it_is_never_written(anserini: tuple[Path, str], tmp_path: Path) -> None:
    path, _ = anserini
    before = sorted(path.iterdir())
    with pytest.raises(IndexFault, match="reading only"):
        update_index(path, delete=["d1"], progress=False)
    with pytest.raises(IndexFault, match="reading only"):
        drop_expansions(path, tmp_path / "copy")
    with pytest.raises(IndexFault, match="left alone"):
        build_index(lambda: [(Place("c", 1), DOCUMENTS[0])], path, overwrite=True, progress=False)
    assert sorted(path.iterdir()) == before
    assert not (tmp_path / "copy").exists()

"""Batches of programs, and explanations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sira.compile import compile_sketch
from sira.errors import InputError
from sira.lucene.reader import Index
from sira.lucene.writer import build_index
from sira.program import Program, RangeClause, TermClause
from sira.records import Document, Place, Record, Sketch, SketchPhrase, Topic
from sira.search import explain, search_programs

pytestmark = pytest.mark.java
TEXTS = ("kiln wash", "raku kiln glaze", "celadon glaze", "slip casting clay")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    path = tmp_path_factory.mktemp("search") / "ix"

    def records() -> Iterator[Record]:
        for number, text in enumerate(TEXTS, 1):
            yield Place("here", number), Document(f"d{number}", text)

    build_index(records, path, progress=False)
    with Index(path) as opened:
        yield opened


def programs(count: int) -> list[Program]:
    return [Program(f"q{n}", (TermClause(("kiln", "glaze", "clay")[n % 3]),)) for n in range(count)]


def test_threads_keep_the_order_and_the_results(index: Index) -> None:
    alone = [(item.program.qid, item.ranking) for item in search_programs(index, programs(50), 10)]
    together = [(item.program.qid, item.ranking) for item in search_programs(index, programs(50), 10, threads=4)]
    assert alone == together
    assert [qid for qid, _ in alone] == [f"q{n}" for n in range(50)]


@pytest.mark.parametrize("threads", [1, 4])
def test_g10_a_failing_topic_ends_the_batch_by_name(index: Index, threads: int) -> None:
    batch = programs(3)
    batch[1] = Program("bad", (RangeClause("year", gte=1),))
    found = search_programs(index, batch, 10, threads)
    with pytest.raises(InputError, match=r"topic 'bad'.*year"):
        list(found)


def test_explain_against_the_query_alone(index: Index) -> None:
    topic = Topic("q", "wash")
    sketch = Sketch("q", (SketchPhrase("raku"), SketchPhrase("glaze", weight=4)))
    program = compile_sketch(topic, sketch, index)
    found = explain(index, program, "d2")
    assert found.plain_rank is None
    assert found.rank == index.search(program, 10).docids.index("d2") + 1
    assert sum(score for _, score in found.contributions) == pytest.approx(found.score, rel=1e-6)
    assert [clause.label for clause, _ in found.contributions] == ["raku"]
    assert explain(index, program, "d4").contributions == ()

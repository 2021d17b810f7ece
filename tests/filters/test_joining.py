"""Texts by docid from a stream, whatever the order in which they are asked."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sira.filters.joining import DocumentTexts
from sira.records import Document, Place, Record, Skip, SkipReason


class Corpus:
    """Documents `0`, `1`, ... of one text each; counts what was read."""

    def __init__(self, size: int) -> None:
        self.size, self.read, self.passes = size, 0, 0

    def __call__(self) -> Iterator[Record]:
        self.passes += 1
        for number in range(self.size):
            self.read += 1
            yield Place("corpus", number), Document(str(number), f"text {number}", "title")


def ask(texts: DocumentTexts, numbers: Sequence[int]) -> None:
    for number in numbers:
        assert texts.get(str(number)) == f"title text {number}"


def test_in_the_order_of_the_corpus_it_is_read_once_alongside(tmp_path: Path) -> None:
    corpus = Corpus(1000)
    texts = DocumentTexts(corpus, tmp_path, window_documents=5)
    ask(texts, [0, 1, 2, 500])
    assert corpus.read == 501
    ask(texts, [499, 998, 996, 999])
    assert (corpus.passes, texts.spooled, list(tmp_path.iterdir())) == (1, False, [])
    texts.close()


def test_out_of_the_window_the_texts_go_through_a_file_that_is_removed(tmp_path: Path) -> None:
    corpus = Corpus(1000)
    texts = DocumentTexts(corpus, tmp_path, window_documents=5)
    ask(texts, [900, 3, 3, 999, 0])
    assert texts.get("gone") is None
    assert texts.get("\ud800") is None
    assert (corpus.passes, texts.spooled) == (2, True)
    texts.close()
    assert list(tmp_path.iterdir()) == []


def test_the_window_is_bounded_in_characters_too(tmp_path: Path) -> None:
    texts = DocumentTexts(Corpus(100), tmp_path, window_characters=30)
    ask(texts, [50, 49])
    assert not texts.spooled
    ask(texts, [40])
    assert texts.spooled
    texts.close()


def test_of_a_docid_that_comes_twice_the_first_text_counts(tmp_path: Path) -> None:
    def corpus() -> Iterator[Record]:
        for number, (docid, text) in enumerate([("a", "one"), ("b", "two"), ("a", "three"), ("c", "four")]):
            yield Place("corpus", number), Document(docid, text)
        yield Place("corpus", 9), Skip(SkipReason.MISSING_TEXT, "no text", "d")

    texts = DocumentTexts(corpus, tmp_path)
    assert [texts.get(docid) for docid in ("c", "a", "d", "a", "b")] == ["four", "one", None, "one", "two"]
    texts.close()


@given(st.lists(st.integers(0, 12), max_size=20), st.integers(0, 4))
def test_any_order_gives_the_same_texts(numbers: list[int], window: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        texts = DocumentTexts(Corpus(10), Path(folder), window_documents=window)
        for number in numbers:
            assert texts.get(str(number)) == (f"title text {number}" if number < 10 else None)
        texts.close()
        assert list(Path(folder).iterdir()) == []

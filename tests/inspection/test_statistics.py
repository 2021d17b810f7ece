"""What `sira inspect` counts: exact figures over small stores, in bounded memory over large ones, and a safe page."""

from __future__ import annotations

import gzip
import itertools
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sira.analysis.english import analyze
from sira.errors import InputError
from sira.inspection.bins import Bin, even_bins, log_bins
from sira.inspection.counts import DigestCounts, Distribution, digest
from sira.inspection.html import page
from sira.inspection.report import report, share, to_json
from sira.inspection.statistics import CommonPhrase, Frequencies, inspect_store

ROWS: list[dict[str, Any]] = [
    {
        "docid": "d1",
        "status": "ok",
        "phrases": ["Kiln  wash", "kiln wash", "release agent", " "],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "cached_tokens": 64},
        "provenance": {"job": "aa"},
    },
    {
        "docid": "d2",
        "status": "ok",
        "phrases": ["release agent", "thermal shock of ware"],
        "usage": {"prompt_tokens": 200, "completion_tokens": 40, "cached_tokens": 64},
        "attempts": 2,
        "cut": True,
        "provenance": {"job": "aa"},
    },
    {
        "docid": "d3",
        "status": "unparsable",
        "phrases": [],
        "usage": {"prompt_tokens": 300, "completion_tokens": 500, "cached_tokens": 0},
        "dropped": {"too_long": 2},
        "detail": "no JSON",
        "raw": "I \x1b[31m cannot",
        "finish": "stop",
        "provenance": {"job": "bb"},
    },
    {"docid": "d4", "status": "empty", "phrases": []},
]


def write(path: Path, rows: Sequence[Mapping[str, Any]], end: str = "\n") -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + end, encoding="utf-8")
    return path


def test_the_figures_of_a_store(tmp_path: Path) -> None:
    found = inspect_store(write(tmp_path / "store.jsonl", ROWS), samples=1)
    assert (found.documents, found.docids, found.files, found.unfinished, found.damaged) == (4, 4, 1, 0, 0)
    assert list(found.statuses.items()) == [("ok", 2), ("empty", 1), ("unparsable", 1)]
    assert found.phrases.counts == {0: 2, 2: 1, 4: 1}
    assert found.words.counts == {2: 3, 4: 1}
    assert (found.blank, found.pairs, found.distinct) == (1, 4, 3)
    assert found.common == (CommonPhrase("release agent", 2, 0.5, hub=False),)
    assert found.tokens["prompt_tokens"].counts == {100: 1, 200: 1, 300: 1}
    assert found.tokens["cached_tokens"].sum == 128
    assert (found.cut, found.retried, found.dropped) == (1, 1, {"too_long": 2})
    assert found.jobs == {"aa": 2, "bb": 1}
    assert {status: [row.docid for row in rows] for status, rows in found.samples.items()} == {
        "ok": ["d1"],
        "empty": ["d4"],
        "unparsable": ["d3"],
    }


def test_a_foreign_store_has_docids_and_phrases_only(tmp_path: Path) -> None:
    rows = [{"docid": 7, "phrases": ["jade"]}, {"docid": 7, "phrases": ["JADE", "celadon"]}]
    (tmp_path / "s.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    found = inspect_store(tmp_path)
    assert (found.documents, found.docids, found.statuses) == (2, 1, {"not recorded": 2})
    assert (found.pairs, found.distinct, found.common[0].phrase) == (3, 2, "jade")
    assert (found.tokens, found.verdicts, found.rarest, found.name) == ({}, None, None, None)
    text = report(found)
    assert "1 rows are of a docid that has another row" in text
    assert "tokens" not in text


def test_fields_of_other_kinds_than_expected_count_as_absent(tmp_path: Path) -> None:
    row = {
        "docid": "d",
        "phrases": ["x"],
        "usage": 3,
        "dropped": [1],
        "provenance": "p",
        "verdicts": {},
        "attempts": "2",
    }
    found = inspect_store(write(tmp_path / "s.jsonl", [row | {"usage": {"prompt_tokens": None}}, row]))
    assert (found.tokens, found.dropped, found.jobs, found.verdicts, found.retried) == ({}, {}, {}, None, 0)


def test_a_store_that_is_still_written_is_read_up_to_its_torn_line(tmp_path: Path) -> None:
    write(tmp_path / "shard-00000-of-00002.jsonl", ROWS[:2])
    part = write(tmp_path / "shard-00001-of-00002.jsonl.part", ROWS[2:])
    with part.open("a", encoding="utf-8") as stream:
        stream.write('{"docid": "d9"}\n{"docid": "d5", "phr')
    (tmp_path / "job.json").write_text('{"name": "pottery", "shards": 2}', encoding="utf-8")
    found = inspect_store(tmp_path)
    assert (found.documents, found.files, found.unfinished, found.damaged) == (4, 2, 1, 2)
    assert found.name == "pottery"
    assert "2 lines of unfinished files are torn or damaged" in report(found)


def test_a_shard_that_is_redone_counts_once_by_its_new_rows(tmp_path: Path) -> None:
    write(tmp_path / "shard-00000-of-00001.jsonl", ROWS)
    write(tmp_path / "shard-00000-of-00001.jsonl.part", ROWS[:1])
    assert inspect_store(tmp_path).documents == 1


def test_a_bad_row_of_a_finished_shard_is_named(tmp_path: Path) -> None:
    store = write(tmp_path / "s.jsonl", [*ROWS, {"docid": "x"}])
    with pytest.raises(InputError, match=r"s\.jsonl, line 5: docid 'x': `phrases`"):
        inspect_store(store)
    with pytest.raises(InputError, match="no expansion store"):
        inspect_store(tmp_path / "absent")


def test_an_empty_store_is_reported_as_one(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()
    found = inspect_store(tmp_path)
    assert report(found) == f"{tmp_path}\n0 rows in 1 file\n"
    assert "holds no rows" in page(found)
    assert to_json(found)["phrases"]["mean"] is None


def test_the_verdicts_of_the_filter_come_before_those_of_the_rows(tmp_path: Path) -> None:
    row = {"docid": "d", "status": "ok", "phrases": ["a"], "verdicts": [["b", "too_common", 9], ["c", "unseen", 0]]}
    write(tmp_path / "phrases.jsonl", [row, row])
    assert inspect_store(tmp_path).verdicts == {"kept": 2, "too_common": 2, "unseen": 2}
    summary = {"verdicts": {"kept": 2, "unseen": 5, "empty": 0}}
    (tmp_path / "filter.json").write_text(json.dumps(summary), encoding="utf-8")
    assert inspect_store(tmp_path).verdicts == {"unseen": 5, "kept": 2}
    assert inspect_store(tmp_path / "phrases.jsonl").verdicts == {"kept": 2, "too_common": 2, "unseen": 2}
    (tmp_path / "filter.json").write_text(json.dumps({"counts": {"kept": 9}}), encoding="utf-8")
    assert inspect_store(tmp_path).verdicts == {"kept": 2, "too_common": 2, "unseen": 2}


def test_rows_that_list_what_was_dropped_tell_what_was_kept(tmp_path: Path) -> None:
    """A row whose phrases all passed lists none; one without the list was not filtered, its phrases do not count."""
    rows = [
        {"docid": "d1", "phrases": ["a", "b"], "verdicts": []},
        {"docid": "d2", "phrases": [], "verdicts": [["c", "already_present", None]]},
        {"docid": "d3", "phrases": ["d"], "verdicts": [["d", "kept", 1], ["e", "too_rare", 0]]},
        {"docid": "d4", "phrases": ["f"]},
    ]
    store = write(tmp_path / "s.jsonl", rows)
    assert inspect_store(store).verdicts == {"kept": 3, "already_present": 1, "too_rare": 1}
    assert re.search(r"^kept +3 +60.0 %$", report(inspect_store(store)), re.MULTILINE)
    empty = {"docid": "d5", "phrases": [], "verdicts": []}
    assert inspect_store(write(tmp_path / "t.jsonl", [rows[3], empty])).verdicts is None


def test_without_tokens_there_is_no_section_of_them(tmp_path: Path) -> None:
    """Rows of recorded replies state none; a backend that counts no cached ones states zeros."""
    row = {"docid": "d", "status": "ok", "phrases": ["a"], "provenance": {"job": "aa"}}
    recorded = inspect_store(write(tmp_path / "recorded.jsonl", [row]))
    assert (recorded.tokens, to_json(recorded)["tokens"]) == ({}, {})
    assert "tokens a document" not in report(recorded)
    assert "Tokens a document" not in page(recorded)
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 0}
    counted = inspect_store(write(tmp_path / "counted.jsonl", [row | {"usage": usage}, row]))
    assert {name: values.counts for name, values in counted.tokens.items()} == {
        "prompt_tokens": {9: 1},
        "completion_tokens": {2: 1},
    }
    assert "tokens a document, prompt: mean 9.0" in report(counted)
    assert "Tokens a document, prompt" in page(counted)
    for text in (report(counted), page(counted)):
        assert "from the prefix cache" not in text


def test_documents_that_were_cut_are_told(tmp_path: Path) -> None:
    text = "1 documents (25.0 %) were cut (document_characters or the model's context)"
    assert text in report(inspect_store(write(tmp_path / "s.jsonl", ROWS)))


def test_hubs_stand_in_more_documents_than_the_bound(tmp_path: Path) -> None:
    def rows(n: int) -> list[dict[str, Any]]:
        return [
            {"docid": str(i), "phrases": ["hub", *(["edge"] if i < 20 else []), *(["rim"] if i < 21 else [])]}
            for i in range(n)
        ]

    store = write(tmp_path / "s.jsonl", rows(100))
    found = inspect_store(store)
    assert found.hub_bound == 20
    assert [(item.phrase, item.documents, item.hub) for item in found.common] == [
        ("hub", 100, True),
        ("rim", 21, True),
        ("edge", 20, False),
    ]
    assert (found.hubs, found.hub_pairs) == (2, 121)
    assert inspect_store(store, hub_share=0.29).hub_bound == 29  # 0.29 * 100 is 28.999999999999996 in binary
    assert inspect_store(store, hub_share=0.29).hubs == 1
    assert inspect_store(store, top=1).hubs == 2
    with pytest.raises(InputError, match="hub_share = 2"):
        inspect_store(store, hub_share=2)
    with pytest.raises(InputError, match="top = -1"):
        inspect_store(store, top=-1)


def test_common_phrases_of_equal_count_stand_by_text(tmp_path: Path) -> None:
    rows = [{"docid": str(i), "phrases": ["c", "a", "b", "e", "d"]} for i in range(2)]
    found = inspect_store(write(tmp_path / "s.jsonl", rows), top=3)
    assert [item.phrase for item in found.common] == ["a", "b", "c"]


def test_the_df_of_the_rarest_word_by_the_terms_of_the_index(tmp_path: Path) -> None:
    rows = [{"docid": "d", "phrases": ["Kilns of the potters", "the of", "raku kiln", "well-known kiln"]}]
    frequencies = Frequencies(100, {"kiln": 40, "potter": 3, "well": 7, "known": 9}, analyze)
    found = inspect_store(write(tmp_path / "s.jsonl", rows), frequencies=frequencies)
    assert found.rarest is not None
    assert found.rarest.df.counts == {0: 1, 3: 1, 7: 1}
    assert found.rarest.no_word == 1
    text = report(found)
    assert "25.0 % hold a word that none of the 100 documents has" in text
    assert "df of each phrase's rarest word\n    0   25.0 %  " in text


@settings(deadline=None, max_examples=50)  # each example opens files
@given(st.lists(st.text(st.sampled_from("abc"), max_size=2)), st.integers(1, 4), st.integers(0, 3))
def test_spilled_digests_count_as_a_counter_does(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], held: int, bound: int
) -> None:
    counts = DigestCounts(tmp_path_factory.mktemp("digests"), held=held)
    for text in texts:
        counts.add([text])
        counts._gather()  # pyright: ignore[reportPrivateUsage] # as after 65,536 texts
    exact = Counter(texts)
    found = counts.repetition(top=2, bound=bound)
    over = [n for n in exact.values() if n > bound]
    assert (found.occurrences, found.distinct) == (len(texts), len(exact))
    assert (found.over, found.over_occurrences) == (len(over), sum(over))
    repeated = sorted((n for n in exact.values() if n > 1), reverse=True)
    least = repeated[1] if len(repeated) > 1 else 2
    assert found.common == {digest(text): n for text, n in exact.items() if n >= least}


@settings(deadline=None)
@given(st.dictionaries(st.integers(0, 3000), st.integers(1, 5), min_size=1))
def test_percentiles_are_nearest_ranks_and_no_item_falls_out_of_the_bins(counts: dict[int, int]) -> None:
    distribution = Distribution.of(counts)
    items = sorted(value for value, n in counts.items() for _ in range(n))
    assert distribution.percentile(50) == items[-(-len(items) // 2) - 1]
    assert distribution.percentile(100) == items[-1]
    assert distribution.mean == sum(items) / len(items)
    for bins in (even_bins(distribution), log_bins(distribution)):
        assert sum(item.items for item in bins) == len(items)
        assert all(low.high is not None and low.high + 1 == high.low for low, high in itertools.pairwise(bins))
    assert len(even_bins(distribution)) <= 22


def test_the_bins_of_a_histogram() -> None:
    assert log_bins(Distribution.of({0: 5, 2: 1, 3: 1, 9: 1, 10: 1, 31: 1})) == [
        Bin(0, 0, 5),
        Bin(1, 2, 1),
        Bin(3, 9, 2),
        Bin(10, 29, 1),
        Bin(30, 99, 1),
    ]
    bins = even_bins(Distribution.of({1: 50, 2: 149, 5000: 1}))
    assert [(item.label, item.items) for item in bins] == [("1", 50), ("2", 149), ("3+", 1)]
    assert [item.label for item in even_bins(Distribution.of({3: 1, 92: 1}))][:2] == ["0-4", "5-9"]
    assert even_bins(Distribution.of({})) == []


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 3, "0.0 %"),
        (1, 3, "33.3 %"),
        (1, 10_000, "<0.1 %"),
        (9_999, 10_000, ">99.9 %"),
        (3, 3, "100.0 %"),
        (0, 0, "-"),
    ],
)
def test_a_share_never_rounds_something_to_nothing(part: int, whole: int, text: str) -> None:
    assert share(part, whole) == text


class Reader(HTMLParser):
    """Collects the tags, attributes and texts of a page, and checks that tags nest."""

    VOID = frozenset({"meta"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_shows_hostile_texts_as_texts_and_needs_nothing_outside(tmp_path: Path) -> None:
    script, attribute, bidi = "<script>alert(1)</script>", "\"><img src=x onerror='f()'>", "a\u202eb\x1b[31m"
    rows = [
        {"docid": f"{attribute}{i}", "status": script, "phrases": [script, attribute, bidi], "raw": f"{script}\n&amp;"}
        for i in range(2)
    ]
    (tmp_path / "job.json").write_text(json.dumps({"name": f"</title>{script}"}), encoding="utf-8")
    write(tmp_path / "s.jsonl", [*rows, *ROWS])
    found = inspect_store(tmp_path, frequencies=Frequencies(9, {"kiln": 4}, analyze))
    text = page(found)
    read = Reader(text)
    assert not {"script", "img", "link", "iframe", "image", "use", "a"} & set(read.tags)
    assert not {name for name, _ in read.attributes} & {"onerror", "src", "href"}
    assert all(item in read.texts for item in (script, attribute, r"a\u202eb\x1b[31m"))
    assert f"{script}\n&amp;" in read.texts
    assert read.tags["svg"] >= 6
    assert re.findall(r"https?://\S+?(?=[\"'<\s])", text) == ["http://www.w3.org/2000/svg"] * read.tags["svg"]
    assert "url(" not in text
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text
    assert text == page(inspect_store(tmp_path, frequencies=Frequencies(9, {"kiln": 4}, analyze)))


def test_the_text_report_lets_no_control_character_act(tmp_path: Path) -> None:
    rows = [
        {"docid": f"d\x1b]0;{i}", "status": "o\x07k", "phrases": ["red\x1b[31m\u202e", "x" * 500]} for i in range(2)
    ]
    text = report(inspect_store(write(tmp_path / "s.jsonl", rows)))
    assert all(letter == "\n" or letter.isprintable() for letter in text)
    assert r"red\x1b[31m\u202e" in text
    assert "[... 200 more characters]" in text


def test_half_a_character_breaks_neither_report_nor_page(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"docid": "d", "phrases": ["a\\ud800"]}\n' * 2, encoding="utf-8")
    found = inspect_store(tmp_path)
    assert found.common[0].documents == 2
    for text in (report(found), page(found)):
        assert r"a\ud800" in text.encode("utf-8").decode("utf-8")

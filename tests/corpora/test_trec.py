from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sira.corpora.trec import read_qrels, read_run, read_topics
from sira.errors import InputError, TrecFormatError
from sira.records import Run, Topic


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_g45_tabs_blanks_0_q0_crlf_and_byte_order_mark_all_parse_the_same(tmp_path: Path) -> None:
    messy = "\ufeffq1\t0\ta\t1\r\nq1  Q0  b   0\r\n\r\nq2 0\tc 2"
    assert read_qrels(write(tmp_path / "q", messy)) == {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}
    messy = "\ufeffq1\tQ0\ta\t1\t3.5\tsira\r\nq1  0  b   2  1e0 sira\r\n"
    run = read_run(write(tmp_path / "r", messy))
    assert list(run.rankings) == ["q1"]
    assert (run.name, run.rankings["q1"].docids, run.rankings["q1"].scores) == ("sira", ("a", "b"), (3.5, 1.0))


def test_g40_beir_qrels_without_header_keep_their_first_row(tmp_path: Path) -> None:
    assert read_qrels(write(tmp_path / "t.tsv", "q1\ta\t1\nq2\tb\t1.0\n")) == {"q1": {"a": 1}, "q2": {"b": 1}}


@pytest.mark.parametrize(
    "header", ["query-id\tcorpus-id\tscore\n", "QID\tdocid\trelevance\n", "\ufeffquery_id\td\trel\r\n"]
)
def test_g40_a_header_is_known_by_its_words(tmp_path: Path, header: str) -> None:
    assert read_qrels(write(tmp_path / "t.tsv", header + "q1\ta\t1\n")) == {"q1": {"a": 1}}


@pytest.mark.parametrize("grade", ["0.5", "nan", "inf", "high", ""])
def test_g40_a_grade_that_is_no_integer_is_refused_with_its_line(tmp_path: Path, grade: str) -> None:
    with pytest.raises(TrecFormatError, match=r"t\.tsv, line 2") as caught:
        read_qrels(write(tmp_path / "t.tsv", f"q1\ta\t1\nq2\tb\t{grade}\n"))
    assert caught.value.line_number == 2


def test_qrels_faults_name_the_line(tmp_path: Path) -> None:
    with pytest.raises(TrecFormatError, match=r"line 2.*3 columns"):
        read_qrels(write(tmp_path / "a", "q1 0 a 1\nq1 b 1\n"))
    with pytest.raises(TrecFormatError, match=r"line 1.*2 columns"):
        read_qrels(write(tmp_path / "b", "q1 a\n"))
    with pytest.raises(TrecFormatError, match=r"line 3.*grades 1 and 2"):
        read_qrels(write(tmp_path / "c", "q1 0 a 1\nq1 0 a 1\nq1 0 a 2\n"))
    with pytest.raises(InputError, match="no judgment"):
        read_qrels(write(tmp_path / "d", "query-id\tcorpus-id\tscore\n"))


def test_negative_grades_and_gzip(tmp_path: Path) -> None:
    path = tmp_path / "q.gz"
    path.write_bytes(gzip.compress(b"q1 0 a -1\n"))
    assert read_qrels(path) == {"q1": {"a": -1}}


def test_g41_a_comma_in_a_docid_stays(tmp_path: Path) -> None:
    run = read_run(write(tmp_path / "r", "q1 Q0 Treaty_of_Foo,_1901 1 3.5 sira\n"))
    assert run.rankings["q1"].docids == ("Treaty_of_Foo,_1901",)


@pytest.mark.parametrize(
    ("line", "columns"), [("q1 Q0 b 2 sira", "5 columns"), ("q1 Q0 doc 7 1 3.5 sira", "7 columns"), ("q1", "1 columns")]
)
def test_g43_another_number_of_columns_is_refused_with_file_and_line(tmp_path: Path, line: str, columns: str) -> None:
    path = write(tmp_path / "r.trec", f"q1 Q0 a 1 3.5 sira\n{line}\n")
    with pytest.raises(TrecFormatError, match=columns) as caught:
        read_run(path)
    assert (caught.value.path, caught.value.line_number) == (str(path), 2)


def test_g44_a_document_twice_for_one_topic_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(TrecFormatError, match=r"line 2.*'a' stands twice"):
        read_run(write(tmp_path / "r", "q1 Q0 a 1 3.5 sira\nq1 Q0 a 2 1.0 sira\n"))
    assert len(read_run(write(tmp_path / "s", "q1 Q0 a 1 3.5 sira\nq2 Q0 a 1 1.0 sira\n"))) == 2


@pytest.mark.parametrize("score", ["nan", "inf", "-Infinity", "1_0", "high"])
def test_scores_that_are_no_finite_numbers_are_refused_with_their_line(tmp_path: Path, score: str) -> None:
    with pytest.raises(TrecFormatError, match=r"line 2.*score"):
        read_run(write(tmp_path / "r", f"q1 Q0 a 1 3.5 sira\nq1 Q0 b 2 {score} sira\n"))


def test_a_run_is_ordered_by_score_then_docid_whatever_its_ranks_say(tmp_path: Path) -> None:
    run = read_run(write(tmp_path / "r", "q1 Q0 9#1 1 1 t\nq1 Q0 2 2 1 t\nq1 Q0 x 3 7 t\nq1 Q0 10 4 1 t\n"), "mine")
    assert run.rankings["q1"].docids == ("x", "10", "2", "9#1")
    assert run.name == "mine"


def test_the_lines_of_a_topic_need_not_stand_together(tmp_path: Path) -> None:
    path = write(tmp_path / "r", "q1 Q0 a 1 2 t\nq2 Q0 b 1 9 t\n\nq1 Q0 c 2 3 t\nq2 Q0 a 2 8 t\n")
    rankings = read_run(path).rankings
    assert {qid: ranking.docids for qid, ranking in rankings.items()} == {"q1": ("c", "a"), "q2": ("b", "a")}
    path.write_bytes(path.read_bytes() + b"q1 Q0 a 3 1 t\n")
    with pytest.raises(TrecFormatError, match=r"line 6: document 'a' stands twice for topic 'q1'"):
        read_run(path)


def test_other_spaces_of_unicode_belong_to_the_id(tmp_path: Path) -> None:
    run = read_run(write(tmp_path / "r", "q1 Q0 a\u3000b 1 3.5 sira\n"))
    assert run.rankings["q1"].docids == ("a\u3000b",)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"q1 Q0 caf\xe9 1 1 t\n")
    for path, words in (
        (tmp_path / "absent", "no such file"),
        (tmp_path, "folder"),
        (tmp_path / "latin", "line 1.*UTF-8"),
    ):
        with pytest.raises(InputError, match=words):
            read_run(path)


def test_an_empty_file_is_a_run_without_hits(tmp_path: Path) -> None:
    assert read_run(write(tmp_path / "nothing.trec", "\n")) == Run("nothing", {})


def test_g38_empty_nan_and_null_queries_are_kept_as_they_stand(tmp_path: Path) -> None:
    topics = read_topics(write(tmp_path / "t.tsv", "3\t\n4\tNaN\n5\tnull\n"))
    assert topics == (Topic("3", ""), Topic("4", "NaN"), Topic("5", "null"))


def test_quotes_tabs_and_line_separators_in_topics_are_text(tmp_path: Path) -> None:
    text = '1\t"kiln" wash\r\n2\t"open\r\n3\ta\tb\u2028c\r\n'
    assert read_topics(write(tmp_path / "t.tsv", text)) == (
        Topic("1", '"kiln" wash'),
        Topic("2", '"open'),
        Topic("3", "a\tb\u2028c"),
    )


def test_topics_in_json_lines(tmp_path: Path) -> None:
    text = '{"_id": "1", "text": "a"}\n{"qid": 2, "query": "b"}\n{"id": "3", "text": ""}\n'
    assert read_topics(write(tmp_path / "t.jsonl", text)) == (Topic("1", "a"), Topic("2", "b"), Topic("3", ""))


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("t.tsv", "no tab here", "no tab"),
        ("t.tsv", "\ttext", "empty"),
        ("t.tsv", "a b\ttext", "white space"),
        ("t.jsonl", '{"_id":"9","text":null}', "'9' has no text"),
        ("t.jsonl", '{"text":"x"}', "no id"),
        ("t.jsonl", "[]", "JSON object"),
        ("t.jsonl", "{", "not JSON"),
    ],
)
def test_topic_faults_name_the_line(tmp_path: Path, name: str, line: str, words: str) -> None:
    good = "1\tx" if name == "t.tsv" else '{"_id":"1","text":"x"}'
    with pytest.raises(TrecFormatError, match=rf"line 2: .*{words}"):
        read_topics(write(tmp_path / name, f"{good}\n{line}\n"))

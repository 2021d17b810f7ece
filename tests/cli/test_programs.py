"""Programs that someone wrote or a command printed: JSON, JSON Lines and text, from files, stdin and the query."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from sira.cli.programs import STDIN, read_programs
from sira.compile.statistics import TableStatistics
from sira.errors import InputError
from sira.lucene.reader import Index
from sira.program import AnyOfClause, Program, TermClause, program_from_json, program_to_json
from sira.programtext import program_to_text
from sira.records import Outcome, Verdict

from .conftest import Sira

STATISTICS = TableStatistics(9, {"kiln": 4, "glaze": 2})


def programs(path: Path, qid: str = "q") -> list[Program]:
    return read_programs(path, STATISTICS, qid)  # pyright: ignore[reportArgumentType] - texts ask for statistics only


def program(qid: str) -> Program:
    """With a df that a text leaves open, which binding would look up."""
    clauses = (TermClause("kiln", 0.1), AnyOfClause(("glaze", "a b"), occur="must", source="x"))
    return Program(qid, clauses, verdicts=(Verdict("x", "y", Outcome.UNSEEN, 0),), text='say "kiln"\n@program 1')


def file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_every_form_reads_back_to_equal_programs(tmp_path: Path) -> None:
    both = [program("t1"), program("t2")]
    rows = [json.dumps(program_to_json(item)) for item in both]
    for name, text, expected in (
        ("one.json", rows[0], both[:1]),
        ("pretty.json", json.dumps(program_to_json(both[0]), indent=2), both[:1]),
        ("all.jsonl", "\n".join(rows) + "\n\n", both),
        ("bom.json", "\ufeff" + rows[0], both[:1]),
        ("no_suffix", "\n  " + rows[0], both[:1]),
        ("one.txt", program_to_text(both[0]), both[:1]),
        ("all.sira", "".join(map(program_to_text, both)), both),
        ("printed.dat", "// a note\n" + program_to_text(both[1]), both[1:]),
    ):
        assert programs(file(tmp_path, name, text)) == expected, name


def test_a_text_as_written_is_bound_to_the_index(tmp_path: Path) -> None:
    (found,) = programs(file(tmp_path, "p.txt", "kiln^2 // a note\n+glaze\n"), "t7")
    assert found.qid == "t7"
    assert found.clauses == (TermClause("kiln", 2, df=4), TermClause("glaze", occur="must", df=2))
    (mixed,) = programs(file(tmp_path, "m.txt", "@program 1\n@qid t8\nkiln =raku"))
    assert mixed.qid == "t8"
    assert [clause.label for clause in mixed.clauses] == ["kiln", "raku"]


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("+glåze".encode()), encoding="ascii"))
    assert programs(STDIN)[0].clauses == (TermClause("glåze", occur="must", df=0),)


ROW = json.dumps(program_to_json(program("t1")))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", "a.json: not JSON (Expecting property name"),
        ("a.jsonl", f'{ROW}\n{{"qid": 3}}', "a.jsonl, line 2: program JSON, qid"),
        ("a.jsonl", f"{ROW}\n{{", "a.jsonl, line 2: not JSON"),
        ("a.jsonl", f"{ROW}\n\n{ROW}", "a.jsonl: two programs have the qid 't1'"),
        ("a.json", f"[{ROW}]", "a.json: a JSON list"),
        ("a.json", "[" * 100_000, "a.json: not JSON"),
        ("a.json", "heart attack", "a.json: holds no program, neither JSON nor text"),
        ("a.tsv", "t1\tstop pots", "a.tsv: holds no program, neither JSON nor text"),
        ("a.txt", " \n", "a.txt: holds no program"),
        ("a.txt", "kiln\nglaze +-x\n", "a.txt: program text, line 2, column 8: found '-x': expected no second sign"),
        ("a.txt", "kiln^x", "a.txt: program text, column 6: found 'x': expected a number from 0"),
        (
            "a.txt",
            "@program 1\n@qid t1\n=kiln\n@program 1\n@qid t2\n=kiln^x\n",
            "a.txt: program text, line 6, column 7: found 'x': expected a number from 0",
        ),
        ("a.txt", "kiln^1e30 kiln^1e30", "a.txt: the weights of 'kiln' add up"),
        ("absent.json", None, "absent.json: cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_names_file_place_and_what_was_expected(
    tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    path = tmp_path / name if text is None else file(tmp_path, name, text)
    with pytest.raises(InputError) as caught:
        programs(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"kiln \xff")
    with pytest.raises(InputError, match=r"a\.txt: not UTF-8"):
        programs(tmp_path / "a.txt")


@pytest.fixture
def index(sira: Sira, pottery: Path) -> Path:
    path = pottery / "ix"
    assert sira("index", pottery, "--index", path, "--expansions", pottery / "phrases.jsonl", "--quiet").status == 0
    return path


@pytest.mark.java
def test_compile_prints_text_that_is_the_program(sira: Sira, pottery: Path, index: Path) -> None:
    base = ("--index", index, "--topics", pottery / "topics.tsv", "--sketches", pottery / "sketches.jsonl")
    text, rows = sira("compile", *base, "--text").out, sira("compile", *base, "--json").out
    with Index(index) as opened:
        found = read_programs(file(pottery, "all.txt", text), opened)
    assert found == [program_from_json(json.loads(row)) for row in rows.splitlines()]
    assert [item.qid for item in found] == ["t1", "t2"]
    one = sira("compile", *base, "--qid", "t2", "--text").out
    assert one == program_to_text(found[1])


@pytest.mark.java
def test_a_written_program_compiles_to_json_and_text(sira: Sira, index: Path) -> None:
    query = '+kiln^2 "kiln shelves" -raku'
    row = json.loads(sira("compile", query, "--syntax", "program", "--index", index, "--k1", "1.5", "--json").out)
    assert [(clause["kind"], clause["occur"], clause["weight"]) for clause in row["clauses"]] == [
        ("term", "must", 2.0),
        ("phrase", "should", 1.0),
        ("term", "must_not", 1.0),
    ]
    assert row["scoring"]["k1"] == 1.5
    assert row["text"] == query
    assert "+=kiln^2 {df=2}\n" in sira("compile", query, "--syntax", "program", "--index", index, "--text").out
    assert "kiln" in sira("compile", query, "--syntax", "program", "--index", index).out


@pytest.mark.java
def test_errors_of_a_written_program_say_topic_and_column(sira: Sira, pottery: Path, index: Path) -> None:
    topics = file(pottery, "written.tsv", "t1\tkiln\nt2\tkiln^-1\n")
    answer = sira("compile", "--topics", topics, "--syntax", "program", "--index", index, "--json")
    assert answer.status == 2
    assert answer.err == (
        "sira: error: topic 't2': program text, column 6: found '-1': expected a weight >= 0; "
        "to exclude documents write '-' before the item\n"
    )
    both = sira("compile", "kiln", "--index", index, "--json", "--text")
    assert both.status == 2
    assert "not allowed with" in both.err


@pytest.mark.java
def test_programs_as_text_and_as_json_give_the_same_run(
    sira: Sira, pottery: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = ("--index", index, "--topics", pottery / "topics.tsv", "--sketches", pottery / "sketches.jsonl")
    text, rows = (sira("compile", *base, form, "--ngrams", "atoms").out for form in ("--text", "--json"))
    files = [file(pottery, "all.txt", text), file(pottery, "all.jsonl", rows)]
    for path in files:
        answer = sira("search", "--program", path, "--index", index, "--run", path.with_suffix(".trec"))
        assert answer.status == 0, answer.err
    for name, given in (("text", text), ("rows", rows)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        assert sira("search", "--program", "-", "--index", index, "--run", pottery / f"{name}.trec").status == 0
    runs = [path.read_bytes() for path in pottery.glob("*.trec")]
    assert len(runs) == 3  # all.trec twice
    assert len(set(runs)) == 1
    assert {line.split()[0] for line in runs[0].splitlines()} == {b"t1", b"t2"}
    shown = sira("search", "--program", files[0], "--index", index).out.splitlines()
    assert [line for line in shown if line.startswith("topic ")] == [
        "topic t1: stop pots sticking to shelves",
        "topic t2: Japanese pottery",
    ]
    direct = pottery / "direct.run"
    assert sira("search", *base, "--ngrams", "atoms", "--run", direct).status == 0
    assert direct.read_bytes() == runs[0]


@pytest.mark.java
def test_a_query_in_the_syntax_of_programs_is_searched(sira: Sira, pottery: Path, index: Path) -> None:
    plain = json.loads(sira("search", "kiln glaze", "--index", index, "--json").out)
    same = json.loads(sira("search", "kiln glaze", "--syntax", "program", "--index", index, "--json").out)
    assert same["hits"] == plain["hits"]
    narrow = json.loads(sira("search", "kiln -hot", "--syntax", "program", "--index", index, "--json").out)
    assert [hit["docid"] for hit in narrow["hits"]] == ["d1"]
    path = file(pottery, "p.sira", "kiln -hot")
    assert json.loads(sira("search", "--program", path, "--index", index, "--json").out) == narrow
    topics = file(pottery, "written.tsv", "t1\tkiln -hot\nt2\t+glaze\n")
    rows = sira("search", "--topics", topics, "--syntax", "program", "--index", index, "--json").out.splitlines()
    assert [json.loads(row)["qid"] for row in rows] == ["t1", "t2"]


@pytest.mark.java
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["kiln +-x", "--syntax", "program"], "column 7: found '-x': expected no second sign after '+'"),
        (["kiln", "--syntax", "program", "--phrase", "x"], "--phrase: it belongs to a sketch"),
        (["kiln", "--syntax", "program", "--llm", "absent.toml"], "--llm: it belongs to a sketch"),
        (["--program", "p.txt", "--syntax", "program"], "--syntax"),
        (["--program", "p.txt", "--k1", "2"], "--k1"),
        (["--program", "p.txt"], "p.txt: program text, line 2, column 1: found '+': expected an item directly"),
    ],
)  # fmt: skip
def test_search_says_in_one_line_what_is_wrong(
    sira: Sira, pottery: Path, index: Path, arguments: list[str], named: str
) -> None:
    file(pottery, "p.txt", "kiln\n+")
    given = [str(pottery / item) if item == "p.txt" else item for item in arguments]
    answer = sira("search", *given, "--index", index)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert named in answer.err

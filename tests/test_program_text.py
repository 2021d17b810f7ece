"""Programs as text: written, bound to an index, printed exactly, and read back."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sira.analysis.english import analyze
from sira.compile import TableStatistics, compile_sketch
from sira.errors import ProgramError
from sira.program import (
    MAX_WEIGHT,
    AnyOfClause,
    Clause,
    FacetClause,
    PhraseClause,
    Program,
    RangeClause,
    Scoring,
    TermClause,
    program_from_json,
    program_to_json,
)
from sira.programtext import (
    Exact,
    Position,
    ProgramTextError,
    Raw,
    bind,
    clause_to_text,
    parse_query,
    program_from_text,
    program_to_text,
)
from sira.programtext.query import EXACT_MAX_CLAUSES, MAX_CHARACTERS, MAX_CLAUSES
from sira.records import Document, Outcome, Topic, Verdict

GUIDE = Path(__file__).parents[1] / "docs/program-text.md"
STATISTICS = TableStatistics(
    100,
    {"heart": 9, "attack": 4, "infarct": 3, "heart attack": 2, "treatment": 5},
    facets={"category:1927_births": 7},
    analyzer=analyze,
)
EMPTY, KEPT, UNSEEN, DUPLICATE = Outcome.EMPTY, Outcome.KEPT, Outcome.UNSEEN, Outcome.DUPLICATE


def bound(text: str) -> Program:
    return bind(parse_query(text), STATISTICS)


def bare(program: Program) -> str:
    """The clauses without df and source."""
    return " ".join(re.sub(r" \{.*\}", "", clause_to_text(clause)) for clause in program.clauses)


def error(text: str) -> ProgramTextError:
    with pytest.raises(ProgramTextError) as caught:
        parse_query(text)
    return caught.value


# ---- the round trip

ODD = "'\"\\ \t\n\r\x00\x7f:[](){}|^+-#?=@*~/%,;é中אع\u0301\u200b\u200f\ufeff\u2028\ud7ff\ue000😞𝔸TOa1_.’"
strings = st.text(st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=["Cs"])), max_size=8)
names = strings | st.sampled_from(["year", "category", "a.b-c", "=x", "AND", "TO", "*", "//", "1927", "2020-01-01"])
filled = names.filter(bool)
weights = st.one_of(
    st.floats(0, MAX_WEIGHT),
    st.integers(0, 2**53),
    st.sampled_from([0.0, -0.0, 5e-324, 1e30, 0.1, 1, 1.0, 1e16]),
)
common: dict[str, Any] = {
    "weight": weights,
    "occur": st.sampled_from(["should", "must", "must_not", "filter"]),
    "source": st.none() | names,
    "df": st.none() | st.integers(-(2**63), 2**63),
}
numbers = st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False)
bounds = st.one_of(
    st.none(),
    numbers,
    names,
    st.sampled_from(["2020-01-01", "1999-12-31T23:59:59Z", "0001-01-01T00:00+23:59", "2020-13-01"]),
)
clauses: st.SearchStrategy[Clause] = st.one_of(
    st.builds(TermClause, filled, **common),
    st.builds(PhraseClause, st.lists(filled, min_size=2, max_size=4).map(tuple), **common),
    st.builds(AnyOfClause, st.lists(filled, min_size=1, max_size=4).map(tuple), **common),
    st.builds(FacetClause, filled | st.builds("{}:{}".format, names, names), **common),
    st.tuples(bounds, bounds)
    .filter(lambda pair: pair != (None, None))
    .flatmap(lambda pair: st.builds(RangeClause, names, st.just(pair[0]), st.just(pair[1]), **common)),
)
said = st.none() | names
verdicts = st.builds(
    Verdict, names, names, st.sampled_from(Outcome), common["df"], st.none() | numbers.map(float), said, said
)
programs = st.builds(
    Program,
    names,
    st.lists(clauses, max_size=5).map(tuple),
    st.builds(
        Scoring, st.sampled_from(["bm25f", "sum"]), st.floats(0, 1e308), st.floats(0, 1), weights, weights
    ),
    st.lists(verdicts, max_size=3).map(tuple),
    names,
)  # fmt: skip


def exactly(program: Program) -> str:
    """Its JSON, where 1 differs from 1.0 and 0.0 from -0.0."""
    return json.dumps(program_to_json(program))


@given(programs)
@settings(max_examples=200, deadline=None)
def test_every_program_reads_back_equal(program: Program) -> None:
    text = program_to_text(program)
    again = program_from_text(text)
    assert again == program
    assert exactly(again) == exactly(program)
    assert program_to_text(again) == text


@given(programs)
@settings(max_examples=80, deadline=None)
def test_text_and_json_are_two_forms_of_one_program(program: Program) -> None:
    through_json = program_from_json(json.loads(exactly(program)))
    assert program_to_text(through_json) == program_to_text(program_from_text(program_to_text(program)))


@given(clauses)
@settings(max_examples=150, deadline=None)
def test_an_exact_clause_also_stands_in_a_written_text(clause: Clause) -> None:
    (item,) = parse_query(clause_to_text(clause)).items
    assert item == Exact(clause, Position(1, 1))


def test_binding_leaves_an_annotated_program_as_it_is() -> None:
    program = bound('+category:1927_births "heart attacks"^2 -dog (heart | attack) the infarction year:[1 TO 2]')
    query = parse_query(program_to_text(program))
    assert bind(query, TableStatistics(5, {}, analyzer=analyze), Scoring("sum"), qid="other") == program


def test_a_text_without_verdicts_holds_what_ranks() -> None:
    program = bound("the heart")
    again = program_from_text(program_to_text(program, verdicts=False))
    assert again == Program("", program.clauses, program.scoring, (), program.text)


@pytest.mark.parametrize(
    "program",
    [
        Program("q\ud800"),
        Program("q", (TermClause("\udfff"),)),
        Program("q", (RangeClause("year", float("nan")),)),
        Program("q", (RangeClause("year", None, float("inf")),)),
        Program("q", (RangeClause("year", 10**400),)),
        Program("q", verdicts=(Verdict("a", "a", KEPT, 1, float("inf")),)),
        Program("q", schema_version=2),
        Program("q", (TermClause("a"),) * (EXACT_MAX_CLAUSES + 1)),
        Program("q", text="x" * 10_000_000),
    ],
)
def test_what_no_text_can_hold_is_refused(program: Program) -> None:
    with pytest.raises(ProgramError, match=r"Unicode|finite|digits|schema_version|more than|limit"):
        program_to_text(program)


# ---- the written form


def table(heading: str, columns: int) -> list[list[str]]:
    """The code cells of the rows of the first table below a heading of the guide."""
    section = GUIDE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in section.splitlines() if line.startswith("| `")]
    assert all(len(row) == columns for row in rows)
    return [[cell.strip().replace("\\|", "|") for cell in row] for row in rows]


@pytest.mark.parametrize(("written", "exact"), [(row[0], row[2]) for row in table("What you write", 3)])
def test_the_guides_examples_bind_as_it_says(written: str, exact: str) -> None:
    assert f"`{bare(bound(written.strip('`')))}`" == exact


@pytest.mark.parametrize("text", [code for row in table("The exact form", 2) for code in row[0][1:-1].split("` `")])
def test_the_guides_exact_clauses_print_as_they_are_written(text: str) -> None:
    (item,) = parse_query(text).items
    assert isinstance(item, Exact)
    assert clause_to_text(item.clause) == text


@pytest.mark.parametrize(("text", "message"), [(row[0][1:-1], row[1][1:-1]) for row in table("Errors", 2)])
def test_the_guides_errors_are_the_errors(text: str, message: str) -> None:
    assert str(error(text)) == message


def test_the_guides_program_is_what_binding_prints() -> None:
    printed = program_to_text(bind(parse_query('"heart attacks"'), STATISTICS, qid="t1"))
    printed = printed.replace('@text "\\"heart attacks\\""', '@text "heart attacks"')
    assert f"```\n{printed}```" in GUIDE.read_text(encoding="utf-8")


def test_items_keep_their_words_and_places() -> None:
    query = parse_query('heart\n  +"two words"^2 (a | b c)\nyear:[1 TO 2]')
    assert query.items == (
        Raw("word", ("heart",), Position(1, 1)),
        Raw("phrase", ("two words",), Position(2, 3), 2.0, "must"),
        Raw("any_of", ("a", "b c"), Position(2, 18)),
        Exact(RangeClause("year", 1, 2), Position(3, 1)),
    )


@given(st.text(st.sampled_from("aHeart attacks the don't. IL-6,é中"), max_size=60))
@settings(max_examples=200, deadline=None)
@example("heart attack heart")
def test_plain_words_are_plain_bm25(text: str) -> None:
    """The words of a query weigh their frequency, as in a program that is compiled without a sketch."""
    words = " ".join(word for word in text.split() if word[0] != "-")
    (whole,) = analyze([words])
    if whole != [term for terms in analyze(words.split()) for term in terms]:
        return  # words that an analyzer joins over a blank
    assert bound(words).clauses == compile_sketch(Topic("", words), None, STATISTICS).clauses


def test_verdicts_say_what_became_of_each_word() -> None:
    program = bound('heart "the heart attacks" hearts^2 the +unheard (attack | attacks | of | heart) category:x')
    assert [(item.phrase, item.term, item.outcome, item.df, item.weight) for item in program.verdicts] == [
        ("heart", "heart", KEPT, 9, 1.0),
        ("the heart attacks", "heart attack", KEPT, 2, 1.0),
        ("hearts", "heart", DUPLICATE, 9, 2.0),
        ("the", "", EMPTY, None, None),
        ("unheard", "unheard", UNSEEN, 0, 1.0),
        ("of", "", EMPTY, None, None),
        ("attacks", "attack", DUPLICATE, 4, None),
        ("attack", "attack", KEPT, 4, 1.0),
        ("heart", "heart", KEPT, 9, 1.0),
        ("category:x", "category:x", UNSEEN, 0, 1.0),
    ]
    assert program.clauses == (
        TermClause("heart", 3.0, df=9),
        PhraseClause(("heart", "attack"), source="the heart attacks", df=2),
        TermClause("unheard", 1.0, "must", df=0),
        AnyOfClause(("attack", "heart"), source="attack | attacks | of | heart"),
        FacetClause("category:x", df=0),
    )


def test_a_text_may_say_qid_scoring_and_version() -> None:
    text = "@program 1 @qid t7 @scoring sum k1=2 heart"
    program = bind(parse_query(text), STATISTICS, Scoring(b=0.1), qid="other")
    assert (program.qid, program.scoring, program.text) == ("t7", Scoring("sum", 2.0), text)
    assert bind(parse_query("heart"), STATISTICS, Scoring(b=0.1), qid="q").scoring == Scoring(b=0.1)


def test_exact_items_are_never_analysed() -> None:
    assert bound("=attacks =the =[the attacks]^2").clauses == (
        TermClause("attacks", df=0),
        TermClause("the", df=0),
        PhraseClause(("the", "attacks"), 2.0, df=0),
    )


@pytest.mark.parametrize("mark", ["\u200b", "\u200f", "\ufeff", "\u00ad", "\u202e\u2066"])
def test_marks_that_do_not_show_hide_no_sign(mark: str) -> None:
    assert bare(bound(f'{mark}-{mark}heart {mark}+"heart attack"{mark} attack')) == "-=heart +=[heart attack] =attack"


def test_right_to_left_words_and_blanks_of_any_script_are_read() -> None:
    query = parse_query("+שלום\u3000-مرحبا\u00a0(अ | 中)")
    assert [(item.texts, item.occur) for item in query.items if isinstance(item, Raw)] == [
        (("שלום",), "must"),
        (("مرحبا",), "must_not"),
        (("अ", "中"), "should"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "column", "found", "expected"),
    [
        ('"', 1, 2, "the end of the text", "close the quote of column 1"),
        ('heart\n\n ""', 3, 2, "'\"\"'", "at least one word"),
        ('"a\nb"', 1, 3, "the end of the line", "on the same line"),
        ("+", 1, 1, "'+'", "directly after '+'"),
        ("a - b", 1, 3, "'-'", "directly after '-'"),
        ("--a", 1, 2, "'-a'", "no second sign"),
        ("^2", 1, 1, "'^2'", "directly before '^'"),
        ("a^", 1, 3, "the end of the text", "a number from 0"),
        ("a^nan", 1, 3, "'nan'", "a number from 0"),
        ("a^inf", 1, 3, "'inf'", "a number from 0"),
        ("a^1e31", 1, 3, "'1e31'", "at most 1e+30"),
        ("a^٣", 1, 3, "'٣'", "a number from 0"),
        ("a^" + "9" * 5000, 1, 3, "…", "at most 400 characters"),
        ("(a^1e20 b)^1e20", 1, 16, "a weighted group", "product is at most"),
        ("field: a", 1, 7, "a blank", "a value directly after ':'"),
        ('field:""', 1, 7, "'\"\"'", "not empty"),
        (":a", 1, 1, "':a'", "a field before ':'"),
        ('"a":b', 1, 5, "'b'", "expected '['"),
        ("(a", 1, 3, "the end of the text", "opened at line 1, column 1"),
        ("(a\n | b\n", 3, 1, "the end of the text", "opened at line 1, column 1"),
        ("(a |", 1, 5, "the end of the text", "expected ')'"),
        ("(a ||b)", 1, 5, "'|b)'", "expected a word"),
        ("()", 1, 2, "')'", "expected a word"),
        ("a)", 1, 2, "')'", "expected '('"),
        ("(a (b))", 1, 4, "'(b))'", "do not nest"),
        ("a(b)", 1, 2, "'(b)'", "expected a blank"),
        ("(a =b | c)", 1, 4, "'=b'", "alternatives of raw words"),
        ("(a | b^2)", 1, 6, "'b^2)'", "alternatives of raw words"),
        ("a]", 1, 2, "']'", "expected a blank"),
        ("year:[1 2]", 1, 9, "'2]'", "expected TO"),
        ("year:[1 TO2]", 1, 9, "'TO2]'", "expected TO"),
        ("year:[1 TO 2", 1, 13, "the end of the text", "expected ']'"),
        ("year:[x TO 2]", 1, 7, "'x'", "the low bound"),
        ("year:[1 TO 1e999]", 1, 12, "'1e999]'", "the high bound"),
        ("date:[2020-02-30 TO *]", 1, 7, "'2020-02-30'", "the low bound"),
        ("year:[* TO *]", 1, 13, "two open sides", "at least one bound"),
        ("date:[2021-01-01 TO 2020-01-01]", 1, 6, "'[2021-01-01'", "[2020-01-01 TO 2021-01-01]"),
        ("year:[1 TO 2020-01-01]", 1, 6, "'[1'", "two numbers or two dates"),
        ("=", 1, 2, "the end of the text", "an analysed term"),
        ('=""', 1, 2, "'\"\"'", "not empty"),
        ("=[a]", 1, 4, "']'", "two or more terms"),
        ('=["a""b"]', 1, 6, "'\"b\"]'", "a blank or ']'"),
        ("=(a b)", 1, 5, "'b)'", "'|' or ')'"),
        ("=(a^2 | b)", 1, 4, "'^2'", "weight after ')'"),
        ("=:a", 1, 3, "'a'", "a facet in quotes"),
        ('=:""', 1, 3, "'\"\"'", "not empty"),
        ("=a:b", 1, 2, "'a:b'", '="a:b"'),
        ("=a\u200b:b", 1, 2, "\\u200b", "in quotes"),
        ("x" * 9_000 + ":", 1, 9_002, "the end of the text", "a value directly after ':'"),
        ("=a {df=1 df=2}", 1, 10, "'df=2}'", "each once"),
        ("=a{df=x}", 1, 7, "'x}'", "a whole number after 'df='"),
        ("=a{df=1.0}", 1, 4, "'df=1.0}'", "whole number"),
        ("=a{from=b}", 1, 9, "'b}'", "in quotes"),
        ("=a {df=1", 1, 9, "the end of the text", "df=, from= or '}'"),
        ("a{df=1}", 1, 2, "'{df=1}'", "no annotation"),
        ("a {df=1}", 1, 3, "'{df=1}'", "no annotation"),
        ("@sira", 1, 1, "'@sira'", "@program"),
        ("@program 2", 1, 10, "'2'", "the version that this sira reads"),
        ("@qid", 1, 5, "the end of the text", "the id of the topic"),
        ("@qid a @qid a", 1, 8, "'@qid'", "once"),
        ("@text a", 1, 7, "'a'", "in quotes"),
        ("@scoring mean", 1, 10, "'mean'", "bm25f or sum"),
        ("@scoring sum b=2", 1, 14, "'b=2'", "between 0 and 1"),
        ("@scoring sum b=1 b=1", 1, 18, "'b=1'", "b= once"),
        ("@scoring sum k1=1" + "0" * 350, 1, 17, "…", "smaller number"),
        ('@verdict kept "a" "a" {weight=1' + "0" * 350 + "}", 1, 31, "…", "smaller number"),
        ('@verdict fine "a" "a"', 1, 10, "'fine'", "an outcome"),
        ("@verdict kept a", 1, 15, "'a'", "the proposed phrase"),
        ('@verdict kept "a"', 1, 18, "the end of the text", "analysed form"),
        ("a AND b", 1, 3, "'AND'", "'+'"),
        ("a OR b", 1, 3, "'OR'", "(one | other)"),
        ("card*", 1, 1, "'card*'", "no wildcards"),
        ("heart~2", 1, 1, "'heart~2'", "no fuzzy"),
        ("“heart”", 1, 1, "'“heart”'", "looks alike"),
        ("a\n\nb \x00", 3, 3, "a control character U+0000", "\\u0000"),
        ("\ud800", 1, 1, "a lone surrogate U+D800", "leave it out"),
        ('"\\ud800"', 1, 2, "'\\\\ud800\"'", "not half of one"),
        ('"\\x"', 1, 2, "'\\\\x\"'", "an escape"),
        ("x" * (MAX_CHARACTERS + 1), 1, 1, "100,001 characters", "at most 100,000"),
        ("x " * (MAX_CLAUSES + 1), 1, 20_001, "'x'", "at most 10,000 items"),
        ("(" * 50_000, 1, 2, "…", "do not nest"),
    ],
)  # fmt: skip
def test_errors_say_where_what_and_what_was_expected(
    text: str, line: int, column: int, found: str, expected: str
) -> None:
    fault = error(text)
    assert fault.position == (line, column)
    assert found in fault.found
    assert expected in fault.expected
    where = f"line {line}, column {column}" if "\n" in text else f"column {column}"
    assert str(fault) == f"program text, {where}: found {fault.found}: {fault.expected}"
    assert str(fault).isprintable()


def test_a_program_needs_a_qid_and_exact_items() -> None:
    with pytest.raises(ProgramTextError, match="column 3: found the end of the text: expected @qid"):
        program_from_text("=a")
    with pytest.raises(ProgramTextError, match="column 8: found 'heart': expected an exact item"):
        program_from_text("@qid a heart")


def test_weights_and_clauses_beyond_the_limits_are_refused_when_bound() -> None:
    with pytest.raises(ProgramError, match="add up to 2e\\+30"):
        bound("heart^1e30 hearts^1e30")
    many = "-".join(f"w{number}" for number in range(MAX_CLAUSES + 1))
    with pytest.raises(ProgramError, match="10,001 clauses"):
        bound(many)


# ---- any input

TOKENS = r"""
" " \ \u \ud83d\ude00 ( ) [ ] { } | ^ ^2 ^0.5 ^-1 ^nan ^1e999 + - # ? = : * ~ // @qid @text @program @scoring @verdict
kept sum k1= b= df= from= weight= TO year:[ category: heart attack the 1990 2020-01-01 -5 1e30 é 中 א 😞 AND
""".split()  # noqa: SIM905
INVISIBLE = [" ", "\n", "\t", "\r", "\x00", "\x1c", "\x85", "\u200b", "\u200f", "\u2028", "\ufeff", "\ud800", "\udfff"]


def fuzzed(count: int, seed: int) -> Iterator[str]:
    """Token soups, random bytes, and mutations of valid texts: cut, doubled, swapped, flipped, spliced."""
    chance = random.Random(seed)
    valid = [
        program_to_text(bound(text))
        for text in (
            "heart attack",
            '+category:1927_births "heart attacks"^2 -dog year:[1990 TO 2000]',
            "(a | b)^.5 =x",
        )
    ]
    valid += [
        '+category:"New York" "heart\\u0020attack"^2 (a | b c) -x #(d e)^0.25 date:[2020-01-01 TO *] // note\n=[a b]'
    ]
    for number in range(count):
        kind = number % 4
        if kind == 0:
            soup = [
                chance.choice(TOKENS if chance.random() < 0.9 else INVISIBLE) for _ in range(chance.randrange(1, 30))
            ]
            yield chance.choice(["", " "]).join(soup)
        elif kind == 1:
            data = chance.randbytes(chance.randrange(0, 80))
            yield data.decode("latin-1") if number % 8 == 1 else data.decode(errors="surrogateescape")
        else:
            data = bytearray(chance.choice(valid).encode())
            for _ in range(chance.randrange(1, 6)):
                at = chance.randrange(len(data) + 1)
                match chance.randrange(5):
                    case 0:
                        del data[at : at + chance.randrange(1, 20)]
                    case 1:
                        data[at:at] = data[at : at + chance.randrange(1, 20)]
                    case 2:
                        data[at:at] = chance.choice(TOKENS).encode()
                    case 3:
                        data[at : at + 1] = bytes([chance.randrange(256)])
                    case _:
                        data[at:] = chance.choice(valid).encode()[at:]
            yield data.decode(errors=chance.choice(["replace", "surrogateescape", "ignore"]))


def read_both(text: str) -> bool:
    """Whether the text is read, and if so whether all that follows holds; else its error is our own, in one line."""
    for read in (parse_query, program_from_text):
        try:
            found = read(text)
        except ProgramTextError as caught:
            fault = caught
        else:
            program = found if isinstance(found, Program) else bind(found, STATISTICS)
            assert program_from_text(program_to_text(program)) == program
            return True
        assert (1, 1) <= fault.position <= (text.count("\n") + 1, len(text) + 1)
        assert str(fault).isprintable()
        assert len(str(fault)) < 1_500
    return False


def check_fuzzed(count: int, seed: int) -> int:
    """Returns how many texts were read."""
    return sum(map(read_both, fuzzed(count, seed)))


def test_mutated_texts_raise_no_other_error() -> None:
    assert 100 < check_fuzzed(2_000, seed=1) < 1_500


@given(
    st.text(st.one_of(st.characters(), st.sampled_from(ODD)), max_size=40)
    | st.lists(st.sampled_from(TOKENS)).map(" ".join)
)
@settings(max_examples=200, deadline=None)
def test_no_text_raises_another_error(text: str) -> None:
    read_both(text)


@pytest.mark.parametrize(
    "text", ["(a | ", "=[a ", "=a{df=1 ", "((", '"', "\\", "a^2 ", "+(a b) ", "// ", "a|", "@verdict "]
)
def test_long_texts_need_no_deep_stack(text: str) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(min(limit, 400))
    try:
        # a note is a text, and so is a word of backslashes; all else ends in its middle or has too many items
        assert read_both((text * 100_000)[:MAX_CHARACTERS]) is (text in ("// ", "\\"))
    finally:
        sys.setrecursionlimit(limit)


# ---- on an index


@pytest.mark.java
def test_a_written_text_searches_a_real_index(make_index: Callable[..., Path]) -> None:
    from sira.lucene.reader import Index

    documents = [
        Document("a", "Heart attacks and their treatment", facets=("kind:human",), values={"year": 1990}),
        Document("b", "Heart attacks of dogs: veterinary care", facets=("kind:animal",), values={"year": 1995}),
        Document("c", "An attack of the heart", facets=("kind:human",), values={"year": 2005}),
    ]
    with Index(make_index(documents, value_fields={"year": "integer"})) as index:

        def found(text: str) -> set[str]:
            return set(index.search(bind(parse_query(text), index), k=10).docids)

        assert found("hearts") == {"a", "b", "c"}
        assert found('+"heart attack"') == {"a", "b"}
        assert found('"attack of the heart"') == found('"attack heart"') == {"c"}
        assert found('+heart -"attack treatment"') == {"b", "c"}
        assert found('+"heart attack" -veterinary') == {"a"}
        assert found("heart -kind:animal year:[1990 TO 2000]") == {"a"}
        assert found("+kind:human (dog | treatment)") == {"a", "c"}
        assert found("#treatment heart") == {"a"}
        with pytest.raises(ProgramError, match=r"year is a declared field \(integer\).*write year:\[1990 TO 1990\]"):
            bind(parse_query("+year:1990 heart"), index)
        program = bind(parse_query('"heart attack" kind:human dog'), index)
        assert [clause.df for clause in program.clauses] == [2, 2, 1]
        assert index.search(program_from_text(program_to_text(program)), k=10) == index.search(program, k=10)

"""Guessed answers, forbidden classes and constraints that nobody stated: refused with a verdict, never silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from sira.compile import Safety, TableStatistics, compile_sketch
from sira.compile.safety import guesses
from sira.compile.several import compile_searches
from sira.policy import read_policy
from sira.program import Program
from sira.records import Outcome, Sketch, SketchPhrase, Topic

STATISTICS = TableStatistics(
    1000,
    dict.fromkeys(
        ["capital", "france", "paris", "1889", "tower", "dna", "19th", "centuri", "ani", "veterinari", "heart"], 3
    ),
)
TOPIC = Topic("q", "Which city is the capital of France?")


def compiled(*phrases: SketchPhrase, topic: Topic = TOPIC, **safety: object) -> Program:
    return compile_sketch(topic, Sketch("q", phrases), STATISTICS, None, Safety(**safety))  # pyright: ignore[reportArgumentType]


def log(program: Program) -> list[tuple[str, Outcome]]:
    return [(item.term, item.outcome) for item in program.verdicts]


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("Paris", ["Paris"]),
        ("capital of France", []),
        ("France Paris", ["Paris"]),
        ("tower of 1889", ["1889"]),
        ("1,000 km", ["1,000"]),
        ("DNA sequencing", []),
        ("19th century", []),
        ("1990s politics", []),
        ("McKinley assassination", ["McKinley"]),
        ("iron tower", []),
        ("p53", []),
        ("Île-de-France", ["Île-de-France"]),
    ],
)
def test_names_years_and_numbers_that_the_topic_does_not_hold(phrase: str, found: list[str]) -> None:
    assert guesses(phrase, TOPIC.text) == found


def test_a_year_of_the_topic_is_no_guess() -> None:
    assert guesses("tower of 1889", "what was built in Paris in 1889?") == []
    assert guesses("Eiffel", "q", frozenset({"eiffel"})) == []


def test_a_guessed_answer_gets_a_verdict_and_no_clause() -> None:
    program = compiled(SketchPhrase("Paris"), SketchPhrase("iron tower"), answer_guesses=True)
    assert log(program) == [("paris", Outcome.ANSWER_GUESS), ("iron", Outcome.UNSEEN), ("tower", Outcome.KEPT)]
    assert "paris" not in {clause.label for clause in program.clauses}
    assert ("paris", Outcome.KEPT) in log(compiled(SketchPhrase("Paris")))


def test_forbidden_phrases_get_a_verdict() -> None:
    program = compiled(SketchPhrase("  TOWER "), forbids=lambda phrase: "contact" if phrase == "tower" else None)
    assert log(program) == [("tower", Outcome.FORBIDDEN)]


def test_what_decided_stands_in_the_verdict() -> None:
    program = compiled(
        SketchPhrase("Gustave Eiffel 1889"),
        SketchPhrase("tower"),
        answer_guesses=True,
        forbids=lambda phrase: "towers" if phrase == "tower" else None,
    )
    assert [(item.outcome, item.reason) for item in program.verdicts] == [
        (Outcome.ANSWER_GUESS, "1889, Gustave, Eiffel"),
        (Outcome.FORBIDDEN, "towers"),
    ]


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("Nobel Prize", []),
        ("won the NOBEL  Prize in 1921", ["1921"]),
        ("Prize", ["Prize"]),
        ("Alfred Nobel", ["Alfred", "Nobel"]),
        ("2024 report", []),
    ],
)
def test_phrases_that_the_policy_allows_are_no_guesses(phrase: str, found: list[str]) -> None:
    assert guesses(phrase, TOPIC.text, frozenset({"nobel prize", "2024"})) == found


def test_a_policy_file_makes_a_safety(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(
        '[class.cities]\nabout = "cities"\nwords = ["paris"]\n\n[allow]\nphrases = ["Paris", "Île-de-France"]\n',
        encoding="utf-8",
    )
    policy = read_policy(path)
    assert Safety.of(policy) == Safety(policy.forbids, False, frozenset({"paris", "île-de-france"}), True)
    assert Safety.of(None, answer_guesses=True, trusted=False) == Safety(answer_guesses=True, trusted=False)
    safety = Safety.of(policy, answer_guesses=True)
    phrases = (SketchPhrase("Paris"), SketchPhrase("Île-de-France"), SketchPhrase("Berlin"))
    program = compile_sketch(TOPIC, Sketch("q", phrases), STATISTICS, None, safety)
    assert [item.outcome for item in program.verdicts if item.phrase in ("Paris", "Berlin")] == [
        Outcome.FORBIDDEN,
        Outcome.ANSWER_GUESS,
    ]
    assert Outcome.ANSWER_GUESS not in {item.outcome for item in program.verdicts if item.phrase == "Île-de-France"}


def test_an_invented_requirement_becomes_an_ordinary_phrase() -> None:
    program = compiled(SketchPhrase("tower", role="must"), trusted=False)
    assert log(program) == [("tower", Outcome.UNTRACEABLE), ("tower", Outcome.KEPT)]
    assert [clause.occur for clause in program.clauses if clause.label == "tower"] == ["should"]


def test_an_invented_exclusion_goes() -> None:
    program = compiled(SketchPhrase("veterinari", role="must_not"), trusted=False)
    assert log(program) == [("veterinari", Outcome.UNTRACEABLE)]
    assert all(clause.occur == "should" for clause in program.clauses)


def test_an_exclusion_of_a_word_that_the_topic_wants_goes() -> None:
    topic = Topic("q", "heart medicine for a veterinari practice")
    program = compiled(SketchPhrase("heart", role="must_not"), topic=topic, trusted=False)
    assert log(program) == [("heart", Outcome.UNTRACEABLE)]
    assert all(clause.occur == "should" for clause in program.clauses)


@pytest.mark.parametrize("topic", ["heart medicine that is not veterinari", "heart medicine -veterinari"])
def test_an_exclusion_stands_behind_the_word_that_excludes(topic: str) -> None:
    phrases = (SketchPhrase("heart", role="must_not"), SketchPhrase("veterinari", role="must_not"))
    program = compiled(*phrases, topic=Topic("q", topic), trusted=False)
    assert log(program) == [("heart", Outcome.UNTRACEABLE), ("veterinari", Outcome.KEPT)]
    assert [clause.label for clause in program.clauses if clause.occur == "must_not"] == ["veterinari"]


def test_the_searches_of_a_models_sketch_are_its_work_too() -> None:
    invented = Sketch("q", (SketchPhrase("tower", role="must"),))
    for by_model, occur in ((True, "should"), (False, "must")):
        sketch = Sketch("q", searches=(invented,), by_model=by_model)
        _, program = compile_searches(TOPIC, sketch, STATISTICS)
        assert [clause.occur for clause in program.clauses if clause.label == "tower"] == [occur]


def test_constraints_that_the_topic_states_stay() -> None:
    topic = Topic("q", "heart medicine not veterinari")
    phrases = (SketchPhrase("veterinari", role="must_not"), SketchPhrase("heart", role="must"))
    program = compiled(*phrases, topic=topic, trusted=False)
    assert {(clause.label, clause.occur) for clause in program.clauses} >= {
        ("veterinari", "must_not"),
        ("heart", "must"),
    }
    assert Outcome.UNTRACEABLE not in {item.outcome for item in program.verdicts}

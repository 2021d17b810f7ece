"""Accuracy, agreement, costs and the comparison of two runs, against values known from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from sira.errors import InputError
from sira.evaluate.agents.accuracy import Accuracy, accuracy
from sira.evaluate.agents.agreement import agreement
from sira.evaluate.agents.episodes import Episode
from sira.evaluate.agents.evaluation import RunEvaluation, evaluate_run
from sira.evaluate.agents.gold_answers import read_answers
from sira.evaluate.agents.judgments import Judged, response_hash
from sira.evaluate.agents.pairing import mcnemar, pair
from sira.evaluate.agents.reading import AgentRun
from sira.evaluate.agents.spending import costs
from sira.evaluate.agents.verdicts import Unjudged, Verdict
from sira.evaluate.pricing import Amount


def episodes(outcomes: str, price: float | None = 0.5) -> dict[str, Episode]:
    """One a letter: r right, w wrong, u unjudged, - not answered."""
    found: dict[str, Episode] = {}
    for number, letter in enumerate(outcomes):
        qid = f"q{number}"
        amount = None if price is None else Amount(price, "USD")
        status, answer = ("completed", f"answer {letter}") if letter != "-" else ("timeout", "")
        found[qid] = Episode(
            qid, file=f"{qid}.json", status=status, answer=answer, surfaced=("a", f"b{number}"), price=amount
        )
    return found


def judged(found: dict[str, Episode], name: str = "j", fingerprint: str = "f") -> Judged:
    verdicts = {
        qid: Verdict(
            qid,
            None if "u" in episode.answer[-1] else episode.answer.endswith("r"),
            Unjudged.UNPARSABLE if episode.answer.endswith("u") else None,
            response=response_hash(episode.answer),
        )
        for qid, episode in found.items()
        if episode.answered
    }
    return Judged(name, {"mode": "gold", "fingerprint": fingerprint, "model": {"model": "m"}}, verdicts)


def evaluated(outcomes: str, name: str = "run", fingerprint: str = "f", price: float | None = 0.5) -> RunEvaluation:
    found = episodes(outcomes, price)
    qrels = {qid: {"a": 1, "b0": 1} for qid in found}
    run = AgentRun(name, Path(name), found)
    return evaluate_run(run, {"evidence": qrels}, [judged(found, fingerprint=fingerprint)])


def test_accuracy_over_all_and_over_completed() -> None:
    found = episodes("rrrw-u")
    item: Accuracy = accuracy(found.values(), judged(found))
    assert (item.questions, item.answered, item.judged, item.correct) == (6, 5, 4, 3)
    assert (item.over_completed, item.over_all) == (3 / 4, 3 / 5)
    assert item.bounds == (3 / 6, 4 / 6)
    assert item.reasons == {"q5": "unparsable"}
    assert item.interval is not None
    assert item.interval[0] < 3 / 5 < item.interval[1]
    nothing = accuracy(episodes("uu").values(), judged(episodes("uu")))
    assert (nothing.over_all, nothing.over_completed, nothing.bounds) == (None, None, (0, 1))


def test_agreement_of_cohen_and_krippendorff() -> None:
    # 50 items of two judges: 20 both yes, 5 and 10 mixed, 15 both no: kappa is 0.4.
    first = {f"i{n}": n < 25 for n in range(50)}
    second = {f"i{n}": n < 20 or 25 <= n < 35 for n in range(50)}
    found = agreement({"a": first, "b": second})
    assert found.pairs[0].agreement == pytest.approx(0.7)
    assert found.pairs[0].kappa == pytest.approx(0.4)
    # Krippendorff's own example of two coders and 10 binary units: alpha is 0.095.
    a = dict(zip("abcdefghij", (0, 1, 0, 0, 0, 0, 0, 0, 1, 0), strict=True))
    b = dict(zip("abcdefghij", (1, 1, 1, 0, 0, 1, 0, 0, 0, 0), strict=True))
    two = agreement({"a": {k: bool(v) for k, v in a.items()}, "b": {k: bool(v) for k, v in b.items()}})
    assert two.alpha == pytest.approx(0.095, abs=5e-4)
    assert two.n == 10


def test_agreement_without_anything_to_agree_on() -> None:
    same = agreement({"a": {"x": True, "y": True}, "b": {"x": True}, "c": {}})
    assert [(item.n, item.agreement, item.kappa) for item in same.pairs] == [
        (1, 1.0, None),
        (0, None, None),
        (0, None, None),
    ]
    assert (same.alpha, same.n) == (None, 1)


def test_costs_are_known_only_where_all_are() -> None:
    found = costs(episodes("rw-u").values(), 1)
    assert (found.per_question, found.per_correct, found.currency) == (0.5, 2.0, "USD")
    assert costs(episodes("r-").values(), 0).per_correct is None
    mixed = [*episodes("r").values(), Episode("x", file="x.json")]
    assert (costs(mixed, 1).total, costs(mixed, 1).priced) == (None, 1)
    assert costs([Episode("x")], 1).total is None  # a missing question cost nothing, and none is left


def test_mcnemar_exactly() -> None:
    a, b = {f"q{n}": float(n < 12) for n in range(30)}, {f"q{n}": float(n < 2) for n in range(30)}
    found = mcnemar(a, b)
    assert (found.n, found.gained, found.lost, found.p) == (30, 10, 0, 2 / 2**10)
    assert mcnemar(a, a).p == 1
    five = mcnemar({"a": 1, "b": 1, "c": 0}, {"a": 0, "b": 0, "c": 1, "d": 1})
    assert (five.n, five.gained, five.lost, five.p) == (3, 2, 1, 1.0)


def test_two_runs_are_compared_on_common_questions() -> None:
    better, worse = evaluated("rrrrrrrrww", "b"), evaluated("rrwwwwwwwwrr", "w")
    (found,) = pair([better], worse)
    assert (found.common, found.only_run, found.only_baseline) == (10, (), ("q10", "q11"))
    by_measure = {item.measure: item for item in found.comparisons}
    assert by_measure["accuracy"].difference == pytest.approx(0.6)
    assert (by_measure["accuracy"].wins, by_measure["accuracy"].losses) == (6, 0)
    assert found.mcnemar is not None
    assert found.mcnemar.p == 2 / 2**6
    test = by_measure["accuracy"].randomisation
    assert test.p is not None
    assert test.p_corrected == pytest.approx(min(1.0, test.p * len(found.comparisons)))
    assert test.family == len(found.comparisons) == 6
    assert by_measure["surfaced recall, evidence"].difference == 0


def test_runs_of_different_judges_are_not_compared_by_accuracy() -> None:
    (found,) = pair([evaluated("rr", fingerprint="one")], evaluated("ww", fingerprint="other"))
    assert (found.judge, found.mcnemar) == (None, None)
    assert "accuracy" not in {item.measure for item in found.comparisons}
    assert "no judge judged both runs" in found.note


def test_runs_without_a_common_question_are_refused() -> None:
    other = RunEvaluation(AgentRun("o", Path("o"), {"x": Episode("x")}), evaluated("r").settings, {}, (), None,
                          costs([], None), {}, {})  # fmt: skip
    with pytest.raises(InputError, match="no question in common"):
        pair([other], evaluated("r"))


def test_answers_in_their_forms(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"query_id": 7, "answer": 1887}\n{"_id": "b", "answers": ["x", "y"], "query": "?"}\n')
    assert read_answers(path) == {"7": ("1887",), "b": ("x", "y")}
    (tmp_path / "a.tsv").write_text("q1\tOslo, Norway\n")
    assert read_answers(tmp_path / "a.tsv") == {"q1": ("Oslo, Norway",)}
    for text, fault in (
        ('{"answer": "x"}\n', "line 1: no qid"),
        ('{"qid": "a"}\n', "question 'a' has no `answer`"),
        ('{"qid": "a", "answer": " "}\n', "has no `answer`"),
        ('{"qid": "a", "answer": "x"}\n{"qid": "a", "answer": "y"}\n', "line 2: the question 'a' stands twice"),
        ("", "no answer in this file"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=fault):
            read_answers(path)

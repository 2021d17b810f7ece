"""`sira judge` against a scripted judge over real HTTP: kept verdicts, second attempts, failures, kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sira.cli.main import main
from sira.evaluate.agents.accuracy import accuracy
from sira.evaluate.agents.agreement import agreement
from sira.evaluate.agents.judgments import read_judges
from sira.evaluate.agents.reading import read_agent_run
from tests.evaluate.agents.judge_server import JudgeServer, model_file, verdict
from tests.evaluate.agents.run_folders import trajectory, write_run
from tests.llm.openai_server import Answer, completion, refusal

Serve = Callable[..., JudgeServer]
Judging = Callable[..., tuple[int, str, str]]

ANSWERS = {"q1": "Oslo", "q2": "Bergen", "q3": "Rome", "q4": "Paris"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("SIRA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[JudgeServer] = []

    def start(*arguments: Any, **more: Any) -> JudgeServer:
        servers.append(JudgeServer(*arguments, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Four questions: right, right, wrong, out of time; and their answers beside the folder."""
    rows = [trajectory("q1", "Oslo"), trajectory("q2", "Bergen"), trajectory("q3", "Milan"), trajectory("q4", None)]
    (tmp_path / "answers.jsonl").write_text(
        "".join(json.dumps({"query_id": qid, "answer": answer}) + "\n" for qid, answer in ANSWERS.items())
    )
    return write_run(tmp_path / "run", rows)


@pytest.fixture
def judge(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Judging:
    def call(server: JudgeServer, *more: str, answers: bool = True, model: str = "judge-model") -> tuple[int, str, str]:
        toml = model_file(tmp_path / f"{model}.toml", server.url, model)
        given = ["--answers", str(tmp_path / "answers.jsonl")] if answers else []
        status = main(["judge", str(run), "--llm", str(toml), "--quiet", *given, *more])
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


def verdicts(run: Path, judge: int = 0) -> dict[str, Any]:
    return {qid: (item.correct, item.unjudged) for qid, item in read_judges(run)[judge].verdicts.items()}


def test_gold_answers(run: Path, judge: Judging, serve: Serve) -> None:
    server = serve()
    status, out, _ = judge(server)
    assert status == 0
    assert verdicts(run) == {"q1": (True, None), "q2": (True, None), "q3": (False, None)}
    assert "correct 2 of 3 judged, 3 answered, 4 questions" in out
    assert "accuracy over completed 66.7%" in out
    assert "over all 50.0%" in out
    body = server.calls[0]
    assert body["temperature"] == 0
    assert body["response_format"]["json_schema"]["schema"]["required"][-2:] == ["correct", "confidence"]
    judged = read_judges(run)[0]
    assert judged.manifest["model"]["model"] == "judge-model"
    assert judged.manifest["sampling"]["temperature"] == 0
    assert len(judged.manifest["prompt_sha256"]) == 64
    assert judged.manifest["answers"]["name"] == "answers.jsonl"
    assert judged.name.startswith("judge-model-gold-")
    assert judged.verdicts["q1"].usage.prompt_tokens == 100


def test_the_same_command_asks_for_nothing_that_is_there(
    run: Path, judge: Judging, serve: Serve, tmp_path: Path
) -> None:
    server = serve()
    judge(server)
    asked = len(server.asked)
    status, out, _ = judge(server)
    assert (status, len(server.asked)) == (0, asked)
    assert "3 verdicts kept" in out
    # Another answer of one question is another thing to judge, and so is another response.
    (tmp_path / "answers.jsonl").write_text((tmp_path / "answers.jsonl").read_text().replace("Bergen", "Molde"))
    (run / "q3.json").write_text(json.dumps(trajectory("q3", "Rome")))
    stale = accuracy(read_agent_run(run).episodes.values(), read_judges(run)[0])
    assert stale.reasons == {"q3": "stale"}
    judge(server)
    assert sorted(server.asked[asked:]) == ["Question q2?", "Question q3?"]
    assert verdicts(run) == {"q1": (True, None), "q2": (False, None), "q3": (True, None)}


def test_an_unreadable_reply_is_asked_for_again_and_then_unjudged(run: Path, judge: Judging, serve: Serve) -> None:
    def script(question: str, response: str, times: int) -> str | Answer | None:
        if question == "Question q1?":
            return "I would say that it is right." if times == 1 else None
        return '{"correct": fal' if question == "Question q2?" else None

    server = serve(script)
    status, out, _ = judge(server)
    assert status == 3
    assert verdicts(run) == {"q1": (True, None), "q2": (None, "unparsable"), "q3": (False, None)}
    assert (server.asked.count("Question q1?"), server.asked.count("Question q2?")) == (2, 3)
    again = [body for body in server.calls if "could not be read" in body["messages"][-1]["content"]]
    assert len({body["seed"] for body in again}) == 2
    assert read_judges(run)[0].verdicts["q2"].usage.prompt_tokens == 300
    # Not wrong: over the two judged answers and the one without an answer, and between the bounds.
    assert "unjudged: 1 unparsable; with all of them accuracy over all lies in 25.0% to 50.0%" in out
    assert "over all 33.3%" in out
    judge(server)
    assert server.asked.count("Question q2?") == 3  # kept as it is, and the replies are
    server.script = None
    judge(server, "--again", "--attempts", "4")
    assert verdicts(run)["q2"] == (True, None)


def test_refusals_cut_replies_and_prompts_that_are_too_long(run: Path, judge: Judging, serve: Serve) -> None:
    replies = {
        "Question q1?": Answer(completion(None, refusal="I cannot judge this.")),
        "Question q2?": Answer(completion(verdict()[:30], "length")),
        "Question q3?": refusal(
            400, "This model's maximum context length is 4096 tokens.", code="context_length_exceeded"
        ),
    }
    status, _, _ = judge(serve(lambda question, response, times: replies[question]))
    assert status == 3
    assert verdicts(run) == {"q1": (None, "refused"), "q2": (None, "truncated"), "q3": (None, "too_long")}


def test_a_judge_that_refuses_the_key_ends_the_command_with_its_words(run: Path, judge: Judging, serve: Serve) -> None:
    server = serve(lambda question, response, times: refusal(401, "Incorrect API key provided"))
    status, out, err = judge(server)
    assert (status, out) == (1, "")
    assert "HTTP 401: Incorrect API key provided" in err
    judged = read_judges(run)[0]
    assert {item.unjudged for item in judged.verdicts.values()} == {"no_reply"}
    assert all("Incorrect API key" in (item.detail or "") for item in judged.verdicts.values())
    found = accuracy(read_agent_run(run).episodes.values(), judged)
    assert (found.judged, found.correct, found.unjudged) == (0, 0, {"no_reply": 3})
    server.script = None
    assert judge(server)[0] == 0  # asked again, without being told to


def test_reference_free_says_so(run: Path, judge: Judging, serve: Serve) -> None:
    server = serve(lambda question, response, times: verdict(True))
    status, out, _ = judge(server, answers=False)
    assert status == 0
    assert "reference-free judge" in out
    assert "the judge's own opinion" in out
    assert "Correct answer" not in server.calls[0]["messages"][-1]["content"]
    assert read_judges(run)[0].manifest["answers"] is None


def test_what_does_not_go_together(run: Path, judge: Judging, serve: Serve, tmp_path: Path) -> None:
    server = serve()
    assert "names none: give --answers FILE" in judge(server, "--mode", "gold", answers=False)[2]
    assert "knows no answers" in judge(server, "--mode", "reference-free")[2]
    assert "give the name of a folder" in judge(server, "--name", "../x")[2]
    assert "attempts = 0" in judge(server, "--attempts", "0")[2]
    (tmp_path / "answers.jsonl").write_text('{"query_id": "other", "answer": "x"}\n')
    assert "none of the run's questions has a known answer" in judge(server)[2]
    assert server.calls == []


def test_a_question_without_a_known_answer_is_unjudged(run: Path, judge: Judging, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text('{"query_id": "q1", "answers": ["Kristiania", "Oslo"]}\n')
    server = serve()
    status, out, _ = judge(server)
    assert status == 3
    assert verdicts(run) == {"q1": (True, None), "q2": (None, "no_gold_answer"), "q3": (None, "no_gold_answer")}
    assert "2 no_gold_answer" in out
    assert server.asked == ["Question q1?"]


def test_a_folder_of_another_judge_is_refused(run: Path, judge: Judging, serve: Serve) -> None:
    server = serve()
    assert judge(server, "--name", "mine")[0] == 0
    status, _, err = judge(server, "--name", "mine", answers=False)
    assert status == 2
    assert "holds the judgments of another judge" in err
    assert judge(server, "--name", "mine", model="another-model")[0] == 2


def test_several_judges_and_their_agreement(run: Path, judge: Judging, serve: Serve) -> None:
    judge(serve(), model="a-judge")
    strict = serve(lambda question, response, times: verdict("Bergen" in response))
    judge(strict, model="b-judge")
    found = read_judges(run)
    assert [judged.name.partition("-gold")[0] for judged in found] == ["a-judge", "b-judge"]
    labels = {one.name: {qid: item.correct is True for qid, item in one.verdicts.items()} for one in found}
    agreed = agreement(labels)
    assert agreed.pairs[0].agreement == pytest.approx(2 / 3)
    assert agreed.pairs[0].differ == ("q1",)
    assert agreed.pairs[0].kappa == pytest.approx(0.4)
    assert read_judges(run, found[1].name)[0].name == found[1].name


def test_killed_between_judgments_it_goes_on(tmp_path: Path, serve: Serve) -> None:
    count = 60
    folder = write_run(tmp_path / "many", [trajectory(f"q{number}", f"Answer {number}") for number in range(count)])
    rows = [{"query_id": f"q{number}", "answer": f"Answer {number if number % 3 else -1}"} for number in range(count)]
    (tmp_path / "many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    server = serve(delay_s=0.05)
    toml = model_file(tmp_path / "judge.toml", server.url)
    command = [
        sys.executable, "-m", "sira", "judge", str(folder), "--llm", str(toml), "--quiet", "--name", "j",
        "--answers", str(tmp_path / "many.jsonl"),
    ]  # fmt: skip
    kept = folder / "judgments" / "j" / "verdicts"
    for goal in (5, 20):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while len(list(kept.glob("*.json"))) < goal:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert all(json.loads(path.read_bytes())["correct"] in (True, False) for path in kept.glob("*.json"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = {qid: item.correct for qid, item in read_judges(folder)[0].verdicts.items()}
    assert found == {f"q{number}": number % 3 != 0 for number in range(count)}
    # Each kill loses at most what was under way: two calls at a time, and what had arrived without being kept.
    assert len(server.asked) <= count + 2 * 4
    assert not [*kept.glob(".*"), *kept.parent.glob(".*.tmp")]

"""Judging a run: each answer is sent to a model, and each verdict is kept as soon as it is there.

A reply that cannot be read is asked for again, with a line that says so and another seed, up to `attempts` replies in
all; then the answer stays unjudged. Calls that fail are tried again by the next run of the same command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tqdm import tqdm

from sira.errors import EnvironmentFault, InputError, SiraError
from sira.evaluate.agents.episodes import Episode
from sira.evaluate.agents.judge_prompt import JUDGE_SCHEMA, render
from sira.evaluate.agents.judgments import Judge, read_judged, response_hash, write_verdict
from sira.evaluate.agents.verdicts import Said, Unjudged, Verdict, parse_verdict
from sira.llm.base import Finish, Generator, Request, Usage

AGAIN = frozenset({Unjudged.UNPARSABLE, Unjudged.TRUNCATED})
"""What another attempt may mend."""
FAILED = frozenset({Unjudged.ERROR, Unjudged.NO_REPLY})
"""What the next run of the command asks again."""
Answers = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Report:
    """Of one call of `judge_run`: the verdicts of all its episodes by qid, how many of them were there before, how many
    the judge was asked for, and the tokens of the replies that were read now."""

    verdicts: Mapping[str, Verdict]
    kept: int
    asked: int
    usage: Usage

    @property
    def unjudged(self) -> Mapping[str, int]:
        """Reason -> answers; episodes without an answer are among them."""
        return dict(Counter(item.unjudged.value for item in self.verdicts.values() if item.unjudged is not None))


def judge_run(
    episodes: Iterable[Episode],
    judge: Judge,
    answers: Answers | None,
    generator: Generator,
    folder: Path,
    *,
    again: bool = False,
    progress: bool = True,
) -> Report:
    """Judge the episodes that have no verdict in `folder` yet, whose judge.json is written (`write_manifest`).

    `again`: unjudged ones too, whatever the reason. Raises InputError for the mode `gold` without an answer to any
    question; EnvironmentFault where the model is gone: the questions that were waiting then have its words as the
    reason in their files.
    """
    listed = list(episodes)
    _check(listed, judge, answers)
    before = read_judged(folder).verdicts
    work = _Work(judge, folder)
    verdicts: dict[str, Verdict] = {}
    kept = 0
    for episode in listed:
        known = tuple((answers or {}).get(episode.qid, ())) if judge.mode == "gold" else ()
        if not episode.answered:
            verdicts[episode.qid] = Verdict(episode.qid, None, Unjudged.NOT_ANSWERED, episode.status)
        elif judge.mode == "gold" and not known:
            unknown = Verdict(episode.qid, None, Unjudged.NO_GOLD_ANSWER, response=response_hash(episode.answer))
            verdicts[episode.qid] = unknown
            write_verdict(folder, unknown)
        else:
            asked = judge.asked(episode.query, episode.answer, known)
            there = before.get(episode.qid)
            if there is not None and there.asked == asked and not _is_open(there, again):
                verdicts[episode.qid], kept = there, kept + 1
            else:
                blank = Verdict(
                    episode.qid, None, Unjudged.NO_REPLY, asked=asked, response=response_hash(episode.answer)
                )
                work.waiting[episode.qid] = _Open(episode, known, blank)
    done = work.carry_out(generator, progress=progress)
    found = verdicts | done
    usage = sum((item.usage for item in done.values()), Usage())
    return Report({episode.qid: found[episode.qid] for episode in listed}, kept, len(done), usage)


def _check(episodes: Sequence[Episode], judge: Judge, answers: Answers | None) -> None:
    if judge.mode != "gold":
        return
    if answers is None:
        raise InputError(
            "the mode gold compares with known answers: give --answers FILE, or --mode reference-free, whose figures "
            "are another thing"
        )
    if not any(episode.qid in answers for episode in episodes):
        raise InputError("none of the run's questions has a known answer in the file of answers; check its qids")


def _is_open(verdict: Verdict, again: bool) -> bool:
    return verdict.unjudged is not None and (again or verdict.unjudged in FAILED)


@dataclass(slots=True)
class _Open:
    """A question that waits for its verdict, with what its replies have taken so far."""

    episode: Episode
    answers: tuple[str, ...]
    verdict: Verdict


@dataclass(slots=True)
class _Work:
    judge: Judge
    folder: Path
    waiting: dict[str, _Open] = field(default_factory=dict[str, _Open])

    def carry_out(self, generator: Generator, *, progress: bool) -> dict[str, Verdict]:
        done: dict[str, Verdict] = {}
        with tqdm(total=len(self.waiting), desc="judged", unit=" answers", disable=not progress) as bar:
            for attempt in range(1, self.judge.attempts + 1):
                if not self.waiting:
                    break
                for verdict in self._round(attempt, generator):
                    done[verdict.qid] = verdict
                    bar.update()
        return done

    def _round(self, attempt: int, generator: Generator) -> Iterator[Verdict]:
        """One reply to each open question; those that are settled by it, each in its file."""
        try:
            for reply in generator.generate(self._requests(attempt, list(self.waiting.items()))):
                if reply.finish is Finish.PENDING:
                    continue
                item = self.waiting[reply.key]
                said = parse_verdict(reply.text, reply.finish)
                item.verdict = _read(item.verdict, said, attempt, reply.detail, reply.usage)
                if isinstance(said, Unjudged) and said in AGAIN and attempt < self.judge.attempts:
                    continue
                del self.waiting[reply.key]
                write_verdict(self.folder, item.verdict)
                yield item.verdict
        except SiraError as error:
            for item in self.waiting.values():
                write_verdict(self.folder, replace(item.verdict, unjudged=Unjudged.NO_REPLY, detail=str(error)))
            raise
        if generator.pending is not None:
            raise EnvironmentFault(f"not every answer is judged yet: {generator.pending}")

    def _requests(self, attempt: int, items: Sequence[tuple[str, _Open]]) -> Iterator[Request]:
        judge = self.judge
        for qid, item in items:
            messages = render(judge.mode, item.episode.query, item.episode.answer, item.answers, attempt)
            yield Request(qid, messages, judge.max_tokens, judge.seed + attempt - 1, JUDGE_SCHEMA)


def _read(before: Verdict, said: Said | Unjudged, attempt: int, detail: str | None, usage: Usage) -> Verdict:
    total = before.usage + usage
    if isinstance(said, Unjudged):
        return replace(before, correct=None, unjudged=said, detail=detail, attempts=attempt, usage=total)
    return Verdict(
        qid=before.qid,
        correct=said.correct,
        extracted=said.extracted,
        reasoning=said.reasoning,
        confidence=said.confidence,
        salvaged=said.salvaged,
        attempts=attempt,
        usage=total,
        asked=before.asked,
        response=before.response,
    )

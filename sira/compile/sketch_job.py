"""Sketches of many topics by a model, into one file: a row a topic, in the order of the topics.

Run again, it keeps the rows that the same model, prompt and sampling made of the same text, and asks for the others;
replies come from the cache where they are there, so a killed run costs nothing. The file is replaced as a whole at the
end, and holds no time of day: the same replies make the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from tqdm import tqdm

from sira.compile.sketches import sketch_to_json
from sira.corpora.files import replacing
from sira.corpora.rows import json_rows
from sira.errors import InputError
from sira.llm import Generator, ModelSettings, Usage
from sira.llm.cache import Counts, open_cached
from sira.llm.prices import cost, price_of
from sira.llm.sketches import Sketched, SketchForm, check_samples, default_prompt, sketch_topics
from sira.prompts import Prompt, load_prompt
from sira.records import FAILURES, Topic

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SketchJob:
    """Who is asked, and how. Raises InputError for samples out of range, or where several could not differ."""

    settings: ModelSettings
    prompt: Prompt
    form: SketchForm = field(default_factory=SketchForm)
    samples: int = 1

    def __post_init__(self) -> None:
        check_samples(self.samples, self.settings.seed)
        if self.samples > 1 and self.settings.temperature == 0:
            raise InputError(f"samples = {self.samples} at temperature 0 would be all alike: give a temperature")
        if self.samples > 1 and self.settings.backend == "recorded":
            raise InputError(f"samples = {self.samples}: recorded replies are one a topic")

    @classmethod
    def of(cls, settings: ModelSettings, prompt: str | None, form: SketchForm, samples: int = 1) -> SketchJob:
        """With the prompt of this name or file; None: the one that fits the model and the form."""
        chosen = load_prompt(prompt or default_prompt(settings.backend, form), side="query")
        return cls(settings, chosen, form, samples)

    def provenance(self, identity: Mapping[str, Any]) -> dict[str, Any]:
        """What the rows are made with. `model` is never empty: by it a reader knows the work of a model."""
        return {
            "model": dict(identity) or {"backend": self.settings.backend},
            "prompt": self.prompt.label,
            "digest": self.prompt.digest,
            "sampling": self.settings.sampling(),
            "max_tokens": self.settings.max_tokens,
            "form": asdict(self.form),
            "samples": self.samples,
        }


@dataclass(frozen=True, slots=True)
class SketchReport:
    """Of one file: all rows, and what this run did. `unfinished` topics have a reply that failed with an error, or
    none that can be used; `replaced` rows were made otherwise, or are of other topics. `cost` is of this run's calls
    alone, in `currency`; None where no price is known."""

    topics: int
    kept: int
    replaced: int
    statuses: Mapping[str, int]
    phrases: int
    unfinished: int
    dropped: Mapping[str, int]
    usage: Usage
    """Of all replies that the rows are of, whenever they were made."""
    now: Counts
    cost: float | None
    whole_cost: float | None
    """Of all replies, at the same price."""
    currency: str | None


def ask(topics: Sequence[Topic], job: SketchJob, *, replies: Path | None = None, progress: bool = True
        ) -> tuple[dict[str, Sketched], Counts]:  # fmt: skip
    """The sketches by qid, from the model or from the replies that are kept. Raises as `sketch_topics`."""
    with closing(open_cached(job.settings, replies)) as generator:
        return _asked(topics, job, generator, progress=progress), generator.counts


def write_sketches(
    topics: Sequence[Topic], job: SketchJob, out: Path, *, replies: Path | None = None, progress: bool = True
) -> SketchReport:
    """Make or complete a file of sketches; `replies`: the folder of the cache, in place of the common one.

    Raises InputError for a file that is there and holds no rows of `sira sketch`, or that cannot be written (nobody is
    asked then); EnvironmentFault where the model is gone: the file stays as it was, and what was answered is kept.
    """
    before = _rows(out) if out.exists() else {}
    with replacing(out) as stream, closing(open_cached(job.settings, replies)) as generator:
        provenance = job.provenance(generator.identity)
        marks = {topic.qid: _fingerprint(provenance, topic) for topic in topics}
        kept = {qid: row for qid, row in before.items() if row["provenance"]["fingerprint"] == marks.get(qid)}
        kept = {qid: row for qid, row in kept.items() if not row.get("errors")}
        done = _asked([topic for topic in topics if topic.qid not in kept], job, generator, progress=progress)
        rows = [
            kept[topic.qid]
            if topic.qid in kept
            else _row(done[topic.qid], provenance | {"fingerprint": marks[topic.qid]})
            for topic in topics
        ]
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    replaced = sum(row["provenance"]["fingerprint"] != marks.get(qid) for qid, row in before.items())
    return _report(rows, len(kept), replaced, generator.counts, job.settings)


def _asked(topics: Sequence[Topic], job: SketchJob, generator: Generator, *, progress: bool) -> dict[str, Sketched]:
    settings = job.settings
    found = sketch_topics(
        topics,
        generator,
        job.prompt,
        max_tokens=settings.max_tokens,
        seed=settings.seed,
        samples=job.samples,
        form=job.form,
    )
    done: dict[str, Sketched] = {}
    for one in tqdm(found, total=len(topics), desc="sketches", unit=" topics", disable=not progress or len(topics) < 2):
        done[one.sketch.qid] = one
        if one.status in FAILURES or one.failed:
            _log.warning(
                "topic %r: the sketch is %s%s", one.sketch.qid, one.status, f" ({one.detail})" * bool(one.detail)
            )
    return done


def _rows(path: Path) -> dict[str, dict[str, Any]]:
    """The rows of an earlier run by qid. Raises InputError for a row of anything else, before it is overwritten."""
    rows: dict[str, dict[str, Any]] = {}
    for place, row in json_rows(path):
        provenance: Any = row.get("provenance")
        marked = isinstance(provenance, dict) and "fingerprint" in cast("dict[str, Any]", provenance)
        if not marked or not isinstance(row.get("qid"), str) or not isinstance(row.get("phrases"), list):
            raise InputError(f"{place}: no row of `sira sketch`, so it is not overwritten: give a new --out")
        rows[row["qid"]] = row
    return rows


def _row(done: Sketched, provenance: Mapping[str, Any]) -> dict[str, Any]:
    row = sketch_to_json(done.sketch) | {"status": done.status.value, "usage": asdict(done.usage)}
    further = {"detail": done.detail, "dropped": dict(done.dropped), "failed": done.failed, "errors": done.errors}
    return row | {name: value for name, value in further.items() if value} | {"provenance": dict(provenance)}


def _fingerprint(provenance: Mapping[str, Any], topic: Topic) -> str:
    """16 hex digits; the prompt's name is none of it, its digest is."""
    facts = [{name: value for name, value in provenance.items() if name != "prompt"}, topic.text]
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _report(
    rows: Sequence[dict[str, Any]], kept: int, replaced: int, now: Counts, settings: ModelSettings
) -> SketchReport:
    dropped: Counter[str] = Counter()
    for row in rows:
        dropped.update(row.get("dropped", {}))
    price = price_of(settings)
    usage = sum((Usage(**row["usage"]) for row in rows), Usage())
    return SketchReport(
        topics=len(rows),
        kept=kept,
        replaced=replaced,
        statuses=dict(Counter(row["status"] for row in rows).most_common()),
        phrases=sum(len(row["phrases"]) for row in rows),
        unfinished=sum(row["status"] in FAILURES or bool(row.get("errors")) for row in rows),
        dropped=dict(dropped),
        usage=usage,
        now=now,
        cost=None if price is None else cost(now.usage, 0.0, price),
        whole_cost=None if price is None else cost(usage, 0.0, price),
        currency=None if price is None else price.currency,
    )

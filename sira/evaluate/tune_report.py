"""What a tuning leaves: its facts as JSON, and the chosen parameters as lines of TOML."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from sira.corpora.files import replacing
from sira.evaluate.tune import Tuned, TuneSettings


@dataclass(frozen=True, slots=True)
class TuneResult:
    """What was chosen, on which split, by which measure."""

    tuned: Tuned
    collection: str
    system: str
    split: str
    measure: str
    points: int


def snippet(result: TuneResult) -> str:
    """Lines of TOML for the [[systems]] table, with what they are worth."""
    tuned, item = result.tuned, result.tuned.held_out
    where = f"{result.collection} (split: {result.split})"
    lines = [
        f"# {result.system}, chosen on {where} by {result.measure}, {tuned.topics} topics",
        f"# held out by {len(tuned.by_fold)} folds: {tuned.held_out_mean:.4f}, default {tuned.default_mean:.4f}: "
        f"{item.difference:+.4f} [{item.low:+.4f}, {item.high:+.4f}]",
    ]
    if not tuned.better:
        lines.append("# no better than the default as far as these topics tell")
    lines += [f"{key} = {value!r}" for key, value in tuned.space.changes(tuned.chosen).items()]
    return "\n".join(lines) + "\n"


def write_tuning(result: TuneResult, settings: TuneSettings, out: Path) -> None:
    """tuning.json, with everything, and tuned.toml, the snippet."""
    tuned = result.tuned
    space = tuned.space
    told = {
        "collection": result.collection,
        "system": result.system,
        "split": result.split,
        "measure": result.measure,
        "topics": tuned.topics,
        "points": result.points,
        **asdict(settings),
        "grid": {item.name: axis for item, axis in zip(space.parameters, space.axes(), strict=True)},
        "default": space.named(space.default),
        "default_mean": tuned.default_mean,
        "chosen": space.named(tuned.chosen),
        "in_sample_mean": tuned.in_sample,
        "held_out_mean": tuned.held_out_mean,
        "held_out": tuned.held_out.to_dict(),
        "by_fold": [space.named(point) for point in tuned.by_fold],
        "at_border": list(space.at_border(tuned.chosen)),
    }
    with replacing(out / "tuning.json") as stream:
        json.dump(told, stream, indent=1)
        stream.write("\n")
    with replacing(out / "tuned.toml") as stream:
        stream.write(snippet(result))

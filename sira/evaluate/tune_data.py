"""Which judgments parameters may be chosen on: those of a development split, never of a test split."""

from __future__ import annotations

import re
from pathlib import Path

from sira.corpora.beir import BeirFolder
from sira.errors import InputError
from sira.evaluate.inputs import Inputs

DEVELOPMENT = ("dev", "devel", "development", "train", "training", "valid", "validation", "val")
FORBIDDEN = ("test", "testing", "eval", "evaluation", "heldout", "holdout", "blind")


def check_development(inputs: Inputs, *, declared: bool) -> str:
    """The name of the split, where parameters may be chosen on it. `declared`: the user says that judgments without the
    name of a split are for development; that of a test split stays one.

    Raises InputError for a split, a source or a file of judgments with a word such as `test` in its name, for one that
    names no split and is not declared, and for topics that the `test` split of the same BEIR folder judges too.
    """
    config, split = inputs.config, inputs.collection.split
    where = f"collection {config.name!r}"
    # A file of judgments takes the place of the source's split.
    names = [config.split, Path(config.qrels).name] if config.qrels else [split, _named_by(config.source)]
    words = [word for name in names if name for word in re.split(r"[^a-z0-9]+", name.lower())]
    if config.source.startswith("browsecomp-plus:"):
        raise InputError(f"{where}: BrowseComp-Plus is a benchmark without a development split: tune on another one")
    if found := next((word for word in words if word in FORBIDDEN), None):
        raise InputError(
            f"{where}: {config.qrels or split or config.source} is a test split ({found!r}): parameters are chosen on "
            "a development split only; name one under `split`, such as dev or train"
        )
    named = next((word for word in words if word in DEVELOPMENT), None)
    if named is None and not declared:
        shown = f"the split {split!r}" if split else "judgments without the name of a split"
        raise InputError(
            f"{where}: has {shown}, which does not tell that it is for development: name a split such as dev, train or "
            "validation, or declare it by --development"
        )
    _check_apart(inputs, where)
    return config.split or split or named or "declared by the user"


def _named_by(source: str) -> str | None:
    """An id of ir_datasets names its split; of a path the folders above say nothing."""
    scheme, colon, rest = source.partition(":")
    if (colon and scheme == "irds") or not (colon or Path(source).exists()):
        return rest or source
    return None


def _check_apart(inputs: Inputs, where: str) -> None:
    path = inputs.config.source.removeprefix("beir:")
    if not Path(path).is_dir():
        return
    try:
        folder = BeirFolder.open(path)
    except InputError:
        return  # of another layout
    if "test" not in folder.splits():
        return
    test = folder.qrels("test")
    if shared := [topic.qid for topic in inputs.topics if topic.qid in test]:
        raise InputError(
            f"{where}: {len(shared)} of its topics (such as {shared[0]!r}) are judged in the split test of {path} too: "
            "take them out, or what is chosen here is chosen on the test split"
        )

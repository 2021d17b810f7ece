"""Which judgments parameters may be chosen on: those of a development split, never of a test split."""

from __future__ import annotations

import re
from pathlib import Path

from sira.corpora.beir import BeirFolder
from sira.errors import InputError
from sira.evaluate.inputs import Inputs

DEVELOPMENT = ("dev", "devel", "development", "train", "training", "valid", "validation", "val")
FORBIDDEN = re.compile(r"(test|eval|heldout|holdout|blind)(s|ing|set|split|uation)?[0-9]*")


def check_development(inputs: Inputs, *, declared: bool) -> str:
    """The name of the split, where parameters may be chosen on it. `declared`: the user says that judgments without the
    name of a split are for development; that of a test split stays one.

    Raises InputError for a split, a source or a file of topics or judgments with a word such as `test` in its name, for
    judgments that name no split and are not declared, and for topics that a test split of the same BEIR folder judges
    too.
    """
    config, split = inputs.config, inputs.collection.split
    where = f"collection {config.name!r}"
    if config.source.startswith("browsecomp-plus:"):
        raise InputError(f"{where}: BrowseComp-Plus is a benchmark without a development split: tune on another one")
    source = _named_by(config.source)
    # A file of judgments takes the place of the source's split, but its topics may be of that split all the same.
    names = [config.split, Path(config.qrels).name] if config.qrels else [split, source]
    for name in (*names, source, Path(config.topics or "").name):
        if found := next(filter(FORBIDDEN.fullmatch, _words(name)), None):
            raise InputError(
                f"{where}: {name} is a test split ({found!r}): parameters are chosen on a development split only; name "
                "one under `split`, such as dev or train"
            )
    named = next((word for name in names for word in _words(name) if word in DEVELOPMENT), None)
    if named is None and not declared:
        shown = f"the split {split!r}" if split else "judgments without the name of a split"
        raise InputError(
            f"{where}: has {shown}, which does not tell that it is for development: name a split such as dev, train or "
            "validation, or declare it by --development"
        )
    _check_apart(inputs, where)
    return config.split or split or named or "declared by the user"


def _words(name: str | None) -> list[str]:
    return re.split(r"[^a-z0-9]+", (name or "").lower())


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
    for split in folder.splits():
        test = folder.qrels(split) if any(map(FORBIDDEN.fullmatch, _words(split))) else {}
        if shared := [topic.qid for topic in inputs.topics if topic.qid in test]:
            raise InputError(
                f"{where}: {len(shared)} of its topics (such as {shared[0]!r}) are judged in the split {split} of "
                f"{path} too: take them out, or what is chosen here is chosen on the test split"
            )

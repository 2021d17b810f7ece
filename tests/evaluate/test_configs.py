"""The experiments that come with the project can be read, and what they name is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from sira.evaluate.config import read_experiment
from sira.expand.config import read_expand_config
from sira.expand.task import Task

CONFIGS = sorted((Path(__file__).parents[2] / "eval_configs").glob("*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_experiment_can_be_read(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SIRA_TEST_DATA", str(tmp_path))
    experiment = read_experiment(path)
    assert experiment.name == path.stem
    for collection in experiment.collections:
        files = [collection.expansions, *collection.sketches.values()]
        missing = [file for file in files if file and not Path(file).is_file()]
        assert all(str(tmp_path) in file for file in missing)  # only what is not part of the repository


def test_there_are_some() -> None:
    assert len(CONFIGS) >= 4


EXPANSIONS = sorted((Path(__file__).parents[2] / "eval_configs" / "expand").glob("*.toml"))


@pytest.mark.parametrize("path", EXPANSIONS, ids=lambda path: path.stem)
def test_every_expansion_job_can_be_read_and_its_prompt_is_there(path: Path) -> None:
    config = read_expand_config(path)
    assert Task.of(config).prompt.side == "document"
    assert config.model.replies is None or config.model.replies.is_file()

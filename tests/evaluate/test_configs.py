"""The experiments of the project can be read, what they name is there, and they run on other collections."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from sira.evaluate.config import Experiment, LiveSketches, read_experiment
from sira.evaluate.runner import run_experiment
from sira.expand.config import read_expand_config
from sira.expand.task import Task
from sira.llm.settings import read_model
from sira.llm.sketches import SketchForm, default_prompt
from sira.lucene.analyzers import ANALYZERS, analyzer_name
from sira.prompts import load_prompt

ROOT = Path(__file__).parents[2]
CONFIGS = sorted((ROOT / "eval_configs").glob("*.toml"))
EXAMPLE = ROOT / "docs" / "example"


def ids(path: Path) -> str:
    return path.stem


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The folders that configurations name by variables, here with nothing in them."""
    for name in ("SIRA_TEST_DATA", "SIRA_EXPANSIONS"):
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.mark.parametrize("path", CONFIGS, ids=ids)
def test_every_experiment_can_be_read(path: Path, tmp_path: Path) -> None:
    experiment = read_experiment(path)
    assert experiment.name == path.stem
    for collection in experiment.collections:
        assert analyzer_name(collection.analyzer) in ANALYZERS
        files = [collection.expansions, *collection.sketch_files().values()]
        missing = [file for file in files if file and not Path(file).is_file()]
        assert all(str(tmp_path) in file for file in missing)  # only what is not part of the repository


def asked_models(experiment: Experiment) -> set[str]:
    """The files of the models that an experiment asks."""
    live = [
        found.llm for item in experiment.collections for found in item.sketches.values() if not isinstance(found, str)
    ]
    rerankers = [system.rerank.llm for system in experiment.systems if system.rerank]
    return {*live, *rerankers, *(system.llm for system in experiment.systems if system.llm)}


@pytest.mark.parametrize("path", CONFIGS, ids=ids)
def test_models_and_prompts_that_are_asked_are_there(path: Path) -> None:
    experiment = read_experiment(path)
    for file in asked_models(experiment):
        assert read_model(file).backend in ("openai", "local")
    for collection in experiment.collections:
        for found in collection.sketches.values():
            if isinstance(found, LiveSketches):
                form = SketchForm(roles=found.roles, facets=found.facets, searches=found.searches)
                assert load_prompt(found.prompt or default_prompt("openai", form)).side == "query"


@cache
def registry() -> frozenset[str]:
    """The ids that the installed ir_datasets knows; in a process of its own, since it makes its folder at import."""
    pytest.importorskip("ir_datasets")
    code = "import ir_datasets; print('\\n'.join(ir_datasets.registry))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return frozenset(done.stdout.split())


@pytest.mark.parametrize("path", CONFIGS, ids=ids)
def test_every_id_is_known_to_ir_datasets(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    named = {
        source.removeprefix("irds:")
        for item in read_experiment(path).collections
        if (source := item.source).startswith("irds:")
    }
    assert named <= registry()


@pytest.mark.parametrize("name", ["beir", "beir-all"])
def test_self_hits_are_ignored_where_queries_are_documents_whatever_a_copy_is_called(name: str) -> None:
    collections = read_experiment(ROOT / "eval_configs" / f"{name}.toml").collections
    assert {item.name for item in collections if item.ignore_self_hits} == {"arguana", "quora"}


def test_the_ten_sets_of_the_paper_are_those_of_beir_toml() -> None:
    experiment = read_experiment(ROOT / "eval_configs" / "beir.toml")
    ten = "arguana climate-fever cqadupstack-english fever fiqa hotpotqa nq quora scidocs scifact".split()  # noqa: SIM905
    assert [item.name for item in experiment.collections] == ten
    assert [macro.of for macro in experiment.macros] == [tuple(ten)]


def test_the_loop_of_the_documents_makes_the_phrases_of_each_of_the_ten() -> None:
    """The lines of docs/collections.md that `sira expand` is called by."""
    page = (ROOT / "docs" / "collections.md").read_text(encoding="utf-8")
    lines = [line.split() for line in page.partition("<< 'END'\n")[2].partition("END\n")[0].splitlines()]
    collections = read_experiment(ROOT / "eval_configs" / "beir.toml").collections
    assert [name for name, _, _ in lines] == [item.name for item in collections]
    for (name, source, family), item in zip(lines, collections, strict=True):
        assert item.source.removeprefix("irds:").startswith(source)
        assert source in registry()
        assert load_prompt(f"document-{family}").side == "document"
        assert Path(item.expansions or "").name == name


def test_the_macro_of_cqadupstack_is_over_its_twelve_forums() -> None:
    experiment = read_experiment(ROOT / "eval_configs" / "cqadupstack.toml")
    (macro,) = experiment.macros
    assert len(macro.of) == 12
    assert {item.source for item in experiment.collections} == {
        f"irds:beir/cqadupstack/{name.removeprefix('cqadupstack-')}" for name in macro.of
    }


ELSEWHERE = ["beir", "beir-all", "cqadupstack", "miracl"]
"""Whose collections are downloads: the example stands in for each, of the first few."""
FEW = 3


def short(experiment: Experiment) -> Experiment:
    """The first few collections, and the systems that ask no model."""
    live = {
        name for item in experiment.collections for name, found in item.sketches.items() if not isinstance(found, str)
    }
    systems = tuple(
        item for item in experiment.systems if item.llm is None and item.rerank is None and item.sketches not in live
    )
    collections = experiment.collections[:FEW]
    names = {item.name for item in collections}
    macros = tuple(
        macro.model_copy(update={"of": tuple(name for name in macro.of if name in names)})
        for macro in experiment.macros
    )
    return experiment.model_copy(update={"systems": systems, "collections": collections, "macros": macros})


@pytest.mark.java
@pytest.mark.parametrize("name", ELSEWHERE)
def test_it_runs_on_a_stand_in_for_each_collection(name: str, tmp_path: Path) -> None:
    path = ROOT / "eval_configs" / f"{name}.toml"
    every = read_experiment(path).collections
    sources = {item.name: f"beir:{EXAMPLE}" for item in every}
    stores = {item.name: str(EXAMPLE / "phrases.jsonl") for item in every if item.expansions}
    experiment = short(read_experiment(path, sources, stores))
    results = run_experiment(experiment, tmp_path / "out", progress=False)
    assert [found.name for found in results] == [item.name for item in every[:FEW]]
    for found in results:
        means = {row.cell.system: row.evaluation.mean["nDCG@10"] for row in found.rows}
        assert list(means) == [system.name for system in experiment.systems]
        assert all(0 < value <= 1 for value in means.values()), means
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert all(f"## {macro.name}" in report for macro in experiment.macros)


def test_there_are_some() -> None:
    assert len(CONFIGS) >= 4


EXPANSIONS = sorted((ROOT / "eval_configs" / "expand").glob("*.toml"))


@pytest.mark.parametrize("path", EXPANSIONS, ids=ids)
def test_every_expansion_job_can_be_read_and_its_prompt_is_there(path: Path) -> None:
    config = read_expand_config(path)
    assert Task.of(config).prompt.side == "document"
    assert config.model.replies is None or config.model.replies.is_file()


def test_one_model_answers_all_that_beir_toml_asks() -> None:
    models = [read_model(file) for file in asked_models(read_experiment(ROOT / "eval_configs" / "beir.toml"))]
    assert len(models) == 2
    assert len({(model.model, model.base_url, model.seed, model.thinking) for model in models}) == 1
    assert {model.temperature for model in models} == {0.0, 0.4}

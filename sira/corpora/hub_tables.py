"""Tables of a data set in the layout of the Hugging Face Hub: rows by config and split, from the Hub or a local folder.

The package `datasets` does the reading and is imported when first needed. What the Hub gives is kept in its cache
(HF_HOME, by default ~/.cache/huggingface) and read from there after the first time; files of a local folder are
streamed where they lie, JSON Lines by our own reader, which guesses no types.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from sira.corpora.rows import json_rows
from sira.errors import EnvironmentFault, InputError, NotFoundError
from sira.records import Place

BATCH = 1000
"""Rows that are decoded at once."""
MINIMUM = (4, 0)
"""The first version of `datasets` that runs no code of a data set."""

Row = tuple[Place, Mapping[str, Any]]

_NAME = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?)(?:@(?P<revision>[\w./-]+))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_READERS = {".parquet": "parquet", ".arrow": "arrow"}
_JSON_LINES = (".jsonl", ".jsonl.gz")
_FOLDERS = {"default": ("default", "qrels", "data"), "qrels": ()}  # where the judgments of a bare folder may lie


@dataclass(frozen=True, slots=True)
class Table:
    """One config. `rows` by split, streamed anew at each call; `files` are those of a local folder."""

    config: str
    rows: Mapping[str, Callable[[], Iterator[Row]]]
    files: tuple[Path, ...] = ()

    def split(self, wanted: str | None) -> Callable[[], Iterator[Row]]:
        """The rows of the split named like the config, else of `wanted`, else of the only one there is.

        A corpus has one split, called `corpus`, `test` or `train`, or one for each split of the judgments.
        Raises NotFoundError listing the splits.
        """
        for name in (self.config, wanted):
            if name is not None and name in self.rows:
                return self.rows[name]
        if len(self.rows) == 1:
            return next(iter(self.rows.values()))
        known = ", ".join(self.rows) or "none"
        raise NotFoundError(f"the config {self.config!r} has no split {wanted or self.config!r}; splits there: {known}")


@dataclass(frozen=True, slots=True)
class HubSource:
    """A data set by its name on the Hub, with a revision if one is pinned, or a local folder in the same layout."""

    name: str
    revision: str | None = None
    folder: Path | None = None

    @classmethod
    def parse(cls, text: str) -> HubSource:
        """`NAME`, `NAME@REVISION`, or a folder, which goes before a name. Raises InputError for anything else."""
        path = Path(text)
        if path.is_dir():
            return cls(_folder_name(path.resolve()), None, path)
        match = _NAME.fullmatch(text)
        if match is None:
            raise InputError(
                f"datasets:{text}: there is no such folder here, and this is no name of the Hub; write "
                "datasets:NAME, datasets:NAME@REVISION such as datasets:mteb/scifact, or datasets:FOLDER"
            )
        return cls(match["name"], match["revision"])

    def __str__(self) -> str:
        if self.folder is not None:
            return f"datasets:{self.folder}"
        return f"datasets:{self.name}{'' if self.revision is None else '@' + self.revision}"

    def table(self, *configs: str) -> Table:
        """The first of these configs that is there.

        Raises NotFoundError if the Hub has no such data set or revision, InputError if the data set has no such config
        (listing those it has), EnvironmentFault if `datasets` lacks or the Hub cannot be reached.
        """
        if self.folder is None:
            return self._declared(configs)
        saved = _saved_configs(self.folder)
        if config := next((name for name in configs if name in saved), None):
            return self._saved(config, self.folder / config)
        if saved:
            raise InputError(f"{self}: has no config {_either(configs)}; its configs: {', '.join(saved)}")
        return self._declared(configs) if _has_configs(self.folder) else self._bare_folder(self.folder, configs)

    def _declared(self, configs: Sequence[str]) -> Table:
        """By the configs that the README declares, on the Hub or in a folder."""
        path = self.name if self.folder is None else str(self.folder.resolve())
        fault = ""
        for config in configs:
            try:
                with self._faults(config):
                    builder = _load(path, config, self.revision)
            except _NoConfigError as error:
                fault = _first_line(error)
                continue
            data_files = cast("Mapping[Any, Sequence[str]]", builder.config.data_files or {})
            splits = [str(name) for name in data_files or builder.info.splits or ()]
            if self.folder is None:
                self._check_revision(str(builder.hash))
                return Table(config, {name: self._cached(builder, config, name) for name in splits})
            files = {str(name): tuple(Path(file) for file in found) for name, found in data_files.items()}
            return self._local(config, files, builder.as_streaming_dataset)
        raise InputError(f"{self}: has no config {_either(configs)}: {fault}")

    def _check_revision(self, found: str) -> None:
        """Without network `datasets` takes the newest revision of its cache, whichever was asked for."""
        if self.revision is not None and _COMMIT.fullmatch(self.revision) and found != self.revision:
            raise EnvironmentFault(f"{self}: the cache holds revision {found} alone; {self._remedy()}")

    def _cached(self, builder: Any, config: str, split: str) -> Callable[[], Iterator[Row]]:
        def rows() -> Iterator[Row]:
            with self._faults(config):
                builder.download_and_prepare()
                data = builder.as_dataset(split)
            return self._rows(data, config)

        return rows

    def _bare_folder(self, folder: Path, configs: Sequence[str]) -> Table:
        """Without a README: files named after configs and splits, as a download of the data files alone leaves them."""
        for config in configs:
            if files := _files_of(folder, config):
                return self._local(config, files, partial(self._reader, files))
        known = sorted(file.name for file in folder.iterdir() if not file.name.startswith("."))
        raise InputError(
            f"{self}: no files of the config {_either(configs)}; the folder holds {', '.join(known[:8]) or 'nothing'}; "
            "keep the data set's README.md, which names the files of each config, or have corpus/, queries/ and qrels/ "
            "with SPLIT.parquet or SPLIT.jsonl"
        )

    def _reader(self, files: Mapping[str, Sequence[Path]], split: str) -> Any:
        kinds = {_READERS.get(file.suffix) for file in files[split]}
        if len(kinds) != 1 or None in kinds:
            raise InputError(f"{self}: {files[split][0]} and its like are of several formats; keep one of them")
        paths = {split: [str(file) for file in files[split]]}
        return _package().load_dataset_builder(kinds.pop(), data_files=paths).as_streaming_dataset(split)

    def _local(self, config: str, files: Mapping[str, Sequence[Path]], read: Callable[[str], Any]) -> Table:
        def rows(split: str) -> Iterator[Row]:
            if all(file.name.endswith(_JSON_LINES) for file in files[split]):
                return (row for file in files[split] for row in json_rows(file))
            with self._faults(config):
                data = read(split)
            return self._rows(data, config)

        found = {split: (lambda split=split: rows(split)) for split in files}
        return Table(config, found, tuple(file for split in files for file in files[split]))

    def _saved(self, config: str, folder: Path) -> Table:
        """What `save_to_disk` leaves: a data set, or one for each split."""
        with self._faults(config):
            loaded = _package().load_from_disk(str(folder))
        splits = cast("dict[str, Any]", loaded) if isinstance(loaded, dict) else {config: loaded}
        rows = {str(name): (lambda data=data: self._rows(data, config)) for name, data in splits.items()}
        return Table(config, rows, tuple(sorted(folder.rglob("*.arrow"))))

    def _rows(self, data: Any, config: str) -> Iterator[Row]:
        number = 0
        with self._faults(config):
            for batch in data.iter(batch_size=BATCH):
                columns = cast("Mapping[str, Sequence[Any]]", batch)
                for values in zip(*columns.values(), strict=True):
                    number += 1
                    yield Place(f"{self}, config {config}", number), dict(zip(columns, values, strict=True))

    @contextmanager
    def _faults(self, config: str) -> Generator[None]:
        """Turn the faults of `datasets`, of many types, into one line that says what to put where."""
        exceptions = _package().exceptions
        try:
            yield
        except exceptions.DatasetNotFoundError as error:
            raise NotFoundError(
                f"{self}: {_first_line(error)}; check the name and the revision (gated data sets take `hf auth login`)"
            ) from None
        except ConnectionError as error:
            raise EnvironmentFault(f"{self}: {_first_line(error)}; {self._remedy()}") from None
        except _expected_faults() as error:  # asked for when something is raised: by then all is imported
            if self.folder is None:
                raise EnvironmentFault(f"{self}: datasets failed: {_first_line(error)}; {self._remedy()}") from None
            raise InputError(
                f"{self}: the config {config!r} cannot be read: {_first_line(error)}; fetch its files again"
            ) from None

    def _remedy(self) -> str:
        revision = "" if self.revision is None else f" --revision {self.revision}"
        return (
            f"on a machine that has network run `hf download {self.name} --repo-type dataset{revision} --local-dir "
            "FOLDER`, copy the folder here and use datasets:FOLDER; a cache that holds the data set already is found "
            "by HF_HOME, and HF_HUB_OFFLINE=1 takes it without asking the network"
        )


def _load(path: str, config: str, revision: str | None) -> Any:
    """The builder of a config. Raises _NoConfigError where the data set has none of that name."""
    try:
        return _package().load_dataset_builder(path, config, revision=revision)
    except ValueError as error:
        # The second is what the cache says without network.
        if "BuilderConfig" in str(error) or "for config" in str(error):
            raise _NoConfigError(str(error)) from None
        raise


class _NoConfigError(Exception):
    pass


def _either(names: Sequence[str]) -> str:
    return " or ".join(repr(name) for name in names)


def _has_configs(folder: Path) -> bool:
    """Whether there is a README that says which files are of which config."""
    readme = folder / "README.md"
    return readme.is_file() and bool(re.search(r"^configs:", readme.read_text("utf-8", "replace"), re.MULTILINE))


def _saved_configs(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and _is_saved(path))


def _files_of(folder: Path, config: str) -> dict[str, tuple[Path, ...]]:
    """The files of a config by split, which is a file's name up to the first dot or hyphen."""
    places = list(folder.glob(f"{config}[.-]*"))
    for name in _FOLDERS.get(config, (config,)):
        places += (folder / name).glob("*")
    files: dict[str, tuple[Path, ...]] = {}
    for file in sorted(places):
        if file.suffix in _READERS or file.name.endswith(_JSON_LINES):
            split = re.split(r"[.-]", file.name, maxsplit=1)[0]
            files[split] = (*files.get(split, ()), file)
    return files


def _is_saved(folder: Path) -> bool:
    return (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file()


def _folder_name(path: Path) -> str:
    """The folder's name; in the Hub's cache (datasets--mteb--arguana/snapshots/REVISION) that of the data set."""
    return path.parent.parent.name if path.parent.name == "snapshots" else path.name


def _first_line(error: BaseException) -> str:
    cause = error.__cause__ if type(error).__name__ == "DatasetGenerationError" and error.__cause__ else error
    return " ".join(str(cause).split())[:300].rstrip(".") or type(cause).__name__


def _expected_faults() -> tuple[type[BaseException], ...]:
    """What reading and fetching raise beside their own errors: Arrow's for damaged files, those of the HTTP client that
    huggingface_hub brings (httpx2, httpx before; those of requests are OSErrors)."""
    found: list[type[BaseException]] = [OSError, ValueError, RuntimeError]
    for module, name in (
        ("datasets.exceptions", "DatasetsError"),
        ("pyarrow", "ArrowException"),
        ("httpx2", "HTTPError"),
        ("httpx", "HTTPError"),
    ):
        if module in sys.modules:
            found.append(getattr(sys.modules[module], name))
    return tuple(found)


def _package() -> Any:
    try:
        package = import_module("datasets")
        version = tuple(int(part) for part in str(package.__version__).split(".")[:2])
    except ImportError as error:
        raise EnvironmentFault(
            f"the package datasets cannot be imported ({error}); install it by `pip install 'datasets>={MINIMUM[0]}'`, "
            "or use the same collection by ir_datasets (irds:ID) or as a BEIR folder (beir:FOLDER)"
        ) from None
    if version < MINIMUM:
        raise EnvironmentFault(
            f"datasets {package.__version__} is too old; install a newer one by `pip install 'datasets>={MINIMUM[0]}'`"
        )
    return package

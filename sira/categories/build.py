"""Building a graph: one part a dump file, then the graph, the levels, the index of nearest names; each a stage."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from sira.categories.arrays import Strings
from sira.categories.graph import FORMAT, MANIFEST
from sira.categories.levels import write_levels
from sira.categories.merge import merge
from sira.categories.name_table import NameTable
from sira.categories.nearest import NearestNames, write_trigrams
from sira.categories.parts import Part
from sira.categories.rules import DEFAULT_RULES, Rules, read_rules
from sira.categories.sql_parts import Watch, hidden_part, links_part, names_its_target, page_part, redirect_part
from sira.categories.stages import Work, is_done, joined, record_of, run_stage
from sira.categories.xml_parts import category_prefixes, xml_part
from sira.corpora.files import replacing
from sira.corpora.wikipedia.dumps import fingerprint
from sira.corpora.wikipedia.names import NameForm
from sira.errors import InputError
from sira.folders import owned

log = logging.getLogger("sira.categories")

DEFAULT_ROOTS = ("Main_topic_classifications", "Fundamental_categories", "Articles")


@dataclass(frozen=True, slots=True)
class Sources:
    """The dump files: exports (`xml`), or the SQL tables. Raises InputError for a set that makes no graph."""

    xml: tuple[Path, ...] = ()
    page: Path | None = None
    categorylinks: Path | None = None
    linktarget: Path | None = None
    page_props: Path | None = None
    redirect: Path | None = None

    def __post_init__(self) -> None:
        tables = [self.page, self.categorylinks, self.linktarget, self.page_props, self.redirect]
        if self.xml and any(tables):
            raise InputError("give either --xml or SQL tables: both would count every page twice")
        if not self.xml and (self.page is None or self.categorylinks is None):
            raise InputError("give --xml FILE, or --page, --categorylinks and (newer dumps) --linktarget")


@dataclass(frozen=True, slots=True)
class Settings:
    """Roots (None: those of DEFAULT_ROOTS that are there), and the rules for hidden and maintenance categories."""

    roots: tuple[str, ...] | None = None
    rules: Path = DEFAULT_RULES
    progress: bool = False


@dataclass(slots=True)
class _Stage:
    name: str
    fingerprint: str
    files: tuple[Path, ...]
    work: Callable[[Path, Watch], dict[str, int]] = field(repr=False)


def build_graph(sources: Sources, out: Path, settings: Settings | None = None) -> dict[str, Any]:
    """Build the graph in the folder `out`, or finish it where a build was stopped; the manifest.

    Stages that are done and whose files and settings are the same are not done again; the others are, with a line in
    the log. Raises InputError for dumps that cannot be read, roots that are not there, a folder where a build is at
    work.
    """
    settings = settings or Settings()
    rules = read_rules(settings.rules)
    with owned(out):
        for torn in out.glob(f".{MANIFEST}.*.tmp"):
            torn.unlink()
        stages = _xml_stages(sources, rules) if sources.xml else _sql_stages(sources, out)
        graph_print = joined(FORMAT, *(stage.fingerprint for stage in stages))
        if not is_done(out / "graph", graph_print):
            for stage in stages:
                run_stage(out / "parts" / stage.name, stage.fingerprint, _watched(stage, settings.progress))
        folders = [out / "parts" / stage.name for stage in stages]
        run_stage(out / "graph", graph_print, lambda made: merge([Part(folder) for folder in folders], made))
        shutil.rmtree(out / "parts", ignore_errors=True)
        near_print = joined(FORMAT, graph_print)
        run_stage(out / "nearest", near_print, lambda made: write_trigrams(Strings(out / "graph" / "names"), made))
        prefixes = category_prefixes(sources.xml[0]) if sources.xml else ()
        roots, levels = _levels(out, settings, rules, NameForm(prefixes))
        levels_print = joined(FORMAT, graph_print, rules.fingerprint, *roots)
        run_stage(out / "levels", levels_print, levels)
        manifest = {
            "format": FORMAT,
            "prefixes": prefixes,
            "roots": roots,
            "files": [str(path.name) for stage in stages for path in stage.files],
            "stages": {"graph": graph_print, "nearest": near_print, "levels": levels_print},
            "facts": {name: (record_of(out / name) or {}).get("facts") for name in ("graph", "nearest", "levels")},
        }
        with replacing(out / MANIFEST) as stream:
            stream.write(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n")
    return manifest


def _xml_stages(sources: Sources, rules: Rules) -> list[_Stage]:
    templates = (*rules.file.hidden_templates, "|", *rules.file.redirect_templates)
    return [
        _Stage(
            f"xml-{number:05}",
            joined(FORMAT, fingerprint(path), *templates),
            (path,),
            lambda made, watch, path=path: xml_part(path, rules, made, watch),
        )
        for number, path in enumerate(sources.xml)
    ]


def _sql_stages(sources: Sources, out: Path) -> list[_Stage]:
    page, links, target = sources.page, sources.categorylinks, sources.linktarget
    assert page is not None
    assert links is not None
    pages = fingerprint(page)
    if target is not None and names_its_target(links):
        log.info("%s: has the older schema, which needs no linktarget: that file is not read", links)
        target = None
    files = (links,) if target is None else (links, target)
    stages = [
        _Stage("page", joined(FORMAT, pages), (page,), lambda made, watch: page_part(page, made, watch)),
        _Stage(
            "categorylinks",
            joined(FORMAT, pages, *map(fingerprint, files)),
            files,
            lambda made, watch: links_part(links, target, out / "parts" / "page", made, watch),
        ),
    ]
    for name, path, work in (
        ("page_props", sources.page_props, hidden_part),
        ("redirect", sources.redirect, redirect_part),
    ):
        if path is not None:
            stages.append(
                _Stage(
                    name,
                    joined(FORMAT, name, fingerprint(path)),
                    (path,),
                    lambda made, watch, path=path, work=work: work(path, made, watch),
                )
            )
    return stages


def _watched(stage: _Stage, progress: bool) -> Work:
    """The stage's work under a progress bar over the bytes of its files."""

    def work(made: Path) -> dict[str, int]:
        total = sum(path.stat().st_size for path in stage.files)
        with tqdm(total=total, desc=stage.name, unit="B", unit_scale=True, disable=not progress) as bar:
            return stage.work(made, bar.update)

    return work


def _levels(out: Path, settings: Settings, rules: Rules, form: NameForm) -> tuple[list[str], Work]:
    """The roots by canonical name, and the work of the stage that uses them."""
    graph = out / "graph"
    table = NameTable(graph)
    names, number = table.names, table.number
    given = [form.normalize(name) for name in settings.roots or DEFAULT_ROOTS]
    roots = [name for name in given if number(name) is not None]
    absent = [name for name in given if name not in roots]
    if settings.roots is not None and absent:
        near = [names[at].decode() for _, at in NearestNames(out / "nearest", names).find(absent[0])[:3]]
        hint = f"; near it: {', '.join(near)}" if near else ""
        raise InputError(f"the root {absent[0]!r} is no category of these dumps{hint}: give --roots that are there")
    if not roots:
        log.warning("none of the roots %s is there, so no category has a level: give --roots", ", ".join(absent))
    numbers = [found for name in roots if (found := number(name)) is not None]
    return roots, lambda made: write_levels(graph, made, numbers, rules, number)

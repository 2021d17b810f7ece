"""`sira categories`: build Wikipedia's category graph from dump files, and look names up in it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.tables import printable

if TYPE_CHECKING:
    from sira.categories import CategoryGraph

HELP = "build Wikipedia's category graph from dump files, or look a name up"
ABSENT = 1
SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
    build = actions.add_parser("build", help="build a graph, or finish a build that was stopped", allow_abbrev=False)
    build.description = (
        "Build the graph from XML exports, whose category links are read from the texts without expanding templates, "
        "or from the SQL dumps of MediaWiki's tables (.sql, .gz, .bz2). Stopped at any moment and started again, it "
        "goes on after the last finished stage; stages whose files changed are done anew."
    )
    build.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the graph")
    build.add_argument("--xml", type=Path, nargs="+", default=[], metavar="FILE", help="XML exports: .xml, .bz2, .gz")
    for table, note in (
        ("page", "SQL dump of the table page"),
        ("categorylinks", "SQL dump of the table categorylinks"),
        ("linktarget", "SQL dump of the table linktarget, which newer categorylinks point to"),
        ("page_props", "optional: SQL dump of page_props, for the mark of hidden categories"),
        ("redirect", "optional: SQL dump of redirect, for redirects of categories"),
    ):
        build.add_argument(f"--{table.replace('_', '-')}", type=Path, metavar="FILE", help=note)
    build.add_argument(
        "--roots",
        nargs="+",
        metavar="NAME",
        help="categories of level 0 (those of Main_topic_classifications, Fundamental_categories, Articles there are)",
    )
    build.add_argument("--rules", type=Path, metavar="FILE", help="TOML file on hidden and maintenance categories")
    build.add_argument("--quiet", action="store_true", help="no progress bars")
    show = actions.add_parser("show", help="show what is known of a category", allow_abbrev=False)
    show.description = "Show one category; the nearest names, with exit status 1, where there is none of that name."
    show.add_argument(
        "name", metavar="NAME", help="in any usual form: 1927_births, '1927 births', Category:1927_births"
    )
    show.add_argument("--graph", type=Path, required=True, metavar="DIR", help="folder of the graph")
    show.add_argument("--members", type=int, default=SHOWN, metavar="N", help=f"articles listed ({SHOWN})")
    show.add_argument("--json", action="store_true", help="as JSON on stdout, with all parents and children")
    for action in (build, show):
        action.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    return _build(arguments) if arguments.action == "build" else _show(arguments)


def _build(arguments: argparse.Namespace) -> int:
    from sira.categories.build import Settings, Sources, build_graph
    from sira.categories.rules import DEFAULT_RULES

    sources = Sources(
        xml=tuple(arguments.xml),
        page=arguments.page,
        categorylinks=arguments.categorylinks,
        linktarget=arguments.linktarget,
        page_props=arguments.page_props,
        redirect=arguments.redirect,
    )
    roots = None if arguments.roots is None else tuple(arguments.roots)
    settings = Settings(roots, arguments.rules or DEFAULT_RULES, progress=not arguments.quiet)
    facts = build_graph(sources, arguments.out, settings)["facts"]
    graph, levels = facts["graph"], facts["levels"]
    print(
        f"{arguments.out}: {graph['categories']:,} categories, {graph['edges']:,} edges between them, "
        f"{graph['memberships']:,} memberships of {graph['articles']:,} articles"
    )
    print(
        f"{levels['reached']:,} reached from the roots, {levels['hidden']:,} hidden, {levels['maintenance']:,} of "
        f"maintenance by name, {graph['redirects']:,} redirects"
    )
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from sira.categories import CategoryGraph

    data = describe(CategoryGraph.open(arguments.graph), arguments.name, arguments.members)
    print(json.dumps(data, ensure_ascii=False, indent=1) if arguments.json else render(data), flush=True)
    return 0 if data["exists"] else ABSENT


def describe(graph: CategoryGraph, name: str, members: int = SHOWN) -> dict[str, Any]:
    """A category as JSON-ready values, its first `members` articles among them; nearest names where it is absent."""
    found = graph.category(name)
    if found is None:
        return {"name": graph.normalize(name), "exists": False, "nearest": list(graph.nearest(name))}
    asked = graph.normalize(name)
    return {
        "name": found.name,
        "exists": True,
        "redirected_from": None if asked == found.name else asked,
        "has_page": found.has_page,
        "level": found.level,
        "hidden": found.hidden,
        "maintenance": found.maintenance,
        "parents": list(found.parents),
        "children": list(found.children),
        "member_count": found.member_count,
        "members": graph.members(name, members),
    }


def render(data: dict[str, Any]) -> str:
    """The same as text."""
    if not data["exists"]:
        nearest = ", ".join(data["nearest"]) or "none is near"
        return printable(f"{data['name']}: no such category; nearest: {nearest}")
    marks = [mark for mark in ("hidden", "maintenance") if data[mark]]
    marks += [] if data["has_page"] else ["without a page of its own"]
    lines = [
        data["name"] + (f" (redirected from {data['redirected_from']})" if data["redirected_from"] else ""),
        f"level     {'none: no root leads to it' if data['level'] is None else data['level']}",
        f"marks     {', '.join(marks) or 'none'}",
        f"parents   {_some(data['parents'], len(data['parents']))}",
        f"children  {_some(data['children'], len(data['children']))}",
        f"members   {_some(data['members'], data['member_count'], data['members'])}",
    ]
    return "\n".join(printable(line) for line in lines)


def _some(names: list[str], count: int, shown: list[str] | None = None) -> str:
    shown = names[:SHOWN] if shown is None else shown
    rest = count - len(shown)
    return (
        f"{count:,}" + (f": {', '.join(shown)}" if shown else "") + (f", and {rest:,} more" if shown and rest else "")
    )

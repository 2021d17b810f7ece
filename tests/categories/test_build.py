"""Building a graph: from any dumps the same, resumed after any death, refused on damage."""

from __future__ import annotations

import bz2
import json
import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sira.categories.build import Settings, Sources, build_graph
from sira.categories.graph import CategoryGraph
from sira.errors import InputError
from sira.folders import owned

from .wiki import WIKI, content, export, sql_dumps, xml_dumps


@pytest.fixture(scope="module")
def from_xml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("xml")
    build_graph(xml_dumps(WIKI, folder), folder / "graph")
    return folder / "graph"


@pytest.mark.parametrize("older", [True, False])
@pytest.mark.parametrize("lines", [True, False])
def test_sql_of_both_schemas_gives_the_graph_of_the_export(
    older: bool, lines: bool, from_xml: Path, tmp_path: Path
) -> None:
    build_graph(sql_dumps(WIKI, tmp_path, older=older, lines=lines), tmp_path / "graph")
    assert content(tmp_path / "graph") == content(from_xml)


def test_members_gathered_in_several_passes_are_the_same(
    from_xml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sira.categories.merge.EDGES_AT_ONCE", 2)
    build_graph(xml_dumps(WIKI, tmp_path), tmp_path / "graph")
    assert content(tmp_path / "graph") == content(from_xml)


def test_categories_in_hidden_categories_are_hidden(tmp_path: Path) -> None:
    pages = [
        replace(page, hidden=False, categories=[*page.categories, *["Hidden_categories"] * page.hidden])
        for page in WIKI
    ]
    build_graph(sql_dumps(pages, tmp_path), tmp_path / "graph")
    graph = CategoryGraph.open(tmp_path / "graph")
    assert [graph.is_hidden(name) for name in ("Kept_aside", "Physics")] == [True, False]


def test_a_wiki_in_another_language_is_read_by_its_own_prefix(tmp_path: Path) -> None:
    (tmp_path / "de.xml").write_text(export(WIKI, "Kategorie"), encoding="utf-8")
    build_graph(Sources(xml=(tmp_path / "de.xml",)), tmp_path / "graph")
    assert CategoryGraph.open(tmp_path / "graph").parents("Kategorie:Physics") == ("Science",)


# Each child of this process kills itself at its n-th call that touches the file system (open, rename, mkdir, remove);
# a second child, left in peace, must then give the graph that one build in peace gives.
_KILLS = """
import json, os, signal, sys
from pathlib import Path
from sira.categories.build import Sources, build_graph

sources, folder = Sources(xml=tuple(map(Path, sys.argv[2:]))), Path(sys.argv[1])
calls = 0

def child(out, last):
    if not (pid := os.fork()):
        def watch(event, arguments):
            global calls
            if event in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir") and "graph-" in str(arguments[0]):
                calls += 1
                if calls == last:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(watch)
        build_graph(sources, out)
        (folder / "calls").write_text(str(calls))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

assert child(folder / "graph-0", None) == 0
total, deaths = int((folder / "calls").read_text()), []
for last in range(2, total, max(1, total // 12)):
    out = folder / f"graph-{last}"
    deaths.append((child(out, last), (out / "manifest.json").exists(), child(out, None)))
print(json.dumps(deaths))
"""


def test_killed_at_any_moment_a_build_is_finished_by_the_next(tmp_path: Path) -> None:
    files = xml_dumps(WIKI, tmp_path).xml
    command = [sys.executable, "-c", _KILLS, str(tmp_path), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    deaths = json.loads(done.stdout)
    assert len(deaths) >= 12
    assert {(killed, again) for killed, _, again in deaths} == {(-9, 0)}
    whole = content(tmp_path / "graph-0")
    graphs = [folder for folder in tmp_path.glob("graph-*") if folder.name != "graph-0"]
    assert len(graphs) == len(deaths)
    for folder in graphs:
        assert content(folder) == whole, folder


def test_a_finished_stage_is_not_done_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sira.categories")
    sources = xml_dumps(WIKI, tmp_path)
    whole = sources.xml[1].read_bytes()
    sources.xml[1].write_bytes(whole[:-200])
    with pytest.raises(InputError, match=r"pages-1\.xml\.bz2: damaged or cut bzip2 file near byte \d+"):
        build_graph(sources, tmp_path / "graph")
    with pytest.raises(InputError, match="holds an unfinished build"):
        CategoryGraph.open(tmp_path / "graph")
    sources.xml[1].write_bytes(whole)
    caplog.clear()
    build_graph(sources, tmp_path / "graph")
    assert caplog.messages[0] == "xml-00000: done before"
    assert caplog.messages[1].startswith("xml-00001: 5 categories, ")
    caplog.clear()
    build_graph(sources, tmp_path / "graph")
    assert caplog.messages == [f"{stage}: done before" for stage in ("graph", "nearest", "levels")]


def test_other_files_are_said_and_built_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sira.categories")
    build_graph(xml_dumps(WIKI, tmp_path), tmp_path / "graph")
    caplog.clear()
    build_graph(xml_dumps(WIKI[:6], tmp_path), tmp_path / "graph")
    assert "graph: was made from other files or settings; it is made anew" in caplog.messages
    assert len(CategoryGraph.open(tmp_path / "graph")) == 6


def test_other_roots_redo_the_levels_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sira.categories")
    sources = xml_dumps(WIKI, tmp_path)
    build_graph(sources, tmp_path / "graph")
    caplog.clear()
    build_graph(sources, tmp_path / "graph", Settings(roots=("Category:Physics",)))
    assert caplog.messages[:3] == [
        "graph: done before",
        "nearest: done before",
        "levels: was made from other files or settings; it is made anew",
    ]
    graph = CategoryGraph.open(tmp_path / "graph")
    assert [graph.level(name) for name in ("Physics", "Light", "Science")] == [0, 2, None]


def test_a_root_that_is_not_there_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the root 'Phisics' is no category of these dumps; near it: Physics"):
        build_graph(xml_dumps(WIKI, tmp_path), tmp_path / "graph", Settings(roots=("Phisics",)))


def test_an_export_cut_anywhere_is_refused_by_line(tmp_path: Path) -> None:
    text = export(WIKI).encode()
    for end in range(0, len(text) - len(b"</mediawiki>\n"), 97):
        (tmp_path / "cut.xml").write_bytes(text[:end])
        with pytest.raises(
            InputError, match=r"cut\.xml, line \d+, column \d+, near byte \d+ of the file: damaged or cut"
        ):
            build_graph(Sources(xml=(tmp_path / "cut.xml",)), tmp_path / "graph")


def test_an_xml_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<html></html>", encoding="utf-8")
    with pytest.raises(InputError, match="an XML file of <html>, not a MediaWiki export"):
        build_graph(Sources(xml=(tmp_path / "a.xml",)), tmp_path / "graph")


def test_a_bzip2_file_of_garbage_is_refused(tmp_path: Path) -> None:
    packed = bytearray(bz2.compress(export(WIKI).encode()))
    packed[200:210] = bytes(10)
    (tmp_path / "a.xml.bz2").write_bytes(packed)
    with pytest.raises(InputError, match=r"a\.xml\.bz2: damaged or cut bzip2 file"):
        build_graph(Sources(xml=(tmp_path / "a.xml.bz2",)), tmp_path / "graph")


def test_a_gzip_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    sources = sql_dumps(WIKI, tmp_path)
    assert sources.page is not None
    sources.page.write_bytes(sources.page.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"page\.sql\.gz: damaged or cut gzip file near byte \d+"):
        build_graph(sources, tmp_path / "graph")


def test_the_newer_schema_without_linktarget_is_refused(tmp_path: Path) -> None:
    sources = replace(sql_dumps(WIKI, tmp_path), linktarget=None)
    with pytest.raises(InputError, match="give --linktarget FILE"):
        build_graph(sources, tmp_path / "graph")


def test_a_set_of_files_that_makes_no_graph_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give either --xml or SQL tables"):
        Sources(xml=(tmp_path,), page=tmp_path)
    with pytest.raises(InputError, match="give --xml FILE, or --page"):
        Sources(page=tmp_path)
    with pytest.raises(InputError, match=r"nowhere\.xml: there is no such file"):
        build_graph(Sources(xml=(tmp_path / "nowhere.xml",)), tmp_path / "graph")


def test_two_builds_in_one_folder_are_refused(tmp_path: Path) -> None:
    with owned(tmp_path / "graph"), pytest.raises(InputError, match="another process works in this folder"):
        build_graph(xml_dumps(WIKI, tmp_path), tmp_path / "graph")


def test_a_wiki_without_pages_makes_an_empty_graph(tmp_path: Path) -> None:
    build_graph(xml_dumps([], tmp_path), tmp_path / "graph")
    graph = CategoryGraph.open(tmp_path / "graph")
    assert (len(graph), graph.exists("Physics"), graph.nearest("Physics")) == (0, False, ())

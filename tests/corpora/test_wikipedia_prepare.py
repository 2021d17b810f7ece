"""Dumps made into a corpus: what is kept, counted and left out; killed at any instant and run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from sira.corpora import audit, open_collection
from sira.corpora.wikipedia.documents import Settings
from sira.corpora.wikipedia.pages import Landing, Pages, follow
from sira.corpora.wikipedia.prepare import prepare
from sira.errors import InputError
from sira.records import Document

from .wiki import BASE, PAGES, Page, export, write_export

DATA = os.environ.get("SIRA_TEST_DATA")


def documents(out: Path) -> dict[str, Document]:
    return {found.docid: found for _, found in Pages.open(out).documents() if isinstance(found, Document)}


def rows(folder: Path) -> list[dict[str, object]]:
    return [
        json.loads(line)
        for file in sorted(folder.glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]


def outputs(out: Path) -> dict[str, bytes]:
    """The bytes of everything but the records of progress, which hold times."""
    kinds = ("corpus", "titles", "redirects")
    return {str(file.relative_to(out)): file.read_bytes() for kind in kinds for file in sorted((out / kind).iterdir())}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return write_export(tmp_path / "wiki-pages-articles.xml.bz2", PAGES)


def test_articles_become_documents_and_everything_else_is_counted(dump: Path, tmp_path: Path) -> None:
    manifest = prepare([dump], tmp_path / "out")
    found = documents(tmp_path / "out")
    assert list(found) == [
        "Kiln_wash",
        "Glaze",
        "O'Brien's_\"AC/DC\"_&_Co._(100%)?",
        "שלום_Žižek",
        "Only_templates",
    ]
    assert found["Glaze"] == Document(
        docid="Glaze",
        title="Glaze",
        text="A glassy coat.",
        url=f"{BASE}Glaze",
        facets=("category:Ceramic_glazes", "category:All_stub_articles"),
    )
    assert found["O'Brien's_\"AC/DC\"_&_Co._(100%)?"].url == f"{BASE}O%27Brien%27s_%22AC/DC%22_%26_Co._(100%25)%3F"
    assert found["Only_templates"].text == ""
    assert rows(tmp_path / "out" / "redirects") == [
        {"from": "Kiln_coating", "to": "Kiln_wash"},
        {"from": "Shelf_wash", "to": "Kiln_coating"},
        {"from": "Loop_A", "to": "Loop_B"},
        {"from": "Loop_B", "to": "Loop_A"},
        {"from": "Gone", "to": "Never_written"},
    ]
    assert manifest["pages"] == len(PAGES) == sum(manifest["namespaces"].values())
    assert manifest["namespaces"] == {"0": 12, "1": 1, "14": 1}
    assert manifest["skipped"] == {"empty": 1, "not_wikitext": 1, "other_namespace": 2, "redirect": 5}
    counts = manifest["counts"]
    assert (counts["documents"], counts["without_text"], counts["redirects"], counts["facets"]) == (5, 1, 5, 4)
    assert manifest["pages"] == counts["documents"] + sum(manifest["skipped"].values())
    assert manifest["base"] == f"{BASE}Main_Page"


def test_other_namespaces_and_redirects_can_be_documents_too(dump: Path, tmp_path: Path) -> None:
    manifest = prepare([dump], tmp_path / "out", Settings(("0", "14"), redirects="documents"))
    found = documents(tmp_path / "out")
    assert found["Category:Kiln_furniture"].facets == ("category:Kilns",)
    assert found["Kiln_coating"].text == ""
    assert manifest["counts"]["redirects"] == 5
    assert "redirect" not in manifest["skipped"]
    everything = prepare([dump], tmp_path / "all", Settings(()))
    assert everything["skipped"] == {"empty": 1, "not_wikitext": 1, "redirect": 5}


def test_a_wiki_of_another_language_has_its_own_names(tmp_path: Path) -> None:
    text = export([Page(1, "Ofen", "[[Datei:A.jpg|mini|Bild]]Ein Ofen. [[Kategorie:Öfen]] [[Category:Brennen]]")])
    text = (
        text.replace(">Category<", ">Kategorie<").replace(">File<", ">Datei<").replace("en.wikipedia", "de.wikipedia")
    )
    (tmp_path / "dump.xml").write_text(text, encoding="utf-8")
    prepare([tmp_path / "dump.xml"], tmp_path / "out")
    [document] = documents(tmp_path / "out").values()
    assert document.text == "Ein Ofen."
    assert document.facets == ("category:Öfen", "category:Brennen")
    assert document.url == "https://de.wikipedia.org/wiki/Ofen"
    assert Pages.open(tmp_path / "out").site == "de.wikipedia.org"


def test_a_title_that_no_run_file_can_carry_is_named(tmp_path: Path) -> None:
    path = write_export(tmp_path / "dump.xml", [Page(1, "Tab\there", "x"), Page(2, "Good", "y")])
    manifest = prepare([path], tmp_path / "out")
    assert manifest["skipped"] == {"bad_title": 1}
    assert manifest["examples"] == ["dump.xml: page 1, 'Tab\\there'"]


def test_an_older_export_tells_redirects_by_their_text(tmp_path: Path) -> None:
    path = write_export(tmp_path / "dump.xml", [Page(1, "Oven", " #redirect: [[kiln#Use|x]]"), Page(2, "Kiln", "x")])
    assert prepare([path], tmp_path / "out")["skipped"] == {"redirect": 1}
    assert rows(tmp_path / "out" / "redirects") == [{"from": "Oven", "to": "Kiln"}]


@pytest.mark.parametrize("processes", [1, 3])
def test_several_files_give_one_corpus_and_may_be_added_later(tmp_path: Path, processes: int) -> None:
    shards = [
        write_export(tmp_path / f"dump{n}.xml{suffix}", PAGES[n::4])
        for n, suffix in enumerate(["", ".bz2", "", ".bz2"])
    ]
    whole = prepare(shards, tmp_path / "whole", processes=processes)
    prepare(shards[:2], tmp_path / "grown", processes=processes)
    grown = prepare(shards[2:], tmp_path / "grown", processes=processes)
    assert outputs(tmp_path / "whole") == outputs(tmp_path / "grown")
    assert whole["fingerprint"] == grown["fingerprint"]
    assert (whole["pages"], whole["counts"]["documents"]) == (len(PAGES), 5)
    assert set(documents(tmp_path / "whole")) == set(documents(tmp_path / "grown"))


def test_a_finished_corpus_is_not_made_again(dump: Path, tmp_path: Path) -> None:
    first = prepare([dump], tmp_path / "out")
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "corpus").iterdir()}
    assert prepare([dump], tmp_path / "out") == first
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "corpus").iterdir()} == before


def test_what_was_deleted_is_made_again(dump: Path, tmp_path: Path) -> None:
    prepare([dump], tmp_path / "out")
    made = outputs(tmp_path / "out")
    next((tmp_path / "out" / "corpus").iterdir()).unlink()
    manifest = prepare([dump], tmp_path / "out")
    assert outputs(tmp_path / "out") == made
    assert manifest["pages"] == len(PAGES)


def test_other_settings_and_other_files_are_refused(dump: Path, tmp_path: Path) -> None:
    prepare([dump], tmp_path / "out")
    with pytest.raises(InputError, match=r"begun with other settings \(namespaces were \['0'\]\)"):
        prepare([dump], tmp_path / "out", Settings(("0", "14")))
    write_export(dump, PAGES[:3])
    with pytest.raises(InputError, match="begun with another file of this name"):
        prepare([dump], tmp_path / "out")
    with pytest.raises(InputError, match="two dump files are called 'wiki-pages-articles'"):
        prepare([dump, tmp_path / "elsewhere" / dump.name], tmp_path / "new")
    with pytest.raises(InputError, match="there is no such file"):
        prepare([tmp_path / "absent.xml"], tmp_path / "new")


@pytest.mark.parametrize("processes", [1, 2])
def test_a_damaged_file_ends_the_job_and_what_was_done_stays(tmp_path: Path, processes: int) -> None:
    good = write_export(tmp_path / "a.xml", PAGES)
    text = export([Page(n, f"Page {n}", "word") for n in range(1, 3001)])
    bad = tmp_path / "b.xml"
    bad.write_text(text[: len(text) // 2], encoding="utf-8")
    with pytest.raises(
        InputError, match=r"b\.xml, line \d+, column \d+, near byte \d+ of the file: damaged or cut XML"
    ):
        prepare([good, bad], tmp_path / "out", processes=processes)
    with pytest.raises(InputError, match="was begun and not finished"):
        Pages.open(tmp_path / "out")
    bad.write_text(text, encoding="utf-8")
    (tmp_path / "out" / "progress" / "b.json").unlink()  # it is another file now
    manifest = prepare([good, bad], tmp_path / "out", processes=processes)
    assert manifest["counts"]["documents"] == 3005
    assert len(documents(tmp_path / "out")) == 3005


def test_a_folder_in_use_is_refused(dump: Path, tmp_path: Path) -> None:
    import fcntl

    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process works in this folder"):
            prepare([dump], tmp_path / "out")


MANY = 6000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two multistream dumps that take some seconds."""
    folder = tmp_path_factory.mktemp("large")
    pages = [
        Page(
            n,
            f"Page {n}",
            f"Page [[{n}]] {{{{x}}}} " + "some ''words'' [[of|its]] text " * 40,
            redirect="Page 1" if n % 5 == 0 else None,
        )
        for n in range(1, MANY + 1)
    ]
    return [write_export(folder / f"large-{half}.xml.bz2", pages[half::2], per_stream=100) for half in (0, 1)]


def start(dumps: Sequence[Path], out: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sira", "wikipedia", "prepare", *map(str, dumps), "--out", str(out), "--quiet"]
    return subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def recorded_pages(out: Path) -> int:
    return sum(json.loads(file.read_bytes())["pages"] for file in (out / "progress").glob("*.json"))


@pytest.mark.parametrize("processes", ["1", "2"])
def test_killed_again_and_again_nothing_is_lost_and_nothing_comes_twice(
    large: list[Path], tmp_path: Path, processes: str
) -> None:
    out = tmp_path / "out"
    reached = kills = 0
    for _ in range(3):
        process = start(large, out, "--processes", processes)
        deadline = time.monotonic() + 120
        while recorded_pages(out) <= reached and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        assert recorded_pages(out) >= reached
        reached = recorded_pages(out)
    assert reached > 0
    assert kills > 0  # where this process gets no time, the last may come too late
    done = start(large, out, "--processes", processes)
    said, error = done.communicate(timeout=300)
    assert done.returncode == 0, error
    assert "4,800 documents (0 without text), 1,200 redirects, of 6,000 pages" in said
    prepare(large, tmp_path / "whole")
    assert outputs(out) == outputs(tmp_path / "whole")


def test_a_torn_line_is_cut_and_what_stands_beyond_the_record_is_done_again(large: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start(large[:1], out)
    deadline = time.monotonic() + 120
    while recorded_pages(out) == 0 and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    [part] = (out / "corpus").glob("*.part")
    with part.open("ab") as stream:
        stream.write(b'{"docid": "Page_9999", "text": "whole"}\n{"docid": "Torn", "te')
    prepare(large[:1], out)
    prepare(large[:1], tmp_path / "whole")
    assert outputs(out) == outputs(tmp_path / "whole")


def test_outputs_shorter_than_recorded_are_made_from_the_begin(large: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start(large[:1], out)
    deadline = time.monotonic() + 120
    while recorded_pages(out) == 0 and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    [part] = (out / "corpus").glob("*.part")
    os.truncate(part, 10)
    manifest = prepare(large[:1], out)
    assert manifest["pages"] == MANY / 2
    assert len(documents(out)) == MANY / 2 * 4 / 5


def test_a_prepared_folder_is_a_collection(dump: Path, tmp_path: Path) -> None:
    prepare([dump], tmp_path / "wiki")
    for source in (f"wikipedia:{tmp_path / 'wiki'}", str(tmp_path / "wiki")):
        collection = open_collection(source, value_fields=["page_id"])
        first = next(found for _, found in collection.documents() if isinstance(found, Document))
        assert (collection.name, first.docid, first.values) == ("wiki", "Kiln_wash", {"page_id": 10})
        assert (collection.topics, collection.qrels) == ((), {})
    (tmp_path / "wiki" / "manifest.json").unlink()
    with pytest.raises(InputError, match="was begun and not finished; run `sira wikipedia prepare"):
        open_collection(str(tmp_path / "wiki"))
    with pytest.raises(InputError, match="holds no prepared Wikipedia"):
        open_collection(f"wikipedia:{tmp_path}")


def test_names_are_followed_over_redirects_and_out_of_circles(dump: Path, tmp_path: Path) -> None:
    prepare([dump], tmp_path / "out")
    assert Pages.open(tmp_path / "out").find(["Glaze", "Shelf_wash", "Loop_A", "Gone", "Nowhere"]) == {
        "Glaze": Landing("Glaze", there=True),
        "Shelf_wash": Landing("Kiln_wash", there=True),
        "Loop_A": Landing("Loop_A", there=False),
        "Gone": Landing("Never_written", there=False),
        "Nowhere": Landing("Nowhere", there=False),
    }


def test_a_page_that_redirects_to_itself_leads_nowhere() -> None:
    assert follow("A", {"A": "A"}, set()) == Landing("A", there=False)
    chain = {str(n): str(n + 1) for n in range(50)}
    assert follow("0", chain, {"50"}) == Landing("0", there=False)
    assert follow("45", chain, {"50"}) == Landing("50", there=True)


def test_titles_near_a_name_are_found_without_case_accents_and_signs(dump: Path, tmp_path: Path) -> None:
    prepare([dump], tmp_path / "out")
    near = Pages.open(tmp_path / "out").nearest(["Glase", "kiln-wash", "שלום_Zizek", "Zzz"])
    assert near["Glase"] == ("Glaze",)
    assert near["kiln-wash"] == ("Kiln_wash",)
    assert near["שלום_Zizek"] == ("שלום_Žižek",)
    assert near["Zzz"] == ()


@pytest.mark.data
@pytest.mark.skipif(
    not (DATA and (Path(DATA) / "wikipedia-sample").is_dir()),
    reason="SIRA_TEST_DATA names no folder with wikipedia-sample",
)
def test_the_sample_of_wikipedia_becomes_clean_text(tmp_path: Path) -> None:
    [dump] = (Path(DATA or "") / "wikipedia-sample").glob("*.bz2")
    manifest = prepare([dump], tmp_path / "out")
    assert manifest["skipped"] == {"other_namespace": 1, "redirect": 99}
    found = documents(tmp_path / "out")
    assert len(found) == manifest["counts"]["documents"] == 106
    text = found["Anarchism"].text
    assert text.startswith("Anarchism is a political philosophy that advocates self-governed societies based on")
    assert "category:Anarchism" in found["Anarchism"].facets
    for document in found.values():
        for mark in ("[[", "]]", "{{", "}}", "{|", "<ref", "''", "&nbsp;"):
            assert mark not in document.text, document.docid
    assert audit(found, [], {}).documents == 106

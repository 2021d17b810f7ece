"""Building an index: counts, duplicates, folders that appear whole, builders that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sira.errors import DuplicateIdError, IndexFault, InputError
from sira.lucene.manifest import read_manifest
from sira.lucene.reader import Index
from sira.lucene.writer import build_index
from sira.program import FacetClause, Program, TermClause
from sira.records import Document, Place, Record, Skip, SkipReason

pytestmark = pytest.mark.java

MakeIndex = Callable[..., Path]
KILN = Program("q", (TermClause("kiln"),))
LONE = "\ud800"


def lines(*documents: Document | Skip) -> Callable[[], list[Record]]:
    return lambda: [(Place("corpus.jsonl", number), document) for number, document in enumerate(documents, start=1)]


def build(target: Path, *documents: Document | Skip, **options: object):
    return build_index(lines(*documents), target, progress=False, **options)  # pyright: ignore[reportArgumentType]


# ----------------------------------------------------------------------------------------------------------- counting


def test_every_record_is_counted(tmp_path: Path) -> None:
    """G30, G95: indexed + skipped = read; what was left out of a document is counted too."""
    manifest = build(
        tmp_path / "index",
        Document("a", "kiln", facets=("c:" + "界" * 10_921 + "x", "c:" + "界" * 10_922)),  # 32,766 and 32,768 bytes
        Document("e1", ""),
        Document("e2", "  \n"),
        Document("stop", "the of and"),
        Document("", "no id"),
        Document("long" * 129, "id of 516 bytes"),
        Document("s1", f"lone {LONE}"),
        Document("s2", "x", title=LONE),
        Document("s3", "x", facets=(LONE,)),
        Document("s4" + LONE, "x"),
        Skip(SkipReason.BAD_JSON, "not JSON"),
        Document("v", "kiln", values={"year": "soon"}),
        Document("w", "kiln", values={"year": 10**400}),
        value_fields={"year": "integer"},
    )
    assert (manifest.read, manifest.indexed, manifest.documents, manifest.empty) == (13, 6, 6, 2)
    assert manifest.skipped == {"bad_json": 1, "invalid_id": 1, "invalid_unicode": 4, "missing_id": 1}
    assert manifest.read == manifest.indexed + sum(manifest.skipped.values())
    assert manifest.dropped == {"bad_value:year": 2, "facet_too_long": 1}
    assert manifest.skipped_examples[0].startswith("corpus.jsonl, line 5: ")
    assert read_manifest(tmp_path / "index") == manifest
    with Index(tmp_path / "index") as index:
        assert index.document_count == 6
        assert index.facet_df(["c:" + "界" * 10_921 + "x", "c:" + "界" * 10_922]) == [1, 0]
        assert index.document("e2").text == "  \n"


def test_facet_words_are_searched_as_text(tmp_path: Path) -> None:
    build(tmp_path / "index", Document("a", "raku", facets=("category:1927_kilns",)), facet_words=True)
    with Index(tmp_path / "index") as index:
        assert index.search(Program("q", (TermClause("kiln"),))).docids == ("a",)
        assert index.search(Program("q", (FacetClause("category:1927_kilns"),))).docids == ("a",)
        assert index.document("a") == Document("a", "raku", facets=("category:1927_kilns",))


def test_nothing_to_index_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no record"):
        build(tmp_path / "index")
    with pytest.raises(InputError, match=r"corpus.jsonl, line 1: not JSON"):
        build(tmp_path / "index", Skip(SkipReason.BAD_JSON, "not JSON"))
    for options in ({"duplicates": "keep"}, {"threads": 0}, {"analyzer": "klingon"}):
        with pytest.raises(InputError, match=str(next(iter(options.values())))):
            build(tmp_path / "index", Document("a", "kiln"), **options)
    assert list(tmp_path.iterdir()) == []


def test_a_source_with_a_name_that_is_no_unicode(tmp_path: Path) -> None:
    place = Place("corpus-\udcff.jsonl", 1)
    records: list[Record] = [(place, Document("", "x")), (place, Document("a", "kiln"))]
    manifest = build_index(lambda: records, tmp_path / "index", progress=False)
    assert read_manifest(tmp_path / "index") == manifest


# --------------------------------------------------------------------------------------------------------- duplicates


def test_duplicates_are_refused_with_their_places(tmp_path: Path) -> None:
    """G04."""
    with pytest.raises(DuplicateIdError, match=r"'d1' at corpus.jsonl, line 1 and corpus.jsonl, line 3"):
        build(tmp_path / "index", Document("d1", "kiln wash"), Document("d2", "glaze"), Document("d1", "kiln shelf"))
    assert list(tmp_path.iterdir()) == []


def test_the_first_of_duplicates_is_kept(tmp_path: Path) -> None:
    """A record that cannot be indexed is no first one."""
    manifest = build(
        tmp_path / "index",
        Document("d1", f"kiln {LONE}"),
        Document("d1", "kiln wash"),
        Document("d2", "glaze"),
        Document("d1", "kiln shelf"),
        Document("d1", ""),
        duplicates="keep-first",
    )
    assert (manifest.read, manifest.indexed, manifest.documents, manifest.empty) == (5, 2, 2, 0)
    assert manifest.skipped == {"invalid_unicode": 1, "duplicate_id": 2}
    with Index(tmp_path / "index") as index:
        assert index.search(KILN).docids == ("d1",)
        assert index.document("d1").text == "kiln wash"
        assert index.df(["kiln", "shelf"]) == [1, 0]


def test_the_first_is_kept_whatever_the_threads_and_merges_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sira.lucene.writer.BATCH_DOCUMENTS", 40)
    documents = [Document(f"d{n % 1500}", f"kiln round{n // 1500}") for n in range(6000)]
    manifest = build(tmp_path / "index", *documents, duplicates="keep-first", threads=8, buffer_mb=0.2)
    assert (manifest.documents, manifest.skipped) == (1500, {"duplicate_id": 4500})
    fresh = build(tmp_path / "fresh", *documents[:1500])
    assert manifest.statistics == fresh.statistics
    with Index(tmp_path / "index") as index:
        assert index.df(["kiln", "round0", "round1"]) == [1500, 1500, 0]


# ------------------------------------------------------------------------------------------------- folders and targets


def test_targets_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "manifest.json").write_text("{}", encoding="utf-8")  # anybody may have one
    (tmp_path / "empty").mkdir()
    build(tmp_path / "there", Document("a", "kiln"))
    for name, overwrite, message in (
        ("file", True, "is a file"),
        ("foreign", True, "left alone"),
        ("there", False, "--overwrite"),
        ("file/below", False, "cannot be written"),
        ("n" * 300, False, "cannot be written"),
    ):
        with pytest.raises(IndexFault, match=message):
            build(tmp_path / name, Document("a", "kiln"), overwrite=overwrite)
    assert (tmp_path / "foreign" / "manifest.json").read_text(encoding="utf-8") == "{}"
    build(tmp_path / "empty", Document("a", "kiln"))
    build(tmp_path / "not" / "yet [there]*", Document("a", "kiln"))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["empty", "file", "foreign", "not", "there"]


def test_a_symbolic_link_keeps_pointing_to_the_index(tmp_path: Path) -> None:
    build(tmp_path / "real", Document("a", "kiln"))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "new")
    build(tmp_path / "link", Document("b", "kiln"), overwrite=True)
    build(tmp_path / "dangling", Document("c", "kiln"))
    assert (tmp_path / "link").is_symlink()
    for name, docid in (("real", "b"), ("link", "b"), ("new", "c"), ("dangling", "c")):
        with Index(tmp_path / name) as index:
            assert index.search(KILN).docids == (docid,)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_reader_goes_on_while_its_index_is_replaced(tmp_path: Path) -> None:
    build(tmp_path / "index", *(Document(f"a{n}", "kiln wash") for n in range(100)))
    with Index(tmp_path / "index") as old:
        build(tmp_path / "index", Document("b", "kiln"), overwrite=True)
        assert len(old.search(KILN)) == 100
        assert old.document("a7").text == "kiln wash"
        with Index(tmp_path / "index") as new:
            assert new.search(KILN).docids == ("b",)
    assert [entry.name for entry in tmp_path.iterdir()] == ["index"]


def test_a_failure_leaves_the_old_index(tmp_path: Path) -> None:
    build(tmp_path / "index", Document("a", "kiln"))

    def broken() -> Iterator[Record]:
        yield Place("corpus", 1), Document("b", "kiln")
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        build_index(broken, tmp_path / "index", overwrite=True, progress=False)
    with Index(tmp_path / "index") as index:
        assert index.search(KILN).docids == ("a",)
    assert [entry.name for entry in tmp_path.iterdir()] == ["index"]


CHILD = """
import os, sys, time
from pathlib import Path
from sira.lucene.update import ExpansionTerms, attach_expansions, update_index
from sira.lucene.writer import build_index
from sira.records import Document, Place

def endless(make):
    for number in range(10**9):
        yield make(number)
        if number == 3000:
            print("ready", flush=True)
            time.sleep(60)

target = Path(sys.argv[2])
document = lambda number: (Place("corpus", number), Document(f"new{number}", "kiln"))
if sys.argv[1] == "build":
    build_index(lambda: endless(document), target, overwrite=True, progress=False)
elif sys.argv[1] == "update":
    update_index(target, add=lambda: endless(document), update=True, progress=False)
else:
    rows = endless(lambda number: ExpansionTerms(f"d{number}", ["word"], [], Place("store", number)))
    attach_expansions(target, rows, target, lambda counts: {}, overwrite=True)
"""


@pytest.mark.parametrize("work", ["build", "update", "attach"])
def test_a_killed_writer_leaves_the_old_index_and_the_next_one_cleans_up(tmp_path: Path, work: str) -> None:
    target = tmp_path / "in[de]x"
    build(target, *(Document(f"d{n}", "kiln wash") for n in range(50)))
    with Index(target) as index:
        before = index.search(KILN)
    with subprocess.Popen([sys.executable, "-c", CHILD, work, str(target)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGKILL)
    assert len(list(tmp_path.iterdir())) == 2
    with Index(target) as index:
        assert index.search(KILN) == before
        assert index.expanded_documents == 0
    build(target, Document("a", "kiln"), overwrite=True)
    assert list(tmp_path.iterdir()) == [target]


def test_a_builder_at_work_is_not_taken_for_a_killed_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, "build", str(tmp_path / "index")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        build(tmp_path / "index", Document("a", "kiln"), overwrite=True)
        hidden = [entry for entry in tmp_path.iterdir() if entry.name != "index"]
        assert len(hidden) == 1
        assert len(list(hidden[0].iterdir())) > 1
        child.kill()


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    variables = {**os.environ, **environment}
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", timeout=120, env=variables, check=False
    )


SMALL = r"""
import sys
from pathlib import Path
from sira.lucene.reader import Index
from sira.lucene.update import drop_expansions, update_index
from sira.lucene.writer import build_index
from sira.records import Document, Place
target = Path(sys.argv[1])
build_index(lambda: [(Place("c", 1), Document("\xe9\u754c", "kiln \xe9"))], target, progress=False)
update_index(target, add=lambda: [(Place("c", 1), Document("b", "kiln \xe9"))], progress=False)
drop_expansions(target, target, overwrite=True)
with Index(target) as index:
    assert index.df(["\xe9"]) == [2] and index.document("\xe9\u754c").text == "kiln \xe9"
"""


@pytest.mark.parametrize("locale", [{"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {}, {"LC_ALL": "C.UTF-8"}])
def test_paths_outside_ascii_in_any_locale(tmp_path: Path, locale: dict[str, str]) -> None:
    """G33."""
    path = tmp_path / "kölner 界"
    done = run(SMALL, str(path), **{"LC_ALL": "C", **locale})
    assert (done.returncode, done.stderr) == (0, "")
    with Index(path) as index:
        assert index.search(KILN).docids == ("b", "é界")


def test_a_path_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexFault, match="not UTF-8"):
        build(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")), Document("a", "kiln"))
    assert list(tmp_path.iterdir()) == []


FORBIDDEN = """
import os, sys
from pathlib import Path
from sira.errors import IndexFault
from sira.lucene.writer import build_index
from sira.records import Document, Place
folder = Path(sys.argv[1])
records = lambda: [(Place("c", 1), Document("a", "kiln"))]
build_index(records, folder / "index", progress=False)
os.chmod(folder, 0o555)
if os.geteuid() == 0:
    os.seteuid(65534)
for target in ("other", "index"):
    try:
        build_index(records, folder / target, overwrite=True, progress=False)
    except IndexFault as error:
        print(error)
"""


def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    done = run(FORBIDDEN, str(tmp_path))
    tmp_path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert [line.partition(": ")[2] for line in done.stdout.splitlines()] == [
        "cannot be written (Permission denied): choose another folder"
    ] * 2


BOUNDED = """
import sys
from pathlib import Path
from sira.lucene.reader import Index
from sira.lucene.update import ExpansionTerms, attach_expansions
from sira.lucene.writer import build_index
from sira.records import Document, Place
words = [f"word{n % 977} other{n % 3001} more{n}" for n in range(30_000)]
target = Path(sys.argv[1])
records = lambda: ((Place("c", n), Document(f"d{n}", text * 10)) for n, text in enumerate(words))
manifest = build_index(records, target, progress=False)
rows = (ExpansionTerms(f"d{n}", [f"x{n}", f"y{n % 100}"], [f"x{n} y{n % 100}"], Place("s", n)) for n in range(30_000))
attach_expansions(target, rows, target, lambda counts: {}, overwrite=True)
with Index(target) as index:
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) // 1024
    print(index.document_count, *index.df(["word1", "y1", "x7 y7"]), peak)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of memory as Linux tells it")
def test_memory_is_bounded_by_the_heap(tmp_path: Path) -> None:
    done = run(BOUNDED, str(tmp_path / "index"), SIRA_JAVA_HEAP="64m")
    assert done.returncode == 0, done.stderr
    documents, word, y, atom, megabytes = map(int, done.stdout.split())
    assert (documents, word, y, atom) == (30_000, 31, 300, 1)
    assert megabytes < 300


def test_the_manifest_is_plain_json(make_index: MakeIndex) -> None:
    path = make_index([Document("a", "kiln wash"), Document("b", "kiln")], {"a": (["glaze", "raku"], ["glaze raku"])})
    data = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    assert data["analyzer"] == "english"
    assert data["expansion_words"] == 2
    assert data["statistics"]["contents"]["sum_total_term_freq"] == 3
    assert data["statistics"]["expansion"]["sum_doc_freq"] == 3
    bare = read_manifest(make_index([Document("a", "kiln wash"), Document("b", "kiln")]))
    assert bare is not None
    assert data["corpus_fingerprint"] == bare.corpus_fingerprint
    assert time.strptime(data["created"], "%Y-%m-%dT%H:%M:%S%z")

"""`sira filter` and `sira index --export-df`, as a user types them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from sira.analysis.english import analyze
from sira.cli import filter as cli_filter
from sira.cli.main import main
from sira.corpora.df_table import read_df_table, write_df_table
from sira.expand.config import read_expand_config
from sira.expand.identity import SCHEMA_VERSION
from sira.expand.job import run_shard
from sira.expand.store import read_expansions
from sira.filters import filtering
from sira.filters.rules import FilterSettings
from sira.llm import Reply, Request
from tests.expand.models import AnsweringModel

from .conftest import DOCUMENTS, Sira, write_rows

# `kiln` stands in d1 and d2, `glaze` in d1 and d3: with 5 documents and tau = 0.2 the bound is one document
STORE: list[dict[str, Any]] = [
    {
        "docid": "d1",
        "status": "ok",
        "phrases": ["release agent", "Release  Agents", "coating for kiln shelves", "kiln glaze", "of the", "a@b.org"],
        "provenance": {"job": "f00"},
        "usage": {"prompt_tokens": 9},
        "raw": "a@b.org",
    },
    {"docid": "d2", "status": "truncated", "phrases": ["thermal shock", "low fired ware"], "expires": "2031-01-01"},
    {"docid": "d3", "phrases": ["jade colour", "old news"], "expires": "2020-01-01"},
    {"docid": "gone", "phrases": ["kiln wash"]},
    {"docid": "d4", "status": "refused", "phrases": []},
]


@pytest.fixture
def store(pottery: Path) -> Path:
    return write_rows(pottery / "raw.jsonl", STORE)


def table(folder: Path) -> Path:
    """A df table of the pottery, made without Java."""
    df: Counter[str] = Counter()
    for document in DOCUMENTS:
        df.update(set(analyze([f"{document['title']} {document['text']}"])[0]))
    file = folder / "df.tsv"
    write_df_table(file, lambda: sorted(df.items()), documents=5, analyzer="english", fingerprint="f00")
    return file


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "phrases.jsonl").read_text(encoding="utf-8").splitlines()]


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "filter.json").read_text(encoding="utf-8"))


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def arguments(store: Path, out: str = "new") -> list[str | Path]:
    folder = store.parent
    return [
        *("filter", store, "--out", folder / out, "--corpus", folder / "corpus.jsonl", "--df", table(folder)),
        *("--today", "2026-03-02", "--quiet"),
    ]


def test_rows_keep_what_they_are_and_lose_what_is_dropped(sira: Sira, store: Path) -> None:
    before = store.read_bytes()
    answer = sira(*arguments(store))
    assert answer.status == 0, answer.err
    new = store.parent / "new"
    assert rows(new) == [
        {"docid": "d1", "status": "ok", "phrases": ["release agent"], "provenance": {"job": "f00"}},
        {"docid": "d2", "status": "truncated", "phrases": ["thermal shock"], "expires": "2031-01-01"},
        {"docid": "d3", "status": "ok", "phrases": [], "expires": "2020-01-01"},
        {"docid": "gone", "status": "ok", "phrases": ["kiln wash"]},
        {"docid": "d4", "status": "refused", "phrases": []},
    ]
    found = manifest(new)
    assert {name: count for name, count in found["verdicts"].items() if count} == {
        "kept": 3,
        "empty": 1,
        "forbidden": 1,
        "duplicate": 1,
        "already_present": 2,
        "too_common": 1,
    }
    assert found["forbidden"] == {"contact": 1}
    assert found["phrases"] == {"proposed": 11, "expired": 2}
    assert found["rows"] == {
        "read": 5,
        "expired": 1,
        "emptied": 0,
        "without_document": 1,
        "without_document_examples": ["raw.jsonl, line 4: gone"],
    }
    assert (found["df"], found["novelty"], found["today"]) == ({"documents": 5, "bound": 1}, "tested", "2026-03-02")
    assert found["fingerprints"]["store"] == hashlib.sha256(before).hexdigest()
    assert store.read_bytes() == before
    assert [row.phrases for _, row in read_expansions(new)][:2] == [("release agent",), ("thermal shock",)]


def test_the_table_of_verdicts_goes_to_stdout_and_what_was_left_out_to_stderr(sira: Sira, store: Path) -> None:
    answer = sira(*arguments(store))
    assert answer.out.splitlines()[0].endswith("new: 3 of 11 phrases kept, 5 rows")
    assert re.search(r"^already_present +2 +18.2%$", answer.out, re.MULTILINE)
    assert re.search(r"^expired +2 +18.2%$", answer.out, re.MULTILINE)
    assert answer.out.splitlines()[-1] == "forbidden: contact 1"
    assert answer.err.splitlines() == [
        "sira: 1 rows had expired: their phrases were dropped",
        "sira: 1 rows are of no document of the corpus: raw.jsonl, line 4: gone",
    ]


def test_verdicts_are_kept_on_demand(sira: Sira, store: Path) -> None:
    sira(*arguments(store), "--keep-verdicts")
    first, second, *_ = rows(store.parent / "new")
    assert first["verdicts"] == [
        *(["Release  Agents", "duplicate", None], ["coating for kiln shelves", "already_present", 1]),
        *(["kiln glaze", "too_common", 2], ["of the", "empty", None], ["a@b.org", "forbidden", None]),
    ]
    assert second["verdicts"] == [["low fired ware", "already_present", 1]]


def test_the_same_inputs_give_the_same_bytes_and_only_overwrite_replaces(sira: Sira, store: Path) -> None:
    new, again = store.parent / "new", store.parent / "again"
    sira(*arguments(store))
    sira(*arguments(store, "again"))
    assert bytes_of(new) == bytes_of(again)
    answer = sira(*arguments(store), "--no-policy")
    assert (answer.status, "--overwrite" in answer.err) == (2, True)
    assert bytes_of(new) == bytes_of(again)
    assert sira(*arguments(store), "--no-policy", "--overwrite").status == 0
    assert rows(new)[0]["phrases"] == ["release agent", "a@b.org"]
    assert manifest(new)["policy"] == "skipped: no policy"
    assert [item.name for item in store.parent.iterdir() if item.name.startswith(".")] == []


def test_a_day_that_decides_nothing_leaves_no_trace(sira: Sira, store: Path) -> None:
    write_rows(store, [STORE[0]])
    for name, day in (("new", "2026-03-02"), ("again", "2030-01-01")):
        assert sira(*arguments(store, name), "--today", day).status == 0
    assert bytes_of(store.parent / "new") == bytes_of(store.parent / "again")
    assert manifest(store.parent / "new")["today"] is None


def test_expiry_counts_from_the_day_given_and_the_day_itself_is_not_past(sira: Sira, store: Path) -> None:
    write_rows(
        store,
        [
            {"docid": "d1", "phrases": ["one"], "expires": "2026-03-02"},
            {"docid": "d2", "phrases": ["two"], "expires": "2026-03-01"},
            {"docid": "d3", "phrases": ["three"]},
            {"docid": "d4", "phrases": ["of the"]},
        ],
    )
    assert sira(*arguments(store), "--expires-days", "30").status == 0
    found = [(row["phrases"], row.get("expires")) for row in rows(store.parent / "new")]
    assert found == [(["one"], "2026-03-02"), ([], "2026-03-01"), (["three"], "2026-04-01"), ([], None)]
    assert manifest(store.parent / "new")["rows"]["expired"] == 1


@pytest.mark.parametrize("order", [[4, 3, 2, 1, 0], [1, 0, 3, 2, 4], [0, 0, 1, 2, 3]])
def test_the_order_of_the_rows_does_not_matter(sira: Sira, store: Path, order: Sequence[int]) -> None:
    sira(*arguments(store, "ordered"))
    shuffled = write_rows(store.parent / "shuffled.jsonl", [STORE[number] for number in order])
    sira(*arguments(shuffled))
    by_docid = {row["docid"]: row for row in rows(store.parent / "ordered")}
    assert rows(store.parent / "new") == [by_docid[STORE[number]["docid"]] for number in order]


def test_a_job_folder_is_a_store_and_batches_do_not_show(
    sira: Sira, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sira(*arguments(store, "file"))
    job = store.parent / "job"
    job.mkdir()
    write_rows(job / "shard-00000-of-00002.jsonl", STORE[:2])
    write_rows(job / "shard-00001-of-00002.jsonl", STORE[2:])
    about = {"schema_version": SCHEMA_VERSION, "shards": 2}
    (job / "job.json").write_text(json.dumps(about), encoding="utf-8")
    (job / "shard-00000-of-00002.progress.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr(filtering, "BATCH", 1)
    monkeypatch.setattr(filtering, "ANALYSIS_CHARACTERS", 1)
    moved = ["filter", job, *arguments(store)[2:]]
    assert sira(*moved).status == 0
    assert rows(store.parent / "new") == rows(store.parent / "file")


def test_a_store_of_several_shards_is_refused_until_all_are_finished(sira: Sira, pottery: Path) -> None:
    def answer(request: Request) -> Reply:
        return Reply(request.key, json.dumps({"phrases": [f"{request.key} first", "kiln  WASH", "a@b.org"]}))

    toml, store, new = pottery / "job.toml", pottery / "store", pottery / "new"
    model = '[model]\nbackend = "openai"\nmodel = "m"\n[limits]\ncanary = 0\n'
    toml.write_text(f'name = "pottery"\n[corpus]\nsource = "corpus.jsonl"\n{model}', encoding="utf-8")
    given = ["filter", store, *arguments(store)[2:], "--keep-verdicts"]
    for shard in range(3):
        refused, shown = sira(*given), sira("inspect", store)
        if shard:
            assert refused.status == 2
            assert f"{store}: {3 - shard} of 3 shards are not finished (first: {shard + 1}/3)" in refused.err
            assert (refused.err.count("\n"), new.exists(), shown.status) == (1, False, 0)
        run_shard(
            read_expand_config(toml), store, shard, 3, progress=False, open_model=lambda _: AnsweringModel(answer)
        )
    answered = sira(*given)
    assert answered.status == 0, answered.err
    raw = [json.loads(line) for file in sorted(store.glob("*.jsonl")) for line in file.read_bytes().splitlines()]
    assert sorted(row["docid"] for row in raw) == ["d1", "d2", "d3", "d4", "d5"]
    contact = ["a@b.org", "forbidden", None]
    dropped = {docid: [contact] for docid in ("d2", "d3", "d4")} | {"d5": list[Any]()}
    dropped["d1"] = [["kiln WASH", "already_present", 1], contact]
    kept = {docid: [f"{docid} first", "kiln WASH"] for docid in ("d2", "d3", "d4")} | {"d1": ["d1 first"], "d5": []}
    assert rows(new) == [
        {
            "docid": row["docid"],
            "status": row["status"],
            "phrases": kept[row["docid"]],
            "provenance": row["provenance"],
            "verdicts": dropped[row["docid"]],
        }
        for row in raw
    ]
    verdicts = {"kept": 7, "forbidden": 4, "already_present": 1}
    for shown in (new, new / "phrases.jsonl"):
        assert json.loads(sira("inspect", shown, "--json").out)["verdicts"] == verdicts
    assert re.search(r"^already_present +1 +8.3 %$", sira("inspect", new / "phrases.jsonl").out, re.MULTILINE)


def test_an_unfinished_shard_is_refused_and_may_be_inspected(sira: Sira, store: Path) -> None:
    job = store.parent / "job"
    job.mkdir()
    write_rows(job / "shard-00000-of-00002.jsonl", STORE[:2])
    write_rows(job / "shard-00001-of-00002.jsonl.part", STORE[2:])
    about = {"schema_version": SCHEMA_VERSION, "shards": 2}
    (job / "job.json").write_text(json.dumps(about), encoding="utf-8")
    answer = sira("filter", job, *arguments(store)[2:])
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        f"sira: error: {job}: 1 of 2 shards are not finished (first: 2/2): `sira status` shows how far they are, "
        "`sira expand` goes on with them; to use what is there, name a file\n"
    )
    assert not (store.parent / "new").exists()
    assert "5 rows in 2 files, 1 of them unfinished\n" in sira("inspect", job).out
    one = sira("filter", job / "shard-00000-of-00002.jsonl", *arguments(store)[2:])
    assert (one.status, len(rows(store.parent / "new"))) == (0, 2)


def test_without_corpus_and_df_it_says_what_was_not_tested(sira: Sira, store: Path) -> None:
    new = store.parent / "new"
    answer = sira("filter", store, "--out", new, "--today", "2026-03-02", "--quiet")
    assert answer.status == 0
    assert answer.err.splitlines()[:2] == [
        "sira: novelty was not tested: add --corpus SOURCE",
        "sira: df was not tested: add --df FILE or --index DIR",
    ]
    assert rows(new)[0]["phrases"] == ["release agent", "coating for kiln shelves", "kiln glaze"]
    found = manifest(new)
    assert (found["novelty"], found["df"]) == ("skipped: no corpus was given", "skipped: no df was given")
    assert (found["settings"]["max_df_ratio"], found["fingerprints"]["df"]) == (None, None)


def test_another_analyzer_is_met_by_normal_forms(sira: Sira, store: Path) -> None:
    out, corpus = store.parent / "new", store.parent / "corpus.jsonl"
    assert sira("filter", store, "--out", out, "--corpus", corpus, "--analyzer", "german", "--quiet").status == 0
    assert rows(out)[0]["phrases"] == ["release agent", "Release  Agents", "kiln glaze", "of the"]
    assert manifest(out)["forms"] == "normal"


def test_phrases_of_half_characters_survive(sira: Sira, store: Path) -> None:
    write_rows(store, [{"docid": "d1", "phrases": ["half \ud800", "Kölsch"]}, {"docid": "d2", "phrases": ["Kölsch"]}])
    assert sira(*arguments(store)).status == 0
    assert [row["phrases"] for row in rows(store.parent / "new")] == [["half \ud800", "Kölsch"], ["Kölsch"]]
    assert "Kölsch" in (store.parent / "new" / "phrases.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (["--max-df-ratio", "0.1"], "--max-df-ratio: it needs document frequencies"),
        (["--min-df", "1"], "--min-df: it needs document frequencies"),
        (["--heap", "1g"], "--heap: it belongs to --index"),
        (["--today", "tomorrow"], "--today 'tomorrow': give a date"),
        (["--max-words", "0"], "max_words = 0"),
        (["--policy", "none.toml"], "none.toml: there is no such file"),
        (["--df", "none.tsv"], "none.tsv: there is no such file"),
        (["--corpus", "none.jsonl"], "none.jsonl"),
    ],
)
def test_what_cannot_go_together_is_refused(sira: Sira, store: Path, given: list[str], fault: str) -> None:
    answer = sira("filter", store, "--out", store.parent / "new", "--quiet", *given)
    assert (answer.status, fault in answer.err, answer.err.count("\n")) == (2, True, 1)
    assert not (store.parent / "new").exists()


def test_a_bad_row_leaves_nothing_behind(sira: Sira, store: Path) -> None:
    with store.open("a", encoding="utf-8") as out:
        out.write('{"docid": "d5", "phr')
    before = sorted(item.name for item in store.parent.iterdir())
    answer = sira("filter", store, "--out", store.parent / "new", "--quiet")
    assert (answer.status, f"{store}, line 6: not JSON" in answer.err) == (2, True)
    assert sorted(item.name for item in store.parent.iterdir()) == before


@pytest.mark.parametrize("out", [".", "raw.jsonl", "qrels"])
def test_other_folders_and_the_store_itself_are_left_alone(sira: Sira, store: Path, out: str) -> None:
    before = sorted(store.parent.rglob("*"))
    answer = sira("filter", store, "--out", store.parent / out, "--overwrite", "--quiet")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert sorted(store.parent.rglob("*")) == before


def test_a_filtered_store_can_be_filtered_again(sira: Sira, store: Path) -> None:
    sira(*arguments(store))
    new = store.parent / "new"
    again = ["filter", new, *arguments(store, "again")[2:]]
    assert sira(*again).status == 0
    assert rows(store.parent / "again") == rows(new)
    assert manifest(store.parent / "again")["verdicts"]["kept"] == 3


def test_defaults_are_those_of_the_settings() -> None:
    assert asdict(FilterSettings()) == cli_filter.SETTINGS


def test_a_table_of_an_analyzer_that_needs_java_is_refused(sira: Sira, store: Path) -> None:
    file = table(store.parent)
    file.write_text(file.read_text(encoding="utf-8").replace('"english"', '"german"', 1), encoding="utf-8")
    answer = sira("filter", store, "--out", store.parent / "new", "--df", file, "--quiet")
    assert (answer.status, "give --index DIR in its place" in answer.err) == (2, True)


@pytest.mark.java
def test_an_exported_table_is_what_the_index_counts_and_filters_alike(sira: Sira, store: Path) -> None:
    from sira.lucene.reader import Index

    folder = store.parent
    index, corpus, packed = folder / "ix", folder / "corpus.jsonl", folder / "df.tsv.gz"
    answer = sira("index", corpus, "--index", index, "--export-df", packed, "--quiet")
    assert answer.status == 0, answer.err
    found = read_df_table(packed)
    with Index(index) as opened:
        assert list(found.df.items()) == list(opened.terms("contents"))
        assert (found.documents, found.analyzer, found.df["kiln"]) == (5, "english", 2)
        assert found.fingerprint == opened.contents_fingerprint
    for name, source in (("by-table", ["--df", packed]), ("by-index", ["--index", index])):
        answer = sira(
            *("filter", store, "--out", folder / name, "--corpus", corpus, *source, "--today", "2026-03-02", "--quiet")
        )
        assert answer.status == 0, answer.err
    assert bytes_of(folder / "by-table") == bytes_of(folder / "by-index")
    assert rows(folder / "by-index")[0]["phrases"] == ["release agent"]


@pytest.mark.java
def test_expansions_change_no_table_and_deletions_do(sira: Sira, store: Path) -> None:
    folder = store.parent
    index, first, second, third = folder / "ix", folder / "1.tsv", folder / "2.tsv", folder / "3.tsv"
    assert sira("index", folder / "corpus.jsonl", "--index", index, "--export-df", first, "--quiet").status == 0
    phrases = folder / "phrases.jsonl"
    assert sira("index", "--index", index, "--expansions", phrases, "--export-df", second, "--quiet").status == 0
    assert second.read_bytes() == first.read_bytes()
    (folder / "gone.txt").write_text("d2\n", encoding="utf-8")
    assert sira("index", "--index", index, "--delete", folder / "gone.txt", "--quiet").status == 0
    answer = sira("index", "--index", index, "--export-df", third)
    assert answer.out == f"{third}: df of {len(read_df_table(third).df)} terms\n"
    table = read_df_table(third)
    assert (table.documents, table.df["kiln"], table.df.get("raku")) == (4, 1, None)
    assert table.fingerprint != read_df_table(first).fingerprint
    shutil.rmtree(index)
    assert "no such folder" in sira("index", "--index", index, "--export-df", third).err


def test_what_a_killed_filter_left_is_swept_by_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "store.jsonl").write_text('{"docid": "d", "phrases": ["kiln wash"]}\n')
    left = tmp_path / ".out.building-dead"
    left.mkdir()
    (left / ".lock").touch()
    assert main(["filter", str(tmp_path / "store.jsonl"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "store.jsonl"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--analyzer", "klingon"], "analyzer 'klingon' is not known"),
        (["--today", "9999-12-31", "--expires-days", "5"], "beyond the year 9999"),
    ],
)
def test_names_and_days_that_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    (tmp_path / "store.jsonl").write_text('{"docid": "d", "phrases": ["kiln wash"]}\n')
    assert main(["filter", str(tmp_path / "store.jsonl"), "--out", str(tmp_path / "out"), "--quiet", *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()

"""The reports of one real experiment: what each file says, and that all say the same."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest

from sira.corpora.audit import Audit
from sira.evaluate.config import Experiment, read_experiment
from sira.evaluate.inputs import audit_inputs, open_inputs
from sira.evaluate.reporting.contents import Report
from sira.evaluate.reporting.csv_files import csv_files
from sira.evaluate.reporting.heat import grids
from sira.evaluate.reporting.latex import escaped, latex
from sira.evaluate.reporting.markdown import markdown
from sira.evaluate.reporting.page import page
from sira.evaluate.results import CollectionResults
from sira.evaluate.runner import run_experiment

pytestmark = pytest.mark.java

SUBJECTS = ("kiln", "glaze", "clay", "raku", "slip", "celadon")
MARKUP = '<script>alert(1)</script> "& number'
HEAD = """
name = "pots"
about = "about <b>pots</b>"
caveat = "small & odd"
baseline = "bm25"
depth = 20
measures = ["nDCG@10", "R@10"]
"""
COLLECTION = """
[[collections]]
name = "{name}"
source = "beir:data"
[collections.sketches]
mine = "data/sketches.jsonl"
"""
BM25 = '[[systems]]\nname = "bm25"\nkind = "bm25"\n'
GRID = """
[[systems]]
name = "w{weight}_{tau}"
kind = "sira"
sketches = "mine"
sketch_weight = {weight}
max_df_ratio = {tau}
"""


class Ran(NamedTuple):
    experiment: Experiment
    results: Sequence[CollectionResults]
    audits: Mapping[str, Audit]
    out: Path

    def text(self, name: str) -> str:
        return (self.out / name).read_text(encoding="utf-8")

    def rows(self, name: str) -> list[dict[str, str]]:
        with (self.out / "tables" / name).open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))


def write_rows(path: Path, items: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Two collections of six topics under BM25 and a grid of four, whose sketches name the document that is right."""
    folder = tmp_path_factory.mktemp("report")
    data = folder / "data"
    (data / "qrels").mkdir(parents=True)
    write_rows(data / "corpus.jsonl", [{"_id": f"d{i}", "text": f"{word} number"} for i, word in enumerate(SUBJECTS)])
    write_rows(data / "queries.jsonl", [{"_id": f"t{i}", "text": MARKUP} for i in range(len(SUBJECTS))])
    write_rows(data / "sketches.jsonl", [{"qid": f"t{i}", "phrases": [word]} for i, word in enumerate(SUBJECTS)])
    judged = "".join(f"t{i}\td{i}\t1\n" for i in range(len(SUBJECTS)))
    (data / "qrels" / "test.tsv").write_text(judged, encoding="utf-8")
    grid = "".join(GRID.format(weight=weight, tau=tau) for weight in (0.5, 1.0) for tau in (0.1, 1.0))
    config = HEAD + COLLECTION.format(name="first") + COLLECTION.format(name="second") + BM25 + grid
    (folder / "e.toml").write_text(config, encoding="utf-8")
    experiment = read_experiment(folder / "e.toml")
    results = run_experiment(experiment, folder / "out", progress=False)
    audits = {item.name: audit_inputs(open_inputs(item)) for item in experiment.collections}
    return Ran(experiment, results, audits, folder / "out")


class Reader(HTMLParser):
    """The tags of a page, what it would fetch, and its tags that are not closed in their order."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.faults: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag == "a":
            self.links.append(given.get("href") or "")
        self.fetched += [f"{tag} {name}" for name, _ in attrs if name == "src" or name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def well_formed(text: str) -> Reader:
    reader = Reader(text)
    assert (reader.faults, reader.open, reader.fetched) == ([], [], [])
    assert not {"script", "img", "link", "iframe", "b1"} & set(reader.tags)
    assert len(set(reader.ids)) == len(reader.ids)
    return reader


def test_the_page_is_whole_loads_nothing_and_its_links_lead_somewhere(ran: Ran) -> None:
    reader = well_formed(ran.text("report.html"))
    assert reader.tags.count("svg") > 10
    places = {link.removeprefix("#") for link in reader.links if link.startswith("#")}
    assert places <= set(reader.ids)
    files = [link for link in reader.links if not link.startswith("#")]
    assert len(files) == 3 + 2 * 5  # settings and two tables, and the run of each system on each collection
    assert all((ran.out / link).is_file() for link in files)


def test_texts_of_others_do_not_act_in_the_page(ran: Ran) -> None:
    text = ran.text("report.html")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &quot;&amp; number" in text
    assert "about &lt;b&gt;pots&lt;/b&gt;" in text
    assert "small &amp; odd" in text


def test_every_file_prints_the_same_values(ran: Ran) -> None:
    page_text, md, tex = ran.text("report.html"), ran.text("report.md"), ran.text("tables/main.tex")
    told = {(row["collection"], row["system"]): row for row in ran.rows("main.csv")}
    assert len(told) == 2 * 5
    for entry in json.loads(ran.text("results.json")):
        row = told[entry["collection"], entry["system"]]
        if entry["metric"] in row:
            assert float(row[entry["metric"]]) == entry["value"]
            printed = f"{entry['value']:.4f}"
            assert printed in page_text
            assert printed in md
            assert printed in tex


def test_each_row_names_a_run_that_is_there_and_its_cell(ran: Ran) -> None:
    texts = [ran.text(name) for name in ("report.html", "report.md", "tables/main.tex")]
    for name in ("main.csv", "costs.csv", "differences.csv", "topics.csv"):
        for row in ran.rows(name):
            run = ran.out / row["run"]
            assert json.loads(run.with_suffix(".json").read_text(encoding="utf-8"))["fingerprint"] == row["cell"]
            assert run.is_file()
            assert all(row["run"] in text and row["cell"][:12] in text for text in texts)


def test_coverage_stands_beside_the_means(ran: Ran) -> None:
    assert {(row["topics"], row["with hits"]) for row in ran.rows("main.csv")} == {("6", "6")}
    assert "| coverage |" in ran.text("report.md")
    assert "6/6" in ran.text("report.html")


def test_the_values_by_topic_come_with_their_text(ran: Ran) -> None:
    rows = ran.rows("topics.csv")
    assert len(rows) == 2 * 5 * 6
    assert {row["text"] for row in rows} == {MARKUP}
    assert {row["nDCG@10"] for row in rows if row["system"] == "w1.0_1.0"} == {"1.0"}


def test_the_curve_of_recall_is_the_measure_of_that_name(ran: Ran) -> None:
    for row in ran.results[0].rows:
        assert list(row.recall) == [1, 2, 3, 5, 10, 20]
        assert row.recall[10] == row.evaluation.mean["Recall@10"]
        assert list(row.evaluation.mean) == ["nDCG@10", "Recall@10"]
    assert ran.results[0].rows[0].recall[1] == pytest.approx(1 / 6)  # six equal scores: each topic finds d0 first


def test_windows_are_counted_by_df_as_the_programs_tell(ran: Ran) -> None:
    bm25, *others = (row.windows for row in ran.results[0].rows)
    assert (bm25.outcomes, bm25.unlooked) == ({}, 0)
    for windows in others:
        assert windows.kept == {1: 6}  # each word stands in one document
        assert windows.outcomes == {"kept": 6}


def test_the_map_of_lambda_and_tau_has_a_place_for_each_system_of_the_grid(ran: Ran) -> None:
    (grid,) = grids(ran.experiment)
    assert (grid.values(0), grid.values(1)) == ([0.5, 1.0], [0.1, 1.0])
    assert grid.systems[1.0, 0.1] == "w1.0_0.1"
    assert "λ 1, τ 0.1" in ran.text("report.html")
    fewer = ran.experiment.model_copy(update={"systems": ran.experiment.systems[:3]})
    assert list(grids(fewer)) == []


def test_the_best_is_bold_and_marked_in_the_table_for_a_paper(ran: Ran) -> None:
    lines = ran.text("tables/main.tex").splitlines()
    (best,) = [line for line in lines if "runs/first/w1.0_1.0.trec" in line]
    assert best.startswith(r"w1.0\_1.0 & \textbf{1.0000}")
    assert lines[0].startswith("% pots")
    assert sum(line.startswith(r"\multicolumn{3}{l}{\emph{") for line in lines) == 2
    assert escaped(r"50%_a\b{c}") == r"50\%\_a\textbackslash{}b\{c\}"


def without_grid(ran: Ran) -> Experiment:
    return ran.experiment.model_copy(update={"systems": ran.experiment.systems[:1]})


def test_one_system_on_one_collection_without_any_hit_is_a_page_too(ran: Ran) -> None:
    first = ran.results[0]
    row = first.rows[0]
    evaluation = replace(
        row.evaluation,
        mean=dict.fromkeys(row.evaluation.mean, 0.0),
        per_topic={name: dict.fromkeys(values, 0.0) for name, values in row.evaluation.per_topic.items()},
    )
    empty = replace(
        row,
        evaluation=evaluation,
        interval=(0.0, 0.0),
        recall=dict.fromkeys(row.recall, 0.0),
        costs={**row.costs, "ms_per_query_p50": 0.0},
        cell=replace(row.cell, zero_results=6),
    )
    alone = [replace(first, rows=(empty,), comparisons={})]
    text = page(Report(without_grid(ran), alone, ran.audits), "0" * 64)
    well_formed(text)
    assert "0/6" in text
    assert "Gains and losses" not in text
    assert r"bm25 & \textbf{0.0000}" in latex(Report(ran.experiment, alone, ran.audits), "0" * 64)


def test_nothing_that_is_run_is_a_page_too(ran: Ran) -> None:
    empty = Report(ran.experiment, [], {}, missing=["first: left out, since its <baseline> is not run"])
    text = page(empty, "0" * 64)
    well_formed(text)
    assert "its &lt;baseline&gt; is not run" in text
    assert markdown(empty, "0" * 64).splitlines()[-1] == "- first: left out, since its <baseline> is not run"
    assert r"\end{tabular}" in latex(empty, "0" * 64)
    assert csv_files(empty)["main.csv"] == "collection,system,topics,with hits,run,cell\n"


def test_thirty_systems_with_long_names_share_one_legend(ran: Ran) -> None:
    first = ran.results[0]
    names = ["bm25", *(f"a-very-long-name-of-a-system-that-goes-on-and-on-{number}" for number in range(29))]
    rows = [replace(first.rows[0], cell=replace(first.rows[0].cell, system=name)) for name in names]
    compared = {
        (name, measure): replace(item, system=name)
        for name in names[1:]
        for (system, measure), item in first.comparisons.items()
        if system == "w0.5_0.1"
    }
    many = replace(first, rows=tuple(rows), comparisons=compared)
    text = page(Report(without_grid(ran), [many], ran.audits), "0" * 64)
    well_formed(text)
    assert text.count('<ul class="legend">') == 1


def test_a_second_run_writes_the_same_reports(ran: Ran) -> None:
    before = {name: ran.text(name) for name in ("report.html", "report.md", "tables/main.tex", "tables/topics.csv")}
    run_experiment(ran.experiment, ran.out, progress=False)
    assert {name: ran.text(name) for name in before} == before

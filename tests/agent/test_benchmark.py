"""Benchmarks as TOML: what a file may say, variants and changes, and the files that come with sira."""

from __future__ import annotations

from pathlib import Path

import pytest

from sira.agent.benchmark import ALL, Change
from sira.agent.benchmark_files import find_benchmark, read_benchmark, server_of
from sira.agent.settings import PI_SERINI, SIRA
from sira.errors import InputError, NotFoundError
from sira.program import Scoring

SHIPPED = Path(__file__).parents[2] / "eval_configs" / "agent"
LEAST = 'id = "own"\nname = "Own"\n[corpus]\nsource = "jsonl:corpus.jsonl"\n[questions]\nfile = "q.tsv"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_six_lines_is_enough(tmp_path: Path) -> None:
    file = read_benchmark(written(tmp_path, LEAST))
    setup = file.table.setup()
    assert (setup.tools, setup.limits.time_s, setup.limits.steer_ratio) == (SIRA, 300.0, 0.7)
    assert file.table.questions.named(None)[0] == ALL
    assert file.place("q.tsv") == tmp_path / "q.tsv"
    assert file.source() == f"jsonl:{tmp_path / 'corpus.jsonl'}"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("[tools]\ndepht = 5\n", "tools.depht: there is no such key"),
        ("[tools]\ndepth = 0\n", "depth = 0: give 1 or more"),
        ("[budget]\ntime_s = -1\n", "time_s = -1.0: give a number of seconds above 0"),
        ('[budget]\ntime_s = "none"\n', "neither time nor turns are bounded"),
        ('[labels]\nqrel = "x"\n', "labels.qrel: there is no such key"),
        ('[metrics]\ngain = "cubic"\n', "metrics.gain"),
        ('[[variants]]\nname = "a"\n[[variants]]\nname = "a"\n', "variants: 'a' stands twice"),
        ('[[variants]]\nname = "a"\nbudget = { time_s = "none" }\n', "variant 'a': budget: neither time nor turns"),
        ("[obfuscated]\nfile = 'x'\n", "obfuscated.canary_env: is missing"),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path: Path, more: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        read_benchmark(written(tmp_path, LEAST + more))
    assert told in str(error.value)
    assert str(tmp_path / "own.toml") in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('id = "x"\nname = "X"\n', "give [corpus] with a source or an index"),
        ('id = "x"\nname = "X"\n[corpus]\nindex = "i"\n', "questions: name a file"),
        ('id = "x"\nname = "X"\njudge = ["gold"]\n[corpus]\nsource = "beir:f"\n', "labels.answers"),
        (LEAST + 'default = "q1"\n', "there are no sets"),
        (LEAST + '[questions.sets.q1]\nqids = ["1"]\n', "default: name one of the sets: q1"),
        (LEAST + 'default = "q1"\n[questions.sets.q1]\nqids = ["1"]\nfirst = 2\n', "give one of qids, file and first"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError, match=r"own\.toml") as error:
        read_benchmark(written(tmp_path, text))
    assert told in str(error.value)


def test_a_variant_changes_what_it_names_and_the_command_line_changes_the_variant(tmp_path: Path) -> None:
    text = LEAST + (
        '[tools]\nprofile = "pi-serini"\nbm25 = "long"\n[budget]\ntime_s = 60\nturns = 9\n'
        '[[variants]]\nname = "shallow"\ntools = { depth = 5 }\nbudget = { time_s = "none" }\nprompt = "other"\n'
    )
    table = read_benchmark(written(tmp_path, text)).table
    plain, shallow = table.setup(), table.setup("shallow")
    assert plain.tools.scoring == shallow.tools.scoring == Scoring(k1=25.0, b=1.0)
    assert (plain.tools.depth, shallow.tools.depth) == (1000, 5)
    assert (plain.limits.time_s, shallow.limits.time_s, shallow.limits.turns) == (60.0, None, 9)
    assert (plain.prompt, shallow.prompt) == ("agent-pi-serini", "other")
    change = Change.model_validate({"tools": {"depth": 7, "k1": 16.0}, "budget": {"time_s": "20"}})
    both = table.setup("shallow", change)
    assert (both.tools.depth, both.tools.scoring, both.limits.time_s) == (7, Scoring(k1=16.0, b=1.0), 20.0)
    with pytest.raises(NotFoundError, match=r"no variant 'deep'; it has: shallow"):
        table.setup("deep")


def test_variables_are_looked_up_where_they_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET_ANYWHERE", raising=False)
    text = LEAST + (
        '[[variants]]\nname = "server"\n'
        'backend = { search_url = "${NOT_SET_ANYWHERE}/s", read_document_url = "${NOT_SET_ANYWHERE}/r" }\n'
    )
    table = read_benchmark(written(tmp_path, text)).table
    assert table.setup().server is None
    server = table.setup("server").server
    assert server is not None
    with pytest.raises(InputError, match="NOT_SET_ANYWHERE is not set"):
        server_of(server)
    monkeypatch.setenv("NOT_SET_ANYWHERE", "http://127.0.0.1:9")
    assert server_of(server).read_document_url == "http://127.0.0.1:9/r"


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_the_benchmarks_of_sira_can_be_read_and_found_by_each_of_their_names(path: Path) -> None:
    table = read_benchmark(path).table
    assert table.id == path.stem
    for name in (table.id, *table.aliases):
        assert find_benchmark(name, SHIPPED).path == path
    for variant in table.variants:
        assert table.setup(variant.name).variant == variant.name


def test_the_ablations_of_the_paper_are_variants() -> None:
    table = read_benchmark(SHIPPED / "browsecomp-plus.toml").table
    assert table.setup().tools.scoring == Scoring(k1=25.0, b=1.0)
    assert [table.setup(f"depth-{depth}").tools.depth for depth in (5, 10, 50, 100, 1000)] == [5, 10, 50, 100, 1000]
    assert table.setup("bm25-default").tools.scoring == PI_SERINI.scoring == Scoring(k1=0.9, b=0.4)
    assert table.setup("bm25-16-1").tools.scoring == Scoring(k1=16.0, b=1.0)
    turns = table.setup("turns-100").limits
    assert (turns.time_s, turns.turns) == (None, 100)
    nine = table.questions.named("q9")[1].qids
    assert nine == ("25", "30", "244", "549", "655", "1019", "1032", "1127", "1219")
    graded = read_benchmark(SHIPPED / "msmarco-dl19.toml").table
    assert (graded.metrics.gain, graded.metrics.level, graded.judge) == ("linear", 2, ("reference-free",))

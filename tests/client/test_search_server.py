"""`sira search --server` prints what `sira search` prints, byte for byte."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sira.cli.main import main
from tests.client.conftest import TOKEN
from tests.client.support import Served, problem, scripted

pytestmark = pytest.mark.java

Printed = tuple[int, str, str]
Run = Callable[..., Printed]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("SIRA_TOKEN", TOKEN)

    def call(*arguments: str | Path) -> Printed:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Topics, sketches and programs, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"_id": "t1", "text": "pots stick to shelves"},
        {"_id": "t2", "text": "of the"},
        {"_id": "t3", "text": "green"},
    ]
    sketches = [
        {"qid": "t1", "phrases": ["kiln shelves", {"text": "release agent", "weight": 0.5}], "facets": ["category:x"]},
        {"qid": "t2", "phrases": [{"text": "porcelain", "role": "must"}, "celadon"], "provenance": {"model": "m"}},
        {"qid": "t3", "phrases": ["iron"], "searches": [{"phrases": ["celadon"]}, {"phrases": ["sawdust"]}]},
    ]
    for name, content in (("topics.jsonl", rows), ("sketches.jsonl", sketches)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in content))
    (tmp_path / "words.sira").write_text("+glaze celadon^2 -raku")
    (tmp_path / "bad.sira").write_text("+glaze\n(celadon")
    return tmp_path


CASES: list[list[str]] = [
    ["pale glaze"],
    ["pale glaze", "--json", "-k", "2"],
    ["celadon", "--phrase", "sawdust", "--phrase", "kiln shelves", "--k1", "1.2", "--lambda", "0.9", "--gate", "off"],
    ["porcelain"],
    [""],
    ["+porcelain glaze", "--syntax", "program"],
    ["+porcelain glaze", "--syntax", "program", "--relax", "--profile", "sira", "--json"],
    ["+(glaze", "--syntax", "program"],
    ["x", "--max-n", "2"],
    ["x", "-k", "0"],
    ["--topics", "topics.jsonl"],
    ["--topics", "topics.jsonl", "--sketches", "sketches.jsonl", "--json"],
    ["--topics", "topics.jsonl", "--sketches", "sketches.jsonl", "--mode", "several", "--threads", "3"],
    ["--topics", "topics.jsonl", "--sketches", "sketches.jsonl", "--mode", "auto", "--json", "--no-relax"],
    ["--topics", "topics.jsonl", "--mode", "several"],
    ["--topics", "topics.jsonl", "--syntax", "program", "--json"],
    ["--program", "words.sira"],
    ["--program", "bad.sira"],
    ["--program", "program.json", "--json"],
    ["--program", "program.sira"],
    ["--program", "absent.json"],
]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_the_same_output(case: list[str], run: Run, files: Path, pottery: Path, served: Served) -> None:
    for name, form in (("program.json", "--json"), ("program.sira", "--text")):
        if name in case:
            Path(name).write_text(run("compile", "glaze", "--phrase", "iron", "--index", pottery, form)[1])
    local = run("search", *case, "--index", pottery)
    assert run("search", *case, "--server", served.url) == local
    assert local[1] or local[2]


def test_the_same_run_file(run: Run, files: Path, pottery: Path, served: Served) -> None:
    Path("topics.tsv").write_text("t1\tkiln shelves\nt2\tslip\n")
    asked = ("--topics", "topics.tsv", "--sketches", "sketches.jsonl", "--name", "tag", "--run")
    run("search", *asked, "local.trec", "--index", pottery)
    status, _, err = run("search", *asked, "served.trec", "--server", served.url, "--index", "pottery")
    assert (status, err.splitlines()[-1]) == (0, "sira: served.trec: 2 topics, 3 hits")
    assert Path("served.trec").read_bytes() == Path("local.trec").read_bytes()
    odd = ("--topics", "topics.jsonl", "--run", "odd.trec")  # it finds a docid that no run can hold
    assert run("search", *odd, "--server", served.url) == run("search", *odd, "--index", pottery)
    assert not Path("odd.trec").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--rerank", "local"], "--rerank: a server has"),
        (["--heap", "1g"], "--heap: a server has"),
        (["--policy", "default"], "--policy: a server has"),
        (["--max-pages", "3"], "--max-pages: a server has"),
        (["--llm", "local"], "`--llm server`"),
        (["--llm", "server"], "this server has no model"),
        (["--llm", "server", "--phrase", "x"], "leave out --sketches and --phrase"),
        (["--index", "other"], "choose pottery"),
        (["--index", "runs/pottery"], "no folder"),
        (["-k", "5000"], "at most 1,000"),
        (["--token-file", "/nowhere"], "the token cannot be read"),
    ],
)
def test_what_a_server_does_not_take(options: list[str], says: str, run: Run, served: Served) -> None:
    status, out, err = run("search", "x", "--server", served.url, *options)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_servers_that_do_not_answer(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    status, _, err = run("search", "x", "--server", "http://127.0.0.1:9")
    assert (status, err.count("\n")) == (1, 1)
    assert "check that `sira serve` runs there" in err
    status, _, err = run("search", "x", "--server", "localhost:8321")
    assert status == 2
    assert "give http://HOST:PORT" in err
    with scripted(problem(429, Retry_After="3600")) as server:
        status, _, err = run("search", "x", "--server", server.url)
    assert (status, err) == (1, "sira: error: field: busy: mend it\n")


def test_a_token_is_asked_for(run: Run, served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SIRA_TOKEN")
    status, _, err = run("search", "x", "--server", served.url)
    assert status == 2
    assert "asks for a token" in err
    (tmp_path / "token").write_text(TOKEN + "\n")
    assert run("search", "raku", "--server", served.url, "--token-file", tmp_path / "token")[0] == 0


def test_one_of_index_and_server(run: Run, pottery: Path) -> None:
    assert run("search", "x") == (2, "", "sira: error: give --index DIR, or --server URL\n")
    status, _, err = run("search", "x", "--index", pottery, "--token-file", "x")
    assert status == 2
    assert "belongs to --server" in err


def test_it_starts_no_java_and_loads_no_library_of_a_server(run: Run, served: Served) -> None:
    code = (
        "import sys; from sira.cli.main import main; "
        f"assert main(['search', 'raku', '--server', {served.url!r}]) == 0; print(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # with SIRA_TOKEN
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "httpx2" in loaded
    assert not loaded & {"jnius", "pyserini", "numpy", "fastapi", "uvicorn", "mcp", "ranx", "openai"}

from __future__ import annotations

import math
import os
import struct
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sira.corpora.trec import read_qrels, read_run
from sira.corpora.trec_writer import RunWriter, decreasing_scores, write_qrels, write_run
from sira.errors import DuplicateIdError, InputError
from sira.records import Ranking, Run


def as_float32(text: str) -> float:
    return struct.unpack("f", struct.pack("f", float(text)))[0]


def test_tied_scores_become_neighbouring_32_bit_floats_and_others_stay(tmp_path: Path) -> None:
    write_run(tmp_path / "r", Run("sira", {"q1": Ranking.from_scores({"b": 2.0, "a": 2.0, "c": 0.5})}))
    assert (tmp_path / "r").read_bytes() == b"q1 Q0 a 1 2 sira\nq1 Q0 b 2 1.99999988 sira\nq1 Q0 c 3 0.5 sira\n"


scores = st.lists(st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, 1e-45, -2.5]) | st.floats(-1e38, 1e38), max_size=30)


@given(scores)
@example([0.0] * 5)
@example([1.0, 1.0, 1.0 - 2**-24, 1.0 - 2**-24])
def test_printed_scores_decrease_strictly_in_32_and_64_bits_and_keep_the_order(values: list[float]) -> None:
    ordered = sorted(values, reverse=True)
    printed = [f"{score:.9g}" for score in decreasing_scores(ordered)]
    for read in (float, as_float32):
        numbers = [read(text) for text in printed]
        assert all(later < earlier for earlier, later in pairwise(numbers))
    for exact, text in zip(ordered, printed, strict=True):
        # At most one step a rank below the nearest 32-bit float.
        step = max(abs(exact) * 2**-22, 2**-148)
        assert abs(float(text) - exact) <= step * len(values)


@given(
    st.dictionaries(st.text(alphabet="ab,#é\U0001f600", min_size=1), st.sampled_from([0.0, 1.0, 2.5, 1e-9]), min_size=1)
)
def test_a_written_run_reads_back_in_the_same_order_and_writes_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, found: dict[str, float]
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    run = Run("sira", {"q1": Ranking.from_scores(found)})
    write_run(folder / "a", run)
    back = read_run(folder / "a")
    assert back.rankings["q1"].docids == run.rankings["q1"].docids
    write_run(folder / "b", back)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_a_run_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_text("old", encoding="utf-8")

    def fail_half_way() -> None:
        with RunWriter(path, "sira") as writer:
            writer.write("q1", Ranking.from_scores({"a": 1.0}))
            writer.write("q 2", Ranking())

    with pytest.raises(InputError, match="'q 2'"):
        fail_half_way()
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_topics_are_on_disk_as_they_are_written(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "r", "sira") as writer:
        for number in range(3):
            writer.write(f"q{number}", Ranking.from_scores({"a": 1.0}))
            [temporary] = tmp_path.iterdir()
            assert temporary.name != "r"
            assert len(temporary.read_text(encoding="utf-8").splitlines()) == number + 1
    assert [file.name for file in tmp_path.iterdir()] == ["r"]


@pytest.mark.parametrize("docid", ["doc 7", "a\tb", "a\u00a0b", "a\n", ""])
def test_g43_ids_with_white_space_are_refused(tmp_path: Path, docid: str) -> None:
    with pytest.raises(InputError, match="docid"):
        write_run(tmp_path / "r", Run("sira", {"q1": Ranking((docid,), (1.0,))}))
    with pytest.raises(InputError, match="qid"):
        write_run(tmp_path / "r", Run("sira", {docid: Ranking(("a",), (1.0,))}))
    with pytest.raises(InputError, match="run tag"):
        write_run(tmp_path / "r", Run(docid, {"q1": Ranking(("a",), (1.0,))}))
    with pytest.raises(InputError, match="docid"):
        write_qrels(tmp_path / "q", {"q1": {docid: 1}})
    assert list(tmp_path.iterdir()) == []


def test_g44_the_writer_never_makes_a_duplicate(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="twice"):
        write_run(tmp_path / "r", Run("sira", {"q1": Ranking(("a", "a"), (3.5, 1.0))}))
    with RunWriter(tmp_path / "r", "sira") as writer:
        writer.write("q1", Ranking())
        with pytest.raises(DuplicateIdError, match="q1"):
            writer.write("q1", Ranking())


@pytest.mark.parametrize("values", [(1.0, 2.0), (math.nan,), (math.inf,), (1e39,), (-1e39,)])
def test_rankings_out_of_order_or_out_of_range_are_refused(tmp_path: Path, values: tuple[float, ...]) -> None:
    docids = tuple("ab"[: len(values)])
    with pytest.raises(InputError, match="topic 'q1'"):
        write_run(tmp_path / "r", Run("sira", {"q1": Ranking(docids, values)}))


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        write_run(tmp_path / "absent" / "r", Run("sira", {}))


def test_g33_an_ascii_locale_changes_nothing(tmp_path: Path) -> None:
    code = (
        "from sira.corpora import read_run, write_run; from sira.records import Ranking, Run\n"
        f"write_run({str(tmp_path / 'r')!r}, Run('s', {{'q\u2019': Ranking(('\U0001f3fa',), (1.0,))}}))\n"
        f"print(ascii(read_run({str(tmp_path / 'r')!r}).rankings))"
    )
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", code.encode("ascii", "backslashreplace").decode()]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert out.strip() == "{'q\\u2019': Ranking(docids=('\\U0001f3fa',), scores=(1.0,))}"
    assert (tmp_path / "r").read_bytes() == "q\u2019 Q0 \U0001f3fa 1 1 s\n".encode()


def test_qrels_read_back(tmp_path: Path) -> None:
    qrels = {"q2": {"b": 0, "a": 2}, "q1": {"c": -1}}
    write_qrels(tmp_path / "q", qrels)
    assert read_qrels(tmp_path / "q") == qrels

"""Measures and TREC runs: a thousand topics to depth 1,000 under eight measures, and loading that run.

    python -m benchmarks.evaluating [--json]

The run and its judgments are drawn with a fixed seed and kept in the work folder. Peers of the measures get their own
structures, made before the clock starts: ranx evaluates its Qrels and Run, pytrec_eval (trec_eval's C code) its
dictionaries. Peers of the reader: ranx's, pytrec_eval's, and `plain`, the shortest parsing that one would write (split,
float, a dictionary of dictionaries), which checks nothing. Memory is the peak of a process that reads the run and
evaluates it once.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks._measure import Goal, Report, Row, alternate, median, options, p95, ratio, run_process, say
from sira.corpora.files import replacing
from sira.corpora.trec import read_qrels, read_run
from sira.evaluate.metrics import evaluate
from sira.search.ranx_library import quiet, ranx_and_numba

TOPICS, DEPTH, JUDGED, SEED = 1_000, 1_000, 50, 7
MEASURES = ("nDCG@10", "nDCG@100", "nDCG@1000", "Recall@10", "Recall@100", "Recall@1000", "MRR", "MAP")
OF_RANX = ("ndcg@10", "ndcg@100", "ndcg@1000", "recall@10", "recall@100", "recall@1000", "mrr", "map")
OF_TREC_EVAL = {"ndcg_cut.10,100,1000", "recall.10,100,1000", "recip_rank", "map"}
PROCESS = """
import sys
from sira.corpora.trec import read_qrels, read_run
run = read_run(sys.argv[1])
if len(sys.argv) > 2:
    from sira.evaluate.metrics import evaluate
    evaluate(read_qrels(sys.argv[2]), run, sys.argv[3].split())
"""


def prepare(work: Path, *, fresh: bool) -> tuple[Path, Path]:
    """A run of TOPICS x DEPTH lines, and qrels with JUDGED documents a topic, half of them among its hits."""
    work.mkdir(parents=True, exist_ok=True)
    run, qrels = work / f"evaluating-{TOPICS}x{DEPTH}.trec", work / f"evaluating-{TOPICS}x{DEPTH}.qrels"
    if fresh or not (run.exists() and qrels.exists()):
        say("drawing a run and its judgments")
        rng = random.Random(SEED)
        with replacing(run) as lines, replacing(qrels) as judged:
            for qid in range(TOPICS):
                docids = rng.sample(range(1_000_000), DEPTH + JUDGED)
                scores = sorted((rng.uniform(0, 30) for _ in range(DEPTH)), reverse=True)
                for rank, (docid, score) in enumerate(zip(docids, scores, strict=False), start=1):
                    lines.write(f"q{qid} Q0 doc{docid:07d} {rank} {score:.6f} drawn\n")
                for docid in rng.sample(docids[:DEPTH], JUDGED // 2) + docids[DEPTH : DEPTH + JUDGED // 2]:
                    judged.write(f"q{qid} 0 doc{docid:07d} {rng.randint(0, 3)}\n")
    return run, qrels


def plain(path: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            qid, _, docid, _, score, _ = line.split()
            found.setdefault(qid, {})[docid] = float(score)
    return found


def clocked(work: Callable[[], object]) -> Callable[[], list[float]]:
    def once() -> list[float]:
        start = time.perf_counter()
        with quiet():
            work()
        return [time.perf_counter() - start]

    return once


def evaluating(run: Path, qrels: Path) -> dict[str, Callable[[], list[float]]]:
    judged, ranked, scores = read_qrels(qrels), read_run(run), plain(run)
    ranx: Any = ranx_and_numba()[0]
    pytrec_eval: Any = import_module("pytrec_eval")
    ranx_qrels, ranx_run = ranx.Qrels(judged), ranx.Run(scores)
    return {
        "sira": clocked(lambda: evaluate(judged, ranked, MEASURES)),
        "sira, ties as trec_eval": clocked(lambda: evaluate(judged, ranked, MEASURES, ties="trec")),
        "ranx": clocked(lambda: ranx.evaluate(ranx_qrels, ranx_run, list(OF_RANX))),
        "pytrec_eval": clocked(lambda: pytrec_eval.RelevanceEvaluator(judged, OF_TREC_EVAL).evaluate(scores)),
    }


def loading(run: Path) -> dict[str, Callable[[], list[float]]]:
    ranx: Any = ranx_and_numba()[0]
    pytrec_eval: Any = import_module("pytrec_eval")

    def parse_run() -> object:
        with run.open(encoding="utf-8") as lines:
            return pytrec_eval.parse_run(lines)

    return {
        "sira": clocked(lambda: read_run(run)),
        "plain": clocked(lambda: plain(run)),
        "ranx": clocked(lambda: ranx.Run.from_file(str(run), kind="trec")),
        "pytrec_eval": clocked(parse_run),
    }


def rows(what: str, measured: dict[str, list[list[float]]]) -> list[Row]:
    return [
        {
            "work": what,
            "by": name,
            "p50 s": median(values),
            "p95 s": p95(values),
            "sira's time to it": ratio(measured["sira"], values),
        }
        for name, values in measured.items()
    ]


def measure(work: Path, *, rounds: int, fresh: bool) -> Report:
    run, qrels = prepare(work, fresh=fresh)
    report = Report("evaluating", {"topics": TOPICS, "depth": DEPTH, "measures": len(MEASURES), "rounds": rounds})
    say("measures")
    measures = alternate(evaluating(run, qrels), rounds)
    say("reading")
    reading = alternate(loading(run), rounds)
    say("memory")
    base = run_process([sys.executable, "-c", "import sira.corpora.trec, numpy"]).peak_mb
    read = run_process([sys.executable, "-c", PROCESS, str(run)]).peak_mb
    evaluated = run_process([sys.executable, "-c", PROCESS, str(run), str(qrels), " ".join(MEASURES)]).peak_mb
    report.rows = rows("eight measures", measures) + rows("reading the run", reading)
    report.goals = [
        Goal("eight measures, s", median(measures["sira"]), "<=", 2.0),
        Goal("eight measures, ties as trec_eval, s", median(measures["sira, ties as trec_eval"]), "<=", 2.0),
        Goal("reading a million lines, s", median(reading["sira"]), "<=", 3.0),
        Goal(
            "reading a million lines, bytes a line above an empty process",
            (read - base) * 2**20 / (TOPICS * DEPTH),
            "<=",
            250,
        ),
    ]
    report.notes = [
        f"Peak resident MB: nothing read {base:.0f}, the run read {read:.0f}, read and evaluated "
        f"{evaluated:.0f} (with ranx and numba loaded).",
        "ranx and pytrec_eval break ties in other orders; the values are compared in tests/evaluate/test_metrics*.py.",
    ]
    return report


def main() -> None:
    arguments = options("measures and TREC runs").parse_args()
    measure(arguments.work, rounds=arguments.rounds, fresh=arguments.fresh).print(as_json=arguments.json)


if __name__ == "__main__":
    main()

"""The filter step: phrases a minute of a whole `sira filter`, with novelty, policy and a df table of a million terms.

    python -m benchmarks.filtering [--phrases 1000000] [--per-document 20] [--work FOLDER] [--texts FILE.jsonl] [--json]

One process on one core, measured from its start to its end: reading the table, joining the corpus, analysing texts and
phrases, judging and writing. The table holds the real df of the texts and is filled up with made-up terms of df 1. The
phrases of a document are cut from the short descriptions of other packages. `shuffled` gives the rows in another order
than the corpus, which makes the texts go through a file. With `--texts` no network is needed; phrases are then cut from
the titles of other texts, or from their first words.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

from benchmarks._measure import Finished, Goal, Report, Row, options, run_process, say
from benchmarks.corpus import Corpus, prepare
from sira.analysis.english import analyze
from sira.corpora.df_table import read_df_table, write_df_table
from sira.corpora.files import replacing
from sira.corpora.jsonl import read_documents
from sira.records import Document

TERMS = 1_000_000
BATCH = 1000


def documents(corpus: Corpus) -> Iterator[Document]:
    return (record for _, record in read_documents(corpus.texts) if isinstance(record, Document))


def write_table(corpus: Corpus, path: Path) -> None:
    """df of the texts' own terms, and made-up ones up to a million."""
    counts: Counter[str] = Counter()
    total = 0
    for document in documents(corpus):
        counts.update(set(analyze([document.contents])[0]))
        total += 1
    draw = random.Random(7)
    while len(counts) < TERMS:
        counts.setdefault("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(5, 12))), 1)
    rows = sorted(counts.items())
    write_df_table(path, lambda: rows, documents=total, analyzer="english", fingerprint="benchmark")


def write_stores(corpus: Corpus, wanted: int, per_document: int, ordered: Path, shuffled: Path) -> int:
    """About `wanted` phrases, `per_document` a row; returns their exact number."""
    with corpus.expansions.open(encoding="utf-8") as lines:
        pool = [phrase for line in lines for phrase in json.loads(line)["phrases"]]
    draw = random.Random(11)
    rows: list[str] = []
    for document in documents(corpus):
        if len(rows) * per_document >= wanted:
            break
        own = re.findall(r"\w+", document.contents)[:3]
        phrases = [*draw.sample(pool, per_document - 1), " ".join(own)]  # one in each row is there already
        rows.append(json.dumps({"docid": document.docid, "phrases": phrases}, ensure_ascii=False) + "\n")
    for path in (ordered, shuffled):
        with replacing(path) as out:
            out.writelines(rows)
        draw.shuffle(rows)
    return len(rows) * per_document


def filtered(corpus: Corpus, store: Path, table: Path, target: Path) -> Finished:
    command = [sys.executable, "-m", "sira", "filter", str(store), "--out", str(target), "--df", str(table)]
    return run_process([*command, "--corpus", f"jsonl:{corpus.texts}", "--overwrite", "--quiet"])


def loading(table: Path) -> Row:
    code = "import sys; from sira.corpora.df_table import read_df_table; read_df_table(sys.argv[1])"
    done = run_process([sys.executable, "-c", code, str(table)])
    start = perf_counter()
    read_df_table(table)
    return {"work": "df table of 1 M terms, loaded", "seconds": perf_counter() - start, "peak MB": done.peak_mb}


def measure(corpus: Corpus, *, phrases: int, per_document: int, rounds: int) -> Report:
    folder = corpus.folder / "filtering"
    folder.mkdir(exist_ok=True)
    table, ordered, shuffled = folder / "df.tsv", folder / "ordered.jsonl", folder / "shuffled.jsonl"
    if not table.is_file():
        say("writing the df table")
        write_table(corpus, table)
    count = write_stores(corpus, phrases, per_document, ordered, shuffled)
    settings = {"phrases": count, "per document": per_document, "terms": TERMS, "rounds": rounds}
    report = Report("filtering", settings)
    report.rows.append(loading(table))
    best: dict[str, float] = {}
    for name, store in (("corpus order", ordered), ("shuffled", shuffled)):
        runs: Sequence[Finished] = [filtered(corpus, store, table, folder / name.split()[0]) for _ in range(rounds)]
        fastest = min(runs, key=lambda run: run.seconds)
        best[name] = count / fastest.seconds * 60
        row: Row = {"work": f"sira filter, {name}", "seconds": fastest.seconds, "phrases a minute": best[name]}
        report.rows.append(row | {"peak MB": max(run.peak_mb for run in runs)})
    if count < phrases:
        report.notes.append(
            f"The texts carry {count:,} phrases, {phrases:,} were asked for: start and loading weigh more, and "
            "phrases a minute come out too low."
        )
    report.goals.append(Goal("phrases a minute, corpus order", best["corpus order"], ">=", 1_000_000))
    report.goals.append(Goal("MB, df table of 1 M terms", float(report.rows[0]["peak MB"] or 0), "<=", 250))
    return report


def main() -> None:
    parser = options(str(__doc__).splitlines()[0])
    parser.set_defaults(rounds=3)
    parser.add_argument("--phrases", type=int, default=1_000_000, help="candidate phrases (%(default)s)")
    parser.add_argument("--per-document", type=int, default=20, help="phrases of one document (%(default)s)")
    arguments = parser.parse_args()
    corpus = prepare(arguments.work, arguments.texts)
    report = measure(corpus, phrases=arguments.phrases, per_document=arguments.per_document, rounds=arguments.rounds)
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()

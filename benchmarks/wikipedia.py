"""A dump made into a corpus and an index: pages a second, CPU time, memory, and what the whole Wikipedia would take.

    python -m benchmarks.wikipedia [--pages 100000] [--dump FILE...] [--processes 2] [--fresh] [--json]
    python -m benchmarks.wikipedia --pages 300 --write FOLDER     only writes dump, questions and sketches

The dump is generated (benchmarks/_wiki.py), the same for the same number of pages; `--dump` measures other exports in
its place. Projections scale CPU time by the bytes of the packed files and by pages to the English Wikipedia of May
2026: 37 GB and 25,587,229 pages.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
from pathlib import Path

from benchmarks._measure import Report, options, run_process, say
from benchmarks._wiki import write_wiki

WHOLE_BYTES, WHOLE_PAGES = 37e9, 25_587_229


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--pages", type=int, default=100_000, help="pages of the generated dump (%(default)s)")
    parser.add_argument("--dump", type=Path, nargs="+", help="exports, in place of the generated dump")
    parser.add_argument("--processes", type=int, default=2, help="dump files at once in the second row (%(default)s)")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write the generated files there and stop")
    arguments = parser.parse_args()
    if arguments.write:
        write_wiki(arguments.write, arguments.pages)
        return
    folder: Path = arguments.work / f"wikipedia-{arguments.pages}"
    dumps: list[Path] = arguments.dump or sorted(folder.glob("dump-*.xml.bz2"))
    if not arguments.dump and (arguments.fresh or not (folder / "sketches.jsonl").exists()):
        say("generating")
        write_wiki(folder, arguments.pages)
        dumps = sorted(folder.glob("dump-*.xml.bz2"))
    packed = sum(dump.stat().st_size for dump in dumps)
    what = f"{len(dumps)} files" if arguments.dump else f"generated, {arguments.pages:,} pages"
    report = Report("wikipedia", {"dump": what, "packed MB": round(packed / 1e6, 1)})
    out, index = arguments.work / "wikipedia-corpus", arguments.work / "wikipedia-index"
    sira = [sys.executable, "-m", "sira"]
    prepare = [*sira, "wikipedia", "prepare", *map(str, dumps), "--out", str(out), "--quiet"]
    build = [*sira, "index", f"wikipedia:{out}", "--index", str(index), "--facet-words", "--overwrite", "--quiet"]
    for name, command in (
        ("prepare", prepare),
        (f"prepare, {arguments.processes} processes", [*prepare, "--processes", str(arguments.processes)]),
        ("prepare again, nothing to do", prepare),
        ("index, with the words of categories", build),
    ):
        say(name)
        idle = "again" in name
        if name.startswith("prepare") and not idle:
            shutil.rmtree(out, ignore_errors=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run_process(command)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        manifest = json.loads((out / "manifest.json").read_bytes())
        pages = manifest["pages"]
        report.rows.append(
            {
                "what": name,
                "s": done.seconds,
                "CPU s": busy,
                "pages/s": pages / done.seconds,
                "pages/CPU s": pages / busy,
                "packed MB/CPU s": packed / 1e6 / busy,
                "peak MB": done.peak_mb,
                "whole, CPU h by bytes": None if idle else busy * WHOLE_BYTES / packed / 3600,
                "whole, CPU h by pages": None if idle else busy * WHOLE_PAGES / pages / 3600,
            }
        )
        if name in ("prepare", "index, with the words of categories"):
            report.notes.append(done.stdout.strip())
    sizes = {kind: round(size / 1e6, 1) for kind, size in manifest["bytes"].items()}
    on_disk = sum(file.stat().st_size for file in index.iterdir() if file.is_file()) / 1e6
    report.notes.append(f"MB: {sizes}, index {on_disk:.1f}")
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()

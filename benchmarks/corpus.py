"""The corpus of the benchmarks: package descriptions of a Debian or Ubuntu machine, 60,000 and more real short texts.

    python -m benchmarks.corpus [--work FOLDER] [--texts FILE.jsonl]

apt fetches the English descriptions into a folder of its own (no root, nothing of the system's changes). Phrases of
one to four words, cut from the short descriptions of OTHER packages, stand in for what a model would propose. All of
it is drawn with fixed seeds.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from pathlib import Path

from benchmarks._measure import options, say
from sira.corpora.files import replacing
from sira.corpora.jsonl import read_documents
from sira.expand.indexing import expand_index
from sira.lucene.jvm import engine_jar_hash
from sira.lucene.reader import Index
from sira.lucene.writer import build_index
from sira.program import Program, Scoring, TermClause
from sira.records import Document

LEAST_TEXTS = 60_000
PHRASES_A_TEXT = 4
CONTENTS_TERMS, EXPANSION_TERMS = 25, 15
APT_HELPER = "/usr/lib/apt/apt-helper"


@dataclass(frozen=True, slots=True)
class Corpus:
    """`texts` holds id and contents a line, `expansions` docid and phrases a line; `folder` is where indexes go."""

    folder: Path
    texts: Path
    expansions: Path

    def parts(self, count: int) -> Path:
        """A folder with the texts in `count` files, for indexers that give each thread a file of its own."""
        folder = self.folder / f"parts-{count}"
        if not folder.is_dir():
            lines = self.texts.read_text(encoding="utf-8").splitlines(keepends=True)
            folder.mkdir()
            for part in range(count):
                with replacing(folder / f"part-{part}.jsonl") as out:
                    out.writelines(lines[len(lines) * part // count : len(lines) * (part + 1) // count])
        return folder

    def index(self, *, fresh: bool = False) -> Path:
        """The expanded index of the texts, built by the engine as it stands."""
        version = (engine_jar_hash() or "")[:12]
        base, target = self.folder / f"base-{version}", self.folder / f"index-{version}"
        if fresh or not target.is_dir():
            say("indexing")
            build_index(lambda: read_documents(self.texts), base, overwrite=True, progress=False)
            expand_index(base, self.expansions, target, overwrite=True, progress=False)
        return target

    def phrases(self) -> Iterator[list[str]]:
        """The phrases of each document."""
        with self.expansions.open(encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)["phrases"]


def prepare(work: Path, texts: Path | None = None) -> Corpus:
    """The corpus in `work`, made there the first time. Raises SystemExit where there is neither apt nor a file."""
    name = f"texts-{sha256(texts.read_bytes()).hexdigest()[:12]}" if texts else "debian"
    folder = work / name
    corpus = Corpus(folder, folder / "texts.jsonl", folder / "expansions.jsonl")
    if corpus.expansions.is_file():
        return corpus
    folder.mkdir(parents=True, exist_ok=True)
    found = _from_file(texts) if texts else _from_apt(folder)
    if len(found) < LEAST_TEXTS:
        say(f"only {len(found):,} texts: the goals are stated for {LEAST_TEXTS:,} and more")
    with replacing(corpus.texts) as out:
        for docid, short, rest in found:
            out.write(json.dumps({"id": docid, "contents": f"{short} {rest}".strip()}, ensure_ascii=False) + "\n")
    shorts = [re.findall(r"\w[\w'+-]*", short) for _, short, _ in found]
    draw = random.Random(1)
    with replacing(corpus.expansions) as out:
        for docid, _, _ in found:
            phrases = [_phrase(draw, shorts) for _ in range(PHRASES_A_TEXT)]
            out.write(json.dumps({"docid": docid, "phrases": phrases}, ensure_ascii=False) + "\n")
    return corpus


def _phrase(draw: random.Random, shorts: Sequence[Sequence[str]]) -> str:
    words: Sequence[str] = ()
    while not words:
        words = draw.choice(shorts)
    length = draw.randint(1, 4)
    start = draw.randrange(max(1, len(words) - length + 1))
    return " ".join(words[start : start + length])


def _from_file(path: Path) -> list[tuple[str, str, str]]:
    """The title, or the first eight words, is the short description."""
    found: list[tuple[str, str, str]] = []
    for _, record in read_documents(path):
        if isinstance(record, Document):
            words = record.text.split()
            short, rest = (record.title, record.text) if record.title else (" ".join(words[:8]), " ".join(words[8:]))
            found.append((record.docid, short, rest))
    return found


def _from_apt(folder: Path) -> list[tuple[str, str, str]]:
    """(package, short description, long description) of every package that apt knows, each package once."""
    if not shutil.which("apt-get") or not Path(APT_HELPER).is_file():
        sys.exit(
            "this machine has no apt, where the benchmarks' texts come from: give --texts FILE.jsonl (id, contents)"
        )
    lists, cache = folder / "apt" / "lists", folder / "apt" / "cache"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    (cache / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    apt = ["apt-get", "-qq", "-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={cache}"]
    apt += ["-o", "Acquire::Languages=en", "-o", "APT::Sandbox::User="]
    say("fetching package descriptions with apt-get update")
    subprocess.run([*apt, "update"], check=True, stdout=subprocess.DEVNULL)
    listed = [*apt, "indextargets", "--format", "$(FILENAME)", "Identifier: Translations"]
    files = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()
    found: dict[str, tuple[str, str, str]] = {}
    for file in files:
        text = subprocess.run([APT_HELPER, "cat-file", file], check=True, capture_output=True).stdout.decode("utf-8")
        for stanza in text.split("\n\n"):
            if match := re.match(r"Package: (\S+)\n(?:.*\n)*?Description-en: (.*)((?:\n .*)*)", stanza):
                package, short, rest = match.groups()
                body = " ".join("" if line == " ." else line.strip() for line in rest.split("\n"))
                found.setdefault(package, (package, short.strip(), body.strip()))
    shutil.rmtree(folder / "apt")
    return [found[package] for package in sorted(found)]


def programs(index: Index, corpus: Corpus, count: int) -> list[Program]:
    """Programs of 40 weighted terms: 25 words of one text's contents (filled up from others), 15 terms of expansions.

    `source` names the field that a term was drawn from. All 40 are in the index; no term comes twice in a program.
    """
    draw = random.Random(2)
    texts = [json.loads(line)["contents"] for line in corpus.texts.read_text(encoding="utf-8").splitlines()]
    expansions, dfs = zip(*index.terms("expansion"), strict=True)
    cumulative = list(accumulate(dfs))  # a term is drawn as often as it stands in a document
    made: list[Program] = []
    while len(made) < count:
        words: dict[str, None] = {}
        while len(words) < CONTENTS_TERMS:
            (terms,) = index.analyze([draw.choice(texts)])
            words |= dict.fromkeys(terms)
        chosen = dict.fromkeys(list(words)[:CONTENTS_TERMS], "contents")
        while len(chosen) < CONTENTS_TERMS + EXPANSION_TERMS:
            (term,) = draw.choices(expansions, cum_weights=cumulative)
            chosen.setdefault(term, "expansion")
        clauses = [
            TermClause(term, weight=round(draw.uniform(0.1, 2), 3), source=source) for term, source in chosen.items()
        ]
        made.append(Program(f"q{len(made)}", tuple(clauses), Scoring()))
    return made


def main() -> None:
    arguments = options(str(__doc__).splitlines()[0]).parse_args()
    corpus = prepare(arguments.work, arguments.texts)
    with corpus.texts.open(encoding="utf-8") as lines:
        count = sum(1 for _ in lines)
    figures = {"texts": count, "bytes": corpus.texts.stat().st_size, "folder": str(corpus.folder)}
    print(json.dumps(figures) if arguments.json else f"{count:,} texts, {figures['bytes']:,} bytes in {corpus.folder}")


if __name__ == "__main__":
    main()

"""The searches of recorded agents through the tools of agent mode: which labels they surface and show, by depth.

    python -m benchmarks.agent_replay [--collection FOLDER] [--split dev] [--episodes FILE] [--json]

Episodes are those of ReAct on HotpotQA (512, of reflexion), the collection hotpotqa-100, both of the folder that
SIRA_TEST_DATA names. An episode counts where its question is, word for word, one of the collection's topics. Its
searches are replayed in their order, each episode with a controller of its own; what the recorded agent was shown, read
or looked up in a page is not replayed, so a row says what the tools show for these queries, not what a model would do.

`surfaced` are the hits that searches cache, `previewed` those whose title and excerpt stand on a page. `+ page` asks
after each search for the next page of its ranking (ranks 6 to 15) by read_search_results. Recall is the share of the
labels, the mean over episodes; sizes are mean numbers of documents an episode; `answer shown` is the share of the
episodes with an answer other than yes and no in whose outputs, below the line of the query, the recorded answer stands
(letters and digits alone compared); `characters` is the mean length of all outputs of an episode.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from benchmarks._measure import Report, Row, options, say
from sira.agent.controller import Controller
from sira.agent.settings import PI_SERINI, SIRA, ToolSettings
from sira.corpora import open_collection
from sira.corpora.rows import json_rows
from sira.lucene.reader import Index
from sira.lucene.writer import build_index
from sira.records import Qrels, Topic

DEPTHS = (5, 10, 50, 100, 1000)
PROFILES: Mapping[str, ToolSettings] = {
    "plain (pi-serini)": PI_SERINI,
    "+ excerpts": replace(PI_SERINI, query_excerpts=True),
    "+ folding": replace(PI_SERINI, fold_duplicates=True),
    "+ excerpts, folding": replace(PI_SERINI, query_excerpts=True, fold_duplicates=True),
    "sira": SIRA,
}


@dataclass(frozen=True, slots=True)
class Episode:
    """The searches of one recorded episode, with the labels and the answer of its question."""

    qid: str
    queries: tuple[str, ...]
    labels: frozenset[str]
    answer: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """What an episode's searches brought. `answered` is None where the answer is yes or no."""

    surfaced: float
    previewed: float
    surfaced_size: int
    previewed_size: int
    answered: bool | None
    characters: int


def matched(path: Path, topics: Sequence[Topic], qrels: Qrels) -> tuple[list[Episode], int]:
    """The episodes whose question is a topic with labels, and how many there are in all."""
    qids = {topic.text.strip(): topic.qid for topic in topics}
    episodes: list[Episode] = []
    total = 0
    for _, row in json_rows(path):
        total += 1
        qid = qids.get(str(row["question"]).strip())
        labels = frozenset(docid for docid, grade in qrels.get(qid or "", {}).items() if grade > 0)
        if qid is not None and labels:
            queries = tuple(step["arg"] for step in row["steps"] if step["action"] == "search" and step["arg"].strip())
            episodes.append(Episode(qid, queries, labels, str(row.get("gold", ""))))
    return episodes, total


def replay(episode: Episode, index: Index, settings: ToolSettings, *, page: bool) -> Replayed:
    """One episode through a controller of its own. Raises AssertionError where a call fails."""
    texts: list[str] = []
    with Controller(index, settings) as controller:

        def call(tool: str, **fields: str) -> Mapping[str, object]:
            result = controller.call(tool, json.dumps({"reason": "replay", **fields}))
            assert result.failure is None, result.text
            texts.append(result.text)
            return result.details

        for query in episode.queries:
            details = call("search", query=query)
            if page:
                call("read_search_results", search_id=str(details["searchId"]))
        surfaced, previewed = set(controller.ledger.surfaced), set(controller.ledger.seen)
    answer = letters(episode.answer)
    return Replayed(
        len(surfaced & episode.labels) / len(episode.labels),
        len(previewed & episode.labels) / len(episode.labels),
        len(surfaced),
        len(previewed),
        None if answer in ("yes", "no", "") else answer in letters(" ".join(map(hits, texts))),
        sum(map(len, texts)),
    )


def hits(output: str) -> str:
    """An output without its head, where the query stands, which may hold the answer already."""
    return "\n".join(output.splitlines()[2:])


def letters(text: str) -> str:
    """In small letters, whatever is none or a digit as one blank."""
    return re.sub(r"[\W_]+", " ", text.lower()).strip()


def row(name: str, depth: int, found: Sequence[Replayed], *, page: bool) -> Row:
    answered = [item.answered for item in found if item.answered is not None]
    return {
        "tools": name + (" + page" if page else ""),
        "depth": depth,
        "surfaced recall": f"{fmean(item.surfaced for item in found):.3f}",
        "surfaced": round(fmean(item.surfaced_size for item in found), 1),
        "previewed recall": f"{fmean(item.previewed for item in found):.3f}",
        "previewed": round(fmean(item.previewed_size for item in found), 1),
        "answer shown": f"{fmean(answered):.3f}",
        "characters": round(fmean(item.characters for item in found)),
    }


def main() -> None:
    parser = options(__doc__ or "")
    data = Path(os.environ.get("SIRA_TEST_DATA", ""))
    parser.add_argument("--collection", type=Path, default=data / "hotpotqa-100", help="a folder in BEIR's layout")
    parser.add_argument("--split", default="dev", help="of its judgments (dev)")
    parser.add_argument(
        "--episodes", type=Path, default=data / "trajectories" / "reflexion_react_base_hotpotqa.jsonl", metavar="FILE"
    )
    arguments = parser.parse_args()
    collection = open_collection(f"beir:{arguments.collection}", arguments.split)
    episodes, total = matched(arguments.episodes, collection.topics, collection.qrels)
    if not episodes:
        raise SystemExit(f"{arguments.episodes}: none of its {total} questions is a topic of {arguments.collection}")
    searches = sum(len(episode.queries) for episode in episodes)
    settings = {
        "episodes": len(episodes),
        "of": total,
        "questions": len({episode.qid for episode in episodes}),
        "topics": len(collection.topics),
        "searches": searches,
    }
    report = Report("agent replay", settings)
    with tempfile.TemporaryDirectory() as folder:
        build_index(collection.documents, Path(folder) / "index", progress=False)
        with Index(Path(folder) / "index") as index:
            for page in (False, True):
                for name, profile in PROFILES.items():
                    say(f"  {name}{' + page' if page else ''}")
                    for depth in DEPTHS:
                        tools = replace(profile, depth=depth)
                        found = [replay(episode, index, tools, page=page) for episode in episodes]
                        report.rows.append(row(name, depth, found, page=page))
    report.notes.append("Recall is over what the queries of a recorded agent bring; no model chose pages here.")
    report.print(as_json=arguments.json)


if __name__ == "__main__":
    main()

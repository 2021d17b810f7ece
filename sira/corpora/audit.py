"""Do documents, topics and judgments of a collection fit together? An audit counts what does not, and stops nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sira.records import Qrels, Topic

EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """How many there are, and the first few of them in the order of the data."""

    count: int = 0
    examples: tuple[str, ...] = ()

    @classmethod
    def of(cls, items: Iterable[str]) -> Finding:
        found = list(items)
        return cls(len(found), tuple(found[:EXAMPLES]))

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        if not self.count:
            return "0"
        return f"{self.count} ({', '.join(self.examples)}{', ...' if self.count > len(self.examples) else ''})"


@dataclass(frozen=True, slots=True)
class Audit:
    """The counts of a collection and what is amiss with it.

    Judged documents that the corpus lacks stay in the judgments: they count in the denominator of recall and in the
    ideal ranking of nDCG. A judged topic that is not among the topics counts as 0 in every mean.
    """

    documents: int
    topics: int
    judgments: int
    relevant: int
    grades: Mapping[int, int]
    """grade -> number of judgments, ascending by grade"""
    dangling_docids: Finding
    """judged documents that the corpus lacks"""
    dangling_qids: Finding
    """judged topics that are not among the topics"""
    unjudged_topics: Finding
    topics_without_relevant: Finding
    """judged topics without any grade >= 1: 0 for every system"""
    empty_topics: Finding
    """topics whose text is empty or blank"""
    duplicate_topics: Finding
    """qids that stand twice or more among the topics"""

    @property
    def is_clean(self) -> bool:
        """Whether there is nothing to report beyond the counts."""
        return not any(finding for _, finding in self._findings())

    def lines(self) -> list[str]:
        """The report: the counts, then one line for each finding there is."""
        grades = ", ".join(f"grade {grade}: {count}" for grade, count in self.grades.items()) or "none"
        report = [
            f"documents {self.documents}, topics {self.topics}, judgments {self.judgments}, relevant {self.relevant}",
            f"judgments by grade: {grades}",
        ]
        return report + [f"{label}: {finding}" for label, finding in self._findings() if finding]

    def _findings(self) -> tuple[tuple[str, Finding], ...]:
        return (
            ("judged documents that the corpus lacks (they count in recall's denominator)", self.dangling_docids),
            ("judged topics that are not among the topics (they count as 0)", self.dangling_qids),
            ("topics without judgments (left out of the means)", self.unjudged_topics),
            ("judged topics without a relevant document (0 for every system)", self.topics_without_relevant),
            ("topics without text (they find nothing)", self.empty_topics),
            ("qids that stand more than once among the topics", self.duplicate_topics),
        )


def audit(docids: Iterable[str], topics: Iterable[Topic], qrels: Qrels) -> Audit:
    """Compare the ids of a corpus, its topics and its judgments. Streams `docids`: memory grows with the qrels only."""
    topics = list(topics)
    times = Counter(topic.qid for topic in topics)
    # A dictionary and not a set, so that the examples come in the order of the judgments.
    missing = dict.fromkeys(docid for judged in qrels.values() for docid in judged)
    documents = 0
    for docid in docids:
        documents += 1
        missing.pop(docid, None)
    grades = Counter(grade for judged in qrels.values() for grade in judged.values())
    return Audit(
        documents=documents,
        topics=len(topics),
        judgments=grades.total(),
        relevant=sum(count for grade, count in grades.items() if grade >= 1),
        grades=dict(sorted(grades.items())),
        dangling_docids=Finding.of(missing),
        dangling_qids=Finding.of(qid for qid in qrels if qid not in times),
        unjudged_topics=Finding.of(qid for qid in times if qid not in qrels),
        topics_without_relevant=Finding.of(
            qid for qid, judged in qrels.items() if not any(grade >= 1 for grade in judged.values())
        ),
        empty_topics=Finding.of(topic.qid for topic in topics if not topic.text.strip()),
        duplicate_topics=Finding.of(qid for qid, count in times.items() if count > 1),
    )

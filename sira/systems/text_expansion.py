"""Systems that differ only in the prompt and in how a model's text joins the query: rows of one table.

The joined text is searched as plain BM25: a word weighs its frequency in it. The texts come from a recorded store, or
from a model; how often the query stands before them is the row's rule, unless the store tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sira.compile import CompileSettings, compile_sketch
from sira.lucene.reader import Index
from sira.program import Program, Scoring, TermClause
from sira.records import Topic
from sira.systems.base import Answer, Stopwatch
from sira.systems.modes import search_program
from sira.systems.texts import Texts

MAX_TEXT_CHARACTERS = 50_000
"""Of the texts of one topic that are searched: an endpoint that does not keep to `max_tokens` may send any number."""


@dataclass(frozen=True, slots=True)
class TextMethod:
    """One row: how a text is asked for, and how it joins the query.

    The query stands `repeats` times before the texts; with `beta` as often as the texts are longer than it, in
    characters, divided by beta, and at least once; `interleaved`: once before each text. `samples` replies to each of
    `prompts`; `chained`: each prompt works on the reply to the one before, and the last reply is the text. `documents`
    of a first search (plain BM25, cut to `characters` each) go into the prompt. `max_tokens` bounds a reply.
    """

    name: str
    paper: str
    prompts: tuple[str, ...]
    repeats: int = 1
    beta: int | None = None
    interleaved: bool = False
    samples: int = 1
    chained: bool = False
    documents: int = 0
    characters: int = 2000
    max_tokens: int = 128

    @property
    def calls(self) -> int:
        """LLM calls a topic, as the method has it."""
        return len(self.prompts) * self.samples

    @property
    def searches(self) -> int:
        """Searches a topic, that for the documents of the prompt included."""
        return 2 if self.documents else 1

    def joined(self, query: str, texts: Sequence[str], query_repeats: int | None = None) -> str:
        """The text that is searched; the query alone where there is no text. Of the texts MAX_TEXT_CHARACTERS count."""
        texts = list(_within(texts, MAX_TEXT_CHARACTERS))
        text = " ".join(texts)
        if not text:
            return query
        if query_repeats is None and self.interleaved:
            return " ".join(part for one in texts for part in (query, one))
        count = self.repeated(query, text) if query_repeats is None else query_repeats
        return " ".join([query] * count + [text])

    def repeated(self, query: str, text: str) -> int:
        """How often the query stands before the text by the row's rule."""
        if self.beta is None:
            return self.repeats
        return max(1, len(text) // max(1, len(query)) // self.beta)


def _within(texts: Iterable[str], most: int) -> Iterator[str]:
    """The texts up to `most` characters in all, the last one cut between words."""
    for text in texts:
        if len(text) > most:
            yield text[: most + 1].rpartition(" ")[0] or text[:most]
            return
        yield text
        most -= len(text)


_JAGERMAN = "Jagerman et al. 2023, arXiv 2305.03653"
_QUERY2DOC = "Wang, Yang and Wei 2023, arXiv 2303.07678"

TEXT_METHODS: Mapping[str, TextMethod] = {
    row.name: row
    for row in (
        # HyDE averages the vectors of the query and of its documents: here their words are summed.
        TextMethod("hyde", "Gao et al. 2022, arXiv 2212.10496", ("text-hyde",), samples=8),
        TextMethod("cot", _JAGERMAN, ("text-cot",), repeats=5),
        TextMethod("query2doc-zs", f"{_QUERY2DOC}; zero-shot as in {_JAGERMAN}", ("text-query2doc-zs",), repeats=5),
        TextMethod("query2doc-fs", _QUERY2DOC, ("text-query2doc-fs",), repeats=5),
        TextMethod("query2doc-cot", f"{_QUERY2DOC}; reasons as in {_JAGERMAN}", ("text-query2doc-cot",), repeats=5),
        TextMethod("query2e", _JAGERMAN, ("text-query2e",), repeats=5),
        TextMethod("genqr", "Wang et al. 2023, arXiv 2308.00415", ("text-genqr",), samples=5),
        TextMethod("mugi", "Zhang et al. 2024, arXiv 2401.06311", ("text-mugi",), beta=5, samples=5),
        TextMethod(
            "lamer", "Shen et al. 2023, arXiv 2304.14233", ("text-lamer",), interleaved=True, samples=5, documents=10
        ),
        TextMethod(
            "csqe",
            "Lei et al. 2024, arXiv 2402.18031",
            ("text-query2doc-zs", "text-csqe"),
            repeats=2,
            samples=2,
            documents=10,
        ),
        TextMethod(
            "qa_expand",
            "Seo and Lee 2025, arXiv 2502.08557",
            ("text-qa-questions", "text-qa-answers", "text-qa-selection"),
            repeats=3,
            chained=True,
        ),
    )
}
"""The rules are those of the runs of QueryGym (arXiv 2604.27421) on which they are checked."""


@dataclass(frozen=True, slots=True)
class TextExpansion:
    """One method with the texts of the topics by qid. A topic without text is searched as plain BM25."""

    method: TextMethod
    texts: Mapping[str, Texts]
    scoring: Scoring

    def answer(self, topic: Topic, index: Index, k: int) -> Answer:
        found, watch = self.texts.get(topic.qid), Stopwatch()
        with watch.timing("compile"):
            program = self.program(topic, index)
        answer = search_program(index, program, k, watch=watch)
        if found is None:
            return answer
        calls = self.method.calls if found.calls is None else found.calls
        return replace(answer, llm_calls=calls, usage=found.usage, searches=self.method.searches)

    def program(self, topic: Topic, index: Index) -> Program:
        """Plain BM25 of the joined text; clauses of words that the query lacks have the method as their source."""
        found = self.texts.get(topic.qid)
        joined = self.method.joined(topic.text, found.texts, found.query_repeats) if found else topic.text
        settings = CompileSettings(scoring=self.scoring)
        program = compile_sketch(Topic(topic.qid, joined), None, index, settings)
        own = set(index.analyze([topic.text])[0])
        clauses = tuple(
            replace(clause, source=self.method.name)
            if isinstance(clause, TermClause) and clause.term not in own
            else clause
            for clause in program.clauses
        )
        return replace(program, clauses=clauses, text=topic.text)


def first_documents(
    method: TextMethod, index: Index, scoring: Scoring, *, own: bool = True
) -> Callable[[Topic], list[str]] | None:
    """What finds the documents for the prompts of a method: the first hits of plain BM25, each cut to `characters`.

    Without `own` the document whose docid is the qid is none of them. None for a method that reads no documents.
    """
    if not method.documents:
        return None

    def found(topic: Topic) -> list[str]:
        plain = compile_sketch(topic, None, index, CompileSettings(scoring=scoring))
        hits = index.search(plain, method.documents + (not own))
        kept = (hits if own else hits.without(topic.qid)).top(method.documents)
        return [item.contents[: method.characters] for item in index.documents(kept.docids) if item]

    return found

"""The demonstration with a genuine model: what it proposes for one question and for the documents BM25 finds first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from sira.analysis.english import analyze
from sira.compile import CompileSettings, compile_sketch
from sira.expand.config import ExpandConfig
from sira.expand.task import Task, fit_for
from sira.filters.rules import FilterSettings, Rules, holder_of_terms, judge
from sira.llm import Generator, ModelSettings, open_generator
from sira.llm.sketches import Sketched, sketch_topics
from sira.lucene.reader import Index
from sira.program import Program
from sira.prompts import load_prompt
from sira.records import Ranking, Status, Topic, Verdict

DOCUMENTS = 3
MAX_TOKENS = 300
"""A small model that loops is stopped there."""


@dataclass(frozen=True, slots=True)
class LiveDocument:
    """What the model proposed for one document, and the filters' verdict on each phrase."""

    docid: str
    status: Status
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Live:
    """One question, live: its sketch and program, the rankings without and with it, and documents expanded."""

    topic: Topic
    sketched: Sketched
    program: Program
    before: Ranking
    after: Ranking
    documents: tuple[LiveDocument, ...]


def live(index: Index, question: str, say: Callable[[str], None]) -> Live:
    """Ask the local model for a sketch of the question and for phrases of the first documents.

    Raises EnvironmentFault where the model is not installed.
    """
    topic = Topic("q", question)
    say("starting the model")
    with closing(open_generator(ModelSettings.model_validate({"backend": "local"}))) as generator:
        say("the model sketches the question")
        prompt = load_prompt("query-brief", side="query")
        (sketched,) = sketch_topics([topic], generator, prompt, max_tokens=MAX_TOKENS)
        before = index.search(compile_sketch(topic, None, index, CompileSettings()), 10)
        program = compile_sketch(topic, sketched.sketch, index, CompileSettings())
        after = index.search(program, 10)
        say(f"the model reads {min(DOCUMENTS, len(before))} documents")
        documents = _expanded(index, before.docids[:DOCUMENTS], generator)
    return Live(topic, sketched, program, before, after, documents)


def _expanded(index: Index, docids: Sequence[str], generator: Generator) -> tuple[LiveDocument, ...]:
    config = ExpandConfig.model_validate(
        {
            "name": "live",
            "corpus": {"source": "python"},
            "model": {"backend": "local", "max_tokens": MAX_TOKENS},
            "prompt": {"name": "document-brief", "document_characters": 1500},
        }
    )
    task = Task.of(config)
    fit = fit_for(task, generator)
    documents = {docid: document for docid, document in zip(docids, index.documents(docids), strict=True) if document}
    prepared = [one for document in documents.values() if (one := task.prepare(document, fit)) is not None]
    replies = {reply.key: reply for reply in generator.generate(one.request for one in prepared)}
    found: list[LiveDocument] = []
    for docid, reply in ((docid, replies[docid]) for docid in documents if docid in replies):
        parsed = task.parse(reply)
        (terms,) = analyze([documents[docid].contents])
        verdicts = judge(
            parsed.phrases,
            Rules(FilterSettings()),
            analysed=analyze(parsed.phrases),
            holds=holder_of_terms(terms),
        )
        found.append(LiveDocument(docid, parsed.status, tuple(verdicts)))
    return tuple(found)

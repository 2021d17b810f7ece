"""How the topics of one system were answered, counted: routes, relaxations, searches, new pages, model's scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sira.systems.base import Answer


@dataclass(slots=True)
class Tally:
    """Counts over topics. `new_pages` has, for the first, second ... search of a topic, the topics that had one and the
    pages that no earlier search of theirs had found."""

    topics: int = 0
    searches: int = 0
    routes: Counter[str] = field(default_factory=Counter[str])
    fallbacks: int = 0
    relaxed: int = 0
    """Topics whose program as given found nothing, and that were loosened."""
    new_pages: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    pages_found: int = 0
    """Distinct documents that the several searches of topics found, summed over topics."""
    pages_delivered: int = 0
    """Of them those that the budget delivered."""
    over_budget: int = 0
    """Proposed searches that the budget did not run."""
    several: int = 0
    """Topics of several searches, or of one under their budget."""
    rerank_calls: int = 0
    rerank_topics: int = 0
    unscored: Counter[str] = field(default_factory=Counter[str])
    missing: int = 0
    """Topics that a recorded run lacks."""
    stops: Counter[str] = field(default_factory=Counter[str])
    """Topics of an agent by why their episode stopped."""
    shown: int = 0
    """Documents that an agent saw, summed over topics."""
    unanswered: int = 0
    """Calls of an agent, or for reranking, that got no reply for want of an endpoint."""

    def add(self, answer: Answer) -> Answer:
        """Count one answer; returns it."""
        note = answer.note
        self.topics += 1
        self.searches += answer.searches
        if route := note.get("route"):
            self.routes[route["action"]] += 1
            self.fallbacks += route["fallback"]
        self.relaxed += bool(note.get("relax", {}).get("steps"))
        for at, search in enumerate(note.get("several", {}).get("searches", [])):
            topics, pages = self.new_pages[at] if at < len(self.new_pages) else (0, 0)
            self.new_pages[at : at + 1] = [(topics + 1, pages + search["new"])]
        if several := note.get("several"):
            self.several += 1
            self.pages_found += several["unique"]
            self.pages_delivered += several["pages"]
            self.over_budget += several["over_budget"]
        if rerank := note.get("rerank"):
            self.rerank_topics += 1
            self.rerank_calls += rerank["calls"]
            self.unscored.update(rerank["unscored"])
            self.unanswered += rerank["unscored"].get("error", 0)
        self.missing += "run" in note
        if agent := note.get("agent"):
            self.stops[agent["stop"]] += 1
            self.shown += len(agent["shown"])
            self.unanswered += agent["errors"]
        return answer

    def to_json(self) -> Mapping[str, Any]:
        """What there is to tell: keys that would be empty are left out."""
        told = {
            "routing": {**dict(sorted(self.routes.items())), "fallback": self.fallbacks} if self.routes else None,
            "relaxed": self.relaxed,
            "new_pages": [{"topics": topics, "pages": pages} for topics, pages in self.new_pages],
            "pages": {
                "topics": self.several,
                "found": self.pages_found,
                "delivered": self.pages_delivered,
                "over_budget": self.over_budget,
            }
            if self.several
            else None,
            "rerank": {
                "topics": self.rerank_topics,
                "calls": self.rerank_calls,
                "unscored": dict(sorted(self.unscored.items())),
            }
            if self.rerank_topics
            else None,
            "missing": self.missing,
            "agent": {"stops": dict(self.stops.most_common()), "shown": self.shown} if self.stops else None,
        }
        return {"topics": self.topics, "searches": self.searches, **{name: one for name, one in told.items() if one}}

    def lines(self) -> Iterator[str]:
        """One line for each thing there is to tell; of one topic its answer tells how it was routed and loosened."""
        if self.routes and self.topics > 1:
            ways = ", ".join(f"{count} {action}" for action, count in sorted(self.routes.items()))
            yield (
                f"routing: {ways}; {self.fallbacks} of {self.topics} topics fell back for low confidence "
                f"(fallback rate {self.fallbacks / self.topics:.1%})"
            )
        if self.relaxed and self.topics > 1:
            yield f"relaxation: {self.relaxed} of {self.topics} topics found nothing before it"
        if self.new_pages:
            yield f"several searches: new pages by search, means: {means(self.new_pages)}"
        if self.rerank_topics:
            lost = ", ".join(f"{count} {reason}" for reason, count in sorted(self.unscored.items())) or "none"
            yield f"rerank: {self.rerank_calls} calls; documents without a score: {lost}"


def means(new_pages: list[tuple[int, int]]) -> str:
    """`100, 23.5, 4`: the mean of new pages of the first, second ... search, over the topics that had one."""
    return ", ".join(f"{pages / topics:.4g}" for topics, pages in new_pages)

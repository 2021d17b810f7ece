"""How alike two rankings are, and how much of a ranking was judged, whatever the judgments say."""

from __future__ import annotations

from collections.abc import Collection, Sequence

PERSISTENCE = 0.9
"""p of rank-biased overlap: the first ten ranks have 86 % of the weight (Webber et al. 2010)."""


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], persistence: float = PERSISTENCE) -> float | None:
    """Rank-biased overlap (Webber, Moffat and Zobel, TOIS 2010) over the ranks there are, in [0, 1]: the mean over
    depths d of |first[:d] & second[:d]| / d, weighted by persistence ** (d - 1), whose weights are scaled to add up
    to 1. So two equal rankings have 1, however short. None where both are empty.
    """
    seen: tuple[set[str], set[str]] = set(), set()
    common, total, weights, weight = 0, 0.0, 0.0, 1.0
    for depth in range(max(len(first), len(second))):
        for ranking, own, other in ((first, *seen), (second, *reversed(seen))):
            if depth < len(ranking):
                common += ranking[depth] in other
                own.add(ranking[depth])
        total += weight * common / (depth + 1)
        weights += weight
        weight *= persistence
    return total / weights if weights else None


def jaccard(first: Sequence[str], second: Sequence[str], k: int) -> float | None:
    """Documents that are in the first k of both, over those that are in the first k of either; None where both are
    empty."""
    either = set(first[:k]) | set(second[:k])
    return len(set(first[:k]) & set(second[:k])) / len(either) if either else None


def judged_share(ranking: Sequence[str], judged: Collection[str], k: int) -> float | None:
    """The share of the first k documents, or of as many as there are, that have a judgment of any grade; None without
    a document."""
    top = ranking[:k]
    return sum(docid in judged for docid in top) / len(top) if top else None

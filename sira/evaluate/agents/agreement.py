"""Do several judges say the same? Percent agreement, Cohen's kappa of each pair, Krippendorff's alpha of all.

Sources: Cohen, Educational and Psychological Measurement 20 (1960); Krippendorff, Content Analysis (nominal data, any
number of judges, any gaps).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

Labels = Mapping[str, bool]
"""qid -> verdict, of the questions that a judge could judge."""


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two judges over the `n` questions that both judged. `agreement` is a share, None without such a question; `kappa`
    is None where it is not defined: both judges say one and the same of everything."""

    judges: tuple[str, str]
    n: int
    agreement: float | None
    kappa: float | None
    differ: tuple[str, ...]
    """The qids on which they differ."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """`alpha` is over the `n` questions of at least two verdicts; None where it is not defined."""

    pairs: tuple[PairAgreement, ...]
    alpha: float | None
    n: int


def agreement(judges: Mapping[str, Labels]) -> Agreement:
    """Every pair in the order given, and all judges at once."""
    pairs = tuple(_pair((a, b), judges[a], judges[b]) for a, b in combinations(judges, 2))
    return Agreement(pairs, *_krippendorff(judges))


def _pair(names: tuple[str, str], a: Labels, b: Labels) -> PairAgreement:
    both = [qid for qid in a if qid in b]
    if not both:
        return PairAgreement(names, 0, None, None, ())
    n = len(both)
    observed = sum(a[qid] == b[qid] for qid in both) / n
    yes_a, yes_b = sum(a[qid] for qid in both) / n, sum(b[qid] for qid in both) / n
    expected = yes_a * yes_b + (1 - yes_a) * (1 - yes_b)
    kappa = (observed - expected) / (1 - expected) if expected < 1 else None
    return PairAgreement(names, n, observed, kappa, tuple(qid for qid in both if a[qid] != b[qid]))


def _krippendorff(judges: Mapping[str, Labels]) -> tuple[float | None, int]:
    """Alpha = 1 - (n - 1) * sum_u (2 yes_u no_u / (m_u - 1)) / (2 yes no) over the questions u of m_u >= 2 verdicts,
    with `yes`, `no` and n = yes + no counted over these."""
    units: list[tuple[int, int]] = []
    for qid in dict.fromkeys(qid for labels in judges.values() for qid in labels):
        said = [labels[qid] for labels in judges.values() if qid in labels]
        if len(said) > 1:
            units.append((sum(said), len(said) - sum(said)))
    yes, no = sum(unit[0] for unit in units), sum(unit[1] for unit in units)
    if not yes or not no:
        return None, len(units)
    observed = sum(a * b / (a + b - 1) for a, b in units)
    return 1 - (yes + no - 1) * observed / (yes * no), len(units)

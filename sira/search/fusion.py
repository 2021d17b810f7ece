"""Fusion: several rankings of one topic into one, of sira's own searches or of runs from elsewhere (dense, sparse).

Reciprocal rank fusion is plain Python, equal to ranx's bit for bit. The other methods of `fuse_runs` are those of ranx
(Bassani and Romelli 2022), which gets the documents in the order of a Ranking (score, then docid); what comes out is in
that order too, whatever ranx does with ties.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from sira.errors import InputError
from sira.records import Ranking, Run
from sira.search.ranx_library import LOCK, quiet, ranx_and_numba

RRF_K = 60
"""Of Cormack, Clarke and Buettcher (2009)."""
RBC_PHI = 0.8

Method = Literal["rrf", "isr", "rbc", "bordafuse", "wsum", "sum", "mnz", "max", "min"]
"""`rrf`, `isr`, `rbc` and `bordafuse` read ranks alone; the others (CombSUM and its kin) read scores. The methods of
ranx that are trained on judgements are left out: their training belongs to an experiment."""
Norm = Literal["none", "min-max", "max", "sum", "zmuv", "rank"]

_BY_RANK = frozenset[Method]({"rrf", "isr", "rbc", "bordafuse"})
_PARAMETERS: Mapping[Method, str] = {"rrf": "k", "rbc": "phi", "wsum": "weights"}


@dataclass(frozen=True, slots=True)
class Fused:
    """The fused run: every topic of any input, in the order of its first appearance.

    `missing` has one number for each input run: the topics of the fused run that it lacks or has without a document.
    They are fused from the other runs.
    """

    run: Run
    missing: tuple[int, ...]


def reciprocal_rank_fusion(rankings: Sequence[Ranking], k: int = RRF_K) -> Ranking:
    """score(d) = sum over the rankings that hold d of 1 / (k + rank), ranks from 1; equal to ranx's, bit for bit."""
    if k < 0:
        raise InputError(f"rrf: k = {k}: give 0 or more")
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, docid in enumerate(ranking.docids, start=1):
            scores[docid] = scores.get(docid, 0.0) + 1 / (k + rank)
    return Ranking.from_scores(scores)


def fuse_runs(
    runs: Sequence[Run],
    method: Method = "rrf",
    params: Mapping[str, Any] | None = None,
    *,
    norm: Norm | None = None,
    k: int | None = None,
    name: str | None = None,
) -> Fused:
    """Fuse two or more runs.

    `params`: `k` of rrf (60), `phi` of rbc (0.8), `weights` of wsum, one finite number a run (1 / number of runs each).
    `norm` makes the scores of a topic comparable first; None stands for min-max where the method reads scores, and for
    none where it reads ranks. A run adds nothing to a document that it lacks; max and min look at the runs that hold
    it, mnz multiplies by their number. `k` cuts each fused ranking.

    Raises InputError for what does not fit, EnvironmentFault where ranx cannot be imported.
    """
    options = fusion_options(method, params or {}, norm, len(runs))
    norm = norm or ("none" if method in _BY_RANK else "min-max")
    qids = list(dict.fromkeys(qid for run in runs for qid in run.rankings))
    tables = [{qid: run.rankings.get(qid, Ranking()) for qid in qids} for run in runs]
    missing = tuple(sum(not ranking for ranking in table.values()) for table in tables)
    if method == "rrf":  # ranx would compile for seconds to the same scores
        found = {qid: reciprocal_rank_fusion([table[qid] for table in tables], options["k"]) for qid in qids}
    else:
        found = ranx_fusion(tables, method, norm, options)
    rankings = {qid: found.get(qid, Ranking()) for qid in qids}
    if k is not None:
        rankings = {qid: ranking.top(k) for qid, ranking in rankings.items()}
    return Fused(Run(name or f"{method}({','.join(run.name for run in runs)})", rankings), missing)


def fusion_options(method: Method, params: Mapping[str, Any], norm: Norm | None, runs: int) -> dict[str, Any]:
    """The checked parameters of a fusion of so many runs, as ranx takes them. Raises as `fuse_runs`, before any run is
    read."""
    if runs < 2:
        raise InputError(f"fusion of {runs} run(s): give two or more")
    if method not in get_args(Method):
        raise InputError(f"fusion method {method!r} is not known: choose {', '.join(get_args(Method))}")
    if norm is not None and norm not in get_args(Norm):
        raise InputError(f"normalisation {norm!r} is not known: choose {', '.join(get_args(Norm))}")
    if norm not in (None, "none") and method in _BY_RANK:
        raise InputError(f"fusion by {method} reads ranks, which normalisation {norm!r} does not change: leave it out")
    return _options(method, params, runs)


def _options(method: Method, params: Mapping[str, Any], runs: int) -> dict[str, Any]:
    known = _PARAMETERS.get(method)
    for name in params:
        if name != known:
            has = f"its parameter is {known}" if known else "it has none"
            raise InputError(f"fusion by {method}: there is no parameter {name!r}: {has}")
    match method:
        case "rrf":
            k: Any = params.get("k", RRF_K)
            if not isinstance(k, int) or isinstance(k, bool) or k < 0:
                raise InputError(f"fusion by rrf: k = {k!r}: give an integer >= 0")
            return {"k": k}
        case "rbc":
            phi: Any = params.get("phi", RBC_PHI)
            if not _number(phi) or not 0 < phi < 1:
                raise InputError(f"fusion by rbc: phi = {phi!r}: give a number between 0 and 1, both excluded")
            return {"phi": float(phi)}
        case "wsum":
            weights: Any = params.get("weights", [1 / runs] * runs)
            listed = list(cast("Sequence[Any]", weights)) if isinstance(weights, (list, tuple)) else []
            if len(listed) != runs or not all(map(_number, listed)):
                raise InputError(f"fusion by wsum: weights = {weights!r}: give {runs} finite numbers, one a run")
            return {"weights": [float(weight) for weight in listed]}
        case _:
            return {}


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def ranx_fusion(
    tables: Sequence[Mapping[str, Ranking]], method: Method, norm: Norm, options: Mapping[str, Any]
) -> dict[str, Ranking]:
    """ranx's fusion of the topics that any table has documents for; its result in the order of a Ranking.

    All tables have the same topics. `options` are the method's own parameters.
    """
    qids = [qid for qid in tables[0] if any(table[qid] for table in tables)]
    if not qids:
        return {}
    ranx, numba = ranx_and_numba()
    with LOCK, quiet():
        runs: list[Any] = []
        for table in tables:
            run = ranx.Run()
            for qid in qids:
                # Filled by hand: ranx.Run(...) would sort by its own rule, and its methods by rank read this order.
                scores: Any = numba.typed.Dict.empty(numba.types.unicode_type, numba.types.float64)
                for docid, score in zip(table[qid].docids, table[qid].scores, strict=True):
                    scores[docid] = score
                run.run[qid] = scores
            runs.append(run)
        fused: Any = ranx.fuse(runs, norm=None if norm == "none" else norm, method=method, params=dict(options))
        return {str(qid): Ranking.from_scores(_pairs(results)) for qid, results in fused.run.items()}


def _pairs(results: Any) -> list[tuple[str, float]]:
    return [(str(docid), float(score)) for docid, score in results.items()]

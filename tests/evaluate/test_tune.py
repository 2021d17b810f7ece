"""The grid and the choice, without an index: what is tried, what is chosen, and what the held-out figure counts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sira.corpora.collection import Collection
from sira.errors import InputError
from sira.evaluate.config import CollectionConfig
from sira.evaluate.inputs import Inputs
from sira.evaluate.tune import TuneSettings, choose, tune
from sira.evaluate.tune_data import check_development
from sira.evaluate.tune_space import PARAMETERS, Parameter, Point, Space, parse_parameter

K1 = Parameter("k1", "k1", (0.0, 1.0, 2.0))
B = Parameter("b", "b", (0.0, 0.5, 1.0))
QIDS = [f"q{number}" for number in range(20)]


def hill(point: Point) -> dict[str, float]:
    """Highest at k1 = 1.5, b = 0.25, for every topic."""
    return {qid: 1 - abs(point[0] - 1.5) / 4 - abs(point[1] - 0.25) / 4 for qid in QIDS}


def test_the_coarse_grid_starts_at_the_default_and_holds_it() -> None:
    space = Space((K1, B), (0.9, 0.5))
    points = list(space.coarse())
    assert points[0] == (0.9, 0.5)
    assert len(points) == len(set(points)) == space.size() == 4 * 3


def test_finer_grids_halve_the_way_to_the_neighbours_and_stay_inside() -> None:
    space = Space((K1, PARAMETERS["tau"]), (1.0, 0.05))
    axes, points = space.finer(space.axes(), (2.0, 0.05))
    assert axes == ((1.5, 2.0), (0.02236, 0.05, 0.1))
    assert len(points) == 2 * 3 - 1
    assert space.finer(axes, (1.5, 0.1))[0] == ((1.5, 1.75), (0.07071, 0.1))


def test_k1_is_parted_by_ratios_since_it_goes_to_100() -> None:
    space = Space((parse_parameter("k1=0.9,10,100"),), (0.9,))
    assert space.finer(space.axes(), (10.0,))[0] == ((3.0, 10.0, 31.62),)


def test_the_refined_choice_finds_the_top_that_the_coarse_grid_misses() -> None:
    space = Space((K1, B), (1.0, 0.5))
    assert choose(space, hill, QIDS, rounds=0) == (1.0, 0.5)
    assert choose(space, hill, QIDS, rounds=1) == (1.5, 0.25)


def test_of_equal_points_the_default_stays() -> None:
    assert choose(Space((K1, B), (1.0, 0.5)), lambda _: dict.fromkeys(QIDS, 0.5), QIDS, rounds=2) == (1.0, 0.5)


def test_each_fold_is_counted_by_a_choice_made_without_it() -> None:
    """One topic alone gains by k1 = 2, hugely; the others lose. Without it the choice is another one."""
    space = Space((K1,), (1.0,))

    def values(point: Point) -> Mapping[str, float]:
        others = 0.5 if point[0] == 1.0 else 0.4
        return dict.fromkeys(QIDS, others) | {"q7": 9.0 if point[0] == 2.0 else 0.0}

    found = tune(space, values, TuneSettings(folds=5, rounds=0))
    assert found.chosen == (2.0,)
    assert found.in_sample == pytest.approx((19 * 0.4 + 9) / 20)
    assert sorted(found.by_fold) == [(1.0,), (2.0,), (2.0,), (2.0,), (2.0,)]
    # Its own fold is counted at k1 = 1, where it has nothing; the other 16 topics at k1 = 2.
    assert found.held_out_mean == pytest.approx((16 * 0.4 + 3 * 0.5) / 20)
    assert found.held_out.difference < 0
    assert not found.better


def test_a_tuning_is_the_same_each_time_and_a_real_gain_is_told() -> None:
    space = Space((K1, B), (0.0, 1.0))
    first, second = (tune(space, hill, TuneSettings(), measure="nDCG@10") for _ in range(2))
    assert first == second
    assert first.better
    assert first.held_out_mean == pytest.approx(first.in_sample)
    assert (first.held_out.system, first.held_out.baseline, first.held_out.n) == ("tuned, held out", "default", 20)


def test_a_choice_at_the_end_of_its_grid_is_told() -> None:
    space = Space((K1, B), (1.0, 0.5))
    assert space.at_border((2.0, 0.25)) == ("k1",)
    assert space.at_border((1.5, 0.25)) == ()
    assert Space((K1, B), (2.0, 0.5)).at_border((2.0, 0.25)) == ()  # where it was before
    assert Space((PARAMETERS["b"],), (0.4,)).at_border((1.0,)) == ()  # no b lies beyond


def test_own_values_and_unknown_parameters() -> None:
    assert parse_parameter("k1=1.2,0.6").values == (0.6, 1.2)
    assert parse_parameter("k1=25,1:3:1").values == (1.0, 2.0, 3.0, 25.0)
    assert parse_parameter("lambda").key == "sketch_weight"
    wrong = {"mu": "choose k1, b, lambda, tau, w_e", "k1=": "numbers", "b=0.1:0.5": "numbers", "k1=-1": ">= 0"}
    for text, words in wrong.items():
        with pytest.raises(InputError, match=words):
            parse_parameter(text)
    with pytest.raises(InputError, match="given twice"):
        Space((K1, K1), (1.0, 1.0))


def test_settings_out_of_range_and_too_few_topics_are_refused() -> None:
    with pytest.raises(InputError, match="two or more"):
        TuneSettings(folds=1)
    with pytest.raises(InputError, match="rounds"):
        TuneSettings(rounds=-1)
    with pytest.raises(InputError, match="20 topics for 21 folds"):
        tune(Space((K1, B), (1.0, 0.5)), hill, TuneSettings(folds=21))


def opened(source: str, split: str | None = None, qrels: str | None = None) -> Inputs:
    """What is known of a collection once it is open, without its files."""
    config = CollectionConfig(name="c", source=source, split=split, qrels=qrels)
    collection = Collection("c", source, split, lambda: iter(()), lambda: (), dict, ignore_self_hits=False)
    return Inputs(config, collection, (), {}, ignore_self_hits=False)


@pytest.mark.parametrize(
    ("source", "split", "qrels"),
    [
        ("irds:beir/nfcorpus/dev", None, None),
        ("beir/fever/train", None, None),
        ("jsonl:test-collections/pots.jsonl", None, "judgments/train.qrels"),
        ("jsonl:pots.jsonl", "validation", None),
        ("jsonl:pots.jsonl", "dev2", "mine.qrels"),
    ],
)
def test_splits_that_are_named_for_development_are_taken(source: str, split: str | None, qrels: str | None) -> None:
    if split == "dev2":
        with pytest.raises(InputError, match="--development"):
            check_development(opened(source, split, qrels), declared=False)
    assert check_development(opened(source, split, qrels), declared=split == "dev2")


@pytest.mark.parametrize(
    ("source", "split", "qrels"),
    [
        ("irds:beir/scifact/test", None, None),
        ("beir/scifact/test", None, None),
        ("beir:scifact", "test", None),
        ("jsonl:pots.jsonl", None, "heldout.qrels"),
        ("jsonl:pots.jsonl", "dev", "train-test.tsv"),
        ("irds:beir/scifact/test", None, "dev.tsv"),
        ("beir:scifact", "tests2019", None),
        ("jsonl:pots.jsonl", None, "dev-testset.tsv"),
        ("browsecomp-plus:folder", "evidence", None),
    ],
)
def test_test_splits_are_refused_even_when_declared(source: str, split: str | None, qrels: str | None) -> None:
    with pytest.raises(InputError, match="development split"):
        check_development(opened(source, split, qrels), declared=True)

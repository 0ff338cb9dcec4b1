"""Scores of predicted draws and waits, by hand and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

import hetsched as hs
from hetsched.analysis import pareto, pinball, recalibrated


def watts(seed: int, nodes: int = 14) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.uniform(100, 400, (3, 1)) * rng.normal(1, 0.05, (3, nodes))


def test_ranks_within_classes_and_of_whole_nodes() -> None:
    x, y = watts(0), watts(1)
    x[0, :6] = np.nan
    y[1, 3] = np.nan
    found = hs.power.rank_scores(x, y, idle=2)
    both = ~np.isnan(x) & ~np.isnan(y)
    # The first class has eight nodes, too few for a rank.
    own = [spearmanr(x[c][both[c]], y[c][both[c]]).statistic for c in (1, 2)]
    assert found["class_rank"] == pytest.approx(np.mean(own))
    assert found["idle_rank"] == pytest.approx(own[1])
    relative = [np.where(both, side, np.nan) for side in (x, y)]
    relative = [np.nanmean(side / np.nanmean(side, axis=1, keepdims=True) - 1, axis=0) for side in relative]
    assert found["whole_rank"] == pytest.approx(spearmanr(*relative).statistic)
    assert found["level_mape_percent"] == pytest.approx(100 * np.mean(np.abs(y - x)[both] / x[both]))


def test_one_number_a_class_has_no_ranks() -> None:
    x = watts(0)
    found = hs.power.rank_scores(x, np.broadcast_to(x.mean(axis=1, keepdims=True), x.shape))
    assert found["whole_rank"] is None
    assert found["class_rank"] is None
    assert found["level_mape_percent"] == pytest.approx(found["no_variation_mape_percent"])


def test_few_nodes_and_no_common_cell_have_no_scores() -> None:
    assert hs.power.rank_scores(watts(0, 9), watts(1, 9))["whole_rank"] is None
    assert set(hs.power.rank_scores([[1.0, math.nan]], [[math.nan, 1.0]]).values()) == {None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [[1.0]]), "measured: found 1 dimensions"),
        (([[1.0]], [[1.0, 2.0]]), r"predicted: found the shape \(1, 2\)"),
        (([[1.0]], [[1.0]], 3), "idle: found `3`"),
    ],
)
def test_faults_of_tables(arguments: tuple, message: str) -> None:
    with pytest.raises(hs.ConfigError, match=message):
        hs.power.rank_scores(*arguments)


def test_pinball_by_hand() -> None:
    found = pinball([60.0], [[0.0, 60.0]], levels=(0.25, 0.75))
    assert found["pinball"] == pytest.approx(0.25 * math.log(2) / 2)
    assert (found["coverage_50"], found["coverage_90"]) == (1.0, None)
    assert pinball([0.0], [[60.0]], levels=(0.75,))["pinball"] == pytest.approx(0.25 * math.log(2))
    with pytest.raises(hs.ConfigError, match="quantiles_s"):
        pinball([1.0, 2.0], [[1.0] * 5])
    with pytest.raises(hs.ConfigError, match="levels"):
        pinball([1.0], [[1.0]], levels=(1.0,))


def test_pareto_is_by_pairs() -> None:
    rows = np.random.default_rng(0).integers(0, 4, (40, 3))

    def dominates(one: np.ndarray, other: np.ndarray) -> bool:
        return bool((one <= other).all() and (one < other).any())

    assert pareto(rows) == [not any(dominates(other, row) for other in rows) for row in rows]
    assert pareto([]) == []
    with pytest.raises(hs.ConfigError, match="rows"):
        pareto([1.0, 2.0])


def test_quantiles_are_moved_by_past_errors() -> None:
    """Shares hold for the next predictions if these stay wrong in the same way."""
    rng = np.random.default_rng(5)
    truth = rng.lognormal(7, 1.5, 4000)
    # Of a predictor that sees half of the error and none of the spread.
    centre = truth * rng.lognormal(0.7, 1.0, 4000)
    quantiles = centre[:, None] * np.array([0.9, 0.95, 1.0, 1.05, 1.1])
    moved = recalibrated(quantiles[2000:], quantiles[:2000], truth[:2000])
    before, after = (pinball(truth[2000:], own) for own in (quantiles[2000:], moved))
    assert before["coverage_90"] is not None
    assert before["coverage_90"] < 0.2
    assert after["coverage_90"] == pytest.approx(0.9, abs=0.02)
    assert after["coverage_50"] == pytest.approx(0.5, abs=0.03)
    assert float(after["pinball"] or 1) < float(before["pinball"] or 0)


def test_moved_quantiles_ascend_and_are_no_less_than_nothing() -> None:
    moved = recalibrated([[0.0, 10.0], [500.0, 500.0]], [[900.0, 0.0]] * 4, [0.0, 1.0, 2.0, 3.0], levels=[0.1, 0.9])
    assert (moved >= 0).all()
    assert (np.diff(moved, axis=1) >= 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [[1.0]], [1.0], [1.0]), "levels: found"),
        (([[1.0]], [[1.0, 2.0]], [1.0], [0.5]), "past_quantiles_s: found the shape"),
        (([[1.0]], np.zeros((0, 1)), [], [0.5]), "past_quantiles_s: found the shape"),
        (([1.0], [[1.0]], [1.0], [0.5]), "quantiles_s: found the shape"),
    ],
)
def test_what_cannot_be_moved_is_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(hs.ConfigError, match=message):
        recalibrated(*arguments)

"""The bound on throughput under a budget: cases by hand, and prices that are not the best."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetsched.analysis.throughput import Levels, cap_levels, certified, most_work_ratio, work_done


def levels(*power_w, bound=(1.0,), idle_w=50.0, least=0.2, exponent=1.0):
    """Nodes of 50 W static, each with its own draw, and a group for each share of `bound`."""
    nodes = len(power_w)
    return cap_levels(
        np.tile(np.array(power_w, dtype=float), (len(bound), 1)),
        idle_w=np.full(nodes, idle_w),
        static_w=np.full(nodes, 50.0),
        bound_ratio=np.array(bound),
        exponent=exponent,
        least_speed_ratio=least,
    )


def ratio(work, found, *, budget_w, idle_w=50.0):
    return most_work_ratio(
        np.array(work), found, idle_w=np.full(found.speed.shape[1], idle_w), budget_w=float(budget_w)
    )


class TestByHand:
    def test_nodes_are_all_there_is_where_watts_are_not_short(self):
        # Three nodes of 170 W under 1 kW: three node-seconds a second.
        assert ratio([1.5], levels(170, 170, 170), budget_w=1000) == pytest.approx(2.0)

    def test_watts_are_all_there_is_where_nodes_are_not_short(self):
        # 150 W idle, 180 W beyond: 120 W a node-second is one and a half.
        assert ratio([1.0], levels(170, 170, 170), budget_w=330) == pytest.approx(1.5)

    def test_the_frugal_node_works_first(self):
        # 100 W idle; 100 W beyond feed the node of 150 W, and 50 W a quarter of the one of 250 W.
        assert ratio([1.0], levels(150, 250), budget_w=250) == pytest.approx(1.25)

    def test_a_job_that_hangs_on_the_memory_works_best_under_a_low_cap(self):
        # One node and 30 W of the 120 W: at a fifth and more of the clock. b = 0: all of its speed.
        assert ratio([1.0], levels(170, bound=(0.0,)), budget_w=80) == pytest.approx(1.0)
        assert ratio([1.0], levels(170, bound=(1.0,)), budget_w=80) == pytest.approx(0.25)

    def test_both_kinds_of_jobs_keep_their_mix(self):
        # Two nodes, watts for all: half of the time each, whatever their bounds.
        assert ratio([1.0, 1.0], levels(170, 170, bound=(1.0, 0.2)), budget_w=400) == pytest.approx(1.0)
        assert ratio([3.0, 1.0], levels(170, 170, bound=(1.0, 0.2)), budget_w=400) == pytest.approx(0.5)

    def test_an_idle_draw_of_nothing_leaves_the_whole_budget(self):
        found = levels(100, 100, idle_w=0.0)
        assert ratio([1.0], found, budget_w=100, idle_w=0.0) == pytest.approx(1.0, rel=1e-6)

    def test_a_budget_that_the_idle_machine_eats_up_has_no_bound(self):
        with pytest.raises(ValueError, match="no throughput bound"):
            ratio([1.0], levels(170, 170), budget_w=50)


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("bound", [0.0, 0.2, 0.7, 1.0])
def test_no_cap_of_the_model_is_faster_than_its_levels_allow(bound, exponent):
    found = levels(170, bound=(bound,), exponent=exponent)
    watts, speed = found.power_w[0, 0] + 50.0, found.speed[0, 0]
    clock = np.linspace(0.2, 1.0, 2001)
    reached = 1.0 / (1.0 + bound * (1.0 / clock - 1.0))
    above = np.interp(50.0 + 120.0 * clock**exponent, watts, speed) - reached
    assert above.min() > -1e-12
    assert above.max() < 0.01
    assert (np.diff(watts) >= 0).all()


@given(
    worth=st.lists(st.floats(0.01, 10.0), min_size=2, max_size=2),
    price=st.floats(0.0, 1.0),
    budget_w=st.integers(170, 800),
)
def test_any_prices_give_a_bound_and_the_solvers_the_best(worth, price, budget_w):
    found, work = levels(140, 170, 230, bound=(1.0, 0.2)), np.array([1.0, 0.5])
    best = ratio(work, found, budget_w=budget_w)
    assert certified(work, found, left_w=budget_w - 150.0, worth=np.array(worth), price=price) >= best - 1e-9


def test_nodes_taken_together_to_find_prices_lift_the_bound_by_next_to_nothing():
    rng = np.random.default_rng(3)
    watts = 170.0 * rng.normal(1.0, 0.06, 100)
    whole = levels(*watts, bound=(1.0, 0.2))
    work, budget_w = np.array([30.0, 30.0]), 12_000.0
    # The optimum from prices of all nodes, each a kind of its own.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hetsched.analysis.throughput._KINDS", 100)
        exact = ratio(work, whole, budget_w=budget_w)
    coarse = ratio(work, whole, budget_w=budget_w)
    assert exact <= coarse + 1e-12
    assert coarse == pytest.approx(exact, rel=1e-3)


def test_work_counts_what_lies_in_the_window_at_its_speed():
    segments = pl.DataFrame(
        {"job_id": [1, 1, 2], "start_s": [0.0, 40.0, 0.0], "end_s": [40.0, 80.0, 10.0], "speed_ratio": [1.0, 0.5, 1.0]}
    )
    jobs = pl.DataFrame({"job_id": [1, 2], "app": ["a", "b"], "node_count": [3, 1]})
    # Job 1: 20 s at full speed and 20 s at half of it, on three nodes; job 2 has ended.
    assert work_done(segments, jobs, ["a", "b", "c"], from_s=20.0, until_s=60.0).tolist() == [90.0 / 40.0, 0.0, 0.0]


def test_levels_are_beyond_idle():
    found = levels(170, bound=(1.0,), idle_w=30.0)
    assert isinstance(found, Levels)
    # At the lowest speed 50 + 120 / 5 W, without a cap 170 W.
    assert found.power_w[0, 0, [0, -1]].tolist() == pytest.approx([44.0, 140.0])
    assert found.speed[0, 0, [0, -1]].tolist() == pytest.approx([0.2, 1.0])

"""The bound by hand: cases on paper, and what may not be asked for."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.analysis import attained_ratio
from hetsched.bound import energy_bound
from hetsched.bound.window import Demand, lower_bound, node_prices

NAME = "energy_bound_j"


def jobs(runtime_s: Sequence[float], **columns: Any) -> hs.Workload:
    """Jobs of application `a`, all submitted at 0, of one node each unless told."""
    count = len(runtime_s)
    frame = {"job_id": range(count), "submit_s": [0.0] * count, "runtime_s": runtime_s, "node_count": [1] * count}
    frame["app"] = ["a"] * count
    return hs.Workload.from_polars(pl.DataFrame({**frame, **columns}))


def nodes(power_w: Sequence[float], time_ratio: Sequence[float] | None = None) -> hs.Platform:
    """Nodes that draw this under application `a`, and run it at this pace."""
    table = hs.VariationTable(["a"], power_w=[power_w], time_ratio=None if time_ratio is None else [time_ratio])
    return hs.Platform.homogeneous(nodes=len(power_w), idle_w=10.0, tdp_w=500.0, actual=table)


def bound(workload: hs.Workload, platform: hs.Platform, **options: Any) -> float:
    """Energies of a run on the smallest free node numbers."""
    return hs.simulate(workload, platform, "fcfs", bound=True, **options).summary()[NAME]


class TestByHand:
    def test_the_cheapest_nodes_are_filled_for_the_whole_window(self) -> None:
        # Four jobs of 10 s on three nodes end at 20 s. Two nodes can take them all: 20 s × (100 W + 150 W).
        assert bound(jobs([10.0] * 4), nodes([300.0, 150.0, 100.0])) == pytest.approx(5000.0, rel=1e-9)

    def test_what_the_cheapest_node_cannot_take_goes_to_the_next(self) -> None:
        # 10 s, 10 s and 20 s side by side: a window of 20 s, so 20 s × 100 W and 20 s × 150 W.
        assert bound(jobs([10.0, 10.0, 20.0]), nodes([300.0, 150.0, 100.0])) == pytest.approx(5000.0, rel=1e-9)

    def test_a_run_that_places_so_reaches_it(self) -> None:
        result = hs.simulate(
            jobs([10.0] * 4), nodes([100.0, 150.0]), "fcfs:placement=lowest-power", bound=True
        ).summary()
        assert result[NAME] == pytest.approx(result["job_energy_j"], rel=1e-9)

    def test_slow_nodes_take_longer_and_hold_less(self) -> None:
        # Node 0: 100 W at half speed, 200 J a nominal second, and 10 of them in the window of 20 s (10 s × 2).
        # Node 1: 300 W. The window is 20 s: both jobs start at 0. Best: 10 s × 200 J/s + 10 s × 300 J/s.
        assert bound(jobs([10.0, 10.0]), nodes([100.0, 300.0], [2.0, 1.0])) == pytest.approx(5000.0, rel=1e-9)
        # A third job makes the run last 20 s too (10 s + 10 s on node 1): 10 nominal seconds at 200 J, 20 at 300 J.
        assert bound(jobs([10.0] * 3), nodes([100.0, 300.0], [2.0, 1.0])) == pytest.approx(8000.0, rel=1e-9)

    def test_a_wide_job_needs_different_nodes(self) -> None:
        # The job of two nodes runs 10 s in a window of 20 s; the cheapest node alone could hold 20 s of it, but not at
        # once: 10 s × (100 W + 200 W). The long job shares node 0's rest: 10 s × 100 W there and 10 s × 200 W.
        workload = jobs([10.0, 20.0], node_count=[2, 1])
        assert bound(workload, nodes([300.0, 200.0, 100.0])) == pytest.approx(3000.0 + 3000.0, rel=1e-9)

    def test_a_kill_cuts_slow_nodes_short(self) -> None:
        # Killed after 12 s: 10 nominal seconds take 12 s at half speed, not 20 s. 12 s × 100 W against 10 s × 130 W.
        # The second job, alone on node 1, only keeps the window open: it fills node 1 for 40 s at 130 W.
        workload = jobs([10.0, 40.0], walltime_s=[12.0, None])
        platform = nodes([100.0, 130.0], [2.0, 1.0])
        assert bound(workload, platform) == pytest.approx(1200.0 + 40 * 130.0, rel=1e-9)
        # Without the kill it is 20 s × 100 W there, and still node 1 is full.
        assert bound(workload, platform, kill_at_walltime=False) == pytest.approx(2000.0 + 40 * 130.0, rel=1e-9)

    def test_factors_multiply_the_measured_watts_or_the_nodes_own(self) -> None:
        # One job of 10 s measured at 200 W, one at nothing: nominal 500 W. Factors 1 and 0.8, one job on each node:
        # the hungrier one belongs on the thrifty node: 10 s × (200 W × 1 + 500 W × 0.8).
        table = hs.VariationTable(["*"], power_ratio=[[1.0, 0.8]])
        platform = hs.Platform.homogeneous(nodes=2, idle_w=10.0, tdp_w=500.0, actual=table)
        assert bound(jobs([10.0, 10.0], power_w=[200.0, None]), platform) == pytest.approx(6000.0, rel=1e-9)

    def test_nodes_of_two_classes_without_a_table(self) -> None:
        platform = hs.Platform([hs.NodeClass("gpu", 1, 100, 900), hs.NodeClass("cpu", 2, 100, 400, busy_w=350)])
        # Three jobs of 10 s fill the three nodes: no choice. Measured jobs draw alike everywhere.
        assert bound(jobs([10.0] * 3), platform) == pytest.approx(10 * (900 + 350 + 350), rel=1e-9)
        assert bound(jobs([10.0] * 3, power_w=[200.0] * 3), platform) == pytest.approx(6000.0, rel=1e-9)
        # Two jobs leave the gpu node out.
        assert bound(jobs([10.0] * 2), platform) == pytest.approx(7000.0, rel=1e-9)

    def test_alike_nodes_leave_nothing_to_gain(self) -> None:
        result = hs.simulate(
            jobs([7.0, 11.0, 13.0], node_count=[1, 2, 3]), nodes([120.0] * 4), "easy", bound=True
        ).summary()
        assert result[NAME] == pytest.approx(result["job_energy_j"], rel=1e-9)

    def test_an_application_without_a_row_and_one_of_none(self) -> None:
        # On two nodes, 10 s each: `b` and null draw the nominal 500 W wherever they are, `a` takes 100 W.
        workload = jobs([10.0] * 3, app=["a", "b", None])
        options = {"on_unknown_app": "nominal"}
        assert bound(workload, nodes([100.0, 400.0, 400.0]), **options) == pytest.approx(11_000.0, rel=1e-9)

    def test_jobs_still_running_do_not_count(self) -> None:
        # Stopped at 15 s: the job of 10 s ended, that of 60 s did not.
        result = hs.simulate(jobs([10.0, 60.0]), nodes([200.0, 100.0]), "fcfs", until_s=15.0, bound=True).summary()
        assert result[NAME] == pytest.approx(1000.0, rel=1e-9)
        assert result["job_energy_j"] == 10 * 200 + 15 * 100

    def test_nothing_to_run_takes_nothing(self) -> None:
        platform = nodes([100.0, 200.0])
        assert bound(jobs([10.0]).head(0), platform) == 0.0
        assert bound(jobs([0.0, 0.0]), platform) == 0.0
        assert bound(jobs([10.0], node_count=[3]), platform) == 0.0
        assert bound(jobs([10.0]), nodes([0.0, 0.0])) == 0.0


def test_any_prices_give_a_bound_and_the_solvers_the_best() -> None:
    rng = np.random.default_rng(1)
    workload, platform = jobs(rng.uniform(1, 100, 40)), nodes(rng.uniform(100, 300, 6), rng.uniform(0.9, 1.2, 6))
    result = hs.simulate(workload, platform, "fcfs")
    window_s = result.summary()["makespan_s"]
    grid = Demand.of(result.jobs, platform, kill_at_walltime=True).grid(10_000)
    prices = node_prices(grid, window_s)
    best_j = lower_bound(grid, window_s, prices, terms=40)
    for _ in range(200):
        other = np.maximum(prices * rng.uniform(0.5, 1.5, 6) + rng.normal(0, 30, 6), 0)
        assert lower_bound(grid, window_s, other, terms=40) <= best_j * (1 + 1e-9)


def test_a_wider_window_never_costs_more() -> None:
    rng = np.random.default_rng(2)
    platform = nodes(rng.uniform(100, 300, 6), rng.uniform(0.9, 1.2, 6))
    result = hs.simulate(jobs(rng.uniform(1, 100, 40)), platform, "fcfs")
    windows = result.summary()["makespan_s"] * np.array([1.0, 1.3, 2.0, 10.0, 1000.0])
    bounds = [energy_bound(result.jobs, platform, window_s=w, kill_at_walltime=True) for w in windows]
    assert all(later <= sooner * (1 + 1e-9) for sooner, later in pairwise(bounds))
    # In the end every job is on the node where it costs least.
    least = (platform.actual.power_w * platform.actual.time_ratio).min()
    assert bounds[-1] == pytest.approx(result.jobs["nominal_runtime_s"].sum() * least, rel=1e-9)


def test_it_comes_last_in_the_summary_and_only_when_asked_for(tmp_path) -> None:
    workload, platform = jobs([10.0]), nodes([100.0, 200.0])
    plain, asked = (hs.simulate(workload, platform, "fcfs", bound=bound) for bound in (False, True))
    gaps = ["gap_idle_j", "gap_energy_j", "gap_bound_j", "sleep_attained_ratio"]
    assert list(asked.summary()) == [*plain.summary(), NAME, *gaps]
    assert asked.provenance["options"]["bound"] is True
    asked.write(tmp_path)
    assert hs.read_result(tmp_path) == asked == hs.simulate(workload, platform, "fcfs", bound=True)


def test_rounding_never_lifts_it_above_the_only_schedule_there_is() -> None:
    # On alike nodes every placement costs the same, so only rounding tells the bound from the run.
    rng = np.random.default_rng(3)
    for _ in range(50):
        platform = nodes([rng.uniform(50, 500)] * 5)
        workload = jobs(rng.uniform(1e-3, 1e5, 30), node_count=rng.integers(1, 6, 30))
        result = hs.simulate(workload, platform, "easy", bound=True).summary()
        assert result["job_energy_j"] * (1 - 1e-9) <= result[NAME] <= result["job_energy_j"]


def test_shared_nodes_are_refused() -> None:
    platform = hs.Platform.homogeneous(nodes=2, idle_w=10.0, tdp_w=500.0, slots=4, exclusive=False)
    with pytest.raises(hs.ConfigError, match="bound: found `True`, expected False where jobs share nodes"):
        bound(jobs([10.0]), platform)


def test_true_or_false_is_asked_for() -> None:
    with pytest.raises(hs.ConfigError, match="bound: found `1`, expected true or false"):
        hs.simulate(jobs([10.0]), nodes([100.0]), bound=1)


def test_a_saving_is_a_share_of_what_was_there_to_save() -> None:
    shares = [attained_ratio(own, baseline_j=100.0, bound_j=80.0) for own in (100.0, 95.0, 80.0, 110.0, 70.0)]
    assert shares == [0.0, 0.25, 1.0, -0.5, 1.5]
    assert attained_ratio(100.0, baseline_j=100.0, bound_j=100.0 * (1 - 1e-12)) is None
    assert attained_ratio(0.0, baseline_j=0.0, bound_j=0.0) is None


def test_runs_in_several_threads_get_their_bounds_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    workload = jobs(rng.uniform(10.0, 100.0, 400).tolist())
    platforms = [nodes(rng.uniform(100.0, 400.0, 60).tolist()) for _ in range(8)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda platform: bound(workload, platform), platforms))
    assert together == [bound(workload, platform) for platform in platforms]

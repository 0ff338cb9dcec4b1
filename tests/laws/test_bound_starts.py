"""Laws of the bound given a run's starts: what it may not exceed, what does not change it, and its certificate."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given

import hetsched as hs
from hetsched.bound import StartsBound, energy_bound_starts
from hetsched.bound.given import FOREVER, Given
from hetsched.features.bound import outages_of
from hetsched.features.given_starts import given_of, spans_of
from hetsched.testing import platforms, policies, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning", "ignore::hetsched.errors.ResultWarning")
SEEDS = st.integers(0, 2**32 - 1)
NONE = np.empty(0, dtype=np.int64)
NO_OUTAGES = (NONE, NONE, NONE)


def case(seed: int, *, paces: bool, jobs: int = 30, nodes: int = 8) -> tuple[hs.Workload, hs.Platform]:
    """Jobs of two applications and several sizes on nodes that are all different."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "job_id": np.arange(jobs),
            "submit_s": np.sort(rng.uniform(0.0, 300.0, jobs)).round(3),
            "runtime_s": rng.uniform(1.0, 100.0, jobs).round(3),
            "node_count": rng.integers(1, 5, jobs),
            "app": rng.choice(["heat", "flow"], jobs),
        }
    )
    power_w = rng.uniform(200.0, 350.0, (2, 1)) * rng.normal(1.0, 0.1, (2, nodes)).clip(0.5)
    time_ratio = rng.uniform(0.9, 1.2, (2, nodes)) if paces else None
    table = hs.VariationTable(["heat", "flow"], power_w=power_w, time_ratio=time_ratio)
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=60.0, tdp_w=500.0, actual=table)
    return hs.Workload.from_polars(frame), platform


def summary_of(workload: hs.Workload, platform: hs.Platform, **options: Any) -> dict[str, Any]:
    return hs.simulate(workload, platform, "easy", bound="all", **options).summary()


@given(workloads(), platforms(), policies(), st.none() | st.integers(0, 30).map(float))
def test_no_run_draws_less(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, until_s: float | None
) -> None:
    summary = hs.simulate(workload, platform, policy, until_s=until_s, bound="starts").summary()
    assert summary["energy_bound_starts_j"] >= 0
    assert summary["energy_bound_starts_j"] + summary["bound_left_out_energy_j"] <= summary["job_energy_j"] * (
        1 + 1e-15
    )


@given(SEEDS)
def test_window_below_starts_below_run(seed: int) -> None:
    summary = summary_of(*case(seed, paces=False))
    assert summary["bound_left_out_jobs"] == 0
    assert summary["energy_bound_j"] <= summary["energy_bound_starts_j"] * (1 + 1e-12)
    assert summary["energy_bound_starts_j"] <= summary["job_energy_j"]


@given(workloads(), platforms(), policies(), st.none() | st.integers(0, 30).map(float))
def test_every_runs_own_starts_find_room(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, until_s: float | None
) -> None:
    """In an instant ends come before starts: else a job would find the nodes of the one before it still in use."""
    ended = hs.simulate(workload, platform, policy, until_s=until_s)._parts.ended
    assert ended is not None
    jobs, _ = given_of(ended)
    assert energy_bound_starts(jobs, spans_of(outages_of(ended))).unplaced == 0


@given(SEEDS)
def test_the_larger_of_both_bounds_holds_where_nodes_differ_in_speed(seed: int) -> None:
    summary = summary_of(*case(seed, paces=True))
    assert summary["bound_left_out_jobs"] == 0
    assert max(summary["energy_bound_j"], summary["energy_bound_starts_j"]) <= summary["job_energy_j"]


@given(SEEDS)
def test_alike_columns_of_a_table_leave_nothing_to_save(seed: int) -> None:
    workload, platform = case(seed, paces=True)
    table = platform.actual
    assert table is not None
    assert table.power_w is not None
    assert table.time_ratio is not None
    alike = hs.VariationTable(
        table.apps,
        power_w=np.repeat(table.power_w[:, :1], 8, axis=1),
        time_ratio=np.repeat(table.time_ratio[:, :1], 8, axis=1),
    )
    summary = summary_of(workload, platform.with_tables(actual=alike))
    assert summary["energy_bound_starts_j"] == pytest.approx(summary["job_energy_j"], rel=1e-12)
    assert summary["energy_blind_j"] == pytest.approx(summary["job_energy_j"], rel=1e-12)


@given(SEEDS)
def test_blind_energy_is_the_mean_over_all_renumberings_of_the_nodes(seed: int) -> None:
    """The policy reads nothing about nodes, so that its starts are the same on all of them."""
    workload, platform = case(seed, paces=False, jobs=12, nodes=4)
    table = platform.actual
    assert table is not None
    assert table.power_w is not None
    found = []
    for order in permutations(range(4)):
        turned = hs.VariationTable(table.apps, power_w=table.power_w[:, list(order)])
        found.append(hs.simulate(workload, platform.with_tables(actual=turned), "easy").summary()["job_energy_j"])
    blind_j = summary_of(workload, platform.with_tables(actual=turned))["energy_blind_j"]
    assert blind_j == pytest.approx(np.mean(found), rel=1e-12)


@given(SEEDS)
def test_alike_nodes_leave_nothing_to_save(seed: int) -> None:
    workload, _ = case(seed, paces=False)
    alike = hs.Platform.homogeneous(nodes=8, idle_w=60.0, tdp_w=500.0)
    summary = summary_of(workload, alike)
    assert summary["energy_bound_starts_j"] == pytest.approx(summary["job_energy_j"], rel=1e-12)
    assert summary["energy_blind_j"] == pytest.approx(summary["job_energy_j"], rel=1e-12)
    assert summary["placement_attained_ratio"] is None


@given(SEEDS, st.booleans())
def test_numbers_of_nodes_and_order_of_jobs_do_not_count(seed: int, paces: bool) -> None:
    workload, platform = case(seed, paces=paces)
    jobs = starts_of(workload, platform)
    rng = np.random.default_rng(seed)
    order = rng.permutation(platform.nodes)
    table = platform.actual
    assert table is not None
    turned = hs.VariationTable(
        table.apps,
        power_w=table.power_w[:, order],
        time_ratio=None if table.time_ratio is None else table.time_ratio[:, order],
    )
    others = bound(jobs.some(rng.permutation(len(jobs))), platform.with_tables(actual=turned))
    assert others.energy_j == pytest.approx(bound(jobs, platform).energy_j, rel=1e-12)


@given(SEEDS)
def test_a_job_of_n_nodes_is_n_jobs_of_one(seed: int) -> None:
    workload, platform = case(seed, paces=False)
    jobs = starts_of(workload, platform)
    cut = jobs.some(np.repeat(np.arange(len(jobs)), jobs.size))
    cut = Given(**{**fields(cut), "size": np.ones(len(cut), dtype=np.int64)})
    assert bound(cut, platform).energy_j == pytest.approx(bound(jobs, platform).energy_j, rel=1e-12)


@given(SEEDS)
def test_a_node_more_or_a_job_less_is_no_higher(seed: int) -> None:
    workload, platform = case(seed, paces=False)
    jobs = starts_of(workload, platform)
    least_j = bound(jobs, platform).energy_j
    for job in range(len(jobs)):
        assert bound(jobs.some(np.arange(len(jobs)) != job), platform).energy_j <= least_j
    table = platform.actual
    assert table is not None
    wider = hs.VariationTable(table.apps, power_w=np.column_stack([table.power_w, [290.0, 240.0]]))
    more = hs.Platform.homogeneous(nodes=9, idle_w=60.0, tdp_w=500.0, actual=wider)
    sets = np.ones((len(jobs.sets), 9), dtype=np.bool_)
    assert bound(Given(**{**fields(jobs), "sets": sets}), more).energy_j <= least_j * (1 + 1e-12)


@given(SEEDS, st.booleans(), st.integers(-(10**12), 10**12))
def test_all_starts_moved_alike_change_nothing(seed: int, paces: bool, by: int) -> None:
    workload, platform = case(seed, paces=paces)
    jobs = starts_of(workload, platform)
    moved = Given(**{**fields(jobs), "start": jobs.start + by})
    assert bound(moved, platform).energy_j == bound(jobs, platform).energy_j


@given(SEEDS, st.booleans(), st.booleans())
def test_the_certificate_gives_the_bound_and_no_prices_more(seed: int, paces: bool, fails: bool) -> None:
    workload, platform = case(seed, paces=paces)
    jobs = starts_of(workload, platform)
    outages = NO_OUTAGES
    if fails:
        # In the last second, in which few jobs are left.
        end = int((jobs.start + jobs.least).max())
        outages = (np.array([3]), np.array([end - 10**6]), np.array([end]))
    found = energy_bound_starts(jobs, outages, certified=True)
    assume(not fails or found.unplaced == 0)
    assert found.unplaced == 0
    certified_j = from_labels(found, outages)
    assert found.energy_j <= certified_j
    assert found.energy_j == pytest.approx(certified_j, rel=1e-12)
    rng = np.random.default_rng(seed)
    for scale in (0.5, 0.9, 1.1, 2.0):
        noise = rng.uniform(0.8, 1.2, platform.nodes)
        assert from_prices(jobs, found, outages, scale * noise) <= certified_j * (1 + 1e-12)


def prices_of(found: StartsBound) -> list[tuple[int, int, np.ndarray, slice]]:
    """First instant, end, prices by node and rows of each stretch, by the formula alone."""
    proof = found.proof
    assert proof is not None
    ends = np.append(proof.offsets[1:], len(proof.kind))
    stretches = []
    for start, end, first, last in zip(proof.start, proof.end, proof.offsets, ends, strict=True):
        rows = slice(int(first), int(last))
        worth = proof.label[rows, np.newaxis] - proof.cost[proof.kind[rows]]
        prices = np.maximum(worth.max(axis=0, initial=0.0), 0.0)[proof.node_kind]
        stretches.append((int(start), int(end), prices, rows))
    return stretches


def in_service(outages: tuple[np.ndarray, ...], at: int, nodes: int) -> np.ndarray:
    there = np.ones(nodes, dtype=np.bool_)
    node, start, end = outages
    there[node[(start <= at) & (at < end)]] = False
    return there


def from_labels(found: StartsBound, outages: tuple[np.ndarray, ...]) -> float:
    """The bound from the labels: worth of the units less prices of the nodes in service."""
    proof = found.proof
    assert proof is not None
    total = proof.base_j
    for start, end, prices, rows in prices_of(found):
        there = in_service(outages, start, len(prices))
        watts = float((proof.label[rows] * proof.units[rows]).sum()) - float(prices[there].sum())
        total += watts * (end - start) / 1e6
    return total


def from_prices(jobs: Given, found: StartsBound, outages: tuple[np.ndarray, ...], by: np.ndarray) -> float:
    """The bound from other prices: each job takes the nodes that are cheapest at them."""
    total, least = 0.0, jobs.least
    costs = costs_of(jobs)
    for start, end, prices, _ in prices_of(found):
        there = in_service(outages, start, len(prices))
        own = np.where(there, prices * by, np.inf)
        here = np.flatnonzero((jobs.start <= start) & (start < jobs.start + least))
        taken = sum(float(np.sort(costs[job] + own)[: jobs.size[job]].sum()) for job in here.tolist())
        total += (taken - float(own[there].sum())) * (end - start) / 1e6
    return total


def costs_of(jobs: Given) -> np.ndarray:
    """Watts of each job on each node, by rule 3."""
    costs = np.empty((len(jobs), jobs.sets.shape[1]))
    for cell in jobs.cells:
        lengths = cell.given.lengths(np.broadcast_to(cell.time, (len(cell.jobs), len(cell.nodes))))
        longer = np.maximum(lengths, cell.given.least[:, np.newaxis]) / cell.given.least[:, np.newaxis]
        costs[np.ix_(cell.jobs, cell.nodes)] = cell.draws(cell.given.own_w) * longer
    return costs


def bound(jobs: Given, platform: hs.Platform) -> StartsBound:
    return energy_bound_starts(Given(**{**fields(jobs), "platform": platform}), NO_OUTAGES)


def fields(jobs: Given) -> dict[str, Any]:
    return {name: getattr(jobs, name) for name in Given.__dataclass_fields__}


def starts_of(workload: hs.Workload, platform: hs.Platform) -> Given:
    """The jobs of a run as the bound takes them, from its frame."""
    result = hs.simulate(workload, platform, "easy")
    frame = result.jobs
    count, table = len(frame), platform.actual
    assert table is not None
    forever = np.full(count, FOREVER, dtype=np.int64)
    return Given(
        row=np.array([table.apps.index(app) for app in frame["app"]], dtype=np.int64),
        own_w=np.zeros(count),
        start=(frame["start_s"].to_numpy() * 1e6).round().astype(np.int64),
        size=frame["node_count"].cast(pl.Int64).to_numpy(),
        runtime=(frame["nominal_runtime_s"].to_numpy() * 1e6).round().astype(np.int64),
        pace=np.ones(count),
        comm=np.zeros(count, dtype=np.int64),
        walltime=forever,
        walltime_pace=np.ones(count),
        left=forever,
        fixed=np.full(count, -1, dtype=np.int64),
        may_use=np.zeros(count, dtype=np.int64),
        sets=np.ones((1, platform.nodes), dtype=np.bool_),
        platform=platform,
    )

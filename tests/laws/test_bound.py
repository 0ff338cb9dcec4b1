"""The bound lies below every schedule: of every policy, and of all schedules there are where they can be counted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.bound import energy_bound
from hetsched.testing import platforms, policies, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
LIMITS = st.fixed_dictionaries(
    {
        "kill_at_walltime": st.booleans(),
        "kill_grace_s": st.sampled_from([0.0, 0.0, 2.5]),
        "walltimes": st.sampled_from(["fixed", "stretch"]),
    }
)


@given(workloads(), platforms(), policies(), LIMITS, st.none() | st.integers(0, 30).map(float))
def test_no_run_draws_less(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, limits: dict[str, Any], until_s: float | None
) -> None:
    summary = hs.simulate(workload, platform, policy, until_s=until_s, bound=True, **limits).summary()
    assert 0 <= summary["energy_bound_j"] <= summary["job_energy_j"]


@given(workloads(max_jobs=4, max_nodes=3), platforms(max_nodes=3), policies(), LIMITS)
def test_no_schedule_there_is_draws_less(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, limits: dict[str, Any]
) -> None:
    result = hs.simulate(workload, platform, policy, bound=True, **limits)
    summary, jobs = result.summary(), result.jobs.filter(pl.col("state").is_in(["completed", "timeout"]))
    if jobs.is_empty():
        assert summary["energy_bound_j"] == 0
        return
    end_s = result.jobs["submit_s"].min() + summary["makespan_s"]
    best_j = least_energy(jobs, platform, end_s=end_s, limits=limits)
    # The run is one of them; float sums may differ from the engine's integers in their last digits.
    assert summary["energy_bound_j"] <= best_j * (1 + 1e-12)
    assert best_j <= summary["job_energy_j"] * (1 + 1e-9) + 1e-9


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans(), st.integers(2, 40))
def test_a_coarse_grid_is_a_bound_too(seed: int, is_ratio: bool, is_tight: bool, cells: int) -> None:
    workload, platform = many_kinds(seed, is_ratio=is_ratio)
    result = hs.simulate(workload, platform, "easy:placement=lowest-power")
    window_s = result.summary()["makespan_s"] * (1.0 if is_tight else 3.0)
    sharp_j = energy_bound(result.jobs, platform, window_s=window_s, kill_at_walltime=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hetsched.bound.window._CELLS_TO_SOLVE", cells)
        patch.setattr("hetsched.bound.window._CELLS_TO_CERTIFY", cells)
        coarse_j = energy_bound(result.jobs, platform, window_s=window_s, kill_at_walltime=True)
    assert 0 < coarse_j <= sharp_j * (1 + 1e-6)
    assert sharp_j <= result.summary()["job_energy_j"]


def many_kinds(seed: int, *, is_ratio: bool) -> tuple[hs.Workload, hs.Platform]:
    """Jobs that all differ in watts, length and how far their walltimes reach."""
    rng = np.random.default_rng(seed)
    jobs, nodes = 60, 8
    runtime = rng.uniform(1.0, 100.0, jobs)
    frame = pl.DataFrame(
        {
            "job_id": np.arange(jobs),
            "submit_s": np.zeros(jobs),
            "runtime_s": runtime,
            "walltime_s": runtime * rng.uniform(0.8, 1.4, jobs),
            "node_count": rng.integers(1, 4, jobs),
            "power_w": rng.uniform(100.0, 400.0, jobs),
            "app": rng.choice(["heat", "flow"], jobs),
        }
    )
    cells = rng.normal(1.0, 0.1, (2, nodes)).clip(0.5)
    powers = {"power_ratio": cells} if is_ratio else {"power_w": 300.0 * cells}
    table = hs.VariationTable(["heat", "flow"], time_ratio=rng.uniform(0.9, 1.2, (2, nodes)), **powers)
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=60.0, tdp_w=400.0)
    return hs.Workload.from_polars(frame), platform.with_tables(actual=table)


def least_energy(jobs: pl.DataFrame, platform: hs.Platform, *, end_s: float, limits: dict[str, Any]) -> float:
    """The least energy of all placements of the jobs for which some order of starts ends in time."""
    rows = list(jobs.iter_rows(named=True))
    choices = [list(itertools.combinations(range(platform.nodes), job["node_count"])) for job in rows]
    placements = [
        (sum(cost(job, nodes, platform, limits)[1] for job, nodes in zip(rows, placed, strict=True)), placed)
        for placed in itertools.product(*choices)
    ]
    return next(energy for energy, placed in sorted(placements) if ends_in_time(rows, placed, platform, end_s, limits))


def cost(job: dict, nodes: tuple[int, ...], platform: hs.Platform, limits: dict[str, Any]) -> tuple[float, float]:
    """Seconds and joules of a job on these nodes, by the rules of docs/background/energy.md."""
    table, app = platform.actual, job["app"]
    row = None
    if table is not None and app is not None:
        row = next((table.apps.index(name) for name in (app, "*") if name in table.apps), None)
    pace = max(1.0 if row is None or table.time_ratio is None else table.time_ratio[row, node] for node in nodes)
    length_s = math.ceil(round(job["nominal_runtime_s"] * 1e6) * pace) / 1e6
    if limits["kill_at_walltime"] and job["walltime_s"] is not None:
        walltime_pace = pace if limits["walltimes"] == "stretch" else 1.0
        walltime_s = math.ceil(round(job["walltime_s"] * 1e6) * walltime_pace) / 1e6
        length_s = min(length_s, walltime_s + limits["kill_grace_s"])
    busy_w = [node_class.per_node("busy_w")[0] for node_class in platform.classes for _ in range(node_class.count)]
    measured_w = job.get("power_w") or 0.0
    watts = 0.0
    for node in nodes:
        nominal_w = measured_w if measured_w > 0 else busy_w[node]
        if row is None:
            watts += nominal_w
        elif table.power_w is not None:
            watts += table.power_w[row, node]
        else:
            watts += nominal_w * table.power_ratio[row, node]
    return length_s, watts * length_s


def ends_in_time(
    jobs: list[dict], placed: tuple[tuple[int, ...], ...], platform: hs.Platform, end_s: float, limits: dict[str, Any]
) -> bool:
    """True if the jobs end in time in some order, each started as soon as it is submitted and its nodes are free."""
    # Times are whole microseconds: half of one is rounding, a whole one is too late.
    return any(last_end <= end_s + 5e-7 for last_end in last_ends(jobs, placed, platform, limits))


def last_ends(
    jobs: list[dict], placed: tuple[tuple[int, ...], ...], platform: hs.Platform, limits: dict[str, Any]
) -> Iterator[float]:
    for order in itertools.permutations(range(len(jobs))):
        free_s = [-math.inf] * platform.nodes
        for place in order:
            nodes = placed[place]
            start_s = max(jobs[place]["submit_s"], *(free_s[node] for node in nodes))
            for node in nodes:
                free_s[node] = start_s + cost(jobs[place], nodes, platform, limits)[0]
        yield max(free_s)

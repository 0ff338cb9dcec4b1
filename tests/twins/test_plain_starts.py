"""The bound given a run's starts against exact fractions, from nothing at every stretch."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from plain_starts import plain_starts

import hetsched as hs
from hetsched.testing import platforms, policies, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
LIMITS = st.fixed_dictionaries(
    {
        "kill_at_walltime": st.booleans(),
        "kill_grace_s": st.sampled_from([0.0, 0.0, 2.5]),
        "walltimes": st.sampled_from(["fixed", "stretch"]),
        "until_s": st.none() | st.none() | st.integers(0, 30).map(float),
    }
)


def agree(result: hs.Result, workload: hs.Workload, platform: hs.Platform, **limits: Any) -> None:
    """Rule 8: never above the exact bound, and below it by no more than 1e-12."""
    summary, plain = result.summary(), plain_starts(result, workload, platform, **limits)
    assert summary["bound_left_out_jobs"] == len(plain.left_out)
    left_out = pl.col("job_id").is_in(plain.left_out)
    assert summary["bound_left_out_energy_j"] == pytest.approx(
        result.jobs.filter(left_out)["energy_j"].sum(), rel=1e-12
    )
    assert summary["energy_bound_starts_j"] <= plain.bound_j
    assert summary["energy_bound_starts_j"] >= plain.bound_j * (1 - 1e-12)
    assert summary["energy_blind_j"] == pytest.approx(float(plain.blind_j), rel=1e-12)


@given(workloads(max_jobs=12, max_nodes=5), platforms(max_nodes=5), policies(), LIMITS)
def test_as_exact_fractions(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, limits: dict[str, Any]
) -> None:
    result = hs.simulate(workload, platform, policy, bound="starts", **limits)
    agree(result, workload, platform, **limits)


class AnySize:
    """Sizes at random, changed at random."""

    def seed(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def sizes(self, queue: Any, watts: float, view: Any) -> Any:
        drawn = self._rng.integers(queue.min_nodes, queue.max_nodes + 1)
        return drawn if len(view.running) else queue.min_nodes

    def resizes(self, runs: Any, watts: float, view: Any) -> Any:
        had, wanted = runs.node_count, self._rng.integers(runs.min_nodes, runs.max_nodes + 1)
        wanted = np.where(self._rng.random(len(runs)) < 0.2, wanted, had)
        free = len(view.free) + int(np.maximum(had - wanted, 0).sum())
        for place in range(len(runs)):
            more = min(max(int(wanted[place] - had[place]), 0), free)
            free, wanted[place] = free - more, min(wanted[place], had[place] + more)
        return wanted


def drawn(seed: int, *, count: int = 10, nodes: int = 5, **columns: Any) -> tuple[hs.Workload, hs.Platform]:
    """Jobs of two applications on nodes that differ in draw and speed."""
    rng = np.random.default_rng(seed)
    frame = {
        "job_id": np.arange(count),
        "submit_s": np.sort(rng.integers(0, 60, count)).astype(float),
        "runtime_s": rng.uniform(1.0, 40.0, count).round(4),
        "node_count": rng.integers(1, 4, count),
        "app": rng.choice(["a", "b"], count),
        "comm_s": rng.choice([0.0, 0.0, 3.25], count),
        "walltime_s": rng.choice([10.0, 30.0, 100.0], count),
    }
    power_w = rng.uniform(150.0, 300.0, (2, nodes)).round(3)
    table = hs.VariationTable(["a", "b"], power_w=power_w, time_ratio=rng.uniform(0.8, 1.5, (2, nodes)).round(3))
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=50.0, tdp_w=400.0, actual=table)
    return hs.Workload.from_polars(pl.DataFrame({**frame, **columns})), platform


def outages(seed: int, nodes: int = 5) -> hs.Events:
    rng = np.random.default_rng(seed)
    at = np.sort(rng.uniform(0.0, 100.0, nodes)).round(3)
    rows = {"time_s": at, "kind": ["node_failed"] * nodes, "node": rng.permutation(nodes), "until_s": at + 20.0}
    return hs.Events.from_polars(pl.DataFrame(rows))


SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, LIMITS, st.sampled_from(["fail", "requeue"]))
def test_with_outages(seed: int, limits: dict[str, Any], on_failure: Any) -> None:
    workload, platform = drawn(seed)
    events = outages(seed)
    result = hs.simulate(workload, platform, "easy", events=events, on_failure=on_failure, bound="starts", **limits)
    agree(result, workload, platform, **limits)


@given(SEEDS, LIMITS)
def test_with_queues_and_constraints(seed: int, limits: dict[str, Any]) -> None:
    rng = np.random.default_rng(seed)
    asked = {"queue": rng.choice(["low", "high"], 10), "constraint": rng.choice(["", "x", "y"], 10)}
    plain, _ = drawn(seed)
    frame = plain.to_polars().with_columns(
        pl.Series("queue", asked["queue"]), pl.Series("constraint", [word or None for word in asked["constraint"]])
    )
    classes = [
        hs.NodeClass("one", 3, 50, 400, busy_w=200, features=["x"]),
        hs.NodeClass("two", 3, 50, 400, busy_w=300, features=["x", "y"]),
        hs.NodeClass("odd", 2, 50, 400, busy_w=100, features=["y"]),
    ]
    queues = [hs.Queue("low", nodes="0-3"), hs.Queue("high", nodes="4-7")]
    platform, workload = hs.Platform(classes, queues=queues), hs.Workload.from_polars(frame)
    options = {"on_unknown_app": "nominal", "bound": "starts", **limits}
    agree(hs.simulate(workload, platform, "easy", **options), workload, platform, **limits)


@given(SEEDS, LIMITS)
def test_with_sizes_that_change(seed: int, limits: dict[str, Any]) -> None:
    rng = np.random.default_rng(seed)
    sizes = {"node_count": [2] * 10, "min_nodes": [1] * 10, "max_nodes": [4] * 10, "speedup": ["linear"] * 10}
    workload, platform = drawn(seed, **sizes, malleable=rng.random(10) < 0.5)
    policy = hs.Policy(order="fcfs", backfill={"name": "first-fit", "sizing": AnySize()}, placement="random")
    agree(hs.simulate(workload, platform, policy, bound="starts", **limits), workload, platform, **limits)


@given(SEEDS, st.sampled_from([("lower-caps", "suspend"), ("suspend",), ("kill",), ("requeue",)]))
def test_with_caps_and_emergencies(seed: int, steps: tuple[str, ...]) -> None:
    workload, platform = drawn(seed)
    power = {"name": "system-budget", "pcr": 0.75, "allocator": "static", "caps_w": [120.0, 200.0, 260.0]}
    policy = hs.Policy("fcfs", "first-fit", power={**power, "on_excess": list(steps)})
    rows = {"time_s": [20.0, 50.0], "kind": ["budget"] * 2, "value": [700.0, 500.0], "until_s": [40.0, 60.0]}
    events = hs.Events.from_polars(pl.DataFrame(rows))
    capped = platform.with_cap_model(static_w=40.0)
    agree(hs.simulate(workload, capped, policy, events=events, bound="starts"), workload, capped)


@given(SEEDS)
def test_with_the_ends_of_a_schedule(seed: int) -> None:
    workload, platform = drawn(seed)
    result = hs.simulate(workload, platform, "easy", bound="starts")
    starts = result.jobs.select("job_id", "start_s", "nodes", end_s=pl.col("start_s") + pl.col("runtime_s") * 0.75)
    metered = hs.meter(workload, platform, starts, bound="starts")
    ends = dict(zip(starts["job_id"], metered.jobs["runtime_s"], strict=True))
    plain = plain_starts(metered, workload, platform, given_s=ends)
    assert metered.summary()["energy_bound_starts_j"] <= plain.bound_j
    assert metered.summary()["energy_bound_starts_j"] >= plain.bound_j * (1 - 1e-12)

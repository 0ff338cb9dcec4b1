"""Malleable jobs whose sizes change at random: the laws of a run hold with every part, and runs can be repeated."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.strategies import Equipartition, ThroughputIlp
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

NODES, BUSY_W, IDLE_W = 8, 150.0, 50.0
PLAIN = hs.Platform.homogeneous(nodes=NODES, idle_w=IDLE_W, busy_w=BUSY_W, tdp_w=200.0)
CAPPED = PLAIN.with_cap_model(static_w=40.0)
SLEEPY = hs.Platform.homogeneous(
    nodes=NODES, idle_w=IDLE_W, busy_w=BUSY_W, tdp_w=200.0, off_w=5.0, boot_s=20.0, boot_w=120.0, shutdown_s=10.0
)
QUEUED = hs.Platform.homogeneous(
    nodes=NODES,
    idle_w=IDLE_W,
    busy_w=BUSY_W,
    tdp_w=200.0,
    queues=[hs.Queue("a", "0-7", priority=2, max_running=3), hs.Queue("b", "0-7", max_running_per_user=2)],
)


def unlike() -> hs.Platform:
    rng = np.random.default_rng(5)
    power_w, time_ratio = rng.uniform(60, BUSY_W, (2, NODES)), rng.uniform(0.8, 1.5, (2, NODES))
    return PLAIN.with_tables(actual=hs.VariationTable(["a", "b"], power_w=power_w, time_ratio=time_ratio))


class AnySize:
    """Sizes at random, as far as there are nodes and watts."""

    def seed(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def sizes(self, queue: Any, watts: float, view: Any) -> Any:
        drawn = self._rng.integers(queue.min_nodes, queue.max_nodes + 1)
        return drawn if len(view.running) else queue.min_nodes

    def resizes(self, runs: Any, watts: float, view: Any) -> Any:
        had, wanted = runs.node_count, self._rng.integers(runs.min_nodes, runs.max_nodes + 1)
        wanted = np.where(self._rng.random(len(runs)) < 0.5, wanted, had)
        free = len(view.free) + int(np.maximum(had - wanted, 0).sum())
        for place in range(len(runs)):
            more = min(max(int(wanted[place] - had[place]), 0), free)
            more = more if np.isinf(watts) else min(more, int(max(watts, 0.0) // (BUSY_W - IDLE_W)))
            free, watts = free - more, watts - more * (BUSY_W - IDLE_W)
            wanted[place] = min(wanted[place], had[place] + more)
        return wanted


def drawn(seed: int, count: int = 60) -> hs.Workload:
    rng = np.random.default_rng(seed)
    low, asked, more = rng.integers(1, 4, count), rng.integers(0, 4, count), rng.integers(0, 4, count)
    runtime = rng.integers(1, 100, count)
    return hs.Workload.from_polars(
        pl.DataFrame(
            {
                "job_id": np.arange(count),
                "submit_s": np.sort(rng.integers(0, 600, count)).astype(float),
                "runtime_s": runtime.astype(float),
                "walltime_s": (runtime * rng.choice([0.8, 1.0, 1.5], count)),
                "node_count": low + asked,
                "min_nodes": low,
                "max_nodes": low + asked + more,
                "speedup": rng.choice(["linear", "amdahl", "downey"], count),
                "serial_ratio": rng.uniform(0, 1, count),
                "downey_a": rng.uniform(1, 8, count),
                "downey_sigma": rng.uniform(0, 2, count),
                "malleable": (asked + more > 0) & (rng.random(count) < 0.8),
                "resize_s": rng.choice([0.0, 3.0, 10.0], count) * (seed % 2),
                "app": rng.choice(["a", "b"], count),
                "queue": rng.choice(["a", "b"], count),
                "user": rng.choice(["u", "v"], count),
            }
        )
    )


def budgets(seed: int) -> hs.Events:
    rng = np.random.default_rng(seed)
    at = np.sort(rng.choice(np.arange(10, 800), 6, replace=False)).astype(float)
    value, until = rng.uniform(600, 1300, 6), at + rng.uniform(20, 200, 6)
    return hs.Events.from_polars(pl.DataFrame({"time_s": at, "kind": "budget", "value": value, "until_s": until}))


def failures(seed: int) -> hs.Events:
    at = np.sort(np.random.default_rng(seed).uniform(0, 500, (NODES, 2)), axis=1)
    rows = [(float(at[node, turn]), kind, node) for node in range(NODES) for turn, kind in enumerate(_TURNS)]
    return hs.Events.from_polars(pl.DataFrame(rows, schema=["time_s", "kind", "node"], orient="row"))


_TURNS = ("node_failed", "node_repaired")


def _budget(**more: Any) -> dict[str, Any]:
    return {"power": {"name": "system-budget", "pcr": 0.6, **more}}


def _emergency(*steps: str, allocator: str = "static") -> dict[str, Any]:
    levels = [80.0, 100.0, 120.0]
    return _budget(pcr=0.75, allocator=allocator, caps_w=levels, on_excess=list(steps))


UNIFORM = {"allocator": "uniform", "caps_w": [80.0, 100.0, 120.0]}
CASES: dict[str, tuple[hs.Platform, dict[str, Any], dict[str, Any]]] = {
    "plain": (PLAIN, {}, {}),
    "unlike": (unlike(), {}, {}),
    "unlike, stretched": (unlike(), {"placement": "random"}, {"walltimes": "stretch"}),
    "matched": (unlike(), {"placement": "assignment"}, {"kill_at_walltime": False}),
    "queues": (QUEUED, {}, {}),
    "budget": (PLAIN, _budget(), {}),
    "uniform": (CAPPED, _budget(**UNIFORM), {}),
    "equal-slowdown": (CAPPED, _budget(allocator="equal-slowdown", slowdown_limit=1.5), {}),
    "every 50 s": (CAPPED, _budget(**UNIFORM, allocator_interval_s=50), {"walltimes": "stretch"}),
    "lower caps, suspend": (CAPPED, _emergency("lower-caps", "suspend", allocator="uniform"), {"events": budgets}),
    "suspend": (CAPPED, _emergency("suspend", allocator="equal-slowdown"), {"events": budgets}),
    "requeue": (CAPPED, _emergency("requeue", "kill"), {"events": budgets}),
    "failures": (PLAIN, {}, {"events": failures}),
    "failures, requeue": (unlike(), {}, {"events": failures, "on_failure": "requeue"}),
    "failures, capped": (CAPPED, {}, {"events": failures, "on_failure": "requeue"}),
    "sleep": (SLEEPY, {"sleep": {"name": "timeout", "min_idle_s": 30.0}}, {}),
    "sleep by plan": (SLEEPY, {"sleep": {"name": "planned"}}, {}),
}
BACKFILLS = ("none", "first-fit", {"name": "reservations"}, {"name": "reservations", "depth": "unbounded"}, "patience")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", CASES)
def test_any_changes_keep_the_laws(case: str, seed: int) -> None:
    platform, parts, options = CASES[case]
    options = {name: value(seed) if callable(value) else value for name, value in options.items()}
    chosen: Any = BACKFILLS[(seed + list(CASES).index(case)) % len(BACKFILLS)]
    part = {"name": chosen} if isinstance(chosen, str) else chosen
    policy = hs.Policy(backfill={**part, "sizing": AnySize()}, **parts)
    workload = drawn(seed)
    result = hs.simulate(workload, platform, policy, seed=seed, **options)
    check_schedule(result, workload, platform, events=options.get("events"))
    assert result.events["kind"].is_in(["grow", "shrink"]).any()
    assert hs.simulate(workload, platform, policy, seed=seed, **options).segments.equals(result.segments)
    session = hs.Session(workload, platform, policy, seed=seed, **options)
    session.step_until(200.0)
    fork = session.fork()
    assert session.run().segments.equals(result.segments)
    assert fork.run().jobs.equals(result.jobs)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", ["plain", "unlike", "queues", "budget", "uniform"])
def test_equal_shares_are_never_refused(case: str, seed: int) -> None:
    platform, parts, options = CASES[case]
    sizing = Equipartition(least_cap_w=80.0 if case == "uniform" else None)
    policy = hs.Policy(backfill={"name": "reservations", "sizing": sizing}, **parts)
    workload = drawn(seed)
    result = hs.simulate(workload, platform, policy, seed=seed, **options)
    check_schedule(result, workload, platform)
    kinds = set(result.events["kind"])
    assert {"grow", "shrink"} <= kinds


def test_the_program_resizes_what_runs() -> None:
    ilp = ThroughputIlp(caps_w=[90.0, 120.0])
    power = {"name": "system-budget", "pcr": 0.6, "allocator": ilp}
    workload = drawn(2, count=20)
    rigid = hs.Workload.from_polars(workload.to_polars().drop("malleable", "resize_s"))
    result = hs.simulate(workload, CAPPED, hs.Policy(backfill=ilp, power=power))
    check_schedule(result, workload, CAPPED)
    assert result.events["kind"].is_in(["grow", "shrink"]).any()
    assert hs.simulate(rigid, CAPPED, hs.Policy(backfill=ilp, power=power)).events.is_empty()

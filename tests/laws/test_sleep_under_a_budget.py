"""Laws of nodes that sleep under a budget, on logs of a hundred jobs, with every part that goes with them."""

from __future__ import annotations

from math import isclose
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.testing import check_schedule
from hetsched.workload import generators

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning", "ignore::hetsched.errors.LoadWarning")

NODES = 16
BACKFILLS = ["none", "first-fit", "reservations", {"name": "reservations", "depth": "unbounded"}]
SLEEPS = [
    "planned",
    "newsvendor",
    {"name": "timeout", "min_idle_s": 0},
    {"name": "timeout", "min_idle_s": 300},
    {"name": "nqsv", "min_idle_s": 60},
]
SWITCHES = [
    {"off_w": 10.0, "boot_s": 300.0, "boot_w": 150.0, "shutdown_s": 60.0, "shutdown_w": 130.0},
    {"off_w": 0.0, "boot_s": 0.0, "shutdown_s": 0.0},
    {"off_w": 40.0, "boot_s": 30.0, "boot_w": 60.0, "shutdown_s": 0.0},
]

LOGS = st.builds(
    lambda load, seed: generators.poisson(nodes=NODES, jobs=100, load=load, seed=seed),
    st.sampled_from([0.3, 0.6, 0.9, 1.2]),
    st.integers(0, 10_000),
)


def machine(**switch: Any) -> hs.Platform:
    return hs.Platform.homogeneous(nodes=NODES, idle_w=100.0, tdp_w=300.0, **switch)


def budget_of(share: float) -> dict[str, Any]:
    """So that a share of the nodes can serve while the others idle; at least enough to boot one."""
    return {"name": "system-budget", "budget_w": NODES * 100.0 + max(share * NODES * 200.0, 50.0)}


def simulated(log: hs.Workload, platform: hs.Platform, policy: hs.Policy, **given: Any) -> hs.Result:
    result = hs.simulate(log, platform, policy, **given)
    check_schedule(result, log, platform, events=given.get("events"))
    return result


@given(LOGS, st.sampled_from(SWITCHES), st.sampled_from(BACKFILLS), st.sampled_from(SLEEPS), st.data())
def test_no_budget_is_exceeded_and_who_could_run_awake_runs(
    log: hs.Workload, switch: dict[str, float], backfill: Any, sleep: Any, data: st.DataObject
) -> None:
    order = data.draw(st.sampled_from(["fcfs", "shortest", "vahrm"]))
    placement = data.draw(st.sampled_from(["lowest-id", "lowest-power", "random", "assignment"]))
    power = budget_of(data.draw(st.sampled_from([0.1, 0.3, 0.6, 1.0])))
    asleep = simulated(log, machine(**switch), hs.Policy(order, backfill, placement, power, sleep))
    summary = asleep.summary()
    assert summary["over_budget_s"] == 0.0
    assert asleep.timeline["power_w"].max() <= power["budget_w"] * (1 + 1e-9)
    awake = hs.simulate(log, machine(**switch), hs.Policy(order, backfill, placement, power))
    assert asleep.jobs["state"].to_list() == awake.jobs["state"].to_list()


@given(LOGS, st.sampled_from(BACKFILLS), st.sampled_from(SLEEPS), st.sampled_from([0.1, 0.3, 0.6, 1.0]))
def test_where_switching_costs_nothing_a_run_is_one_without_sleep(
    log: hs.Workload, backfill: Any, sleep: Any, share: float
) -> None:
    platform = machine(off_w=100.0, boot_s=0.0, shutdown_s=0.0)
    given: dict[str, Any] = {"name": sleep} if isinstance(sleep, str) else dict(sleep)
    if given["name"] != "newsvendor":
        # Otherwise none would sleep, as nothing is saved.
        given |= {"estimated_off_s": 0, "stop_margin_s": "actual", "start_margin_s": "actual"}
    parts = [hs.Policy("fcfs", backfill, power=budget_of(share), sleep=part) for part in (given, None)]
    asleep, awake = (simulated(log, platform, policy) for policy in parts)
    names = ["job_id", "start_s", "end_s", "state"]
    assert asleep.jobs.select(names).equals(awake.jobs.select(names))
    assert isclose(asleep.summary()["energy_j"], awake.summary()["energy_j"], rel_tol=1e-12)


@given(
    LOGS, st.sampled_from(SWITCHES), st.sampled_from(BACKFILLS), st.lists(st.floats(0.05, 1.0), min_size=1, max_size=5)
)
def test_a_budget_that_rises_and_falls_and_is_foreseen_is_kept(
    log: hs.Workload, switch: dict[str, float], backfill: Any, shares: list[float]
) -> None:
    start_s = float(log.to_polars()["submit_s"].min() or 0.0)
    rows = {
        "time_s": [start_s + 1800.0 * k for k in range(len(shares))],
        "kind": ["budget"] * len(shares),
        "value": [budget_of(share)["budget_w"] for share in shares],
    }
    policy = hs.Policy("fcfs", backfill, power={**budget_of(0.5), "foresight_s": "all"}, sleep=SLEEPS[2])
    result = simulated(log, machine(**switch), policy, events=hs.Events.from_polars(pl.DataFrame(rows)))
    fits_never = result.jobs["reason"].fill_null("").str.starts_with("fits between no two changes").to_numpy()
    assert (np.isin(result.jobs["state"].to_numpy(), ["completed", "timeout", "rejected"]) | fits_never).all()
    assert result.summary()["over_budget_s"] == 0.0

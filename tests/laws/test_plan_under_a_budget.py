"""Laws of the backfill `plan` under a budget (rules 48 to 51 of the page on power in time)."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

NODES, IDLE_W = 6, 60.0
DRAWS = [90.0, 150.0, 150.0, 210.5, 260.0]
COLUMNS = ["job_id", "state", "start_s", "end_s", "nodes", "started_by", "energy_j"]
QUEUES = [hs.Queue("a", [0, 1, 2, 3]), hs.Queue("b", [2, 3, 4, 5], priority=1)]


@st.composite
def platforms(draw: st.DrawFn, *, queues: bool = False) -> hs.Platform:
    """Nodes that draw differently under each of two applications."""
    watts = [draw(st.lists(st.sampled_from(DRAWS), min_size=NODES, max_size=NODES)) for _ in range(2)]
    platform = hs.Platform.homogeneous(NODES, IDLE_W, 400.0, queues=QUEUES if queues else None)
    return platform.with_tables(actual=hs.VariationTable(["x", "y"], power_w=watts))


@st.composite
def logs(draw: st.DrawFn, *, exact: bool = False) -> pl.DataFrame:
    count, seconds = draw(st.integers(1, 25)), st.integers(0, 30)
    gaps = draw(st.lists(st.sampled_from([0, 0, 1, 5]), min_size=count, max_size=count))
    runtimes = [float(draw(seconds)) + exact for _ in range(count)]
    return pl.DataFrame(
        {
            "job_id": range(count),
            "submit_s": [float(sum(gaps[: row + 1])) for row in range(count)],
            "runtime_s": runtimes,
            "walltime_s": [run_s if exact else float(draw(seconds) + 1) for run_s in runtimes],
            "node_count": draw(st.lists(st.integers(1, 4), min_size=count, max_size=count)),
            "app": draw(st.lists(st.sampled_from(["x", "y"]), min_size=count, max_size=count)),
            "queue": draw(st.lists(st.sampled_from(["a", "b"]), min_size=count, max_size=count)),
        }
    )


PLANS = st.fixed_dictionaries(
    {
        "name": st.just("plan"),
        "depth": st.sampled_from(["unbounded", 1, 3]),
        "horizon_s": st.sampled_from([2_592_000, 20]),
        "interval_s": st.sampled_from([0, 0, 7]),
        "order": st.sampled_from(["policy", "shortest", "largest"]),
    }
)
BEYOND_IDLE_W = st.sampled_from([0.0, 90.0, 200.0, 250.5, 400.0, 600.0])


def run(log: pl.DataFrame, platform: hs.Platform, plan: Any, budget_w: float | None, **rules: Any) -> hs.Result:
    power = None if budget_w is None else {"name": "system-budget", "budget_w": budget_w, **rules}
    workload = hs.Workload.from_polars(log)
    result = hs.simulate(workload, platform, hs.Policy("fcfs", plan, power=power))
    check_schedule(result, workload, platform)
    return result


@given(logs(), platforms() | platforms(queues=True), PLANS)
def test_a_budget_that_never_binds_changes_no_plan(log: pl.DataFrame, platform: hs.Platform, plan: Any) -> None:
    free, ample = run(log, platform, plan, None), run(log, platform, plan, NODES * 400.0 + 1.0)
    assert free.jobs.select(COLUMNS).equals(ample.jobs.select(COLUMNS))


@given(logs(), st.lists(st.sampled_from(DRAWS), min_size=NODES, max_size=NODES), st.booleans(), PLANS)
def test_a_budget_that_could_bind_and_does_not_changes_no_plan(
    log: pl.DataFrame, watts: list[float], has_queues: bool, plan: Any
) -> None:
    """Watts are counted in every pass, as another application would draw more than there is, but no job is of it."""
    platform = hs.Platform.homogeneous(NODES, IDLE_W, 400.0, queues=QUEUES if has_queues else None)
    platform = platform.with_tables(actual=hs.VariationTable(["x", "hot"], power_w=[watts, [390.0] * NODES]))
    log = log.with_columns(app=pl.lit("x"))
    free, enough = run(log, platform, plan, None), run(log, platform, plan, sum(watts))
    assert free.jobs.select(COLUMNS).equals(enough.jobs.select(COLUMNS))


@given(logs(), platforms() | platforms(queues=True), PLANS, BEYOND_IDLE_W)
def test_no_plan_draws_more_than_its_budget(
    log: pl.DataFrame, platform: hs.Platform, plan: Any, beyond_w: float
) -> None:
    """No job is left waiting that fits the machine, and energies add up."""
    result = run(log, platform, plan, NODES * IDLE_W + beyond_w)
    assert result.timeline["power_w"].max() <= (NODES * IDLE_W + beyond_w) * (1 + 1e-9)
    assert set(result.jobs["state"].unique()) <= {"completed", "timeout", "rejected"}
    summary = result.summary()
    assert summary["energy_j"] == pytest.approx(summary["job_energy_j"] + summary["idle_energy_j"], rel=1e-9)


@given(logs(exact=True), platforms(), BEYOND_IDLE_W, st.data())
def test_under_a_budget_a_later_job_delays_no_job(
    log: pl.DataFrame, platform: hs.Platform, beyond_w: float, data: st.DataObject
) -> None:
    """No promise is broken by one that came later, if every job ends as planned: neither its nodes nor its watts."""
    count, budget_w = data.draw(st.integers(1, len(log))), NODES * IDLE_W + beyond_w
    alone, all_of_them = (run(log.head(n), platform, "plan", budget_w).jobs.head(count) for n in (count, len(log)))
    assert alone.select("start_s").equals(all_of_them.select("start_s"))

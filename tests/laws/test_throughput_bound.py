"""No schedule under a budget does more work than the bound of docs/background/bounds.md says."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.analysis.throughput import cap_levels, most_work_ratio, work_done

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

STATIC_W, IDLE_W = 50.0, 40.0
APPS = ("compute", "memory")


@st.composite
def runs(draw):
    """Watts of up to six nodes, shares of two applications, jobs, a budget, and who splits it."""
    power_w = draw(st.lists(st.floats(120.0, 240.0), min_size=2, max_size=6))
    count = draw(st.integers(1, 12))

    def each(values):
        return draw(st.lists(values, min_size=count, max_size=count))

    jobs = pl.DataFrame(
        {
            "job_id": range(count),
            "submit_s": [0.0, *sorted(each(st.integers(0, 200)))[1:]],
            "runtime_s": each(st.integers(1, 100)),
            "node_count": each(st.integers(1, len(power_w))),
            "app": each(st.sampled_from(APPS)),
            "cap_w": each(st.sampled_from([None, 130.0, 160.0])),
        },
        schema_overrides={"submit_s": pl.Float64, "runtime_s": pl.Float64, "cap_w": pl.Float64},
    )
    bounds = draw(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)))
    # Enough for the widest job under any allocator.
    budget_w = draw(st.floats(0.95, 1.2)) * sum(power_w)
    allocator = draw(st.sampled_from(["static", "uniform", "equal-slowdown"]))
    return np.array(power_w), dict(zip(APPS, bounds, strict=True)), jobs, max(budget_w, IDLE_W * 6), allocator


@given(run=runs(), window=st.tuples(st.floats(0.0, 0.9), st.floats(0.05, 1.0)), exponent=st.sampled_from([1.0, 2.5]))
def test_no_window_of_a_run_holds_more_work_than_the_bound(run, window, exponent):
    power_w, bounds, jobs, budget_w, allocator = run
    budget_w *= 0.9
    nodes = len(power_w)
    platform = (
        hs.Platform.homogeneous(nodes=nodes, idle_w=IDLE_W, tdp_w=250.0)
        .with_tables(actual=hs.VariationTable(list(APPS), power_w=np.tile(power_w, (2, 1))))
        .with_cap_model(static_w=STATIC_W, exponent=exponent, bound_ratio=bounds)
    )
    policy = hs.Policy.preset(
        "power-slurm", budget_w=budget_w, allocator=allocator, caps_w=[110.0, 130.0, 150.0, 180.0]
    )
    result = hs.simulate(hs.Workload.from_polars(jobs), platform, policy)
    assert result.summary()["over_budget_s"] == 0
    end_s = result.timeline["time_s"][-1]
    from_s = window[0] * end_s
    until_s = from_s + max(window[1] * (end_s - from_s), 1e-3)
    done = work_done(result.segments, result.jobs, APPS, from_s=from_s, until_s=until_s)
    if not done.any():
        return
    idle_w = np.full(nodes, IDLE_W)
    levels = cap_levels(
        np.tile(power_w, (2, 1)),
        idle_w=idle_w,
        static_w=np.full(nodes, STATIC_W),
        bound_ratio=np.array(list(bounds.values())),
        exponent=exponent,
    )
    assert most_work_ratio(done, levels, idle_w=idle_w, budget_w=budget_w) >= 1.0 - 1e-6

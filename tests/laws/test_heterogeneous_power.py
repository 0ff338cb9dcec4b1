"""Power budgets on machines whose nodes differ in what jobs ask for."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from unlike_logs import APPS, BACKFILLS, DRAWS_W, VAHRMS, draws_w, logs

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def machine(features: list[str], watts: list[list[float]]) -> hs.Platform:
    """Two nodes each of three classes."""
    classes = [
        hs.NodeClass(f"class{place}", 2, idle_w=100, tdp_w=400, features=[feature])
        for place, feature in enumerate(features)
    ]
    return hs.Platform(classes).with_tables(actual=hs.VariationTable(APPS, power_w=np.array(watts)))


PLACEMENTS = st.sampled_from(["lowest-id", "lowest-power", "best-rank"])


@given(
    logs((None, "cpu|gpu|big", "!slow")),
    st.lists(DRAWS_W, min_size=2, max_size=2),
    st.sampled_from(["none", "first-fit"]),
    st.integers(700, 2400),
)
def test_where_every_node_serves_every_job_the_schedule_is_that_of_one_kind(
    log: pl.DataFrame, draw_w: list[float], backfill: Any, budget_w: int
) -> None:
    # Reservations hold nodes of cells, so that others that end later get other nodes, or none.
    watts = [[draw] * 6 for draw in draw_w]
    policy = hs.Policy("fcfs", backfill, power={"name": "system-budget", "budget_w": budget_w})
    unlike, alike = (
        hs.simulate(hs.Workload.from_polars(jobs), machine(features, watts), policy).jobs
        for jobs, features in ((log, ["cpu", "gpu", "big"]), (log.drop("constraint"), ["cpu"] * 3))
    )
    columns = ["job_id", "start_s", "end_s", "energy_j", "state", "reason"]
    assert unlike.select(columns).equals(alike.select(columns))


@given(
    logs((None, "cpu", "gpu", "gpu|big", "!cpu", "h100")),
    draws_w(6),
    st.sampled_from(BACKFILLS),
    PLACEMENTS,
    st.integers(700, 2400),
    st.data(),
)
def test_every_way_to_count_watts_keeps_the_laws(
    log: pl.DataFrame, watts: list[list[float]], backfill: Any, placement: str, budget_w: int, data: st.DataObject
) -> None:
    power = {"name": "system-budget", "budget_w": budget_w}
    order = data.draw(st.sampled_from(["fcfs", *VAHRMS]))
    policy = hs.Policy(order, backfill, placement, power=power)
    steps = data.draw(st.lists(st.tuples(st.sampled_from([5, 20, 60]), st.sampled_from([900, 1500, 2400])), max_size=2))
    events = None
    if steps and isinstance(order, str):
        rows = {"time_s": [float(at) for at, _ in steps], "kind": ["budget"] * len(steps)}
        events = hs.Events.from_polars(pl.DataFrame({**rows, "value": [float(watts) for _, watts in steps]}))
    workload, platform = hs.Workload.from_polars(log), machine(["cpu", "gpu", "big"], watts)
    check_schedule(hs.simulate(workload, platform, policy, events=events), workload, platform, events=events)


def test_a_reservation_holds_the_mean_of_the_nodes_that_may_serve_its_job() -> None:
    # Job 1 leaves 249 W of 449 W. Job 2, for both GPU nodes, holds 2 × 200 W from 100 on, which leaves 49 W: job
    # 3 would take 50 W for longer, job 4 ends before. The mean over all six nodes would be 2 × 100 W.
    watts = [[150.0] * 6, [150.0, 150.0, 300.0, 300.0, 150.0, 150.0]]
    log = pl.DataFrame(
        {
            "job_id": [1, 2, 3, 4],
            "submit_s": [0.0, 1.0, 2.0, 3.0],
            "runtime_s": [100.0, 10.0, 200.0, 90.0],
            "node_count": [1, 2, 1, 1],
            "app": ["hungry", "hungry", "calm", "calm"],
            "constraint": ["gpu", "gpu", "cpu", "cpu"],
        }
    )
    platform = machine(["cpu", "gpu", "big"], watts)
    policy = hs.Policy("fcfs", "reservations", power={"name": "system-budget", "budget_w": 600 + 449})
    jobs = hs.simulate(hs.Workload.from_polars(log), platform, policy).jobs
    assert dict(zip(jobs["job_id"], jobs["start_s"], strict=True)) == {1: 0.0, 2: 100.0, 3: 110.0, 4: 3.0}


def test_a_job_is_judged_by_the_nodes_that_may_serve_it() -> None:
    watts = [[150.0] * 6, [150.0, 150.0, 300.0, 300.0, 150.0, 150.0]]
    log = pl.DataFrame(
        {
            "job_id": [1, 2],
            "submit_s": [0.0, 0.0],
            "runtime_s": [10.0, 10.0],
            "node_count": [2, 2],
            "app": ["hungry", "hungry"],
            "constraint": ["gpu", "!gpu"],
        }
    )
    policy = hs.Policy("fcfs", "none", power={"name": "system-budget", "budget_w": 999})
    jobs = hs.simulate(hs.Workload.from_polars(log), machine(["cpu", "gpu", "big"], watts), policy).jobs
    assert jobs["reason"].to_list() == ["would exceed the power budget on any nodes", None]
    assert jobs["nodes"].to_list() == [None, [0, 1]]

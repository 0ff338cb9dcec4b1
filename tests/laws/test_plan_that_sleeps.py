"""Laws of nodes that sleep under `plan`: boots serve jobs, instants end, free instant wake-ups change nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

ORDERS = ("fcfs", "shortest", "longest", "smallest", "largest")
#: ``(submit, runtime, walltime, nodes)``
Job = tuple[int, int, int, int]


@st.composite
def jobs(draw: st.DrawFn, nodes: int, *, is_exact: bool) -> list[Job]:
    submit, found = 0, []
    for _ in range(draw(st.integers(1, 16))):
        submit += draw(st.sampled_from([0, 0, 1, 10, 100, 700]))
        runtime = draw(st.sampled_from([1, 10, 60, 600]))
        over = 0 if is_exact else draw(st.sampled_from([0, 0, 30, 600]))
        found.append((submit, runtime, runtime + over, draw(st.integers(1, nodes))))
    return found


def run(rows: list[Job], nodes: int, turn: float, sleep: Any, order: str = "fcfs", slots: int = 1) -> hs.Result:
    """A run on nodes that stop and start in `turn` seconds."""
    names = ("submit_s", "runtime_s", "walltime_s", "node_count")
    types = dict.fromkeys(names[:3], pl.Float64) | {"node_count": pl.Int64}
    workload = hs.Workload.from_polars(pl.DataFrame(rows, types, orient="row").with_row_index("job_id"))
    platform = hs.Platform.homogeneous(
        nodes, idle_w=100.0, tdp_w=300.0, off_w=0.0, boot_s=turn, shutdown_s=turn, slots=slots, exclusive=slots == 1
    )
    result = hs.simulate(workload, platform, hs.Policy(order, "plan", sleep=sleep))
    check_schedule(result, workload, platform)
    return result


def in_vain(result: hs.Result) -> list[tuple[float, float]]:
    """Times at which nodes were woken, and put to sleep again without having served."""
    steps = result.events.filter(pl.col("kind").is_in(["wake", "sleep"])).select("time_s", "kind", "node")
    served = result.jobs.select(pl.col("start_s").alias("time_s"), pl.col("nodes").alias("node")).explode("node")
    vain = []
    for node in range(result.nodes.height):
        starts = served.filter(pl.col("node") == node)["time_s"].to_list()
        own = steps.filter(pl.col("node") == node).rows()
        for (woken, kind, _), (slept, after, _) in pairwise(own):
            if (kind, after) == ("wake", "sleep") and not any(woken <= start <= slept for start in starts):
                vain.append((woken, slept))
    return vain


@given(st.data(), st.integers(1, 5), st.sampled_from([0, 1, 10, 60]), st.sampled_from([1, 1, 4]))
def test_no_boot_is_in_vain_where_jobs_end_as_planned(data: st.DataObject, nodes: int, turn: int, slots: int) -> None:
    """Rule 9: nothing outside sleep moves a plan where all runs last as long as said, and no job overtakes."""
    rows = data.draw(jobs(nodes, is_exact=True))
    for sleep in ("planned", {"name": "timeout", "min_idle_s": 0}):
        assert in_vain(run(rows, nodes, turn, sleep, slots=slots)) == []


@given(st.data(), st.integers(1, 5), st.sampled_from([0, 1, 10, 60]), st.sampled_from(ORDERS))
def test_a_woken_node_serves_before_it_sleeps_or_somebody_left(
    data: st.DataObject, nodes: int, turn: int, order: str
) -> None:
    """Rule 9: a node sleeps unserved only once a job that waited when it was woken has started elsewhere."""
    result = run(data.draw(jobs(nodes, is_exact=False)), nodes, turn, {"name": "timeout", "min_idle_s": 0}, order)
    waits = result.jobs.select("submit_s", "start_s").rows()
    for woken, slept in in_vain(result):
        assert any(submit <= woken <= start <= slept for submit, start in waits), (woken, slept)


@given(st.data(), st.integers(1, 5), st.sampled_from(ORDERS))
def test_wake_ups_that_take_no_time_and_cost_nothing_change_no_start(
    data: st.DataObject, nodes: int, order: str
) -> None:
    assert_sleep_changes_no_start(data.draw(jobs(nodes, is_exact=False)), nodes, order)


@pytest.mark.parametrize(
    ("order", "rows"),
    [
        # The job of two nodes is planned on the node that has just become idle, asleep or not.
        ("longest", [(0, 600, 600, 1), (1, 600, 600, 1), (1, 600, 600, 1), (1, 10, 10, 1), (1, 60, 60, 2)]),
        # One fits to the microsecond before another.
        ("longest", [(0, 1, 1, 3), (0, 1, 1, 2), (0, 1, 601, 2), (0, 600, 600, 1), (0, 600, 630, 1)]),
        # Jobs go to nodes by their numbers, whichever of them are on.
        ("fcfs", [(0, 1, 1, 1)] * 2 + [(0, 10, 10, 1)] + [(10, 1, 1, 1)] * 2 + [(10, 1, 1, 2)] * 2 + [(10, 1, 1, 1)]),
    ],
)
def test_a_plan_does_not_depend_on_which_nodes_sleep(order: str, rows: list[Job]) -> None:
    assert_sleep_changes_no_start(rows, 3, order)


def assert_sleep_changes_no_start(rows: list[Job], nodes: int, order: str) -> None:
    awake = run(rows, nodes, 0, None, order)
    for sleep in ("planned", {"name": "timeout", "min_idle_s": 0}):
        asleep = run(rows, nodes, 0, sleep, order)
        assert asleep.jobs["start_s"].to_list() == awake.jobs["start_s"].to_list()


FLAPPING = [
    ("fcfs", [(10, 10, 10, 2), (10, 60, 60, 3), (11, 600, 1200, 1)]),
    ("shortest", [(2, 600, 600, 2), (113, 600, 600, 1), (113, 60, 90, 3)]),
]


@pytest.mark.parametrize("turn", [0, 1, 10, 60])
@pytest.mark.parametrize(("order", "rows"), FLAPPING)
def test_nodes_are_not_woken_and_put_to_sleep_in_turn(order: str, rows: list[Job], turn: int) -> None:
    """A job that is planned for later does not take the node that was just woken for another."""
    result = run(rows, 4, turn, {"name": "timeout", "min_idle_s": 0}, order)
    assert in_vain(result) == []
    assert result.nodes["boots"].sum() <= sum(row[3] for row in rows)


def test_a_job_waits_for_one_boot_only() -> None:
    """The job of one node starts when the node that is woken for it is on."""
    for turn in (1, 10, 60):
        assert run(FLAPPING[1][1], 4, turn, "planned", "shortest").jobs["start_s"][1] == 113.0 + turn

"""Nodes that sleep under a budget, worked out by hand: rules by their numbers in docs/background."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.roles import Rest
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def jobs(*rows: tuple[float, float, int], **columns: list[Any]) -> hs.Workload:
    """Jobs 1, 2, … as (submit, runtime, nodes)."""
    schema = {"submit_s": pl.Float64, "runtime_s": pl.Float64, "node_count": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("job_id", offset=1)
    return hs.Workload.from_polars(frame.with_columns(pl.Series(name, values) for name, values in columns.items()))


def machine(nodes: int, **values: Any) -> hs.Platform:
    """Nodes of 100 W idle and 300 W busy, off at 10 W, that boot in 5 s at 120 W and shut down in 2 s as if idle."""
    given = {"idle_w": 100.0, "tdp_w": 300.0, "off_w": 10.0, "boot_s": 5.0, "boot_w": 120.0, "shutdown_s": 2.0}
    return hs.Platform.homogeneous(nodes, **{**given, **values})


def run(
    workload: hs.Workload, platform: hs.Platform, budget_w: float, backfill: Any = "reservations", **sleep: Any
) -> hs.Result:
    part = {"name": "timeout", "estimated_off_s": 0, **sleep}
    power = {"name": "system-budget", "budget_w": budget_w}
    result = hs.simulate(workload, platform, hs.Policy("fcfs", backfill, power=power, sleep=part))
    check_schedule(result, workload, platform)
    assert result.summary()["over_budget_s"] == 0.0
    return result


def happened(result: hs.Result) -> list[tuple[float, str, int]]:
    return result.events.select("time_s", "kind", "node").rows()


def starts(result: hs.Result) -> list[float | None]:
    return result.jobs["start_s"].to_list()


def test_rules_1_2_and_8_a_job_gets_the_watts_of_off_nodes() -> None:
    """Idle machine 300 W, job 1 200 W more: of 620 W 120 are left, and job 2 needs 200.

    From 12 s on nodes 1 and 2 save 90 W each, and 300 are left: enough to wake one (90 W idle, 20 more while it boots)
    and for the job.
    """
    result = run(jobs((0, 100, 1), (1, 50, 1)), machine(3), 620, min_idle_s=10)
    assert starts(result) == [0.0, 17.0]
    assert happened(result) == [
        (10.0, "sleep", 2),
        (10.0, "sleep", 1),
        (12.0, "off", 2),
        (12.0, "off", 1),
        (12.0, "wake", 1),
        (17.0, "ready", 1),
        (77.0, "sleep", 1),
        (79.0, "off", 1),
    ]
    spans = [(12, 500), (5, 430), (50, 610), (12, 410), (21, 320)]
    assert result.summary()["energy_j"] == sum(seconds * watts for seconds, watts in spans)
    awake = hs.simulate(
        jobs((0, 100, 1), (1, 50, 1)), machine(3), hs.Policy(power={"name": "system-budget", "budget_w": 620})
    )
    assert starts(awake) == [0.0, 100.0]


def test_rule_3_a_budget_leaves_room_to_wake_a_node() -> None:
    with pytest.raises(
        hs.ConfigError, match=r"at least 320 W: the idle machine draws 300 W, and one of its nodes 20 W more"
    ):
        run(jobs((0, 100, 1)), machine(3), 310)
    events = hs.Events.from_polars(pl.DataFrame({"time_s": [5.0], "kind": ["budget"], "value": [310.0]}))
    policy = hs.Policy(power={"name": "system-budget", "budget_w": 620}, sleep="timeout")
    with pytest.raises(
        hs.ConfigError, match=r"expected at least 320 W, what the idle machine draws, and one of its nodes"
    ):
        hs.simulate(jobs((0, 100, 1)), machine(3), policy, events=events)
    assert hs.simulate(jobs((0, 1, 1)), machine(3, boot_s=0.0), "easy:power=system-budget").summary()["completed"] == 1


def test_rule_5_watts_to_wake_are_held_for_good() -> None:
    """The same with 609 W: 289 are left with both nodes off, and 290 are needed. Job 2 waits for job 1."""
    result = run(jobs((0, 100, 1), (1, 50, 1)), machine(3), 609, min_idle_s=10)
    assert starts(result) == [0.0, 100.0]
    assert not [kind for _, kind, _ in happened(result) if kind == "wake"]


def test_rule_6_nodes_are_woken_one_by_one_where_the_room_is_for_one() -> None:
    """All 325 W but 25 are those of the idle machine. Job 2 needs 24 on three nodes, all of them off. Each draws 20 W
    beyond idle while it boots, and of that there is enough for one next to three idle nodes."""
    result = run(jobs((0, 10, 1), (100, 50, 3), power_w=[108.0, 108.0]), machine(3), 325, min_idle_s=5)
    assert [event for event in happened(result) if event[1] == "wake"] == [
        (100.0, "wake", 0),
        (105.0, "wake", 1),
        (110.0, "wake", 2),
    ]
    assert starts(result) == [0.0, 115.0]


def test_rule_7_a_job_keeps_nodes_being_woken_for_it() -> None:
    """Job 2 needs both nodes, of which one is off: it starts at 15. Job 3 would hold node 0 longer, job 4 not."""
    workload = jobs((0, 1, 1), (10, 20, 2), (11, 100, 1), (11, 4, 1))
    result = run(workload, machine(2), 700, "first-fit", min_idle_s=3, exclude="0")
    assert starts(result) == [0.0, 15.0, 35.0, 11.0]


def test_rule_8_a_node_is_woken_ahead_of_a_waiting_job() -> None:
    result = run(jobs((0, 100, 1), (20, 10, 2)), machine(2), 1000, min_idle_s=10)
    assert happened(result)[:4] == [(10.0, "sleep", 1), (12.0, "off", 1), (95.0, "wake", 1), (100.0, "ready", 1)]
    assert starts(result) == [0.0, 100.0]


def test_rule_9_a_node_stays_on_without_watts_to_shut_down() -> None:
    """Shutting down takes 50 W more than idling, and job 1 leaves 30."""
    result = run(jobs((0, 100, 1)), machine(2, shutdown_w=150.0), 430, min_idle_s=10)
    assert happened(result) == [(100.0, "sleep", 1)]
    assert happened(run(jobs((0, 100, 1)), machine(2, shutdown_w=150.0), 450, min_idle_s=10))[0] == (10.0, "sleep", 1)


def test_rule_10_where_nothing_runs_the_best_nodes_are_woken() -> None:
    """70 W are left with nodes 1 and 2 off. Job 2 takes 200 W on nodes 0 and 1, and 50 on node 2."""
    table = hs.VariationTable(["x", "y"], power_w=np.array([[300.0, 300.0, 150.0], [110.0, 110.0, 110.0]]))
    platform = machine(3, off_w=95.0, boot_w=100.0).with_tables(actual=table)
    workload = jobs((0, 1, 1), (20, 30, 1), app=["y", "x"])
    result = run(workload, platform, 360, min_idle_s=5, exclude="0")
    assert [event for event in happened(result) if event[1] == "wake"] == [(20.0, "wake", 2)]
    assert result.jobs.select("start_s", "nodes").rows()[1] == (25.0, [2])


def test_rule_9_nodes_that_draw_no_less_off_than_idle_stay_on() -> None:
    result = run(jobs((0, 100, 1)), machine(2, off_w=101.0), 620, min_idle_s=10)
    assert happened(result) == []


@pytest.mark.parametrize(
    "backfill", ["none", "first-fit", "reservations", {"name": "reservations", "depth": "unbounded"}]
)
@pytest.mark.parametrize("sleep", ["timeout", "nqsv", "planned", "newsvendor"])
def test_all_sleep_parts_and_backfills_that_count_go_together(backfill: Any, sleep: str) -> None:
    workload = jobs((0, 300, 1), (1, 50, 1), (40, 200, 2), (3000, 60, 3), (20000, 60, 2))
    policy = hs.Policy("fcfs", backfill, power={"name": "system-budget", "budget_w": 700}, sleep=sleep)
    result = hs.simulate(workload, machine(3), policy)
    check_schedule(result, workload, machine(3))
    summary = result.summary()
    assert (summary["completed"], summary["rejected"], summary["over_budget_s"]) == (4, 1, 0.0)


class Restless:
    """Puts every node to sleep that no planned job needs, and wakes all that are off."""

    def rest(self, nodes: Any, view: Any) -> Rest:
        return Rest(
            nodes.idle[np.isinf(nodes.next_start_s)],
            wake=nodes.off,
            again_s=view.now_s + 30 if view.now_s < 300 else inf,
        )


@pytest.mark.parametrize("budget_w", [320, 345, 500, 900])
def test_rule_9_an_own_part_wakes_as_far_as_the_room_goes(budget_w: float) -> None:
    """It would pass any budget: it sends nodes to sleep at 130 W, and wakes them at 120, three at a time."""
    workload, platform = (
        jobs((0, 40, 1), (30, 100, 2), (250, 60, 3), power_w=[105.0, 105.0, 106.0]),
        machine(3, shutdown_w=130.0),
    )
    power = {"name": "system-budget", "budget_w": budget_w}
    result = hs.simulate(workload, platform, hs.Policy("fcfs", power=power, sleep=Restless()))
    check_schedule(result, workload, platform)
    assert result.summary()["over_budget_s"] == 0.0
    assert result.timeline["power_w"].max() <= budget_w
    assert set(result.jobs["state"]) == {"completed"}
    # To shut down takes 30 W beyond idle.
    assert (result.summary()["boots"] > 0) == (budget_w >= 330)


REFUSED = {
    "an allocator or steps in on_excess": ({"on_excess": ["kill"]}, "reservations"),
    "backfill.order": ({}, {"name": "reservations", "order": "shortest"}),
    "none, first-fit or reservations with a power part": ({}, "patience"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_does_not_go_together_is_said(message: str) -> None:
    more, backfill = REFUSED[message]
    power = {"name": "system-budget", "budget_w": 700, **more}
    with pytest.raises(hs.ConfigError, match=message):
        hs.simulate(jobs((0, 1, 1)), machine(3), hs.Policy("fcfs", backfill, power=power, sleep="timeout"))

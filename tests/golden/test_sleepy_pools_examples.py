"""Pools that sleep, and a pool of some nodes under a budget, worked out by hand (machine page, rules 1, 6, 7, 14 to 22
and 29)."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from worked_examples import jobs, machine, starts, steps
from worked_examples import run as run_of

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

A, B = hs.Queue("a", "0-1"), hs.Queue("b", "2-3")


def run(workload: hs.Workload, nodes: int, sleep: Any, *queues: hs.Queue, **options: Any) -> hs.Result:
    return run_of(workload, machine(nodes, *(queues or (A, B))), "reservations", sleep=sleep, **options)


def test_each_pool_sleeps_and_wakes_for_its_own_jobs() -> None:
    """Rules 15 to 17 and 20 to 22: node 4, in no queue, sleeps first, and nodes 2 and 3 sleep on while job 3 waits."""
    workload = jobs((0, 10, 10, 1, "a"), (0, 2000, 2000, 2, "b"), (5000, 50, 50, 2, "a"))
    result = run(workload, 5, "timeout")
    asleep = [(600.0, "sleep", 4), (600.0, "sleep", 1), (610.0, "sleep", 0), (2600.0, "sleep", 3), (2600.0, "sleep", 2)]
    assert steps(result, "sleep", "wake") == [*asleep, (5000.0, "wake", 0), (5000.0, "wake", 1)]
    assert starts(result) == [0.0, 0.0, 5060.0]
    # Jobs 10 + 2 × 2000 + 2 × 50 node-s; idle 3 × 600 and 2 × 600; seven transitions at 600 W: 5 × 120 and 2 × 60.
    summary = result.summary()
    assert summary["job_energy_j"] == 2100.0 * (10 + 2 * 2000 + 2 * 50)
    assert summary["idle_energy_j"] == 600.0 * 5 * 600
    assert summary["energy_j"] == 2100.0 * 4110 + 600.0 * 3000 + 600.0 * (5 * 120 + 2 * 60)
    assert result.nodes["boots"].to_list() == [1, 1, 0, 0, 0]
    assert result.nodes["shutdowns"].to_list() == [1] * 5


def test_rule_16_nodes_that_stay_on_are_counted_over_the_platform() -> None:
    """At 10 node 3 sleeps, and three are left. Off at 130, it is woken for job 2, and a fourth is on: node 1 may go,
    node 2, for the same job, not. At 200 again three are left."""
    workload = jobs((0, 100, 100, 1, "a"), (50, 10, 10, 2, "b"))
    result = run(workload, 4, {"name": "timeout", "min_idle_s": 10, "min_on_nodes": 3})
    assert steps(result, "sleep", "wake") == [(10.0, "sleep", 3), (130.0, "wake", 3), (130.0, "sleep", 1)]
    assert starts(result) == [0.0, 190.0]


def test_rule_16_what_one_pool_has_put_to_sleep_is_no_other_pools_lack() -> None:
    """Job 2 waits for both nodes of `a` and needs node 1 at 300; nodes 2 and 3 sleep at once, node 1 does not."""
    workload = jobs((0, 300, 300, 1, "a"), (0, 10, 10, 2, "a"))
    result = run(workload, 4, {"name": "planned", "estimated_off_s": 1000})
    assert steps(result, "sleep", "wake")[:2] == [(0.0, "sleep", 3), (0.0, "sleep", 2)]
    assert starts(result) == [0.0, 300.0]
    assert [time_s for time_s, _, node in steps(result, "sleep") if node < 2] == [310.0, 310.0]


def test_rule_14_nodes_are_excluded_by_their_numbers_on_the_platform() -> None:
    result = run(jobs((0, 700, 700, 1, "a")), 5, {"name": "timeout", "exclude": "1,3"})
    assert steps(result, "sleep") == [(600.0, "sleep", 4), (600.0, "sleep", 2)]


def test_rule_29_a_node_that_fails_asleep_comes_back_on() -> None:
    """Nodes 1 and 4 sleep at 600 and fail at 800; repaired at 900 they are on, so that job 2 starts at once at 950."""
    rows = [(at, kind, node) for at, kind in ((800.0, "node_failed"), (900.0, "node_repaired")) for node in (1, 4)]
    frame = pl.DataFrame(rows, schema={"time_s": pl.Float64, "kind": pl.String, "node": pl.Int64}, orient="row")
    workload = jobs((0, 2000, 2000, 1, "a"), (950, 10, 10, 1, "a"))
    result = run(workload, 5, "timeout", events=hs.Events.from_polars(frame))
    assert starts(result) == [0.0, 950.0]
    assert [step for step in steps(result, "sleep", "repaired") if step[2] in (1, 4)] == [
        (600.0, "sleep", 4),
        (600.0, "sleep", 1),
        (900.0, "repaired", 1),
        (900.0, "repaired", 4),
        (1500.0, "sleep", 4),
        (1560.0, "sleep", 1),
    ]


def test_a_pool_of_some_nodes_sleeps() -> None:
    """Rules 16 and 20: nodes 0 and 3 are in no queue, and no job wakes them."""
    workload = jobs((0, 10, 10, 1, "a"), (1000, 10, 10, 2, "a"))
    result = run(workload, 4, "timeout", hs.Queue("a", "1-2"))
    expected = [(600.0, "sleep", 3), (600.0, "sleep", 2), (600.0, "sleep", 0), (610.0, "sleep", 1)]
    assert steps(result, "sleep", "wake") == [*expected, (1000.0, "wake", 1), (1000.0, "wake", 2)]
    assert result.jobs["nodes"].to_list() == [[1], [1, 2]]


def test_each_pool_keeps_a_reserve_of_its_own() -> None:
    """Under `newsvendor` what `a` was asked for says nothing of `b`, and nodes in no queue are no reserve."""
    workload = jobs(*((float(at), 10.0, 10.0, 1, "a") for at in range(0, 20_000, 400)), (20_000, 10, 10, 1, "b"))
    result = run(workload, 5, "newsvendor")
    assert steps(result, "sleep")[0] == (0.0, "sleep", 4)
    slept = [result.nodes["shutdowns"][node] for node in range(5)]
    assert slept[2:] == [1, 1, 1]
    assert slept[0] + slept[1] > 2


def budget(workload: hs.Workload, watts: float, events: hs.Events | None = None) -> hs.Result:
    """On four nodes of 100 W idle and 300 W busy, of which 1 and 3 serve."""
    platform = hs.Platform.homogeneous(
        4, 100.0, 300.0, off_w=0.0, boot_s=0.0, shutdown_s=0.0, queues=[hs.Queue("a", "1,3")]
    )
    policy = hs.Policy.preset("easy", power={"name": "system-budget", "budget_w": watts})
    result = hs.simulate(workload, platform, policy, events=events)
    check_schedule(result, workload, platform, events=events)
    return result


TWO = jobs((0, 100, 100, 1, "a"), (0, 100, 100, 1, "a"))


def test_rule_7_idle_nodes_in_no_queue_draw_of_the_budget() -> None:
    """The idle machine draws 400 W, each job 200 W more."""
    one_by_one, both = budget(TWO, 799.0), budget(TWO, 800.0)
    assert (one_by_one.jobs["start_s"].to_list(), both.jobs["start_s"].to_list()) == ([0.0, 100.0], [0.0, 0.0])
    assert one_by_one.jobs["nodes"].to_list() == [[1], [1]]
    assert both.jobs["nodes"].to_list() == [[1], [3]]
    assert (one_by_one.summary()["energy_j"], both.summary()["energy_j"]) == (600.0 * 200, 800.0 * 100)
    assert both.nodes["energy_j"].to_list() == [10_000.0, 30_000.0, 10_000.0, 30_000.0]
    assert both.timeline["idle_nodes"].to_list()[0] == 2


def test_rule_7_a_budget_in_time_is_that_of_the_platform() -> None:
    rows = pl.DataFrame({"time_s": [40.0], "kind": ["budget"], "value": [800.0]})
    result = budget(TWO, 700.0, hs.Events.from_polars(rows))
    assert starts(result) == [0.0, 40.0]


def test_rule_7_a_job_that_the_idle_platform_leaves_no_watts_for_is_rejected() -> None:
    result = budget(jobs((0, 10, 10, 2, "a"), (0, 10, 10, 1, "a")), 799.0)
    assert result.jobs["state"].to_list() == ["rejected", "completed"]
    with pytest.raises(hs.ConfigError, match="the idle machine draws 400 W"):
        budget(TWO, 399.0)


def test_rule_7_a_share_is_one_of_the_platform() -> None:
    """Shares of 4 × 300 W: 0.66 are 792 W, 0.67 are 804 W."""
    platform = hs.Platform.homogeneous(
        4, 100.0, 300.0, off_w=0.0, boot_s=0.0, shutdown_s=0.0, queues=[hs.Queue("a", "1,3")]
    )
    for share, start_s in ((0.66, 100.0), (0.67, 0.0)):
        policy = hs.Policy.preset("easy", power={"name": "system-budget", "pcr": share})
        assert hs.simulate(TWO, platform, policy).jobs["start_s"].to_list() == [0.0, start_s]

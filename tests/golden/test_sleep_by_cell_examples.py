"""Nodes that sleep and differ in what jobs ask for, or that queues share, worked out by hand (rules 16 and 20).

Nodes 0 and 1 are plain and boot in 60 s, nodes 2 and 3 have a GPU and boot in 60 s or 200 s; all shut down in 120 s.
"""

from __future__ import annotations

from typing import Any

import pytest
from worked_examples import jobs, machine, nodes, run, starts, steps

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

AT_ONCE = {"name": "timeout", "min_idle_s": 0}


def unlike(gpu_boot_s: float = 60.0, queues: list[hs.Queue] | None = None) -> hs.Platform:
    alike: dict[str, Any] = {"count": 2, "idle_w": 600.0, "tdp_w": 2100.0, "off_w": 0.0, "shutdown_s": 120.0}
    plain, fast = {"name": "plain", "boot_s": 60.0, "gpus": 0}, {"name": "fast", "boot_s": gpu_boot_s, "gpus": 1}
    return hs.Platform([plain | alike, fast | alike], queues=queues)


def test_rule_20_each_kind_is_woken_for_its_own_jobs() -> None:
    # Of all four nodes node 2 serves until 100, and the others go to sleep at once. At 1000 there come a job that any
    # node will do for, which has the plainest, and one for a GPU. Counted together the lowest two would be woken.
    workload = jobs((0, 100, 100, 1), (1000, 50, 50, 1), (1000, 50, 50, 1), gpus=[1, 0, 1])
    result = run(workload, unlike(), "reservations", sleep=AT_ONCE)
    assert steps(result, "sleep") == [
        (0.0, "sleep", 3),
        (0.0, "sleep", 1),
        (0.0, "sleep", 0),
        (100.0, "sleep", 2),
        (1110.0, "sleep", 2),
        (1110.0, "sleep", 0),
    ]
    assert steps(result, "wake", "ready") == [
        (1000.0, "wake", 0),
        (1000.0, "wake", 2),
        (1060.0, "ready", 0),
        (1060.0, "ready", 2),
    ]
    assert (starts(result), nodes(result)) == ([0.0, 1060.0, 1060.0], [[2], [0], [2]])


@pytest.mark.parametrize("backfill", ["none", "first-fit", "reservations", "patience"])
def test_rule_20_nodes_that_boot_faster_are_woken_later(backfill: str) -> None:
    # A job of three nodes has two plain ones and one with a GPU, from 1200 on: that one boots for 200 s. The plain ones
    # are woken 60 s before.
    workload = jobs((0, 10, 10, 1), (1000, 50, 50, 3), gpus=[1, 0])
    result = run(workload, unlike(gpu_boot_s=200.0), backfill, sleep=AT_ONCE)
    assert steps(result, "wake") == [(1000.0, "wake", 2), (1140.0, "wake", 0), (1140.0, "wake", 1)]
    assert starts(result) == [0.0, 1200.0]


def test_rule_16_a_node_stays_on_for_jobs_of_its_own_kind() -> None:
    # Job 1 has node 2 until 100, then job 2 has both nodes with a GPU: node 3 has to be there sooner than it could be
    # back, at 180, and stays on. No job wants a plain node. Counted together, three idle and two are needed: nodes 3
    # and 1 would go to sleep, and job 2 would start at 180.
    workload = jobs((0, 100, 100, 1), (0, 50, 50, 2), gpus=[1, 1])
    result = run(workload, unlike(), "reservations", sleep=AT_ONCE)
    assert steps(result, "sleep") == [
        (0.0, "sleep", 1),
        (0.0, "sleep", 0),
        (150.0, "sleep", 3),
        (150.0, "sleep", 2),
    ]
    assert (starts(result), nodes(result)) == ([0.0, 100.0], [[2], [2, 3]])


def test_rule_16_nodes_that_stay_on_are_counted_over_all_kinds() -> None:
    # Two nodes stay on, of whatever kind: those looked at last.
    result = run(
        jobs((0, 10, 10, 1), (500, 10, 10, 1), gpus=[0, 1]), unlike(), "none", sleep=AT_ONCE | {"min_on_nodes": 2}
    )
    assert steps(result, "sleep", "wake") == [
        (0.0, "sleep", 3),
        (0.0, "sleep", 2),
        (500.0, "wake", 2),
        (500.0, "sleep", 1),
    ]


def test_a_job_takes_nodes_that_are_on_before_plainer_ones_that_are_off() -> None:
    # The plain nodes are off from 120 on. At 200 job 2 fits on node 2, which stays on, and waits for no boot.
    sleep = AT_ONCE | {"exclude": "2,3"}
    result = run(jobs((0, 10, 10, 1), (200, 50, 50, 1), gpus=[1, 0]), unlike(), "reservations", sleep=sleep)
    assert steps(result, "wake") == []
    assert (starts(result), nodes(result)) == ([0.0, 200.0], [[2], [2]])


def test_rule_20_under_none_nobody_is_planned_before_the_one_ahead() -> None:
    # Both nodes with a GPU are taken until 1000. Job 3 waits for one of them, and job 4 for its turn: without backfill
    # it is planned for 1000, as is job 3, and a plain node is woken at 940 for it.
    workload = jobs((0, 1000, 1000, 2), (0, 1, 1, 1), (500, 50, 50, 1), (500, 50, 50, 1), gpus=[1, 0, 1, 0])
    strict = run(workload, unlike(), "none", sleep=AT_ONCE)
    assert steps(strict, "wake") == [(940.0, "wake", 0)]
    assert starts(strict) == [0.0, 0.0, 1000.0, 1000.0]
    easy = run(workload, unlike(), "reservations", sleep=AT_ONCE)
    assert steps(easy, "wake") == [(500.0, "wake", 0)]
    assert starts(easy) == [0.0, 0.0, 1000.0, 560.0]


def test_rule_6_queues_that_share_nodes_wake_those_that_fewest_have() -> None:
    # Of its three nodes queue b has one with a and two for itself, and job 2 wants two: nodes 3 and 4. Job 3 has what a
    # has for itself.
    queues = [hs.Queue("a", "0-2"), hs.Queue("b", "2-4")]
    workload = jobs((0, 10, 10, 1, "a"), (1000, 50, 50, 2, "b"), (1000, 50, 50, 1, "a"))
    result = run(workload, machine(5, *queues), "reservations", sleep=AT_ONCE)
    assert steps(result, "wake") == [(1000.0, "wake", 0), (1000.0, "wake", 3), (1000.0, "wake", 4)]
    assert (starts(result), nodes(result)) == ([0.0, 1060.0, 1060.0], [[0], [3, 4], [0]])


def test_rule_20_a_head_that_waits_keeps_only_its_own_set_from_being_woken() -> None:
    # Under `none`. Nodes 0 and 1 are a's, 2 both queues', 3 and 4 b's. Job 1 has nodes 0 and 1 until 1000; job 2 of a
    # waits for three nodes until then, and job 3 of a for its turn. Job 4 of b has a node woken at once.
    queues = [hs.Queue("a", "0-2"), hs.Queue("b", "2-4")]
    rows = [(0, 1000, 1000, 2, "a"), (500, 50, 50, 3, "a"), (500, 50, 50, 1, "a"), (500, 50, 50, 1, "b")]
    result = run(jobs(*rows), machine(5, *queues), "none", sleep=AT_ONCE)
    assert steps(result, "wake") == [(500.0, "wake", 3), (940.0, "wake", 2)]
    assert starts(result) == [0.0, 1000.0, 1050.0, 560.0]


def test_a_reserve_counts_the_reservation_of_each_set() -> None:
    # EASY holds nodes for the first that waits of each queue: at 200 nodes 0 and 1 for job 3, and 2 to 4 for job 4.
    # Node 2 has idled for 60 s at 60, but has to be there sooner than it could be back.
    queues = [hs.Queue("a", "0-2"), hs.Queue("b", "2-4")]
    rows = [(0, 200, 200, 2, "a"), (0, 200, 200, 2, "b"), (0, 50, 50, 2, "a"), (0, 50, 50, 3, "b")]
    result = run(jobs(*rows), machine(5, *queues), "reservations", sleep="newsvendor")
    assert [step for step in steps(result, "sleep") if step[0] < 200] == []
    assert starts(result) == [0.0, 0.0, 200.0, 200.0]
    # A second job of b holds nothing, as job 3 is the one for which EASY does: nothing keeps node 2 on.
    rows = [*rows[:2], (0, 50, 50, 2, "b"), (0, 50, 50, 3, "b")]
    result = run(jobs(*rows), machine(5, *queues), "reservations", sleep="newsvendor")
    assert steps(result, "sleep")[0] == (60.0, "sleep", 2)


def test_rule_20_pools_of_nodes_that_differ_wake_their_own() -> None:
    # Each queue has a plain node and one with a GPU; job 2 may run on any of b's, job 3 needs its GPU.
    queues = [hs.Queue("a", "0,2"), hs.Queue("b", "1,3")]
    workload = jobs((0, 10, 10, 1, "a"), (1000, 50, 50, 1, "b"), (1000, 50, 50, 1, "b"), gpus=[1, 0, 1])
    result = run(workload, unlike(queues=queues), "reservations", sleep=AT_ONCE)
    assert steps(result, "wake") == [(1000.0, "wake", 1), (1000.0, "wake", 3)]
    assert nodes(result) == [[2], [1], [3]]


def test_rule_20_licences_are_waited_for_without_waking_anybody() -> None:
    # Job 1 has the only licence until 1000, and job 2 waits for it: a node is woken 60 s before that.
    platform = hs.Platform(
        [
            {
                "name": "n",
                "count": 2,
                "idle_w": 600.0,
                "tdp_w": 2100.0,
                "off_w": 0.0,
                "boot_s": 60.0,
                "shutdown_s": 120.0,
            }
        ],
        licences={"m": 1},
    )
    workload = jobs((0, 1000, 1000, 1), (500, 50, 50, 2), licences=["m:1", "m:1"])
    result = run(workload, platform, "reservations", sleep=AT_ONCE)
    assert steps(result, "wake") == [(940.0, "wake", 1)]
    assert starts(result) == [0.0, 1000.0]

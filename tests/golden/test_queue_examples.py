"""Schedules of queues, worked out by hand (operations page on machines, rules 1 to 7 and 9, and its examples)."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from worked_examples import Row, jobs, machine, nodes, run, starts

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

LOW, HIGH = hs.Queue("low", "0-1"), hs.Queue("high", "1-2", priority=5)


def test_the_example_of_queues_low_and_high() -> None:
    rows: list[Row] = [(0, 100, 100, 2, "low"), (10, 50, 50, 2, "low"), (20, 50, 50, 2, "high")]
    result = run(jobs(*rows), machine(3, LOW, HIGH))
    assert starts(result) == [0.0, 150.0, 100.0]
    assert nodes(result) == [[0, 1], [0, 1], [1, 2]]


def test_rule_1_nodes_in_no_queue_serve_no_job() -> None:
    result = run(jobs((0, 10, 10, 1, "low"), (0, 10, 10, 2, "low")), machine(4, LOW))
    assert starts(result) == [0.0, 10.0]
    assert result.nodes["busy_s"].to_list() == [20.0, 10.0, 0.0, 0.0]
    assert result.nodes["energy_j"].to_list()[2:] == [20 * 600.0] * 2


@pytest.mark.parametrize("backfill", ["plan", "none"])
def test_rule_2_what_a_queue_does_not_take_is_rejected_with_a_reason(backfill: str) -> None:
    queue = hs.Queue("q", "0-2", max_nodes=2, max_slots=3, max_walltime_s=100, users=["ann"])
    workload = jobs(
        (0, 10, 100, 2, "q"),
        (0, 10, 100, 4, "q"),
        (0, 10, 100, 3, "q"),
        (0, 10, 100, 2, "q"),
        (0, 10, 100, 1, "q"),
        (0, 10, 101, 1, "q"),
        (0, 10, 100, 1, "q"),
        (0, 10, 100, 1, "q"),
        slots=[1, 1, 1, 2, None, 1, 1, 1],
        user=["ann"] * 6 + ["bo", None],
    )
    result = run(workload, machine(3, queue, slots=4), backfill)
    assert result.jobs["reason"].to_list() == [
        None,
        "asks for more nodes than its queue has",
        "asks for more nodes than its queue allows (max_nodes)",
        "asks for more slots in all than its queue allows (max_slots)",
        "asks for more slots in all than its queue allows (max_slots)",
        "asks for a longer walltime than its queue allows (max_walltime_s)",
        "its queue does not take jobs of its user (users)",
        "its queue does not take jobs of its user (users)",
    ]
    assert result.summary()["rejected"] == 7


def test_rule_2_a_job_without_walltime_gets_its_queues_and_is_killed_at_it() -> None:
    known = [
        hs.Queue("both", "0", max_walltime_s=90, default_walltime_s=30),
        hs.Queue("most", "1", max_walltime_s=40),
        hs.Queue("none", "2"),
    ]
    workload = jobs(*((0, 50, None, 1, queue.name) for queue in known), (60, 50, 90, 1, "both"))
    result = run(workload, machine(3, *known))
    assert result.jobs["walltime_s"].to_list() == [30.0, 40.0, None, 90.0]
    assert result.jobs["end_s"].to_list() == [30.0, 40.0, 50.0, 110.0]
    assert result.jobs["state"].to_list() == ["timeout", "timeout", "completed", "completed"]
    # Whoever repeats the run begins with the same jobs.
    assert result.provenance["trace"]["sha256"] == workload.sha256
    assert result.provenance["platform"]["queue"][0] == known[0].to_dict()


@pytest.mark.parametrize("backfill", ["plan", "reservations", "none"])
def test_rule_3_jobs_beyond_a_limit_are_passed_over(backfill: str) -> None:
    # Two of queue `a` run at once. Jobs 3 and 4 wait for job 1, although a node is free; job 5 passes them unhindered,
    # and does not overtake who is not there. Job 6 of the whole machine is not kept waiting by them, either.
    queues = [hs.Queue("a", "0-2", max_running=2), hs.Queue("b", "0-2")]
    rows: list[Row] = [(0, 50, 50, 1, "a"), (0, 90, 90, 1, "a"), (0, 50, 50, 1, "a"), (0, 50, 50, 1, "a")]
    result = run(jobs(*rows, (1, 20, 20, 1, "b")), machine(3, *queues), backfill)
    assert starts(result) == [0.0, 0.0, 50.0, 90.0, 1.0]
    assert result.jobs["started_by"].to_list() == ["immediate", "immediate", "reservation", "reservation", "immediate"]


def test_rule_3_a_users_limit_counts_jobs_of_this_queue() -> None:
    queues = [hs.Queue("a", "0-5", max_running_per_user=1), hs.Queue("b", "0-5")]
    rows: list[Row] = [(0, 10, 10, 1, "a")] * 5
    users = ["ann", "ann", "bo", None, None]
    result = run(jobs(*rows, (0, 10, 10, 1, "b"), user=[*users, "ann"]), machine(6, *queues))
    assert starts(result) == [0.0, 10.0, 0.0, 0.0, 0.0, 0.0]


def test_rule_4_priority_comes_before_the_queues_own_order_and_that_before_eligible_s() -> None:
    queues = [
        hs.Queue("first", "0", priority=1, order="shortest"),
        hs.Queue("second", "0"),
        hs.Queue("late", "0", priority=-1, order="longest"),
    ]
    rows: list[Row] = [
        (0, 5, 5, 1, "second"),
        (1, 10, 10, 1, "late"),
        (1, 20, 20, 1, "late"),
        (2, 30, 30, 1, "second"),
        (2, 10, 10, 1, "second"),
        (3, 20, 20, 1, "first"),
        (4, 10, 10, 1, "first"),
    ]
    result = run(jobs(*rows), machine(1, *queues), "none")
    order = result.jobs.sort("start_s")["job_id"].to_list()
    assert order == [1, 7, 6, 4, 5, 3, 2]


def test_rule_4_an_order_counts_from_eligible_s() -> None:
    # Job 2 is submitted first and may start from 50 on only: it comes after job 3.
    rows: list[Row] = [(0, 100, 100, 1, "q"), (1, 10, 10, 1, "q"), (2, 10, 10, 1, "q")]
    result = run(jobs(*rows, start_at_s=[None, 50.0, None]), machine(1, hs.Queue("q", "0")))
    assert starts(result) == [0.0, 110.0, 100.0]


def test_rule_6_each_pool_has_its_own_head_and_placement() -> None:
    # The head of pool 2-3 waits for both nodes until 100; that keeps nobody in pool 0-1 waiting.
    queues = [hs.Queue("up", "2-3"), hs.Queue("down", "0-1"), hs.Queue("up-too", [3, 2], priority=1)]
    rows: list[Row] = [
        (0, 100, 100, 1, "up"),
        (1, 10, 10, 2, "up"),
        (2, 10, 10, 2, "down"),
        (3, 200, 200, 1, "up-too"),
        (4, 10, 10, 1, "down"),
        (5, 95, 95, 1, "up"),
    ]
    result = run(jobs(*rows), machine(5, *queues), "reservations")
    # Job 4 is of the queue of higher priority: it is no backfill, and job 2 waits for it.
    assert starts(result) == [0.0, 203.0, 2.0, 3.0, 12.0, 100.0]
    assert nodes(result) == [[2], [2, 3], [0, 1], [3], [0], [2]]


def test_rule_6_an_array_has_one_limit_over_all_pools() -> None:
    queues = [hs.Queue("a", "0-1"), hs.Queue("b", "2-3")]
    rows: list[Row] = [(0, 10, 10, 1, "b"), (0, 20, 20, 1, "a"), (0, 10, 10, 1, "a"), (0, 10, 10, 1, "b")]
    result = run(jobs(*rows, array_id=[7] * 4, array_limit=[2] * 4), machine(4, *queues), "reservations")
    # Pool 0-1 comes first in every pass: jobs 2 and 3, then at 10 job 1, and at 20 job 4.
    assert starts(result) == [10.0, 0.0, 0.0, 20.0]


def test_rule_6_a_node_that_fails_leaves_its_pool_and_comes_back_to_it() -> None:
    queues = [hs.Queue("a", "0-1"), hs.Queue("b", "2-3")]
    rows: list[Row] = [(0, 100, 100, 2, "b"), (60, 10, 10, 2, "b"), (60, 10, 10, 1, "a"), (61, 5, 5, 1, "b")]
    events = hs.Events.from_polars(
        pl.DataFrame({"time_s": [50.0, 80.0], "kind": ["node_failed", "node_repaired"], "node": [3, 3]})
    )
    result = run(jobs(*rows), machine(4, *queues), "reservations", events=events, on_failure="requeue")
    # Job 4 is no longer than job 1 can be kept waiting: nothing says when node 3 is back.
    assert starts(result) == [80.0, 180.0, 60.0, 61.0]
    assert result.jobs["attempts"].to_list() == [2, 1, 1, 1]


def test_rule_6_maintenance_takes_a_node_from_its_pool_until_it_is_over() -> None:
    queues = [hs.Queue("a", "0"), hs.Queue("b", "1-2")]
    rows: list[Row] = [(0, 5, 5, 1, "a"), (20, 10, 10, 2, "b"), (21, 50, 50, 1, "b"), (22, 75, 75, 1, "b")]
    event = {"time_s": [10.0], "kind": ["maintenance"], "node": [2], "until_s": [90.0], "announced_s": [10.0]}
    result = run(jobs(*rows), machine(3, *queues), "reservations", events=hs.Events.from_polars(pl.DataFrame(event)))
    # Job 2 is promised both nodes at 90, when node 2 is back: job 3 fits before, job 4 does not.
    assert starts(result) == [0.0, 90.0, 21.0, 100.0]


def test_rule_6_a_job_that_starves_keeps_those_of_its_own_set_waiting() -> None:
    # Job 2 waits for both nodes of its queue, and starves from 21 on. Job 4 of the same queue may not have node 1 at
    # 52, nor before job 2 has started at 100. Jobs 5 and 6 of the other queue start, on the node that both have, too.
    queues = [hs.Queue("a", "0-1"), hs.Queue("b", "1-2")]
    rows: list[Row] = [
        (0, 100, 100, 1, "a"),
        (1, 10, 10, 2, "a"),
        (2, 50, 50, 1, "a"),
        (30, 10, 10, 1, "a"),
        (31, 10, 10, 1, "b"),
        (60, 5, 5, 2, "b"),
    ]
    for limit_s, fourth_s in ((20, 110.0), ("none", 52.0)):
        order = {"name": "vahrm", "beta": 0.0, "starvation_limit_s": limit_s}
        result = hs.simulate(jobs(*rows), machine(3, *queues), hs.Policy(order, "first-fit"))
        assert starts(result) == [0.0, 100.0, 2.0, fourth_s, 31.0, 62.0 if limit_s == "none" else 60.0]
        assert nodes(result)[:3] == [[0], [0, 1], [1]]


def test_rule_6_long_waits_of_each_set_hold_reservations() -> None:
    # Job 2 of queue a has waited for more than 20 s by 52, and job 4 of queue b, too: each holds nodes of its own set
    # from 100 on, when jobs 1 and 3 end. Job 5 would keep job 2 waiting on node 1; job 6 is done before that.
    queues = [hs.Queue("a", "0-1"), hs.Queue("b", "2-3"), hs.Queue("c", "1-2")]
    rows: list[Row] = [
        (0, 100, 100, 1, "a"),
        (1, 10, 10, 2, "a"),
        (2, 98, 98, 1, "b"),
        (3, 10, 10, 2, "b"),
        (52, 60, 60, 1, "c"),
        (52, 40, 40, 1, "c"),
    ]
    patience = {"name": "patience", "patience_s": 20}
    result = run(jobs(*rows), machine(4, *queues), patience)
    assert starts(result) == [0.0, 100.0, 2.0, 100.0, 110.0, 52.0]
    assert nodes(result)[:4] == [[0], [0, 1], [3], [2, 3]]


def test_rule_9_a_plan_concentrates_or_spreads_jobs_by_queue() -> None:
    queues = [hs.Queue("pack", "0-3"), hs.Queue("thin", "0-3", allocation="spread")]
    rows: list[Row] = [(0, 9, 9, 1, "thin"), (1, 9, 9, 1, "thin"), (2, 9, 9, 1, "pack"), (3, 9, 9, 2, "thin")]
    result = run(jobs(*rows, slots=[2, 1, 1, 1]), machine(4, *queues, slots=4))
    assert nodes(result) == [[0], [1], [0], [2, 3]]


@pytest.mark.parametrize("slots", [1, 4])
def test_rule_9_off_nodes_go_last_and_nodes_in_no_queue_sleep(slots: int) -> None:
    # Nodes 0 and 1 are idle from 10 on and shut down at 70; node 3, which no queue has, at 60. Job 2 keeps node 2 awake
    # until 100, and job 3 from 150 to 160. By then node 0 could be awake, too: job 4 takes node 2, and none is woken.
    platform = hs.Platform.homogeneous(
        nodes=4,
        idle_w=100.0,
        tdp_w=200.0,
        slots=slots,
        exclusive=slots == 1,
        boot_s=10,
        shutdown_s=10,
        off_w=0,
        queues=[hs.Queue("most", "0-2", allocation="spread"), hs.Queue("last", "2")],
    )
    rows: list[Row] = [
        (0, 10, 10, 3, "most"),
        (0, 90, 100, 1, "last"),
        (150, 10, 10, 1, "last"),
        (150, 10, 10, 1, "most"),
    ]
    workload = jobs(*rows, slots=[slots, 1, 1, slots])
    result = run(workload, platform, sleep={"name": "timeout", "min_idle_s": 60})
    assert starts(result) == [0.0, 10.0, 150.0, 160.0]
    assert nodes(result) == [[0, 1, 2], [2], [2], [2]]
    assert result.nodes.select("boots", "shutdowns").rows() == [(0, 1), (0, 1), (0, 0), (0, 1)]


AOBA = """
exclusive = false
queue = [
  { name = "sxf", nodes = "0-3", max_slots = 1, max_walltime_s = 3600 },
  { name = "sxl", nodes = "0-3", max_slots = 1 },
  { name = "sxmix_s", nodes = "4-61", max_slots = 1 },
  { name = "sx_s", nodes = "4-61", max_nodes = 1, max_slots = 8 },
  { name = "sx_m", nodes = "4-61", max_nodes = 8, max_slots = 64 },
  { name = "sx_l", nodes = "4-61", max_nodes = 32, max_slots = 256 },
  { name = "urgent", nodes = "4-27", priority = 10 },
]

[[classes]]
name = "vi"
count = 72
slots = 8
idle_w = 600
tdp_w = 2100
boot_s = 60
shutdown_s = 120
"""


def test_the_reference_configuration_runs(tmp_path: Any) -> None:
    path = tmp_path / "aoba.toml"
    path.write_text(AOBA)
    platform = hs.Platform.from_toml(path)
    assert hs.Platform.from_dict(platform.to_dict()) == platform
    rows: list[Row] = [
        (0, 600, None, 1, "sxf"),
        (0, 4000, 4000, 32, "sx_l"),
        (1, 4000, 4000, 32, "sx_l"),
        (2, 600, 3600, 8, "sx_m"),
        (3, 100, 3600, 1, "sx_s"),
        (4, 100, 3600, 24, "urgent"),
        (5, 100, 3600, 1, "sxl"),
        (5, 100, 7200, 1, "sxf"),
    ]
    workload = jobs(*rows, slots=[1, 8, 8, 8, 4, 8, 1, 1])
    result = run(workload, platform, "plan")
    # Job 2 has nodes 4-35 until 4000, when the urgent job 6 gets 4-27. Job 3 needs 32 of the other 34 nodes by then.
    assert starts(result) == [0.0, 0.0, 4000.0, 2.0, 3.0, 4000.0, 5.0, None]
    assert nodes(result)[1:6] == [
        list(range(4, 36)),
        list(range(28, 60)),
        list(range(36, 44)),
        [44],
        list(range(4, 28)),
    ]
    assert result.jobs["walltime_s"][0] == 3600.0
    assert result.jobs["reason"][7] == "asks for a longer walltime than its queue allows (max_walltime_s)"
    assert nodes(result)[0] == [0]
    assert nodes(result)[6] == [0]
    with pytest.raises(
        hs.ConfigError, match=r"policy\.backfill: found `reservations`, expected plan or slurm, which names nodes"
    ):
        hs.simulate(workload, platform, "easy")

"""Urgent jobs, worked out by hand (machine page, rules 33 to 35, and others where they speak of them)."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from worked_examples import Row, jobs, machine, nodes, run

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def times(result: hs.Result) -> list[tuple[float | None, float | None]]:
    return result.jobs.select("start_s", "end_s").rows()


def happened(result: hs.Result) -> list[tuple[float, str, int]]:
    """Events of jobs: when, what, to which."""
    return result.events.filter(pl.col("job_id").is_not_null()).select("time_s", "kind", "job_id").rows()


def stretches(result: hs.Result, job: int) -> list[tuple[float, float, str]]:
    return result.segments.filter(job_id=job).select("start_s", "end_s", "state").rows()


NORMAL, URGENT = hs.Queue("n", "0-2"), hs.Queue("u", "0-1", priority=9, preempts=["n"])
EXAMPLE = jobs((0, 100, 100, 1, "n"), (10, 100, 100, 2, "n"), (50, 30, 30, 1, "u"), (60, 10, 10, 1, "n"))


def test_the_example_of_an_urgent_job() -> None:
    result = run(EXAMPLE, machine(3, NORMAL, URGENT))
    assert times(result) == [(0.0, 130.0), (10.0, 110.0), (50.0, 80.0), (110.0, 120.0)]
    assert nodes(result) == [[0], [1, 2], [0], [1]]
    assert result.jobs["suspended_s"].to_list() == [30.0, 0.0, 0.0, 0.0]
    assert happened(result) == [(50.0, "suspend", 1), (80.0, "resume", 1)]


def test_rule_33_an_urgent_job_that_fits_suspends_no_job() -> None:
    result = run(jobs((0, 100, 100, 1, "n"), (10, 10, 10, 1, "u")), machine(3, NORMAL, URGENT))
    assert nodes(result) == [[0], [1]]
    assert happened(result) == []


def test_rule_33_it_waits_for_jobs_that_it_does_not_preempt() -> None:
    """Node 0 is another urgent job's until 60, then job 3's: planned without the jobs of `n`, not before."""
    one = hs.Queue("u", "0", priority=9, preempts=["n"])
    rows: list[Row] = [(0, 60, 60, 1, "u"), (10, 20, 20, 1, "u"), (20, 40, 40, 3, "n"), (20, 40, 40, 2, "n")]
    result = run(jobs(*rows), machine(3, NORMAL, one))
    assert times(result) == [(0.0, 60.0), (60.0, 80.0), (80.0, 120.0), (20.0, 60.0)]
    assert nodes(result)[1:] == [[0], [0, 1, 2], [1, 2]]


def test_rule_33_it_takes_the_least_used_nodes_then_the_lowest() -> None:
    """On four slots each: 4 of node 0, 3 of node 1 and 3 of node 2 are taken; it needs 2 and takes node 1."""
    workload = jobs(
        (0, 100, 100, 1, "n"),
        (0, 100, 100, 1, "n"),
        (0, 100, 100, 1, "n"),
        (10, 20, 20, 1, "u"),
        slots=[4, 3, 3, 2],
    )
    result = run(workload, machine(3, NORMAL, hs.Queue("u", "0-2", priority=9, preempts=["n"]), slots=4))
    assert nodes(result) == [[0], [1], [2], [1]]
    assert result.jobs["suspended_s"].to_list() == [0.0, 20.0, 0.0, 0.0]


def test_rule_33_who_started_last_is_suspended_first_then_the_later_row() -> None:
    """Four jobs of one slot; an urgent one of three slots leaves only the first of those that started at 0."""
    rows: list[Row] = [(0, 100, 100, 1, "n"), (0, 100, 100, 1, "n"), (0, 100, 100, 1, "n"), (5, 100, 100, 1, "n")]
    workload = jobs(*rows, (10, 20, 20, 1, "u"), slots=[1, 1, 1, 1, 3])
    result = run(workload, machine(1, hs.Queue("n", "0"), hs.Queue("u", "0", priority=9, preempts=["n"]), slots=4))
    assert happened(result)[:3] == [(10.0, "suspend", 4), (10.0, "suspend", 3), (10.0, "suspend", 2)]
    assert result.jobs["end_s"].to_list() == [100.0, 120.0, 120.0, 125.0, 30.0]


def test_rule_33_nodes_are_cleared_in_ascending_order() -> None:
    """Job 2 makes way on node 0, then job 1 with all its nodes: with the urgent job there is room for job 2 again."""
    rows: list[Row] = [(0, 100, 100, 2, "n"), (5, 80, 80, 1, "n"), (10, 20, 20, 2, "u")]
    queues = hs.Queue("n", "0-1"), hs.Queue("u", "0-1", priority=9, preempts=["n"])
    workload, platform = jobs(*rows, slots=[3, 1, 3]), machine(2, *queues, slots=4)
    result = run(workload, platform, order="shortest")
    suspended = [(10.0, "suspend", 2), (10.0, "suspend", 1)]
    assert happened(result) == [*suspended, (10.0, "resume", 2), (30.0, "resume", 1)]
    assert result.jobs["suspended_s"].to_list() == [20.0, 0.0, 0.0]
    assert stretches(result, 2) == [(5.0, 85.0, "running")]
    # By submission job 1 comes first, and keeps its slots from now on until it will have ended.
    assert happened(run(workload, platform)) == [*suspended, (30.0, "resume", 1), (30.0, "resume", 2)]


def test_rule_33_an_urgent_job_uses_slots_of_suspended_ones_without_suspending_more() -> None:
    """The second urgent job finds node 0 free of running jobs, its slots only kept for job 1."""
    queues = hs.Queue("n", "0"), hs.Queue("u", "0", priority=9, preempts=["n"])
    workload = jobs((0, 100, 100, 1, "n"), (10, 30, 30, 1, "u"), (20, 40, 40, 1, "u"), slots=[4, 2, 2])
    result = run(workload, machine(1, *queues, slots=4))
    assert times(result) == [(0.0, 150.0), (10.0, 40.0), (20.0, 60.0)]
    assert happened(result) == [(10.0, "suspend", 1), (60.0, "resume", 1)]


def test_rule_33_urgent_jobs_make_way_for_more_urgent_ones() -> None:
    queues = (
        hs.Queue("n", "0"),
        hs.Queue("u", "0", priority=5, preempts=["n"]),
        hs.Queue("v", "0", priority=9, preempts=["u", "n"]),
    )
    result = run(jobs((0, 50, 50, 1, "n"), (10, 50, 50, 1, "u"), (20, 10, 10, 1, "v")), machine(1, *queues))
    assert times(result) == [(0.0, 110.0), (10.0, 70.0), (20.0, 30.0)]
    # Both are suspended from 20 on: at 30 the one of the higher queue goes on, and the other keeps waiting for it.
    assert stretches(result, 1) == [(0.0, 10.0, "running"), (10.0, 70.0, "suspended"), (70.0, 110.0, "running")]
    assert stretches(result, 2) == [(10.0, 20.0, "running"), (20.0, 30.0, "suspended"), (30.0, 70.0, "running")]


def test_rule_34_no_other_job_uses_the_slots_of_a_suspended_one() -> None:
    """Job 1 is suspended on both nodes for a job on node 0: node 1 is free, and others have to wait."""
    queues = hs.Queue("n", "0-1"), hs.Queue("m", "1", priority=3), hs.Queue("u", "0", priority=9, preempts=["n"])
    rows: list[Row] = [(0, 100, 100, 2, "n"), (50, 30, 30, 1, "u"), (55, 5, 5, 1, "m"), (60, 10, 10, 1, "n")]
    result = run(jobs(*rows), machine(2, *queues))
    assert times(result) == [(0.0, 130.0), (50.0, 80.0), (130.0, 135.0), (130.0, 140.0)]


def test_rule_34_its_work_and_its_walltime_stand_still() -> None:
    rows: list[Row] = [(0, 100, 60, 1, "n"), (50, 30, 30, 1, "u")]
    result = run(jobs(*rows), machine(1, hs.Queue("n", "0"), hs.Queue("u", "0", priority=9, preempts=["n"])))
    assert times(result) == [(0.0, 90.0), (50.0, 80.0)]
    assert result.jobs["state"].to_list() == ["timeout", "completed"]
    assert result.summary()["work_lost_node_s"] == 40.0


def test_rule_34_it_resumes_only_once_all_its_nodes_have_room() -> None:
    """Two urgent jobs, one after the other, keep job 1 from going on, on one node and then on the other."""
    queues = hs.Queue("n", "0-1"), hs.Queue("u", "0-1", priority=9, preempts=["n"])
    rows: list[Row] = [(0, 100, 100, 2, "n"), (20, 30, 30, 1, "u"), (40, 30, 30, 1, "u")]
    result = run(jobs(*rows), machine(2, *queues))
    assert nodes(result) == [[0, 1], [0], [1]]
    assert times(result) == [(0.0, 150.0), (20.0, 50.0), (40.0, 70.0)]


def test_rule_34_suspended_jobs_resume_in_policy_order_after_urgent_ones() -> None:
    """At 30 the four slots are those of jobs 1 and 2, suspended, before job 4, which came first of those that wait."""
    queues = hs.Queue("n", "0"), hs.Queue("u", "0", priority=9, preempts=["n"])
    rows: list[Row] = [
        (0, 100, 100, 1, "n"),
        (1, 80, 80, 1, "n"),
        (10, 20, 20, 1, "u"),
        (11, 5, 5, 1, "n"),
        (12, 20, 20, 1, "u"),
    ]
    result = run(jobs(*rows, slots=[2, 2, 4, 1, 2]), machine(1, *queues, slots=4))
    # At 30 job 5 starts on two of the slots; of the two that are left job 1 has them, as it was submitted before job 2.
    assert times(result) == [(0.0, 120.0), (1.0, 121.0), (10.0, 30.0), (120.0, 125.0), (30.0, 50.0)]
    assert happened(result)[2:] == [(30.0, "resume", 1), (50.0, "resume", 2)]
    other = run(jobs(*rows, slots=[2, 2, 4, 1, 2]), machine(1, *queues, slots=4), order="shortest")
    # The shorter job 2 goes on first.
    assert happened(other)[2:] == [(30.0, "resume", 2), (50.0, "resume", 1)]


def test_rule_34_a_suspended_job_does_not_resume_into_known_maintenance() -> None:
    """Job 1 has 50 s to do at 40: not before node 0 goes out at 60. There it is lost."""
    rows: list[Row] = [(0, 60, 60, 1, "n"), (10, 30, 30, 1, "u")]
    queues = hs.Queue("n", "0"), hs.Queue("u", "0", priority=9, preempts=["n"])
    window = {"time_s": [60.0], "kind": ["maintenance"], "node": [0], "until_s": [100.0]}
    events = hs.Events.from_polars(pl.DataFrame(window))
    result = run(jobs(*rows), machine(1, *queues), events=events, on_failure="requeue")
    assert happened(result) == [(10.0, "suspend", 1), (60.0, "requeue", 1)]
    assert times(result) == [(100.0, 160.0), (10.0, 40.0)]


def test_rule_35_the_start_stays_and_the_suspended_time_is_reported() -> None:
    rows: list[Row] = [(0, 100, 100, 1, "n"), (10, 20, 20, 1, "u"), (50, 5, 5, 1, "u")]
    result = run(jobs(*rows), machine(1, hs.Queue("n", "0"), hs.Queue("u", "0", priority=9, preempts=["n"])))
    told = result.jobs.select("start_s", "end_s", "suspended_s", "runtime_s", "wait_s").row(0)
    assert told == (0.0, 125.0, 25.0, 125.0, 0.0)


def test_rule_3_suspended_jobs_count_among_those_that_run() -> None:
    """Job 4 could start on node 1 at 60, but job 1 is suspended, and two of `n` are as many as may run."""
    queues = hs.Queue("n", "0-2", max_running=2), hs.Queue("u", "0", priority=9, preempts=["n"])
    rows: list[Row] = [(0, 100, 100, 1, "n"), (10, 100, 100, 1, "n"), (50, 30, 30, 1, "u"), (60, 10, 10, 1, "n")]
    result = run(jobs(*rows), machine(3, *queues))
    assert times(result) == [(0.0, 130.0), (10.0, 110.0), (50.0, 80.0), (110.0, 120.0)]


def test_rules_15_and_21_a_node_of_suspended_jobs_does_not_sleep() -> None:
    """Job 1 is suspended on both nodes for a job on node 0: node 1 holds it alone from 100 to 1100."""
    queues = hs.Queue("n", "0-1"), hs.Queue("u", "0", priority=9, preempts=["n"])
    rows: list[Row] = [(0, 200, 200, 2, "n"), (100, 1000, 1000, 1, "u"), (5000, 10, 10, 1, "u")]
    result = run(jobs(*rows), machine(2, *queues), sleep={"name": "timeout", "min_idle_s": 300})
    assert times(result)[:2] == [(0.0, 1200.0), (100.0, 1100.0)]
    assert result.nodes.select("busy_s", "idle_s").row(1) == (200.0, 1000.0 + 300.0)
    steps = result.events.filter(pl.col("node").is_not_null()).select("time_s", "kind", "node").rows()
    assert steps[:2] == [(1500.0, "sleep", 1), (1500.0, "sleep", 0)]
    at_500 = result.timeline.filter(pl.col("time_s") <= 500.0).row(-1, named=True)
    assert (at_500["power_w"], at_500["busy_nodes"], at_500["idle_nodes"]) == (2700.0, 1, 1)
    assert (at_500["running_jobs"], at_500["suspended_jobs"]) == (1, 1)


def test_rule_26_a_suspended_job_is_not_cancelled() -> None:
    rows: list[Row] = [(0, 100, 100, 1, "n"), (10, 30, 30, 1, "u")]
    queues = hs.Queue("n", "0"), hs.Queue("u", "0", priority=9, preempts=["n"])
    result = run(jobs(*rows, cancel_s=[20.0, None]), machine(1, *queues))
    assert times(result) == [(0.0, 130.0), (10.0, 40.0)]
    assert "cancel" not in result.events["kind"].to_list()


@pytest.mark.parametrize("on_failure", ["fail", "requeue"])
def test_rule_30_a_suspended_job_loses_all_its_nodes(on_failure: str) -> None:
    """Job 1 is suspended on both nodes when node 1 fails at 20: 2 nodes drew 2100 W for it for 10 s."""
    queues = hs.Queue("n", "0-1"), hs.Queue("u", "0", priority=9, preempts=["n"])
    rows: list[Row] = [(0, 100, 100, 2, "n"), (10, 30, 30, 1, "u")]
    failed = {"time_s": [20.0, 25.0], "kind": ["node_failed", "node_repaired"], "node": [1, 1]}
    events = hs.Events.from_polars(pl.DataFrame(failed))
    result = run(jobs(*rows), machine(2, *queues), events=events, on_failure=on_failure)
    job = result.jobs.row(0, named=True)
    assert job["lost_energy_j"] == 2 * 10 * 2100.0
    if on_failure == "fail":
        assert (job["state"], job["start_s"], job["end_s"], job["suspended_s"]) == ("failed", 0.0, 20.0, 10.0)
    else:
        assert (job["attempts"], job["start_s"], job["end_s"], job["suspended_s"]) == (2, 40.0, 140.0, 0.0)
        assert stretches(result, 1) == [(0.0, 10.0, "running"), (10.0, 20.0, "suspended"), (40.0, 140.0, "running")]
    assert times(result)[1] == (10.0, 40.0)


def test_rule_37_segments_have_their_energy() -> None:
    """On shared nodes: job 1 pays for the node alone, then for half of it; nothing while it is suspended."""
    queues = hs.Queue("n", "0"), hs.Queue("u", "0", priority=9, preempts=["n"])
    workload = jobs((0, 100, 100, 1, "n"), (10, 30, 30, 1, "u"), (60, 20, 20, 1, "n"), slots=[2, 4, 2])
    result = run(workload, machine(1, *queues, slots=4))
    alone_w, half_w = (2100 + 600) / 2, 2100 / 2
    told = result.segments.filter(job_id=1).select("start_s", "end_s", "state", "energy_j").rows()
    assert told == [
        (0.0, 10.0, "running", pytest.approx(10 * alone_w)),
        (10.0, 40.0, "suspended", 0.0),
        (40.0, 130.0, "running", pytest.approx(70 * alone_w + 20 * half_w)),
    ]
    assert result.jobs["energy_j"][0] == pytest.approx(80 * alone_w + 20 * half_w)
    assert result.jobs["energy_j"][1] == pytest.approx(30 * 2100)


def test_rule_36_a_run_that_stops_reports_a_suspended_job() -> None:
    result = run(EXAMPLE, machine(3, NORMAL, URGENT), until_s=70)
    assert result.jobs["state"].to_list() == ["running", "running", "running", "pending"]
    assert result.jobs["suspended_s"].to_list() == [20.0, 0.0, 0.0, 0.0]
    assert stretches(result, 1) == [(0.0, 50.0, "running"), (50.0, 70.0, "suspended")]


def test_depth_and_interval_hold_for_urgent_jobs_too() -> None:
    """Beyond `depth` an urgent job holds nothing, but starts when it can; submissions wait for their pass."""
    one = hs.Queue("u", "0", priority=9, preempts=["n"])
    rows: list[Row] = [(0, 60, 60, 1, "u"), (10, 20, 20, 1, "u"), (10, 20, 20, 1, "u"), (61, 30, 30, 1, "u")]
    result = run(jobs(*rows), machine(1, hs.Queue("n", "0"), one), {"name": "plan", "depth": 1, "interval_s": 25})
    assert times(result) == [(0.0, 60.0), (60.0, 80.0), (80.0, 100.0), (100.0, 130.0)]


def test_rule_7_who_preempts_needs_a_plan() -> None:
    for policy, name in (("easy", "reservations"), ("none", "none")):
        backfill = policy if policy == "none" else name
        expected = (
            r"platform\.queues\[1\]\.preempts: found n of queue `u`, expected nothing, or the backfill plan, "
            f"which names the nodes on which jobs make way: it is {backfill}"
        )
        with pytest.raises(hs.ConfigError, match=expected):
            hs.simulate(EXAMPLE, machine(3, NORMAL, URGENT), hs.Policy("fcfs", backfill))
    starving = {"name": "vahrm", "starvation_limit_s": 100}
    with pytest.raises(hs.ConfigError, match=r"policy\.order\.starvation_limit_s"):
        hs.simulate(EXAMPLE, machine(3, NORMAL, URGENT), hs.Policy(starving, "plan"))


def test_a_session_is_forked_saved_and_loaded_while_a_job_is_suspended(tmp_path: Path) -> None:
    platform, policy = machine(3, NORMAL, URGENT), hs.Policy("fcfs", "plan")
    whole = hs.simulate(EXAMPLE, platform, policy)
    session = hs.Session(EXAMPLE, platform, policy)
    session.step_until(60.0)
    fork = session.fork()
    session.save(tmp_path / "saved")
    for one in (session, fork, hs.Session.load(tmp_path / "saved")):
        result = one.run()
        assert result.jobs.equals(whole.jobs)
        assert result.segments.equals(whole.segments)
        assert result.events.equals(whole.events)

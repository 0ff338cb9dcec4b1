"""The controller as a host sees it."""

from __future__ import annotations

import contextlib
import json
import pickle
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.errors import ConfigError, LiveError
from hetsched.live import (
    Budget,
    Eligible,
    Ended,
    NodeDown,
    NodeOff,
    NodeUp,
    Over,
    Requeued,
    Running,
    Sleep,
    Snapshot,
    Start,
    Started,
    StartFailed,
    Submitted,
    Tick,
    Waiting,
    Wake,
    Withdrawn,
)

SECOND = 1_000_000


def platform(nodes: int = 4, **more: object) -> hs.Platform:
    return hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=300, **more)


def jobs(*sizes: int, walltime_s: float = 60.0, first: int = 1) -> pl.DataFrame:
    ids = list(range(first, first + len(sizes)))
    return pl.DataFrame({"job_id": ids, "node_count": sizes}).with_columns(submit_s=0.0, walltime_s=walltime_s)


def controller(*sizes: int, policy: object = "easy", nodes: int = 4) -> hs.Controller:
    made = hs.Controller(platform(nodes), policy)
    made.add_jobs(jobs(*sizes))
    return made


def brief(decisions: list) -> list:
    return [(type(one).__name__, one.job, one.attempt, one.nodes) for one in decisions]


def test_runtimes_need_not_be_there_and_are_not_read():
    plain = controller(2, 4, 2)
    known = hs.Controller(platform(), "easy")
    known.add_jobs(jobs(2, 4, 2).with_columns(runtime_s=pl.Series([1e9, float("nan"), 3.0])))
    told = [Submitted(job) for job in (1, 2, 3)]
    assert plain.step(0, told) == known.step(0, told)
    assert known.jobs.to_polars()["runtime_s"].to_list() == [60.0] * 3


def test_order_within_an_instant_is_by_kind_and_job_not_by_arrival():
    rng, seen = random.Random(4), []
    for _ in range(6):
        made = controller(4, 2, 1, 1, 2)
        made.step(0, [Submitted(1)])
        told = [Submitted(5), Submitted(2), Submitted(4), Submitted(3), Ended(1, 1, "completed"), NodeDown(3)]
        rng.shuffle(told)
        seen.append(made.step(SECOND, told))
    assert all(one == seen[0] for one in seen)
    assert brief(seen[0]) == [("Start", 2, 1, (0, 1)), ("Start", 3, 1, (2,))]


def test_a_failed_start_returns_to_its_place_and_bad_nodes_are_out():
    made = controller(2, 4)
    made.step(0, [Submitted(1), Submitted(2)])
    again = made.step(SECOND, [StartFailed(1, 1, "no shell", (0,))])
    assert brief(again) == [("Start", 1, 2, (1, 2))]
    # What is said of the first attempt is of no interest any more.
    assert made.step(2 * SECOND, [Ended(1, 1, "failed"), Started(1, 1, (0, 1))]) == []
    assert made.late == 2
    assert brief(made.step(3 * SECOND, [Ended(1, 2, "completed"), NodeUp((0,))])) == [("Start", 2, 1, (0, 1, 2, 3))]


def test_starts_are_confirmed_moved_and_taken_up():
    made = controller(1, 1, 2, 4)
    made.step(0, [Submitted(1), Submitted(4)])
    assert made.step(SECOND, [Started(1, 1, (0,))]) == []
    assert made.late == 0
    # Somebody else has it on node 3, and has started job 2 on node 0.
    assert made.step(2 * SECOND, [Started(1, 1, (3,)), Submitted(2), Started(2, 1, (0,))]) == []
    assert brief(made.step(3 * SECOND, [Submitted(3)])) == [("Start", 3, 1, (1, 2))]
    done = [Ended(1, 1, "completed"), Ended(2, 1, "completed"), Ended(3, 1, "failed")]
    assert brief(made.step(4 * SECOND, done)) == [("Start", 4, 1, (0, 1, 2, 3))]


def test_what_cannot_be_names_both_jobs_and_changes_nothing():
    made = controller(1, 1)
    made.step(0, [Submitted(1)])
    with pytest.raises(LiveError, match=r"job 2 cannot have started on node 0: job 1 runs there"):
        made.step(SECOND, [Submitted(2), Started(2, 1, (0,))])
    # The same instant is free, and job 2 has never been heard of.
    assert brief(made.step(SECOND, [Submitted(2)])) == [("Start", 2, 1, (1,))]


@pytest.mark.parametrize(
    ("notices", "text"),
    [
        ([Ended(2, 1, "completed")], "attempt 1 of job 2 cannot have ended: the job waits, after 0 starts"),
        ([Ended(1, 2, "completed")], "attempt 2 of job 1 cannot have ended: the job runs, after 1 starts"),
        ([Started(3, 1, (1,))], "attempt 1 of job 3 cannot have started: the job has not been submitted"),
        ([NodeOff((0,))], "node 0 cannot be off: it is busy"),
        ([Requeued(1)], "job 1 cannot be queued again: it runs"),
        ([Withdrawn(1)], "job 1 cannot be withdrawn: it runs"),
        ([Started(2, 1, (1, 2))], "job 2 cannot have started on 2 nodes: it asks for 4"),
    ],
)
def test_impossible_notices(notices, text):
    made = controller(1, 4, 1)
    made.step(0, [Submitted(1), Submitted(2)])
    before = pickle.dumps(made)
    with pytest.raises(LiveError, match=text.replace("(", r"\(")):
        made.step(SECOND, notices)
    assert pickle.dumps(made) == before
    assert made.step(SECOND, []) == []


def test_what_is_said_twice_is_counted_and_changes_nothing():
    made = controller(1, 1)
    made.step(0, [Submitted(1)])
    assert made.step(SECOND, [Submitted(1), NodeUp((2,)), Started(1, 1, (0,)), Tick()]) == []
    assert made.late == 2
    made.step(2 * SECOND, [Ended(1, 1, "completed")])
    made.step(3 * SECOND, [Ended(1, 1, "completed"), Withdrawn(1)])
    assert made.late == 4


def test_instants_go_on_and_ids_are_known():
    made = controller(1)
    made.step(5, [Submitted(1)])
    for t_us in (5, 4, True, 1.5, 10**19):
        with pytest.raises(hs.ConfigError, match="t_us"):
            made.step(t_us, [])
    with pytest.raises(hs.ConfigError, match="job 9, expected a job that has been added"):
        made.step(6, [Submitted(9)])
    with pytest.raises(hs.ConfigError, match="node 7"):
        made.step(6, [NodeDown(7)])
    with pytest.raises(hs.ConfigError, match=r"notices of hetsched\.live"):
        made.step(6, ["submitted"])
    assert made.reached_us == 5
    assert made.step(6, []) == []


def test_jobs_are_added_on_the_way_and_rows_are_not_used_again():
    made = controller(4)
    made.step(0, [Submitted(1)])
    made.add_jobs(jobs(2, 2, first=2))
    with pytest.raises(hs.ConfigError, match="a number that no job of the session has"):
        made.add_jobs(jobs(1, first=3))
    with pytest.raises(hs.ConfigError, match="walltime_s"):
        made.add_jobs(pl.DataFrame({"job_id": [8], "submit_s": [0.0], "node_count": [1]}))
    assert made.step(SECOND, [Submitted(3), Submitted(2)]) == []
    started = made.step(2 * SECOND, [Ended(1, 1, "completed")])
    assert brief(started) == [("Start", 2, 1, (0, 1)), ("Start", 3, 1, (2, 3))]


def test_jobs_may_wait_for_the_hosts_word():
    made = controller(1, 1)
    assert brief(made.step(0, [Eligible(1)])) == [("Start", 1, 1, (0,))]
    made.add_jobs(jobs(1, first=7).with_columns(depends_on=pl.Series([2])))
    assert brief(made.step(1, [Submitted(7), Submitted(2)])) == [("Start", 2, 1, (1,))]
    assert brief(made.step(2, [Ended(2, 1, "completed")])) == [("Start", 7, 1, (1,))]


def test_a_lost_node_ends_its_run_and_the_host_may_queue_it_again():
    made = controller(2, 2)
    made.step(0, [Submitted(1)])
    assert made.step(SECOND, [NodeDown(1, "kernel panic")]) == []
    assert brief(made.step(2 * SECOND, [Requeued(1), Ended(1, 1, "failed")])) == [("Start", 1, 2, (0, 2))]
    assert made.late == 1


def test_sleep_and_timers():
    policy = hs.Policy(sleep={"name": "timeout", "min_idle_s": 10})
    made = hs.Controller(platform(2, off_w=5, boot_s=30, shutdown_s=5), policy)
    made.add_jobs(jobs(1))
    assert made.step(0) == []
    assert made.next_us == 10 * SECOND
    (asleep,) = made.step(10 * SECOND, [Tick()])
    assert isinstance(asleep, Sleep)
    assert set(asleep.nodes) == {0, 1}
    made.step(16 * SECOND, [NodeOff((0, 1))])
    (woken,) = made.step(20 * SECOND, [Submitted(1)])
    assert isinstance(woken, Wake)
    assert len(woken.nodes) == 1
    # It takes longer than the platform says.
    (start,) = made.step(70 * SECOND, [NodeUp(woken.nodes)])
    assert isinstance(start, Start)
    assert start.nodes == woken.nodes


def test_budgets_hold_until_they_end():
    made = controller(4, 4, policy=hs.Policy.preset("vahrm", length="walltime", budget_w=2000))
    made.step(0, [Budget(700.0, 60 * SECOND), Submitted(1)])
    assert made.next_us == 60 * SECOND
    assert brief(made.step(60 * SECOND, [])) == [("Start", 1, 1, (0, 1, 2, 3))]


def test_a_pickled_controller_goes_on_where_it_was():
    made = controller(3, 2, 1, policy="random")
    numbers = [one.number for one in made.step(0, [Submitted(1), Submitted(2)])]
    made.add_jobs(jobs(1, first=9))
    other = pickle.loads(pickle.dumps(made))
    told = [Ended(1, 1, "completed"), Submitted(9), Submitted(3)]
    mine = made.step(SECOND, told)
    assert mine == other.step(SECOND, told)
    assert numbers == [1]
    assert mine[0].number == 2


def test_a_rebuilt_controller_goes_on_with_what_runs_and_waits():
    made = controller(4, 2, 2, 1, 1)
    made.step(0, [Submitted(1)])
    made.step(5 * SECOND, [Submitted(2), Submitted(3)])
    made.step(10 * SECOND, [Ended(1, 1, "completed"), Submitted(4)])
    made.step(20 * SECOND, [StartFailed(2, 1, "lost", (0,))])
    state = made.snapshot()
    assert state == Snapshot(
        waiting=(Waiting(2, 0, 1),),
        running=(Running(3, 1, (2, 3), 10 * SECOND), Running(4, 1, (1,), 20 * SECOND)),
        over=(Over(1, 0, "completed"),),
        down=(0,),
    )
    assert Snapshot.from_json(json.loads(json.dumps(state.to_json()))) == state
    other = hs.Controller(platform(), "easy")
    other.add_jobs(made.jobs)
    other.rebuild(21 * SECOND, state)
    assert other.snapshot() == state
    told = [Ended(3, 1, "failed"), NodeUp((0,)), Submitted(5)]
    mine, its = made.step(30 * SECOND, told), other.step(30 * SECOND, told)
    assert brief(mine) == brief(its) == [("Start", 2, 2, (0, 2)), ("Start", 5, 1, (3,))]
    again = pickle.loads(pickle.dumps(other))
    assert again.snapshot() == other.snapshot()
    with pytest.raises(LiveError, match=r"job 4 cannot have started on node 0: job 2 runs there"):
        other.rebuild(40 * SECOND, Snapshot(running=(Running(2, 1, (0, 1), 0), Running(4, 1, (0,), 0))))
    assert again.snapshot() == other.snapshot()


def test_another_policy_takes_over_where_the_last_one_stood():
    made = controller(3, 4, 1)
    made.step(0, [Submitted(1)])
    first = made.step(SECOND, [Submitted(2)])
    made.rebuild(2 * SECOND, made.snapshot(), policy="fcfs")
    assert (first, made.setting.policy.name) == ([], "fcfs")
    other = pickle.loads(pickle.dumps(made))
    # First come, first served has no backfill: job 3 waits behind job 2, and numbers go on.
    assert made.step(3 * SECOND, [Submitted(3)]) == other.step(3 * SECOND, [Submitted(3)]) == []
    mine = made.step(4 * SECOND, [Ended(1, 1, "completed")])
    assert mine == other.step(4 * SECOND, [Ended(1, 1, "completed")])
    assert [(one.number, one.job) for one in mine] == [(2, 2)]
    with pytest.raises(ConfigError, match="replay"):
        made.rebuild(5 * SECOND, made.snapshot(), policy="replay")
    assert made.setting.policy.name == "fcfs"


class Broken:
    """An order that fails at its second pass."""

    def __init__(self) -> None:
        self.calls = 0

    def rank(self, jobs: object, view: object) -> np.ndarray:
        self.calls += 1
        if self.calls == 2:
            raise RuntimeError("no idea")
        return np.zeros(len(jobs))


def test_an_exception_of_a_policy_leaves_the_controller_as_it_was():
    made = controller(1, 1, policy=hs.Policy(order=Broken()))
    assert len(made.step(0, [Submitted(1)])) == 1
    with pytest.raises(RuntimeError, match="no idea"):
        made.step(1, [Submitted(2)])
    # The copy that took its place has been called once, and is called for the second time now.
    with pytest.raises(RuntimeError, match="no idea"):
        made.step(1, [Submitted(2)])
    assert made.step(1, [Ended(1, 1, "completed")]) == []


class Endless:
    """An order that comes to no end, and catches what it can, until it may."""

    may = False
    slept = 0

    def rank(self, jobs: object, view: object) -> np.ndarray:
        while not type(self).may:
            with contextlib.suppress(Exception):
                time.sleep(60)
                type(self).slept += 1
        return np.zeros(len(jobs))


def test_a_step_that_takes_too_long_is_broken_off_and_has_not_been(monkeypatch):
    made = controller(1, policy=hs.Policy(order=Endless()))
    handler = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TimeoutError, match=r"no decision after 0.05 s: the step was broken off"):
        made.step(0, [Submitted(1)], within_s=0.05)
    assert Endless.slept == 0
    assert (made.reached_us, made.snapshot()) == (None, Snapshot())
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    monkeypatch.setattr(Endless, "may", True)
    assert brief(made.step(0, [Submitted(1)], within_s=60)) == [("Start", 1, 1, (0,))]


def test_a_step_is_broken_off_in_the_main_thread_only():
    made = controller(1)
    with pytest.raises(ConfigError, match=r"within_s: found `0`, expected a number between 0.001"):
        made.step(0, within_s=0)
    with ThreadPoolExecutor(1) as others:
        refused = others.submit(made.step, 0, [Submitted(1)], within_s=1).exception()
        assert "within_s: found `1`, expected None outside the main thread" in str(refused)
        assert len(others.submit(made.step, 0, [Submitted(1)]).result()) == 1


@pytest.mark.parametrize(
    ("policy", "text"), [("replay", "`replay`"), (hs.Policy(placement={"name": "pools", "measured": True}), "measured")]
)
def test_policies_that_need_what_is_yet_to_happen_are_refused(policy, text):
    with pytest.raises(hs.ConfigError, match=text):
        hs.Controller(platform(), policy)


def chained(how: str) -> hs.Controller:
    """Job 2 waits for the end of job 1, which runs."""
    made = hs.Controller(platform(), "easy")
    waits = {"depends_on": pl.Series([None, 1], dtype=pl.Int64), "depends_how": pl.Series(["any", how])}
    made.add_jobs(jobs(1, 1).with_columns(**waits))
    assert brief(made.step(0, [Submitted(1), Submitted(2)])) == [("Start", 1, 1, (0,))]
    return made


@pytest.mark.parametrize("how", ["any", "ok", "not_ok"])
@pytest.mark.parametrize("lost", [Ended(1, 1, "failed"), NodeDown(0)])
def test_jobs_that_depend_on_one_that_is_queued_again_wait_on(how, lost):
    made = chained(how)
    again = made.step(SECOND, [lost, Requeued(1)])
    assert [(type(one), one.job, one.attempt) for one in again] == [(Start, 1, 2)]
    end = "failed" if how == "not_ok" else "completed"
    assert [one.job for one in made.step(2 * SECOND, [Ended(1, 2, end)])] == [2]


def test_a_job_that_completed_and_is_queued_again_has_not_completed():
    made = controller(1)
    made.step(0, [Submitted(1)])
    made.step(SECOND, [Ended(1, 1, "completed"), Requeued(1)])
    made.step(2 * SECOND, [Ended(1, 2, "failed")])
    assert made.snapshot().over == (Over(1, 1, "failed"),)


def test_a_run_of_a_later_attempt_that_somebody_else_has_started_keeps_its_number():
    made = controller(4, 1)
    made.step(0, [Submitted(1), Submitted(2)])
    made.step(SECOND, [Ended(1, 1, "completed"), Withdrawn(2)])
    made.add_jobs(jobs(1, first=3))
    # Two attempts went by before there was a controller.
    assert made.step(2 * SECOND, [NodeDown(0), NodeDown(1), NodeDown(2), NodeDown(3)]) == []
    assert made.step(3 * SECOND, [NodeUp((1,)), Submitted(3), Started(3, 3, (1,))]) == []
    assert made.snapshot().running == (Running(3, 3, (1,), 3 * SECOND),)
    assert made.step(4 * SECOND, [Ended(3, 2, "failed"), Ended(3, 3, "completed")]) == []
    assert (made.late, made.snapshot().over[-1]) == (1, Over(3, 2, "completed"))


def test_a_start_on_one_node_twice_is_the_hosts_fault():
    made = controller(2)
    down = [NodeDown(node) for node in range(4)]
    made.step(0, [*down, Submitted(1)])
    with pytest.raises(LiveError, match="job 1 cannot have started on node 3 twice"):
        made.step(SECOND, [NodeUp((3,)), Started(1, 1, (3, 3))])


def of_some_nodes(budget_w: float = 1000) -> hs.Controller:
    """Nodes 1 and 3 of four serve; a budget is for all."""
    power = {"name": "system-budget", "budget_w": budget_w}
    made = hs.Controller(platform(queues=[hs.Queue("a", (1, 3))]), hs.Policy("fcfs", "reservations", power=power))
    made.add_jobs(jobs(1, 1, 2, 1).with_columns(queue=pl.lit("a")))
    return made


def test_under_a_budget_nodes_of_the_only_queue_have_their_own_numbers():
    made = of_some_nodes()
    made.step(0, [Submitted(1)])
    # Somebody else has it on node 3, and has started job 2 on node 1.
    assert made.step(SECOND, [Started(1, 1, (3,)), Submitted(2), Started(2, 1, (1,)), Submitted(3)]) == []
    assert [run.nodes for run in made.snapshot().running] == [(3,), (1,)]
    with pytest.raises(LiveError, match=r"job 4 cannot have started on node 3: job 1 runs there"):
        made.step(2 * SECOND, [Submitted(4), Started(4, 1, (3,))])
    with pytest.raises(LiveError, match=r"job 4 cannot have started on node 2: it is in no queue"):
        made.step(2 * SECOND, [Submitted(4), Started(4, 1, (2,))])
    with pytest.raises(LiveError, match=r"node 3 cannot be off: it is busy"):
        made.step(2 * SECOND, [NodeOff((3,))])
    with pytest.raises(ConfigError, match=r"found node 4, expected a number below 4"):
        made.step(2 * SECOND, [NodeUp((4,))])
    again = of_some_nodes()
    again.rebuild(2 * SECOND, made.snapshot(), state=made.policy_state())
    for controller in (made, again):
        done = [Ended(1, 1, "completed"), Ended(2, 1, "completed")]
        assert brief(controller.step(3 * SECOND, done)) == [("Start", 3, 1, (1, 3))]


def test_nodes_in_no_queue_fail_and_are_repaired_under_a_budget():
    made = of_some_nodes()
    made.step(0, [Submitted(1), NodeDown(0), NodeDown(3)])
    assert made.snapshot().down == (0, 3)
    with pytest.raises(LiveError, match=r"node 2 cannot be off: it is idle"):
        made.step(SECOND, [NodeOff((2,))])
    again = of_some_nodes()
    again.rebuild(SECOND, made.snapshot())
    assert again.snapshot() == made.snapshot()
    assert again.step(2 * SECOND, [NodeUp((0,)), NodeDown(0), NodeUp((2,))]) == []
    assert again.late == 1, "node 2 was ready"
    assert brief(again.step(3 * SECOND, [NodeUp((3,)), Submitted(2)])) == [("Start", 2, 1, (3,))]
    assert again.snapshot().down == (0,)


def test_what_nodes_in_no_queue_idle_at_is_part_of_the_budget():
    # All idle at 400 W, and a job adds 200 W.
    made = of_some_nodes(budget_w=600)
    assert brief(made.step(0, [Submitted(1), Submitted(2)])) == [("Start", 1, 1, (1,))]
    assert brief(made.step(SECOND, [Budget(800.0)])) == [("Start", 2, 1, (3,))]

"""`view.profile()` and `view.earliest(job)`: what is free from now on, as the engine's own reservations have it."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from answering_parts import Scheduler, jobs
from hypothesis import given, settings
from hypothesis import strategies as st

import hetsched as hs
from hetsched.testing import conformance, platforms, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


class EasySjbf:
    """Jobs that do not fit hold reservations, up to `depth`; others start if they delay none, shortest first."""

    def __init__(self, depth: int = 1) -> None:
        self.depth = depth

    def select(self, queue: Any, view: Any) -> Any:
        profile, free, chosen, held = view.profile(), len(view.free), [], 0
        count, length_s = queue.node_count, queue.planned_s
        turns = list(range(len(queue)))
        while turns:
            job = turns.pop(0)
            if count[job] <= free and profile.fits(count[job], length_s[job]):
                profile.reserve(view.now_s, count[job], length_s[job])
                free -= count[job]
                chosen.append(job)
            elif held < self.depth and (start_s := profile.earliest(count[job], length_s[job])) < math.inf:
                profile.reserve(start_s, count[job], length_s[job])
                held += 1
                if held == self.depth:
                    turns.sort(key=lambda other: length_s[other])
        return queue.job_id[chosen]


def same_jobs(workload: hs.Workload, platform: hs.Platform, depth: int, **options: Any) -> bool:
    named = hs.Policy.preset("easy-sjbf", depth=depth)
    own = hs.Policy.preset("easy", backfill=EasySjbf(depth))
    one, other = (hs.simulate(workload, platform, each, **options).jobs for each in (own, named))
    return bool(one.equals(other))


@given(workloads(), st.integers(1, 6), st.sampled_from([1, 2, 3]), st.booleans())
def test_easy_sjbf_written_with_it_is_the_engines(workload: hs.Workload, nodes: int, depth: int, kill: bool) -> None:
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=300)
    assert same_jobs(workload, platform, depth, kill_at_walltime=kill)


@pytest.mark.parametrize("depth", [1, 4])
def test_easy_sjbf_written_with_it_is_the_engines_where_many_wait(depth: int) -> None:
    workload = hs.workload.poisson(
        jobs=800, nodes=32, load=1.2, sizes={1: 0.5, 5: 0.3, 20: 0.2}, walltime_factor=3.0, seed=2
    )
    platform = hs.Platform.homogeneous(nodes=32, idle_w=100, tdp_w=300)
    assert same_jobs(workload, platform, depth)
    result = hs.simulate(workload, platform, "easy-sjbf")
    assert result.timeline["queued_jobs"].max() > 30
    assert not result.jobs.equals(hs.simulate(workload, platform, "easy").jobs)


@given(workloads(max_slots=3), platforms(max_slots=3))
def test_it_conforms_on_any_machine(workload: hs.Workload, platform: hs.Platform) -> None:
    hs.simulate(workload, platform, hs.Policy(backfill=EasySjbf()))


def test_it_conforms() -> None:
    conformance(EasySjbf(2), examples=settings().max_examples // 2)


def seen(read: Any, at_s: float, **columns: Any) -> Any:
    """Values that a first-come scheduler reads at an instant, on four nodes."""
    found: list[Any] = []

    def decide(view: Any) -> Any:
        if view.now_s == at_s:
            found.append(read(view))
        free, starts = view.free, []
        for job_id, count in zip(view.queue.job_id, view.queue.node_count, strict=True):
            if count > len(free):
                break
            starts.append((job_id, free[:count]))
            free = free[count:]
        return starts

    class Reader(Scheduler):
        def fork(self) -> Reader:
            return self

    platform = columns.pop("platform", hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300))
    options = {name: columns.pop(name) for name in ("kill_at_walltime",) if name in columns}
    hs.simulate(jobs(**columns), platform, Reader(decide), **options)
    return found[0]


COLUMNS = {
    "submit_s": [0, 0, 5, 5],
    "node_count": [2, 1, 3, 4],
    "runtime_s": [20, 30, 10, 10],
    "walltime_s": [40.0, 30.0, 10.0, 10.0],
}


def test_the_profile_is_what_running_jobs_give_back_by_their_plans() -> None:
    def read(view: Any) -> Any:
        profile = view.profile()
        return profile.time_s.tolist(), profile.free_nodes.tolist(), profile.free_w, repr(profile)

    times, free, watts, text = seen(read, 5.0, **COLUMNS)
    assert (times, free, watts) == ([5.0, 30.0, 40.0], [1, 2, 4], None)
    assert text == "<Profile: 3 steps from 5 s on>"


def test_what_is_reserved_is_not_free_any_more() -> None:
    def read(view: Any) -> Any:
        profile = view.profile()
        found = [profile.earliest(2, 10), profile.earliest(3, 10), profile.fits(1, 100), profile.earliest(5, 1)]
        found += [profile.earliest(1, 10, after_s=33.0), profile.earliest(1, 1, after_s=1.0)]
        profile.reserve(30.0, 2, 5.0)
        found += [profile.earliest(2, 10), profile.fits(1, 25), profile.fits(1, 26), view.profile().earliest(2, 10)]
        return found, profile.time_s.tolist(), profile.free_nodes.tolist()

    found, times, free = seen(read, 5.0, **COLUMNS)
    assert found == [30.0, 40.0, True, math.inf, 33.0, 5.0, 35.0, True, False, 30.0]
    assert (times, free) == ([5.0, 30.0, 35.0, 40.0], [1, 0, 2, 4])


def test_earliest_is_asked_of_a_job_that_waits() -> None:
    def read(view: Any) -> Any:
        ids = view.queue.job_id.tolist()
        with pytest.raises(KeyError, match="job 99 is not in the queue"):
            view.earliest(99)
        with pytest.raises(TypeError, match="a job is one that was given to the call, or a job_id"):
            view.earliest("13")
        return ids, [view.earliest(job_id) for job_id in ids], view.earliest(ids[0], after_s=60.0)

    ids, earliest, later = seen(read, 5.0, **COLUMNS)
    assert (ids, earliest, later) == ([13, 14], [40.0, 40.0], 60.0)


def test_earliest_is_asked_of_a_job_that_is_about_to_start() -> None:
    found: list[float] = []

    class Placement:
        def choose(self, job: Any, free: Any, view: Any) -> Any:
            found.append(view.earliest(job))
            return free[: job.node_count]

    four = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)
    result = hs.simulate(jobs(**COLUMNS), four, hs.Policy(placement=Placement()))
    assert found == result.jobs["start_s"].to_list()


def test_a_job_that_outlasts_its_plan_counts_as_ending_now() -> None:
    def read(view: Any) -> Any:
        profile = view.profile()
        return len(view.free), profile.time_s.tolist(), profile.free_nodes.tolist()

    columns = {**COLUMNS, "submit_s": [0, 0, 12, 12], "walltime_s": [10.0, 30.0, 10.0, 10.0]}
    assert seen(read, 12.0, kill_at_walltime=False, **columns) == (1, [12.0, 30.0], [3, 4])


def test_where_nodes_are_shared_it_counts_slots() -> None:
    def read(view: Any) -> Any:
        profile = view.profile()
        return profile.free_nodes.tolist(), [view.earliest(job_id) for job_id in view.queue.job_id.tolist()]

    shared = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300, slots=3, exclusive=False)
    columns = {**COLUMNS, "slots": [3, 3, 2, 3], "platform": shared}
    assert seen(read, 5.0, **columns) == ([3, 6, 12], [30.0, 40.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda profile: profile.fits(-1, 1.0), "nodes: found -1, expected a whole number from 0"),
        (lambda profile: profile.fits(1, -1.0), "length_s: found -1, expected seconds from 0 to 1e12"),
        (lambda profile: profile.fits(1, 1.0, watts=-5.0), "watts: found -5, expected watts from 0"),
        (lambda profile: profile.earliest(1, math.nan), "length_s: found NaN, expected seconds"),
        (lambda profile: profile.earliest(1, 1.0, after_s=math.inf), "after_s: found inf, expected seconds"),
        (lambda profile: profile.reserve(4.0, 1, 1.0), "start_s: found 4, expected no time before now, 5"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, message: str) -> None:
    def read(view: Any) -> str:
        with pytest.raises(ValueError, match="found") as raised:
            call(view.profile())
        return str(raised.value)

    assert seen(read, 5.0, **COLUMNS).startswith(message)


def test_under_a_budget_it_holds_watts_too() -> None:
    found: list[Any] = []

    class Reader:
        def fork(self) -> Any:
            return self

        def select(self, queue: Any, view: Any) -> Any:
            profile = view.profile()
            if view.now_s == 5.0:
                found.append((profile.time_s.tolist(), profile.free_nodes.tolist(), profile.free_w.round(3).tolist()))
                found.append(
                    [profile.earliest(1, 5), profile.earliest(1, 5, watts=200.0), profile.fits(1, 5, watts=100)]
                )
            return queue.job_id

    # Four nodes idle at 100 W and work at 300 W. Of 1,100 W, 700 W are for work: jobs 1 and 2 take 600 W of them.
    four = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)
    policy = hs.Policy(backfill=Reader(), power={"name": "system-budget", "budget_w": 1100})
    hs.simulate(jobs(**COLUMNS), four, policy)
    assert found == [([5.0, 30.0, 40.0], [1, 2, 4], [100.0, 300.0, 700.0]), [5.0, 30.0, True]]


def test_where_nodes_differ_in_what_jobs_ask_for_there_is_none() -> None:
    classes = [hs.NodeClass("a", 2, idle_w=100, tdp_w=300, gpus=1), hs.NodeClass("b", 2, idle_w=100, tdp_w=300)]
    frame = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [5], "node_count": [1], "gpus": [1]})
    with pytest.raises(hs.ConfigError, match=r"view\.profile: found nodes that differ in what jobs ask for"):
        hs.simulate(hs.Workload.from_polars(frame), hs.Platform(classes), hs.Policy(backfill=EasySjbf()))

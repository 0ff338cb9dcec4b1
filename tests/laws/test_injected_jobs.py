"""A session that is given jobs on its way is the run that has had them from the beginning."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.testing import check_schedule, platforms, policies, workloads

pytestmark = [pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning"), pytest.mark.hypothesis]

without_rehearsal = policies().filter(lambda policy: "utilizations" not in policy.needs)
SAME = ["start_s", "end_s", "energy_j", "state", "reason", "nodes", "started_by"]


def by_id(result: hs.Result) -> pl.DataFrame:
    return result.jobs.sort("job_id").select("job_id", *(name for name in SAME if name in result.jobs.columns))


def agree(one: hs.Result, other: hs.Result) -> None:
    """Jobs, nodes and time went the same way; rows of jobs may stand in another order."""
    assert by_id(one).equals(by_id(other))
    assert one.timeline.equals(other.timeline)
    assert one.nodes.equals(other.nodes)
    told, expected = one.summary(), other.summary()
    assert {key for key in told if told[key] is None} == {key for key in expected if expected[key] is None}
    # Sums over jobs are taken in the order of their rows.
    numbers = {key: value for key, value in expected.items() if value is not None}
    assert {key: told[key] for key in numbers} == pytest.approx(numbers, rel=1e-12)


@given(workloads(), platforms(), without_rehearsal, st.integers(1, 4), st.data())
def test_jobs_that_come_in_their_time_were_always_there(
    tmp_path_factory: pytest.TempPathFactory,
    workload: hs.Workload,
    platform: hs.Platform,
    policy: hs.Policy,
    parts: int,
    data: st.DataObject,
) -> None:
    frame = workload.to_polars()
    part = pl.Series([data.draw(st.integers(0, parts)) for _ in range(len(frame))], dtype=pl.Int64)
    given = [frame.filter(part == 0)]
    session = hs.Session(hs.Workload.from_polars(given[0]), platform, policy)
    for number in range(1, parts + 1):
        own = frame.filter(part == number)
        if not len(own):
            continue
        # Anywhere before the first of them; where that is the session's beginning, nothing has happened yet.
        until_s = own["submit_s"].min() - data.draw(st.sampled_from([0.25, 1.0, 3.0]))
        if until_s > session.reached_s and not session.is_over:
            session.step_until(until_s)
        if own["submit_s"].min() > session.reached_s:
            session.inject(own)
            given.append(own)
    path = tmp_path_factory.mktemp("sessions") / "a.hetsched"
    session.save(path)
    result = session.run()
    # Of jobs of one instant, those go first that were there first.
    agree(result, hs.simulate(hs.Workload.from_polars(pl.concat(given)), platform, policy))
    assert hs.Session.load(path).run() == result


@given(workloads(min_jobs=2, max_nodes=4), platforms(max_nodes=4), st.sampled_from(["easy", "fcfs", "conservative"]))
def test_jobs_that_come_one_by_one(workload: hs.Workload, platform: hs.Platform, policy: str) -> None:
    frame = workload.to_polars()
    session = hs.Session(hs.Workload.from_polars(frame.head(1)), platform, policy)
    for row in range(1, len(frame)):
        session.inject(frame.slice(row, 1))
        if row + 1 < len(frame) and frame["submit_s"][row + 1] > frame["submit_s"][row]:
            session.step_until(frame["submit_s"][row])
    result = session.run()
    agree(result, hs.simulate(workload, platform, policy))
    check_schedule(result, workload, platform)


WAITS = pl.DataFrame(
    {
        "job_id": [1, 2, 3, 4, 5, 6],
        "submit_s": [0.0, 1.0, 20.0, 21.0, 40.0, 41.0],
        "runtime_s": [10.0, 5.0, 10.0, 10.0, 3.0, 2.0],
        "node_count": [1, 2, 1, 1, 2, 1],
        "depends_on": [None, None, 1, 3, 2, 4],
        "think_s": [None, None, 7.0, 2.0, None, 1.0],
        "user": ["ann", "bo", "ann", "cy", "al", "bo"],
        "app": ["b", None, "a", "c", "b", "a"],
    }
)


@pytest.mark.parametrize("policy", ["easy", "fcfs", "easy:backfill=plan"])
@pytest.mark.parametrize("at_s", [0.5, 12.0, 19.0])
def test_jobs_may_wait_for_those_that_ended_long_ago(policy: str, at_s: float) -> None:
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    first = WAITS.head(2).drop("depends_on", "think_s")
    session = hs.Session(hs.Workload.from_polars(first), platform, policy)
    session.step_until(at_s)
    session.inject(WAITS.slice(2, 2))
    session.step_until(39)
    session.inject(WAITS.slice(4))
    agree(session.run(), hs.simulate(hs.Workload.from_polars(WAITS), platform, policy))
    assert session.result().jobs["job_id"].to_list() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("policy", ["easy", "easy:backfill=plan"])
def test_jobs_of_queues_are_held_to_their_limits(policy: str) -> None:
    queues = [
        hs.Queue("day", "0-3", max_running=2, default_walltime_s=30),
        hs.Queue("night", "4-7", max_running_per_user=1, default_walltime_s=50),
    ]
    platform = hs.Platform.homogeneous(nodes=8, idle_w=100, tdp_w=300, queues=queues)
    frame = pl.DataFrame(
        {
            "job_id": list(range(12)),
            "submit_s": [float(2 * row) for row in range(12)],
            "runtime_s": [9.0, 30.0, 4.0] * 4,
            "node_count": [1, 2] * 6,
            "queue": ["day", "night", "day"] * 4,
            "user": ["zoe", "ann", "bo", "cy"] * 3,
        }
    )
    session = hs.Session(hs.Workload.from_polars(frame.head(5)), platform, policy)
    session.step_until(9)
    session.inject(frame.slice(5, 3))
    session.step_until(15)
    session.inject(hs.Workload.from_polars(frame.slice(8)))
    agree(session.run(), hs.simulate(hs.Workload.from_polars(frame), platform, policy))


class ByUser:
    """An order by name, then number; it forgets nothing that a run tells it."""

    def rank(self, jobs, view):  # type: ignore[no-untyped-def]
        names = [view.users[code] if code >= 0 else "" for code in jobs.user]
        return [1000 * ord(name[:1] or "~") + int(number) for name, number in zip(names, jobs.job_id, strict=True)]


class Greedy:
    """A whole scheduler: whatever fits, by number."""

    def decide(self, view):  # type: ignore[no-untyped-def]
        free, starts = list(view.free), []
        for number, count in sorted(zip(view.queue.job_id, view.queue.node_count, strict=True)):
            if count <= len(free):
                starts.append((number, [free.pop() for _ in range(count)]))
        return starts


@pytest.mark.parametrize("policy", [hs.Policy(order=ByUser(), backfill="first-fit"), Greedy()], ids=["order", "whole"])
def test_objects_know_the_jobs_that_came_later(policy: object) -> None:
    frame = pl.DataFrame(
        {
            "job_id": list(range(10, 22)),
            "submit_s": [float(row) for row in range(12)],
            "runtime_s": [9.0, 30.0, 4.0] * 4,
            "node_count": [1, 2] * 6,
            "user": ["zoe", "ann", None, "cy"] * 3,
        }
    )
    platform = hs.Platform.homogeneous(nodes=3, idle_w=100, tdp_w=300)
    session = hs.Session(hs.Workload.from_polars(frame.head(4)), platform, policy)
    session.step_until(3.5)
    other = session.fork()
    session.inject(frame.slice(4).with_columns(user=pl.col("user").fill_null("bea")))
    whole = pl.concat([frame.head(4), frame.slice(4).with_columns(user=pl.col("user").fill_null("bea"))])
    agree(session.run(), hs.simulate(hs.Workload.from_polars(whole), platform, policy))
    other.inject(frame.slice(4))
    agree(other.run(), hs.simulate(hs.Workload.from_polars(frame), platform, policy))

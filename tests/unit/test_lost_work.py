"""Work that was not done, whatever ended or held up its jobs: no energy it left undrawn goes for saved."""

import warnings

import polars as pl
import pytest

import hetsched as hs

PLATFORM = hs.Platform.homogeneous(nodes=8, idle_w=100.0, tdp_w=300.0)
LOST = "{}: 1, and {} % of the started node-seconds lost; energy is lower by as much work as was not done, and {}"


def jobs(**columns):
    own = {"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [36_000, 36_000], "node_count": [4, 4]}
    return hs.Workload.from_polars(pl.DataFrame(own | columns))


def warnings_of(call):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call()
    assert {one.category for one in said} <= {hs.errors.WorkWarning, hs.errors.ResultWarning}
    return [str(one.message) for one in said]


def failing(kind="node_failed", **columns):
    return hs.Events.from_polars(pl.DataFrame({"time_s": [30_000.0], "kind": [kind]} | columns))


def test_work_that_a_failed_node_ended_is_warned_of_and_the_remedy_named():
    events = failing(node=[0])
    (said,) = warnings_of(lambda: hs.simulate(jobs(), PLATFORM, events=events))
    remedy = 'on_failure="requeue" has those run again that lost a node'
    assert said == LOST.format("jobs that failed before their work was done", "8.3", remedy)
    # One that runs again does all of its work.
    assert warnings_of(lambda: hs.simulate(jobs(), PLATFORM, events=events, on_failure="requeue")) == []


def test_work_that_an_emergency_of_power_ended_has_another_remedy():
    events = failing("budget", value=[1700.0])
    policy = "power-slurm:on_excess=kill"
    (said,) = warnings_of(lambda: hs.simulate(jobs(), PLATFORM, policy, events=events))
    remedy = "energy per work compares such runs"
    assert said == LOST.format("jobs that failed before their work was done", "8.3", remedy)


class Never:
    """A placement that finds no nodes for any job."""

    def choose(self, job, candidates, view):
        return None


def test_jobs_that_never_start_are_warned_of_with_their_number():
    (said,) = warnings_of(lambda: hs.simulate(jobs(), PLATFORM, {"placement": Never()}))
    assert said == (
        "jobs that never started: 2 of 2 (could not start, and nothing was to come that would have let it: 2, such as "
        "job 1); energy is lower by their work"
    )
    (said,) = warnings_of(lambda: hs.simulate(jobs(node_count=[4, 9]), PLATFORM))
    assert said == (
        "jobs that never started: 1 of 2 (asks for more nodes than the platform has: job 2); energy is lower by their "
        "work"
    )


@pytest.mark.parametrize("until_s", [10.0, 40_000.0])
def test_jobs_that_wait_when_a_run_is_stopped_are_not_jobs_that_never_start(until_s):
    assert warnings_of(lambda: hs.simulate(jobs(node_count=[8, 8]), PLATFORM, until_s=until_s)) == []

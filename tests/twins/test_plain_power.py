"""The engine beside the plain-Python twin of power in time; and the twin itself, held to the laws of its page."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, note
from plain_power import Run
from plain_power_machine import ceiling
from power_agreement import assert_jobs_agree, assert_runs_agree
from power_cases import Case, analyzed_cases, cases, clairvoyant_cases, plain_cases, profiled_cases, simulated

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")


@given(plain_cases())
def test_where_nothing_of_this_is_used_a_run_is_what_it_was(case: Case) -> None:
    note(repr(case))
    assert_jobs_agree(simulated(case), case.twin())


@given(cases())
def test_power_in_time_agrees(case: Case) -> None:
    note(repr(case))
    assert_runs_agree(simulated(case), case.twin())


@given(analyzed_cases())
def test_an_analyzers_draws_are_planned_with_and_not_charged(case: Case) -> None:
    note(repr(case))
    assert_runs_agree(simulated(case), case.twin())


@given(profiled_cases())
def test_draws_measured_in_time_are_charged_as_they_were(case: Case) -> None:
    note(repr(case))
    twin = case.twin()
    result = simulated(case)
    assert_jobs_agree(result, twin)
    if any(job.profile_w for job in case.jobs) or result.has_segments:
        assert_runs_agree(result, twin)


# The twin alone: what the page promises.


@given(cases())
def test_energy_balances_over_segments_jobs_and_idle_nodes(case: Case) -> None:
    twin = case.twin()
    by_job = Counter(dict.fromkeys(range(len(case.jobs)), 0))
    for row in twin.segments:
        by_job[row.job] += row.stretch.picowatts * (row.end - row.start)
    assert [by_job[j] for j in range(len(case.jobs))] == [one.energy for one in twin.jobs_done]
    assert twin.energy == twin.idle_energy + sum(by_job.values())
    assert all(one.lost_energy <= one.energy for one in twin.jobs_done)


@given(cases())
def test_work_is_done_once_and_whole(case: Case) -> None:
    """Time at speed adds up to the nominal runtime of every job that completed, but for microseconds of rounding up."""
    twin = case.twin()
    for j, (job, done) in enumerate(zip(case.jobs, twin.jobs_done, strict=True)):
        last = [row for row in twin.segments if row.job == j and row.attempt == done.attempts]
        work = sum((row.end - row.start) * row.stretch.speed_ratio for row in last)
        if job.comm > 0:
            continue  # a start does not stretch its communication, a change of caps does
        if done.state == "completed":
            assert job.runtime - 1e-3 <= work <= job.runtime + len(last) + 1e-3
        elif done.state == "timeout":
            assert work <= job.runtime + len(last)


@given(cases())
def test_no_job_is_lost_and_no_node_serves_two(case: Case) -> None:
    twin = case.twin()
    assert all(one.state in {"completed", "timeout", "failed", "rejected"} for one in twin.jobs_done)
    for one, job in zip(twin.jobs_done, case.jobs, strict=True):
        if one.state in {"completed", "timeout"}:
            assert one.nodes is not None
            assert len(set(one.nodes)) == job.node_count
    for node in range(len(case.machine.idle_w)):
        taken = sorted((row.start, row.end) for row in twin.segments if node in row.stretch.nodes)
        assert all(before[1] <= after[0] for before, after in pairwise(taken))


@given(cases())
def test_segments_of_an_attempt_follow_one_another_and_differ(case: Case) -> None:
    for before, after in pairwise(case.twin().segments):
        if (before.job, before.attempt) == (after.job, after.attempt):
            assert before.end == after.start
            assert before.stretch != after.stretch
            assert before.start < before.end
            assert after.start < after.end


def draws(twin: Run) -> list[tuple[int, int]]:
    """From when on the machine drew how many picowatts."""
    times = sorted({time for row in twin.segments for time in (row.start, row.end)} | set(twin.budget_ends))
    busy = [row for row in twin.segments if row.stretch.state == "running"]
    found = []
    for time in times:
        now = [row for row in busy if row.start <= time < row.end]
        serving = {node for row in now for node in row.stretch.nodes}
        idle = sum(twin.machine.idle(node) for node in twin.machine.nodes if node not in serving)
        found.append((time, idle + sum(row.stretch.picowatts for row in now)))
    return found


@given(cases())
def test_who_may_kill_keeps_every_budget(case: Case) -> None:
    """A monitor that looks at each instant, and whose last step is the kill, leaves nothing over the budget."""
    if case.rules.monitor_interval or "kill" not in case.rules.on_excess:
        return
    twin = case.twin()
    assert all(draw <= ceiling(twin.budget.watts(time)) for time, draw in draws(twin))


def is_monotone(case: Case) -> bool:
    """Whether a lower cap never costs more watts, nor saves time."""
    caps = sorted(case.machine.actual)
    return all(
        low <= high and slow >= fast
        for less, more in pairwise(caps)
        for app, row in case.machine.actual[less].items()
        for low, high, slow, fast in zip(
            *row[:1], case.machine.actual[more][app][0], row[1], case.machine.actual[more][app][1], strict=True
        )
    )


@given(clairvoyant_cases())
def test_what_is_known_in_advance_is_never_exceeded(case: Case) -> None:
    if not is_monotone(case):
        return
    twin = case.twin()
    assert all(draw <= ceiling(twin.budget.watts(time)) for time, draw in draws(twin))


@given(clairvoyant_cases())
def test_the_planned_start_of_the_head_never_moves_back(case: Case) -> None:
    if not is_monotone(case):
        return
    twin = case.twin()
    if any(twin.jobs_done[job].start is not None for job in twin.passed_over):
        # A job that fits at no instant holds none up, and comes before them again where early ends make it fit.
        return
    for (_, job, promised), (_, same, again) in pairwise(twin.promises):
        assert same != job or again <= promised + 1
    for j, (_, job, promised) in enumerate(twin.promises):
        later = twin.promises[j + 1 :]
        start = twin.jobs_done[job].start
        assert start is None or start <= promised + 1 + len(later)

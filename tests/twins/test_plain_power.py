"""The reference machine under budgets, caps and emergencies against the engine, and held to what the page promises."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import inf

import polars as pl
import pytest
from hypothesis import given, settings
from machine_agreement import agrees, make
from machine_cases import cases
from machine_engine import inputs_of, run
from plain_draws import SECOND, Draws, ceiling
from plain_jobs import Job
from plain_machine import Machine
from plain_power import Power, Rules
from polars.testing import assert_frame_equal
from power_cases import APPS

from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

Case = tuple[Machine, list[Job]]


@given(cases(shared=False, draws="any", power="static"))
def test_where_nothing_of_this_is_used_a_run_is_what_it_was(case: Case) -> None:
    agrees(*case)


@given(cases(shared=False, draws="any", power="all"))
def test_power_in_time_agrees(case: Case) -> None:
    """And keeps the laws below."""
    agrees(*case)
    keeps_the_laws(case[0])


@given(cases(draws="analyzed", power="all"))
def test_an_analyzers_draws_are_planned_with_and_not_charged(case: Case) -> None:
    agrees(*case)


@given(cases(draws="measured", power="all"))
def test_draws_measured_in_time_are_charged_as_they_were(case: Case) -> None:
    agrees(*case)


@settings(max_examples=2 * settings().max_examples)
@given(cases(shared=True, draws="any", power="all"))
def test_power_in_time_agrees_on_nodes_that_jobs_share(case: Case) -> None:
    """Rules 44 and 45: caps, allocators and emergencies of jobs that have some slots of a node."""
    agrees(*case)
    keeps_the_laws(case[0])


# With other features of the machine.


@given(cases(draws="any", power="all", queues=True))
def test_a_budget_is_that_of_the_platform_whose_other_nodes_idle(case: Case) -> None:
    """Queues have some of the nodes, limits, priorities and orders of their own."""
    agrees(*case)


@settings(max_examples=3 * settings().max_examples)
@given(
    cases(shared=False, draws="any", power="all", queues=True, pools=True)
    | cases(shared=False, draws="any", power="all", queues=True, pools=True, wait=True, shares=True)
)
def test_a_budget_over_several_pools_agrees(case: Case) -> None:
    """Each has a head and reservations of its own nodes, and all take watts in one order."""
    agrees(*case)
    keeps_the_laws(case[0])


@settings(max_examples=3 * settings().max_examples)
@given(cases(shared=False, draws="any", power="all", queues=True, pools=True, cells=True, wait=True))
def test_a_budget_over_several_pools_of_nodes_that_differ_agrees(case: Case) -> None:
    agrees(*case)


@settings(max_examples=3 * settings().max_examples)
@given(cases(shared=False, draws="any", power="all", queues=True, pools=True, any_sets=True, wait=True))
def test_a_budget_over_queues_that_share_nodes_agrees(case: Case) -> None:
    agrees(*case)


@given(cases(draws="any", power="all", wait=True) | cases(draws="any", power="all", shares=True))
def test_power_in_time_agrees_where_jobs_wait_for_others_or_share_fairly(case: Case) -> None:
    agrees(*case)


@given(cases(shared=False, draws="any", power="all", cells=True, wait=True))
def test_power_in_time_agrees_on_nodes_that_differ(case: Case) -> None:
    agrees(*case)


@settings(max_examples=2 * settings().max_examples)
@given(
    cases(shared=False, draws="unlike", matches=True, power="static", cells=True)
    | cases(shared=False, draws="unlike", matches=True, power="all", cells=True, wait=True)
    | cases(shared=False, draws="unlike", matches=True, power="all", cells=True, queues=True, pools=True, any_sets=True)
)
def test_jobs_that_are_matched_to_nodes_together_agree_under_a_budget(case: Case) -> None:
    """The draw of all of them together decides whether one more starts with them."""
    agrees(*case)


@given(cases(draws="any", power="all", vahrm=True, queues=True, wait=True))
def test_power_in_time_agrees_where_long_waits_go_first(case: Case) -> None:
    agrees(*case)


@given(cases(shared=False, draws="alike", power="all", vahrm=True, first_runs=True, wait=True))
def test_power_in_time_agrees_where_first_runs_count_with_tdp(case: Case) -> None:
    agrees(*case, nodes=False)


@pytest.mark.parametrize("allocator", ["uniform", "equal-slowdown"])
def test_a_plan_counts_with_the_worst_that_an_allocator_may_do(allocator: str) -> None:
    """Ninety seconds are left of job 0 at 10, and 180 if it were held at 100 W from then on."""
    rows = {100.0: ([100.0] * 4, [2.0] * 4), 150.0: ([150.0] * 4, [1.25] * 4), inf: ([200.0] * 4, [1.0] * 4)}
    tables = {cap: dict.fromkeys(APPS, row) for cap, row in rows.items()}
    machine = Machine(4, plan=False, depth=1, draws=Draws([50.0] * 4, tables, tables))
    machine.power = Power(Rules(1000.0, allocator=allocator))
    agrees(
        machine,
        [Job(0, 0, 100 * SECOND, 100 * SECOND, 2), Job(1, 10 * SECOND, 50 * SECOND, 50 * SECOND, 3)],
    )
    assert machine.power.promises == [(10 * SECOND, 1, 190 * SECOND)]


# What the page promises of the reference machine.


def keeps_the_laws(machine: Machine) -> None:
    """Energy balances, work is done once, no job is lost, no node serves two, and segments follow and differ."""
    by_job = Counter(dict.fromkeys(range(len(machine.jobs)), 0))
    for row in machine.segments:
        by_job[row.job] += row.energy
    assert [by_job[job.row] for job in machine.jobs] == [job.energy for job in machine.jobs]
    for job in machine.jobs:
        assert job.lost_energy <= job.energy
        assert job.state in {"completed", "timeout", "failed", "rejected"}
        assert job.state not in {"completed", "timeout"} or len(set(job.nodes)) == job.node_count
        _did_its_work(machine, job)
    for node in range(machine.nodes):
        there = [row for row in machine.segments if node in row.stretch.nodes]
        for time in {row.start for row in there}:
            taken = sum(machine.jobs[row.job].slots for row in there if row.start <= time < row.end)
            assert taken <= machine.slots
    for before, after in pairwise(machine.segments):
        if (before.job, before.attempt) == (after.job, after.attempt):
            assert before.end == after.start
            assert before.stretch != after.stretch
            assert before.start < before.end
            assert after.start < after.end
    rules = power_of(machine).rules
    if not rules.monitor_interval and "kill" in rules.on_excess:
        # A monitor that looks at each instant, and whose last step is the kill, leaves nothing over the budget.
        assert keeps_within(machine)


def _did_its_work(machine: Machine, job: Job) -> None:
    """Time at speed adds up to the nominal runtime, but for microseconds of rounding up."""
    last = [row for row in machine.segments if (row.job, row.attempt) == (job.row, job.attempts)]
    work = sum((row.end - row.start) * row.stretch.speed_ratio for row in last)
    if job.comm > 0:
        return  # a start does not stretch its communication, a change of caps does
    if job.state == "completed":
        assert job.runtime - 1e-3 <= work <= job.runtime + len(last) + 1e-3
    elif job.state == "timeout":
        assert work <= job.runtime + len(last)


def power_of(machine: Machine) -> Power:
    assert machine.power is not None
    return machine.power


def keeps_within(machine: Machine) -> bool:
    """True if the machine never draws more than the budget in force."""
    budget = power_of(machine).budget
    return all(drawn <= ceiling(budget.watts(time)) for time, drawn in machine.drawn)


def is_monotone(draws: Draws) -> bool:
    """True if a lower cap never costs more watts, nor saves time."""
    caps = sorted(draws.actual)
    return all(
        low <= high and slow >= fast
        for less, more in pairwise(caps)
        for app, row in draws.actual[less].items()
        for low, high, slow, fast in zip(
            *row[:1], draws.actual[more][app][0], row[1], draws.actual[more][app][1], strict=True
        )
    )


def never_below_idle(draws: Draws) -> bool:
    """True if a node at work never draws less than an idle one, under whatever cap."""
    slowest = draws.model and draws.model.least_speed_ratio
    return all(
        idle <= (watts if draws.model is None or slowest is None else draws.model.at_speed(watts, slowest))
        for by_app in draws.actual.values()
        for row in by_app.values()
        for idle, watts in zip(draws.idle_w, row[0], strict=True)
    )


@given(cases(shared=None, draws="exact", power="foreseen"))
def test_what_is_known_in_advance_is_never_exceeded(case: Case) -> None:
    if is_monotone(case[0].draws):
        agrees(*case)
        assert keeps_within(case[0])


@given(cases(shared=False, draws="exact", power="foreseen"))
def test_the_planned_start_of_the_head_never_moves_back(case: Case) -> None:
    """Policies that serve jobs in the order of their submits and make some reservation."""
    machine, jobs = case
    machine.order, machine.depth = "fcfs", machine.depth or 1
    if not is_monotone(machine.draws):
        return
    power = power_of(make(*case))
    if any(jobs[row].attempts for row in power.passed_over):
        # A job that fits at no instant holds none up, and comes before them again where early ends make it fit.
        return
    for (_, row, promised), (_, same, again) in pairwise(power.promises):
        assert same != row or again <= promised + 1
    for place, (_, row, promised) in enumerate(power.promises):
        start = jobs[row].start
        assert start is None or start <= promised + 1 + len(power.promises[place + 1 :])


@settings(max_examples=2 * settings().max_examples)
@given(cases(shared=True, draws="exact", power="all") | cases(shared=True, draws="exact", power="foreseen"))
def test_runs_on_shared_nodes_keep_the_laws_of_all_runs(case: Case) -> None:
    """Each stretch, node and row of the timeline follows from tables, caps and slots; no budget is exceeded unseen."""
    machine, jobs = case
    if is_monotone(machine.draws) and never_below_idle(machine.draws):
        inputs = inputs_of(machine, jobs)
        result = run(machine, jobs, inputs=inputs)
        check_schedule(result, inputs.workload, inputs.platform, events=inputs.events)


# Next to whole nodes.


def same_frames(here: pl.DataFrame | None, there: pl.DataFrame | None, what: str) -> None:
    """Equal to the bit, but for means that are energies over lengths where nodes are shared."""
    if here is None or there is None:
        assert here is there, what
        return
    means = [name for name in ("power_w", "mean_power_w") if name in here.columns and what != "timeline"]
    columns = [name for name in here.columns if name != "slots"]
    assert columns == [name for name in there.columns if name != "slots"], what
    exact = [name for name in columns if name not in means]
    assert_frame_equal(here.select(exact), there.select(exact), check_exact=True)
    assert_frame_equal(here.select(means), there.select(means), rel_tol=1e-12, abs_tol=1e-12)


@settings(max_examples=3 * settings().max_examples)
@given(
    cases(shared=False, draws="any", power="all")
    | cases(shared=False, draws="measured", power="all", wait=True)
    | cases(shared=False, draws="analyzed", power="all")
    | cases(shared=False, draws="any", power="all", vahrm=True, shares=True)
    | cases(shared=False, draws="alike", power="all", vahrm=True, first_runs=True)
)
def test_a_whole_node_is_a_shared_one_of_which_a_job_has_all_slots(case: Case) -> None:
    """The engine against itself: what it says of whole nodes is its twin on nodes of three slots."""
    machine, jobs = case
    whole = run(machine, jobs)
    machine.slots = 3
    for job in jobs:
        job.slots = 3
    shared = run(machine, jobs)
    for name in ("jobs", "nodes", "timeline", "events"):
        same_frames(getattr(shared, name), getattr(whole, name), name)
    assert shared.has_segments == whole.has_segments
    if whole.has_segments and not any(job.profile_w for job in jobs):
        # Draws measured in time end stretches on whole nodes only.
        # Nor has a stretch of no length a mean there.
        lasting = [frame.filter(pl.col("end_s") > pl.col("start_s")) for frame in (shared.segments, whole.segments)]
        same_frames(lasting[0], lasting[1], "segments")
    unlike = {"offered_load", "platform"}
    here, there = shared.summary(), whole.summary()
    assert {name: here[name] for name in here if name not in unlike} == {
        name: there[name] for name in there if name not in unlike
    }

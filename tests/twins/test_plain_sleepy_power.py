"""Nodes that sleep under a budget on the reference machine against the engine, and what the page promises of both."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isclose
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from machine_agreement import agrees
from machine_cases import cases
from machine_engine import run
from plain_budget import BudgetRow
from plain_draws import SECOND, Draws, ceiling
from plain_jobs import Job
from plain_machine import Machine
from plain_nodes import Sleep, Switch
from plain_power import Power, Rules
from power_cases import APPS

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

Case = tuple[Machine, list[Job]]


@given(cases(draws="any", power="all", sleep=True))
def test_nodes_that_sleep_under_a_budget_agree_with_their_twin(case: Case) -> None:
    agrees(*case)


@given(
    cases(draws="any", power="all", sleep=True, wait=True, queues=True)
    | cases(draws="any", power="all", sleep=True, shares=True)
)
def test_they_agree_where_queues_have_limits_and_jobs_wait_or_share_fairly(case: Case) -> None:
    agrees(*case)


@given(cases(draws="any", power="all", sleep=True, vahrm=True))
def test_they_agree_under_the_order_and_the_placement_of_vahrm(case: Case) -> None:
    agrees(*case)


@given(
    cases(draws="any", power="all", sleep=True, cells=True)
    | cases(draws="any", power="all", sleep=True, cells=True, wait=True)
    | cases(draws="exact", power="foreseen", sleep=True, cells=True)
)
def test_they_agree_on_nodes_that_differ(case: Case) -> None:
    agrees(*case)


@given(cases(draws="any", power="all", sleep=True, cells=True, reserve=True))
def test_a_reserve_of_nodes_that_differ_agrees(case: Case) -> None:
    agrees(*case, "newsvendor")


@given(
    cases(draws="any", power="all", sleep=True, queues=True, pools=True)
    | cases(draws="any", power="all", sleep=True, queues=True, pools=True, any_sets=True, wait=True)
    | cases(draws="any", power="all", sleep=True, queues=True, pools=True, any_sets=True, cells=True)
)
def test_they_agree_where_queues_have_some_of_the_nodes(case: Case) -> None:
    agrees(*case)


@given(cases(draws="any", power="all", sleep=True, queues=True, pools=True, any_sets=True, reserve=True))
def test_a_reserve_where_queues_have_some_of_the_nodes_agrees(case: Case) -> None:
    agrees(*case, "newsvendor")


# What random cases seldom decide.


def small(jobs: list[Job], watts: list[float], budget_w: float, sleep: Sleep, **given: Any) -> Case:
    """Nodes that idle at 50 W and draw so much with a job; off and booting they draw nothing."""
    count = len(watts)
    table = {inf: dict.fromkeys(APPS, (watts, [1.0] * count))}
    machine = Machine(count, plan=False, depth=given.get("depth", 1), draws=Draws([50.0] * count, table, table))
    seconds = {"start_margin_s": sleep.start // SECOND, "stop_margin_s": sleep.stop // SECOND}
    part = {"min_idle_s": 0, "estimated_off_s": 0, "min_on_nodes": sleep.min_on, **seconds}
    machine.sleep, machine.switches = replace(sleep, part=part), [Switch(0.0, 0.0, given.get("stop_w", 0.0))] * count
    machine.power = Power(Rules(budget_w, foresight=inf), given.get("rows", ()))
    return machine, jobs


def test_a_node_is_not_woken_that_could_not_idle_to_the_end() -> None:
    """Rule 5: from 10 s on there are 10 W next to job 1, and node 1 would idle at 50 W."""
    lengths = [(0, 0), (2, 20), (3, 3)]
    jobs = [Job(row, submit * SECOND, runtime * SECOND, None, 1) for row, (submit, runtime) in enumerate(lengths)]
    rows, sleep = [BudgetRow(10 * SECOND, 160.0)], Sleep(SECOND, 0, 0, 0, 0, SECOND, min_on=1)
    agrees(*small(jobs, [150.0, 100.0], 400.0, sleep, rows=rows))
    assert [job.start for job in jobs] == [0, 2 * SECOND, 22 * SECOND]


def test_a_job_of_no_length_leaves_its_node_to_one_that_is_woken_for() -> None:
    """Rule 7: job 1 has node 0 and waits for node 1."""
    jobs = [Job(0, 0, 0, None, 1), Job(1, 2 * SECOND, 5 * SECOND, None, 2), Job(2, 2 * SECOND, 0, None, 1)]
    machine, _ = case = small(jobs, [150.0] * 2, 400.0, Sleep(SECOND, 0, 0, 0, 0, 0, min_on=1))
    agrees(*case)
    assert (2 * SECOND, "wake", 1) in machine.steps
    assert [job.start for job in jobs] == [0, 3 * SECOND, 8 * SECOND]


def test_nodes_stay_on_for_a_job_that_starts_before_one_could_be_woken() -> None:
    """Rule 8: job 1 is to have both nodes at 3 s, and waking takes 5 s, though no node is off."""
    jobs = [Job(0, 0, 3 * SECOND, None, 1), Job(1, 0, 5 * SECOND, None, 2)]
    agrees(*small(jobs, [150.0] * 2, 400.0, Sleep(5 * SECOND, 0, 0, 0, 0, 5 * SECOND), depth=0))
    assert jobs[1].start == 3 * SECOND


def test_where_nothing_runs_nodes_that_are_on_stay_on() -> None:
    """Rule 10: job 1 takes too much on nodes 0 and 1, and is planned there; node 2 is woken, and node 1 stays on."""
    jobs = [Job(0, 0, 0, None, 1, app="odd"), Job(1, SECOND, 5 * SECOND, None, 1)]
    sleep = Sleep(SECOND, 0, 0, 0, 0, SECOND, min_on=2)
    machine, _ = case = small(jobs, [260.0, 260.0, 100.0], 300.0, sleep)
    machine.draws.actual[inf]["odd"] = ([60.0] * 3, [1.0] * 3)
    agrees(*case)
    assert jobs[1].start == 2 * SECOND
    assert [step for step in machine.steps if step[0] == SECOND] == [(SECOND, "wake", 2)]


def with_a_node_that_shuts_down() -> Case:
    """The budget falls to the idle machine's draw at 2 s, when node 2, which draws 70 W more until then, is off."""
    jobs, rows = [Job(0, 0, 0, None, 1), Job(1, SECOND, 3 * SECOND, None, 1)], [BudgetRow(2 * SECOND, 150.0)]
    return small(jobs, [40.0] * 3, 234.0, Sleep(0, 2 * SECOND, 0, 0, 0, 0), depth=None, stop_w=120.0, rows=rows)


def with_no_job_that_fits() -> Case:
    """At the only submit, and the only end of a row, no job is left that could run: nodes stay on."""
    rows = [BudgetRow(SECOND, 100.0)]
    return small([Job(0, SECOND, SECOND, None, 1)], [200.0] * 2, 240.0, Sleep(0, 0, 0, 0, 0, 0), rows=rows)


def test_a_plan_counts_on_what_a_shutdown_gives_back() -> None:
    """Rule 2: job 1 adds nothing to what its node draws idle, and so may run on while the budget falls."""
    agrees(*(case := with_a_node_that_shuts_down()))
    assert case[1][1].start == SECOND
    assert (2 * SECOND, "off", 2) in case[0].steps


def test_where_no_job_can_run_no_node_is_switched() -> None:
    agrees(*(case := with_no_job_that_fits()))
    assert case[0].steps == []


# What the page promises.


@given(cases(draws="exact", power="foreseen", sleep=True))
def test_with_exact_predictions_the_machine_never_draws_more_than_a_budget_that_is_foreseen(case: Case) -> None:
    agrees(*case)
    machine = case[0]
    assert machine.power is not None
    budget = machine.power.budget
    for since, until, idle in machine.quiet:
        there = [row for row in machine.segments if row.start <= since < row.end]
        drawn = idle + sum(row.stretch.picowatts for row in there)
        for at in [since, *(end for end in budget.ends() if since < end < until)]:
            assert drawn <= ceiling(budget.watts(at))


@given(cases(draws="any", power="all", sleep=True))
def test_no_job_waits_for_ever_and_no_instant_is_endless(case: Case) -> None:
    machine, jobs = case
    result = run(machine, jobs)
    fits_never = result.jobs["reason"].fill_null("").str.starts_with("fits between no two changes")
    states = result.jobs["state"].zip_with(~fits_never, result.jobs["state"].replace({"pending": "rejected"}))
    assert set(states) <= {"completed", "timeout", "rejected"}
    assert machine.power is not None
    if not machine.power.rows:
        sleep, machine.sleep = machine.sleep, None
        awake = run(machine, jobs)
        machine.sleep = sleep
        assert (states == "rejected").to_list() == (awake.jobs["state"] == "rejected").to_list()
    wakes = result.events.filter(result.events["kind"] == "wake")["time_s"].to_numpy()
    assert np.unique(wakes, return_counts=True)[1].max(initial=0) <= 4 * machine.nodes * len(jobs)


@given(cases(draws="exact", power="all", sleep=True))
def test_where_switching_costs_nothing_a_run_is_one_without_sleep(case: Case) -> None:
    """Off, booting and shutting down as idle, and at once: the same starts and the same energy.

    Not of jobs of no length, which leave their share of the watts to those for which nodes are being woken (rule 7),
    and not next to reservations, which keep the nodes that they will wake from all jobs behind them (rule 5).
    """
    machine, jobs = case
    machine.depth = machine.depth and 0
    for job in jobs:
        job.runtime = max(job.runtime, 1)
    idle_w = machine.draws.idle_w[0]
    assert machine.sleep is not None
    part = {**machine.sleep.part, "start_margin_s": "actual", "stop_margin_s": "actual"}
    machine.switches = [Switch(idle_w, idle_w, idle_w)] * machine.nodes
    machine.sleep = type(machine.sleep)(0, 0, machine.sleep.min_idle, 0, 0, 0, part=part)
    asleep = run(machine, jobs)
    machine.sleep = None
    awake = run(machine, jobs)
    names = ["job_id", "start_s", "end_s", "state"]
    assert asleep.jobs.select(names).equals(awake.jobs.select(names))
    assert isclose(asleep.summary()["energy_j"], awake.summary()["energy_j"], rel_tol=1e-12)

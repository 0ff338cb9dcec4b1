"""Nodes that sleep under a budget on the reference machine beside the engine, and what the page promises of both."""

from __future__ import annotations

from math import inf, isclose

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


# What long fuzzing found.


def with_a_node_that_shuts_down() -> Case:
    """The budget falls to the idle machine's draw at 2 s, when node 2, which draws 70 W more until then, is off."""
    table = {inf: dict.fromkeys(APPS, ([40.0] * 3, [1.0] * 3))}
    machine = Machine(3, depth=None, plan=False, draws=Draws([50.0] * 3, table, table))
    part = {"min_idle_s": 0, "estimated_off_s": 0, "stop_margin_s": 0, "start_margin_s": "actual"}
    machine.sleep = Sleep(0, 2 * SECOND, 0, 0, 0, 0, part=part)
    machine.switches = [Switch(0.0, 0.0, 120.0)] * 3
    rows = [BudgetRow(0, 234.0), BudgetRow(2 * SECOND, 150.0)]
    machine.power = Power(Rules(330.0, foresight=3 * SECOND), rows)
    return machine, [Job(0, 0, 0, None, 1), Job(1, SECOND, 3 * SECOND, None, 1)]


def with_no_job_that_fits() -> Case:
    """At the only submit, and the only end of a row, no job is left that could run: nodes stay on."""
    table = {inf: dict.fromkeys(APPS, ([200.0] * 2, [1.0] * 2))}
    machine = Machine(2, depth=1, plan=False, draws=Draws([50.0] * 2, table, table))
    machine.sleep = Sleep(0, 0, 0, 0, 0, 0, part={"min_idle_s": 0, "estimated_off_s": 0})
    machine.switches = [Switch(0.0, 0.0, 0.0)] * 2
    machine.power = Power(Rules(240.0), [BudgetRow(SECOND, 100.0)])
    return machine, [Job(0, SECOND, SECOND, None, 1)]


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
    and not beside reservations, which keep the nodes that they will wake from all jobs behind them (rule 5).
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

"""VAHRM, and budgets under every backfill, on the reference machine against the engine."""

from __future__ import annotations

from math import inf

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from machine_agreement import agrees
from machine_cases import cases
from plain_draws import SECOND, Draws
from plain_jobs import Job
from plain_machine import Machine
from plain_power import Power, Rules
from plain_vahrm import Vahrm
from power_cases import APPS

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

Case = tuple[Machine, list[Job]]


@given(cases(shared=False, draws="any", power="static"), st.booleans())
def test_fcfs_under_a_budget_agrees_with_every_backfill(case: Case, by_power: bool) -> None:
    case[0].by_power = by_power
    agrees(*case)


@given(cases(shared=False, draws="any", power="static", vahrm=True))
def test_vahrm_agrees(case: Case) -> None:
    agrees(*case)


@given(cases(shared=False, draws="any", vahrm=True) | cases(draws="any", power="static"))
def test_decisions_follow_the_predicted_table_and_only_it(case: Case) -> None:
    """Without a budget, and under one on nodes that jobs share."""
    agrees(*case)


@given(cases(shared=False, draws="alike", power="static", vahrm=True, first_runs=True))
def test_first_runs_agree(case: Case) -> None:
    """They go to random nodes: on nodes that are all alike every start is determined all the same."""
    agrees(*case, nodes=False)


# With other features of the machine.


@given(cases(shared=False, draws="any", vahrm=True, outages=True, wait=True, queues=True))
def test_vahrm_agrees_in_pools_whose_nodes_fail(case: Case) -> None:
    agrees(*case)


@given(cases(draws="any", vahrm=True, sleep=True, queues=True, outages=True))
def test_vahrm_agrees_where_nodes_sleep(case: Case) -> None:
    agrees(*case)


@given(cases(shared=False, draws="any", vahrm=True, cells=True, outages=True, wait=True))
def test_vahrm_agrees_on_nodes_that_differ_and_fail(case: Case) -> None:
    agrees(*case)


@settings(max_examples=3 * settings().max_examples)
@given(
    cases(shared=False, draws="any", vahrm=True, queues=True, any_sets=True, wait=True, outages=True)
    | cases(shared=False, draws="any", vahrm=True, queues=True, any_sets=True, cells=True, wait=True)
    | cases(shared=False, draws="any", vahrm=True, queues=True, any_sets=True, pools=True, power="all")
)
def test_vahrm_agrees_where_queues_share_nodes_or_a_budget(case: Case) -> None:
    """A job that starves goes before all others, and keeps those of its own set waiting."""
    agrees(*case)


@pytest.mark.parametrize(
    ("depth", "by_vahrm"), [(None, True), (0, True), (0, False), (1, True), (2, False), (inf, True)]
)
def test_deep_queues_under_a_budget_agree(depth: float | None, by_vahrm: bool) -> None:
    """Deeper than a block of the queue, with jobs of length zero in it and a budget for two thirds of the nodes."""
    rng = np.random.default_rng(5)
    count, nodes = 110, 12
    runtimes = rng.choice([0, 5, 20, 60, 200], count)
    walltimes = np.maximum(1, runtimes * rng.choice([1, 1, 2, 5], count))
    columns = np.sort(rng.integers(0, 60, count)), runtimes, rng.integers(1, nodes, count), walltimes
    jobs = [
        Job(row, int(submit) * SECOND, int(runtime) * SECOND, int(walltime) * SECOND, int(size), app=str(app))
        for row, (submit, runtime, size, walltime, app) in enumerate(
            zip(*columns, rng.choice(APPS, count), strict=True)
        )
    ]
    watts = {app: ([float(w) for w in rng.integers(120, 300, nodes)], [1.0] * nodes) for app in APPS}
    machine = Machine(
        nodes, depth=depth, plan=False, by_power=True, draws=Draws([90.0] * nodes, {inf: watts}, {inf: watts})
    )
    machine.power = Power(Rules(90.0 * nodes + 8 * 130.0))
    if by_vahrm:
        machine.vahrm, machine.order = Vahrm(), "vahrm"
    agrees(machine, jobs)
    assert sum(job.submit <= 60 * SECOND < (job.start or 0) for job in jobs) > 80

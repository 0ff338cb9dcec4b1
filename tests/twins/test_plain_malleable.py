"""Malleable jobs on the reference machine against the engine, alone and with all that goes with them."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from machine_agreement import agrees
from machine_cases import cases
from plain_draws import SECOND, Draws
from plain_jobs import Job
from plain_machine import Machine
from plain_sizes import Sizes, Sizing
from power_cases import APPS

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

Case = tuple[Machine, list[Job]]


@given(cases(malleable=True, draws="any") | cases(malleable=True, shared=False))
def test_malleable_jobs_agree(case: Case) -> None:
    agrees(*case)


@given(
    cases(malleable=True, draws="any", wait=True, queues=True, outages=True)
    | cases(malleable=True, draws="any", shares=True, wait=True, outages=True)
)
def test_malleable_jobs_agree_where_jobs_wait_nodes_fail_and_queues_have_limits(case: Case) -> None:
    agrees(*case)


@given(cases(malleable=True, draws="any", sleep=True, queues=True, wait=True, outages=True))
def test_malleable_jobs_agree_where_nodes_sleep(case: Case) -> None:
    agrees(*case)


@given(cases(malleable=True, draws="any", power="all") | cases(malleable=True, draws="measured", power="all"))
def test_malleable_jobs_agree_under_budgets_caps_and_emergencies(case: Case) -> None:
    agrees(*case)


@given(
    cases(malleable=True, draws="any", power="all", sleep=True)
    | cases(malleable=True, draws="any", power="all", vahrm=True, queues=True, wait=True)
)
def test_malleable_jobs_agree_under_budgets_where_nodes_sleep_or_long_waits_go_first(case: Case) -> None:
    agrees(*case)


@pytest.mark.parametrize("depth", [None, 0, 1, inf])
@pytest.mark.parametrize("seed", range(8))
def test_many_that_change_at_every_instant_agree(seed: int, depth: float | None) -> None:
    """Both ways, on nodes that are as fast as each other and on nodes that are not."""
    chance, nodes, count = np.random.default_rng(seed), 8, 40
    slow = np.ones((2, nodes)) if seed % 3 == 0 else chance.uniform(0.7, 1.6, (2, nodes))
    watts = chance.uniform(60, 150, (2, nodes))
    rows = {app: (watts[k % 2].tolist(), slow[k % 2].tolist()) for k, app in enumerate(APPS)}
    machine = Machine(nodes, depth=depth, plan=False, draws=Draws([50.0] * nodes, {inf: rows}, {inf: rows}))
    machine.sizing = Sizing(seed)
    jobs = []
    for row, submit in enumerate(np.sort(chance.integers(0, 300 * SECOND, count)).tolist()):
        least = int(chance.integers(1, 4))
        most, runtime = min(least + int(chance.integers(1, 5)), nodes), int(chance.integers(1, 100 * SECOND))
        walltime = None if chance.random() < 0.3 else runtime * int(chance.choice([7, 10, 20])) // 10 + 1
        job = Job(row, submit, runtime, walltime, int(chance.integers(least, most + 1)), app=APPS[row % 2])
        model, shares = ("amdahl", "downey")[row % 2], chance.uniform(0, 1, 3)
        pause = int(chance.choice([0, 0, 2_500_000, 30 * SECOND]))
        speeds = (float(shares[0]), 1.0 + 7.0 * float(shares[1]), 2.0 * float(shares[2]))
        job.sizes = Sizes(least, most, model, *speeds, malleable=bool(chance.random() < 0.8), pause=pause)
        jobs.append(job)
    agrees(machine, jobs)
    assert {kind for _, kind, *_ in machine.sizing.resizes} == {"grow", "shrink"}

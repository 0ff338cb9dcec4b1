"""The sleep part `newsvendor` on the reference machine against the engine, and the wake plan of it and of objects."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from machine_agreement import agrees
from machine_cases import cases, with_reserve
from plain_draws import SECOND
from plain_jobs import Job
from plain_machine import Machine
from plain_nodes import Sleep

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

Case = tuple[Machine, list[Job]]


@given(
    cases(plan=False, sleep=True, reserve=True)
    | cases(plan=False, sleep=True, reserve=True, queues=True, wait=True, outages=True)
)
def test_a_reserve_of_counted_nodes_agrees(case: Case) -> None:
    agrees(*case, "newsvendor")


@given(
    cases(plan=False, sleep=True, reserve=True, cells=True, wait=True, outages=True)
    | cases(plan=False, sleep=True, reserve=True, any_sets=True, queues=True, shared=False)
)
def test_a_reserve_agrees_where_nodes_differ_or_queues_share_them(case: Case) -> None:
    assume(case[0].has_lanes or not case[0].queues)
    agrees(*case, "newsvendor")


@given(
    cases(plan=True, sleep=True, reserve=True)
    | cases(plan=True, sleep=True, reserve=True, queues=True, wait=True, outages=True)
    | cases(plan=True, sleep=True, reserve=True, urgent=True)
)
def test_a_reserve_of_named_nodes_agrees(case: Case) -> None:
    agrees(*case, "newsvendor")


@given(
    cases(plan=False, sleep=True, reserve=True, shares=True)
    | cases(plan=False, sleep=True, malleable=True, reserve=True)
)
def test_a_reserve_agrees_where_jobs_share_fairly_or_change_their_nodes(case: Case) -> None:
    agrees(*case, "newsvendor")


@given(cases(draws="any", power="all", sleep=True, reserve=True))
def test_a_reserve_agrees_under_a_budget(case: Case) -> None:
    agrees(*case, "newsvendor")


def log(seed: int, count: int, nodes: int, mean_s: float) -> list[Job]:
    chance = np.random.default_rng(seed)
    asked, runtimes = chance.integers(1, nodes // 2 + 1, count), chance.integers(0, 1200, count)
    submits = np.cumsum(chance.exponential(mean_s, count).round())
    return [
        Job(row, int(submit) * SECOND, int(runtime) * SECOND, (2 * int(runtime) + 60) * SECOND, int(size))
        for row, (submit, runtime, size) in enumerate(zip(submits, runtimes, asked, strict=True))
    ]


@pytest.mark.parametrize("depth", [None, 0, 1, "plan"])
@pytest.mark.parametrize(("mean_s", "ratio"), [(150.0, 0.02), (900.0, 0.3)])
def test_a_reserve_agrees_once_it_knows_many_windows(depth: Any, mean_s: float, ratio: float) -> None:
    plan = depth == "plan"
    machine = Machine(12, depth=inf if plan else depth, plan=plan)
    boot, shutdown = 60 * SECOND, 120 * SECOND
    part = {"estimated_off_s": "break-even", "start_margin_s": "actual", "stop_margin_s": "actual"}
    machine.sleep = with_reserve(Sleep(boot, shutdown, 0, None, shutdown, boot, part=part), ratio)
    agrees(machine, log(7, 120, 12, mean_s), "newsvendor")
    assert sum(kind == "wake" for _, kind, _ in machine.steps) > 20


@pytest.mark.parametrize("depth", [1, "plan"])
def test_nodes_that_boot_in_no_time_need_no_reserve(depth: Any) -> None:
    plan = depth == "plan"
    machine = Machine(12, depth=inf if plan else depth, plan=plan)
    part = {"estimated_off_s": "break-even", "start_margin_s": "actual", "stop_margin_s": "actual"}
    machine.sleep = with_reserve(Sleep(0, 0, 0, None, 0, 0, part=part), 0.08)
    agrees(machine, log(7, 100, 12, 150.0), "newsvendor")
    assert sum(kind == "wake" for _, kind, _ in machine.steps) > 20


class Planned:
    """The part `planned`, as an object."""

    def __init__(self, both: int) -> None:
        self.both = both

    def rest(self, nodes: Any, view: Any) -> Any:
        away = (nodes.next_start_s - view.now_s) * 1e6
        far = (away > self.both + 0.5) & (away >= nodes.break_even_s * 1e6 - 0.5)
        return nodes.idle[far][::-1]


@given(cases(plan=False, sleep=True) | cases(plan=False, sleep=True, cells=True))
def test_counted_nodes_are_woken_for_what_the_backfill_would_do(case: Case) -> None:
    machine, jobs = case
    assert machine.sleep is not None
    # The object knows one time to boot.
    boot, shutdown, machine.boots = machine.sleep.boot, machine.sleep.shutdown, None
    machine.sleep = Sleep(boot, shutdown, 0, boot + shutdown, shutdown, boot, as_backfilled=True)
    agrees(machine, jobs, Planned(shutdown + max(1, boot)))

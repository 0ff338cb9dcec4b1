"""The reference machine in plain Python against the engine: features by themselves, and all that go together."""

from __future__ import annotations

from math import inf
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from machine_agreement import agrees
from machine_cases import cases, named
from machine_engine import run
from plain_draws import SECOND, Draws
from plain_jobs import ORDERS, Job, Queue
from plain_machine import Machine
from plain_nodes import Offer
from plain_vahrm import Vahrm
from power_cases import APPS

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

Case = tuple[Machine, list[Job]]


@given(cases(plan=True) | cases(plan=True, queues=True))
def test_plan_agrees(case: Case) -> None:
    agrees(*case)


@given(cases(plan=False, wait=True, outages=True))
def test_counting_backfills_agree_where_jobs_wait_and_nodes_fail(case: Case) -> None:
    agrees(*case)


@given(cases(plan=False, queues=True) | cases(plan=False, queues=True, wait=True, outages=True))
def test_each_pool_is_scheduled_as_if_it_were_the_machine(case: Case) -> None:
    agrees(*case)


@given(cases(plan=True, wait=True, outages=True))
def test_plan_agrees_where_jobs_wait_and_nodes_fail(case: Case) -> None:
    agrees(*case)


@given(cases(plan=True, urgent=True, outages=True))
def test_urgent_jobs_agree(case: Case) -> None:
    agrees(*case)


@given(cases(plan=True, cells=True) | cases(plan=False, cells=True))
def test_nodes_that_differ_agree(case: Case) -> None:
    agrees(*case)


@given(cases(plan=True, cells=True, queues=True, wait=True, outages=True))
def test_plan_agrees_where_nodes_differ_and_fail(case: Case) -> None:
    agrees(*case)


@given(cases(plan=False, cells=True, wait=True, outages=True))
def test_counting_backfills_agree_where_nodes_differ_and_fail(case: Case) -> None:
    agrees(*case)


@settings(max_examples=3 * settings().max_examples)
@given(
    cases(plan=False, queues=True, any_sets=True, shared=False)
    | cases(plan=False, queues=True, any_sets=True, shared=False, wait=True, outages=True)
    | cases(plan=False, queues=True, any_sets=True, shared=False, cells=True, shares=True, wait=True)
)
def test_counted_nodes_that_queues_share_agree(case: Case) -> None:
    """Each set has a head and reservations of its own, which count nodes by the sets that have them."""
    agrees(*case)


@settings(max_examples=2 * settings().max_examples)
@given(
    cases(plan=False, queues=True, any_sets=True, shared=False, patience=True)
    | cases(plan=False, queues=True, any_sets=True, shared=False, patience=True, cells=True, wait=True)
)
def test_long_waits_of_each_set_hold_reservations_where_queues_share_nodes(case: Case) -> None:
    agrees(*case)


@settings(max_examples=2 * settings().max_examples)
@given(
    cases(plan=False, candidates=True, cells=True)
    | cases(plan=False, candidates=True, cells=True, wait=True, outages=True, shares=True)
    | cases(plan=False, candidates=True, cells=True, matches=True, draws="unlike", shared=False, wait=True)
)
def test_candidates_in_an_order_of_their_own_agree_where_nodes_differ(case: Case) -> None:
    agrees(*case)


@pytest.mark.parametrize("candidates", sorted(ORDERS))
@pytest.mark.parametrize("depth", [1, 2])
def test_candidates_in_a_crowd_for_several_kinds_agree(candidates: str, depth: int) -> None:
    chance = np.random.default_rng(depth)
    offers = [Offer(frozenset({f"f{kind}"}), 0, 1) for kind in range(3) for _ in range(3)]
    jobs = []
    for row in range(30):
        runtime, kind = int(chance.integers(1, 40)) * SECOND, int(chance.integers(0, 4))
        job = Job(row, 0, runtime, runtime * int(chance.integers(1, 4)), int(chance.integers(1, 4)))
        job.wish = None if kind == 3 else named(f"f{kind}")
        jobs.append(job)
    agrees(Machine(len(offers), depth=depth, plan=False, candidates=candidates, offers=offers), jobs)


@settings(max_examples=2 * settings().max_examples)
@given(
    cases(plan=False, patience=True, shared=False, wait=True, outages=True)
    | cases(plan=False, patience=True, cells=True)
    | cases(plan=False, patience=True, cells=True, wait=True, outages=True, shares=True)
    | cases(plan=False, patience=True, cells=True, matches=True, draws="unlike", shared=False, wait=True)
)
def test_long_waits_that_hold_reservations_agree_where_nodes_differ(case: Case) -> None:
    agrees(*case)


@settings(max_examples=2 * settings().max_examples)
@given(
    cases(plan=False, matches=True, draws="unlike", shared=False, cells=True)
    | cases(plan=False, matches=True, draws="unlike", shared=False, cells=True, wait=True, outages=True)
    | cases(plan=False, matches=True, draws="unlike", shared=False, wait=True, outages=True)
    | cases(plan=False, matches=True, draws="unlike", shared=False, queues=True, cells=True)
    | cases(plan=False, matches=True, draws="unlike", shared=False, queues=True, any_sets=True, cells=True, wait=True)
)
def test_jobs_that_are_matched_to_nodes_together_agree(case: Case) -> None:
    """Each has the nodes of the matching of least weight that another solver finds, within the cells of its split."""
    agrees(*case)


@given(cases(plan=False, sleep=True) | cases(plan=False, sleep=True, queues=True, wait=True, outages=True))
def test_counted_nodes_that_sleep_agree(case: Case) -> None:
    agrees(*case)


@settings(max_examples=2 * settings().max_examples)
@given(
    cases(plan=False, sleep=True, cells=True)
    | cases(plan=False, sleep=True, cells=True, wait=True, outages=True, shares=True)
    | cases(plan=False, sleep=True, cells=True, queues=True, wait=True, outages=True)
)
def test_nodes_that_differ_and_sleep_agree(case: Case) -> None:
    """Each cell is woken for what jobs are to have of it, and spares what they are not."""
    agrees(*case)


@settings(max_examples=2 * settings().max_examples)
@given(
    cases(plan=False, sleep=True, queues=True, any_sets=True, shared=False)
    | cases(plan=False, sleep=True, queues=True, any_sets=True, shared=False, wait=True, outages=True)
    | cases(plan=False, sleep=True, queues=True, any_sets=True, shared=False, cells=True, wait=True)
)
def test_nodes_that_queues_share_and_that_sleep_agree(case: Case) -> None:
    agrees(*case)


@settings(max_examples=2 * settings().max_examples)
@given(
    cases(plan=False, sleep=True, patience=True, cells=True, wait=True)
    | cases(plan=False, sleep=True, patience=True, queues=True, any_sets=True, shared=False, outages=True)
)
def test_long_waits_agree_where_nodes_differ_and_sleep(case: Case) -> None:
    agrees(*case)


@settings(max_examples=2 * settings().max_examples)
@given(cases(plan=True, sleep=True) | cases(plan=True, sleep=True, queues=True, wait=True, outages=True))
def test_named_nodes_that_sleep_agree(case: Case) -> None:
    agrees(*case)


@given(cases(plan=True, sleep=True, urgent=True, wait=True, outages=True))
def test_nodes_of_urgent_jobs_that_sleep_agree(case: Case) -> None:
    agrees(*case)


@given(cases(plan=True, sleep=True), st.sampled_from(["nqsv", "planned"]))
def test_sleep_parts_are_one_rule(case: Case, name: str) -> None:
    """Rule 14: with all parameters given it does not matter whose defaults they replace."""
    one, other = run(*case), run(*case, name)
    assert one.jobs.equals(other.jobs)
    assert one.nodes.equals(other.nodes)


@given(cases(plan=False, shares=True) | cases(plan=False, shares=True, queues=True, wait=True, outages=True))
def test_fair_share_agrees(case: Case) -> None:
    agrees(*case)


@given(cases(plan=True, shares=True, urgent=True, outages=True) | cases(plan=False, shares=True, cells=True))
def test_fair_share_of_what_is_suspended_or_differs_agrees(case: Case) -> None:
    agrees(*case)


@pytest.mark.parametrize("half_life", [inf, 604_800 * SECOND, 20 * SECOND, 3 * SECOND])
def test_fair_share_agrees_where_many_wait(half_life: float) -> None:
    chance = np.random.default_rng(7)
    submits, runtimes = np.sort(chance.integers(0, 240, 120)), chance.integers(0, 60, 120)
    sizes, users = chance.integers(1, 9, 120), chance.choice(["ann", "bo", "cy", "dee"], 120, p=[0.6, 0.2, 0.15, 0.05])
    jobs = [
        Job(row, int(submit) * SECOND, int(runtime) * SECOND, None, int(size), user=str(user))
        for row, (submit, runtime, size, user) in enumerate(zip(submits, runtimes, sizes, users, strict=True))
    ]
    agrees(Machine(12, order="fair-share", half_life=half_life, depth=None, plan=False), jobs)


@settings(max_examples=2 * settings().max_examples)
@given(cases(plan=True, queues=True, wait=True, outages=True) | cases(plan=True, urgent=True, wait=True, outages=True))
def test_all_that_goes_together_agrees(case: Case) -> None:
    """Urgent jobs of arrays that wait for jobs of other queues whose nodes fail."""
    agrees(*case)


@pytest.mark.parametrize("depth", [None, 0, 1, 3, inf])
@pytest.mark.parametrize("seed", range(4))
def test_long_arrays_agree(depth: float | None, seed: int) -> None:
    """Most wait in few groups: they come and go as a whole, and only some of them may start."""
    chance = np.random.default_rng(seed)
    limits, count, mixed = chance.integers(1, 5, 3), 90, seed % 2 == 1
    jobs, submit = [], 0
    for row in range(count):
        submit += int(chance.integers(0, 4)) * SECOND if mixed else 0
        runtime, array = int(chance.integers(0, 30)) * SECOND, int(chance.integers(-1, 3) if mixed else 0)
        job = Job(row, submit, runtime, runtime * int(chance.integers(1, 4)) + SECOND, int(chance.integers(1, 6)))
        if array >= 0:
            job.array, job.limit = array, int(limits[array])
        jobs.append(job)
    order = ("fcfs", "fcfs", "largest", "shortest")[seed]
    agrees(Machine(int(chance.integers(5, 12)), order=order, depth=depth, plan=False, requeue=True), jobs)


@pytest.mark.parametrize("depth", [1, 2, inf])
@pytest.mark.parametrize("seed", range(8))
def test_deep_queues_for_several_kinds_agree(depth: float, seed: int) -> None:
    """So many wait for each kind, or for any, that most need not be planned to know who starts now."""
    chance = np.random.default_rng(seed)
    kinds, each, count = int(chance.integers(2, 5)), int(chance.choice([1, 2, 4])), 24
    offers = [Offer(frozenset({f"f{kind}"}), 0, 1) for kind in range(kinds) for _ in range(each)]
    jobs, submit = [], 0
    for row in range(count):
        submit += int(chance.integers(0, 5)) * SECOND if seed % 2 else 0
        runtime, kind = int(chance.integers(0, 40)) * SECOND, int(chance.integers(0, kinds + 1))
        walltime, size = runtime * int(chance.integers(1, 4)) + SECOND, 2 ** int(chance.integers(0, 4))
        job = Job(row, submit, runtime, walltime, min(kinds * each, size))
        job.licences = {"m": 1} if chance.random() < 0.3 else {}
        job.wish = None if kind == kinds else named(f"f{kind}")
        jobs.append(job)
    agrees(Machine(len(offers), depth=depth, plan=False, offers=offers, licences={"m": 2}), jobs)


def crowd(seed: int, queues: list[Queue]) -> list[Job]:
    """Thirty jobs that come faster than they are done."""
    chance, jobs, submit = np.random.default_rng(seed), list[Job](), 0
    for row in range(30):
        submit += int(chance.integers(0, 5)) * SECOND
        runtime, queue = int(chance.integers(1, 40)) * SECOND, queues[int(chance.integers(0, len(queues)))]
        size = int(chance.integers(1, len(queue.nodes) + 1))
        job = Job(row, submit, runtime, runtime * int(chance.integers(1, 4)), size, queue=queue.name)
        job.app = str(chance.choice(APPS))
        jobs.append(job)
    return jobs


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rule", ["starvation", "patience", "matching"])
def test_crowds_in_queues_that_share_nodes_agree(rule: str, seed: int) -> None:
    queues = [Queue("a", [0, 1, 2, 3]), Queue("b", [2, 3, 4, 5]), Queue("c", [4, 5, 6])]
    machine = Machine(7, depth=(1, 2, 3)[seed % 3], plan=False, queues=queues)
    if rule == "starvation":
        machine.vahrm, machine.order = Vahrm(beta=0.0, by_walltime=False, starvation_limit=20 * SECOND), "vahrm"
        machine.depth = (None, 0, 1, 2, 3, inf)[seed]
    elif rule == "patience":
        machine.patience = 20 * SECOND
    else:
        chance = np.random.default_rng(seed)
        rows = {app: (chance.uniform(100.0, 300.0, 7).round(6).tolist(), [1.0] * 7) for app in APPS}
        machine.matches, machine.draws = True, Draws([50.0] * 7, {inf: rows}, {inf: rows})
    agrees(machine, crowd(seed, queues))


def test_small_jobs_pass_a_whole_node_job_where_they_do_not_delay_it() -> None:
    # Half of both nodes is taken until 100. Job 1 wants one of them whole: node 0, at 100. Jobs of one slot and 60 s
    # come at 10, 11, ...: four fit before, and two that would last beyond 100 follow on node 1.
    jobs = [
        Job(0, 0, 100, 100, 2, 2),
        Job(1, 10, 50, 50, 1, 4),
        *(Job(2 + k, 10 + k, 60, 60, 1, 1) for k in range(20)),
    ]
    for job in jobs:
        job.submit, job.runtime, job.walltime = job.submit * SECOND, job.runtime * SECOND, job.planned * SECOND
    rows = [(start_s, nodes[0]) for start_s, nodes in run(Machine(2, 4), jobs).jobs.select("start_s", "nodes").rows()]
    assert rows[1] == (100.0, 0)
    assert rows[2:8] == [(10.0, 0), (11.0, 0), (12.0, 1), (13.0, 1), (72.0, 1), (73.0, 1)]
    assert all(start_s >= 100.0 for start_s, _ in rows[8:])


class Lowest:
    """A placement."""

    def choose(self, job: Any, free: Any, view: Any, /) -> Any:
        return free[: job.node_count]


def test_a_plan_lets_no_other_part_choose_nodes() -> None:
    with pytest.raises(hs.ConfigError, match=r"policy\.placement: found `random`, expected lowest-id"):
        hs.Policy("fcfs", "plan", "random")
    with pytest.raises(hs.ConfigError, match=r"policy\.placement: found `Lowest`, expected nothing"):
        hs.Policy("fcfs", "plan", Lowest())
    with pytest.raises(hs.ConfigError, match=r"policy\.order\.first_run"):
        hs.Policy({"name": "vahrm", "first_run": True}, "plan")

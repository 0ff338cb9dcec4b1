"""Pools that sleep: each as if it were the machine, whatever sleep part counts its nodes (rules 6 and 16)."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given
from machine_cases import cases
from machine_engine import events_of, platform_of, run, workload_of
from plain_jobs import Job, Queue
from plain_machine import Machine

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

PARTS = ("timeout", "newsvendor", "newsvendor")


def lawful(machine: Machine, jobs: list[Job], part: str) -> hs.Result:
    """The run in the engine, held to its laws; no node is put to sleep that leaves too few on."""
    result = run(machine, jobs, part)
    check_schedule(result, workload_of(machine, jobs), platform_of(machine, jobs), events=events_of(machine))
    assert machine.sleep is not None
    on = set(range(machine.nodes))
    steps = result.events.drop_nulls("node").select("kind", "node").rows()
    for kind, node in steps:
        if kind in ("wake", "repaired", "back"):
            on.add(node)
        elif kind in ("sleep", "failed", "out"):
            on.discard(node)
        assert kind != "sleep" or len(on) >= machine.sleep.min_on
    return result


@given(cases(plan=False, sleep=True, queues=True, outages=True))
def test_pools_with_a_reserve_each_keep_the_laws(case: tuple[Machine, list[Job]]) -> None:
    lawful(*case, "newsvendor")


@given(cases(plan=False, sleep=True, wait=True, outages=True), st.data(), st.sampled_from(PARTS))
def test_a_pool_of_some_nodes_sleeps_as_if_it_were_the_machine(
    case: tuple[Machine, list[Job]], data: st.DataObject, part: str
) -> None:
    """The other nodes never sleep, and stay on with those that have to."""
    machine, jobs = case
    assert machine.sleep is not None
    numbers = sorted(data.draw(st.permutations(range(machine.nodes + 3)))[: machine.nodes])
    kept = set(range(machine.nodes + 3)) - set(numbers) | {numbers[node] for node in machine.sleep.exclude}
    boots = dict(zip(numbers, machine.boots or [], strict=False))
    min_on = machine.sleep.min_on + 3
    more = {"exclude": ",".join(map(str, sorted(kept))), "min_on_nodes": min_on}
    larger = replace(
        machine,
        nodes=machine.nodes + 3,
        boots=None if machine.boots is None else [boots.get(node, 0) for node in range(machine.nodes + 3)],
        queues=[Queue("own", numbers)],
        sleep=replace(machine.sleep, min_on=min_on, part={**machine.sleep.part, **more}),
        world=[one if one.kind == "cancel" else replace(one, about=numbers[one.about]) for one in machine.world],
    )
    there, here = lawful(machine, jobs, part), lawful(larger, [replace(job, queue="own") for job in jobs], part)
    columns = ["job_id", "state", "start_s", "end_s", "started_by"]
    assert here.jobs.select(columns).equals(there.jobs.select(columns))
    own = [None if nodes is None else [numbers[node] for node in nodes] for nodes in there.jobs["nodes"].to_list()]
    assert here.jobs["nodes"].to_list() == own
    if there.events is not None and here.events is not None:
        steps = [frame.select("time_s", "kind", "node").drop_nulls().rows() for frame in (here.events, there.events)]
        assert steps[0] == [(time_s, kind, numbers[node]) for time_s, kind, node in steps[1]]

"""Sleeping nodes beside their twin in plain Python: every start, end and step of a node (rules 14 to 22)."""

from __future__ import annotations

from math import inf
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given
from plain_sleep import Numbers, SleepyMachine, Task

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

SECOND = 1_000_000
COUNTED = ("none", "first-fit", "reservations")

_SPAN = st.sampled_from([0, 0, 1, 3, 7, 20])


@st.composite
def numbers(draw: st.DrawFn, nodes: int, boot: int, shutdown: int) -> tuple[Numbers, dict[str, Any]]:
    """Parameters as the twin and as the engine takes them, seconds."""
    min_idle, far = draw(_SPAN), draw(st.sampled_from([0, 5, 12, 30, "break-even"]))
    stop, start = draw(_SPAN | st.just("actual")), draw(_SPAN | st.just("actual"))
    limit, min_on = draw(st.sampled_from(["none", "none", 1, 2])), draw(st.sampled_from([0, 0, 0, 1, 2]))
    exclude = draw(st.sampled_from(["", "", "0", f"{nodes - 1}"]))
    part = {
        "min_idle_s": min_idle,
        "estimated_off_s": far,
        "stop_margin_s": stop,
        "start_margin_s": start,
        "off_limit_per_day": limit,
        "min_on_nodes": min_on,
        "exclude": exclude,
    }
    # Rule 17 with idle = boot = shutdown = 100 W, off 0 W: the time of both transitions.
    twin = Numbers(
        min_idle * SECOND,
        (boot + shutdown if far == "break-even" else far) * SECOND,
        (shutdown if stop == "actual" else stop) * SECOND,
        (boot if start == "actual" else start) * SECOND,
        inf if limit == "none" else limit,
        min_on,
        frozenset([] if exclude == "" else [int(exclude)]),
    )
    return twin, part


@st.composite
def cases(draw: st.DrawFn, backfills: tuple[str, ...]) -> tuple[SleepyMachine, list[Task], dict[str, Any]]:
    backfill = draw(st.sampled_from(backfills))
    slots = draw(st.sampled_from([1, 1, 2, 4])) if backfill == "plan" else 1
    nodes, boot, shutdown = draw(st.integers(1, 5)), draw(st.sampled_from([0, 1, 6])), draw(st.sampled_from([0, 2, 9]))
    twin, part = draw(numbers(nodes, boot, shutdown))
    machine = SleepyMachine(
        nodes,
        slots,
        boot * SECOND,
        shutdown * SECOND,
        twin,
        backfill,
        depth=draw(st.sampled_from([inf, 1, 1, 2])) if backfill != "plan" else draw(st.sampled_from([inf, inf, 1, 2])),
        interval=draw(st.sampled_from([0, 0, 5, 30])) * SECOND if backfill == "plan" else 0,
    )
    # Some runs pass midnight, where a day's shutdowns begin anew.
    submit, tasks = draw(st.sampled_from([0, 3, 86_350])) * SECOND, []
    for row in range(draw(st.integers(1, 12))):
        submit += draw(st.sampled_from([0, 0, 1, 4, 11, 40, 100])) * SECOND
        runtime = draw(st.integers(0, 40)) * SECOND
        walltime = draw(st.none() | st.integers(1, 60).map(lambda seconds: seconds * SECOND))
        tasks.append(Task(row, submit, runtime, walltime, draw(st.integers(1, nodes)), draw(st.integers(1, slots))))
    return machine, tasks, part


def run(machine: SleepyMachine, tasks: list[Task], part: dict[str, Any], name: Any = "timeout") -> hs.Result:
    """The same in the engine."""
    rows = [
        (t.row, t.submit / SECOND, t.runtime / SECOND, t.node_count, t.walltime and t.walltime / SECOND) for t in tasks
    ]
    schema = {"job_id": pl.Int64, "submit_s": pl.Float64, "runtime_s": pl.Float64, "node_count": pl.Int64}
    frame = pl.DataFrame(rows, {**schema, "walltime_s": pl.Float64}, orient="row")
    workload = hs.Workload.from_polars(frame.with_columns(slots=pl.Series([t.slots for t in tasks])))
    platform = hs.Platform.homogeneous(
        machine.nodes,
        idle_w=100.0,
        tdp_w=300.0,
        slots=machine.slots,
        exclusive=machine.slots == 1,
        boot_s=machine.boot / SECOND,
        shutdown_s=machine.shutdown / SECOND,
        off_w=0.0,
    )
    backfill: dict[str, Any] = {"name": machine.backfill}
    if machine.backfill in ("plan", "reservations"):
        backfill["depth"] = "unbounded" if machine.depth == inf else machine.depth
    if machine.backfill == "plan":
        backfill["interval_s"] = machine.interval // SECOND
    sleep = {"name": name, **part} if isinstance(name, str) else name
    policy = hs.Policy("fcfs", backfill, sleep=sleep)
    result = hs.simulate(workload, platform, policy)
    check_schedule(result, workload, platform)
    return result


def agrees(case: tuple[SleepyMachine, list[Task], dict[str, Any]]) -> None:
    machine, tasks, part = case
    result = run(machine, tasks, part)
    machine.run(tasks)
    told = [(t.row, t.start / SECOND, t.end / SECOND, t.nodes) for t in tasks]
    assert result.jobs.select("job_id", "start_s", "end_s", "nodes").rows() == told
    expected = sorted(((at / SECOND, node, kind) for at, kind, node in machine.events), key=lambda row: row[:2])
    rows = result.events.select("time_s", "node", "kind").rows()
    assert sorted(rows, key=lambda row: row[:2]) == expected
    # Rule 22.
    for node in range(machine.nodes):
        kinds = [kind for _, number, kind in expected if number == node]
        assert result.nodes.row(node, named=True)["boots"] == kinds.count("wake")
        assert result.nodes.row(node, named=True)["shutdowns"] == kinds.count("sleep")


@given(cases(("plan",)))
def test_named_nodes_that_sleep_agree_with_their_twin(case: Any) -> None:
    agrees(case)


@given(cases(COUNTED))
def test_counted_nodes_that_sleep_agree_with_their_twin(case: Any) -> None:
    agrees(case)


@given(cases(("plan",)), st.sampled_from(["nqsv", "planned"]))
def test_the_parts_are_one_rule(case: Any, name: str) -> None:
    """Rule 14: with all parameters given it does not matter whose defaults they replace."""
    machine, tasks, part = case
    one, other = run(machine, tasks, part), run(machine, tasks, part, name)
    assert one.jobs.equals(other.jobs)
    assert one.nodes.equals(other.nodes)

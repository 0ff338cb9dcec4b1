"""Waits, cancellations, arrays and outages beside their twin in plain Python (machine page, rules 3 to 31)."""

from __future__ import annotations

from math import inf
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from plain_waits import Happening, Job, Machine

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

SECOND = 1_000_000
IDLE_W, BUSY_W, DOWN_W = 100.0, 300.0, 7.0
STATES = {"hopeless": "cancelled", "stranded": "pending", "unmet": "pending"}
REASONS = {
    "cancelled": "was cancelled before it ran",
    "hopeless": "the job that it depends on did not end as it asks",
    "stranded": "could not start, and nothing was to come that would have let it",
    "unmet": "waits for a job that never ends",
}


def seconds(values: st.SearchStrategy[int]) -> st.SearchStrategy[int]:
    return values.map(lambda value: value * SECOND)


@st.composite
def jobs_of(draw: st.DrawFn, machine: Machine) -> list[Job]:
    submit, jobs, count = draw(st.sampled_from([0, 3])) * SECOND, [], draw(st.integers(1, 12))
    limits = {array: draw(st.integers(1, 2)) for array in (1, 2)}
    waits = draw(st.booleans())
    for row in range(count):
        submit += draw(st.sampled_from([0, 0, 1, 4, 11])) * SECOND
        job = Job(
            row,
            submit,
            draw(seconds(st.integers(0, 30))),
            draw(st.none() | seconds(st.integers(1, 40))),
            draw(st.integers(1, machine.nodes + (row % 5 == 4))),
            draw(st.integers(1, machine.slots)),
        )
        if waits:
            job.start_at = draw(st.none() | st.none() | seconds(st.integers(0, 60)))
            # Of a job that comes later or earlier, in no cycle: the first of a permutation waits for none.
            job.depends_on = draw(st.none() | st.integers(0, row - 1)) if row else None
            job.how = draw(st.sampled_from(["any", "any", "ok", "not_ok"]))
            job.think = draw(seconds(st.sampled_from([0, 0, 3, 20])))
            job.cancel = draw(st.none() | st.none() | seconds(st.integers(0, 80)))
            job.array = draw(st.sampled_from([None, None, 1, 2]))
            job.limit = None if job.array is None else limits[job.array]
        jobs.append(job)
    if waits and draw(st.booleans()):
        # Dependencies on later rows: the rows are mirrored, the submissions are not.
        for job in jobs:
            job.depends_on = None if job.depends_on is None else count - 1 - job.depends_on
        wanted = [job.depends_on for job in jobs]
        for job, other in zip(jobs, reversed(wanted), strict=True):
            job.depends_on = other
    return jobs


@st.composite
def worlds(draw: st.DrawFn, machine: Machine, jobs: list[Job]) -> list[Happening]:
    world = []
    node = st.integers(0, machine.nodes - 1)
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["failed", "failed", "repaired", "repaired", "maintenance", "cancel"]))
        time = draw(seconds(st.integers(0, 90)))
        if kind == "cancel":
            world.append(Happening(time, kind, draw(st.integers(0, len(jobs) - 1))))
        elif kind == "maintenance":
            early = draw(st.sampled_from([0, 0, 10, 1000])) * SECOND if machine.plan else 0
            announced = -inf if early == 1000 * SECOND else max(0, time - early)
            world.append(Happening(time, kind, draw(node), time + draw(seconds(st.integers(1, 40))), announced))
        else:
            world.append(Happening(time, kind, draw(node)))
    return sorted(world, key=lambda one: (one.time, one.kind in ("failed", "maintenance")))


@st.composite
def cases(draw: st.DrawFn, *, plan: bool) -> tuple[Machine, list[Job], list[Happening]]:
    machine = Machine(
        nodes=draw(st.integers(1, 5)),
        slots=draw(st.sampled_from([1, 1, 1, 2, 4])),
        depth=draw(st.sampled_from([inf, inf, 1, 2] if plan else [None, 0, 1, 1, 2, inf, inf])),
        plan=plan,
        horizon=draw(st.sampled_from([2_592_000, 60, 7])) * SECOND,
        interval=draw(st.sampled_from([0, 0, 5, 30])) * SECOND if plan else 0,
        requeue=draw(st.booleans()),
        order=draw(st.sampled_from(["fcfs", "fcfs", "shortest", "largest"])),
    )
    jobs = draw(jobs_of(machine))
    return machine, jobs, draw(worlds(machine, jobs))


def told(micros: float | None) -> float | None:
    return None if micros is None else micros / SECOND


def workload(jobs: list[Job]) -> hs.Workload:
    columns: dict[str, list[Any]] = {
        "job_id": [job.row for job in jobs],
        "submit_s": [told(job.submit) for job in jobs],
        "runtime_s": [told(job.runtime) for job in jobs],
        "node_count": [job.nodes_wanted for job in jobs],
        "walltime_s": [told(job.walltime) for job in jobs],
        "slots": [job.slots for job in jobs],
        "start_at_s": [told(job.start_at) for job in jobs],
        "depends_on": [job.depends_on for job in jobs],
        "depends_how": [None if job.how == "any" and job.row % 2 else job.how for job in jobs],
        "think_s": [told(job.think) if job.think else None for job in jobs],
        "cancel_s": [told(job.cancel) for job in jobs],
        "array_id": [job.array for job in jobs],
        "array_limit": [job.limit for job in jobs],
    }
    floats = ("walltime_s", "start_at_s", "think_s", "cancel_s")
    whole = ("depends_on", "array_id", "array_limit")
    schema = dict.fromkeys(floats, pl.Float64) | dict.fromkeys(whole, pl.Int64)
    return hs.Workload.from_polars(pl.DataFrame(columns, schema_overrides=schema))


def events(world: list[Happening]) -> hs.Events | None:
    if not world:
        return None
    kinds = {"failed": "node_failed", "repaired": "node_repaired"}
    rows = [
        {
            "time_s": told(one.time),
            "kind": kinds.get(one.kind, one.kind),
            "node": None if one.kind == "cancel" else one.about,
            "job_id": one.about if one.kind == "cancel" else None,
            "until_s": told(one.until) if one.kind == "maintenance" else None,
            "announced_s": told(one.announced) if one.kind == "maintenance" and one.announced > -inf else None,
        }
        for one in world
    ]
    schema = {
        "time_s": pl.Float64,
        "kind": pl.String,
        "node": pl.Int64,
        "job_id": pl.Int64,
        "until_s": pl.Float64,
        "announced_s": pl.Float64,
    }
    return hs.Events.from_polars(pl.DataFrame(rows, schema=schema))


def backfill(machine: Machine) -> dict[str, Any]:
    depth = "unbounded" if machine.depth == inf else machine.depth
    if machine.plan:
        horizon_s, interval_s = machine.horizon // SECOND, machine.interval // SECOND
        return {"name": "plan", "depth": depth, "horizon_s": horizon_s, "interval_s": interval_s}
    if machine.depth is None:
        return {"name": "none"}
    return {"name": "first-fit"} if machine.depth == 0 else {"name": "reservations", "depth": depth}


def platform_of(machine: Machine) -> hs.Platform:
    return hs.Platform.homogeneous(
        nodes=machine.nodes,
        idle_w=IDLE_W,
        tdp_w=BUSY_W,
        down_w=DOWN_W,
        slots=machine.slots,
        exclusive=machine.slots == 1,
    )


def run(machine: Machine, jobs: list[Job], world: list[Happening]) -> hs.Result:
    """The same in the engine."""
    policy = hs.Policy(machine.order, backfill(machine))
    return hs.simulate(
        workload(jobs),
        platform_of(machine),
        policy,
        events=events(world),
        on_failure="requeue" if machine.requeue else "fail",
    )


def agrees(machine: Machine, jobs: list[Job], world: list[Happening]) -> None:
    result = run(machine, jobs, world)
    machine.run(jobs, world)
    frame = result.jobs
    for job, here in zip(jobs, frame.iter_rows(named=True), strict=True):
        has_times = job.start is not None and job.state in ("completed", "timeout", "failed")
        expected = {
            "state": STATES.get(job.state, job.state),
            "start_s": told(job.start) if has_times else None,
            "end_s": told(job.end) if has_times else None,
            "nodes": sorted(job.nodes) if has_times else None,
            "started_by": job.started_by if has_times else None,
        }
        if "eligible_s" in frame.columns:
            expected["eligible_s"] = told(job.eligible)
        if "attempts" in frame.columns:
            expected["attempts"] = job.attempts
        if job.state in REASONS:
            expected["reason"] = REASONS[job.state]
        assert {name: here[name] for name in expected} == expected, (job.row, job)
        if machine.slots == 1:
            assert here["energy_j"] == pytest.approx(job.served * BUSY_W / SECOND) or not job.attempts
            if "lost_energy_j" in frame.columns:
                assert here["lost_energy_j"] == pytest.approx(job.lost * BUSY_W / SECOND)
            if has_times and job.end != job.start:
                assert here["mean_power_w"] == pytest.approx(BUSY_W * job.nodes_wanted)
    check_schedule(result, workload(jobs), platform_of(machine))
    summary = result.summary()
    begin, end = machine.window()
    assert summary["makespan_s"] == (end - begin) / SECOND
    assert summary["down_energy_j"] == pytest.approx(machine.down_time() * DOWN_W / SECOND)
    assert result.nodes["down_s"].sum() == pytest.approx(machine.down_time() / SECOND)


@given(cases(plan=False))
def test_counting_backfills_agree_with_their_twin(case: tuple[Machine, list[Job], list[Happening]]) -> None:
    agrees(*case)


@given(cases(plan=True))
def test_plan_agrees_with_its_twin(case: tuple[Machine, list[Job], list[Happening]]) -> None:
    agrees(*case)


@pytest.mark.parametrize("depth", [None, 0, 1, 3, inf])
@pytest.mark.parametrize("seed", range(4))
def test_long_arrays_agree_with_their_twin(depth: float | None, seed: int) -> None:
    """Most wait in few groups: they come and go as a whole, and only some of them may start."""
    chance = np.random.default_rng(seed)
    limits, count, mixed = chance.integers(1, 5, 3), 130, seed % 2 == 1
    jobs, submit = [], 0
    for row in range(count):
        submit += int(chance.integers(0, 4)) * SECOND if mixed else 0
        runtime, array = int(chance.integers(0, 30)) * SECOND, int(chance.integers(-1, 3) if mixed else 0)
        job = Job(row, submit, runtime, runtime * int(chance.integers(1, 4)) + SECOND, int(chance.integers(1, 6)), 1)
        if array >= 0:
            job.array, job.limit = array, int(limits[array])
        jobs.append(job)
    machine = Machine(
        nodes=int(chance.integers(5, 12)),
        slots=1,
        depth=depth,
        plan=False,
        horizon=0,
        interval=0,
        requeue=True,
        order=("fcfs", "fcfs", "largest", "shortest")[seed],
    )
    agrees(machine, jobs, [])

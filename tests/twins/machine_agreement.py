"""Agreement of the engine and the reference machine: each time, node, stretch and event, and energies."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import isclose
from typing import Any

import polars as pl
from machine_engine import inputs_of, run, told
from plain_counted import count_pass
from plain_draws import JOULE, SECOND, WATT
from plain_jobs import Job
from plain_machine import Machine
from plain_meter import down_time, energy, window
from plain_power import power_pass
from plain_rest import counted_pass_and_rest
from plain_sleepy_power import sleepy_pass
from plain_windows import named_pass

import hetsched as hs
from hetsched.testing import check_schedule

STATES = {"hopeless": "cancelled", "stranded": "pending", "unmet": "pending", "untaught": "pending"}
REASONS = {
    "cancelled": "was cancelled before it ran",
    "hopeless": "the job that it depends on did not end as it asks",
    "stranded": "could not start, and nothing was to come that would have let it",
    "unmet": "waits for a job that never ends",
}
STEPS = ("wake", "ready", "sleep", "off")
POWER_EVENTS = ("budget", "alert", "lower-cap", "raise-cap", "suspend", "resume", "requeue", "kill")


def agrees(machine: Machine, jobs: list[Job], sleep: Any = "timeout", *, nodes: bool = True) -> None:
    """Runs both and compares them; `nodes`: whether it is known which nodes jobs get."""
    inputs = inputs_of(machine, jobs)
    result = run(machine, jobs, sleep, inputs=inputs)
    if machine.offers and not any(job.wish for job in jobs):
        # Features that no job asks for make no difference.
        machine.offers = [replace(one, features=frozenset()) for one in machine.offers]
    make(machine, jobs)
    _jobs_agree(result, machine, nodes=nodes)
    if machine.power is not None:
        _power_agrees(result, machine)
    elif any(queue.preempts for queue in machine.queues):
        _stops_agree(result, machine)
    if machine.power is not None or any(job.sizes and job.sizes.malleable for job in jobs):
        _segments_agree(result, machine, nodes=nodes)
    if machine.sizing is not None:
        _resizes_agree(result, machine)
    if machine.sleep is not None:
        _steps_agree(result, machine)
    _sums_agree(result, machine, nodes=nodes)
    if machine.power is None or machine.sleep is not None:
        # Budgets, caps and emergencies have laws of their own: not all hold where a lower cap costs more watts.
        check_schedule(result, inputs.workload, inputs.platform, events=inputs.events)


def make(machine: Machine, jobs: list[Job]) -> Machine:
    """The reference machine's run."""
    one_pass = count_pass if machine.sleep is None else counted_pass_and_rest
    if machine.power is not None:
        one_pass = power_pass if machine.sleep is None else sleepy_pass
    elif machine.plan:
        one_pass = named_pass
    machine.run(jobs, one_pass)
    return machine


def is_same(engine: Any, ours: Any) -> bool:
    """Equal, floats to a billionth."""
    if isinstance(engine, float) and isinstance(ours, float):
        return isclose(engine, ours, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(engine, tuple):
        return len(engine) == len(ours) and all(map(is_same, engine, ours))
    return bool(engine == ours)


def _rows_agree(what: str, engine: list[Any], ours: list[Any]) -> None:
    """The first row on which they differ is named with both answers."""
    for k, (theirs, own) in enumerate(zip(engine, ours, strict=False)):
        assert is_same(theirs, own), f"{what} {k}: the engine says {theirs}, the reference {own}"
    assert len(engine) == len(ours), f"{what}: {len(engine)} of the engine, {len(ours)} of the reference"


def _jobs_agree(result: hs.Result, machine: Machine, *, nodes: bool) -> None:
    for job, row in zip(machine.jobs, result.jobs.iter_rows(named=True), strict=True):
        expected = {name: value for name, value in of_job(job).items() if name in row}
        if not nodes:
            del expected["nodes"]
        if (row.get("reason") or "").startswith("fits between no two changes"):
            # So is one that waits for a profile, whatever else it waits for.
            expected.pop("reason", None)
        for name, value in expected.items():
            assert is_same(row[name], value), f"{name}: the engine says {row[name]}, the reference {value}: {job}"
        if job.attempts and nodes:
            assert isclose(row["energy_j"], job.energy / JOULE, rel_tol=1e-9, abs_tol=1e-9)
            assert isclose(row.get("lost_energy_j", 0.0), job.lost_energy / JOULE, rel_tol=1e-9, abs_tol=1e-9)


def of_job(job: Job) -> dict[str, Any]:
    """Columns of a job's row; a result has some of them only where a feature is in play."""
    ended = job.state in ("completed", "timeout") or (job.state == "failed" and job.attempts > 0)
    lowest = job.run.lowest_cap
    found = {
        "state": STATES.get(job.state, job.state),
        "start_s": told(job.start) if ended else None,
        "end_s": told(job.end) if ended else None,
        "nodes": job.nodes if ended else None,
        "started_by": job.started_by if ended else None,
        "walltime_s": told(job.walltime),
        "attempts": job.attempts,
    }
    of_attempt = {
        "suspended_s": told(job.suspended),
        "profiled": job.run.is_first,
        "lowest_cap_w": None if lowest == float("inf") else lowest,
    }
    if found["state"] != "rejected":
        found["eligible_s"] = told(job.eligible)
    return found | (of_attempt if ended else {}) | ({"reason": REASONS[job.state]} if job.state in REASONS else {})


def _stops_agree(result: hs.Result, machine: Machine) -> None:
    segments = result.segments.filter(pl.col("end_s") > pl.col("start_s"))
    ours = [
        (row.job, row.attempt, told(row.start), told(row.end), row.stretch.state)
        for row in machine.segments
        if row.end > row.start
    ]
    _rows_agree("segment", segments.select("job_id", "attempt", "start_s", "end_s", "state").rows(), ours)
    happened = result.events.filter(pl.col("kind").is_in(["suspend", "resume", "requeue"]))
    rows = sorted(happened.select("time_s", "kind", "job_id").rows())
    _rows_agree("stop", rows, sorted((told(at), kind, row) for at, kind, row in machine.told))


def _power_agrees(result: hs.Result, machine: Machine) -> None:
    """Events of budgets, caps and jobs in emergencies, and the machine's draw before and after."""
    assert machine.power is not None
    last = window(machine)[1]
    names = ("time_s", "kind", "job_id", "value", "power_before_w", "power_after_w")
    ours = [(told(row.time), *row[1:]) for row in machine.power.events if row.kind != "budget" or row.time <= last]
    if result.events is None:
        assert not ours
        return
    if "value" in result.events.columns:
        rows = result.events.filter(pl.col("kind").is_in(POWER_EVENTS)).select(names).rows()
        _rows_agree("event", rows, ours)


def _segments_agree(result: hs.Result, machine: Machine, *, nodes: bool) -> None:
    if not result.has_segments:
        return
    frame = result.segments.sort("job_id", maintain_order=True)
    names = ("job_id", "attempt", "start_s", "end_s", "nodes", "cap_w", "speed_ratio", "power_w", "energy_j", "state")
    here = [name for name in names if name in frame.columns and (nodes or name != "nodes")]
    found = []
    for row in machine.segments:
        stretch = row.stretch
        own = (row.job, row.attempt, told(row.start), told(row.end), list(stretch.nodes), stretch.cap_w)
        lasts = row.end - row.start
        mean = row.energy / lasts if lasts else stretch.picowatts
        power = (mean / WATT, row.energy / JOULE)
        values = dict(zip(names, (*own, stretch.speed_ratio, *power, stretch.state), strict=True))
        found.append(tuple(values[name] for name in here))
    _rows_agree("segment", frame.select(here).rows(), found)


def _resizes_agree(result: hs.Result, machine: Machine) -> None:
    assert machine.sizing is not None
    if result.events is None or "value" not in result.events.columns:
        assert not machine.sizing.resizes
        return
    rows = result.events.filter(pl.col("kind").is_in(["grow", "shrink"])).select("time_s", "kind", "job_id", "value")
    ours = [(told(at), kind, row, float(size)) for at, kind, row, size in machine.sizing.resizes]
    _rows_agree("resize", rows.rows(), ours)


def _steps_agree(result: hs.Result, machine: Machine) -> None:
    """Events of nodes that sleep; those once all is over count for nothing."""
    last = told(window(machine)[1])
    rows = result.events.filter(pl.col("kind").is_in(STEPS)).select("time_s", "node", "kind").rows()
    taken = [(told(at), node, kind) for at, kind, node in machine.steps]
    both = [[row for row in sorted(each, key=lambda row: row[:2]) if row[0] <= last] for each in (rows, taken)]
    _rows_agree("step", *both)
    if len(taken) == len(rows):
        counts = Counter((kind, number) for _, kind, number in machine.steps)
        boots = [(counts["wake", number], counts["sleep", number]) for number in range(machine.nodes)]
        assert result.nodes.select("boots", "shutdowns").rows() == boots


def _sums_agree(result: hs.Result, machine: Machine, *, nodes: bool) -> None:
    summary = result.summary()
    if nodes:
        assert isclose(summary["energy_j"], energy(machine) / JOULE, rel_tol=1e-9, abs_tol=1e-9)
    begin, end = window(machine)
    assert isclose(summary["makespan_s"], (end - begin) / SECOND, rel_tol=1e-12, abs_tol=1e-9)
    if any(one.kind in ("failed", "maintenance") for one in machine.world):
        down_w = machine.down_w
        assert isclose(summary["down_energy_j"], down_time(machine) * down_w / SECOND, rel_tol=1e-6, abs_tol=1e-6)
        assert isclose(result.nodes["down_s"].sum(), down_time(machine) / SECOND, rel_tol=1e-6, abs_tol=1e-6)

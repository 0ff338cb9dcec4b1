"""The laws of jobs that make way for urgent ones: where they stand still, and who may use their slots meanwhile."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.testing.facts import Facts
from hetsched.testing.stretch_laws import (
    check_attempts_of_stretches,
    check_order_of_stretches,
    check_requeues,
    check_states_of_stretches,
    check_suspensions,
)
from hetsched.testing.stretches import Stretches
from hetsched.units import TICKS_S, micros


def check_preemption(run: Facts) -> None:
    """Check suspended jobs, where queues preempt; raises AssertionError at the first broken law."""
    if not run.makes_way:
        return
    if not len(run.result.segments):
        assert not run.started.any(), "a job that started has no segment"
        return
    own = Stretches(run, run.result.segments)
    check_order_of_stretches(own)
    check_attempts_of_stretches(own)
    check_states_of_stretches(own)
    _check_energies(own)
    recorded = _recorded(run)
    suspended, resumed = (
        # What changes at the instant at which the run is stopped begins no stretch.
        [(row, at) for row, at in recorded[kind] if not run.is_stopped or at < run.window[1]]
        for kind in ("suspend", "resume")
    )
    check_suspensions(own, suspended, resumed, [])
    check_requeues(own, recorded["requeue"])
    _check_causes(run, recorded["suspend"])
    _check_slots(run)
    _check_timeline(run)


def _recorded(run: Facts) -> dict[str, list[tuple[int, int]]]:
    """The rows of jobs to which something happened, and when, by kind."""
    row_of = {job_id: row for row, job_id in enumerate(run.job_id)}
    happened: dict[str, list[tuple[int, int]]] = {"suspend": [], "resume": [], "requeue": []}
    events = run.result.events.filter(pl.col("kind").is_in(list(happened)))
    for job_id, at, kind in zip(events["job_id"], micros(events["time_s"]).tolist(), events["kind"], strict=True):
        happened[kind].append((row_of[job_id], at))
    return happened


def _check_energies(own: Stretches) -> None:
    """A job's energy is that of all stretches in which it ran."""
    energy_j = np.zeros(len(own.run.start))
    np.add.at(energy_j, own.job, own.energy_j)
    recorded_j = own.run.jobs["energy_j"].fill_null(0.0).to_numpy()
    rows = np.flatnonzero(np.abs(energy_j - recorded_j) > 1e-9 * np.maximum(recorded_j, 1.0))
    assert not len(rows), f"{own.run.name(int(rows[0]))}: energy_j is {recorded_j[rows[0]]}, not {energy_j[rows[0]]}"


def _preempts(run: Facts) -> npt.NDArray[np.bool_]:
    """True if jobs of the first queue make those of the second make way, by number."""
    assert run.queueing is not None
    queues = run.queueing.queues
    return np.array([[other.name in queue.preempts for other in queues] for queue in queues], dtype=np.bool_)


def _check_causes(run: Facts, suspended: list[tuple[int, int]]) -> None:
    """A job is suspended as one starts that its queue makes way for, on one of its nodes."""
    assert run.queueing is not None
    preempts, queue = _preempts(run), run.queueing.of_job
    begun: dict[int, list[tuple[int, set[int]]]] = {}
    segments = run.result.segments.filter(pl.struct("job_id", "attempt").is_first_distinct())
    row_of = {job_id: row for row, job_id in enumerate(run.job_id)}
    for job_id, at, nodes in zip(
        segments["job_id"], micros(segments["start_s"]).tolist(), segments["nodes"], strict=True
    ):
        begun.setdefault(at, []).append((row_of[job_id], set(nodes.to_list())))
    spans = run.stretches
    for row, at in suspended:
        there = spans.filter(pl.col("job") == row, pl.col("start") <= at, pl.col("end") >= at)["nodes"].to_list()
        mine = set().union(*there)
        is_caused = any(preempts[queue[other], queue[row]] and nodes & mine for other, nodes in begun.get(at, []))
        assert is_caused, f"{run.name(row)} is suspended at {at / TICKS_S} s, where no urgent job starts on its nodes"


def _check_slots(run: Facts) -> None:
    """A job that starts finds its slots next to all that do not make way for it, suspended jobs among them."""
    assert run.queueing is not None
    preempts, queue = _preempts(run), run.queueing.of_job
    attempts = run.held.group_by("job", "attempt", "node", "slots", maintain_order=True)
    spans = attempts.agg(pl.col("start").min(), pl.col("end").max())
    for node in range(run.platform.nodes):
        here = spans.filter(pl.col("node") == node)
        job, start, end, slots = (here[name].to_numpy() for name in ("job", "start", "end", "slots"))
        for row, at in zip(job.tolist(), start.tolist(), strict=True):
            if not run.started[row] or run.start[row] != at:
                continue
            others = (start < at) & (end > at) & ~preempts[queue[row], queue[job]] & (job != row)
            taken = int(slots[others].sum()) + int(run.slots[row])
            assert taken <= run.slots_per_node, (
                f"node {node} at {at / TICKS_S} s: {run.name(row)} starts on slots that others keep, "
                f"{taken} of {run.slots_per_node}"
            )


def _check_timeline(run: Facts) -> None:
    """The timeline says how many jobs stand still."""
    timeline = run.result.timeline
    times = micros(timeline["time_s"])
    still = run.stretches.filter(pl.col("state") == "suspended")
    begins, ends = (np.sort(still[name].to_numpy()) for name in ("start", "end"))
    there = np.searchsorted(begins, times, side="right") - np.searchsorted(ends, times, side="right")
    here = timeline["suspended_jobs"].to_numpy()
    wrong = np.flatnonzero(here != there)
    assert not len(wrong), (
        f"at {times[wrong[0]] / TICKS_S} s: suspended_jobs is {here[wrong[0]]}, the segments make it {there[wrong[0]]}"
    )

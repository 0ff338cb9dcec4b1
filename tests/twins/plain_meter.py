"""Draws, stretch by stretch (rule 22, and rules 35 and 36 of power in time), and their sums."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from plain_draws import picowatts
from plain_jobs import Segment, Stretch
from plain_paces import in_force, job_draw, tell_end, time_factor

if TYPE_CHECKING:
    from plain_jobs import Job
    from plain_machine import Machine


def pass_time(machine: Machine, until: int) -> None:
    """Rule 22: what is drawn until then."""
    span = until - machine.now
    if span > 0:
        for job in machine.running:
            job.run.energy += job_draw(machine, job) * span
        serving = {number for job in machine.running for number in job.nodes}
        idle = sum(node_draw(machine, number) for number in range(machine.nodes) if number not in serving)
        machine.quiet.append((machine.now, until, idle))
    machine.now = until


def node_draw(machine: Machine, number: int) -> int:
    """Picowatts of a node that serves no job."""
    power = "down" if machine.state[number].is_down else machine.state[number].power
    if power in ("on", "down"):
        return machine.draws.idle(number) if power == "on" else picowatts(machine.down_w)
    switch = machine.switch(number)
    return picowatts({"off": switch.off_w, "booting": switch.boot_w, "stopping": switch.shutdown_w}[power])


def settle(machine: Machine) -> None:
    """The instant is over: caps count now (rule 7), and a segment ends where something has changed."""
    if machine.power is not None:
        machine.drawn.append((machine.now, machine.power.actual_draw()))
    for job in [job for job in machine.jobs if job.is_there]:
        run = job.run
        if job.state == "running":
            if machine.power is not None:
                tell_end(machine, job)
            run.is_new = False
        last = run.stretch
        if machine.power is None and last is not None and (last.state, last.nodes) == (job.state, tuple(job.nodes)):
            continue
        stretch = _stretch(machine, job)
        if stretch != run.stretch:
            if run.stretch is not None and run.since < machine.now:
                close_segment(machine, job)
            run.since, run.stretch, run.charged = machine.now, stretch, run.energy
            run.still_until = run.paused if job.state == "running" else machine.now


def _stretch(machine: Machine, job: Job) -> Stretch:
    caps = [in_force(job, node) for node in job.nodes]
    job.run.lowest_cap = min(job.run.lowest_cap, *caps)
    cap_w = None if inf in caps else sum(caps) / len(caps)
    if job.state == "suspended":
        return Stretch(tuple(job.nodes), cap_w, 0.0, 0, "suspended")
    # On shared nodes what it pays changes as others come and go: that ends no stretch.
    draw = job_draw(machine, job) if machine.slots == 1 else 0
    return Stretch(tuple(job.nodes), cap_w, 1.0 / time_factor(machine, job), draw, "running")


def close_segment(machine: Machine, job: Job) -> None:
    """Up to now; an attempt that is over in its first instant has this one."""
    stretch, run = job.run.stretch or _stretch(machine, job), job.run
    still, energy = min(run.still_until, machine.now), run.energy - run.charged
    if still > run.since:
        paused, part = stretch._replace(speed_ratio=0.0), stretch.picowatts * (still - run.since)
        machine.segments.append(Segment(job.row, job.attempts, run.since, still, paused, part))
        energy -= part
    if machine.now > still or machine.now == run.since:
        machine.segments.append(Segment(job.row, job.attempts, max(run.since, still), machine.now, stretch, energy))


def runs(machine: Machine) -> dict[int, list[tuple[int, int, int]]]:
    """Stretches of each job, with begin, end and slots, of all attempts and until now."""
    found: dict[int, list[tuple[int, int, int]]] = {job.row: [] for job in machine.jobs}
    for row in machine.segments:
        if row.stretch.state == "running":
            found[row.job].append((row.start, row.end, len(row.stretch.nodes) * machine.jobs[row.job].slots))
    for job in machine.jobs:
        stretch = job.run.stretch
        if stretch is not None and stretch.state == "running":
            found[job.row].append((job.run.since, machine.now, len(stretch.nodes) * job.slots))
    return found


def window(machine: Machine) -> tuple[int, int]:
    """From the first submit to the last end, those of lost attempts included."""
    return machine.first, max((row.end for row in machine.segments), default=machine.first)


def down_time(machine: Machine) -> int:
    """Node-microseconds within the window in which nodes were down."""
    begin, end = window(machine)
    spans = [(a, end if b is None else b) for node in machine.state for a, b in node.down]
    return sum(max(0, min(b, end) - max(a, begin)) for a, b in spans)


def idle_energy(machine: Machine) -> int:
    """Energy of nodes that serve no job, within the window."""
    end = window(machine)[1]
    return sum(drawn * max(0, min(until, end) - since) for since, until, drawn in machine.quiet)


def energy(machine: Machine) -> int:
    """Energy of the whole machine, within the window."""
    return idle_energy(machine) + sum(job.energy for job in machine.jobs)

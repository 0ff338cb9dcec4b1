"""A pass of the backfills that count slots, in plain Python: `none`, `first-fit` and reservations."""

from __future__ import annotations

from plain_machine import TICK, Job, Machine


def count_pass(machine: Machine) -> None:
    """One pass over the queue of a machine."""
    profile: dict[int, int] | None = None
    now, blocked, reserved = machine.now, 0, 0
    for job in machine.in_order():
        if machine.is_full(job):
            continue
        fitting = [node for node in range(machine.nodes) if machine.free(node) >= job.slots]
        fits = len(fitting) >= job.node_count
        # What takes no time delays no other job.
        if fits and (profile is None or job.planned == 0 or holds(profile, now, job)):
            machine.begin(job, fitting[: job.node_count], is_blocked=blocked > 0)
            if profile is not None:
                take(profile, now, job, job.planned)
            continue
        blocked += 1
        if machine.depth is None:
            return
        if reserved < machine.depth:
            profile = planned_free(machine) if profile is None else profile
            at = next((time for time in sorted(profile) if holds(profile, time, job)), None)
            if at is not None:
                take(profile, at, job, max(job.planned, TICK))
                reserved += 1


def planned_free(machine: Machine) -> dict[int, int]:
    """Slots that are free from each instant on, as far as plans know; what is overdue ends now."""
    now = machine.now
    gains = [(now, sum(machine.free(node) for node in range(machine.nodes)))]
    gains += [(max(now, job.ends_at(job.planned)), job.width) for job in machine.jobs if job.state == "running"]
    gains += [(max(node.windows), machine.slots) for node in machine.state if node.windows and not node.failed]
    return {at: sum(width for when, width in gains if when <= at) for at, _ in gains}


def level(profile: dict[int, int], at: int) -> int:
    """Slots that are free at an instant."""
    return profile[max(time for time in profile if time <= at)]


def holds(profile: dict[int, int], at: int, job: Job) -> bool:
    """There is room for a job from an instant on."""
    within = [at, *(time for time in profile if at < time < at + job.planned)]
    return all(level(profile, time) >= job.width for time in within)


def take(profile: dict[int, int], at: int, job: Job, length: int) -> None:
    """Takes a job's slots for so long."""
    for time in (at, at + length):
        profile[time] = level(profile, time)
    for time in profile:
        if at <= time < at + length:
            profile[time] -= job.width

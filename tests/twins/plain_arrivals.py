"""Arrivals of jobs in the queue: submits, cancellations and what a job waits for (rules 24 to 28 and 36)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plain_jobs import Job
    from plain_machine import Machine


def may_run(machine: Machine) -> bool:
    """True if some job was queued or may yet be: otherwise an instant has no pass."""
    return any(not is_nothing(machine, job) for job in machine.jobs)


def _takes(machine: Machine, job: Job) -> bool:
    return machine.queue_of(job).takes(job) and machine.can_run(job)


def is_nothing(machine: Machine, job: Job) -> bool:
    """It is turned away at its submit, or will be, and no other waits for it: nothing can change (rule 36)."""
    is_awaited = any(other.depends_on == job.row for other in machine.jobs)
    is_refused = job.eligible is None and job.state == "rejected"
    is_refused |= job.state == "unborn" and not _takes(machine, job)
    return is_refused and not is_awaited


def arrive(machine: Machine) -> bool:
    """Line 5: submits, cancellations, then all that are eligible or hopeless, until nothing changes."""
    changed = False
    for job in machine.jobs:
        if job.submit == machine.now and job.state == "unborn":
            is_taken = _takes(machine, job)
            job.state = "held" if is_taken else "rejected"
            job.ended_at = None if is_taken else machine.now
            changed = True
    while machine.todo and machine.todo[0][0] == machine.now:
        job = machine.jobs[machine.todo.pop(0)[2].about]
        # Rule 26: a job that runs, is suspended or over is not cancelled.
        if job.state in ("held", "queued"):
            job.state, job.ended_at, changed = "cancelled", machine.now, True
    again = True
    while again:
        again = False
        for job in [j for j in machine.jobs if j.state == "held"]:
            due = join_at(machine, job)
            if due == "hopeless":
                job.state, job.ended_at, again = "hopeless", machine.now, True
            elif isinstance(due, int) and due <= machine.now:
                job.state, job.eligible, job.joined_in, again = (
                    "queued",
                    machine.now,
                    (machine.now, machine.round),
                    True,
                )
                if not machine.can_run(job):
                    # What may be drawn has changed since it was submitted.
                    job.state, job.ended_at = "rejected", machine.now
                elif machine.vahrm is not None and machine.vahrm.waits_for_a_profile(job):
                    job.state = "untaught"
        if machine.vahrm is not None and not again:
            again = machine.vahrm.reject_hopeless()
        changed |= again
    return changed


def has_news(machine: Machine) -> bool:
    """True if some held job may join now, or never will."""
    each = [join_at(machine, job) for job in machine.jobs if job.state == "held"]
    return any(due == "hopeless" or (isinstance(due, int) and due <= machine.now) for due in each)


def join_at(machine: Machine, job: Job) -> int | str | None:
    """Time at which a job that was submitted may join the queue; None while that is open."""
    earliest = max(job.submit, job.start_at or job.submit)
    if job.depends_on is None:
        return earliest
    other = machine.jobs[job.depends_on]
    if other.ended_at is None:
        return None
    ok = other.state == "completed"
    if (job.how == "ok" and not ok) or (job.how == "not_ok" and ok):
        return "hopeless"
    return max(earliest, other.ended_at + job.think)

"""Progress of runs: when they end and are planned to, under which caps (rules 1 to 8 and 40 of power in time)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from plain_draws import later, stretched

if TYPE_CHECKING:
    from plain_jobs import Job, Pace
    from plain_machine import Machine


class Settled(NamedTuple):
    """A run as it was before an instant: several changes of its nodes in it count once."""

    at: int
    nodes: tuple[int, ...]
    ends: int
    due: int
    factor: float
    predicted: float
    paused: int
    turn: float
    anchor: tuple[int, int]

    @classmethod
    def of(cls, now: int, job: Job) -> Settled:
        run = job.run
        times = (run.ends, run.due, run.factor, run.predicted, run.paused, run.turn, run.anchor)
        return cls(now, tuple(job.nodes), *times)

    def restore(self, run: Pace) -> None:
        run.ends, run.due, run.factor, run.predicted = self.ends, self.due, self.factor, self.predicted
        run.paused, run.turn, run.anchor = self.paused, self.turn, self.anchor


def over(machine: Machine, job: Job) -> int:
    """Time at which a running job ends, or is killed."""
    run = job.run
    return run.ends if job.walltime is None or not machine.kill else min(run.ends, run.due)


def in_force(job: Job, number: int) -> float:
    """The cap of a node that serves it: rule 1 of the page on power in time."""
    run = job.run
    return min(job.own_cap, run.caps[number] if run.caps else inf, run.emergency)


def own_draw(job: Job) -> float | None:
    """Watts of its profile; None: it has none."""
    parts = job.parts
    return parts[job.run.part][0] if parts else None


def time_factor(machine: Machine, job: Job) -> float:
    """F of rule 4."""
    own_w = own_draw(job)
    slowest = max(machine.draws.actual_factor(job.app, node, in_force(job, node), own_w) for node in job.nodes)
    return slowest * job.size_ratio


def predicted_factor(machine: Machine, job: Job, cap: Callable[[int], float]) -> float:
    """Fp of rule 4, under these caps."""
    return max(machine.draws.predicted_factor(job.app, node, cap(node)) for node in job.nodes) * job.size_ratio


def tell_end(machine: Machine, job: Job) -> None:
    """Time of its end by what is in force now, and of its planned end: rules 4 to 8."""
    run, factor = job.run, time_factor(machine, job)
    predicted = predicted_factor(machine, job, lambda node: in_force(job, node))
    if run.is_new:
        assert job.start is not None
        ratio = None if machine.vahrm is None else machine.vahrm.profiling_ratio
        longer = ratio if ratio is not None and run.is_first else 1.0
        run.ends = job.start + stretched(job.runtime, factor * longer) + job.comm
        run.due = job.start + stretched(job.planned, predicted / predicted_factor(machine, job, lambda _: job.own_cap))
        run.anchor = (job.start, 0)
        run.turn = end_of_part(job, factor)
        run.paused = job.start
    else:
        pause = _back_to_what_was_settled(machine, job)
        quotient, now = factor / run.factor, machine.now
        if run.turn < inf and (factor != run.factor or pause):
            run.turn = later(int(run.turn), now, quotient) + pause
            run.anchor = (int(run.turn), job.parts[run.part][1])
        run.ends = later(run.ends, now, quotient) + pause
        run.due = later(run.due, now, predicted / run.predicted) + pause
        if pause or run.paused > now:
            run.paused = max(later(run.paused, now, quotient), now) + pause
    run.factor, run.predicted = factor, predicted


def _back_to_what_was_settled(machine: Machine, job: Job) -> int:
    """Undoes what this instant has done to it so far, where its nodes have changed in it; the pause that they cost."""
    settled = job.run.settled
    if settled is None or settled.at != machine.now or job.sizes is None:
        return 0
    settled.restore(job.run)
    return job.sizes.pause if list(settled.nodes) != job.nodes else 0


def end_of_part(job: Job, factor: float) -> float:
    """End of the part of its profile that it is in; infinity: it is in its last. Rules 40 and 41."""
    (anchor, over), part = job.run.anchor, job.run.part
    if part + 1 >= len(job.parts):
        return inf
    return anchor + stretched((job.parts[part][1] - over) * job.interval, factor)


def whole_draw(machine: Machine, job: Job, number: int) -> int:
    """Actual draw of a node that serves this job alone, with all its slots."""
    return machine.draws.actual_draw(job.app, number, in_force(job, number), own_draw(job))


def shares(machine: Machine, number: int) -> dict[int, int]:
    """Picowatts of a node that each running job on it pays, by row: rule 44.

    Its slots' part of what the whole node would draw for it, and as large a part of what the free slots draw idle as
    it has of the slots in use. Each part is rounded down.
    """
    there = [job for job in machine.running if number in job.nodes]
    used = sum(job.slots for job in there)
    unused = machine.draws.idle(number) * (machine.slots - used) // machine.slots
    return {
        job.row: whole_draw(machine, job, number) * job.slots // machine.slots + unused * job.slots // used
        for job in there
    }


def job_draw(machine: Machine, job: Job) -> int:
    """All its nodes together, actual; a suspended job draws nothing."""
    return sum(shares(machine, number)[job.row] for number in job.nodes) if job.state == "running" else 0


def go_on(machine: Machine, job: Job) -> None:
    """Counts what is left of a suspended job from now on."""
    if job.since is None:
        return
    still, run = machine.now - job.since, job.run
    run.ends, run.due, job.suspended, job.since = run.ends + still, run.due + still, job.suspended + still, None
    run.paused += still if run.paused > machine.now - still else 0
    if run.turn < inf:
        run.turn += still
        run.anchor = (int(run.turn), job.parts[run.part][1])

"""The wake plan in plain Python, where nodes are counted: rule 20 of the page on rules.

It binds nothing: every queued job has its place in it, at the earliest instant at which its nodes of each cell, and its
licences, are free for its planned length. What is lacking or left over is counted in each cell by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from plain_counted import CountedPass, back, is_away
from plain_jobs import TICK
from plain_nodes import Place


@dataclass
class Wakes:
    """The wake plan of a set of nodes."""

    of: CountedPass
    levels: dict[Place, dict[int, int]]
    """By cell, at all instants at which it changes: nodes that are free without waking any, less those that jobs are to
    have."""
    left: dict[Place, int]
    """By cell, nodes that neither run a job nor are held for one, on or off, when all are back."""

    def cell(self, number: int) -> Place:
        return self.of.cell(number)

    def members(self, cell: Place) -> list[int]:
        return [number for number in self.of.pool if self.cell(number) == cell]

    def soon(self, cell: Place) -> int:
        """Time by which nodes of a cell could be back: that of the slowest that is off or shutting down."""
        machine = self.of.machine
        down = [number for number in self.members(cell) if machine.state[number].power in ("off", "stopping")]
        return machine.now + max((machine.wakes_in(number) for number in down), default=TICK)

    def least(self, number: int, far: float) -> int:
        """The fewest of its cell as far as it matters to a node that would sleep."""
        machine = self.of.machine
        assert machine.sleep is not None
        by, before = machine.now + machine.sleep.stop + machine.wakes_in(number), machine.now + far
        return min(value for at, value in self.levels[self.cell(number)].items() if at <= by or at < before)


def wake_plan(of: CountedPass) -> Wakes:
    """Plans all jobs that wait, once a pass has made its starts."""
    machine, plan = of.machine, of.plan
    assert machine.sleep is not None
    soon = max([machine.now, *(back(machine, number) for number in of.pool if is_away(machine, number))])
    earliest, reserved = dict[int, int](), dict[int, int]()
    closed = set[int]()
    for job in of.late_first():
        # One that was blocked at its turn, before a limit was reached, is in the plans of this pass; under patience all
        # have another turn, and it is held by then.
        lane, was_blocked = of.lane(job), machine.patience is None and job.row in machine.blocked
        if lane in closed or (machine.is_full(job) and not was_blocked):
            continue
        length = max(job.planned, TICK)
        fits = (at for at in plan.times if at >= earliest.get(lane, 0) and of.split(job, plan.least(at, length)))
        at = next(fits, None)
        if machine.sleep.as_backfilled and machine.depth is not None and (at is None or at > soon):
            # Only the first jobs that do not fit hold nodes.
            if reserved.get(lane, 0) >= machine.depth:
                continue
            reserved[lane] = reserved.get(lane, 0) + 1
        if at is None:
            closed |= {lane} if machine.depth is None else set()
            continue
        if machine.depth is None:
            earliest[lane] = at
        split = of.split(job, plan.least(at, length))
        assert split is not None
        plan.take(at, length, {**split, **job.licences})
    levels, left = dict[Place, dict[int, int]](), dict[Place, int]()
    for cell in {of.cell(number) for number in of.pool}:
        asleep = [
            back(machine, number)
            for number in of.pool
            if of.cell(number) == cell and machine.state[number].power in ("off", "stopping")
        ]
        free = {at: free[cell] for at, free in zip(plan.times, plan.free, strict=True)}
        levels[cell] = {at: count - sum(when <= at for when in asleep) for at, count in free.items()}
        left[cell] = max(0, free[max(at for at in free if at <= soon)])
    return Wakes(of, levels, left)

"""A pass of the backfills that count slots, in plain Python: `none`, `first-fit` and reservations."""

from __future__ import annotations

from plain_machine import TICK, Job, Machine

Change = tuple[int, int]
"""From when on how many more slots are free."""


def count_pass(machine: Machine) -> None:
    """One pass over the queues of a machine: each set of nodes that queues have is one by itself (rule 6)."""
    machine.blocked = set()
    for pool in pools(machine):
        _pool_pass(machine, pool)


def pools(machine: Machine) -> list[tuple[int, ...]]:
    """Sets of nodes that queues of jobs have."""
    return sorted({tuple(machine.queue_of(job).nodes) for job in machine.jobs})


def waiting(machine: Machine, pool: tuple[int, ...]) -> list[Job]:
    """Queued jobs of a pool in policy order."""
    return [job for job in machine.in_order() if tuple(machine.queue_of(job).nodes) == pool]


def _pool_pass(machine: Machine, pool: tuple[int, ...]) -> None:
    plan: list[Change] | None = None
    now, blocked, reserved = machine.now, 0, 0
    for job in waiting(machine, pool):
        if machine.is_full(job):
            continue
        fitting = [node for node in pool if machine.free(node) >= job.slots]
        fits = len(fitting) >= job.node_count
        # What takes no time delays no other job.
        if fits and (plan is None or job.planned == 0 or least(plan, now, now + job.planned) >= job.width):
            machine.begin(job, fitting[: job.node_count], is_blocked=blocked > 0)
            if plan is not None:
                plan += held(now, job.width, job.planned)
            continue
        blocked += 1
        machine.blocked.add(job.row)
        if machine.depth is None:
            return
        if reserved < machine.depth:
            plan = planned_free(machine, pool) if plan is None else plan
            at = fit(plan, now, job)
            if at is not None:
                plan += held(at, job.width, max(job.planned, TICK))
                reserved += 1


def planned_free(machine: Machine, pool: tuple[int, ...]) -> list[Change]:
    """Slots that are free from each instant on, as far as plans know; what is overdue ends now."""
    now, nodes = machine.now, [machine.state[node] for node in pool]
    running = [job for job in machine.jobs if job.state == "running" and job.nodes[0] in pool]
    changes = [(now, sum(machine.free(node) for node in pool))]
    changes += [(max(now, job.ends_at(job.planned)), job.width) for job in running]
    changes += [(max(node.windows), machine.slots) for node in nodes if node.windows and not node.failed]
    return changes + [(back(machine, number), machine.slots) for number in pool if is_away(machine, number)]


def is_away(machine: Machine, number: int) -> bool:
    """It sleeps, or is on its way there or back."""
    return machine.state[number].power != "on"


def wakes_at_once(machine: Machine) -> bool:
    """Rule 9: a node that boots in no time counts as on where nodes are named, and no job makes way for others."""
    sleep = machine.sleep
    makes_way = any(queue.preempts for queue in machine.queues)
    return sleep is not None and sleep.boot == 0 and sleep.start <= TICK and not makes_way


def back(machine: Machine, number: int, late: int = 0) -> int:
    """Rule 8: from when on a node that sleeps can serve; a boot that is late ends so long from now."""
    node, now, sleep = machine.state[number], machine.now, machine.sleep
    assert sleep is not None
    if node.power == "booting":
        return max(now + late, node.since + sleep.wakes_in)
    begun = now if node.power == "off" else max(now, node.since + sleep.stop)
    return begun + sleep.wakes_in


def held(start: int, width: int, length: int) -> list[Change]:
    """Changes of what is free by a job that holds slots for so long."""
    return [(start, -width), (start + length, width)]


def level(changes: list[Change], at: int) -> int:
    """How many are free at an instant."""
    return sum(by for when, by in changes if when <= at)


def least(changes: list[Change], start: int, end: int) -> int:
    """The fewest from one instant to before another."""
    return min(level(changes, at) for at in {start, *(when for when, _ in changes if start < when < end)})


def fit(changes: list[Change], earliest: int, job: Job) -> int | None:
    """The earliest instant from which a job's slots are free for its planned length."""
    instants = sorted({earliest, *(when for when, _ in changes if when > earliest)})
    return next((at for at in instants if least(changes, at, at + job.planned) >= job.width), None)

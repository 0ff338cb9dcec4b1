"""Events that come to nodes from outside: failures, repairs and maintenances (rules 29 to 31)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plain_nodes import Happening

if TYPE_CHECKING:
    from plain_jobs import Job
    from plain_machine import Machine


def timed(machine: Machine) -> list[tuple[int, int, Happening]]:
    """Everything from outside with its line in an instant; what was before the first submit comes first in it."""
    todo = []
    for place, one in enumerate(machine.world):
        early = one.time < machine.first
        if one.kind == "maintenance":
            if one in machine.calendar:
                todo.append((max(one.time, machine.first), 0 if early else 3, one))
                todo.append((one.until, 2, Happening(one.until, "back", one.about, one.until)))
        elif one.kind == "cancel":
            todo.append((max(one.time, machine.jobs[one.about].submit), 6, one))
        elif not early or not any(
            later.about == one.about and later.kind in ("failed", "repaired") and later.time < machine.first
            for later in machine.world[place + 1 :]
        ):  # otherwise it is not the last word on the node
            rank = 0 if early else 2 if one.kind == "repaired" else 3
            todo.append((max(one.time, machine.first), rank, one))
    todo.extend(
        (max(job.cancel, job.submit), 6, Happening(job.cancel, "cancel", job.row))
        for job in machine.jobs
        if job.cancel is not None
    )
    return sorted(todo, key=lambda entry: entry[:2])


def outages(machine: Machine) -> bool:
    """Lines 2 and 3."""
    happened = False
    while machine.todo and machine.todo[0][0] == machine.now and machine.todo[0][1] < 6:
        happened |= _happen(machine, machine.todo.pop(0)[2])
    return happened


def _happen(machine: Machine, one: Happening) -> bool:
    node = machine.state[one.about]
    was_down = node.is_down
    if one.kind in ("failed", "repaired"):
        if node.failed == (one.kind == "failed"):
            return False
        node.failed = not node.failed
    elif one.kind == "maintenance":
        node.windows.append(one.until)
    else:
        node.windows.remove(one.until)
    if node.is_down and not was_down:
        node.down.append((machine.now, None))
        for job in [j for j in machine.jobs if j.is_there and one.about in j.nodes]:
            _lose(machine, job)
    if was_down and not node.is_down:
        node.down[-1] = (node.down[-1][0], machine.now)
    if was_down != node.is_down:
        node.power, node.since = "on", machine.now
    return True


def _lose(machine: Machine, job: Job) -> None:
    """Rule 30."""
    if machine.requeue:
        machine.told.append((machine.now, "requeue", job.row))
    machine.leave(job, "queued" if machine.requeue else "failed", is_lost=True)

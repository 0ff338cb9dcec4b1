"""The end of a pass where nodes sleep, in plain Python: rules 9, 16, 18, 20 and 21 of the page on rules."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from plain_counted import Change, back, count_pass, fit, held, is_away, level, planned_free, pools, waiting
from plain_jobs import TICK
from plain_machine import Machine

DAY = 86_400_000_000


def counted_pass_and_rest(machine: Machine) -> None:
    """One pass over the queues of a machine, and what becomes of idle nodes and of those that sleep."""
    count_pass(machine)
    _rest(machine)


def named_rest(machine: Machine, first: dict[int, tuple[int, int]]) -> None:
    """The same where nodes are named: `first` are their first planned starts and for which jobs."""
    sleep, due = machine.sleep, list[int]()
    assert sleep is not None
    serving = {number for job in machine.jobs if job.state == "running" for number in job.nodes}
    waiting_rows = {job.row for job in machine.jobs if job.state == "queued" and not machine.is_full(job)}
    for number, node in enumerate(machine.state):
        if number in serving or node.kept not in waiting_rows:
            node.kept = None
        if node.power != "off" or number not in first:
            continue
        at, row = first[number]
        # What is late ends a tick from now, at every pass again: a wake-up by then is not put off.
        if at - sleep.wakes_in > machine.now + TICK:
            due.append(at - sleep.wakes_in)
        elif not any(one.about == number and machine.now < one.time <= at for one in machine.known()):
            machine.turn(number, "booting", "wake")
            node.kept = row

    def is_spare(number: int, gone: list[int]) -> bool:
        away = first.get(number, (inf, 0))[0] - machine.now
        is_far = away >= machine.far(number) and away > sleep.stop + sleep.wakes_in
        return is_far and machine.state[number].kept is None

    put_to_sleep(machine, due, is_spare)


def _rest(machine: Machine) -> None:
    """What each pool needs, then all nodes from the highest number down."""
    spare = {pool: _spare(machine, pool) for pool in pools(machine)}
    due = [at for pool, own in spare.items() if (at := _wake(machine, pool, own)) is not None]

    def is_spare(number: int, gone: list[int]) -> bool:
        pool = next((pool for pool in spare if number in pool), ())
        return not pool or sum(other in pool for other in gone) < _least(machine, spare[pool], machine.far(number))

    put_to_sleep(machine, due, is_spare)


def _wake(machine: Machine, pool: tuple[int, ...], spare: dict[int, int]) -> int | None:
    """Wakes as many nodes as are lacking soon; when to look again."""
    assert machine.sleep is not None
    soon = machine.now + machine.sleep.wakes_in
    lack = max(0, -min(value for at, value in spare.items() if at <= soon))
    for number in [number for number in pool if machine.state[number].power == "off"][:lack]:
        machine.turn(number, "booting", "wake")
    later = [at for at, value in spare.items() if at > soon and -value > lack]
    return min(later) - machine.sleep.wakes_in if later else None


def _spare(machine: Machine, pool: tuple[int, ...]) -> dict[int, int]:
    """a(t) - h(t) of a pool by its wake plan, at all instants at which it changes (rule 20)."""
    assert machine.sleep is not None
    changes, over = planned_free(machine, pool), list[Change]()
    earliest, reserved = machine.now, 0
    soon = max([machine.now, *(back(machine, number) for number in pool if is_away(machine, number))])
    for job in waiting(machine, pool):
        # One that was blocked at its turn, before a limit was reached, is in the plans of this pass.
        if machine.is_full(job) and job.row not in machine.blocked:
            continue
        at = fit(changes, earliest, job)
        if machine.sleep.as_backfilled and machine.depth is not None and (at is None or at > soon):
            # Only the first jobs that do not fit hold nodes.
            if reserved >= machine.depth:
                continue
            reserved += 1
        if at is None:
            if machine.depth is None:
                break
            continue
        if machine.depth is None:
            earliest = at
        over += held(at, job.width, max(job.planned, TICK))
        changes += over[-2:]
    asleep = [number for number in pool if machine.state[number].power in ("off", "stopping")]
    awake = [*planned_free(machine, pool), *((back(machine, number), -1) for number in asleep), *over]
    return {at: level(awake, at) for at, _ in awake}


def _least(machine: Machine, spare: dict[int, int], far: float) -> int:
    assert machine.sleep is not None
    by, before = machine.now + machine.sleep.stop + machine.sleep.wakes_in, machine.now + far
    return min(value for at, value in spare.items() if at <= by or at < before)


def put_to_sleep(machine: Machine, due: list[int], is_spare: Callable[[int, list[int]], bool]) -> None:
    """Rules 16 and 21: idle nodes from the highest number down; `due` are instants at which to look again."""
    now, sleep, gone = machine.now, machine.sleep, list[int]()
    assert sleep is not None
    for number in reversed(range(machine.nodes)):
        node = machine.state[number]
        holds_suspended = any(job.state == "suspended" and number in job.nodes for job in machine.jobs)
        if machine.free(number) < machine.slots or holds_suspended or number in sleep.exclude:
            continue
        if now - node.since < sleep.min_idle:
            due.append(node.since + sleep.min_idle)
            continue
        today = sum(at // DAY == now // DAY for at in node.shutdowns)
        on = sum(other.power in ("on", "booting") and not other.is_down for other in machine.state)
        is_allowed = machine.far(number) < inf and today < sleep.limit and on - 1 >= sleep.min_on
        if is_allowed and is_spare(number, gone):
            machine.turn(number, "stopping", "sleep")
            node.shutdowns.append(now)
            gone.append(number)
    machine.alarm = min(due, default=None)

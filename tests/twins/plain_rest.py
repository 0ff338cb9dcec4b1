"""The end of a pass where nodes sleep, in plain Python: rules 9, 16, 18, 20 and 21 of the page on rules."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from plain_counted import back, count_pass, is_away, passes
from plain_jobs import TICK
from plain_machine import Machine
from plain_newsvendor import Idle, Reserve
from plain_nodes import Place
from plain_wakes import Wakes, wake_plan

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

    if sleep.reserve is not None:
        _named_reserve(machine, first, due)
        return

    def is_spare(number: int, gone: list[int]) -> bool:
        away = first.get(number, (inf, 0))[0] - machine.now
        is_far = away >= machine.far(number) and away > sleep.stop + sleep.wakes_in
        return is_far and machine.state[number].kept is None

    put_to_sleep(machine, due, is_spare)


def _rest(machine: Machine) -> None:
    """Need of each set of nodes, then all nodes from the highest number down."""
    plans = [wake_plan(one) for one in passes(machine)]
    due = [at for plan in plans for cell in plan.levels if (at := _wake(machine, plan, cell)) is not None]
    assert machine.sleep is not None
    if machine.sleep.reserve is not None:
        for plan in plans:
            _counted_reserve(machine, plan, due)
        return

    def is_spare(number: int, gone: list[int]) -> bool:
        plan = next((plan for plan in plans if number in plan.of.pool), None)
        if plan is None:
            return True
        own = sum(other in plan.members(plan.cell(number)) for other in gone)
        return own < plan.least(number, machine.far(number))

    put_to_sleep(machine, due, is_spare)


def _wake(machine: Machine, plan: Wakes, cell: Place) -> int | None:
    """Wakes as many nodes of a cell as are lacking soon; when to look again."""
    soon, levels = plan.soon(cell), plan.levels[cell]
    lack = max(0, -min(value for at, value in levels.items() if at <= soon))
    for number in [number for number in plan.members(cell) if machine.state[number].power == "off"][:lack]:
        machine.turn(number, "booting", "wake")
    later = [at for at, value in levels.items() if at > soon and -value > lack]
    return min(later) - (soon - machine.now) if later else None


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


# A reserve: the part `newsvendor`.


def _counted_reserve(machine: Machine, plan: Wakes, due: list[int]) -> None:
    """Spare nodes where nodes are counted: those on that no job needs within the time to wake one of their cell."""
    spare, idle = 0, list[Idle]()
    for cell, levels in plan.levels.items():
        # Those that idle may be off now, as they were woken before: the slowest of all that sleep.
        away = [number for number in plan.members(cell) if is_away(machine, number)]
        soon = machine.now + max(machine.wakes_in(number) for number in [plan.members(cell)[0], *away])
        numbers = idle_nodes(machine, tuple(plan.members(cell)))
        # Nodes of runs that are past their planned end count as free, but are not there.
        least = min(value for at, value in levels.items() if at <= soon)
        spare += max(0, min(least, len(numbers) + len(away)))
        for above, number in enumerate(numbers):
            lacking = min((at for at, value in levels.items() if value <= above), default=inf)
            idle.append(as_seen(machine, number, lacking))
    idle.sort(key=lambda one: -one.number)
    _keep_reserve(machine, plan.of.pool, (spare, sum(plan.left.values())), idle, due)


def _named_reserve(machine: Machine, first: dict[int, tuple[int, int]], due: list[int]) -> None:
    """Spare nodes where each is named by its first planned start; one that is kept for a job is planned for now."""
    assert machine.sleep is not None
    now, every = machine.now, tuple(range(machine.nodes))
    starts = {number: first[number][0] if number in first else inf for number in every}
    numbers = idle_nodes(machine, every)
    booting = [number for number in every if machine.state[number].power == "booting"]
    away = [number for number in every if is_away(machine, number)]
    spare = sum(starts[number] > now + machine.sleep.wakes_in for number in [*numbers, *booting])
    free = sum(starts[number] > now for number in numbers)
    free += sum(starts[number] > _expected(machine, number) for number in away)
    kept = {number for number in numbers if machine.state[number].kept is not None}
    idle = [as_seen(machine, number, now if number in kept else starts[number]) for number in numbers]
    _keep_reserve(machine, every, (spare, free), idle, due)


def _expected(machine: Machine, number: int) -> int:
    """Time at which it could serve; past, if it boots for longer than was planned."""
    node = machine.state[number]
    assert machine.sleep is not None
    return node.since + machine.sleep.wakes_in if node.power == "booting" else back(machine, number)


def idle_nodes(machine: Machine, pool: tuple[int, ...]) -> list[int]:
    """The highest first."""
    suspended = {number for job in machine.jobs if job.state == "suspended" for number in job.nodes}
    return [number for number in reversed(pool) if machine.free(number) == machine.slots and number not in suspended]


def as_seen(machine: Machine, number: int, next_start: float) -> Idle:
    node, sleep, now = machine.state[number], machine.sleep, machine.now
    assert sleep is not None
    today, far = sum(at // DAY == now // DAY for at in node.shutdowns), machine.far(number)
    is_allowed = number not in sleep.exclude and node.kept is None and today < sleep.limit and far < inf
    return Idle(number, node.since, next_start, far, is_allowed and now - node.since >= sleep.min_idle)


def _keep_reserve(
    machine: Machine, pool: tuple[int, ...], counts: tuple[int, int], idle: list[Idle], due: list[int]
) -> None:
    sleep, now = machine.sleep, machine.now
    assert sleep is not None
    off = [number for number in pool if machine.state[number].power == "off"]
    choice = reserve_of(machine, pool).choose(now, counts, idle, off)
    for number in choice.wake:
        machine.turn(number, "booting", "wake")
    on = sum(other.power in ("on", "booting") and not other.is_down for other in machine.state)
    for number in choice.sleep[: max(0, on - sleep.min_on)]:
        machine.turn(number, "stopping", "sleep")
        machine.state[number].shutdowns.append(now)
    ripe = [one.since + sleep.min_idle for one in idle if one.number not in sleep.exclude]
    due += [at for at in [*ripe, choice.again] if now < at < inf]
    machine.alarm = min(due, default=None)


def reserve_of(machine: Machine, pool: tuple[int, ...]) -> Reserve:
    """The reserve of a pool, which remembers."""
    sleep = machine.sleep
    assert sleep is not None
    assert sleep.reserve is not None
    return machine.reserves.setdefault(pool, Reserve(sleep.reserve, sleep.stop + sleep.wakes_in))

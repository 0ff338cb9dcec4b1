"""The end of a pass where nodes sleep, in plain Python: rules 9, 16, 18, 20 and 21 of the page on rules."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from plain_counted import Change, back, count_pass, fit, held, is_away, level, planned_free, pools, waiting
from plain_jobs import TICK
from plain_machine import Machine
from plain_newsvendor import Idle, Reserve

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
    """Need of each pool, then all nodes from the highest number down."""
    planned = {pool: _spare(machine, pool) for pool in pools(machine)}
    spare = {pool: own for pool, (own, _) in planned.items()}
    due = [at for pool, own in spare.items() if (at := _wake(machine, pool, own)) is not None]
    assert machine.sleep is not None
    if machine.sleep.reserve is not None:
        for pool, (own, free) in planned.items():
            _counted_reserve(machine, pool, own, free, due)
        return

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


def _spare(machine: Machine, pool: tuple[int, ...]) -> tuple[dict[int, int], int]:
    """a(t) - h(t) of a pool by its wake plan, at all instants at which it changes (rule 20), and how many are left.

    Left are those, on or off, that neither run a job nor are held for one when all nodes are back.
    """
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
    return {at: level(awake, at) for at, _ in awake}, max(0, level(changes, soon))


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


# A reserve: the part `newsvendor`.


def _counted_reserve(
    machine: Machine, pool: tuple[int, ...], levels: dict[int, int], free: int, due: list[int]
) -> None:
    """Spare nodes where nodes are counted: those on that no job is to have within the time to wake one."""
    assert machine.sleep is not None
    soon = machine.now + machine.sleep.wakes_in
    spare = max(0, min(value for at, value in levels.items() if at <= soon))
    numbers = idle_nodes(machine, pool)
    lacking = [
        min((at for at, value in levels.items() if value <= above), default=inf) for above in range(len(numbers))
    ]
    idle = [as_seen(machine, number, at) for number, at in zip(numbers, lacking, strict=True)]
    _keep_reserve(machine, pool, (spare, free), idle, due)


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

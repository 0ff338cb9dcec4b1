"""Pools whose nodes are switched off and on again, in plain Python: rules 2 to 6, 14 to 22, 29 and 30 of the operations
page on machines.

Whole nodes that are counted, in any number of pools, and nodes in no queue; they fail, or go into maintenance, and come
back. Jobs are killed at their walltimes. It knows the rules and no engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from plain_scheduler import ORDERS, Job
from plain_sleep import DAY, Numbers, fit, least, level

TICK = 1
ON = ("on", "booting")
ASLEEP = ("off", "stopping")


@dataclass
class Queue:
    """A queue of a pool, in microseconds."""

    name: str
    nodes: tuple[int, ...]
    priority: int
    order: str | None
    max_running: float
    max_running_per_user: float
    max_walltime: int | None
    default_walltime: int | None


@dataclass
class Asked:
    """A job, its queue and its user."""

    job: Job
    queue: Queue
    user: str | None

    def settled(self) -> Job:
        """With the walltime that its queue gives to jobs without one."""
        default = self.queue.default_walltime
        own = self.queue.max_walltime if default is None else default
        return self.job if self.job.walltime is not None else self.job._replace(walltime=own)

    @property
    def is_rejected(self) -> bool:
        """Rule 2."""
        longest, walltime = self.queue.max_walltime, self.settled().walltime
        return self.job.node_count > len(self.queue.nodes) or (
            longest is not None and walltime is not None and walltime > longest
        )

    def place(self, order: str) -> tuple[int, int]:
        """Rule 4, but for the ties."""
        return -self.queue.priority, ORDERS[self.queue.order or order](self.settled())

    def groups(self) -> list[tuple[str, float]]:
        """Rule 3."""
        own = (f"{self.queue.name} of {self.user}", inf if self.user is None else self.queue.max_running_per_user)
        return [(self.queue.name, self.queue.max_running), own]


@dataclass
class Node:
    """What a node is doing since when: on, off, booting, stopping or down, then perhaps until a known instant."""

    number: int
    since: int
    state: str = "on"
    until: int | None = None
    shutdowns: list[int] = field(default_factory=list)


@dataclass
class Outage:
    """A node is down over a time; where that is maintenance plans know its end."""

    node: int
    start: int
    end: int
    is_known: bool
    has_begun: bool = False
    is_over: bool = False


@dataclass
class Run:
    """A job and what becomes of it."""

    row: int
    asked: Asked
    state: str = "unborn"
    start: int | None = None
    end: int | None = None
    nodes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        job = self.asked.settled()
        self.submit, self.need = job.submit, job.node_count
        self.length = job.runtime if job.walltime is None else job.walltime
        self.planned = max(self.length, TICK)
        self.lasts = job.runtime if job.walltime is None else min(job.runtime, job.walltime)
        self.is_killed = job.walltime is not None and job.runtime > job.walltime


@dataclass
class SleepyPools:
    """A machine of pools."""

    nodes: int
    boot: int
    shutdown: int
    numbers: Numbers
    backfill: str
    depth: float
    order: str
    requeues: bool
    outages: list[Outage] = field(default_factory=list)
    events: list[tuple[int, str, int]] = field(default_factory=list)
    watts: dict[str, int] = field(default_factory=dict)

    def run(self, asked: list[Asked]) -> list[Run]:
        """Lets every job start and end."""
        self.runs = [Run(row, one) for row, one in enumerate(asked)]
        self.pools = sorted({one.queue.nodes for one in asked})
        begin = min(run.submit for run in self.runs)
        self.machine = [Node(number, begin) for number in range(self.nodes)]
        self.alarm: int | None = None
        self.energy, self.clock = 0, begin
        while any(run.end is None for run in self.runs):
            now = min(self._to_come())
            self._draw_until(now)
            has_pass = self._happens(now)
            if self.alarm == now:
                has_pass, self.alarm = True, None
            while has_pass:
                self._pass(now)
                has_pass = self._happens(now)
        return self.runs

    def _to_come(self) -> list[int]:
        submits = [run.submit for run in self.runs if run.state == "unborn"]
        ends = [run.start + run.lasts for run in self.runs if run.state == "runs"]
        turns = [node.since + self._takes(node) for node in self.machine if node.state in ("booting", "stopping")]
        outages = [one.end if one.has_begun else one.start for one in self.outages if not one.is_over]
        return [*submits, *ends, *turns, *outages, *([] if self.alarm is None else [self.alarm])]

    def _takes(self, node: Node) -> int:
        return self.boot if node.state == "booting" else self.shutdown

    def _draw_until(self, now: int) -> None:
        """Rule 22."""
        busy = {number for run in self.runs if run.state == "runs" for number in run.nodes}
        states = ["busy" if node.number in busy else node.state for node in self.machine]
        self.energy += sum(self.watts[state] for state in states) * (now - self.clock)
        self.clock = now

    def _happens(self, now: int) -> bool:
        """All that happens at an instant in its order; whether anything did."""
        happened = 0
        for run in self.runs:
            if run.state == "runs" and run.start + run.lasts == now:
                self._leave(run, now, "timeout" if run.is_killed else "completed")
                happened += 1
        for node in self.machine:
            if node.state in ("booting", "stopping") and node.since + self._takes(node) == now:
                self._turn(node, now, *(("on", "ready") if node.state == "booting" else ("off", "off")))
                happened += 1
        for one in self.outages:
            if one.has_begun and not one.is_over and one.end == now:
                one.is_over = True
                self._turn(self.machine[one.node], now, "on", "back" if one.is_known else "repaired")
                happened += 1
        for one in self.outages:
            if not one.has_begun and one.start == now:
                self._go_down(one, now)
                happened += 1
        for run in self.runs:
            if run.state == "unborn" and run.submit == now:
                run.state = "waits"
                happened += 1
        return happened > 0

    def _go_down(self, one: Outage, now: int) -> None:
        """Rules 29 and 30."""
        one.has_begun = True
        for run in self.runs:
            if run.state == "runs" and one.node in run.nodes:
                self._leave(run, now, "failed")
                if self.requeues:
                    run.state, run.start, run.end, run.nodes = "waits", None, None, []
        node = self.machine[one.node]
        self._turn(node, now, "down", "out" if one.is_known else "failed")
        node.until = one.end if one.is_known else None

    def _leave(self, run: Run, now: int, how: str) -> None:
        run.state, run.end = how, now
        for number in run.nodes:
            self.machine[number].since = now

    def _turn(self, node: Node, now: int, state: str, kind: str) -> None:
        node.state, node.since = state, now
        self.events.append((now, kind, node.number))

    def _idle(self, pool: tuple[int, ...]) -> list[Node]:
        busy = {number for run in self.runs if run.state == "runs" for number in run.nodes}
        return [self.machine[number] for number in pool if self.machine[number].state == "on" and number not in busy]

    def _waiting(self, pool: tuple[int, ...]) -> list[Run]:
        waiting = [run for run in self.runs if run.state == "waits" and run.asked.queue.nodes == pool]
        return sorted(waiting, key=lambda run: (run.asked.place(self.order), run.submit, run.row))

    def _is_held(self, run: Run) -> bool:
        """Rule 3."""
        active = [group for other in self.runs if other.state == "runs" for group, _ in other.asked.groups()]
        return any(active.count(group) >= limit for group, limit in run.asked.groups())

    def _back(self, node: Node, now: int) -> int:
        """Rule 8: until when a node cannot serve that comes back."""
        start = max(TICK, self.numbers.start)
        if node.state == "off":
            return now + start
        if node.state == "stopping":
            return max(now, node.since + self.numbers.stop) + start
        if node.state == "booting":
            return max(now, node.since + start)
        assert node.until is not None
        return node.until

    def _count(self, pool: tuple[int, ...], now: int) -> list[tuple[int, int]]:
        """Changes of how many nodes of a pool are free; one that has failed never is."""
        own = [run for run in self.runs if run.state == "runs" and run.asked.queue.nodes == pool]
        ends = [(max(now, run.start + run.length), run.need) for run in own]
        away = [self.machine[number] for number in pool if self.machine[number].state != "on"]
        backs = [(self._back(node, now), 1) for node in away if node.state != "down" or node.until is not None]
        return [(now, len(self._idle(pool))), *ends, *backs]

    def _pass(self, now: int) -> None:
        self.blocked: set[int] = set()
        for pool in self.pools:
            self._start(pool, now)
        self._rest(now)

    def _start(self, pool: tuple[int, ...], now: int) -> None:
        changes = self._count(pool, now)
        held = 0
        for run in self._waiting(pool):
            if self._is_held(run):
                continue
            idle = self._idle(pool)
            if len(idle) >= run.need and (run.length == 0 or least(changes, now, now + run.length) >= run.need):
                run.state, run.start, run.nodes = "runs", now, [node.number for node in idle[: run.need]]
                changes += [(now, -run.need), (now + run.length, run.need)] if run.length > 0 else []
                continue
            self.blocked.add(run.row)
            if self.backfill == "none":
                break
            if self.backfill == "reservations" and held < self.depth:
                at = fit(changes, now, run.need, run.planned)
                if at is not None:
                    held += 1
                    changes += [(at, -run.need), (at + run.planned, run.need)]

    def _spare(self, pool: tuple[int, ...], now: int) -> dict[int, int]:
        """a(t) - h(t) of a pool by its wake plan, at all instants at which it changes (rule 20)."""
        changes = self._count(pool, now)
        over: list[tuple[int, int]] = []
        earliest = now
        for run in self._waiting(pool):
            # One that was blocked at its turn, before a limit was reached, is in the plans of this pass.
            if self._is_held(run) and run.row not in self.blocked:
                continue
            at = fit(changes, earliest, run.need, run.planned)
            if at is None:
                if self.backfill == "none":
                    break
                continue
            if self.backfill == "none":
                earliest = at
            over += [(at, -run.need), (at + run.planned, run.need)]
            changes += over[-2:]
        asleep = [self.machine[number] for number in pool if self.machine[number].state in ASLEEP]
        awake = [*self._count(pool, now), *((self._back(node, now), -1) for node in asleep), *over]
        return {at: level(awake, at) for at, _ in awake}

    def _rest(self, now: int) -> None:
        """Rules 16, 20 and 21: what each pool needs, then all nodes from the highest number down."""
        numbers, start = self.numbers, max(TICK, self.numbers.start)
        spare = {pool: self._spare(pool, now) for pool in self.pools}
        due: list[int] = []
        for pool, own in spare.items():
            lack = max(0, -min(value for at, value in own.items() if at <= now + start))
            later = [at for at, value in own.items() if at > now + start and -value > lack]
            due += [min(later) - start] if later else []
            off = [self.machine[number] for number in pool if self.machine[number].state == "off"]
            for node in off[:lack]:
                self._turn(node, now, "booting", "wake")
        gone = dict.fromkeys(self.pools, 0)
        for node in reversed(self._idle(tuple(range(self.nodes)))):
            if node.number in numbers.exclude:
                continue
            if now - node.since < numbers.min_idle:
                due.append(node.since + numbers.min_idle)
                continue
            today = sum(at // DAY == now // DAY for at in node.shutdowns)
            on = sum(other.state in ON for other in self.machine)
            pool = next((pool for pool in self.pools if node.number in pool), None)
            if numbers.far == inf or today >= numbers.limit or on - 1 < numbers.min_on:
                continue
            if pool is None or gone[pool] < self._least(spare[pool], now):
                self._turn(node, now, "stopping", "sleep")
                node.shutdowns.append(now)
                if pool is not None:
                    gone[pool] += 1
        self.alarm = min(due, default=None)

    def _least(self, spare: dict[int, int], now: int) -> int:
        by, before = now + self.numbers.stop + max(TICK, self.numbers.start), now + self.numbers.far
        return min(value for at, value in spare.items() if at <= by or at < before)

"""FCFS, EASY, conservative and k reservations in plain Python: the definition that the engine is held to.

Written from the rules of a run (docs/background), with nothing in it that is there for speed and not obvious. It knows
no watts. Times are whole ticks (the tests use microseconds). The engine must agree with it start by start.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import ceil
from typing import Any, NamedTuple, Protocol


class Job(NamedTuple):
    """Request of a job, and its runtime on nominal nodes."""

    submit: int
    runtime: int
    node_count: int
    walltime: int | None = None
    slots: int | None = None  # on each of its nodes; None: whole nodes

    def planned(self) -> int:
        """Time for which the plan holds its nodes: its walltime or, if it has none, its runtime."""
        return self.runtime if self.walltime is None else self.walltime


class Schedule(NamedTuple):
    """One value a job, in the trace's order; None where a job never started."""

    start: list[int | None]
    end: list[int | None]
    started_by: list[str | None]
    state: list[str]
    nodes: list[list[int] | None]


class Machine(Protocol):
    """Places where jobs run: whole nodes that are only counted, or nodes by name and slot."""

    free: int  # nodes or slots that nobody has, in the unit of `width`

    def width(self, job: Job) -> int: ...
    def could_hold(self, job: Job) -> bool: ...
    def find(self, job: Job) -> list[int] | None: ...
    def take(self, job: Job, nodes: list[int]) -> None: ...
    def give_back(self, job: Job, nodes: list[int]) -> None: ...


class CountedNodes:
    """Whole nodes, only counted."""

    def __init__(self, nodes: int) -> None:
        self.nodes = self.free = nodes

    def width(self, job: Job) -> int:
        return job.node_count

    def could_hold(self, job: Job) -> bool:
        return job.node_count <= self.nodes

    def find(self, job: Job) -> list[int] | None:
        return [] if job.node_count <= self.free else None

    def take(self, job: Job, nodes: list[int]) -> None:
        self.free -= job.node_count

    def give_back(self, job: Job, nodes: list[int]) -> None:
        self.free += job.node_count


class NamedNodes:
    """Nodes of equal slots, the lowest ids first; with one slot a node, jobs get whole nodes."""

    def __init__(self, nodes: int, slots: int = 1) -> None:
        self.slots = slots
        self.free_slots = [slots] * nodes
        self.free = nodes * slots

    def per_node(self, job: Job) -> int:
        return self.slots if job.slots is None else job.slots

    def width(self, job: Job) -> int:
        return job.node_count * self.per_node(job)

    def could_hold(self, job: Job) -> bool:
        return job.node_count <= len(self.free_slots) and self.per_node(job) <= self.slots

    def find(self, job: Job) -> list[int] | None:
        fitting = [node for node, free in enumerate(self.free_slots) if free >= self.per_node(job)]
        return fitting[: job.node_count] if len(fitting) >= job.node_count else None

    def take(self, job: Job, nodes: list[int]) -> None:
        self.free -= self.width(job)
        for node in nodes:
            self.free_slots[node] -= self.per_node(job)

    def give_back(self, job: Job, nodes: list[int]) -> None:
        self.free += self.width(job)
        for node in nodes:
            self.free_slots[node] += self.per_node(job)


class Plan:
    """Free amounts from now on, as steps: `free[i]` from `times[i]` until `times[i + 1]`, the last for ever."""

    def __init__(self, now: int, free: int, running: Sequence[tuple[int, int, int]]) -> None:
        self.times, self.free = [now], [free]
        for planned_end, _, width in running:  # by planned end; who is overdue counts as ending now
            if planned_end > self.times[-1]:
                self.times.append(planned_end)
                self.free.append(self.free[-1])
            self.free[-1] += width

    def shortage(self, step: int, width: int, length: int) -> int | None:
        """The first step that lacks `width`, of this one and those that begin before `length` is over."""
        until = self.times[step] + length
        while self.free[step] >= width:
            step += 1
            if step == len(self.times) or self.times[step] >= until:
                return None
        return step

    def fits_now(self, width: int, length: int) -> bool:
        return self.shortage(0, width, length) is None

    def earliest(self, width: int, length: int) -> int:
        step = 0
        while (short := self.shortage(step, width, length)) is not None:
            step = short + 1
        return self.times[step]

    def hold(self, start: int, width: int, length: int) -> None:
        for step in range(self.cut(start), self.cut(start + length)):
            self.free[step] -= width

    def cut(self, time: int) -> int:
        """The step that begins at this time, made if there is none."""
        step = bisect_left(self.times, time)
        if step == len(self.times) or self.times[step] != time:
            self.times.insert(step, time)
            self.free.insert(step, self.free[step - 1])
        return step


ORDERS: dict[str, Callable[[Job], int]] = {
    "fcfs": lambda job: 0,
    "shortest": lambda job: job.planned(),
    "longest": lambda job: -job.planned(),
    "smallest": lambda job: job.node_count,
    "largest": lambda job: -job.node_count,
    "smallest-area": lambda job: job.node_count * job.planned(),
}
"""What comes first in the queue, the least key first; ties by submit, then by place in the trace."""


def stretched(length: int, time_ratio: float) -> int:
    """A span on nodes that take so many times as long, rounded up once."""
    return length if time_ratio == 1.0 else ceil(length * time_ratio)


CANDIDATES: dict[str, Callable[[int, int], int]] = {
    "fcfs": lambda width, length: 0,
    "shortest": lambda width, length: length,
    "longest": lambda width, length: -length,
    "smallest": lambda width, length: width,
    "largest": lambda width, length: -width,
    "smallest-area": lambda width, length: width * length,
}


@dataclass(frozen=True)
class Rules:
    """Rules that a schedule keeps."""

    depth: float | None = None
    """Blocked jobs that hold a reservation: None: no job overtakes, the first that does not fit blocks the rest; 0:
    every job that fits starts; 1: EASY; inf: conservative."""
    order: str = "fcfs"
    candidates: str | None = None
    """The order of those behind the last of `depth` reservations, by planned length and what is counted of them; None:
    they stay in policy order."""
    kill_at_walltime: bool = True
    kill_grace: int = 0
    """Time after its walltime at which a job is killed."""
    stretch: bool = False
    """Walltimes, and planned lengths, were meant for nominal nodes: a job is killed after as many times its walltime as
    its slowest node takes, and planned, by `predicted_ratio` (else `time_ratio`), for the slowest of all nodes until
    the pass in which it starts is over, then for the slowest of its own."""
    time_ratio: Sequence[float] | None = None
    """Times as long as on a nominal node that a job takes on each node, the slowest of its nodes deciding (named nodes
    only)."""
    predicted_ratio: Sequence[float] | None = None
    groups: Sequence[Sequence[tuple[str, float]]] | None = None
    """Groups that each job is in, and how many of each may run at once; who is beyond that at its turn is passed
    over."""

    @property
    def planned_ratio(self) -> Sequence[float] | None:
        """Times as long as on a nominal node that jobs are planned for, where walltimes stretch."""
        return (self.predicted_ratio or self.time_ratio) if self.stretch else None


def slowest(ratio: Sequence[float] | None, nodes: Sequence[int]) -> float:
    return 1.0 if ratio is None else max(ratio[node] for node in nodes)


class Course:
    """A run of jobs on a machine, instant by instant."""

    def __init__(self, jobs: Sequence[Job], machine: Machine, rules: Rules) -> None:
        n = len(jobs)
        self.jobs, self.machine, self.rules = jobs, machine, rules
        self.done = Schedule([None] * n, [None] * n, [None] * n, ["pending"] * n, [None] * n)
        # Stable: equal submits keep the trace's order.
        self.arrivals = deque(sorted(range(n), key=lambda j: jobs[j].submit))
        self.queue: list[tuple[int, int, int]] = []  # (key, submit, job), in policy order
        self.running: list[tuple[int, int, int]] = []  # (planned end, job, width), by planned end
        self.ends: list[tuple[int, int]] = []  # (end, job), a heap
        longest = max(rules.planned_ratio or [1.0])
        self.planned = [stretched(job.planned(), longest) for job in jobs]

    def to_the_end(self) -> Schedule:
        while self.ends or self.arrivals:
            now = self.next_instant()
            while self.ends and self.ends[0][0] == now:
                self.finish(heappop(self.ends)[1])
            submitted = self.submit(now)
            before = set(self.running) if self.rules.planned_ratio else set()
            self.one_pass(now, submitted)  # a job of length zero that it starts ends now: the next round's first event
            if self.rules.planned_ratio:
                for _, j, _ in [job for job in self.running if job not in before]:
                    self.plan_on_its_nodes(j)
        return self.done

    def next_instant(self) -> int:
        ends = [self.ends[0][0]] if self.ends else []
        return min(ends + ([self.jobs[self.arrivals[0]].submit] if self.arrivals else []))

    def submit(self, now: int) -> set[int]:
        """The jobs that join the queue at an instant; those that the machine could never hold are rejected."""
        submitted = set()
        while self.arrivals and self.jobs[self.arrivals[0]].submit == now:
            j = self.arrivals.popleft()
            job = self.jobs[j]
            if self.machine.could_hold(job):
                insort(self.queue, (ORDERS[self.rules.order](job._replace(walltime=self.planned[j])), job.submit, j))
                submitted.add(j)
            else:
                self.done.state[j] = "rejected"
        return submitted

    def start(self, j: int, now: int, nodes: list[int], started_by: str) -> None:
        length, is_killed = self.length_on(self.jobs[j], nodes)
        self.machine.take(self.jobs[j], nodes)
        insort(self.running, (now + self.planned[j], j, self.machine.width(self.jobs[j])))
        heappush(self.ends, (now + length, j))
        done = self.done
        done.start[j], done.end[j], done.started_by[j], done.nodes[j] = now, now + length, started_by, nodes
        done.state[j] = "timeout" if is_killed else "completed"

    def length_on(self, job: Job, nodes: list[int]) -> tuple[int, bool]:
        """Time for which a job runs on some nodes, and if it is killed then."""
        rules, factor = self.rules, slowest(self.rules.time_ratio, nodes)
        length = stretched(job.runtime, factor)
        if job.walltime is None or not rules.kill_at_walltime:
            return length, False
        limit = stretched(job.walltime, factor if rules.stretch else 1.0) + rules.kill_grace
        return min(length, limit), length > limit

    def finish(self, j: int) -> None:
        self.machine.give_back(self.jobs[j], self.done.nodes[j] or [])
        del self.running[bisect_left(self.running, ((self.done.start[j] or 0) + self.planned[j], j, 0))]

    def plan_on_its_nodes(self, j: int) -> None:
        """A job that has started is planned for the nodes that it got."""
        started, width = self.done.start[j] or 0, self.machine.width(self.jobs[j])
        self.running.remove((started + self.planned[j], j, width))
        self.planned[j] = stretched(self.jobs[j].planned(), slowest(self.rules.planned_ratio, self.done.nodes[j] or []))
        insort(self.running, (started + self.planned[j], j, width))

    def is_held(self, j: int) -> bool:
        groups = self.rules.groups
        if groups is None:
            return False
        names = [group for _, other, _ in self.running for group, _ in groups[other]]
        return any(names.count(group) >= limit for group, limit in groups[j])

    def one_pass(self, now: int, submitted: set[int]) -> None:
        plan: Plan | None = None
        reservations, place = 0, 0  # place: whose turn it is
        held = 0  # how many before it are passed over: the others before it stay queued
        while place < len(self.queue) and self.machine.free > 0:
            j = self.queue[place][-1]
            if self.is_held(j):
                place, held = place + 1, held + 1
                continue
            nodes = self.nodes_now(j, plan)
            if nodes is not None:
                by = "backfill" if place > held else "immediate" if j in submitted else "reservation"
                self.start_by_plan(j, now, nodes, by, plan)
                del self.queue[place]
                continue
            if self.rules.depth is None:
                return
            if reservations < self.rules.depth:
                plan = plan or Plan(now, self.machine.free, self.running)
                self.reserve(j, plan)
                reservations += 1
                if reservations == self.rules.depth and self.rules.candidates is not None:
                    self.overtake(now, plan, self.queue[place + 1 :])
                    return
            place += 1

    def nodes_now(self, j: int, plan: Plan | None) -> list[int] | None:
        """Nodes on which a job may start at once; None: on none."""
        nodes, length = self.machine.find(self.jobs[j]), self.planned[j]
        # What takes no time delays no job: one of length zero needs its nodes and nothing of the plan.
        if nodes is None or plan is None or length == 0:
            return nodes
        return nodes if plan.fits_now(self.machine.width(self.jobs[j]), length) else None

    def start_by_plan(self, j: int, now: int, nodes: list[int], started_by: str, plan: Plan | None) -> None:
        self.start(j, now, nodes, started_by)
        if plan is not None:
            plan.hold(now, self.machine.width(self.jobs[j]), self.planned[j])

    def reserve(self, j: int, plan: Plan) -> None:
        width, length = self.machine.width(self.jobs[j]), self.planned[j]
        plan.hold(plan.earliest(width, length), width, max(length, 1))  # at least its instant

    def overtake(self, now: int, plan: Plan, others: list[tuple[int, int, int]]) -> None:
        """Starts what fits of those behind the last reservation, in the order of candidates."""
        by = CANDIDATES[str(self.rules.candidates)]

        def turn(place: tuple[int, int, int]) -> tuple[int, ...]:
            return by(self.machine.width(self.jobs[place[-1]]), self.planned[place[-1]]), *place[1:]

        for place in sorted(others, key=turn):
            j = place[-1]
            nodes = None if self.is_held(j) else self.nodes_now(j, plan)
            if nodes is not None:
                self.start_by_plan(j, now, nodes, "backfill", plan)
                self.queue.remove(place)


def schedule(jobs: Sequence[Job], machine: Machine, **rules: Any) -> Schedule:
    """Runs the jobs to the end, by `Rules`."""
    return Course(jobs, machine, Rules(**rules)).to_the_end()

"""FCFS, EASY, conservative and k reservations in plain Python: the definition that the engine is held to.

Written from the rules of a run (docs/background), with nothing in it that is there for speed and not obvious. It knows
no watts. Times are whole ticks (the tests use microseconds). The engine must agree with it start by start.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from math import ceil, inf
from typing import NamedTuple, Protocol


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


def schedule(
    jobs: Sequence[Job],
    machine: Machine,
    *,
    depth: float | None = None,
    order: str = "fcfs",
    candidates: str | None = None,
    kill_at_walltime: bool = True,
    kill_grace: int = 0,
    stretch: bool = False,
    time_ratio: Sequence[float] | None = None,
    predicted_ratio: Sequence[float] | None = None,
    groups: Sequence[Sequence[tuple[str, float]]] | None = None,
) -> Schedule:
    """Runs the jobs to the end.

    `depth`: how many blocked jobs hold a reservation. None: nobody overtakes, the first that does not fit blocks the
    rest; 0: whoever fits starts; 1: EASY; inf: conservative. `time_ratio`: how much longer than nominal a job takes on
    each node, the slowest of its nodes deciding (named nodes only). `kill_grace`: how long after its walltime a job is
    killed. `stretch`: walltimes, and planned lengths, were meant for nominal nodes: a job is killed after as many times
    its walltime as its slowest node takes, and planned, by `predicted_ratio` (else `time_ratio`), for the slowest of
    all nodes until the pass in which it starts is over, then for the slowest of its own. `groups`: those
    that each job is in, and how many of each may run at once; who is beyond that at its turn is passed over.
    `candidates`: the order of those behind the last of `depth` reservations, by planned length and what is counted of
    them; None: they stay in policy order.
    """
    n = len(jobs)
    done = Schedule([None] * n, [None] * n, [None] * n, ["pending"] * n, [None] * n)
    key = ORDERS[order]
    arrivals = sorted(range(n), key=lambda j: jobs[j].submit)  # stable: equal submits keep the trace's order
    arrived = 0
    queue: list[tuple[int, int, int]] = []  # (key, submit, job), in policy order
    running: list[tuple[int, int, int]] = []  # (planned end, job, width), by planned end
    ends: list[tuple[int, int]] = []  # (end, job), a heap
    predicted = predicted_ratio or time_ratio
    planned = [stretched(job.planned(), max(predicted) if stretch and predicted else 1.0) for job in jobs]

    def slowest(ratio: Sequence[float] | None, nodes: list[int]) -> float:
        return 1.0 if ratio is None else max(ratio[node] for node in nodes)

    def start(j: int, now: int, nodes: list[int], started_by: str) -> None:
        job, factor = jobs[j], slowest(time_ratio, nodes)
        length = stretched(job.runtime, factor)
        limit = inf if job.walltime is None else stretched(job.walltime, factor if stretch else 1.0) + kill_grace
        killed = kill_at_walltime and length > limit
        end = now + int(min(length, limit) if killed else length)
        machine.take(job, nodes)
        insort(running, (now + planned[j], j, machine.width(job)))
        heappush(ends, (end, j))
        done.start[j], done.end[j], done.started_by[j], done.nodes[j] = now, end, started_by, nodes
        done.state[j] = "timeout" if killed else "completed"

    def finish(j: int) -> None:
        job = jobs[j]
        machine.give_back(job, done.nodes[j] or [])
        del running[bisect_left(running, ((done.start[j] or 0) + planned[j], j, 0))]

    def plan_on_its_nodes(j: int) -> None:
        """A job that has started is planned for the nodes that it got."""
        started, width = done.start[j] or 0, machine.width(jobs[j])
        running.remove((started + planned[j], j, width))
        planned[j] = stretched(jobs[j].planned(), slowest(predicted, done.nodes[j] or []))
        insort(running, (started + planned[j], j, width))

    def is_held(j: int) -> bool:
        limits = groups[j] if groups else ()
        names = [group for _, other, _ in running for group, _ in (groups or [])[other]] if limits else []
        return any(names.count(group) >= limit for group, limit in limits)

    def one_pass(now: int, submitted: set[int]) -> None:
        plan: Plan | None = None
        reservations, place = 0, 0  # place: whose turn it is
        held = 0  # how many before it are passed over: the others before it stay queued
        while place < len(queue) and machine.free > 0:
            j = queue[place][-1]
            job = jobs[j]
            if is_held(j):
                place, held = place + 1, held + 1
                continue
            width, length = machine.width(job), planned[j]
            nodes = machine.find(job)
            # Who takes no time delays nobody: a job of length zero needs its nodes and nothing of the plan.
            if nodes is not None and (plan is None or length == 0 or plan.fits_now(width, length)):
                start(j, now, nodes, "backfill" if place > held else "immediate" if j in submitted else "reservation")
                if plan is not None:
                    plan.hold(now, width, length)
                del queue[place]
                continue
            if depth is None:
                return
            if reservations < depth:
                plan = plan or Plan(now, machine.free, running)
                plan.hold(plan.earliest(width, length), width, max(length, 1))  # at least its instant
                reservations += 1
                if reservations == depth and candidates is not None:
                    overtake(now, plan, queue[place + 1 :])
                    return
            place += 1

    def overtake(now: int, plan: Plan, others: list[tuple[int, int, int]]) -> None:
        by = CANDIDATES[str(candidates)]
        turns = sorted(others, key=lambda place: (by(machine.width(jobs[place[-1]]), planned[place[-1]]), *place[1:]))
        for j in (place[-1] for place in turns):
            width, length = machine.width(jobs[j]), planned[j]
            nodes = None if is_held(j) else machine.find(jobs[j])
            if nodes is not None and (length == 0 or plan.fits_now(width, length)):
                start(j, now, nodes, "backfill")
                plan.hold(now, width, length)
                queue[:] = [place for place in queue if place[-1] != j]

    while ends or arrived < n:
        now = min(
            ends[0][0] if ends else inf,
            jobs[arrivals[arrived]].submit if arrived < n else inf,
        )
        submitted = set()
        while ends and ends[0][0] == now:
            finish(heappop(ends)[1])
        while arrived < n and jobs[arrivals[arrived]].submit == now:
            j = arrivals[arrived]
            arrived += 1
            if machine.could_hold(jobs[j]):
                first = key(jobs[j]._replace(walltime=planned[j]))
                insort(queue, (first, jobs[j].submit, j))
                submitted.add(j)
            else:
                done.state[j] = "rejected"
        before = set(running) if stretch else set()
        one_pass(int(now), submitted)  # a job of length zero that it starts ends at `now`: the next round's first event
        for _, j, _ in [job for job in running if job not in before] if stretch and predicted else []:
            plan_on_its_nodes(j)
    return done

"""Urgent jobs in plain Python: rules 3, 8 to 12, 26, 30 and 33 to 35 of the operations page on machines, an instant after
the other.

Nodes that fail, are repaired and go into maintenance, but never sleep; jobs that are killed at their walltimes. It knows
the rules and no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf

TICK = 1
Hold = tuple[list[int], int, float, float]
"""Nodes, slots on each, from when until when."""


@dataclass
class Queue:
    """Nodes, and whose jobs make way for its own."""

    name: str
    nodes: list[int]
    priority: int = 0
    preempts: list[str] = field(default_factory=list)
    spreads: bool = False
    max_running: float = inf


@dataclass
class Task:
    """A job in microseconds, and what becomes of it."""

    row: int
    submit: int
    runtime: int
    walltime: int | None
    node_count: int
    slots: int
    queue: str
    cancel: int | None = None
    state: str = "unborn"
    start: int | None = None
    end: int | None = None
    nodes: list[int] = field(default_factory=list)
    attempts: int = 0
    stood: int = 0
    """Before it stood still last, in the attempt."""
    since: int | None = None
    """Since when it stands still."""
    stretches: list[tuple[int, int, int, str]] = field(default_factory=list)
    """Attempt, from when, until when, how."""

    @property
    def planned(self) -> int:
        """L of rule 8, at least a microsecond."""
        return max(TICK, self.runtime if self.walltime is None else self.walltime)

    @property
    def lasts(self) -> int:
        """How long it really runs."""
        return self.runtime if self.walltime is None else min(self.runtime, self.walltime)

    def ends_at(self, length: int) -> int:
        """When an attempt that runs ends that runs so long in all."""
        assert self.start is not None
        return self.start + self.stood + length

    def is_there(self) -> bool:
        """Whether it holds slots."""
        return self.state in ("running", "suspended")


@dataclass
class Outage:
    """A failure (its end is its repair) or a maintenance, which is known from the beginning."""

    node: int
    start: int
    end: int
    is_failure: bool


ORDERS: dict[str, Callable[[Task], int]] = {
    "fcfs": lambda task: 0,
    "shortest": lambda task: task.planned,
    "largest": lambda task: -task.node_count,
}


@dataclass
class Machine:
    """Nodes of equal slots under `plan`."""

    nodes: int
    slots: int
    queues: list[Queue]
    order: str = "fcfs"
    depth: float = inf
    horizon: int = 2_592_000_000_000
    interval: int = 0
    outages: list[Outage] = field(default_factory=list)
    requeues: bool = False
    told: list[tuple[int, str, int]] = field(default_factory=list)
    """What was suspended, went on or was queued again: when, what, which row."""
    tasks: list[Task] = field(default_factory=list)
    now: int = 0
    planned: int = 0
    promised: list[Hold] = field(default_factory=list)

    def run(self, tasks: list[Task]) -> None:
        """Lets every job start and end that can."""
        self.tasks = tasks
        for task in tasks:
            if task.node_count > len(self._queue(task).nodes) or task.slots > self.slots:
                task.state = "rejected"
        owed: int | None = None
        while (now := min([*self._to_come(), *([] if owed is None else [owed])], default=None)) is not None:
            self.now = now
            happened, joined = self._happen(), self._join()
            has_pass = happened or ((joined or owed == now) and (self.interval == 0 or now % self.interval == 0))
            if has_pass:
                owed = None
            elif joined:
                owed = now - now % self.interval + self.interval
            while has_pass:
                self._pass()
                has_pass = self._end()

    def _queue(self, task: Task) -> Queue:
        return next(queue for queue in self.queues if queue.name == task.queue)

    def _to_come(self) -> list[int]:
        if all(task.state in ("rejected", "ended", "failed", "cancelled") for task in self.tasks):
            return []
        submits = [task.submit for task in self.tasks if task.state == "unborn"]
        ends = [task.ends_at(task.lasts) for task in self.tasks if task.state == "running"]
        outages = [t for one in self.outages for t in (one.start, one.end) if t > self.now]
        waits = [t.cancel for t in self.tasks if t.state == "queued" and t.cancel is not None and t.cancel > self.now]
        return submits + ends + outages + waits

    def _happen(self) -> bool:
        """Ends, nodes that are back, nodes that go down: an instant's lines 1 to 3."""
        happened = self._end()
        if any(self.now in (one.start, one.end) for one in self.outages):
            happened = True
            for task in self.tasks:
                if task.is_there() and any(self._is_down(node, self.now) for node in task.nodes):
                    self._lose(task)
        return happened

    def _lose(self, task: Task) -> None:
        """Rule 30."""
        self._close(task)
        if self.requeues:
            task.state = "queued"
            self.told.append((self.now, "requeue", task.row))
        else:
            task.state, task.end = "failed", self.now

    def _close(self, task: Task) -> None:
        """The stretch that it is in is over."""
        assert task.start is not None
        begun = task.stretches[-1][2] if task.stretches and task.stretches[-1][0] == task.attempts else task.start
        if self.now > begun:
            how = "suspended" if task.since is not None else "running"
            last = task.stretches[-1] if task.stretches else None
            if last is not None and (last[0], last[3]) == (task.attempts, how):
                # It was suspended for no time at all.
                begun = task.stretches.pop()[1]
            task.stretches.append((task.attempts, begun, self.now, how))
        if task.since is not None:
            task.stood += self.now - task.since
            task.since = None

    def _end(self) -> bool:
        over = [task for task in self.tasks if task.state == "running" and task.ends_at(task.lasts) == self.now]
        for task in over:
            self._close(task)
            task.state, task.end = "ended", self.now
        return bool(over)

    def _join(self) -> bool:
        """Submits, then cancellations: those of jobs that run, are suspended or over change nothing (rule 26)."""
        joined = [task for task in self.tasks if task.state == "unborn" and task.submit == self.now]
        for task in joined:
            task.state = "queued"
        gone = [
            task
            for task in self.tasks
            if task.cancel is not None and max(task.cancel, task.submit) == self.now and task.state == "queued"
        ]
        for task in gone:
            task.state = "cancelled"
            if task.start is not None:
                task.start, task.nodes = None, []
        return bool(joined or gone)

    def _is_down(self, node: int, at: float) -> bool:
        return any(one.node == node and one.start <= at < one.end for one in self.outages)

    def _key(self, task: Task) -> tuple[int, int, int, int]:
        return -self._queue(task).priority, ORDERS[self.order](task), task.submit, task.row

    def _is_held(self, task: Task) -> bool:
        """Rule 3."""
        return sum(t.queue == task.queue and t.is_there() for t in self.tasks) >= self._queue(task).max_running

    def _pass(self) -> None:
        self.planned, self.promised = 0, []
        waiting = sorted((task for task in self.tasks if task.state == "queued"), key=self._key)
        urgent = [task for task in waiting if self._queue(task).preempts]
        for task in urgent:
            if not self._is_held(task):
                self._serve_urgent(task)
        # Rule 34: after these, before all others.
        for task in sorted((task for task in self.tasks if task.state == "suspended"), key=self._key):
            self._look_at_suspended(task)
        for task in waiting:
            if not self._queue(task).preempts and not self._is_held(task):
                self._settle(task, self._earliest(task, self._holds()))

    def _serve_urgent(self, task: Task) -> None:
        """Rule 33."""
        found = self._earliest(task, self._holds())
        if found is not None and found[0] == self.now:
            self._settle(task, found)
            return
        makes_way = self._queue(task).preempts
        holds = self._holds(without=makes_way)
        found = self._earliest(task, holds)
        if found is not None and found[0] == self.now:
            fits = [n for n in self._queue(task).nodes if self._has_room(n, task.slots, holds, self.now, task.planned)]
            nodes = sorted(sorted(fits, key=lambda node: (self._used(node), node))[: task.node_count])
            for node in nodes:
                while self.slots - self._used(node) < task.slots:
                    there = [t for t in self._running(node) if t.queue in makes_way]
                    self._suspend(max(there, key=lambda t: (t.start, t.row)))
            found = (self.now, nodes)
        self._settle(task, found)

    def _settle(self, task: Task, found: tuple[int, list[int]] | None) -> None:
        """Rule 10."""
        if found is None:
            return
        at, nodes = found
        if at == self.now:
            task.state, task.start, task.nodes, task.end = "running", self.now, nodes, None
            task.attempts, task.stood = task.attempts + 1, 0
        elif at - self.now <= self.horizon and self.planned < self.depth:
            self.planned += 1
            self.promised.append((nodes, task.slots, at, at + task.planned))

    def _look_at_suspended(self, task: Task) -> None:
        """Rule 34: room beside running jobs and what this pass started and planned."""
        left = max(TICK, self._left(task))
        holds = self._holds(without=None)
        for at in self._changes(holds):
            if all(self._has_room(node, task.slots, holds, at, left) for node in task.nodes):
                if at == self.now:
                    self._close(task)
                    task.state = "running"
                    self.told.append((self.now, "resume", task.row))
                else:
                    self.promised.append((task.nodes, task.slots, self.now, at + left))
                return
        self.promised.append((task.nodes, task.slots, self.now, inf))

    def _suspend(self, task: Task) -> None:
        self._close(task)
        task.state, task.since = "suspended", self.now
        self.told.append((self.now, "suspend", task.row))

    def _left(self, task: Task) -> int:
        """What is left of its planned length."""
        assert task.start is not None
        still = 0 if task.since is None else self.now - task.since
        return task.planned - (self.now - task.start - task.stood - still)

    def _running(self, node: int) -> list[Task]:
        return [task for task in self.tasks if task.state == "running" and node in task.nodes]

    def _used(self, node: int) -> int:
        return sum(task.slots for task in self._running(node))

    def _holds(self, without: Iterable[str] | None = ()) -> list[Hold]:
        """What holds slots, without the jobs of some queues; None: without any that are suspended.

        In a pass that has looked at the suspended jobs they hold what was promised to them, and nothing else.
        """
        holds = list(self.promised)
        looked = {id(hold[0]) for hold in self.promised}
        for task in self.tasks:
            if not task.is_there() or (without is not None and task.queue in without):
                continue
            if task.state == "running":
                end = self.now + self._left(task)
                holds.append((task.nodes, task.slots, self.now, end if end > self.now else self.now + TICK))
            elif without is not None and id(task.nodes) not in looked:
                holds.append((task.nodes, task.slots, self.now, inf))
        return holds

    def _changes(self, holds: list[Hold]) -> list[int]:
        ends = [t for *_, start, end in holds for t in (start, end)]
        ends += [t for one in self.outages for t in (one.start, one.end)]
        return sorted({self.now, *(int(t) for t in ends if self.now < t < inf)})

    def _has_room(self, node: int, slots: int, holds: list[Hold], at: int, length: int) -> bool:
        during = [at, *(change for change in self._changes(holds) if at < change < at + length)]
        return all(self._free(node, holds, instant) >= slots for instant in during)

    def _free(self, node: int, holds: list[Hold], at: int) -> int:
        """Rule 8: nobody expects a repair."""
        failed = any(o.is_failure and o.node == node and o.start <= self.now < o.end for o in self.outages)
        out = any(not o.is_failure and o.node == node and o.start <= at < o.end for o in self.outages)
        taken = sum(slots for nodes, slots, start, end in holds if node in nodes and start <= at < end)
        return 0 if failed or out else max(0, self.slots - taken)

    def _earliest(self, task: Task, holds: list[Hold]) -> tuple[int, list[int]] | None:
        """Rule 9."""
        queue = self._queue(task)
        for at in self._changes(holds):
            fits = [node for node in queue.nodes if self._has_room(node, task.slots, holds, at, task.planned)]
            if len(fits) >= task.node_count:
                sign = -1 if queue.spreads else 1
                best = sorted(fits, key=lambda node: (sign * self._free(node, holds, at), node))
                return at, sorted(best[: task.node_count])
        return None

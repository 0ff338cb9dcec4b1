"""A plan of named nodes in plain Python: rules 2 to 4 and 8 to 12 of the operations page on machines, an instant after
the other.

Nodes that never fail nor sleep, jobs killed at their walltimes. It knows the rules and no engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

TICK = 1


@dataclass
class Queue:
    """Nodes and limits, in microseconds (rules 2 to 4)."""

    name: str
    nodes: list[int]
    priority: int = 0
    max_nodes: float = inf
    max_slots: float = inf
    max_walltime: int | None = None
    default_walltime: int | None = None
    max_running: float = inf
    max_running_per_user: float = inf
    users: list[str] | None = None
    order: str | None = None
    spreads: bool = False

    def walltime(self, own: int | None) -> int | None:
        """What a job gets that brings its own or none."""
        if own is not None:
            return own
        return self.max_walltime if self.default_walltime is None else self.default_walltime

    def takes(self, node_count: int, slots: int, walltime: int | None, user: str | None) -> bool:
        """Rule 2."""
        return (
            node_count <= min(self.max_nodes, len(self.nodes))
            and node_count * slots <= self.max_slots
            and (walltime is None or self.max_walltime is None or walltime <= self.max_walltime)
            and (self.users is None or user in self.users)
        )


@dataclass
class Task:
    """A job in microseconds, and what becomes of it."""

    row: int
    submit: int
    runtime: int
    walltime: int | None
    node_count: int
    slots: int
    queue: str | None = None
    user: str | None = None
    is_known: bool = False
    start: int | None = None
    end: int | None = None
    nodes: list[int] = field(default_factory=list)

    @property
    def planned(self) -> int:
        """L of rule 8, at least a microsecond."""
        return max(TICK, self.runtime if self.walltime is None else self.walltime)

    @property
    def lasts(self) -> int:
        """How long it really runs."""
        return self.runtime if self.walltime is None else min(self.runtime, self.walltime)


ORDERS: dict[str, Callable[[Task], int]] = {
    "fcfs": lambda task: 0,
    "shortest": lambda task: task.planned,
    "longest": lambda task: -task.planned,
    "smallest": lambda task: task.node_count,
    "largest": lambda task: -task.node_count,
    "smallest-area": lambda task: task.node_count * task.planned,
}


@dataclass
class Machine:
    """Nodes of equal slots under `plan`."""

    nodes: int
    slots: int
    order: str = "fcfs"
    queues: list[Queue] = field(default_factory=list)
    depth: float = inf
    horizon: int = 2_592_000_000_000
    interval: int = 0
    candidates: str | None = None

    def run(self, tasks: list[Task]) -> None:
        """Lets every job that fits the machine start and end."""
        for task in tasks:
            task.walltime = self._queue(task).walltime(task.walltime)
        fitting = [task for task in tasks if self._takes(task)]
        owed: int | None = None
        while True:
            instants = [*self._to_come(fitting), *([] if owed is None else [owed])]
            if not instants:
                return
            now = min(instants)
            ended = self._end(fitting, now)
            joined = [task for task in fitting if task.submit == now and not task.is_known]
            for task in joined:
                task.is_known = True
            # Rule 12: what was only submitted waits for a multiple of the interval, which is one that is owed, too.
            has_pass = ended or ((bool(joined) or owed == now) and (self.interval == 0 or now % self.interval == 0))
            if has_pass:
                owed = None
            elif joined:
                owed = now - now % self.interval + self.interval
            while has_pass:
                self._pass(fitting, now)
                has_pass = self._end(fitting, now)

    def _queue(self, task: Task) -> Queue:
        """The job's; without queues one of all nodes (rule 9)."""
        everything = Queue("", list(range(self.nodes)))
        return next((queue for queue in self.queues if queue.name == task.queue), everything)

    def _takes(self, task: Task) -> bool:
        taken = self._queue(task).takes(task.node_count, task.slots, task.walltime, task.user)
        return taken and task.slots <= self.slots

    def _key(self, task: Task) -> tuple[int, int, int, int]:
        """Rule 4."""
        queue = self._queue(task)
        return -queue.priority, ORDERS[queue.order or self.order](task), task.submit, task.row

    def _candidate(self, task: Task) -> tuple[int, int, int, int]:
        units, length = task.node_count * task.slots, task.runtime if task.walltime is None else task.walltime
        ranks = {"fcfs": 0, "shortest": length, "longest": -length, "smallest": units, "largest": -units}
        rank = ranks.get(str(self.candidates), units * length)
        return -self._queue(task).priority, rank, task.submit, task.row

    def _is_held(self, task: Task, tasks: list[Task]) -> bool:
        """Rule 3."""
        queue = self._queue(task)
        running = [t for t in tasks if t.queue == task.queue and t.start is not None and t.end is None]
        own = [t for t in running if t.user == task.user]
        return len(running) >= queue.max_running or (task.user is not None and len(own) >= queue.max_running_per_user)

    @staticmethod
    def _to_come(tasks: list[Task]) -> list[int]:
        submits = [task.submit for task in tasks if not task.is_known]
        ends = [task.start + task.lasts for task in tasks if task.start is not None and task.end is None]
        return submits + ends

    @staticmethod
    def _end(tasks: list[Task], now: int) -> bool:
        over = [
            task for task in tasks if task.start is not None and task.end is None and task.start + task.lasts == now
        ]
        for task in over:
            task.end = now
        return bool(over)

    def _pass(self, tasks: list[Task], now: int) -> None:
        """Rules 8 to 10."""
        held = [
            (task.nodes, task.slots, now, end if (end := task.start + task.planned) > now else now + TICK)
            for task in tasks
            if task.start is not None and task.end is None
        ]
        planned = 0
        waiting = sorted((task for task in tasks if task.is_known and task.start is None), key=self._key)
        while waiting:
            if planned >= self.depth and self.candidates is not None:
                # All that may be planned for later are: the others have their turns in an order of their own.
                waiting.sort(key=self._candidate)
            task = waiting.pop(0)
            if self._is_held(task, tasks):
                continue
            found = self._earliest(held, now, task)
            if found is None:
                continue
            at, nodes = found
            if at == now:
                task.start, task.nodes = now, nodes
            elif at - now > self.horizon or planned >= self.depth:
                continue
            else:
                planned += 1
            held.append((nodes, task.slots, at, at + task.planned))

    def _earliest(
        self, held: list[tuple[list[int], int, int, int]], now: int, task: Task
    ) -> tuple[int, list[int]] | None:
        """Rule 9: the earliest time, and the fullest nodes then."""

        def free(node: int, at: int) -> int:
            taken = sum(slots for nodes, slots, start, end in held if node in nodes and start <= at < end)
            return max(0, self.slots - taken)

        queue = self._queue(task)
        changes = sorted({now, *(end for *_, end in held), *(start for *_, start, _ in held)})
        for at in (instant for instant in changes if instant >= now):
            during = [at, *(change for change in changes if at < change < at + task.planned)]
            fits = [n for n in queue.nodes if all(free(n, t) >= task.slots for t in during)]
            if len(fits) >= task.node_count:
                sign = -1 if queue.spreads else 1
                return at, sorted(sorted(fits, key=lambda node: (sign * free(node, at), node))[: task.node_count])
        return None

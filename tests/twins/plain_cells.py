"""Nodes that differ in plain Python: the page on rules, section "Heterogeneous nodes", an instant after the other.

Nodes that never fail nor sleep; where they are counted, under a budget of whole watts, too. It knows the rules and no
engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

TICK = 1
MICRO = 1_000_000
WATTS = "microwatts"

Place = tuple[int, int, int, int]
Amounts = dict[object, int]


@dataclass(frozen=True)
class Node:
    """What a node offers; memory in whole units."""

    features: frozenset[str]
    gpus: int
    memory: int
    adds_w: tuple[int, ...] = field(default=(), compare=False)
    """What it draws beyond idle, by application."""

    @property
    def plainness(self) -> tuple[int, int, int]:
        """The plainest first."""
        return self.gpus, self.memory, len(self.features)


@dataclass
class Task:
    """A job in microseconds, and what becomes of it."""

    row: int
    submit: int
    runtime: int
    walltime: int | None
    node_count: int
    slots: int = 1
    likes: Callable[[frozenset[str]], bool] = lambda features: True
    gpus: int = 0
    memory: int = 0
    licences: dict[str, int] = field(default_factory=dict)
    app: int = 0
    is_known: bool = False
    start: int | None = None
    end: int | None = None
    nodes: list[int] = field(default_factory=list)

    @property
    def planned(self) -> int:
        """How long it is planned to run."""
        return self.runtime if self.walltime is None else self.walltime

    def may_use(self, node: Node) -> bool:
        """Whether a node offers what it asks for."""
        return self.likes(node.features) and node.gpus >= self.gpus and node.memory >= self.memory


@dataclass
class Machine:
    """Nodes that differ, whole or shared, and licences. `backfill`: none, first-fit, reservations or plan."""

    nodes: list[Node]
    licences: dict[str, int]
    backfill: str = "reservations"
    depth: float = inf
    slots: int = 1
    kill: bool = True
    room_w: int | None = None
    """What may be drawn beyond the idle machine."""
    tasks: list[Task] = field(default_factory=list)

    @property
    def is_shared(self) -> bool:
        """Whether jobs take slots, GPUs and memory of nodes."""
        return self.slots > 1

    def can_run(self, task: Task) -> bool:
        """Whether it fits the empty machine."""
        usable = [node for node in self.nodes if task.may_use(node)]
        licensed = all(count <= self.licences.get(name, 0) for name, count in task.licences.items())
        return len(usable) >= task.node_count and licensed and task.slots <= self.slots and not self.is_too_hungry(task)

    def is_too_hungry(self, task: Task) -> bool:
        """Whether it passes the budget on whatever nodes of the idle machine that may serve it."""
        least = sorted(self._adds(task))[: task.node_count]
        return self.room_w is not None and sum(least) > self.room_w

    def _adds(self, task: Task) -> list[int]:
        return [node.adds_w[task.app] for node in self.nodes if task.may_use(node)] if self.room_w is not None else []

    def _watts(self, task: Task, nodes: list[int]) -> int:
        return sum(self.nodes[number].adds_w[task.app] for number in nodes)

    def _mean_microwatts(self, task: Task) -> int:
        """What a reservation holds: the mean over the nodes that may serve it, rounded up, no more than there is."""
        adds = self._adds(task)
        return min(-(-sum(adds) * task.node_count * MICRO // len(adds)), (self.room_w or 0) * MICRO)

    def cell(self, number: int) -> tuple[Place, frozenset[str]]:
        """The cell of a node: how plain it is, its first node, its features."""
        node = self.nodes[number]
        return (*node.plainness, self.nodes.index(node)), node.features

    def run(self, tasks: list[Task]) -> None:
        """Lets every job that can run start and end."""
        self.tasks = [task for task in tasks if self.can_run(task)]
        while instants := self._to_come():
            now = min(instants)
            self._end(now)
            for task in self.tasks:
                task.is_known |= task.submit == now
            self._pass(now)
            while self._end(now):
                self._pass(now)

    def _lasts(self, task: Task) -> int:
        return task.runtime if task.walltime is None or not self.kill else min(task.runtime, task.walltime)

    def _to_come(self) -> list[int]:
        submits = [task.submit for task in self.tasks if not task.is_known]
        return submits + [task.start + self._lasts(task) for task in self._running() if task.start is not None]

    def _running(self) -> list[Task]:
        return [task for task in self.tasks if task.start is not None and task.end is None]

    def _end(self, now: int) -> bool:
        over = [task for task in self._running() if (task.start or 0) + self._lasts(task) == now]
        for task in over:
            task.end = now
        return bool(over)

    def _queue(self) -> list[Task]:
        waiting = [task for task in self.tasks if task.is_known and task.start is None]
        return sorted(waiting, key=lambda task: (task.submit, task.row))

    def _pass(self, now: int) -> None:
        if self.backfill == "plan":
            self._plan(now)
        else:
            self._count(now)

    # Whole nodes, counted by cell.

    def _count(self, now: int) -> None:
        promises: list[tuple[int, int, Amounts]] = []
        reserved, blocked = 0, False
        for task in self._queue():
            if blocked and self.backfill == "none":
                return
            nodes = self._start(task, now, promises)
            if nodes is not None:
                task.start, task.nodes = now, nodes
                continue
            blocked = True
            if self.backfill == "reservations" and reserved < self.depth:
                reserved += 1
                self._promise(task, now, promises)

    def _start(self, task: Task, now: int, promises: list[tuple[int, int, Amounts]]) -> list[int] | None:
        """The nodes on which it starts now; None if it cannot."""
        free = self._free_throughout(task, now, promises)
        amounts = self._fit(task, free)
        if amounts is None:
            return None
        nodes = self._lowest(amounts)
        if self.room_w is None:
            return nodes
        if self._watts(task, nodes) * MICRO > self._free()[WATTS] and not self._running():
            usable = [number for number in self._idle() if task.may_use(self.nodes[number])]
            nodes = sorted(sorted(usable, key=lambda node: (self._watts(task, [node]), node))[: task.node_count])
        return nodes if self._watts(task, nodes) * MICRO <= min(free[WATTS], self._free()[WATTS]) else None

    def _idle(self) -> list[int]:
        busy = {node for task in self._running() for node in task.nodes}
        return [number for number in range(len(self.nodes)) if number not in busy]

    def _free(self) -> Amounts:
        """What is free now of each cell and licence."""
        free: Amounts = {self.cell(number): 0 for number in range(len(self.nodes))}
        for number in self._idle():
            free[self.cell(number)] += 1
        for name, count in self.licences.items():
            free[name] = count - sum(task.licences.get(name, 0) for task in self._running())
        if self.room_w is not None:
            free[WATTS] = MICRO * (self.room_w - sum(self._watts(task, task.nodes) for task in self._running()))
        return free

    def _held(self, task: Task) -> Amounts:
        held: Amounts = dict(task.licences)
        for number in task.nodes:
            held[self.cell(number)] = held.get(self.cell(number), 0) + 1
        if self.room_w is not None:
            held[WATTS] = MICRO * self._watts(task, task.nodes)
        return held

    def _planned_free(self, at: int, now: int, promises: list[tuple[int, int, Amounts]]) -> Amounts:
        """What the plan has free at an instant: an overdue job ends now."""
        free = self._free()
        for task in self._running():
            if max(now, (task.start or 0) + task.planned) <= at:
                for thing, count in self._held(task).items():
                    free[thing] += count
        for start, end, amounts in promises:
            if start <= at < end:
                for thing, count in amounts.items():
                    free[thing] -= count
        return free

    def _changes(self, now: int, promises: list[tuple[int, int, Amounts]]) -> list[int]:
        ends = [(task.start or 0) + task.planned for task in self._running()]
        edges = [edge for start, end, _ in promises for edge in (start, end)]
        return sorted({now, *(at for at in ends + edges if at > now)})

    def _least(self, start: int, length: int, now: int, promises: list[tuple[int, int, Amounts]]) -> Amounts:
        during = [start, *(at for at in self._changes(now, promises) if start < at < start + length)]
        each = [self._planned_free(at, now, promises) for at in during]
        return {thing: min(free[thing] for free in each) for thing in each[0]}

    def _free_throughout(self, task: Task, now: int, promises: list[tuple[int, int, Amounts]]) -> Amounts:
        free = self._free()
        if task.planned == 0:
            return free
        least = self._least(now, task.planned, now, promises)
        return {thing: min(count, least[thing]) for thing, count in free.items()}

    def _fit(self, task: Task, free: Amounts) -> Amounts | None:
        """What it takes, the plainest cells first; None if that is too little."""
        if any(free[name] < count for name, count in task.licences.items()):
            return None
        usable = sorted({self.cell(number) for number, node in enumerate(self.nodes) if task.may_use(node)})
        taken: Amounts = dict(task.licences)
        left = task.node_count
        for cell in usable:
            if own := min(left, max(free[cell], 0)):
                taken[cell] = own
                left -= own
        return None if left else taken

    def _lowest(self, amounts: Amounts) -> list[int]:
        idle = self._idle()
        cells = {cell: count for cell, count in amounts.items() if not isinstance(cell, str)}
        return sorted(
            node for cell, count in cells.items() for node in [n for n in idle if self.cell(n) == cell][:count]
        )

    def _promise(self, task: Task, now: int, promises: list[tuple[int, int, Amounts]]) -> None:
        length = max(TICK, task.planned)
        for at in self._changes(now, promises):
            free = self._least(at, length, now, promises)
            amounts = self._fit(task, free)
            if amounts is not None and self.room_w is not None:
                amounts[WATTS] = self._mean_microwatts(task)
            if amounts is not None and amounts.get(WATTS, 0) <= free.get(WATTS, 0):
                promises.append((at, at + length, amounts))
                return

    # Named nodes, whole or shared.

    def _plan(self, now: int) -> None:
        held = [(task, now, max(now + TICK, (task.start or 0) + task.planned), task.nodes) for task in self._running()]
        planned = 0
        for task in self._queue():
            found = self._earliest(task, now, held)
            if found is None:
                continue
            at, nodes = found
            if at == now:
                task.start, task.nodes = now, sorted(nodes)
            elif planned >= self.depth:
                continue
            else:
                planned += 1
            held.append((task, at, at + max(TICK, task.planned), nodes))

    def _earliest(
        self, task: Task, now: int, held: list[tuple[Task, int, int, list[int]]]
    ) -> tuple[int, list[int]] | None:
        def on(node: int, at: int) -> list[Task]:
            return [other for other, start, end, nodes in held if node in nodes and start <= at < end]

        def slots(node: int, at: int) -> int:
            return self.slots - sum(other.slots for other in on(node, at))

        def has(node: int, at: int) -> bool:
            others, own = on(node, at), self.nodes[node]
            enough = own.gpus - sum(o.gpus for o in others) >= task.gpus
            enough &= own.memory - sum(o.memory for o in others) >= task.memory
            return slots(node, at) >= task.slots and (enough or not self.is_shared)

        def licensed(at: int) -> bool:
            taken = [other.licences for other, start, end, _ in held if start <= at < end]
            return all(
                self.licences[name] - sum(other.get(name, 0) for other in taken) >= count
                for name, count in task.licences.items()
            )

        changes = sorted({now, *(edge for _, start, end, _ in held for edge in (start, end) if edge > now)})
        for at in changes:
            during = [at, *(change for change in changes if at < change < at + max(TICK, task.planned))]
            usable = [n for n, node in enumerate(self.nodes) if task.may_use(node) and all(has(n, t) for t in during)]
            if len(usable) >= task.node_count and all(map(licensed, during)):
                order = sorted(usable, key=lambda node: (self.cell(node)[0], slots(node, at), node))
                return at, order[: task.node_count]
        return None

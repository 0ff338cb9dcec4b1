"""Nodes that are switched off and on again, in plain Python: rules 8 to 23 of the operations page on machines.

Backfill `plan` on named nodes, whole or shared; `none`, `first-fit` and `reservations` on counted ones. No queues, no
failures, jobs killed at their walltimes. It knows the rules and no engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from plain_machine import TICK, Job

DAY = 86_400_000_000


@dataclass
class Task(Job):
    """A job that is planned for a microsecond at least."""

    is_known: bool = False

    @property
    def planned(self) -> int:
        return max(TICK, super().planned)

    @property
    def lasts(self) -> int:
        """Time that it really runs: it is killed at its walltime."""
        return self.runtime if self.walltime is None else min(self.runtime, self.walltime)


@dataclass
class Numbers:
    """Parameters of a sleep part in microseconds; `far` is infinite where a node never sleeps."""

    min_idle: int
    far: float
    stop: int
    start: int
    limit: float = inf
    min_on: int = 0
    exclude: frozenset[int] = frozenset()


@dataclass
class Node:
    """State of a node, and since when: on, off, booting or stopping.

    `kept` is the row of the job that it was woken for, until it serves or that job waits no more.
    """

    number: int
    state: str = "on"
    since: int = 0
    shutdowns: list[int] = field(default_factory=list)
    kept: int | None = None


@dataclass
class SleepyMachine:
    """A machine whose nodes sleep."""

    nodes: int
    slots: int
    boot: int
    shutdown: int
    numbers: Numbers
    backfill: str = "plan"
    depth: float = inf
    interval: int = 0
    as_backfilled: bool = False
    events: list[tuple[int, str, int]] = field(default_factory=list)

    def run(self, tasks: list[Task]) -> None:
        """Lets every job start and end."""
        self.tasks = tasks
        self.machine = [Node(number, since=min(task.submit for task in tasks)) for number in range(self.nodes)]
        owed: int | None = None
        self.alarm: int | None = None
        while any(task.end is None for task in tasks):
            now = min(at for at in (*self._to_come(), owed, self.alarm) if at is not None)
            has_pass = self._happens(now)
            if self.alarm == now:
                has_pass, self.alarm = True, None
            joined = [task for task in tasks if task.submit == now and not task.is_known]
            for task in joined:
                task.is_known = True
            # Rule 12.
            if (joined or owed == now) and (self.interval == 0 or now % self.interval == 0):
                has_pass = True
            if has_pass:
                owed = None
            elif joined:
                owed = now - now % self.interval + self.interval
            while has_pass:
                self._pass(now)
                has_pass = self._happens(now)

    def _to_come(self) -> list[int]:
        submits = [task.submit for task in self.tasks if not task.is_known]
        ends = [task.start + task.lasts for task in self._running()]
        turns = [node.since + self.boot for node in self.machine if node.state == "booting"]
        return submits + ends + turns + [n.since + self.shutdown for n in self.machine if n.state == "stopping"]

    def _running(self) -> list[Task]:
        return [task for task in self.tasks if task.start is not None and task.end is None]

    def _waiting(self) -> list[Task]:
        waiting = [task for task in self.tasks if task.is_known and task.start is None]
        return sorted(waiting, key=lambda task: (task.submit, task.row))

    def _happens(self, now: int) -> bool:
        """Ends, then nodes that are ready or off; whether there was any."""
        over = [task for task in self._running() if task.start + task.lasts == now]
        for task in over:
            task.end = now
            for number in task.nodes:
                if not any(number in other.nodes for other in self._running()):
                    self.machine[number].since = now
        turned = False
        for node in self.machine:
            if node.state == "booting" and node.since + self.boot == now:
                self._turn(node, "on", "ready", now)
            elif node.state == "stopping" and node.since + self.shutdown == now:
                self._turn(node, "off", "off", now)
            else:
                continue
            turned = True
        return bool(over) or turned

    def _turn(self, node: Node, state: str, kind: str, now: int) -> None:
        node.state, node.since = state, now
        self.events.append((now, kind, node.number))

    def _idle(self) -> list[Node]:
        busy = {number for task in self._running() for number in task.nodes}
        return [node for node in self.machine if node.state == "on" and node.number not in busy]

    def _wakes_at_once(self) -> bool:
        """Rule 9: a node that boots in no time can be had now, and is ranked as one that is on."""
        return self.backfill == "plan" and self.boot == 0 and self.numbers.start <= TICK

    def _back(self, node: Node, now: int, late: int) -> int:
        """Rule 8: until when the node cannot serve; a boot that is late lasts until `late`."""
        start = max(TICK, self.numbers.start)
        if node.state == "off":
            return now if self._wakes_at_once() else now + start
        if node.state == "stopping":
            return max(now, node.since + self.numbers.stop) + start
        return max(late, node.since + start) if node.state == "booting" else now

    def _pass(self, now: int) -> None:
        if self.backfill == "plan":
            self._named_pass(now)
        else:
            self._counted_pass(now)

    def _sleep(self, node: Node, now: int) -> None:
        self._turn(node, "stopping", "sleep", now)
        node.shutdowns.append(now)

    def _settle(self, now: int, due: list[int], is_spare) -> None:
        """Rules 16 and 21."""
        numbers, asleep = self.numbers, 0
        for node in reversed(self._idle()):
            if node.number in numbers.exclude:
                continue
            if now - node.since < numbers.min_idle:
                due.append(node.since + numbers.min_idle)
                continue
            today = sum(at // DAY == now // DAY for at in node.shutdowns)
            on = sum(other.state in ("on", "booting") for other in self.machine)
            if node.kept is not None:
                continue
            if today < numbers.limit and on - 1 >= numbers.min_on and is_spare(node, asleep):
                self._sleep(node, now)
                asleep += 1
        self.alarm = min(due, default=None)

    # Named nodes: rules 8 to 10, 16 and 18.

    def _named_pass(self, now: int) -> None:
        held = [
            (task.nodes, task.slots, now, end if (end := task.start + task.planned) > now else now + TICK)
            for task in self._running()
        ]
        first: dict[int, tuple[int, int]] = {}
        planned = 0
        for task in self._waiting():
            found = self._earliest(held, now, task)
            if found is None:
                continue
            at, nodes = found
            if at == now and all(self.machine[number].state == "on" for number in nodes):
                task.start, task.nodes = now, nodes
            elif planned >= self.depth and at > now:
                continue
            else:
                planned += 1
                for number in nodes:
                    if number not in first or at < first[number][0]:
                        first[number] = at, task.row
            held.append((nodes, task.slots, at, at + task.planned))
        self._release()
        start, due = max(TICK, self.numbers.start), []
        for node in self.machine:
            if node.state == "off" and node.number in first:
                at, row = first[node.number]
                # What is late ends a tick from now, at every pass anew: a wake-up by then is not put off.
                if at - start <= now + TICK:
                    self._turn(node, "booting", "wake", now)
                    node.kept = row
                else:
                    due.append(at - start)

        def is_spare(node: Node, _asleep: int) -> bool:
            away = first.get(node.number, (inf, 0))[0] - now
            return self.numbers.far < inf and away >= self.numbers.far and away > self.numbers.stop + start

        self._settle(now, due, is_spare)

    def _release(self) -> None:
        """Rule 9: a node is kept until it serves, or its job waits no more."""
        serving = {number for task in self._running() for number in task.nodes}
        waiting = {task.row for task in self._waiting()}
        for node in self.machine:
            if node.number in serving or node.kept not in waiting:
                node.kept = None

    def _earliest(self, held, now: int, task: Task) -> tuple[int, list[int]] | None:
        backs = [self._back(node, now, now + TICK) for node in self.machine]

        def claim(number: int) -> int:
            node = self.machine[number]
            if node.kept is not None and not self._wakes_at_once():
                return 0 if node.kept == task.row else 3
            return 2 if node.state in ("off", "stopping") and backs[number] > now else 1

        def free(number: int, at: int) -> int:
            if at < backs[number]:
                return 0
            taken = sum(slots for nodes, slots, start, end in held if number in nodes and start <= at < end)
            return max(0, self.slots - taken)

        changes = sorted({now, *backs, *(end for *_, end in held), *(start for *_, start, _ in held)})
        for at in (instant for instant in changes if instant >= now):
            during = [at, *(change for change in changes if at < change < at + task.planned)]
            fits = [n for n in range(self.nodes) if all(free(n, t) >= task.slots for t in during)]
            if len(fits) >= task.node_count:
                fits.sort(key=lambda number: (claim(number), free(number, at), number))
                return at, sorted(fits[: task.node_count])
        return None

    # Counted nodes: rule 20.

    def _counted_pass(self, now: int) -> None:
        changes = self._count(now)
        held = 0
        for task in self._waiting():
            need, length = task.node_count, task.runtime if task.walltime is None else task.walltime
            idle = self._idle()
            fits = len(idle) >= need and (length == 0 or least(changes, now, now + length) >= need)
            if fits:
                task.start, task.nodes = now, [node.number for node in idle[:need]]
                if length > 0:
                    changes += [(now, -need), (now + length, need)]
            elif self.backfill == "none":
                break
            elif self.backfill == "reservations" and held < self.depth:
                at = fit(changes, now, need, task.planned)
                if at is not None:
                    held += 1
                    changes += [(at, -need), (at + task.planned, need)]
        self._rest(now)

    def _count(self, now: int) -> list[tuple[int, int]]:
        """Changes of how many nodes are free: what is overdue is free now."""
        ends = [(max(now, task.start + length_of(task)), task.node_count) for task in self._running()]
        backs = [(self._back(node, now, now), 1) for node in self.machine if node.state != "on"]
        return [(now, len(self._idle())), *ends, *backs]

    def _rest(self, now: int) -> None:
        numbers, start = self.numbers, max(TICK, self.numbers.start)
        changes = self._count(now)
        over: list[tuple[int, int]] = []
        earliest = now
        soon = max([now, *(self._back(node, now, now) for node in self.machine if node.state != "on")])
        depth, held = self.depth if self.backfill == "reservations" else 0, 0
        for task in self._waiting():
            at = fit(changes, earliest, task.node_count, task.planned)
            if self.as_backfilled and self.backfill != "none" and (at is None or at > soon):
                # Only the first jobs that do not fit hold nodes.
                if held >= depth:
                    continue
                held += 1
            if at is None:
                continue
            if self.backfill == "none":
                earliest = at
            over += [(at, -task.node_count), (at + task.planned, task.node_count)]
            changes += over[-2:]
        asleep = [node for node in self.machine if node.state in ("off", "stopping")]
        awake = [*self._count(now), *((self._back(node, now, now), -1) for node in asleep), *over]
        spare = {at: level(awake, at) for at, _ in awake}
        lack = -min(value for at, value in spare.items() if at <= now + start)
        later = [at for at, value in spare.items() if at > now + start and -value > max(lack, 0)]
        off = [node for node in self.machine if node.state == "off"]
        for node in off[: max(lack, 0)]:
            self._turn(node, "booting", "wake", now)

        def is_spare(_node: Node, gone: int) -> bool:
            by, before = now + numbers.stop + start, now + numbers.far
            return numbers.far < inf and gone < min(v for at, v in spare.items() if at <= by or at < before)

        self._settle(now, [min(later) - start] if later else [], is_spare)


def length_of(task: Task) -> int:
    """How long a job is planned to run once it does."""
    return task.runtime if task.walltime is None else task.walltime


def level(changes: list[tuple[int, int]], at: int) -> int:
    """How much there is at an instant."""
    return sum(by for when, by in changes if when <= at)


def least(changes: list[tuple[int, int]], start: int, end: int) -> int:
    """The least there is from one instant to before another."""
    return min(level(changes, at) for at in {start, *(when for when, _ in changes if start < when < end)})


def fit(changes: list[tuple[int, int]], earliest: int, need: int, length: int) -> int | None:
    """The earliest instant from which there is as much for so long."""
    for at in sorted({earliest, *(when for when, _ in changes if when > earliest)}):
        if least(changes, at, at + length) >= need:
            return at
    return None

"""A pass of the backfill `plan` in plain Python: named nodes, reservations and urgent jobs (rules 8 to 10, 33, 34).

Where nodes sleep: rules 9 and 18.

Where nodes differ: rules 5 and 8 to 10 of the page's section on them.

Under a budget: rules 48 to 51 of the page on power in time.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import NamedTuple

from plain_counted import back, candidate, is_away, wakes_at_once
from plain_jobs import TICK, Job
from plain_machine import Machine
from plain_rest import named_rest


class Hold(NamedTuple):
    """Slots of nodes that are taken; `end` is infinite where unknown."""

    nodes: list[int]
    slots: int
    start: int
    end: float
    job: Job | None = None
    picowatts: int = 0

    def is_at(self, at: int) -> bool:
        return self.start <= at < self.end

    def has(self, node: int, at: int) -> bool:
        return node in self.nodes and self.is_at(at)


def named_pass(machine: Machine) -> None:
    """One pass over the queue of a machine."""
    one = _Pass(machine)
    one.run()
    if machine.sleep is not None:
        named_rest(machine, one.first_starts())


class _Pass:
    def __init__(self, machine: Machine) -> None:
        self.machine, self.now = machine, machine.now
        self.reserved = self.stay = 0
        self.promised: list[Hold] = []

    def run(self) -> None:
        """Urgent jobs, then the suspended ones (rule 34), then all others."""
        machine = self.machine
        waiting = machine.in_order()
        for job in [job for job in waiting if machine.queue_of(job).preempts]:
            if not machine.is_full(job):
                self._serve_urgent(job)
        for job in machine.in_order("suspended"):
            # Under a budget it is emergencies that suspend jobs, and recovery that resumes them.
            if machine.power is None:
                self._look_at_suspended(job)
        waiting = [job for job in waiting if not machine.queue_of(job).preempts]
        late = [] if machine.vahrm is None else machine.vahrm.starving(waiting)
        if not all(self._serve_late(job) for job in late if not machine.is_full(job)):
            return
        waiting = [job for job in waiting if job not in late]
        while waiting:
            if self.reserved >= (machine.depth or 0) and machine.candidates is not None:
                # All that may be planned for later are: the others have their turns in an order of their own.
                waiting.sort(key=self._candidate)
            job = waiting.pop(0)
            if not machine.is_full(job):
                self._settle(job, self._earliest(job, self._holds()))

    def _serve_late(self, job: Job) -> bool:
        """One that has waited too long starts now, or no job does."""
        found = self._earliest(job, self._holds())
        if found is None or found[0] > self.now:
            return False
        self.machine.begin(job, found[1], "reservation")
        return True

    def _candidate(self, job: Job) -> tuple[int, int, int, int]:
        machine = self.machine
        return -machine.queue_of(job).priority, candidate(machine, job), job.eligible or 0, job.row

    def _settle(self, job: Job, found: tuple[int, list[int]] | None) -> None:
        """Rule 10."""
        machine, length = self.machine, self._length(job)
        if found is not None and found[0] == self.now and not any(is_away(machine, number) for number in found[1]):
            machine.begin(job, found[1], "backfill" if self.stay else None)
            return
        self.stay += 1
        if found is None or found[0] - self.now > machine.horizon:
            return
        # One that is to start now, on nodes that are off and wake at once, has them woken whatever else is planned.
        if found[0] > self.now and self.reserved >= (machine.depth or 0):
            return
        self.reserved += 1
        takes = 0 if machine.power is None else machine.power.least_draw(job, found[1])
        self.promised.append(Hold(found[1], job.slots, found[0], found[0] + length, job, takes))

    def _length(self, job: Job) -> int:
        return max(TICK, self.machine.length(job))

    def _serve_urgent(self, job: Job) -> None:
        """Rule 33."""
        found = self._earliest(job, self._holds())
        if found is None or found[0] != self.now:
            makes_way = self.machine.queue_of(job).preempts
            holds = self._holds(without=makes_way)
            found = self._earliest(job, holds)
            if found is not None and found[0] == self.now:
                found = self.now, self._cleared(job, holds, makes_way)
        self._settle(job, found)

    def _cleared(self, job: Job, holds: list[Hold], makes_way: Collection[str]) -> list[int]:
        """Nodes that an urgent job starts on, once others have made way."""
        machine = self.machine
        own = machine.usable(job)
        during = self._during(holds, self.now, self._length(job))
        fits = [node for node in own if self._has_room(node, job, holds, during)]
        nodes = sorted(sorted(fits, key=lambda node: (self._used(node), node))[: job.node_count])
        for node in nodes:
            while machine.slots - self._used(node) < job.slots:
                there = [other for other in self._running(node) if other.queue in makes_way]
                last = max(there, key=lambda other: (other.start, other.row))
                machine.suspend(last)
        return nodes

    def _look_at_suspended(self, job: Job) -> None:
        """Rule 34: room next to running jobs and what this pass started and planned."""
        left = max(TICK, self._left(job))
        holds = self._holds(without=None)
        for at in self._changes(holds):
            during = self._during(holds, at, left)
            if all(self._has_room(node, job, holds, during) for node in job.nodes):
                if at == self.now:
                    self.machine.resume(job)
                else:
                    self.promised.append(Hold(job.nodes, job.slots, self.now, at + left, job))
                return
        self.promised.append(Hold(job.nodes, job.slots, self.now, inf, job))

    def _left(self, job: Job) -> int:
        """Rest of its planned length."""
        still = 0 if job.since is None else self.now - job.since
        return job.run.due + still - self.now

    def _running(self, node: int) -> list[Job]:
        return [job for job in self.machine.jobs if job.state == "running" and node in job.nodes]

    def _used(self, node: int) -> int:
        return sum(job.slots for job in self._running(node))

    def _holds(self, without: Collection[str] | None = ()) -> list[Hold]:
        """Runs that hold slots, without the jobs of some queues; None: without any that are suspended.

        In a pass that has looked at the suspended jobs they hold what was promised to them, and nothing else.
        """
        holds = [*self.promised, *self._outages(), *self._away(), *self._withheld()]
        looked = {hold.job.row for hold in self.promised if hold.job is not None}
        for job in self.machine.jobs:
            if without is not None and job.queue in without:
                continue
            if job.state == "running":
                holds.append(self._run(job))
            elif job.state == "suspended" and without is not None and job.row not in looked:
                holds.append(Hold(job.nodes, job.slots, self.now, inf, job))
        return holds

    def _run(self, job: Job) -> Hold:
        """Rule 44."""
        power = self.machine.power
        if power is None:
            return Hold(job.nodes, job.slots, self.now, self.now + max(TICK, self._left(job)), job)
        end = max(self.now + TICK, self.machine.release(job))
        return Hold(job.nodes, job.slots, self.now, end, job, power.running_least_draw(job))

    def _withheld(self) -> list[Hold]:
        """Rule 20: watts that no job starts with in this pass."""
        power = self.machine.power
        watts = 0 if power is None else power.withheld
        return [Hold([], 0, self.now, self.now + TICK, None, watts)] if watts else []

    def _outages(self) -> list[Hold]:
        """Rule 8: no repair is expected; rule 31: what is announced is known."""
        machine = self.machine
        down = [
            Hold([number], machine.slots, self.now, inf if node.failed else max(node.windows))
            for number, node in enumerate(machine.state)
            if node.is_down
        ]
        return down + [
            Hold([one.about], machine.slots, one.time, one.until) for one in machine.known() if self.now < one.time
        ]

    def _away(self) -> list[Hold]:
        """Rule 8: nodes that are off, shut down or boot."""
        numbers = [number for number in range(self.machine.nodes) if is_away(self.machine, number)]
        return [Hold([number], self.machine.slots, self.now, self._back(number)) for number in numbers]

    def _back(self, number: int) -> int:
        is_there = wakes_at_once(self.machine) and self.machine.state[number].power == "off"
        return self.now if is_there else back(self.machine, number, TICK)

    def _claim(self, number: int, job: Job) -> int:
        """Rule 9: nodes kept for the job, those for none that are on, those that sleep, those kept for others."""
        node = self.machine.state[number]
        if node.kept is not None and not wakes_at_once(self.machine):
            return 0 if node.kept == job.row else 3
        return 2 if node.power in ("off", "stopping") and self._back(number) > self.now else 1

    def first_starts(self) -> dict[int, tuple[int, int]]:
        """The first planned start on each node, and the row of its job."""
        first: dict[int, tuple[int, int]] = {}
        for hold in (hold for hold in self.promised if hold.job and hold.job.state == "queued"):
            for number in hold.nodes:
                if number not in first or hold.start < first[number][0]:
                    first[number] = hold.start, hold.job.row
        return first

    def _changes(self, holds: list[Hold]) -> list[int]:
        edges = [edge for hold in holds for edge in (hold.start, hold.end)]
        believed = () if self.machine.power is None else self.machine.power.ahead
        return sorted({self.now, *(int(edge) for edge in (*edges, *believed) if self.now < edge < inf)})

    def _during(self, holds: list[Hold], at: int, length: int) -> list[int]:
        return [at, *(change for change in self._changes(holds) if at < change < at + length)]

    def _has_room(self, node: int, job: Job, holds: list[Hold], during: list[int]) -> bool:
        return all(self._has(node, job, holds, instant) for instant in during)

    def _has(self, node: int, job: Job, holds: list[Hold], at: int) -> bool:
        if self._free(node, holds, at) < job.slots:
            return False
        # A job with whole nodes has all that is on them.
        there = [] if self.machine.slots == 1 else [hold.job for hold in holds if hold.job and hold.has(node, at)]
        own = self.machine.offer(node)
        return (
            own.gpus - sum(other.gpus for other in there) >= job.gpus
            and own.memory - sum(other.memory for other in there) >= job.memory
        )

    def _free(self, node: int, holds: list[Hold], at: int) -> int:
        return max(0, self.machine.slots - sum(hold.slots for hold in holds if hold.has(node, at)))

    def _is_licensed(self, job: Job, holds: list[Hold], at: int) -> bool:
        taken = [hold.job.licences for hold in holds if hold.job and hold.start <= at < hold.end]
        return all(
            self.machine.licences[name] - sum(other.get(name, 0) for other in taken) >= count
            for name, count in job.licences.items()
        )

    def _earliest(self, job: Job, holds: list[Hold]) -> tuple[int, list[int]] | None:
        """Rule 9: the earliest time, and the plainest nodes, of these the fullest then.

        Under a budget the first at which these or, if they take too much, the cheapest have the watts: rule 49.
        """
        machine, length = self.machine, self._length(job)
        sign = -1 if machine.queue_of(job).spreads else 1
        changes, usable = self._changes(holds), machine.usable(job)
        of_node = {node: [hold for hold in holds if node in hold.nodes] for node in usable}
        for at in changes:
            during = [at, *(change for change in changes if at < change < at + length)]
            if not all(self._is_licensed(job, holds, instant) for instant in during):
                continue
            fits = [node for node in usable if self._has_room(node, job, of_node[node], during)]
            if len(fits) >= job.node_count:
                ranks = {
                    node: (machine.cell(node), self._claim(node, job), sign * self._free(node, of_node[node], at), node)
                    for node in fits
                }
                nodes = self._affordable(job, sorted(fits, key=ranks.__getitem__), holds, during)
                if nodes is not None:
                    return at, sorted(nodes)
        return None

    def _affordable(self, job: Job, ranked: list[int], holds: list[Hold], during: list[int]) -> list[int] | None:
        """The first nodes or, if these take more watts than are left at some instant, the cheapest."""
        first, power = ranked[: job.node_count], self.machine.power
        if power is None:
            return first
        # A stable sort: of nodes that cost the same, the first.
        cheapest = sorted(ranked, key=lambda node: power.least_draw(job, [node]))[: job.node_count]
        left = min(
            power.at(instant) - sum(hold.picowatts for hold in holds if hold.is_at(instant)) for instant in during
        )
        return next((nodes for nodes in (first, cheapest) if power.least_draw(job, nodes) <= left), None)

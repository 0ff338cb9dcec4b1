"""A pass of the backfills that count, in plain Python: `none`, `first-fit` and reservations.

What is counted are slots of nodes, or nodes of cells where nodes differ, licences, and watts under a budget: the rules
of the sections "Backfill", "Starvation", "A power budget" and "Heterogeneous nodes" of the page on rules, and rules 15
to 18 of that on power in time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

from plain_draws import microwatts_down, microwatts_up
from plain_jobs import TICK, Job
from plain_machine import Machine
from plain_matching import match
from plain_nodes import Place
from plain_sizes import resize

if TYPE_CHECKING:
    from collections.abc import Sequence

Amounts = dict[object, int]
"""Slots of cells, licences, and watts."""
WATTS = "picowatts"
HELD = "microwatts that reservations hold"


def count_pass(machine: Machine) -> None:
    """One pass over the queues of a machine: each set of nodes that queues have is one by itself (rule 6).

    Where they share nodes, or the watts of a budget, all jobs stand in one order.
    """
    machine.blocked = set()
    if machine.power is None:
        resize(machine)
    for one in passes(machine):
        one.run()


def passes(machine: Machine) -> list[CountedPass]:
    """One for each set of nodes that is scheduled by itself."""
    if machine.has_lanes:
        return [_LanedPass(machine)]
    return [CountedPass(machine, pool) for pool in pools(machine)]


def pools(machine: Machine) -> list[tuple[int, ...]]:
    """Sets of nodes that queues of jobs have."""
    if not machine.queues:
        return [tuple(range(machine.nodes))]
    return sorted({tuple(machine.queue_of(job).nodes) for job in machine.jobs})


def waiting(machine: Machine, pool: tuple[int, ...]) -> list[Job]:
    """Queued jobs of a pool in policy order; those that have waited too long go first."""
    own = [job for job in machine.in_order() if tuple(machine.queue_of(job).nodes) == pool]
    late = [] if machine.vahrm is None else machine.vahrm.starving(own)
    return [*late, *(job for job in own if job not in late)]


class Plan:
    """Free amounts from each of its times on, until the next: slots of cells, licences and watts."""

    def __init__(self, times: Sequence[int], free: Sequence[Amounts]) -> None:
        self.times, self.free = list(times), list(free)

    def least(self, start: int, length: int) -> Amounts:
        """The least of each from an instant until a length is over."""
        first = max(bisect_left(self.times, start + 1) - 1, 0)
        last = max(bisect_left(self.times, start + length), first + 1)
        during = [self.exact(each) for each in self.free[first:last]]
        return during[0] if len(during) == 1 else {thing: min(each[thing] for each in during) for thing in during[0]}

    @staticmethod
    def exact(free: Amounts) -> Amounts:
        """Watts in whole microwatts."""
        return free if WATTS not in free else {**free, WATTS: microwatts_down(free[WATTS]) + free[HELD]}

    def take(self, start: int, length: int, amounts: Amounts) -> None:
        for place in range(self._cut(start), self._cut(start + length)):
            free = self.free[place]
            self.free[place] = {thing: free[thing] - amounts.get(thing, 0) for thing in free}

    def _cut(self, time: int) -> int:
        place = bisect_left(self.times, time)
        if place == len(self.times) or self.times[place] != time:
            self.times.insert(place, time)
            self.free.insert(place, self.free[place - 1])
        return place


class CountedPass:
    """A pass over a set of nodes."""

    def __init__(self, machine: Machine, pool: tuple[int, ...]) -> None:
        self.machine, self.pool, self.now = machine, pool, machine.now
        self.made: Plan | None = None
        self.blocked, self.closed = set[int](), set[int]()
        """Lanes in which a job has no place, and of which no more may start."""
        self.held = Counter[int]()
        """Reservations by lane."""
        self.together: list[tuple[Job, dict[Place, int]]] = []
        """Starts whose nodes are matched together, and how many each has of each cell."""
        self.need, self.is_by_itself = 0, False

    @property
    def plan(self) -> Plan:
        """Made when it is first asked: until then nothing was reserved."""
        if self.made is None:
            self.made = self._planned()
        return self.made

    def run(self) -> None:
        machine = self.machine
        if machine.patience is not None:
            self._run_with_patience(self.turns(), machine.patience)
            return
        late, turns = self.late(), self.late_first()
        while turns:
            job = turns.pop(0)
            lane, is_late = self.lane(job), job in late
            if lane in self.closed or machine.is_full(job) or self._starts(job, is_late=is_late):
                continue
            if machine.depth is None or is_late:
                self.closed.add(lane)
            elif self.held[lane] < machine.depth and self._reserve(job):
                self.held[lane] += 1
                if self.held[lane] == machine.depth and machine.candidates is not None:
                    turns.sort(key=self._candidate)

    def _run_with_patience(self, turns: Sequence[Job], patience: float) -> None:
        """Long waits go first, the longest of all at the front, then all that fit in policy order."""
        machine = self.machine
        long = [job for job in turns if self.now - (job.eligible or 0) > patience]
        tried = set[int]()
        for job in sorted(long, key=lambda job: (job.eligible or 0, job.row)):
            lane = self.lane(job)
            if self.held[lane] != machine.depth and not machine.is_full(job):
                tried.add(job.row)
                if not self._starts(job, is_late=True):
                    self._reserve(job)
                    self.held[lane] += 1
        overtakes, blocked = set(self.blocked), list[Job]()
        for job in turns:
            if job.row not in tried and not machine.is_full(job) and not self._starts(job):
                blocked.append(job)
        # No job overtakes one of which as many are running in the end as may.
        waiting = [job for job in blocked if not machine.is_full(job)]
        for place, job in enumerate(turns):
            if job.row not in tried and job.started_by == "backfill" and job.start == self.now and job.is_there:
                passes = any(turns.index(other) < place and self.lane(other) == self.lane(job) for other in waiting)
                if not passes and self.lane(job) not in overtakes:
                    machine.tell_start(job, None)

    def _starts(self, job: Job, *, is_late: bool = False) -> bool:
        """Starts it if it has a place."""
        lane, nodes = self.lane(job), self._nodes_for(job)
        if nodes is None:
            self.blocked.add(lane)
            self.machine.blocked.add(job.row)
            return False
        self._start(job, nodes, "backfill" if lane in self.blocked else "reservation" if is_late else None)
        return True

    def turns(self) -> list[Job]:
        """Queued jobs in policy order."""
        return waiting(self.machine, self.pool)

    def late(self) -> list[Job]:
        """Those that have waited too long."""
        return [] if self.machine.vahrm is None else self.machine.vahrm.starving(self.turns())

    def late_first(self) -> list[Job]:
        """Queued jobs in policy order, those that have waited too long before all others."""
        late = self.late()
        return [*late, *(job for job in self.turns() if job not in late)]

    def lane(self, job: Job) -> int:
        """Jobs of which one that waits keeps others waiting."""
        return 0

    def cell(self, number: int) -> Place:
        """Nodes of which only the number counts."""
        return self.machine.cell(number)

    def _candidate(self, job: Job) -> tuple[int, int, int, int]:
        priority = self.machine.queue_of(job).priority
        return -priority, candidate(self.machine, job), job.eligible or 0, job.row

    # Where a job starts.

    def _nodes_for(self, job: Job) -> list[int] | None:
        """The nodes on which it starts now; None if it cannot."""
        free, length = self._free(), self.machine.length(job)
        needs_plan = self.machine.power is not None and self.machine.power.falls
        is_bare = length == 0 or (self.made is None and not needs_plan)
        least = free if is_bare else self.plan.least(self.now, length)
        split = self.split(job, {thing: min(count, least[thing]) for thing, count in free.items()})
        nodes = None if split is None else self._choose(job, split)
        power, self.is_by_itself = self.machine.power, False
        if nodes is None or power is None:
            return nodes
        if (need := self._need(job, nodes)) > power.room_to_start():
            if any(other.state == "running" for other in self.machine.jobs):
                return None
            # Nothing runs, so nothing will end that it could wait for: where it adds least.
            usable = [n for n in self._idle() if n in self.machine.usable(job) and self.machine.free(n) >= job.slots]
            nodes = sorted(sorted(usable, key=lambda node: (power.least_on(job, node), node))[: job.node_count])
            need, self.is_by_itself = power.least_draw(job, nodes), True
        self.need = need
        if need > power.room_to_start() or (not is_bare and microwatts_up(need) > least[WATTS]):
            return None
        return nodes

    def split(self, job: Job, free: Amounts) -> dict[Place, int] | None:
        """Nodes that it takes of each cell, the plainest first; None if that is too few, or licences are."""
        if any(free[name] < count for name, count in job.licences.items()):
            return None
        found, left = dict[Place, int](), job.node_count
        for cell in sorted({self.cell(number) for number in self.machine.usable(job)}):
            if own := min(left, max(free[cell], 0) // job.slots):
                found[cell] = own
                left -= own
        return None if left else found

    def _choose(self, job: Job, split: dict[Place, int]) -> list[int] | None:
        """Nodes of each cell, by placement."""
        machine, found = self.machine, list[int]()
        for cell, count in split.items():
            own = [n for n in self.pool if self.cell(n) == cell and machine.free(n) >= job.slots]
            found += sorted(own, key=lambda number: (machine.rank(job, number), number))[:count]
        return sorted(found) if len(found) == job.node_count else None

    def _match(self, starts: Sequence[tuple[Job, dict[Place, int]]]) -> dict[int, list[int]]:
        """Nodes of jobs that are placed together."""
        free: dict[Place, list[int]] = {}
        for number in [*self._idle(), *(node for job, _ in self.together for node in job.nodes)]:
            free.setdefault(self.cell(number), []).append(number)
        return match(self.machine, starts, free)

    def _split_on(self, nodes: Sequence[int]) -> dict[Place, int]:
        return dict(Counter(map(self.cell, nodes)))

    def _need(self, job: Job, nodes: list[int]) -> int:
        """Watts that it adds: those of its nodes, or by which all that are matched together draw more with it."""
        power = self.machine.power
        assert power is not None
        if not self.machine.matches:
            return power.least_draw(job, nodes)
        starts = [*self.together, (job, self._split_on(nodes))]
        found, before = self._match(starts), sum(power.running_least_draw(other) for other, _ in self.together)
        return max(0, sum(power.least_draw(other, found[other.row]) for other, _ in starts) - before)

    def _start(self, job: Job, nodes: list[int], started_by: str | None) -> None:
        self.machine.begin(job, nodes, started_by)
        held = self._held(job)
        if self.machine.matches and not self.is_by_itself:
            self.together.append((job, self._split_on(nodes)))
            held |= {WATTS: self.need} if self.machine.power is not None else {}
        if self.made is not None:
            self.made.take(self.now, self.machine.length(job), held)
        found = self._match(self.together) if self.together else {}
        for other, _ in self.together:
            self.machine.move(other, found[other.row])

    def _reserve(self, job: Job) -> bool:
        """Holds what it takes at the earliest instant; False if there is none."""
        length, power = max(TICK, self.machine.length(job)), self.machine.power
        need: Amounts = {}
        if power is not None:
            if power.best_least_draw(job) > power.most:
                return False
            need[HELD] = min(power.mean_least_draw(job), microwatts_down(power.most))
        for at in self.plan.times:
            least = self.plan.least(at, length)
            split = self.split(job, least)
            if split is not None and (power is None or need[HELD] <= least[WATTS]):
                if power is not None and not self.held.total():
                    power.promises.append((self.now, job.row, at))
                amounts: Amounts = {cell: count * job.slots for cell, count in split.items()}
                self.plan.take(at, length, amounts | dict(job.licences) | need)
                return True
        if power is not None:
            power.passed_over.add(job.row)
        return False

    # What is free when.

    def _idle(self) -> list[int]:
        return [number for number in self.pool if self.machine.free(number)]

    def _held(self, job: Job) -> Amounts:
        """Slots, licences and watts of a running job."""
        held: Amounts = dict(job.licences)
        for number in job.nodes:
            held[self.cell(number)] = held.get(self.cell(number), 0) + job.slots
        if self.machine.power is not None:
            held[WATTS] = self.machine.power.running_least_draw(job)
        return held

    def _free(self) -> Amounts:
        """Free amounts of each cell and licence now."""
        machine = self.machine
        free: Amounts = dict.fromkeys((self.cell(number) for number in self.pool), 0)
        for number in self._idle():
            free[self.cell(number)] += machine.free(number)
        held = [job for job in machine.jobs if job.is_there] if machine.licences else []
        for name, count in machine.licences.items():
            free[name] = count - sum(job.licences.get(name, 0) for job in held)
        return free

    def _planned(self) -> Plan:
        machine = self.machine
        back = [(at, {self.cell(number): units}) for at, number, units in nodes_back(machine, self.pool)]
        back += [(machine.release(job), self._held(job)) for job in machine.running if job.nodes[0] in self.pool]
        believed = {} if machine.power is None else machine.power.ahead
        times = sorted({self.now, *believed, *(max(at, self.now) for at, _ in back)})
        every = []
        for time in times:
            free = self._free()
            if believed:
                free[WATTS] = believed[max(at for at in believed if at <= time)]
                free[WATTS] -= sum(held[WATTS] for at, held in back if at > time and WATTS in held)
                free[HELD] = 0
            for at, held in back:
                for thing, count in held.items():
                    if at <= time and thing != WATTS:
                        free[thing] += count
            every.append(free)
        return Plan(times, every)


class _LanedPass(CountedPass):
    """A pass over sets of nodes that share nodes, or watts: each has a head and as many reservations as alone."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine, tuple(range(machine.nodes)))
        alike: dict[tuple[Place, tuple[bool, ...]], list[int]] = {}
        for number in self.pool:
            alike.setdefault((machine.cell(number), tuple(number in own for own in machine.sets)), []).append(number)
        self.cells = {
            number: (*kind, sum(within), nodes[0]) for (kind, within), nodes in alike.items() for number in nodes
        }

    def cell(self, number: int) -> Place:
        """The plainest first, of these those that are in the fewest sets, then those with the lowest numbers."""
        return self.cells[number]

    def turns(self) -> list[Job]:
        return self.machine.in_order()

    def lane(self, job: Job) -> int:
        """Each set has one."""
        return self.machine.sets.index(tuple(self.machine.queue_of(job).nodes))


def candidate(machine: Machine, job: Job) -> int:
    """Place of one that is looked at behind the last reservation."""
    length = machine.length(job)
    ranks = {"fcfs": 0, "shortest": length, "longest": -length, "smallest": job.width, "largest": -job.width}
    return (ranks | {"smallest-area": job.width * length})[str(machine.candidates)]


def nodes_back(machine: Machine, pool: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Times at which nodes of a pool come back from maintenance or sleep, and how many slots each has."""
    found = [
        (max(machine.state[number].windows), number, machine.slots)
        for number in pool
        if machine.state[number].windows and not machine.state[number].failed
    ]
    return found + [(back(machine, number), number, machine.slots) for number in pool if is_away(machine, number)]


def is_away(machine: Machine, number: int) -> bool:
    """It sleeps, or is on its way there or back."""
    return machine.state[number].power != "on"


def wakes_at_once(machine: Machine) -> bool:
    """Rule 9: a node that boots in no time counts as on where nodes are named, and no job makes way for others."""
    sleep = machine.sleep
    makes_way = any(queue.preempts for queue in machine.queues)
    return sleep is not None and sleep.boot == 0 and sleep.start <= TICK and not makes_way


def back(machine: Machine, number: int, late: int = 0) -> int:
    """Rule 8: from when on a node that sleeps can serve; a boot that is late ends so long from now."""
    node, now, sleep = machine.state[number], machine.now, machine.sleep
    assert sleep is not None
    if node.power == "booting":
        return max(now + late, node.since + machine.wakes_in(number))
    begun = now if node.power == "off" else max(now, node.since + sleep.stop)
    return begun + machine.wakes_in(number)

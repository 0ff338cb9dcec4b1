"""A pass of the backfills that count nodes that differ, cell by cell, with licences and under a budget of whole watts.

Rules 5, 6, 10 and 11 of the page's section "Heterogeneous nodes".
"""

from __future__ import annotations

from plain_machine import TICK, Job, Machine, Place

MICRO = 1_000_000
WATTS = "microwatts"

Amounts = dict[object, int]
"""Nodes of cells, licences and microwatts."""


def cell_pass(machine: Machine) -> None:
    """One pass over the queue of a machine."""
    one = _Pass(machine)
    reserved, blocked = 0, False
    for job in machine.in_order():
        if machine.is_full(job):
            continue
        nodes = one.nodes_for(job)
        if nodes is not None:
            machine.begin(job, nodes, is_blocked=blocked)
            continue
        blocked = True
        if machine.depth is None:
            return
        if reserved < machine.depth:
            reserved += one.promise(job)


class _Pass:
    def __init__(self, machine: Machine) -> None:
        self.machine, self.now = machine, machine.now
        self.promises: list[tuple[int, int, Amounts]] = []

    @property
    def running(self) -> list[Job]:
        return [job for job in self.machine.jobs if job.state == "running"]

    def nodes_for(self, job: Job) -> list[int] | None:
        """The nodes on which it starts now; None if it cannot."""
        machine, free = self.machine, self._free_throughout(job)
        amounts = self._fit(job, free)
        if amounts is None:
            return None
        nodes = self._lowest(amounts)
        if machine.room_w is None:
            return nodes
        if machine.watts(job, nodes) * MICRO > self._free()[WATTS] and not self.running:
            usable = [number for number in self._idle() if machine.may_use(job, number)]
            nodes = sorted(sorted(usable, key=lambda node: (machine.watts(job, [node]), node))[: job.node_count])
        return nodes if machine.watts(job, nodes) * MICRO <= min(free[WATTS], self._free()[WATTS]) else None

    def promise(self, job: Job) -> int:
        """Holds what it takes at the earliest instant; 0 if there is none."""
        length = max(TICK, job.planned)
        for at in self._changes():
            free = self._least(at, length)
            amounts = self._fit(job, free)
            if amounts is not None and self.machine.room_w is not None:
                amounts[WATTS] = self._mean_microwatts(job)
            if amounts is not None and amounts.get(WATTS, 0) <= free.get(WATTS, 0):
                self.promises.append((at, at + length, amounts))
                return 1
        return 0

    def _mean_microwatts(self, job: Job) -> int:
        """The mean over the nodes that may serve it, rounded up, no more than there is."""
        adds = self.machine.adds(job)
        return min(-(-sum(adds) * job.node_count * MICRO // len(adds)), (self.machine.room_w or 0) * MICRO)

    def _idle(self) -> list[int]:
        return [number for number in range(self.machine.nodes) if self.machine.free(number)]

    def _free(self) -> Amounts:
        """What is free now of each cell and licence."""
        machine = self.machine
        free: Amounts = {machine.cell(number): 0 for number in range(machine.nodes)}
        for number in self._idle():
            free[machine.cell(number)] += 1
        for name, count in machine.licences.items():
            free[name] = count - sum(job.licences.get(name, 0) for job in self.running)
        if machine.room_w is not None:
            free[WATTS] = MICRO * (machine.room_w - sum(machine.watts(job, job.nodes) for job in self.running))
        return free

    def _given_back(self) -> list[tuple[int, Amounts]]:
        """Releases by planned end; an overdue job ends now, and no repair is expected."""
        machine, found = self.machine, []
        for job in self.running:
            held: Amounts = dict(job.licences)
            for number in job.nodes:
                held[machine.cell(number)] = held.get(machine.cell(number), 0) + 1
            if machine.room_w is not None:
                held[WATTS] = MICRO * machine.watts(job, job.nodes)
            found.append((max(self.now, job.ends_at(job.planned)), held))
        for number, node in enumerate(machine.state):
            if node.windows and not node.failed:
                found.append((max(node.windows), {machine.cell(number): 1}))
        return found

    def _planned_free(self, at: int) -> Amounts:
        free = self._free()
        changes = [(amounts, 1) for end, amounts in self._given_back() if end <= at]
        changes += [(amounts, -1) for start, end, amounts in self.promises if start <= at < end]
        for amounts, sign in changes:
            for thing, count in amounts.items():
                free[thing] += sign * count
        return free

    def _changes(self) -> list[int]:
        edges = [end for end, _ in self._given_back()]
        edges += [edge for start, end, _ in self.promises for edge in (start, end)]
        return sorted({self.now, *(at for at in edges if at > self.now)})

    def _least(self, start: int, length: int) -> Amounts:
        during = [start, *(at for at in self._changes() if start < at < start + length)]
        each = [self._planned_free(at) for at in during]
        return {thing: min(free[thing] for free in each) for thing in each[0]}

    def _free_throughout(self, job: Job) -> Amounts:
        free = self._free()
        if job.planned == 0:
            return free
        least = self._least(self.now, job.planned)
        return {thing: min(count, least[thing]) for thing, count in free.items()}

    def _fit(self, job: Job, free: Amounts) -> Amounts | None:
        """What it takes, the plainest cells first; None if that is too little."""
        machine = self.machine
        if any(free[name] < count for name, count in job.licences.items()):
            return None
        taken: Amounts = dict(job.licences)
        left = job.node_count
        for cell in sorted({machine.cell(number) for number in range(machine.nodes) if machine.may_use(job, number)}):
            if own := min(left, max(free[cell], 0)):
                taken[cell] = own
                left -= own
        return None if left else taken

    def _lowest(self, amounts: Amounts) -> list[int]:
        left: dict[Place, int] = {cell: count for cell, count in amounts.items() if isinstance(cell, tuple)}
        nodes = []
        for number in self._idle():
            cell = self.machine.cell(number)
            if left.get(cell, 0) > 0:
                left[cell] -= 1
                nodes.append(number)
        return nodes

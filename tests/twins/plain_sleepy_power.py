"""Nodes that sleep under a budget, in plain Python from the rules: slow, and obvious.

Numbers are those of the page on sleep under a budget; *rule* with a number is one of the pages on power in time and of
nodes that sleep. Backfills that count, whole nodes, alike or by cell, no caps. The plan (4 to 6) is in
`plain_wake_plan`.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import inf

from plain_counted import passes
from plain_draws import ceiling, microwatts_down, microwatts_up, picowatts
from plain_jobs import Job
from plain_machine import Machine
from plain_newsvendor import Choice, Idle
from plain_nodes import Place
from plain_rest import DAY, as_seen, idle_nodes, reserve_of
from plain_sizes import resize
from plain_wake_plan import MICROWATTS, Down, Fit, Need, Plan, Thing


def sleepy_pass(machine: Machine) -> None:
    """One pass, and what becomes of idle nodes and of those that sleep."""
    assert machine.power is not None
    machine.power.begin_pass()
    one = _Pass(machine)
    resize(machine, one.room())
    one.start_jobs()
    if machine.vahrm is not None:
        machine.vahrm.learn()
    one.rest()


class _Pass:
    def __init__(self, machine: Machine) -> None:
        assert machine.power is not None
        assert machine.sleep is not None
        self.machine, self.power, self.sleep, self.now = machine, machine.power, machine.sleep, machine.now
        [self.of] = passes(machine)
        self.cell = self.of.cell

    # What is held, and the room: 1 to 3.

    def _beyond_idle(self, number: int) -> int:
        """Draw beyond idle while a node boots; no time, no draw."""
        boot_w, boot = self.machine.switch(number).boot_w, self.machine.takes(number, "booting")
        return max(picowatts(boot_w) - self.machine.draws.idle(number), 0) if boot else 0

    def _off(self, number: int) -> int:
        return picowatts(self.machine.switch(number).off_w)

    def _held(self, number: int, state: str) -> int:
        idle, off = self.machine.draws.idle(number), self._off(number)
        if state == "booting":
            return idle + self._beyond_idle(number)
        if state == "stopping":
            return max(picowatts(self.machine.switch(number).shutdown_w), off) if self.sleep.shutdown else off
        return off if state == "off" else idle

    def room(self, believed: int | None = None) -> int:
        machine = self.machine
        in_use = sum(self.power.running_least_draw(job) for job in machine.running)
        budget = ceiling(self.power.budget.watts(self.now)) if believed is None else believed
        saved = sum(machine.draws.idle(n) - self._held(n, node.power) for n, node in enumerate(machine.state))
        return budget - self.power.idle_draw - in_use + saved

    def _free(self) -> list[int]:
        return [number for number in range(self.machine.nodes) if self.machine.free(number)]

    def _best(self, job: Job, numbers: list[int]) -> list[int]:
        """Nodes where it adds least, of those that may serve it."""
        usable = [number for number in numbers if number in self.machine.usable(job)]
        by_draw = sorted(usable, key=lambda number: (self.power.least_draw(job, [number]), number))
        return sorted(by_draw[: job.node_count])

    # What is planned: 4 to 7.

    def _start(self, number: int) -> int:
        """W of a node, which may be 0."""
        own = self.machine.boots is not None and self.sleep.is_own_boot
        return self.machine.takes(number, "booting") if own else self.sleep.start

    def _members(self, cell: Place) -> list[int]:
        return [number for number in range(self.machine.nodes) if self.cell(number) == cell]

    def _plan(self) -> Plan:
        """4."""
        machine, now = self.machine, self.now
        exact = {time: self.room(watts) for time, watts in self.power.budget_believed().items()}
        values = [microwatts_down(exact[time]) for time in sorted(exact)]
        plan = Plan(
            now,
            {time: microwatts_down(watts) for time, watts in exact.items()},
            [],
            {},
            {},
            max(exact.values()) + sum(self.power.running_least_draw(job) for job in machine.running),
            any(later < earlier for earlier, later in pairwise(values)),
        )
        plan.left = Counter(self._amounts())
        plan.changes = [(now, inf, thing, count) for thing, count in plan.left.items()]
        plan.left[MICROWATTS] = plan.budget[now]
        for number in range(machine.nodes):
            self._expect(plan, number)
        for job in machine.running:
            end, held = max(now, job.run.due), self._held_by(job, job.nodes)
            held[MICROWATTS] = microwatts_down(self.power.running_least_draw(job))
            plan.changes += [(end, inf, thing, amount) for thing, amount in held.items()]
            if end == now:
                plan.overdue.update(held)
        return plan

    def _expect(self, plan: Plan, number: int) -> None:
        """Adds to a plan a node that is off or in transition."""
        node, now, cell = self.machine.state[number], self.now, self.cell(number)
        idle, off, held = self.machine.draws.idle(number), self._off(number), self._held(number, node.power)
        if node.power == "on":
            return
        boot, start = self.machine.takes(number, "booting"), self._start(number)
        if node.power == "booting":
            back = max(now, node.since + start)
            plan.changes.append((back, inf, cell, 1))
            plan.late[cell] += back == now
            settles, freed = node.since + boot, held - idle
        else:
            is_off = node.power == "off"
            back = now + start if is_off else max(now, node.since + self.sleep.stop) + start
            plan.down.append(Down(number, cell, is_off, back, idle - off, self._beyond_idle(number), boot))
            plan.margins[cell] = max(plan.margins.get(cell, 0), start)
            settles, freed = node.since + self.sleep.shutdown, 0 if is_off else held - off
        plan.soon[cell] = max(plan.soon.get(cell, 0), back)
        plan.most += freed
        if freed:
            plan.changes.append((settles, inf, MICROWATTS, microwatts_down(freed)))

    def _amounts(self) -> dict[Thing, int]:
        """Free nodes of each cell, and licences, now."""
        machine = self.machine
        free: dict[Thing, int] = dict.fromkeys(map(self.cell, range(machine.nodes)), 0)
        for number in self._free():
            free[self.cell(number)] += 1
        for name, count in machine.licences.items():
            free[name] = count - sum(job.licences.get(name, 0) for job in machine.running)
        return free

    def _held_by(self, job: Job, nodes: list[int]) -> dict[Thing, int]:
        """Nodes of each cell, and licences, of a job."""
        return {**Counter(map(self.cell, nodes)), **job.licences}

    def _nodes_now(self, plan: Plan, job: Job) -> list[int] | None:
        """Nodes on which a job would start now: of each cell what it leaves beside what is planned, by rule 15."""
        machine, free, own = self.machine, self._amounts(), list[int]()
        for thing, count in free.items():
            beside = count - plan.awaited[thing]
            free[thing] = min(count, plan.least(thing, self.now, self.now + job.planned)) if job.planned else beside
        if any(free[name] < count for name, count in job.licences.items()):
            return None
        for cell in self._cells_for(job):
            there = [number for number in self._free() if self.cell(number) == cell]
            ranked = sorted(there, key=lambda number: (machine.rank(job, number), number))
            own += ranked[: max(0, min(free[cell], job.node_count - len(own)))]
        if len(own) < job.node_count:
            return None
        if self.power.least_draw(job, own) <= self.room():
            return sorted(own)
        if machine.running:
            return None
        best = self._best(job, self._free())
        return best if self.power.least_draw(job, best) <= self.room() else None

    def _cells_for(self, job: Job) -> list[Place]:
        """The plainest first."""
        return sorted({self.cell(number) for number in self.machine.usable(job)})

    def start_jobs(self) -> None:
        """7."""
        plan, held, blocked, closed = self._plan(), Counter[int](), set[int](), set[int]()
        machine, late = self.machine, self.of.late()
        for job in self.of.late_first():
            lane = self.of.lane(job)
            if lane in closed or machine.is_full(job):
                continue
            nodes = self._nodes_now(plan, job)
            if nodes is not None and self._lasts(plan, job, nodes):
                machine.begin(job, nodes, "backfill" if lane in blocked else "reservation" if job in late else None)
                taken = self._taken(job, nodes)
                plan.left.subtract(taken)
                end = self.now + job.planned
                plan.changes += [(self.now, end, thing, -amount) for thing, amount in taken.items()]
                continue
            blocked.add(lane)
            machine.blocked.add(job.row)
            if machine.depth is None or job in late:
                closed.add(lane)
            if job not in late:
                # Without backfill the first of a set keeps only what it is being woken for.
                depth = 0 if machine.depth is None else machine.depth
                held[lane] += self._keep(plan, job, (held[lane], depth), self.now, counts_now=True)[0]

    def _taken(self, job: Job, nodes: list[int]) -> dict[Thing, int]:
        return {**self._held_by(job, nodes), MICROWATTS: microwatts_up(self.power.least_draw(job, nodes))}

    def _lasts(self, plan: Plan, job: Job, nodes: list[int]) -> bool:
        """Rule 17."""
        taken = self._taken(job, nodes)
        if job.planned == 0:
            is_awaited = any(plan.awaited.values())
            return not is_awaited or all(plan.left[one] - plan.awaited[one] >= need for one, need in taken.items())
        if plan.is_bare and not plan.falls:
            return True
        return all(plan.least(one, self.now, self.now + job.planned) >= need for one, need in taken.items())

    def _keep(
        self, plan: Plan, job: Job, depth: tuple[int, float], earliest: int, *, counts_now: bool
    ) -> tuple[int, Fit | None, bool]:
        """Returns if a job holds a reservation, when it fits, and if it keeps what it takes."""
        mean, least = self.power.mean_least_draw(job), self.power.best_least_draw(job)
        need = Need(self._cells_for(job), job.node_count, job.licences, mean, least, job.planned)
        fit = plan.fit(need, earliest)
        if fit is None:
            return 0, None, False
        is_woken_for = plan.is_woken_for(need, fit) or (fit.is_for_now and not counts_now)
        if not is_woken_for and depth[0] >= depth[1]:
            return 0, fit, False
        plan.take(need, fit)
        return int(not is_woken_for), fit, True

    # What is switched: 8 to 10.

    def rest(self) -> None:
        plan, stuck = self._plan(), None
        for cell in {self.cell(number) for number in range(self.machine.nodes)}:
            latest = self.now + max(self._start(number) for number in self._members(cell))
            plan.soon[cell] = max(plan.soon.get(cell, 0), latest)
        held, earliest, closed = Counter[int](), dict[int, int](), set[int]()
        depth = 1 if self.machine.depth is None else self.machine.depth
        for job in self.of.late_first():
            lane = self.of.lane(job)
            if lane in closed or self.machine.is_full(job):
                continue
            turn = earliest.get(lane, self.now)
            reserved, fit, keeps = self._keep(plan, job, (held[lane], depth), turn, counts_now=False)
            held[lane] += reserved
            if fit is not None and fit.is_for_now and stuck is None:
                stuck = job
            if self.machine.depth is None:
                closed |= set() if keeps else {lane}
                earliest[lane] = turn if fit is None else fit.at
        room, woken = self.room(), []
        for wake in (one for one in plan.wakes if one.at <= self.now):
            excess = 0
            for one in (one for one in wake.woken if one.is_off):
                excess += one.excess
                if one.idle + one.excess > max(room, 0) or microwatts_up(excess) > wake.grant:
                    break
                room -= one.idle + one.excess
                woken.append(one.number)
        due = [wake.at for wake in plan.wakes if wake.at > self.now]
        is_stuck = stuck is not None and not self.machine.running
        if (
            is_stuck
            and stuck is not None
            and not woken
            and all(one.power in ("on", "off") for one in self.machine.state)
        ):
            woken = self._wake_best(stuck)
        for number in sorted(woken):
            self.machine.turn(number, "booting", "wake")
        if self.sleep.reserve is not None:
            self._keep_reserve(due, plan, room, is_stuck=is_stuck)
        else:
            self._settle(due, plan, room, is_stuck=is_stuck)

    def _keep_reserve(self, due: list[int], plan: Plan, room: int, *, is_stuck: bool) -> None:
        """9, for `newsvendor`: what it wakes and sends to sleep, as far as there are the watts."""
        machine, sleep, now = self.machine, self.sleep, self.now
        pool = tuple(range(machine.nodes))
        idle, spare, free, soon = list[Idle](), 0, 0, max(plan.soon.values())
        for cell in {self.cell(number) for number in pool}:
            numbers = [number for number in idle_nodes(machine, pool) if self.cell(number) == cell]
            levels = {at: plan.at(at, cell) for at in plan.instants()}
            coming = sum(machine.state[number].power != "on" for number in self._members(cell))
            least = min(levels[at] for at in levels if at <= now + plan.margins.get(cell, 0))
            spare += min(max(0, least), len(numbers) + coming)
            down = sum(one.cell == cell and not one.is_taken for one in plan.down)
            free += max(0, plan.at(soon, cell) + down)
            for above, number in enumerate(numbers):
                lacking = min((at for at, left in levels.items() if left <= above), default=inf)
                idle.append(as_seen(machine, number, lacking))
        idle.sort(key=lambda one: -one.number)
        off = [number for number in pool if machine.state[number].power == "off"]
        choice = reserve_of(machine, pool).choose(now, (spare, free), idle, off)
        for number in choice.wake:
            room = self._wake_beside(plan, number, room)
        self._put_to_sleep(choice, plan, room, is_stuck=is_stuck)
        ripe = [one.since + sleep.min_idle for one in idle if one.number not in sleep.exclude]
        machine.alarm = min((at for at in [*due, *ripe, choice.again] if now < at < inf), default=None)

    def _wake_beside(self, plan: Plan, number: int, room: int) -> int:
        """Wakes a node that is planned for no job, if the plan leaves the watts; the room that is left."""
        one = next((one for one in plan.down if one.number == number and not one.is_taken), None)
        if one is None or not self._may_boot(plan, one, room):
            return room
        one.is_taken = True
        self.machine.turn(number, "booting", "wake")
        return room - one.idle - one.excess

    def _put_to_sleep(self, choice: Choice, plan: Plan, room: int, *, is_stuck: bool) -> None:
        machine, gone = self.machine, 0
        on = sum(other.power in ("on", "booting") for other in machine.state)
        for number in [] if is_stuck else choice.sleep:
            more = self._held(number, "stopping") - machine.draws.idle(number)
            if self._off(number) > machine.draws.idle(number) or not self._may_stop(plan, more, room):
                continue
            room -= max(more, 0)
            if gone < on - self.sleep.min_on:
                machine.turn(number, "stopping", "sleep")
                machine.state[number].shutdowns.append(self.now)
                gone += 1

    def _may_boot(self, plan: Plan, one: Down, room: int) -> bool:
        """True if the plan leaves the watts to wake a node; if so it takes them."""
        idle, all_of_it, booted = microwatts_up(one.idle), microwatts_up(one.idle + one.excess), self.now + one.boot
        is_free = max(plan.least(MICROWATTS, self.now, inf), 0) >= idle
        boots = max(plan.least(MICROWATTS, self.now, booted), 0) >= all_of_it
        if not is_free or not boots or one.idle + one.excess > max(room, 0):
            return False
        plan.changes.append((self.now, inf, MICROWATTS, -idle))
        plan.changes.append((self.now, booted, MICROWATTS, -microwatts_up(one.excess)))
        return True

    def _may_stop(self, plan: Plan, more: int, room: int) -> bool:
        """The same for what a node draws beyond idle while it shuts down."""
        if more <= 0:
            return True
        stopped = self.now + self.sleep.shutdown
        if plan.least(MICROWATTS, self.now, stopped) < microwatts_up(more) or more > room:
            return False
        plan.changes.append((self.now, stopped, MICROWATTS, -microwatts_up(more)))
        return True

    def _wake_best(self, job: Job) -> list[int]:
        """10."""
        plan, room, woken = self._plan(), self.room(), list[int]()
        down = {one.number: one for one in plan.down}
        for one in (down[number] for number in self._best(job, list(range(self.machine.nodes))) if number in down):
            if not self._may_boot(plan, one, room):
                continue
            room -= one.idle + one.excess
            woken.append(one.number)
        return woken

    def _settle(self, due: list[int], plan: Plan, room: int, *, is_stuck: bool) -> None:
        """9, and rules 16 and 21."""
        machine, sleep, asleep, now = self.machine, self.sleep, Counter[Place](), self.now
        for number in reversed(self._free()):
            node, idle = machine.state[number], machine.draws.idle(number)
            if number in sleep.exclude:
                continue
            if now - node.since < sleep.min_idle:
                due.append(node.since + sleep.min_idle)
                continue
            today = sum(at // DAY == now // DAY for at in node.shutdowns)
            on = sum(other.power in ("on", "booting") for other in machine.state)
            far = machine.far(number)
            if today >= sleep.limit or on - 1 < sleep.min_on or far == inf or is_stuck or self._off(number) > idle:
                continue
            by, before, cell = now + sleep.stop + machine.wakes_in(number), now + far, self.cell(number)
            spare = min(plan.at(at, cell) for at in plan.instants() if at <= by or at < before)
            if asleep[cell] >= spare:
                continue
            more = self._held(number, "stopping") - idle
            if not self._may_stop(plan, more, room):
                continue
            room -= max(more, 0)
            machine.turn(number, "stopping", "sleep")
            node.shutdowns.append(now)
            asleep[cell] += 1
        machine.alarm = min(due, default=None)

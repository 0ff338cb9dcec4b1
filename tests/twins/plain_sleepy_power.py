"""Nodes that sleep under a budget, in plain Python from the rules: slow, and obvious.

Numbers are those of the page on sleep under a budget; *rule* with a number is one of the pages on power in time and of
nodes that sleep. Backfills that count, whole nodes, no caps. The plan (4 to 6) is in `plain_wake_plan`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf

from plain_counted import waiting
from plain_draws import ceiling, microwatts_down, microwatts_up, picowatts
from plain_jobs import Job
from plain_machine import Machine
from plain_newsvendor import Choice
from plain_rest import DAY, as_seen, idle_nodes, reserve_of
from plain_sizes import resize
from plain_wake_plan import Down, Fit, Plan


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

    # What is held, and the room: 1 to 3.

    def _beyond_idle(self, number: int) -> int:
        """Draw beyond idle while a node boots; no time, no draw."""
        boot_w = self.machine.switch(number).boot_w
        return max(picowatts(boot_w) - self.machine.draws.idle(number), 0) if self.sleep.boot else 0

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
        """Nodes where it adds least."""
        by_draw = sorted(numbers, key=lambda number: (self.power.least_draw(job, [number]), number))
        return sorted(by_draw[: job.node_count])

    # What is planned: 4 to 7.

    def _plan(self) -> Plan:
        """4."""
        machine, now, start = self.machine, self.now, self.sleep.start
        exact = {time: self.room(watts) for time, watts in self.power.budget_believed().items()}
        values = [microwatts_down(exact[time]) for time in sorted(exact)]
        down, backs, ends, late = [], [], [], 0
        for number, node in enumerate(machine.state):
            idle, off, held = machine.draws.idle(number), self._off(number), self._held(number, node.power)
            if node.power == "booting":
                backs.append(max(now, node.since + start))
                late += backs[-1] == now
                ends.append((node.since + self.sleep.boot, held - idle))
            elif node.power != "on":
                is_off = node.power == "off"
                back = now + start if is_off else max(now, node.since + self.sleep.stop) + start
                down.append(Down(number, is_off, back, idle - off, self._beyond_idle(number), self.sleep.boot))
                if not is_off:
                    ends.append((node.since + self.sleep.shutdown, held - off))
        in_use = sum(self.power.running_least_draw(job) for job in machine.running)
        plan = Plan(
            now,
            {time: microwatts_down(watts) for time, watts in exact.items()},
            down,
            start if down else 0,
            max([*backs, *(one.back for one in down)], default=None),
            max(exact.values()) + in_use + sum(freed for _, freed in ends),
            any(later < earlier for earlier, later in pairwise(values)),
        )
        plan.late, plan.left = late, (len(self._free()), plan.budget[now])
        plan.nodes = [(now, inf, len(self._free())), *((back, inf, 1) for back in backs)]
        for job in machine.running:
            end, nodes = max(now, job.run.due), len(job.nodes)
            watts = microwatts_down(self.power.running_least_draw(job))
            plan.nodes.append((end, inf, nodes))
            plan.microwatts.append((end, inf, watts))
            if end == now:
                plan.overdue = plan.overdue[0] + nodes, plan.overdue[1] + watts
        plan.microwatts += [(end, inf, microwatts_down(freed)) for end, freed in ends]
        return plan

    def _place(self, job: Job) -> list[int] | None:
        """Rule 15."""
        free = self._free()
        if len(free) < job.node_count:
            return None
        nodes = sorted(sorted(free, key=lambda number: (self.machine.rank(job, number), number))[: job.node_count])
        if self.power.least_draw(job, nodes) <= self.room():
            return nodes
        if self.machine.running:
            return None
        best = self._best(job, free)
        return best if self.power.least_draw(job, best) <= self.room() else None

    def _in_order(self) -> list[Job]:
        pool = tuple(range(self.machine.nodes))
        return [job for job in waiting(self.machine, pool) if not self.machine.is_full(job)]

    def start_jobs(self) -> None:
        """7."""
        plan, held, is_blocked = self._plan(), 0, False
        jobs = self._in_order()
        late = [] if self.machine.vahrm is None else self.machine.vahrm.starving(jobs)
        for job in jobs:
            if self.machine.is_full(job):
                continue
            nodes = self._place(job)
            if nodes is not None and self._lasts(plan, job, nodes):
                self.machine.begin(job, nodes, "backfill" if is_blocked else "reservation" if job in late else None)
                need = microwatts_up(self.power.least_draw(job, nodes))
                plan.left = plan.left[0] - len(nodes), plan.left[1] - need
                plan.nodes.append((self.now, self.now + job.planned, -len(nodes)))
                plan.microwatts.append((self.now, self.now + job.planned, -need))
                continue
            if self.machine.depth is None or job in late:
                break
            is_blocked = True
            self.machine.blocked.add(job.row)
            held += self._keep(plan, job, held, self.now, counts_now=True)[0]

    def _lasts(self, plan: Plan, job: Job, nodes: list[int]) -> bool:
        """Rule 17."""
        need = microwatts_up(self.power.least_draw(job, nodes))
        if job.planned == 0:
            beside = (have - awaited for have, awaited in zip(plan.left, plan.awaited, strict=True))
            return plan.awaited == (0, 0) or all(a >= b for a, b in zip(beside, (len(nodes), need), strict=True))
        if plan.is_bare and not plan.falls:
            return True
        end = self.now + job.planned
        return plan.least_nodes(self.now, end) >= len(nodes) and plan.least_microwatts(self.now, end) >= need

    def _keep(
        self, plan: Plan, job: Job, held: int, earliest: int, *, counts_now: bool
    ) -> tuple[int, Fit | None, bool]:
        """Returns if a job holds a reservation, when it fits, and if it keeps what it takes."""
        every = list(range(self.machine.nodes))
        mean = microwatts_up(Fraction(self.power.least_draw(job, every) * job.node_count, len(every)))
        fit = plan.fit(job.node_count, mean, self.power.best_least_draw(job), job.planned, earliest)
        if fit is None:
            return 0, None, False
        is_woken_for = plan.is_woken_for(fit) or (fit.is_for_now and not counts_now)
        depth = 1 if self.machine.depth is None else self.machine.depth
        if not is_woken_for and held >= depth:
            return 0, fit, False
        plan.take(job.node_count, job.planned, fit)
        return int(not is_woken_for), fit, True

    # What is switched: 8 to 10.

    def rest(self) -> None:
        plan, stuck = self._plan(), None
        plan.soon = max(plan.soon or 0, self.now + self.sleep.start)
        held, earliest = 0, self.now
        for job in self._in_order():
            reserved, fit, keeps = self._keep(plan, job, held, earliest, counts_now=False)
            held += reserved
            if fit is not None and fit.is_for_now and stuck is None:
                stuck = job
            if self.machine.depth is None:
                if not keeps or fit is None:
                    break
                earliest = fit.at
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
        numbers = idle_nodes(machine, pool)
        levels = {at: plan.nodes_at(at) for at in plan.instants()}
        coming = sum(node.power != "on" for node in machine.state)
        spare = max(0, min(levels[at] for at in levels if at <= now + plan.margin))
        soon = plan.soon or now
        free = max(0, plan.nodes_at(soon) + sum(not one.is_taken for one in plan.down))
        lacking = [min((at for at, left in levels.items() if left <= k), default=inf) for k in range(len(numbers))]
        idle = [as_seen(machine, number, at) for number, at in zip(numbers, lacking, strict=True)]
        off = [number for number in pool if machine.state[number].power == "off"]
        choice = reserve_of(machine, pool).choose(now, (min(spare, len(numbers) + coming), free), idle, off)
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
        is_free = max(plan.least_microwatts(self.now, inf), 0) >= idle
        boots = max(plan.least_microwatts(self.now, booted), 0) >= all_of_it
        if not is_free or not boots or one.idle + one.excess > max(room, 0):
            return False
        plan.microwatts.append((self.now, inf, -idle))
        plan.microwatts.append((self.now, booted, -microwatts_up(one.excess)))
        return True

    def _may_stop(self, plan: Plan, more: int, room: int) -> bool:
        """The same for what a node draws beyond idle while it shuts down."""
        if more <= 0:
            return True
        stopped = self.now + self.sleep.shutdown
        if plan.least_microwatts(self.now, stopped) < microwatts_up(more) or more > room:
            return False
        plan.microwatts.append((self.now, stopped, -microwatts_up(more)))
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
        machine, sleep, asleep, now = self.machine, self.sleep, 0, self.now
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
            by, before = now + sleep.stop + sleep.wakes_in, now + far
            spare = min(plan.nodes_at(at) for at in plan.instants() if at <= by or at < before)
            if asleep >= spare:
                continue
            more = self._held(number, "stopping") - idle
            if not self._may_stop(plan, more, room):
                continue
            room -= max(more, 0)
            machine.turn(number, "stopping", "sleep")
            node.shutdowns.append(now)
            asleep += 1
        machine.alarm = min(due, default=None)

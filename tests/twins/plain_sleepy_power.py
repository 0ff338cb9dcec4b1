"""Nodes that sleep under a budget, in plain Python from the rules: slow, and obvious.

Numbers are those of the page on sleep under a budget; *rule* with a number is one of the pages on power in time and of
nodes that sleep. Backfills that count, whole nodes, no caps, no failures, jobs killed at their walltimes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import ceil, inf

from plain_machine import Sleep
from plain_power_machine import MICROWATT, Job, Machine, ceiling, microwatts_down, microwatts_up, picowatts, stretched
from plain_power_plan import Budget, BudgetRow
from plain_power_records import ORDERS, Rules
from plain_rest import DAY


@dataclass
class Node:
    """State of a node, and since when: on, off, booting or stopping."""

    number: int
    since: int
    state: str = "on"
    shutdowns: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Switch:
    """Draws of a node, W, and times, microseconds, while it is switched off and on."""

    off_w: float
    boot_w: float
    shutdown_w: float
    boot: int
    shutdown: int

    @property
    def off(self) -> int:
        return picowatts(self.off_w)

    def beyond_idle(self, idle: int) -> int:
        """Draw beyond idle while it boots; no time, no draw: 1."""
        return max(picowatts(self.boot_w) - idle, 0) if self.boot else 0

    def held(self, state: str, idle: int) -> int:
        """Rule 1 of the page."""
        if state == "booting":
            return idle + self.beyond_idle(idle)
        if state == "stopping":
            return max(picowatts(self.shutdown_w), self.off) if self.shutdown else self.off
        return self.off if state == "off" else idle

    def draws(self, state: str, idle: int) -> int:
        """In truth."""
        return {
            "on": idle,
            "off": self.off,
            "booting": picowatts(self.boot_w),
            "stopping": picowatts(self.shutdown_w),
        }[state]

    def far(self, idle: int, given: float | None) -> float:
        """Least time to its next job for which it sleeps; None: break-even, rule 17."""
        if given is not None:
            return given
        if self.off >= idle:
            return inf
        both = self.boot + self.shutdown
        cost = picowatts(self.shutdown_w) * self.shutdown + picowatts(self.boot_w) * self.boot - self.off * both
        return max(ceil(Fraction(cost, idle - self.off)), both)


@dataclass
class Down:
    """A node that is off or shutting down, as a plan has it."""

    number: int
    is_off: bool
    back: int
    idle: int
    excess: int
    boot: int
    is_taken: bool = False


@dataclass(frozen=True)
class Fit:
    """Start of a job, the time from which nodes are woken for it, and what it takes."""

    at: int
    is_for_now: bool
    is_sure: bool
    wake_at: int
    woken: list[Down]
    own: int
    idle: int


@dataclass
class Wake:
    """Nodes that are woken for a job, and what they may draw beyond idle, in microwatts."""

    at: int
    woken: list[Down]
    grant: int


@dataclass
class Plan:
    """Nodes that are on and free, and microwatts, at every time from now on: 4 to 6."""

    now: int
    budget: dict[int, int]
    """Microwatts from each of these times on, the first of which is now."""
    down: list[Down]
    margin: int
    soon: int | None
    most: int
    """Picowatts once all that runs has ended, at the best of all times."""
    falls: bool
    nodes: list[tuple[int, float, int]] = field(default_factory=list)
    """From when until when how many more."""
    microwatts: list[tuple[int, float, int]] = field(default_factory=list)
    wakes: list[Wake] = field(default_factory=list)
    is_bare: bool = True
    late: int = 0
    """Nodes that count as on and free now and still boot."""
    overdue: tuple[int, int] = (0, 0)
    """Nodes and microwatts of runs that are past their planned end: they count as free now."""
    left: tuple[int, int] = (0, 0)
    """Nodes and microwatts left now after the starts."""
    awaited: tuple[int, int] = (0, 0)
    """Part of these that jobs would take for which nodes are being woken."""

    def instants(self) -> list[int]:
        ends = {end for changes in (self.nodes, self.microwatts) for one in changes for end in one[:2]}
        return sorted({self.now, *self.budget, *(int(end) for end in ends if self.now < end < inf)})

    def nodes_at(self, time: int) -> int:
        return sum(by for start, end, by in self.nodes if start <= time < end)

    def microwatts_at(self, time: int) -> int:
        base = self.budget[max(at for at in self.budget if at <= time)]
        return base + sum(by for start, end, by in self.microwatts if start <= time < end)

    def during(self, start: int, end: float) -> list[int]:
        return [start, *(at for at in self.instants() if start < at < end)]

    def least_nodes(self, start: int, end: float) -> int:
        return min(self.nodes_at(at) for at in self.during(start, end))

    def least_microwatts(self, start: int, end: float) -> int:
        return min(self.microwatts_at(at) for at in self.during(start, end))

    def fit(self, count: int, mean: int, least: int, length: int, earliest: int) -> Fit | None:
        """5: the first instant that will do of all at which anything may change, and some more."""
        length = max(length, 1)
        changes = {*self.instants(), *(one.back for one in self.down)}
        shifts = (0, self.margin, -length, self.margin - length, 1)
        for at in sorted({earliest, *(change + shift for change in changes for shift in shifts)}):
            if at >= earliest and (found := self._fit_at(count, mean, least, length, at)) is not None:
                return found
        return None

    def _fit_at(self, count: int, mean: int, least: int, length: int, at: int) -> Fit | None:
        """Without what is overdue, or else with it."""
        for late in [self.overdue, (0, 0)]:
            nodes = self.least_nodes(at, at + length) - late[0]
            watts = self.least_microwatts(at, at + length) - late[1]
            lack = max(0, count - nodes)
            woken = [one for one in self.down if not one.is_taken and one.back <= at][:lack]
            idle = sum(one.idle for one in woken)
            if len(woken) < lack or least > self.most - idle:
                continue
            own = min(mean, microwatts_down(self.most) - microwatts_down(idle))
            if watts < own + microwatts_down(idle):
                continue
            wake_at = max(self.now, at - self.margin) if lack else at
            if idle > 0 and self.least_microwatts(wake_at, inf) < microwatts_down(idle):
                continue
            is_sure = late == self.overdue
            on = self.nodes_at(at) - self.late - self.overdue[0]
            is_for_now = at == self.now and not lack and on >= count and is_sure
            return Fit(at, is_for_now, is_sure, wake_at, woken, own, microwatts_down(idle))
        return None

    def take(self, count: int, length: int, fit: Fit) -> None:
        """6."""
        self.is_bare = False
        end = fit.at + max(length, 1)
        if fit.woken:
            for one in fit.woken:
                one.is_taken = True
            self.microwatts.append((fit.wake_at, inf, -fit.idle))
            booted = fit.wake_at + max(one.boot for one in fit.woken)
            excess = microwatts_up(sum(one.excess for one in fit.woken))
            grant = min(excess, max(0, self.least_microwatts(fit.wake_at, booted)))
            self.microwatts.append((fit.wake_at, booted, -grant))
            self.nodes.append((end, inf, len(fit.woken)))
            self.wakes.append(Wake(fit.wake_at, fit.woken, grant))
        self.nodes.append((fit.at, end, len(fit.woken) - count))
        self.microwatts.append((fit.at, end, -fit.own))
        if fit.at == self.now and self.is_woken_for(fit):
            nodes, microwatts = self.awaited
            self.awaited = nodes + count - len(fit.woken), microwatts + fit.own + fit.idle

    def is_woken_for(self, fit: Fit) -> bool:
        """7."""
        return self.soon is not None and fit.at <= self.soon and fit.is_sure and not fit.is_for_now


@dataclass
class Task:
    """State of a job, and what has been decided on it."""

    state: str = "pending"
    start: int | None = None
    end: int | None = None
    nodes: list[int] | None = None
    started_by: str | None = None
    over: int = 0
    energy: int = 0


@dataclass
class SleepyPower:
    """A machine whose nodes sleep, under a budget; `far` of the numbers is None for break-even."""

    jobs: Sequence[Job]
    machine: Machine
    switches: Sequence[Switch]
    numbers: Sleep
    far: float | None
    rules: Rules
    rows: Sequence[BudgetRow] = ()
    events: list[tuple[int, str, int]] = field(default_factory=list)
    draws: list[tuple[int, int]] = field(default_factory=list)
    """From when on it drew how many picowatts."""
    energy: int = 0
    passes: int = 0

    def run(self) -> SleepyPower:
        jobs = self.jobs
        self.budget = Budget(self.rules.budget_w, self.rows)
        self.tasks = [Task() for _ in jobs]
        self.arrivals = sorted(range(len(jobs)), key=lambda j: jobs[j].submit)
        self.now = begin = min(job.submit for job in jobs)
        self.nodes = [Node(number, since=begin) for number in self.machine.nodes]
        self.queue: list[int] = []
        self.budget_ends = [end for end in self.budget.ends() if end >= begin]
        self.alarm: int | None = None
        is_first = begin in self.budget_ends
        while is_first or (time := self._next_time()) is not None:
            self._advance(begin if is_first else time)
            is_first = False
            self._instant()
        for j in self.arrivals:
            self.tasks[j].state = "rejected"
        last = max((task.end for task in self.tasks if task.end is not None), default=begin)
        ends = [*(time for time, _ in self.draws[1:]), self.now]
        spans = zip(self.draws, ends, strict=bool(self.draws))
        self.energy = sum(drawn * (max(min(end, last), time) - time) for (time, drawn), end in spans if time < last)
        return self

    # What is drawn, and the room: 1 to 3.

    def idle(self, number: int) -> int:
        return self.machine.idle(number)

    def running(self) -> list[int]:
        return [j for j, task in enumerate(self.tasks) if task.start is not None and task.end is None]

    def serving(self) -> dict[int, int]:
        return {number: j for j in self.running() for number in self.tasks[j].nodes or ()}

    def least_draw(self, j: int, numbers: Sequence[int]) -> int:
        return sum(self.machine.predicted_beyond_idle(self.jobs[j], number, inf) for number in numbers)

    def saved(self) -> int:
        nodes = ((node, self.idle(node.number)) for node in self.nodes)
        return sum(idle - self.switches[node.number].held(node.state, idle) for node, idle in nodes)

    def room(self, believed: int | None = None) -> int:
        in_use = sum(self.least_draw(j, self.tasks[j].nodes or ()) for j in self.running())
        budget = ceiling(self.budget.watts(self.now)) if believed is None else believed
        return budget - self.machine.idle_draw - in_use + self.saved()

    def actual_draw(self) -> int:
        serving = self.serving()
        drawn = 0
        for node in self.nodes:
            j, idle = serving.get(node.number), self.idle(node.number)
            if j is None:
                drawn += self.switches[node.number].draws(node.state, idle)
            else:
                drawn += self.machine.actual_draw(self.jobs[j], node.number, inf)
        return drawn

    def best_nodes(self, j: int) -> list[int]:
        numbers = sorted(self.machine.nodes, key=lambda number: (self.least_draw(j, [number]), number))
        return sorted(numbers[: self.jobs[j].node_count])

    def could_ever_run(self, j: int, now: int) -> bool:
        """Rule 11."""
        if self.jobs[j].node_count > len(self.machine.nodes):
            return False
        return self.least_draw(j, self.best_nodes(j)) <= self.budget.highest_from(now) - self.machine.idle_draw

    # Instants.

    def _next_time(self) -> int | None:
        if not (self.queue or self.running()) and not any(
            self.could_ever_run(j, self.jobs[j].submit) for j in self.arrivals
        ):
            return None
        return min(self._times(), default=None)

    def _times(self) -> Iterator[int]:
        yield from (self.jobs[j].submit for j in self.arrivals[:1])
        yield from (self.tasks[j].over for j in self.running())
        yield from [end for end in self.budget_ends if end > self.now][:1]
        for node in self.nodes:
            switch = self.switches[node.number]
            if node.state in ("booting", "stopping"):
                yield node.since + (switch.boot if node.state == "booting" else switch.shutdown)
        if self.alarm is not None:
            yield self.alarm

    def _advance(self, time: int) -> None:
        if time > self.now or not self.draws:
            drawn = self.actual_draw()
            self.draws.append((self.now, drawn))
            for j in self.running():
                job = self.jobs[j]
                watts = sum(self.machine.actual_draw(job, number, inf) for number in self.tasks[j].nodes or ())
                self.tasks[j].energy += watts * (time - self.now)
        self.now = time

    def _instant(self) -> None:
        has_pass = self._happens()
        changes = self.budget_ends.count(self.now)
        submitted = [j for j in self.arrivals if self.jobs[j].submit == self.now]
        self.arrivals = self.arrivals[len(submitted) :]
        for j in submitted:
            if self.could_ever_run(j, self.now):
                self.queue.append(j)
            else:
                self.tasks[j].state = "rejected"
        if changes:
            for j in [j for j in self.queue if not self.could_ever_run(j, self.now)]:
                self.queue.remove(j)
                self.tasks[j].state = "rejected"
        if self.alarm == self.now:
            has_pass, self.alarm = True, None
        fresh = set(submitted)
        while has_pass or changes or submitted:
            self._pass(fresh)
            has_pass, changes, submitted, fresh = self._happens(), 0, [], set()

    def _happens(self) -> bool:
        """Ends, then nodes that are ready or off."""
        over = [j for j in self.running() if self.tasks[j].over <= self.now]
        for j in over:
            task, job = self.tasks[j], self.jobs[j]
            task.end = self.now
            task.state = "completed" if self.now - (task.start or 0) >= self._whole(j) else "timeout"
            assert job.node_count == len(task.nodes or ())
            for number in task.nodes or ():
                self.nodes[number].since = self.now
        turned = [node for node in self.nodes if node.state in ("booting", "stopping") and self._is_through(node)]
        for node in turned:
            is_up = node.state == "booting"
            self._turn(node, "on" if is_up else "off", "ready" if is_up else "off")
        return bool(over or turned)

    def _is_through(self, node: Node) -> bool:
        switch = self.switches[node.number]
        return node.since + (switch.boot if node.state == "booting" else switch.shutdown) == self.now

    def _turn(self, node: Node, state: str, kind: str) -> None:
        node.state, node.since = state, self.now
        self.events.append((self.now, kind, node.number))

    def _whole(self, j: int) -> int:
        job = self.jobs[j]
        factor = max(self.machine.actual_factor(job, number, inf) for number in self.tasks[j].nodes or ())
        return stretched(job.runtime, factor) + job.comm

    # A pass: 7.

    def planned_length(self, j: int) -> int:
        return self.machine.planned_length(self.jobs[j])

    def in_order(self) -> list[int]:
        return sorted(
            self.queue,
            key=lambda j: (ORDERS[self.rules.order](self.jobs[j], self.planned_length(j)), self.jobs[j].submit, j),
        )

    def free(self) -> list[int]:
        serving = self.serving()
        return [node.number for node in self.nodes if node.state == "on" and node.number not in serving]

    def plan(self) -> Plan:
        """4."""
        now, foresight = self.now, self.rules.foresight
        times = [now, *self.budget.believed_changes(now, foresight)]
        exact = {time: self.room(self.budget.believed(now, time, foresight)) for time in times}
        values = [microwatts_down(exact[time]) for time in sorted(exact)]
        start = self.numbers.start
        down, backs, ends, late = [], [], [], 0
        for node in self.nodes:
            switch, idle = self.switches[node.number], self.idle(node.number)
            held = switch.held(node.state, idle)
            if node.state == "booting":
                backs.append(max(now, node.since + start))
                late += backs[-1] == now
                ends.append((node.since + switch.boot, held - idle))
            elif node.state in ("off", "stopping"):
                is_off = node.state == "off"
                back = now + start if is_off else max(now, node.since + self.numbers.stop) + start
                down.append(Down(node.number, is_off, back, idle - switch.off, switch.beyond_idle(idle), switch.boot))
                if not is_off:
                    ends.append((node.since + switch.shutdown, held - switch.off))
        in_use = sum(self.least_draw(j, self.tasks[j].nodes or ()) for j in self.running())
        plan = Plan(
            now,
            {time: microwatts_down(watts) for time, watts in exact.items()},
            down,
            start if down else 0,
            max([*backs, *(one.back for one in down)], default=None),
            max(exact.values()) + in_use + sum(freed for _, freed in ends),
            any(later < earlier for earlier, later in pairwise(values)),
        )
        plan.late, plan.left = late, (len(self.free()), plan.budget[now])
        plan.nodes = [(now, inf, len(self.free())), *((back, inf, 1) for back in backs)]
        for j in self.running():
            task = self.tasks[j]
            end = max(now, (task.start or 0) + self.planned_length(j))
            nodes, watts = len(task.nodes or ()), microwatts_down(self.least_draw(j, task.nodes or ()))
            plan.nodes.append((end, inf, nodes))
            plan.microwatts.append((end, inf, watts))
            if end == now:
                plan.overdue = plan.overdue[0] + nodes, plan.overdue[1] + watts
        plan.microwatts += [(end, inf, microwatts_down(freed)) for end, freed in ends]
        return plan

    def need(self, j: int) -> tuple[int, int, int, int]:
        every, count = self.machine.nodes, self.jobs[j].node_count
        mean = microwatts_up(Fraction(self.least_draw(j, every) * count, len(every)))
        return count, mean, self.least_draw(j, self.best_nodes(j)), self.planned_length(j)

    def place(self, j: int) -> list[int] | None:
        """Rule 15."""
        free, count = self.free(), self.jobs[j].node_count
        if len(free) < count:
            return None
        if self.least_draw(j, free[:count]) <= self.room():
            return free[:count]
        if self.running():
            return None
        best = sorted(sorted(free, key=lambda number: (self.least_draw(j, [number]), number))[:count])
        return best if self.least_draw(j, best) <= self.room() else None

    def _pass(self, submitted: set[int]) -> None:
        self.passes += 1
        plan, held, is_blocked = self.plan(), 0, False
        for j in self.in_order():
            nodes = self.place(j)
            if nodes is not None and self._lasts(plan, j, nodes):
                self._start(j, nodes, "backfill" if is_blocked else "immediate" if j in submitted else "reservation")
                length = self.planned_length(j)
                need = microwatts_up(self.least_draw(j, nodes))
                plan.left = plan.left[0] - len(nodes), plan.left[1] - need
                plan.nodes.append((self.now, self.now + length, -len(nodes)))
                plan.microwatts.append((self.now, self.now + length, -need))
                continue
            if self.rules.depth is None:
                break
            is_blocked = True
            held += self._keep(plan, j, held, self.now, counts_now=True)[0]
        self._rest()

    def _lasts(self, plan: Plan, j: int, nodes: list[int]) -> bool:
        """Rule 17."""
        length, need = self.planned_length(j), microwatts_up(self.least_draw(j, nodes))
        if length == 0:
            beside = (have - awaited for have, awaited in zip(plan.left, plan.awaited, strict=True))
            return plan.awaited == (0, 0) or all(a >= b for a, b in zip(beside, (len(nodes), need), strict=True))
        if plan.is_bare and not plan.falls:
            return True
        end = self.now + length
        return plan.least_nodes(self.now, end) >= len(nodes) and plan.least_microwatts(self.now, end) >= need

    def _keep(self, plan: Plan, j: int, held: int, earliest: int, *, counts_now: bool) -> tuple[int, Fit | None, bool]:
        """Returns if a job holds a reservation, when it fits, and if it keeps what it takes."""
        count, mean, least, length = self.need(j)
        fit = plan.fit(count, mean, least, length, earliest)
        if fit is None:
            return 0, None, False
        is_woken_for = plan.is_woken_for(fit) or (fit.is_for_now and not counts_now)
        depth = 1 if self.rules.depth is None else self.rules.depth
        if not is_woken_for and held >= depth:
            return 0, fit, False
        plan.take(count, length, fit)
        return int(not is_woken_for), fit, True

    def _start(self, j: int, nodes: list[int], started_by: str) -> None:
        task, job = self.tasks[j], self.jobs[j]
        task.start, task.nodes, task.started_by = self.now, nodes, started_by
        whole = self._whole(j)
        task.over = self.now + (whole if job.walltime is None else min(whole, job.walltime))
        self.queue.remove(j)

    # Switching: 8 to 10.

    def _rest(self) -> None:
        plan, stuck = self.plan(), None
        plan.soon = max(plan.soon or 0, self.now + self.numbers.start)
        held, earliest = 0, self.now
        for j in self.in_order():
            reserved, fit, keeps = self._keep(plan, j, held, earliest, counts_now=False)
            held += reserved
            if fit is not None and fit.is_for_now and stuck is None:
                stuck = j
            if self.rules.depth is None:
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
        is_stuck = stuck is not None and not self.running()
        if is_stuck and stuck is not None and not woken and all(one.state in ("on", "off") for one in self.nodes):
            woken = self._wake_best(stuck)
        for number in sorted(woken):
            self._turn(self.nodes[number], "booting", "wake")
        self._settle(due, plan, room, is_stuck=is_stuck)

    def _wake_best(self, j: int) -> list[int]:
        """10."""
        plan, room, woken = self.plan(), self.room(), []
        down = {one.number: one for one in plan.down}
        for one in (down[number] for number in self.best_nodes(j) if number in down):
            idle, all_of_it, booted = microwatts_up(one.idle), microwatts_up(one.idle + one.excess), self.now + one.boot
            is_free = max(plan.least_microwatts(self.now, inf), 0) >= idle
            boots = max(plan.least_microwatts(self.now, booted), 0) >= all_of_it
            if not is_free or not boots or one.idle + one.excess > max(room, 0):
                continue
            room -= one.idle + one.excess
            plan.microwatts.append((self.now, inf, -idle))
            plan.microwatts.append((self.now, booted, -microwatts_up(one.excess)))
            woken.append(one.number)
        return woken

    def _settle(self, due: list[int], plan: Plan, room: int, *, is_stuck: bool) -> None:
        """9, and rules 16 and 21."""
        numbers, asleep, now = self.numbers, 0, self.now
        for number in reversed(self.free()):
            node, switch, idle = self.nodes[number], self.switches[number], self.idle(number)
            if number in numbers.exclude:
                continue
            if now - node.since < numbers.min_idle:
                due.append(node.since + numbers.min_idle)
                continue
            today = sum(at // DAY == now // DAY for at in node.shutdowns)
            on = sum(other.state in ("on", "booting") for other in self.nodes)
            far = switch.far(idle, self.far)
            if today >= numbers.limit or on - 1 < numbers.min_on or far == inf or is_stuck or switch.off > idle:
                continue
            by, before = now + numbers.stop + max(1, numbers.start), now + far
            spare = min(plan.nodes_at(at) for at in plan.instants() if at <= by or at < before)
            if asleep >= spare:
                continue
            more, stopped = switch.held("stopping", idle) - idle, now + switch.shutdown
            if more > 0:
                if plan.least_microwatts(now, stopped) < microwatts_up(more) or more > room:
                    continue
                room -= more
                plan.microwatts.append((now, stopped, -microwatts_up(more)))
            self._turn(node, "stopping", "sleep")
            node.shutdowns.append(now)
            asleep += 1
        self.alarm = min(due, default=None)


assert MICROWATT == 10**6

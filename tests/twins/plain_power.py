"""Budgets, caps and emergencies in time, in plain Python from the rules: slow, and obvious.

Numbers of rules are those of the page on power in time. The pass that starts jobs is in `plain_counted`, and ends, caps
in force and segments are those of `plain_paces` and `plain_meter`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import NamedTuple

from plain_arrivals import has_news
from plain_budget import Budget, BudgetRow
from plain_counted import count_pass
from plain_draws import WATT, ceiling, later, microwatts_up, stretched
from plain_jobs import Job
from plain_machine import Machine
from plain_meter import node_draw
from plain_paces import end_of_part, in_force, job_draw, predicted_factor, tell_end, whole_draw
from plain_sizes import resize
from plain_windows import named_pass


@dataclass(frozen=True)
class Rules:
    """Parameters of the power part."""

    budget_w: float
    foresight: float = 0
    allocator: str = "static"
    allocator_interval: int = 0
    caps_w: Sequence[float] | None = None
    slowdown_limit: float = 2.0
    on_excess: Sequence[str] = ()
    victims: str = "newest"
    monitor_interval: int = 0
    max_requeues: int = 3


class Event(NamedTuple):
    """A row of rule 37."""

    time: int
    kind: str
    job: int | None
    value: float | None
    before_w: float
    after_w: float


def power_pass(machine: Machine) -> None:
    """Rule 19."""
    power = machine.power
    assert power is not None
    resumed = power.recover()
    has_resized = power.is_recovered and resize(machine, power.room())
    if power.is_recovered:
        one_pass = named_pass if machine.plan else count_pass
        one_pass(machine)
    if machine.vahrm is not None:
        machine.vahrm.learn()
    has_started = any(job.run.begun_in == (machine.now, machine.round) for job in machine.running)
    if power.is_allocators_turn(has_started=has_started or resumed or has_resized):
        power.allocate()
    for job in machine.running:
        if job.run.is_new:
            tell_end(machine, job)


@dataclass
class Power:
    """The part, and what it writes down."""

    rules: Rules
    rows: Sequence[BudgetRow] = ()
    events: list[Event] = field(default_factory=list)
    promises: list[tuple[int, int, int]] = field(default_factory=list)
    """The first reservation of each pass: when it was made, for which job, and for when."""
    passed_over: set[int] = field(default_factory=set)
    """Jobs that fitted at no instant in some pass, and held none up (rule 18)."""
    surplus: int = 0
    withheld: int = 0
    is_recovered: bool = True

    def join(self, machine: Machine) -> None:
        """A run begins."""
        self.machine, rules, draws = machine, self.rules, machine.draws
        self.ahead: dict[int, int] = {}
        self.budget = Budget(rules.budget_w, self.rows)
        self.ends = [end for end in self.budget.ends() if end >= machine.first]
        self.idle_draw = sum(draws.idle(number) for number in range(machine.nodes))
        finite = sorted(cap for cap in draws.actual if cap < inf)
        self.levels = finite if rules.caps_w is None else list(rules.caps_w)
        self.least_caps = {job.row: self._lowest_allocated(job) for job in machine.jobs}
        nodes = {job.row: machine.all_nodes(job) for job in machine.jobs}
        self.slowdowns = {
            job.row: draws.slowdown(job, self.least_caps[job.row], nodes[job.row]) for job in machine.jobs
        }

    # What a job needs: rules 13 and 14.

    def _lowest_allocated(self, job: Job) -> list[float]:
        machine = self.machine
        if self.rules.allocator == "uniform":
            return [self.levels[0]] * machine.nodes
        if self.rules.allocator == "equal-slowdown":
            nodes = machine.all_nodes(job)
            return machine.draws.equal_slowdown_caps(job, self.rules.slowdown_limit, self.levels, nodes)
        return [inf] * machine.nodes

    def _beyond_idle(self, job: Job, nodes: Sequence[int], cap: Callable[[int], float]) -> int:
        """Predicted; a first run counts with TDP."""
        machine = self.machine
        is_first = machine.vahrm is not None and machine.vahrm.is_first(job)
        return self._predicted(job, nodes, cap, is_first=is_first)

    def _predicted(self, job: Job, nodes: Sequence[int], cap: Callable[[int], float], *, is_first: bool) -> int:
        return self._held(job, sum(self._on(job, node, cap(node), is_first=is_first) for node in nodes))

    def _on(self, job: Job, node: int, cap: float, *, is_first: bool) -> int:
        """Predicted beyond idle on a whole node."""
        draws = self.machine.draws
        return draws.beyond_idle(min(draws.tdp_w, cap) if is_first else draws.predicted_w(job.app, node, cap), node)

    def _held(self, job: Job, whole: int) -> int:
        """Watts of its slots, of those of whole nodes: rule 45."""
        return whole * job.slots // self.machine.slots

    def _least_cap(self, job: Job, node: int) -> float:
        """Under which it runs when the allocator has done its worst."""
        return min(job.own_cap, self.least_caps[job.row][node], job.run.emergency if job.is_there else inf)

    def least_draw(self, job: Job, nodes: Sequence[int]) -> int:
        """Least watts of a waiting job."""
        return self._beyond_idle(job, nodes, lambda node: min(job.own_cap, self.least_caps[job.row][node]))

    def least_on(self, job: Job, node: int) -> int:
        """The same of a whole node: by this nodes are compared."""
        is_first = self.machine.vahrm is not None and self.machine.vahrm.is_first(job)
        return self._on(job, node, min(job.own_cap, self.least_caps[job.row][node]), is_first=is_first)

    def running_least_draw(self, job: Job) -> int:
        return self._beyond_idle(job, job.nodes, lambda node: self._least_cap(job, node))

    def best_least_draw(self, job: Job) -> int:
        """Least watts on the nodes where these are fewest."""
        return self._held(job, sum(sorted(self.least_on(job, n) for n in self.machine.usable(job))[: job.node_count]))

    def mean_least_draw(self, job: Job) -> int:
        """Microwatts of as many nodes as it has, on average over all that may serve it."""
        nodes = self.machine.usable(job)
        return microwatts_up(Fraction(self.least_draw(job, nodes) * job.node_count, len(nodes)))

    def least_length(self, job: Job) -> int:
        return stretched(job.planned, self.slowdowns[job.row])

    def could_ever_run(self, job: Job, at: int) -> bool:
        """Rule 11; one that may be taught is judged by what is predicted."""
        return self.fits_idle(job, at, is_first=job.first_run is True and self._has_first_runs)

    @property
    def _has_first_runs(self) -> bool:
        vahrm = self.machine.vahrm
        return vahrm is not None and vahrm.profiling_ratio is not None

    def fits_idle(self, job: Job, at: int, *, is_first: bool) -> bool:
        """On the idle machine, by the highest budget from then on."""
        least = self.least_caps[job.row]
        each = [self._on(job, n, min(job.own_cap, least[n]), is_first=is_first) for n in self.machine.usable(job)]
        return self._held(job, sum(sorted(each)[: job.fewest])) <= self.budget.highest_from(at) - self.idle_draw

    # The budget, and what a plan has of it: rules 10, 15 and 16.

    def _ceiling(self) -> int:
        return ceiling(self.budget.watts(self.machine.now))

    def room(self) -> int:
        in_use = sum(self.running_least_draw(job) for job in self.machine.running)
        return self._ceiling() - self.idle_draw - in_use - self.surplus

    def room_to_start(self) -> int:
        return self.room() - self.withheld

    def budget_believed(self) -> dict[int, int]:
        return self.budget.believed(self.machine.now, self.rules.foresight)

    def begin_pass(self) -> None:
        """The surplus (28), and what may be drawn beyond idle from each time on."""
        self.surplus = max(self.actual_draw() - self._predicted_draw(), 0) if self.rules.on_excess else 0
        taken = self.idle_draw + self.surplus
        self.ahead = {time: watts - taken for time, watts in self.budget_believed().items()}

    def at(self, time: int) -> int:
        """Picowatts that may be drawn beyond idle at a time."""
        return self.ahead[max(since for since in self.ahead if since <= time)]

    @property
    def most(self) -> int:
        """The most that a plan has once all that runs has ended: rule 18."""
        return max(self.ahead.values())

    @property
    def falls(self) -> bool:
        """True if a fall of the budget is known."""
        return any(later < earlier for earlier, later in pairwise(self.ahead.values()))

    def release(self, job: Job) -> int:
        """Rule 16."""
        machine, run = self.machine, job.run
        if run.is_new and job.start == machine.now:
            return machine.now + self.least_length(job)
        least = predicted_factor(machine, job, lambda node: self._least_cap(job, node))
        return max(machine.now, later(run.due, machine.now, least / run.predicted))

    # Instants.

    def to_come(self) -> list[int]:
        """Ends of rows, multiples of intervals while a job runs, and changes of profiles."""
        now, running = self.machine.now, self.machine.running
        intervals = [self.rules.allocator_interval, self.rules.monitor_interval if self.rules.on_excess else 0]
        times = [(now // interval + 1) * interval for interval in intervals if interval and running]
        return [*times, *self._ends_to_come(), *(int(job.run.turn) for job in running if job.run.turn < inf)]

    def _ends_to_come(self) -> list[int]:
        return [end for end in self.ends if end > self.machine.now]

    def turn_profiles(self) -> None:
        """Parts that are over give way to the next."""
        for job in self.machine.running:
            while job.run.turn <= self.machine.now:
                job.run.part += 1
                job.run.turn = end_of_part(job, job.run.factor)

    def changes(self) -> bool:
        """Line 4 of an instant: rows begin and end, and queued jobs are judged again; or the allocator has its turn."""
        machine, interval = self.machine, self.rules.allocator_interval
        for _ in range(self.ends.count(machine.now)):
            self._tell("budget", self.actual_draw(), value=self.budget.watts(machine.now))
        if machine.now not in self.ends:
            return bool(interval and machine.running and machine.now % interval == 0)
        for job in [job for job in machine.jobs if job.state == "queued"]:
            if not self.could_ever_run(job, machine.now):
                job.state, job.ended_at = "failed" if job.attempts else "rejected", machine.now
        return True

    def actual_draw(self) -> int:
        """Draw of the whole machine, as it is now."""
        machine = self.machine
        serving = {node for job in machine.running for node in job.nodes}
        idle = sum(node_draw(machine, node) for node in range(machine.nodes) if node not in serving)
        return idle + sum(job_draw(machine, job) for job in machine.running)

    def _predicted_draw(self) -> int:
        machine = self.machine
        each = [self._beyond_idle(job, job.nodes, lambda n, j=job: in_force(j, n)) for job in machine.running]  # type: ignore[misc]
        return self.idle_draw + sum(each)

    def _tell(self, kind: str, before: int, job: Job | None = None, value: float | None = None) -> None:
        row = None if job is None else job.row
        self.events.append(Event(self.machine.now, kind, row, value, before / WATT, self.actual_draw() / WATT))

    # Recovery: rules 20 to 22.

    def recover(self) -> bool:
        """True if any job resumed."""
        machine = self.machine
        self.begin_pass()
        self.withheld, self.is_recovered, resumed = 0, False, False
        most = self.budget.highest_from(machine.now) - self.idle_draw
        for job in self._suspended():
            if job.run.asks > most:
                self._kill(job)
        room = self.room()
        for job in self._suspended():
            if job.run.asks > room:
                return resumed
            room -= job.run.asks
            before, resumed = self.actual_draw(), True
            machine.resume(job)
            self._tell("resume", before, job)
            self.withheld += max(job.run.asks - self.running_least_draw(job), 0)
        self.is_recovered = self._raise_caps(room)
        return resumed

    def _suspended(self) -> list[Job]:
        """The oldest suspension first, of one instant the last victim first."""
        jobs = [job for job in self.machine.jobs if job.state == "suspended"]
        last_first = self._victims(jobs)[::-1]
        return sorted(last_first, key=lambda job: job.since or 0)

    def _raise_caps(self, room: int) -> bool:
        """Rule 21; False if it was ended."""
        for job in reversed(self._victims(self.machine.running)):
            while job.run.emergency < inf:
                level = min((cap for cap in self.levels if cap > job.run.emergency), default=inf)
                level = inf if level >= job.own_cap else level
                before, lowered = self.running_least_draw(job), job.run.emergency
                job.run.emergency = level
                growth = self.running_least_draw(job) - before
                job.run.emergency = lowered
                if growth > room:
                    return False
                room -= growth
                self._set_emergency_cap("raise-cap", job, level)
        return True

    # The allocator: rules 23 to 26.

    def is_allocators_turn(self, *, has_started: bool) -> bool:
        interval, now = self.rules.allocator_interval, self.machine.now
        return interval == 0 or has_started or now in self.ends or now % interval == 0

    def allocate(self) -> None:
        """The first of ever lower caps that keep within what may be used, or the lowest."""
        if self.rules.allocator == "uniform":
            for cap in [inf, *reversed(self.levels)]:
                for job in self.machine.running:
                    job.run.caps = [cap] * self.machine.nodes
                if self._is_within():
                    return
        elif self.rules.allocator == "equal-slowdown":
            k, slowdown = 0, 1.0
            self._slow_down(slowdown)
            while not self._is_within() and slowdown < self.rules.slowdown_limit:
                k += 1
                slowdown = min(1.0 + k / 1024, self.rules.slowdown_limit)
                self._slow_down(slowdown)

    def _slow_down(self, slowdown: float) -> None:
        machine = self.machine
        for job in machine.running:
            nodes = machine.all_nodes(job)
            job.run.caps = machine.draws.equal_slowdown_caps(job, slowdown, self.levels, nodes)

    def _is_within(self) -> bool:
        return self._predicted_draw() <= self._ceiling() - self.surplus

    # The monitor: rules 27 to 34.

    def last_word(self) -> None:
        """The monitor, one more pass if nothing is to come, and a round for those that wait for its victims."""
        machine, was_asked = self.machine, False
        while True:
            interval = self.rules.monitor_interval
            is_looked_at = self.rules.on_excess and (interval == 0 or machine.now % interval == 0)
            has_acted = bool(is_looked_at) and self._look()
            waits = any(job.state in ("queued", "suspended") for job in machine.jobs)
            is_stuck = waits and machine.owed is None and not machine.happens() and not self._ends_to_come()
            is_due = is_stuck and (has_acted or not was_asked)
            if not is_due and not has_news(machine):
                return
            was_asked = True
            machine.rounds(is_due=is_due)

    def _is_over_budget(self) -> bool:
        return self.actual_draw() > self._ceiling()

    def _look(self) -> bool:
        """True if anything was done."""
        if not self._is_over_budget():
            return False
        self._tell("alert", self.actual_draw(), value=self.budget.watts(self.machine.now))
        before = len(self.events)
        for step in self.rules.on_excess:
            for job in self._victims(self.machine.running):
                act = {"lower-caps": self._lower, "suspend": self._suspend, "requeue": self._requeue}
                act.get(step, self._kill)(job)
                if not self._is_over_budget():
                    return True
        return len(self.events) > before

    def _victims(self, among: Sequence[Job]) -> list[Job]:
        """The first to suffer first: rule 31."""
        if self.rules.victims == "lowest-priority":
            return sorted(among, key=self.machine.order_key(), reverse=True)
        return sorted(among, key=lambda job: (job.start, job.eligible, job.row), reverse=True)

    def _lower(self, job: Job) -> None:
        """Rule 30."""
        while self._is_over_budget():
            highest = max(in_force(job, node) for node in job.nodes)
            below = [cap for cap in self.levels if cap < highest]
            if not below:
                return
            self._set_emergency_cap("lower-cap", job, max(below))

    def _set_emergency_cap(self, kind: str, job: Job, cap: float) -> None:
        before = self.actual_draw()
        job.run.emergency = cap
        told = min(cap, job.own_cap)
        self._tell(kind, before, job, None if told == inf else told)

    def _suspend(self, job: Job) -> None:
        """Rule 8. What it asks for when it resumes: rule 20."""
        before, machine = self.actual_draw(), self.machine
        if job.run.is_new:
            tell_end(machine, job)
            job.run.is_new = False
        each = [whole_draw(machine, job, number) - machine.draws.idle(number) for number in job.nodes]
        job.run.asks = self._held(job, sum(max(one, 0) for one in each))
        machine.suspend(job)
        self._tell("suspend", before, job)

    def _requeue(self, job: Job) -> None:
        """Rule 32."""
        if job.attempts > self.rules.max_requeues or not self.could_ever_run(job, self.machine.now):
            self._kill(job)
            return
        before = self.actual_draw()
        self.machine.leave(job, "queued", is_lost=True)
        self._tell("requeue", before, job)

    def _kill(self, job: Job) -> None:
        before = self.actual_draw()
        self.machine.leave(job, "failed", is_lost=True)
        self._tell("kill", before, job)

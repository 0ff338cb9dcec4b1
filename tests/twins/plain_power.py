"""A run under budgets, caps and emergencies in time, in plain Python from the rules: slow, and obvious.

Numbers of rules are those of the page on power in time. One instant: jobs end, the budget changes, jobs are submitted,
one pass; again while a job of length zero ends; then the monitor looks.
What became of the caps counts once, at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

from plain_power_machine import WATT, Job, Machine, ceiling, microwatts_up, stretched
from plain_power_plan import Budget, BudgetRow, Hold, Plan, Release
from plain_power_records import ORDERS, Attempt, Event, Outcome, Rules, Segment, Stretch


@dataclass
class Run:
    """A run under way."""

    jobs: Sequence[Job]
    machine: Machine
    rules: Rules
    rows: Sequence[BudgetRow] = ()
    queue: list[int] = field(default_factory=list)
    live: dict[int, Attempt] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    now: int = 0
    surplus: int = 0
    energy: int = 0
    idle_energy: int = 0
    of_this_pass: set[int] = field(default_factory=set)
    """Jobs that started in it."""
    promises: list[tuple[int, int, int]] = field(default_factory=list)
    """The first reservation of each pass: when it was made, for which job, and for when."""
    passed_over: set[int] = field(default_factory=set)
    """Jobs that fitted at no instant in some pass, and held none up (rule 18)."""

    def __post_init__(self) -> None:
        machine, rules = self.machine, self.rules
        self.jobs_done = [Outcome() for _ in self.jobs]
        self.budget = Budget(rules.budget_w, self.rows)
        finite = sorted(cap for cap in machine.actual if cap < inf)
        self.levels = finite if rules.caps_w is None else list(rules.caps_w)
        self.least_caps = [self.lowest_allocated(job) for job in self.jobs]
        self.planned_lengths = [machine.planned_length(job) for job in self.jobs]
        self.least_lengths = [
            stretched(length, machine.slowdown(job, caps))
            for job, length, caps in zip(self.jobs, self.planned_lengths, self.least_caps, strict=True)
        ]
        self.arrivals = sorted(range(len(self.jobs)), key=lambda j: self.jobs[j].submit)
        self.begin = self.now = min((job.submit for job in self.jobs), default=0)
        self.budget_ends = [end for end in self.budget.ends() if end >= self.begin]

    # Caps, draws and factors.

    def lowest_allocated(self, job: Job) -> list[float]:
        """The least caps, one a node of the machine: rule 13."""
        if self.rules.allocator == "uniform":
            return [self.levels[0] for _ in self.machine.nodes]
        if self.rules.allocator == "equal-slowdown":
            return self.machine.equal_slowdown_caps(job, self.rules.slowdown_limit, self.levels)
        return self.no_caps()

    def no_caps(self) -> list[float]:
        return [inf for _ in self.machine.nodes]

    def in_force(self, one: Attempt, node: int) -> float:
        """Rule 1."""
        return min(self.jobs[one.j].own_cap, one.allocated[node], one.emergency)

    def least_in_force(self, one: Attempt, node: int) -> float:
        """What is in force when the allocator has done its worst."""
        return min(self.jobs[one.j].own_cap, self.least_caps[one.j][node], one.emergency)

    def least_draw(self, j: int, nodes: Sequence[int]) -> int:
        """Least watts of a waiting job: rule 13."""
        job, least = self.jobs[j], self.least_caps[j]
        return sum(self.machine.predicted_beyond_idle(job, node, min(job.own_cap, least[node])) for node in nodes)

    def running_least_draw(self, one: Attempt) -> int:
        """Least watts of a running job: rule 13."""
        job = self.jobs[one.j]
        return sum(self.machine.predicted_beyond_idle(job, node, self.least_in_force(one, node)) for node in one.nodes)

    def factor(self, one: Attempt) -> float:
        """F of rule 4."""
        job = self.jobs[one.j]
        own_w = self.own_draw(one)
        return max(self.machine.actual_factor(job, node, self.in_force(one, node), own_w) for node in one.nodes)

    def own_draw(self, one: Attempt) -> float | None:
        """Watts of its profile; None: it has none."""
        parts = self.jobs[one.j].parts
        return parts[one.part][0] if parts else None

    def predicted_factor(self, one: Attempt) -> float:
        """Fp of rule 4."""
        job = self.jobs[one.j]
        return max(self.machine.predicted_factor(job, node, self.in_force(one, node)) for node in one.nodes)

    def least_predicted_factor(self, one: Attempt) -> float:
        job = self.jobs[one.j]
        return max(self.machine.predicted_factor(job, node, self.least_in_force(one, node)) for node in one.nodes)

    def own_predicted_factor(self, one: Attempt) -> float:
        job = self.jobs[one.j]
        return max(self.machine.predicted_factor(job, node, job.own_cap) for node in one.nodes)

    def running(self) -> list[Attempt]:
        return [one for one in self.live.values() if one.is_running]

    def suspended(self) -> list[Attempt]:
        return [one for one in self.live.values() if not one.is_running]

    def job_draw(self, one: Attempt) -> int:
        """All its nodes together, actual; a suspended job draws nothing."""
        if not one.is_running:
            return 0
        job = self.jobs[one.j]
        own_w = self.own_draw(one)
        return sum(self.machine.actual_draw(job, node, self.in_force(one, node), own_w) for node in one.nodes)

    def idle_nodes_draw(self) -> int:
        serving = {node for one in self.running() for node in one.nodes}
        own = sum(self.machine.idle(node) for node in self.machine.nodes if node not in serving)
        return own + self.machine.beside_draw

    def actual_draw(self) -> int:
        return self.idle_nodes_draw() + sum(self.job_draw(one) for one in self.running())

    def predicted_draw(self) -> int:
        beyond = sum(
            self.machine.predicted_beyond_idle(self.jobs[one.j], node, self.in_force(one, node))
            for one in self.running()
            for node in one.nodes
        )
        return self.machine.idle_draw + beyond

    def free_nodes(self) -> list[int]:
        taken = {node for one in self.live.values() for node in one.nodes}
        return [node for node in self.machine.nodes if node not in taken]

    # The budget.

    def ceiling(self) -> int:
        return ceiling(self.budget.watts(self.now))

    def room(self) -> int:
        """Rule 15."""
        in_use = sum(self.running_least_draw(one) for one in self.running())
        return self.ceiling() - self.machine.idle_draw - in_use - self.surplus

    def best_least_draw(self, j: int) -> int:
        """Least watts on the nodes of the machine where these are fewest."""
        return sum(sorted(self.least_draw(j, [node]) for node in self.machine.nodes)[: self.jobs[j].node_count])

    def could_ever_run(self, j: int, now: int) -> bool:
        """Rule 11."""
        if self.jobs[j].node_count > len(self.machine.nodes):
            return False
        return self.best_least_draw(j) <= self.budget.highest_from(now) - self.machine.idle_draw

    # Starts and ends.

    def start(self, j: int, nodes: list[int], started_by: str) -> None:
        done = self.jobs_done[j]
        done.attempts += 1
        done.start, done.end, done.nodes, done.started_by = self.now, None, nodes, started_by
        done.lowest_cap_w = None
        self.queue.remove(j)
        self.live[j] = Attempt(done.attempts, j, self.now, nodes, self.no_caps(), since=self.now)
        self.of_this_pass.add(j)

    def tell_end(self, one: Attempt) -> None:
        """When it ends by the caps in force now, and when it is planned to: rules 4 to 8."""
        job, factor, predicted = self.jobs[one.j], self.factor(one), self.predicted_factor(one)
        if one.is_new:
            one.end = one.start + stretched(job.runtime, factor) + job.comm
            longer = predicted / self.own_predicted_factor(one)
            one.planned = one.start + stretched(self.planned_lengths[one.j], longer)
            one.anchor = (one.start, 0)
            one.turn = self.end_of_part(one, factor)
        else:
            if one.turn < inf and factor != one.factor:
                one.turn = self.now + stretched(int(one.turn) - self.now, factor / one.factor)
                one.anchor = (int(one.turn), self.jobs[one.j].parts[one.part][1])
            one.end = self.now + stretched(one.end - self.now, factor / one.factor)
            if one.planned > self.now:
                one.planned = self.now + stretched(one.planned - self.now, predicted / one.predicted_factor)
        one.factor, one.predicted_factor = factor, predicted

    def end_of_part(self, one: Attempt, factor: float) -> float:
        """When the part that it is in is over; infinity: it is in its last. Rules 40 and 41."""
        job, (anchor, over) = self.jobs[one.j], one.anchor
        if one.part + 1 >= len(job.parts):
            return inf
        return anchor + stretched((job.parts[one.part][1] - over) * job.interval, factor)

    def turn_profiles(self) -> None:
        """Parts that are over give way to the next."""
        for one in self.running():
            while one.turn <= self.now:
                one.part += 1
                one.turn = self.end_of_part(one, one.factor)

    def over(self, one: Attempt) -> int:
        """When it ends or is killed at its walltime: rule 6."""
        return one.end if self.jobs[one.j].walltime is None else min(one.end, one.planned)

    def leave(self, one: Attempt, *, is_lost: bool = False) -> Outcome:
        """It leaves its nodes, for whatever reason."""
        done = self.jobs_done[one.j]
        done.end = self.now
        done.energy += one.energy
        done.lost_energy += one.energy if is_lost else 0
        if one.suspended_at is not None:
            done.suspended += self.now - one.suspended_at
        if one.stretch is None or one.since < self.now:
            self.close_segment(one)
        done.lowest_cap_w = None if one.lowest_cap == inf else one.lowest_cap
        del self.live[one.j]
        return done

    def finish(self) -> bool:
        """Ends those whose time has come; whether there were any."""
        over = [one for one in self.running() if self.over(one) <= self.now]
        for one in over:
            self.leave(one).state = "completed" if one.end <= self.now else "timeout"
        return bool(over)

    # What happens to jobs in a recovery or in an emergency.

    def tell(self, kind: str, before: int, one: Attempt | None = None, value: float | None = None) -> None:
        job = None if one is None else one.j
        self.events.append(Event(self.now, kind, job, value, before / WATT, self.actual_draw() / WATT))

    def suspend(self, one: Attempt) -> None:
        """Rule 8. What it asks for when it resumes: rule 20."""
        before = self.actual_draw()
        job = self.jobs[one.j]
        if one.is_new:
            self.tell_end(one)
            one.is_new = False
        one.asks = sum(
            max(
                self.machine.actual_draw(job, node, self.in_force(one, node), self.own_draw(one))
                - self.machine.idle(node),
                0,
            )
            for node in one.nodes
        )
        one.left = (one.end - self.now, one.planned - self.now)
        one.turn -= self.now
        one.suspended_at = self.now
        self.tell("suspend", before, one)

    def resume(self, one: Attempt) -> None:
        before = self.actual_draw()
        self.jobs_done[one.j].suspended += self.now - (one.suspended_at or 0)
        one.end, one.planned = (self.now + left for left in one.left)
        one.turn += self.now
        if one.turn < inf:
            one.anchor = (int(one.turn), self.jobs[one.j].parts[one.part][1])
        one.suspended_at = None
        self.tell("resume", before, one)

    def kill(self, one: Attempt) -> None:
        before = self.actual_draw()
        self.leave(one, is_lost=True).state = "failed"
        self.tell("kill", before, one)

    def requeue(self, one: Attempt) -> None:
        """Rule 32."""
        done = self.jobs_done[one.j]
        if done.attempts > self.rules.max_requeues or not self.could_ever_run(one.j, self.now):
            self.kill(one)
            return
        before = self.actual_draw()
        self.leave(one, is_lost=True)
        self.queue.append(one.j)
        self.tell("requeue", before, one)

    def set_emergency_cap(self, kind: str, one: Attempt, cap: float) -> None:
        before = self.actual_draw()
        one.emergency = cap
        told = min(cap, self.jobs[one.j].own_cap)
        self.tell(kind, before, one, None if told == inf else told)

    # The monitor.

    def policy_order(self, j: int) -> tuple[int, int, int]:
        job = self.jobs[j]
        return ORDERS[self.rules.order](job, self.planned_lengths[j]), job.submit, j

    def victims(self, among: Sequence[Attempt]) -> list[Attempt]:
        """The first to suffer first: rule 31."""
        if self.rules.victims == "lowest-priority":
            return sorted(among, key=lambda one: self.policy_order(one.j), reverse=True)
        return sorted(among, key=lambda one: (one.start, self.jobs[one.j].submit, one.j), reverse=True)

    def is_over_budget(self) -> bool:
        return self.actual_draw() > self.ceiling()

    def look(self) -> bool:
        """Rules 27 to 33; whether anything was done."""
        if not self.is_over_budget():
            return False
        self.tell("alert", self.actual_draw(), value=self.budget.watts(self.now))
        before = len(self.events)
        for step in self.rules.on_excess:
            for one in self.victims(self.running()):
                self.act(step, one)
                if not self.is_over_budget():
                    return True
        return len(self.events) > before

    def act(self, step: str, one: Attempt) -> None:
        if step == "lower-caps":
            self.lower(one)
        else:
            {"suspend": self.suspend, "requeue": self.requeue, "kill": self.kill}[step](one)

    def lower(self, one: Attempt) -> None:
        """Rule 30."""
        while self.is_over_budget():
            highest = max(self.in_force(one, node) for node in one.nodes)
            below = [cap for cap in self.levels if cap < highest]
            if not below:
                return
            self.set_emergency_cap("lower-cap", one, max(below))

    # A pass.

    def one_pass(self, submitted: set[int]) -> None:
        """Rule 19."""
        self.of_this_pass = set()
        self.surplus = max(self.actual_draw() - self.predicted_draw(), 0) if self.rules.on_excess else 0
        self.withheld = 0
        suspended = set(self.queue_of_suspended())
        if self.recover():
            self.serve_queue(submitted)
        resumed = {j for j in suspended if j in self.live and self.live[j].is_running}
        if self.is_allocators_turn(has_started=bool(self.of_this_pass or resumed)):
            self.allocate()
        for one in self.running():
            if one.is_new:
                self.tell_end(one)

    def queue_of_suspended(self) -> list[int]:
        """The oldest suspension first, of one instant the last victim first: rule 20."""
        last_victims_first = list(reversed(self.victims(self.suspended())))
        return [one.j for one in sorted(last_victims_first, key=lambda one: one.suspended_at or 0)]

    def recover(self) -> bool:
        """Rules 20 and 21; False if it was ended."""
        most = self.budget.highest_from(self.now) - self.machine.idle_draw
        for j in self.queue_of_suspended():
            if self.live[j].asks > most:
                self.kill(self.live[j])
        room = self.room()
        for j in self.queue_of_suspended():
            if self.live[j].asks > room:
                return False
            room -= self.live[j].asks
            self.resume(self.live[j])
            self.withheld += max(self.live[j].asks - self.running_least_draw(self.live[j]), 0)
        return self.raise_caps(room)

    def raise_caps(self, room: int) -> bool:
        """Rule 21; False if it was ended."""
        for one in reversed(self.victims(self.running())):
            while one.emergency < inf:
                level = min((cap for cap in self.levels if cap > one.emergency), default=inf)
                level = inf if level >= self.jobs[one.j].own_cap else level
                before, lowered = self.running_least_draw(one), one.emergency
                one.emergency = level
                growth = self.running_least_draw(one) - before
                one.emergency = lowered
                if growth > room:
                    return False
                room -= growth
                self.set_emergency_cap("raise-cap", one, level)
        return True

    def serve_queue(self, submitted: set[int]) -> None:
        holds: list[Hold] = []
        blocked, reservations = False, 0
        for j in sorted(self.queue, key=self.policy_order):
            nodes = self.place(j)
            if nodes is not None and self.may_start(j, nodes, holds):
                self.start(j, nodes, "backfill" if blocked else "immediate" if j in submitted else "reservation")
                continue
            if self.rules.depth is None:
                return
            blocked = True
            if reservations < self.rules.depth and self.reserve(j, holds):
                reservations += 1

    def place(self, j: int) -> list[int] | None:
        """The nodes it would take now; None if it does not fit: rules 15 and 20."""
        free, count = self.free_nodes(), self.jobs[j].node_count
        if len(free) < count:
            return None
        room = self.room() - self.withheld
        if self.least_draw(j, free[:count]) <= room:
            return free[:count]
        if self.running():
            return None
        # Nothing runs, so nothing will end that it could wait for: where it adds least.
        best = sorted(sorted(free, key=lambda node: (self.least_draw(j, [node]), node))[:count])
        return best if self.least_draw(j, best) <= room else None

    def may_start(self, j: int, nodes: list[int], holds: list[Hold]) -> bool:
        """Rule 17."""
        plan = self.plan(holds)
        if self.least_lengths[j] == 0 or not (holds or plan.falls):
            return True
        need = microwatts_up(self.least_draw(j, nodes))
        return plan.has_room(self.now, len(nodes), need, self.least_lengths[j])

    def reserve(self, j: int, holds: list[Hold]) -> bool:
        """Rule 18."""
        plan, count, every = self.plan(holds), self.jobs[j].node_count, self.machine.nodes
        if self.best_least_draw(j) > plan.most_picowatts:
            self.passed_over.add(j)
            return False
        mean = microwatts_up(Fraction(self.least_draw(j, every) * count, len(every)))
        need, length = min(mean, plan.most_microwatts), self.least_lengths[j]
        at = plan.earliest(count, need, length)
        if at is None:
            self.passed_over.add(j)
            return False
        if not holds:
            self.promises.append((self.now, j, at))
        plan.reserve(at, count, need, length)
        return True

    def plan(self, holds: list[Hold]) -> Plan:
        """Rule 16."""
        taken = self.machine.idle_draw + self.surplus
        foresight = self.rules.foresight
        times = [self.now, *self.budget.believed_changes(self.now, foresight)]
        budget = {time: self.budget.believed(self.now, time, foresight) - taken for time in times}
        running = [
            Release(self.planned_release(one), len(one.nodes), self.running_least_draw(one)) for one in self.running()
        ]
        return Plan(self.now, len(self.free_nodes()), budget, running, holds)

    def planned_release(self, one: Attempt) -> int:
        if one.j in self.of_this_pass:
            return self.now + self.least_lengths[one.j]
        if one.planned <= self.now:
            return self.now
        return self.now + stretched(one.planned - self.now, self.least_predicted_factor(one) / one.predicted_factor)

    # The allocator.

    def is_allocators_turn(self, *, has_started: bool) -> bool:
        """Rule 23."""
        interval = self.rules.allocator_interval
        return interval == 0 or has_started or self.now in self.budget_ends or self.now % interval == 0

    def allocate(self) -> None:
        """Rules 24 to 26: the first of ever lower caps that keep within what may be used, or the lowest."""
        if self.rules.allocator == "uniform":
            for cap in [inf, *reversed(self.levels)]:
                for one in self.running():
                    one.allocated = [cap for _ in self.machine.nodes]
                if self.is_within():
                    return
        elif self.rules.allocator == "equal-slowdown":
            k, slowdown = 0, 1.0
            self.slow_down(slowdown)
            while not self.is_within() and slowdown < self.rules.slowdown_limit:
                k += 1
                slowdown = min(1.0 + k / 1024, self.rules.slowdown_limit)
                self.slow_down(slowdown)

    def slow_down(self, slowdown: float) -> None:
        for one in self.running():
            one.allocated = self.machine.equal_slowdown_caps(self.jobs[one.j], slowdown, self.levels)

    def is_within(self) -> bool:
        return self.predicted_draw() <= self.ceiling() - self.surplus

    # Instants.

    def next_time(self) -> int | None:
        """The next instant; None if the run is over."""
        times = [self.over(one) for one in self.running()] + [self.jobs[j].submit for j in self.arrivals[:1]]
        times += [int(one.turn) for one in self.running() if one.turn < inf]
        if self.is_over():
            return None
        times += self.ends_to_come()[:1]
        intervals = [self.rules.allocator_interval, self.rules.monitor_interval if self.rules.on_excess else 0]
        if self.running():
            times += [(self.now // interval + 1) * interval for interval in intervals if interval]
        return min(times, default=None)

    def is_over(self) -> bool:
        """Whether no job runs, waits or is to come that can run."""
        return not (self.live or self.queue or any(self.could_ever_run(j, self.jobs[j].submit) for j in self.arrivals))

    def ends_to_come(self) -> list[int]:
        return [end for end in self.budget_ends if end > self.now]

    def is_anything_to_come(self) -> bool:
        return bool(self.running() or self.arrivals or self.ends_to_come())

    def advance(self, now: int) -> None:
        """Charges what was drawn since the last instant."""
        span = now - self.now
        for one in self.running():
            one.energy += self.job_draw(one) * span
        self.idle_energy += self.idle_nodes_draw() * span
        self.energy += self.actual_draw() * span
        self.now = now

    def instant(self) -> None:
        self.turn_profiles()
        has_ended = self.finish()
        changes = self.budget_ends.count(self.now)
        for _ in range(changes):
            self.tell("budget", self.actual_draw(), value=self.budget.watts(self.now))
        submitted = self.submit()
        if changes:
            self.judge_again()
        interval = self.rules.allocator_interval
        if has_ended or changes or submitted or (interval and self.now % interval == 0):
            self.rounds({j for j in submitted if j in self.queue})
        self.last_word()
        self.settle()

    def submit(self) -> set[int]:
        submitted = {j for j in self.arrivals if self.jobs[j].submit == self.now}
        self.arrivals = [j for j in self.arrivals if j not in submitted]
        for j in sorted(submitted):
            if self.could_ever_run(j, self.now):
                self.queue.append(j)
            else:
                self.jobs_done[j].state = "rejected"
        return submitted

    def judge_again(self) -> None:
        """Rule 11, at the instants of rule 9."""
        for j in [j for j in self.queue if not self.could_ever_run(j, self.now)]:
            self.queue.remove(j)
            self.jobs_done[j].state = "failed" if self.jobs_done[j].attempts else "rejected"

    def rounds(self, submitted: set[int]) -> None:
        self.one_pass(submitted)
        while self.finish():
            self.one_pass(set())

    def last_word(self) -> None:
        """The monitor, after the last pass; and one more pass if nothing is to come: rules 27 and 34."""
        was_asked = False
        while True:
            has_acted = self.is_looked_at() and self.look()
            if self.is_anything_to_come() or not (self.queue or self.live) or (was_asked and not has_acted):
                return
            was_asked = True
            self.rounds(set())

    def is_looked_at(self) -> bool:
        interval = self.rules.monitor_interval
        return bool(self.rules.on_excess) and (interval == 0 or self.now % interval == 0)

    def settle(self) -> None:
        """The instant is over: caps count now (rule 7), and a segment ends where something has changed."""
        for one in self.live.values():
            if one.is_running:
                self.tell_end(one)
                one.is_new = False
            stretch = self.stretch(one)
            if stretch != one.stretch:
                if one.stretch is not None and one.since < self.now:
                    self.close_segment(one)
                one.since, one.stretch = self.now, stretch

    def stretch(self, one: Attempt) -> Stretch:
        caps = [self.in_force(one, node) for node in one.nodes]
        one.lowest_cap = min(one.lowest_cap, *caps)
        cap_w = None if inf in caps else sum(caps) / len(caps)
        if not one.is_running:
            return Stretch(tuple(one.nodes), cap_w, 0.0, 0, "suspended")
        return Stretch(tuple(one.nodes), cap_w, 1.0 / self.factor(one), self.job_draw(one), "running")

    def close_segment(self, one: Attempt) -> None:
        """Up to now; an attempt that is over in its first instant has this one."""
        self.segments.append(Segment(one.j, one.number, one.since, self.now, one.stretch or self.stretch(one)))

    def to_the_end(self) -> Run:
        is_first_instant = self.begin in self.budget_ends
        while is_first_instant or (now := self.next_time()) is not None:
            self.advance(self.begin if is_first_instant else now)
            is_first_instant = False
            self.instant()
        for j in self.arrivals:
            self.jobs_done[j].state = "rejected"
        last = max((done.end for done in self.jobs_done if done.end is not None), default=self.begin)
        self.events = [event for event in self.events if event.kind != "budget" or event.time <= last]
        after = self.idle_nodes_draw() * (self.now - last)
        self.energy -= after
        self.idle_energy -= after
        self.segments.sort(key=lambda row: (row.job, row.attempt, row.start))
        return self


def schedule(jobs: Sequence[Job], machine: Machine, rules: Rules, rows: Sequence[BudgetRow] = ()) -> Run:
    """Runs the jobs to the end; `jobs_done`, `events`, `segments` and `energy` of what comes back say what became."""
    return Run(jobs, machine, rules, rows).to_the_end()

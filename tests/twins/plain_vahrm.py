"""Schedulers under a power budget, and VAHRM, in plain Python from the rules: slow, and obvious.

Time is whole microseconds, power whole microwatts. One instant: running jobs end, jobs are submitted, then one pass;
and again while the pass made something happen at once. A pass serves those who have waited too long, the longest wait
first; then it goes through the queue in policy order. Whoever fits, in nodes and in watts on the very nodes it would
take, starts; what becomes of those behind one that does not fit is the backfill's business.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import NamedTuple

SECOND = 1_000_000
WATT = 1_000_000


class Job(NamedTuple):
    """A job as it is submitted: microseconds and nodes, its application and whether it is said to be a first run."""

    submit: int
    runtime: int
    node_count: int
    walltime: int | None
    app: str
    first_run: bool | None = None

    def planned(self) -> int:
        return self.runtime if self.walltime is None else self.walltime


@dataclass
class Machine:
    """Nodes in whole watts; `actual` is charged and nobody reads it, so that it is not here."""

    idle_w: list[int]
    tdp_w: list[int]
    predicted_w: dict[str, list[int]]
    """What each node draws under each application, as decisions believe it."""

    @property
    def nodes(self) -> int:
        return len(self.idle_w)

    def beyond_idle(self, node: int, watts: int) -> int:
        """What a node draws beyond idle, in microwatts; less than idle counts as idle."""
        return (max(watts, self.idle_w[node]) - self.idle_w[node]) * WATT


@dataclass
class Rules:
    """The policy. `depth`: None, no job overtakes; 0, whoever fits starts; k reservations; inf, conservative."""

    depth: float | None
    by_vahrm: bool = False
    beta: float = 0.25**6
    by_walltime: bool = False
    starvation_limit: float = inf
    profiling_ratio: float | None = None
    lowest_power: bool = True
    budget_w: float | None = None


@dataclass
class Schedule:
    """When and where each job ran, by its place in the trace; None for what did not happen."""

    start: list[int | None]
    end: list[int | None]
    started_by: list[str | None]
    state: list[str]
    nodes: list[list[int] | None]
    profiled: list[bool]


class Plan:
    """Free nodes and free microwatts over time: from `times[i]` until `times[i + 1]`, the last for ever."""

    def __init__(self, now: int, nodes: int, watts: float, ends: Sequence[tuple[int, int, int]]) -> None:
        self.times, self.nodes, self.watts = [now], [nodes], [watts]
        for planned_end, count, held in sorted(ends):
            if planned_end > self.times[-1]:
                self.times.append(planned_end)
                self.nodes.append(self.nodes[-1])
                self.watts.append(self.watts[-1])
            self.nodes[-1] += count
            self.watts[-1] += held

    def holds(self, step: int, count: int, watts: int, length: int) -> bool:
        """Whether there is enough of both from the step's beginning until `length` is over."""
        until = self.times[step] + length
        during = [k for k in range(step, len(self.times)) if k == step or self.times[k] < until]
        return all(self.nodes[k] >= count and self.watts[k] >= watts for k in during)

    def earliest(self, count: int, watts: int, length: int) -> int | None:
        """The first instant from which there is enough of both; None if there never is."""
        steps = range(len(self.times))
        return next((self.times[k] for k in steps if self.holds(k, count, watts, length)), None)

    def take(self, start: int, count: int, watts: int, length: int) -> None:
        for step in range(self.cut(start), self.cut(start + length)):
            self.nodes[step] -= count
            self.watts[step] -= watts

    def cut(self, time: int) -> int:
        """The step that begins at this time, made if there is none."""
        step = bisect_left(self.times, time)
        if step == len(self.times) or self.times[step] != time:
            self.times.insert(step, time)
            self.nodes.insert(step, self.nodes[step - 1])
            self.watts.insert(step, self.watts[step - 1])
        return step


@dataclass
class Run:
    """A run under way."""

    jobs: Sequence[Job]
    machine: Machine
    rules: Rules
    queue: list[int] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    waiting_for_profile: list[int] = field(default_factory=list)
    free: set[int] = field(default_factory=set)
    profiled_apps: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        n = len(self.jobs)
        self.free = set(range(self.machine.nodes))
        self.done = Schedule([None] * n, [None] * n, [None] * n, ["pending"] * n, [None] * n, [False] * n)
        self.held = [0] * n
        """Microwatts beyond idle that each running job counts with."""
        self.all_watts = self.watts_to_give()

    def watts_to_give(self) -> float:
        """Microwatts that may be added to the idle machine; endless where jobs could never exceed it."""
        rules, machine = self.rules, self.machine
        if rules.budget_w is None:
            return inf
        room = int(rules.budget_w * WATT * (1 + 1e-9)) - sum(machine.idle_w) * WATT
        # A node's busy draw, its TDP here, counts among what jobs could draw there.
        highest = [
            max(machine.tdp_w[k], *(row[k] for row in machine.predicted_w.values())) for k in range(machine.nodes)
        ]
        most = sum(machine.beyond_idle(node, watts) for node, watts in enumerate(highest))
        return inf if most <= room else room

    def is_first_run(self, j: int) -> bool:
        if self.rules.profiling_ratio is None:
            return False
        flag = self.jobs[j].first_run
        return self.jobs[j].app not in self.profiled_apps if flag is None else flag

    def draws(self, j: int) -> list[int]:
        """What each node is taken to draw under the job."""
        return self.machine.tdp_w if self.is_first_run(j) else self.machine.predicted_w[self.jobs[j].app]

    def beyond_idle(self, j: int, nodes: Sequence[int]) -> int:
        draws = self.draws(j)
        return sum(self.machine.beyond_idle(node, draws[node]) for node in nodes)

    def mean_beyond_idle(self, j: int) -> int:
        """On average over all nodes, times the nodes asked for; rounded up."""
        total = self.beyond_idle(j, range(self.machine.nodes))
        # A job that is not rejected finds nodes that are good enough: no reservation needs more than there is.
        return min(-(-total * self.jobs[j].node_count // self.machine.nodes), self.all_watts)

    def can_ever_run(self, j: int) -> bool:
        job, machine = self.jobs[j], self.machine
        if job.node_count > machine.nodes:
            return False
        predicted_w = machine.predicted_w[job.app]
        if self.rules.profiling_ratio is None or job.first_run is False:
            return self.fits_somewhere(predicted_w, job.node_count)
        if job.first_run is True:
            return self.fits_somewhere(machine.tdp_w, job.node_count)
        return self.fits_somewhere(predicted_w, job.node_count)

    def submit(self, j: int) -> None:
        """Queues a job, or holds it: one that fits only once its application has a profile."""
        first = self.jobs[j].first_run is None and self.is_first_run(j)
        if not self.can_ever_run(j):
            self.done.state[j] = "rejected"
        elif first and not self.fits_somewhere(self.machine.tdp_w, self.jobs[j].node_count):
            self.waiting_for_profile.append(j)
        else:
            self.queue.append(j)

    def reject_hopeless(self) -> None:
        """Rejects the held jobs of applications of which no queued job can make the profile."""
        teachers = {self.jobs[j].app for j in self.queue if self.jobs[j].first_run is None}
        for j in [j for j in self.waiting_for_profile if self.jobs[j].app not in teachers]:
            self.done.state[j] = "rejected"
            self.waiting_for_profile.remove(j)

    def queue_profiled(self) -> None:
        """Queues the held jobs whose application has a profile now."""
        for j in [j for j in self.waiting_for_profile if self.jobs[j].app in self.profiled_apps]:
            self.queue.append(j)
            self.waiting_for_profile.remove(j)

    def fits_somewhere(self, draws: Sequence[int], count: int) -> bool:
        """Whether so many nodes of the idle machine stay within the budget, if they are the right ones."""
        cheapest = sorted(self.machine.beyond_idle(node, watts) for node, watts in enumerate(draws))
        return sum(cheapest[:count]) <= self.all_watts

    def priority(self, j: int) -> tuple[float, int, int]:
        """Least first: the queue's order."""
        job, rules = self.jobs[j], self.rules
        if not rules.by_vahrm:
            return 0.0, job.submit, j
        length = job.planned() if rules.by_walltime else job.runtime
        mean_w = sum(float(watts) for watts in self.draws(j)) / self.machine.nodes
        energy_j = mean_w * job.node_count * (length / SECOND)
        return -(rules.beta * energy_j - (1.0 - rules.beta) * (job.submit / SECOND)), job.submit, j

    def place(self, j: int) -> list[int] | None:
        """The nodes it would take now; None if it does not fit."""
        job, row = self.jobs[j], self.draws(j)
        by_power = self.rules.lowest_power and not self.is_first_run(j)
        best = sorted(self.free, key=lambda node: (row[node] if by_power else 0, node))
        nodes = sorted(best[: job.node_count])
        if len(nodes) < job.node_count:
            return None
        if self.beyond_idle(j, nodes) <= self.room():
            return nodes
        if self.running:
            return None
        # Nothing runs, so nothing will end that it could wait for: where it adds least.
        cheapest = sorted(self.free, key=lambda node: (self.machine.beyond_idle(node, row[node]), node))
        nodes = sorted(cheapest[: job.node_count])
        return nodes if self.beyond_idle(j, nodes) <= self.room() else None

    def room(self) -> float:
        return self.all_watts - sum(self.held[j] for j in self.running)

    def start(self, j: int, now: int, nodes: list[int], started_by: str) -> None:
        job, done = self.jobs[j], self.done
        ratio = self.rules.profiling_ratio
        is_profiled = self.is_first_run(j)
        length = ceil(job.runtime * ratio) if ratio is not None and is_profiled else job.runtime
        is_killed = job.walltime is not None and length > job.walltime
        done.start[j], done.end[j] = now, now + (job.planned() if is_killed else length)
        done.nodes[j], done.started_by[j], done.profiled[j] = nodes, started_by, is_profiled
        done.state[j] = "timeout" if is_killed else "completed"
        self.held[j] = self.beyond_idle(j, nodes)
        self.queue.remove(j)
        self.running.append(j)
        self.free -= set(nodes)

    def finish(self, j: int) -> None:
        self.running.remove(j)
        self.free |= set(self.done.nodes[j] or [])

    def plan(self, now: int) -> Plan:
        ends = []
        for j in self.running:  # who is overdue counts as ending now
            planned_end = max((self.done.start[j] or 0) + self.jobs[j].planned(), now)
            ends.append((planned_end, self.jobs[j].node_count, self.held[j]))
        return Plan(now, len(self.free), self.room(), ends)

    def serve_starving(self, now: int) -> bool:
        """Starts who has waited too long; False if one of them does not fit: the pass is over then."""
        starving = [j for j in self.queue if now - self.jobs[j].submit > self.rules.starvation_limit]
        for j in sorted(starving, key=lambda j: (self.jobs[j].submit, j)):
            nodes = self.place(j)
            if nodes is None:
                return False
            self.start(j, now, nodes, "reservation")
        return True

    def scan(self, now: int, submitted: set[int]) -> None:
        plan, reservations, blocked = None, 0, False
        for j in sorted(self.queue, key=self.priority):
            job, nodes = self.jobs[j], self.place(j)
            length = job.planned()
            if nodes is not None:
                need = self.beyond_idle(j, nodes)
                # Who takes no time delays nobody.
                if plan is None or length == 0 or plan.holds(0, job.node_count, need, length):
                    self.start(
                        j, now, nodes, "backfill" if blocked else "immediate" if j in submitted else "reservation"
                    )
                    if plan is not None:
                        plan.take(now, job.node_count, need, length)
                    continue
            if self.rules.depth is None:
                return
            blocked = True
            if reservations < self.rules.depth:
                plan = plan or self.plan(now)
                need = self.mean_beyond_idle(j)
                at = plan.earliest(job.node_count, need, length)
                if at is not None:
                    plan.take(at, job.node_count, need, max(length, 1))  # at least its instant
                reservations += 1

    def one_pass(self, now: int, submitted: set[int]) -> None:
        before = set(self.running)
        if self.serve_starving(now):
            self.scan(now, submitted)
        started = [j for j in self.running if j not in before]
        # What ran for the first time in this pass is known from its end on; a flag of the trace teaches nothing.
        self.profiled_apps |= {self.jobs[j].app for j in started if self.jobs[j].first_run is None}
        for j in started:
            self.held[j] = self.beyond_idle(j, self.done.nodes[j] or [])
        self.queue_profiled()


def schedule(jobs: Sequence[Job], machine: Machine, rules: Rules) -> Schedule:
    """Runs the jobs to the end."""
    run = Run(jobs, machine, rules)
    arrivals = sorted(range(len(jobs)), key=lambda j: jobs[j].submit)  # stable: equal submits keep the trace's order
    while run.running or arrivals:
        ends = [run.done.end[j] or 0 for j in run.running]
        now = min([*ends, *(jobs[j].submit for j in arrivals[:1])])
        for j in [j for j in run.running if run.done.end[j] == now]:
            run.finish(j)
        submitted = {j for j in arrivals if jobs[j].submit == now}
        arrivals = [j for j in arrivals if j not in submitted]
        for j in sorted(submitted):
            run.submit(j)
        run.reject_hopeless()
        run.one_pass(now, submitted)  # a job of length zero that it starts ends at `now`: the next round's first event
    return run.done

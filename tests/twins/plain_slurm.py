"""Slurm's scheduler in plain Python from its rules: slow, and obvious. Nothing of hetsched is used.

Numbers in brackets are rules of the page on Slurm's scheduler. Batch jobs of whole nodes, one partition a job.

Where the rules leave a choice:

- In one microsecond ends, clean-ups, registrations and submissions come first, in this order, then a recomputation, a
  scan, a backfill cycle, a tick of the main loop.
- Beats that are given are runs: a main run is made without an event, a cycle without a change. A main run among them
  is a full one if `sched_interval` has passed. Ticks go on for the grid, unless the grid is given, too.
- At the controller's start a full run, a run, a grid point, a cycle and a scan count as just made. The first tick is
  one period later. Nodes count as idle from then on, or from 0 on the log's clock if that is later.
- A job's age for `bf_min_age_reserve` counts from the second from which it may start.
- `partition_job_depth` and `sched_max_job_start` hold for full runs as well.
- A job counts for `bf_max_job_part` and `bf_max_job_user` once a cycle looks at it, short of licences or not.
- A full table ends the cycle when a plan is to be entered; starts go on. Entries of started and of running jobs are
  cut down and are at least one resolution long, as plans are.
- A job is killed on the grid if its planned end is not after now. It leaves the tables there, and its nodes answer
  after KillWait and the clean-up; then the main loop runs at once, for there were processes. A job that waits for
  boots is not.
- A requeued job's nodes are completing until those of them that boot are up. It keeps its priority under
  priority/basic.
- With a PrologSlurmctld a job starts when its last node is up, and not on the grid.

Where recordings have it otherwise than it is written, the reference follows them: `changes_as_recorded` (10) can be
turned off; 15 blocks the partition's nodes as 17 does; in 32 the search for the place where nodes come back ends with
the first record that begins behind the window; in 37 records that are merged away still count for the size of the
table; without a slurmdbd priorities are never recomputed (40); 47 waits for all nodes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from plain_slurm_main import MainRun
from plain_slurm_plan import Cycle
from plain_slurm_power import Scanner
from plain_slurm_queue import basic_priority, multifactor_priority
from plain_slurm_state import (
    ASLEEP,
    AWAKE,
    BOOTING,
    COMPLETING,
    DONE,
    PENDING,
    RUNNING,
    SECOND,
    Job,
    Node,
    Options,
    Partition,
    Place,
    Run,
    State,
    micros,
)

MAIN_PERIOD_S = 1.0017
GRID = 30
REQUEUE_DELAY = 121
END, CLEANED, UP, SUBMIT, RECOMPUTE, SCAN, BACKFILL, MAIN, EPILOG = range(9)
"""Order of what happens in one microsecond: jobs and nodes first, then the loops."""


@dataclass
class Outcome:
    """A job's run in seconds of the log's clock; None for what has not come about."""

    id: int
    start_s: float | None
    script_start_s: float | None
    end_s: float | None
    nodes: tuple[int, ...]
    attempts: int = 1


@dataclass
class Result:
    jobs: dict[int, Outcome]
    power: list[tuple[float, str, str]]
    """Time, what, node: suspend, asleep, resume, up, down."""

    def mean_wait_s(self, jobs: Iterable[Job]) -> float:
        waits = [self.jobs[job.id].start_s - job.submit_s for job in jobs]  # type: ignore[operator]
        return sum(waits) / len(waits)


@dataclass
class Machine:
    state: State
    heap: list[tuple[int, int, int, Callable[[int], None]]] = field(default_factory=list)
    number: int = 0
    submitted: int = 0
    events: int = 0
    """Events since the last main run (6)."""
    changed: int = -1
    """Last second in which a job or node changed (10)."""
    power: list[tuple[float, str, str]] = field(default_factory=list)
    has_marked: bool = False
    """True if the last cycle marked nodes as planned."""
    waiting_for_boots: list[tuple[Run, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        began = self.state.second(micros(self.options.started_s))
        self.last_full = self.last_run = self.last_grid = self.last_cycle = began
        idle_since = self.state.second(micros(max(self.options.started_s, self.options.idle_since_s)))
        for n, place in enumerate(self.state.places):
            place.weight = (0, self.state.nodes[n].weight)
            place.last_busy = idle_since
        self.scanner = Scanner(self.state, began, began, began)

    @property
    def options(self) -> Options:
        return self.state.options

    # Events.

    def at(self, time: int, rank: int, act: Callable[[int], None]) -> None:
        self.number += 1
        heapq.heappush(self.heap, (time, rank, self.number, act))

    def every(self, first: int, period: int, rank: int, act: Callable[[int], None]) -> None:
        def beat(time: int) -> None:
            act(time)
            self.at(time + period, rank, beat)

        self.at(first, rank, beat)

    def go(self, until: int) -> None:
        for run in sorted(self.state.runs.values(), key=lambda run: run.job.id):
            self.at(micros(run.job.submit_s), SUBMIT, lambda time, run=run: self.submit(time, run))  # type: ignore[misc]
        self.set_beats()
        while self.heap and any(run.state != DONE for run in self.state.runs.values()):
            time, _, _, act = heapq.heappop(self.heap)
            if time > until:
                return
            act(time)

    def set_beats(self) -> None:
        """3: all beats count from the controller's start, unless they are given."""
        options, second = self.options, SECOND
        started = micros(options.started_s)
        acts = {
            "main": (MAIN, lambda time: self.main(time, is_full=self.is_full(time))),
            "backfill": (BACKFILL, self.cycle),
            "recompute": (RECOMPUTE, self.recompute),
            "epilog": (EPILOG, lambda time: self.main(time, is_full=False)),
            "scan": (SCAN, self.look),
            "grid": (MAIN, self.grid),
        }
        for name, times in options.beats.items():
            for time in times:
                self.at(micros(time), *acts[name])
        period = SECOND if options.since("23.11") else micros(MAIN_PERIOD_S)
        if options.main_period_s is not None:
            period = micros(options.main_period_s)
        first = started + period
        if options.since("23.11"):  # 4: the next whole second after the start
            first = (self.state.second(started) + 1) * second - micros(options.epoch_s)
        self.every(phase(options.first_main_s, first), period, MAIN, self.tick)
        if "backfill" not in options.beats and options.bf_interval > 0 and options.SchedulerType == "sched/backfill":
            first = started + options.bf_interval * second
            self.at(phase(options.first_backfill_s, first), BACKFILL, self.look_for_backfill)
        if "recompute" not in options.beats and options.is_multifactor and options.accounting:
            first = phase(options.first_recompute_s, started)
            self.every(first, options.PriorityCalcPeriod * second, RECOMPUTE, self.recompute)
        if "scan" not in options.beats and options.SuspendTime is not None:
            self.every(phase(options.first_scan_s, started + second), second, SCAN, self.look)

    def note(self, time: int, *, is_node: bool = True) -> None:
        """Marks a change of a job, and of a node as a rule."""
        self.changed = max(self.changed, self.state.second(time))
        if is_node:
            self.scanner.last_change = max(self.scanner.last_change, self.state.second(time))

    # Jobs.

    def submit(self, time: int, run: Run) -> None:
        now = self.state.second(time)
        run.state, run.begin = PENDING, now
        run.priority = basic_priority(self.submitted, run.job.nice)
        if self.options.is_multifactor:
            run.priority = multifactor_priority(self.state, run, now, is_new=True)
        self.submitted += 1
        self.events += 1
        self.note(time, is_node=False)
        self.state.store_weights(run.partition)

    def recompute(self, time: int) -> None:
        now = self.state.second(time)
        for run in self.state.runs.values():
            if run.state == PENDING and self.options.is_multifactor:
                run.priority = multifactor_priority(self.state, run, now, is_new=False)
        self.note(time, is_node=False)

    def try_start(self, time: int, run: Run, usable: set[int]) -> bool:
        """Starts a job on idle nodes of a set, chosen by fresh weights (28)."""
        state = self.state
        state.store_weights(run.partition)
        chosen = state.choose({n for n in usable if state.is_idle(n)}, run.job.nodes)
        if chosen is None:
            return False
        run.state, run.nodes, run.allocated, run.started = RUNNING, chosen, time, None
        run.starts.append(time)
        run.planned_end = state.second(time) + run.job.limit
        run.is_configuring = any(state.places[n].power == ASLEEP for n in chosen)
        for n in chosen:
            state.places[n].owner = run.job.id
        if not run.is_configuring:
            self.launch(time, run)
        self.note(time)
        return True

    def launch(self, time: int, run: Run) -> None:
        """The script begins, and the limit counts from now (47)."""
        run.is_configuring = False
        run.planned_end = self.state.second(time) + run.job.limit
        run.started = time + micros(self.options.start_s)
        attempt = run.attempt
        self.at(run.started + micros(run.job.run_s), END, lambda at: self.end(at, run, attempt))
        self.note(time)

    def end(self, time: int, run: Run, attempt: int, killed_after: int = 0) -> None:
        """7: out of the tables at once, nodes completing until they have answered."""
        if run.attempt != attempt or run.state != RUNNING:
            return
        run.state, run.ended = COMPLETING, time
        clean_up = self.options.clean_up_s if run.job.clean_up_s is None else run.job.clean_up_s
        self.at(time + killed_after + micros(clean_up), CLEANED, lambda at: self.cleaned(at, run, killed_after > 0))
        self.note(time)

    def cleaned(self, time: int, run: Run, had_processes: bool) -> None:
        """Nodes answer; those that boot do once they are up."""
        state = self.state
        if any(state.places[n].power == BOOTING for n in run.nodes):
            self.waiting_for_boots.append((run, had_processes))
            return
        now = state.second(time)
        for n in run.nodes:
            state.places[n].owner, state.places[n].last_busy = None, now
        self.note(time)
        run.state = DONE
        if run.is_requeued:  # 49, 50
            run.state, run.begin, run.attempt = PENDING, now + REQUEUE_DELAY, run.attempt + 1
            run.nodes, run.is_requeued = (), False
        if (self.options.Epilog or had_processes) and not self.options.defer and "epilog" not in self.options.beats:
            if "main" not in self.options.beats and self.options.sched_interval != -1:
                self.main(time, is_full=False)
            return
        self.events += 1

    # Main loop.

    def tick(self, time: int) -> None:
        """5."""
        now = self.state.second(time)
        if "grid" not in self.options.beats and now - self.last_grid >= GRID:
            self.last_grid = now
            self.grid(time)
        if self.options.sched_interval == -1 or "main" in self.options.beats:
            return
        if self.is_full(time):
            self.main(time, is_full=True)
        elif self.events and now - self.last_run >= self.options.batch_sched_delay:
            self.last_run, self.events = now, 0
            self.main(time, is_full=False)

    def is_full(self, time: int) -> bool:
        now = self.state.second(time)
        if now - self.last_full < self.options.sched_interval:
            return False
        self.last_full = self.last_run = now
        self.events = 0
        return True

    def main(self, time: int, *, is_full: bool) -> None:
        run = MainRun(self.state, self.state.second(time), lambda job, usable: self.try_start(time, job, usable))
        run.go(is_full=is_full)
        if run.is_change:
            self.note(time, is_node=False)

    def grid(self, time: int) -> None:
        """47, 48."""
        now = self.state.second(time)
        for run in self.state.running():
            if run.is_configuring:
                self.launch_if_ready(time, run)
            elif run.planned_end <= now:
                self.end(time, run, run.attempt, self.options.KillWait * SECOND)

    def launch_if_ready(self, time: int, run: Run) -> None:
        powers = [self.state.places[n].power for n in run.nodes]
        is_up = all(power == AWAKE for power in powers) if self.options.wait_all_nodes else powers[0] == AWAKE
        if is_up and ASLEEP not in powers and not self.options.PrologSlurmctld:
            self.launch(time, run)

    # Backfill.

    def look_for_backfill(self, time: int) -> None:
        """9, 10."""
        now = self.state.second(time)
        if now - self.last_cycle < self.options.bf_interval or self.changed < self.last_cycle:
            self.at(time + SECOND, BACKFILL, self.look_for_backfill)
            return
        after = self.cycle(time)
        self.at(after + self.options.bf_interval * SECOND, BACKFILL, self.look_for_backfill)

    def cycle(self, time: int) -> int:
        """Time at which the cycle ends."""
        cycle = Cycle(self.state, self.state.second(time), lambda job, ok: self.try_start(time, job, ok))
        cycle.go()
        after = time + micros(self.options.cycle_s + cycle.tests * self.options.test_s)
        self.last_cycle = self.state.second(after)
        allocated = {n for run in self.state.running() for n in run.nodes}
        is_marked = bool(cycle.planned_nodes - allocated if self.options.changes_as_recorded else cycle.plans)
        if is_marked or (self.has_marked and self.options.changes_as_recorded):  # marks are set, or taken away
            self.note(after)
        self.has_marked = is_marked
        return after

    # Power.

    def look(self, time: int) -> None:
        """44, 45."""
        now = self.state.second(time)
        if "scan" not in self.options.beats and not self.scanner.is_due(now):
            return
        for what, n in self.scanner.scan(now):
            if not self.options.changes_as_recorded:
                self.note(time)
            self.tell(time, what, n)
            if what == "resume":
                self.boot(time, n)
            elif what == "down":
                self.give_up(time, n)

    def tell(self, time: int, what: str, n: int) -> None:
        self.power.append((time / SECOND, what, self.state.nodes[n].name))

    def boot(self, time: int, n: int) -> None:
        place = self.state.places[n]
        place.boots += 1
        number = place.boots
        known = self.options.boots.get(self.state.nodes[n].name, ())
        length = known[number - 1] if number <= len(known) else self.options.boot_s
        self.at(time + micros(length), UP, lambda at: self.up(at, n, number))

    def up(self, time: int, n: int, number: int) -> None:
        """A node registers, unless it has been given up."""
        place = self.state.places[n]
        if place.power != BOOTING or place.boots != number:
            return
        place.power, place.last_busy = AWAKE, self.state.second(time)
        self.events += 1
        self.note(time)
        self.tell(time, "up", n)
        run = self.state.runs.get(place.owner or 0)
        if run is not None and run.is_configuring and self.options.PrologSlurmctld:
            powers = {self.state.places[n].power for n in run.nodes}
            if powers == {AWAKE}:
                self.launch(time, run)
        self.clean_what_waited(time)

    def clean_what_waited(self, time: int) -> None:
        waiting, self.waiting_for_boots = self.waiting_for_boots, []
        for run, had_processes in waiting:
            self.cleaned(time, run, had_processes)

    def give_up(self, time: int, n: int) -> None:
        """49: a node that did not register in time, and its job back to the queue."""
        run = self.state.runs.get(self.state.places[n].owner or 0)
        if run is not None and run.state == RUNNING:
            run.is_requeued = True
            self.end(time, run, run.attempt)
            run.ended, run.is_configuring = None, False
        self.clean_what_waited(time)


def phase(given_s: float | None, derived: int) -> int:
    return derived if given_s is None else micros(given_s)


def simulate(
    nodes: list[Node], partitions: list[Partition], options: Options, jobs: list[Job], until_s: float | None = None
) -> Result:
    by_name = {partition.name: partition for partition in partitions}
    runs = {job.id: Run(job, by_name[job.partition or partitions[0].name]) for job in jobs}
    machine = Machine(State(nodes, by_name, options, runs, [Place() for _ in nodes]))
    if until_s is None:
        until_s = max(job.submit_s for job in jobs) + sum(job.limit + 400 for job in jobs) + 1000
    machine.go(micros(until_s))
    return Result({number: outcome(run) for number, run in runs.items()}, machine.power)


def outcome(run: Run) -> Outcome:
    def seconds(time: int | None) -> float | None:
        return None if time is None else time / SECOND

    return Outcome(
        run.job.id, seconds(run.allocated), seconds(run.started), seconds(run.ended), run.nodes, len(run.starts)
    )

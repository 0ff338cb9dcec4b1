"""A machine in plain Python whose features go together: the definition that the engine is held to.

Rules 2 to 4, 8 to 12, 15, 17, 22, 24 to 31 and 33 to 35 of the page on rules, and its section on nodes that differ:
queues, jobs that wait, are withdrawn or come in arrays, nodes that fail, are serviced or sleep, urgent jobs, features,
GPUs, memory and licences. An instant comes after the other. The pass of `plan`, which names nodes, is in
`plain_windows`, that of the backfills that count in `plain_counted`, what wakes counted nodes and puts them to sleep in
`plain_rest`. Other parts are fair share (`plain_shares`), what nodes draw (`plain_draws`), budgets, caps and
emergencies (`plain_power`), nodes that sleep under a budget (`plain_sleepy_power`), and the order and the first runs of
VAHRM (`plain_vahrm`). They know the rules and no engine. Times are whole microseconds, energies whole picowatts times
microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, inf
from typing import TYPE_CHECKING, NamedTuple

from plain_draws import Draws, later, picowatts, stretched
from plain_shares import ranks

if TYPE_CHECKING:
    from plain_power import Power
    from plain_vahrm import Vahrm

TICK = 1


Place = tuple[int, int, int, int]
"""A cell: the plainest first, of those alike the one with the lowest node."""


Wish = tuple[str, Callable[[frozenset[str]], bool]]
"""A constraint as a text, and whether features satisfy it."""


@dataclass(frozen=True)
class Offer:
    """Offer of a node; memory in whole units."""

    features: frozenset[str] = frozenset()
    gpus: int = 0
    memory: int = 0


@dataclass
class Queue:
    """Nodes, limits, and whose jobs make way for its own (rules 2 to 4)."""

    name: str
    nodes: list[int]
    priority: int = 0
    max_nodes: float = inf
    max_slots: float = inf
    max_walltime: int | None = None
    default_walltime: int | None = None
    max_running: float = inf
    max_running_per_user: float = inf
    users: list[str] | None = None
    order: str | None = None
    spreads: bool = False
    preempts: list[str] = field(default_factory=list)

    def walltime(self, own: int | None) -> int | None:
        """Walltime of a job that brings its own or none."""
        if own is not None:
            return own
        return self.max_walltime if self.default_walltime is None else self.default_walltime

    def takes(self, job: Job) -> bool:
        """Rule 2."""
        return (
            job.node_count <= min(self.max_nodes, len(self.nodes))
            and job.node_count * job.slots <= self.max_slots
            and (job.walltime is None or self.max_walltime is None or job.walltime <= self.max_walltime)
            and (self.users is None or job.user in self.users)
        )


@dataclass
class Job:
    """A job's request, and what becomes of it."""

    row: int
    submit: int
    runtime: int
    walltime: int | None
    node_count: int
    slots: int = 1
    queue: str | None = None
    user: str | None = None
    start_at: int | None = None
    depends_on: int | None = None
    how: str = "any"
    think: int = 0
    cancel: int | None = None
    array: int | None = None
    limit: int | None = None
    wish: Wish | None = None
    gpus: int = 0
    memory: int = 0
    licences: dict[str, int] = field(default_factory=dict)
    app: str = "calm"
    first_run: bool | None = None
    cap_w: float | None = None
    comm: int = 0
    profile_w: tuple[float, ...] = ()
    """Watts of each of its nodes without a cap, interval by interval of its run; empty: as tables say."""
    interval: int = 0

    state: str = "unborn"
    planned: int = 0
    """Planned length."""
    eligible: int | None = None
    joined_in: tuple[int, int] | None = None
    """The instant and its pass."""
    ended_at: int | None = None
    start: int | None = None
    end: int | None = None
    nodes: list[int] = field(default_factory=list)
    started_by: str = ""
    attempts: int = 0
    suspended: int = 0
    """Time for which it stood still in this attempt, before it does so now."""
    since: int | None = None
    """Since when it stands still."""
    run: Pace = field(default_factory=lambda: Pace())  # noqa: PLW0108
    energy: int = 0
    lost_energy: int = 0

    @property
    def width(self) -> int:
        """Slots on all its nodes."""
        return self.node_count * self.slots

    @property
    def own_cap(self) -> float:
        return inf if self.cap_w is None else self.cap_w

    @property
    def parts(self) -> list[tuple[float, int]]:
        """Watts of its profile, and how many intervals are over when they change."""
        each = list(enumerate(self.profile_w, start=1))
        return [(watts, k) for k, watts in each if k == len(each) or self.profile_w[k] != watts]

    @property
    def is_there(self) -> bool:
        """Holds slots."""
        return self.state in ("running", "suspended")

    @property
    def is_open(self) -> bool:
        """It may still change."""
        return self.state in ("unborn", "held", "untaught", "queued", "running", "suspended")


@dataclass
class Pace:
    """How an attempt gets on: `ends` and `due` go with the factors, which are those at the end of the last instant."""

    ends: int = 0
    """When its work is done."""
    due: int = 0
    """When it is planned to end."""
    is_new: bool = True
    """Started in this instant: its ends go by what is in force when that is over."""
    is_first: bool = False
    """It is a first run of its application."""
    factor: float = 1.0
    predicted: float = 1.0
    energy: int = 0
    since: int = 0
    stretch: Stretch | None = None
    caps: list[float] = field(default_factory=list)
    """The allocator's cap, one a node of the machine; none: no cap."""
    emergency: float = inf
    lowest_cap: float = inf
    asks: int = 0
    """Picowatts beyond idle that it drew when it was suspended."""
    part: int = 0
    """Which part of its profile it is in."""
    turn: float = inf
    """When that is over."""
    anchor: tuple[int, int] = (0, 0)
    """An instant, and how many intervals were over by then: those to come are counted from there."""


class Stretch(NamedTuple):
    """What stays the same during a segment."""

    nodes: tuple[int, ...]
    cap_w: float | None
    speed_ratio: float
    picowatts: int
    state: str


class Segment(NamedTuple):
    """A stretch of an attempt, from when until when."""

    job: int
    attempt: int
    start: int
    end: int
    stretch: Stretch


@dataclass(frozen=True)
class Happening:
    """Something from outside: a node fails, is repaired, or is out until then; or a job is withdrawn."""

    time: int
    kind: str
    about: int
    until: int = 0
    announced: float = -inf


@dataclass(frozen=True)
class Sleep:
    """Times of transitions and parameters of the sleep part; `far` is None for break-even."""

    boot: int
    shutdown: int
    min_idle: int
    far: int | None
    stop: int
    start: int
    limit: float = inf
    min_on: int = 0
    exclude: frozenset[int] = frozenset()
    as_backfilled: bool = False
    """Whether wake plans hold no more than the backfill would, as those of parts of one's own and of `newsvendor`."""
    part: dict[str, object] = field(default_factory=dict)
    """The parameters as the engine takes them."""

    @property
    def wakes_in(self) -> int:
        """Time that plans allow for a boot."""
        return max(TICK, self.start)

    def takes(self, power: str) -> int:
        return self.boot if power == "booting" else self.shutdown


@dataclass(frozen=True)
class Switch:
    """Draws of a node, W, while it is switched off and on."""

    off_w: float
    boot_w: float
    shutdown_w: float


@dataclass
class Node:
    """State of a node: its troubles, and whether it is on, off, booting or stopping since when."""

    since: int
    power: str = "on"
    kept: int | None = None
    """Row of the job that it was woken for, until it serves or that job waits no more (rule 9)."""
    shutdowns: list[int] = field(default_factory=list)
    failed: bool = False
    windows: list[int] = field(default_factory=list)
    down: list[tuple[int, int | None]] = field(default_factory=list)

    @property
    def is_down(self) -> bool:
        return self.failed or bool(self.windows)

    @property
    def is_turning(self) -> bool:
        return self.power in ("booting", "stopping")


ORDERS: dict[str, Callable[[Job], float]] = {
    "fcfs": lambda job: 0,
    "shortest": lambda job: job.planned,
    "longest": lambda job: -job.planned,
    "smallest": lambda job: job.node_count,
    "largest": lambda job: -job.node_count,
    "smallest-area": lambda job: job.node_count * job.planned,
}


@dataclass
class Machine:
    """Nodes of equal slots. `depth`: None blocks all behind the head, 0 starts all that fit, k holds k reservations."""

    nodes: int
    slots: int = 1
    queues: list[Queue] = field(default_factory=list)
    order: str = "fcfs"
    """One of `ORDERS`, `fair-share` or `vahrm`."""
    half_life: float = inf
    by: str = "user"
    """Name of the column that says whose jobs are."""
    depth: float | None = inf
    plan: bool = True
    horizon: int = 2_592_000_000_000
    interval: int = 0
    candidates: str | None = None
    requeue: bool = False
    kill: bool = True
    by_power: bool = False
    """Whether jobs get the nodes that draw least for them, not the lowest."""
    offers: list[Offer] | None = None
    licences: dict[str, int] = field(default_factory=dict)
    world: Sequence[Happening] = ()
    sleep: Sleep | None = None
    switches: list[Switch] | None = None
    draws: Draws = field(default_factory=lambda: Draws([], {}, {}))
    power: Power | None = None
    vahrm: Vahrm | None = None
    down_w: float = 0.0
    told: list[tuple[int, str, int]] = field(default_factory=list)
    """Suspensions, resumptions and requeues: instant, kind and row."""
    steps: list[tuple[int, str, int]] = field(default_factory=list)
    """Instant, kind and node of what nodes that sleep do."""
    segments: list[Segment] = field(default_factory=list)
    quiet: list[tuple[int, int, int]] = field(default_factory=list)
    """From when until when nodes that serve no job draw how many picowatts."""

    def run(self, jobs: list[Job], one_pass: Callable[[Machine], None]) -> None:
        """Lets everything happen."""
        self.jobs, self.one_pass = jobs, one_pass
        self.first = min(job.submit for job in jobs)
        self.cells = [self._cell(number) for number in range(self.nodes)]
        self.served_by: dict[int, list[int]] = {}
        self.state = [Node(self.first) for _ in range(self.nodes)]
        self.used = [0] * self.nodes
        for job in jobs:
            job.walltime = self.queue_of(job).walltime(job.walltime)
            job.planned = self.planned_length(job)
        self.calendar = [one for one in self.world if one.kind == "maintenance" and one.until > self.first]
        self.todo = self._timed()
        self.blocked: set[int] = set()
        """Jobs that had no place at their turn in this pass."""
        self.owed: int | None = None
        self.alarm: int | None = None
        self.now, self.round = self.first, 0
        for part in (self.power, self.vahrm):
            if part is not None:
                part.join(self)
        is_due = self.power is not None and self.first in self.power.ends
        while is_due or any(job.is_open and not self._is_nothing(job) for job in jobs):
            is_due = False
            instants = [*self._to_come(), *(at for at in (self.owed, self.alarm) if at is not None)]
            if not instants:
                break
            self._pass_time(min(instants))
            self._instant()
        for job in self.jobs:
            left = {"queued": "stranded", "suspended": "stranded", "held": "unmet", "unborn": "rejected"}
            job.state = left.get(job.state, job.state)
        self.segments.sort(key=lambda row: (row.job, row.attempt, row.start))

    def _instant(self) -> None:
        self.round = 0
        if self.power is not None:
            self.power.turn_profiles()
        self.rounds()
        if self.power is not None:
            self.power.last_word()
        self._settle()

    def rounds(self, *, is_due: bool = False) -> None:
        """Passes, as long as anything happens; one in any case if one is due."""
        while True:
            loud = self._end_jobs() | self._turn_nodes() | self._outages() | is_due
            if self.power is not None and self.round == 0:
                loud |= self.power.changes()
            quiet = self._arrive()
            if self.alarm == self.now and self.round == 0:
                loud, self.alarm = True, None
            due = self.owed == self.now and self.round == 0
            if not (loud or quiet or due) or not self._may_run():
                return
            # Rule 12: what was only submitted waits for a multiple of the interval, which is one that is owed, too.
            if not loud and self.interval and self.now % self.interval:
                self.owed = self.now - self.now % self.interval + self.interval
                return
            self.owed, is_due = None, False
            self.one_pass(self)
            if self.vahrm is not None:
                self.vahrm.learn()
            self.round += 1

    def _may_run(self) -> bool:
        """Whether some job was queued or may yet be: otherwise an instant has no pass."""
        return any(not self._is_nothing(job) for job in self.jobs)

    def _takes(self, job: Job) -> bool:
        return self.queue_of(job).takes(job) and self.can_run(job)

    def _is_nothing(self, job: Job) -> bool:
        """It is turned away at its submit, or will be, and no other waits for it: nothing can change (rule 36)."""
        is_awaited = any(other.depends_on == job.row for other in self.jobs)
        is_refused = job.eligible is None and job.state == "rejected"
        is_refused |= job.state == "unborn" and not self._takes(job)
        return is_refused and not is_awaited

    def _pass_time(self, until: int) -> None:
        """Rule 22: what is drawn until then."""
        span = until - self.now
        if span > 0 and self.slots == 1:
            for job in self.running:
                job.run.energy += self.drawn(job, self.now, until)
            serving = {number for job in self.running for number in job.nodes}
            idle = sum(self.node_draw(number) for number in range(self.nodes) if number not in serving)
            self.quiet.append((self.now, until, idle))
        self.now = until

    def drawn(self, job: Job, since: int, until: int) -> int:
        """What a job draws as long as nothing of it changes."""
        assert job.run.stretch is not None
        return job.run.stretch.picowatts * (until - since)

    def node_draw(self, number: int) -> int:
        """Picowatts of a node that serves no job."""
        power = "down" if self.state[number].is_down else self.state[number].power
        if power in ("on", "down"):
            return self.draws.idle(number) if power == "on" else picowatts(self.down_w)
        switch = self.switch(number)
        return picowatts({"off": switch.off_w, "booting": switch.boot_w, "stopping": switch.shutdown_w}[power])

    def switch(self, number: int) -> Switch:
        idle_w = self.draws.idle_w[number]
        return Switch(0.0, idle_w, idle_w) if self.switches is None else self.switches[number]

    def far(self, number: int) -> float:
        """Rule 17: least time to its next job for which a node sleeps; infinite where it never does."""
        assert self.sleep is not None
        idle, switch = self.draws.idle(number), self.switch(number)
        off = picowatts(switch.off_w)
        if self.sleep.far is not None:
            return self.sleep.far
        if off >= idle:
            return inf
        boot, shutdown = self.sleep.boot, self.sleep.shutdown
        cost = picowatts(switch.shutdown_w) * shutdown + picowatts(switch.boot_w) * boot - off * (boot + shutdown)
        return max(ceil(Fraction(cost, idle - off)), boot + shutdown)

    def known(self) -> list[Happening]:
        """Maintenances that are announced (rule 31)."""
        return [one for one in self.calendar if one.announced <= self.now]

    def queue_of(self, job: Job) -> Queue:
        """The job's; without queues one of all nodes (rule 9)."""
        everything = Queue("", list(range(self.nodes)))
        return next((queue for queue in self.queues if queue.name == job.queue), everything)

    @property
    def running(self) -> list[Job]:
        return [job for job in self.jobs if job.state == "running"]

    def runs(self) -> dict[int, list[tuple[int, int, int]]]:
        """By job, from when until when it ran on how many slots, in all attempts and until now."""
        found: dict[int, list[tuple[int, int, int]]] = {job.row: [] for job in self.jobs}
        for row in self.segments:
            if row.stretch.state == "running":
                found[row.job].append((row.start, row.end, len(row.stretch.nodes) * self.jobs[row.job].slots))
        for job in self.jobs:
            stretch = job.run.stretch
            if stretch is not None and stretch.state == "running":
                found[job.row].append((job.run.since, self.now, len(stretch.nodes) * job.slots))
        return found

    # How long jobs take.

    def planned_length(self, job: Job) -> int:
        """Of a job that has not started."""
        return self.draws.planned_length(job, self.queue_of(job).nodes)

    def length(self, job: Job) -> int:
        """What a pass plans a job with that waits: under a budget its least length, rule 14 of that page."""
        return job.planned if self.power is None else self.power.least_length(job)

    def release(self, job: Job) -> int:
        """When a running job is planned to give back its nodes; what is overdue ends now."""
        return max(self.now, job.run.due) if self.power is None else self.power.release(job)

    def rank(self, job: Job, number: int) -> float:
        """Place of a node for a job in its placement; the lowest number among equals."""
        return self.draws.predicted_w(job.app, number, job.own_cap) if self.by_power else 0.0

    def over(self, job: Job) -> int:
        """When a running job ends, or is killed."""
        run = job.run
        return run.ends if job.walltime is None or not self.kill else min(run.ends, run.due)

    def in_force(self, job: Job, number: int) -> float:
        """The cap of a node that serves it: rule 1 of the page on power in time."""
        run = job.run
        return min(job.own_cap, run.caps[number] if run.caps else inf, run.emergency)

    def own_draw(self, job: Job) -> float | None:
        """Watts of its profile; None: it has none."""
        parts = job.parts
        return parts[job.run.part][0] if parts else None

    def factor(self, job: Job) -> float:
        """F of rule 4."""
        own_w = self.own_draw(job)
        return max(self.draws.actual_factor(job.app, node, self.in_force(job, node), own_w) for node in job.nodes)

    def predicted_factor(self, job: Job, cap: Callable[[int], float]) -> float:
        """Fp of rule 4, under these caps."""
        return max(self.draws.predicted_factor(job.app, node, cap(node)) for node in job.nodes)

    def tell_end(self, job: Job) -> None:
        """When it ends by what is in force now, and when it is planned to: rules 4 to 8."""
        run, factor = job.run, self.factor(job)
        predicted = self.predicted_factor(job, lambda node: self.in_force(job, node))
        if run.is_new:
            assert job.start is not None
            ratio = None if self.vahrm is None else self.vahrm.profiling_ratio
            longer = ratio if ratio is not None and run.is_first else 1.0
            run.ends = job.start + stretched(job.runtime, factor * longer) + job.comm
            run.due = job.start + stretched(job.planned, predicted / self.predicted_factor(job, lambda _: job.own_cap))
            run.anchor = (job.start, 0)
            run.turn = self.end_of_part(job, factor)
        else:
            if run.turn < inf and factor != run.factor:
                run.turn = later(int(run.turn), self.now, factor / run.factor)
                run.anchor = (int(run.turn), job.parts[run.part][1])
            run.ends = later(run.ends, self.now, factor / run.factor)
            run.due = later(run.due, self.now, predicted / run.predicted)
        run.factor, run.predicted = factor, predicted

    def end_of_part(self, job: Job, factor: float) -> float:
        """When the part of its profile that it is in is over; infinity: it is in its last. Rules 40 and 41."""
        (anchor, over), part = job.run.anchor, job.run.part
        if part + 1 >= len(job.parts):
            return inf
        return anchor + stretched((job.parts[part][1] - over) * job.interval, factor)

    def job_draw(self, job: Job) -> int:
        """All its nodes together, actual; a suspended job draws nothing."""
        if job.state != "running":
            return 0
        own_w = self.own_draw(job)
        return sum(self.draws.actual_draw(job.app, node, self.in_force(job, node), own_w) for node in job.nodes)

    def _settle(self) -> None:
        """The instant is over: caps count now (rule 7), and a segment ends where something has changed."""
        for job in [job for job in self.jobs if job.is_there]:
            run = job.run
            if job.state == "running":
                if self.power is not None:
                    self.tell_end(job)
                run.is_new = False
            last = run.stretch
            if self.power is None and last is not None and (last.state, last.nodes) == (job.state, tuple(job.nodes)):
                continue
            stretch = self._stretch(job)
            if stretch != run.stretch:
                if run.stretch is not None and run.since < self.now:
                    self._close_segment(job)
                run.since, run.stretch = self.now, stretch

    def _stretch(self, job: Job) -> Stretch:
        caps = [self.in_force(job, node) for node in job.nodes]
        job.run.lowest_cap = min(job.run.lowest_cap, *caps)
        cap_w = None if inf in caps else sum(caps) / len(caps)
        if job.state == "suspended":
            return Stretch(tuple(job.nodes), cap_w, 0.0, 0, "suspended")
        return Stretch(tuple(job.nodes), cap_w, 1.0 / self.factor(job), self.job_draw(job), "running")

    def _close_segment(self, job: Job) -> None:
        """Up to now; an attempt that is over in its first instant has this one."""
        stretch = job.run.stretch or self._stretch(job)
        self.segments.append(Segment(job.row, job.attempts, job.run.since, self.now, stretch))

    # Nodes that differ.

    def offer(self, number: int) -> Offer:
        return Offer() if self.offers is None else self.offers[number]

    def cell(self, number: int) -> Place:
        return self.cells[number]

    def _cell(self, number: int) -> Place:
        one = self.offer(number)
        first = 0 if self.offers is None else self.offers.index(one)
        return one.gpus, one.memory, len(one.features), first

    def may_use(self, job: Job, number: int) -> bool:
        """A node offers what a job asks for."""
        one = self.offer(number)
        is_liked = job.wish is None or job.wish[1](one.features)
        return is_liked and one.gpus >= job.gpus and one.memory >= job.memory

    def usable(self, job: Job) -> list[int]:
        """Nodes of a job's queue that may serve it."""
        if job.row not in self.served_by:
            self.served_by[job.row] = [number for number in self.queue_of(job).nodes if self.may_use(job, number)]
        return self.served_by[job.row]

    def can_run(self, job: Job) -> bool:
        """It fits the empty machine."""
        licensed = all(count <= self.licences.get(name, 0) for name, count in job.licences.items())
        is_cheap = self.power is None or self.power.could_ever_run(job, max(self.now, job.submit))
        return job.slots <= self.slots and len(self.usable(job)) >= job.node_count and licensed and is_cheap

    # What happens when.

    def _timed(self) -> list[tuple[int, int, Happening]]:
        """Everything from outside with its line in an instant; what was before the first submit comes first in it."""
        todo = []
        for place, one in enumerate(self.world):
            early = one.time < self.first
            if one.kind == "maintenance":
                if one in self.calendar:
                    todo.append((max(one.time, self.first), 0 if early else 3, one))
                    todo.append((one.until, 2, Happening(one.until, "back", one.about, one.until)))
            elif one.kind == "cancel":
                todo.append((max(one.time, self.jobs[one.about].submit), 6, one))
            elif not early or not any(
                later.about == one.about and later.kind in ("failed", "repaired") and later.time < self.first
                for later in self.world[place + 1 :]
            ):  # otherwise it is not the last word on the node
                rank = 0 if early else 2 if one.kind == "repaired" else 3
                todo.append((max(one.time, self.first), rank, one))
        todo.extend(
            (max(job.cancel, job.submit), 6, Happening(job.cancel, "cancel", job.row))
            for job in self.jobs
            if job.cancel is not None
        )
        return sorted(todo, key=lambda entry: entry[:2])

    def _to_come(self) -> list[int]:
        turns = [node.since + self.sleep.takes(node.power) for node in self.state if self.sleep and node.is_turning]
        more = [] if self.power is None else self.power.to_come()
        return [*self.happens(), *turns, *more]

    def happens(self) -> list[int]:
        """When jobs come, end and join, and what comes from outside."""
        submits = [job.submit for job in self.jobs if job.state == "unborn"]
        ends = [self.over(job) for job in self.running]
        held = [due for job in self.jobs if job.state == "held" and isinstance(due := self._due(job), int)]
        return [*submits, *ends, *held, *(entry[0] for entry in self.todo)]

    def _end_jobs(self) -> bool:
        over = [job for job in self.running if self.over(job) <= self.now]
        for job in over:
            self.leave(job, "completed" if job.run.ends <= self.now else "timeout")
        return bool(over)

    def leave(self, job: Job, state: str, *, is_lost: bool = False) -> None:
        """It leaves its nodes, for whatever reason; those that no other job has are idle from now on (rule 15)."""
        self.go_on(job)
        job.end, run = self.now, job.run
        job.energy += run.energy
        job.lost_energy += run.energy if is_lost else 0
        if run.stretch is None or run.since < self.now:
            self._close_segment(job)
        if job.state == "running" or self.power is not None:
            self.occupy(job, job.nodes, -1)
        job.state, run.stretch = state, None
        job.ended_at = None if state == "queued" else self.now
        for number in job.nodes:
            if self.free(number) == self.slots:
                self.state[number].since = self.now

    def occupy(self, job: Job, nodes: Sequence[int], by: int) -> None:
        for number in nodes:
            self.used[number] += by * job.slots

    def suspend(self, job: Job) -> None:
        """Rule 34: it keeps its nodes, but urgent jobs may run there."""
        if self.power is None:
            self.occupy(job, job.nodes, -1)
        job.state, job.since = "suspended", self.now
        self.told.append((self.now, "suspend", job.row))

    def resume(self, job: Job) -> None:
        self.go_on(job)
        if self.power is None:
            self.occupy(job, job.nodes, 1)
        job.state = "running"
        self.told.append((self.now, "resume", job.row))

    def go_on(self, job: Job) -> None:
        """What is left of a suspended job is counted from now on."""
        if job.since is None:
            return
        still, run = self.now - job.since, job.run
        run.ends, run.due, job.suspended, job.since = run.ends + still, run.due + still, job.suspended + still, None
        if run.turn < inf:
            run.turn += still
            run.anchor = (int(run.turn), job.parts[run.part][1])

    def _turn_nodes(self) -> bool:
        """Rule 17: nodes that are ready or off."""
        over = [
            number
            for number, node in enumerate(self.state)
            if self.sleep and node.is_turning and node.since + self.sleep.takes(node.power) == self.now
        ]
        for number in over:
            is_ready = self.state[number].power == "booting"
            self.turn(number, *(("on", "ready") if is_ready else ("off", "off")))
        return bool(over)

    def turn(self, number: int, power: str, kind: str) -> None:
        """A node is in another state from now on."""
        self.state[number].power, self.state[number].since = power, self.now
        self.steps.append((self.now, kind, number))

    def _outages(self) -> bool:
        """Lines 2 and 3."""
        happened = False
        while self.todo and self.todo[0][0] == self.now and self.todo[0][1] < 6:
            happened |= self._happen(self.todo.pop(0)[2])
        return happened

    def _happen(self, one: Happening) -> bool:
        node = self.state[one.about]
        was_down = node.is_down
        if one.kind in ("failed", "repaired"):
            if node.failed == (one.kind == "failed"):
                return False
            node.failed = not node.failed
        elif one.kind == "maintenance":
            node.windows.append(one.until)
        else:
            node.windows.remove(one.until)
        if node.is_down and not was_down:
            node.down.append((self.now, None))
            for job in [j for j in self.jobs if j.is_there and one.about in j.nodes]:
                self._lose(job)
        if was_down and not node.is_down:
            node.down[-1] = (node.down[-1][0], self.now)
        if was_down != node.is_down:
            node.power, node.since = "on", self.now
        return True

    def _lose(self, job: Job) -> None:
        """Rule 30."""
        if self.requeue:
            self.told.append((self.now, "requeue", job.row))
        self.leave(job, "queued" if self.requeue else "failed", is_lost=True)

    def _arrive(self) -> bool:
        """Line 5: submits, cancellations, then all that are eligible or hopeless, until nothing changes."""
        changed = False
        for job in self.jobs:
            if job.submit == self.now and job.state == "unborn":
                is_taken = self._takes(job)
                job.state = "held" if is_taken else "rejected"
                job.ended_at = None if is_taken else self.now
                changed = True
        while self.todo and self.todo[0][0] == self.now:
            job = self.jobs[self.todo.pop(0)[2].about]
            # Rule 26: a job that runs, is suspended or over is not cancelled.
            if job.state in ("held", "queued"):
                job.state, job.ended_at, changed = "cancelled", self.now, True
        again = True
        while again:
            again = False
            for job in [j for j in self.jobs if j.state == "held"]:
                due = self._due(job)
                if due == "hopeless":
                    job.state, job.ended_at, again = "hopeless", self.now, True
                elif isinstance(due, int) and due <= self.now:
                    job.state, job.eligible, job.joined_in, again = "queued", self.now, (self.now, self.round), True
                    if not self.can_run(job):
                        # What may be drawn has changed since it was submitted.
                        job.state, job.ended_at = "rejected", self.now
                    elif self.vahrm is not None and self.vahrm.waits_for_a_profile(job):
                        job.state = "untaught"
            if self.vahrm is not None and not again:
                again = self.vahrm.reject_hopeless()
            changed |= again
        return changed

    def has_news(self) -> bool:
        """Whether the end of another lets a job join, or leaves it without hope."""
        each = [self._due(job) for job in self.jobs if job.state == "held"]
        return any(due == "hopeless" or (isinstance(due, int) and due <= self.now) for due in each)

    def _due(self, job: Job) -> int | str | None:
        """When a job that was submitted may join the queue; None while that is open."""
        earliest = max(job.submit, job.start_at or job.submit)
        if job.depends_on is None:
            return earliest
        other = self.jobs[job.depends_on]
        if other.ended_at is None:
            return None
        ok = other.state == "completed"
        if (job.how == "ok" and not ok) or (job.how == "not_ok" and ok):
            return "hopeless"
        return max(earliest, other.ended_at + job.think)

    # A pass.

    def in_order(self, state: str = "queued") -> list[Job]:
        """Jobs of a state in policy order (rule 4)."""
        return sorted((job for job in self.jobs if job.state == state), key=self.order_key())

    def order_key(self) -> Callable[[Job], tuple[float, ...]]:
        """Least first."""
        shares = ranks(self.jobs, self.runs(), self.now, self.half_life) if self.order == "fair-share" else {}

        def key(job: Job) -> tuple[float, ...]:
            queue = self.queue_of(job)
            order = queue.order or self.order
            if order == "vahrm" and self.vahrm is not None:
                place = self.vahrm.place(job)
            else:
                place = shares[job.user] if order == "fair-share" else ORDERS[order](job)
            return -queue.priority, place, job.eligible or 0, job.row

        return key

    def is_full(self, job: Job) -> bool:
        """Rules 3 and 27: as many of its queue, of its user there, or of its array are running as may."""
        queue, there = self.queue_of(job), [other for other in self.jobs if other.is_there]
        own = [other for other in there if other.queue == job.queue]
        return (
            len(own) >= queue.max_running
            or (job.user is not None and sum(o.user == job.user for o in own) >= queue.max_running_per_user)
            or (job.limit is not None and sum(o.array == job.array for o in there) >= job.limit)
        )

    def free(self, node: int) -> int:
        """Slots of a node that are free now."""
        state = self.state[node]
        return 0 if state.is_down or state.power != "on" else self.slots - self.used[node]

    def begin(self, job: Job, nodes: list[int], started_by: str | None = None) -> None:
        """Starts a job now."""
        job.state, job.start, job.end, job.nodes, job.suspended = "running", self.now, None, nodes, 0
        job.run = Pace(since=self.now)
        job.attempts += 1
        is_new = job.joined_in == (self.now, self.round)
        job.started_by = started_by or ("immediate" if is_new else "reservation")
        job.run.is_first = self.vahrm is not None and self.vahrm.is_first(job)
        self.occupy(job, nodes, 1)
        self.tell_end(job)

    # Afterwards.

    def window(self) -> tuple[int, int]:
        """From the first submit to the last end, those of lost attempts included."""
        return self.first, max((row.end for row in self.segments), default=self.first)

    def down_time(self) -> int:
        """Node-microseconds within the window in which nodes were down."""
        begin, end = self.window()
        spans = [(a, end if b is None else b) for node in self.state for a, b in node.down]
        return sum(max(0, min(b, end) - max(a, begin)) for a, b in spans)

    @property
    def idle_energy(self) -> int:
        """Of nodes that serve no job, within the window."""
        end = self.window()[1]
        return sum(drawn * max(0, min(until, end) - since) for since, until, drawn in self.quiet)

    @property
    def energy(self) -> int:
        return self.idle_energy + sum(job.energy for job in self.jobs)

"""A machine in plain Python whose features go together: the definition that the engine is held to.

Rules 2 to 4, 8 to 12, 15, 17, 22, 24 to 31 and 33 to 35 of the page on rules, and its section on nodes that differ:
queues, jobs that wait, are withdrawn or come in arrays, nodes that fail, are serviced or sleep, urgent jobs, features,
GPUs, memory and licences. An instant comes after the other. The pass of `plan`, which names nodes, is in
`plain_windows`, those of the backfills that count in `plain_profile` and, where nodes differ, in `plain_cells`, what
wakes counted nodes and puts them to sleep in `plain_rest`, and fair share in `plain_shares`. They know the rules and no
engine. Times are whole microseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from plain_shares import ranks

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
    adds_w: tuple[int, ...] = field(default=(), compare=False)
    """Watts that it draws beyond idle, by application."""


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
    app: int = 0

    state: str = "unborn"
    eligible: int | None = None
    joined_in: tuple[int, int] | None = None
    """The instant and its pass."""
    ended_at: int | None = None
    start: int | None = None
    end: int | None = None
    nodes: list[int] = field(default_factory=list)
    started_by: str = ""
    attempts: int = 0
    lost: int = 0
    """Node-microseconds of attempts that an outage ended."""
    stood: int = 0
    """Time for which it stood still in this attempt, before it does so now."""
    since: int | None = None
    """Since when it stands still."""
    stretches: list[tuple[int, int, int, str]] = field(default_factory=list)
    """Attempt, from when, until when, how."""

    @property
    def planned(self) -> int:
        """Planned length."""
        return self.runtime if self.walltime is None else self.walltime

    @property
    def width(self) -> int:
        """Slots on all its nodes."""
        return self.node_count * self.slots

    @property
    def is_there(self) -> bool:
        """Holds slots."""
        return self.state in ("running", "suspended")

    @property
    def is_open(self) -> bool:
        """It may still change."""
        return self.state in ("unborn", "held", "queued", "running", "suspended")

    def ends_at(self, length: int) -> int:
        """End of an attempt that runs so long in all."""
        return (self.start or 0) + self.stood + length

    def runs(self, now: int) -> list[tuple[int, int]]:
        """From when until when it ran, in all attempts and until now."""
        past = [(since, until) for _, since, until, how in self.stretches if how == "running"]
        last = [until for attempt, _, until, _ in self.stretches if attempt == self.attempts]
        return [*past, (max([self.start or 0, *last]), now)] if self.state == "running" else past

    def ran(self, attempt: int | None = None) -> int:
        """Node-microseconds in which it ran, in an attempt or in all."""
        each = [e - s for one, s, e, how in self.stretches if how == "running" and attempt in (None, one)]
        return sum(each) * self.node_count


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
    """Times of transitions and parameters of the sleep part; `far` is infinite where a node never sleeps."""

    boot: int
    shutdown: int
    min_idle: int
    far: float
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


ORDERS: dict[str, Callable[[Job], int]] = {
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
    """One of `ORDERS`, or `fair-share`."""
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
    offers: list[Offer] | None = None
    licences: dict[str, int] = field(default_factory=dict)
    room_w: int | None = None
    """Watts that may be drawn beyond the idle machine."""
    world: Sequence[Happening] = ()
    sleep: Sleep | None = None
    told: list[tuple[int, str, int]] = field(default_factory=list)
    """Suspensions, resumptions and requeues: instant, kind and row."""
    steps: list[tuple[int, str, int]] = field(default_factory=list)
    """Instant, kind and node of what nodes that sleep do."""
    spans: list[tuple[int, int, Counter[str]]] = field(default_factory=list)
    """From when until when how many nodes are in which state, where nodes sleep."""

    def run(self, jobs: list[Job], one_pass: Callable[[Machine], None]) -> None:
        """Lets everything happen."""
        self.jobs = jobs
        self.first = min(job.submit for job in jobs)
        self.cells = [self._cell(number) for number in range(self.nodes)]
        self.served_by: dict[int, list[int]] = {}
        self.state = [Node(self.first) for _ in range(self.nodes)]
        for job in jobs:
            job.walltime = self.queue_of(job).walltime(job.walltime)
        self.calendar = [one for one in self.world if one.kind == "maintenance" and one.until > self.first]
        self.todo = self._timed()
        owed: int | None = None
        self.alarm: int | None = None
        self.now = self.first
        while any(job.is_open and not self._is_nothing(job) for job in jobs):
            instants = [*self._to_come(), *(at for at in (owed, self.alarm) if at is not None)]
            if not instants:
                break
            self._pass_time(min(instants))
            self.round = 0
            while True:
                loud = self._end_jobs() | self._turn_nodes() | self._outages()
                quiet = self._arrive()
                if self.alarm == self.now and self.round == 0:
                    loud, self.alarm = True, None
                due = owed == self.now and self.round == 0
                if not (loud or quiet or due):
                    break
                # Rule 12: what was only submitted waits for a multiple of the interval, which is one that is owed, too.
                if not loud and self.interval and self.now % self.interval:
                    owed = self.now - self.now % self.interval + self.interval
                    break
                owed = None
                one_pass(self)
                self.round += 1
        for job in self.jobs:
            job.state = {"queued": "stranded", "held": "unmet", "unborn": "rejected"}.get(job.state, job.state)

    def _takes(self, job: Job) -> bool:
        return self.queue_of(job).takes(job) and self.can_run(job)

    def _is_nothing(self, job: Job) -> bool:
        """It is to come and will be turned away, and no other waits for it: nothing can change (rule 36)."""
        is_awaited = any(other.depends_on == job.row for other in self.jobs)
        return job.state == "unborn" and not is_awaited and not self._takes(job)

    def _pass_time(self, until: int) -> None:
        """Rule 22."""
        if self.sleep is not None and until > self.now:
            self.spans.append((self.now, until, Counter(self._doing(number) for number in range(self.nodes))))
        self.now = until

    def _doing(self, number: int) -> str:
        node, is_busy = self.state[number], any(number in job.nodes for job in self.jobs if job.state == "running")
        return "down" if node.is_down else "busy" if is_busy else node.power

    def known(self) -> list[Happening]:
        """Maintenances that are announced (rule 31)."""
        return [one for one in self.calendar if one.announced <= self.now]

    def queue_of(self, job: Job) -> Queue:
        """The job's; without queues one of all nodes (rule 9)."""
        everything = Queue("", list(range(self.nodes)))
        return next((queue for queue in self.queues if queue.name == job.queue), everything)

    def lasts(self, job: Job) -> int:
        """Time that a job really runs."""
        return job.runtime if job.walltime is None or not self.kill else min(job.runtime, job.walltime)

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
        is_cheap = self.room_w is None or sum(sorted(self.adds(job))[: job.node_count]) <= self.room_w
        return job.slots <= self.slots and len(self.usable(job)) >= job.node_count and licensed and is_cheap

    def watts(self, job: Job, nodes: Sequence[int]) -> int:
        """Watts that a job adds to the idle machine on some nodes."""
        return sum(self.offer(number).adds_w[job.app] for number in nodes)

    def adds(self, job: Job) -> list[int]:
        """The same of each node that may serve it."""
        return [self.watts(job, [number]) for number in self.usable(job)]

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
        submits = [job.submit for job in self.jobs if job.state == "unborn"]
        ends = [job.ends_at(self.lasts(job)) for job in self.jobs if job.state == "running"]
        held = [due for job in self.jobs if job.state == "held" and isinstance(due := self._due(job), int)]
        turns = [node.since + self.sleep.takes(node.power) for node in self.state if self.sleep and node.is_turning]
        return [*submits, *ends, *held, *turns, *(entry[0] for entry in self.todo)]

    def _end_jobs(self) -> bool:
        over = [job for job in self.jobs if job.state == "running" and job.ends_at(self.lasts(job)) == self.now]
        for job in over:
            self.close(job)
            job.state = "timeout" if self.lasts(job) < job.runtime else "completed"
            job.end = job.ended_at = self.now
            self._leave(job)
        return bool(over)

    def _leave(self, job: Job) -> None:
        """Nodes that no other job has are idle from now on (rule 15)."""
        for number in job.nodes:
            if self.free(number) == self.slots:
                self.state[number].since = self.now

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

    def close(self, job: Job) -> None:
        """The stretch that it is in is over."""
        last = job.stretches[-1] if job.stretches and job.stretches[-1][0] == job.attempts else None
        begun = job.start if last is None else last[2]
        assert begun is not None
        if self.now > begun:
            how = "running" if job.since is None else "suspended"
            if last is not None and last[3] == how:
                # It was suspended for no time at all.
                begun = job.stretches.pop()[1]
            job.stretches.append((job.attempts, begun, self.now, how))
        if job.since is not None:
            job.stood += self.now - job.since
            job.since = None

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
        self.close(job)
        job.lost += job.ran(job.attempts)
        job.end = self.now
        if self.requeue:
            job.state = "queued"
            self.told.append((self.now, "requeue", job.row))
        else:
            job.state, job.ended_at = "failed", self.now
        self._leave(job)

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
            changed |= again
        return changed

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
        shares = ranks(self.jobs, self.now, self.half_life) if self.order == "fair-share" else {}

        def key(job: Job) -> tuple[int, int, int, int]:
            queue = self.queue_of(job)
            order = queue.order or self.order
            place = shares[job.user] if order == "fair-share" else ORDERS[order](job)
            return -queue.priority, place, job.eligible or 0, job.row

        return sorted((job for job in self.jobs if job.state == state), key=key)

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
        used = sum(job.slots for job in self.jobs if job.state == "running" and node in job.nodes)
        return 0 if self.state[node].is_down or self.state[node].power != "on" else self.slots - used

    def begin(self, job: Job, nodes: list[int], *, is_blocked: bool) -> None:
        """Starts a job now."""
        job.state, job.start, job.end, job.nodes, job.stood = "running", self.now, None, nodes, 0
        job.attempts += 1
        is_new = job.joined_in == (self.now, self.round)
        job.started_by = "backfill" if is_blocked else "immediate" if is_new else "reservation"

    # Afterwards.

    def window(self) -> tuple[int, int]:
        """From the first submit to the last end, those of lost attempts included."""
        return self.first, max((job.end for job in self.jobs if job.end is not None), default=self.first)

    def down_time(self) -> int:
        """Node-microseconds within the window in which nodes were down."""
        begin, end = self.window()
        spans = [(a, end if b is None else b) for node in self.state for a, b in node.down]
        return sum(max(0, min(b, end) - max(a, begin)) for a, b in spans)

    def node_time(self) -> Counter[str]:
        """Node-microseconds within the window by state, where nodes sleep."""
        end, total = self.window()[1], Counter[str]()
        for since, until, counts in self.spans:
            for power, count in counts.items():
                total[power] += count * max(0, min(until, end) - since)
        return total

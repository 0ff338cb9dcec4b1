"""A machine in plain Python whose features go together: the definition that the engine is held to.

Rules 2 to 4, 8 to 12, 15, 17, 22, 24 to 31 and 33 to 35 of the page on rules, and its section on nodes that differ:
queues, jobs that wait, are withdrawn or come in arrays, nodes that fail, are serviced or sleep, urgent jobs, features,
GPUs, memory and licences. An instant comes after the other. It knows the rules and no engine. Times are whole
microseconds, energies whole picowatts times microseconds. Its parts:

* `plain_jobs` and `plain_nodes`: what there is, and the state of each;
* `plain_arrivals`: how jobs join the queue; `plain_world`: failures and maintenances;
* `plain_paces`: how long runs take; `plain_meter`: what is drawn, and the stretches of runs;
* passes: `plain_windows` (`plan`, which names nodes), `plain_counted` (backfills that count), `plain_rest` (nodes that
  sleep), `plain_power` (budgets, caps and emergencies), `plain_sleepy_power` (nodes that sleep under a budget);
* what decides: `plain_matching` (nodes of all jobs of a pass together), `plain_sizes` (nodes of jobs that run),
  `plain_shares` (fair share), `plain_vahrm` (its order and first runs), `plain_draws` (what nodes draw).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import ceil, inf
from typing import TYPE_CHECKING

from plain_arrivals import arrive, is_nothing, join_at, may_run
from plain_draws import Draws, picowatts
from plain_jobs import ORDERS, TICK, Job, Pace, Queue, Segment
from plain_meter import close_segment, pass_time, runs, settle
from plain_nodes import Happening, Node, Offer, Place, Sleep, Switch
from plain_paces import go_on, over, tell_end
from plain_shares import ranks
from plain_world import outages, timed

if TYPE_CHECKING:
    from plain_newsvendor import Reserve
    from plain_power import Power
    from plain_sizes import Sizing
    from plain_vahrm import Vahrm


@cache
def _everything(nodes: int) -> Queue:
    return Queue("", list(range(nodes)))


MOST_INSTANTS, MOST_ROUNDS = 20_000, 2_000
"""Of a run, and of an instant. A fault can make a run endless: it would go on until it had filled the memory."""


@dataclass
class Machine:
    """Nodes of equal slots. `depth`: None blocks all behind the head, 0 starts all that fit, k holds k reservations.

    `patience`: all start that fit, but of those that have waited longer than this the first `depth` hold reservations.
    """

    nodes: int
    slots: int = 1
    queues: list[Queue] = field(default_factory=list)
    order: str = "fcfs"
    """One of `ORDERS`, `fair-share` or `vahrm`."""
    half_life: float = inf
    by: str = "user"
    """Name of the column that says whose jobs are."""
    depth: float | None = inf
    patience: float | None = None
    plan: bool = True
    horizon: int = 2_592_000_000_000
    interval: int = 0
    candidates: str | None = None
    requeue: bool = False
    kill: bool = True
    by_power: bool = False
    """Whether jobs get the nodes that draw least for them, not the lowest."""
    matches: bool = False
    """True if all jobs of a pass are matched to nodes together, as `plain_matching` says."""
    offers: list[Offer] | None = None
    licences: dict[str, int] = field(default_factory=dict)
    world: Sequence[Happening] = ()
    sleep: Sleep | None = None
    switches: list[Switch] | None = None
    boots: list[int] | None = None
    """Time that each node takes to boot; None: all take that of the sleep part's times."""
    draws: Draws = field(default_factory=lambda: Draws([], {}, {}))
    power: Power | None = None
    vahrm: Vahrm | None = None
    sizing: Sizing | None = None
    """Changes of the nodes of malleable jobs."""
    down_w: float = 0.0
    told: list[tuple[int, str, int]] = field(default_factory=list)
    """Suspensions, resumptions and requeues: instant, kind and row."""
    steps: list[tuple[int, str, int]] = field(default_factory=list)
    """Instant, kind and node of what nodes that sleep do."""
    segments: list[Segment] = field(default_factory=list)
    drawn: list[tuple[int, int]] = field(default_factory=list)
    """Picowatts of the whole machine under a budget from each of these instants on."""
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
        self.reserves: dict[tuple[int, ...], Reserve] = {}
        for job in jobs:
            job.asked = job.node_count
            if job.sizes is not None and job.fewest <= self.nodes:
                job.node_count = min(job.node_count, self.nodes)
            job.walltime = self.queue_of(job).walltime(job.walltime)
            job.planned = self.planned_length(job)
        self.calendar = [one for one in self.world if one.kind == "maintenance" and one.until > self.first]
        self.todo = timed(self)
        self.blocked: set[int] = set()
        """Jobs that had no place at their turn in this pass."""
        self.owed: int | None = None
        self.alarm: int | None = None
        self.now, self.round = self.first, 0
        for part in (self.power, self.vahrm):
            if part is not None:
                part.join(self)
        is_due = self.power is not None and self.first in self.power.ends
        count = 0
        while is_due or any(job.is_open and not is_nothing(self, job) for job in jobs):
            is_due, count = False, count + 1
            assert count <= MOST_INSTANTS, f"at {self.now} us the run does not end: {count} instants, {self.steps[-9:]}"
            instants = [*self._to_come(), *(at for at in (self.owed, self.alarm) if at is not None)]
            if not instants:
                break
            pass_time(self, min(instants))
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
        settle(self)

    def rounds(self, *, is_due: bool = False) -> None:
        """Passes, as long as anything happens; one in any case if one is due."""
        while True:
            loud = self._end_jobs() | self._turn_nodes() | outages(self) | is_due
            if self.power is not None and self.round == 0:
                loud |= self.power.changes()
            quiet = arrive(self)
            if self.alarm == self.now and self.round == 0:
                loud, self.alarm = True, None
            due = self.owed == self.now and self.round == 0
            if not (loud or quiet or due) or not may_run(self):
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
            assert self.round <= MOST_ROUNDS, f"the instant of {self.now} us does not end: {self.steps[-9:]}"

    def switch(self, number: int) -> Switch:
        idle_w = self.draws.idle_w[number]
        return Switch(0.0, idle_w, idle_w) if self.switches is None else self.switches[number]

    def takes(self, number: int, power: str) -> int:
        """Time that a node takes to boot or to shut down."""
        assert self.sleep is not None
        return self.boots[number] if self.boots is not None and power == "booting" else self.sleep.takes(power)

    def wakes_in(self, number: int) -> int:
        """Time that plans allow for a node's boot."""
        assert self.sleep is not None
        own = self.boots is not None and self.sleep.is_own_boot
        return max(TICK, self.takes(number, "booting")) if own else self.sleep.wakes_in

    def far(self, number: int) -> float:
        """Rule 17: least time to its next job for which a node sleeps; infinite where it never does."""
        assert self.sleep is not None
        idle, switch = self.draws.idle(number), self.switch(number)
        off = picowatts(switch.off_w)
        if self.sleep.far is not None:
            return self.sleep.far
        if off >= idle:
            return inf
        boot, shutdown = self.takes(number, "booting"), self.takes(number, "stopping")
        cost = picowatts(switch.shutdown_w) * shutdown + picowatts(switch.boot_w) * boot - off * (boot + shutdown)
        return max(ceil(Fraction(cost, idle - off)), boot + shutdown)

    def known(self) -> list[Happening]:
        """Maintenances that are announced (rule 31)."""
        return [one for one in self.calendar if one.announced <= self.now]

    def queue_of(self, job: Job) -> Queue:
        """The job's; without queues one of all nodes (rule 9)."""
        named = (queue for queue in self.queues if queue.name == job.queue)
        return next(named, None) or _everything(self.nodes)

    @property
    def sets(self) -> list[tuple[int, ...]]:
        """Sets of nodes that queues have."""
        return sorted({tuple(queue.nodes) for queue in self.queues})

    @property
    def has_lanes(self) -> bool:
        """Nodes are counted for several sets that share some, or the watts of a budget (rule 6)."""
        served = {node for own in self.sets for node in own}
        shared = len(served) < sum(map(len, self.sets)) or self.power is not None
        # Nodes in no queue leave their watts to the others where they sleep.
        leaves = self.power is not None and self.sleep is not None and len(served) < self.nodes
        return not self.plan and (shared if len(self.sets) > 1 else bool(self.sets) and leaves)

    def all_nodes(self, job: Job) -> Sequence[int]:
        """Nodes that rules mean by "all": those of a job's queue, or all where several sets may share anything."""
        return range(self.nodes) if self.has_lanes or self.plan else self.queue_of(job).nodes

    @property
    def running(self) -> list[Job]:
        return [job for job in self.jobs if job.state == "running"]

    # How long jobs take.

    def planned_length(self, job: Job) -> int:
        """Planned end of a job that has not started."""
        return self.draws.planned_length(job, self.all_nodes(job))

    def length(self, job: Job) -> int:
        """Length with which a pass plans a waiting job: under a budget the least, rule 14 of that page."""
        return job.planned if self.power is None else self.power.least_length(job)

    def release(self, job: Job) -> int:
        """Time at which a running job is planned to give back its nodes; one that is overdue ends now."""
        return max(self.now, job.run.due) if self.power is None else self.power.release(job)

    def rank(self, job: Job, number: int) -> float:
        """Place of a node for a job in its placement; the lowest number among equals."""
        return self.draws.predicted_w(job.app, number, job.own_cap) if self.by_power else 0.0

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
        return job.slots <= self.slots and len(self.usable(job)) >= job.fewest and licensed and is_cheap

    # What happens when.

    def _to_come(self) -> list[int]:
        return self.happens() if self.power is None else [*self.happens(), *self.power.to_come()]

    def happens(self) -> list[int]:
        """Times at which jobs come, end and join, nodes are ready or off, and changes come from outside."""
        submits = [job.submit for job in self.jobs if job.state == "unborn"]
        ends = [over(self, job) for job in self.running]
        held = [due for job in self.jobs if job.state == "held" and isinstance(due := join_at(self, job), int)]
        turns = [self.state[k].since + self.takes(k, self.state[k].power) for k in self._turning()]
        return [*submits, *ends, *held, *turns, *(entry[0] for entry in self.todo)]

    def _end_jobs(self) -> bool:
        ended = [job for job in self.running if over(self, job) <= self.now]
        for job in ended:
            self.leave(job, "completed" if job.run.ends <= self.now else "timeout")
        return bool(ended)

    def leave(self, job: Job, state: str, *, is_lost: bool = False) -> None:
        """It leaves its nodes, for whatever reason; those that no other job has are idle from now on (rule 15)."""
        go_on(self, job)
        job.end, run = self.now, job.run
        job.energy += run.energy
        job.lost_energy += run.energy if is_lost else 0
        if run.stretch is None or run.since < self.now:
            close_segment(self, job)
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
        go_on(self, job)
        if self.power is None:
            self.occupy(job, job.nodes, 1)
        job.state = "running"
        self.told.append((self.now, "resume", job.row))

    def _turning(self) -> list[int]:
        return [number for number, node in enumerate(self.state) if self.sleep and node.is_turning]

    def _turn_nodes(self) -> bool:
        """Rule 17: nodes that are ready or off."""
        over = [
            number
            for number in self._turning()
            if self.state[number].since + self.takes(number, self.state[number].power) == self.now
        ]
        for number in over:
            is_ready = self.state[number].power == "booting"
            self.turn(number, *(("on", "ready") if is_ready else ("off", "off")))
        return bool(over)

    def turn(self, number: int, power: str, kind: str) -> None:
        """A node is in another state from now on."""
        self.state[number].power, self.state[number].since = power, self.now
        self.steps.append((self.now, kind, number))

    # A pass.

    def in_order(self, state: str = "queued") -> list[Job]:
        """Jobs of a state in policy order (rule 4)."""
        return sorted((job for job in self.jobs if job.state == state), key=self.order_key())

    def order_key(self) -> Callable[[Job], tuple[float, ...]]:
        """Least first."""
        shares = ranks(self.jobs, runs(self), self.half_life) if self.order == "fair-share" else {}

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
        job.run = Pace(since=self.now, begun_in=(self.now, self.round))
        job.attempts += 1
        self.tell_start(job, started_by)
        job.run.is_first = self.vahrm is not None and self.vahrm.is_first(job)
        self.occupy(job, nodes, 1)
        tell_end(self, job)

    def tell_start(self, job: Job, started_by: str | None) -> None:
        """Notes why it has started; None: it had its turn."""
        is_new = job.joined_in == (self.now, self.round)
        job.started_by = started_by or ("immediate" if is_new else "reservation")

    def move(self, job: Job, nodes: list[int]) -> None:
        """One that has just started gets other nodes, as others start with it."""
        self.occupy(job, job.nodes, -1)
        job.nodes = nodes
        self.occupy(job, nodes, 1)
        tell_end(self, job)

    # Afterwards.

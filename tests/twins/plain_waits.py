"""A machine in plain Python whose jobs wait, are withdrawn and come in arrays, and whose nodes fail and are serviced.

Rules 3, 8 to 12 and 24 to 31 of the operations page on machines, an instant after the other, for the backfills that
count and for `plan`. It knows the rules and no engine. Times are whole microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

TICK = 1


@dataclass
class Job:
    """What a job says, and what becomes of it."""

    row: int
    submit: int
    runtime: int
    walltime: int | None
    nodes_wanted: int
    slots: int
    start_at: int | None = None
    depends_on: int | None = None
    how: str = "any"
    think: int = 0
    cancel: int | None = None
    array: int | None = None
    limit: int | None = None

    state: str = "unborn"
    eligible: int | None = None
    start: int | None = None
    end: int | None = None
    nodes: list[int] = field(default_factory=list)
    attempts: int = 0
    lost: int = 0  # node-microseconds of attempts that an outage ended
    served: int = 0  # of all attempts
    started_by: str = ""
    joined_in: tuple[int, int] | None = None
    ended_at: int | None = None

    @property
    def planned(self) -> int:
        """How long plans take it to run."""
        return self.runtime if self.walltime is None else self.walltime

    @property
    def lasts(self) -> int:
        """How long it really runs."""
        return self.runtime if self.walltime is None else min(self.runtime, self.walltime)

    @property
    def width(self) -> int:
        """Slots on all its nodes."""
        return self.nodes_wanted * self.slots


@dataclass(frozen=True)
class Happening:
    """Something from outside: a node fails, is repaired, or is out until then; or a job is withdrawn."""

    time: int
    kind: str
    about: int
    until: int = 0
    announced: float = -inf


@dataclass
class Node:
    """A node's troubles."""

    failed: bool = False
    windows: list[int] = field(default_factory=list)
    down_since: int | None = None
    down: list[tuple[int, int | None]] = field(default_factory=list)

    @property
    def is_down(self) -> bool:
        return self.failed or bool(self.windows)


@dataclass
class Machine:
    """Nodes of equal slots. `depth`: None blocks all behind the head, 0 starts whoever fits, k holds k reservations."""

    nodes: int
    slots: int = 1
    depth: float | None = None
    plan: bool = False
    horizon: float = inf
    interval: int = 0
    requeue: bool = False
    order: str = "fcfs"

    def run(self, jobs: list[Job], world: list[Happening]) -> None:
        """Lets everything happen."""
        self.jobs = jobs
        self.first = min(job.submit for job in jobs)
        self.state = [Node() for _ in range(self.nodes)]
        self.calendar: list[Happening] = []
        self.todo = self._timed(world)
        owed: int | None = None
        while True:
            instants = [*self._to_come(), *([] if owed is None else [owed])]
            if not instants:
                break
            self.now = min(instants)
            round_ = 0
            while True:
                loud = self._end_jobs() | self._befall()
                quiet = self._arrive(round_)
                due = owed == self.now and round_ == 0
                if not (loud or quiet or due):
                    break
                if not loud and self.interval and self.now % self.interval:
                    owed = self.now - self.now % self.interval + self.interval
                    break
                owed = None
                self._pass(round_)
                round_ += 1
        self._give_reasons()

    # What happens when ---------------------------------------------------------------------------------------------

    def _timed(self, world: list[Happening]) -> list[tuple[int, int, Happening]]:
        """Everything from outside with its line in an instant; what was before the first submit comes first in it."""
        todo = []
        for place, one in enumerate(world):
            early = one.time < self.first
            if one.kind == "maintenance":
                if one.until <= self.first:
                    continue
                todo.append((max(one.time, self.first), 0 if early else 3, one))
                todo.append((one.until, 2, Happening(one.until, "back", one.about, one.until)))
                self.calendar.append(one)
            elif one.kind == "cancel":
                todo.append((max(one.time, self.jobs[one.about].submit), 6, one))
            elif early and any(
                later.about == one.about and later.kind in ("failed", "repaired") and later.time < self.first
                for later in world[place + 1 :]
            ):
                continue  # not the last word on the node
            else:
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
        ends = [(job.start or 0) + job.lasts for job in self.jobs if job.state == "running"]
        held = [at for job in self.jobs if job.state == "held" and (at := self._due(job)) not in (None, "hopeless")]
        return [*submits, *ends, *held, *(entry[0] for entry in self.todo)]  # type: ignore[list-item]

    def _end_jobs(self) -> bool:
        over = [j for j in self.jobs if j.state == "running" and (j.start or 0) + j.lasts == self.now]
        for job in over:
            self._leave(job, "timeout" if job.lasts < job.runtime else "completed")
        return bool(over)

    def _leave(self, job: Job, state: str) -> None:
        span = (self.now - (job.start or 0)) * job.nodes_wanted
        job.served += span
        if state in ("failed", "queued"):
            job.lost += span
        job.state, job.end = state, self.now
        if state != "queued":
            job.ended_at = self.now

    def _befall(self) -> bool:
        """Lines 2 and 3."""
        happened = False
        while self.todo and self.todo[0][0] == self.now and self.todo[0][1] < 6:
            happened |= self._happen(self.todo.pop(0)[2])
        return happened

    def _happen(self, one: Happening) -> bool:
        node = self.state[one.about]
        was_down = node.is_down
        if one.kind == "failed":
            if node.failed:
                return False
            node.failed = True
        elif one.kind == "repaired":
            if not node.failed:
                return False
            node.failed = False
        elif one.kind == "maintenance":
            node.windows.append(one.until)
        else:
            node.windows.remove(one.until)
        if node.is_down and not was_down:
            node.down.append((self.now, None))
            for job in [j for j in self.jobs if j.state == "running" and one.about in j.nodes]:
                self._leave(job, "queued" if self.requeue else "failed")
        if was_down and not node.is_down:
            node.down[-1] = (node.down[-1][0], self.now)
        return True

    def _arrive(self, round_: int) -> bool:
        """Line 5: submits, cancellations, then whoever is eligible or hopeless, until nothing changes."""
        changed = False
        for job in self.jobs:
            if job.submit == self.now and job.state == "unborn":
                too_large = job.nodes_wanted > self.nodes or job.slots > self.slots
                job.state = "rejected" if too_large else "held"
                job.ended_at = self.now if too_large else None
                changed = True
        while self.todo and self.todo[0][0] == self.now:
            job = self.jobs[self.todo.pop(0)[2].about]
            if job.state in ("held", "queued"):
                job.state, job.ended_at, changed = "cancelled", self.now, True
        again = True
        while again:
            again = False
            for job in [j for j in self.jobs if j.state == "held"]:
                due = self._due(job)
                if due == "hopeless":
                    job.state, job.ended_at, again = "hopeless", self.now, True
                elif due is not None and due <= self.now:  # type: ignore[operator]
                    job.state, job.eligible, job.joined_in, again = "queued", self.now, (self.now, round_), True
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

    # A pass --------------------------------------------------------------------------------------------------------

    def _queue(self) -> list[Job]:
        keys = {"fcfs": lambda j: 0, "shortest": lambda j: j.planned, "largest": lambda j: -j.nodes_wanted}
        waiting = [job for job in self.jobs if job.state == "queued"]
        return sorted(waiting, key=lambda job: (keys[self.order](job), job.eligible, job.row))

    def _is_full(self, job: Job) -> bool:
        """Whether as many jobs of its array run as may."""
        if job.array is None or job.limit is None:
            return False
        return sum(1 for other in self.jobs if other.array == job.array and other.state == "running") >= job.limit

    def _free(self, node: int) -> int:
        used = sum(job.slots for job in self.jobs if job.state == "running" and node in job.nodes)
        return 0 if self.state[node].is_down else self.slots - used

    def _begin(self, job: Job, nodes: list[int], round_: int, blocked: bool) -> None:
        job.state, job.start, job.end, job.nodes = "running", self.now, None, nodes
        job.attempts += 1
        now = (self.now, round_)
        job.started_by = "backfill" if blocked else "immediate" if job.joined_in == now else "reservation"

    def _pass(self, round_: int) -> None:
        if self.plan:
            self._plan_by_name(round_)
        else:
            self._plan_by_count(round_)

    def _plan_by_count(self, round_: int) -> None:
        profile: dict[int, int] | None = None
        blocked = reserved = 0
        for job in self._queue():
            if self._is_full(job):
                continue
            fitting = [node for node in range(self.nodes) if self._free(node) >= job.slots]
            fits = len(fitting) >= job.nodes_wanted
            if fits and (profile is None or job.planned == 0 or self._holds(profile, self.now, job)):
                self._begin(job, fitting[: job.nodes_wanted], round_, blocked > 0)
                if profile is not None:
                    self._take(profile, self.now, job, job.planned)
                continue
            blocked += 1
            if self.depth is None:
                return
            if reserved < self.depth:
                profile = self._profile() if profile is None else profile
                at = next((t for t in sorted(profile) if self._holds(profile, t, job)), None)
                if at is not None:
                    self._take(profile, at, job, max(job.planned, TICK))
                    reserved += 1

    def _profile(self) -> dict[int, int]:
        """What is free from each instant on, as far as plans know."""
        gains = [(self.now, sum(self._free(node) for node in range(self.nodes)))]
        running = [job for job in self.jobs if job.state == "running"]
        gains += [(max(self.now, (job.start or 0) + job.planned), job.width) for job in running]
        gains += [(max(node.windows), self.slots) for node in self.state if node.windows and not node.failed]
        return {at: sum(width for when, width in gains if when <= at) for at, _ in gains}

    @staticmethod
    def _level(profile: dict[int, int], at: int) -> int:
        return profile[max(time for time in profile if time <= at)]

    def _holds(self, profile: dict[int, int], at: int, job: Job) -> bool:
        within = [at, *(time for time in profile if at < time < at + job.planned)]
        return all(self._level(profile, time) >= job.width for time in within)

    def _take(self, profile: dict[int, int], at: int, job: Job, length: int) -> None:
        for time in (at, at + length):
            profile[time] = self._level(profile, time)
        for time in profile:
            if at <= time < at + length:
                profile[time] -= job.width

    def _plan_by_name(self, round_: int) -> None:
        """Rules 8 to 10."""
        held = [(j.nodes, j.slots, self.now, self._planned_end(j)) for j in self.jobs if j.state == "running"]
        held += [
            ([node], self.slots, self.now, inf if state.failed else max(state.windows))
            for node, state in enumerate(self.state)
            if state.is_down
        ]
        held += [
            ([one.about], self.slots, one.time, one.until)
            for one in self.calendar
            if one.announced <= self.now < one.time
        ]
        planned, stay = 0, 0
        for job in self._queue():
            if self._is_full(job):
                continue
            found = self._earliest(held, job)
            if found is not None and found[0] == self.now:
                self._begin(job, found[1], round_, stay > 0)
                held.append((job.nodes, job.slots, self.now, self.now + max(job.planned, TICK)))
                continue
            stay += 1
            if found is None or found[0] - self.now > self.horizon or planned >= (self.depth or 0):
                continue
            planned += 1
            held.append((found[1], job.slots, found[0], found[0] + max(job.planned, TICK)))

    def _planned_end(self, job: Job) -> int:
        end = (job.start or 0) + max(job.planned, TICK)
        return end if end > self.now else self.now + TICK

    def _earliest(self, held: list, job: Job) -> tuple[int, list[int]] | None:
        """Rule 9."""
        length = max(job.planned, TICK)

        def free(node: int, at: float) -> int:
            return self.slots - sum(slots for nodes, slots, start, end in held if node in nodes and start <= at < end)

        changes = sorted({self.now, *(start for *_, start, _ in held), *(end for *_, end in held if end < inf)})
        for at in (instant for instant in changes if instant >= self.now):
            during = [at, *(change for change in changes if at < change < at + length)]
            fits = [n for n in range(self.nodes) if all(free(n, t) >= job.slots for t in during)]
            if len(fits) >= job.nodes_wanted:
                return at, sorted(sorted(fits, key=lambda node: (free(node, at), node))[: job.nodes_wanted])
        return None

    # Afterwards ----------------------------------------------------------------------------------------------------

    def _give_reasons(self) -> None:
        for job in self.jobs:
            if job.state in ("queued", "held"):
                job.state = {"queued": "stranded", "held": "unmet"}[job.state]

    def window(self) -> tuple[int, int]:
        """From the first submit to the last end, those of lost attempts included."""
        return self.first, max((job.end for job in self.jobs if job.end is not None), default=self.first)

    def down_time(self) -> int:
        """Node-microseconds within the window in which nodes were down."""
        begin, end = self.window()
        spans = [(a, end if b is None else b) for node in self.state for a, b in node.down]
        return sum(max(0, min(b, end) - max(a, begin)) for a, b in spans)

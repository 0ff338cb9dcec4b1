"""The policy's parameters and what a run writes down: the third part of the twin of power in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import NamedTuple

JOULE = 10**18
"""In picowatts times microseconds."""

ORDERS = {
    "fcfs": lambda job, planned: 0,
    "shortest": lambda job, planned: planned,
    "smallest": lambda job, planned: job.node_count,
    "largest": lambda job, planned: -job.node_count,
}


@dataclass(frozen=True)
class Rules:
    """The policy. `depth`: None, no job overtakes; 0, first fit; k reservations; inf, conservative."""

    budget_w: float
    depth: float | None = 1
    order: str = "fcfs"
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
    """A row of rule 37; watts, and the job's place in the trace."""

    time: int
    kind: str
    job: int | None
    value: float | None
    before_w: float
    after_w: float


class Stretch(NamedTuple):
    """What stays the same during a segment."""

    nodes: tuple[int, ...]
    cap_w: float | None
    speed_ratio: float
    picowatts: int
    state: str


class Segment(NamedTuple):
    """A row of rule 36."""

    job: int
    attempt: int
    start: int
    end: int
    stretch: Stretch

    @property
    def energy_j(self) -> float:
        return float(Fraction(self.stretch.picowatts * (self.end - self.start), JOULE))


@dataclass
class Outcome:
    """What became of a job; times are those of its last attempt."""

    state: str = "pending"
    start: int | None = None
    end: int | None = None
    started_by: str | None = None
    nodes: list[int] | None = None
    attempts: int = 0
    suspended: int = 0
    energy: int = 0
    lost_energy: int = 0
    lowest_cap_w: float | None = None


@dataclass
class Attempt:
    """A job on its nodes. `end` and `planned` go with the factors, which are those of the last instant."""

    number: int
    j: int
    start: int
    nodes: list[int]
    allocated: list[float]
    """The allocator's cap, one a node of the machine."""
    emergency: float = inf
    is_new: bool = True
    """Started in this instant: its end is told by the caps that are in force when the instant is over."""
    end: int = 0
    planned: int = 0
    factor: float = 1.0
    predicted_factor: float = 1.0
    suspended_at: int | None = None
    asks: int = 0
    """Picowatts beyond idle that it drew when it was suspended."""
    left: tuple[int, int] = (0, 0)
    """Of its run and of its planned length, while it is suspended."""
    part: int = 0
    """Which part of its profile it is in."""
    turn: float = inf
    """When that is over; of a suspended one, how long it is until then."""
    anchor: tuple[int, int] = (0, 0)
    """An instant, and how many intervals were over by then: those to come are counted from there."""
    energy: int = 0
    lowest_cap: float = inf
    since: int = 0
    stretch: Stretch | None = None

    @property
    def is_running(self) -> bool:
        return self.suspended_at is None

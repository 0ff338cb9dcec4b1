"""Jobs of the reference machine, their queues (rules 2 to 4), and their states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from plain_paces import Settled
    from plain_sizes import Sizes

TICK = 1

Wish = tuple[str, Callable[[frozenset[str]], bool]]
"""A constraint as a text, and whether features satisfy it."""


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
        """Rule 2; limits are those of the size that a job asks for."""
        return (
            job.asked <= self.max_nodes
            and (job.asked if self.name else job.fewest) <= len(self.nodes)
            and job.asked * job.slots <= self.max_slots
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
    sizes: Sizes | None = None
    """Sizes it can have besides `node_count`, which is the one it has; None: that one."""
    asked: int = 0
    """The size it asks for."""

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
    def size_ratio(self) -> float:
        """Time at its size over that at the size it asks for."""
        return 1.0 if self.sizes is None else self.sizes.ratio(self.node_count, self.asked)

    @property
    def fewest(self) -> int:
        """Nodes that it can do with."""
        return self.node_count if self.sizes is None else self.sizes.least

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
    """Progress of an attempt: `ends` and `due` go with the factors, which are those at the end of the last instant."""

    ends: int = 0
    """When its work is done."""
    due: int = 0
    """When it is planned to end."""
    begun_in: tuple[int, int] | None = None
    """The instant and its pass."""
    is_new: bool = True
    """Started in this instant: its ends go by what is in force when that is over."""
    is_first: bool = False
    """It is a first run of its application."""
    factor: float = 1.0
    predicted: float = 1.0
    energy: int = 0
    charged: int = 0
    """Its energy before the present stretch."""
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
    paused: int = 0
    """Until when it makes no progress, as its nodes have changed."""
    still_until: int = 0
    """The same, as it was at the begin of the stretch."""
    settled: Settled | None = None
    """State before the last instant in which its nodes changed."""


class Stretch(NamedTuple):
    """Facts that stay the same during a segment; the draw only of whole nodes."""

    nodes: tuple[int, ...]
    cap_w: float | None
    speed_ratio: float
    picowatts: int
    state: str


class Segment(NamedTuple):
    """A stretch of an attempt, from when until when, and its energy."""

    job: int
    attempt: int
    start: int
    end: int
    stretch: Stretch
    energy: int


ORDERS: dict[str, Callable[[Job], float]] = {
    "fcfs": lambda job: 0,
    "shortest": lambda job: job.planned,
    "longest": lambda job: -job.planned,
    "smallest": lambda job: job.node_count,
    "largest": lambda job: -job.node_count,
    "smallest-area": lambda job: job.node_count * job.planned,
}

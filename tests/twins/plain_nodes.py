"""Nodes of the reference machine: offers, draws, sleep and outages."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from plain_jobs import TICK

Place = tuple[int, ...]
"""A cell: the plainest first, of those alike the one with the lowest node."""


@dataclass(frozen=True)
class Offer:
    """Offer of a node; memory in whole units."""

    features: frozenset[str] = frozenset()
    gpus: int = 0
    memory: int = 0


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
    """True if wake plans hold no more than the backfill would, as those of parts of one's own and of `newsvendor`."""
    reserve: float | None = None
    """The share that `newsvendor` may keep on; None: another part."""
    part: dict[str, object] = field(default_factory=dict)
    """The parameters as the engine takes them."""

    @property
    def wakes_in(self) -> int:
        """Time that plans allow for a boot."""
        return max(TICK, self.start)

    @property
    def is_own_boot(self) -> bool:
        """Plans allow each node its own time."""
        return self.part.get("start_margin_s") == "actual"

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

"""Nodes, jobs, and what they draw and how long they take under caps: the first part of the twin of power in time.

Time is whole microseconds, a draw whole picowatts; caps and factors are floats, as the rules say. No cap is `inf`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf

SECOND = 1_000_000
WATT = 10**12
MICROWATT = 10**6

Row = tuple[list[float], list[float]]
"""Watts and time factor of one application on each node."""
Tables = dict[float, dict[str, Row]]
"""By cap, then by application; the key `inf` is no cap."""


@dataclass(frozen=True)
class Job:
    """What a job asks for, and how long it takes on nominal nodes."""

    submit: int
    runtime: int
    node_count: int
    walltime: int | None = None
    app: str = "cpu"
    cap_w: float | None = None
    comm: int = 0
    profile_w: tuple[float, ...] = ()
    """What each of its nodes draws without a cap, interval by interval of its run; empty: as tables say."""
    interval: int = 0

    @property
    def parts(self) -> list[tuple[float, int]]:
        """Watts of its profile, and how many intervals are over when they change."""
        each = list(enumerate(self.profile_w, start=1))
        return [(watts, k) for k, watts in each if k == len(each) or self.profile_w[k] != watts]

    @property
    def own_cap(self) -> float:
        return inf if self.cap_w is None else self.cap_w


@dataclass(frozen=True)
class Model:
    """Watts and speed under any cap; exactly one of `static_w` and `static_ratio`."""

    static_w: float | None = None
    static_ratio: float | None = None
    exponent: float = 1.0
    bound_ratio: float | Mapping[str, float] = 1.0
    least_speed_ratio: float = 0.2

    def bound(self, app: str) -> float:
        return self.bound_ratio if isinstance(self.bound_ratio, float) else self.bound_ratio[app]

    def static(self, draw: float) -> float:
        return min(draw * (self.static_ratio or 0.0) if self.static_w is None else self.static_w, draw)

    def at_speed(self, draw: float, speed: float) -> float:
        static = self.static(draw)
        return static + (draw - static) * speed**self.exponent

    def under(self, draw: float, factor: float, cap: float, app: str) -> tuple[float, float]:
        """Rule 3."""
        if cap >= draw:
            return draw, factor
        static, least = self.static(draw), self.least_speed_ratio
        # Below the static watts no speed would do: the lowest.
        speed = max(((cap - static) / (draw - static)) ** (1.0 / self.exponent), least) if cap > static else least
        return max(cap, self.at_speed(draw, least)), factor * (1.0 + self.bound(app) * (1.0 / speed - 1.0))

    def equal_speed(self, slowdown: float, app: str) -> float:
        """Rule 26: the lowest speed that slows a node by so much at most."""
        bound = self.bound(app)
        if bound == 0.0:
            return self.least_speed_ratio
        return max(bound / (slowdown - 1.0 + bound), self.least_speed_ratio)


@dataclass(frozen=True)
class Machine:
    """Whole nodes; `predicted` is what decisions read, `actual` what is charged. Others, in no queue, idle beside."""

    idle_w: list[float]
    actual: Tables
    predicted: Tables
    model: Model | None = None
    believed: Model | None = None
    """Where an analyzer says what jobs draw (`predicted`) and how caps slow them: the model with its shares."""
    beside_w: tuple[float, ...] = ()

    @property
    def nodes(self) -> range:
        return range(len(self.idle_w))

    def idle(self, node: int) -> int:
        return picowatts(self.idle_w[node])

    @property
    def beside_draw(self) -> int:
        return sum(picowatts(watts) for watts in self.beside_w)

    @property
    def idle_draw(self) -> int:
        return sum(self.idle(node) for node in self.nodes) + self.beside_draw

    @staticmethod
    def under(
        tables: Tables, model: Model | None, app: str, node: int, cap: float, own_w: float | None = None
    ) -> tuple[float, float]:
        """Watts and time factor of a node under a cap: rules 2 and 3; `own_w`: what it draws without one."""
        key = inf if model else max(key for key in tables if key <= cap)
        watts, factors = tables[key][app]
        drawn = watts[node] if own_w is None else own_w
        if model is None:
            return drawn, factors[node]
        return model.under(drawn, factors[node], cap, app)

    def actual_draw(self, job: Job, node: int, cap: float, own_w: float | None = None) -> int:
        return picowatts(self.under(self.actual, self.model, job.app, node, cap, own_w)[0])

    def actual_factor(self, job: Job, node: int, cap: float, own_w: float | None = None) -> float:
        return self.under(self.actual, self.model, job.app, node, cap, own_w)[1]

    def predicted_factor(self, job: Job, node: int, cap: float) -> float:
        return self.under(self.predicted, self.believed or self.model, job.app, node, cap)[1]

    def predicted_beyond_idle(self, job: Job, node: int, cap: float) -> int:
        """Less than idle counts as idle."""
        return max(
            picowatts(self.under(self.predicted, self.believed or self.model, job.app, node, cap)[0]) - self.idle(node),
            0,
        )

    def own_slowdown(self, job: Job) -> float:
        """How much its own cap slows the job, on the node where that is most: rule 14."""
        return max(self.node_own_slowdown(job, node) for node in self.nodes)

    def node_own_slowdown(self, job: Job, node: int) -> float:
        return self.predicted_factor(job, node, job.own_cap) / self.predicted_factor(job, node, inf)

    def slowdown(self, job: Job, caps: Sequence[float]) -> float:
        """How much these caps, one a node of the machine, slow the job against its own cap: rule 14."""
        return max(
            self.predicted_factor(job, node, min(caps[node], job.own_cap))
            / self.predicted_factor(job, node, job.own_cap)
            for node in self.nodes
        )

    def planned_length(self, job: Job) -> int:
        """Rule 6."""
        if job.walltime is not None:
            return job.walltime
        return stretched(job.runtime, self.own_slowdown(job)) + job.comm

    def equal_slowdown_caps(self, job: Job, slowdown: float, levels: Sequence[float]) -> list[float]:
        """The lowest caps that slow the job by so much at most, one a node: rule 26."""
        if self.model is not None:
            model = self.believed or self.model
            return [self._equal_slowdown_cap(model, job, node, slowdown) for node in self.nodes]
        fine = [cap for cap in levels if cap < job.own_cap and self.slowdown(job, [cap] * len(self.idle_w)) <= slowdown]
        return [min(fine, default=inf)] * len(self.idle_w)

    def _equal_slowdown_cap(self, model: Model, job: Job, node: int, slowdown: float) -> float:
        if slowdown == 1.0 and model.bound(job.app) > 0.0:
            return inf
        draw = self.predicted[inf][job.app][0][node]
        return model.at_speed(draw, model.equal_speed(slowdown * self.node_own_slowdown(job, node), job.app))


def stretched(length: int, quotient: float) -> int:
    """A span times a quotient, in floats, rounded up."""
    return length if quotient == 1.0 else ceil(length * quotient)


def picowatts(watts: float) -> int:
    """The nearest picowatt to the float product, a half up."""
    return floor(Fraction(watts * 1e12) + Fraction(1, 2))


def ceiling(watts: float) -> int:
    """A budget in picowatts, held to the billionth: rule 12."""
    return max(picowatts(watts * (1 + 1e-9)), picowatts(watts))


def microwatts_up(draw: int | Fraction) -> int:
    return ceil(Fraction(draw) / MICROWATT)


def microwatts_down(draw: int) -> int:
    return draw // MICROWATT

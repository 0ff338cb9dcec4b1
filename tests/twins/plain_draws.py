"""Draws of nodes and lengths of jobs, under caps or not: rules 2, 3, 14 and 26 of the page on power in time.

A draw is whole picowatts; caps and factors are floats, as the rules say. No cap is `inf`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import ceil, floor, inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plain_jobs import Job

SECOND = 1_000_000
WATT = 10**12
MICROWATT = 10**6
JOULE = WATT * SECOND
"""In picowatts times microseconds."""

Row = tuple[list[float], list[float]]
"""Watts and time factor of one application on each node."""
Tables = dict[float, dict[str, Row]]
"""By cap, then by application; the key `inf` is no cap."""


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


@dataclass
class Draws:
    """Nodes and applications; `predicted` is what decisions read, `actual` what is charged."""

    idle_w: list[float]
    actual: Tables
    predicted: Tables
    model: Model | None = None
    believed: Model | None = None
    """Where an analyzer says what jobs draw (`predicted`) and how caps slow them: the model with its shares."""
    tdp_w: float = 400.0
    is_flat: bool = False
    """Whether no table says what nodes draw."""
    known: dict[tuple[object, ...], tuple[float, float]] = field(default_factory=dict, repr=False)
    """What was asked before."""

    def idle(self, node: int) -> int:
        return picowatts(self.idle_w[node])

    def _under(
        self, is_actual: bool, app: str, node: int, cap: float, own_w: float | None = None
    ) -> tuple[float, float]:
        """Watts and time factor of a node under a cap: rules 2 and 3; `own_w`: what it draws without one."""
        asked = is_actual, app, node, cap, own_w
        if asked not in self.known:
            tables = self.actual if is_actual else self.predicted
            watts, factors = tables[inf if self.model else max(key for key in tables if key <= cap)][app]
            drawn, factor = watts[node] if own_w is None else own_w, factors[node]
            if self.model is not None:
                model = self.model if is_actual else self.believed or self.model
                drawn, factor = model.under(drawn, factor, cap, app)
            self.known[asked] = drawn, factor
        return self.known[asked]

    def actual_draw(self, app: str, node: int, cap: float, own_w: float | None = None) -> int:
        return picowatts(self._under(True, app, node, cap, own_w)[0])

    def actual_factor(self, app: str, node: int, cap: float, own_w: float | None = None) -> float:
        return self._under(True, app, node, cap, own_w)[1]

    def predicted_w(self, app: str, node: int, cap: float) -> float:
        return self._under(False, app, node, cap)[0]

    def predicted_factor(self, app: str, node: int, cap: float) -> float:
        return self._under(False, app, node, cap)[1]

    def beyond_idle(self, watts: float, node: int) -> int:
        """Less than idle counts as idle."""
        return max(picowatts(watts) - self.idle(node), 0)

    def own_slowdown(self, job: Job, node: int) -> float:
        """Factor by which its own cap slows a job there."""
        return self.predicted_factor(job.app, node, job.own_cap) / self.predicted_factor(job.app, node, inf)

    def slowdown(self, job: Job, caps: Sequence[float], nodes: Sequence[int]) -> float:
        """Factor by which these caps, one a node, slow the job against its own cap: rule 14."""
        return max(
            self.predicted_factor(job.app, node, min(caps[node], job.own_cap))
            / self.predicted_factor(job.app, node, job.own_cap)
            for node in nodes
        )

    def planned_length(self, job: Job, nodes: Sequence[int]) -> int:
        """Rule 6."""
        if job.walltime is not None:
            return stretched(job.walltime, job.size_ratio)
        slowest = max(self.own_slowdown(job, node) for node in nodes)
        return stretched(job.runtime, slowest * job.size_ratio) + job.comm

    def equal_slowdown_caps(
        self, job: Job, slowdown: float, levels: Sequence[float], nodes: Sequence[int]
    ) -> list[float]:
        """The lowest caps that slow the job by so much at most, one a node: rule 26."""
        if self.model is not None:
            model = self.believed or self.model
            return [self._equal_slowdown_cap(model, job, node, slowdown) for node in range(len(self.idle_w))]
        caps = [[cap] * len(self.idle_w) for cap in levels if cap < job.own_cap]
        fine = [each for each in caps if self.slowdown(job, each, nodes) <= slowdown]
        return min(fine, default=[inf] * len(self.idle_w))

    def _equal_slowdown_cap(self, model: Model, job: Job, node: int, slowdown: float) -> float:
        if slowdown == 1.0 and model.bound(job.app) > 0.0:
            return inf
        draw = self.predicted[inf][job.app][0][node]
        return model.at_speed(draw, model.equal_speed(slowdown * self.own_slowdown(job, node), job.app))


def flat(nodes: int, idle_w: float, busy_w: float, apps: Sequence[str]) -> Draws:
    """Nodes that draw the same under every application."""
    tables: Tables = {inf: {app: ([busy_w] * nodes, [1.0] * nodes) for app in apps}}
    return Draws([idle_w] * nodes, tables, tables, tdp_w=busy_w, is_flat=True)


def stretched(length: int, quotient: float) -> int:
    """A span times a quotient, in floats, rounded up."""
    return length if quotient == 1.0 else ceil(length * quotient)


def later(at: int, now: int, quotient: float) -> int:
    """Rule 5: an instant to come once what is left until then takes so many times as long."""
    return at if at <= now else now + stretched(at - now, quotient)


@cache
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

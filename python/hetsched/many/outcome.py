"""The part of a run that a comparison keeps: its numbers, and frames for pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hetsched.analysis.timeline import busy_grid, node_states, run_bins, waiting_curve
from hetsched.analysis.window import measured
from hetsched.checks import many
from hetsched.report.canvas import unix_zero
from hetsched.report.charts import MOST_JOBS, boxes_can_be_read
from hetsched.report.node_states import MAP_BINS, map_rows
from hetsched.report.page.shown import RunShown
from hetsched.run.concerns import Concern
from hetsched.run.result import Result
from hetsched.run.stretches import by_nodes, is_resized

if TYPE_CHECKING:
    from hetsched.contract.bill import Terms


@dataclass(frozen=True)
class Keep:
    """The part of runs that is kept: numbers of all or of a window (its ends in seconds), data for pictures."""

    window: tuple[float, float] | None = None
    drawn: bool = False
    shown: bool = False
    """True: data for a page is kept, too."""


@dataclass(frozen=True)
class PowerFrames:
    """Frames of a run for pictures of its power in time; those that would show nothing, or too much, are None."""

    timeline: pl.DataFrame | None
    events: pl.DataFrame
    segments: pl.DataFrame | None

    @classmethod
    def of(cls, result: Result, terms: Terms | None = None) -> PowerFrames:
        """The frames of a result; of a policy without a budget, under the limits of the terms it is metered against."""
        timeline, events = result.timeline, result.events
        if terms is not None and terms.contract.limits and "budget_w" not in timeline.columns:
            timeline = terms.with_limits(timeline)
        has_power = "budget_w" in timeline.columns or events["kind"].is_in(_OF_POWER).any()
        few = result.has_segments and boxes_can_be_read(result.jobs, nodes=len(result.nodes))
        return cls(timeline if has_power else None, events, result.segments if few else None)


_OF_POWER = ("budget", "alert", "lower-cap", "raise-cap", "kill")
"""Kinds of events that only watts bring about."""


@dataclass(frozen=True)
class NodeFrames:
    """Frames of a run for pictures of its nodes and queues; those that would show nothing are None.

    `busy`, of `busy_grid`, is of runs whose nodes are always on, `states` of all others.
    """

    timeline: pl.DataFrame
    states: pl.DataFrame | None
    waits: pl.DataFrame | None
    busy: np.ndarray | None = None
    window: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, result: Result) -> NodeFrames:
        """The frames of a result."""
        timeline, jobs = result.timeline, result.jobs
        changes = any((timeline[name] > 0).any() for name in _NOT_ALWAYS_ON)
        has_queues = "queue" in result.provenance["platform"]
        return cls(
            timeline.select("time_s", "busy_nodes", "idle_nodes", *_NOT_ALWAYS_ON),
            node_states(result) if changes else None,
            jobs.select("queue", "wait_s") if has_queues else None,
            None if changes else _busy(result),
            _window(timeline),
        )


def _window(timeline: pl.DataFrame) -> tuple[float, float]:
    return (timeline["time_s"][0], timeline["time_s"][-1]) if len(timeline) else (0.0, 0.0)


def _busy(result: Result) -> np.ndarray | None:
    """Share of the time in which nodes work, by rows and columns of a map; None for a run of length zero."""
    from_s, until_s = _window(result.timeline)
    if until_s <= from_s:
        return None
    nodes = len(result.nodes)
    size = {"nodes": nodes, "rows": map_rows(nodes), "bins": MAP_BINS}
    return busy_grid(result.segments, **size, from_s=from_s, until_s=until_s)


_NOT_ALWAYS_ON = ("transition_nodes", "sleeping_nodes", "down_nodes")


@dataclass(frozen=True)
class Outcome:
    """The part of a run that is kept when its frames are dropped.

    `summary`, `provenance`, `timing` and `concerns` are the result's. Pictures need `curve` (of `waiting_curve`),
    `bins` (of `run_bins`), `jobs` where they are few enough to be drawn one by one, `power` where it changed in time,
    and `machine` where nodes were not always on or have queues; pages need `shown`. All empty unless asked for.
    """

    policy: str
    seed: int
    parts: Mapping[str, Any]
    summary: dict[str, Any]
    provenance: dict[str, Any]
    timing: dict[str, float]
    concerns: tuple[Concern, ...] = ()
    curve: pl.DataFrame = field(default_factory=pl.DataFrame)
    bins: pl.DataFrame = field(default_factory=pl.DataFrame)
    jobs: pl.DataFrame | None = None
    power: PowerFrames | None = None
    machine: NodeFrames | None = None
    shown: RunShown | None = None

    @classmethod
    def of(cls, policy: str, result: Result, keep: Keep, terms: Terms | None = None) -> Outcome:
        """The part of a result that is kept; `terms` are those of its contract."""
        window = keep.window
        return cls(
            policy=policy,
            seed=result.provenance["seed"],
            parts=result.provenance["policy"],
            summary=result.summary() if window is None else measured(result, from_s=window[0], until_s=window[1]),
            provenance=result.provenance,
            timing=result.timing,
            concerns=result.concerns,
            **(_pictured(result, terms) if keep.drawn else {}),
            shown=RunShown.of(result, terms) if keep.shown else None,
        )

    @property
    def nodes(self) -> int:
        """Number of nodes that it ran on."""
        return int(self.provenance["platform"]["nodes"])

    @property
    def unix_zero_s(self) -> float | None:
        """Date of second 0 of the log's clock, as `unix_zero` finds it."""
        return unix_zero(self.provenance, self.bins["start_s"][0] if len(self.bins) else 0.0)

    @property
    def budget_w(self) -> float | pl.DataFrame | None:
        """The budget as pictures take it: a number, or its steps in time."""
        timeline = None if self.power is None else self.power.timeline
        return self.summary["budget_w"] if timeline is None or "budget_w" not in timeline.columns else timeline

    @property
    def title(self) -> str:
        """Title of its pictures."""
        return f"{self.policy}, {many(self.nodes, 'node')}"

    def row(self) -> dict[str, Any]:
        """A row of a frame of runs: policy, seed, and the summary."""
        return {"policy": self.policy, "seed": self.seed, **self.summary}


def _pictured(result: Result, terms: Terms | None) -> dict[str, Any]:
    """Parts of a result that pictures need."""
    jobs = by_nodes(result.jobs, result.segments) if is_resized(result.events) else result.jobs
    return {
        "curve": waiting_curve(result.jobs["wait_s"]),
        "bins": run_bins(jobs, result.timeline),
        "jobs": jobs if len(jobs) <= MOST_JOBS else None,
        "power": PowerFrames.of(result, terms),
        "machine": NodeFrames.of(result),
    }

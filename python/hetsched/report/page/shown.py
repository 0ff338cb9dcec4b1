"""`RunShown`: the part of a run that a page keeps, small enough for a browser however many jobs there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis.timeline import binned, busy_grid, waiting_curve, with_job_power
from hetsched.report.canvas import unix_zero
from hetsched.report.page import words
from hetsched.report.page.charts import TimeAxis
from hetsched.run.concerns import Concern
from hetsched.run.result import Result

if TYPE_CHECKING:
    from hetsched.contract.bill import Terms

BINS = 2000
"""Most intervals of a line over time."""
MAP_ROWS, MAP_BINS = 160, 240
EVENT_BINS = 100
_MOST_STEPS = 4000

_HOUR_S = 3600.0
_SAME_WORK_RATIO = 1e-3

_OVER_TIME = ("power_w", "job_power_w", "busy_nodes", "idle_nodes", "queued_jobs")
_STATES = ("sleeping_nodes", "transition_nodes", "down_nodes")
_OF_JOBS = ("job_id", "user", "queue", "node_count", "wait_s")
COUNTED = (
    "wake",
    "sleep",
    "failed",
    "alert",
    "lower-cap",
    "raise-cap",
    "suspend",
    "resume",
    "requeue",
    "kill",
    "cancel",
    "grow",
    "shrink",
)
"""Kinds of events whose number over time is worth a line."""


@dataclass(frozen=True)
class RunShown:
    """The part of a run that a page keeps.

    Parameters
    ----------
    policy, summary, provenance, concerns
        Of the result.
    bins
        Of `binned`: draw, nodes at work and jobs in the queue; nodes that are off, changing and down where any are.
    limits
        ``time_s, budget_w``: the budget in force from each instant on, null: none; None: no budget at any time.
    jobs
        ``job_id, user, queue, node_count, wait_s`` (null: never started), by the log's order.
    curve
        Of `waiting_curve`.
    nodes
        `Result.nodes`.
    use
        Of `busy_grid`; None for a run of length zero.
    events
        ``kind, bin, events``: numbers over `EVENT_BINS` equal parts of the run.
    windows
        ``name, from_s, until_s, limit_w``: windows of the contract with a limit, by time; None: no contract is known.
    """

    policy: str
    summary: Mapping[str, Any]
    provenance: Mapping[str, Any]
    concerns: Sequence[Concern]
    bins: pl.DataFrame
    limits: pl.DataFrame | None
    jobs: pl.DataFrame
    curve: pl.DataFrame
    nodes: pl.DataFrame
    use: npt.NDArray[np.float64] | None
    events: pl.DataFrame
    window: tuple[float, float]
    windows: pl.DataFrame | None = None

    @classmethod
    def of(cls, result: Result, terms: Terms | None = None) -> RunShown:
        """The kept part of a result; `terms` are those of the contract that it was metered against."""
        jobs, timeline, limited = result.jobs, result.timeline, result.timeline
        if terms is not None and terms.contract.limits and "budget_w" not in timeline.columns:
            limited = terms.with_limits(timeline)
        window = (float(timeline["time_s"][0]), float(timeline["time_s"][-1])) if len(timeline) else (0.0, 0.0)
        states = [name for name in _STATES if (timeline[name] > 0).any()]
        return cls(
            policy=result.provenance["policy"]["name"],
            summary=result.summary(),
            provenance=result.provenance,
            concerns=result.concerns,
            bins=binned(with_job_power(timeline, jobs), [*_OVER_TIME, *states], bins=BINS),
            limits=_limits(limited, result.summary().get("budget_w")),
            jobs=jobs.select(_OF_JOBS),
            curve=waiting_curve(jobs["wait_s"]),
            nodes=result.nodes,
            use=_use(result, window),
            events=_counts(result.events, window),
            window=window,
            windows=_windows(terms, window),
        )

    @property
    def unix_zero_s(self) -> float | None:
        """Date of second 0 of the log's clock; None: not known."""
        return unix_zero(self.provenance, self.window[0])

    @property
    def states(self) -> list[str]:
        """States of nodes, besides at work and idle, that occurred: columns of the bins."""
        return [name for name in _STATES if f"{name}_mean" in self.bins.columns]


@dataclass(frozen=True)
class Shown:
    """Runs of one log, the first of each policy, the baseline first."""

    runs: Sequence[RunShown]

    @property
    def base(self) -> RunShown:
        """The run that the others are held against."""
        return self.runs[0]

    @cached_property
    def best(self) -> RunShown:
        """The run that the answer speaks of: the least energy of those that did the baseline's work."""
        same = [run for run in self.runs[1:] if self.did_same_work(run)]
        return min(same or self.runs[1:] or self.runs, key=lambda run: float(run.summary["energy_j"]))

    @property
    def are_several(self) -> bool:
        """True if there is anything to compare."""
        return len(self.runs) > 1

    @cached_property
    def axis(self) -> TimeAxis:
        """The axis of time of all charts."""
        ends = [run.window for run in self.runs]
        return TimeAxis(min(first for first, _ in ends), max(last for _, last in ends), self.base.unix_zero_s)

    @property
    def windows(self) -> pl.DataFrame | None:
        """The contract's windows, the same under every policy: those of the longest run."""
        known = [run for run in self.runs if run.windows is not None]
        return max(known, key=lambda run: run.window[1]).windows if known else None

    @property
    def timed(self) -> list[tuple[int, RunShown]]:
        """The runs that last, with their places."""
        return [(place, run) for place, run in enumerate(self.runs) if len(run.bins)]

    def did_same_work(self, run: RunShown) -> bool:
        """True if a run completed as much of the log as the baseline."""
        ours, theirs = (float(one.summary["completed_work_ratio"]) for one in (run, self.base))
        is_cut = any(one.summary["running"] or one.summary["pending"] for one in (run, self.base))
        return not is_cut and abs(ours - theirs) <= _SAME_WORK_RATIO

    @cached_property
    def worse(self) -> npt.NDArray[np.bool_]:
        """A flag a job that starts under both: it waits over an hour longer under the best than under the base."""
        waits = [run.jobs.select("job_id", "wait_s") for run in (self.base, self.best)]
        both = waits[0].join(waits[1], on="job_id", suffix="_best").drop_nulls()
        return (both["wait_s_best"] - both["wait_s"] > _HOUR_S).to_numpy()


def _limits(timeline: pl.DataFrame, budget_w: float | None) -> pl.DataFrame | None:
    """The budget where it changes; of more changes than can be seen, evenly chosen ones."""
    if "budget_w" not in timeline.columns:
        ends = timeline["time_s"].to_list()[:: max(len(timeline) - 1, 1)]
        return None if budget_w is None else pl.DataFrame({"time_s": ends, "budget_w": [budget_w] * len(ends)})
    watts = pl.col("budget_w")
    found = timeline.select("time_s", pl.when(watts.is_finite()).then(watts).alias("budget_w"))
    changes = found.filter(watts.ne_missing(watts.shift(1)) | (pl.int_range(pl.len()).is_in([0, len(found) - 1])))
    return (
        None
        if changes["budget_w"].null_count() == len(changes)
        else changes.gather_every(len(changes) // _MOST_STEPS + 1)
    )


def _windows(terms: Terms | None, window: tuple[float, float]) -> pl.DataFrame | None:
    """The stretches in which a limit of the contract is in force, each under that limit's name."""
    if terms is None or not terms.contract.limits or window[0] >= window[1]:
        return None
    said, series = terms.contract.to_dict()["limits"], terms.limits(*window)
    names = [words.window(own, watts) for own, watts in zip(said, terms.limits_w.tolist(), strict=True)]
    held = series.clause >= 0
    return pl.DataFrame(
        {
            "name": [names[clause] for clause in series.clause[held].tolist()],
            "from_s": series.at_s[:-1][held],
            "until_s": series.at_s[1:][held],
            "limit_w": terms.limits_w[series.clause[held]],
        },
        schema={"name": pl.String, **dict.fromkeys(("from_s", "until_s", "limit_w"), pl.Float64)},
    )


def _use(result: Result, window: tuple[float, float]) -> npt.NDArray[np.float64] | None:
    nodes, (from_s, until_s) = len(result.nodes), window
    if until_s <= from_s:
        return None
    return busy_grid(
        result.segments, nodes=nodes, rows=min(nodes, MAP_ROWS), bins=MAP_BINS, from_s=from_s, until_s=until_s
    )


def _counts(events: pl.DataFrame, window: tuple[float, float]) -> pl.DataFrame:
    from_s, until_s = window
    place = ((pl.col("time_s") - from_s) / max(until_s - from_s, 1e-9) * EVENT_BINS).floor().clip(0, EVENT_BINS - 1)
    own = events.filter(pl.col("kind").is_in(COUNTED)).with_columns(bin=place.cast(pl.Int64))
    return own.group_by("kind", "bin").agg(events=pl.len().cast(pl.Int64)).sort("kind", "bin")

"""A run in some thirty numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

STATES = ("completed", "timeout", "failed", "rejected", "cancelled", "running", "pending")
"""The states a job can be in when a run is over."""

_BUDGET = ("budget_w", "over_budget_count", "over_budget_s", "over_budget_peak_w")
_ENERGIES = ("job_energy_j", "idle_energy_j", "transition_energy_j", "off_energy_j", "down_energy_j")


def summarised(
    jobs: pl.DataFrame, totals: Mapping[str, Any], *, nodes: int, offered_load: float | None
) -> dict[str, int | float | None]:
    """The metrics of a run, by the names that `Result.summary` documents."""
    makespan_s = (totals["window_end_s"] or 0.0) - (totals["window_start_s"] or 0.0)
    counts = _state_counts(jobs)
    return {
        "jobs": len(jobs),
        **counts,
        "makespan_s": makespan_s,
        "energy_j": totals["energy_j"],
        **{name: totals[name] for name in _ENERGIES},
        **_work(totals),
        **_waits(jobs),
        "mean_turnaround_s": _mean(jobs["turnaround_s"]),
        "mean_bounded_slowdown": _mean(jobs["bounded_slowdown"]),
        "throughput_jobs_per_hour": _ratio(counts["completed"] * 3600.0, makespan_s),
        "utilization_ratio": _ratio(totals["busy_node_s"], nodes * makespan_s),
        "mean_power_w": _ratio(totals["energy_j"], makespan_s),
        "peak_power_w": totals["peak_power_w"],
        "energy_delay_product_js": totals["energy_j"] * makespan_s,
        "offered_load_ratio": offered_load,
        **{name: totals[name] for name in _BUDGET},
        "profiled_jobs": totals["profiled_jobs"],
    }


def job_metrics(jobs: pl.DataFrame) -> dict[str, int | float]:
    """What is counted and averaged over jobs, by the same names."""
    return {
        "jobs": len(jobs),
        **_state_counts(jobs),
        **_waits(jobs),
        "mean_turnaround_s": _mean(jobs["turnaround_s"]),
        "mean_bounded_slowdown": _mean(jobs["bounded_slowdown"]),
    }


def _work(totals: Mapping[str, Any]) -> dict[str, float | None]:
    """What was done of the work of the jobs that ended, and what a nominal node-second of it took."""
    done_node_s = totals["work_completed_node_s"]
    return {
        "work_lost_node_s": totals["work_lost_node_s"],
        "completed_work_ratio": completed_work_ratio(totals),
        "energy_per_work_j_per_node_s": totals["energy_j"] / done_node_s if done_node_s > 0 else None,
    }


def completed_work_ratio(totals: Mapping[str, Any]) -> float:
    """Nominal node-seconds that were done, of those of the jobs that started and ended; 1 if there are none."""
    started_node_s = totals["work_started_node_s"]
    return totals["work_completed_node_s"] / started_node_s if started_node_s > 0 else 1.0


def _state_counts(jobs: pl.DataFrame) -> dict[str, int]:
    counted = dict(jobs["state"].value_counts().rows())
    return {state: counted.get(state, 0) for state in STATES}


def _waits(jobs: pl.DataFrame) -> dict[str, float]:
    waits = jobs["wait_s"].drop_nulls().to_numpy()
    if not len(waits):
        return dict.fromkeys(("mean_wait_s", "median_wait_s", "p95_wait_s", "max_wait_s"), 0.0)
    median, p95 = np.quantile(waits, [0.5, 0.95])
    return {
        "mean_wait_s": float(waits.mean()),
        "median_wait_s": float(median),
        "p95_wait_s": float(p95),
        "max_wait_s": float(waits.max()),
    }


def _mean(values: pl.Series) -> float:
    # Averaged by numpy: its order of addition does not depend on the number of threads.
    known = values.drop_nulls().to_numpy()
    return float(known.mean()) if len(known) else 0.0


def _ratio(part: float, whole: float) -> float:
    """A share of a window; 0 of a window of length zero."""
    return part / whole if whole > 0 else 0.0


def utilization_band(timeline: pl.DataFrame, *, nodes: int, last_submit_s: float) -> tuple[float, float]:
    """U_L and U_H of the Hierarchy Pool study (section 4.2): the extremes of the share of busy nodes, 0 if nothing ran.

    Counted from the first instant at which the share reaches its median (weighted by time, up to the last submit) to
    the last submit: the empty machine before and after a log says nothing of how busy the machine is.
    """
    rows = timeline.filter(pl.col("time_s") <= last_submit_s)
    if rows.is_empty():
        return 0.0, 0.0
    busy = rows["busy_nodes"].to_numpy() / nodes
    length_s = np.diff(rows["time_s"].to_numpy(), append=last_submit_s)
    filled = busy[int(np.argmax(busy >= _weighted_median(busy, length_s))) :]
    return float(filled.min()), float(filled.max())


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])

"""A run measured over a part of its time: what warms the machine up and what lets it run empty is left out."""

from __future__ import annotations

import math
import numbers

import numpy as np
import polars as pl

from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.run.metric import Facts
from hetsched.run.metrics import METRICS
from hetsched.run.result import Result

__all__ = ["MEASURED", "measured"]


def measured(result: Result, *, from_s: float, until_s: float) -> dict[str, int | float | None]:
    """The metrics of a run over a window of it.

    Jobs outside of the window ran as ever, and jobs in it wait for them; they only do not count.

    Parameters
    ----------
    result
        Of a run.
    from_s, until_s
        The window's ends, in seconds on the log's clock: from the run's first submit on. After its last end the
        machine is idle.

    Returns
    -------
    dict
        As in `Result.summary`, over the jobs submitted in the window, both ends included: ``jobs``, the counts of
        states, the waits, ``mean_turnaround_s`` and ``mean_bounded_slowdown``. Over the window's time: ``energy_j``
        and ``mean_power_w`` (the integral of the timeline's power), ``peak_power_w`` (of its rows),
        ``utilization_ratio``, and ``throughput_jobs_per_hour`` (jobs completed within it). Then ``budget_w``,
        ``window_start_s``, ``window_end_s``, and ``warm_up_jobs`` and ``cool_down_jobs``, the jobs submitted before
        and after it. What can only be reported of a whole run, such as the makespan, is not there.

    Raises
    ------
    ConfigError
        If the window has no length, or begins before the run or ends after it was stopped.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = {"job_id": [1, 2, 3], "submit_s": [0, 50, 900], "runtime_s": [100, 100, 60], "node_count": [2, 1, 1]}
    >>> platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    >>> result = hs.simulate(hs.Workload.from_polars(pl.DataFrame(jobs)), platform)
    >>> found = measured(result, from_s=50, until_s=150)
    >>> found["jobs"], found["mean_wait_s"], found["energy_j"], found["utilization_ratio"], found["warm_up_jobs"]
    (1, 50.0, 50000.0, 0.75, 1)
    """
    timeline = result.timeline
    times = timeline["time_s"].to_numpy()
    power_w, busy = (timeline[name].to_numpy() for name in ("power_w", "busy_nodes"))
    # What the last row says goes on: a job that is refused may come when all others have ended.
    _check(from_s, until_s, times, is_over=not busy[-1:].any())
    inside_s = held_s(times, from_s, until_s)
    jobs, length_s = result.jobs, until_s - from_s
    submit_s, end_s = pl.col("submit_s"), pl.col("end_s")
    completed = jobs.filter((pl.col("state") == "completed") & end_s.is_between(from_s, until_s))
    energy_j = float(power_w @ inside_s)
    return {
        **_of_jobs(jobs.filter(submit_s.is_between(from_s, until_s))),
        "throughput_jobs_per_hour": len(completed) * 3600.0 / length_s,
        "utilization_ratio": float(busy @ inside_s) / (len(result.nodes) * length_s),
        "energy_j": energy_j,
        "mean_power_w": energy_j / length_s,
        "peak_power_w": float(power_w[inside_s > 0].max()),
        "budget_w": result.summary()["budget_w"],
        "window_start_s": float(from_s),
        "window_end_s": float(until_s),
        "warm_up_jobs": len(jobs.filter(submit_s < from_s)),
        "cool_down_jobs": len(jobs.filter(submit_s > until_s)),
    }


MEASURED = tuple(key for key, metric in METRICS.items() if metric.in_windows)
"""The metrics that a window has."""


def held_s(times: np.ndarray, from_s: float, until_s: float) -> np.ndarray:
    """Seconds within a window during which each row of a timeline holds; the last row goes on."""
    seconds: np.ndarray = np.clip(
        np.minimum(np.append(times[1:], until_s), until_s) - np.maximum(times, from_s), 0.0, None
    )
    return seconds


def _of_jobs(jobs: pl.DataFrame) -> dict[str, int | float | None]:
    """The metrics that are counted and averaged over jobs."""
    facts, own = Facts(jobs, {}), [metric for metric in METRICS.values() if metric.section in ("jobs", "waits")]
    return {metric.key: metric.of(facts) for metric in own if metric.in_windows}


def _check(from_s: object, until_s: object, times: np.ndarray, *, is_over: bool) -> None:
    faults = Faults()
    if not len(times):
        faults.add("result", "a run of no jobs", "one with something to measure")
    faults.check()
    first_s, last_s = float(times[0]), math.inf if is_over else float(times[-1])
    faults.number("from_s", from_s, low=first_s, high=last_s)
    faults.number("until_s", until_s, low=first_s, high=last_s)
    faults.check()
    assert isinstance(from_s, numbers.Real)
    assert isinstance(until_s, numbers.Real)
    if not float(from_s) < float(until_s):
        raise ConfigError([("until_s", f"`{float(until_s):g}`", f"a time after from_s, {float(from_s):g}")])

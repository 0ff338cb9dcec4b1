"""Starts that were observed against those of a run: how far the two are apart, and what of the machine was in use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis.timeline import binned
from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.workload import Workload

_EDGES = {"1m": 60.0, "10m": 600.0, "1h": 3600.0, "12h": 43_200.0, "1d": 86_400.0}
_NEVER = float("inf")

START_CLASSES = (
    "<-1d",
    *(f"-{name}" for name in reversed(_EDGES)),
    "0",
    *_EDGES,
    ">1d",
)
"""Classes of `start_histogram`, from the jobs that the run starts latest to those that it starts earliest."""

HELD_S = 43_200.0
"""Longest wait that counts as the scheduler's own in `held_jobs_resubmitted`: 12 hours."""


def start_differences(jobs: pl.DataFrame) -> pl.Series:
    """Observed less simulated start of each job that has both, in seconds: above 0 where the run starts it earlier.

    Parameters
    ----------
    jobs
        `Result.jobs`, of a log with ``observed_start_s``.

    Raises
    ------
    ConfigError
        If no job has an observed start.

    Examples
    --------
    >>> import hetsched as hs
    >>> log = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [60, 60], "node_count": [1, 1]})
    >>> log = log.with_columns(observed_start_s=pl.Series([5.0, 50.0]))
    >>> result = hs.simulate(hs.Workload.from_polars(log), hs.Platform.homogeneous(nodes=1, idle_w=1, tdp_w=2))
    >>> start_differences(result.jobs).to_list()
    [5.0, -10.0]
    """
    if "observed_start_s" not in jobs.columns or jobs["observed_start_s"].null_count() == len(jobs):
        raise ConfigError([("jobs.observed_start_s", "nothing", "starts of a log: the column observed_start_s")])
    both = jobs.select(pl.col("observed_start_s") - pl.col("start_s")).to_series()
    return both.drop_nulls().alias("difference_s")


def start_histogram(difference_s: pl.Series) -> pl.DataFrame:
    """Numbers of starts by their distance from those that were observed.

    The classes are those of Ohmura et al. (Building a Digital Twin of Job Scheduling and Power Management on an HPC
    System, Fig. 3): ``0`` is less than a second, ``1m`` from there to a minute, ``10m`` from there to ten, and so on;
    with a minus the run starts later than was observed.

    Parameters
    ----------
    difference_s
        Observed less simulated starts, as `start_differences` gives them.

    Returns
    -------
    polars.DataFrame
        A row for each of `START_CLASSES`, in that order: ``class, low_s, high_s`` (distances from 0; the upper one is
        in the class, and infinite beyond a day) ``, jobs, share_ratio`` (of all; 0 if there are none).

    Examples
    --------
    >>> found = start_histogram(pl.Series([0.0, 30.0, -30.0, 60.0, 61.0, 1e6]))
    >>> found.filter(pl.col("jobs") > 0).select("class", "jobs").rows()
    [('-1m', 1), ('0', 1), ('1m', 2), ('10m', 1), ('>1d', 1)]
    """
    difference = difference_s.drop_nulls().to_numpy()
    edges = np.array([*_EDGES.values()])
    middle = len(START_CLASSES) // 2
    far = np.where(np.abs(difference) < 1.0, 0, 1 + np.searchsorted(edges, np.abs(difference)))
    place = middle + np.where(difference < 0, -far, far)
    counts = np.bincount(place, minlength=len(START_CLASSES))
    low = np.concatenate([[0.0, 1.0], edges])
    high = np.concatenate([[1.0], edges, [_NEVER]])
    distance = np.abs(np.arange(len(START_CLASSES)) - middle)
    return pl.DataFrame(
        {
            "class": START_CLASSES,
            "low_s": low[distance],
            "high_s": high[distance],
            "jobs": counts,
            "share_ratio": counts / max(len(difference), 1),
        }
    )


def held_jobs_resubmitted(workload: Workload, *, longest_s: float = HELD_S) -> Workload:
    """The workload with jobs that were observed to wait longer submitted when they started.

    Waits of half a day are mostly not the scheduler's: users ask for a start time, or for the end of another job, which
    logs do not show. It is the correction of Ohmura et al., section 5.

    Parameters
    ----------
    workload
        With ``observed_start_s``; jobs without stay as they are.
    longest_s
        The longest wait that stays, seconds.

    Raises
    ------
    ConfigError
        If the log has no observed starts, or `longest_s` is invalid.

    Examples
    --------
    >>> log = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [60, 60], "node_count": [1, 1]})
    >>> log = log.with_columns(observed_start_s=pl.Series([5.0, 50_000.0]))
    >>> held_jobs_resubmitted(Workload.from_polars(log)).to_polars()["submit_s"].to_list()
    [0.0, 50000.0]
    """
    faults = Faults()
    faults.number("longest_s", longest_s, low=0.0, high=1e12)
    frame = workload.to_polars()
    if "observed_start_s" not in frame.columns:
        faults.note("workload", "no observed starts", "a log with the column observed_start_s")
    faults.check()
    is_held = (pl.col("observed_start_s") - pl.col("submit_s") > longest_s).fill_null(value=False)
    return Workload.from_polars(
        frame.with_columns(submit_s=pl.when(is_held).then("observed_start_s").otherwise("submit_s"))
    )


def use_difference(jobs: pl.DataFrame, *, slots: float, slots_per_node: int = 1, bins: int = 600) -> pl.DataFrame:
    """Observed less simulated use of a machine over time.

    A job takes its slots of each of its nodes, or where it has none all of them, from its start until it has run as
    long as in the run.

    Parameters
    ----------
    jobs
        `Result.jobs`, of a log with ``observed_start_s``; jobs without one, or that did not end, are left out.
    slots
        Of the machine, all nodes together.
    slots_per_node
        What jobs without ``slots`` take of a node.
    bins
        How many, from the first start to the last end.

    Returns
    -------
    polars.DataFrame
        A row a bin: ``start_s, end_s, observed_ratio, simulated_ratio, difference_ratio``, means over it.

    Examples
    --------
    >>> jobs = pl.DataFrame({"start_s": [0.0], "end_s": [10.0], "observed_start_s": [10.0], "node_count": [1]})
    >>> jobs = jobs.with_columns(slots=pl.lit(1))
    >>> use_difference(jobs, slots=2, bins=2)["difference_ratio"].to_list()
    [-0.5, 0.5]
    """
    ended = jobs.drop_nulls(["observed_start_s", "start_s", "end_s"])
    taken = (ended["node_count"] * ended["slots"].fill_null(slots_per_node)).to_numpy().astype(np.float64)
    length_s = (ended["end_s"] - ended["start_s"]).to_numpy()
    steps = {name: _steps(ended[start].to_numpy(), length_s, taken) for name, start in _STARTS.items()}
    times = np.unique(np.concatenate([own[0] for own in steps.values()]))
    held = {name: _at(times, *own) / slots for name, own in steps.items()}
    means = binned(pl.DataFrame({"time_s": times, **held}), list(held), bins=bins)
    return means.select(
        "start_s",
        "end_s",
        *(pl.col(f"{name}_mean").alias(f"{name}_ratio") for name in _STARTS),
        difference_ratio=pl.col("observed_mean") - pl.col("simulated_mean"),
    )


_STARTS = {"observed": "observed_start_s", "simulated": "start_s"}
_Floats = npt.NDArray[np.float64]


def _steps(start_s: _Floats, length_s: _Floats, taken: _Floats) -> tuple[_Floats, _Floats]:
    """Instants at which what is taken changes, ascending, and by how much."""
    at = np.concatenate([start_s, start_s + length_s])
    order = np.argsort(at, kind="stable")
    return at[order], np.concatenate([taken, -taken])[order]


def _at(times: _Floats, at: _Floats, change: _Floats) -> _Floats:
    """Amounts taken from each of the times on."""
    found: _Floats = np.concatenate([[0.0], np.cumsum(change)])[np.searchsorted(at, times, side="right")]
    return found

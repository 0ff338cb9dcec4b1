"""Curves of a run, made fit to draw: its power and occupancy over time in a few hundred bins, and its waits.

Values of a timeline hold from each row until the next, so a bin's mean is weighted by time, and its lowest and highest
value are kept next to it: a peak of a second stays visible in a bin of a day.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]


def run_bins(jobs: pl.DataFrame, timeline: pl.DataFrame, *, bins: int = 600) -> pl.DataFrame:
    """All that pictures of a run over time are drawn from.

    Parameters
    ----------
    jobs, timeline
        Of a `Result`.
    bins
        How many, at least 1; more than a picture has pixels are of no use.

    Returns
    -------
    polars.DataFrame
        As `binned` gives it, of ``power_w``, ``job_power_w``, ``busy_nodes`` and ``queued_jobs``.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [60], "node_count": [1]})
    >>> result = hs.simulate(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300))
    >>> run_bins(result.jobs, result.timeline, bins=1).select("power_w_mean", "job_power_w_mean").rows()
    [(400.0, 300.0)]
    """
    columns = ("power_w", "job_power_w", "busy_nodes", "queued_jobs")
    return binned(with_job_power(timeline, jobs), columns, bins=bins)


def with_job_power(timeline: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """The timeline with ``job_power_w``: how much of ``power_w`` the running jobs draw, with all of their nodes.

    Parameters
    ----------
    timeline
        `Result.timeline`; reads ``time_s`` and ``power_w``.
    jobs
        `Result.jobs`; reads ``start_s``, ``end_s`` and ``energy_j``. A job's draw counts as constant while it runs.

    Returns
    -------
    polars.DataFrame
        The timeline and one column more, between 0 and ``power_w``.

    Examples
    --------
    >>> timeline = pl.DataFrame({"time_s": [0.0, 10.0, 20.0], "power_w": [500.0, 300.0, 200.0]})
    >>> jobs = pl.DataFrame({"start_s": [0.0, 0.0], "end_s": [10.0, 20.0], "energy_j": [2000.0, 4000.0]})
    >>> with_job_power(timeline, jobs)["job_power_w"].to_list()
    [400.0, 200.0, 0.0]
    """
    times, power_w = timeline["time_s"].to_numpy(), timeline["power_w"].to_numpy()
    started = jobs.select("start_s", "end_s", "energy_j").filter(pl.col("start_s").is_not_null())
    # A job that still runs has drawn its energy up to the timeline's end.
    start_s = started["start_s"].to_numpy()
    end_s = started["end_s"].fill_null(float(times[-1]) if len(times) else 0.0).to_numpy()
    length_s = end_s - start_s
    draw_w = np.divide(started["energy_j"].to_numpy(), length_s, out=np.zeros_like(length_s), where=length_s > 0)
    running_w = _started_by(times, start_s, draw_w) - _started_by(times, end_s, draw_w)
    return timeline.with_columns(job_power_w=pl.Series(np.clip(running_w, 0.0, power_w), dtype=pl.Float64))


def _started_by(times: Floats, events: Floats, draw_w: Floats) -> Floats:
    """The sum of the draws whose event lies at or before each of `times`."""
    order = np.argsort(events, kind="stable")
    sums = np.append(0.0, np.cumsum(draw_w[order]))
    running: Floats = sums[np.searchsorted(events[order], times, side="right")]
    return running


def binned(timeline: pl.DataFrame, columns: Sequence[str], *, bins: int = 600) -> pl.DataFrame:
    """Columns of a timeline over bins of equal length.

    Parameters
    ----------
    timeline
        Sorted by ``time_s``, each time once; values hold until the next row, the last row is the end.
    columns
        Which columns, numbers all.
    bins
        How many, at least 1.

    Returns
    -------
    polars.DataFrame
        One row a bin: ``start_s``, ``end_s``, and for each column ``<name>_mean`` (weighted by time), ``<name>_min``
        and ``<name>_max`` (over every row that holds in the bin). No rows if the timeline has no length.

    Examples
    --------
    >>> timeline = pl.DataFrame({"time_s": [0.0, 4.0, 5.0, 10.0], "power_w": [100.0, 900.0, 200.0, 0.0]})
    >>> binned(timeline, ["power_w"], bins=2).rows()
    [(0.0, 5.0, 260.0, 100.0, 900.0), (5.0, 10.0, 200.0, 200.0, 200.0)]
    """
    times = timeline["time_s"].to_numpy()
    if len(times) < 2 or times[-1] <= times[0]:
        return pl.DataFrame(schema=dict.fromkeys(_names(columns), pl.Float64))
    edges = np.linspace(times[0], times[-1], bins + 1)
    # Rows first..last hold somewhere in a bin: the one that holds at its start, and all that begin before its end.
    first = np.searchsorted(times, edges[:-1], side="right") - 1
    last = np.searchsorted(times, edges[1:], side="left") - 1
    bounds = np.column_stack((first, np.maximum(last, first) + 1)).ravel()
    series: list[Floats] = [edges[:-1], edges[1:]]
    for name in columns:
        values = timeline[name].cast(pl.Float64).to_numpy()
        series.append(bin_means(times, values, edges))
        series += [reduce.reduceat(values, bounds)[::2] for reduce in (np.minimum, np.maximum)]
    return pl.DataFrame(dict(zip(_names(columns), series, strict=True)))


def bin_means(times: Floats, values: Floats, edges: Floats) -> Floats:
    """Means of a step function over bins, from its integral, which is linear between the times."""
    integral = np.append(0.0, np.cumsum(values[:-1] * np.diff(times)))
    means: Floats = np.diff(np.interp(edges, times, integral)) / np.diff(edges)
    return means


def _names(columns: Sequence[str]) -> list[str]:
    return ["start_s", "end_s", *(f"{name}_{kind}" for name in columns for kind in ("mean", "min", "max"))]


def waiting_curve(wait_s: pl.Series, *, points: int = 512) -> pl.DataFrame:
    """The share of jobs that wait longer than a time, for times from 0 to the longest wait.

    Parameters
    ----------
    wait_s
        Waits in seconds; nulls (jobs that never started) are left out.
    points
        The most rows wanted, at least 3. With fewer different waits the curve is whole; with more it is exact at times
        that are equally far apart on a logarithmic scale.

    Returns
    -------
    polars.DataFrame
        ``wait_s`` ascending from 0, ``longer_ratio`` descending to 0: the curve is a step function, each value holds up
        to the next time. No rows if there are no waits.

    Examples
    --------
    >>> waiting_curve(pl.Series([0.0, 0.0, 60.0, 600.0, None])).rows()
    [(0.0, 0.5), (60.0, 0.25), (600.0, 0.0)]
    """
    waits = np.sort(wait_s.drop_nulls().to_numpy())
    if not len(waits):
        return pl.DataFrame(schema={"wait_s": pl.Float64, "longer_ratio": pl.Float64})
    times = np.unique(np.append(waits, 0.0))
    if len(times) > points:
        times = np.append(0.0, np.geomspace(times[1], times[-1], points - 1))
        # The ends exactly: powers of logarithms are not.
        times[-1] = waits[-1]
    longer = 1.0 - np.searchsorted(waits, times, side="right") / len(waits)
    return pl.DataFrame({"wait_s": times, "longer_ratio": longer})

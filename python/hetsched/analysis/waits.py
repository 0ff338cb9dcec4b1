"""Waits as a curve: the share of jobs that wait longer than a given time."""

from __future__ import annotations

import numpy as np
import polars as pl

__all__ = ["waiting_curve"]


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

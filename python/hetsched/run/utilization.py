"""How busy a machine is while jobs come in: its lowest and its highest utilization."""

from __future__ import annotations

import numpy as np
import polars as pl

__all__ = ["utilization_band"]


def utilization_band(timeline: pl.DataFrame, *, nodes: int, last_submit_s: float) -> tuple[float, float]:
    """The lowest and the highest share of busy nodes once the machine has filled up and while jobs come in.

    Counted from the first instant at which the share reaches its median (weighted by time, up to the last submit) to
    the last submit: the empty machine before and after a log says nothing of how busy the machine is.

    Parameters
    ----------
    timeline
        Of a `Result`; reads ``time_s`` and ``busy_nodes``.
    nodes
        Nodes of the machine, at least 1.
    last_submit_s
        The last submit, in seconds on the timeline's clock.

    Returns
    -------
    tuple of float
        U_L and U_H of the Hierarchy Pool study (section 4.2), from 0 to 1; both 0 if nothing ran.

    Examples
    --------
    >>> timeline = pl.DataFrame({"time_s": [0.0, 10.0, 60.0, 90.0, 100.0], "busy_nodes": [1, 8, 6, 8, 0]})
    >>> utilization_band(timeline, nodes=10, last_submit_s=90.0)
    (0.6, 0.8)
    """
    rows = timeline.filter(pl.col("time_s") <= last_submit_s)
    if rows.is_empty():
        return 0.0, 0.0
    busy = rows["busy_nodes"].to_numpy() / nodes
    length_s = np.diff(rows["time_s"].to_numpy(), append=last_submit_s)
    filled = busy[int(np.argmax(busy >= _median(busy, length_s))) :]
    return float(filled.min()), float(filled.max())


def _median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])

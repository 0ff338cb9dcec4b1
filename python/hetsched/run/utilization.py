"""How busy a machine is while jobs come in."""

from __future__ import annotations

import numpy as np
import polars as pl


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

"""What a schedule made of nodes of unlike speed: inside a job, and for jobs of each kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from hetsched.platform import VariationTable
from hetsched.run.result import Result

__all__ = ["by_length", "by_size", "speed_ranks", "spread_inside_jobs"]


def by_size(result: Result) -> dict[str, float]:
    """Seconds that the jobs of one node ran in all, and those of several: ``single_run_s``, ``wide_run_s``."""
    is_single = pl.col("node_count") == 1
    sums = result.jobs.select(single_run_s=pl.col("runtime_s").filter(is_single).sum(), all_s=pl.col("runtime_s").sum())
    single_s, all_s = sums.row(0)
    return {"single_run_s": single_s, "wide_run_s": all_s - single_s}


def by_length(result: Result, borders_s: Sequence[float]) -> dict[str, float]:
    """Job energy by nominal run length: ``class_0_j`` below the first border, and so on.

    Parameters
    ----------
    result
        Of a run.
    borders_s
        Ascending; a job as long as a border counts above it.
    """
    place = np.searchsorted(borders_s, result.jobs["nominal_runtime_s"].to_numpy(), side="right")
    sums = np.bincount(place, weights=result.jobs["energy_j"].to_numpy(), minlength=len(borders_s) + 1)
    return {f"class_{number}_j": float(energy_j) for number, energy_j in enumerate(sums)}


def speed_ranks(table: VariationTable) -> np.ndarray:
    """Each node's place by mean time factor, then mean watts, then number; 0 is the fastest.

    Examples
    --------
    >>> table = VariationTable(["a"], power_w=[[9.0, 8.0, 7.0]], time_ratio=[[1.2, 1.0, 1.0]])
    >>> speed_ranks(table).tolist()
    [2, 1, 0]
    """
    assert table.time_ratio is not None
    assert table.power_w is not None
    order = np.lexsort((table.power_w.mean(axis=0), table.time_ratio.mean(axis=0)))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def spread_inside_jobs(result: Result, table: VariationTable, *, window: int) -> dict[str, float | None]:
    """Of the jobs with several nodes: what the slowest node costs, and who is spread wider than a window.

    Parameters
    ----------
    result
        Of a run with one application.
    table
        The actual one.
    window
        In ranks; a larger job's own window is as wide as the job.

    Returns
    -------
    dict
        ``spread_ratio``: the mean of slowest over mean time factor, less 1; ``missed_ratio``: the share whose ranks
        span more than the window. None where no job has several nodes.
    """
    jobs = result.jobs.filter((pl.col("node_count") > 1) & pl.col("nodes").is_not_null())
    if jobs.is_empty():
        return {"spread_ratio": None, "missed_ratio": None}
    size = jobs["node_count"].to_numpy()
    starts = np.concatenate([[0], np.cumsum(size)[:-1]])
    nodes = jobs["nodes"].explode().to_numpy()
    assert table.time_ratio is not None
    times, ranks = table.time_ratio[0, nodes], speed_ranks(table)[nodes]
    slowest, mean = np.maximum.reduceat(times, starts), np.add.reduceat(times, starts) / size
    span = np.maximum.reduceat(ranks, starts) - np.minimum.reduceat(ranks, starts) + 1
    return {
        "spread_ratio": float((slowest / mean - 1.0).mean()),
        "missed_ratio": float((span > np.maximum(window, size)).mean()),
    }

"""How long jobs wait by their size, and what becomes of the large ones (VAHRM paper, Fig. 3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

__all__ = ["LARGE_NODES", "SIZES", "fate_of_large_jobs", "waits_by_size"]

LARGE_NODES = 16
"""The paper's large jobs ask for more than 15 nodes."""

SIZES = (1, 2, 4, 8, 16, 32, 64)
"""The least sizes of the classes; the last holds all larger jobs, too."""

NOTICED_S = 60.0
"""A job that waited less than this under the other policy says nothing about a ratio of waits."""


def waits_by_size(jobs: pl.DataFrame) -> dict[str, float | None]:
    """The mean wait of each class of sizes, in seconds: ``wait_1_s, wait_2_s, wait_4_s`` ...; None without a job.

    Parameters
    ----------
    jobs
        `Result.jobs`, all of them started.

    Examples
    --------
    >>> found = waits_by_size(pl.DataFrame({"node_count": [1, 1, 3], "wait_s": [10.0, 20.0, 7.0]}))
    >>> found["wait_1_s"], found["wait_2_s"], found["wait_4_s"]
    (15.0, 7.0, None)
    """
    place = np.searchsorted(SIZES, jobs["node_count"].to_numpy(), side="right") - 1
    count = np.bincount(place, minlength=len(SIZES))
    total_s = np.bincount(place, weights=jobs["wait_s"].to_numpy(), minlength=len(SIZES))
    return {
        f"wait_{size}_s": float(total_s[number] / count[number]) if count[number] else None
        for number, size in enumerate(SIZES)
    }


def fate_of_large_jobs(jobs: pl.DataFrame, other_wait_s: npt.NDArray[np.float64]) -> dict[str, float]:
    """The large jobs of a run beside the same jobs under another policy.

    Parameters
    ----------
    jobs
        `Result.jobs`, all of them started.
    other_wait_s
        The waits of the same jobs under the other policy, in the same order.

    Returns
    -------
    dict
        ``large_wait_s``, ``large_other_wait_s``: mean waits; ``large_longest_wait_s``; ``large_ratio``: the mean over
        single jobs of wait over wait; ``large_longest_ratio``: the largest of these; ``large_later_ratio``: the share
        of jobs that wait longer. Ratios are of jobs that waited a minute or more under the other policy.

    Examples
    --------
    >>> jobs = pl.DataFrame({"node_count": [1, 16, 32, 64], "wait_s": [900.0, 300.0, 100.0, 50.0]})
    >>> found = fate_of_large_jobs(jobs, np.array([9.0, 100.0, 200.0, 0.0]))
    >>> found["large_wait_s"], found["large_other_wait_s"], found["large_ratio"], found["large_longest_ratio"]
    (150.0, 100.0, 1.75, 3.0)
    """
    is_large = jobs["node_count"].to_numpy() >= LARGE_NODES
    own_s, other_s = jobs["wait_s"].to_numpy()[is_large], other_wait_s[is_large]
    is_noticed = other_s >= NOTICED_S
    ratios = own_s[is_noticed] / other_s[is_noticed]
    return {
        "large_wait_s": float(own_s.mean()),
        "large_other_wait_s": float(other_s.mean()),
        "large_longest_wait_s": float(own_s.max()),
        "large_ratio": float(ratios.mean()) if len(ratios) else 1.0,
        "large_longest_ratio": float(ratios.max()) if len(ratios) else 1.0,
        "large_later_ratio": float((own_s > other_s).mean()),
    }

"""`energy_bound`: from a run's jobs to the number."""

from __future__ import annotations

import polars as pl

from hetsched.bound.certificate import lower_bound
from hetsched.bound.demand import Demand
from hetsched.bound.prices import node_prices, require_solver
from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.platform import Platform

__all__ = ["check_bound", "energy_bound"]

_CELLS_TO_SOLVE = 100_000
"""Prices may be a little off, so the linear program is kept small: kinds of jobs × kinds of nodes."""

_CELLS_TO_CERTIFY = 4_000_000
"""The bound itself is worked out on a finer grid; a cell costs some ten nanoseconds and 32 bytes."""


def check_bound(platform: Platform, faults: Faults) -> None:
    """Note what stands in the way of a bound, before the run.

    Parameters
    ----------
    platform
        The machine.
    faults
        Notes nodes that jobs share, and a missing solver.

    Examples
    --------
    >>> faults = Faults()
    >>> check_bound(Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300, slots=4, exclusive=False), faults)
    >>> faults.check()
    Traceback (most recent call last):
    hetsched.errors.ConfigError: bound: found `True`, expected False where jobs share nodes: the bound is of whole nodes
    """
    if not platform.exclusive:
        faults.add("bound", True, "False where jobs share nodes: the bound is of whole nodes")
    try:
        require_solver()
    except ConfigError as error:
        faults.extend(error)


def energy_bound(
    jobs: pl.DataFrame,
    platform: Platform,
    *,
    window_s: float,
    kill_at_walltime: bool,
    kill_grace_s: float = 0.0,
    walltimes: str = "fixed",
) -> float:
    """The least job energy of the jobs that ran to their end, over all placements that finish in the window.

    Never above the job energy of any schedule of these jobs on this platform that fits into `window_s` seconds,
    whatever its policy: see docs/background/bounds.md.

    Parameters
    ----------
    jobs
        `Result.jobs`; those with state ``completed`` or ``timeout`` count.
    platform
        What the run was on; the actual table is read.
    window_s
        Seconds from the first submit to the last end: what each node has to offer.
    kill_at_walltime
        Whether jobs end at their walltime.
    kill_grace_s, walltimes
        How long after it, and what it was meant for: as in `hetsched.simulate`.

    Returns
    -------
    float
        Joules, >= 0.

    Raises
    ------
    ConfigError
        If the solver is not installed.

    Examples
    --------
    Two jobs of 10 s were run side by side. One node draws 100 W, the other two 150 W and 300 W: within 10 s no node
    serves two of them, and the best is 10 s × (100 W + 150 W).

    >>> import hetsched as hs
    >>> frame = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [10, 10], "node_count": [1, 1],
    ...                       "app": ["a", "a"]})
    >>> table = hs.VariationTable(["a"], power_w=[[300.0, 100.0, 150.0]])
    >>> platform = hs.Platform.homogeneous(nodes=3, idle_w=50, tdp_w=300, actual=table)
    >>> jobs = hs.simulate(hs.Workload.from_polars(frame), platform, "fcfs").jobs
    >>> round(energy_bound(jobs, platform, window_s=10.0, kill_at_walltime=True), 6)
    2500.0
    """
    demand = Demand.of(
        jobs, platform, kill_at_walltime=kill_at_walltime, kill_grace_s=kill_grace_s, walltimes=walltimes
    )
    if not len(demand) or window_s <= 0:
        return 0.0
    coarse = demand.grid(_CELLS_TO_SOLVE)
    prices = node_prices(coarse, window_s)
    # The prices were made for the coarse grid: now and then they suit it better than the fine one.
    grids = (coarse, demand.grid(_CELLS_TO_CERTIFY))
    return max(lower_bound(grid, window_s, prices, terms=len(demand)) for grid in grids)

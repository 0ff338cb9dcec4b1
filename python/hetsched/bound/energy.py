"""`energy_bound`: from a run's jobs to the number, by prices of node time and the certificate that they give.

The prices are the dual of a linear program. Nothing depends on how well it is solved: the certificate holds for any.
"""

from __future__ import annotations

from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.bound.demand import Demand, Grid
from hetsched.checks import Faults
from hetsched.platform import Platform

Floats = npt.NDArray[np.float64]

_CELLS_TO_SOLVE = 100_000
"""Prices may be a little off, so the linear program is kept small: kinds of jobs × kinds of nodes."""

_CELLS_TO_CERTIFY = 4_000_000
"""The bound itself is worked out on a finer grid; a cell costs some ten nanoseconds and 32 bytes."""

_MOST_ITERATIONS = 400_000
"""Far more than were ever needed."""

_LOOK_S = 0.1

_ROUNDING = 2.0**-53
_STEPS = 64
"""More roundings than any one product goes through, in the engine or here."""


def check_bound(platform: Platform, faults: Faults) -> None:
    """Note a machine of which there is no bound."""
    if not platform.exclusive:
        faults.add("bound", True, "False where jobs share nodes: the bound is of whole nodes")


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
    whatever its policy: see docs/background/bounds.md. Joules, >= 0. The
    jobs are `Result.jobs`, and the limits the run's.
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


def node_prices(grid: Grid, window_s: float) -> Floats:
    """Worth of a second of each kind of node, W, with the jobs spread over the window as cheaply as possible."""
    kinds = len(grid.nodes)
    watts = float(grid.power_w.mean())
    if kinds == 1 or watts == 0:
        return np.zeros(kinds)
    solved: list[Any] = []
    # In a thread of its own, in short waits: the solver sees no Ctrl-C, and a run has to end within a second.
    solver = Thread(target=lambda: solved.append(_solved(grid, window_s, watts)), daemon=True)
    solver.start()
    while solver.is_alive():
        solver.join(_LOOK_S)
    duals = solved[0].ineqlin.marginals if solved else None
    if duals is None or not np.isfinite(duals).all():
        return np.zeros(kinds)
    return np.asarray(np.maximum(-duals[-kinds:], 0.0) * watts)


def _solved(grid: Grid, window_s: float, watts: float) -> Any:
    """The transportation problem: windows of nominal work by kind of job and kind of node, in units near 1."""
    from scipy.optimize import linprog  # noqa: PLC0415 -- slow to load, and only bounds need it
    from scipy.sparse import csc_array  # noqa: PLC0415

    work = (grid.runtime_s * grid.sizes).sum(axis=1) / window_s
    # A job is on a node once: on no node is there more of its kind than the sum of the runtimes.
    most = np.outer(grid.runtime_s.sum(axis=1) / window_s, grid.nodes).ravel()
    jobs, nodes = grid.busy_ratio.shape
    # All work is done (a row a kind of job), and no node works for longer than the window.
    rows = np.stack(np.broadcast_arrays(np.arange(jobs)[:, np.newaxis], jobs + np.arange(nodes)), axis=-1)
    values = np.stack([-np.ones_like(grid.busy_ratio), grid.busy_ratio], axis=-1)
    starts = np.arange(0, 2 * len(most) + 1, 2)
    return linprog(
        grid.power_w.ravel() / watts,
        A_ub=csc_array((values.ravel(), rows.ravel(), starts), shape=(jobs + nodes, len(most))),
        b_ub=np.append(-work, grid.nodes),
        bounds=np.stack([np.zeros_like(most), most], axis=-1),
        # Presolve takes more memory, and no less time.
        method="highs-ds",
        options={"presolve": False, "maxiter": _MOST_ITERATIONS},
    )


def lower_bound(grid: Grid, window_s: float, prices: Floats, *, terms: int) -> float:
    """Least cost of the jobs if node time had these prices, less the worth of the whole window at them.

    No prices make it wrong, good ones make it sharp; a rounding error for each of the `terms` added up is taken off.
    """
    steps = terms + int(grid.nodes.sum()) + _STEPS
    node_s = float((grid.runtime_s * grid.sizes).sum()) * float(grid.busy_ratio.max())
    found = [0.0]
    for own in (np.zeros_like(prices), prices):
        work, window = _least_cost(grid, own), window_s * float((grid.nodes * own).sum())
        found.append(work - window - steps * _ROUNDING * (work + window) - node_s * grid.draw_error_w)
    return max(found)


def _least_cost(grid: Grid, prices: Floats) -> float:
    """Joules of every job on the nodes that suit it best, energy and price of node time together."""
    cost = grid.busy_ratio * prices + grid.power_w
    if grid.sizes[-1] == 1:
        return float((cost.min(axis=1) * grid.runtime_s[:, 0]).sum())
    return float(sum(_row_cost(row, own, grid) for row, own in zip(cost, grid.runtime_s, strict=True)))


def _row_cost(cost: Floats, runtime_s: Floats, grid: Grid) -> float:
    """A job of n nodes takes n different ones: at least the n cheapest."""
    order = np.argsort(cost, kind="stable")
    taken = np.append(0, np.cumsum(grid.nodes[order]))
    spent = np.append(0.0, np.cumsum((grid.nodes * cost)[order]))
    return float((np.interp(grid.sizes, taken, spent) * runtime_s).sum())

"""The certificate: from any prices of node time to a number that no schedule can beat."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hetsched.bound.demand import Grid

__all__ = ["lower_bound"]

Floats = npt.NDArray[np.float64]

_ROUNDING = 2.0**-53
_STEPS = 64
"""More roundings than any one product goes through, in the engine or here."""


def lower_bound(grid: Grid, window_s: float, prices: Floats, *, terms: int) -> float:
    """What the jobs cost at least if node time had these prices, less what the whole window is worth at them.

    Parameters
    ----------
    grid
        The jobs.
    window_s
        Seconds that each node has to offer.
    prices
        Of node time, W, >= 0, one a kind of node. Good ones make the bound sharp; none make it wrong.
    terms
        How many jobs were added up, for the rounding error that is taken off.

    Returns
    -------
    float
        Joules, >= 0: at least what all prices of 0 give.
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

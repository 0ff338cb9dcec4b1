"""The least job energy that any placement of a run's jobs could have reached in its window.

First what jobs ask of nodes, on a grid of kinds of jobs; then prices of node time, and the bound that they certify.
docs/background/bounds.md states and proves what they say together.

Jobs of one table row are alike but for three things: their length, their own measured watts where the table holds
factors, and how soon their walltime cuts them. Energy is concave in the last two, so a job between two grid values is
charged as shares of two jobs on them and comes out no dearer: any grid gives a bound, a finer one a sharper bound.

The prices are the dual of a linear program. Nothing depends on how well it is solved: the certificate holds for any.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Thread
from typing import Any

import numpy as np
import polars as pl

from hetsched.bound.rates import NO_ROW, Floats, Whole, levels_of, measured, on_the_clock, row_rates, rows_of, shares_of
from hetsched.platform import Platform, VariationTable
from hetsched.typing import Walltimes

_LEAST_LEVELS, _LEAST_CUTS, _MOST_CUTS = 5, 3, 17


@dataclass(frozen=True)
class Grid:
    """Work by kind of job (rows), and its cost by kind of node (columns)."""

    busy_ratio: Floats  # seconds a node is taken by a second of nominal runtime
    power_w: Floats  # joules a node draws for that second
    sizes: Whole  # distinct node counts of jobs, ascending
    runtime_s: Floats  # summed nominal runtimes, a column a size; every row has work in it
    nodes: Whole  # nodes of each kind
    draw_error_w: float  # how far the engine's draws, whole picowatts, may lie below these


@dataclass(frozen=True)
class _Rates:
    """Rates of jobs of each group (a row) on each kind of node (a column): watts = fixed_w + own watts × factor."""

    time_ratio: Floats
    fixed_w: Floats
    factor: Floats
    nodes: Whole
    draw_error_w: float


@dataclass(frozen=True)
class Demand:
    """The jobs that ran to their end, and what they cost."""

    group: Whole  # row of `rates`, one a job
    own_w: Floats  # measured watts where they count, else 0
    size: Whole  # nodes
    runtime_s: Floats  # nominal, above 0
    cut_ratio: Floats  # walltime / nominal runtime, above 0; inf without a kill
    rates: _Rates

    def __len__(self) -> int:
        return len(self.group)

    @classmethod
    def of(
        cls,
        jobs: pl.DataFrame,
        platform: Platform,
        *,
        kill_at_walltime: bool,
        kill_grace_s: float = 0.0,
        walltimes: Walltimes = "fixed",
    ) -> Demand:
        """The jobs of a result that ran to their end and took any time."""
        ended = jobs.filter(pl.col("state").is_in(["completed", "timeout"]))
        runtime_s = on_the_clock(ended["nominal_runtime_s"])
        limit_s = on_the_clock(ended["walltime_s"]) if kill_at_walltime else np.full(len(ended), np.nan)
        if walltimes == "stretch":
            # A limit that stretches cuts the nominal runtime, and its grace counts least on the slowest nodes.
            runtime_s = np.fmin(runtime_s, limit_s + kill_grace_s / _slowest(platform.actual))
            limit_s = np.full(len(ended), np.nan)
        limit_s = limit_s + kill_grace_s
        kept = (runtime_s > 0) & ~(limit_s <= 0)
        ended, runtime_s, limit_s = ended.filter(pl.Series(kept)), runtime_s[kept], limit_s[kept]
        own_w = measured(ended)
        table = platform.actual
        row = rows_of(ended["app"], table)
        is_own = (own_w > 0) & ((row == NO_ROW) | (table is not None and table.power_w is None))
        keys, group = np.unique(2 * row + is_own, return_inverse=True)
        return cls(
            group=group.astype(np.int64),
            own_w=np.where(is_own, own_w, 0.0),
            size=ended["node_count"].cast(pl.Int64).to_numpy(),
            runtime_s=runtime_s,
            cut_ratio=np.where(np.isnan(limit_s), np.inf, limit_s / runtime_s),
            rates=_rates(platform, [(int(key) // 2, bool(key % 2)) for key in keys]),
        )

    def grid(self, cells: int) -> Grid:
        """The jobs on a grid of about `cells` kinds of jobs × kinds of nodes: more are sharper and slower."""
        groups, kinds_of_nodes = self.rates.time_ratio.shape
        most = max(cells // (groups * kinds_of_nodes), _LEAST_LEVELS)
        sizes, size_index = np.unique(self.size, return_inverse=True)
        parts = [self._part(group, most, size_index, len(sizes)) for group in range(groups)]
        busy_ratio, power_w, runtime_s = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        has_work = runtime_s.any(axis=1)
        rates = self.rates
        work = (busy_ratio[has_work], power_w[has_work], sizes, runtime_s[has_work])
        return Grid(*work, nodes=rates.nodes, draw_error_w=rates.draw_error_w)

    def _part(self, group: int, most: int, size_index: Whole, sizes: int) -> tuple[Floats, Floats, Floats]:
        """One group's rows of the grid: busy ratios, watts, and runtimes by size."""
        own = self.group == group
        time_ratio, fixed_w, factor = (
            rows[group] for rows in (self.rates.time_ratio, self.rates.fixed_w, self.rates.factor)
        )
        cut, runtime_s = _capped(self.cut_ratio[own], self.runtime_s[own], time_ratio)
        watts, weight = self.own_w[own], runtime_s * self.size[own]
        cuts = levels_of(cut, weight, min(max(math.isqrt(most), _LEAST_CUTS), _MOST_CUTS), last=time_ratio.max())
        # Where the draw is the same on every node there is no choice to make, and its own watts need no fine grid.
        is_flat = np.ptp(factor) == 0 and np.ptp(time_ratio) == 0
        levels = levels_of(watts, weight, 2 if is_flat else max(most // len(cuts), _LEAST_LEVELS))
        work = np.zeros(len(levels) * len(cuts) * sizes)
        for level, level_share in shares_of(watts, levels):
            for place, cut_share in shares_of(cut, cuts):
                cell = (level * len(cuts) + place) * sizes + size_index[own]
                work += np.bincount(cell, weights=runtime_s * level_share * cut_share, minlength=len(work))
        busy_ratio = np.tile(np.minimum(time_ratio, cuts[:, np.newaxis]), (len(levels), 1))
        power_w = busy_ratio * np.repeat(fixed_w + levels[:, np.newaxis] * factor, len(cuts), axis=0)
        return busy_ratio, power_w, work.reshape(-1, sizes)


def _slowest(table: VariationTable | None) -> float:
    """A time factor that none is above."""
    return 1.0 if table is None or table.time_ratio is None else max(1.0, float(table.time_ratio.max()))


def _rates(platform: Platform, groups: Iterable[tuple[int, bool]]) -> _Rates:
    """The groups' rates, nodes that are alike in all of them taken together."""
    busy_w = np.concatenate([node_class.per_node("busy_w") for node_class in platform.classes])
    table = platform.actual
    rows = [row_rates(table, row, busy_w, is_own=is_own) for row, is_own in groups]
    kinds, nodes = np.unique(np.array(rows).reshape(-1, len(busy_w)), axis=1, return_counts=True)
    time_ratio, fixed_w, factor = (kinds[place::3] for place in range(3))
    # Half a picowatt on the job's or the node's watts, times the factor, and half a one on the product.
    largest = 1.0 if table is None or table.power_ratio is None else float(table.power_ratio.max())
    return _Rates(time_ratio, fixed_w, factor, nodes.astype(np.int64), draw_error_w=1e-12 * (1.0 + largest))


def _capped(cut: Floats, runtime_s: Floats, time_ratio: Floats) -> tuple[Floats, Floats]:
    """Cuts between the fastest and the slowest node; work that every node cuts is written down shorter instead."""
    low, high = time_ratio.min(), time_ratio.max()
    return np.clip(cut, low, high), runtime_s * np.minimum(cut / low, 1.0)


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


def energy_bound(
    jobs: pl.DataFrame,
    platform: Platform,
    *,
    window_s: float,
    kill_at_walltime: bool,
    kill_grace_s: float = 0.0,
    walltimes: Walltimes = "fixed",
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

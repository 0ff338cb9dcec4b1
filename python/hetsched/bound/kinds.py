"""Kinds of jobs: costs by node, and which kind each job is of.

Jobs whose costs are alike on every node are one kind. Measured watts are a factor on a row of costs, so that any number
of them needs one row only. Rows themselves differ by length, where nodes differ in speed: by size, communication, the
walltime, and the end of the run. Where they are too many, those of one size are put on a grid, and a job counts as one
of the grid's value below, which costs no more. The same is done with watts where too many jobs run at once; what a job
draws beyond the value below is charged for the nodes on which it is least.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hetsched.bound.alike import alike_rows
from hetsched.bound.given import FOREVER, Cell, Given, stretched
from hetsched.bound.rates import Floats, Whole, levels_of

_MOST_ROWS = 256
"""Rows in all up to which none is put on a grid."""

_MOST_OF_APP = 32
"""Rows of an application up to which none of its jobs is put on a grid."""

_MOST_CUTS = 8
"""Values of a grid of slopes, and of one of cuts."""

_MOST_AT_ONCE = 400
"""Jobs at once, up to which each may have watts of its own: a search takes time with the square of their number."""

_MOST_LEVELS = 256
"""Levels of watts in all where there are more."""

_SLOPE_GRID = 1e-5
"""Lengths follow the nodes' factors but for rounding: slopes are rounded down to this, so that jobs are of one kind."""


@dataclass(frozen=True)
class Demand:
    """Kinds by node, and the jobs of each."""

    cost: Floats
    """W, or factors on a kind's own watts, by row and node; inf where a kind may not be."""
    row: Whole
    scale: Floats
    """Row and factor of each kind."""
    job: Whole
    kind: Whole
    """The jobs that take any time, and the kind of each."""
    base_j: float
    """Energy that is the same on whichever nodes, left out of the costs."""
    allowance_j: float
    """Upper limit of what the costs may be too high by, as joules of all jobs."""


@dataclass
class _Rows:
    """Rows and jobs so far."""

    nodes: int
    levels: int | None
    """Levels of watts of a cell; None: as many as there are watts."""
    cost: list[Floats] = field(default_factory=list)
    job: list[Whole] = field(default_factory=list)
    row: list[Whole] = field(default_factory=list)
    scale: list[Floats] = field(default_factory=list)
    base_j: float = 0.0
    allowance_j: float = 0.0

    def add(self, cell: Cell, jobs: Whole, longer: Floats, form: Whole) -> None:
        """Adds jobs of a cell, each with a row of `longer`: by how much a run counts as longer on each node."""
        given = cell.given.some(jobs)
        scale = self._levelled(cell, given) if cell.is_own else np.ones(len(jobs))
        costs = np.full((len(longer), self.nodes), np.inf)
        costs[:, cell.nodes] = (cell.factor if cell.is_own else cell.fixed_w) * longer
        first = sum(map(len, self.cost))
        self.cost.append(costs)
        self.job.append(cell.jobs[jobs])
        self.row.append(first + form)
        self.scale.append(scale)

    def add_flat(self, cell: Cell, jobs: Whole) -> None:
        """Adds jobs that cost the same on every node: they only take nodes from others."""
        given = cell.given.some(jobs)
        self.base_j += float((cell.draws(given.own_w)[:, 0] * given.size * (given.least / 1e6)).sum())
        costs = np.full((1, self.nodes), np.inf)
        costs[:, cell.nodes] = 0.0
        first = sum(map(len, self.cost))
        self.cost.append(costs)
        self.job.append(cell.jobs[jobs])
        self.row.append(np.full(len(jobs), first))
        self.scale.append(np.ones(len(jobs)))

    def _levelled(self, cell: Cell, given: Given) -> Floats:
        """Watts of the jobs, or those of the level below; what is left is charged where it is least."""
        node_s = given.size * (given.least / 1e6)
        # The engine rounds the product of watts and factor to a whole picowatt.
        self.allowance_j += float(node_s.sum()) * 1e-12 * (1.0 + float(cell.factor.max()))
        levels = np.unique(given.own_w)
        if self.levels is None or len(levels) <= self.levels:
            return given.own_w
        levels = levels_of(given.own_w, node_s, self.levels)
        below = levels[np.searchsorted(levels, given.own_w, side="right") - 1]
        least = np.cumsum(np.sort(cell.factor))[given.size - 1]
        self.base_j += float(((given.own_w - below) * least * (given.least / 1e6)).sum())
        return np.asarray(below)


def demand_of(given: Given) -> Demand:
    """The jobs as kinds, those that take any time."""
    cells = given.cells
    profiles = [_profiles(cell) for cell in cells]
    counts = [int(profile.max(initial=-1)) + 1 for profile in profiles]
    apps = [int(cell.given.row[0]) for cell in cells]
    of_app = {app: sum(count for one, count in zip(apps, counts, strict=True) if one == app) for app in apps}
    is_few = sum(counts) <= _MOST_ROWS
    rows = _Rows(given.sets.shape[1], _levels(given, sum(cell.is_own for cell in cells)))
    for cell, profile, app in zip(cells, profiles, apps, strict=True):
        if is_few or of_app[app] <= _MOST_OF_APP:
            _add_exactly(rows, cell, profile)
        else:
            _add_on_grid(rows, cell)
    return _demand(rows)


def _levels(given: Given, cells: int) -> int | None:
    """Levels of watts of each cell whose jobs have their own; None where few enough jobs run at once."""
    end = given.start + given.least
    steps = np.append(np.ones(len(given)), -np.ones(len(given)))
    at = np.append(given.start, end)
    at_once = np.cumsum(steps[np.lexsort((steps, at))]).max(initial=0.0)
    return None if at_once <= _MOST_AT_ONCE else max(_MOST_LEVELS // max(cells, 1), 2)


def _demand(rows: _Rows) -> Demand:
    if not rows.job:
        none = np.empty(0, dtype=np.int64)
        return Demand(np.empty((0, rows.nodes)), none, np.empty(0), none, none, 0.0, 0.0)
    row, scale = np.concatenate(rows.row), np.concatenate(rows.scale)
    first, kind = alike_rows(row, scale)
    cost, job = np.concatenate(rows.cost), np.concatenate(rows.job)
    return Demand(cost, row[first], scale[first], job, kind, rows.base_j, rows.allowance_j)


def _profiles(cell: Cell) -> Whole:
    """Number of each job among those of the cell that differ in lengths; -1 for jobs of no length."""
    given, is_alike = cell.given, cell.is_alike_for
    lengths = [given.size, given.runtime, given.pace, given.comm, given.walltime, given.walltime_pace, given.left]
    keys = [is_alike, *(np.where(is_alike, 0, one) for one in lengths)]
    found = np.full(len(given), -1)
    takes_time = _least(cell) > 0
    _, found[takes_time] = alike_rows(*(key[takes_time] for key in keys))
    return found


def _least(cell: Cell) -> Whole:
    return cell.given.lengths(cell.sorted_time[cell.given.size - 1])


def _is_flat(cell: Cell) -> bool:
    """True if a job draws the same on every node."""
    return bool(np.ptp(cell.factor) == 0 and np.ptp(cell.fixed_w) == 0)


def _add_exactly(rows: _Rows, cell: Cell, profile: Whole) -> None:
    """Adds a row for each profile."""
    jobs = np.flatnonzero(profile >= 0)
    if not len(jobs):
        return
    if _is_flat(cell) and cell.is_alike_for[jobs].all():
        rows.add_flat(cell, jobs)
        return
    some = jobs[np.unique(profile[jobs], return_index=True)[1]]
    least = _least(cell)[some]
    lengths = cell.given.some(some).lengths(np.broadcast_to(cell.time, (len(some), len(cell.nodes))))
    rows.add(cell, jobs, np.maximum(lengths, least[:, np.newaxis]) / least[:, np.newaxis], profile[jobs])


def _add_on_grid(rows: _Rows, cell: Cell) -> None:
    """Adds rows for values of a grid: first the jobs that last as long everywhere, then the others by size."""
    takes_time = _least(cell) > 0
    alike = np.flatnonzero(cell.is_alike_for & takes_time)
    if len(alike) and _is_flat(cell):
        rows.add_flat(cell, alike)
    elif len(alike):
        rows.add(cell, alike, np.ones((1, len(cell.nodes))), np.zeros(len(alike), dtype=np.int64))
    others = np.flatnonzero(takes_time & ~cell.is_alike_for)
    for size in np.unique(cell.given.size[others]).tolist():
        _add_of_size(rows, cell, others[cell.given.size[others] == size], size)


def _add_of_size(rows: _Rows, cell: Cell, jobs: Whole, size: int) -> None:
    """Adds jobs of one size that last longer on slower nodes.

    On a node slower than the n-th fastest a job is longer by at least its slope times the difference of the factors,
    until something cuts it.
    """
    given, first = cell.given.some(jobs), float(cell.sorted_time[size - 1])
    least = given.lengths(np.full(len(jobs), first)).astype(np.float64)
    slowest = given.lengths(np.full(len(jobs), cell.sorted_time[-1]))
    slope = given.runtime * given.pace
    if given.stretches:
        slope = np.minimum(slope, given.walltime * given.walltime_pace)
    slope = np.floor(slope / least / _SLOPE_GRID) * _SLOPE_GRID
    limit = np.full(len(jobs), FOREVER) if given.stretches else _limit(given)
    longest = np.minimum(given.left, limit)
    cut = np.where(slowest < longest, np.inf, longest / least)
    weight = least * given.size
    slope_place, slopes = _below(slope, weight)
    cut_place, cuts = _below(cut, weight)
    found, form = np.unique(slope_place * len(cuts) + cut_place, return_inverse=True)
    beyond = np.maximum(cell.time - first, 0.0)
    longer = 1.0 + slopes[found // len(cuts)][:, np.newaxis] * beyond
    longer = np.minimum(longer, cuts[found % len(cuts)][:, np.newaxis])
    rows.add(cell, jobs, longer, form.reshape(-1))
    # A length is rounded up to a microsecond, and the difference of two may lack one.
    rows.allowance_j += float(cell.draws(given.own_w).max()) * float(given.size.sum()) * 1e-6


def _limit(given: Given) -> Whole:
    """Length at which each job is killed where walltimes do not stretch."""
    killed = stretched(given.walltime, given.walltime_pace) + given.grace
    return np.where(given.walltime >= FOREVER, FOREVER, killed)


def _below(values: Floats, weight: Floats) -> tuple[Whole, Floats]:
    """Places of the grid's values at or below these, and the grid."""
    grid = levels_of(values, weight, _MOST_CUTS, last=np.inf)
    return np.searchsorted(grid, values, side="right") - 1, grid

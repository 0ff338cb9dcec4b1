"""Prices of node time, from the dual of a linear program; HiGHS (highspy, MIT) solves it.

Nothing depends on how well it does: the certificate holds for any prices.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.bound.demand import Grid
from hetsched.errors import ConfigError

__all__ = ["node_prices", "require_solver"]

Floats = npt.NDArray[np.float64]

_MOST_ITERATIONS = 400_000
"""Far more than were ever needed; the duals of a stopped dual simplex are prices, too."""

_LOOK_S = 0.1

_ONE_AT_A_TIME = Lock()
"""All solvers of a process share one state: a second that is started beside the first refuses to run."""


def require_solver() -> Any:
    """The solver's module.

    Raises
    ------
    ConfigError
        If it is not installed; says how to get it.
    """
    try:
        import highspy  # noqa: PLC0415 -- slow to load, and only bounds need it
    except ImportError:
        fault = ("bound", "an installation without highspy", "highspy: pip install highspy")
        raise ConfigError([fault]) from None
    return highspy


def node_prices(grid: Grid, window_s: float) -> Floats:
    """What a second of each kind of node is worth if the jobs are spread over the window as cheaply as may be.

    Parameters
    ----------
    grid
        The jobs.
    window_s
        Seconds that each node has to offer.

    Returns
    -------
    numpy.ndarray
        W, >= 0, one a kind of node.

    Raises
    ------
    ConfigError
        If the solver is not installed.
    """
    module = require_solver()
    kinds = len(grid.nodes)
    watts = float(grid.power_w.mean())
    if kinds == 1 or watts == 0:
        return np.zeros(kinds)
    with _ONE_AT_A_TIME:
        return _solved(module, grid, window_s, watts)


def _solved(module: Any, grid: Grid, window_s: float, watts: float) -> Floats:
    kinds = len(grid.nodes)
    solver = module.Highs()
    solver.silent()
    # Presolve and other methods were slower by factors of 2 to 20; one thread, as runs may go side by side.
    settings = {"threads": 1, "solver": "simplex", "presolve": "off", "simplex_iteration_limit": _MOST_ITERATIONS}
    for name, value in settings.items():
        solver.setOptionValue(name, value)
    solver.passModel(_program(module, grid, window_s, watts))
    _run(solver)
    duals = np.array(solver.getSolution().row_dual)[-kinds:]
    if len(duals) < kinds or not np.isfinite(duals).all():
        return np.zeros(kinds)
    return np.asarray(np.maximum(-duals, 0.0) * watts)


def _program(module: Any, grid: Grid, window_s: float, watts: float) -> Any:
    """The transportation problem: windows of nominal work by kind of job and kind of node, in units near 1."""
    work = (grid.runtime_s * grid.sizes).sum(axis=1) / window_s
    # A job is on a node once: on no node is there more of its kind than the sum of the runtimes.
    most = np.outer(grid.runtime_s.sum(axis=1) / window_s, grid.nodes)
    jobs, nodes = grid.busy_ratio.shape
    cells = jobs * nodes
    program = module.HighsLp()
    program.num_col_, program.num_row_ = cells, jobs + nodes
    program.col_cost_ = grid.power_w.ravel() / watts
    program.col_lower_, program.col_upper_ = np.zeros(cells), most.ravel()
    program.row_lower_ = np.append(work, np.full(nodes, -np.inf))
    program.row_upper_ = np.append(work, grid.nodes.astype(np.float64))
    rows = np.stack(np.broadcast_arrays(np.arange(jobs)[:, np.newaxis], jobs + np.arange(nodes)), axis=-1)
    program.a_matrix_.format_ = module.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.arange(0, 2 * cells + 1, 2, dtype=np.int32)
    program.a_matrix_.index_ = rows.astype(np.int32).ravel()
    program.a_matrix_.value_ = np.stack([np.ones_like(grid.busy_ratio), grid.busy_ratio], axis=-1).ravel()
    return program


def _run(solver: Any) -> None:
    """Solve, and stop at Ctrl-C."""
    solver.HandleUserInterrupt = True
    try:
        solver.startSolve()
        # In short waits: a signal that another thread was given wakes nobody.
        while not solver.wait(_LOOK_S)[0]:
            pass
    except KeyboardInterrupt:
        solver.cancelSolve()
        solver.wait()
        raise

"""Speed of ``hs.assign`` and ``hs.assign_types``, next to other solvers on the same matrices.

    python benches/python/assignment.py [--quick] [--only TEXT] [--limit S]

Each solver works on each matrix in a process of its own, pinned to one core, and says the least CPU time of a few
calls; making the matrix is not counted, converting it to what the solver takes is. Costs that differ from scipy's make
the run fail; speed never does. Also a part of ``run.py``.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import measure

__all__ = ["QUICK", "WORKS", "Row", "faults", "measured", "shown"]

Matrix = npt.NDArray[np.float64]

APPS = 6
PEERS = ("scipy", "lapx", "lapjv", "ortools")
_SMALLEST = 200
"""Columns below which it is not asked how far behind scipy a work is: calls cost what the solving does."""

SAME = 1e-9
"""How far costs may be apart, relatively."""


# --- What is solved -------------------------------------------------------------------------------------------------


def watts(rng: np.random.Generator, q: int) -> Matrix:
    """Busy watts of each application on each node: 5 % between nodes, 3 % between applications on a node."""
    of_app = 300.0 * np.linspace(0.8, 1.2, APPS)[:, None]
    return of_app * rng.normal(1.0, 0.05, q) * rng.normal(1.0, 0.03, (APPS, q))


def few_types(rng: np.random.Generator, p: int, q: int) -> Matrix:
    """Jobs of equal length: six rows, each many times."""
    return watts(rng, q)[rng.integers(0, APPS, p)]


def lengths(rng: np.random.Generator, p: int, q: int) -> Matrix:
    """Jobs of six applications, lengths log-normal: joules."""
    return rng.lognormal(math.log(3600.0), 1.5, p)[:, None] * few_types(rng, p, q)


def plane(rng: np.random.Generator, p: int, q: int) -> Matrix:
    """Distances between random points in the unit square."""
    return np.linalg.norm(rng.random((p, 1, 2)) - rng.random((1, q, 2)), axis=-1)


def one_cheap(rng: np.random.Generator, p: int, q: int) -> Matrix:
    """Everybody wants one column."""
    return rng.random((p, q)) - 5.0 * (np.arange(q) == q // 2)


KINDS: dict[str, Callable[[np.random.Generator, int, int], Matrix]] = {
    "uniform": lambda rng, p, q: rng.random((p, q)),
    "6 types": few_types,
    "lengths": lengths,
    "whole 0..999": lambda rng, p, q: rng.integers(0, 1000, (p, q)).astype(np.float64),
    "all equal": lambda _, p, q: np.full((p, q), 3.0),
    "one cheap": one_cheap,
    "plane": plane,
}


@dataclass(frozen=True)
class Work:
    """A matrix of a kind and a size.

    Parameters
    ----------
    kind
        One of `KINDS`.
    rows, columns
        Its size.
    reach_ms, types_reach_ms
        What `assign`, and `assign_types`, should reach.
    peers
        Who solves it, too.
    """

    kind: str
    rows: int
    columns: int
    reach_ms: float | None = None
    types_reach_ms: float | None = None
    peers: tuple[str, ...] = PEERS

    @property
    def name(self) -> str:
        """Such as ``uniform 200x2000``."""
        return f"{self.kind} {self.rows}x{self.columns}"

    def matrix(self) -> Matrix:
        """The costs."""
        return KINDS[self.kind](np.random.Generator(np.random.PCG64(1)), self.rows, self.columns)


_SIZES = ((200, 200), (200, 2000), (2000, 2000))
_REACHES: dict[tuple[str, int, int], tuple[float | None, float | None]] = {
    ("uniform", 200, 2000): (5.0, None),
    ("uniform", 2000, 2000): (250.0, None),
    ("6 types", 2000, 2000): (15.0, 5.0),
    ("lengths", 2000, 2000): (300.0, None),
}

WORKS = [
    *(Work(kind, *size, *_REACHES.get((kind, *size), (None, None))) for kind in KINDS for size in _SIZES),
    # Scipy takes two minutes for this one.
    Work("6 types", 5000, 5000, 80.0, 15.0, peers=()),
    *(Work("uniform", *size) for size in ((1, 2000), (1000, 2000))),
]

QUICK = [Work(kind, *size, peers=("scipy",)) for kind in KINDS for size in ((60, 60), (40, 150))]


# --- Who solves it: runs in a process of its own ------------------------------------------------------------------


def solver(name: str, cost: Matrix) -> Callable[[], float]:
    """A call that solves the problem and says the cost."""
    if name == "scipy":
        scipy = importlib.import_module("scipy.optimize").linear_sum_assignment
        return lambda: float(cost[scipy(cost)].sum())
    if name == "lapx":
        lap = importlib.import_module("lap").lapjv
        return lambda: float(lap(cost, extend_cost=cost.shape[0] != cost.shape[1])[0])
    if name == "lapjv":
        lapjv = importlib.import_module("lapjv").lapjv
        return lambda: float(cost[np.arange(len(cost)), lapjv(cost)[0]].sum())
    if name == "ortools":
        return ortools(cost)
    found = importlib.import_module("hetsched.assignment")
    if name == "assign":
        return lambda: float(found.assign(cost).cost)
    types, counts = np.unique(cost, axis=0, return_counts=True)
    return lambda: float(found.assign_types(types, counts).cost)


def ortools(cost: Matrix) -> Callable[[], float]:
    """It takes whole numbers only: costs are rounded to a millionth of their range."""
    graph = importlib.import_module("ortools.graph.python.linear_sum_assignment")
    unit = max(float(np.ptp(cost)) / 1e6, 1e-300)
    rows, columns = (place.ravel() for place in np.indices(cost.shape))

    def solve() -> float:
        problem = graph.SimpleLinearSumAssignment()
        problem.add_arcs_with_cost(rows, columns, np.rint((cost.ravel() - cost.min()) / unit).astype(np.int64))
        problem.solve()
        mates = [problem.right_mate(row) for row in range(len(cost))]
        return float(cost[np.arange(len(cost)), mates].sum())

    return solve


def timed(task: dict[str, Any]) -> dict[str, float]:
    """The least CPU time of a few calls, and the cost found."""
    cost = Work(task["kind"], task["rows"], task["columns"]).matrix()
    solve = solver(task["solver"], cost)
    times: list[float] = []
    found = 0.0
    while not times or (len(times) < task["repeat"] and sum(times) < 2.0):
        start = time.process_time()
        found = solve()
        times.append(time.process_time() - start)
    return {"ms": 1e3 * min(times), "cost": found}


# --- The comparison -------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """Outcome of a work."""

    work: Work
    runs: dict[str, dict[str, float] | measure.RunError] = field(default_factory=dict)

    def ms(self, name: str) -> float | None:
        """Time that a solver took."""
        run = self.runs.get(name)
        return run["ms"] if isinstance(run, dict) else None

    def ratio(self, names: tuple[str, ...]) -> float | None:
        """Time of the fastest of some others over that of `assign`."""
        ours, others = self.ms("assign"), [ms for name in names if (ms := self.ms(name)) is not None]
        return min(others) / ours if ours and others else None

    def missed(self) -> list[str]:
        """Goals that are missed."""
        reaches = {"assign": self.work.reach_ms, "assign_types": self.work.types_reach_ms}
        found = [
            f"{name}: {taken:.1f} ms, to be {reach:g}"
            for name, reach in reaches.items()
            if reach is not None and (taken := self.ms(name)) is not None and taken > reach
        ]
        behind = self.ratio(("scipy",))
        return found + (
            []
            if behind is None or behind >= 1 / 1.2 or self.work.columns < _SMALLEST
            else [f"{1 / behind:.1f} x scipy's time, to be 1.2"]
        )

    def to_dict(self) -> dict[str, Any]:
        """Row of ``--json``."""
        runs = {name: run if isinstance(run, dict) else {"failed": str(run)} for name, run in self.runs.items()}
        return {"work": self.work.name, "runs": runs, "missed": self.missed()}


def measured(
    works: list[Work], pythons: dict[str, str | measure.RunError], *, limit_s: float, tell: Callable[[str], object]
) -> list[Row]:
    """Has every solver do every work that it can."""
    found = []
    for work in works:
        row = Row(work)
        square = work.rows == work.columns
        peers = [name for name in work.peers if square or name not in ("lapjv", "ortools")]
        for name in ("assign", *(["assign_types"] if work.kind == "6 types" else []), *peers):
            tell(f"{work.name}: {name}")
            row.runs[name] = _tried(name, work, pythons.get(name, sys.executable), limit_s)
        found.append(row)
    return found


def _tried(
    name: str, work: Work, python: str | measure.RunError, limit_s: float
) -> dict[str, float] | measure.RunError:
    if isinstance(python, measure.RunError):
        return python
    task = {"solver": name, "kind": work.kind, "rows": work.rows, "columns": work.columns, "repeat": 5}
    try:
        return measure.run("assignment.py", task, python=python, limit_s=limit_s)
    except measure.RunError as failure:
        return failure


def pythons(*, quick: bool) -> dict[str, str | measure.RunError]:
    """The interpreter of each peer, or why there is none."""
    peer_venv = importlib.import_module("peer_venv")
    if quick:
        return {}
    try:
        python = peer_venv.solvers_python()
    except measure.RunError as failure:
        return dict.fromkeys(PEERS, failure)
    return dict.fromkeys(PEERS, python)


def faults(rows: list[Row]) -> list[str]:
    """Costs that differ from scipy's, and runs of our own that failed."""
    found = []
    for row in rows:
        twin = row.runs.get("scipy")
        for name in ("assign", "assign_types"):
            run = row.runs.get(name)
            if isinstance(run, measure.RunError):
                found.append(f"{row.work.name}: {name}: {run}")
            elif run and isinstance(twin, dict) and not math.isclose(run["cost"], twin["cost"], rel_tol=SAME):
                found.append(f"{row.work.name}: {name} costs {run['cost']!r}, scipy {twin['cost']!r}")
    return found


def shown(rows: list[Row]) -> Any:
    """The table, and below it what was missed and who did not run."""
    from rich import box  # noqa: PLC0415 - an interpreter that only has a peer has none
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    peers = [name for name in PEERS if any(row.ms(name) is not None for row in rows)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("costs", no_wrap=True)
    for name in ("size", "assign\nms", "_types\nms", *(f"{name}\nms" for name in peers), "scipy\nratio", "best\nratio"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        times = [_number(row.ms(name)) for name in ("assign", "assign_types", *peers)]
        ratios = [_number(row.ratio(("scipy",)), " x"), _number(row.ratio(PEERS), " x")]
        table.add_row(row.work.kind, f"{row.work.rows}x{row.work.columns}", *times, *ratios)
    notes = ["Least CPU ms of a few calls. lapjv and ortools: square only; ortools: costs rounded to whole numbers."]
    for row in rows:
        notes += [f"missed: {row.work.name}: {missed}" for missed in row.missed()]
    failed: dict[str, int] = {}
    for row in rows:
        for name, run in row.runs.items():
            if isinstance(run, measure.RunError):
                failed[f"{name} did not run: {run}"] = failed.get(f"{name} did not run: {run}", 0) + 1
    notes += [f"{reason} ({count} works)" for reason, count in failed.items()]
    return Group(table, *(Text(note) for note in notes), *(Text(fault, "bold red") for fault in faults(rows)))


def _number(value: float | None, unit: str = "") -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}{unit}" if value >= 100 else f"{value:.1f}{unit}" if value >= 1 else f"{value:.2f}{unit}"


def main() -> int:
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        measure.pinned()
        measure.answer(timed(measure.task()))
        return 0
    parser = argparse.ArgumentParser(description="Measure the assignment solvers and their peers.")
    parser.add_argument("--quick", action="store_true", help="small matrices, against scipy only, if there is one")
    parser.add_argument("--only", metavar="TEXT", default="", help="only works whose name holds this")
    parser.add_argument("--limit", type=float, default=120, metavar="S", help="how long a solver may take (120 s)")
    chosen = parser.parse_args()
    works = [work for work in (QUICK if chosen.quick else WORKS) if chosen.only in work.name]
    table = importlib.import_module("table")
    rows = measured(works, pythons(quick=chosen.quick), limit_s=chosen.limit, tell=lambda _: None)
    table.console().print(shown(rows))
    return 1 if faults(rows) else 0


if __name__ == "__main__":
    sys.exit(main())

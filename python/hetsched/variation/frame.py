"""Parts of a variation table: names, matrices and a cap, checked, and as a long frame with a row a pair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import (
    Faults,
    and_more,
    did_you_mean,
    few,
    is_name,
    listed,
    more_in_brackets,
    one_line,
    run_text,
    runs_of,
)
from hetsched.errors import ConfigError
from hetsched.params import MAX_NODE_W
from hetsched.tables import misfit

Matrix = npt.NDArray[np.float64]

QUANTITIES = ("power_w", "power_ratio", "time_ratio")
_RANGES = {
    "power_w": (0.0, MAX_NODE_W, f"watts between 0 and {MAX_NODE_W:g}"),
    "power_ratio": (0.0, 1e3, "a factor between 0 and 1000"),
    "time_ratio": (1e-3, 1e3, "a factor between 0.001 and 1000, 1 = nominal"),
}


def checked_apps(apps: Sequence[str], faults: Faults) -> tuple[str, ...]:
    """The names; notes a value that is no list of names, and repeated ones."""
    if isinstance(apps, str) or not isinstance(apps, Iterable):
        faults.add("apps", apps, "a list of names")
        return (str(apps),)
    names = tuple(apps)
    if not names:
        faults.add("apps", "none", "at least one name")
    for position, name in enumerate(names):
        if not is_name(name):
            faults.add(f"apps[{position}]", name, "a name")
        elif name in names[:position]:
            faults.add(f"apps[{position}]", name, "each name once")
    return names


def checked_matrix(name: str, values: npt.ArrayLike, apps: tuple[str, ...], faults: Faults) -> Matrix:
    """The values as a read-only matrix; notes another shape, or the first invalid value."""
    found = faults.array(name, values, "numbers, one row an application and one column a node")
    if found is None:
        return np.empty((0, 0))
    matrix = np.array(found, dtype=np.float64, order="C")
    if matrix.ndim != 2 or matrix.shape[0] != len(apps) or matrix.shape[1] == 0:
        faults.add(name, f"shape {matrix.shape}", f"shape ({len(apps)}, nodes): one row an application")
        return matrix
    low, high, expected = _RANGES[name]
    bad = np.argwhere(~((matrix >= low) & (matrix <= high)))
    if len(bad):
        app, node = bad[0]
        faults.add(
            f"{name}[{apps[app]}, node {node}]", float(matrix[app, node]), expected + more_in_brackets(len(bad) - 1)
        )
    matrix.flags.writeable = False
    return matrix


def checked_cap(cap_w: object, faults: Faults) -> float | None:
    """The cap as a number; notes an invalid one. Infinite watts are a cap that never binds."""
    if cap_w is None:
        return None
    if isinstance(cap_w, int | float | np.number) and not isinstance(cap_w, bool):
        watts = float(cap_w)
        if watts > 0 and not math.isnan(watts):
            return watts
    faults.add("cap_w", cap_w, "watts above 0, or infinite: without a cap")
    return None


def check_caps(actual_w: float | None, predicted_w: float | None, faults: Faults) -> None:
    """Note a fault where predicted and actual table belong to different power caps."""
    if actual_w is not None and predicted_w is not None and actual_w != predicted_w:
        faults.add("predicted", f"a cap of {predicted_w:g} W", f"the cap of the actual table, {actual_w:g} W")


_ALL_NODES = "nodes 0..N-1, each with every application"
_MOST_APPS = 10
_MOST_NODES = 2**31
"""No table is as large; numbers of nodes times numbers of applications stay far below what 64 bits hold."""


def by_cap(frame: pl.DataFrame, source: str) -> dict[float, pl.DataFrame]:
    """The rows of each cap, without the column; ascending caps."""
    faults = Faults(source)
    if "cap_w" not in frame.columns:
        faults.add("cap_w", f"columns {listed(frame.columns)}", "a column `cap_w`")
    elif not frame["cap_w"].dtype.is_numeric():
        row, found = misfit(frame["cap_w"])
        faults.add("cap_w", found, "watts above 0, or infinite: without a cap", row=row)
    faults.check()
    caps = frame["cap_w"].cast(pl.Float64)
    wrong = (caps.is_null() | caps.is_nan() | ~(caps > 0).fill_null(value=False)).arg_true()
    if len(wrong):
        faults.add("cap_w", caps[wrong[0]], "watts above 0, or infinite: without a cap", row=wrong[0])
    faults.check()
    return {cap: frame.filter(caps == cap).drop("cap_w") for cap in caps.unique().sort()}


def at_cap(frame: pl.DataFrame, cap_w: float | None, source: str) -> tuple[pl.DataFrame, float | None]:
    """The rows of one cap, and which it is."""
    if "cap_w" not in frame.columns and cap_w is None:
        return frame, None
    frames = by_cap(frame, source)
    chosen = next(iter(frames)) if cap_w is None and len(frames) == 1 else cap_w
    if frames and chosen not in frames:
        found = f"{len(frames)} caps and none asked for" if chosen is None else chosen
        faults = Faults(source)
        faults.add("cap_w", found, f"one of {listed(f'{cap:g}' for cap in frames)}")
        faults.check()
    return (frame.drop("cap_w"), None) if chosen is None else (frames[chosen], chosen)


def frame_from_matrices(
    apps: tuple[str, ...], matrices: Mapping[str, npt.NDArray[np.float64]], cap_w: float | None
) -> pl.DataFrame:
    """One row an application and node, application after application; a column of the cap if there is one."""
    nodes = next(iter(matrices.values())).shape[1]
    frame = pl.DataFrame(
        {
            "app": pl.Series(apps, dtype=pl.String).gather(np.repeat(np.arange(len(apps)), nodes)),
            "node": np.tile(np.arange(nodes, dtype=np.int32), len(apps)),
            **{name: matrix.ravel() for name, matrix in matrices.items()},
        }
    )
    return frame if cap_w is None else frame.with_columns(cap_w=pl.lit(cap_w, dtype=pl.Float64))


def matrices_from_frame(frame: pl.DataFrame, source: str) -> tuple[list[str], dict[str, npt.NDArray[np.float64]]]:
    """Applications in the order of their first rows, and a matrix a quantity."""
    _check_columns(frame, source)
    apps = frame["app"].unique(maintain_order=True)
    codes = frame["app"].cast(pl.Enum(apps)).to_physical().cast(pl.Int64).to_numpy()
    node = frame["node"].cast(pl.Int64).to_numpy()
    nodes = int(node.max()) + 1
    cells = codes * nodes + node
    _check_pairs(cells, apps, nodes, source)
    matrices = {}
    for name in QUANTITIES:
        if name in frame.columns:
            matrix = np.empty(len(apps) * nodes)
            matrix[cells] = frame[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
            matrices[name] = matrix.reshape(len(apps), nodes)
    return apps.to_list(), matrices


def _check_columns(frame: pl.DataFrame, source: str) -> None:
    faults = Faults(source)
    allowed = ("app", "node", *QUANTITIES, "cap_w")
    for name in frame.columns:
        if name not in allowed:
            faults.add(one_line(name, limit=60), "a column", f"one of {listed(allowed)}{did_you_mean(name, allowed)}")
    for name in ("app", "node"):
        if name not in frame.columns:
            faults.add(name, f"columns {listed(frame.columns)}", f"a column `{name}`")
    if not {"power_w", "power_ratio"} & set(frame.columns):
        faults.add("power_w", f"columns {listed(frame.columns)}", "a column `power_w` or `power_ratio`")
    for name in frame.columns:
        dtype = frame[name].dtype
        fits = {"app": dtype == pl.String, "node": dtype.is_integer()}.get(name, dtype.is_numeric())
        if name in allowed and not fits:
            kind = {"app": "text", "node": "whole numbers from 0"}.get(name, "numbers")
            row, found = misfit(frame[name])
            faults.add(name, found, kind, row=row)
        elif name in ("app", "node") and frame[name].null_count():
            faults.add(name, "nulls", "a value in every row")
    if not len(frame):
        faults.add("rows", "none", "one row an application and node")
    elif not faults.found and frame["node"].min() < 0:  # type: ignore[operator]
        faults.add("node", frame["node"].min(), "whole numbers from 0")
    elif not faults.found and frame["node"].max() >= _MOST_NODES:  # type: ignore[operator]
        faults.add("node", frame["node"].max(), _ALL_NODES)
    faults.check()


def _check_pairs(cells: npt.NDArray[np.int64], apps: pl.Series, nodes: int, source: str) -> None:
    """Each application with each node, once; `cells` are application * nodes + node."""
    size = len(apps) * nodes
    # A stray node number would ask for a matrix that no memory holds.
    if size > 100 * len(cells) + 1000:
        raise ConfigError([(f"{source}.node", f"`{nodes - 1}`", _ALL_NODES)])
    counts = np.bincount(cells, minlength=size).reshape(len(apps), nodes)
    expected = f"every application with each of nodes 0..{nodes - 1}"
    faults = Faults()
    for is_wrong, found in ((counts == 0, "no row"), (counts > 1, "more than one row")):
        for line in missing_pairs(is_wrong, apps.to_list(), found):
            faults.note(source, line, expected)
    faults.check()


def node_ranges(nodes: npt.ArrayLike, *, most: int = 8) -> str:
    """Node numbers as a message lists them: in order, neighbours as a range."""
    numbers = np.unique(np.asarray(nodes, dtype=np.int64))
    runs = runs_of(numbers.tolist())
    rest = sum(last - first + 1 for first, last in runs[most:])
    shown = ", ".join(run_text(*run) for run in runs[:most])
    return f"node{'s' if len(numbers) > 1 else ''} {shown}{and_more(rest)}"


def missing_pairs(is_wrong: npt.NDArray[np.bool_], apps: Sequence[str], found: str) -> list[str]:
    """A line for each application with wrong pairs; of many, the first ten and how many more there are."""
    rows = np.flatnonzero(is_wrong.any(axis=1))
    lines = [
        f"{found} for application {apps[row]} on {node_ranges(np.flatnonzero(is_wrong[row]))}" for row in rows.tolist()
    ]
    if len(lines) > _MOST_APPS:
        lines[_MOST_APPS:] = [f"{found} on some nodes for {len(lines) - _MOST_APPS:,} more applications"]
    return lines


def too_few_nodes(apps: Sequence[str], *, held: int, wanted: int) -> str:
    """Words for a table with another number of nodes: what was expected, and which nodes are missing."""
    expected = f"a table of {wanted} nodes, as the platform has"
    if held >= wanted:
        return expected
    # In words, as the nodes may be a thousand million.
    lack = f"nodes {held}-{wanted - 1} have" if wanted - held > 1 else f"node {held} has"
    return f"{expected}; {lack} no row for any application ({few(apps)})"

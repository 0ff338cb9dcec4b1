"""A variation table as a long frame: one row an application and node, and back to matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.config import Faults, did_you_mean, listed, reason_of
from hetsched.errors import ConfigError
from hetsched.unreadable import UNREADABLE

__all__ = ["frame_from_matrices", "matrices_from_frame", "read_frame"]

_QUANTITIES = ("power_w", "power_ratio", "time_ratio")


def read_frame(path: str, read: Callable[[bytes], pl.DataFrame], expected: str) -> pl.DataFrame:
    """A table's file as a frame.

    Parameters
    ----------
    path
        The file.
    read
        From its bytes to a frame.
    expected
        What the file should be, for messages.

    Raises
    ------
    ConfigError
        If there is no such file, or it holds something else.
    """
    try:
        with open(path, "rb") as file:
            return read(file.read())
    except UNREADABLE as error:
        found = reason_of(error)
    raise ConfigError([(path, found, f"{expected} of app, node, power_w or power_ratio, and time_ratio if it varies")])


def frame_from_matrices(apps: tuple[str, ...], matrices: Mapping[str, npt.NDArray[np.float64]]) -> pl.DataFrame:
    """One row an application and node, application after application."""
    nodes = next(iter(matrices.values())).shape[1]
    return pl.DataFrame(
        {
            "app": pl.Series(apps, dtype=pl.String).gather(np.repeat(np.arange(len(apps)), nodes)),
            "node": np.tile(np.arange(nodes, dtype=np.int32), len(apps)),
            **{name: matrix.ravel() for name, matrix in matrices.items()},
        }
    )


def matrices_from_frame(frame: pl.DataFrame, source: str) -> tuple[list[str], dict[str, npt.NDArray[np.float64]]]:
    """Applications in the order of their first rows, and a matrix a quantity.

    Parameters
    ----------
    frame
        ``app``, ``node`` and quantities; rows in any order.
    source
        Name to use in messages.

    Raises
    ------
    ConfigError
        If a column is missing or unknown or of a wrong type, or a pair of application and node is missing or repeated.
    """
    _check_columns(frame, source)
    apps = frame["app"].unique(maintain_order=True)
    codes = frame["app"].cast(pl.Enum(apps)).to_physical().cast(pl.Int64).to_numpy()
    node = frame["node"].cast(pl.Int64).to_numpy()
    nodes = int(node.max()) + 1
    cells = codes * nodes + node
    _check_pairs(cells, apps, nodes, source)
    matrices = {}
    for name in _QUANTITIES:
        if name in frame.columns:
            matrix = np.empty(len(apps) * nodes)
            matrix[cells] = frame[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
            matrices[name] = matrix.reshape(len(apps), nodes)
    return apps.to_list(), matrices


def _check_columns(frame: pl.DataFrame, source: str) -> None:
    faults = Faults(source)
    allowed = ("app", "node", *_QUANTITIES)
    for name in frame.columns:
        if name not in allowed:
            faults.add(name, "a column", f"one of {listed(allowed)}{did_you_mean(name, allowed)}")
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
            faults.add(*_misfit(frame[name]), kind)
        elif name in ("app", "node") and frame[name].null_count():
            faults.add(name, "nulls", "a value in every row")
    if not len(frame):
        faults.add("rows", "none", "one row an application and node")
    elif not faults.found and frame["node"].min() < 0:  # type: ignore[operator]
        faults.add("node", frame["node"].min(), "whole numbers from 0")
    faults.check()


def _misfit(values: pl.Series) -> tuple[str, str]:
    """Where the first value that is no number stands, and that value; the column and its type if none is."""
    if values.dtype == pl.String:
        numbers = values.cast(pl.Float64, strict=False)
        rows = ((numbers.is_null() | numbers.is_nan()) & values.is_not_null()).arg_true()
        if len(rows):
            return f"{values.name}, row {rows[0]}", values[rows[0]]
    return values.name, f"values of type {values.dtype}"


def _check_pairs(cells: npt.NDArray[np.int64], apps: pl.Series, nodes: int, source: str) -> None:
    """Each application with each node, once; `cells` are application * nodes + node."""
    size = len(apps) * nodes
    # A stray node number would ask for a matrix that no memory holds.
    if size > 100 * len(cells) + 1000:
        raise ConfigError([(f"{source}.node", f"`{nodes - 1}`", "nodes 0..N-1, each with every application")])
    counts = np.bincount(cells, minlength=size)
    faults = Faults()
    for wrong, found in ((counts == 0, "no row"), (counts > 1, "more than one row")):
        places = np.flatnonzero(wrong)
        if len(places):
            app, node = apps[int(places[0]) // nodes], int(places[0]) % nodes
            more = f" (and {len(places) - 1:,} more)" if len(places) > 1 else ""
            expected = f"every application with each of nodes 0..{nodes - 1}"
            faults.found.append((source, f"{found} for application {app} on node {node}{more}", expected))
    faults.check()

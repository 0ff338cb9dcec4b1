"""A variation table as a long frame: one row an application and node, and back to matrices; one cap out of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, did_you_mean, listed, one_line, reason_of
from hetsched.errors import ConfigError
from hetsched.files import UNREADABLE
from hetsched.forks import check_threads
from hetsched.text import missing_pairs
from hetsched.variation.checks import QUANTITIES
from hetsched.variation.csv_rows import CsvTextError

__all__ = ["at_cap", "by_cap", "frame_from_matrices", "matrices_from_frame", "misfit", "read_frame"]


_ALL_NODES = "nodes 0..N-1, each with every application"
_MOST_NODES = 2**31
"""No table is as large; numbers of nodes times numbers of applications stay far below what 64 bits hold."""


def read_frame(path: str, read: Callable[[bytes], pl.DataFrame], expected: str) -> pl.DataFrame:
    """A file of rows as a frame.

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
    check_threads()
    where = path
    try:
        with open(path, "rb") as file:
            return read(file.read())
    except CsvTextError as fault:
        found, expected = one_line(fault.found, limit=100), fault.expected
        where = path if fault.line is None else f"{path}, line {fault.line}"
    except UNREADABLE as error:
        found = reason_of(error).removeprefix("found ")
    raise ConfigError([(one_line(where), found, expected)])


def by_cap(frame: pl.DataFrame, source: str) -> dict[float, pl.DataFrame]:
    """The rows of each cap, without the column; ascending caps.

    Parameters
    ----------
    frame
        With a column ``cap_w``.
    source
        Name to use in messages.

    Raises
    ------
    ConfigError
        If the column is missing, or a value in it is no cap.
    """
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
    """The rows of one cap, and which it is.

    Parameters
    ----------
    frame
        With or without a column ``cap_w``.
    cap_w
        The cap to take. None: the only one there is, if any.
    source
        Name to use in messages.

    Raises
    ------
    ConfigError
        If there is no such cap, or there are several and none was asked for; lists them.
    """
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


def misfit(values: pl.Series) -> tuple[int | None, str]:
    """The row of the first word in a column of numbers, and the word; no row and the column's type if there is none.

    Examples
    --------
    >>> misfit(pl.Series("power_w", ["300", "3OO"])), misfit(pl.Series("power_w", [True]))
    ((1, '3OO'), (None, 'values of type Boolean'))
    """
    if values.dtype == pl.String:
        numbers = values.cast(pl.Float64, strict=False)
        rows = ((numbers.is_null() | numbers.is_nan()) & values.is_not_null()).arg_true()
        if len(rows):
            return rows[0], values[rows[0]]
    return None, f"values of type {values.dtype}"


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

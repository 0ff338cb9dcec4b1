"""`VariationTable`: how much each node draws, and how fast it is, under each application."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched import _core
from hetsched.config import Faults, listed
from hetsched.digest import frame_sha256
from hetsched.platform.variation_frame import frame_from_matrices, matrices_from_frame, read_frame

__all__ = ["VariationTable"]

Matrix = npt.NDArray[np.float64]

_QUANTITIES = ("power_w", "power_ratio", "time_ratio")
_RANGES = {
    "power_w": (0.0, 1e6, "watts between 0 and 1e+06"),
    "power_ratio": (0.0, 1e3, "a factor between 0 and 1000"),
    "time_ratio": (1e-3, 1e3, "a factor between 0.001 and 1000, 1 = nominal"),
}


class VariationTable:
    """Busy watts (or factors on the nominal draw) and time factors by application and node.

    Parameters
    ----------
    apps
        Names of applications; ``"*"`` serves every named application without a row of its own.
    power_w
        Busy watts, shape (n_apps, n_nodes).
    power_ratio
        In place of `power_w`: factors on the job's nominal draw, same shape.
    time_ratio
        Factors on the nominal runtime, same shape; 1 = nominal. None: 1 everywhere.
    path
        The file it was read from, if any.

    Raises
    ------
    ConfigError
        With every fault: another shape, NaN, a negative draw, a repeated application. Names application and node.

    Examples
    --------
    >>> table = VariationTable(["hpcg", "stream"], power_w=[[200.0, 220.0], [180.0, 170.0]])
    >>> table.nodes, table.to_polars().rows()[:2]
    (2, [('hpcg', 0, 200.0), ('hpcg', 1, 220.0)])
    >>> VariationTable(["hpcg"], power_w=[[200.0, float("nan")]])
    Traceback (most recent call last):
    hetsched.errors.ConfigError: power_w[hpcg, node 1]: found `NaN`, expected watts between 0 and 1e+06
    """

    def __init__(
        self,
        apps: Sequence[str],
        power_w: npt.ArrayLike | None = None,
        *,
        power_ratio: npt.ArrayLike | None = None,
        time_ratio: npt.ArrayLike | None = None,
        path: str | None = None,
    ) -> None:
        faults = Faults()
        self._apps = _checked_apps(apps, faults)
        if (power_w is None) == (power_ratio is None):
            given = "neither" if power_w is None else "both"
            faults.add("power_w, power_ratio", given, "exactly one of the two (power_ratio of ones: time varies alone)")
        given_matrices = {"power_w": power_w, "power_ratio": power_ratio, "time_ratio": time_ratio}
        self._matrices = {
            name: _checked_matrix(name, values, self._apps, faults)
            for name, values in given_matrices.items()
            if values is not None
        }
        shapes = {name: matrix.shape for name, matrix in self._matrices.items()}
        if not faults.found and len(set(shapes.values())) > 1:
            faults.add(
                "time_ratio", f"shape {shapes['time_ratio']}", f"the shape of the powers, {next(iter(shapes.values()))}"
            )
        faults.check()
        self.path = path

    @property
    def apps(self) -> tuple[str, ...]:
        """Names of applications, a row each."""
        return self._apps

    @property
    def nodes(self) -> int:
        """How many nodes the table holds."""
        return int(next(iter(self._matrices.values())).shape[1])

    @property
    def power_w(self) -> Matrix | None:
        """Busy watts, shape (n_apps, n_nodes); None in a table of factors."""
        return self._matrices.get("power_w")

    @property
    def power_ratio(self) -> Matrix | None:
        """Factors on the job's nominal draw, shape (n_apps, n_nodes); None in a table of watts."""
        return self._matrices.get("power_ratio")

    @property
    def time_ratio(self) -> Matrix | None:
        """Factors on the nominal runtime, shape (n_apps, n_nodes); None = 1 everywhere."""
        return self._matrices.get("time_ratio")

    @classmethod
    def from_polars(cls, frame: pl.DataFrame, *, source: str = "table", path: str | None = None) -> VariationTable:
        """A table from one row an application and node.

        Parameters
        ----------
        frame
            ``app`` (text), ``node`` (0..N-1), ``power_w`` or ``power_ratio``, and optionally ``time_ratio``; every
            application with every node, in any order.
        source
            Name to use in messages.
        path
            The file it was read from, if any.

        Raises
        ------
        ConfigError
            With every fault: a missing column, a missing or repeated pair of application and node, NaN.

        Examples
        --------
        >>> frame = pl.DataFrame({"app": ["a", "a", "b"], "node": [0, 1, 1], "power_w": [200.0, 210.0, 190.0]})
        >>> VariationTable.from_polars(frame)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        hetsched.errors.ConfigError: table: found no row for application b on node 0, expected ...
        """
        apps, matrices = matrices_from_frame(frame, source)
        return cls(apps, path=path, **matrices)

    def to_polars(self) -> pl.DataFrame:
        """One row an application and node: ``app, node, power_w | power_ratio``, and ``time_ratio`` if there is one."""
        return frame_from_matrices(self._apps, self._matrices)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> VariationTable:
        """A table from a file; ``.parquet`` or ``.csv``, told by its name.

        Parameters
        ----------
        path
            The file, with the columns of `from_polars`.

        Raises
        ------
        ConfigError
            If it cannot be read, or as in `from_polars`.
        """
        is_csv = Path(path).name.lower().endswith((".csv", ".csv.gz", ".csv.zst"))
        return cls.read_csv(path) if is_csv else cls.read_parquet(path)

    @classmethod
    def read_parquet(cls, path: str | os.PathLike[str]) -> VariationTable:
        """A table from a Parquet file with the columns of `from_polars`; raises as `read`."""
        name = os.fspath(path)
        return cls.from_polars(read_frame(name, pl.read_parquet, "a Parquet file"), source=name, path=name)

    @classmethod
    def read_csv(cls, path: str | os.PathLike[str]) -> VariationTable:
        """A table from a CSV file with the columns of `from_polars`; raises as `read`."""
        name = os.fspath(path)
        return cls.from_polars(read_frame(name, _read_csv, "a CSV file"), source=name, path=name)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write `to_polars` to a file, for `read_parquet`."""
        self.to_polars().write_parquet(os.fspath(path))

    def to_dict(self) -> dict[str, Any]:
        """The table as plain lists, for `from_dict`."""
        return {"apps": list(self._apps), **{name: matrix.tolist() for name, matrix in self._matrices.items()}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, path: str = "table") -> VariationTable:
        """A table from plain lists, as `to_dict` gives them.

        Parameters
        ----------
        data
            ``apps`` and the matrices.
        path
            Where it stands in its file, for messages.

        Raises
        ------
        ConfigError
            If a key is unknown or missing, or as in `VariationTable`.

        Examples
        --------
        >>> table = VariationTable(["hpcg"], power_ratio=[[1.0, 1.1]])
        >>> VariationTable.from_dict(table.to_dict()) == table
        True
        """
        faults = Faults(path)
        faults.unknown_keys(data, ("apps", *_QUANTITIES))
        if "apps" not in data:
            faults.add("apps", "nothing", "the names of the applications")
        faults.check()
        return cls(data["apps"], **{name: data[name] for name in _QUANTITIES if name in data})

    def in_order_of(self, other: VariationTable, faults: Faults) -> VariationTable:
        """The same table with its applications in the order of another's.

        Parameters
        ----------
        other
            The table to follow.
        faults
            Notes where the two hold different applications or numbers of nodes.
        """
        missing = [app for app in other.apps if app not in self._apps]
        extra = [app for app in self._apps if app not in other.apps]
        for names, what in ((missing, "no application"), (extra, "application")):
            if names:
                faults.add("predicted", f"{what} {listed(names)}", f"the actual table's: {listed(other.apps)}")
        if self.nodes != other.nodes:
            faults.add("predicted", f"{self.nodes} nodes", f"{other.nodes} nodes, as the actual table has")
        if missing or extra or self._apps == other.apps:
            return self
        rows = [self._apps.index(app) for app in other.apps]
        return VariationTable(other.apps, path=self.path, **{name: m[rows] for name, m in self._matrices.items()})

    @cached_property
    def core(self) -> _core.PowerTable:
        """The table as the engine holds it; converted once."""
        name = "table" if self.path is None else os.path.basename(self.path)
        return _core.PowerTable(apps=list(self._apps), name=name, **self._matrices)

    @cached_property
    def sha256(self) -> str:
        """Sha256 over applications and values; the file's path plays no part."""
        return frame_sha256(self.to_polars())

    def __eq__(self, other: object) -> bool:
        return self.sha256 == other.sha256 if isinstance(other, VariationTable) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"<VariationTable: {len(self._apps)} applications, {self.nodes:,} nodes, {', '.join(self._matrices)}>"


def _checked_apps(apps: Sequence[str], faults: Faults) -> tuple[str, ...]:
    if isinstance(apps, str):
        faults.add("apps", apps, "a list of names")
        return (apps,)
    names = tuple(apps)
    if not names:
        faults.add("apps", "none", "at least one name")
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name:
            faults.add(f"apps[{position}]", name, "a name")
        elif name in names[:position]:
            faults.add(f"apps[{position}]", name, "each name once")
    return names


def _checked_matrix(name: str, values: npt.ArrayLike, apps: tuple[str, ...], faults: Faults) -> Matrix:
    """The values as a read-only matrix; notes another shape, or the first value that cannot be."""
    try:
        matrix = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        faults.add(name, values, "numbers, one row an application and one column a node")
        return np.empty((0, 0))
    if matrix.ndim != 2 or matrix.shape[0] != len(apps) or matrix.shape[1] == 0:
        faults.add(name, f"shape {matrix.shape}", f"shape ({len(apps)}, nodes): one row an application")
        return matrix
    low, high, expected = _RANGES[name]
    bad = np.argwhere(~((matrix >= low) & (matrix <= high)))
    if len(bad):
        app, node = bad[0]
        more = f" (and {len(bad) - 1:,} more)" if len(bad) > 1 else ""
        faults.add(f"{name}[{apps[app]}, node {node}]", float(matrix[app, node]), expected + more)
    matrix.flags.writeable = False
    return matrix


def _read_csv(data: bytes) -> pl.DataFrame:
    # Applications of a log in Standard Workload Format are numbers, and words all the same.
    return pl.read_csv(data, schema_overrides={"app": pl.String})

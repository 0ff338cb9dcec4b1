"""`VariationTable`: draw and speed of each node under each application."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy.typing as npt
import polars as pl

from hetsched import _core
from hetsched.checks import Faults, listed, many, shown
from hetsched.errors import ConfigError
from hetsched.files import frame_sha256, write_whole
from hetsched.naming import named_in
from hetsched.notebook import card, table
from hetsched.tables import Table, kind_of, read_csv_table, read_parquet_table, refuse_other_frames, write_table
from hetsched.variation.frame import (
    QUANTITIES,
    Matrix,
    at_cap,
    by_cap,
    checked_apps,
    checked_cap,
    checked_matrix,
    frame_from_matrices,
    matrices_from_frame,
)
from hetsched.variation.under_cap import PowerCap

_COLUMNS = "app, node, power_w or power_ratio, and time_ratio if it varies"


_ROWS_ON_CARDS = 10


@named_in("hetsched")
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
    cap_w
        The power cap of each node that these values belong to, watts; infinite: no cap. None: not said.
    path
        The file it was read from, if any.

    Raises
    ------
    ConfigError
        If a matrix has another shape, holds NaN or a negative draw, or an application is repeated; lists all
        faults, with application and node.

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
        cap_w: float | None = None,
        path: str | None = None,
    ) -> None:
        faults = Faults()
        self._apps = checked_apps(apps, faults)
        self._cap_w = checked_cap(cap_w, faults)
        if (power_w is None) == (power_ratio is None):
            given = "neither" if power_w is None else "both"
            faults.add("power_w, power_ratio", given, "exactly one of the two (power_ratio of ones: time varies alone)")
        given_matrices = {"power_w": power_w, "power_ratio": power_ratio, "time_ratio": time_ratio}
        self._matrices = {
            name: checked_matrix(name, values, self._apps, faults)
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
        """Number of nodes."""
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

    @property
    def cap_w(self) -> float | None:
        """The power cap of each node that the values belong to, watts; None if that was not said."""
        return self._cap_w

    @classmethod
    def from_polars(
        cls, frame: pl.DataFrame, *, cap_w: float | None = None, source: str = "table", path: str | None = None
    ) -> VariationTable:
        """A table from one row an application and node.

        Parameters
        ----------
        frame
            ``app`` (text), ``node`` (0..N-1), ``power_w`` or ``power_ratio``, and optionally ``time_ratio``; every
            application with every node, in any order. With a column ``cap_w``, that for every cap.
        cap_w
            Which cap's rows to take. None: the only one there is, if any.
        source
            Name to use in messages.
        path
            The file it was read from, if any.

        Raises
        ------
        ConfigError
            If a column or the cap is missing, a value is NaN, or an application and node are missing or there twice;
            lists all faults.

        Examples
        --------
        >>> frame = pl.DataFrame({"app": ["a", "a", "b"], "node": [0, 1, 1], "power_w": [200.0, 210.0, 190.0]})
        >>> VariationTable.from_polars(frame)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        hetsched.errors.ConfigError: table: found no row for application b on node 0, expected ...
        """
        refuse_other_frames(frame)
        rows, cap_w = at_cap(frame, cap_w, source)
        apps, matrices = matrices_from_frame(rows, source)
        return cls(apps, cap_w=cap_w, path=path, **matrices)

    @classmethod
    def by_cap(cls, frame: pl.DataFrame, *, source: str = "table") -> dict[float, VariationTable]:
        """A table for each power cap, ascending.

        Parameters
        ----------
        frame
            As for `from_polars`, with a column ``cap_w``.
        source
            Name to use in messages.

        Raises
        ------
        ConfigError
            As `from_polars`.

        Examples
        --------
        >>> table = VariationTable(["hpcg"], power_w=[[200.0, 220.0]])
        >>> capped = [table.under_cap(cap_w, static_ratio=0.3).to_polars() for cap_w in (210.0, 150.0)]
        >>> tables = VariationTable.by_cap(pl.concat(capped))
        >>> list(tables), tables[150.0]
        ([150.0, 210.0], <VariationTable: 1 application, 2 nodes, power_w, time_ratio, cap 150 W>)
        """
        refuse_other_frames(frame)
        return {
            cap_w: cls.from_polars(rows.with_columns(cap_w=pl.lit(cap_w)), source=f"{source}, cap {cap_w:g} W")
            for cap_w, rows in by_cap(frame, source).items()
        }

    def to_polars(self) -> pl.DataFrame:
        """One row an application and node: ``app, node, power_w | power_ratio``, and ``time_ratio, cap_w`` if set."""
        return frame_from_matrices(self._apps, self._matrices, self._cap_w)

    @classmethod
    def read_parquet(cls, path: str | os.PathLike[str], *, cap_w: float | None = None) -> VariationTable:
        """A table from a Parquet file, whatever its name; as `hetsched.read_table`, which reads CSV as well."""
        return cls._of(read_parquet_table(os.fspath(path), f"a Parquet file of {_COLUMNS}"), cap_w)

    @classmethod
    def _of(cls, file: Table, cap_w: float | None) -> VariationTable:
        frame, path = file.frame, file.path
        # A platform that names a file of several caps' tables would not say which one it means.
        has_more = "cap_w" in frame.columns and frame["cap_w"].n_unique() > 1
        return cls.from_polars(frame, cap_w=cap_w, source=path, path=None if has_more else path)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write `to_polars` to a file, for `hetsched.read_table`; every digit is kept.

        Parameters
        ----------
        path
            Ends in ``.parquet`` or ``.csv``; its folder is made if it is not there.

        Raises
        ------
        ConfigError
            If the name ends otherwise.
        OutputError
            If the file cannot be written.
        """
        write_table(self.to_polars(), path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write `to_polars` to a Parquet file, whatever its name; as `write`, which writes CSV as well."""
        write_whole(Path(path), self.to_polars().write_parquet)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain lists, for `from_dict`."""
        cap = {} if self._cap_w is None else {"cap_w": self._cap_w}
        return {"apps": list(self._apps), **{name: matrix.tolist() for name, matrix in self._matrices.items()}, **cap}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, path: str = "table") -> VariationTable:
        """A table from plain lists, as `to_dict` gives them.

        Parameters
        ----------
        data
            ``apps``, the matrices, and ``cap_w`` if set.
        path
            Where it is in its file, for messages.

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
        faults.unknown_keys(data, ("apps", *QUANTITIES, "cap_w"))
        if "apps" not in data:
            faults.add("apps", "nothing", "the names of the applications")
        faults.check()
        return cls(data["apps"], **{name: data[name] for name in (*QUANTITIES, "cap_w") if name in data})

    def _in_order_of(self, other: VariationTable, faults: Faults) -> VariationTable:
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
        matrices = {name: matrix[rows] for name, matrix in self._matrices.items()}
        return VariationTable(other.apps, cap_w=self._cap_w, path=self.path, **matrices)

    def under_cap(
        self,
        cap_w: float,
        *,
        static_w: npt.ArrayLike | None = None,
        static_ratio: float | None = None,
        exponent: float = 1.0,
        bound_ratio: float | Mapping[str, float] = 1.0,
        least_speed_ratio: float = 0.2,
    ) -> VariationTable:
        """The table of the same nodes under a power cap: less draw, longer runs, the hungrier the longer.

        A node that draws more than the cap at nominal speed runs at the highest speed that keeps within it; what it
        draws is then the cap. The model and its sources are in `PowerCap`. A node within the cap stays as it is.

        Parameters
        ----------
        cap_w
            Watts that no node may exceed.
        static_w
            Watts that do not fall with the speed: one number, one a node, or shape (n_apps, n_nodes). Either this or
            `static_ratio` is needed.
        static_ratio
            In place of `static_w`: their share of a node's draw under the application, 0 to 1.
        exponent
            With which power of the speed the other watts fall, at least 1.
        bound_ratio
            Share of the runtime that stretches with the clock, 0 to 1: one number, or one for each application. The
            rest waits for memory, network or disk.
        least_speed_ratio
            The lowest speed the nodes have, as a share of the nominal one.

        Returns
        -------
        VariationTable
            With ``power_w``, ``time_ratio`` and ``cap_w``.

        Raises
        ------
        ConfigError
            If a value is invalid, the table holds no watts or is capped already; if a node draws more than the cap even
            at the lowest speed, with the application, the node and the least cap that works for all.

        Examples
        --------
        >>> table = VariationTable(["hpcg"], power_w=[[240.0, 220.0, 190.0]])
        >>> capped = table.under_cap(200.0, static_w=80.0)
        >>> capped.power_w.tolist(), capped.time_ratio.round(3).tolist()
        ([[200.0, 200.0, 190.0]], [[1.333, 1.167, 1.0]])
        >>> table.under_cap(90.0, static_w=80.0)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        hetsched.errors.ConfigError: cap_w: found `90`, expected at least 112 W: application hpcg on node 0 draws ...
        """
        cap = PowerCap(cap_w, static_w, static_ratio, exponent, bound_ratio, least_speed_ratio)
        power_w, slowdown = cap.applied_to(self._apps, self.power_w, self._cap_w)
        time_ratio = slowdown if self.time_ratio is None else self.time_ratio * slowdown
        return VariationTable(self._apps, power_w=power_w, time_ratio=time_ratio, cap_w=cap_w)

    @cached_property
    def _core_table(self) -> _core.PowerTable:
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

    def __reduce__(self) -> tuple[object, ...]:
        # The engine's copy stays with the process.
        matrices: dict[str, Any] = self._matrices
        return partial(VariationTable, cap_w=self._cap_w, path=self.path, **matrices), (self._apps,)

    def __repr__(self) -> str:
        sizes = f"{many(len(self._apps), 'application')}, {many(self.nodes, 'node')}"
        cap = "" if self._cap_w is None else f", cap {self._cap_w:g} W" if self._cap_w < math.inf else ", no cap"
        return f"<VariationTable: {sizes}, {', '.join(self._matrices)}{cap}>"

    def _repr_html_(self) -> str:
        header, rows = ["application"], [[app] for app in self._apps[:_ROWS_ON_CARDS]]
        for name, values in self._matrices.items():
            header += [f"{name} least", "mean", "most"]
            for row, own in zip(rows, values, strict=False):
                row += [f"{own.min():,.4g}", f"{own.mean():,.4g}", f"{own.max():,.4g}"]
        more = len(self._apps) - len(rows)
        notes = [f"and {many(more, 'more application')}"] if more else []
        return card(repr(self).strip("<>"), None, table(header, rows), notes=notes)


def read_table(path: str | os.PathLike[str], *, cap_w: float | None = None) -> VariationTable:
    """Read a table of nodes' draw and speed from a file; Parquet or CSV, known by its name.

    Parameters
    ----------
    path
        Ends in ``.parquet``, ``.csv``, ``.csv.gz`` or ``.csv.zst``; its columns are those of
        `VariationTable.from_polars`.
    cap_w
        Of a file with a column ``cap_w``: the power cap whose rows to take. None: the only one there is, if any.

    Raises
    ------
    ConfigError
        If it cannot be read, or as in `VariationTable.from_polars`.

    Examples
    --------
    >>> import tempfile
    >>> table = VariationTable(["hpcg"], power_w=[[200.0, 220.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.write(f"{folder}/nodes.csv")
    ...     read_table(f"{folder}/nodes.csv") == table
    True
    """
    if kind_of(path) == "csv":
        # Applications of a log in Standard Workload Format are numbers, and words all the same.
        return VariationTable._of(read_csv_table(os.fspath(path), f"a CSV file of {_COLUMNS}", words=["app"]), cap_w)
    if kind_of(path) == "parquet" or Path(path).is_dir():
        return VariationTable.read_parquet(path, cap_w=cap_w)
    suffix = "".join(Path(path).suffixes[-1:]) or "no suffix"
    raise ConfigError([(os.fspath(path), shown(suffix), "a table whose name ends in .csv or .parquet")])

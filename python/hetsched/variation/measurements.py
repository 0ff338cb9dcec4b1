"""`Measurements`: from one row a run to a variation table, and a report on its gaps.

A reading of watts or seconds is a run's; a node's value is the median of its runs, an application's the median of its
nodes. Nothing is removed but runs that say nothing, and nothing is filled in but by a rule that was asked for; both are
counted.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from hetsched.checks import Faults, did_you_mean, few, listed, many, one_line, shown
from hetsched.errors import ConfigError
from hetsched.naming import named_in
from hetsched.tables import misfit, read_table
from hetsched.typing import Impute
from hetsched.variation.measured_cells import IMPUTE, Cells, medians, node_order, note_nodes, report_text, usable_runs
from hetsched.variation.table import VariationTable

_WITH_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_WAYS_OUT = {
    None: 'or a rule for the rest, such as impute="node-ratio"',
    "node-ratio": 'or at least one of them on each node, or impute="app-median"',
    "app-median": "or at least on one node",
}


@named_in("hetsched")
class Measurements:
    """Measured runs, one row each, as a table of nodes and a report on its gaps.

    Each node and application gets the median of its runs. A node's *ratio* is its median over the application's, which
    is the median of its nodes' medians, however often each ran. Runs without a name of node or application, and runs
    whose watts (or seconds) are missing, not finite or not above 0, are dropped and counted.

    Parameters
    ----------
    runs
        One row a run; columns named by the next four.
    app, node
        Columns of the application's and the node's name. Whole numbers are node numbers, 0 to N-1, and those without
        runs count as missing. Words are names; they become nodes 0 to N-1 in natural order (``n2`` before ``n10``).
    power_w
        Column of a run's mean watts. None: only times were measured, and the table holds factors of 1.
    time_s
        Column of a run's seconds, or of any time that is proportional to them for an application. None: no times.
    nodes
        The nodes' names (or numbers) in the order of the platform. None: as for `node`. Runs of other nodes are
        dropped and counted; listed nodes without runs are missing.
    min_runs
        With fewer usable runs, an application counts as not measured on a node.
    straggler_ratio
        A node whose median is this many times an application's, or one such part of it, is named as a straggler. It
        stays in the table. Above 1.
    impute
        Stand-in for applications that were not measured on a node: ``"node-ratio"``, the node's mean ratio over the
        applications it has, times the application's median; ``"app-median"``, the application's median. None: nothing,
        and such runs make no table.

    Raises
    ------
    ConfigError
        If a column is missing or of a wrong type, `nodes` repeats a name, or no run is usable; lists all faults.

    Examples
    --------
    >>> runs = pl.DataFrame(
    ...     [("hpcg", "n1", 200.0, 60.0), ("hpcg", "n1", 204.0, 62.0), ("hpcg", "n2", 210.0, 59.0),
    ...      ("stream", "n1", 180.0, 30.0), ("stream", "n2", 0.0, 30.0)],
    ...     schema=["app", "node", "power_w", "time_s"], orient="row",
    ... )  # fmt: skip
    >>> measured = Measurements(runs, time_s="time_s")
    >>> measured.nodes, measured.dropped
    (('n1', 'n2'), {'power_w not above 0': 1})
    >>> measured.to_table()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hetsched.errors.ConfigError: runs: found no run of stream on n2, expected every application on each of 2 nodes...
    >>> Measurements(runs, time_s="time_s", impute="node-ratio").to_table()
    <VariationTable: 2 applications, 2 nodes, power_w, time_ratio>
    """

    def __init__(
        self,
        runs: pl.DataFrame,
        *,
        app: str = "app",
        node: str = "node",
        power_w: str | None = "power_w",
        time_s: str | None = None,
        nodes: Sequence[str] | Sequence[int] | None = None,
        min_runs: int = 1,
        straggler_ratio: float = 1.2,
        impute: Impute | None = None,
    ) -> None:
        _check_frame(runs)
        faults = Faults()
        faults.whole("min_runs", min_runs, low=1, high=2**31 - 1)
        _check_straggler_ratio(straggler_ratio, faults)
        if impute not in (None, *IMPUTE):
            faults.add("impute", impute, f"{listed(IMPUTE)}, or nothing")
        note_nodes(nodes, faults)
        columns = {"app": app, "node": node, "power_w": power_w, "time_s": time_s}
        named = _named_columns(columns, faults)
        _check_columns(runs, named, faults)
        faults.check()
        self._impute = impute
        self._straggler_ratio = straggler_ratio
        chosen = runs.select(**{name: pl.col(column) for name, column in named.items()})
        self._nodes = node_order(chosen["node"], nodes)
        usable, self._dropped = usable_runs(chosen, self._nodes)
        apps = chosen["app"].drop_nulls().unique(maintain_order=True).to_list()
        if not len(usable):
            raise ConfigError(
                [("runs", f"{many(len(runs), 'row')} and none usable", f"usable runs ({_reasons(self._dropped)})")]
            )
        self._cells = medians(usable, apps, self._nodes, min_runs)

    @property
    def apps(self) -> tuple[str, ...]:
        """Applications, in the order of their first rows."""
        return tuple(self._cells.apps)

    @property
    def nodes(self) -> tuple[str | int, ...]:
        """The nodes' names: the one at place k is node k of the table."""
        return tuple(self._nodes)

    @property
    def dropped(self) -> dict[str, int]:
        """Number of dropped runs by reason; a run counts once, under the first that applies."""
        return dict(self._dropped)

    @cached_property
    def cells(self) -> pl.DataFrame:
        """One row an application and node.

        ``app, node, name, runs, power_w, power_ratio, time_s, time_ratio, imputed``, without what was not measured.
        Ratios are to the application's median; without a run and without `impute`, values are null.
        """
        return self._filled.to_polars()

    @cached_property
    def missing(self) -> pl.DataFrame:
        """One row an application and node that was not measured: ``app, node, name``."""
        app, node = np.nonzero(self._cells.is_missing)
        return self._pairs(app, node)

    @cached_property
    def stragglers(self) -> pl.DataFrame:
        """One row a straggler and quantity: ``app, node, name, quantity, value, app_median, ratio``, farthest first."""
        frames = []
        for quantity, values in self._cells.values.items():
            ratio = self._cells.ratios[quantity]
            far = (ratio > self._straggler_ratio) | (ratio < 1 / self._straggler_ratio)
            app, node = np.nonzero(far)
            frames.append(
                self._pairs(app, node).with_columns(
                    quantity=pl.lit(quantity),
                    value=pl.Series(values[app, node]),
                    app_median=pl.Series(self._cells.app_medians[quantity][app]),
                    ratio=pl.Series(ratio[app, node]),
                )
            )
        return pl.concat(frames).sort(pl.col("ratio").log().abs(), descending=True, maintain_order=True)

    def to_table(self, *, cap_w: float | None = None) -> VariationTable:
        """The table: watts as measured, times as factors on the application's median.

        Parameters
        ----------
        cap_w
            The power cap that the runs were made under, if any.

        Raises
        ------
        ConfigError
            If an application was not measured on a node, and `impute` names no stand-in; lists all of them.
        """
        filled = self._filled
        self._check_complete(filled)
        time_ratio = filled.ratios.get("time_s")
        power_w = filled.values.get("power_w")
        power_ratio = np.ones(filled.runs.shape) if power_w is None else None
        return VariationTable(filled.apps, power_w, power_ratio=power_ratio, time_ratio=time_ratio, cap_w=cap_w)

    def __str__(self) -> str:
        return report_text(
            self._cells,
            dropped=self._dropped,
            stragglers=self.stragglers,
            straggler_ratio=self._straggler_ratio,
            impute=self._impute,
        )

    def __repr__(self) -> str:
        runs, apps = many(int(self._cells.runs.sum()), "run"), many(len(self.apps), "application")
        missing = f", {many(len(self.missing), 'pair')} missing" if len(self.missing) else ""
        return f"<Measurements: {runs} of {apps} on {many(len(self.nodes), 'node')}{missing}>"

    @cached_property
    def _filled(self) -> Cells:
        return self._cells if self._impute is None else self._cells.imputed(self._impute)

    def _pairs(self, app: Any, node: Any) -> pl.DataFrame:
        names = pl.Series([str(name) for name in self._nodes], dtype=pl.String)
        return pl.DataFrame(
            {"app": pl.Series(self._cells.apps, dtype=pl.String).gather(app), "node": node.astype(np.int32)}
        ).with_columns(name=names.gather(node))

    def _check_complete(self, filled: Cells) -> None:
        faults = Faults()
        expected = f"every application on each of {len(self._nodes):,} nodes, {_WAYS_OUT[self._impute]}"
        for row in np.flatnonzero(filled.is_empty.any(axis=1)).tolist():
            lacking = np.flatnonzero(filled.is_empty[row])
            is_all = len(lacking) == len(self._nodes)
            where = "any node" if is_all else few([str(self._nodes[node]) for node in lacking.tolist()])
            found = f"{filled.too_few(row, lacking)} of {filled.apps[row]} on {where}"
            faults.note("runs", found, expected)
        faults.check()


def _reasons(dropped: dict[str, int]) -> str:
    return f"dropped: {listed(f'{count:,} {reason}' for reason, count in dropped.items()) or 'none'}"


def _check_straggler_ratio(ratio: object, faults: Faults) -> None:
    number = Faults()
    number.number("straggler_ratio", ratio, low=1.0)
    # At 1 itself every node but the median one would be a straggler.
    if number.found or ratio == 1:
        faults.add("straggler_ratio", ratio, "a number above 1")


def _check_frame(runs: object) -> None:
    if not isinstance(runs, pl.DataFrame):
        found = shown(runs) if isinstance(runs, str | os.PathLike) else f"a {type(runs).__name__}"
        raise ConfigError([("runs", found, "a polars.DataFrame; read_measurements reads a file")])


def _named_columns(columns: dict[str, str | None], faults: Faults) -> dict[str, str]:
    """The columns to take, without those that need not be there."""
    named = {}
    for name, column in columns.items():
        if isinstance(column, str):
            named[name] = column
        elif column is not None or name in ("app", "node"):
            faults.add(name, column, "a column's name")
    if columns["power_w"] is None and columns["time_s"] is None:
        faults.add("power_w, time_s", "neither", "a column of watts, of seconds, or both")
    return named


def _check_columns(runs: pl.DataFrame, named: dict[str, str], faults: Faults) -> None:
    for name, column in named.items():
        if column not in runs.columns:
            hint = did_you_mean(column, runs.columns)
            faults.add(name, column, f"one of the columns {listed(runs.columns)}{hint}")
            continue
        dtype = runs[column].dtype
        is_word = dtype in (pl.String, pl.Categorical, pl.Enum)
        fits = {"app": is_word, "node": is_word or dtype.is_integer()}.get(name, dtype.is_numeric())
        if not fits and dtype != pl.Null:
            kind = {"app": "text", "node": "names, or whole numbers from 0"}.get(name, "numbers")
            row, found = misfit(runs[column])
            hint = ", with a decimal point and no comma" if kind == "numbers" and _WITH_COMMA.fullmatch(found) else ""
            faults.add(f"runs.{one_line(column, limit=100)}", found, kind + hint, row=row)


def read_measurements(path: str | os.PathLike[str], **columns: Any) -> Measurements:
    """Read measured runs, one row each, from a file; CSV or Parquet, known by its name.

    Parameters
    ----------
    path
        The file, ``.csv`` (also ``.csv.gz``, ``.csv.zst``) or ``.parquet``. In CSV, empty fields and words for no
        value (``NA``, ``nan``, ``-``) are missing values.
    **columns
        The parameters of `Measurements`.

    Raises
    ------
    ConfigError
        If it cannot be read, or as `Measurements`; names the file and its line, the header being line 1.
    """
    app = columns.get("app", "app")
    file = read_table(path, "a file of one row a run", words=[app] if isinstance(app, str) else [])
    try:
        return Measurements(file.frame, **columns)
    except ConfigError as error:
        raise file.located(error) from None


def _reader_signature() -> inspect.Signature:
    """The signature of `read_measurements`, with the parameters of `Measurements`."""
    signature = inspect.signature(read_measurements)
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    columns = [one for one in inspect.signature(Measurements).parameters.values() if one.name != "runs"]
    return signature.replace(parameters=[*own, *columns])


read_measurements.__signature__ = _reader_signature()  # type: ignore[attr-defined]

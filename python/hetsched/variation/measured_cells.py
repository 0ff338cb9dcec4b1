"""Medians of measured runs by application and node, as matrices with gaps; the rules that fill them, and a report."""

from __future__ import annotations

import numbers
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults, few, many
from hetsched.errors import ConfigError
from hetsched.variation.frame import Matrix

IMPUTE = {
    "node-ratio": "the node's mean ratio over the applications it has, times the application's median",
    "app-median": "the application's median",
}
"""Stand-ins for pairs that were not measured."""
_MOST_APPS = 20
_UNITS = {"power_w": "W", "time_s": "s"}
_WORDS = {"power_w": "power", "time_s": "time"}


@dataclass(frozen=True, eq=False)
class Cells:
    """One value an application and node; NaN where none is known."""

    apps: list[str]
    nodes: Sequence[str | int]
    runs: npt.NDArray[np.int64]
    """Number of usable runs of each pair, shape (n_apps, n_nodes) as that of the next two."""
    is_missing: npt.NDArray[np.bool_]
    values: dict[str, Matrix]
    """Medians by quantity, ``power_w`` and ``time_s``."""
    app_medians: dict[str, Matrix]
    """Median over nodes of what was measured, by quantity, shape (n_apps,)."""
    min_runs: int

    @cached_property
    def ratios(self) -> dict[str, Matrix]:
        """Ratios of each value to its application's median, by quantity."""
        return {name: values / self.app_medians[name][:, None] for name, values in self.values.items()}

    @cached_property
    def is_empty(self) -> npt.NDArray[np.bool_]:
        """Mask of pairs without a value, measured or filled in."""
        empty: npt.NDArray[np.bool_] = np.isnan(next(iter(self.values.values())))
        return empty

    def too_few(self, app: int, nodes: npt.NDArray[np.int64]) -> str:
        """Words for the runs of an application on nodes that count as missing."""
        most = int(self.runs[app, nodes].max(initial=0))
        return f"fewer than min_runs={self.min_runs:,} runs (at most {most:,})" if most else "no run"

    def imputed(self, rule: str) -> Cells:
        """The same with gaps filled: ``"node-ratio"`` or ``"app-median"``, as `Measurements` shows."""
        values = {}
        for name, measured in self.values.items():
            ratio = _row_means(self.ratios[name].T)[None, :] if rule == "node-ratio" else 1.0
            guess = np.broadcast_to(self.app_medians[name][:, None] * ratio, measured.shape)
            values[name] = np.where(self.is_missing, guess, measured)
        return replace(self, values=values)

    def to_polars(self) -> pl.DataFrame:
        """One row an application and node, as `Measurements.cells` shows."""
        n_apps, n_nodes = self.runs.shape
        columns: dict[str, pl.Series | npt.NDArray[np.generic]] = {
            "app": pl.Series(self.apps, dtype=pl.String).gather(np.repeat(np.arange(n_apps), n_nodes)),
            "node": np.tile(np.arange(n_nodes, dtype=np.int32), n_apps),
            "name": pl.Series([str(name) for name in self.nodes]).gather(np.tile(np.arange(n_nodes), n_apps)),
            "runs": self.runs.ravel(),
        }
        for name, values in self.values.items():
            columns[name] = values.ravel()
            columns[f"{name.partition('_')[0]}_ratio"] = self.ratios[name].ravel()
        columns["imputed"] = (self.is_missing & ~self.is_empty).ravel()
        return pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))


def node_order(names: pl.Series, nodes: Sequence[str] | Sequence[int] | None) -> list[str] | list[int]:
    """The nodes in the order of their numbers."""
    is_number = names.dtype.is_integer()
    if nodes is not None:
        return _given_order(nodes, is_number)
    known = names.drop_nulls().unique()
    if not is_number:
        return sorted(known.cast(pl.String).to_list(), key=_natural)
    low, high = (int(known.min()), int(known.max())) if len(known) else (0, -1)  # type: ignore[arg-type]
    if low < 0 or high > 100 * len(known) + 1000:
        stray = low if low < 0 else high
        expected = "node numbers 0..N-1; where numbers are names, give `nodes` or cast the column to text"
        raise ConfigError([("runs.node", f"`{stray}`", expected)])
    return list(range(high + 1))


def usable_runs(runs: pl.DataFrame, nodes: Sequence[str] | Sequence[int]) -> tuple[pl.DataFrame, dict[str, int]]:
    """The usable runs, ``node`` as a place in `nodes`, and the number of others by reason."""
    words = runs["node"].cast(pl.String)
    places = pl.DataFrame(
        {"node": [str(n) for n in nodes], "place": np.arange(len(nodes))}, schema_overrides={"node": pl.String}
    )
    joined = runs.with_columns(node=words, app=runs["app"].cast(pl.String)).join(
        places, on="node", how="left", maintain_order="left"
    )
    quantities = [name for name in ("power_w", "time_s") if name in runs.columns]
    reasons = {
        "without application": pl.col("app").is_null() | (pl.col("app") == ""),
        "without node": pl.col("node").is_null(),
        "on nodes that are not in `nodes`": pl.col("place").is_null(),
    }
    for name in quantities:
        number = pl.col(name).cast(pl.Float64)
        reasons[f"{name} missing"] = number.is_null() | number.is_nan()
        reasons[f"{name} not finite"] = number.is_infinite()
        reasons[f"{name} not above 0"] = number <= 0
    why = pl.coalesce([pl.when(is_wrong).then(pl.lit(reason)) for reason, is_wrong in reasons.items()])
    judged = joined.with_columns(why=why)
    counted = dict(judged["why"].drop_nulls().value_counts().iter_rows())
    usable = judged.filter(pl.col("why").is_null())
    kept = usable.select("app", pl.col("place").alias("node"), *(pl.col(name).cast(pl.Float64) for name in quantities))
    return kept, {reason: counted[reason] for reason in reasons if reason in counted}


def medians(runs: pl.DataFrame, apps: list[str], nodes: Sequence[str] | Sequence[int], min_runs: int) -> Cells:
    """The median of each application and node."""
    quantities = [name for name in ("power_w", "time_s") if name in runs.columns]
    cells = runs.group_by("app", "node").agg(pl.len().alias("runs"), pl.col(quantities).median())
    row = cells["app"].cast(pl.Enum(apps)).to_physical().to_numpy()
    place = (row.astype(np.int64), cells["node"].to_numpy())
    counts = np.zeros((len(apps), len(nodes)), dtype=np.int64)
    counts[place] = cells["runs"].to_numpy()
    is_missing = counts < min_runs
    values: dict[str, Matrix] = {}
    app_medians: dict[str, Matrix] = {}
    for name in quantities:
        matrix = np.full(counts.shape, np.nan)
        matrix[place] = cells[name].to_numpy()
        matrix[is_missing] = np.nan
        values[name] = matrix
        app_medians[name] = _row_medians(matrix)
    return Cells(apps, nodes, counts, is_missing, values, app_medians, min_runs)


def note_nodes(nodes: object, faults: Faults) -> None:
    """Note a fault unless it is a list, or None."""
    is_list = isinstance(nodes, Sequence | np.ndarray | pl.Series) and not isinstance(nodes, str | bytes)
    if nodes is not None and not (is_list and len(nodes)):  # type: ignore[arg-type]
        faults.add("nodes", nodes, "a list of names, node 0 first, or None")


def _given_order(nodes: Sequence[str] | Sequence[int], is_number: bool) -> list[str] | list[int]:
    faults = Faults()
    kind: type = numbers.Integral if is_number else str
    expected = "whole numbers, as in the runs" if is_number else "names, as in the runs"
    wrong = [name for name in nodes if not isinstance(name, kind) or isinstance(name, bool)]
    if wrong:
        faults.add("nodes", wrong[0], expected)
    elif len(set(nodes)) < len(nodes):
        seen = list(nodes)
        faults.add("nodes", next(name for name in seen if seen.count(name) > 1), "each name once")
    faults.check()
    return list(nodes)  # type: ignore[return-value]


def _natural(name: str) -> tuple[list[str | int], str]:
    """Sorts numbers inside of names as numbers: words at even places, numbers at odd ones."""
    parts = re.split(r"([0-9]+)", name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)], name


def _row_medians(matrix: Matrix) -> Matrix:
    """The median of each row's numbers; NaN for a row of none."""
    has_any = ~np.isnan(matrix).all(axis=1)
    found = np.full(len(matrix), np.nan)
    found[has_any] = np.nanmedian(matrix[has_any], axis=1)
    return found


def _row_means(matrix: Matrix) -> Matrix:
    """The mean of each row's numbers; NaN for a row of none."""
    is_known = ~np.isnan(matrix)
    count = is_known.sum(axis=1)
    total = np.where(is_known, matrix, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def report_text(
    cells: Cells,
    *,
    dropped: Mapping[str, int],
    stragglers: pl.DataFrame,
    straggler_ratio: float,
    impute: str | None,
) -> str:
    """The report on what was measured, dropped, missing, filled in, and far off."""
    per_node = cells.runs.sum(axis=0)
    nodes = cells.nodes
    apps = many(len(cells.apps), "application")
    lines = [
        f"{many(int(cells.runs.sum()), 'usable run')} of {apps} on {many(len(nodes), 'node')}",
        f"nodes       {_mapping(nodes)}",
        f"runs/node   median {np.median(per_node):g}, {per_node.min():,} to {per_node.max():,}",
        f"dropped     {_dropped(dropped)}",
        f"missing     {_missing(cells)}",
    ]
    if cells.is_missing.any():
        lines += [*_few_runs(cells), f"filled in   {_filled(cells, impute)}"]
    lines += [f"stragglers  {_stragglers(stragglers, straggler_ratio)}", *_spreads(cells)]
    return "\n".join(lines)


def _mapping(nodes: Sequence[str | int]) -> str:
    numbered = [f"{place} = {name}" for place, name in enumerate(nodes)]
    return ", ".join(numbered if len(numbered) <= 4 else [*numbered[:2], "...", numbered[-1]])


def _dropped(dropped: Mapping[str, int]) -> str:
    if not dropped:
        return "no run"
    return f"{many(sum(dropped.values()), 'run')}: " + ", ".join(f"{count:,} {why}" for why, count in dropped.items())


def _missing(cells: Cells) -> str:
    count = int(cells.is_missing.sum())
    if not count:
        return "nothing: every application was measured on every node"
    per_app = []
    for row in np.flatnonzero(cells.is_missing.any(axis=1)).tolist():
        lacking = np.flatnonzero(cells.is_missing[row]).tolist()
        where = "any node" if len(lacking) == len(cells.nodes) else few([str(cells.nodes[node]) for node in lacking])
        per_app.append(f"\n            {cells.apps[row]} on {where}")
    shown = "".join(per_app[:_MOST_APPS])
    more = f"\n            and {len(per_app) - _MOST_APPS:,} more applications" if len(per_app) > _MOST_APPS else ""
    share = count / cells.is_missing.size
    return f"{count:,} of {many(cells.is_missing.size, 'pair')} of application and node ({share:.1%}):{shown}{more}"


def _few_runs(cells: Cells) -> list[str]:
    """A line on missing pairs that have runs, but too few."""
    counts = cells.runs[cells.is_missing & (cells.runs > 0)]
    if not len(counts):
        return []
    least, most = int(counts.min()), int(counts.max())
    had = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return [f"min_runs    {cells.min_runs:,}: {many(len(counts), 'missing pair')} had runs, but only {had}"]


def _filled(cells: Cells, impute: str | None) -> str:
    if impute is None:
        return "nothing (impute=None): no table can be made"
    done = int((cells.is_missing & ~cells.imputed(impute).is_empty).sum())
    return f"{many(done, 'pair')} by {IMPUTE[impute]}"


def _stragglers(stragglers: pl.DataFrame, straggler_ratio: float) -> str:
    rule = f"{straggler_ratio:g} times an application's median, or 1/{straggler_ratio:g} of it"
    if not len(stragglers):
        return f"none beyond {rule}"
    count = stragglers["node"].n_unique()
    shown = [
        f"\n            {name}: {app} {_WORDS[quantity]} {value:.4g} {_UNITS[quantity]}, {ratio:.2f} of the median"
        for app, name, quantity, value, ratio in stragglers.select("app", "name", "quantity", "value", "ratio")
        .head(10)
        .iter_rows()
    ]
    more = f"\n            and {len(stragglers) - 10:,} more, see `stragglers`" if len(stragglers) > 10 else ""
    return f"{many(count, 'node')} beyond {rule}; kept in the table{''.join(shown)}{more}"


def _spreads(cells: Cells) -> list[str]:
    """A row an application: nodes, runs, median, and the 99th over the 1st percentile of its nodes."""
    width = max(len("application"), *(len(app) for app in cells.apps[:_MOST_APPS]))
    head = f"{'application':{width}}  {'nodes':>6}  {'runs':>8}"
    for name in cells.values:
        head += f"  {'median ' + _UNITS[name]:>10}  {_WORDS[name] + ' p99/p1':>12}"
    lines = [head]
    for row, app in enumerate(cells.apps[:_MOST_APPS]):
        line = f"{app:{width}}  {int((~cells.is_missing[row]).sum()):>6,}  {int(cells.runs[row].sum()):>8,}"
        for name, values in cells.values.items():
            line += f"  {_figure(cells.app_medians[name][row]):>10}  {_spread(values[row]):>12}"
        lines.append(line)
    if len(cells.apps) > _MOST_APPS:
        lines.append(f"and {len(cells.apps) - _MOST_APPS:,} more applications, see `cells`")
    return lines


def _figure(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4g}"


def _spread(values: Matrix) -> str:
    known = values[~np.isnan(values)]
    return f"{np.quantile(known, 0.99) / np.quantile(known, 0.01):.3f}" if len(known) else "-"

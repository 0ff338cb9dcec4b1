"""The report on measured runs, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from hetsched.text import few, many
from hetsched.variation.checks import Matrix
from hetsched.variation.measured_cells import Cells

__all__ = ["report_text"]

_RULES = {
    "node-ratio": "the node's mean ratio over the applications it has, times the application's median",
    "app-median": "the application's median",
}
_MOST_APPS = 20
_UNITS = {"power_w": "W", "time_s": "s"}
_WORDS = {"power_w": "power", "time_s": "time"}


def report_text(
    cells: Cells,
    *,
    dropped: Mapping[str, int],
    stragglers: pl.DataFrame,
    straggler_ratio: float,
    impute: str | None,
) -> str:
    """What was measured, dropped, missing, filled in, and far off; a few lines and a small table.

    Parameters
    ----------
    cells
        What was measured, before anything was filled in.
    dropped
        How many runs were dropped, by reason.
    stragglers
        As `Measurements.stragglers`.
    straggler_ratio
        From where on a node is one.
    impute
        The rule by which gaps are filled, if any.
    """
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
    """How many of the missing pairs have runs, but too few."""
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
    return f"{many(done, 'pair')} by {_RULES[impute]}"


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

"""Sections about policies: their table, energy against wait, and what could have been saved."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from hetsched.analysis import METRICS
from hetsched.report.comparisons import front
from hetsched.report.page import charts, words
from hetsched.report.page.charts import Dot
from hetsched.report.page.document import Block, Chart, Grid, Words
from hetsched.report.page.shown import Shown
from hetsched.report.shares import on_a_page, run_grid, shares_grids


def table_of_policies(table: pl.DataFrame, baseline: str, currency: str | None = None) -> Grid:
    """The policies with their values, and ratios to the baseline with intervals."""
    policies = table["policy"].unique(maintain_order=True).to_list()
    cells = {(row["policy"], row["metric"]): row for row in table.iter_rows(named=True)}
    header, rows = ["policy"], [[policy] for policy in policies]
    for key in table["metric"].unique(maintain_order=True):
        values = [cells[policy, key]["mean"] for policy in policies]
        metric = METRICS[key].in_currency(currency)
        unit = metric.unit_for(values).name
        header += [f"{metric.title}{f' ({unit})' if unit else ''}", "ratio"]
        for row, text, policy in zip(rows, metric.texts(values), policies, strict=True):
            row += [text, "" if policy == baseline else _ratio(cells[policy, key])]
    is_repeated = table["half_width_95"].null_count() < len(table)
    return Grid(f"Means, and ratios to {baseline}{' with 95 % intervals' if is_repeated else ''}", header, rows)


def _ratio(cell: Mapping[str, Any]) -> str:
    if cell["ratio"] is None or not math.isfinite(cell["ratio"]):
        return "–"
    half = cell["ratio_half_width_95"]
    return f"{cell['ratio']:.3f}" + ("" if half is None else f" ± {half:.3f}")


def energy_against_wait(shown: Shown, table: pl.DataFrame) -> Chart:
    """A dot a policy, with intervals where runs were repeated."""
    cells = {(row["policy"], row["metric"]): row for row in table.iter_rows(named=True)}
    scales, units = zip(
        *(words.unit_of(key, [float(run.summary[key]) for run in shown.runs]) for key in ("mean_wait_s", "energy_j")),
        strict=True,
    )
    points = []
    for place, run in enumerate(shown.runs):
        x, y = (_value(cells.get((run.policy, key)), run.summary[key]) for key in ("mean_wait_s", "energy_j"))
        text = f"{run.policy}: {words.metric('energy_j', y[0])}, mean wait {words.metric('mean_wait_s', x[0])}"
        (wait, wait_half), (energy, energy_half) = (
            [_over(one, scale) for one in own] for own, scale in ((x, scales[0]), (y, scales[1]))
        )
        points.append(Dot(run.policy, wait or 0.0, energy or 0.0, wait_half, energy_half, place, text))
    best = front(np.array([one.x for one in points]), -np.array([one.y for one in points])).tolist()
    figure = charts.dots(points, x_title=f"mean wait ({units[0]})", y_title=f"energy ({units[1]})", front=best)
    spoken = "; ".join(one.text for one in points)
    return Chart("Energy against wait", spoken, figure, note="Left and down is better. Axes need not begin at 0.")


def _value(cell: Mapping[str, Any] | None, alone: float) -> tuple[float, float | None]:
    """The mean of a policy's runs and its half width; of a metric that is not in the table the run's own value."""
    return (alone, None) if cell is None else (cell["mean"], cell["half_width_95"])


def _over(value: float | None, scale: float) -> float | None:
    return None if value is None else value / scale


def attained(
    shown: Shown, placement: Mapping[str, float | None], shares: pl.DataFrame | None = None
) -> Iterator[Block]:
    """Shares of what a better choice of nodes, and of sleep, could have saved."""
    split = shares_grids if shown.are_several else run_grid
    grids = [] if shares is None else [on_a_page(grid) for grid in split(shares)]
    yield from grids
    if placement:
        yield _shares("Share of what any placement could have saved, by the bound of the baseline", placement)
    sleep = {run.policy: run.summary.get("sleep_attained_ratio") for run in shown.runs}
    if any(sleep.values()):
        yield _shares("Share of what sleeping nodes could have saved, given each policy's starts", sleep)
    if not placement and not any(sleep.values()) and not grids:
        yield Words("Not computed: --bound (bound=True) says how much a better choice of nodes could have saved.")


def _shares(label: str, shares: Mapping[str, float | None]) -> Grid:
    rows = [[policy, "–" if ratio is None else words.share(ratio)] for policy, ratio in shares.items()]
    return Grid(label, ["policy", "attained"], rows)

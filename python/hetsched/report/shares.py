"""Tables of what placement and timing saved, with the waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from hetsched.analysis import METRICS
from hetsched.report.page.document import Grid

MISSING = "–"
"""Cell of a number that there is not."""

_SAVINGS = ("saved\n%", "place-\nment\n%", "timing\n%")
"""Titles of savings against a baseline."""

_LEFT_OUT = "jobs\nleft\nout"
"""The one title that does not end in a unit."""


def shares_grids(shares: pl.DataFrame) -> Iterator[Grid]:
    """Tables of `hetsched.analysis.placement_and_timing`: the shares with the waits, then the energies behind them."""
    rows = shares.to_dicts()
    if not rows:
        return
    saved, placement, timing = zip(*map(_percents, rows), strict=True)
    columns = {
        "attained\n%": [_percent(row["attained_ratio"]) for row in rows],
        **dict(zip(_SAVINGS, (saved, placement, timing), strict=True)),
        **_metrics(
            rows, {"turn-\naround": "mean_turnaround_s", "mean\nwait": "mean_wait_s", "longest\nwait": "max_wait_s"}
        ),
    }
    yield _grid("Saved by placement and by timing, and the waits", rows, columns)
    energies = _energies(rows, {"drawn": "energy_j", "blind": "energy_blind_j", "least": "energy_bound_starts_j"})
    waits = _metrics(rows, {"large:\nmean": "large_mean_wait_s", "large:\nlongest": "large_max_wait_s"})
    left_out = {_LEFT_OUT: [f"{row['left_out_jobs']:,g}" for row in rows]}
    yield _grid("Energy of nodes at work given the starts, and waits of large jobs", rows, energies | waits | left_out)


def run_grid(shares: pl.DataFrame) -> Iterator[Grid]:
    """The same of one run, which is held against no other: what its nodes attained, with the waits."""
    rows = shares.to_dicts()
    if not rows:
        return
    first, second = shares_grids(shares)
    kept = [place for place, title in enumerate(first.header) if title not in _SAVINGS]
    header = [first.header[place] for place in kept]
    cells = [[row[place] for place in kept] for row in first.rows]
    yield Grid("Share of what nodes could have saved given the starts, and the waits", header, cells)
    yield second


def experiment_grids(shares: pl.DataFrame) -> dict[str, Grid]:
    """Tables of `hetsched.experiments.Report.shares`: shares with their intervals, and the waits.

    A table for each of what scenarios begin with, up to a comma; the rest is in its name or, where it varies, in the
    policies' names.
    """
    parts = pl.col("scenario").str.splitn(", ", 2).struct
    cut = shares.with_columns(where=parts.field("field_0"), rest=parts.field("field_1"))
    found = {}
    for (where,), own in cut.group_by("where", maintain_order=True):
        if own["rest"].n_unique() == 1:
            name, labels = str(own["scenario"][0]), own["policy"].to_list()
        else:
            rests = own["rest"].to_list()
            name = str(where)
            labels = [one if rest is None else f"{one}, {rest}" for one, rest in zip(own["policy"], rests, strict=True)]
        found[name] = _experiment_grid(
            f"Shares and waits, {name}", own.with_columns(policy=pl.Series(labels)).to_dicts()
        )
    return found


def _experiment_grid(label: str, rows: list[dict[str, Any]]) -> Grid:
    percents = {
        "attained\n%": "attained_percent",
        **dict(zip(_SAVINGS, ("saved_percent", "placement_percent", "timing_percent"), strict=True)),
    }
    waits = {
        "turn-\naround": "mean_turnaround_s",
        "mean\nwait": "mean_wait_s",
        "longest\nwait": "max_wait_s",
        "large:\nmean": "large_mean_wait_s",
        "large:\nlongest": "large_max_wait_s",
    }
    columns = {title: [_estimate(row, key) for row in rows] for title, key in percents.items()}
    return _grid(label, rows, columns | _metrics(rows, waits))


def on_a_page(grid: Grid) -> Grid:
    """A table whose titles, in lines for a terminal, are whole words, and units in brackets."""
    header = [grid.header[0], *(_whole(title) for title in grid.header[1:])]
    return replace(grid, header=header)


def _whole(title: str) -> str:
    if title == _LEFT_OUT:
        return title.replace("\n", " ")
    words, _, unit = title.replace("-\n", "").rpartition("\n")
    return f"{words} ({unit})".replace("\n", " ")


def _estimate(row: dict[str, Any], key: str) -> str:
    mean, half = row[key], row[f"{key}_half"]
    if mean is None:
        return MISSING
    decimals = 2 if abs(mean) < 10 else 1
    return f"{mean:.{decimals}f}" if half is None else f"{mean:.{decimals}f}\n±{half:.{decimals}f}"


def _grid(label: str, rows: Sequence[dict[str, Any]], columns: dict[str, Sequence[str]]) -> Grid:
    cells = zip([row["policy"] for row in rows], *columns.values(), strict=True)
    return Grid(label, ["policy", *columns], [list(cell) for cell in cells])


def _metrics(rows: Sequence[dict[str, Any]], keys: dict[str, str]) -> dict[str, Sequence[str]]:
    """Columns of metrics by their titles, each in one unit."""
    found: dict[str, Sequence[str]] = {}
    for title, key in keys.items():
        values, metric = [row[key] for row in rows], METRICS[key]
        found[f"{title}\n{metric.unit_for(values).name}"] = metric.texts(values)
    return found


def _energies(rows: Sequence[dict[str, Any]], keys: dict[str, str]) -> dict[str, Sequence[str]]:
    """Columns of energies by their titles, all in one unit."""
    metric, all_j = METRICS["job_energy_j"], [row[key] for row in rows for key in keys.values()]
    unit = metric.unit_for(all_j).name
    return {f"{title}\n{unit}": metric.texts([row[key] for row in rows], like=all_j) for title, key in keys.items()}


def _percent(ratio: float | None) -> str:
    return MISSING if ratio is None else f"{100 * ratio:.2f}"


def _percents(row: dict[str, Any]) -> tuple[str, str, str]:
    """Saving, placement and timing in hundredths of a percent, which add up as they are shown."""
    if row["saved_ratio"] is None:
        return MISSING, MISSING, MISSING
    saved, timing = (round(10_000 * row[key]) for key in ("saved_ratio", "timing_ratio"))
    saved_text, placement_text, timing_text = (f"{part / 100:.2f}" for part in (saved, saved - timing, timing))
    return saved_text, placement_text, timing_text

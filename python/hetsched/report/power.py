"""Picture and tables of power models: predicted watts against measured ones, errors, and predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from rich.table import Table
from rich.text import Text

from hetsched.report.canvas import COLOURS, new_grid
from hetsched.report.lettering import WIDTH_IN, legend, named, write_title
from hetsched.report.tables import folded, new_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_IN = 3.0
_FOOT_IN = 0.5
_TITLE_LETTERS = 40
_OFF_RATIO = 0.1
"""Distance of the lines next to the diagonal."""

_NUMBERS = ("MAPE\nmean", "no\nvariation", "MAPE\nmax", "devices")
_LEAST_MODEL = 20
_MOST_OUTSIDE = 20
_GAP = 3


def predicted_against_measured(cells: Mapping[str, pl.DataFrame], *, title: str = "") -> Figure:
    """A panel a model and a dot a device and application: predicted watts over measured ones."""
    watts = np.concatenate([frame.select("actual_w", "predicted_w").to_numpy().ravel() for frame in cells.values()])
    low, high = float(watts.min()), float(watts.max())
    slack = 0.04 * (high - low) or 1.0
    limits = (max(low - slack, 0.0), high + slack)
    columns = min(len(cells), 2)
    rows = -(-len(cells) // columns)
    with new_grid(rows, columns, row_in=_PANEL_IN, foot_in=_FOOT_IN, width_in=columns * WIDTH_IN) as (figure, grid):
        panels = [axes for across in grid for axes in across]
        for axes, (name, frame) in zip(panels, cells.items(), strict=False):
            _draw(axes, frame, name, limits)
        for axes in panels[len(cells) :]:
            axes.remove()
        # The last panel of a column stands above where another was taken away.
        for axes in panels[: len(cells)][-columns:]:
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("measured (W)")
        write_title(figure, title)
        legend(figure, named(panels[0]), markerscale=2)
    return figure


def _draw(axes: Axes, frame: pl.DataFrame, name: str, limits: tuple[float, float]) -> None:
    for ratio in (1 - _OFF_RATIO, 1 + _OFF_RATIO):
        label = f"{100 * _OFF_RATIO:g} % off" if ratio < 1 else None
        ends = [ratio * one for one in limits]
        axes.plot(limits, ends, color=COLOURS["vermilion"], dashes=(4, 2), linewidth=0.8, label=label)
    axes.plot(limits, limits, color=COLOURS["black"], linewidth=0.8, label="equal")
    actual, predicted = (frame[column].to_numpy() for column in ("actual_w", "predicted_w"))
    # As dots of a picture even in a drawing of lines: a million of them make no file that opens.
    axes.plot(
        actual, predicted, ".", color=COLOURS["blue"], markersize=3, alpha=_alpha(len(actual)), markeredgewidth=0,
        rasterized=True, label="a device and application",
    )  # fmt: skip
    error = float((np.abs(predicted - actual) / actual).mean())
    axes.set_title("\n".join(folded(name, _TITLE_LETTERS, indent="  ")), loc="left", pad=3)
    axes.text(0.97, 0.03, f"MAPE {100 * error:.2f} %", transform=axes.transAxes, ha="right")
    axes.set_xlim(limits)
    axes.set_ylim(limits)
    axes.set_aspect("equal")
    axes.set_ylabel("predicted (W)")


def _alpha(dots: int) -> float:
    """Opacity of a dot: fainter for many, so that dense places stand out."""
    return float(np.clip(40 / np.sqrt(dots), 0.15, 0.8))


def errors_table(
    errors: Mapping[str, pl.DataFrame], overall: Mapping[str, Mapping[str, float]], *, width: int = 80
) -> Table:
    """A row an application and model: mean and largest error over its devices; below them all applications together.

    Next to the mean stands that of the rival: one number an application for all devices.
    """
    frames = list(errors.values())
    taken = sum(max(map(len, (*name.split("\n"), "99.99 %"))) + _GAP for name in _NUMBERS)
    longest = max(len(text) for text in errors)
    longest_app = max(map(len, ("application", *frames[0]["app"])))
    room = max(min(longest, width - taken - longest_app - 2 * _GAP), min(longest, _LEAST_MODEL))
    table = new_table("application", "model", numbers=_NUMBERS)
    table.columns[1].no_wrap = True
    models = ["\n".join(folded(text, room, indent="  ")) for text in errors]
    for place, app in enumerate(frames[0]["app"]):
        for number, frame in enumerate(frames):
            row = frame.row(place, named=True)
            cells = [*_errors(row), f"{row['devices']:,}"]
            table.add_row(Text(app if number == 0 else ""), models[number], *cells)
    table.add_section()
    for number, found in enumerate(overall.values()):
        cells = [*_errors(found), ""]
        table.add_row(Text("all" if number == 0 else "", style="bold"), models[number], *cells)
    return table


def _errors(found: Mapping[str, Any]) -> list[str]:
    """Mean error, that of no variation, and the largest."""
    names = ("mape_mean_percent", "no_variation_mape_percent", "mape_max_percent")
    return [_percent(found[name]) for name in names]


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} %"


def outside_table(outside: Mapping[str, tuple[Sequence[str], Sequence[float]]]) -> Table:
    """Applications with features outside everything the model has seen, in standard deviations, the farthest first."""
    found = {app: own for app, own in outside.items() if len(own[0])}
    shown = sorted(found, key=lambda app: -abs(found[app][1][0]))[:_MOST_OUTSIDE]
    table = new_table("application", "outside what the models had seen, in standard deviations")
    for app, own in found.items():
        if app in shown:
            cells = [f"{name} {far:+.2g}" for name, far in zip(*own, strict=True)]
            table.add_row(Text(app), Text(", ".join(cells)))
    if len(found) > len(shown):
        table.add_section()
        table.add_row(Text(f"and {len(found) - len(shown):,} more", style="dim"), Text("less far"))
    return table


def predictions_table(rows: Sequence[Mapping[str, Any]], *, nodes: int) -> Table:
    """A row an application: the mean, least and most watts over nodes, and the ratio of most to least."""
    table = new_table("application", numbers=(f"mean of {nodes:,}", "least", "most", "most/least"))
    for row in rows:
        watts = [f"{row[name]:,.1f} W" for name in ("mean_w", "least_w", "most_w")]
        ratio = "–" if row["least_w"] == 0 else f"{row['most_w'] / row['least_w']:.3f}"
        table.add_row(Text(row["app"]), *watts, ratio)
    return table

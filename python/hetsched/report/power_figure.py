"""The picture of power models: predicted watts against measured ones, a panel a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hetsched.report.canvas import COLOURS, new_figure, new_grid
from hetsched.report.folding import folded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["predicted_against_measured"]

_PANEL_IN = 3.0
_FOOT_IN = 0.7
_TITLE_LETTERS = 40
_OFF_RATIO = 0.1
"""How far off the lines beside the diagonal are."""


def predicted_against_measured(cells: Mapping[str, pl.DataFrame], *, title: str = "") -> Figure:
    """A dot a device and application: measured watts to the right, predicted ones upwards; on the line they are equal.

    Parameters
    ----------
    cells
        Of each model ``actual_w, predicted_w``.
    title
        What stands above: what the predictions were made from.
    """
    watts = np.concatenate([frame.select("actual_w", "predicted_w").to_numpy().ravel() for frame in cells.values()])
    low, high = float(watts.min()), float(watts.max())
    slack = 0.04 * (high - low) or 1.0
    limits = (max(low - slack, 0.0), high + slack)
    if len(cells) == 1:
        with new_figure([_PANEL_IN + _FOOT_IN]) as (figure, (axes,)):
            ((name, frame),) = cells.items()
            _draw(axes, frame, name, limits)
            _finish(figure, axes, title)
        return figure
    rows = -(-len(cells) // 2)
    with new_grid(rows, 2, row_in=_PANEL_IN, foot_in=_FOOT_IN) as (figure, grid):
        panels = [axes for across in grid for axes in across]
        for axes, (name, frame) in zip(panels, cells.items(), strict=False):
            _draw(axes, frame, name, limits)
        for axes in panels[len(cells) :]:
            axes.remove()
        # The last panel of a column stands above where another was taken away.
        panels[len(cells) - 2].tick_params(labelbottom=True)
        for place in (len(cells) - 2, len(cells) - 1):
            panels[place].set_xlabel("measured (W)")
        _finish(figure, panels[0], title)
    return figure


def _draw(axes: Axes, frame: pl.DataFrame, name: str, limits: tuple[float, float]) -> None:
    for ratio in (1 - _OFF_RATIO, 1 + _OFF_RATIO):
        label = f"{_OFF_RATIO:.0%} off".replace("%", " %") if ratio < 1 else None
        axes.plot(
            limits,
            [ratio * one for one in limits],
            color=COLOURS["vermilion"],
            dashes=(4, 2),
            linewidth=0.8,
            label=label,
        )
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
    """The more dots, the fainter, so that where they lie thick can be seen."""
    return float(np.clip(40 / np.sqrt(dots), 0.15, 0.8))


def _finish(figure: Figure, axes: Axes, title: str) -> None:
    if not axes.get_xlabel() and len(figure.axes) == 1:
        axes.set_xlabel("measured (W)")
    figure.suptitle(title, fontsize=8.5)
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, columnspacing=1.2, markerscale=2)

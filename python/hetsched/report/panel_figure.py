"""The picture of an experiment with many settings: panels in rows and columns, a curve a policy in each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis import mean_and_half_width
from hetsched.report.canvas import COLOURS, draw_panels, interval, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW_IN = 1.45
_SLANTED = 4
"""Ticks with more letters than this are written upwards."""

_UNSEEN = str.maketrans("", "", "$^{}")
_WIDE = 0.8
"""Share of the distance of two places that values side by side take."""

_PAPER = "paper, mean"


def curve(
    values: npt.NDArray[np.float64],
    *,
    row: str,
    column: str,
    label: str,
    ticks: Sequence[str],
    x: Sequence[float] | None = None,
    x_label: str = "",
    level: float = 0.0,
    paper: float | None = None,
    figure: str = "",
) -> pl.DataFrame:
    """A curve as rows of what `panel_figure` takes, from values of shape (repetitions, places), NaN where unknown.

    `row` and `column` are those of its panel: what stands at the y axis, and above. Places at `x` are joined by a line,
    without it they stand side by side; one whose tick is empty has none. The baseline's own `level` and what the
    `paper` prints are lines across.
    """
    repetitions, places = values.shape
    at = range(places) if x is None else x
    return pl.DataFrame(
        {
            **({"figure": figure} if figure else {}),
            "row": row,
            "column": column,
            "label": label,
            "x": np.tile(np.array(at, dtype=np.float64), repetitions),
            "tick": list(ticks) * repetitions,
            "x_label": x_label,
            "level": level,
            "paper": pl.Series([paper], dtype=pl.Float64).new_from_index(0, values.size),
            "is_joined": x is not None,
            "value": pl.Series(values.ravel()).fill_nan(None),
        }
    )


def panel_figure(curves: pl.DataFrame, *, title: str = "") -> Figure:
    """A row of panels a metric and a column a workload; in each a curve a policy, with 95 % intervals."""
    x_label = str(curves["x_label"][0])
    return draw_panels(curves, _draw_panel, row_in=_ROW_IN, title=title, x_label=x_label, last=_PAPER)


def _draw_panel(axes: Axes, own: pl.DataFrame, places: Mapping[str, int]) -> None:
    for (label,), rows in own.group_by("label", maintain_order=True):
        x, mean, half_width = _estimates(rows)
        style = look(places[str(label)])
        if not own["is_joined"][0]:
            # Side by side around the place, so that equal values stay apart.
            x += (places[str(label)] - (len(places) - 1) / 2) * _WIDE / len(places)
            style["linestyle"] = "none"
        interval(axes, x, mean, yerr=half_width, capsize=1.2, markersize=3, label=label, **style)
    ticks = own.select("x", "tick").filter(pl.col("tick") != "").unique(maintain_order=True).sort("x")
    names = ticks["tick"].to_list()
    longest = max((len(name.strip("$").translate(_UNSEEN)) for name in names), default=0)
    axes.set_xticks(ticks["x"].to_list(), names, rotation=90 if longest > _SLANTED else 0)
    axes.axhline(float(own["level"][0]), color=COLOURS["black"], linewidth=0.6)
    if own["paper"][0] is not None:
        axes.axhline(own["paper"][0], color=COLOURS["vermilion"], linewidth=1.0, linestyle=(0, (6, 2)), label=_PAPER)


def _estimates(rows: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Positions of a curve's points, their means over repetitions, and half the widths of their intervals."""
    found = []
    for (place,), own in rows.drop_nulls("value").group_by("x", maintain_order=True):
        middle, reach = mean_and_half_width(own["value"].to_numpy())
        found.append((place, middle, reach or 0.0))
    return np.array(found, dtype=np.float64).T

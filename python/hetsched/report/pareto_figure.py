"""Figures of gain against cost: a dot a policy, and a line along those that no other beats in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis import mean_and_half_width
from hetsched.report.canvas import COLOURS, look, new_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Floats = npt.NDArray[np.float64]

_ROW_IN = 2.1
_FOOT_IN = 0.6
_LINE_IN = 0.15
_LEGEND_COLUMNS = 5
_FRONT = "not beaten in both"


def point(x: Floats, y: Floats, *, row: str, column: str, label: str, figure: str = "") -> pl.DataFrame:
    """A dot as rows of what `pareto_figure` takes."""
    return pl.DataFrame(
        {
            **({"figure": figure} if figure else {}),
            "row": row,
            "column": column,
            "label": label,
            "x": np.asarray(x, dtype=np.float64),
            "y": np.asarray(y, dtype=np.float64),
        }
    )


def front(x: Floats, y: Floats) -> npt.NDArray[np.intp]:
    """Places, by ascending x, of the points that no other beats: less x at no less y, or more y at no more x."""
    by_x = np.lexsort((-y, x))
    best_before = np.concatenate([[-np.inf], np.maximum.accumulate(y[by_x])[:-1]])
    return by_x[y[by_x] > best_before]


def pareto_figure(points: pl.DataFrame, *, title: str = "") -> Figure:
    """Panels of dots with 95 % intervals both ways, x logarithmic, and the front of each."""
    rows, columns, labels = (points[name].unique(maintain_order=True).to_list() for name in ("row", "column", "label"))
    places = {label: place for place, label in enumerate(labels)}
    lines = -(-(len(labels) + 1) // _LEGEND_COLUMNS)
    foot_in = _FOOT_IN + _LINE_IN * lines
    with new_grid(len(rows), len(columns), row_in=_ROW_IN, foot_in=foot_in) as (figure, axes):
        for across, row in zip(axes, rows, strict=True):
            for one, column in zip(across, columns, strict=True):
                _draw_panel(one, points.filter(row=row, column=column), places)
            across[0].set_ylabel(row)
        for one, column in zip(axes[-1], columns, strict=True):
            one.set_xlabel(column)
        figure.suptitle(title, fontsize=8.5)
        handles, names = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=_LEGEND_COLUMNS, columnspacing=1.0)
    return figure


def _draw_panel(axes: Axes, own: pl.DataFrame, places: dict[str, int]) -> None:
    middles = []
    for (label,), rows in own.group_by("label", maintain_order=True):
        x, x_reach = mean_and_half_width(rows["x"].to_numpy())
        y, y_reach = mean_and_half_width(rows["y"].to_numpy())
        middles.append((x, y))
        style = {**look(places[str(label)]), "linestyle": "none"}
        axes.errorbar(x, y, xerr=x_reach, yerr=y_reach, elinewidth=0.6, markersize=4, label=label, **style)
    xs, ys = np.array(middles, dtype=np.float64).T
    best = front(xs, ys)
    axes.plot(xs[best], ys[best], color=COLOURS["grey"], linewidth=1.0, zorder=1, label=_FRONT)
    axes.set_xscale("log", subs=(2, 5))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")

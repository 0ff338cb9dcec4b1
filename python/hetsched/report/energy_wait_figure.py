"""The picture of what policies cost in wait and in energy: a dot a policy, further down and left is better in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis import METRICS, mean_and_half_width
from hetsched.report.canvas import COLOURS, DASHES, look, new_figure
from hetsched.report.pareto_figure import front

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FRONT", "HEIGHT_IN", "draw_energy_against_wait", "energy_against_wait"]

HEIGHT_IN = 2.0
FRONT = "not beaten in both"
_LEGEND_LINE_IN = 0.17
_LEAST_SPAN_RATIO = 0.02
_LINE: dict[str, Any] = {"color": COLOURS["black"], "linewidth": 0.8, "linestyle": DASHES[2], "zorder": 1}
_FAR_APART = 20.0
"""From here on the longest wait hides how the others differ, unless the axis is logarithmic."""


def energy_against_wait(runs: pl.DataFrame) -> Figure:
    """A dot a policy with 95 % intervals over its seeds, and a line along those that nobody beats in both.

    Parameters
    ----------
    runs
        One row a run: ``policy``, ``mean_wait_s`` and ``energy_j``, as `hetsched.analysis.runs_frame` gives it;
        policies stand in the order in which they first come.
    """
    policies = runs["policy"].n_unique()
    with new_figure([HEIGHT_IN + _LEGEND_LINE_IN * (policies + 1)]) as (figure, (axes,)):
        draw_energy_against_wait(axes, runs)
        handles, labels = axes.get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda place: labels[place] == FRONT)
        shown = ([handles[place] for place in order], [labels[place] for place in order])
        figure.legend(*shown, loc="outside upper left")
    return figure


def draw_energy_against_wait(axes: Axes, runs: pl.DataFrame) -> None:
    """Draw the dots and the line.

    Parameters
    ----------
    axes
        Where.
    runs
        As in `energy_against_wait`.
    """
    names = ("mean_wait_s", "energy_j")
    units = {name: METRICS[name].unit_for(runs[name].to_list()) for name in names}
    shown = runs.select("policy", *(pl.col(name) / units[name].scale for name in names))
    middles = []
    for place, ((policy,), own) in enumerate(shown.group_by("policy", maintain_order=True)):
        (x, x_reach), (y, y_reach) = (mean_and_half_width(own[name].to_numpy()) for name in names)
        middles.append((x, y))
        style = {**look(place), "linestyle": "none", "elinewidth": 0.8, "markersize": 5}
        axes.errorbar(x, y, xerr=x_reach, yerr=y_reach, label=str(policy), **style)
    waits, energies = np.array(middles, dtype=np.float64).T
    best = front(waits, -energies)
    if len(best) > 1:
        axes.plot(waits[best], energies[best], **_LINE, label=FRONT)
    _set_scale(axes, waits)
    axes.margins(x=0.08, y=0.12)
    _keep_in_proportion(axes, energies)
    axes.locator_params(axis="y", nbins=5)
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.set_xlabel(f"mean wait ({units['mean_wait_s'].name})")
    axes.set_ylabel(f"energy ({units['energy_j'].name})")


def _keep_in_proportion(axes: Axes, energies: npt.NDArray[np.float64]) -> None:
    """So that a difference of next to nothing does not fill the panel."""
    low, high = axes.get_ylim()
    middle, least = float(energies.mean()), _LEAST_SPAN_RATIO * float(energies.mean())
    if high - low < least:
        axes.set_ylim(middle - least / 2, middle + least / 2)


def _set_scale(axes: Axes, waits: npt.NDArray[np.float64]) -> None:
    if waits.min() > 0 and waits.max() > _FAR_APART * waits.min():
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
    else:
        axes.locator_params(axis="x", nbins=5)
        axes.ticklabel_format(axis="x", useOffset=False)

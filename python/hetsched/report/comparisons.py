"""Comparisons of policies: panels of ratios, of energy against wait and of waits, and figures of gain against cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis import METRICS, mean_and_half_width
from hetsched.analysis.repetitions import check_alike, independent
from hetsched.report import canvas
from hetsched.report.canvas import COLOURS, DASHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

ENERGY_WAIT_IN, WAITS_IN = 1.8, 1.6
"""Heights of the panels of energy against wait, and of waits, without the names of the policies."""

FRONT = "best trade-offs: less energy only at longer waits"
_FRONT = "not beaten in both"
_LEAST_SPAN_RATIO = 0.02
_SAME_PLACE = 0.03
_FROM_ZERO = 0.3
"""An axis whose lowest value is less than this share of the highest begins at 0."""

_LINE: dict[str, Any] = {"color": COLOURS["black"], "linewidth": 0.8, "linestyle": DASHES[2], "zorder": 1}
_FAR_APART = 20.0
"""From this ratio of longest to shortest wait on, the axis is logarithmic, so that the others stay apart."""

_ROW_IN = 2.1
_WORDS_RATIO = 0.1
"""Height of a line of words as a share of an axis of energies."""


def draw_energy_against_wait(axes: Axes, runs: pl.DataFrame) -> None:
    """Draw a dot a policy, and a line along the policies that no other beats in both."""
    names = ("mean_wait_s", "energy_j")
    check_alike(runs)
    runs, _ = independent(runs)
    units = {name: METRICS[name].unit_for(runs[name].to_list()) for name in names}
    shown = runs.select("policy", *(pl.col(name) / units[name].scale for name in names))
    policies = shown["policy"].unique(maintain_order=True).to_list()
    found = [
        [mean_and_half_width(shown.filter(policy=policy)[name].to_numpy()) for name in names] for policy in policies
    ]
    middles = np.array([[mean for mean, _ in own] for own in found], dtype=np.float64)
    at = _on_axes(middles)
    for place, (policy, ((x, x_reach), (y, y_reach))) in enumerate(zip(policies, found, strict=True)):
        # Those that lie on the same place are larger the farther behind they are.
        later = (np.abs(at[place + 1 :] - at[place]) < _SAME_PLACE).all(axis=1).sum()
        style = {**canvas.look(place), "linestyle": "none", "markersize": 5 + 2.5 * later}
        # No wait is below 0.
        reach = None if x_reach is None else [[min(x_reach, x)], [x_reach]]
        canvas.interval(axes, x, y, xerr=reach, yerr=y_reach, label=str(policy), **style)
    waits, energies = middles.T
    best = front(waits, -energies)
    if len(best) > 1:
        axes.plot(waits[best], energies[best], **_LINE, label=FRONT)
    axes.set_xlabel(f"mean wait ({units['mean_wait_s'].name})")
    _set_scale(axes, waits, units["mean_wait_s"].scale)
    axes.margins(x=0.08, y=0.12)
    set_energies(axes, energies)
    axes.locator_params(axis="y", nbins=5)
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.set_ylabel(f"energy ({units['energy_j'].name})")


def _on_axes(middles: Floats) -> Floats:
    """Waits and energies in shares of their axes."""
    waits, energies = middles.T
    x = np.log(waits) if is_wide(waits) else waits
    y_span = max(np.ptp(energies), _LEAST_SPAN_RATIO * energies.mean(), 1e-300)
    return np.column_stack((x / max(np.ptp(x), 1e-300), energies / y_span))


def is_wide(waits: Floats) -> bool:
    """True if an axis of these waits is logarithmic."""
    return bool(waits.min() > 0 and waits.max() > _FAR_APART * waits.min())


def set_energies(axes: Axes, energies: Floats) -> None:
    """Limit the axis so that a negligible difference does not fill the panel; say so where it does not begin at 0."""
    low, high = axes.get_ylim()
    middle, least = float(energies.mean()), _LEAST_SPAN_RATIO * float(energies.mean())
    if high - low < least:
        low, high = middle - least / 2, middle + least / 2
    axes.set_ylim(0.0 if low < _FROM_ZERO * high else low, high)
    if axes.get_ylim()[0] > 0:
        # Two slanted strokes across the foot of the axis, and the same in words.
        for height in (0.02, 0.05):
            ends = [-0.015, 0.015], [height - 0.015, height + 0.015]
            axes.plot(*ends, transform=axes.transAxes, color=COLOURS["black"], clip_on=False, linewidth=0.8)
        # The words have a line of their own, below all dots.
        low, high = axes.get_ylim()
        axes.set_ylim(low - _WORDS_RATIO * (high - low), high)
        axes.text(0.03, 0.02, "energy axis does not start at 0", transform=axes.transAxes, va="bottom", color="#555555")


def _set_scale(axes: Axes, waits: Floats, scale: float) -> None:
    """A linear axis in one unit, or a logarithmic one with ticks in everyday units."""
    if is_wide(waits):
        axes.set_xscale("log")
        ticks = canvas.length_ticks(waits.min() / 3 * scale, waits.max() * 3 * scale)
        canvas.write_ticks(axes.xaxis, [(at / scale, text) for at, text in ticks])
        axes.minorticks_off()
        axes.set_xlabel("mean wait")
    else:
        axes.locator_params(axis="x", nbins=5)
        axes.ticklabel_format(axis="x", useOffset=False)


def wait_names(curves: Mapping[str, pl.DataFrame]) -> list[str]:
    """Each policy with the share of its jobs that did not wait."""
    return [f"{policy}: {_not_waiting(curve)}" for policy, curve in curves.items()]


def _not_waiting(curve: pl.DataFrame) -> str:
    if not len(curve):
        return "no job started"
    percent = 100 * (1 - curve["longer_ratio"][0])
    # 100 % are all of them, not nearly all.
    decimals = 0 if 1 <= percent <= 99 or percent in (0, 100) else 1
    return f"{min(percent, 99.9) if percent < 100 else percent:.{decimals}f} % did not wait"


def draw_waits(axes: Axes, curves: Mapping[str, pl.DataFrame]) -> None:
    """Draw a curve a policy: the share of jobs that wait longer than a time."""
    longest_s = max((float(curve["wait_s"][-1]) for curve in curves.values() if len(curve)), default=0.0)
    if longest_s <= 0:
        has_started = any(len(curve) for curve in curves.values())
        _write_instead(axes, "no job waited" if has_started else "no job started")
    canvas.write_lengths(axes, 1.0, max(longest_s, 10.0) * 1.1)
    for place, (name, curve) in enumerate(zip(wait_names(curves), curves.values(), strict=True)):
        # The step at wait 0 lies left of a logarithmic axis; from there to a second its value holds.
        # Marks lie apart from each other, so that equal curves show all of theirs.
        style = {**canvas.look(place), "markersize": 3.5, "markevery": ((0.05 + 0.03 * place) % 0.25, 0.25)}
        canvas.step(axes, curve["wait_s"].clip(1e-3), 100 * curve["longer_ratio"], label=name, **style)
    _set_shares(axes, [100 * curve["longer_ratio"].to_numpy() for curve in curves.values() if len(curve)], longest_s)
    axes.set_xlabel("wait")
    axes.set_ylabel("jobs that wait\nlonger (%)")


def _set_shares(axes: Axes, shares: Sequence[Floats], longest_s: float) -> None:
    """Limit the axis of shares; logarithmic where few jobs wait under one policy and many under another."""
    axes.set_ylim(0, 100) if longest_s <= 0 else axes.set_ylim(bottom=0)
    highest = [float(own[0]) for own in shares if own[0] > 0]
    if highest and max(highest) > _FAR_APART / 2 * min(highest):
        # Down to a tenth of the curve that lies lowest, and of that no further than its own last step.
        lowest = max(min(float(own[own > 0].min()) for own in shares if own[0] > 0), 0.1 * min(highest))
        axes.set_yscale("log")
        axes.set_ylim(10 ** np.floor(np.log10(lowest)), 1.2 * max(highest))
        axes.yaxis.set_major_formatter("{x:g}")


def _write_instead(axes: Axes, sentence: str) -> None:
    """Write a sentence in the middle of axes without data."""
    axes.grid(visible=False)
    axes.text(0.5, 0.5, sentence, transform=axes.transAxes, ha="center", va="center_baseline")


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
    return canvas.draw_panels(points, _draw_pareto, row_in=_ROW_IN, title=title, last=_FRONT)


def _draw_pareto(axes: Axes, own: pl.DataFrame, places: Mapping[str, int]) -> None:
    middles = []
    for (label,), rows in own.group_by("label", maintain_order=True):
        x, x_reach = mean_and_half_width(rows["x"].to_numpy())
        y, y_reach = mean_and_half_width(rows["y"].to_numpy())
        middles.append((x, y))
        style = {**canvas.look(places[str(label)]), "linestyle": "none"}
        canvas.interval(axes, x, y, xerr=x_reach, yerr=y_reach, elinewidth=0.6, label=label, **style)
    xs, ys = np.array(middles, dtype=np.float64).T
    best = front(xs, ys)
    axes.plot(xs[best], ys[best], color=COLOURS["grey"], linewidth=1.0, zorder=1, label=_FRONT)
    axes.set_xscale("log", subs=(2, 5))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    # Numbers of both kinds of ticks stand at one height.
    axes.tick_params(axis="x", which="both", length=3.0, pad=3.0)

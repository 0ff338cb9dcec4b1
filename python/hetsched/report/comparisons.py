"""Comparisons of policies: panels of ratios, of energy against wait and of waits, and figures of gain against cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis import METRICS, mean_and_half_width
from hetsched.analysis.repetitions import check_alike, independent
from hetsched.report.canvas import COLOURS, DASHES, look, new_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

_AXES_IN = 2.1
"""Width left by the labels of the metrics."""

_DIGIT_IN = 0.072
_GAP_IN = 0.12
_MOST_DECIMALS = 6
_NARROWEST = 1e-5
"""A shorter axis shows nothing and has endless numbers below it."""

ENERGY_WAIT_IN = 2.0
"""Height of the panel of energy against wait."""

FRONT = "not beaten in both"
_LEAST_SPAN_RATIO = 0.02
_LINE: dict[str, Any] = {"color": COLOURS["black"], "linewidth": 0.8, "linestyle": DASHES[2], "zorder": 1}
_FAR_APART = 20.0
"""From this ratio of longest to shortest wait on, the axis is logarithmic, so that the others stay apart."""

_ROW_IN = 2.1
_FOOT_IN = 0.6
_LINE_IN = 0.15
_LEGEND_COLUMNS = 5

WAIT_TICKS = (
    *((1.0, "1 s"), (10.0, "10 s"), (60.0, "1 min"), (600.0, "10 min"), (3600.0, "1 h"), (36000.0, "10 h")),
    *((86400.0, "1 d"), (864000.0, "10 d"), (8640000.0, "100 d"), (86400000.0, "1000 d")),
)


def ratios_height_in(table: pl.DataFrame, shown: Sequence[str]) -> float:
    """Height of the panel of ratios: four lines of text a metric, or a line a policy."""
    return 0.55 + table["metric"].n_unique() * max(0.62, 0.1 + 0.16 * len(shown))


def draw_ratios(axes: Axes, table: pl.DataFrame, shown: Sequence[str], baseline: str) -> None:
    """Draw a row a metric, in it a dot a policy with its ratio; `table` as `hetsched.analysis.compare` gives it."""
    metrics = table["metric"].unique(maintain_order=True).to_list()
    policies = table["policy"].unique(maintain_order=True).to_list()
    step = 0.72 / max(len(shown), 1)
    texts = {metric: _texts_of(table, metric, shown) for metric in metrics}
    for order, policy in enumerate(shown):
        own = table.filter(pl.col("policy") == policy)
        rows = np.arange(len(metrics)) + (order - (len(shown) - 1) / 2) * step
        ratio = own["ratio"].fill_null(np.nan).to_numpy()
        error = own["ratio_half_width_95"].fill_null(0.0).to_numpy()
        dot = {**look(policies.index(policy)), "linestyle": "none", "markersize": 4, "elinewidth": 1}
        axes.errorbar(ratio, rows, xerr=error, label=policy, **dot)
        for metric, x, y, half_width in zip(metrics, ratio, rows, error, strict=True):
            _write_ratio(axes, texts[metric][order], (x, y), half_width)
    axes.axvline(1.0, color=COLOURS["black"], linewidth=0.8, zorder=1)
    _set_limits(
        axes,
        table.filter(pl.col("policy").is_in(shown)),
        max(len(text) for own in texts.values() for text in own) if shown else 0,
    )
    axes.set_yticks(range(len(metrics)), [_judged(table, metric, baseline) for metric in metrics])
    axes.set_ylim(len(metrics) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"ratio to {baseline}")


def _texts_of(table: pl.DataFrame, metric: str, shown: Sequence[str]) -> list[str]:
    own = {row["policy"]: row["ratio"] for row in table.filter(pl.col("metric") == metric).iter_rows(named=True)}
    return ratio_texts([own[policy] for policy in shown])


def ratio_texts(ratios: Sequence[float | None]) -> list[str]:
    """Ratios of one metric as they stand beside their dots: three decimals, more where all would read 1.000."""
    farthest = max((round(abs(ratio - 1), 12) for ratio in ratios if ratio is not None), default=0.0)
    decimals = 3
    if 1e-9 < farthest < 5e-3:
        decimals = min(max(1 - math.floor(math.log10(farthest)), 3), _MOST_DECIMALS)
    return ["" if r is None else f"{r:#.3g}" if r < 0.1 else f"{r:.{decimals}f}" for r in ratios]


def _write_ratio(axes: Axes, text: str, place: tuple[float, float], half_width: float) -> None:
    """The ratio beside its dot, on the side away from the line at 1."""
    ratio, row = place
    if np.isfinite(ratio):
        side, align = (1, "left") if ratio >= 1 else (-1, "right")
        end = (ratio + side * half_width, row)
        axes.annotate(text, end, (5 * side, 0), textcoords="offset points", ha=align, va="center_baseline")


def _set_limits(axes: Axes, table: pl.DataFrame, longest: int) -> None:
    """Room for the numbers on both sides; logarithmic where ratios lie a factor of ten from 1."""
    ratio, error = (table[name].cast(pl.Float64).to_numpy() for name in ("ratio", "ratio_half_width_95"))
    error = np.nan_to_num(error)[np.isfinite(ratio)]
    ratio = ratio[np.isfinite(ratio)]
    low, high = min([1.0, *(ratio - error)]), max([1.0, *(ratio + error)])
    label = (longest * _DIGIT_IN + _GAP_IN) / _AXES_IN
    left, right = (label if has_numbers else 0.06 for has_numbers in ((ratio < 1).any(), (ratio >= 1).any()))
    if low > 0 and (min(ratio, default=1.0) < 0.1 or high > 10):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlim(*np.exp(_widened(np.log(low), np.log(high), left, right)))
    else:
        axes.set_xlim(*_widened(low, high, left, right))
        # Numbers close to each other are long.
        axes.locator_params(axis="x", nbins=5 if high - low > 0.01 else 3)
        axes.ticklabel_format(axis="x", useOffset=False)


def _widened(low: float, high: float, left: float, right: float) -> Floats:
    """Ends of an axis whose shares `left` and `right` lie outside of `low` and `high`."""
    if high - low < _NARROWEST:
        low, high = low - 0.01, high + 0.01
    whole = (high - low) / (1 - left - right)
    return np.array([low - left * whole, high + right * whole])


def _judged(table: pl.DataFrame, key: str, baseline: str) -> str:
    """Label of a row: the metric's name, which way is good, and the value of 1."""
    metric = METRICS[key]
    own = table.filter((pl.col("policy") == baseline) & (pl.col("metric") == key))["mean"].to_list()
    lines = [_in_two(metric.title)]
    if metric.better != "neither":
        lines.append(f"({metric.better} is better)")
    if own and own[0] is not None:
        lines.append(f"{'1 =' if own[0] else 'no ratio to'} {metric.text(own[0])}")
    return "\n".join(lines)


def _in_two(title: str, *, most: int = 20) -> str:
    """A long title on two lines of about the same length."""
    if len(title) <= most:
        return title
    breaks = [place for place, letter in enumerate(title) if letter == " "]
    middle = min(breaks, key=lambda place: abs(place - len(title) / 2), default=len(title))
    return f"{title[:middle]}\n{title[middle + 1 :]}"


def draw_energy_against_wait(axes: Axes, runs: pl.DataFrame) -> None:
    """Draw a dot a policy, and a line along the policies that no other beats in both."""
    names = ("mean_wait_s", "energy_j")
    check_alike(runs)
    runs, _ = independent(runs)
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


def _keep_in_proportion(axes: Axes, energies: Floats) -> None:
    """Widen the axis, so that a negligible difference does not fill the panel."""
    low, high = axes.get_ylim()
    middle, least = float(energies.mean()), _LEAST_SPAN_RATIO * float(energies.mean())
    if high - low < least:
        axes.set_ylim(middle - least / 2, middle + least / 2)


def _set_scale(axes: Axes, waits: Floats) -> None:
    if waits.min() > 0 and waits.max() > _FAR_APART * waits.min():
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
    else:
        axes.locator_params(axis="x", nbins=5)
        axes.ticklabel_format(axis="x", useOffset=False)


def draw_waits(axes: Axes, curves: Mapping[str, pl.DataFrame]) -> None:
    """Draw a curve a policy: the share of jobs that wait longer than a time."""
    longest_s = max((float(curve["wait_s"][-1]) for curve in curves.values() if len(curve)), default=0.0)
    if longest_s <= 0:
        has_started = any(len(curve) for curve in curves.values())
        _write_instead(axes, "no job waited" if has_started else "no job started")
    _label_waits(axes, longest_s)
    for place, (policy, curve) in enumerate(curves.items()):
        no_wait = f"{100 * (1 - curve['longer_ratio'][0]):.0f} % did not wait" if len(curve) else "no job started"
        # The step at wait 0 lies left of a logarithmic axis; from there to a second its value holds.
        axes.step(
            curve["wait_s"].clip(1e-3).to_numpy(),
            100 * curve["longer_ratio"].to_numpy(),
            where="post",
            markersize=3.5,
            # Apart from each other, so that equal curves show all their marks.
            markevery=((0.05 + 0.03 * place) % 0.25, 0.25),
            label=f"{policy}: {no_wait}",
            **look(place),
        )
    axes.set_ylim(bottom=0)
    if longest_s <= 0:
        axes.set_ylim(0, 100)
    axes.set_xlabel("wait")
    axes.set_ylabel("jobs that wait longer (%)")


def _write_instead(axes: Axes, sentence: str) -> None:
    """Write a sentence in the middle of axes without data."""
    axes.grid(visible=False)
    axes.text(0.5, 0.5, sentence, transform=axes.transAxes, ha="center", va="center_baseline")


def _label_waits(axes: Axes, longest_s: float) -> None:
    """Make x a logarithmic axis of waits, from a second to `longest_s`, with ticks in everyday units."""
    end_s = max(longest_s, 10.0) * 1.1
    axes.set_xscale("log")
    axes.set_xlim(1.0, end_s)
    ticks = [(seconds, text) for seconds, text in WAIT_TICKS if seconds <= end_s]
    # At most six labels fit beside each other.
    kept = ticks if len(ticks) <= 6 else ticks[::2]
    axes.set_xticks([seconds for seconds, _ in kept], [text for _, text in kept])
    axes.set_xticks([seconds for seconds, _ in ticks], minor=True)
    axes.xaxis.set_minor_formatter("")


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
                _draw_pareto(one, points.filter(row=row, column=column), places)
            across[0].set_ylabel(row)
        for one, column in zip(axes[-1], columns, strict=True):
            one.set_xlabel(column)
        figure.suptitle(title, fontsize=8.5)
        handles, names = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=_LEGEND_COLUMNS, columnspacing=1.0)
    return figure


def _draw_pareto(axes: Axes, own: pl.DataFrame, places: dict[str, int]) -> None:
    middles = []
    for (label,), rows in own.group_by("label", maintain_order=True):
        x, x_reach = mean_and_half_width(rows["x"].to_numpy())
        y, y_reach = mean_and_half_width(rows["y"].to_numpy())
        middles.append((x, y))
        style = {**look(places[str(label)]), "linestyle": "none"}
        axes.errorbar(x, y, xerr=x_reach, yerr=y_reach, elinewidth=0.6, markersize=4, label=label, **style)
    xs, ys = np.array(middles, dtype=np.float64).T
    best = front(xs, ys)
    axes.plot(xs[best], ys[best], color=COLOURS["grey"], linewidth=1.0, zorder=1, label=FRONT)
    axes.set_xscale("log", subs=(2, 5))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")

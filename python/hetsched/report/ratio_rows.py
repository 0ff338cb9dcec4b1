"""The panel of ratios: a row a metric, in it a dot a policy with its ratio beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis import METRICS
from hetsched.report.canvas import COLOURS, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_ratios", "ratio_texts", "ratios_height_in"]

_AXES_IN = 2.1
"""Of the figure's width, what the labels of the metrics leave."""

_DIGIT_IN = 0.072
_GAP_IN = 0.12
_MOST_DECIMALS = 6
_NARROWEST = 1e-5
"""Of what lies closer together nothing is seen, and the numbers below the axis would be endless."""


def ratios_height_in(table: pl.DataFrame, shown: Sequence[str]) -> float:
    """How high the panel is, in inches.

    Parameters
    ----------
    table, shown
        As in `draw_ratios`.
    """
    # Four lines of text, or a line a policy.
    return 0.55 + table["metric"].n_unique() * max(0.62, 0.1 + 0.16 * len(shown))


def draw_ratios(axes: Axes, table: pl.DataFrame, shown: Sequence[str], baseline: str) -> None:
    """Draw the rows, with what 1 stands for beside each.

    Parameters
    ----------
    axes
        Where.
    table
        As `hetsched.analysis.compare` gives it.
    shown
        The policies that get a dot.
    baseline
        The policy whose ratios are 1.
    """
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
    """Ratios of one metric as they stand beside their dots: three decimals, more where all would read 1.000.

    Parameters
    ----------
    ratios
        None where there is none.

    Examples
    --------
    >>> ratio_texts([0.928, 1.25, None, 0.00727]), ratio_texts([1.00013, 1.0, 0.99998])
    (['0.928', '1.250', '', '0.00727'], ['1.00013', '1.00000', '0.99998'])
    """
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
    """Room for the numbers on both sides; logarithmic where ratios lie a factor of ten from 1.

    Parameters
    ----------
    axes
        Whose x axis.
    table
        The rows that have dots.
    longest
        Letters of the longest number.
    """
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


def _widened(low: float, high: float, left: float, right: float) -> npt.NDArray[np.float64]:
    """The ends of an axis whose shares `left` and `right` lie outside of `low` and `high`.

    Examples
    --------
    >>> _widened(1.0, 3.0, 0.25, 0.25).tolist()
    [0.0, 4.0]
    """
    if high - low < _NARROWEST:
        low, high = low - 0.01, high + 0.01
    whole = (high - low) / (1 - left - right)
    return np.array([low - left * whole, high + right * whole])


def _judged(table: pl.DataFrame, key: str, baseline: str) -> str:
    """What the row shows: the metric's name, which way is good, and what its 1 stands for."""
    metric = METRICS[key]
    own = table.filter((pl.col("policy") == baseline) & (pl.col("metric") == key))["mean"].to_list()
    lines = [_in_two(metric.title)]
    if metric.better != "neither":
        lines.append(f"({metric.better} is better)")
    if own and own[0] is not None:
        lines.append(f"{'1 =' if own[0] else 'no ratio to'} {metric.text(own[0])}")
    return "\n".join(lines)


def _in_two(title: str, *, most: int = 20) -> str:
    r"""A long title on two lines of about the same length.

    Examples
    --------
    >>> _in_two("mean bounded slowdown"), _in_two("energy")
    ('mean bounded\nslowdown', 'energy')
    """
    if len(title) <= most:
        return title
    breaks = [place for place, letter in enumerate(title) if letter == " "]
    middle = min(breaks, key=lambda place: abs(place - len(title) / 2), default=len(title))
    return f"{title[:middle]}\n{title[middle + 1 :]}"

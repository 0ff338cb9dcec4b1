"""The panel of ratios: a row a metric, in it a dot a policy, on a logarithmic axis around the baseline's 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis import METRICS
from hetsched.report.canvas import COLOURS, interval, look, write_rows, write_ticks
from hetsched.report.lettering import WIDTH_IN, fitted, width_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

_GAP_IN, _EDGE_IN = 0.12, 0.1
_LABEL_IN = 1.35
"""Most width of the names of metrics."""

_AXES_IN = WIDTH_IN - _LABEL_IN - 0.2

_TEXT_IN, _PAD_IN = 0.14, 0.1
_FARTHEST = 2.5
"""Ratios farther from 1 than this factor are arrows at the edge, so that the others do not all lie on the line at 1."""

_ARROW_PT = 6.5
_CLOSEST = 1.01
"""A shorter axis would make negligible differences look large."""

_RATIO_TICKS = [0.25, 0.5, 1.0, 2.0, 4.0]
_LONGEST_PANEL_IN = 4.3
_ARROWS = {"lower": " ↓", "higher": " ↑", "neither": ""}


def ratios_height_in(table: pl.DataFrame, baseline: str) -> float:
    """Height of the panel of ratios: as many lines as names or ratios take, but no more than a page has."""
    shown = table.filter(pl.col("policy") != baseline)["policy"].n_unique()
    lines = sum(
        max(len(_judged(table, key, baseline).split("\n")) * _TEXT_IN, _TEXT_IN * shown) + _PAD_IN
        for key in table["metric"].unique()
    )
    return 0.5 + min(lines, max(_LONGEST_PANEL_IN, 0.05 * shown * table["metric"].n_unique()))


def draw_ratios(axes: Axes, table: pl.DataFrame, baseline: str) -> None:
    """Draw a row a metric, in it a dot a policy with its ratio.

    `table` is as `hetsched.analysis.ratios_to_baseline` gives it. The axis is logarithmic: half and twice are as far
    from 1.
    """
    metrics = table["metric"].unique(maintain_order=True).to_list()
    policies = table["policy"].unique(maintain_order=True).to_list()
    shown = [policy for policy in policies if policy != baseline]
    dots = {policy: _Ratios.of(table.filter(policy=policy), table.filter(policy=baseline)) for policy in shown}
    ends = _set_ratio_limits(axes, list(dots.values()))
    step = 0.8 / max(len(shown), 1)
    has_texts = (ratios_height_in(table, baseline) - 0.5) / len(metrics) * step >= 0.75 * _TEXT_IN
    for place, (policy, own) in enumerate(dots.items()):
        rows = np.arange(len(metrics), dtype=np.float64) + (place - (len(shown) - 1) / 2) * step
        _draw_dots(axes, own if has_texts else own.unnamed(), rows, ends, label=policy, **look(policies.index(policy)))
    title = f"ratio to {baseline}"
    fits = width_in(title) <= _AXES_IN
    axes.axvline(1.0, color=COLOURS["black"], linewidth=0.8, zorder=1, label=None if fits else f"baseline: {baseline}")
    write_rows(axes, [_judged(table, metric, baseline) for metric in metrics])
    axes.set_ylim(len(metrics) - 0.5, -0.5)
    # An arrow at the left edge reaches over it.
    axes.tick_params(axis="y", pad=_ARROW_PT)
    for edge in np.arange(len(metrics) - 1) + 0.5:
        axes.axhline(edge, color="#DDDDDD", linewidth=0.5, zorder=0)
    directions = {METRICS[key].better for key in metrics}
    better = " and ".join(f"{_ARROWS[one].strip()} {one}" for one in ("lower", "higher") if one in directions)
    lines = [title if fits else "ratio to the baseline", *([f"{better} is better"] if better else [])]
    axes.set_xlabel("\n".join(lines), parse_math=False)


def _draw_dots(axes: Axes, own: _Ratios, rows: Floats, ends: tuple[float, float], label: str, **style: Any) -> None:
    """A policy's dots with their intervals and numbers; too far from 1, an arrow at the edge and the number."""
    style["linestyle"] = "none"
    is_off = _is_off(own.ratio)
    edge = np.where(own.ratio < 1, *ends)
    at = np.where(is_off, edge, own.ratio)
    reach = np.abs(np.clip([own.ratio - own.error, own.ratio + own.error], 1 / _FARTHEST, _FARTHEST) - at)
    interval(axes, np.where(is_off, np.nan, at), rows, xerr=np.where(is_off, 0.0, reach), label=label, **style)
    for mark, far, side in (("<", 1 / _FARTHEST, -1), (">", _FARTHEST, 1)):
        is_beyond = is_off & ((own.ratio < 1) == (side < 0))
        is_cut = ~is_off & (side * (own.ratio + side * own.error) > side * far)
        if is_beyond.any():
            axes.plot(edge[is_beyond], rows[is_beyond], mark, color=style["color"], markersize=5, clip_on=False)
        if is_cut.any():
            axes.plot(np.full(is_cut.sum(), far), rows[is_cut], mark, color=style["color"], markersize=3)
    for place, text in enumerate(own.texts):
        if text:
            _write_ratio(axes, text, (own.ratio[place], at[place], rows[place]), reach[:, place])


@dataclass(frozen=True)
class _Ratios:
    """A policy's ratios, half the widths of their intervals, and their texts, a place a metric."""

    ratio: Floats
    error: Floats
    texts: list[str]

    @classmethod
    def of(cls, own: pl.DataFrame, base: pl.DataFrame) -> _Ratios:
        """A ratio to 0 is endless, and written as the policy's own value; of 0 to 0 it is 1."""
        ratio = own["ratio"].fill_null(np.nan).to_numpy().copy()
        texts = [ratio_text(value) for value in ratio]
        for place, (key, value, one) in enumerate(zip(own["metric"], own["mean"], base["mean"], strict=True)):
            if value is not None and one == 0:
                ratio[place] = 1.0 if value == 0 else np.inf
                texts[place] = METRICS[key].text(value)
        return cls(ratio, own["ratio_half_width_95"].fill_null(0.0).to_numpy(), texts)

    def unnamed(self) -> _Ratios:
        """The same without texts, for which many policies leave no room."""
        return _Ratios(self.ratio, self.error, [""] * len(self.texts))


def ratio_text(ratio: float) -> str:
    """A ratio as it stands next to its dot: three decimals, from 10 on as many as make three digits."""
    if not np.isfinite(ratio):
        return ""
    if 0 < ratio < 0.0005:
        return "< 0.001"
    return f"{ratio:.3f}" if ratio < 9.9995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:,.0f}"


def _write_ratio(axes: Axes, text: str, place: tuple[float, float, float], reach: Floats) -> None:
    """The ratio next to its dot, on the side away from the line at 1; of an arrow on the side of the line."""
    ratio, at, row = place
    side = 1 if ratio >= 1 else -1
    is_off = ratio != at
    x = at if is_off else at + side * reach[max(side, 0)]
    shift = (-7 if is_off else 5) * side
    axes.annotate(
        text,
        (x, row),
        (shift, 0),
        textcoords="offset points",
        ha="left" if shift > 0 else "right",
        va="center_baseline",
    )


def _set_ratio_limits(axes: Axes, dots: Sequence[_Ratios]) -> tuple[float, float]:
    """Set a logarithmic axis with room for the numbers on both sides; gives the ratios at its ends."""
    ends = [own.ratio + side * own.error for own in dots for side in (-1, 0, 1)]
    known = np.concatenate([*ends, [1.0]])
    at = np.log(np.clip(known[~np.isnan(known)], 1 / _FARTHEST, _FARTHEST))
    low, high = at.min(), at.max()
    if high - low < np.log(_CLOSEST):
        low, high = -np.log(_CLOSEST), np.log(_CLOSEST)
    least = _EDGE_IN / _AXES_IN
    sides = [_room(dots, is_left=True) or least, _room(dots, is_left=False) or least]
    limits = np.exp(_widened(low, high, *sides))
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 -- slow to import

    # On a long axis, steps that look equal; on a short one equal steps.
    ticks = _RATIO_TICKS if limits[1] > 4 * limits[0] else [*MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(*limits)]
    ticks = [tick for tick in ticks if limits[0] <= tick <= limits[1]]
    write_ticks(axes.xaxis, [(tick, f"{tick:g}") for tick in ticks])
    axes.minorticks_off()
    return float(limits[0]), float(limits[1])


def _is_off(ratio: Floats) -> npt.NDArray[np.bool_]:
    """True for ratios too far from 1 for a place on the axis."""
    return (ratio < 1 / _FARTHEST) | (ratio > _FARTHEST)


def _room(dots: Sequence[_Ratios], *, is_left: bool) -> float:
    """Share of the axis that numbers beyond the dots on one side take."""
    texts = [
        text
        for own in dots
        for ratio, text in zip(own.ratio, own.texts, strict=True)
        if (ratio < 1) == is_left and not _is_off(ratio)
    ]
    return (max(map(width_in, texts)) + _GAP_IN) / _AXES_IN if any(texts) else 0.0


def _widened(low: float, high: float, left: float, right: float) -> Floats:
    """Ends of an axis whose shares `left` and `right` lie outside of `low` and `high`."""
    whole = (high - low) / (1 - left - right)
    return np.array([low - left * whole, high + right * whole])


def _judged(table: pl.DataFrame, key: str, baseline: str) -> str:
    """Label of a row: the metric's name with an arrow to the better side, and the baseline's value."""
    metric = METRICS[key]
    own = table.filter((pl.col("policy") == baseline) & (pl.col("metric") == key))["mean"].to_list()
    arrow = _ARROWS[metric.better]
    lines = fitted(metric.title, _LABEL_IN - width_in(arrow))
    lines[-1] += arrow
    if own and own[0] is not None:
        lines.append(f"1 = {metric.text(own[0])}" if own[0] else "no ratio to 0")
    return "\n".join(lines)

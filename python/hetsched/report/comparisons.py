"""Comparisons of policies: panels of ratios, of energy against wait and of waits, and figures of gain against cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis import METRICS, mean_and_half_width
from hetsched.analysis.repetitions import check_alike, independent
from hetsched.report.canvas import (
    COLOURS,
    DASHES,
    WIDTH_IN,
    fitted,
    interval,
    look,
    new_grid,
    step,
    width_in,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

_GAP_IN, _EDGE_IN = 0.12, 0.1
_LABEL_IN = 1.35
"""Most width of the names of metrics."""

_AXES_IN = WIDTH_IN - _LABEL_IN - 0.2

_TEXT_IN, _PAD_IN = 0.14, 0.1
_FARTHEST = 2.5
"""Ratios farther from 1 than this factor are arrows at the edge, so that the others do not all lie on the line at 1."""

_CLOSEST = 1.01
"""A shorter axis would make negligible differences look large."""

_RATIO_TICKS = [0.25, 0.5, 1.0, 2.0, 4.0]
_LONGEST_PANEL_IN = 4.3
_ARROWS = {"lower": " ↓", "higher": " ↑", "neither": ""}

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
_FOOT_IN = 0.6
_LINE_IN = 0.15
_LEGEND_COLUMNS = 5

WAIT_TICKS = (
    *((1.0, "1 s"), (10.0, "10 s"), (60.0, "1 min"), (600.0, "10 min"), (3600.0, "1 h"), (36000.0, "10 h")),
    *((86400.0, "1 d"), (864000.0, "10 d"), (8640000.0, "100 d"), (86400000.0, "1000 d")),
)


def ratios_height_in(table: pl.DataFrame, baseline: str) -> float:
    """Height of the panel of ratios: as many lines as names or ratios take, but no more than a page has."""
    shown = table.filter(pl.col("policy") != baseline)["policy"].n_unique()
    lines = sum(
        max(len(_judged(table, key, baseline).split("\n")) * _TEXT_IN, _TEXT_IN * shown) + _PAD_IN
        for key in table["metric"].unique()
    )
    return 0.5 + min(lines, max(_LONGEST_PANEL_IN, 0.05 * shown * table["metric"].n_unique()))


def draw_ratios(axes: Axes, table: pl.DataFrame, baseline: str) -> None:
    """Draw a row a metric, in it a dot a policy with its ratio; `table` as `hetsched.analysis.compare` gives it.

    The axis is logarithmic: half and twice are as far from 1.
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
    axes.set_yticks(range(len(metrics)), [_judged(table, metric, baseline) for metric in metrics])
    axes.set_ylim(len(metrics) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
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
    """A ratio as it stands beside its dot: three decimals, from 10 on as many as make three digits."""
    if not np.isfinite(ratio):
        return ""
    if 0 < ratio < 0.0005:
        return "< 0.001"
    return f"{ratio:.3f}" if ratio < 9.9995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:,.0f}"


def _write_ratio(axes: Axes, text: str, place: tuple[float, float, float], reach: Floats) -> None:
    """The ratio beside its dot, on the side away from the line at 1; of an arrow on the side of the line."""
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
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    return float(limits[0]), float(limits[1])


def _is_off(ratio: Floats) -> npt.NDArray[np.bool_]:
    """Whether ratios are too far from 1 for a place on the axis."""
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
        style = {**look(place), "linestyle": "none", "markersize": 5 + 2.5 * later}
        # No wait is below 0.
        reach = None if x_reach is None else [[min(x_reach, x)], [x_reach]]
        interval(axes, x, y, xerr=reach, yerr=y_reach, label=str(policy), **style)
    waits, energies = middles.T
    best = front(waits, -energies)
    if len(best) > 1:
        axes.plot(waits[best], energies[best], **_LINE, label=FRONT)
    axes.set_xlabel(f"mean wait ({units['mean_wait_s'].name})")
    _set_scale(axes, waits, units["mean_wait_s"].scale)
    axes.margins(x=0.08, y=0.12)
    _set_energies(axes, energies)
    axes.locator_params(axis="y", nbins=5)
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.set_ylabel(f"energy ({units['energy_j'].name})")


def _on_axes(middles: Floats) -> Floats:
    """Waits and energies in shares of their axes."""
    waits, energies = middles.T
    x = np.log(waits) if _is_wide(waits) else waits
    y_span = max(np.ptp(energies), _LEAST_SPAN_RATIO * energies.mean(), 1e-300)
    return np.column_stack((x / max(np.ptp(x), 1e-300), energies / y_span))


def _is_wide(waits: Floats) -> bool:
    return bool(waits.min() > 0 and waits.max() > _FAR_APART * waits.min())


def _set_energies(axes: Axes, energies: Floats) -> None:
    """Limit the axis so that a negligible difference does not fill the panel; say so where it does not begin at 0."""
    low, high = axes.get_ylim()
    middle, least = float(energies.mean()), _LEAST_SPAN_RATIO * float(energies.mean())
    if high - low < least:
        low, high = middle - least / 2, middle + least / 2
    axes.set_ylim(0.0 if low < _FROM_ZERO * high else low, high)
    if axes.get_ylim()[0] > 0:
        # Two slanted strokes across the foot of the axis, and the same in words.
        break_at: dict[str, Any] = {
            "transform": axes.transAxes,
            "color": COLOURS["black"],
            "clip_on": False,
            "linewidth": 0.8,
        }
        for height in (0.02, 0.05):
            axes.plot([-0.015, 0.015], [height - 0.015, height + 0.015], **break_at)
        axes.text(0.03, 0.03, "energy axis does not start at 0", transform=axes.transAxes, va="bottom", color="#555555")


def _set_scale(axes: Axes, waits: Floats, scale: float) -> None:
    """A linear axis in one unit, or a logarithmic one with ticks in everyday units."""
    if _is_wide(waits):
        axes.set_xscale("log")
        ticks = [(at / scale, text) for at, text in WAIT_TICKS if waits.min() / 3 <= at / scale <= waits.max() * 3]
        axes.set_xticks([at for at, _ in ticks], [text for _, text in ticks])
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
    _label_waits(axes, longest_s)
    for place, (name, curve) in enumerate(zip(wait_names(curves), curves.values(), strict=True)):
        # The step at wait 0 lies left of a logarithmic axis; from there to a second its value holds.
        # Marks lie apart from each other, so that equal curves show all of theirs.
        marks = {"markersize": 3.5, "markevery": ((0.05 + 0.03 * place) % 0.25, 0.25)}
        step(axes, curve["wait_s"].clip(1e-3), 100 * curve["longer_ratio"], label=name, **marks, **look(place))
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
        write_title(figure, title)
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
        interval(axes, x, y, xerr=x_reach, yerr=y_reach, elinewidth=0.6, label=label, **style)
    xs, ys = np.array(middles, dtype=np.float64).T
    best = front(xs, ys)
    axes.plot(xs[best], ys[best], color=COLOURS["grey"], linewidth=1.0, zorder=1, label=_FRONT)
    axes.set_xscale("log", subs=(2, 5))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")

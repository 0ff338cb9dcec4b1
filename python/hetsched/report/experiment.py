"""A published experiment's table, for a terminal, and its figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl
from rich.table import Table
from rich.text import Text

from hetsched.analysis import mean_and_half_width
from hetsched.report.canvas import COLOURS, draw_panels, interval, look, new_figure, write_names, write_rows
from hetsched.report.lettering import WIDTH_IN, legend, named, rows_in
from hetsched.report.tables import new_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_GRID_ROW_IN = 1.45
_BESIDE_IN = 0.6
"""Width that a panel leaves to what stands left of its axes."""
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
    return draw_panels(curves, _draw_panel, row_in=_GRID_ROW_IN, title=title, x_label=x_label, last=_PAPER)


def _draw_panel(axes: Axes, own: pl.DataFrame, places: Mapping[str, int]) -> None:
    for (label,), rows in own.group_by("label", maintain_order=True):
        x, mean, half_width = estimates(rows)
        style = look(places[str(label)])
        if not own["is_joined"][0]:
            # Side by side around the place, so that equal values stay apart.
            x += (places[str(label)] - (len(places) - 1) / 2) * _WIDE / len(places)
            style["linestyle"] = "none"
        # No bars in the legend where there are none to see.
        reach = half_width if half_width.any() else None
        interval(axes, x, mean, yerr=reach, capsize=1.2, markersize=3, label=label, **style)
    ticks = own.select("x", "tick").filter(pl.col("tick") != "").unique(maintain_order=True).sort("x")
    columns = axes.get_gridspec().ncols  # type: ignore[union-attr]
    write_names(axes, ticks.rows(), width_in=2 * WIDTH_IN / columns - _BESIDE_IN)
    axes.axhline(float(own["level"][0]), color=COLOURS["black"], linewidth=0.6)
    if own["paper"][0] is not None:
        axes.axhline(own["paper"][0], color=COLOURS["vermilion"], linewidth=1.0, linestyle=(0, (6, 2)), label=_PAPER)


def estimates(rows: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Positions of a curve's points, their means over repetitions, and half the widths of their intervals."""
    found = []
    for (place,), own in rows.drop_nulls("value").group_by("x", maintain_order=True):
        middle, reach = mean_and_half_width(own["value"].to_numpy())
        found.append((place, middle, reach or 0.0))
    return np.array(found, dtype=np.float64).T


_STYLES = {"yes": "green", "shape": "yellow", "uncertain": "yellow", "not tested": "yellow", "no": "red"}
_OF_CLAIMS = {"yes": "claim holds", "no": "claim fails"}


def experiment_table(rows: pl.DataFrame, *, title: str = "") -> Table:
    """Quantities below each other: the paper's value, ours with its 95 % interval, and verdicts if there are any.

    `rows` are as `hetsched.experiments.Report.table` gives them.
    """
    is_judged = rows["reproduced"].is_not_null().any()
    verdicts = ["reproduced"] if is_judged else []
    table = new_table("", "quantity", numbers=("paper", "here ± (95 %)"), words=verdicts, title=title)
    table.columns[0].justify, table.columns[0].style = "right", "dim"
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        found = Text(verdict(row["reproduced"], row["paper"]), style=_STYLES.get(row["reproduced"], ""))
        cells: list[str | Text] = [str(number), Text(row["quantity"]), paper_text(row["paper"]), here_text(row)]
        table.add_row(*cells, *([found] if is_judged else []))
    return table


def verdict(reproduced: str | None, paper: float | None) -> str:
    """A row's verdict as a table shows it; what stands next to no value of a paper is a claim, not a reproduction."""
    if reproduced is None:
        return ""
    return reproduced if paper is not None else _OF_CLAIMS.get(reproduced, reproduced)


def paper_text(value: float | None) -> str:
    """A value of the paper; a dash where it prints none."""
    return "–" if value is None else f"{value:g}"


def here_text(row: Mapping[str, Any]) -> str:
    """A mean and half the width of its interval, with as many decimals as the latter deserves."""
    half_width = (row["high"] - row["low"]) / 2
    decimals = 3 if half_width < 1 else 1
    return f"{row['here']:.{decimals}f} ± {half_width:.{decimals}f}"


def reasons(rows: pl.DataFrame) -> Iterable[str]:
    """Reasons why something is not simply ``yes``: a line for each reason, with the numbers of its rows.

    What stands behind a reason's first semicolon may be common to several.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for number, row in enumerate(rows.select("reproduced", "paper", "reason").iter_rows(named=True), start=1):
        own, _, common = row["reason"].partition("; ")
        if row["reproduced"] not in (None, "yes"):
            outcome = verdict(row["reproduced"], row["paper"])
            found.setdefault((outcome, common or own), []).append(f"{number}: {own}" if common else str(number))
    return (f"{outcome}: {reason} ({'; '.join(places)})" for (outcome, reason), places in found.items())


ELSEWHERE = frozenset(("repetitions", "agreement_ratio", "shape_factor", "quick", "your_policies", "bound", "policies"))
"""Parameters of experiments that the title, the rule or the rows show."""


def settings(parameters: Mapping[str, Any]) -> str:
    """Parameters with their values, in one line."""
    return ", ".join(f"{name} {_setting(value)}" for name, value in parameters.items())


def _setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({settings(value)})"
    if isinstance(value, list):
        return (" to " if len(value) == 2 else "/").join(map(_setting, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


_ROW_IN = 0.19
_PANEL_IN = 0.38
_FOOT_IN = 0.65
_NUMBERS_SHARE = 0.17
"""Share of the width for the column of numbers on the right."""


def experiment_figure(savings: pl.DataFrame, *, title: str = "") -> Figure:
    """A panel a scenario and in it a line a policy: mean saving with its 95 % interval over repetitions.

    A row of `savings` is a panel, policy and repetition: ``panel, label, saving``, and ``paper, attainable`` where
    known, in percent; panels and policies are in the order in which they first come.
    """
    panels = [own for _, own in savings.group_by("panel", maintain_order=True)]
    heights = [_PANEL_IN + _FOOT_IN / len(panels) + rows_in(own["label"].unique().to_list(), _ROW_IN) for own in panels]
    low, high = _reach(savings)
    with new_figure(heights, title=title, share_x=True) as (figure, axes):
        for one, own in zip(axes, panels, strict=True):
            _draw_metric(one, own)
        axes[-1].set_xlabel("job energy saved (%)")
        axes[-1].set_xlim(min(low, 0.0), min(low, 0.0) + (high - min(low, 0.0)) / (1 - _NUMBERS_SHARE))
        legend(figure, named(*axes, last="paper"))
    return figure


def _reach(savings: pl.DataFrame) -> tuple[float, float]:
    """The smallest and the largest value of the figure."""
    values = pl.concat([savings[name].cast(pl.Float64) for name in ("saving", "attainable", "paper")]).drop_nulls()
    return float(values.min()), float(values.max())  # type: ignore[arg-type]


def _draw_metric(axes: Axes, own: pl.DataFrame) -> None:
    labels = own["label"].unique(maintain_order=True).to_list()
    for place, label in enumerate(labels):
        _draw_policy(axes, own.filter(pl.col("label") == label), place)
    write_rows(axes, labels)
    axes.set_title(str(own["panel"][0]), loc="left", pad=2, fontsize=8)


def _draw_policy(axes: Axes, rows: pl.DataFrame, place: int) -> None:
    """A bar as long as the saving, in front of one as long as what is attainable; the paper's is a line across."""
    mean, half_width = mean_and_half_width(rows["saving"].to_numpy())
    attainable = rows["attainable"].drop_nulls().to_numpy()
    if len(attainable):
        axes.barh(place, np.mean(attainable), height=0.72, color=COLOURS["grey"], linewidth=0, label="attainable")
    axes.barh(place, mean, height=0.72, color=COLOURS["sky"], linewidth=0, label="here")
    interval(axes, mean, place, xerr=half_width or 0.0, color=COLOURS["black"], elinewidth=1, capsize=1.5)
    paper = rows["paper"].drop_nulls().to_list()
    if paper:
        reach = [place - 0.45, place + 0.45]
        axes.plot([paper[0]] * 2, reach, color=COLOURS["vermilion"], linewidth=1.8, label="paper")
    number = axes.text(1.0, place, f"{mean:.2f}", transform=axes.get_yaxis_transform())
    number.set(ha="right", va="center_baseline", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0})

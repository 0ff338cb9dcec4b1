"""Tables about power models for a terminal: how far they are off, and what they predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

from hetsched.report.folding import folded

__all__ = ["errors_table", "outside_table", "predictions_table"]

_LOOK: dict[str, Any] = {"box": box.SIMPLE_HEAD, "pad_edge": False, "title_justify": "left", "title_style": "bold"}
_NUMBERS = ("MAPE mean", "MAPE max", "devices")
_LEAST_MODEL = 20
_MOST_OUTSIDE = 20
_GAP = 2


def errors_table(
    errors: Mapping[str, pl.DataFrame], overall: Mapping[str, Mapping[str, float]], *, width: int = 80
) -> Table:
    """A row an application and model: mean and largest error over its devices; below them all applications together.

    Parameters
    ----------
    errors
        Of each model ``app, mape_mean_percent, mape_max_percent, devices``, the same applications in the same order.
    overall
        Of each model ``mape_mean_percent, mape_max_percent`` over everything that was measured.
    width
        Letters a line.
    """
    frames = list(errors.values())
    taken = sum(len(name) + _GAP for name in _NUMBERS)
    longest = max(len(text) for text in errors)
    longest_app = max(map(len, ("application", *frames[0]["app"])))
    room = max(min(longest, width - taken - longest_app - 2 * _GAP), min(longest, _LEAST_MODEL))
    table = Table("application", "model", **_LOOK)
    table.columns[1].no_wrap = True
    for name in _NUMBERS:
        table.add_column(name, justify="right", no_wrap=True)
    models = ["\n".join(folded(text, room, indent="  ")) for text in errors]
    for place, app in enumerate(frames[0]["app"]):
        for number, frame in enumerate(frames):
            row = frame.row(place, named=True)
            cells = [_percent(row["mape_mean_percent"]), _percent(row["mape_max_percent"]), f"{row['devices']:,}"]
            table.add_row(Text(app if number == 0 else ""), models[number], *cells)
    table.add_section()
    for number, found in enumerate(overall.values()):
        cells = [_percent(found["mape_mean_percent"]), _percent(found["mape_max_percent"]), ""]
        table.add_row(Text("all" if number == 0 else "", style="bold"), models[number], *cells)
    return table


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} %"


def outside_table(outside: Mapping[str, tuple[Sequence[str], Sequence[float]]]) -> Table:
    """Why an application may be predicted badly: the features in which it lies outside all that the model had seen.

    Parameters
    ----------
    outside
        Of each application the features, the farthest first, and how far, in standard deviations; of many only those
        farthest outside are shown.
    """
    found = {app: own for app, own in outside.items() if len(own[0])}
    shown = sorted(found, key=lambda app: -abs(found[app][1][0]))[:_MOST_OUTSIDE]
    table = Table("application", "outside what the models had seen, in standard deviations", **_LOOK)
    for app, own in found.items():
        if app in shown:
            cells = [f"{name} {far:+.2g}" for name, far in zip(*own, strict=True)]
            table.add_row(Text(app), Text(", ".join(cells)))
    if len(found) > len(shown):
        table.add_section()
        table.add_row(Text(f"and {len(found) - len(shown):,} more", style="dim"), Text("less far"))
    return table


def predictions_table(rows: Sequence[Mapping[str, Any]], *, nodes: int) -> Table:
    """A row an application: the mean, least and most watts over nodes, and how far these are apart.

    Parameters
    ----------
    rows
        ``app, mean_w, least_w, most_w``.
    nodes
        How many there are.
    """
    table = Table("application", **_LOOK)
    for name in (f"mean of {nodes:,}", "least", "most", "most/least"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        watts = [f"{row[name]:,.1f} W" for name in ("mean_w", "least_w", "most_w")]
        ratio = "–" if row["least_w"] == 0 else f"{row['most_w'] / row['least_w']:.3f}"
        table.add_row(Text(row["app"]), *watts, ratio)
    return table

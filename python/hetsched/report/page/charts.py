"""Figures of plotly.js as dictionaries: lines over time, dots, bars, maps. Colours of text and axes are the page's."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hetsched.report.canvas import COLOURS
from hetsched.report.page.words import plain
from hetsched.report.tables import folded

Floats = npt.NDArray[np.float64]
Figure = dict[str, Any]

_SERIES = ("blue", "vermilion", "green", "orange", "purple", "sky")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_MARKS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x")
_GREY = "#8c959f"
"""Black would vanish on a dark page."""


def colour(place: int) -> str:
    """Colour of a series: seven that people with any colour vision can tell apart, on light and on dark."""
    turn = place % (len(_SERIES) + 1)
    return _GREY if turn == len(_SERIES) else COLOURS[_SERIES[turn]]


def _mark(place: int) -> str:
    """Mark of a series; that of one with the same colour as another is another, and open or filled."""
    turn = place // (len(_SERIES) + 1)
    return _MARKS[(place + 3 * turn) % len(_MARKS)] + ("-open" if turn % 2 else "")


def packed(values: npt.ArrayLike, kind: str = "f4") -> dict[str, str]:
    """Numbers as plotly.js reads them packed: base64 of their bytes, little-endian."""
    array = np.ascontiguousarray(np.asarray(values), dtype=f"<{kind}")
    return {"dtype": kind, "bdata": base64.b64encode(array.tobytes()).decode("ascii")}


@dataclass(frozen=True)
class TimeAxis:
    """An axis of time: dates where the clock of the log is known, else hours or days since its first instant."""

    from_s: float
    until_s: float
    unix_zero_s: float | None = None

    @property
    def _unit(self) -> tuple[str, float]:
        return ("days", 86400.0) if self.until_s - self.from_s > 4 * 86400 else ("hours", 3600.0)

    def at(self, time_s: npt.ArrayLike) -> Floats:
        """Instants of the log's clock as places on the axis."""
        times = np.asarray(time_s, dtype=np.float64)
        if self.unix_zero_s is not None:
            return (times + self.unix_zero_s) * 1e3
        return (times - self.from_s) / self._unit[1]

    def packed(self, time_s: npt.ArrayLike) -> dict[str, str]:
        """The same, packed; dates need all their digits."""
        return packed(self.at(time_s), "f8")

    def layout(self) -> Figure:
        """The axis of a figure."""
        if self.unix_zero_s is not None:
            return {"type": "date", "title": {"text": "UTC"}, "automargin": True}
        return {"title": {"text": f"{self._unit[0]} since the first submit"}, "automargin": True}


@dataclass(frozen=True)
class Line:
    """A line of means by bin, with the least and the most in each for a band; `is_shown`: until it is clicked away."""

    name: str
    means: Floats
    least: Floats | None = None
    most: Floats | None = None
    place: int = 0
    is_shown: bool = True


def over_time(axis: TimeAxis, lines: Sequence[tuple[npt.ArrayLike, Line]], *, title: str) -> Figure:
    """Lines over bins of time, each with the beginnings of its own; bands lie below all lines."""
    placed = [(axis.packed(edges_s), own) for edges_s, own in lines]
    data = [trace for x, own in placed for trace in _bands(x, own)] + [line(x, own) for x, own in placed]
    y = _axis(title) | {"rangemode": "tozero"}
    return {"data": data, "layout": {**_layout(), "xaxis": axis.layout(), "yaxis": y, "hovermode": "x unified"}}


def line(x: Mapping[str, str], own: Line) -> Figure:
    """A line as steps over packed places."""
    dash = _DASHES[own.place % len(_DASHES)]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plain(own.name),
        "legendgroup": plain(own.name),
        "x": x,
        "y": packed(own.means),
        "line": {"color": colour(own.place), "width": 1.6, "dash": dash, "shape": "hv"},
        "visible": True if own.is_shown else "legendonly",
    }


def _bands(x: Mapping[str, str], own: Line) -> list[Figure]:
    if own.least is None or own.most is None:
        return []
    common = {
        "type": "scatter",
        "mode": "lines",
        "legendgroup": plain(own.name),
        "showlegend": False,
        "hoverinfo": "skip",
        "x": x,
        "line": {"width": 0, "shape": "hv"},
        "visible": True if own.is_shown else "legendonly",
    }
    fill = {"fill": "tonexty", "fillcolor": _faint(own.place, 0.15)}
    return [{**common, "y": packed(own.least)}, {**common, "y": packed(own.most), **fill}]


def areas(axis: TimeAxis, edges_s: npt.ArrayLike, parts: Sequence[Line], *, title: str) -> Figure:
    """Means by bin on top of each other, the first at the bottom: parts of a whole."""
    x = axis.packed(edges_s)
    data = [
        line(x, part)
        | {
            "stackgroup": "whole",
            "fillcolor": _faint(place, 0.55),
            "line": {"width": 0.4, "color": colour(place), "shape": "hv"},
        }
        for place, part in ((part.place, part) for part in parts)
    ]
    y = _axis(title) | {"rangemode": "tozero"}
    return {"data": data, "layout": {**_layout(), "xaxis": axis.layout(), "yaxis": y, "hovermode": "x unified"}}


def _faint(place: int, share: float) -> str:
    red, green, blue = (int(colour(place)[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share})"


@dataclass(frozen=True)
class Shade:
    """A part of the time, shaded, and what is said of it in the legend; those of one `place` have one colour."""

    from_s: float
    until_s: float
    name: str = ""
    place: int = 3


def shade(figure: Figure, axis: TimeAxis, shades: Sequence[Shade]) -> None:
    """Shade parts of the time in a figure, with each name once in its legend."""
    figure["layout"]["shapes"] = [_shape(axis, one) for one in shades]
    for name, place in {one.name: one.place for one in shades if one.name}.items():
        figure["data"].append(_key(name, place))


_SHADE = 0.16


def _key(name: str, place: int) -> Figure:
    """A line of the legend of something that is no line."""
    marker = {"symbol": "square", "size": 11, "color": colour(place), "opacity": 2 * _SHADE}
    key = {"type": "scatter", "mode": "markers", "x": [None], "y": [None], "marker": marker, "hoverinfo": "skip"}
    return key | {"name": plain(name)}


def _shape(axis: TimeAxis, one: Shade) -> Figure:
    first, last = axis.at([one.from_s, one.until_s]).tolist()
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": first,
        "x1": last,
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "fillcolor": colour(one.place),
        "opacity": _SHADE,
        "line": {"width": 0},
    }


@dataclass(frozen=True)
class Dot:
    """A dot with the half widths of its intervals; None: none."""

    name: str
    x: float
    y: float
    x_half: float | None = None
    y_half: float | None = None
    place: int = 0
    text: str = ""


def dots(
    points: Sequence[Dot],
    *,
    x_title: str,
    y_title: str,
    front: Sequence[int] = (),
    along: str = "less energy only at longer waits",
) -> Figure:
    """A dot a name; a line along those at the places `front`, of which the legend says `along`."""
    data = [_along([points[at] for at in front], along)] if len(front) > 1 else []
    layout = {**_layout(), "xaxis": _axis(x_title), "yaxis": _axis(y_title)}
    return {"data": data + [_dot(point) for point in points], "layout": layout}


def _along(points: Sequence[Dot], name: str) -> Figure:
    ordered = sorted(points, key=lambda point: point.x)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "hoverinfo": "skip",
        "x": [point.x for point in ordered],
        "y": [point.y for point in ordered],
        "line": {"color": _GREY, "width": 1, "dash": "dot"},
    }


def _dot(point: Dot) -> Figure:
    halves = {"error_x": point.x_half, "error_y": point.y_half}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plain(point.name),
        "x": [point.x],
        "y": [point.y],
        "marker": {"symbol": _mark(point.place), "size": 11, "color": colour(point.place)},
        "hovertext": plain(point.text or point.name),
        "hoverinfo": "text",
        **{way: {"type": "data", "array": [half], "width": 4} for way, half in halves.items() if half is not None},
    }


_MOST_TICKS = 12
"""More ticks with texts than this cover each other."""


@dataclass(frozen=True)
class Curve:
    """A curve of its own places; `halves` are half widths of intervals, whose points are marked."""

    name: str
    x: npt.ArrayLike
    y: npt.ArrayLike
    place: int = 0
    is_step: bool = False
    halves: Sequence[float | None] | None = None
    is_joined: bool = True


def curves(
    own: Sequence[Curve], *, x_title: str, y_title: str, ticks: Sequence[tuple[float, str]] = (), is_log: bool = False
) -> Figure:
    """Curves, with `ticks` of the lower axis where its numbers are to be written in words."""
    x = _axis(x_title) | ({"type": "log"} if is_log else {})
    if ticks:
        ticks = ticks[:: -(-len(ticks) // _MOST_TICKS)]
        x |= {"tickvals": [at for at, _ in ticks], "ticktext": [plain(text) for _, text in ticks]}
    y = _axis(y_title) | {"rangemode": "tozero"}
    return {"data": [_curve(one) for one in own], "layout": {**_layout(), "xaxis": x, "yaxis": y}}


def _curve(one: Curve) -> Figure:
    dash, shape = _DASHES[one.place % len(_DASHES)], "hv" if one.is_step else "linear"
    marked: Figure = {"mode": "lines"}
    if one.halves is not None:
        mark = {"symbol": _mark(one.place), "size": 7, "color": colour(one.place)}
        marked = {"mode": "lines+markers" if one.is_joined else "markers", "marker": mark}
        marked["error_y"] = {"type": "data", "array": [half or 0.0 for half in one.halves], "width": 3}
    return {
        "type": "scatter",
        **marked,
        "name": plain(one.name),
        "x": packed(one.x),
        "y": packed(one.y),
        "line": {"color": colour(one.place), "dash": dash, "shape": shape},
    }


@dataclass(frozen=True)
class Bars:
    """Bars of one series, one a category, or its marks alone; `halves` are half widths of intervals."""

    name: str
    values: Sequence[float | None]
    place: int = 0
    halves: Sequence[float | None] | None = None
    is_marks: bool = False


def bars(categories: Sequence[str], series: Sequence[Bars], *, title: str) -> Figure:
    """Lying bars by category, side by side, the first category on top."""
    names = ["<br>".join(map(plain, _lines(name))) for name in categories]
    data = [_lying(one, names) for one in series]
    x = _axis(title) | {"rangemode": "tozero"}
    y = {"type": "category", "automargin": True, "autorange": "reversed"}
    return {"data": data, "layout": {**_layout(), "barmode": "group", "xaxis": x, "yaxis": y}}


def _lying(one: Bars, names: Sequence[str]) -> Figure:
    known: Figure = {"name": plain(one.name), "x": list(one.values), "y": names}
    if one.halves is not None:
        known["error_x"] = {"type": "data", "array": [half or 0.0 for half in one.halves], "width": 3, "color": _GREY}
    if one.is_marks:
        mark = {"symbol": _mark(one.place), "size": 9, "color": colour(one.place)}
        return {"type": "scatter", "mode": "markers", "marker": mark, **known}
    return {"type": "bar", "orientation": "h", "marker": {"color": colour(one.place)}, **known}


def _lines(name: str) -> list[str]:
    """A name in lines that leave room for bars on a phone."""
    return folded(name, _MOST_LETTERS)


def bar_height(categories: Sequence[str], series: int = 1) -> int:
    """Height of a chart of lying bars in which each can be seen, and each name read."""
    lines = max((len(_lines(name)) for name in categories), default=1)
    row = max(_GROUP_PX + _BAR_PX * series, _LINE_PX * lines)
    return max(_FRAME_PX + row * len(categories), _LEAST_PX)


_BAR_PX, _GROUP_PX, _LINE_PX, _FRAME_PX, _LEAST_PX = 9, 10, 17, 90, 190
_MOST_LETTERS = 26


def level(figure: Figure, at: float, *, is_upright: bool = False, name: str = "", place: int = 6) -> None:
    """Draw a line across a figure, or an upright one, with its name in the legend."""
    ends = {"xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1}
    if not is_upright:
        ends = {"xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": at, "y1": at}
    look = {"color": colour(place), "width": 1.2, "dash": "dash"}
    figure["layout"].setdefault("shapes", []).append({"type": "line", "line": look, **ends})
    if name:
        key = {"type": "scatter", "mode": "lines", "x": [None], "y": [None], "line": look, "hoverinfo": "skip"}
        figure["data"].append(key | {"name": plain(name)})


@dataclass(frozen=True)
class Cloud:
    """Dots of one kind, with a text and the ends of their intervals each; None: no interval."""

    name: str
    x: npt.ArrayLike
    y: npt.ArrayLike
    texts: Sequence[str]
    place: int = 0
    size: int = 8
    x_ends: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    y_ends: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    """Lengths of the interval below the mean and above it."""


def clouds(own: Sequence[Cloud], *, x_title: str, y_title: str) -> Figure:
    """Many dots, a kind each cloud; the axes need not begin at 0."""
    return {
        "data": [_cloud(one) for one in own],
        "layout": {**_layout(), "xaxis": _axis(x_title), "yaxis": _axis(y_title)},
    }


def _cloud(one: Cloud) -> Figure:
    ends = {"error_x": one.x_ends, "error_y": one.y_ends}
    errors = {
        way: {
            "type": "data",
            "symmetric": False,
            "arrayminus": packed(reach[0]),
            "array": packed(reach[1]),
            "width": 3,
            "thickness": 1,
        }
        for way, reach in ends.items()
        if reach is not None
    }
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plain(one.name),
        "x": packed(one.x, "f8"),
        "y": packed(one.y, "f8"),
        "marker": {"symbol": _mark(one.place), "size": one.size, "color": colour(one.place)},
        "hovertext": [plain(text) for text in one.texts],
        "hoverinfo": "text",
        **errors,
    }


def grid_map(x: Mapping[str, str], count: int, percent: npt.NDArray[np.float64], *, axis: Figure, title: str) -> Figure:
    """A map of shares, in percent, of `count` things numbered from 0: columns to the right, rows upwards."""
    data = {
        "type": "heatmap",
        "x": x,
        "y": packed(np.linspace(-0.5, count - 0.5, len(percent) + 1), "f8"),
        "yhoverformat": ".0f",
        "z": np.round(percent).astype(np.int64).tolist(),
        "colorscale": "Viridis",
        "zmin": 0,
        "zmax": 100,
        "colorbar": {"title": {"text": "%"}, "thickness": 12},
    }
    y = _axis(title) | {"tick0": 0, "dtick": _step(count), "range": [-0.5, count - 0.5]}
    return {"data": [data], "layout": {**_layout(), "xaxis": axis, "yaxis": y}}


def _step(count: int) -> int:
    """A round number of things between ticks, of which there are no more than a dozen."""
    steps = (factor * 10**power for power in range(12) for factor in (1, 2, 5))
    return int(next(step for step in steps if count <= 12 * step))


def squares(rows: Sequence[Sequence[float | None]], texts: Sequence[Sequence[str]], unit: str) -> Figure:
    """A square a number, the first row on top, each with its text."""
    data = {
        "type": "heatmap",
        "z": rows,
        "text": texts,
        "hoverinfo": "text",
        "colorscale": "Viridis",
        "xgap": 1,
        "ygap": 1,
        "colorbar": {"title": {"text": unit}, "thickness": 12},
    }
    bare = {"visible": False, "fixedrange": True}
    margin = {"l": 8, "r": 8, "t": 8, "b": 8}
    return {"data": [data], "layout": {"margin": margin, "xaxis": bare, "yaxis": {**bare, "autorange": "reversed"}}}


def _axis(title: str) -> Figure:
    return {"title": {"text": title}, "automargin": True}


def _layout() -> Figure:
    return {
        "margin": {"l": 56, "r": 12, "t": 8, "b": 40},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "font": {"size": 12},
        "dragmode": "zoom",
    }

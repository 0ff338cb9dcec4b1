"""Common parts of all pictures: size, fonts, colours, axes of time, and the files they are written to.

Matplotlib is imported when a picture is made, not before; a message of one line tells if it is missing.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hetsched.checks import listed
from hetsched.errors import ConfigError
from hetsched.files import write_whole
from hetsched.report.dates import date_ticks, year_of
from hetsched.report.tables import folded
from hetsched.workload.clock import zero_said

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure, FigureBase

    Instants = TypeVar("Instants", float, npt.NDArray[np.float64])

WIDTH_IN = 3.6
"""Half a page of two columns; all sizes below are right at this width."""

SUFFIXES = (".png", ".svg", ".pdf")
"""Formats of pictures."""

# Okabe & Ito, Color Universal Design (2008), without yellow, which is too light for lines on white.
COLOURS = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "vermilion": "#D55E00",
    "sky": "#56B4E9",
    "purple": "#CC79A7",
    "black": "#000000",
    "grey": "#CFCFCF",
}

DASHES: Sequence[tuple[float, tuple[float, ...]]] = (
    (0, ()),
    (0, (4, 1.6)),
    (0, (1.2, 1.2)),
    (0, (5, 1.5, 1.2, 1.5)),
    (0, (8, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)
"""Line patterns: curves differ without colour, and a curve shows through another on top of it."""

_SERIES = ("blue", "vermilion", "green", "orange", "purple", "sky", "black")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
_FILLS = ("full", "none", "left")


def look(place: int) -> dict[str, Any]:
    """Colour, marker and line pattern of a curve, as matplotlib's `plot` takes them.

    21 places differ: the first seven in all three; the next have other marks, open and then half filled.
    """
    turn = place // len(_SERIES)
    return {
        "color": COLOURS[_SERIES[place % len(_SERIES)]],
        "linestyle": DASHES[place % len(DASHES)],
        "marker": _MARKERS[(place + 3 * turn) % len(_MARKERS)],
        "fillstyle": _FILLS[turn % len(_FILLS)],
        "markerfacecoloralt": "white",
    }


_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    # What makes two files of the same picture equal byte for byte.
    "svg.hashsalt": "hetsched",
    "svg.fonttype": "path",
    # Publishers refuse the other kind, Type 3.
    "pdf.fonttype": 42,
}

_DOTS_PER_INCH = 300

_UNDATED: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata that would make files of the same picture differ, left out."""


def require_matplotlib(parameter: str = "plot") -> None:
    """Check, before a long run, that matplotlib is there; otherwise a `ConfigError` names `parameter`."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 -- an extra, and slow to import
    except ImportError:
        install = "matplotlib: pip install 'hetsched[plots]'"
        raise ConfigError([(parameter, "an installation without matplotlib", install)]) from None
    del mpl


@contextmanager
def _style() -> Iterator[None]:
    require_matplotlib()
    import matplotlib as mpl  # noqa: PLC0415

    with mpl.rc_context(_STYLE):
        yield


@contextmanager
def new_figure(
    heights_in: Sequence[float], *, title: str = "", share_x: bool = False
) -> Iterator[tuple[Figure, Sequence[Axes]]]:
    """A figure with axes below each other in the common style; the heights include the text around the axes.

    A title is wrapped as `write_title` does.
    """
    with _style():
        from matplotlib.figure import Figure  # noqa: PLC0415

        figure = Figure(figsize=(WIDTH_IN, sum(heights_in)), layout="constrained")
        write_title(figure, title)
        axes = figure.subplots(len(heights_in), 1, sharex=share_x, squeeze=False, height_ratios=list(heights_in))
        yield figure, list(axes[:, 0])


@contextmanager
def new_page(left_in: float, right_in: Sequence[float]) -> Iterator[tuple[Figure, Sequence[FigureBase]]]:
    """A figure of a page's width with one part on the left and others below each other on the right."""
    with _style():
        from matplotlib.figure import Figure  # noqa: PLC0415

        figure = Figure(figsize=(2 * WIDTH_IN, max(left_in, sum(right_in))), layout="constrained")
        halves: Any = figure.subfigures(1, 2, wspace=0)
        below: Any = halves[1].subfigures(len(right_in), 1, height_ratios=list(right_in), squeeze=False)
        yield figure, [halves[0], *below[:, 0]]


@contextmanager
def new_grid(
    rows: int, columns: int, *, row_in: float, foot_in: float
) -> Iterator[tuple[Figure, Sequence[Sequence[Axes]]]]:
    """A figure with axes in rows and columns in the common style; `foot_in` is for all above and below the axes."""
    with _style():
        from matplotlib.figure import Figure  # noqa: PLC0415

        figure = Figure(figsize=(2 * WIDTH_IN, rows * row_in + foot_in), layout="constrained")
        axes = figure.subplots(rows, columns, sharex="col", squeeze=False)
        yield figure, [list(across) for across in axes]


def picture_bytes(figure: Figure, suffix: str) -> bytes:
    """The picture as a file's content; the same figure gives the same bytes."""
    file = io.BytesIO()
    with _style():
        figure.savefig(file, format=suffix[1:], dpi=_DOTS_PER_INCH, metadata=_UNDATED[suffix])
    return file.getvalue()


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a picture, under a temporary name first: a file is complete or absent.

    Parameters
    ----------
    figure
        A figure of `hetsched.report.figures`.
    path
        Ends in one of `SUFFIXES`; its folder is made if it is not there.

    Raises
    ------
    ConfigError
        If the name ends otherwise.
    OutputError
        If the file cannot be written.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigError([("plot", f"`{target}`", f"a name ending in {listed(SUFFIXES)}")])
    write_whole(target, picture_bytes(figure, suffix))


_POINTS, _TITLE_POINTS = 8.0, 8.5
_LINE_IN = 0.135
_EDGE_IN = 0.2
_BETWEEN_IN = 0.06
"""Of two names in a legend."""

_LEGEND: dict[str, Any] = {"handlelength": 1.6, "handletextpad": 0.8, "columnspacing": 1.2, "labelspacing": 0.4}


@lru_cache(maxsize=4096)
def width_in(text: str, points: float = _POINTS) -> float:
    """Width of a line of text in a picture, in inches."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415 -- slow to import
    from matplotlib.textpath import TextToPath  # noqa: PLC0415

    font = FontProperties(family=_STYLE["font.family"], size=points)
    return float(TextToPath().get_text_width_height_descent(text, font, ismath=False)[0]) / 72


def fitted(text: str, room_in: float, *, points: float = _POINTS, indent: str = "") -> list[str]:
    """Text in lines that are no wider than the room, broken as `hetsched.report.tables.folded` does.

    Examples
    --------
    >>> fitted("easy:placement=lowest-power, 1,152 nodes", 1.6)
    ['easy:', 'placement=lowest-power,', '1,152 nodes']
    """
    lines = [text]
    if width_in(text, points) <= room_in:
        return lines
    for letters in range(len(text), len(indent) + 1, -1):
        lines = folded(text, letters, indent=indent)
        if max(width_in(line, points) for line in lines) <= room_in:
            break
    return lines


def write_title(figure: Figure, title: str) -> None:
    """Write a title above all axes, wrapped to the width; the figure grows by each line but the first."""
    if title:
        lines = fitted(title, figure.get_figwidth() - _EDGE_IN, points=_TITLE_POINTS)
        figure.suptitle("\n".join(lines), fontsize=_TITLE_POINTS, parse_math=False)
        figure.set_figheight(figure.get_figheight() + _LINE_IN * (len(lines) - 1))


def _arranged(names: Sequence[str], columns: int, look: Mapping[str, Any]) -> list[list[str]]:
    """Names by column, wrapped where one of them is wider than the figure; as many columns as fit, at most so many."""
    handle_in, gap_in = (
        sum(look[name] for name in own) * _POINTS / 72
        for own in (("handlelength", "handletextpad"), ("columnspacing",))
    )
    room_in = WIDTH_IN - _EDGE_IN
    wrapped = ["\n".join(fitted(name, room_in - handle_in, indent="  ")) for name in names]
    for count in range(min(columns, len(wrapped)), 0, -1):
        sizes = [len(part) for part in np.array_split(wrapped, count)]
        stacks = [wrapped[sum(sizes[:place]) : sum(sizes[: place + 1])] for place in range(count)]
        widths_in = [max(width_in(line) for name in stack for line in name.split("\n")) for stack in stacks]
        if count == 1 or sum(widths_in) + count * handle_in + (count - 1) * gap_in <= room_in:
            return stacks
    return []


def legend_height_in(names: Sequence[str], *, columns: int = 1) -> float:
    """Height of a legend with those names."""
    return _height_in(_arranged(names, columns, _LEGEND))


def _height_in(stacks: Sequence[Sequence[str]]) -> float:
    return max((sum(_LINE_IN * (1 + name.count("\n")) + _BETWEEN_IN for name in stack) for stack in stacks), default=0)


def legend(
    figure: FigureBase, named: Sequence[tuple[Any, str]], *, at: str = "lower center", columns: int = 3, **look: Any
) -> None:
    """Names of what is drawn, outside of the axes: wrapped where they are wider than the figure, never cut.

    A figure of its own grows by the lines that they take.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 -- slow to import

    handles, names = [handle for handle, _ in named], [name for _, name in named]
    if not names:
        return
    look = {**_LEGEND, "borderaxespad": 0.2, **look}
    stacks = _arranged(names, columns, look)
    if isinstance(figure, Figure):  # a part of a page has the height that the page gives it
        figure.set_figheight(figure.get_figheight() + _height_in(stacks))
    place: Any = f"outside {at}"
    drawn = figure.legend(handles, [name for stack in stacks for name in stack], loc=place, ncols=len(stacks), **look)
    for text in drawn.get_texts():
        text.set_parse_math(False)


def swatch(colour: Any, **look: Any) -> Artist:
    """A patch of a colour for a legend."""
    from matplotlib.patches import Patch  # noqa: PLC0415 -- slow to import

    return Patch(facecolor=colour, edgecolor="#777777", linewidth=0.3, **look)


def named(axes: Axes) -> list[tuple[Artist, str]]:
    """What is drawn on axes, with its names, as `legend` takes it."""
    return list(zip(*axes.get_legend_handles_labels(), strict=True))


def bin_edges(bins: pl.DataFrame, axis: TimeAxis) -> npt.NDArray[np.float64]:
    """Where the bins of `hetsched.analysis.timeline.binned` begin on an axis, and where the last ends."""
    ends = bins["end_s"].tail(1).to_numpy()
    return axis.shown(np.append(bins["start_s"].to_numpy(), ends))


def step(axes: Axes, x: npt.ArrayLike, y: npt.ArrayLike, **look: Any) -> None:
    """A line of values that hold from each x to the next; of one value less, the last holds to the last x."""
    axes.step(np.asarray(x), _held(x, y), where="post", **look)


def step_area(axes: Axes, x: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, **look: Any) -> None:
    """The area between two lines of `step`."""
    axes.fill_between(np.asarray(x), _held(x, low), _held(x, high), step="post", **{"linewidth": 0, **look})


def _held(x: npt.ArrayLike, y: npt.ArrayLike) -> npt.NDArray[np.float64]:
    values = np.asarray(y, dtype=np.float64)
    return np.append(values, values[-1:]) if values.ndim and len(values) < len(np.asarray(x)) else values


def interval(axes: Axes, x: Any, y: Any, **look: Any) -> ErrorbarContainer:
    """Dots with their 95 % intervals as lines: `xerr` and `yerr`, half their widths, None or NaN where unknown."""
    return axes.errorbar(x, y, **{"elinewidth": 0.8, "markersize": 4, **look})


_DAY_S = 86400.0


def unix_zero(provenance: Mapping[str, Any], first_s: float) -> float | None:
    """Date of second 0 of a log's clock, if that is known: seconds since 1970, UTC.

    Parameters
    ----------
    provenance
        Of a `Result`.
    first_s
        The first instant of the run on the log's clock; if it lies between 2001 and 2099, the clock counts from 1970.

    Examples
    --------
    >>> said = {"report": {"header": {"unix_start_time": 843480031}}, "trace": {"history": ["read a.swf"]}}
    >>> unix_zero(said, 0.0), unix_zero(said, 1.7e9), unix_zero({**said, "report": {}}, 0.0)
    (843480031.0, 0.0, None)
    """
    return zero_said(provenance["report"], provenance["trace"]["history"], first_s)


class TimeAxis:
    """Seconds shown from a run's beginning in the unit that fits its length, or as dates."""

    _UNITS = ((172800.0, 86400.0, "days"), (7200.0, 3600.0, "hours"), (300.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))

    def __init__(self, start_s: float, end_s: float, *, unix_zero_s: float | None = None) -> None:
        self.start_s = start_s
        self.is_of_dates = unix_zero_s is not None
        if unix_zero_s is not None:
            # As matplotlib counts them: days since 1970.
            self.start_s, self.scale = -unix_zero_s, _DAY_S
            first = self.shown(start_s)
            self.limits = (first, max(self.shown(end_s), first + 1e-9))
            year = year_of(*(_DAY_S * limit for limit in self.limits))
            self.label = "date (UTC)" if year is None else f"date in {year} (UTC)"
            return
        fitting = [(scale, name) for least_s, scale, name in self._UNITS if end_s - start_s >= least_s]
        self.scale, unit = fitting[0]
        self.label = f"{unit} since the first submission"
        self.limits = (0.0, max((end_s - start_s) / self.scale, 1e-9))

    def shown(self, seconds: Instants) -> Instants:
        """Position of an instant, or of an array of them, on the axis."""
        return (seconds - self.start_s) / self.scale

    def write_on(self, axes: Axes) -> None:
        """Make this the x axis: its limits, its label and, for dates, its ticks."""
        axes.set_xlim(self.limits)
        axes.set_xlabel(self.label)
        if self.is_of_dates:
            ticks = date_ticks(*(_DAY_S * limit for limit in self.limits))
            axes.set_xticks([instant / _DAY_S for instant, _ in ticks], [text for _, text in ticks])
            return
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 -- slow to import

        # Chosen here: matplotlib chooses again when it has laid out the figure, and may cut what it adds at the end.
        found = MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]).tick_values(*self.limits)
        shown = [place for place in found if self.limits[0] <= place <= self.limits[1]]
        axes.set_xticks(shown, [f"{place:g}" for place in shown])

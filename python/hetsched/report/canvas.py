"""Common parts of all pictures: size, fonts, colours, axes of time, and the files they are written to.

Matplotlib is imported when a picture is made, not before; a message of one line shows if it is missing.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hetsched.checks import listed
from hetsched.errors import ConfigError
from hetsched.files import write_whole
from hetsched.report.lettering import (
    FONT,
    WIDTH_IN,
    date_ticks,
    legend,
    named,
    row_names,
    tick_names,
    write_title,
    year_of,
)
from hetsched.report.lettering import (
    width_in as text_width_in,
)
from hetsched.workload.clock import zero_said

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure, FigureBase

    Instants = TypeVar("Instants", float, npt.NDArray[np.float64])

__all__ = ["save", "unix_zero"]

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
    "font.family": FONT,
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
def _empty(width_in: float, height_in: float) -> Iterator[Figure]:
    with _style():
        from matplotlib.figure import Figure  # noqa: PLC0415

        yield Figure(figsize=(width_in, height_in), layout="constrained")


@contextmanager
def new_figure(
    heights_in: Sequence[float], *, title: str = "", share_x: bool = False
) -> Iterator[tuple[Figure, Sequence[Axes]]]:
    """A figure with axes below each other in the common style; the heights include the text around the axes.

    A title is wrapped as `write_title` does.
    """
    with _empty(WIDTH_IN, sum(heights_in)) as figure:
        write_title(figure, title)
        axes = figure.subplots(len(heights_in), 1, sharex=share_x, squeeze=False, height_ratios=list(heights_in))
        yield figure, list(axes[:, 0])


@contextmanager
def new_page(left_in: float, right_in: Sequence[float]) -> Iterator[tuple[Figure, Sequence[FigureBase]]]:
    """A figure of a page's width with one part on the left and others below each other on the right."""
    with _empty(2 * WIDTH_IN, max(left_in, sum(right_in))) as figure:
        halves: Any = figure.subfigures(1, 2, wspace=0)
        below: Any = halves[1].subfigures(len(right_in), 1, height_ratios=list(right_in), squeeze=False)
        yield figure, [halves[0], *below[:, 0]]


@contextmanager
def new_grid(
    rows: int, columns: int, *, row_in: float, foot_in: float, width_in: float = 2 * WIDTH_IN
) -> Iterator[tuple[Figure, Sequence[Sequence[Axes]]]]:
    """A figure with axes in rows and columns in the common style; `foot_in` is for all above and below the axes."""
    with _empty(width_in, rows * row_in + foot_in) as figure:
        axes = figure.subplots(rows, columns, sharex="col", squeeze=False)
        yield figure, [list(across) for across in axes]


def draw_panels(
    frame: pl.DataFrame,
    draw: Callable[[Axes, pl.DataFrame, Mapping[str, int]], None],
    *,
    row_in: float,
    title: str = "",
    x_label: str = "",
    last: str = "",
) -> Figure:
    """A panel for each row and column that a frame's ``row`` and ``column`` name, and one legend for all.

    `draw` gets the axes, the panel's rows, and the place of each ``label`` among all of them. Columns are named above
    where there is an `x_label` for all of them, below where there is none; the name `last` ends the legend.
    """
    rows, columns, labels = (frame[name].unique(maintain_order=True).to_list() for name in ("row", "column", "label"))
    places = {label: place for place, label in enumerate(labels)}
    with new_grid(len(rows), len(columns), row_in=row_in, foot_in=0.8) as (figure, axes):
        for across, row in zip(axes, rows, strict=True):
            for one, column in zip(across, columns, strict=True):
                draw(one, frame.filter(row=row, column=column), places)
            across[0].set_ylabel(row)
        for highest, lowest, column in zip(axes[0], axes[-1], columns, strict=True):
            highest.set_title(column if x_label else "", loc="left", pad=3)
            lowest.set_xlabel(x_label or column)
        write_title(figure, title)
        legend(figure, named(*chain.from_iterable(axes), last=last), columns=5)
    return figure


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


def bin_edges(bins: pl.DataFrame, axis: TimeAxis) -> npt.NDArray[np.float64]:
    """Edges of the bins of `hetsched.analysis.timeline.binned` on an axis: the starts, and the end of the last."""
    ends = bins["end_s"].tail(1).to_numpy()
    return axis.shown(np.append(bins["start_s"].to_numpy(), ends))


def step(axes: Axes, x: npt.ArrayLike, y: npt.ArrayLike, **look: Any) -> None:
    """A line of values that hold from each x to the next; of one value less, the last holds to the last x."""
    axes.step(np.asarray(x), _held(x, y), where="post", **look)


def step_area(axes: Axes, x: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, **look: Any) -> None:
    """The area between two lines of `step`."""
    axes.fill_between(np.asarray(x), _held(x, low), _held(x, high), step="post", **{"linewidth": 0, **look})


def write_ticks(axis: Axis, ticks: Sequence[tuple[float, str]]) -> None:
    """Put ticks on an axis: places with their texts."""
    axis.set_ticks([at for at, _ in ticks], labels=[text for _, text in ticks])


def write_rows(axes: Axes, names: Sequence[str]) -> None:
    """Make y an axis of rows, the first on top, that are named and not measured."""
    axes.set_yticks(range(len(names)), row_names(names))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def write_names(axes: Axes, ticks: Sequence[tuple[float, str]], *, width_in: float) -> float:
    """Put names below axes that are about so wide: side by side where they fit, else upwards.

    Gives the height beyond a line that they take.
    """
    low, high = axes.get_xlim()
    at_in = [(at - low) / (high - low) * width_in for at, _ in ticks]
    names, is_upwards = tick_names([text for _, text in ticks], at_in, width_in)
    write_ticks(axes.xaxis, [(at, name) for (at, _), name in zip(ticks, names, strict=True)])
    axes.tick_params(axis="x", labelrotation=90 if is_upwards else 0)
    lines = [line for name in names for line in name.split("\n")]
    return max(map(text_width_in, lines)) if is_upwards else 0.0


def write_nodes(axes: Axes, nodes: int) -> None:
    """Make y an axis of nodes, for what covers all of it."""
    axes.set_ylabel("node")
    axes.set_ylim(-0.5, nodes - 0.5)
    axes.locator_params(axis="y", integer=True)
    axes.grid(visible=False)


_UNITS = (
    ("s", 1.0, (1, 2, 5, 10, 30)),
    ("min", 60.0, (1, 2, 5, 10, 30)),
    ("h", 3600.0, (1, 2, 5, 10)),
    ("d", 86400.0, (1, 2, 5, 10, 100, 1000)),
)


def length_ticks(low_s: float, high_s: float) -> list[tuple[float, str]]:
    """Lengths of time in everyday units for a logarithmic axis: 1 and 10 of each, more where those would be few.

    Examples
    --------
    >>> [text for _, text in length_ticks(50.0, 10000.0)], [text for _, text in length_ticks(50.0, 200.0)]
    (['1 min', '10 min', '1 h'], ['1 min', '2 min'])
    """
    found = [(number, number * scale, f"{number} {unit}") for unit, scale, numbers in _UNITS for number in numbers]
    fine = [one for one in found if low_s <= one[1] <= high_s]
    coarse = [one for one in fine if one[0] in (1, 10, 100, 1000)]
    return [(at, text) for _, at, text in (coarse if len(coarse) > 2 else fine)]


def write_lengths(axes: Axes, low_s: float, high_s: float) -> None:
    """Make x a logarithmic axis of lengths of time, with at most six names and a mark for each of the others."""
    axes.set_xscale("log")
    axes.set_xlim(low_s, high_s)
    ticks = length_ticks(low_s, high_s)
    write_ticks(axes.xaxis, ticks[:: -(-len(ticks) // 6) or 1])
    axes.set_xticks([at for at, _ in ticks], minor=True)
    axes.xaxis.set_minor_formatter("")


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


def extent(*instants: pl.Series) -> tuple[float, float]:
    """The first and the last of all instants that are known; 0 twice where there are none."""
    known = np.concatenate([own.drop_nulls().to_numpy() for own in instants])
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)


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
            write_ticks(axes.xaxis, [(instant / _DAY_S, text) for instant, text in ticks])
            return
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 -- slow to import

        # Chosen here: matplotlib chooses again when it has laid out the figure, and may cut what it adds at the end.
        found = MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]).tick_values(*self.limits)
        shown = [(place, f"{place:g}") for place in found if self.limits[0] <= place <= self.limits[1]]
        write_ticks(axes.xaxis, shown)


def __dir__() -> list[str]:
    return sorted(__all__)

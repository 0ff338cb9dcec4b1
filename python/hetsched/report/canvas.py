"""Common parts of all pictures: size, fonts, colours, axes of time, and the files they are written to.

Matplotlib is imported when a picture is made, not before; a message of one line tells if it is missing.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hetsched.checks import listed
from hetsched.errors import ConfigError
from hetsched.files import write_whole
from hetsched.report.dates import date_ticks, year_of
from hetsched.report.lettering import FONT, WIDTH_IN, write_title
from hetsched.workload.clock import zero_said

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure, FigureBase

    Instants = TypeVar("Instants", float, npt.NDArray[np.float64])

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

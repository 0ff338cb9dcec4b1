"""What all pictures share: size, fonts, colours, and how a picture becomes a file.

Matplotlib is imported when a picture is made, not before; if it is missing, that is said in a line.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hetsched.checks import listed
from hetsched.errors import ConfigError
from hetsched.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "DASHES",
    "SUFFIXES",
    "look",
    "new_figure",
    "new_grid",
    "picture_bytes",
    "require_matplotlib",
    "save",
]

WIDTH_IN = 3.6
"""Half a page of two columns; all sizes below are right at this width."""

SUFFIXES = (".png", ".svg", ".pdf")
"""What pictures are written as."""

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
"""Line patterns, so that curves differ without colour and one on top of another lets it show through."""

_SERIES = ("blue", "vermilion", "green", "orange", "purple", "sky", "black")
_MARKERS = ("o", "s", "D", "^", "v", "P", "X")
_FILLS = ("full", "none", "left")


def look(place: int) -> dict[str, Any]:
    """Colour, marker and line pattern of a curve, as matplotlib's `plot` takes them; 21 places differ in every panel.

    The first seven differ in each of the three. The next have the same colours with other marks, open ones and then
    half filled, so that dots without a line between them stay apart too.

    Parameters
    ----------
    place
        The curve's number, from 0.

    Examples
    --------
    >>> first, eighth = look(0), look(7)
    >>> (first["color"], first["marker"], first["fillstyle"]), (eighth["color"], eighth["marker"], eighth["fillstyle"])
    (('#0072B2', 'o', 'full'), ('#0072B2', '^', 'none'))
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
"""What would make files of the same picture differ, left out."""


def require_matplotlib(parameter: str = "plot") -> None:
    """See that pictures can be made, before a long run rather than after it.

    Parameters
    ----------
    parameter
        What to call the wish for pictures in the message.

    Raises
    ------
    ConfigError
        If matplotlib is not installed; says how to get it.
    """
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
def new_figure(heights_in: Sequence[float], *, share_x: bool = False) -> Iterator[tuple[Figure, Sequence[Axes]]]:
    """A figure with axes below each other, drawn in the common style while the block lasts.

    Parameters
    ----------
    heights_in
        Height of each, in inches, with the text around it.
    share_x
        Whether all have the same x axis, labelled below the last.
    """
    with _style():
        from matplotlib.figure import Figure  # noqa: PLC0415

        figure = Figure(figsize=(WIDTH_IN, sum(heights_in)), layout="constrained")
        axes = figure.subplots(len(heights_in), 1, sharex=share_x, squeeze=False, height_ratios=list(heights_in))
        yield figure, list(axes[:, 0])


@contextmanager
def new_grid(
    rows: int, columns: int, *, row_in: float, foot_in: float
) -> Iterator[tuple[Figure, Sequence[Sequence[Axes]]]]:
    """A figure with axes in rows and columns, drawn in the common style while the block lasts.

    Axes of a column share x.

    Parameters
    ----------
    rows, columns
        How many.
    row_in
        Height of a row, in inches.
    foot_in
        Height of all that stands above and below the axes, in inches.
    """
    with _style():
        from matplotlib.figure import Figure  # noqa: PLC0415

        figure = Figure(figsize=(2 * WIDTH_IN, rows * row_in + foot_in), layout="constrained")
        axes = figure.subplots(rows, columns, sharex="col", squeeze=False)
        yield figure, [list(across) for across in axes]


def picture_bytes(figure: Figure, suffix: str) -> bytes:
    """The picture as a file's content; the same figure gives the same bytes.

    Parameters
    ----------
    figure
        As the functions of `hetsched.report.figures` make it.
    suffix
        One of `SUFFIXES`.
    """
    file = io.BytesIO()
    with _style():
        figure.savefig(file, format=suffix[1:], dpi=_DOTS_PER_INCH, metadata=_UNDATED[suffix])
    return file.getvalue()


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a picture: under a temporary name first, so that no half of it is ever found.

    Parameters
    ----------
    figure
        As the functions of `hetsched.report.figures` make it.
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

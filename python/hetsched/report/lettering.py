"""Lettering of pictures: titles, legends, labels and ticks of dates, wrapped to the room they have and never cut."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hetsched.report.tables import folded

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase


WIDTH_IN = 3.6
"""Half a page of two columns; all sizes of pictures are right at this width."""

FONT = "DejaVu Sans"
_POINTS, _TITLE_POINTS = 8.0, 8.5
_LINE_IN = 0.135
_EDGE_IN = 0.2
_BETWEEN_IN = 0.06
"""Gap between two names in a legend, in inches."""

_LEGEND: dict[str, Any] = {"handlelength": 1.6, "handletextpad": 0.8, "columnspacing": 1.2, "labelspacing": 0.4}


@lru_cache(maxsize=4096)
def width_in(text: str, points: float = _POINTS) -> float:
    """Width of a line of text in a picture, in inches."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415 -- slow to import
    from matplotlib.textpath import TextToPath  # noqa: PLC0415

    font = FontProperties(family=FONT, size=points)
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


_ROW_NAMES_IN = 0.42 * WIDTH_IN
"""Most width of the names of rows."""


def row_names(names: Sequence[str]) -> list[str]:
    """Names of rows, wrapped where they would leave no room for what they name."""
    return [
        "\n".join(part for line in name.split("\n") for part in fitted(line, _ROW_NAMES_IN, indent="  "))
        for name in names
    ]


def rows_in(names: Sequence[str], least_in: float) -> float:
    """Height of rows with those names, each of which is at least so high."""
    most = max((name.count("\n") + 1 for name in row_names(names)), default=1)
    return max(least_in, _LINE_IN * most + 0.04) * len(names)


_SIDEWAYS_IN, _GAP_IN, _OVER_IN = 1.1, 0.06, 0.2
"""Most length of a name that is written upwards; gap of those side by side, and how far they reach beyond the axis."""


def tick_names(names: Sequence[str], at_in: Sequence[float], room_in: float) -> tuple[list[str], bool]:
    """Names at places below an axis of some inches, and whether they are written upwards, as too wide ones are."""
    halves = [width_in(_seen(name)) / 2 for name in names]
    ends = [(at - half, at + half) for at, half in zip(at_in, halves, strict=True)]
    are_apart = all(left - right >= _GAP_IN for (_, right), (left, _) in pairwise(ends))
    if are_apart and all(left >= -_OVER_IN and right <= room_in + _OVER_IN for left, right in ends):
        return list(names), False
    return ["\n".join(fitted(name, _SIDEWAYS_IN, indent="  ")) if "$" not in name else name for name in names], True


_UNSEEN = str.maketrans("", "", "$^{}")


def _seen(name: str) -> str:
    """The letters of a name that may be a formula."""
    return name.translate(_UNSEEN)


def write_title(figure: Figure, title: str) -> None:
    """Write a title above all axes, wrapped to the width; the figure grows by each line but the first."""
    if title:
        lines = fitted(title, figure.get_figwidth() - _EDGE_IN, points=_TITLE_POINTS)
        figure.suptitle("\n".join(lines), fontsize=_TITLE_POINTS, parse_math=False)
        figure.set_figheight(figure.get_figheight() + _LINE_IN * (len(lines) - 1))


def _arranged(
    names: Sequence[str], columns: int, look: Mapping[str, Any], whole_in: float = WIDTH_IN
) -> list[list[str]]:
    """Names by column, wrapped where one of them is wider than the figure; as many columns as fit, at most so many."""
    handle_in, gap_in = (
        sum(look[name] for name in own) * _POINTS / 72
        for own in (("handlelength", "handletextpad"), ("columnspacing",))
    )
    room_in = whole_in - _EDGE_IN
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
    if isinstance(figure, Figure):
        stacks = _arranged(names, columns, look, figure.get_figwidth())
        figure.set_figheight(figure.get_figheight() + _height_in(stacks))
    else:  # a part of a page has the height that the page gives it
        stacks = _arranged(names, columns, look)
    place: Any = f"outside {at}"
    drawn = figure.legend(handles, [name for stack in stacks for name in stack], loc=place, ncols=len(stacks), **look)
    for text in drawn.get_texts():
        text.set_parse_math(False)


def swatch(colour: Any, **look: Any) -> Artist:
    """A patch of a colour for a legend."""
    from matplotlib.patches import Patch  # noqa: PLC0415 -- slow to import

    return Patch(facecolor=colour, edgecolor="#777777", linewidth=0.3, **look)


def named(*axes: Axes, last: str = "") -> list[tuple[Artist, str]]:
    """Artists on axes with their names, as `legend` takes them: each name once, and `last` at the end."""
    found: dict[str, Artist] = {}
    for own in axes:
        for one, name in zip(*own.get_legend_handles_labels(), strict=True):
            found.setdefault(name, one)
    return sorted(((one, name) for name, one in found.items()), key=lambda own: own[1] == last)


UTC = timezone.utc

MOST_TICKS = 6
"""Most ticks that fit next to each other."""

_DAY_S = 86400
_SECONDS = (1, 2, 5, 10, 15, 30, *(60 * n for n in (1, 2, 5, 10, 15, 30)), *(3600 * n for n in (1, 2, 3, 6, 12)))
_DAYS = (1, 2, 3, 5, 7)
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = (1, 2, 3, 6, *(12 * years for years in (1, 2, 5, 10, 20, 50)))


def date_ticks(first_s: float, last_s: float) -> list[tuple[float, str]]:
    r"""Instants between two, in seconds since 1970, and the text below each, at most `MOST_TICKS`.

    Examples
    --------
    >>> day_s = 86400.0
    >>> for _, text in date_ticks(1172448000.0, 1172448000.0 + 5 * day_s):
    ...     print(repr(text))
    '26\nFeb'
    '27'
    '28'
    '1\nMar'
    '2'
    '3'
    """
    for step_s in (*_SECONDS, *(_DAY_S * days for days in _DAYS)):
        # Days in steps are counted from the first, so that a month's end is no odd step.
        start_s = math.ceil(first_s / min(step_s, _DAY_S)) * min(step_s, _DAY_S)
        count = math.floor((last_s - start_s) / step_s) + 1
        if count <= MOST_TICKS:
            finest = _day if step_s >= _DAY_S else _minute if step_s >= 60 else _second
            return _written([float(start_s + place * step_s) for place in range(count)], finest, first_s, last_s)
    halves = [*_starts_of_months(first_s, last_s, 1, days=(1, 15))]
    if len(halves) <= MOST_TICKS:
        return _written(halves, _day, first_s, last_s)
    found: list[float] = []
    for months in _MONTHS:
        found = [*_starts_of_months(first_s, last_s, months)]
        if len(found) <= MOST_TICKS:
            break
    return _written(found, _month if months < 12 else _year, first_s, last_s)


def year_of(first_s: float, last_s: float) -> int | None:
    """The year in which all of a time lies; None: it lies in several."""
    years = {datetime.fromtimestamp(instant, UTC).year for instant in (first_s, last_s)}
    return years.pop() if len(years) == 1 else None


_Text = Callable[[datetime], str]


def _second(date: datetime) -> str:
    return f"{date:%H:%M:%S}"


def _minute(date: datetime) -> str:
    return f"{date:%H:%M}"


def _day(date: datetime) -> str:
    return str(date.day)


def _day_of_month(date: datetime) -> str:
    return f"{date.day} {_month(date)}"


def _month(date: datetime) -> str:
    return _NAMES[date.month - 1]


def _year(date: datetime) -> str:
    return str(date.year)


_COARSER: dict[_Text, _Text | None] = {
    _second: _day_of_month,
    _minute: _day_of_month,
    _day: _month,
    _day_of_month: _year,
    _month: _year,
    _year: None,
}
"""The line below each: written at the first tick and where it changes."""


def _written(instants: list[float], finest: _Text, first_s: float, last_s: float) -> list[tuple[float, str]]:
    """Texts of one to three lines; the year is left out where the axis is of one."""
    is_of_one_year = year_of(first_s, last_s) is not None
    before: dict[_Text, str] = {}
    ticks = []
    for instant in instants:
        date = datetime.fromtimestamp(instant, UTC)
        lines = [finest(date)]
        coarser = _COARSER[finest]
        while coarser is not None and not (coarser is _year and is_of_one_year):
            text = coarser(date)
            lines.append("" if before.get(coarser) == text else text)
            before[coarser] = text
            coarser = _COARSER[coarser]
        ticks.append((instant, "\n".join(lines).rstrip("\n")))
    return ticks


def _starts_of_months(first_s: float, last_s: float, months: int, *, days: tuple[int, ...] = (1,)) -> Iterator[float]:
    """Days of every so many months, counted from January, that lie between two instants."""
    first, last = (datetime.fromtimestamp(instant, UTC) for instant in (first_s, last_s))
    begin = first.year * 12 + first.month - 1
    for month in range(begin - begin % months, last.year * 12 + last.month, months):
        for day in days:
            instant = datetime(month // 12, month % 12 + 1, day, tzinfo=UTC).timestamp()
            if first_s <= instant <= last_s:
                yield instant

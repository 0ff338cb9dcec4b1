"""Tables that ``squeue -O`` and ``sinfo -O`` print: columns of fixed widths that a control character separates.

Only columns that no user can write at will are asked for: Slurm prints names and comments as they are, with line ends
and separators in them. What is read is checked against its widths, and refused as a whole if a row does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import eq

from hetsched.checks import shown
from hetsched.errors import LiveError

SEPARATOR = "\x1f"


class TableError(LiveError):
    """A table of Slurm's that does not read."""


@dataclass(frozen=True)
class Column:
    """A column: its name in ``-O``, and its width in characters."""

    name: str
    width: int
    may_be_cut: bool = False
    """True if a value may be longer, as users make it so long: the rest is cut off, and the row is kept."""


def format_of(columns: Sequence[Column]) -> str:
    """The argument of ``-O`` that asks for these columns.

    Examples
    --------
    >>> format_of([Column("JobID", 12), Column("State", 16)]).replace(SEPARATOR, "|")
    'JobID:.12|,State:.16|'
    """
    return ",".join(f"{one.name}:.{one.width}{SEPARATOR}" for one in columns)


def lines_of(text: str, command: str) -> list[str]:
    """The lines of a table, without their ends; raises TableError if the last one has none."""
    lines = text.split("\n")
    if last := lines.pop():
        raise TableError(f"{command}: found a table whose last line has no end, {shown(last)}")
    return lines


def rows_of(text: str, columns: Sequence[Column], command: str) -> Iterator[tuple[str, ...]]:
    """The rows of a table, blanks around each value left out; raises as `row_of`."""
    for number, line in enumerate(lines_of(text, command), start=1):
        yield row_of(line, columns, f"{command}, line {number}")


def row_of(line: str, columns: Sequence[Column], place: str) -> tuple[str, ...]:
    """The values of a line, blanks around each left out.

    Raises
    ------
    TableError
        If it has other columns or widths; if a value fills a column that is not to be cut, as the rest may be missing.
    """
    *values, rest = line.split(SEPARATOR)
    if len(values) != len(columns) or rest:
        raise TableError(f"{place}: found {shown(line.strip())}, expected {len(columns)} columns")
    stripped = tuple([value.strip(" ") for value in values])
    widths = [column.width for column in columns]
    if [*map(len, values)] != widths or any(map(eq, map(len, stripped), widths)):
        _check(values, columns, place)
    return stripped


def _check(values: Sequence[str], columns: Sequence[Column], place: str) -> None:
    """Say which value does not fit its column, if there is one."""
    for text, column in zip(values, columns, strict=True):
        if len(text) != column.width:
            found = f"{shown(text.strip())} of {len(text)} characters"
            raise TableError(f"{place}, {column.name}: found {found}, expected {column.width}")
        if len(text.strip(" ")) == column.width and not column.may_be_cut:
            raise TableError(f"{place}, {column.name}: found {shown(text)}, which may have been cut off")


def whole(text: str, place: str) -> int:
    """A whole number of a table; raises TableError."""
    if not (text.isascii() and text.isdecimal()):
        raise TableError(f"{place}: found {shown(text)}, expected a whole number")
    return int(text)

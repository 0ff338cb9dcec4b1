"""Names of nodes as batch systems list them, ``r[1-2]n[01-02],login``, and the order in which people count them.

The grammar is that of Slurm's host lists (`src/common/hostlist.c`): in brackets numbers and ranges with commas between
them, a range as wide as its first number is written, several brackets in a name with the last one counting fastest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby, product
from math import prod

from hetsched.checks import shown

MOST_NAMES = 1_000_000
"""Names that a list may have: ten times those of the largest machine."""

_MOST_DIGITS = 20
_MOST_LETTERS = 255
_NO_NAME = re.compile(r"[\s\x00-\x1f\x7f\[\]]")
_DIGITS = re.compile(r"([0-9]+)")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")


class HostListError(ValueError):
    """A text is no host list: what was found in it, and what would be right."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.found = found
        self.expected = expected


def expanded(text: str, *, most: int = MOST_NAMES) -> list[str]:
    """The names that a host list stands for, in its order, leading zeros kept; one that occurs twice comes twice.

    Raises
    ------
    HostListError
        If it does not read, or stands for more than `most` names: this is known before they are made.

    Examples
    --------
    >>> expanded("c[1-3,07],r[1-2]n[01-02],login")
    ['c1', 'c2', 'c3', 'c07', 'r1n01', 'r1n02', 'r2n01', 'r2n02', 'login']
    >>> expanded("c[3-1]")
    Traceback (most recent call last):
    hetsched.hostlists.HostListError: found `3-1` in `c[3-1]`, expected the smaller number first
    """
    if "[" not in text and "]" not in text:
        names = [name for name in text.split(",") if name]
        _check_count(len(names), text, most)
        return [_checked(name) for name in names]
    patterns = [_pattern(part) for part in _parts(text) if part]
    _check_count(sum(prod(map(_size, ranges)) for _, ranges in patterns), text, most)
    return [name for texts, ranges in patterns for name in _names(texts, ranges)]


def folded(names: Iterable[str]) -> str:
    """The host list that `expanded` makes these names of, in their order: names that follow each other share brackets.

    Examples
    --------
    >>> folded(["c1", "c2", "c3", "c07", "login", "r1n01", "r1n02", "r2n01", "r2n02"])
    'c[1-3,07],login,r[1-2]n[01-02]'
    """
    items = [_DIGITS.split(name) for name in names]
    # Digits that are left of others count more slowly, so they are folded after those.
    for place in range(2, max(map(len, items), default=0), 2):
        items = _folded_at(items, -place)
    return ",".join(map("".join, items))


def natural_key(name: str) -> tuple[list[str | tuple[int, str]], str]:
    """A key to sort names by as people count: runs of digits compare as numbers, digits come before letters.

    Examples
    --------
    >>> sorted(["c10", "ca", "c2", "c02"], key=natural_key)
    ['c02', 'c2', 'c10', 'ca']
    """
    # Text and digits alternate, so that the parts at one place are of one kind.
    parts = _DIGITS.split(name)
    # As many digits, then the digits: as numbers compare, of any length.
    return [(len(part.lstrip("0")), part.lstrip("0")) if place % 2 else part for place, part in enumerate(parts)], name


def _parts(text: str) -> list[str]:
    """The text cut at its commas outside of brackets."""
    parts, start, opened = [], 0, -1
    for place in re.finditer(r"[\[\],]", text):
        at, letter = place.start(), place.group()
        if letter == "[" and opened >= 0:
            raise HostListError(
                f"a bracket within brackets in {shown(text)}", "brackets side by side, as in `r[1-2]n[01-02]`"
            )
        if letter == "]" and opened < 0:
            raise HostListError(f"a bracket that closes none in {shown(text)}", "`[` before `]`, as in `c[1-3,07]`")
        if letter == "," and opened < 0:
            parts.append(text[start:at])
            start = at + 1
        elif letter != ",":
            opened = at if letter == "[" else -1
    if opened >= 0:
        raise HostListError(f"a bracket that is not closed in {shown(text)}", "`]` after `[`, as in `c[1-3,07]`")
    return [*parts, text[start:]]


_Range = tuple[int, int, int]
"""First and last number, and the digits that the first is written with."""


def _pattern(part: str) -> tuple[list[str], list[list[_Range]]]:
    """The texts around the brackets of a part of the list, and the ranges within each."""
    pieces = _BRACKETS.split(part)
    texts = pieces[::2]
    if sum(map(len, texts)) > _MOST_LETTERS:
        raise HostListError(f"a name of more than {_MOST_LETTERS} letters, {shown(part)}", "names of nodes")
    if found := next(filter(None, map(_NO_NAME.search, texts)), None):
        raise HostListError(f"{shown(found.group())} in {shown(part)}", "names without blanks, commas between them")
    return texts, [[_range(item, part) for item in piece.split(",")] for piece in pieces[1::2]]


def _checked(name: str) -> str:
    _pattern(name)
    return name


def _range(item: str, part: str) -> _Range:
    first, dash, last = item.partition("-")
    ends = [first, last] if dash else [first]
    if not all(end.isascii() and end.isdecimal() and len(end) <= _MOST_DIGITS for end in ends):
        found = f"{shown(item)} in {shown(part)}" if item else f"nothing between commas or brackets in {shown(part)}"
        raise HostListError(found, "numbers and ranges in brackets, as in `c[1-3,07]`")
    if int(ends[-1]) < int(first):
        raise HostListError(f"{shown(item)} in {shown(part)}", "the smaller number first")
    return int(first), int(ends[-1]), len(first)


def _size(ranges: list[_Range]) -> int:
    return sum(last - first + 1 for first, last, _ in ranges)


def _check_count(count: int, text: str, most: int) -> None:
    if count == 0:
        raise HostListError(f"no name in {shown(text)}", "names of nodes such as `c[1-3,07]` or `a,b`")
    if count > most:
        raise HostListError(f"{count:,} names in {shown(text)}", f"at most {most:,}")


def _names(texts: list[str], ranges: list[list[_Range]]) -> Iterable[str]:
    if not ranges:
        return texts
    numbers = [[str(n).zfill(width) for first, last, width in one for n in range(first, last + 1)] for one in ranges]
    written = "{}".join(text.replace("{", "{{").replace("}", "}}") for text in texts)
    return (written.format(*chosen) for chosen in product(*numbers))


def _folded_at(items: list[list[str]], place: int) -> list[list[str]]:
    """The items with those made one that follow each other and differ only in the digits at a place from their end."""

    def around(item: list[str]) -> tuple[list[str], list[str]] | None:
        is_number = len(item) > -place and item[place].isdecimal() and len(item[place]) <= _MOST_DIGITS
        return (item[:place], item[place + 1 :]) if is_number else None

    done: list[list[str]] = []
    for both, group in groupby(items, around):
        alike = list(group)
        if both is None or len(alike) == 1:
            done += alike
        else:
            done.append([*both[0], f"[{_ranges_text([item[place] for item in alike])}]", *both[1]])
    return done


def _ranges_text(numbers: list[str]) -> str:
    """Numbers as they stand in brackets: ``1-3,07``."""
    runs: list[list[str]] = []
    for number in numbers:
        if runs and number == str(int(runs[-1][1]) + 1).zfill(len(runs[-1][0])):
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(first if first == last else f"{first}-{last}" for first, last in runs)

"""Lines folded where names may be broken: behind the marks between their parts, not inside of words."""

from __future__ import annotations

import re

__all__ = ["folded"]

_PIECES = tuple(re.compile(rf"[^{marks}]*[{marks}]+|[^{marks}]+") for marks in (r"\s:/", "=,(", "._-"))
"""What lies between marks, with the marks behind it; coarse pieces first."""


def folded(text: str, width: int, *, indent: str = "") -> list[str]:
    """Text in lines: broken at spaces and behind ``:`` and ``/``; in what is longer still, behind ``=``, then ``-``.

    Parameters
    ----------
    text
        What to fold.
    width
        Letters a line; a word that is longer and has no mark in it is cut.
    indent
        What the second line and all after it begin with.

    Examples
    --------
    >>> folded("swa:placement.on_miss=wait:placement.window=1 on 48 nodes", 40)
    ['swa:placement.on_miss=wait:', 'placement.window=1 on 48 nodes']
    >>> folded("fcfs:placement=sliding-window", 20)
    ['fcfs:placement=', 'sliding-window']
    """
    room = max(width - len(indent), 1)
    pieces = _fitting(text, room)
    lines, line = [], ""
    for piece in pieces:
        if line.strip() and len((line + piece).rstrip()) > width:
            lines.append(line.rstrip())
            line = indent
        line += piece
    return [*lines, line.rstrip()]


def _fitting(text: str, width: int) -> list[str]:
    """Text in pieces that fit on a line, no finer than needed."""
    pieces = _PIECES[0].findall(text)
    for finer in _PIECES[1:]:
        own = [[piece] if len(piece.rstrip()) <= width else finer.findall(piece) for piece in pieces]
        pieces = [part for parts in own for part in parts]
    return [piece[at : at + width] for piece in pieces for at in range(0, max(len(piece.rstrip()), 1), width)]

"""Lists of node numbers, one a job: out of lists, or out of the text of a file, and as the engine takes them."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import polars as pl

__all__ = ["EXPECTED", "as_lists", "as_places", "parsed", "refused", "text_of"]

EXPECTED = "a list of node numbers from 0, such as 0 1 2 7 or 0-2,7 in a file of text"

_PIECE = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?")
_MOST = 2**32 - 2
_LONGEST_RANGE = 10_000_000


def parsed(text: str) -> list[int] | None:
    """The numbers that a field of a file holds, ranges with both their ends; None if it holds anything else.

    Examples
    --------
    >>> parsed("0-2, 7"), parsed("3 5 8"), parsed("n[1-2]")
    ([0, 1, 2, 7], [3, 5, 8], None)
    """
    numbers: list[int] = []
    for word in re.split(r"[\s,]+", text.strip()):
        piece = _PIECE.fullmatch(word)
        if piece is None:
            return None
        low, high = int(piece[1]), int(piece[2] or piece[1])
        if not low <= high <= _MOST or high - low > _LONGEST_RANGE:
            return None
        numbers.extend(range(low, high + 1))
    return numbers


def as_lists(values: pl.Series) -> tuple[pl.Series, pl.Series] | None:
    """The values as lists of node numbers, and which of them are none; None if the type cannot be meant.

    Examples
    --------
    >>> lists, bad = as_lists(pl.Series([[0, 1], [-1], None]))
    >>> lists.to_list(), bad.to_list()
    ([[0, 1], None, None], [False, True, False])
    """
    dtype = values.dtype
    if dtype == pl.String:
        read = [None if text is None or not text.strip() else (parsed(text), text) for text in values]
        lists = pl.Series(values.name, [pair and pair[0] for pair in read], dtype=pl.List(pl.UInt32))
        return lists, pl.Series([pair is not None and pair[0] is None for pair in read], dtype=pl.Boolean)
    if not isinstance(dtype, pl.List | pl.Array) or not (dtype.inner.is_integer() or dtype.inner == pl.Null):
        return None
    whole = values.cast(pl.List(dtype.inner)).cast(pl.List(pl.Int64), strict=False)
    fits = pl.element().is_between(0, _MOST).fill_null(value=False).all()
    good = whole.list.eval(fits).list.first().fill_null(value=True)
    return whole.set(~good, None).cast(pl.List(pl.UInt32)) if not good.all() else whole.cast(pl.List(pl.UInt32)), ~good


def refused(nodes: pl.Series, node_count: pl.Series) -> pl.Series:
    """Which jobs' nodes cannot be: a node twice, or not as many as the job asks for.

    Examples
    --------
    >>> refused(pl.Series([[0, 1], [0, 0], [0], None]), pl.Series([2, 2, 2, 2])).to_list()
    [False, True, True, False]
    """
    distinct = nodes.list.drop_nulls().list.n_unique()
    return ((distinct != node_count) | (nodes.list.len() != node_count)).fill_null(value=False)


def text_of(nodes: pl.Series) -> pl.Series:
    """The lists as messages show them.

    Examples
    --------
    >>> text_of(pl.Series([[3, None], None])).to_list()
    ['3 null', None]
    """
    return nodes.cast(pl.List(pl.String)).list.eval(pl.element().fill_null("null")).list.join(" ")


def as_places(nodes: pl.Series) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where each job's nodes begin in the list of all, and one more; and that list. Null: none.

    Examples
    --------
    >>> offsets, flat = as_places(pl.Series([[4, 5], None, [6]]))
    >>> offsets.tolist(), flat.tolist()
    ([0, 2, 2, 3], [4, 5, 6])
    """
    length = nodes.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    flat = nodes.explode(empty_as_null=False, keep_nulls=False).cast(pl.Int64).to_numpy()
    return np.concatenate([[0], np.cumsum(length)]).astype(np.int64), flat

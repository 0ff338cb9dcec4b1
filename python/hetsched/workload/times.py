"""Spans and dates as people and batch systems write them, in seconds.

What a number means, and what is refused, is `conversion`'s business.
"""

from __future__ import annotations

import polars as pl

__all__ = ["date_seconds", "has_offset", "span_seconds"]

_SPAN = r"^(?:(\d{1,8})-)?(\d{1,8}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)$"
_DATE = (
    r"^(\d{4}-\d{2}-\d{2})"
    r"(?:[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d{1,9})?))?)?"
    r"\s?(?:[Zz]|([+-])(0\d|1[0-4]):?([0-5]\d)?)?$"
)
_OFFSET = r"(?:[Zz]|[T ].*[+-]\d{2}:?(?:\d{2})?)$"


def span_seconds(text: pl.Series) -> pl.Series:
    """Seconds of spans written ``HH:MM:SS`` or, as Slurm has them, ``D-HH:MM:SS``; null for anything else.

    Parameters
    ----------
    text
        Of dtype String, without blanks around it. Seconds may have decimals, hours any number.

    Examples
    --------
    >>> span_seconds(pl.Series(["01:00:00", "1-02:03:04", "0:00:00.5", "12:30", "90"])).to_list()
    [3600.0, 93784.0, 0.5, None, None]
    """
    days, hours, minutes, seconds = map(_number, _groups(text, _SPAN))
    return (days.fill_null(0.0) * 86400.0 + hours * 3600.0 + minutes * 60.0 + seconds).alias(text.name)


def date_seconds(text: pl.Series) -> pl.Series:
    """Seconds since 1970 of dates in ISO 8601; null for anything else.

    Parameters
    ----------
    text
        Of dtype String, without blanks around it: a day, perhaps a time of day after ``T`` or a blank, and perhaps
        ``Z`` or an offset such as ``+02:00``. Without these two it is UTC.

    Examples
    --------
    >>> date_seconds(pl.Series(["1970-01-02", "1970-01-01T02:00:00+01:00", "1970-01-01 00:01", "02/01/1970"])).to_list()
    [86400.0, 3600.0, 60.0, None]
    """
    day, *clock, sign, offset_h, offset_min = _groups(text, _DATE)
    hours, minutes, seconds = (_number(part).fill_null(0.0) for part in clock)
    east = 1.0 - 2.0 * (sign == "-").fill_null(value=False).cast(pl.Float64)
    offset_s = _number(offset_h).fill_null(0.0) * 3600.0 + _number(offset_min).fill_null(0.0) * 60.0
    midnight_s = _number(day.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32)) * 86400.0
    return (midnight_s + hours * 3600.0 + minutes * 60.0 + seconds - east * offset_s).alias(text.name)


def has_offset(text: pl.Series) -> pl.Series:
    """Whether dates say how far from UTC they are.

    Examples
    --------
    >>> has_offset(pl.Series(["2024-05-01", "2024-05-01T12:00Z", "2024-05-01 12:00+02:00"])).to_list()
    [False, True, True]
    """
    return text.str.contains(_OFFSET)


def _groups(text: pl.Series, pattern: str) -> list[pl.Series]:
    return text.str.extract_groups(pattern).struct.unnest().get_columns()


def _number(values: pl.Series) -> pl.Series:
    return values.cast(pl.Float64, strict=False)

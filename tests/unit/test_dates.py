"""Ticks of an axis of dates: the month, and over several years the year, where they begin and where they change."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetsched.report.lettering import MOST_TICKS, date_ticks, year_of


def between(first: str, **length: float) -> tuple[float, float]:
    start = datetime.fromisoformat(first).replace(tzinfo=timezone.utc)
    return start.timestamp(), (start + timedelta(**length)).timestamp()


SPANS = [
    (between("2007-02-01T00:04:38", seconds=4), ["00:04:38\n1 Feb", "00:04:39", "00:04:40", "00:04:41", "00:04:42"]),
    (between("2007-02-01T22:10:00", minutes=25), ["22:10\n1 Feb", "22:15", "22:20", "22:25", "22:30", "22:35"]),
    (between("2007-01-31T17:30:00", hours=10), ["18:00\n31 Jan", "20:00", "22:00", "00:00\n1 Feb", "02:00"]),
    (between("2007-02-26T02:00:00", days=5), ["27\nFeb", "28", "1\nMar", "2", "3"]),
    (between("2007-02-01T02:00:00", days=28), ["2\nFeb", "7", "12", "17", "22", "27"]),
    (between("2007-02-01T00:00:00", days=58), ["1\nFeb", "15", "1\nMar", "15"]),
    (between("2007-02-01T02:00:00", days=80), ["15\nFeb", "1\nMar", "15", "1\nApr", "15"]),
    (between("2007-02-02T02:00:00", days=120), ["Mar", "Apr", "May", "Jun"]),
    (between("2006-12-26T12:00:00", days=10), ["27\nDec\n2006", "29", "31", "2\nJan\n2007", "4"]),
    (
        between("2006-12-31T12:30:00", hours=20),
        ["15:00\n31 Dec\n2006", "18:00", "21:00", "00:00\n1 Jan\n2007", "03:00", "06:00"],
    ),
    (between("2006-11-15T00:00:00", days=300), ["Jan\n2007", "Mar", "May", "Jul", "Sep"]),
    (between("2003-05-05T00:00:00", days=1500), ["2004", "2005", "2006", "2007"]),
]


@pytest.mark.parametrize(("span", "texts"), SPANS)
def test_the_month_stands_at_the_first_tick_and_at_each_change(span: tuple[float, float], texts: list[str]) -> None:
    assert [text for _, text in date_ticks(*span)] == texts


@given(st.floats(0.0, 4e9), st.floats(5.0, 4e9))
def test_ticks_lie_in_the_span_and_their_texts_are_their_dates(first_s: float, length_s: float) -> None:
    last_s = first_s + length_s
    ticks = date_ticks(first_s, last_s)
    assert 1 <= len(ticks) <= MOST_TICKS
    months: list[str] = []
    for instant, text in ticks:
        assert first_s <= instant <= last_s
        date = datetime.fromtimestamp(instant, timezone.utc)
        lines = text.split("\n")
        assert lines[0] in (f"{date:%H:%M:%S}", f"{date:%H:%M}", str(date.day), f"{date:%b}", str(date.year))
        month = f"{date:%b}"
        if not lines[0].isalpha() and lines[0] != str(date.year):
            is_new = not months or months[-1] != month
            assert not is_new or month in lines[1]
            months.append(month)
    if year_of(first_s, last_s) is None:
        assert str(datetime.fromtimestamp(ticks[0][0], timezone.utc).year) in ticks[0][1]


def test_the_year_of_a_span_in_one_year() -> None:
    assert year_of(*between("2007-01-01", days=364)) == 2007
    assert year_of(*between("2007-01-01", days=366)) is None

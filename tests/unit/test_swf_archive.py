"""SWF as the archive's logs really are: what is kept, and what is an error with its line (readers page, rule 49)."""

from __future__ import annotations

import re

import pytest

import hetsched as hs
from hetsched.errors import TraceError

GOOD = "1 0 5 60 4 -1 -1 4 100 -1 1 3 1 7 1 -1 -1 -1"


def with_field(number: int, text: str) -> str:
    fields = GOOD.split()
    fields[0], fields[number - 1] = "2", text
    return " ".join(fields)


def read(*lines: str, **options: object) -> hs.Workload:
    return hs.read_swf(("\n".join(lines) + "\n").encode(), **options)  # type: ignore[arg-type]


def test_comments_stand_anywhere() -> None:
    workload = read("; MaxNodes: 8", GOOD, "; in between", "  ; blanks before", "", with_field(1, "2"), ";")
    assert len(workload) == 2
    assert workload.report["header"]["max_nodes"] == 8


def test_more_than_18_fields_are_counted() -> None:
    workload = read(GOOD, f"{with_field(1, '2')} 7 eight 9.0")
    assert (len(workload), workload.report["extra_columns"]) == (2, 1)


@pytest.mark.parametrize("field", [6, 7, 10, 13, 16])
@pytest.mark.parametrize("text", ["-5", "0.25", "1e99", "123456789012345678901234567890"])
def test_fields_that_are_not_read_hold_any_number(field: int, text: str) -> None:
    assert len(read(GOOD, with_field(field, text))) == 2


@pytest.mark.parametrize("field", [1, 5, 8, 12, 14, 15, 17])
def test_whole_numbers_may_have_a_point(field: int) -> None:
    workload = read(GOOD, with_field(field, "4.0"))
    assert len(workload) == 2


def test_times_may_be_fractional() -> None:
    jobs = read(GOOD, "2 1.5 0.25 60.75 4 -1 -1 4 100.5 -1 1 3 1 7 1 -1 -1 -1").to_polars()
    assert jobs.select("submit_s", "runtime_s", "walltime_s", "observed_start_s").row(1) == (1.5, 60.75, 100.5, 1.75)


@pytest.mark.parametrize("status", ["7", "-3", "1.5", "99999999999"])
def test_unknown_status_codes_are_counted(status: str) -> None:
    workload = read(GOOD, with_field(11, status))
    assert workload.to_polars()["trace_status"].to_list() == [1, None]
    assert workload.report["unknown_status"] == 1


def test_a_negative_wait_is_no_observed_start() -> None:
    assert read(GOOD, with_field(3, "-7")).to_polars()["observed_start_s"].to_list() == [5.0, None]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (" ".join(GOOD.split()[:17]), "line 2: found 17 fields"),
        (with_field(4, "1h"), "line 2, field 4 (run time): found `1h`"),
        (with_field(6, "none"), "line 2, field 6 (average CPU time): found `none`"),
        (with_field(8, "4.5"), "line 2, field 8 (requested processors): found `4.5`"),
        (with_field(5, "4.5"), "line 2, field 5 (allocated processors): found `4.5`"),
        (with_field(4, "-2"), "line 2, field 4 (run time): found `-2`"),
    ],
)
def test_what_is_wrong_is_an_error_or_counted(line: str, message: str) -> None:
    with pytest.raises(TraceError, match=re.escape(message)):
        read(GOOD, line, with_field(1, "3"))
    workload = read(GOOD, line, with_field(1, "3"), on_bad_line="skip")
    assert (len(workload), workload.report["bad_lines"]) == (2, 1)
    assert workload.report["first_bad_lines"] == [
        line for line in workload.report["first_bad_lines"] if message in line
    ]

"""Logs as sites have them: bad lines among good ones, odd statuses, dates and spans, packed files."""

import gzip
import shutil
import subprocess

import polars as pl
import pytest

import hetsched as hs

HEADER = "job_id,submit_s,runtime_s,node_count,walltime_s"


def csv(*lines, header=HEADER):
    return "\n".join([header, *lines, ""]).encode()


def swf(job, **fields):
    """A job line with some of its fields, counted from 1 as `f4=...`, replaced."""
    line = [str(job), "0", "5", "60", "4", "-1", "-1", "4", "100", "-1", "1", "3", "2", "7", "2", "1", "-1", "-1"]
    for name, value in fields.items():
        line[int(name[1:]) - 1] = str(value)
    return (" ".join(line) + "\n").encode()


def message(read, *arguments, **options):
    with pytest.raises(hs.HetschedError) as caught:
        read(*arguments, **options)
    return str(caught.value)


def zstd(data):
    """Packed as zstd by its own program."""
    if shutil.which("zstd") is None:
        pytest.skip("there is no zstd here to pack with")
    return subprocess.run(["zstd", "-c"], input=data, capture_output=True, check=True).stdout


def test_a_status_that_the_format_does_not_know_is_null_and_counted():
    workload = hs.read_swf(swf(1, f11=17) + swf(2, f11=-3) + swf(3, f11=2.5) + swf(4, f11=5))
    assert workload.to_polars()["trace_status"].to_list() == [None, None, None, 5]
    assert workload.report["unknown_status"] == 3
    assert "; 3 of unknown status kept" in workload.report.line()


def test_fields_that_are_not_used_hold_any_number():
    fields = {"f6": "1e400", "f7": -3.5, "f10": "9" * 40, "f13": -7, "f16": 0.25, "f18": -2}
    assert len(hs.read_swf(swf(1, **fields))) == 1
    assert "field 13 (group): found `x`" in message(hs.read_swf, swf(1, f13="x"))


def test_bad_lines_of_swf_are_skipped_counted_and_reported():
    log = b"".join(swf(job) for job in range(1, 6)) + swf(6, f4="1h") + b"7 0\n" + swf(2) + swf(8, f5="x")
    assert message(hs.read_swf, log).startswith("bytes, line 6, field 4 (run time): found `1h`")
    workload = hs.read_swf(log, on_bad_line="skip")
    assert workload.to_polars()["job_id"].to_list() == [1, 2, 3, 4, 5]
    assert workload.report["bad_lines"] == 4
    assert workload.report["first_bad_lines"] == [
        "line 6, field 4 (run time): found `1h`, expected seconds from 0 to 1e12, or -1 for unknown",
        "line 7: found 2 fields in `7 0`, expected 18 fields",
        "line 8, field 1 (job number): found `2`, expected a number that no other job has",
    ]
    assert workload.report.line().endswith("; lines skipped as bad: 4")
    assert workload.history == ("read bytes with on_bad_line=skip",)


def test_a_log_without_bad_lines_reads_alike_either_way():
    log = swf(1) + swf(2, f2=-1) + swf(3, f9=-1)
    strict, lenient = hs.read_swf(log), hs.read_swf(log, on_bad_line="skip")
    assert strict == lenient
    assert strict.report.to_dict() == lenient.report.to_dict()


def test_more_bad_lines_than_good_ones_are_an_error_all_the_same():
    said = message(hs.read_swf, swf(1) + b"a\nb\n", on_bad_line="skip")
    assert said.startswith(
        "bytes, line 2, field 1 (job number): found `a` (the first of 2 bad lines among 3), expected"
    )
    said = message(hs.read_csv, csv("1,0,60,2,", "2,0,x,2,", "3,0,60,y,", "4,0"), on_bad_line="skip")
    start = "bytes, line 3, column `runtime_s`: found `x` (the first of 3 bad lines among 4), expected"
    assert said.startswith(start)


def test_bad_lines_of_csv_are_skipped_counted_and_reported():
    good = [f"{job},{job},60,2,90" for job in range(1, 8)]
    bad = ["8,0,60", "9,0,-5,2,90", '10,0,60,2,90,"a\nb"', "3,0,60,2,90", "11,0,60,0,90", "12,nan,60,1,9"]
    workload = hs.read_csv(csv(*good[:3], *bad, "", *good[3:]), on_bad_line="skip")
    assert workload.to_polars()["job_id"].to_list() == [1, 2, 3, 4, 5, 6, 7]
    assert workload.report["bad_lines"] == 6
    assert workload.report["first_bad_lines"] == [
        "line 5: found 3 fields, expected 5 fields, as the first line has",
        "line 6, column `runtime_s`: found `-5`, expected seconds from 0 to 1e+12",
        "line 7: found 6 fields, expected 5 fields, as the first line has",
    ]
    assert message(hs.read_csv, csv(*good, bad[0])).startswith("bytes, line 9: found 3 fields")


def test_what_is_no_line_is_never_skipped():
    assert "column `node_count`" in message(hs.read_csv, b"job_id,submit_s,runtime_s\n1,0,5\n", on_bad_line="skip")
    for read, log in ((hs.read_swf, swf(1)), (hs.read_csv, csv("1,0,60,2,"))):
        assert message(read, log, on_bad_line="skp") == (
            "on_bad_line: found `skp`, expected `error` or `skip`; did you mean `skip`?"
        )


@pytest.mark.parametrize("separator", ["", "ab", "é", '"', "\n", None])
def test_a_separator_is_one_character(separator):
    assert message(hs.read_csv, csv("1,0,60,2,"), separator=separator).startswith("separator: found")


# 2024-05-01 is 19,844 days after 1970-01-01: 54 years of 365 days, 13 leap days, and 31 + 29 + 31 + 30 of 2024.
MAY = (54 * 365 + 13 + 31 + 29 + 31 + 30) * 86400.0


@pytest.mark.parametrize(
    ("date", "seconds", "said"),
    [
        ("2024-05-01", MAY, "dates (UTC)"),
        ("2024-05-01T12:00:00", MAY + 43200, "dates (UTC)"),
        ("2024-05-01 12:00", MAY + 43200, "dates (UTC)"),
        ("2024-05-01 12:00:00.25", MAY + 43200.25, "dates (UTC)"),
        ("2024-05-01T12:00:00Z", MAY + 43200, "dates"),
        ("2024-05-01T12:00:00+02:00", MAY + 36000, "dates"),
        ("2024-05-01T12:00:00-0530", MAY + 63000, "dates"),
    ],
)
def test_dates_become_seconds_since_1970(date, seconds, said):
    workload = hs.read_csv(csv(f"1,{date},60,2,"))
    assert workload.to_polars()["submit_s"].to_list() == [seconds]
    assert workload.report["read_from"] == {"submit_s": said}
    assert workload.report.line().endswith(f"; submit_s read from {said}")


def test_offsets_differ_within_a_log():
    workload = hs.read_csv(csv("1,2024-05-01 00:00,60,2,", "2,2024-05-01 01:30+02:00,60,2,"))
    assert workload.to_polars().select("job_id", "submit_s").rows() == [(2, MAY - 1800), (1, MAY)]
    assert workload.report["read_from"] == {"submit_s": "dates (UTC where they have no offset)"}


def test_spans_become_seconds():
    workload = hs.read_csv(csv("1,0,01:00:00,2,1-02:03:04", "2,0,00:00:01.5,2,", "3,0,30:00:00,1,7-00:00:00"))
    assert workload.to_polars().select("runtime_s", "walltime_s").rows() == [
        (3600.0, 93784.0), (1.5, None), (108000.0, 604800.0),
    ]  # fmt: skip
    assert workload.report.line().endswith("; runtime_s, walltime_s read from spans")


@pytest.mark.parametrize(
    ("lines", "start"),
    [
        (["1,0,12:30,2,"], "line 2, column `runtime_s`: found `12:30`, expected seconds from 0"),
        (["1,0,1:00:00,2,", "2,0,1:60:00,2,"], "line 3, column `runtime_s`: found `1:60:00`, expected a span"),
        (["1,0,1:00:00,2,", "2,0,0:10:00,2,", "3,0,9,2,"], "line 4, column `runtime_s`: found `9`, expected a span"),
        (["1,2024-02-30,9,2,"], "line 2, column `submit_s`: found `2024-02-30`, expected seconds"),
        (["1,2024-02-28,9,2,", "2,5,9,2,", "3,2024-03-01,9,2,"], "line 3, column `submit_s`: found `5`, expected a"),
        (["1,5,9,2,", "2,6,9,2,", "3,2024-03-01,9,2,"], "line 4, column `submit_s`: found `2024-03-01`"),
        (["1,1969-12-31,9,2,"], "line 2, column `submit_s`: found `-86400`, expected seconds from 0"),
        (["1,01/05/2024,9,2,"], "line 2, column `submit_s`: found `01/05/2024`, expected seconds"),
        (["1,0,9,1:00:00,"], "line 2, column `node_count`: found `1:00:00`, expected a whole number"),
    ],
)  # fmt: skip
def test_a_date_or_span_that_is_none_is_named_with_its_line(lines, start):
    assert message(hs.read_csv, csv(*lines)).startswith(f"bytes, {start}")


SHORT = csv("1,0,60,2,5", "2,0,60,1", "3,0,60,1,9")
# Two lines lack a separator each, and a line of commas alone makes up for it.
BALANCED = csv("1,0,60,2,5", "2,0,60", "3,0,60", ",,,,", "4,0,60,1,9")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
@pytest.mark.parametrize(("log", "found"), [(SHORT, "4 fields"), (BALANCED, "3 fields")])
def test_a_line_with_too_few_fields_is_never_filled_up(log, found, pack):
    said = message(hs.read_csv, pack(log))
    assert said == f"bytes, line 3: found {found}, expected 5 fields, as the first line has"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
def test_empty_fields_and_lines_of_commas_are_no_short_lines(pack):
    log = csv("1,0,60,2,", ",,,,", "2,0,60,2,9", ",", "", '3,0,"60",2,')
    assert hs.read_csv(pack(log)).to_polars()["walltime_s"].to_list() == [None, 9.0, None]


@pytest.mark.parametrize(("suffix", "pack"), [("csv", bytes), ("csv.gz", gzip.compress), ("csv.zst", zstd)])
@pytest.mark.parametrize("short", ["a,1,300", '"a,b",1,300'])
def test_a_table_with_a_short_line_is_refused_however_it_is_packed(tmp_path, suffix, pack, short):
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(pack(f"app,node,power_w,time_ratio\na,0,200,1\n{short}\n".encode()))
    said = message(hs.read_table, path)
    assert said.startswith(f"{path}, line 3: found 3 fields in `a")
    assert said.endswith("expected 4 fields, as the header has, with commas between")


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_packed_table_that_is_cut_short_is_reported(tmp_path, pack):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(pack(b"app,node,power_w\n" + b"a,0,200\n" * 9)[:-5])
    assert "data cut short after" in message(hs.read_table, path)


def test_a_walltime_too_short_for_the_clock_becomes_a_microsecond():
    jobs = pl.DataFrame(
        {"job_id": [1, 2, 3], "submit_s": 0.0, "runtime_s": 10.0, "node_count": 1, "walltime_s": [4e-7, 1e-6, 0.0]}
    )
    workload = hs.Workload.from_polars(jobs)
    assert workload.to_polars()["walltime_s"].to_list() == [1e-6, 1e-6, None]
    assert workload.report["walltime_raised"] == 1
    ends = hs.simulate(workload, hs.Platform.homogeneous(nodes=3, idle_w=100, tdp_w=300)).jobs
    assert ends.select("end_s", "state").rows() == [(1e-6, "timeout"), (1e-6, "timeout"), (10.0, "completed")]
    log = hs.read_swf(swf(1, f9="4e-7"))
    assert (log.to_polars()["walltime_s"].item(), log.report["walltime_raised"]) == (1e-6, 1)
    assert "1 with a walltime below 1 µs, raised to that" in log.report.line()


@pytest.mark.slow
@pytest.mark.parametrize("read", [hs.read_swf, hs.read_csv])
def test_a_file_that_would_fill_the_memory_is_refused(read):
    # Eleven members of 128 MiB of blanks each, packed to a thousandth.
    bomb = gzip.compress(b" " * (128 << 20), 9) * 11
    said = message(read, bomb)
    assert f"found {len(bomb)} bytes of gzip data that hold more than 1073741824 bytes" in said


@pytest.mark.parametrize(
    ("column", "own", "unit"),
    [
        ("walltime", "walltime_s", "seconds"),
        ("Walltime", "walltime_s", "seconds"),
        ("power", "power_w", "watts"),
        ("submit", "submit_s", "seconds"),
        ("runtime", "runtime_s", "seconds"),
    ],
)
def test_a_column_that_does_not_say_its_unit_is_refused(column, own, unit):
    columns = {
        "job_id": [1],
        "submit_s": [0.0],
        "runtime_s": [60.0],
        "node_count": [2],
        "walltime_s": [9.0],
        "power_w": 1.0,
    }
    del columns[own]
    said = message(hs.Workload.from_polars, pl.DataFrame({**columns, column: [60.0]}), source="mine")
    assert said == (
        f"mine, column `{column}`: found no unit in its name, expected `{own}`, in {unit}; "
        f"to read it so: columns=, or --columns {own}={column}"
    )
    both = pl.DataFrame({**columns, column: [60.0], own: [60.0]})
    assert column in hs.Workload.from_polars(both).to_polars().columns


def test_a_command_is_no_column_of_ours():
    jobs = {"job_id": [1], "submit_s": [0.0], "runtime_s": [60.0], "node_count": [2], "comm": ["a.out"]}
    assert hs.Workload.from_polars(pl.DataFrame(jobs)).to_polars()["comm"].to_list() == ["a.out"]

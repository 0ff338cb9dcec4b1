"""Logs that say how their jobs ended: in words, as batch systems do, and in codes; who never ran is not completed."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import hetsched as hs

DUMP = """JobID|User|State|Submit|Start|ElapsedRaw|TimelimitRaw|NNodes
1|ann|COMPLETED|2024-05-01T12:00:00|2024-05-01T12:00:00|60|120|2
2|ann|PENDING|2024-05-01T12:00:01|Unknown|0|120|0
3|bo|CANCELLED by 1234|2024-05-01T12:00:02|None|0|120|1
4|bo|CANCELLED by 7|2024-05-01T12:00:03|2024-05-01T12:00:10|30|120|1
5|bo|RUNNING|2024-05-01T12:00:04|2024-05-01T12:00:10|90|120|1
6|cy|NODE_FAIL|2024-05-01T12:00:05|2024-05-01T12:00:10|40|120|1
7|cy|TIMEOUT|2024-05-01T12:00:06|2024-05-01T12:00:10|120|120|1
8|cy|OUT_OF_MEMORY|2024-05-01T12:00:07|2024-05-01T12:00:10|10|120|1
9|cy|PREEMPTED|2024-05-01T12:00:08|2024-05-01T12:00:10|11|120|1
10|cy|DEADLINE|2024-05-01T12:00:09|None||120|1
11|cy|BOOT_FAIL|2024-05-01T12:00:10|2024-05-01T12:00:10|0|120|1
12|cy|FAILED|2024-05-01T12:00:11|2024-05-01T12:00:11|1|120|1
13|cy|STRANGE|2024-05-01T12:00:12|2024-05-01T12:00:12|2|120|1
14|cy||2024-05-01T12:00:13|2024-05-01T12:00:13|3|120|1
"""
COLUMNS = {
    "JobID": "job_id",
    "User": "user",
    "State": "trace_status",
    "Submit": "submit_s",
    "Start": "observed_start_s",
    "ElapsedRaw": "runtime_s",
    "TimelimitRaw": "walltime_s",
    "NNodes": "node_count",
}
CODES = {1: 1, 4: 5, 5: None, 6: 0, 7: 0, 8: 0, 9: 5, 11: 0, 12: 0, 13: None, 14: None}
COUNTS = {
    "jobs": 11,
    "dropped_pending": 1,
    "dropped_never_ran": 2,
    "cut_by_end": 1,
    "kept_cancelled_or_failed": 6,
    "unknown_states": 1,
    "kept_zero_runtime": 1,
}


def counts_of(workload):
    """Counts of states in the report, and the number of jobs."""
    return {name: workload.report[name] for name in COUNTS if name in workload.report}


def test_words_become_codes_and_who_never_ran_is_dropped_and_counted():
    """The dropped rows' `None`, `Unknown` and 0 nodes do not matter."""
    workload = hs.read_csv(DUMP.encode(), columns=COLUMNS, separator="|")
    frame = workload.to_polars()
    assert dict(frame.select("job_id", "trace_status").rows()) == CODES
    assert frame["trace_state"].to_list()[1:4] == ["CANCELLED by 7", "RUNNING", "NODE_FAIL"]
    assert counts_of(workload) == COUNTS
    told = workload.report.line()
    assert "1 still waiting at the log's end dropped; 2 cancelled before they started dropped; 1 still running" in told
    result = hs.simulate(workload, hs.Platform.homogeneous(nodes=40, idle_w=100, tdp_w=300), "easy")
    assert result.summary()["jobs"] == 11


def test_the_command_line_says_the_same(tmp_path):
    (tmp_path / "dump.txt").write_text(DUMP)
    columns = ",".join(f"{ours}={theirs}" for theirs, ours in COLUMNS.items())
    call = [
        sys.executable,
        "-m",
        "hetsched",
        "simulate",
        "dump.txt",
        "--format",
        "csv",
        "--separator",
        "|",
        "--columns",
    ]
    done = subprocess.run(
        [*call, columns, "--nodes", "20", "--json"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    report = json.loads(done.stdout)["report"]
    assert {name: report[name] for name in COUNTS} == COUNTS


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["COMPLETED", "PENDING", "CANCELLED+"])])
def test_frames_and_parquet_files_say_it_in_text_too(tmp_path, dtype):
    states = pl.Series(["COMPLETED", "PENDING", "CANCELLED+", "COMPLETED"], dtype=dtype)
    jobs = {"job_id": [1, 2, 3, 4], "submit_s": [0, 1, 2, 3], "runtime_s": [5.0, None, None, 6.0]}
    frame = pl.DataFrame({**jobs, "node_count": [1, None, 1, 1], "trace_status": states})
    frame.write_parquet(tmp_path / "log.parquet")
    for workload in (hs.Workload.from_polars(frame), hs.read_parquet(tmp_path / "log.parquet")):
        assert workload.to_polars().select("job_id", "trace_status").rows() == [(1, 1), (4, 1)]
        assert counts_of(workload) == {
            "jobs": 2,
            "dropped_pending": 1,
            "dropped_never_ran": 1,
            "kept_zero_runtime": 0,
        }


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
def test_a_job_withdrawn_at_a_known_time_is_kept_without_length():
    jobs = {"job_id": [1, 2], "submit_s": [0, 1], "runtime_s": ["01:00:00", "00:00:00"], "node_count": [1, 4]}
    more = {"trace_status": ["COMPLETED", "CANCELLED"], "cancel_s": [None, 50.0], "observed_start_s": [0.0, 50.0]}
    text = pl.DataFrame({**jobs, **more}).write_csv().encode()
    workload = hs.read_csv(text)
    kept = workload.to_polars().select("runtime_s", "cancel_s", "observed_start_s", "trace_status").rows()
    assert kept == [(3600.0, None, 0.0, 1), (0.0, 50.0, None, 5)]
    assert workload.report["never_ran"] == 1
    # On a machine that is busy until then it is withdrawn, as it was.
    machine = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)
    assert hs.simulate(workload, machine, "fcfs").jobs["state"].to_list() == ["completed", "cancelled"]


def test_what_was_read_is_read_again_as_it_is(tmp_path):
    workload = hs.read_csv(DUMP.encode(), columns=COLUMNS, separator="|")
    workload.write(tmp_path / "log.parquet")
    again = hs.read_parquet(tmp_path / "log.parquet")
    assert again.to_polars().equals(workload.to_polars())
    # Codes are kept, whatever the length: a log in SWF has such jobs, too.
    codes = hs.Workload.from_polars(workload.to_polars().with_columns(runtime_s=pl.lit(0.0), trace_status=pl.lit(5)))
    assert len(codes) == len(workload)


def test_errors_name_the_lines_and_rows_that_were_given():
    faulty = DUMP.replace("|60|120|2", "|60|120|-2").replace("|3|120|1", "|-3|120|1")
    with pytest.raises(hs.TraceError, match=r"^bytes, line 15, column `runtime_s`: found `-3`"):
        hs.read_csv(faulty.encode(), columns=COLUMNS, separator="|")
    with pytest.raises(hs.TraceError, match=r"^bytes, line 13, column `runtime_s`: found `x`"):
        hs.read_csv(DUMP.replace("|1|120|1", "|x|120|1").encode(), columns=COLUMNS, separator="|")
    skipped = hs.read_csv(faulty.encode(), columns=COLUMNS, separator="|", on_bad_line="skip")
    assert skipped.report["bad_lines"] == 2
    assert skipped.report["first_bad_lines"][0].startswith("line 2, column `node_count`: found `-2`")
    jobs = {"job_id": [1, 2], "submit_s": [0, 1], "runtime_s": [0, -4], "node_count": [1, 1]}
    with pytest.raises(hs.TraceError, match=r"^workload, row 1, column `runtime_s`: found `-4`"):
        hs.Workload.from_polars(pl.DataFrame({**jobs, "trace_status": ["PENDING", "COMPLETED"]}))


def test_a_column_of_states_that_is_not_read_is_pointed_to():
    others = {theirs: ours for theirs, ours in COLUMNS.items() if theirs != "State"}
    full = "\n".join(line for line in DUMP.splitlines() if "None" not in line and "Unknown" not in line)
    workload = hs.read_csv(full.encode(), columns=others, separator="|")
    assert workload.report["unread_states"] == "State"
    assert workload.report.line().endswith(
        "column State says that jobs did not complete, and was not read: columns trace_status=State"
    )
    regions = full.replace("State", "state").replace("CANCELLED by 7", "CA").splitlines()
    places = "\n".join([regions[0], *(line for line in regions if "|CA|" in line or "COMPLETED" in line)])
    read = hs.read_csv(places.encode(), columns=others, separator="|")
    assert "unread_states" not in read.report


REAL = Path(__file__).parents[2].parent / "shared" / "slurm" / "dumps" / "first.txt"


@pytest.mark.skipif(not REAL.exists(), reason="no recorded dump beside the project")
def test_a_real_dump_has_its_states_read():
    rows = [line.split("|") for line in REAL.read_text().splitlines()]
    jobs = [row for row in rows[1:] if row[1].isdigit() and len(row) == len(rows[0])]
    last = {row[1]: row for row in jobs}.values()
    text = "\n".join("|".join(row).replace("UNLIMITED", "") for row in [rows[0], *last])
    names = {"JobIDRaw": "job_id", **{name: ours for name, ours in COLUMNS.items() if name != "JobID"}}
    workload = hs.read_csv(text.encode(), columns=names, separator="|")
    state, elapsed = rows[0].index("State"), rows[0].index("ElapsedRaw")
    waiting = sum(row[state] == "PENDING" for row in last)
    never_ran = sum(row[state].startswith("CANCELLED") and row[elapsed] == "0" for row in last)
    assert never_ran > 3
    assert workload.report.get("dropped_pending", 0) == waiting
    assert workload.report["dropped_never_ran"] == never_ran
    assert len(workload) == len(last) - waiting - never_ran
    ran = workload.to_polars()
    assert set(ran.filter(pl.col("trace_state") == "NODE_FAIL")["trace_status"]) == {0}

"""`hs.read_pbs`: records, stamps, attempts, sizes and what is refused (readers page, rules 1 to 12 and 35 to 41)."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.errors import TraceError

ZERO_S = 1_714_564_800  # 2024-05-01 12:00:00 UTC


def line(clock: str, kind: str, name: str, message: str = "", *, day: str = "05/01/2024") -> str:
    return f"{day} {clock};{kind};{name};{message}\n"


def ran(name: str = "7.srv", clock: str = "12:01:10", message: str = "", **changes: Any) -> str:
    """The end of a job of a minute."""
    said = {
        "ctime": ZERO_S,
        "start": ZERO_S + 10,
        "end": ZERO_S + 70,
        "Resource_List.nodect": 1,
        "Exit_status": 0,
    } | changes
    return line(clock, "E", name, " ".join([*(f"{key}={value}" for key, value in said.items()), message]).strip())


def read(*lines: str, **options: Any) -> hs.Workload:
    return hs.read_pbs("".join(lines).encode(), **options)


def rows(workload: hs.Workload, *names: str) -> list[Any]:
    frame = workload.to_polars()
    return frame.select(pl.col(name) if name in frame.columns else pl.lit(None).alias(name) for name in names).rows()


def test_a_job_of_pbs_pro() -> None:
    common = (
        'user=ann group=staff account="proj 1" project=_pbs_project_default jobname=run.sh queue=workq '
        f"ctime={ZERO_S} qtime={ZERO_S} etime={ZERO_S + 5} start={ZERO_S + 10} exec_host=c2/0*4+c10/0*4 "
        "exec_vnode=(c2:ncpus=4)+(c10:ncpus=4) Resource_List.mem=16gb Resource_List.ncpus=8 Resource_List.ngpus=3 "
        "Resource_List.nodect=4 Resource_List.select=4:ncpus=2:ngpus=1 Resource_List.walltime=01:30:00"
    )
    workload = read(
        line("14:00:00", "Q", "7.pbs01", "queue=workq"),
        line("14:00:10", "S", "7.pbs01", common),
        line("14:01:10", "E", "7.pbs01", f"{common} end={ZERO_S + 70} Exit_status=0 resources_used.energy=0.01"),
    )
    assert workload.to_polars().row(0, named=True) == {
        "job_id": 7, "submit_s": float(ZERO_S), "runtime_s": 60.0, "node_count": 2, "walltime_s": 5400.0, "user": "ann",
        "account": "proj 1", "queue": "workq", "app": "run.sh", "device": "gpu", "gpus": 2, "memory_gb": 8.0,
        "start_at_s": ZERO_S + 5.0, "power_w": 300.0, "trace_status": 1, "observed_start_s": ZERO_S + 10.0,
        "observed_nodes": [0, 1], "observed_end_s": ZERO_S + 70.0, "observed_energy_j": 36000.0, "cpus": 8,
        "log_id": "7.pbs01", "trace_state": "COMPLETED", "restarts": 0,
    }  # fmt: skip
    assert workload.report["node_names"] == ["c2", "c10"]
    assert workload.report["rounded_up_gpus"] == 1
    assert rows(read(ran(message="Resource_List.ncpus=5 exec_host=a/0+b/0"), shared=True), "slots") == [(3,)]


def test_a_job_of_torque() -> None:
    message = "Resource_List.nodes=2:ppn=2:bigmem:ib Resource_List.walltime=100 exec_host=n1/0+n1/1+n2/0-1"
    workload = read(ran("7.srv", message=message, **{"Resource_List.nodect": 1}))
    assert rows(workload, "node_count", "cpus", "constraint", "walltime_s", "observed_nodes") == [
        (2, 4, "bigmem&ib", 100.0, [0, 1])
    ]
    odd = read(ran(message="Resource_List.nodes=2:ppn=2:a/b"))
    assert (rows(odd, "constraint", "cpus"), odd.report["constraint_unread"]) == ([(None, 4)], 1)
    assert rows(read(ran(message="Resource_List.nodes=1:x+1:y")), "constraint") == [(None,)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("", (1, None, None, None)),
        ("Resource_List.select=2:ncpus=4:mem=8gb:ngpus=1+1:ncpus=2", (3, 10, 1, 16 / 3)),
        ("Resource_List.nodect=2 Resource_List.select=3:ncpus=1", (2, 3, None, None)),
        ("Resource_List.nodes=n1+n2:ppn=3", (2, 3, None, None)),
        ("Resource_List.mem=512mb", (1, None, None, 0.5)),
        ("Resource_List.mem=1073741824b Resource_List.select=1:mem=9gb", (1, None, None, 1.0)),
        ("exec_host=a/0*2+b/0*2 Resource_List.nodect=4", (2, 4, None, None)),
        ("Resource_List.ngpus=0", (1, None, 0, None)),
    ],
)
def test_sizes(message: str, expected: Any) -> None:
    given = {} if "select" in message or "nodes=" in message or "nodect" in message else {"Resource_List.nodect": 1}
    text = ran(message=message).replace(" Resource_List.nodect=1", "", 1) if not given else ran(message=message)
    assert rows(read(text), "node_count", "cpus", "gpus", "memory_gb") == [expected]


def test_states() -> None:
    workload = read(
        ran("1", Exit_status=0),
        ran("2", Exit_status=-29),
        ran("3", Exit_status=271),
        line("12:01:00", "D", "4", "requestor=ann@login"),
        ran("4", Exit_status=0),
        ran("5", Exit_status=0),
        line("12:01:11", "D", "5", "requestor=ann@login"),
        ran("6", Exit_status=0),
        line("12:01:12", "D", "6", "requestor=ann@login"),
        ran("8").replace(" Exit_status=0", ""),
        line("12:02:00", "S", "9", f"ctime={ZERO_S} start={ZERO_S + 120} Resource_List.nodect=1"),
        line("12:10:00", "L", "license", "floating hour:0"),
    )
    assert rows(workload, "job_id", "trace_state", "trace_status", "runtime_s", "observed_end_s") == [
        (1, "COMPLETED", 1, 60.0, ZERO_S + 70.0),
        (2, "TIMEOUT", 0, 60.0, ZERO_S + 70.0),
        (3, "FAILED", 0, 60.0, ZERO_S + 70.0),
        (4, "CANCELLED", 5, 60.0, ZERO_S + 70.0),
        (5, "CANCELLED", 5, 60.0, ZERO_S + 70.0),
        (6, "COMPLETED", 1, 60.0, ZERO_S + 70.0),
        (8, None, None, 60.0, ZERO_S + 70.0),
        (9, "RUNNING", None, 480.0, None),
    ]
    assert (workload.report["cut_by_end"], workload.report["other_records"]) == (1, 1)


@pytest.mark.parametrize("clock", ["12:00:01", "12:05:00"])
def test_a_job_that_ends_without_a_start_was_withdrawn_when_it_was_deleted(clock: str) -> None:
    ended = line("12:00:00", "E", "8.srv", f"Resource_List.nodect=2 qtime={ZERO_S}")
    workload = read(ended, line(clock, "D", "8.srv"))
    gone_s = 1.0 if clock == "12:00:01" else 300.0
    assert rows(workload, "cancel_s", "runtime_s", "observed_start_s") == [(ZERO_S + gone_s, 0.0, None)]


def test_jobs_that_never_ran() -> None:
    queued = line("12:00:00", "Q", "3.srv", f"queue=w ctime={ZERO_S} Resource_List.nodect=2 exec_host=a/0+b/0")
    text = (
        ran("1"),
        queued,
        line("12:05:00", "D", "3.srv", "by hand=1 of 2"),
        line("12:06:00", "Q", "4.srv", "queue=w"),
    )
    kept = read(*text)
    names = ("job_id", "runtime_s", "cancel_s", "trace_state", "trace_status", "observed_start_s", "observed_nodes")
    assert rows(kept, *names)[1] == (3, 0.0, ZERO_S + 300.0, "CANCELLED", 5, None, None)
    assert (kept.report["never_ran"], kept.report["dropped_pending"]) == (1, 1)
    dropped = read(*text, cancelled="drop")
    assert (len(dropped), dropped.report["dropped_never_ran"]) == (1, 1)


def test_requeued_jobs_have_segments() -> None:
    started = "ctime={} etime={} Resource_List.nodect=1 start={}"
    workload = read(
        line("12:00:05", "S", "7", started.format(ZERO_S, ZERO_S + 3, ZERO_S + 5)),
        line("12:00:25", "R", "7"),
        line("12:00:40", "S", "7", started.format(ZERO_S, ZERO_S + 30, ZERO_S + 40)),
        ran("7", start=ZERO_S + 40, etime=ZERO_S + 30),
        line("12:02:00", "S", "8", started.format(ZERO_S, ZERO_S, ZERO_S + 120)),
        line("12:02:10", "R", "8"),
        line("12:03:00", "S", "8", started.format(ZERO_S, ZERO_S, ZERO_S + 180)),
        line("12:04:00", "L", "license"),
    )
    assert rows(workload, "job_id", "restarts", "runtime_s", "start_at_s", "observed_segments") == [
        (7, 1, 30.0, ZERO_S + 3.0, [ZERO_S + at for at in (5.0, 25.0, 40.0, 70.0)]),
        (8, 1, 60.0, None, [ZERO_S + 120.0, ZERO_S + 130.0, ZERO_S + 180.0, None]),
    ]
    assert workload.report["requeued"] == 2


def test_names_and_numbers() -> None:
    workload = read(
        line("12:00:00", "Q", "20[].srv", "queue=w"),
        ran("20[3].srv"),
        ran("20-44.srv", clock="12:01:11"),
        ran("7.srv"),
        ran("7.other", clock="12:01:12"),
        ran("30"),
        line("12:02:00", "E", "20[].srv", "queue=w"),
    )
    assert rows(workload, "log_id", "job_id", "array_id") == [
        ("20[3].srv", 45, 20), ("20-44.srv", 46, 20), ("7.srv", 7, None), ("7.other", 47, None), ("30", 30, None)
    ]  # fmt: skip
    assert {name: workload.report[name] for name in ("array_parents", "array_tasks", "reused_ids")} == {
        "array_parents": 1, "array_tasks": 2, "reused_ids": 1
    }  # fmt: skip


def test_a_number_that_is_used_again_is_another_job() -> None:
    later = ran("7.srv", clock="12:30:00", ctime=ZERO_S + 1000, start=ZERO_S + 1100, end=ZERO_S + 1800)
    workload = read(ran("7.srv"), line("12:16:40", "Q", "7.srv", "queue=w"), later)
    assert rows(workload, "job_id", "submit_s") == [(7, float(ZERO_S)), (8, ZERO_S + 1000.0)]


def test_records_that_stand_there_twice_count_once() -> None:
    text = [line("12:00:00", "Q", "7.srv", "queue=w"), ran("7.srv")]
    workload = read(*text, *text)
    assert (len(workload), workload.report["dropped_duplicate"]) == (1, 2)


def test_dependencies() -> None:
    texts = [
        "afterok:1.srv",
        "afternotok:1.srv@srv",
        "afterany:1",
        "afterok:99.srv",
        "afterok:1.srv:2.srv",
        "beforeok:1",
    ]
    queued = "queue=w Resource_List.nodect=1 depend={}"
    workload = read(
        ran("1.srv"),
        *(line("12:00:00", "Q", f"{number}.srv", queued.format(text)) for number, text in enumerate(texts, 2)),
        *(ran(f"{number}.srv", etime=ZERO_S + 5) for number in range(2, 8)),
    )
    assert rows(workload, "job_id", "depends_on", "depends_how", "start_at_s") == [
        (1, None, None, None),
        (2, 1, "ok", None),
        (3, 1, "not_ok", None),
        (4, 1, "any", None),
        (5, None, None, ZERO_S + 5.0),
        (6, None, None, ZERO_S + 5.0),
        (7, None, None, ZERO_S + 5.0),
    ]
    assert workload.report["depends_cleared"] == 3


def test_stamps_are_put_in_time_by_the_records_that_show_it() -> None:
    text = [
        line("08:30:00", "Q", "1", "Resource_List.nodect=1"),
        line("08:31:10", "E", "1", f"start={ZERO_S + 10} end={ZERO_S + 70}"),
        line("08:40:00", "Q", "2", "Resource_List.nodect=1"),
        line("09:31:12", "E", "3", f"ctime={ZERO_S} start={ZERO_S + 10} end={ZERO_S + 70} Resource_List.nodect=1"),
        line("09:45:00", "D", "2"),
    ]
    workload = read(*text)
    assert rows(workload, "job_id", "submit_s", "cancel_s") == [
        (1, float(ZERO_S), None), (3, float(ZERO_S), None), (2, ZERO_S + 600.0, ZERO_S + 900.0)
    ]  # fmt: skip
    told = read(line("08:00:00", "Q", "1", "Resource_List.nodect=1"), line("09:00:00", "D", "1"), time_zone="+02:00")
    assert rows(told, "submit_s", "cancel_s") == [(ZERO_S - 6 * 3600.0, ZERO_S - 5 * 3600.0)]
    utc = read(line("08:00:00", "Q", "1", "Resource_List.nodect=1"), line("09:00:00", "D", "1"))
    assert rows(utc, "submit_s") == [(ZERO_S - 4 * 3600.0,)]
    with pytest.raises(TraceError, match=r"line 1: found .*expected a time that clocks in this zone show"):
        read(line("02:30:00", "Q", "1", day="03/31/2024"), time_zone="Europe/Berlin")


def test_nodes_are_numbered_by_a_machine() -> None:
    text = ran(message="exec_host=c2/0+c10/0")
    platform = hs.Platform.homogeneous(12, 100, 400, node_names="c[1-12]")
    workload = read(text, nodes=platform)
    assert rows(workload, "observed_nodes") == [([1, 9],)]
    assert workload.report["node_names"] == list(platform.node_names or ())
    assert rows(read(text, nodes=["c10", "c2"]), "observed_nodes") == [([1, 0],)]
    with pytest.raises(TraceError, match=r"line 2.*`c10`"):
        read(line("12:00:00", "L", "x"), text, nodes="c[1-3]")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("nothing\n", "line 2: found `nothing`, expected a record"),
        ("2024-05-01 12:00:00;E;9;x=1\n", "line 2: found"),
        ("02/30/2024 12:00:00;E;9;x=1\n", "line 2: found"),
        ("05/01/2024 12:00:00;EE;9;x=1\n", "line 2: found"),
        (line("12:00:00", "E", "x.srv"), "line 2: found `x.srv`, expected a job's id"),
        (line("12:00:00", "E", "9", "ctime=soon"), "line 2, column ctime: found `soon`, expected seconds since 1970"),
        (line("12:00:00", "S", "9", "exec_host=/0"), "line 2, column exec_host: found `/0`"),
        (line("12:00:00", "S", "9", "Resource_List.mem=4xb"), "line 2, column Resource_List.mem: found `4xb`"),
        (line("12:00:00", "S", "9", "Resource_List.walltime=1h"), "line 2, column Resource_List.walltime: found `1h`"),
        (line("12:00:00", "S", "9", "Resource_List.select=a:ncpus=b"), "line 2, column Resource_List.select"),
        (line("12:00:00", "E", "9", "start=9 end=8"), "line 2, column end: found `8` after start=9"),
    ],
)
def test_bad_lines(bad: str, message: str) -> None:
    with pytest.raises(TraceError, match=re.escape(f"bytes, {message}")):
        read(ran("1"), bad, ran("2"))
    kept = read(ran("1"), bad, ran("2"), on_bad_line="skip")
    assert (len(kept), kept.report["bad_lines"]) == (2, 1)
    assert kept.report["first_bad_lines"][0].startswith(message)


def test_a_cut_last_line_is_left_out() -> None:
    for cut in (
        ran("2")[:22],
        "05/01/2024 12:0",
        line("12:00:00", "E", "9", "ctime=17x").rstrip("\n"),
        "half a line\n",
    ):
        workload = read(ran("1"), cut)
        assert (len(workload), workload.report["cut_last_line"]) == (1, 1), cut
    assert len(read(ran("1"), ran("2").rstrip("\n"))) == 2
    with pytest.raises(TraceError, match="column ctime"):
        read(ran("1"), line("12:00:00", "E", "9", "ctime=17x"))


def test_skipping_goes_on_as_long_as_there_is_a_job() -> None:
    workload = read(*["bad;\n"] * 7, ran("1"), on_bad_line="skip")
    assert (len(workload), workload.report["bad_lines"], len(workload.report["first_bad_lines"])) == (1, 7, 3)
    with pytest.raises(TraceError, match="line 1"):
        read(*["bad;\n"] * 7, on_bad_line="skip")


def test_files_as_they_come(tmp_path: Path) -> None:
    text = ran("1", message="user=M\xfcller").encode("latin-1")
    path = tmp_path / "20240501"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n\r\n")))
    assert rows(hs.read_pbs(path), "user", "log_id") == [("M\ufffdller", "1")]
    assert hs.read_jobs(path) == hs.read_pbs(path)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(TraceError, match="cut short"):
        hs.read_pbs(path)
    for content, message in [(b"", "no job"), (text.decode("latin-1").encode("utf-16"), "UTF-16"), (b"\n\n", "no job")]:
        with pytest.raises(TraceError, match=message):
            hs.read_pbs(content)
    with pytest.raises(TraceError, match="no such file"):
        hs.read_pbs(tmp_path / "none")


@pytest.mark.parametrize(
    "options", [{"time_zone": "Mars"}, {"cancelled": "maybe"}, {"on_bad_line": "x"}, {"nodes": "c[1-"}, {"shared": 1}]
)
def test_options_that_are_wrong(options: Any) -> None:
    with pytest.raises(hs.ConfigError, match=next(iter(options))):
        read(ran(), **options)


@given(st.text('0157/ :;EQSDR[].-="acdemnprtu\n\x00\xe9', max_size=120))
def test_hostile_text_is_read_or_refused(text: str) -> None:
    content = ran("1") + "05/01/2024 12:01:10;E;" + text + "\n" + ran("2")
    for policy in ("error", "skip"):
        try:
            workload = hs.read_pbs(content.encode(), on_bad_line=policy)
        except TraceError as error:
            assert "line" in str(error)  # noqa: PT017
        else:
            assert {"1", "2"} <= set(workload.to_polars()["log_id"])

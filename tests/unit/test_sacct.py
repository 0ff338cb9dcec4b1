"""Dumps of sacct: the rules one by one, and errors."""

from __future__ import annotations

import gzip
from typing import Any

import polars as pl
import pytest

import hetsched as hs

DAY = "2024-05-01T"
HEAD = "JobID|JobName|User|State|Submit|Start|End|Elapsed|NNodes|NodeList"


def at(clock: str) -> float:
    hours, minutes, seconds = map(int, clock.split(":"))
    return 1_714_521_600.0 + hours * 3600 + minutes * 60 + seconds


def row(name: object = 1, **own: str) -> str:
    usual = {
        "JobID": str(name),
        "JobName": "cfd",
        "User": "ann",
        "State": "COMPLETED",
        "Submit": f"{DAY}08:00:00",
        "Start": f"{DAY}08:00:10",
        "End": f"{DAY}08:10:10",
        "Elapsed": "00:10:00",
        "NNodes": "1",
        "NodeList": "n1",
    }
    return "|".join({**usual, **own}.values())


def read(*lines: str, head: str = HEAD, end: str = "\n", **options: Any) -> hs.Workload:
    return hs.read_sacct(("\n".join([head, *lines]) + end).encode(), **options)


def jobs(*lines: str, **options: Any) -> list[dict[str, Any]]:
    return read(*lines, **options).to_polars().to_dicts()


def error(*lines: str, **options: Any) -> str:
    with pytest.raises(hs.TraceError) as caught:
        read(*lines, **options)
    return str(caught.value)


def test_a_job_is_read() -> None:
    (job,) = jobs(row(7, NNodes="2", NodeList="n[9-10]"))
    assert (job["job_id"], job["log_id"], job["app"], job["user"]) == (7, "7", "cfd", "ann")
    assert (job["submit_s"], job["runtime_s"], job["node_count"]) == (at("08:00:00"), 600.0, 2)
    assert (job["observed_start_s"], job["observed_end_s"], job["observed_nodes"]) == (
        at("08:00:10"),
        at("08:10:10"),
        [0, 1],
    )
    assert (job["trace_status"], job["trace_state"], job["restarts"]) == (1, "COMPLETED", 0)


@pytest.mark.parametrize("separator", ["|", "\t", ",", "@@", "^"])
@pytest.mark.parametrize("is_p", [True, False])
def test_the_separator_is_the_header_s(separator: str, is_p: bool) -> None:
    lines = [HEAD, row(7), row(8)]
    text = "".join(line.replace("|", separator) + (separator if is_p else "") + "\r\n" for line in lines)
    for data in (text.encode(), b"\xef\xbb\xbf" + text.encode(), gzip.compress(text.encode())):
        assert [job["log_id"] for job in hs.read_sacct(data).to_polars().to_dicts()] == ["7", "8"]


def test_columns_may_be_given() -> None:
    text = b"7|2024-05-01T08:00:00|00:10:00|2|\n"
    for columns in ("JobID%20,Submit,Elapsed,NNodes", ["jobid", "Submit%-9", "Elapsed", "NNodes"]):
        assert hs.read_sacct(text, columns=columns).to_polars()["node_count"].to_list() == [2]
    with pytest.raises(hs.TraceError, match=r"columns=.*JobID"):
        read(row(), columns="JobID,Submit,Elapsed,NNodes")
    with pytest.raises(hs.TraceError, match="no header line"):
        hs.read_sacct(text)


def test_a_later_header_applies_from_there_on() -> None:
    other = "NNodes,Elapsed,JobID,Submit"
    names = jobs(row(7), other, "3,00:00:09,8,2024-05-01T09:00:00")
    assert [(job["log_id"], job["node_count"], job["runtime_s"]) for job in names] == [("7", 1, 600.0), ("8", 3, 9.0)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("JobID|Elapsed|NNodes\n1|00:00:01|1\n", "also `Submit`"),
        ("JobID|Submit|Start|NNodes\n", "`Elapsed`, `ElapsedRaw`, or `Start` and `End`"),
        ("JobID|Submit|Elapsed\n", "one of `NNodes`"),
        ("       JobID    JobName     Submit \n------- ------ -----\n", "fixed width.*sacct -P"),
        ("", "no header line"),
        ("JobID|Submit|Elapsed|NNodes\n", "no job"),
        ('{"jobs": [', "JSON"),
        ('{"meta": {}}', "JSON without `jobs`"),
        ('{"jobs": [{"job_id": 1, "job_state": "PENDING"}]}', "squeue"),
        ("\ufeffJobID|Submit".encode("utf-16").decode("latin-1"), "UTF-16"),
    ],
)
def test_what_is_no_dump_is_refused(text: str, words: str) -> None:
    data = text.encode("latin-1") if "\xff" in text else text.encode()
    for how in ("error", "skip"):
        with pytest.raises(hs.TraceError, match=words):
            hs.read_sacct(data, on_bad_line=how)  # type: ignore[arg-type]


def test_separators_in_names_are_given_back() -> None:
    workload = read(row(1, JobName="a|b"), row(2, JobName="||"))
    assert [job["app"] for job in workload.to_polars().to_dicts()] == ["a|b", "||"]
    assert workload.report["repaired_separators"] == 2
    head = "JobID|Submit|Elapsed|NNodes|JobName|Comment"
    assert "--delimiter" in error("1|2024-05-01T08:00:00|00:10:00|1|a|b|c", head=head)


def test_line_ends_in_names_are_joined() -> None:
    workload = read(row(1, JobName="a\n\nb"), row(2))
    assert workload.to_polars()["app"].to_list() == ["a\n\nb", "cfd"]
    assert (workload.report["joined_lines"], workload.report["rows"]) == (2, 2)
    head = "JobID|Submit|Elapsed|NNodes|Comment"
    last = read(
        "1|2024-05-01T08:00:00|00:10:00|1|one",
        "two|",
        "",
        "2|2024-05-01T08:00:00|00:10:00|1|",
        head=head,
        app="Comment",
    )
    assert last.to_polars()["app"].to_list() == ["one\ntwo|", None]
    assert last.report["joined_lines"] == 1


def test_a_short_row_is_bad_and_a_cut_last_line_is_left_out() -> None:
    assert error("5|short", row(2)) == "bytes, line 2: found 2 fields, expected 10, as the header has"
    workload = read(row(1), row(2)[:40], end="")
    assert (len(workload), workload.report["cut_last_line"], workload.report["rows"]) == (1, 1, 1)
    workload = read(row(1), row(2).replace("|n1", "|n[1"), end="")
    assert (len(workload), workload.report["cut_last_line"]) == (1, 1)
    assert len(read(row(1), row(2), end="")) == 2
    skipped = read(row(1), row(2, Elapsed="ten"), row(3), on_bad_line="skip")
    assert (len(skipped), skipped.report["bad_lines"]) == (2, 1)
    assert skipped.report["first_bad_lines"] == [
        "line 3, column `Elapsed`: found `ten`, expected a span such as 1-02:03:04"
    ]
    mostly = read(row(1), row(2, Elapsed="x"), row(3, Elapsed="x"), on_bad_line="skip")
    assert (len(mostly), mostly.report["bad_lines"]) == (1, 2)


def test_numbers_of_jobs() -> None:
    names = ["103_1", "7", "103_2", "111+0", "9.batch"]
    found = [(job["log_id"], job["job_id"]) for job in jobs(*(row(name) for name in names))]
    assert found == [("103_1", 112), ("7", 7), ("103_2", 113), ("111+0", 114)]
    head = "JobIDRaw|" + HEAD
    raw = jobs("104|" + row("103_1"), "111|" + row("111+0"), "112|" + row("111+1"), head=head)
    assert [(job["job_id"], job["array_id"], job["het_id"]) for job in raw] == [
        (104, 103, None),
        (111, None, 111),
        (112, None, 111),
    ]


def test_a_number_used_twice() -> None:
    workload = read(row(7), row(7, User="bob", Submit=f"{DAY}09:00:00", Start=f"{DAY}09:00:00", End=f"{DAY}09:10:00"))
    assert workload.to_polars().select("job_id", "log_id").rows() == [(7, "7"), (8, "7")]
    assert workload.report["reused_ids"] == 1


def test_attempts_are_one_job() -> None:
    late = {"Submit": f"{DAY}08:20:00", "Start": f"{DAY}08:30:00", "End": f"{DAY}08:40:00"}
    workload = read(
        row(7, State="NODE_FAIL"), row("7.0", State="FAILED"), row(7, **late), row(7, State="FAILED", **late)
    )
    (job,) = workload.to_polars().to_dicts()
    assert (job["submit_s"], job["observed_start_s"], job["restarts"]) == (at("08:00:00"), at("08:30:00"), 1)
    assert job["observed_segments"] == [at("08:00:10"), at("08:10:10"), at("08:30:00"), at("08:40:00")]
    report = workload.report
    assert (report["merged"], report["dropped_duplicate"], report["requeued"], report["steps"]) == (1, 1, 1, 1)
    assert job["trace_state"] == "FAILED"


def test_a_resized_run_is_one_run() -> None:
    first = row(7, State="RESIZING", NNodes="3", NodeList="n[1-3]", End=f"{DAY}08:05:10", Elapsed="00:05:00")
    (job,) = jobs(first, row(7, Submit=f"{DAY}08:05:10", NNodes="2", NodeList="n[1-2]"))
    assert (job["node_count"], job["runtime_s"], job["restarts"], job["submit_s"]) == (3, 600.0, 0, at("08:00:00"))
    assert job.get("observed_nodes") is None
    workload = read(row(7, Submit=f"{DAY}08:05:10"))
    assert workload.to_polars()["submit_s"].to_list() == [at("08:00:10")]
    assert workload.report["submit_after_start"] == 1


def test_jobs_that_never_ran() -> None:
    never = row(7, State="CANCELLED by 17", Start="None", Elapsed="00:00:00", NodeList="None assigned")
    (job,) = jobs(row(6), never)[1:]
    assert (job["runtime_s"], job["cancel_s"], job["trace_status"], job["observed_start_s"]) == (
        0.0,
        at("08:10:10"),
        5,
        None,
    )
    dropped = read(row(6), never, cancelled="drop")
    assert (len(dropped), dropped.report["dropped_never_ran"]) == (1, 1)
    waits = read(row(6), row(7, State="PENDING", Start="Unknown", End="Unknown", NodeList="None assigned"))
    assert (len(waits), waits.report["dropped_pending"]) == (1, 1)
    (runs,) = jobs(row(7, State="RUNNING", End="Unknown"))
    assert (runs["runtime_s"], runs.get("observed_end_s"), runs.get("trace_status")) == (600.0, None, None)


def test_lists_of_tasks() -> None:
    gone = {"State": "CANCELLED", "Start": "None", "Elapsed": "00:00:00", "NodeList": "None assigned"}
    workload = read(
        row("5_1"),
        row("5_[2,4-8:2%3]", **gone),
        row("6_[1,2,3...]", **gone),
        row("7_[1-9]", **{**gone, "State": "PENDING"}),
    )
    table = workload.to_polars()
    assert table["log_id"].to_list() == ["5_1", "5_2", "5_4", "5_6", "5_8", "6_1", "6_2"]
    assert table["array_limit"].to_list() == [3] * 5 + [None] * 2
    report = workload.report
    assert (report["expanded"], report["array_cut"], report["dropped_pending"], report["array_tasks"]) == (4, 1, 1, 7)


def test_times_of_a_zone() -> None:
    (job,) = jobs(row(), time_zone="Europe/Berlin")
    assert job["submit_s"] == at("06:00:00")
    assert jobs(row(), time_zone="+01:00")[0]["submit_s"] == at("07:00:00")
    assert jobs(row(Submit=f"{DAY}08:00:00+0200"))[0]["submit_s"] == at("06:00:00")
    assert jobs(row(Submit="1714550400"))[0]["submit_s"] == at("08:00:00")
    assert "the clocks of the time zone" in error(row(Submit="2024-03-31T02:30:00"), time_zone="Europe/Berlin")
    assert "seconds since 1970" in error(row(Submit="Mon10:00"))


def test_a_local_time_that_occurs_twice() -> None:
    night = "2024-10-27T"
    own = {"Submit": f"{night}01:50:00", "Start": f"{night}02:10:00", "End": f"{night}02:20:00", "Elapsed": "01:10:00"}
    workload = read(row(**own), time_zone="Europe/Berlin")
    (job,) = workload.to_polars().to_dicts()
    assert job["observed_end_s"] - job["observed_start_s"] == 4200.0
    assert "ambiguous_times" not in workload.report
    twice = read(row(**{**own, "Elapsed": "00:10:00"}), time_zone="Europe/Berlin")
    assert twice.report["ambiguous_times"] == 1
    assert twice.to_polars()["observed_start_s"][0] - twice.to_polars()["submit_s"][0] == 1200.0


@pytest.mark.parametrize(
    ("own", "column", "value"),
    [
        ({"ReqMem": "4000M"}, "memory_gb", 4000 / 2 / 1024),
        ({"ReqMem": "2Gn"}, "memory_gb", 2.0),
        ({"ReqMem": "1Gc"}, "memory_gb", 4.0),
        ({"ReqMem": "0n"}, "memory_gb", None),
        ({"AllocTRES": "cpu=7,gres/gpu=4,gres/gpu:a100=4"}, "gpus", 2),
        ({"AllocTRES": "cpu=7,gres/gpu:a=1,gres/gpu:b=2"}, "gpus", 2),
        ({"Constraints": "[a|b],c"}, "constraint", "(a|b)&c"),
        ({"Constraints": "a*2"}, "constraint", None),
        ({"Licenses": "b,a:2"}, "licences", "a:2,b:1"),
        ({"AllocTRES": "cpu=7,license/x=2"}, "licences", "x:2"),
        ({"Timelimit": "1-02"}, "walltime_s", 93_600.0),
        ({"Timelimit": "UNLIMITED"}, "walltime_s", None),
        ({"TimelimitRaw": "90"}, "walltime_s", 5400.0),
        ({"Priority": "4294967294"}, "priority", None),
        ({"Priority": "4294901759"}, "priority", 4_294_901_759),
    ],
)
def test_values(own: dict[str, str], column: str, value: object) -> None:
    head = "|".join([HEAD, "AllocCPUS", *own])
    (job,) = jobs("|".join([row(NNodes="2", NodeList="n[1-2]"), "7", *own.values()]), head=head)
    assert job.get(column) == value


def test_slots_and_applications() -> None:
    head = HEAD + "|AllocCPUS|Account"
    line = row(NNodes="2", NodeList="n[1-2]") + "|7|bio"
    (job,) = jobs(line, head=head, shared=True, app="account")
    assert (job["slots"], job["app"], job["cpus"]) == (4, "bio", 7)
    assert "slots" not in jobs(line, head=head)[0]
    assert "app" not in jobs(line, head=head, app=None)[0]
    assert "`Comment`, to tell applications apart" in error(line, head=head, app="Comment")


def test_energy_is_that_of_the_best_kind_of_step() -> None:
    head = HEAD + "|ConsumedEnergyRaw"
    job, wide = row(7) + "|9", row(7, NNodes="2", NodeList="n[1-2]") + "|9"

    def step(name: str, energy: int, **own: str) -> str:
        return row(f"7.{name}", Start=f"{DAY}08:00:10", **own) + f"|{energy}"

    def energy(*lines: str) -> tuple[Any, Any]:
        (found,) = jobs(*lines, head=head)
        return found.get("observed_energy_j"), found.get("power_w")

    batch, numbered = step("batch", 600), [step("0", 1200), step("1", 600)]
    assert energy(job) == (9.0, 9 / 600)
    assert energy(job, batch) == (600.0, 1.0)
    assert energy(wide, batch) == (None, None)
    assert energy(job, batch, *numbered) == (1800.0, 1.5)
    assert energy(job, batch, *numbered, step("extern", 60_000)) == (60_000.0, 100.0)
    assert energy(*numbered, job) == (1800.0, 1.5)


def test_nodes_are_numbered() -> None:
    lines = row(1, NodeList="n10"), row(2, NodeList="n2"), row(3, NodeList="n[1-2]")
    workload = read(*lines)
    assert workload.report["node_names"] == ["n1", "n2", "n10"]
    assert workload.to_polars()["observed_nodes"].to_list() == [[2], [1], None]
    assert workload.report["nodes_disagree"] == 1
    assert read(*lines, nodes=["n10", "n2", "n1"]).to_polars()["observed_nodes"].to_list() == [[0], [1], None]
    known = "expected a node of those that nodes= (--nodes-from) names; did you mean `n1`?"
    assert error(*lines, nodes="n[1-9]") == f"bytes, line 2, column `NodeList`: found `n10`, {known}"
    with pytest.raises(hs.ConfigError, match="nodes: found `7`"):
        read(*lines, nodes=7)


@pytest.mark.parametrize(
    "options",
    [
        {"time_zone": "Mars"},
        {"delimiter": ""},
        {"cancelled": "no"},
        {"on_bad_line": "x"},
        {"shared": 1},
        {"app": ""},
        {"columns": []},
    ],
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(hs.ConfigError, match=next(iter(options))):
        read(row(), **options)


def test_a_damaged_file_is_an_error() -> None:
    packed = gzip.compress("\n".join([HEAD, *(row(n) for n in range(1, 999))]).encode())
    with pytest.raises(hs.TraceError, match="packed data cut short"):
        hs.read_sacct(packed[:-40])


def test_jobs_survive_files(tmp_path: Any) -> None:
    late = {"Submit": f"{DAY}08:20:00", "Start": f"{DAY}08:30:00", "End": f"{DAY}08:40:00"}
    workload = read(row(7, State="NODE_FAIL"), row(7, **late), row("9_1", JobName="a,b\n"), row("10+1"))
    for ending in ("csv", "parquet"):
        workload.write(tmp_path / f"jobs.{ending}")
        again = hs.read_jobs(tmp_path / f"jobs.{ending}")
        assert again.to_polars().equals(workload.to_polars()), ending
    pl.Series(workload.columns)
    machine = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300)
    result = hs.simulate(workload, machine, "easy")
    assert result.jobs["log_id"].to_list() == workload.to_polars()["log_id"].to_list()


def test_a_dump_is_known_by_its_content(tmp_path: Any) -> None:
    text = "\n".join([HEAD, row(7)]) + "\n"
    for name in ("dump.txt", "dump.sacct", "dump"):
        (tmp_path / name).write_text(text)
        assert hs.read_jobs(tmp_path / name).columns[-1] == hs.read_sacct(text.encode()).columns[-1]

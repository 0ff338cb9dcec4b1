"""Schedules made elsewhere: what is wrong with them is said, all at once, and what is right is metered."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

JOBS = {
    "job_id": [1, 2, 3, 4],
    "submit_s": [0.0, 0.0, 5.0, 30.0],
    "runtime_s": [10.0, 20.0, 50.0, 0.0],
    "node_count": [2, 1, 3, 1],
    "walltime_s": [10.0, 30.0, 40.0, 5.0],
}
NODES = pl.List(pl.Int64)


def workload(**columns: object) -> hs.Workload:
    return hs.Workload.from_polars(pl.DataFrame({**JOBS, **columns}))


def platform() -> hs.Platform:
    return hs.Platform.homogeneous(nodes=3, idle_w=100.0, tdp_w=300.0)


def starts(**columns: object) -> pl.DataFrame:
    """Jobs 1 and 2 side by side, then 3, which is killed at 60; 4 takes no time where 3 begins."""
    whole = {"job_id": [1, 2, 3], "start_s": [0.0, 0.0, 20.0], "nodes": [[0, 1], [2], [0, 1, 2]], **columns}
    return pl.DataFrame(whole, schema_overrides={"nodes": NODES})


def test_a_schedule_is_metered_by_hand() -> None:
    result = hs.meter(workload(), platform(), starts())
    jobs = result.jobs
    assert jobs["state"].to_list() == ["completed", "completed", "timeout", "pending"]
    assert jobs["reason"].to_list() == [None, None, "killed at its walltime", "no start is known for it"]
    assert jobs["end_s"].to_list() == [10.0, 20.0, 60.0, None]
    # 2 × 10 s, 20 s and 3 × 40 s at 300 W; nodes 0 and 1 idle from 10 to 20 s at 100 W.
    assert jobs["energy_j"].to_list() == [6_000.0, 6_000.0, 36_000.0, None]
    summary = result.summary()
    assert (summary["energy_j"], summary["idle_energy_j"], summary["makespan_s"]) == (50_000.0, 2_000.0, 60.0)
    assert (summary["pending"], summary["timeout"], summary["peak_power_w"]) == (1, 1, 900.0)
    # Job 4 is no part of the schedule: it joins no queue.
    assert result.timeline["queued_jobs"].to_list() == [0, 1, 1, 0, 0]
    check_schedule(result, workload(), platform())


def test_no_job_is_killed_where_none_is_to_be() -> None:
    result = hs.meter(workload(), platform(), starts(), kill_at_walltime=False)
    assert result.jobs["end_s"].to_list() == [10.0, 20.0, 70.0, None]
    check_schedule(result, workload(), platform())


def test_an_end_is_what_happened() -> None:
    """Job 1 runs longer than it should, 2 shorter, 3 beyond its walltime of 40 s and still has 5 s to go."""
    result = hs.meter(workload(), platform(), starts(end_s=[15.0, 12.5, 65.0]))
    assert result.jobs["end_s"].to_list() == [15.0, 12.5, 65.0, None]
    assert result.jobs["runtime_s"].to_list() == [15.0, 12.5, 45.0, None]
    assert result.jobs["state"].to_list() == ["completed", "completed", "timeout", "pending"]
    assert result.provenance["metered"]["ends"] == 3
    check_schedule(result, workload(), platform())
    kept = hs.meter(workload(), platform(), starts(end_s=[15.0, 12.5, 65.0]), kill_at_walltime=False)
    assert kept.jobs["state"].to_list() == ["completed", "completed", "completed", "pending"]
    check_schedule(kept, workload(), platform())


def test_an_end_that_is_not_known_is_the_engines() -> None:
    result = hs.meter(workload(), platform(), starts(end_s=[15.0, None, None]))
    assert result.jobs["end_s"].to_list() == [15.0, 20.0, 60.0, None]
    assert result.provenance["metered"]["ends"] == 1


def test_a_node_is_free_at_the_instant_its_job_ends() -> None:
    jobs = workload(submit_s=[0.0] * 4, runtime_s=[0.0, 0.0, 10.0, 0.0], walltime_s=[None] * 4)
    told = {"job_id": [3, 1, 2, 4], "start_s": [5.0] * 3 + [15.0], "nodes": [[0, 1, 2], [0, 1], [1], [0]]}
    result = hs.meter(jobs, platform(), pl.DataFrame(told))
    assert result.jobs["start_s"].to_list() == [5.0, 5.0, 5.0, 15.0]
    check_schedule(result, jobs, platform())


def test_the_log_has_no_say_in_a_schedule_and_comes_back_as_it_was() -> None:
    log = workload(observed_start_s=[7.0, None, 9.0, 99.0], observed_nodes=[None, [1], None, [0]])
    result = hs.meter(log, platform(), starts())
    assert result.jobs["start_s"].to_list() == [0.0, 0.0, 20.0, None]
    assert result.jobs["observed_start_s"].to_list() == [7.0, None, 9.0, 99.0]
    assert result.jobs["observed_nodes"].to_list() == [None, [1], None, [0]]
    check_schedule(result, log, platform())


def test_a_metered_result_is_written_and_read_and_says_what_was_metered(tmp_path: Path) -> None:
    result = hs.meter(workload(), platform(), starts())
    result.write(tmp_path, csv=True)
    assert hs.read_result(tmp_path) == result
    metered = result.provenance["metered"]
    assert re.fullmatch("[0-9a-f]{64}", metered["starts_sha256"])
    assert (metered["jobs"], metered["ends"], result.provenance["policy"]["name"]) == (3, 0, "metered")
    turned = hs.meter(workload(), platform(), starts().reverse().with_columns(note=pl.lit("mine")))
    assert turned == result
    moved = hs.meter(workload(), platform(), starts(start_s=[0.0, 0.0, 21.0]))
    assert moved.provenance["metered"]["starts_sha256"] != metered["starts_sha256"]


def test_nodes_may_be_text_as_in_a_log() -> None:
    written = starts().with_columns(nodes=pl.Series(["0,1", " 2 ", "0-2"]))
    assert hs.meter(workload(), platform(), written) == hs.meter(workload(), platform(), starts())
    wrong = starts().with_columns(nodes=pl.Series(["0,1", "two", "0-2"]))
    with pytest.raises(hs.TraceError, match=r"starts, row 1, column `nodes`: found `two`, expected a list of"):
        hs.meter(workload(), platform(), wrong)
    empty = starts().with_columns(nodes=pl.Series(["0,1", "", "0-2"]))
    with pytest.raises(hs.ConfigError, match=r"starts, row 1, nodes: found nothing, expected a list of node numbers"):
        hs.meter(workload(), platform(), empty)


def test_numbers_of_any_width_and_dates_will_do() -> None:
    narrow = starts().cast({"job_id": pl.Int16, "start_s": pl.Int32, "nodes": pl.List(pl.UInt8)})
    assert hs.meter(workload(), platform(), narrow) == hs.meter(workload(), platform(), starts())
    dates = starts().with_columns(pl.from_epoch(pl.col("start_s").cast(pl.Int64), time_unit="s"))
    assert hs.meter(workload(), platform(), dates) == hs.meter(workload(), platform(), starts())


def test_nothing_started_is_a_window_of_no_length() -> None:
    result = hs.meter(workload(), platform(), starts().clear())
    assert (result.summary()["makespan_s"], result.summary()["pending"]) == (0.0, 4)
    check_schedule(result, workload(), platform())


COLUMNS = "columns job_id, start_s and nodes, and end_s where it is known"
FAULTS = {
    "job_id": (
        starts(job_id=[1, 2, 9]),
        ["starts, row 2, job_id: found `9`, expected the number of a job of the workload"],
    ),
    "twice": (
        starts(job_id=[1, 2, 1], nodes=[[0, 1], [2], [0, 1]]),
        ["starts, row 2, job_id: found `1`, expected each job once; row 0 has it already"],
    ),
    "early": (
        starts(start_s=[0.0, 0.0, 4.999999]),
        ["starts, job 3, start_s: found 4.999999 s, expected 5 s or later: it is submitted then"],
    ),
    "count": (
        starts(nodes=[[0], [2], [0, 1, 2]]),
        ["starts, job 1 at 0 s, nodes: found 1 node, expected 2, its node_count"],
    ),
    "beyond": (
        starts(nodes=[[0, 1], [3], [0, 1, 2]]),
        ["starts, job 2 at 0 s, nodes: found node 3, expected nodes from 0 to 2, the platform's"],
    ),
    "repeated": (
        starts(nodes=[[1, 1], [2], [0, 1, 2]]),
        ["starts, job 1 at 0 s, nodes: found node 1 twice, expected each node once"],
    ),
    "busy": (
        starts(start_s=[0.0, 0.0, 15.0]),
        ["starts, job 3 at 15 s, nodes: found node 2, expected a free node: it serves job 2 from 0 s to 20 s"],
    ),
    "at once": (
        starts(nodes=[[0, 1], [1], [0, 1, 2]]),
        ["starts, job 2 at 0 s, nodes: found node 1, expected a free node: it serves job 1 from 0 s to 10 s"],
    ),
    "busy until its end": (
        starts(end_s=[21.0, 20.0, None]),
        ["starts, job 3 at 20 s, nodes: found node 0, expected a free node: it serves job 1 from 0 s to 21 s"],
    ),
    "no start": (
        starts(start_s=[0.0, None, 20.0]),
        ["starts, row 1, start_s: found nothing, expected seconds up to 1e+12; a job that never started has no row"],
    ),
    "no nodes": (
        starts(nodes=[None, [2], [0, 1, 2]]),
        ["starts, row 0, nodes: found nothing, expected a list of node numbers; a job that never started has no row"],
    ),
    "no job": (starts(job_id=[1, None, 3]), ["starts, row 1, job_id: found nothing, expected a job of the workload"]),
    "no number": (
        starts(start_s=[0.0, 0.0, float("nan")]),
        ["starts, row 2, start_s: found `NaN`, expected seconds up to 1e+12"],
    ),
    "end": (
        starts(end_s=[10.0, 20.0, 19.0]),
        ["starts, job 3 at 20 s, end_s: found 19 s, expected 20 s or later: it starts then"],
    ),
    "all at once": (
        starts(job_id=[1, 7, 3], start_s=[-1.0, 0.0, 1.0], nodes=[[0], [2], [0, 1, 2]]),
        [
            "starts, job 1, start_s: found -1 s, expected 0 s or later: it is submitted then",
            "starts, job 1 at -1 s, nodes: found 1 node, expected 2, its node_count",
            "starts, row 1, job_id: found `7`, expected the number of a job of the workload",
            "starts, job 3, start_s: found 1 s, expected 5 s or later: it is submitted then",
        ],
    ),
    "columns": (
        starts().drop("nodes").rename({"start_s": "start"}),
        [f"starts: found columns job_id, start, expected {COLUMNS}; did you mean `start`?"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_is_said(name: str) -> None:
    told, lines = FAULTS[name]
    with pytest.raises(hs.ConfigError) as caught:
        hs.meter(workload(), platform(), told)
    assert str(caught.value).splitlines() == lines


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (starts().with_columns(start_s=pl.lit("noon")), "starts, column `start_s`: found values of type String"),
        (starts(nodes=[[0, -1], [2], [0, 1, 2]]), "starts, row 0, column `nodes`: found `0 -1`"),
        (starts(nodes=[[0, None], [2], [0, 1, 2]]), "starts, row 0, column `nodes`: found `0 null`"),
        (starts().with_columns(nodes=pl.lit("0 x")), "starts, row 0, column `nodes`: found `0 x` (and 2 more)"),
    ],
)
def test_what_is_of_another_type_is_said(told: pl.DataFrame, message: str) -> None:
    with pytest.raises(hs.TraceError, match=re.escape(message)):
        hs.meter(workload(), platform(), told)


def test_a_list_of_unsigned_nodes_with_a_hole_is_a_fault() -> None:
    told = starts().with_columns(nodes=pl.Series([[0, None], [2], [0, 1, 2]], dtype=pl.List(pl.UInt32)))
    with pytest.raises(hs.ConfigError, match=r"starts, row 0, nodes: found `0 null`, expected a list of node numbers"):
        hs.meter(workload(), platform(), told)


@pytest.mark.parametrize("told", [None, [(1, 0.0, [0])], starts().lazy()])
def test_what_is_no_frame_is_refused(told: object) -> None:
    with pytest.raises(hs.ConfigError, match=r"starts: found .*, expected a polars DataFrame"):
        hs.meter(workload(), platform(), told)


def test_many_faults_are_cut_short() -> None:
    many = pl.DataFrame({"job_id": range(100, 150), "start_s": [0] * 50, "nodes": [[0]] * 50})
    with pytest.raises(hs.ConfigError) as caught:
        hs.meter(workload(), platform(), many)
    lines = str(caught.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "starts: found 30 more faults, expected none"


def test_shared_nodes_have_so_many_slots() -> None:
    jobs = workload(node_count=[1] * 4, slots=[2, 1, 2, 1])
    machine = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0, slots=4, exclusive=False)
    told = pl.DataFrame({"job_id": [1, 2, 3], "start_s": [0, 0, 5], "nodes": [[0], [0], [1]]})
    check_schedule(hs.meter(jobs, machine, told), jobs, machine)
    with pytest.raises(hs.ConfigError) as caught:
        hs.meter(jobs, machine, told.with_columns(nodes=pl.Series([[0], [0], [0]])))
    assert str(caught.value) == (
        "starts, job 3 at 5 s, nodes: found node 0, expected 2 free slots there, of which 3 of 4 are taken: "
        "it serves job 1 from 0 s to 10 s, job 2 from 0 s to 20 s"
    )
    greedy = workload(node_count=[1] * 4, slots=[5, 1, 2, 1])
    with pytest.raises(hs.ConfigError, match="job 1 at 0 s, nodes: found 5 slots asked for, expected at most 4"):
        hs.meter(greedy, machine, told)


def test_a_job_late_because_of_another_has_no_fault() -> None:
    """Job 3 would run from 15 to 29 s and has to wait until 20 s, so that job 4 finds it there at 30 s."""
    jobs = workload(runtime_s=[10.0, 20.0, 14.0, 5.0], node_count=[2, 1, 1, 1], walltime_s=[None] * 4)
    told = pl.DataFrame({"job_id": [1, 2, 3, 4], "start_s": [0, 0, 15, 30], "nodes": [[0, 1], [2], [2], [2]]})
    with pytest.raises(hs.ConfigError) as caught:
        hs.meter(jobs, platform(), told)
    assert str(caught.value) == (
        "starts, job 3 at 15 s, nodes: found node 2, expected a free node: it serves job 2 from 0 s to 20 s"
    )


def test_an_application_without_a_row_is_what_it_is_in_a_run() -> None:
    table = hs.VariationTable(["heat"], power_w=[[150.0, 200.0, 250.0]])
    machine, jobs = platform().with_tables(actual=table), workload(app=["heat", "flow", "heat", None])
    with pytest.raises(hs.ConfigError, match="flow"):
        hs.meter(jobs, machine, starts())
    result = hs.meter(jobs, machine, starts(), on_unknown_app="nominal")
    assert result.jobs["energy_j"].to_list() == [3_500.0, 6_000.0, 24_000.0, None]
    check_schedule(result, jobs, machine)

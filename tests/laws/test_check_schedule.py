"""`check_schedule` is itself held to something: each law, broken by hand in a result's files, is found and named."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

Break = Callable[[pl.DataFrame], pl.DataFrame]


def a_run() -> tuple[hs.Result, hs.Workload, hs.Platform]:
    """Three nodes: jobs 1 (nodes 0, 1) and 2 (node 2) from 0 to 10 and 20; 3 is killed, 4 too large, 5 alone."""
    frame = pl.DataFrame(
        {
            "job_id": [1, 2, 3, 4, 5],
            "submit_s": [0.0, 0.0, 5.0, 6.0, 200.0],
            "runtime_s": [10.0, 20.0, 50.0, 5.0, 10.0],
            "node_count": [2, 1, 3, 4, 1],
            "walltime_s": [10.0, 30.0, 40.0, 5.0, 20.0],
        }
    )
    workload = hs.Workload.from_polars(frame)
    platform = hs.Platform.homogeneous(nodes=3, idle_w=100.0, tdp_w=300.0)
    return hs.simulate(workload, platform, "easy"), workload, platform


def test_a_job_rejected_when_the_budget_falls_may_be_overtaken_before() -> None:
    # Job 2, 400 W beyond the idle machine, waits for job 1 and can never start from 5 on; job 3 overtakes it at 2.
    columns = {"job_id": [1, 2, 3], "submit_s": [0.0, 1.0, 2.0], "runtime_s": [20.0, 10.0, 8.0]}
    workload = hs.Workload.from_polars(pl.DataFrame({**columns, "node_count": [1, 2, 1], "walltime_s": [20.0] * 3}))
    platform = hs.Platform.homogeneous(nodes=3, idle_w=100.0, busy_w=300.0, tdp_w=300.0)
    events = hs.Events.from_polars(pl.DataFrame({"time_s": [5.0], "kind": ["budget"], "value": [600.0]}))
    policy = hs.Policy("fcfs", "first-fit", power={"name": "system-budget", "budget_w": 700.0})
    with pytest.warns(hs.errors.RunWarning):
        result = hs.simulate(workload, platform, policy, events=events)
    assert result.jobs["started_by"].to_list() == ["immediate", None, "backfill"]
    check_schedule(result, workload, platform, events=events)


CAPS = {
    cap_w: hs.VariationTable(["a"], power_w=[[watts] * 4], time_ratio=[[1.0] * 4])
    for cap_w, watts in {math.inf: 200.0, 100.0: 100.0}.items()
}
TOO_LOW = {math.inf: hs.VariationTable(["a"], power_w=[[120.0] * 4], time_ratio=[[1.0] * 4]), 100.0: CAPS[100.0]}
ONE: dict[str, list[Any]] = {"job_id": [1], "submit_s": [0.0], "runtime_s": [80.0], "node_count": [2], "app": ["a"]}
TWO: dict[str, list[Any]] = {
    "job_id": [1, 2],
    "submit_s": [0.0, 5.0],
    "runtime_s": [20.0, 10.0],
    "node_count": [2, 1],
    "app": ["a", "a"],
}


@pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")
@pytest.mark.parametrize(
    ("jobs", "budget_w", "predicted", "falls", "options", "kinds"),
    [
        pytest.param(ONE, 900, None, None, {"until_s": 40.0}, [], id="stopped while a job runs"),
        pytest.param({**ONE, "submit_s": [27.25], "runtime_s": [1e-6]}, 900, None, None, {}, [], id="a microsecond"),
        pytest.param(
            TWO,
            600,
            TOO_LOW,
            {"value": [570.0], "until_s": [30.0], "announced_s": [5.0]},
            {},
            ["budget", "alert", "suspend", "resume", "budget"],
            id="started and suspended in one instant",
        ),
        pytest.param(
            {**TWO, "runtime_s": [5.0, 10.0], "node_count": [1, 2]},
            600,
            TOO_LOW,
            {"value": [400.0]},
            {},
            ["budget", "alert", "suspend", "kill"],
            id="started, suspended and killed in one instant",
        ),
    ],
)
def test_runs_that_break_no_law_pass(
    jobs: dict[str, Any],
    budget_w: float,
    predicted: Any,
    falls: dict[str, Any] | None,
    options: dict[str, Any],
    kinds: list[str],
) -> None:
    bare = hs.Platform.homogeneous(nodes=4, idle_w=50, tdp_w=250)
    platform = bare.with_tables(actual=CAPS, predicted=predicted)
    workload = hs.Workload.from_polars(pl.DataFrame(jobs))
    events = hs.Events.from_polars(pl.DataFrame({"time_s": [5.0], "kind": ["budget"], **falls})) if falls else None
    power = {"name": "system-budget", "budget_w": budget_w, "on_excess": ["suspend"]}
    result = hs.simulate(workload, platform, hs.Policy("fcfs", "reservations", power=power), events=events, **options)
    assert result.events["kind"].to_list() == kinds
    check_schedule(result, workload, platform, events=events)


def test_a_stretch_that_still_lasts_ends_where_the_run_was_stopped(tmp_path: Path) -> None:
    workload, platform = hs.Workload.from_polars(pl.DataFrame(ONE)), hs.Platform.homogeneous(4, 50, 250)
    result = hs.simulate(workload, platform, "easy", until_s=40.0)
    assert result.jobs["end_s"].to_list() == [None]
    assert result.segments["end_s"].to_list() == [40.0]
    result.write(tmp_path / "out")
    assert hs.read_result(tmp_path / "out").segments["end_s"].to_list() == [40.0]


def test_a_job_withdrawn_as_its_node_fails_loses_its_attempt() -> None:
    frame = pl.DataFrame({"job_id": [1, 2], "submit_s": [0.0, 0.0], "runtime_s": [9.0, 3.0], "cancel_s": [5.0, None]})
    workload = hs.Workload.from_polars(frame.with_columns(node_count=1, queue=pl.lit("low")))
    queues = [hs.Queue("low", [0, 1]), hs.Queue("urgent", [0, 1], priority=1, preempts=["low"])]
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0, queues=queues)
    outage = {"time_s": [5.0, 6.0], "kind": ["node_failed", "node_repaired"], "node": [0, 0]}
    events = hs.Events.from_polars(pl.DataFrame(outage))
    result = hs.simulate(workload, platform, hs.Policy("fcfs", "plan"), events=events, on_failure="requeue")
    assert result.jobs["state"].to_list() == ["cancelled", "completed"]
    assert "requeue" in result.events["kind"].to_list()
    check_schedule(result, workload, platform, events=events)


def at(job: int, **values: object) -> Break:
    """Puts other values into the row of a job."""

    def change(jobs: pl.DataFrame) -> pl.DataFrame:
        return jobs.with_columns(
            pl.when(pl.col("job_id") == job).then(pl.lit(value, jobs.schema[name])).otherwise(pl.col(name)).alias(name)
            for name, value in values.items()
        )

    return change


def row(number: int, **values: object) -> Break:
    """Puts other values into a row of any frame."""

    def change(frame: pl.DataFrame) -> pl.DataFrame:
        is_it = pl.int_range(pl.len()) == number
        return frame.with_columns(
            pl.when(is_it).then(pl.lit(value, frame.schema[name])).otherwise(pl.col(name)).alias(name)
            for name, value in values.items()
        )

    return change


def rewrite(folder: Path, frame: str, change: Break) -> None:
    """Changes a frame's file, and what summary.json says of its bytes."""
    path, summary = folder / f"{frame}.parquet", folder / "summary.json"
    change(pl.read_parquet(path.read_bytes())).write_parquet(path)
    numbers = json.loads(summary.read_text())
    numbers["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    summary.write_text(json.dumps(numbers))


def test_an_honest_result_passes(tmp_path: Path) -> None:
    result, workload, platform = a_run()
    check_schedule(result, workload, platform)
    result.write(tmp_path)
    check_schedule(hs.read_result(tmp_path), workload, platform)


@pytest.mark.parametrize(
    ("frame", "change", "message"),
    [
        ("jobs", at(1, submit_s=1.0), "job 1: submit_s is 1.0, the workload says 0.0"),
        ("jobs", at(3, start_s=4.0, end_s=44.0), "job 3 starts at 4.0 s, before it is submitted"),
        ("jobs", at(3, started_by="immediate"), "job 3 starts at 20.0 s, after waiting"),
        ("jobs", at(4, reason=""), "job 4: rejected without a reason"),
        ("jobs", at(4, start_s=6.0), "job 4: rejected, start_s 6.0"),
        ("jobs", at(5, state="rejected", reason="no"), "job 5: rejected"),
        ("jobs", at(2, state="asleep"), "job 2: state 'asleep'"),
        ("jobs", at(1, nodes=[0]), r"job 1 on nodes \[0\] from 0.0 s: 1 nodes, it asked for 2"),
        ("jobs", at(1, nodes=[1, 0]), "job 1 .* do not ascend"),
        ("jobs", at(1, nodes=[1, 1]), "job 1 .* do not ascend"),
        ("jobs", at(2, nodes=[3]), "job 2 .*: node 3 does not exist"),
        ("jobs", at(2, nodes=[1]), "node 1 at 0.0 s: 1 slots serve job 1, job 2 at once"),
        ("jobs", at(3, start_s=19.0, end_s=59.0, runtime_s=40.0, wait_s=14.0), "node 2 at 19.0 s: .* job 2, job 3"),
        ("jobs", at(2, end_s=19.0), "job 2 .*: completed after 19000000 us, its runtime .* is 20000000 us"),
        ("jobs", at(3, state="completed", end_s=70.0), "job 3 outlasts its walltime"),
        ("jobs", at(5, state="timeout", end_s=220.0), "job 5: timeout, although its walltime suffices"),
        ("jobs", at(3, wait_s=16.0), "job 3: wait_s is 16.0, .* make it 15.0"),
        ("jobs", at(3, bounded_slowdown=1.0), "job 3: bounded_slowdown"),
        ("jobs", at(2, mean_power_w=None), "job 2: mean_power_w is None"),
        ("jobs", at(2, energy_j=6_000.001, mean_power_w=300.00005), "job_energy_j"),
        ("nodes", row(1, busy_s=51.0), "node 1: busy_s is 51.0, its jobs make it 50.0"),
        ("nodes", row(1, energy_j=0.0), "energy_j is .*, the nodes make it"),
        ("timeline", row(1, power_w=1.0), "the timeline's integral"),
        ("timeline", row(1, queued_jobs=0), "at 5.0 s: queued_jobs is 0, the jobs make it 1"),
        ("timeline", row(1, busy_nodes=2), "at 5.0 s: busy_nodes is 2"),
        ("timeline", row(1, idle_nodes=1), "are not all nodes"),
    ],
)  # fmt: skip
def test_a_broken_law_is_named(tmp_path: Path, frame: str, change: Break, message: str) -> None:
    result, workload, platform = a_run()
    result.write(tmp_path)
    rewrite(tmp_path, frame, change)
    with pytest.raises(AssertionError, match=message):
        check_schedule(hs.read_result(tmp_path), workload, platform)


@pytest.mark.parametrize(
    "key",
    [
        *("energy_j", "mean_wait_s", "p95_wait_s", "utilization_ratio", "completed", "makespan_s"),
        *("work_lost_node_s", "completed_work_ratio", "energy_per_work_j_per_node_s"),
    ],
)
def test_a_wrong_summary_is_named(tmp_path: Path, key: str) -> None:
    result, workload, platform = a_run()
    result.write(tmp_path)
    path = tmp_path / "summary.json"
    right = f'"{key}": {result.summary()[key]}'
    assert right in path.read_text()
    path.write_text(path.read_text().replace(right, f'"{key}": 77', 1))
    with pytest.raises(AssertionError, match=key):
        check_schedule(hs.read_result(tmp_path), workload, platform)


@pytest.mark.parametrize(
    ("was", "said", "message"),
    [
        (
            '"walltimes": "stretch"',
            '"walltimes": "fixed"',
            r"job 1 .*: timeout after 64000000 us, its walltime is 44000",
        ),
        (
            '"kill_grace_s": 4.0',
            '"kill_grace_s": 3.0',
            r"job 1 .*: timeout after 64000000 us, its walltime is 63000000",
        ),
        ('"kill_grace_s": 4.0', '"kill_grace_s": 50.0', r"job 1 .*: timeout after 64000000 us, its walltime is 110000"),
    ],
)
def test_a_kill_at_another_limit_is_named(tmp_path: Path, was: str, said: str, message: str) -> None:
    # Half as fast again as nominal is what the node's factor of 1.5 says: 40 s become 60, and 4 s of grace come on top.
    jobs = {
        "job_id": [1],
        "submit_s": [0.0],
        "runtime_s": [50.0],
        "walltime_s": [40.0],
        "node_count": [1],
        "app": ["a"],
    }
    table = hs.VariationTable(["a"], power_w=[[250.0]], time_ratio=[[1.5]])
    platform = hs.Platform.homogeneous(nodes=1, idle_w=100.0, tdp_w=300.0).with_tables(actual=table)
    workload = hs.Workload.from_polars(pl.DataFrame(jobs))
    result = hs.simulate(workload, platform, "easy", walltimes="stretch", kill_grace_s=4)
    assert result.jobs["end_s"].to_list() == [64.0]
    result.write(tmp_path)
    path = tmp_path / "summary.json"
    assert was in path.read_text()
    path.write_text(path.read_text().replace(was, said))
    with pytest.raises(AssertionError, match=message):
        check_schedule(hs.read_result(tmp_path), workload, platform)


def a_run_under_a_budget() -> tuple[hs.Result, hs.Workload, hs.Platform]:
    """Two nodes, believed to draw 200 W, draw 250: 500 W of 400 from 1 to 10.5 s and from 11 to 16 s; 4 is alone."""
    frame = pl.DataFrame(
        {
            "job_id": [1, 2, 3, 4],
            "submit_s": [0.0, 1.0, 2.0, 200.0],
            "runtime_s": [10.0, 10.0, 5.0, 1.0],
            "node_count": [1, 1, 2, 1],
            "app": ["heat"] * 4,
        }
    )
    actual, predicted = (hs.VariationTable(["heat"], power_w=np.full((1, 2), watts)) for watts in (250.0, 200.0))
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0)
    platform = platform.with_tables(actual=actual, predicted=predicted)
    workload = hs.Workload.from_polars(frame)
    return hs.simulate(workload, platform, "vahrm:first_run=true:budget_w=400"), workload, platform


def test_a_budget_that_is_exceeded_is_reported_by_hand(tmp_path: Path) -> None:
    result, workload, platform = a_run_under_a_budget()
    check_schedule(result, workload, platform)
    result.write(tmp_path)
    check_schedule(hs.read_result(tmp_path), workload, platform)
    assert result.jobs["profiled"].to_list() == [True, False, False, False]
    summary = result.summary()
    told = [summary[name] for name in ("budget_w", "over_budget_count", "over_budget_s", "over_budget_peak_w")]
    assert told == [400.0, 2, 14.5, 100.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (at(2, profiled=True), r"job 2 on nodes \[.\] from 1.0 s: profiled, though heat ran before"),
        (at(1, profiled=False), r"heat: none of its jobs that start first, at 0.0 s, is profiled"),
        (at(2, state="rejected", reason="no", start_s=None), "job 2: rejected, which disagrees with what it asks for"),
    ],
)
def test_a_broken_law_of_first_runs_is_named(tmp_path: Path, change: Break, message: str) -> None:
    result, workload, platform = a_run_under_a_budget()
    result.write(tmp_path)
    rewrite(tmp_path, "jobs", change)
    with pytest.raises(AssertionError, match=message):
        check_schedule(hs.read_result(tmp_path), workload, platform)


@pytest.mark.parametrize(
    "key", ["budget_w", "over_budget_count", "over_budget_s", "over_budget_peak_w", "profiled_jobs"]
)
def test_a_wrong_word_about_a_budget_is_named(tmp_path: Path, key: str) -> None:
    result, workload, platform = a_run_under_a_budget()
    result.write(tmp_path)
    path = tmp_path / "summary.json"
    right = f'"{key}": {result.summary()[key]}'
    assert right in path.read_text()
    path.write_text(path.read_text().replace(right, f'"{key}": 77', 1))
    with pytest.raises(AssertionError, match=key):
        check_schedule(hs.read_result(tmp_path), workload, platform)


def test_a_budget_that_could_have_been_kept_and_was_not_is_named() -> None:
    _, workload, platform = a_run_under_a_budget()
    workload = workload.filter(pl.col("job_id") != 3)  # which could not run at 250 W a node
    result = hs.simulate(workload, platform, "vahrm:budget_w=400")
    foreseen = platform.with_tables(actual=platform.actual)
    with pytest.raises(AssertionError, match=r"at 1.0 s the system draws more than its budget, 400.0 W"):
        check_schedule(result, workload, foreseen)


def test_another_workload_is_noticed() -> None:
    result, workload, platform = a_run()
    with pytest.raises(AssertionError, match="5 rows for 4 jobs"):
        check_schedule(result, workload.head(4), platform)
    later = hs.Workload.from_polars(workload.to_polars().with_columns(pl.col("submit_s") + 100.0))
    with pytest.raises(AssertionError, match=r"job 1: submit_s is 0\.0, the workload says 100\.0"):
        check_schedule(result, later, platform)


def test_watts_of_another_platform_are_noticed() -> None:
    result, workload, _ = a_run()
    hotter = hs.Platform.homogeneous(nodes=3, idle_w=100.0, tdp_w=301.0)
    with pytest.raises(
        AssertionError, match=r"job 1 on nodes \[0, 1\] from 0.0 s: energy_j is 6000.0, its nodes drew 6020.0"
    ):
        check_schedule(result, workload, hotter)


def test_check_schedule_needs_no_hypothesis_and_strategies_say_what_to_install() -> None:
    program = """
import sys
sys.modules["hypothesis"] = None
from hetsched.testing import check_schedule
print(check_schedule.__name__)
from hetsched.testing import workloads
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (1, "check_schedule\n")
    last = run.stderr.strip().splitlines()[-1]
    assert last == "ImportError: the strategies of hetsched.testing need hypothesis: pip install 'hetsched[testing]'"


def a_crowded_run() -> tuple[hs.Result, hs.Workload, hs.Platform]:
    """Two nodes. 1 has one until 10; 2 wants both and waits until then; 3 overtakes it; 4 takes no time, alone."""
    jobs = {
        "job_id": [1, 2, 3, 4],
        "submit_s": [0.0, 1.0, 2.0, 50.0],
        "runtime_s": [10.0, 5.0, 3.0, 0.0],
        "node_count": [1, 2, 1, 1],
    }
    workload = hs.Workload.from_polars(pl.DataFrame(jobs))
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0)
    return hs.simulate(workload, platform, "easy"), workload, platform


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (at(2, started_by="immediate"), "job 2 starts at 10.0 s, after waiting, but started_by is immediate"),
        (at(3, started_by="reservation"), "job 3 starts at 2.0 s, when it is submitted, but started_by is reservation"),
        (
            at(2, started_by="backfill"),
            "job 2 starts at 10.0 s, with no earlier job left waiting, but started_by is backfill",
        ),
        (at(1, started_by="backfill"), "job 1 starts at 0.0 s, with no earlier job left waiting"),
        (at(4, started_by="backfill"), "job 4 starts at 50.0 s, with no earlier job left waiting"),
    ],
)
def test_what_is_said_of_how_a_job_came_to_start_is_checked(tmp_path: Path, change: Break, message: str) -> None:
    result, workload, platform = a_crowded_run()
    assert result.jobs["started_by"].to_list() == ["immediate", "reservation", "backfill", "immediate"]
    check_schedule(result, workload, platform)
    result.write(tmp_path)
    rewrite(tmp_path, "jobs", change)
    with pytest.raises(AssertionError, match=message):
        check_schedule(hs.read_result(tmp_path), workload, platform)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (at(2, start_s=11.0, end_s=16.0), "job 2 starts before its observed start, at 12.0 s"),
        (at(3, reason=None), "job 3: pending, although the run is complete"),
        (at(2, start_s=13.0, end_s=18.0), "provenance says .*'late_starts': 0.*, the jobs make it .*'late_starts': 1"),
    ],
)
def test_a_replay_is_held_to_its_log(tmp_path: Path, change: Break, message: str) -> None:
    _, jobs, platform = a_crowded_run()
    workload = hs.Workload.from_polars(
        jobs.to_polars().with_columns(observed_start_s=pl.Series([0.0, 12.0, None, 50.0]))
    )
    with pytest.warns(hs.errors.ReplayWarning):
        result = hs.simulate(workload, platform, "replay")
    check_schedule(result, workload, platform)
    result.write(tmp_path)
    rewrite(tmp_path, "jobs", change)
    with pytest.raises(AssertionError, match=message):
        check_schedule(hs.read_result(tmp_path), workload, platform)


def test_given_ends_are_held_to_what_they_say(tmp_path: Path) -> None:
    jobs = hs.Workload.from_polars(a_crowded_run()[1].to_polars().with_columns(walltime_s=pl.lit(4.0)))
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0)
    told = pl.DataFrame({"job_id": [1, 3], "start_s": [0.0, 2.0], "nodes": [[0], [1]], "end_s": [5.0, 9.0]})
    result = hs.meter(jobs, platform, told)
    assert result.jobs["state"].to_list() == ["timeout", "pending", "completed", "pending"]
    check_schedule(result, jobs, platform)
    result.write(tmp_path)
    rewrite(tmp_path, "jobs", at(1, state="completed", reason=None))
    with pytest.raises(AssertionError, match=r"job 1 on nodes \[0\] from 0.0 s: completed after 5000000 us"):
        check_schedule(hs.read_result(tmp_path), jobs, platform)

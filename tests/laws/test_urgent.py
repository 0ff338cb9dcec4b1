"""Runs with urgent jobs keep the laws, also where nodes sleep; a fork goes on alike; each law finds what breaks it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


@st.composite
def cases(draw: st.DrawFn) -> tuple[hs.Workload, hs.Platform, hs.Policy]:
    """Jobs of two queues, of urgent ones and of such as are more urgent still, on few nodes that may sleep."""
    nodes, slots = draw(st.integers(1, 4)), draw(st.sampled_from([1, 1, 3]))
    sets = st.sets(st.integers(0, nodes - 1), min_size=1).map(sorted)
    queues = [
        hs.Queue("a", draw(sets), allocation=draw(st.sampled_from(["concentrate", "spread"]))),
        hs.Queue("b", draw(sets), priority=draw(st.sampled_from([0, 1]))),
        hs.Queue("u", draw(sets), priority=5, preempts=draw(st.sampled_from([["a"], ["a", "b"]]))),
        hs.Queue("v", draw(sets), priority=7, preempts=draw(st.sampled_from([["u"], ["a", "b", "u"]]))),
    ]
    platform = hs.Platform.homogeneous(
        nodes,
        idle_w=100.0,
        tdp_w=300.0,
        boot_s=7.0,
        shutdown_s=5.0,
        off_w=0.0,
        boot_w=150.0,
        slots=slots,
        exclusive=slots == 1,
        queues=queues,
    )
    rows, submit = [], 0
    for row in range(draw(st.integers(1, 16))):
        submit += draw(st.sampled_from([0, 1, 9, 60]))
        queue = draw(st.sampled_from(queues))
        runtime = draw(st.integers(0, 60))
        walltime = draw(st.sampled_from([None, runtime + 1, runtime // 2 + 1, 90]))
        rows.append((row, submit, runtime, walltime, draw(st.integers(1, len(queue.nodes))), queue.name))
    schema = ["job_id", "submit_s", "runtime_s", "walltime_s", "node_count", "queue"]
    frame = pl.DataFrame(rows, schema, orient="row").with_columns(pl.col("walltime_s").cast(pl.Float64))
    taken = pl.Series([draw(st.integers(1, slots)) for _ in rows])
    sleep = draw(st.sampled_from([None, {"name": "timeout", "min_idle_s": 15}, "planned"]))
    policy = hs.Policy(
        draw(st.sampled_from(["fcfs", "shortest", "wfp3"])), "plan", **({"sleep": sleep} if sleep else {})
    )
    return hs.Workload.from_polars(frame.with_columns(slots=taken)), platform, policy


@given(cases(), st.integers(0, 200))
def test_runs_with_urgent_jobs_keep_the_laws_and_a_fork_goes_on_alike(
    case: tuple[hs.Workload, hs.Platform, hs.Policy], stop_s: int
) -> None:
    workload, platform, policy = case
    whole = hs.simulate(workload, platform, policy)
    check_schedule(whole, workload, platform)
    session = hs.Session(workload, platform, policy)
    session.step_until(float(stop_s))
    stopped = hs.simulate(workload, platform, policy, until_s=float(stop_s))
    check_schedule(stopped, workload, platform)
    fork = session.fork()
    for one in (session, fork):
        assert one.run() == whole


def a_run() -> tuple[hs.Result, hs.Workload, hs.Platform]:
    """Job 1 of `n` on node 0 from 0 to 130, suspended for job 3 of `u` from 50 to 80; job 2 on node 1."""
    queues = [hs.Queue("n", "0-1"), hs.Queue("u", "0", priority=1, preempts=["n"])]
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0, queues=queues)
    rows = [(1, 0, 100, 1, "n"), (2, 0, 60, 1, "n"), (3, 50, 30, 1, "u")]
    frame = pl.DataFrame(rows, ["job_id", "submit_s", "runtime_s", "node_count", "queue"], orient="row")
    workload = hs.Workload.from_polars(frame)
    return hs.simulate(workload, platform, hs.Policy("fcfs", "plan")), workload, platform


Break = Callable[[pl.DataFrame], pl.DataFrame]


def put(number: int, **values: object) -> Break:
    """Puts other values into a row of a frame."""

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


@pytest.mark.parametrize(
    ("frame", "change", "message"),
    [
        ("jobs", put(0, suspended_s=29.0), r"job 1: suspended_s is 29\.0, not 30\.0"),
        ("segments", put(1, energy_j=1.0), "job 1, from 50.0 s: its energy is not its power times its length"),
        ("segments", put(1, state="running", speed_ratio=1.0), "job 1: suspended_s is 30.0, not 0.0"),
        ("segments", put(1, start_s=51.0), "it does not begin where the stretch before it ends"),
        ("segments", put(0, energy_j=15_001.0, power_w=300.02), r"job 1: energy_j is 30000\.0, not 30001\.0"),
        ("events", lambda frame: frame.head(1), r"events tell resume \[\]"),
        ("events", put(0, job_id=2), "events tell suspend"),
        ("timeline", put(1, suspended_jobs=0), "at 50.0 s: suspended_jobs is 0, the segments make it 1"),
    ],
)
def test_a_broken_law_is_named(tmp_path: Path, frame: str, change: Break, message: str) -> None:
    result, workload, platform = a_run()
    result.write(tmp_path)
    check_schedule(hs.read_result(tmp_path), workload, platform)
    rewrite(tmp_path, frame, change)
    with pytest.raises(AssertionError, match=message):
        check_schedule(hs.read_result(tmp_path), workload, platform)


def with_queue(workload: hs.Workload, job: int, queue: str) -> hs.Workload:
    name = pl.when(pl.col("job_id") == job).then(pl.lit(queue)).otherwise(pl.col("queue"))
    return hs.Workload.from_polars(workload.to_polars().with_columns(name.alias("queue")))


def test_a_job_that_none_that_preempts_it_has_displaced_is_named(tmp_path: Path) -> None:
    """Job 3 as one of `n`: neither may job 1 be suspended for it, nor may it use its slots."""
    result, workload, platform = a_run()
    result.write(tmp_path)
    rewrite(tmp_path, "jobs", put(2, queue="n"))
    with pytest.raises(AssertionError, match=r"job 1 is suspended at 50\.0 s, where no urgent job starts on its nodes"):
        check_schedule(hs.read_result(tmp_path), with_queue(workload, 3, "n"), platform)


def test_who_starts_on_slots_that_a_suspended_job_keeps_is_named(tmp_path: Path) -> None:
    """Job 3 is of `u`, and job 4 of `n` is put on node 0 at 60, where job 1 is suspended."""
    queues = [hs.Queue("n", "0"), hs.Queue("u", "0", priority=1, preempts=["n"])]
    platform = hs.Platform.homogeneous(nodes=1, idle_w=100.0, tdp_w=300.0, slots=2, exclusive=False, queues=queues)
    rows = [(1, 0, 100, 2, "n"), (3, 50, 30, 1, "u"), (4, 60, 10, 1, "u")]
    frame = pl.DataFrame(rows, ["job_id", "submit_s", "runtime_s", "slots", "queue"], orient="row")
    workload = hs.Workload.from_polars(frame.with_columns(node_count=pl.lit(1)))
    result = hs.simulate(workload, platform, hs.Policy("fcfs", "plan"))
    check_schedule(result, workload, platform)
    result.write(tmp_path)
    rewrite(tmp_path, "jobs", put(2, queue="n"))
    message = r"node 0 at 60\.0 s: job 4 starts on slots that others keep, 4 of 2"
    with pytest.raises(AssertionError, match=message):
        check_schedule(hs.read_result(tmp_path), with_queue(workload, 4, "n"), platform)

"""Laws of predicted waits: a certain past predicts the run, the future plays no part, each job has draws of its own."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.testing import platforms, workloads

pytestmark = [pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning"), pytest.mark.hypothesis]

jobs = workloads(min_jobs=1, walltimes=True, apps=())
machines = platforms(max_slots=1, tables=False)
stops = st.sampled_from([0.0, 3.0, 7.5, 12.0])


def as_asked(workload: hs.Workload) -> hs.Workload:
    """The same jobs, which take just what they ask for; a second at least."""
    lengths = pl.col("walltime_s").clip(1.0)
    return hs.Workload.from_polars(workload.to_polars().with_columns(walltime_s=lengths, runtime_s=lengths))


def certain(**more: Any) -> pl.DataFrame:
    """A past in which a job took just what it asked for."""
    one = {"job_id": [10**6], "submit_s": [0.0], "runtime_s": [2.0], "walltime_s": [2.0], "node_count": [1]}
    return pl.DataFrame({**one, "observed_start_s": [0.0], **more})


@given(jobs, machines, st.sampled_from(["easy", "fcfs", "conservative"]), stops)
def test_where_all_ask_for_what_they_take_the_prediction_is_the_run(
    workload: hs.Workload, platform: hs.Platform, policy: str, stop: float
) -> None:
    own = as_asked(workload)
    session = hs.Session(own.filter(pl.col("submit_s") <= stop), platform, policy)
    session.step_until(stop)
    found = hs.predict_waits(session, history=certain(), forks=1)
    ran = session.run().jobs.filter(pl.col("start_s").is_null() | (pl.col("start_s") > stop))
    ran = ran.filter(pl.col("state") != "rejected")
    shown = found.filter(pl.col("job_id").is_in(ran["job_id"].implode()))
    assert shown["mean_wait_s"].to_list() == pytest.approx(ran["wait_s"].to_list(), abs=1e-6, nan_ok=True)
    assert shown["q05"].to_list() == shown["q95"].to_list()
    assert set(found["started_ratio"]) <= {0.0, 1.0}


@given(jobs, machines, stops, st.integers(0, 99))
def test_nothing_after_the_instant_changes_a_digit(
    workload: hs.Workload, platform: hs.Platform, stop: float, seed: int
) -> None:
    session = hs.Session(workload, platform, "easy")
    session.step_until(stop)
    log = workload.to_polars().with_columns((pl.col("submit_s") + 2.0).alias("observed_start_s"))
    is_over = pl.col("observed_start_s") + pl.col("runtime_s") <= stop
    later = pl.when(is_over).then(pl.col("runtime_s")).otherwise(pl.col("runtime_s") + 77.0).alias("runtime_s")
    other = log.with_columns(later)
    assume(len(log.filter(is_over & (pl.col("runtime_s") > 0))))
    asked: dict[str, Any] = {"forks": 2, "seed": seed, "arrivals": "resample"}
    past, changed = (hs.Workload.from_polars(one.with_columns(pl.col("job_id") + 1000)) for one in (log, other))
    found = hs.predict_waits(session, history=past, **asked)
    assert found.equals(hs.predict_waits(session, history=changed, **asked))
    unborn = workload.to_polars().with_columns(
        pl.when(pl.col("submit_s") > stop).then(99.0).otherwise(pl.col("runtime_s")).alias("runtime_s")
    )
    twin = hs.Session(hs.Workload.from_polars(unborn), platform, "easy")
    twin.step_until(stop)
    assert found.equals(hs.predict_waits(twin, history=past, **asked))


@given(st.permutations(range(4)), st.integers(0, 2**64 - 1))
def test_order_and_neighbours_change_no_draw(order: list[int], seed: int) -> None:
    past = pl.DataFrame(
        {"job_id": range(50), "submit_s": [0.0] * 50, "runtime_s": [float(1 + job) for job in range(50)]}
    ).with_columns(walltime_s=pl.lit(50.0), node_count=1, observed_start_s=pl.col("submit_s"))
    queued = pl.DataFrame({"job_id": [4, 5, 6, 7], "submit_s": [90.0, 91.0, 92.0, 93.0]}).with_columns(
        node_count=1, walltime_s=pl.lit(60.0)
    )
    running = queued.with_columns(job_id=pl.col("job_id") + 10, start_s=pl.lit(95.0))
    machine = hs.Platform.homogeneous(4, idle_w=100, tdp_w=300)

    def predicted(waits: pl.DataFrame) -> pl.DataFrame:
        state = {"time_s": 100.0, "running": running[order], "queued": waits}
        return hs.predict_waits(state, history=past, platform=machine, policy="fcfs", seed=seed, forks=3)

    whole = predicted(queued[order])
    assert whole.equals(predicted(queued))
    assert whole.head(2).equals(predicted(queued.head(2)))

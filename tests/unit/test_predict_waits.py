"""`hs.predict_waits` by hand: states given as frames, further jobs, arrivals, and faults."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

MACHINE = hs.Platform.homogeneous(2, idle_w=100, tdp_w=300)
RUNNING = pl.DataFrame({"job_id": [3], "start_s": [150.0], "node_count": [2], "walltime_s": [400.0]})
QUEUED = pl.DataFrame({"job_id": [4, 5], "submit_s": [190.0, 195.0], "node_count": [1, 2], "walltime_s": [100.0, 50.0]})
STATE = {"time_s": 200.0, "running": RUNNING, "queued": QUEUED}


def past(*ratios: float, **more: Any) -> pl.DataFrame:
    """Jobs that ended and took these parts of 100 s."""
    count = len(ratios)
    base = {"job_id": range(100, 100 + count), "submit_s": [0.0] * count, "runtime_s": [100 * one for one in ratios]}
    jobs = pl.DataFrame({**base, "walltime_s": [100.0] * count, "observed_start_s": [0.0] * count, **more})
    return jobs.with_columns(node_count=1)


def predicted(state: Any = STATE, jobs: pl.DataFrame | None = None, **options: Any) -> pl.DataFrame:
    return hs.predict_waits(state, jobs, **{"history": past(0.5), "platform": MACHINE, "forks": 3, **options})


def test_jobs_take_the_past_s_part_of_their_walltimes() -> None:
    # Job 3 takes half of 400 s and ends at 350 s, job 4 then half of 100 s on one node, and job 5 waits for both.
    found = predicted()
    assert found.columns == [
        "job_id",
        "q05",
        "q25",
        "q50",
        "q75",
        "q95",
        "mean_wait_s",
        "started_ratio",
        "within_1h_ratio",
    ]
    assert found.select("job_id", "q50", "mean_wait_s").rows() == [(4, 160.0, 160.0), (5, 205.0, 205.0)]


def test_a_job_longer_than_all_before_runs_to_its_walltime_or_a_second_more() -> None:
    assert predicted(history=past(0.1))["q50"].to_list() == [550 - 190, 560 - 195]
    late = {**STATE, "running": RUNNING.with_columns(walltime_s=pl.lit(20.0))}
    assert predicted(late, history=past(0.1))["q50"][0] == 201 - 190


def test_a_past_of_several_lengths_makes_quantiles() -> None:
    found = predicted(history=past(0.2, 0.3, 0.8, 1.0), forks=400, levels=[0.05, 0.5, 0.975], seed=3)
    assert found.columns[1:4] == ["q05", "q50", "q975"]
    waits = {150 + ratio * 400 - 190 for ratio in (0.2, 0.3, 0.8, 1.0)}
    assert {found["q05"][0], found["q975"][0]} <= waits
    assert found["q05"][0] < found["q975"][0]
    assert found["within_1h_ratio"].to_list() == [1.0, 1.0]


def test_jobs_that_are_asked_for_join_the_queue() -> None:
    mine = pl.DataFrame({"job_id": [9, 10], "node_count": [1, 3], "walltime_s": [40.0, 40.0]})
    found = predicted(jobs=mine)
    # Job 9 is backfilled at 350 s next to job 4; job 10 is larger than the machine.
    assert found.select("job_id", "q50", "started_ratio").rows() == [
        (4, 160.0, 1.0),
        (5, 205.0, 1.0),
        (9, 150.0, 1.0),
        (10, None, 0.0),
    ]


def test_arrivals_are_those_of_the_week_before_a_week_later() -> None:
    week, at = 604_800.0, 1_000_000.0
    state = {"time_s": at, "running": RUNNING.with_columns(start_s=pl.lit(at - 50)), "queued": QUEUED.head(0)}
    log = past(0.5, 0.5, 0.5, submit_s=[100.0, at - week, at - 5], observed_start_s=[100.0, at - week, at - 5])
    mine = pl.DataFrame({"job_id": [1], "submit_s": [at + week], "node_count": [2], "walltime_s": [100.0]})
    alone, busy = (predicted(state, mine, history=log, arrivals=one) for one in ("none", "resample"))
    # The job of 5 s ago comes again 5 s before it, and takes 50 s.
    assert (alone["q50"].to_list(), busy["q50"].to_list()) == ([0.0], [45.0])


def test_a_session_predicts_from_where_it_is() -> None:
    log = pl.DataFrame({"job_id": [3, 4, 5, 6], "submit_s": [150.0, 190.0, 195.0, 210.0], "runtime_s": [9.0] * 4})
    jobs = log.with_columns(node_count=pl.Series([2, 1, 2, 2]), walltime_s=pl.Series([400.0, 100.0, 50.0, 9.0]))
    session = hs.Session(hs.Workload.from_polars(jobs.with_columns(runtime_s=pl.col("walltime_s"))), MACHINE)
    session.step_until(200)
    found = hs.predict_waits(session, history=past(0.5), forks=2)
    assert found.select("job_id", "q50").rows() == [(4, 160.0), (5, 205.0)]
    with pytest.raises(hs.ConfigError, match="platform: found a value, expected nothing with a session"):
        hs.predict_waits(session, history=past(0.5), platform=MACHINE)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"forks": 0}, "forks: found `0`, expected a whole number between 1 and 100000"),
        ({"seed": -1}, "seed: found"),
        ({"levels": [0.5, 1.0]}, "levels: found"),
        ({"recalibrate": -1}, "recalibrate: found `-1`, expected a whole number between 0 and 100000"),
        ({"arrivals": "some"}, "arrivals: found `some`, expected one of"),
        ({"platform": None}, "platform: found nothing, expected the platform of the state"),
        ({"state": {"time_s": 1}}, "state: found dict, expected a Session, or a dictionary"),
        ({"state": {**STATE, "running": 1}}, "state.running: found int, expected a polars DataFrame"),
        ({"state": {**STATE, "time_s": 100.0}}, "state: found job 3 after time_s, expected jobs that started"),
        ({"state": {**STATE, "running": QUEUED}}, "state.running: found no column start_s"),
        ({"jobs": [1]}, "jobs: found list, expected a polars DataFrame"),
        ({"jobs": QUEUED}, "jobs: found job 4 submitted before the state"),
        ({"history": past(0.5).drop("observed_start_s")}, "found jobs without observed starts"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.ConfigError, match=message):
        predicted(**given)


def test_a_job_without_a_walltime_needs_a_past() -> None:
    state = {**STATE, "queued": QUEUED.with_columns(walltime_s=pl.lit(None, pl.Float64))}
    assert predicted(state)["q50"].to_list() == [160.0, 205.0]
    with pytest.raises(hs.ConfigError, match="history: found no job that ended, for job 4, which has no walltime"):
        predicted(state, history=past(9.0))


def test_ids_stay_one_a_job() -> None:
    with pytest.raises(hs.TraceError, match="job_id"):
        predicted(jobs=QUEUED.with_columns(submit_s=pl.lit(300.0)))


def late_log(jobs: int, delay_s: float) -> pl.DataFrame:
    """Jobs of one node and 100 s, one every 200 s, that all start so long after their submit."""
    submit = [200.0 * k for k in range(jobs)]
    frame = pl.DataFrame({"job_id": range(100, 100 + jobs), "submit_s": submit, "runtime_s": [100.0] * jobs})
    frame = frame.with_columns(walltime_s=pl.lit(100.0), node_count=1)
    return frame.with_columns(observed_start_s=pl.col("submit_s") + delay_s)


def test_recalibration_learns_what_is_wrong_each_time() -> None:
    """A scheduler that starts every job 150 s after its submit, for whatever reason."""
    log = late_log(60, 150.0)
    now_s = 200.0 * 59 + 300
    state = {"time_s": now_s, "running": RUNNING.clear(), "queued": QUEUED.clear()}
    mine = pl.DataFrame({"job_id": [1], "node_count": [1], "walltime_s": [100.0]})
    assert predicted(state, mine, history=log)["q50"].to_list() == [0.0]
    moved = predicted(state, mine, history=log, recalibrate=50)
    assert moved.select("q05", "q50", "q95").row(0) == pytest.approx((150.0, 150.0, 150.0))
    assert moved["mean_wait_s"].to_list() == [0.0], "means and shares are those of the forks"
    assert predicted(state, mine, history=log, recalibrate=19)["q50"].to_list() == [0.0], "too few"
    levels = {"levels": [0.95, 0.05, 0.5]}
    assert predicted(state, mine, history=log, recalibrate=50, **levels).columns[1:4] == ["q95", "q05", "q50"]
    waiting = {**state, "queued": mine.with_columns(submit_s=pl.lit(now_s - 2000.0))}
    assert predicted(waiting, history=log, recalibrate=50)["q05"][0] >= 2000.0, "it has waited for as long already"


def test_recalibration_is_of_predictions_that_were_made_before() -> None:
    """The same, asked one by one: each job that started last at its own submit, from what was known then."""
    rng = np.random.default_rng(5)
    jobs = pl.DataFrame(
        {
            "job_id": range(100, 160),
            "submit_s": np.sort(rng.uniform(0, 4000, 60)).round(),
            "runtime_s": rng.uniform(20, 300, 60).round(),
            "node_count": rng.integers(1, 3, 60),
        }
    ).with_columns(walltime_s=2 * pl.col("runtime_s"))
    starts = hs.simulate(hs.Workload.from_polars(jobs), MACHINE, "easy:order=shortest").jobs["start_s"]
    log, now_s = jobs.with_columns(observed_start_s=starts), 3500.0

    def state(at_s: float, before: pl.DataFrame) -> dict[str, Any]:
        start, end = pl.col("observed_start_s"), pl.col("observed_start_s") + pl.col("runtime_s")
        own = ["job_id", "submit_s", "node_count", "walltime_s"]
        running = before.filter((start < at_s) & (end > at_s)).select(*own, start_s=start)
        return {"time_s": at_s, "running": running, "queued": before.filter(start >= at_s).select(own)}

    mine = pl.DataFrame({"job_id": [1], "node_count": [2], "walltime_s": [100.0]})
    now = state(now_s, log.filter(pl.col("submit_s") < now_s))
    given: dict[str, Any] = {"history": log, "forks": 4, "seed": 7}
    found = predicted(now, mine, recalibrate=25, **given)
    last = log.filter(pl.col("observed_start_s") <= now_s).sort("observed_start_s", "job_id").tail(25)
    names, rows = ["q05", "q25", "q50", "q75", "q95"], []
    for job in last.iter_rows(named=True):
        at_s = job["submit_s"]
        earlier = log.filter(
            (pl.col("submit_s") < at_s) | ((pl.col("submit_s") == at_s) & (pl.col("job_id") < job["job_id"]))
        )
        alone = log.filter(job_id=job["job_id"]).select("job_id", "submit_s", "node_count", "walltime_s")
        rows.append(predicted(state(at_s, earlier), alone, **given).filter(job_id=job["job_id"]).select(names).row(0))
    raw = predicted(now, mine, **given)
    waits = last["observed_start_s"] - last["submit_s"]
    moved = hs.analysis.recalibrated(raw.select(names).to_numpy(), np.array(rows), waits)
    assert found.select(names).to_numpy() == pytest.approx(np.maximum(moved, (now_s - _submits(now, mine))[:, None]))
    later = pl.col("observed_start_s") + pl.col("runtime_s") > now_s
    other = log.with_columns(
        runtime_s=pl.when(later).then(pl.col("runtime_s") + 999).otherwise("runtime_s"),
        observed_start_s=pl.when(pl.col("observed_start_s") > now_s).then(9e5).otherwise("observed_start_s"),
    )
    assert predicted(now, mine, recalibrate=25, **{**given, "history": other}).equals(found), "nothing later counts"


def _submits(now: dict[str, Any], mine: pl.DataFrame) -> Any:
    """Submits of the jobs that are asked for."""
    return np.append(now["queued"]["submit_s"].to_numpy(), [now["time_s"]] * len(mine))

"""Restarts from the observed state, by hand; and what they do not go with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import hetsched as hs
from hetsched.resources import frame_of
from hetsched.run.options import RunOptions
from hetsched.run.restarts import Restarts
from hetsched.run.simulation import Run, engine_of

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

JOBS = {
    "job_id": [1, 2, 3, 4],
    "submit_s": [0.0, 10.0, 20.0, 130.0],
    "runtime_s": [400.0, 50.0, 60.0, 30.0],
    "walltime_s": [500.0, 90.0, 90.0, 40.0],
    "node_count": [1, 2, 1, 1],
    "observed_start_s": [0.0, 400.0, 450.0, 140.0],
}
PLATFORM = hs.Platform.homogeneous(2, idle_w=100, tdp_w=300)


def log(**columns: Any) -> hs.Workload:
    return hs.Workload.from_polars(pl.DataFrame({**JOBS, **columns}))


def ahead(workload: hs.Workload, platform: hs.Platform = PLATFORM, **options: Any) -> hs.Validation:
    return hs.validate(workload, platform, warmup_s=0, cooldown_s=0, **{"horizon_s": 100, **options})


def test_each_restart_begins_with_what_the_log_saw() -> None:
    # At 0 s job 1 runs until 400 s and is planned until 500 s: job 2 is reserved for, job 3 is backfilled at once. At
    # 100 s jobs 2 and 3 wait in the log, so job 3 takes the free node until 160 s, and job 4 starts then.
    found = ahead(log())
    assert found.jobs["start_s"].to_list() == [400.0, 20.0, 160.0]
    assert (found.scores["restarts"], found.scores["overfull"], found.scores["jobs"]) == (2, 0, 3)
    assert found.scores["outside_window"] == 1, "the first job is submitted after no restart"
    assert found.scores["utilization_mae"] is None
    assert found.series.is_empty()


def test_a_running_job_ends_when_it_did_and_is_planned_by_walltime() -> None:
    found = ahead(log(observed_end_s=[150.0, 450.0, 510.0, 170.0]))
    assert found.jobs["start_s"].to_list() == [150.0, 20.0, 150.0]


def test_who_does_not_fit_among_the_running_is_left_out_and_counted() -> None:
    found = ahead(log(observed_start_s=[0.0, 50.0, 60.0, 140.0], observed_end_s=[400.0, 500.0, 900.0, 170.0]))
    # At 100 s jobs 1, 2 and 3 run on four nodes of two: 2 has no room next to 1, 3 has.
    assert found.scores["overfull"] == 1
    assert found.jobs["start_s"].to_list() == [400.0, 20.0, 400.0]


def test_a_job_that_waits_for_one_that_is_over_waits_for_none() -> None:
    jobs = log(
        depends_on=[None, None, None, 1], observed_start_s=[0.0, 50.0, 450.0, 140.0], runtime_s=[40.0, 50.0, 60.0, 30.0]
    )
    assert ahead(jobs).jobs["start_s"].to_list() == [80.0, 20.0, 130.0]


def test_the_table_has_a_row_a_horizon() -> None:
    found = ahead(log(), horizon_s=[100, None, 1000])
    assert found.horizons is not None
    assert found.horizons["horizon_s"].to_list() == [100.0, None, 1000.0]
    assert found.horizons["restarts"].to_list() == [2, None, 1]
    assert found.horizons["jobs"].to_list() == [3, 4, 3]
    assert found.scores["log_error"] == found.horizons["log_error"][0]
    assert found.scores["sees_observed"] is True
    assert found.notes[0].startswith("runs began every 100 s and 1000 s from what the log observed")
    assert found.to_dict()["horizons"] == found.horizons.to_dicts()


def test_the_open_loop_first_keeps_its_scores() -> None:
    found, plain = ahead(log(), horizon_s=[None, 100]), ahead(log(), horizon_s=None)
    assert found.scores == {**plain.scores, "sees_observed": True}
    assert found.jobs.equals(plain.jobs)
    assert plain.horizons is None
    assert plain.scores["sees_observed"] is False


@pytest.mark.parametrize("backfill", ["reservations", "plan"])
@pytest.mark.parametrize("budget_w", [None, 1000])
def test_jobs_under_way_keep_others_off_the_nodes_of_their_queue(backfill: str, budget_w: float | None) -> None:
    queues = [hs.Queue("a", nodes=[2]), hs.Queue("b", nodes=[1])]
    platform = hs.Platform.homogeneous(3, idle_w=100, tdp_w=300, queues=queues)
    jobs = log(queue=["a", "b", "b", "b"], node_count=[1, 1, 1, 1])
    power = None if budget_w is None else {"name": "system-budget", "budget_w": budget_w}
    policy = hs.Policy("fcfs", backfill, power=power)
    found = hs.validate(jobs, platform, policy, horizon_s=100, warmup_s=0, cooldown_s=0, baseline=None)
    # Of queue b all but one wait for node 1, in order.
    assert found.jobs["start_s"].to_list() == [10.0, 60.0, 210.0]


def test_a_job_under_way_is_on_the_node_that_the_log_names() -> None:
    """Under a budget the nodes that serve are counted from 0: node 2 is the second of them."""
    platform = hs.Platform.homogeneous(3, idle_w=100, tdp_w=300, queues=[hs.Queue("a", nodes=[1, 2])])
    power = {"name": "system-budget", "budget_w": 1000}
    jobs = log(queue=["a"] * 4, observed_nodes=[[2], None, None, None])
    restarts = Restarts.of(Run(jobs, platform, hs.Policy("fcfs", "reservations", power=power), RunOptions()))
    engine = engine_of(replace(restarts.setting, workload=restarts.setting.workload), from_s=5.0)
    engine.step_until(None)
    rows = frame_of(engine.take_records().take_jobs()).select("start_s", "nodes").rows()
    assert rows[:2] == [(0.0, [2]), (400.0, [1, 2])]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon_s": 0}, r"horizon_s: found `0`, expected a number between 1 and 1e\+09"),
        ({"horizon_s": []}, "expected seconds, or None for the open loop"),
        ({"horizon_s": [100, 100.0]}, "expected each value once"),
        ({"horizon_s": "1h"}, "horizon_s: found "),
        ({"predictor": "ideal"}, "predictor: found a value, expected none"),
        ({"until_s": 5.0}, "until_s: found a value, expected none"),
        ({"policy": "replay"}, "found `replay`, expected a policy that decides"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.ConfigError, match=message):
        ahead(log(), **options)


def test_a_result_has_no_horizon() -> None:
    result = hs.simulate(log(), PLATFORM)
    with pytest.raises(hs.ConfigError, match="horizon_s"):
        hs.validate(result, horizon_s=3600)  # type: ignore[call-overload]


def test_some_job_has_to_be_submitted_after_the_first_instant() -> None:
    with pytest.raises(hs.ConfigError, match="horizon_s: found no job that counts after the first submit"):
        ahead(log(submit_s=[0.0] * 4))


def test_progress_is_shown_of_the_restarts_of_both_policies() -> None:
    """Runs of so few jobs are over before they say anything."""
    found: list[tuple[float, float]] = []
    ahead(log(), policy="fcfs", progress=lambda done, total: found.append((done, total)))
    assert found == [(1, 2), (2, 2)] * 2
    with pytest.raises(hs.ConfigError, match="progress: found"):
        ahead(log(), progress="dots")


def test_progress_is_shown_of_a_long_run() -> None:
    count = 400_000
    submits = [float(k) for k in range(count)]
    jobs = {"job_id": range(count), "submit_s": submits, "runtime_s": [1.0] * count, "node_count": [1] * count}
    workload = hs.Workload.from_polars(pl.DataFrame({**jobs, "observed_start_s": submits}))
    found: list[tuple[float, float]] = []
    hs.validate(workload, PLATFORM, progress=lambda done, total: found.append((done, total)))
    assert found
    assert all(0 < done <= total == count for done, total in found)

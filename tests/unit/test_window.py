"""A run measured over a part of it: integrals over the window, and the jobs submitted in it."""

import polars as pl
import pytest
from hypothesis import assume, given

import hetsched as hs
from hetsched.analysis import measured
from hetsched.analysis.window import MEASURED
from hetsched.testing import platforms, workloads


def small_run():
    # Two nodes, 100 W idle and 300 W busy. Job 1: both nodes 0 to 100. Job 2 waits from 50 to 100, one node to 200.
    # Job 3, submitted at 150, runs next to it until 180. Job 4 comes at 400 and runs until 500.
    jobs = {
        "job_id": [1, 2, 3, 4],
        "submit_s": [0.0, 50.0, 150.0, 400.0],
        "runtime_s": [100.0, 100.0, 30.0, 100.0],
        "node_count": [2, 1, 1, 2],
    }
    return hs.simulate(hs.Workload.from_polars(pl.DataFrame(jobs)), hs.Platform.homogeneous(2, idle_w=100, tdp_w=300))


def test_a_window_by_hand():
    found = measured(small_run(), from_s=50, until_s=190)
    # 50 s of 600 W, 50 s of 400 W, 30 s of 600 W, 10 s of 400 W; 2, 1, 2 and 1 nodes busy.
    assert found["energy_j"] == 50 * 600 + 50 * 400 + 30 * 600 + 10 * 400
    assert found["mean_power_w"] == found["energy_j"] / 140
    assert found["peak_power_w"] == 600
    assert found["utilization_ratio"] == (2 * 50 + 50 + 2 * 30 + 10) / (2 * 140)
    assert (found["jobs"], found["completed"], found["warm_up_jobs"], found["cool_down_jobs"]) == (2, 2, 1, 1)
    assert (found["mean_wait_s"], found["max_wait_s"]) == (25.0, 50.0)
    # Jobs 1 and 3 end in it, job 2 at 200.
    assert found["throughput_jobs_per_hour"] == 2 * 3600 / 140
    assert measured(small_run(), from_s=210, until_s=390)["peak_power_w"] == 200
    assert measured(small_run(), from_s=210, until_s=390)["jobs"] == 0


@pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
@given(workloads(), platforms())
def test_the_whole_run_is_measured_as_its_summary_says(workload, platform):
    result = hs.simulate(workload, platform)
    times = result.timeline["time_s"]
    # A job that is refused may come after the last end.
    assume(len(times) > 1 and result.jobs["submit_s"].max() <= times[-1])
    found, summary = measured(result, from_s=times[0], until_s=times[-1]), result.summary()
    assert found["budget_w"] is summary["budget_w"] is None
    # A job of length zero draws at an instant that no row of the timeline shows.
    assert found["peak_power_w"] <= summary["peak_power_w"]
    for key in set(MEASURED) - {"budget_w", "peak_power_w"}:
        assert found[key] == pytest.approx(summary[key], rel=1e-9, abs=1e-9), key
    middle = (times[0] + times[-1]) / 2
    halves = [measured(result, from_s=a, until_s=b) for a, b in ((times[0], middle), (middle, times[-1]))]
    assert sum(half["energy_j"] for half in halves) == pytest.approx(summary["energy_j"], rel=1e-9)


@pytest.mark.parametrize(("from_s", "until_s"), [(-1, 100), (200, 200), (200, 100), ("0", 100), (0, float("inf"))])
def test_a_window_lies_within_the_run(from_s, until_s):
    with pytest.raises(hs.ConfigError, match=r"^(from|until)_s: found"):
        measured(small_run(), from_s=from_s, until_s=until_s)


def test_the_machine_is_idle_after_the_last_end():
    assert measured(small_run(), from_s=490, until_s=510)["energy_j"] == 10 * 600 + 10 * 200


def test_a_run_that_was_stopped_is_not_measured_beyond_that():
    workload = hs.Workload.from_polars(
        pl.DataFrame({"job_id": [1, 2], "submit_s": [0.0, 900.0], "runtime_s": [100.0, 9.0], "node_count": [1, 1]})
    )
    stopped = hs.simulate(workload, hs.Platform.homogeneous(2, idle_w=100, tdp_w=300), until_s=50)
    assert measured(stopped, from_s=0, until_s=50)["energy_j"] == 50 * 400
    with pytest.raises(hs.ConfigError, match="until_s: found `60`, expected a number between 0 and 50"):
        measured(stopped, from_s=0, until_s=60)


def test_a_run_in_which_nothing_started_is_an_idle_machine():
    nothing = pl.DataFrame({"job_id": [1], "submit_s": [0.0], "runtime_s": [100.0], "node_count": [3]})
    workload, platform = hs.Workload.from_polars(nothing), hs.Platform.homogeneous(2, idle_w=100, tdp_w=300)
    found = measured(hs.simulate(workload, platform), from_s=0, until_s=60)
    assert (found["rejected"], found["energy_j"], found["mean_wait_s"]) == (1, 60 * 200, 0.0)
    with pytest.raises(hs.ConfigError, match="result: found `a run of no jobs`"):
        measured(hs.simulate(workload.head(0), platform), from_s=0, until_s=60)

"""Laws of scores against observed starts (rule 23 of validation)."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

NODES = 16


def platform(nodes: int = NODES) -> hs.Platform:
    return hs.Platform.homogeneous(nodes, idle_w=100, tdp_w=300)


def log(seed: int = 0, jobs: int = 600) -> pl.DataFrame:
    """Five weeks of jobs; what a scheduler observed is added by the tests."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "job_id": np.arange(jobs),
            "submit_s": np.sort(rng.integers(0, 5 * 604_800, jobs)).astype(float),
            "runtime_s": rng.integers(60, 30_000, jobs).astype(float),
            "node_count": rng.integers(1, 9, jobs),
            "user": rng.choice(["ann", "bo", "cy", "di"], jobs),
            "queue": rng.choice(["long", "short"], jobs),
        }
    )


def observed(jobs: pl.DataFrame, policy: str = "easy", nodes: int = NODES) -> hs.Workload:
    """The jobs with the starts that a policy gives them as observed."""
    result = hs.simulate(hs.Workload.from_polars(jobs), platform(nodes), policy)
    starts = result.jobs.select("job_id", pl.col("start_s").alias("observed_start_s"))
    return hs.Workload.from_polars(jobs.join(starts, on="job_id", maintain_order="left"))


def test_a_schedule_that_is_observed_has_no_error() -> None:
    found = hs.validate(observed(log()), platform()).scores
    zero = ("log_error", "ks", "wasserstein_s", "wasserstein_log", "bias_s", "utilization_mae", "queue_mae_jobs")
    assert [found[name] for name in zero] == [0] * len(zero)
    one = ("within_1m", "within_10m", "waited_within_1h", "skill_null", "skill_naive", "skill_best", "spearman")
    assert [found[name] for name in one] == pytest.approx([1] * len(one))


def test_starting_every_job_at_once_is_the_null() -> None:
    found = hs.validate(observed(log()), platform(10_000)).scores
    assert found["log_error"] == found["null_log_error"]
    assert found["skill_null"] == 0.0
    assert found["waited_within_10m"] == found["null_waited_within_10m"]


def test_scores_do_not_depend_on_ids_and_whole_weeks() -> None:
    workload, week = observed(log(), "fcfs"), 604_800.0
    other = workload.to_polars().with_columns(
        pl.col("job_id") * 7 + 5, pl.col("submit_s") + 3 * week, pl.col("observed_start_s") + 3 * week
    )
    first, second = (hs.validate(one, platform()).scores for one in (workload, hs.Workload.from_polars(other)))
    for name, value in first.items():
        assert second[name] == (value if value is None else pytest.approx(value, rel=1e-9)), name


def test_a_job_without_an_observed_start_changes_its_count_alone() -> None:
    workload = observed(log(), "fcfs")
    blind = workload.to_polars().with_columns(
        pl.when(pl.col("job_id") != 300).then("observed_start_s").alias("observed_start_s")
    )
    # The last job that counts in no prediction of others: it started after the last submit that counts.
    cuts = {"warmup_s": 0.0, "cooldown_s": 0.0}
    result = hs.simulate(hs.Workload.from_polars(blind), platform())
    found = hs.validate(result, **cuts)
    assert found.scores["no_observed_start"] == 1
    kept = hs.validate(hs.simulate(workload, platform()), **cuts).jobs.filter(pl.col("job_id") != 300)
    assert found.jobs["log_error"].to_list() == kept["log_error"].to_list()
    assert found.scores["jobs"] == len(kept)


@pytest.mark.parametrize("nodes", [NODES, 2 * NODES])
def test_no_policy_explains_random_waits(nodes: int) -> None:
    """Rule 23: observed waits are permuted among jobs."""
    jobs = observed(log()).to_polars()
    waits = np.random.default_rng(1).permutation((jobs["observed_start_s"] - jobs["submit_s"]).to_numpy())
    random = hs.Workload.from_polars(jobs.with_columns((jobs["submit_s"] + waits).alias("observed_start_s")))
    skill = hs.validate(random, platform(nodes)).scores["skill_best"]
    assert skill is not None
    assert skill <= 0.02


def test_a_replay_says_that_it_was_given_the_starts() -> None:
    found = hs.validate(observed(log()), platform(), "replay")
    assert found.scores["sees_observed"] is True
    assert found.notes[0].startswith("the policy was given the observed starts")
    assert found.baseline is not None
    assert found.baseline.scores["sees_observed"] is False


def test_jobs_that_never_start_are_scored_at_the_end() -> None:
    workload = observed(log(jobs=300))
    result = hs.simulate(workload, platform(7), until_s=None)
    found = hs.validate(result, warmup_s=0, cooldown_s=0)
    rejected = result.jobs.filter(pl.col("start_s").is_null())
    assert found.scores["unstarted"] == len(rejected) > 0
    assert "never started" in found.notes[0]
    last_s = result.timeline["time_s"][-1]
    own = found.jobs.filter(pl.col("start_s").is_null())
    assert (own["simulated_s"] == last_s - own["submit_s"]).all()


def test_measured_power_of_the_run_itself_has_no_error() -> None:
    result = hs.simulate(observed(log()), platform())
    steps = result.timeline.select("time_s", "power_w")
    # As a meter reads it, every ten minutes.
    times = np.arange(math.ceil(steps["time_s"][0] / 600) * 600, steps["time_s"][-1], 600.0)
    place = np.searchsorted(steps["time_s"].to_numpy(), times, side="right") - 1
    read = pl.DataFrame({"time_s": times, "power_w": steps["power_w"].to_numpy()[place]})
    exact = steps.filter(pl.col("time_s").diff().fill_null(1) > 0)
    found = hs.validate(result, power=read).scores
    assert found["power_mape_percent"] < 5 < found["constant_mape_percent"]
    assert abs(found["energy_error_percent"]) < 1
    # Hours in which nothing changes for longer than a value holds are not covered by the steps themselves.
    hours = hs.validate(result, power=exact).power
    assert hours is not None
    assert hours["simulated_w"].to_list() == pytest.approx(hours["observed_w"].to_list())


def test_logs_without_observed_starts_are_refused() -> None:
    with pytest.raises(hs.ConfigError, match="observed_start_s"):
        hs.validate(hs.Workload.from_polars(log()), platform())
    result = hs.simulate(observed(log()), platform())
    with pytest.raises(hs.ConfigError, match="which is a run already"):
        hs.validate(result, platform())
    with pytest.raises(hs.ConfigError, match="no job is submitted in the time that is left"):
        hs.validate(result, warmup_s=1e9)

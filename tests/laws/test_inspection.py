"""Laws of what a log says of its machine (rule 34 of validation)."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

NODES = 32


def log(seed: int) -> hs.Workload:
    """A log of a month that EASY made on a machine without limits, with queues of jobs that wait."""
    rng, jobs = np.random.default_rng(seed), 4000
    runtime = np.exp(rng.normal(8, 1.5, jobs)).clip(10, 90_000).round(1)
    size = 2 ** rng.integers(0, 6, jobs)
    span = (runtime * size).sum() / NODES / 0.8
    frame = pl.DataFrame(
        {
            "job_id": np.arange(jobs),
            "submit_s": np.sort(rng.random(jobs) * span).round(1),
            "runtime_s": runtime,
            "walltime_s": (runtime * rng.uniform(1, 4, jobs)).round(),
            "node_count": size,
            "user": rng.choice([f"u{k}" for k in range(12)], jobs),
        }
    )
    result = hs.simulate(hs.Workload.from_polars(frame), platform(), "easy")
    starts = result.jobs.select("job_id", pl.col("start_s").alias("observed_start_s"))
    return hs.Workload.from_polars(frame.join(starts, on="job_id", maintain_order="left"))


def platform() -> hs.Platform:
    return hs.Platform.homogeneous(NODES, idle_w=100, tdp_w=300)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rule_34_a_log_of_easy_suggests_nothing_but_the_machine(seed: int) -> None:
    workload = log(seed)
    for machine in (platform(), None):
        found = hs.inspect(workload, machine)
        shown = found.findings.drop_nulls("suggestion")
        assert shown.select("finding", "value").rows() == [("machine", NODES)]
        assert found.settings == {"nodes": NODES}
        assert len(found.events) == 0
    waited = workload.to_polars().filter(pl.col("observed_start_s") - pl.col("submit_s") > 60)
    assert len(waited) > 1000, "the law is about a log with queues"


def test_a_log_is_not_read_beyond_a_horizon() -> None:
    """Events after `until_s` change nothing."""
    jobs = log(0).to_polars()
    until_s = 1_000_000.0
    later = pl.col("observed_start_s") >= until_s
    ends = pl.col("observed_start_s") + pl.col("runtime_s") > until_s
    other = jobs.with_columns(
        observed_start_s=pl.when(later).then(pl.col("observed_start_s") + 5000).otherwise("observed_start_s"),
        runtime_s=pl.when(ends).then(pl.col("runtime_s") + 700).otherwise("runtime_s"),
    )
    first, second = (hs.inspect(hs.Workload.from_polars(one), until_s=until_s) for one in (jobs, other))
    assert first.findings.equals(second.findings)
    assert not first.findings.equals(hs.inspect(hs.Workload.from_polars(jobs)).findings)


def test_an_outage_is_found_and_is_an_event_of_maintenance() -> None:
    """A machine that was down for two hours, in which small jobs queued."""
    rng, (begin, end) = np.random.default_rng(0), (500_000.0, 507_200.0)
    submit = np.sort(rng.uniform(0, 1_000_000, 4000)).round()
    runtime = np.minimum(rng.uniform(60, 600, 4000).round(), np.where(submit < begin, begin - submit, 600))
    start = np.where((submit >= begin) & (submit < end), end, submit)
    columns = {"job_id": np.arange(4000), "submit_s": submit, "observed_start_s": start, "runtime_s": runtime}
    frame = pl.DataFrame({**columns, "node_count": 1, "user": rng.choice(["ann", "bo", "cy"], 4000)})
    found = hs.inspect(hs.Workload.from_polars(frame.filter(pl.col("runtime_s") > 0)), platform())
    row = found.findings.filter(pl.col("finding") == "outage").row(0, named=True)
    assert (row["subject"], row["until_s"]) == ("down", end)
    assert begin - 1000 < row["from_s"] <= begin
    events = found.events.to_polars()
    assert events["node"].sort().to_list() == list(range(NODES))
    assert events["kind"].unique().to_list() == ["maintenance"]
    assert events["until_s"].unique().to_list() == [end]


def test_logs_without_observed_starts_are_refused() -> None:
    with pytest.raises(hs.ConfigError, match="observed_start_s"):
        hs.inspect(hs.Workload.from_polars(log(0).to_polars().drop("observed_start_s")))
    with pytest.raises(hs.ConfigError, match="no such job before until_s"):
        hs.inspect(log(0), until_s=-1.0)
    with pytest.raises(hs.ConfigError, match="until_s"):
        hs.inspect(log(0), until_s=float("nan"))

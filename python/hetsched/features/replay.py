"""Policies that repeat the log: what it has to say of each job, and what could not be repeated."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from hetsched.checks import Faults, many
from hetsched.errors import ReplayWarning
from hetsched.features.feature import AnySetting, Ended, Found, Setting
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.concerns import Concern


def check_log(run: Setting) -> None:
    """Raise if the policy repeats what the log does not say, or what the platform has no nodes for."""
    faults, frame = Faults("workload"), run.workload.to_polars()
    if run.needs("observed_starts"):
        _check_starts(frame, run.policy, faults)
    if run.needs("observed_nodes") and "observed_nodes" in frame.columns:
        _check_nodes(frame, run.platform, faults)
    faults.check()


def settle(run: AnySetting) -> AnySetting:
    """The run with options that hold in a replay."""
    return replace(run, options=run.options.under(run.policy))


def after(ended: Ended) -> Found:
    """Jobs that started late or were left out."""
    policy = ended.setting.policy
    if not policy._repeats_log:
        return Found()
    counts = {name: ended.totals[name] for name in ("late_starts", "left_out_jobs")}
    return Found(_concerns(policy, **counts), {"replay": counts})


def _check_starts(frame: pl.DataFrame, policy: Policy, faults: Faults) -> None:
    expected = f"when each job started, in seconds: policy {policy.name} repeats it"
    if "observed_start_s" not in frame.columns:
        faults.note("observed_start_s", "no such column", expected)
    elif len(frame) and frame["observed_start_s"].null_count() == len(frame):
        faults.note("observed_start_s", "nulls only", expected)


def _check_nodes(frame: pl.DataFrame, platform: Platform, faults: Faults) -> None:
    highest = frame.select(pl.col("observed_nodes").list.max().alias("node"), "job_id")
    beyond = highest.filter(pl.col("node") >= platform.nodes)
    expected = f"nodes below {platform.nodes}, the platform's; replay:placement=lowest-id takes others"
    found = (f"node {node} of job {job}" for node, job in beyond.iter_rows())
    faults.some("observed_nodes", found, len(beyond), expected)


def _concerns(policy: Policy, late_starts: int, left_out_jobs: int) -> list[Concern]:
    """Concern that a replay is not what happened in reality."""
    said = []
    if late_starts:
        verb = "starts" if late_starts == 1 else "start"
        said.append(f"{many(late_starts, 'job')} {verb} later than in the log: the needed nodes were not free then")
    if left_out_jobs:
        verb = "stays" if left_out_jobs == 1 else "stay"
        said.append(f"{many(left_out_jobs, 'job')} without an observed start {verb} pending")
    return [Concern(ReplayWarning, policy.name, "; ".join(said))] if said else []

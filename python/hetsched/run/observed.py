"""Policies that repeat a log: what they need of it, and what they could not keep.

The log's starts and nodes are columns of the workload; the parts of these policies are the engine's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from hetsched.checks import Faults
from hetsched.errors import ReplayWarning
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.concerns import Concern
from hetsched.text import many
from hetsched.workload import Workload


def is_replay(policy: Policy) -> bool:
    """Whether no job starts before it did in reality."""
    return "backfill" in policy.needs.get("observed_starts", ())


def check_observed(policy: Policy, workload: Workload, platform: Platform) -> None:
    """Raise if the policy repeats what the log does not say, or what the platform has no nodes for."""
    faults, frame = Faults("workload"), workload.to_polars()
    if "observed_starts" in policy.needs:
        _check_starts(frame, policy, faults)
    if "observed_nodes" in policy.needs and "observed_nodes" in frame.columns:
        _check_nodes(frame, platform, faults)
    faults.check()


def _check_starts(frame: pl.DataFrame, policy: Policy, faults: Faults) -> None:
    expected = f"when each job started, in seconds: policy {policy.name} repeats it"
    if "observed_start_s" not in frame.columns:
        faults.note("observed_start_s", "no such column", expected)
    elif len(frame) and frame["observed_start_s"].null_count() == len(frame):
        faults.note("observed_start_s", "nulls only", expected)


_MOST_FAULTS = 10


def _check_nodes(frame: pl.DataFrame, platform: Platform, faults: Faults) -> None:
    highest = frame.select("job_id", pl.col("observed_nodes").list.max().alias("node"))
    beyond = highest.filter(pl.col("node") >= platform.nodes)
    expected = f"nodes below {platform.nodes}, the platform's; replay:placement=lowest-id takes others"
    for job, node in beyond.head(_MOST_FAULTS).iter_rows():
        faults.note("observed_nodes", f"node {node} of job {job}", expected)
    if len(beyond) > _MOST_FAULTS:
        faults.note("observed_nodes", f"{len(beyond) - _MOST_FAULTS:,} more such jobs", expected)


def replay_counts(policy: Policy, totals: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """A replay's part of a result's provenance: jobs that start later than they did, and jobs left out."""
    return {"replay": {name: totals[name] for name in ("late_starts", "left_out_jobs")}} if is_replay(policy) else {}


def concerns_of_replay(policy: Policy, totals: Mapping[str, Any]) -> list[Concern]:
    """That a replay is not what happened in reality."""
    counts = replay_counts(policy, totals).get("replay", {})
    late, left_out = counts.get("late_starts", 0), counts.get("left_out_jobs", 0)
    said = []
    if late:
        verb = "starts" if late == 1 else "start"
        said.append(f"{many(late, 'job')} {verb} later than in reality: what they need was not free then")
    if left_out:
        said.append(f"{many(left_out, 'job')} without an observed start {'stays' if left_out == 1 else 'stay'} pending")
    return [Concern(ReplayWarning, policy.name, "; ".join(said))] if said else []

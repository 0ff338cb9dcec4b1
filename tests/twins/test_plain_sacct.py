"""The reader of sacct against its slow twin, on dumps made by chance."""

from __future__ import annotations

import math
from datetime import timezone
from typing import Any
from zoneinfo import ZoneInfo

import hypothesis.strategies as st
import plain_sacct
from hypothesis import HealthCheck, example, given, settings
from sacct_dumps import Dump

import hetsched as hs

SAME = {
    "job_id": "job_id",
    "log_id": "log_id",
    "submit_s": "submit_s",
    "runtime_s": "runtime_s",
    "node_count": "nodes",
    "start_at_s": "start_at_s",
    "walltime_s": "walltime_s",
    "cancel_s": "cancel_s",
    "observed_start_s": "start_s",
    "observed_end_s": "observed_end_s",
    "observed_energy_j": "energy_",
    "power_w": "power",
    "suspended_s": "suspended_s",
    "memory_gb": "memory_gb",
    "gpus": "gpus",
    "cpus": "cpus",
    "restarts": "restarts",
    "array_id": "array_id",
    "array_limit": "array_limit",
    "het_id": "het_id",
    "trace_status": "status",
    "trace_state": "state",
    "observed_nodes": "observed_nodes",
    "observed_segments": "segments",
    "user": "user_",
    "account": "account",
    "qos": "qos",
    "app": "jobname",
    "priority": "priority",
    "constraint": "constraint_",
    "licences": "licences_",
}


def is_same(own: Any, other: Any) -> bool:
    if isinstance(own, float) and isinstance(other, float | int):
        return math.isclose(own, other, rel_tol=1e-12)
    return bool(own == other)


def compare(dump: Dump, *, skip: bool, drop: bool) -> None:
    zone = timezone.utc if dump.zone == "UTC" else ZoneInfo(dump.zone)
    how: dict[str, Any] = {"on_bad_line": "skip" if skip else "error", "cancelled": "drop" if drop else "keep"}
    try:
        twin = plain_sacct.read(dump.text, zone, skip=skip, drop=drop)
    except plain_sacct.BadError:
        twin = None
    refused = twin is None or not twin.jobs
    try:
        workload = hs.read_sacct(dump.text.encode(), time_zone=dump.zone, **how)
    except hs.TraceError:
        workload = None
    assert (workload is None) == refused
    if workload is None or twin is None:
        return
    report = workload.report
    told = {name: count for name, count in report.items() if isinstance(count, int)}
    for name, count in twin.counts.items():
        assert told.get(name, 0) == count, f"{name}: {told.get(name, 0)}, not {count}"
    assert report["node_names"] == twin.names
    jobs = workload.to_polars().to_dicts()
    for own, job in zip(jobs, twin.jobs, strict=True):
        for column, name in SAME.items():
            value, other = own.get(column), job.get(name)
            other = None if other == "" else other
            assert is_same(value, other), f"{own['log_id']}, {column}: {value}, not {other}"
    drops = ("pending", "duplicate", "no_size", "no_submit", "revoked", "never_ran")
    gone = sum(told.get(name, 0) for name in ["steps", "merged", "bad_lines", *(f"dropped_{why}" for why in drops)])
    assert told["jobs"] == told["rows"] - gone + told.get("expanded", 0)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**40), skip=st.booleans(), drop=st.booleans())
@example(seed=1, skip=True, drop=False)
def test_the_reader_agrees_with_its_twin(seed: int, skip: bool, drop: bool) -> None:
    compare(Dump(seed), skip=skip, drop=drop)

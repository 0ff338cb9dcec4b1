"""Dumps of a real cluster: what is known of them, and the same jobs from text and from JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hetsched as hs

DUMPS = Path(__file__).parents[2].parent / "shared" / "slurm" / "dumps"
pytestmark = pytest.mark.skipif(not DUMPS.exists(), reason="no dumps here")
DROPS = [f"dropped_{why}" for why in ("pending", "duplicate", "no_size", "no_submit", "revoked", "never_ran")]


def counts(workload: hs.Workload) -> dict[str, int]:
    report = workload.report
    gone = sum(report.get(name, 0) for name in ["steps", "merged", "bad_lines", *DROPS])
    assert report["jobs"] == report["rows"] - gone + report.get("expanded", 0)
    return {name: count for name, count in report.items() if isinstance(count, int) and count}


def by_name(workload: hs.Workload) -> dict[str, dict[str, Any]]:
    return {job["log_id"]: job for job in workload.to_polars().to_dicts()}


def test_the_first_run() -> None:
    workload = hs.read_sacct(DUMPS / "first.txt")
    found, jobs = counts(workload), by_name(workload)
    assert workload.report["node_names"] == [f"n{number}" for number in range(1, 9)]
    assert found["het_components"] == 2
    assert "bad_lines" not in found
    assert found["repaired_separators"] > 0
    assert any("|" in (job["app"] or "") for job in jobs.values())
    never = jobs["38"]
    assert (never["runtime_s"], never["trace_state"], never["observed_start_s"]) == (0.0, "CANCELLED", None)
    assert jobs["7"]["observed_nodes"] == [1, 2, 4, 5]
    assert jobs["23+1"]["job_id"] == 24


def test_the_first_run_without_a_header() -> None:
    columns = "JobIDRaw,User,Partition,State,Submit,Start,End,TimelimitRaw,NNodes,ReqMem"
    bare = hs.read_sacct(DUMPS / "first-noheader.txt", columns=columns).to_polars()
    whole = hs.read_sacct(DUMPS / "first.txt").to_polars()
    both = whole.join(bare, on="job_id", how="inner", suffix="_bare")
    assert len(both) == len(bare)
    for column in ("node_count", "walltime_s", "user", "memory_gb"):
        assert both[column].equals(both[f"{column}_bare"], check_names=False), column


def test_text_and_json_give_the_same_jobs() -> None:
    text = by_name(hs.read_sacct(DUMPS / "second-chicago.txt", time_zone="America/Chicago"))
    workload = hs.read_sacct(DUMPS / "second.json")
    same = "submit_s runtime_s node_count walltime_s user queue app trace_status trace_state observed_start_s"
    # The JSON is the first part of the dump: of jobs that were requeued it may lack the last attempt.
    whole = {
        name: job
        for name, job in by_name(workload).items()
        if int(name.split("_")[0].split("+")[0]) not in range(145, 150)
    }
    whole = {
        name: job for name, job in whole.items() if job["trace_state"] not in ("REQUEUED", "RESIZING", "NODE_FAIL")
    }
    assert len(whole) > 20
    for name, job in whole.items():
        for column in [
            *same.split(),
            "power_w",
            "observed_energy_j",
            "array_id",
            "het_id",
            "gpus",
            "suspended_s",
            "cpus",
        ]:
            assert job.get(column) == text[name].get(column), f"{name}, {column}"


def test_the_second_run() -> None:
    workload = hs.read_sacct(DUMPS / "second-chicago.txt", time_zone="America/Chicago")
    found, jobs = counts(workload), by_name(workload)
    assert found["requeued"] >= 4
    assert found["resized"] == 1
    assert (jobs["188"]["node_count"], jobs["188"]["runtime_s"], jobs["188"]["restarts"]) == (3, 16.0, 0)
    assert jobs["189"]["observed_segments"] is not None
    assert jobs["97"]["power_w"] == pytest.approx(5649 / 21)

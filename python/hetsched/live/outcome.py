"""The result of a live run: real starts, ends and nodes, metered like any schedule that was made elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from hetsched.features.feature import Setting
from hetsched.live import decisions as do
from hetsched.live import notices as heard
from hetsched.live.clock import Clock
from hetsched.live.launchers import Launcher, attempt_folder
from hetsched.live.lines import Instant
from hetsched.live.plan import Plan
from hetsched.live.power import EnergyFile
from hetsched.live.reading import RealJobs
from hetsched.live.sealed import read_sealed
from hetsched.live.seams import Line
from hetsched.live.states import LOST, Ending, ending_of, killed_for
from hetsched.platform import Platform
from hetsched.run.metering import meter
from hetsched.run.result import Result

COLUMNS = {
    "exit_code": pl.Int64,
    "signal": pl.Int64,
    "attempts": pl.Int64,
    "cpu_s": pl.Float64,
    "max_rss_kb": pl.Int64,
}
"""Columns of jobs that only real runs have."""


@dataclass
class _Last:
    """The last run of a job, and how the job ended."""

    attempt: int = 0
    nodes: Sequence[int] = ()
    decided_us: int = 0
    ended_us: int | None = None
    state: str | None = None
    why: str = ""


def last_runs(instants: Iterable[Line]) -> dict[int, _Last]:
    """The last run of each job that is in a journal."""
    jobs: dict[int, _Last] = {}
    for instant in instants:
        for over in () if instant.snapshot is None else instant.snapshot.over:
            last = jobs.setdefault(over.job, _Last())
            if last.state is None:
                # It ended in the step that the controller began again in place of.
                last.state, last.ended_us = over.state, instant.t_us
        for notice in instant.notices:
            match notice:
                case heard.Submitted(job=job):
                    jobs.setdefault(job, _Last())
                case heard.Ended(job=job, attempt=attempt, state=state) if jobs[job].attempt == attempt:
                    jobs[job].state, jobs[job].ended_us = jobs[job].state or state, instant.t_us
                case heard.Withdrawn(job=job):
                    jobs.setdefault(job, _Last()).state = "cancelled"
                case heard.Requeued(job=job):
                    jobs[job].state = jobs[job].ended_us = None
        for decision in instant.decisions:
            match decision:
                case do.Start(job=job, attempt=attempt, nodes=nodes):
                    jobs[job] = _Last(attempt, nodes, instant.t_us)
                case do.Reject(job=job, why=why):
                    jobs[job].state, jobs[job].why = "rejected", why
                case do.Kill(job=job, why=why):
                    jobs[job].state, jobs[job].why = killed_for(why)
                    jobs[job].ended_us = instant.t_us
    return jobs


def steps_of(instants: Iterable[Instant], decide_within_s: float) -> dict[str, Any]:
    """The number of steps, of those that took longer than was given or were broken off, and the time of the longest."""
    instants = list(instants)
    took_ms = [instant.took_us / 1e3 for instant in instants if instant.took_us is not None]
    slow = sum(one > decide_within_s * 1e3 for one in took_ms)
    return {
        "count": len(took_ms),
        "slow": slow,
        "broken_off": sum(instant.broken_off for instant in instants),
        "decide_within_ms": decide_within_s * 1e3,
        "longest_ms": max(took_ms, default=0.0),
    }


def fallback_of(instants: Iterable[Instant]) -> dict[str, Any]:
    """The policy that took over, and since when, if one did."""
    changes = [(instant.policy, instant.t_us) for instant in instants if instant.policy is not None]
    return {"fallback": {"policy": changes[-1][0], "since_s": changes[-1][1] / 1e6}} if changes else {}


def rows_of(instants: Iterable[Line], folder: str, clock: Clock, launcher: Launcher) -> pl.DataFrame:
    """One row a job of the journal: when and where it ran last, and how that ended; nulls of one that never ran."""
    rows = [_row(job, last, folder, clock, launcher) for job, last in last_runs(instants).items()]
    seconds: dict[str, Any] = {"start_s": pl.Float64, "end_s": pl.Float64}
    known = {"job_id": pl.Int64, **seconds, "nodes": pl.List(pl.UInt32), "state": pl.String, "reason": pl.String}
    return pl.DataFrame(rows, schema={**known, **COLUMNS}, orient="row")


def _row(job: int, last: _Last, folder: str, clock: Clock, launcher: Launcher) -> dict[str, Any]:
    row: dict[str, Any] = {"job_id": job, "state": last.state, "reason": last.why or None}
    if not last.attempt or last.ended_us is None:
        return {**row, "attempts": last.attempt}
    own = attempt_folder(folder, job, last.attempt)
    ending, boot = _ending(own, launcher), (read_sealed(f"{own}/claim") or {}).get("boot", "")
    begin_us = None if ending.begin_us is None else clock.instant(boot, ending.begin_us)
    end_us = None if ending.end_us is None else clock.instant(boot, ending.end_us)
    start_us = last.decided_us if begin_us is None else begin_us
    found = asdict(ending)
    return {
        **row,
        "start_s": start_us / 1e6,
        "end_s": max(start_us, last.ended_us if end_us is None else end_us) / 1e6,
        "nodes": list(last.nodes),
        "reason": last.why or ending.reason or None,
        "attempts": last.attempt,
        **{name: found[name] for name in COLUMNS if name in found},
    }


def _ending(own: str, launcher: Launcher) -> Ending:
    record = read_sealed(f"{own}/exit")
    return Ending("failed", reason=LOST) if record is None else ending_of(record, launcher)


def result_in(folder: str, setting: Setting, plan: Plan, instants: Sequence[Instant]) -> Result:
    """The result of the run in a folder, as far as the lines of its journal go."""
    rows = rows_of(instants, folder, Clock.read(folder, boot=""), plan.started())
    jobs = RealJobs(setting.workload.to_polars().drop("runtime_s"), plan.commands, plan.source)
    more: dict[str, Any] = {
        "policy": setting.policy.to_dict(),
        "seed": setting.options.seed,
        "launcher": plan.launcher,
        "power": {"source": plan.power},
        **fallback_of(instants),
        "steps": steps_of(instants, plan.decide_within_s),
    }
    measured_j = EnergyFile(folder).total_j()
    if measured_j is not None:
        more["power"] = {"source": "rapl", "machine_j": measured_j}
    return result_of(jobs, setting.platform, rows, more, measured_j=measured_j)


def result_of(
    jobs: RealJobs,
    platform: Platform,
    rows: pl.DataFrame,
    more: Mapping[str, Any],
    *,
    measured_j: float | None = None,
) -> Result:
    """The frames of a result; `more` joins its provenance, the policy's among it.

    Energy is the platform's model of the nodes. What the machine's counters have measured, `measured_j`, is no node's:
    a column ``measured_j`` gives each job its part by CPU seconds.
    """
    rows = rows.filter(pl.col("job_id").is_in(jobs.frame["job_id"].to_list()))
    ran = rows.filter(pl.col("start_s").is_not_null())
    workload = jobs.ended(ran.select("job_id", runtime_s=pl.col("end_s") - pl.col("start_s")))
    # Limits were kept by the shims, with a time of grace that the walltime does not hold.
    metered = meter(workload, platform, ran.select("job_id", "start_s", "nodes", "end_s"), kill_at_walltime=False)

    def with_states() -> pl.DataFrame:
        own = rows.select("job_id", "state", "reason", *COLUMNS)
        if measured_j is not None:
            own = own.with_columns(measured_j=measured_j * pl.col("cpu_s") / pl.col("cpu_s").sum())
        joined = metered.jobs.join(own, on="job_id", how="left", maintain_order="left", suffix="_real")
        real = [pl.coalesce(f"{name}_real", name).alias(name) for name in ("state",)]
        reason = pl.when(pl.col("state_real").is_null()).then("reason").otherwise("reason_real")
        return joined.with_columns(*real, reason=reason).drop("state_real", "reason_real")

    return Result(
        replace(metered._parts, jobs=with_states, provenance=lambda: {**metered.provenance, **more}, concerns=())
    )

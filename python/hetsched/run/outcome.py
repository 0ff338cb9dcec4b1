"""The outcome of a run: the engine's records beside the workload's columns, and where they came from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import add
from typing import Any

import polars as pl

from hetsched import _core
from hetsched.bound import energy_bound
from hetsched.contract.terms import Terms
from hetsched.engine import engine
from hetsched.features.contracts import billed, excess_of, summed
from hetsched.features.gaps import gap_metrics, gaps_of
from hetsched.features.sleep import with_boots
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.power.forecast import Forecast
from hetsched.run.concerns import (
    Concern,
    concerns_of_between,
    concerns_of_charges,
    concerns_of_run,
    concerns_of_work,
    draws_record,
)
from hetsched.run.events import Events
from hetsched.run.metrics import Facts, summarised
from hetsched.run.options import RunOptions
from hetsched.run.result import Parts, Result
from hetsched.run.result_files import JOB_COLUMNS
from hetsched.run.stretches import LAST_J, empty, framed, segments_of_jobs, with_attempts
from hetsched.workload import Workload


@dataclass(frozen=True)
class Setting:
    """Ingredients of a run: the platform as decisions saw it, the policy as it ran, and the concerns beforehand."""

    workload: Workload
    platform: Platform
    policy: Policy
    options: RunOptions
    concerns: Sequence[Concern] = ()
    forecast: Forecast | None = None
    submitted: Workload | None = None
    """The jobs before queues gave walltimes to those without; None: those of `workload`."""
    injected: Sequence[Events] = ()
    """Events that befell the run on its way, beside those of its options."""
    apps: tuple[str, ...] | None = None
    """Applications in the order in which the engine numbers them; None: sorted."""
    former: Sequence[tuple[Policy, float]] = ()
    """Policies that decided before, each with the instant until which it did, seconds on the log's clock."""
    terms: Terms | None = None
    """The contract of its options, on its clock."""

    @property
    def zero_s(self) -> float | None:
        """Start of the log's clock by the contract, in seconds since 1970; None where the log says it."""
        return None if self.options.contract is None else self.options.contract.starts_s

    @property
    def events(self) -> Events | None:
        """All events of the run; None if there are none."""
        given = self.options.events
        return reduce(add, [*([] if given is None else [given]), *self.injected]) if given or self.injected else None

    @property
    def as_submitted(self) -> Workload:
        """The jobs before queues gave walltimes to those without."""
        return self.workload if self.submitted is None else self.submitted

    @property
    def has_steps(self) -> bool:
        """Whether the policy does something about draws above the budget."""
        return any((policy.parts["power"] or {}).get("on_excess") for policy in self.policies)

    @property
    def policies(self) -> list[Policy]:
        """Policies that have decided, the present one last."""
        return [*(policy for policy, _ in self.former), self.policy]


def result_of(
    records: _core.Records,
    setting: Setting,
    *,
    wall_s: float,
    more: Mapping[str, Any],
    concerns: Sequence[Concern] = (),
) -> Result:
    """The result of a run; `more` joins its provenance, `concerns` those that are found in it."""
    workload, platform, options, totals = setting.workload, setting.platform, setting.options, records.totals
    # Before the jobs are taken, which these are a part of.
    between = pl.DataFrame(records.take_between())
    recorded, timeline = _recorded(records, setting.policies), pl.DataFrame(records.take_timeline())
    events = setting.events
    charges = [] if events is None else events.charges(timeline)
    bill = None
    if setting.terms is not None:
        bill, charges = billed(setting.terms, timeline, charges)
    sums = totals if bill is None else {**totals, **excess_of(bill)}
    after = [
        *concerns_of_run(workload.to_polars(), recorded, timeline, platform),
        *concerns_of_work(platform, options, totals, recorded),
        *concerns_of_charges(charges, of_contract=bill is not None),
        *concerns_of_between(workload.to_polars(), between),
        *concerns,
    ]

    def bound_j(jobs: pl.DataFrame, window_s: float) -> float:
        return energy_bound(jobs, platform, window_s=window_s, **options.limits)

    nodes = cache(lambda: pl.DataFrame(records.take_nodes()))

    def summary(jobs: pl.DataFrame) -> dict[str, int | float | None]:
        offered_load = workload.offered_load(platform)
        own = gap_metrics(gaps_of(whole(jobs), told(), timeline, platform)) if options.bound else {}
        extras = {**own, **_emergencies(setting, totals), **{charge.key: charge.amount for charge in charges}}
        if bill is not None:
            extras |= summed(bill, charges)
        extras = with_boots(extras, setting.policy, platform, nodes)
        least_j = bound_j if options.bound else None
        return summarised(Facts(jobs, sums, platform.nodes, offered_load, least_j, extras))

    segments = cache(lambda: framed("segments", records.take_segments())) if records.has_segments else None
    told = cache(lambda: framed("events", records.take_events()) if has_events else empty("events"))
    has_lost, has_events = records.has_lost_attempts, records.has_events
    jobs = cache(lambda: jobs_frame(workload.to_polars(), recorded, segments))

    def alone(jobs: pl.DataFrame) -> pl.DataFrame:
        return segments_of_jobs(jobs, records.uncapped, totals["window_end_s"], platform.exclusive)

    def attempts() -> pl.DataFrame:
        return with_attempts(alone(jobs()), jobs(), recorded, pl.DataFrame(records.take_attempts()))

    def whole(jobs: pl.DataFrame) -> pl.DataFrame:
        if has_lost:
            return attempts()
        return alone(jobs) if segments is None else segments()

    return Result(
        Parts(
            jobs=jobs,
            timeline=lambda: timeline,
            nodes=nodes,
            segments=cache(attempts) if has_lost else segments,
            alone=alone,
            events=told if has_events else None,
            summary=summary,
            provenance=lambda: {**_provenance(setting, totals), **more},
            timing={"wall_s": wall_s, "jobs_per_s": len(workload) / wall_s if wall_s > 0 else 0.0},
            concerns=(*setting.concerns, *after),
        )
    )


def _emergencies(setting: Setting, totals: Mapping[str, Any]) -> dict[str, int | float]:
    """Metrics of a policy that does something about draws above the budget."""
    return {name: totals[name] for name in ("alerts", "lost_energy_j")} if setting.has_steps else {}


def _recorded(records: _core.Records, policies: Iterable[Policy]) -> pl.DataFrame:
    """The engine's records of the jobs; with the column `profiled` only where a policy profiles."""
    frame = pl.DataFrame(records.take_jobs())
    return (
        frame
        if any("first_runs" in policy.needs for policy in policies)
        else pl.DataFrame([one for one in frame.get_columns() if one.name != "profiled"])
    )


def _provenance(setting: Setting, totals: Mapping[str, Any]) -> dict[str, Any]:
    """Enough to repeat the run and to trust its energy; holds no path, so equal runs have equal bytes."""
    workload, platform = setting.as_submitted, setting.platform
    policy, forecast = setting.policy, setting.forecast
    options = {name: value for name, value in setting.options.record().items() if name != "seed"}
    return {
        "version": _core.__version__,
        **engine().record(),
        "seed": setting.options.seed,
        "policy": policy.to_dict(),
        **_former(setting),
        "options": options,
        "trace": {
            "name": workload.report.source,
            "file_sha256": workload.source_sha256,
            "sha256": workload.sha256,
            "history": list(workload.history),
        },
        "platform": {
            "sha256": platform.sha256,
            "nodes": platform.nodes,
            "exclusive": platform.exclusive,
            "classes": [node_class.to_dict() for node_class in platform.classes],
            **({} if platform.cap_model is None else {"cap_model": platform.cap_model}),
            **({} if platform.queues is None else {"queue": [queue.to_dict() for queue in platform.queues]}),
        },
        "tables": {**platform.tables_sha256, **_caps_w(platform)},
        "known_draws": draws_record(
            policy, platform, jobs=totals["measured_jobs"], forecast=None if forecast is None else forecast.report
        ),
        "energy_balance": {
            "integral_j": totals["integral_j"],
            "parts_j": totals["energy_j"],
            "relative_error": totals["balance_relative_error"],
        },
        "counts": {name: totals[name] for name in ("passes", "events", "low_busy_rows", "clairvoyant_jobs")},
        "report": workload.report.to_dict(),
    }


def _former(setting: Setting) -> dict[str, Any]:
    """The policies that decided before, and until when; nothing where there was none."""
    former = [{"policy": policy.to_dict(), "until_s": until_s} for policy, until_s in setting.former]
    return {"policies_before": former} if former else {}


def _caps_w(platform: Platform) -> dict[str, list[float]]:
    """The caps that there are tables of; nothing where there are none."""
    caps = platform.actual_by_cap
    return {} if caps is None else {"caps_w": [cap_w for cap_w in caps if math.isfinite(cap_w)]}


_SLOWDOWN_FLOOR_S = 10.0


def jobs_frame(
    workload: pl.DataFrame, run: pl.DataFrame, segments: Callable[[], pl.DataFrame] | None = None
) -> pl.DataFrame:
    """One row a job, in the workload's order; `segments` tell the energy of the last of several attempts."""
    more = [name for name in run.columns if name not in (*JOB_COLUMNS, LAST_J)]
    names = names_in_result(workload.columns, [*more, *(name for name in run.columns if name == LAST_J)])
    own = [series.alias(names.get(series.name, series.name)) for series in workload.get_columns()]
    joined = pl.DataFrame([*own, *run.get_columns()])
    schema = joined.schema
    others = [series.name for series in own if series.name not in JOB_COLUMNS]
    runtime_s, turnaround_s = pl.col("end_s") - pl.col("start_s"), pl.col("end_s") - pl.col("submit_s")
    made = {
        "runtime_s": runtime_s,
        "wait_s": pl.col("start_s") - pl.col("submit_s"),
        "turnaround_s": turnaround_s,
        "bounded_slowdown": (turnaround_s / runtime_s.clip(_SLOWDOWN_FLOOR_S)).clip(1.0),
        "mean_power_w": pl.when(runtime_s > 0).then(pl.col("energy_j") / runtime_s),
    }
    if segments is not None and "attempts" in schema and (joined["attempts"] > 1).any():
        joined = joined.with_columns(_last_j(joined, segments()))
    if LAST_J in joined.columns:
        made["mean_power_w"] = pl.when(runtime_s > 0).then(pl.col(LAST_J) / runtime_s)
    # One query: where a run has a few thousand jobs, queries cost more than the work in them.
    columns = [
        made[name].alias(name) if name in made else pl.col(name) if name in schema else pl.lit(None).alias(name)
        for name in JOB_COLUMNS
    ]
    typed = [
        one if schema.get(name) == dtype else one.cast(dtype)
        for one, (name, dtype) in zip(columns, JOB_COLUMNS.items(), strict=True)
    ]
    return joined.select(*typed, *more, *others)


def _last_j(jobs: pl.DataFrame, segments: pl.DataFrame) -> pl.Series:
    """Energy of each job's last attempt; of a job with one, all of its energy."""
    is_last = pl.col("attempt") == pl.col("attempt").max().over("job_id")
    last = segments.filter(is_last).group_by("job_id").agg(pl.col("energy_j").sum().alias(LAST_J))
    own = jobs.select("job_id", "attempts", "energy_j").join(last, on="job_id", how="left", maintain_order="left")
    several = pl.when(pl.col("attempts") > 1).then(pl.col(LAST_J)).otherwise(pl.col("energy_j"))
    return own.select(several.alias(LAST_J)).to_series()


def names_in_result(columns: Sequence[str], recorded: Iterable[str] = ()) -> dict[str, str]:
    """Names of a workload's columns in `Result.jobs`.

    The runtime is ``nominal_runtime_s`` there. One of the user's own whose name is a column of the run's has ``trace_``
    put before it, and once more as long as the workload has a column of that name too: what a run recorded is kept
    when its result is the next workload, and so is what the runs before it did.
    """
    taken = {*JOB_COLUMNS, *recorded} - set(_FROM_WORKLOAD)
    names = {}
    for column in columns:
        name = column
        while name in taken or (name != column and name in columns):
            name = f"trace_{name}"
        names[column] = name
    return names | {"runtime_s": "nominal_runtime_s"}


_FROM_WORKLOAD = (
    "job_id",
    "user",
    "queue",
    "app",
    "submit_s",
    "walltime_s",
    "node_count",
    "slots",
)

"""The outcome of a run: the engine's records next to the workload's columns, and where they came from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from operator import or_
from typing import Any

import polars as pl

from hetsched import _core
from hetsched.engine import engine
from hetsched.features.feature import Ended, Found, Setting
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.resources import frame_of
from hetsched.run.concerns import concerns_of_run, concerns_of_work, draws_record
from hetsched.run.metric import Facts
from hetsched.run.metrics import summarised
from hetsched.run.node_names import with_node_name, with_node_names
from hetsched.run.result import Parts, Result
from hetsched.run.result_files import JOB_COLUMNS
from hetsched.run.stretches import LAST_J, empty, framed, segments_of_jobs, with_attempts


def result_of(records: _core.Records, setting: Setting, *, wall_s: float, more: Mapping[str, Any]) -> Result:
    """The result of a run; `more` joins its provenance."""
    workload, platform, totals = setting.workload, setting.platform, records.totals
    # Before the jobs are taken, which these are a part of.
    between = pl.DataFrame(records.take_between())
    recorded = _recorded(records, setting.policies)
    if platform.node_names is not None:
        recorded = with_node_names(recorded, platform.node_names)
    timeline = frame_of(records.take_timeline())
    has_lost, has_events = records.has_lost_attempts, records.has_events

    nodes = cache(lambda: with_node_name(pl.DataFrame(records.take_nodes()), platform.node_names))
    stretches = cache(lambda: framed("segments", records.take_segments())) if records.has_segments else None
    happened = cache(lambda: _events(records, platform) if has_events else empty("events"))
    jobs = cache(lambda: jobs_frame(workload.to_polars(), recorded, stretches))

    def alone(jobs: pl.DataFrame) -> pl.DataFrame:
        return segments_of_jobs(jobs, records.uncapped, totals["window_end_s"], platform.exclusive)

    def attempts() -> pl.DataFrame:
        return with_attempts(alone(jobs()), jobs(), recorded, pl.DataFrame(records.take_attempts()))

    segments = cache(attempts) if has_lost else stretches
    whole = segments or (lambda: alone(jobs()))
    ended = Ended(setting, totals, recorded, timeline, between, jobs, nodes, whole, happened)
    found: list[Found] = [after(ended) for after in setting.asked("after")]

    def summary(jobs: pl.DataFrame) -> dict[str, int | float | None]:
        extras: dict[str, int | float | None] = {}
        for one in found:
            extras |= one.metrics(extras)
        return summarised(Facts(jobs, totals, platform.nodes, workload.offered_load(platform), extras))

    after = [
        *concerns_of_run(workload.to_polars(), recorded, timeline, platform),
        *(concern for one in found for concern in one.concerns),
        *concerns_of_work(platform, setting.options, totals, recorded),
    ]
    own: dict[str, Any] = reduce(or_, (one.record for one in found), {})
    return Result(
        Parts(
            jobs=jobs,
            timeline=lambda: timeline,
            nodes=nodes,
            segments=segments,
            alone=alone,
            events=happened if has_events else None,
            summary=summary,
            provenance=lambda: {**_provenance(setting, totals), **own, **more},
            timing={"wall_s": wall_s, "jobs_per_s": len(workload) / wall_s if wall_s > 0 else 0.0},
            concerns=(*setting.concerns, *after),
            ended=ended,
        )
    )


def _events(records: _core.Records, platform: Platform) -> pl.DataFrame:
    return with_node_name(framed("events", records.take_events()), platform.node_names)


def _recorded(records: _core.Records, policies: Iterable[Policy]) -> pl.DataFrame:
    """The engine's records of the jobs; with the column `profiled` only where a policy profiles."""
    frame = frame_of(records.take_jobs())
    if not any("first_runs" in policy.needs for policy in policies):
        frame.drop_in_place("profiled")
    return frame


def origin_of(setting: Setting) -> dict[str, Any]:
    """Ingredients of a run: the part of its provenance that is known before it begins."""
    workload, platform = setting.as_submitted, setting.platform
    options = {name: value for name, value in setting.options.record().items() if name != "seed"}
    return {
        "version": _core.__version__,
        **engine().record(),
        "seed": setting.options.seed,
        "policy": setting.policy.to_dict(),
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
            **platform._facility,
        },
        "tables": {**platform._tables_sha256, **_caps_w(platform)},
        "report": workload.report.to_dict(),
    }


def _provenance(setting: Setting, totals: Mapping[str, Any]) -> dict[str, Any]:
    """Enough to repeat the run and to trust its energy; holds no path, so equal runs have equal bytes."""
    forecast, origin = setting.forecast, origin_of(setting)
    # The log's report stays the last, as in files that were written before.
    report = origin.pop("report")
    return {
        **origin,
        "known_draws": draws_record(
            setting.policy,
            setting.platform,
            jobs=totals["measured_jobs"],
            forecast=None if forecast is None else forecast.report,
        ),
        "energy_balance": {
            "integral_j": totals["integral_j"],
            "parts_j": totals["energy_j"],
            "relative_error": totals["balance_relative_error"],
        },
        "counts": {name: totals[name] for name in ("passes", "events", "low_busy_rows", "clairvoyant_jobs")},
        "report": report,
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
    """One row a job, in the workload's order; `segments` show the energy of the last of several attempts."""
    more = [name for name in run.columns if name not in (*JOB_COLUMNS, LAST_J)]
    names = names_in_result(workload.columns, [*more, *(name for name in run.columns if name == LAST_J)])
    own = workload.rename(names)
    joined = pl.concat([own, run], how="horizontal")
    schema = joined.schema
    others = [name for name in own.columns if name not in JOB_COLUMNS]
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

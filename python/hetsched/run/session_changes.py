"""Changes to a session: more jobs, and another policy from now on."""

from __future__ import annotations

from typing import cast

import polars as pl

from hetsched.checks import Faults, shown
from hetsched.errors import ConfigError
from hetsched.policy import Policy
from hetsched.tables import refuse_other_frames
from hetsched.workload import COLUMNS, Workload
from hetsched.workload.waits import check_references

_MOST_FAULTS = 10


def conformed_jobs(jobs: Workload | pl.DataFrame, before: Workload, *, from_s: float) -> pl.DataFrame:
    """The jobs in the schema's types, sorted by submission; raises if they cannot join those of before.

    They may wait for jobs of before.
    """
    if isinstance(jobs, Workload):
        frame = jobs.to_polars()
    else:
        refuse_other_frames(jobs, "jobs")
        frame = _conformed(jobs, before.to_polars()["job_id"])
    _check(frame, before, from_s)
    return frame


def _conformed(frame: pl.DataFrame, known: pl.Series) -> pl.DataFrame:
    """The columns as those of a workload, in which jobs may wait for jobs of another one."""
    if "depends_on" not in frame.columns or not frame["depends_on"].dtype.is_integer():
        return Workload.from_polars(frame, source="jobs").to_polars()
    waits = frame["depends_on"].cast(pl.Int64).is_in(known.implode()).fill_null(value=False)
    inside = frame.with_columns(depends_on=pl.when(~pl.Series(waits)).then(pl.col("depends_on")))
    own = Workload.from_polars(inside, source="jobs").to_polars()
    outside = frame.filter(waits).select("job_id", outside=pl.col("depends_on").cast(pl.Int64))
    joined = own.join(outside.cast({"job_id": pl.Int64}), on="job_id", how="left", maintain_order="left")
    restored = pl.coalesce("depends_on", "outside").cast(COLUMNS["depends_on"].dtype)
    return joined.with_columns(depends_on=restored).drop("outside")


def _check(frame: pl.DataFrame, before: Workload, from_s: float) -> None:
    faults = Faults("jobs")
    twice = frame.filter(pl.col("job_id").is_in(before.to_polars()["job_id"].implode()))["job_id"]
    for job in twice.head(_MOST_FAULTS):
        faults.note("job_id", shown(job), "a number that no job of the session has")
    early = frame.filter(pl.col("submit_s") < from_s)
    expected = f"seconds from {from_s:g}, up to which the run has come"
    if from_s >= 1e12:
        expected = "nothing: the run has come to its end; a fork made earlier can take more jobs"
    for job, submit_s in early.select("job_id", "submit_s").head(_MOST_FAULTS).iter_rows():
        faults.note("submit_s", f"{submit_s:g} of job {job}", expected)
    rest = max(len(twice), len(early)) - _MOST_FAULTS
    if rest > 0:
        faults.note("job_id", f"{rest:,} more such jobs", "none")
    faults.check()


def appended(before: Workload, jobs: pl.DataFrame) -> Workload:
    """The jobs of before in their rows, and then the others."""
    frame = before.to_polars()
    try:
        both = pl.concat([frame, jobs], how="diagonal")
    except (pl.exceptions.SchemaError, pl.exceptions.ShapeError) as error:
        found = str(error).splitlines()[0]
        raise ConfigError([("jobs", found, "columns of the same types as those of the session's jobs")]) from None
    own = [name for name in both.columns if name not in COLUMNS]
    both = both.select(*(name for name in COLUMNS if name in both.columns), *own)
    check_references(both, "jobs")
    return Workload(
        both,
        source=before.source,
        report=before.report,
        history=(*before.history, f"{len(jobs):,} jobs injected"),
        source_sha256=before.source_sha256,
    )


def app_order(first: tuple[str, ...] | None, before: Workload, after: Workload) -> tuple[str, ...]:
    """Applications in the order in which the engine numbers them: those it knows keep their numbers."""

    def names(workload: Workload) -> list[str]:
        frame = workload.to_polars()
        return cast("list[str]", frame["app"].drop_nulls().unique().sort().to_list()) if "app" in frame.columns else []

    known = tuple(names(before)) if first is None else first
    return (*known, *(name for name in names(after) if name not in set(known)))


def check_apps(before: tuple[str, ...], after: tuple[str, ...], *, by_cap: bool) -> None:
    """Raise for new applications where tables by cap say how much each is slowed."""
    new = after[len(before) :]
    if by_cap and new:
        expected = "an application that some job of the session has: the platform has tables by cap, read once"
        raise ConfigError([("jobs.app", shown(name), expected) for name in new[:_MOST_FAULTS]])


def check_succession(before: Policy, policy: Policy) -> None:
    """Raise if the policy cannot go on with a run that began under another one."""
    faults = Faults()
    if ("observed_starts" in before.needs) != ("observed_starts" in policy.needs):
        expected = (
            "two policies that repeat the log, or two that do not: a replay kills no job and knows neither queues nor "
            "what jobs ask for"
        )
        faults.note("policy", f"`{policy.name}` after `{before.name}`", expected)
    faults.check()

"""Jobs of a run whose start is known from the log, and the waits to compare: observed and simulated."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.run.result import Result

WEEK_S = 604_800.0
LONG_WAIT_S = 60.0
"""A job that waited for longer counts as one that waited."""

_MOST_CUT_S = 7 * 86_400.0
_NO_LONGER_KNOWN = ("no_observed_start", "no_run", "observed_before_submit")


@dataclass(frozen=True)
class Judged:
    """Known jobs of a run, and those of them that count.

    Columns of both: ``job_id, user, queue, size`` (⌊log2 of the nodes⌋) ``, nodes`` (where they are shared: the job's
    slots in nodes) ``, week, submit_s, observed_start_s, observed_end_s, start_s, end_s`` (null: never in the run) ``,
    placed_s`` (the start that is scored) ``, observed_s`` and ``simulated_s`` (waits).
    """

    known: pl.DataFrame
    counted: pl.DataFrame
    from_s: float
    until_s: float
    """The window of submits that count."""
    left_out: dict[str, int]
    """Numbers of jobs by reason."""
    unstarted: int

    @classmethod
    def of(cls, result: Result, *, warmup_s: float | None, cooldown_s: float | None) -> Judged:
        """The jobs of a run (rules 1 to 4)."""
        jobs = _with_reasons(result)
        submits = jobs["submit_s"]
        first_s, last_s = (float(submits.min()), float(submits.max())) if len(jobs) else (0.0, 0.0)  # type: ignore[arg-type]
        cut_s = min(_MOST_CUT_S, (last_s - first_s) / 10)
        from_s = first_s + (cut_s if warmup_s is None else warmup_s)
        until_s = last_s - (cut_s if cooldown_s is None else cooldown_s)
        known = _known(jobs.filter(pl.col("left_out").is_null()), result)
        counted = known.filter(pl.col("submit_s").is_between(from_s, until_s))
        _check(counted, known, (first_s, last_s), (warmup_s, cooldown_s))
        reasons = dict(jobs.group_by("left_out").len().iter_rows())
        left_out = {name: reasons.get(name, 0) for name in _NO_LONGER_KNOWN}
        left_out["outside_window"] = len(known) - len(counted)
        return cls(known, counted, from_s, until_s, left_out, counted["start_s"].null_count())


def check_observed(columns: Collection[str]) -> None:
    """Raise if jobs of these columns were not observed."""
    if "observed_start_s" not in columns:
        expected = "a log that says when its jobs started: observed_start_s"
        raise ConfigError([("workload", "jobs without observed starts", expected)])


def _with_reasons(result: Result) -> pl.DataFrame:
    """The run's jobs, each with the reason for which it is not known, if there is one."""
    jobs = result.jobs
    check_observed(jobs.columns)
    return jobs.with_columns(reason_left_out("nominal_runtime_s").alias("left_out"))


def reason_left_out(runtime: str) -> pl.Expr:
    """The reason for which a job is not known (rule 1), by its column of run times; null for one that is known."""
    return (
        pl.when(pl.col("observed_start_s").is_null())
        .then(pl.lit("no_observed_start"))
        .when(pl.col(runtime) <= 0)
        .then(pl.lit("no_run"))
        .when(pl.col("observed_start_s") < pl.col("submit_s"))
        .then(pl.lit("observed_before_submit"))
    )


def observed_ends(columns: Collection[str], runtime: str) -> pl.Expr:
    """Ends in the log; where it has none, an observed start and the run time."""
    ended = pl.col("observed_start_s") + pl.col(runtime)
    return pl.coalesce("observed_end_s", ended) if "observed_end_s" in columns else ended


def _known(jobs: pl.DataFrame, result: Result) -> pl.DataFrame:
    last_s = float(result.timeline["time_s"][-1])
    ended = observed_ends(jobs.columns, "nominal_runtime_s")
    placed = pl.coalesce("start_s", pl.max_horizontal("submit_s", pl.lit(last_s)))
    size = 31 - pl.col("node_count").cast(pl.UInt32).bitwise_leading_zeros().cast(pl.Int64)
    text = [pl.col(name).cast(pl.String) for name in ("user", "queue")]
    return jobs.select(
        "job_id",
        *text,
        "node_count",
        size.alias("size"),
        _nodes(result).alias("nodes"),
        (pl.col("submit_s") / WEEK_S).floor().cast(pl.Int64).alias("week"),
        "submit_s",
        "observed_start_s",
        ended.alias("observed_end_s"),
        "start_s",
        pl.when(pl.col("start_s").is_not_null()).then(pl.coalesce("end_s", pl.lit(last_s))).alias("end_s"),
        placed.alias("placed_s"),
        (pl.col("observed_start_s") - pl.col("submit_s")).alias("observed_s"),
        (placed - pl.col("submit_s")).alias("simulated_s"),
    )


def _nodes(result: Result) -> pl.Expr:
    """Nodes of a job; where they are shared the nodes that its slots make up."""
    platform = result.provenance["platform"]
    nodes = pl.col("node_count").cast(pl.Float64)
    if platform["exclusive"]:
        return nodes
    whole: int = max(one["slots"] for one in platform["classes"])
    return nodes * pl.col("slots").fill_null(whole) / whole


def _check(
    counted: pl.DataFrame,
    known: pl.DataFrame,
    span: tuple[float, float],
    cuts: tuple[float | None, float | None],
) -> None:
    if len(counted):
        return
    faults = Faults()
    if not len(known):
        faults.note("workload", "no job with an observed start at or after its submit, and a run", "at least one")
    else:
        faults.note(
            "warmup_s, cooldown_s",
            f"{', '.join('the default' if cut is None else f'{cut:g}' for cut in cuts)} of {span[1] - span[0]:g} s",
            "less: no job is submitted in the time that is left",
        )
    faults.check()

"""`validate`: how near a simulated schedule is to the one that a log recorded, and `Validation`, the answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from hetsched.analysis.weeks import FEWEST_WEEKS
from hetsched.checks import Faults, many
from hetsched.errors import ConfigError
from hetsched.features.queues import naming_nodes
from hetsched.files import write_files
from hetsched.many.progress import Bars, Reporting, check_progress, teller
from hetsched.naming import named_in
from hetsched.notebook import card
from hetsched.platform import Platform
from hetsched.policy.policy import policy_like
from hetsched.report.page.document import Page
from hetsched.report.page.validations import page_of_validation
from hetsched.reported import Reported
from hetsched.run.options import RunKeywords, options_given, takes_run_options
from hetsched.run.restarts import Restarts
from hetsched.run.result import Result
from hetsched.run.simulation import Run, run_of, simulate
from hetsched.validation import tables
from hetsched.validation.horizons import Horizons, checked_horizons, looking_ahead, table
from hetsched.validation.hours import hour_scores, series
from hetsched.validation.jobs import LONG_WAIT_S, Judged, check_observed
from hetsched.validation.naive import past_waits
from hetsched.validation.power import hourly, power_scores
from hetsched.validation.scores import Score, histogram, quantiles, wait_scores, with_errors
from hetsched.workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack

_MANY_UNSTARTED = 0.001
_TABLES = ("rivals", "histogram", "quantiles", "by_queue", "by_size", "by_user_class", "by_week", "series")


@named_in("hetsched")
@dataclass(frozen=True, repr=False)
class Validation(Reported):
    """Distance of a run from the log that it simulates. Made by `hetsched.validate`.

    Parameters
    ----------
    scores
        ``jobs`` (those that count) ``, waited`` (over a minute in the log); those left out, by reason:
        ``no_observed_start, no_run, observed_before_submit, outside_window``; ``unstarted`` (scored as started when the
        run ended) ``, sees_observed`` (the policy was given observed starts). Mean absolute errors of the logarithm of
        wait + 60 s: ``log_error`` of the run, ``null_log_error`` of "every job starts at once", ``naive_log_error`` and
        ``naive_median_log_error`` of the past week's waits of jobs alike; the part of a rival's error that is gone,
        ``skill_null, skill_naive`` and ``skill_best`` (of the best of the three); half widths of 95 % intervals over
        weeks ``log_error_half, skill_null_half, skill_naive_half``. Shares of jobs that start within a minute, ten and
        an hour of their time: ``within_1m, within_10m, within_1h``, of those that waited ``waited_within_1m …``, and of
        the null ``null_within_1m …, null_waited_within_1m …``. ``mean_observed_s, mean_simulated_s, bias_s,
        median_error_s, log_bias, ks, wasserstein_s, wasserstein_log, spearman``; by hour ``utilization_mae,
        utilization_bias, utilization_correlation, queue_mae_jobs, queue_ratio``; with measured power
        ``power_mape_percent, energy_error_percent, peak_error_percent, load_duration_percent, constant_mape_percent,
        persistence_mape_percent``; of restarts from the observed state ``restarts`` and ``overfull`` (jobs that ran in
        the log at one of these instants and did not fit). None where nothing says.
    jobs
        The jobs that count: ``job_id, user, queue, node_count, nodes, week, submit_s, observed_start_s,
        observed_end_s, start_s, end_s, observed_s, simulated_s, naive_s, naive_median_s`` (waits) and the errors.
    series
        Hourly means: ``time_s, busy_observed, busy_simulated, queued_observed, queued_simulated,
        queued_nodes_observed, queued_nodes_simulated``.
    power
        Hourly ``time_s, observed_w, simulated_w``, of hours that were measured; None without measured power.
    notes
        Remarks that a reader needs before the numbers.
    baseline
        The validation of the baseline on the same jobs and machine; None if it was not asked for, or is the run itself.
    horizons
        A row a horizon, if any was asked for: ``horizon_s`` (null: the open loop) ``, restarts, jobs, waited,
        unstarted, overfull, log_error, log_error_half, null_log_error, naive_log_error, naive_median_log_error,
        skill_null, skill_naive, skill_naive_half, skill_best, median_error_s, waited_within_10m,
        null_waited_within_10m``. Scores, jobs and tables are those of the first; else None.
    provenance
        As `Result.provenance`, of the run; empty if it was not made by `hetsched.validate`.
    """

    scores: Mapping[str, Score]
    jobs: pl.DataFrame
    series: pl.DataFrame
    power: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()
    policy: str = ""
    baseline: Validation | None = None
    horizons: pl.DataFrame | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def rivals(self) -> pl.DataFrame:
        """The run and what it has to be better than: ``rival, log_error, skill_null, waited_within_10m``.

        Rows: the run, the baseline if there is one, every job at once, the past week's mean wait and its median wait.
        """
        null = self.scores["null_log_error"]
        rows: list[tuple[str, Score, Score]] = [
            (self.policy, self.scores["log_error"], self.scores["waited_within_10m"])
        ]
        if self.baseline is not None:
            own = self.baseline.scores
            rows.append((f"{self.baseline.policy}, as it is", own["log_error"], own["waited_within_10m"]))
        rows.append(("every job at once", null, self.scores["null_waited_within_10m"]))
        for name, wait in (("mean", "naive"), ("median", "naive_median")):
            error = (pl.col(f"{wait}_s") - pl.col("observed_s")).abs() <= 600.0
            near = self.jobs.filter(pl.col("observed_s") > LONG_WAIT_S).select(error.mean()).item()
            rows.append((f"{name} wait of the week before", self.scores[f"{wait}_log_error"], near))
        frame = pl.DataFrame(rows, ["rival", "log_error", "waited_within_10m"], orient="row")
        skill = pl.lit(None, pl.Float64) if not null else 1 - pl.col("log_error") / null
        return frame.select("rival", "log_error", skill.alias("skill_null"), "waited_within_10m")

    @cached_property
    def histogram(self) -> pl.DataFrame:
        """Jobs by how much later they started in reality: ``class, jobs, ratio, null_jobs, null_ratio``."""
        return histogram(self.jobs)

    @cached_property
    def quantiles(self) -> pl.DataFrame:
        """Quantiles of waits: ``quantile, observed_s, simulated_s, naive_s``."""
        return quantiles(self.jobs)

    @cached_property
    def by_queue(self) -> pl.DataFrame:
        """Scores of waits by queue.

        Columns: ``queue`` (null: none) ``, jobs, waited, log_error, null_log_error, naive_log_error, skill_null,
        skill_naive, mean_observed_s, mean_simulated_s, median_observed_s, median_simulated_s, waited_within_10m``.
        """
        return tables.by(self.jobs, "queue")

    @cached_property
    def by_size(self) -> pl.DataFrame:
        """The same by ``size``, in nodes: 1, 2-3, 4-7 and so on."""
        return tables.by_size(self.jobs)

    @cached_property
    def by_user_class(self) -> pl.DataFrame:
        """The same by ``user_class``: *heavy* (with the first half of the jobs) *, medium, light, unknown*."""
        return tables.by_user_class(self.jobs)

    @cached_property
    def by_week(self) -> pl.DataFrame:
        """The same by ``week`` of the log's clock."""
        return tables.by(self.jobs, "week")

    def to_dict(self) -> dict[str, Any]:
        """Values as JSON holds them: ``scores, notes``, each table, and the ``baseline``'s scores."""
        own = {name: getattr(self, name).to_dicts() for name in _TABLES}
        power, horizons = (None if one is None else one.to_dicts() for one in (self.power, self.horizons))
        baseline = None if self.baseline is None else dict(self.baseline.scores)
        more = {"power": power, "horizons": horizons, "baseline": baseline}
        return {"summary": dict(self.scores), "notes": list(self.notes), **own, **more}

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write ``validation.json`` (scores and notes), a CSV file a table and ``jobs.parquet``; gives their names.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        frames = {name: getattr(self, name) for name in _TABLES} | {"power": self.power, "horizons": self.horizons}
        files: dict[str, Any] = {
            f"{name}.csv": frame.write_csv().encode() for name, frame in frames.items() if frame is not None
        }
        said = {"policy": self.policy, "scores": dict(self.scores), "notes": list(self.notes)}
        files["validation.json"] = (json.dumps(said, indent=2) + "\n").encode()
        files["jobs.parquet"] = self.jobs.write_parquet
        return write_files(folder, files)

    def _page(self, *, title: str = "", assumed: Sequence[str] = (), command: str = "") -> Page:
        return page_of_validation(self, title=title, assumed=assumed, command=command)

    def _repr_html_(self) -> str:
        return card(repr(self).strip("<>"), None, self.rivals._repr_html_(), notes=self.notes)

    def __repr__(self) -> str:
        skill = self.scores["skill_best"]
        shown = "no rival has an error" if skill is None else f"skill {skill:.2f} over the best rival"
        return f"<Validation: {self.policy}, {many(len(self.jobs), 'job')}, {shown}>"


@overload
def validate(
    subject: Result,
    *,
    warmup_s: float | None = None,
    cooldown_s: float | None = None,
    power: pl.DataFrame | None = None,
    hour_s: float = 3600.0,
) -> Validation: ...
@overload
def validate(
    subject: Workload,
    platform: Platform,
    policy: Any = "easy",
    *,
    warmup_s: float | None = None,
    cooldown_s: float | None = None,
    power: pl.DataFrame | None = None,
    hour_s: float = 3600.0,
    horizon_s: float | Horizons | None = None,
    baseline: Any = "easy",
    progress: Reporting = "bar",
    **options: Unpack[RunKeywords],
) -> Validation: ...
@takes_run_options(without=("kill_at_walltime",))
def validate(  # type: ignore[misc]
    subject: Result | Workload,
    platform: Platform | None = None,
    policy: Any = None,
    *,
    warmup_s: float | None = None,
    cooldown_s: float | None = None,
    power: pl.DataFrame | None = None,
    hour_s: float = 3600.0,
    horizon_s: float | Horizons | None = None,
    baseline: Any = "easy",
    progress: Reporting = "bar",
    kill_at_walltime: bool = False,
    **options: Unpack[RunKeywords],
) -> Validation:
    """Compare a simulated schedule with the one that the log recorded, job by job, hour by hour and in its power.

    Jobs count that have an observed start at or after their submit and a run, and are submitted after the warm-up and
    before the cool-down. The rivals know nothing but the log's past: every job starts at once; a job waits as jobs of
    its queue and size waited in the week before. A simulation that is no better than these explains nothing.

    Parameters
    ----------
    subject
        A `Result` of a log with observed starts; or a `Workload`, which is run on `platform` under `policy`, with
        walltimes that plans go by and that kill nothing: what the log ran, runs.
    platform, policy
        With a workload: as of `hetsched.simulate`; the policy is EASY backfilling by default.
    warmup_s, cooldown_s
        How long after the first submit, and before the last, a job counts, seconds, at least 0; None: a week, or a
        tenth of the time between them if that is less.
    power
        The measured power of the system: ``time_s, power_w``, each value up to the next, 900 s at most.
    hour_s
        Length of an hour of the series, seconds, from 1 to 86,400.
    horizon_s
        With a workload: how far ahead to look, seconds, from 1 to 1e9, or several such, which make the table
        ``horizons``. The simulation begins again every so many seconds from what the log observed to run and to wait
        at that instant, goes on with what is submitted until the next, and jobs that are submitted in that time are
        scored. None: one run from the beginning, the open loop.
    kill_at_walltime
        As of `hetsched.simulate`; what the log ran, runs.
    baseline
        With a workload: a policy that is scored in the same way, unless it is `policy` itself; None: none.
    progress
        ``"bar"``: a bar a run, and a bar for its restarts, on standard error, if that is a terminal. A function: called
        with (jobs or restarts done, in all), of each in turn. None: nothing.

    Returns
    -------
    Validation
        The scores, with 95 % intervals over weeks, and tables.

    Raises
    ------
    ConfigError
        If the log has no observed starts, or no job counts; if an option is invalid; what `hetsched.simulate` raises.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2, 3], "submit_s": [0, 590, 2000], "runtime_s": [600, 600, 600],
    ...                      "node_count": [1, 1, 1], "observed_start_s": [0, 600, 2000]})
    >>> found = hs.validate(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(1, idle_w=100, tdp_w=300),
    ...                     warmup_s=0, cooldown_s=0)
    >>> found.scores["skill_best"], found.scores["within_1m"], found.by_size["jobs"].to_list()
    (1.0, 1.0, [3])
    """
    faults = Faults()
    for name, cut_s in (("warmup_s", warmup_s), ("cooldown_s", cooldown_s)):
        if cut_s is not None:
            faults.number(name, cut_s, low=0.0, high=1e12)
    faults.number("hour_s", hour_s, low=1.0, high=86_400.0)
    horizons = checked_horizons(horizon_s, faults)
    check_progress(progress, faults, "jobs or restarts")
    faults.check()
    scored = _Scored(warmup_s, cooldown_s, power, float(hour_s), horizons)
    if isinstance(subject, Result):
        _check_alone(platform, policy, options if horizons == [None] else {"horizon_s": horizon_s, **options})
        return scored.of(subject)
    if platform is None:
        raise ConfigError([("platform", "nothing", "the platform that the workload is run on")])
    policies = ("easy" if policy is None else policy, baseline)
    given = {"kill_at_walltime": kill_at_walltime, **options}
    with Bars(shown=progress == "bar") as bars:
        bar: _Bar = bars.bar if progress == "bar" else lambda *_, **__: _of_two(teller(progress))
        return _simulated(subject, platform, policies, replace(scored, bar=bar), given)


def _check_alone(platform: object, policy: object, options: Mapping[str, Any]) -> None:
    """Raise if a result comes with what only a workload takes."""
    given = [name for name, value in (("platform", platform), ("policy", policy)) if value is not None]
    faults = Faults()
    for name in (*given, *options):
        faults.note(name, "a value", "nothing with a result, which is a run already")
    faults.check()


def _simulated(
    workload: Workload,
    platform: Platform,
    policies: tuple[Any, Any],
    scored: _Scored,
    options: Mapping[str, Any],
) -> Validation:
    policy, baseline = policies
    check_observed(workload.columns)
    run = run_of(workload, platform, policy, options_given(simulate, options))
    restarts = scored.restarts(run)
    tell = scored.bar(run.policy.name, unit="jobs")
    found = scored.of(simulate(workload, platform, policy, progress=tell, **options), restarts)
    baseline = naming_nodes(policy_like(baseline), platform)
    if baseline is None or policy_like(policy) == baseline:
        return found
    other = run_of(workload, platform, baseline, run.options)
    result = other.execute(scored.bar(other.policy.name, unit="jobs"))
    return replace(found, baseline=replace(scored, power=None).of(result, scored.restarts(other)))


_Bar = Callable[..., Callable[..., object]]
"""From a name and a unit to a function that is called with (done, in all)."""


def _of_two(tell: Callable[[int, int], object]) -> Callable[..., object]:
    """The function without what a run tells besides: the instant that it has come to."""
    return lambda done, total, *_: tell(done, total)


@dataclass(frozen=True)
class _Scored:
    """Settings of the scores."""

    warmup_s: float | None
    cooldown_s: float | None
    power: pl.DataFrame | None
    hour_s: float
    horizons: Horizons = (None,)
    bar: _Bar = lambda *_, **__: lambda *_: None

    def restarts(self, run: Run) -> Restarts | None:
        """Restarts of a run, if one is asked for."""
        return None if all(one is None for one in self.horizons) else Restarts.of(run)

    def of(self, result: Result, restarts: Restarts | None = None) -> Validation:
        """The scores of a run from the beginning or, with restarts, of the first horizon."""
        judged = Judged.of(result, warmup_s=self.warmup_s, cooldown_s=self.cooldown_s)
        whole = self._open_loop(result, judged)
        return whole if restarts is None else self._ahead(whole, judged, restarts)

    def _ahead(self, whole: Validation, judged: Judged, restarts: Restarts) -> Validation:
        """The scores of the first horizon, and a table of all."""
        ahead = {
            one: looking_ahead(restarts, judged, whole.jobs, one, self.bar(f"every {one:g} s", unit="restarts"))
            for one in self.horizons
            if one is not None
        }
        by_horizon = {one: whole.scores if one is None else ahead[one].scores for one in self.horizons}
        found = replace(whole, horizons=table(by_horizon))
        first, told = self.horizons[0], _note_ahead(list(ahead))
        if first is None:
            return replace(found, scores={**whole.scores, "sees_observed": True}, notes=(told, *whole.notes))
        own = ahead[first]
        notes = (told, *_notes({**own.scores, "sees_observed": False}, own.jobs))
        return replace(found, scores=own.scores, jobs=own.jobs, series=whole.series.head(0), power=None, notes=notes)

    def _open_loop(self, result: Result, judged: Judged) -> Validation:
        jobs = with_errors(judged.counted, past_waits(judged.known, judged.counted))
        hours = series(judged, self.hour_s)
        power = None if self.power is None else hourly(self.power, result.timeline, self.hour_s)
        scores: dict[str, Score] = {
            "jobs": len(jobs),
            "waited": int((jobs["observed_s"] > LONG_WAIT_S).sum()),
            **judged.left_out,
            "unstarted": judged.unstarted,
            "sees_observed": "replay" in result.provenance,
            **wait_scores(jobs),
            **hour_scores(hours, result.provenance["platform"]["nodes"]),
            **({} if power is None else power_scores(power, self.hour_s)),
        }
        name = result.provenance["policy"]["name"]
        notes = tuple(_notes(scores, jobs))
        return Validation(scores, jobs, hours, power, notes, name, provenance=result.provenance)


def _note_ahead(horizons: Sequence[float]) -> str:
    shown = " and ".join(f"{one:g} s" for one in horizons)
    return (
        f"runs began every {shown} from what the log observed to run and wait: their scores are of a look that far "
        "ahead, not of a simulation from the beginning"
    )


def _notes(scores: Mapping[str, Score], jobs: pl.DataFrame) -> list[str]:
    notes = []
    if scores["sees_observed"]:
        notes.append("the policy was given the observed starts: these scores say nothing of how well it predicts")
    unstarted = int(scores["unstarted"] or 0)
    if unstarted > _MANY_UNSTARTED * len(jobs):
        notes.append(f"{many(unstarted, 'job')} never started in the run, and count as started at its end")
    weeks = jobs["week"].n_unique()
    if weeks < FEWEST_WEEKS:
        notes.append(f"no intervals: the jobs are of {many(weeks, 'week')}, and intervals need at least {FEWEST_WEEKS}")
    return notes

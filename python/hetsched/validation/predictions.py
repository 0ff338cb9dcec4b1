"""`predict_waits`: when jobs that wait will start, from many runs that go on from the present with drawn run times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.analysis.pinball import LEVELS
from hetsched.analysis.recalibration import recalibrated
from hetsched.checks import Faults, shown
from hetsched.errors import ConfigError
from hetsched.platform import Platform
from hetsched.run.options import RunOptions
from hetsched.run.restarts import Restarts, Snapshot, snapshot
from hetsched.run.session import Session
from hetsched.run.simulation import policy_of, run_of
from hetsched.typing import Arrivals
from hetsched.units import instant, ticks
from hetsched.validation.draws import Draws, Past
from hetsched.validation.past_states import states_before
from hetsched.workload import Workload

Floats = npt.NDArray[np.float64]

_STATE = "a Session, or a dictionary with time_s, running and queued"
_WEEK_S = 604_800.0
_FEWEST_EARLIER = 20
_HOUR_S = 3600.0
_UNTIL_S = 1e12
_LOG_ONLY = ("runtime_s", "observed_start_s", "observed_end_s", "observed_nodes", "observed_energy_j")
_OF_RUN = ("start_s", "nodes")


def predict_waits(
    state: Session | Mapping[str, Any],
    jobs: pl.DataFrame | None = None,
    *,
    history: Workload | pl.DataFrame,
    forks: int = 100,
    levels: Sequence[float] = LEVELS,
    seed: int = 0,
    arrivals: Arrivals = "none",
    platform: Platform | None = None,
    policy: Any = None,
    recalibrate: int = 0,
) -> pl.DataFrame:
    """Predict how long jobs wait: quantiles over many runs that go on from a state with run times drawn from the past.

    In each fork every job gets a run time: its walltime times the ratio of run time to walltime of a job that has
    ended, one of the last 50 of its user if there are ten, else of its queue, else of all; a job that runs has a ratio
    that it has not passed yet. Plans go by walltimes, as ever. Nothing after the instant of the state is read.

    Parameters
    ----------
    state
        A session, at `Session.reached_s`, with its platform, policy and options. Or what an operator knows: a
        dictionary with ``time_s``, seconds, and the frames ``running`` (``job_id, start_s, node_count, walltime_s,
        user, queue``, if known ``nodes``) and ``queued`` (``job_id, submit_s, node_count, walltime_s, user, queue``);
        further columns as of a workload. Then `platform` is required, and nothing is killed at its walltime.
    jobs
        More jobs to ask about, as ``queued``; without ``submit_s`` they are submitted at the instant. They join the
        queue together.
    history
        A log with observed starts. Jobs count that have ended by the instant.
    forks
        Number of runs, from 1 to 100,000.
    levels
        Levels of the quantiles, between 0 and 1.
    seed
        Seed of the draws, from 0 to 2⁶⁴ - 1; those of a fork and a job depend on nothing else but their numbers.
    arrivals
        ``"none"``: no job is submitted after the instant. ``"resample"``: those of the seven days before are submitted
        again, seven days later, with run times of their own in each fork.
    platform, policy
        With a dictionary: as of `hetsched.simulate`; the policy is EASY backfilling by default.
    recalibrate
        Predict so many of the jobs that started last as well, each from the state at its own submit, and move the
        quantiles by the errors made there (`hetsched.analysis.recalibrated`): a machine whose scheduler is not the
        policy errs in the same way each time. It takes as many times as long. 0, or fewer than 20 such jobs: the
        quantiles are those of the forks.

    Returns
    -------
    polars.DataFrame
        A row a queued or asked-for job, in order of submit: ``job_id``, the quantiles of its wait from its submit on,
        ``q05, q25, q50, q75, q95`` by default, ``mean_wait_s``, ``started_ratio`` (forks in which it starts) and
        ``within_1h_ratio`` (forks in which it starts within an hour from the instant, or from its submit if that is
        later). A quantile is null where too many forks never start the job. Recalibrated are the quantiles only.

    Raises
    ------
    ConfigError
        If an argument cannot be; if a job without a walltime waits and no job has ended.
    TraceError
        If frames are no jobs.

    Examples
    --------
    >>> import hetsched as hs
    >>> past = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [60, 120], "walltime_s": [120, 120],
    ...                      "node_count": [1, 1], "observed_start_s": [0, 0]})
    >>> state = {
    ...     "time_s": 200,
    ...     "running": pl.DataFrame({"job_id": [3], "start_s": [150], "node_count": [2], "walltime_s": [400]}),
    ...     "queued": pl.DataFrame({"job_id": [4], "submit_s": [190], "node_count": [1], "walltime_s": [100]}),
    ... }
    >>> machine = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    >>> found = predict_waits(state, history=hs.Workload.from_polars(past), platform=machine, levels=[0.05, 0.95])
    >>> found.select("job_id", "q05", "q95").rows()
    [(4, 160.0, 360.0)]
    """
    _check(forks, levels, seed, arrivals, recalibrate)
    past = history.to_polars() if isinstance(history, Workload) else Workload.from_polars(history).to_polars()
    now = _snapshot(state, platform, policy)
    forking = _Forking(past, forks, seed, arrivals)
    known, starts = forking.starts(now, _with_jobs(now, jobs))
    found = _summary(known, starts, now.time_s, levels)
    if not recalibrate:
        return found
    before = list(states_before(now, past, recalibrate))
    earlier = [_summary(*forking.starts(one.state, one.state.jobs, one.job_id), now.time_s, levels) for one in before]
    return _moved(found, earlier, [one.wait_s for one in before], (now.time_s - known["submit_s"]).to_numpy(), levels)


@dataclass(frozen=True)
class _Forking:
    """Runs with drawn run times, which go on from a state."""

    past: pl.DataFrame
    forks: int
    seed: int
    arrivals: Arrivals

    def starts(self, now: Snapshot, own: pl.DataFrame, only: int | None = None) -> tuple[pl.DataFrame, Floats]:
        """The jobs that wait, or one of them, and their starts, a row a fork."""
        asked = own.filter(pl.col("observed_start_s").is_null())["job_id"] if only is None else pl.Series([only])
        if self.arrivals == "resample":
            own = _with_arrivals(own, self.past, now.time_s)
        workload = Workload.from_polars(own, source="state")
        restarts = Restarts.of(run_of(workload, now.platform, now.policy, now.options))
        most = 1.0 if now.options.kill_at_walltime else np.inf
        draws = Draws.of(Past.of(self.past, now.time_s, most_ratio=most), restarts.jobs, now.time_s)
        is_asked = restarts.jobs["job_id"].is_in(asked.implode()).to_numpy()
        starts = [_fork(restarts, draws, now.time_s, (self.seed, fork)) for fork in range(self.forks)]
        return restarts.jobs.filter(is_asked), np.stack(starts)[:, is_asked]


def _moved(
    found: pl.DataFrame, earlier: Sequence[pl.DataFrame], wait_s: Sequence[float], waited_s: Floats, levels: Any
) -> pl.DataFrame:
    """Predictions moved by the errors of earlier ones; a wait is not shorter than the time that has passed of it."""
    names = [_name(level) for level in levels]
    known = [(one.select(names).row(0), wait) for one, wait in zip(earlier, wait_s, strict=True)]
    known = [(row, wait) for row, wait in known if None not in row]
    if len(known) < _FEWEST_EARLIER:
        return found
    own = found.select(pl.col(names).fill_null(float("inf"))).to_numpy()
    order = np.argsort(levels)
    past = np.array([row for row, _ in known])[:, order]
    moved = np.empty_like(own)
    moved[:, order] = recalibrated(own[:, order], past, [wait for _, wait in known], [levels[at] for at in order])
    moved = np.maximum(moved, np.maximum(waited_s, 0.0)[:, None])
    return found.with_columns(pl.Series(name, _finite(moved[:, place])) for place, name in enumerate(names))


def _check(forks: object, levels: Sequence[float], seed: object, arrivals: object, recalibrate: object) -> None:
    faults = Faults()
    faults.whole("recalibrate", recalibrate, low=0, high=100_000)
    faults.whole("forks", forks, low=1, high=100_000)
    faults.whole("seed", seed, low=0, high=2**64 - 1)
    faults.choice("arrivals", arrivals, get_args(Arrivals))
    if not len(levels) or not all(0 < level < 1 for level in levels):
        faults.note("levels", shown(list(levels)), "numbers between 0 and 1, at least one")
    faults.check()


def _snapshot(state: object, platform: Platform | None, policy: Any) -> Snapshot:
    """The state, of a session or as it was given."""
    faults = Faults()
    if isinstance(state, Session):
        for name, value in (("platform", platform), ("policy", policy)):
            if value is not None:
                faults.note(name, "a value", "nothing with a session, which has one")
        if abs(state.reached_s) >= _UNTIL_S:
            faults.note("state", "a session that has not begun, or has ended", "one that was stepped to an instant")
        faults.check()
        return snapshot(state)
    if not isinstance(state, Mapping) or not {"time_s", "running", "queued"} <= set(state):
        faults.note("state", type(state).__name__, _STATE)
    elif platform is None:
        faults.note("platform", "nothing", "the platform of the state")
    else:
        faults.number("state.time_s", state["time_s"], low=-1e12, high=1e12)
        for name in ("running", "queued"):
            if not isinstance(state[name], pl.DataFrame):
                faults.note(f"state.{name}", type(state[name]).__name__, "a polars DataFrame")
    faults.check()
    assert isinstance(state, Mapping)
    assert platform is not None
    time_s, jobs = float(state["time_s"]), _jobs_of(state["running"], state["queued"])
    _check_instants(jobs, time_s)
    options = RunOptions(kill_at_walltime=False)
    return Snapshot(time_s, jobs, platform, policy_of("easy" if policy is None else policy), options)


def _jobs_of(running: pl.DataFrame, queued: pl.DataFrame) -> pl.DataFrame:
    """Running and waiting jobs as rows of one workload."""
    if "start_s" not in running.columns and len(running):
        raise ConfigError([("state.running", "no column start_s", "when each job started, seconds")])
    names = {one: f"observed_{one}" for one in _OF_RUN if one in running.columns}
    own = running.drop(*_LOG_ONLY, strict=False).rename(names)
    if "submit_s" not in own.columns and "observed_start_s" in own.columns:
        own = own.with_columns(pl.col("observed_start_s").alias("submit_s"))
    parts = [own, queued.drop(*_LOG_ONLY, *_OF_RUN, strict=False)]
    return _together(parts)


def _together(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Jobs of several frames, with columns for what draws say and what is observed."""
    try:
        jobs = pl.concat([part for part in parts if len(part.columns)], how="diagonal_relaxed")
    except (pl.exceptions.SchemaError, pl.exceptions.ShapeError, pl.exceptions.InvalidOperationError) as error:
        found = str(error).splitlines()[0]
        raise ConfigError([("jobs", found, "columns of the same types in all frames")]) from None
    missing = [
        pl.lit(value, pl.Float64).alias(name)
        for name, value in (("runtime_s", 0.0), ("observed_start_s", None))
        if name not in jobs.columns
    ]
    return jobs.with_columns(missing).with_columns(pl.col("runtime_s").fill_null(0.0))


def _check_instants(jobs: pl.DataFrame, time_s: float) -> None:
    faults = Faults()
    start, submit = pl.col("observed_start_s"), pl.col("submit_s")
    late = jobs.filter((start > time_s) | (start.is_null() & (submit > time_s)))
    for job_id in late["job_id"].head(5):
        faults.note("state", f"job {job_id} after time_s", f"jobs that started, or were submitted, by {time_s:g} s")
    faults.check()


def _with_jobs(now: Snapshot, jobs: pl.DataFrame | None) -> pl.DataFrame:
    """The jobs of the state, and those that are asked for besides."""
    if jobs is None:
        return _together([now.jobs])
    if not isinstance(jobs, pl.DataFrame):
        raise ConfigError([("jobs", type(jobs).__name__, "a polars DataFrame of jobs")])
    asked = jobs.drop(*_LOG_ONLY, *_OF_RUN, strict=False)
    if "submit_s" not in asked.columns:
        asked = asked.with_columns(pl.lit(now.time_s).alias("submit_s"))
    early = asked.filter(pl.col("submit_s") < now.time_s)
    if len(early):
        found = f"job {early['job_id'][0]} submitted before the state"
        raise ConfigError([("jobs", found, f"jobs that are submitted at {now.time_s:g} s or later")])
    return _together([now.jobs, asked])


def _with_arrivals(jobs: pl.DataFrame, past: pl.DataFrame, time_s: float) -> pl.DataFrame:
    """The same with the submits of the week before, a week later; under numbers of their own."""
    submit, now = ticks("submit_s"), instant(time_s)
    week = past.filter((submit > now - instant(_WEEK_S)) & (submit <= now))
    shared = [name for name in week.columns if name in jobs.columns and name not in (*_LOG_ONLY, "depends_on")]
    first = int(jobs["job_id"].max() or 0) + 1  # type: ignore[arg-type]
    moved = week.select(shared).with_columns(
        pl.col("submit_s") + _WEEK_S, pl.int_range(first, first + pl.len(), dtype=pl.Int64).alias("job_id")
    )
    return _together([jobs, moved])


def _fork(restarts: Restarts, draws: Draws, time_s: float, key: tuple[int, int]) -> Floats:
    """Starts of the jobs in one fork; NaN: never."""
    drawn = draws.runtimes(*key)
    jobs = restarts.jobs.with_columns(pl.Series("runtime_s", drawn))
    end = jobs["observed_start_s"].fill_null(np.nan).to_numpy() + drawn
    return restarts.starts(jobs, end, from_s=time_s, until_s=None)


def _summary(jobs: pl.DataFrame, starts: Floats, time_s: float, levels: Sequence[float]) -> pl.DataFrame:
    """A row a job: quantiles of its waits, their mean, and shares of forks."""
    submit = jobs["submit_s"].to_numpy()
    started = ~np.isnan(starts)
    waits = np.where(started, starts - submit, np.inf)
    with np.errstate(invalid="ignore"):
        quantiles = np.quantile(waits, list(levels), axis=0)
        means = np.where(started, waits, 0.0).sum(axis=0) / started.sum(axis=0)
    soon = (starts <= np.maximum(submit, time_s) + _HOUR_S).mean(axis=0)
    columns = {_name(level): _finite(values) for level, values in zip(levels, quantiles, strict=True)}
    more = {"mean_wait_s": _finite(means), "started_ratio": started.mean(axis=0), "within_1h_ratio": soon}
    return jobs.select("job_id").with_columns(pl.Series(name, own) for name, own in (columns | more).items())


def _name(level: float) -> str:
    digits = f"{level:.9f}".partition(".")[2].rstrip("0")
    return f"q{digits.ljust(2, '0')}"


def _finite(values: Floats) -> pl.Series:
    return pl.Series(np.where(np.isfinite(values), values, np.nan), nan_to_null=True)

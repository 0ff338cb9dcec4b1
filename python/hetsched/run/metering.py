"""`meter`: what a schedule that was made elsewhere takes, node by node."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import polars as pl

from hetsched import _core
from hetsched.errors import SimulationError
from hetsched.features import contracts
from hetsched.features.feature import Setting
from hetsched.files import frame_sha256
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.memory import check_memory
from hetsched.run.metered_schedule import NO_INSTANT, checked_starts, conflicts, raise_faults
from hetsched.run.options import RunKeywords, options_given, takes_run_options
from hetsched.run.outcome import result_of
from hetsched.run.result import Result
from hetsched.run.simulation import run_of
from hetsched.units import micros
from hetsched.workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes_run_options(without=("seed", "bound", "until_s", "predictor"))
def meter(
    workload: Workload,
    platform: Platform,
    starts: pl.DataFrame,
    **options: Unpack[RunKeywords],
) -> Result:
    """Check a schedule that was made elsewhere, and meter every node under it.

    The engine starts each job when and where `starts` says, and does the rest as in any run: the same draws, the same
    books of energy, the same frames.

    Parameters
    ----------
    workload
        The jobs.
    platform
        The machine, with the tables of its nodes' draw if there are any.
    starts
        One row a job: ``job_id``, ``start_s`` (seconds on the log's clock, or a Datetime), ``nodes`` (a list of node
        numbers, or text such as ``0-2 7``, as many as the job asks for) and, where it is known, ``end_s``. Other
        columns are left alone, so that rows of `Result.jobs` will do. A job without a row stays ``pending``, with a
        reason, and joins no queue.
    kill_at_walltime
        Whether a job that brings a walltime is killed at it.
    kill_grace_s, walltimes
        How long after it, and what it was meant for: as in `simulate`.
    on_unknown_app
        ``"error"``: an application that the platform's table does not hold is an error. ``"nominal"``: its jobs draw
        what they would without a table.
    events, contract
        Prices and carbon intensities, and a contract that the schedule is metered against: as in `simulate`.

    Returns
    -------
    Result
        Its ``provenance["metered"]`` says how many jobs the schedule holds, how many ends were given, and the sha256 of
        it. A job without ``end_s`` runs as long as its nodes take, or until its walltime. One with ``end_s`` ends then,
        whatever the platform's tables say: that is what happened. It counts as ``timeout`` if it ran for its walltime
        or longer and would have had to run on, and as ``completed`` otherwise.

    Raises
    ------
    ConfigError
        With every fault of the schedule, naming job, node and instant (the first twenty): a job that there is not or
        that comes twice, a start before the submission, an end before the start, too many or too few nodes, a node
        twice or beyond the platform, a missing value; two jobs on one node at once, or more slots than it has. As
        `simulate` otherwise.
    TraceError
        If a column of `starts` has a type that makes no sense there.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [60, 30], "node_count": [1, 2]})
    >>> platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    >>> mine = pl.DataFrame({"job_id": [1, 2], "start_s": [0, 60], "nodes": [[1], [0, 1]]})
    >>> result = meter(hs.Workload.from_polars(jobs), platform, mine)
    >>> result.jobs["end_s"].to_list(), result.summary()["energy_j"]
    ([60.0, 90.0], 42000.0)
    >>> meter(hs.Workload.from_polars(jobs), platform, mine.with_columns(start_s=pl.Series([0.0, 45.0])))
    Traceback (most recent call last):
    hetsched.errors.ConfigError: starts, job 2 at 45 s, nodes: found node 1, expected a free node: it serves job 1 from
    0 s to 60 s
    """
    policy = Policy(order="observed", backfill="observed", placement="observed", name="metered")
    run = run_of(workload, platform, policy, options_given(meter, options))
    schedule = checked_starts(starts, workload, platform)
    setting = Setting(workload, platform, policy, run.options, is_metered=True)
    contracts.check(setting)
    check_memory(workload, platform, policy, until_s=None)
    begun = time.perf_counter()
    engine = _core.Session(
        _as_told(workload, schedule),
        platform._machine,
        policy.to_dict(),
        on_unknown_app=run.options.on_unknown_app,
        **run.options.limits,
    )
    engine.step_until(None)
    records = engine.take_records()
    wall_s = time.perf_counter() - begun
    result = result_of(records, setting, wall_s=wall_s, more={"metered": _provenance(schedule)})
    if records.totals["late_starts"]:
        _raise_conflicts(result.jobs, schedule, platform)
    for concern in result.concerns:
        warnings.warn(str(concern), concern.category, stacklevel=2)
    return result


def _as_told(workload: Workload, schedule: pl.DataFrame) -> _core.JobColumns:
    """The jobs with the schedule's starts and nodes in place of what their log says."""
    told = schedule.select(
        "row", observed_start_s="start_s", observed_nodes="nodes", end_s=pl.col("end_s").fill_null(float("nan"))
    )
    jobs = workload.to_polars().drop("observed_start_s", "observed_nodes", strict=False).with_row_index("row")
    frame = jobs.join(told, on="row", how="left", maintain_order="left").drop("row")
    end_s = frame["end_s"].to_numpy() if schedule["end_s"].null_count() < len(schedule) else None
    told_jobs = Workload(frame.drop("end_s"), source=workload.source, report=workload.report, history=())
    return told_jobs._columns_ending(end_s)


def _provenance(schedule: pl.DataFrame) -> dict[str, Any]:
    """Record of the metered schedule; the order of its rows plays no part in the sum."""
    content = schedule.drop("row").sort("job_id")
    ends = len(schedule) - schedule["end_s"].null_count()
    return {"jobs": len(schedule), "ends": ends, "starts_sha256": frame_sha256(content)}


def _raise_conflicts(jobs: pl.DataFrame, schedule: pl.DataFrame, platform: Platform) -> None:
    """Say which jobs could not start when the schedule says, and because of which others."""
    run = jobs[schedule["row"]]
    start = pl.Series("start", micros(schedule["start_s"], NO_INSTANT))
    started, ended = (pl.Series(micros(run[name], NO_INSTANT)) for name in ("start_s", "end_s"))
    need = run["slots"].cast(pl.Int64).fill_null(int(platform.slots.min())) if not platform.exclusive else pl.lit(1)
    told = schedule.select("row", "job_id", "nodes", start, end=start + (ended - started), need=need)
    late = schedule["row"].filter(started > start).to_list()
    raise_faults(conflicts(told, late, platform))
    raise SimulationError(f"metered: {len(late)} jobs do not start when they were told to, and nothing is in their way")

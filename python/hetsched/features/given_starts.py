"""Placement apart from timing: what the run's own starts could have drawn at least, and on nodes chosen blindly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.bound.alike import alike_rows
from hetsched.bound.blind import energy_blind
from hetsched.bound.given import FOREVER, Given, in_whole, is_own
from hetsched.bound.rates import measured, row_rates, rows_of
from hetsched.bound.starts import Outages, StartsBound, energy_bound_starts
from hetsched.errors import ConfigError
from hetsched.features.eligibility import eligibility
from hetsched.features.feature import Ended, Metrics, Setting
from hetsched.features.queues import queueing_of
from hetsched.platform import Platform
from hetsched.run.stretches import RESIZED
from hetsched.units import TICKS_S, micros
from hetsched.workload.sizes import size_columns

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_DRAWN_RATIO = 1e-9
"""Energies of a job by the table and by the engine's whole picowatts differ by less than this."""

LARGE_NODES = 15
"""A job on more nodes than this is a large one."""

_NOTHING_TO_SAVE = 1e-12


def starts_metrics(ended: Ended, outages: pl.DataFrame) -> Metrics:
    """The metrics of a run's own starts, by their keys in a summary; `outages` as spans ``node, start, end``."""
    jobs = ended.jobs()
    given, is_in = given_of(ended)
    is_left_out = jobs["start_s"].is_not_null().to_numpy() & ~is_in
    left_out_j = float(jobs["energy_j"].to_numpy()[is_left_out].sum())
    bound = energy_bound_starts(given, spans_of(outages))
    blind_j, own_j = energy_blind(given), float(jobs["energy_j"].to_numpy()[is_in].sum())
    return {
        "energy_bound_starts_j": bound.energy_j,
        "energy_blind_j": blind_j,
        "placement_attained_ratio": share_of_blind(own_j, blind_j=blind_j, bound_j=bound.energy_j),
        "bound_left_out_jobs": int(is_left_out.sum()),
        "bound_left_out_energy_j": left_out_j,
        **_large_waits(jobs),
    }


def share_of_blind(own_j: float, *, blind_j: float, bound_j: float) -> float | None:
    """Saving against nodes chosen blindly, as a share of the most there is; None where there is nothing to save."""
    most_j = blind_j - bound_j
    return (blind_j - own_j) / most_j if most_j > _NOTHING_TO_SAVE * own_j else None


def certified_bound(ended: Ended, outages: pl.DataFrame) -> tuple[Given, StartsBound]:
    """The jobs of a run's bound, and the bound with what proves it."""
    given, _ = given_of(ended)
    return given, energy_bound_starts(given, spans_of(outages), certified=True)


def given_of(ended: Ended) -> tuple[Given, Mask]:
    """The jobs of the bound, and which rows of the run's jobs they are.

    A job is left out that failed or was killed, suspended, resized, or drew at any time what the table does not say.
    One that ended when the log or a schedule says keeps that length on any nodes.
    """
    setting, jobs = ended.setting, ended.jobs()
    whole = _ran_in_one_stretch(ended, jobs)
    rows = np.flatnonzero(whole)
    frame = jobs[rows]
    table = setting.platform.actual
    row, own_w = rows_of(frame["app"], table), measured(frame)
    own_w = np.where(is_own(row, own_w, setting.platform), own_w, 0.0)
    start, end = _instants(frame, ended)
    may_use, sets = _may_use(setting, rows, frame["nodes"])
    size = frame["nodes"].list.len().cast(pl.Int64).to_numpy()
    pace = _size_pace(setting, rows, size)
    is_killing, options = setting.options.kill_at_walltime, setting.options
    walltime = micros(frame["walltime_s"], FOREVER) if is_killing else np.full(len(frame), FOREVER)
    given = Given(
        row=row,
        own_w=own_w,
        start=start,
        size=size,
        runtime=micros(frame["nominal_runtime_s"]),
        pace=pace * _profiling_pace(setting, frame),
        comm=micros(frame["comm_s"], 0) if "comm_s" in frame.columns else np.zeros(len(frame), dtype=np.int64),
        walltime=walltime,
        walltime_pace=pace,
        left=_left(frame, start, ended),
        fixed=np.full(len(frame), -1, dtype=np.int64),
        may_use=may_use,
        sets=sets,
        platform=setting.platform,
        grace=round(options.kill_grace_s * TICKS_S),
        stretches=options.walltimes == "stretch",
    )
    has_given_ends = setting.is_metered or setting.needs("observed_starts")
    return _as_it_ran(given, frame, end, whole, has_given_ends=has_given_ends)


def _as_it_ran(
    given: Given, frame: pl.DataFrame, end: Ints, whole: Mask, *, has_given_ends: bool
) -> tuple[Given, Mask]:
    """The jobs that drew what the table says, those of other lengths than by the rules with the lengths they had.

    A given end is that on any nodes. Otherwise a scheduler has ended the job, such as Slurm's, which looks for jobs
    beyond their limits now and then: on other nodes it might have been done before.
    """
    slowest, watts = on_own_nodes(given, frame)
    ran = end - given.start
    drawn_j = watts * ran / TICKS_S
    is_plain = np.abs(frame["energy_j"].to_numpy() - drawn_j) <= _DRAWN_RATIO * drawn_j
    is_in = whole.copy()
    is_in[whole] = is_plain
    is_ruled = given.lengths(slowest) == ran
    if has_given_ends:
        given = replace(given, fixed=np.where(is_ruled, -1, ran))
    elif not is_ruled.all():
        walltime = np.where(is_ruled, given.walltime, FOREVER)
        given = replace(given, walltime=walltime, left=np.where(is_ruled, given.left, np.minimum(given.left, ran)))
    return given.some(is_plain), is_in


def on_own_nodes(given: Given, frame: pl.DataFrame) -> tuple[Floats, Floats]:
    """The largest time factor of each job's nodes, and their draws together."""
    busy_w = np.concatenate([one.per_node("busy_w") for one in given.platform.classes])
    nodes = frame["nodes"].explode().cast(pl.Int64).to_numpy() if len(frame) else np.empty(0, dtype=np.int64)
    first = np.cumsum(given.size) - given.size
    slowest, watts = np.ones(len(given)), np.zeros(len(given))
    if not len(frame):
        return slowest, watts
    job = np.repeat(np.arange(len(given)), given.size)
    factor, draws = np.ones(len(nodes)), np.zeros(len(nodes))
    for row in np.unique(given.row).tolist():
        for has_own in (False, True):
            of = ((given.row == row) & ((given.own_w > 0) == has_own))[job]
            time, fixed_w, ratio = row_rates(given.platform.actual, row, busy_w, is_own=has_own)
            factor[of] = time[nodes[of]]
            own_w = in_whole(given.own_w)[job[of]]
            draws[of] = in_whole(own_w * ratio[nodes[of]]) if has_own else in_whole(fixed_w)[nodes[of]]
    return np.maximum.reduceat(factor, first), np.add.reduceat(draws, first)


def _ran_in_one_stretch(ended: Ended, jobs: pl.DataFrame) -> Mask:
    """Jobs that started once, were neither suspended nor resized, and ended by themselves or still run."""
    ended_well = pl.col("state").is_in(["completed", "timeout", "running"])
    whole = ended_well & pl.col("start_s").is_not_null() & (pl.col("nodes").list.len() > 0)
    for name, most in (("attempts", 1), ("suspended_s", 0)):
        if name in jobs.columns:
            whole = whole & (pl.col(name).fill_null(most) <= most)
    events = ended.happened()
    resized = events.filter(pl.col("kind").is_in(RESIZED))["job_id"] if len(events) else None
    if resized is not None and len(resized):
        whole = whole & ~pl.col("job_id").is_in(resized.to_list())
    return jobs.select(whole.alias("whole"))["whole"].fill_null(value=False).to_numpy()


def _instants(frame: pl.DataFrame, ended: Ended) -> tuple[Ints, Ints]:
    """Starts and ends; those that still run end with the run."""
    window_end_s = ended.totals["window_end_s"] or 0.0
    return micros(frame["start_s"]), micros(frame["end_s"].fill_null(window_end_s))


def _left(frame: pl.DataFrame, start: Ints, ended: Ended) -> Ints:
    """From each start to the instant that stopped the run; `FOREVER` if it ran to its end."""
    is_stopped = ended.jobs()["state"].is_in(["running"]).any()
    until_s = ended.totals["window_end_s"] if is_stopped else _stop(ended)
    if until_s is None:
        return np.full(len(frame), FOREVER, dtype=np.int64)
    return np.asarray(np.maximum(micros(pl.Series([until_s]))[0] - start, 0))


def _stop(ended: Ended) -> float | None:
    """The option's instant, if jobs were still waiting or to come at it."""
    until_s = ended.setting.options.until_s
    return until_s if until_s is not None and (ended.jobs()["state"] == "pending").any() else None


def _size_pace(setting: Setting, rows: Ints, size: Ints) -> Floats:
    """Factor by which a run is longer at the size it has than at the one that was asked for."""
    columns = size_columns(setting.workload.to_polars())
    if not columns:
        return np.ones(len(rows))
    place = columns["size_offsets"][rows] + size - columns["min_nodes"][rows]
    return np.asarray(columns["time_ratios"][place], dtype=np.float64)


def _profiling_pace(setting: Setting, frame: pl.DataFrame) -> Floats:
    """Factor by which a first run under a policy that profiles is longer or shorter."""
    ratio = (setting.policy.parts["order"] or {}).get("profiling_ratio")
    if "profiled" not in frame.columns or ratio is None:
        return np.ones(len(frame))
    return np.where(frame["profiled"].fill_null(value=False).to_numpy(), float(ratio), 1.0)


def _may_use(setting: Setting, rows: Ints, nodes: pl.Series) -> tuple[Ints, Mask]:
    """The set of nodes that each job may use, and the sets.

    A job that ran elsewhere, as in a replay or a schedule that was made by hand, may use every node.
    """
    platform = setting.platform
    everywhere = np.ones((1, platform.nodes), dtype=np.bool_)
    queues, wants = _queue_sets(setting), _want_sets(setting)
    queue, want = queues.of_job[rows], wants.of_job[rows]
    first, of_pair = alike_rows(queue, want)
    own = [queues.sets[queue[row]] & wants.sets[want[row]] for row in first.tolist()]
    sets = np.vstack([everywhere, *own])
    may_use = of_pair + 1
    if len(rows):
        job = np.repeat(np.arange(len(rows)), nodes.list.len().to_numpy())
        is_allowed = sets[may_use[job], nodes.explode().to_numpy()]
        may_use[np.unique(job[~is_allowed])] = 0
    return may_use, sets


class _Sets:
    """Sets of nodes and the number of each job's."""

    def __init__(self, of_job: Ints, sets: Mask) -> None:
        self.of_job, self.sets = of_job, sets


def _queue_sets(setting: Setting) -> _Sets:
    """Nodes of the jobs' queues."""
    platform, jobs = setting.platform, setting.workload.to_polars()
    names = [queue.name for queue in platform.queues or ()]
    if not names or "queue" not in jobs.columns or not jobs["queue"].is_in(names).fill_null(value=False).all():
        # Queues mean nothing, as in a replay of jobs that name others.
        return _all_nodes(platform, len(jobs))
    queueing = queueing_of(setting.workload, platform)
    sets = [np.isin(np.arange(platform.nodes), queue.numbers) for queue in queueing.queues]
    return _Sets(queueing.of_job, np.array(sets))


def _want_sets(setting: Setting) -> _Sets:
    """Nodes with the features, GPUs and memory that the jobs ask for."""
    try:
        found = eligibility(setting.workload, setting.platform)
    except ConfigError:
        # A run that minds it does not begin: this one repeats what was, whatever the jobs asked for.
        found = None
    if found is None:
        return _all_nodes(setting.platform, len(setting.workload))
    sets = [np.isin(found.of_node, want.cells) for want in found.wants]
    return _Sets(found.of_job, np.array(sets))


def _all_nodes(platform: Platform, jobs: int) -> _Sets:
    return _Sets(np.zeros(jobs, dtype=np.int64), np.ones((1, platform.nodes), dtype=np.bool_))


def spans_of(outages: pl.DataFrame) -> Outages:
    """Outages as arrays, those of no length left out."""
    node, start, end = (outages[name].cast(pl.Int64).to_numpy() for name in ("node", "start", "end"))
    lasts = end > start
    return node[lasts], start[lasts], end[lasts]


def _large_waits(jobs: pl.DataFrame) -> Metrics:
    """Mean and longest wait of large jobs; None if there are none."""
    waits = jobs["wait_s"].filter(jobs["node_count"] > LARGE_NODES).drop_nulls().to_numpy()
    mean, longest = (float(waits.mean()), float(waits.max())) if len(waits) else (None, None)
    return {"large_mean_wait_s": mean, "large_max_wait_s": longest}

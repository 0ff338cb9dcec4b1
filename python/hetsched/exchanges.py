"""`hindsight`: the starts of a run that has ended, on the cheapest nodes that exchanges between nodes find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.bound import Given, energy_bound, energy_bound_starts
from hetsched.bound.given import FOREVER
from hetsched.bound.prices import RaisedBound, raised_bound
from hetsched.bound.search import Nodes, Search
from hetsched.bound.slots import StartLimits, exchanged_starts
from hetsched.bound.starts import StartsBound
from hetsched.checks import Faults, many
from hetsched.features.bound import outages_of
from hetsched.features.feature import Ended
from hetsched.features.given_starts import LARGE_NODES, given_of, on_own_nodes, spans_of
from hetsched.naming import named_in
from hetsched.run.options import check_bound
from hetsched.run.result import Result
from hetsched.units import TICKS_S, micros

_ROUNDS = 100
"""Number of times that exchanges are forced: most of the time that it takes where jobs are many."""

_STEPS = 600
"""Steps up of the bound: on two months of jobs the gap is a third of what it was after a tenth of them."""

_MOST_STEPS = 1_000_000

_MOST_SEED = 2**64 - 1

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@named_in("hetsched")
@dataclass(frozen=True, eq=False)
class Hindsight:
    """A schedule of a run's jobs on cheaper nodes. Made by `hetsched.hindsight`.

    Parameters
    ----------
    energy_j
        Job energy of the schedule: no more than the run's.
    bound_j
        Lower bound of the job energy of all schedules with these starts in which jobs stay on their nodes, and those
        that are left out on theirs; with ``starts=True``, of all schedules in the run's window.
    moving_bound_j
        The same where jobs may move at any instant: ``energy_bound_starts_j`` of these jobs, at the run's starts.
    run_energy_j
        Energy of the same jobs in the run.
    jobs
        The schedule, a row a job, for `hetsched.meter`: ``job_id, start_s, end_s, nodes``.
    left_out_jobs, left_out_energy_j
        Jobs that started and have no row, and their energy in the run. They keep their nodes.
    """

    energy_j: float
    bound_j: float
    moving_bound_j: float
    run_energy_j: float
    jobs: pl.DataFrame
    left_out_jobs: int
    left_out_energy_j: float

    @property
    def gap_ratio(self) -> float:
        """Upper limit of what there is left to save: (energy - bound) / bound; 0 without energy."""
        return (self.energy_j - self.bound_j) / self.bound_j if self.bound_j > 0 else 0.0

    @property
    def saved_ratio(self) -> float:
        """Share of the run's energy that the schedule saves; 0 without energy."""
        return 1.0 - self.energy_j / self.run_energy_j if self.run_energy_j > 0 else 0.0

    def __repr__(self) -> str:
        return (
            f"<Hindsight: {many(len(self.jobs), 'job')}, {self.saved_ratio:.3%} saved, "
            f"at most {self.gap_ratio:.3%} above the best>"
        )


def hindsight(result: Result, *, starts: bool = False, steps: int = _STEPS, seed: int = 0) -> Hindsight:
    """Find cheaper nodes for the jobs of a run, each started when it was and on as many nodes.

    It knows all starts and ends, which no policy does: what it saves is what better placement could have saved, and
    the bound says how much more there may be. Pairs of nodes exchange what they hold until no pair gains; then
    exchanges are forced at random, and kept where they lead to less. The bound is that of prices of jobs, raised step
    by step. Source: docs/background/bounds.md.

    Parameters
    ----------
    result
        The run, by `simulate`, `meter` or a session of this process.
    starts
        Whether jobs may start at other times, too: those of one size exchange starts and nodes, none before its submit,
        at the same mean wait, a mean turnaround and a longest wait of a large job (more than 15 nodes) that are no
        longer, within the run's window. The bound is then that of the window; the gap is shown, not claimed to be
        small. Limits other than nodes, such as a power budget or those of queues, are not looked at.
    steps
        Steps in which the bound is raised, most of the time that it takes; with 0 it is nearly the one given the
        starts.
    seed
        Of the random numbers: equal seeds, equal schedules.

    Returns
    -------
    Hindsight
        The schedule, its energy, and a lower bound of it. Jobs that the bound leaves out (suspended, failed, under
        caps) keep their nodes, and so do those of no length; neither has a row in the schedule. Where nodes differ in
        speed, a job lasts as long as the slowest of its nodes makes it, and the bound is further away.

    Raises
    ------
    ConfigError
        If the run was read from files, or if its nodes are shared; with `starts`, if it was stopped, or its jobs wait
        for each other (``depends_on``).

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [60, 90], "node_count": [1, 1]})
    >>> table = hs.VariationTable(["a"], power_w=[[300, 200, 100]])
    >>> machine = hs.Platform.homogeneous(nodes=3, idle_w=50, tdp_w=400, actual=table)
    >>> log = hs.Workload.from_polars(jobs.with_columns(app=pl.lit("a")))
    >>> found = hindsight(hs.simulate(log, machine, "fcfs"))
    >>> found.run_energy_j, found.energy_j, found.gap_ratio < 1e-9
    (36000.0, 21000.0, True)
    >>> found.jobs["nodes"].to_list()
    [[1], [2]]
    >>> hs.meter(log, machine, found.jobs).summary()["job_energy_j"]
    21000.0
    """
    ended = _checked(result, steps, seed, starts=starts)
    given, is_in = given_of(ended)
    frame = ended.jobs().with_columns(pl.col("end_s").fill_null(ended.totals["window_end_s"] or 0.0)).filter(is_in)
    ran = micros(frame["end_s"]) - given.start
    moves = (_lengths(given, frame) == ran) & (ran > 0)
    given, frame = given.some(moves), frame.filter(moves)
    is_in[is_in] = moves
    bound = energy_bound_starts(given, spans_of(outages_of(ended)), priced=True)
    search = Search.of(given, _closed(ended, is_in))
    nodes, raised = _found(search, frame, bound, (0 if starts else steps, seed))
    least_j = max(bound.energy_j, raised.energy_j if raised is not None else 0.0)
    if starts and len(frame):
        own = frame["nodes"].explode().cast(pl.UInt32).to_numpy()
        search, nodes = exchanged_starts(search, own, nodes, _limits(ended, given, frame), seed=seed)
        least_j = _window_bound(ended, is_in)
    schedule = _schedule(search, frame, nodes)
    left_out = ended.jobs().filter(~is_in).filter(pl.col("start_s").is_not_null())
    return Hindsight(
        energy_j=_energy(search.given, schedule),
        bound_j=least_j,
        moving_bound_j=bound.energy_j,
        run_energy_j=_energy(given, frame),
        jobs=schedule,
        left_out_jobs=len(left_out),
        left_out_energy_j=float(left_out["energy_j"].sum()),
    )


def _checked(result: object, steps: object, seed: object, *, starts: object) -> Ended:
    """Ingredients and records of a run."""
    faults = Faults()
    faults.flag("starts", starts)
    faults.whole("steps", steps, low=0, high=_MOST_STEPS)
    faults.whole("seed", seed, low=0, high=_MOST_SEED)
    ended = result._parts.ended if isinstance(result, Result) else None
    if not isinstance(result, Result):
        faults.add("result", result, "a Result of simulate or meter")
    elif ended is None:
        found = "a run that was read from files or made in another process"
        faults.note("result", found, "one of this process, which still has its jobs and its platform: run it here")
    else:
        check_bound("starts", ended.setting.platform, faults)
        if starts:
            _check_free(ended.jobs(), faults)
    faults.check()
    assert ended is not None
    return ended


def _check_free(jobs: pl.DataFrame, faults: Faults) -> None:
    """Refuse jobs whose starts depend on more than submits and nodes."""
    left = int(jobs["state"].is_in(["running", "pending"]).sum())
    if left:
        faults.note("starts", f"{many(left, 'job')} that had not ended when the run was stopped", "a run to its end")
    waits = int(jobs["depends_on"].is_not_null().sum()) if "depends_on" in jobs.columns else 0
    if waits:
        faults.note("starts", f"{many(waits, 'job')} that wait for others (depends_on)", "jobs that wait for none")


def _limits(ended: Ended, given: Given, frame: pl.DataFrame) -> StartLimits:
    submit = micros(frame["submit_s"])
    wait, is_large = given.start - submit, given.size > LARGE_NODES
    longest = np.full(len(given), FOREVER)
    longest[is_large] = wait[is_large].max(initial=0)
    return StartLimits(submit, longest, round((ended.totals["window_end_s"] or 0.0) * TICKS_S))


def _window_bound(ended: Ended, is_in: Mask) -> float:
    """Least job energy of these jobs in the run's window, at any starts."""
    setting = ended.setting
    window_s = (ended.totals["window_end_s"] or 0.0) - (ended.totals["window_start_s"] or 0.0)
    return energy_bound(ended.jobs().filter(is_in), setting.platform, window_s=window_s, **setting.options.limits)


def _lengths(given: Given, frame: pl.DataFrame) -> Ints:
    """Lengths of the jobs on the nodes of a frame, in microseconds."""
    slowest, _ = on_own_nodes(given, frame)
    return given.lengths(slowest)


def _energy(given: Given, frame: pl.DataFrame) -> float:
    """Joules of the jobs on the nodes of a frame."""
    slowest, watts = on_own_nodes(given, frame)
    return float((watts * given.lengths(slowest) / TICKS_S).sum())


def _schedule(search: Search, frame: pl.DataFrame, nodes: Nodes) -> pl.DataFrame:
    """The frame of a schedule on these nodes."""
    given = search.given
    found = frame.select("job_id", "start_s", "end_s", nodes=search.column(nodes, frame["nodes"].dtype))
    if (given.start != micros(frame["start_s"])).any():
        found = found.with_columns(start_s=pl.Series(given.start / TICKS_S))
    elif search.is_alike:
        return found
    return found.with_columns(end_s=pl.Series((given.start + _lengths(given, found)) / TICKS_S))


def _closed(ended: Ended, is_in: Mask) -> tuple[Ints, Ints, Ints]:
    """Nodes, and from when until when they take no job: out of service, or in the hands of a job that stays."""
    window_end_s = ended.totals["window_end_s"] or 0.0
    stays = ended.jobs().filter(~is_in)["job_id"]
    held = ended.segments().filter(pl.col("job_id").is_in(stays.implode())).select("nodes", "start_s", "end_s")
    spans = pl.DataFrame(
        {
            "node": held["nodes"],
            "start": micros(held["start_s"]),
            "end": micros(held["end_s"].fill_null(window_end_s)),
        }
    )
    served = spans.explode("node").drop_nulls().with_columns(pl.col("node").cast(pl.Int64))
    out = zip(spans_of(served), spans_of(outages_of(ended)), strict=True)
    node, start, end = (np.concatenate(both) for both in out)
    return node, start, end


def _found(
    search: Search, frame: pl.DataFrame, bound: StartsBound, effort: tuple[int, int]
) -> tuple[Nodes, RaisedBound | None]:
    """Nodes of each job, from the run's own or from prices, whichever is less; and the bound of the raised prices."""
    own = frame["nodes"].explode().cast(pl.UInt32).to_numpy() if len(frame) else np.empty(0, dtype=np.uint32)
    if not len(frame) or bound.prices is None:
        return own, None
    steps, seed = effort
    nodes = search.exchanged(own, rounds=0, seed=seed)
    raised = raised_bound(search.given, bound.prices, search.closed, steps=steps, target_j=search.energy_j(nodes))
    other = search.by_prices(bound.prices.demand, raised.price) if search.is_alike else None
    if other is not None:
        other = search.exchanged(other, rounds=0, seed=seed)
        nodes = min(nodes, other, key=search.energy_j)
    return search.exchanged(nodes, rounds=_ROUNDS, seed=seed) if search.is_alike else nodes, raised

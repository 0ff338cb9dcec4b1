"""`hindsight`: the starts of a run that has ended, on the cheapest nodes that exchanges between nodes find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched import _core
from hetsched.bound import Given, energy_bound_starts
from hetsched.checks import Faults, many
from hetsched.features.bound import outages_of
from hetsched.features.feature import Ended
from hetsched.features.given_starts import given_of, on_own_nodes, spans_of
from hetsched.naming import named_in
from hetsched.run.options import check_bound
from hetsched.run.result import Result
from hetsched.units import TICKS_S, micros

_ROUNDS = 100
"""Number of times that exchanges are forced: most of the time that it takes where jobs are many."""

_MOST_SEED = 2**64 - 1

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@named_in("hetsched")
@dataclass(frozen=True, eq=False)
class Hindsight:
    """A schedule with the starts of a run on cheaper nodes. Made by `hetsched.hindsight`.

    Parameters
    ----------
    energy_j
        Job energy of the schedule: no more than the run's.
    bound_j
        Lower bound of the job energy of all schedules with these starts: ``energy_bound_starts_j``.
    run_energy_j
        Energy of the same jobs in the run.
    jobs
        The schedule, a row a job, for `hetsched.meter`: ``job_id, start_s, end_s, nodes``.
    left_out_jobs, left_out_energy_j
        Jobs that started and have no row, and their energy in the run. They keep their nodes.
    """

    energy_j: float
    bound_j: float
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


def hindsight(result: Result, *, seed: int = 0) -> Hindsight:
    """Find cheaper nodes for the jobs of a run, each started when it was and on as many nodes.

    It knows all starts and ends, which no policy does: what it saves is what better placement could have saved, and
    the bound says how much more there may be. Pairs of nodes exchange what they hold until no pair gains; then
    exchanges are forced at random, and kept where they lead to less. Source: docs/background/bounds.md.

    Parameters
    ----------
    result
        The run, by `simulate`, `meter` or a session of this process. Nodes may differ in draw, not in speed.
    seed
        Of the random numbers: equal seeds, equal schedules.

    Returns
    -------
    Hindsight
        The schedule, its energy, and a lower bound of it. Jobs that the bound leaves out (suspended, failed, under
        caps) keep their nodes, and so do those of no length; neither has a row in the schedule.

    Raises
    ------
    ConfigError
        If the run was read from files, if its nodes are shared, or if a job would last longer on other nodes.

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
    ended = _checked(result, seed)
    given, is_in = given_of(ended)
    _refuse_lengths_by_node(given)
    frame = ended.jobs().with_columns(pl.col("end_s").fill_null(ended.totals["window_end_s"] or 0.0)).filter(is_in)
    ran = micros(frame["end_s"]) - given.start
    moves = (given.least == ran) & (ran > 0)
    given, frame = given.some(moves), frame.filter(moves)
    is_in[is_in] = moves
    outages = spans_of(outages_of(ended))
    schedule = frame.select("job_id", "start_s", "end_s", nodes=_placed(given, frame, _closed(ended, is_in), seed))
    left_out = ended.jobs().filter(~is_in).filter(pl.col("start_s").is_not_null())
    return Hindsight(
        energy_j=_energy(given, schedule),
        bound_j=energy_bound_starts(given, outages).energy_j,
        run_energy_j=_energy(given, frame),
        jobs=schedule,
        left_out_jobs=len(left_out),
        left_out_energy_j=float(left_out["energy_j"].sum()),
    )


def _checked(result: object, seed: object) -> Ended:
    """Ingredients and records of a run."""
    faults = Faults()
    faults.whole("seed", seed, low=0, high=_MOST_SEED)
    ended = result._parts.ended if isinstance(result, Result) else None
    if not isinstance(result, Result):
        faults.add("result", result, "a Result of simulate or meter")
    elif ended is None:
        found = "a run that was read from files or made in another process"
        faults.note("result", found, "one of this process, which still has its jobs and its platform: run it here")
    else:
        check_bound("starts", ended.setting.platform, faults)
    faults.check()
    assert ended is not None
    return ended


def _refuse_lengths_by_node(given: Given) -> None:
    differing = sum(int((~cell.is_alike_for).sum()) for cell in given.cells)
    faults = Faults()
    if differing:
        found = f"{many(differing, 'job')} whose length depends on the nodes"
        faults.note("result", found, "nodes that differ in draw, not in speed: no other placement keeps these ends")
    faults.check()


def _energy(given: Given, frame: pl.DataFrame) -> float:
    """Joules of the jobs on the nodes of a frame."""
    _, watts = on_own_nodes(given, frame)
    return float((watts * given.least / TICKS_S).sum())


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


def _placed(given: Given, frame: pl.DataFrame, closed: tuple[Ints, Ints, Ints], seed: int) -> pl.Series:
    """Nodes of each job, in ascending order."""
    if not len(given):
        return frame["nodes"]
    cost, row, scale = _costs(given)
    interval = np.repeat(np.arange(len(given), dtype=np.uint32), given.size)
    on = frame["nodes"].explode().cast(pl.UInt32).to_numpy()
    intervals = (row, scale, given.start, given.start + given.least)
    out = (closed[0].astype(np.uint32), closed[1], closed[2])
    _, nodes, *_ = _core.cheaper_placement(cost, intervals, (interval, on), out, rounds=_ROUNDS, seed=seed)
    # By job: as many as it had.
    first = np.cumsum(given.size) - given.size
    of_job = pl.DataFrame({"job": np.repeat(np.arange(len(first)), given.size), "node": nodes})
    return of_job.group_by("job", maintain_order=True).agg("node")["node"].cast(frame["nodes"].dtype)


def _costs(given: Given) -> tuple[Floats, npt.NDArray[np.uint32], Floats]:
    """Watts, or factors on own watts, by row and node (inf where a job may not be); row and factor of each job."""
    cells = given.cells
    cost = np.full((len(cells), given.sets.shape[1]), np.inf)
    row, scale = np.zeros(len(given), dtype=np.uint32), np.ones(len(given))
    for place, cell in enumerate(cells):
        cost[place, cell.nodes] = cell.factor if cell.is_own else cell.fixed_w
        row[cell.jobs] = place
        if cell.is_own:
            scale[cell.jobs] = cell.given.own_w
    return cost, row, scale

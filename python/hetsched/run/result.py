"""`Result`: what a run did, as frames and numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from hetsched.checks import Faults, many
from hetsched.naming import named_in
from hetsched.notebook import card
from hetsched.reported import Reported, Written, page_by_name
from hetsched.resources import check_threads
from hetsched.run.batsim_files import write_batsim
from hetsched.run.concerns import Concern
from hetsched.run.metrics import METRICS
from hetsched.run.result_files import read_files, write_files
from hetsched.run.stretches import empty, segments_of_jobs

if TYPE_CHECKING:
    from hetsched.features.feature import Ended


@dataclass(frozen=True)
class Parts:
    """Parts of a result, each made when it is first asked for."""

    jobs: Callable[[], pl.DataFrame]
    timeline: Callable[[], pl.DataFrame]
    nodes: Callable[[], pl.DataFrame]
    summary: Callable[[pl.DataFrame], dict[str, Any]]
    provenance: Callable[[], dict[str, Any]]
    timing: dict[str, float]
    concerns: tuple[Concern, ...] = ()
    segments: Callable[[], pl.DataFrame] | None = None
    alone: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    """From the jobs to the segments of a run in which each attempt is one; None: it was read from files."""
    """None: every attempt is one stretch, which the jobs show."""
    events: Callable[[], pl.DataFrame] | None = None
    """None: nothing happened besides starts and ends."""
    ended: Ended | None = None
    """Ingredients and records of the run; None: it was read from files, or came from another process."""


class _Kept:
    """A property of a frame, made once and handed out as a copy: a caller's changes in place stay the caller's."""

    def __init__(self, make: Callable[[Any], pl.DataFrame]) -> None:
        self._make, self._name = make, f"_{make.__name__}"
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, result: None, owner: type) -> _Kept: ...
    @overload
    def __get__(self, result: object, owner: type) -> pl.DataFrame: ...
    def __get__(self, result: object | None, owner: type) -> _Kept | pl.DataFrame:
        if result is None:
            return self
        made = vars(result)
        if self._name not in made:
            made[self._name] = self._make(result)
        frame: pl.DataFrame = made[self._name]
        return frame.clone()


@named_in("hetsched")
class Result(Reported):
    """The outcome of a run. Made by `hetsched.simulate` and `hetsched.read_result`.

    Parameters
    ----------
    parts
        What it consists of.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 100], "runtime_s": [60, 60], "node_count": [2, 1]})
    >>> result = hs.simulate(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300))
    >>> result.jobs.select("job_id", "start_s", "energy_j").rows()
    [(1, 0.0, 36000.0), (2, 100.0, 18000.0)]
    >>> result.summary()["idle_energy_j"]
    14000.0
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @_Kept
    def jobs(self) -> pl.DataFrame:
        """One row a job, in the workload's order.

        Columns: ``job_id, user, queue, app, submit_s, start_s, end_s, runtime_s`` (end - start) ``, walltime_s, wait_s,
        turnaround_s, bounded_slowdown, node_count, slots, nodes`` (their numbers, ascending) ``, energy_j,
        mean_power_w`` (of all its nodes together) ``, started_by`` (immediate, backfill, reservation) ``, state,
        reason, nominal_runtime_s``; under a policy that profiles first runs ``profiled``, whether the run was such a
        one; where the policy does something about draws above the budget (``on_excess``) or changes the sizes of jobs
        that run (then ``nodes`` are those at its end) ``attempts, suspended_s, lost_energy_j``, and where nodes may be
        capped ``lowest_cap_w``; where a queue preempts others ``suspended_s``; then the workload's other columns. Times
        of a job that never started are null. On a platform whose nodes have names ``node_names`` are those of `nodes`.
        """
        check_threads()
        return self._parts.jobs()

    @_Kept
    def timeline(self) -> pl.DataFrame:
        """One row an instant at which power or occupancy changed; values hold until the next row.

        Columns: ``time_s, power_w, busy_nodes, idle_nodes, sleeping_nodes, transition_nodes, down_nodes, queued_jobs,
        running_jobs``; with budgets in time ``budget_w``, and where jobs may be suspended ``suspended_jobs``. The first
        and last rows are the run's two ends.
        """
        return self._parts.timeline()

    @_Kept
    def nodes(self) -> pl.DataFrame:
        """One row a node: ``node, busy_s, idle_s, off_s, transition_s, down_s, energy_j, boots, shutdowns``.

        On a platform whose nodes have names also ``node_name``, as in `events`.
        """
        return self._parts.nodes()

    @_Kept
    def segments(self) -> pl.DataFrame:
        """One row a stretch of a job's attempt in which its nodes, its caps, its speed and its draw stay as they are.

        Columns: ``job_id, attempt`` (from 1) ``, start_s, end_s, nodes, cap_w`` (in force, mean of its nodes; null: one
        has none) ``, speed_ratio`` (1 = nominal) ``, power_w`` (of all its nodes) ``, energy_j, state`` (``running``,
        ``suspended``: 0 W at speed 0). A malleable job runs at speed 0 for its ``resize_s`` after a change of nodes. By
        row of the job, then by time. In a run without power caps, emergencies and malleable jobs every started job has
        one row; if that run was read from files, ``speed_ratio`` is null unless the job
        completed. A stretch that still lasts where the run was stopped ends there.
        """
        own, alone = self._parts.segments, self._parts.alone
        if own is not None:
            return own()
        stopped_s = self.provenance.get("options", {}).get("until_s")
        return segments_of_jobs(self.jobs, end_s=stopped_s) if alone is None else alone(self.jobs)

    @_Kept
    def events(self) -> pl.DataFrame:
        """Events of budget, nodes and jobs besides starts and ends, in order.

        Columns: ``time_s, kind, job_id, node, value, power_before_w, power_after_w`` (of the whole machine, just before
        and after). Kinds: ``budget`` (value: W from now on), ``alert`` (the draw is above it), ``lower-cap``,
        ``raise-cap`` (the job's cap; null: none), ``suspend``, ``resume``, ``requeue``, ``kill``, ``cancel``; of a node
        ``failed``, ``repaired``, ``out``, ``back`` (maintenance), ``wake``, ``ready``, ``sleep``, ``off``; of a
        malleable job ``grow``, ``shrink`` (value: how many nodes it has from now on).
        """
        own = self._parts.events
        return empty("events") if own is None else own()

    @property
    def has_segments(self) -> bool:
        """True if jobs may have run in several stretches: `segments` says more than `jobs`."""
        return self._parts.segments is not None

    @property
    def _frames(self) -> dict[str, pl.DataFrame]:
        """The frames that have files of their own."""
        optional = {"segments": self.segments if self.has_segments else None, "events": self.events}
        own = {name: frame for name, frame in optional.items() if frame is not None and len(frame)}
        return {"jobs": self.jobs, "timeline": self.timeline, "nodes": self.nodes, **own}

    def summary(self) -> dict[str, Any]:
        """The metrics of the run, by the keys of `hetsched.analysis.METRICS`, which has their titles and units.

        Returns
        -------
        dict
            Every metric that applies, in the unit of its key's suffix: ``jobs``, the seven states that they are the sum
            of, ``makespan_s, energy_j``, the five energies that it is the sum of, and so on. Where nothing started,
            means and shares are 0. None: what is not known, such as ``budget_w`` without a budget,
            ``offered_load_ratio`` where all jobs are submitted at one instant, and ``energy_per_work_j_per_node_s``
            where no work was done. Optional metrics (`Metric.is_optional`) are there only where they apply: with
            ``bound=True`` the least energies that placement and sleep could reach; with prices, carbon intensities and
            contracts what energy costs and emits; with steps in ``on_excess`` what they did.

        Examples
        --------
        >>> import hetsched as hs
        >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [60, 60], "node_count": [1, 2]})
        >>> log, machine = hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
        >>> summary = hs.simulate(log, machine, "fcfs").summary()
        >>> summary["jobs"], summary["mean_wait_s"]
        (2, 30.0)
        """
        return dict(self._summary)

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return self._parts.summary(self.jobs)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Enough to repeat the run: version, seed, policy, options, sha256 of trace, platform and tables.

        Also ``energy_balance``: the integral of system power (``integral_j``), the sum of its parts (``parts_j``) and
        how far the two are apart (``relative_error``); ``counts`` of the run; and the trace's ``report``.
        """
        return self._parts.provenance()

    @property
    def timing(self) -> dict[str, float]:
        """Cost of the run: ``wall_s`` and ``jobs_per_s``. The only thing that differs between equal runs."""
        return dict(self._parts.timing)

    @property
    def concerns(self) -> tuple[Concern, ...]:
        """Concerns about the run, as `hetsched.simulate` warned of them; empty if it was read from files."""
        return self._parts.concerns

    def write(self, folder: str | os.PathLike[str], *, csv: bool = False) -> None:
        """Write the result to a folder, for `hetsched.read_result` and others.

        ``jobs.parquet``, ``timeline.parquet``, ``nodes.parquet`` and ``summary.json`` (the summary, all of the
        provenance, the timing, the sha256 of every other file); ``segments.parquet`` where jobs do not run in one
        stretch, and ``events.parquet`` where there are any. Each is written under a temporary name and renamed when
        all are whole: a failure leaves nothing half-written. Others may write to the folder, and read it, meanwhile.

        Parameters
        ----------
        folder
            Made if it is not there; files of the same names in it are replaced.
        csv
            Whether to write ``jobs.csv`` as well, nodes as ``3 5 8``.

        Raises
        ------
        ConfigError
            If `folder` is no folder's name, such as an empty text.
        OutputError
            If a file cannot be written.
        """
        faults = Faults()
        faults.folder("folder", folder)
        faults.check()
        numbers = {"summary": self.summary(), **self.provenance, "timing": self.timing}
        write_files(Path(folder), self._frames, numbers, csv=csv)

    def _page(self, *, title: str = "", assumed: Sequence[str] = (), command: str = "") -> Written:
        return page_by_name("runs", self, title=title, assumed=assumed, command=command)

    def to_batsim_csv(self, prefix: str | os.PathLike[str]) -> None:
        """Write the schedule as Batsim does, for evalys and others: files whose names begin with `prefix`.

        ``PREFIX_jobs.csv`` has a row a job that ended or was rejected, in Batsim's columns; ``profile`` is the column
        of that name, the application, or the job's number. ``PREFIX_schedule.csv`` has totals, and means over the jobs
        that ran. ``PREFIX_machine_states.csv`` has a row an instant at which anything changed: ``time, nb_sleeping``
        (nodes that are off or down) ``, nb_switching_on, nb_switching_off, nb_idle, nb_computing``.

        Parameters
        ----------
        prefix
            Beginning of the files' paths.

        Raises
        ------
        ConfigError
            If `prefix` is no beginning of a file's name.
        OutputError
            If a file cannot be written.
        """
        frames = {"jobs": self.jobs, "nodes": self.nodes, "timeline": self.timeline, "events": self.events}
        write_batsim(prefix, frames, energy_j=self._summary["energy_j"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        return (
            self._summary == other._summary
            and self.provenance == other.provenance
            and _are_equal(self._frames, other._frames)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return _finished, (self._frames, self._summary, self.provenance, self.timing, self._parts.concerns)

    def __repr__(self) -> str:
        summary = self._summary
        return (
            f"<Result: {self.provenance['policy']['name']}, {summary['jobs']:,} jobs, "
            f"{summary['makespan_s'] / 3600:,.1f} h, {summary['energy_j'] / 3.6e6:,.1f} kWh>"
        )

    def _repr_html_(self) -> str:
        name, nodes = self.provenance["policy"]["name"], self.provenance["platform"]["nodes"]
        facts = {METRICS[key].title: METRICS[key].text(self._summary[key]) for key in _ON_CARDS}
        return card(f"{name} on {many(nodes, 'node')}: {self.provenance['trace']['name']}", facts)


_ON_CARDS = (
    "jobs",
    "completed",
    "makespan_s",
    "energy_j",
    "mean_wait_s",
    "p95_wait_s",
    "max_wait_s",
    "utilization_ratio",
)


def _are_equal(here: Mapping[str, pl.DataFrame], there: Mapping[str, pl.DataFrame]) -> bool:
    return here.keys() == there.keys() and all(frame.equals(there[name]) for name, frame in here.items())


def read_result(folder: str | os.PathLike[str]) -> Result:
    """Read back what `Result.write` wrote.

    Parameters
    ----------
    folder
        Where it was written to.

    Returns
    -------
    Result
        Equal to the one that was written.

    Raises
    ------
    TraceError
        If a file is missing or is not what `Result.write` writes; if the files are not of one write, because a run was
        killed while it replaced an older result or a file was changed since.

    Examples
    --------
    >>> read_result("nowhere")
    Traceback (most recent call last):
    hetsched.errors.TraceError: nowhere/summary.json: found no such file, expected a file written by Result.write
    """
    check_threads()
    frames, numbers = read_files(Path(folder))
    summary, timing = numbers.pop("summary"), numbers.pop("timing")
    return _finished(frames, summary, numbers, timing)


def _finished(
    frames: dict[str, pl.DataFrame],
    summary: dict[str, Any],
    provenance: dict[str, Any],
    timing: dict[str, float],
    concerns: tuple[Concern, ...] = (),
) -> Result:
    return Result(
        Parts(
            jobs=lambda: frames["jobs"],
            timeline=lambda: frames["timeline"],
            nodes=lambda: frames["nodes"],
            summary=lambda _: summary,
            provenance=lambda: provenance,
            timing=timing,
            concerns=concerns,
            segments=(lambda: frames["segments"]) if "segments" in frames else None,
            events=(lambda: frames["events"]) if "events" in frames else None,
        )
    )

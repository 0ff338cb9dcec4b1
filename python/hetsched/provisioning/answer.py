"""`hetsched.provision`: how many nodes a power budget feeds, by a published guideline, by its steady state, by trial.

The guideline is that of Sakamoto et al., IPDPS 2017, for processors (CPUs, sockets) whose jobs run under power caps.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import Any

import polars as pl
from rich.console import Console

from hetsched.analysis import mean_and_half_width
from hetsched.checks import Faults, plain
from hetsched.files import write_files
from hetsched.many.executors import Where, check_where
from hetsched.many.progress import Reporting, check_progress
from hetsched.many.runs import RunTask, answers_of
from hetsched.naming import named_in
from hetsched.notebook import card
from hetsched.provisioning.budget import Budget
from hetsched.report.page.document import Page
from hetsched.report.page.provisions import page_of_provision
from hetsched.report.provisions import METRICS, guideline_lines, tables
from hetsched.report.tables import console_table
from hetsched.reported import Reported
from hetsched.run.options import RunOptions
from hetsched.run.outcome import origin_of
from hetsched.run.result import Result
from hetsched.run.simulation import Run, run_of
from hetsched.workload import Workload

_MOST_SEEDS = 10_000


@named_in("hetsched")
@dataclass(frozen=True, repr=False)
class Provision(Reported):
    """Number of CPUs that a budget feeds. Made by `hetsched.provision`.

    Parameters
    ----------
    budget_w, base_w, mix, sockets
        What was asked.
    guideline
        A row a number of nodes: ``nodes, cpus, effective_w`` (budget - base of all CPUs) ``, mean_w, available_cpus,
        effective_cpus`` (available ones, no more than there are), and the same in the steady state:
        ``steady_mean_w, steady_available_cpus, steady_effective_cpus``.
    runs
        A row a run of the log: ``nodes, seed``, the metrics of `table`, and ``completed, timeout, rejected, pending``.
        None without a log.
    provenance
        As `Result.provenance`, of the first run, without what is found in its course; None without a log.
    """

    budget_w: float
    base_w: float
    mix: Mapping[float, float]
    sockets: int
    guideline: pl.DataFrame
    runs: pl.DataFrame | None = None
    provenance: Mapping[str, Any] | None = None

    @property
    def best_cpus(self) -> dict[str, float]:
        """The number of CPUs of which all can just run: by the ``guideline``, and in the ``steady`` state."""
        return self._budget.best_cpus

    @cached_property
    def table(self) -> pl.DataFrame | None:
        """A row a number of nodes and metric, over seeds: ``nodes, metric, runs, mean, half_width_95``.

        Metrics: ``throughput_jobs_per_hour, mean_turnaround_s, utilization_ratio`` (of the nodes) ``,
        power_utilization_ratio`` (draw of nodes that serve jobs / budget) ``, drawn_ratio`` (whole draw / budget) ``,
        idle_energy_j`` (wasted). None without a log.
        """
        if self.runs is None:
            return None
        rows = []
        for (nodes,), own in self.runs.group_by("nodes", maintain_order=True):
            for key in METRICS:
                mean, half_width = mean_and_half_width(own[key].to_numpy())
                found = {"nodes": nodes, "metric": key, "runs": len(own), "mean": mean, "half_width_95": half_width}
                rows.append(found)
        return pl.DataFrame(rows, schema_overrides={"half_width_95": pl.Float64})

    @property
    def notes(self) -> list[str]:
        """Both readings with their numbers, and what a reader should know of the runs."""
        lines = guideline_lines(self)
        if self.runs is not None:
            for state in ("timeout", "rejected", "pending"):
                counts = (
                    self.runs.group_by("nodes", maintain_order=True).agg(pl.col(state).max()).filter(pl.col(state) > 0)
                )
                each = ", ".join(f"{count:,} on {nodes:,} nodes" for nodes, count in counts.iter_rows())
                lines += [f"{_STATES[state]}: {each}"] if each else []
        return lines

    @property
    def _budget(self) -> Budget:
        return Budget(self.budget_w, self.base_w, self.mix, self.sockets)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count:,}" for count in self.guideline["nodes"])
        return f"<Provision: {self.budget_w:,.6g} W{f', {counts} nodes' if counts else ''}>"

    def __str__(self) -> str:
        """The tables and the notes, as ``hetsched provision`` shows them."""
        console = Console(width=80, file=StringIO(), highlight=False)
        with console.capture() as captured:
            for table in self._console_tables():
                console.print(table)
        lines = [line.rstrip() for line in captured.get().splitlines()]
        return "\n".join([*lines, *self.notes]).strip("\n")

    def _console_tables(self) -> list[Any]:
        """Tables for a terminal: both readings, and the trial if there was one."""
        return [console_table(table) for table in tables(self)]

    def _page(self, *, title: str = "", assumed: Sequence[str] = (), command: str = "") -> Page:
        return page_of_provision(self, title=title, assumed=assumed, command=command)

    def _repr_html_(self) -> str:
        frames = [self.guideline, *([] if self.table is None else [self.table])]
        return card(repr(self).strip("<>"), None, *(frame._repr_html_() for frame in frames), notes=self.notes)

    def write(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write ``guideline.csv`` and, with a log, ``provision.csv`` and ``runs.csv``; gives their names."""
        frames = {"guideline": self.guideline, "provision": self.table, "runs": self.runs}
        known = {name: frame for name, frame in frames.items() if frame is not None}
        return write_files(folder, {f"{name}.csv": frame.write_csv().encode() for name, frame in known.items()})

    def to_dict(self) -> dict[str, Any]:
        """Values as JSON holds them: ``summary`` has both readings of the best number of CPUs."""
        asked = {"budget_w": self.budget_w, "base_w": self.base_w, "sockets": self.sockets}
        return {
            "summary": {f"{name}_best_cpus": cpus for name, cpus in self.best_cpus.items()},
            "parameters": {**asked, "mix": {f"{cap_w:g}": weight for cap_w, weight in self.mix.items()}},
            "guideline": self.guideline.to_dicts(),
            "provision": None if self.table is None else self.table.to_dicts(),
            "runs": None if self.runs is None else self.runs.to_dicts(),
        }


_STATES = {
    "timeout": "killed at their walltime",
    "rejected": "rejected, as they need more nodes or watts than there are",
    "pending": "never started",
}


def provision(
    budget_w: float,
    base_w: float,
    mix: Mapping[float, float],
    *,
    nodes: Sequence[int] = (),
    sockets: int = 1,
    workload: Workload | None = None,
    seeds: int = 1,
    seed: int = 0,
    progress: Reporting = "bar",
    executor: Executor | str | None = None,
) -> Provision:
    """Find the number of nodes that a power budget feeds if jobs run under caps, as ``hetsched provision`` does.

    Two readings and a trial. The guideline of Sakamoto et al. (IPDPS 2017): ``effective_w`` = budget - base × installed
    CPUs; available CPUs = that / mean cap; effective CPUs = the smaller of available and installed. It counts the base
    of running CPUs twice, and takes each cap by its share of jobs. The steady state weights caps by the time that their
    jobs run, and takes off the base once: (budget - base × installed) / (mean - base).

    Parameters
    ----------
    budget_w
        Watts of the whole machine.
    base_w
        Watts of a CPU that is installed and serves no job.
    mix
        From a cap, watts a CPU, to its share of the jobs: ``{85: 3, 70: 2, 55: 1}``. The highest is the draw without a
        cap; speed goes with the watts above `base_w`.
    nodes
        Numbers of nodes to look at.
    sockets
        CPUs a node.
    workload
        Jobs to run on each of `nodes`, under the preset ``power-slurm`` with this budget. Each gets a cap, drawn by the
        mix and the seed, and a walltime as much longer as the cap makes it. Its ``power_w`` and ``app`` are not used:
        it draws its cap.
    seeds
        How many runs of each number of nodes, with caps drawn again.
    seed
        The first seed.
    progress
        As in `hetsched.compare`.
    executor
        Where to run the workload, in place of threads of this process, as in `hetsched.sweep`.

    Returns
    -------
    Provision
        Its ``guideline``, ``table`` and ``runs`` are frames.

    Raises
    ------
    ConfigError
        If anything is invalid; lists all of it.

    Examples
    --------
    >>> found = provision(100e3, 25, {85: 1, 70: 1, 55: 1}, nodes=[680], sockets=2)
    >>> found.guideline.select("effective_w", "mean_w", "available_cpus", "effective_cpus").rows()
    [(66000.0, 70.0, 942.857..., 942.857...)]
    >>> found.guideline.select("steady_mean_w", "steady_available_cpus", "steady_effective_cpus").rows()
    [(66.538..., 1588.888..., 1360.0)]
    >>> {name: int(cpus) for name, cpus in found.best_cpus.items()}
    {'guideline': 1052, 'steady': 1502}
    """
    faults = Faults()
    asked = Budget(budget_w, base_w, mix, sockets).checked(faults)
    counts = [plain(count) for count in nodes]
    asked.check_nodes(counts, faults)
    faults.whole("seeds", seeds, low=1, high=_MOST_SEEDS)
    faults.whole("seed", seed, low=0, high=2**64 - _MOST_SEEDS - 1)
    check_progress(progress, faults, "runs")
    check_where(None, executor, faults)
    if executor is not None and workload is None:
        faults.add("executor", executor, "a workload as well: only its trial has runs")
    given: object = workload
    if given is not None and not isinstance(given, Workload):
        faults.add("workload", type(given).__name__, "a Workload, as read_swf or Workload.from_polars makes it")
    if workload is not None and not counts:
        faults.note("nodes", "none", "the numbers of nodes to run the workload on")
    faults.check()
    schema = {name: pl.Int64 if name in ("nodes", "cpus") else pl.Float64 for name in asked.row(1)}
    rows = pl.DataFrame([asked.row(count) for count in counts], schema=schema)
    runs, origin = None, None
    if workload is not None:
        runs, origin = tried(asked, workload, counts, range(seed, seed + seeds), progress=progress, where=executor)
    return Provision(asked.budget_w, asked.base_w, asked.mix, asked.sockets, rows, runs, origin)


def tried(
    asked: Budget,
    workload: Workload,
    nodes: Sequence[int],
    seeds: Sequence[int],
    *,
    progress: Reporting = None,
    where: Where = None,
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Every number of nodes with the caps of every seed, and what the first of these runs was made of."""
    capped = {seed: asked.capped(workload, seed) for seed in seeds}
    platforms = {count: asked.platform(count) for count in nodes}
    policy = asked.policy()
    tasks = [
        _trial(count, seed, asked.budget_w, run_of(jobs, platforms[count], policy, RunOptions(seed=seed)))
        for count in nodes
        for seed, jobs in capped.items()
    ]
    with closing(answers_of(tasks, progress, where)) as answers:
        found = {task.key: row for task, row in answers}
    frame = pl.DataFrame([found[task.key] for task in tasks], infer_schema_length=None)
    # The log as it was given: jobs with caps are other jobs.
    first = run_of(workload, platforms[nodes[0]], policy, RunOptions(seed=seeds[0]))
    return frame, origin_of(first)


def _trial(nodes: int, seed: int, budget_w: float, run: Run) -> RunTask:
    """A run on one number of nodes with the caps of one seed."""
    names = {"nodes": nodes, "seed": seed}
    title = f"{nodes:,} nodes, seed {seed}"
    return RunTask(f"{nodes} {seed}", names, run, _Measured(names, budget_w), title)


@dataclass(frozen=True)
class _Measured:
    """The row of a run: its names, and what it measures under this budget."""

    names: Mapping[str, int]
    budget_w: float

    def __call__(self, run: Run, result: Result) -> dict[str, Any]:
        del run
        return {**self.names, **_measures(result, self.budget_w)}


def _measures(result: Result, budget_w: float) -> dict[str, Any]:
    summary = result.summary()
    whole_j = budget_w * summary["makespan_s"]
    shares = {
        "power_utilization_ratio": summary["job_energy_j"] / whole_j if whole_j else 0.0,
        "drawn_ratio": summary["energy_j"] / whole_j if whole_j else 0.0,
    }
    states = ("completed", "timeout", "rejected", "pending")
    return {
        **{key: shares[key] if key in shares else summary[key] for key in METRICS},
        **{key: summary[key] for key in states},
    }

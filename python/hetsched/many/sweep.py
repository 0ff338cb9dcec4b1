"""`sweep`: every workload on every platform under every policy and seed, side by side, as one frame."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from hetsched.checks import Faults
from hetsched.files import write_whole
from hetsched.many.axes import (
    Axes,
    Options,
    Platforms,
    Policies,
    Seeds,
    Workloads,
    axes_of,
    check_portable,
    summary_names,
)
from hetsched.many.carried import inputs_folder, remove_inputs
from hetsched.many.executors import Where, check_where, executor_of
from hetsched.many.many import Task, many
from hetsched.many.progress import Bars, Reporting, check_progress, teller
from hetsched.many.runs import RunTask, summary_of
from hetsched.many.spec import Plan, plan_of, written
from hetsched.many.store import Store
from hetsched.many.summaries import Summaries
from hetsched.run.metrics import optional_names
from hetsched.run.options import RunKeywords, options_given, takes_run_options
from hetsched.run.simulation import run_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes_run_options(without=("seed",))
def sweep(
    workloads: Workloads,
    platforms: Platforms,
    policies: Policies,
    *,
    seeds: Seeds = 1,
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Reporting = "bar",
    executor: Executor | str | None = None,
    **options: Unpack[RunKeywords],
) -> pl.DataFrame:
    """Run every workload on every platform under every policy and seed, as many runs at a time as there are cores.

    Runs are processes of their own. They need no ``if __name__ == "__main__"`` around the call, and work the same from
    a script and from a notebook.

    Parameters
    ----------
    workloads, platforms, policies
        One, a list, or a dictionary of names; a policy is whatever `hetsched.simulate` takes (a single policy's own
        dictionary is in a list). Python objects in its roles go to other processes by `pickle`. In a list each is
        called what it calls itself: a workload by its file's name, a platform by its number of nodes, a policy by its
        name. The second of one name is called ``name #2``, and so on. In place of a workload stands a function of the
        seed that gives one, a generator say: the rows of each seed are on a draw of their own, the same for all
        policies.
    seeds
        How many (0, 1, 2, ...), or which.
    workers
        How many runs at a time. None: as many as this process may use cores, and memory is free for. 1: one after the
        other, in this process.
    out
        A folder for finished runs. The same call again, after a kill at any instant, runs only what is missing. Runs
        are known by everything that decides them (the content of workload, platform and tables, policy with all
        parameters, seed, options, version, and the bytes of the compiled module: another build runs everything again),
        so that other calls can use the same folder: they take the runs that they share and add the rest. The frame is
        written there, too, as ``sweep.parquet``.
    progress
        ``"bar"``: a bar on standard error, if that is a terminal. A function: called with (rows done, rows in all).
        None: nothing.
    executor
        Where to run, in place of processes of its own. A word: ``"processes:4"``, ``"dask://host:8786"``,
        ``"dask-slurm"`` or ``"dask-slurm:16"`` (Slurm jobs), ``"mpi"``. Or an executor of `concurrent.futures`: what it
        runs must find hetsched and the files below `out`, or below the system's folder for temporary files.
    **options
        As in `hetsched.simulate`, but for ``seed``: ``kill_at_walltime, kill_grace_s, walltimes, on_unknown_app, bound,
        until_s, predictor, events``.

    Returns
    -------
    polars.DataFrame
        A row a run: ``workload, platform, policy, seed``, and the keys of `Result.summary`. Rows are in the order of
        the arguments, the seed changing fastest: the same rows, bit for bit, wherever they are run. Where
        neither policy nor workload depends on the seed, one run serves the rows of all seeds.

    Raises
    ------
    ConfigError
        Before the first run, if anything is invalid; lists all of it.
    SimulationError
        If a run cannot go on, or the third process that runs it is ended from outside; says which. Finished runs stay
        in `out`.
    OutputError
        If `out` cannot be written to, or another sweep is using it.
    TraceError
        If the journal in `out` holds something else than finished runs, or a run's line not all of its numbers.

    Warns
    -----
    LoadWarning
        Once for each workload that is more work than a platform can do.
    PowerWarning
        Once for each whose measured draws are far above what a platform's nodes are built for.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2, 3, 4], "submit_s": [0, 60, 70, 400], "runtime_s": [90, 60, 20, 9],
    ...                      "walltime_s": [90, 60, 20, 9], "node_count": [2, 3, 1, 1]})
    >>> log = hs.Workload.from_polars(jobs)
    >>> machines = {f"{n} nodes": hs.Platform.homogeneous(nodes=n, idle_w=100, tdp_w=300) for n in (3, 6)}
    >>> runs = sweep(log, machines, ["fcfs", "easy"], workers=1)
    >>> runs.select("platform", "policy", "max_wait_s").rows()
    [('3 nodes', 'fcfs', 80.0), ('3 nodes', 'easy', 30.0), ('6 nodes', 'fcfs', 0.0), ('6 nodes', 'easy', 0.0)]
    """
    faults = Faults()
    axes = axes_of(workloads, platforms, policies, seeds, faults)
    checked = options_given(sweep, options).checked(faults)
    check_where(workers, executor, faults)
    check_progress(progress, faults, "rows")
    if out is not None:
        faults.folder("out", out)
    faults.check()
    own = dict.fromkeys(axes.platforms, checked)
    return swept(axes, own, workers=workers, out=out, progress=progress, executor=executor)


def swept(
    axes: Axes,
    options: Options,
    *,
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Reporting = "bar",
    executor: Where = None,
) -> pl.DataFrame:
    """The same of axes; runs on each platform have options of their own."""
    for concern in axes.check(options):
        warnings.warn(str(concern), concern.category, stacklevel=3)
    plans = plan_of(axes, options)
    folder = None if out is None else Path(out)
    with ExitStack() as stack:
        store = None if folder is None else stack.enter_context(Store(folder))
        if store is not None:
            _check_journal(store, plans, options)
        if folder is not None:
            remove_inputs(folder)
        bars = stack.enter_context(Bars(shown=progress == "bar"))
        tell = bars.bar("sweep", unit="runs") if progress == "bar" else teller(progress)
        work = _Work(axes, options, store, folder)
        frame = _frame(plans, work.summaries(plans, executor, workers, tell))
        if folder is not None:
            write_whole(folder / "sweep.parquet", frame.write_parquet)
    return frame


@dataclass(frozen=True)
class _Work:
    """The things that all runs of a sweep share."""

    axes: Axes
    options: Options
    store: Store | None
    folder: Path | None

    def summaries(
        self, plans: Sequence[Plan], executor: Where, workers: int | None, tell: Callable[[int, int], object]
    ) -> Summaries:
        """Each plan's summary by its key: from the store, or run and noted there."""
        rows = Counter(plan.key for plan in plans)
        known = Summaries(rows)
        held = {} if self.store is None else self.store.answers
        for key in rows:
            if key in held:
                known.add(key, held[key])
        done = sum(count for key, count in rows.items() if key in known)
        tell(done, len(plans))
        missing = [plan for plan in plans if plan.key not in known]
        if not missing:
            return known
        runs = len({plan.key for plan in missing})
        with ExitStack() as stack:
            axes = self.axes
            most = (axes.distinct_workloads.values(), axes.platforms.values())
            chosen = stack.enter_context(executor_of(executor, workers, runs, *most))
            inputs = None if chosen is None else stack.enter_context(inputs_folder(self.folder))
            with closing(many(self._tasks(missing, inputs), executor=chosen, store=self.store, place=str)) as answers:
                for task, summary in answers:
                    known.add(task.key, summary)
                    done += rows[task.key]
                    tell(done, len(plans))
        return known

    def _tasks(self, plans: Sequence[Plan], inputs: Path | None) -> Sequence[Task]:
        """The plans as tasks: of this process, or for others with their files in a folder."""
        if inputs is None:
            return [self._task(plan) for plan in plans]
        check_portable({plan.policy: self.axes.policies[plan.policy] for plan in plans})
        return written(plans, self.axes, self.options, inputs)

    def _task(self, plan: Plan) -> RunTask:
        """A run in this process."""
        workload, platform = self.axes.workloads[plan.workload][plan.seed], self.axes.platforms[plan.platform]
        run = run_of(
            workload, platform, self.axes.policies[plan.policy], replace(self.options[plan.platform], seed=plan.seed)
        )
        return RunTask(plan.key, plan.names, run, summary_of, str(plan))


def _check_journal(store: Store, plans: Sequence[Plan], options: Options) -> None:
    """Raise a TraceError if a line of the store lacks a number that runs with these options have."""
    for own in {id(one): one for one in options.values()}.values():
        keys = {plan.key for plan in plans if options[plan.platform] is own}
        store.check(keys, summary_names(own), optional_names())


def _frame(plans: Sequence[Plan], summaries: Summaries) -> pl.DataFrame:
    names = {
        "workload": pl.Series([plan.workload for plan in plans], dtype=pl.String),
        "platform": pl.Series([plan.platform for plan in plans], dtype=pl.String),
        "policy": pl.Series([plan.policy for plan in plans], dtype=pl.String),
        "seed": pl.Series([plan.seed for plan in plans], dtype=pl.UInt64),
    }
    return pl.DataFrame({**names, **summaries.columns([plan.key for plan in plans])})

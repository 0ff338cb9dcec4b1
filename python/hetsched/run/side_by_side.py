"""`sweep`: every workload on every platform under every policy and seed, side by side, as one frame."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from hetsched.checks import Faults, reason_of
from hetsched.errors import OutputError, RunWarning
from hetsched.files import write_whole
from hetsched.run.axes import Axes, Platforms, Policies, Seeds, Workloads, axes_of
from hetsched.run.bar import Bar, Tell
from hetsched.run.inputs import clear
from hetsched.run.journal import Journal
from hetsched.run.memory import system_bytes
from hetsched.run.pool import finished
from hetsched.run.spec import Plan, plan_of, written
from hetsched.run.sweep_checks import check_pairs, options_of, summary_names
from hetsched.workload import Workload

__all__ = ["sweep"]

_MOST_WORKERS = 1024
_BYTES_A_PROCESS = 100_000_000
_BYTES_A_JOB = 1000
_BYTES_A_NODE = 500
_BYTES_A_JOBS_NODE = 16
_INPUTS = ".inputs-"


def sweep(
    workloads: Workloads,
    platforms: Platforms,
    policies: Policies,
    *,
    seeds: Seeds = 1,
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Tell | str | None = "bar",
    kill_at_walltime: bool = True,
    kill_grace_s: float = 0.0,
    walltimes: str = "fixed",
    on_unknown_app: str = "error",
    bound: bool = False,
    until_s: float | None = None,
) -> pl.DataFrame:
    """Run every workload on every platform under every policy and seed, as many runs at a time as there are cores.

    Runs are processes of their own. They need no ``if __name__ == "__main__"`` around the call, and work the same from
    a script and from a notebook.

    Parameters
    ----------
    workloads, platforms, policies
        One, a list, or a dictionary of names; a policy is whatever `hetsched.simulate` takes (a single policy's own
        dictionary stands in a list). In a list each is called what it calls itself: a workload by its file's name, a
        platform by its number of nodes, a policy by its name. The second of one name is called ``name #2``, and so on.
    seeds
        How many (0, 1, 2, ...), or which.
    workers
        How many runs at a time. None: as many as this process may use cores, and memory is free for. 1: one after the
        other, in this process.
    out
        A folder for finished runs. The same call again, after a kill at any instant, runs only what is missing. Runs
        are known by everything that decides them (the content of workload, platform and tables, policy with all
        parameters, seed, options, version, and the bytes of the compiled module: another build runs everything anew),
        so that other calls can use the same folder: they take the runs that they share and add the rest. The frame is
        written there, too, as ``sweep.parquet``.
    progress
        ``"bar"``: a bar on standard error, if that is a terminal. A function: called with (rows done, rows in all).
        None: nothing.
    kill_at_walltime, kill_grace_s, walltimes, on_unknown_app, bound, until_s
        As in `hetsched.simulate`.

    Returns
    -------
    polars.DataFrame
        A row a run: ``workload, platform, policy, seed``, and the keys of `Result.summary`. Rows stand in the order of
        the arguments, the seed changing fastest: the same rows, bit for bit, whatever the number of workers. Where a
        policy leaves nothing to chance one run serves the rows of all seeds.

    Raises
    ------
    ConfigError
        Before the first run, with everything that cannot be.
    SimulationError
        If a run cannot go on, or its process was ended from outside; says which. Finished runs stay in `out`.
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
    given = {
        "kill_at_walltime": kill_at_walltime,
        "kill_grace_s": kill_grace_s,
        "walltimes": walltimes,
        "on_unknown_app": on_unknown_app,
        "bound": bound,
        "until_s": until_s,
    }
    options = options_of(given, faults)
    if workers is not None:
        faults.whole("workers", workers, low=1, high=_MOST_WORKERS)
    if not (progress is None or progress == "bar" or callable(progress)):
        faults.add("progress", progress, "`bar`, a function, or None")
    if out is not None:
        faults.folder("out", out)
    faults.check()
    check_pairs(axes, options)

    plans = plan_of(axes, options)
    if out is None:
        with _teller(progress) as tell:
            return _frame(plans, _summaries(plans, axes, options, None, None, workers=workers, tell=tell))
    folder = Path(out)
    with Journal(folder) as journal, _teller(progress) as tell:
        journal.check({plan.key for plan in plans}, summary_names(options))
        frame = _frame(plans, _summaries(plans, axes, options, journal, folder, workers=workers, tell=tell))
        write_whole(folder / "sweep.parquet", frame.write_parquet)
    return frame


def _summaries(
    plans: Sequence[Plan],
    axes: Axes,
    options: Mapping[str, Any],
    journal: Journal | None,
    folder: Path | None,
    *,
    workers: int | None,
    tell: Tell,
) -> Mapping[str, Mapping[str, Any]]:
    """Each plan's summary by its key: from the journal, or run and noted there."""
    known = {} if journal is None else dict(journal.summaries)
    rows = Counter(plan.key for plan in plans)
    done = sum(count for key, count in rows.items() if key in known)
    tell(done, len(plans))
    missing: dict[str, Plan] = {}
    for plan in plans:
        if plan.key not in known:
            missing.setdefault(plan.key, plan)
    if not missing:
        return known
    count = min(len(missing), _most_workers(axes) if workers is None else workers)
    with _inputs_folder(folder) as inputs, _without_run_warnings():
        todo = written(list(missing.values()), axes, options, inputs)
        with closing(finished(todo, workers=count)) as runs:
            for spec, summary in runs:
                if journal is not None:
                    journal.add(spec, summary)
                known[spec.key] = summary
                done += rows[spec.key]
                tell(done, len(plans))
    return known


def _frame(plans: Sequence[Plan], summaries: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    names = {
        "workload": pl.Series([plan.workload for plan in plans], dtype=pl.String),
        "platform": pl.Series([plan.platform for plan in plans], dtype=pl.String),
        "policy": pl.Series([plan.policy for plan in plans], dtype=pl.String),
        "seed": pl.Series([plan.seed for plan in plans], dtype=pl.UInt64),
    }
    own = [summaries[plan.key] for plan in plans]
    return pl.DataFrame({**names, **{key: _column([summary[key] for summary in own]) for key in own[0]}})


def _column(values: list[int | float | None]) -> pl.Series:
    """Whole numbers if all are; a metric that is never known is one all the same."""
    is_whole = all(isinstance(value, int) for value in values)
    return pl.Series(values, dtype=pl.Int64 if is_whole else pl.Float64, strict=False)


@contextmanager
def _teller(progress: Tell | str | None) -> Iterator[Tell]:
    if callable(progress):
        yield progress
    elif progress is None:
        yield lambda _done, _total: None
    else:
        with Bar() as tell:
            yield tell


@contextmanager
def _inputs_folder(folder: Path | None) -> Iterator[Path]:
    """Where workloads and platforms are while runs need them; what a killed sweep left there goes."""
    for old in () if folder is None else folder.glob(f"{_INPUTS}*"):
        shutil.rmtree(old, ignore_errors=True)
    try:
        made = Path(tempfile.mkdtemp(prefix=_INPUTS, dir=folder)).absolute()
    except OSError as error:
        raise OutputError(str(folder or tempfile.gettempdir()), reason_of(error)) from None
    try:
        yield made
    finally:
        clear()
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _without_run_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        # Those about inputs have been given, once for all seeds and policies.
        warnings.simplefilter("ignore", RunWarning)
        yield


def _most_workers(axes: Axes) -> int:
    """A run a core, and no more than there is memory for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    left = system_bytes()
    largest = max(map(_run_bytes, axes.workloads.values())) + max(
        platform.nodes * _BYTES_A_NODE for platform in axes.platforms.values()
    )
    return max(1, min(cores, _MOST_WORKERS, cores if left is None else left // largest))


def _run_bytes(workload: Workload) -> int:
    nodes = workload.to_polars()["node_count"].cast(pl.Int64).sum()
    return _BYTES_A_PROCESS + len(workload) * _BYTES_A_JOB + int(nodes) * _BYTES_A_JOBS_NODE

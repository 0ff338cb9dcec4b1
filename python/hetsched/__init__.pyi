"""Power-aware scheduling of high-performance computing jobs on nodes that are not alike, simulated exactly."""

# Written by tools/write_stub.py.

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import polars as pl

from hetsched import (
    analysis,
    calibration,
    errors,
    experiments,
    gym,
    live,
    many,
    platform,
    policy,
    power,
    report,
    roles,
    strategies,
    testing,
    typing,
    validation,
    workload,
)
from hetsched.assignment import assign, assign_types
from hetsched.calibration import Calibration, calibrate
from hetsched.contract import Contract, read_contract
from hetsched.errors import ConfigError, HetschedError, OutputError, SimulationError, TraceError
from hetsched.exchanges import Hindsight, hindsight
from hetsched.features.events import failures
from hetsched.live.controller import Controller
from hetsched.live.journal import Journal, read_journal
from hetsched.many.axes import Platforms, Policies, Seeds, Workloads
from hetsched.many.comparison import Comparison
from hetsched.many.progress import Reporting
from hetsched.platform import (
    DeviceClass,
    DeviceNodes,
    Measurements,
    NodeClass,
    Platform,
    Queue,
    VariationTable,
    read_platform,
    read_table,
)
from hetsched.policy import Policy, presets, read_policy
from hetsched.power.forecast import AnyPredictor
from hetsched.power.models.reading import read_model
from hetsched.provisioning import Provision, provision
from hetsched.roles import Scheduler
from hetsched.run.events import Events, read_events
from hetsched.run.result import Result, read_result
from hetsched.run.session import Session, read_session
from hetsched.run.simulation import Progress
from hetsched.typing import Bound, Impute, OnFailure, OnUnknownApp, Walltimes
from hetsched.validation import Inspection, Validation, inspect, predict_waits
from hetsched.validation.horizons import Horizons
from hetsched.whatif import WhatIf
from hetsched.workload import Workload, read_batsim, read_csv, read_jobs, read_parquet, read_pbs, read_sacct, read_swf

__all__ = [
    "Calibration",
    "Comparison",
    "ConfigError",
    "Contract",
    "Controller",
    "DeviceClass",
    "DeviceNodes",
    "Events",
    "HetschedError",
    "Hindsight",
    "Inspection",
    "Journal",
    "Measurements",
    "NodeClass",
    "OutputError",
    "Platform",
    "Policy",
    "Provision",
    "Queue",
    "Result",
    "Session",
    "SimulationError",
    "TraceError",
    "Validation",
    "VariationTable",
    "WhatIf",
    "Workload",
    "__version__",
    "analysis",
    "assign",
    "assign_types",
    "calibrate",
    "calibration",
    "compare",
    "errors",
    "experiments",
    "failures",
    "gym",
    "hindsight",
    "inspect",
    "live",
    "many",
    "meter",
    "platform",
    "policy",
    "power",
    "predict_waits",
    "presets",
    "provision",
    "read_batsim",
    "read_contract",
    "read_csv",
    "read_events",
    "read_jobs",
    "read_journal",
    "read_measurements",
    "read_model",
    "read_parquet",
    "read_pbs",
    "read_platform",
    "read_policy",
    "read_result",
    "read_sacct",
    "read_session",
    "read_swf",
    "read_table",
    "report",
    "roles",
    "simulate",
    "strategies",
    "sweep",
    "testing",
    "typing",
    "validate",
    "validation",
    "what_if",
    "workload",
]
__version__: str

def compare(
    workload: Workload,
    platform: Platform,
    policies: Policies,
    baseline: str | Policy | None = None,
    *,
    seeds: int = 1,
    metrics: Sequence[str] | None = None,
    window: tuple[float, float] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Reporting = "bar",
    executor: Executor | str | None = None,
    seed: int = 0,
    kill_at_walltime: bool = True,
    kill_grace_s: float = 0.0,
    walltimes: Walltimes = "fixed",
    on_unknown_app: OnUnknownApp = "error",
    bound: bool | Bound = False,
    until_s: float | None = None,
    predictor: AnyPredictor | None = None,
    events: Events | None = None,
    on_failure: OnFailure = "fail",
    contract: Contract | None = None,
) -> Comparison:
    """Run several policies on the same jobs and machine, and compare: what ``hetsched compare`` shows.

    Parameters
    ----------
    workload, platform
        The same for all.
    policies
        As `hetsched.sweep` takes them.
    baseline
        The name of the policy whose ratios are 1. None: the first.
    seeds
        How many runs of each policy that uses chance; their seeds count from ``seed``, so that runs are paired.
    metrics
        Keys of `Result.summary`, and ``longer_waits``. None: energy, the mean, the 95th percentile and the longest of
        the waits, the number of jobs that wait over an hour longer than under the baseline (``longer_waits``), and the
        parts of the energy where the runs' windows differ.
    window
        From when to when to measure, in seconds on the log's clock, as `hetsched.analysis.measured` does. None: all of
        each run.
    out
        A folder for the files of every run, in a folder of its own, and for ``comparison.csv``.
    progress
        ``"bar"``: a bar a run on standard error, if that is a terminal. A function: called with (runs done, runs in
        all). None: nothing.
    executor
        Where to make the runs, in place of threads of this process, as in `hetsched.sweep`.
    **options
        As in `hetsched.simulate`.

    Returns
    -------
    Comparison
        Its ``table`` and ``runs`` are frames, its ``notes`` what a reader should know about them.

    Raises
    ------
    ConfigError
        If anything is invalid; lists all of it.
    SimulationError
        If a run cannot go on.
    OutputError
        If `out` cannot be written to.

    Warns
    -----
    RunWarning
        As `hetsched.simulate`, each matter once for all policies.
    WorkWarning
        If the runs did different work.

    Examples
    --------
    >>> import hetsched as hs
    >>> jobs = {"job_id": [1, 2, 3, 4], "submit_s": [0, 10, 20, 900], "node_count": [2, 3, 1, 1]}
    >>> times = {"runtime_s": [60, 60, 30, 9], "walltime_s": [60, 60, 30, 9]}
    >>> log, machine = hs.Workload.from_polars(pl.DataFrame({**jobs, **times})), hs.Platform.homogeneous(3, 100, 300)
    >>> found = hs.compare(log, machine, ["fcfs", "easy"])
    >>> found.table.filter(metric="mean_wait_s").select("policy", "mean", "ratio").rows()
    [('fcfs', 37.5, 1.0), ('easy', 12.5, 0.333...)]
    """

def meter(
    workload: Workload,
    platform: Platform,
    starts: pl.DataFrame,
    *,
    kill_at_walltime: bool = True,
    kill_grace_s: float = 0.0,
    walltimes: Walltimes = "fixed",
    on_unknown_app: OnUnknownApp = "error",
    bound: bool | Bound = False,
    events: Events | None = None,
    on_failure: OnFailure = "fail",
    contract: Contract | None = None,
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
    bound
        Whether the summary also holds the least energies that other placements could have reached: as in `simulate`.
        A job with a given end keeps its length on any nodes.
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

def read_measurements(
    path: str | os.PathLike[str],
    *,
    app: str = "app",
    node: str = "node",
    power_w: str | None = "power_w",
    time_s: str | None = None,
    nodes: Sequence[str] | Sequence[int] | None = None,
    min_runs: int = 1,
    straggler_ratio: float = 1.2,
    impute: Impute | None = None,
) -> Measurements:
    """Read measured runs, one row each, from a file; CSV or Parquet, known by its name.

    Parameters
    ----------
    path
        The file, ``.csv`` (also ``.csv.gz``, ``.csv.zst``) or ``.parquet``. In CSV, empty fields and words for no
        value (``NA``, ``nan``, ``-``) are missing values.
    **columns
        The parameters of `Measurements`.

    Raises
    ------
    ConfigError
        If it cannot be read, or as `Measurements`; names the file and its line, the header being line 1.
    """

def simulate(
    workload: Workload,
    platform: Platform,
    policy: str | Policy | Mapping[str, Any] | Scheduler | type[Scheduler] = "easy",
    *,
    progress: Progress | None = None,
    journal: str | os.PathLike[str] | None = None,
    seed: int = 0,
    kill_at_walltime: bool = True,
    kill_grace_s: float = 0.0,
    walltimes: Walltimes = "fixed",
    on_unknown_app: OnUnknownApp = "error",
    bound: bool | Bound = False,
    until_s: float | None = None,
    predictor: AnyPredictor | None = None,
    events: Events | None = None,
    on_failure: OnFailure = "fail",
    contract: Contract | None = None,
) -> Result:
    """Schedule a workload on a platform under a policy, and meter every node.

    Parameters
    ----------
    workload
        The jobs.
    platform
        The machine, with the tables of its nodes' draw if there are any.
    policy
        A preset's name (``"easy"``, ``"easy:placement=lowest-power"``), a `Policy`, a dictionary for
        `Policy.from_dict`, or an object that decides everything (`hetsched.roles.Scheduler`).
    seed
        From 0 to 2⁶⁴ - 1; all chance comes from it.
    kill_at_walltime
        Whether a job that brings a walltime is killed at it.
    kill_grace_s
        How long after its walltime it is killed, seconds, from 0 to 1e12 (Slurm's ``OverTimeLimit``). Planning goes by
        the walltime alone.
    walltimes
        What walltimes, and the planned lengths of jobs without one, were meant for. ``"fixed"``: for whatever nodes
        the job gets. ``"stretch"``: for nominal speed. Then a job is killed at its walltime times the largest time
        factor of its nodes, and is planned with the largest predicted one: of all nodes while it waits, of its own once
        it runs; each rounded up to a microsecond.
    on_unknown_app
        ``"error"``: an application that the platform's table does not hold is an error. ``"nominal"``: its jobs draw
        what they would without a table.
    bound
        Whether the summary also holds ``energy_bound_j``, the least job energy that any placement of these jobs could
        have reached within this run's window (docs/background/bounds.md), and what sleeping nodes could save
        (docs/background/sleeping-nodes.md). ``"starts"``: ``energy_bound_starts_j`` in their place, the least job
        energy with every job started when it was, and ``energy_blind_j``, that of nodes chosen blindly. ``"all"``:
        both.
    progress
        Called now and then with (jobs done, jobs in all, simulated second).
    journal
        A folder for the notices that a live machine would have given a `Controller`, and the decisions upon them
        (`read_journal`). Not under a contract, with a predictor, with maintenance, holds, or budgets announced during
        the run, or under a policy that repeats a log. None: none.
    until_s
        Where to stop, in seconds on the log's clock; jobs then running or queued say so. None: run to the end.
    predictor
        Where this run's predictions come from, in place of the platform's predicted table and of what it lets decisions
        know of the jobs' own draws: ``"ideal"``, what is charged; an object with ``table(actual)`` or ``draws(jobs)``,
        such as ``hs.power.Noisy(0.1)`` or ``hs.power.History()``; or a `VariationTable` of the same applications and
        nodes as the actual one, such as a fitted model's. None: the platform's own.
    events
        What comes from outside: failures, repairs and maintenance of nodes, cancellations, budgets of the machine's
        power in time (for policies with a part in the role ``power``), prices and carbon intensities; see `Events`.
        None: nothing.
    contract
        Limits of the machine's power, prices and carbon intensities by the wall clock (`Contract`). Every policy is
        metered against it, which makes ``over_budget_s``, ``over_budget_kwh``, ``penalty`` and ``cost`` in the summary;
        one with a part in the role ``power`` keeps to its limits, or to its own budget where that is lower. None: none.
    on_failure
        What becomes of jobs whose nodes fail or go into maintenance. ``"fail"``: they end. ``"requeue"``: they are
        queued again in their old place, with all their work to do.

    Returns
    -------
    Result
        The same, bit for bit, for the same arguments.

    Raises
    ------
    ConfigError
        If an option, the policy, or the platform's tables for these jobs cannot be; if there is a predictor and
        nothing for it to predict: no actual table, no job that brings ``power_w``; if the policy repeats the log and
        the workload has no observed starts; if events cannot happen to this platform under this policy; if jobs ask for
        caps that the platform knows nothing of; if a ``constraint`` or ``licences`` cannot be read, or a part of the
        policy does not know nodes that differ in what jobs ask for (docs/background/rules.md); if nodes sleep of which
        the platform does not say ``boot_s``, ``shutdown_s`` and ``off_w``.
    SimulationError
        If the run cannot go on, or an object in a role of the policy gives an invalid answer; before it begins, if it
        needs more memory than there is, or if the process was forked from one in which polars had been at work.

    Warns
    -----
    LoadWarning
        If more work is submitted than the platform can do.
    DeviceWarning
        If jobs ask for GPUs, features, memory or licences of which the platform says nothing: of ``device`` only where
        there are several classes; if a replay has run jobs for GPUs on nodes without any.
    PowerWarning
        If a job's measured draw is above twice the nodes' TDP.
    ResultWarning
        If more than half of the jobs that ran were killed at their walltime, or less than 5 % of the nodes were busy
        for over a tenth of a run of a week or more; if jobs never started, but for those that were withdrawn or waited
        when the run was stopped; if the order shares the machine and no job says whose it is; if prices or carbon
        intensities do not cover the whole run.
    ReplayWarning
        If the policy repeats the log, and jobs start later than they did or have no observed start.
    WorkWarning
        If more than 1 % of the started node-seconds were lost with jobs that were killed at their walltimes, or with
        jobs that failed.

    Examples
    --------
    >>> jobs = pl.DataFrame({"job_id": [1, 2, 3], "submit_s": [0, 10, 20], "runtime_s": [60, 30, 15],
    ...                      "walltime_s": [60, 30, 15], "node_count": [1, 2, 1], "user": ["ann", "bo", "ann"]})
    >>> platform = Platform.homogeneous(nodes=10, idle_w=100, tdp_w=300)
    >>> result = simulate(Workload.from_polars(jobs), platform, "fcfs")
    >>> result.summary()["completed"], result.jobs["nodes"].to_list()
    (3, [[0], [1, 2], [3]])
    """

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
    kill_at_walltime: bool = True,
    kill_grace_s: float = 0.0,
    walltimes: Walltimes = "fixed",
    on_unknown_app: OnUnknownApp = "error",
    bound: bool | Bound = False,
    until_s: float | None = None,
    predictor: AnyPredictor | None = None,
    events: Events | None = None,
    on_failure: OnFailure = "fail",
    contract: Contract | None = None,
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

def validate(
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
    seed: int = 0,
    kill_grace_s: float = 0.0,
    walltimes: Walltimes = "fixed",
    on_unknown_app: OnUnknownApp = "error",
    bound: bool | Bound = False,
    until_s: float | None = None,
    predictor: AnyPredictor | None = None,
    events: Events | None = None,
    on_failure: OnFailure = "fail",
    contract: Contract | None = None,
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

def what_if(
    workload: Workload | Result,
    platform: Platform | None = None,
    policy: str | Policy | Mapping[str, Any] | Scheduler | type[Scheduler] | None = None,
    settings: Mapping[str, Sequence[Any] | Mapping[str, Any]] | None = None,
    *,
    metrics: Sequence[str] = ("energy_j", "mean_wait_s", "p95_wait_s"),
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Reporting = "bar",
    executor: Executor | str | None = None,
    seed: int = 0,
    kill_at_walltime: bool = True,
    kill_grace_s: float = 0.0,
    walltimes: Walltimes = "fixed",
    on_unknown_app: OnUnknownApp = "error",
    bound: bool | Bound = False,
    until_s: float | None = None,
    predictor: AnyPredictor | None = None,
    events: Events | None = None,
    on_failure: OnFailure = "fail",
    contract: Contract | None = None,
) -> WhatIf:
    """Run a log under every combination of settings, and hold each against today: what ``hetsched whatif`` shows.

    Parameters
    ----------
    workload
        The jobs; or a `Result`, whose jobs, machine, policy and options are today's.
    platform, policy
        With jobs: today's, as `hetsched.simulate` takes them; the policy is EASY backfilling by default.
    settings
        From keys to lists of values, or to dictionaries of values by names: ``{"nodes": ["+10%", 800], "sleep":
        ["timeout:min_idle_s=600"], "budget_w": [1e6]}``. Every combination is run, the first key changing slowest.
        Keys are those that ``hetsched whatif --keys`` lists: of the machine (``nodes, node.boot_s, node.CLASS.count,
        queue.NAME.max_nodes, queues, platform``), of the policy (``policy``, the roles ``order, backfill, placement,
        power, sleep`` and their parameters, such as ``backfill.depth``, or ``depth`` alone where one role has it) and
        of the run (``events, contract`` and the options below). Values may be text, as on the command line; numbers may
        be changes in percent, such as ``"+10%"``.
    metrics
        Keys of `Result.summary` in which settings are compared.
    workers
        How many runs at a time. None: as many as this process may use cores, and memory is free for. 1: one after the
        other, in this process.
    out
        A folder for finished runs. The same call again, after a kill at any instant, runs only what is missing; a call
        with other settings takes the runs that both have. The answer's files are written there, too.
    progress
        ``"bar"``: a bar on standard error, if that is a terminal. A function: called with (rows done, rows in all).
        None: nothing.
    executor
        Where to run, in place of processes of its own, as in `hetsched.sweep`.
    **options
        Today's, as in `hetsched.simulate`.

    Returns
    -------
    WhatIf
        Its ``table`` has a row a setting, the first of them today's; the same, bit for bit, whatever the number of
        workers. Equal settings are run once.

    Raises
    ------
    ConfigError
        Before the first run, if a key or a value, or a combination of them, cannot be; lists all of it.
    SimulationError
        If a run cannot go on; says which. Finished runs stay in `out`.
    OutputError
        If `out` cannot be written to, or another call is using it.
    TraceError
        If the journal in `out` holds something else than finished runs.

    Warns
    -----
    RunWarning
        As `hetsched.simulate` of today's run; of other settings what none before had, with the setting.

    Examples
    --------
    >>> import hetsched as hs
    >>> import polars as pl
    >>> jobs = pl.DataFrame({"job_id": [1, 2, 3, 4], "submit_s": [0, 60, 70, 400], "runtime_s": [90, 60, 20, 9],
    ...                      "walltime_s": [90, 60, 20, 9], "node_count": [2, 3, 1, 1]})
    >>> log, machine = hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=3, idle_w=100, tdp_w=300)
    >>> found = what_if(log, machine, "fcfs", {"nodes": [6], "backfill": ["none", "first-fit"]}, workers=1)
    >>> found.table.select("row", "nodes", "backfill", "mean_wait_s", "mean_wait_s_change").rows()
    [(0, None, None, 27.5, 0.0), (1, 6, 'none', 0.0, -27.5), (2, 6, 'first-fit', 0.0, -27.5)]
    """

"""`hetsched.compare`: several policies on the same jobs and machine, run side by side and compared."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hetsched.analysis.ratios import table_of
from hetsched.checks import Faults, did_you_mean, listed
from hetsched.errors import ConfigError
from hetsched.many.axes import Policies, check_portable, named_policies
from hetsched.many.executors import Where, check_where
from hetsched.many.progress import Reporting, check_progress
from hetsched.many.runs import RunTask, answers_of
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.report.page.shown import RunShown
from hetsched.run.concerns import CHANGE, Concern, joined
from hetsched.run.metrics import DEFAULT_METRICS, OF_CONTRACT, metrics_named
from hetsched.run.options import RunKeywords, RunOptions, options_given, takes_run_options
from hetsched.run.result import Result
from hetsched.run.simulation import Run, run_of
from hetsched.workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack


from hetsched.many.comparison import Comparison, file_names, windows_differ
from hetsched.many.longer_waits import KEY as LONGER_WAITS
from hetsched.many.longer_waits import Floats, LongerWaits, waits_of
from hetsched.many.outcome import Keep, Outcome

_MOST_SEEDS = 10_000
_ALL = Keep()


@takes_run_options()
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
    **options: Unpack[RunKeywords],
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
    faults = Faults()
    checked = options_given(compare, options)
    chosen = named_policies(policies, faults)
    faults.whole("seeds", seeds, low=1, high=_MOST_SEEDS)
    check_progress(progress, faults, "runs")
    check_where(None, executor, faults)
    if out is not None:
        faults.folder("out", out)
    if metrics is not None:
        metrics = list(metrics)
        try:
            metrics_named(metrics)
        except ConfigError as error:
            faults.extend(error)
    if isinstance(baseline, Policy):
        baseline = baseline.name
    if baseline is not None and baseline not in chosen and not faults.found:
        faults.add("baseline", baseline, f"one of {listed(chosen)}{did_you_mean(str(baseline), chosen)}")
    faults.check()
    return compared(
        workload,
        platform,
        chosen,
        baseline=baseline or next(iter(chosen)),
        options=checked,
        seeds=seeds,
        metrics=metrics,
        keep=Keep(window),
        folder=None if out is None else Path(out),
        progress=progress,
        where=executor,
    )


def compared(
    workload: Workload,
    platform: Platform,
    policies: Mapping[str, Policy],
    *,
    baseline: str,
    options: RunOptions,
    seeds: int = 1,
    metrics: Sequence[str] | None = None,
    keep: Keep = _ALL,
    folder: Path | None = None,
    progress: Reporting = "bar",
    where: Where = None,
    change: str = CHANGE,
) -> Comparison:
    """The same of policies by name; `keep` says what stays of each run, `where` is the executor."""
    if where is not None:
        check_portable(policies)
    runs = [
        (name, run_of(workload, platform, policy, replace(options, seed=seed)))
        for name, policy in policies.items()
        for seed in range(options.seed, options.seed + (seeds if policy.uses_chance else 1))
    ]
    for concern in runs[0][1].concerns:
        warnings.warn(str(concern), concern.category, stacklevel=3)
    # Made here, so that threads don't make them twice.
    _ = workload.sha256, platform.sha256
    folders, outcomes = file_names(policies), dict[str, Outcome]()
    tasks = [_task(name, run, _Kept(name, keep, is_whole=folder is not None)) for name, run in runs]
    longer = LongerWaits([(name, run.options.seed) for name, run in runs], baseline)
    # Seed by seed: no more waits are kept than runs of a seed have.
    in_order = sorted(tasks, key=lambda task: int(task.names["seed"]))
    with closing(answers_of(in_order, progress, where)) as answers:
        for task, (outcome, waits, result) in answers:
            outcomes[task.key] = outcome
            longer.add((outcome.policy, outcome.seed), waits)
            if folder is not None:
                # Here, in the main thread: Ctrl-C reaches no other, and must not find a file half-written.
                result.write(_folder_of(folders[outcome.policy], task.run, folder, seeds))
    found = [outcomes[task.key] for task in tasks]
    _warn_of(found, before=len(runs[0][1].concerns))
    counts = [longer.counts[outcome.policy, outcome.seed] for outcome in found]
    frame = pl.DataFrame([outcome.row() for outcome in found], infer_schema_length=None)
    frame = frame.with_columns(pl.Series(LONGER_WAITS, counts, pl.Int64))
    table = table_of(frame, baseline, _with_boots(_default_metrics(frame), frame) if metrics is None else metrics)
    again = partial(_shown_again, [(name, run) for name, run in runs if run.options.seed == options.seed])
    comparison = Comparison(table, frame, baseline, found, _is_alike=_are_alike(platform), _change=change, _again=again)
    if folder is not None:
        comparison.write(folder)
    return comparison


def _shown_again(runs: Sequence[tuple[str, Run]]) -> list[RunShown]:
    """The first run of each policy, made again for a page."""
    return [RunShown.of(run.execute(), run.terms) for _, run in runs]


@dataclass(frozen=True)
class _Kept:
    """The part of a policy's run that is kept: its outcome, its waits, and the whole where files are to be written."""

    policy: str
    keep: Keep
    is_whole: bool

    def __call__(self, run: Run, result: Result) -> tuple[Outcome, Floats, Result | None]:
        terms = run.terms if self.keep.drawn or self.keep.shown else None
        outcome = Outcome.of(self.policy, result, self.keep, terms)
        return outcome, waits_of(result, self.keep.window), result if self.is_whole else None


def _task(policy: str, run: Run, kept: _Kept) -> RunTask:
    """A run under the name of its policy."""
    seed = run.options.seed
    title = f"{policy}, seed {seed}" if run.policy.uses_chance else policy
    return RunTask(f"{policy} {seed}", {"policy": policy, "seed": seed}, run, kept, title)


def _folder_of(name: str, run: Run, folder: Path, seeds: int) -> Path:
    """Folder of the files of a run, in a folder of its own."""
    several = seeds > 1 and run.policy.uses_chance
    return folder / (name + (f"-seed-{run.options.seed}" if several else ""))


def _warn_of(outcomes: Sequence[Outcome], *, before: int) -> None:
    """Say what looks wrong with the runs; of a policy with several, the first speaks for all."""
    first: dict[str, tuple[Concern, ...]] = {}
    for outcome in outcomes:
        first.setdefault(outcome.policy, outcome.concerns[before:])
    for concern in joined(first):
        warnings.warn(str(concern), concern.category, stacklevel=4)


def _default_metrics(runs: pl.DataFrame) -> tuple[str, ...]:
    """Metrics if none are asked for: in windows that differ, idle nodes make the energy differ, too."""
    billed = tuple(key for key in OF_CONTRACT if "penalty" in runs.columns and key in runs.columns)
    billed = (*(key for key in ("meter_energy_j",) if key in runs.columns), *billed)
    # One policy has nothing to wait longer than.
    compared = (LONGER_WAITS,) if runs["policy"].n_unique() > 1 else ()
    metrics = (*DEFAULT_METRICS, *compared, *billed)
    if "makespan_s" not in runs.columns:  # a part of each run was measured, the same of all
        return metrics
    if not windows_differ(runs.group_by("policy").agg(pl.col("makespan_s").mean())["makespan_s"].to_list()):
        return metrics
    place = metrics.index("energy_j") + 1
    return (*metrics[:place], "job_energy_j", "idle_energy_j", *metrics[place:])


def _with_boots(metrics: tuple[str, ...], runs: pl.DataFrame) -> tuple[str, ...]:
    """The metrics with the number of boots behind the energy that they save, where nodes sleep."""
    if "boots" not in runs.columns or "energy_j" not in metrics:
        return metrics
    place = metrics.index("energy_j") + 1
    return (*metrics[:place], "boots", *metrics[place:])


def _are_alike(platform: Platform) -> bool:
    """True if every node draws the same, idle and under the same job, which has its nodes to itself."""
    draws_w = [np.concatenate([c.per_node(name) for c in platform.classes]) for name in ("idle_w", "busy_w")]
    is_shared = not platform.exclusive and bool((platform.slots > 1).any())
    return platform.actual is None and all(np.ptp(watts) == 0 for watts in draws_w) and not is_shared

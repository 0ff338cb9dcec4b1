"""`what_if`: a log on today's machine and on others, each setting held against today."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hetsched.checks import Faults
from hetsched.errors import ConfigError
from hetsched.many.executors import check_where
from hetsched.many.progress import Bars, Reporting, check_progress, teller
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.roles import Scheduler
from hetsched.run.metrics import metrics_named, missing_of_bound
from hetsched.run.options import RunKeywords, RunOptions, options_given, takes_run_options
from hetsched.run.result import Result
from hetsched.run.simulation import check_inputs, policy_of
from hetsched.whatif.answer import WhatIf, answered
from hetsched.whatif.repeat import repeated
from hetsched.whatif.settings import axes_of, settings_of
from hetsched.whatif.trials import Trials
from hetsched.workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack

DEFAULT_METRICS = ("energy_j", "mean_wait_s", "p95_wait_s")


@takes_run_options()
def what_if(
    workload: Workload | Result,
    platform: Platform | None = None,
    policy: str | Policy | Mapping[str, Any] | Scheduler | type[Scheduler] | None = None,
    settings: Mapping[str, Sequence[Any] | Mapping[str, Any]] | None = None,
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Reporting = "bar",
    executor: Executor | str | None = None,
    **options: Unpack[RunKeywords],
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
    faults = Faults()
    recorded = None
    if isinstance(workload, Result):
        recorded = workload.summary()
        _check_alone(platform, policy, faults)
        faults.check()
        workload, platform, policy, own = repeated(workload, options)
    else:
        own = options_given(what_if, options)
    check_inputs(workload, platform, faults)
    own = own.checked(faults)
    _check_metrics(metrics, platform, own, settings, faults)
    _check_how(workers, out, progress, executor, faults)
    faults.check()
    assert isinstance(workload, Workload)
    assert isinstance(platform, Platform)
    today = policy_of("easy" if policy is None else policy)
    axes = axes_of(settings, platform, faults)
    faults.check()
    rows = settings_of(axes, platform, today, own, faults)
    faults.check()
    trials = Trials(workload, rows, None if out is None else Path(out), executor, workers)
    concerns = trials.check(faults)
    faults.check()
    for concern in concerns:
        warnings.warn(str(concern), concern.category, stacklevel=2)
    with Bars(shown=progress == "bar") as bars:
        answers = trials.answers(bars.bar("what if", unit="runs") if progress == "bar" else teller(progress))
    weeks = (workload.to_polars()["submit_s"] // 604_800.0).n_unique()
    found = answered(axes, rows, answers, metrics, weeks, recorded=recorded, provenance=trials.provenance)
    if out is not None:
        found.write(out)
    return found


def _check_alone(platform: object, policy: object, faults: Faults) -> None:
    """Note what a result has itself."""
    for name, value in (("platform", platform), ("policy", policy)):
        if value is not None:
            faults.note(name, "a value", "nothing with a result, which has one")


def _check_metrics(metrics: Any, platform: Any, options: RunOptions, settings: Any, faults: Faults) -> None:
    """Note metrics that there are not, that are neither good nor bad, and that these runs do not have."""
    if isinstance(metrics, str) or not isinstance(metrics, Sequence):
        faults.add("metrics", metrics, "a list of keys of the summary")
        return
    try:
        known = metrics_named(metrics)
    except ConfigError as error:
        faults.extend(error)
        return
    set_keys = set(settings) if isinstance(settings, Mapping) else set()
    missing = {
        "baseline": "metrics of a run; this one is of a comparison of policies",
        **missing_of_bound(options.bound, "bound=True", 'bound="starts"'),
    }
    if options.events is None and options.contract is None and not set_keys & {"events", "contract"}:
        missing["prices"] = "events or a contract as well, with prices or carbon intensities"
    if options.contract is None and "contract" not in set_keys:
        missing["limits"] = "a contract as well, with limits"
    if isinstance(platform, Platform) and platform.pue is None and "platform" not in set_keys:
        missing["pue"] = "a platform with a pue"
    for metric in known:
        if metric.better == "neither":
            faults.add("metrics", metric.key, "metrics of which less or more is better")
        elif metric.needs in missing:
            faults.add("metrics", metric.key, missing[metric.needs])
    for key in {key for key in metrics if list(metrics).count(key) > 1}:
        faults.add("metrics", key, "each metric once")


def _check_how(workers: object, out: object, progress: object, executor: object, faults: Faults) -> None:
    check_where(workers, executor, faults)
    check_progress(progress, faults, "rows")
    if out is not None:
        faults.folder("out", out)

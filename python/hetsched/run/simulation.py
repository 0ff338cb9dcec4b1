"""`simulate`: one run, from a workload, a platform and a policy to a result.

The run itself is the engine's; this module checks the options, hands the columns over and says where the answer came
from.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from hetsched import _core
from hetsched.bound import check_bound, energy_bound
from hetsched.checks import Faults, did_you_mean, plain
from hetsched.errors import ConfigError, LoadWarning
from hetsched.forks import check_threads
from hetsched.platform import Platform, VariationTable
from hetsched.platform.predictor import AnyPredictor, predictor_name
from hetsched.policy import Policy, parse_policy
from hetsched.power.forecast import Forecast, believed
from hetsched.run.concerns import Concern, concerns_of_inputs, concerns_of_run
from hetsched.run.frames import jobs_frame
from hetsched.run.known_draws import draws_record
from hetsched.run.lost_work import lost_work
from hetsched.run.memory import check_memory
from hetsched.run.observed import check_observed, replay_counts, warn_of_changes
from hetsched.run.result import Parts, Result
from hetsched.run.summary import completed_work_ratio, summarised
from hetsched.run.utilization import utilization_band
from hetsched.workload import Workload

__all__ = ["checked_options", "simulate"]

Progress = Callable[[int, int, float], object]


def simulate(
    workload: Workload,
    platform: Platform,
    policy: str | Policy | Mapping[str, Any] = "easy",
    *,
    seed: int = 0,
    kill_at_walltime: bool = True,
    kill_grace_s: float = 0.0,
    walltimes: str = "fixed",
    on_unknown_app: str = "error",
    bound: bool = False,
    progress: Progress | None = None,
    until_s: float | None = None,
    predictor: AnyPredictor | None = None,
) -> Result:
    """Schedule a workload on a platform under a policy, and meter every node.

    Parameters
    ----------
    workload
        The jobs.
    platform
        The machine, with the tables of its nodes' draw if there are any.
    policy
        A preset's name (``"easy"``, ``"easy:placement=lowest-power"``), a `Policy`, or a dictionary for
        `Policy.from_dict`.
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
        have reached within this run's window (docs/background/bounds.md).
    progress
        Called now and then with (jobs done, jobs in all, simulated second).
    until_s
        Where to stop, in seconds on the log's clock; jobs then running or queued say so. None: run to the end.
    predictor
        Where this run's predictions come from, in place of the platform's predicted table and of what it lets decisions
        know of the jobs' own draws: ``"ideal"``, what is charged; an object with ``table(actual)`` or ``draws(jobs)``,
        such as ``hs.power.Noisy(0.1)`` or ``hs.power.History()``; or a `VariationTable` of the same applications and
        nodes as the actual one, such as a fitted model's. None: the platform's own.

    Returns
    -------
    Result
        The same, bit for bit, for the same arguments.

    Raises
    ------
    ConfigError
        If an option, the policy, or the platform's tables for these jobs cannot be; if there is a predictor and
        nothing for it to predict: no actual table, no job that brings ``power_w``; if the policy repeats the log and
        the workload has no observed starts.
    SimulationError
        If the run cannot go on; before it begins, if it needs more memory than there is, or if the process was forked
        from one in which polars had been at work.

    Warns
    -----
    LoadWarning
        If more work is submitted than the platform can do.
    DeviceWarning
        If jobs for GPUs ran on nodes without any, or of several classes that do not say whether they have any.
    PowerWarning
        If a job's measured draw is above twice the nodes' TDP.
    ResultWarning
        If more than half of the jobs that ran were killed at their walltime, or less than 5 % of the nodes were busy
        for over a tenth of a run of a week or more.
    ReplayWarning
        If the policy repeats the log, and jobs start later than they did or have no observed start.
    WorkWarning
        If more than 1 % of the started node-seconds were lost with jobs that were killed at their walltimes.

    Examples
    --------
    >>> jobs = pl.DataFrame({"job_id": [1, 2, 3], "submit_s": [0, 10, 20], "runtime_s": [60, 30, 15],
    ...                      "walltime_s": [60, 30, 15], "node_count": [1, 2, 1], "user": ["ann", "bo", "ann"]})
    >>> platform = Platform.homogeneous(nodes=10, idle_w=100, tdp_w=300)
    >>> result = simulate(Workload.from_polars(jobs), platform, "fcfs")
    >>> result.summary()["completed"], result.jobs["nodes"].to_list()
    (3, [[0], [1, 2], [3]])
    """
    check_threads()
    faults = Faults()
    check_inputs(workload, platform, faults)
    given: dict[str, Any] = {"kill_at_walltime": kill_at_walltime, "kill_grace_s": kill_grace_s, "walltimes": walltimes}
    given |= {"on_unknown_app": on_unknown_app, "bound": bound, "until_s": until_s}
    options = checked_options({"seed": seed, **given}, faults)
    if options["bound"] is True and isinstance(platform, Platform):
        check_bound(platform, faults)
    faults.check()
    seed, until_s = options.pop("seed"), options["until_s"]
    policy = _as_policy(policy)
    check_observed(policy, workload, platform)
    check_memory(workload, platform, policy, until_s=until_s)
    platform, forecast = believed(workload, platform, predictor)
    options["predictor"] = predictor_name(predictor)
    _warn_of_overload(workload.offered_load(platform), platform)
    before = concerns_of_inputs(workload.to_polars(), platform)
    warn_of(before)

    def run(policy: Policy) -> _core.Records:
        return _core.simulate(
            workload.columns,
            platform.machine,
            policy.to_dict(),
            seed=seed,
            on_unknown_app=options["on_unknown_app"],
            until_s=until_s,
            known_w=None if forecast is None else forecast.known_w,
            progress=progress,
            **limits_of(options),
        )

    begun = time.perf_counter()
    policy = _with_measured_borders(policy, run, workload, platform, until_s=until_s)
    records = run(policy)
    wall_s = time.perf_counter() - begun

    warn_of_changes(policy, records.totals)
    result = result_of(
        records,
        workload,
        platform,
        policy,
        seed=seed,
        options=options,
        wall_s=wall_s,
        before=before,
        forecast=forecast,
        more=replay_counts(policy, records.totals),
    )
    warn_of(result.concerns[len(before) :])
    return result


def result_of(
    records: _core.Records,
    workload: Workload,
    platform: Platform,
    policy: Policy,
    *,
    seed: int,
    options: Mapping[str, Any],
    wall_s: float,
    before: Sequence[Concern],
    forecast: Forecast | None = None,
    more: Mapping[str, Any],
) -> Result:
    """What the engine leaves behind, as a result with the concerns there were and are; `more` joins its provenance."""
    totals, offered_load = records.totals, workload.offered_load(platform)
    recorded, timeline = _recorded(records, policy), pl.DataFrame(records.take_timeline())
    after = concerns_of_run(workload.to_polars(), recorded, timeline, platform)
    after += _lost_work(platform, options, totals)

    def summary(jobs: pl.DataFrame) -> dict[str, int | float | None]:
        numbers = summarised(jobs, totals, nodes=platform.nodes, offered_load=offered_load)
        if not options["bound"]:
            return numbers
        window_s = float(numbers["makespan_s"] or 0.0)
        return {**numbers, "energy_bound_j": energy_bound(jobs, platform, window_s=window_s, **limits_of(options))}

    def provenance() -> dict[str, Any]:
        own = _provenance(workload, platform, policy, seed=seed, options=options, totals=totals, forecast=forecast)
        return {**own, **more}

    return Result(
        Parts(
            jobs=lambda: jobs_frame(workload.to_polars(), recorded),
            timeline=lambda: timeline,
            nodes=lambda: pl.DataFrame(records.take_nodes()),
            summary=summary,
            provenance=provenance,
            timing={"wall_s": wall_s, "jobs_per_s": len(workload) / wall_s if wall_s > 0 else 0.0},
            concerns=(*before, *after),
        )
    )


def _recorded(records: _core.Records, policy: Policy) -> pl.DataFrame:
    """What the engine wrote down of the jobs; whether they were profiled only where the policy profiles."""
    frame = pl.DataFrame(records.take_jobs())
    return frame if (policy.parts["order"] or {}).get("first_run") else frame.drop("profiled")


def checked_options(given: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """Options of `simulate` as plain values, whatever kinds of number and flag they were given as.

    Parameters
    ----------
    given
        ``kill_at_walltime``, ``kill_grace_s``, ``walltimes``, ``on_unknown_app``, ``bound``, ``until_s``, and ``seed``
        if it is known.
    faults
        Notes every value that cannot be.

    Examples
    --------
    >>> import numpy as np
    >>> given = {"kill_at_walltime": True, "kill_grace_s": 0, "walltimes": "fixed", "on_unknown_app": "error",
    ...          "bound": np.False_, "until_s": np.int64(60)}
    >>> list(checked_options(given, Faults()).values())
    [True, 0.0, 'fixed', 'error', False, 60.0]
    """
    options: dict[str, Any] = plain(given)
    if "seed" in options:
        faults.whole("seed", options["seed"], low=0, high=2**64 - 1)
    faults.flag("kill_at_walltime", options["kill_at_walltime"])
    _take_seconds(faults, options, "kill_grace_s", low=0.0)
    _check_choice(faults, "walltimes", options["walltimes"], ("fixed", "stretch"))
    _check_choice(faults, "on_unknown_app", options["on_unknown_app"], ("error", "nominal"))
    faults.flag("bound", options["bound"])
    if options["until_s"] is not None:
        _take_seconds(faults, options, "until_s", low=-1e12)
    return options


def limits_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that say how long jobs may run.

    Parameters
    ----------
    options
        As `checked_options` gives them.
    """
    return {name: options[name] for name in ("kill_at_walltime", "kill_grace_s", "walltimes")}


def _take_seconds(faults: Faults, options: dict[str, Any], name: str, *, low: float) -> None:
    faults.number(name, options[name], low=low, high=1e12)
    # 60 and 60.0 are one run, and have one record.
    options[name] = options[name] if faults.found else float(options[name])


def _check_choice(faults: Faults, option: str, value: object, known: tuple[str, str]) -> None:
    if value not in known:
        faults.add(option, value, f"`{known[0]}` or `{known[1]}`{did_you_mean(str(value), known)}")


def check_inputs(workload: object, platform: object, faults: Faults) -> None:
    """Note what is no workload and no platform."""
    if not isinstance(workload, Workload):
        faults.add("workload", type(workload).__name__, "a Workload, as read_swf or Workload.from_polars makes it")
    if not isinstance(platform, Platform):
        faults.add("platform", type(platform).__name__, "a Platform, as Platform.homogeneous makes it")


def _as_policy(policy: Any) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str):
        return parse_policy(policy)
    if isinstance(policy, Mapping):
        return Policy.from_dict(policy)
    raise ConfigError([("policy", type(policy).__name__, "a preset's name, a Policy, or a dictionary of parts")])


def _with_measured_borders(
    policy: Policy,
    run: Callable[[Policy], _core.Records],
    workload: Workload,
    platform: Platform,
    *,
    until_s: float | None,
) -> Policy:
    """The policy with the utilization that the machine has under random placement as its pools' borders, if it asks."""
    parts = policy.parts
    placement = parts["placement"] or {}
    if not placement.get("measured"):
        return policy
    rehearsal = run(Policy.from_dict({**parts, "placement": "random"}))
    submit_s = workload.to_polars()["submit_s"].to_numpy()
    last_s = float(submit_s[-1]) if len(submit_s) else 0.0
    low, high = utilization_band(
        pl.DataFrame(rehearsal.take_timeline()),
        nodes=platform.nodes,
        last_submit_s=last_s if until_s is None else min(last_s, until_s),
    )
    return Policy.from_dict({**parts, "placement": {**placement, "u_l": low, "u_h": high}, "name": policy.name})


def _warn_of_overload(offered_load: float | None, platform: Platform) -> None:
    if offered_load is not None and offered_load > 1.0 and math.isfinite(offered_load):
        nodes = f"{platform.nodes:,} node{'' if platform.nodes == 1 else 's'}"
        warnings.warn(
            f"offered load {offered_load:.2f}: more work is submitted than {nodes} can do, "
            "so the queue grows until the last job is submitted",
            LoadWarning,
            stacklevel=3,
        )


def warn_of(concerns: Sequence[Concern]) -> None:
    """Warn the caller's caller."""
    for concern in concerns:
        warnings.warn(str(concern), concern.category, stacklevel=3)


def _lost_work(platform: Platform, options: Mapping[str, Any], totals: Mapping[str, Any]) -> list[Concern]:
    """That work was lost with jobs that were killed at their walltimes."""
    if not options["kill_at_walltime"]:
        return []
    table = platform.actual
    is_slow = table is not None and table.time_ratio is not None and bool((table.time_ratio > 1.0).any())
    on_slow_nodes = is_slow and options["walltimes"] == "fixed"
    concern = lost_work(totals["work_cut_jobs"], completed_work_ratio(totals), on_slow_nodes=on_slow_nodes)
    return [] if concern is None else [concern]


def _provenance(
    workload: Workload,
    platform: Platform,
    policy: Policy,
    *,
    seed: int,
    options: Mapping[str, Any],
    totals: Mapping[str, Any],
    forecast: Forecast | None,
) -> dict[str, Any]:
    """Enough to repeat the run and to trust its energy; holds no path, so equal runs have equal bytes."""
    return {
        "version": _core.__version__,
        "seed": seed,
        "policy": policy.to_dict(),
        "options": dict(options),
        "trace": {
            "name": workload.report.source,
            "file_sha256": workload.source_sha256,
            "sha256": workload.sha256,
            "history": list(workload.history),
        },
        "platform": {
            "sha256": platform.sha256,
            "nodes": platform.nodes,
            "exclusive": platform.exclusive,
            "classes": [node_class.to_dict() for node_class in platform.classes],
        },
        "tables": {"actual": _table_sha256(platform.actual), "predicted": _table_sha256(platform.predicted)},
        "known_draws": draws_record(
            policy, platform, jobs=totals["measured_jobs"], forecast=None if forecast is None else forecast.report
        ),
        "energy_balance": {
            "integral_j": totals["integral_j"],
            "parts_j": totals["energy_j"],
            "relative_error": totals["balance_relative_error"],
        },
        "counts": {name: totals[name] for name in ("passes", "events", "low_busy_rows", "clairvoyant_jobs")},
        "report": workload.report.to_dict(),
    }


def _table_sha256(table: VariationTable | None) -> str | None:
    return None if table is None else table.sha256

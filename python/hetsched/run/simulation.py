"""`simulate`: one run, from a workload, a platform and a policy to a result; and `Run`, the same as a thing.

The run itself is the engine's; this module checks what it is given and hands the columns over.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hetsched import _core
from hetsched.checks import Faults, plain
from hetsched.errors import ConfigError
from hetsched.features.contracts import Extended
from hetsched.features.feature import Setting
from hetsched.platform import Platform
from hetsched.policy.policy import Policy, policy_like
from hetsched.resources import check_threads, frame_of
from hetsched.roles import Scheduler
from hetsched.run.event_rows import BUDGET, CANCEL, HOLD, MAINTENANCE
from hetsched.run.events import Events, Floats
from hetsched.run.memory import check_memory
from hetsched.run.options import RunKeywords, RunOptions, check_bound, options_given, takes_run_options
from hetsched.run.outcome import result_of
from hetsched.run.result import Result
from hetsched.workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack

A_POLICY = "a preset's name, a Policy, a dictionary of parts, or an object with the method `decide`"
Progress = Callable[[int, int, float], object]
BudgetColumns = tuple[Floats, Floats, Floats, Floats]

_BEFORE_EVERYTHING_S = -1e12


@dataclass(frozen=True)
class Run(Setting):
    """A workload on a platform under a policy, with its options: made by `run_of`, which checks each by itself."""

    def stop_before(self) -> None:
        """Set everything up and stop before the first job; raises what `execute` would raise by then."""
        replace(self, options=replace(self.options, until_s=_BEFORE_EVERYTHING_S, bound=False)).execute()

    def execute(self, progress: Progress | None = None, *, journal: str | os.PathLike[str] | None = None) -> Result:
        """The result; says nothing of what looks wrong, which `Result.concerns` holds."""
        begun_s = time.perf_counter()
        if journal is not None:
            return self._journaled(journal, progress)
        begun = self.begin(progress)
        begun.engine.step_until(None, progress=progress)
        return begun.result(begun.engine, wall_s=time.perf_counter() - begun_s)

    def _journaled(self, journal: str | os.PathLike[str], progress: Progress | None) -> Result:
        from hetsched.live.simulated import check_journal, write_journal  # noqa: PLC0415 -- it reads runs itself

        begun_s = time.perf_counter()
        check_journal(self)
        begun = self.begin(progress)
        begun.core.chronicle()
        begun.engine.step_until(None, progress=progress)
        write_journal(journal, begun.setting, begun.core)
        return begun.result(begun.engine, wall_s=time.perf_counter() - begun_s)

    def begin(self, progress: Progress | None = None, *, succeeds: _core.Session | None = None) -> Begun:
        """The run, set up and checked.

        Nothing has happened in it, or what has in the engine's run that it `succeeds` under another policy.
        """
        run = self.settled(progress)
        parts = run.policy._begun(run.options.seed)
        return Begun(engine_of(run, parts, succeeds=succeeds), run, {role: parts[role] for role in run.policy.own})

    def settled(self, progress: Progress | None = None) -> Run:
        """The run as decisions will see it, once it is checked."""
        self.check()
        run = self
        for settle in self.asked("settle"):
            run = settle(run)

        def utilizations(policy: Policy) -> tuple[float, float]:
            return run._utilizations(engine_of(replace(run, policy=policy)), progress)

        policy = run.policy._measured_in(utilizations)
        return run if policy is run.policy else replace(run, policy=policy)

    def check(self) -> None:
        """Raise if its ingredients do not go together, or memory does not suffice."""
        check_threads()
        super().check()
        check_memory(self.workload, self.platform, self.policy, until_s=self.options.until_s)

    def _utilizations(self, rehearsal: _core.Session | Extended, progress: Progress | None) -> tuple[float, float]:
        """The lowest and the highest share of busy nodes in a run before, from its first submit to its last."""
        rehearsal.step_until(None, progress=progress)
        submit_s, until_s = self.workload.to_polars()["submit_s"].to_numpy(), self.options.until_s
        last_s = float(submit_s[-1]) if len(submit_s) else 0.0
        return utilization_band(
            frame_of(rehearsal.take_records().take_timeline()),
            nodes=self.platform.nodes,
            last_submit_s=last_s if until_s is None else min(last_s, until_s),
        )


@dataclass(frozen=True)
class Begun:
    """A run under way: the engine's, and what it was made of."""

    engine: _core.Session | Extended
    setting: Setting
    objects: Mapping[str, Any] = field(default_factory=dict)
    """The objects of users' own that decide in `engine`, by role."""

    @property
    def core(self) -> _core.Session:
        """The engine's own, which an agent's runs are stepped by."""
        return self.engine.core if isinstance(self.engine, Extended) else self.engine

    def result(
        self, engine: _core.Session | Extended, *, wall_s: float, more: Mapping[str, Any] | None = None
    ) -> Result:
        """The result of `engine`, this run's or a fork of it, which is used up; `more` joins its provenance."""
        own: dict[str, Any] = dict(more or {})
        # A fork has copies of its own.
        if engine is self.engine and (notes := _notes(self.objects)):
            own["notes"] = notes
        return result_of(engine.take_records(), self.setting, wall_s=wall_s, more=own)


def _notes(objects: Mapping[str, Any]) -> dict[str, Any]:
    """Notes of objects on a run, by the first of their roles: what their method ``notes`` gives."""
    first = {id(own): role for role, own in reversed(list(objects.items()))}
    telling = {role: objects[role] for role in objects if first[id(objects[role])] == role}
    return {role: plain(own.notes()) for role, own in telling.items() if callable(getattr(own, "notes", None))}


def engine_of(
    run: Setting,
    parts: dict[str, Any] | None = None,
    *,
    succeeds: _core.Session | None = None,
    extends: _core.Session | None = None,
    from_s: float | None = None,
    end_s: Floats | None = None,
) -> _core.Session | Extended:
    """The engine's own run of these ingredients; `parts`: the policy's, begun.

    Up to `from_s` the log decides what starts; jobs that it says start and for which `end_s` is no NaN end then.

    One that `succeeds` another goes on from where that is under another policy; one that `extends` another is that run
    with more jobs, and leaves nothing of it. Both know the events already.
    """
    if succeeds is not None or extends is not None:
        run = replace(run, options=replace(run.options, events=None))
    keywords = {name: value for engine in run.asked("engine") for name, value in engine(run).items()}
    setup = _core.RunSetup(
        _columns_of(run, end_s),
        run.platform._machine,
        run.policy._begun(run.options.seed) if parts is None else parts,
        agent=run.agent,
        from_s=from_s,
        **run.options.of_engine,
        **keywords,
    )
    session = _core.Session(setup, succeeds=succeeds, extends=extends)
    if run.options.events is not None:
        # Budgets are among the keywords.
        _inject(session, run.options.events, run.workload, None)
    return reduce(lambda driven, drive: drive(run, driven), run.asked("drive"), session)


def _columns_of(run: Setting, end_s: Floats | None) -> _core.JobColumns:
    workload = run.workload
    return workload._core_columns if end_s is None and run.apps is None else workload._columns_ending(end_s, run.apps)


def inject(engine: _core.Session | Extended, events: Events, workload: Workload) -> None:
    """Give events to a run of the engine's that is under way."""
    _inject(engine, events, workload, events._of_budgets() if events.has(BUDGET) else None)


def _inject(
    engine: _core.Session | Extended, events: Events, workload: Workload, budgets: BudgetColumns | None
) -> None:
    maintenance = events._of_maintenance() if events.has(MAINTENANCE) else None
    cancels = events._of_cancels(workload) if events.has(CANCEL) else None
    holds = events._of_holds() if events.has(HOLD) else None
    engine.inject(*events._of_nodes(), budgets=budgets, maintenance=maintenance, cancels=cancels, holds=holds)


@takes_run_options()
def simulate(
    workload: Workload,
    platform: Platform,
    policy: str | Policy | Mapping[str, Any] | Scheduler | type[Scheduler] = "easy",
    *,
    progress: Progress | None = None,
    journal: str | os.PathLike[str] | None = None,
    **options: Unpack[RunKeywords],
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
    check_progress(progress)
    run = run_of(workload, platform, policy, options_given(simulate, options))
    for concern in run.concerns:
        warnings.warn(str(concern), concern.category, stacklevel=2)
    result = run.execute(progress, journal=journal)
    for concern in result.concerns[len(run.concerns) :]:
        warnings.warn(str(concern), concern.category, stacklevel=2)
    return result


def check_progress(progress: object) -> None:
    """Raise if a run cannot say how far it is."""
    faults = Faults()
    faults.function("progress", progress, "jobs done", "jobs in all", "seconds on the log's clock")
    faults.check()


def run_of(workload: object, platform: object, policy: object, options: RunOptions) -> Run:
    """A run of what a user gave; raises ConfigError with all faults that each thing shows by itself."""
    check_threads()
    faults = Faults()
    check_inputs(workload, platform, faults)
    options = options.checked(faults)
    if isinstance(platform, Platform):
        check_bound(options.bound, platform, faults)
    faults.check()
    assert isinstance(workload, Workload)
    assert isinstance(platform, Platform)
    return Run(workload, platform, policy_of(policy), settled(options, workload, platform))


def settled(options: RunOptions, workload: Workload, platform: Platform) -> RunOptions:
    """The same options with events in seconds on the log's clock, and on nodes by number."""
    if options.events is None:
        return options
    zero_s = None if options.contract is None else options.contract.starts_s
    return replace(options, events=options.events.on(workload, platform, zero_s=zero_s))


def check_inputs(workload: object, platform: object, faults: Faults) -> None:
    """Note what is no workload and no platform."""
    if not isinstance(workload, Workload):
        faults.add("workload", type(workload).__name__, "a Workload, as read_swf or Workload.from_polars makes it")
    if not isinstance(platform, Platform):
        faults.add("platform", type(platform).__name__, "a Platform, as Platform.homogeneous makes it")


def policy_of(given: object) -> Policy:
    """A policy from a preset's name, a dictionary of parts, a whole scheduler, or itself."""
    policy = policy_like(given)
    if policy is None:
        raise ConfigError([("policy", type(given).__name__, A_POLICY)])
    return policy


def utilization_band(timeline: pl.DataFrame, *, nodes: int, last_submit_s: float) -> tuple[float, float]:
    """U_L and U_H of the Hierarchy Pool study (section 4.2): the extremes of the share of busy nodes, 0 if nothing ran.

    Counted from the first instant at which the share reaches its median (weighted by time, up to the last submit) to
    the last submit: the empty machine before and after a log says nothing of how busy the machine is.
    """
    rows = timeline.filter(pl.col("time_s") <= last_submit_s)
    if rows.is_empty():
        return 0.0, 0.0
    busy = rows["busy_nodes"].to_numpy() / nodes
    length_s = np.diff(rows["time_s"].to_numpy(), append=last_submit_s)
    filled = busy[int(np.argmax(busy >= _weighted_median(busy, length_s))) :]
    return float(filled.min()), float(filled.max())


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])

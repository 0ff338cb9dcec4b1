"""`Controller`: a policy in the hands of a host, which informs it of what happens and carries out what it decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import polars as pl

from hetsched import _core
from hetsched.checks import Faults, shown
from hetsched.errors import ConfigError, LiveError
from hetsched.features.feature import Setting
from hetsched.features.labels import groups_of
from hetsched.live.deadline import called_within
from hetsched.live.decisions import Decision
from hetsched.live.memory import Names, bytes_of, has_gap, memory_in
from hetsched.live.notices import Notice
from hetsched.live.snapshot import Snapshot, snapshot_of, state_of
from hetsched.live.told import decisions_of, reports_of
from hetsched.naming import named_in
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.roles import Scheduler
from hetsched.run.options import RunOptions
from hetsched.run.session_changes import app_order, appended, conformed_jobs
from hetsched.run.simulation import Run, check_inputs, policy_of
from hetsched.workload import Workload

_OF_RUNS = ("until_s", "on_failure")
"""Options of the engine that say what a plant does."""

_LATEST_US = 10**18

Deed: TypeAlias = tuple[int, tuple[Notice, ...]] | tuple[int, Snapshot, Policy | None, bytes | None] | pl.DataFrame
"""A step, a rebuild (perhaps under another policy, or with what one has remembered), or jobs that were added."""


@dataclass(frozen=True)
class _Before:
    """Decisions and notices that came too late before the last rebuild, and when a step was wanted after it."""

    decided: int = 0
    late: int = 0
    wanted_us: int | None = None


MOST_NOTICES = 1_000_000
"""Notices after which the earlier ones are folded into a rebuild."""


@named_in("hetsched")
class Controller:
    """A policy at work on a machine that its host watches and steers: the scheduler of `simulate`, without a plant.

    It has no clock, no threads and no files. The host gives notices of what has happened (`hetsched.live.notices`) and
    gets decisions (`hetsched.live.decisions`), which count as carried out at once; if one could not be, the host says
    so with ``StartFailed``. Notices of one instant are taken into account in the order of docs/background/live.md,
    whatever their order in the list, and those about an earlier attempt than the present change nothing.

    Parameters
    ----------
    platform
        The machine, with the tables of its nodes' draw if there are any.
    policy
        As in `simulate`.
    workload
        Jobs that are known from the beginning; each joins the queue once the host gives ``Submitted``. Runtimes in it
        are not read: plans go by walltimes.
    seed
        From 0 to 2⁶⁴ - 1; all chance comes from it.
    fold_after
        Number of notices after which a controller begins again with its own state and `policy_state`, so that a pickle
        holds no more than these. None: it never does, nor does it where a state does not hold everything: under a
        policy that governs power, keeps a time of its own (``slurm``) or prices nodes (``hetsched``), or that has
        Python objects in it.

    Raises
    ------
    ConfigError
        As `simulate`; if a job has no walltime; if the policy repeats a log or measures utilizations beforehand.

    Examples
    --------
    >>> import polars as pl, hetsched as hs
    >>> from hetsched.live import Ended, Submitted
    >>> jobs = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "walltime_s": [60, 60], "node_count": [2, 1]})
    >>> controller = hs.Controller(hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300), "easy")
    >>> controller.add_jobs(jobs)
    >>> controller.step(0, [Submitted(1), Submitted(2)])
    [Start(number=1, job=1, attempt=1, nodes=(0, 1), cap_w=None, granted_w=None)]
    >>> controller.step(41_500_000, [Ended(1, 1, "completed")])
    [Start(number=2, job=2, attempt=1, nodes=(0,), cap_w=None, granted_w=None)]
    >>> controller.next_us is None
    True
    """

    def __init__(
        self,
        platform: Platform,
        policy: str | Policy | Mapping[str, Any] | Scheduler | type[Scheduler] = "easy",
        *,
        workload: Workload | None = None,
        seed: int = 0,
        fold_after: int | None = MOST_NOTICES,
    ) -> None:
        faults = Faults()
        if fold_after is not None:
            faults.whole("fold_after", fold_after, low=1, high=10**12)
        check_inputs(_no_jobs() if workload is None else workload, platform, faults)
        options = RunOptions(seed=seed).checked(faults)
        faults.check()
        jobs = _no_jobs() if workload is None else blind(workload)
        self._begin(Setting(jobs, platform, policy_of(policy), options), fold_after)

    @classmethod
    def of(cls, setting: Setting, fold_after: int | None = None) -> Controller:
        """A controller of the ingredients of a run, without its plant and what comes from outside."""
        made = cls.__new__(cls)
        options = replace(setting.options, events=None, until_s=None, bound=False)
        made._begin(replace(setting, workload=blind(setting.as_submitted), submitted=None, options=options), fold_after)
        return made

    def _begin(self, given: Setting, fold_after: int | None) -> None:
        self._given = given
        self._fold_after, self._heard, self._before = fold_after, 0, _Before()
        self._later: dict[str, list[Any]] = {}
        self._wanted_us: int | None = None
        self._setting = _settled(given)
        self._reached_us: int | None = None
        self._decided = 0
        self._deeds: list[Deed] = []
        self._apps: tuple[str, ...] | None = None
        self._know(given.workload)
        # Whatever is wrong with the policy on this machine is said now.
        self._engine = _engine_of(self._setting, start_us=0)

    def _know(self, workload: Workload) -> None:
        self._ids: list[int] = workload.to_polars()["job_id"].to_list()
        self._rows = {job: row for row, job in enumerate(self._ids)}

    @property
    def reached_us(self) -> int | None:
        """The instant of the last step, microseconds of the run's clock; None before the first."""
        return self._reached_us

    @property
    def next_us(self) -> int | None:
        """The next instant at which a step is wanted even if nothing happens, such as a timer; None: there is none."""
        if self._reached_us is None or self._wanted_us is None:
            return None if self._reached_us is None else self._engine.next_us
        return self._wanted_us

    @property
    def late(self) -> int:
        """Number of notices that came too late to change anything."""
        return self._before.late + self._engine.late

    @property
    def setting(self) -> Setting:
        """The ingredients of the run, which a journal keeps."""
        return self._given

    @property
    def jobs(self) -> Workload:
        """All jobs so far, in rows that never change; their runtimes are their walltimes."""
        return self._given.workload

    def add_jobs(self, frame: pl.DataFrame | Workload) -> None:
        """Add jobs, which join the queue once the host gives ``Submitted`` or ``Eligible``.

        Parameters
        ----------
        frame
            The columns of a workload; ``runtime_s`` may be missing and is not read, ``walltime_s`` must be there. A
            job gets the next row, and rows are never used again: of jobs that join the queue at one instant, those go
            first that were added first.

        Raises
        ------
        ConfigError
            If a job has no walltime or the number of another one, or asks for what the controller was not set up for
            (as `hetsched.Session.inject`); nothing has changed then.
        TraceError
            If the jobs are no workload.
        """
        before = self._given.workload
        own = frame.to_polars() if isinstance(frame, Workload) else frame
        new = conformed_jobs(_blind_frame(own, "jobs"), before, from_s=-1e12)
        both = appended(before, new) if len(before) else Workload.from_polars(new, source=before.source)
        apps = app_order(self._apps, before, both)
        given = replace(self._given, workload=both, apps=apps)
        setting = _settled(given)
        if self._reached_us is None:
            self._engine = _engine_of(setting, start_us=0)
        else:
            self._engine = _engine_of(setting, start_us=self._reached_us, extends=self._engine)
        self._given, self._setting, self._apps = given, setting, apps
        self._know(both)
        self._deeds.append(new)
        if self._later:
            self._engine.recall(self._names.numbered(self._later))
            self._later = self._names.unknown(self._later)

    def step(self, t_us: int, notices: Iterable[Notice] = (), *, within_s: float | None = None) -> list[Decision]:
        """Take the notices of one instant into account, and decide until nothing more is decided.

        Parameters
        ----------
        t_us
            The instant, microseconds of the run's clock; after the last one.
        notices
            Everything that has happened since the last step. None, or ``Tick()``: nothing has, and it is `next_us`.
        within_s
            Seconds after which the step is broken off, by SIGALRM, in the main thread; None: it has all the time.

        Returns
        -------
        list of Decision
            In the order in which they are to be carried out, each with a number of its own.

        Raises
        ------
        ConfigError
            If `t_us` is no instant after the last, a notice is about no job or node that there is, or `within_s` is
            given outside the main thread.
        LiveError
            If a notice cannot be true, such as a start on a busy node: the host's picture of the machine and ours
            differ.
        SimulationError
            If the policy decides what cannot be carried out. An exception of an object in a role is raised as it is.
        TimeoutError
            If there is no decision after `within_s`.

        After an error nothing has changed: notices that are true go into the next step.
        """
        self._check_instant(t_us)
        if within_s is not None:
            faults = Faults()
            faults.number("within_s", within_s, low=1e-3, high=1e6)
            faults.check()
        told = tuple(notices)
        reports = reports_of(told, self._rows)
        engine = self._engine if self._reached_us is not None else _engine_of(self._setting, start_us=t_us)
        orders = called_within(within_s, engine.step, t_us, reports)
        self._engine, self._reached_us, self._wanted_us = engine, t_us, None
        decisions = decisions_of(orders, self._ids, self._decided + 1)
        self._decided += len(decisions)
        self._deeds.append((t_us, told))
        self._heard += len(told)
        if self._fold_after is not None and self._heard >= self._fold_after:
            self._fold()
        return decisions

    def snapshot(self) -> Snapshot:
        """The state of machine and jobs by now, as far as the controller knows it.

        What only the policy knows is in `policy_state`.
        """
        return snapshot_of(self._engine.snapshot(), self._ids)

    def policy_state(self) -> bytes:
        """The part of the policy's knowledge that no state of the machine shows, for a `rebuild`.

        Applications that have a profile, use of the machine by group, how far random streams have come, nodes that
        were switched off today, demand that was seen, and since when nodes idle. It is about applications, groups and
        jobs by their names, and has the version of hetsched in it. Python objects in the policy keep their own.
        """
        return bytes_of(self._names.named(self._engine.remember()))

    def rebuild(
        self,
        t_us: int,
        snapshot: Snapshot,
        *,
        policy: str | Policy | Mapping[str, Any] | None = None,
        state: bytes | None = None,
    ) -> None:
        """Begin again with the machine in a state, whatever the controller knew of it before.

        The policy learns of it as one that has just been started, and goes on with what is in `state`. Nothing is
        decided; the next `step` makes a pass, and rejects the jobs that wait and that the policy turns away.

        Parameters
        ----------
        t_us
            The instant; after the last step.
        snapshot
            The state, with instants that may lie in the past.
        policy
            The policy that decides from now on; None: the one that has.
        state
            A `policy_state`, of this controller or of another one. None, or one of another version of hetsched: the
            policy begins without.

        Raises
        ------
        ConfigError
            If `t_us` is no instant after the last, there is no such job or node, or the policy cannot decide here.
        LiveError
            If two runs are on one node, or one on a node that does not serve. Nothing has changed then.
        """
        self._check_instant(t_us)
        given, setting, after = self._given, self._setting, None
        if policy is not None:
            after = policy_of(policy)
            given = replace(given, policy=after)
            setting = _settled(given)
        memory, names = memory_in(state), self._names
        engine = _engine_of(setting, start_us=t_us)
        engine.rebuild(t_us, state_of(snapshot, self._rows, t_us), names.numbered(memory or {}))
        self._given, self._setting = given, setting
        self._engine, self._reached_us = engine, t_us
        self._later = names.unknown(memory or {})
        # A pass is wanted as soon as can be.
        self._begun_again((t_us, snapshot, after, state), _Before(self._decided, wanted_us=t_us + 1))

    def _begun_again(self, deed: Deed, before: _Before) -> None:
        """Forget what was done before a rebuild, but for the jobs that were added."""
        jobs = [done for done in self._deeds if isinstance(done, pl.DataFrame)]
        self._deeds = [*jobs, deed]
        self._heard, self._before, self._wanted_us = 0, before, before.wanted_us

    @property
    def _names(self) -> Names:
        frame, apps = self._given.workload.to_polars(), self._apps
        if apps is None:
            apps = app_order(None, self._given.workload, self._given.workload)
        return Names(apps, groups_of(frame, self._setting), self._ids)

    def _fold(self) -> None:
        """Begin again with its own state, if that holds everything: what was before it need not be kept."""
        if self._given.policy._own or not self._engine.is_plain:
            return
        assert self._reached_us is not None
        t_us, snapshot, state = self._reached_us, self.snapshot(), self.policy_state()
        memory = memory_in(state)
        if memory is None or has_gap(memory):
            return
        before = _Before(self._decided, self.late, self._engine.next_us)
        engine = _engine_of(self._setting, start_us=t_us)
        engine.rebuild(t_us, state_of(snapshot, self._rows, t_us), self._names.numbered(memory))
        self._engine = engine
        self._begun_again((t_us, snapshot, None, state), before)

    def _check_instant(self, t_us: int) -> None:
        faults = Faults()
        faults.whole("t_us", t_us, low=-_LATEST_US, high=_LATEST_US)
        faults.check()
        if self._reached_us is not None and t_us <= self._reached_us:
            raise ConfigError([("t_us", shown(t_us), f"microseconds after {self._reached_us:,}, the last step")])

    def __reduce__(self) -> tuple[object, ...]:
        first = self._deeds_before()
        counts = self._fold_after, self._before, self._decided
        return _restored, (_core.__version__, first, tuple(self._deeds), counts)

    def _deeds_before(self) -> Setting:
        """Ingredients as they were before jobs were added."""
        added = sum(len(deed) for deed in self._deeds if isinstance(deed, pl.DataFrame))
        count = len(self._ids) - added
        jobs = self._given.workload
        first = _no_jobs() if count == 0 else jobs.head(count)
        return replace(self._given, workload=first, apps=None)


def _restored(
    version: str, given: Setting, deeds: Sequence[Deed], counts: tuple[int | None, _Before, int]
) -> Controller:
    """A controller that does again what another one has done."""
    if version != _core.__version__:
        raise LiveError(f"a controller of hetsched {version} cannot be taken up by {_core.__version__}")
    made = Controller.__new__(Controller)
    made._begin(given, counts[0])
    _, before, decided = counts
    for deed in deeds:
        if isinstance(deed, pl.DataFrame):
            made.add_jobs(deed)
        elif len(deed) == 4:
            made._decided = before.decided
            made.rebuild(deed[0], deed[1], policy=deed[2], state=deed[3])
            made._before, made._wanted_us = before, before.wanted_us
        else:
            made.step(deed[0], deed[1])
    if made._decided != decided:
        raise LiveError(f"a controller made {decided:,} decisions, and {made._decided:,} when it was taken up again")
    return made


def blind(workload: Workload) -> Workload:
    """The same jobs in the same rows without what only their runs will show: runtimes are walltimes.

    Raises
    ------
    ConfigError
        If a job has no walltime.
    """
    frame = _blind_frame(workload.to_polars(), "workload")
    return Workload(frame, source=workload.source, report=workload.report, history=workload.history)


def _blind_frame(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    if not isinstance(frame, pl.DataFrame):
        raise ConfigError([(name, type(frame).__name__, "a polars DataFrame with a row a job, or a Workload")])
    expected = "seconds above 0: a policy plans by walltimes, and knows no runtime"
    if "walltime_s" not in frame.columns:
        if len(frame):
            raise ConfigError([(f"{name}.walltime_s", "no such column", expected)])
        return frame
    faults = Faults(name)
    without = frame.with_row_index("row_").filter(pl.col("walltime_s").is_null() | ~(pl.col("walltime_s") > 0))
    for job in without["job_id"].head(10) if "job_id" in frame.columns else ():
        faults.note("walltime_s", f"none of job {job}", expected)
    faults.check()
    return frame.with_columns(runtime_s=pl.col("walltime_s").cast(pl.Float64))


def _no_jobs() -> Workload:
    columns = {"job_id": pl.Int64, "submit_s": pl.Float64, "runtime_s": pl.Float64, "node_count": pl.Int64}
    return Workload.from_polars(pl.DataFrame(schema=columns), source="live")


def _settled(given: Setting) -> Setting:
    """Ingredients as decisions see them, once they are checked."""
    needs, faults = given.policy.needs, Faults()
    if {"observed_starts", "observed_nodes"} & needs.keys():
        faults.note(
            "policy", f"`{given.policy.name}`", "one that decides: a log of what is yet to happen does not exist"
        )
    if "utilizations" in needs:
        faults.note(
            "policy", f"`{given.policy.name}` with utilizations to be measured", "u_l and u_h: no run goes before"
        )
    faults.check()
    setting: Setting = Run(**{name: value for name, value in vars(given).items() if name in Run.__dataclass_fields__})
    setting.check()
    for settle in setting.asked("settle"):
        setting = settle(setting)
    return setting


def _engine_of(setting: Setting, *, start_us: int, extends: _core.Live | None = None) -> _core.Live:
    keywords = {name: value for engine in setting.asked("engine") for name, value in engine(setting).items()}
    keywords.pop("budgets", None)
    options = {name: value for name, value in setting.options.of_engine.items() if name not in _OF_RUNS}
    jobs, apps = setting.workload, setting.apps
    columns = jobs._core_columns if apps is None else jobs._columns_ending(None, apps)
    parts = setting.policy._begun(setting.options.seed)
    setup = _core.RunSetup(columns, setting.platform._machine, parts, **options, **keywords)
    return _core.Live(setup, start_us=start_us, extends=extends)

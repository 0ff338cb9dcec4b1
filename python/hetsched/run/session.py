"""A run in the user's hands: stepped, changed from outside, forked, saved and taken up again."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from hetsched import _core
from hetsched.checks import Faults, plain, shown
from hetsched.errors import ConfigError, SimulationError
from hetsched.features import queues
from hetsched.features.contracts import Extended
from hetsched.naming import named_in
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.roles import Scheduler
from hetsched.run.events import Events
from hetsched.run.options import RunKeywords, options_given, takes_run_options
from hetsched.run.result import Result
from hetsched.run.session_changes import app_order, appended, check_apps, check_succession, conformed_jobs
from hetsched.run.session_file import Deed, Saved, read_saved, write_saved
from hetsched.run.simulation import Begun, Progress, Run, check_progress, engine_of, inject, policy_of, run_of
from hetsched.workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

PolicyLike = str | Policy | Mapping[str, Any] | Scheduler | type[Scheduler]

_EARLIEST_S = -1e12
_NO_LIMITS = (
    "no power part before and after, or a fork before anything has happened: a contract's limits are given to a policy "
    "as its run proceeds"
)
_NO_MORE_JOBS = "none, once anything has happened: the contract's limits are given to the policy for the jobs it has"
_GIVEN = "an Events, as Events.from_polars makes it, or jobs: a Workload or a polars DataFrame"
_LATEST_S = 1e12


@named_in("hetsched")
class Session:
    """A run that is stepped: `simulate`, one stretch of time after another.

    Whatever the steps, the run is the same to the last bit. Besides them, events can be injected that have not been
    part of it, and forks go their own way: what would happen from here if.

    Parameters
    ----------
    workload, platform, policy, **options
        As in `simulate`.

    Raises
    ------
    ConfigError
        As `simulate`.

    Examples
    --------
    >>> import polars as pl, hetsched as hs
    >>> jobs = pl.DataFrame({"job_id": [1, 2, 3], "submit_s": [0, 10, 200], "runtime_s": [60, 30, 9]})
    >>> jobs = jobs.with_columns(node_count=pl.Series([1, 2, 1]))
    >>> platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    >>> session = Session(hs.Workload.from_polars(jobs), platform, "fcfs")
    >>> session.step_until(30)
    False
    >>> what_if = session.fork()
    >>> failure = pl.DataFrame({"time_s": [40.0, 50.0], "kind": ["node_failed", "node_repaired"], "node": [0, 0]})
    >>> what_if.inject(hs.Events.from_polars(failure))
    >>> what_if.run().jobs["start_s"].to_list(), session.run().jobs["start_s"].to_list()
    ([0.0, 50.0, 200.0], [0.0, 60.0, 200.0])
    """

    @takes_run_options()
    def __init__(
        self,
        workload: Workload,
        platform: Platform,
        policy: str | Policy | Mapping[str, Any] | Scheduler | type[Scheduler] = "easy",
        **options: Unpack[RunKeywords],
    ) -> None:
        run = run_of(workload, platform, policy, options_given(type(self).__init__, options))
        for concern in run.concerns:
            warnings.warn(str(concern), concern.category, stacklevel=2)
        self._take_up(run.begin())
        self._given, self._options = run.policy, run.options

    def _take_up(self, begun: Begun, deeds: Sequence[Deed] = ()) -> None:
        self._begun = begun
        self._engine = begun.engine
        self._origin = begun.setting
        self._reached_s = _EARLIEST_S
        self._deeds = list(deeds)
        self._wall_s = 0.0

    @property
    def _injected(self) -> list[Events]:
        return [deed.given for deed in self._deeds if isinstance(deed.given, Events)]

    @property
    def reached_s(self) -> float:
        """The instant up to which everything has happened, seconds on the log's clock; -1e12 before the first step."""
        return self._reached_s

    @property
    def is_over(self) -> bool:
        """True if nothing is left to happen."""
        return self._engine.is_over

    def step_until(self, t_s: float, *, progress: Progress | None = None) -> bool:
        """Let everything happen that does up to an instant, that included.

        Parameters
        ----------
        t_s
            The instant, seconds on the log's clock; not before `reached_s`.
        progress
            Called now and then with (jobs done, jobs in all, simulated second).

        Returns
        -------
        bool
            Whether nothing is left to happen.

        Raises
        ------
        ConfigError
            If `t_s` is no instant, or one before `reached_s`: a run does not go back, a fork made earlier does.
        SimulationError
            If the run cannot go on; nothing can be done with the session then.
        """
        faults = Faults()
        faults.number("t_s", plain(t_s), low=_EARLIEST_S, high=_LATEST_S)
        faults.check()
        if t_s < self._reached_s:
            expected = (
                f"seconds from {self._reached_s:g}, up to which the run has come; a fork made earlier can go back"
            )
            raise ConfigError([("t_s", shown(t_s), expected)])
        self._step(float(t_s), progress)
        return self.is_over

    def run(self, *, progress: Progress | None = None) -> Result:
        """Let everything happen that is left, and give the result; raises as `step_until`."""
        self._step(None, progress)
        return self._result(stacklevel=3)

    def _step(self, t_s: float | None, progress: Progress | None) -> None:
        check_progress(progress)
        begun_s = time.perf_counter()
        try:
            self._engine.step_until(t_s, progress=progress)
        finally:
            self._wall_s += time.perf_counter() - begun_s
        self._reached_s = _LATEST_S if t_s is None else t_s

    def inject(self, given: Events | Workload | pl.DataFrame) -> None:
        """Have something come from outside that was not part of the run: events, or more jobs.

        Jobs stand below those that there are, by submission; of jobs that join the queue at one instant, those go first
        that stand first. A session that gets all jobs before they are submitted comes to what `simulate` comes to with
        all of them.

        Parameters
        ----------
        given
            Events, each after `reached_s`; before the first step any instant will do, and what comes before the first
            submit happens at it. Or jobs, as a workload or a frame with its columns: each submitted at `reached_s` or
            later, with a ``job_id`` that no job has. They may wait for jobs that there are (``depends_on``).

        Raises
        ------
        ConfigError
            If an event is not after `reached_s`, or cannot happen to these jobs on this platform under this policy: a
            node that it has not, a budget below the idle machine's draw. If a job is submitted before `reached_s`, has
            the number of another one, or asks for what the run was not set up for: nodes distinguished by what no job
            asked for (``constraint``, ``gpus``, ``memory_gb``, ``licences``), another application where tables by cap
            are read by application, a predictor that has said beforehand what each job draws. Nothing has happened
            then.
        TraceError
            If jobs are no workload.

        Examples
        --------
        >>> import polars as pl, hetsched as hs
        >>> jobs = pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [60], "node_count": [2]})
        >>> platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
        >>> session = hs.Session(hs.Workload.from_polars(jobs), platform, "fcfs")
        >>> session.step_until(30)
        False
        >>> session.inject(jobs.with_columns(job_id=7, submit_s=40))
        >>> session.run().jobs.select("job_id", "start_s").rows()
        [(1, 0.0), (7, 60.0)]
        """
        setting = self._begun.setting
        if not isinstance(given, Events | Workload | pl.DataFrame):
            raise ConfigError([("given", type(given).__name__, _GIVEN)])
        if isinstance(given, Events):
            events = given.on(setting.workload, setting.platform, zero_s=setting.zero_s)
            replace(setting, options=replace(setting.options, events=events)).check()
            events._check_after(self._reached_s)
            self._redo(Deed(self._reached_s, events))
            return
        if isinstance(given, pl.DataFrame) and {"time_s", "kind"} <= set(given.columns):
            raise ConfigError([("given", "a frame of events", "Events.from_polars(frame): a frame holds jobs")])
        jobs = conformed_jobs(given, setting.as_submitted, from_s=self._reached_s)
        if len(jobs):
            self._redo(Deed(self._reached_s, jobs))

    def _add_jobs(self, jobs: pl.DataFrame) -> None:
        """Have jobs join the run; nothing has changed if they cannot."""
        before = self._begun.setting
        after = appended(before.as_submitted, jobs)
        if before.forecast is not None:
            expected = "none: a predictor has said beforehand what each job draws"
            raise ConfigError([("jobs", f"{len(jobs):,} more jobs", expected)])
        apps = app_order(before.apps, before.workload, after)
        known = app_order(before.apps, before.workload, before.workload)
        check_apps(known, apps, by_cap=before.platform.actual_by_cap is not None)
        Run(after, before.platform, before.policy, before.options).check()
        setting = queues.settle(replace(before, workload=after, submitted=after, apps=apps))
        if self._engine.has_begun:
            if isinstance(self._engine, Extended):
                raise ConfigError([("jobs", f"{len(jobs):,} more jobs under a contract", _NO_MORE_JOBS)])
            self._engine = engine_of(setting, extends=self._engine)
        else:
            # Nothing has happened: the run begins with all of them.
            self._engine = engine_of(setting)
            for events in self._injected:
                inject(self._engine, events, setting.workload)
            if self._reached_s > _EARLIEST_S:
                self._engine.step_until(self._reached_s)
        self._begun = replace(self._begun, engine=self._engine, setting=setting)

    def fork(self, policy: PolicyLike | None = None) -> Session:
        """The same run once more, which goes its own way from here; under another policy if one is given.

        Another policy acts at once: it makes a pass at `reached_s`. What runs keeps its nodes and its planned end; who
        waits is the new policy's queue, in the order in which jobs joined it; nodes keep their states; what comes from
        outside stays to come. What the policy before it promised, counted, believed and remembered is gone: the new one
        begins as it would on a live machine, with what stands there (docs/how-to/what-if.md). A policy that equals
        the session's own goes on as it was, with all that it remembers; in a session in which nothing has happened the
        run is that of `simulate` under the new policy.

        Parameters
        ----------
        policy
            As in `simulate`. None: the session's own.

        Raises
        ------
        ConfigError
            If the policy cannot be, or cannot go on from here: jobs stand still, or nodes are off, that nothing in it
            would resume or wake; queues have several sets of nodes; one of the two repeats a log; one of the two keeps
            within a contract.

        Examples
        --------
        >>> import polars as pl, hetsched as hs
        >>> jobs = pl.DataFrame({"job_id": [1, 2, 3, 4], "submit_s": [0, 10, 20, 600], "runtime_s": [60, 30, 9, 5]})
        >>> jobs = jobs.with_columns(node_count=pl.Series([1, 2, 1, 2]))
        >>> platform = hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
        >>> session = hs.Session(hs.Workload.from_polars(jobs), platform, "fcfs")
        >>> session.step_until(30)
        False
        >>> session.fork(policy="easy").run().jobs["start_s"].to_list(), session.run().jobs["start_s"].to_list()
        ([0.0, 60.0, 30.0, 600.0], [0.0, 60.0, 90.0, 600.0])
        """
        given = None if policy is None else policy_of(policy)
        fork = Session.__new__(Session)
        if given is None or given in (self._begun.setting.policy, self._given):
            fork._take_up(self._begun, self._deeds)
            fork._engine, fork._origin = self._engine.fork(), self._origin
        elif self._engine.has_begun:
            self._hand_over(fork, given)
        else:
            origin = self._origin
            fork._take_up(Run(origin.as_submitted, origin.platform, given, self._options).begin())
            for deed in self._deeds:
                fork._replay_to(deed.reached_s, None)
                fork._redo(deed)
            fork._replay_to(self._reached_s, None)
        fork._given, fork._options = self._given if given is None else given, self._options
        fork._reached_s, fork._wall_s = self._reached_s, self._wall_s
        return fork

    def _run(self, policy: Policy) -> Run:
        """A run like this one under another policy, from its beginning."""
        setting = self._begun.setting
        for events in self._injected:
            events._check_for(setting.workload, setting.platform, policy)
        return Run(setting.as_submitted, setting.platform, policy, self._options)

    def _core_of(self, policy: Policy) -> _core.Session:
        """The engine's own run; raises if the limits of a contract are planned for the policy that there is."""
        has_limits = self._begun.setting.terms is not None and policy.parts["power"] is not None
        if isinstance(self._engine, Extended) or has_limits:
            raise ConfigError([("policy", f"`{policy.name}` under a contract", _NO_LIMITS)])
        return self._engine

    def _hand_over(self, fork: Session, policy: Policy) -> None:
        """Have a fork go on from here under another policy."""
        before = self._begun.setting
        check_succession(before.policy, policy)
        begun = replace(self._run(policy), apps=before.apps).begin(succeeds=self._core_of(policy))
        at_s = self._engine.now_s if self._reached_s == _LATEST_S else self._reached_s
        former = (*before.former, (before.policy, at_s))
        begun = replace(begun, setting=replace(begun.setting, former=former))
        fork._take_up(begun, [*self._deeds, Deed(self._reached_s, begun.setting.policy)])
        fork._origin = self._origin
        fork._step(None if self._reached_s == _LATEST_S else self._reached_s, None)

    def result(self) -> Result:
        """The result so far: that of `simulate` with ``until_s`` at `reached_s`; the session itself goes on.

        Warns
        -----
        RunWarning
            As `simulate`.
        """
        return self._result(stacklevel=3)

    def _result(self, *, stacklevel: int) -> Result:
        setting = self._begun.setting
        until_s = _LATEST_S if setting.options.until_s is None else setting.options.until_s
        if not self.is_over and self._reached_s < until_s:
            setting = replace(setting, options=replace(setting.options, until_s=self._reached_s))
        injected = [deed.record() for deed in self._deeds if isinstance(deed.given, Events)]
        more: dict[str, Any] = {"events": injected} if injected else {}
        if jobs := [deed.record() for deed in self._deeds if isinstance(deed.given, pl.DataFrame)]:
            more["jobs_injected"] = jobs
        setting = replace(setting, injected=self._injected)
        begun = replace(self._begun, setting=setting)
        result = begun.result(self._engine.fork(), wall_s=self._wall_s, more=more)
        for concern in result.concerns[len(setting.concerns) :]:
            warnings.warn(str(concern), concern.category, stacklevel=stacklevel)
        return result

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the session to a file, whole or not at all: its inputs, and all that was done with it.

        A run is a function of these: `hetsched.read_session` repeats it. That takes as long as it took, and needs no
        trust in the file but for its numbers: nothing in it is executed.

        Parameters
        ----------
        path
            The file, by custom ending in ``.hetsched``.

        Raises
        ------
        ConfigError
            If its policy has Python objects in it: a file holds none.
        OutputError
            If it cannot be written.
        """
        for policy in [self._origin.policy, *(deed.given for deed in self._deeds if isinstance(deed.given, Policy))]:
            for role, part in policy.own.items():
                expected = "a named part: a file holds no Python objects; fork the session instead"
                raise ConfigError([(f"policy.{role}", shown(type(part).__name__), expected)])
        reached_s = None if self._reached_s == _LATEST_S else self._reached_s
        write_saved(Path(path), Saved(self._origin, reached_s, tuple(self._deeds)))

    save = write

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Self:
        """A session as it was when it was written; as `hetsched.read_session`."""
        saved = read_saved(Path(path))
        session = cls.__new__(cls)
        session._take_up(Begun(engine_of(saved.setting), saved.setting))
        session._given, session._options = saved.setting.policy, saved.setting.options
        for deed in saved.deeds:
            session._replay_to(None if deed.reached_s == _LATEST_S else deed.reached_s, progress)
            session = session._redo(deed)
        session._replay_to(saved.reached_s, progress)
        return session

    def _redo(self, deed: Deed) -> Self:
        """Do once more what was done with a session; gives the session that goes on, which may be another."""
        if isinstance(deed.given, Policy):
            fork = type(self).__new__(type(self))
            self._hand_over(fork, deed.given)
            fork._given, fork._options = deed.given, self._options
            fork._reached_s, fork._wall_s = self._reached_s, self._wall_s
            return fork
        if isinstance(deed.given, Events):
            inject(self._engine, deed.given, self._begun.setting.workload)
        else:
            self._add_jobs(deed.given)
        self._deeds.append(deed)
        return self

    def _replay_to(self, reached_s: float | None, progress: Progress | None) -> None:
        if reached_s is None or reached_s > _EARLIEST_S:
            self._step(reached_s, progress)

    def __repr__(self) -> str:
        setting, where = self._begun.setting, f"at {self._reached_s:g} s"
        if self.is_over:
            where = "over"
        elif self._reached_s == _EARLIEST_S:
            where = "not begun"
        sizes = f"{len(setting.workload):,} jobs, {setting.platform.nodes:,} nodes"
        return f"<Session: {sizes}, {setting.policy.name}, {where}>"

    def __reduce__(self) -> tuple[object, ...]:
        raise SimulationError("a session cannot be pickled; save it to a file, or fork it")


def read_session(path: str | os.PathLike[str], *, progress: Progress | None = None) -> Session:
    """Read a session as it was when `Session.write` wrote it; what was done with it is done once more.

    Parameters
    ----------
    path
        The file.
    progress
        As in `Session.step_until`.

    Raises
    ------
    ConfigError
        If the file is not a saved session, or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import hetsched as hs
    >>> jobs = hs.Workload.from_polars(
    ...     pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 100], "runtime_s": [60, 30], "node_count": [2, 1]})
    ... )
    >>> session = hs.Session(jobs, hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300))
    >>> session.step_until(50)
    False
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     session.write(f"{folder}/run.hetsched")
    ...     read_session(f"{folder}/run.hetsched")
    <Session: 2 jobs, 2 nodes, easy, at 50 s>
    """
    return Session.load(path, progress=progress)

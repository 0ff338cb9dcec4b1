"""A run in the user's hands: stepped, changed from outside, forked, saved and taken up again."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hetsched.checks import Faults, plain, shown
from hetsched.errors import ConfigError, SimulationError
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.roles import Scheduler
from hetsched.run.contracting import check_terms
from hetsched.run.events import Events
from hetsched.run.options import RunKeywords, options_given, takes_run_options
from hetsched.run.result import Result
from hetsched.run.session_file import Injection, Saved, read_session, write_session
from hetsched.run.simulation import Begun, Progress, check_progress, engine_of, inject, run_of
from hetsched.workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

_EARLIEST_S = -1e12
_LATEST_S = 1e12


class Session:
    """A run that is stepped: `simulate`, one stretch of time after another.

    Whatever the steps, the run is the same to the last bit. Beside them, events can be injected that have not been part
    of it, and forks go their own way: what would happen from here if.

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

    def _take_up(self, begun: Begun) -> None:
        self._begun = begun
        self._engine = begun.engine
        self._reached_s = _EARLIEST_S
        self._injected: list[Injection] = []
        self._wall_s = 0.0

    @property
    def reached_s(self) -> float:
        """The instant up to which everything has happened, seconds on the log's clock; -1e12 before the first step."""
        return self._reached_s

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to happen."""
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

    def inject(self, events: Events) -> None:
        """Have something befall the machine, or change its budget or the price of its energy.

        Parameters
        ----------
        events
            Each after `reached_s`. Before the first step any instant will do; what comes before the first submit
            happens at it.

        Raises
        ------
        ConfigError
            If an event is not after `reached_s`, or cannot befall these jobs on this platform under this policy: a
            node that it has not, a budget below the idle machine's draw.
        """
        if not isinstance(events, Events):
            raise ConfigError([("events", type(events).__name__, "an Events, as Events.from_polars makes it")])
        setting = self._begun.setting
        events = events.on(setting.workload, setting.platform, zero_s=setting.zero_s)
        events.check_for(setting.workload, setting.platform, setting.policy)
        if setting.terms is not None:
            check_terms(setting.terms, setting.platform, setting.policy, replace(setting.options, events=events))
        events.check_after(self._reached_s)
        self._inject(Injection(self._reached_s, events))

    def _inject(self, injection: Injection) -> None:
        inject(self._engine, injection.events, self._begun.setting.workload)
        self._injected.append(injection)

    def fork(self) -> Session:
        """The same run once more, which goes its own way from here."""
        fork = Session.__new__(Session)
        fork._take_up(self._begun)
        fork._engine = self._engine.fork()
        fork._reached_s, fork._wall_s = self._reached_s, self._wall_s
        fork._injected = list(self._injected)
        return fork

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
        more = {"events": [one.record() for one in self._injected]} if self._injected else None
        setting = replace(setting, injected=[one.events for one in self._injected])
        begun = replace(self._begun, setting=setting)
        result = begun.result(self._engine.fork(), wall_s=self._wall_s, more=more)
        for concern in result.concerns[len(setting.concerns) :]:
            warnings.warn(str(concern), concern.category, stacklevel=stacklevel)
        return result

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the session to a file, whole or not at all: its inputs, and all that was done with it.

        A run is a function of these: `load` repeats it. That takes as long as it took, and needs no trust in the file
        but for its numbers: nothing in it is executed.

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
        for role, part in self._begun.setting.policy.own.items():
            expected = "a named part: a file holds no Python objects; fork the session instead"
            raise ConfigError([(f"policy.{role}", shown(type(part).__name__), expected)])
        reached_s = None if self._reached_s == _LATEST_S else self._reached_s
        write_session(Path(path), Saved(self._begun.setting, reached_s, tuple(self._injected)))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Self:
        """A session as it was when it was saved.

        Parameters
        ----------
        path
            A file that `save` wrote.
        progress
            As in `step_until`.

        Raises
        ------
        ConfigError
            If the file is not a saved session, or is damaged.
        """
        saved = read_session(Path(path))
        session = cls.__new__(cls)
        forecast = saved.setting.forecast
        engine = engine_of(saved.setting, None if forecast is None else forecast.known_w)
        session._take_up(Begun(engine, saved.setting))
        for injection in saved.injected:
            session._replay_to(injection.reached_s, progress)
            session._inject(injection)
        session._replay_to(saved.reached_s, progress)
        return session

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

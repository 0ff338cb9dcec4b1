"""Runs that begin with jobs under way: what runs at an instant is given, what waits then is the policy's to start."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from hetsched.checks import Faults
from hetsched.features.feature import Setting
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.resources import frame_of
from hetsched.run.options import RunOptions
from hetsched.run.session import Session
from hetsched.run.simulation import Run, engine_of
from hetsched.workload import Workload

Floats = npt.NDArray[np.float64]

_KNOWN_ONLY_TO_A_WHOLE_RUN = ("predictor", "contract", "until_s")


@dataclass(frozen=True)
class Restarts:
    """A platform under a policy, to begin runs on with jobs under way."""

    setting: Setting

    @classmethod
    def of(cls, run: Run) -> Restarts:
        """Restarts of a run on its platform under its policy.

        Raises
        ------
        ConfigError
            If the run cannot be, or has an option that is about a whole run from its beginning.
        """
        faults = Faults()
        for name in _KNOWN_ONLY_TO_A_WHOLE_RUN:
            if getattr(run.options, name) is not None:
                faults.note(name, "a value", "none: the run begins again and again, each time for a while")
        if "observed_starts" in run.policy.needs:
            faults.note("policy", f"`{run.policy.name}`", "a policy that decides: this one repeats the log")
        faults.check()
        return cls(run.settled())

    @property
    def jobs(self) -> pl.DataFrame:
        """All jobs as decisions see them: their queues have given walltimes to those without."""
        return self.setting.workload.to_polars()

    def starts(self, jobs: pl.DataFrame, end_s: Floats, *, from_s: float, until_s: float | None) -> Floats:
        """Starts of jobs in a run that the policy decides from an instant on; NaN: none.

        Parameters
        ----------
        jobs
            Rows of `jobs`. Those with an ``observed_start_s`` by `from_s` run since then, on their ``observed_nodes``
            if these are free and as many as they ask for, else on the lowest nodes that are; one that does not fit is
            left out, without a start. All others wait from their submission on, or from `from_s` if that is later.
        end_s
            When each ends; NaN: as its run time says.
        from_s, until_s
            When the policy decides first, and when the run stops; None: once all is over.
        """
        own = self.setting.workload
        workload = Workload(jobs, source=own.source, report=own.report, history=own.history)
        options = replace(self.setting.options, until_s=until_s, bound=False)
        run = replace(self.setting, workload=workload, submitted=None, options=options)
        engine = engine_of(run, from_s=from_s, end_s=end_s)
        engine.step_until(None)
        return frame_of(engine.take_records().take_jobs())["start_s"].fill_null(np.nan).to_numpy()


@dataclass(frozen=True)
class Snapshot:
    """Jobs that run or wait at an instant, and what they run under."""

    time_s: float
    jobs: pl.DataFrame
    """Rows of a workload; of those that run ``observed_start_s`` and ``observed_nodes``, of the others null."""
    platform: Platform
    policy: Policy
    options: RunOptions


def snapshot(session: Session) -> Snapshot:
    """The state of a session up to where it has come."""
    setting, time_s = session._begun.setting, session.reached_s
    engine = session._core_of(setting.policy).fork()
    found = frame_of(engine.take_records().take_jobs()).select("start_s", "state", "nodes")
    is_running = found["state"] == "running"
    is_waiting = (found["state"] == "pending") & (setting.as_submitted.to_polars()["submit_s"] <= time_s)
    jobs = setting.as_submitted.to_polars().with_columns(
        pl.when(is_running).then(found["start_s"]).alias("observed_start_s"),
        pl.when(is_running).then(found["nodes"]).alias("observed_nodes"),
    )
    options = replace(session._options, until_s=None, bound=False)
    return Snapshot(time_s, jobs.filter(is_running | is_waiting), setting.platform, setting.policy, options)

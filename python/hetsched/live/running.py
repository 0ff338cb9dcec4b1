"""Live runs in folders: begun, taken up again, and their results written."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import polars as pl

from hetsched.checks import Faults, shown
from hetsched.errors import ConfigError, OutputError
from hetsched.features.feature import Setting
from hetsched.live import cgroups
from hetsched.live.caps import ProcessorCaps, capped_zones, restored
from hetsched.live.cgroups import usable_folder
from hetsched.live.clock import Clock
from hetsched.live.controller import MOST_NOTICES, Controller, blind
from hetsched.live.executor import Executor
from hetsched.live.hands import Hands
from hetsched.live.journal import read_journal
from hetsched.live.launchers import Launcher
from hetsched.live.lines import LINES, Instant, JournalWriter
from hetsched.live.lock import Held
from hetsched.live.outcome import result_in
from hetsched.live.plan import Plan
from hetsched.live.points import is_armed, point
from hetsched.live.power import EnergyFile, Rapl, model_w, tdp_of
from hetsched.live.reading import RealJobs
from hetsched.live.seams import Instant as Step
from hetsched.platform import Platform
from hetsched.policy import Policy
from hetsched.run.options import RunOptions
from hetsched.run.result import Result
from hetsched.workload import Workload

Say = Callable[[str], object]

_NO_MEMORY = "control groups whose memory cannot be limited here"
_EXPECTED_MEMORY = "groups of version 2 with the memory controller, handed down to this process's group; or no --memory"


class LiveRun:
    """A live run in its folder; made by `begun` and `resumed`."""

    def __init__(
        self,
        folder: str,
        held: Held,
        setting: Setting,
        plan: Plan,
        *,
        launcher: Launcher,
        clock: Clock,
        book: _Book,
        groups: str | None,
    ) -> None:
        self.folder = folder
        self.setting = setting
        self.plan = plan
        self.clock = clock
        self.launcher = launcher
        self.executor: Executor
        self._held = held
        self._book = book
        self._rapl = Rapl.of() if plan.power in ("auto", "rapl") else None
        self._energy = EnergyFile(folder)
        self._cgroups = groups
        self._caps: ProcessorCaps | None = None

    def _host(self, controller: Controller, tell: Callable[[LiveRun], object], say: Say) -> Executor:
        hands = Hands(
            self.folder,
            self.plan.commands,
            self.launcher,
            self.clock,
            terms=replace(self.plan.terms, cgroups=self._cgroups),
            limits=self.plan.limits,
        )
        if self.plan.acts_caps:
            restored(self.folder, say)
            faults = Faults()
            zones = capped_zones(faults)
            faults.check()
            self._caps = ProcessorCaps(self.folder, tdp_of(self.setting.platform), zones, say)
        jobs = self.setting.workload.to_polars()
        submits = zip((jobs["submit_s"] * 1e6).round().cast(pl.Int64).to_list(), jobs["job_id"].to_list(), strict=True)

        def each(_: Executor) -> None:
            if self._caps is not None:
                self._caps.follow(self.executor.running.values())
            if self._rapl is not None and self._rapl.read():
                self._energy.add(self.clock.t_us, self._rapl.energy_j)
            tell(self)

        return Executor(
            controller,
            self._book,
            hands,
            submits,
            clock=self.clock,
            requeues_lost=self.plan.requeues_lost,
            acts_caps=self.plan.acts_caps,
            fallback=Policy.from_dict(self.plan.fallback),
            decide_within_s=self.plan.decide_within_s,
            longest_wait_s=3600.0 if self._rapl is None else 1.0,
            tell=each,
            say=say,
        )

    def run(self) -> bool:
        """Run until all jobs are over; False if it was interrupted before."""
        if self._rapl is not None:
            self._energy.begin(self.clock.t_us)
        try:
            return self.executor.run()
        finally:
            self._book.writer.close()
            if self._caps is not None:
                self._caps.restore()
            cgroups.remove(self._cgroups)

    @property
    def power_w(self) -> float | None:
        """Watts of the machine now: measured, or as the platform says."""
        if self._rapl is not None:
            return self._rapl.power_w
        if self.plan.power == "none":
            return None
        busy = {node for run in self.executor.running.values() for node in run.nodes}
        return model_w(self.setting.platform, busy)

    def result(self) -> Result:
        """The frames of a result, as far as the run has come."""
        return result_in(self.folder, self.setting, self.plan, read_journal(self.folder).instants)

    def close(self) -> None:
        """Let others work in the folder."""
        self._held.close()


def begun(
    folder: str,
    jobs: RealJobs,
    platform: Platform,
    policy: Policy,
    *,
    plan: Plan,
    seed: int = 0,
    tell: Callable[[LiveRun], object] = lambda _: None,
    say: Say = lambda _: None,
) -> LiveRun:
    """A live run in a new folder, ready to start its first jobs.

    Raises
    ------
    ConfigError
        If there is a run in it already; if the policy cannot decide for these jobs on this machine, as
        `hetsched.Controller`.
    OutputError
        If the folder cannot be written to.
    """
    frame = jobs.frame.with_columns(runtime_s=pl.lit(0.0))
    workload = blind(Workload.from_polars(frame, source=jobs.source))
    setting = Setting(workload, platform, policy, RunOptions(seed=seed))
    controller = Controller.of(setting, MOST_NOTICES)
    # Whatever is wrong with the policy that is to step in is said now.
    Controller.of(replace(setting, policy=Policy.from_dict(plan.fallback)))
    with _held(folder, "--out") as held:
        folder = str(Path(folder).absolute())
        _refuse_begun(folder)
        if policy._own:
            say("a policy with Python objects of yours is in no file: this run cannot go on in another process")
        groups = _groups_for(folder)
        if plan.terms.holds_memory and not cgroups.can_limit_memory(groups):
            cgroups.remove(groups)
            raise ConfigError([("--memory", _NO_MEMORY, _EXPECTED_MEMORY)])
        clock = Clock.started()
        clock.write(folder)
        writer = JournalWriter(folder, setting, more={"boot": clock.boot, "fold_after": MOST_NOTICES, **plan.to_json()})
        book = _Book(writer, folder)
        made = LiveRun(folder, held, setting, plan, launcher=plan.started(), clock=clock, book=book, groups=groups)
        made.executor = made._host(controller, tell, say)
        return made


def _groups_for(folder: str) -> str | None:
    """Folder for control groups of a run's jobs, the same whenever it goes on; None where none can be made."""
    return usable_folder(f"hetsched-{os.getuid()}-{zlib.crc32(folder.encode()):08x}")


@contextmanager
def _held(folder: str, option: str) -> Iterator[Held]:
    """Hold a folder; let go of it if the block fails."""
    held = Held(folder, option)
    try:
        yield held
    except BaseException:
        held.close()
        raise


def _refuse_begun(folder: str) -> None:
    path = Path(folder) / LINES
    if not path.exists():
        return
    if b"\n" not in path.read_bytes():
        # Its head was never whole: nothing was started.
        path.unlink()
        return
    expected = f"a folder without one; to go on with this one: hetsched run --resume {folder}"
    raise ConfigError([("--out", f"a run in {shown(folder)}", expected)])


def resumed(folder: str, *, tell: Callable[[LiveRun], object] = lambda _: None, say: Say = lambda _: None) -> LiveRun:
    """The run in a folder, ready to go on: its journal is replayed, and its jobs are found as they are.

    Raises
    ------
    ConfigError
        If there is no run in it, or another process works on it.
    LiveError
        If its journal is damaged, or a replay decides otherwise.
    """
    if not (Path(folder) / LINES).exists():
        raise ConfigError([("--resume", shown(folder), "the folder of an earlier hetsched run --out")])
    with _held(folder, "--resume") as held:
        folder = str(Path(folder).absolute())
        journal = read_journal(folder)
        plan = Plan.from_head(journal.head)
        controller = journal.replay()
        clock = Clock.read(folder)
        last_us, real = (journal.instants[-1].t_us, journal.instants[-1].real) if journal.instants else (0, None)
        clock.resumed(last_us, _seconds(real))
        clock.write(folder)
        book, groups = _Book(JournalWriter.resumed(folder), folder), _groups_for(folder)
        if plan.terms.holds_memory and not cgroups.can_limit_memory(groups):
            say(f"jobs that start from now on are not held to their memory: {_NO_MEMORY}")
        launcher = plan.resumed()
        made = LiveRun(folder, held, journal.setting, plan, launcher=launcher, clock=clock, book=book, groups=groups)
        made.executor = made._host(controller, tell, say)
        made.executor.restore(journal.instants)
        return made


class _Book:
    """The journal as an executor writes it."""

    def __init__(self, writer: JournalWriter, folder: str) -> None:
        self.writer = writer
        self._path = Path(folder) / LINES

    def append(self, instant: Step, real: float) -> None:
        """Bring an instant to the disk, or raise what the system says."""
        line = Instant(
            instant.t_us,
            tuple(instant.notices),
            tuple(instant.decisions),
            _date(real),
            snapshot=instant.snapshot,
            policy=None if instant.policy is None else instant.policy.to_dict(),
            state=instant.state,
            took_us=instant.took_us,
            broken_off=instant.broken_off,
        )
        if is_armed("journal.torn"):
            with self._path.open("ab") as file:
                file.write(b'0123abcd {"t_us":')
            point("journal.torn")
        try:
            point("journal")
            self.writer.append(line)
        except OutputError as error:
            if isinstance(error.__context__, OSError):
                error.__context__.filename = str(self._path)
                raise error.__context__ from None
            raise
        point("journal.written")


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")


def _seconds(date: str | None) -> float:
    """Seconds since 1970; of no date now: nothing has gone on since."""
    now = datetime.now(timezone.utc)
    return (now if date is None else datetime.fromisoformat(date)).timestamp()

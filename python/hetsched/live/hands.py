"""The host's hands: the runs of jobs that are to be launched, that are under way, and that have ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hetsched.live import cgroups
from hetsched.live.clock import Clock
from hetsched.live.commands import Command
from hetsched.live.environment import Given
from hetsched.live.launchers import Launcher, Terms, attempt_folder, launch, spec_of, write_spec
from hetsched.live.orphans import PERIOD_S, Orphan, Standstill, began_us
from hetsched.live.points import point
from hetsched.live.processes import Process, look, now_us
from hetsched.live.recovery import Attempt, Found, attempt_in
from hetsched.live.sealed import write_new
from hetsched.live.states import LOST, Ending, ending_of

RETRY_S = 5.0
"""Seconds until a launch is tried again that the system did not let be."""

_MOST_TRIES = 3
"""Launches without a claim that follow each other at once."""


@dataclass(eq=False)
class Run:
    """One attempt of a job that was decided."""

    job: int
    attempt: int
    nodes: tuple[int, ...]
    cap_w: float | None = None
    """The cap of its start, which its command is given."""
    capped_w: float | None = None
    """The cap by now."""
    asked: str | None = None
    """The state that it was ended for on purpose; None if it was not."""
    shim: subprocess.Popen[bytes] | None = None
    shim_code: int | None = None
    """Exit code of the last shim that this process has launched; less than 0: of a signal."""
    process: Process | None = None
    orphan: Orphan | None = None
    stands: bool = False
    """True if it is to stand still, from the moment of its launch if it has not been launched yet."""
    stood: Standstill = field(default_factory=Standstill)
    tries: int = 0
    spec: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[int, int]:
        """Job and attempt."""
        return self.job, self.attempt


@dataclass(frozen=True)
class Limits:
    """Bounds of what is done at once."""

    most_running: int = field(default_factory=lambda: 4 * len(os.sched_getaffinity(0)))
    launches_a_s: float = 100.0


class Hands:
    """Runs of a live run, by what is to be done with them."""

    def __init__(
        self,
        folder: str,
        commands: Mapping[int, Command],
        launcher: Launcher,
        clock: Clock,
        *,
        terms: Terms | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.folder = folder
        self.commands = commands
        self.launcher = launcher
        self.clock = clock
        self.terms = terms or Terms()
        self.limits = limits or Limits()
        self.queue: deque[Run] = deque()
        """Runs to be launched, in the order of their decisions."""
        self.live: dict[tuple[int, int], Run] = {}
        """Runs that have been launched and have not ended."""
        self.is_held = False
        """True if nothing is to be launched any more."""
        self.is_paused = False
        """True while it is not known if the nodes are there."""
        self.troubles: list[str] = []
        """Sentences for people on what the system did not let be."""
        self._not_before = 0.0

    # What is decided.

    def start(self, run: Run) -> None:
        """Launch a run as soon as its nodes are free and limits allow it."""
        self.queue.append(run)

    def end(self, job: int, attempt: int, state: str) -> None:
        """End a run on purpose; it counts as `state` then."""
        waiting = next((run for run in self.queue if run.key == (job, attempt)), None)
        if waiting is not None:
            self.queue.remove(waiting)
            return
        run = self.live.get((job, attempt))
        # Once only: a shim that is asked twice kills at once.
        if run is not None and run.asked is None:
            run.asked = state
            self._terminate(run)

    def end_all(self, state: str) -> None:
        """End every run on purpose."""
        for run in list(self.live.values()):
            self.end(run.job, run.attempt, state)

    def signal_shim(self, job: int, attempt: int, number: int) -> None:
        """Signal the shim of a run: SIGUSR1 to let it stand still, SIGUSR2 to let it go on."""
        waiting = (run for run in self.queue if run.key == (job, attempt))
        run = self.live.get((job, attempt)) or next(waiting, None)
        if run is None:
            return
        run.stands = number == signal.SIGUSR1
        run.stood.note(number, now_us())
        if run.orphan is not None:
            run.orphan.signal(number)
        elif run.process is not None:
            run.process.send(number)

    def _terminate(self, run: Run) -> None:
        if run.orphan is not None:
            run.orphan.terminate()
        elif run.process is not None:
            run.process.send(signal.SIGTERM)

    # What is launched.

    def launch_due(self) -> None:
        """Launch what may be launched now."""
        while (run := self._next()) is not None:
            self.queue.remove(run)
            self._not_before = max(self._not_before, time.monotonic()) + 1 / self.limits.launches_a_s
            try:
                self._launch(run)
            except OSError as error:
                self.queue.appendleft(run)
                place = f" ({error.filename})" if error.filename else ""
                self._retry_later(f"job {run.job} cannot be launched: {error.strerror}{place}")

    @property
    def wait_s(self) -> float | None:
        """Seconds until there may be something to do here; None: until something ends."""
        rest = []
        if any(run.orphan is not None for run in self.live.values()):
            rest.append(PERIOD_S)
        if self._candidate() is not None:
            rest.append(max(0.0, self._not_before - time.monotonic()))
        return min(rest, default=None)

    def _next(self) -> Run | None:
        return self._candidate() if time.monotonic() >= self._not_before else None

    def _candidate(self) -> Run | None:
        """The first run whose nodes and whose job are free of runs that are being ended."""
        if self.is_held or self.is_paused or len(self.live) >= self.limits.most_running:
            return None
        ending = [run for run in self.live.values() if run.asked is not None]
        nodes, jobs = {node for run in ending for node in run.nodes}, {run.job for run in self.live.values()}
        return next((run for run in self.queue if run.job not in jobs and nodes.isdisjoint(run.nodes)), None)

    def _launch(self, run: Run) -> None:
        folder = self._prepared(run)
        point("run.before_launch")
        run.shim = launch(folder, run.spec)
        run.process = Process(run.shim.pid, os.pidfd_open(run.shim.pid))
        run.tries += 1
        if run.stands:
            run.process.send(signal.SIGUSR1)
        self.live[run.key] = run
        point("run.launched")

    def _prepared(self, run: Run) -> str:
        """The folder of a run, with what its shim is to run; what an earlier launch has left there is good as well."""
        folder, known = attempt_folder(self.folder, run.job, run.attempt), self._written(run)
        if known is not None and self._is_elsewhere(known):
            known = None
        run.spec = known or spec_of(self.commands[run.job], self._given(run), self.launcher, self.terms)
        if known is None:
            write_spec(folder, run.spec)
        return folder

    def _written(self, run: Run) -> dict[str, Any] | None:
        """The description that an earlier launch has left; None: there is none."""
        try:
            text = Path(attempt_folder(self.folder, run.job, run.attempt), "spec.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        spec: dict[str, Any] = json.loads(text)
        return spec

    def _is_elsewhere(self, spec: dict[str, Any]) -> bool:
        """True if a run is described for the nodes of another allocation."""
        return bool(spec) and spec.get("allocation", "") != self.launcher.nodes.allocation

    def _given(self, run: Run) -> Given:
        nodes = self.launcher.nodes
        cpus = sorted({cpu for node in run.nodes for cpu in nodes.cpus[node]})
        names = [nodes.names[node] for node in run.nodes]
        # Of slots each has its part of the CPUs, of which there may be less than one.
        threads = max(1, len(cpus) * len(run.nodes) // len(nodes)) if nodes.are_slots else len(cpus)
        return Given(run.job, run.attempt, run.nodes, names, cpus, run.cap_w, threads, self.folder)

    def _retry_later(self, trouble: str) -> None:
        self.troubles.append(f"{trouble}; tried again in {RETRY_S:g} s")
        self._not_before = time.monotonic() + RETRY_S

    # What has ended.

    @property
    def handles(self) -> list[int]:
        """Descriptors that become readable when a run may have ended."""
        return [run.process.handle for run in self.live.values() if run.process is not None]

    def ended(self) -> Iterator[tuple[Run, Ending | None]]:
        """Runs that have ended since the last call, each with its end; None: it never ran."""
        for run in list(self.live.values()):
            if run.orphan is not None:
                if run.orphan.is_gone():
                    yield self._forgotten(run), self._orphan_ending(run)
            elif run.process is None or not run.process.is_alive:
                yield from self._settled(run)

    def adopt(self, run: Run) -> Iterator[tuple[Run, Ending | None]]:
        """Take over a run that was decided before this process was there; gives its end if it has ended."""
        run.spec = self._written(run) or {}
        self.live[run.key] = run
        yield from self._settled(run)

    def _settled(self, run: Run) -> Iterator[tuple[Run, Ending | None]]:
        """Go by what is found of a run whose process has ended, or is not known."""
        self._release(run)
        attempt = attempt_in(attempt_folder(self.folder, run.job, run.attempt), self.clock.boot)
        if attempt.found in (Found.HELD, Found.ORPHAN) and run.asked is None and self._is_elsewhere(run.spec):
            # Its nodes are none of ours any more.
            run.asked = "failed"
        if attempt.found is Found.HELD:
            run.process = attempt.process
            if run.asked is not None:
                self._terminate(run)
        elif attempt.found is Found.UNCLAIMED and run.asked is None:
            del self.live[run.key]
            self._launch_again(run)
        elif attempt.found is Found.UNCLAIMED:
            if self._is_barred(run):
                del self.live[run.key]
            else:
                yield from self._settled(run)
        elif attempt.found in (Found.ORPHAN, Found.LOST):
            run.orphan = self._orphan_of(run, attempt)
        else:
            ending = None if attempt.record is None else ending_of(attempt.record, self.launcher, asked=run.asked)
            yield self._forgotten(run), ending

    def _is_barred(self, run: Run) -> bool:
        """Claim a run that is over, so that a shim which is still on its way goes away; False if that has it by now."""
        folder = attempt_folder(self.folder, run.job, run.attempt)
        # No process started at these ticks: each later look, of this process too, finds a shim that has ended.
        claim = {"pid": os.getpid(), "ticks": -1, "boot": self.clock.boot}
        # Without a description none was ever launched.
        return not run.spec or write_new(f"{folder}/claim", claim)

    def _launch_again(self, run: Run) -> None:
        self.queue.appendleft(run)
        if run.tries >= _MOST_TRIES:
            run.tries = 0
            self._retry_later(f"job {run.job}: its shim ended with exit code {run.shim_code} before it did anything")

    def _orphan_of(self, run: Run, attempt: Attempt) -> Orphan:
        command, limit_s = attempt.process, self.commands[run.job].limit_s
        seen = None if command is None else look(command.pid)
        limit_us = None if limit_s is None or seen is None else began_us(seen.ticks) + round(limit_s * 1e6)
        orphan = Orphan(
            command,
            self._given(run).mark,
            limit_us=limit_us,
            grace_us=round(self.terms.grace_s * 1e6),
            cgroup=self._cgroup(run),
            stood=run.stood,
        )
        if run.asked is not None:
            orphan.terminate()
        return orphan

    def _orphan_ending(self, run: Run) -> Ending:
        assert run.orphan is not None
        state = "timeout" if run.orphan.is_over_limit else run.asked or "failed"
        return Ending(state, reason=LOST, left=run.orphan.left)

    def _forgotten(self, run: Run) -> Run:
        del self.live[run.key]
        cgroups.remove(self._cgroup(run))
        return run

    def _cgroup(self, run: Run) -> str | None:
        group: str | None = run.spec.get("cgroup")
        return group

    def _release(self, run: Run) -> None:
        if run.process is not None:
            run.process.close()
            run.process = None
        if run.shim is not None:
            run.shim_code = run.shim.wait()
            run.shim = None

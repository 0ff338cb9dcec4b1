"""A controller with its journal: the memory of a bridge, which is made from a reading and may be lost at any time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hetsched.live import Decision, Snapshot
from hetsched.live.controller import MOST_NOTICES, Controller
from hetsched.live.lines import Instant, JournalWriter
from hetsched.live.memory import without_jobs
from hetsched.policy import Policy
from hetsched.slurm_bridge.difference import Change
from hetsched.slurm_bridge.machine import BridgeMachine
from hetsched.slurm_bridge.picture import Picture

MOST_ROWS = 100_000
"""Jobs after which a new controller is made of a reading: rows of jobs that are over are kept by none."""


class Mind:
    """A controller that has been informed of a picture, and a journal of its own in the next free folder of `folder`.

    Raises
    ------
    ConfigError
        If the policy does not fit the machine.
    OutputError
        If the journal cannot be written.
    """

    def __init__(
        self, machine: BridgeMachine, policy: Policy, *, folder: str, seed: int, state: bytes | None = None
    ) -> None:
        self.machine, self.policy = machine, policy
        self.picture = Picture()
        self.slowest_s = 0.0
        self._controller = Controller(machine.platform, policy, seed=seed)
        self._journal = JournalWriter(
            next_run(folder),
            self._controller.setting,
            more={"nodes_by_name": list(machine.names), "fold_after": MOST_NOTICES},
        )
        self._state = without_jobs(state)
        """Knowledge of an earlier one's policy, until the first step."""

    @property
    def is_full(self) -> bool:
        """True once it has so many rows that another one should take over."""
        return self.picture.next_number > MOST_ROWS

    def wants(self, t_us: int) -> bool:
        """True if the controller wants a step though nothing has happened."""
        return (next_us := self._controller.next_us) is not None and next_us <= t_us

    def step(self, t_us: int, real: str, change: Change, apps: Mapping[str, str]) -> Sequence[Decision]:
        """Take a change into account, and decide; on disk when it returns.

        Raises whatever the policy raises, and as `Controller.step`; the picture is as before then, but for numbers
        that are not given again.
        """
        began = time.monotonic()
        reached_us = self._controller.reached_us
        at_us = t_us if reached_us is None else max(t_us, reached_us + 1)
        if self._state is not None:
            self._go_on_with(at_us, real, self._state)
            at_us += 1
        if change.added:
            # As they are now: one that runs has what is left of its limit.
            now = [(job, change.after.entries.get(job.key, entry)) for job, entry in change.added]
            frame = self.machine.frame(
                [self.machine.row(job, entry, at_us / 1e6, apps.get(job.key.id)) for job, entry in now]
            )
            self._controller.add_jobs(frame)
            self.picture = replace(self.picture, next_number=change.after.next_number)
            self._journal.append(Instant(at_us, jobs=frame, real=real))
        decisions = self._controller.step(at_us, change.notices)
        self.slowest_s = max(self.slowest_s, time.monotonic() - began)
        self._journal.append(Instant(at_us, tuple(change.notices), tuple(decisions), real))
        self.picture = change.after.decided(decisions)
        return decisions

    def _go_on_with(self, at_us: int, real: str, state: bytes) -> None:
        """Begin with an empty machine, and with what is remembered; jobs and nodes follow."""
        self._controller.rebuild(at_us, Snapshot(), state=state)
        self._journal.append(Instant(at_us, real=real, snapshot=Snapshot(), state=state))
        self._state = None

    @property
    def state(self) -> bytes | None:
        """Knowledge of its policy that no reading shows."""
        return self._state if self._controller.reached_us is None else self._controller.policy_state()

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()


def next_run(folder: str) -> Path:
    """The folder of the next journal in a folder: ``run-0001`` and so on."""
    taken = [int(path.name[4:]) for path in Path(folder).glob("run-*") if path.name[4:].isdecimal()]
    return Path(folder) / f"run-{max(taken, default=0) + 1:04d}"

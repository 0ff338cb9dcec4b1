"""Seams of a live run: the parts of a controller and of a journal that its executor uses, and instants between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hetsched.live.decisions import Decision
from hetsched.live.notices import Notice
from hetsched.live.snapshot import Snapshot
from hetsched.policy import Policy


class Decider(Protocol):
    """The part of `hetsched.Controller` that a host uses."""

    @property
    def next_us(self) -> int | None:
        """The next instant at which it wants to be asked though nothing happens."""
        ...

    def step(self, t_us: int, notices: Sequence[Notice], *, within_s: float | None = None) -> list[Decision]:
        """One instant: all that happened, and what is to be done; TimeoutError if that is not known in time."""
        ...

    def snapshot(self) -> Snapshot:
        """The state of machine and jobs."""
        ...

    def policy_state(self) -> bytes:
        """Knowledge of its policy that no state shows."""
        ...

    def rebuild(
        self, t_us: int, snapshot: Snapshot, *, policy: Policy | None = None, state: bytes | None = None
    ) -> None:
        """Begin again with a state, under another policy or with what this one knows."""
        ...


class Book(Protocol):
    """The part of a journal that a host uses."""

    def append(self, instant: Instant, real: float) -> None:
        """Bring an instant to the disk; an OSError if that cannot be, and then nothing of it is there."""
        ...


class Line(Protocol):
    """The part of a line of a journal that a host reads again."""

    @property
    def t_us(self) -> int:
        """The instant."""
        ...

    @property
    def notices(self) -> Sequence[Notice]:
        """Everything that had happened."""
        ...

    @property
    def decisions(self) -> Sequence[Decision]:
        """The decisions upon that."""
        ...

    @property
    def snapshot(self) -> Snapshot | None:
        """The state from which the controller began again, if it did."""
        ...

    @property
    def policy(self) -> object:
        """The policy that took over then, if one did."""
        ...


@dataclass(frozen=True)
class Instant:
    """An instant on its way to the journal."""

    t_us: int
    notices: Sequence[Notice] = ()
    decisions: Sequence[Decision] = ()
    took_us: int | None = None
    """The time that the decisions took."""
    broken_off: int = 0
    """Steps that were broken off since the instant before."""
    snapshot: Snapshot | None = None
    """The state from which the controller began again: then there are no notices and decisions."""
    policy: Policy | None = None
    """The policy that took over then, if one did."""
    state: bytes | None = None
    """Knowledge of its own policy, with which that goes on."""

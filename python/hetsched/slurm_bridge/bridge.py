"""A beat of the bridge: read, find the difference, decide, and say or do what follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Protocol

from hetsched.checks import many, one_line
from hetsched.errors import HetschedError, LiveError, OutputError
from hetsched.live import Decision, Start
from hetsched.policy import Policy
from hetsched.slurm_bridge import words
from hetsched.slurm_bridge.difference import Change, difference
from hetsched.slurm_bridge.hands import Hands
from hetsched.slurm_bridge.log import Log
from hetsched.slurm_bridge.machine import BridgeMachine
from hetsched.slurm_bridge.mind import Mind
from hetsched.slurm_bridge.picture import Entry, Phase, Picture
from hetsched.slurm_bridge.readings import Reading
from hetsched.slurm_bridge.remembered import Remembered
from hetsched.slurm_bridge.standing import JobKey, Site

MOST_ERRORS = 10
"""Errors of a policy in a row after which another one takes over."""

DECIDE_WITHIN_S = 0.05

OVERDUE_S = 30.0
"""Seconds after which a job that was let go and has not started is held back again."""


class Source(Protocol):
    """Something that a bridge reads: Slurm, or a stand-in of a test."""

    def read(self) -> Reading:
        """The present state; raises LiveError if there is no saying."""

    def ends(self, keys: list[JobKey]) -> Mapping[str, str]:
        """Final states of jobs that are gone."""

    def applications(self, keys: list[JobKey]) -> Mapping[str, str]:
        """Applications of jobs that are new, by id, as far as they are known."""


class Bridge:
    """The beats of a bridge: it reads, has a policy decide, and says or does what follows.

    Parameters
    ----------
    site, machine
        The jobs and the nodes that it is about.
    policy, fallback
        Who decides, and who does after ten errors of the first in a row.
    source
        Slurm.
    folder
        Where journals and the log are.
    clock
        Microseconds that never go back, about those since 1970.
    real
        Seconds since 1970 of the wall clock, for people.
    say
        Takes a line.
    hands
        The part that carries out decisions; None: a dry run, in which Slurm goes on by its own rules.
    """

    def __init__(
        self,
        site: Site,
        machine: BridgeMachine,
        policy: Policy,
        *,
        source: Source,
        folder: str,
        clock: Callable[[], int],
        real: Callable[[], float],
        say: Callable[[str], None],
        fallback: Policy,
        hands: Hands | None = None,
        seed: int = 0,
    ) -> None:
        self.site, self.machine, self.policy, self._fallback = site, machine, policy, fallback
        self._source, self._folder, self._clock, self._real, self._say = source, folder, clock, real, say
        self._seed, self._hands = seed, hands
        self._log = Log(folder, real=real)
        self._decided_us: dict[JobKey, int] = {}
        self._errors = 0
        self._remembered = Remembered(folder)
        self._mind: Mind | None = None
        # Whatever is wrong with the policy on this machine, or with the folder, is said before the first beat.
        self._begin()

    @property
    def picture(self) -> Picture:
        """The present picture."""
        return Picture() if self._mind is None else self._mind.picture

    def beat(self) -> bool:
        """Read and decide once; False if there was no reading, or nothing could be decided."""
        try:
            reading = self._source.read()
            gone = self._gone(reading)
            if gone:
                reading = replace(reading, ends=self._source.ends(gone))
        except LiveError as error:
            self._trouble("reading", error)
            return False
        try:
            is_good = self._decide(reading)
            if is_good and self._hands is not None:
                self._hands.beat(self.picture, reading)
        except OutputError as error:
            # What was not written was not decided: all begins with the next reading.
            self._forget()
            self._trouble("journal", error)
            return False
        return is_good

    def close(self) -> None:
        """Close the journal."""
        self._forget()

    def _begin(self) -> Mind:
        state = self._remembered.read(self._say)
        self._mind = Mind(self.machine, self.policy, folder=self._folder, seed=self._seed, state=state)
        self._decided_us.clear()
        return self._mind

    def _forget(self) -> None:
        mind, self._mind = self._mind, None
        if mind is None:
            return
        try:
            self._remembered.write(mind.state)
            mind.close()
        except OutputError as error:
            self._say(f"journal: {one_line(str(error))}")

    def _gone(self, reading: Reading) -> list[JobKey]:
        seen = {job.key for job in reading.jobs}
        return [key for key, entry in self.picture.entries.items() if entry.phase is Phase.RUNNING and key not in seen]

    def _overdue(self, t_us: int) -> set[JobKey]:
        """Jobs that were let go and have not started in time; in a dry run none, as nobody lets them go."""
        if self._hands is None:
            return set()
        return {key for key, since_us in self._decided_us.items() if t_us - since_us > 1e6 * OVERDUE_S}

    def _decide(self, reading: Reading) -> bool:
        if self._mind is not None and self._mind.is_full:
            self._forget()
        mind = self._mind or self._begin()
        t_us, before = self._clock(), mind.picture
        change = difference(before, reading, self.site, self.machine.numbers, self._overdue(t_us))
        if not change.notices and not mind.wants(t_us):
            self._errors = 0
            return True
        try:
            apps = self._source.applications([job.key for job, _ in change.added]) if change.added else {}
        except LiveError as error:
            self._trouble("reading", error)
            return False
        try:
            decisions = mind.step(t_us, self._now_text(), change, apps)
        except OutputError:
            raise
        except LiveError as error:
            # The pictures differ: the next one is made of the next reading.
            self._forget()
            self._trouble("picture", error)
            return False
        except Exception as error:  # noqa: BLE001 -- a policy's own code may raise anything
            self._policy_failed(error)
            return False
        self._errors = 0
        if self._remembered.is_due(t_us):
            self._remembered.write(mind.state)
        self._tell(before, change, mind, decisions, t_us)
        return True

    def _policy_failed(self, error: Exception) -> None:
        """Decide nothing in this beat; after many errors in a row the fallback takes over."""
        self._errors += 1
        self._trouble("policy", error)
        if self._errors < MOST_ERRORS or self.policy is self._fallback:
            return
        self._say(f"{self.policy.name} has failed {self._errors} times in a row: {self._fallback.name} takes over")
        self._log.write("fallback", policy=self._fallback.name)
        self.policy, self._errors = self._fallback, 0
        self._forget()

    def _trouble(self, where: str, error: Exception) -> None:
        name = "" if isinstance(error, HetschedError) else f"{type(error).__name__}: "
        text = one_line(f"{name}{error}")
        self._say(f"{where}: {text}; nothing was decided")
        try:
            self._log.write("error", where=where, error=text)
        except OutputError as other:
            self._say(f"log: {one_line(str(other))}")

    def _tell(self, before: Picture, change: Change, mind: Mind, decisions: Sequence[Decision], t_us: int) -> None:
        """Say and log what Slurm did and what was decided."""
        for job, entry in change.added:
            self._log.write("job", job=job.key.id, number=entry.number, submit_s=job.key.submit_s, uid=job.key.uid)
        if not before.next_number > 1:
            self._found(change)
        else:
            self._starts(before, change.after, t_us)
        for job in change.unplaced:
            self._log.write("shared", job=job.key.id)
        self._decisions(change.after, mind, decisions, t_us)
        if mind.slowest_s > DECIDE_WITHIN_S:
            self._log.write("slow", seconds=round(mind.slowest_s, 3))
            mind.slowest_s = 0.0

    def _found(self, change: Change) -> None:
        phases = [entry.phase for entry in change.after.entries.values()]
        running, queued = phases.count(Phase.RUNNING), phases.count(Phase.QUEUED)
        down = many(len(change.after.down), "node")
        self._say(f"found {many(running, 'job')} running and {queued:,} waiting; {down} out of service")

    def _starts(self, before: Picture, after: Picture, t_us: int) -> None:
        for key, entry in after.entries.items():
            old = before.entries.get(key)
            if entry.phase is not Phase.RUNNING or (old is not None and _is_same_run(old, entry)):
                continue
            was = old if old is not None and old.phase is Phase.DECIDED else None
            lag_s = (t_us - self._decided_us.pop(key, t_us)) / 1e6
            nodes = words.nodes_text(entry.nodes, self.machine.names)
            wished = None if was is None else words.nodes_text(was.nodes, self.machine.names)
            self._say(words.started(key.id, nodes, wished, lag_s))
            self._log.write("start", job=key.id, nodes=nodes, decided=wished, lag_s=None if was is None else lag_s)

    def _decisions(self, after: Picture, mind: Mind, decisions: Sequence[Decision], t_us: int) -> None:
        keys = {entry.number: key for key, entry in after.entries.items()}
        free = len(self.machine.names) - len(after.down) - sum(len(entry.nodes) for entry in after.entries.values())
        for decision in decisions:
            job = keys[decision.job].id if hasattr(decision, "job") else ""
            if not isinstance(decision, Start):
                text = words.not_carried_out(decision, job, self.machine.names)
                self._say(text)
                self._log.write("left", decision=decision.to_json(), text=text)
                continue
            key = keys[decision.job]
            self._decided_us[key] = t_us
            wait_s = max(0.0, t_us / 1e6 - key.submit_s)
            reason = words.reason_of_start(decision, free=free, wait_s=wait_s, policy=mind.policy.name)
            free -= len(decision.nodes)
            nodes = words.nodes_text(sorted(decision.nodes), self.machine.names)
            self._say(words.release(key.id, nodes, reason, acts=self._hands is not None))
            self._log.write("would", job=key.id, nodes=nodes, decision=decision.number, reason=reason)

    def _now_text(self) -> str:
        return datetime.fromtimestamp(self._real(), timezone.utc).isoformat(timespec="milliseconds")


def _is_same_run(old: Entry, new: Entry) -> bool:
    return old.phase is Phase.RUNNING and (old.number, old.attempt) == (new.number, new.attempt)

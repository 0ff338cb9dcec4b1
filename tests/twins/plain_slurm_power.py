"""Slurm's power saving, in plain Python: rules 44 to 46 and 49."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

from plain_slurm_state import ASLEEP, AWAKE, BOOTING, DOWN, POWERING_DOWN, Run, State


@dataclass
class Leak:
    """46: a counter that leaks, until 24.05."""

    rate: int
    count: float = 0.0

    def passes(self, seconds: int) -> None:
        self.count *= 0.0 if seconds >= 60 else (60 - seconds) / 60

    def take(self) -> bool:
        if self.rate and floor(self.count + 0.5) >= self.rate:
            return False
        self.count += 1
        return True


@dataclass
class Bucket:
    """46: tokens, since 24.05."""

    rate: int
    interval: int
    tokens: Fraction = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = self.most

    @property
    def most(self) -> Fraction:
        return max(Fraction(1), Fraction(self.rate * self.interval, 60))

    def passes(self, seconds: int) -> None:
        self.tokens = min(self.most, self.tokens + Fraction(seconds * self.rate, 60))

    def take(self) -> bool:
        if self.rate and self.tokens < 1:
            return False
        self.tokens -= 1 if self.rate else 0
        return True


@dataclass
class Scanner:
    """44: the thread that looks once a second."""

    state: State
    last: int
    last_change: int
    """Second in which a node last changed."""
    last_work: int

    def __post_init__(self) -> None:
        options = self.state.options
        self.suspends: Leak | Bucket = Leak(options.SuspendRate)
        self.resumes: Leak | Bucket = Leak(options.ResumeRate)
        if options.since("24.05"):
            self.suspends = Bucket(options.SuspendRate, options.power_save_interval)
            self.resumes = Bucket(options.ResumeRate, options.power_save_interval)

    def is_due(self, now: int) -> bool:
        options = self.state.options
        is_changed = self.last_change >= self.last
        is_long_ago = now >= self.last + options.power_save_interval
        return now >= self.last + options.power_save_min_interval and (is_changed or is_long_ago)

    def scan(self, now: int) -> list[tuple[str, int]]:
        """Changes of nodes: asleep, down, resume, suspend."""
        passed = now - self.last_work
        self.suspends.passes(passed)
        self.resumes.passes(passed)
        self.last = self.last_work = now
        done = [*self._over(now), *self._resumed(now), *self._suspended(now)]
        if done:
            self.last_change = now
        return done

    def _over(self, now: int) -> list[tuple[str, int]]:
        """46, 49: power-downs that are over, and boots that took too long."""
        options, done = self.state.options, []
        for n, place in enumerate(self.state.places):
            if place.power == POWERING_DOWN and now > place.asked + options.SuspendTimeout:
                place.power = ASLEEP
                done.append(("asleep", n))
            elif place.power == BOOTING and now > place.asked + options.ResumeTimeout:
                place.power = DOWN
                done.append(("down", n))
        return done

    def _resumed(self, now: int) -> list[tuple[str, int]]:
        """45: first the nodes of jobs."""
        done = []
        for run in sorted(self.state.running(), key=start_order):
            for n in run.nodes:
                if self.state.places[n].power == ASLEEP and self.resumes.take():
                    self.state.places[n].power, self.state.places[n].asked = BOOTING, now
                    done.append(("resume", n))
        return done

    def _suspended(self, now: int) -> list[tuple[str, int]]:
        options, done = self.state.options, []
        assert options.SuspendTime is not None
        for n, place in enumerate(self.state.places):
            is_kept = self.state.nodes[n].name in options.SuspendExcNodes
            is_idle = place.power == AWAKE and place.owner is None and not is_kept
            if is_idle and place.last_busy < now - options.SuspendTime and self.suspends.take():
                place.power, place.asked = POWERING_DOWN, now
                done.append(("suspend", n))
        return done


def start_order(run: Run) -> tuple[int, int]:
    assert run.allocated is not None
    return run.allocated, run.job.id

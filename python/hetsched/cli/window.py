"""Parts of a log that are read, and parts of a run that are measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import hetsched as hs
from hetsched.checks import Faults, many, whole_text
from hetsched.cli.declare import number, option
from hetsched.errors import ConfigError

_PANEL = "Window"
_MOST_S = 1e12
_LENGTH = number("seconds", 0.0, _MOST_S)
_FROM_HELP = "Read jobs submitted from then on: a date, or seconds on the log's clock."
_UNTIL_HELP = "Read jobs submitted before then."
_WARM_UP_HELP = "Seconds at the start that run but are not measured."
_COOL_DOWN_HELP = "Seconds before the last submission that run but are not measured, like all that follows."


@dataclass(frozen=True)
class Window:
    """The part of a run that is measured."""

    from_s: float
    until_s: float
    note: str

    @classmethod
    def of(cls, workload: hs.Workload, from_s: float, until_s: float) -> Window:
        """The window of a run of these jobs."""
        submit_s, epoch_s = workload.to_polars()["submit_s"], _epoch_s(workload)
        before, after = int((submit_s < from_s).sum()), int((submit_s > until_s).sum())
        ends = " to ".join(_written(seconds, epoch_s) for seconds in (from_s, until_s))
        jobs = f"{many(before, 'job')} of warm-up and {after:,} of cool-down run but do not count"
        return cls(from_s, until_s, f"measured from {ends}; {jobs}")

    def summary(self, result: hs.Result) -> dict[str, Any]:
        """The metrics of a run over it."""
        return hs.analysis.measured(result, from_s=self.from_s, until_s=self.until_s)


class Instant:
    """A time as given on the command line: seconds on the log's clock, or a date."""

    def __init__(self, faults: Faults, option: str, text: str) -> None:
        self._option, self.text = option, text
        self._seconds, self._date_s = _seconds(text), None
        if self._seconds is None:
            self._date_s = _date_s(text)
            if self._date_s is None:
                faults.add(option, text, "seconds on the log's clock, or a date such as 2024-05-01T12:00:00")

    def on_clock(self, workload: hs.Workload) -> float:
        """Seconds on a log's clock; raises ConfigError if the log does not say the date of its second 0."""
        if self._seconds is not None:
            return self._seconds
        epoch_s = _epoch_s(workload)
        if self._date_s is None or epoch_s is None:
            unknown = f"{workload.report.source} does not say the date of its second 0"
            raise ConfigError([self.refused(f"seconds on the log's clock: {unknown}")])
        return self._date_s - epoch_s

    def refused(self, expected: str) -> tuple[str, str, str]:
        """A fault of the option."""
        return self._option, f"`{self.text}`", expected


@dataclass(frozen=True)
class SpanOptions:
    """The part of a log that is read."""

    start: Annotated[Instant | None, option("--from", "T", _FROM_HELP, _PANEL, read=Instant)] = None
    end: Annotated[Instant | None, option("--until", "T", _UNTIL_HELP, _PANEL, read=Instant)] = None

    def sliced(self, workload: hs.Workload) -> hs.Workload:
        """The jobs submitted from ``--from`` on and before ``--until``."""
        given = [one for one in (self.start, self.end) if one is not None]
        if not given:
            return workload
        ends = _submits(workload)
        start_s = 0.0 if self.start is None else self.start.on_clock(workload)
        part = workload.between(start_s, ends[1] + 1.0 if self.end is None else self.end.on_clock(workload))
        if not len(part):
            span = " to ".join(_written(seconds, _epoch_s(workload)) for seconds in ends)
            expected = f"a time with jobs: the log's are submitted from {span}"
            raise ConfigError([one.refused(expected) for one in given])
        return part


@dataclass(frozen=True)
class WindowOptions(SpanOptions):
    """The part of a log that is read, and the part of its run that is measured."""

    warm_up_s: Annotated[float | None, option("--warmup-s --warm-up-s", "S", _WARM_UP_HELP, _PANEL, read=_LENGTH)] = (
        None
    )
    cool_down_s: Annotated[
        float | None, option("--cooldown-s --cool-down-s", "S", _COOL_DOWN_HELP, _PANEL, read=_LENGTH)
    ] = None

    @property
    def is_measured(self) -> bool:
        """True if metrics are those of a part of the run."""
        return self.warm_up_s is not None or self.cool_down_s is not None

    def check(self, faults: Faults, *, until_s: float | None, bound: object, has_contract: bool) -> None:
        """Note options that have no meaning for a part of a run."""
        if self.is_measured and until_s is not None:
            faults.add("--until-s", until_s, "nothing with a measuring window, which needs the whole run")
        if self.is_measured and bound is not False:
            faults.note("--bound", "it", "nothing with a measuring window: it is of a whole run")
        if self.is_measured and has_contract:
            faults.note("--contract", "it", "nothing with a measuring window: a bill is of a whole run")

    def check_metrics(self, faults: Faults, keys: tuple[str, ...]) -> None:
        """Note metrics that a window does not have."""
        from hetsched.analysis.window import MEASURED
        from hetsched.run.metrics import OF_COMPARISON

        known = (*MEASURED, *OF_COMPARISON)
        for key in keys if self.is_measured else ():
            if key not in known:
                faults.add("--metrics", key, f"what a window has: {', '.join(known)}")

    def measured(self, workload: hs.Workload) -> Window | None:
        """The window that is measured, of the jobs to be run: the same under all policies. None: all of the run."""
        if not self.is_measured:
            return None
        first_s, last_s = _submits(workload)
        from_s, until_s = first_s + (self.warm_up_s or 0.0), last_s - (self.cool_down_s or 0.0)
        if from_s < until_s:
            return Window.of(workload, from_s, until_s)
        faults = Faults()
        for name, cut_s in (("--warmup-s", self.warm_up_s), ("--cooldown-s", self.cool_down_s)):
            if cut_s is not None:
                faults.add(name, cut_s, f"a part of the {last_s - first_s:g} s from the first submit to the last")
        raise ConfigError(faults.found)


@dataclass(frozen=True)
class UnmeasuredWindow(WindowOptions):
    """The part of a log that is read, for verbs that measure whole runs."""

    warm_up_s: float | None = field(default=None, init=False)
    cool_down_s: float | None = field(default=None, init=False)


def _submits(workload: hs.Workload) -> tuple[float, float]:
    submit_s = workload.to_polars()["submit_s"]
    return (float(submit_s[0]), float(submit_s[-1])) if len(submit_s) else (0.0, 0.0)


def _epoch_s(workload: hs.Workload) -> float | None:
    """Second 0 of the log's clock, in seconds since 1970; None if it does not say."""
    from hetsched.workload.clock import unix_zero

    return unix_zero(workload)


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if abs(seconds) <= _MOST_S else None


def _date_s(text: str) -> float | None:
    import polars as pl

    from hetsched.workload.convert import date_seconds

    return date_seconds(pl.Series([whole_text(text.strip())])).item()  # type: ignore[no-any-return]


def _written(seconds: float, epoch_s: float | None) -> str:
    from hetsched.workload.clock import date_text

    return date_text(seconds, epoch_s)

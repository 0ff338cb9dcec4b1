"""Which part of a log is read, and over which part of that a run is measured."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hetsched.checks import Faults, many, whole_text
from hetsched.cli.options import number
from hetsched.errors import ConfigError

if TYPE_CHECKING:
    from hetsched.run.result import Result
    from hetsched.workload import Workload

_PANEL = "Window"
_TIME = "seconds on the log's clock, or a date such as 2024-05-01T12:00:00"

From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="T",
        help="Read jobs submitted from then on: a date, or seconds on the log's clock.",
        rich_help_panel=_PANEL,
    ),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="T", help="Read jobs submitted before then.", rich_help_panel=_PANEL),
]
WarmUp = Annotated[
    str | None,
    typer.Option(
        "--warm-up-s", metavar="S", help="Seconds at the beginning that run but do not count.", rich_help_panel=_PANEL
    ),
]
CoolDown = Annotated[
    str | None,
    typer.Option(
        "--cool-down-s",
        metavar="S",
        help="Seconds before the last submit that run but do not count; nor does what comes later.",
        rich_help_panel=_PANEL,
    ),
]


@dataclass(frozen=True)
class Window:
    """The part of a run that is measured."""

    from_s: float
    until_s: float
    note: str

    @classmethod
    def of(cls, workload: Workload, from_s: float, until_s: float) -> Window:
        """The window of a run of these jobs."""
        submit_s, epoch_s = workload.to_polars()["submit_s"], _epoch_s(workload)
        before, after = int((submit_s < from_s).sum()), int((submit_s > until_s).sum())
        ends = " to ".join(_instant(seconds, epoch_s) for seconds in (from_s, until_s))
        jobs = f"{many(before, 'job')} of warm-up and {after:,} of cool-down run but do not count"
        return cls(from_s, until_s, f"measured from {ends}; {jobs}")

    def summary(self, result: Result) -> dict[str, Any]:
        """The metrics of a run over it."""
        from hetsched.analysis import measured  # noqa: PLC0415

        return measured(result, from_s=self.from_s, until_s=self.until_s)


@dataclass(frozen=True)
class SpanOptions:
    """Which part of a log is read, as it was given."""

    start: From = None
    end: Until = None

    def check_span(self, faults: Faults) -> None:
        """Note everything that is wrong with them as they stand, before anything is read."""
        for option, text in (("--from", self.start), ("--until", self.end)):
            if text is not None and _seconds(text) is None and _date_s(text) is None:
                faults.add(option, text, _TIME)

    def sliced(self, workload: Workload) -> Workload:
        """The jobs submitted from ``--from`` on and before ``--until``."""
        if self.start is None and self.end is None:
            return workload
        epoch_s = _epoch_s(workload)
        start_s = _on_clock("--from", self.start, epoch_s, workload)
        end_s = _on_clock("--until", self.end, epoch_s, workload)
        last_s = _submits(workload)[1]
        part = workload.between(0.0 if start_s is None else start_s, last_s + 1.0 if end_s is None else end_s)
        if not len(part):
            options = [("--from", self.start), ("--until", self.end)]
            span = " to ".join(_instant(seconds, epoch_s) for seconds in _submits(workload))
            expected = f"a time with jobs: the log's are submitted from {span}"
            raise ConfigError([(option, f"`{text}`", expected) for option, text in options if text is not None])
        return part


@dataclass(frozen=True)
class WindowOptions(SpanOptions):
    """The options on time, as they were given."""

    warm_up_s: WarmUp = None
    cool_down_s: CoolDown = None

    @property
    def is_measured(self) -> bool:
        """Whether metrics are those of a part of the run."""
        return self.warm_up_s is not None or self.cool_down_s is not None

    def check(self, faults: Faults, *, until_s: object = None, bound: bool = False, has_contract: bool = False) -> None:
        """Note everything that is wrong with them as they stand, before anything is read."""
        for option, text in (("--warm-up-s", self.warm_up_s), ("--cool-down-s", self.cool_down_s)):
            value = number(faults, option, text, unit="seconds")
            if value is not None:
                faults.number(option, value, low=0.0, high=1e12)
        self.check_span(faults)
        if self.is_measured and until_s is not None:
            faults.add("--until-s", until_s, "nothing beside a measuring window, which needs the whole run")
        if self.is_measured and bound:
            faults.note("--bound", "it", "nothing beside a measuring window: it is of a whole run")
        if self.is_measured and has_contract:
            faults.note("--contract", "it", "nothing beside a measuring window: a bill is of a whole run")

    def check_metrics(self, faults: Faults, keys: tuple[str, ...]) -> None:
        """Note metrics that a window does not have."""
        from hetsched.analysis.window import MEASURED  # noqa: PLC0415 -- polars is slow to import

        for key in keys if self.is_measured else ():
            if key not in MEASURED:
                faults.add("--metrics", key, f"what a window has: {', '.join(MEASURED)}")

    def measured(self, workload: Workload) -> Window | None:
        """The window that is measured, of the jobs to be run: the same under all policies. None: all of the run."""
        if not self.is_measured:
            return None
        cut_s = [number(Faults(), "", text, unit="") or 0.0 for text in (self.warm_up_s, self.cool_down_s)]
        first_s, last_s = _submits(workload)
        if first_s + cut_s[0] < last_s - cut_s[1]:
            return Window.of(workload, first_s + cut_s[0], last_s - cut_s[1])
        faults = Faults()
        for option, text in (("--warm-up-s", self.warm_up_s), ("--cool-down-s", self.cool_down_s)):
            if text is not None:
                faults.add(option, text, f"a part of the {last_s - first_s:g} s from the first submit to the last")
        raise ConfigError(faults.found)


def _submits(workload: Workload) -> tuple[float, float]:
    submit_s = workload.to_polars()["submit_s"]
    return (float(submit_s[0]), float(submit_s[-1])) if len(submit_s) else (0.0, 0.0)


def _epoch_s(workload: Workload) -> float | None:
    """When second 0 of the log's clock was, in seconds since 1970; None if it does not say."""
    from hetsched.workload.clock import unix_zero  # noqa: PLC0415 -- polars is slow to import

    return unix_zero(workload)


def _on_clock(option: str, text: str | None, epoch_s: float | None, workload: Workload) -> float | None:
    if text is None or (seconds := _seconds(text)) is not None:
        return None if text is None else seconds
    date_s = _date_s(text)
    if date_s is None or epoch_s is None:
        expected = f"seconds on the log's clock: {workload.report.source} does not say the date of its second 0"
        raise ConfigError([(option, f"`{text}`", expected)])
    return date_s - epoch_s


def _seconds(text: str) -> float | None:
    value = number(Faults(), "", text, unit="seconds")
    return value if value is not None and abs(value) <= 1e12 else None


def _date_s(text: str) -> float | None:
    import polars as pl  # noqa: PLC0415 -- slow to import

    from hetsched.workload.convert import date_seconds  # noqa: PLC0415

    return date_seconds(pl.Series([whole_text(text.strip())])).item()  # type: ignore[no-any-return]


def _instant(seconds: float, epoch_s: float | None) -> str:
    if epoch_s is None:
        return f"{seconds:,.6g} s" if seconds < 1e6 else f"{seconds:,.0f} s"
    date = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=epoch_s + seconds)
    return f"{date:%Y-%m-%d %H:%M:%S} UTC"

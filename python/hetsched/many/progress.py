"""Progress bars on a terminal, for work longer than a second; and the one way to stop runs in other threads."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from hetsched.checks import Faults

_PATIENCE_S = 1.0


Reporting = Callable[[int, int], object] | str | None
"""Progress as callers ask for it: a function of (done, in all), ``"bar"``, or nothing."""


def check_progress(progress: object, faults: Faults, what: str) -> None:
    """Note what is no way to show progress."""
    if progress != "bar":
        faults.function("progress", progress, f"{what} done", f"{what} in all", also="`bar`, or None")


def teller(progress: Reporting) -> Callable[[int, int], object]:
    """The function to call with (done, in all); of a bar or nothing one that does nothing."""
    return progress if callable(progress) else lambda _done, _total: None


class Stopped(Exception):  # noqa: N818 -- not an error
    """Raised inside a run that was asked to stop."""


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        unit = task.fields["unit"]
        return Text("" if speed is None or not unit else f"{speed:,.0f} {unit}/s")


class Bars:
    """Progress bars while the block lasts; nothing if standard error is no terminal."""

    def __init__(self, *, shown: bool = True) -> None:
        self._is_seen = shown and sys.stderr.isatty()
        self._has_begun = False
        self._since = time.monotonic()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            _Rate(),
            TimeRemainingColumn(compact=True),
            console=Console(file=sys.stderr),
            transient=True,
        )

    def __enter__(self) -> Bars:  # noqa: PYI034 -- typing has no Self before Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._has_begun:
            self._progress.stop()

    def stop(self) -> None:
        """Make every run that reports progress raise `Stopped`."""
        self._stop.set()

    def bar(self, name: str, *, unit: str = "") -> Callable[..., None]:
        """A new bar's function, to be called with (done, in all) from any thread; `unit` gives a rate per second."""
        task = self._progress.add_task(name, total=None, visible=False, start=False, unit=unit)

        def tell(done: float, total: float, *_: float, note: str = "") -> None:
            if self._stop.is_set():
                raise Stopped
            if self._is_seen and time.monotonic() - self._since > _PATIENCE_S:
                self._begin()
                self._progress.start_task(task)
                self._progress.update(task, completed=done, total=total, visible=done < total)
                if note:
                    self._progress.update(task, description=f"{name}: {note}")

        return tell

    def _begin(self) -> None:
        with self._lock:
            if not self._has_begun:
                self._progress.start()
                self._has_begun = True

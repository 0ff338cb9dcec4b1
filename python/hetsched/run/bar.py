"""How far a sweep is: a bar on a terminal, or a function of the user's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

__all__ = ["Bar", "Tell"]

Tell = Callable[[int, int], object]

_PATIENCE_S = 1.0


class Bar:
    """A bar of runs while the block lasts, if they take longer than a second and standard error is a terminal.

    Examples
    --------
    >>> with Bar() as tell:
    ...     tell(1, 2)
    """

    def __init__(self) -> None:
        self._is_seen = sys.stderr.isatty()
        self._since = time.monotonic()
        self._progress = Progress(
            TextColumn("sweep"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("runs"),
            TimeElapsedColumn(),
            TimeRemainingColumn(compact=True),
            console=Console(file=sys.stderr),
            transient=True,
        )
        self._task = self._progress.add_task("", total=None)

    def __enter__(self) -> Tell:
        return self._tell

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress.live.is_started:
            # Elsewhere it would write an empty line.
            self._progress.stop()

    def _tell(self, done: int, total: int) -> None:
        if self._is_seen and time.monotonic() - self._since > _PATIENCE_S:
            self._progress.start()
            self._progress.update(self._task, completed=done, total=total)

"""Output of a command: results on standard output, or one JSON object there and the rest on standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from hetsched.cli.faults import silence


class _Console(Console):
    """A console that falls silent when its reader has gone; the run goes on and its files are written."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        silence(sys.stdout)


class Screen:
    """Standard output and error of one command."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        file = sys.stderr if as_json else sys.stdout
        # A character that the terminal's encoding lacks must not end a run.
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        self._console = _Console(file=file, highlight=False, markup=False, emoji=False)

    def say(self, text: str) -> None:
        """A line: wrapped at words on a terminal, whole in a pipe."""
        self._console.print(text, soft_wrap=not self._console.is_terminal)

    def tell(self, text: str) -> None:
        """A sentence, wrapped at words everywhere."""
        self._print(text)

    @property
    def width(self) -> int:
        """Characters a line: the width of the terminal, 80 in a pipe."""
        return self._console.width

    def head(self, title: str) -> None:
        """A title above a table, in lines as wide as the screen; not with JSON."""
        from hetsched.report.tables import folded  # noqa: PLC0415 -- imports polars

        if not self.as_json:
            for line in folded(title, self.width):
                self._console.print(Text(line, style="bold"), soft_wrap=True)

    def show(self, table: RenderableType) -> None:
        """A table; not with JSON, which holds the same numbers."""
        if not self.as_json:
            self._print(table)

    def _print(self, block: RenderableType) -> None:
        if self._console.is_terminal:
            self._console.print(block)
            return
        with self._console.capture() as captured:
            self._console.print(block)
        # Padding to the table's width is of no use in a file.
        self._console.print("\n".join(line.rstrip() for line in captured.get().splitlines()), soft_wrap=True)

    def give(self, value: dict[str, Any]) -> None:
        """The JSON object; nothing if tables were shown."""
        if not self.as_json:
            return
        text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)
        try:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
        except BrokenPipeError:
            silence(sys.stdout)

"""The job log that options name: its file, its format, and how it is to be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hetsched.checks import Faults, did_you_mean, listed, shown
from hetsched.cli import options as opt
from hetsched.cli.faults import renamed
from hetsched.cli.options import whole
from hetsched.cli.window import WindowOptions
from hetsched.errors import ConfigError, TraceError
from hetsched.run.progress import Bars

if TYPE_CHECKING:
    from hetsched.cli.screen import Screen
    from hetsched.workload import Workload
    from hetsched.workload.formats import Format
    from hetsched.workload.formats.raw import Source

_OPTIONS = {
    "procs_per_node": "--procs-per-node",
    "columns": "--columns",
    "separator": "--separator",
    "on_bad_line": "--lenient",
}
_NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}


@dataclass(frozen=True)
class JobLog:
    """A log and how to read it, as given on the command line."""

    trace: opt.Trace
    procs_per_node: opt.ProcsPerNode = None
    format: opt.FormatName = None
    columns: opt.Columns = None
    separator: opt.Separator = None
    lenient: opt.Lenient = False
    window: WindowOptions = field(default_factory=WindowOptions)

    @property
    def name(self) -> str:
        """Name in messages."""
        return "standard input" if self.trace == "-" else self.trace

    def check(self, faults: Faults) -> None:
        """Note everything that is wrong with the options as they stand, before anything is read."""
        whole(faults, "--procs-per-node", self.procs_per_node, low=1)
        if self.columns is not None:
            _columns(faults, self.columns)
        if self.separator is not None and len(_separator(self.separator)) != 1:
            faults.add("--separator", self.separator, f"one character, or {', '.join(_NAMED_SEPARATORS)}")

    def read(self, screen: Screen) -> Workload:
        """The jobs, read with a bar that shows how far; says what was kept, and which lines were skipped."""
        from hetsched.workload import read_trace  # noqa: PLC0415
        from hetsched.workload.formats.raw import piped  # noqa: PLC0415 -- polars is slow to import

        self._refuse_no_file()
        source: Source = piped() if self.trace == "-" else self.trace
        options = self._options()
        chosen = self._format(source, options)
        with Bars() as bars:
            if "progress" in chosen.options:
                options["progress"] = bars.bar(f"reading {Path(self.name).name}")
            with renamed({"separator": "--separator"}):
                workload = read_trace(source, format=chosen.name, **options)
        screen.say(workload.report.line())
        for fault in workload.report.get("first_bad_lines", []):
            screen.say(f"skipped: {fault}")
        part = self.window.sliced(workload)
        if part is not workload:
            screen.say(f"{len(part):,} of these jobs, those submitted in the time asked for")
        return part

    def _refuse_no_file(self) -> None:
        from hetsched.workload.formats import READERS  # noqa: PLC0415

        path = Path(self.trace)
        if self.trace != "-" and (path.is_dir() or not path.exists()):
            found = "a directory" if path.is_dir() else "no such file"
            raise TraceError(file=self.trace, found=found, expected=f"a job log ({listed(READERS)})")

    def _options(self) -> dict[str, Any]:
        """The options given, by the readers' names."""
        columns, separator = self.columns, self.separator
        given = {
            "procs_per_node": whole(Faults(), "", self.procs_per_node, low=1),
            "columns": None if columns is None else _columns(Faults(), columns),
            "separator": None if separator is None else _separator(separator),
            "on_bad_line": "skip" if self.lenient else None,
        }
        return {name: value for name, value in given.items() if value is not None}

    def _format(self, source: Source, options: dict[str, Any]) -> Format:
        """The log's format, if what was given fits it."""
        from hetsched.workload.formats import FORMATS, READERS, format_of  # noqa: PLC0415

        try:
            chosen = format_of(source, self.format, options=options)
        except ConfigError:
            found = "nothing" if self.format is None else shown(self.format)
            ends = f"; {Path(self.trace).name} does not end in one of {listed(READERS)}"
            hint = did_you_mean(self.format or "", FORMATS) or ends
            raise ConfigError([("--format", found, f"one of {listed(FORMATS)}{hint}")]) from None
        faults = [
            (_OPTIONS[name], _as_given(value), _NO_USE[name].format(chosen.name))
            for name, value in options.items()
            if name not in chosen.options
        ]
        if faults:
            raise ConfigError(faults)
        return chosen


_NO_USE = {
    "procs_per_node": "nothing: {} logs count nodes, not processors",
    "columns": "nothing: fields of {} logs are known by their place",
    "separator": "nothing: {} logs have no separator to choose",
    "on_bad_line": "nothing: {} logs have no lines to skip",
}


def _as_given(value: object) -> str:
    if isinstance(value, dict):
        return shown(",".join(f"{ours}={theirs}" for theirs, ours in value.items()))
    return "it" if value == "skip" else shown(value)


def _separator(text: str) -> str:
    return _NAMED_SEPARATORS.get(text, text)


def _columns(faults: Faults, text: str) -> dict[str, str]:
    """From the file's column names to hetsched's, out of ``OURS=THEIRS,…``; notes what is invalid."""
    from hetsched.workload.schema import COLUMNS  # noqa: PLC0415 -- polars is slow to import

    found: dict[str, str] = {}
    for pair in text.split(","):
        ours, equals, theirs = (part.strip() for part in pair.partition("="))
        if not (ours and equals and theirs):
            faults.add("--columns", pair, "OURS=THEIRS, such as submit_s=Submit, with commas between")
        elif ours not in COLUMNS and theirs in COLUMNS:
            faults.add("--columns", pair, f"hetsched's name first: {theirs}={ours}")
        elif ours not in COLUMNS:
            near = did_you_mean(ours, COLUMNS) or f": {listed(COLUMNS)}"
            faults.add("--columns", pair, f"one of hetsched's columns before the ={near}")
        elif theirs in found or ours in found.values():
            faults.add("--columns", pair, "each column once")
        else:
            found[theirs] = ours
    return found

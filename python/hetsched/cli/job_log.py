"""The job log that a verb reads, and the options of its readers: which formats take which, and what else is right."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import hetsched as hs
from hetsched.checks import Faults, did_you_mean, exists, listed, shown
from hetsched.cli.declare import LOG, MACHINE, argument, choice, flag, number, option, whole
from hetsched.cli.platforms import slurm_files
from hetsched.cli.terminal import Screen, inside, renamed
from hetsched.cli.window import SpanOptions
from hetsched.errors import ConfigError, RunWarning, TraceError
from hetsched.many.progress import Bars
from hetsched.params import ASSUMED_W
from hetsched.typing import Cancelled

if TYPE_CHECKING:
    from hetsched.workload.formats import Format
    from hetsched.workload.formats.raw import Source

_OF_DUMPS = "nothing: only logs of sacct and PBS {}"

_READER_OPTIONS = {
    "procs_per_node": ("--procs-per-node", "nothing: {} logs count nodes, not processors"),
    "columns": ("--columns", "nothing: fields of {} logs are known by their place or name"),
    "separator": ("--separator", "nothing: {} logs have no separator to choose"),
    "delimiter": ("--delimiter", "nothing: {} logs have no separator to choose"),
    "on_bad_line": ("--lenient", "nothing: {} logs have no lines to skip"),
    "flops_per_s": ("--flops-per-s", "nothing: {} logs have run lengths, not work"),
    "time_zone": ("--time-zone", _OF_DUMPS.format("have times of a local clock")),
    "nodes": ("--nodes-from", _OF_DUMPS.format("call nodes by name")),
    "shared": ("--shared", _OF_DUMPS.format("count processors besides nodes")),
    "app": ("--app", "nothing: only logs of sacct have several columns that name applications"),
    "cancelled": ("--cancelled", _OF_DUMPS.format("keep jobs that never ran")),
}
"""Options of readers: how they are given, and what a format expects that does not have them."""

_INSTEAD = {
    ("delimiter", "csv"): "--separator, which has the character between fields of csv logs",
    ("separator", "sacct"): "--delimiter, which has the text between fields of sacct logs",
    ("time_zone", "csv"): "nothing: dates in csv logs are UTC unless they end in an offset, such as +01:00",
    ("app", "csv"): "--columns app=NAME, which says the column of applications in csv logs",
    ("app", "parquet"): "--columns app=NAME, which says the column of applications in parquet logs",
    ("app", "pbs"): "nothing: jobs of pbs logs have one name, which is their application",
    ("shared", "csv"): "--columns slots=NAME, which says the column of slots in csv logs",
    ("shared", "parquet"): "--columns slots=NAME, which says the column of slots in parquet logs",
}
"""The option that is right in place of an option that a format does not have."""

_SACCT_COLUMNS = (
    "names of columns as sacct -o takes them, such as JobID,Submit,Elapsed,NNodes: sacct logs need no other"
)
_PAIRS = "OURS=THEIRS, such as submit_s=Submit, with commas between"

_NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}


def _formats() -> list[str]:
    from hetsched.workload.formats import FORMATS

    return list(FORMATS)


def _separator(faults: Faults, option: str, text: str) -> str:
    """One character, which may be given by its name."""
    character = _NAMED_SEPARATORS.get(text, text)
    if len(character) != 1:
        faults.add(option, text, f"one character, or {', '.join(_NAMED_SEPARATORS)}")
    return character


def _delimiter(faults: Faults, option: str, text: str) -> str:
    """A text of any length, which may be given by its name."""
    if not text:
        faults.add(option, text, "the text between fields, such as `|` or `@@`")
    return _NAMED_SEPARATORS.get(text, text)


def _columns(faults: Faults, option: str, text: str) -> dict[str, str] | str:
    """From the file's column names to hetsched's, out of ``OURS=THEIRS,…``; without ``=`` the text itself."""
    from hetsched.workload.formats.mappings import ROW
    from hetsched.workload.schema import COLUMNS

    if "=" not in text:
        if not text.strip(" ,"):
            faults.add(option, text, _PAIRS)
        return text
    found: dict[str, str] = {}
    for pair in text.split(","):
        ours, equals, theirs = (part.strip() for part in pair.partition("="))
        if not (ours and equals and theirs):
            faults.add(option, pair, _PAIRS)
        elif theirs == ROW and ours != "job_id":
            faults.add(option, pair, f"job_id={ROW}, which numbers the jobs by row")
        elif ours not in COLUMNS and theirs in COLUMNS:
            faults.add(option, pair, f"hetsched's name first: {theirs}={ours}")
        elif ours not in COLUMNS:
            near = did_you_mean(ours, COLUMNS) or f": {listed(COLUMNS)}"
            faults.add(option, pair, f"one of hetsched's columns before the ={near}")
        elif theirs in found or ours in found.values():
            faults.add(option, pair, "each column once")
        else:
            found[theirs] = ours
    return found


def _nodes_from(faults: Faults, option: str, texts: list[str]) -> hs.Platform | None:
    """The machine whose nodes a dump names; what else its files say plays no part."""
    paths: list[str] = []
    for text in texts:
        own = slurm_files(text)
        if not own:
            missing = [path for path in text.split(",") if not exists(path)]
            found = f"no such file as {shown(missing[0])}" if missing else f"{shown(text)}, no file of Slurm's"
            faults.note(option, found, "slurm.conf, or output of scontrol show node")
        paths += own
    if not paths or faults.found:
        return None
    with warnings.catch_warnings(), inside(listed(paths)):
        warnings.simplefilter("ignore", RunWarning)
        return hs.Platform.from_slurm(*paths, **ASSUMED_W)  # type: ignore[arg-type]


_TRACE_HELP = "Job log: .swf, .parquet, .csv; of sacct, PBS or Batsim; .gz, .zst too; - for standard input."
_PROCS_HELP = "SWF: processors per node; default: each one is a node."
_FORMAT_HELP = "swf, parquet, batsim, pbs, csv or sacct, if the log's name and content do not say."
_COLUMNS_HELP = (
    "CSV, Parquet: the log's names of columns, such as submit_s=Submit,job_id=#row; or the published table that it is: "
    "kestrel, eagle, philly, philly-sia, helios, alibaba, lisa. sacct without a header line: columns as -o takes them."
)
_SEPARATOR_HELP = "CSV: the character between fields; default: a comma."
_DELIMITER_HELP = "sacct: the text between fields; default: as the header line has it."
_ZONE_HELP = "sacct, PBS: the zone of local times, such as Europe/Berlin or +01:00; default: UTC; PBS: as records show."
_NODES_HELP = "sacct, PBS: slurm.conf or output of scontrol show node, whose order numbers the nodes; default: by name."
_SHARED_HELP = "sacct, PBS: jobs get slots of their nodes, as many as they had processors; default: whole nodes."
_APP_HELP = "sacct: the column that tells applications apart, or none; default: JobName."
_CANCELLED_HELP = "sacct, PBS: what becomes of jobs that never ran; default: keep."
_FLOPS_HELP = "Batsim: a node's speed, for profiles that say work in place of seconds."
_LENIENT_HELP = "Skip and count malformed lines of the log; SWF, CSV: unless most of them are."

_NAMES = {name: place for name, (place, _) in _READER_OPTIONS.items()}
"""Options by the names that readers have for them."""


@dataclass(frozen=True)
class JobLog:
    """A log and how to read it."""

    trace: Annotated[str, argument("TRACE", _TRACE_HELP)]
    procs_per_node: Annotated[int | None, option("--procs-per-node", "P", _PROCS_HELP, MACHINE, read=whole(1))] = None
    format: Annotated[str | None, option("--format", "NAME", _FORMAT_HELP, LOG, complete=_formats)] = None
    columns: Annotated[
        dict[str, str] | str | None, option("--columns", "OURS=THEIRS,…", _COLUMNS_HELP, LOG, read=_columns)
    ] = None
    separator: Annotated[str | None, option("--separator", "C", _SEPARATOR_HELP, LOG, read=_separator)] = None
    delimiter: Annotated[str | None, option("--delimiter", "TEXT", _DELIMITER_HELP, LOG, read=_delimiter)] = None
    time_zone: Annotated[str | None, option("--time-zone", "ZONE", _ZONE_HELP, LOG)] = None
    nodes_from: Annotated[Any, option("--nodes-from", "F,…", _NODES_HELP, LOG, read=_nodes_from, is_list=True)] = None
    shared: Annotated[bool, flag("--shared", _SHARED_HELP, LOG)] = False
    app: Annotated[str | None, option("--app", "COLUMN", _APP_HELP, LOG)] = None
    cancelled: Annotated[str | None, choice("--cancelled", get_args(Cancelled), _CANCELLED_HELP, LOG)] = None
    lenient: Annotated[bool, flag("--lenient", _LENIENT_HELP, LOG)] = False
    flops_per_s: Annotated[
        float | None, option("--flops-per-s", "F", _FLOPS_HELP, LOG, read=number("operations a second"))
    ] = None
    window: SpanOptions = field(default_factory=SpanOptions)

    @property
    def name(self) -> str:
        """Name in messages."""
        return "standard input" if self.trace == "-" else self.trace

    def read(self, screen: Screen) -> hs.Workload:
        """The jobs, read with a bar that shows how far; says what was kept, and which lines were skipped."""
        workload, _ = self.read_whole()
        screen.say(workload.report.line())
        for fault in workload.report.get("first_bad_lines", []):
            screen.say(f"skipped: {fault}")
        part = self.window.sliced(workload)
        if part is not workload:
            screen.say(f"{len(part):,} of these jobs were submitted within --from and --until")
        return part

    def read_whole(self) -> tuple[hs.Workload, Format]:
        """All jobs of the log, read with a bar that shows how far, and its format."""
        from hetsched.workload.formats.raw import piped

        self._refuse_no_file()
        source: Source = piped() if self.trace == "-" else self.trace
        options = self.reader_options()
        chosen = self._format(source, options)
        with Bars() as bars:
            if "progress" in chosen.options:
                options["progress"] = bars.bar(f"reading {Path(self.name).name}")
            with renamed(_NAMES):
                return chosen.read(source, **options), chosen

    def _refuse_no_file(self) -> None:
        from hetsched.workload.formats import READERS

        path, is_there = Path(self.trace), exists(self.trace)
        if self.trace != "-" and (not is_there or path.is_dir()):
            found = "a directory" if is_there else "no such file"
            raise TraceError(file=self.trace, found=found, expected=f"a job log ({listed(READERS)})")

    def reader_options(self) -> dict[str, Any]:
        """The options given, by the readers' names."""
        plain = ("procs_per_node", "columns", "separator", "delimiter", "time_zone", "app", "cancelled", "flops_per_s")
        given = {name: getattr(self, name) for name in plain}
        given["nodes"] = self.nodes_from
        given["shared"] = self.shared or None
        given["on_bad_line"] = "skip" if self.lenient else None
        found = {name: value for name, value in given.items() if value is not None}
        return found | ({"app": None} if self.app == "none" else {})

    def _format(self, source: Source, options: dict[str, Any]) -> Format:
        """The log's format, if what was given fits it."""
        from hetsched.workload.formats import FORMATS, READERS, format_of

        # Names of sacct's columns are given for dumps that have no header line to be known by.
        is_dump = isinstance(self.columns, str) and "jobid" in self.columns.lower()
        try:
            chosen = format_of(source, self.format or ("sacct" if is_dump else None), options=options)
        except ConfigError:
            one = f"one of {listed(FORMATS)}"
            if self.format is None:
                ends = f"one ending in {listed(READERS)}, or --format with {one}"
                if slurm_files(self.trace):
                    ends = "a job log; a machine's file is for --platform or --nodes-from"
                raise ConfigError([(Path(self.trace).name, "a name that tells no format", ends)]) from None
            hint = did_you_mean(self.format, FORMATS)
            raise ConfigError([("--format", shown(self.format), f"{one}{hint}")]) from None
        faults = Faults()
        for name in [name for name in options if name not in chosen.options]:
            place, expected = _READER_OPTIONS[name]
            expected = _INSTEAD.get((name, chosen.name), expected.format(chosen.name))
            faults.note(place, self._as_given(name), expected)
        if "columns" in options and "columns" in chosen.options:
            self._check_columns(chosen, faults)
        faults.check()
        return chosen

    def _check_columns(self, chosen: Format, faults: Faults) -> None:
        """Note names of columns that are given in another format's way."""
        from hetsched.workload.formats.mappings import MAPPINGS

        if chosen.name == "sacct":
            if not isinstance(self.columns, str):
                faults.note("--columns", self._as_given("columns"), _SACCT_COLUMNS)
        elif isinstance(self.columns, str) and self.columns not in MAPPINGS:
            known = f"{_PAIRS}, or one of {listed(MAPPINGS)}{did_you_mean(self.columns, MAPPINGS)}"
            faults.note("--columns", shown(self.columns), known)

    def _as_given(self, name: str) -> str:
        """The value of an option as a message shows it."""
        value = self.nodes_from if name == "nodes" else getattr(self, name, None)
        if isinstance(value, dict):
            return shown(",".join(f"{ours}={theirs}" for theirs, ours in value.items()))
        return "it" if name in ("nodes", "shared", "on_bad_line") else shown(value)

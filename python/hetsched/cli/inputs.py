"""Options of what is simulated: the job log, and the machine that it runs on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hetsched.checks import Faults, did_you_mean, exists, listed, many, shown
from hetsched.cli import options as opt
from hetsched.cli.options import KNOWN_DRAWS, chosen, number, whole
from hetsched.cli.terminal import changed, inside, noted, renamed
from hetsched.cli.window import SpanOptions, WindowOptions
from hetsched.errors import ConfigError, TraceError
from hetsched.many.progress import Bars

if TYPE_CHECKING:
    from hetsched.cli.terminal import Screen
    from hetsched.platform import Platform, VariationTable
    from hetsched.workload import Workload
    from hetsched.workload.formats import Format
    from hetsched.workload.formats.raw import Source


_READER_OPTIONS = {
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
    window: SpanOptions = field(default_factory=SpanOptions)

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
            screen.say(f"{len(part):,} of these jobs were submitted within --from and --until")
        return part

    def _refuse_no_file(self) -> None:
        from hetsched.workload.formats import READERS  # noqa: PLC0415

        path, is_there = Path(self.trace), exists(self.trace)
        if self.trace != "-" and (not is_there or path.is_dir()):
            found = "a directory" if is_there else "no such file"
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
            one = f"one of {listed(FORMATS)}"
            if self.format is None:
                ends = f"one ending in {listed(READERS)}, or --format with {one}"
                raise ConfigError([(Path(self.trace).name, "a name that tells no format", ends)]) from None
            hint = did_you_mean(self.format, FORMATS)
            raise ConfigError([("--format", shown(self.format), f"{one}{hint}")]) from None
        faults = [
            (_READER_OPTIONS[name], _as_given(value), _NO_USE[name].format(chosen.name))
            for name, value in options.items()
            if name not in chosen.options
        ]
        if faults:
            raise ConfigError(faults)
        return chosen


@dataclass(frozen=True)
class MeasuredLog(JobLog):
    """The same of a log whose run may be measured in part."""

    window: WindowOptions = field(default_factory=WindowOptions)


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


ASSUMED_W = {"idle_w": 100.0, "tdp_w": 400.0}
"""Watts of a node that are assumed where none are given."""

_FAR = 2
"""Where nodes differ, their mean number of processors may be this factor from what most of them have."""

_OPTIONS = {"nodes": "--nodes", "idle_w": "--idle-w", "tdp_w": "--tdp-w", "procs_per_node": "--procs-per-node"}


@dataclass(frozen=True)
class Machine:
    """A platform, and what was assumed to make it."""

    platform: Platform
    notes: tuple[str, ...]
    assumed_w: dict[str, float]


@dataclass(frozen=True)
class Inputs:
    """The options of a run's workload and machine, as they were given."""

    log: MeasuredLog
    nodes: opt.Nodes = None
    idle_w: opt.IdleWatts = None
    tdp_w: opt.TdpWatts = None
    platform: opt.PlatformFile = None
    table: opt.TableFile = None
    cap_w: opt.CapWatts = None
    known_draws: opt.KnownDraws = None

    def check(self, faults: Faults) -> None:
        """Note everything that is wrong with them as they stand, before anything is read."""
        self.log.check(faults)
        whole(faults, "--nodes", self.nodes, low=1)
        watts = Faults()
        for name in ASSUMED_W:
            number(watts, _OPTIONS[name], getattr(self, name), unit="watts")
        if not watts.found and self.platform is None:
            # On a machine of one node, so that no log of hours is read for a negative draw.
            with noted(watts):
                self._homogeneous(1)
        faults.extend(watts)
        self._check_cap(faults)
        if self.known_draws is not None:
            chosen(faults, "--known-draws", self.known_draws, KNOWN_DRAWS)
        for name in ("nodes", *ASSUMED_W):
            if self.platform is not None and getattr(self, name) is not None:
                faults.add(_OPTIONS[name], getattr(self, name), "nothing beside --platform, whose file says it")

    def _check_cap(self, faults: Faults) -> None:
        cap_w = number(faults, "--cap-w", self.cap_w, unit="watts")
        if self.cap_w is not None and self.table is None:
            faults.add("--cap-w", self.cap_w, "nothing without --table; a platform's file says it as cap_w")
        elif cap_w is not None and not cap_w > 0:
            faults.add("--cap-w", cap_w, "watts above 0, or inf: without a cap")

    def read(self, screen: Screen) -> tuple[Workload, Machine]:
        """The jobs and the machine, saying what the log held and what was assumed."""
        from_file, table = self._files()
        workload = self.log.read(screen)
        machine = self._machine(workload) if from_file is None else Machine(from_file, (), {})
        for note in machine.notes:
            screen.say(note)
        if self._procs_per_node is None and (hint := _processors_hint(_header(workload))):
            screen.say(hint)
        if table is not None:
            with renamed({"actual": f"--table {self.table}", "predicted": f"{self.platform}: predicted"}):
                tabled = machine.platform.with_tables(actual=table, predicted=machine.platform.predicted)
            machine = replace(machine, platform=tabled)
        if self.known_draws is not None:
            machine = replace(machine, platform=machine.platform.with_known_draws(self.known_draws))  # type: ignore[arg-type]
        if machine.platform.actual is not None and not _names_applications(workload):
            screen.say("no job names its application, so the table of the nodes' draw changes nothing")
        return workload, machine

    def _files(self) -> tuple[Platform | None, VariationTable | None]:
        """The platform's and the table's file, read before the log, which may take a while."""
        from hetsched.platform import VariationTable  # noqa: PLC0415 -- polars is slow to import

        platform = table = None
        if self.platform is not None:
            platform = _platform_of(self.platform)
        if self.table is not None:
            with inside(self.table), renamed({f"{self.table}.cap_w": f"{self.table}: --cap-w"}):
                table = VariationTable.read(self.table, cap_w=number(Faults(), "", self.cap_w, unit="watts"))
        return platform, table

    def _machine(self, workload: Workload) -> Machine:
        """A machine of equal nodes, as the options and the log's header say."""
        nodes, note = self._nodes(workload)
        assumed = {name: watts for name, watts in ASSUMED_W.items() if getattr(self, name) is None}
        notes = [note] if note else []
        if assumed:
            names = {"idle_w": "idle", "tdp_w": "TDP"}
            watts = " and ".join(f"{names[name]} {value:g} W" for name, value in assumed.items())
            options = " and ".join(_OPTIONS[name] for name in assumed)
            notes.append(f"assumed: {watts} a node; give {options} for the machine's own")
        return Machine(self._homogeneous(nodes), tuple(notes), assumed)

    def _homogeneous(self, nodes: int) -> Platform:
        from hetsched.platform import Platform  # noqa: PLC0415

        given = {name: number(Faults(), "", getattr(self, name), unit="watts") for name in ASSUMED_W}
        watts = {name: ASSUMED_W[name] if value is None else value for name, value in given.items()}
        assumed = {name: f"{_OPTIONS[name]} (assumed)" for name, value in given.items() if value is None}
        with renamed(_OPTIONS | assumed):
            return Platform.homogeneous(nodes=nodes, idle_w=watts["idle_w"], tdp_w=watts["tdp_w"])

    def _nodes(self, workload: Workload) -> tuple[int, str]:
        """The number of nodes, and its source if that is no option."""
        given = whole(Faults(), "", self.nodes, low=1)
        if given is not None:
            return given, ""
        return header_nodes(_header(workload), procs_per_node=self._procs_per_node, log=self.log.name)

    @property
    def has_table(self) -> bool:
        """Whether a table is given, or a platform that may name one."""
        return self.table is not None or self.platform is not None

    @property
    def _procs_per_node(self) -> int | None:
        return whole(Faults(), "", self.log.procs_per_node, low=1)


def _platform_of(text: str) -> Platform:
    """The machine of a file, or else the one of that name that comes with hetsched."""
    from hetsched.platform import Platform  # noqa: PLC0415 -- polars is slow to import
    from hetsched.platform.shipped import machine_names  # noqa: PLC0415

    is_name = not exists(text)
    if is_name and text in machine_names():
        return Platform.shipped(text)
    hint = did_you_mean(text, machine_names()) if is_name else ""
    with inside(text), changed(lambda fault: fault.hinting(hint) if fault.place == text else fault):
        return Platform.from_toml(text)


def _header(workload: Workload) -> dict[str, Any]:
    """The machine as an SWF log's header gives it; empty for other logs."""
    return workload.report.get("header") or {}


def _names_applications(workload: Workload) -> bool:
    jobs = workload.to_polars()
    return "app" in jobs.columns and jobs["app"].null_count() < len(jobs)


def header_nodes(header: Mapping[str, Any], *, procs_per_node: int | None, log: str) -> tuple[int, str]:
    """The number of nodes, and a sentence on its source."""
    nodes, procs = header.get("max_nodes") or 0, header.get("max_procs") or 0
    if procs_per_node is None:
        if nodes == procs != 0:
            return nodes, f"{many(nodes, 'node')}, as the log's header says (MaxNodes)"
        if procs:
            return procs, f"{many(procs, 'processor')}, each taken as a node (MaxProcs)"
    elif nodes:
        _refuse_contradiction(nodes, procs, procs_per_node)
        return nodes, f"{many(nodes, 'node')}, as the log's header says (MaxNodes)"
    elif procs:
        count = -(-procs // procs_per_node)
        return count, f"{many(count, 'node')}, as the log's header says (MaxProcs / {procs_per_node})"
    expected = f"how many nodes the machine has: {log} does not say it"
    if nodes:
        expected = (
            f"how many processors the machine has, or --procs-per-node P: {log} says MaxNodes {nodes} only, "
            "and its sizes are processors"
        )
    raise ConfigError([("--nodes", "nothing", expected)])


def _processors_hint(header: Mapping[str, Any]) -> str:
    """A hint where processors are taken as nodes though the header has fewer nodes; else empty."""
    nodes, procs = header.get("max_nodes") or 0, header.get("max_procs") or 0
    if not 0 < nodes < procs:
        return ""
    each, rest = divmod(procs, nodes)
    has = f"{nodes:,} nodes of {each} processors: --procs-per-node {each}"
    if rest:
        has = f"{nodes:,} nodes of {procs / nodes:.3g} processors on average: --procs-per-node {each} or {each + 1}"
    return f"the header says {has} schedules whole nodes; idle and TDP watts are per processor as it stands"


def _refuse_contradiction(nodes: int, procs: int, procs_per_node: int) -> None:
    """Raise if nodes of so many processors contradict the header."""
    each, rest = divmod(procs, nodes)
    is_near = nodes * procs_per_node < _FAR * procs and procs < _FAR * nodes * procs_per_node
    if not procs or (is_near if rest else each == procs_per_node):
        return
    found = f"{shown(procs_per_node)}, with MaxNodes {nodes} and MaxProcs {procs} in the log's header"
    fits = f"{each} or {each + 1}" if rest else str(each)
    raise ConfigError(
        [("--procs-per-node", found, f"{fits}, which these two make; --nodes N says the size without them")]
    )

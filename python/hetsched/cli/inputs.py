"""Options of what is simulated: the job log, and the machine that it runs on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, get_args

import hetsched as hs
from hetsched.checks import Faults, many, shown
from hetsched.cli.declare import MACHINE, choice, number, option, whole
from hetsched.cli.job_log import JobLog
from hetsched.cli.options import complete_platform
from hetsched.cli.platforms import platform_of, slurm_files
from hetsched.cli.terminal import inside, noted, renamed
from hetsched.cli.window import WindowOptions
from hetsched.errors import ConfigError
from hetsched.params import ASSUMED_W
from hetsched.platform.facility import MAX_PUE
from hetsched.typing import KnownDraws

if TYPE_CHECKING:
    from hetsched.cli.terminal import Screen


OTHER_DRAWS = "--known-draws table or tdp, or --predictor history, has them not know it"
"""Options that keep decisions from knowing a job's draw before it has run."""


@dataclass(frozen=True)
class MeasuredLog(JobLog):
    """A log whose run may be measured in part."""

    window: WindowOptions = field(default_factory=WindowOptions)


_FAR = 2
"""Factor by which the mean number of processors of different nodes may be off from what most of them have."""

_OPTIONS = {"nodes": "--nodes", "idle_w": "--idle-w", "tdp_w": "--tdp-w", "procs_per_node": "--procs-per-node"}


@dataclass(frozen=True)
class Machine:
    """A platform, and what was assumed to make it."""

    platform: hs.Platform
    notes: tuple[str, ...]
    assumed_w: dict[str, float]


def _cap_w(faults: Faults, option: str, text: str) -> float | None:
    cap_w: float | None = number("watts")(faults, option, text)
    if cap_w is not None and not cap_w > 0:
        faults.add(option, cap_w, "watts above 0, or inf: without a cap")
    return cap_w


_NODES_HELP = "Number of nodes; default: from the log's header."
_IDLE_HELP = f"Draw of an idle node; default: {ASSUMED_W['idle_w']:g}."
_TDP_HELP = f"Draw of a busy node; default: {ASSUMED_W['tdp_w']:g}."
_CAP_HELP = "With --table: take the rows of this power cap, from a table with several."
_TABLE_HELP = "Draw by application and node: .parquet or .csv with app, node, power_w or power_ratio."
_PLATFORM_HELP = (
    "The whole machine: a .toml, slurm.conf, output of scontrol show node,partition; or see hetsched machines."
)
_DRAWS_HELP = (
    "What decisions know of a job's power_w before it runs; table, tdp: nothing, and use busy_w or TDP instead."
)
_PUE_HELP = "Power usage effectiveness: watts at the meter for each watt of the nodes; prices are of those."


@dataclass(frozen=True)
class Inputs:
    """The options of a run's workload and machine."""

    log: MeasuredLog
    nodes: Annotated[int | None, option("--nodes", "N", _NODES_HELP, MACHINE, read=whole(1))] = None
    idle_w: Annotated[float | None, option("--idle-w", "W", _IDLE_HELP, MACHINE, read=number("watts"))] = None
    tdp_w: Annotated[float | None, option("--tdp-w", "W", _TDP_HELP, MACHINE, read=number("watts"))] = None
    platform: Annotated[
        str | None, option("--platform", "F|NAME", _PLATFORM_HELP, MACHINE, complete=complete_platform)
    ] = None
    table: Annotated[str | None, option("--table", "F", _TABLE_HELP, MACHINE)] = None
    cap_w: Annotated[float | None, option("--cap-w", "W", _CAP_HELP, MACHINE, read=_cap_w)] = None
    known_draws: Annotated[str | None, choice("--known-draws", get_args(KnownDraws), _DRAWS_HELP, MACHINE)] = None
    pue: Annotated[
        float | None, option("--pue", "X", _PUE_HELP, MACHINE, read=number("a factor", low=1.0, high=MAX_PUE))
    ] = None

    def check(self, faults: Faults) -> None:
        """Note values that do not fit together, before anything is read."""
        if not faults.has("--idle-w", "--tdp-w") and self.platform is None:
            # On a machine of one node, so that no log of hours is read for a negative draw.
            with noted(faults):
                self._homogeneous(1)
        if self.cap_w is not None and self.table is None:
            faults.add("--cap-w", self.cap_w, "nothing without --table; a platform's file says it as cap_w")
        has_watts = self.platform is not None and not slurm_files(self.platform)
        for name in ("nodes", *(ASSUMED_W if has_watts else ())):
            if self.platform is not None and getattr(self, name) is not None:
                faults.add(_OPTIONS[name], getattr(self, name), "nothing with --platform, whose file says it")

    def read(self, screen: Screen) -> tuple[hs.Workload, Machine]:
        """The jobs and the machine, saying what the log held and what was assumed."""
        files = self._files()
        workload = self.log.read(screen)
        machine, remarks = self._with_files(workload, *files)
        for remark in remarks:
            screen.say(remark)
        return workload, machine

    def machine_of(self, workload: hs.Workload) -> tuple[Machine, list[str]]:
        """The machine for jobs that have been read or made, and what a reader should know of it."""
        return self._with_files(workload, *self._files())

    def _with_files(
        self, workload: hs.Workload, from_file: hs.Platform | None, table: hs.VariationTable | None
    ) -> tuple[Machine, list[str]]:
        machine = self._machine(workload) if from_file is None else Machine(from_file, (), self._assumed_of_file())
        remarks = [*machine.notes]
        if self.log.procs_per_node is None and (hint := _processors_hint(_header(workload))):
            remarks.append(hint)
        if table is not None:
            with renamed({"actual": f"--table {self.table}", "predicted": f"{self.platform}: predicted"}):
                tabled = machine.platform.with_tables(actual=table, predicted=machine.platform.predicted)
            machine = replace(machine, platform=tabled)
        if self.known_draws is not None:
            machine = replace(machine, platform=machine.platform.with_known_draws(self.known_draws))  # type: ignore[arg-type]
        if self.pue is not None:
            machine = replace(machine, platform=machine.platform.with_facility(pue=self.pue))
        if machine.platform.actual is not None and not _names_applications(workload):
            remarks.append("no job names its application, so the table of the nodes' draw changes nothing")
        return machine, remarks

    def _files(self) -> tuple[hs.Platform | None, hs.VariationTable | None]:
        """The platform's and the table's file, read before the log, which may take a while."""
        platform = table = None
        if self.platform is not None:
            platform = platform_of(self.platform, self._watts)
        if self.table is not None:
            with inside(self.table), renamed({f"{self.table}.cap_w": f"{self.table}: --cap-w"}):
                table = hs.read_table(self.table, cap_w=self.cap_w)
        return platform, table

    @property
    def _watts(self) -> dict[str, float]:
        """The watts that are given."""
        return {name: getattr(self, name) for name in ASSUMED_W if getattr(self, name) is not None}

    def _assumed_of_file(self) -> dict[str, float]:
        """Assumed watts, which neither the platform's files nor an option gives; they have been warned of."""
        is_without = self.platform is not None and bool(slurm_files(self.platform))
        return {name: value for name, value in ASSUMED_W.items() if is_without and name not in self._watts}

    def _machine(self, workload: hs.Workload) -> Machine:
        """A machine of equal nodes, as the options and the log's header say."""
        nodes, note = self._nodes(workload)
        assumed = {name: watts for name, watts in ASSUMED_W.items() if name not in self._watts}
        notes = [note] if note else []
        if assumed:
            names = {"idle_w": "idle", "tdp_w": "TDP"}
            watts = " and ".join(f"{names[name]} {value:g} W" for name, value in assumed.items())
            options = " and ".join(_OPTIONS[name] for name in assumed)
            notes.append(f"assumed: {watts} a node; give {options} for the machine's own")
        return Machine(self._homogeneous(nodes), tuple(notes), assumed)

    def _homogeneous(self, nodes: int) -> hs.Platform:
        given = {name: getattr(self, name) for name in ASSUMED_W}
        watts = {name: ASSUMED_W[name] if value is None else value for name, value in given.items()}
        assumed = {name: f"{_OPTIONS[name]} (assumed)" for name, value in given.items() if value is None}
        with renamed(_OPTIONS | assumed):
            return hs.Platform.homogeneous(nodes=nodes, idle_w=watts["idle_w"], tdp_w=watts["tdp_w"])

    def _nodes(self, workload: hs.Workload) -> tuple[int, str]:
        """The number of nodes, and its source if that is no option."""
        if self.nodes is not None:
            return self.nodes, ""
        return header_nodes(_header(workload), procs_per_node=self.log.procs_per_node, log=self.log.name)

    @property
    def has_table(self) -> bool:
        """True if a table is given, or a platform that may name one."""
        return self.table is not None or self.platform is not None


def _header(workload: hs.Workload) -> dict[str, Any]:
    """The machine as an SWF log's header gives it; empty for other logs."""
    return workload.report.get("header") or {}


def _names_applications(workload: hs.Workload) -> bool:
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

"""``hetsched inspect``: what a log says of the machine and the rules that made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import hetsched as hs
from hetsched.checks import Faults
from hetsched.cli.declare import MACHINE, OUTPUT, number, option, whole
from hetsched.cli.job_log import JobLog
from hetsched.cli.options import (
    RUN_FILES,
    check_not_written_over,
    check_output,
    complete_platform,
    folder,
    next_command,
)
from hetsched.cli.platforms import platform_of
from hetsched.cli.terminal import Screen, renamed
from hetsched.params import ASSUMED_W

_NODES_HELP = "Number of nodes; default: from the log's header, else from its use."
_PLATFORM_HELP = "The whole machine from a file, or one that comes with hetsched; see hetsched machines."
_UNTIL_HELP = "Use nothing after this instant of the log's clock."


@dataclass(frozen=True)
class InspectionGiven:
    """Options of an inspection."""

    nodes: Annotated[int | None, option("--nodes", "N", _NODES_HELP, MACHINE, read=whole(1))] = None
    platform: Annotated[
        str | None, option("--platform", "F.toml|NAME", _PLATFORM_HELP, MACHINE, complete=complete_platform)
    ] = None
    until_s: Annotated[float | None, option("--until-s", "S", _UNTIL_HELP, "Inspection", read=number("seconds"))] = None
    out: Annotated[
        str | None,
        option("--out", "DIR", "Write the findings there, and files for hetsched validate.", OUTPUT, read=folder),
    ] = None

    def machine(self) -> hs.Platform | None:
        """The machine that is given, if one is; its draw plays no part."""
        if self.platform is not None:
            return platform_of(self.platform, ASSUMED_W)
        if self.nodes is None:
            return None
        return hs.Platform.homogeneous(self.nodes, idle_w=ASSUMED_W["idle_w"], tdp_w=ASSUMED_W["tdp_w"])


def inspect(screen: Screen, faults: Faults, *, log: JobLog, asked: InspectionGiven) -> None:
    """Say what the observed starts of a log tell of its machine, limits and order, and what they suggest."""
    if asked.platform is not None and asked.nodes is not None:
        faults.add("--nodes", asked.nodes, "nothing with --platform, whose file says it")
    check_not_written_over(faults, asked.out, RUN_FILES, log.trace, asked.platform)
    faults.check()
    check_output(asked.out)
    platform = asked.machine()
    workload = log.read(screen)
    with renamed({"until_s": "--until-s"}):
        found = hs.inspect(workload, platform, until_s=asked.until_s)
    from hetsched.report.inspections import report

    screen.report(report(found))
    if asked.out is None:
        screen.tell("with --out DIR these settings are written as files for hetsched validate")
        screen.give(found.to_dict(), [])
        return
    files = found.write(asked.out)
    screen.tell("to try it:")
    screen.command(next_command("validate", asked.out, has_events=len(found.events) > 0))
    screen.give(found.to_dict(), files)

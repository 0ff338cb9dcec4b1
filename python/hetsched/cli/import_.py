"""``hetsched import``: a log read into hetsched's own table, with an account of what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import hetsched as hs
from hetsched.checks import Faults, exists
from hetsched.cli.declare import OUTPUT, argument, option
from hetsched.cli.job_log import JobLog
from hetsched.cli.options import check_output, file_ending_in
from hetsched.cli.terminal import Screen

_FILE_HELP = "Log to read, in the format that its content shows: of sacct, PBS, Batsim, SWF, CSV, Parquet; - for stdin."
_OUT_HELP = (
    "Write the jobs there: .parquet and .csv keep all; .swf, .swf.gz what the format has. Without it: only look."
)


def _out(faults: Faults, option: str, text: str) -> str:
    from hetsched.workload.writers.registry import WRITERS

    return file_ending_in(WRITERS, faults, option, text)


@dataclass(frozen=True)
class ImportedLog(JobLog):
    """A log that is read once, to be kept."""

    trace: Annotated[str, argument("FILE", _FILE_HELP)]


@dataclass(frozen=True)
class ImportGiven:
    """Options of an import besides those of the log."""

    out: Annotated[str | None, option("--out", "F", _OUT_HELP, OUTPUT, read=_out)] = None


def import_(screen: Screen, faults: Faults, *, log: ImportedLog, asked: ImportGiven) -> None:
    """Read a log of any format, say what became of its rows and columns, and write its jobs for other verbs."""
    out = asked.out
    if out is not None and exists(out) and log.trace != "-" and exists(log.trace) and Path(out).samefile(log.trace):
        faults.add("--out", out, "another file than the log itself")
    faults.check()
    check_output(files=[out])
    from hetsched.report.imports import account, lines

    workload, chosen = log.read_whole()
    part = log.window.sliced(workload)
    found = account(part, chosen, log.reader_options())
    for line in lines(part, found, screen.width, out=out):
        screen.say(line)
    if len(part) < len(workload):
        screen.say(f"{len(part):,} of {len(workload):,} jobs were submitted within --from and --until")
    _write(screen, part, out)
    screen.give(found, [] if out is None else [out])


def _write(screen: Screen, workload: hs.Workload, out: str | None) -> None:
    if out is None:
        screen.say("nothing written; --out trace.parquet keeps the jobs for other verbs")
    else:
        workload.write(out)

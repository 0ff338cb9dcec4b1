"""``hetsched slurm status``: figures of a bridge from its log."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated

from hetsched.checks import Faults, many
from hetsched.cli import options as opt
from hetsched.cli.declare import option
from hetsched.cli.slurm_options import SLURM
from hetsched.cli.terminal import Screen


def status(
    screen: Screen,
    faults: Faults,
    *,
    journal: Annotated[str, option("--journal", "DIR", "The folder of slurm run.", SLURM, read=opt.folder)],
) -> None:
    """Show starts, how many were as decided, and how late, from the log of slurm run."""
    from hetsched.slurm_bridge.log import read_log
    from hetsched.slurm_bridge.status import status_of

    faults.check()
    found = status_of(read_log(journal))
    if found.last_s is not None:
        last = datetime.fromtimestamp(found.last_s, timezone.utc).isoformat(sep=" ", timespec="seconds")
        screen.say(f"last line: {last}")
    screen.say(f"starts: {found.starts:,}, {found.starts_per_min:.2f} a minute")
    screen.say(f"decided before: {found.decided:,}, of these on the nodes decided: {found.as_wished:,}")
    if found.median_lag_s is not None:
        screen.say(f"from a decision to Slurm's start: {found.median_lag_s:.1f} s, median")
    screen.say(f"decisions to release: {found.would:,}")
    screen.say(f"troubles: {many(found.errors, 'line')}" + (f", last: {found.last_error}" if found.last_error else ""))
    screen.give({"status": found.to_dict()})

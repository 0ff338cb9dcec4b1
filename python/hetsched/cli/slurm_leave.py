"""``hetsched slurm leave``: the way out of a bridge."""

from __future__ import annotations

from hetsched.checks import Faults, many
from hetsched.cli.slurm_options import Partition, slurm
from hetsched.cli.terminal import Screen


def leave(screen: Screen, faults: Faults, *, partition: Partition) -> None:
    """Take the gate away, and give every waiting job back to Slurm as if there had been no bridge."""
    from hetsched.slurm_bridge.leave import leave as do_leave

    faults.check()
    had_gate, jobs = do_leave(slurm(), partition)
    screen.say(f"{'the gate is gone' if had_gate else 'there was no gate'}; gave back {many(jobs, 'job')}")
    screen.give({"had_gate": had_gate, "jobs": jobs})

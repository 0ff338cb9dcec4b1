"""``hetsched slurm doctor``: readiness of a cluster for a bridge, a line a check."""

from __future__ import annotations

from dataclasses import asdict

from hetsched.checks import Faults
from hetsched.cli.slurm_options import Partition, slurm
from hetsched.cli.terminal import FAILED, Screen
from hetsched.errors import LiveError


def doctor(screen: Screen, faults: Faults, *, partition: Partition) -> None:
    """Look at a running Slurm, and say in words what will not work."""
    import typer

    from hetsched.slurm_bridge.doctor import Check, examine

    faults.check()
    try:
        checks = examine(slurm(), partition)
    except LiveError as error:
        checks = [Check("Slurm", is_well=False, words=str(error))]
    for check in checks:
        screen.say(check.line)
    screen.give({"checks": [asdict(check) for check in checks]})
    if not all(check.is_well for check in checks):
        raise typer.Exit(FAILED)

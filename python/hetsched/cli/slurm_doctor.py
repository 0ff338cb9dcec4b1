"""``hetsched slurm doctor``: readiness of a cluster for a bridge, a line a check."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from hetsched.checks import Faults
from hetsched.cli.declare import flag
from hetsched.cli.slurm_options import SLURM, Partition, slurm
from hetsched.cli.terminal import FAILED, Screen
from hetsched.errors import LiveError

_TRY_HELP = "Try the rights on a reservation of one licence, and the gate on a held job; both are taken away again."
_JOB_HELP = "With --try, and a job that does nothing is run: how late Slurm starts what is released."


def doctor(
    screen: Screen,
    faults: Faults,
    *,
    partition: Partition,
    tries: Annotated[bool, flag("--try", _TRY_HELP, SLURM)] = False,
    with_job: Annotated[bool, flag("--with-job", _JOB_HELP, SLURM)] = False,
) -> None:
    """Look at a running Slurm, and say in words what will not work."""
    import getpass

    import typer

    from hetsched.slurm_bridge.doctor import Check, examine
    from hetsched.slurm_bridge.facts import read_facts
    from hetsched.slurm_bridge.trials import trials

    faults.check()
    try:
        checks = examine(slurm(), partition)
        if tries or with_job:
            facts = read_facts(slurm(), partition)
            checks += trials(slurm(), facts, partition, user=getpass.getuser(), with_job=with_job)
    except LiveError as error:
        checks = [Check("Slurm", is_well=False, words=str(error))]
    for check in checks:
        screen.say(check.line)
    screen.give({"checks": [asdict(check) for check in checks]})
    if not all(check.is_well for check in checks):
        raise typer.Exit(FAILED)

"""``hetsched slurm sweep``: what a bridge that is gone has left on jobs."""

from __future__ import annotations

from hetsched.checks import Faults, many
from hetsched.cli.slurm_options import Partition, slurm
from hetsched.cli.terminal import Screen


def sweep(screen: Screen, faults: Faults, *, partition: Partition) -> None:
    """Clear wishes and priorities of waiting jobs that a bridge has left, unless one lives; fit for cron."""
    from hetsched.slurm_bridge.leave import sweep as do_sweep

    faults.check()
    jobs = do_sweep(slurm(), partition)
    screen.say("there is a gate, so a bridge lives" if jobs is None else f"cleared {many(jobs, 'job')}")
    screen.give({"is_bridge_alive": jobs is None, "jobs": jobs or 0})

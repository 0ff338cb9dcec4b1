"""The way out: a cluster as it was before there was a bridge."""

from __future__ import annotations

import time
from collections.abc import Callable

from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.gate import gate_end_s, remove_gate, remove_reservation
from hetsched.slurm_bridge.jobs import read_jobs
from hetsched.slurm_bridge.orders import open_words
from hetsched.slurm_bridge.power_cap import NAME as WATTS_CAP
from hetsched.slurm_bridge.standing import BAND, SeenJob


def leave(slurm: Slurm, partition: str) -> tuple[bool, int]:
    """Take gate and cap away and give every waiting job back; gives if there was a gate, and the number of jobs.

    It may be done again at any time, and changes nothing then. Raises CallError and TableError.
    """
    had_gate = remove_gate(slurm)
    remove_reservation(slurm, WATTS_CAP)
    return had_gate, _give_back(slurm, partition, lambda _: True)


def sweep(slurm: Slurm, partition: str, *, real: Callable[[], float] = time.time) -> int | None:
    """Clear what a bridge that is gone has left on jobs that wait: wishes and priorities. None: a bridge lives.

    Raises CallError and TableError.
    """
    end_s = gate_end_s(slurm)
    # One that has ended is shown for some seconds more.
    if end_s is not None and end_s > real():
        return None
    return _give_back(slurm, partition, lambda job: job.priority >= BAND)


def _give_back(slurm: Slurm, partition: str, is_meant: Callable[[SeenJob], bool]) -> int:
    lines, jobs = [], 0
    for job in read_jobs(slurm):
        # A job that its user holds has priority 0, and is not released by us.
        if job.state == "PENDING" and job.partitions == (partition,) and is_meant(job):
            own = open_words(job)
            jobs += bool(own)
            lines += own
    if lines:
        # A job that has started meanwhile is refused, which is as it should be.
        slurm.commands(lines)
    return jobs

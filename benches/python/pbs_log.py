"""An accounting log of PBS to read: three records a job, two of them with everything that PBS Pro says."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

ZERO_S = 1_714_564_800


def log(lines: int, folder: Path) -> Path:
    """A log of so many lines, made once."""
    path = folder / f"pbs-{lines}.log"
    if path.exists():
        return path
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(1)
    part, at = path.with_suffix(".part"), ZERO_S
    with part.open("w") as file:
        for job in range(1, lines // 3 + 1):
            at += int(random.integers(0, 20))
            file.write(records(job, at, random))
    part.rename(path)
    return path


def stamp(at: int) -> str:
    """A stamp two hours ahead of UTC."""
    return time.strftime("%m/%d/%Y %H:%M:%S", time.gmtime(at + 7200))


def records(job: int, at: int, random: np.random.Generator) -> str:
    """A job's submission, start and end."""
    start, length, first = (
        at + int(random.integers(1, 4000)),
        int(random.integers(1, 20_000)),
        int(random.integers(1, 900)),
    )
    nodes = int(random.choice([1, 1, 1, 2, 4, 8]))
    hosts = [f"node{first + place:04d}" for place in range(nodes)]
    said = (
        f'user=user{job % 301} group=staff account="proj {job % 20}" project=_pbs_project_default '
        f"jobname=app{job % 37} queue=workq ctime={at} qtime={at} etime={at} start={start} "
        f"exec_host={'+'.join(f'{one}/0*32' for one in hosts)} "
        f"exec_vnode={'+'.join(f'({one}:ncpus=32:mem=67108864kb)' for one in hosts)} Resource_List.mem={nodes * 64}gb "
        f"Resource_List.mpiprocs={nodes * 32} Resource_List.ncpus={nodes * 32} Resource_List.nodect={nodes} "
        f"Resource_List.place=scatter:excl Resource_List.select={nodes}:ncpus=32:mpiprocs=32:mem=64gb "
        f"Resource_List.walltime={length // 3600 + 1:02d}:00:00"
    )
    used = (
        f"session=1234 end={start + length} Exit_status=0 resources_used.cpupercent=3100 resources_used.cput=10:00:00 "
        f"resources_used.mem=12345kb resources_used.ncpus=32 resources_used.walltime=01:00:00 run_count=1"
    )
    return (
        f"{stamp(at)};Q;{job}.pbs01;queue=workq\n"
        f"{stamp(start)};S;{job}.pbs01;{said} resource_assigned.ncpus={nodes * 32}\n"
        f"{stamp(start + length)};E;{job}.pbs01;{said} {used}\n"
    )

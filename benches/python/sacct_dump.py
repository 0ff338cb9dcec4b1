"""A dump of sacct to read: 22 columns, two rows in three of which are steps."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

COLUMNS = (
    "JobID|JobIDRaw|JobName|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|Suspended|TimelimitRaw|NNodes|"
    "AllocCPUS|ReqMem|ReqTRES|AllocTRES|NodeList|ConsumedEnergyRaw"
)
"""Columns of the dump."""


def dump(lines: int, folder: Path) -> Path:
    """A dump of so many lines, made once."""
    path = folder / f"sacct-{lines}.txt"
    if path.exists():
        return path
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(1)
    part = path.with_suffix(".part")
    submit = 1_714_560_000
    with part.open("w") as file:
        file.write(f"{COLUMNS}\n")
        for job in range(1, lines // 3 + 1):
            submit += int(random.integers(0, 20))
            file.write(rows(job, submit, random))
    part.rename(path)
    return path


def rows(job: int, submit: int, random: np.random.Generator) -> str:
    """A job and two steps."""
    wait, length, first = (int(random.integers(1, high)) for high in (4000, 20_000, 5000))
    nodes = int(random.choice([1, 1, 1, 2, 4, 8]))
    hosts = f"n[{first}-{first + nodes - 1}]" if nodes > 1 else f"n{first}"
    sub, start, end = (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) for at in (submit, submit + wait, submit + wait + length)
    )
    tres = f"cpu={nodes * 64},mem={nodes * 4000}M,node={nodes}"
    run = f"{start}|{end}|{length}|00:00:00"
    step = f"acc{job % 20}|||COMPLETED|{start}|{start}|{run}|"
    return (
        f"{job}|{job}|app{job % 37}|user{job % 301}|acc{job % 20}|batch|normal|COMPLETED|{sub}|{sub}|{run}|"
        f"{length // 60 + 10}|{nodes}|"
        f"{nodes * 64}|{nodes * 4000}M|billing=64,{tres}|billing=64,{tres}|{hosts}|\n"
        f"{job}.batch|{job}.batch|batch||{step}|1|64|||cpu=64,mem=4000M,node=1|n{first}|{length * 250}\n"
        f"{job}.0|{job}.0|app||{step}|{nodes}|{nodes * 64}|||{tres}|{hosts}|{length * nodes * 250}\n"
    )

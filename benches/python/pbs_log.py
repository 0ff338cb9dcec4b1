"""Reading accounting logs of PBS: lines a second on one core, and memory beyond the result.

    python benches/python/pbs_log.py --lines 3000000

A log of three records a job, two of them with everything that PBS Pro says, read in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

import measure

FOLDER = Path(__file__).resolve().parents[2] / ".bench"
ZERO_S = 1_714_564_800

LEAST_LINES_PER_S = 500_000
MOST_MB = 200
"""Targets of a reader: lines a second, and memory beyond the jobs."""


def log(lines: int) -> Path:
    """A log of so many lines, made once."""
    path = FOLDER / f"pbs-{lines}.log"
    if path.exists():
        return path
    FOLDER.mkdir(exist_ok=True)
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


def read(path: str) -> dict[str, float]:
    """CPU seconds, memory and jobs, in this process."""
    measure.pinned()
    import hetsched as hs  # noqa: PLC0415 - after the core is chosen

    hs.read_pbs(b"05/01/2024 12:01:10;E;7;ctime=60 start=70 end=130 Resource_List.nodect=1\n")
    before = measure.peak_bytes()
    since = time.process_time()
    held = hs.read_pbs(path).to_polars()
    cpu_s = time.process_time() - since
    beyond = measure.peak_bytes() - before - held.estimated_size()
    return {"cpu_s": cpu_s, "beyond_mb": beyond / 1e6, "rows": len(held)}


def main() -> int:
    """Prints the rate; 1 if the reader is too slow or holds too much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=3_000_000)
    parser.add_argument("--here", action="store_true", help="read in this process")
    options = parser.parse_args()
    path = log(options.lines)
    if options.here:
        print(json.dumps(read(str(path))))
        return 0
    command = [sys.executable, __file__, "--lines", str(options.lines), "--here"]
    own = json.loads(measure.subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    lines_per_s = options.lines / own["cpu_s"]
    print(f"{own['cpu_s']:.2f} s, {lines_per_s:,.0f} lines/s, {own['beyond_mb']:,.0f} MB beyond {own['rows']:,} jobs")
    return int(lines_per_s < LEAST_LINES_PER_S or own["beyond_mb"] > MOST_MB)


if __name__ == "__main__":
    sys.exit(main())

"""Reading dumps of sacct: lines a second on one core and memory beyond the result, next to polars reading the same CSV.

    python benches/python/sacct_dump.py --lines 3000000

A dump of 22 columns, two rows in three of which are steps. Each side reads in a process of its own.
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
COLUMNS = (
    "JobID|JobIDRaw|JobName|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|Suspended|TimelimitRaw|NNodes|"
    "AllocCPUS|ReqMem|ReqTRES|AllocTRES|NodeList|ConsumedEnergyRaw"
)
"""Columns of the dump."""

LEAST_LINES_PER_S = 500_000
MOST_MB = 200
"""Targets of a reader: lines a second, and memory beyond the jobs."""


def dump(lines: int) -> Path:
    """A dump of so many lines, made once."""
    path = FOLDER / f"sacct-{lines}.txt"
    if path.exists():
        return path
    FOLDER.mkdir(exist_ok=True)
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


def read(side: str, path: str) -> dict[str, float]:
    """CPU seconds, memory and jobs of one side, in this process."""
    measure.pinned()
    import polars as pl  # noqa: PLC0415 - after the core is chosen

    import hetsched as hs  # noqa: PLC0415

    hs.read_sacct(b"JobID|Submit|Elapsed|NNodes\n1|1|00:00:01|1\n")
    before = measure.peak_bytes()
    since = time.process_time()
    if side == "polars":
        held = pl.read_csv(path, separator="|", infer_schema=False, quote_char=None)
    else:
        held = hs.read_sacct(path).to_polars()
    cpu_s = time.process_time() - since
    beyond = measure.peak_bytes() - before - held.estimated_size()
    return {"cpu_s": cpu_s, "beyond_mb": beyond / 1e6, "rows": len(held)}


def main() -> int:
    """Prints both sides and the ratio; 1 if the reader is too slow or holds too much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=3_000_000)
    parser.add_argument("--side", choices=("hetsched", "polars"))
    options = parser.parse_args()
    path = dump(options.lines)
    if options.side:
        print(json.dumps(read(options.side, str(path))))
        return 0
    found = {}
    for side in ("hetsched", "polars"):
        command = [sys.executable, __file__, "--lines", str(options.lines), "--side", side]
        found[side] = json.loads(measure.subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    own, peer = found["hetsched"], found["polars"]
    lines_per_s = options.lines / own["cpu_s"]
    print(
        f"hetsched  {own['cpu_s']:.2f} s, {lines_per_s:,.0f} lines/s, "
        f"{own['beyond_mb']:,.0f} MB beyond {own['rows']:,} jobs"
    )
    print(f"polars    {peer['cpu_s']:.2f} s as text, without any rule; ratio {own['cpu_s'] / peer['cpu_s']:.2f}")
    return int(lines_per_s < LEAST_LINES_PER_S or own["beyond_mb"] > MOST_MB)


if __name__ == "__main__":
    sys.exit(main())

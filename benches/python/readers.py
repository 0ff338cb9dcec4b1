"""Reading logs of batch systems: lines or jobs a second on one core and memory beyond the result, next to polars.

    python benches/python/readers.py [--only sacct|pbs|batsim] [--lines 3000000]

Each side reads in a process of its own. Polars reads the same file as fields of text, or, where they have no separator,
as lines, or as JSON, without any rule of the format: what a reader can at best come near to. Fails if a reader of lines
is too slow or holds too much.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import batsim_jobs
import measure
import pbs_log
import sacct_dump

FOLDER = Path(__file__).resolve().parents[2] / ".bench"
LEAST_LINES_PER_S = 500_000
MOST_MB = 200
"""Targets of readers of lines: lines a second, and memory beyond the jobs."""


@dataclass(frozen=True)
class Reader:
    """A reader: what it is measured on, something tiny to warm it up with, and what polars does with the file."""

    made: Callable[[int, Path], Path]
    unit: str
    tiny: bytes
    polars: dict[str, Any] | None
    """Options of `polars.read_csv`; None: its reader of JSON."""
    has_targets: bool = True


_AS_TEXT = {"infer_schema": False, "quote_char": None}
READERS = {
    "sacct": Reader(
        sacct_dump.dump, "lines", b"JobID|Submit|Elapsed|NNodes\n1|1|00:00:01|1\n", {"separator": "|", **_AS_TEXT}
    ),
    "pbs": Reader(
        pbs_log.log,
        "lines",
        b"05/01/2024 12:01:10;E;7;ctime=60 start=70 end=130 Resource_List.nodect=1\n",
        {"separator": "\x01", "has_header": False, **_AS_TEXT},
    ),
    "batsim": Reader(
        lambda lines, folder: batsim_jobs.workload(lines // 3, folder),
        "jobs",
        b'{"jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "p"}], '
        b'"profiles": {"p": {"type": "delay", "delay": 1}}}',
        None,
        has_targets=False,
    ),
}


def read(name: str, side: str, path: str) -> dict[str, float]:
    """CPU seconds, memory and jobs of one side, in this process."""
    measure.pinned()
    import polars as pl  # noqa: PLC0415 - after the core is chosen

    import hetsched as hs  # noqa: PLC0415

    reader = READERS[name]
    hs.read_jobs(reader.tiny, format=name)
    before = measure.peak_bytes()
    since = time.process_time()
    if side == "hetsched":
        held = hs.read_jobs(path, format=name).to_polars()
    else:
        held = pl.read_json(path) if reader.polars is None else pl.read_csv(path, **reader.polars)
    cpu_s = time.process_time() - since
    beyond = measure.peak_bytes() - before - held.estimated_size()
    return {"cpu_s": cpu_s, "beyond_mb": beyond / 1e6, "rows": len(held)}


def compared(name: str, lines: int) -> bool:
    """Prints both sides and the ratio; true if the reader meets its targets."""
    reader, found = READERS[name], {}
    path = reader.made(lines, FOLDER)
    for side in ("hetsched", "polars"):
        command = [sys.executable, __file__, "--only", name, "--lines", str(lines), "--side", side]
        found[side] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    own, peer = found["hetsched"], found["polars"]
    count = lines if reader.unit == "lines" else own["rows"]
    rate = count / own["cpu_s"]
    print(
        f"{name:7} {path.stat().st_size / 1e6:,.0f} MB: {own['cpu_s']:.2f} s, {rate:,.0f} {reader.unit}/s, "
        f"{own['beyond_mb']:,.0f} MB beyond {own['rows']:,} jobs; polars {peer['cpu_s']:.2f} s, "
        f"ratio {own['cpu_s'] / peer['cpu_s']:.2f}",
        flush=True,
    )
    return not reader.has_targets or (rate >= LEAST_LINES_PER_S and own["beyond_mb"] <= MOST_MB)


def main() -> int:
    """Prints a line a reader; 1 if one misses its targets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(READERS))
    parser.add_argument("--lines", type=int, default=3_000_000)
    parser.add_argument("--side", choices=("hetsched", "polars"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        path = READERS[options.only].made(options.lines, FOLDER)
        print(json.dumps(read(options.only, options.side, str(path))))
        return 0
    names = list(READERS) if options.only is None else [options.only]
    missed = [name for name in names if not compared(name, options.lines)]
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())

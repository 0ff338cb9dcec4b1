"""Rebuilds ``python/hetsched/data/ricc-2010-excerpt.swf.gz`` from the RICC log of the Parallel Workloads Archive.

    python tools/make_ricc_excerpt.py RICC-2010-2.swf.gz [--out python/hetsched/data]

The same log gives the same bytes. The excerpt holds the log's first 600 jobs, and after them, in the order of the log,
40 windows of 600 consecutive jobs each. A window is drawn at a random offset, and taken if

1. it has no job in common with the first 600 or with a window taken before;
2. none of its jobs has more processors than 400 nodes of eight cores;
3. its jobs ask for three times 965 nodes in all. Half of all windows ask for less than a quarter of that: on 965 nodes
   all of their jobs run at once, nothing waits, and there is nothing to see.

Of each line the number, the submit time, the run time and the requested processors are kept; all other fields are -1.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np

JOBS = 600
WINDOWS = 40
CORES = 8
LARGEST_NODES = 400
LEAST_NODES = 3 * 965
SEED = 2010

KEPT = (0, 1, 3, 7)
NAME = "ricc-2010-excerpt.swf.gz"

HEADER = """\
; Excerpt of the RICC log (RIKEN Integrated Cluster of Clusters), RICC-2010-2 of the Parallel Workloads Archive,
; https://www.cs.huji.ac.il/labs/parallel/workload/l_ricc/
; Acknowledge: the workload log from the RICC cluster was graciously provided by Motoyoshi Kurokawa, RIKEN.
; MaxProcs: 8192
; Note: jobs 1 to 600, then 40 windows of 600 consecutive jobs, drawn by tools/make_ricc_excerpt.py
; Note: kept are number, submit time, run time and requested processors; all else is -1
"""


def drawn_windows(nodes: np.ndarray) -> list[int]:
    """First jobs of the windows, ascending."""
    rng, found = np.random.default_rng(SEED), [0]
    while len(found) <= WINDOWS:
        first = int(rng.integers(JOBS, len(nodes) - JOBS + 1))
        own = nodes[first : first + JOBS]
        is_apart = min(abs(first - other) for other in found) >= JOBS
        if is_apart and own.max() <= LARGEST_NODES and own.sum() >= LEAST_NODES:
            found.append(first)
    return sorted(found)


def excerpt(lines: list[str]) -> str:
    """The excerpt of a whole log's lines."""
    rows = [line.split() for line in lines if line.strip() and not line.startswith(";")]
    nodes = np.ceil(np.array([int(row[7]) for row in rows]) / CORES)
    kept = (row for first in drawn_windows(nodes) for row in rows[first : first + JOBS])
    texts = (" ".join(text if place in KEPT else "-1" for place, text in enumerate(row)) for row in kept)
    return HEADER + "".join(f"{text}\n" for text in texts)


def main() -> None:
    """Read the log and write the excerpt."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--out", type=Path, default=Path("python/hetsched/data"))
    given = parser.parse_args()
    with gzip.open(given.log, "rt", encoding="ascii") as log:
        text = excerpt(log.readlines())
    (given.out / NAME).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()

"""Time of 200 settings on two cores against two processes on their own: ``python benches/python/whatif.py``.

The same settings of one trace, numbers of nodes times graces of walltimes, in two ways:

* **apart**: two processes that call ``hs.what_if(..., workers=1)`` with every other number of nodes, begun together;
  done when the later one is. Each makes today's run, too;
* **whatif**: one process that calls ``hs.what_if(..., workers=2)`` with all of them.

Each is measured from outside, from the start of the first process to the end of the last, imports, reading the trace,
checks and intervals included; CPU seconds are those of all processes. The ways take turns; a ratio is taken within a
round, and the median of the rounds' ratios counts. Memory is the most that one process has held.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import hetsched as hs
import measure
import traces

WAYS = ("apart", "whatif")
REACH = 0.9
WORKERS = 2
GRACES_S = [60.0 * grace for grace in range(10)]
AGREE = ("setting", "mean_wait_s", "p95_wait_s_change_low", "mean_wait_s_change_high", "energy_j")


def arguments() -> argparse.Namespace:
    """Options that the user gave."""
    parser = argparse.ArgumentParser(description="Measure settings on two cores beside two processes of theirs.")
    parser.add_argument("--quick", action="store_true", help="a few seconds: whether everything runs and agrees")
    parser.add_argument("--settings", type=int, default=200, metavar="N", help="settings in all, tens of them (200)")
    parser.add_argument("--jobs", type=int, default=60_000, metavar="N", help="jobs of the trace (60,000)")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="rounds; the median counts (3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there, too")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.settings, chosen.jobs, chosen.repeat = 20, 2_000, 1
    return chosen


def rows(trace: str, nodes: int, sizes: list[int], workers: int) -> dict[str, Any]:
    """Does the runs of some numbers of nodes; gives numbers of each row but today's, and the peak of memory."""
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=100.0, tdp_w=300.0)
    settings = {"nodes": sizes, "kill_grace_s": GRACES_S}
    found = hs.what_if(hs.read_swf(trace), platform, "easy", settings, workers=workers)
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return {"rows": found.table.select(AGREE).rows()[1:], "peak_bytes": max(measure.peak_bytes(), children)}


def timed(way: str, trace: traces.Trace, settings: int) -> tuple[float, float, list[Any], int]:
    """Wall and CPU seconds of all runs in a way, their rows in order, and the peak of memory."""
    sizes = [trace.nodes + 2 * place for place in range(1, settings // len(GRACES_S) + 1)]
    parts, workers = ([sizes[::2], sizes[1::2]], 1) if way == "apart" else ([sizes], WORKERS)
    task = {"trace": str(traces.made(trace)), "nodes": trace.nodes, "workers": workers}
    since, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    processes = [
        subprocess.Popen([sys.executable, __file__, json.dumps({**task, "sizes": own})], stdout=subprocess.PIPE)
        for own in parts
    ]
    said = [json.loads(process.communicate()[0] or "null") for process in processes]
    took, after = time.perf_counter() - since, resource.getrusage(resource.RUSAGE_CHILDREN)
    if any(process.returncode for process in processes):
        raise SystemExit(f"{way}: a process failed")
    cpu_s = sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    return took, cpu_s, sorted(row for one in said for row in one["rows"]), max(one["peak_bytes"] for one in said)


def main() -> int:
    options = arguments()
    trace = traces.Trace(options.jobs, 0.8)
    wall: dict[str, list[float]] = {way: [] for way in WAYS}
    cpu: dict[str, list[float]] = {way: [] for way in WAYS}
    peak = dict.fromkeys(WAYS, 0)
    for number in range(options.repeat):
        found = {}
        for way in WAYS[:: 1 if number % 2 == 0 else -1]:
            wall_s, cpu_s, found[way], bytes_held = timed(way, trace, options.settings)
            wall[way].append(wall_s)
            cpu[way].append(cpu_s)
            peak[way] = max(peak[way], bytes_held)
        if found["apart"] != found["whatif"]:
            print("the ways disagree about a row", file=sys.stderr)
            return 1
    ratios = {
        kind: statistics.median(apart / own for apart, own in zip(own_s["apart"], own_s["whatif"], strict=True))
        for kind, own_s in (("wall", wall), ("cpu", cpu))
    }
    print(
        f"{options.settings} settings of {options.jobs:,} jobs on {WORKERS} cores; median of {options.repeat}, "
        f"load average {os.getloadavg()[0]:.1f}"
    )
    for way in WAYS:
        seconds = f"{statistics.median(wall[way]):7.2f} s  {statistics.median(cpu[way]):7.2f} CPU s"
        reach = "" if options.quick else f", reach {REACH:.0%}: {'met' if ratios['wall'] >= REACH else 'missed'}"
        share = f"  {ratios['wall']:.0%} of two apart ({ratios['cpu']:.0%} by CPU){reach}" if way == "whatif" else ""
        print(f"  {way:7} {seconds}  {peak[way] / 2**20:6.0f} MiB{share}")
    if options.json is not None:
        options.json.write_text(
            json.dumps({"wall_s": wall, "cpu_s": cpu, "ratios": ratios, "peak": peak}, indent=2) + "\n"
        )
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        warnings.simplefilter("ignore")
        measure.answer(rows(**json.loads(sys.argv[1])))
    else:
        sys.exit(main())

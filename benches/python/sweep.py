"""Time of a sweep on two cores against two processes on their own: ``python benches/python/sweep.py``.

The same runs, one trace under EASY with nodes drawn by lot and as many seeds as there are runs, in three ways:

* **apart**: two processes, each with every other seed, begun together; done when the later one is;
* **sweep**: one process that calls ``hs.sweep(..., workers=2)``;
* **threads**: one process with two threads that call ``hs.simulate``.

Each is measured from outside, from the start of the first process to the end of the last, imports and reading the trace
included. The ways take turns, so that what else the machine does meets all of them; a ratio is taken within a round,
and the median of the rounds' ratios counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hetsched as hs
import measure
import traces
from hetsched.many.sweep import sweep

WAYS = ("apart", "sweep", "threads")
POLICY = "easy:placement=random"
REACH = 0.9
WORKERS = 2


def arguments() -> argparse.Namespace:
    """Options that the user gave."""
    parser = argparse.ArgumentParser(description="Measure a sweep beside two processes of its runs.")
    parser.add_argument("--quick", action="store_true", help="a few seconds: whether everything runs and agrees")
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="runs in all (200)")
    parser.add_argument("--jobs", type=int, default=60_000, metavar="N", help="jobs of the trace (60,000)")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="rounds; the median counts (3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there, too")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.runs, chosen.jobs, chosen.repeat = 8, 2_000, 1
    return chosen


def inputs(trace: str, nodes: int) -> tuple[hs.Workload, hs.Platform]:
    """Inputs of every run."""
    return hs.read_swf(trace), hs.Platform.homogeneous(nodes=nodes, idle_w=100.0, tdp_w=300.0)


def energies(way: str, trace: str, nodes: int, seeds: list[int]) -> list[float]:
    """Does the runs of some seeds; gives their energies, J."""
    workload, platform = inputs(trace, nodes)
    if way == "sweep":
        return list(sweep(workload, platform, POLICY, seeds=seeds, workers=WORKERS)["energy_j"])

    def energy(seed: int) -> float:
        return hs.simulate(workload, platform, POLICY, seed=seed).summary()["energy_j"]

    if way == "threads":
        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(energy, seeds))
    return [energy(seed) for seed in seeds]


def timed(way: str, trace: traces.Trace, runs: int) -> tuple[float, list[float]]:
    """Seconds that all runs take in a way, and their energies in the order of seeds."""
    parts = [list(range(first, runs, 2)) for first in range(2)] if way == "apart" else [list(range(runs))]
    task = {"way": way, "trace": str(traces.made(trace)), "nodes": trace.nodes}
    since = time.perf_counter()
    processes = [
        subprocess.Popen([sys.executable, __file__, json.dumps({**task, "seeds": seeds})], stdout=subprocess.PIPE)
        for seeds in parts
    ]
    answers = [process.communicate()[0] for process in processes]
    took = time.perf_counter() - since
    if any(process.returncode for process in processes):
        raise SystemExit(f"{way}: a process failed")
    found = {
        seed: energy
        for seeds, said in zip(parts, answers, strict=True)
        for seed, energy in zip(seeds, json.loads(said), strict=True)
    }
    return took, [found[seed] for seed in range(runs)]


def main() -> int:
    options = arguments()
    trace = traces.Trace(options.jobs, 0.8)
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(options.repeat):
        found = {}
        for way in WAYS[number % 3 :] + WAYS[: number % 3]:
            took, found[way] = timed(way, trace, options.runs)
            seconds[way].append(took)
        if not found["apart"] == found["sweep"] == found["threads"]:
            print("the ways disagree about the energy of a run", file=sys.stderr)
            return 1
    ratios = {
        way: statistics.median(apart / own for apart, own in zip(seconds["apart"], seconds[way], strict=True))
        for way in WAYS
    }
    each = statistics.median(seconds["apart"]) * WORKERS / options.runs
    print(
        f"{options.runs} runs of {options.jobs:,} jobs, {each:.3f} s each, on {WORKERS} cores; "
        f"median of {options.repeat}, load average {os.getloadavg()[0]:.1f}"
    )
    for way in WAYS:
        told = (
            ""
            if way != "sweep" or options.quick
            else f"   reach {REACH:.0%}: {'met' if ratios[way] >= REACH else 'missed'}"
        )
        print(f"  {way:8} {statistics.median(seconds[way]):7.2f} s  {ratios[way]:5.0%} of two processes apart{told}")
    if options.json is not None:
        options.json.write_text(json.dumps({"seconds": seconds, "ratios": ratios, "s_a_run": each}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        warnings.simplefilter("ignore")
        measure.answer(energies(**json.loads(sys.argv[1])))
    else:
        sys.exit(main())

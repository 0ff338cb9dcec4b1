"""Savings with hindsight: the starts of a run on cheaper nodes, and starts that are moved, too.

    python benches/python/hindsight.py [--readings overloaded,steady] [--policies hetsched,easy] [--workload 4]
                                       [--seed 1] [--nodes 540] [--jobs 10000] [--only given|moved] [--json FILE]

Per run of a policy, in percent of the energy of its jobs: what the schedules of `hs.hindsight` save, what their bounds
would, and the gap between the two. With starts moved the bound is that of the run's window. Waits and turnarounds of
both stand next to them, as a schedule may save by letting jobs wait. `hs.meter` runs each schedule again; energy that
it does not confirm ends the program with status 1. CPU seconds are those of `hs.hindsight` alone, on one core.

Seeds are those that a preset may be tuned on, 1 to 20; nothing is tuned here.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

import hetsched as hs
import measure
from hetsched.experiments.vahrm import system
from hetsched.workload.generators.cpu_gpu_log import MIXES
from oracle import TUNING_SEEDS, drawn_case
from run import sentence, surroundings
from table import console

READINGS = tuple(system.READINGS)
VARIANTS = {"given": False, "moved": True}
"""Starts of the run, or others."""
CLOSE = 1e-9
"""Relative difference of energies that are the same."""


def case(reading: str, policy: str, variants: list[str], asked: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a variant."""
    platform, workload = drawn_case(reading, asked.workload, asked.seed, nodes=asked.nodes, jobs=asked.jobs)
    result = hs.simulate(workload, platform, policy)
    before = waits(result)
    rows = []
    for variant in variants:
        since = time.process_time()
        found = hs.hindsight(result, starts=VARIANTS[variant])
        cpu_s = time.process_time() - since
        again = hs.meter(workload, platform, found.jobs)
        row = {
            "reading": reading,
            "workload": MIXES[asked.workload],
            "policy": policy,
            "starts": variant,
            "cpu_s": cpu_s,
            "run_j": found.run_energy_j,
            "energy_j": found.energy_j,
            "bound_j": found.bound_j,
            "moving_bound_j": found.moving_bound_j,
            "metered_j": again.summary()["job_energy_j"],
            "jobs": len(found.jobs),
            "left_out_jobs": found.left_out_jobs,
        }
        rows.append(row | {f"{name} before": value for name, value in before.items()} | waits(again))
    return rows


def waits(result: hs.Result) -> dict[str, float]:
    """Hours that jobs take and wait."""
    jobs = result.jobs
    large = jobs.filter(jobs["node_count"] >= system.LARGE_NODES)["wait_s"].to_numpy()
    hours = {
        "turnaround": jobs["turnaround_s"].to_numpy().mean(),
        "wait": jobs["wait_s"].to_numpy().mean(),
        "longest": jobs["wait_s"].to_numpy().max(),
        "large": large.max(initial=0.0),
    }
    return {name: float(value) / 3600.0 for name, value in hours.items()}


def shown(rows: list[dict[str, Any]]) -> Table:
    """The table."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="% of the jobs' energy in the run; hours: run, schedule")
    for name in ("reading", "policy", "starts"):
        table.add_column(name)
    for name in ("CPU s", "saved", "bound", "gap", "bound with moves", "turnaround", "wait", "longest", "large"):
        table.add_column(name, justify="right")
    for row in rows:
        parts = [100.0 * (1.0 - row[name] / row["run_j"]) for name in ("energy_j", "bound_j", "moving_bound_j")]
        gap = 100.0 * (row["energy_j"] - row["bound_j"]) / row["run_j"]
        cells = [f"{row['cpu_s']:.1f}", *(f"{one:.3f}" for one in (parts[0], parts[1], gap, parts[2]))]
        hours = [f"{row[f'{name} before']:.2f}, {row[name]:.2f}" for name in ("turnaround", "wait", "longest", "large")]
        table.add_row(row["reading"], row["policy"], row["starts"], *cells, *hours)
    return table


def _words(text: str) -> list[str]:
    return [one.strip() for one in text.split(",")]


def arguments() -> argparse.Namespace:
    """Options that the user gave."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--readings", type=_words, default=["overloaded", "steady"], help="of the log")
    parser.add_argument("--policies", type=_words, default=["hetsched", "easy"])
    parser.add_argument("--workload", type=int, default=4, choices=range(len(MIXES)), help="number; default 4")
    parser.add_argument("--seed", type=int, default=1, choices=TUNING_SEEDS, help="of machine and jobs; default 1")
    parser.add_argument("--nodes", type=int, default=system.NODES)
    parser.add_argument("--jobs", type=int, default=system.JOBS)
    parser.add_argument("--only", choices=tuple(VARIANTS), help="starts of the run, or moved ones")
    parser.add_argument("--json", type=Path, help="file for all numbers")
    asked = parser.parse_args()
    if unknown := [one for one in asked.readings if one not in READINGS]:
        parser.error(f"--readings {','.join(unknown)}: expected some of {', '.join(READINGS)}")
    return asked


def main() -> int:
    """Print the table; status 1 if an energy is not confirmed."""
    asked = arguments()
    warnings.simplefilter("ignore", hs.errors.RunWarning)
    measure.pinned()
    where = sentence(surroundings())
    variants = [asked.only] if asked.only else list(VARIANTS)
    rows = [
        row for reading in asked.readings for policy in asked.policies for row in case(reading, policy, variants, asked)
    ]
    if asked.json is not None:
        asked.json.write_text(json.dumps({"where": where, "rows": rows}, indent=1), encoding="utf-8")
    out = console()
    out.print(shown(rows))
    out.print(f"{MIXES[asked.workload]}, seed {asked.seed}, {asked.jobs:,} jobs on {asked.nodes} nodes; {where}")
    off = [row for row in rows if abs(row["metered_j"] / row["energy_j"] - 1.0) > CLOSE]
    for row in off:
        out.print(
            f"{row['reading']} {row['policy']} {row['starts']}: "
            f"{row['energy_j']:.6g} J, metered {row['metered_j']:.6g} J, {row['left_out_jobs']} jobs left out"
        )
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())

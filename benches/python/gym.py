"""Decisions a second that an agent gets from its environments: ``python benches/python/gym.py [--quick]``.

An agent that always starts the first job that fits plays windows of 200 jobs on 64 nodes; resets are part of the time.
The agent itself takes one numpy call. Every work is played until its seconds are over, on one core; CPU seconds count.
Speed never fails this program.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

from rich import box
from rich.table import Table

import hetsched as hs
from hetsched.gym import SchedulingVectorEnv
from hetsched.workload.generators import poisson
from table import console

REACH = 20_000
NODES = 64
BUDGET = {"name": "system-budget", "pcr": 0.7}


def works() -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Each work's name, its runs side by side, and its options."""
    for runs in (1, 16, 128):
        yield "one placement", runs, {}
    yield "64 jobs of the queue", 128, {"queue": 64}
    yield "three placements", 128, {"placements": ["lowest-id", "lowest-power", "random"]}
    yield "budget of 70 %", 128, {"power": BUDGET}


def decisions_per_s(envs: SchedulingVectorEnv, seconds: float) -> float:
    """Decisions asked for, made and carried out in a CPU second."""
    _, infos = envs.reset(seed=0)
    decisions, since_s = 0, time.process_time()
    while time.process_time() - since_s < seconds:
        _, _, terminations, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
        decisions += envs.num_envs - int(terminations.sum())
    return decisions / (time.process_time() - since_s)


def main() -> None:
    """Plays all works and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the time")
    seconds = 0.3 if parser.parse_args().quick else 3.0
    workload = poisson(nodes=NODES, jobs=2000, load=0.95, sizes="1:4,4:3,16:2,48:1", walltime_factor=2.0, seed=1)
    platform = hs.Platform.homogeneous(nodes=NODES, idle_w=100, tdp_w=300)
    table = Table("work", "runs", "decisions/s", "reach", box=box.SIMPLE_HEAD)
    for name, runs, options in works():
        envs = SchedulingVectorEnv(workload, platform, num_envs=runs, jobs=200, copy=False, summaries=False, **options)
        table.add_row(name, f"{runs}", f"{decisions_per_s(envs, seconds):,.0f}", f"≥ {REACH:,}")
    console().print(table)


if __name__ == "__main__":
    main()

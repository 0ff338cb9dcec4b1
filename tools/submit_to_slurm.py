"""Submit the workload of the shipped accounting dump to a throwaway Slurm, in real time, and write the dump.

Six users with habits of their own, for an hour and a half: bursts of similar jobs, short ones in the partition `debug`,
arrays, jobs that fail, are cancelled or run into their walltime. Jobs sleep. It needs a cluster with the partitions
`batch` and `debug`, the users, and leave to submit for them (root):

    python tools/submit_to_slurm.py --minutes 90 --out dump.txt
"""

from __future__ import annotations

import argparse
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

COLUMNS = (
    "JobID,JobIDRaw,JobName,User,Account,Partition,QOS,State,Submit,Eligible,Start,End,ElapsedRaw,Suspended,"
    "TimelimitRaw,NNodes,AllocCPUS,ReqCPUS,ReqMem,ReqTRES,AllocTRES,Constraints,NodeList,Priority,Reservation"
)


@dataclass(frozen=True)
class Habit:
    """Habits of one user: jobs a burst, minutes between bursts, nodes, seconds, and walltime over run time."""

    user: str
    app: str
    burst: int
    every_min: float
    nodes: tuple[int, ...]
    median_s: float
    spread: float
    asked: tuple[float, float]


HABITS = (
    Habit("ann", "cfd", 4, 5.0, (4, 8, 16), 120, 0.5, (1.5, 5.0)),
    Habit("bo", "md", 8, 6.0, (2, 4), 90, 0.6, (1.2, 3.0)),
    Habit("cy", "scan", 30, 9.0, (1,), 45, 0.3, (2.0, 4.0)),
    Habit("dora", "train", 3, 7.0, (4, 8), 180, 0.4, (1.1, 2.0)),
    Habit("eli", "post", 6, 4.0, (1, 2), 25, 0.8, (3.0, 12.0)),
    Habit("fay", "test", 3, 2.0, (1, 2), 12, 0.5, (3.0, 8.0)),
)


@dataclass(frozen=True)
class Submission:
    """One call of sbatch, `at_s` seconds after the beginning."""

    at_s: float
    habit: Habit
    nodes: int
    run_s: float
    limit_min: int
    tasks: int = 1
    fails: bool = False
    cancel_after_s: float | None = None

    def command(self) -> list[str]:
        """The call that submits it, as its user."""
        partition = "debug" if self.habit.app == "test" else "batch"
        array = [f"--array=1-{self.tasks}%{max(2, self.tasks // 3)}"] if self.tasks > 1 else []
        options = {
            "uid": self.habit.user,
            "job-name": self.habit.app,
            "partition": partition,
            "nodes": str(self.nodes),
            "time": str(self.limit_min),
            "output": "/dev/null",
            "chdir": "/tmp",
            "wrap": f"sleep {self.run_s:.0f}\nexit {int(self.fails)}\n",
        }
        return ["sbatch", "--parsable", *array, *(f"--{name}={value}" for name, value in options.items())]


def submissions(minutes: float, seed: int) -> list[Submission]:
    """The whole workload, by instant."""
    rng = np.random.default_rng(seed)
    found = []
    for habit in HABITS:
        at = rng.exponential(habit.every_min * 60)
        while at < minutes * 60:
            found += burst(rng, habit, at)
            at += rng.exponential(habit.every_min * 60)
    return sorted(found, key=lambda one: one.at_s)


def burst(rng: np.random.Generator, habit: Habit, at_s: float) -> list[Submission]:
    """Similar jobs, a few seconds apart; scans are arrays."""
    count = int(rng.geometric(1 / habit.burst))
    nodes, median = int(rng.choice(habit.nodes)), habit.median_s * rng.lognormal(0, 0.3)
    if habit.app == "scan":
        run = max(2.0, median)
        return [Submission(at_s, habit, 1, run, limit(rng, habit, run), tasks=count + 1)]
    made = []
    for _ in range(count):
        run = max(2.0, median * rng.lognormal(0, habit.spread))
        cancel = float(rng.exponential(200)) if rng.random() < 0.04 else None
        made.append(
            Submission(at_s, habit, nodes, run, limit(rng, habit, median), 1, bool(rng.random() < 0.04), cancel)
        )
        at_s += float(rng.exponential(4))
    return made


def limit(rng: np.random.Generator, habit: Habit, run_s: float) -> int:
    """A walltime in whole minutes, as users ask for them: by what such jobs usually take."""
    most = 5 if habit.app == "test" else 30
    return int(min(most, np.ceil(run_s * rng.uniform(*habit.asked) / 60)))


def submit(planned: list[Submission]) -> None:
    """Submit and cancel, each at its instant."""
    began, cancels = time.monotonic(), list[tuple[float, str]]()
    for one in planned:
        while (now := time.monotonic() - began) < one.at_s:
            due = [number for at, number in cancels if at <= now]
            cancels = [entry for entry in cancels if entry[0] > now]
            if due:
                subprocess.run(["scancel", *due], check=False)
            time.sleep(min(0.5, one.at_s - now))
        number = subprocess.run(one.command(), check=True, capture_output=True, text=True).stdout.strip()
        if one.cancel_after_s is not None:
            cancels.append((one.at_s + one.cancel_after_s, number))


def main() -> None:
    """Submit everything, wait until all has ended, and write the dump."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    began = time.strftime("%Y-%m-%dT%H:%M:%S")
    submit(submissions(given.minutes, given.seed))
    while subprocess.run(["squeue", "-h"], check=True, capture_output=True, text=True).stdout.strip():
        time.sleep(5)
    command = ["sacct", "-a", "-D", "-X", "-P", "--noconvert", "-S", began, "-o", COLUMNS]
    given.out.write_text(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main()

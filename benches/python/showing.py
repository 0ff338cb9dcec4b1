"""The showing set: what is claimed of the preset, on machines and jobs that nothing was tuned on.

    python benches/python/showing.py [sleep|watts|logs ...] [--data FOLDER] [--json FILE]
    python benches/python/showing.py --rehearse 1,2 [sleep|watts|logs ...]

* *sleep*: nodes numbered by their draw (`instants.py`), nodes that sleep by the part `planned`: all nine workloads,
  the steady trace at two loads and the overloaded reading, spreads of 2, 4 and 8 %.
* *watts*: half the power budget, the price of the watt in the order (`instants.py`), both readings, three spreads.
* *logs*: RICC, Theta and Kestrel (`real_logs.py`) on nodes that are drawn, as in the VAHRM paper, and on nodes that
  differ as those of Marconi100: shares of the bound given the starts of `hetsched` and of EASY, with waits.

This is the only file with the seeds of the showing set, and no other imports it, so that no script that may tune
reads them; a test checks both. It runs at a commit: with changed files it refuses. Each run is written to
`benches/showing-runs.csv`, which is committed with the numbers, and the number of runs so far is printed. After a look
at the numbers, a run that is to show something new needs other seeds. `--rehearse` takes seeds for tuning, 1 to 20,
and writes nothing.

Changes are paired by seed: same machine, same jobs. A change is *shown* where its interval excludes 0 after Holm's
correction over the workloads of its question (twice nine, or nine) at a spread of 4 %; the intervals by workload are
those at the level at which Holm compares them.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich import box
from rich.table import Table
from scipy.special import stdtr, stdtrit

import hetsched as hs
import instants
import measure
import real_logs
from hetsched.analysis import mean_and_half_width
from hetsched.experiments.vahrm import system
from hetsched.platform.devices import TSUBAME3_JOBS_W
from hetsched.workload.generators.cpu_gpu_log import MIXES
from oracle import TUNING_SEEDS, Floats
from run import sentence, surroundings
from table import console

SEEDS = range(1001, 1009)
SPREADS = (0.02, 0.04, 0.08)
NODES, JOBS = 108, 2000
LEVEL = 0.05
ROOT = Path(__file__).parents[2]
RUNS = ROOT / "benches" / "showing-runs.csv"
CHANGES = {
    "energy, %": "energy_j",
    "turnaround, %": "mean_turnaround_s",
    "longest wait of a large job, %": "large_max_wait_s",
}
FAMILIES = {
    "sleep, steady": ("waking, load 0.5", "waking, load 0.85"),
    "sleep, overloaded": ("waking, overloaded",),
    "watts": ("watts, overloaded", "watts, steady"),
}
"""Questions whose workloads are corrected for together."""

Row = dict[str, Any]


def sleep(seeds: list[int]) -> Iterator[Row]:
    """A row a run of nodes that sleep, numbered as they are and by watts."""
    for spread in SPREADS:
        for seed in seeds:
            machines = {
                policy: instants.machine(seed, NODES, spread=spread, is_by_watts=is_by_watts)
                for policy, is_by_watts in ((instants.USUAL, False), ("numbered by draw", True))
            }
            for question, number, workload in _traces(seed):
                at = {"asked": question, "spread": spread, "workload": MIXES[number], "seed": seed}
                for policy, platform in machines.items():
                    result = hs.simulate(workload, platform, "hetsched:sleep=planned")
                    yield at | {"policy": policy} | instants.numbers(result)


def _traces(seed: int) -> Iterator[tuple[str, int, hs.Workload]]:
    for load in instants.LOADS:
        for number in range(len(MIXES)):
            yield f"waking, load {load:g}", number, instants.lasting(load, number, seed, NODES, JOBS)
    for case in system.cases(seed, jobs=JOBS, nodes=NODES, presets=("overloaded",)):
        yield "waking, overloaded", case.number, case.workload


def watts(seeds: list[int]) -> Iterator[Row]:
    """A row a run under half the power budget, without and with the price of the watt."""
    for spread in SPREADS:
        for seed in seeds:
            for number in range(len(MIXES)):
                for question, policy, result in instants.watts(
                    number, seed, NODES, JOBS, spread=spread, factors=(1.0,)
                ):
                    at = {"asked": question, "spread": spread, "workload": MIXES[number], "seed": seed}
                    yield at | {"policy": policy} | instants.numbers(result)


def logs(seeds: list[int], folder: Path) -> Iterator[Row]:
    """A row a run on a log."""
    for log, nodes, draw in _logs(folder):
        for machine in ("drawn", "Marconi100"):
            for seed in seeds:
                workload, platform = draw(machine, seed)
                large = pl.col("node_count") > workload.to_polars()["node_count"].quantile(0.9)
                for policy in ("easy", "hetsched"):
                    result = hs.simulate(workload, platform, policy, seed=seed, kill_at_walltime=False, bound="starts")
                    summary, longest_s = result.summary(), result.jobs.filter(large)["wait_s"].max()
                    at = {"log": log, "nodes": nodes, "machine": machine, "seed": seed, "policy": policy}
                    yield at | _of_log(summary) | {"large_max_wait_s": longest_s}


def _of_log(summary: dict[str, Any]) -> Row:
    keys = (
        "placement_attained_ratio",
        "job_energy_j",
        "mean_turnaround_s",
        "mean_wait_s",
        "max_wait_s",
        "bound_left_out_jobs",
    )
    return {key: summary[key] for key in keys}


Draw = Callable[[str, int], tuple[hs.Workload, hs.Platform]]


def _logs(folder: Path) -> Iterator[tuple[str, int, Draw]]:
    """A log, its nodes, and from a machine and a seed to jobs and nodes."""
    kernels = sorted(TSUBAME3_JOBS_W, key=lambda app: TSUBAME3_JOBS_W[app][1])
    for key, (name, file, nodes) in real_logs.LOGS.items():
        jobs = real_logs.first_days(hs.read_swf(folder / "swf" / file), key)
        yield name, nodes, _by_user(jobs, nodes, kernels)
    whole = real_logs.kestrel_log()
    of_kernels = real_logs.by_draw(whole, kernels).to_polars().drop("power_w")

    def draw(machine: str, seed: int) -> tuple[hs.Workload, hs.Platform]:
        if machine == "Marconi100":
            return real_logs.kestrel(quick=False).draw(seed)
        return hs.Workload.from_polars(of_kernels), system.drawn_machine(seed, nodes=real_logs.KESTREL_NODES).ideal

    yield "Kestrel", real_logs.KESTREL_NODES, draw


def _by_user(jobs: hs.Workload, nodes: int, kernels: list[str]) -> Draw:
    """Jobs of a log that names no applications, each user's of a drawn one."""

    def draw(machine: str, seed: int) -> tuple[hs.Workload, hs.Platform]:
        workload = real_logs.by_user(jobs, kernels, seed)
        if machine == "Marconi100":
            return workload, real_logs.of_marconi(kernels, nodes=nodes, seed=seed)
        return workload, system.drawn_machine(seed, nodes=nodes).ideal

    return draw


@dataclass(frozen=True)
class Shown:
    """Mean of paired differences, half its interval at Holm's level, and whether it excludes 0."""

    mean: float
    half: float
    is_shown: bool

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ± {self.half:.2f}{' *' if self.is_shown else ''}"


def holm(differences: Floats, level: float = LEVEL) -> list[Shown]:
    """Intervals after Holm's correction (Scandinavian Journal of Statistics 6, 1979), a row of differences a claim.

    The smallest p of m is held against level / m, the next against level / (m - 1), and from the first that is above on
    nothing is shown.
    """
    count, draws = differences.shape
    mean = differences.mean(axis=1)
    error = differences.std(axis=1, ddof=1) / np.sqrt(draws)
    t = np.divide(np.abs(mean), error, out=np.where(mean == 0.0, 0.0, np.inf), where=error > 0)
    p = 2.0 * stdtr(draws - 1, -t)
    found: dict[int, Shown] = {}
    is_shown = True
    for rank, one in enumerate(np.argsort(p, kind="stable").tolist()):
        own = level / (count - rank)
        is_shown = is_shown and bool(p[one] < own)
        found[one] = Shown(float(mean[one]), float(stdtrit(draws - 1, 1.0 - own / 2.0) * error[one]), is_shown)
    return [found[one] for one in range(count)]


def changes(rows: list[Row], question: str, spread: float, key: str) -> Floats:
    """Change against the preset as it is, percent: shape (workloads, seeds)."""
    own = [row for row in rows if (row["asked"], row["spread"]) == (question, spread)]
    base = {(row["workload"], row["seed"]): row[key] for row in own if row["policy"] == instants.USUAL}
    other = {(row["workload"], row["seed"]): row[key] for row in own if row["policy"] != instants.USUAL}
    seeds = sorted({seed for _, seed in base})
    pairs = [[(base[mix, seed], other[mix, seed]) for seed in seeds] for mix in MIXES]
    before, after = np.moveaxis(np.array(pairs, dtype=np.float64), -1, 0)
    return np.asarray(100.0 * np.divide(after - before, before, out=np.zeros_like(before), where=before > 0))


def by_spread(rows: list[Row]) -> Table:
    """Means over workloads, intervals over seeds."""
    table = _table("change against the preset as it is, means over nine workloads, 95 % intervals over seeds")
    for name in ("price of", "spread, %"):
        table.add_column(name)
    for name in CHANGES:
        table.add_column(name, justify="right")
    for question, spread in dict.fromkeys((row["asked"], row["spread"]) for row in rows):
        means = [changes(rows, question, spread, key).mean(axis=0) for key in CHANGES.values()]
        table.add_row(question, f"{100 * spread:g}", *(_interval(own) for own in means))
    return table


def by_workload(rows: list[Row], spread: float = 0.04) -> tuple[Table, list[str]]:
    """Intervals after Holm's correction by workload, and how many are shown."""
    table = _table(f"by workload, spread {100 * spread:g} %, Holm's intervals; * excludes 0")
    for name in ("price of", "workload", *CHANGES):
        table.add_column(name)
    counts = []
    for family, questions in FAMILIES.items():
        if questions[0] not in {row["asked"] for row in rows}:
            continue
        found = {
            name: holm(np.concatenate([changes(rows, one, spread, key) for one in questions]))
            for name, key in CHANGES.items()
        }
        for place, (question, mix) in enumerate((one, mix) for one in questions for mix in MIXES):
            table.add_row(question, mix, *(str(own[place]) for own in found.values()))
        for name, own in found.items():
            less, more = (sum(one.is_shown and one.mean * sign > 0 for one in own) for sign in (-1, 1))
            counts.append(f"{family}: {name.removesuffix(', %')}: less shown for {less} of {len(own)}, more for {more}")
    return table, counts


def by_log(rows: list[Row]) -> Table:
    """Shares and waits of the preset and of EASY."""
    table = _table("logs: means over seeds, 95 % intervals; hours: easy, hetsched")
    for name in ("log", "nodes", "share of the bound given the starts, %: easy", "hetsched", "job energy saved, %"):
        table.add_column(name)
    for name in ("turnaround, %", "mean wait, h", "longest wait, h", "longest of a large job, h", "left out"):
        table.add_column(name, justify="right")
    for log, machine in dict.fromkeys((row["log"], row["machine"]) for row in rows):
        both = [
            [row for row in rows if (row["log"], row["machine"], row["policy"]) == (log, machine, policy)]
            for policy in ("easy", "hetsched")
        ]
        share = [_interval(100.0 * _column(own, "placement_attained_ratio"), sign="") for own in both]
        change = [
            100.0 * (_column(both[1], key) / _column(both[0], key) - 1.0)
            for key in ("job_energy_j", "mean_turnaround_s")
        ]
        hours = [
            ", ".join(f"{_column(own, key).mean() / 3600.0:.2f}" for own in both)
            for key in ("mean_wait_s", "max_wait_s", "large_max_wait_s")
        ]
        left_out = f"{max(row['bound_left_out_jobs'] for own in both for row in own)}"
        table.add_row(
            log, machine, *share, _interval(-change[0], sign=""), _interval(change[1], digits=1), *hours, left_out
        )
    return table


def _column(rows: list[Row], key: str) -> Floats:
    return np.array([row[key] for row in rows], dtype=np.float64)


def _table(title: str) -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")


def _interval(values: Floats, *, digits: int = 2, sign: str = "+") -> str:
    mean, half = mean_and_half_width(values)
    text = f"{mean:{sign}.{digits}f}"
    return text if half is None else f"{text} ± {half:.{digits}f}"


def commit() -> str:
    """The commit under the work tree; a fault where files differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, check=True, text=True).stdout

    changed = git("status", "--porcelain", "--", ".", f":!{RUNS.relative_to(ROOT)}").splitlines()
    if changed:
        raise SystemExit(f"showing.py: {len(changed)} changed files, {changed[0].strip()} first: expected a commit")
    return git("rev-parse", "--short=10", "HEAD").strip()


def runs_before(part: str) -> int:
    """Number of times that a part has been run, by the list of runs."""
    with RUNS.open(encoding="utf-8", newline="") as lines:
        return sum(row["part"] == part for row in csv.DictReader(lines))


def write_down(part: str, name: str, seeds: list[int]) -> None:
    """A run in the list of runs."""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    with RUNS.open("a", encoding="utf-8", newline="") as lines:
        csv.writer(lines, lineterminator="\n").writerow([part, name, today, f"{seeds[0]} to {seeds[-1]}", ""])


def _seeds(text: str) -> list[int]:
    seeds = [int(one) for one in text.split(",")]
    if not set(seeds) <= set(TUNING_SEEDS) or len(set(seeds)) < 2:
        raise argparse.ArgumentTypeError(f"{text}: expected two or more of 1 to {TUNING_SEEDS[-1]}")
    return seeds


PARTS = ("sleep", "watts", "logs")


def arguments() -> argparse.Namespace:
    """Options that the user gave."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default all")
    parser.add_argument("--data", type=Path, default=real_logs.FOLDER, help="folder of the logs, in `swf`")
    parser.add_argument("--rehearse", type=_seeds, metavar="SEEDS", help="seeds for tuning in place of the set's")
    parser.add_argument("--json", type=Path, help="file for all numbers")
    asked = parser.parse_args()
    asked.parts = asked.parts or list(PARTS)
    if unknown := sorted(set(asked.parts) - set(PARTS)):
        parser.error(f"{unknown[0]}: expected some of {', '.join(PARTS)}")
    if "logs" in asked.parts and not (asked.data / "swf").is_dir():
        parser.error(f"--data {asked.data}: no folder swf, where RICC and Theta would be")
    return asked


def main() -> int:
    """Run the parts, print their tables, and write the runs down."""
    asked = arguments()
    warnings.simplefilter("ignore", hs.errors.RunWarning)
    out, seeds = console(), asked.rehearse or list(SEEDS)
    name = "rehearsal" if asked.rehearse else commit()
    measure.pinned()
    found: dict[str, list[Row]] = {}
    for part in asked.parts:
        since = time.process_time()
        where = sentence(surroundings())
        before = runs_before(part)
        if not asked.rehearse:
            # Before the numbers are there: a run that is stopped has been looked at, too.
            write_down(part, name, seeds)
        runs = {"sleep": sleep, "watts": watts, "logs": partial(logs, folder=asked.data)}[part]
        rows = found[part] = list(runs(seeds))
        if part == "logs":
            out.print(by_log(rows))
        else:
            table, counts = by_workload(rows)
            out.print(by_spread(rows), table, *counts, sep="\n")
        which = f"seeds {','.join(map(str, seeds))}"
        times = "rehearsal, not counted" if asked.rehearse else f"run {before + 1} of this part"
        out.print(f"{part}: commit {name}, {which}, {times}, {time.process_time() - since:.0f} CPU s; {where}\n")
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The preset `hetsched` on real logs and measured variation, against EASY, CGVA-FCFS-B and VAHRM.

    python benches/python/real_logs.py [FOLDER] [--only ricc|theta|kestrel] [--draws N] [--quick]

FOLDER holds the logs and measurements, each in a folder of its own (``swf``, ``gpu-variability-longhorn``); the part of
Kestrel's log and the nodes of Marconi100 come with hetsched.

Nothing here was used to tune the preset. Nodes are measured ones drawn with replacement; which application a user of
RICC or Theta runs, which the logs do not say, is drawn too: each user runs one of the two that were measured together.
Kestrel's jobs bring measured watts; they fall into four classes by them, as if an application's draw were known.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich import box
from rich.table import Table

import hetsched as hs
from hetsched.analysis import mean_and_half_width
from hetsched.chance import stream
from hetsched.platform import Measurements, resample_table
from table import console

FOLDER = Path(__file__).parents[2].parent / "shared" / "data"
POLICIES = ("easy", "cgva-fcfs-b", "vahrm", "hetsched")
BASELINE = "easy"
DAY_S = 86_400.0
CLASSES = 4
GPU_IDLE_W, GPU_TDP_W = 40.0, 300.0
IDLE_W, TDP_W, BUSY_W = 250.0, 785.0, 654.0
"""Of Kestrel's nodes, as ``hetsched demo`` assumes them."""

LOGS = {"ricc": ("RICC", "RICC-2010-2.swf.gz", 8192), "theta": ("Theta", "Theta-2023-feb-dec.swf.gz", 4360)}
"""Name, file and nodes."""
LONGEST = {"ricc": 45.0, "theta": 1e9}
"""Days of a log that are run, from its first submission on."""
KESTREL_NODES = 1024

METRICS = {
    "placement": "placement saved (%)",
    "share": "of attainable (%)",
    "turnaround": "turnaround (%)",
    "longest": "longest wait of a large job (h)",
}

Draw = Callable[[int], tuple[hs.Workload, hs.Platform]]


@dataclass(frozen=True)
class Case:
    """A log on a machine.

    Parameters
    ----------
    name
        Of both.
    part
        What of the log is run.
    draw
        From a seed to jobs and nodes.
    """

    name: str
    part: str
    draw: Draw


def longhorn(folder: Path, *apps: str) -> hs.VariationTable:
    """Watts and times of the GPUs of Longhorn that ran both applications."""
    names = [folder / "gpu-variability-longhorn" / f"{app}-longhorn-agg.csv.gz" for app in apps]
    frame = pl.concat(
        [pl.read_csv(name, infer_schema_length=None).select("exp", "uuid", "pwr", "perf") for name in names]
    )
    ran = frame.group_by("uuid").agg(pl.col("exp").n_unique()).filter(pl.col("exp") == len(apps))["uuid"]
    both = frame.filter(pl.col("uuid").is_in(ran.implode()))
    return Measurements(both, app="exp", node="uuid", power_w="pwr", time_s="perf").to_table()


def by_user(jobs: hs.Workload, apps: Sequence[str], seed: int) -> hs.Workload:
    """A log that names no applications: which of them each user runs is drawn."""
    frame = jobs.to_polars().drop("app")
    users = frame["user"].fill_null("?").rank("dense").to_numpy() - 1
    of_user = stream(seed, "applications of users").integers(0, len(apps), int(users.max()) + 1)
    return hs.Workload.from_polars(frame.with_columns(pl.Series("app", np.array(apps)[of_user[users]])))


def on_gpus(jobs: hs.Workload, table: hs.VariationTable, *, nodes: int) -> Draw:
    """A log that names no applications on GPUs: nodes are drawn, and which of the applications each user runs."""

    def draw(seed: int) -> tuple[hs.Workload, hs.Platform]:
        drawn = resample_table(table, nodes=nodes, seed=seed).table
        platform = hs.Platform.homogeneous(nodes=nodes, idle_w=GPU_IDLE_W, tdp_w=GPU_TDP_W, actual=drawn)
        return by_user(jobs, table.apps, seed), platform

    return draw


def kestrel_log() -> pl.DataFrame:
    """Jobs of ``hetsched demo``, with measured watts."""
    return hs.read_parquet(str(files("hetsched") / "data" / "kestrel-2024-09.parquet")).to_polars()


def by_draw(frame: pl.DataFrame, apps: Sequence[str]) -> hs.Workload:
    """Jobs with measured watts in as many classes of equal size as there are applications, the least draw first."""
    power_w = frame["power_w"].fill_null(BUSY_W).to_numpy()
    known_w = frame["power_w"].drop_nulls().to_numpy()
    number = np.searchsorted(np.quantile(known_w, np.arange(1, len(apps)) / len(apps)), power_w)
    return hs.Workload.from_polars(frame.with_columns(pl.Series("app", np.array(apps)[number])))


def of_marconi(apps: Sequence[str], *, nodes: int, seed: int) -> hs.Platform:
    """Nodes that differ as those of Marconi100 do, by one factor each."""
    measured = pl.read_csv(str(files("hetsched") / "data" / "m100-node-ratio.csv"))["power_ratio"].to_numpy()
    ratio = stream(seed, "nodes").choice(measured, size=nodes)
    table = hs.VariationTable(apps, power_ratio=np.tile(ratio, (len(apps), 1)))
    return hs.Platform.homogeneous(nodes=nodes, idle_w=IDLE_W, tdp_w=TDP_W, busy_w=BUSY_W, actual=table)


def kestrel(*, quick: bool) -> Case:
    """The log of ``hetsched demo``, its jobs in four classes by their measured draw."""
    frame = kestrel_log()
    apps = [f"class-{place}" for place in range(CLASSES)]
    jobs = by_draw(frame.head(4000) if quick else frame, apps)

    def draw(seed: int) -> tuple[hs.Workload, hs.Platform]:
        return jobs, of_marconi(apps, nodes=KESTREL_NODES, seed=seed)

    return Case("Kestrel, Marconi100 nodes", f"{len(jobs):,} jobs, four days", draw)


def cases(folder: Path, *, only: str = "", quick: bool = False) -> Iterator[Case]:
    """The logs, each on the machines that were measured.

    Parameters
    ----------
    folder
        Of logs and measurements.
    only
        Which log; empty: all.
    quick
        Whether to run the first 4,000 jobs of each.
    """
    tables = {"training GPUs": ("resnet", "bert"), "kernel GPUs": ("sgemm", "pagerank")}
    for key, (name, file, nodes) in LOGS.items():
        if only in ("", key):
            whole = hs.read_swf(folder / "swf" / file)
            jobs = whole.head(4000) if quick else first_days(whole, key)
            days = (jobs.to_polars()["submit_s"].max() - jobs.to_polars()["submit_s"].min()) / DAY_S  # type: ignore[operator]
            for machine, apps in tables.items():
                draw = on_gpus(jobs, longhorn(folder, *apps), nodes=nodes)
                yield Case(f"{name}, {machine}", f"{len(jobs):,} of {len(whole):,} jobs, {days:.0f} days", draw)
    if only in ("", "kestrel"):
        yield kestrel(quick=quick)


def first_days(whole: hs.Workload, key: str) -> hs.Workload:
    """The part of a log that is run."""
    return whole.filter(pl.col("submit_s") < LONGEST[key] * DAY_S)


def compared(case: Case, seed: int) -> dict[str, Mapping[str, float]]:
    """Every policy on one draw: what `METRICS` names, relative to EASY's run but for the waits.

    Parameters
    ----------
    case
        The log and the machine.
    seed
        Of the draw.
    """
    workload, platform = case.draw(seed)
    sizes = workload.to_polars()["node_count"]
    large = pl.col("node_count") > sizes.quantile(0.9)
    runs: dict[str, dict[str, Any]] = {}
    for policy in POLICIES:
        # Nodes are slower than nominal: nobody is cut off for being placed on one.
        result = hs.simulate(workload, platform, policy, seed=seed, kill_at_walltime=False, bound=policy == BASELINE)
        runs[policy] = result.summary() | {"longest": result.jobs.filter(large)["wait_s"].max()}
    base = runs[BASELINE]
    room_j = base["job_energy_j"] - base["energy_bound_j"]
    found: dict[str, Mapping[str, float]] = {}
    for policy, run in runs.items():
        saved_j = base["job_energy_j"] - run["job_energy_j"]
        found[policy] = {
            "placement": 100.0 * saved_j / base["job_energy_j"],
            "share": 100.0 * saved_j / room_j,
            "turnaround": 100.0 * (run["mean_turnaround_s"] / base["mean_turnaround_s"] - 1.0),
            "longest": run["longest"] / 3600.0,
            "load": run["offered_load_ratio"],
            "used": 100.0 * run["utilization_ratio"],
            "wait_h": run["mean_wait_s"] / 3600.0,
        }
    return found


def shown(case: Case, draws: int) -> Table:
    """The table of a case: means over draws with 95 % intervals."""
    found = [compared(case, seed) for seed in range(draws)]
    base = found[0][BASELINE]
    title = (
        f"{case.name}: {case.part}, load {base['load']:.2f}, {base['used']:.0f} % in use, wait {base['wait_h']:.1f} h"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.add_column("policy")
    for text in METRICS.values():
        table.add_column(text, justify="right")
    for policy in POLICIES:
        table.add_row(policy, *(_cell([one[policy][metric] for one in found]) for metric in METRICS))
    return table


def _cell(values: list[float]) -> str:
    mean, half_width = mean_and_half_width(values)
    return f"{mean:.2f}" if half_width is None else f"{mean:.2f} ± {half_width:.2f}"


def main() -> int:
    """Print a table a log and machine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="of logs and measurements")
    parser.add_argument("--only", default="", choices=("ricc", "theta", "kestrel"))
    parser.add_argument("--draws", type=int, default=3, help="of nodes and applications, for the intervals")
    parser.add_argument("--quick", action="store_true", help="the first 4,000 jobs of each log, two draws")
    asked = parser.parse_args()
    missing = [name for name in ("swf", "gpu-variability-longhorn") if not (asked.folder / name).is_dir()]
    if missing and asked.only != "kestrel":
        sys.exit(f"{asked.folder}: no folder {' or '.join(missing)}, where the logs and measurements would be")
    warnings.simplefilter("ignore", hs.errors.RunWarning)
    for case in cases(asked.folder, only=asked.only, quick=asked.quick):
        console().print(shown(case, 2 if asked.quick else asked.draws))
    return 0


if __name__ == "__main__":
    sys.exit(main())

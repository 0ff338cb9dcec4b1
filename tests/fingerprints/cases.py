"""Runs whose schedules and energies are known to the bit, and what is taken of each.

A case is a log, a policy and a variant of the machine. Its fingerprint is two short digests: of the schedule (start,
end, state and nodes of every job) and of the energy (of jobs and nodes, and the timeline). This file as a program
writes the table again; do that only after a change that is meant to change schedules, and say in the changelog which.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import hetsched as hs
from hetsched.policy import parse_policy

TABLE = Path(__file__).with_name("fingerprints.json")
SWF = Path(__file__).parents[2].parent / "shared" / "data" / "swf"

JOBS = 700
LOAD = 1.2
APPS = ("heat", "flow", "sort", "tree")

# Log and number of nodes; jobs that are larger are left out. Jobs come so close together that queues are deep.
LOGS = {
    "CEA-Curie-2011-2.1-cln.swf.gz": 512,
    "CTC-SP2-1996-3.1-cln.swf.gz": 338,
    "KTH-SP2-1996-2.1-cln.swf.gz": 100,
    "LLNL-Thunder-2007-1.1-cln.swf.gz": 256,
    "METACENTRUM-2009-2.swf.gz": 60,
    "OSC-Clust-2000-3.1-cln.swf.gz": 32,
    "RICC-2010-2.swf.gz": 128,
    "SDSC-SP2-1998-4.2-cln.swf.gz": 128,
    "Theta-2023-feb-dec.swf.gz": 1024,
    "lublin_256.swf.gz": 256,
}
DRAWN = {"drawn-small": 12, "drawn-bursts": 48}
POLICIES = (
    # The preset nqsv plans every job of a deep queue: its twins and worked examples hold it. So do those of slurm.
    *(name for name in hs.presets()["name"] if name not in ("replay", "nqsv", "slurm")),
    "easy:depth=3",
    "easy:order=wfp3",
    "easy:order=smallest-area:placement=best-rank",
    "sjf:backfill=first-fit",
    "conservative:placement=lowest-power",
    "coa:interval_s=1800:backfill=reservations",
    "swa:on_miss=wait:application_aware=true:backfill=first-fit",
    "hetsched:patience_s=3600:depth=unbounded",
    "vahrm:first_run=true:starvation_limit_s=36000",
)


@dataclass(frozen=True)
class Variant:
    """A machine, and how the run on it goes."""

    name: str
    table: bool = True
    slowed: bool = False
    measured: bool = False
    slots: int = 1
    pcr: float | None = None
    seed: int = 0
    options: tuple[tuple[str, Any], ...] = ()


VARIANTS = (
    Variant("table"),
    Variant("table-seed-1", seed=1),
    Variant("measured", table=False, measured=True),
    Variant("slowed-kill-off", slowed=True, options=(("kill_at_walltime", False),)),
    Variant("budget", pcr=0.7),
    Variant("budget-measured", table=False, measured=True, pcr=0.75),
    Variant("shared", slots=4),
    Variant("until", slowed=True, options=(("until_s", 2e5),)),
)


@dataclass(frozen=True)
class Case:
    """One run."""

    log: str
    policy: str
    variant: Variant

    @property
    def name(self) -> str:
        return f"{self.log.removesuffix('.swf.gz')} | {self.policy} | {self.variant.name}"

    def fingerprint(self) -> str:
        """The digests, or why there is no run."""
        try:
            return fingerprint(self.run())
        except hs.HetschedError as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0][:80]}"

    def run(self) -> hs.Result:
        policy = parse_policy(self.policy)
        if self.variant.pcr is not None:
            parts = {**policy.to_dict(), "power": {"name": "system-budget", "pcr": self.variant.pcr}}
            policy = hs.Policy.from_dict(parts)
        workload, platform = workload_of(self.log, self.variant), platform_of(self.log, self.variant)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return hs.simulate(workload, platform, policy, seed=self.variant.seed, **dict(self.variant.options))


def cases(log: str) -> Iterator[Case]:
    """All runs on a log: every policy on every variant; another seed only where chance plays."""
    by_chance = {name for name in POLICIES if _uses_chance(name)}
    for policy in POLICIES:
        for variant in VARIANTS:
            if variant.seed == 0 or policy in by_chance:
                yield Case(log, policy, variant)


def _uses_chance(policy: str) -> bool:
    return parse_policy(policy).uses_chance


def fingerprint(result: hs.Result) -> str:
    """Digest of the schedule, digest of the energy."""
    jobs = result.jobs
    times = [_micros(jobs[name]) for name in ("start_s", "end_s")]
    schedule = [*times, *_lists(jobs["nodes"]), "\n".join(jobs["state"].to_list()).encode()]
    timeline = [result.timeline[name].cast(pl.Float64).to_numpy() for name in TIMELINE]
    energy = [jobs["energy_j"].fill_null(-1.0).to_numpy(), result.nodes["energy_j"].to_numpy(), *timeline]
    return f"{_digest(schedule)} {_digest(energy)}"


TIMELINE = ("time_s", "power_w", "busy_nodes", "idle_nodes", "queued_jobs", "running_jobs")


def _micros(seconds: pl.Series) -> np.ndarray:
    return (seconds * 1e6).round().cast(pl.Int64).fill_null(-(2**62)).to_numpy()


def _lists(nodes: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    lengths = nodes.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    return lengths, nodes.drop_nulls().explode().drop_nulls().cast(pl.Int64).to_numpy()


def _digest(parts: list[Any]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).tobytes())
        digest.update(b"|")
    return digest.hexdigest()[:16]


@cache
def workload_of(log: str, variant: Variant) -> hs.Workload:
    jobs = _jobs(log)
    rng = np.random.default_rng(11)
    count = len(jobs)
    apps = rng.choice(APPS, count).tolist()
    watts = np.where(rng.random(count) < 0.8, rng.uniform(120.0, 380.0, count), 0.0)
    slots = rng.integers(1, 5, count)
    jobs = jobs.with_columns(device=pl.Series(np.where(rng.random(count) < 0.7, "cpu", "gpu")))
    users = np.random.default_rng(13).choice(["ann", "bo", "cy"], count, p=[0.6, 0.3, 0.1])
    jobs = jobs.with_columns(user=pl.Series(users.tolist()))
    if variant.table:
        jobs = jobs.with_columns(app=pl.Series(apps))
    if variant.measured:
        jobs = jobs.with_columns(power_w=pl.Series(watts))
    if variant.slots > 1:
        jobs = jobs.with_columns(slots=pl.Series(slots))
    return hs.Workload.from_polars(jobs)


@cache
def platform_of(log: str, variant: Variant) -> hs.Platform:
    nodes = {**LOGS, **DRAWN}[log]
    rng = np.random.default_rng(12)
    idle_w = np.round(rng.uniform(80.0, 120.0, nodes), 1)
    watts, times = rng.uniform(150.0, 400.0, (len(APPS), nodes)), rng.uniform(0.9, 1.3, (len(APPS), nodes))
    table = hs.VariationTable(APPS, power_w=watts, time_ratio=times if variant.slowed else None)
    return hs.Platform.homogeneous(
        nodes=nodes,
        idle_w=idle_w,
        tdp_w=400.0,
        slots=variant.slots,
        exclusive=variant.slots == 1,
        actual=table if variant.table else None,
    )


@cache
def _jobs(log: str) -> pl.DataFrame:
    nodes = {**LOGS, **DRAWN}[log]
    jobs = _drawn(log, nodes) if log in DRAWN else _read(log, nodes)
    work = float((jobs["node_count"].cast(pl.Float64) * jobs["runtime_s"]).sum())
    since = jobs["submit_s"] - jobs["submit_s"].min()
    squeezed = (since * (work / (LOAD * nodes) / float(since.max()))).round(0)
    return jobs.with_columns(submit_s=squeezed)


def _read(log: str, nodes: int) -> pl.DataFrame:
    frame = hs.read_swf(SWF / log).to_polars().filter(pl.col("node_count") <= nodes, pl.col("runtime_s") > 0)
    known = [name for name in ("job_id", "submit_s", "runtime_s", "node_count", "walltime_s") if name in frame.columns]
    return frame.select(known).head(JOBS)


def _drawn(log: str, nodes: int) -> pl.DataFrame:
    rng = np.random.default_rng(nodes)
    submit = np.sort(rng.integers(0, 40_000, JOBS) // (4_000 if log == "drawn-bursts" else 1)).astype(np.float64)
    runtime = np.round(rng.lognormal(5.0, 1.5, JOBS))
    asked = np.where(rng.random(JOBS) < 0.8, np.ceil(runtime * rng.choice([0.9, 1.0, 2.0, 5.0], JOBS)) + 1, np.nan)
    size = np.minimum(2 ** rng.integers(0, 7, JOBS), nodes)
    columns = {"submit_s": submit, "runtime_s": runtime, "node_count": size, "walltime_s": asked}
    return pl.DataFrame({"job_id": np.arange(JOBS), **columns}).with_columns(pl.col("walltime_s").fill_nan(None))


def known() -> dict[str, str]:
    """The table in the repository."""
    return json.loads(TABLE.read_text())


def write(say: Callable[[str], object] = lambda _: None) -> None:
    """Makes every run and writes the table again."""
    table = {}
    for log in (*LOGS, *DRAWN):
        say(log)
        table.update({case.name: case.fingerprint() for case in cases(log)})
    TABLE.write_text(json.dumps(table, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    write(lambda log: print(log, file=sys.stderr))

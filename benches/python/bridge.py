"""Policies through the bridge on a real Slurm against their simulations: ``python benches/python/bridge.py``.

``--cluster NAME=FILE`` names the slurm.conf of a throwaway cluster whose jobs are sleeps: sixteen nodes with their own
names as features, `Licenses=hetsched:1000000`, a partition `batch` with `OverSubscribe=EXCLUSIVE`, and
`default_queue_depth=10000`; one with Slurm's own beats, one with `batch_sched_delay=1,sched_interval=1,bf_interval=1`.

The same 60 jobs are submitted at the same instants under each policy through the bridge, and to Slurm alone; jobs write
down themselves when they begin and end. Then the same jobs are simulated as the bridge observed them: each from the
beat that first saw it, and with the length from its decision to the beat that saw its end. So a job has the latencies
of its own start and end, and what is left are other decisions. Slurm alone is simulated by the preset `slurm` with its
own file.

* **starts**: within 1 s of the simulation's;
* **as wished**: starts of the real run on the very nodes that the policy had decided;
* **wait**: difference of mean waits as a share of the mean turnaround;
* **energy**: `hs.meter` of real starts, ends and nodes, against the same of the simulation, idle nodes included;
* **CPU a beat**: of the bridge's process, without Slurm's commands; **orders a job**: releases and gates given again.

The second real run of each, in place of a simulation, is the row of noise that stands above.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import hetsched as hs
from hetsched.live import Ended, Start, Submitted
from live import known_live

NODES = 16
POLICIES = ("easy", "coa", "vahrm", "pool")
ALONE = "slurm"
GATED = ("-L", "hetsched:1")
NEAR_S = 1.0
ALLOCATED_TO_LINE_S = 0.04
"""From an allocation to a job's first line, as it was measured on such clusters."""
APPS = ("app0", "app1", "app2")
INSTANTS = ("start_s", "end_s", "seen_s", "decided_s", "over_s")


def arguments() -> argparse.Namespace:
    """Options that the user gave."""
    parser = argparse.ArgumentParser(description="Compare policies through the bridge with their simulations.")
    parser.add_argument(
        "--cluster", action="append", required=True, metavar="NAME=FILE", help="a throwaway cluster's slurm.conf"
    )
    parser.add_argument("--jobs", type=int, default=60, metavar="N", help="jobs a run (60)")
    parser.add_argument("--shortest-s", type=int, default=4, metavar="S", help="of the shortest job (4)")
    parser.add_argument("--longest-s", type=int, default=30, metavar="S", help="of the longest job (30)")
    parser.add_argument("--repeat", type=int, default=2, metavar="N", help="runs of each (2)")
    parser.add_argument("--policies", default=",".join((ALONE, *POLICIES)), help="with commas between; slurm: alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there, too")
    return parser.parse_args()


def workload(chosen: argparse.Namespace) -> pl.DataFrame:
    """Jobs at a load of 0.9 of the nodes, with limits of whole minutes."""
    rng = np.random.default_rng(11)
    length_s = np.exp(rng.uniform(np.log(chosen.shortest_s), np.log(chosen.longest_s), chosen.jobs)).round()
    size = rng.integers(1, 7, chosen.jobs)
    submit_s = np.sort(rng.uniform(0, float((length_s * size).sum()) / NODES / 0.9, chosen.jobs)).round(2)
    walltime_s = 60.0 * rng.integers(1, 4, chosen.jobs)
    return pl.DataFrame(
        {
            "job_id": np.arange(1, chosen.jobs + 1),
            "submit_s": submit_s,
            "runtime_s": length_s,
            "walltime_s": np.maximum(walltime_s, 60 * np.ceil((length_s + 5) / 60)),
            "node_count": size,
            "app": [APPS[one] for one in rng.integers(0, len(APPS), chosen.jobs)],
            "user": [str(os.getuid())] * chosen.jobs,
        }
    )


@dataclass
class Cluster:
    """A throwaway cluster."""

    name: str
    conf: str
    folder: Path
    platform: hs.Platform = field(init=False)

    def __post_init__(self) -> None:
        machine = self.folder / "nodes.toml"
        self.hetsched(
            "slurm", "platform", "--partition", "batch", "--idle-w", "100", "--tdp-w", "400", "--out", machine
        )
        rng = np.random.default_rng(3)
        rows = [f"{app},{node},{300 * rng.normal(1, 0.08):.2f}" for app in APPS for node in range(NODES)]
        (self.folder / "watts.csv").write_text("app,node,power_w\n" + "\n".join(rows) + "\n")
        machine.write_text(f'actual = "watts.csv"\n{machine.read_text()}')
        self.platform = hs.Platform.from_toml(machine)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its commands."""
        return {**os.environ, "SLURM_CONF": self.conf, "LC_ALL": "C"}

    def call(self, *words: str) -> str:
        """Output of a command."""
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True, env=self.environment)
        return done.stdout.strip()

    def hetsched(self, *words: object) -> None:
        """Run a verb."""
        command = [sys.executable, "-m", "hetsched", *map(str, words)]
        subprocess.run(command, check=True, timeout=120, env=self.environment, stdout=subprocess.DEVNULL)

    def started_s(self) -> float:
        """The second in which its controller has started."""
        config = subprocess.run(
            ["scontrol", "show", "config"],
            capture_output=True,
            text=True,
            check=True,
            env={**self.environment, "SLURM_TIME_FORMAT": "%s"},
        ).stdout
        return float(next(line.split("=")[1] for line in config.splitlines() if line.startswith("BOOT_TIME")))

    def waiting(self) -> int:
        """Jobs that are not over."""
        return len(self.call("squeue", "-h", "-o", "%i").split())

    @contextmanager
    def bridge(self, policy: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
        """A bridge that acts, once its gate is there."""
        words = ["slurm", "run", "--partition", "batch", "--platform", self.folder / "nodes.toml", "--policy", policy]
        words += ["--journal", folder, "--act", "--lease-s", "60", "--app-by", "name"]
        with (folder.parent / f"{folder.name}.out").open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "hetsched", *map(str, words)], env=self.environment, stdout=out, stderr=out
            )
        try:
            while "hetsched" not in self.call("scontrol", "-o", "show", "reservations"):
                assert process.poll() is None, (folder.parent / f"{folder.name}.out").read_text()
                time.sleep(0.1)
            yield process
        finally:
            process.kill()
            process.wait()
            self.hetsched("slurm", "leave", "--partition", "batch")


def cpu_s(pid: int) -> float:
    """CPU seconds of a process, without those it has started."""
    values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Run:
    """A real run: its jobs with real instants and nodes, and the bridge's instants of each; and figures of the bridge.

    A job was `seen_s` in the queue, `decided_s` to start, and `over_s`; without a bridge these are the real instants.
    """

    jobs: pl.DataFrame
    zero_s: float
    figures: Mapping[str, float]


def real(cluster: Cluster, jobs: pl.DataFrame, policy: str, folder: Path) -> Run:
    """Submit the jobs, with a bridge or to Slurm alone, and wait for the last one's end."""
    folder.mkdir()
    if policy == ALONE:
        ids, zero_s, submits = submitted(cluster, jobs, folder, ())
        found = observed(cluster, jobs, ids, folder, zero_s, submits)
        return Run(found.with_columns(seen_s="submit_s", decided_s="start_s", over_s="end_s"), zero_s, {})
    with cluster.bridge(policy, folder / "journal") as process:
        time.sleep(3)
        before = cpu_s(process.pid), time.monotonic()
        ids, zero_s, submits = submitted(cluster, jobs, folder, GATED)
        used_s, took_s = cpu_s(process.pid) - before[0], time.monotonic() - before[1]
    found = observed(cluster, jobs, ids, folder, zero_s, submits)
    return with_bridge(found, ids, folder / "journal", zero_s, used_s, took_s)


def submitted(
    cluster: Cluster, jobs: pl.DataFrame, folder: Path, more: tuple[str, ...]
) -> tuple[dict[str, int], float, dict[int, float]]:
    """Submit all jobs at their times, and wait for the last one's end; jobs by Slurm's id, zero, and submissions."""
    # A whole second, so that all runs begin at the same phase of Slurm's.
    zero_s = math.ceil(time.time()) + 1.0
    ids, submits = {}, {}
    for job in jobs.iter_rows(named=True):
        time.sleep(max(0.0, zero_s + job["submit_s"] - time.time()))
        mark = shlex.quote(f"{folder}/{job['job_id']}")
        script = f"date +%s.%N > {mark}.begin; sleep {job['runtime_s']:g}; date +%s.%N > {mark}.end"
        words = (f"-N{job['node_count']}", f"-t{job['walltime_s'] / 60:.0f}", "-J", job["app"], "-o", "/dev/null")
        ids[cluster.call("sbatch", "--parsable", "-D", "/tmp", *words, *more, "--wrap", script)] = job["job_id"]
        submits[job["job_id"]] = time.time() - zero_s
    while cluster.waiting():
        time.sleep(0.5)
    return ids, zero_s, submits


def observed(
    cluster: Cluster,
    jobs: pl.DataFrame,
    ids: Mapping[str, int],
    folder: Path,
    zero_s: float,
    submits: Mapping[int, float],
) -> pl.DataFrame:
    """The jobs with what has happened."""
    numbers = {name: number for number, name in enumerate(cluster.platform.node_names or ())}
    rows = []
    for line in cluster.call("squeue", "-h", "-t", "all", "-O", "JobID:.12,NodeList:.200").splitlines():
        id_, nodes = line.split()[:2] if len(line.split()) > 1 else (line.strip(), "")
        if id_ not in ids:
            continue
        job = ids[id_]
        names = cluster.call("scontrol", "show", "hostnames", nodes).split()
        begin, end = (float((folder / f"{job}.{kind}").read_text()) - zero_s for kind in ("begin", "end"))
        rows.append((job, submits[job], begin, end, sorted(numbers[name] for name in names)))
    assert len(rows) == len(jobs), f"{len(rows)} of {len(jobs)} jobs ran"
    names = ["job_id", "submit_s", "start_s", "end_s", "nodes"]
    found = pl.DataFrame(rows, schema=names, orient="row").with_columns(runtime_s=pl.col("end_s") - pl.col("start_s"))
    return jobs.drop("submit_s", "runtime_s").join(found, on="job_id").sort("job_id")


def with_bridge(
    found: pl.DataFrame, ids: Mapping[str, int], journal: Path, zero_s: float, used_s: float, took_s: float
) -> Run:
    """Figures of a run from a bridge's journal and log."""
    log = [json.loads(line) for line in (journal / "log.jsonl").read_text().splitlines()]
    names = {line["number"]: ids[line["job"]] for line in log if line["event"] == "job" and line["job"] in ids}
    rows = {row["job_id"]: row for row in found.iter_rows(named=True)}
    seen: dict[int, float] = {}
    ended: dict[int, float] = {}
    started: dict[int, float] = {}
    for instant in hs.read_journal(journal / "run-0001").instants:
        at_s = instant.t_us / 1e6 - zero_s
        seen |= {names[n.job]: at_s for n in instant.notices if isinstance(n, Submitted)}
        ended |= {names[n.job]: at_s for n in instant.notices if isinstance(n, Ended)}
        started |= {names[d.job]: at_s for d in instant.decisions if isinstance(d, Start)}
    lags = [rows[job]["start_s"] - at_s for job, at_s in started.items()]
    end_s = statistics.median(at_s - rows[job]["end_s"] for job, at_s in ended.items())
    # The bridge is gone before it sees the last job's end.
    ended = {job: row["end_s"] + end_s for job, row in rows.items()} | ended
    own = {"seen_s": seen, "decided_s": started, "over_s": ended}
    instants = {name: pl.col("job_id").replace_strict(of, return_dtype=pl.Float64) for name, of in own.items()}
    starts = [line for line in log if line["event"] == "start" and line["job"] in ids]
    orders = sum(len(line["orders"]) for line in log if line["event"] == "call")
    beats = took_s / 1.0
    return Run(
        found.with_columns(**instants),
        zero_s,
        {
            "latency_seen_s": statistics.median(at_s - rows[job]["submit_s"] for job, at_s in seen.items()),
            "latency_start_s": statistics.median(lags),
            "latency_end_s": end_s,
            "lag_p95_s": float(np.quantile(lags, 0.95)),
            "as_wished": sum(line["decided"] == line["nodes"] for line in starts) / len(rows),
            "cpu_ms": 1e3 * used_s / beats,
            "orders_a_job": orders / len(rows),
            "errors": sum(line["event"] == "error" for line in log),
        },
    )


def simulated(cluster: Cluster, run: Run, policy: str) -> pl.DataFrame:
    """The same jobs in a simulation: rows with start, end and nodes."""
    jobs = run.jobs.drop("nodes", *INSTANTS)
    observed = run.jobs.with_columns(submit_s="seen_s", runtime_s=pl.col("over_s") - pl.col("decided_s"))
    given = observed.drop("nodes", *INSTANTS)
    lag = run.jobs.select("job_id", lag_s=pl.col("start_s") - pl.col("decided_s"))
    if policy == ALONE:
        own = hs.Policy.from_slurm_conf(
            cluster.conf, epoch_s=run.zero_s, started_s=cluster.started_s() - run.zero_s, start_s=ALLOCATED_TO_LINE_S
        )
    else:
        own = known_live(policy)
    result = hs.simulate(hs.Workload.from_polars(given), cluster.platform, own, kill_at_walltime=False)
    found = result.jobs.select("job_id", "start_s", "nodes").join(lag, on="job_id")
    found = found.select("job_id", pl.col("start_s") + pl.col("lag_s"), "nodes")
    return found.join(jobs, on="job_id").with_columns(end_s=pl.col("start_s") + pl.col("runtime_s"))


def metered(cluster: Cluster, jobs: pl.DataFrame) -> Mapping[str, Any]:
    """The summary of a schedule."""
    log = hs.Workload.from_polars(jobs.drop("nodes", *INSTANTS, strict=False))
    starts = jobs.select("job_id", "start_s", "end_s", "nodes")
    return hs.meter(log, cluster.platform, starts, kill_at_walltime=False).summary()


def compared(cluster: Cluster, run: pl.DataFrame, other: pl.DataFrame) -> dict[str, float]:
    """Distance of another schedule of the same jobs from a real one."""
    both = run.join(other, on="job_id", suffix="_other")
    near = (both["start_s"] - both["start_s_other"]).abs() <= NEAR_S
    here, there = metered(cluster, run), metered(cluster, other)
    return {
        "near": float(near.mean()),  # type: ignore[arg-type]
        "same_nodes": float((both["nodes"] == both["nodes_other"]).mean()),  # type: ignore[arg-type]
        "mean_wait_s": here["mean_wait_s"],
        "wait": (there["mean_wait_s"] - here["mean_wait_s"]) / here["mean_turnaround_s"],
        "makespan": there["makespan_s"] / here["makespan_s"] - 1,
        "energy": there["energy_j"] / here["energy_j"] - 1,
    }


def aligned(jobs: pl.DataFrame, as_in: pl.DataFrame) -> pl.DataFrame:
    """A second run with the submissions of the first, which differ by milliseconds."""
    return jobs.drop("submit_s").join(as_in.select("job_id", "submit_s"), on="job_id")


def measure(cluster: Cluster, chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """All runs on a cluster; prints each."""
    jobs, rows = workload(chosen), []
    for policy in chosen.policies.split(","):
        first: Run | None = None
        for turn in range(chosen.repeat):
            run = real(cluster, jobs, policy, cluster.folder / f"{policy}-{turn}")
            load = os.getloadavg()[1]
            common = {"cluster": cluster.name, "policy": policy, "load": load}
            if first is not None:
                rows.append({**common, "against": "again", **compared(cluster, first.jobs, run.jobs)})
            rows.append(
                {
                    **common,
                    "against": "simulated",
                    **compared(cluster, run.jobs, simulated(cluster, run, policy)),
                    **run.figures,
                }
            )
            first = first or run
            print(json.dumps(rows[-1]), flush=True)
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    """Prints the table."""
    table = pl.DataFrame(rows, infer_schema_length=None)
    means = table.group_by("cluster", "against", "policy", maintain_order=True).agg(pl.col(pl.Float64).mean())
    print(
        f"{'cluster':<9}{'against':<11}{'policy':<8}{'mean wait':>10}{'starts':>8}{'as wished':>11}{'wait':>9}"
        f"{'energy':>9}{'CPU a beat':>12}{'orders a job':>14}{'release to start':>18}"
    )
    for row in means.sort("cluster", "against", maintain_order=True).iter_rows(named=True):
        print(
            f"{row['cluster']:<9}{row['against']:<11}{row['policy']:<8}{row['mean_wait_s']:>9.2f}s{row['near']:>8.0%}"
            f"{shown(row, 'as_wished', '.0%'):>11}{row['wait']:>+9.2%}{row['energy']:>+9.2%}"
            f"{shown(row, 'cpu_ms', '.0f'):>10}ms{shown(row, 'orders_a_job', '.2f'):>14}"
            f"{shown(row, 'latency_start_s', '.2f'):>17}s"
        )
    for cluster, against in table.select("cluster", "against").unique(maintain_order=True).iter_rows():
        energy = table.filter(cluster=cluster, against=against)["energy"].abs().to_numpy()
        print(f"energy, {cluster}, {against}: mean error {energy.mean():.2%}, largest {energy.max():.2%}")
    loads = table["load"].to_numpy()
    print(f"load average over five minutes: {loads.min():.1f} to {loads.max():.1f}")


def shown(row: Mapping[str, Any], name: str, form: str) -> str:
    """A value, or nothing where there is none."""
    return "" if row.get(name) is None else format(row[name], form)


def main() -> None:
    """Measures, prints and writes."""
    chosen = arguments()
    rows = []
    for given in chosen.cluster:
        name, _, conf = given.partition("=")
        with tempfile.TemporaryDirectory() as folder:
            rows += measure(Cluster(name, conf, Path(folder)), chosen)
    show(rows)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

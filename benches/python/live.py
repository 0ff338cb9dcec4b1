"""Real runs against simulated ones: ``python benches/python/live.py``.

Jobs that each compute a fixed number of SHA-256 blocks run under `hetsched run`'s executor on nodes that are slots of
this machine. Then the same jobs are simulated on the same platform under the same policy, twice:

* **observed**: with the lengths that were observed, so that only what the executor adds is left: launches, ends, and
  instants that come late;
* **with latency**: the same, and each job holds its nodes for the median latencies of that run, too;
* **predicted**: with the lengths that each job has alone and the median latencies that were measured in that run, so
  that what jobs do to each other's lengths counts as error.

Above the table stands the noise of the machine: the length of one job alone, again and again, and among as many others
as there are nodes; and **again**, the next real run of the same jobs under the same policy in place of a simulation,
which bounds what any simulation can reach. Latencies are those from a decision to the command's begin, and from the end
of its last process to the notice. The load average of the machine is printed, as all of this depends on it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import hetsched as hs
from hetsched.checks import Faults
from hetsched.live.commands import Command
from hetsched.live.decisions import Start
from hetsched.live.machine import local_nodes
from hetsched.live.notices import Ended
from hetsched.live.plan import Plan
from hetsched.live.reading import RealJobs
from hetsched.live.running import begun

NODES = 4
POLICIES = ("easy", "coa", "vahrm", "pool")
BLOCK = 1 << 16
WORK = f"import hashlib,sys\nb=bytes({BLOCK})\nfor _ in range(int(sys.argv[1])): hashlib.sha256(b).digest()"
NEAR_S = 0.25


def arguments() -> argparse.Namespace:
    """Options that the user gave."""
    parser = argparse.ArgumentParser(description="Compare real runs with simulated ones.")
    parser.add_argument("--quick", action="store_true", help="half a minute: whether everything runs")
    parser.add_argument("--jobs", type=int, default=60, metavar="N", help="jobs a run (60)")
    parser.add_argument("--shortest-s", type=float, default=1.0, metavar="S", help="of the shortest job (1)")
    parser.add_argument("--longest-s", type=float, default=20.0, metavar="S", help="of the longest job (20)")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs a policy (3)")
    parser.add_argument("--policies", default=",".join(POLICIES), help=f"with commas between ({','.join(POLICIES)})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there, too")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.jobs, chosen.shortest_s, chosen.longest_s, chosen.repeat = 12, 0.2, 1.0, 1
    return chosen


def words(blocks: int) -> list[str]:
    """The command of a job."""
    return [sys.executable, "-I", "-S", "-c", WORK, str(blocks)]


def took_s(blocks: int, beside: int = 0) -> float:
    """Seconds of a job next to others that compute as much."""
    others = [subprocess.Popen(words(blocks)) for _ in range(beside)]
    begun_at = time.perf_counter()
    subprocess.run(words(blocks), check=True)
    found = time.perf_counter() - begun_at
    for other in others:
        other.wait()
    return found


def calibrated(seconds: float = 1.0) -> float:
    """Blocks a second of this machine."""
    few, many = 100, 2_000
    return max(1.0, (many - few) / (min(took_s(many) for _ in range(3)) - min(took_s(few) for _ in range(3)))) * seconds


def noise(blocks: int, rounds: int) -> dict[str, float]:
    """Spread of one job's length, alone and next to others, as shares of the mean."""
    alone = [took_s(blocks) for _ in range(rounds)]
    beside = [took_s(blocks, NODES - 1) for _ in range(rounds)]
    spread = {
        name: statistics.pstdev(times) / statistics.mean(times)
        for name, times in (("alone", alone), ("beside", beside))
    }
    return {**{f"{name}_spread": value for name, value in spread.items()}, "slowdown": np.mean(beside) / np.mean(alone)}


def workload(chosen: argparse.Namespace, blocks_a_s: float) -> tuple[pl.DataFrame, dict[int, Command], pl.DataFrame]:
    """Jobs at a load of 0.9 of the CPUs, their commands, and the lengths that they have alone."""
    rng = np.random.default_rng(7)
    length_s = np.exp(rng.uniform(np.log(chosen.shortest_s), np.log(chosen.longest_s), chosen.jobs)).round(3)
    size = rng.integers(1, 4, chosen.jobs)
    # One process a job computes, whatever its nodes are: the CPUs are what is loaded.
    busy_s = max(
        float(length_s.sum()) / min(NODES, len(os.sched_getaffinity(0))), float((length_s * size).sum()) / NODES
    )
    submit_s = np.sort(rng.uniform(0, busy_s / 0.9, chosen.jobs)).round(3)
    ids = list(range(1, chosen.jobs + 1))
    frame = pl.DataFrame({"job_id": ids, "submit_s": submit_s, "node_count": size, "walltime_s": length_s * 4 + 5})
    frame = frame.with_columns(app=pl.Series([f"app{one}" for one in rng.integers(0, 3, chosen.jobs)]))
    commands = {
        job: Command(tuple(words(max(1, round(seconds * blocks_a_s)))), "/", limit_s=4 * seconds + 5)
        for job, seconds in zip(ids, length_s, strict=True)
    }
    return frame, commands, pl.DataFrame({"job_id": ids, "runtime_s": length_s})


def machine(folder: str) -> hs.Platform:
    """Four nodes that differ by application."""
    table = Path(folder) / "watts.csv"
    rng = np.random.default_rng(3)
    rows = [f"app{app},{node},{300 * rng.normal(1, 0.08):.2f}" for app in range(3) for node in range(NODES)]
    table.write_text("app,node,power_w\n" + "\n".join(rows) + "\n")
    return hs.Platform.homogeneous(NODES, idle_w=100, tdp_w=400).with_tables(actual=hs.read_table(table))


def real(folder: str, jobs: RealJobs, platform: hs.Platform, policy: str) -> tuple[hs.Result, list[float], list[float]]:
    """One real run: its result, and the latencies of its starts and ends."""
    faults = Faults()
    nodes = local_nodes(faults, nodes=NODES)
    assert nodes is not None
    plan = Plan(jobs.commands, "local", nodes, jobs.source, power="model")
    made = begun(folder, jobs, platform, hs.Policy.preset(policy), plan=plan)
    assert made.run()
    result = made.result()
    made.close()
    journal = hs.read_journal(folder)
    rows = {row["job_id"]: row for row in result.jobs.iter_rows(named=True)}
    starts, ends = [], []
    for instant in journal.instants:
        starts += [rows[one.job]["start_s"] - instant.t_us / 1e6 for one in instant.decisions if isinstance(one, Start)]
        ends += [instant.t_us / 1e6 - rows[one.job]["end_s"] for one in instant.notices if isinstance(one, Ended)]
    assert set(result.jobs["state"]) == {"completed"}, result.jobs["state"].value_counts()
    journal.replay()
    return result, starts, ends


def simulated(jobs: RealJobs, lengths: pl.DataFrame, platform: hs.Platform, policy: str) -> hs.Result:
    """The same jobs with these lengths, on nodes whose speed they already hold."""
    return hs.simulate(jobs.ended(lengths), platform, known_live(policy), kill_at_walltime=False)


def known_live(policy: str) -> hs.Policy:
    """The policy as it decides live: an order that takes runtimes as known has walltimes there."""
    chosen = hs.Policy.preset(policy)
    order = chosen.to_dict()["order"]
    return hs.Policy.preset(policy, order={**order, "length": "walltime"}) if "length" in order else chosen


def delayed(lengths: pl.DataFrame, starts: list[float], ends: list[float]) -> pl.DataFrame:
    """Lengths with the latencies of launches and ends, which hold a node as the job itself does."""
    latency_s = statistics.median(starts) + statistics.median(ends)
    return lengths.with_columns(pl.col("runtime_s") + latency_s)


def compared(real: hs.Result, other: hs.Result) -> dict[str, float]:
    """Distance of a simulation from a real run."""
    joined = real.jobs.join(other.jobs, on="job_id", suffix="_sim")
    is_near = (joined["start_s"] - joined["start_s_sim"]).abs() <= NEAR_S
    same = joined["nodes"] == joined["nodes_sim"]
    here, there = real.summary(), other.summary()
    errors = {name: there[name] / here[name] - 1 for name in ("makespan_s", "energy_j")}
    errors["mean_wait_s"] = (there["mean_wait_s"] - here["mean_wait_s"]) / here["mean_turnaround_s"]
    return {"near": float(is_near.mean()), "same_nodes": float(same.mean()), **errors}  # type: ignore[arg-type]


def percentile_ms(times: list[float], share: float) -> float:
    """A percentile in milliseconds."""
    return float(np.quantile(times, share)) * 1e3


def main() -> None:
    """Measures, prints and writes."""
    chosen = arguments()
    blocks_a_s = calibrated()
    own = noise(round(blocks_a_s * min(2.0, chosen.longest_s)), 3 if chosen.quick else 7)
    print(
        f"noise of the machine: a job's length alone ±{own['alone_spread']:.1%}, next to {NODES - 1} others "
        f"±{own['beside_spread']:.1%} and {own['slowdown']:.2f} times as long"
    )
    frame, commands, alone = workload(chosen, blocks_a_s)
    jobs, rows = RealJobs(frame, commands, "live.py"), []
    all_starts: list[float] = []
    all_ends: list[float] = []
    loads = [os.getloadavg()[1]]
    for policy in chosen.policies.split(","):
        before: hs.Result | None = None
        for _ in range(chosen.repeat):
            with tempfile.TemporaryDirectory() as folder:
                platform = machine(folder)
                result, starts, ends = real(f"{folder}/run", jobs, platform, policy)
            all_starts, all_ends = [*all_starts, *starts], [*all_ends, *ends]
            loads.append(os.getloadavg()[1])
            if before is not None:
                rows.append({"policy": policy, "lengths": "again", **compared(before, result)})
            before = result
            observed = result.jobs.select("job_id", "runtime_s")
            for name, lengths in (
                ("observed", observed),
                ("with latency", delayed(observed, starts, ends)),
                ("predicted", delayed(alone, starts, ends)),
            ):
                rows.append(
                    {"policy": policy, "lengths": name, **compared(result, simulated(jobs, lengths, platform, policy))}
                )
    print(
        f"decided to begun: median {percentile_ms(all_starts, 0.5):.0f} ms, 95th percentile "
        f"{percentile_ms(all_starts, 0.95):.0f} ms; end to notice: median {percentile_ms(all_ends, 0.5):.0f} ms, 95th "
        f"percentile {percentile_ms(all_ends, 0.95):.0f} ms"
    )
    print(f"load average over five minutes: {min(loads):.1f} to {max(loads):.1f}, {len(os.sched_getaffinity(0))} CPUs")
    table = pl.DataFrame(rows)
    print(f"{'policy':<8}{'lengths':<14}{'starts near':>12}{'same nodes':>12}{'wait':>9}{'makespan':>10}{'energy':>9}")
    means = table.group_by("policy", "lengths").agg(pl.col(pl.Float64).mean())
    order = pl.col("lengths").replace_strict({"again": 0, "observed": 1, "with latency": 2, "predicted": 3})
    for row in means.sort(order, "policy").iter_rows(named=True):
        errors = f"{row['mean_wait_s']:>+9.2%}{row['makespan_s']:>+10.2%}{row['energy_j']:>+9.2%}"
        print(f"{row['policy']:<8}{row['lengths']:<14}{row['near']:>12.0%}{row['same_nodes']:>12.0%}{errors}")
    for name in table["lengths"].unique(maintain_order=True):
        energy = table.filter(lengths=name)["energy_j"].abs()
        print(f"energy, {name}: mean error {energy.mean():.2%}, largest {energy.max():.2%}")
    if chosen.json is not None:
        numbers = {"noise": own, "loads": loads, "rows": rows, "starts_s": all_starts, "ends_s": all_ends}
        chosen.json.write_text(json.dumps(numbers, indent=1))


if __name__ == "__main__":
    main()

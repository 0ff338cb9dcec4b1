"""Prices of instants next to those of nodes: a node that is woken, a watt that is held back. Training set only.

    python benches/python/instants.py [--workloads 0,4,8] [--seeds 1,2] [--nodes 108] [--jobs 2000] [--json FILE]

* *waking*: nodes sleep by the part `planned`, on the steady trace at two loads. Placement sees nodes that are on; which
  nodes are woken, and which sleep first, goes by number. *By watts* numbers them from the least mean draw to the
  largest: if a node has to be woken, it is the best. A price above that has nothing to decide: to keep a node on
  costs its idle watts, which are more than any node saves.
* *watts*: half the power budget. Where the jobs so far would draw more than it, a job's place in the queue moves
  back by a factor times the time in which the whole budget could have served it: the watt has a price, and a job
  pays for all it holds. Where they would not, the price is 0, as the dual of a limit that does not bind is. For
  placement nothing follows: with a price, each watt of a node costs so many times as much, and so do the prices of
  nodes that follow from them, so that the same nodes stay the cheapest. A factor of 0 is the preset.

Changes are paired by seed and workload, averaged over workloads, with t intervals over seeds; energies are of the
machine, idle and sleeping nodes with it.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

import hetsched as hs
from hetsched.analysis import mean_and_half_width
from hetsched.experiments.vahrm import system
from hetsched.workload import generators
from hetsched.workload.generators.cpu_gpu_log import MIXES
from oracle import Floats, arguments, checked, costs
from table import console

FACTORS = (0.0, 0.1, 0.3, 1.0, 3.0)
USUAL = "as it is"
LOADS = (0.5, 0.85)
PCR = 0.5
SLEEP: dict[str, float] = {"boot_s": 300.0, "shutdown_s": 120.0, "off_w": 20.0}
"""Nodes boot and shut down at the draw of idling."""

BETA = 0.25**8
"""Weight of a joule in the order of the preset."""


class Watts:
    """Order of the preset, with a price of the watt where the budget binds."""

    changes = "each-pass"

    def __init__(self, factor: float, cost: Floats, apps: list[str], watts: tuple[float, float]) -> None:
        self._factor, self._apps = factor, apps
        self._seen, self._node_s = -1.0, np.zeros(len(apps))
        self._mean_w = cost.mean(axis=1)
        self._idle_w, self._budget_w = watts

    def rank(self, jobs: Any, view: hs.roles.View) -> Floats:
        """Lowest first: submits, less the preset's energies, and the time of the whole budget that a job takes."""
        app = np.array([self._apps.index(view.apps[one]) for one in jobs.app], dtype=np.int64)
        node_s = jobs.node_count * jobs.planned_s
        came = np.asarray(jobs.eligible_s) > self._seen
        np.add.at(self._node_s, app[came], node_s[came])
        self._seen = max(self._seen, float(np.max(jobs.eligible_s, initial=-1.0)))
        preset = (1.0 - BETA) * jobs.eligible_s - BETA * self._mean_w[app] * node_s
        spare_w = self._budget_w - view.nodes * self._idle_w
        shares = self._node_s / max(self._node_s.sum(), 1e-9)
        binds = float(shares @ (self._mean_w - self._idle_w)) * view.nodes > spare_w
        own_s = (self._mean_w[app] - self._idle_w) * node_s / spare_w
        return np.asarray(preset + (self._factor * own_s if binds else 0.0))


def machine(seed: int, nodes: int, *, spread: float = system.SPREAD, is_by_watts: bool = False) -> hs.Platform:
    """Nodes of the drawn machine that can sleep; numbered as they are, or by the mean of their draws."""
    drawn = system.drawn_machine(seed, spread=spread, nodes=nodes)
    (kind,) = drawn.ideal.classes
    table = drawn.sample.table
    assert table.power_w is not None
    if is_by_watts:
        order = np.argsort(table.power_w.mean(axis=0), kind="stable")
        table = hs.VariationTable(table.apps, power_w=table.power_w[:, order])
    return hs.Platform.homogeneous(nodes=nodes, idle_w=kind.idle_w, tdp_w=kind.tdp_w, actual=table, **SLEEP)


def lasting(load: float, number: int, seed: int, nodes: int, jobs: int) -> hs.Workload:
    """The steady trace at a load."""
    return generators.steady(nodes=nodes, jobs=jobs, mix=number, seed=seed, load=load, largest_nodes=nodes // 3)


def wakings(number: int, seed: int, nodes: int, jobs: int) -> Iterator[tuple[str, str, hs.Result]]:
    """Runs with nodes that sleep: the question, the policy, the run."""
    platform, by_watts = machine(seed, nodes), machine(seed, nodes, is_by_watts=True)
    for load in LOADS:
        workload = lasting(load, number, seed, nodes, jobs)
        asked = f"waking, load {load:g}"
        yield asked, "no sleep", hs.simulate(workload, platform, "hetsched")
        for sleep in ("planned", "newsvendor"):
            usual = USUAL if sleep == "planned" else sleep
            yield asked, usual, hs.simulate(workload, platform, f"hetsched:sleep={sleep}")
            yield asked, f"{sleep}, by watts", hs.simulate(workload, by_watts, f"hetsched:sleep={sleep}")


def watts(
    number: int,
    seed: int,
    nodes: int,
    jobs: int,
    *,
    spread: float = system.SPREAD,
    factors: Sequence[float] = FACTORS,
) -> Iterator[tuple[str, str, hs.Result]]:
    """Runs under half the budget."""
    for reading in ("overloaded", "steady"):
        (case,) = [
            one for one in system.cases(seed, jobs=jobs, nodes=nodes, presets=(reading,)) if one.number == number
        ]
        platform = system.drawn_machine(seed, spread=spread, nodes=nodes).ideal
        apps, cost = costs(case.workload, platform)
        limits = (float(platform.idle_w.mean()), PCR * float(platform.tdp_w.sum()))
        asked = f"watts, {reading}"
        yield asked, USUAL, hs.simulate(case.workload, platform, f"hetsched:pcr={PCR}")
        for factor in factors:
            policy = hs.Policy.preset("hetsched", order=Watts(factor, cost, apps, limits), pcr=PCR)
            yield asked, f"factor {factor:g}", hs.simulate(case.workload, platform, policy)


def numbers(result: hs.Result) -> dict[str, float]:
    """Numbers of a run that are compared."""
    summary, jobs = result.summary(), result.jobs
    large = jobs.filter(jobs["node_count"] >= system.LARGE_NODES)["wait_s"].to_numpy()
    return {
        "energy_j": summary["energy_j"],
        "job_energy_j": summary["job_energy_j"],
        "mean_turnaround_s": summary["mean_turnaround_s"],
        "max_wait_s": summary["max_wait_s"],
        "large_max_wait_s": float(large.max(initial=0.0)),
    }


def measured(asked: Any) -> list[dict[str, Any]]:
    """A row a run."""
    return [
        {"asked": question, "policy": policy, "workload": MIXES[number], "seed": seed, **numbers(result)}
        for seed in asked.seeds
        for number in asked.workloads
        for runs in (wakings, watts)
        for question, policy, result in runs(number, seed, asked.nodes, asked.jobs)
    ]


COLUMNS = {
    "energy, %": "energy_j",
    "job energy, %": "job_energy_j",
    "turnaround, %": "mean_turnaround_s",
    "longest wait, %": "max_wait_s",
    "longest of a large job, %": "large_max_wait_s",
}


def shown(rows: list[dict[str, Any]]) -> Table:
    """Changes against the preset as it is, percent, means over workloads, and their intervals over seeds."""
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, title="change against the preset as it is, with 95 % intervals over seeds"
    )
    for name in ("price of", "policy"):
        table.add_column(name)
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for asked, policy in dict.fromkeys((row["asked"], row["policy"]) for row in rows):
        cells = [_change(rows, asked, policy, key) for key in COLUMNS.values()]
        table.add_row(asked, policy, *cells)
    return table


def _change(rows: list[dict[str, Any]], asked: str, policy: str, key: str) -> str:
    def of(name: str) -> Floats:
        own = [row for row in rows if (row["asked"], row["policy"]) == (asked, name)]
        seeds = list(dict.fromkeys(row["seed"] for row in own))
        return np.array([[row[key] for row in own if row["seed"] == seed] for seed in seeds])

    own, base = of(policy), of(USUAL)
    change = 100.0 * np.divide(own - base, base, out=np.zeros_like(own), where=base > 0).mean(axis=1)
    mean, half = mean_and_half_width(change)
    return f"{mean:+.2f}" if half is None else f"{mean:+.2f} ± {half:.2f}"


def main() -> int:
    """Print the table."""
    parser = arguments(__doc__)
    parser.add_argument("--json", type=Path, help="file for all numbers")
    asked = checked(parser)
    warnings.simplefilter("ignore", hs.errors.RunWarning)
    rows = measured(asked)
    console().print(shown(rows))
    if asked.json is not None:
        asked.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

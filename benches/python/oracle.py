"""Distance of placement by prices of nodes from the bound given the starts, if the future were known.

    python benches/python/oracle.py [--workloads 0,4,8] [--seeds 1,2] [--nodes 108] [--jobs 2000] [--json FILE]
                                    [--plot PICTURE]

An oracle, never a preset: it reads the duals of the bound of a run that has ended, the price of every node at every
instant, and places with them. Shares are of the bound given each schedule's own starts, (E_any - E) / (E_any - B).

* `hetsched` as it is.
* *prices*: the same starts, each job in order on the free nodes of the least energy and price over the time it runs.
* *prices, timing*: a run of its own. Of the jobs that fit, those start first, in order of submission, whose best free
  nodes cost them no more than `REGRET_W` above their own price; then the others, the nearest to it first. A job that
  has waited longer than the preset's patience goes before all, and nothing else starts until it has.
* *hindsight*: `hs.hindsight` of the run of `hetsched`, the schedule found and, after the stroke, its bound.

The machine has a fifth of the nodes of the VAHRM paper and as many jobs a node. Seeds are those that a preset may be
tuned on, 1 to 20.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich import box
from rich.table import Table

import hetsched as hs
from hetsched.bound import StartsBound, energy_bound_starts
from hetsched.bound.blind import energy_blind
from hetsched.bound.search import Search
from hetsched.experiments.runs import panels
from hetsched.experiments.vahrm import system
from hetsched.features.given_starts import given_of
from hetsched.report.canvas import save
from hetsched.report.experiment import panel_figure
from hetsched.workload.generators.cpu_gpu_log import MIXES
from table import console

TUNING_SEEDS = range(1, 21)
TUNED = (0, 4, 8)
READINGS = ("overloaded", "steady")
LABELS = {
    "hetsched": "hetsched",
    "true prices": "prices",
    "true prices, timing": "timing",
    "hindsight": "hindsight",
    "bound without moves": "at_most",
}
"""From the label of a curve to the share that it shows."""
REGRET_W = 1.0
PATIENCE_S = 36 * 3600.0
LOOKED_AT = 200
"""Jobs of the queue, the first that fit, among which the oracle chooses."""

_TICKS_S = 1e6
_NEVER = np.iinfo(np.int64).min

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


class Prices:
    """Prices of nodes and of a node of each application over time, from the duals of a bound.

    Parameters
    ----------
    bound
        Bound with its certificate.
    cost
        Watts by application and node.
    """

    def __init__(self, bound: StartsBound, cost: Floats) -> None:
        proof = bound.proof
        assert proof is not None
        count = np.diff(np.append(proof.offsets, len(proof.kind)))
        stretch = np.repeat(np.arange(len(proof.start)), count)
        price = np.zeros((len(proof.start), len(proof.capacity)))
        for kind in range(len(proof.cost)):
            own = proof.kind == kind
            worth = proof.label[own][:, np.newaxis] - proof.cost[kind]
            price[stretch[own]] = np.maximum(price[stretch[own]], worth)
        self._start_s, self._end_s = proof.start / _TICKS_S, proof.end / _TICKS_S
        self._rate = price[:, proof.node_kind]
        self._label = np.stack([(self._rate + own).min(axis=1) for own in cost], axis=1)
        long_s = (self._end_s - self._start_s)[:, np.newaxis]
        self._worth = np.vstack([np.zeros(cost.shape[1]), np.cumsum(self._rate * long_s, axis=0)])
        self._labels = np.vstack([np.zeros(len(cost)), np.cumsum(self._label * long_s, axis=0)])

    def nodes(self, time_s: Floats) -> Floats:
        """Price of every node, integrated up to some instants, in joules: shape (instants, nodes)."""
        return self._up_to(time_s, self._worth, self._rate)

    def apps(self, time_s: Floats) -> Floats:
        """Price of a node's work for every application, integrated alike: shape (instants, applications)."""
        return self._up_to(time_s, self._labels, self._label)

    def _up_to(self, time_s: Floats, whole: Floats, rate: Floats) -> Floats:
        place = np.searchsorted(self._start_s, time_s, side="right").clip(min=1) - 1
        part_s = np.clip(np.minimum(time_s, self._end_s[place]) - self._start_s[place], 0.0, None)
        return np.asarray(whole[place] + rate[place] * part_s[:, np.newaxis])


class Oracle:
    """Scheduler that knows the prices to come."""

    def __init__(self, prices: Any, cost: Floats, apps: list[str]) -> None:
        self._prices, self._cost, self._apps = prices, cost, apps

    def decide(self, view: hs.roles.View) -> list[tuple[int, Whole]]:
        """The jobs to start now."""
        queue, now = view.queue, view.now_s
        app = np.array([self._apps.index(view.apps[own]) for own in np.asarray(queue.app)])
        size, long_s = np.asarray(queue.node_count), np.asarray(queue.planned_s)
        waits_s = now - np.asarray(queue.submit_s)
        free, found = np.asarray(view.free), []
        for job in np.flatnonzero(waits_s > PATIENCE_S).tolist():
            if size[job] > len(free):
                return found
            best = np.argsort(self._costs(now, app[[job]], long_s[[job]], free)[0], kind="stable")[: size[job]]
            found.append((int(queue.job_id[job]), np.sort(free[best])))
            free = np.delete(free, best)
        jobs = np.flatnonzero((size <= len(free)) & (waits_s <= PATIENCE_S))[:LOOKED_AT]
        if not len(jobs):
            return found
        app, size, long_s = app[jobs], size[jobs], long_s[jobs]
        cost = self._costs(now, app, long_s, free)
        worth = self._prices.apps(now + long_s) - self._prices.apps(np.full(1, now))
        own = size * worth[np.arange(len(jobs)), app]
        waits = np.ones(len(jobs), dtype=bool)
        while (waits := waits & (size <= len(free))).any():
            least = np.cumsum(np.sort(cost, axis=1), axis=1)[np.arange(len(jobs)), size.clip(max=len(free)) - 1]
            regret_w = np.where(waits, (least - own) / (size * long_s.clip(min=1e-9)), np.inf)
            suited = np.flatnonzero(regret_w <= REGRET_W)
            job = int(suited[0]) if len(suited) else int(np.argmin(regret_w))
            best = np.argsort(cost[job], kind="stable")[: size[job]]
            found.append((int(queue.job_id[jobs[job]]), np.sort(free[best])))
            free, cost, waits[job] = np.delete(free, best), np.delete(cost, best, axis=1), False
        return found

    def _costs(self, now: float, app: Whole, long_s: Floats, free: Whole) -> Floats:
        worth = self._prices.nodes(now + long_s) - self._prices.nodes(np.full(1, now))
        return np.asarray(self._cost[app][:, free] * long_s[:, np.newaxis] + worth[:, free])


@dataclass(frozen=True)
class Found:
    """A schedule: its energy, what the same starts cost blindly and at least, and its waits."""

    energy_j: float
    blind_j: float
    bound_j: float
    turnaround_s: float
    wait_s: float
    longest_wait_s: float
    large_wait_s: float
    large_longest_wait_s: float

    def share(self, energy_j: float | None = None) -> float:
        """Share of the bound given the starts, percent."""
        return 100.0 * (self.blind_j - (energy_j or self.energy_j)) / (self.blind_j - self.bound_j)


def found_of(result: hs.Result, bound: StartsBound, blind_j: float) -> Found:
    """A run's numbers."""
    jobs = result.jobs
    large = jobs.filter(jobs["node_count"] >= system.LARGE_NODES)["wait_s"].to_numpy()
    wait_s = jobs["wait_s"].to_numpy()
    return Found(
        float(jobs["energy_j"].sum()),
        blind_j,
        bound.energy_j,
        float(jobs["turnaround_s"].to_numpy().mean()),
        float(wait_s.mean()),
        float(wait_s.max()),
        float(large.mean()),
        float(large.max()),
    )


def placed_in_order(search: Search, prices: Prices) -> float:
    """Joules of the jobs in order of start, each on the free nodes of the least energy and price."""
    given = search.given
    row, scale, start, end = search.intervals
    free, energy_j = np.full(search.cost.shape[1], _NEVER), 0.0
    worth = prices.nodes(end / _TICKS_S) - prices.nodes(start / _TICKS_S)
    for job in np.argsort(start, kind="stable").tolist():
        own_j = search.cost[row[job]] * scale[job] * (end[job] - start[job]) / _TICKS_S
        there = np.flatnonzero(free <= start[job])
        best = there[np.argsort((own_j + worth[job])[there], kind="stable")[: given.size[job]]]
        free[best] = end[job]
        energy_j += float(own_j[best].sum())
    return energy_j


def drawn_case(reading: str, number: int, seed: int, *, nodes: int, jobs: int) -> tuple[hs.Platform, hs.Workload]:
    """A machine and a workload."""
    cases = system.cases(seed, jobs=jobs, nodes=nodes, presets=(reading,))
    (workload,) = [one.workload for one in cases if one.number == number]
    return system.drawn_machine(seed, nodes=nodes).ideal, workload


def costs(workload: hs.Workload, platform: hs.Platform) -> tuple[list[str], Floats]:
    """Applications, and their watts by node."""
    names = sorted(workload.to_polars()["app"].unique().to_list())
    table = platform.actual
    assert table is not None
    assert table.power_w is not None
    return names, np.stack([table.power_w[table.apps.index(name)] for name in names])


def measured(result: hs.Result) -> Found:
    """A run's numbers."""
    return found_of(result, *bounded(result)[:2])


def case(reading: str, number: int, seed: int, *, nodes: int, jobs: int) -> dict[str, Any]:
    """Numbers of a workload on a machine."""
    platform, workload = drawn_case(reading, number, seed, nodes=nodes, jobs=jobs)
    own = hs.simulate(workload, platform, "hetsched")
    bound, blind_j, search = bounded(own)
    names, cost = costs(workload, platform)
    prices = Prices(bound, cost)
    ours, hindsight = found_of(own, bound, blind_j), hs.hindsight(own)
    oracle = measured(hs.simulate(workload, platform, Oracle(prices, cost, names)))
    return {
        "reading": reading,
        "workload": MIXES[number],
        "seed": seed,
        "hetsched": ours.share(),
        "prices": ours.share(placed_in_order(search, prices)),
        "timing": oracle.share(),
        "hindsight": ours.share(hindsight.energy_j),
        "at_most": ours.share(hindsight.bound_j),
        "runs": {"hetsched": asdict(ours), "oracle": asdict(oracle)},
    }


def bounded(result: hs.Result) -> tuple[StartsBound, float, Search]:
    """A run's bound given its starts, what they cost blindly, and its jobs."""
    none = np.empty(0, dtype=np.int64)
    given, _ = given_of(result._parts.ended)
    given = given.some(given.least > 0)
    out = (none, none, none)
    return energy_bound_starts(given, out, certified=True), energy_blind(given), Search.of(given, out)


def shown(rows: list[dict[str, Any]]) -> Table:
    """The table: a row a workload, means over seeds."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="share of the bound given the starts, %")
    for name in ("reading", "workload", "hetsched", "prices", "prices, timing", "hindsight"):
        table.add_column(name)
    for name in ("turnaround (h)", "wait (h)", "longest (h)", "large: wait (h)", "large: longest (h)"):
        table.add_column(name, justify="right")
    keys = sorted({(row["reading"], MIXES.index(row["workload"])) for row in rows})
    for reading, number in keys:
        table.add_row(reading, MIXES[number], *_cells(_of(rows, reading, number)))
    for reading in sorted({reading for reading, _ in keys}):
        table.add_row(reading, "mean", *_cells([row for row in rows if row["reading"] == reading]))
    return table


def _of(rows: list[dict[str, Any]], reading: str, number: int) -> list[dict[str, Any]]:
    return [row for row in rows if (row["reading"], row["workload"]) == (reading, MIXES[number])]


def _cells(rows: list[dict[str, Any]]) -> list[str]:
    mean = {
        name: float(np.mean([row[name] for row in rows]))
        for name in ("hetsched", "prices", "timing", "hindsight", "at_most")
    }
    waits = [
        [float(np.mean([row["runs"][policy][name] for row in rows])) / 3600.0 for policy in ("hetsched", "oracle")]
        for name in ("turnaround_s", "wait_s", "longest_wait_s", "large_wait_s", "large_longest_wait_s")
    ]
    shares = [f"{mean[name]:.1f}" for name in ("hetsched", "prices", "timing")]
    hindsight = f"{mean['hindsight']:.1f}/{mean['at_most']:.1f}"
    return [*shares, hindsight, *(f"{ours:.2f}, {oracle:.2f}" for ours, oracle in waits)]


def drawn(rows: list[dict[str, Any]]) -> Any:
    """Shares by workload, each bound next to what reaches for it; means over seeds."""
    numbers = sorted({MIXES.index(row["workload"]) for row in rows})

    def values(_: str, reading: str, label: str) -> Floats:
        key = LABELS[label]
        return np.array([[np.mean([row[key] for row in _of(rows, reading, one)]) for one in numbers]])

    row = "share of the bound\ngiven the starts (%)"
    curves = panels(
        {row: row},
        {reading: reading for reading in READINGS},
        list(LABELS),
        values,
        level={row: 100.0},
        ticks=[MIXES[one] for one in numbers],
    )
    figure = panel_figure(curves)
    low = min(one.get_ylim()[0] for one in figure.axes)
    for one in figure.axes:
        # Shares of two readings are compared across panels.
        one.set_ylim(low, 103.0)
    return figure


def _numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",")]


def arguments(text: str) -> argparse.ArgumentParser:
    """The options of both scripts."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--workloads", type=_numbers, default=list(TUNED), help="numbers 0 to 8; default 0,4,8")
    parser.add_argument("--seeds", type=_numbers, default=[1, 2], help="of machines and jobs, 1 to 20; default 1,2")
    parser.add_argument("--nodes", type=int, default=108)
    parser.add_argument("--jobs", type=int, default=2000)
    return parser


def checked(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Options of the command; other seeds than those for tuning are refused."""
    asked = parser.parse_args()
    others = sorted(set(asked.seeds) - set(TUNING_SEEDS))
    if others:
        parser.error(f"seeds {others}: expected some of 1 to {TUNING_SEEDS[-1]}, which a preset may be tuned on")
    return asked


def main() -> int:
    """Print the table."""
    parser = arguments(__doc__)
    parser.add_argument("--json", type=Path, help="file for all numbers")
    parser.add_argument("--plot", type=Path, help="picture of the shares by workload")
    asked = checked(parser)
    warnings.simplefilter("ignore", hs.errors.RunWarning)
    rows = [
        case(reading, number, seed, nodes=asked.nodes, jobs=asked.jobs)
        for reading in READINGS
        for number in asked.workloads
        for seed in asked.seeds
    ]
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1))
    if asked.plot:
        save(drawn(rows), asked.plot)
    console().print(shown(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

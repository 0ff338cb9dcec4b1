"""The placement `opportunity-cost`: lowest-power where nodes have no other use, and a plain twin of its prices."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given

import hetsched as hs
from hetsched.policy import parts
from hetsched.testing import APPS, check_schedule, platforms, workloads

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
ORDERS = st.sampled_from(sorted(name for role, name in parts() if role == "order" and name != "observed"))
PLACEMENTS = st.sampled_from(sorted(name for role, name in parts() if role == "placement"))
UNSUITED = {"name": "patience", "patience_s": 4.0, "suited_first": False}
BACKFILLS = st.sampled_from(["none", "first-fit", {"name": "reservations", "depth": 1}, UNSUITED])
TOLERANCES = st.sampled_from([0.0, 0.5, 1.0, 3.0])


def opportunity_cost(tolerance: float = 1.0) -> dict[str, object]:
    return {"name": "opportunity-cost", "tolerance": tolerance}


def simulated(workload: hs.Workload, platform: hs.Platform, *roles: object, seed: int = 0) -> pl.DataFrame:
    order, backfill, placement = roles
    return hs.simulate(
        workload, platform, hs.Policy(order=order, backfill=backfill, placement=placement), seed=seed
    ).jobs


@given(workloads(apps=("heat",)), platforms(apps=("heat",), tables=True, time_ratios=False), ORDERS, BACKFILLS)
def test_one_application_gets_the_nodes_that_draw_least(
    workload: hs.Workload, platform: hs.Platform, order: str, backfill: object
) -> None:
    """Nodes that everybody wants alike have one price for all: it changes who gets none, which is nobody here."""
    columns = workload.to_polars().drop("power_w", strict=False).with_columns(app=pl.lit("heat"))
    alike = hs.Workload.from_polars(columns)
    one, other = (simulated(alike, platform, order, backfill, part) for part in (opportunity_cost(), "lowest-power"))
    assert one.equals(other, null_equal=True)


@given(workloads(), platforms(time_ratios=False), ORDERS, BACKFILLS, PLACEMENTS, TOLERANCES)
def test_where_nodes_are_alike_in_time_it_decides_where_and_never_when(
    workload: hs.Workload, platform: hs.Platform, order: str, backfill: object, placement: str, tolerance: float
) -> None:
    one, other = (
        simulated(workload, platform, order, backfill, part)["start_s"]
        for part in (opportunity_cost(tolerance), placement)
    )
    assert one.equals(other, null_equal=True)


@given(workloads(max_submit_s=0.0, max_runtime_s=9.0), platforms(time_ratios=False), ORDERS, BACKFILLS)
def test_on_an_empty_machine_nodes_are_worth_nothing(
    workload: hs.Workload, platform: hs.Platform, order: str, backfill: object
) -> None:
    """All that starts in the first pass starts where it draws least."""
    lasting = workload.to_polars().with_columns(
        submit_s=pl.lit(0.0), runtime_s=pl.col("runtime_s") + 1.0, walltime_s=pl.lit(20.0)
    )
    one, other = (
        simulated(hs.Workload.from_polars(lasting), platform, order, backfill, part).filter(pl.col("start_s") == 0.0)
        for part in (opportunity_cost(), "lowest-power")
    )
    assert one.select("job_id", "nodes").equals(other.select("job_id", "nodes"))


@given(workloads(max_jobs=14), platforms(), st.sampled_from(["hetsched", "hetsched:patience_s=2"]))
def test_the_preset_keeps_the_laws_and_repeats_itself(
    workload: hs.Workload, platform: hs.Platform, policy: str
) -> None:
    once, again = (hs.simulate(workload, platform, policy) for _ in range(2))
    check_schedule(once, workload, platform)
    assert once.jobs.equals(again.jobs, null_equal=True)
    assert once.timeline.equals(again.timeline, null_equal=True)


# --- A plain twin: one whole pass after the other, prices from `assign_types`.


class Plain:
    """First come first served, first fit, the suited first, on the free nodes of least watts and price."""

    def __init__(self, jobs: pl.DataFrame, watts: np.ndarray, *, tolerance: float, suited_first: bool) -> None:
        self.jobs = list(jobs.iter_rows(named=True))
        self.watts, self.tolerance, self.suited_first = watts, tolerance, suited_first
        self.nodes = watts.shape[1]
        self.demand: dict[int, float] = {}
        self.total = self.priced = 0.0
        self.prices: np.ndarray | None = None
        self.shares: dict[int, int] = {}
        self.seen: tuple[float, int] | None = None
        self.unseen: list[int] = []
        self.busy_node_s = self.all_node_s = 0.0

    def run(self) -> list[tuple[float, list[int]]]:
        """Time and nodes of each job's start."""
        placed: dict[int, tuple[float, list[int]]] = {}
        coming, waiting, ends = list(range(len(self.jobs))), [], {}
        while coming or waiting:
            now = min([self.jobs[row]["submit_s"] for row in coming] + list(ends.values()))
            ends = {row: end for row, end in ends.items() if end > now}
            arrived = [row for row in coming if self.jobs[row]["submit_s"] == now]
            coming = [row for row in coming if row not in arrived]
            waiting += arrived
            free = set(range(self.nodes)) - {node for row in ends for node in placed[row][1]}
            self.unseen += arrived
            self.count_busy(now)
            if free and waiting:
                self.begin()
            sweeps = (True, False) if self.suited_first else (False,)
            for only_suited in sweeps if free and waiting else ():
                for row in list(waiting):
                    app, count = self.jobs[row]["app"], self.jobs[row]["node_count"]
                    if count <= len(free) and (not only_suited or self.suits(app, count, free)):
                        nodes = self.ranked(app, free)[:count]
                        placed[row] = (now, sorted(nodes))
                        ends[row] = now + self.jobs[row]["runtime_s"]
                        free -= set(nodes)
                        waiting.remove(row)
            self.seen = (now, self.nodes - len(free))
        return [placed[row] for row in range(len(self.jobs))]

    def count_busy(self, now: float) -> None:
        """Nodes are busy from pass to pass as each leaves the machine."""
        if self.seen is not None:
            since, were_busy = self.seen
            self.busy_node_s += were_busy * (now - since)
            self.all_node_s += self.nodes * (now - since)

    def begin(self) -> None:
        """Demand counts from a job's first pass on."""
        for row in self.unseen:
            job = self.jobs[row]
            node_s = job["node_count"] * job["runtime_s"]
            self.demand[job["app"]] = self.demand.get(job["app"], 0.0) + node_s
            self.total += node_s
        self.unseen = []
        if self.prices is None or self.total > 1.1 * self.priced:
            self.priced = self.total
            self.price()

    def price(self) -> None:
        """Prices of nodes if the demand so far came for ever: the duals of the transportation problem."""
        apps = sorted(self.demand, key=lambda app: (-self.demand[app], app))
        used = self.nodes * (self.busy_node_s / self.all_node_s if self.all_node_s else 0.0)
        counts = [math.floor(used * self.demand[app] / self.total) for app in apps]
        found = hs.assign_types(self.watts[apps], counts)
        self.prices = -found.column_duals
        self.shares = dict(zip(apps, counts, strict=True))

    def cost(self, app: int) -> np.ndarray:
        assert self.prices is not None
        return self.watts[app] + self.prices

    def ranked(self, app: int, free: set[int]) -> list[int]:
        cost = self.cost(app)
        return sorted(free, key=lambda node: (math.floor(cost[node] * 1e6 + 0.5), self.watts[app][node], node))

    def suits(self, app: int, count: int, free: set[int]) -> bool:
        """True if the best free nodes are on average no worse than the last of the application's share."""
        last = math.floor(self.shares.get(app, 0) * self.tolerance) if app in self.shares else self.nodes
        ranking = self.ranked(app, set(range(self.nodes)))
        if last >= len(ranking):
            return True
        cost = self.cost(app)
        return sum(cost[node] for node in self.ranked(app, free)[:count]) <= cost[ranking[last]] * count


@given(st.integers(0, 10_000), st.integers(3, 9), st.booleans(), st.booleans(), TOLERANCES)
def test_starts_and_nodes_are_those_of_the_plain_twin(
    seed: int, nodes: int, suited_first: bool, times_differ: bool, tolerance: float
) -> None:
    rng, count = np.random.default_rng(seed), 60
    jobs = pl.DataFrame(
        {
            "job_id": np.arange(count),
            "submit_s": np.sort(rng.integers(0, 300, count)).astype(float),
            "runtime_s": rng.integers(5, 40, count).astype(float),
            "node_count": rng.choice([1, 1, 2, 3], count),
            "app": rng.integers(0, len(APPS), count),
        }
    )
    power_w = rng.integers(100, 130, (len(APPS), nodes)).astype(float)
    # A factor is known to the placement, but runs are as long on all nodes: the actual table has none.
    ratio = rng.choice([0.75, 1.0, 1.25], power_w.shape) if times_differ else np.ones_like(power_w)
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=50, tdp_w=300).with_tables(
        actual=hs.VariationTable(APPS, power_w=power_w),
        predicted=hs.VariationTable(APPS, power_w=power_w, time_ratio=ratio),
    )
    named = jobs.with_columns(app=pl.col("app").replace_strict(dict(enumerate(APPS)), return_dtype=pl.String))
    backfill = {"name": "patience", "patience_s": "none", "suited_first": suited_first}
    ours = simulated(hs.Workload.from_polars(named), platform, "fcfs", backfill, opportunity_cost(tolerance))
    plain = Plain(jobs, power_w * ratio, tolerance=tolerance, suited_first=suited_first).run()
    assert [(start, list(nodes)) for start, nodes in ours.select("start_s", "nodes").iter_rows()] == plain

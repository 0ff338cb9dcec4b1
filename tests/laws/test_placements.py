"""Promises of the papers' placements, whatever the jobs, the order and the backfill."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from scipy.optimize import linear_sum_assignment

import hetsched as hs
from hetsched.policy.parts import names_of

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")
# The parts called `observed` repeat a log's own starts, which drawn jobs have not; `plan` leaves a placement no choice.
ORDERS, BACKFILLS = (
    st.sampled_from([name for name in names_of(role) if name not in ("observed", "plan", "slurm")])
    for role in ("order", "backfill")
)
CELLS = ["none", "first-fit", "reservations", {"name": "reservations", "depth": "unbounded"}]
"""Backfills that count nodes by kind."""
PARTS = ("assignment", "lowest-id")
APPS = ["hpcg", "stream", "fft"]
NODES = 12


def crowd(seed: int, *, apps: list[str], runtimes: list[float], unlike: bool = False) -> hs.Workload:
    """Sixty jobs in a few bursts, so that several start together; `unlike`: in draw and communication, too."""
    rng, jobs = np.random.default_rng(seed), 60
    columns = {
        "job_id": np.arange(jobs),
        "submit_s": np.sort(rng.choice([0.0, 50.0, 200.0, 300.0], jobs)),
        "runtime_s": rng.choice(runtimes, jobs),
        "node_count": rng.choice([1, 1, 1, 2, 5], jobs),
        "app": rng.choice(apps, jobs),
    }
    if unlike:
        columns["comm_s"] = rng.choice([0.0, 0.0, 15.0], jobs)
        columns["power_w"] = np.where(rng.random(jobs) < 0.5, rng.uniform(150.0, 300.0, jobs), 0.0)
    return hs.Workload.from_polars(pl.DataFrame(columns))


def machine(seed: int, *, apps: list[str], time_ratio: bool, ratio: bool = False) -> hs.Platform:
    """Twelve nodes that differ by application; watts or factors with many ties."""
    rng, shape = np.random.default_rng(seed), (len(apps), NODES)
    times = rng.choice([0.9, 1.0, 1.2], shape) if time_ratio else None
    if ratio:
        table = hs.VariationTable(apps, power_ratio=rng.choice([0.8, 0.9, 1.0, 1.1], shape), time_ratio=times)
    else:
        table = hs.VariationTable(apps, power_w=rng.choice([200.0, 210.0, 230.0, 255.5], shape), time_ratio=times)
    return hs.Platform.homogeneous(nodes=NODES, idle_w=100.0, tdp_w=300.0).with_tables(actual=table)


def free_after(jobs: pl.DataFrame, now: float, *, starts_too: bool) -> list[int]:
    """Nodes that serve nobody at `now`, after its ends and before (or after) its starts."""
    before = pl.col("start_s") <= now if starts_too else pl.col("start_s") < now
    busy = jobs.filter(before & (pl.col("end_s") > now))["nodes"].explode().to_list()
    return sorted(set(range(NODES)) - set(busy))


@given(st.integers(0, 10_000), ORDERS, BACKFILLS, st.booleans(), st.booleans())
def test_coa_starts_the_matching_of_least_weight(
    seed: int, order: str, backfill: str, time_ratio: bool, ratio: bool
) -> None:
    """Twin: scipy on one row a node asked for (eq. 11), in every pass."""
    workload = crowd(seed, apps=APPS, runtimes=[10.0, 20.0, 35.0, 90.0], unlike=True)
    platform = machine(seed, apps=APPS, time_ratio=time_ratio, ratio=ratio)
    jobs = hs.simulate(workload, platform, hs.Policy(order, backfill, "assignment")).jobs
    weight = np.array([weights(platform, job) for job in jobs.iter_rows(named=True)])
    for (now,), started in jobs.with_row_index("row").group_by("start_s"):
        rows = started.select("row", "nodes").explode("nodes")
        chosen = weight[rows["row"].to_numpy(), rows["nodes"].to_numpy()].sum()
        expanded = weight[rows["row"].to_numpy()][:, free_after(jobs, now, starts_too=False)]
        assert chosen == pytest.approx(expanded[linear_sum_assignment(expanded)].sum(), rel=1e-12)


KINDS = [kind for kind in (0, 1, 2) for _ in range(NODES // 3)]
"""Memory of each node, in GB."""


@given(st.integers(0, 10_000), ORDERS, st.sampled_from(CELLS), st.booleans())
def test_coa_starts_the_matching_of_least_weight_within_each_jobs_cells(
    seed: int, order: str, backfill: str | dict[str, object], time_ratio: bool
) -> None:
    """Twin: scipy, to which all nodes of a kind beyond a job's number there cost infinitely much."""
    workload, platform = asking(seed), unlike_machine(seed, time_ratio=time_ratio)
    jobs = hs.simulate(workload, platform, hs.Policy(order, backfill, "assignment")).jobs
    asked = workload.to_polars()["memory_gb"]
    weight = np.array([weights(platform, job) for job in jobs.iter_rows(named=True)])
    memory = np.array(KINDS)
    for (now,), started in jobs.with_row_index("row").drop_nulls("start_s").group_by("start_s"):
        rows = started.select("row", "nodes").explode("nodes")
        row, nodes = rows["row"].to_numpy(), rows["nodes"].to_numpy()
        assert (memory[nodes] >= asked.fill_null(0).to_numpy()[row]).all()
        expanded = np.where(memory[nodes][:, None] == memory, weight[row], np.inf)
        expanded = expanded[:, free_after(jobs, now, starts_too=False)]
        assert weight[row, nodes].sum() == pytest.approx(expanded[linear_sum_assignment(expanded)].sum(), rel=1e-12)


@given(st.integers(0, 10_000), ORDERS, st.sampled_from(CELLS))
def test_coa_starts_jobs_on_as_many_nodes_of_each_kind_as_any_placement(
    seed: int, order: str, backfill: str | dict[str, object]
) -> None:
    """Nodes are equally fast, so that they matter to no start."""
    workload, platform = asking(seed), unlike_machine(seed, time_ratio=False)
    one, other = (hs.simulate(workload, platform, hs.Policy(order, backfill, part)).jobs for part in PARTS)
    assert one["start_s"].equals(other["start_s"])
    kinds = [
        [None if nodes is None else sorted(KINDS[node] for node in nodes) for nodes in jobs["nodes"]]
        for jobs in (one, other)
    ]
    assert kinds[0] == kinds[1]


def asking(seed: int) -> hs.Workload:
    """A crowd of which some ask for memory."""
    frame = crowd(seed, apps=APPS, runtimes=[10.0, 20.0, 35.0, 90.0], unlike=True).to_polars()
    memory = np.random.default_rng(seed).choice([0.0, 0.0, 1.0, 2.0], len(frame))
    return hs.Workload.from_polars(frame.with_columns(memory_gb=pl.Series(memory)))


def unlike_machine(seed: int, *, time_ratio: bool) -> hs.Platform:
    """The machine, with memory."""
    classes = [
        {"name": f"m{kind}", "count": NODES // 3, "idle_w": 100.0, "tdp_w": 300.0, "memory_gb": kind}
        for kind in range(3)
    ]
    return hs.Platform(classes).with_tables(actual=machine(seed, apps=APPS, time_ratio=time_ratio).actual)


def weights(platform: hs.Platform, job: dict[str, object]) -> np.ndarray:
    """Predicted watts × (nominal runtime × time factor + communication) on every node (COA paper, eq. 11)."""
    table = platform.actual
    assert table is not None
    row = table.apps.index(job["app"])
    times = np.ones(NODES) if table.time_ratio is None else table.time_ratio[row]
    nominal = job["power_w"] if job["power_w"] and job["power_w"] > 0 else 300.0
    draw = table.power_w[row] if table.power_w is not None else nominal * table.power_ratio[row]
    return draw * (job["nominal_runtime_s"] * times + job["comm_s"])


@given(st.integers(0, 10_000), ORDERS, BACKFILLS)
def test_one_application_of_equal_lengths_costs_coa_what_it_costs_paa(seed: int, order: str, backfill: str) -> None:
    workload = crowd(seed, apps=["hpcg"], runtimes=[60.0])
    platform = machine(seed, apps=["hpcg"], time_ratio=False)
    policies = (hs.Policy(order, backfill, part) for part in ("assignment", "best-rank"))
    coa, paa = (hs.simulate(workload, platform, policy) for policy in policies)
    assert coa.summary()["job_energy_j"] == paa.summary()["job_energy_j"]
    assert coa.jobs["start_s"].equals(paa.jobs["start_s"])


def test_the_longer_job_gets_the_cheaper_node() -> None:
    # Both start at once on nodes of 250 and 200 W: 100 s × 200 W + 10 s × 250 W is less than the other way round.
    frame = pl.DataFrame(
        {"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [10, 100], "node_count": [1, 1], "app": ["a", "a"]}
    )
    table = hs.VariationTable(["a"], power_w=np.array([[250.0, 200.0]]))
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0).with_tables(actual=table)
    result = hs.simulate(hs.Workload.from_polars(frame), platform, "coa")
    assert result.jobs["nodes"].to_list() == [[0], [1]]
    assert result.summary()["job_energy_j"] == 22_500.0


def test_jobs_of_equal_weights_take_nodes_in_id_order_as_they_queue() -> None:
    # A measured draw changes nothing where the table has watts, nor does the name of a row of equal watts.
    frame = pl.DataFrame(
        {
            "job_id": [1, 2, 3],
            "submit_s": [0, 0, 0],
            "runtime_s": [60, 60, 60],
            "node_count": [1, 1, 1],
            "app": ["a", "b", "a"],
            "power_w": [None, 250.0, None],
        }
    )
    table = hs.VariationTable(["a", "b"], power_w=np.array([[100.0, 200.0, 300.0]] * 2))
    platform = hs.Platform.homogeneous(nodes=3, idle_w=50.0, tdp_w=300.0).with_tables(actual=table)
    assert hs.simulate(hs.Workload.from_polars(frame), platform, "coa").jobs["nodes"].to_list() == [[0], [1], [2]]


def test_an_interval_gathers_jobs_for_the_matching() -> None:
    frame = pl.DataFrame(
        {"job_id": [1, 2], "submit_s": [1, 2], "runtime_s": [10, 100], "node_count": [1, 1], "app": ["a", "a"]}
    )
    table = hs.VariationTable(["a"], power_w=np.array([[250.0, 200.0]]))
    platform = hs.Platform.homogeneous(nodes=2, idle_w=100.0, tdp_w=300.0).with_tables(actual=table)
    at_once, gathered = (
        hs.simulate(hs.Workload.from_polars(frame), platform, hs.Policy.preset("coa", interval_s=seconds)).jobs
        for seconds in (0, 30)
    )
    assert at_once.select("start_s", "nodes").rows() == [(1.0, [1]), (2.0, [0])]
    assert gathered.select("start_s", "nodes").rows() == [(30.0, [0]), (30.0, [1])]


@given(st.integers(0, 10_000), ORDERS, BACKFILLS, st.integers(NODES, 40), st.sampled_from(["narrowest", "wait"]))
def test_a_window_as_wide_as_the_machine_takes_the_best_free_nodes(
    seed: int, order: str, backfill: str, window: int, on_miss: str
) -> None:
    workload = crowd(seed, apps=APPS, runtimes=[10.0, 35.0, 90.0])
    platform = machine(seed, apps=APPS, time_ratio=True)
    swa = {"name": "sliding-window", "window": window, "on_miss": on_miss}
    best = {"name": "best-rank", "rank": "time"}
    one, other = (hs.simulate(workload, platform, hs.Policy(order, backfill, part)) for part in (swa, best))
    assert one.jobs.equals(other.jobs)


@given(st.integers(0, 10_000), BACKFILLS, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_no_pool_is_touched_while_a_better_one_has_free_nodes(
    seed: int, backfill: str, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    workload = crowd(seed, apps=APPS, runtimes=[10.0, 35.0, 90.0])
    platform = machine(seed, apps=APPS, time_ratio=False)
    policy = hs.Policy("fcfs", backfill, {"name": "pools", "u_l": low, "u_h": high})
    jobs = hs.simulate(workload, platform, policy, seed=seed).jobs
    table = platform.actual
    assert table is not None
    ranking = np.argsort(np.asarray(table.power_w).mean(axis=0), kind="stable")
    pool = np.empty(NODES, dtype=int)
    pool[ranking] = np.searchsorted(np.floor(np.array([low, high]) * NODES + 0.5), np.arange(NODES), side="right")
    for (now,), started in jobs.group_by("start_s"):
        worst_used = pool[started["nodes"].explode().to_numpy()].max()
        free = free_after(jobs, now, starts_too=True)
        assert not free or pool[free].min() >= worst_used


@given(st.integers(0, 10_000), ORDERS, BACKFILLS, st.sampled_from([(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]))
def test_one_pool_alone_is_random(seed: int, order: str, backfill: str, borders: tuple[float, float]) -> None:
    workload = crowd(seed, apps=APPS, runtimes=[10.0, 35.0, 90.0])
    platform = machine(seed, apps=APPS, time_ratio=True)
    pools = {"name": "pools", "u_l": borders[0], "u_h": borders[1]}
    policies = (hs.Policy(order, backfill, part) for part in (pools, "random"))
    one, other = (hs.simulate(workload, platform, policy, seed=seed) for policy in policies)
    assert one.jobs.equals(other.jobs)


def test_an_interval_is_none_or_a_microsecond_or_more() -> None:
    assert hs.Policy.preset("coa", interval_s=1e-6).parts["placement"] == {"name": "assignment", "interval_s": 1e-6}
    for seconds in (1e-9, -1, 1e13, float("nan"), "soon"):
        with pytest.raises(hs.ConfigError, match=r"interval_s: found .*, expected 0, or seconds from 1e-6 to 1e12"):
            hs.Policy.preset("coa", interval_s=seconds)


def test_measured_borders_of_a_run_that_is_stopped_are_of_what_was_run() -> None:
    workload, platform = crowd(5, apps=APPS, runtimes=[10.0, 35.0, 90.0]), machine(5, apps=APPS, time_ratio=False)
    stopped = hs.simulate(workload, platform, hs.Policy.preset("pool", measured=True), seed=4, until_s=120.0)
    timeline = hs.simulate(workload, platform, "random", seed=4, until_s=120.0).timeline
    shares, lengths = timeline["busy_nodes"].to_numpy() / NODES, np.diff(timeline["time_s"].to_numpy())
    order = np.argsort(shares[:-1], kind="stable")
    median = shares[:-1][order][np.searchsorted(lengths[order].cumsum(), lengths.sum() / 2)]
    band = shares[np.argmax(shares >= median) :]
    part = stopped.provenance["policy"]["placement"]
    assert (part["u_l"], part["u_h"]) == (band.min(), band.max())


def test_measured_borders_are_those_of_the_random_run() -> None:
    workload, platform = crowd(5, apps=APPS, runtimes=[10.0, 35.0, 90.0]), machine(5, apps=APPS, time_ratio=False)
    measured = hs.simulate(workload, platform, hs.Policy.preset("pool", measured=True), seed=4)
    timeline = hs.simulate(workload, platform, "random", seed=4).timeline.filter(pl.col("time_s") <= 300.0)
    # The median share is 1 here: once full, the machine is counted until the last submit at 300 s.
    full = timeline["busy_nodes"].to_list().index(NODES)
    band = [busy / NODES for busy in timeline["busy_nodes"].to_list()[full:]]
    part = measured.provenance["policy"]["placement"]
    assert (part["u_l"], part["u_h"]) == (min(band), max(band))
    given = hs.simulate(workload, platform, hs.Policy.preset("pool", u_l=part["u_l"], u_h=part["u_h"]), seed=4)
    assert measured.jobs.equals(given.jobs)

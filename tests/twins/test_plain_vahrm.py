"""The engine beside plain Python under a power budget, start by start and node by node: VAHRM, and every backfill."""

from __future__ import annotations

from bisect import bisect_right
from math import inf
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from plain_vahrm import SECOND, Job, Machine, Rules, Schedule, schedule

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")

APPS = ("heat", "flow", "grid")
BACKFILLS: dict[float | None, Any] = {
    None: "none",
    0: "first-fit",
    1: {"name": "reservations", "depth": 1},
    2: {"name": "reservations", "depth": 2},
    inf: {"name": "reservations", "depth": "unbounded"},
}


def workload_of(jobs: list[Job]) -> hs.Workload:
    """Jobs in microseconds as a workload in seconds."""
    columns = {
        "job_id": list(range(1, len(jobs) + 1)),
        "submit_s": [job.submit / SECOND for job in jobs],
        "runtime_s": [job.runtime / SECOND for job in jobs],
        "node_count": [job.node_count for job in jobs],
        "walltime_s": pl.Series(
            [None if job.walltime is None else job.walltime / SECOND for job in jobs], dtype=pl.Float64
        ),
        "app": [job.app for job in jobs],
        "first_run": pl.Series([job.first_run for job in jobs], dtype=pl.Boolean),
    }
    return hs.Workload.from_polars(pl.DataFrame(columns))


def platform_of(machine: Machine, actual_w: dict[str, list[int]] | None) -> hs.Platform:
    """The twin's machine; without `actual_w` predictions are exact."""
    tables = [
        hs.VariationTable(list(rows), power_w=np.array(list(rows.values()), dtype=np.float64))
        for rows in (actual_w or machine.predicted_w, machine.predicted_w)
    ]
    platform = hs.Platform.homogeneous(
        nodes=machine.nodes, idle_w=[float(watts) for watts in machine.idle_w], tdp_w=float(machine.tdp_w[0])
    )
    return platform.with_tables(actual=tables[0], predicted=tables[1] if actual_w else None)


def policy_of(rules: Rules) -> hs.Policy:
    order: dict[str, Any] = {"name": "fcfs"}
    if rules.by_vahrm:
        limit = rules.starvation_limit
        order = {
            "name": "vahrm",
            "beta": rules.beta,
            "length": "walltime" if rules.by_walltime else "runtime",
            "starvation_limit_s": "none" if limit == inf else limit / SECOND,
            "first_run": rules.profiling_ratio is not None,
            "profiling_ratio": rules.profiling_ratio or 1.05,
        }
    power = None if rules.budget_w is None else {"name": "system-budget", "budget_w": rules.budget_w}
    placement = "lowest-power" if rules.lowest_power else "lowest-id"
    return hs.Policy(order=order, backfill=BACKFILLS[rules.depth], placement=placement, power=power)


def microseconds(column: pl.Series) -> list[int | None]:
    return [None if value is None else round(value * SECOND) for value in column]


def assert_agree(
    jobs: list[Job], machine: Machine, rules: Rules, *, nodes: bool = True, actual_w: dict[str, list[int]] | None = None
) -> Schedule:
    """The first job on which they differ is named with both answers."""
    twin = schedule(jobs, machine, rules)
    result = hs.simulate(workload_of(jobs), platform_of(machine, actual_w), policy_of(rules)).jobs.sort("job_id")
    profiled = result["profiled"].to_list() if rules.profiling_ratio is not None else [False] * len(jobs)
    nothing = [None] * len(jobs)
    theirs = zip(
        *(microseconds(result[name]) for name in ("start_s", "end_s")),
        *(result["started_by"], result["state"], profiled, result["nodes"].to_list() if nodes else nothing),
        strict=True,
    )
    ours = zip(
        *(twin.start, twin.end, twin.started_by, twin.state, twin.profiled, twin.nodes if nodes else nothing),
        strict=True,
    )
    for number, (engine, plain) in enumerate(zip(theirs, ours, strict=True), start=1):
        assert engine == plain, f"job {number}: the engine says {engine}, the twin {plain}"
    return twin


def watts_rows(nodes: int, *, equal: bool = False) -> st.SearchStrategy[dict[str, list[int]]]:
    """Whole watts by application and node, some below idle, some above TDP; `equal`: the same on all nodes."""
    watts = st.sampled_from([40, 120, 150, 151, 200, 260, 310])
    row = watts.map(lambda w: [w] * nodes) if equal else st.lists(watts, min_size=nodes, max_size=nodes)
    return st.fixed_dictionaries(dict.fromkeys(APPS, row))


@st.composite
def machines(draw: st.DrawFn, *, equal: bool = False, unlike_idle: bool = False) -> Machine:
    nodes = draw(st.integers(1, 5))
    idle = st.lists(st.sampled_from([0, 50, 90]), min_size=nodes, max_size=nodes)
    idle_w = draw(idle) if unlike_idle else [draw(st.sampled_from([0, 90]))] * nodes
    return Machine(idle_w, [300] * nodes, draw(watts_rows(nodes, equal=equal)))


@st.composite
def traces(draw: st.DrawFn, nodes: int, *, flags: bool = False) -> list[Job]:
    """Equal times, kills, zero lengths and jobs that are too large abound."""
    margins = st.sampled_from([None, None, -2, 0, 0, 1, 4])
    flag = st.sampled_from([None, None, True, False]) if flags else st.none()

    def job(submit: int, runtime: int, count: int, margin: int | None, app: str, first_run: bool | None) -> Job:
        walltime = None if margin is None else max(1, runtime + margin) * SECOND
        return Job(submit * SECOND, runtime * SECOND, count, walltime, app, first_run)

    runtimes = st.sampled_from([0, 1, 2, 3, 5, 8, 13])
    counts = st.integers(1, max(1, nodes // 2)) | st.integers(1, nodes) | st.integers(1, nodes + 1)
    jobs = st.builds(job, st.integers(0, 12), runtimes, counts, margins, st.sampled_from(APPS), flag)
    return draw(st.lists(jobs, min_size=1, max_size=10))


def budgets(machine: Machine) -> st.SearchStrategy[float | None]:
    """None, or from the idle machine's draw on to where it can hardly bind."""
    idle, most = sum(machine.idle_w), 260 * machine.nodes
    tight = st.integers(max(idle, 1), max(idle, most)).map(float)
    return st.none() | tight | tight | tight


DEPTHS = st.sampled_from(list(BACKFILLS))


@given(st.data())
def test_fcfs_under_a_budget_agrees_with_every_backfill(data: st.DataObject) -> None:
    machine = data.draw(machines())
    jobs = data.draw(traces(machine.nodes))
    budget_w, lowest_power = data.draw(budgets(machine)), data.draw(st.booleans())
    for depth in BACKFILLS:
        assert_agree(jobs, machine, Rules(depth, lowest_power=lowest_power, budget_w=budget_w))


def vahrm_rules(budget_w: st.SearchStrategy[float | None], **others: Any) -> st.SearchStrategy[Rules]:
    """VAHRM with all its parameters but first runs, and other backfills than its own now and then."""
    return st.builds(
        Rules,
        depth=st.just(0) | st.just(0) | DEPTHS,
        by_vahrm=st.just(True),
        beta=st.sampled_from([0.0, 0.25**6, 1 / 64, 0.5, 1.0]),
        by_walltime=st.booleans(),
        starvation_limit=st.sampled_from([inf, 0, 4 * SECOND, 4 * SECOND, 9_500_000]),
        lowest_power=st.just(True) | st.booleans(),
        budget_w=budget_w,
        **others,
    )


@given(st.data())
def test_vahrm_agrees(data: st.DataObject) -> None:
    machine = data.draw(machines())
    jobs = data.draw(traces(machine.nodes))
    assert_agree(jobs, machine, data.draw(vahrm_rules(budgets(machine))))


@given(st.data())
def test_decisions_follow_the_predicted_table_and_only_it(data: st.DataObject) -> None:
    machine = data.draw(machines())
    jobs = data.draw(traces(machine.nodes))
    actual_w = data.draw(watts_rows(machine.nodes))
    assert_agree(jobs, machine, data.draw(vahrm_rules(budgets(machine))), actual_w=actual_w)


@given(st.data())
def test_nodes_that_idle_at_unlike_watts_agree(data: st.DataObject) -> None:
    machine = data.draw(machines(unlike_idle=True))
    jobs = data.draw(traces(machine.nodes))
    assert_agree(jobs, machine, data.draw(vahrm_rules(budgets(machine))))


@given(st.data())
def test_first_runs_agree(data: st.DataObject) -> None:
    """They go to random nodes: on nodes that are all alike every start is determined all the same."""
    machine = data.draw(machines(equal=True))
    jobs = data.draw(traces(machine.nodes, flags=True))
    ratio = st.sampled_from([1.05, 1.5])
    assert_agree(jobs, machine, data.draw(vahrm_rules(budgets(machine), profiling_ratio=ratio)), nodes=False)


def seeded(count: int, nodes: int, seed: int) -> tuple[list[Job], Machine]:
    """A deep queue on a machine whose nodes differ by some percent."""
    rng = np.random.default_rng(seed)
    size = np.minimum(2 ** rng.integers(0, 5, count), nodes)
    runtime = np.clip(rng.lognormal(6.0, 1.5, count), 1.0, 20_000.0).astype(np.int64)
    span = float((size * runtime).sum()) / (1.1 * nodes)
    submit = np.sort(rng.uniform(0.0, span, count)).astype(np.int64)
    walltime = np.ceil(runtime * rng.choice([0.9, 1.0, 1.5, 3.0], count)).astype(np.int64)
    jobs = [
        Job(int(s) * SECOND, int(r) * SECOND, int(n), int(w) * SECOND if asked else None, str(app))
        for s, r, n, w, asked, app in zip(
            *(submit, runtime, size, walltime, rng.random(count) < 0.5, rng.choice(APPS, count)), strict=True
        )
    ]
    watts = {
        app: [int(w) for w in rng.normal(mean, mean / 20, nodes)]
        for app, mean in zip(APPS, (150, 200, 270), strict=True)
    }
    return jobs, Machine([90] * nodes, [300] * nodes, watts)


@pytest.mark.parametrize("depth", [None, 0, 1, inf])
@pytest.mark.parametrize("by_vahrm", [True, False])
def test_a_deep_queue_under_a_tight_budget_agrees(depth: float | None, by_vahrm: bool) -> None:
    jobs, machine = seeded(400, nodes=24, seed=4)
    rules = Rules(depth, by_vahrm=by_vahrm, starvation_limit=86_400 * SECOND, budget_w=0.6 * 300 * 24)
    twin = assert_agree(jobs, machine, rules)
    assert max(start - job.submit for start, job in zip(twin.start, jobs, strict=True) if start is not None) > 0


@pytest.mark.parametrize("by_vahrm", [False, True])
@pytest.mark.parametrize("depth", list(BACKFILLS))
def test_deep_queues_under_a_budget_agree(depth: float | None, by_vahrm: bool) -> None:
    """Deeper than a block of the queue, with jobs of length zero in it and a budget for two thirds of the nodes."""
    rng = np.random.default_rng(5)
    count, nodes = 150, 12
    runtimes = rng.choice([0, 5, 20, 60, 200], count)
    walltimes = np.maximum(1, runtimes * rng.choice([1, 1, 2, 5], count))
    jobs = [
        Job(int(submit) * SECOND, int(runtime) * SECOND, int(size), int(walltime) * SECOND, str(app))
        for submit, runtime, size, walltime, app in zip(
            np.sort(rng.integers(0, 300, count)),
            runtimes,
            rng.integers(1, nodes, count),
            walltimes,
            rng.choice(APPS, count),
            strict=True,
        )
    ]
    machine = Machine([90] * nodes, [300] * nodes, {app: rng.integers(120, 300, nodes).tolist() for app in APPS})
    twin = assert_agree(jobs, machine, Rules(depth, by_vahrm=by_vahrm, budget_w=90.0 * nodes + 8 * 130.0))
    starts = sorted(start for start in twin.start if start is not None)
    waiting = sum(job.submit <= 300 * SECOND for job in jobs) - bisect_right(starts, 300 * SECOND)
    assert waiting > 80

"""The engine against the plain-Python scheduler and the textbook's EASY: every start, end, cause, state and node."""

from __future__ import annotations

from itertools import product
from math import inf
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, note, settings
from plain_scheduler import CANDIDATES, ORDERS, CountedNodes, Job, NamedNodes, Schedule, schedule
from textbook_easy import textbook_easy

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")

SECOND = 1_000_000
BACKFILLS: dict[float | None, Any] = {
    None: "none",
    0: "first-fit",
    1: {"name": "reservations", "depth": 1},
    2: {"name": "reservations", "depth": 2},
    3: {"name": "reservations", "depth": 3},
    inf: hs.Policy.preset("conservative").to_dict()["backfill"],
}


def seconds(ticks: int | None) -> float | None:
    return None if ticks is None else ticks / SECOND


def workload_of(jobs: list[Job]) -> hs.Workload:
    """Jobs in microseconds as a workload in seconds."""
    rows = [
        (number, seconds(j.submit), seconds(j.runtime), j.node_count, seconds(j.walltime), j.slots, "any")
        for number, j in enumerate(jobs, start=1)
    ]
    schema = {
        "job_id": pl.Int64,
        "submit_s": pl.Float64,
        "runtime_s": pl.Float64,
        "node_count": pl.Int64,
        "walltime_s": pl.Float64,
        "slots": pl.Int64,
        "app": pl.String,
    }
    return hs.Workload.from_polars(pl.DataFrame(rows, schema=schema, orient="row"))


def platform_of(
    nodes: int, *, slots: int = 1, time_ratio: list[float] | None = None, predicted_ratio: list[float] | None = None
) -> hs.Platform:
    """Nodes of equal slots, shared if there is more than one; the table, if any, holds for every application."""
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=100.0, tdp_w=300.0, slots=slots, exclusive=slots == 1)
    if time_ratio is None:
        return platform
    actual, predicted = (
        hs.VariationTable(apps=["*"], power_w=np.full((1, nodes), 250.0), time_ratio=np.array([ratio or time_ratio]))
        for ratio in (time_ratio, predicted_ratio)
    )
    return platform.with_tables(actual=actual, predicted=predicted)


def microseconds(column: pl.Series) -> list[int | None]:
    return [None if value is None else round(value * SECOND) for value in column]


def assert_agree(result: hs.Result, twin: Schedule, *, nodes: bool) -> None:
    """The first job on which they differ is named with both answers."""
    jobs = result.jobs.sort("job_id")
    theirs = zip(
        microseconds(jobs["start_s"]),
        microseconds(jobs["end_s"]),
        jobs["started_by"],
        jobs["state"],
        jobs["nodes"].to_list() if nodes else [None] * len(jobs),
        strict=True,
    )
    ours = zip(
        twin.start, twin.end, twin.started_by, twin.state, twin.nodes if nodes else [None] * len(jobs), strict=True
    )
    for number, (engine, plain) in enumerate(zip(theirs, ours, strict=True), start=1):
        assert engine == plain, f"job {number}: the engine says {engine}, the twin {plain}"


@st.composite
def traces(draw: st.DrawFn, *, max_nodes: int = 6, slots: int = 1, max_jobs: int = 10) -> tuple[list[Job], int]:
    """Jobs and the number of nodes they meet: equal times, kills, zero lengths and jobs that are too large abound."""
    nodes = draw(st.integers(1, max_nodes))
    runtimes = st.sampled_from([0, 1, 2, 3, 5, 8, 13])
    margins = st.sampled_from([None, -2, -1, 0, 0, 1, 4])
    job_slots = st.none() if slots == 1 else st.one_of(st.none(), st.integers(1, slots + 1))

    def job(submit: int, runtime: int, node_count: int, margin: int | None, slots: int | None) -> Job:
        walltime = None if margin is None else max(1, runtime + margin) * SECOND
        return Job(submit * SECOND, runtime * SECOND, node_count, walltime, slots)

    jobs = st.builds(
        job, st.integers(0, 12), runtimes, st.integers(1, nodes) | st.integers(1, nodes + 1), margins, job_slots
    )
    return draw(st.lists(jobs, min_size=1, max_size=max_jobs)), nodes


def assert_all_backfills_agree(
    trace: tuple[list[Job], int],
    *,
    order: str = "fcfs",
    slots: int = 1,
    time_ratio: list[float] | None = None,
    predicted_ratio: list[float] | None = None,
    stretch: bool = False,
    kill_grace: int = 0,
) -> None:
    """Runs one trace twelve times: under every backfill, with and without the kill."""
    jobs, nodes = trace
    ratios = {"time_ratio": time_ratio, "predicted_ratio": predicted_ratio}
    workload, platform = workload_of(jobs), platform_of(nodes, slots=slots, **ratios)
    options = {"walltimes": "stretch" if stretch else "fixed", "kill_grace_s": seconds(kill_grace)}
    for depth, kill in product(BACKFILLS, (True, False)):
        policy = hs.Policy(order=order, backfill=BACKFILLS[depth], placement="lowest-id")
        result = hs.simulate(workload, platform, policy=policy, kill_at_walltime=kill, **options)
        twin = schedule(
            jobs,
            NamedNodes(nodes, slots),
            depth=depth,
            order=order,
            kill_at_walltime=kill,
            kill_grace=kill_grace,
            stretch=stretch,
            **ratios,
        )
        note(f"{policy}, kill_at_walltime={kill}, {options}, {nodes} nodes")
        assert_agree(result, twin, nodes=True)


@given(traces())
def test_fcfs_order_agrees(trace: tuple[list[Job], int]) -> None:
    assert_all_backfills_agree(trace)


@given(traces(), st.sampled_from(sorted(set(ORDERS) - {"fcfs"})))
def test_other_orders_agree(trace: tuple[list[Job], int], order: str) -> None:
    assert_all_backfills_agree(trace, order=order)


@given(traces(max_nodes=4, slots=4), st.sampled_from(sorted(ORDERS)))
def test_shared_nodes_agree(trace: tuple[list[Job], int], order: str) -> None:
    assert_all_backfills_agree(trace, order=order, slots=4)


@given(traces(), st.lists(st.sampled_from([0.5, 1.0, 1.1, 1.3333333]), min_size=6, max_size=6))
def test_stretched_runtimes_agree(trace: tuple[list[Job], int], time_ratio: list[float]) -> None:
    assert_all_backfills_agree(trace, time_ratio=time_ratio[: trace[1]])


RATIOS = st.lists(st.sampled_from([0.5, 0.75, 1.0, 1.0, 1.1, 1.3333333, 2.0]), min_size=6, max_size=6)


@given(traces(), st.sampled_from(sorted(ORDERS)), RATIOS, st.none() | RATIOS, st.sampled_from([0, 1, 2 * SECOND]))
def test_walltimes_that_stretch_agree(
    trace: tuple[list[Job], int],
    order: str,
    time_ratio: list[float],
    predicted_ratio: list[float] | None,
    kill_grace: int,
) -> None:
    ratios = {"time_ratio": time_ratio[: trace[1]], "predicted_ratio": predicted_ratio and predicted_ratio[: trace[1]]}
    assert_all_backfills_agree(trace, order=order, stretch=True, kill_grace=kill_grace, **ratios)


@given(traces(max_nodes=4, slots=4), RATIOS, st.none() | RATIOS, st.sampled_from([0, 3 * SECOND]))
def test_walltimes_that_stretch_on_shared_nodes_agree(
    trace: tuple[list[Job], int], time_ratio: list[float], predicted_ratio: list[float] | None, kill_grace: int
) -> None:
    ratios = {"time_ratio": time_ratio[: trace[1]], "predicted_ratio": predicted_ratio and predicted_ratio[: trace[1]]}
    assert_all_backfills_agree(trace, slots=4, stretch=True, kill_grace=kill_grace, **ratios)


@given(traces(), st.sampled_from([1, SECOND, 3 * SECOND]), st.none() | RATIOS)
def test_a_grace_agrees(trace: tuple[list[Job], int], kill_grace: int, time_ratio: list[float] | None) -> None:
    assert_all_backfills_agree(trace, kill_grace=kill_grace, time_ratio=time_ratio and time_ratio[: trace[1]])


def textbook_answers(jobs: list[Job], nodes: int, kill: bool) -> list[Any]:
    return textbook_easy([job[:4] for job in jobs], nodes, kill_at_walltime=kill)


@given(traces(max_jobs=14))
def test_easy_is_the_textbooks(trace: tuple[list[Job], int]) -> None:
    jobs, nodes = trace
    workload, platform = workload_of(jobs), platform_of(nodes)
    for kill in (True, False):
        rows = hs.simulate(workload, platform, policy="easy", kill_at_walltime=kill).jobs.sort("job_id")
        columns = zip(microseconds(rows["start_s"]), microseconds(rows["end_s"]), rows["started_by"], strict=True)
        answers = [None if start is None else (start, end, how) for start, end, how in columns]
        assert answers == textbook_answers(jobs, nodes, kill)


@given(traces(max_jobs=14))
def test_the_two_twins_agree_on_easy(trace: tuple[list[Job], int]) -> None:
    jobs, nodes = trace
    for kill in (True, False):
        twin = schedule(jobs, CountedNodes(nodes), depth=1, kill_at_walltime=kill)
        columns = zip(twin.start, twin.end, twin.started_by, strict=True)
        answers = [None if start is None else (start, end, how) for start, end, how in columns]
        assert answers == textbook_answers(jobs, nodes, kill)


@given(traces(), st.sampled_from(sorted(ORDERS)), st.sampled_from(sorted(CANDIDATES)), st.sampled_from([1, 2, 3]))
def test_candidates_in_an_order_of_their_own_agree(
    trace: tuple[list[Job], int], order: str, candidates: str, depth: int
) -> None:
    jobs, nodes = trace
    backfill = {"name": "reservations", "depth": depth, "order": candidates}
    result = hs.simulate(workload_of(jobs), platform_of(nodes), hs.Policy(order, backfill))
    assert_agree(result, schedule(jobs, NamedNodes(nodes), depth=depth, order=order, candidates=candidates), nodes=True)


@given(traces(max_nodes=4, slots=4), st.sampled_from(sorted(CANDIDATES)), st.sampled_from([1, 2]))
def test_candidates_on_shared_nodes_agree(trace: tuple[list[Job], int], candidates: str, depth: int) -> None:
    jobs, nodes = trace
    policy = hs.Policy(backfill={"name": "reservations", "depth": depth, "order": candidates})
    result = hs.simulate(workload_of(jobs), platform_of(nodes, slots=4), policy)
    assert_agree(result, schedule(jobs, NamedNodes(nodes, 4), depth=depth, candidates=candidates), nodes=True)


@given(traces())
def test_easy_sjbf_agrees_with_the_textbook(trace: tuple[list[Job], int]) -> None:
    jobs, nodes = trace
    rows = hs.simulate(workload_of(jobs), platform_of(nodes), "easy:backfill.order=shortest").jobs.sort("job_id")
    columns = zip(microseconds(rows["start_s"]), microseconds(rows["end_s"]), rows["started_by"], strict=True)
    answers = textbook_easy([job[:4] for job in jobs], nodes, shortest_first=True)
    assert [None if start is None else (start, end, how) for start, end, how in columns] == answers


@pytest.mark.parametrize("candidates", sorted(CANDIDATES))
@pytest.mark.parametrize("depth", [1, 3])
def test_candidates_in_queues_of_hundreds_agree(candidates: str, depth: int) -> None:
    """Deeper than a block of the queue, so that those are passed over that have left it."""
    jobs = seeded_trace(1_500, nodes=64, load=1.6, seed=depth)
    policy = hs.Policy.preset("easy", depth=depth, **{"backfill.order": candidates})
    result = hs.simulate(workload_of(jobs), platform_of(64), policy)
    assert result.timeline["queued_jobs"].max() > 100
    assert_agree(result, schedule(jobs, CountedNodes(64), depth=depth, candidates=candidates), nodes=False)


@pytest.mark.parametrize("candidates", ["fcfs", "shortest", "largest"])
def test_candidates_of_users_of_whom_only_so_many_jobs_may_run_agree(candidates: str) -> None:
    jobs = seeded_trace(1_500, nodes=64, load=1.2, seed=6)
    users = np.random.default_rng(6).choice(["ann", "bo", "cy"], len(jobs))
    workload = hs.Workload.from_polars(
        workload_of(jobs).to_polars().with_columns(user=pl.Series(users, dtype=pl.String), queue=pl.lit("all"))
    )
    platform = hs.Platform.homogeneous(
        nodes=64, idle_w=100.0, tdp_w=300.0, queues=[hs.Queue("all", "0-63", max_running_per_user=5)]
    )
    result = hs.simulate(workload, platform, hs.Policy.preset("easy", **{"backfill.order": candidates}))
    groups = [[(user, 5.0)] for user in users]
    twin = schedule(jobs, CountedNodes(64), depth=1, candidates=candidates, groups=groups)
    assert_agree(result, twin, nodes=False)
    if candidates == "fcfs":
        assert result.jobs.equals(hs.simulate(workload, platform, "easy").jobs)


def test_candidates_in_the_order_of_the_policy_are_the_rule_without_one() -> None:
    jobs = seeded_trace(3_000, nodes=64, load=1.2, seed=4)
    easy, same = (
        hs.simulate(workload_of(jobs), platform_of(64), policy).jobs for policy in ("easy", "easy:backfill.order=fcfs")
    )
    assert easy.equals(same)


def seeded_trace(count: int, nodes: int, load: float, seed: int) -> list[Job]:
    """Log-normal runtimes in whole seconds, sizes in powers of two, users who ask for up to ten times their need."""
    rng = np.random.default_rng(seed)
    size = np.minimum(2 ** rng.integers(0, 7, count), nodes)
    runtime = np.clip(rng.lognormal(7.0, 1.8, count), 0.0, 86_400.0).astype(np.int64)
    walltime = np.maximum(1, np.ceil(runtime * rng.choice([0.9, 1.0, 1.5, 2.0, 5.0, 10.0], count))).astype(np.int64)
    span = float((size * runtime).sum()) / (load * nodes)
    submit = np.sort(rng.uniform(0.0, span, count)).astype(np.int64)
    has_walltime = rng.random(count) < 0.95
    return [
        Job(int(s) * SECOND, int(r) * SECOND, int(n), int(w) * SECOND if asked else None)
        for s, r, n, w, asked in zip(submit, runtime, size, walltime, has_walltime, strict=True)
    ]


@pytest.mark.parametrize("load", [0.8, 1.0])
@pytest.mark.parametrize(("policy", "depth"), [("fcfs", None), ("easy", 1), ("conservative", inf)])
@pytest.mark.at_length
def test_thousands_of_jobs_agree(policy: str, depth: float | None, load: float) -> None:
    count = 10_000 if settings.get_current_profile_name() == "long" else 2_500
    jobs = seeded_trace(count, nodes=540, load=load, seed=1)
    result = hs.simulate(workload_of(jobs), platform_of(540), policy=policy)
    assert_agree(result, schedule(jobs, CountedNodes(540), depth=depth), nodes=False)


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_bounded_reservations_agree_on_queues_of_hundreds(depth: int) -> None:
    """Deeper than a block of the queue, and with jobs of length zero in it."""
    jobs = seeded_trace(1_500, nodes=64, load=1.6, seed=depth)
    result = hs.simulate(workload_of(jobs), platform_of(64), hs.Policy.preset("conservative", depth=depth))
    assert result.timeline["queued_jobs"].max() > 200
    assert_agree(result, schedule(jobs, CountedNodes(64), depth=depth), nodes=False)


@pytest.mark.slow
@pytest.mark.at_length
@pytest.mark.parametrize(("policy", "depth"), [("fcfs", None), ("easy", 1)])
def test_many_jobs_agree_and_at_length_a_million(policy: str, depth: float | None) -> None:
    is_at_length = settings.get_current_profile_name() == "long"
    jobs = seeded_trace(1_000_000 if is_at_length else 40_000, nodes=540, load=0.8, seed=2)
    result = hs.simulate(workload_of(jobs), platform_of(540), policy=policy)
    assert_agree(result, schedule(jobs, CountedNodes(540), depth=depth), nodes=False)

"""Sets of nodes without a node in common: each is scheduled as if it were the machine (machine page, rule 6)."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from unlike_logs import APPS, BACKFILLS, draws_w, logs

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

# Orders that say the same at each instant, whatever has started.
ORDERS: list[Any] = ["fcfs", "smallest", "shortest", "vahrm", {"name": "vahrm", "beta": 0.9}]
# Placements that each say something of all nodes: of their number, their ranks, or a random one.
PLACEMENTS: list[Any] = [
    "lowest-id",
    "lowest-power",
    "best-rank",
    "random",
    "pools",
    "assignment",
    {"name": "sliding-window", "window": 2, "on_miss": "wait"},
    {"name": "sliding-window", "window": 2, "application_aware": True},
]
# No job asks for more than four nodes.
MOST, OTHERS = 8, 2


@st.composite
def sets_of_nodes(draw: st.DrawFn) -> list[list[int]]:
    """Up to three sets that have none in common; some nodes are in none."""
    nodes = draw(st.permutations(range(MOST + OTHERS)))[:MOST]
    cuts = sorted(draw(st.sets(st.integers(1, MOST - 1), min_size=1, max_size=2)))
    return [sorted(nodes[begin:end]) for begin, end in zip([0, *cuts], [*cuts, MOST], strict=True)]


@settings(max_examples=3 * settings().max_examples)
@given(
    st.data(),
    sets_of_nodes(),
    st.sampled_from(BACKFILLS),
    st.sampled_from(ORDERS),
    st.sampled_from(PLACEMENTS),
    logs((None,)),
)
def test_each_of_several_sets_is_scheduled_as_if_it_were_the_machine(
    data: st.DataObject, sets: list[list[int]], backfill: Any, order: Any, placement: Any, log: pl.DataFrame
) -> None:
    watts = np.array(data.draw(draws_w(MOST + OTHERS)))
    owner = data.draw(st.lists(st.sampled_from(range(len(sets))), min_size=log.height, max_size=log.height))
    log = log.with_columns(queue=pl.Series([f"q{own}" for own in owner]), walltime_s=pl.col("runtime_s") + 1.0)
    # Walltimes are stretched by the slowest node, and lengths without one by what a job's own cap does there.
    caps = data.draw(st.booleans())
    if caps:
        own_cap = st.sampled_from([None, 250.0, 300.0])
        log = log.with_columns(
            cap_w=pl.Series(data.draw(st.lists(own_cap, min_size=log.height, max_size=log.height)), dtype=pl.Float64),
            walltime_s=pl.when(pl.int_range(pl.len()) % 2 == 0).then("walltime_s"),
        )
    policy, seed = hs.Policy(order, backfill, placement), data.draw(st.integers(0, 3))

    def run(log: pl.DataFrame, nodes: list[int], queues: list[hs.Queue] | None) -> hs.Result:
        classes = [hs.NodeClass("all", len(nodes), idle_w=100.0, tdp_w=400.0)]
        table = hs.VariationTable(APPS, power_w=watts[:, nodes], time_ratio=watts[:, nodes] / 200)
        platform, workload = hs.Platform(classes, queues=queues).with_tables(actual=table), hs.Workload.from_polars(log)
        if caps:
            platform = platform.with_cap_model(static_ratio=0.4, bound_ratio=0.7)
        result = hs.simulate(workload, platform, policy, walltimes="stretch", seed=seed)
        check_schedule(result, workload, platform)
        return result

    queues = [hs.Queue(f"q{number}", nodes) for number, nodes in enumerate(sets)]
    here = run(log, list(range(MOST + OTHERS)), queues).jobs
    columns = ["job_id", "state", "start_s", "end_s", "energy_j", "started_by"]
    for number, nodes in enumerate(sets):
        own = log.filter(pl.col("queue") == f"q{number}")
        if own.is_empty():
            continue
        there = run(own, nodes, None).jobs
        ours = here.filter(pl.col("job_id").is_in(own["job_id"].to_list()))
        assert ours.select(columns).equals(there.select(columns))
        numbers = [None if row is None else [nodes[node] for node in row] for row in there["nodes"].to_list()]
        assert ours["nodes"].to_list() == numbers


def test_each_of_several_sets_has_first_runs() -> None:
    """An application that one set knows is unknown to the others, and ``check_schedule`` knows that."""
    log = pl.DataFrame(
        {
            "job_id": [1, 2, 3],
            "submit_s": [0.0, 50.0, 60.0],
            "runtime_s": [10.0, 10.0, 10.0],
            "node_count": [1, 1, 1],
            "app": ["calm", "calm", "calm"],
            "queue": ["a", "b", "b"],
        }
    )
    platform = hs.Platform.homogeneous(4, idle_w=100, tdp_w=300, queues=[hs.Queue("a", "0-1"), hs.Queue("b", "2-3")])
    workload, policy = hs.Workload.from_polars(log), hs.Policy({"name": "vahrm", "first_run": True})
    result = hs.simulate(workload, platform, policy)
    assert result.jobs["profiled"].to_list() == [True, True, False]
    check_schedule(result, workload, platform)

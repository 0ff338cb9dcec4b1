"""A budget where one pool is only some of the nodes: as that of the pool alone, less what the other nodes idle at."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from unlike_logs import APPS, BACKFILLS, VAHRMS, draws_w, logs

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

ORDERS: list[Any] = ["fcfs", "smallest", "vahrm", *VAHRMS]
# Caps whose least lengths are by the slowest node.
ALLOCATORS: list[dict[str, Any]] = [
    {},
    {"allocator": "uniform", "caps_w": [200.0, 300.0]},
    {"allocator": "equal-slowdown"},
]
PLACEMENTS = ["lowest-id", "lowest-power", "best-rank", "random"]
OTHERS = 3
# Those with fewer features come first, whatever their numbers.
FEATURES = {"cpu": ["cpu"], "gpu": ["gpu", "big"]}


def machine(features: list[str], watts: np.ndarray, slots: int, queues: list[hs.Queue] | None) -> hs.Platform:
    classes = [
        hs.NodeClass(f"class{place}", 1, idle_w=100, tdp_w=400, features=FEATURES[feature], slots=slots)
        for place, feature in enumerate(features)
    ]
    table = hs.VariationTable(APPS, power_w=watts, time_ratio=watts / 200)
    platform = hs.Platform(classes, exclusive=slots == 1, queues=queues).with_tables(actual=table)
    return platform.with_cap_model(static_ratio=0.4, bound_ratio=0.7)


@given(st.data(), st.sampled_from(BACKFILLS), st.sampled_from(ORDERS), st.sampled_from(PLACEMENTS))
def test_a_pool_of_some_nodes_is_the_machine_with_what_the_others_leave(
    data: st.DataObject, backfill: Any, order: Any, placement: str
) -> None:
    slots = data.draw(st.sampled_from([1, 1, 2]))
    # Nodes that differ in what jobs ask for are counted whole.
    kinds = data.draw(st.sampled_from([["cpu"], ["cpu", "gpu"]])) if slots == 1 else ["cpu"]
    own = data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=5))
    numbers = sorted(data.draw(st.permutations(range(len(own) + OTHERS)))[: len(own)])
    log = data.draw(logs((None, None, "gpu", "!gpu") if len(kinds) == 2 else (None,), slots))
    watts = np.array(data.draw(draws_w(len(own))))
    # Nodes in no queue are the hungriest and the fastest, and there is one of each kind: no job may see that.
    features, table = ["gpu"] * (len(own) + OTHERS), np.full((2, len(own) + OTHERS), 20.0)
    # A cap has to be possible on all nodes.
    allocator = data.draw(st.sampled_from(ALLOCATORS)) if slots == 1 else {}
    table[1] = 390.0 if allocator else 999.0
    table[:, numbers] = watts
    for node, feature in zip(numbers, own, strict=True):
        features[node] = feature
    budget_w = 100.0 * len(own) + data.draw(st.integers(0, 1200))
    events = None
    if order in ("fcfs", "smallest"):
        steps = data.draw(st.lists(st.tuples(st.sampled_from([5.0, 20.0]), st.integers(0, 1200)), max_size=2))
        events = [(at, 100.0 * len(own) + more) for at, more in steps]

    def run(log: pl.DataFrame, platform: hs.Platform, beside_w: float) -> hs.Result:
        power = {"name": "system-budget", "budget_w": budget_w + beside_w, **allocator}
        policy = hs.Policy(order, backfill, placement, power=power)
        rows = [(at, "budget", watts + beside_w) for at, watts in events or []]
        frame = pl.DataFrame(rows, {"time_s": pl.Float64, "kind": pl.String, "value": pl.Float64}, orient="row")
        told = hs.Events.from_polars(frame) if rows else None
        workload = hs.Workload.from_polars(log)
        result = hs.simulate(workload, platform, policy, events=told, walltimes="stretch")
        check_schedule(result, workload, platform, events=told)
        return result

    whole = machine(features, table, slots, [hs.Queue("own", numbers)])
    here = run(log.with_columns(queue=pl.lit("own")), whole, 100.0 * OTHERS)
    there = run(log, machine(own, watts, slots, None), 0.0)
    columns = ["job_id", "state", "start_s", "end_s", "energy_j", "started_by"]
    assert here.jobs.select(columns).equals(there.jobs.select(columns))
    nodes_there = there.jobs["nodes"].to_list()
    assert here.jobs["nodes"].to_list() == [None if own is None else [numbers[n] for n in own] for own in nodes_there]
    window_s = float(here.timeline["time_s"][-1] - here.timeline["time_s"][0])
    added_j = here.summary()["energy_j"] - there.summary()["energy_j"]
    assert added_j == pytest.approx(100.0 * OTHERS * window_s, abs=1e-6)
    assert here.timeline["idle_nodes"].to_list() == [count + OTHERS for count in there.timeline["idle_nodes"]]

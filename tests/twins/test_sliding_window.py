"""The sliding window against one slid by hand, under every backfill: every start, end, cause, state and node."""

from __future__ import annotations

from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, note, settings
from plain_scheduler import Job, NamedNodes, schedule
from test_plain_scheduler import BACKFILLS, assert_agree, traces, workload_of

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")


class WindowNodes(NamedNodes):
    """Whole nodes, each job's found by a window that slides along the ranking a rank at a time."""

    def __init__(self, time_ratio: list[float], window: int, on_miss: str) -> None:
        super().__init__(len(time_ratio))
        self.ranking = sorted(range(len(time_ratio)), key=lambda node: (time_ratio[node], node))
        self.window, self.on_miss = window, on_miss

    def find(self, job: Job) -> list[int] | None:
        size, nodes = job.node_count, len(self.ranking)
        window = min(max(self.window, size), nodes)
        for first in range(nodes - window + 1):
            held = [node for node in self.ranking[first : first + window] if self.free_slots[node]]
            if len(held) >= size:
                return sorted(held[:size])
        ranks = [rank for rank, node in enumerate(self.ranking) if self.free_slots[node]]
        if self.on_miss == "wait" or len(ranks) < size:
            return None
        firsts = range(len(ranks) - size + 1)
        best = min(firsts, key=lambda first: (ranks[first + size - 1] - ranks[first], first))
        return sorted(self.ranking[rank] for rank in ranks[best : best + size])


@pytest.mark.parametrize("on_miss", ["narrowest", "wait"])
@settings(max_examples=2 * settings().max_examples)
@given(
    trace=traces(max_nodes=8),
    time_ratio=st.lists(st.sampled_from([0.9, 1.0, 1.1, 1.25]), min_size=8, max_size=8),
    window=st.integers(1, 9),
    application_aware=st.booleans(),
)
def test_the_window_is_the_papers(
    on_miss: str, trace: tuple[list[Job], int], time_ratio: list[float], window: int, application_aware: bool
) -> None:
    jobs, nodes = trace
    time_ratio = time_ratio[:nodes]
    table = hs.VariationTable(apps=["any"], power_w=np.full((1, nodes), 250.0), time_ratio=np.array([time_ratio]))
    platform = hs.Platform.homogeneous(nodes=nodes, idle_w=100.0, tdp_w=300.0).with_tables(actual=table)
    part = {"window": window, "on_miss": on_miss, "application_aware": application_aware}
    for depth, kill in product(BACKFILLS, (True, False)):
        policy = hs.Policy(backfill=BACKFILLS[depth], placement={"name": "sliding-window", **part})
        note(f"{policy}, kill_at_walltime={kill}, time_ratio={time_ratio}")
        result = hs.simulate(workload_of(jobs), platform, policy, kill_at_walltime=kill)
        machine = WindowNodes(time_ratio, window, on_miss)
        twin = schedule(jobs, machine, depth=depth, kill_at_walltime=kill, time_ratio=time_ratio)
        assert_agree(result, twin, nodes=True)

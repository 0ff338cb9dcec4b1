"""Stretches of nodes' states: they add up to the engine's own sums, and the grid shows what most of a cell is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.analysis import NODE_STATES, node_states, state_grid
from hetsched.workload import aoba, poisson

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

MACHINE = hs.Platform.homogeneous(nodes=16, idle_w=100, tdp_w=300, boot_s=90, shutdown_s=45, off_w=0)
LOG = poisson(nodes=16, jobs=150, load=0.4, runtime_s="lognormal:1500:1", sizes="1:3,4:1,9:1", seed=3)


def outages() -> hs.Events:
    """Failures, and maintenance that overlaps with some of them."""
    drawn = hs.failures(MACHINE, mtbf_s=40_000, repair_s=3000, until_s=60_000, seed=1).to_polars()
    window = pl.DataFrame({"node": [3, 3, 4, 5], "time_s": [9000.0, 11_000.0, 0.0, 30_000.0], "kind": "maintenance"})
    window = window.with_columns(until_s=pl.col("time_s") + 4000, announced_s="time_s")
    return hs.Events.from_polars(pl.concat([drawn, window], how="diagonal_relaxed"))


def urgent() -> hs.Workload:
    """Some jobs of AOBA's are urgent, and suspend others."""
    jobs = aoba(period="busy", seed=1).to_polars()
    is_urgent = (pl.col("queue") == "sx_m") & (pl.col("job_id") % 3 == 0)
    return hs.Workload.from_polars(
        jobs.with_columns(queue=pl.when(is_urgent).then(pl.lit("urgent")).otherwise("queue"))
    )


RUNS = {
    "neither": lambda: hs.simulate(LOG, MACHINE, "easy"),
    "sleep": lambda: hs.simulate(LOG, MACHINE, "easy:sleep=timeout"),
    "planned": lambda: hs.simulate(LOG, MACHINE, hs.Policy("fcfs", "plan", sleep="planned")),
    "outages": lambda: hs.simulate(LOG, MACHINE, "easy", events=outages(), on_failure="requeue"),
    "all": lambda: hs.simulate(LOG, MACHINE, "easy:sleep=timeout", events=outages(), on_failure="fail"),
    "stopped": lambda: hs.simulate(LOG, MACHINE, "easy:sleep=timeout", until_s=30_000.0),
    "urgent": lambda: hs.simulate(urgent(), hs.Platform.shipped("aoba"), "nqsv"),
    "shared": lambda: hs.simulate(aoba(period="busy", seed=1), hs.Platform.shipped("aoba"), "nqsv"),
}


@pytest.mark.parametrize("kind", RUNS)
def test_stretches_add_up_to_what_the_engine_counted(kind):
    result = RUNS[kind]()
    states = node_states(result)
    window_s = result.timeline["time_s"][[0, -1]]
    assert (states["end_s"] > states["start_s"]).all()
    for _, own in states.group_by("node"):
        assert own["start_s"][0] == window_s[0]
        assert own["end_s"][-1] == window_s[1]
        assert own["start_s"][1:].equals(own["end_s"][:-1])
        assert (own["state"][1:] != own["state"][:-1]).all()
    found = states.with_columns(length_s=pl.col("end_s") - pl.col("start_s")).pivot(
        "state", index="node", values="length_s", aggregate_function="sum"
    )
    for state in NODE_STATES:
        name = "transition_s" if state == "changing" else f"{state}_s"
        sums = found[state].fill_null(0.0).to_numpy() if state in found.columns else np.zeros(len(found))
        np.testing.assert_allclose(sums, result.nodes[name].to_numpy(), atol=1e-4, err_msg=f"{kind}: {state}")


def test_urgent_jobs_suspend_others():
    assert "suspend" in RUNS["urgent"]().events["kind"]


def test_a_run_read_from_files_has_the_same_states(tmp_path):
    result = RUNS["all"]()
    result.write(tmp_path / "out")
    assert node_states(hs.read_result(tmp_path / "out")).equals(node_states(result))


def test_a_run_without_length_has_no_states():
    empty = hs.Workload.from_polars(LOG.to_polars().clear())
    assert node_states(hs.simulate(empty, MACHINE, "easy")).is_empty()


def longest(states: pl.DataFrame, nodes: set[int], from_s: float, until_s: float) -> int:
    """The plain way: sum what each state has of the cell."""
    sums = dict.fromkeys(NODE_STATES, 0.0)
    for node, start_s, end_s, state in states.iter_rows():
        if node in nodes:
            sums[state] += max(0.0, min(end_s, until_s) - max(start_s, from_s))
    return max(range(len(NODE_STATES)), key=lambda place: round(sums[NODE_STATES[place]], 6))


@pytest.mark.parametrize("rows", [16, 5, 1])
def test_a_cell_of_the_grid_shows_what_most_of_it_is(rows):
    states = node_states(RUNS["all"]())
    bins = 24
    grid = state_grid(states, nodes=16, rows=rows, bins=bins)
    edges = np.linspace(states["start_s"].min(), states["end_s"].max(), bins + 1)
    for row in range(rows):
        nodes = {node for node in range(16) if node * rows // 16 == row}
        for place in range(bins):
            assert grid[row, place] == longest(states, nodes, edges[place], edges[place + 1]), (row, place)

"""The placement by hand-made answers, and held to all that hetsched holds parts to."""

import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import conformance


def workload(*counts: int) -> hs.Workload:
    """Jobs of so many nodes that are submitted at once and run side by side."""
    jobs = pl.DataFrame({"job_id": range(len(counts)), "node_count": counts})
    return hs.Workload.from_polars(jobs.with_columns(submit_s=0.0, runtime_s=1000.0))


def nodes(policy: hs.Policy, *counts: int) -> list[list[int]]:
    machine = hs.Platform.homogeneous(nodes=12, idle_w=100, tdp_w=300)
    return hs.simulate(workload(*counts), machine, policy).jobs["nodes"].to_list()


def test_jobs_get_nodes_of_as_many_racks_as_possible() -> None:
    policy = hs.Policy(placement={"name": "spread-racks", "rack_nodes": 4})
    # Racks 0-3, 4-7 and 8-11: one node of each, then a second of each and a third of the first; then what is left.
    assert nodes(policy, 3, 4, 4) == [[0, 4, 8], [1, 2, 5, 9], [3, 6, 7, 10]]


def test_racks_of_one_node_are_the_lowest_ids() -> None:
    policy = hs.Policy(placement={"name": "spread-racks", "rack_nodes": 1})
    assert nodes(policy, 3, 4, 4) == nodes(hs.Policy(), 3, 4, 4)


def test_a_rack_has_nodes() -> None:
    with pytest.raises(hs.ConfigError, match="rack_nodes: found 0, expected a whole number from 1"):
        hs.Policy(placement={"name": "spread-racks", "rack_nodes": 0})


def test_it_keeps_the_laws() -> None:
    conformance(hs.Policy(backfill="reservations", placement={"name": "spread-racks", "rack_nodes": 3}), examples=25)


def test_a_result_names_the_engine_that_made_it() -> None:
    machine = hs.Platform.homogeneous(nodes=12, idle_w=100, tdp_w=300)
    told = hs.simulate(workload(3), machine, hs.Policy(placement="spread-racks")).provenance["engine"]
    assert (told["package"], told["parts"]) == ("spread-racks 0.1.0", ["placement=spread-racks"])


def test_processes_of_a_sweep_have_the_engine() -> None:
    machine = hs.Platform.homogeneous(nodes=12, idle_w=100, tdp_w=300)
    found = hs.sweep(workload(3, 4, 4), machine, ["fcfs", "fcfs:placement=spread-racks"], workers=2, progress=None)
    assert found["completed"].to_list() == [3, 3]

"""Nodes that are switched off and on again, worked out by hand (operations page on machines, rules 14 to 23)."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

NAN = None


def jobs(*rows: tuple[float, float, float | None, int], **columns: list[Any]) -> hs.Workload:
    """Jobs 1, 2, … as (submit, runtime, walltime, nodes)."""
    names = ["submit_s", "runtime_s", "walltime_s", "node_count"]
    types = {"submit_s": pl.Float64, "runtime_s": pl.Float64, "walltime_s": pl.Float64, "node_count": pl.Int64}
    frame = pl.DataFrame(rows, schema=[(name, types[name]) for name in names], orient="row")
    more = [pl.Series(name, values) for name, values in columns.items()]
    return hs.Workload.from_polars(frame.with_row_index("job_id", offset=1).with_columns(*more))


def machine(nodes: int, **values: Any) -> hs.Platform:
    """Nodes of 600 W idle, 2100 W busy, that boot in 60 s and shut down in 120 s."""
    return hs.Platform.homogeneous(
        nodes, **{"idle_w": 600.0, "tdp_w": 2100.0, "boot_s": 60.0, "shutdown_s": 120.0, **values}
    )


def run(
    workload: hs.Workload,
    nodes: int | hs.Platform,
    sleep: Any,
    backfill: Any = "plan",
    order: Any = "fcfs",
    **options: Any,
) -> hs.Result:
    platform = machine(nodes) if isinstance(nodes, int) else nodes
    result = hs.simulate(workload, platform, hs.Policy(order, backfill, sleep=sleep), **options)
    check_schedule(result, workload, platform)
    return result


def happened(result: hs.Result) -> list[tuple[float, str, int]]:
    """What happened to nodes: when, what, to which."""
    return [] if result.events is None else result.events.select("time_s", "kind", "node").rows()


def starts(result: hs.Result) -> list[float | None]:
    return result.jobs["start_s"].to_list()


FIRST = jobs((0, 600, 1000, 1), (10000, 600, None, 2))


def test_the_example_of_two_nodes_that_sleep_and_are_woken_for_a_job() -> None:
    """Rules 14 to 18 and 22 with the numbers of `nqsv`."""
    result = run(FIRST, 2, "nqsv")
    assert happened(result) == [
        (7200.0, "sleep", 1),
        (7320.0, "off", 1),
        (7800.0, "sleep", 0),
        (7920.0, "off", 0),
        (10000.0, "wake", 0),
        (10000.0, "wake", 1),
        (10060.0, "ready", 0),
        (10060.0, "ready", 1),
    ]
    assert result.jobs.select("start_s", "end_s").rows() == [(0.0, 600.0), (10060.0, 10660.0)]
    summary = result.summary()
    assert summary["idle_energy_j"] == 8.64e6
    assert summary["transition_energy_j"] == 0.216e6
    assert summary["off_energy_j"] == 0.0
    assert summary["job_energy_j"] == 3.78e6
    assert result.nodes.select("boots", "shutdowns", "transition_s", "off_s").rows() == [
        (1, 1, 180.0, 2080.0),
        (1, 1, 180.0, 2680.0),
    ]


def test_the_same_with_an_interval_wakes_at_its_next_multiple() -> None:
    """Rules 12 and 23: what is submitted waits for a multiple of 30 s."""
    result = run(FIRST, 2, "nqsv", {"name": "plan", "interval_s": 30})
    assert [row for row in happened(result) if row[1] == "wake"] == [(10020.0, "wake", 0), (10020.0, "wake", 1)]
    assert result.jobs.select("start_s", "end_s").rows()[1] == (10080.0, 10680.0)
    preset = hs.simulate(FIRST, machine(2), "nqsv")
    assert preset.jobs.equals(result.jobs) and preset.events.equals(result.events)


@pytest.mark.parametrize(("runs", "start"), [(12000.0, 12000.0), (10830.0, 10860.0)])
def test_the_example_of_a_node_that_is_woken_ahead_of_its_job(runs: float, start: float) -> None:
    """Rules 18 and 19: woken by the margin before its start, ready early, used early."""
    result = run(jobs((0, runs, 12000, 1), (8000, 100, 100, 2)), 2, "nqsv")
    assert happened(result) == [
        (7200.0, "sleep", 1),
        (7320.0, "off", 1),
        (10800.0, "wake", 1),
        (10860.0, "ready", 1),
    ]
    assert starts(result) == [0.0, start]


def test_the_example_of_a_running_job_that_ends_as_early_as_a_node_could_be_woken() -> None:
    """Rules 9 and 18: nodes that are asleep go last."""
    result = run(jobs((0, 9000, 9000, 1), (8000, 100, 100, 1)), 2, "nqsv")
    assert [kind for _, kind, _ in happened(result)] == ["sleep", "off"]
    assert result.jobs.row(1, named=True)["start_s"] == 9000.0
    assert result.jobs["nodes"][1].to_list() == [0]


def test_the_example_of_a_next_job_that_is_near_or_far() -> None:
    """Rule 16: the next planned job has to be estimated_off_s away."""
    near = run(jobs((0, 10000, 10000, 1), (100, 100, 100, 2)), 2, "nqsv")
    assert happened(near) == [] and starts(near) == [0.0, 10000.0]
    far = run(jobs((0, 10800, 10800, 1), (100, 100, 100, 2)), 2, "nqsv")
    assert [row for row in happened(far) if row[1] in ("sleep", "wake")] == [(7200.0, "sleep", 1), (9600.0, "wake", 1)]
    assert starts(far) == [0.0, 10800.0]


def test_the_example_of_planned() -> None:
    """Rules 16 and 17: at once if it saves energy, with the node's own times; not where it only breaks even."""
    saves = run(jobs((0, 1000, 1000, 1), (0, 100, 100, 2)), 2, "planned")
    # After the last end, at 1100, both go to sleep, too: that is written down and draws nothing.
    assert happened(saves) == [
        (0.0, "sleep", 1),
        (120.0, "off", 1),
        (940.0, "wake", 1),
        (1000.0, "ready", 1),
        (1100.0, "sleep", 1),
        (1100.0, "sleep", 0),
    ]
    assert starts(saves) == [0.0, 1000.0]
    assert saves.summary()["transition_energy_j"] == 180 * 600.0
    stays = run(jobs((0, 180, 180, 1), (0, 100, 100, 2)), 2, "planned")
    assert [row for row in happened(stays) if row[0] < 280] == []


def test_the_example_of_timeout_on_one_node() -> None:
    result = run(jobs((0, 10, None, 1), (650, 10, None, 1)), 1, "timeout")
    assert happened(result) == [(610.0, "sleep", 0), (730.0, "off", 0), (730.0, "wake", 0), (790.0, "ready", 0)]
    assert result.jobs.select("start_s", "end_s").rows()[1] == (790.0, 800.0)


def test_the_example_where_nodes_are_counted() -> None:
    """Rule 20: as many nodes are woken as the wake plan holds beyond those that are on, the lowest first."""
    result = run(jobs((0, 10, 10, 1), (5000, 50, 50, 1), (5000, 50, 50, 2)), 4, "timeout", "reservations")
    assert [node for at, kind, node in happened(result) if kind == "wake" and at == 5000.0] == [0, 1, 2]
    assert starts(result) == [0.0, 5060.0, 5060.0]
    assert [nodes.to_list() for nodes in result.jobs["nodes"]] == [[0], [0], [1, 2]]

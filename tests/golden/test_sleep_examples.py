"""Nodes that are switched off and on again, worked out by hand (operations page on machines, rules 14 to 23)."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from worked_examples import jobs, machine, starts
from worked_examples import run as run_of
from worked_examples import steps as happened

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def run(workload: hs.Workload, nodes: int | hs.Platform, sleep: Any, *parts: Any, **options: Any) -> hs.Result:
    platform = machine(nodes) if isinstance(nodes, int) else nodes
    return run_of(workload, platform, *(parts or ["plan"]), sleep=sleep, **options)


AT_ONCE = {"name": "timeout", "min_idle_s": 0}
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
    assert preset.jobs.equals(result.jobs)
    assert preset.events.equals(result.events)


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


def test_the_example_of_a_job_that_ends_before_a_node_could_boot() -> None:
    """Rules 9 and 18: nodes that are asleep go last."""
    result = run(jobs((0, 9000, 9000, 1), (8000, 100, 100, 1)), 2, "nqsv")
    assert [kind for _, kind, _ in happened(result)] == ["sleep", "off"]
    assert result.jobs.row(1, named=True)["start_s"] == 9000.0
    assert result.jobs["nodes"][1].to_list() == [0]


def test_the_example_of_a_next_job_that_is_near_or_far() -> None:
    """Rule 16: the next planned job has to be estimated_off_s away."""
    near = run(jobs((0, 10000, 10000, 1), (100, 100, 100, 2)), 2, "nqsv")
    assert happened(near) == []
    assert starts(near) == [0.0, 10000.0]
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


DEFAULTS = {
    "timeout": (600, 0, "actual", "actual", "none", 0, ""),
    "nqsv": (7200, 3600, 600, 1200, 5, 0, ""),
    "planned": (0, "break-even", "actual", "actual", "none", 0, ""),
}
NAMES = (
    "min_idle_s",
    "estimated_off_s",
    "stop_margin_s",
    "start_margin_s",
    "off_limit_per_day",
    "min_on_nodes",
    "exclude",
)


@pytest.mark.parametrize("name", DEFAULTS)
def test_rule_14_three_parts_take_the_same_parameters(name: str) -> None:
    assert hs.Policy(sleep=name).to_dict()["sleep"] == {"name": name, **dict(zip(NAMES, DEFAULTS[name], strict=True))}


def slept(result: hs.Result) -> list[tuple[float, int]]:
    return [(at, node) for at, kind, node in happened(result) if kind == "sleep"]


def test_rule_15_idle_since_the_first_submit_or_the_return() -> None:
    log = jobs((1000, 5000, 5000, 1))
    assert slept(run(log, 2, "timeout")) == [(1600.0, 1)]
    outage = pl.DataFrame({"time_s": [1100.0], "kind": ["maintenance"], "node": [1], "until_s": [1200.0]})
    assert slept(run(log, 2, "timeout", events=hs.Events.from_polars(outage))) == [(1800.0, 1)]


def test_rule_16_so_many_shutdowns_of_a_node_begin_in_a_day() -> None:
    log = jobs((0, 10, None, 1), (1000, 10, None, 1), (90000, 10, None, 1), (95000, 10, None, 1))
    result = run(log, 1, {"name": "timeout", "min_idle_s": 100, "off_limit_per_day": 1})
    # It idles from 1070 on and may sleep again when the next day begins, at 86400; that makes no pass (rule 21).
    assert slept(result) == [(110.0, 0), (90110.0, 0)]
    assert starts(result) == [0.0, 1060.0, 90000.0, 95060.0]
    assert slept(run(log, 1, {"name": "timeout", "min_idle_s": 100, "off_limit_per_day": 0})) == []


@pytest.mark.parametrize(
    ("parameters", "nodes"),
    [
        ({}, [2, 1]),
        ({"min_on_nodes": 1}, [2, 1]),
        ({"min_on_nodes": 2}, [2]),
        ({"exclude": "0,2"}, [1]),
        ({"exclude": [2]}, [1]),
        ({"exclude": "0-2"}, []),
    ],
)
@pytest.mark.parametrize("backfill", ["plan", "reservations"])
def test_rule_16_some_nodes_stay_on(parameters: dict[str, Any], nodes: list[int], backfill: str) -> None:
    result = run(jobs((0, 5000, 5000, 1)), 3, {"name": "timeout", **parameters}, backfill)
    assert slept(result) == [(600.0, node) for node in nodes]


def test_rule_10_jobs_beyond_the_depth_have_nodes_woken_that_wake_in_no_time() -> None:
    """Both jobs can start now: the second has its node woken by the pass that plans the first, whatever the depth."""
    log = jobs((0, 10, 10, 2), (100, 5, 5, 1), (100, 5, 5, 1))
    result = run(log, machine(2, boot_s=0.0, shutdown_s=0.0), AT_ONCE, {"name": "plan", "depth": 1})
    woken = [(100.0, "wake", 0), (100.0, "wake", 1), (100.0, "ready", 0), (100.0, "ready", 1)]
    assert [row for row in happened(result) if row[0] == 100.0] == woken
    assert (starts(result), result.jobs["nodes"].to_list()) == ([0.0, 100.0, 100.0], [[0, 1], [0], [1]])


def test_rule_9_no_node_is_kept_for_a_job_that_a_limit_holds_back() -> None:
    """Two jobs are planned for now; once the first runs, the second waits for its end, and its node sleeps again."""
    queue = hs.Queue("only", "0-1", max_running=1)
    platform = machine(2, boot_s=60.0, shutdown_s=0.0, queues=[queue])
    log = jobs((0, 10, 10, 1), (100, 500, 500, 1), (100, 5, 5, 1), queue=["only"] * 3)
    result = run(log, platform, AT_ONCE)
    steps = [row for row in happened(result) if 100.0 <= row[0] < 660.0]
    both = [(100.0, "wake", 0), (100.0, "wake", 1), (160.0, "ready", 0), (160.0, "ready", 1)]
    assert steps == [*both, (160.0, "sleep", 1), (160.0, "off", 1)]
    assert (starts(result), result.jobs["nodes"].to_list()) == ([0.0, 160.0, 660.0], [[0], [0], [0]])


def test_rule_17_a_node_that_saves_nothing_by_sleeping_never_does() -> None:
    log = jobs((0, 1000, 1000, 1), (5000, 10, 10, 2))
    assert slept(run(log, machine(2, off_w=600.0), "planned")) == []
    assert slept(run(log, machine(2, off_w=599.0), "planned")) != []


def test_rule_17_neither_way_can_be_turned_back() -> None:
    # Node 0 shuts down from 610 on; at 620 it is wanted; it boots from 730 on, and is ready for a job that is gone.
    log = jobs((0, 10, None, 1), (620, 10, None, 1), (9000, 10, None, 1), cancel_s=[None, 740.0, None])
    result = run(log, 1, "timeout")
    assert happened(result)[:4] == [(610.0, "sleep", 0), (730.0, "off", 0), (730.0, "wake", 0), (740.0, "cancel", None)]
    # Rule 19: it boots on, is idle when ready and sleeps by rule 16 only.
    assert happened(result)[4:7] == [(790.0, "ready", 0), (1390.0, "sleep", 0), (1510.0, "off", 0)]


def test_rule_18_a_node_is_not_woken_that_goes_into_maintenance_before_its_job() -> None:
    outage = pl.DataFrame({"time_s": [1030.0], "kind": ["maintenance"], "node": [0], "until_s": [2000.0]})
    log = jobs((0, 10, 10, 1), (1000, 50, 100, 1))
    result = run(log, 1, "planned", events=hs.Events.from_polars(outage))
    assert happened(result)[:4] == [(10.0, "sleep", 0), (130.0, "off", 0), (1030.0, "out", 0), (2000.0, "back", 0)]
    assert starts(result) == [0.0, 2000.0]
    # Known only as it begins: the node is woken in vain, and what it booted for is no event any more (rule 29).
    late = run(log, 1, "planned", events=hs.Events.from_polars(outage.with_columns(announced_s="time_s")))
    assert happened(late)[2:5] == [(1000.0, "wake", 0), (1030.0, "out", 0), (2000.0, "back", 0)]
    assert late.nodes.row(0, named=True)["transition_s"] == 120.0 + 30.0


def test_rule_18_a_late_job_does_not_put_off_a_wake_up_for_ever() -> None:
    # Job 1 is late from 1000 on, and planned to end a microsecond from now at every pass. Job 2 of 60 s follows it on
    # node 0, then job 3 on both nodes: 60 s and a microsecond from now, and node 1 boots in 60 s.
    log = jobs((0, 5000, 1000, 1), (2000, 10, 60, 1), (2000, 10, 10, 2))
    platform, policy = machine(2), hs.Policy("fcfs", "plan", sleep={"name": "planned", "exclude": "0"})
    result = hs.simulate(log, platform, policy, kill_at_walltime=False)
    assert happened(result)[:3] == [(0.0, "sleep", 1), (120.0, "off", 1), (2000.0, "wake", 1)]
    assert result.jobs["state"].to_list() == ["completed"] * 3


@pytest.mark.parametrize("backfill", ["none", "first-fit", "reservations"])
def test_rule_20_nodes_are_woken_ahead_of_a_waiting_job(backfill: str) -> None:
    result = run(jobs((0, 3000, 3000, 1), (1000, 100, 100, 3)), 3, "timeout", backfill)
    assert [row for row in happened(result) if row[1] == "wake"] == [(2940.0, "wake", 1), (2940.0, "wake", 2)]
    assert starts(result) == [0.0, 3000.0]


def test_rule_20_a_running_job_that_ends_as_soon_wakes_no_node() -> None:
    result = run(jobs((0, 3000, 3000, 1), (2940, 100, 100, 1)), 2, "timeout", "reservations")
    assert [kind for _, kind, _ in happened(result)] == ["sleep", "off"]
    assert starts(result) == [0.0, 3000.0]


@pytest.mark.parametrize(("backfill", "start"), [("none", None), ("first-fit", 5060.0), ("reservations", 5060.0)])
def test_rule_20_under_none_a_job_that_never_starts_blocks_wake_ups(backfill: str, start: float | None) -> None:
    fails = hs.Events.from_polars(pl.DataFrame({"time_s": [100.0], "kind": ["node_failed"], "node": [1]}))
    log = jobs((0, 10, 10, 1), (5000, 10, 10, 2), (5000, 10, 10, 1))
    result = run(log, 2, "timeout", backfill, events=fails)
    assert starts(result) == [0.0, None, start]
    assert result.jobs["state"].to_list() == ["completed", "pending", "pending" if start is None else "completed"]


def test_rule_20_a_starving_job_is_first_in_the_wake_plan() -> None:
    # Jobs of one node come all the time and could be served by the nodes that are on; job 2 wants all four.
    stream = [(100 + 50 * k, 60, 60, 1) for k in range(60)]
    log = jobs((0, 10, 10, 4), *stream, (700, 10, 10, 4))
    order = {"name": "vahrm", "beta": 0, "starvation_limit_s": 300}
    result = run(log, 4, {"name": "timeout", "min_idle_s": 100}, "first-fit", order)
    assert result.jobs["state"].unique().to_list() == ["completed"]


def test_rule_21_a_timer_makes_a_pass_for_everybody() -> None:
    # Job 2 waits for 1000. Node 0 has been idle for 600 s at 610: the pass of that timer serves job 2, too.
    result = run(jobs((0, 10, 10, 1), (605, 10, 10, 1)), 2, "timeout", {"name": "plan", "interval_s": 1000})
    assert starts(result) == [0.0, 610.0]


def test_rule_22_draws_and_energies_by_state() -> None:
    platform = machine(1, boot_w=500.0, shutdown_w=300.0, off_w=10.0)
    result = run(jobs((0, 10, None, 1), (1000, 10, None, 1)), platform, "timeout")
    summary = result.summary()
    assert summary["idle_energy_j"] == 600 * 600.0
    assert summary["transition_energy_j"] == 120 * 300.0 + 60 * 500.0
    assert summary["off_energy_j"] == 270 * 10.0
    assert summary["job_energy_j"] == 20 * 2100.0
    assert result.nodes.row(0, named=True)["energy_j"] == summary["energy_j"]
    at = dict(result.timeline.select("time_s", "power_w").rows())
    assert [at[t] for t in (610.0, 730.0, 1000.0, 1060.0)] == [300.0, 10.0, 500.0, 2100.0]
    told = result.events.select("kind", "power_before_w", "power_after_w").rows()
    assert told == [("sleep", 600, 300), ("off", 300, 10), ("wake", 10, 500), ("ready", 500, 600)]


SETTINGS = (
    "nqsv:sleep=none",
    "nqsv:min_idle_s=3600",
    "nqsv:min_idle_s=10800",
    "nqsv:off_limit_per_day=200",
    "nqsv:estimated_off_s=1800",
    "nqsv:estimated_off_s=7200",
)


def test_rule_23_the_preset_and_its_settings() -> None:
    parts = hs.Policy.preset("nqsv").to_dict()
    assert [parts[role]["name"] for role in ("order", "backfill", "placement", "sleep")] == [
        "fcfs",
        "plan",
        "lowest-id",
        "nqsv",
    ]
    assert parts["backfill"]["interval_s"] == 30
    results = {name: hs.simulate(FIRST, machine(2), name) for name in SETTINGS}
    assert slept(results["nqsv:sleep=none"]) == []
    plain = hs.simulate(FIRST, machine(2), hs.Policy("fcfs", {"name": "plan", "interval_s": 30}))
    assert results["nqsv:sleep=none"].jobs.equals(plain.jobs)
    assert slept(results["nqsv:min_idle_s=3600"]) == [(3600.0, 1), (4200.0, 0)]
    # Nobody is idle for three hours before the second job comes.
    assert slept(results["nqsv:min_idle_s=10800"]) == []
    told = [result.provenance["policy"]["name"] for result in results.values()]
    assert told == [name.replace("nqsv:", "nqsv:sleep.") if "none" not in name else name for name in SETTINGS]


def test_rule_7_what_a_sleep_part_needs() -> None:
    shared = machine(2, slots=4, exclusive=False)
    with pytest.raises(hs.ConfigError, match=r"policy\.sleep: found a part, expected none, or backfill `plan`"):
        hs.simulate(FIRST, shared, hs.Policy("fcfs", "reservations", sleep="timeout"))
    assert hs.simulate(FIRST, shared, hs.Policy("fcfs", "plan", sleep="timeout")).summary()["completed"] == 2
    budget = {"name": "system-budget", "budget_w": 4000, "on_excess": ["kill"]}
    policy = hs.Policy("fcfs", "reservations", power=budget, sleep="timeout")
    with pytest.raises(hs.ConfigError, match=r"policy\.sleep: found a part, expected none with an allocator or steps"):
        hs.simulate(FIRST, machine(2), policy)


FAULTS = {
    "policy.sleep: found `nap`, expected one of timeout, nqsv, planned": "nap",
    "policy.sleep.min_idle_s: found -1": {"name": "timeout", "min_idle_s": -1},
    "policy.sleep.estimated_off_s: found `soon`": {"name": "timeout", "estimated_off_s": "soon"},
    "policy.sleep.stop_margin_s: found `break-even`": {"name": "nqsv", "stop_margin_s": "break-even"},
    "policy.sleep.off_limit_per_day: found 1.5": {"name": "nqsv", "off_limit_per_day": 1.5},
    "policy.sleep.exclude: found `3-1`": {"name": "nqsv", "exclude": "3-1"},
    "policy.sleep.min_idle: found `5`": {"name": "nqsv", "min_idle": 5},
}


@pytest.mark.parametrize("message", FAULTS)
def test_what_is_invalid_is_said(message: str) -> None:
    with pytest.raises(hs.ConfigError) as raised:
        hs.Policy("fcfs", "plan", sleep=FAULTS[message])
    assert str(raised.value).startswith(message)


def test_an_excluded_node_is_one_of_the_platform() -> None:
    with pytest.raises(hs.ConfigError, match=r"policy\.sleep\.exclude: found node 2, expected nodes of the platform"):
        run(FIRST, 2, {"name": "timeout", "exclude": "0-5"})


def test_a_session_goes_on_with_nodes_as_they_are() -> None:
    policy, whole = hs.Policy("fcfs", "plan", sleep="nqsv"), run(FIRST, 2, "nqsv")
    for at in (0.0, 7250.0, 9000.0, 10030.0):
        session = hs.Session(FIRST, machine(2), policy)
        session.step_until(at)
        for one in (session.fork(), session):
            one.run()
            result = one.result()
            for frame in ("jobs", "events", "nodes", "timeline"):
                assert getattr(result, frame).equals(getattr(whole, frame)), (at, frame)


def test_the_gaps_of_the_first_example() -> None:
    """Rule 38: idle 11.712, drawn 8.856, least 0.216 MJ."""
    summary = run(FIRST, 2, "nqsv", bound=True).summary()
    assert summary["gap_idle_j"] == pytest.approx(11.712e6)
    assert summary["gap_energy_j"] == pytest.approx(8.856e6)
    assert summary["gap_bound_j"] == pytest.approx(0.216e6)
    assert summary["sleep_attained_ratio"] == pytest.approx(0.2484, abs=5e-5)


def test_nothing_can_be_saved_where_no_node_waits_for_anything() -> None:
    """Rule 38: the ratio is null then."""
    summary = run(jobs((0, 100, 100, 2)), 2, None, bound=True).summary()
    assert (summary["gap_idle_j"], summary["sleep_attained_ratio"]) == (0.0, None)

"""The worked examples of the rules of power in time, every number of them, by the engine. Seconds, watts, joules.

Four nodes that idle at 50 W. `cpu` draws 200 W, under a cap of 150 W 1.25 times as long, under 100 W twice as long;
`mem` draws 200 W, loses nothing under 150 W and takes 1.25 times as long under 100 W. FCFS with EASY, lowest number.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import Any

import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

Row = dict[str, Any]

IDLE_W = 50.0


def table(nodes: int, cpu: tuple[float, float], mem: tuple[float, float]) -> hs.VariationTable:
    watts, factors = ([[own[place]] * nodes for own in (cpu, mem)] for place in (0, 1))
    return hs.VariationTable(["cpu", "mem"], power_w=watts, time_ratio=factors)


def machine(nodes: int = 4) -> hs.Platform:
    by_cap = {
        100.0: table(nodes, (100.0, 2.0), (100.0, 1.25)),
        150.0: table(nodes, (150.0, 1.25), (150.0, 1.0)),
        inf: table(nodes, (200.0, 1.0), (200.0, 1.0)),
    }
    return hs.Platform.homogeneous(nodes, IDLE_W, 200.0).with_tables(actual=by_cap)


def job(submit: float, runtime: float, walltime: float | None, nodes: int, app: str = "cpu", **more: Any) -> Row:
    return {"submit_s": submit, "runtime_s": runtime, "walltime_s": walltime, "node_count": nodes, "app": app, **more}


def budget(start: float, value: float, until: float | None = None) -> hs.Events:
    row = {"time_s": [start], "kind": ["budget"], "value": [value], "until_s": [until]}
    return hs.Events.from_polars(pl.DataFrame(row, schema_overrides={"until_s": pl.Float64}))


def run(
    jobs: list[Row],
    budget_w: float,
    events: hs.Events | None = None,
    *,
    platform: hs.Platform | None = None,
    until_s: float | None = None,
    depth: int | str = 1,
    **rules: Any,
) -> hs.Result:
    """A run of jobs numbered from 1, whose schedule keeps every law."""
    rows = [{"job_id": number, "cap_w": None, "comm_s": 0.0, **one} for number, one in enumerate(jobs, start=1)]
    floats = ("submit_s", "runtime_s", "walltime_s", "cap_w", "comm_s")
    workload = hs.Workload.from_polars(pl.DataFrame(rows, schema_overrides=dict.fromkeys(floats, pl.Float64)))
    policy = hs.Policy(
        order="fcfs",
        backfill={"name": "reservations", "depth": depth},
        placement="lowest-id",
        power={"name": "system-budget", "budget_w": budget_w, **rules},
    )
    nodes = machine() if platform is None else platform
    result = hs.simulate(workload, nodes, policy, events=events, until_s=until_s)
    check_schedule(result, workload, nodes)
    return result


def column(result: hs.Result, name: str) -> list[Any]:
    return result.jobs[name].to_list()


def told(result: hs.Result, *kinds: str) -> list[tuple[float, str, int | None, float | None]]:
    return result.events.filter(pl.col("kind").is_in(kinds)).select("time_s", "kind", "job_id", "value").rows()


def over_s(result: hs.Result, budget_w: float, start: float, until: float) -> float:
    """Time for which the machine drew more than so much, between two instants."""
    rows = result.timeline.select("time_s", "power_w").rows()
    cuts = [(before[0], after[0], before[1]) for before, after in pairwise(rows)]
    return sum(max(0.0, min(end, until) - max(begin, start)) for begin, end, watts in cuts if watts > budget_w)


def test_an_own_cap_slows_and_the_walltime_was_meant_for_it() -> None:
    # 100 s at factor 2 are 200 s at 100 W. A walltime of 150 s kills it there.
    result = run([job(0, 100, 250, 1, cap_w=100)], 1000)
    assert [column(result, name) for name in ("end_s", "energy_j", "state")] == [[200], [20_000], ["completed"]]
    result = run([job(0, 100, 150, 1, cap_w=100)], 1000)
    assert [column(result, name) for name in ("end_s", "energy_j", "state")] == [[150], [15_000], ["timeout"]]


FALL = budget(40, 400)
LOWER = ["lower-caps"]


def test_a_fall_of_the_budget_lowers_a_cap() -> None:
    # Two nodes at 200 and two at 50 are 500 W, above 400. Under 150 W a node it is 400; the 60 s left become 75.
    # 2 * 200 * 40 + 2 * 150 * 75 = 38,500 J.
    result = run([job(0, 100, 120, 2)], 1000, FALL, on_excess=LOWER)
    assert [column(result, name) for name in ("end_s", "energy_j", "state")] == [[115], [38_500], ["completed"]]
    assert result.events.select("time_s", "kind", "job_id", "value", "power_before_w", "power_after_w").rows() == [
        (40, "budget", None, 400, 500, 500),
        (40, "alert", None, 400, 500, 500),
        (40, "lower-cap", 1, 150, 500, 400),
    ]
    assert result.summary()["alerts"] == 1
    assert column(result, "lowest_cap_w") == [150]


def test_the_planned_end_moves_with_the_cap() -> None:
    # The same job, but longer than its walltime of 120 s: 80 s of it are left at 40, 100 under the cap. It is killed
    # where it is planned to end, at 140.
    result = run([job(0, 200, 120, 2)], 1000, FALL, on_excess=LOWER)
    assert [column(result, name) for name in ("end_s", "state")] == [[140], ["timeout"]]


def test_the_cap_is_raised_when_the_budget_is_back() -> None:
    # From 40 to 80 it does 32 s of work; 35 of its 75 s are left, 28 at full speed: it ends at 108.
    # 400 * 40 + 300 * 40 + 400 * 28 = 39,200 J.
    result = run([job(0, 100, 120, 2)], 1000, budget(40, 400, 80), on_excess=LOWER)
    assert [column(result, name) for name in ("end_s", "energy_j")] == [[108], [39_200]]
    assert told(result, "lower-cap", "raise-cap") == [(40, "lower-cap", 1, 150), (80, "raise-cap", 1, None)]


def test_a_walltime_stretches_with_a_system_cap() -> None:
    # 300 W leave 100 W a node: 60 s become 120, and the 50 s of walltime that are left 100. It is killed at 140.
    result = run([job(0, 100, 90, 2)], 1000, budget(40, 300), on_excess=LOWER)
    assert [column(result, name) for name in ("end_s", "state")] == [[140], ["timeout"]]
    assert told(result, "lower-cap") == [(40, "lower-cap", 1, 150), (40, "lower-cap", 1, 100)]


def test_no_job_starts_while_another_is_held_down() -> None:
    # Job 1 draws 400 W with the idle nodes; job 2 would add 50, and 450 would do. But job 1 waits for its watts.
    jobs = [job(0, 100, 120, 2), job(50, 10, 25, 1, cap_w=100)]
    result = run(jobs, 1000, budget(40, 450), on_excess=LOWER)
    assert [column(result, name) for name in ("start_s", "end_s")] == [[0, 115], [115, 135]]


def test_the_newest_is_lowered_first_and_raised_last() -> None:
    # 500 W at 20: job 2 goes to 150 and 100 W, then job 1. At half speed job 1 needs until 180 for its 80 s. Of job 2's
    # 90 s 10 are left then, and take 12.5 under 150 W: a node at 150 and three at 50 are 300.
    jobs = [job(0, 100, None, 1), job(10, 100, None, 1)]
    result = run(jobs, 1000, budget(20, 300), on_excess=LOWER)
    assert told(result, "lower-cap", "raise-cap") == [
        (20, "lower-cap", 2, 150),
        (20, "lower-cap", 2, 100),
        (20, "lower-cap", 1, 150),
        (20, "lower-cap", 1, 100),
        (180, "raise-cap", 2, 150),
    ]
    lowered = result.events.filter(pl.col("kind") == "lower-cap")
    assert lowered["power_after_w"].to_list() == [450, 400, 350, 300]
    assert column(result, "end_s") == [180, 192.5]


TWO = [job(0, 100, 100, 2), job(10, 50, 50, 1)]


def test_suspended_jobs_resume_when_the_budget_is_back() -> None:
    # 650 W at 20. Without job 2 it is 500, without both 200. At 60 all is back: 80 and 40 s are left.
    result = run(TWO, 1000, budget(20, 450, 60), on_excess=["suspend"])
    assert told(result, "suspend", "resume") == [
        (20, "suspend", 2, None),
        (20, "suspend", 1, None),
        (60, "resume", 1, None),
        (60, "resume", 2, None),
    ]
    assert [column(result, name) for name in ("end_s", "energy_j")] == [[140, 100], [40_000, 10_000]]
    assert [column(result, name) for name in ("suspended_s", "state")] == [[40, 40], ["completed"] * 2]
    assert result.segments.filter(job_id=2).select("start_s", "end_s", "speed_ratio", "power_w", "state").rows() == [
        (10, 20, 1, 200, "running"),
        (20, 60, 0, 0, "suspended"),
        (60, 100, 1, 200, "running"),
    ]


def test_a_requeued_job_starts_again_when_nothing_is_to_come() -> None:
    # Job 1 needs 500 W with the idle nodes, for good more than 450: it is killed. Job 2 starts again at once.
    result = run(TWO, 1000, budget(20, 450), on_excess=["requeue"])
    assert told(result, "requeue", "kill") == [(20, "requeue", 2, None), (20, "kill", 1, None)]
    names = ("start_s", "end_s", "state", "attempts", "lost_energy_j")
    assert [column(result, name) for name in names] == [
        [0, 20],
        [20, 70],
        ["failed", "completed"],
        [1, 2],
        [8000, 2000],
    ]
    assert result.summary()["lost_energy_j"] == 10_000


@pytest.mark.parametrize(("victims", "waits", "end"), [("newest", 1, 110.0), ("lowest-priority", 2, 102.0)])
def test_victims_are_the_newest_or_those_of_lowest_priority(victims: str, waits: int, end: float) -> None:
    # At 60 jobs 2 (three nodes, since 50) and 3 (one node, since 2) run: 800 W. Either of them is enough.
    jobs = [job(0, 50, 50, 2), job(1, 50, 50, 3), job(2, 90, 90, 1)]
    result = run(jobs, 1000, budget(60, 650, 70), on_excess=["suspend"], victims=victims)
    assert column(result, "start_s") == [0, 50, 2]
    assert column(result, "suspended_s") == [10.0 if place == waits else 0.0 for place in range(3)]
    assert column(result, "end_s")[waits] == end


@pytest.mark.parametrize(("foresight", "starts", "over"), [("all", [50, 1], 0), (10, [0, 50], 10)])
def test_foresight_sees_the_budget_fall(foresight: Any, starts: list[float], over: float) -> None:
    # A node adds 150 W to the idle 200, and 250 W hold from 20 to 50. Job 1 would run into it, job 2 ends at 16.
    # Who sees 10 s ahead starts job 1 at 0, and job 2 after the fall.
    jobs = [job(0, 30, 30, 1), job(1, 15, 15, 1)]
    result = run(jobs, 400, budget(20, 250, 50), foresight_s=foresight)
    assert column(result, "start_s") == starts
    assert over_s(result, 250, 20, 50) == result.summary()["over_budget_s"] == over


def test_the_watts_of_the_head_are_not_touched() -> None:
    # 400 W beyond idle, 300 of them job 1's until 100. Job 2 needs as many, and is promised 100. Job 3 would keep 150
    # of them. Jobs 4 and 5 under 100 W add 50 each: with job 2's 300 that is no more than 400.
    jobs = [
        job(0, 100, 100, 2),
        job(1, 50, 50, 2),
        job(2, 200, 200, 1),
        job(3, 100, 200, 1, cap_w=100),
        job(4, 90, 90, 1, app="mem", cap_w=100),
    ]
    assert column(run(jobs, 600), "start_s") == [0, 100, 150, 3, 4]


def test_uniform_caps_share_what_an_end_frees() -> None:
    # Four nodes of 200 W are 800, under 150 W 600. Job 1 ends at 50; the others' ends, at 125, come to 50 + 75 * 0.8.
    # With an interval of 40 s the change comes at 80: 80 + 45 * 0.8.
    jobs = [job(0, 40, 40, 1), *[job(0, 100, 100, 1)] * 3]
    result = run(jobs, 650, allocator="uniform")
    assert result.segments.filter(start_s=0)["cap_w"].to_list() == [150] * 4
    assert column(result, "end_s") == [50, 110, 110, 110]
    result = run(jobs, 650, allocator="uniform", allocator_interval_s=40)
    assert column(result, "end_s") == [50, 116, 116, 116]
    assert set(result.segments.filter(pl.col("cap_w").is_null())["start_s"]) == {80}


@pytest.mark.parametrize(("budget_w", "caps", "end"), [(450, [None, 150], 100), (350, [150, 100], 125)])
def test_equal_slowdown_takes_first_what_costs_no_time(budget_w: float, caps: list[Any], end: float) -> None:
    # mem runs as fast at 150 W: 200 + 150 + 50 + 50 = 450. At s = 1.25 it takes 100 W and cpu 150: 350.
    jobs = [job(0, 100, 100, 1), job(0, 100, 100, 1, app="mem")]
    result = run(jobs, budget_w, allocator="equal-slowdown")
    assert result.segments["cap_w"].to_list() == caps
    assert column(result, "end_s") == [end, end]


def test_equal_slowdown_by_the_model_slows_heterogeneous_nodes_alike() -> None:
    # k = 256 is s = 1.25, f = 0.8: 50 + 200 * 0.8 = 210 and 50 + 80 * 0.8 = 114, 324 W in all; k = 255 takes 324.2.
    watts = hs.VariationTable(["hot", "cool"], power_w=[[250.0, 250.0], [130.0, 130.0]])
    two = hs.Platform.homogeneous(2, IDLE_W, 250.0).with_tables(actual=watts).with_cap_model(static_w=50.0)
    jobs = [job(0, 100, 100, 1, app="hot"), job(0, 100, 100, 1, app="cool")]
    result = run(jobs, 324.05, platform=two, allocator="equal-slowdown")
    assert result.segments["cap_w"].to_list() == [210, 114]
    assert result.segments["speed_ratio"].to_list() == [0.8, 0.8]
    assert column(result, "end_s") == [125, 125]
    assert 280 / (1 + 255 / 1024) + 100 > 324.05 >= 280 / (1 + 256 / 1024) + 100


def test_the_monitor_looks_at_its_multiples() -> None:
    # The budget falls at 40, the monitor sees it at 45: 55 s become 68.75.
    result = run([job(0, 100, 100, 2)], 1000, FALL, on_excess=LOWER, monitor_interval_s=15)
    assert told(result, "alert", "lower-cap") == [(45, "alert", None, 400), (45, "lower-cap", 1, 150)]
    assert column(result, "end_s") == [113.75]
    assert result.summary()["over_budget_s"] == 5


# Next to the page's: small ones for rules that it works no example of.


@pytest.mark.parametrize("allocator", ["uniform", "equal-slowdown"])
def test_a_plan_counts_with_the_worst_that_an_allocator_may_do(allocator: str) -> None:
    # Job 1 has 90 s left at 10, 180 if it were held at 100 W: job 2, which needs three of four nodes, is promised 190.
    # Job 3 could end at 190 if held down (90 s become 180), and starts; one of 91 s could not, and waits.
    def starts(length: float) -> list[Any]:
        jobs = [job(0, 100, 100, 2), job(10, 50, 50, 4), job(10, length, length, 1)]
        return column(run(jobs, 1000, allocator=allocator), "start_s")

    assert starts(90) == [0, 100, 10]
    assert starts(91) == [0, 100, 150]


def test_a_job_that_may_not_be_requeued_is_killed() -> None:
    result = run(TWO, 1000, budget(20, 450), on_excess=["requeue"], max_requeues=0)
    assert told(result, "requeue", "kill") == [(20, "kill", 2, None), (20, "kill", 1, None)]
    assert column(result, "state") == ["failed", "failed"]


def test_a_suspended_job_that_can_never_resume_is_killed() -> None:
    # 250 W beyond idle are left for good: of the 300 and 150 W that were suspended, only the second fit.
    result = run(TWO, 1000, budget(20, 450), on_excess=["suspend"])
    assert told(result, "suspend", "kill", "resume") == [
        (20, "suspend", 2, None),
        (20, "suspend", 1, None),
        (20, "kill", 1, None),
        (20, "resume", 2, None),
    ]
    assert [column(result, name) for name in ("end_s", "state")] == [[20, 60], ["failed", "completed"]]


def test_communication_that_is_left_stretches_along() -> None:
    # 100 s of work and 20 s of communication: 80 s are left at 40, 100 under the cap.
    result = run([job(0, 100, None, 2, comm_s=20)], 1000, FALL, on_excess=LOWER)
    assert column(result, "end_s") == [140]


def test_a_job_that_no_budget_to_come_can_carry_is_rejected_or_has_failed() -> None:
    # From 20 on 300 W are left for good, 100 beyond idle. Job 2 (two nodes, 300 W) waits for job 1 and is rejected at
    # 20; job 3 comes later, needs as much, and is rejected at its submit.
    jobs = [job(0, 100, 100, 4), job(10, 50, 50, 2), job(30, 50, 50, 2)]
    result = run(jobs, 1000, budget(20, 300), on_excess=["requeue"])
    assert column(result, "state") == ["failed", "rejected", "rejected"]
    assert all(column(result, "reason"))


def test_the_budget_that_began_last_is_in_force() -> None:
    # A row within another: 300 W from 20 to 90, 500 from 40 to 60. Job 1 is lowered, raised, lowered, raised.
    rows = budget(20, 300, 90) + budget(40, 500, 60)
    result = run([job(0, 100, None, 2)], 1000, rows, on_excess=LOWER)
    assert told(result, "budget") == [(20, "budget", None, 300), (40, "budget", None, 500), (60, "budget", None, 300),
                                      (90, "budget", None, 1000)]  # fmt: skip
    # 20 s of work by 20, 10 at half speed by 40, 20 by 60, 15 by 90; 35 s are left.
    assert column(result, "end_s") == [125]
    assert result.timeline["budget_w"].unique().sort().to_list() == [300, 500, 1000]


def test_a_budget_below_the_idle_machine_is_refused_with_its_row() -> None:
    with pytest.raises(hs.ConfigError, match=r"events\.value, row 0: found `199` at 20 s, expected at least 200 W"):
        run([job(0, 100, 100, 1)], 1000, budget(20, 199))


def test_a_budget_is_believed_from_its_announcement_on() -> None:
    # A fall to 250 W from 20 to 50, known from 5 on. A node adds 150 W: job 1 starts at 0 and would run until 30; job 2
    # comes at 6 and ends at 21. Who knew from the first on would start neither before 50.
    def run_of(announced: float | None) -> hs.Result:
        row = {"time_s": [20], "kind": ["budget"], "value": [250], "until_s": [50], "announced_s": [announced]}
        floats = ("time_s", "value", "until_s", "announced_s")
        rows = hs.Events.from_polars(pl.DataFrame(row, schema_overrides=dict.fromkeys(floats, pl.Float64)))
        return run([job(0, 30, 30, 1), job(6, 15, 15, 1)], 1000, rows, foresight_s="all")

    assert column(run_of(5), "start_s") == [0, 50]
    assert column(run_of(7), "start_s") == [0, 6]
    assert column(run_of(None), "start_s") == [50, 50]


def test_steps_are_taken_in_their_order() -> None:
    # 650 W at 20, of which 300 may stay. All at 100 W a node are 350 W; then the newest is suspended, which saves 50.
    # Job 1 stays lowered. At 60 job 2 resumes first, then caps are raised by levels, those of the last victim first.
    result = run(TWO, 1000, budget(20, 300, 60), on_excess=["lower-caps", "suspend"])
    happened = [row[1:] for row in told(result, "lower-cap", "suspend") if row[0] == 20]
    assert happened == [
        ("lower-cap", 2, 150),
        ("lower-cap", 2, 100),
        ("lower-cap", 1, 150),
        ("lower-cap", 1, 100),
        ("suspend", 2, None),
    ]
    raised = [(kind, number, watts) for _, kind, number, watts in told(result, "resume", "raise-cap")]
    assert raised == [
        ("resume", 2, None),
        *(("raise-cap", number, watts) for number in (1, 2) for watts in (150, None)),
    ]
    # 80 s are left of job 1 at 20, 60 at 60; of job 2 40, which stand still.
    assert column(result, "end_s") == [120, 100]


def test_what_nodes_draw_beyond_predictions_is_taken_off_the_room() -> None:
    # Nodes draw 200 W where 150 are predicted. One job draws 350 W: 50 more than predicted. A second, 100 W above idle,
    # is predicted to make 400 W, and 450 W with the surplus: at 420 W it waits if there are steps, and starts if not.
    actual, predicted = (
        hs.VariationTable(["cpu"], power_w=[[watts] * 4], time_ratio=[[1.0] * 4]) for watts in (200.0, 150.0)
    )
    nodes = hs.Platform.homogeneous(4, IDLE_W, 200.0).with_tables(actual=actual, predicted=predicted)
    jobs = [job(0, 100, 100, 1), job(10, 50, 50, 1)]
    assert column(run(jobs, 420, platform=nodes, on_excess=["kill"]), "start_s") == [0, 100]
    assert column(run(jobs, 420, platform=nodes), "start_s") == [0, 10]


@pytest.mark.parametrize("small_w", [80.0, 80.0000004])
@pytest.mark.parametrize("depth", [1, 2, "unbounded"])
def test_a_head_keeps_its_reservation_whatever_watts_round_to(depth: int | str, small_w: float) -> None:
    # 190 W beyond idle. Job 2 takes 180 W on nodes 0 to 2 and on average 210: it is promised all that the plan has once
    # job 1 has ended, though that is a microwatt less than 190 W where job 1 gives back no whole microwatts. The small
    # jobs, of which one would run at all times, wait.
    draws = hs.VariationTable(
        ["wide", "small"], power_w=[[110.0, 110.0, 110.0, 150.0], [small_w] * 4], time_ratio=[[1.0] * 4] * 2
    )
    nodes = hs.Platform.homogeneous(4, IDLE_W, 250.0).with_tables(actual=draws)
    jobs = [job(0, 100, 100, 1, "small"), job(10, 100, 100, 3, "wide")]
    jobs += [job(20 + 50 * each, 100, 100, 1, "small") for each in range(20)]
    done = run(jobs, 390, platform=nodes, depth=depth)
    assert column(done, "start_s")[:2] == [0, 100]


def test_starts_do_not_get_what_a_resumed_job_asked_for_beyond_its_least_watts() -> None:
    # 150 W predicted, 250 W drawn: job 1, suspended from 20 to 60, asks for 200 W beyond idle and counts 100 when it
    # runs. At 60 the budget of 450 W leaves 250: 50 after the resumption, not 150, so job 2 (100 W) waits for its end.
    actual, predicted = (
        hs.VariationTable(["cpu"], power_w=[[watts] * 4], time_ratio=[[1.0] * 4]) for watts in (250.0, 150.0)
    )
    nodes = hs.Platform.homogeneous(4, IDLE_W, 200.0).with_tables(actual=actual, predicted=predicted)
    jobs = [job(0, 100, 100, 1), job(30, 50, 50, 1)]
    done = run(jobs, 450, budget(20, 300, until=60), platform=nodes, on_excess=["suspend"])
    assert column(done, "start_s") == [0, 140]
    assert column(done, "suspended_s") == [40, 0]


@pytest.mark.parametrize(("apps", "starts"), [("mmcc", [0, 0, 0, 140]), ("ccmm", [0, 0, 187.5, 187.5])])
def test_jobs_without_a_row_need_their_least_share(apps: str, starts: list[float]) -> None:
    # At twice the time cpu (b = 1) runs at half the speed on 125 W, 75 beyond idle; mem (b = 0.1) at the lowest, a
    # fifth, on 80 W, 30 beyond idle. 360 W leave 160: two mem and one cpu, or two cpu.
    nodes = hs.Platform.homogeneous(4, IDLE_W, 200.0, busy_w=200.0)
    nodes = nodes.with_cap_model(static_w=50, bound_ratio={"cpu": 1.0, "mem": 0.1})
    jobs = [job(0, 100, None, 1, app={"m": "mem", "c": "cpu"}[app]) for app in apps]
    done = run(jobs, 360, platform=nodes, allocator="equal-slowdown", slowdown_limit=2.0)
    assert column(done, "start_s") == starts
    assert done.summary()["over_budget_count"] == 0


def test_a_job_that_never_fits_beyond_predictions_holds_no_reservation() -> None:
    # 150 W predicted, 250 W drawn: job 1 draws 400 W, 100 more than predicted. Of 620 W the plan has 320 beyond idle at
    # most; job 2 needs 400. So job 3 starts next to it, and job 2 once nothing is drawn beyond predictions any more.
    actual, predicted = (
        hs.VariationTable(["cpu"], power_w=[[watts] * 4], time_ratio=[[1.0] * 4]) for watts in (250.0, 150.0)
    )
    nodes = hs.Platform.homogeneous(4, IDLE_W, 200.0).with_tables(actual=actual, predicted=predicted)
    jobs = [job(0, 100, 100, 1), job(10, 50, 50, 4), job(20, 200, 200, 1)]
    assert column(run(jobs, 620, platform=nodes, on_excess=["kill"]), "start_s") == [0, 220, 20]
    assert column(run(jobs, 620, platform=nodes), "start_s") == [0, 100, 150]

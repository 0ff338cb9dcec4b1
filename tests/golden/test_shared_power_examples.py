"""Worked examples of power in time on nodes that jobs share (rules 44 to 46), by the engine. Seconds, watts, joules.

One node of four slots that idles at 50 W, so 12.5 W a slot. On all of it `cpu` draws 200 W, under a cap of 150 W 1.25
times as long, under 100 W twice as long; `mem` loses nothing under 150 W and takes 1.25 times as long under 100 W. A
job of two slots draws half of that, and bears its part of what the free slots draw. FCFS with EASY.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from test_power_examples import LOWER, budget, column, job, machine, run, told

import hetsched as hs

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def shared(nodes: int = 1) -> hs.Platform:
    plain = hs.Platform.homogeneous(nodes, 50.0, 200.0, slots=4, exclusive=False)
    return plain.with_tables(actual=machine(nodes).actual_by_cap)


def draws(result: hs.Result) -> list[tuple[float, float]]:
    return result.timeline.select("time_s", "power_w").rows()


def test_each_job_on_a_node_has_its_own_cap() -> None:
    # Under 100 W job 1 draws 50 W with two slots, and takes 200 s; job 2 draws 100 W next to it, at full speed. Once it
    # has ended, job 1 bears the 25 W of the free slots: 50 * 100 + 75 * 100.
    result = run([job(0, 100, 250, 1, slots=2, cap_w=100), job(0, 100, 250, 1, slots=2)], 1000, platform=shared())
    assert [column(result, name) for name in ("end_s", "energy_j")] == [[200, 100], [12_500, 10_000]]
    assert draws(result) == [(0, 150), (100, 75), (200, 50)]
    assert result.segments.select("job_id", "cap_w", "speed_ratio", "power_w").rows() == [
        (1, 100, 0.5, 62.5),
        (2, None, 1, 100),
    ]


def test_a_fall_of_the_budget_lowers_the_cap_of_one_job_on_a_node() -> None:
    # Two jobs of two slots draw 200 W. At 20 175 W are left: job 2 goes to 150 W, of which it draws 75, and its 90 s
    # become 112.5. Job 1 ends at 100; then there is room, and the 32.5 s left become 26.
    # Job 1: 125 * 10 + 100 * 90; job 2: 100 * 10 + 75 * 80 + 125 * 26.
    jobs = [job(0, 100, 120, 1, slots=2), job(10, 100, 120, 1, slots=2)]
    result = run(jobs, 1000, budget(20, 175), platform=shared(), on_excess=LOWER)
    assert told(result, "lower-cap", "raise-cap") == [(20, "lower-cap", 2, 150), (100, "raise-cap", 2, None)]
    lowered = result.events.filter(kind="lower-cap")
    assert lowered.select("power_before_w", "power_after_w").rows() == [(200, 175)]
    assert [column(result, name) for name in ("end_s", "energy_j")] == [[100, 126], [10_250, 10_250]]
    assert column(result, "lowest_cap_w") == [None, 150]
    assert draws(result) == [(0, 125), (10, 200), (20, 175), (100, 125), (126, 50)]


def test_a_suspended_job_keeps_its_slots_and_the_others_bear_what_these_draw() -> None:
    # From 20 to 60 150 W are left of the 200. Without job 2 the node draws 100 W for job 1 and 25 for the other slots,
    # which job 1 bears. Job 2 asks for 75 W, all that 200 W leave next to job 1. Job 3 finds no free slot before 100.
    # Job 1: 125 * 10 + 100 * 10 + 125 * 40 + 100 * 40; job 3: 50 + 3 * 12.5 for 10 s.
    jobs = [job(0, 100, 100, 1, slots=2), job(10, 50, 50, 1, slots=2), job(30, 10, 10, 1, slots=1)]
    result = run(jobs, 200, budget(20, 150, 60), platform=shared(), on_excess=["suspend"])
    assert told(result, "suspend", "resume") == [(20, "suspend", 2, None), (60, "resume", 2, None)]
    assert [column(result, name) for name in ("start_s", "end_s")] == [[0, 10, 100], [100, 100, 110]]
    assert column(result, "energy_j") == [11_250, 5000, 875]
    assert draws(result) == [(0, 125), (10, 200), (20, 125), (30, 125), (60, 200), (100, 87.5), (110, 50)]


def test_a_node_of_suspended_jobs_alone_idles() -> None:
    result = run([job(0, 50, 50, 1, slots=2)], 1000, budget(20, 50, 60), platform=shared(), on_excess=["suspend"])
    assert draws(result) == [(0, 125), (20, 50), (60, 125), (90, 50)]
    assert result.nodes.select("busy_s", "idle_s", "energy_j").rows() == [(50, 40, 125 * 50 + 50 * 40)]
    assert column(result, "energy_j") == [125 * 50]


def test_what_a_killed_job_saves_is_its_slots_part() -> None:
    # Job 1 has a slot of each of two nodes, job 2 three of one: 2 * 37.5 and 112.5 W beyond idle. 200 W leave 100.
    jobs = [job(0, 100, 100, 2, slots=1), job(10, 100, 100, 1, slots=3)]
    result = run(jobs, 1000, budget(20, 200), platform=shared(2), on_excess=["kill"])
    assert result.events.filter(kind="kill").select("job_id", "power_before_w", "power_after_w").rows() == [
        (2, 287.5, 175)
    ]
    assert column(result, "state") == ["completed", "failed"]


def test_a_requeued_job_gives_its_slots_to_those_that_fit() -> None:
    # 175 W leave 125 beyond idle: job 2 (three slots, 112.5) is queued again at 20, before job 3 (one slot), and both
    # wait for watts: job 1 holds 37.5, and job 2 is promised the end of job 1, at 100, beside which job 3 has no place.
    jobs = [job(0, 100, 100, 1, slots=1), job(10, 50, 50, 1, slots=3), job(30, 90, 90, 1, slots=1)]
    result = run(jobs, 1000, budget(20, 175), platform=shared(), on_excess=["requeue"])
    assert told(result, "requeue") == [(20, "requeue", 2, None)]
    assert column(result, "start_s") == [0, 100, 150]
    # It drew three quarters of 200 W for 10 s.
    assert column(result, "lost_energy_j") == [0, 1500, 0]


def test_uniform_caps_share_what_an_end_frees_on_a_node() -> None:
    # Four jobs of one slot draw 200 W, under 150 W 150. Job 1 ends at 50: 150 W for the others and 12.5 for its slot
    # are just the budget. With an interval of 40 s the change comes at 80.
    jobs = [job(0, 40, 40, 1, slots=1), *[job(0, 100, 100, 1, slots=1)] * 3]
    result = run(jobs, 162.5, platform=shared(), allocator="uniform")
    assert result.segments.filter(start_s=0)["cap_w"].to_list() == [150] * 4
    assert column(result, "end_s") == [50, 110, 110, 110]
    # A third of 12.5 W is rounded down to a picowatt.
    assert draws(result) == [(0, 150), (50, 162.499999999998), (110, 50)]
    result = run(jobs, 162.5, platform=shared(), allocator="uniform", allocator_interval_s=40)
    assert column(result, "end_s") == [50, 116, 116, 116]


@pytest.mark.parametrize(("budget_w", "caps", "end"), [(175, [None, 150], 100), (125, [150, 100], 125)])
def test_equal_slowdown_sets_two_caps_on_one_node(budget_w: float, caps: list[Any], end: float) -> None:
    # Half of 200 and half of 150 W are 175; half of 150 and half of 100 are 125.
    jobs = [job(0, 100, 100, 1, slots=2), job(0, 100, 100, 1, slots=2, app="mem")]
    result = run(jobs, budget_w, platform=shared(), allocator="equal-slowdown")
    assert result.segments["cap_w"].to_list() == caps
    assert column(result, "end_s") == [end, end]
    assert draws(result)[0] == (0, budget_w)


def test_least_watts_are_those_of_a_jobs_slots() -> None:
    # 100 W leave 50 beyond idle: a job of two slots needs 75, and 25 under the lowest cap, so two fit under `uniform`
    # and none without an allocator. A job of one slot needs 37.5.
    jobs = [job(0, 100, 100, 1, slots=2), job(0, 100, 100, 1, slots=2), job(0, 100, 100, 1, slots=1)]
    result = run(jobs, 100, platform=shared(), allocator="uniform")
    assert column(result, "start_s") == [0, 0, 200]
    assert draws(result)[0] == (0, 100)
    result = run(jobs, 100, platform=shared())
    assert column(result, "state") == ["rejected", "rejected", "completed"]


def test_the_cap_model_slows_the_slots_of_a_job_as_it_does_a_node() -> None:
    # Of 200 W 50 are static. Under 125 W half of the rest is left: half speed. One slot of four draws 31.25 W.
    nodes = hs.Platform.homogeneous(1, 50.0, 200.0, busy_w=200.0, slots=4, exclusive=False).with_cap_model(static_w=50)
    result = run([job(0, 100, None, 1, slots=1, cap_w=125)], 1000, platform=nodes)
    assert column(result, "end_s") == [200]
    assert column(result, "energy_j") == [(31.25 + 37.5) * 200]


def test_a_job_that_makes_way_goes_on_under_its_cap() -> None:
    # Two slots. Job 1 has one, draws 50 W under 100 W and bears 25 of the other; it makes way from 50 to 80.
    plain = hs.Platform.homogeneous(1, 50.0, 200.0, slots=2, exclusive=False, queues=[
        hs.Queue("n", "0"), hs.Queue("u", "0", priority=1, preempts=["n"])
    ])  # fmt: skip
    nodes = plain.with_tables(actual=machine(1).actual_by_cap)
    rows = [
        {"job_id": 1, **job(0, 100, 250, 1, slots=1, cap_w=100.0, queue="n")},
        {"job_id": 2, **job(50, 30, 30, 1, slots=2, cap_w=None, queue="u")},
    ]
    workload = hs.Workload.from_polars(pl.DataFrame(rows))
    result = hs.simulate(workload, nodes, hs.Policy("fcfs", "plan"))
    assert [column(result, name) for name in ("end_s", "energy_j")] == [[230, 80], [75 * 200, 200 * 30]]


class Halving:
    """An allocator of one's own: 100 W for all but the first, if that is needed."""

    least_cap_w = 100.0

    def allot(self, runs: Any, watts: float, view: Any) -> Any:
        free = np.full(len(runs), np.inf)
        if runs.draw_w(free).sum() <= watts:
            return free
        caps = np.full(len(runs), 100.0)
        caps[0] = np.inf
        return caps if runs.draw_w(caps).sum() <= watts else np.full(len(runs), 100.0)


def test_an_allocator_of_ones_own_caps_jobs_that_share_a_node() -> None:
    # Half of 200 and half of 100 W are 150. What it is told of draws is what its slots draw: 75 and 25 beyond idle.
    jobs = [job(0, 100, None, 1, slots=2), job(0, 100, None, 1, slots=2)]
    result = run(jobs, 150, platform=shared(), allocator=Halving())
    assert result.segments.select("job_id", "cap_w", "start_s", "end_s").rows() == [
        (1, None, 0, 100),
        (2, 100, 0, 100),
        (2, None, 100, 150),
    ]

"""Hand-checked cases of the plain reference for Slurm's scheduler, one rule each."""

from __future__ import annotations

from typing import Any

import pytest
from plain_slurm import Result, simulate
from plain_slurm_plan import Record as TableRecord
from plain_slurm_plan import Table, groups, will_run
from plain_slurm_queue import multifactor_priority
from plain_slurm_state import RUNNING, Job, Node, Options, Partition, Place, Run, State
from slurm_examples import BACKFILL_ONLY, BOTH, EXAMPLES, FIRST, NO_DELAYS, E, Written

DEFAULT = {**NO_DELAYS, "epoch_s": E, "first_main_s": 0.0, "started_s": -10.0, "bf_interval": -1}


def run(
    nodes: list[Node] | int, options: dict[str, Any], written: list[Written], partitions: list[Partition] | None = None
) -> Result:
    """Jobs run as long as written, without more."""
    nodes = [Node(f"n{i}") for i in range(1, nodes + 1)] if isinstance(nodes, int) else nodes
    partitions = partitions or [Partition("batch", tuple(range(len(nodes))))]
    jobs = [
        Job(i, one.submit_s, one.nodes, one.run_s, 60 * one.limit_min, one.partition, one.licences)
        for i, one in enumerate(written, 1)
    ]
    return simulate(nodes, partitions, Options(**options), jobs)


def starts(result: Result) -> list[float | None]:
    return [job.start_s for job in result.jobs.values()]


def on(result: Result, job: int) -> tuple[int, ...]:
    return tuple(n + 1 for n in result.jobs[job].nodes)


def state_of(nodes: list[Node], ends: list[tuple[int, tuple[int, ...]]], **options: Any) -> State:
    """Running jobs by planned end and nodes, numbered from 1."""
    every = Partition("batch", tuple(range(len(nodes))))
    runs = {}
    for i, (end, of) in enumerate(ends, 1):
        runs[i] = Run(Job(i, 0.0, len(of), 1.0, 60.0), every, RUNNING, nodes=of, planned_end=end, allocated=0)
    places = [Place(weight=(0, node.weight)) for node in nodes]
    return State(nodes, {"batch": every}, Options(**options), runs, places)


def asking(state: State, count: int) -> Run:
    return Run(Job(99, 0.0, count, 1.0, 60.0), state.partitions["batch"])


def plain(count: int) -> list[Node]:
    return [Node(f"n{i}") for i in range(1, count + 1)]


# Main loop.


@pytest.mark.parametrize(("period", "second_start"), [(2.1, 39.0), (2.09, 41.08)])
def test_delay_between_runs_is_a_difference_of_whole_seconds(period: float, second_start: float) -> None:
    options = {**DEFAULT, "started_s": 0.0, "first_main_s": 36.9, "main_period_s": period, "sched_interval": 1000}
    result = run(2, options, [Written(36, 1, 50, 1), Written(37, 1, 50, 1)])
    assert starts(result) == [36.9, second_start]


def test_full_run_comes_without_an_event() -> None:
    """Events have no run within 1000 s; full runs come every 60 s."""
    options = {**DEFAULT, "started_s": 0.0, "batch_sched_delay": 1000}
    assert starts(run(1, options, [Written(0.5, 1, 5, 1), Written(61, 1, 5, 1)])) == [60.0, 120.0]


@pytest.mark.parametrize(
    ("changed", "second", "third"),
    [({"Epilog": True}, 11.5, 12.0), ({}, 12.0, 12.0), ({"Epilog": True, "defer": True}, 12.0, 12.0)],
)
def test_epilog_runs_the_main_loop_off_the_beat(changed: dict[str, Any], second: float, third: float) -> None:
    """Job 1 has two nodes from 1 to 11 and clean-up until 11.5; job 3 comes at 11.6, for the tick at 12."""
    options = {**DEFAULT, **changed, "clean_up_s": 0.5}
    result = run(2, options, [Written(0.1, 2, 10, 1), Written(0.2, 1, 20, 1), Written(11.6, 1, 5, 1)])
    assert starts(result) == [1.0, second, third]


@pytest.mark.parametrize(("age", "third"), [(0, 17.4), (100, 1.4)])
def test_young_job_does_not_fail_its_partition(age: int, third: float) -> None:
    options = {**BOTH, "epoch_s": E, "beats": {"backfill": ()}, "bf_min_age_reserve": age}
    result = run(2, options, [Written(0, 1, 10.2, 1), Written(1, 2, 5.2, 1), Written(1, 1, 5.2, 1)])
    assert starts(result) == [0.4, 11.4, third]


def test_partition_with_too_few_nodes_left_blocks_its_nodes() -> None:
    """`hi` fails and blocks n1 and n2, so `all` has two nodes left for three, fails and blocks n3 and n4, too."""
    options = {**BOTH, "epoch_s": E, "beats": {"backfill": ()}}
    partitions = [Partition("hi", (0, 1), 2), Partition("all", (0, 1, 2, 3)), Partition("lo", (2, 3))]
    jobs = [
        Written(0, 1, 10.2, 1, "hi"),
        Written(1, 2, 5.2, 1, "hi"),
        Written(1, 3, 5.2, 1, "all"),
        Written(1, 1, 5.2, 1, "lo"),
    ]
    assert starts(run(4, options, jobs, partitions)) == [0.4, 11.4, 17.4, 17.4]


def test_depth_of_the_queue_is_one_more_than_it_says() -> None:
    """Job 2 lacks a licence and is looked at; job 3 is not, until the full run at 50."""
    options = {**DEFAULT, "default_queue_depth": 1, "Licenses": {"w": 1}}
    jobs = [
        Written(0.5, 1, 30, 1, licences={"w": 1}),
        *[Written(0.6, 1, 5, 1, licences={"w": 1})],
        Written(0.7, 1, 5, 1),
    ]
    assert starts(run(3, options, jobs))[2] == 31.0


def test_job_over_its_limit_is_killed_on_the_grid() -> None:
    """It starts at 3, so its end is 63; the grid is at 30, 60 and 90. After KillWait the main loop runs at once."""
    options = {**DEFAULT, "started_s": 0.0}
    result = run(1, options, [Written(0.5, 1, 500, 1), Written(0.6, 1, 5, 1)])
    assert result.jobs[1].start_s == 3.0
    assert result.jobs[1].end_s == 90.0
    assert result.jobs[2].start_s == 92.0


def test_ticks_are_on_whole_seconds_since_23_11() -> None:
    options = {**NO_DELAYS, "epoch_s": E + 0.25, "started_s": -10.0, "bf_interval": -1, "main_period_s": None}
    assert starts(run(1, {**options, "release": "23.11"}, [Written(0.5, 1, 5, 1)])) == [0.75]
    assert starts(run(1, {**options, "release": "22.05"}, [Written(0.5, 1, 5, 1)])) == [
        pytest.approx(-10.0 + 11 * 1.0017)
    ]


# Will-run test.


ENDS = [100, 130, 149, 151, 260, 400]


def test_groups_of_the_worked_example() -> None:
    state = state_of(plain(6), [(end, (n,)) for n, end in enumerate(ENDS)])
    sizes = [len(removed) for removed in groups(state.running(), set(range(6)), 0)]
    assert sizes == [3, 4, 5, 6]
    found = [
        will_run(state, asking(state, count), set(range(6)), 50, may_plan=True, later=None) for count in range(1, 7)
    ]
    assert [one and one[0] for one in found] == [149, 149, 149, 151, 260, 400]


def test_first_group_ends_at_the_bound() -> None:
    state = state_of(plain(2), [(100, (0,)), (151, (1,))])
    assert will_run(state, asking(state, 1), {0, 1}, 50, may_plan=True, later=None) == (100, (0,))


def test_job_behind_a_skipped_one_is_taken_whatever_the_bound() -> None:
    """The job at 149 is in the bound of 150 without a node that counts, so the one at 400 is in the first group."""
    state = state_of(plain(3), [(100, (0,)), (149, (1,)), (400, (2,))])
    assert will_run(state, asking(state, 1), {0, 2}, 50, may_plan=True, later=None) == (400, (0,))


def test_windows_grow_by_a_step() -> None:
    """B = 120; 150, then windows of 40 and 50: the bounds are 160 and 170."""
    state = state_of(plain(4), [(100, (0,)), (155, (1,)), (165, (2,)), (175, (3,))])
    assert [len(removed) for removed in groups(state.running(), set(range(4)), 10)] == [1, 2, 3, 4]
    assert [len(removed) for removed in groups(state.running(), set(range(4)), 0)] == [1, 4]


def test_job_over_its_limit_is_expected_to_end_after_killing() -> None:
    state = state_of(plain(1), [(100, (0,))], KillWait=2)
    assert will_run(state, asking(state, 1), {0}, 105, may_plan=True, later=None) == (106, (0,))
    assert will_run(state, asking(state, 1), {0}, 100, may_plan=True, later=None) == (102, (0,))


def test_what_newer_releases_take_away() -> None:
    ends: list[tuple[int, tuple[int, ...]]] = [(100, (0,)), (130, (1,))]
    found = {
        release: will_run(
            state := state_of(plain(2), ends, release=release), asking(state, 1), {0, 1}, 50, may_plan=True, later=later
        )
        for release, later in [("22.05", 110), ("24.11", 110), ("25.05", None)]
    }
    assert {release: one and one[0] for release, one in found.items()} == {"22.05": 130, "24.11": 100, "25.05": 100}


# Nodes.


def test_best_fit_takes_the_lowest_weight_before_the_fitting_run() -> None:
    weights = [5, 5, 1, 9, 1, 1, 9, 1, 1, 1]
    nodes = [Node(f"n{i}", weight=weight) for i, weight in enumerate(weights)]
    state = state_of(nodes, [])
    every = set(range(10))
    assert state.choose(every, 1) == (2,)
    assert state.choose(every, 2) == (4, 5)
    assert state.choose(every, 4) == (2, 7, 8, 9)
    assert state.choose(every, 5) == (4, 5, 7, 8, 9)
    assert state.choose(every, 7) == (0, 2, 4, 5, 7, 8, 9)
    assert state.choose(every - {0}, 10) is None


def test_sleepers_of_a_whole_line_come_before_those_of_a_line_partly_awake() -> None:
    nodes = [Node("a", 4, 1, 0), Node("b", 4, 1, 0), Node("c", 4, 9, 1), Node("d", 4, 9, 1)]
    state = state_of(nodes, [])
    for n in (1, 2, 3):
        state.places[n].power = "asleep"
    state.store_weights(state.partitions["batch"])
    assert state.choose({1, 2, 3}, 1) == (2,)
    assert state.choose({0, 1, 2, 3}, 2) == (0, 2)
    assert state.choose({0, 1, 2, 3}, 4) == (0, 1, 2, 3)


# Backfill.


def test_only_jobs_that_reach_the_test_count() -> None:
    """Job 2 is planned at 120; job 3 touches that plan, and nothing comes back inside the table: no test, no count."""
    options = {**BACKFILL_ONLY, "epoch_s": E, "bf_window": 2, "bf_node_space_size": 100}
    jobs = [Written(0, 2, 110.2, 2), Written(1, 3, 5.2, 1), Written(1, 1, 5.2, 2), Written(1, 1, 5.2, 1)]
    assert starts(run(3, {**options, "bf_max_job_test": 2}, jobs)) == [0.5, 111.5, 117.5, 1.5]
    assert starts(run(3, {**options, "bf_max_job_test": 1}, jobs)) == [0.5, 111.5, 117.5, 118.5]


@pytest.mark.parametrize(("limit_min", "third"), [(1, 57.5), (2, 1.5)])
def test_planned_licences_touch(limit_min: int, third: float) -> None:
    """Job 2 is planned with both licences from the end of job 1; job 3 may have one if it ends before that second."""
    options = {**BACKFILL_ONLY, "epoch_s": E, "Licenses": {"w": 2}, "bf_licenses": True}
    jobs = [
        Written(0, 1, 50.2, limit_min, licences={"w": 1}),
        Written(1, 1, 5.2, 1, licences={"w": 2}),
        Written(1, 1, 5.2, 1, licences={"w": 1}),
    ]
    assert starts(run(4, options, jobs)) == [0.5, 51.5, third]


def test_running_jobs_in_the_table_make_plans_start_at_an_edge() -> None:
    """Golden schedule 1a, but job 3 is planned at 60 on n1, n2 and n4, not at 120."""
    jobs = [Written(one.submit_s, one.nodes, one.run_s + 0.2, one.limit_min) for one in FIRST]
    result = run(4, {**BACKFILL_ONLY, "epoch_s": E, "bf_running_job_reserve": True}, jobs)
    assert starts(result) == [0.5, 0.5, 51.5, 51.5]
    assert on(result, 4) == (4,)


@pytest.mark.parametrize(("as_recorded", "second"), [(True, 34.5), (False, 40.5)])
def test_plan_on_allocated_nodes_is_no_change(as_recorded: bool, second: float) -> None:
    """Job 1 ends at 33.7. Cycles are at 10.5 and 20.5; later ones every 10 s, or once there is a change."""
    options = {**NO_DELAYS, "epoch_s": E, "started_s": 0.5, "bf_interval": 10, "beats": {"main": ()}}
    result = run(1, {**options, "changes_as_recorded": as_recorded}, [Written(1, 1, 23.2, 1), Written(2, 1, 5, 1)])
    assert starts(result) == [10.5, second]


def test_completing_node_puts_a_start_off_by_a_second() -> None:
    """Job 1 ends at 10.2 and is cleaned up at 10.9: the cycle at 10.5 plans for the next second."""
    result = run(1, {**BACKFILL_ONLY, "epoch_s": E, "clean_up_s": 0.7}, [Written(0, 1, 9.7, 1), Written(1, 1, 5, 1)])
    assert starts(result) == [0.5, 11.5]


def test_plans_snap_down_to_the_resolution() -> None:
    table = Table(60, [TableRecord(120, 6000, {0, 1}, {})])
    table.reserve(185, 245, (0,), {})
    assert [(one.begin, one.end, one.nodes) for one in table.records] == [
        (120, 180, {0, 1}),
        (180, 240, {1}),
        (240, 6000, {0, 1}),
    ]
    assert table.overlaps(239, 250, (0,), {})
    assert not table.overlaps(240, 250, (0,), {})
    table.reserve(200, 210, (1,), {})
    assert [one.nodes for one in table.records] == [{0, 1}, set(), {0, 1}]


def test_later_is_where_nodes_come_back() -> None:
    table = Table(
        1, [TableRecord(0, 100, {0, 1}, {}), TableRecord(100, 200, {1}, {}), TableRecord(200, 300, {0, 1}, {})]
    )
    one = Run(Job(1, 0.0, 1, 1.0, 60.0), Partition("batch", (0, 1)))
    assert table.usable(one, {0, 1}, 0, 60, {}) == ({0, 1}, 200)
    assert table.usable(one, {0, 1}, 0, 99, {}) == ({0, 1}, 200)
    assert table.usable(one, {0, 1}, 0, 100, {}) == ({1}, 200)
    assert table.usable(one, {0, 1}, 200, 260, {}) == ({0, 1}, None)


def test_search_for_later_ends_with_the_first_record_behind_the_window() -> None:
    free: list[set[int]] = [{0, 1}, {1}, set(), {0, 1}]
    table = Table(1, [TableRecord(100 * i, 100 * i + 100, of, {}) for i, of in enumerate(free)])
    one = Run(Job(1, 0.0, 1, 1.0, 60.0), Partition("batch", (0, 1)))
    assert table.usable(one, {0, 1}, 0, 60, {}) == ({0, 1}, None)
    assert table.usable(one, {0, 1}, 0, 100, {}) == ({1}, 300)


def test_records_merged_away_count_for_the_size_of_the_table() -> None:
    table = Table(1, [TableRecord(0, 1000, {0}, {})])
    table.reserve(100, 200, (0,), {})
    table.reserve(200, 300, (0,), {})
    assert [(record.begin, record.end) for record in table.records] == [(0, 100), (100, 300), (300, 1000)]
    assert table.made == 4


# Priority.


def test_size_follows_the_nodes_once_backfill_has_planned_the_job() -> None:
    options = {
        "PriorityType": "priority/multifactor",
        "PriorityWeightJobSize": 1000,
        "PriorityWeightAge": 100,
        "PriorityMaxAge": 200,
    }
    state = state_of(plain(4), [], **options)
    one = Run(Job(1, 0.0, 2, 1.0, 60.0, cpus=4, nice=3), state.partitions["batch"])
    assert multifactor_priority(state, one, 50, is_new=True) == (250 + 125) - 3
    assert multifactor_priority(state, one, 50, is_new=False) == (250 + 125) + 25 - 3
    one.tested = (0, 1)
    assert multifactor_priority(state, one, 50, is_new=False) == (250 + 250) + 25 - 3
    state.options = Options(**options, PriorityFavorSmall=True, accounting=False)
    one.tested = (0, 1, 2)
    assert multifactor_priority(state, one, 50, is_new=False) == (250 + 125) - 3


def test_priorities_stay_without_slurmdbd() -> None:
    """Golden schedule 10, but the job of all nodes, of the highest priority at submission, is first."""
    example = EXAMPLES[-1]
    jobs = [Written(one.submit_s, one.nodes, one.run_s + 0.2, one.limit_min) for one in example.jobs]
    assert starts(run(4, {**example.options, "accounting": False}, jobs)) == [0.4, 77.4, 77.4, 71.4]


# Power.

SLEEPY = {
    **BOTH,
    "epoch_s": E,
    "started_s": -0.6,
    "first_scan_s": 0.2,
    "SuspendTime": 5,
    "SuspendTimeout": 4,
    "power_save_interval": 1,
    "boot_s": 3.0,
}


def times(result: Result, what: str) -> list[float]:
    return [time for time, event, _ in result.power if event == what]


def test_suspend_rate_leaks() -> None:
    """20 at once; 20 × (59/60)² rounds to 19, so one after 2 s, and then one every 3 s."""
    result = run(40, {**SLEEPY, "SuspendRate": 20}, [Written(30, 1, 5, 1)])
    assert times(result, "suspend")[:24] == [6.2] * 20 + [8.2, 11.2, 14.2, 17.2]


def test_suspend_rate_is_a_bucket_since_24_05() -> None:
    result = run(40, {**SLEEPY, "SuspendRate": 20, "release": "24.05"}, [Written(30, 1, 5, 1)])
    assert times(result, "suspend")[:4] == [6.2, 9.2, 12.2, 15.2]


@pytest.mark.parametrize(
    ("changed", "script"), [({"wait_all_nodes": False}, 59.4), ({}, 89.4), ({"PrologSlurmctld": True}, 72.2)]
)
def test_script_starts_on_the_grid_once_nodes_are_up(changed: dict[str, Any], script: float) -> None:
    """Woken at 32.2; n1 is up at 35.2, n2 at 72.2. The grid is at 29.4, 59.4 and 89.4."""
    options = {**SLEEPY, **changed, "boots": {"n2": (40.0,)}}
    result = run(2, options, [Written(31, 2, 5, 5)])
    assert times(result, "resume") == [32.2] * 2
    assert result.jobs[1].script_start_s == script


def test_job_of_a_node_that_does_not_boot_waits_121_s() -> None:
    """Asked at 20.4, woken at 21.2; 10 s are over at the scan at 32.2. Eligible in second 32 + 121, on n2 and n3."""
    options = {**SLEEPY, "ResumeTimeout": 10, "boots": {"n1": (1000.0,)}}
    result = run(3, options, [Written(20, 2, 5, 3)])
    assert (times(result, "resume")[0], times(result, "down")) == (21.2, [32.2])
    assert result.jobs[1].start_s == 153.4
    assert on(result, 1) == (2, 3)
    assert result.jobs[1].attempts == 2

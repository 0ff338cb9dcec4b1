"""`Queue`, queues of a platform, and what is refused about them (operations page on machines, rules 1 and 5 to 7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.features.queues import naming_nodes
from hetsched.testing import check_schedule

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


def faults(error: pytest.ExceptionInfo[hs.ConfigError]) -> list[str]:
    return str(error.value).splitlines()


def platform(*queues: hs.Queue | dict[str, Any], nodes: int = 4, **more: Any) -> hs.Platform:
    return hs.Platform.homogeneous(nodes=nodes, idle_w=100, tdp_w=300, queues=list(queues), **more)


def workload(*queues: str | None, **columns: Any) -> hs.Workload:
    n = len(queues)
    frame = pl.DataFrame(
        {
            "job_id": list(range(1, n + 1)),
            "submit_s": [0.0] * n,
            "runtime_s": [10.0] * n,
            "node_count": [1] * n,
            "queue": pl.Series(queues, dtype=pl.String),
        }
    )
    return hs.Workload.from_polars(frame.with_columns(**columns))


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("0-3,7", (0, 1, 2, 3, 7)),
        (" 7, 0 - 2 ,1", (0, 1, 2, 7)),
        ([3, 1, 1], (1, 3)),
        (range(2, 4), (2, 3)),
        (np.array([5, 4]), (4, 5)),
    ],
)
def test_nodes_are_text_with_both_ends_or_a_list(nodes: Any, expected: tuple[int, ...]) -> None:
    assert hs.Queue("q", nodes).nodes == expected


@pytest.mark.parametrize(
    "nodes", ["", [], "3-0", "1,,2", "1-2-3", "x", "-1", [-1], [1.5], [True], 3, None, "9999999999"]
)
def test_what_names_no_nodes_is_refused(nodes: Any) -> None:
    with pytest.raises(hs.ConfigError, match=r"^nodes: found .*, expected numbers such as"):
        hs.Queue("q", nodes)


def test_rule_5_all_faults_of_one_queue_are_reported() -> None:
    with pytest.raises(hs.ConfigError) as error:
        hs.Queue(
            "",
            "0-1",
            priority=0.5,  # type: ignore[arg-type]
            max_nodes=3,
            max_slots=0,
            max_walltime_s=10,
            default_walltime_s=20,
            max_running=0,
            users="ann",
            order="random",
            allocation="pack",
            preempts=[""],
        )
    assert faults(error) == [
        "name: found ``, expected a name",
        "priority: found `0.5`, expected a whole number between -1000000000 and 1000000000",
        "max_slots: found `0`, expected a whole number between 1 and 4611686018427387904",
        "max_running: found `0`, expected a whole number between 1 and 2147483647",
        "users: found `ann`, expected a list of names",
        "order: found `random`, expected one of fcfs, smallest, largest, shortest, longest, smallest-area",
        "allocation: found `pack`, expected one of concentrate, spread",
        "max_nodes: found `3`, expected a whole number between 1 and 2",
        "default_walltime_s: found `20`, expected at most max_walltime_s, 10",
        "preempts: found ``, expected names of other queues",
    ]


def test_rule_5_all_faults_between_queues_are_reported() -> None:
    queues = [
        hs.Queue("a", "0-4", order="shortest"),
        hs.Queue("a", "0"),
        hs.Queue("u", "1", priority=2, preempts=["b", "aa"], default=True),
        hs.Queue("b", "1", priority=2, default=True),
    ]
    with pytest.raises(hs.ConfigError) as error:
        platform(*queues)
    assert faults(error) == [
        "queues[0].nodes: found node 4 of queue `a`, expected nodes below 4",
        "queues[1].name: found `a`, expected another name than that of an earlier queue",
        "queues[2].preempts: found `aa`, expected queues of the platform: a, a, u, b; did you mean `a`?",
        "queues[2].priority: found `2` of queue `u`, expected more than 2, that of queue `b`: it preempts",
        "queues[3].default: found true of queue `b`, too, expected one default queue; `u` is",
        (
            "queues[1].order: found none (the policy's) of queue `a`, "
            "expected shortest, as queue `a` of the same priority, 0"
        ),
    ]


def test_rule_5_a_queue_that_preempts_comes_before_those_that_preempt_none() -> None:
    low, other = hs.Queue("low", "0"), hs.Queue("other", "1", priority=3)
    with pytest.raises(hs.ConfigError, match="expected more than 3, that of queue `other`: it preempts"):
        platform(low, other, hs.Queue("u", "0-1", priority=2, preempts=["low"]))
    several = [hs.Queue("u", "0-1", priority=5, preempts=["low"]), hs.Queue("v", "0", priority=5, preempts=["low"])]
    assert platform(low, other, *several).queues is not None


def test_a_platform_keeps_its_queues_through_dictionaries_and_files(tmp_path: Any) -> None:
    made = platform(
        hs.Queue("a", "0-2", 3, max_nodes=2, max_walltime_s=60, users=["bo", "ann"], order="largest"),
        hs.Queue(
            "b", [1, 3], default=True, allocation="spread", max_running=4, max_running_per_user=2, default_walltime_s=5
        ),
    )
    path = tmp_path / "machine.toml"
    path.write_text(
        """
nodes = 4
idle_w = 100
tdp_w = 300

[[queue]]
name = "a"
nodes = "0-2"
priority = 3
max_nodes = 2
max_walltime_s = 60
users = ["ann", "bo"]
order = "largest"

[[queue]]
name = "b"
nodes = [1, 3]
default = true
allocation = "spread"
max_running = 4
max_running_per_user = 2
default_walltime_s = 5
"""
    )
    assert hs.Platform.from_toml(path) == made
    assert hs.Platform.from_dict(made.to_dict()) == made
    assert made.to_dict()["queue"][1]["nodes"] == "1,3"
    assert made.with_known_draws("tdp").queues == made.queues
    assert repr(made) == "<Platform: 4 nodes, 2 queues>"
    plain = platform()
    assert plain.queues is None
    assert plain.sha256 == hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300).sha256 != made.sha256


def test_faults_of_a_file_name_the_table() -> None:
    data: dict[str, Any] = {"nodes": 2, "idle_w": 1, "tdp_w": 2}
    with pytest.raises(hs.ConfigError) as error:
        hs.Platform.from_dict({**data, "queue": [{"name": "a"}, {"name": "b", "nodes": "0", "prioriti": 1}, 3]})
    assert faults(error) == [
        "queue[0].nodes: found `nothing`, expected a value; a queue needs name and nodes",
        (
            "queue[1].prioriti: found `1`, expected one of name, nodes, priority, max_nodes, max_slots, "
            "max_walltime_s, default_walltime_s, max_running, max_running_per_user, users, order, allocation, "
            "preempts, default; did you mean `priority`?"
        ),
        "queue[2]: found `3`, expected a queue, or a dictionary of its parameters",
    ]
    with pytest.raises(hs.ConfigError, match=r"^queue\[0\]\.nodes: found node 2 of queue `a`, expected nodes below 2$"):
        hs.Platform.from_dict({**data, "queue": [{"name": "a", "nodes": "0-2"}]})


def test_rule_1_an_unknown_queue_is_an_error_that_names_both() -> None:
    machine = platform(hs.Queue("a", "0-1"), hs.Queue("b", "2-3"))
    with pytest.raises(hs.ConfigError) as error:
        hs.simulate(workload("a", None, "c"), machine, "easy")
    assert faults(error) == [
        "workload.queue: found null of job 2, expected a queue of the platform: a, b",
        "workload.queue: found `c` of job 3, expected a queue of the platform: a, b",
    ]
    bare = hs.Workload.from_polars(workload("a").to_polars().drop("queue"))
    with pytest.raises(
        hs.ConfigError, match=r"^workload\.queue: found no such column, expected a queue of the platform"
    ):
        hs.simulate(bare, machine, "easy")


@pytest.mark.parametrize("policy", ["easy", "slurm"])
def test_jobs_that_name_no_queue_are_in_the_default_one(policy: str) -> None:
    machine = platform(hs.Queue("a", "0-1"), hs.Queue("b", "2-3", default=True, max_walltime_s=600))
    named = workload("b", "a", "b")
    expected = hs.simulate(named, machine, policy)
    bare = hs.Workload.from_polars(workload("a", "a").to_polars().drop("queue"))
    assert hs.simulate(workload(None, "a", None), machine, policy).jobs.equals(expected.jobs)
    found = hs.simulate(bare, machine, policy).jobs
    assert found.select("queue", "walltime_s").rows() == [("b", 600.0)] * 2
    assert hs.simulate(bare, machine, policy).jobs.equals(hs.simulate(workload("b", "b"), machine, policy).jobs)
    session = hs.Session(workload(None, "a"), machine, policy)
    session.inject(pl.DataFrame({"job_id": [3], "submit_s": [1.0], "runtime_s": [10.0], "node_count": [1]}))
    assert session.run().jobs["queue"].to_list() == ["b", "a", "b"]


def test_a_run_without_jobs_needs_no_column() -> None:
    empty = hs.Workload.from_polars(workload().to_polars().drop("queue"))
    machine = platform(hs.Queue("a", "0-1", max_walltime_s=5), hs.Queue("b", "1-3"))
    assert hs.simulate(empty, machine, hs.Policy("fcfs", "plan")).summary()["jobs"] == 0


def test_rule_1_without_queues_the_column_means_nothing() -> None:
    assert hs.simulate(workload("a", None, "c"), platform(), "easy").summary()["completed"] == 3


def test_rule_6_counts_go_by_the_queues_that_have_the_nodes() -> None:
    machine = platform(hs.Queue("a", "0-1"), hs.Queue("b", "1-3"))
    for policy in ("fcfs", "easy", "conservative", hs.Policy("fcfs", "plan")):
        result = hs.simulate(workload("a", "b", "b", "b"), machine, policy)
        # Of its nodes a job takes those first that are in the fewest queues.
        nodes = [[0], [2], [3], [1]] if policy in ("fcfs", "easy", "conservative") else [[0], [1], [2], [3]]
        assert result.jobs["nodes"].to_list() == nodes


@pytest.mark.parametrize(
    ("policy", "more", "what"),
    [
        ("swa", {}, "policy.placement: found `sliding-window`, expected one of"),
        ("easy", {"exclusive": False, "slots": 2}, "policy.backfill: found `reservations`, expected plan or slurm"),
    ],
)
def test_rule_7_not_all_parts_count_by_queues(policy: Any, more: dict[str, Any], what: str) -> None:
    machine = platform(hs.Queue("a", "0-1"), hs.Queue("b", "1-3"), **more)
    with pytest.raises(hs.ConfigError) as error:
        hs.simulate(workload("a"), machine, policy)
    assert any(fault.startswith(what) for fault in faults(error)), faults(error)
    assert "queues `a` (nodes 0-1) and `b` (nodes 1-3) share some nodes and not all" in faults(error)[0]


@pytest.mark.parametrize("nodes", ["0-1", "1-3", "2-3"])
def test_rule_6_nodes_of_queues_sleep_under_a_budget(nodes: str) -> None:
    """Sets are the same, overlap or share nothing but the budget; some leave nodes to no queue."""
    times = {"boot_s": 1.0, "shutdown_s": 1.0, "off_w": 0.0}
    machine = platform(hs.Queue("a", "0-1"), hs.Queue("b", nodes), **times)
    log = workload("a", "b")
    policy = hs.Policy("fcfs", "reservations", power="system-budget", sleep={"name": "timeout", "min_idle_s": 0})
    result = hs.simulate(log, machine, policy)
    check_schedule(result, log, machine)
    assert result.summary()["completed"] == 2
    assert result.nodes["shutdowns"].min() > 0
    with pytest.raises(hs.ConfigError, match=r"^policy\.placement: found `sliding-window`, expected one of"):
        hs.simulate(log, machine, hs.Policy("fcfs", placement="sliding-window", power="system-budget", sleep="timeout"))


def test_rule_7_candidates_stand_in_policy_order() -> None:
    machine = platform(hs.Queue("a", "0-1"), hs.Queue("b", "1-3"))
    with pytest.raises(hs.ConfigError, match=r'^policy\.backfill\.order: found an order, expected "policy" where'):
        hs.simulate(workload("a"), machine, "easy:backfill.order=shortest")


def test_rule_6_a_budget_over_several_pools_is_one() -> None:
    budget = hs.Policy("fcfs", "reservations", power={"name": "system-budget", "budget_w": 1000})
    apart = platform(hs.Queue("a", "0-1"), hs.Queue("b", "2-3"))
    # Four nodes idle at 100 W; three of them may draw 200 W more at once.
    result = hs.simulate(workload("a", "a", "b", "b"), apart, budget)
    assert result.jobs["start_s"].to_list() == [0.0, 0.0, 0.0, 10.0]
    assert result.jobs["nodes"].to_list() == [[0], [1], [2], [2]]
    some = platform(hs.Queue("a", "0-1"), hs.Queue("b", "0-1", priority=1))
    assert hs.simulate(workload("a", "b"), some, budget).summary()["completed"] == 2
    whole = platform(hs.Queue("a", "0-3"), hs.Queue("b", "0-3", priority=1))
    assert hs.simulate(workload("a", "b"), whole, budget).summary()["completed"] == 2


AT_ONCE: dict[str, Any] = {"off_w": 0, "boot_s": 0, "shutdown_s": 0}


@pytest.mark.parametrize("sleep", ["timeout", "nqsv", "planned", "newsvendor"])
def test_rule_6_pools_sleep_by_counts(sleep: str) -> None:
    asleep = hs.Policy("fcfs", "reservations", sleep=sleep)
    machines = [
        platform(hs.Queue("a", "0-1"), hs.Queue("b", "2-3"), **AT_ONCE),
        platform(hs.Queue("a", "0-1"), hs.Queue("b", "0-1", priority=1), **AT_ONCE),
        platform(hs.Queue("a", "0-3"), hs.Queue("b", "0-3"), **AT_ONCE),
    ]
    for machine in machines:
        assert hs.simulate(workload("a", "b"), machine, asleep).summary()["completed"] == 2


def test_sleep_names_nodes_of_the_platform() -> None:
    asleep = hs.Policy("fcfs", "reservations", sleep={"name": "timeout", "exclude": "3-4"})
    with pytest.raises(hs.ConfigError, match=r"^policy\.sleep\.exclude: found node 4, expected .*, 0 to 3$"):
        hs.simulate(workload("a"), platform(hs.Queue("a", "0-1"), hs.Queue("b", "2"), **AT_ONCE), asleep)


def test_rule_7_preemption_needs_a_plan() -> None:
    machine = platform(hs.Queue("a", "0-1"), hs.Queue("u", "0", priority=1, preempts=["a"]))
    with pytest.raises(hs.ConfigError) as error:
        hs.simulate(workload("a"), machine, hs.Policy("fcfs", "none"))
    expected = (
        "platform.queues[1].preempts: found a of queue `u`, expected nothing, or the backfill plan, which names the "
        "nodes on which jobs make way: it is none"
    )
    assert faults(error) == [expected]


def test_one_pool_of_all_nodes_is_what_there_was_before() -> None:
    jobs = {
        "job_id": list(range(40)),
        "submit_s": [float(7 * (k % 13)) for k in range(40)],
        "runtime_s": [float(10 + 37 * k % 90) for k in range(40)],
        "walltime_s": [float(20 + 41 * k % 120) for k in range(40)],
        "node_count": [1 + 5 * k % 4 for k in range(40)],
        "queue": ["a", "b"] * 20,
    }
    frame = hs.Workload.from_polars(pl.DataFrame(jobs))
    queues = [hs.Queue("a", "0-3"), hs.Queue("b", "0-3")]
    for policy in ("fcfs", "easy", "conservative", "vahrm", "coa", "swa", "random", hs.Policy("fcfs", "plan")):
        here = hs.simulate(frame, platform(*queues), policy).jobs
        assert here.equals(hs.simulate(frame, platform(), policy).jobs)


ALONE: list[str | hs.Policy] = [
    *("fcfs", "easy", "conservative", "sjf", "coa", "swa", "random", "pool", "paa"),
    hs.Policy("vahrm", "reservations", "lowest-power"),
]


@pytest.mark.parametrize("policy", ALONE, ids=str)
def test_a_pool_is_scheduled_as_if_it_were_the_machine(policy: str | hs.Policy) -> None:
    # The same jobs on a machine of two nodes, and on the last two of five, next to others.
    jobs = pl.DataFrame(
        {
            "job_id": list(range(30)),
            "submit_s": [float(9 * (k % 11)) for k in range(30)],
            "runtime_s": [float(10 + 37 * k % 90) for k in range(30)],
            "walltime_s": [float(20 + 41 * k % 120) for k in range(30)],
            "node_count": [1 + k % 2 for k in range(30)],
            "app": ["x", "y", "y"] * 10,
        }
    ).sort("submit_s", maintain_order=True)
    watts = [[250.0, 240.0, 260.0, 280.0, 210.0], [150.0, 160.0, 140.0, 180.0, 170.0]]
    times = [[1.0, 1.1, 0.9, 1.2, 1.3], [1.0, 1.0, 1.1, 1.3, 0.8]]
    table = hs.VariationTable(["x", "y"], power_w=watts, time_ratio=times)
    part = hs.VariationTable(["x", "y"], power_w=[w[3:] for w in watts], time_ratio=[t[3:] for t in times])
    own = jobs.with_columns(queue=pl.lit("own"))
    others = jobs.with_columns(pl.col("job_id") + 100, queue=pl.lit("other"))
    both = hs.Workload.from_polars(pl.concat([own, others]))
    queues = [hs.Queue("other", "0,2"), hs.Queue("own", "3-4")]
    whole = hs.simulate(both, platform(*queues, nodes=5, actual=table), policy, walltimes="stretch").jobs
    alone = hs.simulate(hs.Workload.from_polars(own), platform(nodes=2, actual=part), policy, walltimes="stretch").jobs
    here = whole.filter(pl.col("queue") == "own").select("job_id", "start_s", "end_s", "state", "nodes").sort("job_id")
    there = alone.select("job_id", "start_s", "end_s", "state", "nodes").sort("job_id")
    shifted = there.with_columns(pl.col("nodes").list.eval(pl.element() + 3))
    assert here.equals(shifted)


def test_sizes_to_choose_from_and_licences_of_several_pools_are_refused() -> None:
    machine = platform(hs.Queue("a", "0-1"), hs.Queue("b", "2-3"), licences={"x": 1})
    with pytest.raises(hs.ConfigError, match=r"workload\.max_nodes: found sizes to choose from"):
        hs.simulate(workload("a", min_nodes=pl.lit(1), max_nodes=pl.lit(2), speedup=pl.lit("linear")), machine, "easy")
    with pytest.raises(
        hs.ConfigError, match=r"workload\.licences: found licences, expected none, or the backfill plan"
    ):
        hs.simulate(workload("a", licences=pl.lit("x")), machine, "easy")


class Lowest:
    """A placement."""

    def choose(self, job: Any, free: Any, view: Any, /) -> Any:
        return free[: job.node_count]


class Whole:
    """A scheduler that starts whatever fits."""

    def decide(self, view: Any, /) -> Any:
        return []


def test_objects_know_no_pools() -> None:
    machine = platform(hs.Queue("a", "0-1"), hs.Queue("b", "2-3"))
    with pytest.raises(hs.ConfigError, match=r"^policy\.placement: found `Lowest`, expected a part of hetsched's own"):
        hs.simulate(workload("a"), machine, hs.Policy("fcfs", "none", Lowest()))
    with pytest.raises(hs.ConfigError, match=r"policy\.scheduler: .*expected a policy of parts"):
        hs.simulate(workload("a"), machine, Whole())
    one = platform(hs.Queue("a", "0-3"))
    assert hs.simulate(workload("a"), one, hs.Policy("fcfs", "none", Lowest())).summary()["completed"] == 1


def test_a_replay_and_a_metered_schedule_know_no_queues() -> None:
    machine = platform(hs.Queue("a", "0-1", max_walltime_s=5))
    jobs = workload("a", "x", observed_start_s=pl.lit(3.0), walltime_s=pl.lit(20.0))
    assert hs.simulate(jobs, machine, "replay").jobs["start_s"].to_list() == [3.0, 3.0]
    starts = pl.DataFrame({"job_id": [1, 2], "start_s": [0.0, 0.0], "nodes": [[3], [2]]})
    assert hs.meter(jobs, machine, starts).summary()["completed"] == 2


def test_walltimes_may_be_spans_as_logs_have_them() -> None:
    written = hs.Queue("long", "0-3", max_walltime_s="1-00:00:00", default_walltime_s=" 01:30:00 ")
    assert written == hs.Queue("long", "0-3", max_walltime_s=86400, default_walltime_s=5400)
    assert written.to_dict()["max_walltime_s"] == 86400.0
    with pytest.raises(hs.ConfigError) as error:
        hs.Queue("long", "0-3", max_walltime_s="a day", default_walltime_s="00:00:00")
    assert faults(error) == [
        "max_walltime_s: found `a day`, expected seconds, or a span such as 1-02:03:04 or 01:00:00",
        "default_walltime_s: found `0`, expected at least a microsecond",
    ]


def test_a_policy_that_counts_gets_a_backfill_that_names_nodes_where_queues_share_some() -> None:
    shared = hs.Platform.homogeneous(4, 100, 300, queues=[hs.Queue("a", "0-1"), hs.Queue("b", "0-3")])
    alone = hs.Platform.homogeneous(4, 100, 300)
    easy = hs.Policy.preset("easy")
    found = naming_nodes(easy, shared)
    assert found is not None
    assert found.name == "easy:backfill=plan:backfill.depth=1"
    assert found.parts["backfill"] is not None
    assert (found.parts["backfill"]["name"], found.parts["backfill"]["depth"]) == ("plan", 1)
    assert naming_nodes(easy, alone) is easy
    assert naming_nodes(found, shared) is found
    assert naming_nodes(None, shared) is None


@pytest.mark.parametrize("more", [{}, {"walltime_s": [20.0, 20.0]}, {"walltime_s": [None, 20.0]}])
@pytest.mark.parametrize("named", [{}, {"queue": ["b", None]}])
def test_jobs_without_a_queue_are_in_the_default_one_whatever_their_time(
    more: dict[str, Any], named: dict[str, Any]
) -> None:
    machine = platform(hs.Queue("a", "0", default=True), hs.Queue("b", "1-3"))
    jobs = {"job_id": [1, 2], "submit_s": [0.0, 0.0], "runtime_s": [10.0, 10.0], "node_count": [1, 1]}
    frame = pl.DataFrame({**jobs, **more, **named}, schema_overrides={"walltime_s": pl.Float64} if more else None)
    result = hs.simulate(hs.Workload.from_polars(frame), machine, "easy")
    expected = [[1], [0]] if named else [[0], [0]]
    assert result.jobs["nodes"].to_list() == expected
    check_schedule(result, hs.Workload.from_polars(frame), machine)

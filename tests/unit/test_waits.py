"""Waits and outages at the border: faults, cleared references, SWF's fields 17 and 18, failures, sessions."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule
from hetsched.workload.writers.swf import swf_parts

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

PLATFORM = hs.Platform.homogeneous(nodes=4, idle_w=100.0, tdp_w=300.0, down_w=5.0)


def jobs(count: int = 4, **columns: list[Any]) -> hs.Workload:
    frame = {"job_id": [*range(1, count + 1)], "submit_s": [0.0] * count, "runtime_s": [10.0] * count}
    return hs.Workload.from_polars(pl.DataFrame({**frame, "node_count": [1] * count, **columns}))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"depends_on": [None, 9, None, None]}, "workload.depends_on: found 9 of job 2, expected the job_id of a job"),
        ({"depends_on": [2, 3, 1, None]}, "found a cycle: job 1 on 2 on 3 on 1, expected no job that waits for itself"),
        ({"depends_on": [None, 2, None, 2]}, "found a cycle: job 2 on 2"),
        (
            {"array_id": [5, 5, 6, 6], "array_limit": [1, 2, 3, None]},
            "found limits 1, 2 of array 5, expected one limit",
        ),
    ],
)
def test_rule_28_what_cannot_be_is_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(hs.ConfigError) as raised:
        jobs(**columns)
    assert message in str(raised.value)


def test_other_faults_are_reported_with_their_rows() -> None:
    with pytest.raises(hs.TraceError, match="row 1, column `depends_how`: found `maybe`"):
        jobs(depends_how=["ok", "maybe", None, None])
    with pytest.raises(hs.TraceError, match="column `think_s`"):
        jobs(think_s=[-1.0, None, None, None])


def test_rule_28_a_long_chain_is_no_cycle() -> None:
    chain = jobs(200, depends_on=[None, *range(1, 200)])
    result = hs.simulate(chain, PLATFORM, "easy")
    assert result.jobs["start_s"].to_list() == [10.0 * place for place in range(200)]
    check_schedule(result, chain, PLATFORM)


def test_rule_28_methods_that_leave_jobs_out_clear_references_and_count_that() -> None:
    workload = jobs(depends_on=[None, 1, 1, 3], think_s=[None, 5.0, 5.0, 5.0], depends_how=[None, "ok", None, None])
    left = workload.filter(pl.col("job_id") != 1)
    assert left.to_polars().select("depends_on", "think_s", "depends_how").rows() == [
        (None, None, None),
        (None, None, None),
        (3, 5.0, None),
    ]
    assert left.report["depends_on_cleared"] == 2
    assert "2 waiting for jobs left out" in left.history[-1]
    assert "2 waiting for a job that is not there" in left.report.line()
    assert workload.head(3).report.get("depends_on_cleared", 0) == 0


SWF = "; MaxProcs: 4\n{}"


def line(job: int, submit: float, before: int, think: float, procs: int = 1) -> str:
    return f"{job} {submit} -1 10 {procs} -1 -1 {procs} 20 -1 1 1 1 1 1 -1 {before} {think}\n"


def test_rule_28_fields_17_and_18_of_swf_count() -> None:
    log = SWF.format(line(1, 0, -1, -1) + line(2, 0, 1, 7) + line(3, 0, 1, -1))
    workload = hs.read_swf(log.encode())
    assert workload.to_polars().select("depends_on", "think_s").rows() == [(None, None), (1, 7.0), (1, None)]
    assert workload.report["depends_on"] == 2
    assert hs.simulate(workload, PLATFORM).jobs["start_s"].to_list() == [0.0, 17.0, 10.0]
    plain = hs.read_swf(SWF.format(line(1, 0, -1, 5)).encode())
    assert "think_s" not in plain.to_polars().columns, "a think time after no job says nothing"


def test_rule_28_references_of_a_log_to_jobs_that_are_not_kept_are_cleared() -> None:
    log = SWF.format(
        line(1, 0, -1, -1, procs=-1) + line(2, 0, 1, 7) + line(3, 0, 3, 7) + line(4, 0, 99, 1) + line(5, 0, 2, 1)
    )
    workload = hs.read_swf(log.encode())
    assert workload.to_polars().select("job_id", "depends_on").rows() == [(2, None), (3, None), (4, None), (5, 2)]
    assert (workload.report["depends_on"], workload.report["depends_on_cleared"]) == (1, 3)


def test_a_workload_with_dependencies_comes_back_from_swf(tmp_path: Any) -> None:
    workload = jobs(depends_on=[None, 1, None, 2], think_s=[None, 2.5, None, None])
    path = tmp_path / "log.swf"
    path.write_text("".join(swf_parts(workload.to_polars())))
    back = hs.read_swf(path).to_polars()
    assert back.select("depends_on", "think_s").rows() == [(None, None), (1, 2.5), (None, None), (2, None)]


def test_instants_move_with_the_clock() -> None:
    workload = jobs(
        submit_s=[10.0, 10.0, 30.0, 50.0], start_at_s=[None, 15.0, 40.0, None], cancel_s=[None, None, 90.0, None]
    )
    moved = workload.shift_to_zero().to_polars()
    assert moved.select("start_at_s", "cancel_s").rows()[1:3] == [(5.0, None), (30.0, 80.0)]
    dense = workload.scale_arrivals(2).to_polars()
    assert dense.select("submit_s", "start_at_s", "cancel_s").rows()[2] == (20.0, 30.0, 80.0)


def test_rule_32_failures_have_their_mean_and_each_its_repair() -> None:
    machine = hs.Platform.homogeneous(nodes=400, idle_w=100.0, tdp_w=300.0)
    for more in ({}, {"distribution": "weibull", "shape": 0.7}):
        drawn = hs.failures(machine, 1000.0, 50.0, until_s=50_000.0, seed=4, **more).to_polars()
        down = drawn.filter(pl.col("kind") == "node_failed").sort("node", "time_s")
        up = drawn.filter(pl.col("kind") == "node_repaired").sort("node", "time_s")
        assert (up["time_s"].to_numpy() - down["time_s"].to_numpy()).round(6).tolist() == [50.0] * len(down)
        assert down["time_s"].to_numpy().max() < 50_000.0
        # 400 nodes × 50,000 s / 1,050 s; up times are drawn again after each repair.
        assert len(down) == pytest.approx(400 * 50_000 / 1050, rel=0.05)
        first = down.group_by("node").agg(pl.col("time_s").min())["time_s"].to_numpy()
        assert first.mean() == pytest.approx(1000.0, rel=0.2)
        assert np.std(first) == pytest.approx(1000.0 * (1.0 if not more else 1.46), rel=0.25)


def test_rule_32_nodes_that_are_added_change_nothing_for_the_others() -> None:
    def of(nodes: int, **more: Any) -> pl.DataFrame:
        machine = hs.Platform.homogeneous(nodes=nodes, idle_w=100.0, tdp_w=300.0)
        return hs.failures(machine, 100.0, 5.0, until_s=1000.0, **more).to_polars()

    few, many = of(2), of(5)
    assert many.filter(pl.col("node") < 2).equals(few)
    assert not of(2, seed=1).equals(few)


def test_faults_of_failures_are_reported_together() -> None:
    with pytest.raises(hs.ConfigError) as raised:
        hs.failures(PLATFORM, mtbf_s=-1, repair_s=0, distribution="normal", shape=0.0, until_s=float("nan"))
    assert len(raised.value.details) == 5


def world() -> tuple[hs.Workload, hs.Events]:
    count = 60
    random = np.random.default_rng(5)
    workload = jobs(
        count,
        submit_s=sorted(random.uniform(0, 300, count).round(1).tolist()),
        runtime_s=random.uniform(1, 60, count).round(1).tolist(),
        node_count=random.integers(1, 4, count).tolist(),
        depends_on=[place if place and place % 3 == 0 else None for place in range(count)],
        cancel_s=[200.0 if place % 7 == 0 else None for place in range(count)],
        array_id=[place % 4 for place in range(count)],
        array_limit=[2] * count,
    )
    failing = hs.failures(PLATFORM, mtbf_s=200.0, repair_s=20.0, until_s=600.0, seed=2)
    window = {"time_s": [150.0], "kind": ["maintenance"], "node": [1], "until_s": [190.0], "announced_s": [150.0]}
    return workload, failing + hs.Events.from_polars(pl.DataFrame(window))


@pytest.mark.parametrize("on_failure", ["fail", "requeue"])
@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "sjf", "vahrm", "swa", "coa", "hetsched"])
def test_every_preset_keeps_the_laws_and_repeats_itself(policy: str, on_failure: str) -> None:
    workload, events = world()
    policy_of = hs.Policy.preset(policy)
    if policy_of.parts["power"] is not None:
        policy_of = hs.Policy.from_dict({**policy_of.to_dict(), "power": None})
    result = hs.simulate(workload, PLATFORM, policy_of, events=events, on_failure=on_failure)
    check_schedule(result, workload, PLATFORM)
    again = hs.simulate(workload, PLATFORM, policy_of, events=events, on_failure=on_failure)
    assert result == again
    assert result.segments.equals(again.segments)
    assert result.events.equals(again.events)


@pytest.mark.parametrize("backfill", ["none", "reservations", "plan"])
def test_steps_forks_and_files_are_one_run(backfill: str, tmp_path: Any) -> None:
    workload, events = world()
    policy = hs.Policy("fcfs", backfill)
    whole = hs.simulate(workload, PLATFORM, policy, events=events, on_failure="requeue")
    session = hs.Session(workload, PLATFORM, policy, events=events, on_failure="requeue")
    for t_s in (20.0, 150.0, 151.5, 300.0):
        session.step_until(t_s)
        assert session.fork().run() == whole
        stopped = hs.simulate(workload, PLATFORM, policy, events=events, on_failure="requeue", until_s=t_s)
        assert session.result() == stopped
        check_schedule(stopped, workload, PLATFORM)
    session.save(tmp_path / "run.hetsched")
    assert hs.Session.load(tmp_path / "run.hetsched").run() == whole


def test_what_is_injected_is_as_if_it_had_been_given() -> None:
    workload, events = world()
    frame = events.to_polars().filter(pl.col("time_s") > 100.0)
    later = hs.Events.from_polars(frame)
    cancel = hs.Events.from_polars(pl.DataFrame({"time_s": [110.0], "kind": ["cancel"], "job_id": [30]}))
    session = hs.Session(workload, PLATFORM, "easy", on_failure="requeue")
    session.step_until(100.0)
    session.inject(later)
    session.inject(cancel)
    given = hs.simulate(workload, PLATFORM, "easy", events=later + cancel, on_failure="requeue")
    assert session.run().jobs.equals(given.jobs)


class Greedy:
    """A whole scheduler: whoever fits starts on the lowest nodes."""

    def decide(self, view: Any, /) -> Any:
        free, starts = list(view.free), []
        for job_id, count in zip(view.queue.job_id, view.queue.node_count, strict=True):
            if count <= len(free):
                starts.append((int(job_id), free[:count]))
                free = free[count:]
        return starts


def test_an_own_scheduler_sees_no_jobs_of_full_arrays() -> None:
    limited = jobs(array_id=[1, 1, None, None], array_limit=[1, 1, None, None])
    with pytest.raises(hs.SimulationError, match="1 jobs of its array run, and no more than 1 may"):
        hs.simulate(limited, PLATFORM, Greedy())
    apart = jobs(submit_s=[0.0, 1.0, 1.0, 1.0], array_id=[1, 1, None, None], array_limit=[1, 1, None, None])
    assert hs.simulate(apart, PLATFORM, Greedy()).jobs["start_s"].to_list() == [0.0, 10.0, 1.0, 1.0]


def test_an_unknown_job_cannot_be_cancelled() -> None:
    events = hs.Events.from_polars(pl.DataFrame({"time_s": [1.0], "kind": ["cancel"], "job_id": [77]}))
    with pytest.raises(
        hs.ConfigError, match=r"events\.job_id, row 0: found `77` at 1 s, expected a job of the workload"
    ):
        hs.simulate(jobs(), PLATFORM, events=events)

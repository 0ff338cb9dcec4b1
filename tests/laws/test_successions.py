"""A session that goes on under another policy: what must stay as it was, and what a fork must be equal to."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.testing import check_schedule, platforms, policies, workloads

pytestmark = [pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning"), pytest.mark.hypothesis]

RUN = ["start_s", "end_s", "energy_j", "state", "nodes"]

_FORGETFUL = {"lowest-id", "lowest-power", "best-rank"}


def _remembers_nothing(policy: hs.Policy) -> bool:
    """True if all decisions of a policy follow from the state of the machine and the queue."""
    order, placement = policy.parts["order"] or {}, policy.parts["placement"] or {}
    # One that gathers submissions remembers for when: under another name it does not wait for that.
    waits = any((part or {}).get("interval_s") for part in policy.parts.values())
    # Slurm's loops remember when they ran, and which nodes are being cleaned up.
    waits |= (policy.parts["backfill"] or {})["name"] == "slurm"
    return placement["name"] in _FORGETFUL and not order.get("first_run") and not policy.needs and not waits


forgetful = policies().filter(_remembers_nothing)
simple = policies().filter(lambda policy: not policy.needs)
stop = st.floats(0, 30) | st.integers(0, 25).map(float)


def renamed(policy: hs.Policy) -> hs.Policy:
    """The same parts under another name: another policy, which decides the same."""
    return hs.Policy.from_dict({**policy.to_dict(), "name": "another"})


def sleepy(platform: hs.Platform, **times: float) -> hs.Platform:
    """The same nodes, which take a while to wake and to shut down."""
    classes = [{**one.to_dict(), "boot_s": 3.0, "shutdown_s": 2.0, "off_w": 5.0, **times} for one in platform.classes]
    return hs.Platform(classes)


@given(workloads(), platforms(), forgetful, stop)
def test_a_fork_to_equal_parts_is_the_session_itself(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, stop: float
) -> None:
    session = hs.Session(workload, platform, policy)
    session.step_until(stop)
    fork = session.fork(policy=renamed(policy))
    whole = session.run()
    assert fork.run().jobs.select(RUN).equals(whole.jobs.select(RUN))
    assert fork.result().summary()["energy_j"] == whole.summary()["energy_j"]


@given(workloads(max_slots=1, apps=()), platforms(max_slots=1, tables=False), st.sampled_from(["easy", "fcfs"]), stop)
def test_nodes_that_idle_do_so_since_they_did(
    workload: hs.Workload, platform: hs.Platform, preset: str, stop: float
) -> None:
    policy = hs.Policy.preset(preset, sleep={"name": "timeout", "min_idle_s": 2.0})
    platform = sleepy(platform)
    session = hs.Session(workload, platform, policy)
    session.step_until(stop)
    fork = session.fork(policy=renamed(policy))
    assert fork.run().jobs.select(RUN).equals(session.run().jobs.select(RUN))
    assert fork.result().nodes.equals(session.result().nodes)


@given(workloads(), platforms(), simple, simple)
def test_a_fork_before_anything_has_happened_is_a_run_of_its_own(
    workload: hs.Workload, platform: hs.Platform, one: hs.Policy, other: hs.Policy
) -> None:
    session = hs.Session(workload, platform, one)
    assert session.fork(policy=other).run() == hs.simulate(workload, platform, other)
    assert session.fork(policy=one).run() == session.run() == hs.simulate(workload, platform, one)


@given(workloads(), platforms(), simple, stop)
def test_a_fork_to_an_equal_policy_goes_on_with_all_that_it_remembers(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, stop: float
) -> None:
    session = hs.Session(workload, platform, policy)
    session.step_until(stop)
    fork = session.fork(policy=policy)
    assert fork.run() == session.run() == hs.simulate(workload, platform, policy)


@given(workloads(), platforms(), simple, simple, st.tuples(stop, stop).map(sorted))
def test_what_has_happened_stays_and_the_machine_is_kept_within_its_laws(
    tmp_path_factory: pytest.TempPathFactory,
    workload: hs.Workload,
    platform: hs.Platform,
    one: hs.Policy,
    other: hs.Policy,
    stops: list[float],
) -> None:
    session = hs.Session(workload, platform, one)
    session.step_until(stops[0])
    before = session.result().jobs
    # Where every job is turned away nothing has happened, and a fork is a run of its own.
    assume(before["state"].ne("rejected").any())
    fork = session.fork(policy=other)
    fork.step_until(stops[1])
    path = tmp_path_factory.mktemp("sessions") / "a.hetsched"
    fork.save(path)
    result = fork.run()
    has_run = before["start_s"].is_not_null()
    assert result.jobs.filter(has_run)["start_s"].equals(before.filter(has_run)["start_s"])
    assert result.jobs.filter(has_run)["nodes"].equals(before.filter(has_run)["nodes"])
    assert (result.jobs.filter(~has_run)["start_s"].drop_nulls() >= stops[0] - 1e-6).all()
    if not _differs(result, platform):
        check_schedule(result, workload, platform)
    assert hs.Session.load(path).run() == result


def _differs(result: hs.Result, platform: hs.Platform) -> bool:
    """True if a first run under one of the policies takes longer than the laws of the other know."""
    return any((one["order"] or {}).get("first_run") for one in _policies(result)) or platform.nodes == 0


def _policies(result: hs.Result) -> list[dict[str, Any]]:
    before = result.provenance.get("policies_before", [])
    return [*(one["policy"] for one in before), result.provenance["policy"]]


capped = hs.Platform.homogeneous(nodes=8, idle_w=50, tdp_w=250).with_cap_model(static_w=50)
plain = hs.Platform.homogeneous(nodes=8, idle_w=50, tdp_w=250)
governing = [
    "easy",
    "power-slurm:budget_w=1200:caps_w=120+150+200",
    "power-slurm:budget_w=900:on_excess=requeue",
    "power-slurm:budget_w=900:on_excess=suspend:caps_w=120+150",
    "easy:power=system-budget:power.budget_w=1100",
]


@given(
    workloads(max_nodes=8, max_slots=1, apps=()),
    st.sampled_from(governing),
    st.sampled_from(governing),
    stop,
    st.booleans(),
)
def test_power_goes_on_from_what_runs(workload: hs.Workload, one: str, other: str, stop: float, has_caps: bool) -> None:
    platform = capped
    if not has_caps:
        platform, one, other = plain, one.split(":caps_w", maxsplit=1)[0], other.split(":caps_w", maxsplit=1)[0]
        if "on_excess" not in one and one.startswith("power-slurm"):
            one += ":on_excess=kill"
        if "on_excess" not in other and other.startswith("power-slurm"):
            other += ":on_excess=kill"
    session = hs.Session(workload, platform, one)
    session.step_until(stop)
    if "on_excess" not in other and stands_still(session.result()):
        with pytest.raises(hs.ConfigError, match="still"):
            session.fork(policy=other)
        return
    fork = session.fork(policy=other)
    result = fork.run()
    assert result.provenance["energy_balance"]["relative_error"] < 1e-9
    check_segments(result)


def stands_still(result: hs.Result) -> bool:
    """True if a job is suspended where a run was stopped."""
    timeline = result.timeline
    return bool("suspended_jobs" in timeline.columns and len(timeline) and timeline["suspended_jobs"][-1] > 0)


def check_segments(result: hs.Result) -> None:
    """Energies of stretches sum to the jobs' own, and the stretches of an attempt abut."""
    of_jobs = result.segments.group_by("job_id").agg(pl.col("energy_j").sum()).sort("job_id")
    started = result.jobs.filter(pl.col("start_s").is_not_null()).sort("job_id")
    joined = started.join(of_jobs, on="job_id", how="left", suffix="_told")
    assert (joined["energy_j"] - joined["energy_j_told"]).abs().max() in (None, pytest.approx(0, abs=1e-3))
    gaps = result.segments.sort("job_id", "attempt", "start_s").select(
        (pl.col("start_s").shift(-1) - pl.col("end_s")).over("job_id", "attempt").alias("gap")
    )
    assert gaps["gap"].drop_nulls().abs().max() in (None, pytest.approx(0, abs=1e-6))


failures = st.lists(
    st.tuples(st.floats(0, 20), st.sampled_from(["node_failed", "node_repaired"]), st.integers(0, 5)), max_size=5
)


@given(
    workloads(),
    platforms(),
    forgetful.filter(lambda policy: policy.parts["power"] is None),
    stop,
    failures,
    st.sampled_from(["fail", "requeue"]),
)
def test_a_fork_knows_which_nodes_are_down(
    workload: hs.Workload,
    platform: hs.Platform,
    policy: hs.Policy,
    stop: float,
    rows: list[tuple[float, str, int]],
    on_failure: str,
) -> None:
    told = [(at_s, kind, node % platform.nodes) for at_s, kind, node in rows]
    schema = {"time_s": pl.Float64, "kind": pl.String, "node": pl.Int64}
    events = hs.Events.from_polars(pl.DataFrame(told, schema=schema, orient="row"))
    session = hs.Session(workload, platform, policy, events=events, on_failure=on_failure)
    session.step_until(stop)
    fork = session.fork(policy=renamed(policy))
    assert fork.run().jobs.select(RUN).equals(session.run().jobs.select(RUN))
    assert fork.result().nodes.equals(session.result().nodes)


def arrays(count: int = 40) -> pl.DataFrame:
    """Jobs of arrays, queues and users, more than may run at once."""
    return pl.DataFrame(
        {
            "job_id": list(range(count)),
            "submit_s": [float(3 * row) for row in range(count)],
            "runtime_s": [40.0, 25.0, 60.0, 10.0] * (count // 4),
            "walltime_s": [50.0, 25.0, 90.0, 30.0] * (count // 4),
            "node_count": [1, 2] * (count // 2),
            "array_id": [None, 1, 1, 2] * (count // 4),
            "array_limit": [None, 2, 2, 1] * (count // 4),
            "queue": ["day", "night"] * (count // 2),
            "user": ["ann", "bo", "cy", "ann"] * (count // 4),
        }
    )


@pytest.mark.parametrize("backfill", ["none", "reservations", "plan"])
@pytest.mark.parametrize("at_s", [10.0, 33.0, 60.0, 100.0])
def test_limits_count_those_that_run_already(backfill: str, at_s: float) -> None:
    queues = [hs.Queue("day", "0-7", max_running=3), hs.Queue("night", "0-7", max_running_per_user=1, priority=2)]
    platform = hs.Platform.homogeneous(nodes=8, idle_w=100, tdp_w=300, queues=queues)
    workload, policy = hs.Workload.from_polars(arrays()), hs.Policy("fcfs", backfill)
    session = hs.Session(workload, platform, policy)
    session.step_until(at_s)
    fork = session.fork(policy=renamed(policy))
    assert fork.run().jobs.select(RUN).equals(session.run().jobs.select(RUN))


@pytest.mark.parametrize("at_s", [12.0, 20.0, 31.0, 45.0, 80.0])
def test_jobs_that_made_way_go_on_under_another_policy(at_s: float) -> None:
    queues = [hs.Queue("day", "0-3"), hs.Queue("night", "0-3", priority=5, preempts=["day"])]
    platform = hs.Platform.homogeneous(nodes=4, idle_w=100, tdp_w=300, queues=queues)
    frame = arrays().drop("array_id", "array_limit")
    policy = hs.Policy("fcfs", "plan")
    session = hs.Session(hs.Workload.from_polars(frame), platform, policy)
    session.step_until(at_s)
    fork = session.fork(policy=renamed(policy))
    assert fork.run().jobs.select(RUN).equals(session.run().jobs.select(RUN))
    check_schedule(fork.result(), hs.Workload.from_polars(frame), platform)


class Sizes:
    """Every job on as many nodes as are free, or as few as it can have."""

    def sizes(self, jobs, room_w, view):  # type: ignore[no-untyped-def]
        return [min(max(len(view.free), low), high) for low, high in zip(jobs.min_nodes, jobs.max_nodes, strict=True)]


@pytest.mark.parametrize("at_s", [5.0, 21.0, 40.0])
def test_sizes_are_chosen_again_for_those_that_wait(at_s: float) -> None:
    frame = pl.DataFrame(
        {
            "job_id": list(range(8)),
            "submit_s": [float(2 * row) for row in range(8)],
            "runtime_s": [40.0, 25.0] * 4,
            "node_count": [2] * 8,
            "min_nodes": [1] * 8,
            "max_nodes": [4] * 8,
            "speedup": ["linear"] * 8,
        }
    )
    platform = hs.Platform.homogeneous(nodes=6, idle_w=100, tdp_w=300)
    workload = hs.Workload.from_polars(frame)
    session = hs.Session(workload, platform, hs.Policy("fcfs", {"name": "reservations", "sizing": Sizes()}))
    session.step_until(at_s)
    fork = session.fork(policy="easy")
    result = fork.run()
    waited = result.jobs.filter(pl.col("start_s") > at_s)
    assert waited["nodes"].list.len().to_list() == waited["node_count"].to_list()
    check_schedule(result, workload, platform)

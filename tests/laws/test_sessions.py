"""Any steps are one run, a fork and its parent end alike, and a session that was loaded was never stopped."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.testing import check_schedule, platforms, policies, workloads

pytestmark = [pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning"), pytest.mark.hypothesis]

without_power = policies().filter(lambda policy: policy.parts["power"] is None)
"""Power parts know of budgets, but not of nodes that fail."""

steps = st.lists(st.floats(0, 2000), max_size=4).map(sorted)
failures = st.lists(
    st.tuples(st.floats(0, 2000), st.sampled_from(["node_failed", "node_repaired"]), st.integers(0, 30)), max_size=5
)


def events(rows: list[tuple[float, str, int]], platform: hs.Platform, *, after_s: float) -> hs.Events:
    """Events on the platform's nodes that come after an instant."""
    told = [(after_s + 1 + time_s, kind, node % platform.nodes) for time_s, kind, node in rows]
    schema = {"time_s": pl.Float64, "kind": pl.String, "node": pl.Int64}
    return hs.Events.from_polars(pl.DataFrame(told, schema=schema, orient="row"))


@given(workloads(), platforms(), policies(), steps)
def test_any_steps_are_one_run_and_a_stop_is_until_s(
    workload: hs.Workload, platform: hs.Platform, policy: hs.Policy, stops: list[float]
) -> None:
    whole = hs.simulate(workload, platform, policy)
    session = hs.Session(workload, platform, policy)
    for stop in stops:
        session.step_until(stop)
        if not session.is_over:
            assert session.result() == hs.simulate(workload, platform, policy, until_s=stop)
    assert session.run() == whole


@given(workloads(), platforms(), without_power, steps, failures)
def test_a_fork_and_its_parent_go_their_own_ways(
    workload: hs.Workload,
    platform: hs.Platform,
    policy: hs.Policy,
    stops: list[float],
    rows: list[tuple[float, str, int]],
) -> None:
    session = hs.Session(workload, platform, policy)
    for stop in stops:
        session.step_until(stop)
    fork, other = session.fork(), session.fork()
    fork.inject(events(rows, platform, after_s=stops[-1] if stops else 0.0))
    changed = fork.run()
    check_schedule(changed, workload, platform)
    assert other.run() == session.run() == hs.simulate(workload, platform, policy)


@given(workloads(), platforms(), without_power, steps, failures)
def test_a_session_that_is_loaded_was_never_stopped(
    tmp_path_factory: pytest.TempPathFactory,
    workload: hs.Workload,
    platform: hs.Platform,
    policy: hs.Policy,
    stops: list[float],
    rows: list[tuple[float, str, int]],
) -> None:
    path = tmp_path_factory.mktemp("sessions") / "a.hetsched"
    session = hs.Session(workload, platform, policy)
    for stop in stops:
        session.step_until(stop)
        session.inject(events(rows, platform, after_s=stop))
    session.save(path)
    loaded = hs.Session.load(path)
    assert (loaded.reached_s, loaded.is_over) == (session.reached_s, session.is_over)
    assert loaded.run() == session.run()


def test_a_session_with_all_there_is_to_save_is_loaded_whole(tmp_path: Path) -> None:
    workload = hs.workload.poisson(jobs=400, nodes=32, load=1.2, seed=1)
    apps = ["a", "b"]
    workload = hs.Workload.from_polars(
        workload.to_polars().with_columns(
            app=pl.Series([apps[row % 2] for row in range(len(workload))]),
            power_w=pl.Series([150.0 + row % 50 for row in range(len(workload))]),
        )
    )
    table = hs.VariationTable(["a"], power_w=[[200.0 + node for node in range(32)]])
    platform = hs.Platform.homogeneous(nodes=32, idle_w=100, tdp_w=400).with_tables(actual=table)
    session = hs.Session(
        workload, platform, "vahrm:pcr=0.8", on_unknown_app="nominal", predictor=hs.power.Noisy(0.1), seed=3
    )
    session.step_until(float(workload.to_polars()["submit_s"][200]))
    session.save(tmp_path / "a.hetsched")
    loaded = hs.Session.load(tmp_path / "a.hetsched")
    assert loaded.result() == session.result()
    assert loaded.run() == session.run()

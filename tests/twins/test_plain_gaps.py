"""Gaps of nodes against a plain twin, on random runs with sleep, failures, maintenance and shared nodes."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_gaps import plain_gaps

import hetsched as hs
from hetsched.analysis import gaps

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")


@st.composite
def machines(draw: st.DrawFn, slots: int) -> hs.Platform:
    def node_class(name: str) -> hs.NodeClass:
        watts = {key: draw(st.sampled_from([None, 0.0, 50.0, 300.0])) for key in ("boot_w", "shutdown_w")}
        times = {key: draw(st.sampled_from([0.0, 0.5, 5.0, 20.0])) for key in ("boot_s", "shutdown_s")}
        off_w = draw(st.sampled_from([0.0, 10.0, 150.0]))
        return hs.NodeClass(name, draw(st.integers(1, 2)), 100.0, 400.0, slots=slots, off_w=off_w, **watts, **times)

    classes = [node_class(name) for name in ["one", "two"][: draw(st.integers(1, 2))]]
    return hs.Platform(classes, exclusive=slots == 1)


@st.composite
def runs(draw: st.DrawFn) -> tuple[hs.Result, hs.Platform]:
    slots = draw(st.sampled_from([1, 1, 2]))
    platform = draw(machines(slots))
    times = st.sampled_from([0.0, 1.0, 7.5, 20.0, 60.0, 200.0])
    columns: dict[str, Any] = {"job_id": [], "submit_s": [], "runtime_s": [], "node_count": [], "slots": []}
    for number in range(draw(st.integers(1, 6))):
        row = (number, draw(times), draw(times), draw(st.integers(1, platform.nodes)), draw(st.integers(1, slots)))
        for values, value in zip(columns.values(), row, strict=True):
            values.append(value)
    frame = pl.DataFrame(columns)
    workload = hs.Workload.from_polars(frame if slots > 1 else frame.drop("slots"))
    node = st.integers(0, platform.nodes - 1)
    happened: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.sampled_from([0.0, 5.0, 30.0, 100.0]))
        lasts, one = draw(st.sampled_from([1.0, 40.0, 100.0])), draw(node)
        if draw(st.booleans()):
            happened.append({"time_s": start, "kind": "maintenance", "node": one, "until_s": start + lasts})
        else:
            happened.append({"time_s": start, "kind": "node_failed", "node": one, "until_s": None})
            happened.append({"time_s": start + lasts, "kind": "node_repaired", "node": one, "until_s": None})
    schema = {"time_s": pl.Float64, "kind": pl.String, "node": pl.Int64, "until_s": pl.Float64}
    events = hs.Events.from_polars(pl.DataFrame(happened, schema=schema)) if happened else None
    sleep = draw(st.sampled_from([None, "planned", {"name": "timeout", "min_idle_s": 10}, "newsvendor"]))
    backfill = "plan" if happened or slots > 1 else draw(st.sampled_from(["plan", "reservations"]))
    policy = hs.Policy(backfill=backfill, sleep=sleep)
    how = draw(st.sampled_from(["fail", "requeue"]))
    return hs.simulate(workload, platform, policy, events=events, on_failure=how), platform


def agree(result: hs.Result, platform: hs.Platform) -> None:
    found, expected = gaps(result, platform).rows(), plain_gaps(result, platform)
    assert [row[:4] for row in found] == [row[:4] for row in expected]
    for own, plain in zip(found, expected, strict=True):
        assert own[4:] == pytest.approx(plain[4:], rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(("between_s", "after_s", "least_j"), [(12.0, 2.0, 1200.0), (30.0, 7.0, 250.0)])
def test_gaps_too_short_to_sleep_through_and_shorter_than_a_shutdown(
    between_s: float, after_s: float, least_j: float
) -> None:
    """Random runs seldom have them: 5 s to shut down at 50 W and 20 s to boot at 0 W, where idle nodes draw 100 W."""
    sleeps = {"off_w": 0.0, "boot_s": 20.0, "shutdown_s": 5.0, "boot_w": 0.0, "shutdown_w": 50.0}
    platform = hs.Platform([hs.NodeClass("n", 2, 100.0, 400.0, **sleeps)])
    second_s = 10.0 + between_s
    jobs = {
        "job_id": [1, 2, 3],
        "submit_s": [0.0, second_s, second_s],
        "runtime_s": [10.0, 10.0, 10.0 + after_s],
        "node_count": [2, 1, 1],
    }
    result = hs.simulate(hs.Workload.from_polars(pl.DataFrame(jobs)), platform, "easy")
    agree(result, platform)
    assert gaps(result, platform).filter(pl.col("start_s") == 10.0)["least_j"].to_list() == [least_j] * 2


@given(runs())
@settings(max_examples=3 * settings().max_examples)
def test_gaps_are_those_of_the_plain_twin(case: tuple[hs.Result, hs.Platform]) -> None:
    agree(*case)


@given(runs())
@settings(max_examples=3 * settings().max_examples)
def test_gaps_hold_the_energy_of_nodes_without_jobs_and_none_is_below_its_least(
    case: tuple[hs.Result, hs.Platform],
) -> None:
    result, platform = case
    found, summary = gaps(result, platform), result.summary()
    assert (found["least_j"] <= found["idle_j"] + 1e-9).all()
    drawn_j = sum(summary[name] for name in ("idle_energy_j", "transition_energy_j", "off_energy_j"))
    if platform.exclusive:
        assert found["drawn_j"].sum() == pytest.approx(drawn_j, abs=1e-6)
    if not len(result.events.filter(pl.col("kind") == "sleep")):
        assert found["drawn_j"].to_list() == pytest.approx(found["idle_j"].to_list())
    # A node that sleeps by plan never costs less than the bound: no gap is slept through otherwise than counted.
    assert (found["drawn_j"] >= found["least_j"] - 1e-6).all()

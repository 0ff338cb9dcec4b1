"""A live controller that hears what a simulated machine tells decides what the simulation has decided."""

from __future__ import annotations

import pickle
import tempfile
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hetsched as hs
from hetsched.testing import platforms, workloads

pytestmark = [pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning"), pytest.mark.hypothesis]

REPEATS = ("replay",)
"""Presets that repeat a log: there is none of what is yet to happen."""

PRESETS = [name for name in hs.presets()["name"].to_list() if name not in REPEATS]
KNOWING = ("coa", "vahrm")
"""Presets that know lengths in advance, by their papers; a live controller gives them walltimes."""


def as_planned(workload: hs.Workload, name: str) -> hs.Workload:
    """The jobs, with runtimes that are their walltimes where the preset knows lengths."""
    if name not in KNOWING:
        return workload
    return hs.Workload.from_polars(workload.to_polars().with_columns(runtime_s=pl.col("walltime_s")))


def preset_of(name: str, platform: hs.Platform, share: float = 0.7) -> hs.Policy:
    """A preset, with a budget that may bind if it can have one."""
    if name in {"vahrm", "power-slurm"}:
        return hs.Policy.preset(name, budget_w=1.0 + float(platform.idle_w.sum()) + share * 300.0 * platform.nodes)
    return hs.Policy.preset(name)


def replayed(workload: hs.Workload, platform: hs.Platform, policy: Any, **options: Any) -> hs.Controller:
    """A controller that has decided all that the simulation has; fails if it decides anything else."""
    with tempfile.TemporaryDirectory() as folder:
        result = hs.simulate(workload, platform, policy, journal=folder, **options)
        assert result == hs.simulate(workload, platform, policy, **options)
        journal = hs.read_journal(folder)
        assert len(journal.decisions.filter(pl.col("kind") == "start")) >= result.jobs["start_s"].count()
        return journal.replay()


@pytest.mark.parametrize("name", PRESETS)
@given(data=st.data())
def test_every_preset_decides_live_as_it_does_in_a_simulation(name: str, data: st.DataObject) -> None:
    workload = as_planned(data.draw(workloads(walltimes=True, max_nodes=4)), name)
    platform = data.draw(platforms(max_nodes=4))
    replayed(workload, platform, preset_of(name, platform), seed=data.draw(st.integers(0, 3)))


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_jobs_that_share_nodes_are_decided_alike(data: st.DataObject) -> None:
    slots = data.draw(st.integers(2, 3))
    workload = data.draw(workloads(walltimes=True, max_nodes=4, max_slots=slots))
    platform = data.draw(platforms(max_nodes=4, max_slots=slots))
    policy = data.draw(st.sampled_from(["fcfs", "easy", "conservative", "fair-share", "ljf", "random"]))
    replayed(workload, platform, policy, seed=data.draw(st.integers(0, 3)))


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_elements_of_limited_arrays_are_decided_alike(data: st.DataObject) -> None:
    workload = data.draw(workloads(walltimes=True, max_nodes=4, min_jobs=2))
    jobs = workload.to_polars()
    arrays = data.draw(st.lists(st.sampled_from([None, 1, 2]), min_size=len(jobs), max_size=len(jobs)))
    limits = {array: data.draw(st.integers(1, 3)) for array in (1, 2)}
    jobs = jobs.with_columns(
        pl.Series("array_id", arrays, dtype=pl.Int64),
        pl.Series("array_limit", [limits.get(array) for array in arrays], dtype=pl.Int64),
    )
    policy = data.draw(st.sampled_from(["fcfs", "easy", "conservative", "fair-share", "hetsched"]))
    replayed(hs.Workload.from_polars(jobs), data.draw(platforms(max_nodes=4)), policy)


SLEEPS = [
    {"name": "timeout", "min_idle_s": 0},
    {"name": "timeout", "min_idle_s": 3},
    "nqsv",
]


def slow_to_wake(platform: hs.Platform, boot_s: float, shutdown_s: float) -> hs.Platform:
    """The machine with transitions that take time."""
    return hs.Platform.homogeneous(
        nodes=platform.nodes,
        idle_w=platform.idle_w.tolist(),
        tdp_w=300.0,
        off_w=5.0,
        boot_s=boot_s,
        shutdown_s=shutdown_s,
        boot_w=120.0,
        shutdown_w=80.0,
    )


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_nodes_that_sleep_are_woken_alike(data: st.DataObject) -> None:
    workload = data.draw(workloads(walltimes=True, max_nodes=4))
    spans = st.sampled_from([0.0, 1.0, 2.5, 7.0])
    platform = slow_to_wake(data.draw(platforms(max_nodes=4, tables=False)), data.draw(spans), data.draw(spans))
    backfill = data.draw(st.sampled_from(["none", {"name": "reservations", "depth": 1}, "plan"]))
    sleep = data.draw(st.sampled_from(SLEEPS if backfill == "plan" else SLEEPS[:2]))
    replayed(workload, platform, hs.Policy(backfill=backfill, sleep=sleep))


def dependent(workload: hs.Workload, data: st.DataObject) -> hs.Workload:
    """The jobs, some of which wait for the end of another one."""
    jobs, count = workload.to_polars(), len(workload)
    ids = jobs["job_id"].to_list()
    before = [data.draw(st.none() | st.sampled_from(ids[:row])) if row else None for row in range(count)]
    how = data.draw(st.lists(st.sampled_from(["any", "ok", "not_ok"]), min_size=count, max_size=count))
    waits = {"depends_on": pl.Series(before, dtype=pl.Int64), "depends_how": pl.Series(how, dtype=pl.String)}
    return hs.Workload.from_polars(jobs.with_columns(**waits))


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_jobs_on_nodes_that_fail_end_or_wait_again_alike(data: st.DataObject) -> None:
    workload = dependent(data.draw(workloads(walltimes=True, max_nodes=4, min_jobs=1)), data)
    platform = data.draw(platforms(max_nodes=4))
    first_s = workload.to_polars()["submit_s"][0]
    instants = st.sampled_from([1e-6, 0.25, 1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 13.0])
    kinds = st.sampled_from(["node_failed", "node_repaired"])
    rows = data.draw(st.lists(st.tuples(instants, kinds, st.integers(0, platform.nodes - 1)), max_size=6))
    told = [(first_s + at_s, kind, node) for at_s, kind, node in rows]
    schema = {"time_s": pl.Float64, "kind": pl.String, "node": pl.Int64}
    events = hs.Events.from_polars(pl.DataFrame(told, schema=schema, orient="row"))
    policy = data.draw(st.sampled_from(["fcfs", "easy", "conservative", "fair-share", "cgva-fcfs-b", "pool", "random"]))
    on_failure = data.draw(st.sampled_from(["fail", "requeue"]))
    replayed(workload, platform, policy, events=events, on_failure=on_failure)


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_budgets_are_kept_alike(data: st.DataObject) -> None:
    workload = as_planned(data.draw(workloads(walltimes=True, max_nodes=4, min_jobs=1)), "vahrm")
    platform = data.draw(platforms(max_nodes=4))
    idle_w = float(platform.idle_w.sum())
    instants, watts = st.sampled_from([0.0, 1.0, 2.0, 3.5, 6.0]), st.sampled_from([0.0, 0.5, 0.9])
    rows = data.draw(st.lists(st.tuples(instants, st.sampled_from([None, 2.0, 5.0]), watts), max_size=3))
    first_s = workload.to_polars()["submit_s"][0]
    columns = {
        "time_s": [first_s + at_s for at_s, _, _ in rows],
        "until_s": [None if lasts_s is None else first_s + at_s + lasts_s for at_s, lasts_s, _ in rows],
        "value": [idle_w + 1.0 + share * 300.0 * platform.nodes for _, _, share in rows],
        "kind": ["budget"] * len(rows),
    }
    types = {"time_s": pl.Float64, "until_s": pl.Float64, "value": pl.Float64, "kind": pl.String}
    frame = pl.DataFrame(columns, schema=types)
    policy = preset_of(data.draw(st.sampled_from(["vahrm", "power-slurm"])), platform, data.draw(watts) + 0.2)
    replayed(workload, platform, policy, events=hs.Events.from_polars(frame) if rows else None)


@settings(max_examples=2 * settings().max_examples)
@given(st.data())
def test_jobs_that_wait_for_others_are_eligible_alike(data: st.DataObject) -> None:
    workload = dependent(data.draw(workloads(walltimes=True, max_nodes=4, min_jobs=2)), data)
    jobs, count = workload.to_polars(), len(workload)

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return data.draw(st.lists(values, min_size=count, max_size=count))

    jobs = jobs.with_columns(
        pl.Series("think_s", column(st.sampled_from([None, 0.0, 2.0])), dtype=pl.Float64),
        pl.Series("start_at_s", column(st.sampled_from([None, 4.0, 9.0])), dtype=pl.Float64),
        pl.Series("cancel_s", column(st.sampled_from([None, None, 3.0, 8.0])), dtype=pl.Float64),
    )
    policy = data.draw(st.sampled_from(["fcfs", "easy", "conservative", "fair-share", "hetsched"]))
    replayed(hs.Workload.from_polars(jobs), data.draw(platforms(max_nodes=4)), policy)


REMEMBERING = ("fair-share", "random", "pool", "vu-fcfs-b", "cva-fcfs", "cgva-fcfs")
"""Presets that know what no state of a machine shows."""


@given(st.data())
def test_a_controller_that_is_rebuilt_on_the_way_decides_what_it_would_have(data: st.DataObject) -> None:
    workload = data.draw(workloads(walltimes=True, max_nodes=4, min_jobs=2))
    platform = data.draw(platforms(max_nodes=4))
    policy = data.draw(st.sampled_from(["fcfs", "easy", "conservative", "cgva-fcfs-b", "ljf", *REMEMBERING]))
    with tempfile.TemporaryDirectory() as folder:
        hs.simulate(workload, platform, policy, journal=folder)
        instants = hs.read_journal(folder).instants
    cut = data.draw(st.integers(0, len(instants)))
    before = hs.Controller(platform, policy, workload=workload)
    for instant in instants[:cut]:
        before.step(instant.t_us, instant.notices)
    after = hs.Controller(platform, policy, workload=workload)
    state = before.policy_state() if cut else None
    after.rebuild(instants[cut - 1].t_us if cut else -1, before.snapshot(), state=state)
    for instant in instants[cut:]:
        decided = [replace(decision, number=0) for decision in after.step(instant.t_us, instant.notices)]
        assert decided == [replace(decision, number=0) for decision in instant.decisions]


def folded_alike(data: st.DataObject, workload: hs.Workload, platform: hs.Platform, policy: Any) -> None:
    """Checks that a controller that folds what it has heard decides what one decides that keeps all of it."""
    seed = data.draw(st.integers(0, 3))
    with tempfile.TemporaryDirectory() as folder:
        hs.simulate(workload, platform, policy, seed=seed, journal=folder)
        instants = hs.read_journal(folder).instants
    folding = hs.Controller(platform, policy, workload=workload, seed=seed, fold_after=data.draw(st.integers(1, 5)))
    keeping = hs.Controller(platform, policy, workload=workload, seed=seed, fold_after=None)
    for instant in instants:
        decided = folding.step(instant.t_us, instant.notices)
        assert decided == keeping.step(instant.t_us, instant.notices) == list(instant.decisions)
        assert (folding.next_us, folding.late) == (keeping.next_us, keeping.late)
        assert folding.snapshot() == keeping.snapshot()
        if data.draw(st.booleans()):
            folding = pickle.loads(pickle.dumps(folding))


@pytest.mark.parametrize("name", PRESETS)
@settings(max_examples=15)
@given(data=st.data())
def test_a_controller_that_folds_is_the_same_as_one_that_does_not(name: str, data: st.DataObject) -> None:
    workload = as_planned(data.draw(workloads(walltimes=True, max_nodes=4)), name)
    platform = data.draw(platforms(max_nodes=4))
    folded_alike(data, workload, platform, preset_of(name, platform))


@settings(max_examples=40)
@given(st.data())
def test_what_waits_for_others_and_what_sleeps_is_folded_as_it_is(data: st.DataObject) -> None:
    spans = st.sampled_from([0.0, 1.0, 2.5, 7.0])
    platform = slow_to_wake(data.draw(platforms(max_nodes=4, tables=False)), data.draw(spans), data.draw(spans))
    workload = dependent(data.draw(workloads(walltimes=True, max_nodes=4, min_jobs=2)), data)
    sleep = data.draw(
        st.sampled_from([None, *SLEEPS[:2], {"name": "timeout", "min_idle_s": 0, "off_limit_per_day": 1}])
    )
    folded_alike(
        data, workload, platform, hs.Policy(order=data.draw(st.sampled_from(["fcfs", "fair-share"])), sleep=sleep)
    )

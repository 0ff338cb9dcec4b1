"""Draws measured in time: what a profile promises, whatever the schedule, the nodes and the speed.

`tests/twins/test_plain_power.py` holds the engine to a second program under budgets, caps and emergencies.
"""

import random

import numpy as np
import polars as pl
import pytest

import hetsched as hs
from hetsched.testing import check_schedule
from hetsched.workload.profiles import profiles_of

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.LoadWarning")

WATTS = (100.0, 200.0, 250.5, 300.0, None, 0.0)


def machine(nodes=4, **more):
    return hs.Platform.homogeneous(nodes=nodes, idle_w=50, tdp_w=400, **more)


def jobs(seed, nodes, *, count=12, slots=None):
    rng = random.Random(seed)
    profile = [
        [rng.choice(WATTS) for _ in range(rng.randint(1, 6))] if rng.random() < 0.7 else None for _ in range(count)
    ]
    columns = {
        "job_id": list(range(count)),
        "submit_s": sorted(rng.randint(0, 60) for _ in range(count)),
        "runtime_s": [float(rng.choice([0, 1, 5, 13, 37.5, 60])) for _ in range(count)],
        "node_count": [rng.randint(1, nodes) for _ in range(count)],
        "comm_s": [rng.choice([0.0, 0.0, 2.0]) for _ in range(count)],
        "walltime_s": pl.Series([rng.choice([None, None, 10.0, 40.0]) for _ in range(count)], dtype=pl.Float64),
        "app": pl.Series([rng.choice(["a", "b", None]) for _ in range(count)], dtype=pl.String),
        "power_profile": pl.Series(profile, dtype=pl.List(pl.Float64)),
        "power_profile_s": pl.Series([rng.choice([None, 1.0, 7.0, 20.0]) for _ in range(count)], dtype=pl.Float64),
    }
    if slots is not None:
        columns["slots"] = [rng.randint(1, slots) for _ in range(count)]
    return hs.Workload.from_polars(pl.DataFrame(columns))


def tables(nodes, seed):
    rng = random.Random(seed)
    each = [
        [[rng.choice(values) for _ in range(nodes)] for _ in "ab"] for values in ((0.9, 1.0, 1.2), (1.0, 1.25, 0.7))
    ]
    return hs.VariationTable(["a", "b"], power_ratio=each[0], time_ratio=each[1])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["plain", "factors", "shared", "caps", "stopped"])
def test_draws_follow_from_starts_nodes_and_profiles(kind, seed):
    nodes = 2 + seed % 4
    platform = machine(nodes, exclusive=False, slots=4) if kind == "shared" else machine(nodes)
    workload = jobs(seed, nodes, slots=4 if kind == "shared" else None)
    if kind in ("factors", "caps"):
        platform = platform.with_tables(actual=tables(nodes, seed))
    if kind == "caps":
        platform = platform.with_cap_model(static_ratio=0.3)
        frame = workload.to_polars().with_columns(cap_w=pl.when(pl.col("job_id") % 3 == 0).then(240.0))
        workload = hs.Workload.from_polars(frame)
    result = hs.simulate(workload, platform, "easy", until_s=45.0 if kind == "stopped" else None)
    check_schedule(result, workload, platform)
    assert result.has_segments


@pytest.mark.parametrize("seed", range(6))
def test_a_constant_profile_is_a_measured_mean(seed):
    platform, workload = machine().with_tables(actual=tables(4, seed)), jobs(seed, 4)
    rng = random.Random(seed)
    watts = [rng.choice([150.0, 220.0]) for _ in range(len(workload))]
    plain = workload.to_polars().drop("power_profile", "power_profile_s").with_columns(power_w=pl.Series(watts))
    lists = pl.Series([[one] * 3 for one in watts], dtype=pl.List(pl.Float64))
    told = plain.drop("power_w").with_columns(power_profile=lists, power_profile_s=pl.lit(2.5))
    one, other = (hs.simulate(hs.Workload.from_polars(frame), platform, "easy") for frame in (plain, told))
    assert one.summary() == other.summary()
    assert one.timeline.equals(other.timeline)
    assert one.nodes.equals(other.nodes)
    names = ["job_id", "start_s", "end_s", "nodes", "energy_j", "mean_power_w", "power_w"]
    assert one.jobs.select(names).equals(other.jobs.select(names))


@pytest.mark.parametrize("seed", range(6))
def test_a_jobs_energy_is_the_integral_of_its_profile(seed):
    workload, platform = jobs(seed, 4), machine()
    result = hs.simulate(workload, platform, "easy")
    profiles = profiles_of(workload.to_polars())
    ran = result.jobs.with_row_index("row").filter(pl.col("start_s").is_not_null())
    own = ran.filter(pl.Series(profiles.lengths[ran["row"].to_numpy()] > 0))
    length_s = (own["end_s"] - own["start_s"]).to_numpy()
    joules = profiles.between(own["row"].to_numpy(), np.zeros(len(own)), length_s) * own["node_count"].to_numpy()
    np.testing.assert_allclose(own["energy_j"].to_numpy(), joules, rtol=1e-9)


def test_a_profile_moves_with_the_start_and_is_cut_with_the_run():
    frame = pl.DataFrame(
        {
            "job_id": [1, 2],
            "submit_s": [0.0, 0.0],
            "runtime_s": [40.0, 40.0],
            "node_count": [1, 1],
            "walltime_s": [100.0, 35.0],
            "power_profile": [[100.0, 200.0, 300.0, 400.0]] * 2,
        }
    )
    result = hs.simulate(hs.Workload.from_polars(frame), machine(1), "fcfs")
    assert result.timeline.select("time_s", "power_w").rows() == [
        *((10.0 * k, 100.0 * (k + 1)) for k in range(4)),
        *((40.0 + 10.0 * k, 100.0 * (k + 1)) for k in range(4)),
        (75.0, 50.0),
    ]
    assert result.jobs["energy_j"].to_list() == [10_000.0, 8_000.0]
    assert result.jobs["state"].to_list() == ["completed", "timeout"]


def test_a_slow_node_stretches_a_profile_whose_last_interval_goes_on():
    frame = pl.DataFrame(
        {
            "job_id": [1],
            "submit_s": [0.0],
            "runtime_s": [40.0],
            "node_count": [1],
            "app": ["a"],
            "power_profile": [[100.0, 200.0]],
            "power_profile_s": [10.0],
        }
    )
    table = hs.VariationTable(["a"], power_ratio=[[1.5]], time_ratio=[[2.0]])
    workload = hs.Workload.from_polars(frame)
    assert workload.to_polars()["power_w"].to_list() == [175.0]
    result = hs.simulate(workload, machine(1).with_tables(actual=table), "fcfs")
    rows = result.segments.select("start_s", "end_s", "power_w").rows()
    assert rows == [(0.0, 20.0, 150.0), (20.0, 80.0, 300.0)]


def test_a_metered_schedule_has_the_profile_on_its_own_clock():
    frame = pl.DataFrame(
        {"job_id": [1], "submit_s": [0.0], "runtime_s": [40.0], "node_count": [1], "power_profile": [[100.0, 200.0]]}
    )
    starts = pl.DataFrame({"job_id": [1], "start_s": [5.0], "nodes": [[0]], "end_s": [65.0]})
    workload, platform = hs.Workload.from_polars(frame), machine(1)
    result = hs.meter(workload, platform, starts)
    assert result.segments.select("start_s", "end_s", "power_w").rows() == [(5.0, 25.0, 100.0), (25.0, 65.0, 200.0)]
    check_schedule(result, workload, platform)


def test_jobs_with_profiles_join_a_run_without():
    plain = pl.DataFrame({"job_id": [1], "submit_s": [0.0], "runtime_s": [50.0], "node_count": [1]})
    session = hs.Session(hs.Workload.from_polars(plain), machine(2), "easy")
    session.step_until(10.0)
    more = pl.DataFrame(
        {"job_id": [2], "submit_s": [20.0], "runtime_s": [20.0], "node_count": [1], "power_profile": [[100.0, 200.0]]}
    )
    session.inject(more)
    result = session.run()
    rows = result.segments.select("job_id", "start_s", "end_s", "power_w").rows()
    assert rows == [(1, 0.0, 50.0, 400.0), (2, 20.0, 30.0, 100.0), (2, 30.0, 40.0, 200.0)]


def test_a_monitor_sees_the_peak_of_a_profile():
    frame = pl.DataFrame(
        {
            "job_id": [1],
            "submit_s": [0.0],
            "runtime_s": [30.0],
            "node_count": [1],
            "power_profile": [[100.0, 300.0, 100.0]],
        }
    )
    part = {"name": "system-budget", "budget_w": 200.0, "on_excess": ["kill"]}
    result = hs.simulate(hs.Workload.from_polars(frame), machine(1), hs.Policy(power=part))
    assert result.jobs.select("state", "end_s").rows() == [("failed", 10.0)]


# --- The column


def test_unknown_values_are_those_of_the_interval_before():
    lists = [[None, 100.0, 0.0, float("nan"), 200.0], [0.0, None], [], None]
    frame = pl.DataFrame(
        {
            "job_id": [1, 2, 3, 4],
            "submit_s": [0.0] * 4,
            "runtime_s": [50.0] * 4,
            "node_count": [1] * 4,
            "power_profile": pl.Series(lists, dtype=pl.List(pl.Float64)),
        }
    )
    workload = hs.Workload.from_polars(frame)
    found = profiles_of(workload.to_polars())
    assert (found.watts.tolist(), found.offsets.tolist()) == ([100.0] * 4 + [200.0], [0, 5, 5, 5, 5])
    assert workload.to_polars()["power_w"].to_list() == [120.0, None, None, None]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_keep_profiles(tmp_path, suffix):
    workload = jobs(3, 4)
    workload.write(tmp_path / f"jobs.{suffix}")
    names = ["power_profile", "power_profile_s", "power_w"]
    again = hs.read_jobs(tmp_path / f"jobs.{suffix}").to_polars().select(names)
    assert again.equals(workload.to_polars().select(names))


@pytest.mark.parametrize(
    ("profile", "interval_s", "message"),
    [
        (
            [100.0, 2e6],
            1.0,
            r"row 0, column `power_profile`: found `100.0 2000000.0`, expected a list of watts up to 1e6",
        ),
        ([100.0, float("inf")], 1.0, "column `power_profile`: found `100.0 inf`"),
        ([100.0], 0.0, "column `power_profile_s`: found `0`, expected seconds from 1e-06"),
        ([100.0, 100.0], 1e12, "no longer than 1e\\+12 s"),
    ],
)
def test_profiles_that_cannot_be_are_refused(profile, interval_s, message):
    frame = {"job_id": [1], "submit_s": [0.0], "runtime_s": [1.0], "node_count": [1]}
    frame |= {"power_profile": [profile], "power_profile_s": [interval_s]}
    with pytest.raises(hs.errors.TraceError, match=message):
        hs.Workload.from_polars(pl.DataFrame(frame))

"""Batsim's workloads in, and its files of jobs and schedules out (readers page, rules 42 to 44)."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.errors import TraceError
from hetsched.run.batsim_files import _intervals

pytestmark = pytest.mark.filterwarnings("ignore::hetsched.errors.RunWarning")

DELAY = {"type": "delay", "delay": 60}


def job(number: Any = 1, **changes: Any) -> dict[str, Any]:
    return {"id": number, "subtime": 0, "res": 1, "profile": "p"} | changes


def text(*jobs: Any, profiles: Any = None, **more: Any) -> bytes:
    return json.dumps({"nb_res": 4, "jobs": list(jobs), "profiles": profiles or {"p": DELAY}, **more}).encode()


def read(*jobs: Any, profiles: Any = None, **options: Any) -> hs.Workload:
    return hs.read_batsim(text(*jobs, profiles=profiles), **options)


def test_jobs_become_a_workload() -> None:
    workload = read(
        job("w0!7", subtime=9.5, res=4.0, walltime=100, user="ann", mine=[1]),
        job(3, subtime=1, walltime=-1, queue=5),
        job("10", subtime=1, walltime=0),
        job("x", subtime=2, walltime=None),
    )
    assert workload.to_polars().drop("app").to_dicts() == [
        {"job_id": 3, "submit_s": 1.0, "runtime_s": 60.0, "node_count": 1, "walltime_s": None, "user": None}
        | {"queue": "5", "log_id": "3", "profile": "p"},
        {"job_id": 10, "submit_s": 1.0, "runtime_s": 60.0, "node_count": 1, "walltime_s": None, "user": None}
        | {"queue": None, "log_id": "10", "profile": "p"},
        {"job_id": 11, "submit_s": 2.0, "runtime_s": 60.0, "node_count": 1, "walltime_s": None, "user": None}
        | {"queue": None, "log_id": "x", "profile": "p"},
        {"job_id": 7, "submit_s": 9.5, "runtime_s": 60.0, "node_count": 4, "walltime_s": 100.0, "user": "ann"}
        | {"queue": None, "log_id": "w0!7", "profile": "p"},
    ]
    assert workload.to_polars()["app"].to_list() == ["p"] * 4
    assert workload.report["header"] == {"max_nodes": 4, "max_procs": 4}
    assert (workload.report["jobs"], workload.report["out_of_order"]) == (4, 1)


def test_numbers_that_names_lack_are_above_all_others() -> None:
    workload = read(*(job(name) for name in ["b", "w0!5", "w1!5", -2, "a", "w0!z", 7, "007!8"]))
    ids = dict(workload.to_polars().select("log_id", "job_id").rows())
    assert ids == {"b": 9, "w0!5": 5, "w1!5": 10, "-2": 11, "a": 12, "w0!z": 13, "7": 7, "007!8": 8}
    assert workload.report["reused_ids"] == 1


@pytest.mark.parametrize(
    ("profile", "runtime_s", "comm"),
    [
        ({"type": "delay", "delay": 2.5}, 2.5, 0),
        ({"type": "DelayProfile", "delay": 0}, 0, 0),
        ({"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}, 10, 0),
        ({"type": "ParallelTaskHomogeneousProfile", "cpu": 1e9, "com": 5}, 10, 1),
        ({"type": "msg_par_hg", "cpu": 1e9}, 10, 0),
        ({"type": "parallel_homogeneous_total", "cpu": 1e9, "com": 0}, 5, 0),
        ({"type": "DefinedAmountsSpreadUniformly", "cpu": 1e9, "com": 3}, 5, 1),
        ({"type": "msg_par_hg_tot", "cpu": 1e9}, 5, 0),
        ({"type": "parallel", "cpu": [1e9, 3e9], "com": [0, 0, 7, 0]}, 30, 1),
        ({"type": "ParallelTaskProfile", "cpu": [1e9, 3e9], "com": [0, 0, 0, 0]}, 30, 0),
        ({"type": "msg_par", "cpu": [0]}, 0, 0),
        ({"type": "composed", "seq": ["d", "w", "d"], "repeat": 3}, 3 * (1 + 5 + 1), 1),
        ({"type": "SequentialCompositionProfile", "seq": ["d"]}, 1, 0),
        ({"type": "composed", "seq": [], "repeat": 3}, 0, 0),
        ({"type": "composed", "seq": ["two", "two"]}, 4, 0),
    ],
)
def test_lengths_of_profiles(profile: Any, runtime_s: float, comm: int) -> None:
    others = {
        "d": {"type": "delay", "delay": 1},
        "w": {"type": "parallel_homogeneous_total", "cpu": 1e9, "com": 1},
        "two": {"type": "composed", "seq": ["d", "d"]},
        "unused": {"type": "smpi"},
    }
    workload = read(job(res=2), profiles={"p": profile, **others}, flops_per_s=1e8)
    assert workload.to_polars()["runtime_s"].to_list() == [runtime_s]
    assert workload.report.get("comm_ignored", 0) == comm


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"res": 0}, "jobs[1], res: found `0`, expected a whole number from 1"),
        ({"res": 1.5}, "jobs[1], res: found `1.5`"),
        ({"res": "2"}, 'jobs[1], res: found `"2"`'),
        ({"res": True}, "jobs[1], res: found `true`"),
        ({"subtime": -1}, "jobs[1], subtime: found `-1`, expected seconds from 0"),
        ({"subtime": 1e300}, "jobs[1], subtime: found `1e+300`, expected seconds from 0 to 1e12"),
        ({"walltime": "1h"}, "jobs[1], walltime: found `1h`"),
        ({"profile": "q"}, "jobs[1], profile: found `q`, which is not among `profiles`"),
        ({"profile": None}, "jobs[1], profile: found `null`"),
        ({"id": ""}, "jobs[1], id: found"),
        ({"id": 1}, "jobs[1], id: found `1` again"),
        ({"id": "1"}, "jobs[1], id: found `1` again"),
        ({"id": [1]}, "jobs[1], id: found `[1]`"),
        ({"profile": "self"}, "jobs[1], profile: found `self`, which contains itself"),
        ({"profile": "a"}, "jobs[1], profile: found `a`, which contains itself"),
        ({"profile": "lost"}, "jobs[1], profile: found `none`, which is not among `profiles`"),
        ({"profile": "smpi"}, "jobs[1], profile: found `smpi` of type `smpi`, expected delay"),
        ({"profile": "work"}, "jobs[1], profile: found `work` of type parallel_homogeneous and no flops_per_s"),
        ({"profile": "minus"}, "jobs[1], profile: found `minus` with `delay` `-1`"),
        ({"profile": "text"}, "jobs[1], profile: found `text`: no object"),
        ({"profile": "seq"}, "jobs[1], profile: found `seq` with `seq` "),
        ({"profile": "repeat"}, "jobs[1], profile: found `repeat` with `repeat` "),
        ({"profile": "long"}, "jobs[1], profile: found `long` of 1e13 s"),
    ],
)
def test_errors_name_the_job(changes: Any, message: str) -> None:
    profiles = {
        "p": DELAY,
        "self": {"type": "composed", "seq": ["p", "self"]},
        "a": {"type": "composed", "seq": ["b"]},
        "b": {"type": "composed", "seq": ["p", "a"]},
        "lost": {"type": "composed", "seq": ["none"]},
        "smpi": {"type": "smpi"},
        "work": {"type": "parallel_homogeneous", "cpu": 1},
        "minus": {"type": "delay", "delay": -1},
        "text": "delay",
        "seq": {"type": "composed", "seq": "p"},
        "repeat": {"type": "composed", "seq": ["p"], "repeat": "2"},
        "long": {"type": "delay", "delay": 1e13},
    }
    bad = job(2, **changes)
    with pytest.raises(TraceError, match=re.escape(f"bytes, {message}")):
        read(job(), bad, profiles=profiles)
    kept = read(job(), bad, job(3), profiles=profiles, on_bad_line="skip")
    assert kept.to_polars()["job_id"].to_list() == [1, 3]
    assert kept.report["bad_lines"] == 1
    assert kept.report["first_bad_lines"][0].startswith(message)


def test_skipping_goes_on_as_long_as_there_is_a_job() -> None:
    bad = [job(number, res=0) for number in range(2, 9)]
    kept = read(job(), *bad, "nothing", on_bad_line="skip")
    assert (len(kept), kept.report["bad_lines"], len(kept.report["first_bad_lines"])) == (1, 8, 3)
    with pytest.raises(TraceError, match=re.escape("jobs[0], res")):
        read(*bad, on_bad_line="skip")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (text(job())[:-9], "found JSON that is cut or damaged"),
        (b'{"jobs": [},', "found JSON that is cut or damaged"),
        (b"[]", "found JSON that is no object"),
        (b'{"jobs": []}', "found JSON without `profiles`"),
        (b'{"profiles": {}, "jobs": 3}', "found JSON without `jobs`"),
        (text(), "found no job"),
        (text(job(), nb_res=0), "nb_res: found `0`"),
        (b"[" * 200_000, "found JSON that is cut or damaged"),
        (b'{"jobs": ' + b"9" * 5000 + b"}", "found JSON that is cut or damaged"),
        (text(job(subtime=math.nan)), "line 1: found JSON that is cut or damaged"),
        (text(job()).decode().encode("utf-16"), "found UTF-16"),
        (gzip.compress(text(job()), mtime=0)[:-4], "bytes"),
    ],
)
def test_files_that_are_none(content: bytes, message: str) -> None:
    for skip in ("error", "skip"):
        with pytest.raises(TraceError, match=message):
            hs.read_batsim(content, on_bad_line=skip)


def test_options_that_are_wrong() -> None:
    for speed in (0, -1, math.inf, "fast"):
        with pytest.raises(hs.ConfigError, match="flops_per_s"):
            read(job(), flops_per_s=speed)
    with pytest.raises(hs.ConfigError, match="on_bad_line"):
        read(job(), on_bad_line="keep")


def test_files_are_known_by_their_content(tmp_path: Path) -> None:
    path = tmp_path / "load"
    path.write_bytes(b"\xef\xbb\xbf" + text(job()).replace(b",", b",\r\n"))
    assert hs.read_jobs(path).to_polars()["profile"].to_list() == ["p"]
    path.with_suffix(".json.gz").write_bytes(gzip.compress(text(job())))
    assert hs.read_jobs(path.with_suffix(".json.gz")) == hs.read_jobs(path)
    assert hs.read_jobs(
        text(job(profile="w"), profiles={"w": {"type": "msg_par", "cpu": [8]}}), flops_per_s=2
    ).to_polars()["runtime_s"].to_list() == [4.0]


PROFILES = st.dictionaries(
    st.sampled_from("abcde"),
    st.one_of(
        st.builds(lambda s: {"type": "delay", "delay": s}, st.integers(0, 50)),
        st.builds(
            lambda w, c: {"type": "parallel_homogeneous_total", "cpu": w, "com": c},
            st.integers(0, 50),
            st.integers(0, 1),
        ),
        st.builds(
            lambda q, n: {"type": "composed", "seq": q, "repeat": n},
            st.lists(st.sampled_from("abcdef"), max_size=3),
            st.integers(0, 3),
        ),
    ),
    min_size=1,
)


def by_hand(name: str, profiles: Any, size: int, within: tuple[str, ...] = ()) -> float | None:
    """The length as the rules say it, worked out from the outside in; None: none."""
    profile = profiles.get(name)
    if profile is None or name in within:
        return None
    if profile["type"] == "delay":
        return float(profile["delay"])
    if profile["type"] == "parallel_homogeneous_total":
        return profile["cpu"] / 2 / size
    parts = [by_hand(inner, profiles, size, (*within, name)) for inner in profile["seq"]]
    return None if None in parts else sum(filter(None, parts)) * profile["repeat"]


@given(PROFILES, st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 3)), min_size=1, max_size=8))
def test_lengths_are_those_worked_out_by_hand(profiles: Any, jobs: Any) -> None:
    expected = [by_hand(name, profiles, size) for name, size in jobs]
    told = [job(number, profile=name, res=size) for number, (name, size) in enumerate(jobs)]
    if all(one is None for one in expected):
        with pytest.raises(TraceError, match=re.escape("jobs[0], profile")):
            read(*told, profiles=profiles, flops_per_s=2, on_bad_line="skip")
        return
    workload = read(*told, profiles=profiles, flops_per_s=2, on_bad_line="skip")
    found = dict(workload.to_polars().select("job_id", "runtime_s").rows())
    assert found.keys() == {number for number, one in enumerate(expected) if one is not None}
    assert all(math.isclose(length, expected[number], abs_tol=1e-9) for number, length in found.items())
    assert workload.report.get("bad_lines", 0) == expected.count(None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "res", "subtime", "profile", "seq"]), inner)
    ),
    max_leaves=6,
)


@given(st.lists(JSON, max_size=4), st.dictionaries(st.text(max_size=2), JSON, max_size=3), JSON)
def test_hostile_json_is_read_or_refused(jobs: Any, profiles: Any, nb_res: Any) -> None:
    content = json.dumps({"jobs": [*jobs, job()], "profiles": profiles | {"p": DELAY}, "nb_res": nb_res})
    for policy in ("error", "skip"):
        try:
            workload = hs.read_batsim(content.encode("utf-8", "surrogatepass"), on_bad_line=policy)
        except TraceError as error:
            assert "jobs[" in str(error) or "nb_res" in str(error)  # noqa: PT017
        else:
            assert len(workload) >= 1


HEADER = (
    "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,"
    "starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,metadata"
)


def test_a_schedule_as_batsim_writes_it(tmp_path: Path) -> None:
    workload = read(
        job("w3!1", res=4, walltime=100),
        job("w3!2", res=9),
        job(3, subtime=10, walltime=30),
        job(4, subtime=10, res=2, profile="none"),
        job(5, subtime=10, res=3),
        profiles={"p": DELAY, "none": {"type": "delay", "delay": 0}},
    )
    frame = workload.to_polars().with_columns(cancel_s=pl.Series([None, None, None, None, 20.0]))
    platform = hs.Platform.homogeneous(4, 100, 300)
    result = hs.simulate(hs.Workload.from_polars(frame), platform, "fcfs")
    prefix = tmp_path / "new" / "out"
    result.to_batsim_csv(prefix)
    lines = (tmp_path / "new" / "out_jobs.csv").read_text().splitlines()
    assert lines[0] == HEADER
    jobs = pl.read_csv(tmp_path / "new" / "out_jobs.csv")
    assert jobs.select("job_id", "workload_name", "profile", "requested_time", "success", "final_state").rows() == [
        (1, "w3", "p", 100.0, 1, "COMPLETED_SUCCESSFULLY"),
        (2, "w3", "p", -1.0, 0, "REJECTED"),
        (3, "w0", "p", 30.0, 0, "COMPLETED_WALLTIME_REACHED"),
        (4, "w0", "none", -1.0, 1, "COMPLETED_SUCCESSFULLY"),
    ]
    assert jobs.select("starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time").rows() == [
        (0.0, 60.0, 60.0, 0.0, 60.0),
        (None,) * 5,
        (60.0, 30.0, 90.0, 50.0, 80.0),
        (60.0, 0.0, 60.0, 50.0, 50.0),
    ]
    assert jobs["stretch"].to_list() == [1.0, None, 80 / 30, None]
    assert jobs["allocated_resources"].to_list() == ["0-3", None, "0", "1-2"]
    assert jobs["consumed_energy"].to_list() == [60 * 4 * 300.0, None, 30 * 300.0, 0.0]
    schedule = pl.read_csv(tmp_path / "new" / "out_schedule.csv").row(0, named=True)
    assert schedule == {
        "nb_jobs": 4,
        "nb_jobs_finished": 3,
        "nb_jobs_success": 2,
        "nb_jobs_killed": 1,
        "nb_jobs_rejected": 1,
        "success_rate": 0.5,
        "makespan": 90.0,
        "mean_waiting_time": pytest.approx(100 / 3),
        "mean_turnaround_time": pytest.approx(190 / 3),
        "mean_slowdown": pytest.approx((1 + 80 / 30) / 2),
        "max_waiting_time": 50.0,
        "max_turnaround_time": 80.0,
        "max_slowdown": pytest.approx(80 / 30),
        "consumed_joules": pytest.approx(result.summary()["energy_j"]),
        "nb_computing_machines": 4,
    }


def test_a_schedule_without_names(tmp_path: Path) -> None:
    frame = pl.DataFrame({"job_id": [1, 2, 3], "submit_s": [0, 0, 0], "runtime_s": [9, 60, 9], "node_count": [1, 1, 1]})
    workload = hs.Workload.from_polars(frame.with_columns(app=pl.Series(["a", None, None])))
    result = hs.simulate(workload, hs.Platform.homogeneous(2, 1, 2), "fcfs", until_s=5.0)
    result.to_batsim_csv(str(tmp_path / "a"))
    assert (tmp_path / "a_jobs.csv").read_text() == HEADER + "\n"
    hs.simulate(workload, hs.Platform.homogeneous(2, 1, 2), "fcfs").to_batsim_csv(tmp_path / "a")
    assert pl.read_csv(tmp_path / "a_jobs.csv", schema_overrides={"profile": pl.String})["profile"].to_list() == [
        "a",
        "2",
        "3",
    ]
    with pytest.raises(hs.ConfigError, match="prefix"):
        result.to_batsim_csv("")


@given(st.lists(st.sets(st.integers(0, 20), min_size=1, max_size=9), min_size=1, max_size=5))
def test_intervals_are_those_of_the_nodes(lists: list[set[int]]) -> None:
    told = _intervals(pl.Series([None, *map(sorted, lists)], dtype=pl.List(pl.UInt32)))
    assert told[0] is None
    for own, text in zip(lists, told[1:], strict=True):
        ends = [[int(end) for end in part.split("-")] for part in text.split(" ")]
        assert [node for end in ends for node in range(end[0], end[-1] + 1)] == sorted(own)
        assert all(one[-1] + 1 < other[0] for one, other in itertools.pairwise(ends))


EVALYS_JOBS = (
    *("job_id", "workload_name", "submission_time", "requested_number_of_resources", "requested_time", "success"),
    *("starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time", "stretch"),
    "allocated_resources",
)
"""Columns that evalys documents for sets of jobs (`evalys.jobset.JobSet.columns`)."""

EVALYS_STATES = ("time", "nb_sleeping", "nb_switching_on", "nb_switching_off", "nb_idle", "nb_computing")
"""Columns that it asks of machines' states (`evalys.mstates.MachineStatesChanges`)."""


def states_by_hand(result: hs.Result) -> list[tuple[float, ...]]:
    """Machines in each state at each row of the timeline, by what happened to every node until then."""
    timeline, events = result.timeline.rows(named=True), result.events.rows(named=True)
    now: dict[int, str] = {}
    rows, place = [], 0
    for row in timeline:
        while place < len(events) and events[place]["time_s"] <= row["time_s"]:
            if events[place]["node"] is not None:
                now[events[place]["node"]] = events[place]["kind"]
            place += 1
        count = {kind: sum(own == kind for own in now.values()) for kind in ("wake", "sleep", "off", "failed")}
        asleep = count["off"] + count["failed"]
        rest = len(result.nodes) - asleep - count["wake"] - count["sleep"] - row["busy_nodes"]
        rows.append((row["time_s"], asleep, count["wake"], count["sleep"], rest, row["busy_nodes"]))
    return rows


def test_machines_states_are_those_that_evalys_reads(tmp_path: Path) -> None:
    """Nodes sleep, boot, fail on their way and come back: as many in each state as their own events say."""
    rng = np.random.default_rng(3)
    jobs = pl.DataFrame(
        {
            "job_id": range(60),
            "submit_s": np.sort(rng.uniform(0, 20_000, 60)).round(),
            "runtime_s": rng.uniform(20, 900, 60).round(),
            "node_count": rng.integers(1, 8, 60),
        }
    )
    sleepy = {"off_w": 5, "boot_s": 120, "boot_w": 150, "shutdown_s": 60, "shutdown_w": 90}
    machine = hs.Platform.homogeneous(8, 100, 300, **sleepy)
    workload = hs.Workload.from_polars(jobs)
    calm = hs.simulate(workload, machine, "easy:sleep=timeout:sleep.min_idle_s=100")
    wake_s = calm.events.filter(kind="wake")["time_s"][2] + 30
    node = calm.events.filter(kind="wake")["node"][2]
    failed = pl.DataFrame(
        {"time_s": [wake_s, wake_s + 2000], "kind": ["node_failed", "node_repaired"], "nodes": [f"{node}"] * 2}
    )
    events = hs.Events.from_polars(failed)
    own = {"policy": "easy:sleep=timeout:sleep.min_idle_s=100", "events": events, "on_failure": "requeue"}
    for name, result in (("calm", calm), ("failing", hs.simulate(workload, machine, **own))):
        result.to_batsim_csv(tmp_path / name)
        told = pl.read_csv(tmp_path / f"{name}_jobs.csv")
        assert set(EVALYS_JOBS) <= set(told.columns)
        states = pl.read_csv(tmp_path / f"{name}_machine_states.csv")
        assert tuple(states.columns) == EVALYS_STATES
        assert set(states.select(pl.sum_horizontal(EVALYS_STATES[1:])).to_series()) == {8}
        assert states.rows() == states_by_hand(result)
        assert states["nb_switching_on"].max() > 0
        assert states["nb_switching_off"].max() > 0
    assert "failed" in result.events["kind"].to_list()

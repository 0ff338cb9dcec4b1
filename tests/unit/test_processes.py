"""Values that go to other processes and come back, and processes that cannot do the work."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import hetsched as hs

JOBS = pl.DataFrame(
    {"job_id": [1, 2], "submit_s": [0.0, 50.0], "runtime_s": [10.0, 5.0], "node_count": [1, 2], "app": ["a", "b"]}
)


def inputs():
    actual = hs.VariationTable(["a", "b"], power_w=[[200.0, 220.0], [150.0, 170.0]], cap_w=230.0)
    predicted = hs.VariationTable(["a", "b"], power_w=[[210.0, 210.0], [160.0, 160.0]])
    platform = hs.Platform.homogeneous(2, [90.0, 100.0], 300, actual=actual, predicted=predicted)
    return hs.Workload.from_polars(JOBS, source="mine").scale_arrivals(2.0), platform


def pickled(value):
    return pickle.loads(pickle.dumps(value))


WAYS = [pickled, copy.copy, copy.deepcopy]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_used", [False, True])
def test_workloads_and_platforms_are_copied_before_a_run_and_after(way, is_used):
    workload, platform = inputs()
    wanted = hs.simulate(*inputs(), "paa")
    if is_used:
        hs.simulate(workload, platform, "paa")
    again, machine = way(workload), way(platform)
    assert (again, machine) == (workload, platform)
    assert (again.source, again.history, again.report) == (workload.source, workload.history, workload.report)
    assert hs.simulate(again, machine, "paa") == wanted
    table = way(platform.actual)
    assert (table, table.cap_w, table.apps) == (platform.actual, 230.0, ("a", "b"))
    for array in (table.power_w, machine.actual.power_w, machine.idle_w):
        assert not array.flags.writeable


@pytest.mark.parametrize("way", WAYS)
def test_a_copied_platform_knows_as_much_of_draws_as_before(way):
    platform = hs.Platform.homogeneous(2, idle_w=10, tdp_w=300, known_draws="tdp", exclusive=False)
    assert way(platform) == platform
    assert (way(platform).known_draws, way(platform).exclusive) == ("tdp", False)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_read", [False, True])
def test_results_are_copied(way, is_read, tmp_path):
    result = hs.simulate(*inputs(), bound=True)
    wanted = hs.simulate(*inputs(), bound=True)
    if is_read:
        result.write(tmp_path)
        result = hs.read_result(tmp_path)
    again = way(result)
    assert again == wanted
    assert (again.timing, again.concerns) == (result.timing, result.concerns)
    again.write(tmp_path / "again")
    assert hs.read_result(tmp_path / "again") == wanted
    assert way(again) == wanted


def test_a_policy_and_an_error_go_along():
    policy = hs.Policy.preset("vahrm", pcr=0.8)
    assert pickled(policy) == policy
    error = hs.ConfigError([("a", "b", "c")] * 30)
    assert (str(pickled(error)), pickled(error).faults) == (str(error), error.faults)


_BY_JOBLIB = """
import hetsched as hs
import joblib
import polars as pl

if __name__ == "__main__":
    frame = pl.DataFrame({"job_id": [1, 2], "submit_s": [0, 0], "runtime_s": [60, 30], "node_count": [1, 2]})
    workload, platform = hs.Workload.from_polars(frame), hs.Platform.homogeneous(2, 100, 300)
    policies = ("fcfs", "paa")
    wanted = [hs.simulate(workload, platform, policy) for policy in policies]
    run = joblib.delayed(hs.simulate)
    assert joblib.Parallel(n_jobs=2)(run(workload, platform, policy) for policy in policies) == wanted
    print("equal")
"""


@pytest.mark.slow
def test_joblib_runs_them_side_by_side(tmp_path):
    """In a process of its own: joblib's workers outlive the call, as children of whoever made it."""
    pytest.importorskip("joblib")
    (tmp_path / "side_by_side.py").write_text(_BY_JOBLIB)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "side_by_side.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(hs.__file__).parents[1])},
        timeout=600,
        check=False,
    )
    assert done.stdout == "equal\n", done.stderr


_CHILDREN = """
import multiprocessing, sys
import hetsched as hs
import polars as pl

def frame():
    return pl.DataFrame({"job_id": [1], "submit_s": [0], "runtime_s": [1], "node_count": [1]})

def energy(workload):
    workload = hs.Workload.from_polars(frame()) if workload is None else workload
    return hs.simulate(workload, hs.Platform.homogeneous(1, 10, 20)).summary()["energy_j"]

def table(path):
    return hs.read_table(path).nodes

WORK = {
    "run": lambda: energy(made),
    "make": lambda: energy(None),
    "table": lambda: hs.read_table("a.csv").nodes,
    "log": lambda: len(hs.read_csv(b"job_id,submit_s,runtime_s,node_count\\n1,0,1,1\\n")),
    "result": lambda: hs.read_result("out").summary()["energy_j"],
    "frames": lambda: len(done.jobs),
}

def told(what):
    try:
        return WORK[what]()
    except hs.SimulationError as error:
        return str(error)

if __name__ == "__main__":
    way, parent, *whats = sys.argv[1:]
    made = hs.Workload.from_polars(frame()) if parent == "made" else None
    done = hs.simulate(made, hs.Platform.homogeneous(1, 10, 20)) if "frames" in whats else None
    with multiprocessing.get_context(way).Pool(1) as pool:
        works = [pool.apply_async(told, (what,)) for what in whats] or [pool.apply_async(energy, (made,))]
        for work in works:
            print(work.get(timeout=300))
"""


def children_say(tmp_path, *arguments):
    script = tmp_path / "own.py"
    script.write_text(_CHILDREN)
    (tmp_path / "a.csv").write_text("app,node,power_w\na,0,200\n")
    hs.simulate(*inputs()).write(tmp_path / "out")
    command = [sys.executable, "-W", "ignore", str(script), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True, timeout=600)
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="threads are looked up in /proc")
def test_a_forked_process_without_polars_threads_says_so(tmp_path):
    whats = ("run", "make", "table", "log", "result", "frames")
    said = children_say(tmp_path, "fork", "made", *whats)
    expected = (
        "this process was forked from one in which polars had been at work, and has lost its threads: start processes "
        'by multiprocessing.get_context("spawn") or "forkserver", or run hetsched.sweep'
    )
    assert said == [expected] * len(whats)


@pytest.mark.skipif(sys.platform != "linux", reason="threads are looked up in /proc")
def test_a_process_that_was_forked_before_polars_worked_works(tmp_path):
    assert children_say(tmp_path, "fork", "idle", "make", "log") == ["20.0", "1"]


@pytest.mark.parametrize("way", ["spawn", "forkserver"])
def test_a_process_of_its_own_works(tmp_path, way):
    assert children_say(tmp_path, way, "made") == ["20.0"]

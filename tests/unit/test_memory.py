"""A run that cannot fit into memory is refused before it begins; one that fits twice over never is."""

import gzip
import os
import re
import resource
import subprocess
import sys
import warnings

import polars as pl
import pytest

import hetsched as hs
from hetsched import resources as left
from hetsched.run import memory
from hetsched.run.memory import need_of

PREPARE = """
import resource, sys, warnings
import numpy as np, polars as pl
import hetsched as hs
from hetsched.run.memory import need_of

warnings.simplefilter("ignore")

def sizes():
    lines = (line.split() for line in open("/proc/self/status") if line.startswith("Vm"))
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines}

def inputs(nodes, jobs, size, apps=0):
    frame = pl.DataFrame({"job_id": np.arange(jobs), "submit_s": np.arange(jobs) * 1.0})
    frame = frame.with_columns(runtime_s=pl.lit(0.5), node_count=pl.lit(size, pl.Int32), app=pl.lit("0"))
    workload = hs.Workload.from_polars(frame)
    table = hs.VariationTable([str(app) for app in range(apps)], power_w=np.ones((apps, nodes))) if apps else None
    return workload, hs.Platform.homogeneous(nodes, 1, 2, actual=table)

def frames_of(result):
    return result.jobs, result.timeline, result.nodes, result.summary()

def limit(total_b):
    resource.setrlimit(resource.RLIMIT_AS, (total_b, total_b))

# What the first run of a process takes once and for all.
frames_of(hs.simulate(*inputs(4, 9, 2)))
"""


FEW_THREADS = {**os.environ, "POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
"""Each thread reserves address space: the same on any number of cores."""


def python(code):
    command = [sys.executable, "-c", PREPARE + code]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=FEW_THREADS)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def at_length_only(*values):
    """A case that takes a process of a second, and is much like another one."""
    return pytest.param(*values, marks=pytest.mark.at_length_only)


REFUSED = [
    # nodes, jobs, nodes of a job, limit in GiB
    (10_000_000, 1, 1, 4, r"the run needs about 4\.0 GiB of memory, 4\.0 GiB of it for 10,000,000 nodes; "),
    at_length_only(5_000_000, 1, 1, 2, r"the run needs about 2\.0 GiB of memory, 2\.0 GiB of it for 5,000,000 nodes; "),
    (
        50_000,
        20_000,
        50_000,
        3,
        r"needs about 3\.7 GiB of memory, 3\.7 GiB of it for the 1,000,000,000 nodes of 20,000 ",
    ),
]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("nodes", "jobs", "size", "gib", "message"), REFUSED)
def test_what_is_more_than_the_process_may_have_is_refused_before_the_run(nodes, jobs, size, gib, message):
    said = python(f"""
workload, platform = inputs({nodes}, {jobs}, {size})
limit({gib} * 2**30)
try:
    hs.simulate(workload, platform)
except hs.SimulationError as error:
    print(error, sizes()["VmSize"] < 2**31)
""")
    assert pl.Series([said]).str.contains(message).item(), said
    assert said.endswith("GiB are available True\n")


# Nodes, jobs, nodes of a job, applications of a table.
SHAPES = {
    "nodes": (200_000, 1, 1, 0),
    "jobs": (8, 500_000, 9, 0),
    "lists": (20_000, 1_000, 20_000, 0),
    "cells": (100_000, 1, 1, 20),
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("shape", "is_held"), [*((shape, False) for shape in SHAPES), ("nodes", True), ("cells", True)]
)
def test_the_estimate_is_between_half_and_all_of_a_run(shape, is_held):
    arguments = ", ".join(map(str, SHAPES[shape]))
    need_b, taken_b = map(int, python(f"""
workload, platform = inputs({arguments})
if {is_held}:
    platform._machine
need = need_of(workload, platform, hs.Policy(), until_s=None).total_b
before = sizes()["VmRSS"]
# The peak so far is forgotten.
open("/proc/self/clear_refs", "w").write("5")
frames_of(hs.simulate(workload, platform))
print(need, sizes()["VmHWM"] - before)
""").split())  # fmt: skip
    assert need_b > 50e6
    assert taken_b / 2 < need_b < 1.05 * taken_b


RESERVED_B = 2**29
"""Address space that allocators reserve for a thread each, and that the limit counts though it is never used."""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("shape", ["nodes", at_length_only("jobs"), "lists", at_length_only("cells")])
def test_a_run_that_fits_twice_over_is_not_refused(shape):
    arguments = ", ".join(map(str, SHAPES[shape]))
    assert python(f"""
workload, platform = inputs({arguments})
need = need_of(workload, platform, hs.Policy(), until_s=None).total_b
limit(sizes()["VmSize"] + 2 * need + {RESERVED_B})
frames_of(hs.simulate(workload, platform))
print("done")
""") == "done\n"  # fmt: skip


# File, bytes of memory left, message; all files are 128 MiB of line ends.
TOO_MUCH = [
    ("a.csv.gz", 2**26, r"bytes of packed data that hold at least \d+ bytes, expected text that memory can hold"),
    (
        "a.csv.gz",
        2**29,
        r"found 134,217,729 lines, more than memory can hold, expected lines with a value in each field",
    ),
    at_length_only(
        "a.swf.gz", 2**26, r"bytes of packed data that hold at least \d+ bytes, expected text that memory can hold"
    ),
    ("a.swf.gz", 2**28, r"found at least \d+ lines, more than memory can hold"),
]


@pytest.mark.skipif(sys.platform != "linux", reason="limits the process's memory")
@pytest.mark.parametrize(("name", "left_b", "message"), TOO_MUCH)
def test_small_files_of_more_text_than_memory_are_refused_in_a_sentence(tmp_path, name, left_b, message):
    part = gzip.compress(b"\n" * 2**24, compresslevel=1)
    header = gzip.compress(b"job_id,submit_s,runtime_s,node_count\n") if name.startswith("a.csv") else b""
    (tmp_path / name).write_bytes(header + 8 * part)
    said = python(f"""
read = hs.read_csv if {name!r}.endswith(".csv.gz") else hs.read_swf
limit(sizes()["VmSize"] + {left_b})
try:
    read({str(tmp_path / name)!r})
except hs.TraceError as error:
    print(error)
""")
    assert re.search(message, said), said


@pytest.mark.skipif(sys.platform != "linux", reason="limits the process's memory")
def test_the_command_says_so_in_a_line_and_ends_with_one(tmp_path):
    log = tmp_path / "small.swf"
    log.write_text("; MaxProcs: 30000000\n1 0 5 60 4 -1 -1 4 100 -1 1 3 2 7 2 1 -1 -1\n")

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))

    command = [sys.executable, "-m", "hetsched", "simulate", str(log)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=FEW_THREADS, preexec_fn=limited)
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert last.startswith("error: the run needs about 12.0 GiB of memory, 12.0 GiB of it for 30,000,000 nodes; ")


def workload_of(**columns):
    frame = {"job_id": [1, 2], "submit_s": [0, 9], "runtime_s": [5, 5], "node_count": [3, 9], **columns}
    return hs.Workload.from_polars(pl.DataFrame(frame))


def test_who_can_never_run_or_may_not_start_holds_no_nodes():
    platform = hs.Platform.homogeneous(nodes=8, idle_w=100, tdp_w=300, slots=2)

    def held(workload, policy="easy", until_s=None):
        parts = need_of(workload, platform, hs.Policy.preset(policy), until_s=until_s).parts
        return {name: size_b for name, size_b in parts.items() if name.startswith("the ")}

    assert held(workload_of()) == {"the 3 nodes of 2 jobs": 12}
    assert held(workload_of(slots=[2, None])) == {"the 3 nodes of 2 jobs": 12}
    assert held(workload_of(slots=[3, None])) == {"the 0 nodes of 2 jobs": 0}
    assert held(workload_of(), until_s=5.0) == held(workload_of(), "vahrm") == {}


def test_a_sweep_names_the_pair_that_is_too_large(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 100_000_000)
    machines = {"small": hs.Platform.homogeneous(9, 1, 2), "large": hs.Platform.homogeneous(2_000_000, 1, 2)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(
            hs.SimulationError, match=r"^workload `workload`, platform `large`: the run needs about 0\.80 "
        ):
            hs.sweep(workload_of(), machines, "easy", workers=1)


@pytest.mark.parametrize(("gb", "workers"), [(None, 8), (100, 8), (12, 2), (1, 1)])
def test_a_sweep_takes_no_more_workers_than_machines_fit_into_memory(monkeypatch, gb, workers):
    monkeypatch.setattr(memory, "system_bytes", lambda: None if gb is None else gb * 10**9)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
    machines = [hs.Platform.homogeneous(9, 1, 2), hs.Platform.homogeneous(10_000_000, 1, 2)]
    assert memory.most_at_once([workload_of()], machines, in_processes=True) == workers


def test_where_the_system_says_nothing_of_its_memory_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(left, "system_bytes", lambda: None)
    monkeypatch.setattr(left, "_of_process", lambda: None)
    memory.check_memory(workload_of(), hs.Platform.homogeneous(2**31 - 1, 1, 2), hs.Policy(), until_s=None)


MATCH = """
n = 20_000
frame = pl.DataFrame({"job_id": np.arange(n), "submit_s": np.zeros(n), "runtime_s": np.arange(n) + 1.5})
workload = hs.Workload.from_polars(frame.with_columns(node_count=pl.lit(1, pl.Int32), app=pl.lit("a")))
table = hs.VariationTable(["a"], power_w=[np.linspace(100, 200, n)])
platform = hs.Platform.homogeneous(n, 1, 300, actual=table)
limit(2 * 2**30)
try:
    hs.simulate(workload, platform, "coa")
except hs.SimulationError as error:
    print(error)
"""


def test_a_matching_too_large_for_memory_ends_the_run_alone():
    command = [sys.executable, "-c", PREPARE + MATCH]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=FEW_THREADS)
    assert done.stdout == (
        "placement assignment: not enough memory to match 20000 kinds of jobs that start together to 20000 free nodes, "
        "3.2 GB\n"
    ), done.stderr

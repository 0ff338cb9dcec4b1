"""Calls that a reader traces first pass through few files: what a run does not use is neither called nor imported."""

import inspect
import os
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

import hetsched as hs
from hetsched.features import feature

FOLDER = str(Path(hs.__file__).parent)
JOBS = pl.DataFrame({"job_id": [1, 2, 3], "submit_s": [0, 10, 900], "runtime_s": [60, 30, 30], "node_count": [1, 2, 1]})


def files_of(call):
    """Files of hetsched's whose functions a call passes through, when it is made a second time."""
    call()
    found = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(FOLDER):
            found.add(os.path.relpath(frame.f_code.co_filename, FOLDER))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


@pytest.mark.parametrize(
    ("most", "call"),
    [
        (16, lambda log, machine: hs.simulate(log, machine, "easy")),
        (26, lambda log, machine: hs.sweep(log, machine, ["fcfs", "easy"], workers=1, progress=None)),
        (31, lambda log, machine: hs.compare(log, machine, ["fcfs", "easy"], progress=None)),
    ],
    ids=["simulate", "sweep", "compare"],
)
def test_a_warm_call_passes_through_few_files(most, call):
    log, machine = hs.Workload.from_polars(JOBS), hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300)
    passed = files_of(lambda: call(log, machine))
    assert len(passed) <= most, sorted(passed)


def test_features_that_are_not_in_play_are_not_imported():
    program = f"""
import sys, polars as pl, hetsched as hs
jobs = pl.DataFrame({JOBS.to_dict(as_series=False)})
hs.simulate(hs.Workload.from_polars(jobs), hs.Platform.homogeneous(nodes=2, idle_w=100, tdp_w=300))
print(*(name for name in sys.modules if name.startswith("hetsched.features.")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert not {"queues", "sleep", "replay", "labels", "eligibility"} & {
        name.rpartition(".")[2] for name in done.stdout.split()
    }


PARAMETERS = {
    "check": ["run"],
    "check_log": ["run"],
    "settle": ["run"],
    "engine": ["run"],
    "drive": ["run", "session"],
    "before": ["run"],
    "after": ["ended"],
}


@pytest.mark.parametrize("name", feature._IN_PLAY)
def test_every_feature_has_functions_that_a_run_asks(name):
    module = import_module(f"hetsched.features.{name}")
    found = {
        hook: list(inspect.signature(getattr(module, hook)).parameters) for hook in PARAMETERS if hasattr(module, hook)
    }
    assert found
    assert found == {hook: PARAMETERS[hook] for hook in found}

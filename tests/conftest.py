"""What is made once for all tests, on however many workers they run."""

import dataclasses
import fcntl
import os
import pickle
import signal

import polars as pl
import pytest
from hypothesis import HealthCheck, settings

from hetsched.experiments import reproduce

# `make test` tries the same examples every time, `make fuzz` others each time: `--hypothesis-profile=long`.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("gate", max_examples=30, derandomize=True, database=None, **_PATIENT)
settings.register_profile("long", max_examples=1_000, derandomize=False, print_blob=True, **_PATIENT)
settings.load_profile("gate")

# The policy that runs beside the paper's in every quick report, and the one experiment that runs no policies.
BESIDE = "sjf:placement=lowest-power"
WITHOUT_POLICIES = "tsmva"


@pytest.fixture
def ctrl_c():
    """Ctrl-C is heeded here and in what is started from here, also where it is ignored, as under ``nohup``."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """Calls a function for its value once in a whole run of the tests, not once in every worker."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    found = {}

    def value(name, make):
        if name not in found:
            path = folder / f"{name}.pickle"
            with (folder / f"{name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not path.exists():
                    path.write_bytes(pickle.dumps(make()))
            found[name] = pickle.loads(path.read_bytes())
        return found[name]

    return value


@pytest.fixture(scope="session")
def quick_report(once):
    """``quick_report(name)`` is what ``reproduce(name, quick=True)`` returns; no other test has it run again.

    With ``beside=True`` it holds what is said of the policy `BESIDE`, too (of `WITHOUT_POLICIES` nothing is).
    """

    def report(name, *, beside=False):
        policies = [] if name == WITHOUT_POLICIES else [BESIDE]
        whole = once(f"quick-{name}", lambda: reproduce(name, quick=True, policies=policies))
        return whole if beside or not policies else _without_beside(whole)

    return report


def _without_beside(report):
    label = f"yours: {BESIDE}"
    return dataclasses.replace(
        report,
        rows=[row for row in report.rows if not row.quantity.startswith(f"{label}: ")],
        parameters=[one for one in report.parameters if one.name != "your_policies"],
        runs=report.runs.filter(pl.col("policy") != label),
        savings=report.savings.filter(pl.col("label") != label),
    )

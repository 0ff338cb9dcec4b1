"""Names of the package load when they are first used, and only names that are there."""

import subprocess
import sys
from pathlib import Path

import pytest

import hetsched as hs


@pytest.mark.parametrize(
    "expression",
    [
        "hs.workload.poisson",
        "hs.platform.Normal",
        "hs.analysis.compare",
        "hs.sweeps.run_one",
        "hs.experiments.reproduce",
    ],
)
def test_a_package_is_there_after_importing_hetsched_alone(expression):
    code = f"import sys; sys.path.insert(0, sys.argv[1]); import hetsched as hs; print({expression}.__name__)"
    found = subprocess.run(
        [sys.executable, "-c", code, str(Path(hs.__file__).parents[1])], capture_output=True, check=True, text=True
    )
    assert found.stdout.strip() == expression.rpartition(".")[2]


def test_the_function_sweep_is_not_hidden_by_a_package():
    assert callable(hs.sweep)
    assert hs.sweeps.sweep is hs.sweep


def test_what_is_not_there_is_said():
    with pytest.raises(AttributeError, match="module 'hetsched' has no attribute 'smulate'"):
        _ = hs.smulate


def test_every_public_name_loads():
    assert all(getattr(hs, name) is not None for name in hs.__all__)


def test_completion_lists_names_and_packages():
    listed = dir(hs)
    assert listed == sorted(listed)
    assert {*hs.__all__, "power", "workload", "testing"} <= set(listed)
    assert all(getattr(hs, name) is not None for name in listed)

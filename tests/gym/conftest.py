"""A machine and its jobs, and the helpers of these tests; all are left out where gymnasium is not installed."""

import importlib.util
import sys
from pathlib import Path

import pytest

import hetsched as hs
from hetsched.workload.generators import poisson

sys.path.insert(0, str(Path(__file__).parent))

if importlib.util.find_spec("gymnasium") is None:
    collect_ignore_glob = ["test_gym_*.py"]


@pytest.fixture(scope="session")
def platform():
    return hs.Platform.homogeneous(nodes=64, idle_w=100, tdp_w=300)


@pytest.fixture(scope="session")
def workload():
    return poisson(nodes=64, jobs=600, load=0.95, sizes="1:4,4:3,16:2,48:1", walltime_factor=2.0, seed=1)

"""A real Slurm for the tests of this folder: a throwaway one that somebody has started, named by SLURM_CONF.

They submit and cancel jobs of the user who runs them, drain a node and resume it: never on a machine that others use.
"""

import os
import shutil
import subprocess
import time

import pytest

COMMANDS = ("sbatch", "scancel", "scontrol", "sinfo", "squeue")


def missing():
    """The reason why there is nothing to test with, or None."""
    if "HETSCHED_TEST_SLURM" not in os.environ:
        return "left out but by `make test-slurm`: it submits jobs"
    absent = [name for name in COMMANDS if shutil.which(name) is None]
    if absent:
        return f"no {', '.join(absent)} in PATH: a Slurm of release 22.05 or newer has them"
    if "SLURM_CONF" not in os.environ:
        return (
            "SLURM_CONF is not set: the slurm.conf of a throwaway cluster with at least four idle nodes in a partition"
        )
    ping = subprocess.run(["scontrol", "ping"], capture_output=True, text=True, timeout=30, check=False)
    return None if ping.returncode == 0 else f"the cluster of SLURM_CONF does not answer: {ping.stdout.strip()}"


class Cluster:
    """The commands of the cluster; everything that a test has submitted is cancelled after it."""

    def __init__(self):
        self.partition = os.environ.get("HETSCHED_TEST_PARTITION", "batch")
        self.jobs = []

    def call(self, *words):
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.strip()

    def submit(self, *words, seconds=60, command=None):
        own = ["-o", "/dev/null", "-p", self.partition, "-D", "/tmp"]
        self.jobs.append(self.call("sbatch", "--parsable", *own, *words, "--wrap", command or f"sleep {seconds}"))
        return self.jobs[-1]

    def states(self):
        rows = self.call("squeue", "-h", "-r", "-o", "%i %T %N").splitlines()
        return {row.split()[0]: row.split()[1:] for row in rows}

    def until(self, test, limit_s=30.0):
        """Wait until `test` is true of the states of jobs."""
        end = time.monotonic() + limit_s
        while not test(self.states()):
            assert time.monotonic() < end, self.states()
            time.sleep(0.1)

    def clear(self):
        if self.jobs:
            self.call("scancel", *self.jobs)
        self.until(lambda states: not set(self.jobs) & {name.split("_")[0] for name in states}, 60.0)


@pytest.fixture
def cluster():
    if reason := missing():
        pytest.skip(reason)
    made = Cluster()
    yield made
    made.clear()

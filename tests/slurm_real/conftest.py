"""A real Slurm for the tests of this folder: a throwaway one that somebody has started, named by SLURM_CONF.

They submit and cancel jobs of the user who runs them, drain a node and resume it: never on a machine that others use.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# Other modules of this folder are found by name, however pytest imports the tests themselves.
sys.path.insert(0, str(Path(__file__).parent))

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


class Forks:
    """Bridges on one folder, forked from a process that has loaded everything."""

    def __init__(self, cluster, folder, machine):
        self.cluster, self.folder, self.machine = cluster, folder, machine
        self.log = folder.parent / f"{folder.name}.out"
        self._forker = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "bridges.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._pids = []

    def start(self, *more, fault=""):
        """Start a bridge; gives its pid."""
        words = ["slurm", "run", "--partition", self.cluster.partition, "--platform", self.machine, "--act"]
        words += ["--journal", self.folder, "--lease-s", "30", "--beat-s", "0.3", *more]
        given = {"words": [str(word) for word in words], "fault": fault, "log": str(self.log)}
        self._forker.stdin.write(json.dumps(given) + "\n")
        self._forker.stdin.flush()
        self._pids.append(int(self._forker.stdout.readline()))
        return self._pids[-1]

    def is_alive(self, pid):
        """True while a bridge runs; one that is killed is gone at once, as nobody waits for it."""
        return Path(f"/proc/{pid}").exists()

    def until_dead(self, pid, limit_s=90.0):
        end = time.monotonic() + limit_s
        while self.is_alive(pid):
            assert time.monotonic() < end, self.log.read_text()[-2000:]
            time.sleep(0.02)

    def kill(self, pid):
        if self.is_alive(pid):
            os.kill(pid, signal.SIGKILL)
        self.until_dead(pid)

    def errors(self):
        """Lines of the log about errors."""
        path = self.folder / "log.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [line for line in lines if line["event"] == "error"]

    def close(self):
        for pid in self._pids:
            self.kill(pid)
        self._forker.communicate()


def hetsched(*words):
    return subprocess.run(
        [sys.executable, "-m", "hetsched", *map(str, words)], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def machine(cluster, tmp_path):
    """The platform's file of the partition, if the cluster is ready for a bridge."""
    found = hetsched("slurm", "doctor", "--partition", cluster.partition)
    if found.returncode != 0:
        pytest.skip(f"the cluster is not ready: {found.stdout}")
    path = tmp_path / "p.toml"
    assert hetsched("slurm", "platform", "--partition", cluster.partition, "--out", path).returncode == 0
    return path


@pytest.fixture
def forks(cluster, machine, tmp_path):
    """Bridges that are killed at the end, after which the cluster is Slurm's alone."""
    hetsched("slurm", "leave", "--partition", cluster.partition)
    tmp_path.chmod(0o755)
    made = Forks(cluster, tmp_path / "j", machine)
    yield made
    made.close()
    hetsched("slurm", "leave", "--partition", cluster.partition)

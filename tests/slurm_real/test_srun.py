"""The executor in an allocation of a real Slurm: steps by srun on the nodes that were decided, none of them left."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

import hetsched as hs


@pytest.fixture
def allocation(cluster, tmp_path):
    """Runs words inside an allocation of four nodes."""
    tmp_path.chmod(0o755)

    def start(*words):
        own = [
            "salloc",
            "-Q",
            "-N4",
            "-t5",
            "-p",
            cluster.partition,
            sys.executable,
            "-m",
            "hetsched",
            *map(str, words),
        ]
        log = (tmp_path / "log").open("ab")
        with log:
            return subprocess.Popen(own, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True)

    if cluster.call("sinfo", "-h", "-p", cluster.partition, "-t", "idle", "-o", "%D") < "4":
        pytest.skip("fewer than four idle nodes")
    return start


def jobs_file(tmp_path):
    """Steps that write down where they ran, one that fails, and one that is too long."""
    mark = f"echo $HETSCHED_JOB_ID $HETSCHED_NODE_NAMES $SLURMD_NODENAME >> {tmp_path}/ran"
    path = tmp_path / "jobs.toml"
    path.write_text(
        f"""
[[job]]
command = ["sh", "-c", "{mark}; sleep 0.5"]
node_count = 2
walltime_s = 60
repeat = 4
[[job]]
command = ["sh", "-c", "exit 7"]
walltime_s = 60
[[job]]
command = ["sleep", "300"]
walltime_s = 2
"""
    )
    return path


def test_commands_run_as_steps_on_the_nodes_decided(cluster, allocation, tmp_path):
    words = ("run", jobs_file(tmp_path), "--launcher", "srun", "--out", tmp_path / "out", "--power", "none")
    run = allocation(*words, "--submit-at-once", "--grace-s", "1")
    assert run.wait(240) == 0, (tmp_path / "log").read_text()
    result = hs.read_result(tmp_path / "out").jobs.sort("job_id")
    assert result["state"].to_list() == [*["completed"] * 4, "failed", "timeout"]
    assert result["exit_code"].to_list()[4] == 7
    lines = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert Counter(int(job) for job, *_ in lines) == {1: 2, 2: 2, 3: 2, 4: 2}
    assert all(node in names.split(",") for _, names, node in lines)
    assert all(len({node for job, _, node in lines if int(job) == one}) == 2 for one in range(1, 5))
    hs.read_journal(tmp_path / "out").replay()


def test_an_executor_that_is_killed_goes_on_in_its_allocation(cluster, allocation, tmp_path):
    out = tmp_path / "out"
    words = ["run", jobs_file(tmp_path), "--launcher", "srun", "--out", out, "--power", "none", "--submit-at-once"]
    script = tmp_path / "twice.sh"
    command = " ".join(map(str, (sys.executable, "-m", "hetsched")))
    script.write_text(
        f"{command} {' '.join(map(str, words))} & echo $! > {tmp_path}/pid\nwait\n{command} run --resume {out}\n"
    )
    own = ["salloc", "-Q", "-N4", "-t5", "-p", cluster.partition, "sh", str(script)]
    with (tmp_path / "log").open("ab") as log:
        run = subprocess.Popen(own, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True)
    end = time.monotonic() + 120
    while not (tmp_path / "ran").exists():
        assert time.monotonic() < end, (tmp_path / "log").read_text()
        time.sleep(0.05)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert run.wait(240) == 0, (tmp_path / "log").read_text()
    jobs = hs.read_result(out).jobs.sort("job_id")
    assert jobs["state"].to_list() == [*["completed"] * 4, "failed", "timeout"]
    lines = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert Counter(int(job) for job, *_ in lines) == {1: 2, 2: 2, 3: 2, 4: 2}
    cluster.until(lambda _: not cluster.call("squeue", "-h", "-s", "-o", "%i"))

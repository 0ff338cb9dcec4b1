"""A dry run on a real Slurm: what it reads and says, and that it changes nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import hetsched as hs
from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.readings import Reader
from hetsched.slurm_bridge.standing import JobKey, Site, Standing, standing_of


def hetsched(*words):
    done = subprocess.run(
        [sys.executable, "-m", "hetsched", *words], capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def nodes(cluster):
    found = cluster.call("sinfo", "-h", "-N", "-p", cluster.partition, "-t", "idle", "-o", "%N").split()
    if len(found) < 4:
        pytest.skip(f"{len(found)} idle nodes in partition {cluster.partition}, expected at least 4")
    return found


def test_hostile_names_and_states(cluster, nodes):
    evil = cluster.submit("-H", "-J", "a|\n\x1f 99 $(touch x) %s", "--comment", "x\n" * 500)
    array = cluster.submit("-N1", "--array=1-2", "--begin=now+1hour")
    jobs = {job.key.id: job for job in Reader(Slurm(), cluster.partition).read().jobs}
    site = Site(cluster.partition, needs_gate=False)
    for name in (evil, f"{array}_1", f"{array}_2"):
        assert standing_of(jobs[name], site) is Standing.WAITING, jobs[name]


def test_ends_are_known(cluster, nodes):
    job = cluster.submit("-N1", seconds=0)
    cluster.until(lambda states: job not in states)
    assert Reader(Slurm(), cluster.partition).ends([_key(job)]) == {job: "COMPLETED"}
    assert Reader(Slurm(), cluster.partition).ends([_key("99999999")]) == {}


def _key(job):
    return JobKey(0, job, 0)


def test_a_dry_run_decides_and_changes_nothing(cluster, nodes, tmp_path):
    running = cluster.submit(f"-N{len(nodes) - 1}", "-t5")
    cluster.until(lambda states: states.get(running, [""])[0] == "RUNNING")
    waiting = cluster.submit("-N2", "-t5")
    small = cluster.submit("-N1", "-t1", "-H")
    machine = str(tmp_path / "p.toml")
    code, _, err = hetsched("slurm", "platform", "--partition", cluster.partition, "--out", machine)
    assert code == 0, err
    show = (
        "squeue",
        "-h",
        "-j",
        waiting,
        "-O",
        "PriorityLong,Nice,Licenses,Prefer,ReqNodes,Feature,Partition,TimeLimit",
    )
    before = cluster.call(*show), cluster.call("scontrol", "show", "reservations")
    watch = str(tmp_path / "j")
    words = ("--partition", cluster.partition, "--platform", machine, "--journal", watch)
    run = subprocess.Popen(
        [sys.executable, "-m", "hetsched", "slurm", "run", *words, "--beats", "12", "--beat-s", "0.5"],
        stdout=subprocess.PIPE,
        text=True,
    )
    cluster.until(lambda _: (Path(watch) / "log.jsonl").exists())
    assert (cluster.call(*show), cluster.call("scontrol", "show", "reservations")) == before
    cluster.call("scontrol", "release", small)
    cluster.until(lambda states: states.get(small, [""])[0] == "RUNNING")
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    assert out.splitlines()[0].startswith("found 1 job running and 1 waiting")
    assert f"would release {small} on " in out or f"Slurm started {small} on " in out
    assert f"Slurm started {waiting}" not in out
    assert hs.read_journal(Path(watch) / "run-0001").replay() is not None
    lines = [json.loads(line) for line in (Path(watch) / "log.jsonl").read_text().splitlines()]
    assert [line for line in lines if line["event"] == "error"] == []

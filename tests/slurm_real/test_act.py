"""A bridge that acts on a real Slurm: the gate, releases, the lease, and bridges that are killed."""

import json
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.gate import gate_end_s
from hetsched.slurm_bridge.leave import leave, sweep
from hetsched.slurm_bridge.standing import BAND

LEASE_S = 30
GATED = ("-L", "hetsched:1")


@pytest.fixture
def bridge(cluster, tmp_path):
    """Starts bridges; at the end nothing of them is left."""
    doctor = [sys.executable, "-m", "hetsched", "slurm", "doctor", "--partition", cluster.partition]
    found = subprocess.run(doctor, capture_output=True, text=True, timeout=60, check=False)
    if found.returncode != 0:
        pytest.skip(f"the cluster is not ready: {found.stdout}")
    machine = str(tmp_path / "p.toml")
    words = ["--partition", cluster.partition, "--out", machine]
    subprocess.run([sys.executable, "-m", "hetsched", "slurm", "platform", *words], check=True, timeout=60)
    started = []

    def start(*more, wait=True):
        words = ["--partition", cluster.partition, "--platform", machine, "--journal", str(tmp_path / "j")]
        words += ["--act", "--lease-s", str(LEASE_S), "--beat-s", "0.5", *more]
        started.append(subprocess.Popen([sys.executable, "-m", "hetsched", "slurm", "run", *words]))
        if wait:
            cluster.until(lambda _: gate_end_s(Slurm()) is not None)
        return started[-1]

    start.folder = tmp_path / "j"
    leave(Slurm(), cluster.partition)
    yield start
    for one in started:
        one.kill()
        one.wait()
    leave(Slurm(), cluster.partition)


def lines(bridge, event):
    path = Path(bridge.folder) / "log.jsonl"
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line for line in found if line["event"] == event]


def test_jobs_start_as_decided(cluster, bridge):
    bridge("--policy", "easy:placement=random", "--seed", "3")
    jobs = [cluster.submit(f"-N{1 + number % 3}", "-t1", *GATED, seconds=1) for number in range(6)]
    cluster.until(lambda states: not set(jobs) & set(states), 90)
    time.sleep(1)
    starts = {line["job"]: line for line in lines(bridge, "start")}
    assert set(starts) >= set(jobs)
    assert all(starts[job]["decided"] == starts[job]["nodes"] for job in jobs), starts
    assert len(lines(bridge, "call")) <= 1.3 * len(jobs)
    assert lines(bridge, "error") == []


def test_elements_of_an_array_are_jobs(cluster, bridge, tmp_path):
    tmp_path.chmod(0o755)
    count = tmp_path / "ran"
    bridge("--policy", "easy:placement=random")
    array = cluster.submit(
        "-N1", "-t1", "--array=1-110%4", *GATED, command=f"echo $SLURM_ARRAY_TASK_ID >> {count}; sleep 1.5"
    )
    cluster.until(lambda states: array not in {name.split("_")[0] for name in states}, 300)
    assert sorted(map(int, count.read_text().split())) == list(range(1, 111))
    # One that begins and ends between two readings is seen by none.
    starts = [line for line in lines(bridge, "start") if line["job"].startswith(f"{array}_")]
    assert len(starts) >= 50
    assert sum(line["decided"] == line["nodes"] for line in starts) >= 0.95 * len(starts)


def test_a_killed_bridge_holds_nobody_longer_than_its_lease(cluster, bridge, tmp_path):
    count = tmp_path / "ran"
    tmp_path.chmod(0o755)
    made = bridge()
    first = cluster.submit("-N4", "-t1", *GATED, seconds=3)
    cluster.until(lambda states: states.get(first, [""])[0] == "RUNNING")
    made.send_signal(signal.SIGKILL)
    made.wait()
    jobs = [cluster.submit("-N4", "-t1", *GATED, command=f"echo $SLURM_JOB_ID >> {count}") for _ in range(3)]
    began = time.monotonic()
    cluster.until(lambda states: not set(jobs) & set(states), LEASE_S + 40)
    assert time.monotonic() - began > 5, "the gate was there"
    assert sorted(count.read_text().split()) == sorted(jobs)
    # A reservation that has ended is shown for some seconds more.
    assert (gate_end_s(Slurm()) or 0) <= time.time()


def test_bridges_that_are_killed_lose_and_double_no_job(cluster, bridge, tmp_path):
    count = tmp_path / "ran"
    jobs = []
    for _ in range(3):
        made = bridge()
        jobs += [
            cluster.submit("-N2", "-t1", *GATED, command=f"echo $SLURM_JOB_ID >> {count}; sleep 1") for _ in range(4)
        ]
        time.sleep(3.3)
        made.send_signal(signal.SIGKILL)
        made.wait()
    bridge()
    cluster.until(lambda states: not set(jobs) & set(states), 120)
    assert sorted(count.read_text().split()) == sorted(jobs)


def test_a_second_bridge_goes_away_and_leaves_the_first_alone(cluster, bridge, tmp_path):
    first = bridge()
    other = bridge("--journal", str(tmp_path / "other"), wait=False)
    assert other.wait(LEASE_S + 30) != 0
    assert first.poll() is None
    job = cluster.submit("-N1", "-t1", *GATED, seconds=1)
    cluster.until(lambda states: job not in states)


def test_a_requeued_job_is_gated_again(cluster, bridge):
    bridge()
    job = cluster.submit("-N1", "-t5", *GATED)
    cluster.until(lambda states: states.get(job, [""])[0] == "RUNNING")
    cluster.call("scontrol", "requeue", job)
    cluster.until(lambda _: "hetsched" in cluster.call("squeue", "-h", "-j", job, "-O", "Licenses:40"))


def test_nodes_that_are_drained_and_jobs_that_are_cancelled_meanwhile(cluster, bridge):
    bridge()
    names = cluster.call("sinfo", "-h", "-N", "-p", cluster.partition, "-o", "%N").split()
    jobs = []
    try:
        for name in names[:3]:
            jobs += [cluster.submit("-N1", "-t1", *GATED, seconds=1) for _ in range(4)]
            cluster.call("scontrol", "update", f"NodeName={name}", "State=DRAIN", "Reason=a|b")
            cluster.call("scancel", jobs[-1])
            time.sleep(1.2)
            cluster.call("scontrol", "update", f"NodeName={name}", "State=RESUME")
        cluster.until(lambda states: not set(jobs) & set(states), 120)
    finally:
        for name in names[:3]:
            subprocess.run(["scontrol", "update", f"NodeName={name}", "State=RESUME"], check=False, timeout=30)
    assert lines(bridge, "error") == []


def test_named_nodes_and_what_a_dead_bridge_leaves_of_them(cluster, bridge, tmp_path):
    made = bridge("--placement", "named", "--policy", "easy:placement=random", "--seed", "2")
    names = cluster.call("sinfo", "-h", "-N", "-p", cluster.partition, "-o", "%N").split()
    jobs = [cluster.submit(f"-N{1 + number % 2}", "-t1", *GATED, seconds=2) for number in range(4)]
    own = cluster.submit("-N1", "-t1", *GATED, "-w", names[2], seconds=1)
    cluster.until(lambda states: not {*jobs, own} & set(states), 90)
    starts = {line["job"]: line for line in lines(bridge, "start")}
    assert all(starts[job]["decided"] == starts[job]["nodes"] for job in jobs), starts
    assert starts[own]["nodes"] == names[2]
    made.kill()
    made.wait()
    leave(Slurm(), cluster.partition)
    # As a bridge leaves a job that dies after its release, whose node is lost then.
    cluster.call("scontrol", "update", f"NodeName={names[0]}", "State=DRAIN", "Reason=t")
    try:
        lost = cluster.submit("-N1", "-t1", "-H", seconds=1)
        cluster.call("scontrol", "update", f"JobId={lost}", f"ReqNodeList={names[0]}")
        cluster.call("scontrol", "release", lost)
        cluster.call("scontrol", "update", f"JobId={lost}", f"Priority={BAND + 5}")
        time.sleep(3)
        assert cluster.states()[lost][0] == "PENDING"
        assert sweep(Slurm(), cluster.partition) == 1
        cluster.until(lambda states: lost not in states)
    finally:
        cluster.call("scontrol", "update", f"NodeName={names[0]}", "State=RESUME")


def test_a_cap_of_watts_holds_jobs_back_and_goes_with_the_bridge(cluster, bridge):
    if "watts" not in cluster.call("scontrol", "-o", "show", "licenses"):
        pytest.skip("no licence `watts`: Licenses=hetsched:1000000,watts:1000 in slurm.conf")
    total = int(cluster.call("scontrol", "-o", "show", "licenses", "watts").split("Total=")[1].split()[0])
    bridge("--cap-w", "300")
    cluster.until(lambda _: f"watts:{total - 300}" in cluster.call("scontrol", "-o", "show", "reservations"))
    jobs = [cluster.submit("-N1", "-t1", "-L", "hetsched:1,watts:200", seconds=2) for _ in range(3)]
    most = 0

    def are_over(states):
        nonlocal most
        most = max(most, sum(states.get(job, [""])[0] == "RUNNING" for job in jobs))
        return not set(jobs) & set(states)

    cluster.until(are_over, 90)
    assert most == 1
    assert leave(Slurm(), cluster.partition)[0]
    assert "watts" not in cluster.call("scontrol", "-o", "show", "reservations")


def test_the_way_out(cluster, bridge):
    made = bridge()
    first = cluster.submit("-N4", "-t1", *GATED, seconds=60)
    cluster.until(lambda states: states.get(first, [""])[0] == "RUNNING")
    gated = cluster.submit("-N1", "-t1", *GATED, "-L", "hetsched:1")
    held = cluster.submit("-N1", "-t1", "-H", *GATED)
    time.sleep(1.5)
    assert sweep(Slurm(), cluster.partition) is None
    made.kill()
    made.wait()
    released = cluster.submit("-N4", "-t1")
    cluster.call("scontrol", "update", f"JobId={released}", f"Priority={BAND + 9}", "Prefer=n1")
    had_gate, jobs = leave(Slurm(), cluster.partition)
    assert had_gate
    assert jobs >= 3
    show = "Licenses:30|,Prefer:20|,PriorityLong:20|,Reason:20"
    found = {job: cluster.call("squeue", "-h", "-j", job, "-O", show) for job in (gated, held, released)}
    found = {job: [value.strip() for value in text.split("|")] for job, text in found.items()}
    assert all(found[job][0] in ("", "(null)") and found[job][1] in ("", "(null)") for job in found), found
    assert int(found[released][2]) < BAND
    assert found[held][3] == "JobHeldUser"
    assert leave(Slurm(), cluster.partition) == (False, 0)
    assert sweep(Slurm(), cluster.partition) == 0


def test_nodes_sleep_and_wake_as_the_policy_decides(cluster, bridge, tmp_path):
    if "SuspendProgram          = (null)" in cluster.call("scontrol", "show", "config"):
        pytest.skip("no power saving: SuspendProgram, ResumeProgram and a long SuspendTime in slurm.conf")
    machine = tmp_path / "p.toml"
    watts = "off_w = 5\nboot_s = 5\nshutdown_s = 3\nboot_w = 100\nshutdown_w = 100\n"
    machine.write_text(machine.read_text().replace("idle_w", f"{watts}idle_w", 1))
    bridge("--min-awake", "1", "--policy", "easy:sleep=timeout:sleep.min_idle_s=2")

    def asleep():
        states = cluster.call("sinfo", "-h", "-N", "-p", cluster.partition, "-O", "StateComplete:.60").split()
        return sum("power" in state for state in states), len(states)

    first = cluster.submit("-N1", "-t1", *GATED, seconds=1)
    cluster.until(lambda states: first not in states)
    cluster.until(lambda _: asleep()[0] == asleep()[1] - 1, 120)
    time.sleep(4)
    assert asleep()[0] == asleep()[1] - 1, "one stays awake"
    jobs = [cluster.submit("-N2", "-t2", *GATED, seconds=1) for _ in range(3)]
    cluster.until(lambda states: not set(jobs) & set(states), 180)
    assert lines(bridge, "error") == []
    downs = [
        line["real"]
        for line in lines(bridge, "call")
        for words in line.get("nodes", [])
        if words[2] == "State=POWER_DOWN"
    ]
    assert all(later - one >= 0.9 for one, later in pairwise(downs))

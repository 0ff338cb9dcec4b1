"""Bridges as processes, on a cluster of three commands: killed at each point, and commands that do not serve."""

import json
import signal

import pytest
from fake_slurm import FakeSlurm

import hetsched as hs
from hetsched.live.points import BRIDGE_POINTS
from hetsched.slurm_bridge.log import read_log

LEASE_S = 120
"""Long, as a loaded machine may take its time between two bridges."""


@pytest.fixture
def fake(tmp_path):
    return FakeSlurm(tmp_path)


@pytest.fixture
def machine(tmp_path):
    """The platform's file."""
    path = tmp_path / "p.toml"
    path.write_text("nodes = 4\nidle_w = 100\ntdp_w = 300\nnode_names = 'n[1-4]'\nexclusive = true\n")
    return path


@pytest.fixture
def bridge(fake, machine, zygote, tmp_path):
    """Starts bridges on one folder, one after the other; at the end nothing of them is left.

    One that finds a gate which may be another bridge's waits for its renewal no longer than a second: `test_act` has
    the other bridge.
    """

    def start(*more, fault=""):
        words = fake.words(tmp_path / "j", machine, *more)
        zygote.command(tmp_path, *words, fault=fault, longest_sleep_s=1.0, PATH=str(fake.bin))
        return zygote

    yield start
    zygote.end()


def said(tmp_path):
    return (tmp_path / "executor.err").read_text()


@pytest.mark.parametrize("point", BRIDGE_POINTS)
def test_a_bridge_is_killed_at_each_point_and_no_job_is_lost_or_doubled(fake, bridge, tmp_path, point):
    if point != "gate.absent":
        assert bridge("--beats", "1").code() == 0
    fake.submit(1, 2, 3, 4, 5, count=2)
    assert bridge(fault=f"{point}:{tmp_path}/once").code() == -signal.SIGKILL, said(tmp_path)
    assert (tmp_path / "once").exists()
    # The gate still holds what was not let go.
    assert all(is_gated for *_, is_gated in fake.state["runs"]) == (point != "gate.absent")
    last = bridge()
    fake.until(fake.is_over)
    last.kill()
    assert sorted(job for job, *_ in fake.state["runs"]) == ["1", "2", "3", "4", "5"]
    for run in sorted((tmp_path / "j").glob("run-*")):
        hs.read_journal(run).replay()


@pytest.mark.parametrize("point", ["release.decided", "release.sent"])
def test_a_killed_bridge_leaves_slurm_alone_with_all_jobs_once_its_lease_is_over(fake, bridge, tmp_path, point):
    assert bridge("--beats", "1").code() == 0
    fake.submit(1, 2, 3, count=3)
    assert bridge(fault=point).code() == -signal.SIGKILL, said(tmp_path)
    assert not fake.is_over()
    held = [job["id"] for job in fake.state["jobs"] if "hetsched" in job["licences"]]
    assert len(held) >= 2
    fake.change(lambda state: state.update(ahead_s=LEASE_S + 1.0))
    fake.until(fake.is_over)
    assert sorted(job for job, *_ in fake.state["runs"]) == ["1", "2", "3"]


@pytest.mark.parametrize("name", ["squeue", "sinfo", "scontrol"])
def test_a_command_that_does_not_serve_stops_nothing_for_good(fake, bridge, tmp_path, name):
    made = bridge()
    # Until it has begun, a command that fails ends it.
    fake.until(lambda: fake.state["end"] is not None and fake.state["calls"].get("squeue", 0) >= 3)

    def errors():
        return [line for line in read_log(str(tmp_path / "j")) if line["event"] == "error"]

    for job, fault in enumerate(["rubbish", "refuses", "absent"], start=1):
        before = len(errors()) if (tmp_path / "j" / "log.jsonl").exists() else 0
        if fault == "absent":
            (fake.bin / name).unlink()
        else:
            fake.change(lambda state, fault=fault: state["faults"].update({name: fault}))
        fake.until(lambda before=before: (tmp_path / "j" / "log.jsonl").exists() and len(errors()) >= before + 2)
        assert made.is_running(), said(tmp_path)
        fake.submit(job)
        if fault == "absent":
            fake.write(name)
        fake.change(lambda state: state["faults"].clear())
        fake.until(fake.is_over)
    assert {line["where"] for line in errors()} == {"call" if name == "scontrol" else "reading"}
    assert [(job, is_gated) for job, *_, is_gated in fake.state["runs"]] == [("1", True), ("2", True), ("3", True)]


def test_a_command_that_hangs_lets_the_gate_lapse(fake, bridge, tmp_path):
    made = bridge()
    fake.until(lambda: fake.state["calls"].get("squeue", 0) > 1)
    fake.change(lambda state: state["faults"].update(squeue="hangs"))
    before = fake.state["calls"]["squeue"]
    fake.until(lambda: fake.state["calls"]["squeue"] > before)
    renewed = fake.state["calls"]["scontrol"]
    fake.submit(2, 3)
    # Without a reading nothing is decided, and the gate is not renewed: its end comes, and Slurm starts all jobs.
    assert fake.state["calls"]["scontrol"] == renewed
    fake.change(lambda state: state.update(ahead_s=LEASE_S + 1.0))
    fake.until(fake.is_over)
    assert made.is_running(), said(tmp_path)


def test_jobs_that_end_between_a_decision_and_its_order(fake, bridge, tmp_path):
    """The order is refused, which the next reading explains."""
    bridge()
    fake.until(lambda: fake.state["end"] is not None)

    def cancelled(state):
        for job in state["jobs"]:
            job["state"] = "CANCELLED"

    for job in range(1, 30):
        fake.submit(job)
        fake.change(cancelled)
    fake.submit(30)
    fake.until(fake.is_over)
    orders = [order for line in read_log(str(tmp_path / "j")) if line["event"] == "call" for order in line["orders"]]
    assert [order["job"] for order in orders if order["refused"] is None][-1] == "30"
    assert json.loads((fake.home / "state").read_text())["runs"][-1][0] == "30"

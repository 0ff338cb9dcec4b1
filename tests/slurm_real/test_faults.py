"""Other faults of a cluster and of jobs while a bridge is at work."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import hetsched as hs
from hetsched.live.processes import look
from hetsched.slurm_bridge.bridge import Bridge
from hetsched.slurm_bridge.calls import Slurm
from hetsched.slurm_bridge.gate import Gate, gate_end_s
from hetsched.slurm_bridge.hands import Hands
from hetsched.slurm_bridge.log import Log
from hetsched.slurm_bridge.machine import BridgeMachine
from hetsched.slurm_bridge.readings import Reader
from hetsched.slurm_bridge.run import BridgeClock
from hetsched.slurm_bridge.standing import Site

GATED = ("-L", "hetsched:1")


class Between(Hands):
    """Hands that are held up once: something happens between the decision and the order."""

    happens = None

    def _give(self, orders):
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        super()._give(orders)


@pytest.fixture
def between(cluster, machine, tmp_path):
    """A bridge in this process; `happens` is called between a decision and its order."""
    subprocess.run(["scontrol", "delete", "ReservationName=hetsched"], capture_output=True, timeout=60, check=False)
    said, slurm, site = [], Slurm(), Site(cluster.partition, needs_gate=True)
    nodes = BridgeMachine(hs.read_platform(machine))
    folder = str(tmp_path / "own")
    gate = Gate(slurm, total=1_000_000, lease_s=30, user="root", real=time.time, folder=folder)
    gate.take(time.sleep)
    hands = Between(slurm, gate, site, nodes.names, log=Log(folder, real=time.time), say=said.append)
    easy = hs.Policy.preset("easy")
    bridge = Bridge(
        site,
        nodes,
        easy,
        source=Reader(slurm, cluster.partition),
        folder=folder,
        clock=BridgeClock(),
        real=time.time,
        say=said.append,
        fallback=easy,
        hands=hands,
    )

    def beats_until(test, limit_s=90.0):
        end = time.monotonic() + limit_s
        while not test(cluster.states()):
            assert time.monotonic() < end, (cluster.states(), said)
            bridge.beat()
            time.sleep(0.2)

    beats_until.hands, beats_until.said = hands, said
    yield beats_until
    bridge.close()
    subprocess.run(["scontrol", "delete", "ReservationName=hetsched"], capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("kind", ["cancelled", "held", "started", "finished"])
def test_a_job_changes_between_a_decision_and_its_order(cluster, between, kind):
    first = cluster.submit("-N1", "-t1", *GATED, seconds=0.2 if kind == "finished" else 3)

    def happens():
        if kind == "cancelled":
            cluster.call("scancel", first)
        elif kind == "held":
            cluster.call("scontrol", "hold", first)
        else:
            cluster.call("scontrol", "update", f"JobId={first}", "Licenses=")
            wanted = {"RUNNING", "COMPLETED"} if kind == "started" else {"COMPLETED"}
            cluster.until(lambda states: (states.get(first) or ["COMPLETED"])[0] in wanted)

    between.hands.happens = happens
    other = cluster.submit("-N4", "-t1", *GATED, seconds=0.2)
    if kind == "held":
        between(lambda states: other not in states)
        assert cluster.states()[first][0] == "PENDING"
        cluster.call("scontrol", "release", first)
    between(lambda states: not {first, other} & set(states))
    state = cluster.call("squeue", "-h", "-t", "all", "-j", first, "-O", "State:.20")
    assert state == ("CANCELLED" if kind == "cancelled" else "COMPLETED")


def test_a_job_is_requeued_between_a_decision_about_another_one_and_its_order(cluster, between):
    first = cluster.submit("-N1", "-t2", *GATED, seconds=120)
    between(lambda states: states.get(first, [""])[0] == "RUNNING")
    between.hands.happens = lambda: cluster.call("scontrol", "requeue", first)
    other = cluster.submit("-N1", "-t1", *GATED, seconds=0.2)
    between(lambda states: other not in states)
    between(lambda _: "hetsched" in cluster.call("squeue", "-h", "-j", first, "-O", "Licenses:40"))


@pytest.mark.parametrize("state", ["DRAIN", "DOWN"])
def test_the_node_of_a_decision_is_lost_before_its_order(cluster, between, state):
    names = cluster.call("sinfo", "-h", "-N", "-p", cluster.partition, "-o", "%N").split()
    # The first free node is the one that is decided.
    between.hands.happens = lambda: cluster.call(
        "scontrol", "update", f"NodeName={names[0]}", f"State={state}", "Reason=t"
    )
    job = cluster.submit("-N1", "-t1", *GATED, seconds=2)
    try:
        between(lambda states: states.get(job, [""])[0] == "RUNNING")
        assert cluster.states()[job][1] != names[0]
        between(lambda states: job not in states)
    finally:
        subprocess.run(["scontrol", "update", f"NodeName={names[0]}", "State=RESUME"], check=False, timeout=30)
    cluster.until(lambda _: "idle" in cluster.call("sinfo", "-h", "-n", names[0], "-o", "%t"))


def test_hostile_names_run_nothing_and_break_nothing(cluster, between, tmp_path):
    mark = tmp_path / "made"
    evil = [
        f"$(touch {mark})",
        f"`touch {mark}`; touch {mark}",
        "a|\n\x1f 99 JobId=1 State=COMPLETED",
        "\nquit\nscancel -u root\n",
        "\x1b[2J\x1b]0;title\x07",
        "%s%n{0}",
        "x" * 1000,
    ]
    jobs = [
        cluster.submit("-N1", "-t1", *GATED, "-J", name, "--comment", name, command="true")
        for name in (*evil, *(f"--{name}" for name in evil))
    ]
    # Slurm itself refuses longer ones: a comment of 100 kB never comes to a bridge.
    for long in ("--comment", "-J"):
        words = ["sbatch", "-H", "-p", cluster.partition, long, "z" * 100_000, "--wrap", "true"]
        assert subprocess.run(words, capture_output=True, timeout=60, check=False).returncode != 0
    names = cluster.call("sinfo", "-h", "-N", "-p", cluster.partition, "-o", "%N").split()
    # A constraint longer than its column spoils no reading.
    jobs.append(cluster.submit("-N1", "-t1", *GATED, "-C", "|".join(names * 60), command="true"))
    between(lambda states: not set(jobs) & set(states))
    assert not any("reading:" in line for line in between.said)
    assert not mark.exists()
    assert not any("\x1b" in line or "touch" in line for line in between.said)


@pytest.fixture
def slurmctld(cluster):
    """The controller's process, which this user must be able to signal and to start again."""
    config = cluster.call("scontrol", "show", "config")
    pid_file = Path(next(line.split("=")[1].strip() for line in config.splitlines() if "SlurmctldPidFile" in line))
    try:
        made = Controller(cluster, pid_file)
    except (OSError, ValueError) as error:
        pytest.skip(f"no controller of this user's: {error}")
    yield made
    made.restart()


class Controller:
    """A slurmctld that is stopped and started with its own words and environment."""

    def __init__(self, cluster, pid_file):
        self.cluster, self.pid_file = cluster, pid_file
        self.words = [word for word in self._read("cmdline").split(b"\0") if word]
        self.environment = dict(pair.split(b"=", 1) for pair in self._read("environ").split(b"\0") if b"=" in pair)
        self.signal(0)

    def _read(self, name):
        return Path(f"/proc/{self.pid}/{name}").read_bytes()

    @property
    def pid(self):
        return int(self.pid_file.read_text())

    def signal(self, number):
        os.kill(self.pid, number)

    def is_up(self):
        return subprocess.run(["scontrol", "ping"], capture_output=True, timeout=60, check=False).returncode == 0

    def end(self, number):
        pid = self.pid
        self.signal(number)
        while (seen := look(pid)) is not None and not seen.is_dead:
            time.sleep(0.05)

    def restart(self):
        """Start it unless it is up."""
        if self.is_up():
            return
        self.pid_file.unlink(missing_ok=True)
        subprocess.run(self.words, env=self.environment, timeout=60, check=True, stdin=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not self.is_up():
            assert time.monotonic() < end
            time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_controller_ends_and_comes_again(cluster, forks, slurmctld, tmp_path, number):
    count = tmp_path / "ran"
    bridge = forks.start()
    cluster.until(lambda _: gate_end_s(Slurm()) is not None)
    first = cluster.submit("-N4", "-t1", *GATED, seconds=14)
    cluster.until(lambda states: states.get(first, [""])[0] == "RUNNING")
    jobs = [cluster.submit("-N2", "-t1", *GATED, command=f"echo $SLURM_JOB_ID >> {count}") for _ in range(4)]
    # What a controller that is killed has not saved, within some five seconds, is lost by Slurm's own rules.
    time.sleep(8)
    slurmctld.end(number)
    end = time.monotonic() + 90
    while not forks.errors():
        assert time.monotonic() < end, "the bridge has noticed nothing"
        time.sleep(0.1)
    slurmctld.restart()
    cluster.until(lambda states: not set(jobs) & set(states), 150)
    assert sorted(count.read_text().split()) == sorted(jobs)
    assert forks.is_alive(bridge)
    cluster.until(lambda _: (gate_end_s(Slurm()) or 0) > time.time())


def test_the_controller_stands_still_for_half_a_minute(cluster, forks, slurmctld, tmp_path):
    count = tmp_path / "ran"
    bridge = forks.start()
    cluster.until(lambda _: gate_end_s(Slurm()) is not None)
    first = cluster.submit("-N4", "-t1", *GATED, seconds=2)
    cluster.until(lambda states: states.get(first, [""])[0] == "RUNNING")
    jobs = [cluster.submit("-N2", "-t1", *GATED, command=f"echo $SLURM_JOB_ID >> {count}") for _ in range(4)]
    slurmctld.signal(signal.SIGSTOP)
    try:
        time.sleep(30)
    finally:
        slurmctld.signal(signal.SIGCONT)
    cluster.until(lambda states: not set(jobs) & set(states), 150)
    assert sorted(count.read_text().split()) == sorted(jobs)
    assert forks.is_alive(bridge)
    assert forks.errors()


def test_a_reconfigured_controller_keeps_gate_and_wishes(cluster, forks, tmp_path):
    count = tmp_path / "ran"
    bridge = forks.start("--policy", "easy:placement=random")
    cluster.until(lambda _: gate_end_s(Slurm()) is not None)
    jobs = []
    for _ in range(4):
        jobs += [cluster.submit("-N3", "-t1", *GATED, command=f"echo $SLURM_JOB_ID >> {count}; sleep 1") for _ in "ab"]
        cluster.call("scontrol", "reconfigure")
        assert (gate_end_s(Slurm()) or 0) > time.time()
        time.sleep(1)
    cluster.until(lambda states: not set(jobs) & set(states), 120)
    assert sorted(count.read_text().split()) == sorted(jobs)
    assert forks.is_alive(bridge)
